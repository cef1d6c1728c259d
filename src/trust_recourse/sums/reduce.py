"""A smaller sum with the same cheapest answers: incumbents, reduced-cost fixing, and a rebuilt sum.

The root LP, solved by HiGHS, has a variable for each cell and each leaf: for each term, feature and
run of its atoms, the leaves inside the run weigh no more than the cells of the run. Its duals are
good h and λ for the bound of `terms`; its solution, rounded and mended, is an incumbent. A cell
whose reduced cost lifts that bound above the incumbent is in no cheaper answer, so it goes; with
fewer cells the LP is solved again. Last, neighbouring cells that no leaf tells apart become one.

None of this rests on the LP being right: bounds are computed anew from h and λ, and an incumbent
is a point whose sum was added up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from trust_recourse.cells import Floats, Ints
from trust_recourse.sums.ensemble import Leaves
from trust_recourse.sums.terms import Entry, entries

ROUNDS = 4  # of LP and fixing
FEW = 0.05  # of the cells: less than that fixed in a round ends it
MARGIN = 1e-9  # of a cost, which rounding may bring


class Reduced(NamedTuple):
    """What is left: the cells of each feature that stay, and the sum on them."""

    kept: list[Ints]  # positions among the cells that were given, of each feature
    leaves: Leaves
    sizes: Ints
    base: float  # of the terms that became constant
    h: Floats
    multiplier: float
    incumbent: float  # the cost of the best point that was found; ∞ if none
    bound: float


class Asked(NamedTuple):
    """That side · the sum lies between two ends; within `slack` of them it may or may not count."""

    side: int
    need: float
    most: float
    slack: float


def reduced(leaves: Leaves, sizes: Ints, costs: Floats, asked: Asked) -> Reduced | None:
    """Fewer cells, with the same cheapest points that may be what is asked for.

    `costs` are those of the cells in one row, ∞ where there is no candidate. None if the LP has no
    solution.
    """
    problem = _Problem(leaves, sizes, costs, asked)
    cells = np.isfinite(costs)
    incumbent, best = np.inf, (0.0, np.empty(0), -np.inf)
    for _ in range(ROUNDS):
        found = problem.relaxed(cells)
        if found is None:
            if np.isfinite(incumbent):
                break
            return None
        weights, multiplier, h = found
        incumbent = min(incumbent, problem.mended(cells, weights))
        bound, excess = problem.bound(cells, multiplier, h)
        best = (multiplier, h, bound)
        limit = incumbent + MARGIN * (1.0 + abs(incumbent))
        gone = cells & (bound + excess > limit)
        cells = cells & ~gone
        if gone.sum() <= FEW * cells.sum():
            break
    return problem.rebuilt(cells, best, incumbent)


class _Problem:
    """The sum with costs and a target, on all cells."""

    def __init__(self, leaves: Leaves, sizes: Ints, costs: Floats, asked: Asked) -> None:
        self.leaves, self.sizes, self.costs, self.asked = leaves, sizes, costs, asked
        self.need = asked.need - asked.slack
        self.first = np.cumsum(sizes) - sizes
        self.starts = np.flatnonzero(np.diff(leaves.term, prepend=-1))
        self.ends = np.append(self.starts[1:], len(leaves.value))
        self.values = asked.side * leaves.value
        self.entries: list[list[Entry]] = entries(leaves, sizes, self.starts)

    # ------------------------------------------------------------ the root LP

    def relaxed(self, cells: NDArray[np.bool_]) -> tuple[Floats, float, Floats] | None:
        """The weights of the cells in the LP, its multiplier, and its h of all atoms."""
        n_cells, alive = len(self.costs), self._alive(cells)
        rows, columns, signs, atoms_of = self._runs(cells, alive)
        many = len(atoms_of)
        leaf = np.flatnonzero(alive)
        rows = np.concatenate([rows, np.full(len(leaf), many)])
        columns = np.concatenate([columns, n_cells + leaf])
        signs = np.concatenate([signs, -self.values[leaf]])
        shape = (many + 1, n_cells + len(alive))
        above = coo_array((signs, (rows, columns)), shape=shape)
        at = np.arange(n_cells)
        feature = np.repeat(np.arange(len(self.sizes)), self.sizes)
        d = len(self.sizes)
        one = coo_array(
            (
                np.ones(n_cells + len(alive)),
                (
                    np.concatenate([feature, d + self.leaves.term]),
                    np.concatenate([at, n_cells + np.arange(len(alive))]),
                ),
            ),
            shape=(d + len(self.starts), n_cells + len(alive)),
        )
        top = np.concatenate([cells, alive]).astype(float)
        cost = np.concatenate([np.where(cells, self.costs, 0.0), np.zeros(len(alive))])
        found = linprog(
            cost,
            A_ub=above.tocsr(),
            b_ub=np.append(np.zeros(many), -self.need),
            A_eq=one.tocsr(),
            b_eq=np.ones(d + len(self.starts)),
            bounds=np.column_stack([np.zeros(len(top)), top]),
            method="highs",
        )
        if found.x is None:
            return None
        duals = np.maximum(-found.ineqlin.marginals, 0.0)
        h = np.zeros(sum(e.taken.shape[1] for of in self.entries for e in of))
        multiplier = float(duals[-1])
        for run, dual in zip(atoms_of, duals[:-1].tolist(), strict=True):
            if dual > 0.0:
                h[run] += dual
        return found.x[:n_cells], multiplier, h / multiplier if multiplier > 0 else 0.0 * h

    def _alive(self, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The leaves that have a cell left in every feature."""
        held = self.leaves.allowed & cells
        return np.asarray(np.logical_or.reduceat(held, self.first, axis=1).all(axis=1), dtype=bool)

    def _runs(
        self, cells: NDArray[np.bool_], alive: NDArray[np.bool_]
    ) -> tuple[Ints, Ints, Floats, list[Ints]]:
        """Rows of the LP: a run of atoms of an entry, its leaves, less the cells in it."""
        rows: list[Ints] = []
        columns: list[Ints] = []
        signs: list[Floats] = []
        atoms_of: list[Ints] = []
        at = 0
        for of_term, a, b in zip(
            self.entries, self.starts.tolist(), self.ends.tolist(), strict=True
        ):
            living = np.flatnonzero(alive[a:b])
            for entry in of_term:
                n = entry.taken.shape[1]
                begin = self.first[entry.feature]
                own = cells[begin : begin + self.sizes[entry.feature]]
                for run in _sets(entry.taken[living]):
                    inside = living[~(entry.taken[living] & ~run).any(axis=1)]
                    if len(inside) == 0 or len(inside) == len(living):
                        continue
                    here = begin + np.flatnonzero(run[entry.atoms] & own)
                    rows.append(np.full(len(inside) + len(here), len(atoms_of)))
                    columns += [len(self.costs) + a + inside, here]
                    signs += [np.ones(len(inside)), -np.ones(len(here))]
                    atoms_of.append(at + np.flatnonzero(run))
                at += n
        if not rows:
            return np.empty(0, int), np.empty(0, int), np.empty(0), []
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(signs), atoms_of

    # ------------------------------------------------------------ bounds and incumbents

    def bound(self, cells: NDArray[np.bool_], multiplier: float, h: Floats) -> tuple[float, Floats]:
        """What every answer costs at least, and how much more with each cell."""
        gains, total = np.zeros(len(self.costs)), 0.0
        alive, at = self._alive(cells), 0
        for of_term, a, b in zip(
            self.entries, self.starts.tolist(), self.ends.tolist(), strict=True
        ):
            under = np.zeros(b - a)
            for entry in of_term:
                n, begin = entry.taken.shape[1], self.first[entry.feature]
                own = cells[begin : begin + self.sizes[entry.feature]]
                here = h[at : at + n]
                gains[begin : begin + len(entry.atoms)] += here[entry.atoms]
                left = np.zeros(n, bool)
                left[entry.atoms[own]] = True
                under += np.where(entry.taken & left, here, np.inf).min(axis=1)
                at += n
            living = alive[a:b]
            total += float((self.values[a:b] - under)[living].max())
        priced = np.where(cells, self.costs - multiplier * gains, np.inf)
        least = np.minimum.reduceat(priced, self.first)
        size = abs(total) + abs(self.need) + float(np.abs(gains).max())
        bound = multiplier * (self.need - total) + float(least.sum())
        bound -= 1e-10 * (1.0 + multiplier * size + float(np.abs(least).sum()))
        return bound, np.where(cells, priced - least.repeat(self.sizes), 0.0)

    def mended(self, cells: NDArray[np.bool_], weights: Floats) -> float:
        """The cost of a point near the LP's that is enough; ∞ if none was found."""
        masked = np.where(cells, weights, -1.0)
        ends = zip(self.first.tolist(), self.sizes.tolist(), strict=True)
        start = np.array([a + int(masked[a : a + n].argmax()) for a, n in ends])
        raised = self._raised(cells, start)
        if raised is None:
            return np.inf
        return float(self.costs[self._walked_back(cells, raised)].sum())

    def _sums(self, point: Ints, f: int) -> Floats:
        """Side · the sum for each cell of one feature, the others as they are."""
        others = self.leaves.allowed[:, np.delete(point, f)].all(axis=1)
        a = self.first[f]
        here = self.leaves.allowed[others, a : a + self.sizes[f]]
        return np.asarray(self.values[others] @ here)

    def _enough(self, total: Floats) -> NDArray[np.bool_]:
        low, high = self.asked.need + self.asked.slack, self.asked.most - self.asked.slack
        return (total >= low) & (total <= high)

    def _raised(self, cells: NDArray[np.bool_], point: Ints) -> Ints | None:
        """Change one feature at a time, the most gain for the cost first, until it is enough."""
        d = len(self.sizes)
        for _ in range(3 * d):
            if self._enough(self._sums(point, 0)[point[0] - self.first[0]]):
                return point
            best, move = 0.0, None
            for f in range(d):
                total, a = self._sums(point, f), self.first[f]
                enough = self.asked.need + self.asked.slack
                gain = np.minimum(total, enough) - total[point[f] - a]
                more = self.costs[a : a + self.sizes[f]] - self.costs[point[f]]
                own = cells[a : a + self.sizes[f]] & (gain > 1e-12)
                rate = np.where(own, gain / np.maximum(more, 1e-9), 0.0)
                c = int(rate.argmax())
                if rate[c] > best:
                    best, move = float(rate[c]), (f, a + c)
            if move is None:
                return None
            point = point.copy()
            point[move[0]] = move[1]
        return None

    def _walked_back(self, cells: NDArray[np.bool_], point: Ints) -> Ints:
        """Make a point that is enough cheaper, a feature at a time, the dearest first."""
        point = point.copy()
        for _ in range(3):
            before = self.costs[point].sum()
            for f in np.argsort(-self.costs[point]).tolist():
                a = self.first[f]
                fits = self._enough(self._sums(point, f)) & cells[a : a + self.sizes[f]]
                cost = np.where(fits, self.costs[a : a + self.sizes[f]], np.inf)
                c = int(cost.argmin())
                if cost[c] < self.costs[point[f]]:
                    point[f] = a + c
            if self.costs[point].sum() >= before:
                break
        return point

    # ------------------------------------------------------------ what is left

    def rebuilt(
        self, cells: NDArray[np.bool_], best: tuple[float, Floats, float], incumbent: float
    ) -> Reduced:
        """The sum on the cells that stay: those that no leaf tells apart become the cheapest."""
        alive = self._alive(cells)
        allowed = self.leaves.allowed[alive]
        kept, merged = [], []
        for a, n in zip(self.first.tolist(), self.sizes.tolist(), strict=True):
            here = a + np.flatnonzero(cells[a : a + n])
            columns = allowed[:, here]
            fresh = np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0))
            group = np.cumsum(fresh) - 1
            order = np.lexsort((np.arange(len(here)), self.costs[here], group))
            first = order[np.diff(group[order], prepend=-1) > 0]
            kept.append(here[first] - a)
            merged.append(here[first])
        left = np.concatenate(merged)
        term, value, allowed = (
            self.leaves.term[alive],
            self.leaves.value[alive],
            allowed[:, left],
        )
        many = np.bincount(term)
        constant = many[term] == 1
        base = float(value[constant].sum())
        stay = ~constant
        term = np.unique(term[stay], return_inverse=True)[1].ravel()
        sizes = np.array([len(each) for each in kept])
        multiplier, h, bound = best
        fewer = Leaves(term, value[stay], allowed[stay])
        return Reduced(
            kept, fewer, sizes, base, self._carried(h, left, alive, fewer, sizes),
            multiplier, incumbent, bound,
        )  # fmt: skip

    def _carried(
        self, h: Floats, columns: Ints, alive: NDArray[np.bool_], fewer: Leaves, sizes: Ints
    ) -> Floats:
        """H of the atoms of the smaller sum: those of their cells."""
        if len(fewer.value) == 0:
            return np.empty(0)
        by_cell: dict[tuple[int, int], Floats] = {}
        at = 0
        for t, of_term in enumerate(self.entries):
            for entry in of_term:
                n = entry.taken.shape[1]
                by_cell[t, entry.feature] = h[at : at + n][entry.atoms]
                at += n
        old = self.leaves.term[alive]
        old = old[np.bincount(old)[old] > 1]
        names = old[np.flatnonzero(np.diff(fewer.term, prepend=-1))]
        starts = np.flatnonzero(np.diff(fewer.term, prepend=-1))
        begin = np.cumsum(sizes) - sizes
        carried = []
        for t, of_term in zip(names.tolist(), entries(fewer, sizes, starts), strict=True):
            for entry in of_term:
                f = entry.feature
                cells = columns[begin[f] : begin[f] + sizes[f]] - self.first[f]
                values = by_cell[t, f][cells]
                one = np.empty(entry.taken.shape[1])
                one[entry.atoms[::-1]] = values[::-1]
                carried.append(one)
        return np.concatenate([np.empty(0), *carried])


def _sets(taken: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Sets of atoms to couple leaves and cells by: all runs, where each leaf's atoms are one."""
    n = taken.shape[1]
    if len(taken) == 0:
        return []
    first = taken.argmax(axis=1)
    last = n - 1 - taken[:, ::-1].argmax(axis=1)
    if (taken.sum(axis=1) == last - first + 1).all():
        at = np.arange(n)
        return [
            (at >= i) & (at <= j)
            for i in np.unique(first).tolist()
            for j in np.unique(last[first >= i]).tolist()
            if j >= i and not (i == 0 and j == n - 1)
        ]
    return [each for each in np.unique(taken, axis=0) if not each.all()]
