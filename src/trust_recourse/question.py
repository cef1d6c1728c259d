"""The question and the answer: targets, problems, options.

A problem is a person x, a wanted confidence and a cost; an option is one way to reach it, in
numbers alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.cost import Cost
from trust_recourse.schema import ActionSet
from trust_recourse.wording import floored

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mode = Literal["at_least", "band"]

SLACK = 1e-9  # a target counts as met when it is missed by no more than this


class Status(StrEnum):
    """What is known about an answer; `sentence` says it to a person."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NOT_FOUND = "not_found"
    ALREADY_MET = "already_met"

    @property
    def sentence(self) -> str:
        """The status, as a clerk could read it out."""
        return {
            Status.OPTIMAL: "This is the cheapest allowed change; nothing cheaper reaches it.",
            Status.FEASIBLE: "This change reaches it; a cheaper one was not ruled out.",
            Status.INFEASIBLE: "No allowed change reaches this target; that is proved.",
            Status.NOT_FOUND: "No change was found; that one exists was not ruled out.",
            Status.ALREADY_MET: "Nothing needs to change: the confidence is there already.",
        }[self]


@dataclass(frozen=True)
class Target:
    """A confidence of the wanted class to reach: at least τ, or within a band around it.

    >>> Target(0.8).met(0.81), Target(0.8, "band", 0.05).met(0.9)
    (True, False)
    """

    confidence: float
    mode: Mode = "at_least"
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        if not (isinstance(self.confidence, (int, float)) and 0 < self.confidence < 1):
            raise ValueError(
                f"confidence={self.confidence!r}; expected a number between 0 and 1, such as 0.85"
            )
        if self.mode not in ("at_least", "band"):
            raise ValueError(f"mode={self.mode!r}; expected 'at_least' or 'band'")
        if not (isinstance(self.tolerance, (int, float)) and 0 <= self.tolerance < 1):
            raise ValueError(f"tolerance={self.tolerance!r}; expected a number from 0 to below 1")

    @property
    def interval(self) -> tuple[float, float]:
        """The confidences that meet it, slack included; one half is the decision, without slack."""
        if self.mode == "at_least":
            return self.confidence - (SLACK if self.confidence != 0.5 else 0.0), math.inf
        low, high = self.confidence - self.tolerance, self.confidence + self.tolerance
        return low - SLACK, high + SLACK

    @property
    def words(self) -> str:
        """The target for people."""
        if self.mode == "band":
            return f"{self.confidence:g} ± {self.tolerance:g}"
        return f"at least {self.confidence:g}"

    def met(self, confidence: float) -> bool:
        """Whether this confidence is enough."""
        low, high = self.interval
        return low <= confidence <= high


def formatted(
    confidence: float, threshold: float = 0.5, target: Target | None = None, digits: int = 3
) -> str:
    """A confidence for people: cut, with as many digits as keep it on its side of each line.

    >>> formatted(0.49996), formatted(0.71), formatted(0.8507, 0.8505)
    ('0.499', '0.710', '0.8507')
    >>> formatted(0.7, 0.5, Target(0.7))
    '0.700'
    """
    lowest = () if target is None else (target.interval[0],)
    return floored(confidence, (threshold, *lowest), digits)


@dataclass(frozen=True, eq=False)
class Problem:
    """One question, free of any model: who asks, for what, and what a change costs them."""

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


@dataclass(frozen=True, eq=False)
class Option:
    """One way to be accepted: numbers alone, in the person's own units.

    `codes` are the values of x as the schema encodes them. `cost` is d(x, x'), `confidence` the
    model's for the wanted class at exactly these values, `lower_bound` what no allowed change that
    meets the target can cost less than.
    """

    x: pd.Series[Any]
    codes: Floats = field(repr=False)
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    cost: float = 0.0
    confidence: float = 0.0
    status: Status = Status.NOT_FOUND
    target: Target = Target(0.5)
    lower_bound: float = 0.0

    @property
    def gap(self) -> float:
        """How much cheaper another answer could still be, in the units of `cost`."""
        return max(self.cost - self.lower_bound, 0.0)


def option_name(at: int) -> str:
    """What people call the option at a place of `Result.options`: they count from 1."""
    return f"option {at + 1}"
