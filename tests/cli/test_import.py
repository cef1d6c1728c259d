"""A library's file on the command line, and then every surface, with the libraries gone."""

from __future__ import annotations

import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from serving import started
from trust_recourse import Recourse, load
from trust_recourse.cli import app

DATA = Path(__file__).parents[1] / "data" / "libraries"
GIVEN = "--schema {}/schema.yaml --data {}/rows.csv --out {}/m.safetensors"
NAMED = "--classes refused,granted --wanted granted --threshold 0.6"
GONE = ("lightgbm", "xgboost", "skops", "catboost", "interpret")


def ask(line, folder):
    """Run a command line; {} in it stands for the folder."""
    words = [word.replace("{}", str(folder)) for word in shlex.split(line)]
    return CliRunner().invoke(app, words, env={"COLUMNS": "100"})


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The files that are kept, and a model out of one of them."""
    pytest.importorskip("lightgbm")
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(DATA, folder, dirs_exist_ok=True)
    done = ask(f"import {{}}/lightgbm.txt {GIVEN} {NAMED}", folder)
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.stdout)
    return folder


def test_it_says_what_was_read_and_what_to_do_next(home):
    said, model = (home / "said.txt").read_text(), load(home / "m.safetensors")
    for told in (
        "read LightGBM text", "trees 5, with 20 leaves", "features 3 of 5 are used",
        "columns by name", "classes refused, then granted",
        "compared 60 rows: the library says the same of each, to the last bit",
        "Of these 60 rows it refuses the 24 whose confidence in the class granted is below 0.6. "
        "What the first of them may do:",
    ):  # fmt: skip
        assert told in flat(said), told
    assert model.classes_.tolist() == ["refused", "granted"]
    rows = pd.read_csv(home / "rows.csv").drop(columns="granted")
    told = json.loads((home / "told.json").read_text())["lightgbm.txt"]["confidence"]
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], told, rtol=0, atol=1e-15)
    following = said.strip().splitlines()[-1].removeprefix("trust-recourse ")
    done = ask(following, home)
    assert done.exit_code == 0, done.output
    recourse = Recourse(model)
    assert recourse.decision_threshold == 0.6
    refused = recourse.confidences(model.schema_.encode(rows)) < 0.6
    assert f"--row {refused.nonzero()[0][0]} " in following


def test_without_rows_it_says_that_nothing_was_compared(home):
    done = ask("import {}/lightgbm.txt --schema {}/schema.yaml --out {}/plain.safetensors", home)
    assert done.exit_code == 0
    assert "compared nothing: no rows were given by --data" in flat(done.stdout)
    assert "What a person may do: trust-recourse find" in flat(done.stdout)
    assert load(home / "plain.safetensors").classes_.tolist() == [0, 1]


def test_catboost_s_file_is_read_without_catboost_as_with_it(home, without):
    pytest.importorskip("catboost")
    given = "import {}/catboost.json --schema {}/schema.yaml"
    done = ask(f"{given} --data {{}}/rows.csv --out {{}}/cat.safetensors", home)
    assert done.exit_code == 0, done.output
    for told in (
        "read CatBoost JSON", "trees 7, with 25 leaves", "features 3 of 5 are used",
        "columns by name", "classes 0, then 1",
        "compared 60 rows: the library says the same of each, to the last bit",
    ):  # fmt: skip
        assert told in flat(done.stdout), told
    (row,) = re.findall(r"--row (\d+) ", done.stdout)
    lines = [
        f"{given} --out {{}}/alone.safetensors",
        f"{given} --data {{}}/rows.csv --out {{}}/never.safetensors",
        f"find {{}}/alone.safetensors --data {{}}/rows.csv --row {row} --confidence 0.7",
    ]
    said = alone([line.replace("{}", str(home)) for line in lines], home)
    assert [code for _, code, _ in said] == [0, 2, 0], said
    assert "no catboost here" in said[1][2]
    assert load(home / "alone.safetensors").fingerprint_ == (
        load(home / "cat.safetensors").fingerprint_
    )


@pytest.mark.usefixtures("in_this_process")
def test_in_json_it_says_the_same(home):
    done = ask(f"import {{}}/lightgbm.txt {GIVEN} --classes 1,2 --force --json", home)
    told = json.loads(done.stdout)
    assert told["fingerprint"] == load(home / "m.safetensors").fingerprint_
    assert (told["compared"], told["classes"], told["wanted"]) == (60, [1, 2], 2)
    assert (told["trees"], told["leaves"], told["by_name"]) == (5, 20, True)
    assert set(told["used"]) < set(told["features"])
    assert ask(f"import {{}}/lightgbm.txt {GIVEN} {NAMED} --force", home).exit_code == 0


@pytest.mark.usefixtures("in_this_process")
def test_labels_show_which_class_is_which(home):
    line = f"import {{}}/lightgbm.txt {GIVEN} --target granted --force"
    done = ask(f"{line} --json", home)
    told = json.loads(done.stdout)
    (found,) = told["agreement"]
    rows = pd.read_csv(home / "rows.csv")
    confidence = load(home / "m.safetensors").predict_proba(rows.drop(columns="granted"))[:, 1]
    assert found["auc"] == pytest.approx(roc_auc_score(rows["granted"], confidence))
    assert found["auc_swapped"] == pytest.approx(1 - found["auc"])
    assert (found["label"], found["unclear"], told["unchecked"]) == (1, False, [])
    assert f"labels AUC {found['auc']:.2f} for class 1, 0.04 swapped (60 rows)" in flat(
        ask(line, home).stdout
    )
    for given, wanted in (("1,0", ""), ("1,0", " --wanted 1"), ("1,0", " --wanted 0")):
        out = f"--classes {given}{wanted} --out {{}}/never.safetensors"
        wrong = ask(f"{line} {out}", home)
        assert wrong.exit_code == 2
        assert "0.04 as given, 0.96 swapped; expected more than 0.5." in flat(wrong.stderr)
        assert "exchange the names: --classes 0,1" in flat(wrong.stderr)
        assert not (home / "never.safetensors").exists()


@pytest.mark.usefixtures("in_this_process")
def test_labels_may_be_the_file_s_own_and_then_the_names_are_not_checked(home):
    line = f"import {{}}/lightgbm.txt {GIVEN} {NAMED} --target granted --force"
    told = json.loads(ask(f"{line} --json", home).stdout)
    (found,) = told["agreement"]
    assert (found["label"], found["auc"] > 0.9) == ("granted", True)
    said = (
        "0 is refused, 1 is granted, by the order of the classes; the labels of granted cannot "
        "check these names"
    )
    assert told["assumed"] == said
    assert told["unchecked"] == [f"the names of the classes: {said}"]
    assert told["warning"] is None
    words = flat(ask(line, home).stdout)
    assert f"assumed {said}" in words
    assert "not checked" not in words
    rows = pd.read_csv(home / "rows.csv")
    rows.assign(granted=1 - rows["granted"]).to_csv(home / "turned.csv", index=False)
    wrong = ask(line.replace("rows.csv", "turned.csv"), home)
    assert wrong.exit_code == 2
    assert "exchange 0, 1 in the column if they mean the opposite there" in flat(wrong.stderr)


@pytest.mark.usefixtures("in_this_process")
def test_names_that_contradict_the_column_are_rejected(home):
    rows = pd.read_csv(home / "rows.csv").rename(columns={"granted": "repaid"})
    rows.to_csv(home / "repaid.csv", index=False)
    rows.rename(columns={"repaid": "class"}).to_csv(home / "class.csv", index=False)
    line = (
        "import {}/lightgbm.txt --schema {}/schema.yaml --data {}/DATA.csv --target DATA "
        "--classes NAMES --wanted WANTED --out {}/names.safetensors --force"
    )

    def asked(data, names, wanted):
        words = line.replace("DATA", data).replace("NAMES", names).replace("WANTED", wanted)
        return ask(words, home)

    for names, wanted in (("granted,refused", "granted"), ("a,b", "a")):
        wrong = asked("repaid", names, wanted)
        assert wrong.exit_code == 2, wrong.output
        said = flat(wrong.stderr)
        assert "by its name, 1 in this column is a good outcome" in said
        assert f"--classes {','.join(reversed(names.split(',')))}" in said
    assert asked("repaid", "refused,granted", "granted").exit_code == 0
    assert asked("class", "granted,refused", "granted").exit_code == 0


@pytest.mark.usefixtures("in_this_process")
def test_a_class_that_most_rows_are_refused_is_warned_of_unless_labels_show_it(home):
    line = "import {}/lightgbm.txt --schema {}/schema.yaml --data {}/rows.csv --force"
    named = "--out {}/most.safetensors --wanted granted --threshold 0.6 --classes"
    swapped = json.loads(ask(f"{line} {named} granted,refused --json", home).stdout)
    right = json.loads(ask(f"{line} {named} refused,granted --json", home).stdout)
    assert swapped["refused"] > 30 > right["refused"], "the rows would show nothing"
    for part in (
        f"refuses {swapped['refused']} ({swapped['refused'] / 60:.1%}) of these rows the class "
        "granted",
        f"exchanged it would refuse {right['refused']} ({right['refused'] / 60:.1%})",
        "--classes refused,granted",
    ):
        assert part in swapped["warning"]
    words = flat(ask(f"{line} {named} granted,refused", home).stdout)
    assert f"Warning: {swapped['warning']}." in words
    assert right["warning"] is None


@pytest.mark.usefixtures("in_this_process")
def test_evidence_and_report_map_labels_as_import_does(home):
    given = GIVEN.replace("m.safe", "mapped.safe")
    line = f"import {{}}/lightgbm.txt {given} {NAMED} --target granted --force"
    assert ask(line, home).exit_code == 0
    found = "find {}/mapped.safetensors --data {}/rows.csv --row 1 --save {}/mapped.json --force"
    assert ask(found, home).exit_code == 0
    judge = "--data {}/rows.csv --target granted --out {}/judged.txt --force"
    done = ask(f"evidence {{}}/mapped.safetensors {{}}/mapped.json {judge} --no-certificates", home)
    assert done.exit_code == 0, done.output
    assert "0 is refused, 1 is granted" in flat(done.stderr)
    assert "class granted" in flat((home / "judged.txt").read_text())
    report = "report {}/rows.csv --target granted --model {}/mapped.safetensors --json"
    done = ask(report, home)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["label"] == "granted"
    assert "0 is refused, 1 is granted" in flat(done.stderr)


@pytest.mark.usefixtures("in_this_process")
def test_labels_that_chance_explains_are_reported_and_the_file_is_written(home):
    rows = pd.read_csv(home / "rows.csv")
    labels = np.random.default_rng(0).permutation(rows["granted"])
    rows.assign(granted=labels).to_csv(home / "chance.csv", index=False)
    line = "import {}/lightgbm.txt --schema {}/schema.yaml --data {}/chance.csv --target granted"
    done = ask(f"{line} --out {{}}/chance.safetensors --force", home)
    assert done.exit_code == 0, done.output
    assert "so this does not show which class is which" in flat(done.stdout)


@pytest.mark.usefixtures("in_this_process")
def test_the_columns_of_the_file_are_listed_with_categories_and_blanks(home):
    done = ask(f"import {{}}/xgboost.json {GIVEN} --force --json".replace("m.safe", "x.safe"), home)
    told = json.loads(done.stdout)
    assert told["unchecked"] == [
        "which class is which: add --target COLUMN, the column of true classes"
    ]
    found = {each["column"]: each for each in told["contents"]}
    assert found.keys() == {*told["features"]}
    assert found["housing"]["categories"] == ["free", "own", "rent"]
    assert found["income"]["missing"] == "a blank goes left at 5 of 6 splits"
    assert found["employed"]["missing"] == ""
    assert {name for name, each in found.items() if each["splits"]} == {*told["used"]}


@pytest.mark.usefixtures("in_this_process")
def test_numbers_that_may_mean_missing_are_told_as_the_model_reads_them(home):
    rows = pd.read_csv(home / "rows.csv")
    odd = rows.assign(income=rows["income"].where(rows.index % 20 > 0, 999.0))
    odd.to_csv(home / "odd.csv", index=False)
    given = "--schema {}/schema.yaml --data {}/odd.csv --out {}/odd.safetensors --force"
    done = ask(f"import {{}}/lightgbm.txt {given} --json", home)
    assert done.exit_code == 0
    (told,) = json.loads(done.stdout)["codes"]
    assert (told["column"], told["codes"], told["rows"], told["of"]) == ("income", [999.0], 3, 60)
    assert told["sentence"] in flat(done.stderr)
    assert told["sentence"].startswith("income: 999 in 3 of 60 rows, where all others are from")
    assert "reads it as a number. If it means missing, put blanks there" in told["sentence"]
    asked = "find {}/odd.safetensors --data {}/odd.csv --row"
    assert "income: 999, far beyond the bounds" in flat(ask(f"{asked} 0", home).stderr)
    assert not ask(f"{asked} 1", home).stderr
    rows.assign(income=odd["income"].replace(999.0, np.nan)).to_csv(home / "odd.csv", index=False)
    done = ask(f"import {{}}/lightgbm.txt {given} --json", home)
    assert json.loads(done.stdout)["codes"] == []
    assert not done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "lightgbm.txt --data {}/rows.csv",
            "no --schema is given; .* trust-recourse schema .*rows",
        ),
        (
            "lightgbm.txt --schema {}/none.yaml",
            "none.yaml: there is no such file; .*--out .*none.y",
        ),
        ("none.txt --schema {}/schema.yaml", "none.txt: there is no such file"),
        ("m.pkl --schema {}/schema.yaml", "m.pkl: this is a pickle.*skops.io.dump"),
        ("m.safetensors --schema {}/schema.yaml", "a file as `import` writes it"),
        (
            "lightgbm.txt --schema {}/schema.yaml --classes yes",
            "--classes yes: expected two labels",
        ),
        ("lightgbm.txt --schema {}/schema.yaml --classes a,a", "expected 2 different labels"),
        ("lightgbm.txt --schema {}/schema.yaml --threshold 1", "--threshold 1.0; expected"),
        ("lightgbm.txt --schema {}/schema.yaml --wanted 7", "--wanted 7: the classes are 0 and 1"),
        ("lightgbm.txt --schema {}/schema.yaml --data {}/told.json", "told.json"),
        ("lightgbm.txt --schema {}/schema.yaml --target granted", "given without --data"),
        (
            "lightgbm.txt --schema {}/schema.yaml --data {}/rows.csv --target income",
            "the schema has it as a feature",
        ),
        (
            "lightgbm.txt --schema {}/schema.yaml --data {}/words.csv --target said "
            "--classes refused,granted",
            "the classes 'no', 'yes', the model 'refused', 'granted'; expected the same names",
        ),
        (
            "lightgbm.txt --schema {}/other.yaml",
            "the model alone has the columns 'income' .* one that is computed .* derived:",
        ),
    ],
)
@pytest.mark.usefixtures("in_this_process")
def test_what_is_not_right_is_told_and_nothing_is_written(line, told, home):
    (home / "m.pkl").write_bytes(pickle.dumps({"a": 1}))
    rows = pd.read_csv(home / "rows.csv")
    rows.assign(said=np.where(rows["granted"], "yes", "no")).to_csv(home / "words.csv")
    text = (home / "schema.yaml").read_text()
    (home / "other.yaml").write_text(text.replace("name: income", "name: pay"))
    done = ask(f"import {{}}/{line} --out {{}}/never.safetensors", home)
    assert done.exit_code == 2
    assert re.search(told, flat(done.stderr)), done.stderr
    assert not (home / "never.safetensors").exists()


def test_a_file_is_not_overwritten_unless_that_is_asked_for(home):
    done = ask(f"import {{}}/lightgbm.txt {GIVEN}", home)
    assert done.exit_code == 2
    assert "--force" in done.stderr


@pytest.mark.usefixtures("in_this_process")
def test_files_of_models_learnt_anew_are_written_beside_the_model(home):
    given = "import {}/lightgbm.txt --schema {}/schema.yaml --out {}/lasting.safetensors --force"
    asked = "find {}/lasting.safetensors --data {}/rows.csv --row 4 --survives 0.6"
    (home / "retrained").mkdir()
    for at in range(14):
        shutil.copy(home / "lightgbm.txt", home / "retrained" / f"{at}.txt")
    done = ask(f"{given} --again {{}}/retrained", home)
    assert done.exit_code == 2
    assert "14 files; expected a folder with those of at least 15 models" in flat(done.stderr)
    assert ask(given, home).exit_code == 0
    done = ask(asked, home)
    assert done.exit_code == 2
    assert "no retrained models" in flat(done.stderr)
    assert "`trust-recourse import FILE --again FOLDER`" in flat(done.stderr)
    shutil.copy(home / "lightgbm.txt", home / "retrained" / "14.txt")
    done = ask(f"{given} --again {{}}/retrained --json", home)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["again"] == len([*(home / "lasting.bootstraps").iterdir()]) == 15
    done = ask(asked, home)
    assert done.exit_code in (0, 1), done.output
    assert "models learnt anew accept it" in flat(done.stdout)
    assert ask(given, home).exit_code == 0  # and those of the model before are gone
    assert not (home / "lasting.bootstraps").exists()


# ---------------------------------------------------------------- with the libraries gone

EVERY = """
import json, shlex, sys
from typer.testing import CliRunner
from trust_recourse.cli import app

for line in sys.stdin.read().splitlines():
    done = CliRunner().invoke(app, shlex.split(line))
    print(json.dumps([line, done.exit_code, done.output[-300:]]))
"""
LINES = """
find m.safetensors --data rows.csv --row {row} --confidence 0.6 --confidence 0.7 --save a.json
find m.safetensors --data rows.csv --row {row} --confidence 0.65 --certificate proof.json
frontier m.safetensors --data rows.csv --row {row} --csv steps.csv
verify proof.json m.safetensors --data rows.csv --row {row} --confidence 0.65
report rows.csv --target granted --model plain.safetensors --folds 2
batch rows.csv --model m.safetensors --confidence 0.7 --out answers --jobs 1 --keep granted
audit answers --by housing --model m.safetensors --sample 3 --bootstrap 100
ledger promise m.safetensors a.json --subject one --option 1 --until 2099-01-31 --key-file key
ledger check --model m.safetensors --key-file key
ledger list --key-file key
letter m.safetensors a.json --out letter.txt --organisation M --contact A --valid-until 2099-01-31
evidence m.safetensors a.json --out evidence.txt --verify --no-pictures
"""


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Processes that are started find none of the libraries."""
    for name in GONE:
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('no {name} here')")
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return tmp_path


def alone(lines, folder):
    """What each command line says in a process of its own, with its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY], input="\n".join(lines), cwd=folder,
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused_row(home):
    rows = pd.read_csv(home / "rows.csv").drop(columns="granted")
    recourse = Recourse(load(home / "m.safetensors"))
    held = recourse.confidences(recourse.schema.encode(rows)) < 0.6
    return rows, int(held.nonzero()[0][0])


def test_every_command_takes_the_file_with_none_of_the_libraries(home, without):
    if not (home / "plain.safetensors").exists():
        test_without_rows_it_says_that_nothing_was_compared(home)
    (home / "key").write_text("a long secret, kept elsewhere")
    (home / "key").chmod(0o600)
    _, row = refused_row(home)
    said = alone(LINES.format(row=row).strip().splitlines(), home)
    assert len(said) == len(LINES.strip().splitlines())
    assert [(line, output) for line, code, output in said if code != 0] == []
    gone = "import importlib; importlib.import_module('lightgbm')"
    assert subprocess.run([sys.executable, "-c", gone], capture_output=True).returncode == 1


def test_the_service_and_the_page_take_the_file_with_none_of_the_libraries(home, without):
    rows, row = refused_row(home)
    person = json.loads(rows.iloc[row].to_json())
    answer = Recourse(load(home / "m.safetensors")).find(rows.iloc[row], 0.65).options[0]
    with started(home / "m.safetensors", "--page") as (_, url, _):
        asked = {"person": person, "confidence": [0.65]}
        told = httpx.post(f"{url}/v1/recourse", json=asked, timeout=60)
        assert told.status_code == 200, told.text
        assert told.json()["options"][0]["cost"] == answer.cost
        shown = httpx.get(f"{url}/", timeout=60)
        assert shown.status_code == 200
        assert "income" in shown.text
