"""Processes that issue promises until they are done or killed.

Starting Python and importing takes a second, so that is done once, by a process that then forks for
every line `where name many` on its input. A fork says that it started; then, of each promise, that
it was made, only once the ledger has it; whoever waited for it says that it is gone.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import defaultdict
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from trust_recourse import Feature, Ledger, Recourse, Result, Schema, Status, Target
from trust_recourse.ledger.database import ENTRIES, SCHEMAS
from trust_recourse.ledger.pseudonyms import Key
from trust_recourse.ledger.seal import verified
from trust_recourse.question import Point

KEY = "a key for the tests, of no use elsewhere"
NAMED = {"fingerprint": "a function"}


def secret_file(path, text=KEY):
    """A file that only its owner can read, as a key's must be."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def answered(recourse, factual, x):
    """A result that took no search: one option, with these values."""
    schema, target = recourse.schema, Target(0.5)
    factual, point = schema.row(factual), Point(schema.action_set(x).own, 0.0, 0.0)
    option = recourse.option(
        schema.action_set(factual), factual, target, point, Status.FEASIBLE, lower_bound=0.0
    )
    status = {target: Status.FEASIBLE}
    return Result(recourse, factual, recourse.confidence(factual), (option,), status, engine="tpe")


def prepared():
    """A result that took no learning either: the model is a function."""
    schema = Schema((Feature("age", "integer", mutable=False), Feature("nodes", "integer")))
    recourse = Recourse(lambda table: 1 / (1 + table["nodes"].to_numpy()), schema)
    return answered(recourse, {"age": 60, "nodes": 9}, {"age": 60, "nodes": 1})


def issued(ledger, many):
    result = prepared()
    return [ledger.promise(result, subject=f"person {at}", **NAMED) for at in range(many)]


def forged(ledger, *statements):
    """Do to the tables what only their owner can do."""
    with ledger._store.engine.begin() as connection:
        if ledger._store.lite:
            found = sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            for name in connection.scalars(found).all():
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
        else:
            for table in (ENTRIES, SCHEMAS):
                connection.exec_driver_sql(f"ALTER TABLE {table.name} DISABLE TRIGGER ALL")
        for statement in statements:
            connection.execute(statement)


def one(number):
    return ENTRIES.c.number == number


def kind(table):
    return np.ones(len(table))


def issue(where, name, many, result, say):
    """Issue so many promises, and say of each when it is made."""
    with Ledger(where, key=KEY) as ledger:
        for at in range(many):
            promise = ledger.promise(result, subject=f"{name} {at}", fingerprint="a function")
            say(f"made {name} {promise.id}")


def serve():
    """Fork for every line of the input."""
    result = prepared()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait

    def say(line):
        os.write(1, f"{line}\n".encode())  # at once and whole: it is shorter than a pipe's buffer

    say("ready")
    for line in sys.stdin:
        where, name, many = line.split()
        if os.fork():
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if child := os.fork():
            say(f"started {name} {child}")
            _, status = os.waitpid(child, 0)
            say(f"gone {name} {os.waitstatus_to_exitcode(status)}")
            os._exit(0)
        try:
            issue(where, name, int(many), result, say)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)


class Issuers:
    """Those processes, as a test sees them."""

    def __enter__(self):
        paths = [*sys.path, str(Path(__file__).parent)]
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        )
        self.made = defaultdict(list)  # the ids that were acknowledged, by name
        self._pids, self._gone = {}, {}
        self._numbers = itertools.count()
        self._news = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()
        return self

    def __exit__(self, *_):
        for name in [name for name in self._pids if not self.ended(name)]:
            self.kill(name)  # a test that failed may have left it, to issue for ever
        self._process.stdin.close()
        self._listener.join()
        self._process.stdout.close()
        self._process.wait()

    def _listen(self):
        for line in self._process.stdout:
            what, *rest = line.split()
            with self._news:
                if what == "started":
                    self._pids[rest[0]] = int(rest[1])
                elif what == "made":
                    self.made[rest[0]].append(rest[1])
                elif what == "gone":
                    self._gone[rest[0]] = int(rest[1])
                self._news.notify_all()

    def start(self, where, many=10**9):
        """Begin to issue, in a process of its own, whose name is returned."""
        name = f"issuer-{next(self._numbers)}"  # never used twice, nor is its process killed twice
        self._process.stdin.write(f"{where} {name} {many}\n")
        self._process.stdin.flush()
        self._wait(lambda: name in self._pids)
        return name

    def wait_for_first(self, name):
        """Wait until it has made a promise."""
        self._wait(lambda: self.made[name] or name in self._gone)

    def end(self, name):
        """Wait until it is gone, and say how it ended: 0, or less the number of a signal."""
        self._wait(lambda: name in self._gone)
        return self._gone[name]

    def ended(self, name):
        """Whether it is gone."""
        with self._news:
            return name in self._gone

    def kill(self, name):
        """End it without a word of warning."""
        assert name not in self._gone, f"{name} ended by itself"
        os.kill(self._pids[name], signal.SIGKILL)
        assert self.end(name) == -signal.SIGKILL

    def _wait(self, over):
        with self._news:
            assert self._news.wait_for(over, timeout=60), "an issuing process does not answer"


def judged(where, issuers, names, read=True):
    """The promises that were acknowledged, and those that are there, by id; the chain must hold.

    Nothing that was acknowledged may be missing, and if they are read, each must be whole.
    """
    acknowledged = {each for name in names for each in issuers.made[name]}
    with Ledger(where, key=KEY) as ledger:
        found = ledger.verify(ledger.head())
        assert found.holds, found
        # At one moment: a server may still be writing what was asked of it by who was killed.
        with ledger._store.reading() as tables:
            found = verified(tables, Key(KEY.encode()))
            there = {entry.promise for entry in tables.entries()}
        assert found.proven or not there, found
        if read:
            assert {promise.id for promise in ledger.promises()} >= there
    assert len(there) == found.entries
    assert acknowledged <= there
    return acknowledged, there


def kill_often(issuers, where, kills, longest, judge, seed=0):
    """Kill issuing processes at random moments, so often; after each, judge all of them so far."""
    rng = random.Random(seed)
    victims = []
    for at in range(kills):
        victims.append(issuers.start(where))
        if at % 2:  # the others may be killed while they open the ledger, or make it
            issuers.wait_for_first(victims[-1])
        time.sleep(rng.uniform(0, longest))
        issuers.kill(victims[-1])
        judge(victims)
    return victims


if __name__ == "__main__":
    serve()
