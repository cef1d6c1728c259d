"""The kernels of sums, of two storages: dense tables of features and pairs, and lists of leaves.

Both bound a sum over boxes of cells: by intervals, and by relaxations with a gain for each cell.
Terms and leaves are those of `layout`, pairs and atoms those of `tables`. A **term** is a tree or a
pair. For any functions h_e of its atoms, on a box,

    f_t(x) ≤ K_t + Σ_e h_e(x),   K_t = max over leaves ℓ of (v_ℓ − Σ_e min over ℓ's atoms of h_e),

where each entry of a table is a leaf of one atom of either feature. So the sum is at most
K + Σ_f g_f(x_f), the form that the engine prices. Any h is sound. Sweeps over the features at a
multiplier λ find good ones (Kolmogorov, "A new look at reweighted message passing", 2015). A part
of a box goes on from the h of the whole.

Numbers are on a scale where sums go from ¼ to ¾, so that there is room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.kernel import Kernel
from trust_recourse.models.sums.dense_tables import P, Pair, atoms_of, table_layout
from trust_recourse.models.sums.layout import TERM_LEAF, H, T, told


class SumKernel(Kernel):
    """Bounds on a sum: base + lowest + (number − origin) · width."""

    base: float
    lowest: float
    width: float
    origin: float = 0.0  # the number of the least sum, or of `lowest`
    error: float = 0.0  # of the model's own sum
    unit: float = 1.0  # what readers of certificates count in

    def number(self, score: float) -> float:
        """The number of a sum without the base."""
        return self.origin + (score - self.lowest) / self.width

    def score(self, number: Floats) -> Floats:
        """The sum that a number stands for, without the base."""
        return self.lowest + (number - self.origin) * self.width

    def total(self, number: Floats) -> Floats:
        """The sum that a number stands for."""
        return self.base + self.score(number)


class Tables(SumKernel):
    """The kernel of a sum of points of one feature and of tables of two.

    A sum of points alone has no h: its gains are the points. `unit` is what readers of its
    certificates count in, the width of the first kernel of its model if none is given.
    """

    def __init__(
        self,
        sizes: Ints,
        points: Sequence[Floats],
        pairs: Sequence[Pair],
        base: float,
        *,
        error: float = 0.0,  # of the model's own sum, where it is not just this one
        h: Floats | None = None,  # to begin with, and its multiplier, on the scale of points
        multiplier: float = 0.0,
        unit: float | None = None,
    ) -> None:
        every = [*points, *(pair.table for pair in pairs)]
        least = math.fsum(float(each.min()) for each in every)
        spread = math.fsum(float(np.ptp(each)) for each in every) or 1.0
        # so that what rounding may do to a sum stays within the room around the scale
        self.width = max(2.0 * spread, 16.0 * error)
        self.lowest = least - self.width / 4.0
        size = abs(base) + math.fsum(float(np.abs(each).max()) for each in every) + abs(least)
        exact = 8 * (len(every) + 3) * 2.0**-53 * size
        self.base, self.rounding = base, 1e-12 + (exact + error) / self.width
        self.unit = self.width if unit is None else unit
        parts = [(each - each.min()) / self.width for each in every]
        start = 0.25 if pairs else 0.0  # where a sum begins: points alone have it in their first
        parts[0] = parts[0] + (0.25 - start)
        tables = [turned.ravel() for each in parts[len(points) :] for turned in (each.T, each)]
        self.numbers = np.concatenate([[self.rounding, start], *parts[: len(points)], *tables])
        self.layout = table_layout(sizes, pairs)
        if pairs:
            known = np.zeros(int(self.layout[H])) if h is None else h / self.width
            self.memory = np.concatenate([[multiplier * self.width], known])

    def total(self, number: Floats) -> Floats:
        """The sum that a number stands for."""
        return self.base + self.lowest + self.width * number

    @cached_property
    def native(self) -> _native.Tables:
        """The compiled bounds: see `src/native/sums/tables.hpp`."""
        return _native.Tables(self.numbers, self.layout)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices in the reader's unit, and the h of the atoms that these cells lie in."""
        if not self.layout[P]:
            return price * (self.unit / self.width), memory
        return price / self.width, memory[:, 1 + atoms_of(self.layout, cells)] * self.width


class Terms(SumKernel):
    """The kernel of a sum of lists of leaves."""

    origin = 0.25

    def __init__(
        self,
        values: Floats,  # of the leaves
        arrays: Ints,  # the layout
        *,
        base: float = 0.0,
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
        self.base, self.error = base, error
        self.rounding = 1e-12 + exact + error / self.width
        self.numbers = np.concatenate([[self.rounding], scaled])
        self.layout = arrays
        start = np.zeros(int(arrays[H])) if h is None else h / self.width
        self.memory = np.concatenate([[multiplier * self.width], start, np.ones(len(values))])

    @cached_property
    def native(self) -> _native.Terms:
        """The compiled bounds."""
        return _native.Terms(self.numbers, self.layout)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the sum, and the h of the atoms that these cells tell apart."""
        return price / self.width, told(
            self.layout, memory[:, 1 : 1 + int(self.layout[H])], cells
        ) * self.width


class Mixed(SumKernel):
    """The kernel of a sum of both: tables of one and two features, and lists of leaves."""

    def __init__(self, sizes: Ints, tables: Tables, leaves: Terms, base: float) -> None:
        self.parts, self.sizes = (tables, leaves), sizes
        self.width = tables.width + leaves.width
        self.by = np.array([tables.width, leaves.width]) / self.width
        self.base, self.error = base, leaves.error
        self.lowest = tables.lowest + leaves.lowest - leaves.origin * leaves.width
        size = sum(abs(each) for each in (base, tables.lowest, leaves.lowest)) / self.width
        self.more = 2.0**-48 * (1.0 + size)  # rounding besides that of the parts
        self.rounding = self.more + float(self.by @ [tables.rounding, leaves.rounding])
        self.memory = np.concatenate([[0.0], tables.memory, leaves.memory])
        self.begins = np.array([1, 1 + len(tables.memory)])

    @property
    def size(self) -> int:
        """That of both parts together."""
        return sum(part.size for part in self.parts)

    @cached_property
    def native(self) -> _native.MixedSum:
        """The compiled bounds, from those of the parts."""
        kernels = [part.native for part in self.parts]
        return _native.MixedSum(kernels, self.begins, self.by, self.more, self.sizes)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the sum, and the h of the tables' atoms and of the leaves'."""
        each = zip(self.parts, np.split(memory, self.begins, axis=1)[1:], strict=True)
        h = [part.told(price, np.ascontiguousarray(of), cells)[1] for part, of in each]
        return price / self.width, np.concatenate(h, axis=1)
