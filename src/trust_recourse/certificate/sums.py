"""The reader of tables of points: a score that is a sum of one number for each feature's cell.

Notation: the sum R = base + Σ_f points_f(cell); width, twice the range of Σ_f. The score is
R / width, turned towards the wanted class: a price is then per unit of what the engine counts in.
The relaxation of a sum is the sum itself: K = base, the gains are the points.

A feature with a slope has points_f(cell) + slope_f(cell) · x: each value that matters is made a
cell of its own (`on`), and R, which is then without an end, is the score itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from trust_recourse.certificate.reader import (
    ROUNDING,
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
from trust_recourse.io.scalars import Floats, Ints


@dataclass(frozen=True, eq=False)
class Card(Reader):
    """The card, turned towards the wanted class."""

    words = "tables of points"
    functional = True  # its proofs have steps; the functions of these say nothing

    edges: tuple[Floats, ...]
    base: float  # this, the points and the slopes in units of `unit`
    points: tuple[Floats, ...]  # per feature (cells,)
    unit: float  # below 0 where it is turned towards class 0
    raw: tuple[Floats, ...]  # the points in units of 1, turned too
    steep: Mapping[int, Floats] = field(default_factory=dict)  # the slopes of features with some
    known: tuple[int, ...] = ()  # how many cells of each feature are not that of missing values
    listed: Mapping[int, Floats] = field(default_factory=dict)

    @classmethod
    def read(cls, model: Any) -> Card:
        """The points of a card, where its cells end, and what everyone begins with."""
        edges, points, slopes = tuple(model.grid.edges), tuple(model.points), tuple(model.slopes)
        known = []
        for feature, cuts, *both in zip(model.schema_, edges, points, slopes, strict=True):
            known.append(len(feature.values) if feature.kind == "category" else len(cuts) + 1)
            cells = known[-1] + (len(feature.missing) > 0)
            ascending = np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()
            one_each = all(each.shape == (cells,) and np.isfinite(each).all() for each in both)
            if not (ascending and one_each):
                raise CertificateError(
                    f"the model's points of {feature.name!r} are not one number for each cell"
                )
            numeric = feature.kind in ("number", "integer")
            if both[1][known[-1] if numeric else 0 :].any():
                raise CertificateError(f"{feature.name!r} has a slope where it is no number")
        steep = {f: each for f, each in enumerate(slopes) if each.any()}
        unit = 2.0 * math.fsum(float(np.ptp(each)) for each in points) or 2.0
        unit = 1.0 if steep else unit
        if not math.isfinite(model.base / unit):
            raise CertificateError(f"the model's base is {model.base!r}, expected a finite number")
        scaled = tuple(each / unit for each in points)
        return cls(edges, model.base / unit, scaled, unit, points, steep, tuple(known))

    @classmethod
    def read_on(cls, model: Any, edges: Sequence[Floats], sloped: Collection[int]) -> Card:
        """The same in units of 1, on cells that more edges cut, with a slope of some features."""
        card, points, steep, known = cls.read(model), [], {}, []
        for f, (feature, cuts) in enumerate(zip(model.schema_, edges, strict=True)):
            category = feature.kind == "category"
            last = np.arange(card.known[f] - 1.0) if category else cuts
            taken = np.searchsorted(card.edges[f], [*last, math.inf])
            taken = np.arange(card.known[f]) if category else taken
            known.append(len(taken))
            taken = np.append(taken, np.arange(card.known[f], len(card.raw[f])))
            points.append(card.raw[f][taken])
            if f in sloped:
                steep[f] = np.asarray(model.slopes[f])[taken]
        made = tuple(points)
        return cls(tuple(edges), float(model.base), made, 1.0, made, steep, tuple(known))

    @property
    def slopes(self) -> Mapping[int, tuple[float, float]]:  # type: ignore[override]
        """The slopes of the first and the last known cell."""
        return {f: (float(of[0]), float(of[self.known[f] - 1])) for f, of in self.steep.items()}

    def on(self, values: Mapping[int, Floats]) -> Card:
        """Each of these values is worth its cell's points and its slope times itself."""
        edges, points = [*self.edges], [*self.points]
        for f, listed in values.items():
            known = listed if len(listed) else np.zeros(1)
            cell = (known[:, None] > self.edges[f]).sum(axis=1)
            worth = self.points[f][cell] + self.steep[f][cell] * known
            edges[f], points[f] = known[:-1], np.append(worth, self.points[f][self.known[f] :])
        made = tuple(points)  # the unit is 1, where there are slopes
        raw = made if values else self.raw
        return replace(self, edges=tuple(edges), points=made, raw=raw, steep={}, listed=values)

    def order(self, f: int) -> Floats:
        """The points as the model has them: scaled ones may be alike where these are not."""
        return self.raw[f]

    @property
    def width(self) -> int:
        """Its points."""
        return 1

    @cached_property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return np.array([len(each) for each in self.points])

    @cached_property
    def most(self) -> float:
        """No sum is greater either way."""
        return math.fsum([abs(self.base), *(float(np.abs(each).max()) for each in self.points)])

    @cached_property
    def rounding(self) -> float:
        """What a sum in any order, the model's too, and the logistic function may be off by."""
        size = 1.0 / abs(self.unit) + self.most
        return ROUNDING + (len(self.points) + 4) * 2.0**-52 * size

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest sum."""
        least, most = (
            self.base + math.fsum(float(which(each)) for each in self.points)
            for which in (np.min, np.max)
        )
        return least - 2.0 * self.rounding, most + 2.0 * self.rounding

    def turned(self) -> Card:
        """The same card, turned towards the other class."""
        points = tuple(-each for each in self.points)
        steep = {f: -each for f, each in self.steep.items()}
        raw = tuple(-each for each in self.raw)
        return replace(
            self, base=-self.base, points=points, unit=-self.unit, raw=raw, steep=steep
        )  # fmt: skip

    def confidence(self, score: Floats) -> Floats:
        """A logistic function of the sum, or what that leaves to the other class."""
        yes = logistic(score * self.unit)
        return yes if self.unit > 0 else other_class(yes)

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> Points:
        """The points of candidates in these cells."""
        if any(len(each.numbers) for each in functions):
            raise CertificateError(f"it has functions, which no proof about {self.words} has")
        return Points(self, tuple(each[of] for each, of in zip(self.points, cells, strict=True)))


@dataclass(frozen=True, eq=False)
class Weighed(Card):
    """A sum of such sums, each times a weight."""

    off: float = 0.0

    @property
    def rounding(self) -> float:
        """What the sums of the model, in any order and so weighed, may be off by."""
        return self.off


def weighed(cards: Sequence[Card], weights: Sequence[float]) -> Weighed:
    """The sum of cards on the same cells in units of 1, each times its weight."""
    each = [*zip(cards, weights, strict=True)]
    points = tuple(
        np.sum([w * card.points[f] for card, w in each], axis=0)
        for f in range(len(cards[0].points))
    )
    base = math.fsum(w * card.base for card, w in each)
    size = math.fsum(abs(w) * card.most for card, w in each)
    off = (len(points) + len(cards) + 8) * 2.0**-51 * size + 2.0**-1000
    first = cards[0]
    return Weighed(
        first.edges, base, points, 1.0, points, {}, first.known, first.listed, off
    )  # fmt: skip


def check_points(model: Any) -> None:
    """Refuse a model that has not one finite number for each cell of each feature."""
    each = zip(model.schema_, model.grid.edges, model.points, strict=True)
    for feature, cuts, points in each:
        known = len(feature.values) if feature.kind == "category" else len(cuts) + 1
        cells = known + (len(feature.missing) > 0)
        ascending = np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()
        if not (ascending and points.shape == (cells,) and np.isfinite(points).all()):
            raise CertificateError(
                f"the model's points of {feature.name!r} are not one number for each cell"
            )


@dataclass(frozen=True, eq=False)
class Points(Bounds):
    """The card on boxes of candidates."""

    card: Card
    tables: tuple[Floats, ...]  # per feature (candidates,)

    @property
    def work(self) -> int:
        """A number for each candidate."""
        return sum(map(len, self.tables))

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """The sums of the least points and of the greatest."""
        low, high = np.full((2, len(first)), self.card.base)
        for of in self._ranges(first, last):
            low += extreme(np.minimum, *of)
            high += extreme(np.maximum, *of)
        return low - self.card.rounding, high + self.card.rounding

    def relaxed(self, choices: Choices, level: float, steps: int) -> tuple[Bools, list[Relaxation]]:
        """The sum is its own relaxation, whatever the effort."""
        del steps
        needed = np.full(len(choices.budget), level - self.card.base - self.card.rounding)
        gains = np.concatenate(self.tables)[choices.candidate]
        return np.zeros(len(needed), dtype=bool), [Relaxation(needed, gains, np.abs(gains))]

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """The range of each feature's points."""
        ranges = self._ranges(first, last)
        return np.array([np.ptp(table[a[0] : b[0] + 1]) for table, a, b in ranges])

    def _ranges(self, first: Ints, last: Ints) -> list[tuple[Floats, Ints, Ints]]:
        return [(table, first[:, f], last[:, f]) for f, table in enumerate(self.tables)]
