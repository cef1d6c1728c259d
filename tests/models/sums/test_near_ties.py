"""Where a library's own rounding decides: it alone is asked, and nothing is proved against it."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from trust_recourse import Feature, Recourse, Schema
from trust_recourse.models.scores import Asked
from trust_recourse.models.sums import reduce
from trust_recourse.models.sums.layout import LeafLists, Leaves, layout

xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")


def rows_of(names, values):
    every = itertools.product(range(values), repeat=len(names))
    return pd.DataFrame(np.array(list(every), float), columns=names)


def schema_of(names, most):
    each = (Feature(name, lower=0, upper=most, step=1, scale=float(most)) for name in names)
    return Schema(tuple(each))


def barely_apart(seed):
    """A booster with cells that only the rounding of float32 tells apart."""
    rng, names = np.random.default_rng(seed), list("abcdefgh")
    X = pd.DataFrame(rng.integers(0, 2, (300, 8)).astype(float), columns=names)
    first = (X.iloc[:, :5].sum(axis=1) + rng.normal(0, 1, 300) > 2.5).astype(int)
    then = (X.iloc[:, 5:].sum(axis=1) + rng.normal(0, 1, 300) > 1.5).astype(int)
    held = X.assign(f=0.0, g=0.0, h=0.0)
    told = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
    begun = xgboost.train(told | {"eta": 0.5}, xgboost.DMatrix(held, first), 40)
    rows = xgboost.DMatrix(X, then)
    return xgboost.train(told | {"eta": 1e-6}, rows, 30, xgb_model=begun), rows_of(names, 2)


@pytest.mark.parametrize("seed", range(5))
def test_what_noise_may_lose_is_seen_through_float32(seed):
    model, rows = barely_apart(seed)
    p = np.asarray(model.inplace_predict(rows), float)
    threshold = float(np.unique(p)[1])  # the least lose, and those alone
    recourse = Recourse(model, schema_of(rows.columns, 1), decision_threshold=threshold)
    best = rows.iloc[int(p.argmax())]
    assert recourse.find(best).radius(0) <= 1.0
    assert not recourse.find(best, threshold, min_radius=1.5).options
    furthest = recourse.reachable(rows.iloc[int(p.argmin())])
    assert furthest.most == p.max()


@pytest.mark.parametrize("seed", range(4))
def test_sums_smaller_than_their_rounding_are_still_found(seed):
    rng, names = np.random.default_rng(seed), list("abcd")
    X = pd.DataFrame(rng.integers(0, 3, (300, 4)).astype(float), columns=names)
    y = (X.sum(axis=1) + rng.normal(0, 2, 300) > 6).astype(int)
    told = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1, "base_score": 0.05}
    model = xgboost.train(told | {"eta": 2e-8}, xgboost.DMatrix(X, y), 22)
    rows = rows_of(names, 3)
    p = np.asarray(model.inplace_predict(rows), float)
    for threshold in np.unique(p)[1:][-2:].tolist():
        recourse = Recourse(model, schema_of(names, 2), decision_threshold=threshold, cost="l1")
        at = int(np.flatnonzero(p < threshold)[0])
        far = (rows - rows.iloc[at]).abs().sum(axis=1) / 2
        found = recourse.find(rows.iloc[at], threshold)
        assert found.options[0].cost == pytest.approx(far[p >= threshold].min())


def test_time_that_is_up_leaves_no_time_for_the_program(monkeypatch):
    allowed = np.array([[1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 1]], bool)
    leaves, sizes = Leaves(np.array([0, 0, 1, 1]), np.array([0.0, 1.0, 0.0, 1.0]), allowed), [2, 2]
    whole = LeafLists(leaves.value, layout(leaves, np.array(sizes)))
    asked = Asked(np.array([0.0, 1.0, 0.0, 2.0]), 1.5, np.inf, lambda _: True, most=9.0)
    calls = []

    def linprog(*_, **__):
        calls.append(1)
        return SimpleNamespace(status=1)

    monkeypatch.setattr("scipy.optimize.linprog", linprog)  # which it loads when it asks
    monkeypatch.setattr(reduce, "SMALL", -1)  # so that the program is asked however little is left
    monkeypatch.setattr(reduce, "FEW", 2.0)
    assert reduce.reduced_leaves(whole, asked._replace(deadline=0.0)) is not None
    assert not calls
    assert reduce.reduced_leaves(whole, asked) is not None
    assert calls
