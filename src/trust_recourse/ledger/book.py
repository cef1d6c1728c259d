"""The front door: `Ledger` makes promises, keeps them in mind, and says which would be broken."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trust_recourse.ledger import judging
from trust_recourse.ledger.entries import (
    Entry,
    Head,
    LedgerChangedError,
    LedgerError,
    NoPromiseError,
    PromiseClosedError,
    Verification,
    canonical,
    sha256,
    walk,
)
from trust_recourse.ledger.judging import By, Check
from trust_recourse.ledger.promises import (
    Promise,
    Redemption,
    certificate_hash,
    content,
    deadline,
    moment,
    stamp,
)
from trust_recourse.ledger.pseudonyms import Key
from trust_recourse.ledger.store import CLOSING, Store
from trust_recourse.problem import option_name
from trust_recourse.result import Result
from trust_recourse.schema import Schema
from trust_recourse.schema.values import floored
from trust_recourse.search.certificate import Certificate


class Ledger:
    """What was promised to whom, in a database that only grows.

    Parameters
    ----------
    where : a file such as "promises.db" (SQLite), or "postgresql://user@host/database".
    key, key_file : the secret that turns people's ids into pseudonyms; if neither is given, the
        environment variable TRUST_LEDGER_KEY. Only promising and looking for a person need it.
    create : make the ledger if it is not there; False raises instead.
    wait : seconds to wait for other processes that write, before it raises.

    Use it in a `with` statement, or call `close()`. Threads may share one; several processes on
    one or many machines may write to the same ledger, each with its own `Ledger`.

    """

    def __init__(
        self,
        where: str | Path,
        *,
        key: str | bytes | None = None,
        key_file: str | os.PathLike[str] | None = None,
        create: bool = True,
        wait: float = 30.0,
    ) -> None:
        if not 0 < wait < 86_400:
            raise LedgerError(f"wait={wait!r}; expected seconds, above 0 and below a day")
        self._key, self._key_file = key, key_file
        self._store = Store(where, create=create, wait=wait)

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r})"

    # ------------------------------------------------------------ promises

    def promise(
        self,
        result: Result,
        option: int = 0,
        *,
        subject: str,
        days: float = 90,
        valid_until: datetime | date | None = None,
        certificate: Certificate | str | os.PathLike[str] | None = None,
        fingerprint: str | None = None,
    ) -> Promise:
        """Promise an option of a result to a person; it is on disk when this returns.

        The option is given by its place in `result.options`, from 0.

        Parameters
        ----------
        subject : the person's id; stored as a keyed hash alone.
        days, valid_until : how long it holds; a time with its zone, or a date (to the end of that
            day, UTC), goes before the number of days.
        certificate : this option's certificate, or its file, whose hash is stored.
        fingerprint : names a model that has no fingerprint of its own, such as by the hash of its
            file.

        """
        chosen = result._option(option)
        recourse = result.recourse
        if chosen.confidence < recourse.decision_threshold:
            name = option_name(result.options.index(chosen))
            raise LedgerError(
                f"{name} has a confidence of {floored(chosen.confidence)}, which the model "
                f"refuses (its threshold is {recourse.decision_threshold:g}); promise one that it "
                "accepts"
            )
        own = getattr(recourse.model, "fingerprint_", None)
        if (own is None) == (fingerprint is None):
            reason = "has one of its own" if own else "has none of its own, so it must be named"
            raise LedgerError(f"fingerprint={fingerprint!r}: the model {reason}")
        key = Key.given(self._key, self._key_file)
        now = datetime.now(UTC)
        proof = certificate and certificate_hash(certificate, result, chosen)
        told, schema = content(
            result,
            chosen,
            subject=key.pseudonym(subject),
            key=key.name,
            model=own or fingerprint or "",
            valid_until=deadline(now, days, valid_until),
            certificate=proof or None,
        )
        entry = self._store.append("promise", secrets.token_hex(8), stamp(now), told, schema)
        return Promise.read(entry, {sha256(schema): recourse.schema})

    def promises(
        self,
        outstanding: bool = True,
        *,
        subject: str | None = None,
        at: datetime | None = None,
    ) -> list[Promise]:
        """The promises in the order they were made; of one person, if their id is given.

        Outstanding are those that are valid and neither redeemed nor withdrawn: now, or as the
        ledger was at another time.
        """
        when = _now(at)
        entries = self._entries()
        if at is not None:
            entries = [entry for entry in entries if entry.at <= stamp(when)]
        closed = {entry.promise: entry.kind for entry in entries if entry.kind in CLOSING}
        schemas = self._schemas()
        found = [
            Promise.read(entry, schemas, closed.get(entry.promise, ""))
            for entry in entries
            if entry.kind == "promise"
        ]
        if subject is not None:
            found = self._of(subject, found)
        if outstanding:
            found = [promise for promise in found if promise.state(when) == "outstanding"]
        return found

    def _of(self, subject: str, promises: list[Promise]) -> list[Promise]:
        key = Key.given(self._key, self._key_file)
        if promises and key.name not in {promise.key for promise in promises}:
            raise LedgerError(
                f"no promise here was made with the key {key.name}, so nobody can be found by it; "
                f"the last was made with {promises[-1].key}"
            )
        pseudonym = key.pseudonym(subject)
        return [promise for promise in promises if promise.subject == pseudonym]

    def history(self, promise: str) -> list[Entry]:
        """All entries about a promise, by its id: made, returned for, redeemed, withdrawn."""
        found = self._entries(promise)
        if not found:
            raise NoPromiseError(f"there is no promise {promise!r}")
        return found

    def read(self, promise: str) -> Promise:
        """One promise, by its id."""
        made, *after = self.history(promise)
        closed = next((entry.kind for entry in after if entry.kind in CLOSING), "")
        return Promise.read(made, self._schemas(), closed)

    def withdraw(self, promise: str, reason: str) -> Entry:
        """Take a promise back, for a reason that stays in the ledger."""
        if not reason.strip():
            raise LedgerError("reason is empty; expected why the promise is withdrawn")
        told = canonical({"reason": reason})
        return self._store.append("withdrawn", promise, stamp(datetime.now(UTC)), told)

    # ------------------------------------------------------------ kept or broken

    def check(
        self,
        model: Any,
        *,
        at: datetime | None = None,
        by: By = "decision",
        threshold: float | None = None,
        time_limit: float | None = 10.0,
        verbose: bool = False,
    ) -> Check:
        """Which outstanding promises this model would break, and what would mend each.

        Parameters
        ----------
        model : the new model; or a `Recourse`, whose decision threshold and cost then stand for
            those of the promises. Everyone keeps the schema they were promised by.
        at : the promises outstanding at this time; now, if None.
        by : "decision": a promise is broken if the promised values are refused; "target": also if
            they are accepted with less than the confidence that was asked for.
        threshold : the new decision threshold, where that changes as well.
        time_limit : seconds for each repair on a model with cells (others are searched by trial).
            A repair is the least further change that keeps the word, from the promised values on,
            since the person has done what was asked.

        """
        promises = self.promises(at=at)
        return judging.check(promises, model, _now(at), by, threshold, time_limit, verbose)

    def redeem(
        self,
        promise: str,
        x: Any,
        model: Any,
        *,
        promised_by: Any = None,
        at: datetime | None = None,
    ) -> Redemption:
        """The person returns with values x: was it done, does it hold? What is found is recorded.

        Parameters
        ----------
        promise : its id.
        x : the person as they are now, as a Series, a dict or a one-row table.
        model : the present model, or a `Recourse` with it.
        promised_by : the model that promised, where it is another one; where x is not just what
            was promised, it may be that only this one can judge it (`redemption.undecided`).
        at : when they returned; now, if None.

        A promise that is due is redeemed, once; one that is not stays as it was.

        """
        made = self.read(promise)
        if made.closed:
            raise PromiseClosedError(f"promise {promise!r} was {made.closed} already")
        found = judging.redemption(made, x, model, promised_by, _now(at))
        kind = "redeemed" if found.due else "returned"
        told = canonical(found.to_dict())
        self._store.append(kind, promise, stamp(datetime.now(UTC)), told)
        return found

    # ------------------------------------------------------------ the chain

    def head(self) -> Head:
        """The last entry's number and hash; write `str(ledger.head())` down elsewhere."""
        return self._store.head()

    def verify(self, head: Head | str | None = None) -> Verification:
        """Walk the chain, and name the first entry that fails and why.

        Entries cut off at the end, or a chain written anew, show only against a head that was
        written down before.
        """
        known = Head.read(head) if isinstance(head, str) else head
        with self._store.reading() as entries:
            schemas = self._schemas()  # after the entries, so that none is too new for them

            def read(entry: Entry) -> object:
                return Promise.read(entry, schemas) if entry.kind == "promise" else entry.told()

            return walk(entries, known, read)

    def _entries(self, promise: str | None = None) -> list[Entry]:
        with self._store.reading(promise) as entries:
            found = list(entries)
        for entry in found:
            if not entry.fits:
                raise LedgerChangedError(
                    f"{self._store.name}: entry {entry.number} was changed, so nothing is read "
                    "from it; `ledger verify` says more"
                )
        return found

    def _schemas(self) -> dict[str, Schema]:
        found = {}
        for name, text in self._store.schemas().items():
            with suppress(AttributeError, LookupError, TypeError, ValueError):  # of no ledger
                found[name] = Schema.from_dict(json.loads(text))
        return found


def _now(at: datetime | None) -> datetime:
    return datetime.now(UTC) if at is None else moment("at", at)
