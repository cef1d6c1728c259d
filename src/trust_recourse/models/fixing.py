"""Which candidates a linear condition leaves, at the best multiplier of it; and a good answer.

Notation: costs c and gains g of the candidates of all features in one row, those of feature f from
first[f] on; `needed`, the gain that is enough. At a multiplier λ no answer costs less than
λ · needed + Σ_f min (c − λ g), and with a candidate in place of its feature's cheapest at λ, not
less than that and what it is dearer: one by which that is more than the incumbent goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.knapsack import MARGIN


class Fixed(NamedTuple):
    """The candidates of each feature that a multiplier leaves, its bound, and a good point.

    `room` is how much dearer each of these might be.
    """

    multiplier: float
    bound: float
    kept: list[Ints]
    point: Ints | None
    room: Floats


def fixed(
    costs: list[Floats],
    gains: list[Floats],
    needed: float,
    slack: float,
    incumbent: float,
    accept: Callable[[Ints], bool],
) -> Fixed | None:
    """What is left by the best multiplier; None where nothing is known to be enough."""
    first = np.cumsum([0, *map(len, costs)])
    c, g = np.concatenate(costs), np.concatenate(gains)
    if np.maximum.reduceat(g, first[:-1]).sum() < needed:
        return None
    below, above = np.empty((2, len(costs)), np.int64)
    multiplier, bound = _native.best_multiplier(c, g, first, needed, below, above)
    point, found = None, []
    for start in (below, above):
        cost = _native.mend_choice(c, g, first, needed + 2.0 * slack, start)
        if cost < incumbent:
            found.append((cost, start - first[:-1]))
    for cost, start in sorted(found, key=lambda each: each[0]):
        if accept(start):
            point, incumbent = start, cost
            break
    if incumbent == math.inf:
        return None
    priced = c - multiplier * g
    least = np.minimum.reduceat(priced, first[:-1])
    size = float(np.abs(least).sum()) + multiplier * abs(needed)
    bound -= 1e-10 * (1.0 + size)
    limit = incumbent + MARGIN * (1.0 + abs(incumbent))
    excess = priced - least.repeat(np.diff(first))
    stay = bound + excess <= limit
    if not np.logical_or.reduceat(stay, first[:-1]).all():  # there is nothing so cheap
        return None
    kept = [np.flatnonzero(stay[a:b]) for a, b in pairwise(first.tolist())]
    room = np.maximum(limit - bound - excess[stay], 0.0)
    return Fixed(multiplier, max(bound, 0.0), kept, point, room)
