"""Where a person may go: one feature's moves, the rules on them, and all features together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from trust_recourse.io.frames import as_pandas
from trust_recourse.io.scalars import INF, Floats, same
from trust_recourse.io.wording import written
from trust_recourse.schema import derived
from trust_recourse.schema.checks import forbidden_moves
from trust_recourse.schema.encoding import Rows
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.multiples import (
    EXACT,
    multiple_above,
    multiple_below,
    plus,
    ratio,
)

if TYPE_CHECKING:
    from trust_recourse.schema.feature import Feature
    from trust_recourse.schema.relations import Relation
    from trust_recourse.schema.table import Schema

ANYTHING = "any to any"
MOST_LISTED = 10_000  # values of one feature


@dataclass(frozen=True)
class FeatureActions:
    """Where one feature of one person may go, in encoded units.

    Allowed are the person's own value, always, and the destinations: `choices` where there are
    any, else the multiples of `step` (counted from 0) within [lower, upper], or that whole
    interval when step is None. `never` holds numbers that mean missing, so are no destination, and
    nothing within `hole`, an open interval, is one.

    >>> FeatureActions(own=0.34, lower=0.0, upper=1.0, step=0.1).nearest(0.4, 0.9)
    0.5
    """

    own: float
    lower: float = -INF
    upper: float = INF
    step: float | None = None
    choices: tuple[float, ...] | None = None
    never: tuple[float, ...] = ()
    hole: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        # One NaN object for all, so that equal moves compare equal.
        object.__setattr__(self, "own", math.nan if math.isnan(self.own) else float(self.own))

    def __eq__(self, other: object) -> bool:
        # as dicts, in which NaN is itself: from Python 3.13 on dataclasses compare field by field
        return isinstance(other, FeatureActions) and vars(self) == vars(other)

    def allows(self, value: float) -> bool:
        """Say whether this value may be taken; NaN stands for missing."""
        if same(value, self.own):
            return True
        if self.choices is not None:
            return value in self.choices
        within = self.lower <= value <= self.upper and math.isfinite(value)
        return within and not self._barred(value) and multiple_below(self.step, value) == value

    def _barred(self, value: float) -> bool:
        """Whether a number within the bounds is no destination."""
        inside = self.hole is not None and self.hole[0] < value < self.hole[1]
        return inside or value in self.never

    def nearest(self, a: float, b: float) -> float | None:
        """Find the allowed value in (a, b] nearest to own (of two, the smaller), or None.

        A missing own value counts from 0. A continuous feature leaves an open end a behind by one
        float, so that no allowed value in (a, b] is nearer.
        """
        if a < self.own <= b:
            return self.own
        anchor = 0.0 if math.isnan(self.own) else self.own
        below = self.destinations(a, min(b, anchor)) if a < anchor else None
        above = self.destinations(max(a, anchor), b) if b > anchor else None
        found = ([below[1]] if below else []) + ([above[0]] if above else [])
        return min(found, key=lambda value: (abs(value - anchor), value), default=None)

    def at_most(self, limit: float) -> float | None:
        """Find the greatest allowed value up to a limit."""
        ends = self.extent(-INF, limit)
        return ends[1] if ends else None

    def at_least(self, limit: float) -> float | None:
        """Find the least allowed value from a limit on."""
        if self.allows(limit):
            return limit
        ends = self.extent(math.nextafter(limit, -INF), INF)
        return ends[0] if ends else None

    def extent(self, a: float, b: float) -> tuple[float, float] | None:
        """Find the least and the greatest allowed value in (a, b]; infinite where unlimited."""
        ends = self.destinations(a, b)
        if not a < self.own <= b:
            return ends
        low, high = ends or (self.own, self.own)
        return min(low, self.own), max(high, self.own)

    def destinations(self, a: float, b: float) -> tuple[float, float] | None:
        """Find the least and the greatest destination in (a, b]."""
        if self.choices is not None:
            inside = [choice for choice in self.choices if a < choice <= b]
            return (inside[0], inside[-1]) if inside else None
        low, high = self.lower, min(b, self.upper)
        if a >= low and a > -INF:
            low = math.nextafter(a, INF)
        low, high = multiple_above(self.step, low), multiple_below(self.step, high)
        below, above = self.hole or (INF, -INF)
        while self._barred(low) and low <= high:
            past = above if below < low < above else math.nextafter(low, INF)
            low = multiple_above(self.step, past)
        while self._barred(high) and low <= high:
            past = below if below < high < above else math.nextafter(high, -INF)
            high = multiple_below(self.step, past)
        return (low, high) if low <= high else None

    @property
    def free(self) -> bool:
        """Whether any other value than the person's own is allowed."""
        ends = self.extent(-INF, INF)
        return ends is not None and ends != (self.own, self.own)

    def adds_to(self, narrower: FeatureActions) -> bool:
        """Say whether this allows what narrower moves of the same feature and person forbid."""
        if self.choices is not None:
            return not set(self.choices) <= set(narrower.choices or ())
        gaps = [(-INF, math.nextafter(narrower.lower, -INF))] if narrower.lower > -INF else []
        if narrower.upper < INF:
            gaps.append((narrower.upper, INF))
        if narrower.hole is not None and self.hole is None:
            first, last = narrower.hole
            below, above = (math.nextafter(end, -INF) for end in (self.own, last))
            gaps += [(first, below), (self.own, above)]
        found = (self.destinations(*gap) for gap in gaps)
        return any(ends not in (None, (self.own, self.own)) for ends in found)

    def count(self) -> float:
        """Count the destinations; infinite where there is no list of them."""
        if self.choices is not None:
            return len(self.choices)
        ends = self.destinations(-INF, INF)
        if ends is None or ends[0] == ends[1]:
            return 0 if ends is None else 1
        if self.step is None or math.isinf(ends[1] - ends[0]):
            return INF
        first, last = _numbers(self.step, *ends)
        return last - first + 1

    def values(self, limit: int = MOST_LISTED, low: float = -INF, high: float = INF) -> Floats:
        """List one's own and all allowed values from low to high; a missing one comes last."""
        found = np.array([choice for choice in self.choices or () if low <= choice <= high])
        if self.choices is None and (ends := self.destinations(math.nextafter(low, -INF), high)):
            found = np.array(ends[:1]) if ends[0] == ends[1] else self._multiples(*ends, limit)
        if self.never:
            found = found[~np.isin(found, self.never)]
        if self.hole is not None:
            found = found[(found <= self.hole[0]) | (found >= self.hole[1])]
        at = int(found.searchsorted(self.own))
        return found if self.own in found[at : at + 1] else np.insert(found, at, self.own)

    def _multiples(self, low: float, high: float, limit: int) -> Floats:
        if self.step is None or math.isinf(high - low):
            raise SchemaError("values cannot be listed: give step, lower and upper first")
        p, q = ratio(self.step)
        first, last = _numbers(self.step, low, high)
        if last - first >= limit:
            raise SchemaError(f"given {last - first + 1} values, expected at most {limit}")
        if max(abs(first), abs(last)) >= EXACT:  # two multiples may be the same float
            given = f"given values from {low!r} to {high!r} in steps of {self.step!r}"
            raise SchemaError(f"{given}, expected them below 2**53 steps: floats skip some beyond")
        if max(abs(first), abs(last), 1) * p < EXACT and q < EXACT:
            return np.arange(first, last + 1) * p / q  # of exact floats, so rounded just as well
        return np.array([k * p / q for k in range(first, last + 1)])


def _numbers(step: float, *multiples: float) -> list[int]:
    """Which multiple of a step each of these is."""
    p, q = ratio(step)
    ratios = (multiple.as_integer_ratio() for multiple in multiples)
    return [(2 * n * q + d * p) // (2 * d * p) for n, d in ratios]


@lru_cache(maxsize=2**14)  # most people share them
def _ends(
    lower: float,
    upper: float,
    step: float | None,
    choices: tuple[float, ...] | None,
    never: tuple[float, ...],
) -> tuple[float, float]:
    """The least and the greatest destination within the bounds; in reverse if there is none."""
    if choices is not None:
        choices = tuple(code for code in choices if lower <= code <= upper)
    actions = FeatureActions(math.nan, lower, upper, step, choices, never)
    return actions.destinations(-INF, INF) or (INF, -INF)


# ---------------------------------------------------------------- the rules of one feature


class Moves:
    """The rules on a feature's moves, for any person; `actions` applies them to one of them."""

    def __init__(self, feature: Feature) -> None:
        self.codes, self.bounds, self.step = feature.codes, feature.bounds, feature.step
        self.movable, self.direction = feature.movable, feature.direction
        self.max_change, self.min_change = feature.max_change, feature.min_change
        self.forbidden = forbidden_moves(feature)
        # whether the ends of its moves are its bounds, for every person
        self.same_for_all = self.movable and self.direction is None and self.max_change is None
        self.known: dict[float, FeatureActions] = {}  # of listed values, which most people share

    def actions(self, own: float) -> FeatureActions:
        """Where it may go from a person's own value, encoded."""
        own = math.nan if math.isnan(own) else own  # one NaN for all
        if own in self.known:
            return self.known[own]
        lower, upper = self.bounds
        if not self.same_for_all:
            lows, highs, _ = zip(*self.limits(own), strict=True)
            lower, upper = max(lows), min(highs)
        if self.codes.numeric:
            hole = None if self.min_change is None else self._hole(own)
            return FeatureActions(own, lower, upper, self.step, None, self.codes.never, hole)
        choices = tuple(
            code
            for code in map(float, range(self.codes.size))
            if code == own
            or (
                lower <= code <= upper
                and code % (self.step or 1.0) == 0
                and not any(self.ruled_out(own, code))
            )
        )
        self.known[own] = FeatureActions(own, lower, upper, self.step, choices)
        return self.known[own]

    def limits(self, own: float) -> Iterator[tuple[float, float, str]]:
        """Yield the rules on a destination: the interval that each leaves, and its sentence."""
        stay = (INF, -INF) if math.isnan(own) else (own, own)
        if not self.movable:
            yield *stay, "{title} may not change"
        elif math.isnan(own) and (self.direction or self.max_change):
            yield *stay, "{title} is missing, so a limited change cannot be counted from it"
        else:
            low, high = self.bounds
            yield low, INF, "{title} must not fall below {lower}"
            yield -INF, high, "{title} must not rise above {upper}"
            if self.direction == "increase":
                yield own, INF, "{title} may only increase"
            if self.direction == "decrease":
                yield -INF, own, "{title} may only decrease"
            if self.max_change is not None:
                least, most = plus(own, -self.max_change), plus(own, self.max_change)
                yield least, most, "{title} may change by at most {change}"

    def _hole(self, own: float) -> tuple[float, float] | None:
        """Between what a move would be too small to ask for."""
        if self.min_change is None or math.isnan(own):
            return None
        return plus(own, -self.min_change), plus(own, self.min_change)

    def ruled_out(self, own: float, value: float) -> Iterator[str]:
        """The rules, as sentences, that forbid this move though its end lies within the bounds."""
        hole = self._hole(own)
        if hole is not None and hole[0] < value < hole[1] and value != own:
            yield "{title} must change by at least {least}, or stay"
        if (own, value) in self.forbidden:
            yield "{title} may not go from {own} to {value}"


def why_not(feature: Feature, own: float, value: float) -> tuple[str, ...]:
    """Name every rule that moving from own to value breaks, as a sentence; none if allowed."""
    moves, actions = feature.moves, feature.actions(own)
    if actions.allows(value):
        return ()
    if math.isnan(value) or value in actions.never:
        return (f"{feature.title} may not become missing",)
    if math.isinf(value) or not (feature.numeric or value in range(feature.codes.size)):
        return (f"{feature.title} has no value {written(value)}",)
    words = {
        "title": feature.title,
        "lower": feature.describe(feature.lower, ROUND_CEILING),
        "upper": feature.describe(feature.upper, ROUND_FLOOR),
        "change": feature.amount(feature.max_change or 0.0, ROUND_FLOOR),
        "least": feature.amount(feature.min_change or 0.0, ROUND_CEILING),
        "step": feature.amount(feature.step or 1.0),
        "own": feature.describe_code(own),
        "value": feature.describe_code(value),
    }
    rules = [rule for low, high, rule in moves.limits(own) if not low <= value <= high]
    rules += moves.ruled_out(own, value)
    rules = rules or ["{title} must be a multiple of {step}"]
    return tuple(rule.format(**words) for rule in rules)


# ---------------------------------------------------------------- all features of one person


@dataclass(frozen=True)
class ActionSet:
    """Ω(x) for one person: `FeatureActions` per feature, in the schema's order, and the relations.

    Staying exactly as one is, is always allowed, even where a relation is broken already; whoever
    changes anything must end with every relation kept.

    >>> from trust_recourse.schema import Feature, Schema
    >>> schema = Schema((Feature("age", "integer", mutable=False), Feature("income", unit="€")))
    >>> action_set = schema.action_set({"age": 40, "income": 900})
    >>> action_set.allows([40, 1200])
    True
    >>> action_set.why_not([41, 1200])
    ('age may not change',)
    """

    schema: Schema
    actions: tuple[FeatureActions, ...]

    @classmethod
    def of(cls, schema: Schema, codes: Sequence[float]) -> ActionSet:
        """Where a person with these codes may go."""
        if schema.derived:
            derived.refuse_disagreeing(schema, codes)
        actions = [f.moves.actions(code) for f, code in zip(schema.features, codes, strict=True)]
        return cls(schema, tuple(actions))

    def __getitem__(self, key: str | int) -> FeatureActions:
        return self.actions[self.schema.position(key)]

    def __repr__(self) -> str:
        lines = []
        for feature, actions in zip(self.schema, self.actions, strict=True):
            ends = actions.extent(-INF, INF) or (actions.own, actions.own)
            own = feature.describe_code(actions.own)
            if actions.choices is not None:
                goes = ", ".join(map(feature.describe_code, actions.choices))
            else:
                words = ("any" if abs(end) == INF else feature.describe_code(end) for end in ends)
                goes = " to ".join(words)
            told = f", may be {goes}" if actions.free else ", fixed"
            if feature.derived:
                told = f", follows ({feature.derived})" + f", within {goes}" * (goes != ANYTHING)
            elif actions.free and feature.min_change is not None:
                told += f", by at least {feature.amount(feature.min_change)}"
            lines.append(f"{feature.title}: {own}{told}")
        return "\n".join([*lines, *map(repr, self.relations)])

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations that every change must keep."""
        return self.schema.relations

    @cached_property
    def follows(self) -> tuple[derived.Follows, ...]:
        """How this person's derived columns follow from the others."""
        return derived.follows(self.schema, self.own)

    def completed(self, codes: Floats) -> Floats:
        """A row with the values that follow from its others; NaN where one cannot be computed."""
        if not self.schema.derived:
            return codes
        row = codes.copy()
        for each in self.follows:
            row[each.at] = each.value(row)
        return row

    @property
    def own(self) -> Floats:
        """The person's own codes."""
        return np.array([actions.own for actions in self.actions])

    @cached_property
    def ends(self) -> Floats:
        """The least and the greatest destination of each feature; in reverse if there is none."""
        each = ((a.lower, a.upper, a.step, a.choices, a.never) for a in self.actions)
        return np.array([_ends(*rules) for rules in each]).T

    def allows(self, codes: Rows | Sequence[float]) -> bool:
        """Say whether this person may become this row, given as values by name or as codes."""
        return next(self._broken(codes), None) is None

    def allows_box(self, box: Sequence[Floats]) -> bool:
        """Say whether every row of a box is a change that this person may make.

        It has the codes that each feature may take, ascending, each of which the feature's own
        rules allow; those of derived columns are ignored.
        """
        for relation in self.relations:
            at = [*map(self.schema.position, relation.names)]
            if not relation.always([self.actions[f].own for f in at], [box[f] for f in at]):
                return False
        return all(
            each.always([box[g] for g in each.inputs], self.actions[each.at])
            for each in self.follows
        )

    def why_not(self, codes: Rows | Sequence[float]) -> tuple[str, ...]:
        """Name every rule that becoming this row breaks, as a sentence; none if it is allowed."""
        return tuple(self._broken(codes))

    def _broken(self, codes: Rows | Sequence[float]) -> Iterator[str]:
        row: Any = as_pandas(codes)
        if isinstance(row, (pd.DataFrame, pd.Series, Mapping)):
            row = self.schema.encode(row)[0]
        before, after = [actions.own for actions in self.actions], [float(code) for code in row]
        if len(after) != len(before):
            raise SchemaError(f"given {len(after)} codes, expected {len(before)}")
        if all(map(same, before, after)):
            return
        for feature, actions, value in zip(self.schema, self.actions, after, strict=True):
            if not actions.allows(value):
                yield from why_not(feature, actions.own, value)
        for each in self.follows:
            computed = each.value(np.array(after))
            if not same(computed, after[each.at]):
                feature = self.schema[each.at]
                must = "nothing" if math.isnan(computed) else feature.describe(computed)
                yield f"{feature.title} follows from others ({feature.derived}): it must be {must}"
        for relation in self.relations:
            at = [*map(self.schema.position, relation.names)]
            if not relation.holds([before[f] for f in at], [after[f] for f in at]):
                yield relation.sentence(self.schema)
