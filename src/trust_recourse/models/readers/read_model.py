"""A model as questions are put to it: read where it can be, and its own library as the referee.

A model that was read is asked through its `Score`, and the library that made it confirms every
answer. A model that was not read is asked by rows alone, and nothing is proved of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from trust_recourse.io.scalars import Floats, plain
from trust_recourse.io.wording import some
from trust_recourse.models.log_odds_margin import beside_strongest
from trust_recourse.models.readers.columns import UnreadableError
from trust_recourse.models.readers.library import known, of_categories, readable
from trust_recourse.models.readers.referee import Library, state_of
from trust_recourse.models.seam import Score
from trust_recourse.question import Outcome, Point, Target
from trust_recourse.schema import Schema

FAMILIES = (
    "PTMClassifier, TMClassifier, trees of scikit-learn, LightGBM, XGBoost or CatBoost, a logistic "
    "regression, a pipeline around them, points and slopes (Additive), or one of your own "
    "(CellModel)"
)
READ_BY = ("name", "kind", "values", "missing")  # of a feature: how its values are read
REMEMBERED = 256  # rows that a library was asked about


class ReadModel:
    """A model and one of its classes.

    `exact` is whether the model was read, so that answers can be proved; `unread` is why it was
    not. `schema` is the one given, with the steps that the model needs. `library` is the model's
    own library, which is asked again about every answer.
    """

    def __init__(self, model: Any, schema: Schema | None, wanted: Any = None) -> None:
        self.library: Library | None = None
        self.unread = ""
        _refuse_unfitted(model)
        if schema is not None and not isinstance(schema, Schema):
            raise TypeError(
                f"schema is a {type(schema).__name__}; expected a Schema, such as Schema.infer(X) "
                "with X the rows, or Schema.from_yaml(path)"
            )
        if not hasattr(model, "score_of") and schema is not None and readable(model):
            try:
                model, self.library = known(model, schema)
            except UnreadableError as error:
                self.unread = str(error)
                self.library = of_categories(model, schema)
        self.model = model
        self.exact = hasattr(model, "score_of")
        if not (self.exact or hasattr(model, "predict_proba") or callable(model)):
            raise TypeError(
                f"model is {type(model).__name__}{self.why_unread}; expected one with cells "
                f"({FAMILIES}), a classifier with predict_proba, or a function of a table that "
                f"gives the probability of the wanted class{_wrapped(model)}"
            )
        if schema is None and not hasattr(model, "schema_"):
            raise ValueError(
                f"model is {type(model).__name__}, which has no schema of its own; "
                "give schema=Schema.infer(X), with X the rows it was fitted on"
            )
        self.given: Schema = model.schema_ if schema is None else schema
        self.schema = self.fitting(self.given)
        classes = [plain(label) for label in getattr(model, "classes_", [0, 1])]
        wanted = getattr(model, "wanted_", None) if wanted is None else wanted
        if wanted is None and len(classes) > 2:
            raise ValueError(
                f"the model has {len(classes)} classes, {some(classes)}: say which one is hoped "
                "for by wanted=..."
            )
        self.wanted = classes[1] if wanted is None else plain(wanted)
        if self.wanted not in classes:
            raise ValueError(f"wanted={wanted!r}; the model's classes are {classes}")
        self.wanted_at = classes.index(self.wanted)
        self.outcome = Outcome(self.wanted)
        self._answered: dict[bytes, Floats] = {}  # the library's confidences, by row
        self._confirmed: set[int] = set()  # terms of a sum that the library was asked about
        if self.library is not None and self.library.asked is not None:
            self._confirmed |= self._terms(self.library.asked) or set()
        self._state = self._fitted_state()

    # ------------------------------------------------------------ is it still the one that was read

    def check(self) -> None:
        """Raise `ValueError` if the model was fitted again, or changed, since it was read.

        Of a model that is asked by rows alone only the classes are compared.
        """
        if self._fitted_state() != self._state:
            self.refuse_changed()

    def refuse_changed(self) -> None:
        """Raise the error for a model that is not the one that was read."""
        own = self.model if self.library is None else self.library.model
        raise ValueError(
            f"the {type(own).__name__} was fitted again or changed after Recourse read it; "
            "expected the same model. Make a new Recourse, and ask it again"
        )

    def _fitted_state(self) -> list[Any]:
        """All that was read of a library's model; of others the fingerprint and the classes."""
        if self.library is not None:
            return state_of(self.library.model)
        own = getattr(self.model, "fingerprint_", None) if hasattr(self.model, "fit") else None
        return state_of([own, *map(plain, getattr(self.model, "classes_", ()))])

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a deep copy holds: not the scores, which are large.

        Some libraries write the same model in other bytes after a copy. The state of an unchanged
        model is therefore read from the copy; that of a changed one stays, to be refused there.
        """
        state = {name: value for name, value in vars(self).items() if name not in _SCORES}
        if self._fitted_state() == self._state:
            del state["_state"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_state" not in state:
            self._state = self._fitted_state()

    def lean(self) -> ReadModel:
        """The same without what only further training needs."""
        if not hasattr(self.model, "drop_states"):
            return self
        other = copy(self)
        other.model = copy(self.model).drop_states()
        return other

    # ------------------------------------------------------------ what it reads

    def fitting(self, schema: Schema) -> Schema:
        """The schema with the steps that the model needs; what its own protects stays protected."""
        if hasattr(self.model, "stepped"):
            schema = self.model.stepped(schema)
        for feature in getattr(self.model, "schema_", ()):
            if feature.protected and feature.name in schema and not schema[feature.name].protected:
                schema = schema.update(feature.name, protected=True)
        if not self.exact:
            return schema
        own = self.model.schema_  # which the schema must read values as; it may limit other moves
        for ours, theirs in zip(schema, own, strict=False):
            for part in READ_BY:
                given, expected = getattr(ours, part), getattr(theirs, part)
                if given != expected:
                    raise ValueError(
                        f"schema, feature {ours.name!r}, {part}: given {given!r}, but the model "
                        f"was fitted with {expected!r}; start from model.schema_"
                    )
        if len(schema) != len(own):
            raise ValueError(f"the schema has {len(schema)} features, the model {len(own)}")
        return schema

    def need_cells(self, what: str, engines: Iterable[str] = ()) -> None:
        """Raise `TypeError` if the model was not read; `engines` are those that can ask it."""
        if not self.exact:
            raise TypeError(
                f"{what} needs a model with cells: {FAMILIES}; this one is "
                f"{type(self.model).__name__}{self.why_unread}, which find() asks by trial: "
                f"engine 'auto' or one of {', '.join(engines)}"
            )

    @property
    def why_unread(self) -> str:
        """Why the model was not read, to end a sentence with."""
        return f" ({self.unread})" if self.unread else ""

    # ------------------------------------------------------------ confidences

    @cached_property
    def score(self) -> Score:
        """The wanted class's confidence as the exact engine asks for it."""
        score: Score = self.model.score_of(self.wanted_at)
        return score

    @cached_property
    def _wins(self) -> Score:
        """The wanted class's share beside the strongest of the others."""
        if not hasattr(self.model, "wins_of"):
            return self.score
        score: Score = self.model.wins_of(self.wanted_at)
        return score

    def score_for(self, target: Target) -> Score:
        """What a target asks about, as the exact engine asks for it."""
        return self._wins if target.mode == "argmax" else self.score

    def confidence_of(self, codes: Floats) -> float:
        """The wanted class's confidence at one row of codes."""
        return float(self.confidences(codes[None])[0])

    def confidences(self, rows: Floats) -> Floats:
        """The wanted class's confidence at rows of codes; integers may be any number."""
        return self.score.at_codes(rows) if self.exact else self._proba(rows)[:, self.wanted_at]

    def judged(self, rows: Floats, target: Target) -> Floats:
        """What a target asks about, at rows of codes: their confidence, or whether they win."""
        if target.mode != "argmax":
            return self.confidences(rows)
        if self.exact:
            return self._wins.at_codes(rows)
        return beside_strongest(self._proba(rows), self.wanted_at)

    def _proba(self, rows: Floats) -> Floats:
        """The confidences of every class, of a model that was not read."""
        table: Any = noisy_table(rows, self.schema)
        if self.library is not None:
            given = self.library.predict_proba(rows)
        elif not hasattr(self.model, "predict_proba"):
            given = np.asarray(self.model(table), dtype=float)
        else:
            named = hasattr(self.model, "feature_names_in_") or hasattr(self.model, "schema_")
            unnamed = hasattr(self.model, "n_features_in_") and not named
            rows_in = table.to_numpy() if unnamed else table
            given = np.asarray(self.model.predict_proba(rows_in), dtype=float)
        if given.ndim == 1:  # of the wanted class alone
            given = np.column_stack([1.0 - given, given][:: 1 if self.wanted_at else -1])
        shaped = given.ndim == 2 and len(given) == len(rows) and given.shape[1] > self.wanted_at
        if not (shaped and self.outcome.contains(given)):
            raise ValueError(
                f"the model gave an array of shape {given.shape} for {len(rows)} rows; expected "
                f"for each the probability of the wanted class, {self.outcome.bounds}"
            )
        return given

    # ------------------------------------------------------------ its library as the referee

    @property
    def refereed(self) -> bool:
        """Whether a library of its own confirms what is read of the model."""
        return self.library is not None and self.exact

    def confirm(self, codes: Floats, confidence: float) -> None:
        """Ask the library about an option: its confidence must be the one that is shown.

        Of a sum of one term a column each term is asked about once.
        """
        if not self.refereed or self._vouched(codes):
            return
        theirs = float(self._asked(codes)[self.wanted_at])
        if abs(theirs - confidence) > self.apart(codes):
            raise RuntimeError(
                f"the library says {theirs!r} of an option where its model as read says "
                f"{confidence!r}; please report this"
            )
        self._confirmed |= self._terms(codes[None]) or set()

    def meets(self, target: Target, codes: Floats, confidence: float) -> bool:
        """Whether a person with this confidence meets a target as they are."""
        if target.mode != "argmax":
            return target.met(confidence)
        ours = float(self.judged(codes[None], target)[0])
        return target.met(ours) and self.agrees(target, Point(codes, 0.0, ours))

    def agrees(self, target: Target, point: Point) -> bool:
        """Whether a point meets its target by the library's own confidence.

        A sum of terms that it was asked about is its own, too, where no rounding decides.
        """
        if not self.refereed:
            return True
        sure = target.mode != "argmax" and self._vouched(point.codes)
        if sure and not self._unsure(point.confidence, point.codes, target.interval):
            return target.met(point.confidence)
        theirs = self._asked(point.codes)
        if target.mode == "argmax":
            return target.met(float(beside_strongest(theirs[None], self.wanted_at)[0]))
        return target.met(float(theirs[self.wanted_at]))

    def now(self, own: Floats, threshold: float, targets: Iterable[Target]) -> float:
        """A person's confidence as they are: the library's, where rounding may decide on it."""
        ours = float(self.confidences(own[None])[0])
        if self.refereed:
            ends = [threshold, *(end for target in targets for end in target.interval)]
            if self._unsure(ours, own, ends):
                return float(self._asked(own)[self.wanted_at])
        return ours

    def apart(self, codes: Floats) -> float:
        """How far the library's confidence at a row may be from that of the model as read."""
        return float(self.model.apart(codes[None])[0])

    def _vouched(self, codes: Floats) -> bool:
        """Whether a row is a sum of terms that the library was asked about."""
        terms = self._terms(codes[None])
        return terms is not None and terms <= self._confirmed

    def _terms(self, rows: Floats) -> set[int] | None:
        """The terms of the model at rows, where it is a sum of one a column."""
        return self.model.terms_at(rows) if hasattr(self.model, "terms_at") else None

    def _unsure(self, confidence: float, codes: Floats, ends: Iterable[float]) -> bool:
        """Whether rounding may decide on which side of an end the library has a row."""
        apart = self.apart(codes)
        return any(abs(confidence - end) <= apart for end in ends)

    def _asked(self, codes: Floats) -> Floats:
        """The library's own confidences at one row, remembered: what is found is asked again."""
        assert self.library is not None
        row = codes.tobytes()
        theirs = self._answered.get(row)
        if theirs is None:
            theirs = np.asarray(self.library.predict_proba(codes[None])[0], float)
            if len(self._answered) >= REMEMBERED:
                self._answered.clear()
            self._answered[row] = theirs
        return theirs


_SCORES = ("score", "_wins")


def as_read(model: Any, schema: Schema) -> Any:
    """A model of another library as the sum that it is read as; any other as it is."""
    if hasattr(model, "score_of"):
        return model
    labels = getattr(model, "classes_", (None,))  # whichever is wanted, it is read alike
    return ReadModel(model, schema, labels[-1]).model


def own_threshold(model: Any) -> float:
    """The decision threshold that a model came with, or else one half."""
    own = getattr(model, "decision_threshold_", None)
    return 0.5 if own is None else float(own)


def noisy_table(codes: Floats, schema: Schema) -> pd.DataFrame:
    """Codes in people's own values, like `Schema.decode`, but integers may be any real number."""
    real = (replace(f, kind="number") if f.kind == "integer" else f for f in schema)
    return Schema(tuple(real)).decode(codes)


def _refuse_unfitted(model: Any) -> None:
    """Refuse an estimator that was not fitted; one of no known convention is believed to be."""
    fitted = getattr(model, "is_fitted", lambda: True)()  # CatBoost's name for it
    if fitted and not hasattr(model, "classes_"):
        from sklearn.base import BaseEstimator
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            if isinstance(model, BaseEstimator):
                check_is_fitted(model)
        except NotFittedError:
            fitted = False
    if not fitted:
        raise ValueError(f"model is {type(model).__name__}, which has not learnt yet: call fit")


def _wrapped(model: Any) -> str:
    """How to wrap a model that only predicts classes or numbers; '' for anything else."""
    if not hasattr(model, "predict"):
        return ""
    if hasattr(model, "classes_"):
        return ". It predicts classes alone: wrap it in scikit-learn's CalibratedClassifierCV"
    return (
        ". It predicts a number: say which is good enough, such as 650, in a function, "
        "lambda table: 1 / (1 + np.exp(-(model.predict(table) - 650) / 20)), whose confidence is "
        "one half at 650 and the surer the further beyond it, in steps of 20"
    )
