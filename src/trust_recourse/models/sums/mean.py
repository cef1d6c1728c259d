"""The mean of several sums is a sum: all their terms, each in the share that its model has.

By it an answer is asked to please not one model alone but several that were learnt anew. Of models
with a logistic link it is the mean of their log-odds, of forests that of their probabilities; what
a calibrator makes of them comes after, so it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.models.log_odds_margin import logistic
from trust_recourse.models.seam import Score, of_class
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.ensemble import SumModel
from trust_recourse.models.sums.score import SumScore
from trust_recourse.models.sums.sloped import SlopedSum
from trust_recourse.models.sums.sum import Sum


@dataclass(frozen=True, eq=False)
class MeanSum:
    """The mean of models of two classes, of trees and of points, all logistic or none of them."""

    models: Sequence[SumModel | Additive]
    logistic: bool

    def confidence(self, total: Floats, wanted: int) -> Floats:
        """The confidence of one of the classes, of mean sums."""
        return of_class(logistic(total) if self.logistic else total, wanted)

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at this position, and bounds on it."""
        if self.sum.slopes is None:
            return SumScore(self, self.sum, wanted)
        return SlopedSum(self, self.sum, self.totals, wanted)

    def totals(self, codes: Floats) -> Floats:
        """The mean sum at rows of codes, (n, 1)."""
        each = [of.sum.at_codes(codes)[:, 0] for of in self.models]
        return np.column_stack([np.column_stack(each) @ self._weights])

    @property
    def _weights(self) -> Floats:
        shares = [
            of.link.scale / of.link.divisor if isinstance(of, SumModel) else 1.0
            for of in self.models
        ]
        return np.array(shares) / len(self.models)

    @cached_property
    def sum(self) -> Sum:
        """All sums side by side, each times its weight."""
        return Sum.joined([of.sum for of in self.models]).weighted(self._weights)
