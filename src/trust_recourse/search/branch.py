"""The loop of branch and bound, compiled; `tree` says what it means and asks its questions.

Notation as in `arrays`. The model comes as three compiled functions, `interval`, `relaxation` and
`errors`, and two arrays that only they read. A box is bounded twice: by confidences over it and the
cost of its corner when it is made, and by prices, which is dear, when its turn comes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trust_recourse.cells import compiled, inline
from trust_recourse.search.arrays import (
    BOUND,
    CONFIDENCE,
    COST,
    CUTOFF,
    DIVE,
    ENOUGH,
    FAILED,
    FLOOR,
    FLOOR_HIGH,
    FLOOR_LOW,
    FLOOR_PRICE,
    FURTHEST,
    HEAP,
    HELD,
    HIGH,
    LOST,
    LOW,
    MADE,
    NEEDED,
    NODES,
    OFF,
    OPEN,
    PAUSE,
    POINT,
    PRICE,
    PRICED,
    PROVE,
    REACHED,
    RELATION,
    RELAXED,
    ROBUST,
    SAFE,
    SIDE,
    SPARE,
    Task,
    signature,
)
from trust_recourse.search.boxes import (
    child,
    corner_of,
    leaf,
    may_relate,
    pop,
    push,
    record_cut,
    release,
    span_of,
    span_of_point,
    widest,
)
from trust_recourse.search.noise import (
    above_floor,
    clamped,
    keep_loss,
    loss_near,
    span_towards,
    way_out,
)
from trust_recourse.search.pricing import at_price, best_price, dive, relaxed, trimmed

# why the loop came back; CUT: it goes on
CUT, DONE, FOUND, BETTER, PAUSED, FULL = -1, 0, 1, 2, 3, 4

AGAIN = 0.1  # a box that loses more than this part of its candidates is bounded again


# ---------------------------------------------------------------- the first bound, and trimming


@inline
def _admit(
    interval: Any, task: Any, how: Any, want: Any, state: Any, store: Any, tree: Any, work: Any,
    slot: int,
) -> None:  # fmt: skip
    """Let a new box wait for its turn, or discard it."""
    d = task.offset.shape[0] - 1
    out, loosest, most_loose = work.out, 0, -1.0
    reason = OPEN
    if not may_relate(task, store, slot):
        reason = RELATION
    else:
        span_of(task, store, slot, work.span)
        interval(task.numbers, task.layout, work.span, out, work.scratch)
        for f in range(d):
            wide = store.box[slot * 2 * d + d + f] > store.box[slot * 2 * d + f]
            if wide and out[2 + f] > most_loose:
                loosest, most_loose = f, out[2 + f]
        if how[FURTHEST] == 1:
            store.key[slot] = max(store.key[slot], -(out[1] if how[SIDE] > 0 else 1.0 - out[0]))
        else:
            store.key[slot] = max(store.key[slot], corner_of(task, store, slot, work.point))
        if out[1] < want[LOW] or out[0] > want[HIGH]:
            reason = CONFIDENCE
        elif how[ROBUST] == 1:
            span_towards(task, store, slot, work.span)
            if above_floor(interval, task, want, work) < 0.0:
                reason = FLOOR
    if reason == OPEN and store.key[slot] >= want[CUTOFF]:
        reason = COST
    store.split[slot] = loosest
    if reason == OPEN:
        push(store, state, slot)
    else:
        leaf(tree, how, store.node[slot], reason, 0.0)
        release(store, state, slot)


@inline
def _trim(
    interval: Any, task: Any, how: Any, want: Any, state: Any, store: Any, tree: Any, work: Any,
    slot: int, needed: float, most: float, price: float,
) -> int:  # fmt: skip
    """Take candidates off the ends of a box that no better answer can use; how many.

    For a proof what is taken off is a box of its own, to be discarded for reasons of its own.
    """
    d = task.offset.shape[0] - 1
    room = want[CUTOFF] - want[BOUND]
    needed = needed - SAFE * (1.0 + abs(needed) + abs(most))
    total = 0
    for f in range(d):
        for end in range(2):
            taken = trimmed(task, store, slot, work.gains, f, end, needed, most, price, room)
            if taken == 0:
                continue
            total += taken
            a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
            cut = a + taken - 1 if end == 0 else b - taken
            if how[PROVE] == 1:
                left = record_cut(tree, how, state, store.node[slot], f, cut)
                first, last = (a, cut) if end == 0 else (cut + 1, b)
                off = child(
                    task, state, store, tree, how, slot, f, first, last,
                    left if end == 0 else left + 1,
                )  # fmt: skip
                store.node[slot] = left + 1 if end == 0 else left
                leaf(tree, how, store.node[slot], OPEN, 0.0)
                store.key[off] = 0.0
                store.mark[off] = OFF
                _admit(interval, task, how, want, state, store, tree, work, off)
            if end == 0:
                store.box[slot * 2 * d + f] = cut + 1
            else:
                store.box[slot * 2 * d + d + f] = cut
    return total


# ---------------------------------------------------------------- the second bound


@inline
def _priced(
    interval: Any, relaxation: Any, errors: Any, task: Any, priced: Any, how: Any, want: Any,
    state: Any, store: Any, tree: Any, work: Any, slot: int, side: int, level: float,
    paid: float, scratch: Any,
) -> bool:  # fmt: skip
    """Bound a box by the best price for a level, and trim it; False if it is discarded.

    `priced` is the task with what its candidates cost after other conditions, which are `paid` for.
    """
    d = task.offset.shape[0] - 1
    node = store.node[slot]
    needed, most, enough = relaxed(
        relaxation, task, how, want, store, work, slot, side, level, scratch
    )
    if not enough:
        leaf(tree, how, node, PRICED, np.inf)
        return False
    price = best_price(priced, want, store, slot, work.gains, needed, work.point)
    want[NEEDED] = needed
    want[BOUND] += paid - SAFE * abs(paid)
    if not want[BOUND] <= want[CUTOFF]:  # nor if there is no bound, for all is beyond the budget
        leaf(tree, how, node, PRICED, price)
        return False
    store.key[slot] = max(store.key[slot], want[BOUND])
    if want[BOUND] >= store.key[slot]:
        # this bound decides, so the box is cut where it errs most
        at_price(priced, store, slot, work.gains, price, work.point)
        span_of(task, store, slot, work.span)
        for f in range(d):
            work.corner[f] = task.cells[task.offset[f] + work.point[f]]
        errors(task.numbers, task.layout, work.span, work.corner, work.out, scratch)
        worst = 0.0
        for f in range(d):
            wide = store.box[slot * 2 * d + d + f] > store.box[slot * 2 * d + f]
            if wide and work.out[f] > worst:
                worst = work.out[f]
                store.split[slot], store.where[slot] = f, work.point[f]
    taken = 0
    if (store.mark[slot] & OFF) == 0:
        taken = _trim(
            interval, priced, how, want, state, store, tree, work, slot, needed, most, price
        )
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
def _with(task: Any, cells: Any, costs: Any) -> Any:
    """The task with other cells and costs of its candidates."""
    return Task(
        task.numbers, task.layout, task.offset, task.codes, costs, cells, task.first_cell,
        task.valley, task.lows, task.highs, task.relations, task.goals,
    )  # fmt: skip


@inline
def _shift(task: Any, want: Any, store: Any, work: Any, slot: int) -> None:
    """Where noise may take each candidate: its cell nearest to a loss near what is bought.

    With what the candidate costs after the target's price.
    """
    d = task.offset.shape[0] - 1
    for f in range(d):
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        for c in range(a, b + 1):
            work.shifted[c] = clamped(store.worst[slot * d + f], task.lows[c], task.highs[c])
            gain = work.gains[task.first_cell[f] + task.cells[c]]
            work.reduced[c] = task.costs[c] - want[PRICE] * gain


@inline
def _bounded_by_floor(
    interval: Any, relaxation: Any, errors: Any, task: Any, how: Any, want: Any, state: Any,
    store: Any, tree: Any, work: Any, slot: int, diving: bool,
) -> int:  # fmt: skip
    """After the target's bound, one by its price and a price for the floor, as `_bounded_again`."""
    d = task.offset.shape[0] - 1
    rises = want[FLOOR_LOW] > 0.0
    side = 1 if rises else -1
    level = want[FLOOR_LOW] if rises else 1.0 - want[FLOOR_HIGH]
    at_price(task, store, slot, work.gains, want[PRICE], work.point)
    loss_near(interval, task, want, work, store.worst, slot * d, work.point)
    for f in range(d):
        store.worst[slot * d + f] = work.span[f]
    _shift(task, want, store, work, slot)
    shifted = _with(task, work.shifted, task.costs)
    priced = _with(task, work.shifted, work.reduced)
    price, paid = want[PRICE], want[PRICE] * want[NEEDED]
    want[PRICE] = want[FLOOR_PRICE]
    stays = _priced(
        interval, relaxation, errors, shifted, priced, how, want, state, store, tree, work, slot,
        side, level, paid, work.beside,
    )  # fmt: skip
    want[FLOOR_PRICE], want[PRICE] = want[PRICE], price
    if not stays:
        return 0
    if not diving or want[ENOUGH] == np.inf:
        return 1
    found = dive(interval, task, priced, how, want, store, work, slot, want[FLOOR_PRICE])
    return 2 if found else 1


@inline
def _bounded_again(
    interval: Any, relaxation: Any, errors: Any, task: Any, how: Any, want: Any, state: Any,
    store: Any, tree: Any, work: Any, slot: int,
) -> int:  # fmt: skip
    """The second bound: 0 if the box is discarded, 1 if it stays, 2 if a better point was found."""
    side = how[SIDE]
    level = want[LOW] if side > 0 else 1.0 - want[HIGH]
    store.mark[slot] |= RELAXED
    if how[FURTHEST] == 1:
        _, _, enough = relaxed(
            relaxation, task, how, want, store, work, slot, side, level, work.scratch
        )
        if not enough:
            return 0
        store.key[slot] = max(store.key[slot], -work.gains[work.gains.shape[0] - 1])
        # the point of greatest gains is a better guess than the cheapest one
        span_of_point(task, work.corner, work.span)
        interval(task.numbers, task.layout, work.span, work.out, work.scratch)
        reached = work.out[0] if side > 0 else 1.0 - work.out[1]
        return 2 if reached > want[REACHED] else 1
    if not _priced(
        interval, relaxation, errors, task, task, how, want, state, store, tree, work, slot, side,
        level, 0.0, work.scratch,
    ):  # fmt: skip
        return 0
    diving = state[NODES] >= how[DIVE]
    if (
        diving
        and want[ENOUGH] < np.inf
        and dive(interval, task, task, how, want, store, work, slot, want[ENOUGH])
    ):
        return 2
    if how[ROBUST] == 0 or store.key[slot] > want[CUTOFF]:
        return 1
    return _bounded_by_floor(
        interval, relaxation, errors, task, how, want, state, store, tree, work, slot, diving
    )


# ---------------------------------------------------------------- the loop


@inline
def _tried(
    interval: Any, task: Any, how: Any, want: Any, state: Any, store: Any, work: Any, slot: int
) -> int:
    """Look at the corner of a box: FOUND or BETTER if it may be an answer, else CUT."""
    d, corner = task.offset.shape[0] - 1, work.corner
    store.mark[slot] |= FAILED
    span_of_point(task, corner, work.span)
    interval(task.numbers, task.layout, work.span, work.out, work.scratch)
    if how[FURTHEST] == 1:
        if (work.out[0] if how[SIDE] > 0 else 1.0 - work.out[1]) > want[REACHED]:
            push(store, state, slot)
            return BETTER
        return CUT
    meets = work.out[1] >= want[LOW] and work.out[0] <= want[HIGH]
    if how[ROBUST] == 1 and loss_near(interval, task, want, work, store.loss, slot * d, corner):
        keep_loss(interval, task, want, store, work, slot, corner)
    elif meets:
        state[HELD] = slot
        return FOUND
    return CUT


@inline
def _opened(
    interval: Any, relaxation: Any, errors: Any, task: Any, how: Any, want: Any, state: Any,
    store: Any, tree: Any, work: Any, stop_at: int,
) -> tuple[int, int]:  # fmt: skip
    """Take boxes off the heap up to one that is to be cut: CUT and its slot, or why not."""
    d = task.offset.shape[0] - 1
    while True:
        if state[HEAP] == 0:
            return DONE, -1
        if state[NODES] >= stop_at:
            return PAUSED, -1
        full = how[PROVE] == 1 and state[MADE] + 8 * d + 8 > tree.feature.shape[0]
        if full or state[SPARE] < 4 * d + 4:
            return FULL, -1
        slot = pop(store, state)
        done = how[FURTHEST] == 1 and -store.key[slot] <= want[REACHED]
        dear = store.key[slot] > want[CUTOFF]
        if how[PROVE] == 1:  # of a box at the bound nothing is left to prove
            dear = store.key[slot] >= want[CUTOFF]
        if done or dear:
            if how[PROVE] == 1:
                leaf(tree, how, store.node[slot], COST, 0.0)
                release(store, state, slot)
                continue
            push(store, state, slot)
            return DONE, -1
        # the second bound is dear, so a box gets it only when its turn comes
        if (store.mark[slot] & RELAXED) == 0:
            was = store.key[slot]
            said = _bounded_again(
                interval, relaxation, errors, task, how, want, state, store, tree, work, slot
            )
            if said == 0:
                release(store, state, slot)
                continue
            again = (store.mark[slot] & RELAXED) == 0
            if said == 2 or again or (store.key[slot] > was and state[HEAP] > 0):
                push(store, state, slot)
                if said == 2:
                    return BETTER, -1
                continue
        state[NODES] += 1
        corner_of(task, store, slot, work.corner)
        if (store.mark[slot] & FAILED) != 0:
            return CUT, slot
        return _tried(interval, task, how, want, state, store, work, slot), slot


@inline
def _where_to_cut(
    task: Any, state: Any, store: Any, slot: int, corner: Any, around: bool
) -> tuple[int, int]:
    """The feature and the candidate after which a box is cut, or −1 − why it is a leaf."""
    d = corner.shape[0]
    f, out = widest(store, slot, d) if around else store.split[slot], -1
    if (store.mark[slot] & LOST) != 0 and (store.where[slot] < 0 or state[NODES] & 1 == 0):
        # this cut and that of the price are each far better at times, so they take turns
        f, out = way_out(task, store, slot, corner)
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


def _advance(
    interval: Any, relaxation: Any, errors: Any, task: Any, how: Any, want: Any, state: Any,
    store: Any, tree: Any, work: Any,
) -> int:  # fmt: skip
    """Open boxes until a corner may be an answer, the heap is empty, or it is time to pause."""
    d, corner = task.offset.shape[0] - 1, work.corner
    stop_at = state[NODES] + how[PAUSE]
    slot = state[HELD]
    while True:
        around = slot >= 0  # a box whose corner was an answer, or was refused, goes on without it
        if around:
            corner_of(task, store, slot, corner)
        else:
            said, slot = _opened(
                interval, relaxation, errors, task, how, want, state, store, tree, work, stop_at
            )
            if said != CUT:
                return said
        rest = -1
        f, cut = _where_to_cut(task, state, store, slot, corner, around)
        if f < 0:
            leaf(tree, how, store.node[slot], -1 - f, 0.0)
        else:
            a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
            left = record_cut(tree, how, state, store.node[slot], f, cut)
            for part in range(2):
                first, last = (a, cut) if part == 0 else (cut + 1, b)
                new = child(task, state, store, tree, how, slot, f, first, last, left + part)
                if first <= corner[f] <= last:
                    store.mark[new] |= FAILED | (store.mark[slot] & LOST)
                    if around:
                        rest = new
                        continue
                _admit(interval, task, how, want, state, store, tree, work, new)
        release(store, state, slot)
        slot = state[HELD] = rest


@cache
def advance() -> Any:
    """`_advance`, compiled for any model's functions."""
    return compiled(signature())(_advance)
