"""The ledger when processes are killed 200 times, and when several write, on each database.

`make stress` runs it. It ends with an error if a promise that was acknowledged is lost or half
written, or if a chain does not hold; else it writes results/ledger.json.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import postgres
from issuing import Issuers, judged, kill_often
from measured import RESULTS, surroundings
from trust_recourse import Ledger

KILLS, LONGEST = 200, 0.4
PROCESSES, EACH = 4, 250


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
    Ledger(where).close()
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


def main():
    told = {}
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
    told = {"where": around, **told}
    (Path(RESULTS) / "ledger.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
