"""How a feature's values, ranges and changes are written for people."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING, Any

from trust_recourse.io.scalars import INF, Value, plain
from trust_recourse.io.wording import punctuated, rounded, unit_of, with_unit, words_of, written
from trust_recourse.schema.errors import SchemaError

if TYPE_CHECKING:
    from trust_recourse.schema.actions import FeatureActions
    from trust_recourse.schema.feature import Feature

COMPARISONS = ("<", ">", "≤", "≥", "=", "≠")  # a word that begins so is quoted: x > “< 500 €”
YEARS = 1000, 2999  # whole numbers that may be years, which have no mark of thousands
CODES = frozenset({"code", "id", "plz", "postcode", "sic", "zip"})  # in the name of a column


def describe(feature: Feature, value: object, to: str) -> str:
    """A value with its unit: see `Feature.describe`."""
    value = plain(value)
    if value is None:
        return "missing"
    word = feature.words.get(value)
    if value in feature.missing:
        code = written(value) if isinstance(value, float) else value
        return f"missing ({word or code})"
    if word is not None:
        return word
    if feature.kind == "boolean":
        return "yes" if value else "no"
    if feature.numeric:
        if not isinstance(value, (int, float)):
            raise SchemaError(f"feature {feature.name!r}: given {value!r}, expected a number")
        return _with_unit(feature, float(value), rounded(value, feature.step, to))
    return f"{value} {feature.unit}" if feature.unit else str(value)


def describe_code(feature: Feature, code: float, edge: bool) -> str:
    """An encoded value: see `Feature.describe_code`."""
    if feature.numeric and code in feature.words and code not in feature.missing:
        return f"{written(code, feature.step)} ({feature.words[code]})"
    if math.isnan(code) or code in feature.codes.never:
        return feature.describe(code)
    if feature.numeric:
        write = written if edge else rounded
        return _with_unit(feature, code, write(code, feature.step))
    text = feature.describe(feature.value_of(code))
    return f"“{text}”" if text.startswith(COMPARISONS) else text


def _with_unit(feature: Feature, number: float, text: str) -> str:
    return with_unit(marked(feature, number, text), unit_of(number, feature.unit))


def marked(
    feature: Feature, number: float, text: str, point: str = ".", thousands: str = ","
) -> str:
    """Add decimal and thousands marks to a written number; a year or code gets no thousands.

    >>> from trust_recourse.schema import Feature
    >>> marked(Feature("year", lower=1900, upper=2030), 1998, "1998")
    '1998'
    """
    ends = (number, *(end for end in (feature.lower, feature.upper) if end is not None))
    year = all(YEARS[0] <= float(end) <= YEARS[1] for end in ends)
    name = not CODES.isdisjoint(words_of(feature.title))
    counts = feature.unit or not float(number).is_integer() or not (year or name)
    return punctuated(text, point, thousands) if counts else text


def span(feature: Feature, low: Any, high: Any, actions: FeatureActions | None) -> str:
    """A range of values: see `Feature.span`."""
    if named := among(feature, low, high, actions):
        return " or ".join(map(feature.describe, named))
    if feature.words and low != high:
        return replace(feature, labels=()).span(low, high)
    open_low, open_high = (isinstance(end, float) and math.isinf(end) for end in (low, high))
    if open_low and open_high:
        return "any"
    if open_high:
        return f"at least {feature.describe(low, ROUND_CEILING)}"
    if open_low:
        return f"at most {feature.describe(high, ROUND_FLOOR)}"
    if low == high:
        return feature.describe(low)
    unit = unit_of(low, feature.unit) if feature.numeric else feature.unit
    unit = unit if unit == "%" else f" {unit}"
    first, last = feature.describe(low, ROUND_CEILING), feature.describe(high, ROUND_FLOOR)
    return f"{first.removesuffix(unit.rstrip())} to {last}"


def among(
    feature: Feature, low: Any, high: Any, actions: FeatureActions | None = None
) -> tuple[Value, ...]:
    """The values of a range that are destinations, if each has a word of its own; else none.

    Beyond the bounds, or the labels if there are none, nothing has a meaning.

    >>> from trust_recourse.schema import Feature
    >>> among(Feature("home", "integer", labels={1: "rents", 2: "owns"}), 2, math.inf)
    (2,)
    """
    codes = _worded(feature)
    ends = (
        float(e if isinstance(e, float) and math.isinf(e) else feature.code_of(e))
        for e in (low, high)
    )
    first, last = ends
    if not codes or (feature.numeric and not _all_worded(feature, codes, first, last)):
        return ()
    return tuple(
        feature.value_of(code)
        for code in codes
        if first <= code <= last and (actions is None or actions.allows(code))
    )


def _worded(feature: Feature) -> list[float]:
    """The codes that are shown as words: levels, or numbers with labels."""
    if feature.kind == "ordinal":
        return [float(code) for code in range(feature.codes.size)]
    words = feature.words if feature.numeric else ()
    return sorted(float(code) for code in words if code not in feature.missing)


def _all_worded(feature: Feature, codes: list[float], low: float, high: float) -> bool:
    """Whether every number of a range has a word."""
    step = feature.step or (1.0 if feature.kind == "integer" else 0.0)
    low, high = max(low, feature.bounds[0]), min(high, feature.bounds[1])
    low, high = (codes[0] if low == -INF else low), (codes[-1] if high == INF else high)
    within = sum(low <= code <= high for code in codes)
    return step > 0.0 and math.floor(high / step) - math.ceil(low / step) + 1 == within > 0


def amount(feature: Feature, change: float, to: str) -> str:
    """The size of a change: see `Feature.amount`."""
    level = "level" if change == 1 else "levels"
    unit = level if feature.kind == "ordinal" else unit_of(change, feature.unit)
    return with_unit(punctuated(rounded(change, to=to)), unit)
