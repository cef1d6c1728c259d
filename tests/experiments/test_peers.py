"""Peers: the pipe to another environment, the measures of what comes back, and the tables."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import peers
from experiments.frame import TINY
from trust_recourse import Feature, Recourse, Schema

ROOT = Path(__file__).parents[2]
REQUEST = {"queries": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], "most_seconds": 5.0}


def first_column(rows):
    return rows[:, 0]


@pytest.fixture
def script(tmp_path):
    """Makes a peer: a script that uses the real wire, here with our own Python."""

    def make(body):
        path = tmp_path / "ask_nobody.py"
        path.write_text(
            f"import sys, time\nsys.path.insert(0, {str(peers.SCRIPTS)!r})\n"
            f"from wire import Wire\nwire = Wire()\n{body}\n"
        )
        return [sys.executable, path]

    return make


# ---------------------------------------------------------------- the pipe


def test_a_peer_asks_the_model_and_answers_every_query(script):
    command = script(
        "def ask(x):\n"
        "    print('a library that talks')\n"
        "    if x[0] > 0.4: raise ValueError('not this one')\n"
        "    return [[*wire.probability([x, x]), 7]]\n"
        "wire.answer_each(ask, 'numpy')"
    )
    reply = peers.converse(command, REQUEST, first_column, 30.0)
    assert [answer["found"] for answer in reply.answers] == [[[0.1, 0.1, 7]], [[0.3, 0.3, 7]], []]
    assert [answer["note"] for answer in reply.answers] == ["", "", "ValueError: not this one"]
    assert [(answer["calls"], answer["rows"]) for answer in reply.answers] == [
        (1, 2),
        (1, 2),
        (0, 0),
    ]
    assert 0 < reply.answers[0]["waited"] <= reply.answers[0]["seconds"]
    assert reply.versions == {"numpy": np.__version__}
    assert reply.trouble == ""


def test_a_query_out_of_time_leaves_the_next_one_its_own_answer(script):
    """The alarm comes while the model is at work; its late answer must not be taken for another."""

    def slow_at_first(rows):
        time.sleep(3.0 if rows[0, 0] == 0.1 else 0.0)
        return rows[:, 0]

    command = script("wire.answer_each(lambda x: [wire.probability([x])])")
    reply = peers.converse(command, REQUEST | {"most_seconds": 1.5}, slow_at_first, 30.0)
    assert [answer["found"] for answer in reply.answers] == [[], [[0.3]], [[0.5]]]
    assert reply.answers[0]["note"] == "stopped after 1.5 seconds"


def test_a_peer_that_cannot_start_says_why(script):
    reply = peers.converse(script("import nothing_of_the_kind"), REQUEST, first_column, 30.0)
    assert reply.answers == []
    assert reply.trouble == "it failed: ModuleNotFoundError: No module named 'nothing_of_the_kind'"


def test_a_peer_that_hangs_is_ended_and_what_it_had_said_is_kept(script):
    command = script(
        "wire.request['queries'] = wire.request['queries'][:1]\n"
        "sys.modules['wire'].version = lambda name: time.sleep(60)\n"
        "wire.answer_each(lambda x: [x], 'numpy')"
    )
    reply = peers.converse(command, REQUEST, first_column, 8.0)
    assert [answer["found"] for answer in reply.answers] == [[[0.1, 0.2]]]
    assert reply.trouble.startswith("ended after 8 seconds")


def test_a_tie_is_class_1_on_both_sides_of_the_pipe(script):
    command = script("wire.answer_each(lambda x: wire.both([x]))")
    reply = peers.converse(command, REQUEST, lambda rows: np.full(len(rows), 0.5), 30.0)
    (no, yes) = reply.answers[0]["found"][0]
    assert yes == 0.5
    assert 0.5 - 1e-15 < no < yes


# ---------------------------------------------------------------- the measures


@pytest.fixture(scope="module")
def half_plane():
    """Class 1 grows along a; b does nothing and may not change."""
    schema = Schema((Feature("a", lower=0.0, upper=1.0), Feature("b", lower=0.0, upper=1.0)))
    return Recourse(lambda X: X["a"].to_numpy().clip(0, 1), schema.lock("b"), cost="l2")


def test_an_answer_is_measured_by_its_values(half_plane):
    x = pd.Series({"a": 0.2, "b": 0.5})
    found = peers.measured(half_plane, x, [0.9, 0.5], 0.85)
    assert found == peers.Measures(
        pytest.approx(0.7), pytest.approx(0.7), 0.9, 1.0, True, [0.9, 0.5]
    )
    assert not peers.measured(half_plane, x, [0.8, 0.5], 0.85).reached  # not confident enough
    assert not peers.measured(half_plane, x, [0.9, 0.6], 0.85).reached  # b is not free
    assert not peers.measured(half_plane, x, [1.1, 0.5], 0.85).reached  # beyond the range
    on_the_edge = peers.measured(half_plane, x, [0.5, 0.5], 0.5)
    assert on_the_edge.reached
    assert 0.2 < on_the_edge.robustness < 0.8
    diagonal = peers.measured(half_plane, x, [0.5, 0.9], 0.5)
    assert (diagonal.l1, diagonal.l2) == (pytest.approx(0.7), pytest.approx(0.5))


def test_the_cheapest_that_reaches_counts():
    def option(l2, confidence, reached):
        return peers.Measures(0.0, l2, confidence, 1.0, reached, [])

    near, far, short = option(0.2, 0.86, True), option(0.5, 0.99, True), option(0.1, 0.7, False)
    assert peers.chosen([far, short, near]) == near
    assert peers.chosen([option(0.1, 0.6, False), short]) == short
    assert peers.chosen([]) is None


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=20),
    st.floats(0.05, 0.95),
    st.integers(0, 20),
)
def test_stretching_moves_the_level_to_one_half_and_keeps_the_order(values, level, at):
    values.insert(min(at, len(values)), level)
    p = np.sort(values)
    q = peers.stretched(p, level)
    assert ((q >= 0.5) == (p >= level)).all()
    assert (np.diff(q) >= 0).all()
    assert q.min() >= 0
    assert q.max() <= 1
    assert (peers.stretched(p, 0.5) == p).all()


# ---------------------------------------------------------------- the part


def test_a_peer_without_environment_is_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "BUILT", tmp_path / ".venv-peers")
    asked = [unit for unit in peers.units(TINY) if " dice_random 0.85" in unit.key]
    assert [unit.key.split()[1] for unit in asked] == list(peers.MODELS)
    (row,) = asked[0].work(*asked[0].args)
    assert row["skipped"] == "no environment .venv-peers/dice here; `make peers` builds it"
    (table,) = peers.tables([row])
    assert table.body[0][:4] == ("Iris", "0.85", "DiCE random", "not run")
    assert f"Not run: {row['skipped']}." in table.notes


def test_an_environment_that_is_there_is_part_of_what_a_unit_depends_on(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "BUILT", tmp_path)
    (tmp_path / "nice").mkdir()
    (tmp_path / "nice" / "ready").write_text("# why\nNICEx==0.2.3\nnumpy==1.26.4  # old\n")
    args = {unit.args[2]: unit.args[-1] for unit in peers.units(TINY)}
    assert args["nice"] == "NICEx==0.2.3 numpy==1.26.4"
    assert args["dice_random"] == ""


def test_what_comes_over_the_pipe_is_judged_like_our_own(tmp_path, monkeypatch):
    """A peer that sets everything to 1 on Iris, beside the exact engine, to the same people."""
    built, scripts = tmp_path / "built", tmp_path / "scripts"
    (built / "nice" / "bin").mkdir(parents=True)
    (built / "nice" / "bin" / "python").symlink_to(sys.executable)
    scripts.mkdir()
    (scripts / "ask_nice.py").write_text(
        f"import sys\nsys.path.insert(0, {str(peers.SCRIPTS)!r})\nfrom wire import Wire\n"
        "wire = Wire()\nassert wire.request['confidence'] == 0.5\n"
        "wire.answer_each(lambda x: [x, [1.0] * len(x)] if wire.both([x])[0][1] < 0.5 else [])\n"
    )
    ours = peers.ask_all("iris", "margin", "exact", 0.85, 2, 10, "")
    monkeypatch.setattr(peers, "BUILT", built)
    monkeypatch.setattr(peers, "SCRIPTS", scripts)
    theirs = peers.ask_all("iris", "margin", "nice", 0.85, 2, 10, "anything")
    assert [row["query"] for row in theirs] == [row["query"] for row in ours]
    assert {row["status"] for row in ours} == {"optimal"}
    for row, best in zip(theirs, ours, strict=True):
        assert (row["found"], row["calls"], row["reached"]) == (2, 1, True)
        assert best["reached"]
        assert best["l2"] < row["l2"]
    (table,) = peers.tables(ours + theirs)
    assert [line[2] for line in table.body] == ["TRUST exact", "NICE, τ at ½"]
    ratio = np.median([row["l2"] / best["l2"] for row, best in zip(theirs, ours, strict=True)])
    assert table.body[1][-2:] == (f"{ratio:.2f}", "–")


def test_tables_say_what_the_rows_say():
    told = {"data": "iris", "model": "margin", "level": 0.85, "note": "", "status": None}
    good = {"found": 1, "reached": True, "l1": 0.3, "confidence": 0.9, "robustness": 1.0}
    ours = told | good | {"peer": "exact", "status": "optimal"}
    safe = ours | {"peer": "certified", "query": 1, "l2": 0.3, "seconds": 0.1, "robustness": 0.9}
    rows = [
        ours | {"query": 1, "l2": 0.2, "seconds": 0.01},
        ours | {"query": 2, "l2": 0.4, "seconds": 0.03},
        told | good | {"peer": "dice_random", "query": 1, "l1": 0.2, "l2": 0.5, "seconds": 1.0,
                       "versions": {"dice-ml": "0.12", "numpy": "2"}},
        told | {"peer": "dice_random", "query": 2, "found": 0, "seconds": 60.0,
                "note": "stopped after 60 seconds"},
        told | {"peer": "dice_random", "query": 3, "found": 0, "seconds": 2.0},
        safe,
    ]  # fmt: skip
    (table,) = peers.tables(rows[::-1])
    assert table.title == "Peers on PTM, margin link"
    cells = [dict(zip(table.header, line, strict=True)) for line in table.body]
    assert cells[0] == {
        "Data": "Iris", "τ": "0.85", "Method": "TRUST exact", "n": "2", "Answered": "100%",
        "Reach": "100%", "L1": "0.300", "L2": "0.300", "Confidence": "0.900",
        "Robustness": "1.000", "Seconds": "0.02", "Proved": "2 of 2", "L2 / least": "1.00",
        "L2 / certified": "0.67",
    }  # fmt: skip
    assert cells[1]["L2 / least"] == "1.50"
    assert cells[2]["Reach"] == "33%"
    assert (cells[2]["L2 / least"], cells[2]["L2 / certified"]) == ("2.50", "1.67")
    assert cells[2]["Proved"] == "–"
    assert cells[2]["Seconds"] == "2"  # the median
    assert table.notes[:3] == (
        "TRUST exact: reaches the target for 2 of 2 questions; its robustness is 1.000.",
        f"{peers.PEERS['certified'].title}: reaches the target for 1 of 1 questions; its "
        "robustness is 0.900; its L2 is 1.50 times the proved least in the median and 1.50 times "
        "at the ninth decile, below it for 0 of 1.",
        "DiCE random: reaches the target for 1 of 3 questions; its robustness is 1.000; its L2 is "
        "2.50 times the proved least in the median and 2.50 times at the ninth decile, below it "
        f"for 0 of 1; 1.67 times that of {peers.PEERS['certified'].title} in the median; the "
        f"answer of {peers.PEERS['certified'].title} to the same question has less "
        "L2 for 1 and is at least as robust for 0 of 1, has more L1 for 1, and took 0.10 times as "
        "long in the median; 1 ran out of time.",
    )
    assert "robustness is 1.00 on average, the peers' 1.00 to 1.00" in table.notes[3]
    assert "radius of 0.03 has 0.90" in table.notes[3]
    assert "Versions: dice-ml 0.12." in table.notes
    assert table.latex().count(r"\\") == 4


def test_environments_name_no_address_and_share_our_trees():
    ours = (ROOT / "constraints.txt").read_text()
    written = {path.stem: path for path in peers.SCRIPTS.glob("*.txt")}
    assert {peer.environment for peer in peers.PEERS.values()} - {""} < set(written)
    for path in written.values():
        lines = path.read_text().splitlines()
        pins = [line for line in lines if not line.startswith("#")]
        assert len(pins) > 3
        for line in pins:
            assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.+!]*", line), line
    (learner,) = re.findall("scikit-learn==.*", (peers.SCRIPTS / "treecf.txt").read_text())
    assert learner in ours
