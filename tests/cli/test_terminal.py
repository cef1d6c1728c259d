"""Words of others on a terminal: a table's, a schema's or a model's names cannot steer it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import trust_recourse.cli
from trust_recourse import Recourse, Schema
from trust_recourse.cli import app
from trust_recourse.ledger.pseudonyms import VARIABLE
from worlds import paper_machine

# clears the screen, sets a title, is red by a single character; turns the line, deletes, ends it
STEERS = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2066\x7f\u2028"
WRITTEN = r"\u001b[2J"
MARKUP = ":warning: [red]loud[/red] [link=https://example.org]here[/link]"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
NODES, JOB = f"nodes{STEERS}", f"job{STEERS}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, a schema, models, answers and a proof, all with names that mean ill."""
    folder = tmp_path_factory.mktemp("ill")
    rng = np.random.default_rng(0)
    jobs = rng.choice([f"day{STEERS}", f"at {MARKUP}"], 200)
    X = pd.DataFrame({"age": rng.integers(20, 60, 200), NODES: rng.integers(0, 30, 200), JOB: jobs})
    y = np.where(X[NODES] < 10, "yes", "no")
    table = X.assign(accepted=y, group=jobs).sort_values("accepted")
    table.to_parquet(folder / "table.parquet")
    schema = Schema.infer(X).update("age", label=f"Age{STEERS}", unit=f"years{STEERS}")
    schema = schema.update(NODES, label=f"{MARKUP}{STEERS}", unit=MARKUP)
    schema.to_yaml(folder / "schema.yaml")
    model = paper_machine(epochs=5, schema=schema, random_state=0)
    model.fit(X, np.where(y == "yes", f"yes{STEERS}", f"no{STEERS}")).save(folder / "classes")
    model.fit(X, y).save(folder / "model")
    result = Recourse(model, wanted="yes").find(X[model.predict(X) == "no"].iloc[0], [0.5, 0.6])
    result.save(folder / "answers.json")
    result.certificate(0.5).save(folder / "proof.json")
    return folder


@pytest.fixture
def there(made, tmp_path, monkeypatch):
    for file in made.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "a key for the tests, of no use elsewhere")


def told(*arguments, codes=(0,)):
    """What a command prints, of which nothing may steer a terminal."""
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})
    assert done.exit_code in codes, done.output
    printed = (done.stdout + done.stderr).replace("\rPTMClassifier", "PTMClassifier")  # its bar
    assert not RAW.search(printed), arguments
    return printed


PERSON = ("model", "--data", "table.parquet", "--row", "0", "--wanted", "yes")
BATCH = ("batch", "table.parquet", "--model", "model", "--wanted", "yes", "--out", "out")
LEARNT = ("table.parquet", "--target", "accepted")


@pytest.mark.parametrize(
    "arguments",
    [
        ("find", *PERSON, "--confidence", "0.5"),
        ("find", *PERSON, "--confidence", "0.99", "--lock", "age"),
        ("find", *PERSON, "--confidence", "0.5", "--verbose"),
        ("frontier", *PERSON),
        ("explain", *PERSON, "--confidence", "0.6"),
        ("verify", "proof.json", "model"),
        ("ledger", "promise", "model", "answers.json", "--subject", "ann"),
        ("schema", *LEARNT, "--out", "made.yaml"),
        ("fit", *LEARNT, "--schema", "schema.yaml", "--out", "made", "--epochs", "2"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_others_wrote_is_printed_as_it_is_but_steers_nothing(there, arguments):
    printed = told(*arguments, codes=(0, 1))
    if arguments[0] != "fit":  # which names no feature
        whole = "".join(printed.split())  # a long name is folded in a table, never cut
        assert WRITTEN in whole
        assert "[red]loud" in whole
        assert ":warning:" in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ("find", "classes", *PERSON[1:5]),
        ("find", *PERSON, "--lock", "nods"),
        ("schema", "table.parquet", "--target", "clas", "--out", "made.yaml"),
        (*BATCH, "--keep", "nods"),
    ],
)
def test_mistakes_steer_nothing(there, arguments):
    printed = told(*arguments, codes=(2,))
    assert WRITTEN in printed or r"\x1b[2J" in printed


def test_an_audit_steers_nothing(there):
    told(*BATCH, "--keep", "group", "--jobs", "1")
    printed = told("audit", "out", "--by", "group", "--bootstrap", "100")
    assert "[red]loud[/red]" in printed


def test_json_says_the_same_and_steers_nothing(there):
    told("ledger", "promise", "model", "answers.json", "--subject", "ann")
    for arguments in (("find", *PERSON, "--confidence", "0.5"), ("ledger", "list")):
        printed = told(*arguments, "--json")
        assert r"\u009b" in printed
        assert JOB in str(json.loads(printed)).encode().decode("unicode_escape")


def test_on_a_terminal_only_the_styles_of_the_page_are_left(there):
    """There the console writes escapes of its own; those that data brought are not among them."""
    ours, theirs = pty.openpty()
    given = [sys.executable, "-m", "trust_recourse", "find", *PERSON, "--confidence", "0.5"]
    with_colours = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    with_colours.pop("NO_COLOR", None)
    parts = []
    with subprocess.Popen(given, stdout=theirs, stderr=theirs, env=with_colours) as running:
        os.close(theirs)
        with suppress(OSError):  # which says that the other end was closed
            while part := os.read(ours, 65536):
                parts.append(part)
    os.close(ours)
    printed = b"".join(parts).decode()
    assert running.returncode == 0, printed
    assert "\x1b[1m" in printed, "it is a terminal"
    assert WRITTEN in "".join(printed.split())
    assert "[red]loud[/red]" in printed
    steering = ("\x1b[2J", "\x9b", "\x1b]", "\x07", "\u202e", "\u2066", "\x7f", "\u2028")
    assert not [each for each in steering if each in printed]


@pytest.mark.parametrize("given", [f"--{STEERS}", f"x{STEERS}.csv", "a\x9b31m"])
def test_an_argument_that_steers_is_refused(given):
    assert "has no place in an argument" in told("schema", given, codes=(2,))


def test_a_mistake_quotes_no_more_than_a_part(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(f"a,y\n{'9' * 100_000},0\n1,1\n")
    printed = told("schema", "t.csv", "--target", "y", codes=(2,))
    assert "expected whole numbers" in printed
    assert len(printed) < 1200


def test_every_command_prints_by_the_one_module():
    """Elsewhere only the help is printed, which holds no word of others."""
    rooms = Path(trust_recourse.cli.__file__).parent.glob("*.py")
    others = {path.name: path.read_text() for path in rooms if path.name != "output.py"}
    printing = re.compile(r".*(?:\becho\(|\bConsole\(|(?<!\.)\bprint\(|\.write\().*")
    found = {name: printing.findall(text) for name, text in others.items()}
    assert {name: lines for name, lines in found.items() if lines} == {
        "command.py": ["        typer.echo(context.get_help())"]
    }
