"""The order of words is read where numbers or known words tell it, and else there is none."""

from __future__ import annotations

import random

import pytest

from trust_recourse.schema.guess.levels import levels
from trust_recourse.schema.guess.words import scales

ORDERED = [  # each from low to high, as tables have them
    ("< 0 DM", "0 to 200 DM", "≥ 200 DM"),
    ("< 100", "100 <= x < 500", "500 <= x < 1000", ">= 1000"),
    ("unemployed", "< 1 year", "1 to 4 years", "4 to 7 years", "≥ 7 years"),
    ("< 1 year", "1 year", "2 years", "9 years", "10+ years"),
    ("<1 yr", "1-4 years", "4-7 years", ">= 7 yrs"),
    ("< 6 months", "6-12 months", "1-2 years", "> 2 years"),
    ("under 6 months", "6 months - 1 year", "over 1 year"),
    ("36 months", "60 months"),
    ("1 room", "2 rooms", "10 rooms"),
    ("$0 - $9,999", "$10,000 - $19,999", "$20,000+"),
    ("0-10k", "10k-20k", ">20k"),
    ("(18.0, 25.0]", "(25.0, 40.0]", "(40.0, 99.0]"),
    ("none", "1-2", "3 or more"),
    ("< -5 %", "-5 to 0 %", "> 0 %"),
    ("not more than 5", "6-10", ">10"),
    ("low", "medium", "high"),
    ("bad", "fair", "good", "very good"),
    ("Low risk", "Medium risk", "High risk"),
    ("little", "moderate", "quite rich", "rich"),
    ("S", "M", "L", "XL"),
    ("never", "sometimes", "often", "always"),
    ("mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"),
    ("very weak", "weak", "average", "strong", "very strong"),
    ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"),
    (  # as the table itself numbers them
        "Preschool",
        "1st-4th",
        "5th-6th",
        "7th-8th",
        "9th",
        "10th",
        "11th",
        "12th",
        "HS-grad",
        "Some-college",
        "Assoc-voc",
        "Assoc-acdm",
        "Bachelors",
        "Masters",
        "Prof-school",
        "Doctorate",
    ),
    ("none", "little", "moderate", "rich"),
    ("none", "low", "medium", "high"),
    ("No savings", "Little savings", "Moderate savings", "Rich savings"),
    ("None reported", "1 accident", "2 or more accidents"),
    ("no accidents", "1 accident", "2+ accidents"),
    ("nothing", "1-2", "3 or more"),
    ("none", "< 100 DM", "100 to 500 DM", "≥ 500 DM"),
    ("within 24 hours", "1-3 days", "> 3 days"),
    ("24-48 hours", "3-5 days"),
    ("< 30 minutes", "30 minutes - 2 hours", "> 2 hours"),
    ("< 1 000 €", "1 000 – 5 000 €", "5 000 – 10 000 €", "> 10 000 €"),
    ("< 1\u00a0000", "1\u00a0000 – 5\u00a0000", "> 5\u202f000"),
    ("1-2 million", "3-5 million"),
    ("1.5k-2.5k", "2.5k-10k", ">10k"),
    ("(18.999, 25.0]", "(25.0, 40.0]", "(40.0, 99.0]"),
    ("0.125-0.250", "0.250-1.500"),
    ("minor", "major", "critical"),
    ("junior", "mid", "senior"),
    ("High School", "Bachelor's degree", "Master's degree", "PhD"),
]
NAMED = {  # words with other meanings, in columns whose names tell which
    "education": ("none", "primary", "secondary", "tertiary"),
    "Schooling": ("none", "primary", "secondary"),
    "Education": ("Not Graduate", "Graduate"),
    "highest_degree": ("Associate", "Professional"),
    "school": ("College", "University"),
    "damage": ("Minor", "Major"),
    "experience": ("Junior", "Senior"),
}
WITHOUT = [
    ("100 - 499 €", "500 - 999 €", "1.000 - 4.999 €"),  # a dot of thousands
    ("1.000-2.000", "2.000-3.000", ">3.000"),
    ("100k-500k", "500k-900k", "1M-5M"),
    ("100-500", "1.5k-2.5k"),
    ("500-1k", "1k-2k"),
    ("50000-90000", "1-2 lakh"),
    ("100-900", "1-2 million"),
    ("1-5", "6-9 rooms"),
    ("0 - 100", "100 - 500 €"),
    ("1-5", "5-10 years"),
    ("6 months to 9", "10 months to 11"),
    ("30-60 min", "1-2 hours"),  # minutes, or at least
    ("0,500-1,500", "2-3"),
    ("< 1,2", "> 3,4"),
    ("none", "< 0 DM", "0 to 200 DM", "≥ 200 DM"),  # below 0 there is less than none
    ("none", "0-10", "10-20"),
    ("no idea", "1-2", "3 or more"),
    ("none", "bad", "good"),
    ("available", "bad", "good"),
    ("refused", "1-2", "3 or more"),
    ("given", "1-2", "3 or more"),
    ("not available", "< 5", "5-10"),
    ("Primary residence", "Secondary residence"),
    ("Primary", "Secondary"),  # roles
    ("primary", "secondary", "tertiary"),  # sectors
    ("Associate", "Professional"),  # jobs
    ("Major", "Minor"),
    ("College", "University"),
    ("Junior", "Senior"),  # debts
    ("rent", "own", "free"),
    ("A11", "A12", "A13"),
    ("zone 1", "zone 2", "zone 3"),
    ("Boeing 737", "Boeing 747"),
    ("737-800", "747-400"),
    ("1-5", "3-8"),  # they overlap
    ("< 5", "5-10", "car"),
    ("1-2 rooms", "3-4 floors"),
    ("yes", "no"),
    ("S", "M"),  # single, married
    ("A", "B", "C"),
    ("low", "high", "blue"),
    ("medium", "mid", "high"),  # two words for one level
    ("Mon", "Tue"),
    ("male", "female"),
    ("00001", "12345"),
    ("< 5",),
]


@pytest.mark.parametrize("order", ORDERED, ids=lambda each: each[0])
def test_words_are_ordered_by_their_numbers_or_as_known(order):
    words = [*order]
    random.Random(3).shuffle(words)
    found = levels(words)
    assert found is not None
    assert (found.order, found.without) == (order, ())


@pytest.mark.parametrize("words", WITHOUT, ids=lambda each: each[0])
def test_other_words_have_no_order(words):
    assert levels(words) is None


@pytest.mark.parametrize("name", NAMED)
def test_words_with_other_meanings_are_ordered_where_the_name_tells(name):
    found = levels([*reversed(NAMED[name])], name)
    assert found is not None
    assert (found.order, found.without) == (NAMED[name], ())
    assert levels(NAMED[name], "role") is None


@pytest.mark.parametrize("name", ["english_level", "Language", "Sprachniveau", "CEFR", "GER"])
def test_levels_of_a_language_are_ordered_where_the_name_tells(name):
    assert levels(("B1", "C2", "A2"), name).order == ("A2", "B1", "C2")
    for words in (("A1", "B2", "B3"), ("A1", "B2", "D1"), ("A1", "B2", "Z9")):
        assert levels(words, name) is None


@pytest.mark.parametrize("name", ["", "product", "code", "hanger", "seat", "elevel", "slang"])
def test_codes_of_products_are_no_levels_of_a_language(name):
    for words in (("A1", "A2"), ("A1", "B1", "C1"), ("B1", "none", "A2")):
        assert levels(words, name) is None


def test_words_beside_marks_and_strengths_are_not_ordered():
    for words in (("gut", "Gut Holz"), ("gut", "Wald", "Hof"), ("strong", "coffee"),
                  ("weak", "Weak Inc"), ("gut", "good"), ("average", "gut")):  # fmt: skip
        assert levels(words, "kind") is None


@pytest.mark.parametrize("name", ["residence", "role", "job", "sector", "programme"])
def test_a_name_of_something_else_gives_no_order(name):
    for words in (("Primary residence", "Secondary residence"), ("Associate", "Professional")):
        assert levels(words, name) is None


UNTOLD = "unknown;unknown or none;unknown/ no savings account;n/a;?;not stated;not known;no answer"


@pytest.mark.parametrize("word", UNTOLD.split(";"))
def test_what_is_not_known_is_no_level(word):
    for order in (("< 100 DM", "100 to 500 DM", "≥ 500 DM"), ("bad", "good")):
        found = levels((word, *order))
        assert found is not None
        assert (found.order, found.without) == (order, (word,))


def test_nothing_of_what_a_column_is_called_is_the_lowest():
    words = ("no savings", "< 100 DM", "≥ 100 DM")
    assert levels(words, "savings").order == words
    assert levels(words, "purpose") is None


def test_numbers_and_booleans_are_not_read():
    assert levels((1, 2, 3)) is None
    assert levels((True, False)) is None


def test_a_word_has_one_level_in_a_scale():
    assert {*scales()} >= {"amounts", "sizes", "grades", "education"}
    assert scales()["education"]["hs grad"] < scales()["education"]["bachelors"]
    for scale in scales().values():
        assert [*dict.fromkeys(scale.values())] == [*range(max(scale.values()) + 1)]
