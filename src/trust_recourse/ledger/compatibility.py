"""What a model makes of promises: which it would break, how to mend them, and what is due."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args

import pandas as pd

from trust_recourse.answers.recourse import Recourse
from trust_recourse.io.progress import Progress
from trust_recourse.io.scalars import Floats
from trust_recourse.ledger.entries import LedgerError, stamp
from trust_recourse.ledger.promises import Promise, values, words
from trust_recourse.models.readers.read_model import as_read
from trust_recourse.question import SLACK, Option, Question, Status, Target
from trust_recourse.search.engines import Engine
from trust_recourse.search.ranges import loss_within

By = Literal["decision", "target"]


@dataclass(frozen=True, eq=False)
class Judged:
    """One promise before a new model: what it says of the promised values, and a repair.

    `lost` are values within the promised ranges that lose what the option itself keeps. `repair` is
    the least further change from these, or from the promised values; where there is none, or none
    is needed, `repair_status` says so. A model that cannot be asked about a promise (`confidence`
    is None) breaks it; `reason` says why, or why no repair was sought, or what it was not asked to
    be.
    """

    promise: Promise
    confidence: float | None
    accepted: bool  # the decision is kept
    enough: bool  # the confidence asked for is kept too
    broken: bool
    repair: Option | None = None
    repair_status: Status = Status.ALREADY_MET
    reason: str = ""
    lost: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The verdict in texts and numbers that JSON can hold."""
        promise, repair = self.promise, self.repair
        return {
            "id": promise.id,
            "subject": promise.subject,
            "valid_until": stamp(promise.valid_until),
            "promised": promise.words,
            "target": promise.target.words,
            "confidence_then": promise.option.confidence,
            "confidence": self.confidence,
            "accepted": self.accepted,
            "enough": self.enough,
            "broken": self.broken,
            "lost": self.lost,
            "repair": None if repair is None else words(promise.schema, repair.changes),
            "repair_values": None if repair is None else values(repair.x),
            "repair_cost": None if repair is None else repair.cost,
            "repair_confidence": None if repair is None else repair.confidence,
            "repair_status": str(self.repair_status),
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False)
class Check:
    """What a model makes of all outstanding promises; the broken ones come with repairs."""

    model: str | None
    at: datetime
    by: By
    judged: tuple[Judged, ...]

    @property
    def broken(self) -> tuple[Judged, ...]:
        """The promises this model would break."""
        return tuple(each for each in self.judged if each.broken)

    def to_frame(self) -> pd.DataFrame:
        """One row per outstanding promise."""
        return pd.DataFrame([each.to_dict() for each in self.judged], columns=_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """All of it in texts and numbers that JSON can hold."""
        return {
            "model": self.model,
            "at": stamp(self.at),
            "by": self.by,
            "outstanding": len(self.judged),
            "broken": len(self.broken),
            "promises": [each.to_dict() for each in self.judged],
        }

    def __repr__(self) -> str:
        kept = "their decision" if self.by == "decision" else "their target"
        unasked = sum(each.confidence is None for each in self.judged)
        return (
            f"{len(self.broken)} of {len(self.judged)} outstanding promises would lose {kept}"
            + (f", {unasked} of them since the model cannot be asked about them" if unasked else "")
        )


_COLUMNS = [
    "id", "subject", "valid_until", "promised", "target", "confidence_then", "confidence",
    "accepted", "enough", "broken", "lost", "repair", "repair_values", "repair_cost",
    "repair_confidence", "repair_status", "reason",
]  # fmt: skip


def check(
    promises: Iterable[Promise],
    given: Any,
    at: datetime,
    by: By,
    threshold: float | None = None,
    time_limit: float | None = 10.0,
    verbose: bool = False,
) -> Check:
    """What a model, or a recourse with its own cost and threshold, makes of promises."""
    if by not in ("decision", "target"):
        raise LedgerError(f"by={by!r}; expected 'decision' or 'target'")
    if threshold is not None and not 0 < threshold < 1:
        raise LedgerError(f"threshold={threshold!r}; expected a number between 0 and 1")
    promises = tuple(promises)
    given = read_model(given, promises[0]) if promises else given
    bar = Progress(len(promises), "promises", show=verbose)
    judged = tuple(
        _judged(promise, given, by, threshold, time_limit) for promise in bar.over(promises)
    )
    return Check(fingerprint(given), at, by, judged)


def _judged(
    promise: Promise, given: Any, by: By, threshold: float | None, time_limit: float | None
) -> Judged:
    try:
        recourse = asked_of(promise, given, threshold)
        confidence = confidence_of(recourse, promise.option.codes)
    except LedgerError as error:
        none = Judged(promise, None, accepted=False, enough=False, broken=True)
        return replace(none, repair_status=Status.NOT_FOUND, reason=str(error))
    codes, decision = promise.option.codes, promise.target.decision(recourse.decision_threshold)
    accepted = recourse.accepts(codes, decision)
    target = _accepted_part(promise.target, recourse.decision_threshold)
    enough = accepted and recourse.read_model.meets(target, codes, confidence)
    kept = accepted if by == "decision" else enough
    target = decision if by == "decision" else target
    ranged = kept and promise.ranges and recourse.exact
    lost = _lost(promise, recourse, target) if ranged else None
    if kept and lost is None:
        unseen = bool(promise.ranges) and not recourse.exact
        reason = "its ranges were not looked at: this model has no cells" if unseen else ""
        return Judged(promise, confidence, accepted, enough, broken=False, reason=reason)
    broken = Judged(
        promise, confidence, accepted, enough, broken=True,
        lost=None if lost is None else values(lost),
    )  # fmt: skip
    if promise.answer.given_again and not recourse.cost.functions:
        reason = (
            "its cost has functions of its own, which no ledger holds; in Python, give a Recourse "
            "with that cost in place of the model"
        )
        return replace(broken, repair_status=Status.NOT_FOUND, reason=reason)
    asked, reason = _repair(promise.question, target, time_limit, recourse)
    found = recourse.ask(promise.option.x if lost is None else lost, asked)
    (status,) = found.status.values()
    repair = found.options[0] if found.options else None
    return replace(broken, repair=repair, repair_status=status, reason=reason)


def _lost(promise: Promise, recourse: Recourse, target: Target) -> pd.Series[Any] | None:
    """Values within the promised ranges that do not meet a target; None if all do."""
    schema, codes, score = (
        recourse.schema,
        promise.option.codes,
        recourse.read_model.score_for(target),
    )
    row = loss_within(score, promise.action_set, recourse.cost, target, codes, promise.spans)
    if row is None:
        return None
    missing = promise.factual.to_dict()  # a value that stays missing keeps its own code
    named = zip(schema, row.tolist(), strict=True)
    return schema.row(
        {f.name: missing[f.name] if math.isnan(code) else f.value_of(code) for f, code in named}
    )


def _repair(
    asked: Question, target: Target, time_limit: float | None, recourse: Recourse
) -> tuple[Question, str]:
    """The question of a promise again, for its repair, and what of it cannot be asked again."""
    exact = recourse.exact
    engine = asked.engine if asked.engine in get_args(Engine) else "auto"
    engine = "auto" if engine == "exact" and not exact else engine
    proves = recourse.proves(engine)
    lost = []
    if asked.plausible is not None:
        lost.append("plausible: the known rows are in no ledger")
    if asked.min_radius is not None and not exact:
        lost.append("kept within its radius: this model has no cells")
    if asked.survives is not None:
        lost.append("kept by models learnt anew: they are in no ledger")
    again = replace(
        asked, survives=None, confidence=() if target.mode == "argmax" else (target.confidence,),
        mode=target.mode, tolerance=target.tolerance,
        n_options=1, min_distance=None, plausible=None,
        min_radius=asked.min_radius if exact else None, floor=asked.floor if exact else None,
        continuous=asked.continuous and exact,
        engine=engine, n_trials=None if proves else asked.n_trials,
        node_limit=asked.node_limit if proves else None, time_limit=time_limit if proves else None,
    )  # fmt: skip
    return again, f"it was not asked to be {' nor '.join(lost)}" if lost else ""


def _accepted_part(target: Target, threshold: float) -> Target:
    """What a decision threshold leaves of a target; the decision itself where that is nothing."""
    if target.mode == "argmax":
        return target
    least = threshold + SLACK  # of a band, whose ends have slack
    spread = 0.0 if target.mode == "at_least" else target.tolerance
    if target.confidence - spread >= (threshold if target.mode == "at_least" else least):
        return replace(target, threshold=threshold)
    high = min(target.confidence + spread, 1.0)
    if target.mode == "at_least" or high < least:
        return target.decision(threshold)
    middle = (least + high) / 2
    return Target(middle, "band", middle - least)


def read_model(given: Any, promise: Promise) -> Any:
    """A model of another library as it is read, once for all that it is asked; any other as it is.

    What keeps it from being asked about the promise is said where it is asked.
    """
    if given is None or isinstance(given, Recourse):
        return given
    with suppress(ValueError):
        return as_read(given, promise.schema)
    return given


def asked_of(promise: Promise, given: Any, threshold: float | None = None) -> Recourse:
    """The question of a promise, put to another model."""
    ours = isinstance(given, Recourse)
    model = given.model if ours else given
    if threshold is None and ours and given.threshold_given:
        threshold = given.decision_threshold
    elif threshold is None:
        threshold = getattr(model, "decision_threshold_", None) or promise.threshold
    try:
        named = getattr(model, "feature_names_in_", promise.schema.names)
        if list(named) != list(promise.schema.names):
            raise ValueError(
                f"its columns are {list(named)}, those of the promise {list(promise.schema.names)}"
            )
        return Recourse(
            model,
            promise.schema,
            given.cost if ours else promise.cost,
            wanted=promise.answer.wanted,
            decision_threshold=threshold,
        )
    except ValueError as error:
        raise LedgerError(
            f"this model cannot be asked about the promise: {error}. Ask the model of the product "
            "that was promised, or fit this one with the schema of the promise (fit --schema)"
        ) from None


def confidence_of(recourse: Recourse, codes: Floats) -> float:
    """The confidence of a model in values; `LedgerError` if it cannot be asked about them."""
    try:
        return recourse.confidence_of(codes)
    except ValueError as error:
        raise LedgerError(f"this model cannot be asked about the promise: {error}") from None


def fingerprint(given: Any) -> str | None:
    """The fingerprint of a model, or of that of a recourse; None if it has none."""
    model = given.model if isinstance(given, Recourse) else given
    return getattr(model, "fingerprint_", None)
