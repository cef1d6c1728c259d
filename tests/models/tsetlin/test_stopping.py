"""Early stopping: the best epoch on rows held out is the machine that is kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from trust_recourse import PTMClassifier
from trust_recourse.models.tsetlin import learning


def noise(rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((rows, 3)), np.arange(rows) % 2


def test_as_many_of_each_class_are_held_out_by_the_machines_own_chance():
    target = (np.arange(400) % 4 == 0).astype(np.int8)
    held = learning.held_out(target, 0.15, np.random.default_rng(0))
    assert held.sum() == 60
    assert target[held].sum() == 15
    assert not np.array_equal(held, learning.held_out(target, 0.15, np.random.default_rng(1)))
    for few, share in ((target, 0.0), (target[:20], 0.15), (np.zeros(400, np.int8), 0.15)):
        assert learning.held_out(few, share, np.random.default_rng(0)) is None


def test_learning_stops_two_epochs_after_the_best_which_is_kept(monkeypatch, capsys):
    X, y = noise(200)
    judged, kept = [], []
    judge = learning.EarlyStopping.judge

    def watched(self, learner, states):
        judge(self, learner, states)
        judged.append(self.loss)
        kept.append(learner.inclusion())

    monkeypatch.setattr(learning.EarlyStopping, "judge", watched)
    model = PTMClassifier(20, epochs=40, random_state=0, verbose=True).fit(X, y)
    best = int(np.argmin(judged))
    assert len(judged) == best + 1 + learning.PATIENCE < 40
    assert model.n_iter_ == best + 1
    np.testing.assert_allclose(model.inclusion_, kept[best], atol=1e-6)
    np.testing.assert_allclose(model.automata.included(model.states_), model.inclusion_, atol=1e-12)
    assert f"log-loss {judged[-1]:.4f} on the rows it stops by" in capsys.readouterr().err
    model.partial_fit(X, y)
    assert model.n_iter_ == best + 2, "learning on goes on from the epoch kept"


@pytest.mark.parametrize("link", ["margin", "vote"])
def test_the_best_epoch_is_the_same_whatever_the_link(link):
    X, y = noise(200)
    settings = {"n_clauses": 20, "epochs": 8, "random_state": 0}
    other = PTMClassifier(**settings, link=link).fit(X, y)
    model = PTMClassifier(**settings).fit(X, y)
    np.testing.assert_array_equal(other.inclusion_, model.inclusion_)
    assert other.n_iter_ == model.n_iter_


def test_without_a_share_all_epochs_are_learnt_from_all_rows():
    X, y = noise(200)
    assert PTMClassifier(20, epochs=6, validation_fraction=0, random_state=0).fit(X, y).n_iter_ == 6
    few = PTMClassifier(20, epochs=6, random_state=0).fit(X[:10], y[:10])
    assert few.n_iter_ == 6, "too few rows to hold some out"


def test_holding_out_does_not_cost_a_small_table(patients):
    """Weights are fitted to all rows, so that nothing is lost to the rows held out."""
    X, y = patients
    losses = {"held": [], "all": []}
    for seed in range(4):
        part = np.random.default_rng(seed).permutation(len(y))
        learnt, test = part[:240], part[240:]
        for name, share in (("held", 0.15), ("all", 0.0)):
            model = PTMClassifier(validation_fraction=share, random_state=seed)
            model.fit(X.iloc[learnt], y.iloc[learnt])
            losses[name].append(log_loss(y.iloc[test], model.predict_proba(X.iloc[test])))
    assert np.mean(losses["held"]) < np.mean(losses["all"]) + 0.005
