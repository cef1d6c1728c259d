"""Reduced-cost fixing: which candidates a linear condition leaves at a multiplier of it.

Notation: costs c and gains g of the candidates of all features in one row, those of feature f from
first[f] on; `needed`, the gain that is enough. At a multiplier λ no answer costs less than
λ · needed + Σ_f min (c − λ g), and with a candidate in place of its feature's cheapest at λ, not
less than that and its **excess**: what it costs more there. One by which that is more than the
incumbent goes.
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

ROUNDING = 1e-10  # of all that a bound is the sum of


class Fixed(NamedTuple):
    """The candidates of each feature that a multiplier leaves, its bound, and a good point.

    `room` is how much dearer each of these might be.
    """

    multiplier: float
    bound: float
    kept: list[Ints]
    point: Ints | None
    room: Floats


def excess_of(
    costs: Floats,
    gains: Floats,
    multiplier: float,
    needed: float,
    first: Ints,
    size: float | None = None,
) -> tuple[float, Floats]:
    """What every answer costs at least, and how much more with each candidate.

    `size` is that of all that `needed` was computed from.
    """
    if needed == math.inf:
        return math.inf, np.zeros(len(costs))
    priced = costs - multiplier * gains
    least = np.minimum.reduceat(priced, first)
    terms = multiplier * (abs(needed) if size is None else size) + float(np.abs(least).sum())
    bound = multiplier * needed + float(least.sum()) - ROUNDING * (1.0 + terms)
    return bound, priced - least.repeat(np.diff(first, append=len(costs)))


def limit_of(incumbent: float) -> float:
    """The most that an answer may cost that is no dearer than the incumbent."""
    return incumbent + MARGIN * (1.0 + abs(incumbent))


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
    multiplier, _ = _native.best_multiplier(c, g, first, needed, below, above)
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
    bound, excess = excess_of(c, g, multiplier, needed, first[:-1])
    limit = limit_of(incumbent)
    stay = bound + excess <= limit
    if not np.logical_or.reduceat(stay, first[:-1]).all():  # there is nothing so cheap
        return None
    kept = [np.flatnonzero(stay[a:b]) for a, b in pairwise(first.tolist())]
    room = np.maximum(limit - bound - excess[stay], 0.0)
    return Fixed(multiplier, max(bound, 0.0), kept, point, room)
