"""One class's confidence of a sum of trees, as the exact engine asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from trust_recourse.io.arrays import Cells, Floats
from trust_recourse.models.on_cells import OnCells, numbered
from trust_recourse.models.seam import MOST_INTERVALS, Score
from trust_recourse.models.subproblem import Candidates, Condition, Reduction
from trust_recourse.models.sums.ensemble import SumModel
from trust_recourse.models.sums.layout import H, layout
from trust_recourse.models.sums.reduce import Asked, Reduced, Sum, reduced
from trust_recourse.models.sums.terms import Terms

ROUNDING = 2.0**-50  # relatively, of a few sums
FEWEST = 64  # leaves from which on a question is reduced before it is searched


class SumScore(Score):
    """The confidence of a class by the library's own sum and link.

    Where the library sums the classes apart, each is judged by its own sum.
    """

    kernel: Terms

    def __init__(self, model: SumModel, wanted: int) -> None:
        own = model.flipped if wanted == 0 else None
        self.model, self.wanted = (model, wanted) if own is None else (own, 1)
        self.grid, self.rises, self.base = self.model.grid, self.wanted == 1, self.model.base
        leaves = self.model.leaves
        self.values, arrays = leaves.value, layout(leaves, self.grid.sizes)
        self.kernel = Terms(self.values, arrays, error=self.model.rounding)
        self._known: dict[tuple[float, float], tuple[float, float]] = {}

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of the library."""
        return self.model.confidence(self.model.at(cells), self.wanted)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        return self.model.confidence(self.base + self.kernel.score(number), self.wanted)

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """The kernel's numbers whose confidence lies in [low, high]; the last ones are kept."""
        if (low, high) not in self._known:
            if len(self._known) >= MOST_INTERVALS:
                self._known.clear()
            self._known[low, high] = super().interval(low, high)
        return self._known[low, high]

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """Fewer cells and leaves."""
        return _reduction(self, features, condition, incumbent, related, accept, deadline)


class _Less(SumScore):
    """The same confidence of a sum of fewer terms, on a grid of the cells that are left."""

    def __init__(self, whole: SumScore, found: Reduced) -> None:
        self.whole, self.rises, self.base = whole, whole.rises, whole.base + found.base
        self.model, self.wanted = whole.model, whole.wanted
        self.grid = numbered([len(cells) for cells in found.kept])
        self.values = found.values
        error = whole.kernel.error + ROUNDING * (abs(whole.base) + abs(found.base))
        self.kernel = Terms(
            self.values, found.layout, error=error, h=found.h, multiplier=found.multiplier
        )

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """That of the whole on this scale, where what rounding may do lies within it."""
        ours, theirs, more = self.kernel, self.whole.kernel, self.whole.base - self.base
        least, most = more + theirs.score(np.array(self.whole.interval(low, high)))
        size = abs(more) + abs(theirs.lowest) + theirs.width + abs(ours.lowest) + ours.width
        wide = ROUNDING * size / ours.width
        return ours.number(least) - wide, ours.number(most) + wide

    def at(self, cells: Cells) -> Floats:
        """It is the whole that judges points."""
        raise NotImplementedError


def _reduction(
    score: SumScore,
    features: Sequence[Candidates],
    condition: Condition,
    incumbent: float,
    related: frozenset[int],
    accept: Callable[[Floats], bool],
    deadline: float,
) -> Reduction | None:
    kernel, side = score.kernel, condition.side
    if len(score.values) < FEWEST:
        return None
    low, high = kernel.score(np.array([condition.low, condition.high])).tolist()
    need, most = (low, high) if side > 0 else (-high, -low)
    if not math.isfinite(need):  # no sum has such a confidence
        return None
    asked = Asked(side, need, most, 2.0 * kernel.rounding * kernel.width)
    cells = OnCells(features, score.grid.sizes)
    h = kernel.memory[1 : 1 + int(kernel.layout[H])] * kernel.width
    whole = Sum(score.values, kernel.layout, kernel.memory[0] / kernel.width, h)
    found = reduced(
        whole, cells.costs, asked, incumbent, related, lambda at: accept(cells.codes(at)), deadline
    )
    if found is None:
        return None
    codes = None if found.point is None else cells.codes(found.point)
    fewer = cells.left(found.kept, found.room, related)
    return Reduction(fewer, _Less(score, found), codes, found.steps, max(float(found.bound), 0.0))
