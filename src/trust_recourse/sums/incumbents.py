"""Cheap points of a sum that are enough: raised, walked back, exchanged.

A point is a cell for each feature, all cells in one row; `allowed` says which of them each leaf
takes. A sum is of the leaves that no feature of the point misses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import making


@making
def _sums(
    allowed: Any, values: Any, misses: Any, point: Any, f: int, first: int, size: int, out: Any
) -> None:
    """The sum for each cell of one feature, the others as they are.

    `misses` is how many features of the point each leaf does not take.
    """
    for c in range(size):
        out[c] = 0.0
    for leaf in range(len(values)):
        if misses[leaf] - (0 if allowed[leaf, point[f]] else 1) == 0:
            for c in range(size):
                if allowed[leaf, first + c]:
                    out[c] += values[leaf]


@making
def _move(allowed: Any, misses: Any, point: Any, f: int, cell: int) -> None:
    for leaf in range(allowed.shape[0]):
        misses[leaf] += (0 if allowed[leaf, cell] else 1) - (0 if allowed[leaf, point[f]] else 1)
    point[f] = cell


@making
def _raise(
    allowed: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    misses: Any, low: float, high: float, locked: int, sums: Any,
) -> bool:  # fmt: skip
    """Change one feature at a time, the most gain for the cost first, until it is enough."""
    d = len(sizes)
    for _ in range(3 * d):
        best, feature, cell = 0.0, -1, -1
        for f in range(d):
            _sums(allowed, values, misses, point, f, first[f], sizes[f], sums)
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
        _move(allowed, misses, point, feature, cell)
    return False


@making
def _walk_back(
    allowed: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    misses: Any, low: float, high: float, sums: Any,
) -> None:  # fmt: skip
    """Make a point that is enough cheaper, a feature at a time, the dearest first."""
    moved = True
    while moved:
        moved = False
        for f in np.argsort(-costs[point]):
            if costs[point[f]] <= 0.0:
                break
            _sums(allowed, values, misses, point, f, first[f], sizes[f], sums)
            best, cell = costs[point[f]] - 1e-12, -1
            for c in range(sizes[f]):
                fits = low <= sums[c] <= high
                if fits and costs[first[f] + c] < best:
                    best, cell = costs[first[f] + c], first[f] + c
            if cell >= 0:
                _move(allowed, misses, point, f, cell)
                moved = True


@making
def _exchange(
    allowed: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    misses: Any, low: float, high: float, sums: Any,
) -> bool:  # fmt: skip
    """Make one feature cheaper and another dearer, if that is cheaper together and enough."""
    d = len(sizes)
    for f in range(d):
        own = point[f]
        for c in range(first[f], first[f] + sizes[f]):
            if costs[c] >= costs[own] - 1e-12:
                continue
            _move(allowed, misses, point, f, c)
            saved, feature, cell = costs[own] - costs[c] - 1e-12, -1, -1
            for g in range(d):
                if g == f:
                    continue
                _sums(allowed, values, misses, point, g, first[g], sizes[g], sums)
                for k in range(sizes[g]):
                    more = costs[first[g] + k] - costs[point[g]]
                    if more < saved and low <= sums[k] <= high:
                        saved, feature, cell = more, g, first[g] + k
            if feature >= 0:
                _move(allowed, misses, point, feature, cell)
                return True
            _move(allowed, misses, point, f, own)
    return False


@making
def mend(
    allowed: Any, values: Any, costs: Any, first: Any, sizes: Any, point: Any,
    low: float, high: float,
) -> float:  # fmt: skip
    """Make of a point a cheap one that is enough, and tell its cost; ∞ if that failed."""
    n, d = allowed.shape[0], len(sizes)
    misses, sums = np.zeros(n, np.int64), np.empty(sizes.max())
    for leaf in range(n):
        for f in range(d):
            misses[leaf] += 0 if allowed[leaf, point[f]] else 1
    if not _raise(allowed, values, costs, first, sizes, point, misses, low, high, -1, sums):
        return np.inf
    settle = True
    while settle:
        settle = False
        _walk_back(allowed, values, costs, first, sizes, point, misses, low, high, sums)
        if _exchange(allowed, values, costs, first, sizes, point, misses, low, high, sums):
            settle = True
            continue
        # without one of the changes, what else would do
        for f in range(d):
            own = first[f] + int(np.argmin(costs[first[f] : first[f] + sizes[f]]))
            if point[f] == own:
                continue
            other, missed = point.copy(), misses.copy()
            _move(allowed, missed, other, f, own)
            if _raise(allowed, values, costs, first, sizes, other, missed, low, high, f, sums):
                _walk_back(allowed, values, costs, first, sizes, other, missed, low, high, sums)
                if costs[other].sum() < costs[point].sum() - 1e-12:
                    point[:], misses[:] = other, missed
                    settle = True
                    break
    return float(costs[point].sum())
