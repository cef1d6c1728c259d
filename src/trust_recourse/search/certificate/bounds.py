"""What holds on whole boxes of candidates: bounds on confidence, and on the cost of reaching one.

Notation as in `machine`, with n boxes: for each feature the first and the last of a range of its
candidates, (n, features). Boxes are judged some hundreds at once, so all is arrays over them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trust_recourse.problem import Floats, Ints
from trust_recourse.search.certificate.machine import Machine, moved

ROUNDING = 1e-12  # confidences computed in another order differ by no more
FLOOR = 1e-9  # factors below it are taken as this where a logarithm is needed
FLAT = 1e-9  # a clause whose logarithm varies by less over a box is taken as constant

# whether each clause has a slope of its own, and what bounds the clauses against the wanted class;
# each makes a true bound, none is always the best, and the first costs the least
RELAXATIONS = (
    (False, "tangent"),
    (True, "tangent"),
    (True, "free where bare"),
    (True, "free"),
)


@dataclass(frozen=True, eq=False)
class Candidates:
    """All candidates, per feature: what each costs, and its factors F (candidates, C)."""

    machine: Machine
    costs: tuple[Floats, ...]
    factors: tuple[Floats, ...]

    def cheapest(self, first: Ints, last: Ints) -> Floats:
        """What each box costs at least, before the root: its cheapest candidates together."""
        each = enumerate(self.costs)
        parts = [_extreme(np.minimum, costs, first[:, f], last[:, f]) for f, costs in each]
        return np.asarray(np.sum(parts, axis=0))

    def confidence(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """Bounds on the calibrated confidence on each box.

        Each clause lies between the products of its least and of its greatest factors.
        """
        least, most = np.ones((2, len(first), len(self.machine.empty)))
        for a, b in self._extreme_factors(first, last):
            least *= a
            most *= b
        low, high = (self.machine.mean(q) for q in _firing(self.machine, least, most))
        calibrated = self.machine.calibrated
        return (
            calibrated(np.clip(low - ROUNDING, 0.0, 1.0)),
            calibrated(np.clip(high + ROUNDING, 0.0, 1.0)),
        )

    def priced(
        self, first: Ints, last: Ints, price: Floats, raw: float, enough: float = math.inf
    ) -> Floats:
        """What a point of each box with at least this raw confidence costs, before the root.

        For each point M ≤ constant + Σ_f g_f, with one candidate per feature for all clauses
        together; so at every price λ > 0 it costs at least λ (raw − constant) + Σ_f min (cost −
        λ g). At an infinite price: infinitely much, if even the greatest g are not enough. The
        several relaxations are tried one after the other until a box's cost is enough.
        """
        found = np.full(len(first), -math.inf if math.isfinite(raw) else math.inf)
        for own_slopes, against in RELAXATIONS:
            left = np.flatnonzero(found < enough)
            if not len(left):
                break
            ends = first[left], last[left]
            relaxed = self._relaxation(*ends, own_slopes, against)
            found[left] = np.maximum(
                found[left], self._priced_by(*ends, price[left], raw, *relaxed)
            )
        return found

    def _priced_by(
        self,
        first: Ints,
        last: Ints,
        price: Floats,
        raw: float,
        constant: Floats,
        gains: list[Floats],
    ) -> Floats:
        endless = np.isinf(price)
        finite = np.where(endless, 0.0, price)
        most, added, size = np.zeros((3, len(first)))
        for f, (g, costs) in enumerate(zip(gains, self.costs, strict=True)):
            at = np.arange(len(costs))
            inside = (at >= first[:, f, None]) & (at <= last[:, f, None])
            most += np.where(inside, g, -math.inf).max(axis=1)
            added += np.where(inside, costs - finite[:, None] * g, math.inf).min(axis=1)
            size += np.where(inside, np.abs(g), 0.0).max(axis=1)
        needed = raw - constant - ROUNDING - 1e-14 * (size + np.abs(constant))
        priced = added + finite * needed
        return np.where(endless, np.where(most < needed, math.inf, -math.inf), priced)

    def _extreme_factors(self, first: Ints, last: Ints) -> Iterator[tuple[Floats, Floats]]:
        """Per feature, the least and the greatest factor of each clause on each box, (n, C)."""
        for f, factors in enumerate(self.factors):
            ends = first[:, f], last[:, f]
            yield _extreme(np.minimum, factors, *ends), _extreme(np.maximum, factors, *ends)

    def _relaxation(
        self, first: Ints, last: Ints, own_slopes: bool, against: str
    ) -> tuple[Floats, list[Floats]]:
        """A separable bound on M: constants (n,), and for each feature g, (n, candidates).

        M ≤ M_low + Σ_j D_j |q_j − low_j|, D_j the greatest step of the link or `slopes`, and
        S_j = log (q_j + E_j) = Σ_f log F_jf. On a box exp lies below its secant, which bounds the
        clauses for the wanted class, and above the tangent parallel to it, which bounds the others.
        Where a factor may be 0, and has no logarithm, a clause against has its least value or, as
        all may have, most · (1 − Σ_f (1 − F_jf / most F_jf)): see `RELAXATIONS`.
        """
        up, shape = self.machine.up, (len(first), len(self.machine.empty))
        least, most = np.ones((2, *shape))
        low, high = np.zeros((2, *shape))  # of S, with factors no smaller than the floor
        tops = []
        for a, b in self._extreme_factors(first, last):
            least *= a
            most *= b
            low += np.log(np.maximum(a, FLOOR))
            high += np.log(np.maximum(b, FLOOR))
            tops.append(b)
        q_low, q_high = _firing(self.machine, least, most)
        steepest = np.full(shape, np.diff(self.machine.link).max())
        D = slopes(self.machine, q_low, q_high) if own_slopes else steepest

        flat = high - low < FLAT
        secant = (np.exp(high) - np.exp(low)) / np.where(flat, 1.0, high - low)
        slope = np.where(flat, np.exp(high), secant)
        above = np.where(flat, np.exp(high), np.exp(low) - secant * low) - least
        below = most - slope * (1.0 - np.log(np.maximum(slope, 1e-300)))
        bare = ~up & (least < 2 * FLOOR)  # for all others no factor lies below the floor
        free = ~up & (bare if against == "free where bare" else against == "free")
        tangent = ~up & ~bare & ~free
        rest = np.where(bare & ~free, most - least, 0.0)
        constant = D * np.where(up, above, np.where(tangent, below, rest))
        per_log = D * np.where(up, np.where(flat, 0.0, secant), np.where(tangent, -slope, 0.0))
        gains = [per_log @ logs.T for logs in self._logs]
        if free.any():
            share = D * np.where(free, most, 0.0)
            for g, factors, top in zip(gains, self.factors, tops, strict=True):
                g += share.sum(axis=1)[:, None] - (share / np.where(top > 0, top, 1.0)) @ factors.T
        return self.machine.mean(q_low) + constant.sum(axis=1), gains

    @cached_property
    def _logs(self) -> list[Floats]:
        return [np.log(np.maximum(factors, FLOOR)) for factors in self.factors]


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
