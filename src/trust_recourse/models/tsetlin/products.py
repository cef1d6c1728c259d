"""Sums of clauses: the one form in which a machine is searched and proved about.

Notation: C clauses, j; f the features; F_jf the factor of a cell; q_j + E_j = Π_f F_jf, where q_j
is the probability that clause j fires. There are K sums R_k = b_k + Σ_j w_kj q_j: one of a machine
of two classes or of a mean of machines, and one for each of several classes. A clause has a weight
in one sum alone, so the weights are held in one row, those of the first sum first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.regridding import common, numbered, within
from trust_recourse.models.scores import Asked, BoundedSum, Fewer, Scores
from trust_recourse.models.tsetlin.bounds import ClauseBounds

NEVER = 1e-12  # of log-odds: what a clause adds at most that next to never fires


@dataclass(frozen=True, eq=False)
class Products(Scores):
    """K sums of clauses on one grid; weights below 0 are those of clauses against."""

    grid: Grid
    weights: Floats  # (C,)
    counts: tuple[int, ...]  # (K,) how many of the clauses are of each sum
    base: Floats  # (K,) b
    factors: Floats  # (cells of all features, C)
    empty: Floats  # (C,) E
    error: Floats  # (K,) what the clauses that were left out may add
    source: tuple[Products, tuple[Ints, ...]] | None = None  # all clauses, and the cells kept

    @classmethod
    def joined(cls, each: Sequence[Products]) -> Products:
        """The sums of several machines, on the common cells of all of them."""
        grid = common([one.grid for one in each])
        factors = [one.factors[one._rows(within(grid, one.grid))] for one in each]
        return cls(
            grid,
            np.concatenate([one.weights for one in each]),
            tuple(count for one in each for count in one.counts),
            np.concatenate([one.base for one in each]),
            np.concatenate(factors, axis=1),
            np.concatenate([one.empty for one in each]),
            np.concatenate([one.error for one in each]),
        )

    @property
    def many(self) -> int:
        """K."""
        return len(self.counts)

    @cached_property
    def _own(self) -> list[slice]:
        """The clauses of each sum."""
        return [slice(a, b) for a, b in pairwise(np.cumsum([0, *self.counts]).tolist())]

    def _rows(self, cells: Sequence[Ints]) -> Ints:
        """The rows of `factors` for these cells of each feature."""
        return np.concatenate([*map(np.add, self.grid.first_cell, cells)])

    def at(self, cells: Cells) -> Floats:
        """(n, K): the sums at rows of cells, each added up over its own clauses in order."""
        if self.source is not None:
            whole, kept = self.source
            each = [of[cells[:, f]] for f, of in enumerate(kept)]
            return whole.at(np.column_stack(each).astype(np.int32))
        q = _native.firing(cells, self.grid.first_cell, self.factors, self.empty)
        found = [
            _native.scores(np.ascontiguousarray(q[:, own]), self.weights[own], base)
            for own, base in zip(self._own, self.base.tolist(), strict=True)
        ]
        return np.column_stack(found)

    def weighted(self, by: Floats) -> Products:
        """The sum of all sums, each times its weight; those that weigh nothing are left out."""
        used = [k for k in range(self.many) if by[k] != 0.0]
        factors, empty = self.factors, self.empty
        if len(used) < self.many:
            kept = np.concatenate([np.arange(self._own[k].start, self._own[k].stop) for k in used])
            factors, empty = factors[:, kept], empty[kept]
        weights = np.concatenate([by[k] * self.weights[self._own[k]] for k in used])
        base = sum(by[k] * self.base[k] for k in used)
        error = sum(abs(by[k]) * self.error[k] for k in used)
        return Products(
            self.grid, weights, (len(weights),), np.array([base], float), factors, empty,
            np.array([error], float),
        )  # fmt: skip

    def on(self, kept: Sequence[Ints]) -> Products:
        """The same on these cells of each feature, without clauses that are constant there."""
        grid = numbered([len(of) for of in kept])
        whole, before = self.source or (self, tuple(map(np.arange, self.grid.sizes.tolist())))
        cells = tuple(was[of] for was, of in zip(before, kept, strict=True))
        factors = np.ascontiguousarray(self.factors[self._rows(kept)])
        return replace(self, grid=grid, factors=factors, source=(whole, cells))._folded()

    def folded(self) -> Products:
        """The same on all cells, without clauses that are constant."""
        cells = tuple(map(np.arange, self.grid.sizes.tolist()))
        return replace(self, source=self.source or (self, cells))._folded()

    def _folded(self) -> Products:
        """Without the clauses that weigh nothing, next to never fire, or do so everywhere alike."""
        first = self.grid.first_cell
        least = np.minimum.reduceat(self.factors, first)
        most = np.maximum.reduceat(self.factors, first)
        alike = (least == most).all(axis=0)
        reach = np.abs(self.weights) * np.maximum(most.prod(axis=0) - self.empty, 0.0)
        never = ~alike & (reach <= NEVER)
        constant = self.weights * np.maximum(least.prod(axis=0) - self.empty, 0.0)
        stays = ~(alike | never) & (self.weights != 0.0)
        return replace(
            self,
            weights=self.weights[stays],
            counts=tuple(int(stays[own].sum()) for own in self._own),
            base=self.base + [constant[own][alike[own]].sum() for own in self._own],
            factors=np.ascontiguousarray(self.factors[:, stays]),
            empty=self.empty[stays],
            error=self.error + [reach[own][never[own]].sum() for own in self._own],
        )

    def kernel(self) -> ClauseBounds:
        """Bounds on a single sum over boxes of cells."""
        (base,), (error,) = self.base.tolist(), self.error.tolist()
        return ClauseBounds.of_sum(self.grid, self.factors, self.empty, self.weights, base, error)

    def part(self) -> BoundedSum:
        """Bounds of a single sum, with the scale of its kernel."""
        kernel = self.kernel()
        return BoundedSum(kernel, kernel.lowest, kernel.width)

    def fewer(self, weights: Floats, asked: Asked) -> Fewer | None:
        """Without steps for a checker, who draws other lines above the clauses than we do."""
        found = super().fewer(weights, asked)
        return found and found._replace(steps=())
