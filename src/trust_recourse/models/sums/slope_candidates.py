"""Numbers with slopes, of one person: how far they are followed, their values, and their costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.models.knapsack import logit
from trust_recourse.models.subproblem import CandidateRequest, Candidates
from trust_recourse.models.sums.slopes import Line
from trust_recourse.models.sums.sum import Sum
from trust_recourse.question.cost import MOST_COST, Cost, Units
from trust_recourse.schema import ActionSet, Feature, FeatureActions, SchemaError

MOST_VALUES = 1 << 20  # of one feature
BEYOND = 1e-9  # of a change, so that it is surely enough
COARSE = 32  # parts of a number's range, at most, among which a first answer is looked for


class SlopeCandidates(NamedTuple):
    """What the person may do with it, and what that costs."""

    feature: Feature
    actions: FeatureActions
    own: float
    cost: Cost

    @classmethod
    def of(cls, action_set: ActionSet, cost: Cost, f: int) -> SlopeCandidates:
        """The number at this place of the schema."""
        return cls(action_set.schema[f], action_set.actions[f], float(action_set.own[f]), cost)

    @property
    def measured(self) -> bool:
        """Whether a function of the user's own says what a change costs."""
        return self.feature.name in self.cost.functions

    def near(self, low: float, high: float, most: float) -> tuple[float, float]:
        """These ends, or nearer ones beyond which a change costs more than so much."""
        l1, l2 = self.cost.l1, self.cost.l2
        moved = most / l1 if l1 else math.inf
        moved = min(moved, math.sqrt(most / l2)) if l2 else moved
        far = moved * self.feature.scale / self.feature.weight * (1.0 + BEYOND)
        return max(low, self.own - far), min(high, self.own + far)

    def ended(self, low: float, high: float) -> tuple[float, float]:
        """These ends, which must be some: without any there is always a value further out."""
        if math.isinf(low) or math.isinf(high):
            side = "lower" if math.isinf(low) else "upper"
            raise SchemaError(
                f"feature {self.feature.name!r} has no {side} bound, and the score goes on with "
                f"it: for this question give it {side}, or a max_change, in the schema or as a "
                "limit"
            )
        return low, high

    def values(self, low: float, high: float) -> Floats:
        """All allowed values between two ends, and one's own."""
        try:
            return self.actions.values(MOST_VALUES, low, high)
        except SchemaError as error:
            listed = f"feature {self.feature.name!r} has a slope, so its values are listed"
            more = "give it a greater step in the schema, or closer limits"
            raise SchemaError(f"{listed}: {error}; {more}") from None

    def costs(self, codes: Floats) -> Floats:
        """What each value costs, before the root."""
        if self.measured:
            each = [self.cost.change(self.feature, self.own, code) for code in codes.tolist()]
            return np.array(each)
        found = self.cost.changes(Units.of([self.feature]), np.array([self.own]), codes)
        if not found.max() <= MOST_COST:
            worst = int(found.argmax())
            self.cost.countable(self.feature, self.own, float(codes[worst]), float(found[worst]))
        return found


# ---------------------------------------------------------------- values up to a cost


def with_values(
    features: Sequence[Candidates], numbers: Mapping[int, SlopeCandidates], most: float, few: bool
) -> list[Candidates]:
    """The candidates, those of these numbers anew, without what costs more than so much."""
    found = [*features]
    for f, number in numbers.items():
        found[f] = _values(number, most, few)
    limit = most * (1.0 + 1e-9) + 1e-300
    return [each.at(np.flatnonzero(each.costs <= limit)) for each in found]


def _values(number: SlopeCandidates, most: float, few: bool) -> Candidates:
    """Those that cost no more than so much, or a few of them, and one's own."""
    low, high = number.actions.destinations(-math.inf, math.inf) or (number.own, number.own)
    if not number.measured and not math.isnan(number.own):
        low, high = number.near(low, high, most)
    low, high = number.ended(low, high)
    codes = _some(number, low, high) if few else number.values(low, high)
    return Candidates(codes, np.zeros(len(codes), np.int32), number.costs(codes))


def _some(number: SlopeCandidates, low: float, high: float) -> Floats:
    ends = np.linspace(math.nextafter(low, -math.inf), high, COARSE + 1).tolist()
    inside = (number.actions.destinations(a, b) for a, b in pairwise(ends) if a < b)
    found = [value for ends in inside if ends for value in ends]
    codes = np.unique([*found, *([] if math.isnan(number.own) else [number.own])])
    return np.append(codes, math.nan) if math.isnan(number.own) else codes


# ---------------------------------------------------------------- of one sum


class OneSum(Protocol):
    """The score of one class by a sum of which no feature meets another."""

    sums: Sum
    totals: Callable[[Floats], Floats]
    sign: float  # towards the class

    def each(self, row: Floats) -> Floats:
        """The points of every feature at a row of codes."""

    def line(self, f: int) -> Line:
        """The points of one number, towards the class."""

    def worst_at(self, codes: Floats, rooms: Floats) -> float:
        """The least confidence around a row of codes."""


class Reach:
    """How far each number with a slope has to be followed, and its values until there.

    A change costs more the further it goes, so beyond what a known answer costs nothing is cheaper;
    where it costs the same however far it goes, one value that alone is enough is as good as any.
    """

    def __init__(
        self,
        score: OneSum,
        action_set: ActionSet,
        cost: Cost,
        request: CandidateRequest,
        moving: list[int],
    ) -> None:
        self.score, self.action_set, self.cost, self.request = score, action_set, cost, request
        self.schema, self.own = action_set.schema, action_set.own
        straight = all(len(edges) == 0 for edges in score.sums.grid.edges)
        self.rising = request.rising and (request.room is None or straight)
        self.mine = (score.sign * score.each(self.own)).tolist()
        self.alone: dict[int, float] = {}  # a value that is enough by itself
        self.most = math.inf  # what an answer costs, before the root
        if request.accept is not None:
            self._incumbent(request.accept, moving)

    def _incumbent(self, accept: Callable[[Floats], bool], moving: list[int]) -> None:
        """The cheapest change of one number that is an answer, and others where cost is flat."""
        change = self._change
        ways = [
            (self.cost.change(self.schema[f], float(self.own[f]), value), f, value)
            for f in moving
            for value in self._enough(f, change)
        ]
        for price, f, value in sorted(ways):
            if price <= self.most or (self._flat(f) and f not in self.alone):
                row = self.own.copy()
                row[f] = value
                if accept(row):
                    self.most = min(self.most, price)
                    self.alone.setdefault(f, value)

    @property
    def _change(self) -> float:
        """By how much the sum has to change at least; 0 if it need not."""
        now, least = self.score.sign * float(self.score.totals(self.own[None])[0, 0]), -math.inf
        if self.request.room is not None:
            rooms, floor = self.request.room
            worst = self.score.worst_at(self.own, rooms)
            least = logit(floor) + now - logit(worst)
        if now < (least := max(least, logit(self.request.least))):
            return least - now
        return min(logit(self.request.most) - now, 0.0)

    def _enough(self, f: int, change: float) -> Iterator[float]:
        """Of each cell the nearest value that alone changes the sum by so much."""
        if not math.isfinite(change):
            return
        up, actions = change >= 0.0, self.action_set.actions[f]
        goal = self.mine[f] + change * (1.0 + BEYOND)
        goal += math.copysign(1e-12 * (1.0 + abs(goal)), change)  # surely, whatever is rounded
        for low, high, slope, points in self._cells(f):
            if slope == 0.0:
                a, b = (low, high) if (points >= goal) == up else (0.0, 0.0)
            else:
                end = (goal - points) / slope
                above = (slope > 0) == up
                a, b = (max(low, end), high) if above else (low, min(high, end))
            value = actions.nearest(a, b) if a < b else None
            if value is not None:
                yield value

    def values(self, f: int) -> Candidates:
        """All allowed values of one number that may matter, its own among them."""
        number = SlopeCandidates.of(self.action_set, self.cost, f)
        codes = number.values(*self._range(f, number))
        if self.rising:
            helps = self.score.sign * self.score.sums.worth(f, codes)[0] > self.mine[f]
            codes = codes[helps | (codes == number.own) | np.isnan(codes)]
        return Candidates(codes, np.zeros(len(codes), np.int32), number.costs(codes))

    def _range(self, f: int, number: SlopeCandidates) -> tuple[float, float]:
        """From where to where its values may matter."""
        low, high = number.actions.destinations(-math.inf, math.inf) or (math.inf, -math.inf)
        if not number.measured:
            if self._flat(f):
                if f in self.alone:
                    return self.alone[f], self.alone[f]
            else:
                low, high = number.near(low, high, self.most)
            if self.rising:
                low, high = self._ends(f, number.actions, low, high)
        return number.ended(low, high)

    def _flat(self, f: int) -> bool:
        """Whether a change costs the same however far it goes."""
        return math.isnan(self.own[f]) or self.cost.l1 == self.cost.l2 == 0.0

    def _ends(
        self, f: int, actions: FeatureActions, low: float, high: float
    ) -> tuple[float, float]:
        """Without what lies further out where the score does not rise outwards: it only costs."""
        cells = [*self._cells(f)]
        (_, right, rises, _), (left, _, falls, _) = cells[0], cells[-1]
        if math.isinf(low) and rises >= 0:
            nearest = actions.nearest(-math.inf, right)
            low = right if nearest is None else nearest
        if math.isinf(high) and falls <= 0:
            nearest = actions.nearest(left, math.inf)
            high = left if nearest is None else nearest
        return low, high

    def _cells(self, f: int) -> Iterator[tuple[float, float, float, float]]:
        """The ends of each known cell, and its slope and points towards the wanted class."""
        line = self.score.line(f)
        for (a, b), slope, points in zip(
            pairwise(line.ends.tolist()), line.slopes.tolist(), line.points.tolist(), strict=True
        ):
            yield a, b, slope, points
