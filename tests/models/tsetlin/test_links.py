"""The logistic link: its weights, its ties, and the floats on the way from number to confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import reference
from trust_recourse import PTMClassifier, Recourse, TMClassifier
from trust_recourse.models.tsetlin import links
from worlds import conclude, enumerated, machine, random_machine


@pytest.fixture(scope="module")
def weighed(patients):
    return PTMClassifier(epochs=15, link="logistic", random_state=0).fit(*patients)


# ---------------------------------------------------------------- the weights


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_weights_are_those_of_the_least_penalised_loss(seed):
    rng = np.random.default_rng(seed)
    q = rng.random((120, 6)) ** 2 * rng.random(6)
    signs = np.array([1, -1] * 3)
    y = (rng.random(120) < reference.logistic(q @ (signs * [4, 3, 0, 2, 1, -2]))).astype(np.int8)
    found = links.Logistic.fit(q, y)
    weights, intercept = reference.logistic_weights(q, y, links.PENALTY)
    assert (found.weights >= 0).all()
    assert found.weights.max() > 0.1
    np.testing.assert_allclose(found.weights, weights, atol=1e-4)
    assert found.intercept == pytest.approx(intercept, abs=1e-4)
    again = links.Logistic.fit(q.copy(), y.copy())
    np.testing.assert_array_equal(again.weights, found.weights)
    assert again.intercept == found.intercept


def test_the_same_seed_gives_the_same_weights_and_each_learning_new_ones(patients):
    X, y = patients
    settings_ = {"epochs": 3, "link": "logistic", "random_state": 0}
    a, b = (PTMClassifier(**settings_).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.weights_, b.weights_)
    assert a.intercept_ == b.intercept_
    before = a.weights_
    assert (a.partial_fit(X, y).weights_ != before).any()
    np.testing.assert_array_equal(
        a.inclusion_, PTMClassifier(**settings_ | {"link": "margin"}).fit(X, y).partial_fit(X, y)
        .inclusion_,
    )  # fmt: skip


def test_rows_of_one_class_leave_a_chance_to_the_other(patients):
    X, y = patients
    model = PTMClassifier(link="logistic", random_state=0)
    model.partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    p = model.predict_proba(X)[:, 1]
    assert ((p > 0.9) & (p < 1)).all()
    assert model.partial_fit(X[y == 0], y[y == 0]).predict_proba(X)[:, 1].max() < 0.5


def test_of_many_rows_some_are_drawn_by_the_machines_own_chance(patients, monkeypatch):
    X, y = patients
    whole = PTMClassifier(epochs=2, link="logistic", random_state=0).fit(X, y)
    monkeypatch.setattr(links, "MOST_ROWS", 100)
    fewer = [PTMClassifier(epochs=2, link="logistic", random_state=0).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(fewer[0].weights_, fewer[1].weights_)
    assert (fewer[0].weights_ != whole.weights_).any()
    rng = np.random.default_rng(0)
    assert links.some_rows(100, 10, rng) == slice(None)
    rows = links.some_rows(5000, 10, rng)
    assert len(set(rows.tolist())) == 100
    assert np.ptp(rows) > 3000


def test_it_is_better_calibrated_than_the_margin_where_that_saturates(patients):
    gain = []
    for seed in range(3):
        a, b, ya, yb = train_test_split(*patients, test_size=0.3, random_state=seed)
        losses = [
            log_loss(yb, PTMClassifier(T=1, link=link, epochs=15, random_state=seed)
                     .fit(a, ya).predict_proba(b))
            for link in ("margin", "logistic")
        ]  # fmt: skip
        gain.append(losses[0] - losses[1])
    assert np.mean(gain) > 0.02


# ---------------------------------------------------------------- predictions


def test_a_prediction_is_that_of_its_weights_and_of_its_row_alone(weighed, patients):
    X, _ = patients
    p = weighed.predict_proba(X)
    score = weighed.clause_proba(X) @ (weighed.polarity_ * weighed.weights_) + weighed.intercept_
    np.testing.assert_allclose(p[:, 1], reference.logistic(score), rtol=1e-13)
    for i in (0, 17, 305):
        for copies in (1, 2, 13):
            alone = weighed.predict_proba(X.iloc[[i] * copies])
            np.testing.assert_array_equal(alone, np.repeat(p[[i]], copies, axis=0))


def test_a_balance_but_for_rounding_is_a_tie():
    model, X = random_machine(3, n_clauses=8, link="logistic")
    inclusion = np.random.default_rng(0).random(model.inclusion_.shape) ** 3
    inclusion[1::2] = inclusion[0::2]
    weights = np.repeat(np.random.default_rng(1).random(4), 2)
    conclude(model, inclusion[::-1], links.Logistic(weights[::-1].copy(), 0.0))
    assert (model.predict_proba(X)[:, 1] == 0.5).all()
    assert (model.predict(X) == 1).all()


def test_scores_beyond_all_floats_are_certain():
    link = links.Logistic(np.array([1e6, 1e6]), 0.0)
    assert link.raw(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).tolist() == [1.0, 0.0, 0.5]


@pytest.mark.parametrize("kind", [PTMClassifier, TMClassifier])
def test_what_a_link_does_not_have_it_says(kind, patients):
    X, y = patients
    model = kind(20, epochs=2, link="logistic", random_state=0).fit(X, y)
    for ask in (lambda: model.link_values_, lambda: model.uncertainty(X)):
        with pytest.raises(AttributeError, match="see weights_ and intercept_"):
            ask()
    assert model.vote_distribution(X).shape == (len(X), 21)
    assert list(model.rules().weight) == model.weights_.tolist()
    other = kind(epochs=2, link="margin", random_state=0).fit(X, y)
    assert not hasattr(other, "weights_")
    with pytest.raises(AttributeError, match="intercept_ belongs to link='logistic'"):
        other.intercept_  # noqa: B018
    assert "weight" not in other.rules()


# ---------------------------------------------------------------- from numbers to confidences


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    calibration=st.sampled_from([None, "isotonic", "sigmoid"]),
    wanted=st.sampled_from([0, 1]),
    level=st.floats(0.01, 0.99) | st.just(0.5),
    width=st.sampled_from([0.0, 1e-3, 0.2]),
)
def test_a_target_is_an_interval_of_numbers_to_the_last_float(
    seed, calibration, wanted, level, width
):
    model, _, _ = machine(seed % 20, "logistic", calibration)
    score = model.score_of(wanted)
    low, high = level - width, level + width
    ends = score.interval(low, high)

    def inside(number):
        return low <= float(score.confidence(np.array([number]))[0]) <= high

    for end, out in zip(ends, (0.0, 1.0), strict=True):
        if ends[0] > ends[1]:
            break
        assert inside(end)
        assert end == out or not inside(math.nextafter(end, out))
    told = score.confidence(np.linspace(0, 1, 1001))
    assert (np.diff(told if wanted else -told) >= 0).all()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([0.0, 1e-14, 1e-6, 1.0, 1e3, 1e6]),
    intercept=st.sampled_from([0.0, 1e-9, -3.0, 30.0, -1e6]),
    wanted=st.sampled_from([0, 1]),
    rank=st.floats(0, 1),
)
def test_weights_of_any_size_are_searched_as_by_enumeration(seed, size, intercept, wanted, rank):
    model, X, rng = machine(seed, "logistic")
    conclude(model, model.inclusion_, links.Logistic(size * rng.random(6), intercept))
    recourse = Recourse(model, cost="l1", wanted=wanted)
    x = X.iloc[int(rng.integers(len(X)))]
    _, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 1e-3, 1 - 1e-3))
    met = costs[p >= level - 1e-9]
    options = recourse.find(x, level).options
    assert bool(options) == (len(met) > 0)
    if options:
        assert options[0].cost == pytest.approx(met.min(), abs=1e-9)
