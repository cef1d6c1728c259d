"""A walk from a row to cheaper ones: coordinate by coordinate, but all of them weighed at once.

A **sweep** asks the model what each axis does by itself: back to the person's own value, half the
way back, and a reach to either side. In log odds these gains add up roughly, and costs add up
exactly, so the cheapest row for every sum of gains is a knapsack over the axes: it takes some back,
exchanges others and pushes on where that is cheap. How far the sums err is found out by asking for
a few of its rows. The best row is where the next sweep begins, with half the reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.question import Point, changed
from trust_recourse.search.blackbox.space import Axis, ChoiceAxis, LevelsAxis
from trust_recourse.search.blackbox.trials import Tried, rank

# In shares of an axis.
NEAR, FAR = 0.125, 1.0  # how far the first two sweeps from the person look
LEAST = 0.004  # below that reach a walk has ended

GRID = 17  # values on either side that the knapsack chooses from
CATEGORIES = 5  # values of a category that a sweep looks at, drawn by chance where it has more
BINS = 512  # of gain, in the knapsack
MARGINS = (-0.1, 0.0, 0.05, 0.12, 0.25, 0.5)  # asked for beyond the need, in shares of the way
FINER = 2  # times that the gap between the last row to miss and the first to meet is cut in three
KEPT = 10  # rows that the looking around leaves for those that are promised
SURE = 1e-12  # confidences nearer to 0 or 1 are all alike


class Subspace(NamedTuple):
    """What one axis may do: its values, and what each gains and costs."""

    at: int  # the feature's position
    values: Floats
    gains: Floats
    costs: Floats


class Walk:
    """Where a walk is, and how far a sweep looks around it."""

    def __init__(self, tried: Tried, start: Point, rng: np.random.Generator) -> None:
        self.tried, self.space, self.rng = tried, tried.space, rng
        self.target, self.own = self.space.problem.target, self.space.action_set.own
        self.at = self.best = start
        self.first = not changed(self.own, start.codes)  # looks from near and from afar, then goes
        self.reach = NEAR
        self.rank = rank(self.target)
        self.idle: set[tuple[Axis, bool]] = set()  # sides of axes, up or down, that only lost
        self.gains = self._none_yet()
        now, (low, high) = tried.point(self.own).confidence, self.target.interval
        self.sign = 1.0 if now < low else -1.0
        self.edge = self.sign * _log_odds(low if now < low else high)
        self.way = max(self.edge - self.sign * _log_odds(now), 1e-3)  # from the person on

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to look at."""
        return self.reach < LEAST

    def sweep(self) -> None:
        """Look around, ask for what the looks promise, and go to the best row of all."""
        looked = self._look()
        parts = [self._part(axis, known) for axis, known in self.gains.items()]
        self.best = min([self.best, *looked, *self._promised(parts)], key=self.rank)
        if self.first:
            self.reach = FAR
        elif not any(part.gains.any() for part in parts):
            self.reach = 0.0
        elif self.rank(self.best) < self.rank(self.at):
            self.at, self.reach = self.best, self.reach / 2
            self.gains = self._none_yet()
        else:
            self.reach, self.idle = self.reach / 2, set()
        self.first = False

    def _none_yet(self) -> dict[Axis, dict[float, float]]:
        """What is known of each axis where the walk is: at its place, nothing is gained."""
        return {axis: {_place(axis, self.at.codes[axis.at]): 0.0} for axis in self.space.axes}

    def _score(self, point: Point) -> float:
        return self.sign * _log_odds(point.confidence)

    def _change(self, axis: Axis, value: float) -> float:
        feature = self.space.action_set.schema[axis.at]
        return self.space.problem.cost.change(feature, float(self.own[axis.at]), value)

    def _ask(self, rows: Iterable[Floats], leave: int = 0) -> list[Point]:
        """The points of rows: of as many as may be asked, but for some that are left."""
        listed, left = list(rows), self.tried.left
        return self.tried.ask(listed[: int(min(len(listed), left - min(leave, left // 2)))])

    # ------------------------------------------------------------ looking around

    def _look(self) -> list[Point]:
        """Ask what each axis gains by itself; what the walk has changed comes first."""
        moved = changed(self.own, self.at.codes)
        looks = [
            (axis, place, row)
            for axis in sorted(self.space.axes, key=lambda axis: axis.at not in moved)
            for place, row in self._looks(axis)
        ]
        points = self._ask((row for _, _, row in looks), KEPT)
        here = self._score(self.at)
        for (axis, place, _), point in zip(looks, points, strict=False):
            gain = self._score(point) - here
            self.gains[axis].setdefault(place, gain)
            if axis.at not in moved:
                side = axis, place > _place(axis, self.own[axis.at])
                (self.idle.add if gain < 0 else self.idle.discard)(side)
        return points

    def _looks(self, axis: Axis) -> Iterator[tuple[float, Floats]]:
        """Where to look at an axis, and the allowed row with its value there."""
        here, own = (_place(axis, codes[axis.at]) for codes in (self.at.codes, self.own))
        if isinstance(axis, ChoiceAxis):
            places = {own, *self._categories(axis)}
        else:
            sides = [up for up in (False, True) if here != own or (axis, up) not in self.idle]
            places = {own, *(self._end(axis, here, up) for up in sides)}
            if abs(own - here) > self.reach:
                places.add((own + here) / 2)
        values = {_place(axis, value): value for value in (_value(axis, at) for at in places)}
        for place in sorted(values.keys() - {here}):
            row = self.at.codes.copy()
            row[axis.at] = values[place]
            if (kept := self.space.kept(row)) is not None:
                yield place, kept

    def _categories(self, axis: ChoiceAxis) -> list[float]:
        """Some ranks of a category whose change alone costs less than the best answer."""
        ranks = [float(at) for at in range(len(axis.values)) if self._pays(axis, float(at))]
        if len(ranks) <= CATEGORIES:
            return ranks
        return [float(at) for at in self.rng.choice(ranks, CATEGORIES, replace=False)]

    def _end(self, axis: Axis, here: float, up: bool) -> float:
        """How far to look to a side: the reach, as far as it costs less than the best answer."""
        level = 1 / (len(axis.values) - 1) if isinstance(axis, LevelsAxis) else 0.0
        reach = max(self.reach, level)
        end = min(here + reach, 1.0) if up else max(here - reach, 0.0)
        back = np.linspace(end, here, GRID).tolist()
        return next((place for place in back if self._pays(axis, place)), here)

    def _pays(self, axis: Axis, place: float) -> bool:
        added = self._change(axis, _value(axis, place))
        return self.space.problem.cost.total(added) < self._most()

    def _most(self) -> float:
        """What an answer must cost less than."""
        return self.best.cost if self.target.met(self.best.confidence) else math.inf

    # ------------------------------------------------------------ what the looks promise

    def _part(self, axis: Axis, known: dict[float, float]) -> Subspace:
        """What an axis may do: a category what was looked at, else what lies between, too."""
        places, gains = np.array(sorted(known.items())).T
        listed = places
        if not isinstance(axis, ChoiceAxis):
            here, own = (_place(axis, codes[axis.at]) for codes in (self.at.codes, self.own))
            around = here + self.reach * np.linspace(-1.0, 1.0, 2 * GRID - 1)
            every = np.concatenate([places, around, np.linspace(here, own, GRID)])
            listed = np.unique(np.clip(every, places[0], places[-1]))
        values = [_value(axis, place) for place in listed.tolist()]
        at = [_place(axis, value) for value in values]
        costs = np.array([self._change(axis, value) for value in values])
        return Subspace(axis.at, np.array(values), np.interp(at, places, gains), costs)

    def _promised(self, parts: list[Subspace]) -> list[Point]:
        """Points of the knapsack, asked around where they begin to meet the target."""
        need = self.edge - self._score(self.at)
        sack = Knapsack(parts, min(need, 0.0) - 4 * self.way, max(need, 0.0) + self.way)
        asked: dict[int, Point] = {}

        def ask(bins: Iterable[int]) -> None:
            rows = {at: self._cheaper(sack.row(at)) for at in bins if at not in asked}
            new = {at: row for at, row in rows.items() if row is not None}
            asked.update(zip(new, self._ask(new.values()), strict=False))

        ask(sack.bin(need + margin * self.way) for margin in MARGINS)
        for _ in range(FINER):
            met = [at for at, point in asked.items() if self.target.met(point.confidence)]
            missed = [at for at in asked if met and at < min(met)]
            if missed:
                low, high = max(missed), min(met)
                ask(low + (high - low) * third // 3 for third in (1, 2))
        return list(asked.values())

    def _cheaper(self, values: Iterable[tuple[int, float]]) -> Floats | None:
        """The allowed row with these values, if it could be better than the best."""
        row = self.at.codes.copy()
        for at, value in values:
            row[at] = value
        kept = self.space.kept(row)
        return None if kept is None or self.space.cost(kept) >= self._most() else kept


class Knapsack:
    """The least cost at which parts gain at least so much together, and by which values.

    `cost[b]` is for a gain of at least `low` + b widths; what is still needed falls by what each
    part gains, rounded to widths.
    """

    def __init__(self, parts: list[Subspace], low: float, high: float) -> None:
        self.low, self.width = low, (high - low) / BINS
        bins = np.arange(BINS + 1)
        self.cost = np.where(low + bins * self.width <= 0.0, 0.0, math.inf)
        self.chosen: list[tuple[Subspace, Ints, Ints]] = []
        for part in parts:
            gained = np.round(part.gains / self.width).astype(int)
            before = np.clip(bins - gained[:, None], 0, BINS + 1)
            costs = part.costs[:, None] + np.append(self.cost, math.inf)[before]
            pick = costs.argmin(axis=0)
            self.cost = costs[pick, bins]
            self.chosen.append((part, pick, before[pick, bins]))

    def bin(self, gain: float) -> int:
        """The bin of a gain, or of the greatest that there is."""
        most = int(np.flatnonzero(np.isfinite(self.cost))[-1])
        return min(max(round((gain - self.low) / self.width), 0), most)

    def row(self, at: int) -> Iterator[tuple[int, float]]:
        """The position of each part, and its value."""
        for part, pick, before in reversed(self.chosen):
            yield part.at, float(part.values[pick[at]])
            at = int(before[at])


def _place(axis: Axis, value: float) -> float:
    """Where a value is: of a category its rank, else its share of the axis."""
    place = axis.place(value)
    return float(np.argmax(place) if isinstance(axis, ChoiceAxis) else place[0])


def _value(axis: Axis, place: float) -> float:
    """The value that is there."""
    if isinstance(axis, ChoiceAxis):
        return float(axis.values[int(place)])
    return axis.value(np.array([place]))


def _log_odds(confidence: float) -> float:
    inside = min(max(confidence, SURE), 1.0 - SURE)
    return math.log(inside / (1.0 - inside))
