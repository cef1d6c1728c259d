"""What is asked about a row: a number that a model gives, its bounds, and how it is written.

There is one kind today, the probability of a class. Targets, questions and answers take bounds and
text from here, so that another kind needs no second set of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import beyond, floored, level


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
