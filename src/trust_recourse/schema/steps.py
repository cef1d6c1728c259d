"""Exact multiples of a step, as a person counts in decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache


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
