"""The reader of tables of one feature and of two, which adds without rounding.

Notation: R(x) = base + Σ_f points_f(x) + Σ_p table_p(x), a table in bins of the cells of its two
features. A bin that candidates lie in is an **atom** of its table, if those of the other feature
lie in several, too; else the table is one of the other feature alone. For any function h of the
atoms

    R(x) ≤ base + Σ_p K_p + Σ_f g_f(x_f),   g_f = points_f + Σ h over the tables of f,

with K_p = max (table − h − h): the condition that a proof's functions make. Their numbers come
table by table, for the first feature and the second, bin by bin. Where a box has one bin of a
table's feature, the table itself is taken for h.

Numbers are rounded outwards, once, to a unit of 2^−51 of the greatest sum or less; functions, of
which any is sound, to the same unit, or to a greater one if they are much greater, which is then
that of the others too. Sums of such numbers stay below 2^53 units, so floats add them exactly.
What the model's own sum may be off by is known (`rounding`): whatever has a confidence by the model
has an exact sum of at least the model's score less that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.certificate.reader import (
    Bools,
    Bounds,
    Choices,
    Reader,
    Relaxation,
    extreme,
    logistic,
    other_class,
)
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.certificate.sums import check_points
from trust_recourse.io.scalars import Floats, Ints

BITS = 51  # of the greatest sum, in units
MOST_BITS = 51  # of a sum of a function's numbers, in units
LINK = 2.0**-50  # of a score, and of 1: what the logistic function may be off by


class Table(NamedTuple):
    """Two features, the bin of each of their cells, and the table."""

    features: tuple[int, int]
    bins: tuple[Ints, Ints]
    numbers: Floats


@dataclass(frozen=True, eq=False)
class Sum(Reader):
    """The tables, turned towards the wanted class."""

    words = "tables of points of two features"
    functional = True

    edges: tuple[Floats, ...]
    base: float
    points: tuple[Floats, ...]  # per feature (cells,)
    tables: tuple[Table, ...]
    side: int = 1  # −1: turned round

    @classmethod
    def read(cls, model: Any) -> Sum:
        """The numbers of a model, and where its cells end."""
        check_points(model)
        points = tuple(model.points)
        tables = tuple(Table(*pair) for pair in model.pairs)
        for features, bins, numbers in tables:
            sound = numbers.ndim == 2 and bool(np.isfinite(numbers).all())
            for f, of, many in zip(features, bins, numbers.shape, strict=sound):
                sound &= 0 <= f < len(points) and of.shape == points[f].shape
                sound &= bool(((of >= 0) & (of < many)).all())
            if not (sound and features[0] != features[1]):
                raise CertificateError(f"the model's table of {features} is none of its cells")
        if not math.isfinite(model.base):
            raise CertificateError(f"the model's base is {model.base!r}, expected a finite number")
        return cls(tuple(model.grid.edges), float(model.base), points, tables)

    @cached_property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return np.array([len(each) for each in self.points])

    @property
    def width(self) -> int:
        """Its points, and a bin in each table."""
        return 1 + len(self.tables)

    # ------------------------------------------------------------ sums

    @cached_property
    def _most(self) -> float:
        """No sum of numbers, one a table, and the base is greater either way."""
        every = (*self.points, *(table.numbers for table in self.tables))
        return math.fsum([abs(self.base), *(float(np.abs(each).max()) for each in every)])

    @cached_property
    def unit(self) -> float:
        """A power of 2 that all numbers are multiples of."""
        return 2.0 ** (max(math.frexp(self._most)[1], -500) - BITS)

    def up(self, value: Any) -> Any:
        """Turned towards the class, and rounded up to the unit."""
        return _up(self.side * np.asarray(value), self.unit)

    def down(self, value: Any) -> Any:
        """Turned towards the class, and rounded down to the unit."""
        return -_up(-self.side * np.asarray(value), self.unit)

    @cached_property
    def rounding(self) -> float:
        """What the model's sum may be off by in its n additions, and its confidence beside."""
        off = (len(self.points) + len(self.tables) + 1) * 2.0**-53
        added = off / (1.0 - off) * self._most * (1.0 + 1e-9)
        return float(_up(added + LINK * (1.0 + self._most), self.unit))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Beyond the least and the greatest sum."""
        most = self._most * (1.0 + 1e-9) + 2.0 * self.rounding
        return -most, most

    # ------------------------------------------------------------ confidences

    def turned(self) -> Sum:
        """The same sum, turned round."""
        return replace(self, side=-self.side)

    def confidence(self, score: Floats) -> Floats:
        """A logistic function of the sum, or what that leaves to the other class."""
        yes = logistic(self.side * np.asarray(score))
        return yes if self.side > 0 else other_class(yes)

    def least_score(self, confidence: float) -> float:
        """The least exact sum at which the model may have this confidence."""
        return float(-_up(-super().least_score(confidence), self.unit)) - self.rounding

    # ------------------------------------------------------------ cells

    def alike(self, cells: Sequence[Ints]) -> tuple[Ints, ...]:
        """Cells with the same points, and in the same bins of all tables."""
        del cells
        found = []
        for f, points in enumerate(self.points):
            columns = [points, *(of for each in self.tables for g, of in _sides(each) if g == f)]
            found.append(
                np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel()
            )
        return tuple(found)

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> Tables:
        """The tables on candidates in these cells."""
        points = [points[of] for points, of in zip(self.points, cells, strict=True)]
        low, high = ([turn(each) for each in points] for turn in (self.down, self.up))
        parts = []
        for features, bins, numbers in self.tables:
            each = [
                np.unique(bins[k][cells[f]], return_inverse=True) for k, f in enumerate(features)
            ]
            (rows, of_f), (columns, of_g) = each
            part = numbers[np.ix_(rows, columns)]
            if min(part.shape) > 1:
                made = _Part(features, (of_f, of_g), self.down(part), self.up(part))
                parts.append(made)
                continue
            f, of = (features[0], of_f) if len(columns) == 1 else (features[1], of_g)
            low[f] = low[f] + self.down(part.ravel()[of])
            high[f] = high[f] + self.up(part.ravel()[of])
        return Tables(self, tuple(low), tuple(high), tuple(parts), tuple(functions))


def _sides(table: Table) -> Any:
    return zip(table.features, table.bins, strict=True)


def _up(value: Any, unit: Any) -> Any:
    return np.ceil(value / unit) * unit


# ---------------------------------------------------------------- bounds on boxes


class _Part(NamedTuple):
    """A table on candidates: of each of its two features' candidates the bin, and its numbers."""

    features: tuple[int, int]
    bins: tuple[Ints, Ints]
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Tables(Bounds):
    """The tables on boxes of candidates."""

    sum: Sum
    low: tuple[Floats, ...]  # per feature (candidates,): its points, rounded down
    high: tuple[Floats, ...]
    parts: tuple[_Part, ...]
    functions: tuple[Function, ...]

    def using(self, functions: tuple[Function, ...]) -> Tables:
        """The same with other functions."""
        return replace(self, functions=functions)

    @property
    def work(self) -> int:
        """A number for each candidate, and for each of a table."""
        return sum(map(len, self.low)) + sum(part.low.size for part in self.parts)

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """The sums of the least numbers that are within a box, and of the greatest."""
        low = np.full(len(first), self.sum.down(self.sum.base))
        high = np.full(len(first), self.sum.up(self.sum.base))
        for f, (least, most) in enumerate(zip(self.low, self.high, strict=True)):
            low += extreme(np.minimum, least, first[:, f], last[:, f])
            high += extreme(np.maximum, most, first[:, f], last[:, f])
        for part in self.parts:
            here = [
                _there(of, (at >= first[:, [f]]) & (at <= last[:, [f]]))
                for f, of in zip(part.features, part.bins, strict=True)
                for at in [np.arange(len(of))]
            ]
            both = here[0][:, :, None] & here[1][:, None, :]
            low += np.where(both, part.low, math.inf).min(axis=(1, 2))
            high += np.where(both, part.high, -math.inf).max(axis=(1, 2))
        return low - self.sum.rounding, high + self.sum.rounding

    def relaxed(self, choices: Choices, level: float, steps: int) -> tuple[Bools, list[Relaxation]]:
        """By the tables at their best, and by the function of each box."""
        del steps
        n, starts = len(choices.budget), np.cumsum([0, *map(len, self.low)])
        inside = np.zeros((n, starts[-1]), dtype=bool)
        inside[choices.box, choices.candidate] = True
        functions, unit = self._made
        unit = unit[choices.function]
        points = _up(np.concatenate(self.high), unit[:, None])
        gains = np.where(inside, points, -math.inf)
        base = _up(self.sum.up(self.sum.base), unit)
        level = -_up(-level, unit)
        most = base + np.maximum.reduceat(gains, starts[:-1], axis=1).sum(axis=1)
        k, at = np.zeros(n), 0
        for part in self.parts:
            places = [slice(starts[f], starts[f + 1]) for f in part.features]
            here = [_there(of, inside[:, p]) for of, p in zip(part.bins, places, strict=True)]
            table = _up(part.high, unit[:, None, None])
            table = np.where(here[0][:, :, None] & here[1][:, None, :], table, -math.inf)
            own = []
            for many in part.low.shape:
                own.append(functions[choices.function, at : at + many])
                at += many
            own = _settled(table, here, own)
            most += table.max(axis=(1, 2))
            k += (table - own[0][:, :, None] - own[1][:, None, :]).max(axis=(1, 2))
            for p, h, of in zip(places, own, part.bins, strict=True):
                gains[:, p] += h[:, of]
        told = gains[choices.box, choices.candidate]
        out = most < level
        needed = np.where(out, 0.0, level - base - k)
        return out, [Relaxation(needed, told, np.zeros(len(told)))]

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How far each feature's points go apart, and its tables."""
        inside = [np.arange(a, b + 1) for a, b in zip(first[0], last[0], strict=True)]
        loose = np.array([np.ptp(of[at]) for of, at in zip(self.high, inside, strict=True)])
        for (f, g), (of_f, of_g), _, high in self.parts:
            table = high[np.ix_(np.unique(of_f[inside[f]]), np.unique(of_g[inside[g]]))]
            loose[f] += np.ptp(table, axis=0).max()
            loose[g] += np.ptp(table, axis=1).max()
        return loose

    @cached_property
    def _made(self) -> tuple[Floats, Floats]:
        """The functions, (k, atoms), at least one, which may be 0, and their units."""
        many = [size for part in self.parts for size in part.low.shape]
        h = np.zeros((max(len(self.functions), 1), sum(many)))
        for k, (power, numbers) in enumerate(self.functions):
            if len(numbers) != h.shape[1]:
                given = f"function {k}: given {len(numbers)} numbers"
                raise CertificateError(f"{given}, expected one for each of {h.shape[1]} atoms")
            h[k] = np.ldexp(numbers.astype(np.float64), power)
        size = np.zeros(len(h))
        if many:
            starts = np.cumsum([0, *many[:-1]])
            size = np.maximum.reduceat(np.abs(h), starts, axis=1).sum(axis=1)
        unit = np.maximum(self.sum.unit, np.ldexp(1.0, np.frexp(size)[1] - MOST_BITS))
        return np.round(h / unit[:, None]) * unit[:, None], unit


def _there(bins: Ints, inside: Bools) -> Bools:
    """(n, bins): which bins have a candidate in each box, from (n, candidates)."""
    found = np.zeros((len(inside), int(bins.max()) + 1), dtype=bool)
    box, candidate = np.nonzero(inside)
    found[box, bins[candidate]] = True
    return found


def _settled(table: Floats, here: Sequence[Bools], own: Sequence[Floats]) -> list[Floats]:
    """The functions of a table, in whose place it is taken itself where a box has one bin."""
    row, column = (each.sum(axis=1) == 1 for each in here)
    left = np.where(here[0], table.max(axis=2), 0.0)  # where there is one column, it
    right = np.where(here[1], table.max(axis=1), 0.0)
    f = np.where(column[:, None], left, np.where(row[:, None], 0.0, own[0]))
    g = np.where(column[:, None], 0.0, np.where(row[:, None], right, own[1]))
    return [f, g]
