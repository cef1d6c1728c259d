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
from numpy.typing import NDArray

from trust_recourse.cells import Grid
from trust_recourse.schema import Feature, Schema

Thresholds = int | Literal["unique"]


def choose_thresholds(values: NDArray[np.float64], most: Thresholds) -> NDArray[np.float64]:
    """Every distinct value but the largest, or at most `most` of them, quantile-spaced.

    The largest is left out because `x ≤ largest` holds of every row that was seen.

    >>> choose_thresholds(np.array([3.0, 1.0, 2.0, 2.0]), "unique")
    array([1., 2.])
    >>> choose_thresholds(np.arange(100.0), 3)
    array([24., 49., 74.])
    """
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    inner: NDArray[np.float64] = distinct[:-1]
    if most == "unique" or len(inner) <= most:
        return inner
    levels = np.arange(1, most + 1) / (most + 1)
    below = known[known < distinct[-1]]  # so that a frequent largest value leaves some over
    return np.unique(np.quantile(below, levels, method="inverted_cdf"))


@dataclass(frozen=True, eq=False)
class Literals:
    """The literals of a table, and the cells they cut each feature into.

    `thresholds[f]` is ascending for an ordered feature and empty for a category.
    """

    schema: Schema
    thresholds: tuple[NDArray[np.float64], ...]

    @classmethod
    def fit(cls, schema: Schema, codes: NDArray[np.float64], most: Thresholds) -> Literals:
        """Choose the thresholds of a table of codes, as `Schema.encode` gives it."""
        none = np.empty(0)
        return cls(
            schema,
            tuple(
                none if feature.kind == "category" else choose_thresholds(codes[:, f], most)
                for f, feature in enumerate(schema)
            ),
        )

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

    def factors(self, inclusion: NDArray[np.float64]) -> NDArray[np.float64]:
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

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The feature that each literal is about, negations last."""
        _, size, _, gap, _ = self.layout
        return np.tile(np.repeat(np.arange(len(size)), size + gap), 2)

    @cached_property
    def limits(self) -> NDArray[np.float64]:
        """The threshold that each literal is about; none for a category or a missing value."""
        _, size, ordered, gap, _ = self.layout
        parts = [
            np.append(t if yes else np.full(n, np.nan), np.full(int(more), np.nan))
            for t, n, yes, more in zip(self.thresholds, size, ordered, gap, strict=True)
        ]
        return np.tile(np.concatenate(parts), 2)

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
                shown = feature.describe_code(t)
                yield f"{title} ≤ {shown}", f"{title} > {shown}"
        if feature.missing:
            yield f"{title} is missing", f"{title} is known"
