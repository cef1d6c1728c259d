"""The same question as a mixed-integer program on the full problem, solved by HiGHS (in SciPy).

A binary variable for each cell that a person may move to, one for each feature; a variable for each
leaf, one for each tree. For each tree, feature and set of cells that leaves of the tree take (where
those are runs, also each run from the first cell of one to the last of another), the leaves inside
the set weigh no more than its cells: as tight as the usual rows by nodes, or tighter. The score is
one row, the cost the objective. Nothing of the exact search is used here: it is the reference.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from trust_recourse.io.arrays import Floats
from trust_recourse.models import SumModel
from trust_recourse.models.subproblem import Candidates

STATUS = {0: "optimal", 1: "limit", 2: "infeasible"}


class Solved(NamedTuple):
    """Costs before the root; a bound without any answer where a limit ended it."""

    cost: float
    bound: float
    status: str
    seconds: float


def solve(
    model: SumModel,
    wanted: int,
    features: Sequence[Candidates],
    needed: float,
    time_limit: float = math.inf,
) -> Solved:
    """The least cost of the cells at which the score is at least what is needed.

    For class 0 it is at most that; where the library sums classes apart, by that class's own sum.
    """
    if wanted == 0 and model.flipped is not None:
        model, wanted = model.flipped, 1
    began = time.perf_counter()
    side = 1.0 if wanted == 1 else -1.0
    costs = least_costs(model, features)
    cells = np.flatnonzero(np.isfinite(costs))
    leaves, first = model.leaves, model.grid.first_cell
    within = np.logical_or.reduceat(leaves.allowed & np.isfinite(costs), first, axis=1).all(axis=1)
    term, value, allowed = leaves.term[within], leaves.value[within], leaves.allowed[within]
    allowed = allowed[:, cells]
    feature = np.repeat(np.arange(len(first)), model.grid.sizes)[cells]
    x, y = len(cells), len(term)
    one = coo_array(
        (np.ones(x + y), (np.append(feature, len(first) + term), np.arange(x + y))),
        shape=(len(first) + len(model.trees), x + y),
    )
    score = csr_array(np.append(np.zeros(x), side * value)[None])
    found = milp(
        np.append(costs[cells], np.zeros(y)),
        integrality=np.append(np.ones(x), np.zeros(y)),
        bounds=Bounds(0.0, 1.0),
        constraints=[
            LinearConstraint(one.tocsr(), 1.0, 1.0),
            LinearConstraint(_linking(term, allowed, feature), -math.inf, 0.0),
            LinearConstraint(score, side * (needed - model.base), math.inf),
        ],
        options={
            "mip_rel_gap": 0.0,
            **({} if time_limit == math.inf else {"time_limit": time_limit}),
        },
    )
    seconds = time.perf_counter() - began
    cost = math.inf if found.x is None else float(costs[cells] @ np.round(found.x[:x]))
    status = STATUS.get(found.status, found.message)
    bound = math.inf if status == "infeasible" else float(found.mip_dual_bound or 0.0)
    return Solved(cost, bound, status, seconds)


def least_costs(model: SumModel, features: Sequence[Candidates]) -> Floats:
    """What the cheapest value in each cell costs, all cells in one row; ∞ where none is allowed."""
    costs = np.full(int(model.grid.sizes.sum()), math.inf)
    for at, each in zip(model.grid.first_cell, features, strict=True):
        np.minimum.at(costs, at + each.cells, each.costs)
    return costs


def _linking(term, allowed, feature):
    """Leaves inside a set of cells, less the cells of the set: no more than 0."""
    x, rows, columns, signs, n = allowed.shape[1], [], [], [], 0
    for t in range(int(term[-1]) + 1):
        own = np.flatnonzero(term == t)
        for f in range(int(feature[-1]) + 1):
            cells = np.flatnonzero(feature == f)
            taken = allowed[np.ix_(own, cells)]
            for cover in _sets(taken):
                inside = own[~(taken & ~cover).any(axis=1)]
                here = cells[cover]
                rows.append(np.full(len(inside) + len(here), n))
                columns += [x + inside, here]
                signs += [np.ones(len(inside)), -np.ones(len(here))]
                n += 1
    if not n:
        return csr_array((1, x + len(term)))
    at = np.concatenate(rows), np.concatenate(columns)
    return coo_array((np.concatenate(signs), at), shape=(n, x + len(term))).tocsr()


def _sets(taken):
    """The sets that leaves take, and all runs from one to another where those are runs."""
    known = np.unique(taken, axis=0)
    first, last = known.argmax(axis=1), known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    if (known.sum(axis=1) == last - first + 1).all():
        at = np.arange(known.shape[1])
        ends = [(a, b) for a in np.unique(first) for b in np.unique(last) if a <= b]
        known = np.array([(at >= a) & (at <= b) for a, b in ends])
    return [each for each in known if not each.all()]
