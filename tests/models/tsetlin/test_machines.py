"""The machines as scikit-learn estimators, and what they make of bad input."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from trust_recourse import Feature, PTMClassifier, Recourse, Schema, TMClassifier
from worlds import conclude, paper_machine

MACHINES = [PTMClassifier, TMClassifier]


@parametrize_with_checks(
    [machine(20, epochs=20, link=link) for machine in MACHINES for link in ("margin", "logistic")]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_pipelines_searches_and_clones(machine):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(MinMaxScaler(), machine(epochs=5, random_state=0))
    assert cross_val_score(pipeline, X, y > 0, cv=3).mean() > 0.9
    search = GridSearchCV(machine(epochs=5, random_state=0), {"T": [3, 5]}, cv=3, n_jobs=2)
    assert search.fit(X, y > 0).best_score_ > 0.9
    fitted = machine(epochs=2, random_state=3).fit(X, y > 0)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "inclusion_")


@pytest.mark.parametrize("machine", MACHINES)
def test_every_kind_of_column(machine, mixed):
    X, y = mixed
    model = machine(epochs=40, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    assert list(model.classes_) == ["no", "yes"]
    assert list(model.feature_names_in_) == list(X.columns)
    kinds = [f.kind for f in model.schema_]
    assert kinds == ["number", "integer", "category", "ordinal", "boolean"]
    assert {"housing = own", "housing ≠ own", "employed = yes", "grade ≤ low"} <= set(
        model.literals_
    )
    as_category = X.assign(housing=X.housing.astype("category"))
    np.testing.assert_array_equal(model.predict_proba(as_category), model.predict_proba(X))


def test_integers_floats_and_bools_give_one_model_and_frames_are_like_arrays():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (60, 4))
    y = bits[:, 0] ^ bits[:, 1]
    models = [
        PTMClassifier(epochs=5, random_state=1).fit(X, y)
        for X in (bits, bits.astype(float), bits.astype(np.float32), pd.DataFrame(bits))
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].inclusion_, other.inclusion_)
    booleans = pd.DataFrame(bits.astype(bool), columns=list("abcd"))
    np.testing.assert_array_equal(
        models[0].inclusion_, PTMClassifier(epochs=5, random_state=1).fit(booleans, y).inclusion_
    )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_whatever_the_threads():
    rng = np.random.default_rng(0)
    X = rng.random((300, 60))
    y = X[:, 0] > X[:, 1]

    def states(n_jobs, seed=0):
        machine = PTMClassifier(40, epochs=2, n_jobs=n_jobs, random_state=seed)
        return machine.fit(X, y).states_

    one = states(1)
    assert one.size > 1_000_000, "too small for threads to be used"
    for n_jobs in (2, 3, -1):
        np.testing.assert_array_equal(one, states(n_jobs))
    assert not np.array_equal(one, states(1, seed=1))


def test_partial_fit_goes_on_where_fit_stopped(patients):
    X, y = patients
    whole = PTMClassifier(epochs=3, validation_fraction=0, random_state=0).fit(X, y)
    parts = PTMClassifier(random_state=0)
    for _ in range(3):
        parts.partial_fit(X, y)
    np.testing.assert_allclose(parts.inclusion_, whole.inclusion_, atol=1e-5)
    assert parts.n_iter_ == 3
    first = PTMClassifier(random_state=0).partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    first.partial_fit(X[y == 0], y[y == 0])
    with pytest.raises(ValueError, match=r"class 7; this machine knows \[0, 1\]"):
        first.partial_fit(X.head(1), [7])
    with pytest.raises(ValueError, match="rows"):
        first.partial_fit(X.head(2), [1])
    with pytest.raises(ValueError, match="dropped"):
        whole.drop_states().partial_fit(X, y)
    with pytest.raises(ValueError, match="calibration='isotonic'.*use fit"):
        PTMClassifier(calibration="isotonic").partial_fit(X, y)


def test_dropping_the_states_changes_no_prediction(model, patients):
    X, y = patients
    light = paper_machine(epochs=30, random_state=0).fit(X, y).drop_states()
    assert light.states_ is None
    np.testing.assert_array_equal(light.predict_proba(X), model.predict_proba(X))
    assert light.fingerprint_ == model.fingerprint_


def right_while_learning(line):
    return float(re.findall(r"right while learning ([\d.]+)%", line)[-1])


def test_a_progress_bar_with_running_accuracy(patients, capsys):
    PTMClassifier(epochs=3, random_state=0, verbose=True).fit(*patients)
    line = capsys.readouterr().err
    assert "3/3" in line
    shown = right_while_learning(line)
    rows = patients[0].head(200)
    PTMClassifier(epochs=3, random_state=0, verbose=True).fit(rows, rows.age > 50)
    assert right_while_learning(capsys.readouterr().err) > shown > 50
    PTMClassifier(epochs=3, random_state=0).fit(*patients)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clauses": 7}, "n_clauses=7; expected an even number"),
        ({"n_clauses": 0}, "n_clauses=0; expected a whole number of at least 2"),
        ({"n_clauses": 2.5}, "n_clauses=2.5"),
        ({"n_states": 0}, "n_states=0"),
        ({"n_states": 10**6}, "expected at most 16,000"),
        ({"n_clauses": 10**9}, "n_clauses=1000000000; expected at most 100,000"),
        ({"s": 1e300}, r"s=1e\+300; expected at most 1,000,000"),
        ({"s": 1.0}, "s=1.0; expected a finite number above 1"),
        ({"s": 0.5}, "s=0.5"),
        ({"s": float("nan")}, "s=nan"),
        ({"T": 0}, "T=0; expected a finite number above 0"),
        ({"T": -3}, "T=-3"),
        ({"T": 1e308}, r"T=1e\+308; expected at most 1,000,000"),
        ({"T": 1e17}, r"T=1e\+17; expected at most"),
        ({"T": 10**400}, "T=10000000.*; expected at most"),
        ({"T": float("inf")}, "T=inf; expected a finite number"),
        ({"epochs": 0}, "epochs=0"),
        ({"thresholds": 0}, "thresholds=0"),
        ({"thresholds": "all"}, "thresholds='all'"),
        ({"link": "logit"}, "link='logit'; expected one of 'margin', 'vote'"),
        ({"calibration": "beta"}, "calibration='beta'"),
        ({"schema": {"age": 1}}, "schema is dict"),
    ],
)
def test_bad_settings_say_what_was_given_and_expected(machine, settings, message, patients):
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")):
        machine(**settings).fit(*patients)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "settings",
    [
        {"T": 5e-324}, {"T": 1e6}, {"s": 1e6}, {"s": 1 + 1e-9}, {"n_clauses": 2},
        {"link": "logistic"}, {"link": "logistic", "n_clauses": 2, "s": 1e6},
    ],
)  # fmt: skip
def test_at_the_ends_of_what_is_allowed_answers_are_those_of_enumeration(
    machine, settings, patients, monkeypatch
):
    """No error in the bounds is lost."""
    ignored = []
    monkeypatch.setattr("sys.unraisablehook", ignored.append)
    X, y = patients
    model = machine(**{"epochs": 3, "random_state": 0, **settings}).fit(X, y)
    ways = pd.DataFrame({"age": 50, "year": 60, "nodes": range(53)})
    sure = model.predict_proba(ways)[:, 1]
    recourse = Recourse(model, model.schema_.lock("age", "year"))
    for target in np.clip(np.quantile(sure, [0.6, 1.0]), 0.01, 0.99):
        met = np.flatnonzero(sure >= target - 1e-9)  # within which a target is met
        found = recourse.find(ways.iloc[-1], float(target)).options[0]
        assert found.cost == pytest.approx((52 - met.max()) / model.schema_["nodes"].scale)
    assert not ignored


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"na_cells": "drop"}, "na_cells='drop'"), ({"n_jobs": 0}, "n_jobs=0")],
)
def test_bad_settings_of_the_probabilistic_machine(settings, message, patients):
    with pytest.raises(ValueError, match=message):
        PTMClassifier(**settings).fit(*patients)


def test_bad_tables_name_the_column(patients, mixed):
    X, y = patients
    with pytest.raises(ValueError, match="nodes"):
        PTMClassifier(epochs=1).fit(X.assign(nodes=[np.nan] + [1.0] * 305), y)
    with pytest.raises(ValueError, match="nodes"):
        PTMClassifier(epochs=1).fit(X.assign(nodes=[np.inf] + [1.0] * 305), y)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN|infinity"):
            PTMClassifier(epochs=1).fit([[bad], [1.0]], [0, 1])
    model = PTMClassifier(epochs=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"nodes": "knots"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["nodes", "age", "year"]])
    with pytest.raises(ValueError, match="nodes"):
        model.predict(X.assign(nodes=np.nan))
    table, labels = mixed
    model = PTMClassifier(epochs=1, random_state=0).fit(table, labels)
    with pytest.raises(ValueError, match="housing.*castle.*'free', 'own', 'rent'"):
        model.predict(table.assign(housing="castle"))
    with pytest.raises(ValueError, match="rows"):
        PTMClassifier(epochs=1).fit(table, labels[:-1])


def test_classes(patients):
    X, y = patients
    with pytest.raises(ValueError, match="only one class, 1"):
        PTMClassifier(epochs=1).fit(X, np.ones(306, int))
    with pytest.raises(ValueError, match="Only binary .*y holds 3 classes .0, 1, 2.. Set link="):
        PTMClassifier(epochs=1, link="margin").fit(X, np.arange(306) % 3)
    with pytest.raises(ValueError, match="one class|1 row|one row|minimum"):
        PTMClassifier(epochs=1).fit(X.head(1), y.head(1))


def test_constant_columns_carry_no_literals_and_a_table_of_them_says_one_half(patients):
    X, y = patients
    with_constant = PTMClassifier(epochs=5, random_state=0).fit(X.assign(age=50), y)
    assert len(with_constant.thresholds_[0]) == 0
    assert not any(name.startswith("age") for name in with_constant.literals_)
    for link in ("margin", "logistic"):
        nothing = PTMClassifier(20, epochs=2, link=link, random_state=0)
        nothing.fit(np.ones((10, 3)), np.arange(10) % 2)
        assert (nothing.predict_proba(np.ones((2, 3)))[:, 1] == 0.5).all()
        assert len(nothing.rules()) == 20


def test_a_given_schema_decides_kinds_and_missing_codes():
    X = np.array([[1, -9.0], [2, 0.5], [3, 0.1], [1, -9.0]] * 10)
    y = (X[:, 0] == 2).astype(int)
    schema = Schema(
        (
            Feature("region", kind="category", values=(1, 2, 3)),
            Feature("ratio", missing=(-9.0,), step=0.1),
        )
    )
    model = PTMClassifier(epochs=30, schema=schema, random_state=0).fit(X, y)
    assert "region = 2" in model.literals_
    assert "ratio is missing" in model.literals_
    assert model.score(X, y) == 1.0


def test_settings_changed_after_fitting_change_no_prediction(model, patients):
    X, y = patients
    machine = PTMClassifier(epochs=5, link="margin", random_state=0).fit(X, y)
    before, name = machine.predict_proba(X), machine.fingerprint_
    machine.set_params(T=50, link="vote", n_jobs=2, epochs=1, s=9.0, random_state=3)
    np.testing.assert_array_equal(machine.predict_proba(X), before)
    assert machine.fingerprint_ == name
    assert machine.fingerprint_ != model.fingerprint_


def test_numbered_columns_are_checked_too():
    X = pd.DataFrame(np.random.default_rng(0).random((40, 3)))
    model = PTMClassifier(epochs=2, random_state=0).fit(X, X[0] > 0.5)
    with pytest.raises(ValueError, match=r"columns \[2, 1, 0\]; fitted were \[0, 1, 2\]"):
        model.predict(X[[2, 1, 0]])


def test_arrays_with_blanks_and_text_need_a_schema():
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)).round(1)
    X[:5, 0] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    schema = Schema.infer(X, missing=float("nan"))
    model = PTMClassifier(epochs=20, schema=schema, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    text = np.array([["own", 1.0], ["rent", 2.0]] * 10, dtype=object)
    named = Schema.infer(pd.DataFrame({"home": text[:, 0], "n": text[:, 1].astype(float)}))
    model = PTMClassifier(epochs=5, schema=named, random_state=0).fit(text, [0, 1] * 10)
    assert model.score(text, [0, 1] * 10) == 1.0


def test_labels_of_two_columns_and_calls_without_rows(patients):
    X, y = patients
    with pytest.raises(ValueError, match="1d array"):
        PTMClassifier(epochs=1).fit(X, np.column_stack([y, y]))
    model = PTMClassifier(epochs=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"classes=\['a', 'b'\]; the first call gave"):
        model.partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match="no rows"):
        model.partial_fit(X.head(0), y.head(0))


def test_a_prediction_is_a_function_of_the_row_alone(model, patients):
    X, _ = patients
    p = model.predict_proba(X)
    for i in (0, 17, 305):
        for copies in (1, 2, 13):
            alone = model.predict_proba(X.iloc[[i] * copies])
            np.testing.assert_array_equal(alone, np.repeat(p[[i]], copies, axis=0))
    twin = PTMClassifier(20, 4, epochs=1, link="margin", random_state=0).fit(X, np.arange(306) % 2)
    inclusion = np.random.default_rng(0).random(twin.inclusion_.shape) ** 3
    inclusion[1::2] = inclusion[0::2]  # each clause has its opposite: every vote is balanced
    conclude(twin, inclusion)
    assert (twin.predict_proba(X)[:, 1] == 0.5).all()
    assert (twin.predict(X) == 1).all()


def test_learning_on_after_fit_draws_anew_and_refuses_another_machine(patients):
    X, y = patients
    settings = {"epochs": 2, "validation_fraction": 0.0, "random_state": 0}
    a = PTMClassifier(**settings).fit(X, y).partial_fit(X, y)
    b = PTMClassifier(**settings | {"epochs": 3}).fit(X, y)
    np.testing.assert_allclose(a.inclusion_, b.inclusion_, atol=1e-5)
    c = PTMClassifier(random_state=0).partial_fit(X, y).set_params(**settings).fit(X, y)
    np.testing.assert_array_equal(c.partial_fit(X, y).inclusion_, a.inclusion_)
    with pytest.raises(ValueError, match="n_states was 100 when fitted and is 10 now"):
        a.set_params(n_states=10).partial_fit(X, y)
    calibrated = PTMClassifier(calibration="sigmoid", **settings).fit(X, y)
    with pytest.raises(ValueError, match="calibrated by fit"):
        calibrated.set_params(calibration=None).partial_fit(X, y)


def test_an_interrupted_machine_is_whole(patients, monkeypatch):
    X, y = patients
    machine = PTMClassifier(epochs=2, random_state=0).fit(X, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("trust_recourse.models.tsetlin.training.Learner.epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.partial_fit(X, y)
    np.testing.assert_allclose(
        machine.automata.included(machine.states_), machine.inclusion_, atol=1e-12
    )
