"""The scorecard of docs/own-model.md, as a law: on random ones answers are those of enumeration.

Also with the linear condition that says nothing, which the page offers to models that have none.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numba import njit

from docs.draw import DOCS, parts
from trust_recourse import Feature, Recourse, Schema, Status
from trust_recourse.tsetlin.bounds import RELAXATION

LOAN = Schema(
    (
        Feature("months", "integer", lower=1, upper=12, scale=11),
        Feature("owed", "integer", lower=0, upper=9, scale=9),
        Feature("housing", "category", values=("own", "rent", "with parents")),
    )
)
ROWS = np.array(list(product(range(1, 13), range(10), range(3))), dtype=float)
EDGES = [np.array([3.0, 5.0, 9.0]), np.array([2.0, 6.0]), np.array([])]


@njit(RELAXATION)
def says_nothing(points, layout, span, side, level, spend, budget, gains, scratch):
    d, most = layout.shape[0], 0.0
    for f in range(d):
        best = -np.inf
        for c in range(layout[f] + span[f], layout[f] + span[d + f] + 1):
            gains[c] = 0.0 if spend[c] < np.inf else -np.inf
            best = max(best, side * points[c])
        most += best
    gains[-1] = (0.0 if side > 0 else 1.0) + most + 1e-9
    return -1.0


@pytest.fixture(scope="module")
def scorecard():
    names = {}
    (page,) = (text for _, text in parts(DOCS / "own-model.md", "python") if "class Sums" in text)
    exec(compile(page, "own-model.md", "exec"), names)
    return names["Scorecard"]


@pytest.mark.parametrize("relaxation", [None, says_nothing], ids=["its own", "one of no use"])
def test_a_scorecard_is_answered_as_by_enumeration(scorecard, relaxation):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(12):
        card = scorecard(LOAN, EDGES, [rng.normal(0, 1, size) for size in (4, 3, 3)])
        if relaxation is not None:
            card.sums.relaxation = relaxation
        wanted = int(rng.integers(2))
        recourse = Recourse(card, LOAN, cost=str(rng.choice(["l1", "l2"])), wanted=wanted)
        person = LOAN.decode(ROWS[rng.integers(len(ROWS))][None]).iloc[0]
        own = LOAN.reach(person).own
        costs = np.array([recourse.cost.between(LOAN.features, own, row) for row in ROWS])
        yes = card.confidence_at(card.cells_of(ROWS))
        sure = yes if wanted else 1 - yes
        level = float(np.quantile(sure, rng.uniform(0.5, 1.0)))  # so that something reaches it
        for target, met in ((level, sure >= level - 1e-9), (min(sure.max() + 0.01, 0.999), None)):
            result = recourse.find(person, target)
            (status,) = result.status.values()
            seen.add(status)
            if met is None:
                assert status is Status.INFEASIBLE
            else:
                assert result.options[0].cost == pytest.approx(costs[met].min(), abs=1e-12)
        assert recourse.reachable(person).confidence == pytest.approx(sure.max(), abs=1e-12)
        stairs = recourse.frontier(person)
        best = [sure[costs <= cost + 1e-12].max() for cost in stairs["cost"]]
        assert stairs["confidence"].to_numpy() == pytest.approx(np.array(best), abs=1e-12)
        assert stairs["confidence"].iloc[-1] == pytest.approx(sure.max(), abs=1e-12)
    assert {Status.OPTIMAL, Status.INFEASIBLE} <= seen
