"""Values that may be codes for what is missing, such as 999, −9 or XNA."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.scalars import NUMBER, Floats, Value
from trust_recourse.schema.guess.levels import only_untold, untold

Ints = NDArray[np.intp]

CODES = (-1, -7, -8, -9, -99, -999, -9999, 666, 777, 888, 999, 9999, 99999, 999999)
NINES = re.compile(r"9+[6-9]|66+|77+|88+")  # 99 and 999, and those before them: 97, 98
TOGETHER = 3  # codes at one end
DISTINCT = 8  # other values, for one that is no usual code to stand apart
DETACHED = 2.0  # gaps as between the others, of which a gap is more
PART = 0.1  # of the others' range, at least, for a gap to count
# words that may say that nothing is known, or name something: a region, a field that is not for all
DOUBTFUL = re.compile(
    r"na|xna|null|n\.? ?a\.?|#n/a|k\.? ?a\.?|not (available|applicable)|-+|\.+|\*+", re.IGNORECASE
)


def sentinels(column: Floats, *, positive: bool = False) -> list[float]:
    """The numbers of a column that may mean missing: the usual codes below 0, or far from others.

    Nines may lie nearer, where a gap parts them from the others. So may 0 in a column whose values
    are `positive` by their meaning, as a score is. The rest is searched again until nothing
    is found: codes may stand at both ends.

    >>> sentinels(np.array([*range(10, 58), 999.0, 999.0])), sentinels(np.array([-9.0, 0, 1, 2]))
    ([999.0], [-9.0])
    >>> sentinels(np.array([*range(12), 96.0, 98, 98, 98]))
    [96.0, 98.0]
    >>> sentinels(np.array([-1.0, *range(300, 850, 5), 999.0, 999, 999]))
    [-1.0, 999.0]
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    found: list[float] = []
    while more := (
        _below_zero(values)
        or _apart(values, counts)
        or [-value for value in _apart(-values[::-1], counts[::-1])]
        or _nines(values, counts)
        or (_zero(values, counts) if positive else [])
    ):
        found += more
        rest = ~np.isin(values, more)
        values, counts = values[rest], counts[rest]
    return sorted(found)


def beyond(column: Floats, lower: float, upper: float) -> list[float]:
    """The usual codes of a column that lie far above a schema's bounds, or below 0 and them.

    >>> beyond(np.array([640.0, 999, 860, -9]), 300, 850), beyond(np.array([99.0]), 18, 98)
    ([-9.0, 999.0], [])
    """
    values = np.unique(column[~np.isnan(column)])
    room = upper - lower if np.isfinite(lower) else abs(upper)
    far_above = np.isfinite(upper) & (values - upper >= max(PART * room, 1.0))
    below = (values < 0) & (lower >= 0)
    found: list[float] = values[np.isin(values, CODES) & (below | far_above)].tolist()
    return found


def _below_zero(values: Floats) -> list[float]:
    """The usual codes, where nothing else is below 0 and something is above."""
    below: list[float] = values[values < 0].tolist()
    several = bool((values > 1).any()) or len(values) > DISTINCT
    return below if set(below) <= set(CODES) and several else []


def _nines(values: Floats, counts: Ints) -> list[float]:
    """The greatest values, if they are nines and a gap parts them from the others."""
    for at in range(len(values) - 1, max(len(values) - 1 - TOGETHER, DISTINCT - 1), -1):
        codes: list[float] = values[at:].tolist()
        if not all(code.is_integer() and NINES.fullmatch(str(int(code))) for code in codes):
            break
        if counts[at:].max() > 2 and _parted(values[:at], values[at]):
            return codes
    return []


def _zero(values: Floats, counts: Ints) -> list[float]:
    """0, if it is the least and a gap parts it from the others."""
    least = len(values) > DISTINCT and values[0] == 0 and counts[0] > 2
    return [0.0] if least and _parted(-values[:0:-1], 0.0) else []


def _parted(others: Floats, value: float) -> bool:
    """Whether the gap up to a value is larger than any between the others, and no small one."""
    gap = value - others[-1]
    between = float(np.diff(others).max())
    return bool(gap > DETACHED * between and gap >= PART * (others[-1] - others[0]))


def _apart(values: Floats, counts: Ints) -> list[float]:
    """The greatest values that lie further from all others than these, and they, spread.

    At least one of them is repeated: next to 98, 96 may occur only once.
    """
    for at in range(len(values) - 1, max(len(values) - 1 - TOGETHER, 2), -1):
        usual = np.isin(abs(values[at:]), CODES)
        repeated = bool((counts[at:] >= np.where(usual, 2, 3)).any())
        if not repeated or (not usual.all() and at < DISTINCT):
            continue
        away = values[at] - values[at - 1]
        if away > values[at - 1] - values[0] and away > values[-1] - values[at]:
            return [*values[at:].tolist()]
    return []


# ---------------------------------------------------------------- among words


def unsaid(words: Sequence[Value]) -> list[Value]:
    """The words that say that nothing is known, and only that, if there are others.

    >>> unsaid(("clerk", "unknown", "?")), unsaid(("unknown or none", "NA", "house"))
    (['unknown', '?'], [])
    """
    found: list[Value] = [
        each
        for each in words
        if isinstance(each, str) and only_untold(each) and not DOUBTFUL.fullmatch(each)
    ]
    return found if len(found) < len(words) else []


def doubtful(words: Sequence[Value]) -> list[Value]:
    """The words that may say that nothing is known, if there are others: codes, or halves.

    >>> doubtful(("unknown or none", "NA", "house")), doubtful(("A11", "A12", "-9"))
    (['unknown or none', 'NA'], ['-9'])
    >>> doubtful(("+", "-")), doubtful(("01234", "99999")), doubtful((-1, 0, 1)), doubtful(("-9",))
    ([], [], [], [])
    """
    plain = unsaid(words)
    found = [each for each in words if each not in plain and _may_be_code(each, words)]
    return found if len(found) + len(plain) < len(words) else []


def _may_be_code(word: Value, words: Sequence[Value]) -> bool:
    number = _number(word)
    if number is None:
        text = str(word).strip()
        # a plus and a minus alone are a rhesus factor
        lettered = any(re.search(r"[^\W\d]", str(each)) for each in words)
        return untold(text) or (bool(DOUBTFUL.fullmatch(text)) and lettered)
    others = [_number(each) for each in words if each != word]
    told = [each for each in others if each is not None]
    apart = len(told) < len(others) or (min([1.0, *told]) >= 0 > number and max([0.0, *told]) > 1)
    return apart and number in CODES


def _number(word: Value) -> float | None:
    """A number, or the text of one."""
    if isinstance(word, str):
        return float(word) if NUMBER.fullmatch(word.strip()) else None
    return float(word)
