"""A smaller sum with the same cheapest answers: incumbents, reduced-cost fixing, smaller storage.

Sweeps give good h and λ for the bound of `kernels`. A cheap point that is enough, near what they
price least, is an incumbent. A cell whose reduced cost lifts the bound above the incumbent is in no
cheaper answer, so it goes, and so on with what is left.

Of leaves, what is out of reach goes first, and neighbouring cells that no leaf tells apart become
one. Where much is left, h and λ come from the root LP, solved by HiGHS: it has a variable for each
cell and each leaf, and for each term, feature and set of its atoms, the leaves inside the set weigh
no more than the cells of the set. None of this rests on the LP being right: bounds are computed
again from h and λ, and an incumbent is a point whose sum was added up.
"""

from __future__ import annotations

import math
import time
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Bools, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.reduced_cost import excess_of, limit_of
from trust_recourse.models.scores import Asked
from trust_recourse.models.sums.dense_tables import atoms_of
from trust_recourse.models.sums.kernels import Tables
from trust_recourse.models.sums.layout import FIRST, TERM_LEAF, D, H, LeafLists, T, compact

ROUNDS = 6  # of sweeps or the LP, and fixing
FEW = 0.05  # of the cells: less than that fixed in a round ends it
TABLE_ROUNDS, FEW_OF_TABLES = 4, 0.02  # the same where a round is quick
SMALL = 250  # cells, with so many or fewer no further round pays
LONGEST = 1e9  # seconds
PATIENCE, PACE = 0.5, 5e8  # seconds for an incumbent, and leaves looked at in one
HUGE = 1e6  # a multiplier, where nothing is enough


class Step(NamedTuple):
    """A multiplier and h, of all atoms that are in reach to begin with, by which cells go."""

    multiplier: float
    h: Floats


class Reduced(NamedTuple):
    """What is left: the cells of each feature that stay, and of leaves the sum on them."""

    kept: list[Ints]  # positions among the cells that were given, of each feature
    point: Ints | None  # the cells of the best point that was found, all in one row
    bound: float
    room: Floats  # how much dearer than its cheapest a candidate of each cell that stays may be
    steps: list[Step]
    h: Floats  # of the cells that stay, with the multiplier
    multiplier: float
    lists: LeafLists | None = None
    base: float = 0.0  # of the terms that became constant


def reduced_leaves(
    whole: LeafLists, asked: Asked, multiplier: float = 0.0, h: Floats | None = None
) -> Reduced | None:
    """Fewer cells, with the same cheapest points that may be what is asked for.

    What costs more than the incumbent does not matter. Sweeps come first, and where they no longer
    pay the LP. They begin with a multiplier and h where some are known. None if nothing is left to
    search.
    """
    problem = _Problem(whole, asked, multiplier, h)
    steps: list[Step] = []
    point, incumbent, by_lp = None, asked.incumbent, False
    for turn in range(ROUNDS):
        if (turn and problem.late) or not problem.many:
            break
        weights = problem.improved(incumbent, by_lp)
        steps.append(problem.step)
        bound, excess = problem.bound()
        hopeless = bound > problem.dearest  # nothing is enough, whatever it costs
        better = None if hopeless or bound > incumbent else problem.repaired(weights)
        if better is not None and (cost := float(asked.costs[better].sum())) < incumbent:
            point, incumbent = (better, cost) if asked.accept(better) else (point, incumbent)
        limit = limit_of(incumbent)
        stay = bound + excess <= limit
        over = hopeless or not np.logical_or.reduceat(stay, problem.first).all()
        if over:  # nothing costs so little, as this step shows: none of them goes
            bound, stay[:] = math.inf if hopeless else limit, True
        room = np.full(len(stay), np.inf) if over else np.maximum(limit - bound - excess, 0.0)
        little = stay.mean() > 1.0 - FEW
        room = room[problem.fewer(problem.told_apart(stay, excess))]
        if over or len(room) <= SMALL or (little and by_lp):
            break
        by_lp = bool(little)
    return problem.left(steps, point, bound, room) if problem.many else None


def reduced_tables(kernel: Tables, grid: Grid, asked: Asked) -> Reduced:
    """The same of tables, which is asked for in numbers of their kernel.

    An incumbent is looked for first: it ends the sweeps early.
    """
    sizes, first, costs = grid.sizes, grid.first_cell, asked.costs
    cells, steps, point, incumbent = np.isfinite(costs), [], None, asked.incumbent
    enough = asked.needed + asked.slack, asked.most - asked.slack
    level = asked.needed if asked.side > 0 else 1.0 + asked.needed
    memory, gains = kernel.memory.copy(), np.empty(len(costs) + 1)
    span = np.concatenate([np.zeros_like(sizes), sizes - 1])
    start = _cheapest(costs, first, sizes)
    for _ in range(TABLE_ROUNDS):
        spend = np.where(cells, costs, np.inf)
        better = start.copy()
        cost = kernel.native.primal(spend, better, asked.side, *enough)
        if cost < incumbent and asked.accept(first + better):
            point, incumbent = first + better, cost
        limit = limit_of(incumbent)
        needed = kernel.native.relaxation(span, asked.side, level, spend, limit, gains, memory)
        there = np.where(cells, gains[:-1], 0.0)
        bound, excess = excess_of(spend, there, memory[0], needed, first)
        gone = cells & (bound + excess > limit)
        steps.append((memory[0] / kernel.width, memory[1:] * kernel.width))
        if not np.logical_or.reduceat(cells & ~gone, first).all():
            bound = -math.inf  # nothing costs so little, as this step shows: none of them goes
            break
        cells = cells & ~gone
        start = _cheapest(np.where(cells, excess, np.inf), first, sizes)
        if gone.sum() <= FEW_OF_TABLES * cells.sum() or time.monotonic() > asked.deadline:
            break
    kept, given = (_by_feature(of, first) for of in (cells, np.isfinite(costs)))
    multiplier, h = steps[-1]
    atoms = atoms_of(kernel.layout, given)
    told = [Step(each, of[atoms]) for each, of in steps]
    room = limit - bound - excess[cells]
    left = h[atoms_of(kernel.layout, kept)]
    return Reduced(kept, point, bound, room, told, left, multiplier)


def _by_feature(cells: Bools, first: Ints) -> list[Ints]:
    return [np.flatnonzero(of) for of in np.split(cells, first[1:])]


def _cheapest(costs: Floats, first: Ints, sizes: Ints) -> Ints:
    """The cell of each feature that costs least, of equal ones the first."""
    ends = zip(first.tolist(), sizes.tolist(), strict=True)
    return np.array([int(costs[a : a + n].argmin()) for a, n in ends])


class _Problem:
    """The sum with costs and a target, on the cells that are left."""

    def __init__(self, whole: LeafLists, asked: Asked, multiplier: float, h: Floats | None) -> None:
        self.deadline, self.side = asked.deadline, asked.side
        self.values, self.layout = asked.side * whole.values, whole.layout
        self.need, self.most, self.slack = asked.needed, asked.most, asked.slack
        self.apart = np.zeros(int(self.layout[D]), bool)
        self.apart[list(asked.related)] = True
        self.given = self.layout[self.layout[FIRST] :]  # where the features' cells began
        self.costs, self.cells = asked.costs, np.arange(len(asked.costs))
        self.multiplier = multiplier
        self.h = np.zeros(int(self.layout[H])) if h is None else h
        self.base, self.atoms = 0.0, np.arange(len(self.h))
        self.fewer(np.isfinite(asked.costs))
        self.atoms = np.arange(len(self.h))  # those that proofs know
        self.dearest = float(np.maximum.reduceat(self.costs, self.first).sum())  # of these points

    @property
    def many(self) -> int:
        """How many leaves are left, of terms that are not constant."""
        return len(self.values)

    @property
    def late(self) -> bool:
        return time.monotonic() >= self.deadline

    def fewer(self, stay: Bools) -> Ints:
        """Leave out the other cells, and all that no longer matters; those that stay."""
        found = compact(self.layout, stay, self.costs, self.apart)
        constant = math.fsum(self.values[found.constant].tolist())
        self.base, self.need = self.base + constant, self.need - constant
        self.most -= constant
        alive = found.atoms >= 0
        h = np.full(int(found.layout[H]), np.inf)
        np.minimum.at(h, found.atoms[alive], self.h[alive])
        self.atoms = np.where(self.atoms < 0, -1, found.atoms[self.atoms])
        self.values, self.layout, self.h = self.values[found.leaves], found.layout, h
        self.costs, self.cells = self.costs[found.cells], self.cells[found.cells]
        self.first = self.layout[self.layout[FIRST] :]
        self.sizes = np.diff(self.first, append=len(self.costs))
        self.__dict__.pop("taken", None)
        return found.cells

    def told_apart(self, stay: Bools, excess: Floats) -> Bools:
        """These cells and, where no leaf tells them apart, the next ones, so that some does."""
        stay, more = stay.copy(), 1
        gone = np.flatnonzero(~stay)
        gone = gone[np.argsort(excess[gone], kind="stable")]
        while int(_native.living_leaves(self.layout, stay).sum()) == self.layout[T]:
            stay[gone[:more]] = True
            more *= 2
        return stay

    @cached_property
    def taken(self) -> Bools:
        """Which leaves take each cell."""
        return _native.taken_by(self.layout)

    @property
    def step(self) -> Step:
        """The multiplier and h as proofs know them."""
        return Step(self.multiplier, np.append(self.h, 0.0)[self.atoms])

    # ------------------------------------------------------------ good h and multipliers

    def improved(self, incumbent: float, by_lp: bool) -> Floats:
        """Better h and multiplier; how much speaks for each cell."""
        if by_lp:
            found = self._solved(self.costs) or self._solved(None)
            if found is not None:
                weights, self.multiplier, self.h = found
                return weights
        return self._swept(incumbent)

    def _swept(self, incumbent: float) -> Floats:
        if self.multiplier <= 0.0:
            self.multiplier = self._guess()
        memory = np.concatenate([[self.multiplier], self.h, np.ones(len(self.values))])
        need, enough = self.need - self.slack, min(incumbent, 2.0 * self.dearest + 1.0)
        _native.climb(self.values, self.layout, self.costs, need, enough, memory)
        self.multiplier, self.h = float(memory[0]), memory[1 : 1 + len(self.h)]
        return self.multiplier * _native.gains_at(self.layout, self.h) - self.costs

    def _guess(self) -> float:
        """A multiplier to begin with: the cost of all cells by what their terms are apart."""
        spread = float(np.ptp(self.values)) if len(self.values) else 1.0
        dear = self.costs[self.costs > 0.0]
        return float(dear.mean() / spread) if len(dear) and spread > 0.0 else 1.0

    def _solved(self, costs: Floats | None) -> tuple[Floats, float, Floats] | None:
        """The weights of the cells in the LP, its multiplier, and its h of all atoms.

        Without costs it is that for the greatest sum. None if time or the LP ran out.
        """
        if self.late:
            return None
        n, d, terms = len(self.costs), len(self.sizes), int(self.layout[T])
        rows, columns, signs, entry, sets = _native.coupled(self.layout)
        many, leaves = len(entry), len(self.values)
        cost, above = np.zeros(n + leaves), np.zeros(many)
        if costs is None:
            cost[n:] = -self.values
        else:
            cost[:n] = costs
            above = np.append(above, self.slack - self.need)
            rows = np.concatenate([rows, np.full(leaves, many)])
            columns = np.concatenate([columns, n + np.arange(leaves)])
            signs = np.concatenate([signs, -self.values])
        starts = self.layout[self.layout[TERM_LEAF] :][: terms + 1]
        part = np.concatenate(
            [np.arange(d).repeat(self.sizes), d + np.arange(terms).repeat(np.diff(starts))]
        )
        from scipy.optimize import linprog  # loads much
        from scipy.sparse import coo_array

        one = coo_array((np.ones(len(cost)), (part, np.arange(len(cost)))), (d + terms, len(cost)))
        found = linprog(
            cost,
            A_ub=coo_array((signs, (rows, columns)), (len(above), len(cost))).tocsr(),
            b_ub=above,
            A_eq=one.tocsr(),
            b_eq=np.ones(d + terms),
            bounds=(0, None),
            method="highs",
            options={"time_limit": min(self.deadline - time.monotonic(), LONGEST)},
        )
        if found.status != 0:
            return None
        weights = found.x[:n]
        duals = np.maximum(-found.ineqlin.marginals, 0.0)
        if costs is None:
            return weights, HUGE, _native.priced_h(self.layout, entry, sets, duals)
        multiplier = float(duals[-1])
        if multiplier <= 0.0:
            return weights, 0.0, np.zeros(int(self.layout[H]))
        return weights, multiplier, _native.priced_h(self.layout, entry, sets, duals / multiplier)

    # ------------------------------------------------------------ bounds and incumbents

    def bound(self) -> tuple[float, Floats]:
        """What every answer costs at least, and how much more with each cell."""
        gains = _native.gains_at(self.layout, self.h)
        total = _native.total_constant(self.layout, self.values, self.h)
        need = self.need - self.slack
        size = abs(total) + abs(need) + float(np.abs(self.h).sum())  # they may cancel out
        return excess_of(self.costs, gains, self.multiplier, need - total, self.first, size)

    def repaired(self, weights: Floats) -> Ints | None:
        """A cheap point that is enough, near that of the greatest weights; None if none found."""
        ends = zip(self.first.tolist(), self.sizes.tolist(), strict=True)
        point = np.array([int(weights[a : a + n].argmax()) for a, n in ends])
        seconds = min(self.deadline - time.monotonic(), PATIENCE)
        found = _native.primal(
            self.taken, self.values, self.costs, self.first, self.sizes, point,
            self.need + self.slack, self.most - self.slack, int(seconds * PACE),
        )  # fmt: skip
        return self.cells[self.first + point] if found < math.inf else None

    # ------------------------------------------------------------ what is left

    def left(self, steps: list[Step], point: Ints | None, bound: float, room: Floats) -> Reduced:
        """The sum on the cells that stay."""
        kept = np.split(self.cells - self.given.repeat(self.sizes), self.first[1:])
        return Reduced(
            kept, point, bound, room, steps, self.h, self.multiplier,
            LeafLists(self.side * self.values, self.layout), self.side * self.base,
        )  # fmt: skip
