"""The ledger when processes die or write at once: what was acknowledged is there, whole."""

from __future__ import annotations

import pytest

from issuing import KEY, Issuers, judged, kill_often
from trust_recourse import Ledger


@pytest.fixture(scope="module")
def issuers():
    with Issuers() as started:
        yield started


def test_no_acknowledged_promise_is_lost_when_the_process_is_killed(where, issuers):
    victims = kill_often(issuers, where, 10, 0.25, lambda names: judged(where, issuers, names))
    acknowledged, there = judged(where, issuers, victims)
    assert len(acknowledged) >= 5, "too few were made for the kills to hit anything"
    assert len(there - acknowledged) <= 10  # at most the one that each was busy with


def test_processes_that_write_at_once_make_one_chain(where, issuers):
    """They also open the ledger, and so make its tables, at once."""
    names = [issuers.start(where, many=15) for _ in range(4)]
    assert [issuers.end(name) for name in names] == [0, 0, 0, 0]
    acknowledged, there = judged(where, issuers, names)
    assert acknowledged == there
    assert len(there) == 60
    with Ledger(where, key=KEY) as ledger:
        by = [ledger.promises(subject=f"{name} 14")[0].number for name in names]
    assert len(set(by)) == 4
