"""The clock of searches, which stands still while code is compiled: that happens once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numba.core import event

LONG = 1.0  # seconds of compiling, after which it is worth a word
COMPILING = "Compiling once for this installation, which takes half a minute"


class _Compiling(event.Listener):
    """How long was compiled so far; code that is in the cache on disk is not."""

    def __init__(self) -> None:
        self.depth, self.began, self.spent = 0, 0.0, 0.0
        self.mark, self.functions = 0.0, 0  # since it was asked to be told
        self.say: Callable[[str], None] | None = None

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """One function begins, perhaps inside another."""
        if self.depth == 0:
            self.began = time.monotonic()
        self.depth += 1
        self._tell()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """It is done."""
        self.functions += 1
        self._tell()
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.monotonic() - self.began

    def total(self) -> float:
        """Seconds, those of what is being compiled too."""
        return self.spent + (time.monotonic() - self.began if self.depth else 0.0)

    def _tell(self) -> None:
        seconds = self.total() - self.mark
        if self.say is not None and seconds > LONG:
            self.say(f"{COMPILING}: {seconds:.0f} s, {self.functions} functions so far")


_COMPILING = _Compiling()
event.register("numba:compile", _COMPILING)  # type: ignore[no-untyped-call]


def now() -> float:
    """Seconds, less those in which code was compiled."""
    return time.monotonic() - _COMPILING.total()


def compiling() -> bool:
    """Whether code is being compiled."""
    return _COMPILING.depth > 0


def announce(say: Callable[[str], None]) -> None:
    """Have it said how far compiling is, function by function, if it goes on for long from now."""
    _COMPILING.mark, _COMPILING.functions, _COMPILING.say = _COMPILING.total(), 0, say
