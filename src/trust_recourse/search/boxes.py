"""Boxes, compiled: the heap in which they wait, how one is made of another, what lies in one.

Notation as in `arrays`. The **corner** of a box is the cheapest candidate of each feature; its cost
is the first bound on the box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import inline, kernel
from trust_recourse.search.arrays import HEAP, MADE, OFF, OPEN, PROVE, ROBUST, SPARE

# ---------------------------------------------------------------- the heap


@inline
def _before(store: Any, a: int, b: int) -> bool:
    """Cheaper first; of equals the younger, which is deeper."""
    key = store.key
    return bool(key[a] < key[b] or (key[a] == key[b] and store.node[a] > store.node[b]))


@kernel
def push(store: Any, state: Any, slot: int) -> None:
    """Let a slot wait for its turn."""
    heap, i = store.heap, state[HEAP]
    state[HEAP] += 1
    while i > 0:
        up = (i - 1) >> 1
        if not _before(store, slot, heap[up]):
            break
        heap[i] = heap[up]
        i = up
    heap[i] = slot


@kernel
def pop(store: Any, state: Any) -> int:
    """The slot whose turn it is."""
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


@inline
def release(store: Any, state: Any, slot: int) -> None:
    """Let a slot be used again."""
    store.spare[state[SPARE]] = slot
    state[SPARE] += 1


# ---------------------------------------------------------------- making boxes


@inline
def leaf(tree: Any, how: Any, node: int, reason: int, price: float) -> None:
    """Note why a node is not cut, with the price that shows it."""
    if how[PROVE] == 1:
        tree.feature[node] = -1 - reason
        tree.cut[node] = 0
        tree.price[node] = price


@inline
def record_cut(tree: Any, how: Any, state: Any, node: int, f: int, cut: int) -> int:
    """Note that a node is cut; gives its left child."""
    left = state[MADE]
    state[MADE] += 2
    if how[PROVE] == 1:
        tree.feature[node] = f
        tree.cut[node] = cut
        tree.left[node] = left
        tree.price[node] = 0.0
    return int(left)


@inline
def child(
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
    leaf(tree, how, node, OPEN, 0.0)
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


@kernel
def corner_of(task: Any, store: Any, slot: int, corner: Any) -> float:
    """The cheapest candidate of each feature, and what they cost together."""
    d = corner.shape[0]
    total = 0.0
    for f in range(d):
        at = slot * 2 * d + f
        corner[f] = cheapest(task, f, store.box[at], store.box[at + d])
        total += task.costs[task.offset[f] + corner[f]]
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
def span_of(task: Any, store: Any, slot: int, span: Any) -> None:
    """The cells of a box."""
    d = task.offset.shape[0] - 1
    for k in range(2 * d):
        f = k if k < d else k - d
        span[k] = task.cells[task.offset[f] + store.box[slot * 2 * d + k]]


@inline
def span_of_point(task: Any, point: Any, span: Any) -> None:
    """The cells of one candidate for each feature."""
    d = point.shape[0]
    for f in range(d):
        span[f] = task.cells[task.offset[f] + point[f]]
        span[d + f] = span[f]


@kernel
def may_relate(task: Any, store: Any, slot: int) -> bool:
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
