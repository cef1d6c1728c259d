"""The ledger when processes die or write at once: what was acknowledged is there, whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from issuing import KEY, Issuers, judged, kill_often, prepared
from trust_recourse import Ledger
from trust_recourse.ledger import LedgerError


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


def test_threads_share_a_ledger_and_a_promise_is_redeemed_once(where):
    result = prepared()
    with Ledger(where, key=KEY) as ledger, ThreadPoolExecutor(4) as threads:

        def promise(at):
            return ledger.promise(result, subject=f"{at}", fingerprint="a function")

        def redeem(made):
            try:
                return ledger.redeem(made.id, made.option.x, result.recourse).due
            except LedgerError as error:
                return str(error)

        made = list(threads.map(promise, range(12)))
        assert sorted(each.number for each in made) == list(range(1, 13))
        ends = list(threads.map(redeem, [made[0]] * 8))
        assert ends.count(True) == 1
        assert sum("was redeemed already" in str(end) for end in ends) == 7
        assert ledger.verify().entries == 13


def test_a_commit_is_on_disk_whatever_the_servers_default(where):
    if where.startswith("postgresql"):
        where += "%20-csynchronous_commit%3Doff"
    with Ledger(where, key=KEY) as ledger, ledger._store.writing() as tables:
        connection = tables.connection
        if ledger._store.lite:
            asked = [connection.scalar(sa.text("PRAGMA synchronous"))]
            asked.append(connection.scalar(sa.text("PRAGMA journal_mode")))
            assert asked == [2, "wal"]  # 2 is FULL
        else:
            assert connection.scalar(sa.text("SHOW synchronous_commit")) == "on"
            assert connection.scalar(sa.text("SHOW transaction_isolation")) == "read committed"
