"""The checks of a letter, by its record, against the promise that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Protocol, TypeVar

from trust_recourse.io import clock
from trust_recourse.ledger.entries import LedgerError, PromiseClosedError, days, moment
from trust_recourse.ledger.promises import Promise, open_ended
from trust_recourse.question import Target


class HasRecord(Protocol):
    """A letter, which this layer does not write."""

    def record(self) -> Mapping[str, Any]:
        """What the ledger keeps of it."""


# what the record of a letter is judged by
LETTER = (
    "dated", "valid_until", "factual", "options", "ranges", "protected_reviewed", "reviewed_by",
    "model", "wanted", "decision", "promise",
)  # fmt: skip


Written = TypeVar("Written", bound=HasRecord)


def checked(letter: Written, promise: Promise | None) -> Written:
    """The letter, once `check_letter` accepts it as of now, if it is about a promise."""
    if promise is not None:
        check_letter(promise, letter.record(), clock.now())
    return letter


def check_letter(promise: Promise, record: Mapping[str, Any], at: datetime) -> None:
    """Refuse a letter, by its record, that says of this promise what it does not say."""
    if absent := [name for name in LETTER if name not in record]:
        raise LedgerError(
            f"the record of a letter lacks {', '.join(absent)}; expected what Letter.record() gives"
        )
    if (state := promise.state(at)) != "outstanding":
        raise PromiseClosedError(f"promise {promise.id} is {state}")
    _check_days(promise, record, at)
    if record["promise"] not in ("", promise.id):
        raise LedgerError(f"the letter is of promise {record['promise']}, not of {promise.id}")
    if record["model"] not in ("", promise.model):
        other, ours = str(record["model"])[:12], promise.model[:12]
        raise LedgerError(f"the letter is by the model {other}…, promise {promise.id} by {ours}…")
    decision = None
    with suppress(TypeError, ValueError):
        decision = Target(**record["decision"])
    promise.check_decision(record["wanted"], decision)
    (own, then), offered = promise.codes, map(promise.codes_of, record["options"])
    if promise.codes_of(record["factual"]) != own or then not in offered:
        raise LedgerError(promise.of_others)
    if beside := _beside(promise, len(record["options"]), record["ranges"]):
        raise LedgerError(
            f"the letter offers {beside}, which promise {promise.id} does not hold: it is of "
            f"{promise.words or 'the values as they are'}; write the letter under it, "
            "letter(..., promise=ledger.read(id)), from the question that was promised"
        )
    if record["profile"] != "plain" and not (record["accepted"] or record["reasons"]):
        raise LedgerError(f"a refusal by the profile {record['profile']} without a reason")
    if (named := record["protected_reviewed"]) and not record["reviewed_by"]:
        raise LedgerError(
            f"{', '.join(named)} was reviewed, and the letter does not say by whom; give "
            "reviewed_by"
        )


def _check_days(promise: Promise, record: Mapping[str, Any], at: datetime) -> None:
    """Refuse a letter that holds too long, is dated ahead, or before there was a promise."""
    dated, until = (date.fromisoformat(str(record[name])) for name in ("dated", "valid_until"))
    if moment("valid_until", until) > promise.valid_until:
        raise LedgerError(
            f"valid_until={until}: promise {promise.id} holds until "
            f"{promise.valid_until:%Y-%m-%d %H:%M} UTC only; give a day that ends before"
        )
    if dated > (today := max(days(at))):
        raise LedgerError(f"dated={dated}: that day is to come, it is {today}")
    if dated < (made := min(days(promise.issued_at))):
        raise LedgerError(f"dated={dated}: promise {promise.id} was made on {made}, after that")
    if not record.get("in_time_until"):
        return
    received, last = (
        date.fromisoformat(str(record[name])) for name in ("received", "in_time_until")
    )
    sent = received + timedelta(days=record["days"])  # it was sent from its own day until today
    if not dated <= sent <= today or record["late"] != (sent > last):
        raise LedgerError(
            f"received={received}, days={record['days']}, late={record['late']}: of a letter dated "
            f"{dated}, recorded on {today}, these cannot be; record what Letter.record() gives"
        )
    if not record["late"] and min(days(at)) > last:
        raise LedgerError(
            f"the letter says that it is in time, which it was until {last}, and it is "
            f"{today}; write it anew, as one that is late"
        )


def _beside(promise: Promise, options: int, ranges: Any) -> str:
    """What a letter offers beside the promise, in words; '' if nothing."""
    if options > 1:
        return "other options"
    wide = [each for each in ranges if each]
    if wide and promise.ranges is None:
        return "ranges of values"
    return "" if all(_holds_all(promise, each) for each in wide) else "wider ranges of values"


def _holds_all(promise: Promise, told: dict[str, Any]) -> bool:
    """Whether ranges lie within those that were promised."""
    ours = {each.feature: each for each in promise.spans}
    try:
        wide = {name: open_ended(*ends) for name, ends in told.items()}
        theirs = replace(promise, ranges=wide).spans
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    return all(
        each.feature in ours
        and ours[each.feature].low <= each.low
        and each.high <= ours[each.feature].high
        for each in theirs
    )
