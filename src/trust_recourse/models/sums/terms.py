"""Bounds on a sum of small terms over boxes of cells: intervals, and dual decomposition.

Terms, leaves, atoms, entries and pairs are those of `layout`. On a box R(x) = Σ_t f_t(x), and for
any functions h_e of the atoms of the entries e of term t

    f_t(x) ≤ K_t + Σ_e h_e(x),   K_t = max over leaves ℓ of (v_ℓ − Σ_e min over ℓ's atoms of h_e),

so R(x) ≤ K + Σ_f g_f(x_f), the separable form that the engine prices. Any h is sound; good ones are
found by sweeps over the features at a multiplier λ (Kolmogorov, "A new look at reweighted message
passing", 2015). No sweep makes the bound at λ worse. A part of a box goes on from the h of the
whole.

The numbers are those of the model on a scale where they go from ¼ to ¾, so that there is room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.kernel import Kernel
from trust_recourse.models.sums.layout import TERM_LEAF, H, T, told


class Terms(Kernel):
    """The kernel of a sum of terms."""

    def __init__(
        self,
        values: Floats,  # of the leaves
        arrays: Ints,  # the layout
        *,
        error: float = 0.0,  # of the model's own sum
        h: Floats | None = None,  # to begin with, and its multiplier, on the scale of values
        multiplier: float = 0.0,
    ) -> None:
        starts = arrays[arrays[TERM_LEAF] :][: arrays[T] + 1]
        low = np.minimum.reduceat(values, starts[:-1])
        high = np.maximum.reduceat(values, starts[:-1])
        self.lowest = math.fsum(low.tolist())
        spread = math.fsum((high - low).tolist())
        # so that what rounding may do to a sum stays within the room around the scale
        self.width = max(2.0 * spread, 16.0 * error) or 1.0
        scaled = (values - low.repeat(np.diff(starts))) / self.width
        size = math.fsum(np.maximum(np.abs(low), np.abs(high)).tolist())
        exact = 8 * (len(low) + 3) * 2.0**-53 * (1.0 + size / self.width)
        self.error, self.rounding = error, 1e-12 + exact + error / self.width
        self.numbers = np.concatenate([[self.rounding], scaled])
        self.layout = arrays
        start = np.zeros(int(arrays[H])) if h is None else h / self.width
        self.memory = np.concatenate([[multiplier * self.width], start, np.ones(len(values))])

    def number(self, score: float) -> float:
        """The kernel's number for a score."""
        return 0.25 + (score - self.lowest) / self.width

    def score(self, number: Floats) -> Floats:
        """The score that stands for a number."""
        return self.lowest + (number - 0.25) * self.width

    @cached_property
    def native(self) -> _native.Terms:
        """The compiled bounds."""
        return _native.Terms(self.numbers, self.layout)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the sum, and the h of the atoms that these cells tell apart."""
        return price / self.width, told(
            self.layout, memory[:, 1 : 1 + int(self.layout[H])], cells
        ) * self.width
