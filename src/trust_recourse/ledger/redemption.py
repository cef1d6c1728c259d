"""What is found when a person comes back for a promise: what they did, and whether it is due."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from trust_recourse.io.arrays import Floats
from trust_recourse.io.scalars import same
from trust_recourse.ledger.compatibility import asked_of, confidence_of, fingerprint, read_model
from trust_recourse.ledger.entries import LedgerError, stamp
from trust_recourse.ledger.promises import Promise, values, words
from trust_recourse.question import SLACK
from trust_recourse.schema import Feature

Pairs = dict[str, tuple[Any, Any]]


class Done(StrEnum):
    """What a person who comes back has done of what was promised; `sentence` says it to them."""

    EXACTLY = "exactly"
    WITHIN = "within"
    FURTHER = "further"
    OTHERWISE = "otherwise"
    NOT = "not"

    @property
    def sentence(self) -> str:
        """What was done, as a clerk could read it out."""
        return {
            Done.EXACTLY: "All values are as promised.",
            Done.WITHIN: "All values lie within the promised ranges.",
            Done.FURTHER: "Every promised change was made, as far as promised or further.",
            Done.OTHERWISE: "It was done another way, of which the promising model is as sure.",
            Done.NOT: "What was promised was not done.",
        }[self]


@dataclass(frozen=True, eq=False)
class Redemption:
    """What was found when a person came back.

    `then` is the confidence of the model that promised, None where it was not at hand; `now` that
    of the present one, which accepts from `threshold` on. `missed` are promised changes that were
    not made, `others` values that changed beside the promise, each as (promised, given). `due` is
    the outcome: done in time, and accepted by the model that promised or by the present one.
    """

    promise: Promise
    at: datetime
    x: dict[str, Any]
    done: Done
    in_time: bool
    missed: dict[str, tuple[Any, Any]]
    others: dict[str, tuple[Any, Any]]
    then: float | None
    held_then: bool | None
    model: str | None
    threshold: float
    now: float
    holds_now: bool
    due: bool

    @property
    def undecided(self) -> bool:
        """Whether it may be due after all: only the model that promised could tell."""
        return self.in_time and not self.due and self.then is None

    def to_dict(self) -> dict[str, Any]:
        """The redemption in texts and numbers that JSON can hold."""
        told = {"promise": self.promise.id, "at": stamp(self.at), "done": str(self.done)}
        return {**vars(self), **told}

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """What was found, a sentence a line."""
        promise, schema = self.promise, self.promise.schema
        lines = [self.done.sentence]
        for name, (promised, given) in self.missed.items():
            agreed, now = schema.describe(name, promised), schema.describe(name, given)
            lines.append(f"    {schema[name].title}: promised with {agreed}, is {now}")
        if self.others:
            lines.append(f"Changed beside what was promised: {words(schema, self.others)}.")
        if self.at < promise.issued_at:
            made = f"{promise.issued_at:%Y-%m-%d %H:%M:%S}"
            lines.append(f"The promise was made later, at {made} UTC; is the clock right?")
        else:
            lines.append("It is in time." if self.in_time else "The promise had expired.")
        if self.then is not None:
            verdict = "accepts" if self.held_then else "refuses"
            then = promise.shown(self.then)
            lines.append(f"The model that promised {verdict} it: confidence {then}.")
        verdict = "accepts" if self.holds_now else "refuses"
        now = promise.shown(self.now, self.threshold)
        lines.append(f"The present model {verdict} it: confidence {now}.")
        if self.undecided:
            lines.append(
                f"The model that promised, {promise.model[:12]}…, was not at hand, so whether its "
                "word binds could not be judged."
            )
            lines.append("It may still be due: redeem it again with that model.")
        elif not self.due:
            lines.append("Nothing is due.")
        else:
            beside = ": it is accepted with the other changes too" if self.others else ""
            lines.append(f"The promise is due{beside}.")
        return lines


def redemption(
    promise: Promise,
    x: Any,
    present: Any,
    promised_by: Any,
    at: datetime,
    threshold: float | None = None,
) -> Redemption:
    """What is found when a person comes back with values x.

    `present` is the model or recourse in use now, `promised_by` the model that promised, if it is
    another one.
    """
    schema = promise.schema
    present, promised_by = read_model(present, promise), read_model(promised_by, promise)
    given, promised = schema.action_set(x).own, promise.option.codes
    recourse = asked_of(promise, present, threshold)
    now = confidence_of(recourse, given)
    accepted = recourse.accepts(given, promise.target.decision(recourse.decision_threshold))
    exactly = all(map(same, given, promised))
    within = not exactly and promise.holds(given)
    then, held = _then(promise, present, promised_by, given, exactly)
    if within and then is None:
        held = True  # or it was not promised
    missed, others = _differences(promise, given, promised)
    in_time = promise.issued_at <= at <= promise.valid_until
    sure = then is not None and then >= promise.option.confidence - SLACK
    if exactly:
        done = Done.EXACTLY
    elif within:
        done, missed, others = Done.WITHIN, {}, {}
    elif not missed:
        done = Done.FURTHER
    else:
        done = Done.OTHERWISE if sure else Done.NOT
    return Redemption(
        promise=promise,
        at=at,
        x=values(schema.row(x)),
        done=done,
        in_time=in_time,
        missed=missed,
        others=others,
        then=then,
        held_then=held,
        model=fingerprint(present),
        threshold=recourse.decision_threshold,
        now=now,
        holds_now=accepted,
        due=in_time and done is not Done.NOT and (bool(held) or accepted),
    )


def _then(
    promise: Promise, present: Any, promised_by: Any, given: Floats, exactly: bool
) -> tuple[float | None, bool | None]:
    """The promising model's confidence in the values, and whether it accepts them.

    None where it is not at hand.
    """
    if promised_by is not None:
        name = fingerprint(promised_by)
        if name not in (None, promise.model):
            raise LedgerError(
                f"the model {name[:12]}… was given as the one that promised; promise "
                f"{promise.id!r} was made by {promise.model[:12]}…"
            )
    elif exactly:
        return promise.option.confidence, True  # else it was not promised
    elif promise.target.mode != "argmax" and all(map(same, given, promise.action_set.own)):
        return promise.confidence, promise.confidence >= promise.threshold
    elif fingerprint(present) == promise.model:
        promised_by = present
    else:
        return None, None
    recourse = asked_of(promise, promised_by, promise.threshold)
    then = confidence_of(recourse, given)
    return then, recourse.accepts(given, promise.target.decision(recourse.decision_threshold))


def _differences(promise: Promise, given: Floats, promised: Floats) -> tuple[Pairs, Pairs]:
    """Promised changes that were not made, and values that changed beside them."""
    missed: Pairs = {}
    others: Pairs = {}
    own = promise.action_set.own.tolist()
    rows = zip(promise.schema, own, promised.tolist(), given.tolist(), strict=True)
    for feature, before, agreed, after in rows:
        if same(agreed, after):
            continue
        pair = (_value(feature, agreed), _value(feature, after))
        if feature.name not in promise.option.changes:
            others[feature.name] = pair
        elif feature.kind == "category" or not (after - agreed) * (agreed - before) > 0:
            missed[feature.name] = pair  # a blank is neither further nor as far
    return missed, others


def _value(feature: Feature, code: float) -> Any:
    return None if math.isnan(code) else feature.value_of(code)
