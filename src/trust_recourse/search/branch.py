"""The loop of branch and bound, compiled; `tree` says what it means and holds its arrays.

Notation: d features, f; the candidates of feature f are offset[f] … offset[f+1] − 1 of `codes`,
`costs` and `cells`. A **box** is 2d numbers, the first and then the last candidate of each feature,
kept in a slot; a **span** is the same in cells. A heap holds the slots by `key`, a bound on the
cost. The model comes as three compiled functions and two arrays that only they read.

When a proof is wanted all boxes ever made are kept as a binary tree: node n was cut at feature[n]
after candidate cut[n] into left[n] and left[n] + 1, or is a leaf, −1 − its reason.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

# why the loop came back
DONE, FOUND, BETTER, PAUSED, FULL = 0, 1, 2, 3, 4
# why a leaf was discarded; the first five are those of a certificate
COST, CONFIDENCE, PRICED, RELATION, POINT, FLOOR, OPEN = 0, 1, 2, 3, 4, 5, 6
# the numbers in `state`
HEAP, SPARE, NODES, MADE, HELD = 0, 1, 2, 3, 4
# in `want`
LOW, HIGH, FLOOR_LOW, FLOOR_HIGH, CUTOFF, PRICE, BOUND, REACHED, ENOUGH = range(9)
FLOOR_PRICE, NEEDED = 9, 10
# in `how`
SIDE, FURTHEST, ROBUST, PAUSE, DIVE, PROVE = range(6)
# marks of a slot: OFF, what was trimmed off, in a proof, and its parts; LOST, noise around the
# corner reaches the known loss
RELAXED, FAILED, OFF, LOST = 1, 2, 4, 8

SAFE = 1e-11  # of a bound is given up for rounding
STEPS = 12  # of the search for the best price, at most
AGAIN = 0.1  # a box that loses more than this part of its candidates is bounded again

_fast: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
_inline = njit(**_fast, forceinline=True)
_kernel = njit(**_fast)


class Task(NamedTuple):
    """What is searched: the model's arrays, the candidates, and what binds them."""

    numbers: Any
    layout: Any
    offset: Any
    codes: Any
    costs: Any
    cells: Any
    first_cell: Any
    valley: Any  # the cheapest candidate of a feature whose costs fall and then rise, else −1
    lows: Any  # first and last cell that noise around a candidate may reach
    highs: Any
    relations: Any  # (0 for a ≤ b, else the sign of the rise; a, b, own candidates of a and b) each
    goals: Any


class Store(NamedTuple):
    """The boxes that wait."""

    box: Any
    key: Any
    split: Any  # the feature to cut it at
    where: Any  # a candidate to part from the cheapest by that, −1 if none
    mark: Any
    loss: Any  # where the floor is missed near the corner, a cell for each feature; see LOST
    worst: Any  # the same near a point bought at a price; only a guess in a part of the box
    node: Any
    heap: Any
    spare: Any


class Tree(NamedTuple):
    """All boxes ever made, if a proof is wanted."""

    feature: Any
    cut: Any
    left: Any
    price: Any


class Work(NamedTuple):
    """Scratch memory."""

    span: Any
    out: Any
    scratch: Any
    gains: Any
    spend: Any
    point: Any
    corner: Any
    start: Any
    shifted: Any  # a cell in reach of each candidate's noise, and what is left to pay for it
    reduced: Any
    beside: Any  # scratch memory of the model for the floor, which remembers other rates


_floats, _ints, _small, _marks = (
    types.float64[::1], types.int64[::1], types.int32[::1], types.int8[::1],
)  # fmt: skip
INTERVAL = types.void(_floats, _ints, _ints, _floats, _floats)
ERRORS = types.void(_floats, _ints, _ints, _ints, _floats, _floats)
RELAXATION = types.float64(
    _floats, _ints, _ints, types.int64, types.float64, _floats, types.float64, _floats, _floats
)


# ---------------------------------------------------------------- the heap


@_inline
def _before(store: Any, a: int, b: int) -> bool:
    """Cheaper first; of equals the younger, which is deeper."""
    key = store.key
    return bool(key[a] < key[b] or (key[a] == key[b] and store.node[a] > store.node[b]))


@_kernel
def _push(store: Any, state: Any, slot: int) -> None:
    heap, i = store.heap, state[HEAP]
    state[HEAP] += 1
    while i > 0:
        up = (i - 1) >> 1
        if not _before(store, slot, heap[up]):
            break
        heap[i] = heap[up]
        i = up
    heap[i] = slot


@_kernel
def _pop(store: Any, state: Any) -> int:
    heap = store.heap
    top = heap[0]
    state[HEAP] -= 1
    n = state[HEAP]
    slot = heap[n]
    i = 0
    while 2 * i + 1 < n:
        down = 2 * i + 1
        if down + 1 < n and _before(store, heap[down + 1], heap[down]):
            down += 1
        if not _before(store, heap[down], slot):
            break
        heap[i] = heap[down]
        i = down
    heap[i] = slot
    return int(top)


@_inline
def _release(store: Any, state: Any, slot: int) -> None:
    store.spare[state[SPARE]] = slot
    state[SPARE] += 1


@_inline
def _leaf(tree: Any, how: Any, node: int, reason: int, price: float) -> None:
    if how[PROVE] == 1:
        tree.feature[node] = -1 - reason
        tree.cut[node] = 0
        tree.price[node] = price


# ---------------------------------------------------------------- one box


@_inline
def _cheapest(task: Any, f: int, a: int, b: int) -> int:
    """The cheapest candidate of a range: by the valley of the costs, or by looking at each."""
    at = task.valley[f]
    if at >= 0:
        return min(max(at, a), b)
    best = a
    for c in range(a + 1, b + 1):
        if task.costs[task.offset[f] + c] < task.costs[task.offset[f] + best]:
            best = c
    return best


@_kernel
def _corner(task: Any, store: Any, slot: int, corner: Any) -> float:
    """The cheapest candidate of each feature, and what they cost together."""
    d = corner.shape[0]
    total = 0.0
    for f in range(d):
        at = slot * 2 * d + f
        corner[f] = _cheapest(task, f, store.box[at], store.box[at + d])
        total += task.costs[task.offset[f] + corner[f]]
    return total


@_inline
def _widest(store: Any, slot: int, d: int) -> int:
    """The feature with most candidates in a box."""
    best, most = 0, -1
    for f in range(d):
        wide = store.box[slot * 2 * d + d + f] - store.box[slot * 2 * d + f]
        if wide > most:
            best, most = f, wide
    return best


@_inline
def _span_of(task: Any, store: Any, slot: int, span: Any) -> None:
    d = task.offset.shape[0] - 1
    for k in range(2 * d):
        f = k if k < d else k - d
        span[k] = task.cells[task.offset[f] + store.box[slot * 2 * d + k]]


@_inline
def _span_of_point(task: Any, point: Any, span: Any) -> None:
    d = point.shape[0]
    for f in range(d):
        span[f] = task.cells[task.offset[f] + point[f]]
        span[d + f] = span[f]


@_inline
def _meets(want: Any, out: Any) -> bool:
    """Whether bounds on a point's confidence lie wholly within the target."""
    return bool(out[0] >= want[LOW] and out[1] <= want[HIGH])


@_kernel
def _may_relate(task: Any, store: Any, slot: int) -> bool:
    """Whether each relation may hold for some point of a box, one relation at a time."""
    d = task.offset.shape[0] - 1
    for r in range(task.goals.shape[0]):
        kind, i, j = task.relations[5 * r], task.relations[5 * r + 1], task.relations[5 * r + 2]
        a, b = store.box[slot * 2 * d + i], store.box[slot * 2 * d + d + i]
        s, t = store.box[slot * 2 * d + j], store.box[slot * 2 * d + d + j]
        stays = a <= task.relations[5 * r + 3] <= b
        if kind == 0:
            # it is not asked of missing values, nor of whoever changes nothing at all
            stays = stays and s <= task.relations[5 * r + 4] <= t
            least, most = task.codes[task.offset[i] + a], task.codes[task.offset[j] + t]
            unasked = np.isnan(task.codes[task.offset[i] + b]) or np.isnan(most)
            if not (stays or unasked or least <= most):
                return False
        elif not stays:
            least, most = task.codes[task.offset[j] + s], task.codes[task.offset[j] + t]
            if not (most >= task.goals[r] if kind > 0 else least <= task.goals[r]):
                return False
    return True


@_inline
def _clamped(cell: int, low: int, high: int) -> int:
    return min(max(cell, low), high)


@_inline
def _span_towards(task: Any, store: Any, slot: int, span: Any) -> None:
    """The cells nearest to the last known loss that noise around the box's candidates may reach.

    Where noise around all candidates of a feature reaches a common cell, it is one cell.
    """
    d = task.offset.shape[0] - 1
    for f in range(d):
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        loss = store.loss[slot * d + f]
        if task.lows[b] <= task.highs[a]:
            span[f] = _clamped(loss, task.lows[b], task.highs[a])
            span[d + f] = span[f]
        else:
            span[f] = _clamped(loss, task.lows[a], task.highs[a])
            span[d + f] = _clamped(loss, task.lows[b], task.highs[b])


@_inline
def _above_floor(interval: Any, task: Any, want: Any, work: Any) -> float:
    """What confidence on the span has at most beyond the floor: negative where it is missed."""
    interval(task.numbers, task.layout, work.span, work.out, work.scratch)
    return float(min(work.out[1] - want[FLOOR_LOW], want[FLOOR_HIGH] - work.out[0]))


@_inline
def _loss_near(
    interval: Any, task: Any, want: Any, work: Any, known: Any, at: int, point: Any
) -> bool:
    """Whether a quick look finds a cell within the noise around a point that misses the floor.

    The nearest to one known from elsewhere, known[at …], is tried, then feature by feature the end
    of the noise with less confidence is taken. The cell is left in the span.
    """
    d = point.shape[0]
    span = work.span
    for f in range(d):
        c = task.offset[f] + point[f]
        span[f] = _clamped(known[at + f], task.lows[c], task.highs[c])
        span[d + f] = span[f]
    least = _above_floor(interval, task, want, work)
    for f in range(d):
        if least < 0.0:
            break
        c = task.offset[f] + point[f]
        kept = span[f]
        for end in range(2):
            cell = task.lows[c] if end == 0 else task.highs[c]
            span[f], span[d + f] = cell, cell
            here = _above_floor(interval, task, want, work)
            if here < least:
                least, kept = here, cell
        span[f], span[d + f] = kept, kept
    return bool(least < 0.0)


@_inline
def _moved(
    interval: Any, task: Any, want: Any, work: Any, goal: Any, first: int, last: int
) -> None:
    """Move a loss in the span towards a goal in some features together, as far as it stays one."""
    d = goal.shape[0]
    span, start = work.span, work.start
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
        if _above_floor(interval, task, want, work) < 0.0:
            low = part
        else:
            high = part
        part = (low + high) >> 1


@_inline
def _keep_loss(
    interval: Any, task: Any, want: Any, store: Any, work: Any, slot: int, corner: Any
) -> None:
    """Remember the loss in the span, moved to where it is dearest to get out of its reach.

    At the end of a range that is as far as noise goes into the range, else at the corner itself.
    """
    d = corner.shape[0]
    goal = work.point
    for f in range(d):
        c = task.offset[f] + corner[f]
        goal[f] = task.cells[c]
        if corner[f] == store.box[slot * 2 * d + f]:
            goal[f] = task.highs[c]
        elif corner[f] == store.box[slot * 2 * d + d + f]:
            goal[f] = task.lows[c]
    _moved(interval, task, want, work, goal, 0, d)
    for f in range(d):
        _moved(interval, task, want, work, goal, f, f + 1)
    for f in range(d):
        store.loss[slot * d + f] = work.span[f]
    store.mark[slot] |= LOST


@_inline
def _way_out(task: Any, store: Any, slot: int, corner: Any) -> tuple[int, int]:
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
            out = _cheapest(task, f, a, first - 1) if end == 0 else _cheapest(task, f, last + 1, b)
            more = task.costs[at + out] - task.costs[at + corner[f]]
            if more > dearest:
                feature, cut, dearest = f, first - 1 if end == 0 else last, more
    return feature, cut


# ---------------------------------------------------------------- the priced bound


@_inline
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


@_inline
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


@_kernel
def _at_price(
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


@_kernel
def _best_price(
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
        total, gain = _at_price(task, store, slot, gains, price, point)
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


@_inline
def _trimmed(
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


@_inline
def _cost(task: Any, point: Any) -> float:
    total = 0.0
    for f in range(point.shape[0]):
        total += task.costs[task.offset[f] + point[f]]
    return total


@_inline
def _polish(interval: Any, task: Any, want: Any, work: Any, point: Any) -> float:
    """Make a point that meets the target cheaper, a feature at a time; gives its cost."""
    d = point.shape[0]
    span, out = work.span, work.out
    _span_of_point(task, point, span)
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


@_inline
def _dive(
    interval: Any, task: Any, priced: Any, how: Any, want: Any, store: Any, work: Any, slot: int,
    price: float,
) -> bool:  # fmt: skip
    """Look for a point that meets the target and is cheaper than the best so far.

    What is bought at a price is tried, then at higher prices.
    """
    d, point = task.offset.shape[0] - 1, work.corner
    for _ in range(16 if want[CUTOFF] == np.inf else 2):
        _at_price(priced, store, slot, work.gains, price, point)
        _span_of_point(task, point, work.span)
        interval(task.numbers, task.layout, work.span, work.out, work.scratch)
        if _meets(want, work.out):
            cost = _cost(task, point)
            if how[ROBUST] == 0:
                polish = cost <= 1.1 * want[CUTOFF]
                return polish and _polish(interval, task, want, work, point) < want[CUTOFF]
            # polished points lie on edges, where noise loses them
            if cost >= want[CUTOFF]:
                return False
            if not _loss_near(interval, task, want, work, store.worst, slot * d, point):
                return True
        price *= 1.5
    return False


# ---------------------------------------------------------------- making boxes


@_inline
def _child(
    task: Any, state: Any, store: Any, tree: Any, how: Any, slot: int, f: int, a: int, b: int,
    node: int,
) -> int:  # fmt: skip
    """A new slot with the box of another, but for the range of one feature."""
    d = task.offset.shape[0] - 1
    state[SPARE] -= 1
    new = store.spare[state[SPARE]]
    for k in range(2 * d):
        store.box[new * 2 * d + k] = store.box[slot * 2 * d + k]
    store.box[new * 2 * d + f] = a
    store.box[new * 2 * d + d + f] = b
    store.node[new] = node
    store.key[new] = store.key[slot]
    store.split[new] = store.split[slot]
    store.where[new] = -1
    store.mark[new] = store.mark[slot] & OFF
    if how[ROBUST] == 1:
        for k in range(d):
            store.loss[new * d + k] = store.loss[slot * d + k]
            store.worst[new * d + k] = store.worst[slot * d + k]
    _leaf(tree, how, node, OPEN, 0.0)
    return int(new)


@_inline
def _record_cut(tree: Any, how: Any, state: Any, node: int, f: int, cut: int) -> int:
    """Note that a node is cut; gives its left child."""
    left = state[MADE]
    state[MADE] += 2
    if how[PROVE] == 1:
        tree.feature[node] = f
        tree.cut[node] = cut
        tree.left[node] = left
        tree.price[node] = 0.0
    return int(left)


@_inline
def _admit(
    interval: Any, task: Any, how: Any, want: Any, state: Any, store: Any, tree: Any, work: Any,
    slot: int,
) -> None:  # fmt: skip
    """Let a new box wait for its turn, or discard it."""
    d = task.offset.shape[0] - 1
    out, loosest, most_loose = work.out, 0, -1.0
    reason = OPEN
    if not _may_relate(task, store, slot):
        reason = RELATION
    else:
        _span_of(task, store, slot, work.span)
        interval(task.numbers, task.layout, work.span, out, work.scratch)
        for f in range(d):
            wide = store.box[slot * 2 * d + d + f] > store.box[slot * 2 * d + f]
            if wide and out[2 + f] > most_loose:
                loosest, most_loose = f, out[2 + f]
        if how[FURTHEST] == 1:
            store.key[slot] = max(store.key[slot], -(out[1] if how[SIDE] > 0 else 1.0 - out[0]))
        else:
            store.key[slot] = max(store.key[slot], _corner(task, store, slot, work.point))
        if out[1] < want[LOW] or out[0] > want[HIGH]:
            reason = CONFIDENCE
        elif how[ROBUST] == 1:
            _span_towards(task, store, slot, work.span)
            if _above_floor(interval, task, want, work) < 0.0:
                reason = FLOOR
    if reason == OPEN and store.key[slot] >= want[CUTOFF]:
        reason = COST
    store.split[slot] = loosest
    if reason == OPEN:
        _push(store, state, slot)
    else:
        _leaf(tree, how, store.node[slot], reason, 0.0)
        _release(store, state, slot)


@_inline
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
            taken = _trimmed(task, store, slot, work.gains, f, end, needed, most, price, room)
            if taken == 0:
                continue
            total += taken
            a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
            cut = a + taken - 1 if end == 0 else b - taken
            if how[PROVE] == 1:
                left = _record_cut(tree, how, state, store.node[slot], f, cut)
                first, last = (a, cut) if end == 0 else (cut + 1, b)
                off = _child(
                    task, state, store, tree, how, slot, f, first, last,
                    left if end == 0 else left + 1,
                )  # fmt: skip
                store.node[slot] = left + 1 if end == 0 else left
                _leaf(tree, how, store.node[slot], OPEN, 0.0)
                store.key[off] = 0.0
                store.mark[off] = OFF
                _admit(interval, task, how, want, state, store, tree, work, off)
            if end == 0:
                store.box[slot * 2 * d + f] = cut + 1
            else:
                store.box[slot * 2 * d + d + f] = cut
    return total


# ---------------------------------------------------------------- the loop


@_inline
def _relaxed(
    relaxation: Any, task: Any, how: Any, want: Any, store: Any, work: Any, slot: int, side: int,
    level: float, scratch: Any,
) -> tuple[float, float, bool]:  # fmt: skip
    """The gain that a level needs, the most there is, and whether that may be enough."""
    total = _corner(task, store, slot, work.corner)
    budget = np.inf if how[FURTHEST] == 1 else want[CUTOFF] - total
    _spending(task, store, slot, work.corner, budget, work.spend)
    _span_of(task, store, slot, work.span)
    needed = relaxation(
        task.numbers, task.layout, work.span, side, level, work.spend, budget, work.gains, scratch
    )
    reach = work.gains[work.gains.shape[0] - 1]
    most = _most_gain(task, store, slot, work.gains, work.corner)
    return needed, most, reach >= level and most >= needed - SAFE * (1.0 + abs(needed) + abs(most))


@_inline
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
    needed, most, enough = _relaxed(
        relaxation, task, how, want, store, work, slot, side, level, scratch
    )
    if not enough:
        _leaf(tree, how, node, PRICED, np.inf)
        return False
    price = _best_price(priced, want, store, slot, work.gains, needed, work.point)
    want[NEEDED] = needed
    want[BOUND] += paid - SAFE * abs(paid)
    if not want[BOUND] <= want[CUTOFF]:  # nor if there is no bound, for all is beyond the budget
        _leaf(tree, how, node, PRICED, price)
        return False
    store.key[slot] = max(store.key[slot], want[BOUND])
    if want[BOUND] >= store.key[slot]:
        # this bound decides, so the box is cut where it errs most
        _at_price(priced, store, slot, work.gains, price, work.point)
        _span_of(task, store, slot, work.span)
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
        total = _corner(task, store, slot, work.corner)
        store.key[slot] = max(store.key[slot], total)
        store.mark[slot] &= ~(FAILED | LOST)
        wide = 0
        for f in range(d):
            wide += store.box[slot * 2 * d + d + f] - store.box[slot * 2 * d + f]
        if taken > AGAIN * wide:
            store.mark[slot] &= ~RELAXED
    return True


@_inline
def _with(task: Any, cells: Any, costs: Any) -> Any:
    """The task with other cells and costs of its candidates."""
    return Task(
        task.numbers, task.layout, task.offset, task.codes, costs, cells, task.first_cell,
        task.valley, task.lows, task.highs, task.relations, task.goals,
    )  # fmt: skip


@_inline
def _shift(task: Any, want: Any, store: Any, work: Any, slot: int) -> None:
    """Where noise may take each candidate: its cell nearest to a loss near what is bought.

    With what the candidate costs after the target's price.
    """
    d = task.offset.shape[0] - 1
    for f in range(d):
        a = task.offset[f] + store.box[slot * 2 * d + f]
        b = task.offset[f] + store.box[slot * 2 * d + d + f]
        for c in range(a, b + 1):
            work.shifted[c] = _clamped(store.worst[slot * d + f], task.lows[c], task.highs[c])
            gain = work.gains[task.first_cell[f] + task.cells[c]]
            work.reduced[c] = task.costs[c] - want[PRICE] * gain


@_inline
def _bounded_by_floor(
    interval: Any, relaxation: Any, errors: Any, task: Any, how: Any, want: Any, state: Any,
    store: Any, tree: Any, work: Any, slot: int, diving: bool,
) -> int:  # fmt: skip
    """After the target's bound, one by its price and a price for the floor, as `_bounded_again`."""
    d = task.offset.shape[0] - 1
    rises = want[FLOOR_LOW] > 0.0
    side = 1 if rises else -1
    level = want[FLOOR_LOW] if rises else 1.0 - want[FLOOR_HIGH]
    _at_price(task, store, slot, work.gains, want[PRICE], work.point)
    _loss_near(interval, task, want, work, store.worst, slot * d, work.point)
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
    found = _dive(interval, task, priced, how, want, store, work, slot, want[FLOOR_PRICE])
    return 2 if found else 1


@_inline
def _bounded_again(
    interval: Any, relaxation: Any, errors: Any, task: Any, how: Any, want: Any, state: Any,
    store: Any, tree: Any, work: Any, slot: int,
) -> int:  # fmt: skip
    """The second bound: 0 if the box is discarded, 1 if it stays, 2 if a better point was found."""
    side = how[SIDE]
    level = want[LOW] if side > 0 else 1.0 - want[HIGH]
    store.mark[slot] |= RELAXED
    if how[FURTHEST] == 1:
        _, _, enough = _relaxed(
            relaxation, task, how, want, store, work, slot, side, level, work.scratch
        )
        if not enough:
            return 0
        store.key[slot] = max(store.key[slot], -work.gains[work.gains.shape[0] - 1])
        # the point of greatest gains is a better guess than the cheapest one
        _span_of_point(task, work.corner, work.span)
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
        and _dive(interval, task, task, how, want, store, work, slot, want[ENOUGH])
    ):
        return 2
    if how[ROBUST] == 0 or store.key[slot] > want[CUTOFF]:
        return 1
    return _bounded_by_floor(
        interval, relaxation, errors, task, how, want, state, store, tree, work, slot, diving
    )


def _advance(
    interval: Any, relaxation: Any, errors: Any, task: Any, how: Any, want: Any, state: Any,
    store: Any, tree: Any, work: Any,
) -> int:  # fmt: skip
    """Open boxes until a corner may be an answer, the heap is empty, or it is time to pause."""
    d = task.offset.shape[0] - 1
    corner, side = work.corner, how[SIDE]
    stop_at = state[NODES] + how[PAUSE]
    slot = state[HELD]
    around = slot >= 0  # a box whose corner was an answer, or was refused, goes on without it
    while True:
        if not around:
            if state[HEAP] == 0:
                return DONE
            if state[NODES] >= stop_at:
                return PAUSED
            full = how[PROVE] == 1 and state[MADE] + 8 * d + 8 > tree.feature.shape[0]
            if full or state[SPARE] < 4 * d + 4:
                return FULL
            slot = _pop(store, state)
            done = how[FURTHEST] == 1 and -store.key[slot] <= want[REACHED]
            dear = store.key[slot] > want[CUTOFF]
            if how[PROVE] == 1:  # of a box at the bound nothing is left to prove
                dear = store.key[slot] >= want[CUTOFF]
            if done or dear:
                if how[PROVE] == 1:
                    _leaf(tree, how, store.node[slot], COST, 0.0)
                    _release(store, state, slot)
                    continue
                _push(store, state, slot)
                return DONE
            # the second bound is dear, so a box gets it only when its turn comes
            if (store.mark[slot] & RELAXED) == 0:
                was = store.key[slot]
                said = _bounded_again(
                    interval, relaxation, errors, task, how, want, state, store, tree, work, slot
                )
                if said == 0:
                    _release(store, state, slot)
                    continue
                again = (store.mark[slot] & RELAXED) == 0
                if said == 2 or again or (store.key[slot] > was and state[HEAP] > 0):
                    _push(store, state, slot)
                    if said == 2:
                        return BETTER
                    continue
            state[NODES] += 1
            _corner(task, store, slot, corner)
            if (store.mark[slot] & FAILED) == 0:
                store.mark[slot] |= FAILED
                _span_of_point(task, corner, work.span)
                interval(task.numbers, task.layout, work.span, work.out, work.scratch)
                if how[FURTHEST] == 1:
                    if (work.out[0] if side > 0 else 1.0 - work.out[1]) > want[REACHED]:
                        _push(store, state, slot)
                        return BETTER
                else:
                    meets = work.out[1] >= want[LOW] and work.out[0] <= want[HIGH]
                    if how[ROBUST] == 1 and _loss_near(
                        interval, task, want, work, store.loss, slot * d, corner
                    ):
                        _keep_loss(interval, task, want, store, work, slot, corner)
                    elif meets:
                        state[HELD] = slot
                        return FOUND
        else:
            _corner(task, store, slot, corner)
        f, out = _widest(store, slot, d) if around else store.split[slot], -1
        if (store.mark[slot] & LOST) != 0 and (store.where[slot] < 0 or state[NODES] & 1 == 0):
            # this cut and that of the price are each far better at times, so they take turns
            f, out = _way_out(task, store, slot, corner)
            if f < 0:
                _leaf(tree, how, store.node[slot], FLOOR, 0.0)
                _release(store, state, slot)
                continue
        a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
        if a == b:  # what was to be cut has been trimmed away
            f = _widest(store, slot, d)
            a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
            store.where[slot] = -1
        if a == b:
            _leaf(tree, how, store.node[slot], POINT, 0.0)
            _release(store, state, slot)
            state[HELD] = -1
            around = False
            continue
        at, goal = corner[f], store.where[slot]
        if out >= 0:
            cut = out
        elif around or goal == at:
            cut = at - 1 if a < at else at
        elif goal >= 0:
            cut = (at + goal) >> 1 if goal > at else (at + goal - 1) >> 1
        else:
            cut = at - 1 if a < at else (a + b) >> 1
        cut = min(max(cut, a), b - 1)
        left = _record_cut(tree, how, state, store.node[slot], f, cut)
        rest = -1
        for part in range(2):
            first, last = (a, cut) if part == 0 else (cut + 1, b)
            new = _child(task, state, store, tree, how, slot, f, first, last, left + part)
            if first <= at <= last:
                store.mark[new] |= FAILED | (store.mark[slot] & LOST)
                if around:
                    rest = new
                    continue
            _admit(interval, task, how, want, state, store, tree, work, new)
        _release(store, state, slot)
        around = rest >= 0
        slot = rest
        state[HELD] = rest


@cache
def advance() -> Any:
    """`_advance`, compiled for any model's functions."""
    functions = (types.FunctionType(kind) for kind in (INTERVAL, RELAXATION, ERRORS))
    task = [_floats, _ints, _ints, _floats, _floats, *[_ints] * 6, _floats]
    store = [_small, _floats, _small, _small, _marks, _small, _small, _small, _small, _small]
    tree = [_small, _small, _small, _floats]
    work = [_ints, _floats, _floats, _floats, _floats, _ints, _ints, _ints, _ints, _floats, _floats]
    tuples = [
        types.NamedTuple(kinds, of)
        for kinds, of in ((task, Task), (store, Store), (tree, Tree), (work, Work))
    ]
    return njit(types.int64(*functions, tuples[0], _ints, _floats, _ints, *tuples[1:]), **_fast)(
        _advance
    )
