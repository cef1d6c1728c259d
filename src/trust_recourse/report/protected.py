"""Whether a model uses what is protected, and what that does: for whoever answers for the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.answers.explain import depends, explainable
from trust_recourse.io.scalars import Floats
from trust_recourse.models.readers.read_model import as_read
from trust_recourse.models.seam import Score
from trust_recourse.models.sums.ensemble import SumModel
from trust_recourse.models.sums.one_feature import at_each_cell
from trust_recourse.models.sums.score import SumScore
from trust_recourse.report.language import ENGLISH
from trust_recourse.schema import Feature, Schema
from trust_recourse.schema.guess.meaning import attribute


class Use(NamedTuple):
    """What one protected feature does in a model, or in several that learnt by turns."""

    feature: Feature
    models: int
    used: int  # of these models: those with a rule or term that depends on it; the others never do
    moved: float  # the most that it moves the confidence of a row that was looked at

    def sentence(self, whose: str = "these rows") -> str:
        """In words; `whose` are the rows that were looked at."""
        title, one = f"{self.feature.title}, which is protected", self.models == 1
        if not self.used:
            who = "The model does not use" if one else f"None of the {self.models} models uses"
            return f"{who} {title}: its value changes no answer."
        some = f"{self.used} of the" if self.used < self.models else "All"
        who = "The model uses" if one else f"{some} {self.models} models use"
        if not self.moved:
            return f"{who} {title}, but changed alone it moves no confidence of {whose}."
        most = max(1, math.ceil(round(1000 * self.moved, 6))) / 1000
        return f"{who} {title}: changed alone, it moves the confidence of {whose} by up to {most}."

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**self._asdict(), "feature": self.feature.name, "sentence": self.sentence()}


def guarded(schema: Schema, shown: Schema, guards: Callable[[Feature], bool]) -> dict[str, str]:
    """What is a reason only once its part was reviewed, by name, and why, if it is not marked so.

    That is what a profile guards, as the schema has it or as it is `shown` in the letter, and what
    follows from it: whoever reads 65 - age reads the age.
    """
    found = {}
    for own, told in zip(schema, shown, strict=True):
        if guards(own) or guards(told):
            found[own.name] = "" if own.protected else (
                f"{told.title} is {attribute(own) or attribute(told)}, which the law protects, and "
                "the schema does not say `protected: true`"
            )  # fmt: skip
    following = {}
    for own in schema:
        names = () if own.formula is None else own.formula.names
        of = [shown[name].title for name in names if name in found]
        if of and own.name not in found:
            title = shown[own.name].title
            following[own.name] = f"{title} follows from what is protected, {ENGLISH.joined(of)}"
    return found | following


def uses(model: Any, schema: Schema, codes: Floats, label: Any = None) -> tuple[Use, ...]:
    """What each protected feature of a schema does at rows of codes.

    What it moves is the confidence in the class of this label, the second if none is named.

    That a model does not use a feature is exact, for all rows there could be; of a model that does
    not say what it is made of, nothing is told.
    """
    protected = [(f, feature) for f, feature in enumerate(schema) if feature.protected]
    read = as_read(model, schema) if protected else model
    if not (protected and explainable(read)):
        return ()
    at = 1 if label is None else read.classes_.tolist().index(label)
    used, score = depends(read), read.score_of(at)
    return tuple(
        Use(feature, 1, int(used[f]), _moved(score, codes, f) if used[f] else 0.0)
        for f, feature in protected
    )


def together(found: Sequence[Sequence[Use]]) -> tuple[Use, ...]:
    """The same of several models of one schema, as one."""
    return tuple(
        Use(each[0].feature, len(each), sum(u.used for u in each), max(u.moved for u in each))
        for each in zip(*found, strict=True)
    )


def _moved(score: Score, codes: Floats, f: int) -> float:
    """The most that a row's confidence differs between the cells of one feature, all else alike.

    Of a number with a slope, between the values that rows have.
    """
    rows, grid = codes.copy(), score.grid
    cells, told = grid.cells(codes), []
    if isinstance(score, SumScore) and isinstance(model := score.model, SumModel):
        told = [model.confidence(each, score.wanted) for each in at_each_cell(model, cells, f)]
    for cell in () if score.lists or told else range(grid.sizes[f]):
        cells[:, f] = cell
        told.append(score.at(cells))
    for value in np.unique(codes[:, f]) if score.lists else ():
        rows[:, f] = value
        told.append(score.at_codes(rows))
    return float(np.ptp(told, axis=0).max())
