"""How much confidence is reachable, under a limit on the number of changes and beyond limits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from trust_recourse import Recourse, search, verify
from trust_recourse.question import Problem, Status, Target
from trust_recourse.schema import Feature, Schema
from trust_recourse.search.exact import Exact
from worlds import enumerated, machine, person_schema

AROUND = 1e-9  # of confidence


def limited(seed, most):
    """A question with a limit on the number of changes, besides other relations."""
    model, X, rng = machine(seed)
    schema = person_schema(model, rng, relations=rng.random() < 0.5)
    schema = schema.relate(f"at most {most} of rate, count, home, job change")
    return Recourse(model, schema, "l1"), X.iloc[int(rng.integers(len(X)))]


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), most=st.integers(0, 3))
def test_the_highest_confidence_of_few_changes_is_that_of_enumeration(seed, most):
    recourse, x = limited(seed, most)
    reach = recourse.reachable(x)
    p = enumerated(recourse, x)[2]
    assert reach.status is Status.OPTIMAL
    assert reach.most == pytest.approx(p.max(), abs=AROUND)


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), most=st.integers(1, 3))
def test_of_few_changes_the_cheapest_is_proved(seed, most):
    recourse, x = limited(seed, most)
    _, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, 0.8, method="nearest"), 0.001, 0.999))
    result = recourse.find(x, level)
    assert result.options[0].cost == pytest.approx(costs[p >= level - 1e-12].min(), abs=1e-9)
    asked = {"schema": recourse.schema, "cost": recourse.cost, "x": x}
    verdict = verify(result.certificate(), recourse.model, **asked)
    assert verdict.status is next(iter(result.status.values()))


def one_of_many(d):
    """Boosted trees on d numbers of which one may change, and the names of the numbers."""
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (600, d)).astype(float)
    y = ((X - 9.5) @ rng.normal(size=d) + 5 * rng.normal(size=600) > 0).astype(int)
    model = LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1).fit(X, y)
    names = model.feature_name_
    features = tuple(Feature(name, kind="integer", lower=0, upper=19) for name in names)
    schema = Schema(features).relate(f"at most 1 of {', '.join(names)} change")
    return Recourse(model, schema, "l1"), X


def one_changed(row):
    """A row with one of its values changed, in every way."""
    d = len(row)
    rows = np.repeat(row[None], 20 * d, axis=0)
    rows[np.arange(20 * d), np.arange(20 * d) // 20] = np.arange(20 * d) % 20
    return rows


def test_one_change_alone_is_searched_value_by_value():
    """Once a feature differs, all others keep their values: no box holds two differences."""
    recourse, X = one_of_many(10)
    confidence = recourse.score.at_codes
    for row in X[confidence(X) < 0.5][:5]:
        own = recourse.schema.action_set_of(row)
        problem = Problem(own, Target(0.5), recourse.cost, 1)
        engine = Exact(recourse.score, problem, scope="most_confident")
        best, stopped = engine.max_confidence()
        assert not stopped
        assert best.confidence == confidence(one_changed(row)).max()
        assert engine.nodes <= 200


def test_a_proof_with_many_cuts_is_confirmed():
    """Also after a corner that the search finds and the model refuses, by a rounding."""
    recourse, X = one_of_many(32)
    confidence = recourse.score.at_codes
    row = X[0]
    while confidence(one_changed(row)).max() > confidence(row[None])[0]:
        rows = one_changed(row)
        gains = confidence(rows) - confidence(row[None])[0]
        row = rows[np.where(gains > 0, gains, np.inf).argmin()]
    x = dict(zip(recourse.schema.names, row, strict=True))
    own = float(confidence(row[None])[0])
    for more in (1e-14, 5e-15, 1e-15, 5e-16):
        result = recourse.find(x, own + 1e-9 + more)
        assert next(iter(result.status.values())) is Status.INFEASIBLE
        verdict = verify(result.certificate(), recourse.model, schema=recourse.schema, x=x)
        assert verdict.status is Status.INFEASIBLE


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_each_constraint_that_binds_is_listed_and_no_other(seed):
    """Also those that are not searched, since no cut of the model lies beyond them."""
    model, X, rng = machine(seed)
    schema = person_schema(model, rng, relations=False)
    schema = schema.update("count", lower=1, upper=3).update("home", mutable=False)
    recourse, x = Recourse(model, schema, "l1"), X.iloc[int(rng.integers(len(X)))]
    result = recourse.find(x, 0.999)
    best = result.max_confidence.most
    expected = {
        each.sentence: Recourse(model, each.schema, "l1").reachable(x).most
        for each in schema.relaxations(x)
    }
    expected = {words: most for words, most in expected.items() if most > best + AROUND}
    listed = result.binding().set_index("if").reachable.to_dict()
    assert listed == pytest.approx(expected, abs=AROUND)


def test_a_limit_on_boxes_is_for_all_constraints_together(monkeypatch):
    recourse, x = limited(3, 1)
    result = recourse.find(x, 0.999)
    _ = result.max_confidence
    given_out = []
    plain = search.binding.Exact

    def spied(*args, node_limit, **others):
        given_out.append(node_limit)
        return plain(*args, node_limit=node_limit, **others)

    monkeypatch.setattr(search.binding, "Exact", spied)
    table = result.binding(node_limit=10)
    assert len(given_out) > 1
    assert given_out[0] * len(given_out) <= 10
    assert given_out[-1] <= 10
    whole = result.binding()
    assert whole.attrs["unfinished"] == 0
    full = whole.set_index("if").reachable
    assert len(full) - len(table) <= table.attrs["unfinished"]
    for row in table.to_dict("records"):
        assert row["reachable"] <= full[row["if"]] + AROUND
        assert row["proved"] is True or row["reachable"] > result.max_confidence.most


def test_columns_of_a_choice_are_not_offered_beyond_0_and_1():
    names = ["rents", "owns"]
    features = tuple(Feature(name, kind="integer", lower=0, upper=1) for name in names)
    schema = Schema((*features, Feature("age", kind="integer", mutable=False)))
    x = {"rents": 1, "owns": 0, "age": 40}
    free = [each.sentence for each in schema.relaxations(x)]
    assert "owns may rise above 1" in free
    joined = [each.sentence for each in schema.relate("one of rents, owns").relaxations(x)]
    assert joined == [
        "age may change",
        "it were not required that just one of rents, owns may be yes (1)",
    ]


def test_the_only_bound_of_a_slope_is_named_as_open():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 5, (200, 3)), columns=["a", "b", "c"]).round(1)
    model = LogisticRegression().fit(X, X.sum(axis=1) > 10)
    schema = Schema.infer(X, guard=False).lock("a", "b")
    recourse = Recourse(model, schema, cost="l1")
    person = X.iloc[int(model.predict_proba(X)[:, 1].argmin())]
    result = recourse.find(person, 0.9)
    assert set(result.status.values()) == {"infeasible"}
    assert result.binding().attrs["open"] == ["c may rise above 5.0"]
