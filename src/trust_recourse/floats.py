"""Floats as the ordered, finite set they are."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

_FORMATS = {"float64": ("<d", "<q"), "float32": ("<f", "<i")}


def first_float(
    holds: Callable[[float], bool], least: float = 0.0, most: float = 1.0, kind: str = "float64"
) -> float | None:
    """The least float of a kind in [least, most] where an increasing condition holds, by bisection.

    The bits of non-negative floats, read as integers, are in the order of the floats.

    >>> first_float(lambda m: 3 * m >= 1), first_float(lambda m: m > 1)
    (0.3333333333333333, None)
    >>> first_float(lambda m: m >= -0.1, -1.0, 1.0, "float32")
    -0.09999999403953552
    """
    low, high = _place(least, kind), _place(most, kind)
    if not holds(most):
        return None
    while low < high:
        middle = (low + high) // 2
        if holds(_float(middle, kind)):
            high = middle
        else:
            low = middle + 1
    return _float(low, kind)


def last_float_before(holds: Callable[[float], bool]) -> float:
    """The greatest float in [0, 1] where an increasing condition does not hold; −∞ if none is.

    >>> last_float_before(lambda m: m > 0.5), last_float_before(lambda m: m >= 0)
    (0.5, -inf)
    """
    first = first_float(holds)
    if first is None:
        return 1.0
    return -math.inf if first == 0.0 else math.nextafter(first, 0.0)


def _place(value: float, kind: str) -> int:
    """The place of a float in their order, counted from 0."""
    number, bits = _FORMATS[kind]
    place: int = struct.unpack(bits, struct.pack(number, abs(value)))[0]
    return place if value >= 0 else -place


def _float(place: int, kind: str) -> float:
    number, bits = _FORMATS[kind]
    value: float = struct.unpack(number, struct.pack(bits, abs(place)))[0]
    return value if place >= 0 else -value
