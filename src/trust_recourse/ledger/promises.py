"""Promises: the value, what the ledger stores of it, and the check of its certificate."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from trust_recourse.answers.document import AnswerDocument, ranges_of
from trust_recourse.answers.result import Result
from trust_recourse.certificate import Certificate, CertificateError, asked, check, cost_parts
from trust_recourse.io.scalars import Floats, plain, same
from trust_recourse.io.wording import floored
from trust_recourse.ledger.entries import (
    Entry,
    LedgerChangedError,
    LedgerError,
    stamp,
)
from trust_recourse.question import Option, Problem, Question, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, Schema
from trust_recourse.search.ranges import Range


@dataclass(frozen=True, kw_only=True)
class PromiseDocument(AnswerDocument):
    """The answer that is promised, its one option, and to whom, by which model and until when."""

    subject: str
    key: str
    model: str
    schema: str
    """The SHA-256 of its text."""
    cost: dict[str, Any]
    given_again: tuple[str, ...]
    """Parts of the cost that no ledger can hold."""
    question: dict[str, Any]
    certificate_sha256: str | None
    valid_until: str

    @classmethod
    def of_option(cls, result: Result, option: Option, ranges: bool, **more: Any) -> Self:
        """One option of a result, with its ranges if these are promised, and the other fields."""
        cost, lost = cost_parts(result.recourse.cost)
        alone = replace(result, options=(option,), status={option.target: option.status})
        return cls.of(
            alone,
            wide=ranges_of(alone) if ranges else (),
            cost=cost,
            given_again=tuple(lost),
            question=result.question.without_rules.to_dict(),
            **more,
        )


@dataclass(frozen=True, eq=False)
class Promise:
    """What was promised to whom: with these values the model says yes, until then.

    `model` is the fingerprint of the model that said so, `confidence` what it said of the person
    as they were, `option` what was promised, `subject` the person's pseudonym under the ledger's
    key. `ranges` are from where to where the option's values may go, by feature, where all within
    is promised; else None. `answer` is all of it as it is stored.
    """

    id: str
    number: int
    issued_at: datetime
    valid_until: datetime
    answer: PromiseDocument
    subject: str
    model: str
    schema: Schema
    threshold: float
    cost: Cost
    factual: pd.Series[Any]
    confidence: float
    option: Option
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

    @cached_property
    def action_set(self) -> ActionSet:
        """What this person may change."""
        return self.schema.action_set(self.factual)

    @property
    def words(self) -> str:
        """What was to change, for people."""
        told = words(self.schema, self.option.changes)
        wide = [
            f"{self.schema[name].heading} {self.schema[name].span(*ends, self.action_set[name])}"
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
        row = self.option.codes.copy()
        for f, low, high in self.spans:
            allowed = self.action_set.actions[f].allows(float(given[f]))
            if not (low <= given[f] <= high and allowed):
                return False
            row[f] = given[f]
        return all(map(same, self.action_set.completed(row), given))

    def shown(self, confidence: float, *marks: float) -> str:
        """A confidence for people, told apart from the threshold and what was asked for."""
        lines = (self.threshold, self.target.confidence, *marks)
        return floored(confidence, () if self.target.mode == "argmax" else lines)

    def check_decision(self, wanted: Any, decision: Target | None) -> None:
        """Refuse what is answered by another decision: another class, or from another threshold."""
        ours = self.target.decision(self.threshold)
        if (wanted, decision) != (self.answer.wanted, ours):
            other = "by another rule" if decision is None else decision.rule
            raise LedgerError(
                f"the answer is of the class {wanted}, accepted {other}, and promise {self.id} of "
                f"{self.answer.wanted}, accepted {ours.rule}; ask by the decision that was promised"
            )

    @property
    def of_others(self) -> str:
        """The refusal of a letter or a result about other values."""
        return f"promise {self.id} is of other values: {self.words or 'none changed'}"

    def alone(self, result: Result) -> Result:
        """A result with the promised option and no other, which is all that a letter may offer."""
        self.check_decision(plain(result.recourse.wanted), result.decision)
        same_person = self.codes_of(values(result.factual)) == self.codes[0]
        for option in result.options:
            if same_person and self.codes_of(values(option.x)) == self.codes[1]:
                return replace(result, options=(option,))
        raise LedgerError(f"{self.of_others}; the result has no such option")

    @property
    def codes(self) -> tuple[bytes, bytes]:
        """The person's values and the promised ones, as `codes_of` has them."""
        return self.action_set.own.tobytes(), self.option.codes.tobytes()

    def codes_of(self, row: Mapping[str, Any]) -> bytes | None:
        """Values as the schema reads them; None if it cannot."""
        try:
            return self.schema.action_set(self.schema.row(dict(row))).own.tobytes()
        except (AttributeError, LookupError, TypeError, ValueError):
            return None

    @classmethod
    def read(cls, entry: Entry, schemas: Mapping[str, Schema], closed: str = "") -> Promise:
        """A promise from its entry and the stored schemas."""
        told = entry.told()
        if (schema := schemas.get(str(told.get("schema")))) is None:
            raise LedgerChangedError(schema_gone(entry.number))
        try:
            return cls._read(entry, PromiseDocument.from_dict(told), schema, closed)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise LedgerChangedError(
                f"entry {entry.number} was changed: no promise can be read from it ({error!r})"
            ) from None

    @classmethod
    def _read(cls, entry: Entry, told: PromiseDocument, schema: Schema, closed: str) -> Promise:
        (found,) = told.options
        factual, x = schema.row(told.person), schema.row(found.x)
        band = {} if found.tolerance is None else {"tolerance": found.tolerance}
        return cls(
            id=entry.promise,
            number=entry.number,
            issued_at=datetime.fromisoformat(entry.at),
            valid_until=datetime.fromisoformat(told.valid_until),
            answer=told,
            subject=told.subject,
            model=told.model,
            schema=schema,
            threshold=told.decision_threshold,
            cost=Cost(**told.cost),
            factual=factual,
            confidence=told.confidence,
            option=Option(
                x=x,
                codes=schema.action_set(x).own,
                changes={
                    name: (factual[name], x[name]) for name in schema.names if name in found.changes
                },
                cost=found.cost,
                confidence=found.confidence,
                status=Status(found.status),
                target=Target(found.target, found.mode, threshold=told.decision_threshold, **band),
                lower_bound=found.lower_bound,
            ),
            question=Question.from_dict(told.question),
            certificate=told.certificate_sha256,
            ranges=None
            if found.ranges is None
            else {name: open_ended(each.low, each.high) for name, each in found.ranges.items()},
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
            "wanted": self.answer.wanted,
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
            "ranges": None
            if self.ranges is None
            else {
                name: [None if end in (-math.inf, math.inf) else plain(end) for end in ends]
                for name, ends in self.ranges.items()
            },
        }


def open_ended(low: Any, high: Any) -> tuple[Any, Any]:
    """A range as it is stored, where None is no end."""
    return -math.inf if low is None else low, math.inf if high is None else high


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


def words(schema: Schema, changes: Mapping[str, tuple[Any, Any]]) -> str:
    """Changes for people: nodes 9 → 2."""
    return "; ".join(
        f"{schema[name].heading} {schema.describe(name, a)} → {schema.describe(name, b)}"
        for name, (a, b) in changes.items()
    )


def schema_gone(number: int) -> str:
    """The fault of an entry whose schema is not there, or not as it was."""
    return f"the schema of entry {number} was changed or removed"


def values(row: pd.Series[Any]) -> dict[str, Any]:
    """A row by name, as plain values."""
    return {str(name): plain(value) for name, value in row.items()}
