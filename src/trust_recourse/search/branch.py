"""The loop of branch and bound, compiled; `exact` says what it means and holds its arrays.

Notation: d features, f; the candidates of feature f are offset[f] … offset[f+1] of `codes`, `costs`
and `cells`. A **box** is 2d numbers, the first and then the last candidate of each feature, kept in
a slot; a **span** is the same in cells. A heap holds the slots by `key`, a bound on the cost. All
boxes ever made are a binary tree: node n was cut at feature[n] after candidate cut[n] into left[n]
and left[n] + 1, or is a leaf with a reason.

The model comes as two compiled functions and two arrays that only they read. Arrays are passed one
by one, since compiled functions that are handed over know plain arrays best.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit, types

# why the loop came back
DONE, FOUND, BETTER, PAUSED, FULL = 0, 1, 2, 3, 4
# why a leaf was discarded; a leaf still waiting has OPEN
OPEN, COST, CONFIDENCE, PRICED, RELATION, POINT, FLOOR = 0, 1, 2, 3, 4, 5, 6
# what the numbers in `state` are
HEAP, SPARE, NODES, MADE, HELD = 0, 1, 2, 3, 4
# and those in `want`
LOW, HIGH, FLOOR_LOW, FLOOR_HIGH, CUTOFF, PRICE, BOUND, REACHED, ENOUGH = 0, 1, 2, 3, 4, 5, 6, 7, 8
# and those in `how`
SIDE, GREATEST, FURTHEST, ROBUST, PAUSE, PRICED_BOUND, DIVE = 0, 1, 2, 3, 4, 5, 6
# marks of a slot
RELAXED, FAILED = 1, 2

SAFE = 1e-11  # of a bound is given up for rounding
DIVE_FROM = 32  # nodes on, a point that meets the target is looked for
AGAIN = 0.1
STEPS = 12  # of the search for the best price, at most

_fast: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
_inline = njit(**_fast, forceinline=True)
_kernel = njit(**_fast)

_floats, _ints, _small, _marks = (
    types.float64[::1], types.int64[::1], types.int32[::1], types.int8[::1],
)  # fmt: skip
INTERVAL = types.void(_floats, _ints, _ints, _floats, _floats)
ERRORS = types.void(_floats, _ints, _ints, _ints, types.int64, _floats, _floats)
RELAXATION = types.float64(
    _floats, _ints, _ints, types.int64, types.float64, _floats, types.float64, _floats, _floats
)


# ---------------------------------------------------------------- the heap


@_inline
def _before(key: Any, node: Any, a: int, b: int) -> bool:
    """Cheaper first; of equals the younger, which is deeper."""
    return bool(key[a] < key[b] or (key[a] == key[b] and node[a] > node[b]))


@_kernel
def _push(heap: Any, state: Any, key: Any, node: Any, slot: int) -> None:
    i = state[HEAP]
    state[HEAP] += 1
    while i > 0:
        up = (i - 1) >> 1
        if not _before(key, node, slot, heap[up]):
            break
        heap[i] = heap[up]
        i = up
    heap[i] = slot


@_kernel
def _pop(heap: Any, state: Any, key: Any, node: Any) -> int:
    top = heap[0]
    state[HEAP] -= 1
    n = state[HEAP]
    slot = heap[n]
    i = 0
    while 2 * i + 1 < n:
        down = 2 * i + 1
        if down + 1 < n and _before(key, node, heap[down + 1], heap[down]):
            down += 1
        if not _before(key, node, heap[down], slot):
            break
        heap[i] = heap[down]
        i = down
    heap[i] = slot
    return int(top)


# ---------------------------------------------------------------- one box


@_inline
def _cheapest(offset: Any, costs: Any, valley: Any, f: int, a: int, b: int) -> int:
    """The cheapest candidate of a range: by the valley of the costs, or by looking at each."""
    at = valley[f]
    if at >= 0:
        return min(max(at, a), b)
    best = a
    for c in range(a + 1, b + 1):
        if costs[offset[f] + c] < costs[offset[f] + best]:
            best = c
    return best


@_kernel
def _corner(
    offset: Any, costs: Any, valley: Any, how: Any, box: Any, slot: int, corner: Any
) -> float:
    """The cheapest candidate of each feature, and what they cost together."""
    d = offset.shape[0] - 1
    total = 0.0
    for f in range(d):
        at = slot * 2 * d + f
        corner[f] = _cheapest(offset, costs, valley, f, box[at], box[at + d])
        cost = costs[offset[f] + corner[f]]
        total = max(total, cost) if how[GREATEST] == 1 else total + cost
    return total


@_inline
def _spanned(offset: Any, cells: Any, box: Any, slot: int, span: Any) -> None:
    d = offset.shape[0] - 1
    for f in range(2 * d):
        g = f if f < d else f - d
        span[f] = cells[offset[g] + box[slot * 2 * d + f]]


@_kernel
def _may_relate(
    offset: Any, codes: Any, box: Any, slot: int, relations: Any, goals: Any
) -> bool:
    """Whether each relation may hold for some point of a box, one relation at a time.

    A relation is (1 if a ≤ b else the sign of the rise, a, b, own candidate of a, of b).
    """
    d = offset.shape[0] - 1
    for r in range(goals.shape[0]):
        kind, i, j = relations[5 * r], relations[5 * r + 1], relations[5 * r + 2]
        at = slot * 2 * d
        stays = box[at + i] <= relations[5 * r + 3] <= box[at + d + i]
        least_a, most_a = codes[offset[i] + box[at + i]], codes[offset[i] + box[at + d + i]]
        least_b, most_b = codes[offset[j] + box[at + j]], codes[offset[j] + box[at + d + j]]
        if kind == 0:
            # it is not asked of missing values, nor of whoever changes nothing at all
            stays = stays and box[at + j] <= relations[5 * r + 4] <= box[at + d + j]
            unasked = np.isnan(most_a) or np.isnan(most_b)
            if not (stays or unasked or least_a <= most_b):
                return False
        elif not stays and not (most_b >= goals[r] if kind > 0 else least_b <= goals[r]):
            return False
    return True


@_inline
def _towards(lows: Any, highs: Any, mine: Any, offset: Any, box: Any, slot: int, span: Any) -> None:
    """In each feature a cell that the noise around every candidate of the box may reach.

    Of those the one nearest to the person's own, where confidence tends to be lost; a feature
    without such a cell keeps its range.
    """
    d = offset.shape[0] - 1
    for f in range(d):
        a, b = offset[f] + box[slot * 2 * d + f], offset[f] + box[slot * 2 * d + d + f]
        if lows[b] <= highs[a]:
            span[f] = min(max(mine[f], lows[b]), highs[a])
            span[d + f] = span[f]


# ---------------------------------------------------------------- the priced bound


@_inline
def _at_price(
    offset: Any, costs: Any, cells: Any, first_cell: Any, gains: Any, box: Any, slot: int,
    price: float,
) -> tuple[float, float]:  # fmt: skip
    """Σ_f min (cost − price · gain), and the gain there."""
    d = offset.shape[0] - 1
    total, gain = 0.0, 0.0
    for f in range(d):
        best, its = np.inf, 0.0
        for c in range(
            offset[f] + box[slot * 2 * d + f], offset[f] + box[slot * 2 * d + d + f] + 1
        ):
            g = gains[first_cell[f] + cells[c]]
            value = costs[c] - price * g
            if value < best:
                best, its = value, g
        total += best
        gain += its
    return total, gain


@_inline
def _most_gain(
    offset: Any, cells: Any, first_cell: Any, gains: Any, box: Any, slot: int, point: Any
) -> float:
    """The greatest sum of gains in a box, and the candidates that have it."""
    d = offset.shape[0] - 1
    total = 0.0
    for f in range(d):
        most = -np.inf
        for c in range(box[slot * 2 * d + f], box[slot * 2 * d + d + f] + 1):
            g = gains[first_cell[f] + cells[offset[f] + c]]
            if g > most:
                most = g
                point[f] = c
        total += most
    return total


@_kernel
def _best_price(
    offset: Any, costs: Any, cells: Any, first_cell: Any, gains: Any, box: Any, slot: int,
    needed: float, want: Any,
) -> float:  # fmt: skip
    """The best bound λ · needed + Σ_f min (cost − λ · gain) over prices λ ≥ 0; want[PRICE] is it.

    It is concave in λ. Two prices with slopes of opposite sign bracket its top; the next is where
    their tangents meet.
    """
    price = want[PRICE]
    low_price, low_slope, low_value = 0.0, 0.0, -np.inf
    high_price, high_slope, high_value = np.inf, 0.0, 0.0
    best, its = -np.inf, price
    want[ENOUGH] = np.inf
    for _ in range(STEPS):
        total, gain = _at_price(offset, costs, cells, first_cell, gains, box, slot, price)
        value, slope = price * needed + total, needed - gain
        if value > best:
            best, its = value, price
        if slope > 0.0:
            low_price, low_slope, low_value = price, slope, value
        else:
            want[ENOUGH] = price
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
            if not (low_price < following < high_price):
                break
            meeting = low_value + low_slope * (following - low_price)
            if meeting <= best * (1.0 + 1e-6) + 1e-12:
                break
            price = following
    want[PRICE] = min(max(its, 1e-9), 1e9)
    want[BOUND] = best - SAFE * (1.0 + abs(best) + its * abs(needed))
    return its


@_kernel
def _trim(
    offset: Any, costs: Any, cells: Any, first_cell: Any, gains: Any, box: Any, slot: int,
    needed: float, most: float, price: float, bound: float, cutoff: float,
) -> int:  # fmt: skip
    """Take candidates off the ends of a box that no better answer can use; how many.

    Such a candidate leaves the others too little gain, or costs too much at the price.
    """
    d = offset.shape[0] - 1
    taken = 0
    for f in range(d):
        lo, hi = slot * 2 * d + f, slot * 2 * d + d + f
        if box[lo] == box[hi]:
            continue
        least, top = np.inf, -np.inf
        for c in range(offset[f] + box[lo], offset[f] + box[hi] + 1):
            g = gains[first_cell[f] + cells[c]]
            least = min(least, costs[c] - price * g)
            top = max(top, g)
        others, room = most - top, cutoff - bound + least
        for end in range(2):
            while box[lo] < box[hi]:
                c = offset[f] + (box[lo] if end == 0 else box[hi])
                g = gains[first_cell[f] + cells[c]]
                if others + g >= needed - SAFE * (1.0 + abs(needed) + abs(most)) and (
                    costs[c] - price * g <= room
                ):
                    break
                if end == 0:
                    box[lo] += 1
                else:
                    box[hi] -= 1
                taken += 1
    return taken


@_kernel
def _spending(
    offset: Any, costs: Any, cells: Any, first_cell: Any, box: Any, slot: int, corner: Any,
    budget: float, spend: Any,
) -> None:  # fmt: skip
    """What the cheapest candidate of each cell costs more than the corner; ∞ beyond the budget."""
    d = offset.shape[0] - 1
    for f in range(d):
        a, b = offset[f] + box[slot * 2 * d + f], offset[f] + box[slot * 2 * d + d + f]
        for c in range(first_cell[f] + cells[a], first_cell[f] + cells[b] + 1):
            spend[c] = np.inf
        for c in range(a, b + 1):
            at = first_cell[f] + cells[c]
            more = costs[c] - costs[offset[f] + corner[f]]
            if more <= budget and more < spend[at]:
                spend[at] = more


@_kernel
def _priced_point(
    offset: Any, costs: Any, cells: Any, first_cell: Any, gains: Any, box: Any, slot: int,
    price: float, point: Any,
) -> float:  # fmt: skip
    """The candidates that are best at a price, and what they cost."""
    d = offset.shape[0] - 1
    total = 0.0
    for f in range(d):
        best = np.inf
        for c in range(box[slot * 2 * d + f], box[slot * 2 * d + d + f] + 1):
            at = offset[f] + c
            value = costs[at] - price * gains[first_cell[f] + cells[at]]
            if value < best:
                best = value
                point[f] = c
        total += costs[offset[f] + point[f]]
    return total


def _polish(
    interval: Any, numbers: Any, layout: Any, offset: Any, costs: Any, cells: Any, valley: Any,
    want: Any, point: Any, span: Any, out: Any, scratch: Any,
) -> float:  # fmt: skip
    """Make a point that meets the target cheaper, a feature at a time; gives its cost."""
    d = offset.shape[0] - 1
    for f in range(d):
        span[f] = cells[offset[f] + point[f]]
        span[d + f] = span[f]
    for _ in range(2):
        for f in range(d):
            if valley[f] >= 0:
                step = 1 if valley[f] < point[f] else -1
                c = valley[f]
                while c != point[f]:
                    span[f] = cells[offset[f] + c]
                    span[d + f] = span[f]
                    interval(numbers, layout, span, out, scratch)
                    if out[0] >= want[LOW] and out[1] <= want[HIGH]:
                        point[f] = c
                        break
                    c += step
                span[f] = cells[offset[f] + point[f]]
                span[d + f] = span[f]
    total = 0.0
    for f in range(d):
        total += costs[offset[f] + point[f]]
    return total


_polish_kernel = _inline(_polish)


# ---------------------------------------------------------------- the loop


def _advance(
    interval: Any, relaxation: Any, errors: Any, numbers: Any, layout: Any, offset: Any,
    codes: Any, costs: Any, cells: Any, first_cell: Any, valley: Any, lows: Any, highs: Any, mine: Any,
    relations: Any, goals: Any, how: Any, want: Any, state: Any, box: Any, key: Any,
    split: Any, where: Any, mark: Any, node: Any, heap: Any, spare: Any, feature: Any, cut: Any, left: Any,
    price: Any, bound: Any, span: Any, out: Any, scratch: Any, gains: Any, spend: Any, mine_cells: Any, corner: Any,
) -> int:  # fmt: skip
    """Open boxes until a corner may be an answer, the heap is empty, or it is time to pause."""
    d = offset.shape[0] - 1
    side = how[SIDE]
    stop_at = state[NODES] + how[PAUSE]
    # a box whose corner was an answer, or was refused, goes on without the corner
    slot = state[HELD]
    without = slot >= 0
    while True:
        if not without:
            if state[HEAP] == 0:
                return DONE
            if state[NODES] >= stop_at:
                return PAUSED
            if state[SPARE] < 2 * d + 2 or state[MADE] + 4 * d + 4 > feature.shape[0]:
                return FULL
            slot = _pop(heap, state, key, node)
            if key[slot] > want[CUTOFF]:
                _push(heap, state, key, node, slot)
                return DONE
            if how[FURTHEST] == 1 and -key[slot] <= want[REACHED]:
                _push(heap, state, key, node, slot)
                return DONE
            n = node[slot]
            # the second bound is dear, so a box gets it only when its turn comes
            if how[PRICED_BOUND] == 1 and (mark[slot] & RELAXED) == 0:
                mark[slot] |= RELAXED
                total = _corner(offset, costs, valley, how, box, slot, corner)
                budget = want[CUTOFF] - total
                _spending(offset, costs, cells, first_cell, box, slot, corner, budget, spend)
                _spanned(offset, cells, box, slot, span)
                level = want[LOW] if side > 0 else 1.0 - want[HIGH]
                needed = relaxation(
                    numbers, layout, span, side, level, spend, budget, gains, scratch
                )
                most = _most_gain(offset, cells, first_cell, gains, box, slot, corner)
                reach = gains[gains.shape[0] - 1]
                if reach < level or most < needed - SAFE * (1.0 + abs(needed) + abs(most)):
                    feature[n], price[n], bound[n] = -PRICED - 1, np.inf, np.inf
                    spare[state[SPARE]] = slot
                    state[SPARE] += 1
                    continue
                if how[FURTHEST] == 1:
                    new = -min(-key[slot], reach)
                    # the point of greatest gains is a better guess than the cheapest one
                    for f in range(d):
                        span[f] = cells[offset[f] + corner[f]]
                        span[d + f] = span[f]
                    interval(numbers, layout, span, out, scratch)
                    reached = out[0] if side > 0 else 1.0 - out[1]
                    if reached > want[REACHED]:
                        want[BOUND] = reached
                        key[slot] = new
                        _push(heap, state, key, node, slot)
                        state[HELD] = -1
                        return FOUND
                else:
                    its = _best_price(
                        offset, costs, cells, first_cell, gains, box, slot, needed, want
                    )
                    new = max(key[slot], want[BOUND])
                    if want[BOUND] > bound[n]:
                        price[n], bound[n] = its, want[BOUND]
                    if new > want[CUTOFF]:
                        feature[n] = -PRICED - 1
                        spare[state[SPARE]] = slot
                        state[SPARE] += 1
                        continue
                    taken = _trim(
                        offset, costs, cells, first_cell, gains, box, slot, needed, most, its,
                        want[BOUND], want[CUTOFF],
                    )  # fmt: skip
                    state[5] += 1
                    wide = 0
                    for f in range(d):
                        wide += box[slot * 2 * d + d + f] - box[slot * 2 * d + f]
                    if taken > 0:
                        total = _corner(offset, costs, valley, how, box, slot, mine_cells)
                        new = max(new, total)
                        mark[slot] &= ~FAILED
                    if taken > AGAIN * wide:
                        mark[slot] &= ~RELAXED
                        if new > key[slot]:
                            key[slot] = new
                        _push(heap, state, key, node, slot)
                        continue
                    total = _priced_point(
                        offset, costs, cells, first_cell, gains, box, slot, its, corner
                    )
                    for f in range(d):
                        mine_cells[f] = cells[offset[f] + corner[f]]
                    if want[BOUND] >= key[slot]:
                      errors(numbers, layout, span, mine_cells, side, out, scratch)
                      loosest, most_loose = split[slot], 0.0
                      for f in range(d):
                        wide = box[slot * 2 * d + d + f] > box[slot * 2 * d + f]
                        if wide and out[f] > most_loose:
                            loosest, most_loose = f, out[f]
                      split[slot] = loosest
                      where[slot] = corner[loosest]
                    if how[DIVE] == 1 and state[NODES] >= DIVE_FROM and want[ENOUGH] < np.inf:
                        dear = want[ENOUGH]
                        for _ in range(16 if want[CUTOFF] == np.inf else 2):
                            total = _priced_point(
                                offset, costs, cells, first_cell, gains, box, slot, dear, corner
                            )
                            for f in range(d):
                                span[f] = cells[offset[f] + corner[f]]
                                span[d + f] = span[f]
                            interval(numbers, layout, span, out, scratch)
                            if out[0] >= want[LOW] and out[1] <= want[HIGH]:
                                if total > 1.1 * want[CUTOFF]:
                                    break
                                total = _polish_kernel(
                                    interval, numbers, layout, offset, costs, cells, valley, want,
                                    corner, span, out, scratch,
                                )  # fmt: skip
                                if total < want[CUTOFF]:
                                    want[BOUND] = total
                                    key[slot] = new
                                    _push(heap, state, key, node, slot)
                                    state[HELD] = -1
                                    return BETTER
                                break
                            dear *= 1.5
                if new > key[slot]:
                    key[slot] = new
                    if state[HEAP] > 0 and not _before(key, node, slot, heap[0]):
                        _push(heap, state, key, node, slot)
                        continue
            state[NODES] += 1
            total = _corner(offset, costs, valley, how, box, slot, corner)
            if (mark[slot] & FAILED) == 0:
                for f in range(d):
                    span[f] = cells[offset[f] + corner[f]]
                    span[d + f] = span[f]
                interval(numbers, layout, span, out, scratch)
                if how[FURTHEST] == 1:
                    reached = out[0] if side > 0 else 1.0 - out[1]
                    if reached > want[REACHED]:
                        mark[slot] |= FAILED
                        want[BOUND] = reached
                        _push(heap, state, key, node, slot)
                        state[HELD] = -1
                        return FOUND
                elif out[1] >= want[LOW] and out[0] <= want[HIGH]:
                    state[HELD] = slot
                    return FOUND
        else:
            _corner(offset, costs, valley, how, box, slot, corner)
        n = node[slot]
        # cut the box: in two, or, where its corner is dealt with, around the corner
        f_next = 0
        alive = True
        while alive:
            f = split[slot]
            a, b = box[slot * 2 * d + f], box[slot * 2 * d + d + f]
            at = corner[f]
            if without:
                f = f_next
                while f < d and box[slot * 2 * d + f] == box[slot * 2 * d + d + f]:
                    f += 1
                f_next = f
                if f < d:
                    a, b, at = box[slot * 2 * d + f], box[slot * 2 * d + d + f], corner[f]
            if f == d or a == b:
                feature[n], bound[n] = -POINT - 1, np.inf
                break
            # the part that keeps the corner is cut again while we go around it
            here = at - 1 if a < at else at
            if not without and f == split[slot] and where[slot] >= 0:
                goal = where[slot]
                if goal > at:
                    here = (at + goal) >> 1
                elif goal < at:
                    here = (at + goal - 1) >> 1
            elif not without and a >= at:
                here = (a + b) >> 1
            feature[n], cut[n], left[n] = f, here, state[MADE]
            alive = False
            rest = -1
            for part in range(2):
                child = state[MADE] + part
                first, last = (a, here) if part == 0 else (here + 1, b)
                holds_corner = first <= at <= last
                state[SPARE] -= 1
                new_slot = spare[state[SPARE]]
                for k in range(2 * d):
                    box[new_slot * 2 * d + k] = box[slot * 2 * d + k]
                box[new_slot * 2 * d + f] = first
                box[new_slot * 2 * d + d + f] = last
                node[new_slot] = child
                price[child], bound[child], left[child] = 0.0, -np.inf, -1
                feature[child] = -OPEN - 1
                if without and holds_corner:
                    rest = new_slot
                    continue
                reason = OPEN
                if not _may_relate(offset, codes, box, new_slot, relations, goals):
                    reason = RELATION
                else:
                    _spanned(offset, cells, box, new_slot, span)
                    interval(numbers, layout, span, out, scratch)
                    if out[1] < want[LOW] or out[0] > want[HIGH]:
                        reason = CONFIDENCE
                    elif how[ROBUST] == 1:
                        split[new_slot] = 0
                        for k in range(d):
                            gains[k] = out[2 + k]
                        _towards(lows, highs, mine, offset, box, new_slot, span)
                        interval(numbers, layout, span, out, scratch)
                        if out[1] < want[FLOOR_LOW] or out[0] > want[FLOOR_HIGH]:
                            reason = FLOOR
                        for k in range(d):
                            out[2 + k] = gains[k]
                if reason != OPEN:
                    feature[child] = -reason - 1
                    bound[child] = np.inf
                    spare[state[SPARE]] = new_slot
                    state[SPARE] += 1
                    continue
                loosest, most_loose = 0, -1.0
                for k in range(d):
                    wide = box[new_slot * 2 * d + d + k] > box[new_slot * 2 * d + k]
                    if wide and out[2 + k] > most_loose:
                        loosest, most_loose = k, out[2 + k]
                split[new_slot] = loosest
                where[new_slot] = -1
                mark[new_slot] = FAILED if holds_corner else 0
                if how[FURTHEST] == 1:
                    key[new_slot] = max(key[slot], -(out[1] if side > 0 else 1.0 - out[0]))
                    bound[child] = -np.inf
                else:
                    # `added` and `corner` of the child: the corner changes in this feature alone
                    its = _cheapest(offset, costs, valley, f, first, last)
                    if how[GREATEST] == 1:
                        total = 0.0
                        for k in range(d):
                            c = its if k == f else corner[k]
                            total = max(total, costs[offset[k] + c])
                    else:
                        total = 0.0
                        for k in range(d):
                            c = its if k == f else corner[k]
                            total += costs[offset[k] + c]
                    bound[child] = total
                    key[new_slot] = max(key[slot], total)
                _push(heap, state, key, node, new_slot)
            state[MADE] += 2
            if rest >= 0:
                # go on around the corner inside the part that keeps it
                spare[state[SPARE]] = slot
                state[SPARE] += 1
                split[rest] = split[slot]
                key[rest] = key[slot]
                mark[rest] = mark[slot]
                slot = rest
                n = node[slot]
                alive = True
        spare[state[SPARE]] = slot
        state[SPARE] += 1
        state[HELD] = -1
        without = False


@cache
def advance() -> Any:
    """`_advance`, compiled for any model's functions."""
    arrays = {
        "numbers": _floats, "layout": _ints, "offset": _ints, "codes": _floats, "costs": _floats,
        "cells": _ints, "first_cell": _ints, "valley": _ints, "lows": _ints, "highs": _ints,
        "mine": _ints, "relations": _ints, "goals": _floats, "how": _ints, "want": _floats,
        "state": _ints, "box": _small, "key": _floats, "split": _small, "where": _small,
        "mark": _marks, "node": _small, "heap": _small, "spare": _small, "feature": _small,
        "cut": _small, "left": _small, "price": _floats, "bound": _floats, "span": _ints,
        "out": _floats, "scratch": _floats, "gains": _floats, "spend": _floats, "mine_cells": _ints,
        "corner": _ints,
    }  # fmt: skip
    handed = (
        types.FunctionType(INTERVAL),
        types.FunctionType(RELAXATION),
        types.FunctionType(ERRORS),
    )
    return njit(types.int64(*handed, *arrays.values()), **_fast)(_advance)
