"""Floats as the ordered, finite set they are."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

_ONE = struct.unpack("<q", struct.pack("<d", 1.0))[0]


def first_float(holds: Callable[[float], bool]) -> float | None:
    """The least float in [0, 1] where an increasing condition holds, by bisecting the floats.

    The bits of non-negative floats, read as integers, are in the order of the floats.

    >>> first_float(lambda m: 3 * m >= 1), first_float(lambda m: m > 1)
    (0.3333333333333333, None)
    """
    low, high = 0, _ONE
    if not holds(1.0):
        return None
    while low < high:
        middle = (low + high) // 2
        if holds(_float(middle)):
            high = middle
        else:
            low = middle + 1
    return _float(low)


def last_float_before(holds: Callable[[float], bool]) -> float:
    """The greatest float in [0, 1] where an increasing condition does not hold; −∞ if none is.

    >>> last_float_before(lambda m: m > 0.5), last_float_before(lambda m: m >= 0)
    (0.5, -inf)
    """
    first = first_float(holds)
    if first is None:
        return 1.0
    return -math.inf if first == 0.0 else math.nextafter(first, 0.0)


def _float(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value
