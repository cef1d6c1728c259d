"""Conditions that ask around a point, compiled: what they ask of boxes and corners.

Notation as in `arrays`. Around candidate c of a feature lie the cells lows[c] … highs[c]. The
number must keep to the **floor**, an interval, at every cell around; a cell that misses it is a
**loss**, and is kept with the box that it was found for, to be tried first on its parts.
"""

from __future__ import annotations

from typing import Any

from trust_recourse.cells import inline
from trust_recourse.search.arrays import AROUND, HIGH, LOST, LOW
from trust_recourse.search.boxes import bounded, cheapest


@inline
def clamped(cell: int, low: int, high: int) -> int:
    """The cell of a range that is nearest to a given one."""
    return min(max(cell, low), high)


@inline
def span_towards(task: Any, store: Any, slot: int, span: Any) -> None:
    """The cells nearest to the last known loss that lie around the box's candidates.

    Where a common cell lies around all candidates of a feature, it is one cell.
    """
    d = task.offset.shape[0] - 1
    for f in range(d):
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        loss = store.loss[slot * d + f]
        if task.lows[b] <= task.highs[a]:
            span[f] = clamped(loss, task.lows[b], task.highs[a])
            span[d + f] = span[f]
        else:
            span[f] = clamped(loss, task.lows[a], task.highs[a])
            span[d + f] = clamped(loss, task.lows[b], task.highs[b])


@inline
def above_floor(interval: Any, run: Any, slot: int) -> float:
    """What the number on the span has at most beyond the floor: negative where it is missed."""
    k = run.asked.switches[AROUND]
    bounded(interval, run, slot, k)
    out, levels = run.work.out, run.asked.levels
    return float(min(out[1] - levels[3 * k + LOW], levels[3 * k + HIGH] - out[0]))


@inline
def loss_near(interval: Any, run: Any, slot: int, known: Any, point: Any) -> bool:
    """Whether a quick look finds a cell around a point of a box that misses the floor.

    The nearest to one known from elsewhere, known[slot …], is tried, then feature by feature the
    end with less confidence is taken. The cell is left in the span.
    """
    d = point.shape[0]
    task, span, at = run.task, run.work.span, slot * d
    for f in range(d):
        c = task.offset[f] + point[f]
        span[f] = clamped(known[at + f], task.lows[c], task.highs[c])
        span[d + f] = span[f]
    least = above_floor(interval, run, slot)
    for f in range(d):
        if least < 0.0:
            break
        c = task.offset[f] + point[f]
        kept = span[f]
        for end in range(2):
            cell = task.lows[c] if end == 0 else task.highs[c]
            span[f], span[d + f] = cell, cell
            here = above_floor(interval, run, slot)
            if here < least:
                least, kept = here, cell
        span[f], span[d + f] = kept, kept
    return bool(least < 0.0)


@inline
def _moved(interval: Any, run: Any, slot: int, goal: Any, first: int, last: int) -> None:
    """Move a loss in the span towards a goal in some features together, as far as it stays one."""
    d = goal.shape[0]
    span, start = run.work.span, run.work.start
    whole = 1
    for f in range(first, last):
        start[f] = span[f]
        whole = max(whole, abs(goal[f] - start[f]))
    low, high, part = 0, whole + 1, whole
    while high > low:  # the last round goes back to what was known to lose
        for f in range(first, last):
            span[f] = start[f] + (goal[f] - start[f]) * part // whole
            span[d + f] = span[f]
        if high - low == 1:
            break
        if above_floor(interval, run, slot) < 0.0:
            low = part
        else:
            high = part
        part = (low + high) >> 1


@inline
def keep_loss(interval: Any, run: Any, slot: int, corner: Any) -> None:
    """Remember the loss in the span, moved to where it is dearest to get out of its reach.

    At the end of a range that is as far as it goes into the range, else at the corner itself.
    """
    d = corner.shape[0]
    task, store, goal = run.task, run.store, run.work.point
    base = run.asked.switches[AROUND] * task.codes.shape[0]
    for f in range(d):
        c = task.offset[f] + corner[f]
        goal[f] = task.cells[base + c]
        if corner[f] == store.box[slot * 2 * d + f]:
            goal[f] = task.highs[c]
        elif corner[f] == store.box[slot * 2 * d + d + f]:
            goal[f] = task.lows[c]
    _moved(interval, run, slot, goal, 0, d)
    for f in range(d):
        _moved(interval, run, slot, goal, f, f + 1)
    for f in range(d):
        store.loss[slot * d + f] = run.work.span[f]
    store.mark[slot] |= LOST


@inline
def way_out(task: Any, store: Any, slot: int, corner: Any) -> tuple[int, int]:
    """The feature and the cut by which it is dearest to get out of reach of the corner's loss.

    The feature is −1 if no candidates of the box are.
    """
    d = corner.shape[0]
    feature, cut, dearest = -1, -1, -1.0
    for f in range(d):
        a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
        first = last = corner[f]
        loss, at = store.loss[slot * d + f], task.offset[f]
        while first > a and task.highs[at + first - 1] >= loss:
            first -= 1
        while last < b and task.lows[at + last + 1] <= loss:
            last += 1
        for end in range(2):
            if (first == a) if end == 0 else (last == b):
                continue
            out = cheapest(task, f, a, first - 1) if end == 0 else cheapest(task, f, last + 1, b)
            more = task.costs[at + out] - task.costs[at + corner[f]]
            if more > dearest:
                feature, cut, dearest = f, first - 1 if end == 0 else last, more
    return feature, cut
