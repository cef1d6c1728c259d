"""One class's confidence of a sum on cells, as the exact engine asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models import knapsack
from trust_recourse.models.reduced_cost import fixed
from trust_recourse.models.regridding import CheapestOnCells
from trust_recourse.models.scores import Asked, Fewer
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import (
    Candidates,
    Condition,
    FlatCandidates,
    Reduction,
    Solution,
)
from trust_recourse.models.sums.kernels import SumKernel, Tables, Terms
from trust_recourse.models.sums.layout import H
from trust_recourse.models.sums.reduce import Reduced, reduced_leaves, reduced_tables
from trust_recourse.models.sums.sum import Sum
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet

ROUNDING = 2.0**-50  # relatively, of a few sums
# from which on a question is reduced before it is searched: leaves, numbers in tables of two
# features, candidates of a separable sum
FEWEST, FEWEST_VALUES = 64, 256


class Linked(Protocol):
    """A model of two classes whose confidence is a function of one sum."""

    def confidence(self, total: Floats, wanted: int) -> Floats:
        """The confidence of the class at this position, of sums."""


class SumScore(Score):
    """The confidence of a class by the model's own sum and link."""

    kernel: SumKernel

    def __init__(
        self, model: Linked, total: Sum, wanted: int, kernel: SumKernel | None = None
    ) -> None:
        self.model, self.sum, self.wanted = model, total, wanted
        self.grid, self.rises = total.grid, wanted == 1
        self.kernel = total.kernel() if kernel is None else kernel

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of `predict_proba`."""
        return self.model.confidence(self.sum.at(cells)[:, 0], self.wanted)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        return self.model.confidence(self.kernel.total(number), self.wanted)

    def cheapest(
        self,
        row: Callable[[], FlatCandidates],
        action_set: ActionSet,
        cost: Cost,
        least: float,
        most_nodes: float,
    ) -> Solution | None:
        """Of a separable sum by the knapsack of all candidates."""
        del cost
        if not self.sum.separable:
            return None
        given, first, points = row(), self.grid.first_cell, self.sum.row
        own = points[first + self.grid.cells(action_set.own[None])[0]]
        each = points[first.repeat(np.diff(given.first)) + given.cells]
        sign = 1.0 if self.wanted == 1 else -1.0
        sums = knapsack.Sums(sign * float(self.sum.base[0]), sign * own, sign * each)
        return knapsack.bought(given, sums, least, most_nodes)

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """Fewer cells, leaves and tables; of a separable sum fewer candidates."""
        if self.sum.separable:
            return self._fewer_values(features, condition, incumbent, related, accept)
        kernel, total, cells = self.kernel, self.sum, CheapestOnCells(features, self.grid.sizes)
        numbers = np.array([condition.low, condition.high])
        # tables are reduced on the scale of their kernel, leaves on that of their sum
        tables = isinstance(kernel, Tables)
        ends, unit = (numbers, 1.0) if tables else (kernel.score(numbers), kernel.width)
        least, most = ends.tolist()
        need, most = (least, most) if condition.side > 0 else (-most, -least)
        if total.size < FEWEST or not math.isfinite(need):  # no sum has such a confidence
            return None
        asked = Asked(
            cells.costs, need, incumbent, lambda at: accept(cells.codes(at)), deadline,
            condition.side, most, 2.0 * kernel.rounding * unit, related,
        )  # fmt: skip
        found = self._reduced(asked)
        if found is None:
            return None
        codes = None if found.point is None else cells.codes(found.point)
        fewer, bound = cells.left(found.kept, found.room, related), max(float(found.bound), 0.0)
        steps = found.steps if total.followed else None
        return Reduction(fewer, self._on(found), codes, steps, bound)

    def _reduced(self, asked: Asked) -> Reduced | Fewer | None:
        """Of both storages together by one relaxation of their kernel, else by their own."""
        kernel = self.kernel
        if isinstance(kernel, Tables):
            return reduced_tables(kernel, self.grid, asked)
        if isinstance(kernel, Terms):
            multiplier, h = kernel.memory[0], kernel.memory[1 : 1 + int(kernel.layout[H])]
            given = multiplier / kernel.width, h * kernel.width
            return reduced_leaves(self.sum.lists, asked, *given)
        needed = asked.needed + asked.side * kernel.base - asked.slack
        side = np.array([float(asked.side)])
        found = self.sum.fewer(side, asked._replace(needed=needed, side=1))
        return found if found is not None and found.steps else None

    def _on(self, found: Reduced | Fewer) -> SumScore:
        """The same confidence on the cells that are left."""
        if isinstance(found, Fewer):
            return SumScore(self.model, self.sum.on(found.kept), self.wanted)
        if found.lists is not None:
            return _FewerLeaves(self, found)
        error = np.array([self.kernel.rounding * self.kernel.width])
        left = replace(self.sum.on(found.kept), error=error)
        kernel = left.kernel(h=found.h, multiplier=found.multiplier)
        return SumScore(self.model, left, self.wanted, kernel)

    # ------------------------------------------------------------ separable

    def _fewer_values(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
    ) -> Reduction | None:
        """Without what another value serves as well as, and what is too dear."""
        if sum(len(each.codes) for each in features) < FEWEST_VALUES:
            return None
        kernel, side = self.kernel, float(condition.side)
        slack = kernel.rounding * kernel.width
        ends = kernel.lowest + kernel.width * np.array([condition.low, condition.high])
        needed = float(ends[0] if side > 0 else -ends[1]) - slack
        if not math.isfinite(needed):  # no sum has such a confidence
            return None
        points = zip(self.sum.points, features, strict=True)
        gains = [side * of[each.cells] for of, each in points]
        kept = [np.arange(len(each)) for each in gains]
        if condition.high > 1.0 if side > 0 else condition.low < 0.0:  # the more the better
            kept = [
                here if f in related else _undominated(features[f].costs, gains[f])
                for f, here in enumerate(kept)
            ]
        known = fixed(
            [each.costs[k] for each, k in zip(features, kept, strict=True)],
            [each[k] for each, k in zip(gains, kept, strict=True)],
            needed, slack, incumbent, lambda at: accept(_codes(features, kept, at)),
        )  # fmt: skip
        steps: list[tuple[float, Floats]] = []
        codes, bound = None, 0.0
        if known is not None:
            bound = known.bound
            steps.append((known.multiplier * kernel.unit, np.empty(0)))
            codes = None if known.point is None else _codes(features, kept, known.point)
            kept = [k[s] for k, s in zip(kept, known.kept, strict=True)]
        fewer = [each.at(k) for each, k in zip(features, kept, strict=True)]
        left = self.sum.on([each.cells.astype(np.int64) for each in fewer])
        found = SumScore(self.model, left, self.wanted, left.kernel(unit=kernel.unit))
        return Reduction(apart(fewer), found, codes, steps, bound)


class _FewerLeaves(SumScore):
    """The same confidence of a sum of fewer leaves; the whole judges points."""

    def __init__(self, whole: SumScore, found: Reduced) -> None:
        before = float(whole.sum.base[0])
        error = whole.kernel.error + ROUNDING * (abs(before) + abs(found.base))
        assert found.lists is not None
        left = whole.sum.of_lists(found.kept, found.lists, found.base, error)
        kernel = left.kernel(h=found.h, multiplier=found.multiplier)
        super().__init__(whole.model, left, whole.wanted, kernel)
        self.whole, self.rises = whole, whole.rises

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """That of the whole on this scale, where what rounding may do lies within it."""
        ours, theirs = self.kernel, self.whole.kernel
        more = float(self.whole.sum.base[0]) - float(self.sum.base[0])
        least, most = more + theirs.score(np.array(self.whole.interval(low, high)))
        size = abs(more) + abs(theirs.lowest) + theirs.width + abs(ours.lowest) + ours.width
        wide = ROUNDING * size / ours.width
        return ours.number(least) - wide, ours.number(most) + wide


# ---------------------------------------------------------------- values


def apart(features: Sequence[Candidates]) -> list[Candidates]:
    """The candidates, each in a cell of its own."""
    return [each._replace(cells=np.arange(len(each.codes), dtype=np.int32)) for each in features]


def _codes(features: Sequence[Candidates], kept: Sequence[Ints], at: Ints) -> Floats:
    """The codes of a point that is given by its place among those kept of each feature."""
    each = zip(features, kept, at.tolist(), strict=True)
    return np.array([of.codes[here[k]] for of, here, k in each])


def _undominated(costs: Floats, gains: Floats) -> Ints:
    """The candidates than which none that costs no more gains as much, in their own order."""
    order = np.lexsort((-gains, costs))
    best = np.maximum.accumulate(gains[order])
    return np.sort(order[np.append(True, best[1:] > best[:-1])])
