"""ElliCE's condition, computed here, and the tables where it could not be asked itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments import ellice
from experiments.lasting import Points, World


@pytest.fixture(scope="module")
def iris():
    return World.of("iris", "regression")


@pytest.fixture(scope="module")
def person(iris):
    return ellice.Regression.of(iris), Points(iris, iris.refused(1)[0])


def test_no_regression_of_the_ellipsoid_is_below_the_worst(person):
    regression, points = person
    some = regression.seen(points.codes[::500])
    assert (some @ regression.theta >= 0).tolist() == points.yes[::500].tolist()
    epsilon, rng = 0.01, np.random.default_rng(0)
    root = np.linalg.inv(np.linalg.cholesky(regression.hessian))
    steps = rng.standard_normal((20_000, len(root)))
    steps *= math.sqrt(2.0 * epsilon) / np.linalg.norm(steps, axis=1, keepdims=True)
    least = (some @ (regression.theta + steps @ root).T).min(axis=1)
    worst, middle = regression.worst(some, epsilon), some @ regression.theta
    assert (worst <= least + 1e-9).all()
    assert ((middle - least) > 0.85 * (middle - worst)).all()  # and it is as low as that
    kept = regression.margin(some) >= math.sqrt(2.0 * epsilon)
    assert (kept == (worst >= 0)).all()
    assert 0 < kept.sum() < len(kept)


def test_an_answer_is_measured_within_what_may_change(person):
    regression, points = person
    at = int(points.yes.argmax())
    *seen, _ = regression.seen(points.codes[at][None])[0]
    told = ellice.judged(regression, points, 0.1, {"found": [[*seen, 7.0, 0.5]], "note": ""})
    assert told["cost"] == pytest.approx(points.cost[at])
    assert told["kept"] == points.kept_at(points.codes[at])
    assert (told["valid"], told["worst_told"], told["seconds"]) == (True, 7.0, 0.5)
    far = ellice.judged(regression, points, 0.1, {"found": [[99.0] * 4 + [0, 0]], "note": ""})
    ends = np.array([each[-1] for each in points.values])
    assert far["cost"] == pytest.approx(np.abs(ends - points.own).sum())


def test_without_its_environment_the_condition_is_still_measured(iris, monkeypatch):
    monkeypatch.setattr(World, "of", lambda *_: iris)
    rows = ellice.asked("iris", 2, "")
    for row in rows:
        costs = [answer["cost"] for answer in row["exact"] if answer["met"]]
        assert len(costs) > 10
        assert costs == sorted(costs)
    by_epsilon, same = ellice.tables(rows)
    assert len(by_epsilon.body) == len(ellice.EPSILONS)
    assert by_epsilon.body[0][2] == "0, 0 of 2"
    assert f"Not run: {ellice.NOT_BUILT}." in by_epsilon.notes
    assert [line[6:8] for line in same.body] == [("keeps less", "keeps less")] * 3


def test_as_much_is_kept_by_the_cheapest_epsilon():
    def answer(cost, kept):
        return {"cost": cost, "kept": kept, "valid": True}

    person = {
        "survives": {"0.9": answer(2.0, 0.9)},
        "gradient": [answer(1.0, 0.8), answer(4.0, 0.9), answer(3.0, 1.0)]
        + [{"note": ""}] * (len(ellice.EPSILONS) - 3),
    }
    assert ellice.dearer([person], 0.9, "gradient") == (1.5, ellice.EPSILONS[2], 1)
    person["survives"]["0.9"]["kept"] = 1.01
    assert ellice.dearer([person], 0.9, "gradient") is None
