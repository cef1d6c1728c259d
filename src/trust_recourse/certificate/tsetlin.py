"""The reader of Tsetlin machines: confidences and bounds from the definitions.

Notation: C clauses, j; π the inclusion probabilities; F_jf = Π (1 − π) over the literals of feature
f that are false at a value; E_j = Π (1 − π) over all literals; q_j = Π_f F_jf − E_j the probability
that a clause fires; S_j = Σ_f log F_jf = log (q_j + E_j); v the vote; M = E[G(v)], which is the
score. The vote and the link G are turned towards the wanted class, so that M rises with the clauses
that are `up` and falls with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse import cancel
from trust_recourse.certificate.lagrangian import tightest
from trust_recourse.certificate.reader import (
    ROUNDING,
    Bools,
    Bounds,
    Choices,
    Reader,
    Relaxation,
    extreme,
    logistic,
    other_class,
)
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.question import Floats, Ints
from trust_recourse.schema import Feature

Map = Callable[[Floats], Floats]

FLOOR = 1e-30  # factors below it are taken as this where a logarithm is needed
FLAT = 1e-9  # a clause whose logarithm varies by less over a box is taken as constant
FAST = 1 << 15  # of those looked at again and again, so that they stay in fast memory


@dataclass(frozen=True, eq=False)
class Machine(Reader):
    """The machine, turned towards the wanted class."""

    words = "Tsetlin machines"

    edges: tuple[Floats, ...]
    up: Bools  # (C,) whether a clause votes for the wanted class
    empty: Floats  # (C,) E
    link: Floats  # (C + 1,) G at every vote, ascending
    calibrated: Map  # increasing, from raw confidence in the wanted class
    tables: tuple[Floats, ...]  # per feature (cells, C): F

    @classmethod
    def read(cls, model: Any) -> Machine:
        """The inclusion probabilities of a fitted machine, its link and its calibration."""
        link = np.asarray(model.link_values_)
        if len(link) != len(model.inclusion_) + 1 or (np.diff(link) < 0).any():
            raise CertificateError("the model's link is not an increasing map of the vote")
        return cls(
            edges=tuple(model.thresholds_),
            up=model.polarity_ > 0,
            empty=np.prod(1.0 - model.inclusion_, axis=1),
            link=link,
            calibrated=_calibration(model.calibrator_),
            tables=_factor_tables(model),
        )

    @property
    def ends(self) -> tuple[float, float]:
        """A raw confidence."""
        return 0.0, 1.0

    @property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return np.array([len(table) for table in self.tables])

    @property
    def width(self) -> int:
        """The factors of a candidate: one a clause."""
        return len(self.empty)

    def turned(self) -> Machine:
        """The same machine, turned towards the other class."""
        calibrated = self.calibrated
        return replace(
            self,
            up=~self.up,
            link=1.0 - self.link[::-1],
            calibrated=lambda raw: other_class(calibrated(1.0 - raw)),
        )

    def confidence(self, score: Floats) -> Floats:
        """The score is the raw confidence."""
        return self.calibrated(score)

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> Factors:
        """The factors of candidates in these cells."""
        del functions
        return Factors(self, tuple(table[of] for table, of in zip(self.tables, cells, strict=True)))

    def mean(self, q: Floats) -> Floats:
        """M = E[G(v)] of clauses that fire with probabilities q, (n, C)."""
        law = self.start(len(q))
        for j, up in enumerate(self.up.tolist()):
            law = moved(law, q[:, j], up)
        return np.asarray(law @ self.link)

    def start(self, n: int) -> Floats:
        """The law of the vote before any clause: certainly 0; (n, C + 1)."""
        law = np.zeros((n, len(self.link)))
        law[:, (~self.up).sum()] = 1.0
        return law


# ---------------------------------------------------------------- reading


def _calibration(calibrator: Any) -> Map:
    """The calibrator's map, written out again, once it is known to be increasing."""
    if calibrator is None:
        return lambda raw: raw
    x, y = calibrator.x, calibrator.y
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise CertificateError("the model's calibration has numbers that are not finite")
    if calibrator.method == "isotonic" and (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all():
        return lambda raw: np.asarray(np.interp(raw, x, y))
    if calibrator.method == "sigmoid" and len(x) == 1 and x[0] >= 0:
        return lambda raw: logistic(x[0] * raw + y[0])
    raise CertificateError(
        f"the model's calibration, {calibrator.method!r}, is not an increasing map known here"
    )


def _factor_tables(model: Any) -> tuple[Floats, ...]:
    """F of each feature, cell by cell: Π (1 − π) over its literals that are false there."""
    tables, at, o = [], 0, model.inclusion_.shape[1] // 2
    for feature, thresholds in zip(model.schema_, model.thresholds_, strict=True):
        said, denied = _truth(feature, thresholds)
        end = at + said.shape[1]
        left_out = 1.0 - model.inclusion_[:, [*range(at, end), *range(o + at, o + end)]]
        truth = np.concatenate([said, denied], axis=1)
        tables.append(np.array([np.where(row, 1.0, left_out).prod(axis=1) for row in truth]))
        at = end
    if at != o:
        raise CertificateError(f"the model has {o} literals, its thresholds make {at}")
    return tuple(tables)


def _truth(feature: Feature, thresholds: Floats) -> tuple[Bools, Bools]:
    """Which literals hold in each cell, and which of their negations; (cells, literals) both."""
    if feature.kind == "category":
        said = np.eye(len(feature.values), dtype=bool)
    else:
        said = np.arange(len(thresholds) + 1)[:, None] <= np.arange(len(thresholds))
    denied = ~said
    if feature.missing:  # a missing value meets no condition but that of being missing
        missing = np.arange(len(said) + 1) == len(said)
        nowhere = np.zeros((1, said.shape[1]), dtype=bool)
        said = np.column_stack([np.concatenate([said, nowhere]), missing])
        denied = np.column_stack([np.concatenate([denied, nowhere]), ~missing])
    return said, denied


def moved(law: Floats, p: Floats, up: bool) -> Floats:
    """A law after a clause that with probability p moves the vote by one, up or down."""
    after = law * (1.0 - p[:, None])
    if up:
        after[:, 1:] += p[:, None] * law[:, :-1]
    else:
        after[:, :-1] += p[:, None] * law[:, 1:]
    return after


# ---------------------------------------------------------------- bounds on boxes


@dataclass(frozen=True, eq=False)
class Factors(Bounds):
    """The machine on boxes of candidates."""

    machine: Machine
    tables: tuple[Floats, ...]  # per feature (candidates, C): F

    @property
    def work(self) -> int:
        """A number for each clause with each candidate or other clause."""
        clauses = self.machine.width
        return clauses * max(sum(map(len, self.tables)), clauses)

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """Each clause lies between the products of its least and of its greatest factors."""
        smallest, most = np.ones((2, len(first), self.machine.width))
        for f, factors in enumerate(self.tables):
            cancel.check()
            ends = first[:, f], last[:, f]
            smallest *= extreme(np.minimum, factors, *ends)
            most *= extreme(np.maximum, factors, *ends)
        low, high = (self.machine.mean(q) for q in _firing(self.machine, smallest, most))
        return low - ROUNDING, high + ROUNDING

    def relaxed(
        self, choices: Choices, level: float, steps: int
    ) -> tuple[Bools, Iterator[Relaxation]]:
        """By the clauses at their best, and by lines in S."""
        clauses = self._clauses(choices, steps)
        high = _firing(self.machine, clauses.least, clauses.most)[1]
        out = self.machine.mean(high) + ROUNDING < level
        return out, self._relaxations(choices, _conditions(self.machine, clauses, level))

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How far each feature moves the clauses, all together."""
        return np.array(
            [
                np.ptp(factors[first[0, f] : last[0, f] + 1], axis=0).sum()
                for f, factors in enumerate(self.tables)
            ]
        )

    @cached_property
    def _factors(self) -> Floats:
        return np.concatenate(self.tables)

    @cached_property
    def _logs(self) -> Floats:
        return np.log(np.maximum(self._factors, FLOOR))

    def _relaxations(
        self, choices: Choices, conditions: Iterator[tuple[Floats, Floats]]
    ) -> Iterator[Relaxation]:
        """With the gains g = Σ_j per_log_j · log F_jf."""
        at = choices.box, choices.candidate
        for needed, per_log in conditions:
            # no product of matrices: for so small ones its threads cost more than they save
            gains = np.einsum("nj,cj->nc", per_log, self._logs)[at]
            size = np.einsum("nj,cj->nc", np.abs(per_log), np.abs(self._logs))[at]
            yield Relaxation(needed, gains, size)

    def _clauses(self, choices: Choices, steps: int) -> _Clauses:
        """Bounds on the clauses at what the budget allows: on the sums S and the products."""
        factors, logs = self._factors.T[:, choices.candidate], self._logs.T[:, choices.candidate]
        most = choices.each(np.maximum, factors).prod(axis=2)
        least = choices.each(np.minimum, factors).prod(axis=2)
        high = choices.each(np.maximum, logs).sum(axis=2) + ROUNDING
        low = choices.each(np.minimum, logs).sum(axis=2) - ROUNDING
        spend, budget = choices.spend[None], choices.budget[None]
        for at in _blocks(len(logs) if steps else 0, len(choices.box)):
            rate = (high[at] - low[at]) / np.maximum(budget, 1e-300)
            above, below = (
                tightest(choices, side * logs[at], spend, budget, rate, steps)
                for side in (1.0, -1.0)
            )
            high[at] = np.minimum(high[at], above + ROUNDING)
            low[at] = np.maximum(low[at], -below - ROUNDING)
        most = np.minimum(most, np.exp(high))
        least = np.maximum(least, np.exp(low) - FLOOR)  # less, for factors below the floor
        return _Clauses(low.T, high.T, least.T, most.T)


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


def _firing(machine: Machine, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The firing probabilities q where the vote is least on a box, and where it is greatest."""
    low, high = (np.maximum(product - machine.empty, 0.0) for product in (least, most))
    return np.where(machine.up, low, high), np.where(machine.up, high, low)
