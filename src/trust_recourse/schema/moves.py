"""Where one feature may move from a person's own value, and the rules that forbid a move."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import cached_property
from typing import TYPE_CHECKING

from trust_recourse.io.scalars import INF
from trust_recourse.io.wording import written
from trust_recourse.schema.actions import FeatureActions
from trust_recourse.schema.checks import Direction, refuse
from trust_recourse.schema.multiples import plus

if TYPE_CHECKING:
    from trust_recourse.schema.feature import Feature

ANY = "*"  # stands for any value of a forbidden move


@dataclass(frozen=True)
class Moves:
    """The rules on a feature's moves, for any person; `actions` applies them to one of them.

    The fields are those of `Feature`, in codes.
    """

    numeric: bool
    size: int  # values, unless numeric
    bounds: tuple[float, float]
    step: float | None
    never: tuple[float, ...]
    movable: bool
    direction: Direction | None
    max_change: float | None
    min_change: float | None
    forbidden: frozenset[tuple[float, float]]

    @classmethod
    def of(cls, feature: Feature) -> Moves:
        """The moves of a feature."""
        codes = feature.codes
        return cls(
            codes.numeric,
            codes.size,
            feature.bounds,
            feature.step,
            codes.never,
            feature.movable,
            feature.direction,
            feature.max_change,
            feature.min_change,
            _forbidden(feature),
        )

    def actions(self, own: float) -> FeatureActions:
        """Where it may go from a person's own value, encoded."""
        if self.numeric:
            return self._along(own)
        code = math.nan if math.isnan(own) else own  # one NaN for all
        if code not in self._known:
            self._known[code] = self._among(code)
        return self._known[code]

    @cached_property
    def _known(self) -> dict[float, FeatureActions]:
        """Where a listed value may go, by its code: few, and most people share them."""
        return {}

    def _along(self, own: float) -> FeatureActions:
        """Of a number."""
        if self._anywhere is not None:
            return self._anywhere.of(own)
        lower, upper = self._within(own)
        return FeatureActions(own, lower, upper, self.step, None, self.never, self._hole(own))

    @cached_property
    def _anywhere(self) -> FeatureActions | None:
        """Where a number may go whose rules do not depend on a person's own; None if they do."""
        if not self._same_for_all or self.min_change is not None:
            return None
        return FeatureActions(math.nan, *self.bounds, self.step, None, self.never)

    def _among(self, own: float) -> FeatureActions:
        """Of a listed value."""
        lower, upper = self._within(own)
        stride = self.step or 1.0
        choices = tuple(
            c
            for c in map(float, range(self.size))
            if c == own
            or (lower <= c <= upper and c % stride == 0 and not any(self.ruled_out(own, c)))
        )
        return FeatureActions(own, lower, upper, self.step, choices)

    @property
    def _same_for_all(self) -> bool:
        """Whether the ends of its moves are its bounds, for every person."""
        return self.movable and self.direction is None and self.max_change is None

    def _within(self, own: float) -> tuple[float, float]:
        """The ends of its moves from a person's own value."""
        if self._same_for_all:
            return self.bounds
        lows, highs, _ = zip(*self.limits(own), strict=True)
        return max(lows), min(highs)

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


def _forbidden(feature: Feature) -> frozenset[tuple[float, float]]:
    """The forbidden moves, from code to code."""
    found: set[tuple[float, float]] = set()
    for move in feature.forbidden:
        before, arrow, after = move.partition("->")
        if not arrow:
            refuse(feature, "forbidden", "moves such as 'Master -> Bachelor'")
        found.update(itertools.product(_meant(feature, before), _meant(feature, after)))
    return frozenset(found)


def _meant(feature: Feature, text: str) -> list[float]:
    """The codes that one end of a forbidden move stands for."""
    if text.strip() == ANY:
        return [*map(float, range(feature.codes.size))]
    return [feature.codes.by_value[feature.read(text)]]


def why_not(feature: Feature, own: float, value: float) -> tuple[str, ...]:
    """Name every rule that moving from own to value breaks, as a sentence; none if allowed."""
    actions = feature.actions(own)
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
    rules = [rule for low, high, rule in feature.moves.limits(own) if not low <= value <= high]
    rules += feature.moves.ruled_out(own, value)
    rules = rules or ["{title} must be a multiple of {step}"]
    return tuple(rule.format(**words) for rule in rules)
