"""What is compiled for the tests is compiled once.

`python -m compiling` does so before they begin: else workers would wait for each other. What it
leaves, one worker compiles; the others wait, and load it.
"""

from __future__ import annotations

import fcntl
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

from numba.core.dispatcher import Dispatcher

import trust_recourse

LOCKS = Path(trust_recourse.__file__).parent / "__pycache__" / "compiling.lock"  # a byte a function


@contextmanager
def alone(locks: Any, name: str) -> Iterator[None]:
    """Hold the lock of a function.

    A function waits for those that it calls alone, so no two wait for each other. Threads might:
    then the system refuses the lock, and the function is compiled twice.
    """
    at = crc32(name.encode())
    with suppress(OSError):
        fcntl.lockf(locks, fcntl.LOCK_EX, 1, at)
    try:
        yield
    finally:
        fcntl.lockf(locks, fcntl.LOCK_UN, 1, at)


def once() -> None:
    """Let every function be looked up in the cache when its lock is held, and be compiled then."""
    LOCKS.parent.mkdir(exist_ok=True)
    locks, compiling = LOCKS.open("a"), Dispatcher.compile

    def waiting(self: Any, signature: Any) -> Any:
        if not self.py_func.__module__.startswith(trust_recourse.__name__):
            return compiling(self, signature)
        with alone(locks, f"{self.py_func.__module__}.{self.py_func.__qualname__}"):
            return compiling(self, signature)

    Dispatcher.compile = waiting


def beforehand() -> None:
    """Ask some questions of each law, and learn as no law does: nearly all is called that way."""
    from laws.__main__ import LAWS, Task, judge

    once()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(judge, [Task(law, seed) for law in LAWS for seed in range(4)], chunksize=4)
    X, y = trust_recourse.haberman()
    keeping = trust_recourse.PTMClassifier(epochs=1, na_cells="keep", random_state=0).fit(X, y)
    keeping.predict_proba_mc(X.head(), random_state=0)


if __name__ == "__main__":
    beforehand()
