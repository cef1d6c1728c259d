"""What is asked for a person, and what is worked out of the answer; nothing here draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from trust_recourse import Feature, Option, Recourse, Result, Status
from trust_recourse.answers.explain import Explanation, explain, explainable, places
from trust_recourse.question import Limit, Question, Target
from trust_recourse.web.questions import bounded
from trust_recourse.web.state import Limits

SAME = 1e-9  # of confidence
PRICED = 20_000  # boxes opened, at most, for the price of one lock


@dataclass(frozen=True, eq=False)
class PersonQuestion:
    """One person, what is asked for them, and what is freed of what the schema locks."""

    person: pd.Series[Any]
    question: Question
    freed: frozenset[str] = frozenset()

    @property
    def locked(self) -> frozenset[str]:
        """What is locked beside the rules."""
        return frozenset(self.question.lock)

    @property
    def held(self) -> bool:
        """Whether anything is locked, limited or freed beside the rules."""
        return bool(self.question.lock or self.question.limits or self.freed)

    def in_parts(self, recourse: Recourse) -> tuple[PersonQuestion, ...]:
        """The questions to search for in turn: where options are proved, the cheapest alone first.

        It takes a fraction of the time of the others, and is the first of them.
        """
        if self.question.n_options == 1 or not recourse.proves(self.question.engine):
            return (self,)
        return replace(self, question=replace(self.question, n_options=1)), self

    def over(self, recourse: Recourse) -> Recourse:
        """The same model, with what is freed."""
        schema = recourse.schema
        for name in sorted(self.freed):
            schema = schema.update(name, mutable=True)
        return recourse.replaced(schema) if self.freed else recourse

    def may_change(self, feature: Feature) -> bool:
        """Whether a feature of the organisation's schema may change under these locks."""
        free = feature.mutable or feature.name in self.freed
        return free and feature.name not in self.locked and not self.fixed(feature)

    def fixed(self, feature: Feature) -> bool:
        """Whether no lock matters: it is protected, follows others, or must stay missing."""
        held = feature.protected or bool(feature.derived)
        return held or must_stay_missing(feature, self.person[feature.name])

    def turned(self, feature: Feature) -> PersonQuestion:
        """The same question with one feature locked that may change, or freed that may not."""
        name, locked, freed = frozenset([feature.name]), self.locked, self.freed
        if self.may_change(feature):
            locked, freed = locked | name if feature.mutable else locked, freed - name
        else:
            locked, freed = locked - name, freed if feature.mutable else freed | name
        asked = replace(self.question, lock=tuple(sorted(locked)))
        return replace(self, question=asked, freed=freed)

    def limited(self, feature: Feature, ends: Limit) -> PersonQuestion:
        """The same question with one feature going so far at most; ends of None are no limit."""
        limits = {**self.question.limits, feature.name: ends}
        kept = {name: each for name, each in limits.items() if each != (None, None)}
        return replace(self, question=replace(self.question, limits=kept))

    def asking(self, settings: Question) -> PersonQuestion:
        """What is asked of everybody, under this person's locks and limits."""
        own = replace(settings, lock=self.question.lock, limits=self.question.limits)
        return replace(self, question=own)


def must_stay_missing(feature: Feature, value: Any) -> bool:
    """Whether a value is missing and no change can be counted from it, were it free."""
    code = feature.code_of(value)
    return (
        math.isnan(code) and not replace(feature, mutable=True, protected=False).actions(code).free
    )


def find(recourse: Recourse, asked: PersonQuestion, limits: Limits) -> Result:
    """The answers, within the limits."""
    put = bounded(recourse, limits, asked.question)
    return asked.over(recourse).ask(asked.person, put)


# ---------------------------------------------------------------- the price of a lock


class Price(NamedTuple):
    """What the cheapest answer costs if one feature's lock is turned; infinite if out of reach."""

    now: float
    then: float
    proved: bool


def price(
    recourse: Recourse, asked: PersonQuestion, feature: Feature, now: Result, limits: Limits
) -> Price:
    """What turning one lock would do to the cost of the cheapest answer.

    A lock on what the proved cheapest answer leaves alone costs nothing: the answer stays allowed.
    """
    cost, proved = _cost(now)
    unused = now.options and feature.name not in now.options[0].changes
    if asked.may_change(feature) and unused and proved:
        return Price(cost, cost, True)
    turned = asked.turned(feature)
    boxes = min(turned.question.node_limit or PRICED, PRICED)
    alone = replace(turned.question, n_options=1, node_limit=boxes if now.recourse.exact else None)
    turned = replace(turned, question=alone)
    then, sure = _cost(find(recourse, turned, limits))
    return Price(cost, then, proved and sure)


def _cost(result: Result) -> tuple[float, bool]:
    """What the cheapest answer costs, and whether that is proved."""
    status = next(iter(result.status.values()))
    known = status in (Status.OPTIMAL, Status.INFEASIBLE, Status.ALREADY_MET)
    return (result.options[0].cost if result.options else math.inf), known


# ---------------------------------------------------------------- values by hand


class Trial(NamedTuple):
    """What the model says of values set by hand."""

    confidence: float
    accepted: bool
    cost: float  # NaN where the change is not allowed
    broken: tuple[str, ...]  # rules of the schema, as sentences
    why: Explanation | None  # none for a model that says nothing of itself
    derived: Mapping[str, Any] = MappingProxyType({})  # what columns became that follow from others


def tried(
    recourse: Recourse, person: pd.Series[Any], values: dict[str, Any], decision: Target
) -> Trial:
    """Ask the model about values set by hand, for a person who has others."""
    schema = recourse.schema
    action_set = schema.action_set(person)
    codes = action_set.completed(schema.encode(values)[0])
    computed = schema.decode(codes[None]).iloc[0]
    derived = {each.name: computed[each.name] for each in schema.derived}
    values = values | derived
    broken, features = action_set.why_not(codes), schema.features
    cost = math.nan if broken else recourse.cost.between(features, action_set.own, codes)
    why = None
    if explainable(recourse.model):
        own = ("as they are", person, action_set.own, None, 0.0)
        now = ("these values", recourse.schema.row(values), codes, None, cost)
        points = places(recourse, [own, now])
        why = explain(points, points.all[0], points.all[1])
    accepted = recourse.accepts(codes, decision)
    return Trial(recourse.confidence_of(codes), accepted, cost, broken, why, derived)


# ---------------------------------------------------------------- side by side


def with_kept(result: Result, kept: tuple[Option, ...]) -> Result:
    """The result with options added that were kept from other confidences, each once."""
    options = list(result.options)
    for option in kept:
        if not any(option.x.to_dict() == o.x.to_dict() for o in options):
            options.append(option)
    known = {o.target: o.status for o in options if o.target not in result.status}
    return replace(result, options=tuple(options), status={**result.status, **known})


def steps(frontier: pd.DataFrame, most: int) -> Iterator[tuple[float, float]]:
    """The stairs' (cost, confidence), at most about so many, the first and the last among them."""
    stride, last = max(math.ceil(len(frontier) / most), 1), len(frontier) - 1
    for at, row in enumerate(zip(frontier["cost"], frontier["confidence"], strict=True)):
        if at % stride == 0 or at == last:
            yield float(row[0]), float(row[1])


def next_level(
    stairs: Sequence[tuple[float, float]], asked: float, answered: float, way: int
) -> float | None:
    """The confidence to ask for, to be shown the next of the stairs up (1) or down (-1); or None.

    What is answered may be surer than what is asked: the step that it stands on is no next one.

    >>> next_level([(0, 0.4), (1, 0.7), (2, 0.9)], asked=0.6, answered=0.7, way=1)
    0.9
    """
    now = max(asked, answered) if way > 0 else asked
    beyond = [level for _, level in stairs if (level - now) * way > SAME]
    return min(beyond, key=lambda level: abs(level - now), default=None)
