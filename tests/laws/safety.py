"""Laws of how safe an answer is: what noise may do to it, by the library's word on every cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from statistics import NormalDist

import numpy as np

from laws.checks import is_tied
from laws.enumeration import MOST, meant, met, numeric, said, table
from laws.questions import chance, one_of
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

    def reached(self, f, code, continuous):
        """Where noise leads from a code: for each cell how far away it is, and from where to where.

        None if it stays. On steps a cell is where a whole number of them leads.
        """
        feature = self.features[f]
        if math.isnan(code) or (self.ends[f] is None and (feature.kind != "ordinal" or continuous)):
            return None
        if self.ends[f] is None:
            return self._levels(f, code)
        low, high = self.ends[f][:-1], self.ends[f][1:]
        if continuous or feature.step is None:
            away = np.maximum(np.maximum(low - code, code - high), 0.0)
            return away / feature.scale, low - code, high - code
        first, last = (
            np.array([steps_to(code, feature.step, end) for end in ends]) for ends in (low, high)
        )
        nearest = np.where(first >= 0, first + 1, np.where(last < 0, -last, 0.0))
        away = np.where(first < last, nearest * feature.step / feature.scale, math.inf)
        return away, (first + 0.5) * feature.step, (last + 0.5) * feature.step

    def _levels(self, f, code):
        """The same of an ordinal, which has no other values than its levels."""
        feature, step = self.features[f], self.features[f].step or 1.0
        counts = (np.arange(float(len(feature.values))) - code) / step
        there = counts == np.rint(counts)
        low = np.where(counts == counts[there].min(), -math.inf, (counts - 0.5) * step)
        high = np.where(counts == counts[there].max(), math.inf, (counts + 0.5) * step)
        away = np.where(there, np.abs(counts) * step / feature.scale, math.inf)
        return away, np.where(there, low, 0.0), np.where(there, high, 0.0)

    def around(self, codes, continuous):
        """What is reached of each feature that moves, and confidence there; others left out."""
        each = [self.reached(f, code, continuous) for f, code in enumerate(codes.tolist())]
        picked = tuple(
            self.cell(f, codes[f]) if of is None else slice(len(of[0])) for f, of in enumerate(each)
        )
        return [(f, of) for f, of in enumerate(each) if of is not None], self.confidence[picked]


def steps_to(code, step, end):
    """How many steps lead to the last value that is no more than an end."""
    if math.isinf(end):
        return end
    start, stride = meant(code), meant(step)
    k = (Fraction(end) - start) // stride
    while float(start + (k + 1) * stride) <= end:
        k += 1
    while float(start + k * stride) > end:
        k -= 1
    return float(k)


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
    result = court.recourse.find(court.case.person, mode="argmax")
    if around is not None and result.options:
        court.count("winners below one half", result.options[0].confidence < 0.5)
        _check_noise(court, around, result, 0.5)


def _said_to_win(schema, model, codes, wanted):
    """1 where the wanted class comes first, else 0; None where a tie may be rounding's."""
    proba = model.predict_proba(table(schema, codes))
    return None if is_tied(proba) else (proba.argmax(axis=1) == wanted).astype(float)


def _check_noise(court, around, result, threshold) -> None:
    codes, continuous = court.codes(result.options[0].x), chance(court.rng, 0.4)
    moved, confidence = around.around(codes, continuous)
    lost = confidence < threshold
    for norm, outer, power in (
        ("linf", np.maximum.outer, 1), ("l1", np.add.outer, 1), ("l2", np.add.outer, 2)
    ):  # fmt: skip
        far = reduce(outer, [away**power for _, (away, *_) in moved], np.zeros(()))
        least = float(far[lost].min(initial=math.inf)) ** (1 / power)
        told = result.radius(norm=norm, continuous=continuous)
        alike = math.isclose(told, least, rel_tol=NEAR) or told == least
        court.law(alike, f"radius {norm}, {continuous}: {told!r}, by enumeration {least!r}")
        _check_budget(court, result, norm, continuous, told)
    court.count("radii that end somewhere", least < math.inf)
    court.count("radii on steps", least < math.inf and not continuous)
    _check_robustness(court, around, result, moved, ~lost, continuous)


def _check_budget(court, result, norm, continuous, told) -> None:
    """What few boxes prove is at most the radius, and all of it where they are enough."""
    for boxes in (1, 3, 12, 10**6):
        some = result.radius(norm=norm, continuous=continuous, node_limit=boxes)
        name = f"radius {norm}, {continuous} by {boxes} boxes: {some!r}, it is {told!r}"
        court.law(0.0 <= some <= told, name)
        court.law(some == told or not some.exact, name)
        court.count("radii of which a part is proved", 0.0 < some < told)
        court.count("radii that few boxes prove", some.exact and boxes < 10**6)
    court.law((some, some.exact) == (told, told.exact), name)


def _check_robustness(court, around, result, moved, kept, continuous) -> None:
    sigma = one_of(court.rng, 0.01, 0.1, 1.0)
    weight = np.ones(())
    for f, (_, low, high) in moved:
        spread = NormalDist(0.0, sigma * around.features[f].scale)
        before, after = (
            np.array([spread.cdf(end) if math.isfinite(end) else float(end > 0) for end in ends])
            for ends in (low, high)
        )
        weight = np.multiply.outer(weight, after - before)
    court.law(abs(weight.sum() - 1.0) <= NEAR, "the probabilities of all cells are not 1 together")
    true = float(weight[kept].sum())
    told = result.robustness(sigma=sigma, continuous=continuous)
    # one sampled interval in a million misses by so much
    room = NEAR if told.exact else 2 * (told.high - told.low)
    near = told.low - room <= true <= told.high + room
    court.law(near, f"robustness {sigma}, {continuous}: {told!r}, by enumeration {true!r}")
    court.count("exact probabilities", told.exact)
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
    continuous = chance(rng, 0.4)
    result = court.recourse.find(
        case.person, target.confidence, mode=target.mode, tolerance=target.tolerance,
        min_radius=radius, floor=floor, continuous=continuous,
    )  # fmt: skip
    ((target, status),) = result.status.items()
    least = court.recourse.decision_threshold if floor is None else floor
    name = f"room of {radius} above {least!r}, {target}, {continuous}"
    court.count(f"{status}, with room")
    dearest = None
    for option in result.options:
        codes = court.codes(option.x)
        dearest = court.point(name, codes, option.cost, option.confidence)
        court.law(met(target, option.confidence), f"{name}: {option.confidence!r} is short")
        worst = _worst(around, codes, radius, continuous, -1)
        court.law(worst >= least, f"{name}: {codes.tolist()} falls to {worst!r}")
    known = (Status.OPTIMAL, Status.INFEASIBLE)
    court.law(status in known, f"{name}: {status}")
    wanted = np.flatnonzero(met(target, rows.confidence))
    for k in sorted(wanted.tolist(), key=lambda k: rows.costs[k])[:LOOKED_AT]:
        cost = rows.costs[k] * rows.unit
        if dearest is not None and cost * (1 + SAME) >= dearest:
            break
        worst = _worst(around, rows.codes[k], radius, continuous, 1)
        told = rows.codes[k].tolist()
        court.law(worst < least, f"{name}: {status}, but {told} for {float(cost)!r} has the room")


def _worst(around, codes, radius, continuous, way):
    """The least confidence around a row; what may be rounding is room if `way` is 1, none if −1.

    On steps there is no rounding: the room ends at the last value within the radius.
    """
    picked = []
    for f, code in enumerate(codes.tolist()):
        if around.reached(f, code, continuous) is None:
            picked.append([around.cell(f, code)])
            continue
        feature = around.features[f]
        step = None if continuous else feature.step or (1.0 if feature.kind == "ordinal" else None)
        room = radius * feature.scale
        if step is not None:
            many = meant(radius) * meant(feature.scale) // meant(step)
            low, high = (float(meant(code) + k * meant(step)) for k in (-many, many))
        else:
            slip = NEAR * room + 4 * math.ulp(code) + 4 * math.ulp(abs(code) + room)
            room = max(room + way * slip, 0.0)
            low, high = code - room, code + room
        if around.ends[f] is None:
            levels = np.arange(float(len(feature.values)))
            picked.append(np.flatnonzero((levels >= low) & (levels <= high)))
            continue
        first, last = (around.cell(f, end) for end in (low, high))
        if step is None:
            reached = (around.ends[f][:-1] < high) & (around.ends[f][1:] >= low)
            reached[around.cell(f, code)] = True
            picked.append(np.flatnonzero(reached))
        else:
            picked.append(np.arange(first, last + 1))
    return float(around.confidence[np.ix_(*picked)].min())
