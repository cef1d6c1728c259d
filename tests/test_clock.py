"""The clock of searches: compiling takes none of their time, and is said once if it is long."""

from __future__ import annotations

import time

from numba import njit

from trust_recourse import clock


def test_the_clock_stands_still_while_code_is_compiled(monkeypatch):
    said = []
    monkeypatch.setattr(clock, "LONG", 0.0)
    clock.announce(said.append)
    began, own = time.monotonic(), clock.now()
    njit(lambda x: x + 1)(1)
    took = time.monotonic() - began
    assert clock.now() - own < took / 2
    assert all(each.startswith(clock.COMPILING) for each in said)
    assert said[-1].endswith("s, 1 functions so far")
    njit(lambda x: x + 2)(1)
    assert said[-1].endswith("s, 2 functions so far")
    assert not clock.compiling()


def test_it_goes_on_where_nothing_is_compiled(monkeypatch):
    before = clock.now()
    monkeypatch.setattr(clock.time, "monotonic", lambda: before + 1e6)
    assert clock.now() > before + 1e5
