"""A cheap point that reaches a level, by local search, compiled: what a proof is the quicker by.

Notation as in `bounds`. Where one feature alone takes another cell, clause j has the product
P_j F' / F; so all points one move away are judged by one look at the table of factors. From the
cheapest point on, the move of most gain for its cost is made until the level is reached; then what
is not needed is taken back; then a feature in turn is forced to a value of its own, and the others
follow.

Of a link of votes the gains are those of the mean vote, which say where to go and not whether one
is there: that the number itself says. Nothing here proves anything.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trust_recourse.cells import GUESS, compiled
from trust_recourse.tsetlin.bounds import FLOOR, HEAD, LINEAR, _dot, _law, _linear, _mean
from trust_recourse.tsetlin.kernels import CONTRACT, inline

ROUNDS = 4  # of all that is tried, at most
TINY = 1e-12

_u = np.uint64


@inline
def _factor(layout: Any, f: int, cell: int) -> Any:
    """Where the factors of a cell begin: runs of one cell are the factors themselves."""
    return _u(layout[6]) + _u(layout[HEAD + 3 * f + 1] + cell) * _u(layout[1])


@inline
def _value(
    numbers: Any, layout: Any, side: int, cells: Any, offset: Any, point: Any, P: Any
) -> float:
    """The number at a point, turned so that more is better; P[:C]: the products there."""
    d, C, empty, g = layout[0], _u(layout[1]), _u(layout[2]), _u(layout[3])
    for j in range(C):
        P[j] = 1.0
    for f in range(d):
        at = _factor(layout, f, cells[offset[f] + point[f]])
        for j in range(C):
            P[j] *= numbers[at + j]
    for j in range(C):
        P[C + j] = max(P[j] - numbers[empty + j], 0.0)
    if layout[9] == LINEAR:
        number = _linear(numbers, g, P, C, C)
    else:
        _law(P, C, C, P, _u(2) * C)
        number = _mean(numbers, g, P, _u(2) * C, C)
    return float(number if side > 0 else -number)


@inline
def _look(
    numbers: Any, layout: Any, side: int, cells: Any, offset: Any, point: Any, P: Any, gains: Any
) -> None:
    """gains[c]: what each candidate would add in its feature's place; `_value` was asked before."""
    d, C, g = layout[0], _u(layout[1]), _u(layout[3])
    per = _u(2) * C
    for f in range(d):
        here = _factor(layout, f, cells[offset[f] + point[f]])
        now = 0.0
        for j in range(C):
            sign = 1.0 if (j & _u(1)) == _u(0) else -1.0
            u = numbers[g + j] if layout[9] == LINEAR else sign
            P[per + j] = side * u * P[j] / max(numbers[here + j], FLOOR)
            now += side * u * P[j]
        for c in range(offset[f], offset[f + 1]):
            gains[c] = _dot(numbers, _factor(layout, f, cells[c]), P, per, C) - now


@inline
def _reach(
    numbers: Any, layout: Any, side: int, cells: Any, offset: Any, costs: Any, need: float,
    most: float, point: Any, forced: int, P: Any, gains: Any,
) -> bool:  # fmt: skip
    """Make the moves of most gain for their cost until the level is reached."""
    d, total = layout[0], 0.0
    for f in range(d):
        total += costs[offset[f] + point[f]]
    for _ in range(4 * d):
        value = _value(numbers, layout, side, cells, offset, point, P)
        if value >= need:
            return True
        _look(numbers, layout, side, cells, offset, point, P, gains)
        best, its, to = 0.0, -1, 0
        for f in range(d):
            if f == forced:
                continue
            paid = costs[offset[f] + point[f]]
            for c in range(offset[f], offset[f + 1]):
                gain, more = gains[c], costs[c] - paid
                if layout[9] == LINEAR:
                    gain = min(gain, need - value)
                if gain > TINY and total + more < most and gain > best * max(more, TINY):
                    best, its, to = gain / max(more, TINY), f, c
        if its < 0:
            return False
        total += costs[to] - costs[offset[its] + point[its]]
        point[its] = to - offset[its]
    return False


@inline
def _take_back(
    numbers: Any, layout: Any, side: int, cells: Any, offset: Any, costs: Any, need: float,
    point: Any, P: Any, gains: Any,
) -> float:  # fmt: skip
    """Take back what saves most while the level is kept; what is left costs so much."""
    d = layout[0]
    while True:
        value = _value(numbers, layout, side, cells, offset, point, P)
        if layout[9] == LINEAR:
            _look(numbers, layout, side, cells, offset, point, P, gains)
        best, its, to = TINY, -1, 0
        for f in range(d):
            now = point[f]
            paid = costs[offset[f] + now]
            for c in range(offset[f], offset[f + 1]):
                if paid - costs[c] > best:
                    if layout[9] == LINEAR:
                        kept = value + gains[c] >= need + TINY
                    else:
                        point[f] = c - offset[f]
                        kept = _value(numbers, layout, side, cells, offset, point, P) >= need
                    if kept:
                        best, its, to = paid - costs[c], f, c
            point[f] = now
        if its < 0:
            break
        point[its] = to - offset[its]
    total = 0.0
    for f in range(d):
        total += costs[offset[f] + point[f]]
    return total


def _guess(
    numbers: Any, layout: Any, side: int, need: float, offset: Any, cells: Any, costs: Any,
    forced: Any, best: Any, trial: Any, P: Any, gains: Any,
) -> bool:  # fmt: skip
    """From `best`, wherever that is, to a cheap point that reaches the level."""
    d = layout[0]
    if not _reach(numbers, layout, side, cells, offset, costs, need, np.inf, best, -1, P, gains):
        return False
    least = _take_back(numbers, layout, side, cells, offset, costs, need, best, P, gains)
    for _ in range(ROUNDS):
        before, its = least, 0
        for c in forced:
            while c >= offset[its + 1]:
                its += 1
            if best[its] == c - offset[its] or costs[c] >= least:
                continue
            for f in range(d):
                trial[f] = best[f]
            trial[its] = c - offset[its]
            if not _reach(
                numbers, layout, side, cells, offset, costs, need, least, trial, its, P, gains
            ):
                continue
            cost = _take_back(numbers, layout, side, cells, offset, costs, need, trial, P, gains)
            if cost < least * (1.0 - TINY):
                least = cost
                for f in range(d):
                    best[f] = trial[f]
        if least >= before:
            break
    return True


@cache
def guess() -> Any:
    """`_guess`, compiled."""
    return compiled(GUESS, **CONTRACT)(_guess)
