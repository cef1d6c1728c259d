"""The service over a real connection: the same numbers as in Python, and nothing left running."""

from __future__ import annotations

import json

import httpx
import pytest

from issuing import KEY
from serving import running
from trust_recourse import Ledger, PTMClassifier, Recourse, Schema, haberman
from trust_recourse.report.answers import answers, how_far, safety
from trust_recourse.web.desk import Desk

PATIENT = {"age": 55, "year": 69, "nodes": 22}
LEVELS = [0.55, 0.65]
API_KEY = "a key for the tests, of no use elsewhere"


@pytest.fixture(scope="module")
def recourse():
    X, y = haberman()
    model = PTMClassifier(epochs=5, random_state=0).fit(X, y)
    return Recourse(model, Schema.infer(X).lock("age"))


@pytest.fixture(scope="module")
def asked(recourse, tmp_path_factory):
    """A client of a server with a ledger."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "promises.db", key=KEY)
    desk = Desk(recourse, ledger=ledger, organisation="A clinic", contact="Ann, 555 0100")
    with running(desk) as url, httpx.Client(base_url=url, timeout=60) as client:
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
    expected = answers(result, safety(result), how_far(result))
    assert answer == {**json.loads(json.dumps(expected)), "certificate": None}
