"""The reader of sums, which adds without rounding: points, slopes, tables of two features, trees.

Notation: R = Σ_k w_k R_k, a weighted sum of columns, one a class (see `stored_sums`). A model of
two classes is one column, of weight 1 or, where class 0 is wanted, −1. See `sum_bounds` for bounds.

Numbers are rounded outwards, once, to a unit of 2^−51 of the greatest sum or less. Sums of such
numbers stay below 2^53 units, so floats add them exactly. What the library's own sum may be off by
is known (`rounding`): whatever has a confidence by the library has an exact sum of at least the
library's score less that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit

from trust_recourse.certificate import stored_sums
from trust_recourse.certificate.reader import CheckedScores, logistic, other_class
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.certificate.stored_sums import KINDS, Edges, StoredSum
from trust_recourse.certificate.sum_bounds import SumBounds, names, numbered, rounded_up
from trust_recourse.io.scalars import Floats, Ints

BITS = 51  # of the greatest sum, in units
LINK = 2.0**-50  # of a score, and of 1: what a logistic function of our own may be off by

# A link goes from a sum to the probability of class 1, which never falls, and by `other` to that of
# class 0. The library's own may be `off` by so much of a sum, and of 1.


class LogisticLink:
    """The logistic function of points, of which a tie is class 1."""

    off = LINK

    def __call__(self, score: Floats) -> Floats:
        """By the definition."""
        return logistic(np.asarray(score))

    def other(self, said: Floats) -> Floats:
        """Just below one half at a tie."""
        return other_class(said)


class LibraryLink:
    """That of a library, in its own type."""

    off = 0.0

    def __init__(self, model: Any, calibrated: bool) -> None:
        self.logistic, divisor, scale, least, self.after = model.link
        self.kind: Any = KINDS[model.arithmetic]
        self.divisor, self.scale = self.kind(divisor), self.kind(scale)
        self.least: Any = self.kind(least)
        if not scale > 0:
            raise CertificateError("the model's base, link or arithmetic makes no sense")
        if self.after is not None and (not calibrated or _falls(self.after)):
            raise CertificateError("the model's calibration makes no sense, or falls somewhere")

    def __call__(self, score: Floats) -> Any:
        """By the library's own operations."""
        given = np.asarray(score).astype(self.kind)
        if self.after is not None and self.after.raw:
            return _calibrated(given / self.divisor, self.after)
        with np.errstate(over="ignore"):
            mean = np.maximum(given, self.least) / self.divisor
            found = expit(mean * self.scale) if self.logistic else mean
        return found if self.after is None else _calibrated(found, self.after)

    def other(self, said: Any) -> Floats:
        """What is left of 1."""
        return np.asarray(self.kind(1) - said)


def _calibrated(given: Any, after: Any) -> Floats:
    """By the logistic function, or the line between the two points that something lies between."""
    kind = np.dtype(after.kind).type
    p, x, y = (np.asarray(part, kind) for part in (given, after.x, after.y))
    if not len(x):
        with np.errstate(over="ignore"):
            return np.asarray(expit(-(y[0] * p + y[1])), float)
    p = np.minimum(np.maximum(p, x[0]), x[-1])
    right = np.maximum((p[..., None] >= x).sum(axis=-1), 1)  # the first point beyond
    last, right = right == len(x), np.minimum(right, len(x) - 1)
    left = np.maximum(right - 1, 0)
    width = np.where(left == right, kind(1), x[right] - x[left])
    line = (y[right] - y[left]) / width * (p - x[left]) + y[left]
    return np.asarray(np.where(last, y[-1], np.minimum(np.maximum(line, y[left]), y[right])), float)


def _falls(after: Any) -> bool:
    """Whether a calibration is no map that never falls."""
    x, y = np.array(after.x, float), np.array(after.y, float)
    if not (np.isfinite(x).all() and np.isfinite(y).all() and after.kind in KINDS):
        return True
    if not len(x):
        return len(y) != 2 or y[0] > 0
    return len(x) != len(y) or bool((np.diff(x) <= 0).any() or (np.diff(y) < 0).any())


@dataclass(frozen=True, eq=False)
class SumProof(CheckedScores):
    """A weighted sum of columns, with every number rounded both down and up."""

    words = "sums of points, tables and trees"
    functional = True

    edges: Edges
    columns: tuple[StoredSum, ...]
    weights: tuple[float, ...]
    link: LogisticLink | LibraryLink
    price_unit: float = 1.0
    listed: Mapping[int, Floats] = field(default_factory=dict)

    @classmethod
    def read(cls, model: Any, wanted: int) -> SumProof:
        """The sum of a model of two classes, turned towards one of them.

        Where each class has a value of its own at the leaves, class 0 has a sum of its own, too.
        """
        own = wanted == 0 and hasattr(model, "trees") and model.trees[0].value.shape[1] > 1
        edges, (column,) = stored_sums.read([model], 0 if own else -1)
        weights = (1.0 if wanted == 1 or own else -1.0,)
        if hasattr(model, "trees"):
            one = model.trees[0].value.shape[1] == 1
            return cls(edges, (column,), weights, LibraryLink(model, calibrated=one))
        unit = 1.0
        if not (column.tables or any(each.any() for each in column.slopes)):  # a scorecard
            unit = 2.0 * math.fsum(float(np.ptp(each)) for each in column.points) or 2.0
        return cls(edges, (column,), weights, LogisticLink(), unit)

    @classmethod
    def read_classes(cls, models: Sequence[Any]) -> SumProof:
        """The sums of models, one a class, on the same cells."""
        edges, each = stored_sums.read(models)
        return cls(edges, each, (1.0,) * len(each), LogisticLink())

    @property
    def many(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    @cached_property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return np.array([len(each) for each in self.columns[0].points])

    @property
    def width(self) -> int:
        """Of each column a point, a bin in each table, and a bit for each leaf."""
        return sum(1 + len(of.tables) + len(of.leaves.values) // 64 for of in self.columns)

    # ------------------------------------------------------------ sums

    def turned(self) -> SumProof:
        """The same sum, turned round."""
        return replace(self, weights=tuple(-w for w in self.weights))

    def weighted(self, weights: Sequence[float]) -> SumProof:
        """The sum of all scores as they are compared, each times its weight."""
        used = [(of, w * of.scale) for of, w in zip(self.columns, weights, strict=True) if w]
        each, scaled = zip(*used, strict=True)
        return replace(self, columns=each, weights=scaled)

    @property
    def by_difference(self) -> bool:
        """Trees would only be held once more."""
        return not any(len(of.leaves.starts) for of in self.columns)

    @property
    def most(self) -> float:
        """No column, as it is compared, is greater either way."""
        return max(of.scale * of.most for of in self.columns)

    @cached_property
    def _size(self) -> float:
        each = zip(self.columns, self.weights, strict=True)
        return math.fsum(abs(w) * of.most for of, w in each)

    @cached_property
    def unit(self) -> float:
        """A power of 2 that all numbers are multiples of."""
        return 2.0 ** (max(math.frexp(self._size)[1], -500) - BITS)

    def up(self, value: Any) -> Any:
        """Rounded up to the unit."""
        return rounded_up(np.asarray(value), self.unit)

    def down(self, value: Any) -> Any:
        """Rounded down to the unit."""
        return -rounded_up(-np.asarray(value), self.unit)

    def between(self, values: Sequence[Any], column: int | None = None) -> tuple[Any, Any]:
        """Numbers of the unit below and above weighted values: one a column, or of one column."""
        weights = self.weights if column is None else self.weights[column : column + 1]
        each = [w * np.asarray(of) for w, of in zip(weights, values, strict=True)]
        total, off = sum(each), 0.0
        if len(each) > 1 or abs(weights[0]) != 1.0:
            off = (len(each) + 2) * 2.0**-52 * sum(map(np.abs, each))
        return self.down(total - off), self.up(total + off)

    @cached_property
    def rounding(self) -> float:
        """What the library's sums, so weighted, and its link may be off by."""
        off = self.link.off * (1.0 + self._size)
        for of, w in zip(self.columns, self.weights, strict=True):
            off += abs(w) * (of.rounding + (0.0 if abs(w) == 1.0 else 2.0**-50 * of.most))
        return float(self.up(off))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest sum."""
        low, high = map(float, self.between([of.base for of in self.columns]))
        start = np.cumsum(self.sizes) - self.sizes
        least, most = self.between([np.concatenate(of.points) for of in self.columns])
        low += float(np.minimum.reduceat(least, start).sum())
        high += float(np.maximum.reduceat(most, start).sum())
        for k, of in enumerate(self.columns):
            for table in of.tables:
                least, most = self.between([table.numbers], k)
                low, high = low + float(least.min()), high + float(most.max())
            if len(of.leaves.starts):
                least, most = self.between([of.leaves.values], k)
                low += float(np.minimum.reduceat(least, of.leaves.starts).sum())
                high += float(np.maximum.reduceat(most, of.leaves.starts).sum())
        return low - 2.0 * self.rounding, high + 2.0 * self.rounding

    # ------------------------------------------------------------ confidences

    def confidence(self, score: Floats) -> Floats:
        """The link of the sum, or what that leaves to the other class."""
        side = self.weights[0]
        said = self.link(side * np.asarray(score))
        return np.asarray(said if side > 0 else self.link.other(said)).astype(float)

    def least_score(self, confidence: float) -> float:
        """The least exact sum at which the library may have this confidence."""
        return float(self.down(super().least_score(confidence))) - self.rounding

    def other(self, score: float) -> float:
        """The least exact sum, turned round, of what may have at most this one."""
        return float(self.down(-score)) - self.rounding

    # ------------------------------------------------------------ cells

    @property
    def slopes(self) -> Mapping[int, tuple[float, float]]:  # type: ignore[override]
        """The slopes of the first and the last known cell."""
        found = {}
        for f, cuts in enumerate(self.edges):
            each = [w * of.slopes[f] for of, w in zip(self.columns, self.weights, strict=True)]
            if any(of.any() for of in each):
                total = np.sum(each, axis=0)
                found[f] = float(total[0]), float(total[len(cuts)])
        return found

    def on(self, values: Mapping[int, Floats]) -> SumProof:
        """Each of these values has its cell's points and its slope times itself."""
        edges, taken = [*self.edges], [*map(np.arange, self.sizes)]
        known = {f: of if len(of) else np.zeros(1) for f, of in values.items()}
        for f, of in known.items():
            missing = np.arange(len(edges[f]) + 1, self.sizes[f])
            taken[f] = np.append(np.searchsorted(edges[f], of), missing)
            edges[f] = of[:-1]
        each = tuple(of.on_cells(taken).on_values(known) for of in self.columns)
        return replace(self, edges=tuple(edges), columns=each, listed=values)

    def order(self, f: int) -> Floats | None:
        """The points of a feature that is in no table and no tree."""
        (column, *more), side = self.columns, self.weights[0]
        alone = not more and all(f not in table.features for table in column.tables)
        return side * column.points[f] if alone and not len(column.leaves.starts) else None

    def alike(self, cells: Sequence[Ints]) -> tuple[Ints, ...]:
        """Cells with the same points, in the same bins, and in the same leaves that are reached."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        parts: list[list[Any]] = [[] for _ in self.sizes]
        for of in self.columns:
            for f, points in enumerate(of.points):
                parts[f] += [points] if points.any() else []
            for table in of.tables:
                for f, bins in zip(table.features, table.bins, strict=True):
                    parts[f].append(bins)
            if len(of.leaves.starts):
                of_cell = numbered(names(of.leaves.allowed[self.reached(of, cells)]))
                for f, (a, b) in enumerate(pairwise(ends)):
                    parts[f].append(of_cell[a:b])
        each = zip(parts, self.sizes.tolist(), strict=True)
        return tuple(_alike(of) if of else np.zeros(size, np.int64) for of, size in each)

    def reached(self, column: StoredSum, cells: Sequence[Ints]) -> Any:
        """The leaves of a column that take one of the given cells of each feature."""
        first = np.cumsum(self.sizes) - self.sizes
        allowed = column.leaves.allowed
        each = [allowed[:, a + of].any(axis=1) for a, of in zip(first, cells, strict=True)]
        return np.logical_and.reduce(each)

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> SumBounds:
        """The terms on candidates in these cells."""
        return SumBounds.of(self, cells, functions)


def _alike(parts: Sequence[Any]) -> Ints:
    """A number for each place, the same where all parts are the same."""
    first, *others = (np.unique(part, return_inverse=True)[1].ravel() for part in parts)
    for other in others:
        both = first * (other.max() + 1) + other
        first = np.unique(both, return_inverse=True)[1].ravel()
    return np.asarray(first)
