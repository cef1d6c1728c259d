"""Sums on one grid of cells: the values that scorecards, additive models and trees are made of.

A `Sum` has K columns, one for a model of two classes and one for each of several. A column is

    base + Σ_f unary_f(x_f) + Σ_p table_p(x_f, x_g) + Σ_t leaf_t(x),

and weighted sums of columns, and restrictions to fewer cells, are again a `Sum`. Bounds come from
two kernels: `Tables` reads dense numbers of one and of two features, `Terms` lists of leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.regridding import Regridded, Weighted, numbered, rows_of
from trust_recourse.models.scores import BoundedSum, Fewer, Scores
from trust_recourse.models.sums.dense_tables import Pair
from trust_recourse.models.sums.kernels import SumKernel, Tables, Terms
from trust_recourse.models.sums.layout import LeafLists, Leaves, layout
from trust_recourse.models.sums.reduce import Asked, reduced_leaves


@dataclass(frozen=True, eq=False)
class Sum(Scores):
    """One sum, or one for each class, on one grid.

    `own` gives the sums as the model's library adds them up. Without it, `at` adds a unary sum
    first and then its base, and a sum with pairs from the base on.
    """

    grid: Grid
    base: Floats  # (K,)
    unary: Floats | None = None  # (K, cells of all features)
    pairs: tuple[Pair, ...] = ()  # of a single column
    leaves: tuple[Leaves | LeafLists, ...] = ()  # of each column
    error: Floats | None = None  # (K,) how far the library's own sums may lie from it
    own: Callable[[Cells], Floats] | None = None

    @property
    def many(self) -> int:
        """The number of columns."""
        return len(self.base)

    @property
    def errors(self) -> Floats:
        """How far the library's own sums may lie from it, (K,)."""
        return np.zeros(self.many) if self.error is None else self.error

    @property
    def separable(self) -> bool:
        """Whether each number depends on one feature alone."""
        return not (self.pairs or self.leaves)

    @cached_property
    def lists(self) -> LeafLists:
        """The leaves of a single column, as its kernel reads them."""
        (leaves,) = self.leaves
        if isinstance(leaves, LeafLists):
            return leaves
        return LeafLists(leaves.value, layout(leaves, self.grid.sizes))

    @property
    def size(self) -> int:
        """How many leaves a single column has, and numbers in tables of two features."""
        leaves = len(self.lists.values) if self.leaves else 0
        return leaves + sum(pair.table.size for pair in self.pairs)

    @property
    def row(self) -> Floats:
        """The unary numbers of a single column."""
        assert self.unary is not None
        return np.asarray(self.unary[0])

    @property
    def points(self) -> list[Floats]:
        """The same by feature."""
        return np.split(self.row, self.grid.first_cell[1:])

    def at(self, cells: Cells) -> Floats:
        """The sums at rows of cells, (n, K)."""
        if self.own is not None:
            return self.own(cells)
        if self.pairs:
            return np.asarray(np.add.accumulate(self.terms(cells), axis=0)[-1][:, None])
        assert self.unary is not None
        each = self.unary[:, self.grid.first_cell + cells]
        return np.asarray(self.base + np.add.accumulate(each, axis=2)[:, :, -1].T)

    def terms(self, cells: Cells) -> Floats:
        """The base, the points of each feature and of each pair, of a single column: (T, n)."""
        each = self.row[self.grid.first_cell + cells].T
        both = [pair.at(cells) for pair in self.pairs]
        return np.vstack([np.full(len(cells), self.base[0]), *each, *both])

    def weighted(self, weights: Floats) -> Sum:
        """One sum: every column times its weight."""
        base, error = weights @ self.base, np.abs(weights) @ self.errors
        own = None if self.own is None else Weighted(self.own, weights)
        made = Sum(self.grid, np.array([base]), error=np.array([error]), own=own)
        if not self.leaves:
            assert self.unary is not None
            return replace(made, unary=(weights @ self.unary)[None])
        columns = zip(weights.tolist(), self.leaves, strict=True)
        used = [(w, of) for w, of in columns if w != 0.0 and isinstance(of, Leaves)]
        return replace(made, leaves=(joined(used),))

    def on(self, kept: Sequence[Ints]) -> Sum:
        """The same on these cells of each feature alone, numbered again.

        A table of which one bin of a feature is left becomes numbers of the other feature.
        """
        columns, sizes = rows_of(self.grid, kept), np.array([len(of) for of in kept])
        made = replace(self, grid=numbered(sizes), pairs=())
        if self.own is not None:
            made = replace(made, own=Regridded.on(self.own, self.grid, made.grid, columns))
        if self.leaves:
            starts = made.grid.first_cell
            return replace(made, leaves=tuple(_left(of, columns, starts) for of in self.leaves))
        assert self.unary is not None
        made = replace(made, unary=self.unary[:, columns])
        return made.with_pairs(self.pairs, kept) if self.pairs else made

    def with_pairs(self, pairs: Sequence[Pair], kept: Sequence[Ints]) -> Sum:
        """With tables of other cells, of which these are left."""
        points, both = self.points, []
        for (f, g), bins, table in pairs:
            rows, of_f = np.unique(bins[0][kept[f]], return_inverse=True)
            columns, of_g = np.unique(bins[1][kept[g]], return_inverse=True)
            part = table[np.ix_(rows, columns)]
            if min(part.shape) > 1:
                both.append(Pair((f, g), (of_f, of_g), part))
            elif len(columns) == 1:
                points[f] = points[f] + part[of_f, 0]
            else:
                points[g] = points[g] + part[0, of_g]
        return replace(self, unary=np.concatenate(points)[None], pairs=tuple(both))

    # ---------------------------------------------------------------- bounds

    def kernel(self, **known: Any) -> SumKernel:
        """The bounds of a single column; `known` is what a kernel may begin with."""
        base, error = float(self.base[0]), float(self.errors[0])
        if self.leaves:
            return Terms(*self.lists, base=base, error=error, **known)
        return Tables(self.grid.sizes, self.points, self.pairs, base, error=error, **known)

    def part(self, **known: Any) -> BoundedSum:
        """The same, and how its numbers stand for sums."""
        kernel = self.kernel(**known)
        offset = kernel.base + kernel.lowest - kernel.origin * kernel.width
        return BoundedSum(kernel, offset, kernel.width)

    def parts(self, wanted: int) -> tuple[list[BoundedSum], int]:
        """Every column; of separable ones what the others are more than the wanted."""
        if not self.separable:
            return super().parts(wanted)
        each = np.eye(self.many)
        others = (k for k in range(self.many) if k != wanted)
        return [self.weighted(each[k] - each[wanted]).part() for k in others], -1

    def fewer(
        self,
        weights: Floats,
        needed: float,
        costs: Floats,
        incumbent: float,
        accept: Callable[[Ints], bool],
        deadline: float,
    ) -> Fewer | None:
        """Of leaves by sweeps and the root LP."""
        if not self.leaves:
            return super().fewer(weights, needed, costs, incumbent, accept, deadline)
        whole = self.weighted(weights)
        base, error, (values, _) = float(whole.base[0]), float(whole.errors[0]), whole.lists
        size = float(np.abs(weights) @ (np.abs(self.base) + 2.0 * self.errors))
        slack = error + 2.0**-44 * (size + float(np.abs(values).sum()))
        asked = Asked(1, needed - base, math.inf, 2.0 * slack)
        every = frozenset(range(len(self.grid.sizes)))
        found = reduced_leaves(whole.lists, costs, asked, incumbent, every, accept, deadline)
        if found is None:
            return None
        assert found.lists is not None
        left = whole.of_lists(found.kept, found.lists, found.base, slack)
        tangent = left.part(h=found.h, multiplier=found.multiplier)
        bound = max(float(found.bound), 0.0)
        return Fewer(found.kept, found.room, bound, found.point, found.steps, tangent)

    def but(self, *, error: float) -> Sum:
        """A single column whose library's own sum may lie so far from it."""
        return replace(self, error=np.array([error]))

    def of_lists(self, kept: Sequence[Ints], lists: LeafLists, more: float, error: float) -> Sum:
        """A single column on fewer cells, by what its reduction left of its leaves."""
        grid = numbered([len(of) for of in kept])
        return Sum(grid, self.base + more, leaves=(lists,), error=np.array([error]))


def joined(weighted: Sequence[tuple[float, Leaves]]) -> Leaves:
    """The terms of several sums one after another, each sum times its weight."""
    if len(weighted) == 1:
        ((w, of),) = weighted
        return of._replace(value=w * of.value)
    starts = np.cumsum([0, *(int(of.term[-1]) + 1 for _, of in weighted[:-1])])
    return Leaves(
        np.concatenate([of.term + a for (_, of), a in zip(weighted, starts, strict=True)]),
        np.concatenate([w * of.value for w, of in weighted]),
        np.concatenate([of.allowed for _, of in weighted]),
    )


def _left(leaves: Leaves | LeafLists, columns: Ints, starts: Ints) -> Leaves:
    """Without leaves that none of these cells reaches."""
    assert isinstance(leaves, Leaves)
    allowed = leaves.allowed[:, columns]
    alive = np.logical_or.reduceat(allowed, starts, axis=1).all(axis=1)
    return Leaves(leaves.term[alive], leaves.value[alive], allowed[alive])


def listed(points: Sequence[Floats], base: Floats) -> Sum:
    """A separable sum of values, each in a cell of its own: (n,) or (K, n) of each feature."""
    sizes = [of.shape[-1] for of in points]
    return Sum(numbered(sizes), base, np.atleast_2d(np.concatenate(points, axis=-1)))
