"""The Lagrangian bound of a box, compiled, and the points that a multiplier buys.

Notation as in `arrays`. A kernel's `relaxation` gives each cell a **gain** such that a point meets
a level only if its gains add up to what is `needed`. A multiplier λ for gain then bounds the cost
from below, by λ · needed + Σ_f min (cost − λ · gain), and the candidates with those minima are
**bought** at λ. `most` is the greatest sum of gains in the box. Several conditions are bounded one
after the other, each on the costs that the multipliers of those before it leave: `costs`. The cell
of candidate c is cells[base + c], in a grid whose feature f begins at cell first_cell[d k + f].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import inline, inner
from trust_recourse.search.arrays import (
    AROUND,
    BOUND,
    CUTOFF,
    ENOUGH,
    FURTHEST,
    HIGH,
    LAYOUT,
    LOW,
    MEMORY,
    MULTIPLIER,
    NUMBERS,
    SAFE,
    SCRATCH,
)
from trust_recourse.search.boxes import (
    bounded,
    broken,
    cheapest,
    corner_of,
    memory_of,
    span_of,
    span_of_point,
)
from trust_recourse.search.following import settle
from trust_recourse.search.robust import loss_near

STEPS = 12  # of the search for the best multiplier, at most


# ---------------------------------------------------------------- the bound


@inline
def _spending(
    task: Any, store: Any, slot: int, k: int, cells: Any, base: int, corner: Any, budget: float,
    spend: Any,
) -> None:  # fmt: skip
    """What the cheapest candidate of each cell costs more than the corner; ∞ beyond the budget."""
    d = corner.shape[0]
    for f in range(d):
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        first = task.first_cell[k * d + f]
        for c in range(first + cells[base + a], first + cells[base + b] + 1):
            spend[c] = np.inf
        for c in range(a, b + 1):
            at = first + cells[base + c]
            more = task.costs[c] - task.costs[task.offset[f] + corner[f]]
            if more <= budget and more < spend[at]:
                spend[at] = more


@inline
def _most_gain(
    task: Any, store: Any, slot: int, k: int, cells: Any, base: int, gains: Any, point: Any
) -> float:
    """The greatest sum of gains in a box, and the candidates that have it."""
    d = point.shape[0]
    total = 0.0
    for f in range(d):
        most = -np.inf
        first, at = task.first_cell[k * d + f], base + task.offset[f]
        for c in range(store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f] + 1):
            g = gains[first + cells[at + c]]
            if g > most:
                most = g
                point[f] = c
        total += most
    return total


@inline
def relaxed(
    relaxation: Any, run: Any, slot: int, k: int, cells: Any, base: int, side: int, level: float
) -> tuple[float, float, bool]:
    """The gain that a level needs, the most there is, and whether that may be enough."""
    task, asked, store, work = run.task, run.asked, run.store, run.work
    parts, p, d = task.parts, 5 * k, task.offset.shape[0] - 1
    total = corner_of(task, store, slot, work.corner)
    budget = np.inf if asked.switches[FURTHEST] == 1 else asked.params[CUTOFF] - total
    _spending(task, store, slot, k, cells, base, work.corner, budget, work.spend)
    span_of(task, store, slot, k, work.span)
    if base == 0 and k == asked.switches[AROUND]:  # shifted cells
        for f in range(d):
            a = task.offset[f] + store.box[slot * 2 * d + f]
            b = task.offset[f] + store.box[slot * 2 * d + d + f]
            work.span[f], work.span[d + f] = cells[a], cells[b]
    needed = relaxation(
        task.numbers[parts[p + NUMBERS] : parts[p + 5 + NUMBERS]],
        task.layout[parts[p + LAYOUT] : parts[p + 5 + LAYOUT]],
        work.span, side, level, work.spend, budget, work.gains,
        work.scratch[parts[p + SCRATCH] : parts[p + 5 + SCRATCH]],
        store.memory, slot * memory_of(run) + parts[p + MEMORY],
    )  # fmt: skip
    if np.isnan(needed):
        needed = -np.inf
    action_set = work.gains[work.gains.shape[0] - 1]
    most = _most_gain(task, store, slot, k, cells, base, work.gains, work.corner)
    short = most < needed - SAFE * (1.0 + abs(needed) + abs(most))
    return needed, most, not (action_set < level or short)


@inner
def bought(
    task: Any, costs: Any, store: Any, slot: int, k: int, cells: Any, base: int, gains: Any,
    multiplier: float, point: Any,
) -> tuple[float, float]:  # fmt: skip
    """The candidates with least cost − multiplier · gain, the sum of that, and their gain."""
    d = point.shape[0]
    total, gain = 0.0, 0.0
    for f in range(d):
        best, its = np.inf, 0.0
        first = task.first_cell[k * d + f]
        for c in range(store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f] + 1):
            at = task.offset[f] + c
            g = gains[first + cells[base + at]]
            value = costs[at] - multiplier * g
            if value < best:
                best, its = value, g
                point[f] = c
        total += best
        gain += its
    return total, gain


@inner
def best_multiplier(
    task: Any, asked: Any, costs: Any, store: Any, slot: int, k: int, cells: Any, base: int,
    gains: Any, needed: float, point: Any,
) -> float:  # fmt: skip
    """The best bound λ · needed + Σ_f min (cost − λ · gain) over multipliers; in params[BOUND].

    It is concave in λ. Two multipliers with slopes of opposite sign bracket its top; the next is
    where their tangents meet.
    """
    at, params = asked.levels[3 * k + MULTIPLIER], asked.params
    low_at, low_slope, low_value = 0.0, 0.0, -np.inf
    high_at, high_slope, high_value = np.inf, 0.0, 0.0
    best, its = -np.inf, at
    params[ENOUGH] = np.inf
    for _ in range(STEPS):
        total, gain = bought(task, costs, store, slot, k, cells, base, gains, at, point)
        value, slope = at * needed + total, needed - gain
        if value > best:
            best, its = value, at
        if slope > 0.0:
            low_at, low_slope, low_value = at, slope, value
        else:
            params[ENOUGH] = at  # what is bought at it has the gain that is needed
            high_at, high_slope, high_value = at, slope, value
            if slope == 0.0:
                break
        if high_at == np.inf:
            at = at * 4.0 + 1e-9
        elif low_value == -np.inf:
            at = at * 0.25
            if at < 1e-12:
                break
        else:
            rise = high_value - low_value + low_slope * low_at - high_slope * high_at
            following = rise / (low_slope - high_slope)
            meeting = low_value + low_slope * (following - low_at)
            inside = low_at < following < high_at
            if not inside or meeting <= best * (1.0 + 1e-6) + 1e-12:
                break
            at = following
    asked.levels[3 * k + MULTIPLIER] = min(max(its, 1e-9), 1e9)
    params[BOUND] = best - SAFE * (1.0 + abs(best) + its * abs(needed))
    return its


@inline
def fixed(
    task: Any, costs: Any, store: Any, slot: int, k: int, cells: Any, base: int, gains: Any, f: int,
    end: int, needed: float, most: float, multiplier: float, room: float,
) -> int:  # fmt: skip
    """How many candidates at one end of a feature no better answer can use (reduced-cost fixing).

    Such a candidate leaves the others too little gain, or costs too much at the multiplier: `room`
    is what the cheapest at it leaves until the cutoff.
    """
    d = task.offset.shape[0] - 1
    a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
    first = task.first_cell[k * d + f]
    least, top = np.inf, -np.inf
    for c in range(task.offset[f] + a, task.offset[f] + b + 1):
        g = gains[first + cells[base + c]]
        least = min(least, costs[c] - multiplier * g)
        top = max(top, g)
    taken = 0
    while taken < b - a:
        c = task.offset[f] + (a + taken if end == 0 else b - taken)
        g = gains[first + cells[base + c]]
        if most - top + g >= needed and costs[c] - multiplier * g <= room + least:
            break
        taken += 1
    return taken


@inline
def dearer(
    task: Any, costs: Any, store: Any, slot: int, k: int, cells: Any, base: int, gains: Any, f: int,
    first: int, last: int, multiplier: float, room: float,
) -> bool:  # fmt: skip
    """Whether all of a range of a feature's candidates cost too much at the multiplier."""
    d = task.offset.shape[0] - 1
    cell, least = task.first_cell[k * d + f], np.inf
    for c in range(store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f] + 1):
        at = task.offset[f] + c
        least = min(least, costs[at] - multiplier * gains[cell + cells[base + at]])
    for c in range(first, last + 1):
        at = task.offset[f] + c
        if not costs[at] - multiplier * gains[cell + cells[base + at]] > room + least:
            return False
    return True


# ---------------------------------------------------------------- points bought


@inline
def meets(interval: Any, run: Any, slot: int, point: Any) -> bool:
    """Whether every condition on the point itself, and every relation, surely holds there."""
    levels, out = run.asked.levels, run.work.out
    if not settle(run.task, run.store, slot, point) or broken(run.task, point) >= 0:
        return False
    for k in range(levels.shape[0] // 3):
        if k != run.asked.switches[AROUND]:
            span_of_point(run.task, point, k, run.work.span)
            bounded(interval, run, slot, k)
            if not (out[0] >= levels[3 * k + LOW] and out[1] <= levels[3 * k + HIGH]):
                return False
    return True


@inline
def _cost(task: Any, point: Any) -> float:
    total = 0.0
    for f in range(point.shape[0]):
        total += task.costs[task.offset[f] + point[f]]
    return total


@inline
def _polish(interval: Any, run: Any, slot: int, point: Any) -> float:
    """Make a point that meets the target cheaper, a feature at a time; gives its cost."""
    task, d = run.task, point.shape[0]
    for _ in range(2):
        for f in range(d):
            c, now = task.valley[f], point[f]
            if c >= 0 and memory_of(run) > 0:  # what is remembered is of the box alone
                at = 2 * d * slot + f
                c = cheapest(task, f, run.store.box[at], run.store.box[at + d])
            step = 1 if c < now else -1
            while 0 <= c != now:
                point[f] = c
                if meets(interval, run, slot, point):
                    now = c
                else:
                    c += step
            point[f] = now
    return _cost(task, point)


@inline
def heuristic(
    interval: Any, run: Any, slot: int, costs: Any, k: int, cells: Any, base: int,
    multiplier: float,
) -> bool:  # fmt: skip
    """Look for a point that meets the target and is cheaper than the best so far.

    What is bought at a multiplier is tried, then at higher ones.
    """
    task, work, params = run.task, run.work, run.asked.params
    point = work.corner
    for _ in range(16 if params[CUTOFF] == np.inf else 2):
        bought(task, costs, run.store, slot, k, cells, base, work.gains, multiplier, point)
        if meets(interval, run, slot, point):
            cost = _cost(task, point)
            if run.asked.switches[AROUND] < 0:
                polish = cost <= 1.1 * params[CUTOFF]
                return polish and _polish(interval, run, slot, point) < params[CUTOFF]
            # polished points lie on edges, where a neighbourhood loses them
            if cost >= params[CUTOFF]:
                return False
            if not loss_near(interval, run, slot, run.store.worst, point):
                return True
        multiplier *= 1.5
    return False
