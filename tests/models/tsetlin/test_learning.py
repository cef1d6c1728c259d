"""Learning works: on the problems, and to the marks, that a Tsetlin machine should reach."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from trust_recourse import PTMClassifier, TMClassifier
from worlds import paper_machine


def splits(X, y, n=5):
    for seed in range(n):
        yield seed, train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)


def xor(rows, bits, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, bits))
    y = X[:, 0] ^ X[:, 1]
    return X, np.where(rng.random(rows) < noise, 1 - y, y)


@pytest.mark.parametrize("machine", [PTMClassifier, TMClassifier])
def test_iris_setosa_against_the_rest(machine):
    X, y = load_iris(return_X_y=True)
    for seed, (a, b, ya, yb) in splits(X, y > 0):
        assert machine(random_state=seed).fit(a, ya).score(b, yb) == 1.0


@pytest.mark.slow
def test_xor_of_two_bits_among_twelve_with_two_labels_in_five_wrong():
    scores = []
    for seed in range(5):
        X, y = xor(5000, 12, 0.4, seed)
        clean, truth = xor(2000, 12, 0.0, 100 + seed)
        model = paper_machine(20, 100, s=3.9, T=15, epochs=60, random_state=seed).fit(X, y)
        scores.append(model.score(clean, truth))
    assert np.mean(scores) >= 0.95


def test_xor_needs_the_mass_of_the_na_cells_to_move():
    X, y = xor(5000, 12, 0.4, 0)
    clean, truth = xor(2000, 12, 0.0, 100)
    kept = PTMClassifier(20, 100, s=3.9, T=15, epochs=10, na_cells="keep", random_state=0)
    assert kept.fit(X, y).score(clean, truth) < 0.8


@pytest.mark.slow
def test_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    scores = [
        PTMClassifier(random_state=seed).fit(a, ya).score(b, yb)
        for seed, (a, b, ya, yb) in splits(X, y)
    ]
    assert np.mean(scores) >= 0.95


def test_haberman_log_loss(patients):
    losses = [
        log_loss(yb, PTMClassifier(random_state=seed).fit(a, ya).predict_proba(b))
        for seed, (a, b, ya, yb) in splits(*patients)
    ]
    assert np.mean(losses) <= 0.58
