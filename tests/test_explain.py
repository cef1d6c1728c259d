"""Laws of explanations: shares add up, agree with Shapley's value, and fragility with chance."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import reference
from test_exact import random_machine
from test_search import machine
from trust_recourse import PTMClassifier, Recourse, Schema, Target, TMClassifier, haberman
from trust_recourse.explain import NAMED, _by_feature, explain, places, split

law = settings(max_examples=60)
LINKS = st.sampled_from(["margin", "vote"])
SEEDS = st.integers(0, 10**6)


def two_rows(seed, **settings):
    """A machine with some inclusions of 0 and of 1, and the cells of two of its rows."""
    model, X = random_machine(seed, features=3, **settings)
    rows = X[np.random.default_rng(seed).choice(len(X), 2, replace=False)]
    return model, rows, model.cells_of(model.schema_.encode(rows))


def plain_slopes(model, q):
    """∂M/∂q_j by firing clause j and by silencing it; M is linear in q_j."""
    ends = np.repeat(q[None, None], 2, axis=0).repeat(len(q), axis=1)
    ends[0, range(len(q)), range(len(q))], ends[1, range(len(q)), range(len(q))] = 0.0, 1.0
    low, high = (model.confidence_from(part) for part in ends)
    return high - low


@given(seed=SEEDS, link=LINKS, n_clauses=st.sampled_from([2, 4, 10]), T=st.sampled_from([1, 2.5]))
def test_slopes_are_what_firing_a_clause_gains(seed, link, n_clauses, T):
    model, _ = random_machine(seed, n_clauses=n_clauses, link=link, T=T)
    q = np.random.default_rng(seed).random((3, n_clauses))
    slopes = model.clauses().slopes(q)
    assert np.abs(slopes).max() > 0
    for row, expected in zip(q, slopes, strict=True):
        np.testing.assert_allclose(plain_slopes(model, row), expected, atol=1e-12)


@law
@given(seed=SEEDS, link=LINKS)
def test_shares_are_the_aumann_shapley_integral_and_the_shapley_value(seed, link):
    model, _, (a, b) = two_rows(seed, n_clauses=4, link=link, T=1)
    shares = split(model, a, b).clauses
    qa, qb = model.firing_at(np.stack([a, b]))
    # a fine midpoint rule along the path
    t = (np.arange(400) + 0.5) / 400
    path = np.mean([plain_slopes(model, qa + s * (qb - qa)) for s in t], axis=0) * (qb - qa)
    np.testing.assert_allclose(shares, path, atol=1e-5)
    # the average over orders in which the clauses move, one by one
    value = np.zeros(4)
    for order in itertools.permutations(range(4)):
        q, before = qa.copy(), float(model.confidence_from(qa[None])[0])
        for j in order:
            q[j] = qb[j]
            after = float(model.confidence_from(q[None])[0])
            value[j] += (after - before) / math.factorial(4)
            before = after
    np.testing.assert_allclose(shares, value, atol=1e-12)


@law
@given(
    seed=SEEDS,
    link=LINKS,
    calibration=st.sampled_from([None, "sigmoid", "isotonic"]),
    wanted=st.sampled_from([0, 1]),
)
def test_shares_add_up_to_the_change_and_turn_round_with_it(seed, link, calibration, wanted):
    model, X, _ = machine(seed, link, calibration)
    recourse = Recourse(model, wanted=wanted)
    rows = X.sample(2, random_state=seed % 1000)
    asked = places(recourse, [(str(i), x, None, 0.0) for i, (_, x) in enumerate(rows.iterrows())])
    a, b = asked.all
    there, back = explain(asked, a, b), explain(asked, b, a)
    p = model.predict_proba(rows)[:, wanted]
    assert (a.confidence, b.confidence) == tuple(p)
    moved = abs(float(np.diff(model.raw_confidence(rows))[0])) >= 1e-12
    if moved or calibration is None:
        assert abs(there.shares.sum() - (p[1] - p[0])) < 1e-9
    else:
        assert "does not move" in there.note
    assert ("raw confidence" in there.note) == (calibration is not None)
    np.testing.assert_allclose(there.shares, -back.shares, atol=1e-12)
    np.testing.assert_allclose(there.by_feature.sum(axis=0), there.shares, atol=1e-9)
    assert (there.shares[a.firing == b.firing] == 0).all()
    still = a.cells == b.cells
    np.testing.assert_allclose(there.by_feature[still], 0, atol=1e-15)
    told = there.changes()
    assert told.share.sum() == pytest.approx(there.shares.sum(), abs=1e-9)


def test_most_random_pairs_move():
    """The law above judges something: nearly all of its machines tell the two rows apart."""
    moved = 0
    for seed in range(40):
        model, rows, _ = two_rows(seed, link="margin")
        moved += abs(np.diff(model.raw_confidence(rows))[0]) > 1e-6
    assert moved > 25


@law
@given(seed=SEEDS)
def test_a_factor_of_nothing_is_shared_by_the_features_that_have_it(seed):
    """The limit of the logarithmic mean as a factor falls to 0: computed with a tiny one."""
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 4, 5)) * 0.9 + 0.1
    a[rng.random(a.shape) < 0.2] = 0.0
    b[rng.random(b.shape) < 0.2] = 0.0
    exact = _by_feature(a, b)
    np.testing.assert_allclose(exact.sum(axis=0), b.prod(axis=0) - a.prod(axis=0), atol=1e-12)
    tiny = [np.where(part == 0, 1e-250, part) for part in (a, b)]
    logs = np.log(tiny[1]) - np.log(tiny[0])
    total = logs.sum(axis=0)
    near = (b.prod(axis=0) - a.prod(axis=0)) / np.where(total == 0, 1, total) * logs
    np.testing.assert_allclose(exact, near, atol=0.02)


def patient_result(levels=(0.7, 0.85), **settings):
    X, y = haberman()
    model = PTMClassifier(random_state=0, **settings).fit(X, y)
    schema = Schema.infer(X).lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema)
    return recourse.find({"age": 56, "year": 65, "nodes": 9}, confidence=levels)


def test_the_papers_patient():
    result = patient_result()
    assert result.confidence >= 0.5  # in most fits the model does not refuse him
    cheap, dear = result.options
    assert set(cheap.changes) == set(dear.changes) == {"nodes"}
    assert dear.x["nodes"] < cheap.x["nodes"] < 9
    model = result.recourse.model
    rules = model.rules()
    strongest = rules[rules.votes_for == 1].dominance.idxmax()
    assert "nodes ≤" in rules.rule[strongest]
    # the cheaper option rests on rules that may tighten, named by literal and probability
    tightenings = result.explain(0).tightenings
    names = list(model.literals_)
    for each in tightenings:
        k = names.index(each.literal)
        assert each.probability == model.inclusion_[each.clause, k] >= NAMED
    telling = [each for each in tightenings if "option 1" in each.spares]
    assert telling
    assert all("option 0" in each.breaks for each in telling)
    assert [each.probability for each in tightenings] == sorted(
        (each.probability for each in tightenings), reverse=True
    )
    text = repr(result.explain(0))
    assert f"with probability {telling[0].probability:.3f}" in text
    assert f"may also ask for {telling[0].literal}" in text
    sentence = result.compare(0, 1).sentence
    assert f"confidence ({cheap.confidence:.3f} → {dear.confidence:.3f})" in sentence


@settings(max_examples=25)
@given(seed=SEEDS, link=LINKS)
def test_fragility_agrees_with_drawing_the_automata(seed, link):
    model, X = random_machine(seed, n_clauses=4, features=2, link=link, T=1)
    model.dominance_ = np.zeros(4)
    recourse = Recourse(model)
    points = [("factual", pd.Series(X[0], model.schema_.names), None, 0.0)]
    points += [
        (f"option {i}", pd.Series(X[i], model.schema_.names), Target(0.5), 0.0) for i in (1, 2, 3)
    ]
    asked = places(recourse, points)
    rng = np.random.default_rng(seed)
    drawn = rng.random((4000, *model.inclusion_.shape)) < model.inclusion_
    for place in asked.all:
        truth = reference.literal_truth(
            place.x.to_numpy(float), model.thresholds_, [None] * 2, [False] * 2
        )
        np.testing.assert_array_equal(place.true, truth)
        silenced = (drawn & ~truth).any(axis=2).mean(axis=0)
        np.testing.assert_allclose(place.tightens, silenced, atol=0.05)
    for place in asked.all[1:]:
        for each in asked.tightenings(place, fragile=1e-9):
            k = list(model.literals_).index(each.literal)
            forced = drawn.copy()
            forced[:, each.clause, k] = True  # the literal belongs to the clause
            assert place.name in each.breaks
            for name, then in each.breaks.items():
                other = next(p for p in asked.all if p.name == name)
                fires = forced.any(axis=2) & ~(forced & ~other.true).any(axis=2)
                assert not fires[:, each.clause].any()
                votes = fires @ model.polarity_
                confidence = model._link_values()[votes + 2].mean()
                assert then == pytest.approx(confidence, abs=0.05)
                assert (name in each.misses) == (then < 0.5)
            for name in each.spares:
                other = next(p for p in asked.all if p.name == name)
                assert other.true[k]
                assert other.holds[each.clause]


def test_some_random_points_are_fragile():
    found = 0
    for seed in range(10):
        model, X = random_machine(seed, n_clauses=4, features=2)
        points = [(str(i), pd.Series(X[i], model.schema_.names), None, 0.0) for i in range(4)]
        asked = places(Recourse(model), points)
        found += sum(len(asked.tightenings(place)) for place in asked.all)
    assert found > 10


def test_what_a_clause_states_is_where_it_fires_at_half_its_best():
    model, X, _ = machine(3)
    clauses, cells = model.clauses(), model.cells_of(model.schema_.encode(X))
    holds = clauses.hold(cells)
    factors = clauses.factors_at(cells)
    first, sizes = model._literals.first_cell, model._literals.n_cells
    best = np.array(
        [clauses.factors[a : a + n].max(axis=0) for a, n in zip(first, sizes, strict=True)]
    )
    expected = (factors >= 0.5 * best).all(axis=1) & ~clauses.weak
    np.testing.assert_array_equal(holds, expected)
    assert 0 < holds.mean() < 1
    rules = model.rules()
    assert list(rules.rule == "") == list(rules.weak) == list(clauses.weak)
    y = np.arange(len(X)) % 2
    fresh = PTMClassifier(6, 4, T=2, epochs=2, thresholds=4, random_state=0).fit(X, y)
    q = fresh.clause_proba(X)
    np.testing.assert_allclose(
        fresh.rules().dominance, q[y == 1].mean(axis=0) - q[y == 0].mean(axis=0), atol=1e-12
    )
    one_class = fresh.partial_fit(X[y == 1], y[y == 1])
    assert one_class.rules().dominance.isna().all()


def test_the_table_of_clauses():
    result = patient_result()
    table = result.clauses()
    people = pd.DataFrame([result.factual, *(option.x for option in result.options)]).astype(int)
    q = result.recourse.model.clause_proba(people)
    np.testing.assert_allclose(table.iloc[:-1].to_numpy(), q.T, atol=1e-12)
    np.testing.assert_allclose(table.loc["none fires"], np.prod(1 - q, axis=1), atol=1e-12)
    assert list(table.columns) == ["factual", "option 0", "option 1"]


def test_explanations_have_every_form():
    result = patient_result((0.7, 0.8), calibration="isotonic")
    for value in (result.explain(1), result.explain(1, since=0), result.compare(0, 1)):
        told = json.loads(value.to_json())
        assert json.loads(json.dumps(value.to_dict())) == told
        assert isinstance(value.to_frame(), pd.DataFrame)
        assert "<table" in value._repr_html_()
        assert "scaled to the change of the calibrated one" in repr(value)
    told = result.explain(1).to_dict()
    shares = [each["share"] for each in told["clauses"]]
    assert sum(shares) == pytest.approx(told["change"], abs=1e-9)
    literals = result.explain(1).literals()
    assert (literals.probability >= NAMED).all()
    le = literals[literals.literal.str.startswith("nodes ≤")]
    assert ((le.slack >= 0) == le.after).all()
    gt = literals[literals.literal.str.startswith("age >")]
    assert len(gt)
    assert ((gt.slack > 0) == gt.after).all()
    assert set(result.explain(1).literals(clause=2).clause) <= {2}


def test_what_cannot_be_explained_is_said():
    result = patient_result()
    with pytest.raises(IndexError, match="option 7: there are 2"):
        result.explain(7)
    with pytest.raises(IndexError, match="clause 40: there are 20"):
        result.explain(0).literals(clause=40)
    with pytest.raises(ValueError, match="fragile=0"):
        result.explain(0, fragile=0)
    X, y = haberman()
    other = Recourse(LogisticRegression(max_iter=500).fit(X, y), Schema.infer(X))
    found = other.find(X.iloc[0], confidence=0.5, engine="tpe", n_trials=20)
    with pytest.raises(TypeError, match="PTMClassifier or TMClassifier; this model is Logistic"):
        found.clauses()


def test_a_tsetlin_machine_is_explained_too():
    X, y = haberman()
    model = TMClassifier(epochs=30, random_state=0).fit(X, y)
    recourse = Recourse(model)
    refused = X[recourse.confidences(recourse.schema.encode(X)) < 0.5]
    assert len(refused)
    result = recourse.find(refused.iloc[0], confidence=0.5)
    why = result.explain()
    assert abs(why.shares.sum() - why.change) < 1e-9
    np.testing.assert_allclose(why.by_feature.sum(axis=0), why.shares, atol=1e-12)


def test_the_sentence_says_what_the_dearer_option_buys_and_gives_up():
    compared = patient_result().compare(0, 1)
    cheap, dear = compared.measured
    worse = compared.measured[1]._replace(
        confidence=cheap.confidence - 0.1,
        radius=cheap.radius,
        noise=cheap.noise,
        fragile=dear.carrying,
        carrying=dear.carrying,
    )
    cheap = cheap._replace(fragile=cheap.carrying)
    poor = replace(compared, measured=(cheap, worse))
    assert "better in nothing measured here and gives up confidence" in poor.sentence
    assert "not worth it" in poor.sentence
    mixed = replace(compared, measured=(cheap, worse._replace(radius=9.0)))
    assert "it buys certified radius" in mixed.sentence
    assert "but gives up confidence" in mixed.sentence
    swapped = replace(compared, measured=(dear, cheap))
    assert swapped.sentence.startswith("option 0 costs")
    same = replace(compared, measured=(cheap, cheap))
    assert "costs the same" in same.sentence
