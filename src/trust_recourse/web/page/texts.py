"""Numbers and statuses as the page writes them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import pandas as pd

from trust_recourse import Feature, Result, Schema, Status
from trust_recourse.answers import text
from trust_recourse.io import wording
from trust_recourse.question.vocabulary import PARTS, outside
from trust_recourse.web.page.question_panel import PersonQuestion, must_stay_missing

ABOUT = (
    "All of this is about the model, not about the world: it says what the model would answer, not "
    "that a change is possible, easy or good, or that one thing causes another."
)

FIELDS = (  # parts of a question that have a field under Settings
    "mode", "tolerance", "decision_threshold", "max_changes", "sparse", "cost", "min_radius",
    "floor", "continuous", "survives", "plausible", "min_distance", "engine", "gap", "time_limit",
    "node_limit", "n_trials", "random_state",
)  # fmt: skip
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:[.,'’\s]\d{3})+")
STANDS = "Until that is put right, the question stands as it was."


def field_name(part: str) -> str:
    """What a part of a question is called on the page."""
    return f"“{PARTS[part].setting.label}”" if part in FIELDS else outside(part)


def percent_up(bound: float) -> str:
    """A bound on confidences to a tenth of a percent, rounded up so that none exceeds it.

    >>> percent_up(0.7021), percent_up(0.57)
    ('70.3%', '57.0%')
    """
    return f"{Decimal(wording.ceiled(bound)).scaleb(2):f}%"


def cost(amount: float) -> str:
    """A cost with the digits that commands print; one that is infinite is out of reach."""
    return wording.significant(amount) if amount < math.inf else "out of reach"


ICONS = {
    "another": "alt_route",
    "proved": "verified",
    "nothing": "check_circle",
    "found": "science",
}


class Badge(NamedTuple):
    """What is proved of an option: a word, a mark, and a sentence."""

    word: str
    icon: str
    sentence: str
    proved: bool


def badge(result: Result, at: int) -> Badge:
    """What is known of one option."""
    option, word = result.options[at], text.badge(result, at)
    proved = option.status in (Status.OPTIMAL, Status.ALREADY_MET)
    icon = next((icon for start, icon in ICONS.items() if word.startswith(start)), "timelapse")
    return Badge(f"{word[:1].upper()}{word[1:]}", icon, result.sentence(at), proved)


def limits(feature: Feature, person: pd.Series[Any] | None = None) -> str:
    """Where a feature may go, in a few words; from a person's value, where there is a person."""
    if feature.protected:
        return "protected: never changes"
    if not feature.mutable:
        return "locked by the schema"
    if feature.derived:
        return span(feature)
    parts = []
    if person is not None and math.isnan(feature.code_of(person[feature.name])):
        if must_stay_missing(feature, person[feature.name]):
            return "must stay missing: a limited change cannot be counted from it"
        parts.append("may stay missing")
    if feature.direction:
        parts.append(f"may only {feature.direction}")
    if bounds := span(feature):
        parts.append(bounds)
    if feature.max_change is not None:
        parts.append(f"by at most {feature.amount(feature.max_change)}")
    if feature.min_change is not None:
        parts.append(f"by at least {feature.amount(feature.min_change)}")
    if feature.forbidden:
        parts.append(f"never {', '.join(feature.forbidden)}")
    return ", ".join(parts) or "may change"


def follows(feature: Feature, schema: Schema) -> str:
    """What a feature follows from, by the titles of those; empty if it does not.

    >>> from trust_recourse import Feature, Schema
    >>> rate = Feature("rate", derived="loan / (pay + 1)")
    >>> follows(rate, Schema((Feature("loan", label="the loan"), Feature("pay"), rate)))
    'follows from others: the loan / (pay + 1)'
    """
    if feature.formula is None:
        return ""
    parts = tuple(
        replace(part, terms=tuple((schema[name].title, weight) for name, weight in part.terms))
        for part in feature.formula.parts
    )
    return f"follows from others: {replace(feature.formula, parts=parts)}".replace("`", "")


def conditions(asked: PersonQuestion, schema: Schema) -> str:
    """What holds for one person beside the schema: limits, locks, and what is freed of theirs."""
    said = []
    for feature in schema:
        low, high = asked.question.limits.get(feature.name, (None, None))
        if (low, high) != (None, None):
            ends = (-math.inf if low is None else low, math.inf if high is None else high)
            said.append(f"{feature.title} {feature.span(*ends)}")
        if feature.name in asked.locked:
            said.append(f"{feature.title} locked")
        if feature.name in asked.freed:
            said.append(f"{feature.title} freed, which the schema locks")
    return "; ".join(said)


def span(feature: Feature) -> str:
    """The bounds of a feature; empty if it has none."""
    if feature.lower is not None and feature.upper is not None:
        return f"{feature.describe(feature.lower)} to {feature.describe(feature.upper)}"
    if feature.lower is not None:
        return f"at least {feature.describe(feature.lower)}"
    return "" if feature.upper is None else f"at most {feature.describe(feature.upper)}"


def doubt(feature: Feature, value: Any) -> str:
    """What to ask of a person's number that lies outside the bounds; empty if it does not."""
    if feature.kind not in ("number", "integer") or math.isnan(feature.code_of(value)):
        return ""
    low, high = feature.bounds
    return "" if low <= value <= high else f"Expected {span(feature)}. Is this right?"


def unmarked(typed: Any) -> str:
    """A number without the marks between its thousands; empty if there are none."""
    text = str(typed or "").strip()
    return re.sub(r"[.,'’\s]", "", text) if _THOUSANDS.fullmatch(text) else ""
