"""Entries, their times and their chain: each has the hash of the one before and of all it says.

Whoever changes, removes or moves an entry leaves a hash that no longer fits. Whoever cuts entries
off the end, or writes the rest of the chain anew, does not; that shows against the `seal`, or a
`Head` that was written down elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from trust_recourse.io import strict_json

FIRST = "0" * 64  # stands where the hash of an entry before the first would


class LedgerError(ValueError):
    """What a ledger cannot do or believe; the message says why and what to do."""


class NoPromiseError(LedgerError):
    """There is no promise of that id."""


class PromiseClosedError(LedgerError):
    """Nothing more can happen to that promise."""


class LedgerChangedError(LedgerError):
    """What is in the ledger is not what a ledger wrote."""


class LedgerUnavailableError(LedgerError):
    """The database of the ledger cannot be reached, or refuses."""


def canonical(content: Any) -> str:
    r"""JSON in one way only: keys sorted, no spaces, ASCII, so that equal contents hash equally.

    >>> canonical({"b": 0.1, "a": ["é", None]})
    '{"a":["\\u00e9",null],"b":0.1}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(text: str) -> str:
    """The hash of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, as it is stored.

    `kind` is what happened, `promise` the id of the promise it happened to, `at` when (UTC),
    `content` the rest, as canonical JSON.
    """

    number: int
    kind: str
    promise: str
    at: str
    content: str
    previous: str
    hash: str

    @classmethod
    def after(cls, last: Head, kind: str, promise: str, at: str, content: str) -> Entry:
        """The entry that follows the last one."""
        told = (last.number + 1, kind, promise, at, content, last.hash)
        return cls(*told, hash=_hash(*told))

    @property
    def fits(self) -> bool:
        """Whether the hash is that of all the entry says."""
        told = (self.number, self.kind, self.promise, self.at, self.content, self.previous)
        # A forger may leave what no ledger writes: a database can hold bytes or nothing for a text.
        return all(isinstance(part, str) for part in told[1:]) and self.hash == _hash(*told)

    def told(self) -> dict[str, Any]:
        """The content, read."""
        try:
            told = strict_json.loads(self.content)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise LedgerChangedError(
                f"entry {self.number} was written by no ledger: {self.content[:40]}"
            )
        return told

    @property
    def head(self) -> Head:
        """The head of the ledger when this was its last entry."""
        return Head(self.number, self.hash)


def _hash(number: int, kind: str, promise: str, at: str, content: str, previous: str) -> str:
    return sha256(canonical([number, kind, promise, at, content, previous]))


@dataclass(frozen=True)
class Head:
    """The last entry's number and hash: write it down elsewhere, and later check against it.

    >>> Head.read(str(Head(2, 64 * "a"))) == Head(2, 64 * "a")
    True
    """

    number: int = 0
    hash: str = FIRST

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Head:
        """The head that was written down."""
        if not (found := re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())):
            raise LedgerError(
                f"head {text!r}; expected a number, a colon and 64 hexadecimal digits, "
                "as `ledger verify` gives it"
            )
        return cls(int(found[1]), found[2])


@dataclass(frozen=True)
class Verification:
    """What a walk along the chain found: how many entries hold, and the first that does not."""

    entries: int  # that hold, from the first on
    head: Head  # of those
    fault: str = ""  # the first entry that fails, or what else does, and why
    proven: bool = False  # the seal was tried with the key

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.fault

    def __repr__(self) -> str:
        if self.holds:
            return f"the chain holds up to entry {self.entries}, the last; head {self.head}"
        return f"the chain holds up to entry {self.entries}, then breaks: {self.fault}"


def walk(
    entries: Iterable[Entry],
    known: Head | None = None,
    read: Callable[[Entry], object] = Entry.told,
    last: Head = Head(),  # noqa: B008 - a frozen value
) -> Verification:
    """Follow the chain from its beginning, or a last entry, on, and name the first that fails.

    `known` is a head that was written down earlier; `read` raises if a ledger writes no such entry.
    """
    dated = ""
    for entry in entries:
        if fault := _fault(entry, last, dated, read):
            return Verification(last.number, last, fault)
        if known is not None and entry.number == known.number and entry.hash != known.hash:
            return Verification(
                last.number,
                last,
                f"entry {entry.number} is not the one whose hash was written down: the chain was "
                "written anew, up to here or from somewhere before",
            )
        last, dated = entry.head, entry.at
    if known is not None and last.number < known.number:
        return Verification(last.number, last, cut_off(last.number, known.number))
    return Verification(last.number, last)


def cut_off(last: int, known: int) -> str:
    """The fault of a chain that ends too early."""
    gone = f"entry {known} is" if last + 1 == known else f"entries {last + 1} to {known} are"
    return f"{gone} missing: they were cut off at the end"


def missing(number: int) -> str:
    """The fault of a chain with a gap."""
    return f"entry {number} is missing: it was removed, or has another number"


def _fault(entry: Entry, last: Head, dated: str, read: Callable[[Entry], object]) -> str:
    """Why an entry cannot follow the last good one, which has this date; empty if it can."""
    if entry.number != last.number + 1:
        return missing(last.number + 1)
    if entry.previous != last.hash:
        return (
            f"entry {entry.number} does not follow the one before it: one of the two was moved, "
            "or the one before was written anew"
        )
    if not entry.fits:
        return f"entry {entry.number} was changed: its contents do not fit its hash"
    if dated > entry.at:  # as texts: both are UTC, to the microsecond
        return f"entry {entry.number} is dated {entry.at}, before the one before it, {dated}"
    try:
        read(entry)
    except LedgerChangedError as error:
        return str(error)
    return ""


# ---------------------------------------------------------------- times


def days(when: datetime) -> tuple[date, date]:
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
