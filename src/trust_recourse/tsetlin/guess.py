"""A cheap point that reaches a level, by local search, compiled: what a proof is the quicker by.

Notation as in `bounds`. Where one feature alone takes another cell, clause j has the product
P_j F' / F; so all points one move away are judged by one look at the table of factors. From the
cheapest point on, the move of most gain for its cost is made until the level is reached; then what
is not needed is taken back; then a feature in turn is forced to a value of its own, and the others
follow.

Of a link of votes the gains are those of the mean vote, which say where to go and not whether one
is there: that the number itself says. Nothing here proves anything.

A call does so much work and no more, about a multiplication each, and the next goes on where it was
left, which `state` says: what is found is the same however the work is cut.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trust_recourse.cells import GUESS, GUESSED, MORE, NO_GUESS, compiled
from trust_recourse.tsetlin.bounds import FLOOR, HEAD, LINEAR, dot, linear_sum, vote_law, vote_mean
from trust_recourse.tsetlin.kernels import CONTRACT, inline

ROUNDS = 4  # of all that is tried, at most
TINY = 1e-12
# `state`: work left · 0 until the level is reached, 1 until all is taken back · which of the forced
# is tried, 0 before, 1 until it reaches the level · whether something was gained in this round, and
# how many were before · the step, or the candidate, of a search or a taking back, and what of this
# was best so far: 1 + the feature, and the candidate
LEFT, PHASE, FORCED, TRYING, BETTER, ROUND, STEP, ITS, TO = range(9)

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
        number = linear_sum(numbers, g, P, C, C)
    else:
        vote_law(P, C, C, P, _u(2) * C)
        number = vote_mean(numbers, g, P, _u(2) * C, C)
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
            sign = 1.0 if j < C >> _u(1) else -1.0
            u = numbers[g + j] if layout[9] == LINEAR else sign
            P[per + j] = side * u * P[j] / max(numbers[here + j], FLOOR)
            now += side * u * P[j]
        for c in range(offset[f], offset[f + 1]):
            gains[c] = dot(numbers, _factor(layout, f, cells[c]), P, per, C) - now


@inline
def _work(layout: Any) -> Any:
    """That of `_value`."""
    d, C = layout[0], layout[1]
    return C * (d + 2) + (0 if layout[9] == LINEAR else C * C // 2)


@inline
def _cost(layout: Any, offset: Any, costs: Any, point: Any) -> float:
    total = 0.0
    for f in range(layout[0]):
        total += costs[offset[f] + point[f]]
    return total


@inline
def _reach(
    numbers: Any, layout: Any, side: int, cells: Any, offset: Any, costs: Any, need: float,
    most: float, point: Any, forced: int, P: Any, gains: Any, state: Any,
) -> int:  # fmt: skip
    """Make the moves of most gain for their cost until the level is reached."""
    d = layout[0]
    while state[STEP] < 4 * d:
        if state[LEFT] <= 0:
            return MORE
        value = _value(numbers, layout, side, cells, offset, point, P)
        state[LEFT] -= _work(layout)
        if value >= need:
            state[STEP] = 0
            return GUESSED
        _look(numbers, layout, side, cells, offset, point, P, gains)
        state[LEFT] -= layout[1] * (2 * d + offset[d])
        total = _cost(layout, offset, costs, point)
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
            break
        point[its] = to - offset[its]
        state[STEP] += 1
    state[STEP] = 0
    return NO_GUESS


@inline
def _take_back(
    numbers: Any, layout: Any, side: int, cells: Any, offset: Any, costs: Any, need: float,
    point: Any, P: Any, gains: Any, state: Any,
) -> int:  # fmt: skip
    """Take back what saves most while the level is kept, until nothing more can be."""
    d, value = layout[0], 0.0
    while True:
        if state[LEFT] <= 0:
            return MORE
        if layout[9] == LINEAR:
            value = _value(numbers, layout, side, cells, offset, point, P)
            _look(numbers, layout, side, cells, offset, point, P, gains)
            state[LEFT] -= _work(layout) + layout[1] * (2 * d + offset[d])
        best = TINY
        if state[ITS] > 0:
            f = state[ITS] - 1
            best = costs[offset[f] + point[f]] - costs[state[TO]]
        for f in range(d):
            now = point[f]
            paid = costs[offset[f] + now]
            for c in range(max(offset[f], state[STEP]), offset[f + 1]):
                if paid - costs[c] > best:
                    if layout[9] == LINEAR:
                        kept = value + gains[c] >= need + TINY
                    else:
                        if state[LEFT] <= 0:
                            state[STEP] = c
                            return MORE
                        point[f] = c - offset[f]
                        kept = _value(numbers, layout, side, cells, offset, point, P) >= need
                        point[f] = now
                        state[LEFT] -= _work(layout)
                    if kept:
                        best, state[ITS], state[TO] = paid - costs[c], f + 1, c
        its = state[ITS] - 1
        state[STEP], state[ITS] = 0, 0
        if its < 0:
            return GUESSED
        point[its] = state[TO] - offset[its]


def _guess(
    numbers: Any, layout: Any, side: int, need: float, offset: Any, cells: Any, costs: Any,
    forced: Any, best: Any, trial: Any, P: Any, gains: Any, state: Any,
) -> int:  # fmt: skip
    """From `best`, wherever that is, to a cheap point that reaches the level."""
    d = layout[0]
    if state[PHASE] == 0:
        said = _reach(
            numbers, layout, side, cells, offset, costs, need, np.inf, best, -1, P, gains, state
        )
        if said != GUESSED:
            return int(said)
        state[PHASE] = 1
    if state[PHASE] == 1:
        said = _take_back(numbers, layout, side, cells, offset, costs, need, best, P, gains, state)
        if said == MORE:
            return MORE
        state[PHASE] = 2
    least = _cost(layout, offset, costs, best)
    while state[ROUND] < ROUNDS:
        its = 0
        while state[FORCED] < forced.shape[0]:
            c = forced[state[FORCED]]
            while c >= offset[its + 1]:
                its += 1
            if state[TRYING] == 0:
                if best[its] == c - offset[its] or costs[c] >= least:
                    state[FORCED] += 1
                    continue
                for f in range(d):
                    trial[f] = best[f]
                trial[its] = c - offset[its]
                state[TRYING] = 1
            if state[TRYING] == 1:
                said = _reach(
                    numbers, layout, side, cells, offset, costs, need, least, trial, its, P, gains,
                    state,
                )  # fmt: skip
                if said == MORE:
                    return MORE
                if said == NO_GUESS:
                    state[TRYING] = 0
                    state[FORCED] += 1
                    continue
                state[TRYING] = 2
            said = _take_back(
                numbers, layout, side, cells, offset, costs, need, trial, P, gains, state
            )
            if said == MORE:
                return MORE
            state[TRYING] = 0
            state[FORCED] += 1
            cost = _cost(layout, offset, costs, trial)
            if cost < least * (1.0 - TINY):
                least, state[BETTER] = cost, 1
                for f in range(d):
                    best[f] = trial[f]
        state[FORCED] = 0
        state[ROUND] += 1
        if state[BETTER] == 0:
            break
        state[BETTER] = 0
    return GUESSED


@cache
def guess() -> Any:
    """`_guess`, compiled."""
    return compiled(GUESS, **CONTRACT)(_guess)
