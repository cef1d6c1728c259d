"""Several classes: a sum for each, by softmax or, as in forests, its probability as it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Floats
from trust_recourse.models import model_file
from trust_recourse.models.attribution import Attribution
from trust_recourse.models.grid import Grid
from trust_recourse.models.log_odds_margin import SumsMargin, softmax
from trust_recourse.models.readers.columns import UnreadableError
from trust_recourse.models.regridding import common
from trust_recourse.models.seam import Score
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.ensemble import Link, SumModel, Tree
from trust_recourse.models.sums.sum import Sum
from trust_recourse.question import decided
from trust_recourse.schema import Schema


@dataclass(frozen=True, eq=False, repr=False)
class ClassSums:
    """A model of several classes: for each a model of two, whose second it is, on one schema.

    By `softmax` a class's confidence is its share of exp(sum); else it is what its own model says.
    """

    family: ClassVar[str] = "classes"  # by which a checker of certificates knows how to read it

    models: tuple[SumModel | Additive, ...]
    classes_: NDArray[Any]
    softmax: bool = True
    decision_threshold_: float | None = None
    wanted_: Any = None

    def __repr__(self) -> str:
        return f"ClassSums({len(self.models)} classes, {self.models[0]!r})"

    @property
    def schema_(self) -> Schema:
        """What the columns mean."""
        return self.models[0].schema_

    @cached_property
    def grid(self) -> Grid:
        """The cells that any of the sums tells apart."""
        return common([model.grid for model in self.models])

    @cached_property
    def sloped(self) -> tuple[int, ...]:
        """The features with a slope in some sum."""
        each = (model.sloped for model in self.models if isinstance(model, Additive))
        return tuple(sorted({f for of in each for f in of}))

    def stepped(self, schema: Schema) -> Schema:
        """The schema with a step for each number that has a slope: of its scale / 10⁴ if none."""
        for model in self.models:
            schema = model.stepped(schema) if isinstance(model, Additive) else schema
        return schema

    @cached_property
    def sum(self) -> Sum:
        """The sums on the one grid."""
        return Sum.joined(
            [of.mean_sum if isinstance(of, SumModel) else of.sum for of in self.models]
        )

    def totals(self, codes: Floats) -> Floats:
        """The sum of each class at rows of codes."""
        return np.column_stack(
            [
                model.mean_at(model.grid.cells(codes))
                if isinstance(model, SumModel)
                else model.total(codes)
                for model in self.models
            ]
        )

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at this position of `classes_`, and bounds on it."""
        if not self.softmax:
            return self.models[wanted].score_of(1)
        return self._lead(wanted, strongest=False)

    def wins_of(self, wanted: int) -> Score:
        """The share of a class beside the strongest of the others: at least one half if it wins."""
        return self._lead(wanted, strongest=True)

    def _lead(self, wanted: int, strongest: bool) -> Score:
        if self.sloped:
            from trust_recourse.models.sums.sloped import SlopedMargin

            return SlopedMargin(self.sum, self.totals, wanted, strongest)
        return SumsMargin(self.sum, wanted, strongest)

    def parts_of(self, wanted: int) -> Attribution:
        """The score of the class at this position of `classes_` term by term, for explanations."""
        from trust_recourse.models.margin_attribution import MARGIN, MarginAttribution

        if not self.softmax:
            return self.models[wanted].parts_of(1)
        each = tuple(model.parts_of(1) for model in self.models)
        names = tuple(map(str, self.classes_.tolist()))
        words = MARGIN
        if len({of.words.term for of in each}) == 1:
            words = MARGIN._replace(term=each[0].words.term, terms=each[0].words.terms)
        return MarginAttribution(self.grid, words, 0.0, 1.0, each, wanted, names)

    def apart(self, codes: Floats) -> Floats:
        """How far a library's probability may lie from ours at rows of codes."""
        if not self.softmax:
            return np.full(len(codes), 2.0**-48)
        size = np.abs(self.totals(codes)).max(axis=1) + 8.0
        kinds = (getattr(model, "arithmetic", "float64") for model in self.models)
        many = 8.0 * len(self.models) * max(float(np.finfo(kind).eps) for kind in kinds)
        terms = sum(model.apart(codes) for model in self.models)
        return np.asarray(many * size + 4.0 * terms)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, (n, classes)."""
        return self.proba_of(self.schema_.encode(X))

    def proba_of(self, codes: Floats) -> Floats:
        """The same at rows of codes."""
        if not self.softmax:
            return np.column_stack([model.proba_of(codes)[:, 1] for model in self.models])
        return softmax(self.totals(codes))

    def decide(self, *, decision_threshold: float | None = None, wanted: Any = None) -> ClassSums:
        """The same model, with how it is decided by it: for all who ask it, and in its file."""
        threshold, label = decided(self, decision_threshold, wanted)
        return replace(self, decision_threshold_=threshold, wanted_=label)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which is read with none of the libraries."""
        from trust_recourse.models.sums import store

        model_file.write(path, *store.content(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassSums:
        """Read a model file; one of another kind is refused."""
        from trust_recourse.models.sums import store

        return model_file.restored(path, {cls.__name__: store.classes})

    @cached_property
    def fingerprint_(self) -> str:
        """What names this model: a digest of all that its answers depend on."""
        parts = [repr(self.classes_.tolist()), repr(self.softmax)]
        parts += [model.fingerprint_ for model in self.models]
        return sha256("\n".join(parts).encode()).hexdigest()


def summed(
    schema: Schema,
    classes: NDArray[Any],
    trees: Sequence[Sequence[Tree]],
    link: Link,
    bases: Sequence[float] | None = None,
    arithmetic: Literal["float32", "float64"] = "float64",
    *,
    softmax: bool = True,
) -> SumModel | ClassSums:
    """A model of two classes, which has one sum of trees, or of several, which have one each."""
    bases = bases or [0.0] * len(trees)
    if len(trees) == 1:
        return SumModel(schema, classes, tuple(trees[0]), bases[0], link, arithmetic)
    if len(classes) != len(trees):
        raise UnreadableError(f"it has {len(classes)} classes, and sums for {len(trees)}")
    if not all(trees):
        raise UnreadableError("a class has no trees")
    rest = np.array([0, 1])
    each = zip(trees, bases, strict=True)
    models = (SumModel(schema, rest, tuple(of), base, link, arithmetic) for of, base in each)
    return ClassSums(tuple(models), classes, softmax)
