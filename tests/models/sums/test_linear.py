"""Linear models: slopes, where they are followed to, and what scikit-learn says of the answers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laws import lines
from laws.checks import Findings
from trust_recourse import Feature, Recourse, Schema, Status, from_model, load, verify
from trust_recourse.models.readers import linear
from trust_recourse.models.readers.library import Additive, UnreadableError, _compare
from trust_recourse.question import Target
from trust_recourse.schema import SchemaError
from trust_recourse.search import exact
from trust_recourse.testing import check_cell_model

SEEDS = (*range(16), 80100)  # in the last a trimmed box costs just as much as the answer
COUNTED = {
    *(f"{status}, {mode}" for status in ("optimal", "infeasible", "already_met")
      for mode in ("at_least", "band", "limited")),
    "further options", "furthest reached", "steps of a frontier", "rows that a relation forbids",
    "people with a missing value", "costs with functions", "wanted class 0", "wanted class 1",
    "questions that were reduced", "certificates that hold", "mutations refused",
}  # fmt: skip


@cache
def judged() -> Findings:
    each = [lines.judge(seed) for seed in SEEDS]
    counts = sum((findings.counts for findings in each), Counter())
    return Findings(counts, [words for findings in each for words in findings.broken])


@pytest.mark.slow
def test_an_answer_is_that_of_enumeration():
    assert judged().broken == []


@pytest.mark.slow
def test_there_was_something_to_judge():
    assert {kind for kind in COUNTED if not judged().counts[kind]} == set()


# ---------------------------------------------------------------- one line


def line(slope=-0.1, **more):
    """A card of one number, which 0 points split."""
    schema = Schema((Feature("owed", **{"step": 1.0, "scale": 10.0, **more}),))
    missing = [0.0] * bool(schema[0].missing)
    return Additive(schema, [[]], [[2.0, *missing]], slopes=[[slope, *missing]])


def test_a_number_is_followed_until_it_alone_is_enough():
    result = Recourse(line()).find({"owed": 31}, certify=True)
    assert result.options[0].changes == {"owed": (31.0, 20.0)}
    assert result.options[0].status is Status.OPTIMAL
    assert verify(result.certificate(), line()).status is Status.OPTIMAL


def test_whoever_asks_for_the_furthest_of_what_has_no_end_is_told():
    with pytest.raises(SchemaError, match="'owed' has no lower bound.*give it lower"):
        Recourse(line()).frontier({"owed": 31})
    with pytest.raises(SchemaError, match="'owed' has no lower bound"):
        Recourse(line()).find({"owed": 31}, 0.6, plausible=lambda rows: rows.owed < 9)
    bounded = Recourse(line(lower=0))
    assert len(bounded.frontier({"owed": 31})) == 32
    assert bounded.reachable({"owed": 31}).changes == {"owed": (31.0, 0.0)}


@pytest.mark.parametrize("cost", ["l0", "l1", "l2", {"l0": 0.1, "l1": 1.0}])
def test_bounds_far_away_change_nothing(cost):
    rng = np.random.default_rng(1)
    for _ in range(20):
        slopes = rng.normal(size=(3, 1)).round(2) / [[1.0], [5.0], [50.0]]
        free = Schema(
            tuple(Feature(f"f{k}", step=s, scale=s * 7) for k, s in enumerate((0.5, 1.0, 10.0)))
        )
        ends = {f"f{k}": 10.0**3 * (k + 1) for k in range(3)}
        held = Schema(tuple(replace(f, lower=-ends[f.name], upper=ends[f.name]) for f in free))
        person = dict(zip(free.names, rng.normal(0, 20, 3).round(1), strict=True))
        both = [
            Recourse(
                Additive(schema, [[]] * 3, [[0.0]] * 3, slopes=slopes.tolist()), cost=cost
            ).find(person, 0.8)
            for schema in (free, held)
        ]
        assert both[0].options[0].status in (Status.OPTIMAL, Status.ALREADY_MET)
        costs = [each.options[0].cost for each in both]
        assert costs[0] == pytest.approx(costs[1], rel=1e-14)  # of ties by rounding, either


def test_from_a_missing_value_any_number_costs_the_same_so_one_that_is_enough_does():
    result = Recourse(line(missing=(-9,)), decision_threshold=0.8).find({"owed": -9}, certify=True)
    (option,) = result.options
    assert option.cost == 1.0
    assert option.confidence >= 0.8
    assert verify(result.certificate(), result.recourse.model).status is Status.OPTIMAL


def test_a_number_without_a_step_has_a_ten_thousandth_of_its_scale_and_the_result_says_so():
    result = Recourse(line(step=None, scale=52.0)).find({"owed": 31.00007})
    assert result.recourse.schema["owed"].step == 0.0052
    value = result.options[0].changes["owed"][1]
    assert value == 3846 * 0.0052
    assert "in steps of 1/10,000 of the scale, as the schema has none: owed by 0.0052" in str(
        result
    )
    assert "in steps of" not in str(Recourse(line()).find({"owed": 31}))


TOO_GREAT = r"values from 9\S+ to 9\S+ in steps of \S+, expected them below 2\*\*53 steps"


@pytest.mark.parametrize(
    ("feature", "said"),
    [
        (Feature("owed", "integer"), TOO_GREAT),
        (Feature("owed", step=1.0, lower=2.0**53 - 8, upper=2.0**53 + 8), TOO_GREAT),
        (Feature("owed"), TOO_GREAT),
        (Feature("owed", "integer", lower=-(2**53), upper=2**53), r"18014\d+ values, expected at"),
    ],
)
def test_values_that_floats_skip_are_refused(feature, said):
    X = pd.DataFrame({"owed": 2.0**53 + np.arange(-8, 8)})
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, X["owed"] >= 2**53)
    recourse = Recourse(model, Schema((feature,)))
    with pytest.raises(SchemaError, match=f"'owed' has a slope.*given {said}.*a greater step"):
        recourse.find({"owed": 2**53 - 6}, 0.9)


def test_coefficients_whose_sums_overflow_are_refused():
    X = pd.DataFrame({"owed": [0.0, 1.0]})
    model = LogisticRegression().fit(X, [0, 1])
    model.coef_ = np.array([[-1e308]])
    said = r"feature 'owed', slopes: given -1e\+308, expected numbers up to 1e\+200"
    with pytest.raises(ValueError, match=f"{said}.*Fit the model again on scaled columns"):
        Recourse(model, Schema((Feature("owed", lower=0.0, upper=9.0),)))


def test_a_search_that_rounding_ends_names_no_limit():
    X = pd.DataFrame({"owed": 2.0**53 + np.arange(-8, 8), "paid": np.tile([0, 1], 8)})
    y = X["owed"] + 2 * X["paid"] >= 2**53
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    features = Feature("owed", "integer", upper=2**53 - 1), Feature("paid", "integer", upper=9)
    result = Recourse(model, Schema(features)).find({"owed": 2**53 - 4, "paid": 0}, 0.7)
    assert not result.ended_by
    assert repr(result)


def test_one_row_has_the_confidence_that_it_has_among_many():
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Feature(f"f{k}") for k in range(23)))
    model = Additive(
        schema, [[0.0]] * 23, rng.normal(size=(23, 2)), slopes=rng.normal(size=(23, 2))
    )
    rows = rng.normal(size=(200, 23))
    alone = np.concatenate([model.predict_proba(row[None]) for row in rows])
    assert (alone == model.predict_proba(rows)).all()


def test_slopes_are_of_numbers_alone():
    job = Schema((Feature("job", "category", values=("a", "b")),))
    with pytest.raises(ValueError, match=r"'job', slopes: .* expected 0 for what is no number"):
        Additive(job, [[]], [[0.0, 1.0]], slopes=[[0.0, 1.0]])
    with pytest.raises(ValueError, match="'owed', slopes: .* expected 1 finite numbers"):
        line(slope=math.inf)


# ---------------------------------------------------------------- scikit-learn's


def a_table(rng, n=200):
    schema = Schema(
        (
            Feature("income", step=0.5, lower=0, upper=60, scale=20, unit="k€"),
            Feature("age", "integer", lower=18, upper=90, scale=30, mutable=False),
            Feature("debts", "integer", lower=0, upper=9, scale=5, missing=(-9,)),
            Feature("owner", "boolean"),
            Feature("grade", "ordinal", values=(1.0, 2.0, 4.0)),
            Feature("area", "category", values=(0.0, 3.0, 7.0)),
        )
    )
    table = pd.DataFrame(
        {
            "income": rng.uniform(0, 60, n).round(1), "age": rng.integers(18, 80, n),
            "debts": np.where(rng.random(n) < 0.1, -9, rng.integers(0, 9, n)),
            "owner": rng.random(n) < 0.5, "grade": rng.choice([1.0, 2.0, 4.0], n),
            "area": rng.choice([0.0, 3.0, 7.0], n),
        }
    )  # fmt: skip
    score = table.income / 12 - table.debts / 2 + table.owner + table.grade + rng.normal(0, 1, n)
    return table, np.where(score > np.median(score), "yes", "no"), schema


MODELS = {
    "regression": LogisticRegression(max_iter=5000),
    "liblinear": LogisticRegression(solver="liblinear"),
    "cross-validated": LogisticRegressionCV(
        Cs=3,
        cv=2,
        max_iter=5000,
        scoring="accuracy",
        l1_ratios=(0.0,),
        use_legacy_attributes=False,
    ),
    "descent": SGDClassifier(loss="log_loss", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("named", [True, False])
def test_it_says_what_the_library_says_but_for_rounding(name, named):
    table, y, schema = a_table(np.random.default_rng(3))
    columns = [*reversed(schema.names)] if named else [*schema.names]
    rows = table[columns].astype(float)
    rows = rows if named else rows.to_numpy()
    model = clone(MODELS[name]).fit(rows, y)
    read = from_model(model, schema, rows)
    assert read.classes_.tolist() == ["no", "yes"]
    codes = schema.encode(table)
    apart = np.abs(read.predict_proba(table) - model.predict_proba(rows))
    assert (apart.max(axis=1) <= read.apart(codes)).all()
    assert read.apart(codes).max() < 1e-10
    model.coef_ = -model.coef_  # of any row, however sure
    with pytest.raises(UnreadableError, match="row .* the library says"):
        _compare(read, model.predict_proba(rows), rows)


@pytest.mark.parametrize("wanted", ["yes", "no"])
@pytest.mark.parametrize("cost", ["l0", "l1", "l2"])
def test_answers_are_enough_by_the_library_s_own_word(cost, wanted):
    table, y, schema = a_table(np.random.default_rng(5))
    model = LogisticRegression(max_iter=5000).fit(table.astype(float), y)
    recourse = Recourse(model, schema, cost, wanted=wanted)
    at = [*model.classes_].index(wanted)
    refused = table[model.predict_proba(table.astype(float))[:, at] < 0.5]
    answered = 0
    for _, person in refused.head(12).iterrows():
        result = recourse.find(person, [0.5, 0.6, 0.8], n_options=2)
        for option in result.options:
            said = model.predict_proba(pd.DataFrame([option.x]).astype(float))[0, at]
            assert option.target.met(said)
            answered += 1
    assert answered > 20


def test_what_the_library_misses_by_rounding_is_no_answer(monkeypatch):
    table, y, schema = a_table(np.random.default_rng(5))
    model = LogisticRegression(max_iter=5000).fit(table.astype(float), y)
    recourse = Recourse(model, schema, "l1")
    person = table[recourse.confidences(schema.encode(table)) < 0.3].iloc[0]
    first = recourse.find(person).options[0]
    level = first.confidence
    own = linear.predict_proba
    short = lambda model, rows: own(model, rows) - [[-1e-16, 1e-16]]  # noqa: E731
    monkeypatch.setattr(linear, "predict_proba", short)
    asked = Recourse(model, schema, "l1", decision_threshold=level)
    option = asked.find(person).options[0]
    assert option.confidence > level
    assert option.cost > first.cost
    assert option.lower_bound <= first.cost
    assert option.status is Status.FEASIBLE
    assert (own(model, asked.library.columns.rows(option.codes[None]))[0, 1] - 1e-16) >= level


@pytest.mark.parametrize(
    ("model", "change", "words"),
    [
        (SGDClassifier(loss="modified_huber"), {}, "loss='modified_huber'.*learn it with"),
        (LogisticRegression(), {"debts": (-9, -8)}, "'debts': the model tells its missing codes"),
        (LogisticRegression(), {"debts": (None,)}, "'debts' may be blank.*takes no blanks"),
    ],
)
def test_what_cannot_be_read_is_named(model, change, words):
    table, y, schema = a_table(np.random.default_rng(0))
    table["debts"] = table.debts.abs()
    for name, codes in change.items():
        schema = schema.update(name, missing=codes)
    with pytest.raises(UnreadableError, match=words):
        from_model(model.fit(table.astype(float), y), schema)


def test_three_classes_are_a_softmax_unless_each_is_learnt_against_the_rest():
    table, _, schema = a_table(np.random.default_rng(0))
    model = LogisticRegression(max_iter=5000).fit(table.astype(float), table.area)
    assert from_model(model, schema, table.astype(float)).predict_proba(table).shape[1] == 3
    apart = LogisticRegression(solver="liblinear")
    apart.classes_, apart.coef_ = model.classes_, model.coef_
    with pytest.raises(UnreadableError, match="3 classes: each is learnt against the rest"):
        from_model(apart, schema)


def test_a_model_comes_back_from_its_file(tmp_path):
    table, y, schema = a_table(np.random.default_rng(2))
    read = from_model(LogisticRegression(max_iter=5000).fit(table.astype(float), y), schema)
    read.save(tmp_path / "line.safetensors")
    again = load(tmp_path / "line.safetensors")
    assert again.fingerprint_ == read.fingerprint_
    assert (again.predict_proba(table) == read.predict_proba(table)).all()
    person = table[read.predict_proba(table)[:, 1] < 0.5].iloc[0]
    certificate = Recourse(read).find(person, 0.7).certificate()
    assert verify(certificate, again, x=person).status is Status.OPTIMAL
    steeper = Additive(
        schema, read.grid.edges, read.points, slopes=[2.0 * each for each in read.slopes],
        base=read.base, classes=read.classes_,
    )  # fmt: skip
    assert steeper.fingerprint_ != read.fingerprint_


def test_the_kit_holds_a_line_to_what_it_says():
    table, y, schema = a_table(np.random.default_rng(2))
    read = from_model(LogisticRegression(max_iter=5000).fit(table.astype(float), y), schema)
    checked = check_cell_model(read, table, n_boxes=30, n_questions=6)
    assert checked.boxes == 60
    assert checked.conditions > 30
    assert checked.certificates > 6


@pytest.mark.parametrize("cost", ["l1", "l2"])
def test_the_least_cost_is_that_of_a_mixed_integer_program(cost):
    rng = np.random.default_rng(4)
    schema = Schema(
        tuple(
            Feature(f"f{k}", "integer", lower=0, upper=40, scale=float(s))
            for k, s in enumerate(rng.integers(5, 40, 8))
        )
    )
    model = Additive(schema, [[]] * 8, [[0.0]] * 8, slopes=rng.normal(0, 0.05, (8, 1)))
    recourse = Recourse(model, cost=cost)
    asked = 0
    for row in rng.integers(0, 41, (12, 8)).astype(float):
        option = recourse.find(dict(zip(schema.names, row, strict=True)), 0.75).options[:1]
        values = np.arange(41.0)
        moved = np.abs(values[None] - row[:, None]) / [[feature.scale] for feature in schema]
        gains = np.concatenate([slope[0] * values for slope in model.slopes])
        solved = milp(
            (moved if cost == "l1" else moved**2).ravel(), integrality=np.ones(8 * 41),
            bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0},
            constraints=[
                LinearConstraint(np.kron(np.eye(8), np.ones(41)), 1, 1),
                LinearConstraint(gains[None], math.log(3.0) - 1e-9, math.inf),
            ],
        )  # fmt: skip
        assert (solved.x is None) == (not option)
        if option:
            asked += option[0].cost > 0
            told = option[0].cost if cost == "l1" else option[0].cost ** 2
            assert told == pytest.approx(solved.fun, abs=1e-6)
    assert asked > 5


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_scores_of_listed_values_are_the_model_s_own(seed):
    rng = np.random.default_rng(seed)
    _, schema, table, model, cost = lines.a_place(rng)
    action_set = schema.action_set(table.iloc[0])
    for wanted in (0, 1):
        score = model.score_of(wanted)
        problem = exact.Problem(action_set, Target(0.6), cost, wanted)
        engine = exact.Exact(score, problem, scope="any")
        at = np.array([rng.integers(0, len(each.codes), 9) for each in engine.listed.features])
        codes = np.array(
            [each.codes[k] for each, k in zip(engine.listed.features, at, strict=True)]
        ).T
        told = model.predict_proba(schema.decode(codes))[:, wanted]
        assert (score.at_codes(codes) == told).all()
        cells = np.array(
            [each.cells[k] for each, k in zip(engine.listed.features, at, strict=True)]
        ).T
        assert (engine.listed.score.at(cells.astype(np.int32)) == told).all()
