from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from trust_recourse import PTMClassifier
from trust_recourse.models.tsetlin.calibration import Calibrator
from worlds import paper_machine


def calibrator(method, seed, flip=False):
    rng = np.random.default_rng(seed)
    raw = rng.random(200)
    y = (rng.random(200) < (1 - raw if flip else raw**2)).astype(int)
    return Calibrator.fit(method, raw, y)


@given(
    method=st.sampled_from(["isotonic", "sigmoid"]),
    seed=st.integers(0, 10**6),
    target=st.floats(0.01, 0.99),
)
def test_a_calibrated_target_is_a_raw_interval_to_the_last_float(method, seed, target):
    c = calibrator(method, seed)
    grid = np.linspace(0, 1, 1001)
    assert (np.diff(c(grid)) >= 0).all()
    low, high = c.least_raw(target), c.greatest_raw(target)
    if low is None:
        assert c(np.array(1.0)) < target
    else:
        assert c(np.array(low)) >= target
        assert low == 0.0 or c(np.array(np.nextafter(low, 0))) < target
    if high is None:
        assert c(np.array(0.0)) > target
    else:
        assert c(np.array(high)) <= target
        assert high == 1.0 or c(np.array(np.nextafter(high, 1))) > target


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_calibration_never_turns_the_order_around(method):
    c = calibrator(method, 1, flip=True)
    assert (np.diff(c(np.linspace(0, 1, 101))) >= 0).all()


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_a_calibrated_machine_is_one_machine_and_one_increasing_map(method, patients):
    X, y = patients
    plain = PTMClassifier(epochs=15, link="vote", random_state=0).fit(X, y)
    model = PTMClassifier(epochs=15, link="vote", calibration=method, random_state=0).fit(X, y)
    raw, p = model.raw_confidence(X), model.predict_proba(X)[:, 1]
    order = np.argsort(raw, kind="stable")
    assert (np.diff(p[order]) >= 0).all()
    np.testing.assert_array_equal(p, model.calibrator_(raw))
    np.testing.assert_array_equal(model.predict(X) == 1, p >= 0.5)
    assert len(np.unique(p)) > 3
    assert plain.calibrator_ is None


def test_calibration_helps_a_link_that_is_not_calibrated(patients):
    X, y = patients
    gain = []
    for seed in range(3):
        a, b, ya, yb = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        settings = {"epochs": 25, "link": "vote", "random_state": seed}
        rough = PTMClassifier(**settings).fit(a, ya).predict_proba(b)
        fine = PTMClassifier(calibration="sigmoid", **settings).fit(a, ya).predict_proba(b)
        gain.append(log_loss(yb, rough) - log_loss(yb, fine))
    assert np.mean(gain) > 0.1


def test_too_few_rows_to_hold_any_out(patients):
    X, y = patients
    few = np.flatnonzero(y == 1)[:5].tolist() + np.flatnonzero(y == 0)[:1].tolist()
    with pytest.raises(ValueError, match="calibration='isotonic' needs at least 2 rows of each"):
        PTMClassifier(epochs=1, calibration="isotonic").fit(X.iloc[few], y.iloc[few])


@pytest.mark.slow
def test_calibration_is_fitted_on_rows_the_machine_has_not_seen():
    """A machine that learns pure chance by heart is sure of its rows, its calibrator is not."""
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 30)), rng.integers(0, 2, 40)
    model = paper_machine(60, T=15, s=3, epochs=100, calibration="sigmoid", random_state=0)
    model.fit(X, y)
    raw = model.raw_confidence(X)
    assert np.mean((raw >= 0.5) == y) > 0.9
    assert np.ptp(model.predict_proba(X)[:, 1]) < 0.35
    seen = Calibrator.fit("sigmoid", raw, y)
    assert np.ptp(seen(raw)) > 0.9
