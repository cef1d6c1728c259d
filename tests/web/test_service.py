"""The service over a real connection: the same numbers as in Python, and nothing left running."""

from __future__ import annotations

import datetime
import hashlib
import json
import signal
import socket
import threading
import time
from multiprocessing import get_context

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

import mutations
from issuing import KEY, secret_file
from issuing import forged as tampered
from serving import running, started
from trust_recourse import Ledger, Recourse, Schema, haberman
from trust_recourse.answers.document import AnswerDocument, FrontierDocument, ranges_of
from trust_recourse.answers.measurements import how_far, safety
from trust_recourse.cli import app
from trust_recourse.cli.serve import Service
from trust_recourse.io import clock
from trust_recourse.io.cancel import Cancelled, check
from trust_recourse.ledger import Head, LedgerChangedError, LedgerError, LedgerUnavailableError
from trust_recourse.ledger.database import ENTRIES
from trust_recourse.question import Question
from trust_recourse.question.cost import Cost
from trust_recourse.question.vocabulary import QuestionFields
from trust_recourse.report.letter.institution import Institution
from trust_recourse.schema import SchemaError
from trust_recourse.web.bodies import QuestionIn
from trust_recourse.web.problems import problem_of
from trust_recourse.web.service import service
from trust_recourse.web.serving import GRACE, listen, serve
from trust_recourse.web.state import RECORD, AppState, Limits
from worlds import paper_machine

PATIENT = {"age": 55, "year": 69, "nodes": 22}
LEVELS = [0.55, 0.65]
API_KEY = "a key for the tests, of no use elsewhere"


@pytest.fixture(scope="module")
def recourse():
    X, y = haberman()
    model = paper_machine(epochs=5, random_state=0).fit(X, y)
    return Recourse(model, Schema.infer(X, guard=False).lock("age"))


@pytest.fixture(scope="module")
def asked(recourse, tmp_path_factory):
    """A client of a server with a ledger."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "promises.db", key=KEY)
    state = AppState(recourse, ledger=ledger, organisation="A clinic", contact="Ann, 555 0100")
    with running(state) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


def told(response, status=200):
    assert response.status_code == status, response.text
    if status >= 400:
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["status"] == status
        assert response.json()["type"].startswith("/v1/problems#")
    return response.json()


# ---------------------------------------------------------------- the same as in Python


def test_predictions_are_those_of_the_model(asked, recourse):
    people = [PATIENT, {"age": 30, "year": 60, "nodes": 0}]
    answer = told(asked.post("/v1/predict", json={"people": people}))
    assert [each["confidence"] for each in answer["people"]] == [
        recourse.confidence(person) for person in people
    ]
    assert [each["accepted"] for each in answer["people"]] == [False, True]


def test_recourse_is_that_of_find(asked, recourse):
    question = {"person": PATIENT, "confidence": LEVELS, "options": 2}
    answer = told(asked.post("/v1/recourse", json=question))
    result = recourse.find(PATIENT, LEVELS, n_options=2)
    assert len(result.options) >= 2
    expected = AnswerDocument.of(result, safety(result), how_far(result)).to_dict()
    assert answer == json.loads(json.dumps(expected))
    answer = told(asked.post("/v1/recourse", json={**question, "ranges": True}))
    wide = [{name: each.to_dict() for name, each in option.items()} for option in ranges_of(result)]
    assert [option["ranges"] for option in answer["options"]] == wide


def test_locks_costs_and_a_radius_are_heeded(asked, recourse):
    question = {
        "person": PATIENT, "confidence": 0.6, "lock": ["year"], "cost": "l1", "min_radius": 0.01,
    }  # fmt: skip
    answer = told(asked.post("/v1/recourse", json=question))
    ruled = Recourse(recourse.model, recourse.schema.lock("year"), "l1")
    (option,) = ruled.find(PATIENT, 0.6, min_radius=0.01).options
    (given,) = answer["options"]
    assert (given["cost"], given["confidence"]) == (option.cost, option.confidence)
    assert set(given["changes"]) == {"nodes"}
    assert given["radius"] >= 0.01


def test_an_engine_by_trial_answers_too(asked, recourse):
    question = {"person": PATIENT, "confidence": 0.6, "engine": "spheres", "trials": 50}
    answer = told(asked.post("/v1/recourse", json=question))
    (option,) = recourse.find(PATIENT, 0.6, engine="spheres", n_trials=50).options
    assert answer["options"][0]["cost"] == option.cost
    assert answer["engine"] == "spheres"


def test_out_of_reach_comes_with_how_far(asked, recourse):
    question = {"person": PATIENT, "confidence": 0.99, "lock": ["year"]}
    answer = told(asked.post("/v1/recourse", json=question))
    assert answer["targets"][0]["status"] == "infeasible"
    ruled = Recourse(recourse.model, recourse.schema.lock("year"))
    assert answer["max_confidence"]["most"] == ruled.reachable(PATIENT).most
    assert {each["if"] for each in answer["binding"]} == {"age may change", "year may change"}


def test_a_band_is_told_as_one(asked, recourse):
    (option,) = recourse.find(PATIENT, 0.6).options
    narrow = {"mode": "band", "tolerance": (option.confidence - 0.6) / 10}
    question = {"person": PATIENT, "confidence": 0.6}
    answer = told(asked.post("/v1/recourse", json={**question, **narrow}))
    (target,) = answer["targets"]
    assert {name: target[name] for name in narrow} == narrow
    assert (target["status"], answer["max_confidence"]) == ("infeasible", None)
    assert target["sentence"] == "No allowed change reaches this target; that is proved."
    wide = told(asked.post("/v1/recourse", json={**question, "mode": "band", "tolerance": 0.05}))
    assert [wide["options"][0][name] for name in ("mode", "tolerance")] == ["band", 0.05]
    assert wide["options"][0]["words"] == "0.6 ± 0.05"
    (least,) = told(asked.post("/v1/recourse", json=question))["options"]
    assert (least["words"], least["tolerance"]) == ("at least 0.6", None)


def test_the_frontier_is_that_of_python(asked, recourse):
    answer = told(asked.post("/v1/frontier", json={"person": PATIENT}))
    expected = FrontierDocument.of(recourse, PATIENT, recourse.frontier(PATIENT)).to_dict()
    assert len(expected["steps"]) > 5
    assert answer == json.loads(json.dumps(expected))
    changed = answer["steps"][-1]["changes"]
    assert changed
    assert all(change["from"] == PATIENT[name] for name, change in changed.items())


def test_explanations_and_comparisons_are_those_of_the_result(asked, recourse):
    question = {"person": PATIENT, "confidence": LEVELS}
    result = recourse.find(PATIENT, LEVELS)
    answer = told(asked.post("/v1/explain", json={**question, "option": 1}))
    assert answer == json.loads(result.explain(1).to_json())
    answer = told(asked.post("/v1/explain", json={**question, "option": 1, "since": 0}))
    assert answer == json.loads(result.explain(1, since=0).to_json())
    answer = told(asked.post("/v1/compare", json=question))
    assert answer == json.loads(result.compare(0, 1).to_json())
    problem = told(asked.post("/v1/compare", json={**question, "second": 5}), 422)
    assert "has 2 options" in problem["detail"]


def proved(asked, **more):
    question = {"person": PATIENT, "confidence": 0.6, "certificate": True, **more}
    return told(asked.post("/v1/recourse", json=question))["certificate"]


def verdict_on(asked, proof, **given):
    return told(asked.post("/v1/verify", json={"certificate": proof, **given}))


def sealed(proof, **changes):
    """A forged proof whose question has its own fingerprint."""
    return mutations.asked_again(proof | changes)


def test_a_proof_that_is_sent_is_verified_and_a_forged_one_is_not(asked):
    proof = proved(asked)
    verdict = verdict_on(asked, proof, confidence=0.6)
    assert (verdict["holds"], verdict["status"]) == (True, "optimal")
    assert sum(verdict["discarded"].values()) > 0
    for forged in (
        {"proof": {**proof, "lower_bound": 9.0}},
        {"proof": sealed(proof, fingerprint="0" * 64)},
        {"proof": proof, "confidence": 0.7},
        {"proof": proof, "confidence": 0.6, "mode": "band"},
        {"proof": proof, "threshold": 0.55},
        {"proof": proof, "person": {**PATIENT, "nodes": 21}},
    ):
        verdict = verdict_on(asked, **forged)
        assert not verdict["holds"]
        assert verdict["reason"]
    told(asked.post("/v1/verify", json={"certificate": {"kind": "other"}}), 422)
    problem = told(asked.post("/v1/verify", json={"certificate": proof, "mode": "band"}), 422)
    assert "mode: of which confidence? give confidence too" in problem["detail"]
    firmer = proved(asked, threshold=0.6)
    assert verdict_on(asked, firmer, threshold=0.6)["holds"]
    assert "threshold is 0.6" in verdict_on(asked, firmer)["reason"]


def test_the_question_that_a_proof_answers_is_told_with_its_fingerprint(asked, recourse):
    proof = proved(asked)
    verdict = verdict_on(asked, proof)
    assert verdict["own_word"] == ["person", "confidence"]
    assert verdict_on(asked, proof, person=PATIENT, confidence=0.6)["own_word"] == []
    text = json.dumps(verdict["question"], sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == verdict["fingerprint"] == proof["question"]
    assert verdict["question"]["person"] == PATIENT
    assert verdict["question"]["target"] == {"confidence": 0.6, "mode": "at_least"}
    assert verdict["question"]["model"] == recourse.model.fingerprint_


def test_a_proof_of_another_question_than_the_services_does_not_hold(asked, recourse):
    """That of a person who may change nothing held for whoever could be answered."""
    stuck = Recourse(recourse.model, recourse.schema.lock("year", "nodes"))
    proof = stuck.find(PATIENT, 0.6).certificate().to_dict()
    assert proof["status"] == "infeasible"
    verdict = verdict_on(asked, proof, person=PATIENT, confidence=0.6)
    assert not verdict["holds"]
    assert "year, mutable is False, not the default; nodes, mutable is" in verdict["reason"]
    assert verdict_on(asked, proof, lock=["year", "nodes"])["holds"]  # as it may be asked here
    for schema, cost, said in (
        (
            recourse.schema.update("nodes", weight=3.0),
            "l1",
            "nodes, weight is 3.0, not the default",
        ),
        (
            recourse.schema.update("nodes", label="age"),
            "l1",
            "nodes, label is 'age', not the default",
        ),
        (recourse.schema, "l2", "cost, l1 is 0.0, not 1.0"),
    ):
        proof = Recourse(recourse.model, schema, cost).find(PATIENT, 0.6).certificate().to_dict()
        verdict = verdict_on(asked, proof)
        assert not verdict["holds"]
        assert said in verdict["reason"]
    assert verdict_on(asked, proof, cost="l2")["holds"]
    assert verdict_on(asked, proved(asked, lock=["year"]), lock=["year"])["holds"]
    other = Recourse(recourse.model, recourse.schema, wanted=0)
    proof = other.find({**PATIENT, "nodes": 0}, 0.6).certificate().to_dict()
    assert verdict_on(asked, proof)["reason"] == "its wanted class is 0, not 1"


def test_a_cost_that_is_not_a_sum_is_refused_with_the_reason(asked):
    answer = asked.post("/v1/recourse", json={"person": PATIENT, "cost": "linf"})
    assert answer.status_code == 422
    assert "the largest change. Expected a sum over features" in answer.text


def test_a_proof_whose_cost_no_file_holds_gets_a_sentence(asked, recourse):
    own = Cost.named("l1", functions={"nodes": lambda a, b: abs(a - b)})
    proof = Recourse(recourse.model, recourse.schema, own).find(PATIENT, 0.6).certificate()
    verdict = verdict_on(asked, proof.to_dict())
    assert verdict["reason"] == "its cost has functions of its own, which no file holds"


@pytest.mark.parametrize(
    "more", [{"confidence": [0.6, 0.7]}, {"min_radius": 0.1}, {"engine": "tpe"}]
)
def test_what_no_proof_covers_is_said_before_the_search(asked, more):
    question = {"person": PATIENT, "confidence": 0.6, "certificate": True, **more}
    problem = told(asked.post("/v1/recourse", json=question), 422)
    assert problem["detail"].startswith("certificate: ")


class Own:
    """A model on cells, of no family that the checker can read."""

    def __init__(self, model):
        self.schema_, self.classes_, self.fingerprint_ = (
            model.schema_, model.classes_, model.fingerprint_,
        )  # fmt: skip
        self.predict_proba, self.score_of = model.predict_proba, model.score_of


def test_a_model_without_a_reader_is_told_before_the_search(recourse):
    state = AppState(Recourse(Own(recourse.model), recourse.schema))
    question = {"person": PATIENT, "confidence": 0.6}
    proof = recourse.find(PATIENT, 0.6).certificate().to_dict()
    with running(state) as url, httpx.Client(base_url=url, timeout=60) as client:
        assert told(client.post("/v1/recourse", json=question))["certificate"] is None
        asked_for = told(client.post("/v1/recourse", json={**question, "certificate": True}), 422)
        checked = told(client.post("/v1/verify", json={"certificate": proof}), 422)
    for problem in (asked_for, checked):
        assert "the checker has no reader for Own; it reads" in problem["detail"]


def test_the_letter_comes_as_text_html_and_pdf(asked):
    question = {"person": PATIENT, "confidence": 0.6, "valid_until": "2099-12-31"}
    pages = {
        kind: asked.post("/v1/letter", json={**question, "format": kind, "name": "Jo Doe"})
        for kind in ("text", "html", "pdf")
    }
    assert {page.status_code for page in pages.values()} == {200}
    assert "A clinic" in pages["text"].text
    assert "Jo Doe" in pages["html"].text
    assert pages["pdf"].content.startswith(b"%PDF")
    problem = told(asked.post("/v1/letter", json={**question, "valid_until": "2001-01-01"}), 422)
    assert "is before the letter's own day" in problem["detail"]


# ---------------------------------------------------------------- letters by a profile

UNTIL = (clock.today() + datetime.timedelta(30)).isoformat()
FACTS = {
    "organisation": "Meadow Bank", "contact": "Ann Lee", "address": "1 Main Street, Springfield",
    "agency": "Federal Trade Commission, Washington", "consumer_report": False,
    "role": "advises", "consequences": "No loan is made.", "review": "Ann Lee", "dpo": "none",
    "authority": "the authority of Berlin",
}  # fmt: skip
WHO = {name: FACTS[name] for name in ("organisation", "contact")}


@pytest.fixture(scope="module")
def notices(recourse, tmp_path_factory):
    """A client of a server that writes by the facts of an institution, and its ledger."""
    path = tmp_path_factory.mktemp("notices")
    (path / "bank.yaml").write_text(json.dumps(FACTS))
    guarded = Recourse(recourse.model, recourse.schema.update("year", protected=True))
    ledger = Ledger(path / "promises.db", key=KEY)
    house = Institution.read(path / "bank.yaml", reference=haberman()[0])
    with (
        running(AppState(guarded, ledger=ledger, institution=house)) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


def notice(client, **more):
    question = {"person": PATIENT, "confidence": 0.55, "format": "text", "valid_until": UNTIL}
    return client.post("/v1/letter", json={**question, **more})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"address": 5}, "address=5; expected text"),
        ({"agency": True}, "agency=True; expected text"),
        ({"address": ["a"]}, "address=['a']; expected text"),
        ({"valid_until": UNTIL}, "valid_until stands beside it"),
        ({"person": "Jo"}, "give 'name' in the request"),
        ({"late": "no"}, "give 'late' in the request"),
    ],
)
def test_fields_of_another_type_or_place_are_refused_in_words(notices, fields, words):
    answer = notice(notices, profile="us", fields={"received": clock.today().isoformat(), **fields})
    assert words in json.dumps(told(answer, 422), ensure_ascii=False)


def test_a_server_writes_by_every_profile_and_language(notices):
    reviewed = {"protected_reviewed": ["year"], "reviewed_by": "Jo Doe"}
    us = {"profile": "us", "fields": {"received": clock.today().isoformat()}, **reviewed}
    words = " ".join(notice(notices, **us).text.split())
    assert "We are unable to approve your application." in words
    assert "Meadow Bank, 1 Main Street, Springfield" in words
    assert "We compared you with the 100 applicants" in words
    assert "concerning this creditor is Federal Trade Commission" in words
    eu = {"profile": "eu", "fields": {"sources": "none"}, "language": "de", **reviewed}
    words = " ".join(notice(notices, **eu).text.split())
    assert "Für die Entscheidung über Ihren Antrag hat Meadow Bank ein KI-System" in words
    assert "Entschieden hat ein Mensch bei uns" in words
    assert "your application" not in words
    assert "language='xx'" in told(notice(notices, **eu | {"language": "xx"}), 422)["detail"]


def test_a_server_s_notice_lacks_nothing_is_in_time_and_its_review_has_a_name(notices, asked):
    said = "no letter: the profile us needs this field too: received"
    problem = told(notice(notices, profile="us"), 422)
    assert (problem["detail"], problem["missing"]) == (said, ["received"])
    problem = told(notice(asked, profile="us", valid_until=None), 422)
    assert problem["detail"] == (
        "no letter: the profile us needs these fields too: valid_until, reference, address, "
        "agency, received, consumer_report"
    )
    old = (clock.today() - datetime.timedelta(31)).isoformat()
    us = {"profile": "us", "fields": {"received": old}}
    problem = told(notice(notices, **us), 422)
    assert "31 days after the completed application" in problem["detail"]
    assert problem["detail"].endswith('say so: {"late": true}')
    us |= {"late": True}
    assert told(notice(notices, **us), 422)["protected"] == ["year"]
    us |= {"protected_reviewed": ["year"]}
    made = told(
        notices.post(
            "/v1/ledger/promises",
            json={"person": PATIENT, "confidence": 0.55, "subject": "one", "days": 60},
        ),
        201,
    )["promise"]
    us |= {"promise": made["id"]}
    unsigned = told(notice(notices, **us), 422)
    assert "does not say by whom" in unsigned["detail"]
    kept = f"/v1/ledger/promises/{made['id']}"
    assert len(told(notices.get(kept))["events"]) == 1
    sent = notice(notices, **us, reviewed_by="Jo Doe")
    assert sent.status_code == 200, sent.text
    _, event = told(notices.get(kept))["events"]
    assert str(event["number"]) == sent.headers["Trust-Ledger-Entry"]
    assert event["letter"]["file_sha256"] == hashlib.sha256(sent.content).hexdigest()
    assert (event["letter"]["reviewed_by"], event["letter"]["profile"]) == ("Jo Doe", "us")


def test_a_server_takes_the_file_of_the_command_and_refuses_a_wrong_one_at_once(recourse, tmp_path):
    recourse.model.save(tmp_path / "model.safetensors")
    haberman()[0].to_csv(tmp_path / "rows.csv", index=False)
    facts = {name: fact for name, fact in FACTS.items() if name != "consumer_report"}
    (tmp_path / "bank.yaml").write_text(json.dumps(facts))
    (tmp_path / "wrong.yaml").write_text("adress: 1 Main Street")
    started_with = Service(
        model=tmp_path / "model.safetensors",
        fields=tmp_path / "bank.yaml",
        reference=tmp_path / "rows.csv",
    )
    house = started_with.shared(recourse)
    assert house.facts == facts
    assert len(house.reference) == len(haberman()[0])
    ask = ["serve", str(tmp_path / "model.safetensors"), "--fields", str(tmp_path / "wrong.yaml")]
    refused = CliRunner().invoke(app, ask)
    assert refused.exit_code == 2
    assert "no profile has a field 'adress'" in " ".join(refused.output.split())


def test_what_was_reviewed_and_is_no_reason_is_said(notices):
    accepted = {"age": 30, "year": 60, "nodes": 0}  # who has no reasons
    for person, told_beside in ((accepted, '["year"]'), (PATIENT, None)):
        sent = notice(notices, person=person, protected_reviewed=["year"], reviewed_by="Jo Doe")
        assert sent.status_code == 200, sent.text
        assert sent.headers.get("Trust-Reviewed-Beside") == told_beside


def test_what_to_look_at_before_a_letter_is_sent_is_said(recourse):
    today = clock.today().isoformat()
    for label, doubted in (("FICO score", True), ("nodes", False)):
        schema = recourse.schema.update("nodes", label=label)
        house = Institution(FACTS, reference=haberman()[0])
        with (
            running(AppState(Recourse(recourse.model, schema), institution=house)) as url,
            httpx.Client(base_url=url, timeout=60) as client,
        ):
            more = {"protected_reviewed": ["age"], "reviewed_by": "Jo Doe"}
            sent = notice(client, profile="us", fields={"received": today}, **more)
            assert sent.status_code == 200, sent.text
            assert ("FICO score may come" in sent.headers.get("Trust-Doubts", "")) == doubted


def test_what_a_letters_language_has_no_words_for_is_said(recourse):
    schema = recourse.schema.update("nodes", label="Knoten §")
    with (
        running(AppState(Recourse(recourse.model, schema), **WHO)) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        for language, lacks in (("en", None), ("de", ["Knoten §"])):
            sent = notice(client, language=language)
            assert sent.status_code == 200, sent.text
            assert json.loads(sent.headers.get("Trust-Language-Lacks", "null")) == lacks


# ---------------------------------------------------------------- the ledger


def promised(asked, subject, **more):
    question = {"person": PATIENT, "confidence": 0.6, "subject": subject, **more}
    return told(asked.post("/v1/ledger/promises", json=question), 201)


def test_a_letter_tells_of_a_promise_that_was_made_and_of_no_other(asked):
    made = promised(asked, "one who gets a letter", days=9)["promise"]
    last = made["valid_until"][:10]
    question = {
        "person": PATIENT, "confidence": 0.6, "valid_until": last, "format": "text",
        "promise": made["id"],
    }  # fmt: skip
    written = asked.post("/v1/letter", json=question)
    assert written.status_code == 200
    assert f"number {made['id']}" in " ".join(written.text.split())
    for changed, status, words in (
        ({"promise": "5b0c4d1e8f7a2936"}, 404, "there is no promise '5b0c4d1e8f7a2936'"),
        ({"valid_until": "2099-12-31"}, 422, f"holds until {last} 23:59 UTC only"),
        ({"confidence": 0.7}, 422, "is of other values"),
        ({"threshold": 0.2}, 422, "ask by the decision that was promised"),
    ):
        problem = told(asked.post("/v1/letter", json={**question, **changed}), status)
        assert words in problem["detail"]
    gone = asked.post(f"/v1/ledger/promises/{made['id']}/withdraw", json={"reason": "a test"})
    assert gone.status_code == 200
    assert "is withdrawn" in told(asked.post("/v1/letter", json=question), 409)["detail"]


def test_a_letter_of_a_promise_offers_no_other_option(asked):
    two = {"confidence": [0.55, 0.7]}
    made = promised(asked, "one of two", **two, option=1)["promise"]
    words = {"person": PATIENT, "organisation": "A clinic", "contact": "Ann", "format": "text"}
    sent = asked.post(
        "/v1/letter",
        json={**words, **two, "valid_until": UNTIL, "promise": made["id"]},
    )
    assert sent.status_code == 200, sent.text
    assert "option 2" not in sent.text
    _, event = told(asked.get(f"/v1/ledger/promises/{made['id']}"))["events"]
    assert event["letter"]["options"] == [made["option"]]


def test_a_letter_of_a_promise_offers_no_wider_ranges(asked):
    narrow = {"confidence": 0.6, "limits": {"nodes": [2, None]}, "ranges": True}
    made = promised(asked, "one with limits", **narrow)["promise"]
    sent = {"person": PATIENT, "confidence": 0.6, "organisation": "A clinic", "contact": "Ann",
            "format": "text", "valid_until": UNTIL, "promise": made["id"]}  # fmt: skip
    problem = told(asked.post("/v1/letter", json=sent), 422)
    assert "offers wider ranges of values, which promise" in problem["detail"]
    again = asked.post("/v1/letter", json={**sent, "limits": narrow["limits"]})
    assert again.status_code == 200, again.text


def test_a_promise_is_computed_here_and_kept(asked, recourse):
    (option,) = recourse.find(PATIENT, 0.6).options
    made = promised(asked, "customer 1", certificate=True)
    promise = made["promise"]
    assert (promise["cost"], promise["confidence"]) == (option.cost, option.confidence)
    assert promise["option"] == dict(option.x)
    assert told(asked.post("/v1/verify", json={"certificate": json.loads(made["proof"])}))["holds"]
    assert promise["certificate"] == hashlib.sha256(made["proof"].encode()).hexdigest()
    found = told(asked.post("/v1/ledger/promises/search", json={"subject": "customer 1"}))
    assert [each["id"] for each in found["promises"]] == [promise["id"]]
    assert promise in told(asked.get("/v1/ledger/promises"))["promises"]
    chain = told(asked.get("/v1/ledger/verify"))
    assert chain["holds"]
    assert told(asked.get("/v1/ledger/verify", params={"head": chain["head"]}))["holds"]
    checked = told(asked.get("/v1/ledger/check"))
    assert checked["outstanding"] >= 1
    assert checked["broken"] == 0


def test_numbers_of_the_client_are_not_taken(asked):
    question = {"person": PATIENT, "confidence": 0.6, "subject": "me", "cost": 0.0}
    told(asked.post("/v1/ledger/promises", json=question), 422)
    question = {"person": PATIENT, "confidence": 0.6, "subject": "me", "x": PATIENT}
    problem = told(asked.post("/v1/ledger/promises", json=question), 422)
    assert problem["at"] == [{"at": "body", "detail": "unknown 'x'"}]


def test_a_promise_is_redeemed_once(asked):
    promise = promised(asked, "customer 2")["promise"]
    at = f"/v1/ledger/promises/{promise['id']}"
    back = told(asked.post(f"{at}/redeem", json={"person": PATIENT}))
    assert (back["done"], back["due"]) == ("not", False)
    done = told(asked.post(f"{at}/redeem", json={"person": promise["option"]}))
    assert (done["done"], done["due"]) == ("exactly", True)
    again = told(asked.post(f"{at}/redeem", json={"person": promise["option"]}), 409)
    assert "redeemed already" in again["detail"]
    history = told(asked.get(at))
    assert [event["kind"] for event in history["events"]] == ["promise", "returned", "redeemed"]
    assert history["promise"]["state"] == "redeemed"


def test_a_promise_is_redeemed_by_the_earlier_model_that_made_it(recourse, saved, tmp_path):
    X, y = haberman()
    new = paper_machine(epochs=1, random_state=1, schema=recourse.schema).fit(X, y)
    new.save(tmp_path / "new.safetensors")
    with Ledger(tmp_path / "promises.db", key=KEY) as ledger:
        made = ledger.promise(recourse.find(PATIENT, 0.6), subject="customer 4")
    ((name, (before, after)), *_) = made.option.changes.items()
    asked = {"person": {**dict(made.option.x), name: after + (1 if before > after else -1)}}
    at = f"v1/ledger/promises/{made.id}/redeem"
    with running(AppState(Recourse(new), ledger=Ledger(tmp_path / "promises.db", key=KEY))) as url:
        alone = told(httpx.post(f"{url}/{at}", json=asked, timeout=60))
    assert (alone["then"], alone["due"]) == (None, False)
    assert alone["sentences"][-1] == "Start the server with it: --earlier FILE."
    where = ("--ledger", str(tmp_path / "promises.db"), "--earlier", str(saved))
    with started(tmp_path / "new.safetensors", *where, TRUST_LEDGER_KEY=KEY) as (_, url, _):
        back = told(httpx.post(f"{url}/{at}", json=asked, timeout=60))
    assert back["then"] == recourse.confidence(asked["person"])
    assert "--earlier" not in back["sentences"][-1]


def test_a_promise_is_withdrawn(asked):
    at = f"/v1/ledger/promises/{promised(asked, 'customer 3')['promise']['id']}"
    told(asked.post(f"{at}/withdraw", json={"reason": "by mistake"}))
    told(asked.post(f"{at}/withdraw", json={"reason": "by mistake"}), 409)
    assert told(asked.get(at))["promise"]["state"] == "withdrawn"
    told(asked.get("/v1/ledger/promises/0123456789abcdef"), 404)
    assert "'zzz'" in told(asked.get("/v1/ledger/promises/zzz"), 404)["detail"]


def test_a_ledger_that_was_changed_serves_nobody(recourse, tmp_path):
    ledger = Ledger(tmp_path / "promises.db", key=KEY)
    with running(AppState(recourse, ledger=ledger)) as url, httpx.Client(base_url=url) as client:
        made = promised(client, "customer 4")["promise"]
        at, back = f"/v1/ledger/promises/{made['id']}", {"person": made["option"]}
        assert told(client.post(f"{at}/redeem", json=back))["due"]
        tampered(ledger, sa.delete(ENTRIES).where(ENTRIES.c.kind == "redeemed"))
        for answer in (
            client.post(f"{at}/redeem", json=back),
            client.post(f"{at}/withdraw", json={"reason": "why"}),
            client.post("/v1/ledger/promises", json={"person": PATIENT, "subject": "customer 5"}),
            client.get("/v1/ledger/promises"),
            client.get("/v1/ledger/check"),
            client.get(at),
        ):
            problem = told(answer, 500)
            assert problem["detail"] == "The ledger was changed; see /v1/ledger/verify"
        assert told(client.get("/v1/ledger/verify"))["fault"].startswith("entry 2 is missing")


def test_promises_are_listed_page_by_page(recourse, tmp_path):
    ledger = Ledger(tmp_path / "promises.db", key=KEY)
    with (
        running(AppState(recourse, ledger=ledger, limits=Limits(rows=2))) as url,
        httpx.Client(base_url=url) as client,
    ):
        made = [promised(client, f"customer {at}")["promise"]["id"] for at in range(5)]
        seen, after = [], 0
        while after is not None:
            listed = told(client.get("/v1/ledger/promises", params={"after": after}))
            assert len(listed["promises"]) <= 2
            seen += [promise["id"] for promise in listed["promises"]]
            after = listed["following"]
    assert seen == made


class Hanging:
    """A ledger whose database takes every question and answers none, until it is let go."""

    def __init__(self):
        self.gone = threading.Event()

    def promises(self, *_):
        assert self.gone.wait(60)
        raise LedgerUnavailableError("it hung")

    def close(self):
        pass


@pytest.mark.parametrize("what", ["promises", "check"])
def test_a_ledger_that_hangs_holds_up_nobody_else(recourse, what):
    ledger = Hanging()
    state, answers = AppState(recourse, ledger=ledger), []

    def listed(url):
        answers.append(httpx.get(f"{url}/v1/ledger/{what}", timeout=60))

    with running(state) as url:
        waiting = [threading.Thread(target=listed, args=(url,)) for _ in range(2 * RECORD)]
        for thread in waiting:
            thread.start()
        while not answers and state.traffic.records < len(waiting):
            time.sleep(0.01)
        told(httpx.post(f"{url}/v1/predict", json={"people": [PATIENT]}, timeout=10))
        told(httpx.post(f"{url}/v1/recourse", json={"person": PATIENT}, timeout=30))
        ledger.gone.set()
        for thread in waiting:
            thread.join()
    for answer in answers:
        assert told(answer, 503)["type"].endswith("#ledger-away")


def test_a_database_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr("trust_recourse.ledger.database.CONNECT", "2")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        start = time.monotonic()
        with pytest.raises(LedgerUnavailableError):
            Ledger(f"postgresql://ann@127.0.0.1:{port}/promises")
        assert time.monotonic() - start < 20


# ---------------------------------------------------------------- about the server


NOW = ("requests_in_flight", "searches_inside", "briefs_inside", "records_inside",
       "searches_called_off", "ready")  # fmt: skip


def test_health_readiness_metrics_and_the_model(asked, recourse):
    assert told(asked.get("/health")) == {"status": "up"}
    assert told(asked.get("/ready")) == {"status": "ready"}
    told(asked.post("/v1/predict", json={"people": [PATIENT]}))
    metrics = asked.get("/metrics")
    assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {each.name: each for each in text_string_to_metric_families(metrics.text)}
    (answered,) = (
        sample.value
        for sample in families["trust_requests"].samples
        if sample.labels == {"route": "/v1/predict", "method": "POST", "status": "200"}
    )
    assert answered >= 1
    assert families["trust_request_seconds"].type == "histogram"
    kinds = {name: families[f"trust_{name}"].type for name in NOW}
    assert kinds == {**dict.fromkeys(NOW, "gauge"), "searches_called_off": "counter"}
    now = {name: families[f"trust_{name}"].samples[0].value for name in NOW}
    assert (now["ready"], now["requests_in_flight"], now["searches_inside"]) == (1, 1, 0)
    model = told(asked.get("/v1/model"))
    assert model["fingerprint"] == recourse.model.fingerprint_
    assert Schema.from_dict(model["table"]) == recourse.schema


def test_the_documentation_needs_no_internet_and_its_examples_work(asked):
    page = asked.get("/docs").text
    assert "https://" not in page
    for part in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert f"/docs/assets/{part}" in page
        assert asked.get(f"/docs/assets/{part}").status_code == 200
    document = told(asked.get("/openapi.json"))
    assert list(document["components"]["schemas"]["Person"]["properties"]) == list(PATIENT)
    answered = 0
    for path, methods in document["paths"].items():
        for operation in methods.values():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "example" not in body or "{" in path:
                continue
            response = asked.post(path, json=body["example"])
            assert response.status_code in (200, 201), response.text
            content = operation["responses"].get("200", {}).get("content", {})
            if "example" in content.get("application/json", {}):
                assert response.json() == content["application/json"]["example"]
                answered += 1
    assert answered >= 1


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/v1/predict", {"people": []}, "at least 1 item"),
        ("/v1/predict", {"people": [PATIENT, {"age": 1}]}, "people, row 1: columns: absent"),
        ("/v1/recourse", {"person": {**PATIENT, "agee": 3}}, "unknown 'agee'"),
        ("/v1/recourse", {"person": {**PATIENT, "age": "old"}}, "expected a number"),
        ("/v1/recourse", {"person": {**PATIENT, "age": [1]}}, "no text, number or boolean"),
        ("/v1/recourse", {"person": {**PATIENT, "age": True}}, "'age': given true, expected a num"),
        ("/v1/predict", {"people": [{**PATIENT, "age": False}]}, "row 0: 'age': given false"),
        ("/v1/frontier", {"person": {**PATIENT, "age": True}}, "'age': given true"),
        ("/v1/recourse", {"person": PATIENT, "confidence": 1.5}, "given 1.5, expected less than 1"),
        (
            "/v1/recourse",
            {"person": PATIENT, "confidence": [1.5]},
            "confidence/0: given 1.5, expected less than 1",
        ),
        ("/v1/recourse", {"person": PATIENT, "locked": []}, "'locked'; did you mean 'lock'?"),
        ("/v1/recourse", {"confidence": 0.5}, "person: absent; it must be given"),
        ("/v1/recourse", [], "body: given a list, expected an object"),
        ("/v1/recourse", {"person": PATIENT, "lock": ["agee"]}, "did you mean 'age'?"),
        ("/v1/recourse", {"person": PATIENT, "engine": "magic"}, "'exact'"),
        ("/v1/recourse", {"person": PATIENT, "trials": 3}, "it has no trials"),
        ("/v1/recourse", {"person": PATIENT, "options": "2"}, "valid integer"),
        ("/v1/explain", {"person": PATIENT, "option": 7}, "option 7"),
    ],
)
def test_what_is_wrong_is_said(asked, path, body, words):
    problem = told(asked.post(path, json=body), 422)
    assert words in problem["detail"]


def test_a_label_names_a_feature_to_lock(recourse):
    schema = recourse.schema.update("year", label="Year of operation")
    state = AppState(Recourse(recourse.model, schema))
    rules = QuestionIn.model_validate({"person": PATIENT, "lock": ["Year of operation", "year"]})
    assert not state.recourse.under(Question(**rules.given(QuestionFields))).schema["year"].mutable
    state.close()


def raised(work):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        work()
    return error.value


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (raised(lambda: Cost.named("l7")), 422),
        (raised(lambda: np.zeros(2) + np.zeros(3)), None),  # a ValueError, too
        (SchemaError("no feature 'agee'"), 422),
        (LedgerError("subject is empty"), 422),
        (LedgerChangedError("entry 1 was changed"), 500),
        (UnicodeError("of another package"), None),
        (np.linalg.LinAlgError("of another package"), None),
    ],
)
def test_what_is_not_about_the_question_is_not_the_fault_of_who_asks(error, status):
    problem = problem_of(error)
    assert (problem and problem.status_code) == status


def test_every_limit_is_said_with_its_number(asked):
    limits = Limits()
    for name, given, most in (
        ("confidence", [0.5 + i / 1000 for i in range(limits.levels + 1)], limits.levels),
        ("options", limits.options + 1, limits.options),
        ("time_limit", limits.seconds + 1, limits.seconds),
        ("trials", limits.trials + 1, limits.trials),
    ):
        problem = told(asked.post("/v1/recourse", json={"person": PATIENT, name: given}), 422)
        assert problem["type"] == "/v1/problems#too-much"
        assert (problem["name"], problem["limit"]) == (name, most)
    people = [PATIENT] * (limits.rows + 1)
    problem = told(asked.post("/v1/predict", json={"people": people}), 422)
    assert problem["limit"] == limits.rows
    assert told(asked.post("/v1/predict", json={"people": people[1:]}))


def test_addresses_and_methods_that_are_not_there(asked):
    told(asked.get("/v1/nothing"), 404)
    problem = told(asked.get("/v1/predict"), 405)
    assert "POST" in problem["detail"]
    kinds = told(asked.get("/v1/problems"))
    assert problem["type"] in [kind["type"] for kind in kinds]


def test_without_a_ledger_there_are_no_promises(recourse):
    with running(AppState(recourse)) as url:
        problem = told(httpx.get(f"{url}/v1/ledger/promises"), 404)
        assert problem["type"].endswith("#no-ledger")


def test_with_a_key_nobody_else_is_answered(recourse):
    with running(AppState(recourse), key=API_KEY) as url:
        for headers in (
            {},
            {"X-API-Key": "wrong"},
            {"X-API-Key": API_KEY[:-1]},
            {"Authorization": "Bearer"},
            {"Authorization": "Basic nonsense"},
        ):
            for path in ("/metrics", "/openapi.json", "/docs", "/", "/v1/ledger/promises"):
                refused = httpx.get(f"{url}{path}", headers=headers)
                told(refused, 401)
                assert refused.headers["www-authenticate"].startswith("Basic")
        assert httpx.get(f"{url}/health").status_code == 200
        assert httpx.get(f"{url}/metrics", headers={"X-API-Key": API_KEY}).status_code == 200
        bearer = {"Authorization": f"Bearer {API_KEY}"}
        assert httpx.get(f"{url}/metrics", headers=bearer).status_code == 200
        assert httpx.get(f"{url}/docs", auth=("anyone", API_KEY)).status_code == 200


def test_pages_of_other_sites_and_made_up_hosts_are_refused(asked):
    for headers in (
        {"Host": "rebound.test"},
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Host": "127.0.0.1.evil.test"},
    ):
        told(asked.get("/v1/model", headers=headers), 403)
    own = str(asked.base_url).rstrip("/")
    assert asked.get("/v1/model", headers={"Origin": own}).status_code == 200


# ---------------------------------------------------------------- searches in threads


class Slow(Recourse):
    """Searches for 0.9 without end, unless it is called off; and notes that it was."""

    def __init__(self, other):
        super().__init__(other.model, other.schema)
        self.begun, self.called_off = threading.Semaphore(0), threading.Event()

    def ask(self, x, question, **more):
        if question.confidence != (0.9,):
            return super().ask(x, question, **more)
        self.begun.release()
        try:
            while True:
                check()
                time.sleep(0.005)
        except Cancelled:
            self.called_off.set()
            raise


ENDLESS = {"person": PATIENT, "confidence": 0.9}


def ask_for_ever(url, answers=None):
    answer = httpx.post(f"{url}/v1/recourse", json=ENDLESS, timeout=60)
    if answers is not None:
        answers.append(answer)


def leave(url, slow):
    """Ask what takes for ever, and go away once the search has begun."""
    host = url.removeprefix("http://")
    body = json.dumps(ENDLESS)
    head = f"POST /v1/recourse HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    name, port = host.split(":")
    with socket.create_connection((name, int(port))) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert slow.begun.acquire(timeout=30)


def test_a_search_ends_when_its_client_goes_away(recourse):
    slow = Slow(recourse)
    state = AppState(slow)
    with running(state) as url:
        leave(url, slow)
        assert slow.called_off.wait(30)
    assert state.traffic.called_off == 1
    assert state.traffic.searches == 0


def test_searches_hold_up_nobody_and_the_next_are_told_to_come_again(recourse):
    slow = Slow(recourse)
    state = AppState(slow, limits=Limits(searches=2, waiting=1))
    with running(state) as url, httpx.Client(base_url=url, timeout=60) as client:
        open_ = [threading.Thread(target=ask_for_ever, args=(url,)) for _ in range(3)]
        for thread in open_:
            thread.start()
        assert slow.begun.acquire(timeout=30)
        assert slow.begun.acquire(timeout=30)
        while state.traffic.searches < 3:
            time.sleep(0.01)
        assert client.get("/health").status_code == 200
        assert told(client.post("/v1/predict", json={"people": [PATIENT]}))
        busy = client.post("/v1/recourse", json=ENDLESS)
        told(busy, 429)
        assert int(busy.headers["retry-after"]) >= 1
        state.call_off()
        for thread in open_:
            thread.join()
    assert slow.called_off.is_set()


def test_what_takes_too_long_is_called_off_and_said(recourse):
    slow = Slow(recourse)
    with running(AppState(slow, limits=Limits(answer=0.3))) as url:
        problem = told(httpx.post(f"{url}/v1/recourse", json=ENDLESS, timeout=60), 422)
        assert problem["type"].endswith("#too-long")
    assert slow.called_off.is_set()


def endless(listener, begun):
    """Serve searches without end, until the process is told to end; says when the first began."""
    slow = Slow(Recourse(paper_machine(epochs=5, random_state=0).fit(*haberman())))
    slow.begun = begun
    serve(lambda: service(AppState(slow)), listener)


def test_the_server_ends_at_once_and_says_so_to_who_waits():
    context, listener, given = get_context("spawn"), listen("127.0.0.1", 0), []
    begun = context.Semaphore(0)
    server = context.Process(target=endless, args=(listener, begun))
    server.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()
    asking = threading.Thread(target=ask_for_ever, args=(url, given))
    asking.start()
    assert begun.acquire(timeout=120)
    told_to = time.monotonic()
    server.terminate()
    server.join(60)
    asking.join()
    assert told(given[0], 503)["type"].endswith("#closing")
    assert time.monotonic() - told_to < GRACE  # it did not wait for what would never end


# ---------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def saved(recourse, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    recourse.model.save(path)
    return path


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_acknowledged_is_kept_when_the_command_is_told_to_end(saved, tmp_path, workers):
    ledger, made, lock = tmp_path / "promises.db", [], threading.Lock()

    def promise_on(url, name):
        for at in range(10**6):
            try:
                question = {"person": PATIENT, "confidence": 0.55, "subject": f"{name} {at}"}
                answer = httpx.post(f"{url}/v1/ledger/promises", json=question, timeout=60)
            except httpx.TransportError:
                return
            if answer.status_code != 201:
                assert answer.status_code == 503, answer.text
                return
            with lock:
                made.append(answer.json()["promise"]["id"])

    where = ("--ledger", str(ledger), "--wanted", "1", "--workers", workers)
    with started(saved, *where, TRUST_LEDGER_KEY=KEY) as (process, url, said):
        assert "the class wanted is 1, of 0 or 1" in said
        threads = [threading.Thread(target=promise_on, args=(url, at)) for at in range(3)]
        for thread in threads:
            thread.start()
        while len(made) < 10:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert process.wait(30) in (0, -signal.SIGTERM)
        assert process.stdout.read() == (
            f"{ledger}: there was no ledger, so a new one was made. If there should be one, "
            "restore it from a backup\n"
        )
    with Ledger(ledger) as book:
        assert book.verify().holds
        assert set(made) <= {promise.id for promise in book.promises()}


def test_beside_the_page_the_service_still_says_its_own_mistakes(saved):
    with started(saved, "--page") as (_, url, _):
        told(httpx.get(f"{url}/v1/nothing"), 404)
        told(httpx.get(f"{url}/v1/"), 404)
        assert "POST" in told(httpx.get(f"{url}/v1/predict"), 405)["detail"]
        told(httpx.delete(f"{url}/v1/model"), 405)
        refused = httpx.put(f"{url}/v1/ledger/promises")
        assert told(refused, 405)["detail"] == "This address takes GET, POST"
        assert refused.headers["allow"] == "GET, POST"
        assert told(httpx.post(f"{url}/health"), 405)["detail"] == "This address takes GET"
        assert httpx.get(f"{url}/").headers["content-type"].startswith("text/html")


def test_the_command_refuses_what_cannot_be(saved, tmp_path, monkeypatch):
    monkeypatch.delenv("TRUST_API_KEY", raising=False)
    monkeypatch.delenv("TRUST_LEDGER_KEY", raising=False)
    short = secret_file(tmp_path / "short.key", "short\n")
    key, other = secret_file(tmp_path / "key"), secret_file(tmp_path / "other.key", KEY[::-1])
    shown = secret_file(tmp_path / "shown.key")
    shown.chmod(0o644)
    with Ledger(tmp_path / "kept.db", key=KEY) as ledger:
        ledger.seal(Head())
    kept = ["--ledger", str(tmp_path / "kept.db"), "--ledger-key-file"]
    for arguments, words in (
        (["--host", "0.0.0.0"], "needs an API key"),
        (["--workers", "2"], "--no-page"),
        (["--key-file", str(short)], "at least 16"),
        (["--key-file", str(shown)], f"chmod 600 {shown}"),
        ([*kept, str(shown)], f"chmod 600 {shown}"),
        ([*kept, str(other)], "is sealed with the key"),
        (["--ledger", str(tmp_path / "p.db")], "there is no key"),
        (["--wanted", "maybe"], "the classes are 0 and 1"),
        (["--earlier", str(saved)], "give --ledger too"),
        (["--ledger", str(tmp_path / "p.db"), "--earlier", str(short)], "short.key"),
        (["--host", "203.0.113.1", "--key-file", str(key), "--no-page"], "cannot listen"),
    ):
        done = CliRunner().invoke(app, ["serve", str(saved), *arguments])
        assert done.exit_code == 2, done.output
        assert words in done.output
