"""Whether a confidence can be promised: right ones are called so, distorted ones are not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.calibration import calibration_curve

from trust_recourse.report import (
    check_calibration,
    expected_calibration_error,
    reliability_curve,
)

SEEDS = 30


def drawn(seed, rows=1000):
    """Probabilities, and outcomes of which they are right."""
    rng = np.random.default_rng(seed)
    p = expit(0.8 + 1.3 * rng.normal(size=rows))
    return rng.random(rows) < p, p


def verdicts(distorted, rows=1000, seeds=SEEDS):
    each = (drawn(seed, rows) for seed in range(seeds))
    return Counter(check_calibration(y, distorted(p)).verdict for y, p in each)


def test_right_confidences_are_called_so():
    assert verdicts(lambda p: p)["calibrated"] >= 0.9 * SEEDS


@pytest.mark.parametrize(
    "distorted",
    [
        lambda p: expit(2 * logit(p)),  # too sure
        lambda p: expit(logit(p) / 2),  # too unsure
        lambda p: expit(logit(p) + 0.6),  # too hopeful
    ],
)
def test_distorted_ones_are_not(distorted):
    assert verdicts(distorted, seeds=8)["miscalibrated"] == 8


def test_few_rows_prove_nothing():
    found = verdicts(lambda p: p, rows=80)
    assert found["calibrated"] == 0
    assert found["too few rows"] >= 0.9 * SEEDS


def test_in_many_rows_a_slight_error_is_no_reason_not_to_promise():
    y, p = drawn(0, 100_000)
    found = check_calibration(y, np.clip(p - 0.012, 0, 1))
    assert found.ece > found.by_chance
    assert found.verdict == "calibrated"


def test_one_bin_that_is_badly_off_is_named():
    y, p = drawn(3, 4000)
    told = np.where(p > 0.9, 0.97, p)  # 0.93 on average
    low = (p > 0.3) & (p < 0.4)
    found = check_calibration(y, np.where(low, 0.65, told))
    assert (found.verdict, found.bin, found.clear) == ("miscalibrated", "0.6–0.7", True)
    assert (
        f"of those told 0.6–0.7 ({found.said:.2f} on average), {found.came:.2f}" in found.sentence
    )
    assert "cannot be promised" in found.sentence
    assert not found.low <= found.came <= found.high
    assert f"by chance alone {found.low:.2f} to {found.high:.2f}" in found.sentence


def test_the_sentence_tells_what_came_true_above_the_threshold():
    y, p = drawn(1)
    found = check_calibration(y, p, threshold=0.6)
    curve = reliability_curve(y, p)
    assert found.count == curve.loc[curve["confidence"] >= 0.6, "count"].max()
    assert found.came == curve.loc[found.bin, "observed"]
    assert found.ece == pytest.approx(expected_calibration_error(y, p, strategy="quantile"))
    told = f"of those told {found.bin}, {found.came:.2f} came true (n = {found.count})"
    assert f"can be promised: {told}" in found.sentence


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6), rows=st.integers(1, 200), digits=st.integers(0, 3),
    kind=st.sampled_from([bool, int]),
)  # fmt: skip
def test_it_holds_for_all_that_a_model_may_say(seed, rows, digits, kind):
    rng = np.random.default_rng(seed)
    p, y = rng.random(rows).round(digits), (rng.random(rows) < 0.5).astype(kind)
    found = check_calibration(y, p)
    assert 0 <= found.ece <= 1
    assert found.rows == rows
    assert ("of those told" in found.sentence) <= (found.count >= 20)  # fewer are no evidence
    assert 0 <= found.low <= found.said <= found.high <= 1
    assert found.to_dict()["sentence"] == found.sentence
    assert check_calibration(y, p) == found


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), rows=st.integers(20, 200), bins=st.integers(1, 12))
def test_bins_of_equal_count_are_those_of_sklearn(seed, rows, bins):
    rng = np.random.default_rng(seed)
    p, y = rng.random(rows), rng.random(rows) < 0.5
    curve = reliability_curve(y, p, bins, "quantile")
    came, said = calibration_curve(y, p, n_bins=bins, strategy="quantile")
    assert curve["observed"].tolist() == pytest.approx(came)
    assert curve["confidence"].tolist() == pytest.approx(said)


def test_another_strategy_is_refused():
    with pytest.raises(ValueError, match="strategy='equal'; expected 'uniform' or 'quantile'"):
        reliability_curve([0, 1], [0.2, 0.8], 2, "equal")
