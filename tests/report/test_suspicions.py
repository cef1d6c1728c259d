"""What looks wrong in a table is named, and what is merely good, rare or large is not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from trust_recourse import Schema, german_credit, german_credit_schema, haberman, model_report
from trust_recourse.report import check_table
from trust_recourse.report.model.data_checks import _way

ROWS = 400


@pytest.fixture
def table():
    """Columns with nothing wrong, and the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    X = pd.DataFrame(
        {
            "income": rng.lognormal(8, 0.6, ROWS).round(),
            "term": rng.integers(18, 80, ROWS),
            "score": y + rng.normal(size=ROWS) * 0.45,  # good: an AUC of .94
            "town": rng.choice(["a", "b", "c"], ROWS),
            "rare": rng.random(ROWS) < 0.03,
            "visits": rng.integers(0, 12, ROWS),
            "debts": rng.choice([0, 0, 0, 1, 2, 9], ROWS),
            "bureau score": np.clip(rng.normal(640, 90, ROWS), 300, 850).round(),
            "rent": rng.choice([0, *range(500, 1500, 20)], ROWS),
            "share": rng.integers(0, 100, ROWS) / 100,
        }
    )
    return X, y


def kinds(X, y, schema=None, **how):
    return {(each.column, each.kind) for each in check_table(X, y, schema, **how)}


def test_nothing_is_suspected_where_nothing_is_wrong(table):
    assert kinds(*table) == set()
    X, y = german_credit()
    assert {kind for _, kind in kinds(X, y)} == {"protected", "past", "sentinel"}
    half = {(name, "sentinel") for name in ("savings", "property")}  # 'unknown or none'
    assert {each for each in kinds(X, y) if each[1] == "sentinel"} == half
    unsaid = {("age", "protected"), ("dependants", "protected")}
    assert kinds(X, y, german_credit_schema()) == unsaid
    assert kinds(X, y, german_credit_schema(), wanted=0) <= unsaid | {(n, "direction") for n in X}
    for load in (load_breast_cancer, load_wine, load_diabetes):
        X, y = load(return_X_y=True, as_frame=True)
        assert {kind for _, kind in kinds(X, y > np.median(y))} <= {"protected", "leak", "id"}
    assert kinds(*haberman()) == {("age", "protected"), ("year", "past")}


def test_a_column_that_tells_the_class_alone_is_named(table):
    X, y = table
    rng = np.random.default_rng(1)
    leaks = {
        "rising": y + rng.normal(size=ROWS) * 0.2,
        "falling": -y + rng.normal(size=ROWS) * 0.2,
        "apart": np.where(y == 1, rng.choice([-2.0, 2.0], ROWS), 0) + rng.normal(size=ROWS) * 0.1,
        "word": np.where(y == 1, rng.choice(["x", "z"], ROWS), "y"),
        "gone": np.where(y == 1, np.nan, rng.normal(size=ROWS)),
        "flag": y == 1,
    }
    X = X.assign(**leaks)
    schema = Schema.infer(X, missing={"gone": (float("nan"),)})
    assert kinds(X, y, schema) == {(name, "leak") for name in leaks}
    [first] = [each for each in check_table(X, y, schema) if each.column == "flag"]
    assert "AUC of 1.000" in first.sentence
    assert "leave it out" in first.sentence


def test_of_several_classes_each_is_looked_at(table):
    X, y = table
    y = np.where(np.arange(ROWS) % 3 == 0, "a", np.where(y == 1, "b", "c"))
    X = X.assign(one=(y == "a") * 1.0, other=y == "c")
    assert kinds(X, y) == {("one", "leak"), ("other", "leak")}
    told = {each.column: each.seen for each in check_table(X, y)}
    assert told["one"].startswith("it alone tells class a with an AUC of 1")


@pytest.mark.parametrize(
    ("column", "codes", "found"),
    [
        ("term", (999,), (999,)),
        ("term", (666, 999), (666, 999)),
        ("term", (-9,), (-9,)),
        ("term", (-7, -8, -9), (-9, -8, -7)),
        ("income", (-99,), (-99,)),
        ("income", (10**6 - 1,), (10**6 - 1,)),
        ("term", (5000,), (5000,)),  # no usual code, but far away and repeated
        ("term", (-400,), (-400,)),
        ("visits", (96, 98), (96, 98)),
        ("term", (95,), ()),
        ("term", (99,), (99,)),  # beyond a gap, and nines
        ("bureau score", (999,), (999,)),
        ("bureau score", (998, 999), (998, 999)),
        ("bureau score", (9999,), (9999,)),
        ("bureau score", (-1,), (-1,)),
        ("bureau score", (0,), (0,)),  # as no score is
        ("bureau score", (950,), ()),
        ("share", (-1,), (-1,)),
        ("term", (-1, 999), (-1, 999)),  # at both ends
        ("term", (-9, -400, 5000), (-400, -9, 5000)),
        ("bureau score", (0, 999), (0, 999)),
        ("bureau score", (-1, 0, 999), (-1, 0, 999)),
        ("income", (999,), ()),  # an income like others
    ],
)
def test_codes_that_may_mean_missing_are_named(table, column, codes, found):
    X, y = table
    X = X.copy()
    for at, code in enumerate(codes):
        X.loc[at::40, column] = code
    told = [each for each in check_table(X, y) if each.column == column]
    assert [each.codes for each in told] == ([found] if found else [])
    if found:
        assert kinds(X, y, Schema.infer(X, missing={column: codes})) == set()
        assert "missing: [" in told[0].advice


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("unknown", "?", "clerk", "self"), ("unknown", "?")),
        (("n/a", "NA", "XNA", "cash"), ("n/a", "NA", "XNA")),
        (("-9", "A11", "A12"), ("-9",)),
        (("999", "north", "south"), ("999",)),
        (("01", "02", "-9"), ("-9",)),
        (("Not specified", "keine Angabe", "Ulm"), ("Not specified", "keine Angabe")),
        (("unknown or none", "house", "car"), ("unknown or none",)),
        (("-", "credit", "cash"), ("-",)),
        (("none", "other", "bank"), ()),  # which is an answer
        (("no", "yes", "no internet service"), ()),
        (("+", "-"), ()),
        (("01234", "99999", "02345"), ()),  # places
        (("free", "own", "rent"), ()),
        (("unknown", "?"), ()),  # nothing else is there
    ],
)
def test_words_that_may_say_nothing_are_named(table, words, found):
    X, y = table
    X = X.assign(word=np.resize(words, ROWS))
    [*told] = [each for each in check_table(X, y) if each.kind == "sentinel"]
    assert [{*each.codes} for each in told] == ([{*found}] if found else [])
    if found:
        assert all(repr(word) in told[0].sentence for word in found)
        assert kinds(X, y, Schema.infer(X, missing={"word": found})) == set()


def test_one_outlier_is_no_code(table):
    X, y = table
    X.loc[7, "term"] = 999
    assert kinds(X, y) == set()


def test_what_names_the_rows_is_named(table):
    X, y = table
    rng = np.random.default_rng(2)
    names = {
        "row": np.arange(ROWS),
        "back": np.arange(ROWS)[::-1] * 10,
        "dealt": rng.permutation(ROWS) + 1,
        "share": np.arange(ROWS) / ROWS,
        "account": [f"K-{at}" for at in range(ROWS)],
    }
    assert kinds(X.assign(**names), y) == {(name, "id") for name in names}
    four = np.repeat(rng.permutation(10**6)[: ROWS // 4], 4)
    named = {"customer_id": four, "Vertragsnr": four, "policy_id": [f"P{n}" for n in four]}
    assert kinds(X.assign(**named), y) == {(name, "id") for name in named}
    few = {"branch_id": four % 9, "loans_number": four % 90, "price_index": four % 90}
    assert kinds(X.assign(**few), y) == set()
    by_income = X.sort_values("income")  # sorted, but with ties: a table may be
    assert kinds(by_income, y[by_income.index]) == set()


def test_what_hardly_differs_is_named(table):
    X, y = table
    X = X.assign(same=3, nearly=[1] * 2 + [0] * (ROWS - 2), word="a")
    assert kinds(X, y) == {(name, "constant") for name in ("same", "nearly", "word")}
    told = {each.column: each.seen for each in check_table(X, y)}
    assert told["nearly"] == f"0 in all but 2 of {ROWS} rows"


def test_what_hardly_differs_is_looked_at_as_all_else_is(table):
    X, y = table
    few = np.arange(ROWS) < 3
    X = X.assign(
        sex=np.where(few, "male", "female"), bankruptcies=few * 1, owned=np.where(few, "XNA", "a")
    )
    both = {("sex", "protected"), ("bankruptcies", "past"), ("owned", "sentinel")}
    assert kinds(X, y) == both | {(name, "constant") for name, _ in both}
    rare = (np.arange(2000) < 15) * 1
    found = kinds(pd.DataFrame({"trace": rare, "n": np.arange(2000) % 99}), rare)
    assert found == {("trace", "leak"), ("trace", "constant")}


def test_an_effect_against_the_schema_is_named(table):
    X, y = table
    schema = (
        Schema.infer(X).update("score", direction="decrease").update("term", direction="increase")
    )
    assert kinds(X, y, schema) == {("score", "direction")}
    assert kinds(X, y, schema, wanted=0) == set()
    assert kinds(X, y, schema.update("score", direction="increase")) == set()
    assert kinds(X, y, schema.update("score", mutable=False)) == set()
    [told] = check_table(X, y, schema)
    assert told.seen.startswith("direction: decrease, but the lower it is, the fewer rows are of")


def test_an_effect_that_another_column_explains_is_not(table):
    X, y = table
    rng = np.random.default_rng(3)
    X["shadow"] = -X["score"] + rng.normal(size=ROWS) * 0.3 + 0.1 * y
    y = (
        X["score"] + 0.4 * (X["shadow"] + X["score"]) + rng.normal(size=ROWS) * 0.3 > 0.5
    ).to_numpy()
    alone = Schema.infer(X[["shadow"]]).update("shadow", direction="increase")
    assert ("shadow", "direction") in kinds(X[["shadow"]], y, alone)
    assert kinds(X, y, Schema.infer(X).update("shadow", direction="increase")) == set()


def test_few_rows_are_not_judged():
    X = pd.DataFrame({"n": range(12), "m": [1, 2] * 6})
    assert kinds(X, [0] * 6 + [1] * 6) == set()


def test_wrong_questions_are_refused_in_words(table):
    X, y = table
    with pytest.raises(ValueError, match=r"wanted=7; expected one of the classes \[0, 1\]"):
        check_table(X, y, wanted=7)
    with pytest.raises(ValueError, match=r"y has shape \(3,\) and X 400 rows; expected one a row"):
        check_table(X, y[:3])


def test_a_report_names_them_and_does_not_promise_what_leaks(table):
    from sklearn.linear_model import LogisticRegression

    X, y = table
    X = X[["term", "score"]].assign(paid=y * 2.0, row=np.arange(ROWS))
    report = model_report(LogisticRegression(max_iter=1000), X, y, folds=2)
    assert {(each.column, each.kind) for each in report.suspicions} == {
        ("paid", "leak"), ("row", "id"),
    }  # fmt: skip
    assert "worth nothing if 'paid' will not be known in time" in report.promise
    text = " ".join(str(report).split())
    for each in report.suspicions:
        assert each.sentence in text
        assert each.sentence in report._repr_html_()
        assert each.to_dict() in report.to_dict()["suspicions"]


def test_what_a_schema_calls_monotone_counts_before_its_direction():
    told = {"increasing": 1, "decreasing": -1, None: 1}
    for stated, way in told.items():
        feature = SimpleNamespace(monotone=stated, movable=True, direction="increase")
        assert _way(feature) == way
