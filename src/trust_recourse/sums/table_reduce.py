"""A smaller sum of tables with the same cheapest answers: incumbents, and reduced-cost fixing.

A cheap point that is enough is made from the person's own cells: raised, walked back, and raised
again without one of its changes. Sweeps of the kernel give h and λ; a cell whose reduced cost lifts
their bound above that point is in no cheaper answer, so it goes, and with fewer cells the sweeps go
on. What is left are smaller tables; those of one bin of a feature become points of the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trust_recourse import clock
from trust_recourse.cells import Floats, Ints, making
from trust_recourse.sums.layout import FIRST, D
from trust_recourse.sums.tables import (
    BIN,
    ENTRIES,
    ENTRY,
    FEATURE,
    MAP,
    P,
    Pair,
    Tables,
    row_of,
)

Bools = NDArray[np.bool_]

ROUNDS = 4  # of sweeps and fixing
FEW = 0.02  # of the cells: less than that fixed in a round ends it
MARGIN = 1e-9  # of a cost, which rounding may bring


class Asked(NamedTuple):
    """That side · the kernel's number lies between two ends, and the level on that side's scale."""

    side: int
    low: float
    high: float
    level: float


class Less(NamedTuple):
    """What is left: the cells of each feature that stay, and the tables on them."""

    kept: list[Ints]  # positions among the cells that were given, of each feature
    points: list[Floats]
    pairs: list[Pair]
    h: Floats
    multiplier: float
    point: Ints | None  # the cells of the best point that was found, all in one row
    bound: float
    room: Floats  # how much dearer than its cheapest a candidate of each cell that stays may be
    steps: list[tuple[float, Floats]]  # a multiplier and h each, of all atoms


def reduced(
    kernel: Tables,
    points: Sequence[Floats],
    pairs: Sequence[Pair],
    costs: Floats,
    asked: Asked,
    incumbent: float,
    accept: Callable[[Ints], bool],
    deadline: float = math.inf,
) -> Less:
    """Fewer cells, with the same cheapest points that may be what is asked for.

    `costs` are those of the cells in one row, ∞ where there is no candidate; what costs more than
    the incumbent does not matter.
    """
    sizes = np.array([len(each) for each in points])
    first = np.cumsum(sizes) - sizes
    cells, steps, point = np.isfinite(costs), [], None
    memory, scratch, gains = kernel.memory.copy(), kernel.scratch.copy(), np.empty(len(costs) + 1)
    span = np.concatenate([np.zeros_like(sizes), sizes - 1])
    start = _cheapest(costs, first, sizes)
    for _ in range(ROUNDS):
        spend = np.where(cells, costs, np.inf)
        better = start.copy()
        cost = mend(kernel.numbers, kernel.layout, sizes, spend, better, *asked[:3])
        if cost < incumbent and accept(first + better):
            point, incumbent = first + better, cost
        limit = incumbent + MARGIN * (1.0 + abs(incumbent))
        needed = kernel.relaxation(
            kernel.numbers, kernel.layout, span, asked.side, asked.level, spend, limit, gains,
            scratch, memory, 0,
        )  # fmt: skip
        bound, excess = _bound(cells, costs, gains[:-1], memory[0], needed, first, sizes)
        gone = cells & (bound + excess > limit)
        steps.append((memory[0] / kernel.width, memory[1:] * kernel.width))
        if not np.logical_or.reduceat(cells & ~gone, first).all():
            bound = -math.inf  # nothing costs so little, as this step shows: none of them goes
            break
        cells = cells & ~gone
        start = _cheapest(np.where(cells, excess, np.inf), first, sizes)
        if gone.sum() <= FEW * cells.sum() or clock.now() > deadline:
            break
    room = np.where(cells, limit - bound - excess, -np.inf)
    kept = [np.flatnonzero(cells[a : a + n]) for a, n in zip(first, sizes, strict=True)]
    h = np.split(memory[1:] * kernel.width, np.cumsum([n for p in pairs for n in p.table.shape]))
    left = _rebuilt(kept, points, pairs, h)
    return Less(kept, *left, memory[0] / kernel.width, point, bound, room[cells], steps)


def _cheapest(costs: Floats, first: Ints, sizes: Ints) -> Ints:
    """The cell of each feature that costs least, of equal ones the first."""
    ends = zip(first.tolist(), sizes.tolist(), strict=True)
    return np.array([int(costs[a : a + n].argmin()) for a, n in ends])


def _bound(
    cells: Bools,
    costs: Floats,
    gains: Floats,
    price: float,
    needed: float,
    first: Ints,
    sizes: Ints,
) -> tuple[float, Floats]:
    """What every answer costs at least, and how much more with each cell."""
    if needed == math.inf:
        return math.inf, np.zeros(len(costs))
    priced = np.where(cells, costs - price * np.where(cells, gains, 0.0), np.inf)
    least = np.minimum.reduceat(priced, first)
    terms = abs(price * needed) + float(np.abs(least).sum())
    bound = price * needed + float(least.sum()) - 1e-10 * (1.0 + terms)
    return bound, np.where(cells, priced - least.repeat(sizes), 0.0)


def _rebuilt(
    kept: list[Ints], points: Sequence[Floats], pairs: Sequence[Pair], h: list[Floats]
) -> tuple[list[Floats], list[Pair], Floats]:
    """Points and pairs of the cells that stay, and the h of their atoms."""
    fewer, both = [of[at] for of, at in zip(points, kept, strict=True)], []
    atoms = [np.empty(0)]
    for k, ((f, g), bins, table) in enumerate(pairs):
        rows, of_f = np.unique(bins[0][kept[f]], return_inverse=True)
        columns, of_g = np.unique(bins[1][kept[g]], return_inverse=True)
        part = table[np.ix_(rows, columns)]
        if min(part.shape) > 1:
            both.append(Pair((f, g), (of_f, of_g), part))
            atoms += [h[2 * k][rows], h[2 * k + 1][columns]]
        elif len(columns) == 1:
            fewer[f] = fewer[f] + part[of_f, 0]
        else:
            fewer[g] = fewer[g] + part[0, of_g]
    return fewer, both, np.concatenate(atoms)


# ---------------------------------------------------------------- points that are enough


@making
def _number(numbers: Any, lay: Any, side: int, point: Any) -> float:
    """Side · the number of a point, which is a cell of each feature."""
    total = 0.25
    for f in range(lay[D]):
        total += numbers[1 + lay[lay[FIRST] + f] + point[f]]
    for e in range(0, 2 * lay[P], 2):
        i = lay[lay[BIN] + lay[lay[MAP] + e] + point[lay[lay[FEATURE] + e]]]
        j = lay[lay[BIN] + lay[lay[MAP] + e + 1] + point[lay[lay[FEATURE] + e + 1]]]
        total += numbers[row_of(lay, e, j, i)]
    return float(side * total)


@making
def _numbers(
    numbers: Any, lay: Any, side: int, point: Any, now: float, f: int, size: int, out: Any
) -> None:
    """The same for each cell of one feature, the others as they are; with its own it is `now`."""
    first = lay[lay[FIRST] + f]
    for c in range(size):
        out[c] = side * numbers[1 + first + c]
    for q in range(lay[lay[ENTRIES] + f], lay[lay[ENTRIES] + f + 1]):
        e = lay[lay[ENTRY] + q]
        o = e + 1 if e % 2 == 0 else e - 1
        j = lay[lay[BIN] + lay[lay[MAP] + o] + point[lay[lay[FEATURE] + o]]]
        row, bins = row_of(lay, e, j, 0), lay[BIN] + lay[lay[MAP] + e]
        for c in range(size):
            out[c] += side * numbers[row + lay[bins + c]]
    rest = now - out[point[f]]
    for c in range(size):
        out[c] += rest


@making
def _raise(
    numbers: Any, lay: Any, sizes: Any, costs: Any, point: Any, side: int, low: float, high: float,
    locked: int, out: Any,
) -> bool:  # fmt: skip
    """Change one feature at a time, the most gain for the cost first, until it is enough."""
    now = _number(numbers, lay, side, point)
    for _ in range(3 * lay[D]):
        if low <= now <= high:
            return True
        best, feature, cell, new = 0.0, -1, -1, now
        for f in range(lay[D]):
            if f == locked:
                continue
            first = lay[lay[FIRST] + f]
            _numbers(numbers, lay, side, point, now, f, sizes[f], out)
            for c in range(sizes[f]):
                gain = min(out[c], low) - now
                if gain > 1e-12 and out[c] <= high and costs[first + c] < np.inf:
                    rate = gain / max(costs[first + c] - costs[first + point[f]], 1e-9)
                    if rate > best:
                        best, feature, cell, new = rate, f, c, out[c]
        if feature < 0:
            return False
        point[feature], now = cell, new
    return bool(low <= now <= high)


@making
def _walk_back(
    numbers: Any, lay: Any, sizes: Any, costs: Any, point: Any, side: int, low: float, high: float,
    out: Any,
) -> float:  # fmt: skip
    """Make a point that is enough cheaper, a feature at a time, the dearest first; its cost."""
    own, moved = np.empty(lay[D]), True
    while moved:
        moved, now = False, _number(numbers, lay, side, point)
        for f in range(lay[D]):
            own[f] = costs[lay[lay[FIRST] + f] + point[f]]
        for f in np.argsort(-own):
            first = lay[lay[FIRST] + f]
            _numbers(numbers, lay, side, point, now, f, sizes[f], out)
            best, cell = costs[first + point[f]] - 1e-12, -1
            for c in range(sizes[f]):
                if low <= out[c] <= high and costs[first + c] < best:
                    best, cell = costs[first + c], c
            if cell >= 0:
                point[f], now, moved = cell, out[cell], True
    return float(own.sum())


@making
def mend(
    numbers: Any, lay: Any, sizes: Any, costs: Any, point: Any, side: int, low: float, high: float
) -> float:
    """Make of a point a cheap one that is enough, and tell its cost; ∞ if that failed."""
    out = np.empty(sizes.max())
    if not _raise(numbers, lay, sizes, costs, point, side, low, high, -1, out):
        return np.inf
    cost, better = _walk_back(numbers, lay, sizes, costs, point, side, low, high, out), True
    while better:
        better = False
        for f in range(lay[D]):  # without one of the changes, what else would do
            first = lay[lay[FIRST] + f]
            own = int(np.argmin(costs[first : first + sizes[f]]))
            if point[f] == own:
                continue
            other = point.copy()
            other[f] = own
            if _raise(numbers, lay, sizes, costs, other, side, low, high, f, out):
                found = _walk_back(numbers, lay, sizes, costs, other, side, low, high, out)
                if found < cost - 1e-12:
                    point[:], cost, better = other, found, True
    return float(cost)
