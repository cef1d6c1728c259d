"""Bounds on the machine's confidence over boxes of cells: what the exact engine searches with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from trust_recourse.tsetlin import inference

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FLOOR = 1e-9  # factors below it are taken as this where a logarithm is needed
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
        T: float | None,  # of a margin link without calibration, else None: see `relaxation`
    ) -> None:
        self.empty, self.link, self.calibrated, self.T = empty, link, calibrated, T
        self.logs = np.log(np.maximum(np.concatenate(factors), FLOOR))
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
        inference.box_bounds(
            first, last, self.start, self.size, self.least, self.most, self.empty, self.link,
            self.q, self.law, out, loose,
        )  # fmt: skip
        low = self.calibrated(np.clip(out[:, 0] - ROUNDING, 0.0, 1.0))
        high = self.calibrated(np.clip(out[:, 1] + ROUNDING, 0.0, 1.0))
        return low, high, loose

    def relaxation(
        self, first: Ints, last: Ints, wanted: int, confidence: float
    ) -> tuple[Floats, Floats] | None:
        """A linear condition that every point of a box with this confidence fulfils.

        Gives (n,) and (n, candidates): Σ over the features of g[their candidate] ≥ needed. One
        candidate serves all clauses together, which the bounds above do not ask for. S_j = Σ_f log
        F_jf is additive and q_j + E_j = exp(S_j) convex in it: a secant bounds the clauses that
        vote for the wanted class from above, a tangent the others from below. With the margin link
        clip(v) − v never rises with v, so its mean is greatest where v is least.
        """
        if self.T is None:
            return None
        least, most = self._extremes(first, last)
        up = np.arange(len(self.empty)) % 2 == (0 if wanted == 1 else 1)
        q = np.maximum(np.where(up, least, most) - self.empty, 0.0)
        law = np.empty((len(q), q.shape[1] + 1))
        inference.vote_law(q, law)
        lowest = law @ self.link if wanted == 1 else 1.0 - law @ self.link
        needed = 2.0 * self.T * (confidence - ROUNDING - lowest) + q @ np.where(up, 1.0, -1.0)

        low, high = np.maximum(least, FLOOR ** len(self.size)), np.maximum(most, FLOOR)
        span = np.log(high) - np.log(low)
        flat = span < 1e-9
        slope = np.where(flat, high, (high - low) / np.where(flat, 1.0, span))
        # at the floor a tangent would no longer lie below, so such a clause gets its least value
        lost = ~up & (least < 2 * FLOOR)
        slope = np.where(lost | (up & flat), 0.0, slope)
        at = np.where(slope > 0, np.log(np.where(slope > 0, slope, 1.0)), 0.0)
        secant = np.where(flat, high, low - slope * np.log(low)) - self.empty
        tangent = np.where(lost, least, slope * (1.0 - at)) - self.empty
        sign = np.where(up, 1.0, -1.0)
        constant = (sign * np.where(up, secant, tangent)).sum(axis=1)
        return needed - constant, (sign * slope) @ self.logs.T

    def _extremes(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """Least and greatest q_j + E_j on each box."""
        least, most = np.ones((2, len(first), len(self.empty)))
        for f, (start, size) in enumerate(zip(self.start, self.size, strict=True)):
            length = last[:, f] - first[:, f] + 1
            level = np.frexp(length.astype(float))[1] - 1
            a = start + level * size + first[:, f]
            b = a + length - (1 << level)
            least *= np.minimum(self.least[a], self.least[b])
            most *= np.maximum(self.most[a], self.most[b])
        return least, most


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
