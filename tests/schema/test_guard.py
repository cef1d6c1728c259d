"""What `Schema.infer` locks, groups and bounds, and that the command `schema` does the same."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from trust_recourse import PTMClassifier, Recourse, Schema
from trust_recourse.cli import app
from trust_recourse.schema import OneOf
from trust_recourse.schema.guard import one_hot
from trust_recourse.schema.multiples import multiple_below

ROWS = 400
law = settings(max_examples=60, deadline=None)


def people(rows=ROWS, seed=0):
    """People with a history of bills, and choices spread over columns."""
    rng = np.random.default_rng(seed)
    bill = rng.lognormal(9, 1, rows)
    table = {"LIMIT": rng.integers(1, 50, rows) * 1000, "SEX": rng.integers(1, 3, rows)}
    table |= {"AGE": rng.integers(20, 70, rows), "race": rng.choice(["White", "Black"], rows)}
    for month in range(1, 5):
        bill = bill * rng.lognormal(0, 0.4, rows)
        table[f"BILL_AMT{month}"] = bill.round()
    table["sales_t-1"] = rng.integers(0, 90, rows)
    table["previous_loans"] = rng.integers(0, 9, rows)
    X = pd.DataFrame(table)
    for name, many in (("EDUCATION", 4), ("marital_status", 3)):
        choice = pd.Series(np.arange(rows) % many).sample(frac=1, random_state=seed)
        dummies = pd.get_dummies(choice.reset_index(drop=True), prefix=name, dtype=int)
        X = pd.concat([X, dummies], axis=1)
    return X


LOCKED = {
    "SEX": "sex", "AGE": "age", "race": "race", "BILL_AMT1": "past", "BILL_AMT4": "past",
    "sales_t-1": "past", "previous_loans": "past", "marital_status_2": "marital status",
}  # fmt: skip


def test_the_python_call_and_the_command_share_one_guard(tmp_path):
    X, out = people(), tmp_path / "s.yaml"
    X.assign(repaid=(X["LIMIT"] > 20_000) * 1).to_csv(tmp_path / "t.csv", index=False)
    done = CliRunner().invoke(
        app, ["schema", str(tmp_path / "t.csv"), "--target", "repaid", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    ours, theirs = Schema.infer(X), Schema.from_yaml(out)
    for name, word in LOCKED.items():
        assert word in ours.reasons[name]
        assert not ours[name].mutable
        assert not theirs[name].mutable
    assert ours.relations == theirs.relations
    free = ("LIMIT", *(f"EDUCATION_{at}" for at in range(4)))
    assert [f.name for f in ours if f.mutable] == [*free]
    comment = out.read_text().partition("- name: BILL_AMT2\n")[0].splitlines()[-1]
    assert comment.startswith("# stays: records the past, as one of the series BILL_AMT1 to")
    assert "# locked: a person's age, by its name\n- name: AGE\n" in ours.to_yaml()


def test_reasons_end_with_the_lock_and_no_guard_gives_none():
    X = people()
    ours = Schema.infer(X)
    assert "AGE" not in ours.update("AGE", mutable=True).reasons
    assert "SEX" in ours.update("AGE", mutable=True).reasons
    free = Schema.infer(X, guard=False)
    assert (free.reasons, free.relations) == ({}, ())
    assert all(feature.mutable for feature in free)
    assert free["LIMIT"].bounds == (X["LIMIT"].min(), X["LIMIT"].max())
    assert ours.guarded(X) == ours


def test_a_lock_changes_moves_and_not_what_a_machine_learns():
    X = people()
    y = (X["AGE"] + X["LIMIT"] / 1000 > 60).astype(int)
    machines = [
        PTMClassifier(epochs=2, n_clauses=8, random_state=0, schema=schema).fit(X, y)
        for schema in (Schema.infer(X, guard=False), None)
    ]
    assert np.array_equal(*(machine.inclusion_ for machine in machines))
    assert np.array_equal(*(machine.predict_proba(X) for machine in machines))
    assert machines[0].schema_["AGE"].mutable
    assert not machines[1].schema_["AGE"].mutable


@pytest.mark.parametrize("stem", ["x", "feature_", "V", "pixel"])
def test_numbered_columns_without_a_meaning_are_no_history(stem):
    rng = np.random.default_rng(0)
    common = rng.normal(size=(200, 1))
    X = common + rng.normal(size=(200, 4)) / 4
    names = [f"{stem}{at}" for at in range(4)]
    assert Schema.infer(pd.DataFrame(X, columns=names)).reasons == {}
    bills = pd.DataFrame(X, columns=[f"bill {at}" for at in range(4)])
    assert len(Schema.infer(bills).reasons) == 4
    apart = pd.DataFrame(rng.normal(size=(200, 4)), columns=bills.columns)
    assert Schema.infer(apart).reasons == {}  # uncorrelated
    assert Schema.infer(bills.iloc[:, [0, 2]]).reasons == {}  # two, and no run


def test_one_hot_groups_need_exactly_one_in_every_row():
    X = people()
    groups = [[f"EDUCATION_{at}" for at in range(4)], [f"marital_status_{at}" for at in range(3)]]
    assert Schema.infer(X).relations == tuple(OneOf(tuple(each)) for each in groups)
    home = pd.get_dummies(pd.Series(["rent", "own", "free"] * 20), prefix="home", prefix_sep="=")
    assert [*map(str, Schema.infer(home).relations)] == [
        "one of `home=free`, `home=own`, `home=rent`"
    ]
    X.loc[3, [*groups[0]]] = 0
    X.loc[4, [*groups[1]]] = 1
    assert Schema.infer(X).relations == ()
    assert Schema.infer(people(10)).relations == ()  # too few rows


@law
@given(st.integers(2, 6), st.integers(20, 60), st.integers(0, 99))
def test_every_group_has_one_1_in_every_row(many, rows, seed):
    rng = np.random.default_rng(seed)
    choice = np.append(np.arange(many), rng.integers(0, many, rows))
    codes = np.eye(many)[choice]
    codes = np.column_stack([codes, rng.integers(0, 2, len(codes))])
    names = [*(f"a_b_{at}" for at in range(many)), "a_c"]
    schema = Schema.infer(pd.DataFrame(codes, columns=names), guard=False)
    (group,) = one_hot(schema.features, codes)
    assert group.members == tuple(names[:many])
    assert not group.odd_rows(codes[:, :many])[0].any()


@law
@given(st.integers(1, 500), st.integers(0, 10**6), st.sampled_from([0.01, 0.5, 1, 25]))
def test_at_most_one_in_a_hundred_lies_outside_the_bounds_at_each_end(rows, seed, step):
    rng = np.random.default_rng(seed)
    values = np.round(np.round(rng.lognormal(3, 1.5, rows) / step) * step, 2)
    feature = Schema.infer(pd.DataFrame({"wage": values}))["wage"]
    lower, upper = feature.bounds
    assert (values < lower).mean() <= 0.01
    assert (values > upper).mean() <= 0.01
    assert lower >= values.min()
    assert upper <= values.max()
    if rows < 100:
        assert (lower, upper) == (values.min(), values.max())
    if lower < upper:
        assert multiple_below(feature.step, lower) == lower
        assert multiple_below(feature.step, upper) == upper


def test_a_rare_column_keeps_its_values_and_a_debt_its_zero():
    X = pd.DataFrame({"rare": [1] + [0] * 399, "debt": [0, -80, *range(100, 498)]})
    schema = Schema.infer(X)
    assert schema["rare"].bounds == (0, 1)
    assert schema["debt"].bounds == (0, 493)


@pytest.mark.parametrize("outside", [False, True])
def test_options_and_ranges_stay_within_the_bounds(outside):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(0, 30, 500).round(), "b": rng.normal(0, 30, 500).round()})
    y = (X["a"] + X["b"] + rng.normal(0, 9, 500) > 0).astype(int)
    recourse = Recourse(PTMClassifier(n_clauses=10, epochs=5, random_state=0).fit(X, y), None, "l1")
    x, judged = {"a": X["a"].min() if outside else -20.0, "b": -20.0}, 0
    assert (x["a"] < recourse.schema["a"].bounds[0]) == outside
    result = recourse.find(x, 0.7, n_options=3)
    for option in range(len(result.options)):
        for row in result.ranges(option).itertuples():
            lower, upper = recourse.schema[row.feature].bounds
            own = x[row.feature]
            assert lower <= row.low or row.low == own
            assert row.high <= upper or row.high == own
            judged += row.low < row.high
        for name, (_, after) in result.options[option].changes.items():
            assert recourse.schema[name].bounds[0] <= after <= recourse.schema[name].bounds[1]
    assert judged
