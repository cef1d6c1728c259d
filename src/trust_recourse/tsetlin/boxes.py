"""Bounds on the machine's confidence over boxes of cells: what the exact engine searches with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from trust_recourse.tsetlin import kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-12  # products in another order may differ from a prediction's by rounding


class Boxes:
    """Candidates for each feature, by their cells, and M's bounds on ranges of them.

    For each feature the least and the greatest factor of every run of 1, 2, 4, … candidates is
    tabulated, so a range of any length costs two look-ups a clause.
    """

    def __init__(
        self,
        factors: Sequence[Floats],  # per feature (candidates, C): F at each candidate's cell
        empty: Floats,
        link: Floats,
        calibrated: Callable[[Floats], Floats],
    ) -> None:
        self.empty, self.link, self.calibrated = empty, link, calibrated
        self.size = np.array([len(table) for table in factors], np.int64)
        least = [_runs(table, np.minimum) for table in factors]
        most = [_runs(table, np.maximum) for table in factors]
        self.start = np.cumsum([0, *map(len, least)])[:-1].astype(np.int64)
        self.least, self.most = np.concatenate(least), np.concatenate(most)
        self.q = np.empty((2, len(empty)))
        self.law = np.empty((2, len(empty) + 1))

    def bounds(self, first: Ints, last: Ints) -> tuple[Floats, Floats, Floats]:
        """Least and greatest confidence on each box, and how loose each feature makes them."""
        out = np.empty((len(first), 2))
        loose = np.empty(first.shape)
        kernels.box_bounds(
            first, last, self.start, self.size, self.least, self.most, self.empty, self.link,
            self.q, self.law, out, loose,
        )  # fmt: skip
        low = self.calibrated(np.clip(out[:, 0] - ROUNDING, 0.0, 1.0))
        high = self.calibrated(np.clip(out[:, 1] + ROUNDING, 0.0, 1.0))
        return low, high, loose


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
