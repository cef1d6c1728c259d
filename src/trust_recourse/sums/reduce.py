"""A smaller sum with the same cheapest answers: incumbents, reduced-cost fixing, and a rebuilt sum.

First what is out of reach goes, and neighbouring cells that no leaf tells apart become one. Sweeps
give good h and λ for the bound of `terms`; what they price least, mended, is an incumbent. A cell
whose reduced cost lifts that bound above the incumbent is in no cheaper answer, so it goes, and so
on with what is left. Where much is left, h and λ come from the root LP, solved by HiGHS: it has a
variable for each cell and each leaf, and for each term, feature and set of its atoms, the leaves
inside the set weigh no more than the cells of the set.

None of this rests on the LP being right: bounds are computed anew from h and λ, and an incumbent
is a point whose sum was added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse import clock
from trust_recourse.cells import Floats, Ints, making
from trust_recourse.sums.ensemble import Bools, Leaves
from trust_recourse.sums.incumbents import mend
from trust_recourse.sums.layout import (
    ATOM,
    CELL_ATOM,
    FEATURE,
    FIRST,
    LEAF_PAIR,
    MAP,
    PAIR,
    TAKES,
    TERM_ENTRY,
    TERM_LEAF,
    C,
    D,
    E,
    H,
    L,
    T,
    compact,
    layout,
    living,
)
from trust_recourse.sums.terms import climb

ROUNDS = 6  # of sweeps or the LP, and fixing
FEW = 0.05  # of the cells: less than that fixed in a round ends it
SMALL = 250  # cells, with so many or fewer no further round pays
MARGIN = 1e-9  # of a cost, which rounding may bring
LONGEST = 1e9  # seconds
PATIENCE, PACE = 0.5, 5e8  # seconds for an incumbent, and leaves looked at in one
HUGE = 1e6  # a multiplier, where nothing is enough


class Step(NamedTuple):
    """A multiplier and h, of all atoms that are in reach to begin with, by which cells go."""

    multiplier: float
    h: Floats


class Reduced(NamedTuple):
    """What is left: the cells of each feature that stay, and the sum on them."""

    kept: list[Ints]  # positions among the cells that were given, of each feature
    values: Floats
    layout: Ints
    base: float  # of the terms that became constant
    h: Floats
    multiplier: float
    point: Ints | None  # the cells of the best point that was found
    bound: float
    room: Floats  # how much dearer than its cheapest a candidate of each cell that stays may be
    steps: list[Step]


class Asked(NamedTuple):
    """That side · the sum lies between two ends; within `slack` of them it may or may not count."""

    side: int
    need: float
    most: float
    slack: float


class Sum(NamedTuple):
    """A sum of terms on cells: the values of its leaves, and the layout of both.

    With a multiplier and h to begin with, where some are known.
    """

    values: Floats
    layout: Ints
    multiplier: float = 0.0
    h: Floats | None = None


def reduced(
    whole: Sum,
    costs: Floats,
    asked: Asked,
    incumbent: float,
    related: frozenset[int],
    accept: Callable[[Ints], bool],
    deadline: float = math.inf,
) -> Reduced | None:
    """Fewer cells, with the same cheapest points that may be what is asked for.

    `costs` are those of the cells in one row, ∞ where there is no candidate; what costs more than
    the incumbent does not matter. Cells of related features are not merged. Sweeps come first, and
    where they no longer pay the LP. None if nothing is left to search.
    """
    problem = _Problem(whole, costs, asked, related, deadline)
    steps: list[Step] = []
    point, by_lp = None, False
    for turn in range(ROUNDS):
        if (turn and problem.late) or not problem.many:
            break
        weights = problem.improved(incumbent, by_lp)
        steps.append(problem.step)
        bound, excess = problem.bound()
        hopeless = bound > problem.dearest  # nothing is enough, whatever it costs
        better = None if hopeless or bound > incumbent else problem.mended(weights)
        if better is not None and (cost := float(costs[better].sum())) < incumbent:
            point, incumbent = (better, cost) if accept(better) else (point, incumbent)
        limit = incumbent + MARGIN * (1.0 + abs(incumbent))
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


@cache
def compile_all() -> None:
    """Reduce a question of two stumps, so that what is compiled is so before any clock runs."""
    allowed = np.array([[1, 0, 0, 1, 1], [0, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 0, 1]], bool)
    leaves = Leaves(np.array([0, 0, 1, 1]), np.array([0.0, 1.0, 0.0, 1.0]), allowed)
    whole = Sum(leaves.value, layout(leaves, np.array([3, 2])))
    costs, asked = np.array([0.0, 1.0, 2.0, 0.0, 2.0]), Asked(1, 1.5, 9.0, 0.0)
    reduced(whole, costs, asked, math.inf, frozenset(), lambda _: True)
    _Problem(whole, costs, asked, frozenset(), math.inf).improved(math.inf, True)


class _Problem:
    """The sum with costs and a target, on the cells that are left."""

    def __init__(
        self, whole: Sum, costs: Floats, asked: Asked, related: frozenset[int], deadline: float
    ) -> None:
        self.deadline, self.side = deadline, asked.side
        self.values, self.layout = asked.side * whole.values, whole.layout
        self.need, self.most, self.slack = asked.need, asked.most, asked.slack
        self.apart = np.zeros(int(self.layout[D]), bool)
        self.apart[list(related)] = True
        self.given = self.layout[self.layout[FIRST] :]  # where the features' cells began
        self.costs, self.cells = costs, np.arange(len(costs))
        self.multiplier = whole.multiplier
        self.h = np.zeros(int(self.layout[H])) if whole.h is None else whole.h
        self.base, self.atoms = 0.0, np.arange(len(self.h))
        self.fewer(np.isfinite(costs))
        self.atoms = np.arange(len(self.h))  # those that proofs know
        self.dearest = float(np.maximum.reduceat(self.costs, self.first).sum())  # of these points

    @property
    def many(self) -> int:
        """How many leaves are left, of terms that are not constant."""
        return len(self.values)

    @property
    def late(self) -> bool:
        return clock.now() >= self.deadline

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
        while int(living(self.layout, stay)[1].sum()) == self.layout[T]:
            stay[gone[:more]] = True
            more *= 2
        return stay

    @cached_property
    def taken(self) -> Bools:
        """Which leaves take each cell."""
        found: Bools = _taken(self.layout)
        return found

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
        climb(self.values, self.layout, self.costs, need, enough, memory)
        self.multiplier, self.h = float(memory[0]), memory[1 : 1 + len(self.h)]
        gains: Floats = _gains(self.layout, self.h)
        return self.multiplier * gains - self.costs

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
        rows, columns, signs, entry, sets = _coupled(self.layout)
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
            options={"time_limit": min(self.deadline - clock.now(), LONGEST)},
        )
        if found.status != 0:
            return None
        weights = found.x[:n]
        duals = np.maximum(-found.ineqlin.marginals, 0.0)
        if costs is None:
            return weights, HUGE, _priced(self.layout, entry, sets, duals)
        multiplier = float(duals[-1])
        if multiplier <= 0.0:
            return weights, 0.0, np.zeros(int(self.layout[H]))
        return weights, multiplier, _priced(self.layout, entry, sets, duals / multiplier)

    # ------------------------------------------------------------ bounds and incumbents

    def bound(self) -> tuple[float, Floats]:
        """What every answer costs at least, and how much more with each cell."""
        gains = _gains(self.layout, self.h)
        total = _constants(self.layout, self.values, self.h)
        need = self.need - self.slack
        priced = self.costs - self.multiplier * gains
        least = np.minimum.reduceat(priced, self.first)
        size = abs(total) + abs(need) + float(np.abs(self.h).sum())  # they may cancel out
        bound = self.multiplier * (need - total) + float(least.sum())
        bound -= 1e-10 * (1.0 + self.multiplier * size + float(np.abs(least).sum()))
        return bound, priced - least.repeat(self.sizes)

    def mended(self, weights: Floats) -> Ints | None:
        """A cheap point that is enough, near that of the greatest weights; None if none found."""
        ends = zip(self.first.tolist(), self.sizes.tolist(), strict=True)
        point = np.array([a + int(weights[a : a + n].argmax()) for a, n in ends])
        seconds = min(self.deadline - clock.now(), PATIENCE)
        found = mend(
            self.taken, self.values, self.costs, self.first, self.sizes, point,
            self.need + self.slack, self.most - self.slack, np.array([int(seconds * PACE)]),
        )  # fmt: skip
        return self.cells[point] if found < math.inf else None

    # ------------------------------------------------------------ what is left

    def left(self, steps: list[Step], point: Ints | None, bound: float, room: Floats) -> Reduced:
        """The sum on the cells that stay."""
        kept = np.split(self.cells - self.given.repeat(self.sizes), self.first[1:])
        return Reduced(
            kept, self.side * self.values, self.layout, self.side * self.base, self.h,
            self.multiplier, point, bound, room, steps,
        )  # fmt: skip


# ---------------------------------------------------------------- compiled


@making
def _taken(lay: Any) -> Any:
    """Which leaves take each cell."""
    found = np.ones((lay[C], lay[L]), np.bool_)
    for t in range(lay[T]):
        entry, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
        for e in range(entry, end):
            first = lay[lay[FIRST] + lay[lay[FEATURE] + e]]
            takes = np.zeros(lay[lay[ATOM] + e + 1] - lay[lay[ATOM] + e], np.bool_)
            for leaf in range(lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]):
                takes[:] = False
                pair = lay[lay[LEAF_PAIR] + leaf] + e - entry
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    takes[lay[lay[TAKES] + k]] = True
                for c in range(lay[lay[MAP] + e + 1] - lay[lay[MAP] + e]):
                    found[first + c, leaf] = takes[lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]]
    return found


@making
def _coupled(lay: Any) -> Any:
    """Rows of the LP: the leaves inside a set of atoms of an entry, less the cells of the set.

    Sets are all runs from a leaf's first atom to a leaf's last where each leaf's atoms are one, and
    else those of the leaves themselves; those that another with the same leaves lies in say more.
    """
    one = np.uint64(1)
    room, used = 4096, 0
    rows, columns = np.empty(room, np.int64), np.empty(room, np.int64)
    signs = np.empty(room)
    n, most = 0, 1024
    entry_of, set_of = np.empty(most, np.int64), np.empty(most, np.uint64)
    for t in range(lay[T]):
        a, b = lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]
        masks = np.zeros(b - a, np.uint64)
        sets = np.zeros((b - a) * (b - a) + 1, np.uint64)
        first_entry = lay[lay[TERM_ENTRY] + t]
        for e in range(first_entry, lay[lay[TERM_ENTRY] + t + 1]):
            atom = lay[lay[ATOM] + e]
            many = lay[lay[ATOM] + e + 1] - atom
            if many > 64:
                continue
            # a mask of its atoms for each leaf
            lows, highs, runs = np.zeros(64, np.bool_), np.zeros(64, np.bool_), True
            for leaf in range(a, b):
                masks[leaf - a] = 0
                pair = lay[lay[LEAF_PAIR] + leaf] + e - first_entry
                low, high, count = 64, -1, 0
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    i = lay[lay[TAKES] + k]
                    masks[leaf - a] |= one << np.uint64(i)
                    low, high, count = min(low, i), max(high, i), count + 1
                lows[low], highs[high] = True, True
                runs = runs and count == high - low + 1
            n_sets = 0
            if runs:
                for i in range(many):
                    for j in range(i, many):
                        if lows[i] and highs[j] and j - i + 1 < many:
                            mask = np.uint64(0)
                            for k in range(i, j + 1):
                                mask |= one << np.uint64(k)
                            sets[n_sets] = mask
                            n_sets += 1
            else:
                for leaf in range(b - a):
                    known = False
                    for k in range(n_sets):
                        known = known or sets[k] == masks[leaf]
                    if not known:
                        sets[n_sets] = masks[leaf]
                        n_sets += 1
            for s in range(n_sets):
                union, inside = np.uint64(0), 0
                for leaf in range(b - a):
                    if masks[leaf] & ~sets[s] == 0:
                        union |= masks[leaf]
                        inside += 1
                if union != sets[s] or inside == b - a:
                    continue
                size = lay[lay[MAP] + e + 1] - lay[lay[MAP] + e]
                if used + inside + size > room:
                    room = 2 * (room + inside + size)
                    rows, columns = _longer(rows, room), _longer(columns, room)
                    signs = _longer(signs, room)
                if n == most:
                    most *= 2
                    entry_of, set_of = _longer(entry_of, most), _longer(set_of, most)
                for leaf in range(b - a):
                    if masks[leaf] & ~sets[s] == 0:
                        rows[used], columns[used], signs[used] = n, lay[C] + a + leaf, 1.0
                        used += 1
                first = lay[lay[FIRST] + lay[lay[FEATURE] + e]]
                for c in range(size):
                    i = lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]
                    if (sets[s] >> np.uint64(i)) & one:
                        rows[used], columns[used], signs[used] = n, first + c, -1.0
                        used += 1
                entry_of[n], set_of[n] = e, sets[s]
                n += 1
    return rows[:used], columns[:used], signs[:used], entry_of[:n], set_of[:n]


@making
def _longer(array: Any, size: int) -> Any:
    made = np.empty(size, array.dtype)
    made[: len(array)] = array
    return made


@making
def _priced(lay: Any, entry: Any, sets: Any, duals: Any) -> Any:
    """H of all atoms from the duals of the sets they are in."""
    h = np.zeros(lay[H])
    for row in range(len(entry)):
        if duals[row] > 0.0:
            atom = lay[lay[ATOM] + entry[row]]
            for i in range(lay[lay[ATOM] + entry[row] + 1] - atom):
                if (sets[row] >> np.uint64(i)) & np.uint64(1):
                    h[atom + i] += duals[row]
    return h


@making
def _constants(lay: Any, values: Any, h: Any) -> float:
    """K = Σ_t max over the leaves of (value − Σ min h)."""
    total = 0.0
    for t in range(lay[T]):
        entry, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
        best = -np.inf
        for leaf in range(lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]):
            pair, under = lay[lay[LEAF_PAIR] + leaf], 0.0
            for e in range(entry, end):
                least = np.inf
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    least = min(least, h[lay[lay[ATOM] + e] + lay[lay[TAKES] + k]])
                under += least
                pair += 1
            best = max(best, values[leaf] - under)
        total += best
    return total


@making
def _gains(lay: Any, h: Any) -> Any:
    """Of each cell the sum of its h."""
    gains = np.zeros(lay[C])
    for e in range(lay[E]):
        first = lay[lay[FIRST] + lay[lay[FEATURE] + e]]
        for c in range(lay[lay[MAP] + e + 1] - lay[lay[MAP] + e]):
            a = lay[lay[ATOM] + e] + lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]
            gains[first + c] += h[a]
    return gains
