"""Single constraints that limit a person, and the schema that relaxes each alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trust_recourse.schema.actions import MOST_LISTED, FeatureActions
from trust_recourse.schema.encoding import Rows
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.group_relations import OneOf
from trust_recourse.schema.multiples import multiple_above, multiple_below

if TYPE_CHECKING:
    from trust_recourse.schema.table import Schema

FURTHER = 10.0  # scales past its old end that a listed feature may go once a limit is relaxed
WITHOUT = "it were not required that"  # how the sentence on a relation begins
STEPS_FURTHER = 1000  # and steps, at most


@dataclass(frozen=True)
class RelaxedSchema:
    """A schema with one constraint less, and the sentence that names the constraint."""

    sentence: str
    schema: Schema


def with_feature(schema: Schema, feature: Feature) -> Schema:
    """The same schema with another feature in place of the one of that name."""
    features = list(schema.features)
    features[schema.position(feature.name)] = feature
    return replace(schema, features=tuple(features))


def relaxations(schema: Schema, x: Rows, listed: Collection[str]) -> list[RelaxedSchema]:
    """See `Schema.relaxations`."""
    action_set, in_lists = schema.action_set(x), {*schema.related, *listed}
    each_feature = [*zip(schema, action_set.actions, strict=True)]
    groups = (each for each in schema.relations if isinstance(each, OneOf))
    zero_or_one = {name for each in groups for name in each.names}
    found = [
        RelaxedSchema(sentence, with_feature(schema, relaxed))
        for feature, actions in each_feature
        for sentence, relaxed in _of_feature(feature, actions.own, feature.name in in_lists)
        if feature.name not in zero_or_one or relaxed.bounds == feature.bounds
    ]
    free = {feature.name for feature, actions in each_feature if actions.free}
    for at, relation in enumerate(schema.relations):
        others = not free <= {*relation.names}
        if relation.limits([action_set[name] for name in relation.names], others):
            rest = schema.relations[:at] + schema.relations[at + 1 :]
            sentence = f"{WITHOUT} {relation.sentence(schema)}"
            found.append(RelaxedSchema(sentence, replace(schema, relations=rest)))
    return found


def _of_feature(feature: Feature, own: float, listed: bool) -> Iterator[tuple[str, Feature]]:
    """Each constraint of a feature that limits this person, as text, and the feature without it.

    A feature whose values are `listed` must still have a list of them. If relaxing leaves too
    many, it ends some way past its old ends instead, and the sentence states where. A feature that
    may never be suggested has no constraint to relax.
    """
    if feature.protected:
        return
    before = feature.actions(own)
    for sentence, relaxed in _without_each(feature):
        if math.isnan(own) and feature.mutable and relaxed.bounds == feature.bounds:
            sentence = f"{feature.title} may change though it is missing"
        after = relaxed.actions(own)
        if listed and before.count() <= MOST_LISTED < after.count():
            relaxed = _ended(relaxed, before, after)
            after = relaxed.actions(own)
            if after.count() > MOST_LISTED:
                continue
            sentence += "".join(
                f", {way} {relaxed.describe(getattr(relaxed, end))}"
                for end, way in (("lower", "down to"), ("upper", "up to"))
                if getattr(relaxed, end) != getattr(feature, end)
            )
        if after.adds_to(before):
            yield sentence, relaxed


def _without_each(feature: Feature) -> Iterator[tuple[str, Feature]]:
    """Each constraint of a feature: what relaxing it allows, and the feature without it."""
    if not feature.mutable:
        yield f"{feature.title} may change", replace(feature, mutable=True)
        return
    way = "decrease" if feature.direction == "increase" else "increase"
    if feature.kind == "boolean":
        way = f"become {feature.describe(way == 'increase')}"
    relaxed = {
        "direction": f"may also {way}",
        "lower": f"may fall below {feature.describe(feature.lower)}",
        "upper": f"may rise above {feature.describe(feature.upper)}",
        "max_change": f"may change by more than {feature.amount(feature.max_change or 0.0)}",
        "min_change": f"may change by less than {feature.amount(feature.min_change or 0.0)}",
    }
    for field, allowed in relaxed.items():
        if getattr(feature, field) is not None:
            without: dict[str, Any] = {field: None}
            yield f"{feature.title} {allowed}", replace(feature, **without)
    if feature.forbidden:
        moves = ", ".join(feature.forbidden)
        yield f"{feature.title} may go {moves}", replace(feature, forbidden=())


def _ended(relaxed: Feature, before: FeatureActions, after: FeatureActions) -> Feature:
    """The relaxed feature, with bounds not far past where the person could go before."""
    room = min(STEPS_FURTHER, (MOST_LISTED - before.count()) // 2)
    if after.step is None or not room:
        return relaxed
    ends = before.lower, before.upper
    if ends[0] > ends[1]:  # they could only stay, so count from there, or from 0 if it is missing
        ends = (0.0, 0.0) if math.isnan(before.own) else (before.own, before.own)
    low, high = (min(max(end, after.lower), after.upper) for end in ends)
    further = min(max(FURTHER * relaxed.scale, after.step), room * after.step)
    return replace(
        relaxed,
        lower=max(after.lower, multiple_above(after.step, low - further)),
        upper=min(after.upper, multiple_below(after.step, high + further)),
    )
