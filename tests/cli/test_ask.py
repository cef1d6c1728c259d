"""From a table to an answer on the command line: every number is that of the library."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from commands import command
from trust_recourse import (
    Feature,
    PTMClassifier,
    Recourse,
    Result,
    Schema,
    haberman,
    load,
    model_report,
)
from trust_recourse.answers import text as answer_text
from trust_recourse.cli import app
from trust_recourse.cli import exit_codes as errors
from trust_recourse.io import tables
from trust_recourse.io.wording import floored
from trust_recourse.report import holdout_report
from trust_recourse.schema import SchemaError
from worlds import LINKS

ASK = ("data", "schema", "fit", "report", "find", "frontier", "explain")
SMALL = "--clauses 10 --epochs 6 --T 4 --s 1.6 --thresholds 12 --link margin --seed 8"
PERSON = {"age": 34, "year": 58, "nodes": 30}


def ask(line, folder=None):
    """Run a command line; {} in it stands for the folder."""
    words = [word.replace("{}", str(folder)) for word in shlex.split(line)]
    return CliRunner().invoke(app, words, env={"COLUMNS": "100"})


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The example table and a model of it, each written by its command; all may change."""
    folder = tmp_path_factory.mktemp("home")
    Schema.infer(haberman()[0], guard=False).to_yaml(folder / "p.yaml")
    for line in (
        "data {}/p.csv",
        f"fit {{}}/p.csv --target survived --schema {{}}/p.yaml --out {{}}/m.safetensors {SMALL}",
    ):
        done = ask(line, folder)
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def recourse(home):
    return Recourse(load(home / "m.safetensors"))


@pytest.fixture
def who(home):
    """The person of row 9 and their model, as words of a line."""
    return f"{home}/m.safetensors --data {home}/p.csv --row 9"


def told(line):
    done = ask(f"{line} --json")
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout)


def refused(line, words, folder=None):
    done = ask(line, folder)
    assert done.exit_code == 2, done.output
    assert words in flat(done.stderr), done.stderr
    assert done.stdout == ""
    assert isinstance(done.exception, SystemExit)  # what else was raised would be a traceback


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("name", ASK)
def test_help_teaches_by_example_and_loads_nothing_heavy(name):
    done = command(name, "--help")
    assert done.returncode == 0
    assert done.stderr == "loaded []\n"
    assert f"trust-recourse {name} " in done.stdout.partition("Arguments")[0].partition("xample")[2]


def test_the_settings_of_fit_are_those_of_the_machine():
    params = {p.name: p.default for p in _parameters("fit")}
    machine = PTMClassifier()
    assert params["clauses"] == machine.n_clauses
    assert params["calibration"] == str(machine.calibration).lower()
    assert params["thresholds"] == str(machine.thresholds)
    for name in ("epochs", "s", "link"):
        assert params[name] == getattr(machine, name)
    assert params["t"] == machine.T


@pytest.mark.parametrize("link", LINKS)
def test_a_model_of_any_link_is_learnt_asked_and_explained(link, home, tmp_path):
    made = f"fit {home}/p.csv --target survived --out {tmp_path}/m {SMALL} --link {link} --json"
    assert ask(made).exit_code == 0
    model = load(tmp_path / "m")
    assert model.link == link
    who = f"{tmp_path}/m --data {home}/p.csv --row 9 --confidence 0.6"
    result = Recourse(model).find(haberman()[0].iloc[9], 0.6)
    found = told(f"find {who}")["options"]
    assert [o["cost"] for o in found] == [o.cost for o in result.options] != []
    assert told(f"explain {who}") == json.loads(result.explain(0).to_json())
    assert f"confidence {floored(result.confidence)}" in flat(ask(f"explain {who}").stdout)


def _parameters(name):
    from typer.main import get_command

    return get_command(app).commands[name].params


def test_commands_are_listed_from_a_table_to_an_answer():
    names = ["demo", "schema", "fit", "report", "find", "frontier", "explain", "verify"]
    listed = ask("--help").stdout.partition("Commands")[2]
    places = [listed.index(f"│ {name} ") for name in names]
    assert places == sorted(places)


# ---------------------------------------------------------------- data and schema


def test_the_example_is_the_table_of_the_package(home):
    X, y = haberman()
    assert pd.read_csv(home / "p.csv").equals(X.assign(survived=y))
    refused("data {}/p.csv", "p.csv: there is such a file", home)
    assert ask("data {}/p.csv --force", home).exit_code == 0


def test_a_schema_is_what_the_library_infers(home):
    text = ask("schema {}/p.csv --target survived --out {}/again.yaml", home).stdout
    expected = Schema.infer(haberman()[0], scale="robust").lock("age", "year")
    expected = expected.update("age", direction="increase")  # if ever it moves
    assert Schema.from_yaml(home / "again.yaml") == expected
    assert "306 rows. Target survived: 0 (81 rows), 1 (225 rows)" in flat(text)
    assert "nodes integer 0 to 30 1" in flat(text)
    assert f"trust-recourse fit {home}/p.csv --target survived" in text
    assert f"trust-recourse import MODEL --schema {home}/again.yaml" in text


def test_a_schema_that_was_edited_is_not_lost(home, tmp_path):
    (tmp_path / "s.yaml").write_text("edited by hand")
    line = f"schema {home}/p.csv --target survived --out {{}}/s.yaml"
    refused(line, "s.yaml: there is such a file; give another name, or --force", tmp_path)
    assert (tmp_path / "s.yaml").read_text() == "edited by hand"
    assert ask(f"{line} --force", tmp_path).exit_code == 0
    assert len(Schema.from_yaml(tmp_path / "s.yaml")) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.yaml"]


MESSY = (
    "\ufeffid;score;income;debt;job, now;employed;post code;always;flag;ok\r\n"
    '1;5;1,5;?;"a;b";true;01234;x;0;ja\r\n'
    '2;;2,25;7;"he said ""no""";false;00001;x;1;nein\r\n'
    "\r\n"
    '3;-9;3;NA;"two\nlines";TRUE;12345;x;0; ja\r\n'
    "4;7;-4,0;1;[red]d[/];;12346;x;1;nein\r\n"
)


@pytest.fixture
def messy(tmp_path):
    (tmp_path / "messy.csv").write_bytes(MESSY.encode())
    return tmp_path


def test_a_messy_table_is_read_as_it_is_meant(messy):
    line = "schema {}/messy.csv --target ok --id id --missing score=-9 --out {}/s.yaml"
    done = ask(line, messy)
    assert done.exit_code == 0, done.output
    schema = Schema.from_yaml(messy / "s.yaml")
    assert "id" not in schema
    assert schema["score"] == Feature(
        "score", "integer", lower=5, upper=7, scale=2, missing=(None, -9)
    )
    assert schema["income"] == Feature("income", lower=-4, upper=3, step=0.01, scale=0.75)
    assert (schema["debt"].kind, schema["debt"].missing) == ("integer", (None,))
    assert set(schema["job, now"].values) == {"a;b", 'he said "no"', "two\nlines", "[red]d[/]"}
    assert (schema["employed"].kind, schema["employed"].missing) == ("boolean", (None,))
    assert set(schema["post code"].values) == {"00001", "01234", "12345", "12346"}
    words = flat(done.stdout)
    assert "ja (2 rows), nein (2 rows)" in words
    assert "[red]d[/]" in words  # printed, not obeyed
    assert "always the same" in words
    assert "only 0 and 1: a boolean?" in words
    assert "debt integer 0 to 7 1 1: 0.17 any" in words
    assert "debt may fall to 0, as what is owed or paid may: its least here is 1; 2 mis" in words


def test_what_looks_odd_is_pointed_out(tmp_path):
    rows = [(i, i % 5 - 9 * (i == 3), "12" if i else "x", f"v{i % 40}", i % 2) for i in range(90)]
    text = "name,code,mostly,many,y\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    (tmp_path / "t.csv").write_text(text.replace("3,-6,", "3,-9,"))
    notes = told(f"schema {tmp_path}/t.csv --target y --out {tmp_path}/s.yaml")["notes"]
    assert "--id" in notes["name"][1]
    assert notes["code"] == ["stays until you say whether -9 means missing: --missing code=-9"]
    assert notes["mostly"] == ["numbers, but for 'x' (1 cells)"]
    assert notes["many"] == ["40 values: can they be grouped?"]


numbers = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6).map(lambda x: round(x, 3) + 0.0)
words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1).map(
    lambda text: f"w{text}"
)


@given(
    st.lists(st.tuples(numbers, st.booleans(), words, st.integers(0, 99)), min_size=1),
    st.sampled_from(tables.SEPARATORS),
    st.booleans(),
)
def test_what_is_written_is_read_back(tmp_path_factory, rows, separator, bom):
    names = ["a number", "true?", "text|;,", "whole"]
    written = io.StringIO()
    csv.writer(written, delimiter=separator).writerows([names, *rows])
    path = tmp_path_factory.getbasetemp() / "law.csv"
    path.write_text(written.getvalue(), encoding="utf-8-sig" if bom else "utf-8", newline="")
    read = tables.read(path)
    found = read.features()
    for at, name in enumerate(names):
        assert found[name].tolist() == [row[at] for row in rows]
    schema = Schema.infer(found)
    again = read.read_by(schema)
    assert np.array_equal(schema.encode(again), schema.encode(found))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "expected a first line with the names"),
        (b"a,y\n", "no rows"),
        (b"a,y\n1,2,3\n", "line 2: 3 cells, but the first line names 2 columns"),
        (b"a,y\n1,0\n2\n", "line 3: 1 cells"),
        (b"a,a,y\n1,2,0\n", "columns: given 'a' more than once"),
        (b'a,y\n"1,0\n', "line 2: unexpected end of data"),
        ("a,y\nä,0\n".encode("latin-1"), "not a text in UTF-8"),
        (b"a,y\n1,0\n\x00,0\n", "line 3: the character '\\x00' has no place"),
        (b"a,y\n\x1b[2J,0\n", "line 2: the character '\\x1b' has no place"),
        (b"PK\x03\x04rest", "save it as CSV"),
        (b"a,yy\n1,0\n", "no column 'y'; did you mean 'yy'?"),
        (b"a,b\n1,0\n", "no column 'y'; the columns are 'a', 'b'"),
        (b"a,y\n1,0\n2,0\n", "holds 1 different values (0); a target has two"),
        (
            b"a,y\n" + b"".join(b"1,%d\n" % n for n in range(60)),
            "holds 60 different values (0, 1, 2",
        ),
        (b"a,y\n1,0\n2,1\n3,\n", "1 of 3 rows have no class"),
        (b"y\n1\n0\n", "no column is left beside y"),
        (b"a,y\n,0\n,1\n", "learn from beside y. Left out 'a': no row has a value there."),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_a_sentence(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    for name in ("schema", "fit"):
        refused(f"{name} {{}}/t.csv --target y --out {{}}/out", words, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("schema {}/none.csv --target survived", "none.csv: there is no such file"),
        ("schema {} --target survived --out {}/x", "this is a folder, expected a file"),
        ("schema {}/p.csv --target survived --out {}", "this is a folder; give the name"),
        ("schema {}/p.csv --target survived --out {}/no/x", "no does not exist; make it first"),
        ("schema {}/p.csv --target survived --out {}/p.csv --force", "that is what is read"),
        ("schema {}/p.csv --target survived --id nodez --out {}/x", "did you mean 'nodes'?"),
        ("schema {}/p.csv --target survived --id survived --out {}/x", "that is the target"),
        ("schema {}/p.csv --target survived --missing age --out {}/x", "expected COLUMN=CODE"),
        ("schema {}/p.csv --target survived --missing agee=1 --out {}/x", "did you mean 'age'?"),
        ("schema {}/p.csv --target survived --missing survived=1 --out {}/x", "not a feature"),
        ("schema {}/p.csv --target survived --missing age=old --out {}/x", "the column holds num"),
    ],
)
def test_what_schema_cannot_do_is_refused_in_a_sentence(home, line, words):
    before = sorted(home.iterdir())
    refused(line, words, home)
    assert sorted(home.iterdir()) == before


def test_a_folder_that_may_not_be_written_in_is_refused_before_the_work(home, monkeypatch):
    monkeypatch.setattr("os.access", lambda _, mode, **__: mode != os.W_OK)
    refused("fit {}/p.csv --target survived --out {}/x", "you may not write in the folder", home)


# ---------------------------------------------------------------- one value, as text


@pytest.mark.parametrize(
    ("feature", "texts"),
    [
        (Feature("n", "integer", missing=(-9,)), {"3": 3, " -4 ": -4, "3.0": 3, "missing": -9}),
        (Feature("x"), {"1.5": 1.5, "1e3": 1000.0, "": None, "NA": None, "?": None}),
        (Feature("b", "boolean"), {"yes": True, "FALSE": False, "1": True, "0.0": False}),
        (Feature("c", "category", values=("NA", "b c")), {"NA": "NA", "b c ": "b c", "": None}),
        (Feature("c", "category", values=(1, 2), missing=("?",)), {"1": 1, "2.0": 2, "?": "?"}),
        (Feature("o", "ordinal", values=("low", "missing")), {"missing": "missing"}),
    ],
)
def test_a_text_is_read_as_the_feature_says(feature, texts):
    for text, value in texts.items():
        read = feature.read(text)
        assert read == value
        assert type(read) is type(value) or feature.kind == "category"


@pytest.mark.parametrize(
    ("feature", "text", "words"),
    [
        (Feature("n", "integer"), "3.5", "given '3.5', expected a whole number$"),
        (Feature("x"), "1,5", "expected a number, with a point for decimals"),
        (Feature("x"), "missing", "expected a number"),
        (Feature("b", "boolean"), "2", "expected yes or no"),
        (Feature("c", "category", values=("own", "rent")), "rant", "did you mean 'rent'?"),
        (Feature("c", "category", values=("a",), missing=(None,)), "z", "expected one of 'a'"),
    ],
)
def test_a_text_that_is_no_value_is_refused(feature, text, words):
    with pytest.raises(SchemaError, match=re.escape(words).replace(r"\$", "$")):
        feature.read(text)


# ---------------------------------------------------------------- fit and report


def test_the_model_is_the_one_that_the_library_learns(home, tmp_path):
    X, y = haberman()
    same = PTMClassifier(
        10,
        s=1.6,
        T=4,
        epochs=6,
        thresholds=12,
        link="margin",
        schema=Schema.infer(X, guard=False),
        random_state=8,
    ).fit(X, y)
    model = load(home / "m.safetensors")
    assert model.fingerprint_ == same.fingerprint_
    out = tmp_path / "m.safetensors"
    answer = told(f"fit {home}/p.csv --target survived --out {out} {SMALL} --wanted 0")
    assert load(out).fingerprint_ == same.fingerprint_ == answer["fingerprint"]
    refused = same.predict(X) == 1
    assert (answer["wanted"], answer["refused"]) == (0, refused.sum())
    assert answer["first_refused"] == refused.argmax()
    judged = answer["accuracy"]
    assert (judged["of"], judged["rows"]) == ("held-out rows", 77)
    assert 0.5 < judged["value"] < 1


def test_fit_says_on_which_rows_it_was_judged(home, tmp_path):
    line = f"fit {home}/p.csv --target survived --out {tmp_path}/m.safetensors {SMALL}"
    held, all_rows = ask(line), ask(f"{line} --holdout 0 --force")
    assert "on 77 rows held out of learning" in flat(held.stdout)
    assert "PTMClassifier ━" in held.stderr
    assert "right while learning" in held.stderr
    X, y = haberman()
    accuracy = (load(tmp_path / "m.safetensors").predict(X) == y).mean()
    assert f"Accuracy {accuracy:.3f} on the very rows it learnt from" in flat(all_rows.stdout)
    assert f"find {tmp_path}/m.safetensors --data {home}/p.csv --row" in flat(held.stdout)


def test_fit_sets_the_model_beside_others_on_the_same_rows(home, tmp_path):
    X, y = haberman()
    model = PTMClassifier(
        10, s=1.6, T=4, epochs=6, thresholds=12, link="margin", random_state=8,
        schema=Schema.infer(X).lock("age", "year"),  # as is guessed
    )  # fmt: skip
    expected = holdout_report(model, X, y, holdout=0.3, random_state=8)
    line = f"fit {home}/p.csv --target survived --out {tmp_path}/m.st {SMALL} --holdout 0.3"
    assert told(line)["report"] == json.loads(json.dumps(expected.to_dict()))
    said = flat(ask(f"{line} --force").stdout)
    for name, cells in expected.summary().iterrows():
        assert f"{name} {' '.join(cells)}" in said
    assert expected.promise in said
    assert "Suspicion" not in said


def test_of_several_classes_each_command_names_one_that_works(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 20, (90, 3)), columns=["a", "b", "visits"])
    table["grade"] = np.array(["low", "mid", "top"])[np.digitize(table.a + table.b, [14, 24])]
    table.loc[::9, "visits"] = 999
    table.to_csv(tmp_path / "t.csv", index=False)
    said = ask("schema {}/t.csv --target grade --out {}/s.yaml", tmp_path).stdout
    assert "stays until you say whether 999 means missing: --missing visits=999" in flat(said)
    (line,) = (each for each in said.splitlines() if "trust-recourse fit" in each)
    following = line[line.index("fit ") :]
    done = ask(f"{following} --out {tmp_path}/m.st --clauses 4 --epochs 2")
    assert done.exit_code == 0, done.output
    words = flat(done.stdout)
    for part in ("All 3 classes together", "the commonest class", "precision and recall of"):
        assert part in words
    judge = done.stdout.strip().splitlines()[-2].removeprefix("trust-recourse ")
    report = told(f"{judge.replace('LABEL', 'top')} --folds 2")
    assert [each["class"] for each in report["by_class"]["PTMClassifier"]] == ["low", "mid", "top"]
    assert list(report["overall"])[-1] == "the commonest class"


def test_fit_names_what_looks_wrong_and_says_what_to_do(tmp_path):
    X, y = haberman()
    codes = np.where(np.arange(len(y)) % 30 == 0, 999, X["age"])
    table = X.assign(row=range(len(y)), seen=y * 5, age=codes, survived=y)
    table.to_csv(tmp_path / "t.csv", index=False)
    line = f"fit {{0}}/t.csv --target survived --out {{0}}/m.st --force {SMALL}".format(tmp_path)
    kinds = [("age", "protected"), ("age", "sentinel"), ("row", "id"), ("seen", "leak")]
    for more in ("", " --holdout 0"):
        found = [(each["column"], each["kind"]) for each in told(line + more)["suspicions"]]
        assert sorted(found) == kinds
        said = flat(ask(line + more).stdout)
        assert "Suspicion: seen: it alone tells class 1 with an AUC of 1.000" in said
        assert "learn again with --id row --id seen" in said
        told_then = "--id row --id seen --protect age --missing age=999"
        assert f"schema {tmp_path}/t.csv --target survived {told_then}" in said
    Schema.infer(table[["age", "nodes"]], missing={"age": 999}).to_yaml(tmp_path / "s.yaml")
    said = flat(ask(f"{line} --schema {tmp_path}/s.yaml").stdout)
    assert "Suspicion" not in said
    assert "learn again with" not in said
    assert said.endswith(f"To answer now: protected: true in {tmp_path}/s.yaml, and learn again.")


def test_fit_says_what_corrects_a_confidence_that_cannot_be_promised(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    table = pd.DataFrame({"x": x.round(2), "y": (x + rng.normal(size=2000) > 0).astype(int)})
    table.to_csv(tmp_path / "t.csv", index=False)
    line = f"fit {tmp_path}/t.csv --target y --out {tmp_path}/m.st --force --epochs 5"
    line += " --clauses 20 --T 5 --s 1.5"
    said = flat(ask(f"{line} --link vote").stdout)
    assert "The confidence cannot be promised: of those told 0." in said
    assert "Learn again with calibration sigmoid or link logistic." in said
    assert "learn again with --calibration sigmoid" in said
    said = flat(ask(f"{line} --link vote --calibration sigmoid").stdout)
    assert "cannot be promised" in said
    assert "learn again with --link logistic" in said


def test_a_model_is_not_overwritten_unless_that_is_asked(home):
    line = f"fit {home}/p.csv --target survived --out {home}/m.safetensors"
    refused(line, "m.safetensors: there is such a file; give another name, or --force")


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    """A table with awkward names, whose classes are words and whose first column names the rows."""
    folder, rng = tmp_path_factory.mktemp("loans"), np.random.default_rng(0)
    income, late = rng.integers(10, 60, 160), rng.integers(0, 9, 160)
    table = pd.DataFrame(
        {
            "Kunden Nr.": [f"K-{at}" for at in range(160)],
            "Einkommen, netto (T€)": income,
            "Überziehung": late,
            "Entscheidung": np.where(income - 3 * late > 20, "approved", "denied"),
        }
    )
    table.to_csv(folder / "loans.csv", index=False)
    line = f"fit {{}}/loans.csv --target Entscheidung --out {{}}/m.st {SMALL}"
    return folder, ask(line, folder)


def test_no_class_is_guessed_to_be_hoped_for(loans):
    folder, done = loans
    assert done.exit_code == 0, done.output
    assert "refuses" not in done.stdout
    assert "--wanted approved or --wanted denied" in flat(done.stdout)
    assert done.stdout.count("--wanted LABEL") == 2
    line = f"report {folder}/loans.csv --target Entscheidung --model {folder}/m.st --folds 2"
    refused(line, "say which is hoped for: --wanted approved or --wanted denied")
    yes, no = (told(f"{line} --wanted {label}") for label in ("approved", "denied"))
    assert (yes["label"], no["label"]) == ("approved", "denied")
    assert yes["scores"]["PTMClassifier"]["accuracy"] == no["scores"]["PTMClassifier"]["accuracy"]
    said = [
        [each["confidence"] for each in one["reliability"]["PTMClassifier"]] for one in (yes, no)
    ]
    assert said[0] != said[1]


def test_what_names_the_rows_is_not_learnt(loans):
    folder, done = loans
    assert "Left out 'Kunden Nr.': most rows hold a text of their own" in flat(done.stderr)
    assert load(folder / "m.st").schema_.names == ("Einkommen, netto (T€)", "Überziehung")
    line = f"schema {folder}/loans.csv --target Entscheidung --out {folder}/s.yaml"
    assert told(line)["left_out"] == ["Kunden Nr."]
    assert "Kunden Nr." not in Schema.from_yaml(folder / "s.yaml")
    assert "Left out" in ask(f"{line} --force").stdout
    dated = pd.read_csv(folder / "loans.csv")
    dated["Datum"] = [f"2026-{at % 100:03}" for at in range(160)]
    dated["Ort"] = [f"Ort {at % 40}" for at in range(160)]
    dated.to_csv(folder / "dated.csv", index=False)
    line = f"schema {folder}/dated.csv --target Entscheidung --out {folder}/d.yaml"
    assert told(line)["left_out"] == ["Kunden Nr.", "Datum"]
    numbered = pd.read_csv(folder / "loans.csv")
    numbered["Kunden Nr."] = np.arange(160)
    numbered.to_csv(folder / "numbered.csv", index=False)
    line = f"fit {folder}/numbered.csv --target Entscheidung --epochs 1 --out {folder}/n.st"
    assert "learn again with --id 'Kunden Nr.'" in flat(ask(line).stdout)
    assert "Kunden Nr." not in told(f"{line} --force --id 'Kunden Nr.'")["features"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_of_which_no_feature_can_be_made_are_left_out(ending, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / f"t.{ending}"
    account = np.repeat(10**17 + rng.integers(0, 10**9, 50), 2)
    table = {"x": rng.integers(0, 50, 100), "account": account, "gone": [None] * 100}
    table |= {"thing": rng.permutation(100) * 1700, "y": np.arange(100) % 2}

    def save(**more):
        frame = pd.DataFrame(table | more)
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)

    save()
    line = f"fit {path} --target y --epochs 1 --holdout 0 --out {tmp_path}/m.st"
    done = ask(line)
    assert done.exit_code == 0, done.output
    assert "Left out 'account': whole numbers from 2**53 on name" in flat(done.stderr)
    assert "Left out 'gone': no row has a value there." in flat(done.stderr)
    assert "thing: another in each row: does it only name it? then --id thing." in done.stderr
    assert load(tmp_path / "m.st").schema_.names == ("x", "thing")
    line = f"schema {path} --target y --out {tmp_path}/s.yaml"
    assert told(line)["left_out"] == ["account", "gone"]
    save(account=[*range(99), 2**60])
    why = "column 'account': given 1152921504606846976, expected whole numbers below 2**53; mend "
    refused(f"{line} --force", f"{why}the cell, or leave the column out: --id account")


def test_classes_may_be_words_and_calibration_is_kept(messy):
    rows = MESSY.replace("\r\n", "\n").replace("\n\n", "\n").splitlines(keepends=True)
    (messy / "more.csv").write_text("".join([rows[0], *rows[1:] * 4]))
    done = ask(
        f"fit {{}}/more.csv --target ok --out {{}}/m.safetensors {SMALL} --calibration sigmoid "
        "--link vote --wanted ja",
        messy,
    )
    assert done.exit_code == 0, done.output
    model = load(messy / "m.safetensors")
    assert model.classes_.tolist() == ["ja", "nein"]
    assert (model.calibration, model.link) == ("sigmoid", "vote")
    assert "--wanted ja" in done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--id survived", "--id survived: that is the target"),
        ("--id age --schema {}/aged.yaml", "the schema has the id 'age' as a feature"),
        ("--clauses 3", "n_clauses=3; expected an even number"),
        ("--s 0.5", "s=0.5; expected a finite number above 1"),
        ("--T 0", "T=0.0; expected"),
        ("--thresholds many", "thresholds='many'; expected a number such as 20, or 'unique'"),
        ("--wanted yes", "--wanted yes: the classes are 0 and 1"),
        ("--schema {}/none.yaml", "none.yaml: there is no such file"),
        ("--schema {}/p.csv", "p.csv: expected a list of features"),
        ("--schema {}/other.yaml", "no column 'height'"),
        ("--schema {}/narrow.yaml", "expected one of"),
        ("--schema {}/target.yaml", "the schema has the target 'survived' as a feature"),
    ],
)
def test_what_fit_cannot_do_leaves_the_old_model(home, tmp_path, line, words):
    for path in ("p.csv",):
        (tmp_path / path).write_bytes((home / path).read_bytes())
    Schema((Feature("age"),)).to_yaml(tmp_path / "aged.yaml")
    Schema((Feature("height"),)).to_yaml(tmp_path / "other.yaml")
    Schema((Feature("age", "category", values=("x",)),)).to_yaml(tmp_path / "narrow.yaml")
    Schema((Feature("age"), Feature("survived"))).to_yaml(tmp_path / "target.yaml")
    (tmp_path / "m.safetensors").write_text("the old one")
    before = sorted(tmp_path.iterdir())
    full = f"fit {{}}/p.csv --target survived --out {{}}/m.safetensors --epochs 1 --force {line}"
    done = ask(full, tmp_path)
    assert done.exit_code == 2, done.output
    assert words in flat(done.stderr)
    assert (tmp_path / "m.safetensors").read_text() == "the old one"
    assert sorted(tmp_path.iterdir()) == before


def test_a_report_is_that_of_the_library(home, tmp_path):
    X, y = haberman()
    model = PTMClassifier(
        10,
        s=1.6,
        T=4,
        epochs=6,
        thresholds=12,
        link="margin",
        schema=Schema.infer(X, guard=False),
        random_state=8,
    )
    expected = model_report(model, X, y, folds=3, random_state=1)
    line = f"report {home}/p.csv --target survived --model {home}/m.safetensors --folds 3 --seed 1"
    assert told(line) == json.loads(json.dumps(expected.to_dict()))
    done = ask(f"{line} --out {tmp_path}/r.html")
    assert done.exit_code == 0, done.output
    for name, cells in expected.summary().iterrows():
        assert f"{name} {' '.join(cells)}" in flat(done.stdout)
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert expected.summary().iloc[0, 0] in page
    assert "data:image/svg+xml" in page
    assert "://" not in page
    assert expected.promise in flat(done.stdout)
    assert "At the decision threshold 0.5, rows of each class:" in flat(done.stdout)


def test_a_report_needs_no_model(home):
    (home / "few.csv").write_text("".join((home / "p.csv").read_text().splitlines(True)[:60]))
    line = f"report {home}/few.csv --target survived --schema {home}/p.yaml --folds 2"
    assert told(line)["rows"] == 59
    refused(line.replace("--folds 2", "--folds 59"), "folds=59; expected a whole number from 2")


# ---------------------------------------------------------------- find


def test_an_answer_is_that_of_the_library(who, recourse):
    action_set = recourse.reachable(PERSON).most
    levels = [0.5, round((0.5 + action_set) / 2, 3)]
    result = recourse.find(PERSON, levels)
    assert result.refused, "an accepted person would show too little"
    assert len(result.options) == 2
    asked = " ".join(f"--confidence {level}" for level in levels)
    answer = told(f"find {who} {asked}")
    assert answer["person"] == PERSON
    assert answer["confidence"] == result.confidence
    assert [each["status"] for each in answer["targets"]] == ["optimal", "optimal"]
    for at, (found, option) in enumerate(zip(answer["options"], result.options, strict=True)):
        assert found["cost"] == option.cost
        assert found["confidence"] == option.confidence
        assert found["x"] == option.x.to_dict()
        assert found["changes"] == {
            name: {"from": old, "to": new} for name, (old, new) in option.changes.items()
        }
        assert found["radius"] == result.radius(at)
        assert found["robustness"] == {"sigma": 0.01, **result.robustness(at)._asdict()}
        assert found["ranges"] is None
    wide = told(f"find {who} {asked} --ranges")["options"]
    for at, found in enumerate(wide):
        rows = result.ranges(at).itertuples(index=False)
        assert found["ranges"] == {name: {"low": low, "high": high} for name, low, high in rows}
    done = ask(f"find {who} {asked} --ranges")
    assert done.exit_code == 0
    words = flat(done.stdout)
    for name, span in answer_text.range_words(result, 1).items():
        assert f"{name}: {span}" in words.partition("Option 2 holds within all of these ranges")[2]
    assert words.startswith("Row 9 of p.csv is refused: ")
    assert "age: 34" not in words
    whole = flat(ask(f"find {who} {asked} --verbose").stdout)
    assert "age: 34 year: 58 nodes: 30" in whole
    assert f"refused: confidence {floored(result.confidence)} in the class 1" in words
    for option in result.options:
        old, new = next(iter(option.changes.values()))
        assert f"{old} → {new}" in words
        assert f"{floored(option.confidence)} {option.cost:.4g}" in words
        assert f"{option.target.words}: {option.status.sentence}" in words


def test_an_option_below_the_threshold_is_marked_as_refused(who, recourse):
    result = recourse.find(PERSON, [0.4, 0.5])
    assert [result.accepted(at) for at in range(2)] == [False, True]
    still = "still refused: below the decision threshold 0.5"
    assert (answer_text.refusal(result, 0), answer_text.refusal(result, 1)) == (still, "")
    assert repr(result).count(still) == 1
    assert result._repr_html_().count(still) == 1
    asked = f"find {who} --confidence 0.4"
    alone = ask(asked).stdout
    assert re.search(r"at least 0.4 .* – +–\n", alone)
    assert "radius: the approval" not in alone
    words = flat(ask(f"{asked} --confidence 0.5").stdout)
    assert f"Option 1 is {still}." in words
    assert words.count("still refused") == 2
    assert "Option 2 is" not in words
    assert "radius: the approval holds" in words
    options = told(f"{asked} --confidence 0.5")["options"]
    assert [each["accepted"] for each in options] == [False, True]


def test_only_the_first_of_several_ways_is_called_the_cheapest(who, recourse):
    result = recourse.find(PERSON, 0.4, n_options=2)
    assert len(result.options) == 2
    first, second = answer_text.status_sentences(result, next(iter(result.status)))
    assert first == "Option 1: This is the cheapest allowed change; nothing cheaper reaches it."
    assert second.startswith(
        "Option 2: Another way: the cheapest that leaves alone at least half of"
    )
    assert second.endswith("Option 1 is the cheapest.")
    asked = f"find {who} --confidence 0.4 --options 2"
    assert f"at least 0.4: {first} {second}" in flat(ask(asked).stdout)
    assert f"at least 0.4: {first}" in str(result)
    more = "No further way was found"
    assert more not in ask(asked).stdout
    assert more in ask(f"{asked} --lock age --lock year").stdout
    sentences = [option["sentence"] for option in told(asked)["options"]]
    assert sentences == [result.sentence(0), result.sentence(1)]


def test_a_person_may_be_typed_or_a_row_with_other_values(home, who, recourse):
    typed = " ".join(f"--set {name}={value}" for name, value in PERSON.items())
    model = f"{home}/m.safetensors"
    assert told(f"find {model} {typed}") == told(f"find {who}")
    other = told(f"find {who} --set age=60 --set 'nodes= 2'")
    assert other["person"] == {"age": 60, "year": 58, "nodes": 2}
    assert other["confidence"] == recourse.confidence(other["person"])
    table = pd.read_csv(home / "p.csv").assign(name=[f"n{i}" for i in range(306)])
    table.to_csv(home / "named.csv", index=False)
    assert told(f"find {model} --data {home}/named.csv --id name --row n9") == told(f"find {who}")


def test_what_is_asked_reaches_the_search(who, home, recourse):
    free = recourse.find(PERSON, 0.5)
    assert set(free.options[0].changes) != {"nodes"}, "the lock would change nothing"
    locked = told(f"find {who} --confidence 0.5 --lock age --lock year")
    assert set(locked["options"][0]["changes"]) == {"nodes"}
    edited = home / "edited.yaml"
    recourse.schema.lock("age", "year").to_yaml(edited)
    assert told(f"find {who} --confidence 0.5 --schema {edited}") == locked
    two = told(f"find {who} --confidence 0.4 --options 2")["options"]
    assert set(two[0]["changes"]) != set(two[1]["changes"])
    now = told(f"find {who}")["options"][0]["radius"]
    safe = told(f"find {who} --min-radius {now + 0.02:.2f}")
    assert safe["options"][0]["radius"] > now
    assert safe["extra_constraints"] == f"kept at 0.5 or more within a radius of {now + 0.02:.2f}"
    l2 = Recourse(recourse.model, cost="l2").find(PERSON, 0.5).options[0]
    assert l2.cost != free.options[0].cost, "the cost would change nothing"
    assert told(f"find {who} --confidence 0.5 --cost l2")["options"][0]["cost"] == l2.cost
    no = Recourse(recourse.model, wanted=0).find(PERSON, 0.6)
    asked = told(f"find {who} --confidence 0.6 --wanted 0")
    assert (asked["wanted"], asked["confidence"]) == (0, no.confidence)
    tried = told(f"find {who} --engine tpe --trials 20")
    assert (tried["engine"], tried["targets"][0]["status"]) == ("tpe", "feasible")


def test_out_of_reach_comes_with_how_far_and_why(who, recourse):
    stuck = Recourse(recourse.model, recourse.schema.lock("age", "year"))
    result = stuck.find(PERSON, [0.5, 0.999])
    lifted = result.binding()
    assert len(lifted), "nothing binds, so the test would judge nothing"
    line = f"find {who} --lock age --lock year --confidence 0.5 --confidence 0.999"
    done = ask(line)
    assert done.exit_code == 1
    words = flat(done.stdout)
    assert "No allowed change reaches this target; that is proved." in words
    assert f"reachable confidence is {floored(result.max_confidence.most)}: nodes 30 → " in words
    for way, reached in zip(lifted["if"], lifted["reachable"], strict=True):
        assert f"if {way}: {floored(reached)}" in words
    answer = json.loads(ask(f"{line} --json").stdout)
    assert answer["max_confidence"]["most"] == result.max_confidence.most
    assert [each["if"] for each in answer["binding"]] == lifted["if"].tolist()


def test_the_proof_is_checked_and_the_result_read_back(who, home, recourse, tmp_path):
    line = f"find {who} --confidence 0.6 --certificate {{}}/proof.json --save {{}}/result.json"
    done = ask(line, tmp_path)
    assert done.exit_code == 0, done.output
    check = f"verify {tmp_path}/proof.json {home}/m.safetensors"
    assert f"trust-recourse {check}" in done.stdout
    checked = ask(check)
    assert checked.exit_code == 0, checked.output
    assert "at least 0.6" in checked.stdout
    result = Result.load(tmp_path / "result.json", recourse)
    assert result.options[0].cost == recourse.find(PERSON, 0.6).options[0].cost


def test_a_search_that_ends_too_soon_has_no_answer_and_no_proof(who, tmp_path):
    line = f"find {who} --confidence 0.6 --time-limit 1e-9"
    done = ask(f"{line} --certificate {{}}/proof.json", tmp_path)
    assert done.exit_code == 1
    assert "the time limit of 1e-09 s ended the search; --time-limit 4e-09" in flat(done.stdout)
    assert "proof.json: not written, as nothing is proved" in flat(done.stdout)
    assert list(tmp_path.iterdir()) == []
    assert told(line)["targets"][0]["status"] == "not_found"
    assert told(f"frontier {who} --time-limit 1e-9")["complete"] is False
    ended = flat(ask(f"frontier {who} --time-limit 1e-9", tmp_path).stdout)
    assert "The time limit of 1e-09 s ended the search; --time-limit 4e-09 searches longer" in ended


def test_a_proof_that_is_not_there_in_time_is_not_written_and_find_says_what_to_do(
    who, tmp_path, monkeypatch
):
    limits = []

    def late(self, target=None, time_limit=None):
        limits.append(time_limit)
        raise TimeoutError

    monkeypatch.setattr(Result, "certificate", late)
    line = f"find {who} --confidence 0.6 --certificate {{}}/proof.json"
    done = ask(line, tmp_path)
    assert done.exit_code == 1
    assert (
        "proof.json: not written. The time limit of 30 s ended the search for the proof; "
        "--time-limit 120 searches longer, --time-limit inf to the end."
    ) in flat(done.stdout)
    assert "1 change" in flat(done.stdout) or "→" in done.stdout  # the answer is there all the same
    done = ask(f"{line} --json --time-limit 7", tmp_path)
    assert done.exit_code == 1
    assert json.loads(done.stdout)["options"]
    assert "The time limit of 7 s ended the search for the proof" in flat(done.stderr)
    assert limits == [30.0, 7.0]
    assert list(tmp_path.iterdir()) == []


def test_letter_and_evidence_say_when_their_time_limit_ended_a_search(who, home, tmp_path):
    saved = f"{home}/m.safetensors {{}}/result.json --force --out"
    assert ask(f"find {who} --confidence 0.6 --save {{}}/result.json", tmp_path).exit_code == 0
    evidence = f"evidence {saved} {{}}/e.txt --no-pictures"
    done = ask(f"{evidence} --time-limit 1e-9", tmp_path)
    assert done.exit_code == 0, done.output
    said = "no proof. The time limit of 1e-09 s ended the search for the proof; --time-limit 4e-09"
    assert said in flat(done.stderr)
    assert "no proof within the time limit of 1e-09 s" in flat((tmp_path / "e.txt").read_text())
    done = ask(evidence, tmp_path)
    assert done.exit_code == 0, done.output
    assert "time limit" not in flat(done.stderr)
    assert "no proof within" not in flat((tmp_path / "e.txt").read_text())
    low = f"find {who} --confidence 0.02 --mode band --tolerance 0.01 --save {{}}/result.json"
    assert ask(f"{low} --force", tmp_path).exit_code in (0, 1)
    letter = f"letter {saved} {{}}/l.txt --organisation M --contact A --valid-until 2099-01-31"
    done = ask(f"{letter} --time-limit 1e-9", tmp_path)
    assert done.exit_code == 0, done.output
    assert "The time limit of 1e-09 s ended the search for an accepted option" in flat(done.stderr)
    done = ask(letter, tmp_path)
    assert done.exit_code == 0, done.output
    assert "time limit" not in flat(done.stderr)
    for line in (evidence, letter):
        refused(f"{line} --time-limit 0", "--time-limit 0.0; expected a number above 0", tmp_path)


def test_commands_search_for_30_seconds_unless_told_otherwise(who, monkeypatch):
    limits = []

    def noted(self, x, question, **how):
        limits.append(question.time_limit)
        return asked(self, x, question, **how)

    asked = Recourse.ask
    monkeypatch.setattr(Recourse, "ask", noted)
    for more in ("", "--time-limit 7", "--time-limit inf", "--node-limit 10000"):
        told(f"find {who} --confidence 0.6 {more}")
    assert limits == [30.0, 7.0, None, None]


def test_a_limit_that_was_not_met_is_not_mentioned(who, tmp_path):
    assert "ended the search" not in flat(ask(f"find {who} --confidence 0.6", tmp_path).stdout)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "no value for 'age', 'year', 'nodes'; give --set, or --data and --row"),
        ("--set age=34", "no value for 'year', 'nodes'; give --set year=VALUE"),
        ("--set age", "--set 'age': expected NAME=VALUE"),
        ("--set agee=34", "no feature 'agee'; did you mean 'age'?"),
        ("--set age=old", "feature 'age': given 'old', expected a whole number"),
        ("--set age=1 --set year=1 --set nodes=", "'nodes': given a blank, expected a value"),
        ("--row 1", "give --data FILE too"),
        ("--data {}/p.csv", "p.csv has 306 rows; say which is the person: --row N"),
        ("--data {}/p.csv --row 306", "expected a number from 0 to 305"),
        ("--data {}/p.csv --row -1", "expected a number from 0 to 305"),
        ("--data {}/p.csv --row 34 --id year", "0 rows of"),
        ("--data {}/p.csv --row 34 --id age", "have that in the column 'age'; expected one"),
        ("--data {}/none.csv --row 0", "none.csv: there is no such file"),
        ("{who} --lock yeer", "did you mean 'year'?"),
        ("{who} --wanted 2", "--wanted 2: the classes are 0 and 1"),
        ("{who} --confidence 1.5", "--confidence 1.5; expected a number between 0 and 1"),
        ("{who} --confidence 85%", "given '85%', expected a number with a point for"),
        ("{who} --confidence 0.7 --confidence 0,85", "such as 0.85"),
        ("{who} --survives much", "Invalid value for '--survives': given 'much', expected a"),
        ("{who} --confidence nan", "--confidence nan; expected a number between 0 and 1"),
        ("{who} --min-radius -1", "--min-radius -1.0; expected a number above 0"),
        ("{who} --floor 0.4", "--floor 0.4 without --min-radius; give --min-radius 0.05"),
        ("{who} --time-limit 0", "--time-limit 0.0; expected a number above 0"),
        ("{who} --engine tpe --time-limit 1", "--time-limit with engine 'tpe'"),
        ("{who} --engine tea", "'tea' is not one of"),
        ("{who} --options 0", "Invalid value for '--options'"),
        ("{who} --certificate {}/x --min-radius 0.1", "no proof covers --min-radius"),
        ("{who} --certificate {}/x --engine tpe", "the engine tpe proves nothing"),
        ("{who} --certificate {}/x --confidence 0.5 --confidence 0.6", "is of one confidence"),
        ("{who} --certificate {}/m.safetensors", "that is what is read"),
        ("{who} --save {}/no/x", "no does not exist; make it first"),
        ("{who} --schema {}/short.yaml", "the schema has 1 features, the model 3"),
    ],
)
def test_what_find_cannot_answer_is_refused_in_a_sentence(home, line, words):
    Schema((Feature("age", "integer"),)).to_yaml(home / "short.yaml")
    before = sorted(home.iterdir())
    line = line.replace("{who}", "--data {}/p.csv --row 9")
    done = ask(f"find {{}}/m.safetensors {line}", home)
    assert done.exit_code == 2, done.output
    assert words in flat(done.stderr.replace("│", " ")), done.stderr
    assert sorted(home.iterdir()) == before


def test_a_model_that_is_none_is_refused(home):
    written = "p.csv: not a trust-recourse model file, or cut short; expected one written by"
    for name, words in (
        ("none", "there is no such file"),
        ("p.csv", f"{written} `trust-recourse fit`"),
    ):
        for each in ("find", "frontier", "explain"):
            refused(f"{each} {{}}/{name} --data {{}}/p.csv --row 0", words, home)


def test_words_of_others_are_printed_not_obeyed(messy):
    assert ask(f"fit {{}}/messy.csv --target ok --out {{}}/m.st {SMALL}", messy).exit_code == 0
    line = "find {}/m.st --data {}/messy.csv --row 3 --confidence 0.1"
    refused(line, "say which is hoped for", messy)
    done = ask(f"{line} --verbose --wanted {load(messy / 'm.st').classes_[1]}", messy)
    assert done.exit_code == 0, done.output
    assert "job, now: [red]d[/]" in flat(done.stdout)


# ---------------------------------------------------------------- frontier and explain


def test_a_label_names_its_feature_on_the_line(loans):
    folder, _ = loans
    schema = load(folder / "m.st").schema_
    net, late = schema.names
    labelled = schema.update(net, label="Einkommen").update(late, label="überzogen")
    labelled.to_yaml(folder / "l.yaml")
    labelled.update(late, label="Einkommen").to_yaml(folder / "twice.yaml")
    who = f"find {folder}/m.st --data {folder}/loans.csv --row 0 --wanted approved"
    line = f"{who} --schema {folder}/l.yaml"
    by_label = ask(f"{line} --json --lock Einkommen --set überzogen=3")
    by_name = ask(f"{line} --json --lock '{net}' --set 'Überziehung=3'")
    assert by_label.stdout == by_name.stdout
    assert '"Überziehung": 3' in by_label.stdout, "umlauts are written as they are"
    refused(f"{line} --lock Einkomen", "no feature 'Einkomen'; did you mean 'Einkommen'?")
    refused(f"{line} --lock xyz", "no feature 'xyz'; the features are 'Einkommen, netto (T€)'")
    twice = f"{who} --schema {folder}/twice.yaml --lock Einkommen"
    refused(twice, f"several features are labelled 'Einkommen': say '{net}', '{late}'")
    one = f"find {folder}/m.st --wanted approved --set Überziehung=3"
    refused(one, f"give --set '{net}=VALUE'")
    refused(f"{one} --set 3", f"--set '3': expected NAME=VALUE, such as '{net}=1'")


def test_a_long_frontier_is_told_in_part(loans):
    folder, _ = loans
    who = f"frontier {folder}/m.st --data {folder}/loans.csv --wanted approved"
    rows = [told(f"{who} --row {row}")["steps"] for row in range(12)]
    row = max(range(12), key=lambda at: len(rows[at]))
    assert len(rows[row]) > 20
    done = ask(f"{who} --row {row}").stdout
    printed = re.findall(r"^ *([\d.e-]+) +(0\.\d+) +(yes|no)", done, re.MULTILINE)
    assert 10 <= len(printed) <= 22
    assert f"{len(printed)} of {len(rows[row])} steps" in flat(done)
    assert printed[0][0] == "0"
    assert float(printed[-1][0]) == pytest.approx(rows[row][-1]["cost"], rel=1e-3)
    yes = next((step for step in rows[row] if step["confidence"] >= 0.5), None)
    shown = [float(cost) for cost, _, decision in printed if decision == "yes"]
    assert (yes is None) == (not shown)
    assert yes is None or shown[0] == pytest.approx(yes["cost"], rel=1e-3)
    every = ask(f"{who} --row {row} --all").stdout
    listed = re.findall(r"^ *([\d.e-]+) +(0\.\d+) +(?:yes|no)", every, re.MULTILINE)
    assert len(listed) == len(rows[row])
    for column in zip(*listed, strict=True):
        assert len(set(column)) == len(column), "each row is told from the others"


def test_the_frontier_is_that_of_the_library(who, recourse, tmp_path):
    stairs = recourse.frontier(PERSON)
    assert len(stairs) > 2
    done = ask(f"frontier {who} --all --csv {{}}/s.csv --png {{}}/s.png", tmp_path)
    assert done.exit_code == 0, done.output
    words = flat(done.stdout)
    for cost, confidence in zip(stairs["cost"], stairs["confidence"], strict=True):
        yes = "yes" if confidence >= 0.5 else "no"
        near = rf"{re.escape(f'{cost:.4g}')}\d* {re.escape(floored(confidence))}\d* {yes}"
        assert re.search(near, words)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "s.csv"), stairs)
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    answer = told(f"frontier {who}")
    assert answer["complete"] is True
    assert [step["cost"] for step in answer["steps"]] == stairs["cost"].tolist()
    assert [step["x"]["nodes"] for step in answer["steps"]] == stairs["nodes"].tolist()
    assert answer["steps"][0]["changes"] == {}
    for step in answer["steps"]:
        assert step["changes"] == {
            n: {"from": PERSON[n], "to": v} for n, v in step["x"].items() if v != PERSON[n]
        }


def test_an_explanation_is_that_of_the_library(who, recourse, tmp_path):
    result = recourse.find(PERSON, [0.5, 0.6])
    assert result.options[0].changes != result.options[1].changes
    line = f"explain {who} --confidence 0.5 --confidence 0.6"
    assert told(f"{line} --option 2") == json.loads(result.explain(1).to_json())
    done = ask(f"{line} --option 2 --out {{}}/why.html --png {{}}/why.png", tmp_path)
    assert done.exit_code == 0, done.output
    assert flat(str(result.explain(1))) in flat(done.stdout)
    page = (tmp_path / "why.html").read_text()
    for each in result.explain(1).movers():
        assert f">{result.explain(1).told(each.share)}<" in page
    assert page.count("data:image/svg+xml") == 1
    assert "://" not in page
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    compared = result.compare(0, 1)
    assert told(f"{line} --compare 1 2") == json.loads(compared.to_json())
    both = ask(f"{line} --compare 1 2 --png {{}}/both.png --out {{}}/both.txt", tmp_path)
    assert flat(compared.sentence) in flat((tmp_path / "both.txt").read_text())
    refused(f"explain {who} --out {tmp_path}/why.doc", "expected a name that ends in .html, .pdf")
    assert flat(compared.sentence) in flat(both.stdout)
    for name, cells in compared.words().iterrows():
        assert f"{name} {' '.join(cells)}" in flat(both.stdout)
    assert (tmp_path / "both.png").read_bytes() != (tmp_path / "why.png").read_bytes()


def test_words_of_others_do_no_harm_in_a_page(who, home, tmp_path):
    labelled = Schema.from_yaml(home / "p.yaml").update("nodes", label="<script>alert(1)</script>")
    labelled.to_yaml(tmp_path / "s.yaml")
    line = f"explain {who} --schema {{}}/s.yaml --lock age --lock year --html {{}}/why.html"
    assert ask(line, tmp_path).exit_code == 0
    page = (tmp_path / "why.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page


def test_what_explain_cannot_tell(who):
    refused(f"explain {who} --option 2", "option 2: this result has 1 option, counted from 1")
    refused(
        f"explain {who} --confidence 0.4 --options 2 --compare 1 3",
        "option 3: this result has 2 options",
    )
    refused(f"explain {who} --confidence 0.4 --options 2 --compare 1 1", "option 1 with itself")
    nothing = ask(f"explain {who} --lock age --lock year --confidence 0.999")
    assert nothing.exit_code == 1
    assert "The highest reachable confidence is" in nothing.stdout
    answer = told(f"explain {who} --lock age --lock year --confidence 0.999")
    assert answer["options"] == []


# ---------------------------------------------------------------- packages that may be absent


def test_a_picture_without_its_package_is_refused_before_the_search(who, monkeypatch, tmp_path):
    monkeypatch.setattr(errors, "find_spec", lambda _: None)
    for name in ("frontier", "explain"):
        refused(f"{name} {who} --png {tmp_path}/x.png", "pip install 'trust-recourse[plot]'")


def test_parquet_without_its_package_is_refused(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    line = "schema {}/t.parquet --target y --out {}/s.yaml"
    refused(line, "pip install 'trust-recourse[parquet]'", tmp_path)


def test_parquet_is_read_like_csv(home, mixed, tmp_path):
    assert find_spec("pyarrow") is not None
    X, y = mixed
    X.assign(ok=y, id=range(len(X))).to_parquet(tmp_path / "t.parquet")
    line = "schema {}/t.parquet --target ok --id id --out {}/s.yaml"
    assert ask(line, tmp_path).exit_code == 0
    expected = Schema.infer(X, scale="robust").lock("children")
    assert Schema.from_yaml(tmp_path / "s.yaml") == expected
    done = ask(
        f"fit {{}}/t.parquet --target ok --schema {{}}/s.yaml --out {{}}/m.st {SMALL}", tmp_path
    )
    assert done.exit_code == 0, done.output
    model = load(tmp_path / "m.st")
    who = f"{tmp_path}/m.st --data {tmp_path}/t.parquet --row 4 --wanted {model.classes_[1]}"
    answer = told(f"find {who} --confidence 0.1")
    assert answer["confidence"] == Recourse(model).confidence(X.iloc[4])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and then nothing")
    refused("schema {}/bad.parquet --target y --out {}/x", "not a Parquet file", tmp_path)
    assert not Path(tmp_path / "x").exists()


# ---------------------------------------------------------------- tables that mean ill


@pytest.mark.parametrize("cell", [2**63, -(2**64), "9" * 400, "9" * 5000])
@pytest.mark.parametrize("column", ["a", "y"])
def test_a_whole_number_beyond_all_is_refused(cell, column, tmp_path):
    cells = {"a": 5, "y": 1, column: cell}
    (tmp_path / "t.csv").write_text(f"a,y\n1,0\n2,0\n{cells['a']},{cells['y']}\n")
    for line in ("schema {}/t.csv --target y --out {}/s", "fit {}/t.csv --target y --out {}/m"):
        refused(line, f"t.csv: column '{column}': given {str(cell)[:9]}", tmp_path)


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (np.array([1e300, 2e300]), ["1e+300", "2e+300"]),
        (np.array([2**64 - 1, 5], np.uint64), ["18446744073709551615", "5"]),
        (np.array([2**63 - 1, -(2**63)]), [-(2**63), 2**63 - 1]),
        (np.array([0.0, 7.0]), [0, 7]),
        (np.array([0.0, np.inf]), ["0.0", "inf"]),
    ],
)
def test_classes_stay_what_they_are(given, classes, tmp_path):
    given = given[np.arange(20) % 2]
    pd.DataFrame({"a": np.arange(20), "y": given}).to_parquet(tmp_path / "t.parquet")
    assert np.unique(tables.read(tmp_path / "t.parquet").labels("y")).tolist() == classes


@pytest.mark.parametrize(
    "metadata",
    [
        {"index_columns": ["nothing"]},
        {"index_columns": [{"kind": "range", "name": None, "start": 0, "stop": 9, "step": 0}]},
        {"index_columns": None},
        {"column_indexes": [5]},
        {"columns": [{"name": "a", "field_name": "a", "numpy_type": "no such type"}]},
        None,
        {},
        [[]] * 900,
    ],
)
def test_parquet_whose_index_is_false_is_refused(metadata, tmp_path):
    """pandas and Arrow believe it, and trip over it in ways of their own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = pa.Table.from_pandas(pd.DataFrame({"a": [1, 2], "y": [0, 1]}, index=[5, 9]))
    whole = json.loads(made.schema.metadata[b"pandas"])
    false = whole | metadata if metadata and isinstance(metadata, dict) else metadata
    text = json.dumps(false).encode() if metadata is not None else b"{"
    pq.write_table(made.replace_schema_metadata({b"pandas": text}), tmp_path / "t.parquet")
    line = "schema {}/t.parquet --target y --out {}/s.yaml"
    refused(line, "not a Parquet file, or damaged (", tmp_path)


def test_a_cell_that_holds_several_values_is_refused(tmp_path):
    pd.DataFrame({"a": [[1], [2]], "y": [0, 1]}).to_parquet(tmp_path / "t.parquet")
    for target in "ay":
        line = f"schema {{}}/t.parquet --target {target} --out {{}}/s.yaml"
        refused(line, "columns of lists or records: 'a'; leave them out", tmp_path)


def test_a_table_without_end_is_refused(home, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        refused(f"schema {path} --target y --out {{}}/s.yaml", "not a file", tmp_path)
        refused(f"find {home}/m.safetensors --data {path} --row 0", "not a file")
        refused(f"batch {path} --model {home}/m.safetensors --out {{}}/out", "not a file", tmp_path)
