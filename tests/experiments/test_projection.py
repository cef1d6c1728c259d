"""The projection of many features on a plane: orthonormal components, and everybody in place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.projection import projected
from trust_recourse import Recourse, Schema
from worlds import paper_machine


@pytest.fixture(scope="module")
def plane():
    """A model of two features, and people whom it refuses."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)).round(2), columns=["a", "b"])
    y = (X.a + X.b + rng.normal(scale=0.5, size=200) > 0).astype(int)
    recourse = Recourse(paper_machine(epochs=20, random_state=0).fit(X, y))
    refused = X[recourse.model.predict(X) == 0].head(3)
    return recourse, X, y, [x for _, x in refused.iterrows()]


def test_the_components_are_orthonormal_and_arrows_start_at_people(mixed):
    X, y = mixed
    model = paper_machine(epochs=10, random_state=0).fit(X, y)
    recourse = Recourse(model, cost="l1")
    people = [x for _, x in X[model.predict(X) == "no"].head(3).iterrows()]
    results = [recourse.find(x, 0.6) for x in people]
    info = projected({"exact": results}, X, y)
    np.testing.assert_allclose(info.components @ info.components.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(info.rows.mean(axis=0), 0.0, atol=1e-12)
    assert info.explained[0] >= info.explained[1] > 0
    assert info.explained.sum() <= 1 + 1e-12
    spread = info.rows.var(axis=0)
    assert spread[0] / spread[1] == pytest.approx(info.explained[0] / info.explained[1])
    arrows = info.panels["exact"]
    places = dict(zip(X.index, info.rows, strict=True))
    np.testing.assert_allclose(arrows.people, [places[x.name] for x in people], atol=1e-12)
    owners = [x.name for x, r in zip(people, results, strict=True) for _ in r.options]
    assert owners
    np.testing.assert_allclose(arrows.start, [places[name] for name in owners], atol=1e-12)


def test_two_features_are_only_turned_by_the_projection(plane):
    recourse, X, y, people = plane
    recourse = Recourse(recourse.model, cost="l2")  # of the distances, turning keeps only this
    results = [recourse.find(x, 0.6) for x in people]
    arrows = projected({"exact": results}, X, y).panels["exact"]
    cost = [option.cost for r in results for option in r.options]
    assert max(cost) > 0
    np.testing.assert_allclose(np.linalg.norm(arrows.end - arrows.start, axis=1), cost)


@pytest.mark.filterwarnings("error")
def test_missing_values_and_columns_that_never_vary_can_be_projected():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=60).round(2), "b": rng.integers(0, 9, 60), "c": 1.0})
    X.loc[:5, "a"] = -9.0
    schema = Schema.infer(X, missing={"a": (-9.0,)})
    y = (X.b > 4).astype(int)
    recourse = Recourse(paper_machine(epochs=5, schema=schema, random_state=0).fit(X, y))
    info = projected({"exact": [recourse.find(X.iloc[0], 0.5)]}, X, y)
    assert np.isfinite(info.rows).all()
    assert np.isfinite(info.panels["exact"].end).all()
