"""The order of words is read where numbers or known words tell it, and else there is none."""

from __future__ import annotations

import random

import pytest

from trust_recourse.schema.levels import SCALES, levels

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
    ("none", "< 500 €", "500 to 2000 €", "> 2000 €"),
    ("no savings", "0 to 100", "100+"),
    ("nothing", "up to $1,000", "more than $1,000"),
    ("< -5 %", "-5 to 0 %", "> 0 %"),
    ("not more than 5", "6-10", ">10"),
    ("low", "medium", "high"),
    ("bad", "fair", "good", "very good"),
    ("Low risk", "Medium risk", "High risk"),
    ("little", "moderate", "quite rich", "rich"),
    ("S", "M", "L", "XL"),
    ("never", "sometimes", "often", "always"),
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
    ("primary", "secondary", "tertiary"),
    ("High School", "Bachelor's degree", "Master's degree", "PhD"),
]
WITHOUT = [
    ("rent", "own", "free"),
    ("A11", "A12", "A13"),
    ("zone 1", "zone 2", "zone 3"),
    ("Boeing 737", "Boeing 747"),
    ("737-800", "747-400"),
    ("1-5", "3-8"),  # they overlap
    ("< 5", "5-10", "car"),
    ("1-12 months", "12+ months", "no delinquency"),  # that is no short time
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


UNKNOWN = (
    "unknown", "unknown or none", "unknown/ no savings account", "n/a", "?", "not stated",
    "not known", "no answer", "no information",
)  # fmt: skip


@pytest.mark.parametrize("word", UNKNOWN)
def test_what_is_not_known_is_no_level(word):
    for order in (("< 100 DM", "100 to 500 DM", "≥ 500 DM"), ("bad", "good")):
        found = levels((word, *order))
        assert found is not None
        assert (found.order, found.without) == (order, (word,))


@pytest.mark.parametrize(
    "order",
    [("< 0 DM", "0 to 200 DM"), ("< 12 months", "12-24 months"), ("bad", "good")],
    ids=["below 0", "time", "words"],
)
def test_none_is_the_lowest_of_amounts_alone(order):
    found = levels(("none", *order))
    assert found is not None
    assert (found.order, found.without) == (order, ("none",))


def test_both_none_and_unknown_of_an_amount_are_told_apart():
    found = levels(("unknown", "none", ">= 500", "< 500"))
    assert found is not None
    assert (found.order, found.without) == (("none", "< 500", ">= 500"), ("unknown",))


def test_numbers_and_booleans_are_not_read():
    assert levels((1, 2, 3)) is None
    assert levels((True, False)) is None


def test_a_word_has_one_level_in_a_scale():
    assert {*SCALES} >= {"amounts", "sizes", "grades", "education"}
    assert SCALES["education"]["hs grad"] < SCALES["education"]["bachelors"]
    for scale in SCALES.values():
        assert [*dict.fromkeys(scale.values())] == [*range(max(scale.values()) + 1)]
