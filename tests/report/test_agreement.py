"""The AUC of a confidence, both ways, and what chance explains."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from trust_recourse.report.model.agreement import Agreement, ranked


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=60))
def test_the_auc_is_scikit_learn_s_and_turns_with_the_labels(rows):
    scores, came = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows])
    auc, _ = ranked(scores, came)
    if came.all() or not came.any():
        assert auc == 0.5
        return
    assert auc == pytest.approx(roc_auc_score(came, scores))
    found, other = Agreement.of(True, scores, came), Agreement.of(False, scores, came)
    assert found.swapped == pytest.approx(other.auc)


def test_labels_of_chance_are_seldom_called_opposite():
    rng, many, rows = np.random.default_rng(0), 2000, 80
    found = [Agreement.of(1, rng.random(rows), rng.integers(0, 2, rows)) for _ in range(many)]
    assert np.mean([each.opposite for each in found]) == pytest.approx(0.025, abs=0.01)
    assert np.mean([each.unclear for each in found]) == pytest.approx(0.95, abs=0.015)


def test_a_model_that_knows_the_labels_is_opposite_to_their_contrary():
    labels = np.arange(40) % 2
    confidence = labels + np.random.default_rng(0).normal(0, 0.5, 40)
    assert Agreement.of(0, confidence, labels).opposite
    assert not Agreement.of(1, confidence, labels).opposite
    few = Agreement.of(0, confidence[:4], labels[:4])
    assert few.unclear
    assert not few.opposite
