"""Sums of trees, searched with proof: bounds hold, reductions change nothing, libraries agree."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from trust_recourse import Cost, Feature, Recourse, Schema
from trust_recourse.models import Additive, from_model
from trust_recourse.models.scores import Asked
from trust_recourse.models.sums import reduce, score
from trust_recourse.models.sums.layout import LeafLists, Leaves, layout
from trust_recourse.testing import _check_box, check_cell_model

pytest.importorskip("lightgbm", reason="LightGBM is not installed")
pytest.importorskip("xgboost", reason="XGBoost is not installed")


def table(seed, n=240):
    """Numbers, some of them missing, and a class that depends on several."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.normal(30, 8, n).round(1),
            "debt": rng.integers(0, 12, n).astype(float),
            "years": rng.uniform(0, 10, n).round(1),
            "share": rng.uniform(0, 1, n).round(2),
        }
    )
    X.loc[rng.random(n) < 0.1, "years"] = np.nan
    risk = X["income"] / 8 - X["debt"] / 3 + X["years"].fillna(3) / 4 + rng.normal(0, 1, n)
    return X, (risk > risk.median()).astype(int).to_numpy()


def learnt(kind, X, y, trees=12, leaves=5):
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        made = LGBMClassifier(
            n_estimators=trees, num_leaves=leaves, min_child_samples=5, verbose=-1, random_state=0
        )
    elif kind == "xgboost":
        from xgboost import XGBClassifier

        made = XGBClassifier(n_estimators=trees, max_depth=3, random_state=0)
    elif kind == "forest":
        from sklearn.ensemble import RandomForestClassifier

        made = RandomForestClassifier(trees, max_depth=3, random_state=0)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier

        made = HistGradientBoostingClassifier(max_iter=trees, max_leaf_nodes=leaves)
    return made.fit(X, y)


KINDS = ("lightgbm", "xgboost", "forest", "histogram")


@pytest.mark.parametrize("kind", KINDS)
def test_the_conformance_kit_passes(kind):
    X, y = table(1)
    model = from_model(learnt(kind, X, y), Schema.infer(X, missing={"years": float("nan")}), X)
    assert check_cell_model(model, n_boxes=60).questions


@pytest.mark.parametrize("power", [0, 4, 8, 12])
def test_conditions_hold_from_any_h_on_however_large(power):
    """Where terms take back from each other what they hand out, their rounding stays."""
    X, y = table(2)
    model = from_model(learnt("lightgbm", X, y), Schema.infer(X, missing={"years": float("nan")}))
    rng = np.random.default_rng(power)
    score, judged = model.score_of(1), 0
    atoms = len(score.kernel.memory) - 1 - len(model.leaves.value)
    for _ in range(200):
        score.kernel.memory[0] = 10.0**-power
        score.kernel.memory[1 : 1 + atoms] = rng.normal(size=atoms) * 10.0**power
        judged += _check_box(score, rng)
    assert judged > 50


@settings(max_examples=6)
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from(["l0", "l1", "l2"]))
def test_reductions_change_no_answer(seed, kind, cost):
    X, y = table(seed)
    schema = Schema.infer(X, missing={"years": float("nan")})
    model = from_model(learnt(kind, X, y, trees=20), schema, X)
    whole, wanted = Recourse(model, schema, cost), seed % 2
    recourse = Recourse(model, schema, cost, wanted=wanted)
    rng = np.random.default_rng(seed)
    told = recourse.confidences(schema.encode(X))
    x = X.iloc[int(np.argsort(told)[rng.integers(0, 60)])]
    level = float(np.quantile(told, rng.uniform(0.55, 0.9)))
    fewest = score.FEWEST
    try:
        score.FEWEST = 0
        less = recourse.find(x, level, time_limit=60)
        score.FEWEST = 10**9
        more = recourse.find(x, level, time_limit=60)
    finally:
        score.FEWEST = fewest
    assert list(less.status.values()) == list(more.status.values())
    assert [o.cost for o in less.options] == pytest.approx([o.cost for o in more.options])
    assert whole.exact


def test_what_costs_nothing_is_found_in_a_reduced_question_too(monkeypatch):
    monkeypatch.setattr(score, "FEWEST", 0)
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1])
    schema = Schema((Feature("years", "integer", lower=0, upper=3),))
    recourse = Recourse(model, schema, Cost.named("l1", {"years": lambda *_: 0.0}))
    (option,) = recourse.find({"years": 1}, 0.7).options
    assert (option.x["years"], option.cost, str(option.status)) == (2, 0.0, "optimal")


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_confidence_that_no_sum_has_is_proved_out_of_reach(monkeypatch, wanted):
    monkeypatch.setattr(score, "FEWEST", 0)
    model = GradientBoostingClassifier(n_estimators=2).fit([[1.0], [2.0]] * 3, [0, 1] * 3)
    recourse = Recourse(model, Schema((Feature("years"),)), wanted=wanted)
    assert [*recourse.find({"years": 2 - wanted}, 0.99).status.values()] == ["infeasible"]


def test_who_can_get_no_further_is_proved_to_be_there():
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1])
    schema = Schema((Feature("years", mutable=False),))
    furthest = Recourse(model, schema).reachable({"years": 1})
    assert (furthest.confidence, furthest.cost, str(furthest.status)) == (0.0, 0.0, "optimal")


def test_room_is_asked_for_where_a_number_is_never_split():
    model = DecisionTreeClassifier().fit([[1.0, 0.0], [3.0, 0.0]], [0, 1])
    schema = Schema((Feature("years"), Feature("age")))
    (option,) = Recourse(model, schema).find({"years": 1, "age": 30}, min_radius=0.5).options
    assert option.x["years"] == pytest.approx(2.5, abs=1e-6)


@pytest.mark.parametrize("radius", [0.1, 0.2, 0.3, 0.7])
@pytest.mark.parametrize("wanted", [0, 1])
def test_room_is_found_before_the_first_threshold_and_after_the_last(radius, wanted):
    model = DecisionTreeClassifier().fit([[0.0], [0.06]], [0, 1])
    recourse = Recourse(model, Schema((Feature("years"),)), wanted=wanted)
    (edge,) = recourse.score.grid.edges[0]
    (option,) = recourse.find({"years": 0.06 * (1 - wanted)}, min_radius=radius).options
    assert abs(option.x["years"] - edge) == pytest.approx(radius)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_taken_as_it_is_and_the_library_confirms_every_option(kind):
    X, y = table(3)
    model = learnt(kind, X, y, trees=30)
    recourse = Recourse(model, Schema.infer(X, missing={"years": float("nan")}), "l1")
    refused = X[recourse.confidences(recourse.schema.encode(X)) < 0.5].head(6)
    proved = 0
    for _, x in refused.iterrows():
        result = recourse.find(x, [0.5, 0.6], n_options=2)
        proved += all(str(s) in ("optimal", "infeasible") for s in result.status.values())
        for option in result.options:
            row = pd.DataFrame([option.x]).astype(float)[list(X.columns)]
            assert model.predict_proba(row)[0, 1] == option.confidence
            assert option.confidence >= option.target.confidence - 1e-9
    assert proved == len(refused)
    assert len(recourse.frontier(refused.iloc[0], time_limit=20)) > 1
    assert recourse.find(refused.iloc[0], 0.5).radius() >= 0


def test_a_model_that_cannot_be_read_is_asked_by_trial_and_says_why():
    from lightgbm import LGBMClassifier

    X, y = table(4)
    three = LGBMClassifier(n_estimators=3, verbose=-1).fit(X, y + (X["debt"] > 9))
    with pytest.raises(ValueError, match="3 classes"):
        Recourse(three, Schema.infer(X, missing={"years": float("nan")}))


def test_the_furthest_reach_is_told_apart_next_to_one():
    schema = Schema((Feature("years", "integer", lower=0, upper=3, step=1, scale=1.0),))
    points = np.array([-1.0, 29.0, 30.0, 31.0])  # logistic: 1 less some 1e-13
    model = Additive(schema, (np.array([0.0, 1.0, 2.0]),), (points,))
    furthest = Recourse(model, schema, "l1").reachable({"years": 0})
    assert (furthest.cost, str(furthest.status)) == (3.0, "optimal")
    assert furthest.confidence == model.predict_proba(pd.DataFrame({"years": [3]}))[0, 1] < 1


def stumps(seed):
    """Six stumps on three features of four cells, costs, and what is asked for."""
    rng, cells = np.random.default_rng(seed), np.arange(12)
    allowed = np.ones((12, 12), bool)
    for left in range(0, 12, 2):
        f, cut = int(rng.integers(3)), int(rng.integers(1, 4))
        allowed[left] = (cells // 4 != f) | (cells % 4 < cut)
        allowed[left + 1] = (cells // 4 != f) | (cells % 4 >= cut)
    leaves = Leaves(np.arange(12) // 2, rng.normal(size=12), allowed)
    costs = np.abs(cells % 4 - rng.integers(4)) * rng.uniform(0.1, 1, 3).repeat(4)
    ends = [
        extreme.reduceat(leaves.value, cells[::2]).sum() for extreme in (np.minimum, np.maximum)
    ]
    return leaves, costs, ends[0] + rng.uniform(0.3, 0.7) * (ends[1] - ends[0])


@pytest.mark.parametrize("seed", range(40))
def test_a_reduction_leaves_the_cheapest_and_something_to_search(seed):
    leaves, costs, need = stumps(seed)
    whole = LeafLists(leaves.value, layout(leaves, np.array([4, 4, 4])))
    found = reduce.reduced_leaves(whole, Asked(costs, need, math.inf, lambda _: True))
    points = [at + 4 * np.arange(3) for at in itertools.product(range(4), repeat=3)]
    enough = [
        at for at in points
        if leaves.value[leaves.allowed[:, at].all(axis=1)].sum() >= need
    ]  # fmt: skip
    least = min(costs[at].sum() for at in enough)
    assert len(found.lists.values)  # or all would be searched that was there to begin with
    assert found.point is None or costs[found.point].sum() >= least - 1e-12
    of = np.array([costs[4 * f + kept].min() for f, kept in enumerate(found.kept)])
    assert of.sum() <= least + 1e-12
    assert found.bound <= least + 1e-12
