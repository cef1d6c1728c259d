"""The loop of branch and bound, compiled; `branch_and_bound` says what it means and asks it.

Notation as in `arrays`. The models come as four compiled functions, `interval`, `relaxation`,
`errors` and `narrow`, by their addresses, and arrays that only they read. A box is bounded twice:
by the numbers over it and the cost of its corner when it is made, and by multipliers, which is
dear, when its turn comes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trust_recourse.cells import (
    compiled,
    errors_at,
    inline,
    inner,
    interval_at,
    narrow_at,
    relaxation_at,
)
from trust_recourse.search.arrays import (
    AROUND,
    BOUND,
    CONFIDENCE,
    COST,
    CUTOFF,
    DIVE,
    ENOUGH,
    FAILED,
    FLOOR,
    FURTHEST,
    HEAP,
    HELD,
    HIGH,
    LAYOUT,
    LOST,
    LOW,
    MADE,
    MULTIPLIER,
    NEEDED,
    NODES,
    NUMBERS,
    OFF,
    OPEN,
    PAUSE,
    POINT,
    PROVE,
    REACHED,
    RELATION,
    RELAXED,
    ROWS,
    SAFE,
    SCRATCH,
    SIDE,
    SPARE,
    SURE,
    signature,
)
from trust_recourse.search.boxes import (
    bounded,
    broken,
    child,
    corner_of,
    leaf,
    may_relate,
    memory_of,
    mending,
    narrowed,
    pop,
    priced_leaf,
    push,
    record_cut,
    release,
    span_of,
    span_of_point,
    tightened,
    widest,
)
from trust_recourse.search.following import narrow_followers, settle, way_in
from trust_recourse.search.lagrangian import (
    best_multiplier,
    bought,
    dearer,
    fixed,
    heuristic,
    relaxed,
)
from trust_recourse.search.robust import (
    above_floor,
    clamped,
    keep_loss,
    loss_near,
    span_towards,
    way_out,
)

# why the loop came back; CUT: it goes on
CUT, DONE, FOUND, BETTER, PAUSED, FULL = -1, 0, 1, 2, 3, 4

SELDOM = 8  # boxes of which one is looked through for better points, once some point is known
AGAIN = 0.1  # a box that loses more than this part of its candidates is bounded again


# ---------------------------------------------------------------- the first bound, and trimming


@inline
def _missed(interval: Any, narrow: Any, run: Any, slot: int, k: int) -> bool:
    """Whether a condition's number misses its interval on all of a new box."""
    span_of(run.task, run.store, slot, k, run.work.span)
    narrowed(narrow, run, slot, k)
    bounded(interval, run, slot, k)
    levels, out = run.asked.levels, run.work.out
    return bool(out[1] < levels[3 * k + LOW] or out[0] > levels[3 * k + HIGH])


@inline
def _judged(interval: Any, narrow: Any, run: Any, slot: int) -> int:
    """Why a new box is discarded, or OPEN; its key and the feature to cut it at are set."""
    task, store, work, asked = run.task, run.store, run.work, run.asked
    d, K = task.offset.shape[0] - 1, asked.levels.shape[0] // 3
    if not (narrow_followers(task, store, slot) and may_relate(task, store, slot)):
        store.split[slot] = 0
        return RELATION
    if (store.mark[slot] & OFF) == 0:
        tightened(run, slot)
    loosest, most_loose, out = 0, -1.0, work.out
    missed = _missed(interval, narrow, run, slot, 0)
    for f in range(d):
        wide = store.box[slot * 2 * d + d + f] > store.box[slot * 2 * d + f]
        if wide and out[2 + f] > most_loose:
            loosest, most_loose = f, out[2 + f]
    store.split[slot] = loosest
    store.mark[slot] &= ~SURE
    met = out[0] >= asked.levels[LOW] and out[1] <= asked.levels[HIGH]
    if met or most_loose <= 0.0:
        store.mark[slot] |= SURE
    if asked.switches[FURTHEST] == 1:
        most = out[1] if task.parts[SIDE] > 0 else 1.0 - out[0]
        if -most > store.key[slot]:
            store.key[slot] = -most
    else:
        store.key[slot] = max(store.key[slot], corner_of(task, store, slot, work.point))
    if missed:
        return CONFIDENCE
    for k in range(1, K):
        if k == asked.switches[AROUND]:
            span_towards(task, store, slot, work.span)
            if above_floor(interval, run, slot) < 0.0:
                return FLOOR
        elif _missed(interval, narrow, run, slot, k):
            return CONFIDENCE
    return COST if store.key[slot] >= asked.params[CUTOFF] else OPEN


@inner
def _admit(interval: Any, narrow: Any, run: Any, slot: int) -> None:
    """Let a new box wait for its turn, or discard it."""
    reason = _judged(interval, narrow, run, slot)
    if reason == OPEN:
        push(run.store, run.asked.counters, slot)
    else:
        leaf(run, run.store.node[slot], reason, 0.0)
        release(run.store, run.asked.counters, slot)


@inline
def _trim(
    interval: Any, narrow: Any, run: Any, costs: Any, k: int, cells: Any, base: int, slot: int,
    needed: float, most: float, multiplier: float,
) -> int:  # fmt: skip
    """Take candidates off the ends of a box that no better answer can use; how many.

    For a proof what is taken off is a box of its own. The multiplier discards it, or else it is to
    be discarded for reasons of its own.
    """
    task, store, params = run.task, run.store, run.asked.params
    d = task.offset.shape[0] - 1
    room = params[CUTOFF] - params[BOUND]
    needed = needed - SAFE * (1.0 + abs(needed) + abs(most))
    total, row = 0, -1
    for f in range(d):
        for end in range(2):
            taken = fixed(
                task, costs, store, slot, k, cells, base, run.work.gains, f, end, needed, most,
                multiplier, room,
            )  # fmt: skip
            if taken == 0:
                continue
            total += taken
            a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
            cut = a + taken - 1 if end == 0 else b - taken
            if run.asked.switches[PROVE] == 1:
                left = record_cut(run, store.node[slot], f, cut)
                first, last = (a, cut) if end == 0 else (cut + 1, b)
                node = left if end == 0 else left + 1
                store.node[slot] = left + 1 if end == 0 else left
                leaf(run, store.node[slot], OPEN, 0.0)
                # a kernel that remembers made its condition of the whole box with what is noted
                if memory_of(run) > 0 and dearer(
                    task, costs, store, slot, k, cells, base, run.work.gains, f, first, last,
                    multiplier, room,
                ):  # fmt: skip
                    row = priced_leaf(run, node, multiplier, slot, row)
                else:
                    off = child(run, slot, f, first, last, node)
                    store.key[off] = 0.0
                    store.mark[off] = OFF
                    _admit(interval, narrow, run, off)
            if end == 0:
                store.box[slot * 2 * d + f] = cut + 1
            else:
                store.box[slot * 2 * d + d + f] = cut
    return total


# ---------------------------------------------------------------- the second bound


@inline
def _aim(
    errors: Any, run: Any, costs: Any, k: int, cells: Any, base: int, slot: int, at: float
) -> None:
    """Cut a box, whose bound is that of a multiplier, where the relaxation errs most."""
    task, store, work = run.task, run.store, run.work
    d, p = task.offset.shape[0] - 1, 5 * k
    bought(task, costs, store, slot, k, cells, base, work.gains, at, work.point)
    for f in range(d):
        a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
        work.span[f] = cells[base + task.offset[f] + a]
        work.span[d + f] = cells[base + task.offset[f] + b]
        work.corner[f] = cells[base + task.offset[f] + work.point[f]]
    errors(
        task.numbers[task.parts[p + NUMBERS] : task.parts[p + 5 + NUMBERS]],
        task.layout[task.parts[p + LAYOUT] : task.parts[p + 5 + LAYOUT]],
        work.span, work.corner, work.out,
        work.scratch[task.parts[p + SCRATCH] : task.parts[p + 5 + SCRATCH]],
        run.asked.switches[PROVE] == 0,
    )  # fmt: skip
    worst = 0.0
    for f in range(d):
        wide = store.box[slot * 2 * d + d + f] > store.box[slot * 2 * d + f]
        if wide and work.out[f] > worst:
            worst = work.out[f]
            store.split[slot], store.where[slot] = f, work.point[f]


@inline
def _side_and_level(run: Any, k: int) -> tuple[int, float]:
    """Which way a condition's number must go, and how far, on that side's scale."""
    side, levels = run.task.parts[5 * k + SIDE], run.asked.levels
    return side, levels[3 * k + LOW] if side > 0 else 1.0 - levels[3 * k + HIGH]


@inner
def _priced(
    interval: Any, relaxation: Any, errors: Any, narrow: Any, run: Any, costs: Any, k: int,
    cells: Any, base: int, slot: int, paid: float,
) -> bool:  # fmt: skip
    """Bound a box by the best multiplier of a condition, and trim it; False if it is discarded.

    `costs` is what the candidates cost after other conditions, which are `paid` for.
    """
    task, store, work, params = run.task, run.store, run.work, run.asked.params
    d = task.offset.shape[0] - 1
    side, level = _side_and_level(run, k)
    needed, most, enough = relaxed(relaxation, run, slot, k, cells, base, side, level)
    if not enough:
        priced_leaf(run, store.node[slot], np.inf, slot, -1)
        return False
    at = best_multiplier(
        task, run.asked, costs, store, slot, k, cells, base, work.gains, needed, work.point
    )
    params[NEEDED] = needed
    params[BOUND] += paid - SAFE * abs(paid)
    if not params[BOUND] <= params[CUTOFF]:  # nor if there is no bound: all is beyond the budget
        priced_leaf(run, store.node[slot], at, slot, -1)
        return False
    store.key[slot] = max(store.key[slot], params[BOUND])
    if params[BOUND] >= store.key[slot]:
        _aim(errors, run, costs, k, cells, base, slot, at)
    taken = 0
    if (store.mark[slot] & OFF) == 0:
        taken = _trim(interval, narrow, run, costs, k, cells, base, slot, needed, most, at)
    if taken > 0:
        # another corner, not yet tried
        total = corner_of(task, store, slot, work.corner)
        store.key[slot] = max(store.key[slot], total)
        store.mark[slot] &= ~(FAILED | LOST)
        wide = 0
        for f in range(d):
            wide += store.box[slot * 2 * d + d + f] - store.box[slot * 2 * d + f]
        if taken > AGAIN * wide:
            store.mark[slot] &= ~RELAXED
    return True


@inline
def _reduce(run: Any, costs: Any, k: int, cells: Any, base: int, slot: int) -> None:
    """What is left to pay for each candidate of a box after a condition's multiplier."""
    task, store, work = run.task, run.store, run.work
    d, at = task.offset.shape[0] - 1, run.asked.levels[3 * k + MULTIPLIER]
    for f in range(d):
        first = task.first_cell[k * d + f]
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        for c in range(a, b + 1):
            work.reduced[c] = costs[c] - at * work.gains[first + cells[base + c]]


@inline
def _shift(interval: Any, run: Any, slot: int) -> None:
    """For each candidate its cell nearest to a loss around what the target's multiplier buys."""
    task, store, work = run.task, run.store, run.work
    d = task.offset.shape[0] - 1
    at = run.asked.levels[MULTIPLIER]
    bought(task, task.costs, store, slot, 0, task.cells, 0, work.gains, at, work.point)
    loss_near(interval, run, slot, store.worst, work.point)
    for f in range(d):
        store.worst[slot * d + f] = work.span[f]
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        for c in range(a, b + 1):
            work.shifted[c] = clamped(store.worst[slot * d + f], task.lows[c], task.highs[c])


@inline
def _bounded_by_more(
    interval: Any, relaxation: Any, errors: Any, narrow: Any, run: Any, slot: int, diving: bool
) -> int:
    """After the first condition's bound, one by its multiplier and those of the others.

    As `_bounded_again`: 0 if the box is discarded, 1 if it stays, 2 if a better point was found.
    """
    task, work, asked = run.task, run.work, run.asked
    n, K, around = task.codes.shape[0], asked.levels.shape[0] // 3, asked.switches[AROUND]
    paid = 0.0
    for k in range(1, K):
        paid += asked.levels[3 * k - 3 + MULTIPLIER] * asked.params[NEEDED]
        if k == around:
            _shift(interval, run, slot)
        if k == 1:
            _reduce(run, task.costs, 0, task.cells, 0, slot)
        else:
            _reduce(run, work.reduced, k - 1, task.cells, (k - 1) * n, slot)
        cells, base = (work.shifted, 0) if k == around else (task.cells, k * n)
        if not _priced(
            interval, relaxation, errors, narrow, run, work.reduced, k, cells, base, slot, paid
        ):
            return 0
        if diving and asked.params[ENOUGH] < np.inf:
            at = asked.levels[3 * k + MULTIPLIER]
            if heuristic(interval, run, slot, work.reduced, k, cells, base, at):
                return 2
        if run.store.key[slot] > asked.params[CUTOFF]:
            return 1
    return 1


@inline
def _bounded_again(
    interval: Any, relaxation: Any, errors: Any, narrow: Any, run: Any, slot: int
) -> int:
    """The second bound: 0 if the box is discarded, 1 if it stays, 2 if a better point was found."""
    task, store, work, asked = run.task, run.store, run.work, run.asked
    params, cells = asked.params, task.cells
    side, level = _side_and_level(run, 0)
    store.mark[slot] |= RELAXED
    if asked.switches[FURTHEST] == 1:
        _, _, enough = relaxed(relaxation, run, slot, 0, cells, 0, side, level)
        if not enough:
            return 0
        store.key[slot] = max(store.key[slot], -work.gains[work.gains.shape[0] - 1])
        # the point of greatest gains is a better guess than the cheapest one
        if not settle(task, store, slot, work.corner):
            return 1
        span_of_point(task, work.corner, 0, work.span)
        bounded(interval, run, slot, 0)
        reached = work.out[0] if side > 0 else 1.0 - work.out[1]
        return 2 if reached > params[REACHED] else 1
    if not _priced(interval, relaxation, errors, narrow, run, task.costs, 0, cells, 0, slot, 0.0):
        return 0
    nodes = asked.counters[NODES]
    known = params[CUTOFF] < np.inf and nodes % SELDOM != 0
    diving = nodes >= asked.switches[DIVE] and not known
    if (
        diving
        and params[ENOUGH] < np.inf
        and heuristic(interval, run, slot, task.costs, 0, cells, 0, params[ENOUGH])
    ):
        return 2
    if asked.levels.shape[0] == 3 or store.key[slot] > params[CUTOFF]:
        return 1
    return _bounded_by_more(interval, relaxation, errors, narrow, run, slot, diving)


# ---------------------------------------------------------------- the loop


@inline
def _may_meet(interval: Any, run: Any, slot: int, point: Any) -> bool:
    """Whether every condition on the point itself may hold at a point of a box."""
    levels, out = run.asked.levels, run.work.out
    for k in range(levels.shape[0] // 3):
        if k != run.asked.switches[AROUND]:
            span_of_point(run.task, point, k, run.work.span)
            bounded(interval, run, slot, k)
            if out[1] < levels[3 * k + LOW] or out[0] > levels[3 * k + HIGH]:
                return False
    return True


@inline
def _tried(interval: Any, run: Any, slot: int) -> int:
    """Look at the corner of a box: FOUND or BETTER if it may be an answer, else CUT."""
    store, work, asked, corner = run.store, run.work, run.asked, run.work.corner
    store.mark[slot] |= FAILED
    if not settle(run.task, store, slot, corner) or broken(run.task, corner) >= 0:
        return CUT
    if asked.switches[FURTHEST] == 1:
        span_of_point(run.task, corner, 0, work.span)
        bounded(interval, run, slot, 0)
        # it may be further by the model's own word, which alone counts within what is rounded
        rises = run.task.parts[SIDE] > 0
        if not (work.out[1] if rises else 1.0 - work.out[0]) <= asked.params[REACHED]:
            push(store, asked.counters, slot)
            return BETTER
        return CUT
    may_meet = _may_meet(interval, run, slot, corner)
    around = asked.switches[AROUND] >= 0
    if around and loss_near(interval, run, slot, store.loss, corner):
        keep_loss(interval, run, slot, corner)
    elif may_meet:
        asked.counters[HELD] = slot
        return FOUND
    return CUT


@inline
def _opened(
    interval: Any, relaxation: Any, errors: Any, narrow: Any, run: Any, stop_at: int
) -> tuple[int, int]:
    """Take boxes off the heap up to one that is to be cut: CUT and its slot, or why not."""
    store, params, counters = run.store, run.asked.params, run.asked.counters
    switches = run.asked.switches
    d, K = run.task.offset.shape[0] - 1, run.asked.levels.shape[0] // 3
    while True:
        if counters[HEAP] == 0:
            return DONE, -1
        if counters[NODES] >= stop_at:
            return PAUSED, -1
        # each condition trims 2d ends, a cut of two nodes each; then there are cuts around a corner
        full = switches[PROVE] == 1 and (
            counters[MADE] + 16 * d * K + 16 > run.tree.feature.shape[0]
            or (counters[ROWS] + 2) * memory_of(run) > run.tree.memory.shape[0]
        )
        if full or counters[SPARE] < 4 * d + 4:
            return FULL, -1
        slot = pop(store, counters)
        done = switches[FURTHEST] == 1 and -store.key[slot] <= params[REACHED]
        dear = store.key[slot] > params[CUTOFF]
        if switches[PROVE] == 1:  # of a box at the bound nothing is left to prove
            dear = store.key[slot] >= params[CUTOFF]
        if done or dear:
            if switches[PROVE] == 1:
                leaf(run, store.node[slot], COST, 0.0)
                release(store, counters, slot)
                continue
            push(store, counters, slot)
            return DONE, -1
        # the second bound is dear, so a box gets it only when its turn comes
        if (store.mark[slot] & RELAXED) == 0:
            was = store.key[slot]
            said = _bounded_again(interval, relaxation, errors, narrow, run, slot)
            if said == 0:
                release(store, counters, slot)
                continue
            again = (store.mark[slot] & RELAXED) == 0
            # what is left of a box after trimming may be too dear, which is then all its proof
            again |= switches[PROVE] == 1 and store.key[slot] >= params[CUTOFF]
            if said == 2 or again or (store.key[slot] > was and counters[HEAP] > 0):
                push(store, counters, slot)
                if said == 2:
                    return BETTER, -1
                continue
        counters[NODES] += 1
        corner_of(run.task, store, slot, run.work.corner)
        if (store.mark[slot] & FAILED) != 0:
            return CUT, slot
        return _tried(interval, run, slot), slot


@inline
def _where_to_cut(run: Any, slot: int, corner: Any, around: bool) -> tuple[int, int]:
    """The feature and the candidate after which a box is cut, or −1 − why it is a leaf."""
    store, counters = run.store, run.asked.counters
    d = corner.shape[0]
    # what the model says of a box comes first; how to get there is asked where that is known
    if not around and (store.mark[slot] & SURE) != 0:
        f, cut = way_in(run.task, store, slot, corner)
        if f >= 0:
            return f, cut
    wrong = -1 if around else broken(run.task, corner)
    if wrong >= 0:
        f, cut = mending(run.task, store, slot, corner, wrong)
        if f >= 0:
            return f, cut
    f, out = widest(store, slot, d) if around else store.split[slot], -1
    if (store.mark[slot] & LOST) != 0 and (store.where[slot] < 0 or counters[NODES] & 1 == 0):
        # this cut and that of the multiplier are each far better at times, so they take turns
        f, out = way_out(run.task, store, slot, corner)
        if f < 0:
            return -1 - FLOOR, 0
    a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
    if a == b:  # what was to be cut has been trimmed away
        f = widest(store, slot, d)
        a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
        store.where[slot] = -1
    if a == b:
        return -1 - POINT, 0
    at, goal = corner[f], store.where[slot]
    if out >= 0:
        cut = out
    elif around or goal == at:
        cut = at - 1 if a < at else at
    elif goal >= 0:
        cut = (at + goal) >> 1 if goal > at else (at + goal - 1) >> 1
    else:
        cut = at - 1 if a < at else (a + b) >> 1
    return f, min(max(cut, a), b - 1)


def _advance(functions: Any, run: Any) -> int:
    """Open boxes until a corner may be an answer, the heap is empty, or it is time to pause."""
    interval, relaxation = interval_at(functions[0]), relaxation_at(functions[1])
    errors, narrow = errors_at(functions[2]), narrow_at(functions[3])
    store, counters, corner = run.store, run.asked.counters, run.work.corner
    d = run.task.offset.shape[0] - 1
    stop_at = counters[NODES] + run.asked.switches[PAUSE]
    slot = counters[HELD]
    while True:
        around = slot >= 0  # a box whose corner was an answer, or was refused, goes on without it
        if around:
            corner_of(run.task, store, slot, corner)
        else:
            said, slot = _opened(interval, relaxation, errors, narrow, run, stop_at)
            if said != CUT:
                return said
        rest = -1
        f, cut = _where_to_cut(run, slot, corner, around)
        if f < 0:
            leaf(run, store.node[slot], -1 - f, 0.0)
        else:
            a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
            left = record_cut(run, store.node[slot], f, cut)
            for part in range(2):
                first, last = (a, cut) if part == 0 else (cut + 1, b)
                new = child(run, slot, f, first, last, left + part)
                if first <= corner[f] <= last:
                    store.mark[new] |= FAILED | (store.mark[slot] & LOST)
                    if around:
                        rest = new
                        continue
                _admit(interval, narrow, run, new)
        release(store, counters, slot)
        slot = counters[HELD] = rest


@cache
def advance() -> Any:
    """`_advance`, compiled for any model's functions."""
    return compiled(signature())(_advance)
