"""One confidence of a question for one person, and the points that engines find for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trust_recourse.io.scalars import Floats
from trust_recourse.question.cost import Cost
from trust_recourse.question.target import Target
from trust_recourse.schema import ActionSet


@dataclass(frozen=True, eq=False)
class Problem:
    """One confidence of a question for one person, free of any model: what engines answer."""

    action_set: ActionSet  # the person's own codes, and where they may go
    target: Target
    cost: Cost
    wanted: int = 1  # the position of the wanted class in `classes_`, 0 or 1


@dataclass(frozen=True, eq=False)
class Point:
    """A row in codes, what it costs to become it, and the wanted class's confidence there."""

    codes: Floats
    cost: float
    confidence: float


def changed(own: Floats, codes: Floats) -> frozenset[int]:
    """Which features of a row are not the person's own; a missing value equals a missing one.

    >>> sorted(changed(np.array([1.0, np.nan, 3.0]), np.array([2.0, np.nan, 3.0])))
    [0]
    """
    return frozenset(np.flatnonzero((codes != own) & ~(np.isnan(codes) & np.isnan(own))).tolist())
