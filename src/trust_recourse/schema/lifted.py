"""Which single constraint holds a person back: each one that does, and the schema without it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trust_recourse.schema.actions import MOST_LISTED, FeatureActions
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.steps import multiple_above, multiple_below

if TYPE_CHECKING:
    from trust_recourse.schema.table import Schema

FURTHER = 10.0  # scales past its old end that a listed feature may go once a limit is lifted
WITHOUT = "it were not required that"  # how the sentence on a relation begins
STEPS_FURTHER = 1000  # and steps, at most


@dataclass(frozen=True)
class Lifted:
    """One constraint lifted: the sentence says which, the schema is as before without it."""

    sentence: str
    schema: Schema


def lifted(feature: Feature, own: float, listed: bool) -> Iterator[tuple[str, Feature]]:
    """Each constraint of a feature that limits this person: in words, and the feature without it.

    A feature whose values are `listed` must still have a list of them. Where lifting leaves too
    many, it ends some way past its old ends instead, and the sentence says where. A feature that
    may never be suggested has no constraint to lift.
    """
    if feature.protected:
        return
    before = feature.actions(own)
    for words, freed in _without_each(feature):
        if math.isnan(own) and feature.mutable and freed.bounds == feature.bounds:
            words = f"{feature.title} may change though it is missing"
        after = freed.actions(own)
        if listed and before.count() <= MOST_LISTED < after.count():
            freed = _ended(freed, before, after)
            after = freed.actions(own)
            if after.count() > MOST_LISTED:
                continue
            words += "".join(
                f", {way} {freed.describe(getattr(freed, end))}"
                for end, way in (("lower", "down to"), ("upper", "up to"))
                if getattr(freed, end) != getattr(feature, end)
            )
        if after.adds_to(before):
            yield words, freed


def _without_each(feature: Feature) -> Iterator[tuple[str, Feature]]:
    """Each constraint of a feature: in words what its lifting allows, and the feature without."""
    if not feature.mutable:
        yield f"{feature.title} may change", replace(feature, mutable=True)
        return
    if feature.direction is not None:
        way = "decrease" if feature.direction == "increase" else "increase"
        if feature.kind == "boolean":
            way = f"become {feature.describe(way == 'increase')}"
        yield f"{feature.title} may also {way}", replace(feature, direction=None)
    if feature.lower is not None:
        end = feature.describe(feature.lower)
        yield f"{feature.title} may fall below {end}", replace(feature, lower=None)
    if feature.upper is not None:
        end = feature.describe(feature.upper)
        yield f"{feature.title} may rise above {end}", replace(feature, upper=None)
    if feature.max_change is not None:
        most = feature.amount(feature.max_change)
        yield f"{feature.title} may change by more than {most}", replace(feature, max_change=None)
    if feature.min_change is not None:
        least = feature.amount(feature.min_change)
        yield f"{feature.title} may change by less than {least}", replace(feature, min_change=None)
    if feature.forbidden:
        moves = ", ".join(feature.forbidden)
        yield f"{feature.title} may go {moves}", replace(feature, forbidden=())


def _ended(freed: Feature, before: FeatureActions, after: FeatureActions) -> Feature:
    """The freed feature, with bounds not far past where the person could go before."""
    room = min(STEPS_FURTHER, (MOST_LISTED - before.count()) // 2)
    if after.step is None or not room:
        return freed
    ends = before.lower, before.upper
    if ends[0] > ends[1]:  # they could only stay, so count from there, or from 0 if it is missing
        ends = (0.0, 0.0) if math.isnan(before.own) else (before.own, before.own)
    low, high = (min(max(end, after.lower), after.upper) for end in ends)
    further = min(max(FURTHER * freed.scale, after.step), room * after.step)
    return replace(
        freed,
        lower=max(after.lower, multiple_above(after.step, low - further)),
        upper=min(after.upper, multiple_below(after.step, high + further)),
    )
