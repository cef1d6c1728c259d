"""What holds on whole boxes of candidates: bounds on confidence, and on the cost of reaching one.

Notation as in `machine`, with n boxes: for each feature the first and the last of a range of its
candidates, (n, features). Boxes are judged many at once, so all is arrays over them. S_j = Σ_f log
F_jf = log (q_j + E_j). Costs are before the root.

Only points that cost less than a goal matter. In a box whose cheapest point costs c their
**budget** is goal − c, and what a candidate costs more than the cheapest of its feature is its
**spend**: none of them spends more than the budget. That bounds S_j on both sides, see `_least`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trust_recourse import cancel
from trust_recourse.certificate.machine import Bools, Machine, moved
from trust_recourse.question import Floats, Ints

ROUNDING = 1e-12  # confidences and logarithms computed in another order differ by no more
SHARE = 1e-14  # of the size of its terms: what a sum computed in another order differs by at most
FLOOR = 1e-30  # factors below it are taken as this where a logarithm is needed
FLAT = 1e-9  # a clause whose logarithm varies by less over a box is taken as constant
AT_ONCE = 1 << 22  # factors of boxes judged together, or pairs of clauses
FAST = 1 << 15  # of those looked at again and again, so that they stay in fast memory


class Effort(NamedTuple):
    """How many steps are taken towards the best rate of each clause, and to the best price."""

    rates: int  # at 0 the budget is left unused
    prices: int


EFFORTS = (Effort(0, 1), Effort(4, 1), Effort(24, 24))


@dataclass(frozen=True, eq=False)
class Candidates:
    """All candidates, one feature after another: what each costs, and its factors F."""

    machine: Machine
    sizes: Ints  # (features,) how many candidates each has
    costs: Floats  # (candidates,)
    factors: Floats  # (candidates, C)

    def turned(self) -> Candidates:
        """The same candidates, asked about the other class."""
        return replace(self, machine=self.machine.turned())

    def cheapest(self, first: Ints, last: Ints) -> Floats:
        """What each box costs at least: its cheapest candidates together."""
        return np.asarray(self._least_costs(self._inside(first, last)).sum(axis=1))

    def confidence(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """Bounds on the calibrated confidence on each box.

        Each clause lies between the products of its least and of its greatest factors.
        """
        least, most = np.ones((2, len(first), len(self.machine.empty)))
        for f, factors in enumerate(np.split(self.factors, self._start[1:])):
            cancel.check()
            ends = first[:, f], last[:, f]
            least *= _extreme(np.minimum, factors, *ends)
            most *= _extreme(np.maximum, factors, *ends)
        low, high = (self.machine.mean(q) for q in _firing(self.machine, least, most))
        calibrated = self.machine.calibrated
        return (
            calibrated(np.clip(low - ROUNDING, 0.0, 1.0)),
            calibrated(np.clip(high + ROUNDING, 0.0, 1.0)),
        )

    def priced(
        self, first: Ints, last: Ints, price: Floats, raw: float, goal: float = math.inf
    ) -> Floats:
        """What a point of each box with at least this raw confidence costs, up to the goal.

        Such a point has Σ_f g_f ≥ needed, with one candidate per feature for all clauses together;
        so at every price λ ≥ 0 it costs at least λ · needed + Σ_f min (cost − λ g), and there is
        none if even the greatest g are not enough. The best price is looked for from the given one
        on. Bounds that take more work are tried on the boxes that others leave below the goal.
        """
        found = self.cheapest(first, last) if math.isfinite(raw) else np.full(len(first), goal)
        at_once = max(AT_ONCE // max(self.factors.size, len(self.machine.empty) ** 2), 1)
        for effort in EFFORTS if goal < math.inf else EFFORTS[:1]:
            left = np.flatnonzero(found < goal)
            for start in range(0, len(left), at_once):
                cancel.check()
                at = left[start : start + at_once]
                choices = self._choices(first[at], last[at], goal)
                found[at] = np.maximum(found[at], self._dearest(choices, price[at], raw, effort))
        return np.minimum(found, goal)

    def halves(self, first: Ints, last: Ints) -> list[tuple[Ints, Ints]]:
        """One box, (1, features), cut in the middle of the feature that moves its clauses most."""
        each = enumerate(np.split(self.factors, self._start[1:]))
        ranges = [
            np.ptp(factors[first[0, f] : last[0, f] + 1], axis=0).sum() for f, factors in each
        ]
        f = int(np.argmax(np.where(first[0] < last[0], ranges, -1.0)))
        left, right = last.copy(), first.copy()
        left[0, f] = (first[0, f] + last[0, f]) // 2
        right[0, f] = left[0, f] + 1
        return [(first, left), (right, last)]

    # ------------------------------------------------------------ candidates in boxes

    @cached_property
    def _start(self) -> Ints:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def _feature(self) -> Ints:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def _logs(self) -> Floats:
        return np.log(np.maximum(self.factors, FLOOR))

    def _inside(self, first: Ints, last: Ints) -> Bools:
        """Which candidates lie in which box, (n, candidates)."""
        f, at = self._feature, np.arange(len(self.costs)) - self._start[self._feature]
        return np.asarray((at >= first[:, f]) & (at <= last[:, f]))

    def _least_costs(self, inside: Bools) -> Floats:
        """The least cost of each feature in each box."""
        costs = np.where(inside, self.costs, math.inf)
        return np.asarray(np.minimum.reduceat(costs, self._start, axis=1))

    def _choices(self, first: Ints, last: Ints, goal: float) -> _Choices:
        """The candidates of each box that a point cheaper than the goal may have."""
        inside = self._inside(first, last)
        least = self._least_costs(inside)
        budget = goal - least.sum(axis=1)
        if goal < math.inf:
            budget = np.maximum(budget, 0.0) + ROUNDING * abs(goal)
        spend = self.costs - least[:, self._feature]
        box, candidate = np.nonzero(inside & (spend <= budget[:, None]))
        d = len(self.sizes)
        start = np.searchsorted(box * d + self._feature[candidate], np.arange(len(first) * d))
        return _Choices(box, candidate, start, spend[box, candidate], budget)

    # ------------------------------------------------------------ the cost of a confidence

    def _dearest(self, choices: _Choices, price: Floats, raw: float, effort: Effort) -> Floats:
        """What a point with this raw confidence costs; infinite if the budget allows none."""
        clauses = self._clauses(choices, effort.rates)
        high = _firing(self.machine, clauses.least, clauses.most)[1]
        found = np.where(self.machine.mean(high) + ROUNDING < raw, math.inf, -math.inf)
        for needed, per_log in _conditions(self.machine, clauses, raw):
            bought = self._bought(choices, needed, per_log, price, effort.prices)
            found = np.maximum(found, bought)
        return found

    def _clauses(self, choices: _Choices, steps: int) -> _Clauses:
        """Bounds on the clauses at what the budget allows: on the sums S and the products."""
        factors, logs = self.factors.T[:, choices.candidate], self._logs.T[:, choices.candidate]
        most = choices.each(np.maximum, factors).prod(axis=2)
        least = choices.each(np.minimum, factors).prod(axis=2)
        high = choices.each(np.maximum, logs).sum(axis=2) + ROUNDING
        low = choices.each(np.minimum, logs).sum(axis=2) - ROUNDING
        spend, budget = choices.spend[None], choices.budget[None]
        for at in _blocks(len(logs) if steps else 0, len(choices.box)):
            rate = (high[at] - low[at]) / np.maximum(budget, 1e-300)
            above, below = (
                _least(choices, side * logs[at], spend, budget, rate, steps) for side in (1.0, -1.0)
            )
            high[at] = np.minimum(high[at], above + ROUNDING)
            low[at] = np.maximum(low[at], -below - ROUNDING)
        most = np.minimum(most, np.exp(high))
        least = np.maximum(least, np.exp(low) - FLOOR)  # less, for factors below the floor
        return _Clauses(low.T, high.T, least.T, most.T)

    def _bought(
        self, choices: _Choices, needed: Floats, per_log: Floats, price: Floats, steps: int
    ) -> Floats:
        """What Σ_f g_f ≥ needed costs, for the gains g = Σ_j per_log_j · log F_jf."""
        at = choices.box, choices.candidate
        # not a product of matrices: for so small ones its threads would cost more than they save
        gains = np.einsum("nj,cj->nc", per_log, self._logs)[at][None]
        size = np.einsum("nj,cj->nc", np.abs(per_log), np.abs(self._logs))[at][None]
        needed = needed - ROUNDING - SHARE * choices.each(np.maximum, size)[0].sum(axis=1)
        out = choices.each(np.maximum, gains)[0].sum(axis=1) < needed
        start = np.where(np.isfinite(price), price, 1.0)
        costs = self.costs[choices.candidate][None]
        least = _least(choices, -costs, -gains, -needed[None], start[None], steps)
        return np.where(out, math.inf, -least[0])


class _Choices(NamedTuple):
    """Candidates of n boxes, P in all, feature by feature in each box."""

    box: Ints  # (P,)
    candidate: Ints
    start: Ints  # (n · features,) where those of each feature of each box begin
    spend: Floats  # (P,)
    budget: Floats  # (n,)

    def each(self, which: np.ufunc, values: Floats) -> Floats:
        """The least or the greatest of each feature in each box: (k, P) to (k, n, features)."""
        found = which.reduceat(values, self.start, axis=1)
        return np.asarray(found.reshape(len(values), len(self.budget), -1))


class _Clauses(NamedTuple):
    """Between what each clause lies on each box, (n, C)."""

    low: Floats  # the sum S, of factors no smaller than the floor
    high: Floats
    least: Floats  # the product q + E
    most: Floats


def _blocks(rows: int, each: int) -> Iterator[slice]:
    """Parts of so many rows, small enough to stay in fast memory."""
    step = max(FAST // each, 1)
    return (slice(start, start + step) for start in range(0, rows, step))


def _least(
    choices: _Choices, values: Floats, spend: Floats, budget: Floats, rate: Floats, steps: int
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
    choices: _Choices, values: Floats, spend: Floats, budget: Floats, rate: Floats
) -> tuple[_Line, Floats]:
    """The tangent of what `_least` looks for at a rate, and its value there, surely not below."""
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


def _conditions(machine: Machine, clauses: _Clauses, raw: float) -> Iterator[tuple[Floats, Floats]]:
    """Linear conditions on every point with this raw confidence: Σ_j per_log_j S_j ≥ needed.

    M ≤ M_low + Σ_j D_j |q_j − low_j|, D_j the greatest step of the link or `slopes`. The former is
    the same for all clauses, so it bounds the mean of the vote too, and `_mean_needed` applies.
    """
    signs = np.where(machine.up, 1.0, -1.0)
    low, high = _firing(machine, clauses.least, clauses.most)
    base, steepest = machine.mean(low), float(np.diff(machine.link).max())
    constant, slope = _lines(machine, clauses)
    for D in (np.full(low.shape, steepest), slopes(machine, low, high)):
        needed = raw - base - (D * signs * (constant - low)).sum(axis=1)
        yield needed, D * signs * slope
    if raw <= 0.0:
        return
    constant, slope = steepest * signs * constant, steepest * signs * slope
    variance = steepest**2 * _variance(low, high).sum(axis=1)
    yield _mean_needed(machine, raw, variance) - constant.sum(axis=1), slope


def _lines(machine: Machine, clauses: _Clauses) -> tuple[Floats, Floats]:
    """Lines in S_j, constant and slope, above the q_j that are up and below the others.

    On a box exp lies below its secant and above every tangent; the one that is parallel to the
    secant is taken. A clause that has no logarithm somewhere is as small as it may be.
    """
    low, high, least, most = clauses
    bare = least <= FLOOR  # for all others no factor lies below the floor
    flat = (high - low < FLAT) | (most < ROUNDING)
    secant = (np.exp(high) - np.exp(low)) / np.where(flat, 1.0, high - low)
    slope = np.where(flat | (~machine.up & bare), 0.0, secant)
    above = np.where(flat, most, np.exp(low) - slope * low)
    below = np.where(slope > 0, slope * (1.0 - np.log(np.where(slope > 0, slope, 1.0))), least)
    return np.where(machine.up, above, below) - machine.empty, slope


def _mean_needed(machine: Machine, level: float, variance: Floats) -> Floats:
    """What s · E[v] is at least where M ≥ level > 0, given s² · Var v.

    With s the greatest step of the link and the least a such that G(v) ≤ (s v + a)⁺ for every
    vote v, M ≤ E[y⁺] for y = s v + a. By Scarf E[y⁺] ≤ (E[y] + √(E[y]² + Var y)) / 2, so that
    E[y] ≥ level − Var y / (4 level).
    """
    votes = np.arange(len(machine.link)) - (~machine.up).sum()
    lines = machine.link - np.diff(machine.link).max() * votes
    with np.errstate(over="ignore"):  # of a level near 0 it says nothing, −∞
        spread = variance / (4.0 * level)
    return level - spread - float(lines[machine.link > 0].max())


def _variance(low: Floats, high: Floats) -> Floats:
    """The greatest q (1 − q) between these ends, in whichever order."""
    nearest = np.clip(0.5, np.minimum(low, high), np.maximum(low, high))
    return np.asarray(nearest * (1.0 - nearest))


def slopes(machine: Machine, low: Floats, high: Floats) -> Floats:
    """D_j: how much M can rise per unit of clause j, wherever on the box the others are; (n, C).

    With w the vote without clause j, a clause that is up brings G(w + 1) − G(w), another takes
    G(w) − G(w − 1). The greatest such step up to w never falls with w, so its mean is greatest
    where the vote is; the greatest from w on never rises, so its mean is greatest where the vote is
    least. For the vote link that is min(P_high(w ≥ k), P_low(w ≤ k)).
    """
    step = np.diff(machine.link)
    rise, fall = np.maximum.accumulate(step), np.maximum.accumulate(step[::-1])[::-1]
    return np.minimum(_mean_steps(machine, high, rise), _mean_steps(machine, low, fall))


def _mean_steps(machine: Machine, q: Floats, step: Floats) -> Floats:
    """For each clause the mean, over the vote of all the others, of the step that it makes."""
    up = machine.up.tolist()
    before = [machine.start(len(q))]
    for j, side in enumerate(up[:-1]):
        before.append(moved(before[-1], q[:, j], side))
    # the mean step given the vote so far, over the clauses that follow: the moves, backwards
    after = {True: np.append(step, 0.0), False: np.append(0.0, step)}
    rest = {side: np.tile(steps, (len(q), 1)) for side, steps in after.items()}
    means = np.empty_like(q)
    for j in range(len(up) - 1, -1, -1):
        means[:, j] = np.einsum("nv,nv->n", before[j], rest[up[j]])
        rest = {side: moved(mean, q[:, j], not up[j]) for side, mean in rest.items()}
    return means


def _extreme(which: np.ufunc, table: Floats, first: Ints, last: Ints) -> Floats:
    """The least or the greatest of table[first … last], for each range."""
    padded = np.concatenate([table, table[-1:]])  # so that the end of a range is an index too
    ends = np.column_stack([first, last + 1]).ravel()
    return np.asarray(which.reduceat(padded, ends, axis=0)[::2])


def _firing(machine: Machine, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The firing probabilities q where the vote is least on a box, and where it is greatest."""
    low, high = (np.maximum(product - machine.empty, 0.0) for product in (least, most))
    return np.where(machine.up, low, high), np.where(machine.up, high, low)
