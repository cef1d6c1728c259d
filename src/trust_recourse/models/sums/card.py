"""One class's confidence of a table of points and slopes, as the exact engine asks for it.

A column with a slope has no cells, but steps: every value that a person may have is a cell of its
own (`SlopedScore.listed`). They may be many, so a question is reduced before it is searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models import knapsack
from trust_recourse.models.fixing import fixed
from trust_recourse.models.grid import Grid
from trust_recourse.models.identity import Same
from trust_recourse.models.on_cells import numbered
from trust_recourse.models.seam import Score, of_class
from trust_recourse.models.subproblem import (
    Candidates,
    Condition,
    FlatCandidates,
    Reduction,
    Solution,
    Wish,
)
from trust_recourse.models.sums.additive import Additive, Points, logistic, summed
from trust_recourse.models.sums.followed import BEYOND, Followed
from trust_recourse.models.sums.slopes import Line, noise, radius
from trust_recourse.question import Radius
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, FeatureActions, Schema
from trust_recourse.schema.multiples import ratio
from trust_recourse.schema.noise import steps_to_ends

FEWEST = 256  # candidates from which on a question is reduced before it is searched


class CardScore(Score):
    """One class's confidence; the kernel speaks of the sum, moved to lie within 0 and 1."""

    kernel: Points

    def __init__(
        self, grid: Grid, points: Sequence[Floats], base: float, wanted: int, kernel: Points
    ) -> None:
        self.grid, self.points, self.base, self.wanted = grid, points, base, wanted
        self.kernel, self.rises = kernel, wanted == 1

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of `predict_proba`."""
        each = self._row[self.grid.first_cell + cells]
        return of_class(logistic(summed(self.base, each)), self.wanted)

    @cached_property
    def _row(self) -> Floats:
        """The points of all cells in one row."""
        return np.concatenate(self.points)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        total = self.base + self.kernel.lowest + self.kernel.width * number
        return of_class(logistic(total), self.wanted)

    def cheapest(
        self,
        row: Callable[[], FlatCandidates],
        action_set: ActionSet,
        cost: Cost,
        least: float,
        most_nodes: float,
    ) -> Solution | None:
        """By the knapsack of all candidates."""
        del cost
        given, first = row(), self.grid.first_cell
        points = self._row[first.repeat(np.diff(given.first)) + given.cells]
        mine = self._row[first + self.grid.cells(action_set.own[None])[0]]
        sign = 1.0 if self.wanted == 1 else -1.0
        sums = _Sums(sign * self.base, sign * mine, sign * points)
        return _bought(given, sums, knapsack.NO_LINES, knapsack.NO_PARTS, least, most_nodes)

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """Fewer candidates: of what one value serves as well, and of what is too dear."""
        del deadline
        if sum(len(each.codes) for each in features) < FEWEST:
            return None
        side = float(condition.side)
        ends = self.kernel.lowest + self.kernel.width * np.array([condition.low, condition.high])
        needed = float(ends[0] if side > 0 else -ends[1]) - self.kernel.slack
        if not math.isfinite(needed):  # no sum has such a confidence
            return None
        gains = [
            side * points[each.cells] for points, each in zip(self.points, features, strict=True)
        ]
        kept = [np.arange(len(each)) for each in gains]
        if condition.high > 1.0 if side > 0 else condition.low < 0.0:  # the more the better
            kept = [
                here if f in related else _undominated(features[f].costs, gains[f])
                for f, here in enumerate(kept)
            ]
        known = fixed(
            [each.costs[k] for each, k in zip(features, kept, strict=True)],
            [each[k] for each, k in zip(gains, kept, strict=True)],
            needed, self.kernel.slack, incumbent,
            lambda at: accept(_codes(features, kept, at)),
        )  # fmt: skip
        steps: list[tuple[float, Floats]] = []
        codes, bound = None, 0.0
        if known is not None:
            bound = known.bound
            steps.append((known.multiplier * self.kernel.unit, np.empty(0)))
            codes = None if known.point is None else _codes(features, kept, known.point)
            kept = [k[s] for k, s in zip(kept, known.kept, strict=True)]
        fewer = [each.at(k) for each, k in zip(features, kept, strict=True)]
        return Reduction(*self._of(fewer), codes, steps, bound)

    def _of(self, features: Sequence[Candidates]) -> tuple[list[Candidates], CardScore]:
        """The same confidence of these candidates alone, each in a cell of its own."""
        points = [of[each.cells] for of, each in zip(self.points, features, strict=True)]
        return on_values(features, points, self.base, self.wanted, self.kernel.unit)


def on_values(
    features: Sequence[Candidates], points: Sequence[Floats], base: float, wanted: int, unit: float
) -> tuple[list[Candidates], CardScore]:
    """The candidates, each in a cell of its own, and one class's confidence on these cells."""
    sizes = [len(each.codes) for each in features]
    grid = numbered(sizes)
    apart = [
        each._replace(cells=np.arange(n, dtype=np.int32))
        for each, n in zip(features, sizes, strict=True)
    ]
    return apart, CardScore(grid, points, base, wanted, Points(grid, points, base, unit))


# ---------------------------------------------------------------- slopes


class SlopedScore(Score):
    """One class's confidence of a model with slopes, which speaks of codes and not of cells."""

    lists = True

    @property
    def sloped(self) -> Collection[int]:
        """The features that have a slope."""
        return self.card.sloped

    def __init__(self, card: Additive, wanted: int) -> None:
        self.card, self.wanted, self.grid, self.rises = card, wanted, card.grid, wanted == 1
        self.sign = 1.0 if wanted == 1 else -1.0

    def at(self, cells: Cells) -> Floats:
        """It is not one and the same on a cell."""
        del cells
        raise TypeError("cells do not tell the score of a model with slopes; ask it by `at_codes`")

    def confidence(self, number: Floats) -> Floats:
        """It has no kernel but that of listed values."""
        del number
        raise TypeError("a model with slopes has no kernel; its score of listed values has one")

    def at_codes(self, codes: Floats) -> Floats:
        """Confidence at rows of codes: the very floats of `predict_proba`."""
        return of_class(logistic(self.card.total(codes)), self.wanted)

    def cheapest(
        self,
        row: Callable[[], FlatCandidates],
        action_set: ActionSet,
        cost: Cost,
        least: float,
        most_nodes: float,
    ) -> Solution | None:
        """By a knapsack that has a line for each number with a slope, where none is cut."""
        card, sign, own, ends = self.card, self.sign, action_set.own, action_set.ends
        known, free = _lines(Same(action_set.schema), Same(card)), ends[0] <= ends[1]
        if cost.l1 == cost.l2 == 0.0 or cost.functions or free[known.cut].any():
            return None
        if any(ends[0, f] <= code <= ends[1, f] for f, code in known.never):
            return None
        lines = known.lines.copy()
        lines[:, knapsack.SLOPE] *= sign
        if not knapsack.begun(lines, own, ends):
            return None
        mine = sign * card.each(own[None], self.grid.cells(own[None]))[0]
        if free[known.others].any():
            given = row()
            at = self.grid.first_cell.repeat(np.diff(given.first)) + given.cells
            points = sign * card.worth_at(at, given.codes)
        else:
            given, points = FlatCandidates(own, known.none, np.zeros(len(own)), known.first), mine
        parts = np.array([cost.l0, cost.l1, cost.l2])
        return _bought(
            given, _Sums(sign * card.base, mine, points), lines, parts, least, most_nodes
        )

    def listed(
        self, features: Sequence[Candidates], action_set: ActionSet, cost: Cost, wish: Wish
    ) -> Reduction:
        """Of each number with a slope every value on its steps that may matter."""
        card, found, related = self.card, [*features], cost.related(action_set.schema)
        free = (f for f in card.sloped if action_set.actions[f].free)
        moving = [f for f in free if action_set.schema[f].name not in related]
        reach = _Reach(self, action_set, cost, wish, moving)
        points = {f: np.empty(0) for f in moving}
        for f in moving:
            found[f], points[f] = reach.values(f)
        every = [
            points[f] if f in points else card.worth(f, each.codes) for f, each in enumerate(found)
        ]
        return Reduction(*on_values(found, every, card.base, self.wanted, 1.0))

    def on(self, features: Sequence[Candidates]) -> CardScore:
        """By the points of each value."""
        points = [self.card.worth(f, each.codes) for f, each in enumerate(features)]
        return on_values(features, points, self.card.base, self.wanted, 1.0)[1]

    def endless(self, f: int, up: bool) -> bool:
        """By the slope of the outermost cell."""
        slope = float(self.card.slopes[f][len(self.grid.cuts[f]) if up else 0])
        return self.sign * slope >= 0.0 if up else self.sign * slope <= 0.0

    # ------------------------------------------------------------ how safe an answer is

    def worst(self, features: Sequence[Candidates], rooms: Floats) -> CardScore:
        """Each number's least points around each of its values."""
        points = [self._least(f, each.codes, float(rooms[f])) for f, each in enumerate(features)]
        return on_values(features, points, self.card.base, self.wanted, 1.0)[1]

    def worst_at(self, codes: Floats, rooms: Floats) -> float:
        """The confidence where all numbers have their least points."""
        each = [self._least(f, codes[f : f + 1], room) for f, room in enumerate(rooms.tolist())]
        total = summed(self.card.base, np.column_stack(each))
        return float(of_class(logistic(total), self.wanted)[0])

    def radius(
        self,
        schema: Schema,
        codes: Floats,
        threshold: float,
        norm: str,
        steps: Floats,
        boxes: float = math.inf,
    ) -> Radius:
        """In closed form where no number is cut into cells, and all move by anything."""
        if float(self.at_codes(codes[None])[0]) < threshold:
            return Radius(0.0)
        lines = self._lines(schema, codes, steps)
        return radius(lines, max(self._margin(codes, threshold), 0.0), norm, boxes)

    def noise(
        self, codes: Floats, deviation: Floats, threshold: float, tolerance: float, steps: Floats
    ) -> tuple[float, float]:
        """In closed form where no number is cut into cells, and all move by anything."""
        lines = self._lines(self.grid.schema, codes, steps)
        return noise(
            lines, deviation[deviation > 0].tolist(), self._margin(codes, threshold), tolerance
        )

    def _margin(self, codes: Floats, threshold: float) -> float:
        return self.sign * float(self.card.total(codes[None])[0]) - logit(threshold)

    def _lines(self, schema: Schema, codes: Floats, steps: Floats) -> list[Line]:
        """The features that may move."""
        each = zip(schema, codes.tolist(), steps.tolist(), strict=True)
        return [
            self._line(f, code, feature.scale, step, *steps_to_ends(feature, code))
            for f, (feature, code, step) in enumerate(each)
            if not (math.isnan(step) or math.isnan(code))
        ]

    def _line(self, f: int, code: float, scale: float, step: float, down: float, up: float) -> Line:
        ends, card = self.grid.ends(f), self.card
        known = slice(len(ends) - 1)
        points, slopes = (self.sign * of[f][known] for of in (card.points, card.slopes))
        return Line(code, scale, ends, points, slopes, step, down, up)

    def _least(self, f: int, codes: Floats, room: float) -> Floats:
        """The points for class 1 that are least for the wanted one, around each code."""
        found = self.card.worth(f, codes)
        known = ~np.isnan(codes)
        if room > 0.0 and known.any():
            line = self._line(f, 0.0, 1.0, 0.0, -math.inf, math.inf)
            found[known] = self.sign * line.least(codes[known], room)
        return found


class _Reach:
    """How far each number with a slope has to be followed, and its values until there.

    A change costs more the further it goes, so beyond what a known answer costs nothing is cheaper;
    where it costs the same however far it goes, one value that alone is enough is as good as any.
    """

    def __init__(
        self, score: SlopedScore, action_set: ActionSet, cost: Cost, wish: Wish, moving: list[int]
    ) -> None:
        self.score, self.action_set, self.cost, self.wish = score, action_set, cost, wish
        self.schema, self.own = action_set.schema, action_set.own
        straight = all(len(edges) == 0 for edges in score.grid.edges)
        self.rising = wish.rising and (wish.room is None or straight)
        row = self.own[None]
        self.mine = (score.sign * score.card.each(row, score.grid.cells(row)))[0].tolist()
        self.alone: dict[int, float] = {}  # a value that is enough by itself
        self.most = math.inf  # what an answer costs, before the root
        if wish.accept is not None:
            self._incumbent(wish.accept, moving)

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
        now, least = self.score.sign * float(self.score.card.total(self.own[None])[0]), -math.inf
        if self.wish.room is not None:
            rooms, floor = self.wish.room
            worst = self.score.worst_at(self.own, rooms)
            least = logit(floor) + now - logit(worst)
        if now < (least := max(least, logit(self.wish.least))):
            return least - now
        return min(logit(self.wish.most) - now, 0.0)

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

    def values(self, f: int) -> tuple[Candidates, Floats]:
        """All allowed values of one number that may matter, its own among them; their points."""
        number = Followed.of(self.action_set, self.cost, f)
        codes = number.values(*self._range(f, number))
        points = self.score.card.worth(f, codes)
        if self.rising:
            helps = self.score.sign * points > self.mine[f]
            kept = helps | (codes == number.own) | np.isnan(codes)
            codes, points = codes[kept], points[kept]
        return Candidates(codes, np.zeros(len(codes), np.int32), number.costs(codes)), points

    def _range(self, f: int, number: Followed) -> tuple[float, float]:
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
        card, sign = self.score.card, self.score.sign
        for c, (a, b) in enumerate(pairwise(self.score.grid.ends(f).tolist())):
            yield a, b, sign * float(card.slopes[f][c]), sign * float(card.points[f][c])


def logit(confidence: float) -> float:
    """The log-odds of a confidence, ±∞ beyond all."""
    if not 0.0 < confidence < 1.0:
        return -math.inf if confidence <= 0.0 else math.inf
    return math.log(confidence / (1.0 - confidence))


# ---------------------------------------------------------------- by a knapsack


class _Sums(NamedTuple):
    """Points towards the wanted class: the base, a person's own, and those of all candidates."""

    base: float
    mine: Floats
    points: Floats


class _Lines(NamedTuple):
    """What is known of the lines of a schema's numbers before a person comes, see `knapsack`."""

    lines: Floats
    cut: list[int]  # numbers with a slope that have none
    others: list[int]  # what has no slope
    never: list[tuple[int, float]]  # codes that mean missing
    none: Cells
    first: Ints  # where there is one value of each feature


@lru_cache(maxsize=64)
def _lines(schema: Same, card: Same) -> _Lines:
    d = len(schema.it)
    lines, cut, never = np.zeros((d, 8)), [], []
    lines[:, knapsack.Q] = 1.0
    for f in card.it.sloped:
        feature = schema.it[f]
        if len(card.it.grid.cuts[f]) or feature.step is None:
            cut.append(f)
            continue
        slope = float(card.it.slopes[f][0])
        lines[f, :6] = 0.0, slope, feature.weight, feature.scale, *ratio(feature.step)
        never += [(f, code) for code in feature.actions(math.nan).never]
    others = [f for f in range(d) if f not in card.it.sloped]
    return _Lines(lines, cut, others, never, np.zeros(d, np.int32), np.arange(d + 1))


def _bought(
    row: FlatCandidates, sums: _Sums, lines: Floats, parts: Floats, least: float, most_nodes: float
) -> Solution | None:
    """The cheapest among candidates and on lines that may have so much confidence."""
    if not 0.0 < least < 1.0:
        return None
    gains = sums.points - sums.mine.repeat(np.diff(row.first))
    # what rounding may do to a sum, and to the logistic function of it
    size = abs(sums.base) + np.abs(sums.mine).sum() + np.abs(gains).sum() + knapsack.size(lines)
    slack = 2.0**-50 * ((len(sums.mine) + 3) * float(size) + 1.0 / (least * (1.0 - least)))
    needed = logit(least) - (sums.base + math.fsum(sums.mine.tolist())) - slack
    sack = knapsack.Sack(row.costs, gains, row.first, lines, parts)
    found = knapsack.cheapest(sack, needed, most_nodes)
    if found is None or found.point is None:
        return None if found is None else Solution(None, found.nodes)
    codes = row.codes[np.maximum(found.point, 0)]
    for f in np.flatnonzero(found.point < 0).tolist():
        codes[f] = knapsack.code(lines[f], int(found.point[f]))
    return Solution(codes, found.nodes)


# ---------------------------------------------------------------- fewer candidates


def _codes(features: Sequence[Candidates], kept: Sequence[Ints], at: Ints) -> Floats:
    """The codes of a point that is given by its place among those kept of each feature."""
    each = zip(features, kept, at.tolist(), strict=True)
    return np.array([of.codes[here[k]] for of, here, k in each])


def _undominated(costs: Floats, gains: Floats) -> Ints:
    """The candidates than which none that costs no more gains as much, in their own order."""
    order = np.lexsort((-gains, costs))
    best = np.maximum.accumulate(gains[order])
    return np.sort(order[np.append(True, best[1:] > best[:-1])])
