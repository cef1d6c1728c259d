"""Numbers that may be codes for what is missing, such as 999 or −9."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

CODES = (-1, -7, -8, -9, -99, -999, -9999, 666, 777, 888, 999, 9999, 99999, 999999)
TOGETHER = 3  # codes at one end
DISTINCT = 8  # other values, for one that is no usual code to stand apart


def sentinels(column: Floats) -> list[float]:
    """The numbers of a column that may mean missing: the usual codes below 0, or far from others.

    >>> sentinels(np.array([*range(10, 58), 999.0, 999.0])), sentinels(np.array([-9.0, 0, 1, 2]))
    ([999.0], [-9.0])
    >>> sentinels(np.array([*range(12), 96.0, 98, 98, 98]))
    [96.0, 98.0]
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    below = [-value for value in _apart(-values[::-1], counts[::-1])]
    return _below_zero(values) or _apart(values, counts) or sorted(below)


def _below_zero(values: Floats) -> list[float]:
    """The usual codes, where nothing else is below 0 and something is above."""
    below: list[float] = values[values < 0].tolist()
    return below if set(below) <= set(CODES) and (values > 1).any() else []


def _apart(values: Floats, counts: Ints) -> list[float]:
    """The greatest values that lie further from all others than these, and they, spread.

    One of them at least is repeated: beside 98 it may be that 96 is there but once.
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
