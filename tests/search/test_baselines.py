"""Laws of the published baselines: GrowingSpheres on any model, Wachter on neural networks.

What every engine by trial owes is judged in test_bayes.py and test_recourse.py, spheres included.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from trust_recourse import Recourse, Schema
from trust_recourse.question import Problem, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Feature
from trust_recourse.search.blackbox import wachter as way_down
from trust_recourse.search.blackbox.spheres import LAYER, spheres
from trust_recourse.search.blackbox.wachter import Network, wachter
from worlds import CREDIT, a_person, machine, question

few = settings(max_examples=15)
SCALERS = {
    "none": [],
    "standard": [StandardScaler()],
    "minmax": [MinMaxScaler((-2, 3))],
    "uncentred, then minmax": [StandardScaler(with_mean=False), MinMaxScaler()],
    "centred only": [StandardScaler(with_std=False)],
}
LOANS = Schema(
    (
        Feature("income", lower=0, upper=80, scale=80.0),  # continuous
        Feature("debt", lower=0, upper=80, step=0.5, scale=80.0, direction="decrease"),
        Feature("years", "integer", lower=0, upper=20, scale=20.0),
        Feature("owner", "boolean"),
        Feature("region", "category", values=(1, 2, 3)),
        Feature("age", "integer", mutable=False, scale=50.0),
    ),
    ("debt <= income", "owner changes => years rises by 1"),
)


def loans(rng, n=300):
    """People, and whether they were accepted: a clear rule of what can change."""
    X = pd.DataFrame(
        {
            "income": rng.uniform(0, 80, n),
            "debt": rng.integers(0, 161, n) / 2,
            "years": rng.integers(0, 21, n),
            "owner": rng.random(n) < 0.5,
            "region": rng.integers(1, 4, n),
            "age": rng.integers(20, 71, n),
        }
    )
    score = X.income / 80 - X.debt / 80 + X.years / 20 + 0.3 * X.owner
    return X, (score > 0.7).astype(int)


def fitted(X, y, activation="relu", hidden=(8, 5), scalers=None, epochs=60):
    network = MLPClassifier(
        hidden, activation=activation, max_iter=epochs, learning_rate_init=0.01, random_state=0
    )
    scalers = [StandardScaler()] if scalers is None else scalers
    model = make_pipeline(*scalers, network) if scalers else network
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.fixture(scope="module")
def lender():
    X, y = loans(np.random.default_rng(0))
    return fitted(X, y), X


# ---------------------------------------------------------------- the gradient


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.parametrize("scalers", SCALERS.values(), ids=SCALERS)
def test_the_gradient_is_that_of_finite_differences(activation, scalers):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)) * [1, 5, 0.2], np.arange(60) % 2
    for hidden in [(), (6,), (7, 4)]:
        model = fitted(X, y, activation, hidden, scalers, epochs=2)
        network = Network.of(model)
        for row in rng.normal(size=(5, 3)):
            odds, slope = network.log_odds(row)
            h = 1e-5 * np.eye(3)
            around = np.concatenate([row[None], row + h, row - h])
            told = np.diff(np.log(model.predict_proba(around)), axis=1)[:, 0]
            assert odds == pytest.approx(told[0], abs=1e-9)
            differences = (told[1:4] - told[4:]) / 2e-5
            np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-7)
            assert np.abs(slope).max() > 1e-3


def test_log_odds_become_probabilities_without_overflow():
    odds = np.array([-1e6, -3.0, 0.0, 3.0, 1e6])
    expected = [0.0, 1 / (1 + math.exp(3)), 0.5, 1 / (1 + math.exp(-3)), 1.0]
    np.testing.assert_allclose([way_down.logistic(z) for z in odds], expected, atol=1e-15)


@given(seed=st.integers(0, 10**6))
def test_steps_are_those_of_adam_damped_by_the_greatest_gradient(seed):
    gradients = np.random.default_rng(seed).normal(size=(6, 3)) * [1e-3, 1.0, 1e3]
    adam, steps = way_down.Adam(3), []
    mean, square, most = np.zeros(3), np.zeros(3), np.zeros(3)
    for n, g in enumerate(gradients, 1):
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        most = np.maximum(most, square)
        expected = 0.1 * mean / (1 - 0.9**n) / (np.sqrt(most / (1 - 0.999**n)) + 1e-8)
        steps.append(adam.move(g))
        np.testing.assert_allclose(steps[-1], expected, rtol=1e-12)
    assert (np.abs(steps[0]) <= 0.1).all()


# ---------------------------------------------------------------- Wachter


@few
@given(
    seed=st.integers(0, 10**6),
    wanted=st.sampled_from([0, 1]),
    level=st.sampled_from([0.5, 0.85]),
    mode=st.sampled_from(["at_least", "band"]),
)
def test_the_way_down_is_allowed_and_true_and_ends_where_the_target_is_met(
    lender, seed, wanted, level, mode
):
    model, _ = lender
    X, _ = loans(np.random.default_rng(seed), 1)
    recourse = Recourse(model, LOANS, "l1", wanted=wanted)
    action_set = LOANS.action_set(X.iloc[0])
    problem = Problem(action_set, Target(level, mode, 0.1), recourse.cost, wanted)
    points = wachter(problem, recourse.confidences, Network.of(model), n_trials=100)
    assert len({point.codes.tobytes() for point in points}) == len(points)
    np.testing.assert_array_equal(points[0].codes, action_set.own)
    for point in points:
        assert action_set.why_not(point.codes) == ()
        assert point.cost == recourse.cost.between(LOANS.features, action_set.own, point.codes)
        alone = recourse.confidence_of(point.codes)
        assert point.confidence == pytest.approx(alone, abs=1e-12)
        np.testing.assert_array_equal(point.codes[4:], action_set.own[4:])  # region and age stay
    assert not any(problem.target.met(point.confidence) for point in points[:-1])


def test_wachter_reaches_a_clear_target_and_repeats(lender):
    model, X = lender
    recourse = Recourse(model, LOANS, "l1")
    refused = X[(model.predict_proba(X)[:, 1] < 0.3) & (X.debt <= X.income)]
    asked = 0
    for _, x in refused.head(12).iterrows():
        for level in (0.5, 0.85):
            result = recourse.find(x, level, engine="wachter")
            (option,) = result.options
            assert option.status is Status.FEASIBLE
            assert recourse.confidence(option.x) == option.confidence
            assert option.confidence >= level - 1e-9
            assert LOANS.action_set(x).allows(option.x)
            assert option.changes
            again = recourse.find(x, level, engine="wachter", random_state=9)
            pd.testing.assert_frame_equal(result.to_frame(), again.to_frame())
            asked += 1
    assert asked == 24


def test_distance_loses_weight_until_the_target_is_met():
    """A slope of 0.8 is less than λ · 1 asks for, so λ must fall; more steps alone do not do."""
    network = Network((np.array([[0.8]]),), (np.array([-0.4]),), "relu")
    confidence = lambda codes: 1 / (1 + np.exp(0.4 - 0.8 * codes[:, 0]))  # noqa: E731
    schema = Schema((Feature("income", lower=0, upper=3),))
    problem = Problem(schema.action_set({"income": 0}), Target(0.6), Cost.named("l1"))
    points = wachter(problem, confidence, network, n_trials=150)
    assert problem.target.met(points[-1].confidence)
    assert len(points) > 300
    assert max(point.codes[0] for point in points[:150]) < points[-1].codes[0]
    beyond = Problem(problem.action_set, Target(0.97), problem.cost)
    missed = wachter(beyond, confidence, network, n_trials=150)
    assert not any(beyond.target.met(point.confidence) for point in missed)
    assert (
        max(point.codes[0] for point in missed) == 3
    )  # with no weight on distance it runs into the bound


def test_who_cannot_descend_stays(lender):
    model, X = lender
    schema = LOANS.lock("income", "debt", "years", "owner")
    recourse = Recourse(model, schema)
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    result = recourse.find(x, 0.9, engine="wachter")
    assert list(result.status.values()) == [Status.NOT_FOUND]
    assert list(result.nodes.values()) == [1]


def test_wachter_is_silent_unless_asked_and_refuses_no_steps(lender, capfd):
    model, X = lender
    recourse = Recourse(model, LOANS)
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    for level in (0.5, 0.99999):  # one that is met, and one that no step may meet
        recourse.find(x, level, engine="wachter", n_trials=30)
        assert capfd.readouterr() == ("", "")
        recourse.find(x, level, engine="wachter", n_trials=30, verbose=True)
        assert "wachter ━" in capfd.readouterr().err
    problem = Problem(LOANS.action_set(x), Target(0.5), recourse.cost)
    with pytest.raises(ValueError, match="n_trials=2.5; expected a whole number"):
        wachter(problem, recourse.confidences, Network.of(model), n_trials=2.5)


def test_only_networks_have_a_gradient(lender):
    _, X = lender
    y = (X.income > 40).astype(int)
    three = fitted(X, X.region, epochs=2)
    polynomial = fitted(X, y, scalers=[PolynomialFeatures()], epochs=2)
    clipped = fitted(X, y, scalers=[MinMaxScaler(clip=True)], epochs=2)
    logistic = LogisticRegression(max_iter=2000).fit(X, y)
    given_ = {
        "LogisticRegression": logistic,
        "function": lambda table: np.full(len(table), 0.5),
        "a pipeline of PolynomialFeatures, MLPClassifier": polynomial,
        "a pipeline of MinMaxScaler, MLPClassifier": clipped,
        "a pipeline of StandardScaler, MLPClassifier": three,
    }
    for name, model in given_.items():
        with pytest.raises(TypeError, match=f"given {name}, expected .* engine='auto'"):
            Network.of(model)
    ptm, people, _ = machine(0)
    with pytest.raises(TypeError, match="needs the model's gradient; given PTMClassifier"):
        Recourse(ptm).find(people.iloc[0], 0.001, engine="wachter")
    with pytest.raises(NotFittedError):
        Network.of(MLPClassifier())


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


# ---------------------------------------------------------------- the paper's network


def test_the_network_of_the_paper_learns_in_silence():
    path = Path(__file__).parents[2] / "experiments" / "ann.py"
    spec = importlib.util.spec_from_file_location("ann", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X.sum(axis=1) > 1).astype(int)
    model = module.ann(0).fit(X, y)
    assert [len(layer) for layer in model.intercepts_] == [50, 10, 1]
    assert model.out_activation_ == "logistic"
    assert model.score(X, y) > 0.9
    assert model.set_params(early_stopping=False, max_iter=2).fit(X, y).n_iter_ == 2
    np.testing.assert_array_equal(
        module.ann(3).fit(X, y).predict_proba(X), module.ann(3).fit(X, y).predict_proba(X)
    )
    assert Network.of(model).activation == "relu"
