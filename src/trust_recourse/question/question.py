"""All that can be asked, of anybody and any model: the value that every surface carries.

With a person and for one of its confidences a `Question` is a `Problem`, which engines answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.io.scalars import is_number, plain, python
from trust_recourse.io.wording import near
from trust_recourse.question.cost import Cost
from trust_recourse.question.outcome import PROBABILITY
from trust_recourse.question.target import TO_WIN, Target
from trust_recourse.question.vocabulary import SPAN, PlausibleBy, QuestionFields, outside
from trust_recourse.question.vocabulary import Limit as Limit
from trust_recourse.schema import FewChange, Schema

Plausible = Callable[[pd.DataFrame], NDArray[np.bool_]]

WHOLE = 2**53  # from it on floats skip whole numbers
OWN = "function"  # what is told of a test of rows that has no name


@dataclass(frozen=True, kw_only=True)
class Question(QuestionFields):
    """All that can be asked: one value, the same in Python, commands, service, page and files.

    Parts that are None are as the model and its rules have them; without any confidence it asks for
    the decision itself. A question is checked where it is made; whether a model can answer it,
    where it is put to one.

    >>> Question(confidence=0.8, lock="age").to_dict()
    {'confidence': [0.8], 'lock': ['age']}
    """

    def __post_init__(self) -> None:
        if not isinstance(self.limits, Mapping):
            raise ValueError(
                f"limits={self.limits!r}; expected two ends for each feature by name. Give such as "
                "{'loan': (None, 5000)}"
            )
        for part in fields(self):
            object.__setattr__(self, part.name, python(getattr(self, part.name)))
        for name, value in {
            "confidence": _several("confidence", self.confidence, "levels such as 0.85"),
            "cost": None if self.cost is None else Cost.named(self.cost),
            "lock": _several("lock", self.lock, "names of features"),
            "limits": {name: _limit(name, ends) for name, ends in self.limits.items()},
        }.items():
            object.__setattr__(self, name, value)
        self._check()

    @classmethod
    def given(
        cls, confidence: Any = None, limits: Mapping[str, Limit] | None = None, **parts: Any
    ) -> Question:
        """Make a question of what users pass: one level or several, None for a part left out."""
        if confidence is None:
            confidence = ()
        elif np.size(confidence) == 0:
            raise ValueError("confidence=[]; expected at least one level, such as 0.85")
        return cls(confidence=confidence, limits={} if limits is None else limits, **parts)

    def _check(self) -> None:
        if not isinstance(self.mode, str):
            raise ValueError(f"mode={self.mode!r}; expected 'at_least', 'band' or 'wins'")
        if self.mode == "wins" and self.confidence:
            given = list(self.confidence)
            raise ValueError(f"mode='wins' with confidence={given}: it asks for none; leave it out")
        for asked in self.confidence or (0.5,):
            Target(asked, self.mode, self.tolerance)
        if not all(isinstance(name, str) for name in self.lock):
            raise ValueError(f"lock={list(self.lock)!r}; expected names of features as text")
        share, above = "a share such as 0.01 for 1%, or 0", "above 0"
        fraction = PROBABILITY.lower, PROBABILITY.upper
        _expect(self, "n_options", "a whole number of at least 1", (0, math.inf), whole=True)
        _expect(self, "gap", f"{share}, below 1e6", (-math.ulp(0), 1e6))
        _expect(self, "min_distance", f"a cost {above}, or None", (0, math.inf))
        _expect(self, "min_radius", f"a number {above}, in scaled units", (0, math.inf))
        _expect(self, "floor", f"a {PROBABILITY.name} {PROBABILITY.bounds}", fraction)
        _expect(self, "decision_threshold", f"a number {PROBABILITY.bounds}", fraction)
        _expect(self, "time_limit", f"a number {above}, or None", (0, math.inf))
        for name in ("node_limit", "n_trials", "max_changes"):
            _expect(self, name, f"a whole number {above}, or None", (0, math.inf), whole=True)
        _expect(self, "random_state", "a whole number from 0 up", (-1, 2**32), whole=True)
        if self.floor is not None and self.min_radius is None:
            raise ValueError(f"floor={self.floor!r} without min_radius; give min_radius=0.05, say")
        for name in ("continuous", "sparse"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r}; expected True or False")
        if self.continuous and self.min_radius is None:
            raise ValueError("continuous=True without min_radius; give min_radius=0.05, say")
        if self.survives is not None:
            self._check_survives()
        for name in ("plausible", "survives"):
            if self.sparse and getattr(self, name) is not None:
                raise ValueError(
                    f"sparse with {name}: expected one of them. Ask for each alone, or set "
                    "max_changes in place of sparse"
                )
        if self.floor is not None and self.mode == "wins":
            raise ValueError(
                f"floor={self.floor!r} with mode='wins': within its radius the class is to keep "
                "the most; leave the floor out"
            )
        named = isinstance(self.plausible, str) and self.plausible in (OWN, *get_args(PlausibleBy))
        if not (self.plausible is None or callable(self.plausible) or named):
            raise TypeError(
                f"plausible={self.plausible!r}; expected a function of rows, NearNeighbours(X) or "
                "Isolation(X)"
            )

    def _check_survives(self) -> None:
        half = math.nextafter(0.5, 0.0)
        _expect(self, "survives", "a share from 0.5 to below 1, such as 0.9", (half, 1))
        given = f"survives={self.survives:g}"
        if self.mode != "at_least":
            raise ValueError(f"{given} with mode={self.mode!r}; expected mode='at_least'")
        if self.n_options > 1:
            raise ValueError(f"{given} with n_options={self.n_options}; expected one option")
        for name in ("min_radius", "plausible", "min_distance"):
            if getattr(self, name) is not None:
                raise ValueError(f"{given} with {name}: expected one of them; ask for each alone")

    def by(self, engine: Any) -> Question:
        """The same question, which was checked, to this engine."""
        if engine == self.engine:
            return self
        other = copy(self)
        object.__setattr__(other, "engine", engine)
        return other

    def targets(self, threshold: float) -> tuple[Target, ...]:
        """Its levels as targets, where the decision threshold is this."""
        if self.mode == "wins":
            return (TO_WIN,)
        levels = self.confidence or (threshold,)
        return tuple(Target(c, self.mode, self.tolerance, threshold) for c in levels)

    def narrowed(self, schema: Schema) -> Schema:
        """The schema under its locks and limits, which may be named by labels."""
        for name, (lower, upper) in self.limits.items():
            inner = schema[schema.name_of(name)].limited(lower, upper)
            schema = schema.update(inner.name, lower=inner.lower, upper=inner.upper)
        if self.lock:
            schema = schema.lock(*map(schema.name_of, self.lock))
        if self.max_changes is None or self.max_changes >= len(schema.actionable):
            return schema
        few = FewChange(schema.actionable, self.max_changes)
        return schema if few in schema.relations else schema.relate(few)

    @property
    def without_rules(self) -> Question:
        """The same to a recourse that has its cost, locks, limits and threshold already."""
        return replace(
            self, cost=None, lock=(), limits={}, max_changes=None, decision_threshold=None
        )

    def extra_constraints(self, threshold: float) -> str:
        """In words, what an answer must be beside confident enough; '' if nothing."""
        words = []
        if self.min_radius is not None:
            floor = threshold if self.floor is None else self.floor
            least = (
                "the most of any class"
                if self.mode == "wins"
                else f"at {PROBABILITY.level(floor)} or more"
            )
            between = " (between steps too)" if self.continuous else ""
            words.append(f"kept {least} within a radius of {self.min_radius:g}{between}")
        if self.plausible is not None:
            words.append("plausible")
        if self.survives is not None:
            words.append(f"kept by at least {100 * self.survives:g}% of models learnt anew")
        return " and ".join(words)

    # ------------------------------------------------------------ outside Python

    def to_dict(self) -> dict[str, Any]:
        """Its parts that are not the default, by their names outside Python, as JSON has them.

        Functions of the user's own are not among them: a cost's are left out, and a test of rows
        is told by its name, or that it was one's own.
        """
        told: dict[str, Any] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if value not in (part.default, {}):
                told[outside(part.name)] = _plainly(value)
        return told

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Question:
        """Read what `to_dict` wrote."""
        inside = {outside(part.name): part.name for part in fields(cls)}
        if not isinstance(given, Mapping):
            raise ValueError(f"question: given {given!r}, expected its parts by name")
        for name in given.keys() - inside.keys():
            raise ValueError(f"question: unknown {name!r}{near(name, inside)}")
        try:
            return cls(**{inside[name]: value for name, value in given.items()})
        except TypeError as error:
            raise ValueError(f"question: {error}") from None


def _plainly(value: Any) -> Any:
    if isinstance(value, Cost):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plainly(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plainly(each) for each in value]
    if callable(value) or hasattr(value, "name"):
        return getattr(value, "name", OWN)
    return plain(value)


def _several(name: str, given: Any, what: str) -> tuple[Any, ...]:
    """One value or several, each once."""
    scalar = isinstance(given, np.ndarray) and given.ndim == 0
    one = isinstance(given, str) or not isinstance(given, Iterable) or scalar
    found = [python(each) for each in ((given,) if one else given)]
    if not all(isinstance(each, Hashable) for each in found):
        raise ValueError(f"{name}={given!r}; expected {what}. Give one of them, or a list")
    return tuple(dict.fromkeys(found))


def _limit(name: str, ends: Any) -> Limit:
    if not isinstance(ends, (tuple, list)) or len(ends) != 2:
        raise ValueError(f"limits, {name!r}: given {ends!r}; expected two ends, such as (0, None)")
    return plain(ends[0]), plain(ends[1])


def read_limit(text: str, schema: Schema) -> tuple[str, Limit]:
    """A limit as people write it, either end of which may be left out.

    >>> from trust_recourse.schema import Feature
    >>> read_limit("loan=..5000", Schema((Feature("loan"),)))
    ('loan', (None, 5000.0))
    """
    name, equals, ends = text.partition("=")
    low, span, high = ends.partition(SPAN)
    if not (equals and span):
        example = f"{schema.names[0]}=1{SPAN}9"
        raise ValueError(f"limit {text!r}: expected NAME=LOW{SPAN}HIGH, such as {example}")
    feature = schema[schema.name_of(name.strip())]
    lower, upper = (feature.read(end) if end.strip() else None for end in (low, high))
    return feature.name, (lower, upper)


def decided(model: Any, decision_threshold: float | None, wanted: Any) -> tuple[float | None, Any]:
    """How it is decided by a model, once it can be: the threshold, and the class hoped for."""
    classes = model.classes_.tolist()
    if wanted is not None and plain(wanted) not in classes:
        raise ValueError(f"wanted={wanted!r}; the model's classes are {classes}")
    asked = Question(decision_threshold=decision_threshold)
    return asked.decision_threshold, None if wanted is None else plain(wanted)


def _expect(
    question: Question, name: str, what: str, between: tuple[float, float], whole: bool = False
) -> None:
    """Refuse a number of a question that is not strictly between two others."""
    given = getattr(question, name)
    optional = type(question).__dataclass_fields__[name].default is None
    kind = isinstance(given, int) if whole else is_number(given)
    if whole and kind and given >= WHOLE:
        raise ValueError(f"{name} is 2**53 or more; expected {what}. Give a smaller number")
    if not ((optional and given is None) or (kind and between[0] < given < between[1])):
        raise ValueError(f"{name}={given!r}; expected {what}")
