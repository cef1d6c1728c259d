"""The peer's end of the wire: how a script in another environment is asked, and asks the model.

Lines of JSON on standard input and output. The first line in is the request; then, as often as it
likes, the script sends `{"predict": rows}` and reads back the probabilities of class 1; for each
query it sends an answer; last `{"versions": ...}`. `experiments/peers.py` holds the other end.
Nothing but the standard library is used here, so that it runs in any environment.
"""

import json
import math
import os
import signal
import sys
import time
from contextlib import contextmanager
from importlib.metadata import version

# What a library prints must not end up among the lines of JSON.
_out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


class OutOfTimeError(Exception):
    """A query took longer than its seconds."""


class Wire:
    """One conversation: the request, the model on the other side, and the answers."""

    def __init__(self):
        self.request = json.loads(sys.stdin.readline())
        self.calls = 0
        self.rows = 0
        self.waited = 0.0

    def probability(self, rows):
        """The model's probability of class 1 at rows of numbers, in the order of the request."""
        start = time.perf_counter()
        rows = [[float(value) for value in row] for row in rows]
        with _undisturbed():
            self._say({"predict": rows})
            given = json.loads(sys.stdin.readline())["probability"]
        self.calls += 1
        self.rows += len(rows)
        self.waited += time.perf_counter() - start
        return given

    def both(self, rows):
        """Probabilities of class 0 and class 1; class 0 loses a tie, as it does in our models."""
        below = math.nextafter(0.5, 0.0)
        return [[below if yes == 0.5 else 1.0 - yes, yes] for yes in self.probability(rows)]

    def answer_each(self, ask, *packages):
        """Put every query to `ask`, which gives a list of rows, and send what came of each.

        A query that fails or runs out of its seconds has no rows and a note that says why.
        """
        most = self.request["most_seconds"]
        for x in self.request["queries"]:
            self.calls, self.rows, self.waited = 0, 0, 0.0
            found, note = [], ""
            start = time.perf_counter()
            try:
                with _within(most):
                    found = [[float(value) for value in row] for row in ask(x)]
            except OutOfTimeError:
                note = f"stopped after {most:g} seconds"
            except Exception as error:
                note = f"{type(error).__name__}: {error}"
            self._say(
                {
                    "found": found, "note": note, "seconds": time.perf_counter() - start,
                    "calls": self.calls, "rows": self.rows, "waited": self.waited,
                }
            )  # fmt: skip
        self._say({"versions": {name: version(name) for name in packages}})

    def _say(self, message):
        _out.write(json.dumps(message) + "\n")
        _out.flush()


@contextmanager
def _undisturbed():
    """An alarm waits: between a question and its answer it would leave the answer on the wire."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])


@contextmanager
def _within(seconds):
    def stop(*_):
        raise OutOfTimeError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
