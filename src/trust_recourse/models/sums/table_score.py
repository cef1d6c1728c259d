"""One class's confidence of a sum of tables of one and of two features, as engines ask for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from trust_recourse.io.arrays import Cells, Floats
from trust_recourse.models.on_cells import OnCells, numbered
from trust_recourse.models.seam import Score, of_class
from trust_recourse.models.subproblem import Candidates, Condition, Reduction
from trust_recourse.models.sums.additive import Additive, logistic
from trust_recourse.models.sums.table_reduce import Asked, Less, reduced
from trust_recourse.models.sums.tables import Pair, Tables, atoms_of

FEWEST = 64  # numbers in tables of two features from which on a question is reduced


class TableScore(Score):
    """The confidence of a class."""

    kernel: Tables

    def __init__(self, card: Additive, wanted: int) -> None:
        self.card, self.wanted, self.rises = card, wanted, wanted == 1
        self.grid = card.grid
        self.kernel = Tables(card.grid.sizes, card.points, card.pairs, card.base)

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of `predict_proba`."""
        return of_class(self.card.confidence_at(cells), self.wanted)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        total = self.card.base + self.kernel.lowest + self.kernel.width * number
        return of_class(logistic(total), self.wanted)

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """Fewer cells, and smaller tables."""
        points, pairs = self._parts
        if sum(pair.table.size for pair in pairs) < FEWEST:
            return None
        kernel, side = self.kernel, condition.side
        low, high = (
            (condition.low, condition.high) if side > 0 else (-condition.high, -condition.low)
        )
        if not math.isfinite(low):  # no sum has such a confidence
            return None
        slack = 2.0 * kernel.rounding
        level = low if side > 0 else 1.0 + low
        asked = Asked(side, low + slack, high - slack, level)
        cells = OnCells(features, self.grid.sizes)
        found = reduced(
            kernel, points, pairs, cells.costs, asked, incumbent,
            lambda at: accept(cells.codes(at)), deadline,
        )  # fmt: skip
        codes = None if found.point is None else cells.codes(found.point)
        atoms = atoms_of(kernel.layout, [each.cells.astype(np.int64) for each in features])
        steps = [(multiplier, h[atoms]) for multiplier, h in found.steps]
        fewer = cells.left(found.kept, found.room, related)
        return Reduction(fewer, _Smaller(self, found), codes, steps, max(found.bound, 0.0))

    @property
    def _parts(self) -> tuple[Sequence[Floats], Sequence[Pair]]:
        return self.card.points, self.card.pairs


class _Smaller(TableScore):
    """The same confidence of smaller tables, on a grid of the cells that are left."""

    def __init__(self, whole: TableScore, found: Less) -> None:
        self.card, self.wanted, self.rises = whole.card, whole.wanted, whole.rises
        self.found, sizes = found, np.array([len(each) for each in found.kept])
        self.grid = numbered(sizes)
        self.kernel = Tables(
            sizes, found.points, found.pairs, whole.card.base,
            error=whole.kernel.rounding * whole.kernel.width, h=found.h,
            multiplier=found.multiplier,
        )  # fmt: skip

    @property
    def _parts(self) -> tuple[Sequence[Floats], Sequence[Pair]]:
        return self.found.points, self.found.pairs

    def at(self, cells: Cells) -> Floats:
        """It is the whole that judges points."""
        raise NotImplementedError
