"""Bounds on the cost of reaching a confidence, for any model that can be read.

Only points that cost less than a goal matter, see `reader.Choices`. Those that reach a level have
Σ_f g_f ≥ needed for the gains g of a relaxation, with one candidate per feature; so at every price
λ ≥ 0 they cost at least λ · needed + Σ_f min (cost − λ g), and there is none if even the greatest
gains are not enough. Costs are before the root; boxes are judged many at once, so all is arrays
over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trust_recourse.certificate.reader import (
    ROUNDING,
    SHARE,
    Bools,
    Bounds,
    Choices,
    Reader,
    Relaxation,
    inside_boxes,
)
from trust_recourse.certificate.record import Function
from trust_recourse.io import cancel
from trust_recourse.io.scalars import Floats, Ints

AT_ONCE = 1 << 22  # numbers of boxes judged together, or pairs of those of a candidate


class Effort(NamedTuple):
    """How many steps the reader may take towards its best conditions, and we to the best price."""

    conditions: int  # at 0 the budget is left unused
    prices: int


EFFORTS = (Effort(0, 1), Effort(4, 1), Effort(24, 24))


@dataclass(frozen=True, eq=False)
class PricedCandidates:
    """All candidates, one feature after another: what each costs, and the cell it lies in."""

    reader: Reader
    cells: tuple[Ints, ...]
    costs: Floats
    functions: tuple[Function, ...] = ()
    made: Bounds | None = None

    def using(self, functions: tuple[Function, ...]) -> PricedCandidates:
        """The same candidates, judged by other functions."""
        return replace(self, functions=functions, made=self._bounds.using(functions))

    @cached_property
    def sizes(self) -> Ints:
        """How many candidates each feature has."""
        return np.array([len(of) for of in self.cells])

    @property
    def work(self) -> int:
        """How many numbers there are to a box."""
        return self._bounds.work

    def cheapest(self, first: Ints, last: Ints) -> Floats:
        """What each box costs at least: its cheapest candidates together."""
        return np.asarray(self._least_costs(inside_boxes(self.sizes, first, last)).sum(axis=1))

    def confidence(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """Bounds on the confidence on each box."""
        low, high = (
            np.clip(score, *self.reader.ends) for score in self._bounds.scores(first, last)
        )
        return self.reader.confidence(low), self.reader.confidence(high)

    def priced(
        self,
        first: Ints,
        last: Ints,
        price: Floats,
        level: float,
        goal: float = math.inf,
        function: Ints | None = None,
    ) -> Floats:
        """What a point of each box whose score reaches a level costs, up to the goal.

        The best price is looked for from the given one on; an infinite one says that the score of
        the whole box falls short. Bounds that take more work are tried on the boxes that others
        leave below the goal.
        """
        function = np.zeros(len(first), np.int64) if function is None else function
        price = price / self.reader.price_unit
        found = self.cheapest(first, last) if math.isfinite(level) else np.full(len(first), goal)
        short = np.flatnonzero(np.isinf(price) & (found < goal))
        if len(short):
            high = self._bounds.scores(first[short], last[short])[1]
            found[short[high < level]] = goal
        at_once = max(AT_ONCE // self.work, 1)
        efforts = EFFORTS[:: 2 if self.reader.functional else 1] if goal < math.inf else EFFORTS[:1]
        for effort in efforts:
            left = np.flatnonzero(found < goal)
            for start in range(0, len(left), at_once):
                cancel.check()
                at = left[start : start + at_once]
                inside = inside_boxes(self.sizes, first[at], last[at])
                choices = self._choices(inside, price[at], function[at], goal)
                out, relaxations = self._bounds.relaxed(choices, level, effort.conditions)
                least = [self._bought(choices, each, effort.prices) for each in relaxations]
                found[at] = np.max([found[at], np.where(out, goal, -math.inf), *least], axis=0)
        return np.minimum(found, goal)

    def beyond(self, here: Bools, price: float, function: int, level: float, goal: float) -> Bools:
        """Which of the candidates here no point has that reaches a level and costs less.

        It is what every point costs at a price and, in place of the cheapest candidate of its
        feature at that price, the candidate itself.
        """
        price /= self.reader.price_unit
        choices = self._choices(here[None], np.array([price]), np.array([function]), goal)
        left = np.zeros_like(here)
        left[choices.candidate] = True
        out, relaxations = self._bounds.relaxed(choices, level, 0)
        costs, feature = self.costs[choices.candidate], self._feature[choices.candidate]
        for needed, gains, size in relaxations:
            priced = costs - price * gains
            least = choices.each(np.minimum, priced[None])[0, 0]
            terms = choices.each(np.maximum, (costs + price * (np.abs(gains) + size))[None]).sum()
            off = SHARE * max(1.0, len(least) / 32) * (price * abs(float(needed[0])) + terms)
            bound = price * needed[0] + least.sum() - off
            left[choices.candidate] &= bound + (priced - least[feature]) < goal
        return np.asarray(here & (~left | out[0]))

    def halves(self, first: Ints, last: Ints) -> list[tuple[Ints, Ints]]:
        """One box, (1, features), cut in the middle of the feature that moves its score most."""
        loose = self._bounds.looseness(first, last)
        f = int(np.argmax(np.where(first[0] < last[0], loose, -1.0)))
        left, right = last.copy(), first.copy()
        left[0, f] = (first[0, f] + last[0, f]) // 2
        right[0, f] = left[0, f] + 1
        return [(first, left), (right, last)]

    # ------------------------------------------------------------ candidates in boxes

    @cached_property
    def _bounds(self) -> Bounds:
        return self.made or self.reader.bounds(self.cells, self.functions)

    @cached_property
    def _start(self) -> Ints:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def _feature(self) -> Ints:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def _least_costs(self, inside: Bools) -> Floats:
        """The least cost of each feature in each box."""
        costs = np.where(inside, self.costs, math.inf)
        return np.asarray(np.minimum.reduceat(costs, self._start, axis=1))

    def _choices(self, inside: Bools, price: Floats, function: Ints, goal: float) -> Choices:
        """The candidates of each box that a point cheaper than the goal may have."""
        least = self._least_costs(inside)
        budget = goal - least.sum(axis=1)
        if goal < math.inf:
            budget = np.maximum(budget, 0.0) + ROUNDING * abs(goal)
        spend = self.costs - least[:, self._feature]
        box, candidate = np.nonzero(inside & (spend <= budget[:, None]))
        d = len(self.sizes)
        start = np.searchsorted(box * d + self._feature[candidate], np.arange(len(inside) * d))
        return Choices(box, candidate, start, spend[box, candidate], budget, price, function)

    # ------------------------------------------------------------ the cost of a level

    def _bought(self, choices: Choices, relaxation: Relaxation, steps: int) -> Floats:
        """What the gains that are needed cost together."""
        gains, size = relaxation.gains[None], relaxation.size[None]
        needed = relaxation.needed - SHARE * choices.each(np.maximum, size)[0].sum(axis=1)
        out = choices.each(np.maximum, gains)[0].sum(axis=1) < needed
        start = np.where(np.isfinite(choices.price), choices.price, 1.0)
        costs = self.costs[choices.candidate][None]
        found = tightest(choices, -costs, -gains, -needed[None], start[None], steps)
        return np.where(out, math.inf, -found[0])


def tightest(
    choices: Choices, values: Floats, spend: Floats, budget: Floats, rate: Floats, steps: int
) -> Floats:
    """The least of μ · budget + Σ_f max (values − μ · spend) over rates μ ≥ 0; (k, n).

    At every rate this is no less than Σ_f values of any point that spends no more than the budget.
    It is convex in μ: the tangents at two rates, one on either side of the least, meet at a rate
    between them, which is tried next. As every rate gives a bound, the search may stop anywhere.
    """
    left, best = _at_rate(choices, values, spend, budget, np.zeros_like(rate))
    right = _Line(rate, np.full_like(rate, math.inf), np.zeros_like(rate))  # not known so far
    for _ in range(steps):
        cancel.check()
        here, bound = _at_rate(choices, values, spend, budget, rate)
        best = np.minimum(best, bound)
        falls = here.slope < 0
        left = _Line(*(np.where(falls, new, old) for new, old in zip(here, left, strict=True)))
        right = _Line(*(np.where(falls, old, new) for new, old in zip(here, right, strict=True)))
        rate, floor = _meeting(left, right, rate)
        if (floor >= best - ROUNDING * (1.0 + np.abs(best))).all():
            break
    return best


class _Line(NamedTuple):
    """A tangent: at a rate, its value and its slope."""

    rate: Floats
    value: Floats
    slope: Floats


def _at_rate(
    choices: Choices, values: Floats, spend: Floats, budget: Floats, rate: Floats
) -> tuple[_Line, Floats]:
    """The tangent of what `tightest` looks for at a rate, and its value there, surely not below."""
    each = values - np.take(rate, choices.box, axis=1) * spend
    top = choices.each(np.maximum, each)
    counts = np.diff(choices.start, append=len(choices.box))
    at_top = each == np.repeat(top.reshape(len(top), -1), counts, axis=1)
    spent = choices.each(np.minimum, np.where(at_top, spend, math.inf))
    value = rate * budget + top.sum(axis=2)
    size = np.abs(top).sum(axis=2) + rate * (np.abs(budget) + np.abs(spent).sum(axis=2))
    return _Line(rate, value, budget - spent.sum(axis=2)), value + SHARE * size


def _meeting(left: _Line, right: _Line, rate: Floats) -> tuple[Floats, Floats]:
    """Where two tangents meet, at a rate and a value; a greater rate, while the right is unknown.

    Where it rises from the start on, its least is its value at 0.
    """
    known, rises = np.isfinite(right.value), left.slope >= 0
    apart = np.where(known & ~rises, left.slope - right.slope, 1.0)
    fall = left.slope * left.rate - right.slope * right.rate
    meeting = (np.where(known, right.value, 0.0) - left.value + fall) / apart
    meeting = np.clip(meeting, left.rate, np.where(known, right.rate, math.inf))
    following = np.where(rises, 0.0, np.where(known, meeting, 8.0 * rate + 1e-9))
    value = left.value + left.slope * (meeting - left.rate)
    return following, np.where(rises, math.inf, np.where(known, value, -math.inf))
