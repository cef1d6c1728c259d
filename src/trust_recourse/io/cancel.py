"""Long work that its caller may cancel.

A long loop asks `check()` now and then. It does nothing, unless the loop runs within
`cancellable(asked)` and `asked()` has come true: then it raises `Cancelled`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Cancelled(Exception):  # noqa: N818  nothing went wrong
    """The caller cancelled the work; there is no answer."""


def _nobody() -> bool:
    return False


_asked: ContextVar[Callable[[], bool]] = ContextVar("asked", default=_nobody)


@contextmanager
def cancellable(asked: Callable[[], bool]) -> Iterator[None]:
    """End the work within as soon as `asked()` is true, such as `threading.Event().is_set`.

    >>> with cancellable(lambda: True):
    ...     check()
    Traceback (most recent call last):
    trust_recourse.io.cancel.Cancelled: called off
    """
    before = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(before)


def check() -> None:
    """Raise `Cancelled` if the work was called off."""
    if _asked.get()():
        raise Cancelled("called off")
