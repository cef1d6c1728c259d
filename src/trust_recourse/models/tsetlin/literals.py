"""Thresholds → literals → cells: how a value becomes something a clause can test.

A numeric feature with thresholds t_1 < … < t_m has the literals `x ≤ t_i` and their negations
`x > t_i`, and m + 1 cells, (t_i, t_{i+1}]: the model is constant on a cell. A category has
`x = c` and `x ≠ c`, and a cell per value. A feature that may be missing has one more literal,
`x is missing`, and one more cell, the last; a missing value meets no other condition, neither
`x ≤ t` nor `x > t`.

`Literals.grid` is the map from values to cells, and says sets of them in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Bools, Cells, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.schema import Feature, Schema
from trust_recourse.schema.checks import Kind

Thresholds = int | Literal["unique"]
Binning = Literal["values", "rows"]


def choose_thresholds(
    values: Floats,
    most: Thresholds,
    binning: Binning = "values",
    kind: Kind = "number",
) -> Floats:
    """Cut between all distinct values, or at most so often, into bins that share the rows alike.

    By "values" a value counts for one bin at most, however many rows hold it, and a threshold lies
    between two neighbours: half-way, at the number of fewest digits that is near it; levels have
    nothing between them, so there it is the lower one. By "rows", as in the paper's experiments,
    thresholds are quantiles of the rows, each a value of its own. Nothing is cut beyond the largest
    value: `x ≤ largest` holds of every row that was seen.

    >>> choose_thresholds(np.array([3.0, 1.0, 2.0, 2.0]), "unique")
    array([1.5, 2.5])
    >>> choose_thresholds(np.r_[np.zeros(97), 1.0, 2.0, 8.0], 2)
    array([0.5, 5. ])
    >>> choose_thresholds(np.arange(100.0), 3, "rows")
    array([24., 49., 74.])
    """
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    every = most == "unique" or len(distinct) - 1 <= int(most)
    if binning == "rows":
        if every:
            return distinct[:-1]
        levels = np.arange(1, int(most) + 1) / (int(most) + 1)
        below = known[known < known.max()]  # so that a frequent largest value leaves some over
        return np.unique(np.quantile(below, levels, method="inverted_cdf"))
    ends = np.arange(len(distinct) - 1) if every else _equal_bins(counts, int(most))
    low, high = distinct[ends], distinct[ends + 1]
    if kind in ("ordinal", "boolean"):
        return low
    if kind == "integer":
        return (low + high) / 2.0
    return np.array([_between(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True)])


def _equal_bins(counts: Ints, most: int) -> Ints:
    """The last value of each bin but the last, so that each has about as many rows.

    Each value is counted in bins, 1 at most: those that fill one are taken out, and the others'
    rows shared among the bins that remain, until no more of them fill one.
    """
    full = np.zeros(len(counts), bool)
    while True:
        share = counts[~full].sum() / max(most + 1 - full.sum(), 1)
        more = ~full & (counts >= share)
        if not more.any():
            break
        full |= more
    *inner, total = np.cumsum(np.where(full, 1.0, counts / share))
    upto, wanted = np.array(inner), np.arange(1, most + 1) * total / (most + 1)
    above = np.clip(np.searchsorted(upto, wanted), 1, len(upto) - 1)
    nearer = wanted - upto[above - 1] < upto[above] - wanted
    return np.unique(above - nearer)


def _between(low: float, high: float) -> float:
    """A number near the middle, of as few digits as lie strictly between."""
    middle = low / 2.0 + high / 2.0
    if not low < middle < high:
        return low  # neighbouring floats
    for digits in range(1, 17):
        shown = float(f"{middle:.{digits - 1}e}")
        if low < shown < high:
            return shown
    return middle


@dataclass(frozen=True, eq=False)
class Literals:
    """The literals of a table, and the cells they cut each feature into.

    `thresholds[f]` is ascending for an ordered feature and empty for a category.
    """

    schema: Schema
    thresholds: tuple[Floats, ...]

    @classmethod
    def fit(
        cls,
        schema: Schema,
        codes: Floats,
        most: Thresholds,
        binning: Binning = "values",
    ) -> Literals:
        """Choose the thresholds of a table of codes, as `Schema.encode` gives it."""
        chosen = (
            np.empty(0)
            if feature.kind == "category"
            else choose_thresholds(codes[:, f], most, binning, feature.kind)
            for f, feature in enumerate(schema)
        )
        return cls(schema, tuple(chosen))

    @cached_property
    def layout(self) -> tuple[Any, Any, Any, Any, int]:
        """First column, literals, order and gap of each feature, and o: for the kernels."""
        ordered = np.array([feature.kind != "category" for feature in self.schema])
        gap = np.array([len(feature.missing) > 0 for feature in self.schema])
        size = np.array(
            [
                len(feature.values) if feature.kind == "category" else len(thresholds)
                for feature, thresholds in zip(self.schema, self.thresholds, strict=True)
            ],
            dtype=np.int64,
        )
        ends = np.cumsum(size + gap)
        return ends - (size + gap), size, ordered, gap, int(ends[-1])

    @property
    def n_literals(self) -> int:
        """o: the literals, not counting their negations."""
        return int(self.layout[4])

    @cached_property
    def grid(self) -> Grid:
        """The cells of each feature: a threshold ends a cell."""
        return Grid(self.schema, self.thresholds)

    def factors(self, inclusion: Floats) -> Floats:
        """F: for each cell and clause, Π (1 − π) over the feature's literals false there.

        (Σ cells, C). For cell c of an ordered feature that is Π_{i<c} (1 − π of x ≤ t_i) times
        Π_{i≥c} (1 − π of x > t_i), so two running products serve all its cells.
        """
        first, size, ordered, gap, o = self.layout
        out = 1.0 - inclusion.T  # (2o, C)
        table = np.ones((int(self.grid.sizes.sum()), len(inclusion)))
        for f in range(len(self.schema)):
            a, n, c = int(first[f]), int(size[f]), int(self.grid.first_cell[f])
            said, denied = out[a : a + n], out[o + a : o + a + n]
            known = n + int(ordered[f])
            if ordered[f]:
                table[c + 1 : c + known] = np.cumprod(said, axis=0)
                table[c : c + n] *= np.cumprod(denied[::-1], axis=0)[::-1]
            else:
                for value in range(n):
                    others = np.delete(said, value, axis=0)
                    table[c + value] = others.prod(axis=0) * denied[value]
            if gap[f]:
                table[c : c + known] *= out[a + n]
                table[c + known] = said.prod(axis=0) * denied.prod(axis=0) * out[o + a + n]
        return table

    def firing(self, inclusion: Floats, cells: Cells) -> Floats:
        """q_j at rows of cells, (n, C), of clauses with these inclusion probabilities."""
        empty = np.prod(1.0 - inclusion, axis=1)
        return _native.firing(cells, self.grid.first_cell, self.factors(inclusion), empty)

    @cached_property
    def owners(self) -> Ints:
        """The feature that each literal is about, negations last."""
        _, size, _, gap, _ = self.layout
        return np.tile(np.repeat(np.arange(len(size)), size + gap), 2)

    def allowed(self, use_protected: bool) -> Bools:
        """(2, 2o): which literals clauses that vote for class 1 may use, then the others.

        Of a feature that is to raise the confidence in class 1, clauses for it may only ask for
        more, `x > t`, and clauses against it only for less; so M, which rises with every clause for
        class 1 and falls with every other, rises with the feature. That its value is missing, or
        known, any clause may ask. Of protected features none asks anything.
        """
        o, owners, limits = self.n_literals, self.owners, self.limits
        allowed = np.ones((2, 2 * o), bool)
        less = np.arange(2 * o) < o
        for f, feature in enumerate(self.schema):
            own = owners == f
            if feature.protected and not use_protected:
                allowed[:, own] = False
            elif feature.monotone is not None:
                told = own & ~np.isnan(limits)
                rises = feature.monotone == "increasing"
                allowed[0, told & (less == rises)] = False
                allowed[1, told & (less != rises)] = False
        return allowed

    @cached_property
    def limits(self) -> Floats:
        """The threshold that each literal is about; none for a category or a missing value."""
        _, size, ordered, gap, _ = self.layout
        parts = [
            np.append(t if yes else np.full(n, np.nan), np.full(int(more), np.nan))
            for t, n, yes, more in zip(self.thresholds, size, ordered, gap, strict=True)
        ]
        return np.tile(np.concatenate(parts), 2)

    @cached_property
    def names(self) -> list[str]:
        """All literals in words, in the order of the columns of `inclusion_`, negations last."""
        pairs = [pair for f, feature in enumerate(self.schema) for pair in self._words(f, feature)]
        return [said for said, _ in pairs] + [denied for _, denied in pairs]

    def _words(self, f: int, feature: Feature) -> Iterator[tuple[str, str]]:
        title = feature.title
        if feature.kind == "category":
            for code in range(len(feature.values)):
                value = feature.describe_code(code)
                yield f"{title} = {value}", f"{title} ≠ {value}"
        elif feature.kind == "boolean":
            for t in self.thresholds[f]:
                no, yes = feature.describe_code(t), feature.describe_code(1 - t)
                yield f"{title} = {no}", f"{title} = {yes}"
        else:
            for t in self.thresholds[f]:
                edge = float(np.floor(t)) if feature.kind == "integer" else t
                shown = feature.describe_code(edge, edge=True)
                yield f"{title} ≤ {shown}", f"{title} > {shown}"
        if feature.missing:
            yield f"{title} is missing", f"{title} is known"
