"""Infer what a column describes: a personal attribute, a past event, a number that only rises.

The attributes are those that laws on discrimination name: in credit the Equal Credit Opportunity
Act (15 U.S.C. 1691(a)), in housing the Fair Housing Act (42 U.S.C. 3604), the Charter of
Fundamental Rights of the European Union (Article 21), the Equality Act 2010 of the United Kingdom
(section 4). Which of them holds for a decision is for a person to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trust_recourse.io.wording import words_of
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.guess.levels import TIME_UNITS, Levels, levels, untold
from trust_recourse.schema.guess.words import (
    EDUCATION,
    Attribute,
    alternatives,
    attributes,
    word_set,
)

LETTERS = frozenset("mf")  # if there are no others
PAID_IN = re.compile(r"pay_?\d+", re.IGNORECASE)  # so many months late with the n-th payment
MONTHS_LATE = (-2, 12)
LAG = re.compile(r"(?<![^\W\d_])t\s?[-−]\s?\d{1,2}(?!\d)", re.IGNORECASE)  # sales_t-1
PASSING = frozenset(("since", "last", "history", "hist"))  # of the past, and time goes on from it
YEARS = (1900, 2100)
AGE_AT = re.compile(r"\b(age|alter) (at|when|bei) .")  # as they applied, borrowed or enrolled
NUMBERS = (["no"], ["nr"], ["num"], ["number"], ["nummer"])
NUMBERED = re.compile(r"\w+(nummer|nr)")  # of languages that join words
PER = re.compile(r"\b(a|each|every|per) (day|month|week|year)\b")
SEVERAL = 1000  # codes of an attribute at most; what has more is measured

_TIME, _NOW = "(years|yrs|months|mths|mos)", "((the|this|current|curr|present) )*"
_WHOSE = (
    "((num|number|nr|count|total|of|the|current|curr|present|cb|person|applicant|borrower|employee"
    "|cust|customer|client) )*"
)


def _spellings(words: list[str]) -> tuple[list[str], ...]:
    """Words as they are, and with the umlauts that are spelt in two letters as words_of has them.

    >>> _spellings(["staatsangehoerigkeit"])
    (['staatsangehoerigkeit'], ['staatsangehorigkeit'])
    """
    short = [re.sub("([aou])e", r"\1", word) for word in words]
    return (words,) if short == words else (words, short)


def attribute(feature: Feature) -> str | None:
    """The personal attribute that a column describes, and how it is known; None if it has none.

    What people read tells it too: its label, and the words for its values.

    >>> attribute(Feature("CODE_GENDER", "integer", lower=0, upper=1))
    "a person's sex, by its name"
    >>> attribute(Feature("x1", label="Age"))
    "a person's age, by its label"
    >>> attribute(Feature("title", "category", values=("Mr", "Mrs")))
    "a person's sex, by its values"
    >>> attribute(Feature("age_of_car"))
    """
    told: dict[str, str] = {}
    for where in ("name", "label"):
        for title in _by_words(feature, getattr(feature, where)):
            told.setdefault(title, where)
    held = [*_by_values(feature)]
    known = [*dict.fromkeys(told.values()), *["values"] * bool(held)]
    titles = dict.fromkeys([*told, *held])
    return f"a person's {' and '.join(titles)}, by its {' and '.join(known)}" if titles else None


def past(feature: Feature) -> str | None:
    """How a column records the past, as text; None if its name does not show it.

    Time since something has happened passes, and so does that of a history: a schema that lets it
    rise is right, unless something went wrong, as with months since an arrest.

    >>> past(Feature("months late in April", "integer"))
    'records the past, by its name (late)'
    >>> past(Feature("PAY_0", "integer", lower=-2, upper=8)), past(Feature("PAY_AMT1", "integer"))
    ('records the past, by its name (months late with a payment)', None)
    """
    words = words_of(feature.name)
    lines = [" ".join(spelt) for spelt in _spellings(words)]
    events = re.compile(rf"\b{alternatives('past')}\b")
    found = next(filter(None, ([e[0] for e in events.finditer(line)] for line in lines)), [])
    if {*found} <= PASSING and feature.direction == "increase" and rises(feature):
        return None
    if lag := LAG.search(feature.name):
        found = [lag[0]]
    if found:
        return f"records the past, by its name ({found[0]})"
    known = {*words}
    if len(known & word_set("defaulted")) == 1 and known <= word_set("defaulted", "filler"):
        return "records the past, by its name (default)"
    if PAID_IN.fullmatch(feature.name) and _within(feature, *MONTHS_LATE):
        return "records the past, by its name (months late with a payment)"
    year = _within(feature, *YEARS) or (words == ["year"] and _whole(feature))
    if year and known & word_set("year"):
        return "the year in which something happened, by its name"
    return None


def rises(feature: Feature) -> str | None:
    """Why a column can only rise, as text; None if neither name nor values say so.

    >>> rises(Feature("years_at_address", "integer"))
    'time passes (years at address)'
    >>> rises(Feature("education", "ordinal", values=("primary", "secondary")))
    'schooling is not lost'
    """
    if feature.kind in ("category", "boolean") or _within(feature, *YEARS):
        return None
    if feature.numeric and feature.lower is not None and feature.bounds[0] < 0:
        return None
    order = None if feature.numeric else levels(feature.values, feature.name)
    words = words_of(feature.name)
    known = {*words}
    counts = f" {order.of}s" if order and order.of in TIME_UNITS else ""
    measured = feature.numeric or bool(counts)
    limited = "since" not in words and re.search(r"\d", feature.name)  # to the last 12 months, say
    line = " ".join(words) + counts
    passing = alternatives("rising").replace("<time>", _TIME).replace("<now>", _NOW)
    passing = rf"{_WHOSE}{passing}( in)?( (years|yrs|months|mths|mos|weeks|days))?"
    if measured and not limited and re.fullmatch(passing, line):
        return f"time passes ({line})"
    aged = known & {"age", "agep"} and known <= word_set("aged")
    if measured and aged and attribute(feature):
        return "time passes (age)"
    if words == ["schl"] and _codes(feature, 24):
        return "schooling is not lost"
    return "schooling is not lost" if _taught(known, order) else None


def _taught(words: set[str], order: Levels | None) -> bool:
    """Whether levels are of schooling, or a number counts its years: not what it cost."""
    if order is None:
        both = bool(words & word_set("schooling")) and bool(words & word_set("schooled"))
        return both and words <= word_set("schooling", "schooled") | {"of", "in"}
    schools = word_set("schooling", "schools")
    if not words & schools or not words <= schools | word_set("filler"):
        return False
    return order.of == EDUCATION or (bool(words & word_set("schooling")) and order.of != "")


def _by_words(feature: Feature, name: str) -> Iterator[str]:
    """What the name of a column, or its label, says that it holds."""
    written = words_of(name)
    whole = re.sub(r"\W", "", name.lower())
    for each in attributes():
        known = whole in each.names and _codes(feature, each.names[whole])
        if known or any(_named(each, words, feature) for words in _spellings(written)):
            yield each.title


def _named(about: Attribute, words: list[str], feature: Feature) -> bool:
    """Whether the words of a name say that a column is about an attribute."""
    line, told = " ".join(words), {*words}
    if any(f" {phrase} " in f" {line} " for phrase in about.phrases):
        return True
    sure = (told & about.sure) | {word for word in told if word.startswith(about.stems)}
    ours = sure | (told & about.bare)
    if ours and told <= ours | about.groups | word_set("filler"):
        return True
    applied = AGE_AT.search(line) if about.title == "age" else None
    if applied and {*line[: applied.start()].split()} <= word_set("filler"):
        return True
    return bool(sure) and not told & word_set("otherwise") and _coded(feature)


def _by_values(feature: Feature) -> Iterator[str]:
    shown = map(str, (*feature.values, *feature.words.values()))
    values = [words_of(value) for value in shown if not untold(value)]
    words = frozenset(word for each in values for word in each)
    alone = frozenset(each[0] for each in values if len(each) == 1)
    letters = alone - word_set("other") == LETTERS and words <= alone
    if letters or (words & word_set("men") and words & word_set("women")):
        yield "sex"
    marital = words & word_set("marital")
    if len(marital) > 1 or (marital and "single" in words):
        yield "marital status"
    if words & word_set("colours") and words & word_set("origins"):
        yield "race or ethnic origin"
    told = [" ".join(each) for each in values]
    if "welfare" in words or {"public assistance", "social assistance"} & {*told}:
        yield "public assistance"
    if len(words & word_set("beliefs")) > 1:
        yield "religion or belief"


def _codes(feature: Feature, most: int) -> bool:
    """Whether its values are words, or whole numbers up to the greatest code."""
    return not feature.numeric or _within(feature, 0, most)


def _coded(feature: Feature) -> bool:
    """Whether its values are words or a few whole numbers: nobody's sex is 0.482."""
    low, high = feature.bounds
    return not feature.numeric or (_whole(feature) and high - low <= SEVERAL)


def _whole(feature: Feature) -> bool:
    return feature.kind == "integer" or (feature.numeric and (feature.step or 0.0) >= 1.0)


def _within(feature: Feature, least: float, most: float) -> bool:
    low, high = feature.bounds
    return _whole(feature) and least <= low <= high <= most


def measured(name: str) -> bool:
    """Whether a name says that its values are above 0, as a score is.

    >>> measured("bureau_score"), measured("savings")
    (True, False)
    """
    return bool({*words_of(name)} & word_set("measures"))


def owed(name: str) -> bool:
    """Whether a name says that its values are sums that are owed or paid, which may be 0.

    >>> owed("card_debt"), owed("MonthlyPayment"), owed("loan_term"), owed("loan_amount")
    (True, True, False, False)
    """
    words = {*PER.sub("", " ".join(words_of(name))).split()}
    asked_for = words <= word_set("asked for")
    return bool(words & word_set("owed")) and not words & word_set("no sum") and not asked_for


def names_rows(name: str) -> bool:
    """Whether a name says that a column only names the rows, or who they are of.

    >>> names_rows("Customer_ID"), names_rows("loan number"), names_rows("number of loans")
    (True, True, False)
    >>> names_rows("Kundennummer"), names_rows("row index"), names_rows("price_index")
    (True, True, False)
    """
    words = words_of(name)
    if {*words} & word_set("naming") or any(map(NUMBERED.fullmatch, words)):
        return True
    if {*words} & word_set("index"):
        return {*words} <= word_set("index", "rows", "filler")
    several = len(words) > 1 and words[-2].endswith("s") and not words[-2].endswith(("ss", "us"))
    return words[-1:] in NUMBERS and not several
