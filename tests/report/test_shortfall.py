"""Reasons beside other applicants: against a plain recomputation, and what is refused."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import reference
from trust_recourse import Recourse, Schema, evidence, haberman, letter
from trust_recourse.report.language import ENGLISH
from trust_recourse.report.letter.reasons import (
    LEAST,
    MOST,
    PASSED,
    Apart,
    Reason,
    beside,
    shortfall,
)
from worlds import paper_machine

GIVEN = {
    "organisation": "A bank", "contact": "Ann Lee", "valid_until": "2027-01-31",
    "dated": "2026-11-15",
}  # fmt: skip
METHODS = ("just-passed", "all-applicants")


@cache
def applicants(rows=300):
    """Applicants of four kinds of columns, some values missing, and whom the bank took."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "income": rng.gamma(4, 9, rows).round(1),
            "debt": rng.integers(0, 40, rows),
            "home": rng.choice(["own", "rent", "free"], rows),
            "years": rng.integers(0, 12, rows).astype(float),
        }
    )
    X.loc[rng.random(rows) < 0.1, "years"] = -9.0
    odds = X.income - X.debt + 9 * (X.home == "own") + X.years.clip(lower=0) - 22
    schema = Schema.infer(X, missing={"years": (-9.0,)})
    return X, (odds + rng.normal(0, 6, rows) > 0).astype(int).to_numpy(), schema


@cache
def trees():
    X, y, schema = applicants()
    coded = pd.DataFrame(schema.encode(X), columns=schema.names)
    with threadpool_limits(1):
        few = {"n_estimators": 9, "num_leaves": 6, "min_child_samples": 10, "n_jobs": 1}
        given = LGBMClassifier(**few, random_state=0, verbose=-1).fit(coded, y)
    return given, Recourse(given, Schema.infer(coded, missing={"years": float("nan")})), coded


def refused(recourse, X, most=4):
    low = recourse.confidences(recourse.schema.encode(X)) < 0.4
    found = [recourse.find(x, 0.5) for _, x in X[low].head(most).iterrows()]
    assert len(found) == most
    return found


def just_passed(confidence):
    """The rows that are accepted, the nearest to one half first; no code of ours."""
    passed = sorted((c, i) for i, c in enumerate(confidence) if c >= 0.5)
    return [i for _, i in passed[:PASSED]]


def by_coalitions(score, a, b):
    """Shapley's values by definition: what a feature's move brings, after each set of others."""
    many = len(a)
    every = [*itertools.product([False, True], repeat=many)]
    told = dict(zip(every, score(np.where(every, b, a)), strict=True))
    found = np.zeros(many)
    for f, moved in itertools.product(range(many), every):
        if not moved[f]:
            before = sum(moved)
            after = tuple(m or g == f for g, m in enumerate(moved))
            orders = math.factorial(before) * math.factorial(many - before - 1)
            found[f] += orders / math.factorial(many) * (told[after] - told[moved])
    return found


@pytest.mark.parametrize("method", METHODS)
def test_the_scores_of_trees_are_shapley_s_values_by_the_library_itself(method):
    given, recourse, X = trees()

    def logit(rows):
        return given.booster_.predict(rows, raw_score=True)

    rows = X.to_numpy()
    others = rows[just_passed(given.predict_proba(X)[:, 1])] if "just" in method else rows
    for result in refused(recourse, X, 2):
        own = X.loc[result.factual.name].to_numpy()
        plain = np.mean([by_coalitions(logit, own, b) for b in others], axis=0)
        told = shortfall(result, X, method)
        assert told.rows == len(others) > 50
        np.testing.assert_allclose(told.scores, plain, atol=1e-9)
        gap = logit(others).mean() - logit(own[None])[0]
        assert told.gap == pytest.approx(gap, abs=1e-9)
        assert np.abs(plain).max() > 0.1


def clauses_plainly(model, x):
    """Each clause's factors by feature and what it loses by saying nothing, from π alone."""
    truth = reference.literal_truth(x, model.thresholds_, [None] * 3, [False] * 3)
    owners = np.repeat(np.arange(len(x)), [len(t) for t in model.thresholds_])
    owners = np.concatenate([owners, owners])
    kept = np.where(truth, 1.0, 1.0 - model.inclusion_)
    factors = np.array([kept[:, owners == f].prod(axis=1) for f in range(len(x))])
    return factors, (1.0 - model.inclusion_).prod(axis=1)


def slopes_plainly(model, q):
    """∂M/∂q_j: of the logistic link, or by firing and silencing a clause in the law of votes."""
    if model.link == "logistic":
        signed = model.polarity_ * model.weights_
        p = reference.logistic(model.intercept_ + signed @ q)
        return p * (1 - p) * signed
    return np.array([votes(model, q, j, 1.0) - votes(model, q, j, 0.0) for j in range(len(q))])


def votes(model, q, j, fires):
    """M by the law of v, the clause j firing so likely."""
    law = np.zeros(2 * len(q) + 1)
    law[len(q)] = 1.0
    for k, (chance, sign) in enumerate(zip(q, model.polarity_, strict=True)):
        chance = fires if k == j else chance
        law = (1 - chance) * law + chance * np.roll(law, sign)
    worth = [reference.link_value(v, model.link, model.T) for v in range(-len(q), len(q) + 1)]
    return float(law @ worth)


@pytest.mark.parametrize("link", ["logistic", "margin"])
def test_the_scores_of_a_machine_are_those_of_the_paper_s_factors(link):
    X, y = haberman()
    model = paper_machine(n_clauses=6, epochs=5, link=link, random_state=1).fit(X, y)
    recourse = Recourse(model, decision_threshold=float(np.median(model.predict_proba(X)[:, 1])))
    confidence = model.predict_proba(X)[:, 1]
    own = X.iloc[int(confidence.argmin())]
    result = recourse.find(own, 0.5, time_limit=1.0)
    passed = sorted((c, i) for i, c in enumerate(confidence) if c >= recourse.decision_threshold)
    others = [i for _, i in passed[:PASSED]]
    nodes, weights = np.polynomial.legendre.leggauss(24 if link == "logistic" else 4)
    here, none = clauses_plainly(model, own.to_numpy(float))
    known = {}
    for i in others:
        b = tuple(X.iloc[i].to_numpy(float))
        if b not in known:
            there, _ = clauses_plainly(model, np.array(b))
            qa, qb = here.prod(axis=0) - none, there.prod(axis=0) - none
            way = [slopes_plainly(model, qa + (t + 1) / 2 * (qb - qa)) for t in nodes]
            mean = weights @ np.array(way) / 2
            before, after = here.prod(axis=0), there.prod(axis=0)
            apart = np.log(after / before)
            still = np.abs(apart) < 1e-9
            whole = np.where(still, 1.0, apart)
            middle = np.where(still, (before + after) / 2, (after - before) / whole)
            known[b] = (mean * middle * np.log(there / here)).sum(axis=1)
    plain = np.mean([known[tuple(X.iloc[i].to_numpy(float))] for i in others], axis=0)
    told = shortfall(result, X, "just-passed")
    np.testing.assert_allclose(told.scores, plain, atol=1e-7)
    gap = confidence[others].mean() - confidence.min()
    assert told.gap == pytest.approx(gap, abs=1e-9)
    assert np.abs(told.scores).max() > 0.01


@pytest.mark.parametrize("method", METHODS)
def test_the_letter_names_the_four_greatest_shortfalls_whatever_the_bounds(method):
    given, recourse, X = trees()
    for result in refused(recourse, X, 2):
        told = shortfall(result, X, method)
        expected = np.argsort(-told.scores, kind="stable")[:MOST]
        made = letter(result, **GIVEN, reference=X, reasons=method)
        assert made.method == method
        least = LEAST * told.scores.clip(min=0).sum()
        assert [r.feature.name for r in made.reasons] == [
            recourse.schema.names[f] for f in expected if told.scores[f] >= least
        ]
        assert [r.weight for r in made.reasons] == [
            float(told.scores[f]) for f in expected if told.scores[f] >= least
        ]
        wide = recourse.schema.update("income", lower=0, upper=1.7e6).update("debt", upper=1e6)
        far = Recourse(given, wide)
        again = letter(far.find(result.factual, 0.5), **GIVEN, reference=X, reasons=method)
        assert [(r.feature.name, r.weight) for r in again.reasons] == [
            (r.feature.name, r.weight) for r in made.reasons
        ]


def test_a_side_says_how_a_value_lies_beside_theirs():
    X, y, _ = applicants()
    X = X[["income", "debt"]]
    with threadpool_limits(1):
        recourse = Recourse(LogisticRegression().fit(X, y), Schema.infer(X))
    result = recourse.find({"income": 5.0, "debt": 39}, 0.5)
    told = shortfall(result, X, "just-passed")
    assert told.sides == ("low", "high")
    assert told.typical[0] > 5.0
    assert told.typical[1] < 39
    made = letter(result, **GIVEN, reference=X)
    assert {r.side for r in made.reasons} == {"low", "high"}
    assert f"Usual among them: {told.typical[1]}." in made.text()


def test_what_cannot_be_compared_is_said():
    _, recourse, X = trees()
    result = refused(recourse, X, 1)[0]
    for given, said in (
        ({"reasons": "just-passed"}, "reasons='just-passed' compares with other applicants, and"),
        ({"reasons": "just-pased"}, "expected one of .*; did you mean 'just-passed'?"),
        ({"reference": X[recourse.confidences(X.to_numpy()) < 0.5]}, "no row that the model"),
        ({"reference": X[:0], "reasons": "all-applicants"}, "reference: no row at all"),
        ({"reference": X.drop(columns="debt")}, "debt"),
    ):
        with pytest.raises(ValueError, match=said):
            letter(result, **GIVEN, **given)
    own = Recourse(lambda rows: 0.2 + 0.0 * rows["income"], recourse.schema)
    with pytest.raises(ValueError, match="does not say what its answer is made of"):
        letter(own.find(result.factual, 0.5, engine="spheres"), **GIVEN, reference=X)


@pytest.mark.parametrize("rows", [None, 12])
def test_how_far_those_reach_who_just_passed(rows):
    _, recourse, coded = trees()
    (result,) = refused(recourse, coded, 1)
    sure = recourse.confidences(recourse.schema.encode(coded))
    table = coded if rows is None else coded[np.argsort(-sure) < rows]
    beside = shortfall(result, table, "just-passed")
    nearest = np.sort(sure[table.index][sure[table.index] >= 0.5])[:PASSED]
    assert beside.reach == (nearest[0], nearest[-1])
    assert f"the {len(nearest)} accepted applicants nearest above the threshold" in beside.words
    made = letter(result, **GIVEN, reference=table)
    assert made.record()["reference_confidence"] == [*beside.reach]
    told = " ".join(evidence(result, reference=table, certificates=False).text().split())
    assert beside.words in told


def test_the_evidence_report_has_the_reasons_of_the_letter():
    _, recourse, coded = trees()
    for result in refused(recourse, coded):
        made = letter(result, **GIVEN, reference=coded)
        how = {"certificates": False, "pictures": False}
        told = evidence(result, **how, reference=coded).text().partition("THE MODEL")[0]
        places = [told.rindex(f"\n{reason.feature.title} ") for reason in made.reasons]
        assert places == sorted(places)
        assert all(f"{reason.weight:.3f}" in told for reason in made.reasons)
        alone = " ".join(evidence(result, **how).text().split())
        assert "By the method nearest-yes: the person is compared with the nearest yes" in alone
        assert "so a value that may not change is not among the reasons" in alone


@cache
def claims():
    """Whom a sum of points accepts, by past claims, a lock, and a score; most have one claim."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "claims": rng.choice([0, 1], 400, p=[0.35, 0.65]),
            "lock": rng.choice([0, 1, 2], 400, p=[0.7, 0.1, 0.2]),
            "score": rng.normal(0, 1, 400).round(2),
        }
    )
    words = {0: "no lock", 1: "basic", 2: "alarm"}
    lock = {"values": (0, 1, 2), "labels": words}
    schema = Schema.infer(X.astype({"lock": str})).update("claims", mutable=False)
    schema = schema.update("lock", **lock)
    odds = 2.0 * X.score - 2.5 * X.claims + 1.5 * (X.lock == 2) - (X.lock == 1)
    with threadpool_limits(1):
        few = {"n_estimators": 30, "num_leaves": 4, "n_jobs": 1, "verbose": -1}
        model = LGBMClassifier(**few, random_state=0).fit(X, (odds > -1).astype(int))
    return Recourse(model, schema), X, schema


def told_of(made, title):
    """What a letter says of one of its reasons."""
    (points,) = (each for each in made.document.blocks if getattr(each, "numbered", False))
    return next(each.removeprefix(f"{title}: ") for each in points.items if each.startswith(title))


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("method", METHODS)
def test_a_reason_whose_value_is_usual_says_who_has_another(method):
    recourse, X, schema = claims()
    result = recourse.find({"claims": 1, "lock": 0, "score": -1.2}, 0.5)
    made = letter(result, **GIVEN, reference=X, reasons=method)
    table = X
    if method == "just-passed":
        table = X.iloc[just_passed(recourse.confidences(schema.encode(X)))]
    assert (table.claims == 1).mean() > 0.5
    fewer, alarms = (table.claims == 0).sum(), (table.lock == 2).sum()
    against = f"It counts against you that {{}} of {len(table)} have {{}}."
    usual = "This is usual among them."
    assert told_of(made, "claims") == f"1. {usual} {against.format(fewer, 0)}"
    assert told_of(made, "lock") == f"no lock. {usual} {against.format(alarms, '“alarm”')}"
    reasons = {each["features"][0]: each["apart"] for each in made.record()["reasons"]}
    assert reasons["claims"] == [{"rows": fewer, "value": 0}]
    assert reasons["lock"] == [{"rows": alarms, "value": 2}]
    told = flat(evidence(result, reference=X, reasons=method, certificates=False).text())
    assert f"{fewer} of {len(table)}: 0" in told
    german = letter(result, **GIVEN, reference=X, reasons=method, language="de")
    assert f"Gegen Sie spricht: {fewer} von {len(table)} haben 0." in flat(german.text())


def test_a_number_is_beside_lower_ones_and_a_shared_value_is_named():
    recourse, X, schema = claims()
    result = recourse.find({"claims": 1, "lock": 0, "score": -1.2}, 0.5)
    told = shortfall(result, X.assign(score=np.where(X.index % 3, -1.2, X.score)), "all-applicants")
    higher = int((X.score[X.index % 3 == 0] > -1.2).sum())
    assert told.apart[schema.position("score")] == (higher, None)
    assert told.typical[schema.position("score")] == -1.2
    reason = Reason(schema["score"], side="low", usual=-1.2, apart=Apart(1, 0.5))
    assert beside(reason, -1.2, 100, ENGLISH).endswith("that 1 of 100 has 0.50.")
    assert beside(reason._replace(apart=Apart(2)), -1.2, 100, ENGLISH).endswith("a higher value.")
    alone = "It counts against you together with your other values."
    assert beside(reason._replace(apart=Apart()), -1.3, 100, ENGLISH) == alone
