"""The seam: the one map from values to cells, and several conditions at once."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trust_recourse.models.grid import Grid
from trust_recourse.models.subproblem import Condition
from trust_recourse.question.cost import Cost
from trust_recourse.search import branch_and_bound
from trust_recourse.search.branch_and_bound import BranchAndBound
from trust_recourse.search.candidates import candidates
from trust_recourse.search.counterexample import about
from worlds import LOAN, card


@given(st.lists(st.integers(1, 12), unique=True), st.floats(0, 13))
def test_a_cell_ends_at_its_edge(edges, value):
    edges = np.sort(np.array(edges, float))
    grid = Grid(LOAN, (edges, np.array([2.0]), np.array([])))
    cell = int(grid.cells(np.array([[value, math.nan, 1.0]]))[0, 0])
    assert cell == sum(edge < value for edge in edges.tolist())
    ends = grid.ends(0)
    assert ends[cell] < value <= ends[cell + 1]
    assert grid.cells(np.array([[value, math.nan, 1.0]]))[0, 1:].tolist() == [2, 1]


@pytest.mark.parametrize("seed", range(25))
def test_several_conditions_are_met_at_once_as_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    cards = [card(seed + 100 * i) for i in range(3)]
    wanted = rng.integers(0, 2, 3).tolist()
    scores = [c.score_of(w) for c, w in zip(cards, wanted, strict=True)]
    own = rng.integers([1, 0, 0], [13, 10, 3]).astype(float)
    action_set, cost = LOAN.action_set_of(own), Cost.named("l1")
    features = candidates(scores[0].grid, action_set, cost)
    rows = np.array(list(itertools.product(*(f.codes for f in features))))
    costs = np.array([cost.between(LOAN.features, own, row) for row in rows])
    sure = np.array([score.at(score.grid.cells(rows)) for score in scores])
    levels = [float(np.quantile(each, rng.uniform(0.4, 0.9))) for each in sure]
    conditions = []
    for score, level in zip(scores, levels, strict=True):
        row = [score.grid.cells_in(f, each.codes) for f, each in enumerate(features)]
        ends = score.interval(level, 2.0)
        side = 1 if score.rises else -1
        conditions.append(Condition(score, *ends, side, np.concatenate(row).astype(np.int64)))
    search = BranchAndBound(features, conditions)
    codes = np.concatenate([f.codes for f in features])

    def accept(at):
        row = codes[search.offset[:-1] + at]
        now = [score.at(score.grid.cells(row[None]))[0] for score in scores]
        return all(p >= level for p, level in zip(now, levels, strict=True))

    found = search.best(conditions[0].low, conditions[0].high, conditions[0].side, accept)
    met = (sure >= np.array(levels)[:, None]).all(axis=0)
    assert (found.point is not None) == met.any()
    if met.any():
        assert search.cost_of(found.point) == pytest.approx(costs[met].min(), rel=1e-12)


def test_too_many_boxes_stop_a_search_as_a_limit_does(monkeypatch):
    score = card(5).score_of(1)
    own = np.array([12.0, 9.0, 2.0])
    features = candidates(score.grid, LOAN.action_set_of(own), Cost.named("l1"))
    ends = score.interval(0.99, 2.0)
    for most, stopped in ((1, True), (10_000, False)):
        monkeypatch.setattr(branch_and_bound, "MOST_BOXES", most)
        search = BranchAndBound(features, [about(score, features)])
        assert search.best(*ends, 1, lambda _: False).stopped is stopped
