"""The machine on boxes of cells: tables made once, and bounds read off them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.tsetlin import bounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Boxes:
    """Bounds on M over boxes of cells; what it holds is fixed, so threads may share it.

    For each feature the least and the greatest factor of every run of 1, 2, 4, … cells is
    tabulated, so a range of any length costs two look-ups a clause.
    """

    def __init__(
        self,
        factors: Floats,  # (cells of all features, C)
        n_cells: Ints,
        empty: Floats,
        link: Floats,
        calibrated: Callable[[Floats], Floats],
        raw_interval: Callable[[float, float], tuple[float, float]],
    ) -> None:
        self.calibrated, self.raw_interval = calibrated, raw_interval
        self.first_cell = np.cumsum(n_cells) - n_cells
        d, C = len(n_cells), len(empty)
        tables = np.split(factors, self.first_cell[1:])
        least = [_runs(table, np.minimum) for table in tables]
        most = [_runs(table, np.maximum) for table in tables]
        rows = np.cumsum([0, *map(len, least)])[:-1]
        steps = np.append(np.diff(link), 0.0)
        logs = np.log(np.maximum(factors, bounds.FLOOR))
        parts = [
            empty,
            link,
            np.maximum.accumulate(steps),
            np.maximum.accumulate(steps[::-1])[::-1],
            np.concatenate(least),
            np.concatenate(most),
            logs,
            logs.T,
            *(np.log(np.maximum(np.concatenate(t), bounds.FLOOR)) for t in (least, most)),
        ]
        starts = np.cumsum([0, *(part.size for part in parts)])[:-1]
        uneven = int(np.count_nonzero(steps) == 1)  # the vote link: one step, so slopes matter
        each = np.column_stack([n_cells, rows, self.first_cell])
        heads = [*starts[:7], uneven, starts[7], len(factors), *starts[8:]]
        self.layout = np.array([d, C, *heads, *each.ravel()], np.int64)
        self.numbers = np.concatenate([part.ravel() for part in parts])
        self.scratch = np.ones(12 * C + 8)  # where a search starts from
        self.cell_of = np.repeat(np.arange(d), n_cells)

    @property
    def interval(self) -> Any:
        """The compiled bounds on one box, see `bounds`."""
        return bounds.interval()

    @property
    def relaxation(self) -> Any:
        """The compiled separable bound on one box, see `bounds`."""
        return bounds.relaxation()

    @property
    def errors(self) -> Any:
        """Where the separable bound errs, see `bounds`."""
        return bounds.errors()

    def bounds(self, first: Ints, last: Ints) -> tuple[Floats, Floats, Floats]:
        """Least and greatest confidence on each box, and how loose each feature makes them."""
        n, d = first.shape
        out = np.empty((n, 2 + d))
        bounds.intervals(
            self.numbers, self.layout, first, last,
            np.empty(2 * d, np.int64), np.empty(2 + d), self.scratch.copy(), out,
        )  # fmt: skip
        low, high = self.calibrated(np.clip(out[:, :2], 0.0, 1.0)).T
        return low, high, out[:, 2:]


def _runs(table: Floats, extreme: np.ufunc) -> Floats:
    """Extremes of all runs of 1, 2, 4, … rows, one level under another, each as long as the table.

    Where a run would pass the end it is cut short there; such rows are never asked for.
    """
    levels = [table]
    width = 1
    while 2 * width <= len(table):
        below = levels[-1]
        shifted = np.concatenate([below[width:], np.repeat(below[-1:], width, axis=0)])
        levels.append(extreme(below, shifted))
        width *= 2
    return np.concatenate(levels)
