"""A whole population: each person once, whatever happens, and as if asked by themselves."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from trust_recourse import NearNeighbours, Recourse, Schema
from trust_recourse.cli import app
from trust_recourse.population import batch
from trust_recourse.population.batch import BatchError, Job, TableError, answer
from trust_recourse.population.batch import batch_folder as folder
from trust_recourse.population.batch.source_tables import PartSpan
from trust_recourse.question import Question
from trust_recourse.question.cost import Cost
from worlds import paper_machine

LEVEL = 0.7
BAD = {"income": "much", "children": 1.5, "housing": "castle", "grade": None, "employed": "perhaps"}
UNREADABLE = [10 * at + 5 for at in range(len(BAD))]


@pytest.fixture(scope="module")
def recourse(mixed):
    X, y = mixed
    free = Schema.infer(X, guard=False)
    machine = paper_machine(schema=free, epochs=10, random_state=0).fit(X, y)
    return Recourse(machine, free.lock("children"), wanted="yes")


@pytest.fixture(scope="module")
def question(recourse):
    return Job.of(recourse, LEVEL)


@pytest.fixture(scope="module")
def people(mixed):
    """With a name for each, a group, some repeated, and a few who cannot be read."""
    X = pd.concat([mixed[0], mixed[0].head(20)], ignore_index=True).astype(object)
    for at, (name, value) in enumerate(BAD.items()):
        X.loc[10 * at + 5, name] = value
    return X.assign(name=[f"p{at}" for at in range(len(X))], region=["north", "south"] * 110)


@pytest.fixture
def file(people, tmp_path):
    """The people whose values have the right types; those of others no Parquet column can hold."""
    good = people.drop(index=UNREADABLE).infer_objects()
    path = tmp_path / "people.parquet"
    good.to_parquet(path, row_group_size=60, index=False)
    return path


def alike(a, b):
    """The same to the bit, but for how long it took."""
    a, b = (each.drop(columns="seconds").reset_index(drop=True) for each in (a, b))
    pd.testing.assert_frame_equal(a, b, check_exact=True, check_dtype=True)
    return True


# ---------------------------------------------------------------- the unit of work


def test_everybody_is_told_what_they_would_be_told_alone(recourse, question, people):
    told = answer(people, question, keep=["name"])
    assert told["name"].tolist() == people["name"].tolist()
    assert {"optimal", "already_met", "unanswered"} <= set(told["status"])
    asked = people[list(recourse.schema.names)]
    for at in told.index[told["status"] != "unanswered"][::7]:
        result, row = recourse.find(asked.loc[at], LEVEL), told.loc[at]
        option = result.options[0]
        assert row["status"] == option.status
        assert row["confidence_now"] == result.confidence
        assert row["refused"] == result.refused
        assert (row["cost"], row["confidence"]) == (option.cost, option.confidence)
        assert row["lower_bound"] == option.lower_bound
        assert row["radius"] == result.radius()
        assert row["changes"] == result.words(option)
        assert row["n_changes"] == len(option.changes)
        assert row["nodes"] == next(iter(result.nodes.values()))
        for name in recourse.schema.names:
            assert row[f"from.{name}"] == result.factual[name]
            assert row[f"to.{name}"] == option.x[name]


def test_neither_order_nor_parts_nor_merging_matter(question, people):
    apart = replace(question, merge=False)

    @settings(max_examples=15)
    @given(st.lists(st.integers(0, 219), min_size=1, max_size=25), st.integers(1, 9))
    def law(drawn, size):
        asked = people.iloc[drawn]
        whole = answer(asked, question)
        assert whole.index.equals(asked.index)
        starts = range(0, len(asked), size)
        alike(whole, pd.concat([answer(asked.iloc[s : s + size], apart) for s in starts]))
        alike(whole.iloc[::-1], answer(asked.iloc[::-1], question))

    law()


def test_what_cannot_be_read_comes_out_with_its_reason(question, people):
    told = answer(people, question)
    bad = told[told["status"] == "unanswered"]
    assert bad.index.tolist() == UNREADABLE
    for (name, value), reason in zip(BAD.items(), bad["reason"], strict=True):
        assert f"{name!r}" in reason
        assert ("a blank" if value is None else repr(value)) in reason
    assert bad[["cost", "confidence_now", "to.income", "refused"]].isna().all(axis=None)
    assert bad["from.income"].notna().sum() == len(BAD) - 1  # what can be read is there
    assert told.loc[told["status"] != "unanswered", "reason"].isna().all()


def test_text_is_read_as_its_feature_says(question, people):
    people = people.drop(index=UNREADABLE)
    written = people.astype(str)
    assert alike(answer(people, question), answer(written, question))
    exact = people.assign(income=[Decimal(text) for text in written["income"]])
    assert alike(answer(people, question), answer(exact, question))
    written.loc[written.index[:2], ["income", "children"]] = [["lots", "1"], ["30.5", "4.5"]]
    told = answer(written, question)
    assert told.index[told["status"] == "unanswered"].tolist() == people.index[:2].tolist()
    much, half = told["reason"].iloc[:2]
    assert "'income': given 'lots', expected a number" in much
    assert "'children': given '4.5', expected a whole number" in half


def test_people_who_repeat_are_answered_once(question, people, monkeypatch):
    asked = []
    once = Recourse.ask
    monkeypatch.setattr(
        Recourse,
        "ask",
        lambda self, x, *rest, **more: (asked.append(1), once(self, x, *rest, **more))[1],
    )
    people = people.drop(index=UNREADABLE)
    values = people[list(question.recourse.schema.names)].astype(str)
    told = answer(people, question)
    assert len(asked) == len(values.drop_duplicates()) < len(people)
    assert (told["seconds"] == 0).sum() >= 10
    again = answer(people, replace(question, merge=False))
    assert len(asked) == len(values.drop_duplicates()) + len(people)
    alike(told, again)


def test_blanks_repeat_too(recourse):
    X = pd.DataFrame({"a": [1.0, np.nan] * 60, "b": np.arange(120) % 7.0})
    schema = Schema.infer(X, missing={"a": float("nan")})
    y = (X["b"] > 3).astype(int)
    machine = paper_machine(epochs=3, random_state=0, schema=schema).fit(X, y)
    told = answer(X, Job.of(Recourse(machine), 0.6))
    assert (told["seconds"] == 0).sum() == 120 - 14
    assert told["from.a"].isna().sum() == 60


def test_a_question_that_nobody_can_answer_is_refused(recourse, people):
    with pytest.raises(ValueError, match="confidence=1.5"):
        Job.of(recourse, 1.5)
    with pytest.raises(ValueError, match="node_limit=0"):
        Job.of(recourse, Question(confidence=(0.5,), node_limit=0))
    with pytest.raises(ValueError, match="min_radius=-1"):
        Job.of(recourse, Question(confidence=(0.5,), min_radius=-1))
    with pytest.raises(TypeError, match="batch needs a model with cells"):
        Job.of(Recourse(lambda table: table["income"] * 0, recourse.schema))
    cost = Cost.named("l1", functions={"income": lambda a, b: abs(a - b)})
    schema = recourse.schema.update("income", step=None)
    with pytest.raises(ValueError, match="'income' has a cost function.*give its step"):
        Job.of(Recourse(recourse.model, schema, cost, wanted="yes"))
    with pytest.raises(ValueError, match="no column 'income'; did you mean 'name'"):
        answer(people.drop(columns="income"), Job.of(recourse, 0.5))


def test_an_answer_that_a_limit_ended_says_so(recourse, people):
    asked = people.drop(index=UNREADABLE)
    told = answer(asked, Job.of(recourse, Question(confidence=(0.95,), node_limit=1), radius=False))
    assert {"feasible", "not_found"} & set(told["status"])
    assert told["radius"].isna().all()


# ---------------------------------------------------------------- a run


def test_a_run_is_the_unit_of_work_part_by_part(recourse, question, file, tmp_path):
    seen = []
    counts = batch.run(
        recourse, file, tmp_path / "out", LEVEL, keep="all", id="name", rows_per_part=25, n_jobs=1,
        tell=lambda *now: seen.append(now),
    )  # fmt: skip
    told = batch.read(tmp_path / "out")
    people = pd.read_parquet(file)
    assert told["row"].tolist() == list(range(len(people)))
    assert told["name"].tolist() == people["name"].tolist()
    assert told["region"].tolist() == people["region"].tolist()
    columns = ["row", "name", "region", *question.columns]
    assert told.columns.tolist() == columns
    alike(told[list(question.columns)], answer(people, question))
    assert counts == Counter(told["status"])
    assert (seen[0], seen[-1]) == ((25, len(people)), (len(people), len(people)))
    assert [len(part) for part in batch.parts(tmp_path / "out")] == [25, 25, 10] * 3 + [25, 10]
    said = batch.manifest(tmp_path / "out")
    assert said["input"]["sha256"] == _sha256(file)
    assert said["model"]["fingerprint"] == recourse.model.fingerprint_
    assert (said["question"]["confidence"], said["keep"]) == ([LEVEL], ["name", "region"])


def _sha256(path):
    return subprocess.run(["sha256sum", path], capture_output=True, text=True).stdout.split()[0]


def test_a_csv_and_a_folder_are_read_as_the_same_people(recourse, file, tmp_path):
    people = pd.read_parquet(file)
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_csv(tmp_path / "semicolons.csv", index=False, sep=";", decimal=",")
    (tmp_path / "folder").mkdir()
    people.head(100).to_parquet(tmp_path / "folder" / "a.parquet")
    people.tail(-100).astype({"housing": "category"}).to_parquet(tmp_path / "folder" / "b.parquet")
    for name in ("people.parquet", "people.csv", "semicolons.csv", "folder"):
        out = tmp_path / f"out {name}"
        batch.run(recourse, tmp_path / name, out, LEVEL, keep="region", rows_per_part=30, n_jobs=1)
    whole = batch.read(tmp_path / "out people.parquet")
    for name in ("people.csv", "semicolons.csv", "folder"):
        assert alike(whole, batch.read(tmp_path / f"out {name}"))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_are_kept_as_they_are(recourse, people, tmp_path, kind):
    names = [" north ", "  b", "c ", " , d", 'said, "so"', "\tx", "", "two\n lines "]
    kept = people.head(2).drop(columns="name").merge(pd.DataFrame({"name": names}), how="cross")
    kept["housing"] = [f" {housing} " for housing in kept["housing"]]
    path = tmp_path / f"people.{kind}"
    kept.to_csv(path, index=False) if kind == "csv" else kept.to_parquet(path)
    ask = {"id": "name", "keep": "housing", "radius": False, "n_jobs": 1}
    batch.run(recourse, path, tmp_path / "out", LEVEL, **ask)
    told = batch.read(tmp_path / "out")
    assert told["name"].tolist() == kept["name"].tolist()
    assert told["housing"].tolist() == kept["housing"].tolist()
    assert told["from.housing"].tolist() == kept["housing"].str.strip().tolist()


def test_blanks_before_a_quote_are_no_part_of_the_cell(recourse, tmp_path):
    (tmp_path / "people.csv").write_text(
        'name, income, children, housing, grade, employed\n "a, b", 30.5, 1, "own", low, "yes"\n'
    )
    batch.run(recourse, tmp_path / "people.csv", tmp_path / "out", LEVEL, id="name", n_jobs=1)
    told = batch.read(tmp_path / "out").iloc[0]
    assert (told["name"], told["from.housing"], told["from.employed"]) == ("a, b", "own", True)


def _lots(people):
    texts = people["children"].astype(str)
    texts.iloc[0] = "lots"
    return texts


ZONE = pd.Timestamp("2024-01-01", tz="UTC")
UNLIKE = {
    "whole numbers, then others": ({"income": lambda a: a["income"].round().astype(int)}, {}, 0),
    "blanks, then text": ({"housing": None}, {}, 100),
    "numbers, then text": ({}, {"children": _lots}, 1),
    "with a zone, then without": ({"when": ZONE}, {"when": ZONE.tz_localize(None)}, 0),
    "lists, then numbers": ({"region": [[1]] * 100}, {"region": 1}, 100),
    "a number beyond all others": ({"region": 2**60 + 1}, {"region": 0.5}, 100),
}


@pytest.mark.parametrize("case", UNLIKE)
def test_files_of_a_folder_may_differ_in_a_columns_type(recourse, file, tmp_path, case):
    first, then, unanswered = UNLIKE[case]
    people = pd.read_parquet(file).assign(when=None)
    halves = people.head(100), people.tail(-100)
    (tmp_path / "folder").mkdir()
    for name, half, change in zip("ab", halves, (first, then), strict=True):
        half.assign(**change).to_parquet(tmp_path / "folder" / f"{name}.parquet", index=False)
    ask = {"keep": ["when", "region"], "radius": False, "n_jobs": 1}
    counts = batch.run(recourse, tmp_path / "folder", tmp_path / "out", LEVEL, **ask)
    assert (counts.total(), counts["unanswered"]) == (len(people), unanswered)
    told = batch.read(tmp_path / "out")
    alike(told, pd.read_parquet(tmp_path / "out").astype(told.dtypes))
    assert told.loc[told["status"] == "unanswered", "reason"].notna().all()
    if case == "with a zone, then without":
        assert told["when"].str.startswith("2024-01-01 00:00:00").all()


def test_any_number_of_workers_gives_the_same_and_one_may_die(recourse, file, tmp_path):
    killed = []

    def kill_one(*_):
        if killed:
            return
        workers = [c for c in psutil.Process().children() if "popen_loky" in str(c.cmdline())]
        killed.append(workers[0].pid)
        os.kill(workers[0].pid, signal.SIGKILL)

    for jobs, tell in ((1, None), (2, kill_one), (3, None)):
        out = tmp_path / f"by {jobs}"
        batch.run(recourse, file, out, LEVEL, rows_per_part=10, n_jobs=jobs, tell=tell)
    assert killed
    one, two, three = (batch.read(tmp_path / f"by {jobs}") for jobs in (1, 2, 3))
    assert alike(one, two)
    assert alike(one, three)


def test_bad_lines_of_a_csv_come_out_with_their_reason(recourse, tmp_path):
    path = tmp_path / "people.csv"
    lines = [
        b"name,income,children,housing,grade,employed",
        b"a,30.5,1,own,low,yes",
        b"b,30.5,1,own,low",
        b"c,plenty,1,own,low,yes",
        b"d,30.5,1,\xff,low,yes",
        b'"e, with\na break",30.5,1,own,low,yes',
        b"f,30.5,1,castle,low,yes",
        b"",
        b"g,,1,own,low,yes",
        b'"h"x,30.5,1,own,low,yes',
        b"\x1b[2Ji,30.5,1,own,low,yes",
    ]
    path.write_bytes(b"\n".join(lines))
    batch.run(recourse, path, tmp_path / "out", LEVEL, id="name", rows_per_part=3, n_jobs=1)
    told = batch.read(tmp_path / "out")
    assert told["name"].tolist()[4] == "e, with\na break"
    reasons = dict(enumerate(told["reason"]))
    assert {at for at, reason in reasons.items() if pd.isna(reason)} == {0, 4}
    for at, words in {
        1: "line 3: 5 cells, but the first line names 6 columns", 2: "'plenty', expected a number",
        3: "line 5: not a text in UTF-8", 5: "'castle', expected one of", 6: "given a blank",
        7: "line 11", 8: "line 12: the character '\\x1b'",
    }.items():  # fmt: skip
        assert words in reasons[at], reasons[at]
    swallowed = b"\n".join([lines[0], b'"b,1\n' + b"c,1\n" * 30 + b'd",1,1,own,low,yes', lines[1]])
    path.write_bytes(swallowed)
    batch.run(recourse, path, tmp_path / "long", LEVEL, id="name", n_jobs=1)
    long, short = batch.read(tmp_path / "long")["reason"]
    assert "line 2: one row up to line 33; is there a quote too many" in long
    assert pd.isna(short)
    path.write_bytes(b'name,income,children,housing,grade,employed\n"a,1\n' + b"b\n" * 9)
    with pytest.raises(TableError, match="lines 2 to 11: .*a quote that begins"):
        batch.run(recourse, path, tmp_path / "other", LEVEL)


def test_a_blank_line_of_a_single_column_is_a_person(tmp_path):
    X = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0] * 20})
    schema = Schema.infer(X, missing={"a": float("nan")})
    machine = paper_machine(epochs=3, random_state=0, schema=schema).fit(X, X["a"] > 2)
    (tmp_path / "people.csv").write_text("a\n1\n\n4\n\n")
    batch.run(
        Recourse(machine), tmp_path / "people.csv", tmp_path / "out", rows_per_part=3, n_jobs=1
    )
    assert batch.read(tmp_path / "out")["from.a"].tolist() == pytest.approx(
        [1, np.nan, 4, np.nan], nan_ok=True
    )


MEMORY = """
import resource, sys
from trust_recourse import load, Recourse
from trust_recourse.population import batch
batch.run(Recourse(load(sys.argv[1])), sys.argv[2], sys.argv[3], rows_per_part=500, n_jobs=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_memory_does_not_grow_with_the_input(patients, tmp_path):
    X, y = patients
    paper_machine(epochs=3, random_state=0).fit(X, y).save(tmp_path / "model.safetensors")
    held = []
    for rows in (1_000, 20_000):
        source, line = tmp_path / f"{rows}.csv", "{},{},{}," + "many " * 1_000 + "\n"
        with source.open("w") as out:
            out.write("age,year,nodes,words\n")
            out.writelines(line.format(30 + at % 9, 64, 1) for at in range(rows))
        given = (tmp_path / "model.safetensors", source, tmp_path / f"out {rows}")
        command = [sys.executable, "-c", MEMORY, *map(str, given)]
        held.append(int(subprocess.run(command, capture_output=True, check=True).stdout))
    assert source.stat().st_size > 95 << 20
    assert held[1] - held[0] < 50


# ---------------------------------------------------------------- going on


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_what_a_killed_run_was_writing_is_removed_by_the_next(recourse, file, tmp_path):
    out, ask = tmp_path / "out", {"radius": False, "n_jobs": 1}
    child = os.fork()
    if not child:  # killed when all is written but the name
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        batch.run(recourse, file, out, LEVEL, **ask)
    os.waitpid(child, 0)
    left = set(os.listdir(out)) - {".lock"}
    assert left
    batch.run(recourse, file, out, LEVEL, **ask)
    assert not left & set(os.listdir(out))


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_killed_at_any_moment_it_goes_on_and_has_each_row_once(recourse, file, tmp_path):
    begun = time.monotonic()
    batch.run(recourse, file, tmp_path / "whole", LEVEL, rows_per_part=3, n_jobs=1)
    long = time.monotonic() - begun
    chance, out, kills, states = random.Random(0), tmp_path / "out", 0, set()
    for _ in range(12):
        child = os.fork()
        if not child:
            batch.run(recourse, file, out, LEVEL, rows_per_part=3, n_jobs=1)
            os._exit(0)
        time.sleep(chance.uniform(0.0, long / 4))
        os.kill(child, signal.SIGKILL)
        kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        states.add(len(list(out.glob("part-*"))))
    assert kills >= 3, "too few kills to hit anything"
    assert len(states) >= 3, "they all hit the same moment"
    batch.run(recourse, file, out, LEVEL, rows_per_part=3, n_jobs=1)
    assert alike(batch.read(tmp_path / "whole"), batch.read(out))
    assert not list(out.glob(".*.tmp"))


def test_a_killed_command_leaves_no_worker_and_goes_on(recourse, file, tmp_path):
    recourse.model.save(tmp_path / "model.safetensors")
    out = tmp_path / "out"
    line = [
        "batch", str(file), "--model", str(tmp_path / "model.safetensors"), "--out", str(out),
        "--rows-per-part", "3", "--wanted", "yes", "--confidence", "0.7", "--lock", "children",
    ]  # fmt: skip
    command = [sys.executable, "-m", "trust_recourse", *line, "--jobs", "2"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        while not list(out.glob("part-*")):
            assert running.poll() is None
            time.sleep(0.02)
        family = psutil.Process(running.pid).children(recursive=True)
        running.kill()
    assert not (out / "part-00075.parquet").exists(), "it was done before it was killed"
    done = CliRunner().invoke(app, [*line, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert "215 people, each once" in done.output
    batch.run(recourse, file, tmp_path / "whole", LEVEL, rows_per_part=3, n_jobs=1)
    assert alike(batch.read(tmp_path / "whole"), batch.read(out))
    assert not psutil.wait_procs(family, timeout=10)[1]


def test_another_question_or_other_people_are_refused(recourse, mixed, file, tmp_path):
    out = tmp_path / "out"
    ask = {"rows_per_part": 50, "n_jobs": 1, "radius": False}
    batch.run(recourse, file, out, LEVEL, **ask)
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    batch.run(recourse, shutil.copy(file, tmp_path / "same.parquet"), out, LEVEL, **ask)
    assert before == {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    with pytest.raises(
        BatchError, match="begun otherwise .question, confidence, 0: 0.7 there, 0.8 now"
    ):
        batch.run(recourse, file, out, 0.8, **ask)
    with pytest.raises(BatchError, match="0.7 there, 0.8 now; .*rows per part: 50 there, 40 now"):
        batch.run(recourse, file, out, 0.8, **ask | {"rows_per_part": 40})
    with pytest.raises(BatchError, match="schema, features, children, mutable: False there"):
        batch.run(Recourse(recourse.model, wanted="yes"), file, out, LEVEL, **ask)
    free = Schema.infer(mixed[0], guard=False)
    other = paper_machine(schema=free, epochs=1, random_state=1).fit(*mixed)
    other = Recourse(other, free.lock("children"), wanted="yes")
    with pytest.raises(BatchError, match="model, fingerprint: "):
        batch.run(other, file, out, LEVEL, **ask)
    people = pd.read_parquet(file)
    people.loc[3, "income"] += 1
    people.to_parquet(file, row_group_size=60, index=False)
    with pytest.raises(BatchError, match="input, "):
        batch.run(recourse, file, out, LEVEL, **ask)


class Own:
    """A model with cells, and no fingerprint."""

    def __init__(self, machine):
        self.machine = machine

    def __getattr__(self, name):
        if name in ("machine", "fingerprint_", "drop_states") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.machine, name)


def test_what_cannot_be_told_from_another_is_not_gone_on_with(recourse, file, tmp_path):
    cost = Cost.named("l1", functions={"children": lambda a, b: abs(a - b)})
    ask = {"radius": False, "n_jobs": 1}
    for asked, words in (
        (Recourse(recourse.model, cost=cost, wanted="yes"), "cost functions of its own"),
        (Recourse(Own(recourse.model), recourse.schema, wanted="yes"), "a model without `finger"),
    ):
        out = tmp_path / words[:7]
        batch.run(asked, file, out, LEVEL, **ask)
        with pytest.raises(BatchError, match=f"was begun with {words}.*cannot be told"):
            batch.run(asked, file, out, LEVEL, **ask)
    own = Question(
        confidence=LEVEL, plausible=lambda rows: np.full(len(rows), True), node_limit=500
    )
    batch.run(recourse, file, tmp_path / "own", own, **ask)
    with pytest.raises(BatchError, match=r"was begun with a plausibility test of its own, .*told"):
        batch.run(recourse, file, tmp_path / "own", own, **ask)


def test_another_plausibility_test_is_refused(recourse, mixed, file, tmp_path):
    known, out = mixed[0], tmp_path / "out"
    ask = {"radius": False, "n_jobs": 1, "rows_per_part": 40}

    def run(test):
        batch.run(
            recourse, file, out, Question(confidence=LEVEL, plausible=test, node_limit=500), **ask
        )

    run(NearNeighbours(known, schema=recourse.schema))
    next(out.glob("part-*")).unlink()
    run(NearNeighbours(known, schema=recourse.schema))
    for other in (
        NearNeighbours(known.head(20), schema=recourse.schema),
        NearNeighbours(known, quantile=0.5, schema=recourse.schema),
        NearNeighbours(known, k=2, schema=recourse.schema),
    ):
        with pytest.raises(BatchError, match="begun otherwise .plausible: .* there, .* now"):
            run(other)
    with pytest.raises(BatchError, match="begun otherwise .question, plausible: 'neighbours'"):
        run(lambda rows: np.full(len(rows), True))


def test_a_version_that_differs_is_named(recourse, file, tmp_path):
    ask = {"radius": False, "n_jobs": 1}
    batch.run(recourse, file, tmp_path / "out", LEVEL, **ask)
    told = batch.manifest(tmp_path / "out")
    told["versions"]["pandas"] = "2.2.0"
    (tmp_path / "out" / "_batch.json").write_text(json.dumps(told))
    with pytest.raises(BatchError, match=r"versions, pandas: '2.2.0' there, '[\d.]+' now"):
        batch.run(recourse, file, tmp_path / "out", LEVEL, **ask)


@pytest.mark.parametrize("change", ["cut", "longer", "gone"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_input_that_changes_meanwhile_is_refused(recourse, file, tmp_path, kind, change):
    path = tmp_path / f"input.{kind}"
    people = pd.read_parquet(file)
    people.to_csv(path, index=False) if kind == "csv" else people.to_parquet(path)
    whole = path.read_bytes()

    def changed(*_):
        if change == "gone":
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(whole[: len(whole) // 2] if change == "cut" else whole + whole)

    words = "cannot be read any more" if change == "gone" else "was changed while it was read"
    with pytest.raises(TableError, match=words):
        batch.run(
            recourse, path, tmp_path / "out", LEVEL, rows_per_part=100, radius=False, n_jobs=1,
            tell=changed,
        )  # fmt: skip


def test_a_folder_is_held_before_anything_is_written_in_it(recourse, file, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BatchError, match="another process is at work"):
            batch.run(recourse, file, out, LEVEL, n_jobs=1)
    assert not (out / "_batch.json").exists()


def test_a_folder_of_other_files_is_refused_as_it_is(recourse, file):
    there = file.parent
    with pytest.raises(BatchError, match="has .people.parquet., but no _batch.json.*an empty one"):
        batch.run(recourse, file, there, LEVEL, n_jobs=1)
    assert [path.name for path in there.iterdir()] == ["people.parquet"]
    out = there / "out"
    out.mkdir()
    for left in (".lock", "._batch.json.7.tmp"):  # by a run killed before it had begun
        (out / left).touch()
    batch.run(recourse, file, out, LEVEL, radius=False, n_jobs=1)
    assert sorted(os.listdir(out))[:2] == [".lock", "_batch.json"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("people.parquet", "a file is in the way"),
        ("people.parquet/out", "a file is in the way"),
        ("/proc/nothing", "no folder can be made there"),
        ("closed", "Permission denied"),
    ],
)
def test_a_folder_that_cannot_be_written_is_named(
    recourse, file, tmp_path, monkeypatch, given, why
):
    opened = os.open

    def closed(path, *more):
        if str(path).endswith("closed/.lock"):
            raise PermissionError(errno.EACCES, "no", str(path))
        return opened(path, *more)

    monkeypatch.setattr(os, "open", closed)
    out = tmp_path / given
    with pytest.raises(BatchError, match=f"^{out}: cannot be written .{why}.; give another"):
        batch.run(recourse, file, out, LEVEL, n_jobs=1)


def test_two_processes_do_not_write_the_same_folder(recourse, file, tmp_path):
    out = tmp_path / "out"

    def again(*_):
        with pytest.raises(BatchError, match="another process is at work"):
            batch.run(recourse, file, out, LEVEL, rows_per_part=100, n_jobs=1)

    batch.run(recourse, file, out, LEVEL, rows_per_part=100, n_jobs=1, tell=again)


@contextmanager
def small_disk(path, size):
    """A disk of so many bytes; skips where none can be made."""
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path])
    if made.returncode:
        pytest.skip("no disk of its own can be mounted here, which takes root")
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(recourse, file, tmp_path):
    out = tmp_path / "disk"
    batch.run(recourse, file, tmp_path / "whole", LEVEL, rows_per_part=20, n_jobs=1)
    with small_disk(out, "48k"):
        with pytest.raises(BatchError, match="No space left.*make room.*is kept"):
            batch.run(recourse, file, out, LEVEL, rows_per_part=20, n_jobs=1)
        there = list(out.glob("part-*"))
        assert there, "nothing was written before the disk was full"
        assert not list(out.glob(".*.tmp"))
        with pytest.raises(BatchError, match="parts are not there yet"):
            batch.read(out)
        subprocess.run(["mount", "-o", "remount,size=8m", out], check=True)
        batch.run(recourse, file, out, LEVEL, rows_per_part=20, n_jobs=1)
        assert alike(batch.read(tmp_path / "whole"), batch.read(out))


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_file_that_may_not_grow_is_told_too(recourse, file, tmp_path):
    """For those who are not root: a limit on the size of files stands for the full disk."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))
        try:
            batch.run(recourse, file, tmp_path / "out", LEVEL, rows_per_part=60, n_jobs=1)
        except BatchError as error:
            os._exit(7 if "make room" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    batch.run(recourse, file, tmp_path / "out", LEVEL, rows_per_part=60, n_jobs=1)


def test_a_damaged_part_of_the_answers_is_made_again(recourse, file, tmp_path):
    out = tmp_path / "out"
    batch.run(recourse, file, out, LEVEL, rows_per_part=40, n_jobs=1)
    before = batch.read(out)
    part = out / folder.part_name(1)
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(BatchError, match="part-00001.parquet: damaged"):
        batch.read(out)
    batch.run(recourse, file, out, LEVEL, rows_per_part=40, n_jobs=1)
    assert alike(before, batch.read(out))
    shutil.copy(out / folder.part_name(0), out / folder.part_name(2))  # as long as that
    with pytest.raises(BatchError, match="part-00002.parquet: expected the rows from 60 on"):
        batch.check(out)
    batch.run(recourse, file, out, LEVEL, rows_per_part=40, n_jobs=1)
    assert alike(before, batch.read(out))
    (out / "_batch.json").write_text(json.dumps({"kind": "trust-recourse batch", "format": 99}))
    with pytest.raises(BatchError, match="format 99; this version reads 1"):
        batch.read(out)
    (out / "_batch.json").unlink()
    with pytest.raises(BatchError, match="no batch was begun"):
        batch.read(out)
    with pytest.raises(BatchError, match="but no _batch.json"):
        batch.run(recourse, file, out, LEVEL)


def test_no_byte_of_the_answers_changes_unseen(recourse, file, tmp_path):
    out = tmp_path / "out"
    batch.run(recourse, file, out, LEVEL, radius=False, rows_per_part=60, n_jobs=1)
    part, good = out / folder.part_name(0), batch.read(out)
    span, whole = PartSpan(0, file, 0, 60), part.read_bytes()
    pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    seen = 0
    for at in range(4, pages, 97):
        part.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert alike(good, batch.read(out))
        except BatchError:
            seen += 1
            assert folder.Folder(out).missing((span,)) == {0}
    assert seen > 20


# ---------------------------------------------------------------- a damaged input


def test_a_damaged_row_group_costs_its_rows_alone(recourse, file, tmp_path):
    batch.run(recourse, file, tmp_path / "whole", LEVEL, id="name", rows_per_part=20, n_jobs=1)
    at = pq.read_metadata(file).row_group(1).column(0).data_page_offset
    with file.open("r+b") as damaged:
        damaged.seek(at)
        damaged.write(b"\xff" * 200)
    batch.run(recourse, file, tmp_path / "out", LEVEL, id="name", rows_per_part=20, n_jobs=1)
    whole, told = batch.read(tmp_path / "whole"), batch.read(tmp_path / "out")
    lost = told["row"].between(60, 119)
    assert told.index[told["status"] == "unanswered"].equals(told.index[lost])
    assert told.loc[lost, "reason"].str.contains("row group 1: cannot be read").all()
    assert alike(whole[~lost], told[~lost])
    batch.check(tmp_path / "out")


def test_an_input_that_cannot_be_cut_into_parts_is_refused(recourse, file, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(TableError, match=r"a folder without \*.parquet"):
        batch.run(recourse, tmp_path / "folder", tmp_path / "out")
    shutil.copy(file, tmp_path / "folder" / "a.parquet")
    (tmp_path / "folder" / "b.parquet").write_bytes(file.read_bytes()[:-9])
    with pytest.raises(TableError, match="b.parquet: not a Parquet file, or damaged"):
        batch.run(recourse, tmp_path / "folder", tmp_path / "out")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "folder" / "b.parquet")
    with pytest.raises(TableError, match="b.parquet: unlike a.parquet in the columns"):
        batch.run(recourse, tmp_path / "folder", tmp_path / "out")
    shutil.copy(file, tmp_path / "folder" / "b.parquet")
    for within in ("", "answers"):
        with pytest.raises(BatchError, match="in the folder that is read"):
            batch.run(recourse, tmp_path / "folder", tmp_path / "folder" / within)
    with pytest.raises(TableError, match="there is no such file"):
        batch.run(recourse, tmp_path / "nobody.csv", tmp_path / "out")
    with pytest.raises(TableError, match="no column 'regoin'; did you mean 'region'"):
        batch.run(recourse, file, tmp_path / "out", keep="regoin")
    (tmp_path / "blank.csv").write_text("income,status\n")
    with pytest.raises(TableError, match="columns, but no rows"):
        batch.run(recourse, tmp_path / "blank.csv", tmp_path / "out")
    (tmp_path / "taken.csv").write_text("income,status\n1,2\n")
    with pytest.raises(TableError, match="'status' cannot be kept"):
        batch.run(recourse, tmp_path / "taken.csv", tmp_path / "out", keep="status")
    for wrong in ({"n_jobs": 0}, {"rows_per_part": 0}):
        with pytest.raises(ValueError, match="expected a whole number of at least 1"):
            batch.run(recourse, file, tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- the command


def test_the_command_says_what_is_wrong_with_what_it_was_given(recourse, file, tmp_path):
    recourse.model.save(tmp_path / "model.safetensors")
    line = ["batch", str(file), "--model", str(tmp_path / "model.safetensors")]
    line += ["--out", str(tmp_path / "out")]
    for more, words in (
        ([], "say which is hoped for"),
        (["--wanted", "yes", "--confidence", "2"], "--confidence 2.0; expected"),
        (["--wanted", "yes", "--keep", "nothing"], "no column 'nothing'"),
        (["--jobs", "2", "--cluster", "tcp://nowhere:1"], "give one of them"),
        (["--id", "name", "--id", "region"], "--id is given 2 times; give it once, and --keep"),
        (["--wanted", "maybe"], "the classes are no and yes"),
    ):
        done = CliRunner().invoke(app, [*line, *more])
        assert done.exit_code == 2
        assert words in done.output
    shown = CliRunner().invoke(app, ["batch", "--help"]).output
    told = " ".join(shown.replace("│", " ").split())
    assert "goes on where it was" in told
    assert "[default: --node-limit 100000]" in told
    assert "[default: 30]" not in told


@pytest.mark.parametrize(
    ("line", "boxes", "seconds"),
    [
        ((), 100_000, None),
        (("--time-limit", "inf"), None, None),
        (("--time-limit", "7"), None, 7.0),
        (("--node-limit", "9"), 9, None),
    ],
)
def test_the_command_counts_boxes_unless_a_limit_is_given(
    line, boxes, seconds, recourse, file, tmp_path, monkeypatch
):
    recourse.model.save(tmp_path / "model.safetensors")
    asked = []
    monkeypatch.setattr(
        "trust_recourse.population.batch.run", lambda *given, **_: asked.append(given[3])
    )
    monkeypatch.setattr("trust_recourse.cli.batch._sum_up", lambda *_: None)
    given = ["batch", str(file), "--model", str(tmp_path / "model.safetensors"), *line]
    done = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "out"), "--wanted", "yes"])
    assert done.exit_code == 0, done.output
    assert [(each.node_limit, each.time_limit) for each in asked] == [(boxes, seconds)]


def test_the_command_says_why_people_are_unanswered(recourse, file, tmp_path):
    recourse.model.save(tmp_path / "model.safetensors")
    people = pd.read_parquet(file).head(11).astype({"income": object, "children": object})
    people["income"] = [*"abcde"] + [30.5] * 6
    people.loc[5:7, "children"] = 4.5
    people.loc[8, "housing"] = "castle"
    people.loc[9, "grade"] = "none"
    people.loc[10, "housing"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    line = ["batch", str(tmp_path / "people.csv"), "--model", str(tmp_path / "model.safetensors")]
    line += ["--out", str(tmp_path / "out"), "--wanted", "yes", "--jobs", "1"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    told = [" ".join(words.split()) for words in done.output.splitlines()]
    at = told.index("unanswered 11 could not be read; `reason` says why") + 1
    assert told[at].startswith("5 such as feature 'income': given 'a', expected a number")
    assert told[at + 1].startswith("3 such as feature 'children': given '4.5', expected a whole")
    assert told[at + 2].startswith("1 such as feature 'housing': given 'castle', expected one of")
    assert told[at + 3].startswith(
        "2 for other reasons; the column `reason` says each, batch.reasons"
    )


# ---------------------------------------------------------------- another engine


@pytest.mark.parametrize(
    ("engine", "end"), [("pyspark", "spark.stop()"), ("ray", "ray.shutdown()")]
)
def test_the_recipes_for_other_engines_give_the_same(
    recourse, question, file, tmp_path, monkeypatch, engine, end
):
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    page = (Path(__file__).parents[3] / "docs" / "batch.md").read_text()
    blocks = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    (recipe,) = [block for block in blocks if re.search(rf"^(from|import) {engine}", block)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    people = pd.read_parquet(file).rename(columns={"name": "id"})
    people.to_parquet("patients.parquet", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the engine's own
        exec(f"{recipe}\n{end}", {"batch": batch, "question": question})
    told = pd.read_parquet(next(tmp_path.glob("by-*"))).set_index("id").loc[people["id"]]
    expected = answer(people, question)
    assert told["status"].tolist() == expected["status"].tolist()
    assert told["cost"].tolist() == pytest.approx(expected["cost"].tolist(), nan_ok=True, rel=0)
    assert told["from.children"].tolist() == expected["from.children"].tolist()
