"""Promises, and people who come back for them, as values and as what the ledger stores of them."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from trust_recourse.answers.result import Result
from trust_recourse.certificate import (
    Certificate,
    CertificateError,
    asked,
    check,
    cost_parts,
)
from trust_recourse.io.scalars import Floats, plain, same
from trust_recourse.io.wording import floored
from trust_recourse.ledger.entries import (
    Entry,
    LedgerChangedError,
    LedgerError,
    PromiseClosedError,
    canonical,
    sha256,
)
from trust_recourse.question import Option, Problem, Question, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Schema
from trust_recourse.search.ranges import Range

# what the record of a letter is judged by
LETTER = (
    "dated", "valid_until", "factual", "options", "ranges", "protected_reviewed", "reviewed_by",
    "model", "wanted", "decision", "promise",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Promise:
    """What was promised to whom: with these values the model says yes, until then.

    `model` is the fingerprint of the model that said so, `confidence` what it said of the person
    as they were, `option` what was promised, `subject` the person's pseudonym under the key of the
    name `key`. `cost_lost` names parts of the cost that no ledger can hold. `ranges` are from where
    to where the option's values may go, by feature, where all within is promised; else None.
    """

    id: str
    number: int
    issued_at: datetime
    valid_until: datetime
    subject: str
    key: str
    model: str
    schema: Schema
    wanted: Any
    threshold: float
    cost: Cost
    cost_lost: tuple[str, ...]
    factual: pd.Series[Any]
    confidence: float
    option: Option
    engine: str
    question: Question  # beside the target, the cost, the threshold and the schema's own locks
    certificate: str | None
    ranges: Mapping[str, tuple[Any, Any]] | None = None
    closed: str = ""  # "redeemed" or "withdrawn", once it is

    def state(self, at: datetime) -> str:
        """Whether it is outstanding, expired, redeemed or withdrawn."""
        return self.closed or ("outstanding" if at <= self.valid_until else "expired")

    @property
    def target(self) -> Target:
        """The confidence that was asked for."""
        return self.option.target

    @property
    def words(self) -> str:
        """What was to change, for people."""
        told = words(self.schema, self.option.changes)
        actions = self.schema.action_set(self.factual)
        wide = [
            f"{self.schema[name].heading} {self.schema[name].span(*ends, actions[name])}"
            for name, ends in (self.ranges or {}).items()
            if ends[0] != ends[1]
        ]
        return f"{told}; or {'; '.join(wide)}" if wide else told

    @property
    def spans(self) -> list[Range]:
        """The ranges in codes."""
        found = []
        for name, ends in (self.ranges or {}).items():
            low, high = (
                float(end) if self.schema[name].numeric else self.schema[name].code_of(end)
                for end in ends
            )
            found.append(Range(self.schema.position(name), low, high))
        return found

    def holds(self, given: Floats) -> bool:
        """Whether these codes are among all that was promised."""
        if not self.ranges:
            return False
        action_set, row = self.schema.action_set(self.factual), self.option.codes.copy()
        for f, low, high in self.spans:
            if not (low <= given[f] <= high and action_set.actions[f].allows(float(given[f]))):
                return False
            row[f] = given[f]
        return all(map(same, action_set.completed(row), given))

    def shown(self, confidence: float, *marks: float) -> str:
        """A confidence for people, told apart from the threshold and what was asked for."""
        lines = (self.threshold, self.target.confidence, *marks)
        return floored(confidence, () if self.target.mode == "wins" else lines)

    def check_letter(self, record: Mapping[str, Any], at: datetime) -> None:
        """Refuse a letter, by its record, that says of this promise what it does not say."""
        if absent := [name for name in LETTER if name not in record]:
            raise LedgerError(
                f"the record of a letter lacks {', '.join(absent)}; expected what Letter.record() "
                "gives"
            )
        if (state := self.state(at)) != "outstanding":
            raise PromiseClosedError(f"promise {self.id} is {state}")
        self._check_days(record, at)
        if record["promise"] not in ("", self.id):
            raise LedgerError(f"the letter is of promise {record['promise']}, not of {self.id}")
        if record["model"] not in ("", self.model):
            other, ours = str(record["model"])[:12], self.model[:12]
            raise LedgerError(f"the letter is by the model {other}…, promise {self.id} by {ours}…")
        self._check_decision(record["wanted"], _target(record["decision"]))
        told = [self._codes(row) for row in (record["factual"], *record["options"])]
        own, then = self._codes(values(self.factual)), self._codes(values(self.option.x))
        if told[0] != own or then not in told[1:]:
            raise LedgerError(self._of_others)
        if beside := self._beside(len(record["options"]), record["ranges"]):
            raise LedgerError(
                f"the letter offers {beside}, which promise {self.id} does not hold: it is of "
                f"{self.words or 'the values as they are'}; write the letter under it, "
                "letter(..., promise=ledger.read(id)), from the question that was promised"
            )
        if record["profile"] != "plain" and not (record["accepted"] or record["reasons"]):
            raise LedgerError(f"a refusal by the profile {record['profile']} without a reason")
        if (named := record["protected_reviewed"]) and not record["reviewed_by"]:
            raise LedgerError(
                f"{', '.join(named)} was reviewed, and the letter does not say by whom; give "
                "reviewed_by"
            )

    def _check_days(self, record: Mapping[str, Any], at: datetime) -> None:
        """Refuse a letter that holds too long, is dated ahead, or before there was a promise."""
        dated, until = (date.fromisoformat(str(record[name])) for name in ("dated", "valid_until"))
        if moment("valid_until", until) > self.valid_until:
            raise LedgerError(
                f"valid_until={until}: promise {self.id} holds until "
                f"{self.valid_until:%Y-%m-%d %H:%M} UTC only; give a day that ends before"
            )
        if dated > (today := max(_days(at))):
            raise LedgerError(f"dated={dated}: that day is to come, it is {today}")
        if dated < (made := min(_days(self.issued_at))):
            raise LedgerError(f"dated={dated}: promise {self.id} was made on {made}, after that")
        last = record.get("in_time_until")
        if last:
            _check_clock(record, dated, today)
        if last and not record["late"] and min(_days(at)) > date.fromisoformat(str(last)):
            raise LedgerError(
                f"the letter says that it is in time, which it was until {last}, and it is "
                f"{today}; write it anew, as one that is late"
            )

    def _check_decision(self, wanted: Any, decision: Target | None) -> None:
        """Refuse what is answered by another decision: another class, or from another threshold."""
        ours = self.target.decision(self.threshold)
        if (wanted, decision) != (plain(self.wanted), ours):
            other = "by another rule" if decision is None else decision.rule
            raise LedgerError(
                f"the answer is of the class {wanted}, accepted {other}, and promise {self.id} of "
                f"{self.wanted}, accepted {ours.rule}; ask by the decision that was promised"
            )

    def _beside(self, options: int, ranges: Any) -> str:
        """What a letter offers beside the promise, in words; '' if nothing."""
        if options > 1:
            return "other options"
        wide = [each for each in ranges if each]
        if wide and self.ranges is None:
            return "ranges of values"
        return "" if all(map(self._holds_all, wide)) else "wider ranges of values"

    def _holds_all(self, told: dict[str, Any]) -> bool:
        """Whether ranges lie within those that were promised."""
        ours = {each.feature: each for each in self.spans}
        try:
            theirs = replace(self, ranges=_ranges(told)).spans
        except (LookupError, TypeError, ValueError):
            return False
        return all(
            each.feature in ours
            and ours[each.feature].low <= each.low
            and each.high <= ours[each.feature].high
            for each in theirs
        )

    @property
    def _of_others(self) -> str:
        return f"promise {self.id} is of other values: {self.words or 'none changed'}"

    def alone(self, result: Result) -> Result:
        """A result with the promised option and no other, which is all that a letter may offer."""
        self._check_decision(plain(result.recourse.wanted), result.decision)
        pair = self._codes(values(self.factual)), self._codes(values(self.option.x))
        for option in result.options:
            if pair == (self._codes(values(result.factual)), self._codes(values(option.x))):
                return replace(result, options=(option,))
        raise LedgerError(f"{self._of_others}; the result has no such option")

    def _codes(self, row: Mapping[str, Any]) -> bytes | None:
        """Values as the schema reads them; None if it cannot."""
        try:
            return self.schema.action_set(self.schema.row(dict(row))).own.tobytes()
        except (AttributeError, LookupError, TypeError, ValueError):
            return None

    @classmethod
    def read(cls, entry: Entry, schemas: Mapping[str, Schema], closed: str = "") -> Promise:
        """A promise from its entry and the stored schemas."""
        told = entry.told()
        if str(told.get("schema")) not in schemas:
            raise LedgerChangedError(schema_gone(entry.number))
        try:
            return cls._read(entry, told, schemas[told["schema"]], closed)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise LedgerChangedError(
                f"entry {entry.number} was changed: no promise can be read from it ({error!r})"
            ) from None

    @classmethod
    def _read(cls, entry: Entry, told: dict[str, Any], schema: Schema, closed: str) -> Promise:
        factual, x = (_row(schema, values) for values in (told["factual"], told["option"]["x"]))
        pairs = zip(schema, factual, x, strict=True)
        return cls(
            id=entry.promise,
            number=entry.number,
            issued_at=datetime.fromisoformat(entry.at),
            valid_until=datetime.fromisoformat(told["valid_until"]),
            subject=told["subject"],
            key=told["key"],
            model=told["model"],
            schema=schema,
            wanted=told["wanted"],
            threshold=told["threshold"],
            cost=Cost(**told["cost"]),
            cost_lost=tuple(told["cost_lost"]),
            factual=factual,
            confidence=told["confidence"],
            option=Option(
                x=x,
                codes=schema.action_set(x).own,
                changes={
                    f.name: (a, b) for f, a, b in pairs if not same(f.code_of(a), f.code_of(b))
                },
                cost=told["option"]["cost"],
                confidence=told["option"]["confidence"],
                status=Status(told["option"]["status"]),
                target=Target(**told["target"], threshold=told["threshold"]),
                lower_bound=told["option"]["lower_bound"],
            ),
            engine=told["engine"],
            question=Question.from_dict(told.get("question", {})),
            certificate=told["certificate"],
            ranges=_ranges(told["option"].get("ranges")),
            closed=closed,
        )

    def to_dict(self) -> dict[str, Any]:
        """The promise in texts and numbers that JSON can hold, without its schema."""
        return {
            "id": self.id,
            "number": self.number,
            "issued_at": stamp(self.issued_at),
            "valid_until": stamp(self.valid_until),
            "subject": self.subject,
            "model": self.model,
            "wanted": self.wanted,
            "target": self.target.words,
            "threshold": self.threshold,
            "factual": values(self.factual),
            "confidence_before": self.confidence,
            "option": values(self.option.x),
            "changes": self.words,
            "cost": self.option.cost,
            "confidence": self.option.confidence,
            "status": str(self.option.status),
            "certificate": self.certificate,
            "ranges": _plain_ranges(self.ranges),
        }


def _check_clock(record: Mapping[str, Any], dated: date, today: date) -> None:
    """Refuse days of a notice that do not go together: it was sent from its own day until today."""
    received, last = (
        date.fromisoformat(str(record[name])) for name in ("received", "in_time_until")
    )
    sent = received + timedelta(days=record["days"])
    if not dated <= sent <= today or record["late"] != (sent > last):
        raise LedgerError(
            f"received={received}, days={record['days']}, late={record['late']}: of a letter dated "
            f"{dated}, recorded on {today}, these cannot be; record what Letter.record() gives"
        )


def _target(told: Any) -> Target | None:
    """A decision as a letter records it; None if it is none."""
    try:
        return Target(**told)
    except (TypeError, ValueError):
        return None


def _ranges(told: dict[str, Any] | None) -> dict[str, tuple[Any, Any]] | None:
    """Ranges as they are stored, where None is no end."""
    if told is None:
        return None
    return {
        name: (-math.inf if low is None else low, math.inf if high is None else high)
        for name, (low, high) in told.items()
    }


def _plain_ranges(ranges: Mapping[str, tuple[Any, Any]] | None) -> dict[str, Any] | None:
    """The same to be stored."""
    if ranges is None:
        return None
    ended = [[None if end in (-math.inf, math.inf) else plain(end) for end in ends]
             for ends in ranges.values()]  # fmt: skip
    return dict(zip(ranges, ended, strict=True))


def content(
    result: Result,
    option: Option,
    *,
    subject: str,
    key: str,
    model: str,
    valid_until: datetime,
    certificate: str | None,
    ranges: Mapping[str, tuple[Any, Any]] | None,
) -> tuple[str, str]:
    """What the ledger stores of a promise, and the text of its schema, both canonical."""
    recourse = result.recourse
    schema = canonical(recourse.schema.to_dict())
    cost, lost = cost_parts(recourse.cost)
    told = {
        "subject": subject,
        "key": key,
        "model": model,
        "schema": sha256(schema),
        "wanted": recourse.wanted,
        "threshold": recourse.decision_threshold,
        "cost": cost,
        "cost_lost": lost,
        "factual": _values(result.factual),
        "confidence": result.confidence,
        "target": {
            "confidence": option.target.confidence,
            "mode": option.target.mode,
            "tolerance": option.target.tolerance,
        },
        "question": result.question.without_rules.to_dict(),
        "option": {
            "x": _values(option.x),
            "cost": option.cost,
            "confidence": option.confidence,
            "status": str(option.status),
            "lower_bound": option.lower_bound,
            **({} if ranges is None else {"ranges": _plain_ranges(ranges)}),
        },
        "engine": result.engine,
        "certificate": certificate,
        "valid_until": stamp(valid_until),
    }
    return canonical(told), schema


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


def words(schema: Schema, changes: Mapping[str, tuple[Any, Any]]) -> str:
    """Changes for people: nodes 9 → 2."""
    return "; ".join(
        f"{schema[name].heading} {schema.describe(name, a)} → {schema.describe(name, b)}"
        for name, (a, b) in changes.items()
    )


def _days(when: datetime) -> tuple[date, date]:
    """Which day it was, UTC and here."""
    return when.astimezone(UTC).date(), when.astimezone().date()


def stamp(when: datetime) -> str:
    """A time as it is stored: UTC, to the microsecond."""
    return when.astimezone(UTC).isoformat(timespec="microseconds")


def moment(name: str, given: datetime | date) -> datetime:
    """A time with its zone; a date means the end of that day, UTC."""
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise LedgerError(f"{name}={given}; expected a time zone too, such as tzinfo=UTC")
        return given.astimezone(UTC)
    if isinstance(given, date):
        return datetime.combine(given, time.max, UTC)
    raise LedgerError(f"{name}={given!r}; expected a date or a datetime")


def deadline(issued: datetime, days: float, until: datetime | date | None) -> datetime:
    """Until when a promise holds, which lies after it was made: days, to the end of the last."""
    if until is None and not (isinstance(days, (int, float)) and 0 < days < 36_525):
        raise LedgerError(f"days={days!r}; expected a number above 0, and below a hundred years")
    end = moment("valid_until", (issued + timedelta(days=days)).date() if until is None else until)
    if end <= issued:
        now = issued if isinstance(until, datetime) else issued.date()
        raise LedgerError(f"valid until {until}: that is over, it is {now} (UTC); give a later day")
    return end


def certificate_hash(
    given: Certificate | str | os.PathLike[str], result: Result, option: Option
) -> str:
    """The SHA-256 of a certificate's file, once it is about this very answer, and true."""
    if isinstance(given, Certificate):
        path, proof, text = Path("certificate"), given, given.to_json().encode()
    else:
        path = Path(given)
        proof, text = Certificate.load(path), path.read_bytes()
    by, schema = result.recourse, result.recourse.schema
    if more := result.extra_constraints:
        raise LedgerError(
            f"{path}: no certificate is about this option, of which more was asked than a "
            f"confidence ({more}), and no proof covers that; promise it without a certificate, or "
            "ask for it without"
        )
    problem = Problem(schema.action_set(result.factual), option.target, by.cost, by.wanted_at)
    ours = asked(problem, getattr(by.model, "fingerprint_", ""))
    parts = {part: proof.asked[part] == value for part, value in ours.items()}
    parts["option"] = proof.answer is not None and all(map(same, proof.answer.codes, option.codes))
    if other := [name for name, alike in parts.items() if not alike]:
        raise LedgerError(
            f"{path}: this certificate is about another {other[0]}; give that of this option"
        )
    try:
        check(
            proof, by.model, schema=schema, cost=by.cost, x=result.factual, target=option.target,
            wanted=by.wanted,
        )  # fmt: skip
    except CertificateError as error:
        raise LedgerError(f"{path}: this certificate is refused: {error}") from None
    return hashlib.sha256(text).hexdigest()


def schema_gone(number: int) -> str:
    """The fault of an entry whose schema is not there, or not as it was."""
    return f"the schema of entry {number} was changed or removed"


def values(row: pd.Series[Any]) -> dict[str, Any]:
    """A row by name, as plain values."""
    return dict(zip(row.index, _values(row), strict=True))


def _values(row: pd.Series[Any]) -> list[Any]:
    return [plain(value) for value in row]


def _row(schema: Schema, given: list[Any]) -> pd.Series[Any]:
    return schema.row(dict(zip(schema.names, given, strict=True)))
