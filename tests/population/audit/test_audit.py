"""The audit: counts that add up, intervals that cover, a page that says what it does not show."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from typer.testing import CliRunner

import folders
from trust_recourse import Audit, Feature, Recourse, Schema
from trust_recourse.answers.plot import (
    asked_info,
    curves_info,
    draw_asked,
    draw_curves,
    draw_forest,
    draw_levels,
    forest_info,
    levels_info,
)
from trust_recourse.cli import app
from trust_recourse.cli.audit import _show
from trust_recourse.io.progress import Progress
from trust_recourse.io.tables import FORMULA, as_csv
from trust_recourse.population import batch
from trust_recourse.population.audit import gather, intervals
from trust_recourse.population.audit.counts import NONE, OPEN, REACHED, Group
from trust_recourse.population.audit.groups import (
    MOST_CROSSED,
    Column,
    Grouping,
    _band_names,
    meant,
)
from trust_recourse.population.audit.permutation_test import dealt_out
from trust_recourse.population.audit.sampled_search import Sampled, SampledStep, Some, _people
from trust_recourse.population.batch.batch_folder import BatchFolder
from trust_recourse.question import Question
from trust_recourse.question.cost import Cost
from trust_recourse.report.audit_page import levels, points
from trust_recourse.report.content import TableBlock
from worlds import paper_machine

ALIKE = {"a": (400, 0.5, 0.2, 0.05, 1.0), "b": (300, 0.5, 0.2, 0.05, 1.0)}
PLANTED = {"a": (600, 0.4, 0.1, 0.05, 1.0), "b": (500, 0.6, 0.35, 0.0, 1.8)}


@pytest.fixture(scope="module")
def table():
    """Two groups that differ, a small one, and people of no group or with an unreadable row."""
    frame = folders.made_up({**PLANTED, "few": (12, 0.7, 0.3, 0.0, 1.0)}, np.random.default_rng(1))
    frame.loc[2::50, "group"] = None
    unread = frame.index[::37]
    frame.loc[unread, "status"] = "unanswered"
    blank = ["confidence_now", "cost", "n_changes", "to.income", "to.debt"]
    frame.loc[unread, blank] = np.nan
    frame["refused"] = frame["refused"].astype(object)
    frame.loc[unread, "refused"] = None
    return frame


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    return folders.write(tmp_path_factory.mktemp("made") / "up", table, folders.INCOME, parts=3)


@pytest.fixture(scope="module")
def audit(folder):
    return Audit.of(folder, "group", draws=400)


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    """A model, what it says of 160 people, and where both are."""
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            "income": rng.normal(30, 8, n).round(1),
            "debt": rng.gamma(2, 6, n).round(1),
            "housing": rng.choice(["own", "rent"], n),
            "old": rng.random(n) < 0.4,
        }
    )
    y = (X["income"] - X["debt"] + 8 * (X["housing"] == "own") > 22).astype(int)
    model = paper_machine(epochs=10, random_state=0).fit(X, y)
    schema = (
        Schema.infer(X)
        .update("old", protected=True)
        .update("income", direction="increase", max_change=8)
        .update("debt", mutable=False)
    )
    place = tmp_path_factory.mktemp("loans")
    model.save(place / "model.safetensors")
    kept = pd.DataFrame({"sex": rng.choice(["woman", "man"], 160)})
    folders.from_answers(
        place / "answers", Recourse(model, schema), X.head(160), 0.65, kept, node_limit=5000
    )
    return place, model


@pytest.fixture(scope="module")
def deep(loans):
    place, model = loans
    return Audit.of(place / "answers", ["sex", "old"], model=model, sample=6, draws=200)


# ---------------------------------------------------------------- counting


def test_everybody_is_counted_once(audit, table):
    counts = audit.counts()
    assert counts["people"].sum() == len(table) == audit.people
    parts = counts["accepted"] + counts["unknown"] + counts["refused"]
    assert (parts == counts["people"]).all()
    assert (counts[[*REACHED, *NONE, *OPEN]].sum(axis=1) == counts["refused"]).all()
    assert counts["unknown"].sum() == table["refused"].isna().sum() > 0


def test_counts_and_shares_are_those_of_the_rows(audit, table):
    told = audit.counts().set_index("group")
    values = audit.table().set_index(["group", "measure"])["value"]
    rows = table.assign(group=table["group"].fillna("missing"))
    assert set(told.index) == {"a", "b", "few", "missing"} == set(rows["group"])
    for name, people in rows.groupby("group"):
        refused = people[people["refused"].eq(True)]
        known = people["refused"].notna()
        can = refused[refused["status"] == "optimal"]
        assert told.loc[name, "refused"] == len(refused)
        assert values[name, "refused"] == len(refused) / known.sum()
        assert values[name, "reach"] == len(can) / len(refused)
        assert values[name, "none"] == (refused["status"] == "infeasible").mean()
        assert values[name, "mean_cost"] == pytest.approx(can["cost"].mean())
        ordered = np.sort(can["cost"])
        assert values[name, "median_cost"] == ordered[(len(ordered) + 1) // 2 - 1]
        assert values[name, "high_cost"] == ordered[int(np.ceil(0.9 * len(ordered))) - 1]
        cap = audit.parts[0].cap
        every = np.where(refused["status"] == "optimal", refused["cost"], np.inf)
        assert values[name, "capped_cost"] == pytest.approx(np.minimum(every, cap).mean())


def test_those_without_a_way_stay_in_every_share_of_the_refused(audit, table):
    for each in audit.parts[0].groups:
        group = each.group
        assert each.curve.share[-1] <= group.reached / group.refused
        assert (group.reached < group.refused) == (group.none + group.open > 0)
        total = sum(each.estimates[name].value for name in ("reach", "none", "open"))
        assert total == pytest.approx(1)
    curves = audit.curves()
    rows = table[table["refused"].eq(True) & (table["group"] == "b")]
    for cost, value in curves[curves["group"] == "b"][["cost", "value"]].to_numpy()[::20]:
        assert value == pytest.approx((rows["cost"] <= cost).sum() / len(rows))


def test_half_of_the_refused_may_never_be_accepted(tmp_path):
    rng = np.random.default_rng(0)
    frame = folders.made_up({"a": (200, 1.0, 0.1, 0, 1), "b": (200, 1.0, 0.8, 0, 1)}, rng)
    folders.write(tmp_path / "x", frame, folders.INCOME)
    audit = Audit.of(tmp_path / "x", "group", draws=200)
    often, seldom = (each.half for each in audit.parts[0].groups)
    assert often[0] < np.inf
    assert seldom[0] == np.inf
    rows = frame[frame["group"] == "a"]["cost"].fillna(np.inf).sort_values()
    assert often[0] == rows.iloc[99]
    assert "never" in audit.page(pictures=False).text()


def test_the_order_of_rows_and_parts_changes_nothing(table, audit, loans, tmp_path):
    shuffled = table.sample(frac=1.0, random_state=3)
    folders.write(tmp_path / "x", shuffled, folders.INCOME, parts=7)
    other = Audit.of(tmp_path / "x", "group", draws=400)
    assert json.dumps(other.to_dict()) == json.dumps(audit.to_dict())
    place, model = loans
    parts = [pd.read_parquet(part) for part in sorted((place / "answers").glob("*.parquet"))]
    rows = pd.concat(parts).sample(frac=1.0, random_state=1)
    told = json.loads((place / "answers" / "_batch.json").read_text())
    schema = Schema.from_dict(told.pop("schema"))
    del told["parts"]
    folders.write(tmp_path / "y", rows, schema, parts=5, **told)
    again = Audit.of(tmp_path / "y", ["sex", "old"], model=model, sample=6, draws=200)
    first = Audit.of(place / "answers", ["sex", "old"], model=model, sample=6, draws=200)
    assert json.dumps(again.to_dict()) == json.dumps(first.to_dict())
    assert len(first.levels())


def test_what_is_asked_to_change_is_counted(loans):
    place, _ = loans
    audit = Audit.of(place / "answers", "sex", draws=200)
    parts = [pd.read_parquet(part) for part in sorted((place / "answers").glob("*.parquet"))]
    rows = pd.concat(parts)
    can = rows[rows["refused"] & (rows["status"] == "optimal") & (rows["sex"] == "man")]
    asked = audit.asked().set_index(["group", "feature"])["value"]
    assert asked["man", "income"] == (can["from.income"] != can["to.income"]).mean() > 0
    assert asked["man", "debt"] == 0
    assert asked["man", "housing"] == (can["from.housing"] != can["to.housing"]).mean() > 0
    changes = audit.table().set_index(["group", "measure"])["value"]["man", "changes"]
    assert changes == pytest.approx(can["n_changes"].mean())


# ---------------------------------------------------------------- chance


def group_of(costs, none, name="a", accepted=0):
    """A group, counted, without a folder: what those who can pay, and how many have no way."""
    values, times = np.unique(np.asarray(costs, float), return_counts=True)
    statuses = dict.fromkeys((*REACHED, *NONE, *OPEN), 0)
    statuses |= {"optimal": len(costs), "infeasible": none}
    changes = np.array([0, len(costs)], dtype=np.int64)
    return Group(name, accepted, 0, statuses, values, times, changes, {})


def groups_of(rng, *shares):
    """Groups drawn by chance: people, shares refused and without a way, mean cost."""
    found = []
    for at, (people, refused, none, cost) in enumerate(shares):
        n = rng.binomial(people, refused)
        stuck = rng.binomial(n, none)
        costs = rng.gamma(4.0, cost / 4.0, n - stuck)
        found.append(group_of(costs, stuck, "abcdef"[at], people - n))
    return found


def test_between_alike_groups_intervals_cover_zero_as_often_as_they_say():
    rng = np.random.default_rng(7)
    tries, covered = 300, dict.fromkeys(("refused", "reach", "mean_cost", "capped_cost"), 0)
    for _ in range(tries):
        a, b = groups_of(rng, (120, 0.5, 0.15, 1.0), (80, 0.5, 0.15, 1.0))
        grid = np.linspace(0, 2, 3)
        first, second = (intervals.measured(g, 1.5, grid, 300, rng).estimates for g in (a, b))
        for measure in covered:
            low, high = intervals.interval(
                first[measure].value - second[measure].value,
                first[measure].draws - second[measure].draws,
            )
            covered[measure] += low <= 0.0 <= high
    # 300 tries at 95% leave ± 2.5 points to chance
    assert all(0.92 <= count / tries <= 0.98 for count in covered.values()), covered


@given(k=st.integers(0, 40), more=st.integers(0, 40))
@settings(max_examples=40)
def test_the_interval_of_a_share_holds_it_and_is_never_a_point(k, more):
    n = k + more
    found = intervals.share(k, n, 400, np.random.default_rng(0))
    if not n:
        assert np.isnan(found.value)
        assert all(np.isnan(end) for end in found.interval)
        return
    low, high = found.interval
    assert 0 <= low <= k / n <= high <= 1
    assert high - low > 0


def test_each_count_of_the_sheet_says_of_whom_it_is(audit):
    rows = pd.read_csv(io.StringIO(audit.to_csv())).set_index("group")
    counts = audit.counts().set_index("group")
    for about, of in (("count", "people"), ("count of the refused", "refused")):
        some = rows[rows["about"] == about]
        assert (some["of"] == counts[of].reindex(some.index)).all()
        assert (some.groupby("group")["value"].max() <= counts[of]).all()
        assert ("optimal" in set(some["what"])) == (of == "refused")


def test_a_planted_difference_is_found_and_an_absent_one_is_not(audit, tmp_path):
    told = audit.differences().set_index(["group", "measure"])
    for measure in ("refused", "reach", "none", "mean_cost", "capped_cost"):
        row = told.loc[("b", measure)]
        assert row["clear"], measure
        assert (row["difference"] > 0) == (measure != "reach")
        assert row["low"] <= row["difference"] <= row["high"]
    frame = folders.made_up(ALIKE, np.random.default_rng(5))
    same = Audit.of(folders.write(tmp_path / "x", frame, folders.INCOME), "group")
    assert not same.differences()["clear"].any()
    assert "No difference between groups is clear" in same.page(pictures=False).text()


def test_alike_groups_are_seldom_called_different_among_many_comparisons():
    rng = np.random.default_rng(11)
    tries, wrong = 40, 0
    for at in range(tries):
        alike = groups_of(rng, (400, 0.5, 0.2, 1.0), *[(90, 0.5, 0.2, 1.0)] * 5)
        part = gather._part("x", alike, "a", 200, [at], Progress(6, "", show=False))
        assert sum(not each.few for each in part.comparisons) >= 20
        wrong += any(each.clear for each in part.comparisons)
    # 5% at most, of which 40 tries may show three times as many; 60% without Bonferroni
    assert wrong / tries <= 0.15


def test_a_few_dear_cases_make_no_difference_between_alike_groups_clear():
    rng = np.random.default_rng(3)
    tries, tail, wrong = 400, 0.005, 0
    for _ in range(tries):
        pair = [mean_of(rng.lognormal(0.0, 2.0, people), rng) for people in (30, 300)]
        wrong += intervals.apart(*pair, "mean_cost", tail)
    # 4 are expected at most; by Student's law alone there are about 20
    assert wrong <= 9


def mean_of(costs, rng):
    """A group of which the mean cost alone is measured."""
    group = group_of(costs, 0)
    estimate = intervals.mean_cost(group.costs, group.times, 100, rng)
    curve = intervals.Curve(*[np.empty(0)] * 4)
    return intervals.MeasuredGroup(group, {"mean_cost": estimate}, {}, curve, (0, 0, 0), np.inf)


@given(st.integers(30, 200), st.integers(30, 200), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=50)
def test_dealing_out_ones_and_noughts_is_the_hypergeometric_law(n, m, share, other):
    k, j = round(share * n), round(other * m)
    a, b = ((np.array([0.0, 1.0]), np.array([n - k, k])) for n, k in ((n, k), (m, j)))
    law = stats.hypergeom(n + m, k + j, n)
    exact = law.sf(k - 1) if k * m > j * n else law.cdf(k)
    assert min(0.5, exact) - 1e-9 <= dealt_out(a, b) <= 2.5 * exact + 1e-9


@pytest.mark.parametrize(
    ("n", "m", "dear", "own"),
    [(30, 300, 4, 3), (50, 300, 5, 4), (30, 300, 3, 2), (100, 1000, 5, 3)],
)
def test_dealing_out_a_few_who_pay_far_more_is_the_law_of_the_few(n, m, dear, own):
    """The others' costs hardly count, and in the group they are the least there are."""
    costs = 1e-6 * np.sort(np.random.default_rng(0).random(n + m))
    a, b = (np.sort(np.concatenate([x, np.ones(many)])) for x, many in (
        (costs[: n - own], own), (costs[n - own : n + m - dear], dear - own)
    ))  # fmt: skip
    told = dealt_out(*((x, np.ones(len(x), dtype=np.int64)) for x in (a, b)))
    exact = stats.hypergeom(n + m, dear, n).sf(own - 1)
    assert told >= exact / 2


@pytest.mark.parametrize(("people", "others"), [(30, 30), (30, 5000)])
def test_groups_that_do_not_overlap_are_never_dealt_so(people, others):
    rng = np.random.default_rng(0)
    low, high = (np.sort(rng.random(n)) for n in (people, others))
    a, b = ((x, np.ones(len(x), dtype=np.int64)) for x in (low, 1 + high))
    assert dealt_out(a, b) == dealt_out(b, a) == 0.0
    assert dealt_out(a, a) == 0.5


@given(tail=st.floats(1e-4, 0.05), k=st.integers(0, 60))
@settings(max_examples=30)
def test_what_is_clear_is_so_by_the_laws_of_wilson_and_student(tail, k):
    rng = np.random.default_rng(k)
    found = intervals.measured(group_of(rng.gamma(4, 1, k), 60 - k), 2, np.arange(3.0), 200, rng)
    low, high = intervals._ends(found, "reach", tail)
    told = stats.binomtest(k, 60).proportion_ci(1 - 2 * tail, "wilson")
    assert (low, high) == pytest.approx((told.low, told.high), abs=1e-9)
    if k > 5:
        low, high = intervals._ends(found, "mean_cost", tail)
        estimate = found.estimates["mean_cost"]
        least = 0.98 * stats.t.ppf(1 - tail, k - 1) * np.std(estimate.draws)
        assert min(estimate.value - low, high - estimate.value) >= least
        assert not intervals.apart(found, found, "mean_cost", tail)


def test_means_of_few_people_are_covered_as_often_as_they_say():
    rng = np.random.default_rng(2)
    tries, covered = 500, 0
    for costs in rng.normal(10.0, 1.0, (tries, 5)):
        found = intervals.mean_cost(np.sort(costs), np.ones(5, dtype=np.int64), 200, rng)
        covered += found.interval[0] <= 10.0 <= found.interval[1]
    # 0.84 without Student's law
    assert 0.91 <= covered / tries <= 0.98


def test_curves_and_what_half_pay_are_covered_as_often_as_they_say():
    rng = np.random.default_rng(4)
    law = stats.gamma(4.0, scale=0.25)
    tries, curve, half = 200, 0, 0
    for _ in range(tries):
        (group,) = groups_of(rng, (60, 1.0, 0.15, 1.0))
        found = intervals.measured(group, 1.5, np.array([0.0, 1.0, 3.0]), 200, rng)
        curve += found.curve.low[1] <= 0.85 * law.cdf(1.0) <= found.curve.high[1]
        half += found.half[1] <= law.ppf(0.5 / 0.85) <= found.half[2]
    assert 0.9 <= curve / tries <= 0.99
    assert 0.9 <= half / tries <= 0.99


@given(st.lists(st.floats(0.0, 5.0), max_size=4), st.integers(0, 500))
@settings(max_examples=60)
def test_of_the_worst_off_something_is_known_and_not_too_much(costs, none):
    if not costs and not none:
        return
    grid, cap = np.linspace(0.0, 5.0, 11), 1.7
    found = intervals.measured(group_of(costs, none), cap, grid, 400, np.random.default_rng(0))
    low, high = found.estimates["capped_cost"].interval
    assert 0.0 <= low < high <= cap + 1e-9
    assert (found.curve.low <= found.curve.share).all()
    assert (found.curve.share <= found.curve.high).all()
    assert found.curve.high[-1] > found.curve.low[-1]


def test_nobody_of_a_few_is_not_taken_for_nobody_ever():
    rng = np.random.default_rng(0)
    few, many = (
        intervals.measured(group_of([], n), 1.0, np.linspace(0, 2, 5), 400, rng) for n in (2, 500)
    )
    assert few.curve.high[-1] > 0.3 > 0.02 > many.curve.high[-1] > 0
    assert few.half[0] == few.half[2] == np.inf
    assert 0 < few.half[1] <= 2
    assert many.half == (np.inf, np.inf, np.inf)


def test_few_people_are_shown_and_nothing_is_read_into_them(audit):
    told = audit.differences()
    few = told[told["group"] == "few"]
    assert len(few)
    assert few["few"].all()
    assert not few["clear"].any()
    text = audit.page(pictures=False).text()
    assert "few\u00a0†" in text
    assert not any("“few”" in line for line in audit.page(pictures=False).stands_out)


def test_one_person_says_nothing_of_others(tmp_path):
    groups = {"a": (80, 1.0, 0.1, 0, 1.0), "one": (1, 1.0, 0.0, 0, 1.0)}
    frame = folders.made_up(groups, np.random.default_rng(0))
    audit = Audit.of(folders.write(tmp_path / "x", frame, folders.INCOME), "group", draws=100)
    row = audit.table().set_index(["group", "measure"]).loc[("one", "mean_cost")]
    assert row["value"] > 0
    assert np.isnan(row["low"])
    json.dumps(audit.to_dict(), allow_nan=False)
    text = audit.page().text()
    assert "nan" not in text
    assert "– to –" not in text


def test_many_costs_are_drawn_in_parts_that_keep_their_mean():
    rng = np.random.default_rng(0)
    values, times = np.unique(rng.gamma(2, 1, 9000).round(3), return_counts=True)
    assert len(values) > intervals.CELLS
    fewer, often = intervals.cells(values, times)
    assert len(fewer) <= intervals.CELLS
    assert often.sum() == 9000
    assert (np.diff(fewer) > 0).all()
    assert np.average(fewer, weights=often) == pytest.approx(np.average(values, weights=times))
    found = intervals.mean_cost(values, times, 500, rng)
    sure = 1.96 * np.sqrt(np.cov(values, fweights=times) / 9000)
    low, high = found.interval
    assert (high - low) / 2 == pytest.approx(sure, rel=0.15)


def test_the_same_seed_gives_the_same_intervals_and_another_others(folder):
    first, again, other = (
        Audit.of(folder, "group", draws=200, random_state=seed).table() for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first["low"].equals(other["low"])
    pd.testing.assert_series_equal(first["value"], other["value"])


# ---------------------------------------------------------------- groups


def test_numbers_are_banded_and_categories_are_not(loans, tmp_path):
    place, _ = loans
    audit = Audit.of(place / "answers", ["income", "housing", "old"], draws=200, bands={
        "income": [25, 30]})  # fmt: skip
    names = [[each.group.name for each in part.groups] for part in audit.parts]
    assert names[0] == ["under 25", "25 to under 30", "30 and over"]
    assert set(names[1]) == {"own", "rent"}
    assert set(names[2]) == {"no", "yes"}
    income = pd.concat(pd.read_parquet(p) for p in (place / "answers").glob("*.parquet"))
    counts = audit.counts().set_index("group")["people"]
    assert counts["under 25"] == (income["from.income"] < 25).sum()
    assert counts["25 to under 30"] == income["from.income"].between(25, 29.999).sum()


def test_by_default_it_is_by_protected_features_and_bands_have_as_many_people(loans, folder):
    place, _ = loans
    assert [part.title for part in Audit.of(place / "answers", draws=100).parts] == ["old"]
    quarters = Audit.of(folder, "income", draws=100).counts()["people"]
    assert len(quarters) == 4
    assert quarters.max() - quarters.min() < 0.1 * quarters.sum()


def test_crossed_groups_add_up_to_single_ones(folder):
    audit = Audit.of(folder, ["group", "income"], cross=True, bands={"income": [30]}, draws=100)
    single, _, crossed = audit.parts
    assert crossed.title == "group × income"
    for each in single.groups:
        inside = [g.group for g in crossed.groups if g.group.name.startswith(f"{each.group.name},")]
        assert sum(group.people for group in inside) == each.group.people
        assert sum(group.none for group in inside) == each.group.none


texts = st.lists(st.text('ab, "', max_size=5), min_size=1, max_size=4, unique=True)


@given(st.lists(texts, min_size=1, max_size=3))
def test_no_two_groups_are_called_alike(columns):
    by = Grouping(tuple(Column("x", "x", tuple(labels), {}.get) for labels in columns))
    assert len(set(by.labels)) == len(by.labels) == np.prod([len(each) for each in columns])
    assert len(columns) > 1 or by.labels == tuple(columns[0])


def test_names_with_a_comma_are_crossed_and_are_not_blank(table, tmp_path):
    first = table["group"] == "a"
    frame = table.assign(a=np.where(first, "Z", "Z, Y"), b=np.where(first, "Y, X", "X"),
                         town=np.where(table["group"] == "few", "Y, X", "Y, missing"))  # fmt: skip
    folders.write(tmp_path / "x", frame, folders.INCOME)
    audit = Audit.of(tmp_path / "x", ["a", "b", "town"], cross=True, draws=100)
    assert audit.parts[2].reference == "Y, missing"
    assert {each.group.name for each in audit.parts[3].groups} == {
        'Z, "Y, X", "Y, missing"', '"Z, Y", X, "Y, X"', '"Z, Y", X, "Y, missing"'
    }  # fmt: skip


def test_numbers_held_as_text_are_numbers_and_codes_are_not(table, tmp_path):
    frame = table.assign(
        age=[str(20 + at % 50) for at in range(len(table))],
        place=[f"0{at % 3}" for at in range(len(table))],
    )
    frame.loc[1, "age"] = ""
    folders.write(tmp_path / "x", frame, folders.INCOME)
    audit = Audit.of(tmp_path / "x", ["age", "place"], bands={"age": [40]}, draws=100)
    assert [g.group.name for g in audit.parts[0].groups] == ["under 40", "40 and over", "missing"]
    assert [g.group.name for g in audit.parts[1].groups] == ["00", "01", "02"]


def test_a_code_for_missing_is_missing(tmp_path):
    schema = Schema((Feature("income", missing=(-9,)), Feature("debt")))
    frame = folders.made_up({"a": (100, 0.5, 0.2, 0, 1)}, np.random.default_rng(0))
    frame.loc[:9, "from.income"] = -9.0
    folders.write(tmp_path / "x", frame, schema)
    counts = Audit.of(tmp_path / "x", "income", draws=100).counts().set_index("group")["people"]
    assert counts["missing"] == 10


def test_a_group_called_missing_is_not_that_of_the_blanks(table, tmp_path):
    frame = table.assign(word=np.resize(["missing", "there", "there", None], len(table)))
    folders.write(tmp_path / "x", frame, folders.INCOME)
    part = Audit.of(tmp_path / "x", "word", draws=100).parts[0]
    assert [each.group.name for each in part.groups] == [
        "missing",
        "there",
        "(missing)",
        "not readable",
    ]
    assert part.reference == "there"


def test_who_could_not_be_read_is_not_among_the_blanks(table, tmp_path):
    bad = table["status"] == "unanswered"
    frame = table.assign(word=np.resize(["not readable", "there", "there", None], len(table)))
    frame.loc[bad, ["group", "word", "from.income", "from.debt"]] = None
    folders.write(tmp_path / "x", frame, folders.INCOME)
    by = ["group", "income", "word"]
    audit = Audit.of(tmp_path / "x", by, cross=True, bands={"income": [30]}, draws=100)
    counts = audit.counts().set_index(["by", "group"])["people"]
    assert counts["group", "missing"] == (frame["group"].isna() & ~bad).sum() > 0
    assert counts["group", "not readable"] == counts["income", "not readable"] == bad.sum() > 0
    assert counts["word", "(not readable)"] == bad.sum()
    assert counts["word", "not readable"] == (frame["word"] == "not readable").sum()
    assert counts["group × income × word"].sum() == len(table)
    assert (
        counts["group × income × word", "not readable, not readable, (not readable)"] == bad.sum()
    )
    told = " ".join(run(tmp_path / "x", "--by", "group", "--bootstrap", 100).stdout.split())
    assert f"Of {bad.sum()} people the row could not be read" in told


def test_kept_columns_may_be_called_like_those_of_answers(table, tmp_path):
    frame = table.assign(**{"from.town": "x", "to.town": "y"})
    folders.write(tmp_path / "x", frame, folders.INCOME, keep=["from.town", "to.town"])
    audit = Audit.of(tmp_path / "x", ["from.town", "to.town"], draws=100)
    assert [each.group.name for part in audit.parts for each in part.groups] == ["x", "y"]
    with pytest.raises(ValueError, match="no column 'town'"):
        Audit.of(tmp_path / "x", "town")


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ([1_000_300, 1_000_301], "under 1,000,300|1,000,300 to under 1,000,301|1,000,301 and over"),
        ([0.5, 2500.25], "under 0.5|0.5 to under 2,500.25|2,500.25 and over"),
        ([1.0, 1 + 2**-40], "under 1|1 to under 1.0000000000009095|1.0000000000009095 and over"),
    ],
)
def test_bands_are_named_by_all_digits_they_need(edges, names):
    assert _band_names([*map(float, edges)]) == names.split("|")


def test_too_many_crossed_groups_are_refused_with_advice(table, tmp_path):
    rng = np.random.default_rng(0)
    names = ["a", "b", "c"]
    frame = table.assign(**{name: rng.choice([*"0123456789x"], len(table)) for name in names})
    folders.write(tmp_path / "x", frame, folders.INCOME)
    with pytest.raises(ValueError, match=f"at most {MOST_CROSSED:,}; name fewer columns"):
        Audit.of(tmp_path / "x", names, cross=True)


def test_the_reference_is_the_largest_or_the_one_named(folder):
    assert Audit.of(folder, "group", draws=100).parts[0].reference == "a"
    named = Audit.of(folder, "group", reference={"group": "b"}, draws=100)
    assert named.parts[0].reference == "b"
    assert set(named.differences()["group"]) == {"a", "few", "missing"}
    assert set(named.differences()["reference"]) == {"b"}


# ---------------------------------------------------------------- the model asked


def test_the_terminal_shows_what_the_model_was_asked(deep, capsys):
    _show(deep)
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("Who reaches each confidence, and at what mean cost") == len(deep.parts)
    for part in deep.parts:
        (_, *asked), rows = levels(part)
        for name, *said in rows:
            assert f"{name} {asked[0]}: {said[0]}; {asked[1]}: {said[1]}" in told


def test_the_model_says_again_what_the_batch_said(deep, loans):
    place, _ = loans
    sexes = deep.parts[0]
    assert {each.group for each in sexes.sampled} == {"woman", "man"}
    for each in sexes.sampled:
        shares = [step.reach.value for step in each.frontier]
        assert shares == sorted(shares, reverse=True)
        assert shares[0] > shares[-1]
        assert each.asked == 6
        for step in each.frontier:
            told = step.reach.value + step.none.value + step.open.value
            assert told == pytest.approx(1)
    everybody = Audit.of(place / "answers", "sex", model=loans[1], sample=500, draws=100)
    for each, counted in zip(everybody.parts[0].sampled, everybody.parts[0].groups, strict=True):
        at = next(step for step in each.frontier if step.confidence == 0.65)
        assert each.asked == counted.group.refused
        assert at.reach.value == counted.estimates["reach"].value
        assert at.mean_cost.value == pytest.approx(counted.estimates["mean_cost"].value)
        assert each.blocked == counted.group.none


def test_the_constraint_that_blocks_is_named(deep):
    blocked = deep.blocked()
    assert blocked["people"].max() > 0
    assert (blocked["people"] <= blocked["of"]).all()
    assert set(blocked["if"]) & {"debt may change", "income may change by more than 8"}
    assert not any("old" in sentence for sentence in blocked["if"])


def test_what_blocks_nobody_is_not_named_for_all(deep, loans):
    """Each number is that of the people whom the same search finds a way when it is lifted."""
    place, model = loans
    everybody = Audit.of(place / "answers", "old", model=model, sample=500, draws=100)
    told = (
        everybody.blocked()
        .groupby("if")["people"]
        .sum()
        .drop("no single constraint", errors="ignore")
    )
    schema = BatchFolder.read(place / "answers").schema
    parts = pd.concat(map(pd.read_parquet, sorted((place / "answers").glob("*.parquet"))))
    stuck = parts[parts["refused"] & (parts["status"] == "infeasible")]
    counts = dict.fromkeys(told.index, 0)
    for row in stuck.to_dict("records"):
        x = {name: row[f"from.{name}"] for name in schema.names}
        for lifted in schema.relaxations(x):
            found = Recourse(model, lifted.schema).find(x, 0.65, node_limit=5000)
            if found.options:
                counts[lifted.sentence] += 1
    assert counts == told.to_dict()
    assert len(set(counts.values())) > 1


def test_how_sure_it_is_what_blocks_is_told(deep):
    blocked = deep.blocked()
    assert (blocked["low"] <= blocked["share"]).all()
    assert (blocked["share"] == blocked["people"] / blocked["of"]).all()
    assert (blocked["high"] - blocked["low"] > 0.1).all()
    rows = pd.read_csv(io.StringIO(deep.to_csv())).query("about == 'would open a way'")
    assert rows["low"].tolist() == pytest.approx(blocked["low"].tolist())


@pytest.mark.parametrize(
    ("feature", "texts", "values"),
    [
        (Feature("c", "category", values=("a", "b"), missing=(-9,)), ["a", "-9"], ["a", -9]),
        (Feature("c", "category", values=(1, 2), missing=("?",)), ["1", "?"], [1, "?"]),
        (Feature("c", "category", values=(" a", "b")), [" a", "b"], [" a", "b"]),
    ],
)
def test_values_that_answers_hold_as_text_are_read_again(feature, texts, values, tmp_path):
    assert [meant(text, feature) for text in texts] == values
    schema = Schema((*folders.INCOME, feature))
    frame = folders.made_up({"a": (2, 1.0, 0, 0, 1)}, np.random.default_rng(0))
    folders.write(tmp_path / "x", frame.assign(**{"from.c": texts, "to.c": texts}), schema)
    people = _people(BatchFolder.read(tmp_path / "x"), {0, 1})
    assert [people[row]["c"] for row in (0, 1)] == values


def test_cost_functions_are_given_again_or_the_model_is_not_asked(loans, tmp_path):
    place, model = loans
    first = BatchFolder.read(place / "answers")
    own = [f"from.{name}" for name in first.schema.names]
    X = pd.read_parquet(first.path / "part-00000.parquet", columns=own).head(40)
    X.columns = list(first.schema.names)
    cost = Cost.named("l1", functions={"housing": lambda own, new: 1000.0 * (own != new)})
    asked = Recourse(model, first.schema, cost)
    folders.from_answers(tmp_path / "x", asked, X, 0.65, node_limit=5000)
    done = run(tmp_path / "x", "--by", "old", "--model", place / "model.safetensors")
    assert done.exit_code == 2
    assert "in Python give the cost too" in done.stderr
    with pytest.raises(ValueError, match="give the cost of the batch"):
        Audit.of(tmp_path / "x", "old", model=model, cost=Cost.named("l1"))
    with pytest.raises(ValueError, match="give it too"):
        Audit.of(tmp_path / "x", "old", cost=cost)
    audit = Audit.of(tmp_path / "x", "old", model=model, cost=cost, sample=40, draws=100)
    assert audit.cost == "L1, with functions of your own"
    own = audit.table().query("measure == 'mean_cost'")["value"].to_numpy()
    again = audit.levels().query("confidence == 0.65")["mean_cost"].to_numpy()
    np.testing.assert_allclose(own, again)
    assert own.max() > 100


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Question(confidence=0.65, mode="band", tolerance=0.05), "a confidence of 0.65 ± 0.05"),
        (
            Question(confidence=0.65, min_radius=0.02, node_limit=500),
            "a confidence of at least 0.65, kept at 0.5 or more within a radius of 0.02",
        ),
        (Question(confidence=0.65, engine="tpe", n_trials=20), "a confidence of at least 0.65"),
        (Question(mode="argmax"), "more confidence than in any other class"),
    ],
    ids=["band", "radius", "tpe", "argmax"],
)
def test_all_that_a_batch_asked_is_told_and_asked_again(asked, words, loans, tmp_path):
    batched(loans, asked, tmp_path)
    model = ("--model", loans[0] / "model.safetensors", "--sample", 2)
    done = run(
        tmp_path / "x", "--by", "old", *(() if asked.mode == "argmax" else model),
        "--bootstrap", 100, "--html", tmp_path / "a.html",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert f"Target: {words}. Cost" in " ".join(done.stdout.split())
    assert f"with {words}?" in " ".join((tmp_path / "a.html").read_text().split())


def test_by_a_plausibility_test_the_model_is_not_asked_again(loans, tmp_path):
    batched(loans, Question(confidence=0.65, plausible=lambda rows: rows["debt"] >= 0), tmp_path)
    assert "plausible" in Audit.of(tmp_path / "x", "old", draws=100).target
    with pytest.raises(ValueError, match="whose rows no batch holds, .* audit without the model"):
        Audit.of(tmp_path / "x", "old", model=loans[1])


def batched(loans, asked, place):
    """What a batch writes of some people who are asked about so."""
    folder = BatchFolder.read(loans[0] / "answers")
    own = [f"from.{name}" for name in folder.schema.names]
    X = pd.read_parquet(folder.path / "part-00000.parquet", columns=own).head(12)
    X.columns = list(folder.schema.names)
    X.to_parquet(place / "people.parquet", index=False)
    schema = folder.schema.update("income", upper=99)
    recourse = Recourse(loans[1], schema)
    batch.run(recourse, place / "people.parquet", place / "x", asked, radius=False, n_jobs=1)


def test_another_model_is_refused(loans, patients):
    place, _ = loans
    other = paper_machine(epochs=2, random_state=3).fit(*patients)
    with pytest.raises(ValueError, match="give the model that the batch asked"):
        Audit.of(place / "answers", "sex", model=other)


# ---------------------------------------------------------------- what people read


def test_the_page_shows_names_and_runs_none(tmp_path):
    evil = "<script>alert(1)</script>"
    groups = {evil: (80, 0.6, 0.2, 0, 1.0), "=1+1": (90, 0.6, 0.2, 0, 1.0)}
    frame = folders.made_up(groups, np.random.default_rng(0))
    frame = frame.rename(columns={"group": "<b>by</b>"})
    folders.write(tmp_path / "x", frame, folders.INCOME)
    audit = Audit.of(tmp_path / "x", "<b>by</b>", draws=100)
    html = audit.page().html()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert html.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r'(src|href)="http', html)
    rows = list(csv.reader(io.StringIO(audit.to_csv())))
    cells = [cell for row in rows for cell in row]
    assert "'=1+1" in cells
    assert not any(cell.startswith(("=", "@", "+")) for cell in cells)


@given(st.text(st.characters(exclude_characters="\r"), max_size=8))
def test_no_text_of_a_table_begins_like_a_formula(text):
    ((told,),) = csv.reader(io.StringIO(as_csv(pd.DataFrame({text: []})), newline=""))
    assert not told.startswith(FORMULA)
    assert told.removeprefix("'") == text.removeprefix("'")


def test_the_page_says_what_it_does_not_show(deep):
    page = deep.page(organisation="North Bank")
    text = page.text()
    for words in ("about the model, not about the world", "does not prove discrimination",
                  "Bonferroni", "of two in the middle the lower", "Bayesian bootstrap", "proved",
                  "WHAT STANDS IN THE WAY", "WHAT MORE CONFIDENCE TAKES",
                  "North Bank"):  # fmt: skip
        assert words in " ".join(text.split()), words
    assert page.html().count("<figure>") == 8


def test_pictures_of_any_number_of_groups(deep, tmp_path):
    many = {f"group {at}": (60, 0.6, 0.2, 0, 1.0) for at in range(7)}
    frame = folders.made_up(many, np.random.default_rng(0))
    audit = Audit.of(folders.write(tmp_path / "x", frame, folders.INCOME), "group", draws=100)
    assert len(draw_curves(curves_info(audit))) == 6
    assert len(draw_asked(asked_info(audit))) == 7
    forest = draw_forest(forest_info(audit))
    assert [label.get_text() for label in forest[0].get_yticklabels()] == list(many)[1:]
    (together,) = draw_curves(curves_info(deep))
    shares = {each.group.name: each.curve.share for each in deep.parts[0].groups}
    for line, name in zip(together.lines, shares, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), shares[name])
    upper, lower = draw_levels(levels_info(deep))
    assert len(upper.lines) == len(lower.lines) == 2
    with pytest.raises(ValueError, match="did not ask the model"):
        levels_info(audit)


def test_of_many_groups_those_with_the_most_refused_are_drawn(tmp_path):
    many = {f"group {at:02}": (20 + at, 1.0, 0.2, 0, 1.0) for at in range(20)}
    frame = folders.made_up(many, np.random.default_rng(0))
    audit = Audit.of(folders.write(tmp_path / "x", frame, folders.INCOME), "group", draws=100)
    largest = list(many)[7:]
    for info in (curves_info(audit), asked_info(audit)):
        assert list(info.groups) == largest
        assert info.left_out == 7
    assert [*forest_info(audit).groups] == largest[:-1]
    shares = intervals.share(1, 5, 100, np.random.default_rng(0))
    steps = (SampledStep(0.7, shares, shares, shares, shares),)
    asked = tuple(Sampled(name, 5, steps, 0, {}, Some(0, shares), Some(0, shares)) for name in many)
    deeper = dataclasses.replace(audit, parts=(dataclasses.replace(audit.parts[0], sampled=asked),))
    assert list(levels_info(deeper).groups) == list(many)[-5:]
    assert levels_info(deeper).left_out == 15
    title = draw_curves(curves_info(audit))[0].figure.get_suptitle()
    assert "without 7 smaller groups" in title.replace("\n", " ")  # a long title breaks into lines


def test_a_group_of_which_nothing_is_known_has_no_row(table, tmp_path):
    frame = table.copy()
    frame.loc[frame["group"] == "few", "refused"] = None
    audit = Audit.of(folders.write(tmp_path / "x", frame, folders.INCOME), "group", draws=100)
    assert audit.counts().set_index("group")["unknown"]["few"] > 0
    assert "few" not in forest_info(audit).groups
    done = run(tmp_path / "x", "--by", "group", "--bootstrap", 100)
    row = next(line for line in done.stdout.split("half of")[1].splitlines() if "few" in line)
    assert "never" not in row
    assert row.split()[-1] == row.split()[-2] == "–"


def test_numbers_with_their_intervals_are_not_broken_and_long_names_are_cut(tmp_path):
    numbers = ("+0.953 (0.8561234 to 1.0612345) *", "<0.1% (<0.1 to 100.0)")
    grid = TableBlock(("a name that is rather long", "mean", "share"), (("a", *numbers),))
    assert grid.wide == (True, False, False)
    name = "a very long name of a group " * 10
    groups = {name: (80, 0.6, 0.2, 0, 1.0), "b": (90, 0.6, 0.2, 0, 1.0)}
    frame = folders.made_up(groups, np.random.default_rng(0))
    audit = Audit.of(folders.write(tmp_path / "x", frame, folders.INCOME), "group", draws=100)
    html = audit.page(pictures=False).html()
    assert html.count(name.strip()) == 1
    assert html.count("a very long name of…") > 3


def test_headings_fit_a_narrow_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    groups = {f"{name} name of a group that is long": (1100, 1.0, 0.0, 0, 1e4) for name in "ab"}
    groups["c"] = (20, 1.0, 0.0, 0, 1e4)
    frame = folders.made_up(groups, np.random.default_rng(0))
    folders.write(tmp_path / "x", frame, folders.INCOME)
    lines = run(tmp_path / "x", "--by", "group", "--bootstrap", 100).stdout.splitlines()
    assert any(line.rstrip().endswith("open") for line in lines)
    assert any(line.rstrip().endswith("changes") for line in lines)
    assert max(map(len, lines)) <= 80


@given(st.integers(0, 5000), st.integers(1, 5000))
def test_only_nobody_is_0_and_only_everybody_100_percent(k, more):
    n = k + more
    for some, rest in ((k, more), (more, k)):
        told = points(some / n)
        assert (told == "0") == (some == 0)
        assert (told == "100") == (rest == 0)
        assert told[0] in "<>" or abs(float(told) - 100 * some / n) <= 0.05 + 1e-9
        assert (told == "<0.1") == (0 < some / n < 0.0005)


def test_one_of_many_without_a_way_is_seen(tmp_path):
    frame = folders.made_up({"a": (654, 1.0, 0.0, 0, 1.0)}, np.random.default_rng(0))
    frame.loc[7, ["status", "cost", "n_changes"]] = ["infeasible", np.nan, np.nan]
    more = pd.concat([frame, frame.assign(refused=False, status="already_met")])
    folders.write(tmp_path / "x", more, folders.INCOME)
    lines = run(tmp_path / "x", "--by", "group", "--bootstrap", 100).stdout.splitlines()
    row = next(line for line in lines if line.startswith("a ")).split()
    assert row[1:3] == ["1,308", "654"]
    assert [word for word in row if "%" in word] == ["50.0%", "99.8%", "0.2%", "0%"]
    assert row[6] == "(99–100)"


def test_where_nobody_is_refused_or_nobody_can_it_says_so(tmp_path):
    rng = np.random.default_rng(0)
    for name, shares, words in (
        ("none refused", (50, 0.0, 0.2, 0, 1.0), "Nobody is refused, so"),
        ("none can", (50, 1.0, 1.0, 0.0, 1.0), "Nobody who is refused can reach the target"),
    ):
        frame = folders.made_up({"a": shares, "b": shares}, rng)
        audit = Audit.of(folders.write(tmp_path / name, frame, folders.INCOME), "group", draws=100)
        assert words in audit.page().text()
        capped = forest_info(audit).measures["capped_cost"]
        assert capped == "cost of all refused, counted up to the cap"
        json.dumps(audit.to_dict(), allow_nan=False)


# ---------------------------------------------------------------- the command


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def test_the_command_writes_what_it_shows(loans, tmp_path):
    place, _ = loans
    page, sheet = tmp_path / "a.html", tmp_path / "a.csv"
    done = run(place / "answers", "--by", "sex", "--by", "income", "--bands", "income=25,30",
               "--reference", "sex=man", "--model", place / "model.safetensors", "--sample", 4,
               "--bootstrap", 100, "--html", page, "--csv", sheet)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "25 to under 30" in done.stdout
    assert "proves no discrimination" in " ".join(done.stdout.split())
    assert "<figure>" in page.read_text()
    table = pd.read_csv(sheet)
    assert {"count", "group", "difference", "ratio", "reach at a confidence"} <= set(table["about"])
    told = json.loads(run(place / "answers", "--by", "sex", "--bootstrap", 100, "--json").stdout)
    assert sum(row["people"] for row in told["counts"]) == told["people"] == 160


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--by", "sexx"], "did you mean 'sex'?"),
        (["--by", "row"], "no column 'row'"),
        (["--by", "sex", "--bands", "25,30"], "not all numbers"),
        (["--by", "housing", "--bands", "25,30"], "not numbers"),
        (["--by", "income", "--bands", "30,25"], "expected edges that rise"),
        (["--by", "income", "--bands", "q99"], "q4 for four bands"),
        (["--by", "income", "--bands", "x,y"], "expected numbers that rise"),
        (["--by", "income", "--by", "debt", "--bands", "3"], "of which column?"),
        (["--by", "income", "--bands", "debt=3"], "not among the groups"),
        (["--by", "sex", "--reference", "sex=men"], "did you mean 'man'?"),
        (["--by", "sex", "--reference", "age=old"], "not among the groups"),
        (["--by", "sex", "--reference", "man"], "expected COLUMN="),
        (["--by", "sex", "--cross"], "at least two columns"),
        (["--by", "sex", "--html", "/nowhere/a.html"], "does not exist"),
    ],
)
def test_what_is_given_wrongly_is_told(loans, arguments, words):
    done = run(loans[0] / "answers", *arguments)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_feature_is_meant_by_its_label_too_and_a_kept_column_first(table, tmp_path):
    schema = folders.INCOME.update("income", label="money").update("debt", label="group")
    folders.write(tmp_path / "x", table, schema)
    done = run(tmp_path / "x", "--by", "money", "--by", "group", "--bands", "money=30",
               "--reference", "money=under 30", "--bootstrap", 100, "--json")  # fmt: skip
    told = json.loads(done.stdout)
    assert [part["reference"] for part in told["parts"]] == ["under 30", "a"]
    same = schema.update("debt", label="money")
    folders.write(tmp_path / "y", table, same)
    done = run(tmp_path / "y", "--by", "money")
    assert done.exit_code == 2
    assert "several features are labelled 'money'" in done.stderr


@pytest.mark.parametrize(("columns", "shown"), [(["group"], ""), (["group", "place"], "groups")])
def test_many_groups_have_a_bar(table, tmp_path, columns, shown):
    frame = table.assign(place=np.resize([*"abcdefgh"], len(table)))
    folders.write(tmp_path / "x", frame, folders.INCOME)
    crossed = ["--cross"] if len(columns) > 1 else []
    by = [word for name in columns for word in ("--by", name)]
    done = run(tmp_path / "x", *by, *crossed, "--bootstrap", 100, "--json")
    assert done.stderr.strip().partition(" ")[0] == shown
    json.loads(done.stdout)


def test_a_folder_that_is_none_is_told(tmp_path, table):
    assert "wrote" in run(tmp_path / "nowhere", "--by", "x").stderr
    assert "no batch was begun there" in run(tmp_path, "--by", "x").stderr
    (tmp_path / "_batch.json").write_text("{}")
    assert "not the manifest of a batch" in run(tmp_path, "--by", "x").stderr
    (tmp_path / "_batch.json").write_text("{")
    assert "damaged" in run(tmp_path, "--by", "x").stderr
    folder = folders.write(tmp_path / "x", table, folders.INCOME, parts=3)
    (folder / "part-00001.parquet").write_bytes(b"PAR1 but not really")
    done = run(folder, "--by", "group")
    assert "part-00001.parquet" in done.stderr
    assert "start the same batch again" in done.stderr
    (folder / "part-00001.parquet").unlink()
    assert "1 of 3 parts are not there yet" in run(folder, "--by", "group").stderr
    assert run(folder, "--by", "group").exit_code == 2


def test_too_many_groups_are_refused_with_advice(table, tmp_path):
    frame = table.assign(name=[f"person {at:04}" for at in range(len(table))])
    folders.write(tmp_path / "x", frame, folders.INCOME)
    with pytest.raises(ValueError, match="take a coarser column") as told:
        Audit.of(tmp_path / "x", "name")
    least = "more than 24 different values, such as 'person 0000', 'person 0001', 'person 0002'; "
    assert least in str(told.value)


def test_nothing_to_group_by_is_told(folder):
    with pytest.raises(ValueError, match="no protected feature; name a column"):
        Audit.of(folder)


def test_an_odd_status_is_refused(table, tmp_path):
    frame = table.assign(status="perhaps")
    folders.write(tmp_path / "x", frame, folders.INCOME)
    with pytest.raises(ValueError, match="the status 'perhaps'"):
        Audit.of(tmp_path / "x", "group")
