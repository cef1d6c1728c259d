"""Tables of other libraries: the same answers as from pandas, in tables of their own."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from trust_recourse import NearNeighbours, Recourse, Schema, haberman
from trust_recourse.io.frames import as_given, as_pandas
from trust_recourse.report import check_table
from trust_recourse.schema import SchemaError
from worlds import paper_machine

X, Y = haberman()
POLARS = pl.DataFrame({name: X[name].tolist() for name in X})
ARROW = pa.table({name: X[name].tolist() for name in X})


@pytest.fixture(scope="module")
def model():
    return paper_machine(epochs=5, random_state=0).fit(POLARS, pl.Series(Y.tolist()))


def test_a_machine_learns_the_same_from_polars(model):
    same = paper_machine(epochs=5, random_state=0).fit(X, Y)
    assert model.fingerprint_ == same.fingerprint_
    assert model.schema_ == Schema.infer(X) == Schema.infer(ARROW)
    assert np.array_equal(model.predict_proba(POLARS), same.predict_proba(X))
    told = model.uncertainty(POLARS[:5])
    assert isinstance(told, pl.DataFrame)
    assert told["entropy"].to_list() == same.uncertainty(X[:5])["entropy"].tolist()
    assert check_table(POLARS, Y) == check_table(X, Y)


def test_people_are_found_the_same_and_come_out_as_they_went_in(model):
    recourse = Recourse(model, model.schema_.lock("age", "year"))
    at = int(np.argmin(model.predict_proba(X)[:, 1]))
    expected = recourse.find(X.iloc[at], 0.6).options[0]
    for person in (POLARS[at], POLARS.row(at, named=True), ARROW.slice(at, 1)):
        assert recourse.find(person, 0.6).options[0].changes == expected.changes
    rows = slice(at - 3, at + 3)
    near = NearNeighbours(POLARS)
    assert near(POLARS[rows]).tolist() == near(X[rows]).tolist()
    of_pandas, of_polars = recourse.find_many(X[rows], 0.6), recourse.find_many(POLARS[rows], 0.6)
    assert isinstance(of_polars, pl.DataFrame)
    assert isinstance(recourse.find_many(ARROW.slice(at, 1), 0.6), pa.Table)
    for name in ("status", "cost", "confidence", "nodes"):
        assert of_polars[name].to_list() == of_pandas[name].tolist()
    assert of_polars["reason"].null_count() == 6


def test_blanks_kinds_and_categories_are_kept():
    table = pl.DataFrame(
        {
            "n": [1, None, 3], "x": [0.5, None, math.nan], "b": [True, None, False],
            "t": ["u", None, "v"], "e": pl.Series(["lo", None, "hi"], dtype=pl.Enum(["lo", "hi"])),
            "c": pl.Series(["u", None, "v"], dtype=pl.Categorical),
        }
    )  # fmt: skip
    schema = Schema.infer(table, missing=math.nan)
    kinds = ["integer", "number", "boolean", "category", "category", "category"]
    assert [feature.kind for feature in schema] == kinds
    assert all(None in feature.missing for feature in schema)
    codes = schema.encode(table)
    assert np.isnan(codes).sum(axis=0).tolist() == [1, 2, 1, 1, 1, 1]
    again = as_given(as_pandas(table), table)
    assert again["t"].to_list() == ["u", None, "v"]
    assert again["n"].to_list() == [1, None, 3]


def test_what_is_no_table_is_refused_in_words():
    with pytest.raises(SchemaError, match="given LazyFrame, expected a DataFrame"):
        Schema.infer(POLARS.lazy())
    with pytest.raises(SchemaError, match="column 'day': given date values"):
        Schema.infer(POLARS[:3].with_columns(day=pl.date(2026, 1, 1)))
