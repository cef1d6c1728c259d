"""The ledger when processes are killed 200 times, and when several write for long, on each database.

`make stress` runs it. It ends with an error if a promise that was acknowledged is lost or half
written, or if a chain does not hold; else it writes results/ledger.json.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

from issuing import Issuers, judged, kill_often
from measured import RESULTS, Busy, surroundings

import postgres
from trust_recourse import Ledger

KILLS, LONGEST = 200, 0.25
PROCESSES, EACH = 4, 500


def killed(issuers, where):
    """So many kills at random moments; the chain is walked after each, every promise at the end."""
    start = time.monotonic()
    victims = kill_often(
        issuers, where, KILLS, LONGEST, lambda names: judged(where, issuers, names, read=False)
    )
    acknowledged, there = judged(where, issuers, victims)
    assert acknowledged >= KILLS, "too few were made for the kills to hit anything"
    return {
        "kills": KILLS,
        "before_the_first_promise": sum(not issuers.made[name] for name in victims),
        "acknowledged": acknowledged,
        "in_the_ledger": there,
        "lost": 0,  # judged() would have ended this
        "chain_holds": True,
        "seconds": round(time.monotonic() - start, 1),
    }


def loaded(issuers, where):
    """Several processes that write at once, and one that reads meanwhile."""
    Ledger(where).close()
    start = time.monotonic()
    names = [issuers.start(where, many=EACH) for _ in range(PROCESSES)]
    reads = 0
    while not all(issuers.ended(name) for name in names):
        judged(where, issuers, [], read=False)
        reads += 1
    seconds = time.monotonic() - start
    assert [issuers.end(name) for name in names] == [0] * PROCESSES
    acknowledged, there = judged(where, issuers, names)
    assert acknowledged == there == PROCESSES * EACH
    return {
        "processes": PROCESSES,
        "promises": there,
        "promises_a_second": round(there / seconds, 1),
        "walks_of_the_chain_meanwhile": reads,
        "chain_holds": True,
    }


def main():
    busy, told = Busy(), {}
    with tempfile.TemporaryDirectory() as folder, Issuers() as issuers, postgres.server() as url:
        for name in ("killed", "loaded"):
            postgres.make_schema(url, name)
        places = {
            "sqlite": lambda name: f"{folder}/{name}.db",
            "postgresql": lambda name: f"{url}&options=-csearch_path%3D{name}",
        }
        for database, place in places.items():
            told[database] = {
                "killed": killed(issuers, place("killed")),
                "load": loaded(issuers, place("loaded")),
            }
            print(database, json.dumps(told[database], indent=1))
    version = [postgres.programs() / "postgres", "--version"]
    server = subprocess.run(version, capture_output=True, text=True, check=True).stdout.strip()
    around = {**surroundings("sqlalchemy", "alembic", "psycopg"), "server": server}
    told = {"where": {**around, "load": busy.words()}, **told}
    (Path(RESULTS) / "ledger.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
