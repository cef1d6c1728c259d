"""A progress bar on standard error, for work that takes a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

Item = TypeVar("Item")


class Progress:
    """Counts what is done, how fast it goes and when it will end.

    On a terminal it redraws one line; elsewhere it stays silent until the last line, so that a log
    file gets one line and not thousands.
    """

    def __init__(
        self, total: int, what: str, *, show: bool = True, stream: TextIO | None = None
    ) -> None:
        self.total = total
        self.what = what
        self.show = show
        self.stream = stream if stream is not None else sys.stderr
        self.done = 0
        self.note = ""
        self._start = time.monotonic()
        self._drawn = 0.0

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, one by one, with the bar drawn after each."""
        for item in items:
            yield item
            self.step(self.note)

    def step(self, note: str = "") -> None:
        """One more is done; the note is shown behind the bar."""
        self.done += 1
        self.note = note
        last = self.done == self.total
        now = time.monotonic()
        if self.show and (last or (self.stream.isatty() and now - self._drawn > 0.1)):
            self._drawn = now
            self.stream.write(f"\r{self._line(now - self._start)}" + ("\n" if last else ""))
            self.stream.flush()

    def _line(self, spent: float) -> str:
        filled = round(24 * self.done / self.total)
        bar = "━" * filled + "─" * (24 - filled)
        if self.done == self.total:
            clock = f"{spent:.1f} s"
        else:
            clock = f"{spent / self.done * (self.total - self.done):.0f} s left"
        return f"{self.what} {bar} {self.done}/{self.total}  {clock}  {self.note}".rstrip()
