"""The highest reachable confidence: equal to enumeration, and bounded where it is unfinished."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier

from laws import checks, classes, lines, tables, trees
from trust_recourse import Recourse
from trust_recourse.answers.result import SEARCH
from trust_recourse.models.seam import MOST_INTERVALS
from trust_recourse.question import SLACK, Problem, Status, Target
from trust_recourse.question.vocabulary import TIME_LIMIT
from trust_recourse.schema import Feature, Schema
from trust_recourse.search import highest
from trust_recourse.search.exact import Exact
from trust_recourse.search.highest import Climb

LAWS = {"machines": checks, "trees": trees, "lines": lines, "tables": tables, "classes": classes}
DEGREES = [f"degree_{k}" for k in range(5)]


@pytest.mark.parametrize("law", LAWS)
def test_asking_for_levels_alone_finds_the_maximum_of_enumeration(law, monkeypatch):
    """With relations, derived columns and limits on changes; nothing else helps the levels."""
    for other in ("_find", "_limited", "_frontier"):
        monkeypatch.setattr(checks, other, lambda _: None)
    monkeypatch.setattr(highest, "FIRST", 0)
    monkeypatch.setattr(highest, "FEWEST", 2)
    monkeypatch.setattr(Exact, "risen", lambda engine, codes: engine.asked.at(codes))
    findings = [LAWS[law].judge(seed) for seed in range(12)]
    assert [each.broken for each in findings if each.broken] == []
    assert sum(each.counts["furthest reached"] for each in findings) > 12


# ---------------------------------------------------------------- a model of many terms


@cache
def credit_model():
    """A model like that of a bank: what may change, what may not, and a choice of one of five."""
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame({f"late_{k}": rng.integers(-2, 4, n) for k in range(4)})
    for k in range(6):
        X[f"paid_{k}"] = (rng.gamma(1.0, 40.0, n).round() * 100).clip(0, 30_000)
    X["limit"] = rng.integers(1, 50, n) * 10_000
    degree = rng.integers(0, 5, n)
    for k, name in enumerate(DEGREES):
        X[name] = (degree == k).astype(int)
    weights = np.array(
        [-0.9, -0.5, -0.4, -0.3, *rng.uniform(0, 1e-4, 6), 3e-6, *rng.normal(size=5)]
    )
    y = (X.to_numpy() @ weights + rng.normal(size=n) > 0).astype(int)
    model = LGBMClassifier(
        n_estimators=70, num_leaves=31, learning_rate=0.08, n_jobs=1, verbose=-1, random_state=0
    ).fit(X, y)
    features = (
        *(Feature(f"late_{k}", "integer", lower=-2, upper=3, mutable=False) for k in range(4)),
        *(Feature(f"paid_{k}", lower=0, upper=30_000, step=100, scale=3e4) for k in range(6)),
        Feature("limit", lower=10_000, upper=300_000, step=10_000, scale=3e5),
        *(Feature(name, "integer", lower=0, upper=1) for name in DEGREES),
    )
    schema = Schema(features).relate(f"one of {', '.join(DEGREES)}")
    return Recourse(model, schema, "l1", decision_threshold=0.7), X


def refused(many):
    """Applicants that the model of many terms refuses."""
    recourse, X = credit_model()
    said = recourse.confidences(recourse.schema.encode(X))
    return recourse, [X.iloc[at] for at in np.flatnonzero(said < 0.5)[::100][:many]]


def test_of_many_terms_the_highest_confidence_is_proved_and_none_is_above():
    recourse, people = refused(5)
    for x in people:
        reach = recourse.reachable(x, node_limit=20_000)
        assert (reach.proved, reach.status) == (True, Status.OPTIMAL)
        assert reach.ceiling == reach.most
        top = recourse.frontier(x)
        assert top.attrs["complete"]
        assert top["confidence"].iloc[-1] <= reach.most <= top["confidence"].iloc[-1] + 0.01 + SLACK
        more = recourse.find(x, min(reach.most + 1e-6, 1 - 1e-9), node_limit=20_000)
        assert [*more.status.values()] == [Status.INFEASIBLE]


def test_fewer_boxes_leave_it_between_two_bounds():
    recourse, people = refused(3)
    for x in people:
        whole = recourse.reachable(x).most
        for limit in (1, 20, 60):
            part = recourse.reachable(x, node_limit=limit)
            assert part.most <= whole <= part.ceiling
            assert part.proved == (part.ceiling - part.most <= SLACK)


def test_levels_that_few_boxes_leave_open_get_more(monkeypatch):
    """A number of boxes decides where to search next, and never ends the search."""
    monkeypatch.setattr(highest, "FEWEST", 1)
    monkeypatch.setattr(highest, "MORE", 2)
    recourse, people = refused(3)
    for x in people:
        problem = Problem(recourse.schema.action_set(x), Target(0.5), recourse.cost, 1)
        climb = Climb(Exact(recourse.score, problem, scope="most_confident"))
        climb.climb()
        assert climb.proved
        assert not climb.stopped
        assert climb.point.confidence == recourse.reachable(x).most


def test_a_search_goes_on_after_new_limits():
    recourse, people = refused(2)
    for x in people:
        problem = Problem(recourse.schema.action_set(x), Target(0.5), recourse.cost, 1)
        engine = Exact(recourse.score, problem, scope="most_confident", node_limit=5)
        climb = Climb(engine)
        climb.climb()
        assert climb.stopped
        before = climb.point.confidence, climb.ceiling
        engine.limit(100_000, 60.0)
        climb.climb()
        assert climb.proved
        assert before[0] <= climb.point.confidence <= climb.ceiling <= before[1]


def test_a_result_starts_from_its_options_and_what_is_proved():
    recourse, (x, *_) = refused(1)
    most = recourse.reachable(x).most
    level = min(most + 0.01, 1 - 1e-6)
    result = recourse.find(x, [most - 1e-9, level], time_limit=60)
    limited = result.most_confident(1e-9)
    assert limited.most >= result.options[0].confidence
    assert limited.ceiling <= level


@pytest.mark.parametrize(
    ("given", "seconds"), [(None, SEARCH), (TIME_LIMIT, SEARCH), (5.0, 5.0), (200.0, 200.0)]
)
def test_the_time_limit_of_a_question_is_that_of_itsmost_confident_option(
    given, seconds, monkeypatch
):
    recourse, (x, *_) = refused(1)
    result, seen = recourse.find(x, 1 - 1e-9, time_limit=given), []
    plain = Recourse.most_confident

    def spied(self, person, within, *others):
        seen.append(within.time_limit)
        return plain(self, person, within, *others)

    monkeypatch.setattr(Recourse, "most_confident", spied)
    assert result.max_confidence.proved
    assert seen == [seconds]


def test_what_scores_remember_of_levels_is_bounded():
    recourse, people = refused(5)
    for x in people:
        recourse.reachable(x)
    assert len(recourse.score._known_intervals) <= MOST_INTERVALS


def test_only_constraints_without_which_more_is_reachable_are_listed():
    recourse, people = refused(1)
    for x in people:
        result = recourse.find(x, 1 - 1e-9)
        most = result.max_confidence.most
        listed = result.binding(None)
        assert listed.attrs["unfinished"] == 0
        assert listed["proved"].all()
        freed = {each.sentence: each.schema for each in recourse.schema.relaxations(x)}
        every = {
            words: Recourse(recourse.model, schema, "l1").reachable(x).most
            for words, schema in freed.items()
        }
        expected = {words: then for words, then in every.items() if then > most + SLACK}
        found = dict(zip(listed["if"], listed["reachable"], strict=True))
        assert found == pytest.approx(expected, abs=2 * SLACK)


def test_what_is_reachable_with_nothing_relaxed_is_no_gain(monkeypatch):
    """Also where the search for the most confident option was not finished."""
    recourse, people = refused(1)
    for x in people:
        result = recourse.find(x, 1 - 1e-9)
        most = result.max_confidence.most
        early = recourse.reachable(x, node_limit=1)
        with monkeypatch.context() as patched:
            patched.setitem(result.__dict__, "max_confidence", early)
            listed = result.binding(None)
        assert (listed["reachable"] > most + SLACK).all()


def test_the_search_for_what_binds_keeps_its_time(monkeypatch):
    recourse, (x, *_) = refused(1)
    result = recourse.find(x, 1 - 1e-9)
    _ = result.max_confidence
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    asked = []
    plain = Climb.step

    def step(climb):
        asked.append(climb)
        now[0] += 10.0
        plain(climb)

    monkeypatch.setattr(Climb, "step", step)
    table = result.binding(15.0)
    assert len(asked) == 2
    assert table.attrs["unfinished"] > 0
