"""Extremes of every parameter: answered in time, and others are served; see `laws/service.py`."""

from __future__ import annotations

import json
import random
import socket
import time

import httpx
import pytest

from laws import service as law
from serving import running
from trust_recourse import Ledger, Recourse
from trust_recourse.web.state import AppState


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "promises.db", key=bytes(32))
    return AppState(Recourse(law.machine()), ledger=ledger, limits=law.LIMITS)


@pytest.fixture(scope="module")
def url(state):
    with running(state) as address:
        yield address


def test_extremes_of_every_parameter_are_answered_in_time(url):
    found = law.attacked(url, random.Random(0), 700, always="resolution")
    assert not found.broken, "\n".join(found.broken)
    assert found.counts["answered with 422"] > 100
    assert found.counts["answered with 200"] > 10


@pytest.mark.parametrize("resolution", [1e-300, 1e-12, 9e-7, 5e-324])
def test_a_resolution_that_is_too_fine_is_refused(url, resolution):
    body = {"person": law.PERSON, "resolution": resolution}
    answer = httpx.post(f"{url}/v1/frontier", json=body, timeout=10)
    assert answer.status_code == 422
    assert "0.000001" in answer.json()["detail"]


def test_a_client_that_leaves_frees_its_place(url, state, monkeypatch):
    """Its search ends long before its own time limit."""
    for name, value in {"seconds": 30.0, "answer": 60.0}.items():
        monkeypatch.setitem(vars(state.limits), name, value)
    steps = []
    monkeypatch.setattr(
        "trust_recourse.search.frontier.FrontierSearch.run", lambda stairs: _endless(stairs, steps)
    )
    content = json.dumps({"person": law.PERSON, "resolution": 1e-6}).encode()
    head = "POST /v1/frontier HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    port = int(url.rpartition(":")[2])
    for _ in range(state.limits.searches):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            length = f"Content-Length: {len(content)}\r\n\r\n"
            connection.sendall((head + length).encode() + content)
            end = time.monotonic() + 10
            while not steps and time.monotonic() < end:
                time.sleep(0.01)
    assert steps
    began = time.monotonic()
    path, body = law.USUAL
    assert httpx.post(url + path, json=body, timeout=20).status_code == 200
    assert time.monotonic() - began < 5
    assert state.traffic.searches == 0


def _endless(stairs, steps):
    """Ask the same levels again and again, as long as nothing calls that off."""
    while True:
        stairs._begin()
        for target in stairs.targets:
            steps.append(target)
            stairs._ask(target)
