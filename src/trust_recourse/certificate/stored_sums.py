"""The numbers that a model of sums stores, read again on cells of the checker's own.

A **column** is one score: R(x) = base + Σ_f (points_f + slope_f · x_f) + Σ_p table_p + Σ_t leaf_t,
a point and a slope for the cell that x_f lies in, a table in bins of the cells of its two features,
and of each tree the value of the leaf that takes the cells. Anything may be absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.certificate.reader import Bools
from trust_recourse.certificate.record import CertificateError
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.schema import Feature, Schema

NUMBERS = ("number", "integer")
KINDS = {"float32": np.float32, "float64": np.float64}  # that a library may add in
ZERO = float(np.float32(1e-35))  # numbers up to this may be read as 0
BEFORE_ZERO = math.nextafter(-ZERO, -math.inf)

Edges = tuple[Floats, ...]  # of each feature the last value of each cell but the last


class StoredPair(NamedTuple):
    """Two features, the bin of each of their cells, and the table."""

    features: tuple[int, int]
    bins: tuple[Ints, Ints]
    numbers: Floats


class StoredLeaves(NamedTuple):
    """The leaves of all trees, tree by tree."""

    starts: Ints  # the first leaf of each tree
    allowed: Bools  # (leaves, cells of all features): those that a leaf takes
    values: Floats  # (leaves,)


@dataclass(frozen=True, eq=False)
class StoredSum:
    """One score, on cells that the reader knows."""

    base: float
    points: tuple[Floats, ...]  # per feature (cells,)
    slopes: tuple[Floats, ...]
    tables: tuple[StoredPair, ...]
    leaves: StoredLeaves
    kind: Any = np.float64  # which the library adds in
    scale: float = 1.0  # what the score is times, before it is compared with those of others
    listed: float = 0.0  # of features that `on` listed the greatest points and slopes, added up

    @cached_property
    def most(self) -> float:
        """No sum of the base and the terms of a point is greater either way."""
        every = (*self.points, *(table.numbers for table in self.tables))
        most = [abs(self.base), self.listed, *(float(np.abs(each).max()) for each in every)]
        if len(self.leaves.starts):
            most += np.maximum.reduceat(np.abs(self.leaves.values), self.leaves.starts).tolist()
        return math.fsum(most)

    @cached_property
    def rounding(self) -> float:
        """What the library's sum may be off by: its additions, and numbers read in its type."""
        n = sum(bool(each.any()) for each in self.points) + len(self.tables)
        n += len(self.leaves.starts) + (3 if self.listed else 0)
        values = np.append(self.leaves.values, self.base)
        n += bool((values != values.astype(self.kind)).any())
        off = n * float(np.finfo(self.kind).epsneg)
        return off / (1.0 - off) * self.most * (1.0 + 1e-9)

    def on_cells(self, taken: Sequence[Ints]) -> StoredSum:
        """The same on other cells of each feature, each of which lies in one of these."""
        first = np.cumsum([0, *map(len, self.points)])
        at = np.concatenate([a + of for a, of in zip(first, taken, strict=False)])
        tables = tuple(
            table._replace(bins=(table.bins[0][taken[f]], table.bins[1][taken[g]]))
            for table in self.tables
            for f, g in [table.features]
        )
        points, slopes = (
            tuple(each[of] for each, of in zip(part, taken, strict=True))
            for part in (self.points, self.slopes)
        )
        leaves = self.leaves._replace(allowed=self.leaves.allowed[:, at])
        return replace(self, points=points, slopes=slopes, tables=tables, leaves=leaves)

    def on_values(self, values: Mapping[int, Floats]) -> StoredSum:
        """The same with points where x is known, of these features in their first cells."""
        points, slopes, listed = [*self.points], [*self.slopes], self.listed
        for f, known in values.items():
            steep, own = slopes[f][: len(known)] * known, points[f][: len(known)]
            if steep.any():
                listed += float((np.abs(own) + np.abs(steep)).max())
            points[f] = np.concatenate([own + steep, points[f][len(known) :]])
            slopes[f] = np.zeros_like(slopes[f])
        return replace(self, points=tuple(points), slopes=tuple(slopes), listed=listed)


# ---------------------------------------------------------------- cells


def taken_from(feature: Feature, edges: Floats, last: Floats) -> Ints:
    """The cells that others lie in, whose last values these are, and that of missing values."""
    known = len(last_values(feature, edges))
    found = np.arange(known) if feature.kind == "category" else np.searchsorted(edges, last)
    return np.append(found, np.arange(known, known + bool(feature.missing)))


def last_values(feature: Feature, edges: Floats) -> Floats:
    """The last value of each known cell, which goes where all of them go."""
    if feature.kind == "category":
        return np.arange(len(feature.values), dtype=float)
    return np.append(edges, math.inf)


# ---------------------------------------------------------------- models


def read(models: Sequence[Any], value: int = -1) -> tuple[Edges, tuple[StoredSum, ...]]:
    """A column of each model, all on the cells that any of them tells apart.

    `value` is which one is read of trees that have several values at a leaf.
    """
    schema = models[0].schema_
    each = [_read(model, value) for model in models]
    edges = tuple(
        np.unique(np.concatenate(of)) for of in zip(*(own for own, _ in each), strict=True)
    )
    last = [*map(last_values, schema, edges)]
    return edges, tuple(
        column.on_cells([*map(taken_from, schema, own, last)]) for own, column in each
    )


def _read(model: Any, value: int) -> tuple[Edges, StoredSum]:
    """The numbers of one model, on cells of its own, once they make sense."""
    if not math.isfinite(model.base):
        raise CertificateError(f"the model's base is {model.base!r}, expected a finite number")
    return _of_trees(model, value) if hasattr(model, "trees") else _of_points(model)


def _of_points(model: Any) -> tuple[Edges, StoredSum]:
    """Points, slopes and tables, which are stored by cells."""
    edges, points, slopes = tuple(model.grid.edges), tuple(model.points), tuple(model.slopes)
    sizes = []
    for feature, cuts, *both in zip(model.schema_, edges, points, slopes, strict=True):
        known = len(last_values(feature, cuts))
        sizes.append(known + bool(feature.missing))
        ascending = np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()
        one_each = all(each.shape == (sizes[-1],) and np.isfinite(each).all() for each in both)
        if not (ascending and one_each):
            raise CertificateError(
                f"the model's points of {feature.name!r} are not one number for each cell"
            )
        if both[1][known if feature.kind in NUMBERS else 0 :].any():
            raise CertificateError(f"{feature.name!r} has a slope where it is no number")
    tables = tuple(StoredPair(*pair) for pair in model.pairs)
    for features, bins, numbers in tables:
        sound = numbers.ndim == 2 and bool(np.isfinite(numbers).all())
        for f, of, many in zip(features, bins, numbers.shape, strict=sound):
            sound &= 0 <= f < len(points) and of.shape == points[f].shape
            sound &= bool(((of >= 0) & (of < many)).all())
        if not (sound and features[0] != features[1]):
            raise CertificateError(f"the model's table of {features} is none of its cells")
    none = StoredLeaves(np.empty(0, int), np.ones((0, sum(sizes)), bool), np.empty(0))
    return edges, StoredSum(float(model.base), points, slopes, tables, none)


def _of_trees(model: Any, value: int) -> tuple[Edges, StoredSum]:
    """The leaves of trees, split by split."""
    schema, trees = model.schema_, model.trees
    if not (model.arithmetic in KINDS and len(trees) > 0 and model.link.divisor > 0):
        raise CertificateError("the model's base, link or arithmetic makes no sense")
    edges = tuple(_edges(schema, f, trees) for f in range(len(schema)))
    cells = [last_values(feature, cuts) for feature, cuts in zip(schema, edges, strict=True)]
    sizes = [len(of) + bool(each.missing) for of, each in zip(cells, schema, strict=True)]
    found = [_leaves(tree, schema, cells, np.array(sizes)) for tree in trees]
    values = np.array([of[value] for each in found for _, of in each])
    if not np.isfinite(values).all():
        raise CertificateError("the model has a leaf whose value is no finite number")
    starts = np.cumsum([0, *(len(each) for each in found[:-1])])
    leaves = StoredLeaves(starts, np.array([row for each in found for row, _ in each]), values)
    nothing = tuple(map(np.zeros, sizes))
    kind = KINDS[model.arithmetic]
    scale = 1.0 / model.link.divisor
    return edges, StoredSum(float(model.base), nothing, nothing, (), leaves, kind, scale)


def _edges(schema: Schema, f: int, trees: Any) -> Floats:
    """Where some split parts values of a feature."""
    feature = schema[f]
    if feature.kind == "category":
        return np.empty(0)
    splits = [(tree, tree.feature == f) for tree in trees]
    if feature.kind not in NUMBERS:
        rows = np.concatenate([tree.categories[at] for tree, at in splits])
        rows = rows[:, : len(feature.values) or 2]
        return np.flatnonzero((rows[:, 1:] != rows[:, :-1]).any(axis=0)).astype(float)
    edges = np.concatenate([tree.edge[at] for tree, at in splits])
    if any((tree.zero_left[at] >= 0).any() for tree, at in splits):
        edges = np.append(edges, [BEFORE_ZERO, ZERO])
    return np.unique(edges[np.isfinite(edges)])


def _leaves(
    tree: Any, schema: Schema, cells: Sequence[Floats], sizes: Ints
) -> list[tuple[Bools, Floats]]:
    """The leaves that some value reaches: the cells they take, and their values."""
    n, first = len(tree.feature), np.cumsum(sizes) - sizes
    found, waiting, seen = [], [(0, np.ones(sizes.sum(), bool))], 0
    while waiting:
        node, allowed = waiting.pop()
        seen += 1
        if not 0 <= node < n or seen > n or tree.feature[node] >= len(schema):
            raise CertificateError("the model has a tree that is none")
        f = int(tree.feature[node])
        if f < 0:
            found.append((allowed, tree.value[node]))
            continue
        here, goes = (
            slice(first[f], first[f] + sizes[f]),
            _goes_left(tree, node, schema[f], cells[f]),
        )
        for child, side in ((tree.right[node], ~goes), (tree.left[node], goes)):
            part = allowed.copy()
            part[here] &= side
            if part[here].any():
                waiting.append((int(child), part))
    return found


def _goes_left(tree: Any, node: int, feature: Feature, last: Floats) -> Bools:
    """Which cells of its feature a split sends left; a missing value's is the last."""
    if feature.kind not in NUMBERS:
        code = np.minimum(last, (len(feature.values) or 2) - 1).astype(int)
        goes = tree.categories[node, code]
    else:
        goes = last <= tree.edge[node]
        if tree.zero_left[node] >= 0:
            zero = (last > BEFORE_ZERO) & (last <= ZERO)
            goes = np.where(zero, tree.zero_left[node] == 1, goes)
    return np.append(goes, tree.missing_left[node]) if feature.missing else np.asarray(goes)
