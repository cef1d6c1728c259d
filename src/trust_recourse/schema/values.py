"""Single values: exact multiples of a step, and how a value is read, written and named."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Value: TypeAlias = str | int | float | bool
Floats: TypeAlias = NDArray[np.float64]

INF = math.inf
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)  # as text
BLANKS = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))  # among numbers, in lower case
MOST_DIGITS = 20  # after which all of a number is written
LONGEST = 1000  # letters of an error, which may quote what was given
LONGEST_WORD = 100  # letters of a word that is compared with known ones, which is quadratic work
TINY = 1e-9  # a radius below it is rounding's
YES = {"yes": True, "true": True, "no": False, "false": False}


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, its middle cut out where it grows long: an error may quote all that was given.

    >>> shortened("given 'xxxxxxxxxxxxxxxxxxxxxxxx', expected a number", longest=32)
    "given 'xxxxxxxxx… (51 letters in all) …xpected a number"
    """
    half = longest // 2
    if len(text) <= longest:
        return text
    return f"{text[:half]}… ({len(text)} letters in all) …{text[-half:]}"


class SchemaError(ValueError):
    """What was given to a schema is not what it can hold; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


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


def written(value: float, step: float | None = None) -> str:
    """Write a value with its step's decimals, or all it needs, so that it reads back the same."""
    value = float(value)
    exponent = Decimal(repr(float(step or 1.0))).normalize().as_tuple().exponent
    decimals = -int(exponent) if -9 <= int(exponent) < 0 else 0
    text = f"{value + 0.0:.{decimals}f}" if abs(value) < 1e16 else "nan"
    return text if float(text) == value else repr(value)


def floored(value: float, levels: Iterable[float] = (), digits: int = 3) -> str:
    """Write a number rounded down, with more digits where it would fall below a level it reaches.

    Counted in decimals, as 100 · 0.57 falls short of 57 in floats.

    >>> floored(0.49996), floored(0.57), floored(0.8507, [0.8505]), floored(0.8507, [0.9])
    ('0.499', '0.570', '0.8507', '0.850')
    """
    whole = _decimal(value)
    reached = [level for level in map(_decimal, levels) if level <= whole]
    for kept in range(digits, MOST_DIGITS):
        told = whole.quantize(Decimal(1).scaleb(-kept), ROUND_FLOOR)
        if all(level <= told for level in reached):
            return f"{told:f}"
    return f"{whole:f}"


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def percent(share: float, digits: int = 1) -> str:
    """Write a share in percent, rounded down.

    >>> percent(0.9996), percent(1.0)
    ('99.9%', '100.0%')
    """
    return f"{Decimal(floored(share, digits=digits + 2)).scaleb(2):f}%"


def distance(radius: float | None) -> str:
    """Write a radius within which a decision is kept, rounded down; None is one that is not known.

    >>> distance(0.0756), distance(0.00012349), distance(1e-17), distance(math.inf), distance(None)
    ('0.075', '0.00012', '0', 'any', 'unknown')
    """
    if radius is None:
        return "unknown"
    if radius == math.inf:
        return "any"
    if radius < TINY:
        return "0"
    return floored(radius, digits=max(3, 1 - _decimal(radius).adjusted()))


def signed(value: float, digits: int = 3) -> str:
    """Write a change with its sign; nothing is +0.

    >>> signed(-0.0001), signed(-0.25)
    ('+0.000', '-0.250')
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def plain(value: Any) -> Any:
    """Give a Python scalar for a NumPy one, and None for every way of writing a blank."""
    value = value.item() if isinstance(value, np.generic) else value
    blank = value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
    return None if blank else value


def scalars(given: object) -> tuple[Any, ...]:
    """Give one value or several of them as a tuple of Python scalars."""
    if isinstance(given, (set, frozenset)):
        given = sorted(given, key=repr)
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


def near(word: object, known: Collection[str]) -> str:
    """Suggest the known word that was probably meant, for the end of an error."""
    short = [each for each in known if len(each) <= LONGEST_WORD]
    close = difflib.get_close_matches(str(word)[:LONGEST_WORD], short, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def some(values: Collection[object]) -> str:
    """List values for an error, not too many of them."""
    shown = ", ".join(repr(value) for value in list(values)[:8])
    return shown + (f", … ({len(values)} in all)" if len(values) > 8 else "")


def refuse_repeated(what: str, names: Collection[Any]) -> None:
    """Refuse names that occur more than once."""
    if len(set(names)) < len(names):
        twice = sorted(str(name) for name, times in Counter(names).items() if times > 1)
        raise SchemaError(f"{what}: given {some(twice)} more than once, expected each name once")


def read_whole(path: str | os.PathLike[str], most: int) -> str:
    """Read a text in UTF-8 of at most so many bytes; a device or a pipe may have no end."""
    source = Path(path)
    if source.exists() and not source.is_file():
        raise SchemaError(f"{source}: not a file; expected one with text in UTF-8")
    with source.open("rb") as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise SchemaError(f"{source}: more than {most:,} bytes, the most that is read")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise SchemaError(f"{source}: not a text in UTF-8 (byte {error.start})") from None


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all; text is written as UTF-8."""
    beside = Path(path).with_name(f".{Path(path).name}.{os.getpid()}")
    try:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
