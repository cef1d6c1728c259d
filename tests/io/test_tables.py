"""Tables from files: the same cells, whoever reads them."""

from __future__ import annotations

import pandas as pd
import pytest

from trust_recourse import Feature, Schema
from trust_recourse.io.tables import TableError, guessed, read
from trust_recourse.population.batch.source_tables import people

SCHEMA = Schema(
    (
        Feature("income", lower=0, missing=(-9,)),
        Feature("children", "integer"),
        Feature("grade", "category", values=("1,5", "2,5")),
    )
)


@pytest.mark.parametrize("comma", [True, False])
def test_one_rule_for_decimals(tmp_path, comma):
    """Cell by cell, by the feature: a cell that is no number, or a name with a comma, stays."""
    path = tmp_path / "people.csv"
    income = "30,5" if comma else "30.5"
    path.write_text(f"income;children;grade\n{income};1,0;1,5\nmissing;2; 2,5\n")
    at_once = read(path).read_by(SCHEMA)
    (part,) = people(path, 10).parts({0}, people(path, 10).types(list(SCHEMA.names)))
    by_part = part.frame(SCHEMA)
    assert at_once.to_numpy().tolist() == [[30.5, 1, "1,5"], [-9, 2, "2,5"]]
    read_too = [[f.read(text) for text in by_part[f.name]] for f in SCHEMA]
    assert read_too == [at_once[f.name].tolist() for f in SCHEMA]


def test_a_column_is_guessed_to_hold_numbers_where_every_cell_is_one():
    def kind(cells, separator):
        return guessed(pd.Series(cells, dtype=object), separator).tolist()

    assert kind(["1,5", "2.5", "3"], ";") == [1.5, 2.5, 3.0]
    assert kind(["1,5", "2,5"], ",") == ["1,5", "2,5"]
    assert kind(["1,5", "a"], ";") == ["1,5", "a"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "expected a first line with the names of columns"),
        (b"a;b\n", "it has columns, but no rows"),
        (b"a;a\n1;2\n", "given 'a' more than once"),
        (b"PK\x03\x04", "a spreadsheet or an archive; save it as CSV"),
        (b"PAR1", "not a Parquet file, or damaged"),
        (b'a;b\n"1\n2\n3;4\n', "lines 2 to 4: .*a quote that begins a cell must end it"),
    ],
)
def test_whoever_reads_it_refuses_what_is_no_table_in_the_same_words(tmp_path, content, words):
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    told = []
    for reader in (read, lambda source: people(source, 10)):
        with pytest.raises(ValueError, match=words) as refused:
            reader(path)
        told.append(str(refused.value))
    assert told[0] == told[1]
    assert isinstance(refused.value, TableError) or "more than once" in words


@pytest.mark.parametrize("rows", [slice(None), slice(2, 9)])
def test_a_cell_that_its_feature_cannot_read_is_named_by_its_row(tmp_path, rows):
    path = tmp_path / "t.csv"
    path.write_text("score,n\n300,1\n310,2\n\nabc,3\n320,4\nabc,5\ndef,6\n")
    told = r"t.csv, row 2 \(0 is the first\): feature 'score': given 'abc', expected a whole number"
    with pytest.raises(TableError, match=told):
        read(path).read_by(Schema([Feature("score", "integer")]), rows)
