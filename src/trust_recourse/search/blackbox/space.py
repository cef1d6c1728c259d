"""Ω(x) as a space to search, for every engine that tries rows of a model it cannot look into.

A feature that may move is an **axis** whose every coordinate stands for an allowed value, the
person's own among them; a feature that may not move has none. A row that breaks a relation between
features is moved to one nearby that keeps it. So what comes out of a space is allowed.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trust_recourse.io.scalars import Floats
from trust_recourse.question import Problem
from trust_recourse.schema import ActionSet, Feature, FeatureActions, SchemaError

STAYS = 0.005  # of a continuous range: a smaller move is none, or chance would never leave it alone
MISSING = 0.05  # of a continuous axis, at its end: stands for a person's own missing value
MOST_REPAIRS = 64  # rows looked at to repair one suggestion


@dataclass(frozen=True, eq=False)
class _ListedAxis:
    """An axis of listed values, of which a missing one is the last."""

    at: int  # the feature's position
    name: str
    values: Floats

    def draw(self, rng: np.random.Generator) -> float:
        """A value by chance."""
        return float(rng.choice(self.values))

    def rank(self, value: float) -> int:
        """Where a value stands in the list."""
        missing = math.isnan(value)
        return len(self.values) - 1 if missing else int(np.searchsorted(self.values, value))


class LevelsAxis(_ListedAxis):
    """Listed values in order; the coordinate is the rank."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value, where none is missing."""
        return float(self.values[0]), float(self.values[-1])

    def nearest(self, wanted: Floats) -> Floats:
        """The value nearest to each number (of two, the smaller), where none is missing."""
        above = np.searchsorted(self.values, wanted).clip(1, len(self.values) - 1)
        low, high = self.values[above - 1], self.values[above]
        found: Floats = np.where(high - wanted < wanted - low, high, low)
        return found

    def value(self, place: Floats) -> float:
        """The value at a place of the unit cube."""
        return float(self.values[round(float(place[0]) * (len(self.values) - 1))])

    def place(self, value: float) -> Floats:
        """The place of a value in the unit cube."""
        return np.array([self.rank(value) / (len(self.values) - 1)])


class ChoiceAxis(_ListedAxis):
    """Values without an order: one coordinate each, of which the largest is chosen."""

    def value(self, place: Floats) -> float:
        """The value at a place of the unit cube."""
        return float(self.values[int(np.argmax(place))])

    def place(self, value: float) -> Floats:
        """The place of a value in the unit cube."""
        return np.asarray(np.eye(len(self.values))[self.rank(value)])


@dataclass(frozen=True, eq=False)
class SpanAxis:
    """A continuous axis, or one of too many values to list; the coordinate is the share of it.

    What lies within `STAYS` of the person's own value is their own value. A missing one has no
    place among numbers, so the end of the axis beyond 1 − `MISSING` stands for it.
    """

    at: int
    name: str
    actions: FeatureActions
    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value."""
        return self.low, self.high

    @property
    def _end(self) -> float:
        return 1.0 - MISSING if math.isnan(self.actions.own) else 1.0

    def nearest(self, wanted: Floats) -> Floats:
        """The value nearest to each number; of two, the smaller."""
        inside = np.clip(wanted, self.low, self.high) + 0.0  # no −0
        return np.array([_nearest(self.actions, number) for number in inside.tolist()])

    def value(self, place: Floats) -> float:
        """The value at a place of the unit cube."""
        share, own, size = float(place[0]), self.actions.own, self.high - self.low
        if share > self._end:
            return own
        wanted = min(self.low + share / self._end * size, self.high)
        return own if abs(wanted - own) <= STAYS * size else _nearest(self.actions, wanted)

    def place(self, value: float) -> Floats:
        """The place of a value in the unit cube."""
        if math.isnan(value):
            return np.ones(1)
        return np.array([(value - self.low) / (self.high - self.low) * self._end])

    def draw(self, rng: np.random.Generator) -> float:
        """A value by chance."""
        return self.value(rng.random(1))


Axis: TypeAlias = LevelsAxis | ChoiceAxis | SpanAxis


def _axis(at: int, feature: Feature, actions: FeatureActions) -> Axis | None:
    """The axis of one feature; none if it has one value only."""
    low, high = actions.extent(-math.inf, math.inf) or (actions.own, actions.own)
    if math.isinf(low) or math.isinf(high):
        side = "lower" if math.isinf(low) else "upper"
        raise SchemaError(
            f"feature {feature.name!r} may go without limit, but a black-box search needs a range "
            f"to draw from; give it a {side} bound or a max_change"
        )
    try:
        values = actions.values()
    except SchemaError:  # continuous, or too many
        return SpanAxis(at, feature.name, actions, low, high)
    if len(values) < 2:
        return None
    kind = ChoiceAxis if feature.kind == "category" else LevelsAxis
    return kind(at, feature.name, values)


def _nearest(actions: FeatureActions, wanted: float) -> float:
    """The allowed value nearest to a number within the extent of the moves."""
    ends = (actions.at_most(wanted), actions.at_least(wanted))
    return min((end for end in ends if end is not None), key=lambda end: abs(end - wanted))


@dataclass(frozen=True, eq=False)
class Space:
    """The rows that a person may become, as the product of their axes and a repair of relations."""

    problem: Problem
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, problem: Problem) -> Space:
        """The space of a problem."""
        each = zip(problem.action_set.schema, problem.action_set.actions, strict=True)
        axes = (
            _axis(at, feature, actions)
            for at, (feature, actions) in enumerate(each)
            if not feature.derived
        )
        return cls(problem, tuple(axis for axis in axes if axis is not None))

    @property
    def action_set(self) -> ActionSet:
        """Where the person may go."""
        return self.problem.action_set

    def cost(self, codes: Floats) -> float:
        """What it costs to become this row."""
        return self.problem.cost.between(
            self.action_set.schema.features, self.action_set.own, codes
        )

    def row(self, values: Iterable[float]) -> Floats:
        """The person's row with these values, one for each axis."""
        codes = self.action_set.own
        codes[[axis.at for axis in self.axes]] = list(values)
        return codes

    def place(self, codes: Floats) -> Floats:
        """The place of a row in the unit cube."""
        return np.concatenate([axis.place(float(codes[axis.at])) for axis in self.axes])

    def draw(self, rng: np.random.Generator) -> Floats:
        """A row by chance: few features move, or many."""
        own, share = self.action_set.own, rng.random()
        return self.row(
            axis.draw(rng) if rng.random() < share else own[axis.at] for axis in self.axes
        )

    def near(self, codes: Floats, rng: np.random.Generator) -> Floats:
        """A row around this one: some features on the way between it and the own row, one anew."""
        own = self.action_set.own
        parts = [(axis, axis.place(own[axis.at]), axis.place(codes[axis.at])) for axis in self.axes]
        row = self.row(
            axis.value(np.clip(a + (b - a) * rng.uniform(0.0, 1.2), 0.0, 1.0))
            if rng.random() < 1 / 2
            else codes[axis.at]
            for axis, a, b in parts
        )
        if rng.random() < 1 / 2:
            anew = self.axes[int(rng.integers(len(self.axes)))]
            row[anew.at] = anew.draw(rng)
        return row

    def kept(self, codes: Floats) -> Floats | None:
        """The row itself if it keeps every relation, else one nearby that does, or None.

        Broken relations are mended one at a time, each in either of two ways; rows are looked at
        by how far they are from the first, in the units of the cost.
        """
        features, codes = self.action_set.schema.features, self.action_set.completed(codes)
        order = itertools.count()
        heap, seen = [(0.0, next(order), codes)], {codes.tobytes()}
        for _ in range(MOST_REPAIRS):
            if not heap:
                return None
            row = heapq.heappop(heap)[2]
            if self.action_set.allows(row):
                return row
            for mended in _mended(self.action_set, row):
                if mended.tobytes() not in seen:
                    seen.add(mended.tobytes())
                    far = self.problem.cost.between(features, mended, codes)
                    heapq.heappush(heap, (far, next(order), mended))
        return None


def _mended(action_set: ActionSet, codes: Floats) -> Iterator[Floats]:
    """Rows that keep the first relation that this one breaks, with one value changed each."""
    own, schema = action_set.own, action_set.schema
    for relation in action_set.relations:
        at = [*map(schema.position, relation.names)]
        before, after = own[at].tolist(), codes[at].tolist()
        if relation.holds(before, after):
            continue
        for k, value in relation.mended(before, after, [action_set.actions[f] for f in at]):
            mended = codes.copy()
            mended[at[k]] = value
            yield action_set.completed(mended)
        return
