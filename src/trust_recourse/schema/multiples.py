"""Exact multiples of a step, as a person counts in decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from trust_recourse.io.scalars import Floats

EXACT = 2.0**53  # whole numbers below it are floats


@lru_cache(maxsize=4096)
def ratio(value: float) -> tuple[int, int]:
    """Give the ratio a person means by a float: 0.1 is 1/10, 0.25 a quarter, 1/3 a third.

    Python divides integers with correct rounding, so `k * p / q` is the float nearest to the k-th
    multiple: the one that printing and reading back gives again.
    """
    value = float(value)  # a NumPy float has the same place in the cache, but another text
    meant = Fraction(repr(value))
    if len(Decimal(repr(value)).as_tuple().digits) > 15:
        simple = meant.limit_denominator(1000)
        meant = simple if float(simple) == value else Fraction(value)
    return meant.numerator, meant.denominator


@lru_cache(maxsize=4096)
def plus(a: float, b: float) -> float:
    """Add two floats as a person would: 0.7 and 0.1 make 0.8."""
    try:
        return float(Fraction(*ratio(a)) + Fraction(*ratio(b)))
    except OverflowError:
        return a + b


def multiple_below(step: float | None, limit: float) -> float:
    """Find the greatest multiple of step, as a float, up to limit (without a step, limit)."""
    return limit if step is None or math.isinf(limit) else _multiple_below(step, limit)


@lru_cache(maxsize=2**14)
def _multiple_below(step: float, limit: float) -> float:
    p, q = ratio(step)
    n, d = limit.as_integer_ratio()
    k = n * q // (d * p)
    # The next multiple lies above the limit as a real number, but its float may fall onto it.
    following = (k + 1) * p / q
    return following if following <= limit else k * p / q


def multiple_above(step: float | None, limit: float) -> float:
    """Find the least multiple of step, as a float, from limit on."""
    return 0.0 - multiple_below(step, -limit)  # multiples mirror at 0


def nearest_multiple(value: float, step: float | None) -> float:
    """The multiple of a step that is nearest to a value, of two the smaller."""
    if step is None or not math.isfinite(value):
        return value
    below = multiple_below(step, value)
    if value <= halfway(below, step):
        return below
    return multiple_above(step, value)


def halfway(multiple: float, step: float | None) -> float:
    """The greatest float that is rounded to a multiple, or to a lesser one."""
    if step is None or math.isinf(multiple):
        return multiple
    exact = Fraction(*ratio(multiple)) + Fraction(*ratio(step)) / 2
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, -math.inf)


def before_rounding(edge: float, step: float | None) -> float:
    """The greatest float that is rounded to at most an edge."""
    return halfway(multiple_below(step, edge), step)


def moved(values: Floats, step: float, counts: Floats) -> Floats:
    """Each value and so many steps more, as a person would add them up; ±∞ stay.

    >>> moved(np.array([0.1, 0.1]), 0.1, np.array([-1.0, 2.0])).tolist()
    [0.0, 0.3]
    """
    p, q = ratio(step)
    first = np.rint(values / step)
    found = (first + counts) * p / q
    # of exact floats, so rounded just as well; what is no multiple is added up by itself
    exact = (first * p / q == values) & (np.abs(found) * q < EXACT) & (q < EXACT)
    for at in np.flatnonzero(~exact & np.isfinite(counts) & np.isfinite(values)).tolist():
        (n, d), k = ratio(float(values[at])), int(counts[at])
        found[at] = (n * q + k * p * d) / (d * q)
    return np.asarray(found)


def steps_to(value: float, step: float, limits: Floats) -> Floats:
    """How many steps lead from a value to the last that is no more than each limit.

    >>> steps_to(2.0, 1.0, np.array([0.5, 2.0, 3.7])).tolist()
    [-2.0, 0.0, 1.0]
    """
    values = np.full(len(limits), value)
    counts = np.floor((limits - value) / step)
    counts = counts - (moved(values, step, counts) > limits)
    return np.asarray(counts + (moved(values, step, counts + 1.0) <= limits))
