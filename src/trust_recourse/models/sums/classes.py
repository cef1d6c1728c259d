"""Several classes: a sum for each, by softmax or, as in forests, its probability as it is."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models import model_file
from trust_recourse.models.grid import Grid
from trust_recourse.models.leads import Part
from trust_recourse.models.on_cells import numbered
from trust_recourse.models.parts import Parts
from trust_recourse.models.readers.columns import UnreadableError
from trust_recourse.models.seam import Score
from trust_recourse.models.softmax import Bank, Fewer, LeadScore, softmax
from trust_recourse.models.sums.additive import Additive, Points
from trust_recourse.models.sums.ensemble import Leaves, Link, SumModel, Tree
from trust_recourse.models.sums.layout import layout
from trust_recourse.models.sums.reduce import Asked, Sum, reduced
from trust_recourse.models.sums.terms import Terms
from trust_recourse.question import decided
from trust_recourse.schema import Schema


@dataclass(frozen=True, eq=False, repr=False)
class ClassSums:
    """A model of several classes: for each a model of two, whose second it is, on one schema.

    By `softmax` a class's confidence is its share of exp(sum); else it is what its own model says.
    """

    family: ClassVar[str] = "classes"  # by which a checker of certificates knows how to read it

    models: tuple[SumModel | Additive, ...]  # all of one kind
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
        edges = zip(*(model.grid.edges for model in self.models), strict=True)
        return Grid(self.schema_, tuple(np.unique(np.concatenate(each)) for each in edges))

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
    def bank(self) -> Bank:
        """The sums on the one grid."""
        return _trees(self) if isinstance(self.models[0], SumModel) else _points(self)

    def totals(self, codes: Floats) -> Floats:
        """The sum of each class at rows of codes."""
        return np.column_stack(
            [
                model.at(model.grid.cells(codes)) / model.link.divisor
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
            from trust_recourse.models.sums.sloped_classes import SlopedLead

            return SlopedLead(self, wanted, strongest)
        return LeadScore(self.bank, wanted, strongest)

    def parts_of(self, wanted: int) -> Parts:
        """The score of the class at this position of `classes_` term by term, for explanations."""
        from trust_recourse.models.lead_parts import LEAD, LeadParts

        if not self.softmax:
            return self.models[wanted].parts_of(1)
        each = tuple(model.parts_of(1) for model in self.models)
        names = tuple(map(str, self.classes_.tolist()))
        words = LEAD._replace(term=each[0].words.term, terms=each[0].words.terms)
        return LeadParts(self.grid, words, 0.0, 1.0, each, wanted, names)

    def apart(self, codes: Floats) -> Floats:
        """How far a library's probability may lie from ours at rows of codes."""
        if not self.softmax:
            return np.full(len(codes), 2.0**-48)
        size = np.abs(self.totals(codes)).max(axis=1) + 8.0
        kind = getattr(self.models[0], "arithmetic", "float64")
        many = 8.0 * len(self.models) * float(np.finfo(kind).eps)
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


def summed_apart(
    schema: Schema,
    classes: NDArray[Any],
    trees: Sequence[Sequence[Tree]],
    link: Link,
    bases: Sequence[float] | None = None,
    arithmetic: Literal["float32", "float64"] = "float64",
    *,
    softmax: bool = True,
) -> ClassSums:
    """A model of several classes, each with trees of its own."""
    if len(classes) != len(trees):
        raise UnreadableError(f"it has {len(classes)} classes, and sums for {len(trees)}")
    if not all(trees):
        raise UnreadableError("a class has no trees")
    each = zip(trees, bases or [0.0] * len(trees), strict=True)
    rest = np.array([0, 1])
    models = (SumModel(schema, rest, tuple(of), base, link, arithmetic) for of, base in each)
    return ClassSums(tuple(models), classes, softmax)


def _taken(model: SumModel | Additive, grid: Grid) -> Ints:
    """Of each cell of a grid, laid in one row, the cell of the model's own that it lies in."""
    found = []
    for f, feature in enumerate(grid.schema):
        last = np.append(grid.ends(f)[1:], [math.nan] * (len(feature.missing) > 0))
        found.append(model.grid.first_cell[f] + model.grid.cells_in(f, last))
    return np.concatenate(found)


# ---------------------------------------------------------------- trees


def _trees(model: ClassSums) -> TreeBank:
    leaves, bases, errors = [], [], []
    for each in model.models:
        assert isinstance(each, SumModel)
        own, by = each.leaves, 1.0 / each.link.divisor
        leaves.append(Leaves(own.term, by * own.value, own.allowed[:, _taken(each, model.grid)]))
        bases.append(by * each.base)
        errors.append(by * each.rounding)
    return TreeBank(model.grid, leaves, np.array(bases), np.array(errors), _Totals(model))


class _Totals:
    """The model's own sums at rows of cells of the one grid."""

    def __init__(self, model: ClassSums) -> None:
        self.models = model.models
        self.first = model.grid.first_cell
        self.taken = [_taken(each, model.grid) for each in model.models]

    def __call__(self, cells: Cells) -> Floats:
        at = self.first + cells
        found = []
        for model, taken in zip(self.models, self.taken, strict=True):
            assert isinstance(model, SumModel)
            own = (taken[at] - model.grid.first_cell).astype(np.int32)
            found.append(model.at(own) / model.link.divisor)
        return np.column_stack(found)


class TreeBank(Bank):
    """Sums of trees."""

    def __init__(
        self,
        grid: Grid,
        leaves: Sequence[Leaves],
        bases: Floats,
        errors: Floats,
        own: Callable[[Cells], Floats],
    ) -> None:
        self.grid, self.leaves, self.bases, self.errors = grid, leaves, bases, errors
        self.many, self._own = len(leaves), own

    def totals(self, cells: Cells) -> Floats:
        """As the library adds them up."""
        return self._own(cells)

    def parts(self, wanted: int) -> tuple[list[Part], int]:
        """Every class's own sum."""
        each = zip(self.leaves, self.bases.tolist(), self.errors.tolist(), strict=True)
        return [self._part(leaves, base, error) for leaves, base, error in each], wanted

    def tangent(self, weights: Floats) -> Part:
        """One sum of the trees of all classes that weigh something."""
        return self._part(
            self._weighed(weights), float(weights @ self.bases),
            float(np.abs(weights) @ self.errors),
        )  # fmt: skip

    def _part(self, leaves: Leaves, base: float, error: float) -> Part:
        kernel = Terms(leaves.value, layout(leaves, self.grid.sizes), error=error)
        return Part(kernel, base + kernel.lowest - 0.25 * kernel.width, kernel.width)

    def _weighed(self, weights: Floats) -> Leaves:
        used = [k for k in range(self.many) if abs(weights[k]) > 0.0]
        starts = np.cumsum([0, *(int(self.leaves[k].term[-1]) + 1 for k in used)])
        return Leaves(
            np.concatenate([self.leaves[k].term + a for k, a in zip(used, starts, strict=False)]),
            np.concatenate([weights[k] * self.leaves[k].value for k in used]),
            np.concatenate([self.leaves[k].allowed for k in used]),
        )

    def fewer(
        self,
        weights: Floats,
        needed: float,
        costs: Floats,
        incumbent: float,
        accept: Callable[[Ints], bool],
        deadline: float,
    ) -> Fewer | None:
        """By sweeps and the root LP, as for two classes."""
        leaves = self._weighed(weights)
        size = float(np.abs(weights) @ (np.abs(self.bases) + 2.0 * self.errors))
        slack = float(np.abs(weights) @ self.errors) + 2.0**-44 * (
            size + float(np.abs(leaves.value).sum())
        )
        asked = Asked(1, needed - float(weights @ self.bases), math.inf, 2.0 * slack)
        whole = Sum(leaves.value, layout(leaves, self.grid.sizes))
        every = frozenset(range(len(self.grid.sizes)))
        found = reduced(whole, costs, asked, incumbent, every, accept, deadline)
        if found is None:
            return None
        kernel = Terms(
            found.values, found.layout, error=slack, h=found.h, multiplier=found.multiplier
        )
        base = float(weights @ self.bases) + found.base
        tangent = Part(kernel, base + kernel.lowest - 0.25 * kernel.width, kernel.width)
        bound = max(float(found.bound), 0.0)
        return Fewer(found.kept, found.room, bound, found.point, found.steps, tangent)

    def on(self, kept: Sequence[Ints]) -> TreeBank:
        """Without leaves that none of these cells reaches."""
        columns = np.concatenate(
            [first + of for first, of in zip(self.grid.first_cell, kept, strict=True)]
        )
        sizes = np.array([len(of) for of in kept])
        grid, own, first = numbered(sizes), self._own, self.grid.first_cell
        starts = np.cumsum(sizes) - sizes
        leaves = []
        for each in self.leaves:
            allowed = each.allowed[:, columns]
            alive = np.logical_or.reduceat(allowed, starts, axis=1).all(axis=1)
            leaves.append(Leaves(each.term[alive], each.value[alive], allowed[alive]))

        def totals(cells: Cells) -> Floats:
            return own((columns[starts + cells] - first).astype(np.int32))

        return TreeBank(grid, leaves, self.bases, self.errors, totals)


# ---------------------------------------------------------------- points


def _points(model: ClassSums) -> PointBank:
    each = []
    for of in model.models:
        assert isinstance(of, Additive)
        each.append(np.concatenate(of.points)[_taken(of, model.grid)])
    return PointBank(model.grid, np.array(each), np.array([of.base for of in model.models]))


class PointBank(Bank):
    """Sums of points of one feature each."""

    def __init__(self, grid: Grid, points: Floats, bases: Floats) -> None:
        self.grid, self.points, self.bases = grid, points, bases  # points: (classes, all cells)
        self.many = len(points)

    def totals(self, cells: Cells) -> Floats:
        """Added up a feature after another."""
        each = self.points[:, self.grid.first_cell + cells]
        return np.asarray(self.bases + np.add.accumulate(each, axis=2)[:, :, -1].T)

    def parts(self, wanted: int) -> tuple[list[Part], int]:
        """What the sums of the others are more than that of the wanted class."""
        others = [k for k in range(self.many) if k != wanted]
        each = np.eye(self.many)
        return [self.tangent(each[k] - each[wanted]) for k in others], -1

    def tangent(self, weights: Floats) -> Part:
        """Again a sum of points."""
        kernel = Points(self.grid, self._split(weights @ self.points), float(weights @ self.bases))
        base = float(weights @ self.bases)
        return Part(kernel, base + kernel.lowest, kernel.width)

    def _split(self, row: Floats) -> list[Floats]:
        return np.split(row, self.grid.first_cell[1:])

    def on(self, kept: Sequence[Ints]) -> PointBank:
        """The points of these cells."""
        columns = np.concatenate(
            [first + of for first, of in zip(self.grid.first_cell, kept, strict=True)]
        )
        grid = numbered(np.array([len(of) for of in kept]))
        return PointBank(grid, self.points[:, columns], self.bases)
