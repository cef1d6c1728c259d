"""The service under load: 200 requests in flight, and two servers that write to one ledger.

`make stress` runs it. It ends with an error if there was a 5xx, a dropped connection, memory that
grows, or a promise that was acknowledged and lost; else it writes results/service.json.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import psutil

import postgres
from asking import PAPER
from issuing import KEY
from loading import load, promising, questions
from measured import RESULTS, Busy, surroundings
from serving import started
from trust_recourse import Ledger, PTMClassifier, Schema, haberman

IN_FLIGHT, SECONDS = 200, 60
WARM = 10  # seconds of load before memory is looked at
GROWTH = 1.10  # of memory after that, at most
WRITERS, WRITING = 16, 30


def resident(process):
    """Megabytes of memory of a server."""
    return round(psutil.Process(process.pid).memory_info().rss / 1e6, 1)


def spent(process):
    """CPU seconds of a server."""
    return sum(psutil.Process(process.pid).cpu_times()[:2])


def under_load(model):
    """Many questions in flight; memory of the server at the start, when warm and at the end."""
    with started(model) as (process, url, _):
        memory = {"start": resident(process)}
        asyncio.run(load([url], WARM, IN_FLIGHT, questions(seed=1)))
        memory["warm"] = resident(process)
        busy, before = Busy(), spent(process)
        found = asyncio.run(load([url], SECONDS, IN_FLIGHT, questions(seed=2)))
        memory["end"] = resident(process)
        around, cpu = busy.words(), spent(process) - before
    assert not found.faults, found.faults[:3]
    assert not found.dropped, found.dropped[:3]
    assert memory["end"] <= memory["warm"] * GROWTH, memory
    requests = sum(found.statuses.values())
    return {
        "in_flight": IN_FLIGHT, "seconds": SECONDS,
        "requests_a_second": round(requests / SECONDS, 1),
        "server_cpu_milliseconds_a_request": round(1000 * cpu / requests, 2),
        "megabytes": memory, "machine": around, **found.told(),
    }  # fmt: skip


def two_servers(model, where, seconds=WRITING, writers=WRITERS):
    """Two servers on one ledger: every acknowledged promise is there, and the chain holds."""
    ledger = ("--ledger", where)
    with (
        started(model, *ledger, TRUST_LEDGER_KEY=KEY) as (_, one, _),
        started(model, *ledger, TRUST_LEDGER_KEY=KEY) as (_, two, _),
    ):
        found = asyncio.run(load([one, two], seconds, writers, promising()))
    with Ledger(where) as book:
        chain = book.verify(book.head())
        there = {promise.id for promise in book.promises()}
    assert chain.holds, chain
    assert set(found.made) == there
    assert not found.faults, found.faults[:3]
    assert not found.dropped, found.dropped[:3]
    return {
        "servers": 2, "in_flight": writers, "seconds": seconds, "promises": len(there),
        "promises_a_second": round(len(there) / seconds, 1), "acknowledged_and_lost": 0,
        "chain_holds": True, **found.told(),
    }  # fmt: skip


def main():
    if reason := postgres.why_not():
        sys.exit(reason)
    with tempfile.TemporaryDirectory() as folder, postgres.server() as url:
        model = Path(folder) / "model.safetensors"
        X, y = haberman()
        PTMClassifier(**PAPER, schema=Schema.infer(X, guard=False)).fit(X, y).save(model)
        told = {"load": under_load(model)}
        print(json.dumps(told, indent=1))
        told["two_servers_on_one_postgresql_ledger"] = two_servers(model, url)
        print(json.dumps(told["two_servers_on_one_postgresql_ledger"], indent=1))
    around = surroundings("fastapi", "uvicorn", "pydantic", "aiohttp", "sqlalchemy", "psycopg")
    told = {"where": around, **told}
    (Path(RESULTS) / "service.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
