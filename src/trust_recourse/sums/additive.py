"""Tables of points: a score that is the sum of one number for each feature's cell."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Self

import numpy as np

from trust_recourse import model_file
from trust_recourse.cells import (
    ERRORS,
    INTERVAL,
    RELAXATION,
    Cells,
    Floats,
    Grid,
    Kernel,
    Score,
    handed,
    of_class,
)
from trust_recourse.question import decided
from trust_recourse.schema import Schema
from trust_recourse.sums.parts import Parts, PointParts, TableParts, Words
from trust_recourse.sums.tables import Pair

POINTS = Words(
    "points", "bin", "features",
    "points, of which a sum of 0 is a confidence of one half and more a greater one",
)  # fmt: skip


class Additive:
    """A scorecard: points for each cell of each column, and a logistic function of their sum.

    `edges` are the ascending last values of each ordered column's cells but the last, and none for
    a category; `points` are those of each cell, a missing value's last; `pairs` are tables of the
    points of two columns together. The more points, the likelier is `classes[1]`. They are added
    up one after another, from the base on.

    >>> from trust_recourse.schema import Feature
    >>> debts = Schema((Feature("owed", "integer", lower=0, upper=40),))
    >>> card = Additive(debts, edges=[[5, 20]], points=[[0.8, 0.1, -1.1]])
    >>> card.predict_proba(np.array([[5], [6]]))[:, 1].round(3).tolist()
    [0.69, 0.525]
    """

    def __init__(
        self,
        schema: Schema,
        edges: Sequence[Sequence[float]],
        points: Sequence[Sequence[float]],
        *,
        pairs: Sequence[Pair] = (),
        base: float = 0.0,
        classes: Sequence[Any] = (0, 1),
    ) -> None:
        self.schema_, self.classes_, self.base = schema, np.asarray(classes), float(base)
        self.decision_threshold_: float | None = None
        self.wanted_: Any = None
        self.grid = Grid(schema, tuple(np.asarray(each, float) for each in edges))
        self.points = tuple(np.asarray(each, float) for each in points)
        self.pairs = tuple(map(Pair.read, pairs))
        self._check()
        self._check_pairs()
        self._kernel = Points(self.grid, self.points, self.base)

    @property
    def family(self) -> str:
        """By which a checker of certificates knows how to read it."""
        return "tables" if self.pairs else "points"

    def _check(self) -> None:
        if len(self.classes_) != 2:
            raise ValueError(f"classes={self.classes_.tolist()}; expected two labels")
        for feature, edges, points, size in zip(
            self.schema_, self.grid.edges, self.points, self.grid.sizes.tolist(), strict=True
        ):
            where = f"feature {feature.name!r}"
            if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
                raise ValueError(f"{where}, edges: given {edges.tolist()}, expected them ascending")
            if points.shape != (size,) or not np.isfinite(points).all():
                given = f"{where}, points: given {points.tolist()}"
                raise ValueError(f"{given}, expected {size} finite numbers, one for each cell")

    def _check_pairs(self) -> None:
        for pair in self.pairs:
            known = all(0 <= f < len(self.schema_) for f in pair.features)
            if not (known and len(set(pair.features)) == 2):
                given = f"pairs, features: given {pair.features}"
                raise ValueError(f"{given}, expected two places in the schema, one twice never")
            where = f"pair {self._named(pair)!r}"
            if pair.table.ndim != 2 or not np.isfinite(pair.table).all():
                given = f"{where}, table: given an array of shape {pair.table.shape}"
                raise ValueError(f"{given}, expected finite numbers in rows and columns")
            for f, bins, many in zip(pair.features, pair.bins, pair.table.shape, strict=True):
                size = int(self.grid.sizes[f])
                if bins.shape != (size,) or not ((bins >= 0) & (bins < many)).all():
                    raise ValueError(
                        f"{where}, bins of {self.schema_[f].name!r}: given {bins.tolist()}, "
                        f"expected for each of {size} cells one of the {many} in the table"
                    )

    def _named(self, pair: Pair) -> str:
        return " and ".join(self.schema_[f].name for f in pair.features)

    @property
    def fingerprint_(self) -> str:
        """What names this card: a digest of all that its answers depend on."""
        parts = [repr(self.schema_.to_dict()), repr(self.classes_.tolist()), self.base.hex()]
        parts += [repr([value.hex() for value in each.tolist()]) for each in self.grid.edges]
        parts += [repr([value.hex() for value in each.tolist()]) for each in self.points]
        for pair in self.pairs:
            parts += [repr([pair.features, pair.table.shape, *(of.tolist() for of in pair.bins)])]
            parts += [pair.table.astype("<f8").tobytes().hex()]
        return sha256("\n".join(parts).encode()).hexdigest()

    def decide(self, *, decision_threshold: float | None = None, wanted: Any = None) -> Self:
        """Say how it is decided by this card, for all who ask it and in its file.

        Whoever's confidence in the wanted class lies below the threshold is refused. None is as if
        nothing was said: one half, and `classes_[1]`.
        """
        self.decision_threshold_, self.wanted_ = decided(self, decision_threshold, wanted)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card to one file."""
        from trust_recourse.sums import store

        model_file.write(path, *store.content(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Additive:
        """Read a model file; one of another kind is refused."""
        from trust_recourse.sums import store

        return model_file.restored(path, {cls.__name__: store.points})

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, (n, 2)."""
        yes = self.confidence_at(self.grid.cells(self.schema_.encode(X)))
        return np.column_stack([of_class(yes, 0), yes])

    def confidence_at(self, cells: Cells) -> Floats:
        """Confidence of `classes_[1]` at rows of cells."""
        return logistic(np.add.accumulate(self._terms(cells), axis=0)[-1])

    def apart(self, codes: Floats) -> Floats:
        """How far a probability may lie from ours whose sum has the same terms in another order.

        A sum of n terms is off by n roundings of their size at most, and the logistic function is a
        quarter as steep at most.
        """
        terms = np.abs(self._terms(self.grid.cells(codes)))
        return np.asarray((len(terms) + 3) * 2.0**-52 * terms.sum(axis=0) + 2.0**-50)

    def _terms(self, cells: Cells) -> Floats:
        """The base, the points of each feature and those of each pair, at rows of cells: (T, n)."""
        each = [points[cells[:, f]] for f, points in enumerate(self.points)]
        both = [pair.at(cells) for pair in self.pairs]
        return np.array([np.full(len(cells), self.base), *each, *both])

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at this position of `classes_`, and bounds on it."""
        if self.pairs:
            from trust_recourse.sums.table_score import TableScore

            return TableScore(self, wanted)
        return _CardScore(self, self._kernel, wanted)

    def parts_of(self, wanted: int) -> Parts:
        """The points for the class at this position of `classes_`, for explanations."""
        sign = 1.0 if wanted == 1 else -1.0
        own = self.grid, POINTS, sign * self.base, sign, self.points
        return TableParts(*own, self.pairs) if self.pairs else PointParts(*own)


def logistic(total: Floats) -> Floats:
    """The confidence of a sum of points."""
    with np.errstate(over="ignore"):  # 1 / ∞ is the 0 that is meant
        return np.asarray(1.0 / (1.0 + np.exp(-total)))


class _CardScore(Score):
    """One class's confidence; the kernel speaks of the sum, moved to lie within 0 and 1."""

    kernel: Points

    def __init__(self, card: Additive, kernel: Points, wanted: int) -> None:
        self.card, self.kernel, self.wanted = card, kernel, wanted
        self.grid, self.rises = card.grid, wanted == 1

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of `predict_proba`."""
        return of_class(self.card.confidence_at(cells), self.wanted)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        total = self.card.base + self.kernel.lowest + self.kernel.width * number
        return of_class(logistic(total), self.wanted)


# ---------------------------------------------------------------- the kernel


class Points(Kernel):
    """Bounds on a sum of points, on a scale where the sums go from ¼ to ¾, so there is room around.

    `numbers` are the points of all cells in one row and, last, what rounding may do to a sum of
    them; `layout` is where each feature's begin.
    """

    def __init__(self, grid: Grid, points: Sequence[Floats], base: float) -> None:
        least = math.fsum(float(each.min()) for each in points)
        spread = math.fsum(float(np.ptp(each)) for each in points) or 1.0
        self.lowest, self.width = least - spread / 2.0, 2.0 * spread
        parts = [(each - each.min()) / self.width for each in points]
        size = abs(base) + math.fsum(float(np.abs(each).max()) for each in points) + abs(least)
        rounding = 1e-12 + 8 * (len(points) + 3) * 2.0**-53 * size / self.width
        self.numbers = np.concatenate([parts[0] + 0.25, *parts[1:], [rounding]])
        self.layout = grid.first_cell.astype(np.int64)
        self.scratch = np.zeros(1)

    @property
    def interval(self) -> Any:
        """The least and the greatest sum."""
        return handed(INTERVAL, _interval)

    @property
    def relaxation(self) -> Any:
        """The sum itself: what it must be is what is needed."""
        return handed(RELAXATION, _relaxation)

    @property
    def errors(self) -> Any:
        """None: the relaxation is the model."""
        return handed(ERRORS, _errors)


def _interval(
    points: Any,
    layout: Any,
    span: Any,
    out: Any,
    scratch: Any,
    memory: Any,
    at: int,
) -> None:
    d, rounding = layout.shape[0], points[points.shape[0] - 1]
    out[0], out[1] = -rounding, rounding
    for f in range(d):
        least, most = np.inf, -np.inf
        for c in range(layout[f] + span[f], layout[f] + span[d + f] + 1):
            least, most = min(least, points[c]), max(most, points[c])
        out[0] += least
        out[1] += most
        out[2 + f] = most - least


def _relaxation(
    points: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    d, rounding, most = layout.shape[0], points[points.shape[0] - 1], 0.0
    for f in range(d):
        best = -np.inf
        for c in range(layout[f] + span[f], layout[f] + span[d + f] + 1):
            gains[c] = side * points[c] if spend[c] < np.inf else -np.inf
            best = max(best, gains[c])
        most += best
    base = 0.0 if side > 0 else 1.0  # from the other side it is about 1 − the sum
    gains[gains.shape[0] - 1] = base + most + rounding
    return level - base - rounding


def _errors(points: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any) -> None:
    for f in range(point.shape[0]):
        out[f] = 0.0
