"""Laws of GrowingSpheres on any model.

What every engine by trial owes is judged in test_bayes.py and test_recourse.py, spheres included.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lending import LOANS, fitted, loans
from trust_recourse import Recourse, Schema
from trust_recourse.question import Problem, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Feature
from trust_recourse.search.blackbox.spheres import LAYER, spheres
from worlds import CREDIT, a_person, question

few = settings(max_examples=15)


@pytest.fixture(scope="module")
def lender():
    X, y = loans(np.random.default_rng(0))
    return fitted(X, y), X


# ---------------------------------------------------------------- GrowingSpheres


@few
@given(seed=st.integers(0, 10**6))
def test_the_spheres_stop_at_the_first_layer_with_a_hit(seed):
    """Without a lattice, bounds or relations a point's distance tells its layer."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(int(rng.integers(1, 5)))]
    schema = Schema(tuple(Feature(n, lower=-90, upper=90, scale=10.0) for n in names))
    action_set = schema.action_set(dict.fromkeys(names, 0.0))
    weights = rng.normal(size=len(names))
    weights /= np.linalg.norm(weights)
    least = float(rng.uniform(0.1, 1.5))  # how far the half-space of yes is, in scaled units
    confidence = lambda codes: np.where(codes @ weights / 10 >= least, 0.9, 0.1)  # noqa: E731
    problem = Problem(action_set, Target(0.5), Cost.named("l2"))
    points = spheres(problem, confidence, n_trials=300, random_state=seed)
    layer = [math.floor(point.cost / LAYER) for point in points[1:]]
    assert layer == sorted(layer)
    assert set(range(layer[-1] + 1)) == set(layer)
    hits = [n for n, point in zip(layer, points[1:], strict=True) if point.confidence > 0.5]
    assert hits
    assert set(hits) == {layer[-1]}
    assert min(p.cost for p in points if p.confidence > 0.5) >= least
    assert layer[-1] >= math.floor(least / LAYER)
    assert len(points) == 1 + 300 * (layer[-1] + 1)


def test_the_spheres_end_when_everything_is_inside():
    problem, *_ = question(5, relations=False)
    asked = []

    def never(codes):
        asked.append(len(codes))
        return np.full(len(codes), 0.0)

    points = spheres(problem, never, n_trials=40)
    assert len(points) == sum(asked)
    assert len(asked) > 2
    rows = np.array([point.codes for point in points])
    for actions, column in zip(problem.action_set.actions, rows.T, strict=True):
        assert (column.min(), column.max()) == actions.extent(-math.inf, math.inf)


def test_categories_and_what_is_missing_are_drawn_by_chance():
    person = a_person(np.random.default_rng(0)) | {
        "home": "own", "job": False, "years": -1, "grade": "mid", "income": 39.0, "debt": 1.0,
    }  # fmt: skip
    schema = Schema(CREDIT.features)
    action_set = schema.action_set(person)
    near = Problem(action_set, Target(0.01), Cost.named("l1"))
    points = spheres(near, lambda codes: np.full(len(codes), 0.5), n_trials=400)
    rows = np.array([point.codes for point in points[1:]])
    at = schema.position
    assert set(rows[:, at("home")]) == {0.0, 1.0, 2.0}
    assert set(rows[:, at("job")]) == {0.0, 1.0}
    years = rows[:, at("years")]
    assert np.isnan(years).any()
    assert {0.0, 9.0} <= set(years)
    assert np.ptp(rows[:, at("income")]) <= 40 * 2 * LAYER  # the first layer


def test_spheres_ask_any_model(lender):
    model, X = lender
    recourse = Recourse(lambda table: model.predict_proba(table)[:, 1], LOANS, "l2")
    reached = 0
    for _, x in X[model.predict_proba(X)[:, 1] < 0.3].head(5).iterrows():
        result = recourse.find(x, 0.6, engine="spheres", n_trials=300)
        for option in result.options:
            assert recourse.confidence(option.x) >= 0.6 - 1e-9
            assert LOANS.action_set(x).allows(option.x)
            reached += 1
    assert reached == 5
