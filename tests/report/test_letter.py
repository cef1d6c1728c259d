"""The letter and the evidence report: plain words, true numbers, harmless names, one page."""

from __future__ import annotations

import datetime
import hashlib
import io
import itertools
import json
import math
import re
import sys
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader
from pypdf import PdfReader
from typer.testing import CliRunner

from browsing import CHROMIUM, NO_BROWSER, chromium
from trust_recourse import (
    AtMost,
    Certificate,
    Feature,
    NearNeighbours,
    Recourse,
    Result,
    Schema,
    Status,
    Target,
    evidence,
    letter,
    model_report,
    verify,
)
from trust_recourse.cli import app
from trust_recourse.io.wording import distance, floored
from trust_recourse.question import Point, Question
from trust_recourse.report import content
from trust_recourse.report.content import TableBlock
from trust_recourse.report.letter.phrasing import out_of_100
from worlds import paper_machine

GIVEN = {
    "organisation": "Meadow Clinic",
    "contact": "Ann Lee, 555 0100",
    "valid_until": "2027-01-31",
    "dated": "2026-11-15",
}
REFUSED = {"age": 60, "year": 62, "nodes": 30}
ACCEPTED = {"age": 34, "year": 60, "nodes": 0}
JARGON = (
    "rule", "clause", "literal", "automaton", "tsetlin", "classifier", "class", "feature",
    "counterfactual", "recourse", "optimal", "feasible", "infeasible", "certificate", "threshold",
    "calibrat", "probabilit", "schema", "predict", "mutable", "immutable", "constraint", "engine",
    "cost", "radius", "robust", "sigma", "tau", "epsilon", "norm", "encoded", "json", "python",
)  # fmt: skip
HOSTILE = '<script>alert(1)</script> & "x" \'*b*\' #panic("no") $1$ \\ @ref'


@pytest.fixture(scope="module")
def schema(patients):
    return Schema.infer(patients[0]).lock("age", "year").update("nodes", direction="decrease")


@pytest.fixture(scope="module")
def recourse(model, schema):
    return Recourse(model, schema)


@pytest.fixture(scope="module")
def offered(recourse):
    return letter(recourse.find(REFUSED, [0.5, 0.7, 0.99]), person="Maria", **GIVEN)


@pytest.fixture(scope="module")
def stuck(model, schema):
    tight = Recourse(model, schema.update("nodes", max_change=2))
    return tight.find(REFUSED, 0.5)


def flat(document):
    return " ".join(document.text().split())


def pages(printed, folder):
    """The text of each page of the PDF."""
    printed.pdf(folder / "printed.pdf")
    return [page.extract_text() for page in PdfReader(folder / "printed.pdf").pages]


class Seen(HTMLParser):
    """What a browser would show, and the tags and attributes that it was told to."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words = set(), set(), []
        self.feed(page)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.words.append(data)


# ------------------------------------------------------------------ numbers


def test_every_offer_is_allowed_and_gives_at_least_the_confidence_it_promises(model, patients):
    X, _ = patients
    schema = Schema.infer(X, guard=False).lock("age").update("nodes", direction="decrease")
    free = Recourse(model, schema)
    refused = X[free.confidences(schema.encode(X)) < 0.5].head(12)
    judged = 0
    for _, x in refused.iterrows():
        made = letter(free.find(x, [0.5, 0.6, 0.75], n_options=2), **GIVEN)
        assert not made.accepted
        assert len(made.offers) <= 3
        for offer in made.offers:
            promised = model.predict_proba(pd.DataFrame([offer.row]))[0, 1]
            assert promised >= offer.confidence / 100
            assert promised >= 0.5
            assert schema.action_set(x).allows(offer.row)
            shown = {name: int(after) for name, (_, after) in offer.changes.items()}
            read_back = pd.DataFrame([x.to_dict() | shown])  # what a person reads off the page
            assert model.predict_proba(read_back)[0, 1] == promised
            assert f"{offer.confidence} out of 100" in made.text()
            judged += 1
        costs = [
            free.cost.between(
                schema.features, schema.action_set(x).own, schema.action_set(offer.row).own
            )
            for offer in made.offers
        ]  # fmt: skip
        assert costs == sorted(costs)
    assert judged >= 20


def test_every_whole_confidence_is_written_as_it_is():
    for k in range(101):
        assert out_of_100(k / 100) == str(k)
        if k:
            assert out_of_100(np.nextafter(k / 100, 0)) == str(k - 1)


@given(
    confidence=st.floats(0, 1),
    levels=st.lists(st.floats(0, 1) | st.sampled_from([0.5, 0.85, 0.8531]), max_size=3),
    near=st.integers(-2, 2),
    digits=st.integers(0, 4),
)
def test_a_confidence_is_never_rounded_up_nor_below_a_level_that_it_reaches(
    confidence, levels, near, digits
):
    for level in levels if near else ():  # so near that few digits would not tell them apart
        confidence = min(max(level + near * 1e-7, 0.0), 1.0)
    told = floored(confidence, levels, digits)
    assert Decimal(told) <= Decimal(repr(confidence))
    for level in levels:
        assert (Decimal(told) >= Decimal(repr(level))) == (confidence >= level)
    assert len(told) <= 2 + digits or levels
    assert Decimal(out_of_100(confidence, levels)) <= 100 * Decimal(repr(confidence))


def test_the_letter_tells_a_yes_from_a_no_however_near(model, schema):
    now = Recourse(model, schema).confidence(REFUSED)
    for line, answer in ((now - 1e-4, "yes"), (now + 1e-4, "no")):
        threshold = round(line, 6)
        made = letter(
            Recourse(model, schema, decision_threshold=threshold).find(REFUSED, 0.5), **GIVEN
        )
        found = re.search(
            r"From ([\d.]+) on the answer is yes. For you the confidence is ([\d.]+) out",
            flat(made),
        )
        assert f"Its answer is {answer}" in flat(made)
        assert Decimal(found[1]) == 100 * Decimal(repr(threshold))
        assert (Decimal(found[2]) >= Decimal(found[1])) == made.accepted


def test_reasons_without_other_applicants_are_shares_in_the_way_to_the_nearest_yes(
    recourse, patients
):
    X, _ = patients
    schema = recourse.schema
    refused = X[recourse.confidences(schema.encode(X)) < 0.5].head(8)
    judged = 0
    for _, x in refused.iterrows():
        result = recourse.find(x, 0.5)
        made = letter(result, **GIVEN)
        way = result.options[0]
        shares = dict(zip(schema.names, result.explain(0).feature_shares, strict=True))
        short = {name: share for name, share in shares.items() if share > 0}
        least = 0.05 * sum(short.values())
        expected = sorted((n for n in short if short[n] >= least), key=lambda n: -short[n])[:4]
        assert [r.feature.name for r in made.reasons] == expected
        for reason in made.reasons:
            assert reason.weight == pytest.approx(shares[reason.feature.name], abs=1e-12)
            assert reason.feature.name in way.changes
        assert sum(made.shortfall.scores) == pytest.approx(made.shortfall.gap)
        assert made.method == "nearest-yes"
        assert made.record()["reference_rows"] is None
        judged += len(made.reasons)
    assert judged >= 8


def test_no_bound_of_the_schema_makes_a_reason(model, patients):
    near = Schema.infer(patients[0], guard=False)
    far = near.update("nodes", upper=5200).update("age", upper=8300).update("year", lower=-6000)
    told = [letter(Recourse(model, schema).find(REFUSED, 0.5), **GIVEN) for schema in (near, far)]
    first, second = ([(r.feature.name, r.weight) for r in made.reasons] for made in told)
    assert first == second
    stuck = far.update("nodes", max_change=1).lock("age", "year")
    alone = letter(Recourse(model, stuck).find(REFUSED, 0.99), **GIVEN)
    assert (alone.reasons, alone.offers) == ((), ())
    assert "We did not compare you with other applicants, and we know no change" in flat(alone)
    assert "None can be told" in flat(evidence(Recourse(model, stuck).find(REFUSED, 0.99)))


def test_of_a_model_that_tells_no_shares_the_reasons_are_what_the_change_replaces():
    schema = Schema((Feature("a", "boolean"), Feature("b", "boolean"), Feature("c", "boolean")))
    both = Recourse(lambda rows: np.where(rows["a"] & rows["b"], 0.9, 0.2), schema)
    result = both.find({"a": False, "b": False, "c": False}, 0.5, engine="spheres")
    made = letter(result, **GIVEN)
    assert {r.feature.name for r in made.reasons} >= {"a", "b"}
    assert all((r.weight, r.side) == (0, "low") for r in made.reasons)
    assert made.shortfall is None
    assert "yes to somebody who is as you are but for the first change below" in flat(made)
    assert "The model does not tell what it is made of" in flat(evidence(result, pictures=False))


def test_what_may_not_change_can_be_a_reason_but_is_never_suggested(model, patients):
    X, _ = patients
    schema = Schema.infer(X, guard=False).update("nodes", protected=True).lock("age")
    result = Recourse(model, schema).find(REFUSED, 0.5)
    how = {**GIVEN, "protected_reviewed": ["nodes"], "reviewed_by": "Jo Doe"}
    made = letter(result, **how, reference=X)
    assert made.reasons[0].feature.name == "nodes"
    assert "A protected characteristic is among these: nodes." in flat(made)
    assert "We did not look at changes of age and nodes." in flat(made)
    assert all("nodes" not in offer.changes for offer in made.offers)


# ------------------------------------------------------------------ what is said


def test_the_letter_says_all_that_it_must(offered):
    text = flat(offered)
    for said in (
        "Meadow Clinic 15 November 2026 Maria",
        "Its answer is no",
        f"For you the confidence is {offered.confidence} out of 100",
        "THE MAIN REASONS",
        "With any one of these two changes the model would say yes",
        "It is proved that no smaller change that is allowed reaches 50 out of 100",
        "No allowed change reaches 99 out of 100; that is proved",
        "This offer holds until 31 January 2027",
        "about the model, not about the world",
        "The model knows 3 values of yours, and nothing else about you",
        "We did not look at changes of age and year",
        "age: 60; year: 62; nodes: 30.",
        "please ask: Ann Lee, 555 0100",
    ):
        assert said in text, said
    assert offered.valid_until == datetime.date(2027, 1, 31)
    assert repr(offered) == offered.text()


def test_nothing_within_reach_is_told_with_the_most_and_the_limit_that_matters(stuck):
    assert stuck.status[next(iter(stuck.status))] is Status.INFEASIBLE
    made = letter(stuck, **GIVEN)
    text = flat(made)
    assert made.offers == ()
    assert "Nothing that you may change reaches the 50 out of 100 that a yes takes" in text
    assert f"The most that you can reach is {out_of_100(stuck.max_confidence.most)} out of" in text
    first = stuck.binding().iloc[0]
    assert first["if"] == "nodes may change by more than 2"
    limit = f"if {first['if']}, {out_of_100(first['reachable'])} out of 100 would be within reach"
    assert limit in text
    assert "You are not asked to go beyond it" in text


def test_a_relation_that_holds_one_back_is_told_in_words(model, schema):
    bound = Recourse(model, Schema(schema.features, (AtMost("year", "nodes"),)))
    result = bound.find(REFUSED, 0.5)
    first = result.binding().iloc[0]
    assert first["if"] == "it were not required that year must be at most nodes"
    text = flat(letter(result, **GIVEN))
    reached = out_of_100(first["reachable"])
    assert f"that year must be at most nodes. Without it, {reached} out of 100" in text
    assert "which is where you are" in text
    assert "<=" not in text


@pytest.mark.parametrize("asked", [0.4, 0.99, [0.2, 0.99]])
def test_where_nothing_asked_for_is_a_yes_the_cheapest_yes_is_offered(recourse, asked):
    result, cheapest = recourse.find(REFUSED, asked), recourse.find(REFUSED, 0.5).options[0]
    assert all(option.confidence < 0.5 for option in result.options)
    made = letter(result, **GIVEN)
    assert made.offers[0].row == dict(cheapest.x)
    assert "no smaller change that is allowed reaches 50 out of 100" in flat(made)
    if asked == 0.4:
        assert len(made.offers) == 1
    else:
        assert "No allowed change reaches 99 out of 100; that is proved." in flat(made)
        assert "The last is the most that is within reach." in flat(made)
        assert made.offers[-1].row == dict(result.max_confidence.x)


def test_without_proof_too_the_cheapest_yes_that_is_found_is_offered():
    schema = Schema((Feature("a", lower=0, upper=1, step=0.01),))
    steep = Recourse(lambda rows: 0.9 * rows["a"], schema)
    made = letter(steep.find({"a": 0.1}, 0.99, engine="spheres"), **GIVEN)
    assert 0.5 <= steep.confidence(made.offers[0].row) < 0.6
    assert "For 99 out of 100 no change was found; there may be one." in flat(made)
    assert "proved" not in made.text()


def test_an_accepted_person_need_not_change_anything(recourse):
    made = letter(recourse.find(ACCEPTED, 0.5), **GIVEN)
    assert made.accepted
    assert made.reasons == made.offers == ()
    assert "Its answer is yes" in flat(made)
    assert "you need not change anything" in flat(made)
    assert "MAIN REASONS" not in made.text()


def test_an_accepted_person_may_be_offered_a_firmer_yes(model, patients):
    X, _ = patients
    free = Recourse(model, Schema.infer(X, guard=False))
    x = next(x for _, x in X.iterrows() if 0.5 <= free.confidence(x) < 0.6)
    made = letter(free.find(x, [0.5, 0.7]), **GIVEN)
    assert made.accepted
    assert made.offers[0].confidence >= 70
    assert "would make the model more confident" in flat(made)


def test_nothing_found_without_proof_is_said_so():
    schema = Schema((Feature("a", lower=0, upper=1, step=0.1),))
    never = Recourse(lambda rows: np.full(len(rows), 0.2), schema)
    made = letter(never.find({"a": 0.5}, 0.5, engine="spheres"), **GIVEN)
    assert "We found no allowed change that makes it a yes. There may be one" in flat(made)
    assert "So none of your values is named here" in flat(made)
    assert "proved" not in made.text()


def test_what_else_was_asked_of_a_change_is_not_forgotten(recourse):
    safe = letter(recourse.find(REFUSED, [0.5, 0.9], min_radius=0.02), **GIVEN)
    assert safe.offers
    assert "proved that no smaller" not in flat(safe)
    assert "reaches 90 out of 100 and meets all else that was asked of it; that is" in flat(safe)
    none = letter(recourse.find(REFUSED, 0.5, min_radius=5.0), **GIVEN)
    assert none.offers == ()
    assert "no allowed change that makes it a yes and meets all else that was asked" in flat(none)


def test_options_below_the_decision_are_no_offers(model, schema):
    strict = Recourse(model, schema, decision_threshold=0.75)
    result = strict.find(REFUSED, [0.5, 0.75])
    assert {o.target.confidence for o in result.options} == {0.5, 0.75}
    made = letter(result, **GIVEN)
    assert [offer.confidence >= 75 for offer in made.offers] == [True]
    assert "From 75 on the answer is yes" in flat(made)


def test_an_option_below_the_decision_has_no_radius_in_the_evidence(model, schema):
    strict = Recourse(model, schema, decision_threshold=0.75)
    result = strict.find(REFUSED, [0.5, 0.75])
    text = flat(evidence(result, certificates=False, pictures=False))
    assert re.search(r"confidence: 0\.5\d+, still refused; radius: –; noise: –", text)
    assert re.search(r"certified radius – \(still refused\) 0\.\d+", text)
    assert "has no approval to measure" in text


def test_three_options_stand_in_columns_of_a_text_page():
    now = ("payment in September", "NT$120,000", "NT$2,000", "as now", "as now")
    sure = ("the model’s confidence", *["71 out of 100"] * 4)
    table = TableBlock(("", "now", "option 1", "option 2", "option 3"), (now, sure), total=True)
    lines = table.lines()
    assert max(map(len, lines)) <= 78
    assert lines[0].endswith("option 3")
    assert lines[1].split() == ["payment", "in", "NT$120,000", "NT$2,000", *["as", "now"] * 2]
    assert lines[2] == "September"
    assert " ".join(" ".join(lines).split()).count("71 out") == 4
    wide = TableBlock(table.head, (("x" * 60, *["y" * 12] * 4),))
    assert not any(line.endswith("option") for line in wide.lines())


def test_a_needless_change_is_not_offered(recourse, offered):
    result = recourse.find(REFUSED, [0.5, 0.5 + 1e-6])
    assert len(result.options) == 2
    assert len(letter(result, **GIVEN).offers) == 1


def test_no_jargon_no_rule_numbers_no_greek(offered, recourse, stuck, thirty):
    accepted = letter(recourse.find(ACCEPTED, 0.5), **GIVEN)
    for made in (offered, accepted, letter(stuck, **GIVEN), letter(thirty[0], **GIVEN)):
        words = re.findall(r"[^\W\d_]+", made.text().lower())
        assert len(words) > 150
        found = [
            w for w in words if any(re.match(rf"{bad}(s|ed|ity|ies|y)?$", w) for bad in JARGON)
        ]
        assert not found
        assert not re.search(r"[\u0370-\u03ff≤≥≠→±]", made.text())


def test_missing_values_categories_and_units_are_written_as_the_schema_does(mixed):
    X, y = mixed
    X = X.assign(income=X["income"].where(X.index % 5 > 0, -9.0))
    schema = (
        Schema.infer(X, missing={"income": (-9.0,)})
        .update("income", unit="€", label="monthly income")
        .update("housing", label="how you live")
    )
    model = paper_machine(schema=schema, epochs=10, random_state=0).fit(X, y)
    free = Recourse(model, schema, wanted="yes")
    missing = X[X["income"] == -9.0]
    x = missing.iloc[int(free.confidences(schema.encode(missing)).argmin())]
    made = letter(free.find(x, [0.5, 0.7]), **GIVEN)
    assert "monthly income: missing;" in flat(made)
    assert made.offers
    for offer in made.offers:
        assert free.confidence(offer.row) >= offer.confidence / 100
    described = {
        name: (schema.describe(name, x[name]), schema.describe(name, value))
        for name, value in made.offers[0].row.items()
    }
    for name, change in made.offers[0].changes.items():
        assert described[name] == change


@pytest.mark.parametrize(
    "limit", [{"direction": "increase"}, {"max_change": 5}, {"mutable": False}]
)
def test_a_value_that_must_stay_missing_is_named_and_may_be_supplied(limit):
    income = Feature("income", lower=0, upper=90, missing=(-9.0,), **limit)
    schema = Schema((income, Feature("rooms", "integer", lower=0, upper=5)))
    poor = Recourse(lambda rows: 0.2 + 0.4 * (rows["income"] > 0) + 0.07 * rows["rooms"], schema)
    result = poor.find({"income": -9.0, "rooms": 0}, 0.5, engine="spheres")
    text = flat(letter(result, **GIVEN))
    assert "We did not look at changes of income." in text
    assert "income is missing. If you give us the value, the answer may change." in text
    assert repr(schema.action_set(result.factual)).splitlines()[0] == "income: missing, fixed"


# ------------------------------------------------------------------ names

LONG_NAMES = ("n" * 80 + "a", "n" * 80 + "b")
LABELS = ("income", "of the year " * 7, "of the year " * 6 + "and so on", "a", "b (2)", "b")


@given(
    names=st.permutations(["a", "b", "c", "d", *LONG_NAMES]).map(lambda names: names[:4]),
    labels=st.lists(st.sampled_from(["", *LABELS]), min_size=4, max_size=4),
    weights=st.lists(st.integers(1, 5), min_size=4, max_size=4),
)
def test_the_table_shows_just_what_each_option_changes(names, labels, weights):
    schema = Schema(
        tuple(
            Feature(name, "integer", label=label, lower=0, upper=9, unit="€", weight=1 + at)
            for at, (name, label) in enumerate(zip(names, labels, strict=True))
        )
    )
    steep = Recourse(
        lambda rows: (rows[names].to_numpy() @ weights) / (9.5 * sum(weights)), schema, "l1"
    )
    x = dict.fromkeys(names, 1)
    rows = [x | dict(zip(names[:2], (9, 8), strict=True)) | {names[3]: 8}, dict.fromkeys(names, 9)]
    action_set, factual = schema.person(x)
    options = tuple(
        steep.option(action_set, factual, Target(0.5), Point(schema.action_set(row).own, 0.0, 0.0),
                     Status.FEASIBLE, 0.0)
        for row in rows
    )  # fmt: skip
    options = tuple(o for o in options if o.confidence >= 0.5)
    result = Result(steep, factual, steep.confidence(x), options, {Target(0.5): Status.FEASIBLE})
    made = letter(result, **GIVEN)
    table = next(b for b in made.document.blocks if isinstance(b, content.TableBlock))
    used = next(b for b in made.document.blocks if isinstance(b, content.Text) and b.small)
    titles = [each.removesuffix(": €1") for each in used.text.removesuffix(".").split("; ")]
    named = dict(zip(titles, names, strict=True))
    assert sorted(row[0] for row in table.rows[:-1]) == sorted(named)
    options = sorted(options, key=lambda option: option.cost)
    for at, (option, offer) in enumerate(zip(options, made.offers, strict=True)):
        shown = {named[r[0]]: r[2 + at] for r in table.rows[:-1] if r[2 + at] != "as now"}
        assert shown == {name: f"€{new}" for name, (_, new) in option.changes.items()}
        assert shown == {name: new for name, (_, new) in offer.changes.items()}
        asked = x | {name: int(text.removeprefix("€")) for name, text in shown.items()}
        assert table.rows[-1][2 + at] == f"{out_of_100(steep.confidence(asked), [0.5])} out of 100"


# ------------------------------------------------------------------ harmless, on one page


@pytest.fixture(scope="module")
def thirty():
    """A person with 30 values, and every name of them hostile."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(50, 15, (200, 29)).round(1), columns=[f"x{i}" for i in range(29)])
    X["home"] = rng.choice(["own", HOSTILE], 200)
    score = sum((X[f"x{i}"] > 50).astype(int) for i in range(5)) + 2 * (X["home"] == "own")
    y = (score >= 4).astype(int)
    model = paper_machine(n_clauses=10, epochs=4, random_state=0).fit(X, y)
    schema = Schema.infer(X).lock(*(f"x{i}" for i in range(12, 26)))
    for i in range(29):
        schema = schema.update(f"x{i}", label=f"{HOSTILE} {i}", unit="<b>kg</b>")
    free = Recourse(model, schema)
    lost = X[X["home"] == HOSTILE]
    x = lost.iloc[int(free.confidences(schema.encode(lost)).argmin())]
    result = free.find(x, [0.5, 0.6, 0.7], time_limit=5.0)
    assert result.refused
    who = {**GIVEN, "person": HOSTILE, "organisation": HOSTILE}
    return result, letter(result, **who, reference=X)


def test_hostile_names_are_shown_not_run(thirty, tmp_path):
    result, made = thirty
    assert any("home" in offer.changes for offer in made.offers)
    told = evidence(result, organisation=HOSTILE, certificates=False, pictures=False)
    for printed in (made, told):
        seen = Seen(printed.html())
        assert not seen.tags & {"script", "b", "iframe", "link", "object"}
        assert (
            not {name for name in seen.attributes if name.startswith("on")}
            | {"href"} & seen.attributes
        )
        assert HOSTILE in seen.text
        assert "<b>kg</b>" in seen.text
        assert "<script" not in printed._repr_html_()
    page = "".join(pages(made, tmp_path)[0].split())
    assert '#panic("no")' in page.replace("\u200b", "")


@pytest.mark.parametrize("kind", ["offered", "stuck", "thirty", "long"])
def test_the_letter_is_one_page_and_says_the_same_in_every_form(kind, request, tmp_path):
    if kind == "thirty":
        made = request.getfixturevalue("thirty")[1]
    elif kind == "long":
        made = letter(
            request.getfixturevalue("stuck"),
            **{**GIVEN, "organisation": "M" * 120, "contact": "c" * 300},
            person="P" * 120, decision="d" * 120,
        )  # fmt: skip
    elif kind == "stuck":
        made = letter(request.getfixturevalue("stuck"), **GIVEN)
    else:
        made = request.getfixturevalue("offered")
    told = pages(made, tmp_path)
    assert len(told) == 1
    seen, page = Seen(made.html()).text, re.sub(r"[\s\u200b-]", "", told[0])
    judged = 0
    for block in made.document.blocks:
        if isinstance(block, (content.Heading, content.Text)):
            assert block.text in seen
            assert re.sub(r"[\s-]", "", block.text) in page.replace("ﬁ", "fi").replace("ﬀ", "ff")
            judged += 1
    assert judged >= 10


@pytest.mark.parametrize("letters", [71, 200, 300])
def test_a_long_label_stands_whole_in_every_form(model, patients, letters, tmp_path):
    label = ("the nodes that were found by whoever looked for them " * 6)[: letters - 1] + "z"
    schema = Schema.infer(patients[0]).update("nodes", label=label, direction="decrease")
    result = Recourse(model, schema).find({"age": 60, "year": 62, "nodes": 30}, confidence=0.5)
    made = letter(result, **GIVEN, reference=patients[0])
    assert "nodes" in made.offers[0].changes
    told = re.sub(r"[\s\u200b-]", "", pages(made, tmp_path)[0]).replace("ﬁ", "fi")
    for form in (made.text(), Seen(made.html()).text, told):
        assert "".join(label.split()) in "".join(form.split())
        assert "…" not in form
    longer = Recourse(model, schema.update("nodes", label="n" * 301))
    cut = letter(longer.find(result.factual, confidence=0.5), **GIVEN)
    assert f"{'n' * 299}…" in "".join(cut.text().split())


def test_a_letter_that_no_page_can_hold_is_refused_and_nothing_is_written(offered, tmp_path):
    long = content.Document(
        "A letter", datetime.date(2026, 1, 1), "", "", (content.Text("word " * 4000),), True
    )
    printed = content.Printed(long)
    (tmp_path / "kept.pdf").write_text("before")
    with pytest.raises(ValueError, match="does not fit on one page that can be read: shorten"):
        printed.pdf(tmp_path / "kept.pdf")
    assert (tmp_path / "kept.pdf").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.pdf"]


def test_html_needs_nothing_else_and_can_be_read_aloud(offered):
    page = offered.html()
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page
    assert '<html lang="en">' in page
    assert page.count("<h1>") == 1
    assert "<title>Your application: the model’s answer is no</title>" in page
    assert 'scope="col"' in page
    assert 'scope="row"' in page
    assert "@page { size: A4" in page


@pytest.mark.skipif(not CHROMIUM.exists(), reason=NO_BROWSER)
def test_a_letter_can_be_read_on_a_telephone_and_no_word_of_its_head_breaks(thirty, tmp_path):
    title = "Your application: the model’s answer is no"
    sender = "A bank of the North, Branch Office " * 3
    head = content.Document(title, datetime.date(2026, 11, 18), sender, "", ())
    names = ("now", "option 1", "option 2", "option 3")
    rows = [("the debt outstanding with all lenders", *("13,600 EUR",) * 4)] * 3
    table = content.TableBlock(("", *names), tuple(rows), total=True)
    (tmp_path / "letter.html").write_text(replace(head, blocks=(table,)).html())
    thirty[1].save(tmp_path / "thirty.html")
    with chromium() as browser:
        for file, width in itertools.product(("letter", "thirty"), (300, 360, 800)):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.goto((tmp_path / f"{file}.html").as_uri())
            beyond = "every => every.map(e => e.scrollWidth - e.clientWidth)"
            assert max(page.locator("html, .many").evaluate_all(beyond)) <= 0, (file, width)
            assert page.locator("time").bounding_box()["height"] < 20, "one line"
        page = browser.new_page(viewport={"width": 360, "height": 800})
        page.goto((tmp_path / "letter.html").as_uri())
        heads = "e => getComputedStyle(e, '::before').content"
        assert "option 2" in page.locator("td").nth(2).evaluate(heads)
        assert page.locator("thead").bounding_box()["width"] <= 1


def test_the_same_letter_gives_the_same_files(offered, tmp_path):
    made = []
    for name in ("one", "two"):
        for ending in ("pdf", "html", "txt"):
            offered.save(tmp_path / f"{name}.{ending}")
        made.append([(tmp_path / f"{name}.{e}").read_bytes() for e in ("pdf", "html", "txt")])
    assert made[0] == made[1]
    assert made[0][0].startswith(b"%PDF")


def test_control_characters_and_turned_text_are_cleared():
    assert content.clean("a\x00b\u202ec\n\td\ud800") == "a bc d"


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"organisation": " "}, "organisation=' '; expected text, not empty"),
        ({"contact": ""}, "contact=''; expected text, not empty"),
        ({"contact": 5}, "contact=5; expected text"),
        ({"person": "x" * 121}, "person: given 121 letters, expected at most 120"),
        ({"valid_until": "soon"}, "valid_until='soon'; expected a date, or text such as"),
        ({"valid_until": 3}, "valid_until=3; expected a date"),
        ({"valid_until": "2026-11-14"}, "2026-11-14 is before the letter's own day, 2026-11-15"),
        ({"decision": ""}, "decision=''; expected text, not empty"),
    ],
)
def test_what_is_given_wrong_is_said(stuck, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        letter(stuck, **{**GIVEN, **change})


def test_dates_may_be_given_as_dates(stuck):
    day = datetime.date(2027, 1, 31)
    moment = datetime.datetime(2026, 11, 15, 12, 30)
    assert letter(stuck, **{**GIVEN, "valid_until": day, "dated": moment}).valid_until == day
    assert letter(stuck, **{**GIVEN, "valid_until": "2999-01-01", "dated": None})


def test_without_typst_it_says_how_to_get_it(offered, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'trust-recourse\[pdf\]'"):
        offered.pdf(tmp_path / "a.pdf")
    assert not list(tmp_path.iterdir())
    offered.save(tmp_path / "a.html")


def test_another_ending_is_refused(offered, tmp_path):
    with pytest.raises(ValueError, match=r"expected a name that ends in \.pdf, \.html or \.txt"):
        offered.save(tmp_path / "a.docx")


# ------------------------------------------------------------------ the evidence report


@pytest.fixture(scope="module")
def answers(recourse):
    return recourse.find(REFUSED, [0.5, 0.7, 0.99])


@pytest.fixture(scope="module")
def told(answers, patients):
    report = model_report(paper_machine(n_clauses=6, epochs=3), *patients, folds=3)
    return evidence(
        answers, organisation="Meadow Clinic", report=report, verify=True,
        dated=datetime.date(2026, 11, 15),
    )  # fmt: skip


def test_the_dossier_holds_the_evidence(told, answers, model, tmp_path):
    text = flat(told)
    for said in (
        model.fingerprint_,
        "n_clauses=20",
        "logistic regression",
        "Principal reasons",
        "PRINCIPAL REASONS",
        "What is not proved",
        "nodes 30 →",
        "The highest reachable confidence is",
        "carried by",
        "option 2 costs",
        "By the search, and by an independent check",
    ):
        assert said.lower() in text.lower(), said
    seen = Seen(told.html()).text
    for rule in model.rules()["rule"]:
        assert rule in seen
    for at, option in enumerate(answers.options):
        assert f"{option.cost:.4g}" in seen
        assert distance(answers.radius(at)) in seen
        assert floored(option.confidence, [option.target.confidence]) in seen
    for target, proof in told.certificates.items():
        proof.save(tmp_path / "proof.json")
        assert hashlib.sha256((tmp_path / "proof.json").read_bytes()).hexdigest() in text
        assert verify(Certificate.load(tmp_path / "proof.json"), model)
        assert told.verdicts[target].startswith("holds")
    assert len(told.certificates) == 3
    assert "By the search alone" not in text
    assert re.search(r"discarded and checked: [^.]*\b\d+ by price\b", text)


def test_it_counts_the_rules_that_its_comparison_lists(told, answers):
    compared = answers.compare(0, 1).measured
    assert any(each.fragile for each in compared)
    found = re.findall(r"Option (\d) is carried by (\d+) rules?, (\d+) of them fragile", flat(told))
    assert found == [
        (str(at), str(len(m.carrying)), str(len(m.fragile))) for at, m in enumerate(compared, 1)
    ]


@pytest.mark.parametrize("ending", ["text", "html"])
def test_its_confidences_are_on_the_right_side_of_what_was_asked(model, schema, ending):
    result = Recourse(model, schema).find(REFUSED, 0.7)
    near = result.options[0].confidence - 1e-6
    strict = Recourse(model, schema, decision_threshold=near).find(REFUSED, 0.7)
    made = evidence(strict, certificates=False, pictures=False)
    assert floored(strict.options[0].confidence, [near], digits=4) in getattr(made, ending)()
    assert f"{near:.4f}" != floored(near, [near], digits=4)


def test_the_search_for_a_yes_asks_as_the_question_did(recourse, monkeypatch):
    own = {"n_trials": 30, "random_state": 5, "engine": "tpe", "gap": 0.1}
    result = recourse.find(REFUSED, 0.02, mode="band", tolerance=0.01, n_options=2, **own)
    seen, ask = [], Recourse.ask
    monkeypatch.setattr(Recourse, "ask", lambda *a, **b: seen.append(a[2]) or ask(*a, **b))
    letter(result, **GIVEN)
    assert seen == [Question(confidence=0.5, tolerance=0.01, **own)]
    exact = recourse.find(REFUSED, 0.02, mode="band", tolerance=0.01, node_limit=900, gap=0.2)
    letter(exact, time_limit=1.5, **GIVEN)
    limits = {"node_limit": 900, "time_limit": 1.5}
    assert seen[-1] == Question(confidence=0.5, tolerance=0.01, engine="exact", gap=0.2, **limits)


def test_a_letter_says_which_time_limit_ended_its_search_for_a_yes(recourse):
    result = recourse.find(REFUSED, 0.02, mode="band", tolerance=0.01)
    assert letter(result, time_limit=1e-9, **GIVEN).search_limit == 1e-9
    for enough in (60.0, None):
        made = letter(result, time_limit=enough, **GIVEN)
        assert made.search_limit is None
        assert made.offers


def test_evidence_without_time_for_a_proof_says_so_limit_and_all(answers):
    made = evidence(answers, verify=True, pictures=False, proof_limit=1e-9)
    assert made.certificates == made.verdicts == {}
    assert set(made.late) == set(answers.status)
    told = flat(made)
    assert told.count("no proof within the time limit of 1e-09 s") == len(answers.status)
    assert "independent check" not in told
    whole = evidence(answers, pictures=False, proof_limit=600.0)
    assert not whole.late
    assert set(whole.certificates) == set(answers.status)
    for limit in (0, -1.0, math.nan):
        with pytest.raises(ValueError, match="proof_limit=.*; expected seconds above 0"):
            evidence(answers, proof_limit=limit)


def test_the_evidence_tells_every_part_of_the_question(recourse):
    result = recourse.find(
        REFUSED, 0.6, n_options=2, min_distance=0.05, gap=0.01, node_limit=9000, time_limit=8.0,
        min_radius=0.01, floor=0.55, plausible=NearNeighbours(pd.DataFrame([REFUSED] * 9)),
        lock=["age"], limits={"nodes": (1, None)}, decision_threshold=0.55,
    )  # fmt: skip
    text = flat(evidence(result, pictures=False, time_limit=0.5))
    for part, value in {
        "options": 2, "min_distance": 0.05, "gap": 0.01, "node_limit": 9000, "time_limit": "8.0",
        "min_radius": 0.01, "floor": 0.55, "plausible": "neighbours", "lock": "age",
        "limits": "nodes=1..", "threshold": 0.55,
    }.items():  # fmt: skip
        assert f"- {part} {value}: " in text
    tried = recourse.find(REFUSED, 0.6, engine="tpe", n_trials=20, random_state=4)
    text = flat(evidence(tried, pictures=False, time_limit=0.5))
    assert "- trials 20: Rows to try" in text
    assert "- seed 4: Seed of the engines" in text


def test_two_features_of_one_label_stay_apart_in_the_evidence(model, patients):
    free = Schema.infer(patients[0], guard=False)
    schema = free.update("nodes", label="number").update("year", label="number")
    made = evidence(
        Recourse(model, schema).find(REFUSED, [0.5, 0.7]), certificates=False, pictures=False
    )
    for grid in (b for b in made.document.blocks if isinstance(b, content.TableBlock)):
        assert not [row for row in grid.rows if row[0] == "number"]


def test_a_table_of_two_columns_says_each_value_after_its_name(told):
    long = content.TableBlock(("", "value"), (("kind", "PTM"), ("settings", "word " * 20)))
    assert long.lines()[0] == "kind: PTM"
    assert "value:" not in told.text()


def test_no_value_passes_for_a_mark_of_the_template(monkeypatch):
    """Only what a template itself writes begins a heading, a point, small print or a block."""
    words = "{{ a }}\n\n- {{ b }}\n{{ c }}\n\n{{ d }}\n\n{{ e }}{{ grid(['x'], [[b]]) }}{{ c }}"
    monkeypatch.setattr(content._WORDS, "loader", DictLoader({"it": words}))
    values = {"a": "# A", "b": "- B", "c": "- C\n\n# C", "d": "~ D", "e": "\u20670"}
    assert content.blocks("it", **values) == (
        content.Text("# A"),
        content.ListBlock(("- B - C # C",)),
        content.Text("~ D"),
        content.Text("0"),
        content.TableBlock(("x",), (("- B",),)),
        content.Text("- C # C"),
    )


def test_only_words_that_no_line_holds_may_break():
    grid = content.TableBlock(("", "value"), (("Monatliches Einkommen", f"a {'x' * 25}"),))
    page = content.Document("Long", datetime.date(2026, 1, 1), "", "", (grid,)).html()
    assert "Monatliches Einkommen</th>" in page
    assert f"a <span class=long>{'x' * 25}</span>" in page


def test_its_shares_add_up_to_the_change_that_is_shown(told, answers):
    grids = [b for b in told.document.blocks if isinstance(b, content.TableBlock)]
    by_rule = [g for g in grids if g.head == ("rule", "states", "fires", "share")]
    assert len(by_rule) == 2
    for at, grid in enumerate(by_rule):
        total = sum(float(row[-1]) for row in grid.rows)
        change = answers.options[at].confidence - answers.confidence
        assert total == pytest.approx(change, abs=5e-4 * (len(grid.rows) + 1))


def test_it_has_pictures_and_pages_of_tables(told, tmp_path):
    drawn = [b for b in told.document.blocks if isinstance(b, content.PictureBlock)]
    assert len(drawn) == 2
    assert all(picture.svg.lstrip().startswith("<?xml") for picture in drawn)
    assert told.html().count("data:image/svg+xml;base64,") == 2
    told_pages = pages(told, tmp_path)
    assert len(told_pages) >= 3
    assert f"1 / {len(told_pages)}" in told_pages[0]


def test_a_long_table_breaks_over_pages_with_its_head_on_each(tmp_path):
    rows = tuple((f"row {i}", f"value {i}") for i in range(300))
    grid = content.TableBlock(("name of a row", "what it holds"), rows)
    long = content.Document("Long", datetime.date(2026, 1, 1), "", "", (grid,))
    told = pages(content.Printed(long), tmp_path)
    assert len(told) > 3
    assert all("what it holds" in page for page in told)
    assert "value 299" in told[-1]


def test_without_matplotlib_the_dossier_has_no_pictures(answers, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    made = evidence(answers, certificates=False)
    assert not [b for b in made.document.blocks if isinstance(b, content.PictureBlock)]
    assert "None was asked for." in made.text()


def test_a_forged_answer_is_refused_in_the_evidence(answers, monkeypatch):
    honest = type(answers).certificate

    def forged(self, target=None, time_limit=None):
        told = json.loads(json.dumps(honest(self, target, time_limit).to_dict()))
        if told["answer"]:
            told["answer"]["cost"] *= 0.5
        return Certificate.from_dict(told)

    monkeypatch.setattr(type(answers), "certificate", forged)
    made = evidence(answers, verify=True, pictures=False)
    refused = {target for target, v in made.verdicts.items() if v.startswith("REFUSED")}
    assert len(refused) == 2
    proved, not_proved = flat(made).split("WHAT IS PROVED")[1].split("WHAT IS NOT PROVED")
    for target, status in answers.status.items():
        said = f"{target.words}: {status.sentence}"
        assert (f"{said} By the search, and by an independent check." in proved) == (
            target not in refused
        )
        assert (said in not_proved) == (target in refused)
    assert proved.count("independent check") == 1


def test_a_model_without_rules_has_a_letter_and_a_dossier_too(patients, tmp_path):
    X, _ = patients
    schema = Schema.infer(X).lock("age", "year")
    steep = Recourse(lambda rows: 1 / (1 + np.exp(0.3 * (rows["nodes"] - 8.0))), schema)
    result = steep.find(REFUSED, [0.5, 0.8], engine="spheres", n_trials=100)
    made, told = letter(result, **GIVEN), evidence(result, pictures=True)
    assert made.offers
    assert "proved" not in made.text()
    assert [(reason.feature.name, reason.weight) for reason in made.reasons] == [("nodes", 0)]
    assert "This model has no rules to show." in told.text()
    assert "no certificate for this answer" in flat(told)
    assert len(pages(told, tmp_path)) >= 1


# ------------------------------------------------------------------ commands


@pytest.fixture(scope="module")
def kept(answers, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    model.save(folder / "model.safetensors")
    answers.save(folder / "result.json")
    answers.recourse.schema.to_yaml(folder / "schema.yaml")
    return folder


def run(command, kept, *more, out="out.txt"):
    files = [str(kept / "model.safetensors"), str(kept / "result.json")]
    return CliRunner().invoke(app, [command, *files, "--out", str(kept / out), *more])


ASKED = (
    "--organisation", "Meadow Clinic", "--contact", "Ann Lee", "--valid-until", "2999-01-31",
)  # fmt: skip


@pytest.mark.parametrize("ending", ["txt", "html", "pdf"])
def test_the_command_writes_the_letter(kept, ending):
    done = run("letter", kept, *ASKED, out=f"l.{ending}")
    assert done.exit_code == 0, done.output
    assert f"l.{ending}" in done.output
    written = (kept / f"l.{ending}").read_bytes()
    if ending == "pdf":
        assert len(PdfReader(io.BytesIO(written)).pages) == 1
    else:
        assert "31 January 2999" in written.decode()


def test_the_command_writes_the_evidence(kept, model):
    done = run("evidence", kept, "--verify", "--no-pictures", out="d.html")
    assert done.exit_code == 0, done.output
    assert model.fingerprint_ in (kept / "d.html").read_text()


def test_the_dossier_is_written_with_its_proofs_and_calibration(kept, patients, model):
    X, y = patients
    X.assign(survived=y).to_csv(kept / "data.csv", index=False)
    given = ("--data", str(kept / "data.csv"), "--target", "survived", "--no-pictures")
    done = run("evidence", kept, *given, "--proofs", str(kept / "proofs"), out="c.txt")
    assert done.exit_code == 0, done.output
    text = (kept / "c.txt").read_text()
    assert "logistic regression" in text
    assert "5 folds; class 1" in " ".join(text.split())
    written = sorted((kept / "proofs").iterdir())
    assert [path.name for path in written] == [f"proof-{c}.json" for c in (0.5, 0.7, 0.99)]
    for path in written:
        assert hashlib.sha256(path.read_bytes()).hexdigest() in text
        assert verify(Certificate.load(path), model)


def test_evidence_on_labels_of_another_name_says_so(kept, patients):
    X, y = patients
    X.assign(survived=np.where(y == 1, "yes", "no")).to_csv(kept / "words.csv", index=False)
    done = run("evidence", kept, "--data", str(kept / "words.csv"), "--target", "survived")
    assert done.exit_code == 2
    assert "the column has the classes 'no', 'yes', the model 0, 1" in done.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--data", "x.csv"), "given only one of --data and --target; expected both, or neither"),
        (("--proofs", "p", "--no-certificates"), "no proof is made then; leave one out"),
    ],
)
def test_the_dossier_says_what_goes_together(kept, more, message):
    done = run("evidence", kept, *more, out="no.txt")
    assert done.exit_code == 2
    assert message in done.output


def test_a_promise_that_no_ledger_was_asked_for_stands_in_no_letter(kept):
    done = run("letter", kept, *ASKED, "--promise", "7f3a", out="p.txt")
    assert done.exit_code == 2
    assert "--promise 7f3a: " in done.output
    assert "give --ledger too" in " ".join(done.output.split())
    assert not (kept / "p.txt").exists()


def test_the_command_ends_with_1_if_a_proof_is_refused(kept, monkeypatch):
    monkeypatch.setattr("trust_recourse.report.evidence._verdict", lambda *_: "REFUSED: a leaf")
    done = run("evidence", kept, "--verify", "--no-pictures", out="r.txt")
    assert done.exit_code == 1
    assert "A proof was refused" in done.output
    assert "REFUSED: a leaf" in (kept / "r.txt").read_text()


@pytest.mark.parametrize(
    ("more", "out", "message"),
    [
        (("--valid-until", "soon"), "w.txt", "--valid-until 'soon': expected a day as year,"),
        (("--valid-until", "31.01.2099"), "w.txt", "'31.01.2099': expected a day as year, month"),
        (("--dated", "31.01.2099"), "w.txt", "--dated '31.01.2099': expected a day as year"),
        ((), "w.docx", "expected a name that ends in .pdf, .html, .txt"),
        ((), "no/such/folder/l.txt", "no/such/folder does not exist; make it first"),
    ],
)
def test_the_command_says_what_is_wrong(kept, more, out, message):
    done = run("letter", kept, *ASKED, *more, out=out)
    assert done.exit_code == 2
    assert message in done.output
    assert not (kept / out).exists()


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"schema": 3, "wanted": 1}'])
def test_a_damaged_result_is_refused_in_words(kept, damage, tmp_path):
    (tmp_path / "bad.json").write_text(damage)
    files = [str(kept / "model.safetensors"), str(tmp_path / "bad.json")]
    done = CliRunner().invoke(app, ["letter", *files, "--out", str(tmp_path / "l.txt"), *ASKED])
    assert done.exit_code == 2
    assert "bad.json" in done.output
    assert not (tmp_path / "l.txt").exists()
