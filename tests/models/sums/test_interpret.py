"""EBMs of interpret, read: the library's own word on cuts, categories, missing values and pairs."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trust_recourse import Feature, Recourse, Schema, load, verify
from trust_recourse.models.readers import library as sums
from trust_recourse.models.readers.formats import opened
from trust_recourse.models.readers.library import Additive, UnreadableError, from_model, known
from trust_recourse.question import Status

glassbox = pytest.importorskip("interpret.glassbox", reason="interpret is not installed")

SCHEMA = Schema(
    (
        Feature("amount", lower=-3, upper=3, step=0.01),
        Feature("whole", "integer", lower=0, upper=8),
        Feature("flag", "boolean"),
        Feature("home", "category", values=("free", "own", "rent", "van"), missing=(None,)),
        Feature("grade", "ordinal", values=(1, 2, 3, 4)),
        Feature("gap", lower=-3, upper=3, step=0.1, missing=(None,)),
        Feature("code", "integer", lower=0, upper=4, missing=(-9,)),
        Feature("kind", "integer", lower=0, upper=3),
    )
)
TYPES = [None, None, None, None, "nominal", None, None, "nominal"]
EVERY = [(a, b) for a, b in itertools.combinations(range(8), 2)]


def rows(seed, n=300):
    """People, of which some are missing something, and a class that depends on two together."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "amount": rng.normal(size=n).clip(-3, 3).round(2),
            "whole": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.4,
            "home": rng.choice(["own", "rent", "free"], n).astype(object),
            "grade": rng.choice([1, 2, 3], n),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).clip(-3, 3).round(1)),
            "code": np.where(rng.random(n) < 0.2, -9, rng.integers(0, 5, n)),
            "kind": rng.integers(0, 3, n),
        }
    )
    X.loc[rng.random(n) < 0.1, "home"] = None
    score = X.amount + X.whole / 4 + (X.home == "own") + X.gap.fillna(-1) + X.amount * X.whole / 3
    return X, np.where(score + rng.normal(size=n) > 1.2, "granted", "refused")[:]


@cache
def learnt(seed=0, interactions=6):
    X, y = rows(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that missing values are not drawn
        return glassbox.ExplainableBoostingClassifier(
            max_rounds=60, outer_bags=1, interactions=interactions, n_jobs=1, random_state=seed,
            feature_types=TYPES, learning_rate=0.1,
        ).fit(X, y)  # fmt: skip


def odd_rows(seed, model, n=200):
    """Values on cuts and beside, unseen categories, whole numbers beyond, missing codes."""
    rng, (X, _) = np.random.default_rng(seed), rows(seed, n)
    cuts = np.concatenate(model.bins_[0])
    beside = [np.nextafter(cuts, -9), cuts, np.nextafter(cuts, 9)]
    X["amount"] = rng.choice(np.concatenate(beside), n)
    X["whole"] = rng.integers(-3, 14, n)
    X["home"] = rng.choice(np.array(["own", "van", "rent", None], object), n)
    X["grade"] = rng.choice([1, 4], n)
    X["kind"] = rng.integers(-2, 6, n)
    return X


# ---------------------------------------------------------------- the library's own word


@given(st.integers(0, 10**6), st.integers(0, 2))
@settings(max_examples=12, deadline=None)
def test_the_library_says_the_same_of_every_value(seed, which):
    model = learnt(which)
    X = odd_rows(seed, model)
    read, library = known(model, SCHEMA)
    theirs = model.predict_proba(X)
    assert (np.abs(read.predict_proba(X) - theirs) <= 2.0**-51).all()
    assert (library.predict_proba(SCHEMA.encode(X)) == theirs).all()
    assert (library.told(X) == theirs).all()
    assert read.classes_.tolist() == ["granted", "refused"]


@pytest.mark.parametrize("interactions", [0, EVERY])
def test_sums_are_those_of_the_library_bit_for_bit(interactions):
    model = learnt(1, tuple(interactions) if interactions else 0)
    X = odd_rows(5, model)
    read = from_model(model, SCHEMA, X)
    assert len(read.pairs) == (len(EVERY) if interactions else 0)
    total = np.add.accumulate(read.sum.terms(read.grid.cells(SCHEMA.encode(X))), axis=0)[-1]
    assert (total == model.decision_function(X)).all()


def test_columns_may_come_in_any_order():
    model = learnt()
    X, _ = rows(3)
    turned = Schema(tuple(reversed(SCHEMA.features)))
    read = from_model(model, turned, X)
    assert read.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-15)


def test_numbers_that_the_model_knows_as_categories_are_cells_of_their_own():
    read = from_model(learnt(), SCHEMA)
    f = SCHEMA.position("kind")
    assert read.grid.cells_in(f, np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])).tolist() == [
        0,
        1,
        2,
        3,
        5,
        6,
    ]
    assert len(set(read.points[f][[0, 2, 4, 6]].tolist())) == 1  # what it never saw


# ---------------------------------------------------------------- what is not read


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": {"missing": (-9, 4)}}, "'code': the model tells its missing codes apart"),
        (
            {"whole": {"kind": "category", "values": ("a", "b")}},
            "'whole': the schema has the value",
        ),
    ],
)
def test_a_schema_that_reads_values_otherwise_gets_a_sentence(change, message):
    schema = SCHEMA
    for name, told in change.items():
        made = Feature(name, **{"kind": SCHEMA[name].kind, **told})
        schema = Schema(tuple(made if each.name == name else each for each in schema))
    with pytest.raises(UnreadableError, match=message):
        from_model(learnt(), schema)


def test_other_columns_get_a_sentence():
    with pytest.raises(UnreadableError, match="the model alone has the columns"):
        from_model(learnt(), Schema(SCHEMA.features[:-1]))


def test_other_rows_than_it_learnt_of_are_noticed():
    X, _ = rows(0)
    model = learnt()
    schema = Schema((*(f for f in SCHEMA if f.name != "code"), Feature("code", "integer")))
    wrong = model.predict_proba(X.assign(amount=X["amount"] + 0.5))
    assert from_model(model, schema, X).schema_ is schema
    with pytest.raises(UnreadableError, match=r"row 0: the library says .*rows differ"):
        sums._compare(from_model(model, SCHEMA), wrong, X)


def test_three_classes_are_read_as_the_library_has_them():
    X, _ = rows(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = glassbox.ExplainableBoostingClassifier(
            max_rounds=5, outer_bags=1, interactions=0, n_jobs=1, feature_types=TYPES
        ).fit(X, np.arange(len(X)) % 3)
    read = from_model(model, SCHEMA, X)
    assert read.predict_proba(X).shape == (len(X), 3)


def test_terms_of_three_features_get_a_sentence():
    model = learnt(0, ((0, 1, 5),))
    with pytest.raises(UnreadableError, match="a term of 3 features together .*'amount'"):
        from_model(model, SCHEMA)


def test_one_that_has_not_learnt_gets_a_sentence():
    with pytest.raises(UnreadableError, match="it has not learnt yet"):
        from_model(glassbox.ExplainableBoostingClassifier(), SCHEMA)


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("wanted", ["granted", "refused"])
def test_answers_hold_by_the_librarys_word_and_are_proved(wanted):
    model, (X, _) = learnt(), rows(0)
    recourse = Recourse(model, SCHEMA, "l1", wanted=wanted)
    column = model.classes_.tolist().index(wanted)
    people = X[model.predict_proba(X)[:, column] < 0.4].head(5)
    found = 0
    for _, x in people.iterrows():
        result = recourse.find(x, [0.5, 0.7], certify=True)
        for option in result.options:
            row = pd.DataFrame([option.x]).astype(X.dtypes.to_dict() | {"home": object})
            said = float(model.predict_proba(row)[0, column])
            assert said >= option.target.confidence - 2.0**-51
            assert option.status is Status.OPTIMAL
            found += 1
        for target, status in result.status.items():
            assert verify(result.certificate(target), recourse.model).status is status
    assert found > 4


# ---------------------------------------------------------------- files


def written(path, model, **more):
    with pytest.warns(UserWarning, match="JSON formats are in beta"):
        model.to_json(path, **more)
    return path


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("detail", ["minimal", "interpretable", "mergeable", "all"])
def test_a_file_is_read_whatever_its_detail(tmp_path, detail):
    model, (X, _) = learnt(), rows(0)
    path = written(tmp_path / "m.json", model, detail=detail, indent=None if detail == "all" else 2)
    form, _ = opened(path)
    assert form.name == "EBM JSON"
    read = from_model(path, SCHEMA, X)
    assert isinstance(read, Additive)
    assert read.fingerprint_ == from_model(model, SCHEMA).fingerprint_
    pairs = f"of {len(read.pairs)} pair{'s' * (len(read.pairs) > 1)} of them"
    assert read.parts_of(1).kind == f"a sum of the points of {len(SCHEMA)} features and {pairs}"
    renamed = from_model(path, SCHEMA, classes=["yes", "no"])
    renamed.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.classes_.tolist() == ["yes", "no"]
    assert (again.predict_proba(X) == read.predict_proba(X)).all()


@pytest.mark.usefixtures("in_this_process")
def test_a_file_of_another_task_or_cut_short_gets_a_sentence(tmp_path):
    path = written(tmp_path / "m.json", learnt(), detail="minimal")
    told = json.loads(path.read_text())
    told["ebm"]["outputs"][0]["task"] = "regression"
    path.write_text(json.dumps(told))
    with pytest.raises(UnreadableError, match="an EBM for regression; expected one of classes"):
        from_model(path, SCHEMA)
    told["ebm"]["outputs"][0]["task"] = "classification"
    told["ebm"]["terms"][0]["scores"] = ["nan"] * len(told["ebm"]["terms"][0]["scores"])
    path.write_text(json.dumps(told))
    with pytest.raises(UnreadableError, match="adds what is no finite number"):
        from_model(path, SCHEMA)
    del told["ebm"]["features"]
    path.write_text(json.dumps(told))
    with pytest.raises(UnreadableError, match="damaged, or of no known version"):
        from_model(path, SCHEMA)
    assert math.isfinite(from_model(learnt(), SCHEMA).base)
