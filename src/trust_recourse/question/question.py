"""All that can be asked, of anybody and any model: the value that every surface carries.

With a person and for one of its confidences a `Question` is a `Problem`, which engines answer.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import near
from trust_recourse.question.cost import Cost
from trust_recourse.question.target import PROBABILITY, TO_WIN, Target
from trust_recourse.question.vocabulary import (
    PARTS,
    SPAN,
    PlausibleBy,
    QuestionFields,
    outside,
)
from trust_recourse.question.vocabulary import Limit as Limit
from trust_recourse.schema import FewChange, Schema

Plausible = Callable[[pd.DataFrame], NDArray[np.bool_]]

WHOLE = 2**53  # from it on floats skip whole numbers
MOST = sys.float_info.max
OWN = "function"  # what is told of a test of rows that has no name

_SHARE = PROBABILITY.lower, PROBABILITY.upper
_COUNT = int, "a whole number above 0, or None", 0, math.inf
_NUMBERS = {  # the numbers of a question: kind, meaning, and what they lie strictly between
    "n_options": (int, "a whole number of at least 1", 0, math.inf),
    "gap": (float, "a share such as 0.01 for 1%, or 0, below 1e6", -math.ulp(0), 1e6),
    "min_distance": (float, "a cost above 0, or None", 0, MOST),
    "min_radius": (float, "a number above 0, in scaled units", 0, MOST),
    "floor": (float, f"a {PROBABILITY.name} {PROBABILITY.bounds}", *_SHARE),
    "decision_threshold": (float, f"a number {PROBABILITY.bounds}", *_SHARE),
    "time_limit": (float, "a number above 0, or None", 0, MOST),
    "node_limit": _COUNT,
    "n_trials": _COUNT,
    "max_changes": _COUNT,
    "random_state": (int, "a whole number from 0 up", -1, 2**32),
    "survives": (float, "a share from 0.5 to below 1, such as 0.9", math.nextafter(0.5, 0.0), 1),
}


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
        limits = {} if self.limits is None else self.limits
        if not isinstance(limits, Mapping):
            raise ValueError(
                f"limits={limits!r}; expected two ends for each feature by name. Give such as "
                "{'loan': (None, 5000)}"
            )
        if not isinstance(self.confidence, tuple) and np.size(self.confidence) == 0:
            raise ValueError("confidence=[]; expected at least one level, such as 0.85")
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        parts |= {n: each.item() for n, each in parts.items() if isinstance(each, np.generic)}
        parts |= {
            "confidence": _several("confidence", self.confidence, "levels such as 0.85"),
            "cost": None if self.cost is None else Cost.named(self.cost),
            "lock": _several("lock", self.lock, "names of features"),
            "limits": {name: _limit(name, ends) for name, ends in limits.items()},
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.mode, str):
            raise ValueError(f"mode={self.mode!r}; expected 'at_least', 'band' or 'argmax'")
        if self.mode == "argmax" and self.confidence:
            given = list(self.confidence)
            raise ValueError(
                f"mode='argmax' with confidence={given}: it asks for none; leave it out"
            )
        for asked in self.confidence or (0.5,):
            Target(asked, self.mode, self.tolerance)
        if not all(isinstance(name, str) for name in self.lock):
            raise ValueError(f"lock={list(self.lock)!r}; expected names of features as text")
        for name, (kind, what, low, high) in _NUMBERS.items():
            given = getattr(self, name)
            if given is None and PARTS[name].default is None:
                continue
            number = isinstance(given, (kind, int)) and not isinstance(given, bool)
            if number and kind is int and given >= WHOLE:
                raise ValueError(f"{name} is 2**53 or more; expected {what}. Give a smaller number")
            if not (number and low < given < high):
                raise ValueError(f"{name}={given!r}; expected {what}")
        for name in ("continuous", "sparse"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r}; expected True or False")
        named = isinstance(self.plausible, str) and self.plausible in (OWN, *get_args(PlausibleBy))
        if not (self.plausible is None or callable(self.plausible) or named):
            raise TypeError(
                f"plausible={self.plausible!r}; expected a function of rows, NearNeighbours(X) or "
                "Isolation(X)"
            )
        if self.min_radius is None and (self.floor is not None or self.continuous):
            alone = "continuous=True" if self.floor is None else f"floor={self.floor!r}"
            raise ValueError(f"{alone} without min_radius; give min_radius=0.05, say")
        if self.floor is not None and self.mode == "argmax":
            raise ValueError(
                f"floor={self.floor!r} with mode='argmax': within its radius the class is to keep "
                "the most; leave the floor out"
            )
        if self.survives is not None:
            self._check_survives()
        for name in ("plausible", "survives"):
            if self.sparse and getattr(self, name) is not None:
                raise ValueError(
                    f"sparse with {name}: expected one of them. Ask for each alone, or set "
                    "max_changes in place of sparse"
                )

    def _check_survives(self) -> None:
        given = f"survives={self.survives:g}"
        if self.mode != "at_least":
            raise ValueError(f"{given} with mode={self.mode!r}; expected mode='at_least'")
        if self.n_options > 1:
            raise ValueError(f"{given} with n_options={self.n_options}; expected one option")
        for name in ("min_radius", "plausible", "min_distance"):
            if getattr(self, name) is not None:
                raise ValueError(f"{given} with {name}: expected one of them; ask for each alone")

    def targets(self, threshold: float) -> tuple[Target, ...]:
        """Its levels as targets, where the decision threshold is this."""
        if self.mode == "argmax":
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
                if self.mode == "argmax"
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
    """One value or several, each once; none for None."""
    if given is None:
        return ()
    scalar = isinstance(given, np.ndarray) and given.ndim == 0
    one = isinstance(given, str) or not isinstance(given, Iterable) or scalar
    each = (given,) if one else given
    found = [value.item() if isinstance(value, np.generic) else value for value in each]
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
