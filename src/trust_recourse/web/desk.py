"""What a server works with: a model and its rules, the people, the ledger, and searches in threads.

The event loop never searches itself: `Desk.work` hands a job to a thread (the search's loop lets go
of Python's lock) and waits for it. Whoever stops waiting calls the job off.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from trust_recourse.cancel import cancellable

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import Recourse
    from trust_recourse.ledger import Ledger

Given = TypeVar("Given")


class Busy(Exception):  # noqa: N818  nothing is wrong with what was asked
    """More wait for an answer than the desk lets wait."""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, and how many may wait."""

    searches: int = 2  # at once
    waiting: int = 64  # for their turn; the next is told to come again
    seconds: float = 10.0  # of search for one confidence
    options: int = 10
    levels: int = 20  # confidences asked for at once
    rows: int = 1_000  # of a table
    body: int = 1_000_000  # bytes


@dataclass(frozen=True)
class Desk:
    """A model with its rules, whom it may be asked about, and where promises are kept."""

    recourse: Recourse
    people: pd.DataFrame | None = None  # to pick from on the page; none is needed
    ledger: Ledger | None = None
    organisation: str = ""
    contact: str = ""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        pool = ThreadPoolExecutor(self.limits.searches, thread_name_prefix="search")
        object.__setattr__(self, "_pool", pool)
        object.__setattr__(self, "_inside", [0])  # jobs that run or wait

    async def work(self, job: Callable[[], Given]) -> Given:
        """What the job gives, from a thread; cancelling this calls the job off."""
        inside: list[int] = self._inside  # type: ignore[attr-defined]
        if inside[0] >= self.limits.searches + self.limits.waiting:
            raise Busy(f"{inside[0]} questions are being answered or wait; ask again in a moment")
        called_off = threading.Event()

        def within() -> Given:
            with cancellable(called_off.is_set):
                return job()

        loop = asyncio.get_running_loop()
        inside[0] += 1
        try:
            return await loop.run_in_executor(
                self._pool,  # type: ignore[attr-defined]
                contextvars.copy_context().run,
                within,
            )
        finally:
            inside[0] -= 1
            called_off.set()

    def close(self) -> None:
        """Call off what waits and let go of the ledger."""
        self._pool.shutdown(wait=False, cancel_futures=True)  # type: ignore[attr-defined]
        if self.ledger is not None:
            self.ledger.close()
