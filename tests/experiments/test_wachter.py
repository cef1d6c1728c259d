"""Laws of Wachter's gradient descent on neural networks, an engine of the experiments."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from experiments.ann import ann
from experiments.engines import wachter as way_down
from experiments.engines.wachter import WACHTER, Network, wachter
from lending import LOANS, fitted, loans
from trust_recourse import Recourse, Schema
from trust_recourse.question import Problem, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Feature
from worlds import machine

few = settings(max_examples=15)
SCALERS = {
    "none": [],
    "standard": [StandardScaler()],
    "minmax": [MinMaxScaler((-2, 3))],
    "uncentred, then minmax": [StandardScaler(with_mean=False), MinMaxScaler()],
    "centred only": [StandardScaler(with_std=False)],
}


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
            result = recourse.find(x, level, engine=WACHTER)
            (option,) = result.options
            assert option.status is Status.FEASIBLE
            assert recourse.confidence(option.x) == option.confidence
            assert option.confidence >= level - 1e-9
            assert LOANS.action_set(x).allows(option.x)
            assert option.changes
            again = recourse.find(x, level, engine=WACHTER, random_state=9)
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
    result = recourse.find(x, 0.9, engine=WACHTER)
    assert list(result.status.values()) == [Status.NOT_FOUND]
    assert list(result.nodes.values()) == [1]


def test_wachter_is_silent_unless_asked_and_refuses_no_steps(lender, capfd):
    model, X = lender
    recourse = Recourse(model, LOANS)
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    for level in (0.5, 0.99999):  # one that is met, and one that no step may meet
        recourse.find(x, level, engine=WACHTER, n_trials=30)
        assert capfd.readouterr() == ("", "")
        recourse.find(x, level, engine=WACHTER, n_trials=30, verbose=True)
        assert "wachter ━" in capfd.readouterr().err
    with pytest.raises(ValueError, match="n_trials=2.5; expected a whole number"):
        recourse.find(x, 0.5, engine=WACHTER, n_trials=2.5)


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
        Recourse(ptm).find(people.iloc[0], 0.999, engine=WACHTER)
    with pytest.raises(NotFittedError):
        Network.of(MLPClassifier())


# ---------------------------------------------------------------- the paper's network


def test_the_network_of_the_paper_learns_in_silence():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X.sum(axis=1) > 1).astype(int)
    model = ann(0).fit(X, y)
    assert [len(layer) for layer in model.intercepts_] == [50, 10, 1]
    assert model.out_activation_ == "logistic"
    assert model.score(X, y) > 0.9
    assert model.set_params(early_stopping=False, max_iter=2).fit(X, y).n_iter_ == 2
    np.testing.assert_array_equal(
        ann(3).fit(X, y).predict_proba(X), ann(3).fit(X, y).predict_proba(X)
    )
    assert Network.of(model).activation == "relu"
