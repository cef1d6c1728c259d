"""Whether a model's confidence in a class agrees with known labels: AUC, both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CHANCE = 1.96  # standard deviations: a score without information lies further out in 5% of tables


def ranks(values: NDArray[Any]) -> Floats:
    """The rank of each value from 1; equal values share their mean rank.

    It is `scipy.stats.rankdata`, without the second that loading `scipy.stats` takes.

    >>> ranks(np.array([0.3, 0.1, 0.3, 0.2])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, at, many = np.unique(values, return_inverse=True, return_counts=True)
    found: Floats = (np.cumsum(many) - (many - 1) / 2.0)[at]
    return found


def ranked(scores: Floats, came: NDArray[Any]) -> tuple[float, float]:
    """The AUC of scores, and its deviation where they tell nothing (Mann–Whitney).

    >>> ranked(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))[0]
    0.75
    """
    known = ~np.isnan(scores)
    at, of = ranks(scores[known]), np.asarray(came)[known].astype(bool)
    ones = int(of.sum())
    others = len(of) - ones
    if not (ones and others):
        return 0.5, 1.0
    auc = (float(at[of].sum()) - ones * (ones + 1) / 2) / (ones * others)
    return auc, float(np.sqrt((ones + others + 1) / (12 * ones * others)))


@dataclass(frozen=True)
class Agreement:
    """How a model's confidence in one class ranks rows whose labels are known."""

    label: Any
    auc: float
    deviation: float  # of the AUC of a score that tells nothing
    rows: int

    @classmethod
    def of(cls, label: Any, confidence: Floats, labels: NDArray[Any]) -> Agreement:
        """Compare the confidence in a class with the labels of the same rows.

        >>> swapped = Agreement.of(1, np.linspace(1, 0, 100), np.arange(100) >= 50)
        >>> swapped.auc, swapped.swapped, swapped.opposite, swapped.unclear
        (0.0, 1.0, True, False)
        """
        auc, deviation = ranked(confidence, labels == label)
        return cls(label, auc, deviation, len(labels))

    @property
    def swapped(self) -> float:
        """The AUC with the class exchanged for the others."""
        return 1.0 - self.auc

    @property
    def margin(self) -> float:
        """How far from 0.5 chance alone puts an AUC, in 95% of tables of this size."""
        return CHANCE * self.deviation

    @property
    def opposite(self) -> bool:
        """Whether the AUC is below 0.5 by more than chance explains."""
        return self.auc < 0.5 - self.margin

    @property
    def unclear(self) -> bool:
        """Whether chance explains the AUC, so that it does not show which class is which."""
        return abs(self.auc - 0.5) <= self.margin

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "label": self.label, "auc": self.auc, "auc_swapped": self.swapped,
            "chance": [0.5 - self.margin, 0.5 + self.margin], "rows": self.rows,
            "unclear": self.unclear,
        }  # fmt: skip
