"""Relations between features: what a change of one asks of another."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.scalars import is_number, plain, same
from trust_recourse.schema.steps import plus
from trust_recourse.wording import written


@dataclass(frozen=True, repr=False)
class AtMost:
    """Whoever changes anything ends with a at most b. Not asked where either is missing.

    >>> AtMost("months late", "months")
    `months late` <= months
    """

    a: str
    b: str

    def __repr__(self) -> str:
        return f"{_quoted(self.a)} <= {_quoted(self.b)}"

    def holds(self, before: tuple[float, float], after: tuple[float, float]) -> bool:  # noqa: ARG002
        """Say whether a change of the codes of (a, b) keeps the relation."""
        return not after[0] > after[1]

    def sentence(self, a: Feature, b: Feature) -> str:
        """Write the relation for people."""
        return f"{a.title} must be at most {b.title}"


@dataclass(frozen=True, repr=False)
class Implication:
    """If a changes, b must rise by at least `by` (fall, if negative): a degree takes years.

    Where b is missing no rise can be counted, so a must stay.

    >>> Implication("degree", "age", by=2)
    degree changes => age rises by 2
    """

    a: str
    b: str
    by: float

    def __post_init__(self) -> None:
        if not is_number(plain(self.by)) or self.by == 0:
            expected = f"given {self.by!r}, expected a finite number other than 0"
            raise SchemaError(f"relation of {self.a!r} and {self.b!r}, field 'by': {expected}")
        object.__setattr__(self, "by", float(self.by))

    def __repr__(self) -> str:
        verb = "rises" if self.by > 0 else "falls"
        return f"{_quoted(self.a)} changes => {_quoted(self.b)} {verb} by {written(abs(self.by))}"

    def holds(self, before: tuple[float, float], after: tuple[float, float]) -> bool:
        """Say whether a change of the codes of (a, b) keeps the relation."""
        if same(before[0], after[0]):
            return True
        goal = self.goal(before[1])
        return after[1] >= goal if self.by > 0 else after[1] <= goal

    def goal(self, before: float) -> float:
        """Where b must get to; out of reach if it is missing."""
        return math.copysign(math.inf, self.by) if math.isnan(before) else plus(before, self.by)

    def sentence(self, a: Feature, b: Feature) -> str:
        """Write the relation for people."""
        verb = "rise" if self.by > 0 else "fall"
        return f"if {a.title} changes, {b.title} must {verb} by at least {b.amount(abs(self.by))}"


Relation: TypeAlias = AtMost | Implication

_NAME = r"(`(?:[^`]|``)+`|[\w.-]+)"
_AT_MOST = re.compile(rf"\s*{_NAME}\s*<=\s*{_NAME}\s*")
_FORCES = re.compile(rf"\s*{_NAME}\s+changes\s*=>\s*{_NAME}\s+(rises|falls)\s+by\s+([\d.e+-]+)\s*")


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else "`" + name.replace("`", "``") + "`"


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def read_relation(given: object) -> Relation:
    """Read a relation from its text, or take it as it is."""
    if isinstance(given, (AtMost, Implication)):
        return given
    if isinstance(given, str) and (match := _AT_MOST.fullmatch(given)):
        return AtMost(_unquoted(match[1]), _unquoted(match[2]))
    if isinstance(given, str) and (match := _FORCES.fullmatch(given)):
        try:
            by = float(match[4]) * (1 if match[3] == "rises" else -1)
        except ValueError:
            raise SchemaError(
                f"relation {given!r}: given {match[4]!r}, expected a number"
            ) from None
        return Implication(_unquoted(match[1]), _unquoted(match[2]), by)
    forms = "'a <= b', 'a changes => b rises by 2' or 'a changes => b falls by 2'"
    raise SchemaError(f"relation: given {given!r}, expected {forms}; quote names `like this`")
