"""The seal: what a ledger holds, told under its own key, so that no entry is gone unseen.

Whoever can write to the database can also write a chain anew. What they cannot write is the seal:
the last entry's number and hash and the hash of the first page, under an HMAC with the ledger's
key. It is written in the same transaction as every entry. The pages are a tree: a page lists either
promises, each with a hash over all the entries about it, or the hashes of sixteen further pages,
among which a promise is found by the digits of its id's hash.

So an entry about a promise P is written only once these are seen to hold:

1. the seal is of this key, and ends at the entry that is last;
2. the pages that lead to P's fit each other and the seal, and what they tell of P (or that there
   is no P) is what the entries about P, each of which fits its hash, come to. Every entry ever
   written about P is therefore there and as it was: it is not redeemed twice, whatever was done to
   the entries, the pages or the seal, unless all of them were put back to an earlier state;
3. the next `STRETCH` entries of the chain hold. They do not bear on P; walked on and on by those
   who write, they show within n / STRETCH writes what was done to any of n entries, and at once
   where there are no more than STRETCH.

A ledger is sealed when it is created, so one without a seal is never accepted, empty or not.

Each costs the same in a ledger of any length, but for the depth of the tree. Who reads all
promises walks the whole chain up to the seal instead.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from trust_recourse.io import clock, strict_json
from trust_recourse.ledger.entries import (
    Entry,
    Head,
    LedgerChangedError,
    LedgerError,
    NoPromiseError,
    PromiseClosedError,
    Verification,
    canonical,
    cut_off,
    missing,
    sha256,
    stamp,
    walk,
)
from trust_recourse.ledger.pages import Page, Route, built, page_hash, paths
from trust_recourse.ledger.promises import schema_gone
from trust_recourse.ledger.pseudonyms import Key

if TYPE_CHECKING:
    from trust_recourse.ledger.database import LedgerTables

SEAL = "seal"  # where the seal is, among its pages; theirs are hexadecimal digits
STRETCH = 32  # entries that are walked with every one that is written
BEHIND = timedelta(minutes=1)  # by so much a clock may go back, or be behind another machine's
CLOSING = ("redeemed", "withdrawn")  # after these nothing more can happen to a promise


@dataclass(frozen=True)
class Seal:
    """What is told under the key.

    `head` is the last entry, `pages` the hash of the first page, `walked` where the present round
    of walking the chain has come to, `since` the entry at which the ledger was last sealed as a
    whole: 0, unless it was sealed again.
    """

    head: Head
    pages: str
    walked: Head
    since: int
    key: str

    def text(self, key: Key) -> str:
        """As it is stored, which needs the key."""
        told = {
            "head": str(self.head),
            "pages": self.pages,
            "walked": str(self.walked),
            "since": self.since,
            "key": key.name,
        }
        return canonical({**told, "mac": key.seal(canonical(told))})

    @classmethod
    def read(cls, text: str, key: Key | None) -> Seal:
        """As it was stored; without the key it is believed."""
        try:
            told = strict_json.loads(text)
            mac = str(told.pop("mac"))
            heads = {name: Head.read(told[name]) for name in ("head", "walked")}
            seal = cls(**{**told, **heads, "since": int(told["since"])})
            proven = key is None or hmac.compare_digest(key.seal(canonical(told)), mac)
        except (AttributeError, LookupError, TypeError, ValueError):
            raise LedgerChangedError("the seal was changed: no ledger writes such a one") from None
        if key is not None and seal.key != key.name:
            raise LedgerError(
                f"the ledger is sealed with the key {seal.key}, and given was the key {key.name}; "
                "give that one"
            )
        if not proven:
            raise LedgerChangedError("the seal was changed: it was not made with the key")
        return seal

    def fault(self, last: Head) -> str:
        """Why this is not the seal of a chain that ends so; empty if it is."""
        known = self.head.number
        if last == self.head:
            return ""
        if not isinstance(last.number, int) or last.number > known:
            return f"entry {last.number} was added without the key: the seal ends at entry {known}"
        if last.number < known:
            return cut_off(last.number, known)
        return f"entry {known} is not the one that was sealed: the chain was written anew"


# ---------------------------------------------------------------- one promise


def about(tables: LedgerTables, promise: str, key: Key | None) -> list[Entry]:
    """All entries about a promise, and no others, in order; without the key the seal is believed.

    Raises if any entry about it was changed, added or removed.
    """
    return _proven(tables, promise, key).entries


def append(
    tables: LedgerTables,
    key: Key,
    kind: str,
    promise: str,
    told: Mapping[str, Any],
    schema: str = "",
) -> Entry:
    """Write an entry that says this, the schema it names if that is not there yet, and the seal.

    Raises if it is about a promise that was never made, or to which nothing more can happen, or if
    the ledger was changed without the key.
    """
    found = _proven(tables, promise, key)
    before = [entry.kind for entry in found.entries]
    if kind == "promise" and before:
        raise LedgerError(f"there is a promise {promise!r} already")
    if kind != "promise" and "promise" not in before:
        raise NoPromiseError(f"there is no promise {promise!r}")
    if closed := [each for each in before if each in CLOSING]:
        raise PromiseClosedError(f"promise {promise!r} was {closed[0]} already")
    walked, named = _walk_a_stretch(tables, found.seal)
    schemas = tables.schemas([*named, sha256(schema)])
    if fault := _schema_fault(named, schemas):
        raise LedgerChangedError(fault)
    if schema and sha256(schema) not in schemas:
        tables.add_schema(schema)
    entry = Entry.after(found.seal.head, kind, promise, _dated(found.last), canonical(told))
    tables.add(entry)
    pages = found.route.then(state_of([*found.entries, entry]))
    seal = replace(found.seal, head=entry.head, walked=walked, pages=page_hash(pages[""]))
    tables.write_seal({SEAL: seal.text(key), **_texts(pages)})
    return entry


def state_of(entries: Iterable[Entry]) -> str:
    """The hash over the entries about a promise, which a page tells."""
    state = ""
    for entry in entries:
        state = sha256(state + entry.hash)
    return state


@dataclass(frozen=True)
class _Proven:
    """What is known, under the key, before anything is said or written about a promise."""

    seal: Seal
    last: Entry | None
    route: Route
    entries: list[Entry]


def _proven(tables: LedgerTables, promise: str, key: Key | None) -> _Proven:
    texts, last = tables.sealed([SEAL, *paths(promise)]), tables.last()
    seal = _sealed(texts, last, key)
    route = Route.read(texts, seal.pages, promise)
    entries = tables.about(promise)
    for entry in entries if last is None else [*entries, last]:
        if not entry.fits:
            raise LedgerChangedError(f"entry {entry.number} was changed: it does not fit its hash")
    if state_of(entries) != route.states.get(promise, ""):
        raise LedgerChangedError(
            f"the entries about promise {promise!r} are not those that were sealed: one was "
            "changed, added or removed"
        )
    return _Proven(seal, last, route, entries)


def _sealed(texts: Mapping[str, str], last: Entry | None, key: Key | None) -> Seal:
    """The seal, if it is that of a chain with this last entry; raises if it is not."""
    if SEAL not in texts:
        raise LedgerChangedError(_removed(last is None))
    seal = Seal.read(texts[SEAL], key)
    if fault := seal.fault(Head() if last is None else last.head):
        raise LedgerChangedError(fault)
    return seal


def _dated(last: Entry | None) -> str:
    """Now, and never before the last entry."""
    now = stamp(clock.now())
    if last is None or last.at <= now:
        return now
    if datetime.fromisoformat(last.at) - datetime.fromisoformat(now) > BEHIND:
        raise LedgerError(
            f"this clock says {now}, and entry {last.number} is dated {last.at}, after that; set "
            "this clock right, or wait; if that entry's was wrong, begin another ledger"
        )
    return last.at


def _walk_a_stretch(tables: LedgerTables, seal: Seal) -> tuple[Head, dict[str, int]]:
    """Walk the next entries of the chain; raises if they do not hold.

    Says where to go on, and the schemas that were named, each with the first entry that does.
    """
    after, end = seal.walked.number, min(seal.walked.number + STRETCH, seal.head.number)
    named: dict[str, int] = {}
    found = walk(tables.stretch(after, end), None, _naming(named), seal.walked)
    if found.entries < end:
        raise LedgerChangedError(found.fault or missing(found.entries + 1))
    return Head() if end == seal.head.number else found.head, named


def _naming(named: dict[str, int]) -> Callable[[Entry], None]:
    """Read entries, and note the schemas they name, each with the first that does."""

    def read(entry: Entry) -> None:
        told = entry.told()
        if entry.kind == "promise":
            named.setdefault(str(told.get("schema")), entry.number)

    return read


def _schema_fault(named: Mapping[str, int], schemas: Mapping[str, str]) -> str:
    gone = [number for name, number in named.items() if name not in schemas]
    return schema_gone(min(gone)) if gone else ""


# ---------------------------------------------------------------- all of it


def head(tables: LedgerTables, key: Key | None) -> Head:
    """The last entry's number and hash, if that is where the seal ends."""
    return _sealed(tables.sealed([SEAL]), tables.last(), key).head


def whole(tables: LedgerTables, key: Key | None) -> list[Entry]:
    """All entries, once the chain is walked up to the seal; raises where either does not hold."""
    entries: list[Entry] = []
    found = verified(tables, key, read=entries.append)
    if not found.holds:
        raise LedgerChangedError(found.fault)
    return entries


def verified(
    tables: LedgerTables,
    key: Key | None,
    known: Head | None = None,
    read: Callable[[Entry], object] = Entry.told,
) -> Verification:
    """Walk the chain, then hold its end and all the pages against the seal."""
    texts, seal, fault = tables.sealed(), None, ""
    try:
        seal = Seal.read(texts[SEAL], key) if SEAL in texts else None
    except LedgerChangedError as error:
        fault = str(error)
    found, states = _walked(tables, known, read)
    if not found.holds:
        return found
    if seal is not None:
        pages = _texts(built(states))
        alike = seal.pages == sha256(pages[""]) and {**pages, SEAL: texts[SEAL]} == texts
        changed = "" if alike else "a page of the seal was changed, added or removed"
        fault = seal.fault(found.head) or changed
    else:
        fault = fault or _removed(not found.entries)
    return replace(found, fault=fault, proven=not fault and bool(seal and key))


def seal_again(tables: LedgerTables, key: Key, known: Head) -> Head:
    """Walk the chain and seal it, if it ends at a known head, whatever the seal was before."""
    named: dict[str, int] = {}
    found, states = _walked(tables, known, _naming(named))
    fault = found.fault or _schema_fault(named, tables.schemas())
    if found.head.number > known.number:
        fault = fault or f"it goes on after entry {known.number}, up to {found.head.number}"
    if fault:
        raise LedgerChangedError(fault)
    pages = built(states)
    seal = Seal(found.head, page_hash(pages[""]), Head(), found.head.number, key.name)
    tables.write_seal({SEAL: seal.text(key), **_texts(pages)}, anew=True)
    return found.head


def _walked(
    tables: LedgerTables, known: Head | None, read: Callable[[Entry], object]
) -> tuple[Verification, dict[str, str]]:
    """What a walk along all entries finds, and the state of every promise."""
    states: dict[str, str] = {}

    def see(entry: Entry) -> None:
        read(entry)
        states[entry.promise] = sha256(states.get(entry.promise, "") + entry.hash)

    with closing(tables.entries()) as entries:  # a walk may end early
        return walk(entries, known, see), states


def _removed(empty: bool) -> str:
    """The fault of a ledger without a seal."""
    if not empty:
        return "the seal was removed"
    return (
        "the seal was removed: there is neither an entry nor a seal; expected the seal of an "
        f"empty ledger. Restore a backup, or seal it again with the head {Head()}, if it is "
        "meant to be empty"
    )


def _texts(pages: Mapping[str, Page]) -> dict[str, str]:
    return {path: canonical(page) for path, page in pages.items()}
