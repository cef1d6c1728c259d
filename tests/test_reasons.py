"""Why cells differ from the paper's: what measures it, and that every one has its reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import notes, paper, reasons, runner, table2
from experiments.__main__ import main
from experiments.frame import TINY, Scale
from experiments.people import machine, queries
from trust_recourse.search.wachter import Network

RESULTS = Path(__file__).parent.parent / "results"
MARKED = re.compile(r"\(paper [^)]*\) †(\w?)")


def committed(name):
    return (RESULTS / f"{name}.md").read_text()


# ---------------------------------------------------------------- every cell has its reason


def test_no_cell_that_is_off_the_paper_lacks_a_reason():
    sections = committed("table2").split("\n## ")[1:]
    seen = set()
    for section in sections:
        letters = set(MARKED.findall(section))
        assert sorted(letters) == re.findall(r"^†(\w) ", section, flags=re.M), section[:60]
        seen |= letters
    assert seen == {note.letter for note in notes.NOTES}  # and none is written for nothing
    assert len(MARKED.findall(committed("table2"))) >= 40
    assert notes.OPEN.text not in committed("table2")


def test_every_measured_number_of_a_note_stands_in_a_table():
    held = committed("reasons") + committed("table2").replace(" ± ", " ")
    tables = "\n".join(line for line in held.splitlines() if line.startswith("|"))
    cited = [number for note in notes.NOTES for number in re.findall(r"\d\.\d{3}", note.text)]
    assert len(cited) >= 30
    assert [number for number in cited if number not in tables] == []


def test_a_cell_that_nobody_looked_into_says_so():
    assert notes.why("synthetic_2d", "paper", "wachter", "l2") == notes.OPEN
    assert notes.why("iris", "paper", "wachter", "l2") in notes.NOTES


@pytest.mark.parametrize("note", notes.NOTES, ids=lambda note: note.letter)
def test_notes_name_cells_that_exist(note):
    for data, who, row, metric in note.cells:
        assert data in (None, *paper.TITLES)
        assert who in (None, *table2.WHO)
        assert row in (None, "wachter", "spheres", 0.5, 0.85)
        assert metric in (None, *paper.METRICS)


# ---------------------------------------------------------------- what is measured


def test_the_tables_of_reasons_follow_from_the_committed_rows():
    rows = json.loads((RESULTS / "reasons.json").read_text())["rows"]
    made = "\n".join(table.markdown() for table in reasons.tables(rows))
    assert made == committed("reasons")
    best = pd.DataFrame([row for row in rows if row["kind"] == "machine"])
    assert set(best["status"]) <= {"optimal", "already_met", "infeasible"}  # at best: proved


def test_each_rule_takes_another_trial():
    trials = [(0.09, 0.1), (0.2, 0.05), (0.0, 0.5), (0.03, 0.12)]  # |M − τ| and cost
    taken = {
        rule: min(trials, key=lambda trial, o=order: o(*trial))
        for rule, order in reasons.RULES.items()
    }
    assert list(taken.values()) == [(0.09, 0.1), (0.0, 0.5), (0.03, 0.12)]


def test_silence_is_yes_or_no():
    model, x = machine("iris", "vote"), queries("iris", "paper", "vote", 1)[0].x
    X = pd.DataFrame([x * (1 - t) + 0.6 * t for t in np.linspace(0, 1, 9)])
    said = {
        silence: reasons.passes(model, X, 4_000, np.random.default_rng(0), silence)
        for silence in ("yes", "no")
    }
    assert (said["no"] <= said["yes"]).all()
    assert (said["no"] < said["yes"] - 0.1).any()
    assert np.abs(said["yes"] - model.predict_proba(X)[:, 1]).max() < 0.05


def test_small_steps_end_just_behind_the_boundary():
    network = Network((np.array([[8.0], [4.0]]),), (np.array([-6.0]),), "relu")
    x = pd.Series({"a": 0.2, "b": 0.2})
    found = reasons.descended(network, x)
    odds, _ = network.log_odds(found)
    assert 0 <= odds <= 12 * reasons.SMALL + 1e-9
    beyond = Network((np.array([[0.1], [0.1]]),), (np.array([-6.0]),), "relu")
    assert reasons.descended(beyond, x) is None


def test_exchanged_classes_ask_about_the_others():
    for swapped in (False, True):
        y, asked = reasons.people("iris", swapped, 5)
        assert [y[query.row] for query in asked] == [0] * 5
    assert reasons.people("iris", False, 5)[1] == queries("iris", "paper", "vote", 5)


def test_units_differ_in_numbers_alone():
    full = reasons.units(Scale("full"))
    assert len({unit.key for unit in full}) == len(full) > 80
    assert {unit.work for unit in full} == {unit.work for unit in reasons.units(TINY)}


# ---------------------------------------------------------------- tables anew, nothing run


def test_tables_are_made_anew_from_the_rows_there(tmp_path, capsys):
    text = (RESULTS / "reasons.json").read_text()
    (tmp_path / "reasons.json").write_text(text)
    main(["--conclude", "--parts", "reasons", "--out", str(tmp_path)])
    assert "written to" in capsys.readouterr().out
    assert (tmp_path / "reasons.md").read_text() == committed("reasons")
    assert (tmp_path / "reasons.json").read_text() == text
    assert not (tmp_path / "units").exists()
    with pytest.raises(FileNotFoundError, match="without --conclude"):
        runner.conclude_again([table2], tmp_path)
