"""The question and the answer: targets, costs, the question that every surface carries, options.

A `Question` is all that can be asked, of anybody and any model; with a person and for one of its
confidences it is a `Problem`, which engines answer. An option is one way to reach it, in numbers
alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.io import markup
from trust_recourse.io.scalars import is_number, plain, python
from trust_recourse.io.wording import beyond, floored, level, near, significant
from trust_recourse.question.cost import Cost
from trust_recourse.question.vocabulary import SPAN, Mode, PlausibleBy, outside
from trust_recourse.schema import ActionSet, FewChange, Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Plausible = Callable[[pd.DataFrame], NDArray[np.bool_]]
Limit = tuple[Any, Any]  # from, to; None is no end

WHOLE = 2**53  # from it on floats skip whole numbers
SLACK = 1e-9  # a target counts as met when it is missed by no more than this
OWN = "function"  # what is told of a test of rows that has no name


class Status(StrEnum):
    """What is known about an answer; `sentence` says it to a person."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NOT_FOUND = "not_found"
    ALREADY_MET = "already_met"

    @property
    def sentence(self) -> str:
        """The status, as a clerk could read it out."""
        return {
            Status.OPTIMAL: "This is the cheapest allowed change; nothing cheaper reaches it.",
            Status.FEASIBLE: "This change reaches it; a cheaper one was not ruled out.",
            Status.INFEASIBLE: "No allowed change reaches this target; that is proved.",
            Status.NOT_FOUND: "No change was found; that one exists was not ruled out.",
            Status.ALREADY_MET: "Nothing needs to change: the target is met already.",
        }[self]


@dataclass(frozen=True)
class Target:
    """A confidence of the wanted class to reach: at least τ, or a band around it, or to win.

    >>> Target(0.8).met(0.81), Target(0.8, "band", 0.05).met(0.9)
    (True, False)
    """

    confidence: float
    mode: Mode = "at_least"
    tolerance: float = 0.1
    threshold: float = field(default=0.5, compare=False, repr=False)  # of the decision

    def __post_init__(self) -> None:
        if not (isinstance(self.confidence, (int, float)) and 0 < self.confidence < 1):
            raise ValueError(
                f"confidence={self.confidence!r}; expected a number between 0 and 1, such as 0.85"
            )
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode={self.mode!r}; expected 'at_least', 'band' or 'wins'")
        if self.mode == "wins" and self.confidence != 0.5:
            raise ValueError(
                f"mode='wins' with confidence={self.confidence!r}; expected 0.5: a class wins by "
                "its share beside the strongest of the others, whatever its confidence is"
            )
        if not (isinstance(self.tolerance, (int, float)) and 0 <= self.tolerance < 1):
            raise ValueError(f"tolerance={self.tolerance!r}; expected a number from 0 to below 1")
        if not (isinstance(self.threshold, (int, float)) and 0 < self.threshold < 1):
            raise ValueError(f"threshold={self.threshold!r}; expected a number between 0 and 1")

    @property
    def interval(self) -> tuple[float, float]:
        """The confidences that meet it, slack included; the decision itself has none.

        A class wins by its share beside the strongest of the others, which is to be one half.
        """
        if self.mode == "wins":
            return self.confidence, math.inf
        if self.mode == "at_least":
            return self.confidence - (0.0 if self.decides else SLACK), math.inf
        low, high = self.confidence - self.tolerance, self.confidence + self.tolerance
        return low - SLACK, high + SLACK

    @property
    def decides(self) -> bool:
        """Whether it asks for the decision itself, which has no slack."""
        return self.mode == "at_least" and self.confidence == self.threshold

    @property
    def words(self) -> str:
        """The target for people."""
        if self.mode == "band":
            return f"{level(self.confidence)} ± {level(self.tolerance)}"
        if self.mode == "wins":
            return "more than any other class"
        return f"at least {level(self.confidence)}"

    def decision(self, threshold: float) -> Target:
        """The decision that goes with it, as a target: that the class wins, or the threshold."""
        return TO_WIN if self.mode == "wins" else Target(threshold, threshold=threshold)

    @property
    def rule(self) -> str:
        """Who is accepted, where it asks for the decision itself, in words."""
        most = "where it has the most of any class"
        return most if self.mode == "wins" else f"from {level(self.confidence)}"

    def to_dict(self) -> dict[str, Any]:
        """In plain values: the decision threshold only where it is not one half."""
        told: dict[str, Any] = {"confidence": float(self.confidence), "mode": self.mode}
        told["tolerance"] = float(self.tolerance)
        if self.threshold != 0.5:
            told["threshold"] = float(self.threshold)
        return told

    def raised(self, by: float) -> Target:
        """One that only confidences meet which meet this with so much to spare."""
        if self.mode == "band":
            return replace(self, tolerance=max(self.tolerance - by, 0.0))
        least = min(self.interval[0] + by, math.nextafter(1.0, 0.0))
        return Target(least, threshold=least)

    def met(self, confidence: float) -> bool:
        """Whether this confidence is enough."""
        low, high = self.interval
        return low <= confidence <= high


TO_WIN = Target(0.5, "wins")  # half of what a class and the strongest other have together


def formatted(
    confidence: float, threshold: float = 0.5, target: Target | None = None, digits: int = 3
) -> str:
    """A confidence for people: cut, with as many digits as keep it on its side of each line.

    >>> formatted(0.49996), formatted(0.71), formatted(0.8507, 0.8505)
    ('0.499', '0.710', '0.8507')
    >>> formatted(0.7, 0.5, Target(0.7))
    '0.700'

    Whether a class wins is no line between confidences.
    """
    lowest = () if target is None else (target.interval[0],)
    wins = target is not None and target.mode == "wins"
    return floored(confidence, beyond(confidence, () if wins else (threshold, *lowest)), digits)


@dataclass(frozen=True)
class Question:
    """All that can be asked: one value, the same in Python, commands, service, page and files.

    Parts that are None are as the model and its rules have them; without any confidence it asks for
    the decision itself. A question is checked where it is made; whether a model can answer it,
    where it is put to one.

    >>> Question(0.8, lock="age").to_dict()
    {'confidence': [0.8], 'lock': ['age']}
    """

    confidence: tuple[float, ...] = ()
    mode: Mode = "at_least"
    tolerance: float = 0.1
    cost: Cost | None = None
    lock: tuple[str, ...] = ()
    limits: Mapping[str, Limit] = field(default_factory=dict, hash=False)
    n_options: int = 1
    min_distance: float | None = None
    min_radius: float | None = None
    floor: float | None = None
    plausible: Plausible | str | None = None
    gap: float = 0.0
    node_limit: int | None = None
    time_limit: float | None = None
    engine: str = "auto"
    n_trials: int | None = None
    random_state: int = 0
    decision_threshold: float | None = None
    max_changes: int | None = None
    continuous: bool = False
    survives: float | None = None
    sparse: bool = False

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
        share, above, fraction = "a share such as 0.01 for 1%, or 0", "above 0", (0, 1)
        _expect(self, "n_options", "a whole number of at least 1", (0, math.inf), whole=True)
        _expect(self, "gap", f"{share}, below 1e6", (-math.ulp(0), 1e6))
        _expect(self, "min_distance", f"a cost {above}, or None", (0, math.inf))
        _expect(self, "min_radius", f"a number {above}, in scaled units", (0, math.inf))
        _expect(self, "floor", "a confidence between 0 and 1", fraction)
        _expect(self, "decision_threshold", "a number between 0 and 1", fraction)
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
        if self.survives is None:
            return
        given = f"survives={self.survives:g}"
        if self.mode != "at_least":
            raise ValueError(f"{given} with mode={self.mode!r}; expected mode='at_least'")
        if self.n_options > 1:
            raise ValueError(f"{given} with n_options={self.n_options}; expected one option")
        for name in ("min_radius", "plausible", "min_distance"):
            if getattr(self, name) is not None:
                raise ValueError(f"{given} with {name}: expected one of them; ask for each alone")

    def by(self, engine: str) -> Question:
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
            least = "the most of any class" if self.mode == "wins" else f"at {level(floor)} or more"
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
    return getattr(value, "name", OWN) if callable(value) else plain(value)


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


@dataclass(frozen=True, eq=False)
class Problem:
    """One confidence of a question for one person, free of any model: what engines answer."""

    action_set: ActionSet  # the person's own codes, and where they may go
    target: Target
    cost: Cost
    wanted: int = 1  # the position of the wanted class in `classes_`, 0 or 1


@dataclass(frozen=True, eq=False)
class Point:
    """A row in codes, what it costs to become it, and the wanted class's confidence there."""

    codes: Floats
    cost: float
    confidence: float


def changed(own: Floats, codes: Floats) -> frozenset[int]:
    """Which features of a row are not the person's own; a missing value equals a missing one.

    >>> sorted(changed(np.array([1.0, np.nan, 3.0]), np.array([2.0, np.nan, 3.0])))
    [0]
    """
    return frozenset(np.flatnonzero((codes != own) & ~(np.isnan(codes) & np.isnan(own))).tolist())


@dataclass(frozen=True)
class Survival:
    """Whether models learnt anew accept an option that was asked to last, or the nearest to one.

    It lasts if the models of the validation accept it so that, with a confidence of 90%, at
    least the share that was asked of all such models would. Of fresh models, which had no part in
    that, `kept` accept it; the share of all that do lies between `low` and `high` in 90% of cases.
    """

    asked: float
    lasts: bool
    demand: float  # on the mean log-odds of the models searched against; −∞ if none was needed
    validated: int  # models of the validation that accept it
    validation: int  # of so many
    kept: int  # fresh models that accept it
    of: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share of the fresh models that accept it."""
        return self.kept / self.of

    @property
    def words(self) -> str:
        """What the fresh models say, in words."""
        told = f"{self.kept} of {self.of} models learnt anew accept it"
        return f"{told} ({self.low:.0%} to {self.high:.0%} of all such models would)"

    def to_dict(self) -> dict[str, Any]:
        """In plain values, as JSON has them: no demand is told as None."""
        told = {part.name: getattr(self, part.name) for part in fields(self)}
        return told | {"demand": None if math.isinf(self.demand) else self.demand}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Survival:
        """Read what `to_dict` wrote; what cannot be so is refused."""
        demand = given["demand"]
        made = cls(**{**given, "demand": -math.inf if demand is None else demand})
        counts = made.validated, made.validation, made.kept, made.of
        shares = made.asked, made.low, made.high
        counted = all(type(each) is int and each >= 0 for each in counts) and made.of > 0
        if not (
            counted
            and made.validated <= made.validation
            and made.kept <= made.of
            and all(is_number(each) and 0.0 <= each <= 1.0 for each in shares)
            and isinstance(made.lasts, bool)
            and (demand is None or is_number(demand))
        ):
            raise TypeError(f"survival: given {dict(given)!r}")
        return made


class Radius(float):
    """A certified radius: a float that is `exact`, or else a proved lower bound on the radius.

    As text a bound is written with its sign.

    >>> Radius(0.25), Radius(0.25, exact=False), min(Radius(0.25, exact=False), 0.5).exact
    (0.25, ≥ 0.25, False)
    """

    __slots__ = ("exact",)
    exact: bool

    def __new__(cls, value: float, exact: bool = True) -> Radius:
        """A number that is the radius if it is exact, and at most the radius if not."""
        made = super().__new__(cls, value)
        made.exact = exact
        return made

    def __getnewargs__(self) -> tuple[float, bool]:  # type: ignore[override]
        return float(self), self.exact

    def __repr__(self) -> str:
        return f"{'' if self.exact else '≥ '}{float(self)!r}"


@dataclass(frozen=True, eq=False)
class Option:
    """One way to be accepted: numbers alone, in the person's own units.

    `codes` are the values of x as the schema encodes them. `cost` is d(x, x'), `confidence` the
    model's for the wanted class at exactly these values, `lower_bound` what no allowed change that
    meets the target can cost less than.
    """

    x: pd.Series[Any]
    codes: Floats = field(repr=False)
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    cost: float = 0.0
    confidence: float = 0.0
    status: Status = Status.NOT_FOUND
    target: Target = Target(0.5)
    lower_bound: float = 0.0

    @property
    def gap(self) -> float:
        """How much cheaper another answer could still be, in the units of `cost`."""
        return max(self.cost - self.lower_bound, 0.0)

    def _repr_html_(self) -> str:
        moves = ((name, str(old), str(new)) for name, (old, new) in self.changes.items())
        facts = (
            ("asked for", self.target.words),
            ("confidence", floored(self.confidence, [self.target.interval[0]])),
            ("cost", significant(self.cost)),
        )
        proved = self.status in (Status.OPTIMAL, Status.ALREADY_MET)
        word = str(self.status).replace("_", " ")
        return markup.shown(
            markup.card("Option", word, moves, facts, self.status.sentence, proved=proved)
        )


@dataclass(frozen=True, eq=False)
class Reach(Option):
    """The most confident reachable option, by the moves that matter: all others add under a point.

    `worth` is the confidence that would be lost without each of its changes. `furthest` is the
    cheapest known change of the highest confidence, every move of it. No allowed change has more
    confidence than the `ceiling`. The status is "optimal" if the highest confidence and the least
    cost of it are both proved.
    """

    worth: dict[str, float] = field(default_factory=dict)
    furthest: Option | None = field(default=None, repr=False)
    ceiling: float = 1.0

    @property
    def most(self) -> float:
        """The highest confidence that is known to be reachable."""
        return self.confidence if self.furthest is None else self.furthest.confidence

    @property
    def proved(self) -> bool:
        """Whether no allowed change has more confidence."""
        return self.ceiling - self.most <= SLACK


def option_name(at: int) -> str:
    """What people call the option at a place of `Result.options`: they count from 1."""
    return f"option {at + 1}"
