"""Single values as Python scalars: numbers, blanks and booleans."""

from __future__ import annotations

import math
import numbers
import re
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from trust_recourse.io.arrays import Bools as Bools
from trust_recourse.io.arrays import Floats as Floats
from trust_recourse.io.arrays import Ints as Ints

Value: TypeAlias = str | int | float | bool
INF = math.inf

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)  # as text

BLANKS = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))  # among numbers, in lower case

YES = {"yes": True, "true": True, "no": False, "false": False}


def plain(value: Any) -> Any:
    """Give a Python scalar for a NumPy one, and None for every way of writing a blank."""
    value = value.item() if isinstance(value, np.generic) else value
    blank = value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
    return None if blank else value


def python(value: Any) -> Any:
    """Give the Python scalar for one of NumPy; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def scalars(given: object) -> tuple[Any, ...]:
    """Give one value or several of them as a tuple of Python scalars."""
    if isinstance(given, (set, frozenset)):
        given = sorted(given, key=repr)
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given.item()
    return tuple(map(plain, given if isinstance(given, (tuple, list, np.ndarray)) else (given,)))


def same(a: float, b: float) -> bool:
    """Say whether two codes are equal, or both missing."""
    return a == b or (math.isnan(a) and math.isnan(b))


def is_number(value: object) -> bool:
    """Say whether this is a finite number that a float can hold, and not a boolean."""
    try:
        return isinstance(value, (int, float)) and type(value) is not bool and math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def is_real(value: object) -> bool:
    """Whether this is a number of Python or NumPy, and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_count(name: str, given: int) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not isinstance(given, numbers.Integral) or isinstance(given, bool) or given < 1:
        raise ValueError(f"{name}={given!r}; expected a whole number of at least 1")
