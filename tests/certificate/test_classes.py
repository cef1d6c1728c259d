"""Certificates of one class among several: the engine's own are confirmed, forged ones refused."""

from __future__ import annotations

import json
from copy import copy
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from trust_recourse import (
    Certificate,
    CertificateError,
    Feature,
    PTMClassifier,
    Recourse,
    Schema,
    Status,
)
from trust_recourse.certificate import check, readers
from trust_recourse.models import Additive, ClassSums, from_model

TRUE = {"optimal", "infeasible", "already_met"}
KINDS = ["points", "lightgbm", "boosting", "forest", "regression", "logistic"]
MARGINS = ["points", "boosting", "regression", "logistic"]  # which have shares


@lru_cache
def wine():
    data = load_wine(as_frame=True)
    X = data.data[["alcohol", "flavanoids", "color_intensity", "proline"]].round(2)
    return X, data.target, Schema.infer(X)


@lru_cache
def model(kind):
    X, y, schema = wine()
    if kind == "points":
        return points()
    if kind == "logistic":
        return PTMClassifier(10, epochs=5, link=kind, random_state=0).fit(X, y)
    if kind == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
        made = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=5, verbose=-1)
    elif kind == "boosting":
        made = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0)
    elif kind == "forest":
        made = RandomForestClassifier(8, max_depth=3, random_state=0)
    else:
        schema = Schema(
            tuple(
                Feature(f.name, lower=f.lower, upper=f.upper, scale=f.scale, step=f.scale / 50)
                for f in schema
            )
        )
        made = LogisticRegression(max_iter=5000)
    return from_model(made.fit(X, y), schema)


def points(shift=0.0):
    """Three classes with points of two features: the last is for a high income and little debt."""
    ends = {"lower": 0, "upper": 9, "scale": 9.0}
    schema = Schema((Feature("income", "integer", **ends), Feature("debt", step=0.01, **ends)))
    each = [
        Additive(schema, [[2, 5, 7], [1, 4, 7]], list(of), base=base)
        for base, *of in (
            (0.7 + shift, [1.3, 0.4, -0.2, -1.1], [-1.0, 0.2, 0.7, 1.9]),
            (0.1, [-0.4, 0.6, 0.8, -0.3], [0.2, 0.9, -0.3, -0.6]),
            (-0.5, [-1.2, -0.3, 0.5, 1.7], [1.6, 0.4, -0.8, -1.4]),
        )
    ]
    return ClassSums(tuple(each), np.array(["a", "b", "c"]))


def person(kind):
    if kind == "points":
        return {"income": 3, "debt": 2.0}
    X, _, _ = wine()
    return X.iloc[0]


def asked(kind, wanted, cost="l1", **question):
    """A question to one of the models, and its certificate as a file has it."""
    recourse = Recourse(model(kind), None, cost, wanted=model(kind).classes_[wanted])
    result = recourse.find(person(kind), certify=True, **question)
    return result, json.loads(result.certificate().to_json())


def confirmed(told, kind, **given):
    return check(Certificate.from_dict(told), model(kind), **given)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", [0, 2])
@pytest.mark.parametrize(
    "question",
    [
        {"confidence": 0.4},
        {"confidence": 0.9999},
        {"confidence": 0.3, "mode": "band", "tolerance": 0.05},
        {"mode": "argmax"},
    ],
    ids=str,
)
def test_an_answer_is_proved(kind, wanted, question):
    result, told = asked(kind, wanted, **question)
    ((target, status),) = result.status.items()
    label = model(kind).classes_[wanted]
    verdict = confirmed(told, kind, x=person(kind), target=target, wanted=label)
    assert verdict.status == status
    assert status in TRUE


def test_nobody_is_told_that_a_class_cannot_win_since_it_cannot_win_by_far():
    _, told = asked("points", 2, confidence=0.9999)
    assert told["status"] == "infeasible"
    told["target"] |= {"mode": "argmax"}
    with pytest.raises(
        CertificateError, match="mode='argmax' with confidence=0.9999; expected 0.5"
    ):
        confirmed(told, "points")


def test_it_is_the_cheapest_by_enumeration():
    _, told = asked("points", 2, confidence=0.5)
    rows = pd.DataFrame(
        [(i, d / 100) for i in range(10) for d in range(901)], columns=["income", "debt"]
    )
    enough = model("points").predict_proba(rows)[:, 2] >= 0.5 - 1e-9
    cost = (rows["income"] - 3).abs() / 9 + (rows["debt"] - 2).abs() / 9
    confirmed(told, "points")
    assert told["lower_bound"] <= cost[enough].min()
    assert told["lower_bound"] == pytest.approx(cost[enough].min(), abs=0.01 / 9)


@pytest.fixture(params=MARGINS)
def honest(request):
    result, told = asked(request.param, 2, confidence=0.6)
    assert result.options[0].status == "optimal"
    return request.param, told


def test_one_with_shares_that_are_none_is_refused(honest):
    kind, told = honest
    for shares, why in (
        ([0.5, 0.25, 0.0], "1 together"),
        ([1.5, -0.5, 0.0], "none of the other"),
        ([0.5, 0.0, 0.5], "none of the other"),
        ([0.5, 0.5, 2.0**-60], "none of the other"),
        ([1.0 - 2.0**-53, 2.0**-54, 0.0], "1 together"),
        ([1.0, 0.0], "one for each of 3"),
        ([], "one for each of 3"),
        (["nan", 1.0, 0.0], "none of the other"),
    ):
        with pytest.raises(CertificateError, match=why):
            confirmed(told | {"shares": shares}, kind)


@pytest.mark.parametrize("kind", MARGINS)
@pytest.mark.parametrize("mode", ["at_least", "argmax"])
def test_a_margin_is_below_every_tangent_and_on_its_own(kind, mode):
    given, rng = model(kind), np.random.default_rng(0)
    own = given.schema_.action_set(person(kind)).own
    totals = given.totals(own[None])[0]
    margin = {
        "at_least": totals[2] - np.log(np.exp(totals[:2]).sum()),
        "argmax": totals[2] - totals[:2].max(),
    }[mode]
    first, least = 1.0 / (1.0 + np.exp(totals[1] - totals[0])), np.inf
    for share in (0.0, 1.0, first, *rng.random(12).tolist()):
        q = round(share * 2**20) / 2**20
        shares = (q, 1.0 - q, 0.0)
        read = readers.read(given, 2, shares, mode == "argmax")
        read = read.on({f: own[f : f + 1] for f in read.slopes})
        cells = [read.cells(f, of, own[f : f + 1]) for f, of in enumerate(given.schema_)]
        here = np.zeros((1, len(own)), int)
        low, high = read.tangent.bounds(cells).scores(here, here)
        assert margin <= high[0] - read.entropy
        assert high[0] - low[0] <= 1e-9
        least = min(least, high[0] - read.entropy)
    assert least == pytest.approx(margin, abs=1e-4)


@pytest.mark.parametrize("kind", MARGINS)
def test_one_that_claims_more_is_refused(kind):
    _, told = asked(kind, 2, confidence=0.6)
    answer = told["answer"]
    dearer = {"status": "feasible", "lower_bound": told["lower_bound"] * 1.01}
    nothing = {"status": "infeasible", "answer": None, "lower_bound": "inf"}
    surer = {"answer": answer | {"confidence": answer["confidence"] + 1e-6}}
    for forged in (dearer, nothing, surer, {"answer": answer | {"cost": answer["cost"] / 2}}):
        with pytest.raises(CertificateError):
            confirmed(told | forged, kind)


def test_one_with_functions_or_prices_that_are_none_is_refused():
    _, told = asked("boosting", 2, confidence=0.6)
    first, *others = told["steps"]
    for part, why in (({"numbers": first["numbers"][:-1]}, "atoms"), ({"price": -1.0}, "price")):
        with pytest.raises(CertificateError, match=why):
            confirmed(told | {"steps": [first | part, *others]}, "boosting")
    with pytest.raises(CertificateError):  # by which no value goes
        confirmed(told | {"steps": []}, "boosting")


def test_that_of_another_model_or_class_is_refused():
    _, told = asked("points", 2, confidence=0.5)
    with pytest.raises(CertificateError, match="about the model"):
        check(Certificate.from_dict(told), points(shift=0.1))
    with pytest.raises(CertificateError, match="wanted class is 'c'"):
        confirmed(told, "points", wanted="b")
    for wanted in (1, 3, -1):
        with pytest.raises(CertificateError):
            confirmed(told | {"wanted": wanted}, "points")


def test_whoever_leads_by_less_than_a_tie_does_not_win():
    schema = Schema((Feature("x", "integer", lower=0, upper=3, scale=3.0),))
    each = [Additive(schema, [[0, 1]], [of]) for of in ([1.0, 1.0, 0.0], [0.0, 1.0, 1.0])]
    tied = ClassSums((*each, Additive(schema, [[0, 1]], [[-1.0, -1.0, -1.0]])), np.arange(3))
    for wanted, start, x in ((1, 0, 2), (0, 3, 1)):  # at 1 both have as much, which is class 0's
        result = Recourse(tied, wanted=wanted).find({"x": start}, mode="argmax", certify=True)
        assert result.options[0].x["x"] == x
        verdict = check(result.certificate(), tied, x={"x": start})
        assert verdict.status == "optimal"


def test_a_proof_of_one_class_has_no_use_for_shares():
    _, told = asked("forest", 2, confidence=0.5)
    assert "shares" not in told
    told = {"steps": [], "functions": []} | told | {"shares": [0.5, 0.5, 0.0]}
    with pytest.raises(CertificateError, match="shares, which no proof"):
        confirmed(told, "forest")


def test_a_proof_about_a_machine_has_no_functions_and_its_banks_are_of_one_kind(monkeypatch):
    _, told = asked("logistic", 2, confidence=0.6)
    confirmed(told, "logistic")
    step = {"price": 1.0, "unit": 0, "numbers": []}
    with pytest.raises(CertificateError, match="functions, which no proof about Tsetlin"):
        confirmed(told | {"steps": [step]}, "logistic")
    with pytest.raises(CertificateError, match="wanted class is 2, not 1"):
        confirmed(told, "logistic", wanted=1)
    given = model("logistic")
    for banks in (given.banks_[:2], (*given.banks_[:2], _shifted(given.banks_[2]))):
        monkeypatch.setattr(type(given), "banks_", banks)
        monkeypatch.setattr(type(given), "fingerprint_", told["fingerprint"])
        with pytest.raises(CertificateError, match="not one for each class, of one kind"):
            confirmed(told, "logistic")


def _shifted(bank):
    """The same with other thresholds."""
    other = copy(bank)
    other.thresholds_ = tuple(each + 1.0 for each in bank.thresholds_)
    return other


def test_of_more_classes_than_two_sums_alone_are_read(monkeypatch):
    _, told = asked("points", 2, confidence=0.5)
    monkeypatch.setattr(Additive, "family", "tsetlin")
    with pytest.raises(CertificateError, match="not a sum each, on one schema"):
        confirmed(told, "points")


def test_banks_that_weigh_nothing_are_certified_too():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 3, (20, 2)), 3, axis=0).astype(float)
    y = np.tile([0, 1, 2], 20)
    model = PTMClassifier(2, 20, T=3, epochs=2, thresholds=3, link="logistic", random_state=0)
    model.fit(X, y)
    asked = Recourse(model, wanted=1)
    x = dict(zip(model.schema_.names, X[0], strict=True))
    for mode in ("at_least", "band", "argmax"):
        found = asked.find(x, mode=mode) if mode == "argmax" else asked.find(x, 0.5, mode=mode)
        assert check(found.certificate(), model).status is Status.INFEASIBLE
