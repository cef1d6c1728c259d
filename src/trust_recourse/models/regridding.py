"""Grids made of others, and candidates by the cells they lie in: what scores on cells share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.subproblem import Candidates
from trust_recourse.schema import Feature, Schema


def numbered(sizes: Sequence[int] | Ints) -> Grid:
    """A grid of so many cells of each feature, numbered from 0."""
    return Grid(_unnamed(len(sizes)), tuple(np.arange(n - 1.0) for n in sizes))


@cache
def _unnamed(d: int) -> Schema:
    return Schema(tuple(Feature(f"feature {f}") for f in range(d)))


def common(grids: Sequence[Grid]) -> Grid:
    """The coarsest grid whose cells each lie in one cell of every one of these."""
    edges = (np.unique(np.concatenate(of)) for of in zip(*(g.edges for g in grids), strict=True))
    return Grid(grids[0].schema, tuple(edges))


def within(fine: Grid, coarse: Grid) -> list[Ints]:
    """Of each feature, the cell of the coarse grid that each cell of the fine one lies in."""
    found = []
    for f, feature in enumerate(fine.schema):
        cells = coarse.cuts[f].searchsorted(fine.ends(f)[1:])  # a cell's last value is as any
        found.append(np.append(cells, coarse.sizes[f] - 1) if feature.missing else cells)
    return found


def rows_of(grid: Grid, cells: Sequence[Ints]) -> Ints:
    """The cells of each feature, numbered in the one row of the grid."""
    return np.concatenate([first + of for first, of in zip(grid.first_cell, cells, strict=True)])


@dataclass(frozen=True, eq=False)
class Regridded:
    """A function of rows of cells, asked by the cells of another grid. It can be pickled."""

    function: Callable[[Cells], Floats]
    begin: Ints  # where the cells of each feature begin in the function's grid
    cells: Ints  # of each cell of the other grid, its place in the one row of the function's
    first: Ints  # where the cells of each feature begin in the other

    @classmethod
    def on(
        cls, function: Callable[[Cells], Floats], own: Grid, other: Grid, cells: Ints
    ) -> Regridded:
        """From a function's own grid to another."""
        return cls(function, own.first_cell, cells, other.first_cell)

    def __call__(self, cells: Cells) -> Floats:
        """At rows of cells of the other grid."""
        return self.function((self.cells[self.first + cells] - self.begin).astype(np.int32))


@dataclass(frozen=True, eq=False)
class Columns:
    """Functions of rows of cells, side by side."""

    functions: tuple[Callable[[Cells], Floats], ...]

    def __call__(self, cells: Cells) -> Floats:
        """One column for each."""
        return np.column_stack([of(cells) for of in self.functions])


@dataclass(frozen=True, eq=False)
class Weighted:
    """One column of a function of rows of cells: all of them, each times its weight."""

    function: Callable[[Cells], Floats]
    weights: Floats

    @classmethod
    def of(cls, function: Callable[[Cells], Floats], weights: Floats) -> Callable[[Cells], Floats]:
        """The same; of a column alone just that."""
        alone = np.count_nonzero(weights) == 1 and weights.max() == 1.0
        if alone and isinstance(function, Columns) and len(function.functions) == len(weights):
            return Columns((function.functions[int(weights.argmax())],))
        return cls(function, weights)

    def __call__(self, cells: Cells) -> Floats:
        """A single column."""
        return np.asarray(self.function(cells) @ self.weights)[:, None]


@dataclass(frozen=True, eq=False)
class AtCodes:
    """A function of rows of codes, asked by the places of codes among those listed."""

    function: Callable[[Floats], Floats]
    codes: tuple[Floats, ...]

    def __call__(self, cells: Cells) -> Floats:
        """At rows of places."""
        return self.function(np.column_stack([of[cells[:, f]] for f, of in enumerate(self.codes)]))


class CheapestOnCells:
    """The cheapest candidate of each cell: what it costs, ∞ where there is none, in one row."""

    def __init__(self, features: Sequence[Candidates], sizes: Ints) -> None:
        self.features, self.first = features, _starts(sizes)
        self.costs, self.chosen = _on_cells(features, sizes)

    def codes(self, point: Ints) -> Floats:
        """The codes at a cell of each feature, numbered in one row."""
        places = zip(self.features, self.chosen, point - self.first, strict=True)
        return np.array([each.codes[at[c]] for each, at, c in places])

    def left(
        self, kept: Sequence[Ints], room: Floats, related: frozenset[int] | None = None
    ) -> list[Candidates]:
        """The candidates in cells that stay, which are numbered anew.

        Of related features, all if none are named, those, too, that are dearer than the cheapest
        of their cell by its room.
        """
        rooms = np.split(room, np.cumsum([len(each) for each in kept])[:-1])
        every = zip(self.features, kept, self.chosen, rooms, strict=True)
        return [
            _left(each, of, much)
            if related is None or f in related
            else each.at(at[of])._replace(cells=_numbered(of))
            for f, (each, of, at, much) in enumerate(every)
        ]


def _numbered(kept: Ints) -> Cells:
    return np.arange(len(kept), dtype=np.int32)


def _left(each: Candidates, kept: Ints, room: Floats) -> Candidates:
    """The candidates in cells that stay, but those that are too dear beside their cheapest."""
    place = np.full(int(each.cells.max()) + 1, -1)
    place[kept] = _numbered(kept)
    cells = place[each.cells]
    least = np.full(len(kept), np.inf)
    np.minimum.at(least, cells[cells >= 0], each.costs[cells >= 0])
    stay = np.flatnonzero((cells >= 0) & (each.costs - least[cells] <= room[cells]))
    return Candidates(each.codes[stay], cells[stay].astype(np.int32), each.costs[stay])


def _on_cells(features: Sequence[Candidates], sizes: Ints) -> tuple[Floats, list[Ints]]:
    """What the cheapest candidate of each cell costs, in one row, and which one it is."""
    many = [len(each.codes) for each in features]
    cells = np.concatenate([each.cells for each in features]) + np.repeat(_starts(sizes), many)
    price = np.concatenate([each.costs for each in features])
    order = np.argsort(-price, kind="stable")  # of several in a cell the cheapest is written last
    costs, chosen = np.full(int(sizes.sum()), np.inf), np.full(int(sizes.sum()), -1)
    costs[cells[order]] = price[order]
    chosen[cells[order]] = order - np.repeat(_starts(many), many)[order]
    return costs, np.split(chosen, np.cumsum(sizes)[:-1])


def _starts(sizes: Ints | list[int]) -> Ints:
    return np.cumsum(sizes) - np.asarray(sizes, np.int64)
