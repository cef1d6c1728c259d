"""Languages of the letter: complete catalogues, numbers as people write them, one's own words."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import date
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from docs import messages as source
from trust_recourse import Feature, Recourse, Schema, german_credit_schema, letter
from trust_recourse.models import Additive
from trust_recourse.report.catalogue import entries, key, read, texts
from trust_recourse.report.language import ENGLISH, _read, language_of

OURS = Path(str(files("trust_recourse.report"))) / "catalogues"
GIVEN = {
    "organisation": "Meadow Bank", "contact": "Ann", "valid_until": "2027-01-31",
    "dated": "2026-11-15",
}  # fmt: skip
VALUES = [  # columns of german_credit whose values are words
    feature.name for feature in german_credit_schema() if feature.values
]
INCOME = Feature("income", "integer", lower=0, upper=10**7, unit="NT$", scale=1e5)


def names(text):
    return sorted(re.findall(r"%\((\w+)\)[sd]", text))


def test_the_template_holds_every_message_of_the_letter():
    assert (OURS / "letter.pot").read_text("utf-8") == source.written(source.found())
    assert len(source.found()) > 150


@pytest.mark.parametrize("path", [*OURS.glob("*.po")], ids=lambda path: path.stem)
def test_a_catalogue_of_ours_is_complete_and_loses_no_value(path):
    ours = {
        (m.context, *(m.id if m.pluralizable else (m.id, None))): m for m in entries(read(path))
    }
    others = ours.keys() - source.found().keys()  # words of the tables that ship with us
    assert ours.keys() - others == source.found().keys()
    assert {context for context, _, _ in others} == {"label", *VALUES}
    for (_, message, plural), entry in ours.items():
        assert len(texts(entry)) == (2 if plural else 1)
        for text in texts(entry):
            assert set(names(text)) <= set(names(plural or message))
        assert names(texts(entry)[-1]) == names(plural or message)


CONFIDENCE = "For you the confidence is %(confidence)s."
OTHERS = 'msgid "%(num)d other"\nmsgid_plural "%(num)d others"\nmsgstr[0] "{}"\nmsgstr[1] "{}"'


def entry(message, text):
    return f'msgid "{message}"\nmsgstr "{text}"'


@pytest.mark.parametrize(
    ("given", "text", "expected"),
    [
        (entry(CONFIDENCE, "It is %(confidense)s."), "It is %(confidense)s.", "%(confidence)s"),
        (entry(CONFIDENCE, "It is low."), "It is low.", "%(confidence)s"),
        (entry(CONFIDENCE, "It is %(confidence)d."), "It is %(confidence)d.", "%(confidence)s"),
        (entry(CONFIDENCE, "%(confidence)s, 5%"), "%(confidence)s, 5%", "%(confidence)s"),
        (entry("Its answer is no.", "100% no"), "100% no", "no value"),
        (entry("Its answer is no.", "No to %(who)s"), "No to %(who)s", "no value"),
        (OTHERS.format("another", "others"), "others", "%(num)d"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("code", ["en", "de"])
def test_a_translation_has_the_values_of_its_message(code, given, text, expected, tmp_path):
    whole = 'msgid ""\nmsgstr ""\n\n' if code == "en" else (OURS / "de.po").read_text("utf-8")
    head, _, rest = whole.partition("\n\n")  # of two translations the first is taken
    (tmp_path / f"{code}.po").write_text(f"{head}\n\n{given}\n\n{rest}")
    said = f"{code}.po: .* is translated as {text!r}; expected in it {expected}, and %% for"
    with pytest.raises(ValueError, match=re.escape(said).replace(r"\.\*", ".*")):
        language_of(code, tmp_path)


def test_a_translation_may_turn_and_repeat_what_it_names(tmp_path):
    kept = [entry(CONFIDENCE, "%(confidence)s, 100%%, %(confidence)s."),
            OTHERS.format("another", "%(num)s others")]  # fmt: skip
    (tmp_path / "en.po").write_text("\n\n".join(['msgid ""\nmsgstr ""', *kept]))
    english = language_of("en", tmp_path)
    assert english.gettext(CONFIDENCE, confidence="7") == "7, 100%, 7."
    assert [english.ngettext("%(num)d other", "%(num)d others", n) for n in (1, 2)] == [
        "another", "2 others",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "value", "shown"),
    [
        ("en", 140_000, "NT$140,000"), ("de", 140_000, "140.000 NT$"), ("en", 7400, "NT$7,400"),
        ("de", 7400, "7.400 NT$"), ("en", 990, "NT$990"),
        ("de", 1_250_000, "1.250.000 NT$"), ("en", -12_500, "-NT$12,500"),
    ],
)  # fmt: skip
def test_numbers_have_the_marks_of_their_language(language, value, shown):
    assert language_of(language).describe(INCOME, value) == shown


def test_the_package_s_own_labels_and_values_are_german_in_german():
    german = language_of("de")
    for feature in german_credit_schema():
        assert german.label(feature.title) != feature.title
        for value in feature.values:
            assert german.describe(feature, value) != str(value)


@pytest.mark.parametrize(
    ("feature", "value", "english", "german"),
    [
        (Feature("sum", upper=20_000), 7400, "7,400", "7.400"),
        (Feature("year", lower=1900, upper=2030), 1998, "1998", "1998"),
        (Feature("year"), 1998.0, "1998", "1998"),
        (Feature("occupation_code"), 4110, "4110", "4110"),
        (Feature("x", label="ZIP of the home"), 62701, "62701", "62701"),
        (Feature("codes sent"), 4110, "4,110", "4.110"),
        (Feature("wage", unit="€", step=0.01), 1998.5, "€1,998.50", "1.998,50 €"),
        (Feature("ratio", derived="a / b", step=0.00001), 0.75, "0.75", "0,75"),
    ],
)
def test_a_column_has_one_style_and_a_year_no_mark(feature, value, english, german):
    assert ENGLISH.describe(feature, value) == english
    assert language_of("de").describe(feature, value) == german


@pytest.mark.parametrize(
    ("unit", "value", "english", "german"),
    [
        ("years", 1, "1 year", "1 Jahr"), ("years", 2, "2 years", "2 Jahre"),
        ("months", 0, "0 months", "0 Monate"), ("years", 1.5, "1.5 years", "1,5 Jahre"),
        ("kg", 1, "1 kg", "1 kg"), ("dollars a month", 1, "1 dollar a month", "1 dollar a month"),
        ("", 0.25, "0.25", "0,25"),
    ],
)  # fmt: skip
def test_one_of_a_unit_is_one(unit, value, english, german):
    feature = Feature("x", unit=unit, missing=(-9.0,))
    assert ENGLISH.describe(feature, value) == english
    assert language_of("de").describe(feature, value) == german
    assert language_of("de").describe(feature, -9.0) == "fehlt"
    assert language_of("de").span(feature, 1.0, np.inf) == f"mindestens {german}" or value != 1


@pytest.fixture(scope="module")
def single():
    """A card that splits where single precision has 0.95, and somebody who has it so."""
    rate = float(np.float32(0.95))
    schema = Schema(
        (
            Feature("rate", lower=0, upper=3),
            Feature("status", "category", values=("A34", "A35"), label="account"),
            Feature("sound", "boolean"),
        )
    )
    edges, points = [[0.5, rate], [], [0]], [[1.0, 0.2, -0.9], [-0.4, 0.4], [-0.1, 0.1]]
    recourse = Recourse(Additive(schema, edges, points, base=-0.5), schema)
    return recourse, {"rate": rate, "status": "A34", "sound": False}, rate


def test_a_number_has_few_digits_where_the_model_says_the_same_of_it(single):
    recourse, person, rate = single
    assert recourse.confidence(person) > recourse.confidence({**person, "rate": 0.95})
    made = letter(recourse.find(person, 0.5), **GIVEN)
    assert f"rate: {rate!r};" in made.text()  # 0.95 is on the other side of the edge
    low = {**person, "rate": float(np.float32(0.7))}
    told = letter(recourse.find(low, 0.5), **GIVEN)
    assert "rate: 0.7;" in told.text()
    for offer in told.offers:
        assert recourse.confidence(offer.row) >= 0.5
        shown = {name: words for name, (_, words) in offer.changes.items()}
        assert shown["rate"] == f"{offer.row['rate']:g}" if "rate" in shown else shown


def test_an_institution_adds_its_language_and_its_words(single, tmp_path):
    recourse, person, _ = single
    result = recourse.find(person, 0.5)
    with pytest.raises(ValueError, match="language='nl'; expected one of 'de', 'en'.* nl.po in"):
        letter(result, **GIVEN, language="nl")
    with pytest.raises(ValueError, match="expected a folder with files such as nl.po"):
        letter(result, **GIVEN, language="nl", catalogues=tmp_path / "none")
    whole = (OURS / "de.po").read_text("utf-8")
    (tmp_path / "nl.po").write_text(whole.replace('msgstr "Ihr Antrag"', 'msgstr ""'), "utf-8")
    with pytest.raises(ValueError, match="1 of the messages .* 'your application'"):
        letter(result, **GIVEN, language="nl", catalogues=tmp_path)
    own = (
        '\nmsgctxt "label"\nmsgid "account"\nmsgstr "Kontostand"\n'
        '\nmsgctxt "status"\nmsgid "A34"\nmsgstr "kritisches Konto"\n'
    )
    (tmp_path / "nl.po").write_text(whole.replace("Ihr Antrag", "Uw aanvraag") + own, "utf-8")
    text = letter(result, **GIVEN, language="nl", catalogues=tmp_path).text()
    assert "Uw aanvraag: Die Antwort des Modells ist Nein" in text
    assert "Kontostand: kritisches Konto" in text
    assert "sound: nein" in text
    shutil.copy(OURS / "de.po", tmp_path)
    (tmp_path / "en.po").write_text(
        'msgid ""\nmsgstr ""\n\nmsgid "Whom to ask"\nmsgstr "Contact"\n'
    )
    assert "CONTACT" in letter(result, **GIVEN, catalogues=tmp_path).text()
    assert "WHOM TO ASK" in letter(result, **GIVEN).text()


def test_a_catalogue_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "nl.po").write_text('msgid "a"\nmsgstr oops\n')
    with pytest.raises(ValueError, match="nl.po: given 'msgstr oops', expected a text in quotes"):
        language_of("nl", tmp_path)
    shutil.copy(OURS / "de.po", tmp_path / "klingon.po")
    with pytest.raises(ValueError, match="language='klingon': no such language"):
        language_of("klingon", tmp_path)


def test_entries_that_are_fuzzy_are_left_out(tmp_path):
    path = tmp_path / "nl.po"
    path.write_text(
        '# a note\n#, python-format\nmsgctxt "c"\nmsgid ""\n"one "\n"line"\nmsgstr "a\\"b"\n\n'
        '#, fuzzy\nmsgid "guess"\nmsgstr "x"\n'
    )
    assert [(key(m), texts(m)) for m in entries(read(path))] == [(("c", "one line"), ('a"b',))]


def test_a_date_is_written_as_the_language_does(tmp_path):
    day = date(2027, 1, 31)
    shutil.copy(OURS / "de.po", tmp_path / "nl.po")
    (tmp_path / "en_US.po").write_text('msgid ""\nmsgstr ""\n')
    assert ENGLISH.day(day) == "31 January 2027"
    assert language_of("de").day(day) == "31. Januar 2027"
    assert language_of("nl", tmp_path).day(day) == "31 januari 2027"
    assert language_of("en_US", tmp_path).day(day) == "January 31, 2027"


def test_english_needs_no_babel(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel.core", None)
    monkeypatch.delitem(sys.modules, "trust_recourse.report.catalogue", raising=False)
    monkeypatch.delattr("trust_recourse.report.catalogue", raising=False)
    assert language_of("en").day(date(2027, 1, 31)) == "31 January 2027"
    _read.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"needs babel.*trust-recourse\[letters\]"):
        language_of("de")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("en", ["Income: €3,600 to €3,950", "Job: “full time”", "Home: “owns” or “lives free”"]),
        (
            "de",
            ["Income: 3.600 bis 3.950 €", "Beruf: „full time“", "Home: „owns“ oder „lives free“"],
        ),
    ],
)
def test_the_list_of_ranges_names_all_that_an_option_changes(code, words):
    homes = {1: "rents", 2: "owns", 3: "lives free"}
    schema = Schema(
        (
            Feature("income", "integer", lower=0, upper=3950, step=50, unit="€"),
            Feature("job", "category", values=("part time", "full time")),
            Feature("home", "integer", lower=1, upper=3, labels=homes),
        )
    )
    edges, points = [[3599], [], [1]], [[-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]]
    recourse = Recourse(Additive(schema, edges, points, base=-2.5), schema)
    person = {"income": 3000, "job": "part time", "home": 1}
    (only,) = letter(recourse.find(person, 0.5), **GIVEN, language=code).offers
    assert only.changes.keys() == {"income", "job", "home"}
    told = letter(recourse.find(person, 0.5), **GIVEN, language=code).text()
    assert "".join(f"- {each}. " for each in words) in f"{' '.join(told.split())} "


def test_a_column_of_anybody_is_not_translated_by_a_guess():
    german = language_of("de")
    for title in ("property", "nodes"):  # what these are, only their table knows
        assert german.label(title) == title
        assert german.untold([Feature(title)]) == [title]
