"""Why cells differ from the paper's: what measures it, and that every one has its reason."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import notes, paper, reasons, runner, table2
from experiments.__main__ import PARTS, main
from experiments.engines.wachter import Network
from experiments.frame import TINY, Scale
from experiments.people import EVERY_LINK, machine, queries

RESULTS = Path(__file__).parents[2] / "results"
PAGE = RESULTS.parent / "docs" / "experiments.md"
EVERY_NOTE = (*notes.NOTES, *notes.DEARER)
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
    assert seen == {note.letter for note in EVERY_NOTE}  # and none is written for nothing
    assert len(MARKED.findall(committed("table2"))) >= 40
    assert notes.OPEN.text not in committed("table2")


def test_every_measured_number_of_a_note_stands_in_a_table():
    held = committed("reasons") + committed("dearer") + committed("table2").replace(" ± ", " ")
    tables = "\n".join(line for line in held.splitlines() if line.startswith("|"))
    cited = [number for note in EVERY_NOTE for number in re.findall(r"\d\.\d{3}", note.text)]
    assert len(cited) >= 30
    assert [number for number in cited if number not in tables] == []


def test_a_cell_that_nobody_looked_into_says_so():
    assert notes.why("synthetic_2d", "paper", "wachter", "l2") == notes.OPEN
    assert notes.why("iris", "paper", "wachter", "l2") in notes.NOTES


@pytest.mark.parametrize("note", EVERY_NOTE, ids=lambda note: note.letter)
def test_notes_name_cells_that_exist(note):
    known = EVERY_LINK if note in notes.DEARER else ("wachter", "spheres", 0.5, 0.85)
    for data, who, row, metric in note.cells:
        assert data in (None, *paper.TITLES)
        assert who in (None, *table2.WHO)
        assert row in (None, *known)
        assert metric in (None, *paper.METRICS)


# ---------------------------------------------------------------- what the page says of it all


def off(rows, data, key):
    """The metrics in which these rows are off the paper's."""
    printed = zip(paper.METRICS, paper.TABLE2[data, key], strict=True)
    return {
        metric
        for metric, value in printed
        if table2.differs(table2.cell(rows, metric)[0], value, isinstance(key, str))
    }


def test_the_page_counts_the_cells_that_a_change_mends():
    measured, ours = rows_of("reasons"), table2.resolved(rows_of("table2"))

    def marked(data, row):
        rows = [r for r in ours if (r["row"], r["data"], r["who"]) == (row.name, data, "paper")]
        return {(data, row.printed, metric) for metric in off(rows, data, row.printed)}

    def mended(kind, key, **change):
        found = set()
        for data in paper.TITLES:
            fixed = {"kind": kind, "data": data} | change
            rows = [r for r in measured if fixed.items() <= r.items()]
            if rows:
                found |= {(data, key, m) for m in set(paper.METRICS) - off(rows, data, key)}
        return found & all_marked

    printed = [row for row in table2.ROWS if row.printed]
    all_marked = {cell for data in paper.TITLES for row in printed for cell in marked(data, row)}
    own = {"kind": "network", "training": "stopped, 0.01", "swapped": False}
    steps = mended(key="wachter", method="Wachter, steps 0.01", **own)
    fewer = mended(key="spheres", method="GrowingSpheres, 100 draws", **own)
    longer = own | {"training": "whole, 0.01"}
    whole = mended(key="wachter", method="Wachter", **longer)
    whole |= mended(key="spheres", method="GrowingSpheres", **longer)
    nearest, silent = (
        {
            cell
            for level in reasons.BANDS
            for cell in mended("search", level, level=level, rule="nearest to τ", who="paper",
                               silence=silence)
        }
        for silence in ("yes", "no")
    )  # fmt: skip
    alone = nearest | whole | steps
    more = (fewer | silent) - alone
    page = PAGE.read_text().replace("\n", " ")
    assert f"Of the {len(all_marked)} cells marked †" in page
    assert f"each made alone, bring {len(alone)} within bounds" in page
    assert f"| {len(nearest)}, of Synthetic 2D and Iris |" in page
    assert f"| {len(whole)}, of the networks on Iris |" in page
    assert {cell[0] for cell in whole} == {"iris"}
    assert (len(steps), len(more)) == (2, 3)
    rest = all_marked - alone - more
    assert f"The other {len(rest)} are not explained" in page
    assert f"| {len(alone | more)} of {len(all_marked)} are explained, {len(rest)} are not" in page
    assert f"all {sum(cell[0] == 'haberman' for cell in rest)} of Haberman" in page


@pytest.mark.parametrize("name", PARTS)
def test_numbers_on_the_page_stand_in_the_tables(name):
    parts = PAGE.read_text().split("\n## ")[1:]
    about = [part for part in parts if f"[{name}.md](../results/{name}.md)" in part]
    cited = re.findall(r"\d\.\d{2,}|[\d.]+%", " ".join(about))
    assert cited
    held = committed(name) + (committed("table2") if name == "dearer" else "")
    assert [number for number in cited if number not in held] == []


def test_the_page_says_what_the_certified_row_costs_more_than_the_rerun():
    (_, claims), page = table2.tables(rows_of("table2"))[:2], PAGE.read_text().replace("\n", " ")
    (above,) = re.findall(r"in (\d+ of \d+ lines of the vote link)", " ".join(claims.notes))
    assert f"is cheaper in {above}" in page
    rows = pd.DataFrame(table2.resolved(rows_of("table2")))
    means = rows.groupby(["who", "data", "row"])[["l1", "l2"]].mean()
    lines = [("refused", data) for data in paper.TITLES] + [("paper", "haberman")]
    more = [means.loc[(*line, table2.CERTIFIED["vote"])] / means.loc[(*line, table2.RERUN)] - 1
            for line in lines]  # fmt: skip
    assert above.startswith(f"{sum((each > 0).all() for each in more)} of {len(lines)} ")
    told = (100 * more[lines.index(("refused", data))]["l2"] for data in ("iris", "synthetic_5d"))
    assert "for {:.0f} and {:.0f} % more L2".format(*told) in page


def test_what_must_hold_is_told_of_both_choices_of_people():
    _, claims = table2.tables(rows_of("table2"))[:2]
    lines = {cells[:3]: dict(zip(claims.header, cells, strict=True)) for cells in claims.body}
    assert {key[:2] for key in lines} == {
        *((paper.TITLES[data], table2.SAME) for data in paper.TITLES if data != "haberman"),
        *(("Haberman", whom) for whom in table2.WHO.values()),
    }
    holds = {key: line["Holds"] for key, line in lines.items()}
    assert holds["Haberman", table2.WHO["paper"], "vote"] == "yes"
    assert holds["Haberman", table2.WHO["refused"], "vote"] == "no: confidence, L1, L2"
    assert len(lines) == 2 * len({key[:2] for key in lines})


def test_the_page_counts_what_is_proved_beyond():
    asked = [row for row in rows_of("beyond") if row["way"].startswith("exact")]
    proved = sum(row["status"] in ("optimal", "infeasible") for row in asked)
    page = PAGE.read_text().replace("\n", " ")
    assert f"Of {len(asked)} exact questions {proved} are proved" in page
    assert f"The other {len(asked) - proved} ask" in page


# ---------------------------------------------------------------- what is measured


def rows_of(name):
    return json.loads((RESULTS / f"{name}.json").read_text())["rows"]


@pytest.mark.parametrize("name", PARTS)
def test_tables_follow_from_the_committed_rows(name):
    made = import_module(f"experiments.{name}").tables(rows_of(name))
    assert "\n".join(table.markdown() for table in made) == committed(name)
    assert all(table.latex().isascii() for table in made)


def test_at_best_is_proved():
    best = pd.DataFrame([row for row in rows_of("reasons") if row["kind"] == "machine"])
    assert set(best["status"]) <= {"optimal", "already_met", "infeasible"}


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
