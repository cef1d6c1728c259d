"""A table with sex, an id, a leak, codes, ordered words and a past fact: what the commands say."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from trust_recourse import Feature, Recourse, Schema, load
from trust_recourse.cli import app, output

ROWS = 400
SMALL = ("--clauses", "10", "--epochs", "8", "--seed", "1")
LEARN = ("--target", "granted", "--holdout", "0", *SMALL)
SAID = (
    "--protect", "sex", "--protect", "age", "--missing", "points=999", "--missing", "score=999",
    "--id", "number", "--id", "collected",
)  # fmt: skip
PROPOSED = {
    "income": "steps of 100: all of its values are multiples; a step costs 0.02",
    "savings": "ordered by the numbers in its words: < 100 € | 100 to 500 € | > 500 €; "
               "'unknown' is no level: missing",
    "job": "ordered by the numbers in its words: < 1 year | 1-4 years | 4+ years; "
           "only rises: time passes (job years)",
    "health": "ordered by a known scale (grades): bad | fair | good",
    "customer_tenure": "only rises: time passes (customer tenure)",
}  # fmt: skip
STAYS = {
    "number": "400 values in 400 rows, and the name of an id",
    "sex": "a person's sex, by its name and values",
    "age": "a person's age, by its name",
    "months late in April": "records the past, by its name (late)",
    "collected": "it alone tells class 1 with an AUC of 1.000",
}
CODED = ("points", "score")


def run(*words, answers=None):
    done = CliRunner().invoke(app, [*map(str, words)], input=answers, env={"COLUMNS": "200"})
    done.flat = " ".join(done.stdout.split())
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table: men are favoured, and `collected` is only known once a loan has failed."""
    rng = np.random.default_rng(0)
    sex, income = rng.choice(["female", "male"], ROWS), rng.integers(10, 60, ROWS) * 100
    late = rng.poisson(0.5, ROWS)
    granted = (income / 1000 + 2.5 * (sex == "male") - late + rng.normal(0, 0.3, ROWS) > 4) * 1
    paid = np.where(rng.random(ROWS) < 0.6, 0, rng.integers(1, 30, ROWS) * 100)
    paid[5] = 1_700_000
    table = {
        "number": rng.permutation(ROWS) + 5000, "sex": sex, "age": rng.integers(19, 80, ROWS),
        "income": income, "monthly payment": paid, "months late in April": late,
        "points": np.where(rng.random(ROWS) < 0.1, 999, rng.integers(20, 90, ROWS)),
        "score": np.where(rng.random(ROWS) < 0.1, 999, rng.integers(300, 851, ROWS)),
        "savings": rng.choice(["100 to 500 €", "< 100 €", "> 500 €", "unknown"], ROWS),
        "job": rng.choice(["1-4 years", "4+ years", "< 1 year"], ROWS),
        "health": rng.choice(["bad", "fair", "good"], ROWS),
        "customer_tenure": rng.integers(0, 90, ROWS),
        "town": rng.choice(["Ulm", "Bonn"], ROWS),
        "collected": np.where(granted == 1, 0, rng.integers(1, 9, ROWS)), "granted": granted,
    }  # fmt: skip
    place = tmp_path_factory.mktemp("loans")
    pd.DataFrame(table).to_csv(place / "t.csv", index=False)
    return place


@pytest.fixture(scope="module")
def protected(folder):
    """The schema after a person has said what they know."""
    done = run("schema", folder / "t.csv", "--target", "granted", "--out", folder / "p.yaml", *SAID)
    assert done.exit_code == 0, done.output
    return folder / "p.yaml"


def test_schema_says_what_stays_and_why_and_marks_nothing_protected(folder):
    out = folder / "s.yaml"
    done = run("schema", folder / "t.csv", "--target", "granted", "--out", out)
    schema, text = Schema.from_yaml(out), out.read_text()
    assert {f.name for f in schema if not f.mutable} == {*STAYS, *CODED}
    assert not any(feature.protected for feature in schema)
    for name, reason in STAYS.items():
        assert f"stays: {reason}" in done.flat
        assert f"# stays: {reason}. " in text.partition(f"- name: {name}\n")[0].splitlines()[-1]
    assert "Does a law protect sex, age where this model decides?" in done.flat
    assert "protected: true in the file, or --protect sex --protect age" in done.flat
    for name in CODED:
        until = "stays until you say whether 999 means missing"
        assert f"{until}: --missing {name}=999" in done.flat
        comment = text.partition(f"- name: {name}\n")[0].splitlines()[-1]
        assert comment.startswith(f"# {until}: missing: [999]; either way take mutable out. Seen:")
    assert (schema["points"].upper, schema["points"].missing) == (89, ())  # nobody is led to 999
    assert schema["score"].upper <= 850
    assert schema["monthly payment"].scale < 3000
    price = 500 / schema["monthly payment"].scale
    assert price > 0.1
    assert "monthly payment integer 0 to 2,900 100 200: 0.07" in done.flat


def test_schema_proposes_order_steps_and_directions_and_says_why(folder):
    out = folder / "proposed.yaml"
    line = ("schema", folder / "t.csv", "--target", "granted", "--out", out)
    done = run(*line)
    schema, text = Schema.from_yaml(out), out.read_text()
    for name, reason in PROPOSED.items():
        assert f" {name} {reason}" in done.flat
        assert f"# {reason.partition(':')[0]}" in text.partition(f"- name: {name}\n")[0]
    levels = ("< 100 €", "100 to 500 €", "> 500 €")
    assert schema["savings"] == Feature("savings", "ordinal", levels, scale=2, missing=("unknown",))
    assert [f.name for f in schema if f.kind == "ordinal"] == ["savings", "job", "health"]
    assert [f.name for f in schema if f.direction] == ["age", "job", "customer_tenure"]
    assert {f.name for f in schema if f.step and f.step > 1} == {"income", "monthly payment"}
    assert (schema["town"].kind, schema["town"].direction) == ("category", None)
    told = json.loads(run(*line, "--force", "--json").stdout)
    assert {each["column"] for each in told["proposals"]} == {*PROPOSED, "monthly payment", "age"}


def test_a_debt_can_be_paid_off_though_nobody_in_the_table_did(tmp_path):
    rng = np.random.default_rng(0)
    debt = rng.integers(1, 128, 200) * 100
    table = pd.DataFrame({"card_debt": debt, "owed": np.where(debt % 700, debt, -9)})
    table.assign(good=(debt + rng.normal(0, 3000, 200) < 6000) * 1).to_csv(
        tmp_path / "t.csv", index=False
    )
    line = (tmp_path / "t.csv", "--target", "good")
    done = run("schema", *line, "--out", tmp_path / "s.yaml")
    schema, text = Schema.from_yaml(tmp_path / "s.yaml"), (tmp_path / "s.yaml").read_text()
    assert (schema["card_debt"].lower, schema["owed"].lower) == (0, 0)
    reason = "may fall to 0, as what is owed or paid may: its least here is 100"
    assert reason in done.flat
    assert f"# {reason}" in text.partition("- name: card_debt\n")[0]
    fitted = run("fit", *line, "--out", tmp_path / "m.st", "--holdout", "0", *SMALL)
    assert "in round steps; card_debt down to 0." in fitted.stderr


@pytest.fixture(scope="module")
def wordy(tmp_path_factory):
    """Words of which some say that nothing is known, and some may."""
    rng = np.random.default_rng(0)
    income = rng.integers(10, 60, 200) * 100
    table = {
        "income": income, "job": rng.choice(["clerk", "self", "unknown"], 200),
        "work": rng.choice(["public", "private", "XNA", "who, knows", "-9"], 200),
        "good": (income + rng.normal(0, 900, 200) > 3000) * 1,
    }  # fmt: skip
    place = tmp_path_factory.mktemp("words") / "t.csv"
    pd.DataFrame(table).to_csv(place, index=False)
    return place


def test_nobody_is_led_to_a_word_that_says_nothing(wordy):
    line, out = (wordy, "--target", "good"), wordy.parent / "s.yaml"
    done = run("schema", *line, "--out", out)
    schema, text = Schema.from_yaml(out), out.read_text()
    assert schema["job"] == Feature("job", "category", ("clerk", "self"), missing=("unknown",))
    assert "job 'unknown' says that nothing is known: missing" in done.flat
    assert "# 'unknown' says that nothing is known: missing\n" in text
    assert not schema["work"].mutable
    named = sorted(("'XNA'", "'-9'"), key=text.index)
    assert f"whether {' or '.join(named)} mean missing" in done.flat
    assert f"missing: [{', '.join(named)}]; either way take mutable out" in text
    fitted = run("fit", *line, "--out", wordy.parent / "m.st", "--holdout", "0", *SMALL)
    assert "job: missing: 'unknown'\n" in fitted.stderr
    assert "Nobody will be told to change work;" in fitted.stderr
    assert "--missing work=XNA" in fitted.flat
    said = ("--missing", "work=XNA", "--missing", "work=-9", "--missing", "work=who, knows")
    run("schema", *line, "--out", out, "--force", *said)
    freed = Schema.from_yaml(out)["work"]
    assert (freed.mutable, {*freed.missing}) == (True, {"XNA", "-9", "who, knows"})


def test_who_hardly_differs_stays_and_is_asked_about(tmp_path):
    rng = np.random.default_rng(0)
    few, income = np.arange(400) < 3, rng.integers(10, 60, 400) * 100
    table = {
        "sex": np.where(few, "male", "female"), "tax_liens": few * 1, "rare": few * 2,
        "income": income, "good": (income + rng.normal(0, 900, 400) > 3000) * 1,
    }  # fmt: skip
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    line, out = (tmp_path / "t.csv", "--target", "good"), tmp_path / "s.yaml"
    done = run("schema", *line, "--out", out)
    schema, text = Schema.from_yaml(out), out.read_text()
    assert {f.name for f in schema if not f.mutable} == {"sex", "tax_liens"}
    assert "Does a law protect sex where" in done.flat
    assert "stays: a person's sex, by its name and values; female in all but 3 of 400" in done.flat
    assert "rare 0 in all but 3 of 400 rows: it can tell little" in done.flat
    told = "0 in all but 3 of 400 rows"
    assert f"# {told}. It can tell little: leave it out.\n- name: rare" in text
    assert text.count(told) == 2
    fitted = run("fit", *line, "--out", tmp_path / "m.st", "--holdout", "0", *SMALL)
    way = fitted.flat.rpartition("trust-recourse ")[2].split()
    assert run(*way, "--out", tmp_path / "said.yaml").exit_code == 0
    assert Schema.from_yaml(tmp_path / "said.yaml")["sex"].protected


def test_time_passes_whatever_the_target_is_called(tmp_path):
    rng = np.random.default_rng(0)
    months = rng.integers(0, 240, 400)
    table = {"months_employed": months, "default": (months + rng.normal(0, 40, 400) < 90) * 1}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    line, out = (tmp_path / "t.csv", "--target", "default"), tmp_path / "s.yaml"
    done = run("schema", *line, "--out", out)
    assert Schema.from_yaml(out)["months_employed"].direction == "increase"
    note = "but the higher it is, the fewer rows are of class 1"
    assert note in done.flat
    assert "beside the other columns: is that class hoped for?" in done.flat
    assert note in out.read_text()
    fit = ("fit", *line, "--out", tmp_path / "m.st", "--force", "--holdout", "0", *SMALL)
    for wanted, direction in (((), "increase"), (("--wanted", "0"), "increase")):
        done = run(*fit, *wanted)
        assert load(tmp_path / "m.st").schema_["months_employed"].direction == direction
        assert (note in done.flat) == (not wanted)
    run(*fit, "--wanted", "1")
    assert load(tmp_path / "m.st").schema_["months_employed"].direction is None


def test_the_table_of_a_schema_has_a_line_for_each_column(folder):
    line = ("schema", folder / "t.csv", "--target", "granted", "--out", folder / "lines.yaml")
    done = CliRunner().invoke(app, [*map(str, line)], env={"COLUMNS": "80"})
    lines = done.stdout.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    schema = Schema.from_yaml(folder / "lines.yaml")
    assert [row.split("  ")[0].strip() for row in lines[2:]] == [*schema.names]
    assert max(map(len, done.stdout.splitlines()[:40])) <= 80


def test_in_a_terminal_schema_asks_and_does_what_is_said(folder, monkeypatch):
    monkeypatch.setattr(output, "at_terminal", lambda: True)
    line = ("schema", folder / "t.csv", "--target", "granted", "--out", folder / "asked.yaml")
    done = run(*line, answers="y\nn\ny\nn\n")
    assert done.exit_code == 0, done.output
    for asked in ("a person's sex, by its name and values. Does a law protect it here? [y/N]",
                  "a person's age, by its name. Does a law protect it here? [y/N]",
                  "all others are from 20 to 89. Does that mean missing? [y/N]"):  # fmt: skip
        assert asked in " ".join(done.stderr.split())
    schema = Schema.from_yaml(folder / "asked.yaml")
    assert [f.name for f in schema if f.protected] == ["sex"]
    assert schema["points"].missing == (999,)
    assert not schema["age"].mutable
    assert (schema["score"].missing, schema["score"].upper) == ((), 999)
    assert schema["points"].mutable
    assert schema["score"].mutable  # they are no codes, which is an answer too
    assert "sex category 2: female, male stays" in done.flat
    assert "sex protected: not learnt from, never moved" in done.flat


def test_beside_a_leak_stands_how_to_leave_it_out(tmp_path):
    table = _beside({"word": ["a", "b", "c"]})
    grade = np.where(table["granted"] == 1, np.arange(120) % 7 / 2 + 1, np.nan)
    table.assign(**{"first grade": grade}).to_csv(tmp_path / "t.csv", index=False)
    line = ("schema", tmp_path / "t.csv", "--target", "granted", "--out", tmp_path / "s.yaml")
    done = run(*line)
    way = "known only afterwards? --id 'first grade' leaves it out"
    assert f"it alone tells class 1 with an AUC of 1.000; {way}; 48 missing" in done.flat
    assert "afterwards" not in (tmp_path / "s.yaml").read_text()
    assert "If it is only a trace of the outcome, leave it out" in (tmp_path / "s.yaml").read_text()
    run(*line, "--force", "--id", "first grade")
    assert "first grade" not in Schema.from_yaml(tmp_path / "s.yaml")


def test_what_was_answered_is_not_asked_again(folder, monkeypatch):
    monkeypatch.setattr(output, "at_terminal", lambda: True)
    out = folder / "answered.yaml"
    line = ("schema", folder / "t.csv", "--target", "granted", "--out", out)
    for answers in ("n\nn\n", "y\nn\n", "perhaps\nNo\nYES\n"):
        done = run(*line, "--force", answers=f"{answers}n\nn\n")
        assert done.exit_code == 0, done.output
        assert "Does a law protect" not in done.flat
        assert "If a law protects it" not in out.read_text()
        assert ("Given 'perhaps', expected y (yes) or n (no)" in done.stderr) == (answers[0] == "p")
    assert [f.name for f in Schema.from_yaml(out) if f.protected] == ["age"]
    assert "# stays: a person's sex, by its name and values. No law protects it here," in (
        out.read_text()
    )
    assert not Schema.from_yaml(out)["sex"].mutable


def test_what_programs_need_is_in_json(folder):
    line = ("schema", folder / "t.csv", "--target", "granted", "--out", folder / "j.yaml")
    told = json.loads(run(*line, "--json").stdout)
    stays = {e["column"]: e["seen"] for e in told["suspicions"] if e["stays"]}
    assert stays.keys() == {*STAYS, *CODED}
    assert stays.items() >= STAYS.items()
    assert [e["codes"] for e in told["suspicions"] if e["kind"] == "sentinel"] == [[999]] * 2
    wrong = run(*line, "--force", "--protect", "sexx")
    assert (wrong.exit_code, "did you mean 'sex'?" in wrong.stderr) == (2, True)


def test_fit_says_what_is_unsaid_and_how_to_say_it(folder):
    done = run("fit", folder / "t.csv", "--out", folder / "m.st", *LEARN)
    assert done.exit_code == 0, done.output
    names = "number, sex, age, months late in April, points, score, collected"
    assert f"Nobody will be told to change {names};" in done.stderr
    assert {f.name for f in load(folder / "m.st").schema_ if not f.mutable} == {*names.split(", ")}
    for name in CODED:
        assert f"{name} stays until you say whether 999 means missing." in done.stderr
    who = f"Question: sex: {STAYS['sex']}; age: {STAYS['age']}. If a law protects it here, say so"
    assert who in done.flat
    assert f"Suspicion: collected: {STAYS['collected']}." in done.flat
    assert "Taken savings, job, health as ordered words; income, monthly payment in" in done.stderr
    assert "in round steps; job, customer_tenure as only rising." in done.stderr
    orders = [line for line in done.stderr.splitlines() if " | " in line]
    assert orders == [
        "savings: < 100 € | 100 to 500 € | > 500 €; missing: 'unknown'",
        "job: < 1 year | 1-4 years | 4+ years",
        "health: bad | fair | good",
    ]
    assert "Suspicion: points: 999 in " in done.flat
    assert "Suspicion: score: 999 in " in done.flat
    assert "learn again with --id collected --id number." in done.flat
    way = "--id collected --id number --protect sex --protect age --missing points=999 "
    way += "--missing score=999"
    assert done.flat.endswith(f"schema {folder}/t.csv --target granted {way}")
    law = "does a law protect sex, age where this model decides? Until you say, letters by the "
    assert (
        f"{law}profiles us and eu treat each as protected. To answer now what is protected or"
        in done.flat
    )


@pytest.mark.parametrize("line", [{"missing": [999]}, {}], ids=["missing", "freed"])
def test_a_column_of_codes_is_free_once_a_schema_says_so(folder, protected, line):
    schema = Schema.from_yaml(protected)
    assert schema["points"].mutable
    freed = schema.update("points", **{"missing": (), "upper": 999} | line)
    freed.to_yaml(folder / "freed.yaml")
    out = folder / "freed.st"
    use = ("--schema", folder / "freed.yaml", "--out", out, "--force")
    done = run("fit", folder / "t.csv", *use, *LEARN)
    assert done.exit_code == 0, done.output
    assert load(out).schema_["points"].mutable
    assert "stays until" not in done.stderr


def test_fit_by_a_schema_says_where_to_answer_what_is_unsaid(folder, protected):
    Schema.from_yaml(protected).update("age", protected=False).to_yaml(folder / "open.yaml")
    use = ("--schema", folder / "open.yaml", "--out", folder / "open.st")
    said = run("fit", folder / "t.csv", *use, *LEARN).flat
    assert "letters by the profiles us and eu treat it as protected." in said
    assert said.endswith(f"To answer now: protected: true in {folder}/open.yaml, and learn again.")


def test_what_is_protected_is_not_learnt_moved_or_written_to_anyone(folder, protected):
    model, answers, letter = folder / "p.st", folder / "p.json", folder / "p.txt"
    done = run("fit", folder / "t.csv", "--schema", protected, "--out", model, *LEARN)
    assert "Suspicion" not in done.flat
    assert "Question" not in done.flat
    assert "The model does not use sex, which is protected: its value changes no" in done.flat
    learnt = "income, monthly payment, months late in April, points, score, savings, job, health,"
    assert f"rows of {learnt} customer_tenure, town." in done.flat
    row = str(done.flat.split("--row ")[1].split()[0])
    person = ("--data", folder / "t.csv", "--row", row)
    found = run("find", model, *person, "--confidence", "0.6", "--save", answers)
    assert found.exit_code == 0, found.output
    [option] = Recourse.read(answers, load(model)).options
    assert {*option.changes}.isdisjoint({"sex", "age", "months late in April"})
    written = run("letter", model, answers, "--out", letter, *WHO)
    assert written.exit_code == 0, written.output
    reasons = {*re.findall(r"(?m)^\d+\. ([^:]+):", letter.read_text())}
    assert "income" in reasons
    assert reasons.isdisjoint({"sex", "age"})


WHO = ("--organisation", "Bank", "--contact", "Ann Lee", "--valid-until", "2099-01-31")


def test_a_letter_with_a_protected_reason_waits_for_whoever_answers_for_it(folder, protected):
    model, answers, letter = folder / "u.st", folder / "u.json", folder / "u.txt"
    use = ("--schema", protected, "--use-protected", "--out", model)
    done = run("fit", folder / "t.csv", *use, *LEARN)
    assert "The model uses sex, which is protected: changed alone, it moves" in done.flat
    table = pd.read_csv(folder / "t.csv")
    close = table["sex"].eq("female") & table["income"].between(4000, 5000)
    row = table[close & table["granted"].eq(0)].index[0]
    run("find", model, "--data", folder / "t.csv", "--row", row, "--save", answers)
    refused = run("letter", model, answers, "--out", letter, *WHO)
    assert refused.exit_code == 2
    assert "sex" in refused.stderr
    assert not letter.exists()


def test_a_file_that_is_there_is_kept_unless_force_or_a_person_says_otherwise(folder, monkeypatch):
    out = folder / "kept.yaml"
    out.write_text("edited")
    line = ("schema", folder / "t.csv", "--target", "granted", "--out", out)
    assert "kept.yaml: there is such a file" in run(*line).stderr
    monkeypatch.setattr(output, "at_terminal", lambda: True)
    no = run(*line, answers="n\n")
    assert (no.exit_code, out.read_text()) == (2, "edited")
    assert "kept.yaml is there. Overwrite? [y/N]" in no.stderr
    assert run(*line, answers="y\nn\nn\nn\nn\n").exit_code == 0
    assert len(Schema.from_yaml(out)) == 14


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("data", ["schema"]), ("schema", ["out"]), ("fit", ["out"]), ("import", ["out"]),
        ("find", ["certificate", "save"]), ("frontier", ["csv", "png"]), ("letter", ["out"]),
        ("explain", ["out", "png"]), ("report", ["out"]), ("audit", ["html", "csv"]),
        ("evidence", ["out", "proofs"]),
    ],
)  # fmt: skip
def test_every_command_that_writes_a_file_can_be_forced_to(command, writes):
    from typer.main import get_command

    options = {each.name for each in get_command(app).commands[command].params}
    assert {*writes, "force"} <= options


DATES = {
    "month": [f"2023-{at:02}" for at in range(1, 13)],
    "german month": [f"{at:02}.2023" for at in range(1, 13)],
    "day": [f"2023-01-{at:02}" for at in range(1, 31)],
    "german day": [f"{at}.01.2023" for at in range(1, 31)],
    "said": ["Dec-2015", "Jan-2016", "unknown", ""],
    "stamp": pd.date_range("2023-01-01", periods=5).tolist(),
}
NO_DATES = {
    "school year": ["2022-23", "2023-24"], "version": ["1.2.3", "1.2.4"],
    "rate": [1.2023, 2.2023, 10.2024], "span": ["1-2", "3-10"],
}  # fmt: skip


def _beside(columns, rows=120):
    """A table of these values in turns, with an income and whether a loan was granted."""
    rng = np.random.default_rng(0)
    income = rng.integers(10, 60, rows) * 100
    table = {name: [each[at % len(each)] for at in range(rows)] for name, each in columns.items()}
    return pd.DataFrame({**table, "income": income, "granted": (income > 3000) * 1})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_few_dates_are_left_out_as_dates(tmp_path, ending):
    table, file = _beside(DATES | NO_DATES), tmp_path / f"t.{ending}"
    table.to_csv(file, index=False) if ending == "csv" else table.to_parquet(file)
    done = run("schema", file, "--target", "granted", "--out", tmp_path / "s.yaml")
    assert done.exit_code == 0, done.output
    assert {*Schema.from_yaml(tmp_path / "s.yaml").names} == {*NO_DATES, "income"}
    assert "dates, which say when something was: nobody can change that" in done.flat
    assert all(name in done.flat.partition("Left out ")[2] for name in DATES)


@pytest.mark.parametrize("form", ["{:,} €", "${:,}", "{:,}", "{:,}.50 EUR", "{:_} €", "{:_},50 €"])
def test_of_sums_that_no_number_is_read_from_it_says_how_to_write_them(tmp_path, form):
    sums = [form.format(at * 1100 + 1111).replace("_", ".") for at in range(120)]
    rows = _beside({"sum": [*sums[1:], "unknown"], "name": [f"BW-{at}" for at in range(120)]})
    rows.to_csv(tmp_path / "t.csv", index=False)
    line = ("schema", tmp_path / "t.csv", "--target", "granted", "--out", tmp_path / "s.yaml")
    done = run(*line)
    assert "Left out 'sum': amounts with a currency or with marks of thousands" in done.flat
    assert "write them as numbers, such as 41100. Left out 'name': most rows hold" in done.flat
