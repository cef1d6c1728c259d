"""The reader of Tsetlin machines: confidences and bounds from the definitions.

Notation: C clauses, j; π the inclusion probabilities; F_jf = Π (1 − π) over the literals of feature
f that are false at a value; E_j = Π (1 − π) over all literals; q_j = Π_f F_jf − E_j the probability
that a clause fires; S_j = Σ_f log F_jf = log (q_j + E_j). The score is turned towards the wanted
class, so that it rises with the clauses that are `up` and falls with the others. Of a link of votes
it is M = E[G(v)], v the vote; of a logistic one R / unit, R = b + Σ_j ± w_j q_j, and M = σ(R).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.certificate.lagrangian import tightest
from trust_recourse.certificate.product_links import VoteMean, WeightedSum
from trust_recourse.certificate.reader import (
    ROUNDING,
    Bools,
    Bounds,
    CheckedScores,
    Choices,
    Relaxation,
    extreme,
    logistic,
    other_class,
)
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.io import cancel
from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.schema import Feature

Map = Callable[[Floats], Floats]

ONE_BIT = 4e-16  # that the other class's confidence may be off by, by subtraction
FLOOR = 1e-30  # factors below it are taken as this where a logarithm is needed
FLAT = 1e-9  # a clause whose logarithm varies by less over a box is taken as constant
FAST = 1 << 15  # of those looked at again and again, so that they stay in fast memory


@dataclass(frozen=True, eq=False)
class ProductsProof(CheckedScores):
    """Products of factors, and the link of their sum, turned towards the wanted class."""

    words = "Tsetlin machines"

    edges: tuple[Floats, ...]
    tables: tuple[Floats, ...]  # per feature (cells, C): F
    empty: Floats  # (C,) E
    link: VoteMean | WeightedSum
    said: Map  # increasing, from the score to the confidence in the wanted class
    banks: tuple[WeightedSum, ...] = ()  # of several classes the score of each, by the same clauses

    @classmethod
    def read(cls, model: Any, wanted: int) -> ProductsProof:
        """The inclusion probabilities of a fitted machine, its link and its calibration."""
        empty, tables = _empty(model), _factor_tables(model)
        said = calibrated = _calibration(model.calibrator_)
        link: VoteMean | WeightedSum
        if hasattr(model, "weights_"):
            link = line = _line(model, tables, empty).scaled
            said = lambda score: calibrated(line.raw(score))  # noqa: E731
        else:
            link = VoteMean.read(model)
        read = cls(tuple(model.thresholds_), tables, empty, link, said)
        return read if wanted == 1 else read.turned()

    @classmethod
    def read_classes(cls, model: Any) -> ProductsProof:
        """The banks of a machine of several classes, once they are of one kind and read alike."""
        banks, first = model.banks_, model.banks_[0]
        alike = all(
            bank.schema_ == model.schema_
            and bank.calibrator_ is None
            and hasattr(bank, "weights_")
            and [*map(list, bank.thresholds_)] == [*map(list, first.thresholds_)]
            for bank in banks
        )
        if not (alike and model.calibrator_ is None and len(banks) == len(model.classes_) > 1):
            raise CertificateError("the model's banks are not one for each class, of one kind")
        empty, tables = [*map(_empty, banks)], [*map(_factor_tables, banks)]
        each = [*map(_line, banks, tables, empty)]
        at = np.repeat(np.arange(len(banks)), [len(of) for of in empty])
        lines = tuple(line.among(at == k) for k, line in enumerate(each))
        together = tuple(np.concatenate(of, axis=1) for of in zip(*tables, strict=True))
        edges = tuple(first.thresholds_)
        return cls(edges, together, np.concatenate(empty), lines[0], lines[0].raw, lines)

    def weighted(self, weights: Sequence[float]) -> ProductsProof:
        """One score, in units of 1; clauses that weigh nothing are left out."""
        line = WeightedSum.weighted(self.banks, weights)
        used = line.signed != 0.0
        used[0] |= not used.any()  # a machine has a clause
        line, tables = line.on(used), tuple(of[:, used] for of in self.tables)
        return ProductsProof(self.edges, tables, self.empty[used], line, line.raw)

    @property
    def many(self) -> int:
        """How many banks there are."""
        return len(self.banks)

    @property
    def most(self) -> float:
        """No bank's score is greater either way."""
        return max(bank.size for bank in self.banks)

    @property
    def ends(self) -> tuple[float, float]:
        """Those of the link."""
        return self.link.ends

    @property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return np.array([len(table) for table in self.tables])

    @property
    def width(self) -> int:
        """The factors of a candidate: one a clause."""
        return len(self.empty)

    @property
    def rounding(self) -> float:
        """That of its score."""
        return self.link.rounding

    def turned(self) -> ProductsProof:
        """The same machine, turned towards the other class."""
        said, link = self.said, self.link
        other = lambda score: other_class(said(link.other(score)))  # noqa: E731
        return replace(self, link=link.turned(), said=other)

    def confidence(self, score: Floats) -> Floats:
        """By the link and the calibration."""
        return self.said(score)

    def least_turned(self, confidence: float) -> float:
        """With what the other class's confidence may be off by."""
        return super().least_turned(confidence + ONE_BIT)

    def other(self, score: float) -> float:
        """By the link."""
        return float(self.link.other(np.array(score)))

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> ProductsBounds:
        """The factors of candidates in these cells."""
        del functions
        each = zip(self.tables, cells, strict=True)
        return ProductsBounds(self, tuple(table[of] for table, of in each))


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


def _empty(model: Any) -> Floats:
    """E of each clause."""
    return np.asarray(np.prod(1.0 - model.inclusion_, axis=1))


def _line(model: Any, tables: Sequence[Floats], empty: Floats) -> WeightedSum:
    """The weighted sum that a machine stores, with the greatest products q + E of its clauses."""
    return WeightedSum.read(model, np.prod([each.max(axis=0) for each in tables], axis=0), empty)


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


# ---------------------------------------------------------------- bounds on boxes


@dataclass(frozen=True, eq=False)
class ProductsBounds(Bounds):
    """The machine on boxes of candidates."""

    machine: ProductsProof
    tables: tuple[Floats, ...]  # per feature (candidates, C): F

    @property
    def work(self) -> int:
        """A number for each clause with each candidate or other clause."""
        clauses = self.machine.width
        return clauses * max(sum(map(len, self.tables)), clauses)

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """From the clauses where it is least, and where it is greatest.

        Each clause lies between the products of its least and of its greatest factors.
        """
        smallest, most = np.ones((2, len(first), self.machine.width))
        for f, factors in enumerate(self.tables):
            cancel.check()
            ends = first[:, f], last[:, f]
            smallest *= extreme(np.minimum, factors, *ends)
            most *= extreme(np.maximum, factors, *ends)
        link = self.machine.link
        low, high = (link.score(q) for q in _firing(self.machine, smallest, most))
        return low - link.rounding, high + link.rounding

    def relaxed(
        self, choices: Choices, level: float, steps: int
    ) -> tuple[Bools, Iterator[Relaxation]]:
        """By the clauses at their best, and by lines in S."""
        clauses = self._clauses(choices, steps)
        link, high = self.machine.link, _firing(self.machine, clauses.least, clauses.most)[1]
        out = link.score(high) + link.rounding < level
        return out, self._relaxations(choices, clauses, level, plain=steps > 0)

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
        self, choices: Choices, clauses: _Clauses, level: float, plain: bool
    ) -> Iterator[Relaxation]:
        """With the gains g = Σ_j per_log_j · log F_jf.

        To a clause that is up a candidate may be taken to be no worse than the cheapest one of its
        feature. Its sum is then no less, and lies between what it is at the cheapest point of all
        and its bound, which leaves a closer line. It is also asked without, if it is to be `plain`.
        """
        machine, logs = self.machine, self._logs[choices.candidate]
        low, high = _firing(machine, clauses.least, clauses.most)
        cheapest, its = _cheapest(choices)
        own = logs[cheapest].reshape(len(choices.budget), -1, machine.width).sum(axis=1)
        closer = clauses._replace(low=np.where(machine.link.up, own - ROUNDING, clauses.low))
        better = np.where(machine.link.up, np.maximum(logs, logs[its]), logs)
        for bounds, of in ((closer, better), (clauses, logs))[: 2 if plain else 1]:
            lines = _lines(machine, bounds)
            for needed, per_log in machine.link.conditions(low, high, lines, level):
                per_log = per_log[choices.box]
                gains = np.einsum("pj,pj->p", per_log, of)
                yield Relaxation(
                    needed - ROUNDING, gains, np.einsum("pj,pj->p", np.abs(per_log), np.abs(of))
                )

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


def _cheapest(choices: Choices) -> tuple[Ints, Ints]:
    """The place of the cheapest candidate of each feature in each box, and of each one's own."""
    counts = np.diff(choices.start, append=len(choices.box))
    least = np.repeat(choices.each(np.minimum, choices.spend[None]).ravel(), counts)
    place = np.where(choices.spend == least, np.arange(len(least)), len(least))
    found = np.minimum.reduceat(place, choices.start)
    return found, np.repeat(found, counts)


def _blocks(rows: int, each: int) -> Iterator[slice]:
    """Parts of so many rows, small enough to stay in fast memory."""
    step = max(FAST // each, 1)
    return (slice(start, start + step) for start in range(0, rows, step))


def _lines(machine: ProductsProof, clauses: _Clauses) -> tuple[Floats, Floats]:
    """Lines in S_j, constant and slope, above the q_j that are up and below the others.

    On a box exp lies below its secant and above every tangent; the one that is parallel to the
    secant is taken. A clause that has no logarithm somewhere is as small as it may be.
    """
    low, high, least, most = clauses
    bare = least <= FLOOR  # for all others no factor lies below the floor
    flat = (high - low < FLAT) | (most < ROUNDING)
    secant = (np.exp(high) - np.exp(low)) / np.where(flat, 1.0, high - low)
    slope = np.where(flat | (~machine.link.up & bare), 0.0, secant)
    above = np.where(flat, most, np.exp(low) - slope * low)
    below = np.where(slope > 0, slope * (1.0 - np.log(np.where(slope > 0, slope, 1.0))), least)
    return np.where(machine.link.up, above, below) - machine.empty, slope


def _firing(machine: ProductsProof, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The firing probabilities q where the vote is least on a box, and where it is greatest."""
    low, high = (np.maximum(product - machine.empty, 0.0) for product in (least, most))
    return np.where(machine.link.up, low, high), np.where(machine.link.up, high, low)
