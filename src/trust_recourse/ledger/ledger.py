"""The front door: `Ledger` makes promises, keeps them in mind, and says which would be broken."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, NoReturn, Self

from trust_recourse.answers.result import Result
from trust_recourse.certificate import Certificate
from trust_recourse.io import clock, strict_json
from trust_recourse.io.wording import floored
from trust_recourse.ledger import compatibility, redemption, seal
from trust_recourse.ledger.compatibility import By, Check
from trust_recourse.ledger.database import LedgerTables, Store
from trust_recourse.ledger.entries import (
    Entry,
    Head,
    LedgerError,
    NoPromiseError,
    PromiseClosedError,
    Verification,
    canonical,
    deadline,
    moment,
    sha256,
    stamp,
)
from trust_recourse.ledger.letters import check_letter
from trust_recourse.ledger.promises import Promise, PromiseDocument, certificate_hash
from trust_recourse.ledger.pseudonyms import Key
from trust_recourse.ledger.redemption import Redemption
from trust_recourse.ledger.seal import CLOSING
from trust_recourse.question import option_name
from trust_recourse.schema import Schema

ID_BYTES = 10  # of a promise's id, which nobody can guess
NEW = (
    "this opening made the ledger, because there was none. If there should be one, restore it from "
    "a backup; if it is meant to be new, verify it against the head "
)


class Ledger:
    """What was promised to whom, in a database that only grows.

    Parameters
    ----------
    where : a file such as "promises.db" (SQLite), or "postgresql://user@host/database".
    key, key_file : the secret that turns people's ids into pseudonyms, and seals what is written,
        so that no entry is changed or removed unseen; if neither is given, the environment variable
        TRUST_LEDGER_KEY. Whoever acts needs it: promises, redeems, withdraws, checks a model. Who
        reads without it believes the seal as it stands. Others must not be able to read the file.
    create : make the ledger if it is not there, which needs the key; False raises instead. Set
        False wherever a ledger must exist. A SQLite file whose tables were dropped is refused.
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

        def begin(tables: LedgerTables) -> None:  # so that one that was emptied does not look new
            seal.seal_again(tables, self._needed_key(), Head())

        self._store = Store(where, create=create, wait=wait, begin=begin)

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r})"

    def __reduce__(self) -> NoReturn:
        """Refuse: a copy would share a connection or a key with another process."""
        raise TypeError(
            f"given a Ledger with an open database, {self._store.name}; expected an object that "
            f"can be copied or pickled. Pass its place on and open it again: {self!r}"
        )

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
        ranges: bool = False,
    ) -> Promise:
        """Promise an option of a result to a person; it is on disk when this returns.

        The option is given by its place in `result.options`, from 0.

        Parameters
        ----------
        subject : the person's id; stored as a keyed hash alone.
        days, valid_until : how long it holds; a time with its zone, or a date, goes before the
            number of days. It holds to the end of the last day, UTC, unless a time is given.
        certificate : this option's certificate, or its file, whose hash is stored once the
            checker has confirmed it on the model.
        fingerprint : names a model that has no fingerprint of its own, such as by the hash of its
            file.
        ranges : promise all values within the option's ranges, `result.ranges(option)`: the person
            may come back with any of them, and a new model is checked on every one.

        """
        result.check_model()
        chosen = result.option_at(option)
        recourse = result.recourse
        if not result.accepted(option):
            name = option_name(result.options.index(chosen))
            raise LedgerError(
                f"{name} has a confidence of {floored(chosen.confidence)}, which the model "
                f"refuses (it accepts {result.decision.rule}); promise one that it accepts"
            )
        own = getattr(recourse.model, "fingerprint_", None)
        if (own is None) == (fingerprint is None):
            reason = "has one of its own" if own else "has none of its own, so it must be named"
            raise LedgerError(f"fingerprint={fingerprint!r}: the model {reason}")
        key = self._needed_key()
        now = clock.now()
        proof = certificate and certificate_hash(certificate, result, chosen)
        asked, line = chosen.target, result.decision
        if ranges and asked.mode != "argmax" and asked.interval[0] < line.interval[0]:
            raise LedgerError(
                f"ranges=True with {asked.words}: within them the model may refuse (it accepts "
                f"{line.rule}); ask for at least that, or promise the values alone"
            )
        schema = canonical(recourse.schema.to_dict())
        told = PromiseDocument.of_option(
            result,
            chosen,
            ranges,
            subject=key.pseudonym(subject),
            key=key.name,
            model=own or fingerprint,
            schema=sha256(schema),
            certificate_sha256=proof or None,
            valid_until=stamp(deadline(now, days, valid_until)),
        ).to_dict()
        with self._store.writing() as tables:
            entry = seal.append(tables, key, "promise", secrets.token_hex(ID_BYTES), told, schema)
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
        with self._store.reading() as tables:
            entries, schemas = seal.whole(tables, self._found_key()), _schemas(tables)
        if at is not None:
            entries = [entry for entry in entries if entry.at <= stamp(when)]
        closed = {entry.promise: entry.kind for entry in entries if entry.kind in CLOSING}
        found = [
            Promise.read(entry, schemas, closed.get(entry.promise, ""))
            for entry in entries
            if entry.kind == "promise"
        ]
        if subject is not None:
            key = self._needed_key()
            if found and key.name not in {promise.answer.key for promise in found}:
                raise LedgerError(
                    f"no promise here was made with the key {key.name}, so nobody can be found by "
                    f"it; the last was made with {found[-1].answer.key}"
                )
            pseudonym = key.pseudonym(subject)
            found = [promise for promise in found if promise.subject == pseudonym]
        if outstanding:
            found = [promise for promise in found if promise.state(when) == "outstanding"]
        return found

    def history(self, promise: str) -> list[Entry]:
        """All entries about a promise, by its id: made, returned for, redeemed, withdrawn."""
        with self._store.reading() as tables:
            return self._about(promise, tables)

    def read(self, promise: str) -> Promise:
        """One promise, by its id."""
        with self._store.reading() as tables:
            made, *after = self._about(promise, tables)
            schemas = _schemas(tables, [str(made.told().get("schema"))])
        closed = next((entry.kind for entry in after if entry.kind in CLOSING), "")
        return Promise.read(made, schemas, closed)

    def _about(self, promise: str, tables: LedgerTables) -> list[Entry]:
        found = seal.about(tables, promise, self._found_key())
        if not found:
            raise NoPromiseError(f"there is no promise {promise!r}")
        return found

    def withdraw(self, promise: str, reason: str) -> Entry:
        """Take a promise back, for a reason that stays in the ledger."""
        if not reason.strip():
            raise LedgerError("reason is empty; expected why the promise is withdrawn")
        key = self._needed_key()
        with self._store.writing() as tables:
            return seal.append(tables, key, "withdrawn", promise, {"reason": reason})

    def record_letter(
        self,
        promise: str,
        record: Mapping[str, Any],
        *,
        file: bytes | str | os.PathLike[str] | None = None,
    ) -> Entry:
        """Keep what a letter said of a promise: its reasons, and what was reviewed for it by whom.

        The record is that of `Letter.record()`; the letter's own words are not in it. Refused is
        a letter of other values, by another decision, or with more than was promised, one that
        holds longer than the promise, one of a promise that is not outstanding, and a review that
        nobody signs.

        Parameters
        ----------
        promise : its id.
        record : what `Letter.record()` gives.
        file : the letter as it was sent, its bytes or its path, whose SHA-256 is kept.

        """
        key = self._needed_key()
        check_letter(self.read(promise), record, clock.now())
        told = dict(record)
        if file is not None:
            sent = file if isinstance(file, bytes) else Path(file).read_bytes()
            told["file_sha256"] = hashlib.sha256(sent).hexdigest()
        with self._store.writing() as tables:
            return seal.append(tables, key, "letter", promise, told)

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
        self._needed_key()  # or promises that a forger took out would not be missed
        promises = self.promises(at=at)
        return compatibility.check(promises, model, _now(at), by, threshold, time_limit, verbose)

    def redeem(
        self,
        promise: str,
        x: Any,
        model: Any,
        *,
        promised_by: Any = None,
        threshold: float | None = None,
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
        threshold : the present decision threshold, where it is neither the model's own nor that of
            the promise.
        at : when they returned; now, if None.

        A promise that is due is redeemed, once; one that is not stays as it was.

        """
        key, made = self._needed_key(), self.read(promise)
        if made.closed:
            raise PromiseClosedError(f"promise {promise!r} was {made.closed} already")
        found = redemption.redemption(made, x, model, promised_by, _now(at), threshold)
        kind = "redeemed" if found.due else "returned"
        with self._store.writing() as tables:
            seal.append(tables, key, kind, promise, found.to_dict())
        return found

    # ------------------------------------------------------------ the chain

    def head(self) -> Head:
        """The last entry's number and hash; write `str(ledger.head())` down elsewhere."""
        with self._store.reading() as tables:
            return seal.head(tables, self._found_key())

    def verify(self, head: Head | str | None = None) -> Verification:
        """Walk the chain up to its seal, and name the first entry that fails and why.

        A whole ledger that was put back to an earlier state shows only against a head that was
        written down before; without the key, so do entries cut off and a chain written anew. A
        ledger that this object made, and which is empty, is only valid against `Head()`: one with
        promises may have been removed before.
        """
        with self._store.reading() as tables:
            schemas = _schemas(tables)

            def read(entry: Entry) -> object:
                return Promise.read(entry, schemas) if entry.kind == "promise" else entry.told()

            known = Head.read(head) if isinstance(head, str) else head
            found = seal.verified(tables, self._found_key(), known, read)
        if self._store.made and head is None and found.holds and not found.entries:
            return replace(found, fault=f"{NEW}{Head()}", proven=False)
        return found

    def seal(self, head: Head | str) -> Head:
        """Seal the ledger anew, with the present key, if the chain holds and ends at this head.

        For a key that was lost or is to change, or when you know better than the seal: whoever
        gives the head says that the ledger is as it should be.
        """
        known = Head.read(head) if isinstance(head, str) else head
        with self._store.writing() as tables:
            return seal.seal_again(tables, self._needed_key(), known)

    def _found_key(self) -> Key | None:
        return Key.found(self._key, self._key_file)

    def _needed_key(self) -> Key:
        return Key.given(self._key, self._key_file)


def _schemas(tables: LedgerTables, names: list[str] | None = None) -> dict[str, Schema]:
    found = {}
    for name, text in tables.schemas(names).items():
        with suppress(AttributeError, LookupError, TypeError, ValueError):  # of no ledger
            found[name] = Schema.from_dict(strict_json.loads(text))
    return found


def _now(at: datetime | None) -> datetime:
    return clock.now() if at is None else moment("at", at)
