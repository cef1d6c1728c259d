"""Several classes whose sums have slopes, such as a multinomial regression."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.on_cells import numbered
from trust_recourse.models.softmax import (
    Lead,
    LeadScore,
    judged,
    lead,
    logistic,
    shares,
    tangent_at,
)
from trust_recourse.models.subproblem import Candidates, Reduction, Wish
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.card import logit
from trust_recourse.models.sums.classes import ClassSums, PointBank
from trust_recourse.models.sums.followed import Followed
from trust_recourse.models.sums.slopes import Line
from trust_recourse.question import Radius
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, Schema
from trust_recourse.schema.multiples import moved
from trust_recourse.schema.noise import noise_room, steps_to_ends

COARSE = 32  # parts of a number's range, at most, among which a first answer is looked for
LOOKS, NEARER = 4, 0.7  # how often, and what is so much cheaper as to look again
TURNS = 3  # tangents tried for that
DRAWS = 1 << 18  # of noise
ALL = 1e9  # a radius beyond all levels


class SlopedLead(Lead):
    """One class's confidence, or its share beside the strongest other, of codes and not cells."""

    lists = True
    straight = False  # between the ends of a cell a class may have more than at both

    @property
    def sloped(self) -> Collection[int]:
        """The features that have a slope."""
        return self.model.sloped

    def __init__(
        self, model: ClassSums, wanted: int, strongest: bool, by: Floats | None = None
    ) -> None:
        self.model, self.wanted, self.strongest, self.grid = model, wanted, strongest, model.grid
        self.by = by  # shares, of the one tangent that a proof is about

    def shares_at(self, codes: Floats) -> Floats:
        """By the model's own sums."""
        return shares(self.model.totals(codes[None])[0], self.wanted, self.strongest)

    def proved_by(self, q: Floats) -> SlopedLead:
        """Listed values are proved by it."""
        return SlopedLead(self.model, self.wanted, self.strongest, q)

    def at(self, cells: Cells) -> Floats:
        """It is not one and the same on a cell."""
        del cells
        raise TypeError("cells do not tell the score of a model with slopes; ask it by `at_codes`")

    def confidence(self, number: Floats) -> Floats:
        """It has no kernel but that of listed values."""
        del number
        raise TypeError("a model with slopes has no kernel; its score of listed values has one")

    def at_codes(self, codes: Floats) -> Floats:
        """Confidence at rows of codes."""
        return judged(self.model.totals(codes), self.wanted, self.strongest)

    def listed(
        self, features: Sequence[Candidates], action_set: ActionSet, cost: Cost, wish: Wish
    ) -> Reduction:
        """Of each number with a slope every value on its steps, and no dearer than need be."""
        related, most = cost.related(action_set.schema), math.inf
        numbers = {
            f: Followed.of(action_set, cost, f)
            for f in self.model.sloped
            if action_set.actions[f].free and action_set.schema[f].name not in related
        }
        for _ in range(LOOKS if wish.accept is not None else 0):
            known = most
            most = min(most, self._answer(_with(features, numbers, most, few=True), wish))
            if not most < known * NEARER:
                break
        found, bank = self._bank(_with(features, numbers, most, few=False))
        score = LeadScore(bank, self.wanted, self.strongest)
        return Reduction(found, score if self.by is None else score.proved_by(self.by))

    def on(self, features: Sequence[Candidates]) -> LeadScore:
        """By the sums of each value."""
        return LeadScore(self._bank(features)[1], self.wanted, self.strongest)

    def endless(self, f: int, up: bool) -> bool:
        """By the slopes of the outermost cells: no other class gains on the wanted one."""
        slopes = [m.slopes[f][len(m.grid.cuts[f]) if up else 0] for m in self._models]
        ahead = slopes[self.wanted] - np.array(slopes)
        return bool((ahead >= 0.0).all() if up else (ahead <= 0.0).all())

    def _bank(self, features: Sequence[Candidates]) -> tuple[list[Candidates], PointBank]:
        """The candidates, each in a cell of its own, and the sums on these."""
        codes = [each.codes for each in features]
        listed = [
            each._replace(cells=np.arange(len(each.codes), dtype=np.int32)) for each in features
        ]
        return listed, self._sums(codes, [self._worth(f, of) for f, of in enumerate(codes)])

    def _sums(self, codes: Sequence[Floats], points: Sequence[Floats]) -> PointBank:
        """The sums on these codes, each a cell, of points of (classes, codes) a feature."""
        bases = np.array([model.base for model in self._models])
        sizes = np.array([len(of) for of in codes])
        return PointBank(numbered(sizes), np.concatenate(points, axis=1), bases)

    def _worth(self, f: int, codes: Floats) -> Floats:
        """The points of one feature's codes in each sum."""
        return np.array([model.worth(f, codes) for model in self._models])

    @property
    def _models(self) -> list[Additive]:
        return [model for model in self.model.models if isinstance(model, Additive)]

    def _answer(self, features: Sequence[Candidates], wish: Wish) -> float:
        """What some answer among few values costs, before the root; ∞ if none is found."""
        assert wish.accept is not None
        accept, (listed, bank) = wish.accept, self._bank(features)
        needed, most = logit(wish.least), math.inf
        if not math.isfinite(needed):
            return most
        first = bank.grid.first_cell
        costs = np.concatenate([each.costs for each in listed])
        point = np.array([int(each.costs.argmin()) for each in listed]) + first
        codes = np.concatenate([each.codes for each in listed])

        def taken(at: Ints) -> bool:
            return accept(codes[at])

        for _ in range(TURNS):
            totals = bank.totals((point - first)[None].astype(np.int32))[0]
            q = shares(totals, self.wanted, self.strongest)
            weights, above = tangent_at(q, self.wanted, self.strongest)
            found = bank.fewer(weights, needed + above, costs, most, taken, math.inf)
            if found is None or found.point is None:
                break
            point, most = found.point, float(costs[found.point].sum())
        return most

    # ------------------------------------------------------------ how safe an answer is

    def worst(self, features: Sequence[Candidates], rooms: Floats) -> LeadScore:
        """Beside the strongest other: around each value every other has the most that it may gain.

        What it gains on the wanted class is a sum over numbers, so all of them are in one corner.
        """
        bank = self._around([each.codes for each in features], rooms)
        return LeadScore(bank, self.wanted, self.strongest)

    def worst_at(self, codes: Floats, rooms: Floats) -> float:
        """The same around one row of codes."""
        bank = self._around(np.split(codes, len(codes)), rooms)
        totals = bank.totals(np.zeros((1, len(codes)), np.int32))
        return float(judged(totals, self.wanted, self.strongest)[0])

    def _around(self, codes: Sequence[Floats], rooms: Floats) -> PointBank:
        """The sums, those of the others as high as they get beside the wanted one's."""
        if not self.strongest:
            raise ValueError(
                "min_radius of a regression of several classes is known where the class is to win "
                "(mode 'wins'), not where it is to have a confidence: ask by that mode, or ask for "
                "a higher confidence and look at the radius of the answer"
            )
        points = [self._most(f, of, float(rooms[f])) for f, of in enumerate(codes)]
        return self._sums(codes, points)

    def _most(self, f: int, codes: Floats, room: float) -> Floats:
        """One feature's points in each sum, of the others the most around each code."""
        found, known = self._worth(f, codes), ~np.isnan(codes)
        if room > 0.0 and known.any():
            for k in range(len(found)):
                if k != self.wanted:
                    least = self._ahead(f, k).least(codes[known], room)
                    found[k, known] = found[self.wanted, known] - least
        return found

    def _ahead(self, f: int, other: int) -> Line:
        """By how much a number brings the wanted class ahead of another."""
        ends, (own, its) = self.grid.ends(f), (self._models[k] for k in (self.wanted, other))
        cells = own.grid.cells_in(f, ends[1:]), its.grid.cells_in(f, ends[1:])
        points, slopes = (
            ours[f][cells[0]] - theirs[f][cells[1]]
            for ours, theirs in ((own.points, its.points), (own.slopes, its.slopes))
        )
        return Line(0.0, 1.0, ends, points, slopes, 0.0, -math.inf, math.inf)

    def radius(
        self,
        schema: Schema,
        codes: Floats,
        threshold: float,
        norm: str,
        steps: Floats,
        boxes: float = math.inf,
    ) -> Radius:
        """A distance within which the decision surely holds; of two classes the nearest loss.

        Within a distance r none of the others can gain more than its slopes allow, and they are
        taken to do so all at once; what moves by steps is taken to move by anything.
        """
        del boxes
        if float(self.at_codes(codes[None])[0]) < threshold:
            return Radius(0.0)
        moves = np.flatnonzero(~(np.isnan(steps) | np.isnan(codes))).tolist()
        self._refuse_cut([f for f in moves if schema[f].numeric], "the radius")
        levels = [f for f in moves if len(self.grid.edges[f])]
        moves = [f for f in moves if f not in levels]
        totals, steep = self.model.totals(codes[None])[0], self._steep(schema, moves, norm)
        behind, goal = np.delete(totals - totals[self.wanted], self.wanted), -logit(threshold)

        def kept(r: float) -> bool:
            gained = sum(
                (self._gained(f, codes[f], noise_room(schema[f], r, False)) for f in levels), 0.0
            )
            return _joined(behind + r * steep + gained, self.strongest) < goal

        if not steep.any() and kept(ALL):
            return Radius(math.inf)
        low, high = 0.0, 1.0
        while kept(high):
            low, high = high, 2.0 * high
        while high - low > 1e-12 * high:
            middle = (low + high) / 2.0
            low, high = (middle, high) if kept(middle) else (low, middle)
        # of two classes whose numbers move by anything nothing is nearer
        nearest = len(behind) == 1 and not levels and not steps[moves].any()
        return Radius(low, nearest)

    def _gained(self, f: int, code: float, room: float) -> Floats:
        """The most that each of the others gains on the wanted class within a room of a code."""
        here = np.array([code])
        points = self._most(f, here, room) - self._worth(f, here)
        return np.delete(points[:, 0], self.wanted)

    def _refuse_cut(self, moves: Sequence[int], what: str) -> None:
        """Refuse numbers with a slope in each of several cells."""
        if cut := [f for f in moves if len(self.grid.edges[f])]:
            raise ValueError(
                f"{what} is not known for a regression of several classes that is cut into cells, "
                f"here by {self.grid.schema[cut[0]].name!r}; ask for a greater confidence instead"
            )

    def _steep(self, schema: Schema, moves: Sequence[int], norm: str) -> Floats:
        """How much each of the others may gain on the wanted class per unit of distance."""
        slopes = np.array([[model.slopes[f][0] for f in moves] for model in self._models])
        each = (slopes - slopes[self.wanted]) * [schema[f].scale for f in moves]
        order = {"l1": np.inf, "l2": 2, "linf": 1}[norm]
        return np.delete(np.linalg.norm(each, order, axis=1), self.wanted)

    def noise(
        self, codes: Floats, deviation: Floats, threshold: float, tolerance: float, steps: Floats
    ) -> tuple[float, float]:
        """By draws of the noise; the error is that of 4 in 10,000."""
        del tolerance
        totals, rng = self.model.totals(codes[None]), np.random.default_rng(0)
        drawn = np.repeat(totals, DRAWS, axis=0)
        for f in np.flatnonzero((deviation > 0) & ~np.isnan(codes)).tolist():
            away, here, step = rng.normal(size=DRAWS) * deviation[f], codes[f], float(steps[f])
            there = here + away
            if step > 0.0:
                counts = np.clip(
                    np.rint(away / step), *steps_to_ends(self.grid.schema[f], float(here))
                )
                there = moved(np.full(DRAWS, here), step, counts)
            drawn += (self._worth(f, there) - self._worth(f, codes[f : f + 1])).T
        kept = float((logistic(lead(drawn, self.wanted, self.strongest)) >= threshold).mean())
        return kept, 3.6 * math.sqrt(max(kept * (1.0 - kept), 1.0 / DRAWS) / DRAWS)


def _joined(behind: Floats, strongest: bool) -> float:
    most = float(behind.max())
    return most if strongest else most + math.log(float(np.exp(behind - most).sum()))


def _values(number: Followed, most: float, few: bool) -> Candidates:
    """Those that cost no more than so much, or a few of them, and one's own."""
    low, high = number.actions.destinations(-math.inf, math.inf) or (number.own, number.own)
    if not number.measured and not math.isnan(number.own):
        low, high = number.near(low, high, most)
    low, high = number.ended(low, high)
    codes = _some(number, low, high) if few else number.values(low, high)
    return Candidates(codes, np.zeros(len(codes), np.int32), number.costs(codes))


def _some(number: Followed, low: float, high: float) -> Floats:
    ends = np.linspace(math.nextafter(low, -math.inf), high, COARSE + 1).tolist()
    inside = (number.actions.destinations(a, b) for a, b in pairwise(ends) if a < b)
    found = [value for ends in inside if ends for value in ends]
    codes = np.unique([*found, *([] if math.isnan(number.own) else [number.own])])
    return np.append(codes, math.nan) if math.isnan(number.own) else codes


def _with(
    features: Sequence[Candidates], numbers: Mapping[int, Followed], most: float, few: bool
) -> list[Candidates]:
    """The candidates, those of these numbers anew, without what costs more than so much."""
    found = [*features]
    for f, number in numbers.items():
        found[f] = _values(number, most, few)
    limit = most * (1.0 + 1e-9) + 1e-300
    return [each.at(np.flatnonzero(each.costs <= limit)) for each in found]
