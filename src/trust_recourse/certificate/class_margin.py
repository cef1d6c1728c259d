"""The reader of one class among several, whatever their scores are: its log-odds margin.

Notation: s_k, the score of class k; w, the wanted one. The score here is the **margin** of w,

    z = s_w − log Σ_{j≠w} exp s_j,   or   s_w − max_{j≠w} s_j   where it is to win,

of which its confidence, or its share beside the strongest of the others, is the logistic function.
Bounds on the scores bound it. And for any **shares** q of the others, which are 1 together,

    z ≤ t − H(q),   t = s_w − Σ_j q_j s_j,   H(q) = −Σ_j q_j log q_j  (0 where it is to win):

log Σ exp s is the greatest of Σ q s + H(q) over all shares (Gibbs). So every margin has a
**tangent** t of at least that and H(q), which is one weighted sum, and the conditions on it are
those of its family. A proof has the shares, in floats that are 1 together without any rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from trust_recourse.certificate.reader import (
    Bools,
    Bounds,
    CheckedScores,
    Choices,
    Reader,
    Relaxation,
    logistic,
    other_class,
)
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.io.arrays import Floats, Ints

ROUNDING = 2.0**-50  # relatively, of a margin computed of a few scores


@dataclass(frozen=True, eq=False)
class ClassMargin(Reader):
    """The scores of all classes, and the margin of the wanted one."""

    scores: CheckedScores
    wanted: int
    shares: tuple[float, ...]
    strongest: bool  # whether over the strongest of the others, and not all
    side: int = 1  # −1: turned round

    @classmethod
    def of(
        cls, scores: CheckedScores, wanted: int, shares: Sequence[float], wins: bool
    ) -> ClassMargin:
        """The margin with the shares of a proof: one a class, 0 for the wanted one, 1 together."""
        if len(shares) != scores.many:
            given = f"its shares: given {len(shares)}"
            raise CertificateError(f"{given}, expected one for each of {scores.many}")
        if not all(0.0 <= q <= 1.0 for q in shares) or shares[wanted] != 0.0:
            raise CertificateError("its shares are none of the other classes'")
        if sum(map(Fraction, shares)) != 1:
            raise CertificateError("its shares are not 1 together")
        return cls(scores, wanted, tuple(shares), wins)

    @property
    def words(self) -> str:  # type: ignore[override]
        """Those of the scores."""
        return f"{self.scores.words} of several classes"

    @property
    def functional(self) -> bool:  # type: ignore[override]
        """Whether the scores' conditions are."""
        return self.scores.functional

    # ------------------------------------------------------------ cells

    @property
    def edges(self) -> tuple[Floats, ...]:  # type: ignore[override]
        """Those of the scores."""
        return self.scores.edges

    @property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return self.scores.sizes

    @property
    def width(self) -> int:
        """What is held of all classes, and of the tangent."""
        return 2 * self.scores.width

    @property
    def slopes(self) -> Mapping[int, tuple[float, float]]:  # type: ignore[override]
        """Without an end either way: some class may go on, and that helps or not."""
        return dict.fromkeys(self.scores.slopes, (-math.inf, math.inf))

    @property
    def listed(self) -> Mapping[int, Floats]:  # type: ignore[override]
        """Those of the scores."""
        return self.scores.listed

    def on(self, values: Mapping[int, Floats]) -> ClassMargin:
        """The scores on these values."""
        return replace(self, scores=self.scores.on(values))

    def alike(self, cells: Sequence[Ints]) -> tuple[Ints, ...]:
        """Cells that are alike to every class."""
        return self.scores.alike(cells)

    # ------------------------------------------------------------ scores

    @cached_property
    def tangent(self) -> CheckedScores:
        """The wanted class's score less the shares of the others'."""
        return self.scores.weighted([(k == self.wanted) - q for k, q in enumerate(self.shares)])

    @cached_property
    def entropy(self) -> float:
        """That of the shares, in nats, no more than it is."""
        if self.strongest:
            return 0.0
        known = [q for q in self.shares if 0.0 < q < 1.0]
        return math.fsum(-q * math.log(q) for q in known) * (1.0 - 2.0**-40)

    @cached_property
    def parts(self) -> tuple[CheckedScores | None, tuple[CheckedScores, ...]]:
        """The wanted class's score and the others'; or None, and what the others are more."""
        unit, less = np.eye(self.scores.many), self.scores.by_difference
        own = unit[self.wanted]
        others = [each - own * less for each in np.delete(unit, self.wanted, axis=0)]
        made = tuple(self.scores.weighted(each.tolist()) for each in others)
        return None if less else self.scores.weighted(own.tolist()), made

    @cached_property
    def rounding(self) -> float:
        """What a margin computed of the scores may be off by, and its logistic function."""
        return (self.scores.many + 8) * ROUNDING * (1.0 + self.scores.most)

    def margin(self, own: Any, others: Sequence[Any]) -> Floats:
        """That of one score, or of 0, over others."""
        each = np.array(others)
        most = each.max(axis=0)
        if not self.strongest:
            most = most + np.log(np.exp(each - most).sum(axis=0))
        return np.asarray(own - most)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """From the least and the greatest scores."""
        own, others = self.parts
        mine = (0.0, 0.0) if own is None else own.ends
        low = float(self.margin(mine[0], [each.ends[1] for each in others]))
        high = float(self.margin(mine[1], [each.ends[0] for each in others]))
        low, high = low - 2.0 * self.rounding, high + 2.0 * self.rounding
        return (low, high) if self.side > 0 else (-high, -low)

    # ------------------------------------------------------------ confidences

    def turned(self) -> ClassMargin:
        """The same margin, turned round."""
        return replace(self, side=-self.side)

    def confidence(self, score: Floats) -> Floats:
        """The logistic function of a margin, or what that leaves to the others."""
        yes = logistic(self.side * np.asarray(score))
        return yes if self.side > 0 else other_class(yes)

    def least_score(self, confidence: float) -> float:
        """The least margin, of scores as the model has them, at which it may have this."""
        return super().least_score(confidence) - self.rounding

    def other(self, score: float) -> float:
        """The same, turned round, of what has at most this margin."""
        return -score - self.rounding

    def won(self, model: Any, codes: Floats) -> Floats | None:
        """By the model's own scores, for probabilities may be alike where these are not."""
        if not self.strongest:
            return None
        totals = np.asarray(model.totals(codes), float)
        others = np.delete(totals, self.wanted, axis=1)
        share = logistic(totals[:, self.wanted] - others.max(axis=1))
        wins = totals.argmax(axis=1) == self.wanted
        return np.asarray(np.where(wins, share, np.minimum(share, math.nextafter(0.5, 0.0))))

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> MarginBounds:
        """The scores on candidates in these cells."""
        own, others = self.parts
        return MarginBounds(
            self, None if own is None else own.bounds(cells),
            tuple(each.bounds(cells) for each in others), self.tangent.bounds(cells, functions),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MarginBounds(Bounds):
    """The margin on boxes of candidates."""

    of: ClassMargin
    own: Bounds | None
    others: tuple[Bounds, ...]
    tangent: Bounds

    def using(self, functions: tuple[Function, ...]) -> MarginBounds:
        """The tangent's, with other functions."""
        return replace(self, tangent=self.tangent.using(functions))

    @property
    def work(self) -> int:
        """That of the scores, and of the tangent."""
        own = 0 if self.own is None else self.own.work
        return own + self.tangent.work + sum(each.work for each in self.others)

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """From between what the scores lie, and below the tangent."""
        mine = (0.0, 0.0) if self.own is None else self.own.scores(first, last)
        lows, highs = zip(*(each.scores(first, last) for each in self.others), strict=True)
        low, high = self.of.margin(mine[0], highs), self.of.margin(mine[1], lows)
        high = np.minimum(high, self.tangent.scores(first, last)[1] - self.of.entropy)
        low, high = low - self.of.rounding, high + self.of.rounding
        return (low, high) if self.of.side > 0 else (-high, -low)

    def relaxed(self, choices: Choices, level: float, steps: int) -> tuple[Bools, list[Relaxation]]:
        """The tangent's; of a margin that must fall nothing is known."""
        if self.of.side < 0:
            return np.zeros(len(choices.budget), dtype=bool), []
        needed = level + self.of.entropy - self.of.tangent.rounding
        out, found = self.tangent.relaxed(choices, needed - ROUNDING * (1.0 + abs(level)), steps)
        return out, [*found]

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How far each feature moves the tangent."""
        return self.tangent.looseness(first, last)
