"""How a confidence is written: rounded down, and never on the wrong side of a level.

What is promised is then there, and a confidence that is enough never reads as if it were not.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_FLOOR, Decimal

MOST_DIGITS = 20  # after which all of them are written


def floored(confidence: float, levels: Iterable[float] = (), digits: int = 4) -> str:
    """A confidence rounded down to these digits, or to as many as it takes to reach its levels.

    Counted in decimals: as floats, 100 · 0.57 falls short of 57.

    >>> floored(0.499999, [0.5]), floored(0.853172, [0.85315]), floored(0.853172, [0.9])
    ('0.4999', '0.85317', '0.8531')
    """
    whole = _decimal(confidence)
    reached = [level for level in map(_decimal, levels) if level <= whole]
    for kept in range(digits, MOST_DIGITS):
        told = whole.quantize(Decimal(1).scaleb(-kept), ROUND_FLOOR)
        if all(level <= told for level in reached):
            return f"{told:f}"
    return f"{whole:f}"


def out_of_100(confidence: float, levels: Iterable[float] = ()) -> str:
    """The same out of 100, in a whole number if that is enough.

    >>> out_of_100(0.869), out_of_100(0.57), out_of_100(0.85 - 1e-10), out_of_100(0.854, [0.8531])
    ('86', '57', '84', '85.4')
    """
    return f"{Decimal(floored(confidence, levels, digits=2)).scaleb(2):f}"


def level(confidence: float) -> str:
    """A level that was set, out of 100: all its digits.

    >>> level(0.5), level(0.8531), level(0.07)
    ('50', '85.31', '7')
    """
    return f"{_decimal(confidence).scaleb(2).normalize():f}"


def _decimal(confidence: float) -> Decimal:
    return Decimal(repr(float(confidence)))
