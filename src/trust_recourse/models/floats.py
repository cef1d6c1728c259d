"""Floats as the ordered, finite set they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Holds = Callable[[NDArray[Any]], Any]  # of floats in ascending order: where a condition holds

WAYS = 256  # that a range is cut into, each time
_BITS = {"float64": np.int64, "float32": np.int32}


def first_float(
    holds: Holds, least: float = 0.0, most: float = 1.0, kind: str = "float64"
) -> float | None:
    """The least float of a kind in [least, most] where an increasing condition holds.

    The bits of non-negative floats, read as integers, are in the order of the floats. A range of
    them is cut into many, of which the condition leaves one.

    >>> first_float(lambda m: 3 * m >= 1), first_float(lambda m: m > 1)
    (0.3333333333333333, None)
    >>> first_float(lambda m: m.astype(float) >= -0.1, -1.0, 1.0, "float32")
    -0.09999999403953552
    """
    low, high = (int(place) for place in places_of(np.array([least, most], kind)))
    if not holds(np.array([most], kind))[0]:
        return None
    if low < 0 < high:  # so that no count of places is beyond an integer
        low, high = (low, 0) if holds(np.array([0.0], kind))[0] else (1, high)
    while low < high:  # the least place where it holds lies in [low, high]
        step = max((high - low) // WAYS, 1)
        places = low + step * np.arange(min(WAYS, high - low))
        found = np.asarray(holds(floats_at(places, kind)))
        at = int(found.argmax()) if found.any() else len(places)
        if at < len(places):
            high = int(places[at])
        low = int(places[at - 1]) + 1 if at else low
    return float(floats_at(np.array([low]), kind)[0])


def last_float_before(holds: Holds) -> float:
    """The greatest float in [0, 1] where an increasing condition does not hold; −∞ if none is.

    >>> last_float_before(lambda m: m > 0.5), last_float_before(lambda m: m >= 0)
    (0.5, -inf)
    """
    first = first_float(holds)
    if first is None:
        return 1.0
    return -math.inf if first == 0.0 else math.nextafter(first, 0.0)


def places_of(values: NDArray[Any]) -> NDArray[Any]:
    """The places of floats in their order, counted from 0.

    >>> places_of(np.array([-5e-324, -0.0, 1e-323]))
    array([-1,  0,  2])
    """
    size = np.abs(values).view(_BITS[values.dtype.name])
    return np.asarray(np.where(values >= 0, size, -size))


def floats_at(places: NDArray[np.int64], kind: str = "float64") -> NDArray[Any]:
    """The floats at these places."""
    size = np.abs(places).astype(_BITS[kind]).view(kind)
    return np.where(places >= 0, size, -size)
