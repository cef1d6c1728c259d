"""The experiments: the runner's promises, the paper's data, and a very small run of it all."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from experiments import beyond, convergence, paper, runner, sweep, table2
from experiments.frame import FULL, PAGE, QUICK, TINY, Scale, Table, Unit, tex
from experiments.people import LINKS, machine, queries, recourse

RESULTS = Path(__file__).parents[2] / "results"


# ---------------------------------------------------------------- the runner


def part(*units):
    """A part of these units, whose one table counts rows."""
    made = ModuleType("experiments.some")
    made.units = lambda _: list(units)
    made.tables = lambda rows: [Table("Rows", ("n",), ((str(len(rows)),),))]
    return made


def note(folder, name):
    """Leaves a mark each time it is run."""
    with (Path(folder) / name).open("a") as file:
        file.write("x")
    return {"name": name, "odd": math.nan}


def read(path):
    return {"text": Path(path).read_text()}


def marks(folder, name):
    path = folder / name
    return len(path.read_text()) if path.exists() else 0


def test_a_unit_that_is_done_is_not_done_again(tmp_path):
    both = part(*(Unit("some", name, note, (str(tmp_path), name)) for name in "ab"))
    for _ in range(2):
        assert runner.run([both], TINY, tmp_path / "out", jobs=1, show=False) == 0
    assert [marks(tmp_path, name) for name in "ab"] == [1, 1]
    held = json.loads((tmp_path / "out" / "some.json").read_text())
    assert held["rows"] == [{"name": "a", "odd": None}, {"name": "b", "odd": None}]
    assert held["versions"]["numpy"] == np.__version__
    assert held["commits"]
    assert held["scale"]["trials"] == TINY.trials


def test_the_same_key_with_other_arguments_is_another_unit(tmp_path):
    for name in "ab":
        one = part(Unit("some", "key", note, (str(tmp_path), name)))
        assert runner.run([one], TINY, tmp_path / "out", jobs=1, show=False) == 0
    assert [marks(tmp_path, name) for name in "ab"] == [1, 1]


def test_a_killed_run_goes_on_behind_its_torn_line(tmp_path):
    both = part(*(Unit("some", name, note, (str(tmp_path), name)) for name in "ab"))
    runner.run([both], TINY, tmp_path / "out", jobs=1, show=False)
    lines = tmp_path / "out" / "units" / "some.jsonl"
    whole = lines.read_bytes()
    lines.write_bytes(whole[:-20])
    assert runner.run([both], TINY, tmp_path / "out", jobs=1, show=False) == 0
    assert [marks(tmp_path, name) for name in "ab"] == [1, 2]
    assert len([json.loads(line) for line in lines.read_text().splitlines()]) == 2


def test_a_unit_that_fails_stops_no_other_and_is_tried_again(tmp_path):
    wanted = tmp_path / "wanted"
    units = (Unit("some", "r", read, (str(wanted),)), Unit("some", "a", note, (str(tmp_path), "a")))
    out = tmp_path / "out"
    assert runner.run([part(*units)], TINY, out, jobs=1, show=False) == 1
    line = json.loads((out / "units" / "some.jsonl").read_text().splitlines()[0])
    assert "FileNotFoundError" in line["error"]
    assert "read_text" in line["traceback"]
    assert not (out / "some.md").exists()  # no table of a part that is not whole
    wanted.write_text("now")
    assert runner.run([part(*units)], TINY, out, jobs=1, show=False) == 0
    assert marks(tmp_path, "a") == 1
    assert "| 2 |" in (out / "some.md").read_text()


def test_processes_give_what_one_gives(tmp_path):
    units = [Unit("some", str(n), dict, ((("n", n),),)) for n in range(5)]
    for jobs in (1, 2):
        assert runner.run([part(*units)], TINY, tmp_path / str(jobs), jobs, show=False) == 0
    rows = [json.loads((tmp_path / str(n) / "some.json").read_text())["rows"] for n in (1, 2)]
    assert rows[0] == rows[1] == [{"n": n} for n in range(5)]


def test_it_says_at_the_start_how_much_there_is_to_do(tmp_path, capsys):
    units = [Unit("some", str(n), dict, ((("n", n),),)) for n in range(3)]
    for some, said in (
        (units[:1], "1 units to run\n"),
        (units, "2 units to run, 1 of 3 were done"),
    ):
        assert runner.run([part(*some)], TINY, tmp_path, jobs=1) == 0
        assert capsys.readouterr().err.startswith(said)


def test_less_work_is_said_to_take_less_time():
    full, quick = ({u.key: u for u in beyond.units(scale)} for scale in (FULL, QUICK))
    for key, unit in quick.items():
        assert unit.seconds < full[key].seconds / 10


def test_tables_are_whole_and_safe_to_typeset():
    table = Table("50 % & more", ("a", "b"), (("x_1", "a | b"),), ("≥ 1",))
    assert "| x_1 | a \\| b |" in table.markdown()
    assert r"x\_1 & a \textbar{} b \\" in table.latex()
    assert r"50 \% \& more" in table.latex()
    assert tex("≥ ½") == r"$\geq$ $\frac{1}{2}$"
    with pytest.raises(ValueError, match="1 cells"):
        Table("t", ("a", "b"), (("x",),))


def test_a_long_table_is_cut_into_pages_and_its_notes_stand_below_the_last():
    made = Table("Long", ("n",), tuple((f"row {n}",) for n in range(2 * PAGE + 1)), ("A note.",))
    *floats, below = made.latex().split(r"\end{table}")
    assert [each.count("row ") for each in floats] == [PAGE, PAGE, 1]
    assert [each.count("Long, continued") for each in floats] == [0, 1, 1]
    assert "A note." in below


# ---------------------------------------------------------------- the paper's data


def test_table_1_is_the_papers():
    cells = [row[1:5] for row in paper.table1().body]
    assert cells == [
        ("1,500", "2", "400", "300"),
        ("1,500", "5", "400", "300"),
        ("150", "4", "120", "30"),
        ("306", "3", "244", "62"),
    ]


@pytest.mark.parametrize("name", paper.TITLES)
@pytest.mark.parametrize("fold", [None, 0])
def test_splits_keep_apart_what_is_learnt_and_what_is_held(name, fold):
    s = paper.split(name, fold)
    assert not set(s.learnt) & set(s.held)
    assert len(set(s.learnt)) == len(s.learnt)
    assert abs(s.y[s.learnt].mean() - s.y.mean()) < 0.02
    assert (s.X.min() == 0).all()
    assert (s.X.max() == 1).all()


def test_folds_hold_everybody_once():
    held = [row for fold in range(paper.FOLDS) for row in paper.split("haberman", fold).held]
    assert sorted(held) == list(range(306))


def test_queries_are_whom_they_should_be():
    for query in queries("haberman", "paper", "vote", 10):
        assert paper.split("haberman").y[query.row] == 0
        assert query.fold is None
    refused = queries("haberman", "refused", "vote", 10)
    assert len(refused) == 10
    assert {query.fold for query in refused} != {None}
    for query in refused:
        s = paper.split("haberman", query.fold)
        assert query.row in s.held
        assert query.row not in s.learnt
        for link in LINKS:
            said = machine("haberman", link, query.fold).predict_proba(query.x.to_frame().T)
            assert said[0, 1] < 0.5
    assert queries("haberman", "refused", "margin", 4) == refused[:4]


# ---------------------------------------------------------------- the numbers


def test_passes_drawn_by_clause_follow_the_machines_own_law():
    model, s = machine("iris", "vote"), paper.split("iris")
    X = (s.X.iloc[s.held] * 0.5 + 0.15).head(12)
    exact = model.predict_proba(X)[:, 1]
    assert ((exact > 0.1) & (exact < 0.9)).any()
    drawn = table2.monte_carlo(model, X, 20_000, np.random.default_rng(0))
    whole = model.predict_proba_mc(X, n_passes=20_000, random_state=0)[:, 1]
    for estimate in (drawn, whole):
        assert np.abs(estimate - exact).max() < 5 * 0.5 / math.sqrt(20_000)


def test_a_deviation_is_over_the_seeds_of_a_query():
    rows = [{"query": q, "l2": q + d} for q in (0.0, 10.0) for d in (1.0, 3.0)]
    assert table2.cell(rows, "l2") == (7.0, 1.0)
    assert table2.cell([{"query": 0, "l2": 2.0}, {"query": 1}], "l2") == (2.0, None)
    assert table2.cell([{"query": 0}], "l2") == (None, None)


def test_who_is_asked_about_twice_is_answered_once():
    rows = [
        {"row": "r", "data": "d", "who": "paper", "query": 3, "seed": s, "l2": s} for s in (1, 2)
    ]
    same = {"row": "r", "data": "d", "who": "refused", "query": 0, "as": 3}
    found = table2.resolved([*rows, same])
    assert found[:2] == rows
    assert found[2:] == [row | {"who": "refused", "query": 0} for row in rows]


def test_what_differs_from_the_paper_is_counted_in_its_deviations():
    assert table2.differs(0.46, (0.35, 0.05), baseline=False)
    assert not table2.differs(0.44, (0.35, 0.05), baseline=False)
    assert table2.differs(0.99, (1.0, None), baseline=False)
    assert not table2.differs(0.45, (0.5, None), baseline=True)


def test_scales_differ_in_numbers_alone():
    assert {u.work for u in table2.units(TINY)} == {u.work for u in table2.units(Scale("full"))}
    names = [u.key for made in (table2, convergence, sweep) for u in made.units(Scale("full"))]
    assert len(set(names)) == len(names) > 500


# ---------------------------------------------------------------- a very small run


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    assert runner.run([table2, convergence, sweep], TINY, out, jobs=1, show=False) == 0
    return out


def rows_of(out, name):
    rows = json.loads((out / f"{name}.json").read_text())["rows"]
    return table2.resolved(rows) if name == "table2" else rows


def test_it_writes_tables_and_figures(small):
    for name in ("table2", "convergence", "sweep"):
        assert (small / f"{name}.md").read_text().startswith("## ")
        assert r"\end{tabular}" in (small / f"{name}.tex").read_text()
    for name in ("convergence", "sweep", "calibration"):
        assert (small / f"{name}.png").stat().st_size > 1_000
        assert (small / f"{name}.pdf").stat().st_size > 1_000
    text = (small / "table2.md").read_text()
    assert all(row.name in text for row in table2.ROWS)
    assert "paper 0.507 ± 0.075" in text
    assert "†" in text
    assert not re.search(r"†\w|\d \(paper 60\)", text)  # which are of ten repeats, not of these


def test_every_row_has_answers_and_every_exact_one_is_proved(small):
    rows = pd.DataFrame(rows_of(small, "table2"))
    answered = rows.dropna(subset=["l2"])
    assert set(answered["row"]) == {row.name for row in table2.ROWS}
    exact = rows[rows["row"].str.startswith("Exact")]
    assert len(exact)
    assert exact["proved"].astype(bool).all()
    safe = exact[exact["row"].isin(table2.CERTIFIED.values())]
    assert (safe["exact_robustness"] - safe["exact_robustness_error"] >= 0.999).all()


def test_no_search_by_trials_beats_the_exact_one(small):
    rows = pd.DataFrame(rows_of(small, "table2"))
    compared = 0
    for link in LINKS:
        for level in ("0.50", "0.85"):
            best = rows[rows["row"] == f"Exact, {link}, ≥ {level}"].set_index(["who", "query"])
            names = [f"TPE, exact M, {link}, ≥ {level}"]
            names += [f"GrowingSpheres, PTM {link}"] if level == "0.50" else []
            for row in rows[rows["row"].isin(names)].dropna(subset=["l2"]).itertuples():
                assert row.l2 >= best.loc[(row.who, row.query), "l2"] - 1e-9
                compared += 1
    assert compared >= 8


def test_regret_falls_and_never_below_nothing(small):
    found = convergence.grouped(rows_of(small, "convergence"))
    assert {engine for _, engine in found} == {"tpe", "gp"}
    for searches in found.values():
        regret = convergence.regrets(searches)
        assert (regret >= -1e-9).all()
        assert (regret[:, 1:] <= regret[:, :-1]).all()
        assert np.isfinite(regret[:, -1]).any()


def test_the_sweep_climbs(small):
    rows = pd.DataFrame([row for row in rows_of(small, "sweep") if row["kind"] == "sweep"])
    climbs = rows.sort_values("level").groupby(["data", "link", "query"])["l2"]
    assert climbs.ngroups >= 2
    for _, costs in climbs:
        assert (costs.dropna().diff().dropna() >= -1e-9).all()
    for row in rows.dropna(subset=["l2"]).itertuples():  # what was measured can be measured again
        query = queries(row.data, "refused", row.link, TINY.queries)[row.query]
        again = recourse(row.link, query).confidence_of(np.array(row.x))
        assert again == pytest.approx(row.confidence)


def test_high_and_middling_confidences_are_counted_apart():
    p, y = np.array([0.1, 0.5, 0.85, 0.9]), np.array([0, 1, 1, 0])
    assert [*sweep.counted(p, y)] == ["1", "2", "0.875", "0.500"]
    assert [*sweep.counted(p[:2], y[:2])] == ["1", "0", "-", "-"]


# ---------------------------------------------------------------- the committed results


def shown(title, row):
    """The cells of a row of a committed table of Table 2, by heading."""
    section = (
        (RESULTS / "table2.md").read_text().split(f"## Table 2. {title}\n")[1].split("\n## ")[0]
    )
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    (cells,) = [cells for cells in lines if cells[0] == row]
    return dict(zip(lines[0], cells, strict=True))


def raw(data, who, row):
    """The committed rows as they were written down, none made of another."""
    rows = json.loads((RESULTS / "table2.json").read_text())["rows"]
    return [r for r in rows if (r["data"], r["who"], r["row"]) == (data, who, row)]


@pytest.mark.parametrize(
    ("data", "who", "title"),
    [
        ("synthetic_2d", "paper", f"Synthetic 2D, {table2.SAME}"),
        ("haberman", "refused", "Haberman, refused by the model"),
    ],
)
@pytest.mark.parametrize("row", [table2.RERUN, table2.CERTIFIED["margin"]])
def test_committed_cells_follow_from_the_committed_rows(data, who, title, row):
    ours = pd.DataFrame(raw(data, who, row))
    metrics = (*paper.METRICS, *table2.EXACTLY)
    means = ours.groupby("query")[list(metrics)].mean().mean()
    cells = [shown(title, row)[heading].split(" ")[0] for heading in table2.HEADER[1:7]]
    assert len(ours) >= 5
    assert cells == [f"{means[metric]:.3f}" for metric in metrics]


PEOPLE = "Haberman, true class 0, as in the paper"


def test_seconds_are_of_one_search_and_the_sum_stands_beside_the_papers():
    for row, ten in ((table2.RERUN, True), ("GrowingSpheres, PTM vote", False)):
        spent = [r["seconds"] for r in raw("haberman", "paper", row)]
        assert len(spent) == 10 * 10
        told = f"{sum(spent) / 100:.3g}" + (
            f" (ten {sum(spent) / 10:.3g}, paper 60)" if ten else ""
        )
        assert (shown(PEOPLE, row)["CPU s a search"], shown(PEOPLE, row)["Seeds"]) == (told, "10")


def test_what_is_met_is_judged_by_the_exact_confidence():
    found = [r["exact_confidence"] for r in raw("synthetic_2d", "paper", table2.RERUN)]
    met, yes = sum(0.75 <= m <= 0.95 for m in found), sum(m >= 0.5 for m in found)
    assert len(found) == 100  # so that counts are percents
    assert met < 50 < yes
    cells = shown(f"Synthetic 2D, {table2.SAME}", table2.RERUN)
    assert (cells["Answered"], cells["Met, exact"], cells["Says yes"]) == (
        "10 of 10 (paper 100%)", f"{met}%", f"{yes}%",
    )  # fmt: skip


def test_who_meets_the_question_already_pays_nothing():
    ours = raw("haberman", "paper", table2.CERTIFIED["vote"])
    s = paper.split("haberman")
    still = sum(np.allclose(r["x"], s.X.iloc[r["person"]]) for r in ours)
    assert (still, len(ours)) == (5, 10)
    assert shown(PEOPLE, table2.CERTIFIED["vote"])["Pay nothing"] == "5"
    assert shown(PEOPLE, "Wachter, ANN")["Pay nothing"] == "10"  # as a note says


def test_who_is_refused_is_told_with_how_many_are_shared():
    section = (RESULTS / "table2.md").read_text().split("## Table 2. Haberman, refused")[1]
    network, machine = (
        {(r["person"], r["fold"]) for r in raw("haberman", "refused", row)}
        for row in ("Wachter, ANN", table2.RERUN)
    )
    assert f"they share {len(network & machine)}." in section
    folds = [len({fold for _, fold in people}) for people in (network, machine)]
    assert "from {} networks and {} machines".format(*folds) in section


def test_less_l1_is_had_if_l1_is_the_cost():
    compared = 0
    for link in LINKS:
        for data in paper.TITLES:
            pairs = zip(
                raw(data, "paper", table2.CERTIFIED[link]), raw(data, "paper", table2.BY_L1[link]),
                strict=True,
            )  # fmt: skip
            for ours, other in pairs:
                assert ours["query"] == other["query"]
                assert other["proved"]
                assert other["l1"] <= ours["l1"] + 1e-6
                assert other["l2"] >= ours["l2"] - 1e-6
                compared += other["l1"] < ours["l1"] - 1e-3
    assert compared >= 10
