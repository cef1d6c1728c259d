"""Every surface with every family of sums, as people would use it."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec

import httpx
import numpy as np
import pytest
from pypdf import PdfReader
from threadpoolctl import threadpool_limits

from serving import running
from trust_recourse import (
    Audit,
    Ledger,
    Recourse,
    Schema,
    evidence,
    haberman,
    letter,
    model_report,
    verify,
)
from trust_recourse.answers import plot
from trust_recourse.answers.many import packed, unpacked
from trust_recourse.models import Additive
from trust_recourse.population import batch
from trust_recourse.web.state import AppState

FAMILIES = {
    "lightgbm": "tree", "xgboost": "tree", "forest": "tree", "points": "bin",
    "regression": "points per unit",
}  # fmt: skip
HERE = [name for name in FAMILIES if name not in ("lightgbm", "xgboost") or find_spec(name)]
every = pytest.mark.parametrize("family", HERE)
GIVEN = {"organisation": "A clinic", "contact": "Ann, 555 0100", "valid_until": "2099-01-31"}


@cache
def fitted(family, seed=0):
    """A model as its library has it, learnt anew for another seed."""
    X, y = haberman()
    rows = np.random.default_rng(seed).permutation(len(X))[: 280 if seed else None]
    X, y = X.iloc[rows], y.iloc[rows]
    with threadpool_limits(1):
        if family == "lightgbm":
            from lightgbm import LGBMClassifier

            few = {"n_estimators": 12, "num_leaves": 6, "min_child_samples": 8}
            return LGBMClassifier(**few, n_jobs=1, random_state=0, verbose=-1).fit(X, y)
        if family == "xgboost":
            from xgboost import XGBClassifier

            return XGBClassifier(n_estimators=12, max_depth=3, n_jobs=1, random_state=0).fit(X, y)
        if family == "forest":
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(12, max_depth=4, n_jobs=1, random_state=0).fit(X, y)
        if family == "regression":
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression().fit(X, y)
    points = [[0.4, 0.1, -0.6], [-0.2, 0.3], [1.4, 0.6, -0.4 - seed, -1.3]]
    return Additive(schema(), [[45, 60], [62], [1, 4, 12]], points)


@cache
def schema():
    made = Schema.infer(haberman()[0]).lock("year").update("nodes", direction="decrease")
    return made.update("age", protected=True, unit="years")


@cache
def asked(family):
    """Answers for somebody whom the model refuses."""
    recourse = Recourse(fitted(family), schema(), cost="l1")
    X, _ = haberman()
    found = (recourse.find(x, [0.5, 0.6]) for _, x in X.iterrows() if recourse.confidence(x) < 0.45)
    return next(result for result in found if len(result.options) == 2)


@every
def test_a_letter(family, tmp_path):
    result = asked(family)
    written = letter(result, **GIVEN, protected_reviewed=["age"], reviewed_by="Jo Doe")
    assert not written.accepted
    assert written.offers
    assert "It is proved that no smaller change" in " ".join(written.text().split())
    written.save(tmp_path / "letter.pdf")
    assert len(PdfReader(tmp_path / "letter.pdf").pages) == 1
    said = written.html()
    assert "The main reasons" in said
    for word in ("SumModel", "Additive", "log-odds", "tree"):
        assert word not in said  # whom it is for never met one


@every
def test_an_evidence_report(family, tmp_path):
    result, noun = asked(family), FAMILIES[family]
    X, y = haberman()
    report = model_report(result.recourse.model, X, y, folds=3)
    assert report.fixed
    assert [use.models for use in report.protected] == [1]
    found = evidence(result, report=report, verify=True)
    said = " ".join(found.text().split())
    assert f"kind: {result.recourse.model.parts_of(1).kind} fingerprint" in said
    assert not any(word in said for word in ("SumModel", "Additive"))
    assert "WHAT THE MODEL ADDS UP" in said
    assert "by the model as it is" in said
    assert "This model has no rules to show" not in said
    assert "WHAT THE OPTIONS REST ON" not in said
    why = result.explain(0)
    assert f"WHY OPTION 1: SHARES OF THE CHANGE IN {why.score.upper()}" in said
    assert f"{why.note[1:]}." in said
    mover = why.movers()[0]
    assert f"{mover.name}: where: " in said or mover.name in said
    assert mover.name.startswith(noun)
    assert "TWO OPTIONS SIDE BY SIDE" in said
    assert all(verdict.startswith("holds") for verdict in found.verdicts.values())
    assert len(found.verdicts) == 2
    found.save(tmp_path / "evidence.pdf")
    assert "age, which is protected" in said


@pytest.mark.skipif(not find_spec("lightgbm"), reason="no lightgbm")
def test_a_model_report_of_a_library_s_own_model_learns_anew_and_says_what_it_uses():
    X, y = haberman()
    report = model_report(fitted("lightgbm"), X, y, folds=2, schema=schema())
    assert not report.fixed
    (use,) = report.protected
    assert (use.feature.name, use.models, use.used) == ("age", 2, 2)
    assert 0 < use.moved < 1


@every
def test_answers_are_kept_in_a_file_and_read_with_the_library_s_own_model(family, tmp_path):
    result = asked(family)
    result.save(tmp_path / "result.json")
    again = Recourse.read(tmp_path / "result.json", fitted(family))
    assert repr(again) == repr(result)
    assert repr(again.explain(1)) == repr(result.explain(1))
    assert verify(again.certificate(0.5), again.recourse.model)
    with pytest.raises(ValueError, match="another model"):
        Recourse.read(tmp_path / "result.json", fitted(family, 7))


@every
def test_answers_to_a_question_with_rules_of_its_own_are_read_with_the_library_s_own_model(
    family, tmp_path
):
    x, recourse = asked(family).factual, Recourse(fitted(family), schema(), cost="l1")
    rules = {"lock": ["age"], "limits": {"nodes": (0, 20)}, "max_changes": 1, "cost": "l2"}
    result = recourse.find(x, 0.5, decision_threshold=0.4, **rules)
    result.save(tmp_path / "result.json")
    again = Recourse.read(tmp_path / "result.json", fitted(family))
    assert repr(again) == repr(result)
    assert again.recourse.schema == result.recourse.schema
    assert again.recourse.model.fingerprint_ == recourse.model.fingerprint_
    anew = again.recourse.ask(x, again.question)
    assert [option.changes for option in anew.options] == [o.changes for o in result.options]
    with pytest.raises(ValueError, match="another model"):
        Recourse.read(tmp_path / "result.json", fitted(family, 7))


def test_answers_on_steps_that_were_added_are_read_with_the_library_s_own_model(tmp_path):
    free = schema().update("age", protected=False, kind="number", step=None)
    recourse = Recourse(fitted("regression"), free, cost="l1")
    assert recourse.stepped == ("age",)
    result = recourse.find(asked("regression").factual, 0.6)
    result.save(tmp_path / "result.json")
    again = Recourse.read(tmp_path / "result.json", fitted("regression"))
    assert repr(again) == repr(result)


@every
def test_pictures(family):
    first, second = asked(family).explain(0), asked(family).explain(1)
    info = plot.waterfall_info(first)
    assert info.by == "feature"
    assert info.shares.sum() == pytest.approx(first.change, abs=1e-9)
    assert info.end[1] - info.start[1] == pytest.approx(first.change, abs=1e-9)
    side = info.end[1] >= info.threshold, first.end.confidence >= first.threshold
    assert side[0] == side[1]
    ax = plot.draw_waterfall(info)
    note = first.note.partition(": ")[0]
    assert note.startswith("shares of the ")
    what, told = ax.get_xlabel().split("\n", 1)
    assert (what, " ".join(told.split())) == (f"{first.score} of class 1", f"({note})")
    drawn = plot.draw_duel(plot.duel_info(first, second))
    what, told = drawn.get_xlabel().split("\n", 1)
    assert what == f"share of the change in {first.score}"
    assert " ".join(told.split()) == f"({note})"
    with pytest.raises(TypeError, match=f"by {first.noun}s, which have no literals"):
        plot.rule_map_info(first)


@every
def test_a_promise_and_the_gate_of_a_model_learnt_anew(family, tmp_path):
    result = asked(family)
    with Ledger(tmp_path / "promises.db", key="a key for the tests alone") as ledger:
        proof = result.certificate(0.5)
        made = ledger.promise(result, 0, subject="ann", days=30, certificate=proof)
        assert made.model == result.recourse.model.fingerprint_
        same = ledger.check(fitted(family))  # the library's own model, as it comes
        assert same.model == made.model
        assert not same.broken
        other = fitted(family, 7)
        gate = ledger.check(other)
        read = Recourse(other, schema()).model
        assert gate.model == read.fingerprint_ != made.model
        (judged,) = gate.judged
        promised = result.options[0].x.to_frame().T.astype(haberman()[0].dtypes)
        assert judged.confidence == float(read.predict_proba(promised)[0, 1])
        assert judged.accepted == (judged.confidence >= 0.5)
        if judged.broken and judged.repair is not None:
            assert judged.repair.confidence >= 0.5
        found = ledger.redeem(made.id, result.options[0].x, other, promised_by=fitted(family))
        assert found.due
        assert found.model == read.fingerprint_


@every
def test_a_batch_and_its_audit(family, tmp_path):
    X, _ = haberman()
    recourse = Recourse(fitted(family), schema(), cost="l1")
    people = X[[recourse.confidence(x) < 0.5 for _, x in X.iterrows()]].head(40)
    people.to_csv(tmp_path / "people.csv", index=False)
    counts = batch.run(recourse, tmp_path / "people.csv", tmp_path / "out", 0.5, n_jobs=1)
    assert sum(counts.values()) == len(people)
    assert counts["optimal"] > 0
    table = batch.read(tmp_path / "out")
    back = table[[f"to.{name}" for name in X.columns]].set_axis(X.columns, axis=1)
    ways = (table["status"] == "optimal").to_numpy()
    said = recourse.model.predict_proba(back[ways].astype(X.dtypes))[:, 1]
    assert said.tolist() == table["confidence"][ways].tolist()
    found = Audit.of(tmp_path / "out", "year", model=fitted(family), sample=5, draws=100)
    assert found.people == len(people)
    assert any(part.sampled for part in found.parts)
    with pytest.raises(ValueError, match="give the model that the batch asked"):
        Audit.of(tmp_path / "out", "year", model=fitted(family, 7), sample=5, draws=100)


@every
def test_the_service(family):
    result = asked(family)
    person = {name: result.factual[name] for name in schema().names}
    state = AppState(result.recourse, haberman()[0], **{k: GIVEN[k] for k in GIVEN if k[0] in "oc"})
    with running(state) as url, httpx.Client(base_url=url, timeout=60) as client:

        def post(path, **body):
            answer = client.post(f"/v1/{path}", json={"person": person, **body})
            assert answer.status_code == 200, answer.text
            return answer

        assert client.get("/v1/model").json()["exact"]
        told = post("recourse", confidence=[0.5], cost="l1", certificate=True).json()
        proof = told["certificate"]
        assert told["options"][0]["confidence"] == result.options[0].confidence
        assert post("verify", certificate=proof, cost="l1", confidence=0.5).json()["holds"]
        why = post("explain", confidence=[0.5], cost="l1").json()
        assert why == json.loads(result.explain(0).to_json())
        both = post("compare", confidence=[0.5, 0.6], cost="l1", first=0, second=1).json()
        assert both["sentence"] == result.compare(0, 1).sentence
        assert post("frontier", cost="l1").json()["complete"]
        asks = {"confidence": [0.5], "cost": "l1", "valid_until": GIVEN["valid_until"]}
        pdf = post("letter", **asks, protected_reviewed=["age"], reviewed_by="Jo Doe", format="pdf")
        assert pdf.content.startswith(b"%PDF")


@every
def test_what_is_sent_to_other_processes_does_not_grow_with_what_was_asked(family):
    recourse = Recourse(fitted(family), schema(), cost="l1")
    fresh = len(packed(recourse))
    recourse.find(asked(family).factual, 0.5)
    assert len(packed(recourse)) < 1.1 * fresh
    again = unpacked(packed(recourse)).find(asked(family).factual, 0.5)
    assert again.options[0].changes == asked(family).options[0].changes
