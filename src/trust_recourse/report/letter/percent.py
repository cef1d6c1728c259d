"""Confidences out of 100, as letters say them: rounded down, never on the wrong side of a level."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from trust_recourse.io import wording
from trust_recourse.io.wording import beyond, floored


def out_of_100(confidence: float, levels: Iterable[float] = ()) -> str:
    """The same out of 100, in a whole number if that is enough.

    >>> out_of_100(0.869), out_of_100(0.57), out_of_100(0.85 - 1e-10), out_of_100(0.854, [0.8531])
    ('86', '57', '84', '85.4')
    """
    return f"{Decimal(floored(confidence, beyond(confidence, levels), digits=2)).scaleb(2):f}"


def level(confidence: float) -> str:
    """A level that was set, out of 100.

    >>> level(0.5), level(0.8531), level(0.07)
    ('50', '85.31', '7')
    """
    return f"{Decimal(wording.level(confidence)).scaleb(2).normalize():f}"
