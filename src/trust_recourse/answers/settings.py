"""Checks of the numbers that functions of answers accept."""

from __future__ import annotations

import numbers


def check_count(name: str, given: int) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not isinstance(given, numbers.Integral) or isinstance(given, bool) or given < 1:
        raise ValueError(f"{name}={given!r}; expected a whole number of at least 1")


def is_real(given: object) -> bool:
    """Whether this is a number of Python or NumPy, and not a boolean."""
    return isinstance(given, numbers.Real) and not isinstance(given, bool)
