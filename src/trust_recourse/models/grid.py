"""`Grid`: the map from values to cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.schema import Schema


@dataclass(frozen=True, eq=False)
class Grid:
    """The one map from values to cells.

    An ordered feature is cut after each of its ascending `edges`: with m of them it has the cells
    (−∞, t_1], (t_1, t_2], …, (t_m, ∞). A category, whose edges are not used, has a cell for each
    value. A feature that may be missing has one more cell, the last. A model that splits by `<`, or
    in fewer digits, gives as an edge the greatest float that still goes left.

    >>> from trust_recourse.schema import Feature
    >>> grid = Grid(Schema((Feature("age", missing=(-9,)),)), (np.array([30.0, 50.0]),))
    >>> grid.cells(np.array([[30.0], [30.1], [np.nan]])).ravel().tolist()
    [0, 1, 3]
    """

    schema: Schema
    edges: tuple[Floats, ...]

    @cached_property
    def cuts(self) -> tuple[Floats, ...]:
        """The last value of each cell but the last known one; a category's codes are cut apart."""
        return tuple(
            np.arange(len(feature.values) - 1.0) if feature.kind == "category" else edges
            for feature, edges in zip(self.schema, self.edges, strict=True)
        )

    @cached_property
    def sizes(self) -> Ints:
        """Cells of each feature, that of missing values included."""
        gaps = [len(feature.missing) > 0 for feature in self.schema]
        known = np.array([len(cuts) + 1 for cuts in self.cuts])
        return np.asarray(known + np.array(gaps))

    @cached_property
    def first_cell(self) -> Ints:
        """Where each feature's cells begin when all are laid in one row."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    def cells(self, codes: Floats) -> Cells:
        """The cell of each code, one column per feature."""
        found = np.empty(codes.shape, np.int32)
        codes = np.ascontiguousarray(codes, float)
        _native.grid_cells(codes, *self._row, self.sizes, found)
        return found

    def cells_in(self, f: int, codes: Floats) -> Cells:
        """The cell of each code of one feature."""
        known = self.cuts[f].searchsorted(codes)
        return np.where(np.isnan(codes), self.sizes[f] - 1, known).astype(np.int32)

    def ends(self, f: int) -> Floats:
        """The ends of a feature's known cells: cell c is (ends[c], ends[c + 1]]."""
        return np.concatenate([[-math.inf], self.cuts[f], [math.inf]])

    @cached_property
    def _row(self) -> tuple[Floats, Ints]:
        """All cuts in one row, and where each feature's begin."""
        return np.concatenate(self.cuts), np.cumsum([0, *map(len, self.cuts)])
