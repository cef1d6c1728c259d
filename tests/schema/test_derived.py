"""Columns that follow from others: formulas, their floats, and what a schema makes of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from trust_recourse import CertificateError, PTMClassifier, Recourse, verify
from trust_recourse.certificate import Certificate
from trust_recourse.cli import app
from trust_recourse.io.tables import read
from trust_recourse.population import batch
from trust_recourse.schema import Feature, FewChange, Schema, SchemaError
from trust_recourse.schema.actions import why_not
from trust_recourse.schema.derived import check_rows
from trust_recourse.schema.formula import Formula
from trust_recourse.schema.multiples import before_rounding, nearest_multiple
from trust_recourse.search import BLACK_BOX
from trust_recourse.web.state import person_like

law = settings(max_examples=200, deadline=None, database=None)
TEXTS = [
    "loan / price", "(a + b) / c", "a - b", "0.5 * a + 0.3 * b - 2", "min(a, b)",
    "max(a, 2 * b, 3)", "moves by 0.5 * loan", "-a + 0.25 * b", "(2 * a) / (b + 1)", "`my col` / b",
    "1e5 * a",
]  # fmt: skip
FORMULAS = [Formula.read(text) for text in TEXTS if "my" not in text]
numbers = st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float)


@pytest.mark.parametrize("text", TEXTS)
def test_a_formula_is_written_as_it_is_read(text):
    formula = Formula.read(text)
    assert Formula.read(repr(formula)) == formula


def test_a_formula_means_what_it_says():
    at = {"a": np.array([3.0]), "b": np.array([4.0]), "c": np.array([2.0])}
    for text, value in {
        "a + b / 4 - 1": 3.0, "(a + b) / c": 3.5, "a - (b - 2 * c)": 3.0, "min(a, b, 9)": 3.0,
        "max(a, b)": 4.0, "2 * (a + 1)": 8.0, "-a": -3.0,
    }.items():  # fmt: skip
        assert Formula.read(text).at(at, {}, 0.0).tolist() == [value]
    moved = Formula.read("moves by 2 * a - b").at(at, {"a": 1.0, "b": 1.0}, 10.0)
    assert moved.tolist() == [11.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a * b", "no product of two columns"), ("a / b / c", "one ratio around all of it"),
        ("1", "at least one other column"), ("a ** 2", "sums of columns"),
        ("min(a, b) + 1", "sums of columns"), ("__import__('os')", "sums of columns"),
        ("a +", "a sum, a difference"), ("moves by 2", "only other columns"), ("a / 0", "ratio"),
    ],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text, said):
    with pytest.raises(SchemaError, match=f"given .*expected.*{said}"):
        Formula.read(text)


@law
@given(st.sampled_from(FORMULAS), st.data())
def test_the_ends_of_a_box_bound_the_floats_inside(formula, data):
    low, high, inside, own = {}, {}, {}, {}
    for name in formula.names:
        three = sorted(data.draw(st.lists(numbers, min_size=3, max_size=3)))
        low[name], inside[name], high[name] = (np.array([value]) for value in three)
        own[name] = data.draw(numbers)
    least, most = formula.between(low, high, own, 1.0)
    value = formula.at(inside, own, 1.0)
    one = formula.one({name: float(at[0]) for name, at in inside.items()}, own, 1.0)
    assert one == value[0] or (math.isnan(one) and np.isnan(value[0]))
    if not np.isnan(value[0]):  # a division by 0 is nothing
        assert least[0] <= value[0] <= most[0]


@law
@given(numbers, st.sampled_from([None, 1.0, 0.1, 0.25, 0.001, 1 / 3, 7.0]), numbers)
def test_an_edge_before_rounding_is_one_after_it(value, step, edge):
    assert (nearest_multiple(value, step) <= edge) == (value <= before_rounding(edge, step))
    if step is not None:
        assert abs(nearest_multiple(value, step) - value) <= step / 2 * (1 + 1e-9) + 1e-9 * abs(
            value
        )


# ---------------------------------------------------------------- in a schema


@pytest.fixture(scope="module")
def homes():
    rng = np.random.default_rng(0)
    loan, price = rng.integers(20, 90, 300), rng.integers(60, 120, 300)
    X = pd.DataFrame({"loan": loan, "price": price, "fee": rng.integers(0, 9, 300)})
    X["ratio"] = (X["loan"] / X["price"]).round(2)
    y = (X["ratio"] + 0.03 * X["fee"] + rng.normal(0, 0.1, 300) < 0.75).astype(int)
    schema = Schema.infer(X).update("ratio", derived="loan / price", lower=0, upper=2)
    model = PTMClassifier(n_clauses=20, epochs=5, schema=schema, random_state=0).fit(X, y)
    return X, Recourse(model, schema, cost="l1")


def refused(X, recourse, n):
    return X[recourse.model.predict_proba(X)[:, 1] < 0.4].head(n)


def test_rows_that_disagree_are_named(homes):
    X, recourse = homes
    odd = X.copy()
    odd.loc[[5, 7], "ratio"] = 1.5
    found = recourse.schema.disagreements(odd)
    assert found.index.tolist() == [5, 7]
    assert found["given"].tolist() == [1.5, 1.5]
    assert recourse.schema.disagreements(X).empty
    with pytest.raises(
        SchemaError, match=r"'ratio' does not follow.*in 2 of 300 rows: row 5 has 1.5"
    ):
        PTMClassifier(schema=recourse.schema).fit(odd, np.arange(300) % 2)
    with pytest.raises(SchemaError, match="given 1.5, expected loan / price, which is"):
        recourse.find(odd.loc[5])
    many = recourse.find_many(odd.loc[[5, 6]])
    assert many["status"].tolist()[0] == "unanswered"


def test_a_ratio_never_moves_alone(homes):
    X, recourse = homes
    for _, x in refused(X, recourse, 6).iterrows():
        for option in recourse.find(x, [0.5, 0.7], n_options=2).options:
            assert not set(option.changes) <= {"ratio"}
            assert abs(option.x["ratio"] - option.x["loan"] / option.x["price"]) <= 0.0051
            assert recourse.schema.action_set(x).allows(option.codes)


def test_what_it_costs_is_what_its_inputs_cost(homes):
    X, recourse = homes
    x = refused(X, recourse, 1).iloc[0]
    option = recourse.find(x, 0.6).options[0]
    scaled = [
        abs(option.x[name] - x[name]) / recourse.schema[name].scale
        for name in ("loan", "price", "fee")
    ]
    assert option.cost == pytest.approx(sum(scaled))
    assert "ratio (follows)" in recourse.find(x, 0.6).words(option)


@pytest.mark.parametrize("engine", sorted({*BLACK_BOX} - {"tpe"}))  # which is slow
def test_engines_by_trial_compute_it_and_never_beat_exact(homes, engine):
    X, recourse = homes
    judged = 0
    for _, x in refused(X, recourse, 1).iterrows():
        least = recourse.find(x, 0.6, max_changes=2).options
        for option in recourse.find(x, 0.6, engine=engine, n_trials=60, max_changes=2).options:
            assert recourse.schema.action_set(x).allows(option.codes)
            assert len(set(option.changes) - {"ratio"}) <= 2
            assert option.cost >= least[0].cost * (1 - 1e-9)
            judged += 1
    assert judged


def test_a_certificate_covers_what_follows(homes):
    X, recourse = homes
    x = refused(X, recourse, 1).iloc[0]
    result = recourse.find(x, 0.6, certify=True)
    told = result.certificate(0.6).to_dict()
    assert verify(Certificate.from_dict(told), recourse.model, x=x, schema=recourse.schema)
    at = recourse.schema.position("ratio")
    told["answer"]["codes"][at] += 0.01
    with pytest.raises(CertificateError, match="follows from others"):
        verify(Certificate.from_dict(told), recourse.model, x=x)


def test_bounds_of_what_follows_limit_its_inputs():
    schema = Schema(
        (
            Feature("loan", "integer", lower=0, upper=100),
            Feature("savings", derived="moves by loan", lower=0.0),
        )
    )
    actions = schema.action_set({"loan": 50, "savings": 10.0})
    assert actions.completed(np.array([45.0, 0.0])).tolist() == [45.0, 5.0]
    assert actions.allows([45.0, 5.0])
    assert actions.why_not([35.0, -5.0]) == ("savings must not fall below 0",)
    assert actions.why_not([45.0, 6.0])[0].endswith("it must be 5")


@pytest.mark.parametrize("norm", [1, 2])
def test_a_wide_question_is_proved_in_few_boxes(norm):
    """A debt is paid off from savings, which end at 0: every box knows that."""
    rng = np.random.default_rng(1)
    loan, income = rng.integers(100, 900, 400), rng.integers(20, 220, 400)
    X = pd.DataFrame({"loan": loan, "income": income, "savings": rng.integers(0, 60, 400)})
    X["burden"] = (X["loan"] / X["income"]).round(3)
    y = (X["burden"] - 0.05 * X["savings"] + rng.normal(0, 1, 400) < 4).astype(int)
    schema = Schema.infer(X, guard=False)
    schema = schema.update("income", direction="increase", max_change=30)
    schema = schema.update("savings", derived="moves by loan", lower=0, upper=None)
    schema = schema.update("burden", derived="loan / income", step=0.001, lower=None, upper=None)
    model = PTMClassifier(n_clauses=20, epochs=5, schema=schema, random_state=0).fit(X, y)
    recourse, judged = Recourse(model, schema, f"l{norm}"), 0
    for _, x in refused(X, recourse, 4).iterrows():
        result = recourse.find(x, 0.6, node_limit=2_000)
        each = np.meshgrid(np.arange(x["loan"] - x["savings"], 901), np.arange(31), indexing="ij")
        rows = pd.DataFrame({"loan": each[0].ravel(), "income": x["income"] + each[1].ravel()})
        rows["savings"] = x["savings"] + rows["loan"] - x["loan"]
        rows["burden"] = (rows["loan"] / rows["income"]).round(3)
        rows = rows[rows["income"] <= X["income"].max()]
        rows = rows[rows["loan"].between(X["loan"].min(), X["loan"].max())]
        rows = rows[model.predict_proba(rows)[:, 1] >= 0.6]
        if rows.empty:
            assert [*result.status.values()] == ["infeasible"]
            continue
        apart = [(rows[n] - x[n]) / schema[n].scale for n in ("loan", "income")]
        least = np.linalg.norm(apart, norm, axis=0).min()
        assert result.options[0].cost == pytest.approx(least)
        assert result.options[0].status == "optimal"
        assert verify(result.certificate(0.6), model, x=x, schema=schema)
        judged += 1
    assert judged


def test_what_moves_from_a_missing_value_stays_missing():
    """No box is empty for that, in a search or in its proof."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 12, (200, 3)).astype(float), columns=list("abs"))
    X.loc[::3, "s"] = np.nan
    forest = RandomForestClassifier(6, max_depth=5, random_state=1)
    forest.fit(X, rng.integers(0, 2, 200))
    number = {"kind": "integer", "lower": 0, "upper": 11}
    follows = Feature("s", "integer", derived="moves by a", missing=(math.nan,))
    schema = Schema((Feature("a", **number), Feature("b", **number), follows))
    recourse, x = Recourse(forest, schema, cost="l1"), {"a": 3, "b": 5, "s": math.nan}
    every = [(float(a), float(b), math.nan) for a in range(12) for b in range(12)]
    rows = pd.DataFrame(every, columns=list("abs"))
    p, cost = forest.predict_proba(rows)[:, 1], (rows["a"] - 3).abs() + (rows["b"] - 5).abs()
    for level in (0.55, 0.65, float(p.max())):
        result = recourse.find(x, level)
        assert result.options[0].cost == cost[p >= level - 1e-9].min()
        assert verify(result.certificate(level), recourse.model, x=x, schema=schema)


def test_rows_of_which_not_one_is_1_are_named():
    X = pd.DataFrame({"rents": [1, 0, 1, 0], "owns": [0, 1, 1, 0], "age": [30, 40, 50, 60]})
    schema = Schema.infer(X).relate("one of rents, owns")
    found = schema.disagreements(X)
    assert found.index.tolist() == [2, 3]
    assert found["given"].tolist() == [2, 0]
    with pytest.raises(SchemaError, match="not one of rents, owns.*in 2 of 4 rows: row 2 has 2 of"):
        check_rows(schema, X, groups=True)
    check_rows(schema, X)
    few = Schema.infer(X).relate("at most one of rents, owns")
    check_rows(few, X.drop(index=2), groups=True)


def test_the_action_set_says_what_follows_and_how_little_is_too_little():
    schema = Schema(
        (
            Feature("loan", "integer", lower=0, upper=90, min_change=5, unit="k€"),
            Feature("savings", derived="moves by loan", lower=0.0, step=1.0),
            Feature("share", derived="loan / 90"),
        )
    )
    told = repr(schema.action_set({"loan": 50, "savings": 10.0, "share": 5 / 9})).splitlines()
    assert told[0] == "loan: 50 k€, may be 0 k€ to 90 k€, by at least 5 k€"
    assert told[1] == "savings: 10, follows (moves by loan), within 0 to any"
    assert told[2].endswith("follows (loan / 90)")


def test_what_cannot_follow_is_refused():
    number, word = Feature("a"), Feature("b", "category", values=("x", "y"))
    for features, said in (
        ((number, Feature("c", derived="a / z")), "no feature 'z'"),
        ((number, word, Feature("c", derived="a + b")), "'b' is of kind category"),
        ((number, Feature("c", derived="2 * a"), Feature("d", derived="c + a")), "write out"),
    ):
        with pytest.raises(SchemaError, match=said):
            Schema(features)
    with pytest.raises(SchemaError, match="is derived; state it of"):
        Schema((number, Feature("c", derived="2 * a")), ("a <= c",))
    with pytest.raises(SchemaError, match="field derived: given 'a'|'derived'"):
        Feature("c", "boolean", derived="a")


# ---------------------------------------------------------------- the other limits


def test_a_least_change_and_a_forbidden_move():
    pay = Feature("pay", "integer", lower=0, upper=100, min_change=10)
    assert pay.actions(50.0).values().tolist() == [*range(41), 50, *range(60, 101)]
    assert pay.actions(50.0).nearest(40.0, 49.0) is None
    assert pay.actions(50.0).nearest(30.0, 49.0) == 40.0
    assert why_not(pay, 50.0, 55.0) == ("pay must change by at least 10, or stay",)
    degree = Feature("degree", "category", values=("B", "M", "P"), forbidden=("M -> B", "* -> P"))
    assert degree.actions(1.0).choices == (1.0,)
    assert degree.actions(0.0).choices == (0.0, 1.0)
    assert why_not(degree, 1.0, 0.0) == ("degree may not go from M to B",)
    with pytest.raises(SchemaError, match="given 'Z'|given ' Z'"):
        Feature("degree", "category", values=("B", "M"), forbidden=("M -> Z",))
    with pytest.raises(SchemaError, match="min_change"):
        Feature("pay", min_change=5, max_change=2)
    freed = {
        each.sentence for each in Schema((pay, degree)).relaxations({"pay": 50, "degree": "M"})
    }
    assert {"pay may change by less than 10", "degree may go M -> B, * -> P"} <= freed


def test_relations_of_groups_are_read_and_told():
    names = ("a", "b", "c")
    schema = Schema(
        tuple(Feature(name, "integer", lower=0, upper=1) for name in names),
        ("at most 1 of a, b change", "b, c change together", "at most one of a, b, c"),
    )
    assert Schema.from_dict(schema.to_dict()) == schema
    actions = schema.action_set({"a": 0, "b": 0, "c": 0})
    assert actions.allows([1, 0, 0])
    assert actions.why_not([1, 1, 0]) == (
        "at most 1 of a, b may change",
        "b, c change together or not at all",
        "at most one of a, b, c may be yes (1)",
    )
    with pytest.raises(SchemaError, match="most=-1"):
        FewChange(names, -1)
    with pytest.raises(SchemaError, match="expected at least two"):
        Schema((Feature("a"),), ("a change together",))


def test_few_changes_cost_no_less(homes):
    X, recourse = homes
    x = refused(X, recourse, 3).iloc[2]
    costs = []
    for most in (None, 3, 2, 1):
        found = recourse.find(x, 0.55, max_changes=most)
        options = found.options
        costs.append(options[0].cost if options else math.inf)
        assert all(len(set(o.changes) - {"ratio"}) <= (most or 3) for o in options)
    assert costs == sorted(costs)
    with pytest.raises(ValueError, match="max_changes=0; expected a whole number above 0"):
        recourse.find(x, 0.55, max_changes=0)


def test_a_made_up_person_follows_the_formulas(homes):
    _, recourse = homes
    person = person_like(recourse)
    assert recourse.schema.disagreements(pd.DataFrame([person])).empty
    assert recourse.find(person, 0.5, node_limit=5)


def test_what_follows_is_computed_for_a_typed_person(homes, tmp_path):
    X, recourse = homes
    x = refused(X, recourse, 1)
    recourse.model.save(tmp_path / "m.safetensors")
    x.to_csv(tmp_path / "x.csv", index=False)
    model, data = str(tmp_path / "m.safetensors"), str(tmp_path / "x.csv")
    line = ["find", model, "--data", data, "--row", "0", "--set", "loan=80", "--json"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code in (0, 1), done.output
    told = json.loads(done.stdout)
    assert told["person"]["ratio"] == pytest.approx(80 / x["price"].iloc[0], abs=0.0051)


@pytest.fixture(scope="module")
def differences():
    """A model of a − b and c, and a person of whom the cheapest way is known."""
    a, b, c = (each.ravel().astype(float) for each in np.meshgrid(range(11), range(1, 6), range(6)))
    X = pd.DataFrame({"a": a, "b": b, "c": c, "r": a - b})
    schema = Schema(
        (
            Feature("a", lower=0, upper=10, step=1, scale=10),
            Feature("b", lower=1, upper=5, step=1, scale=4),
            Feature("c", lower=0, upper=5, step=1),
            Feature("r", lower=-5, upper=9, step=1, derived="a - b"),
        )
    )
    return X, schema, {"a": 4.0, "b": 3.0, "c": 2.0, "r": 1.0}


def test_a_forged_certificate_of_what_follows_is_refused(differences):
    X, schema, x = differences
    y = ((X["r"] >= 5) | (X["c"] >= 5)).astype(int)
    recourse = Recourse(DecisionTreeClassifier(max_depth=4).fit(X, y), schema, cost="l1")
    result = recourse.find(x, certify=True)
    assert result.options[0].cost == pytest.approx(0.4)
    honest = result.certificate().to_dict()
    dearer = np.array([4.0, 3.0, 5.0, 1.0])
    sure = recourse.confidence_of(dearer)
    every = [[*map(float, range(11))], [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 5.0]]
    shuffled = [[3.0, 0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 4.0], [2.0, 1.0, 4.0, 5.0, 3.0]]
    for candidates, said in (
        ([*shuffled, every[2], [1.0, 5.0]], "a: its candidates are out of order"),
        ([*every, [5.0, 1.0]], "r: its candidates are out of order"),
        ([*every, [0.0, 5.0]], "r: 1 is allowed, and no candidate serves in its place"),
    ):
        forged = honest | {
            "candidates": candidates, "lower_bound": 3.0, "feature": [2, -2, -1], "cut": [0, 0, 0],
            "price": [0.0] * 3,
            "answer": {"codes": dearer.tolist(), "cost": 3.0, "confidence": sure},
        }  # fmt: skip
        with pytest.raises(CertificateError, match=said):
            verify(Certificate.from_dict(forged), recourse.model, schema=schema, x=x)


def test_room_around_what_follows_in_a_regression(differences):
    X, schema, x = differences
    recourse = Recourse(LogisticRegression().fit(X, (X["r"] >= 5).astype(int)), schema, cost="l1")
    plain = recourse.find(x, 0.9)
    assert plain.radius(0) > 0.001
    kept = recourse.find(x, 0.9, min_radius=0.001)
    assert kept.options[0].status == "optimal"
    assert kept.options[0].cost == pytest.approx(plain.options[0].cost)


# ---------------------------------------------------------------- a table without it


def test_a_table_gets_the_derived_columns_that_it_lacks(tmp_path):
    given = pd.DataFrame({"the loan": [80.0, 91.0, None], "price": [100, 120, 100]})
    loan = Feature("the loan", missing=(None,))
    ratio = Feature("ratio", step=0.01, derived="`the loan` / price", missing=(None,))
    schema = Schema((ratio, loan, Feature("price", "integer")))
    whole = schema.with_derived(given)
    assert whole["ratio"].tolist()[:2] == [0.8, 0.76]
    assert math.isnan(whole["ratio"][2])
    check_rows(schema, whole)
    assert schema.with_derived(whole) is whole
    polars = pytest.importorskip("polars")
    theirs = schema.with_derived(polars.DataFrame(given.to_dict("list")))
    assert isinstance(theirs, polars.DataFrame)
    assert theirs["ratio"].to_list()[:2] == [0.8, 0.76]
    given.to_csv(tmp_path / "a.csv", index=False)
    read_again = read(tmp_path / "a.csv").read_by(schema)
    assert list(read_again) == list(schema.names)
    assert read_again["ratio"].tolist()[:2] == [0.8, 0.76]


def test_an_error_about_an_absent_column_says_that_it_is_derived(tmp_path):
    given = pd.DataFrame({"loan": [80.0], "price": [100.0]})
    features = (Feature("loan"), Feature("price"))
    ratio = Schema((*features, Feature("ratio", derived="loan / price")))
    for ask in (ratio.encode, lambda rows: ratio.action_set(rows.iloc[0])):
        with pytest.raises(SchemaError, match=r"'ratio' is derived, loan / price: compute it, in"):
            ask(given)
    moves = Schema((*features, Feature("rest", derived="moves by loan")))
    given.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="'rest' is derived, moves by loan: it starts from a valu"):
        read(tmp_path / "a.csv").read_by(moves)
    blank = pd.DataFrame({"loan": [None, 1.0], "price": [1.0, 1.0]})
    blank.to_csv(tmp_path / "a.csv", index=False)
    schema = Schema((Feature("loan", missing=(None,)), Feature("price"), ratio["ratio"]))
    with pytest.raises(ValueError, match=r"a\.csv: column 'ratio'"):
        read(tmp_path / "a.csv").read_by(schema)


def test_a_batch_says_that_an_absent_column_is_derived(homes, tmp_path):
    pytest.importorskip("pyarrow")
    X, recourse = homes
    X.drop(columns="ratio").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="'ratio' is derived, loan / price: compute it"):
        batch.run(recourse, tmp_path / "a.csv", tmp_path / "out")
    with pytest.raises(ValueError, match="'ratio' is derived, loan / price: compute it"):
        batch.answer(X.drop(columns="ratio"), batch.Job.of(recourse))
