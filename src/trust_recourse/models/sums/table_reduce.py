"""A smaller sum of tables with the same cheapest answers: incumbents, and reduced-cost fixing.

A cheap point that is enough is made from the person's own cells: raised, walked back, and raised
again without one of its changes. Sweeps of the kernel give h and λ; a cell whose reduced cost lifts
their bound above that point is in no cheaper answer, so it goes, and with fewer cells the sweeps go
on. What is left are smaller tables; those of one bin of a feature become points of the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.sums.tables import Pair, Tables

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
    memory, gains = kernel.memory.copy(), np.empty(len(costs) + 1)
    span = np.concatenate([np.zeros_like(sizes), sizes - 1])
    start = _cheapest(costs, first, sizes)
    for _ in range(ROUNDS):
        spend = np.where(cells, costs, np.inf)
        better = start.copy()
        cost = kernel.native.mend(spend, better, asked.side, asked.low, asked.high)
        if cost < incumbent and accept(first + better):
            point, incumbent = first + better, cost
        limit = incumbent + MARGIN * (1.0 + abs(incumbent))
        needed = kernel.native.relaxation(
            span, asked.side, asked.level, spend, limit, gains, memory
        )
        bound, excess = _bound(cells, costs, gains[:-1], memory[0], needed, first, sizes)
        gone = cells & (bound + excess > limit)
        steps.append((memory[0] / kernel.width, memory[1:] * kernel.width))
        if not np.logical_or.reduceat(cells & ~gone, first).all():
            bound = -math.inf  # nothing costs so little, as this step shows: none of them goes
            break
        cells = cells & ~gone
        start = _cheapest(np.where(cells, excess, np.inf), first, sizes)
        if gone.sum() <= FEW * cells.sum() or time.monotonic() > deadline:
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
