"""Tables of points and slopes: a score that is the sum of one number for each feature's value."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Floats
from trust_recourse.io.files import FileError
from trust_recourse.models import model_file
from trust_recourse.models.attribution import Attribution, Words
from trust_recourse.models.grid import Grid
from trust_recourse.models.log_odds_margin import logistic
from trust_recourse.models.seam import Score, of_class
from trust_recourse.models.sums.attributions import PointAttribution
from trust_recourse.models.sums.dense_tables import Pair
from trust_recourse.models.sums.kernels import SumKernel
from trust_recourse.models.sums.sum import Sum
from trust_recourse.question import decided
from trust_recourse.schema import Schema
from trust_recourse.schema.multiples import ratio

POINTS = Words(
    "points", "bin", "features",
    "points, of which a sum of 0 is a confidence of one half and more a greater one",
)  # fmt: skip
FINE = 10_000  # steps to the scale of a number with a slope whose schema says no step
NUMBERS = ("number", "integer")
MOST_POINTS = 1e200  # of a point or slope: sums and products with values are still finite


class Additive:
    """A scorecard or linear model: points of each column's cell, and a logistic function of them.

    `edges` are the ascending last values of each ordered column's cells but the last, and none for
    a category; `points` are those of each cell, a missing value's last. `slopes`, of numbers alone,
    are points per unit: a value x in a cell has its points + its slope · x. `pairs` are tables of
    the points of two columns together. The more points, the likelier is `classes[1]`.

    >>> from trust_recourse.schema import Feature
    >>> debts = Schema((Feature("owed", "integer", lower=0, upper=40),))
    >>> card = Additive(debts, edges=[[5, 20]], points=[[0.8, 0.1, -1.1]])
    >>> card.predict_proba(np.array([[5], [6]]))[:, 1].round(3).tolist()
    [0.69, 0.525]
    >>> line = Additive(debts, edges=[[]], points=[[2.0]], slopes=[[-0.1]])
    >>> line.predict_proba(np.array([[20], [30]]))[:, 1].round(3).tolist()
    [0.5, 0.269]
    """

    def __init__(
        self,
        schema: Schema,
        edges: Sequence[Sequence[float] | Floats],
        points: Sequence[Sequence[float] | Floats],
        *,
        slopes: Sequence[Sequence[float] | Floats] | None = None,
        pairs: Sequence[Pair] = (),
        base: float = 0.0,
        classes: Sequence[Any] | NDArray[Any] = (0, 1),
    ) -> None:
        self.schema_, self.classes_, self.base = schema, np.asarray(classes), float(base)
        self.decision_threshold_: float | None = None
        self.wanted_: Any = None
        self.grid = Grid(schema, tuple(np.asarray(each, float) for each in edges))
        self.points = tuple(map(_fixed, points))
        given = (np.zeros_like(each) for each in self.points) if slopes is None else slopes
        self.slopes = tuple(map(_fixed, given))
        self.pairs = tuple(map(Pair.read, pairs))
        self._check()
        self._check_pairs()
        self.sloped = tuple(f for f, each in enumerate(self.slopes) if each.any())

    @property
    def family(self) -> str:
        """By which a checker of certificates knows how to read it."""
        return "tables" if self.pairs else "points"

    def _check(self) -> None:
        if len(self.classes_) != 2:
            raise ValueError(f"classes={self.classes_.tolist()}; expected two labels")
        if not math.isfinite(self.base):
            raise ValueError(f"base={self.base!r}; expected a finite number")
        for feature, edges, points, slopes, size in zip(
            self.schema_, self.grid.edges, self.points, self.slopes, self.grid.sizes.tolist(),
            strict=True,
        ):  # fmt: skip
            where = f"feature {feature.name!r}"
            if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
                raise ValueError(f"{where}, edges: given {edges.tolist()}, expected them ascending")
            for name, each in (("points", points), ("slopes", slopes)):
                if each.shape != (size,) or not np.isfinite(each).all():
                    given = f"{where}, {name}: given {each.tolist()}"
                    raise ValueError(f"{given}, expected {size} finite numbers, one for each cell")
                if (np.abs(each) > MOST_POINTS).any():
                    raise ValueError(
                        f"{where}, {name}: given {float(each[np.abs(each).argmax()])!r}, expected "
                        f"numbers up to {MOST_POINTS:g}, of which sums are finite. Fit the model "
                        "again on scaled columns"
                    )
            known = slopes[: len(slopes) - (len(feature.missing) > 0)]
            if slopes.any() and (feature.kind not in NUMBERS or slopes[len(known) :].any()):
                raise ValueError(
                    f"{where}, slopes: given {slopes.tolist()}, expected 0 for what is no number: "
                    "a category, a level or a missing value has points alone"
                )

    def stepped(self, schema: Schema) -> Schema:
        """The schema with a step for each number that has a slope: of its scale / 10⁴ if none.

        Between two values of such a number lies always another one, so what is proved is proved for
        those on its steps.
        """
        features = [
            replace(feature, step=float(Fraction(*ratio(feature.scale)) / FINE))
            if f in self.sloped and feature.step is None
            else feature
            for f, feature in enumerate(schema)
        ]
        return schema if features == [*schema] else replace(schema, features=tuple(features))

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
        held = (self.grid.edges, self.points, *((self.slopes,) if self.sloped else ()))
        parts += [repr([value.hex() for value in each.tolist()]) for of in held for each in of]
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
        from trust_recourse.models.sums import store

        model_file.write(path, *store.content(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Additive:
        """Read a model file; one of another kind is refused."""
        from trust_recourse.models.sums import store

        return model_file.restored(path, {cls.__name__: store.points})

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], schema: Schema) -> Additive:
        """Read a scorecard: a line for each bin of a feature; docs/additive.md has the columns."""
        from trust_recourse.models.readers.library import read_file

        made = read_file(Path(path), schema).model
        if not isinstance(made, cls):
            raise FileError(f"{path}: no scorecard but a {type(made).__name__}; expected a CSV")
        return made

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, (n, 2)."""
        return self.proba_of(self.schema_.encode(X))

    def proba_of(self, codes: Floats) -> Floats:
        """The same at rows of codes."""
        yes = logistic(self.total(codes))
        return np.column_stack([of_class(yes, 0), yes])

    def total(self, codes: Floats) -> Floats:
        """The sum of all points at rows of codes."""
        return self.sum.at_codes(codes)[:, 0]

    @cached_property
    def sum(self) -> Sum:
        """The points, slopes and pairs on cells."""
        slopes = np.concatenate(self.slopes)[None] if self.sloped else None
        points, pairs = np.concatenate(self.points)[None], (self.pairs,) if self.pairs else ()
        return Sum(self.grid, np.array([self.base]), points, slopes, pairs)

    @cached_property
    def _kernel(self) -> SumKernel:
        return self.sum.kernel()

    def confidence(self, total: Floats, wanted: int = 1) -> Floats:
        """The confidence of the class at this position of `classes_`, of sums of points."""
        return of_class(logistic(total), wanted)

    def apart(self, codes: Floats) -> Floats:
        """How far a probability may lie from ours whose sum has the same terms in another order.

        A sum of n terms is off by n roundings of their size at most, and the logistic function is a
        quarter as steep at most; terms that were scaled before have a few roundings more.
        """
        cells = self.grid.cells(codes)
        size, many = self.sum.added(codes, cells)[0, 1], len(self.points) + len(self.pairs) + 3
        size = size + sum(np.abs(pair.at(cells)) for pair in self.pairs)
        return np.asarray(many * 2.0**-51 * size + 2.0**-50)

    def terms_at(self, codes: Floats) -> set[int] | None:
        """Which terms rows of codes are sums of, by number; None where pairs make them many."""
        if self.pairs:
            return None
        return set((self.grid.first_cell + self.grid.cells(codes)).ravel().tolist())

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at this position of `classes_`, and bounds on it."""
        from trust_recourse.models.sums.score import SumScore
        from trust_recourse.models.sums.sloped import SlopedSum

        if self.sloped:
            return SlopedSum(self, self.sum, self.sum.at_codes, wanted)
        return SumScore(self, self.sum, wanted, self._kernel)

    def parts_of(self, wanted: int) -> Attribution:
        """The points for the class at this position of `classes_`, for explanations."""
        sign = 1.0 if wanted == 1 else -1.0
        words = POINTS._replace(term="term") if self.sloped else POINTS
        base = sign * self.base
        return PointAttribution(self.grid, words, base, sign, self.points, self.slopes, self.pairs)


def _fixed(given: Any) -> Floats:
    """Numbers of a card, which no one changes: what is worked out from them would not follow."""
    found = np.array(given, float)
    found.flags.writeable = False
    return found
