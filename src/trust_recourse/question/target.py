"""What is asked about a row, an `Outcome`, and what is to be reached of it, a `Target`.

There is one kind of outcome today, the probability of a class. Targets, questions and answers take
bounds and text from it, so that another kind needs no second set of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import beyond, floored, level
from trust_recourse.question.vocabulary import Mode

SLACK = 1e-9  # a target counts as met when it is missed by no more than this


@dataclass(frozen=True)
class Outcome:
    """The probability of a class.

    >>> Outcome("paid back").told("0.712")
    'confidence 0.712 in the class paid back'
    >>> PROBABILITY.level(0.85), PROBABILITY.formatted(0.49996, [0.5])
    ('0.85', '0.499')
    """

    label: Any = None  # the class; None where any is meant
    name: str = "confidence"
    lower: float = 0.0
    upper: float = 1.0
    example: float = 0.85

    @cached_property
    def bounds(self) -> str:
        """The bounds, to end a sentence with."""
        return f"between {self.lower:g} and {self.upper:g}"

    def contains(self, values: Floats) -> bool:
        """Whether a model may give all of these values."""
        return bool(((values >= self.lower) & (values <= self.upper)).all())

    def can_ask(self, value: Any) -> bool:
        """Whether a level may be asked for: a number strictly within the bounds."""
        number = isinstance(value, (int, float)) and type(value) is not bool
        return number and self.lower < value < self.upper

    def level(self, value: float) -> str:
        """A level that is asked for, as text."""
        return level(value)

    def formatted(self, value: float, lines: Iterable[float], digits: int = 3) -> str:
        """A value as text: cut, with as many digits as keep it on its side of each line."""
        return floored(value, beyond(value, tuple(lines)), digits)

    def told(self, value: str) -> str:
        """A formatted value as text, with what it is a value of."""
        return f"{self.name} {value} in the class {self.label}"


PROBABILITY = Outcome()


@dataclass(frozen=True)
class Target:
    """A confidence of the wanted class to reach: at least τ, or a band around it, or to win.

    >>> Target(0.8).met(0.81), Target(0.8, "band", 0.05).met(0.9)
    (True, False)
    """

    confidence: float
    mode: Mode = "at_least"
    tolerance: float = 0.1
    threshold: float = field(default=0.5, compare=False, repr=False)  # of the decision

    def __post_init__(self) -> None:
        if not PROBABILITY.can_ask(self.confidence):
            raise ValueError(
                f"{PROBABILITY.name}={self.confidence!r}; expected a number {PROBABILITY.bounds}, "
                f"such as {PROBABILITY.example:g}"
            )
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode={self.mode!r}; expected 'at_least', 'band' or 'argmax'")
        if self.mode == "argmax" and self.confidence != 0.5:
            raise ValueError(
                f"mode='argmax' with confidence={self.confidence!r}; expected 0.5: a class wins by "
                "its share beside the strongest of the others, whatever its confidence is"
            )
        if not (isinstance(self.tolerance, (int, float)) and 0 <= self.tolerance < 1):
            raise ValueError(f"tolerance={self.tolerance!r}; expected a number from 0 to below 1")
        if not PROBABILITY.can_ask(self.threshold):
            raise ValueError(
                f"threshold={self.threshold!r}; expected a number {PROBABILITY.bounds}"
            )

    @property
    def interval(self) -> tuple[float, float]:
        """The confidences that meet it, slack included; the decision itself has none.

        A class wins by its share beside the strongest of the others, which is to be one half.
        """
        if self.mode == "argmax":
            return self.confidence, math.inf
        if self.mode == "at_least":
            return self.confidence - (0.0 if self.decides else SLACK), math.inf
        low, high = self.confidence - self.tolerance, self.confidence + self.tolerance
        return low - SLACK, high + SLACK

    @property
    def decides(self) -> bool:
        """Whether it asks for the decision itself, which has no slack."""
        return self.mode == "at_least" and self.confidence == self.threshold

    @property
    def words(self) -> str:
        """The target for people."""
        if self.mode == "band":
            return f"{PROBABILITY.level(self.confidence)} ± {PROBABILITY.level(self.tolerance)}"
        if self.mode == "argmax":
            return "more than any other class"
        return f"at least {PROBABILITY.level(self.confidence)}"

    def decision(self, threshold: float) -> Target:
        """The decision that goes with it, as a target: that the class wins, or the threshold."""
        return TO_WIN if self.mode == "argmax" else Target(threshold, threshold=threshold)

    @property
    def rule(self) -> str:
        """Who is accepted, where it asks for the decision itself, in words."""
        most = "where it has the most of any class"
        return most if self.mode == "argmax" else f"from {PROBABILITY.level(self.confidence)}"

    def to_dict(self) -> dict[str, Any]:
        """In plain values: the decision threshold only where it is not one half."""
        told: dict[str, Any] = {"confidence": float(self.confidence), "mode": self.mode}
        told["tolerance"] = float(self.tolerance)
        if self.threshold != 0.5:
            told["threshold"] = float(self.threshold)
        return told

    def raised(self, by: float) -> Target:
        """One that only confidences meet which meet this with so much to spare."""
        if self.mode == "band":
            return replace(self, tolerance=max(self.tolerance - by, 0.0))
        least = min(self.interval[0] + by, math.nextafter(PROBABILITY.upper, 0.0))
        return Target(least, threshold=least)

    def met(self, confidence: float) -> bool:
        """Whether this confidence is enough."""
        low, high = self.interval
        return low <= confidence <= high


TO_WIN = Target(0.5, "argmax")  # half of what a class and the strongest other have together


def formatted(
    confidence: float, threshold: float = 0.5, target: Target | None = None, digits: int = 3
) -> str:
    """A confidence for people: cut, with as many digits as keep it on its side of each line.

    >>> formatted(0.49996), formatted(0.71), formatted(0.8507, 0.8505)
    ('0.499', '0.710', '0.8507')
    >>> formatted(0.7, 0.5, Target(0.7))
    '0.700'

    Whether a class wins is no line between confidences.
    """
    lowest = () if target is None else (target.interval[0],)
    wins = target is not None and target.mode == "argmax"
    return PROBABILITY.formatted(confidence, () if wins else (threshold, *lowest), digits)
