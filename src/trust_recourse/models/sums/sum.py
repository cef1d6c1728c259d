"""Sums on one grid of cells: what scorecards, regressions, additive models and trees are.

A `Sum` has K columns, one for a model of two classes and one for each of several. A column is

    base + Σ_f (unary_f(x_f) + slope_f(x_f) · x_f) + Σ_p table_p(x_f, x_g) + Σ_t leaf_t(x),

of which any part may be absent. Weighted sums of columns, and restrictions to fewer cells or to
listed values, are again a `Sum`. Bounds come from two kernels: `Tables` reads dense numbers of one
and of two features, `Terms` lists of leaves; `Mixed` adds them up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.regridding import (
    AtCodes,
    Columns,
    Regridded,
    Weighted,
    common,
    numbered,
    rows_of,
    within,
)
from trust_recourse.models.scores import Asked, BoundedSum, Fewer, Scores
from trust_recourse.models.sums.dense_tables import Pair
from trust_recourse.models.sums.kernels import Mixed, SumKernel, Tables, Terms
from trust_recourse.models.sums.layout import LeafLists, Leaves, layout
from trust_recourse.models.sums.reduce import reduced_leaves


@dataclass(frozen=True, eq=False)
class Sum(Scores):
    """One sum, or one for each class, on one grid.

    `own` gives the sums as the model's library adds them up. Without it, `at` adds unary numbers
    first and then the base, and in a column with pairs all terms from the base on.
    """

    grid: Grid
    base: Floats  # (K,)
    unary: Floats | None = None  # (K, cells of all features)
    slopes: Floats | None = None  # (K, cells): what a value in a cell is multiplied by
    pairs: tuple[tuple[Pair, ...], ...] = ()  # of each column, or of none
    leaves: tuple[Leaves | LeafLists | None, ...] = ()  # of each column, or of none
    error: Floats | None = None  # (K,) how far the library's own sums may lie from it
    own: Callable[[Cells], Floats] | None = None

    @classmethod
    def joined(cls, sums: Sequence[Sum]) -> Sum:
        """The columns of several sums side by side, on the cells that any of them tells apart."""
        grid = common([each.grid for each in sums])
        cells = [within(grid, of.grid) for of in sums]
        each = [of.on(kept, grid) for of, kept in zip(sums, cells, strict=True)]
        pairs = tuple(own for of in each for own in of.pairs or ((),) * of.many)
        leaves = tuple(own for of in each for own in of.leaves or (None,) * of.many)
        steep = any(of.slopes is not None for of in each)
        made = cls(
            grid, np.concatenate([of.base for of in each]),
            None if all(of.unary is None for of in each)
            else np.concatenate([of.numbers for of in each]),
            np.concatenate([of.steepness for of in each]) if steep else None,
            pairs if any(pairs) else (), () if all(of is None for of in leaves) else leaves,
            np.concatenate([of.errors for of in each]),
        )  # fmt: skip
        if steep or all(of.separable for of in sums):
            return made
        own = (
            Regridded.on(of.at, of.grid, grid, rows_of(of.grid, kept))
            for of, kept in zip(sums, cells, strict=True)
        )
        return replace(made, own=Columns(tuple(own)))

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
        assert leaves is not None
        if isinstance(leaves, LeafLists):
            return leaves
        return LeafLists(leaves.value, layout(leaves, self.grid.sizes))

    @property
    def tables(self) -> tuple[Pair, ...]:
        """The pairs of a single column."""
        return self.pairs[0] if self.pairs else ()

    @property
    def size(self) -> int:
        """How many leaves a single column has, and numbers in tables of two features."""
        leaves = len(self.lists.values) if self.leaves else 0
        return leaves + sum(pair.table.size for pair in self.tables)

    @property
    def row(self) -> Floats:
        """The unary numbers of a single column."""
        return np.asarray(self.numbers[0])

    @cached_property
    def numbers(self) -> Floats:
        """(K, cells): the unary numbers, 0 where there are none."""
        return self._zeros if self.unary is None else self.unary

    @cached_property
    def steepness(self) -> Floats:
        """(K, cells): the slopes, 0 where there are none."""
        return self._zeros if self.slopes is None else self.slopes

    @property
    def _zeros(self) -> Floats:
        return np.zeros((self.many, int(self.grid.sizes.sum())))

    @property
    def points(self) -> list[Floats]:
        """The same by feature."""
        return self.by_feature(self.row)

    def by_feature(self, cells: Floats) -> list[Floats]:
        """Numbers of all cells, (cells,) or (K, cells), in a piece for each feature."""
        return np.split(cells, self.grid.first_cell[1:], axis=-1)

    # ---------------------------------------------------------------- values

    @cached_property
    def sloped(self) -> tuple[int, ...]:
        """The features that have a slope in some column."""
        each = () if self.slopes is None else self.by_feature(self.slopes)
        return tuple(f for f, slopes in enumerate(each) if slopes.any())

    @property
    def followed(self) -> bool:
        """Not of listed values in tables or trees, of which a checker lists others."""
        return not isinstance(self.own, AtCodes)

    def worth(self, f: int, codes: Floats) -> Floats:
        """The points of one feature's codes in each column, (K, n)."""
        return self.worth_at(self.grid.first_cell[f] + self.grid.cells_in(f, codes), codes)

    def worth_at(self, at: Ints | Cells, codes: Floats) -> Floats:
        """The points of codes in these cells, which are numbered in one row, in each column."""
        steep = self.steepness[:, at] * np.where(np.isnan(codes), 0.0, codes)
        return np.asarray(self.numbers[:, at] + steep)

    def added(self, codes: Floats, cells: Cells) -> Floats:
        """(K, 2, n): the base and the points of rows of codes, added up, and their sizes."""
        codes, found = np.ascontiguousarray(codes, float), np.empty((self.many, 2, len(codes)))
        for k, base in enumerate(self.base.tolist()):
            rows = self.grid.first_cell, self.numbers[k], self.steepness[k]
            _native.add_up_points(codes, cells, *rows, base, found[k])
        return found

    def at_codes(self, codes: Floats) -> Floats:
        """The sums at rows of codes, (n, K): of slopes first the points, the base, then pairs."""
        cells = self.grid.cells(codes)
        if self.own is not None or (self.pairs and self.slopes is None):
            return self.at(cells)
        total = self.added(codes, cells)[:, 0].T
        for k, pairs in enumerate(self.pairs):
            for pair in pairs:
                total[:, k] += pair.at(cells)
        return total

    def at(self, cells: Cells) -> Floats:
        """The sums at rows of cells, (n, K)."""
        if self.own is not None:
            return self.own(cells)
        if self.pairs:
            every = (self.terms(cells, k) for k in range(self.many))
            return np.column_stack([np.add.accumulate(terms, axis=0)[-1] for terms in every])
        assert self.unary is not None
        each = self.unary[:, self.grid.first_cell + cells]
        return np.asarray(self.base + np.add.accumulate(each, axis=2)[:, :, -1].T)

    def terms(self, cells: Cells, k: int = 0) -> Floats:
        """The base, the points of each feature and of each pair, of a column: (T, n)."""
        each = self.numbers[k][self.grid.first_cell + cells].T
        both = [pair.at(cells) for pair in (self.pairs[k] if self.pairs else ())]
        return np.vstack([np.full(len(cells), self.base[k]), *each, *both])

    # ---------------------------------------------------------------- closed under

    def weighted(self, weights: Floats) -> Sum:
        """One sum: every column times its weight."""
        base, error = weights @ self.base, np.abs(weights) @ self.errors
        pairs = tuple(
            pair._replace(table=w * pair.table)
            for w, own in zip(weights.tolist(), self.pairs, strict=False)
            for pair in (own if w != 0.0 else ())
        )
        used = [
            (w, of)
            for w, of in zip(weights.tolist(), self.leaves, strict=False)
            if w != 0.0 and isinstance(of, Leaves)
        ]
        unary = None if self.unary is None else (weights @ self.unary)[None]
        if used and unary is not None and not unary.any():
            unary = None
        return Sum(
            self.grid, np.array([base]), unary,
            None if self.slopes is None else (weights @ self.slopes)[None],
            (pairs,) if pairs else (), (_one_list(used),) if used else (), np.array([error]),
            None if self.own is None else Weighted.of(self.own, weights),
        )  # fmt: skip

    def on(self, kept: Sequence[Ints], grid: Grid | None = None) -> Sum:
        """The same on these cells of each feature alone, numbered again, or as in a grid.

        A table of which one bin of a feature is left becomes numbers of the other feature.
        """
        columns = rows_of(self.grid, kept)
        grid = numbered(np.array([len(of) for of in kept])) if grid is None else grid
        made = replace(
            self, grid=grid, unary=_taken(self.unary, columns), slopes=_taken(self.slopes, columns)
        )
        if self.own is not None:
            made = replace(made, own=Regridded.on(self.own, self.grid, grid, columns))
        if self.leaves:
            left = tuple(_left(of, columns, grid.first_cell) for of in self.leaves)
            made = replace(made, leaves=left)
        return made._with_pairs(self.pairs, kept) if self.pairs else made

    def _with_pairs(self, every: Sequence[Sequence[Pair]], kept: Sequence[Ints]) -> Sum:
        """With tables of other cells, of which these are left."""
        unary, both = self.numbers.copy(), []
        for points, pairs in zip(map(self.by_feature, unary), every, strict=True):
            left = []
            for (f, g), bins, table in pairs:
                rows, of_f = np.unique(bins[0][kept[f]], return_inverse=True)
                columns, of_g = np.unique(bins[1][kept[g]], return_inverse=True)
                part = table[np.ix_(rows, columns)]
                if min(part.shape) > 1:
                    left.append(Pair((f, g), (of_f, of_g), part))
                elif len(columns) == 1:
                    points[f] += part[of_f, 0]
                else:
                    points[g] += part[0, of_g]
            both.append(tuple(left))
        return replace(self, unary=unary, pairs=tuple(both) if any(both) else ())

    def listed(self, codes: Sequence[Floats], totals: Callable[[Floats], Floats]) -> Sum:
        """The same of listed values, each in a cell of its own; `totals` are the sums at codes."""
        cells = [self.grid.cells_in(f, of).astype(np.int64) for f, of in enumerate(codes)]
        made = replace(self, slopes=None, own=None).on(cells)
        if self.slopes is not None:
            row = np.concatenate(codes)
            steep = self.slopes[:, rows_of(self.grid, cells)] * np.where(np.isnan(row), 0.0, row)
            made = replace(made, unary=np.ascontiguousarray(made.numbers + steep))
        return made if self.separable else replace(made, own=AtCodes(totals, tuple(codes)))

    # ---------------------------------------------------------------- bounds

    def kernel(self, *, unit: float | None = None, **known: Any) -> SumKernel:
        """The bounds of a single column; `known` is what a kernel may begin with."""
        base, error, sizes = float(self.base[0]), float(self.errors[0]), self.grid.sizes
        if not self.leaves:
            return Tables(sizes, self.points, self.tables, base, error=error, unit=unit, **known)
        if self.unary is None and not self.pairs:
            return Terms(*self.lists, base=base, error=error, **known)
        tables = Tables(sizes, self.points, self.tables, 0.0)
        return Mixed(sizes, tables, Terms(*self.lists, error=error), base)

    def part(self, **known: Any) -> BoundedSum:
        """The same, and how its numbers stand for sums."""
        kernel = self.kernel(**known)
        offset = kernel.base + kernel.lowest - kernel.origin * kernel.width
        return BoundedSum(kernel, offset, kernel.width)

    def parts(self, wanted: int) -> tuple[list[BoundedSum], int]:
        """Every column; without leaves, what the others are more than the wanted."""
        if self.leaves:
            return super().parts(wanted)
        each = np.eye(self.many)
        others = (k for k in range(self.many) if k != wanted)
        return [self.weighted(each[k] - each[wanted]).part() for k in others], -1

    def fewer(self, weights: Floats, asked: Asked) -> Fewer | None:
        """Of leaves alone by sweeps and the root LP."""
        whole = self.weighted(weights)
        if not whole.leaves or whole.unary is not None or whole.pairs:
            return super().fewer(weights, asked)
        base, error, (values, _) = float(whole.base[0]), float(whole.errors[0]), whole.lists
        size = float(np.abs(weights) @ (np.abs(self.base) + 2.0 * self.errors))
        slack = error + 2.0**-44 * (size + float(np.abs(values).sum()))
        asked = asked._replace(needed=asked.needed - base, slack=2.0 * slack)
        found = reduced_leaves(whole.lists, asked)
        if found is None:
            return None
        assert found.lists is not None
        left = whole.of_lists(found.kept, found.lists, found.base, slack)
        tangent = left.part(h=found.h, multiplier=found.multiplier)
        bound = max(float(found.bound), 0.0)
        return Fewer(found.kept, found.room, bound, found.point, found.steps, tangent)

    def of_lists(self, kept: Sequence[Ints], lists: LeafLists, more: float, error: float) -> Sum:
        """A single column on fewer cells, by what its reduction left of its leaves."""
        grid = numbered([len(of) for of in kept])
        return Sum(grid, self.base + more, leaves=(lists,), error=np.array([error]))


def _taken(numbers: Floats | None, columns: Ints) -> Floats | None:
    return None if numbers is None else numbers[:, columns]


def _one_list(weighted: Sequence[tuple[float, Leaves]]) -> Leaves:
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


def _left(leaves: Leaves | LeafLists | None, columns: Ints, starts: Ints) -> Leaves | None:
    """Without leaves that none of these cells reaches."""
    if leaves is None:
        return None
    assert isinstance(leaves, Leaves)
    allowed = leaves.allowed[:, columns]
    alive = np.logical_or.reduceat(allowed, starts, axis=1).all(axis=1)
    return Leaves(leaves.term[alive], leaves.value[alive], allowed[alive])


def of_points(points: Sequence[Floats], base: Floats) -> Sum:
    """A separable sum of values, each in a cell of its own: (K, n) of each feature."""
    sizes = [of.shape[-1] for of in points]
    return Sum(numbered(sizes), base, np.concatenate(points, axis=-1))
