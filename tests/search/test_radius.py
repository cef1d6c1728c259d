"""The certified radius under a budget: what is proved so far, and how it is shown."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from typer.testing import CliRunner

from trust_recourse import Recourse, Schema, evidence, from_model
from trust_recourse.answers import robustness
from trust_recourse.answers.document import AnswerDocument
from trust_recourse.answers.measurements import safety
from trust_recourse.answers.plot import frontier_info
from trust_recourse.cli import app
from trust_recourse.io.wording import AT_LEAST, distance
from trust_recourse.models import Score
from trust_recourse.population.batch import Job, answer
from trust_recourse.question import Radius
from trust_recourse.search.branch_and_bound import BranchAndBound

BOXES = (1, 2, 5, 20, 60)


@pytest.fixture(scope="module")
def hard():
    """A model and accepted people whose radius takes more than a few boxes."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.integers(0, 100, (500, 8)), columns=list("abcdefgh"))
    sway = X.to_numpy() @ rng.normal(size=8) + 0.02 * X["a"] * X["b"]
    y = (sway + rng.normal(0, 40, 500) > np.median(sway)).astype(int)
    fitted = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(X, y)
    model = from_model(fitted, Schema.infer(X, guard=False))
    recourse = Recourse(model, cost="l1")
    accepted = X[fitted.predict_proba(X)[:, 1] > 0.9].head(6)
    return recourse, X, [recourse.find(x) for _, x in accepted.iterrows()]


def opened(monkeypatch):
    """Count the boxes of all searches that are made from now on, and the calls for bounds."""
    counts = {"boxes": 0}
    search, best, bounds = BranchAndBound.max_confidence, BranchAndBound.best, Score.bounds

    def counted(asked):
        def ask(self, *given, **named):
            found = asked(self, *given, **named)
            counts["boxes"] += self.nodes
            return found

        return ask

    def bounded(self, first, last):
        counts["boxes"] += len(first)
        return bounds(self, first, last)

    monkeypatch.setattr(BranchAndBound, "max_confidence", counted(search))
    monkeypatch.setattr(BranchAndBound, "best", counted(best))
    monkeypatch.setattr(Score, "bounds", bounded)
    return counts


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("continuous", [False, True])
def test_no_more_boxes_are_bounded_than_allowed_and_the_radius_is_at_least_what_they_prove(
    hard, norm, continuous, monkeypatch
):
    *_, results = hard
    short = 0
    for result in results[:3]:
        whole = result.radius(norm=norm, continuous=continuous)
        assert whole.exact
        counts = opened(monkeypatch)
        for boxes in BOXES:
            counts["boxes"] = 0
            found = result.radius(norm=norm, continuous=continuous, node_limit=boxes)
            assert counts["boxes"] <= boxes
            assert 0.0 <= found <= whole
            assert found == whole or not found.exact
            short += found < whole
        monkeypatch.undo()
        found = result.radius(norm=norm, continuous=continuous, node_limit=10**6)
        assert (found, found.exact) == (whole, True)
    assert short


def test_the_clock_ends_the_search_only_where_a_time_is_given(hard):
    result = hard[2][0]
    found = result.radius(time_limit=1e-9)
    assert (found.exact, found <= result.radius()) == (False, True)
    again = [result.quick_radius() for _ in range(2)]
    assert repr(again[0]) == repr(again[1])
    limited = replace(result, question=replace(result.question, time_limit=1e-9))
    assert not limited.quick_radius().exact


def test_a_limit_that_is_none_is_refused(hard):
    with pytest.raises(ValueError, match="node_limit"):
        hard[2][0].radius(node_limit=0)
    with pytest.raises(ValueError, match="time_limit"):
        hard[2][0].radius(time_limit=-1.0)


@pytest.mark.parametrize("radius", [Radius(0.25), Radius(0.25, False), Radius(math.inf)])
def test_a_radius_is_a_float_that_survives_copies(radius):
    for copied in (
        pickle.loads(pickle.dumps(radius)), copy.copy(radius), copy.deepcopy([radius])[0]
    ):  # fmt: skip
        assert (type(copied), copied, copied.exact) == (Radius, radius, radius.exact)
    if radius < math.inf:
        assert json.dumps([radius]) == "[0.25]"
    assert distance(radius) == {True: "0.250", False: "≥ 0.250"}.get(radius.exact) or "any"


def test_a_bound_of_nothing_is_not_known():
    assert distance(Radius(0.0, False)) == "unknown"
    assert distance(Radius(0.0)) == "0"


@pytest.fixture
def poor(monkeypatch):
    """A budget that proves little."""
    monkeypatch.setattr(robustness, "RADIUS_BOXES", 9)
    monkeypatch.setattr(robustness, "FEWEST_BOXES", 9)


def bound_of(hard):
    """A result whose first radius is a bound above 0, by a budget that proves little."""
    found = [result for result in hard[2] if not result.quick_radius().exact]
    return next(result for result in found if result.quick_radius() > 0.001)


@pytest.mark.usefixtures("poor")
def test_every_surface_writes_a_bound_as_one(hard, tmp_path):
    recourse, _, _ = hard
    result = bound_of(hard)
    bound = result.quick_radius()
    written = distance(bound)
    assert written.startswith("≥ ")
    option = AnswerDocument.of(result, safety(result)).to_dict()["options"][0]
    assert (option["radius"], option["radius_exact"]) == (bound, False)
    text = evidence(result, certificates=False, pictures=False).text()
    assert written in text
    assert AT_LEAST in " ".join(text.split())
    row = answer(pd.DataFrame([result.factual]), Job.of(recourse)).iloc[0]
    assert (row["radius"], row["radius_exact"]) == (bound, False)
    assert "lower bound" in frontier_info(result, safety="radius", time_limit=1.0).safety
    recourse.model.save(tmp_path / "m.safetensors")
    pd.DataFrame([result.factual]).to_csv(tmp_path / "p.csv", index=False)
    line = ["find", "m.safetensors", "--data", "p.csv", "--row", "0", "--cost", "l1"]
    line = [str(tmp_path / word) if "." in word else word for word in line]
    said = CliRunner().invoke(app, line, env={"COLUMNS": "160"})
    assert written in said.output, said.output
    assert AT_LEAST in " ".join(said.output.split())


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (Radius(0.1), Radius(0.2), "more certified radius (0.100 → 0.200)"),
        (Radius(0.1), Radius(0.2, False), "more certified radius (0.100 → ≥ 0.200)"),
        (Radius(0.3, False), Radius(0.2), "less certified radius (≥ 0.300 → 0.200)"),
        (Radius(0.1, False), Radius(0.2), "not proved"),
        (Radius(0.2), Radius(0.1, False), "not proved"),
        (Radius(0.1, False), Radius(0.2, False), "not proved"),
        (Radius(0.1, False), Radius(0.1, False), "not proved"),
    ],
)
def test_a_greater_radius_is_claimed_only_where_it_is_proved(hard, first, second, says):
    recourse, X, _ = hard
    refused = X[recourse.confidences(recourse.schema.encode(X)) < 0.4]
    result = recourse.find(refused.iloc[0], [0.5, 0.6])
    compared = result.compare(0, 1)
    radii = zip(compared.measured, (first, second), strict=True)
    both = tuple(each._replace(radius=radius) for each, radius in radii)
    compared = replace(compared, measured=both)
    assert says in compared.sentence
    assert (says == "not proved") == ("not proved" in compared.sentence)
    assert "worse in nothing" not in compared.sentence or says != "not proved"
    told = list(compared.to_dict()["options"].values())
    assert [each["radius_exact"] for each in told] == [first.exact, second.exact]
    assert list(compared.words().loc["certified radius"]) == [distance(first), distance(second)]
