"""Boxes, compiled: the heap in which they wait, how one is made of another, what lies in one.

Notation as in `arrays`. The **corner** of a box is the cheapest candidate of each feature; its cost
is the first bound on the box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import inline, inner
from trust_recourse.search.arrays import (
    AROUND,
    FAILED,
    HEAP,
    LAGRANGIAN,
    LAYOUT,
    LOST,
    MADE,
    MEMORY,
    NUMBERS,
    OFF,
    OPEN,
    PROVE,
    RELATION,
    ROWS,
    SCRATCH,
    SPARE,
    TERM,
    WAY,
)
from trust_recourse.search.following import settle

# ---------------------------------------------------------------- the heap


@inline
def _before(store: Any, a: int, b: int) -> bool:
    """Cheaper first; of equals the younger, which is deeper."""
    key = store.key
    return bool(key[a] < key[b] or (key[a] == key[b] and store.node[a] > store.node[b]))


@inner
def push(store: Any, counters: Any, slot: int) -> None:
    """Let a slot wait for its turn."""
    heap, i = store.heap, counters[HEAP]
    counters[HEAP] += 1
    while i > 0:
        up = (i - 1) >> 1
        if not _before(store, slot, heap[up]):
            break
        heap[i] = heap[up]
        i = up
    heap[i] = slot


@inner
def pop(store: Any, counters: Any) -> int:
    """The slot whose turn it is."""
    heap = store.heap
    top = heap[0]
    counters[HEAP] -= 1
    n = counters[HEAP]
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


@inline
def release(store: Any, counters: Any, slot: int) -> None:
    """Let a slot be used again."""
    store.spare[counters[SPARE]] = slot
    counters[SPARE] += 1


# ---------------------------------------------------------------- making boxes


@inline
def memory_of(run: Any) -> int:
    """How many numbers the kernels keep of a box, all conditions together."""
    parts = run.task.parts
    return int(parts[parts.shape[0] - 1])


@inline
def leaf(run: Any, node: int, reason: int, multiplier: float) -> None:
    """Note why a node is not cut, with the multiplier that shows it."""
    if run.asked.switches[PROVE] == 1:
        run.tree.feature[node] = -1 - reason
        run.tree.cut[node] = 0
        run.tree.multiplier[node] = multiplier
        run.tree.row[node] = -1


@inline
def priced_leaf(run: Any, node: int, multiplier: float, slot: int, row: int) -> int:
    """Note that a multiplier discards a node, with what the kernels remember of a box.

    That is a row of the tree's memory, or a new one if it is −1; which is given back.
    """
    store, tree, counters, size = run.store, run.tree, run.asked.counters, memory_of(run)
    leaf(run, node, LAGRANGIAN, multiplier)
    if run.asked.switches[PROVE] == 1 and size > 0:
        if row < 0:
            row = counters[ROWS]
            counters[ROWS] += 1
            for k in range(size):
                tree.memory[row * size + k] = store.memory[slot * size + k]
        tree.row[node] = row
    return int(row)


@inline
def record_cut(run: Any, node: int, f: int, cut: int) -> int:
    """Note that a node is cut; gives its left child."""
    tree, counters = run.tree, run.asked.counters
    left = counters[MADE]
    counters[MADE] += 2
    if run.asked.switches[PROVE] == 1:
        tree.feature[node] = f
        tree.cut[node] = cut
        tree.left[node] = left
        tree.multiplier[node] = 0.0
        tree.row[node] = -1
    return int(left)


@inline
def child(run: Any, slot: int, f: int, a: int, b: int, node: int) -> int:
    """A new slot with the box of another, but for the range of one feature."""
    store, counters = run.store, run.asked.counters
    d = run.task.offset.shape[0] - 1
    counters[SPARE] -= 1
    new = store.spare[counters[SPARE]]
    for k in range(2 * d):
        store.box[new * 2 * d + k] = store.box[slot * 2 * d + k]
    store.box[new * 2 * d + f] = a
    store.box[new * 2 * d + d + f] = b
    store.node[new] = node
    store.key[new] = store.key[slot]
    store.split[new] = store.split[slot]
    store.where[new] = -1
    store.mark[new] = store.mark[slot] & OFF
    if run.asked.switches[AROUND] >= 0:
        for k in range(d):
            store.loss[new * d + k] = store.loss[slot * d + k]
            store.worst[new * d + k] = store.worst[slot * d + k]
    size = memory_of(run)
    for k in range(size):
        store.memory[new * size + k] = store.memory[slot * size + k]
    leaf(run, node, OPEN, 0.0)
    return int(new)


# ---------------------------------------------------------------- one box


@inline
def cheapest(task: Any, f: int, a: int, b: int) -> int:
    """The cheapest candidate of a range: by the valley of the costs, or by looking at each."""
    at = task.valley[f]
    if at >= 0:
        return min(max(at, a), b)
    best = a
    for c in range(a + 1, b + 1):
        if task.costs[task.offset[f] + c] < task.costs[task.offset[f] + best]:
            best = c
    return best


@inner
def corner_of(task: Any, store: Any, slot: int, corner: Any) -> float:
    """The cheapest candidate of each feature, and what they cost together.

    Derived columns, which cost nothing, follow from the others where they can.
    """
    d = corner.shape[0]
    total = 0.0
    for f in range(d):
        at = slot * 2 * d + f
        corner[f] = cheapest(task, f, store.box[at], store.box[at + d])
        total += task.costs[task.offset[f] + corner[f]]
    settle(task, store, slot, corner)
    return total


@inline
def widest(store: Any, slot: int, d: int) -> int:
    """The feature with most candidates in a box."""
    best, most = 0, -1
    for f in range(d):
        wide = store.box[slot * 2 * d + d + f] - store.box[slot * 2 * d + f]
        if wide > most:
            best, most = f, wide
    return best


@inline
def span_of(task: Any, store: Any, slot: int, k: int, span: Any) -> None:
    """The cells of a box in a condition's grid."""
    d = task.offset.shape[0] - 1
    base = k * task.codes.shape[0]
    for i in range(2 * d):
        f = i if i < d else i - d
        span[i] = task.cells[base + task.offset[f] + store.box[slot * 2 * d + i]]


@inline
def span_of_point(task: Any, point: Any, k: int, span: Any) -> None:
    """The cells of one candidate for each feature in a condition's grid."""
    d = point.shape[0]
    base = k * task.codes.shape[0]
    for f in range(d):
        span[f] = task.cells[base + task.offset[f] + point[f]]
        span[d + f] = span[f]


# ---------------------------------------------------------------- a condition's kernel on a span


@inline
def bounded(interval: Any, run: Any, slot: int, k: int) -> None:
    """Bounds on a condition's number over the span; they are left in `out`."""
    task, work, p = run.task, run.work, 5 * k
    parts = task.parts
    work.out[0] = work.out[1] = np.nan
    interval(
        task.numbers[parts[p + NUMBERS] : parts[p + 5 + NUMBERS]],
        task.layout[parts[p + LAYOUT] : parts[p + 5 + LAYOUT]],
        work.span, work.out,
        work.scratch[parts[p + SCRATCH] : parts[p + 5 + SCRATCH]],
        run.store.memory, slot * memory_of(run) + parts[p + MEMORY],
    )  # fmt: skip


@inline
def narrowed(narrow: Any, run: Any, slot: int, k: int) -> None:
    """Let a condition's kernel note what is left on the span of a box made from another."""
    task, p = run.task, 5 * k
    parts = task.parts
    if parts[p + 5 + MEMORY] > parts[p + MEMORY]:
        narrow(
            task.numbers[parts[p + NUMBERS] : parts[p + 5 + NUMBERS]],
            task.layout[parts[p + LAYOUT] : parts[p + 5 + LAYOUT]],
            run.work.span, run.store.memory, slot * memory_of(run) + parts[p + MEMORY],
        )  # fmt: skip


# ---------------------------------------------------------------- relations


@inline
def _best_gain(task: Any, store: Any, slot: int, t: int) -> float:
    """The greatest gain of a term over a box."""
    d = task.offset.shape[0] - 1
    f, first, peak = task.relations[t], task.relations[t + 1], task.relations[t + 2]
    a, b = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
    best = task.gains[first + (a if peak < 0 else min(max(peak, a), b))]
    if peak < 0:
        for c in range(a + 1, b + 1):
            best = max(best, task.gains[first + c])
    return float(best)


@inner
def may_relate(task: Any, store: Any, slot: int) -> bool:
    """Whether each relation may hold for some point of a box, one relation at a time.

    It may in any of its ways, where the best gains of all its terms make up at least 0.
    """
    total, open_ = 0.0, False
    for t in range(0, task.relations.shape[0], 4):
        total += _best_gain(task, store, slot, t)
        if task.relations[t + 3] > TERM:
            open_ = open_ or total >= 0.0
            total = 0.0
        if task.relations[t + 3] > WAY:
            if not open_:
                return False
            open_ = False
    return True


@inline
def _broken_with(task: Any, store: Any, slot: int, first: int, end: int, f: int, c: int) -> bool:
    """Whether a relation fails on a box with one candidate of a feature.

    The sums are those of `may_relate`, to the same bits.
    """
    total = 0.0
    for t in range(first, end, 4):
        if task.relations[t] == f:
            total += task.gains[task.relations[t + 1] + c]
        else:
            total += _best_gain(task, store, slot, t)
        if task.relations[t + 3] > TERM:
            if total >= 0.0:
                return False
            total = 0.0
    return True


@inline
def _tighten(run: Any, slot: int, first: int, end: int, f: int, upper: bool) -> bool:
    """Remove the candidates at one end of a feature that break a relation; whether there are."""
    task, store = run.task, run.store
    d = task.offset.shape[0] - 1
    low, high = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
    corner, before = cheapest(task, f, low, high), high - low
    while low < high and _broken_with(task, store, slot, first, end, f, high if upper else low):
        if upper:
            high -= 1
        else:
            low += 1
    if high - low == before:
        return False
    if not low <= corner <= high:
        store.mark[slot] &= ~(FAILED | LOST)  # another corner, not yet tried
    if run.asked.switches[PROVE] == 1:
        left = record_cut(run, store.node[slot], f, high if upper else low - 1)
        leaf(run, left + 1 if upper else left, RELATION, 0.0)
        store.node[slot] = left if upper else left + 1
        leaf(run, store.node[slot], OPEN, 0.0)
    store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f] = low, high
    return True


@inner
def tightened(run: Any, slot: int) -> None:
    """Remove candidates at the ends of a box that a relation rules out.

    Once as many features differ as `at most 2 of … change` allows, the others keep their values.
    A proof gets a cut for each end, at most 2d of them, while the tree has room for these and for
    the 8d nodes that the loop may add before it asks for room again.
    """
    task = run.task
    d = task.offset.shape[0] - 1
    made = run.asked.counters[MADE] + 4 * d + 8 * d + 8
    if run.asked.switches[PROVE] == 1 and made > run.tree.feature.shape[0]:
        return
    first, way_ends, cuts = 0, 0, 0
    for last in range(0, task.relations.shape[0], 4):
        if way_ends == 0 and task.relations[last + 3] > TERM:
            way_ends = last + 4
        if task.relations[last + 3] <= WAY:
            continue
        for t in range(first, way_ends, 4):  # every way has the same features
            for end in range(2):
                if cuts < 2 * d and _tighten(
                    run, slot, first, last + 4, task.relations[t], end == 1
                ):
                    cuts += 1
        first, way_ends = last + 4, 0


@inner
def broken(task: Any, point: Any) -> int:
    """The first term of the first relation that one candidate for each feature breaks, or −1."""
    total, open_, first = 0.0, False, 0
    for t in range(0, task.relations.shape[0], 4):
        total += task.gains[task.relations[t + 1] + point[task.relations[t]]]
        if task.relations[t + 3] > TERM:
            open_ = open_ or total >= 0.0
            total = 0.0
        if task.relations[t + 3] > WAY:
            if not open_:
                return first
            open_, first = False, t + 4
    return -1


@inner
def mending(task: Any, store: Any, slot: int, corner: Any, start: int) -> tuple[int, int]:
    """Where to cut a box whose corner breaks the relation that starts there: feature and candidate.

    What lies beyond the cut begins with the cheapest candidate that keeps it, the other features at
    the corner. Without any such, the feature is −1.
    """
    d = corner.shape[0]
    least, feature, cut, t = np.inf, -1, 0, start
    while True:
        last = t
        while task.relations[last + 3] == TERM:
            last += 4
        for k in range(t, last + 4, 4):
            f, first, rest = task.relations[k], task.relations[k + 1], 0.0
            for other in range(t, last + 4, 4):
                if other != k:
                    gains = task.relations[other + 1]
                    rest += task.gains[gains + corner[task.relations[other]]]
            for c in range(store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f] + 1):
                more = task.costs[task.offset[f] + c] - task.costs[task.offset[f] + corner[f]]
                if more < least and c != corner[f] and rest + task.gains[first + c] >= 0.0:
                    least, feature, cut = more, f, c - 1 if c > corner[f] else c
        if task.relations[last + 3] > WAY:
            break
        t = last + 4
    return feature, cut
