"""What clauses may not use: protected features, and literals that would break monotony."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trust_recourse import PTMClassifier, Schema, TMClassifier
from trust_recourse.models.tsetlin.links import Logistic
from trust_recourse.report.protected import uses
from trust_recourse.schema import SchemaError
from worlds import LINKS, conclude

KINDS = {
    "plain": (PTMClassifier, {"n_states": 8, "validation_fraction": 0.0}),
    "blocks": (PTMClassifier, {"n_states": 100, "validation_fraction": 0.0}),
    "stopped": (PTMClassifier, {"n_states": 100}),
    "ordinary": (TMClassifier, {"n_states": 50}),
}


def people(seed=0, n=150):
    """A class that falls with income and rises with age, against what the schema will say."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.choice([-9.0, 1.0, 2.0, 3.5, 4.0], n),
            "age": rng.integers(20, 25, n),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    odds = X.age - X.income + 2.0 * (X.sex == "f") - 19.0 + rng.normal(0, 1, n)
    y = (odds > np.median(odds)).astype(int)
    schema = Schema.infer(X, missing={"income": (-9.0,)}).update("sex", protected=True)
    return X, y, schema


def confidences(model):
    """At every combination of cells, one axis a feature."""
    sizes = model.machine_.grid.sizes
    cells = np.array(list(product(*map(range, sizes))), np.int32)
    return model.machine_.confidence_at(cells).reshape(sizes)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(sorted(KINDS)),
    link=st.sampled_from(LINKS),
    income=st.sampled_from(["increasing", "decreasing"]),
    grade=st.sampled_from(["increasing", "decreasing"]),
)
def test_monotone_machines_are_monotone_on_every_pair_of_cells(seed, kind, link, income, grade):
    X, y, schema = people(seed)
    schema = schema.update("income", monotone=income).update("grade", monotone=grade)
    made, more = KINDS[kind]
    model = made(12, s=2.0, T=4, epochs=3, link=link, schema=schema, random_state=0, **more)
    model.fit(X, y)
    if isinstance(model.machine_.link, Logistic):  # and with whatever weights
        weights = np.random.default_rng(seed).random(12) * 5
        conclude(model, model.inclusion_, Logistic(weights, 0.1))
    M = confidences(model)
    known = M[: M.shape[0] - 1]  # the cell of missing values is exempt
    for axis, way, at in ((0, income, known), (2, grade, M)):
        steps = np.diff(at, axis=axis) * (1 if way == "increasing" else -1)
        assert steps.min() >= (0.0 if link == "logistic" else -1e-12)
    assert np.ptp(M) > 1e-3, "a machine that says the same everywhere has nothing to show"


def test_without_the_word_the_same_machine_goes_either_way():
    X, y, schema = people()
    free = PTMClassifier(20, schema=schema, random_state=0).fit(X, y)
    bound = PTMClassifier(20, schema=schema.update("age", monotone="decreasing"), random_state=0)
    assert np.diff(confidences(free), axis=1).max() > 0.01
    assert np.diff(confidences(bound.fit(X, y)), axis=1).max() <= 0
    other = PTMClassifier(20, schema=schema.update("age", monotone="increasing"), random_state=0)
    assert np.diff(confidences(other.fit(X, y)), axis=1).min() >= 0
    assert np.ptp(confidences(other), axis=1).max() > 0.01, "it may still use the feature"


@pytest.mark.parametrize("kind", KINDS)
def test_protected_features_are_not_learnt_from_unless_it_is_said(kind):
    X, y, schema = people()
    made, more = KINDS[kind]
    more = more | {"s": 4.0, "epochs": 3, "schema": schema, "random_state": 0}
    model = made(12, **more).fit(X, y)
    own = model.machine_.literals.owners == 3
    assert own.sum() == 4
    assert (model.inclusion_[:, own] == 0.0).all()
    assert (model.inclusion_[:, ~own] > 0.0).any()
    assert np.ptp(confidences(model), axis=3).max() == 0.0
    assert model.schema_["sex"].protected
    (use,) = uses(model, schema, schema.encode(X))
    assert not use.to_dict()["used"]
    model.partial_fit(X, y)
    assert (model.inclusion_[:, own] == 0.0).all(), "learning on"
    used = made(12, use_protected=True, **more).fit(X, y)
    assert (used.inclusion_[:, own] > 0.0).any()
    assert np.ptp(confidences(used), axis=3).max() > 0.0


def test_a_file_keeps_what_was_said(tmp_path):
    X, y, schema = people()
    schema = schema.update("age", monotone="increasing")
    PTMClassifier(12, epochs=2, schema=schema, random_state=0).fit(X, y).save(tmp_path / "m")
    model = PTMClassifier.load(tmp_path / "m")
    assert model.schema_["age"].monotone == "increasing"
    model.partial_fit(X, y)
    assert np.diff(confidences(model), axis=1).min() >= 0


def test_monotone_is_of_what_has_an_order():
    schema = people()[2]
    with pytest.raises(SchemaError, match="monotone.*no meaning for kind category"):
        schema.update("sex", monotone="increasing")
    with pytest.raises(SchemaError, match="one of increasing, decreasing"):
        schema.update("age", monotone="up")
    told = schema.update("age", monotone="increasing")
    assert Schema.from_dict(told.to_dict()) == told
    assert "monotone" not in str(schema.to_dict())
