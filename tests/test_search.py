"""Laws of the exact engine: it is judged by enumerating every row a person may become."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trust_recourse import PTMClassifier, Recourse, Schema, TMClassifier
from trust_recourse.problem import Cost, Status, Target
from trust_recourse.search.exact import ExactSearch

law = settings(max_examples=100)


def machine(seed, link="margin", calibration=None):
    """A machine of arbitrary rules on a number, an integer, a category and a boolean."""
    rng = np.random.default_rng(seed)
    n = 60
    X = pd.DataFrame(
        {
            "rate": rng.integers(0, 6, n) / 10,
            "count": rng.integers(0, 5, n),
            "home": rng.choice(["own", "rent", "free"], n),
            "job": rng.random(n) < 0.5,
        }
    )
    y = np.arange(n) % 2
    model = PTMClassifier(
        6, 4, T=2, epochs=2, thresholds=4, link=link, calibration=calibration, random_state=0
    ).fit(X, y)
    model._conclude(rng.random(model.inclusion_.shape) ** 4)
    return model, X, rng


def person_schema(model, rng, relations):
    schema = model.schema_.update("rate", direction=rng.choice(["increase", "decrease", None]))
    schema = schema.update("count", weight=float(rng.choice([0.5, 1, 3])))
    if rng.random() < 0.3:
        schema = schema.update("home", mutable=False)
    if rng.random() < 0.3:
        schema = schema.update("count", max_change=2)
    if relations:
        schema = schema.relate("job changes => count rises by 1", "rate <= count")
    return schema


def enumerated(recourse, x):
    """Every row this person may become, its cost and its confidence, by brute force."""
    schema = recourse.schema
    reach = schema.reach(x)
    rows = itertools.product(*(moves.values() for moves in reach.moves))
    codes = np.array([row for row in rows if reach.allows(row)])
    p = recourse.model.predict_proba(schema.decode(codes))[:, recourse._wanted]
    cost = [recourse.cost.between(schema.features, reach.own, row) for row in codes]
    return codes, np.array(cost), p


@law
@given(
    seed=st.integers(0, 10**6),
    cost=st.sampled_from(["l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5}]),
    mode=st.sampled_from(["at_least", "band"]),
    link=st.sampled_from(["margin", "vote"]),
    calibration=st.sampled_from([None, "sigmoid"]),
    wanted=st.sampled_from([0, 1]),
    relations=st.booleans(),
    rank=st.floats(0, 1),
)
def test_exact_equals_enumeration(seed, cost, mode, link, calibration, wanted, relations, rank):
    model, X, rng = machine(seed, link, calibration)
    schema = person_schema(model, rng, relations)
    recourse = Recourse(model, schema, cost, wanted=wanted)
    x = X.iloc[int(rng.integers(len(X)))]
    codes, costs, p = enumerated(recourse, x)
    assert len(codes) >= 1
    # the confidence of a row known to be within reach, so that there is something to judge
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    result = recourse.find(x, level, mode=mode, tolerance=0.02)
    target = Target(level, mode, 0.02)
    meets = np.array([target.met(c) for c in p])
    if not meets.any():
        assert result.options == []
        assert result.status[target] is Status.INFEASIBLE
        return
    option = result.options[0]
    assert option.cost == pytest.approx(costs[meets].min(), abs=1e-9)
    assert target.met(option.confidence)
    assert option.confidence == pytest.approx(recourse.confidence(option.x), abs=1e-12)
    assert schema.reach(x).allows(schema.encode(option.x)[0])
    assert option.lower_bound == pytest.approx(option.cost, abs=1e-9)
    assert set(option.changes) == {n for n in schema.names if option.x[n] != x[n]}


@law
@given(seed=st.integers(0, 10**6), relations=st.booleans(), wanted=st.sampled_from([0, 1]))
def test_the_furthest_reach_and_the_frontier(seed, relations, wanted):
    model, X, rng = machine(seed)
    recourse = Recourse(model, person_schema(model, rng, relations), "l1", wanted=wanted)
    x = X.iloc[0]
    _, costs, p = enumerated(recourse, x)
    assert recourse.reachable(x).confidence == pytest.approx(p.max(), abs=1e-12)
    stairs = recourse.frontier(x)
    assert (np.diff(stairs.cost) > 0).all()
    assert (np.diff(stairs.confidence) > 0).all()
    assert stairs.confidence.iloc[-1] == pytest.approx(p.max(), abs=1e-12)
    for step in stairs.itertuples():
        assert step.cost == pytest.approx(costs[p >= step.confidence - 1e-12].min(), abs=1e-9)
    best = {round(c, 9): p[costs <= c + 1e-9].max() for c in stairs.cost}
    np.testing.assert_allclose(stairs.confidence, list(best.values()), atol=1e-12)


@law
@given(seed=st.integers(0, 10**6))
def test_bounds_hold_on_random_boxes(seed):
    model, X, rng = machine(seed)
    codes = model.schema_.encode(X)
    cells = [rng.permutation(n).astype(np.int32) for n in model._literals.n_cells]
    ends = np.sort([rng.integers(0, len(c), 2) for c in cells], axis=1)
    (low,), (high,), loose = model.boxes(cells).bounds(ends[:, 0][None], ends[:, 1][None])
    box = [c[a : b + 1] for c, (a, b) in zip(cells, ends, strict=True)]
    inside = model.confidence_at(np.array(list(itertools.product(*box)), np.int32))
    assert low <= inside.min()
    assert inside.max() <= high
    assert ((loose[0] > 0) <= (ends[:, 0] < ends[:, 1])).all()
    if inside.size == 1:
        assert high - low < 1e-11
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.confidence_at(model.cells_of(codes)), p)


def test_at_least_one_half_is_the_cheapest_change_of_the_decision(model, patients):
    X, _ = patients
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema)
    refused = X[model.predict(X) == 0].head(5)
    assert len(refused) == 5
    for _, x in refused.iterrows():
        option = recourse.find(x, 0.5).options[0]
        assert model.predict(option.x.to_frame().T.astype(int))[0] == 1
        fewer = [{**x, "nodes": n} for n in range(int(option.x.nodes) + 1, int(x.nodes))]
        assert not fewer or (model.predict(pd.DataFrame(fewer)) == 0).all()


def test_options_differ_in_what_changes_and_come_in_order_of_cost():
    model, X, _ = machine(3)
    recourse = Recourse(model, cost="l1")
    low = X.iloc[[int(np.argmin(model.predict_proba(X)[:, 1]))]].iloc[0]
    goal = (recourse.confidence(low) + recourse.reachable(low).confidence) / 2
    options = recourse.find(low, goal, n_options=3).options
    assert len(options) == 3
    assert len({frozenset(o.changes) for o in options}) == 3
    assert [o.cost for o in options] == sorted(o.cost for o in options)


def test_limits_are_honest():
    model, X, _ = machine(3)
    recourse = Recourse(model)
    low = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    goal = recourse.reachable(low).confidence
    result = recourse.find(low, goal, node_limit=2)
    assert result.options == []
    assert next(iter(result.status.values())) is Status.NOT_FOUND
    assert recourse.find(low, goal).options[0].status is Status.OPTIMAL


def test_words_tables_and_the_ordinary_machine(patients):
    X, y = patients
    model = TMClassifier(epochs=20, random_state=0).fit(X, y)
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema, cost="l1")
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    result = recourse.find(x, [0.5, 0.6])
    assert result.refused
    text = repr(result)
    assert text.startswith("refused: confidence 0.")
    assert "nodes " in text
    assert "→" in text
    assert result._repr_html_().startswith("<pre>")
    assert list(result.to_frame().columns[:5]) == [
        "target",
        "status",
        "cost",
        "confidence",
        "changes",
    ]
    many = recourse.find_many(X.head(6), 0.6)
    assert list(many.index) == list(X.head(6).index)
    assert set(many.status) <= {"optimal", "already_met", "infeasible"}


@pytest.mark.parametrize("given_", [0, 1, -0.1, 1.5, float("nan"), "high"])
def test_a_confidence_lies_between_0_and_1(given_):
    with pytest.raises(ValueError, match="expected a number between 0 and 1"):
        Target(given_)


def test_bad_questions(model, patients):
    X, _ = patients
    with pytest.raises(ValueError, match="mode='about'"):
        Target(0.5, "about")
    with pytest.raises(ValueError, match="tolerance=-1"):
        Target(0.5, "band", -1)
    with pytest.raises(ValueError, match="cost='l3'"):
        Cost.named("l3")
    with pytest.raises(ValueError, match="not all 0"):
        Cost(0, 0, 0)
    with pytest.raises(ValueError, match=r"wanted=9; the model's classes are \[0, 1\]|classes"):
        Recourse(model, wanted=9)
    with pytest.raises(TypeError, match="without .*boxes"):
        Recourse(object())
    with pytest.raises(ValueError, match="decision_threshold=2"):
        Recourse(model, decision_threshold=2)
    with pytest.raises(ValueError, match="feature 'age', kind: given 'number'"):
        Recourse(model, Schema.infer(X.astype(float)))
    with pytest.raises(ValueError, match="unknown 'knots'"):
        Recourse(model).find({"age": 50, "year": 60, "knots": 3})
    with pytest.raises(ValueError, match="n_options=0"):
        Recourse(model).find(X.iloc[0], n_options=0)
    nothing = Recourse(model, model.schema_.lock("age", "year", "nodes"))
    person = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    assert next(iter(nothing.find(person, 0.9).status.values())) is Status.INFEASIBLE
    assert nothing.reachable(person).changes == {}


def test_a_related_feature_needs_values_that_can_be_listed(model, patients):
    X, _ = patients
    schema = model.schema_.update("age", upper=None, lower=None).relate("nodes <= age")
    with pytest.raises(ValueError, match="feature 'age' has a relation, but its values cannot be"):
        ExactSearch(model, schema.reach(X.iloc[0]), Cost.named("l1"))


@law
@given(
    seed=st.integers(0, 10**6), wanted=st.sampled_from([0, 1]), power=st.sampled_from([1, 4, 20])
)
def test_the_relaxation_holds_at_every_point_that_reaches_the_confidence(seed, wanted, power):
    model, _, rng = machine(seed)
    inclusion = rng.random(model.inclusion_.shape) ** power
    inclusion[rng.random(inclusion.shape) < 0.1] = 1.0  # factors of 0, logarithms of −∞
    model._conclude(inclusion)
    cells = [rng.permutation(n).astype(np.int32) for n in model._literals.n_cells]
    ends = np.sort([rng.integers(0, len(c), 2) for c in cells], axis=1)
    box = [range(a, b + 1) for a, b in ends]
    points = np.array(list(itertools.product(*box)))
    inside = np.column_stack([c[points[:, f]] for f, c in enumerate(cells)])
    p = model.confidence_at(inside)
    p = p if wanted == 1 else 1 - p
    level = float(np.quantile(p, 0.7, method="nearest"))
    (needed,), (g,) = model.boxes(cells).relaxation(
        ends[:, 0][None], ends[:, 1][None], wanted, level
    )
    offset = np.cumsum([0, *map(len, cells)])[:-1]
    sums = g[offset + points].sum(axis=1)
    assert (p >= level).any()
    assert (sums[p >= level] >= needed - 1e-9 * (1 + abs(needed))).all()


def test_other_links_have_no_relaxation_and_need_none():
    model, _, _ = machine(0, link="vote")
    cells = [np.arange(n, dtype=np.int32) for n in model._literals.n_cells]
    ends = np.array([[0, len(c) - 1] for c in cells])
    assert model.boxes(cells).relaxation(ends[:, 0][None], ends[:, 1][None], 1, 0.5) is None


def test_prices_stay_sound_however_long_the_search():
    """Boxes that cannot reach the target, and boxes that need nothing, thousands of times over."""
    model, X, _ = machine(3)
    search = ExactSearch(model, model.schema_.reach(X.iloc[0]), Cost.named("l1"))
    first, last = (ends[None] for ends in search.whole)
    honest = search._relaxed(first, last, 0.3)
    for low in [0.999] * 400 + [0.001] * 400:
        search._relaxed(first, last, low)
        assert 0 < search.price < np.inf
    later = search._relaxed(first, last, 0.3)
    assert not np.isnan(later).any()
    assert (honest < np.inf).all() == (later < np.inf).all()
