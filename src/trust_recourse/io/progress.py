"""The progress bar, on standard error, for work that takes a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TextIO, TypeVar

Item = TypeVar("Item")

REDRAWN, LOGGED = 0.1, 10.0  # seconds between two lines, on a terminal and elsewhere
WIDTH = 24


class Progress:
    """Counts what is done, and says when it will end.

    On a terminal it redraws one line; elsewhere, as in a log, it writes one now and then.
    """

    def __init__(
        self, total: int, what: str, *, show: bool = True, stream: TextIO | None = None
    ) -> None:
        self.total, self.what, self.show = total, what, show
        self.stream = stream if stream is not None else sys.stderr
        self.done, self.note = 0, ""
        self._start = self._drawn = time.monotonic()
        self._first: tuple[int, float] | None = None  # what a start takes is no rate

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, one by one, with the bar drawn after each."""
        for item in items:
            yield item
            self.step(self.note)

    def step(self, note: str = "") -> None:
        """One more is done; the note is shown behind the bar."""
        self.reach(self.done + 1, self.total, note)

    def reach(self, done: int, total: int, note: str = "") -> None:
        """So many are done, of so many."""
        self.done, self.total, self.note = done, total, note
        now, last = time.monotonic(), done == total
        self._first = self._first or (done, now)
        live = self.stream.isatty()
        if self.show and (last or now - self._drawn > (REDRAWN if live else LOGGED)):
            self._drawn = now
            begin, end = ("\r", "\x1b[K" + "\n" * last) if live else ("", "\n")
            self.stream.write(f"{begin}{self._line(now)}{end}")
            self.stream.flush()

    def _line(self, now: float) -> str:
        filled = round(WIDTH * self.done / self.total)
        bar = "━" * filled + "─" * (WIDTH - filled)
        told = f"{self.what} {bar} {self.done:,}/{self.total:,}  {self._clock(now)}  {self.note}"
        return told.rstrip()

    def _clock(self, now: float) -> str:
        if self.done == self.total:
            return f"{now - self._start:.1f} s"
        before, since = self._first or (0, now)
        if self.done == before:
            return ""
        left = (now - since) / (self.done - before) * (self.total - self.done)
        return f"{timedelta(seconds=round(left))} left"
