"""Exact probabilities against enumeration, and against Monte Carlo."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from trust_recourse import TMClassifier
from worlds import LINKS, conclude, random_machine


@given(
    seed=st.integers(0, 10**6),
    link=st.sampled_from(LINKS),
    T=st.sampled_from([1, 2.5]),
)
def test_exact_equals_enumeration_of_every_action(seed, link, T):
    machine, X = random_machine(seed, link=link, T=T)
    p, q, law = (
        machine.predict_proba(X)[:, 1],
        machine.clause_proba(X),
        machine.vote_distribution(X),
    )
    assert q.max() > 0
    weighed = (machine.weights_, machine.intercept_) if link == "logistic" else ()
    for i in range(4):
        truth = reference.literal_truth(X[i], machine.thresholds_, [None] * 2, [False] * 2)
        confidence, votes, clauses = reference.confidence_by_enumeration(
            machine.inclusion_, truth, link, T, *weighed
        )
        assert p[i] == pytest.approx(confidence, abs=1e-12)
        np.testing.assert_allclose(q[i], clauses, atol=1e-12)
        for v, weight in votes.items():
            assert law.loc[i, v] == pytest.approx(weight, abs=1e-12)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), link=st.sampled_from(LINKS))
def test_monte_carlo_converges_to_exact_like_one_over_root_k(seed, link):
    machine, X = random_machine(seed, n_clauses=6, features=3, link=link)
    exact = machine.predict_proba(X)[:, 1]
    if link == "logistic":  # of the score, than which a confidence is at most a quarter as steep
        q = machine.clause_proba(X)
        spread = np.sqrt((q * (1 - q)) @ machine.weights_**2) / 4
    else:
        law = machine.vote_distribution(X).to_numpy()
        spread = np.sqrt(np.maximum(law @ machine.link_values_**2 - exact**2, 0))
    for n_passes in (100, 10_000):
        drawn = machine.predict_proba_mc(X, n_passes, random_state=seed)[:, 1]
        # six standard errors: a false alarm once in half a thousand million rows
        assert (np.abs(drawn - exact) <= 6 * spread / np.sqrt(n_passes) + 1e-12).all()
    assert spread.max() > 0.01


@pytest.mark.slow
def test_monte_carlo_error_shrinks_tenfold_with_a_hundred_times_the_passes(model, patients):
    X, _ = patients
    rows = X.head(60)
    exact = model.predict_proba(rows)[:, 1]

    def error(n_passes):
        drawn = [model.predict_proba_mc(rows, n_passes, random_state=r)[:, 1] for r in range(4)]
        return np.sqrt(np.mean((np.array(drawn) - exact) ** 2))

    assert 7 < error(20) / error(2000) < 14


def test_the_law_of_the_vote_gives_the_confidence_and_the_uncertainty(model, patients):
    X, _ = patients
    law = model.vote_distribution(X)
    assert list(law.columns) == list(range(-10, 11))
    assert law.index.equals(X.index)
    np.testing.assert_allclose(law.sum(axis=1), 1.0, atol=1e-12)
    g = (np.clip(law.columns, -5, 5) + 5) / 10
    np.testing.assert_allclose(law.to_numpy() @ g, model.raw_confidence(X), atol=1e-12)
    parts = model.uncertainty(X)
    np.testing.assert_allclose(parts.entropy, parts.epistemic + parts.aleatoric, atol=1e-12)
    assert (parts.epistemic > 0).all()
    assert (parts.entropy <= np.log(2) + 1e-12).all()


def test_an_ordinary_machine_is_certain_of_its_clauses(patients):
    X, y = patients
    machine = TMClassifier(epochs=10, T=10, random_state=0).fit(X, y)
    assert set(np.unique(machine.clause_proba(X))) <= {0.0, 1.0}
    votes = machine.clause_proba(X) @ machine.polarity_
    np.testing.assert_allclose(machine.raw_confidence(X), (np.clip(votes, -10, 10) + 10) / 20)
    assert (machine.uncertainty(X).epistemic == 0).all()
    np.testing.assert_allclose(
        machine.predict_proba_mc(X, 1, random_state=0), machine.predict_proba(X)
    )


def test_the_decision_is_the_confidence_at_one_half_and_a_tie_is_class_one():
    machine, X = random_machine(5, link="margin", T=2)
    conclude(machine, np.zeros_like(machine.inclusion_))  # silence: v = 0, margin one half
    p = machine.predict_proba(X)
    assert (p[:, 1] == 0.5).all()
    assert (p.sum(axis=1) == 1.0).all()
    assert (p.argmax(axis=1) == 1).all()
    assert (machine.predict(X) == machine.classes_[1]).all()


def test_inclusion_columns_are_literals_then_negations(model):
    o = len(model.literals_) // 2
    assert model.inclusion_.shape == (20, 2 * o)
    assert list(model.polarity_) == [1, -1] * 10
    assert o == sum(map(len, model.thresholds_))
    texts = [
        f"{n} ≤ {t:g}"
        for n, ts in zip(model.schema_.names, model.thresholds_, strict=True)
        for t in ts
    ]
    assert model.literals_[:o] == texts
    assert model.literals_[o:] == [text.replace("≤", ">") for text in texts]


def test_rules_are_words_and_a_clause_without_any_is_called_weak(model):
    rules = model.rules()
    assert isinstance(rules, pd.DataFrame)
    assert list(rules.votes_for) == [1, 0] * 10
    assert (rules.rule.str.startswith("weak") == rules.weak).all()
    strong = rules[~rules.weak]
    assert len(strong) > 0
    assert strong.rule.str.contains("nodes ≤").any()
    assert rules.strongest.str.contains(r"\(\d\.\d\d\)").all()
