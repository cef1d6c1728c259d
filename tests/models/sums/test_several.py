"""Models of several classes: read as their libraries have them, asked, explained, kept in files."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_readers import library

from laws import classes
from trust_recourse import (
    CertificateError,
    Feature,
    Ledger,
    PTMClassifier,
    Recourse,
    Schema,
    TMClassifier,
    evidence,
    from_model,
    letter,
    verify,
)
from trust_recourse.answers.plot import waterfall_info
from trust_recourse.models.loading import load
from trust_recourse.models.log_odds_margin import beside_strongest
from trust_recourse.models.tsetlin import calibration
from trust_recourse.models.tsetlin.calibration import temperature
from trust_recourse.testing import check_cell_model

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.integers(0, 10, (120, 4)), columns=list("abcd")).astype(float)
Y = np.array(["low", "middle", "high"])[np.digitize(X.a + X.b - X.c, [4, 11])]
SCHEMA = Schema.infer(X)
LETTER = {"organisation": "A bank", "contact": "Ann, 555 0100", "valid_until": "2099-01-31"}


def boosted(kind):
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=8, num_leaves=5, verbose=-1, n_jobs=1)
    from catboost import CatBoostClassifier

    small = {"iterations": 8, "depth": 2, "verbose": 0, "allow_writing_files": False}
    return CatBoostClassifier(**small, thread_count=1)


MODELS = {
    "regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=5),
    "forest": lambda: RandomForestClassifier(8, max_depth=3, random_state=0, n_jobs=1),
    "lightgbm": lambda: boosted("lightgbm"),
    "catboost": lambda: boosted("catboost"),
}
KINDS = [pytest.param(kind, marks=library(kind)) if kind in ("lightgbm", "catboost") else kind
         for kind in MODELS]  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return MODELS[request.param]().fit(X, Y)


def test_a_model_is_read_asked_explained_and_kept(model, tmp_path):
    recourse = Recourse(model, SCHEMA, "l1", wanted="high")
    assert recourse.exact
    row = X[model.predict(X) == "low"].iloc[0]
    result = recourse.find(row, [0.4, 0.42])
    for option in result.options:
        said = model.predict_proba(pd.DataFrame([option.x.astype(float)]))[0]
        assert said[list(model.classes_).index("high")] == pytest.approx(option.confidence)
        assert option.confidence >= option.target.confidence - 1e-9
    assert all(str(status) == "optimal" for status in result.status.values())
    shares = result.explain(0)
    assert shares.feature_shares.sum() == pytest.approx(shares.change)
    (won,) = recourse.find(row, mode="argmax").options
    assert model.predict(pd.DataFrame([won.x.astype(float)]))[0] == "high"
    assert won.cost <= result.options[-1].cost
    proof = recourse.find(row, 0.4, certify=True).certificate()
    if recourse.stepped:
        with pytest.raises(CertificateError, match="give from_model.model, schema. with"):
            verify(proof, model)
    else:
        assert verify(proof, model, x=row, wanted="high").status == "optimal"
    assert verify(proof, recourse.model, x=row, wanted="high").status == "optimal"
    read = from_model(model, SCHEMA, X)
    read.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.fingerprint_ == read.fingerprint_
    np.testing.assert_array_equal(again.predict_proba(X), read.predict_proba(X))


@pytest.mark.parametrize("kind", classes.KINDS)
def test_answers_are_those_of_enumeration(kind):
    seed = classes.KINDS.index(kind) + 2 * len(classes.KINDS)
    assert classes.judge(seed).broken == []


def test_the_wanted_class_must_be_named(forest):
    with pytest.raises(ValueError, match="has 3 classes, 'high', 'low', 'middle': say which one"):
        Recourse(forest, SCHEMA)


def test_to_win_no_level_is_asked_for(forest):
    recourse = Recourse(forest, SCHEMA, wanted="high")
    with pytest.raises(
        ValueError, match="mode='argmax' with confidence=\\[0.5\\]: it asks for none"
    ):
        recourse.find(X.iloc[0], 0.5, mode="argmax")


@pytest.fixture(scope="module")
def forest():
    return MODELS["forest"]().fit(X, Y)


def test_a_winner_below_one_half_is_accepted_wherever_it_is_told(forest, tmp_path):
    recourse = Recourse(forest, SCHEMA, "l1", wanted="middle")
    p, first = forest.predict_proba(X)[:, 2], forest.predict(X) == "middle"
    winner = recourse.find(X[first & (p < 0.5)].iloc[0], mode="argmax")
    assert not winner.refused
    assert "in the class middle, the most of any class" in repr(winner)
    assert letter(winner, **LETTER).accepted
    asked = (recourse.find(row, mode="argmax") for _, row in X[~first].iterrows())
    result = next(found for found in asked if found.options[0].confidence < 0.5)
    assert result.refused
    assert "in the class middle; another class has more" in repr(result)
    note = letter(result, **LETTER)
    assert [len(note.offers), note.accepted, note.offers[0].confidence < 50] == [1, False, True]
    assert "no smaller change that is allowed gives a yes the most" in " ".join(note.text().split())
    text = " ".join(evidence(result, pictures=False, certificates=False).text().split())
    assert "accepts: where it has the most of any class" in text
    assert waterfall_info(result.explain(0)).threshold is None
    with Ledger(tmp_path / "promises.db", key="a key for the tests, of no use elsewhere") as ledger:
        promise = ledger.promise(result, subject="Ann")
        (judged,) = ledger.check(recourse.model).judged
        assert (judged.accepted, judged.enough, judged.broken) == (True, True, False)
        redeemed = ledger.redeem(promise.id, result.options[0].x, recourse.model)
        assert (redeemed.holds_now, redeemed.held_then, redeemed.due) == (True, True, True)


def test_the_class_is_to_keep_the_most_within_a_radius(forest):
    recourse = Recourse(forest, SCHEMA, "l1", wanted="middle", decision_threshold=0.7)
    row = X[forest.predict(X) == "low"].iloc[0]
    result = recourse.find(row, mode="argmax", min_radius=0.05)
    assert result.radius() > 0.05
    assert "kept the most of any class within a radius of 0.05" in repr(result)
    with pytest.raises(ValueError, match="floor=0.6 with mode='argmax'"):
        recourse.find(row, mode="argmax", min_radius=0.05, floor=0.6)


@pytest.fixture(scope="module")
def regression():
    return MODELS["regression"]().fit(X, Y)


@pytest.mark.parametrize(("wanted", "radius"), [("middle", 0.05), ("high", 0.02), ("high", 0.1)])
def test_a_regression_keeps_the_most_in_every_corner_around_the_cheapest(
    regression, wanted, radius
):
    recourse = Recourse(regression, SCHEMA, "l1", wanted=wanted)
    row = X[regression.predict(X) == "low"].iloc[0]
    result = recourse.find(row, mode="argmax", min_radius=radius, continuous=True)
    scales = np.array([feature.scale for feature in SCHEMA])
    every = np.array(list(product(range(10), repeat=4)), float)
    kept = np.ones(len(every), bool)
    for corner in product((-1.0, 1.0), repeat=4):
        around = pd.DataFrame(every + radius * scales * corner, columns=list("abcd"))
        kept &= regression.predict(around) == wanted
    costs = (np.abs(every - row.to_numpy()) / scales).sum(axis=1)
    assert kept.any()
    assert not kept.all()
    (option,) = result.options
    assert str(option.status) == "optimal"
    assert option.cost == pytest.approx(costs[kept].min())
    assert result.radius() >= radius
    assert option.cost > recourse.find(row, mode="argmax").options[0].cost


def test_levels_beside_a_number_leave_its_radius_known():
    whole = X.assign(d=X.d % 3)
    model = LogisticRegression(max_iter=500).fit(whole, Y)
    levels = Feature("d", "ordinal", values=(0, 1, 2))
    schema = Schema((*(SCHEMA[name] for name in "abc"), levels))
    recourse = Recourse(model, schema, "l1", wanted="high")
    result = recourse.find(whole[model.predict(whole) == "low"].iloc[0], 0.6)
    safe, scales = result.radius(), [schema[name].scale for name in "abc"] + [0.0]
    own = result.options[0].x.to_numpy(float)
    corners = [own + 0.999 * safe * np.array(scales) * c for c in product((-1, 1), repeat=4)]
    said = model.predict_proba(pd.DataFrame(corners, columns=list("abcd")))
    assert safe > 0
    assert (said[:, list(model.classes_).index("high")] >= 0.5).all()
    assert result.robustness(sigma=0.001).probability > 0.99


def test_of_a_regression_what_room_is_not_known_for_a_confidence(regression):
    recourse = Recourse(regression, SCHEMA, "l1", wanted="middle")
    row = X[regression.predict(X) == "low"].iloc[0]
    with pytest.raises(ValueError, match="min_radius of a regression of several classes is known"):
        recourse.find(row, 0.4, min_radius=0.05)


def test_a_model_that_cannot_be_read_is_asked_by_trial():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((8,), max_iter=150, random_state=0).fit(X, Y)
    recourse = Recourse(model, SCHEMA, "l1", wanted="high")
    row = X[model.predict(X) == "low"].iloc[0]
    (option,) = recourse.find(row, mode="argmax", engine="spheres", n_trials=300).options
    assert model.predict(pd.DataFrame([option.x.astype(float)]))[0] == "high"


def test_a_tie_goes_to_the_class_that_comes_first():
    even = np.array([[0.4, 0.4, 0.2]])
    assert beside_strongest(even, 0)[0] >= 0.5 > beside_strongest(even, 1)[0]


# ---------------------------------------------------------------- machines


@pytest.fixture(scope="module")
def machine():
    return PTMClassifier(10, 20, epochs=5, thresholds=4, random_state=0).fit(X, Y)


def test_a_machine_of_several_classes_is_kept_and_asked(machine, tmp_path):
    p = machine.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (machine.classes_[p.argmax(axis=1)] == machine.predict(X)).all()
    assert (machine.predict(X) == Y).mean() > 0.7
    machine.save(tmp_path / "m.safetensors")
    again = PTMClassifier.load(tmp_path / "m.safetensors")
    assert again.fingerprint_ == machine.fingerprint_
    np.testing.assert_array_equal(again.predict_proba(X), p)
    assert set(machine.rules().bank) == {"high", "low", "middle"}
    row = X[machine.predict(X) == "low"].iloc[0]
    result = Recourse(machine, cost="l1", wanted="high").find(row, mode="argmax")
    (option,) = result.options
    why = result.explain(0)
    assert why.feature_shares.sum() == pytest.approx(why.change)
    assert machine.predict(pd.DataFrame([option.x.astype(float)]))[0] == "high"


def test_bounds_on_a_machine_of_several_classes_hold():
    given = {"link": "logistic", "epochs": 3, "thresholds": 3, "random_state": 0}
    judged = check_cell_model(TMClassifier(6, **given).fit(X, Y), X, n_boxes=60, n_questions=8)
    assert judged.conditions > 100
    assert judged.certificates == 16


def test_what_several_classes_have_not_is_told(machine):
    for link in ("margin", "vote"):
        with pytest.raises(ValueError, match=f"by link='{link}'; y holds 3 .* Set link='logistic'"):
            TMClassifier(link=link).fit(X, Y)
    with pytest.raises(ValueError, match="3 classes: it is a map of one confidence; of several"):
        PTMClassifier(calibration="sigmoid").fit(X, Y)
    with pytest.raises(ValueError, match="with link='vote': it divides log-odds"):
        PTMClassifier(link="vote", calibration="temperature").fit(X, Y)
    with pytest.raises(AttributeError, match="of several see `banks_`"):
        machine.raw_confidence(X)


def test_a_temperature_divides_all_log_odds_and_is_part_of_the_model(tmp_path, monkeypatch):
    given = {"n_clauses": 10, "n_states": 20, "epochs": 3, "thresholds": 4, "random_state": 0}
    cold, hot = (_tempered(monkeypatch, by, given) for by in (1.0, 4.0))
    np.testing.assert_allclose(np.log(cold.predict_proba(X)) @ [1, -1, 0] / 4.0,
                               np.log(hot.predict_proba(X)) @ [1, -1, 0], atol=1e-9)  # fmt: skip
    hot.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.fingerprint_ == hot.fingerprint_ != cold.fingerprint_
    np.testing.assert_array_equal(again.predict_proba(X), hot.predict_proba(X))
    row = X[hot.predict(X) == "low"].iloc[0]
    result = Recourse(hot, cost="l1", wanted="high").find(row, 0.4, certify=True)
    assert verify(result.certificate(), again, x=row, wanted="high").status == "optimal"
    with pytest.raises(ValueError, match="calibrated by fit, which learning on would undo"):
        hot.set_params(calibration=None).partial_fit(X, Y)


def _tempered(monkeypatch, by, given):
    """A machine whose rows held out are said to ask for this temperature."""
    seen = []
    monkeypatch.setattr(calibration, "temperature", lambda *rows: seen.append(rows) or by)
    model = PTMClassifier(calibration="temperature", **given).fit(X, Y)
    ((scores, told),) = seen
    assert scores.shape == (len(X), 3)
    assert (model.classes_[told] == Y).all()
    assert (scores.argmax(axis=1) == told).mean() > 0.5  # of machines that learnt from others
    return model


def test_a_temperature_is_that_of_the_least_log_loss():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 4))
    true = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = (rng.random((4000, 1)) > true.cumsum(axis=1)).sum(axis=1)
    for by in (0.3, 1.0, 5.0):
        assert temperature(by * scores, y) == pytest.approx(by, rel=0.1)
    sure = np.eye(3)[np.arange(30) % 3] * 5.0
    assert 0.3 < temperature(sure, np.arange(30) % 3) < 1.5  # thirty rows make nothing certain


def test_a_machine_of_several_classes_learns_on():
    model = PTMClassifier(10, 20, thresholds=4, random_state=0)
    model.partial_fit(X.head(60), Y[:60], classes=np.unique(Y))
    before = model.inclusion_.copy()
    model.partial_fit(X.tail(60), Y[60:])
    assert (model.n_iter_, model.predict_proba(X).shape) == (2, (120, 3))
    assert (model.inclusion_ != before).any()
