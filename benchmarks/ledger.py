"""The ledger when processes are killed 200 times, when several write, and when it is long.

`make stress` runs it, on each database. It ends with an error if a promise that was acknowledged is
lost or half written, if a chain does not hold, or if the seal takes more than half of the speed;
else it writes results/ledger.json.
"""

from __future__ import annotations

import json
import secrets
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import sqlalchemy as sa

import postgres
from issuing import KEY, Issuers, judged, kill_often, prepared
from measured import RESULTS, Busy, surroundings
from trust_recourse import Ledger
from trust_recourse.ledger import seal
from trust_recourse.ledger.database import ENTRIES
from trust_recourse.ledger.entries import Entry, Head, canonical, sha256, stamp

KILLS, LONGEST = 200, 0.4
PROCESSES, EACH = 4, 250
LONG, ROUNDS, BATCH = 100_000, 15, 40


def killed(issuers, where):
    """So many kills at random moments; the chain is walked after each, every promise at the end."""
    start = time.monotonic()
    victims = kill_often(
        issuers, where, KILLS, LONGEST, lambda names: judged(where, issuers, names, read=False)
    )
    acknowledged, there = judged(where, issuers, victims)
    assert len(acknowledged) >= KILLS, "too few were made for the kills to hit anything"
    return {
        "kills": KILLS,
        "before_the_first_promise": sum(not issuers.made[name] for name in victims),
        "acknowledged": len(acknowledged),
        "acknowledged_and_lost": len(acknowledged - there),
        "kept_but_killed_before_the_acknowledgement": len(there - acknowledged),
        "seconds": round(time.monotonic() - start, 1),
    }


def loaded(issuers, where):
    """Several processes that write at once, and one that reads meanwhile."""
    Ledger(where, key=KEY).close()
    start = time.monotonic()
    names = [issuers.start(where, many=EACH) for _ in range(PROCESSES)]
    reads = 0
    with Ledger(where) as ledger:
        while not all(issuers.ended(name) for name in names):
            assert ledger.verify().holds
            reads += 1
            time.sleep(0.1)
    seconds = time.monotonic() - start
    assert [issuers.end(name) for name in names] == [0] * PROCESSES
    acknowledged, there = judged(where, issuers, names)
    assert acknowledged == there
    assert len(there) == PROCESSES * EACH
    return {
        "processes": PROCESSES,
        "promises": len(there),
        "promises_a_second": round(len(there) / seconds, 1),
        "walks_of_the_chain_meanwhile": reads,
    }


def long(where, unsealed):
    """Promises a second in a long ledger, beside what the same entries cost without a seal.

    `where` and `unsealed` are two places; the two are measured by turns, since the machine may be
    busy.
    """
    last, _ = (fill(place) for place in (where, unsealed))
    result = prepared()
    with Ledger(where, key=KEY) as ledger, Ledger(unsealed, key=KEY) as plain:

        def promise(book):
            return book.promise(result, subject="person", fingerprint="a function")

        def redeem():
            assert ledger.redeem(made.pop().id, result.options[0].x, result.recourse).due

        start = time.perf_counter()
        ledger.seal(last)
        made = [promise(ledger)]
        first = time.perf_counter() - start
        rates = {"sealed": [], "unsealed": [], "redeemed": []}
        for _ in range(ROUNDS):
            rates["sealed"].append(rate(lambda: made.append(promise(ledger))))
            with patch.object(seal, "append", append_unsealed):
                rates["unsealed"].append(rate(lambda: promise(plain)))
            rates["redeemed"].append(rate(redeem))
        start = time.perf_counter()
        found = ledger.verify()
        verified = time.perf_counter() - start
        assert found.proven, found
    middle = {name: statistics.median(each) for name, each in rates.items()}
    share = statistics.median(
        ours / other for ours, other in zip(rates["sealed"], rates["unsealed"], strict=True)
    )
    assert share >= 0.5, f"the seal leaves {share:.2f} of the speed"
    return {
        "entries": LONG,
        "promises_a_second": round(middle["sealed"], 1),
        "promises_a_second_without_a_seal": round(middle["unsealed"], 1),
        "share_of_the_speed": round(share, 2),
        "redemptions_a_second": round(middle["redeemed"], 1),
        "seconds_to_seal_it_first": round(first, 1),
        "seconds_to_verify_it": round(verified, 1),
    }


def rate(work):
    """How often a second it can be done."""
    start = time.perf_counter()
    for _ in range(BATCH):
        work()
    return BATCH / (time.perf_counter() - start)


def append_unsealed(tables, _, kind, promise, told, schema):
    """What writing a promise takes without a seal: its entry, after the last."""
    assert tables.about(promise) == []
    if sha256(schema) not in tables.schemas([sha256(schema)]):
        tables.add_schema(schema)
    last = tables.last()
    at = stamp(datetime.now(UTC))
    entry = Entry.after(last.head if last else Head(), kind, promise, at, canonical(told))
    tables.add(entry)
    return entry


def fill(where):
    """A long ledger, whose first entry alone is sealed; returns the head to seal it with."""
    with Ledger(where, key=KEY) as ledger:
        made = ledger.promise(prepared(), subject="person", fingerprint="a function")
        (first,) = ledger.history(made.id)
        rows, last = [], first.head
        for _ in range(LONG - 1):
            promise = secrets.token_hex(10)
            rows.append(Entry.after(last, first.kind, promise, first.at, first.content))
            last = rows[-1].head
        with ledger._store.writing() as tables:
            tables.connection.execute(sa.insert(ENTRIES), [vars(row) for row in rows])
    return last


def main():
    told, busy = {}, Busy()
    with tempfile.TemporaryDirectory() as folder, Issuers() as issuers, postgres.server() as url:
        for name in ("killed", "loaded", "long", "unsealed"):
            postgres.make_schema(url, name)
        places = {
            "sqlite": lambda name: f"{folder}/{name}.db",
            "postgresql": lambda name: f"{url}&options=-csearch_path%3D{name}",
        }
        for database, place in places.items():
            told[database] = {
                "killed": killed(issuers, place("killed")),
                "load": loaded(issuers, place("loaded")),
                "long": long(place("long"), place("unsealed")),
            }
            print(database, json.dumps(told[database], indent=1), flush=True)
        load = busy.words()  # while all that worked is still there
    version = [postgres.programs() / "postgres", "--version"]
    server = subprocess.run(version, capture_output=True, text=True, check=True).stdout.strip()
    around = {**surroundings("sqlalchemy", "psycopg"), "server": server, "load": load}
    told = {"where": around, **told}
    (Path(RESULTS) / "ledger.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
