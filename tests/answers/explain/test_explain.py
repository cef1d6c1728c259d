"""Laws of explanations: shares add up, agree with Shapley's value, and fragility with chance."""

from __future__ import annotations

import itertools
import json
import math
from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

import reference
import worlds
from trust_recourse import Question, Recourse, Schema, Target, TMClassifier, haberman
from trust_recourse.answers.explain import NAMED, Shares, explain, places, split
from trust_recourse.io.wording import distance, floored
from trust_recourse.models.log_mean import by_feature
from trust_recourse.models.tsetlin.calibration import Calibrator
from worlds import calibrate_by, conclude, confidence_from, machine, paper_machine, random_machine

law = settings(max_examples=60)
LINKS = st.sampled_from(worlds.LINKS)
SEEDS = st.integers(0, 10**6)


def scaled(why):
    """The shares of a change in calibrated confidence."""
    return Shares(*(each * why.factor for each in why.raw))


def two_rows(seed, **settings):
    """A machine with some inclusions of 0 and of 1, and the cells of two of its rows."""
    model, X = random_machine(seed, features=3, **settings)
    rows = X[np.random.default_rng(seed).choice(len(X), 2, replace=False)]
    return model, rows, model.machine_.grid.cells(model.schema_.encode(rows))


def plain_slopes(model, q):
    """∂M/∂q_j by firing clause j and by silencing it, where M is linear in q_j; else as it is."""
    if model.link == "logistic":
        signed = model.polarity_ * model.weights_
        p = reference.logistic(model.intercept_ + signed @ q)
        return p * (1 - p) * signed
    ends = np.repeat(q[None, None], 2, axis=0).repeat(len(q), axis=1)
    ends[0, range(len(q)), range(len(q))], ends[1, range(len(q)), range(len(q))] = 0.0, 1.0
    low, high = (confidence_from(model, part) for part in ends)
    return high - low


@given(seed=SEEDS, link=LINKS, n_clauses=st.sampled_from([2, 4, 10]), T=st.sampled_from([1, 2.5]))
def test_slopes_are_what_firing_a_clause_gains(seed, link, n_clauses, T):
    model, _ = random_machine(seed, n_clauses=n_clauses, link=link, T=T)
    q = np.random.default_rng(seed).random((3, n_clauses))
    slopes = model.clauses().link.slopes(q)
    assert np.abs(slopes).max() > 0
    for row, expected in zip(q, slopes, strict=True):
        np.testing.assert_allclose(plain_slopes(model, row), expected, atol=1e-12)


@law
@given(seed=SEEDS, link=LINKS)
def test_shares_are_the_aumann_shapley_integral_and_the_shapley_value(seed, link):
    model, _, (a, b) = two_rows(seed, n_clauses=4, link=link, T=1)
    shares = split(model, a, b).terms
    qa, qb = model.machine_.firing_at(np.stack([a, b]))
    # a fine midpoint rule along the path
    t = (np.arange(400) + 0.5) / 400
    path = np.mean([plain_slopes(model, qa + s * (qb - qa)) for s in t], axis=0) * (qb - qa)
    np.testing.assert_allclose(shares, path, atol=1e-5)
    assert shares.sum() == pytest.approx(
        float(np.diff(confidence_from(model, np.stack([qa, qb])))[0])
    )
    if link == "logistic":  # not multilinear, so orders of single moves tell something else
        return
    # the average over orders in which the clauses move, one by one
    value = np.zeros(4)
    for order in itertools.permutations(range(4)):
        q, before = qa.copy(), float(confidence_from(model, qa[None])[0])
        for j in order:
            q[j] = qb[j]
            after = float(confidence_from(model, q[None])[0])
            value[j] += (after - before) / math.factorial(4)
            before = after
    np.testing.assert_allclose(shares, value, atol=1e-12)


@cache
def learnt(calibration, link):
    """A machine that has learnt something, so that its calibrator rises."""
    X, y = haberman()
    model = paper_machine(epochs=4, calibration=calibration, link=link, random_state=3)
    return model.fit(X, y), X


def explained_pair(calibration, link, wanted, rows):
    model, X = learnt(calibration, link)
    people = X.iloc[list(rows)]
    recourse = Recourse(model, wanted=wanted)
    codes = recourse.schema.encode(people)
    rows = zip(people.iterrows(), codes, strict=True)
    points = [(str(i), x, own, None, 0.0) for i, ((_, x), own) in enumerate(rows)]
    asked = places(recourse, points)
    p = model.predict_proba(people)[:, wanted]
    assert (asked.all[0].confidence, asked.all[1].confidence) == tuple(p)
    return (
        explain(asked, *asked.all),
        explain(asked, *asked.all[::-1]),
        model.raw_confidence(people),
    )


@law
@given(
    rows=st.tuples(st.integers(0, 305), st.integers(0, 305)),
    link=LINKS,
    calibration=st.sampled_from([None, "sigmoid", "isotonic"]),
    wanted=st.sampled_from([0, 1]),
)
def test_shares_add_up_to_the_change_and_turn_round_with_it(rows, link, calibration, wanted):
    there, back, raw = explained_pair(calibration, link, wanted, rows)
    if abs(raw[1] - raw[0]) >= 1e-9:
        assert abs(scaled(there).terms.sum() - there.change) < 1e-9
    sign = 1 if wanted == 1 else -1
    assert abs(there.raw.terms.sum() - sign * (raw[1] - raw[0])) < 1e-9
    np.testing.assert_allclose(scaled(there).terms, -scaled(back).terms, atol=1e-9)
    np.testing.assert_allclose(scaled(there).features.sum(axis=1), scaled(there).terms, atol=1e-9)
    still = there.start.cells == there.end.cells
    np.testing.assert_allclose(scaled(there).features[:, still], 0, atol=1e-15)
    assert (scaled(there).terms[there.start.firing == there.end.firing] == 0).all()
    assert ("raw confidence" in there.note) == (calibration is not None)
    # what people are shown adds up too: to the change, or to the raw one, as the note says
    told = there.changes().share.sum()
    assert told == pytest.approx(there.shown.terms.sum(), abs=1e-9)
    is_raw = "which changes by" in there.note
    assert told == pytest.approx(sign * (raw[1] - raw[0]) if is_raw else there.change, abs=1e-9)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_the_calibrated_law_judges_pairs_that_move(calibration):
    moved = [
        abs(explained_pair(calibration, "margin", 1, (i, i + 1))[0].change) > 1e-6
        for i in range(0, 60, 2)
    ]
    assert sum(moved) > 10


def test_where_a_calibrator_jumps_people_see_raw_shares():
    model, X = learnt("isotonic", "margin")
    raw = model.raw_confidence(X)
    near = next(j for j in range(1, len(X)) if 1e-3 < abs(raw[j] - raw[0]) < 0.02)
    jumping = copy(model)
    low, high = sorted((raw[0], raw[near]))
    calibrate_by(jumping, Calibrator("isotonic", np.array([low, high]), np.array([0.1, 0.9])))
    points = [(str(j), X.iloc[j], *X.to_numpy(float)[[j]], None, 0.0) for j in (0, near)]
    asked = places(Recourse(jumping), points)
    there = explain(asked, *asked.all)
    assert "jumps" in there.note
    assert abs(scaled(there).terms.sum() - there.change) < 1e-9
    assert there.shown.terms.sum() == pytest.approx(raw[near] - raw[0], abs=1e-9)


def test_where_a_calibrator_is_flat_people_see_raw_shares():
    flat = 0
    for i in range(0, 300, 2):
        there, _, raw = explained_pair("isotonic", "margin", 1, (i, i + 1))
        moved = raw[1] - raw[0]
        if abs(moved) < 1e-9:
            continue
        slope = there.change / moved
        if slope == 0:
            flat += 1
            assert "plateau" in there.note
        else:
            assert "scaled to the change" in there.note
            continue
        np.testing.assert_array_equal(there.shown.terms, there.raw.terms)
        assert there.note in repr(there)
        assert there.note in there._repr_html_()
    assert flat > 0


@law
@given(seed=SEEDS, link=LINKS)
def test_a_clause_that_does_not_change_gets_nothing(seed, link):
    model, _, (a, b) = two_rows(seed, n_clauses=6, link=link, T=2)
    inclusion = model.inclusion_.copy()
    owners = model.machine_.literals.owners
    inclusion[0, np.isin(owners, np.flatnonzero(a != b))] = 0.0
    conclude(model, inclusion)
    shares = split(model, a, b)
    assert shares.terms[0] == 0
    np.testing.assert_array_equal(shares.features[0], 0)


@law
@given(seed=SEEDS, link=LINKS)
def test_feature_shares_are_the_integral_of_the_clauses_slope(seed, link):
    """Also of a clause whose features cancel, so that it fires as before."""
    model, _, (a, b) = two_rows(seed, n_clauses=4, link=link, T=1)
    clauses = model.clauses()
    fa, fb = clauses.factors_at(np.stack([a, b]))
    qa, qb = model.machine_.firing_at(np.stack([a, b]))
    t = (np.arange(400) + 0.5) / 400
    slope = np.mean([plain_slopes(model, qa + s * (qb - qa)) for s in t], axis=0)
    np.testing.assert_allclose(split(model, a, b).features.T, slope * by_feature(fa, fb), atol=1e-5)


def test_a_clause_whose_features_cancel_is_integrated_exactly():
    """Two clauses change, one stays by cancelling: its slope is then of the second degree."""
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 3)
    model = paper_machine(4, 4, thresholds="unique", epochs=1, link="vote", random_state=0)
    model.fit(X, np.arange(12) % 2)
    inclusion = np.zeros_like(model.inclusion_)  # columns x0 ≤ 0, x1 ≤ 0, x0 > 0, x1 > 0
    inclusion[0] = [0.5, 0.0, 0.0, 0.5]  # 0.5 at (0, 0) by x1, at (1, 1) by x0: it cancels
    inclusion[1] = [0.9, 0.0, 0.0, 0.0]
    inclusion[3] = [0.0, 0.0, 0.8, 0.0]
    inclusion[2] = [0.3, 0.3, 0.3, 0.3]
    conclude(model, inclusion)
    a, b = model.machine_.grid.cells(model.schema_.encode(X[:2]))
    qa, qb = model.machine_.firing_at(np.stack([a, b]))
    assert qa[0] == qb[0]
    assert (qa != qb).sum() == 2
    t = (np.arange(4000) + 0.5) / 4000
    slope = np.mean([plain_slopes(model, qa + s * (qb - qa)) for s in t], axis=0)
    fa, fb = model.clauses().factors_at(np.stack([a, b]))
    expected = slope * by_feature(fa, fb)
    assert np.abs(expected[:, 0]).max() > 0.05
    np.testing.assert_allclose(split(model, a, b).features.T, expected, atol=1e-6)


@law
@given(seed=SEEDS)
def test_a_factor_of_nothing_is_shared_by_the_features_that_have_it(seed):
    """The limit of the logarithmic mean as a factor falls to 0: computed with a tiny one."""
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 4, 5)) * 0.9 + 0.1
    a[rng.random(a.shape) < 0.2] = 0.0
    b[rng.random(b.shape) < 0.2] = 0.0
    exact = by_feature(a, b)
    np.testing.assert_allclose(exact.sum(axis=0), b.prod(axis=0) - a.prod(axis=0), atol=1e-12)
    tiny = [np.where(part == 0, 1e-250, part) for part in (a, b)]
    logs = np.log(tiny[1]) - np.log(tiny[0])
    total = logs.sum(axis=0)
    near = (b.prod(axis=0) - a.prod(axis=0)) / np.where(total == 0, 1, total) * logs
    np.testing.assert_allclose(exact, near, atol=0.02)


def patient_result(levels=(0.7, 0.85), **settings):
    X, y = haberman()
    model = paper_machine(random_state=0, **settings).fit(X, y)
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
    telling = [each for each in tightenings if "option 2" in each.spares]
    assert telling
    assert all("option 1" in each.breaks for each in telling)
    assert [each.probability for each in tightenings] == sorted(
        (each.probability for each in tightenings), reverse=True
    )
    text = repr(result.explain(0))
    assert f"{telling[0].literal} ({telling[0].probability:.3f})" in text
    assert f"{result.explain(0).end.tightens[telling[0].clause]:.3f} for any" in text
    assert f"with probability {telling[0].probability:.3f}" in telling[0].sentence
    sentence = result.compare(0, 1).sentence
    assert f"confidence ({floored(cheap.confidence)} → {floored(dear.confidence)})" in sentence


@settings(max_examples=25)
@given(seed=SEEDS, link=LINKS, wanted=st.sampled_from([0, 1]))
def test_fragility_agrees_with_drawing_the_automata(seed, link, wanted):
    model, X = random_machine(seed, n_clauses=4, features=2, link=link, T=1)
    recourse = Recourse(model, wanted=wanted)
    points = [("factual", pd.Series(X[0], model.schema_.names), X[0], None, 0.0)]
    points += [
        (f"option {i}", pd.Series(X[i], model.schema_.names), X[i], Target(0.5), 0.0)
        for i in (1, 2, 3)
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
        told = asked.tightenings(place, fragile=1e-9)
        votes_for = [1, 0, 1, 0]
        likely = [
            (j, k)
            for j in range(4)
            for k in range(len(place.true))
            if place.holds[j]
            and votes_for[j] == wanted
            and model.clauses().link.counts[j]
            and not place.true[k]
            and model.inclusion_[j, k] >= NAMED
        ]
        assert {(each.clause, model.literals_.index(each.literal)) for each in told} == set(likely)
        for line in (0.1, 0.6):
            some = [each for each in told if place.tightens[each.clause] >= line]
            assert asked.tightenings(place, fragile=line) == some
        for each in told:
            k = list(model.literals_).index(each.literal)
            forced = drawn.copy()
            forced[:, each.clause, k] = True  # the literal belongs to the clause
            assert place.name in each.breaks
            for name, then in each.breaks.items():
                other = next(p for p in asked.all if p.name == name)
                fires = forced.any(axis=2) & ~(forced & ~other.true).any(axis=2)
                assert not fires[:, each.clause].any()
                votes = fires @ model.polarity_
                if link == "logistic":
                    score = (fires @ (model.polarity_ * model.weights_)).mean()
                    confidence = reference.logistic(model.intercept_ + score)
                else:
                    confidence = model.link_values_[votes + 2].mean()
                confidence = confidence if wanted == 1 else 1 - confidence
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
        points = [(str(i), pd.Series(X[i], model.schema_.names), X[i], None, 0.0) for i in range(4)]
        asked = places(Recourse(model), points)
        found += sum(len(asked.tightenings(place)) for place in asked.all)
    assert found > 10


def test_what_a_clause_states_is_where_it_fires_at_half_its_best():
    model, X, _ = machine(3)
    clauses, cells = model.clauses(), model.machine_.grid.cells(model.schema_.encode(X))
    holds = clauses.hold(cells)
    factors = clauses.factors_at(cells)
    first, sizes = model.machine_.grid.first_cell, model.machine_.grid.sizes
    best = np.array(
        [clauses.factors[a : a + n].max(axis=0) for a, n in zip(first, sizes, strict=True)]
    )
    expected = (factors >= 0.5 * best).all(axis=1) & ~clauses.weak
    np.testing.assert_array_equal(holds, expected)
    assert 0 < holds.mean() < 1
    rules = model.rules()
    assert list(rules.rule.str.startswith("weak")) == list(rules.weak) == list(clauses.weak)
    assert (rules.rule != "").all()
    y = np.arange(len(X)) % 2
    fresh = paper_machine(6, 4, T=2, epochs=2, thresholds=4, random_state=0).fit(X, y)
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
    assert list(table.columns) == ["as they are", "option 1", "option 2"]


def test_people_read_of_options_counted_from_one():
    result = patient_result()
    lines = str(result).splitlines()
    for at, option in enumerate(result.options):
        name = f"option {at + 1}"
        assert any(line.strip().startswith(f"{name}: {result.words(option)}") for line in lines)
        assert str(result.explain(at)).startswith(f"as they are → {name}:")
    assert result.compare(0, 1).names == ("option 1", "option 2")


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
    with pytest.raises(IndexError, match="option 7: this result has 2 options"):
        result.explain(7)
    with pytest.raises(ValueError, match="option 2 with itself"):
        result.compare(1, -1)
    with pytest.raises(IndexError, match="clause 40: there are 20"):
        result.explain(0).literals(clause=40)
    with pytest.raises(ValueError, match="fragile=0"):
        result.explain(0, fragile=0)
    X, y = haberman()
    other = Recourse(KNeighborsClassifier().fit(X, y), Schema.infer(X))
    found = other.find(X.iloc[0], confidence=0.5, engine="tpe", n_trials=20)
    with pytest.raises(TypeError, match="such as trees; this model is KNeighborsClassifier"):
        found.explain()


def test_a_tsetlin_machine_is_explained_too():
    X, y = haberman()
    model = TMClassifier(epochs=30, random_state=0).fit(X, y)
    recourse = Recourse(model)
    refused = X[recourse.confidences(recourse.schema.encode(X)) < 0.5]
    assert len(refused)
    result = recourse.find(refused.iloc[0], confidence=0.5)
    why = result.explain()
    assert abs(scaled(why).terms.sum() - why.change) < 1e-9
    np.testing.assert_allclose(scaled(why).features.sum(axis=1), scaled(why).terms, atol=1e-12)


def test_a_comparison_holds_what_the_result_says_of_each_option():
    result = patient_result()
    compared = result.compare(0, 1, sigma=0.02, fragile=0.25)
    places_ = result._places
    for i, (option, each) in enumerate(zip(result.options, compared.measured, strict=True)):
        assert (each.cost, each.confidence) == (option.cost, option.confidence)
        assert each.radius == result.radius(i)
        assert (each.noise, each.noise_low, each.noise_high) == result.robustness(i, 0.02)[:3]
        place = places_.all[i + 1]
        supports = result.recourse.model.polarity_ > 0
        assert each.carrying == tuple(np.flatnonzero(place.holds & supports))
        shaky = place.holds & supports & (place.tightens >= 0.25)
        assert each.fragile == tuple(np.flatnonzero(shaky))
        assert each.silence == place.silence
        words = compared.words()[f"option {i + 1}"]
        assert words["certified radius"] == distance(each.radius)
        assert words["nodes"] == f"9 → {option.x['nodes']}"
    assert compared.measured[0].fragile != result.compare(0, 1).measured[0].fragile
    table = result.explain(0, fragile=0.25).to_frame().sort_index()
    place = places_.all[1]
    supports = result.recourse.model.polarity_ > 0
    assert list(table.holds) == list(place.holds)
    assert list(table.carries) == list(place.holds & supports)
    assert list(table.fragile) == list(place.holds & supports & (place.tightens >= 0.25))
    endless = replace(
        compared, measured=tuple(m._replace(radius=math.inf) for m in compared.measured)
    )
    assert json.loads(endless.to_json())["options"]["option 1"]["radius"] is None
    assert endless.words().loc["certified radius", "option 1"] == "any"
    alike = replace(
        compared,
        measured=tuple(
            m._replace(radius=radius)
            for m, radius in zip(compared.measured, (0.0751, 0.0759), strict=True)
        ),
    )
    assert "certified radius" not in alike.sentence


def test_an_option_that_is_still_refused_has_no_radius_to_compare():
    result = patient_result()
    under = result.recourse.under(Question(decision_threshold=0.99))
    compared = under.find(result.factual, [0.5, 0.6]).compare(0, 1)
    assert not any(each.accepted for each in compared.measured)
    assert set(compared.words().loc["certified radius"]) == {"– (still refused)"}
    assert "radius" not in compared.sentence
    cheap, dear = result.compare(0, 1).measured
    bought = replace(result.compare(0, 1), measured=(cheap._replace(accepted=False), dear))
    assert "it buys the approval, more confidence" in bought.sentence
    assert "radius" not in bought.sentence


def test_only_rules_for_the_wanted_class_carry_an_option():
    X, y = haberman()
    model = paper_machine(random_state=0).fit(X, y)
    result = Recourse(model, wanted=0).find(
        {"age": 56, "year": 65, "nodes": 3}, confidence=[0.5, 0.6]
    )
    measured = result.compare(0, 1).measured
    assert any(each.carrying for each in measured)
    for each in measured:
        assert all(model.polarity_[j] < 0 for j in each.carrying)


def test_the_chance_of_anything_stricter_by_feature():
    why = patient_result().explain(0)
    table = why.stricter()
    assert len(table)
    inclusion = why.points.clauses.inclusion
    for each in table.itertuples():
        of_feature = [name.startswith(each.feature) for name in why.points.clauses.names]
        false = ~why.end.true & np.array(of_feature)
        assert each.probability == pytest.approx(1 - np.prod(1 - inclusion[each.clause][false]))
        assert why.end.holds[each.clause]


def test_rules_speak_in_the_persons_labels_and_units():
    X, y = haberman()
    model = paper_machine(random_state=0).fit(X, y)
    schema = model.schema_.lock("age").update("nodes", label="positive nodes", unit="pcs")
    why = Recourse(model, schema).find({"age": 56, "year": 65, "nodes": 9}, 0.85).explain()
    assert "positive nodes ≤ 2 pcs" in repr(why)
    assert " nodes ≤" not in repr(why).replace("positive nodes", "")
    assert why.literals().literal.str.contains("positive nodes ≤ 1 pcs").any()


def test_alternatives_stand_in_brackets_and_a_contradiction_carries_nothing():
    X, y = haberman()
    model = paper_machine(epochs=2, random_state=0).fit(X, y)
    inclusion = np.zeros_like(model.inclusion_)
    at = model.literals_.index
    inclusion[0, [at("year ≤ 60"), at("year > 63")]] = 1.0
    inclusion[2, [at("age ≤ 38"), at("age > 70")]] = 0.9
    inclusion[2, at("nodes ≤ 4")] = 0.9
    conclude(model, inclusion)
    rules = model.rules()
    assert rules.rule[0] == "never fires, as it contradicts itself"
    assert rules.rule[2] == "(age ≤ 38 or age > 70) and nodes ≤ 4"
    cells = model.machine_.grid.cells(model.schema_.encode(X))
    assert not model.clauses().hold(cells)[:, 0].any()
    assert model.clauses().hold(cells)[:, 2].any()


def test_the_sentence_says_what_the_dearer_option_buys_and_what_speaks_against_it():
    compared = patient_result().compare(0, 1)
    cheap, dear = compared.measured
    assert "worse in nothing measured here" in compared.sentence
    worse = cheap._replace(cost=dear.cost, confidence=cheap.confidence - 0.1, changes={"a": "b"})
    poor = replace(compared, measured=(cheap, worse))
    assert "buys nothing measured here; against it speaks less confidence" in poor.sentence
    assert poor.sentence.endswith("not worth it.")
    mixed = replace(compared, measured=(cheap, worse._replace(radius=9.0)))
    assert "it buys more certified radius" in mixed.sentence
    assert "against it speaks less confidence" in mixed.sentence
    for name, change in {
        "fewer rules that carry it firmly": {"fragile": dear.carrying},
        "more fragile rules": {"fragile": dear.carrying},
        "more chance that no rule fires": {"silence": cheap.silence + 0.1},
        "less robustness under noise": {"noise": 0.2, "noise_low": 0.19, "noise_high": 0.21},
    }.items():
        told = replace(compared, measured=(cheap, dear._replace(**change))).sentence
        assert name in told.partition("against it speaks")[2]
    unsure = dear._replace(noise=0.2, noise_low=0.1, noise_high=1.0)  # the intervals overlap
    assert "under noise" not in replace(compared, measured=(cheap, unsure)).sentence
    swapped = replace(compared, measured=(dear, cheap))
    assert swapped.sentence.startswith("option 1 costs")
    equal = replace(compared, measured=(cheap, cheap._replace(changes={"a": "b"})))
    assert "costs the same as option 1 and is its equal" in equal.sentence
    same = replace(compared, measured=(cheap, cheap))
    assert same.sentence == "option 1 and option 2 are the same change."
