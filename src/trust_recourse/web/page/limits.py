"""How far a feature may go, as it is typed: read, doubted or refused; nothing here draws."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.web.page.texts import span

if TYPE_CHECKING:
    from trust_recourse import Feature
    from trust_recourse.question import Limit

ENDS = ("from", "to")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:[.,'’\s]\d{3})+")


class LimitVerdict(NamedTuple):
    """What two fields say: a limit, or None if they cannot mean one; and what to say of them."""

    limit: Limit | None
    said: str = ""
    at: tuple[str, ...] = ()  # the fields it is said of


def has_limits(feature: Feature) -> bool:
    """Whether a feature has values from one to another, and may ever go to them."""
    return (feature.numeric or feature.kind == "ordinal") and not feature.protected


def judged(feature: Feature, own: float, given: tuple[Any, Any]) -> LimitVerdict:
    """What the two fields of a feature mean, for a person whose own code this is.

    What leaves no value is refused. What is outside the schema's bounds, leaves no change, or is
    probably written with a mark between thousands is taken, and doubted.
    """
    values = []
    for end, typed in zip(ENDS, given, strict=True):
        try:
            values.append(_value(feature, typed))
        except ValueError as error:
            said = str(error).partition(f"{feature.name!r}: ")[2] or str(error)  # without its name
            meant = f"; is {unmarked(typed)} meant?" if unmarked(typed) else ""
            return LimitVerdict(None, f"{feature.title}, {end}: {said}{meant}", (end,))
    low, high = values
    first, last = (None if value is None else feature.code_of(value) for value in values)
    least, most = feature.bounds
    for end, beyond, typed in (
        (ENDS[0], first is not None and first > most, given[0]),
        (ENDS[1], last is not None and last < least, given[1]),
    ):
        if beyond:
            said = f"{feature.title}, {end}: given {typed!r}, expected {span(feature)}"
            return LimitVerdict(None, f"{said}{_meant(feature, math.nan, typed)}", (end,))
    if first is not None and last is not None and first > last:
        said = f"from {feature.describe(low)} to {feature.describe(high)} is nothing"
        return LimitVerdict(None, f"{feature.title}: {said}; expected the lesser first", ENDS)
    said, at = next(_doubts(feature, own, given, (low, high)), ("", ()))
    return LimitVerdict((low, high), said, at)


def _value(feature: Feature, typed: Any) -> Any:
    """What stands in a field: a level that was chosen, or a number that was typed; None if none."""
    value = feature.read(typed or "") if feature.numeric else typed
    if value is not None and math.isnan(feature.code_of(value)):
        raise ValueError(f"given {typed!r}, which means missing; expected a value")
    return value


def _doubts(
    feature: Feature, own: float, given: tuple[Any, Any], limit: Limit
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What may be wrong with a limit that can be asked, and of which fields."""
    for end, value, typed in zip(ENDS, limit, given, strict=True):
        if meant := _meant(feature, own, typed):
            yield f"{feature.title}, {end}: this is {feature.describe(value)}{meant}", (end,)
        elif (
            value is not None
            and not feature.bounds[0] <= feature.code_of(value) <= feature.bounds[1]
        ):
            said = f"expected {span(feature)}, which holds in any case"
            yield f"{feature.title}, {end}: {said}", (end,)
    free = replace(feature, mutable=True, derived="")
    narrow = free.limited(*limit)
    if free.actions(own).free and not narrow.actions(own).free:
        said = f"{feature.title}: no change is left, so it stays {feature.describe_code(own)}"
        yield said, tuple(end for end, value in zip(ENDS, limit, strict=True) if value is not None)


def _meant(feature: Feature, own: float, typed: Any) -> str:
    """Asks for the number that was meant by one such as 8.000, if it is nearer to one's own."""
    if not (feature.numeric and unmarked(typed)):
        return ""
    big, small = float(unmarked(typed)), float(typed)
    return "" if abs(big - own) > abs(small - own) else f"; is {feature.describe(big)} meant?"


def unmarked(typed: Any) -> str:
    """A number without the marks between its thousands; empty if there are none."""
    text = str(typed or "").strip()
    return re.sub(r"[.,'’\s]", "", text) if _THOUSANDS.fullmatch(text) else ""
