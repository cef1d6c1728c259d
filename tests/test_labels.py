"""Codes are shown by their words wherever a person reads; values and files keep the codes."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

import folders
from issuing import KEY
from trust_recourse import (
    Feature,
    Ledger,
    PTMClassifier,
    Recourse,
    Schema,
    evidence,
    letter,
    verify,
)
from trust_recourse.population.audit import Audit
from trust_recourse.report.language import ENGLISH, language_of
from trust_recourse.schema import SchemaError

WORDS = {
    "home": {1: "rents", 2: "owns", 3: "lives free"},
    "status": {"A11": "overdrawn", "A13": "solid"},
    "phone": {True: "can be rung", False: "cannot be rung"},
    "sex": {1: "man", 2: "woman"},
}
GIVEN = {"organisation": "Bank", "contact": "Ann", "valid_until": "2099-01-31"}
PERSON = {"home": 1, "status": "A11", "phone": False, "income": 2000, "sex": 2}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    n = 400
    X = pd.DataFrame({
        "home": rng.integers(1, 4, n), "status": rng.choice(["A11", "A13"], n),
        "phone": rng.random(n) < 0.5, "income": rng.integers(10, 40, n) * 100,
        "sex": rng.integers(1, 3, n),
    })  # fmt: skip
    score = X["income"] / 1000 + 1.5 * (X["home"] == 2) + (X["status"] == "A13") + X["phone"]
    return X, (score + rng.normal(0, 0.2, n) > 4).astype(int)


@pytest.fixture(scope="module")
def plain(table):
    schema = Schema.infer(table[0]).update("sex", protected=True).update("income", upper=2400)
    return PTMClassifier(20, epochs=8, schema=schema, random_state=0).fit(*table), schema


def labelled(schema):
    for name, words in WORDS.items():
        schema = schema.update(name, labels=words)
    return schema


@pytest.fixture(scope="module")
def answer(plain):
    model, schema = plain
    return Recourse(model, labelled(schema)).find(PERSON, 0.6)


def test_a_schema_without_labels_is_written_as_ever(plain):
    _, schema = plain
    assert "labels" not in json.dumps(schema.to_dict())
    assert labelled(schema) != schema


def test_labels_are_kept_in_files(plain, tmp_path):
    schema = labelled(plain[1])
    schema.to_yaml(tmp_path / "s.yaml")
    assert Schema.from_yaml(tmp_path / "s.yaml") == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    text = "features:\n- name: a\n  kind: integer\n  labels: {0: no, 1: yes}\n"
    (tmp_path / "t.yaml").write_text(text)
    assert Schema.from_yaml(tmp_path / "t.yaml")["a"].describe(1) == "yes"


@pytest.mark.parametrize(
    ("feature", "given", "shown"),
    [
        (Feature("a", "integer", unit="x", labels={2: "two"}), 2, "two"),
        (Feature("a", "integer", unit="x", labels={2: "two"}), 3, "3 x"),
        (Feature("a", step=1, labels={"2": "two"}), 2.0, "two"),
        (Feature("a", "boolean", labels={"no": "never"}), False, "never"),
        (Feature("a", "boolean", labels={"no": "never"}), True, "yes"),
        (Feature("a", "ordinal", values=(1, 2), labels={2: "two"}), 2.0, "two"),
        (Feature("a", "category", values=("x", "y"), labels={"y": "why"}), "y", "why"),
        (Feature("a", "integer", missing=(-9,), labels={-9: "no file"}), -9, "missing (no file)"),
    ],
)
def test_a_value_is_shown_by_its_word_and_read_by_it(feature, given, shown):
    assert feature.describe(given) == shown
    assert ENGLISH.describe(feature, given) == shown
    for value, word in feature.words.items():
        assert feature.read(word) == value
        assert feature.read(str(value)) == value


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("category", {"z": "zed"}), ("category", {"x": "y"}), ("category", {"x": ""}),
        ("category", {"x": "same", "y": "same"}), ("category", {"x": 3}), ("category", ["x"]),
        ("integer", {"x": "word"}), ("integer", {1: "2"}), ("integer", {1.5: "half"}),
        ("boolean", {True: "no"}), ("boolean", "yes"),
    ],
)  # fmt: skip
def test_labels_that_could_be_taken_for_others_are_refused(kind, labels):
    values = ("x", "y") if kind == "category" else ()
    with pytest.raises(SchemaError, match="feature 'a', field 'labels': given .*, expected "):
        Feature("a", kind, values=values, labels=labels)


CONFUSED = [  # labels of an integer in EUR, of which -9 is missing; and why they are refused
    ({1: "owns", 2: "owns "}, "blanks at their ends"),
    ({1: " owns"}, "blanks at their ends"),
    ({1: "  "}, "blanks at their ends"),
    ({1: "owns", 2: "ow\u200bns"}, "invisible signs"),
    ({1: "ow\u00adns"}, "invisible signs"),
    ({1: "owns\na flat"}, "line breaks"),
    ({1: "owns\u2028a flat"}, "line breaks"),
    ({1: "caf\u00e9", 2: "cafe\u0301"}, "more than capital letters"),
    ({1: "Owns", 2: "owns"}, "more than capital letters"),
    ({1: "Stra\u00dfe", 2: "STRASSE"}, "more than capital letters"),
    ({1: "5 EUR"}, "stands for two values"),
    ({1: "5 eur"}, "stands for two values"),
    ({1: "2 (rents)", 2: "rents"}, "stands for two values"),
    ({1: "-9"}, "stands for two values"),
    ({1: "missing (-9)"}, "mean a missing value"),
    ({1: "Missing"}, "mean a missing value"),
    ({1: "NA"}, "mean a missing value"),
    ({1: "none"}, "mean a missing value"),
    ({1: "?"}, "mean a missing value"),
    ({1: "a", "1": "b"}, "each value once"),
    ({1: "a", 1.5: "b"}, "a word for each"),
]


@pytest.mark.parametrize(("labels", "why"), CONFUSED, ids=lambda each: repr(each))
def test_a_label_that_a_reader_could_take_for_something_else_is_refused(labels, why):
    with pytest.raises(SchemaError, match=f"feature 'a', field 'labels': given .*{why}"):
        Feature("a", "integer", unit="EUR", missing=(-9,), labels=labels)


def test_labels_are_compared_with_values_in_any_capitals():
    with pytest.raises(SchemaError, match="stands for two values"):
        Feature("a", "category", values=("own", "rent"), labels={"rent": "OWN"})
    with pytest.raises(SchemaError, match="stands for two values"):
        Feature("a", "category", values=("Own", "rent"), labels={"rent": "own"})
    with pytest.raises(SchemaError, match="mean a missing value"):
        Feature("a", "ordinal", values=(0, 1), labels={0: "none"})


def test_labels_that_say_one_thing_are_kept():
    assert Feature("a", "integer", unit="EUR", labels={5: "5 EUR"}).read("5 EUR") == 5
    assert Feature("a", "category", values=("x", "y"), labels={"x": "none"}).read("none") == "x"
    cafe = Feature("a", "integer", labels={1: "cafe\u0301"})
    assert cafe.describe(1) == "caf\u00e9"
    assert cafe.read("cafe\u0301") == cafe.read("caf\u00e9") == 1
    assert Feature("a", "integer", labels={1: "no", 2: "more than 5"}).read("more than 5") == 2


def test_an_edge_shows_its_number_too():
    home = Feature("home", "integer", labels={1: "rents", 2: "owns"})
    assert home.describe_code(2.0) == "2 (owns)"
    assert home.describe_code(2.5) == "2.5"
    assert home.describe_code(math.nan) == "missing"


def test_an_answer_says_words_and_holds_codes(answer, plain):
    model, schema = plain
    [option] = answer.options
    assert option.changes["home"] == (1, 2)
    assert "home rents → owns" in answer.words(option)
    assert "home rents → owns" in str(answer)
    assert "home rents → owns" in str(answer.explain(0))
    bare = Recourse(model, schema).find(PERSON, 0.6).options[0]
    assert (bare.changes, bare.cost, bare.confidence) == (
        option.changes, option.cost, option.confidence,
    )  # fmt: skip


def test_a_letter_says_words_and_a_catalogue_comes_first(answer, tmp_path):
    text = letter(answer, **GIVEN).text()
    assert "home: rents." in text
    assert re.search("home +rents +owns", text)
    own = 'msgid ""\nmsgstr ""\n'
    own += '\nmsgctxt "home"\nmsgid "1"\nmsgstr "in lodgings"\n'  # by the code
    own += '\nmsgctxt "home"\nmsgid "owns"\nmsgstr "has a house"\n'  # or by the word
    (tmp_path / "en.po").write_text(own)
    told = language_of("en", tmp_path)
    home = answer.recourse.schema["home"]
    assert [told.describe(home, code) for code in (1, 2, 3)] == [
        "in lodgings", "has a house", "lives free",
    ]  # fmt: skip
    assert "home: in lodgings." in letter(answer, **GIVEN, catalogues=tmp_path).text()


def test_reason_codes_are_looked_up_by_codes(answer):
    codes = [
        {"feature": name, "when": when, "code": name, "text": f"{name} is so"}
        for name, when in (("home", ""), ("status", "A11"), ("phone", "no"), ("income", ""))
    ]
    text = letter(answer, **GIVEN, reason_codes=codes).text()
    assert "home is so" in text


def test_the_evidence_report_says_words(answer):
    page = evidence(answer, pictures=False).html()
    assert "rents" in page
    assert "owns" in page


def test_groups_of_an_audit_are_called_by_words(plain, table, tmp_path):
    model, schema = plain
    by = Recourse(model, labelled(schema))
    place = folders.from_answers(tmp_path / "b", by, table[0].head(60), 0.6)
    audit = Audit.of(place, ["sex", "home", "status", "phone"], draws=100)
    names = [[each.group.name for each in part.groups] for part in audit.parts]
    assert [*map(sorted, names)] == [sorted(words.values()) for words in (
        WORDS["sex"], WORDS["home"], WORDS["status"], WORDS["phone"])]  # fmt: skip


def test_a_ledger_says_words_and_a_proof_still_holds(answer, tmp_path):
    with Ledger(tmp_path / "l.db", key=KEY) as ledger:
        made = ledger.promise(answer, subject="ann", days=9)
        assert "home rents → owns" in ledger.read(made.id).words
    certificate, schema = answer.certificate(0.6), answer.recourse.schema
    renamed = schema.update("home", labels={1: "hires", 2: "has"})
    for each in (None, schema, renamed):  # what codes are called is no part of the question
        assert (
            verify(certificate, answer.recourse.model, schema=each).question == certificate.question
        )


@pytest.mark.parametrize(
    ("feature", "ends", "words", "german"),
    [
        (Feature("home", "integer", labels=WORDS["home"]), (1, 3), "rents or owns or lives free",
         "„rents“ oder „owns“ oder „lives free“"),
        (Feature("home", "integer", labels=WORDS["home"]), (2, math.inf), "owns or lives free",
         "„owns“ oder „lives free“"),
        (Feature("home", "integer", labels=WORDS["home"], missing=(3,)), (-math.inf, 2),
         "rents or owns", "„rents“ oder „owns“"),
        (Feature("cars", "integer", lower=0, upper=9, labels={0: "no car"}), (0, 1200),
         "0 to 1,200", "0 bis 1.200"),
        (Feature("cars", labels={0: "no car"}), (0, 2.5), "0 to 2.5", "0 bis 2,5"),
        (Feature("job", "ordinal", values=("none", "part, or so", "full")), ("none", "full"),
         "none or part, or so or full", "„none“ oder „part, or so“ oder „full“"),
    ],
)  # fmt: skip
def test_a_range_of_words_is_said_word_by_word(feature, ends, words, german):
    assert feature.span(*ends) == words
    assert language_of("de").span(feature, *ends) == german


def test_a_range_of_words_names_none_that_cannot_be_gone_to():
    job = Feature("job", "ordinal", values=("none", "part", "full"), forbidden=("none -> part",))
    assert job.span("none", "full", job.actions(0.0)) == "none or full"
