"""The links of Tsetlin machines, read anew: the score of clauses, and linear conditions on it.

Notation as in `tsetlin`. A link is turned towards the wanted class with its machine: the score of
clauses that fire with probabilities q, (n, C), rises with those that are `up` and falls with the
others. Every score lies between the `ends`, and may be off by the `rounding`, the model's own too.

`conditions` are linear ones on every point of a level: Σ_j per_log_j S_j ≥ needed. The clauses fire
between low and high, where the score is least and greatest; lines in S_j, constants and slopes, lie
above the q_j that are up and below the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trust_recourse.certificate.reader import ROUNDING, Bools, logistic
from trust_recourse.certificate.record import CertificateError
from trust_recourse.io.scalars import Floats

TIE = 1e-13  # a confidence this close to one half is one half


@dataclass(frozen=True, eq=False)
class VoteMean:
    """The mean of a function G of the vote v."""

    up: Bools
    G: Floats  # (C + 1,) at every vote, ascending

    @classmethod
    def read(cls, model: Any) -> VoteMean:
        """The values of the link."""
        up, values = model.polarity_ > 0, np.asarray(model.link_values_)
        if len(values) != len(up) + 1 or (np.diff(values) < 0).any():
            raise CertificateError("the model's link is not an increasing map of the vote")
        return cls(up, values)

    @property
    def ends(self) -> tuple[float, float]:
        """A raw confidence."""
        return 0.0, 1.0

    @property
    def rounding(self) -> float:
        """Of a probability."""
        return ROUNDING

    def turned(self) -> VoteMean:
        """Votes for are votes against."""
        return VoteMean(~self.up, 1.0 - self.G[::-1])

    def other(self, score: Floats) -> Floats:
        """What is left to the other class."""
        return 1.0 - score

    def score(self, q: Floats) -> Floats:
        """M = E[G(v)]."""
        return np.asarray(self.law(q) @ self.G)

    def law(self, q: Floats) -> Floats:
        """(n, C + 1): that of the vote."""
        law = self.start(len(q))
        for j, up in enumerate(self.up.tolist()):
            law = moved(law, q[:, j], up)
        return law

    def start(self, n: int) -> Floats:
        """The law of the vote before any clause: certainly 0; (n, C + 1)."""
        law = np.zeros((n, len(self.G)))
        law[:, (~self.up).sum()] = 1.0
        return law

    def conditions(
        self, low: Floats, high: Floats, lines: tuple[Floats, Floats], level: float
    ) -> Iterator[tuple[Floats, Floats]]:
        """By M ≤ M_low + Σ_j D_j |q_j − low_j|, D_j the greatest step of G or `slopes`.

        The former is the same for all clauses, so it bounds the mean of the vote too, and
        `_mean_needed` applies.
        """
        signs = np.where(self.up, 1.0, -1.0)
        base, steepest = self.score(low), float(np.diff(self.G).max())
        constant, slope = lines
        for D in (np.full(low.shape, steepest), slopes(self, low, high)):
            needed = level - base - (D * signs * (constant - low)).sum(axis=1)
            yield needed, D * signs * slope
        if level <= 0.0:
            return
        constant, slope = steepest * signs * constant, steepest * signs * slope
        variance = steepest**2 * _variance(low, high).sum(axis=1)
        yield _mean_needed(self, level, variance) - constant.sum(axis=1), slope


def moved(law: Floats, p: Floats, up: bool) -> Floats:
    """A law after a clause that with probability p moves the vote by one, up or down."""
    after = law * (1.0 - p[:, None])
    if up:
        after[:, 1:] += p[:, None] * law[:, :-1]
    else:
        after[:, :-1] += p[:, None] * law[:, 1:]
    return after


def _mean_needed(link: VoteMean, level: float, variance: Floats) -> Floats:
    """What s · E[v] is at least where M ≥ level > 0, given s² · Var v.

    With s the greatest step of the link and the least a such that G(v) ≤ (s v + a)⁺ for every
    vote v, M ≤ E[y⁺] for y = s v + a. By Scarf E[y⁺] ≤ (E[y] + √(E[y]² + Var y)) / 2, so that
    E[y] ≥ level − Var y / (4 level).
    """
    votes = np.arange(len(link.G)) - (~link.up).sum()
    lines = link.G - np.diff(link.G).max() * votes
    with np.errstate(over="ignore"):  # of a level near 0 it says nothing, −∞
        spread = variance / (4.0 * level)
    return level - spread - float(lines[link.G > 0].max())


def _variance(low: Floats, high: Floats) -> Floats:
    """The greatest q (1 − q) between these ends, in whichever order."""
    nearest = np.clip(0.5, np.minimum(low, high), np.maximum(low, high))
    return np.asarray(nearest * (1.0 - nearest))


def slopes(link: VoteMean, low: Floats, high: Floats) -> Floats:
    """D_j: how much M can rise per unit of clause j, wherever on the box the others are; (n, C).

    With w the vote without clause j, a clause that is up brings G(w + 1) − G(w), another takes
    G(w) − G(w − 1). The greatest such step up to w never falls with w, so its mean is greatest
    where the vote is; the greatest from w on never rises, so its mean is greatest where the vote is
    least. For the vote link that is min(P_high(w ≥ k), P_low(w ≤ k)).
    """
    step = np.diff(link.G)
    rise, fall = np.maximum.accumulate(step), np.maximum.accumulate(step[::-1])[::-1]
    return np.minimum(_mean_steps(link, high, rise), _mean_steps(link, low, fall))


def _mean_steps(link: VoteMean, q: Floats, step: Floats) -> Floats:
    """For each clause the mean, over the vote of all the others, of the step that it makes."""
    up = link.up.tolist()
    before = [link.start(len(q))]
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


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum of the clauses, of which those with a weight above 0 are up."""

    signed: Floats  # (C,): the weights, and the base, in this unit
    base: float
    reach: Floats  # (C,): between 0 and what each clause brings at most
    features: int
    size: float  # in units of 1, no score is greater either way
    unit: float = 1.0

    @classmethod
    def read(cls, model: Any, most: Floats, empty: Floats) -> WeightedSum:
        """The weights and the intercept, and the greatest products q + E of the clauses."""
        weights, base = np.asarray(model.weights_), float(model.intercept_)
        rising = weights.shape == empty.shape and bool((weights >= 0).all())
        if not (rising and math.isfinite(weights.sum()) and math.isfinite(base)):
            raise CertificateError(
                "the model's weights are not a number of at least 0 for each clause, or its "
                "intercept is no number"
            )
        reach = weights * np.maximum(most - empty, 0.0)
        size = 1.0 + abs(base) + float((weights * (most + empty)).sum())
        signed = np.where(model.polarity_ > 0, weights, -weights)
        return cls(signed, base, reach, len(model.thresholds_), size)

    @classmethod
    def weighted(cls, lines: Sequence[WeightedSum], weights: Sequence[float]) -> WeightedSum:
        """The sum of such sums of the same clauses, each times its weight."""
        each = [*zip(lines, weights, strict=True)]
        size = 1.0 + math.fsum(abs(w) * line.size for line, w in each)
        base = math.fsum(w * line.base for line, w in each)
        signed = np.sum([w * line.signed for line, w in each], axis=0)
        reach = np.sum([abs(w) * line.reach for line, w in each], axis=0)
        return cls(signed, base, reach, lines[0].features, size)

    @property
    def scaled(self) -> WeightedSum:
        """The same in units of about its range, as a proof's prices of two classes are."""
        unit = 1.25 * max(float(self.reach.sum()), self.size / 2.0**20)
        parts = self.signed / unit, self.base / unit, self.reach / unit
        return WeightedSum(*parts, self.features, self.size, unit)

    def on(self, clauses: Bools) -> WeightedSum:
        """The same without the others, which weigh nothing."""
        return replace(self, signed=self.signed[clauses], reach=self.reach[clauses])

    def among(self, clauses: Bools) -> WeightedSum:
        """The same among others: its clauses are at these places."""
        signed, reach = np.zeros((2, len(clauses)))
        signed[clauses], reach[clauses] = self.signed, self.reach
        return replace(self, signed=signed, reach=reach)

    @cached_property
    def up(self) -> Bools:
        """Whether a clause's weight is above 0."""
        return np.asarray(self.signed > 0)

    @property
    def rounding(self) -> float:
        """What may be lost of sums of this size, in any order, the model's own too."""
        terms = len(self.signed) + self.features + 8  # products of a factor a feature, and sums
        return ROUNDING + 16.0 * terms * 2.0**-53 * self.size / self.unit

    @property
    def ends(self) -> tuple[float, float]:
        """The sums of all that is against the class, and of all that is for it."""
        against = self.base - float(self.reach[~self.up].sum())
        towards = self.base + float(self.reach[self.up].sum())
        return against - 2.0 * self.rounding, towards + 2.0 * self.rounding

    def raw(self, score: Floats) -> Floats:
        """σ(R), but one half within a tie."""
        found = logistic(score * self.unit)
        return np.where(np.abs(found - 0.5) < TIE, 0.5, found)

    def turned(self) -> WeightedSum:
        """All signs turned round."""
        return replace(self, signed=-self.signed, base=-self.base)

    def other(self, score: Floats) -> Floats:
        """The sum with all signs turned round."""
        return -score

    def score(self, q: Floats) -> Floats:
        """R / unit."""
        return np.asarray(self.base + (q * self.signed).sum(axis=1))

    def conditions(
        self, low: Floats, high: Floats, lines: tuple[Floats, Floats], level: float
    ) -> Iterator[tuple[Floats, Floats]]:
        """The score is linear in the q_j, so their lines are all there is to it."""
        del low, high
        constant, slope = lines
        needed = level - self.rounding - self.score(constant)
        yield needed, self.signed * slope
