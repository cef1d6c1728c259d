"""Cheap points of a sum that are enough: raised, walked back, exchanged.

A point is a cell for each feature, all cells in one row; `taken` says of each which leaves take it.
A sum is of the leaves that no feature of the point misses. What is done looks at no more leaves
than `work` says is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import making


@making
def _sums(
    taken: Any,
    values: Any,
    misses: Any,
    point: Any,
    f: int,
    first: int,
    size: int,
    out: Any,
    work: Any,
) -> None:
    """The sum for each cell of one feature, the others as they are.

    `misses` is how many features of the point each leaf does not take.
    """
    work[0] -= len(values)
    for c in range(size):
        out[c] = 0.0
    own = taken[point[f]]
    for leaf in range(len(values)):
        if misses[leaf] == (0 if own[leaf] else 1):
            for c in range(first, first + size):
                if taken[c, leaf]:
                    out[c - first] += values[leaf]


@making
def _move(taken: Any, misses: Any, point: Any, f: int, cell: int) -> None:
    old, new = taken[point[f]], taken[cell]
    for leaf in range(len(misses)):
        misses[leaf] += (1 if old[leaf] else 0) - (1 if new[leaf] else 0)
    point[f] = cell


@making
def _raise(
    taken: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    misses: Any, low: float, high: float, locked: int, sums: Any, work: Any,
) -> bool:  # fmt: skip
    """Change one feature at a time, the most gain for the cost first, until it is enough."""
    d = len(sizes)
    for _ in range(3 * d):
        best, feature, cell = 0.0, -1, -1
        for f in range(d):
            _sums(taken, values, misses, point, f, first[f], sizes[f], sums, work)
            now = sums[point[f] - first[f]]
            if low <= now <= high:
                return True
            if f == locked:
                continue
            for c in range(sizes[f]):
                gain = min(sums[c], low) - now
                if gain > 1e-12 and sums[c] <= high:
                    more = costs[first[f] + c] - costs[point[f]]
                    rate = gain / max(more, 1e-9)
                    if rate > best:
                        best, feature, cell = rate, f, first[f] + c
        if feature < 0:
            return False
        _move(taken, misses, point, feature, cell)
    return False


@making
def _walk_back(
    taken: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    misses: Any, low: float, high: float, sums: Any, work: Any,
) -> None:  # fmt: skip
    """Make a point that is enough cheaper, a feature at a time, the dearest first."""
    moved = True
    while moved and work[0] > 0:
        moved = False
        for f in np.argsort(-costs[point]):
            if costs[point[f]] <= 0.0:
                break
            _sums(taken, values, misses, point, f, first[f], sizes[f], sums, work)
            best, cell = costs[point[f]] - 1e-12, -1
            for c in range(sizes[f]):
                fits = low <= sums[c] <= high
                if fits and costs[first[f] + c] < best:
                    best, cell = costs[first[f] + c], first[f] + c
            if cell >= 0:
                _move(taken, misses, point, f, cell)
                moved = True


@making
def _exchange(
    taken: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    misses: Any, low: float, high: float, sums: Any, work: Any,
) -> bool:  # fmt: skip
    """Make one feature cheaper and another dearer, if that is cheaper together and enough."""
    d = len(sizes)
    for f in range(d):
        own = point[f]
        for c in range(first[f], first[f] + sizes[f]):
            if costs[c] >= costs[own] - 1e-12 or work[0] <= 0:
                continue
            _move(taken, misses, point, f, c)
            saved, feature, cell = costs[own] - costs[c] - 1e-12, -1, -1
            for g in range(d):
                if g == f:
                    continue
                _sums(taken, values, misses, point, g, first[g], sizes[g], sums, work)
                for k in range(sizes[g]):
                    more = costs[first[g] + k] - costs[point[g]]
                    if more < saved and low <= sums[k] <= high:
                        saved, feature, cell = more, g, first[g] + k
            if feature >= 0:
                _move(taken, misses, point, feature, cell)
                return True
            _move(taken, misses, point, f, own)
    return False


@making
def mend(
    taken: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    low: float, high: float, work: Any,
) -> float:  # fmt: skip
    """Make of a point a cheap one that is enough, and tell its cost; ∞ if that failed."""
    d, misses, sums = len(sizes), np.zeros(len(values), np.int64), np.empty(sizes.max())
    for f in range(d):
        for leaf in range(len(values)):
            misses[leaf] += 0 if taken[point[f], leaf] else 1
    if not _raise(taken, values, costs, first, sizes, point, misses, low, high, -1, sums, work):
        return np.inf
    settle = True
    while settle and work[0] > 0:
        settle = False
        _walk_back(taken, values, costs, first, sizes, point, misses, low, high, sums, work)
        if _exchange(taken, values, costs, first, sizes, point, misses, low, high, sums, work):
            settle = True
            continue
        # without one of the changes, what else would do
        for f in range(d):
            own = first[f] + int(np.argmin(costs[first[f] : first[f] + sizes[f]]))
            if point[f] == own or work[0] <= 0:
                continue
            other, missed = point.copy(), misses.copy()
            _move(taken, missed, other, f, own)
            if _raise(taken, values, costs, first, sizes, other, missed, low, high, f, sums, work):
                _walk_back(taken, values, costs, first, sizes, other, missed, low, high, sums, work)
                if costs[other].sum() < costs[point].sum() - 1e-12:
                    point[:], misses[:] = other, missed
                    settle = True
                    break
    return float(costs[point].sum())
