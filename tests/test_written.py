"""Files of earlier versions, kept in tests/data: each is still read, and says what it said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trust_recourse import PTMClassifier, Recourse, Schema, TMClassifier, load
from trust_recourse.certificate import Certificate, check
from trust_recourse.population.batch.batch_folder import BatchFolder, read
from trust_recourse.question import Status

WRITTEN = Path(__file__).parent / "data" / "written"
LIBRARIES = WRITTEN.parent / "libraries"


@pytest.fixture(scope="module")
def model():
    return PTMClassifier.load(WRITTEN / "model.safetensors")


def test_models_predict_as_they_did(model):
    people = pd.read_csv(WRITTEN / "people.csv")
    asked = read(WRITTEN / "batch")
    p = model.predict_proba(people)[:, 1]
    already = (asked.status == "already_met").to_numpy()
    assert 0 < already.sum() < len(people)
    np.testing.assert_array_equal(p >= 0.6 - 1e-9, already)
    ordinary = TMClassifier.load(WRITTEN / "ordinary.safetensors")
    assert ordinary.link == "vote"
    assert ordinary.predict_proba(people).shape == (len(people), 2)


def test_sums_predict_as_they_did():
    told = json.loads((WRITTEN / "sums.json").read_text())
    rows = pd.read_csv(LIBRARIES / "rows.csv").drop(columns="granted")
    for name in ("sums", "card"):
        model = load(WRITTEN / f"{name}.safetensors")
        assert model.fingerprint_ == told[name]["fingerprint"]
        np.testing.assert_allclose(
            model.predict_proba(rows)[:, 1], told[name]["confidence"], rtol=0, atol=1e-15
        )
    ours = Recourse(load(WRITTEN / "sums.safetensors"))
    assert (ours.wanted, ours.decision_threshold) == ("granted", 0.6)


def test_results_are_read_and_asked_again(model):
    result = Recourse.read(WRITTEN / "result.json", model)
    told = json.loads((WRITTEN / "result.json").read_text())
    assert [option.cost for option in result.options] == [o["cost"] for o in told["options"]]
    again = result.recourse.find(result.factual, [t.confidence for t in result.status])
    assert [o.cost for o in again.options] == pytest.approx([o.cost for o in result.options])


@pytest.mark.parametrize(
    ("name", "status"),
    [("certificate.json", Status.OPTIMAL), ("impossible.json", Status.INFEASIBLE)],
)
def test_certificates_still_hold(model, name, status):
    certificate = Certificate.load(WRITTEN / name)
    schema = Schema.from_yaml(WRITTEN / "schema.yaml")
    assert check(certificate, model, schema=schema).status is status


def test_folders_of_answers_are_read(model):
    folder = WRITTEN / "batch"
    answers = read(folder)
    assert len(answers) == 40
    assert set(answers.status) == {"optimal", "already_met"}
    recourse = Recourse(model, Schema.from_yaml(WRITTEN / "schema.yaml"), "l1")
    people = pd.read_csv(WRITTEN / "people.csv")
    changed = answers[answers.status == "optimal"]
    for at, row in changed.iterrows():
        assert recourse.find(people.loc[at], 0.6).options[0].cost == pytest.approx(row.cost)
    [part] = BatchFolder.read(folder).frames(["status"])  # as the audit reads it
    assert part.status.tolist() == answers.status.tolist()
