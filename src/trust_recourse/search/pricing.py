"""The priced bound of a box, compiled, and the points that a price buys.

Notation as in `arrays`. A model's `relaxation` gives each cell a **gain** such that a point meets a
level only if its gains add up to what is `needed`. A price λ for gain then bounds the cost from
below, by λ · needed + Σ_f min (cost − λ · gain), and the candidates with those minima are what is
**bought** at λ. `most` is the greatest sum of gains in the box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import inline, kernel
from trust_recourse.search.arrays import (
    BOUND,
    CUTOFF,
    ENOUGH,
    FURTHEST,
    HIGH,
    LOW,
    PRICE,
    ROBUST,
    SAFE,
)
from trust_recourse.search.boxes import corner_of, span_of, span_of_point
from trust_recourse.search.noise import loss_near

STEPS = 12  # of the search for the best price, at most


# ---------------------------------------------------------------- the bound


@inline
def _spending(task: Any, store: Any, slot: int, corner: Any, budget: float, spend: Any) -> None:
    """What the cheapest candidate of each cell costs more than the corner; ∞ beyond the budget."""
    d = corner.shape[0]
    for f in range(d):
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        first = task.first_cell[f]
        for c in range(first + task.cells[a], first + task.cells[b] + 1):
            spend[c] = np.inf
        for c in range(a, b + 1):
            at = first + task.cells[c]
            more = task.costs[c] - task.costs[task.offset[f] + corner[f]]
            if more <= budget and more < spend[at]:
                spend[at] = more


@inline
def _most_gain(task: Any, store: Any, slot: int, gains: Any, point: Any) -> float:
    """The greatest sum of gains in a box, and the candidates that have it."""
    d = point.shape[0]
    total = 0.0
    for f in range(d):
        most = -np.inf
        for c in range(store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f] + 1):
            g = gains[task.first_cell[f] + task.cells[task.offset[f] + c]]
            if g > most:
                most = g
                point[f] = c
        total += most
    return total


@inline
def relaxed(
    relaxation: Any, task: Any, how: Any, want: Any, store: Any, work: Any, slot: int, side: int,
    level: float, scratch: Any,
) -> tuple[float, float, bool]:  # fmt: skip
    """The gain that a level needs, the most there is, and whether that may be enough."""
    total = corner_of(task, store, slot, work.corner)
    budget = np.inf if how[FURTHEST] == 1 else want[CUTOFF] - total
    _spending(task, store, slot, work.corner, budget, work.spend)
    span_of(task, store, slot, work.span)
    needed = relaxation(
        task.numbers, task.layout, work.span, side, level, work.spend, budget, work.gains, scratch
    )
    reach = work.gains[work.gains.shape[0] - 1]
    most = _most_gain(task, store, slot, work.gains, work.corner)
    return needed, most, reach >= level and most >= needed - SAFE * (1.0 + abs(needed) + abs(most))


@kernel
def at_price(
    task: Any, store: Any, slot: int, gains: Any, price: float, point: Any
) -> tuple[float, float]:
    """The candidates with least cost − price · gain, the sum of that, and their gain."""
    d = point.shape[0]
    total, gain = 0.0, 0.0
    for f in range(d):
        best, its = np.inf, 0.0
        for c in range(store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f] + 1):
            at = task.offset[f] + c
            g = gains[task.first_cell[f] + task.cells[at]]
            value = task.costs[at] - price * g
            if value < best:
                best, its = value, g
                point[f] = c
        total += best
        gain += its
    return total, gain


@kernel
def best_price(
    task: Any, want: Any, store: Any, slot: int, gains: Any, needed: float, point: Any
) -> float:
    """The best bound λ · needed + Σ_f min (cost − λ · gain) over prices λ; it is in want[BOUND].

    It is concave in λ. Two prices with slopes of opposite sign bracket its top; the next is where
    their tangents meet.
    """
    price = want[PRICE]
    low_price, low_slope, low_value = 0.0, 0.0, -np.inf
    high_price, high_slope, high_value = np.inf, 0.0, 0.0
    best, its = -np.inf, price
    want[ENOUGH] = np.inf
    for _ in range(STEPS):
        total, gain = at_price(task, store, slot, gains, price, point)
        value, slope = price * needed + total, needed - gain
        if value > best:
            best, its = value, price
        if slope > 0.0:
            low_price, low_slope, low_value = price, slope, value
        else:
            want[ENOUGH] = price  # what is bought at this price has the gain that is needed
            high_price, high_slope, high_value = price, slope, value
            if slope == 0.0:
                break
        if high_price == np.inf:
            price = price * 4.0 + 1e-9
        elif low_value == -np.inf:
            price = price * 0.25
            if price < 1e-12:
                break
        else:
            rise = high_value - low_value + low_slope * low_price - high_slope * high_price
            following = rise / (low_slope - high_slope)
            meeting = low_value + low_slope * (following - low_price)
            inside = low_price < following < high_price
            if not inside or meeting <= best * (1.0 + 1e-6) + 1e-12:
                break
            price = following
    want[PRICE] = min(max(its, 1e-9), 1e9)
    want[BOUND] = best - SAFE * (1.0 + abs(best) + its * abs(needed))
    return its


@inline
def trimmed(
    task: Any, store: Any, slot: int, gains: Any, f: int, end: int,
    needed: float, most: float, price: float, room: float,
) -> int:  # fmt: skip
    """How many candidates at one end of a feature no better answer can use.

    Such a candidate leaves the others too little gain, or costs too much at the price: `room` is
    what the cheapest at the price leaves until the cutoff.
    """
    d = task.offset.shape[0] - 1
    a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
    least, top = np.inf, -np.inf
    for c in range(task.offset[f] + a, task.offset[f] + b + 1):
        g = gains[task.first_cell[f] + task.cells[c]]
        least = min(least, task.costs[c] - price * g)
        top = max(top, g)
    taken = 0
    while taken < b - a:
        c = task.offset[f] + (a + taken if end == 0 else b - taken)
        g = gains[task.first_cell[f] + task.cells[c]]
        if most - top + g >= needed and task.costs[c] - price * g <= room + least:
            break
        taken += 1
    return taken


# ---------------------------------------------------------------- points bought


@inline
def _meets(want: Any, out: Any) -> bool:
    """Whether bounds on a point's confidence lie wholly within the target."""
    return bool(out[0] >= want[LOW] and out[1] <= want[HIGH])


@inline
def _cost(task: Any, point: Any) -> float:
    total = 0.0
    for f in range(point.shape[0]):
        total += task.costs[task.offset[f] + point[f]]
    return total


@inline
def _polish(interval: Any, task: Any, want: Any, work: Any, point: Any) -> float:
    """Make a point that meets the target cheaper, a feature at a time; gives its cost."""
    d = point.shape[0]
    span, out = work.span, work.out
    span_of_point(task, point, span)
    for _ in range(2):
        for f in range(d):
            c = task.valley[f]
            step = 1 if c < point[f] else -1
            while 0 <= c != point[f]:
                span[f] = task.cells[task.offset[f] + c]
                span[d + f] = span[f]
                interval(task.numbers, task.layout, span, out, work.scratch)
                if _meets(want, out):
                    point[f] = c
                else:
                    c += step
            span[f] = task.cells[task.offset[f] + point[f]]
            span[d + f] = span[f]
    return _cost(task, point)


@inline
def dive(
    interval: Any, task: Any, priced: Any, how: Any, want: Any, store: Any, work: Any, slot: int,
    price: float,
) -> bool:  # fmt: skip
    """Look for a point that meets the target and is cheaper than the best so far.

    What is bought at a price is tried, then at higher prices.
    """
    d, point = task.offset.shape[0] - 1, work.corner
    for _ in range(16 if want[CUTOFF] == np.inf else 2):
        at_price(priced, store, slot, work.gains, price, point)
        span_of_point(task, point, work.span)
        interval(task.numbers, task.layout, work.span, work.out, work.scratch)
        if _meets(want, work.out):
            cost = _cost(task, point)
            if how[ROBUST] == 0:
                polish = cost <= 1.1 * want[CUTOFF]
                return polish and _polish(interval, task, want, work, point) < want[CUTOFF]
            # polished points lie on edges, where noise loses them
            if cost >= want[CUTOFF]:
                return False
            if not loss_near(interval, task, want, work, store.worst, slot * d, point):
                return True
        price *= 1.5
    return False
