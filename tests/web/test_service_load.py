"""The service under load, a short one: `make stress` runs the long one and keeps its numbers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from issuing import KEY
from loading import load, promising, questions
from serving import running
from trust_recourse import Ledger, Recourse, haberman
from trust_recourse.web.state import AppState, Limits
from worlds import paper_machine

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "service.json"


@pytest.fixture(scope="module")
def recourse():
    return Recourse(paper_machine(epochs=5, random_state=0).fit(*haberman()))


def test_a_short_load_of_200_requests_in_flight(recourse):
    state = AppState(recourse, limits=Limits(waiting=16))
    with running(state) as url:
        found = asyncio.run(load([url], 2, 200, questions()))
    assert not found.dropped
    assert not found.faults
    assert set(found.statuses) <= {200, 422, 429}
    assert found.statuses[200] >= 50
    assert found.statuses[429] >= 1  # so that there was too much to do
    assert state.traffic.searches == state.traffic.briefs == 0


def test_a_short_load_on_two_servers_with_one_ledger(recourse, where):
    desks = [AppState(recourse, ledger=Ledger(where, key=KEY)) for _ in range(2)]
    with running(desks[0]) as one, running(desks[1]) as two:
        found = asyncio.run(load([one, two], 1.5, 12, promising()))
    assert not found.dropped
    assert not found.faults
    assert len(found.made) >= 10
    with Ledger(where) as book:
        assert book.verify(book.head()).holds
        assert {promise.id for promise in book.promises()} == set(found.made)


def test_the_long_load_was_run_and_nothing_was_lost():
    told = json.loads(RESULTS.read_text())
    long, two = told["load"], told["two_servers_on_one_postgresql_ledger"]
    assert (long["in_flight"], long["seconds"]) == (200, 60)
    assert long["statuses"]["200"] > 1000
    for each in (long, two):
        assert each["server_errors"] == each["dropped_connections"] == 0
    assert two["acknowledged_and_lost"] == 0
    assert two["promises"] > 100
