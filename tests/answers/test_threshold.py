"""The decision threshold: given, else the model's own, else one half; the same in every place."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from trust_recourse import Cost, Ledger, Question, Recourse, Target, load, verify
from trust_recourse.certificate import CertificateError, check
from trust_recourse.cli import app
from worlds import paper_machine

WHO = {"age": 60, "year": 62, "nodes": 8}


def test_without_a_confidence_the_decision_itself_is_asked_for(model, tmp_path):
    recourse = Recourse(model)
    now = recourse.confidence(WHO)
    line = round(now + 0.1, 2)
    result = recourse.find(WHO, decision_threshold=line)
    (target,) = result.status
    assert (target.confidence, result.refused) == (line, True)
    assert result.options[0].confidence >= line
    model.save(tmp_path / "m.safetensors")
    words = ["find", str(tmp_path / "m.safetensors"), "--threshold", str(line), "--json"]
    words += [f"--set={name}={value}" for name, value in WHO.items()]
    told = json.loads(CliRunner().invoke(app, words).stdout)
    assert [each["confidence"] for each in told["targets"]] == [line]
    assert told["options"][0]["confidence"] >= line


def test_a_target_that_is_the_decision_has_no_slack():
    assert not Target(0.7, threshold=0.7).met(0.7 - 1e-10)
    assert Target(0.7).met(0.7 - 1e-10)
    assert not Target(0.5).met(0.5 - 1e-10)
    assert Target(0.7, threshold=0.7) == Target(0.7)


def test_a_model_keeps_how_it_decides_until_it_learns_anew(patients, tmp_path):
    X, y = patients
    machine = paper_machine(epochs=3, random_state=0).fit(X, y)
    plain = machine.fingerprint_
    machine.decide(decision_threshold=0.7, wanted=0).save(tmp_path / "m")
    again = load(tmp_path / "m")
    ours = Recourse(again)
    assert (ours.decision_threshold, ours.wanted, again.fingerprint_) == (0.7, 0, plain)
    assert Recourse(again, wanted=1, decision_threshold=0.6).decision_threshold == 0.6
    assert (again.predict(X) == machine.predict(X)).all()
    again.fit(X, ["yes" if each else "no" for each in y])
    assert Recourse(again).decision_threshold == 0.5
    again.save(tmp_path / "m")
    assert load(tmp_path / "m").classes_.tolist() == ["no", "yes"]
    for wrong in (0, 1, True, "0.5"):
        with pytest.raises(ValueError, match="decision_threshold="):
            machine.decide(decision_threshold=wrong)


def test_a_certificate_is_of_its_threshold(model):
    result = Recourse(model, decision_threshold=0.6).find(WHO, 0.7)
    proof = result.certificate()
    assert proof.to_dict()["target"]["threshold"] == 0.6
    verify(proof, model, target=Target(0.7, threshold=0.6))
    with pytest.raises(CertificateError, match="another question: .*threshold"):
        check(proof, model, target=Target(0.7))
    plain = Recourse(model).find(WHO, 0.7).certificate()
    assert plain.question != proof.question
    assert "threshold" not in plain.to_dict()["target"]
    with pytest.raises(CertificateError, match="another question: .*threshold"):
        check(plain, model, target=Target(0.7, threshold=0.6))


def test_a_ledger_asks_a_model_and_a_recourse_by_the_same_threshold(model, patients, tmp_path):
    result = Recourse(model, decision_threshold=0.7).find(WHO)
    other = paper_machine(epochs=3, random_state=1).fit(*patients)
    with Ledger(tmp_path / "p.db", key=b"k" * 32) as ledger:
        ledger.promise(result, subject="7")
        told = [ledger.check(each).judged[0].accepted for each in (other, Recourse(other))]
        assert told[0] == told[1]
        lenient = ledger.check(Recourse(other, decision_threshold=0.01)).judged[0]
        assert lenient.accepted


def test_a_root_is_a_root_or_refused():
    assert Cost.read("l2=1,root=1").words == Cost.read("l2").words == "L2"
    with pytest.raises(ValueError, match="expected l0, l1, l2"):
        Cost.read("l2=1,root=7")
    assert Cost.named(Cost(l0=0.1, l2=1, root=True).to_dict()) == Cost(l0=0.1, l2=1, root=True)


def test_a_question_reads_what_it_wrote():
    asked = Question(
        confidence=(0.6, 0.7), cost="l0", lock=("age",), limits={"nodes": (1, None)}, gap=0.1
    )
    assert Question.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked
    assert Question.from_dict({}) == Question()
    assert replace(asked, cost=None).without_rules.lock == ()
    for wrong in (
        {"option": 2},
        {"options": 0},
        {"limits": {"a": 3}},
        {"lock": 4},
        [],
        {"gap": -1},
    ):
        with pytest.raises(ValueError, match="question|options|limits|gap|lock|int"):
            Question.from_dict(wrong)
