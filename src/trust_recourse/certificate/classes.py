"""The reader of several classes, each with a sum of its own: the lead of one over the others.

Notation: s_k, the sum of class k; w, the wanted one. Its score is its **lead**,

    z = s_w − log Σ_{j≠w} exp s_j,   or   s_w − max_{j≠w} s_j   where it is to win,

of which its confidence, or its share beside the strongest of the others, is the logistic function.
Bounds on the sums bound it. And for any **shares** q of the others, which are 1 together,

    z ≤ t − H(q),   t = s_w − Σ_j q_j s_j,   H(q) = −Σ_j q_j log q_j  (0 where it is to win):

log Σ exp s is the greatest of Σ q s + H(q) over all shares (Gibbs). So whoever has a lead has a
**tangent** t of that and H(q), which is one sum, and the conditions on it are those of its family.
A proof tells the shares, in floats that are 1 together without any rounding.

Where each class says its own probability, as forests do, that is a sum of its own, which is read as
such; only who wins is then a lead, of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from trust_recourse.certificate import sums, trees
from trust_recourse.certificate.reader import (
    Bools,
    Bounds,
    Choices,
    Reader,
    Relaxation,
    first_score,
    logistic,
    other_class,
)
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.certificate.several import Several, won
from trust_recourse.certificate.sums import Card
from trust_recourse.certificate.trees import Ensemble
from trust_recourse.certificate.tsetlin import Machine
from trust_recourse.io.scalars import Floats, Ints

Sum = Card | Ensemble | Machine
FAMILIES: dict[str, type[Card] | type[Ensemble]] = {"points": Card, "sums": Ensemble}
ROUNDING = 2.0**-50  # relatively, of a lead computed of a few sums


@dataclass(frozen=True, eq=False)
class Lead(Several):
    """The sums of all classes, and how the wanted one leads."""

    words = "such sums of several classes"
    functional = True

    each: tuple[Sum, ...]  # of one kind, on the same cells
    scales: tuple[float, ...]  # what a sum is times, before it is compared with others
    wanted: int
    shares: tuple[float, ...]
    strongest: bool  # whether over the strongest of the others, and not all
    side: int = 1  # −1: turned round

    @classmethod
    def read(cls, model: Any) -> Lead:
        """The sums of a fitted model, for its class 1 beside the first of the others."""
        return cls._of(model, 1, first_other(len(model.models), 1), False)

    @classmethod
    def of(cls, model: Any, wanted: int, shares: Sequence[float], wins: bool) -> Reader:
        """The lead of the wanted class; or, where each says its own probability, that one's sum."""
        family = getattr(model.models[0], "family", "")
        alike = all(
            each.family == family and each.schema_ == model.schema_ for each in model.models
        )
        if not (alike and family in FAMILIES and len(model.models) == len(model.classes_) > 1):
            raise CertificateError("the model's classes are not sums of one kind")
        if not (model.softmax or wins):
            return FAMILIES[family].of(model.models[wanted], 1, shares, False)
        check_shares(shares, len(model.models), wanted)
        return cls._of(model, wanted, tuple(shares), wins)

    @classmethod
    def _of(cls, model: Any, wanted: int, shares: tuple[float, ...], wins: bool) -> Lead:
        schema, models = model.schema_, model.models
        made: tuple[Card | Ensemble, ...]
        scales = (1.0,) * len(models)
        if models[0].family == "points":
            joined = [
                np.unique(np.concatenate([of.grid.edges[f] for of in models]))
                for f in range(len(schema))
            ]
            sloped = {f for of in models for f, slopes in enumerate(of.slopes) if slopes.any()}
            made = tuple(Card.read_on(of, joined, sloped) for of in models)
        else:
            edges = trees.edges_of(schema, [tree for of in models for tree in of.trees])
            read = [Ensemble.read(of, edges) for of in models]
            made, scales = tuple(read), tuple(1.0 / of.link.divisor for of in read)
        return cls(made, scales, wanted, shares, wins)

    def of_confidence(self, model: Any) -> Reader:
        """By the same shares, where sums are compared at all."""
        return self.of(model, self.wanted, self.shares if model.softmax else (), False)

    # ------------------------------------------------------------ cells

    @property
    def width(self) -> int:
        """What is held of all classes, and of the tangent."""
        return 2 * sum(each.width for each in self.each)

    @property
    def slopes(self) -> Mapping[int, tuple[float, float]]:  # type: ignore[override]
        """Without an end either way: some class may go on, and that helps or not."""
        return dict.fromkeys(self.each[0].slopes, (-math.inf, math.inf))

    @property
    def listed(self) -> Mapping[int, Floats]:  # type: ignore[override]
        """Those of every class."""
        return self.each[0].listed

    def on(self, values: Mapping[int, Floats]) -> Lead:
        """Each sum on these values."""
        return replace(self, each=tuple(each.on(values) for each in self.each))

    def alike(self, cells: Sequence[Ints]) -> tuple[Ints, ...]:
        """Cells that are alike to every class."""
        every = [each.alike(cells) for each in self.each]
        return tuple(
            np.unique(np.column_stack(of), axis=0, return_inverse=True)[1].ravel()
            for of in zip(*every, strict=True)
        )

    # ------------------------------------------------------------ sums

    def weighed(self, weights: Sequence[float]) -> Sum:
        """One sum: those of the classes, each times its weight."""
        scaled = [w * scale for w, scale in zip(weights, self.scales, strict=True)]
        if isinstance(self.each[0], Card):
            return sums.weighed([of for of in self.each if isinstance(of, Card)], scaled)
        return trees.weighed([of for of in self.each if isinstance(of, Ensemble)], scaled)

    @cached_property
    def tangent(self) -> Sum:
        """The wanted class's sum less the shares of the others'."""
        return self.weighed([float(k == self.wanted) - q for k, q in enumerate(self.shares)])

    @cached_property
    def entropy(self) -> float:
        """That of the shares, in nats, no more than it is."""
        if self.strongest:
            return 0.0
        known = [q for q in self.shares if 0.0 < q < 1.0]
        return math.fsum(-q * math.log(q) for q in known) * (1.0 - 2.0**-40)

    @cached_property
    def parts(self) -> tuple[Sum | None, tuple[Sum, ...]]:
        """The wanted class's sum and the others'; of points None, and what the others are more."""
        others = [k for k in range(len(self.each)) if k != self.wanted]
        unit = np.eye(len(self.each))
        if isinstance(self.each[0], Card):
            return None, tuple(self.weighed((unit[k] - unit[self.wanted]).tolist()) for k in others)
        own, *rest = (self.weighed(unit[k].tolist()) for k in (self.wanted, *others))
        return own, tuple(rest)

    @cached_property
    def rounding(self) -> float:
        """What a lead computed of the sums may be off by, and its logistic function."""
        most = max(each.most * scale for each, scale in zip(self.each, self.scales, strict=True))
        return (len(self.each) + 8) * ROUNDING * (1.0 + most)

    def lead(self, own: Any, others: Sequence[Any]) -> Floats:
        """That of one sum, or of 0, over others."""
        each = np.array(others)
        most = each.max(axis=0)
        if not self.strongest:
            most = most + np.log(np.exp(each - most).sum(axis=0))
        return np.asarray(own - most)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """From the least and the greatest sums."""
        own, others = self.parts
        mine = (0.0, 0.0) if own is None else own.ends
        low = float(self.lead(mine[0], [each.ends[1] for each in others]))
        high = float(self.lead(mine[1], [each.ends[0] for each in others]))
        low, high = low - 2.0 * self.rounding, high + 2.0 * self.rounding
        return (low, high) if self.side > 0 else (-high, -low)

    # ------------------------------------------------------------ confidences

    def turned(self) -> Lead:
        """The same lead, turned round."""
        return replace(self, side=-self.side)

    def confidence(self, score: Floats) -> Floats:
        """The logistic function of a lead, or what that leaves to the others."""
        yes = logistic(self.side * np.asarray(score))
        return yes if self.side > 0 else other_class(yes)

    def least_score(self, confidence: float) -> float:
        """The least lead, of sums as the model has them, at which it may have this confidence."""
        return super().least_score(confidence) - self.rounding

    def least_turned(self, confidence: float) -> float:
        """The same, turned round, for what has at most this confidence."""
        least, most = self.ends
        beyond = first_score(
            lambda score: bool(self.confidence(np.array(score)) > confidence), least, most
        )
        return math.inf if beyond == least else -min(beyond, most) - self.rounding

    def won(self, model: Any, codes: Floats) -> Floats | None:
        """By the model's own sums, for probabilities may be alike where these are not."""
        if not self.strongest:
            return None
        totals = np.asarray(model.totals(codes), float)
        others = np.delete(totals, self.wanted, axis=1)
        share = logistic(totals[:, self.wanted] - others.max(axis=1))
        return won(totals, self.wanted, share)

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> Leads:
        """The sums on candidates in these cells."""
        own, others = self.parts
        return Leads(
            self, None if own is None else own.bounds(cells),
            tuple(each.bounds(cells) for each in others), self.tangent.bounds(cells, functions),
        )  # fmt: skip


def first_other(many: int, wanted: int) -> tuple[float, ...]:
    """All shares to one other class."""
    first = next(k for k in range(many) if k != wanted)
    return tuple(float(k == first) for k in range(many))


def check_shares(shares: Sequence[float], many: int, wanted: int) -> None:
    """Those of a proof are one for each class, none of the wanted one's, and 1 together."""
    if len(shares) != many:
        raise CertificateError(f"its shares: given {len(shares)}, expected one for each of {many}")
    if not all(0.0 <= q <= 1.0 for q in shares) or shares[wanted] != 0.0:
        raise CertificateError("its shares are none of the other classes'")
    if sum(map(Fraction, shares)) != 1:
        raise CertificateError("its shares are not 1 together")


# ---------------------------------------------------------------- bounds on boxes


@dataclass(frozen=True, eq=False)
class Leads(Bounds):
    """The lead on boxes of candidates."""

    of: Lead
    own: Bounds | None
    others: tuple[Bounds, ...]
    tangent: Bounds

    def using(self, functions: tuple[Function, ...]) -> Leads:
        """The tangent's, with other functions."""
        return replace(self, tangent=self.tangent.using(functions))

    @property
    def work(self) -> int:
        """That of the sums, and of the tangent."""
        own = 0 if self.own is None else self.own.work
        return own + self.tangent.work + sum(each.work for each in self.others)

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """From between what the sums lie, and below the tangent."""
        mine = (0.0, 0.0) if self.own is None else self.own.scores(first, last)
        lows, highs = zip(*(each.scores(first, last) for each in self.others), strict=True)
        low, high = self.of.lead(mine[0], highs), self.of.lead(mine[1], lows)
        high = np.minimum(high, self.tangent.scores(first, last)[1] - self.of.entropy)
        low, high = low - self.of.rounding, high + self.of.rounding
        return (low, high) if self.of.side > 0 else (-high, -low)

    def relaxed(self, choices: Choices, level: float, steps: int) -> tuple[Bools, list[Relaxation]]:
        """The tangent's; of a lead that must fall nothing is known."""
        if self.of.side < 0:
            return np.zeros(len(choices.budget), dtype=bool), []
        needed = level + self.of.entropy - self.of.tangent.rounding
        out, found = self.tangent.relaxed(choices, needed - ROUNDING * (1.0 + abs(level)), steps)
        return out, [*found]

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How far each feature moves the tangent."""
        return self.tangent.looseness(first, last)
