"""Laws of how safe an answer is: what noise may do to it, by the library's word on every cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from statistics import NormalDist

import numpy as np

from laws.checks import is_tied
from laws.enumeration import MOST, met, numeric, said, table
from laws.questions import one_of
from trust_recourse.question import Status

NEAR = 1e-9
SAME = Fraction(1, 10**12)  # of a cost: by which rounding may set two apart
LOOKED_AT = 300  # rows that are cheaper than an answer with room around it


@dataclass(frozen=True)
class Around:
    """What the model says on every product of cells, with the ends of the cells."""

    features: tuple
    ends: list[np.ndarray | None]  # of numbers: cell c is (ends[c], ends[c + 1]]
    confidence: np.ndarray  # one axis a feature; a missing value lies in the last cell

    @classmethod
    def of(cls, case, grid, said=said):
        """None where there are too many cells to look at."""
        ends = [grid.ends(f) if numeric(each) else None for f, each in enumerate(case.schema)]
        values = [_one_in_each(each, of) for each, of in zip(case.schema, ends, strict=True)]
        sizes = [len(each) for each in values]
        if math.prod(sizes) > MOST:
            return None
        at = np.indices(sizes).reshape(len(sizes), -1)
        codes = np.column_stack([each[k] for each, k in zip(values, at, strict=True)])
        told = said(case.schema, case.model, codes, case.wanted)
        return None if told is None else cls(tuple(case.schema), ends, told.reshape(sizes))

    def cell(self, f, code):
        """The place of a code along an axis."""
        if math.isnan(code):
            return self.confidence.shape[f] - 1
        return int(code if self.ends[f] is None else self.ends[f][1:-1].searchsorted(code))

    def moved(self, f, code):
        """Whether noise moves a feature, and the first and the last end of each of its cells."""
        if self.ends[f] is None or math.isnan(code):
            return None
        return self.ends[f][:-1], self.ends[f][1:]

    def known(self, codes):
        """Confidence on the cells that noise may reach, axes of other features left out."""
        picked = tuple(
            self.cell(f, code) if (ends := self.moved(f, code)) is None else slice(len(ends[0]))
            for f, code in enumerate(codes.tolist())
        )
        return self.confidence[picked]

    def noisy(self, codes):
        return [(f, code) for f, code in enumerate(codes.tolist()) if self.moved(f, code)]


def _one_in_each(feature, ends):
    """A code in each cell."""
    if ends is None:
        found = np.arange(float(len(feature.values) or 2))
    else:
        beyond = np.where(np.isfinite(ends[:-1]), np.nextafter(ends[:-1], math.inf), 0.0)
        found = np.where(np.isfinite(ends[1:]), ends[1:], beyond)
        blank = np.isin(found, [code for code in feature.missing if code is not None])
        found = np.where(blank, np.nextafter(found, -math.inf), found)  # which is a number
    return np.append(found, [math.nan] * bool(feature.missing))


# ---------------------------------------------------------------- the laws


def check_noise(court) -> None:
    """Radius and robustness of an answer are those of an enumeration of all cells."""
    around = Around.of(court.case, court.recourse.score.grid)
    result = court.recourse.find(court.case.person)
    if around is not None and result.options:
        _check_noise(court, around, result, court.recourse.decision_threshold)


def check_noise_of_winners(court) -> None:
    """The same where a class is to win: that it does is the decision that noise may lose."""
    around = Around.of(court.case, court.recourse.score.grid, _said_to_win)
    result = court.recourse.find(court.case.person, mode="wins")
    if around is not None and result.options:
        court.count("winners below one half", result.options[0].confidence < 0.5)
        _check_noise(court, around, result, 0.5)


def _said_to_win(schema, model, codes, wanted):
    """1 where the wanted class comes first, else 0; None where a tie may be rounding's."""
    proba = model.predict_proba(table(schema, codes))
    return None if is_tied(proba) else (proba.argmax(axis=1) == wanted).astype(float)


def _check_noise(court, around, result, threshold) -> None:
    codes = court.codes(result.options[0].x)
    lost = around.known(codes) < threshold
    away = []
    for f, code in around.noisy(codes):
        low, high = around.moved(f, code)
        away.append(np.maximum(np.maximum(low - code, code - high), 0.0) / around.features[f].scale)
    for norm, outer, power in (
        ("linf", np.maximum.outer, 1), ("l1", np.add.outer, 1), ("l2", np.add.outer, 2)
    ):  # fmt: skip
        far = reduce(outer, [each**power for each in away], np.zeros(()))
        least = float(far[lost].min()) ** (1 / power) if lost.any() else math.inf
        told = result.radius(norm=norm)
        alike = math.isclose(told, least, rel_tol=NEAR) or told == least
        court.law(alike, f"radius {norm}: {told!r}, by enumeration {least!r}")
    court.count("radii that end somewhere", lost.any())
    _check_robustness(court, around, result, codes, ~lost)


def _check_robustness(court, around, result, codes, kept) -> None:
    sigma = one_of(court.rng, 0.01, 0.1, 1.0)
    weight = np.ones(())
    for f, code in around.noisy(codes):
        spread = NormalDist(code, sigma * around.features[f].scale)
        low, high = (
            np.array([spread.cdf(end) if math.isfinite(end) else float(end > 0) for end in ends])
            for ends in around.moved(f, code)
        )
        weight = np.multiply.outer(weight, high - low)
    true = float(weight[kept].sum())
    told = result.robustness(sigma=sigma)
    near = abs(told.probability - true) <= told.error + NEAR
    court.law(near, f"robustness {sigma}: {told}, by enumeration {true!r}")
    court.count("probabilities that are no certainty", 0.001 < true < 0.999)


def check_room(court) -> None:
    """The cheapest with room around it: nothing cheaper has as much, nor has it less."""
    case, rows, rng = court.case, court.rows, court.rng
    around = Around.of(case, court.recourse.score.grid)
    if around is None:
        return
    target = court.a_target()
    radius = float(one_of(rng, 0.01, 0.1, 0.5))
    floor = one_of(rng, None, float(rng.uniform(0.2, 0.6)))
    result = court.recourse.find(
        case.person, target.confidence, mode=target.mode, tolerance=target.tolerance,
        min_radius=radius, floor=floor,
    )  # fmt: skip
    ((target, status),) = result.status.items()
    least = court.recourse.decision_threshold if floor is None else floor
    name = f"room of {radius} above {least!r}, {target}"
    court.count(f"{status}, with room")
    dearest = None
    for option in result.options:
        codes = court.codes(option.x)
        dearest = court.point(name, codes, option.cost, option.confidence)
        court.law(met(target, option.confidence), f"{name}: {option.confidence!r} is short")
        worst = _worst(around, codes, radius, -1)
        court.law(worst >= least, f"{name}: {codes.tolist()} falls to {worst!r}")
    known = (Status.OPTIMAL, Status.INFEASIBLE)
    court.law(status in known, f"{name}: {status}")
    wanted = np.flatnonzero(met(target, rows.confidence))
    for k in sorted(wanted.tolist(), key=lambda k: rows.costs[k])[:LOOKED_AT]:
        cost = rows.costs[k] * rows.unit
        if dearest is not None and cost * (1 + SAME) >= dearest:
            break
        worst = _worst(around, rows.codes[k], radius, 1)
        told = rows.codes[k].tolist()
        court.law(worst < least, f"{name}: {status}, but {told} for {float(cost)!r} has the room")


def _worst(around, codes, radius, way):
    """The least confidence around a row; what may be rounding is room if `way` is 1, none if −1."""
    picked = []
    for f, code in enumerate(codes.tolist()):
        ends = around.moved(f, code)
        if ends is None:
            picked.append([around.cell(f, code)])
            continue
        room = radius * around.features[f].scale
        slip = NEAR * room + 4 * math.ulp(code) + 4 * math.ulp(abs(code) + room)
        room = max(room + way * slip, 0.0)
        reached = (ends[0] < code + room) & (ends[1] >= code - room)
        reached[around.cell(f, code)] = True
        picked.append(np.flatnonzero(reached))
    return float(around.confidence[np.ix_(*picked)].min())
