"""A model that is fitted again in place, or changed by hand, is refused at the next question."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from trust_recourse import Feature, PTMClassifier, Recourse, Result, Schema
from trust_recourse.answers.many import packed, unpacked
from trust_recourse.answers.plot import frontier_info
from trust_recourse.models import Additive
from trust_recourse.models.readers.referee import state_of
from trust_recourse.report.evidence import evidence
from trust_recourse.report.letter import letter

SCHEMA = Schema(
    (
        Feature("pay", lower=0, upper=100, scale=20.0, step=1.0),
        Feature("age", "integer", scale=30.0, lower=18, upper=80),
        Feature("home", "category", values=(0, 1, 2)),
    )
)
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "pay": RNG.normal(50, 15, 200).clip(0, 100).round(),
        "age": RNG.integers(18, 81, 200).astype(float),
        "home": RNG.integers(0, 3, 200).astype(float),
    }
)
FIRST = (X.pay + 10 * X.home + RNG.normal(0, 9, 200) > 60).astype(int).to_numpy()
SECOND = (X.age - X.pay / 2 + RNG.normal(0, 9, 200) > 20).astype(int).to_numpy()
PERSON = {"pay": 40.0, "age": 30, "home": 1}


def lightgbm():
    made = pytest.importorskip("lightgbm").LGBMClassifier
    return made(n_estimators=8, num_leaves=4, n_jobs=1, verbose=-1)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=8, max_depth=2, n_jobs=1)


def catboost():
    made = pytest.importorskip("catboost").CatBoostClassifier
    return made(iterations=8, depth=2, thread_count=1, verbose=0, allow_writing_files=False)


def ebm():
    made = pytest.importorskip("interpret.glassbox").ExplainableBoostingClassifier
    return made(max_rounds=20, outer_bags=1, interactions=1, n_jobs=1)


def steps(last):
    before = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["pay", "age"]),
        (OneHotEncoder(), ["home"]),
    )
    return make_pipeline(before, last)


MODELS = {
    "regression": LogisticRegression,
    "descent": lambda: SGDClassifier(loss="log_loss", alpha=1.0, random_state=0),
    "ebm": ebm,
    "tree": lambda: DecisionTreeClassifier(max_leaf_nodes=6),
    "forest": lambda: RandomForestClassifier(6, max_leaf_nodes=4),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=6, max_depth=2),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=4),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
    "pipeline": lambda: steps(LogisticRegression()),
    "pipeline of trees": lambda: steps(lightgbm()),
    "calibrated": lambda: CalibratedClassifierCV(LogisticRegression(), cv=2, ensemble=False),
    "machine": lambda: PTMClassifier(n_clauses=10, epochs=3, schema=SCHEMA, random_state=0),
}


QUESTIONS = {
    "confidence": lambda recourse: recourse.confidence(PERSON),
    "find": lambda recourse: recourse.find(PERSON, [0.5, 0.7]),
    "find without a level": lambda recourse: recourse.find(PERSON),
    "reachable": lambda recourse: recourse.reachable(PERSON),
    "frontier": lambda recourse: recourse.frontier(PERSON, 0.5),
    "find_many": lambda recourse: recourse.find_many(pd.DataFrame([PERSON]), 0.6),
    "packed": packed,
}
REFUSED = "was fitted again or changed after Recourse read it.*Make a new Recourse"


def refuses(recourse):
    """Every question to a changed model raises, and nothing is answered."""
    for asked in QUESTIONS.values():
        with pytest.raises(ValueError, match=REFUSED):
            asked(recourse)


def answers(recourse):
    """The answers of a recourse, to compare with those of another."""
    found = recourse.find(PERSON, [0.5, 0.7])
    return found.status, [(each.changes, each.confidence) for each in found.options]


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_is_fitted_again_is_refused(kind):
    model = MODELS[kind]().fit(X, FIRST)
    recourse = Recourse(model, SCHEMA, cost="l1")
    before = recourse.find(PERSON, [0.5, 0.7])
    kept = before.options[-1].confidence
    first = answers(recourse)
    assert answers(recourse) == first
    model.fit(X, SECOND)
    refuses(recourse)
    again = Recourse(model, SCHEMA, cost="l1")
    assert answers(again) != first
    assert answers(again) == answers(again)
    if kind != "machine":  # which is asked itself: nothing was read of it
        assert before.recourse.confidence_of(before.options[-1].codes) == kept


AFTERWARDS = {  # all that asks the model about an answer
    "certificate": lambda result: result.certificate(0.5),
    "radius": lambda result: result.radius(),
    "robustness": lambda result: result.robustness(),
    "ranges": lambda result: result.ranges(),
    "max_confidence": lambda result: result.max_confidence,
    "binding": lambda result: result.binding(),
    "explain": lambda result: result.explain(),
    "compare": lambda result: result.compare(),
    "save": lambda result: result.save("result.json"),
    "letter": lambda result: letter(
        result, organisation="A bank", contact="Ann", valid_until="2099-01-31"
    ),
    "evidence": lambda result: evidence(result, pictures=False),
    "frontier": lambda result: frontier_info(result),
}


@pytest.mark.parametrize("kind", ["machine", "regression", "forest", "lightgbm", "xgboost"])
def test_an_old_answer_is_never_mixed_with_the_model_as_fitted_again(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = MODELS[kind]().fit(X, FIRST)
    recourse = Recourse(model, SCHEMA, cost="l1")
    old = recourse.find(PERSON, [0.5, 0.55, 0.7], certify=True)
    assert len(old.options) > 1
    assert old.certificate(0.5).fingerprint == recourse.model.fingerprint_
    unchanged = copy.deepcopy(old)
    model.fit(X, SECOND)
    assert unchanged.explain()  # a copy has its own model
    copies = (old, copy.copy(old), copy.deepcopy(old), pickle.loads(pickle.dumps(old)))
    for asked, each in product(AFTERWARDS.values(), copies):
        with pytest.raises(ValueError, match=REFUSED):
            asked(each)
    assert old.options[0].changes  # what it holds itself is still there
    assert repr(old)
    new = Recourse(model, SCHEMA, cost="l1").find(PERSON, 0.5)
    assert new.certificate().fingerprint == new.recourse.model.fingerprint_
    assert new.explain()


def test_an_old_answer_of_a_model_that_is_asked_by_rows_is_not_mixed_either():
    model = make_pipeline(StandardScaler(), MLPClassifier((5,), tol=0.1, random_state=0))
    recourse = Recourse(model.fit(X, FIRST), SCHEMA, cost="l1")
    old = recourse.find(PERSON, 0.5)
    assert old.robustness().probability >= 0.0
    model.fit(X, SECOND)
    with pytest.raises(ValueError, match=REFUSED):
        old.robustness()


def test_a_model_that_is_asked_by_rows_is_refused_once_it_has_other_classes():
    """The wanted class is found by its place, which is another's after such a fit."""
    model = MLPClassifier((5,), tol=0.1, random_state=0)
    recourse = Recourse(model.fit(X, np.where(FIRST, "yes", "no")), SCHEMA, cost="l1")
    assert recourse.find(PERSON, 0.5).engine == "portfolio"
    model.fit(X, np.where(FIRST, "better", "worse"))
    refuses(recourse)
    model.fit(X, np.where(SECOND, "yes", "no"))
    recourse.check_model()


@pytest.mark.parametrize("kind", ["lightgbm", "pipeline", "forest", "machine"])
def test_in_another_process_it_is_still_the_model_that_was_read(kind):
    recourse = Recourse(MODELS[kind]().fit(X, FIRST), SCHEMA)
    there = unpacked(packed(recourse))
    there.check_model()
    assert answers(there) == answers(recourse)


def turned(model):
    model.coef_ *= -1.0
    model.intercept_ *= -1.0


def learnt_on(model):
    for _ in range(9):
        model.partial_fit(X, SECOND)


def grown(model):
    model.set_params(warm_start=True, n_estimators=9).fit(X, SECOND)


def moved(model):
    model[0].transformers_[0][1][1].mean_ -= 30.0


def pruned(model):
    model.tree_.value[:] = model.tree_.value[:, :, ::-1].copy()


def loaded(model, tmp_path):
    xgboost().fit(X, SECOND).save_model(tmp_path / "other.ubj")
    model.load_model(tmp_path / "other.ubj")


def raised(model):
    for leaf in range(4):
        model.booster_.set_leaf_output(0, leaf, 2.0)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("regression", turned),
        ("descent", learnt_on),
        ("forest", grown),
        ("pipeline", moved),
        ("tree", pruned),
        ("lightgbm", raised),
        ("xgboost", loaded),
    ],
)
def test_a_model_that_is_changed_without_fit_is_refused(kind, change, tmp_path):
    model = MODELS[kind]().fit(X, FIRST)
    recourse = Recourse(model, SCHEMA, cost="l1")
    before = answers(recourse)
    change(model, *([tmp_path] if change is loaded else []))
    refuses(recourse)
    assert answers(Recourse(model, SCHEMA, cost="l1")) != before


def put(model, name, value):
    setattr(model, name, value)


TOUCHES = {
    "an array, in place": lambda model: model[-1].coef_.__imul__(2.0),
    "an array for another": lambda model: put(model[-1], "intercept_", model[-1].intercept_ + 1.0),
    "a word of a list": lambda model: model[0].transformers_[1][1].categories_[0].__setitem__(0, 9),
    "an array of a list": lambda model: model[0].transformers_[1][1].categories_.reverse(),
    "a step inside": lambda model: model[0].transformers_.__setitem__(
        0, ("other", StandardScaler().fit(X[["pay", "age"]]), ["pay", "age"])
    ),
    "the steps": lambda model: put(model, "steps", [model.steps[0], ("last", model.steps[1][1])]),
    "a new attribute": lambda model: put(model[0].transformers_[1][1], "more", 1),
    "a name": lambda model: put(model[-1], "coef", vars(model[-1]).pop("coef_")),
}


@pytest.mark.parametrize("touch", TOUCHES)
def test_the_state_sees_every_touch(touch):
    words = X.assign(home=X.home.astype(int).astype(object))
    pipeline = make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["pay", "age"]), (OneHotEncoder(), ["home", "age"])
        ),
        LogisticRegression(),
    )
    model = pipeline.fit(words, FIRST)
    before = state_of(model)
    assert state_of(model) == before
    TOUCHES[touch](model)
    assert state_of(model) != before


def test_a_model_that_can_be_read_no_more_is_refused_too():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, FIRST)
    recourse = Recourse(model, SCHEMA)
    assert recourse.exact
    model.steps[-1] = ("last", SGDClassifier(loss="modified_huber").fit(X.to_numpy(), FIRST))
    refuses(recourse)
    other = Recourse(model, SCHEMA)
    assert other.find(PERSON, 0.6).engine == "portfolio"
    assert "loss='modified_huber'" in other.unread


def test_the_points_of_a_card_cannot_be_changed():
    given = np.array([2.0])
    card = Additive(SCHEMA, [[], [], []], [given, [0.0], np.zeros(3)])
    given[0] = 3.0
    assert card.points[0][0] == 2.0
    with pytest.raises(ValueError, match="read-only"):
        card.points[0][0] = 3.0


def test_a_result_file_is_refused_by_a_recourse_whose_model_was_fitted_again(tmp_path):
    kind = next(name for name in MODELS if name != "machine")
    model = MODELS[kind]().fit(X, FIRST)
    recourse = Recourse(model, SCHEMA, cost="l1")
    recourse.find(PERSON, 0.5).save(tmp_path / "result.json")
    model.fit(X, SECOND)
    with pytest.raises(ValueError, match=f"the {type(model).__name__} {REFUSED}"):
        Result.load(tmp_path / "result.json", recourse)
