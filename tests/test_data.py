"""The tables that ship with the package, and the command that writes them."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from trust_recourse import Schema, german_credit, german_credit_schema
from trust_recourse.cli import app
from trust_recourse.data import GERMAN_LEVELS
from trust_recourse.io.tables import read

# the original's first line, A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192
# A201 1, by its code book
FIRST = [
    "< 0 DM", 6, "critical account", "radio or television", 1169, "unknown or none", "≥ 7 years",
    4, "man, single", "none", 4, "real estate", 67, "none", "own", 2, "skilled", 1, True, True,
]  # fmt: skip


def test_german_credit_is_the_table_that_is_described():
    X, y = german_credit()
    assert X.iloc[0].tolist() == FIRST
    assert y.iloc[:2].tolist() == [1, 0]
    assert (len(X), int(y.sum())) == (1000, 700)
    assert not X.isna().any(axis=None), "a word that is no level"
    ordered = {name for name in X if getattr(X[name].dtype, "ordered", False)}
    assert ordered == set(GERMAN_LEVELS)


def test_the_lenders_schema_reads_the_table_as_inference_does():
    X, _ = german_credit()
    schema = german_credit_schema()
    missing = {feature.name: feature.missing for feature in schema if feature.missing}
    assert set(missing) == {"checking", "savings", "property"}
    guessed = Schema.infer(X, missing=missing, guard=False)
    assert guessed.names == schema.names
    for ours, theirs in zip(schema, guessed, strict=True):
        for field in ("kind", "values", "missing", "lower", "upper", "scale"):
            assert getattr(ours, field) == getattr(theirs, field), (ours.name, field)
    assert not np.isnan(schema.encode(X)[:, schema.position("job")]).any()


def test_the_lenders_schema_tells_nobody_to_be_someone_else():
    X, _ = german_credit()
    schema = german_credit_schema()
    who = {feature.name for feature in schema if feature.protected}
    assert who == {"status_and_sex", "foreign_worker"}
    for _, x in X.head(20).iterrows():
        action_set = schema.action_set(x)
        assert not any(action_set[name].free for name in (*who, "history", "purpose", "dependants"))
        assert action_set["duration"].free
        assert action_set["amount"].free


def call(*words):
    done = CliRunner().invoke(app, ["data", *map(str, words)])
    return done.exit_code, done.output


def test_the_command_writes_a_table_that_its_schema_reads(tmp_path):
    loans, rules = tmp_path / "loans.csv", tmp_path / "loans.yaml"
    code, said = call(loans, "--name", "german-credit", "--schema", rules)
    assert code == 0
    assert "fit" in said
    schema = Schema.from_yaml(rules)
    assert schema == german_credit_schema()
    X, y = german_credit()
    table = read(loans)
    assert np.array_equal(schema.encode(table.read_by(schema)), schema.encode(X), equal_nan=True)
    assert table.labels("good").tolist() == y.tolist()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["patients.csv", "--schema", "patients.yaml"], "none of its own"),
        (["a.csv", "--name", "german-credit", "--schema", "a.csv"], "give another name"),
        (["there.csv"], "there is such a file"),
        (["new.csv", "--name", "german-credit", "--schema", "there.csv"], "there is such a file"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is(words, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    code, said = call(*words)
    assert code == 2
    assert reason in said
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "mine"
