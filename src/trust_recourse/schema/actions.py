"""Where one feature of one person may go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trust_recourse.io.scalars import INF, Floats, same
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.multiples import EXACT, multiple_above, multiple_below, ratio

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

    def of(self, own: float) -> FeatureActions:
        """The same moves from another own value, without the checks of a constructor."""
        other = object.__new__(FeatureActions)
        vars(other).update(vars(self), own=math.nan if math.isnan(own) else float(own))
        return other

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
    def ends(self) -> tuple[float, float]:
        """The least and the greatest destination within the bounds; in reverse if there is none."""
        return _ends(self.lower, self.upper, self.step, self.choices, self.never)

    @property
    def free(self) -> bool:
        """Whether any other value than the person's own is allowed."""
        ends = self.extent(-INF, INF)
        return ends is not None and ends != (self.own, self.own)

    def adds_to(self, narrower: FeatureActions) -> bool:
        """Say whether this allows what narrower moves of the same feature and person forbid."""
        if self.choices is not None:
            return not set(self.choices) <= set(narrower.choices or ())
        below = above = None
        if narrower.lower > -INF:
            below = self.destinations(-INF, math.nextafter(narrower.lower, -INF))
        if narrower.upper < INF:
            above = self.destinations(narrower.upper, INF)
        inside = None
        if narrower.hole is not None and self.hole is None:
            first, last = narrower.hole
            sides = (first, math.nextafter(self.own, -INF)), (self.own, math.nextafter(last, -INF))
            inside = next(filter(None, (self.destinations(*side) for side in sides)), None)
        return any(ends not in (None, (self.own, self.own)) for ends in (below, above, inside))

    def count(self) -> float:
        """Count the destinations; infinite where there is no list of them."""
        if self.choices is not None:
            return len(self.choices)
        ends = self.destinations(-INF, INF)
        if ends is None or ends[0] == ends[1]:
            return 0 if ends is None else 1
        if self.step is None or math.isinf(ends[1] - ends[0]):
            return INF
        first, last = self._numbers(*ends)
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
        first, last = self._numbers(low, high)
        if last - first >= limit:
            raise SchemaError(f"given {last - first + 1} values, expected at most {limit}")
        if max(abs(first), abs(last)) >= EXACT:  # two multiples may be the same float
            given = f"given values from {low!r} to {high!r} in steps of {self.step!r}"
            raise SchemaError(f"{given}, expected them below 2**53 steps: floats skip some beyond")
        if max(abs(first), abs(last), 1) * p < EXACT and q < EXACT:
            return np.arange(first, last + 1) * p / q  # of exact floats, so rounded just as well
        return np.array([k * p / q for k in range(first, last + 1)])

    def _numbers(self, *multiples: float) -> list[int]:
        """Which multiple of the step each of these is."""
        p, q = ratio(self.step or 1.0)
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
    nowhere = (INF, -INF)
    if choices is None:
        free = FeatureActions(math.nan, lower, upper, step, None, never)
        return free.destinations(-INF, INF) or nowhere
    inside = [code for code in choices if lower <= code <= upper]
    return (inside[0], inside[-1]) if inside else nowhere
