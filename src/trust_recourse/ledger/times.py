"""Times as the ledger writes them, and until when a promise holds."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from trust_recourse.ledger.entries import LedgerError


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
