"""A smaller sum with the same cheapest answers: incumbents, reduced-cost fixing, and a rebuilt sum.

The root LP, solved by HiGHS, has a variable for each cell and each leaf: for each term, feature and
set of its atoms, the leaves inside the set weigh no more than the cells of the set. Its duals are
good h and λ for the bound of `terms`; its solution, rounded and mended, is an incumbent. A cell
whose reduced cost lifts that bound above the incumbent is in no cheaper answer, so it goes; with
fewer cells the LP is solved again. Last, neighbouring cells that no leaf tells apart become one.

None of this rests on the LP being right: bounds are computed anew from h and λ, and an incumbent
is a point whose sum was added up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from trust_recourse.cells import Floats, Ints, making
from trust_recourse.sums.ensemble import Leaves
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
    E,
    H,
    L,
    T,
    groups_of,
    layout,
)
from trust_recourse.sums.terms import Terms

Bools = NDArray[np.bool_]

ROUNDS = 3  # of sweeps or the LP, and fixing
TIMES = 4  # that the kernel sweeps in a round
FEW = 0.05  # of the cells: less than that fixed in a round ends it
SMALL = 250  # cells, with so many or fewer no further round pays
MARGIN = 1e-9  # of a cost, which rounding may bring
LONGEST = 1e9  # seconds
HUGE = 1e6  # a multiplier, where nothing is enough


class Step(NamedTuple):
    """A multiplier and h, of all atoms of the whole sum, by which these cells go."""

    multiplier: float
    h: Floats
    gone: Bools


class Reduced(NamedTuple):
    """What is left: the cells of each feature that stay, and the sum on them."""

    kept: list[Ints]  # positions among the cells that were given, of each feature
    leaves: Leaves
    layout: Ints
    sizes: Ints
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
    level: float  # `need` as a number of the kernel


class Sum(NamedTuple):
    """A sum of terms on cells, and bounds on it."""

    leaves: Leaves
    kernel: Terms
    sizes: Ints


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
    the incumbent does not matter. Cells of related features are not merged. Sweeps of the kernel
    come first, which leave the LP less to do. None if there is nothing to gain.
    """
    problem = _Problem(whole, costs, asked)
    cells, steps, point = np.isfinite(costs), [], None
    for turn in range(ROUNDS):
        left = deadline - time.monotonic()
        if turn and left <= 0.0:
            break
        found = problem.relaxed(cells, left) if turn else problem.swept(cells)
        if found is None:
            break
        weights, multiplier, h = found[0], found[1], problem.shared(cells, found[2])
        better = problem.mended(cells, weights)
        if better is not None and (cost := float(costs[better].sum())) < incumbent:
            point, incumbent = (better, cost) if accept(better) else (point, incumbent)
        bound, excess = problem.bound(cells, multiplier, h)
        limit = incumbent + MARGIN * (1.0 + abs(incumbent))
        gone = cells & (bound + excess > limit)
        steps.append(Step(multiplier, h, gone))
        if not np.logical_or.reduceat(cells & ~gone, problem.first).all():
            bound = -np.inf  # nothing costs so little, as this step shows: none of them goes
            break
        cells = cells & ~gone
        little = gone.sum() <= FEW * cells.sum() or cells.sum() <= SMALL
        if problem.hopeless or (turn and little):
            break
    if not steps:
        return None
    room = np.where(cells, limit - bound - excess, -np.inf)
    return problem.rebuilt(cells, steps, point, room, related)


@cache
def compile_all() -> None:
    """Reduce a question of two stumps, so that what is compiled is so before any clock runs."""
    allowed = np.array([[1, 0, 0, 1, 1], [0, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 0, 1]], bool)
    leaves, sizes = Leaves(np.array([0, 0, 1, 1]), np.array([0.0, 1.0, 0.0, 1.0]), allowed), [3, 2]
    whole = Sum(leaves, Terms(leaves, np.array(sizes)), np.array(sizes))
    costs, asked = np.array([0.0, 1.0, 2.0, 0.0, 2.0]), Asked(1, 1.5, 9.0, 0.0, 0.625)
    reduced(whole, costs, asked, math.inf, frozenset(), lambda _: True)


class _Problem:
    """The sum with costs and a target, on all cells."""

    def __init__(self, whole: Sum, costs: Floats, asked: Asked) -> None:
        self.leaves, self.kernel, self.sizes = whole
        self.layout, self.memory = self.kernel.layout, self.kernel.memory.copy()
        self.hopeless = False  # whether nothing is enough, as it seems
        self.costs, self.asked = costs, asked
        self.first = np.cumsum(self.sizes) - self.sizes
        self.values = asked.side * self.leaves.value
        self.low, self.high = asked.need + asked.slack, asked.most - asked.slack

    @cached_property
    def allowed(self) -> Bools:
        return np.ascontiguousarray(self.leaves.allowed)

    # ------------------------------------------------------------ good h and multipliers

    def swept(self, cells: Bools) -> tuple[Floats, float, Floats]:
        """Minus what each cell is priced, a multiplier and h by sweeps, from those before."""
        kernel, n, atoms = self.kernel, len(self.costs), int(self.layout[H])
        gains, scratch = np.empty(n + 1), kernel.scratch.copy()
        spend = np.where(cells, self.costs, np.inf)
        span = np.concatenate([np.zeros_like(self.sizes), self.sizes - 1])
        for _ in range(TIMES):
            needed = kernel.relaxation(
                kernel.numbers, kernel.layout, span, self.asked.side, self.asked.level, spend,
                np.inf, gains, scratch, self.memory, 0,
            )  # fmt: skip
        best = np.maximum.reduceat(gains[:n], self.first).sum()
        self.hopeless = bool(needed > best)
        weights = np.where(cells, self.memory[0] * gains[:n] - self.costs, -np.inf)
        return weights, self.memory[0] / kernel.width, self.memory[1 : 1 + atoms] * kernel.width

    def relaxed(self, cells: Bools, seconds: float) -> tuple[Floats, float, Floats] | None:
        """The weights of the cells in the LP, its multiplier, and its h of all atoms.

        Where nothing is enough even there, those of the LP for the greatest sum. None if the
        seconds are too few for either.
        """
        found = self._solved(cells, self.costs, seconds)
        return self._solved(cells, None, seconds) if found is None else found

    def _solved(
        self, cells: Bools, costs: Floats | None, seconds: float
    ) -> tuple[Floats, float, Floats] | None:
        n_cells, d, terms = len(self.costs), len(self.sizes), int(self.layout[T])
        atoms, leaf = self._alive(cells)
        rows, columns, signs, entry, sets = _coupled(self.layout, cells, atoms, leaf)
        many, living, here = len(entry), np.flatnonzero(leaf), np.flatnonzero(cells)
        used = np.concatenate([here, n_cells + living])  # only these are variables
        place = np.full(n_cells + len(leaf), -1)
        place[used] = np.arange(len(used))
        columns, values = place[columns], self.values[living]
        cost, above = np.zeros(len(used)), np.zeros(many)
        if costs is None:
            cost[len(here) :] = -values
        else:
            cost[: len(here)] = costs[here]
            above = np.append(above, self.asked.slack - self.asked.need)
            rows = np.concatenate([rows, np.full(len(living), many)])
            columns = np.concatenate([columns, len(here) + np.arange(len(living))])
            signs = np.concatenate([signs, -values])
        feature = np.repeat(np.arange(d), self.sizes)[here]
        part = np.concatenate([feature, d + self.leaves.term[living]])
        one = coo_array((np.ones(len(used)), (part, np.arange(len(used)))), (d + terms, len(used)))
        found = linprog(
            cost,
            A_ub=coo_array((signs, (rows, columns)), (len(above), len(used))).tocsr(),
            b_ub=above,
            A_eq=one.tocsr(),
            b_eq=np.ones(d + terms),
            bounds=(0, None),
            method="highs",
            options={"time_limit": min(seconds, LONGEST)},
        )
        if found.status != 0:
            return None
        weights = np.full(n_cells, -1.0)
        weights[here] = found.x[: len(here)]
        duals = np.maximum(-found.ineqlin.marginals, 0.0)
        if costs is None:
            return weights, HUGE, _priced(self.layout, entry, sets, duals)
        multiplier = float(duals[-1])
        if multiplier <= 0.0:
            return weights, 0.0, np.zeros(int(self.layout[H]))
        return weights, multiplier, _priced(self.layout, entry, sets, duals / multiplier)

    def shared(self, cells: Bools, h: Floats) -> Floats:
        """H with one value for atoms that no leaf in question tells apart, as proofs have it.

        The least is as good for the leaves, and better for the cells of the others.
        """
        atoms, _ = self._alive(cells)
        least = np.full(len(h), np.inf)
        np.minimum.at(least, self._group[atoms], h[atoms])
        return np.where(np.isfinite(least), least, h)[self._group]

    @cached_property
    def _group(self) -> Ints:
        parts = np.split(np.isfinite(self.costs), self.first[1:])
        return groups_of(self.layout, [np.flatnonzero(part) for part in parts])

    def _alive(self, cells: Bools) -> tuple[Bools, Bools]:
        """The atoms that have a cell left, and the leaves that have one in every feature."""
        atoms, leaves = np.zeros(int(self.layout[H]), bool), np.empty(int(self.layout[L]), bool)
        _living(self.layout, cells, atoms, leaves)
        return atoms, leaves

    # ------------------------------------------------------------ bounds and incumbents

    def bound(self, cells: Bools, multiplier: float, h: Floats) -> tuple[float, Floats]:
        """What every answer costs at least, and how much more with each cell."""
        gains = np.zeros(len(self.costs))
        total = _separated(self.layout, self.values, *self._alive(cells), h, gains)
        need = self.asked.need - self.asked.slack
        priced = np.where(cells, self.costs - multiplier * gains, np.inf)
        least = np.minimum.reduceat(priced, self.first)
        size = abs(total) + abs(need) + float(np.abs(h).sum())  # they may cancel out
        bound = multiplier * (need - total) + float(least.sum())
        bound -= 1e-10 * (1.0 + multiplier * size + float(np.abs(least).sum()))
        return bound, np.where(cells, priced - least.repeat(self.sizes), 0.0)

    def mended(self, cells: Bools, weights: Floats) -> Ints | None:
        """A cheap point that is enough, near that of the greatest weights; None if none found."""
        if self.hopeless:
            return None
        _, alive = self._alive(cells)
        here = np.flatnonzero(cells)
        sizes = np.add.reduceat(cells, self.first, dtype=np.int64)
        first = np.cumsum(sizes) - sizes
        ends, chances = zip(first.tolist(), sizes.tolist(), strict=True), weights[here]
        point = np.array([a + int(chances[a : a + n].argmax()) for a, n in ends])
        found = mend(
            self.allowed[np.ix_(alive, here)], self.values[alive], self.costs[here], first, sizes,
            point, self.low, self.high,
        )  # fmt: skip
        return here[point] if found < math.inf else None

    # ------------------------------------------------------------ what is left

    def rebuilt(
        self,
        cells: Bools,
        steps: list[Step],
        point: Ints | None,
        room: Floats,
        related: frozenset[int],
    ) -> Reduced:
        """The sum on the cells that stay: those that no leaf tells apart become the cheapest."""
        _, alive = self._alive(cells)
        allowed = self.allowed[alive]
        kept, merged = [], []
        for f, (a, n) in enumerate(zip(self.first.tolist(), self.sizes.tolist(), strict=True)):
            here = a + np.flatnonzero(cells[a : a + n])
            columns = allowed[:, here]
            fresh = np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0))
            fresh |= f in related
            group = np.cumsum(fresh) - 1
            order = np.lexsort((np.arange(len(here)), self.costs[here], group))
            first = order[np.diff(group[order], prepend=-1) > 0]
            kept.append(here[first] - a)
            merged.append(here[first])
        left = np.concatenate(merged)
        term, value, allowed = self.leaves.term[alive], self.leaves.value[alive], allowed[:, left]
        constant = np.bincount(term)[term] == 1
        base = math.fsum(value[constant].tolist())
        names, term = np.unique(term[~constant], return_inverse=True)
        sizes = np.array([len(each) for each in kept])
        fewer = Leaves(term.ravel(), value[~constant], allowed[~constant])
        multiplier, h, _ = steps[-1]
        bound, _ = self.bound(cells, multiplier, h)
        made = layout(fewer, sizes) if len(fewer.value) else self.layout
        carried = np.zeros(int(made[H]))
        if len(fewer.value):
            _carry(self.layout, made, names, left, h, carried)
        return Reduced(
            kept, fewer, made, sizes, base, carried, multiplier, point, bound, room[left], steps
        )


# ---------------------------------------------------------------- compiled


@making
def _living(lay: Any, cells: Any, atoms: Any, leaves: Any) -> None:
    """Which atoms have a cell left, and which leaves an atom in each entry of their term."""
    for e in range(lay[E]):
        first = lay[lay[FIRST] + lay[lay[FEATURE] + e]]
        for c in range(lay[lay[MAP] + e + 1] - lay[lay[MAP] + e]):
            if cells[first + c]:
                a = lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]
                atoms[lay[lay[ATOM] + e] + a] = True
    for t in range(lay[T]):
        entry, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
        for leaf in range(lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]):
            pair, leaves[leaf] = lay[lay[LEAF_PAIR] + leaf], True
            for e in range(entry, end):
                found = False
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    if atoms[lay[lay[ATOM] + e] + lay[lay[TAKES] + k]]:
                        found = True
                        break
                pair += 1
                if not found:
                    leaves[leaf] = False
                    break


@making
def _coupled(lay: Any, cells: Any, atoms: Any, leaves: Any) -> Any:
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
            # atoms left, numbered anew; a mask of them for each leaf
            bit = np.full(many, -1)
            alive = 0
            for i in range(many):
                if atoms[atom + i]:
                    bit[i] = alive
                    alive += 1
            if alive < 2:
                continue
            lows, highs, runs, living = np.zeros(64, np.bool_), np.zeros(64, np.bool_), True, 0
            for leaf in range(a, b):
                masks[leaf - a] = 0
                if not leaves[leaf]:
                    continue
                living += 1
                pair = lay[lay[LEAF_PAIR] + leaf] + e - first_entry
                low, high, count = 64, -1, 0
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    i = bit[lay[lay[TAKES] + k]]
                    if i >= 0:
                        masks[leaf - a] |= one << np.uint64(i)
                        low, high, count = min(low, i), max(high, i), count + 1
                lows[low], highs[high] = True, True
                runs = runs and count == high - low + 1
            n_sets = 0
            if runs:
                for i in range(alive):
                    for j in range(i, alive):
                        if lows[i] and highs[j] and j - i + 1 < alive:
                            mask = np.uint64(0)
                            for k in range(i, j + 1):
                                mask |= one << np.uint64(k)
                            sets[n_sets] = mask
                            n_sets += 1
            else:
                for leaf in range(b - a):
                    known = masks[leaf] == 0
                    for k in range(n_sets):
                        known = known or sets[k] == masks[leaf]
                    if not known:
                        sets[n_sets] = masks[leaf]
                        n_sets += 1
            for s in range(n_sets):
                union, inside = np.uint64(0), 0
                for leaf in range(b - a):
                    if masks[leaf] != 0 and masks[leaf] & ~sets[s] == 0:
                        union |= masks[leaf]
                        inside += 1
                if union != sets[s] or inside == living:
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
                    if masks[leaf] != 0 and masks[leaf] & ~sets[s] == 0:
                        rows[used], columns[used], signs[used] = n, lay[C] + a + leaf, 1.0
                        used += 1
                first = lay[lay[FIRST] + lay[lay[FEATURE] + e]]
                whole = np.uint64(0)
                for i in range(many):
                    if bit[i] >= 0 and (sets[s] >> np.uint64(bit[i])) & one:
                        whole |= one << np.uint64(i)
                for c in range(size):
                    i = lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]
                    if cells[first + c] and (whole >> np.uint64(i)) & one:
                        rows[used], columns[used], signs[used] = n, first + c, -1.0
                        used += 1
                entry_of[n], set_of[n] = e, whole
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
def _separated(lay: Any, values: Any, atoms: Any, leaves: Any, h: Any, gains: Any) -> float:
    """K = Σ_t max over the leaves that are left of (value − Σ min h), and the gain of each cell."""
    total = 0.0
    for t in range(lay[T]):
        entry, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
        best = -np.inf
        for leaf in range(lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]):
            if not leaves[leaf]:
                continue
            pair, under = lay[lay[LEAF_PAIR] + leaf], 0.0
            for e in range(entry, end):
                least = np.inf
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    a = lay[lay[ATOM] + e] + lay[lay[TAKES] + k]
                    if atoms[a]:
                        least = min(least, h[a])
                under += least
                pair += 1
            best = max(best, values[leaf] - under)
        total += best
        for e in range(entry, end):
            first = lay[lay[FIRST] + lay[lay[FEATURE] + e]]
            for c in range(lay[lay[MAP] + e + 1] - lay[lay[MAP] + e]):
                a = lay[lay[ATOM] + e] + lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]
                gains[first + c] += h[a]
    return total


@making
def _carry(lay: Any, fewer: Any, names: Any, columns: Any, h: Any, out: Any) -> None:
    """H of the atoms of the smaller sum: those of their first cells in the larger one."""
    for t in range(fewer[T]):
        old, last = lay[lay[TERM_ENTRY] + names[t]], lay[lay[TERM_ENTRY] + names[t] + 1]
        for e in range(fewer[fewer[TERM_ENTRY] + t], fewer[fewer[TERM_ENTRY] + t + 1]):
            f = fewer[fewer[FEATURE] + e]
            while old < last and lay[lay[FEATURE] + old] != f:
                old += 1
            begin, seen = lay[lay[FIRST] + f], -1
            for c in range(fewer[fewer[MAP] + e + 1] - fewer[fewer[MAP] + e]):
                a = fewer[fewer[CELL_ATOM] + fewer[fewer[MAP] + e] + c]
                if a > seen:
                    seen = a
                    cell = columns[fewer[fewer[FIRST] + f] + c] - begin
                    was = lay[lay[CELL_ATOM] + lay[lay[MAP] + old] + cell]
                    out[fewer[fewer[ATOM] + e] + a] = h[lay[lay[ATOM] + old] + was]
