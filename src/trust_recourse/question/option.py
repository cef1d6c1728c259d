"""One answer in numbers: its status, the option itself, and what is known of how safe it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pandas as pd

from trust_recourse.io import markup
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import floored, significant
from trust_recourse.question.target import SLACK, Target

HALF = Target(0.5)  # where no other was asked


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
            Status.ALREADY_MET: "Nothing needs to change: the target is met already.",
        }[self]


@dataclass(frozen=True)
class Survival:
    """Whether retrained models accept an option that was asked to last, or the nearest to one.

    It lasts if the models of the validation accept it so that, with a confidence of 90%, at
    least the share that was asked of all such models would. Of fresh models, which had no part in
    that, `kept` accept it; the share of all that do lies between `low` and `high` in 90% of cases.
    """

    asked: float
    lasts: bool
    threshold: float  # on the mean log-odds of the models searched against; −∞ if none was needed
    validated: int  # models of the validation that accept it
    validation: int  # of so many
    kept: int  # fresh models that accept it
    of: int
    low: float
    high: float

    def __post_init__(self) -> None:
        counted = 0 <= self.validated <= self.validation and 0 <= self.kept <= self.of > 0
        if not counted or not all(0.0 <= each <= 1.0 for each in (self.asked, self.low, self.high)):
            raise TypeError(f"survival: given {self}")

    @property
    def share(self) -> float:
        """The share of the fresh models that accept it."""
        return self.kept / self.of

    @property
    def words(self) -> str:
        """What the fresh models say, in words."""
        told = f"{self.kept} of {self.of} models learnt anew accept it"
        return f"{told} ({self.low:.0%} to {self.high:.0%} of all such models would)"


class Radius(float):
    """A certified radius: a float that is `exact`, or else a proved lower bound on the radius.

    As text a bound is written with its sign.

    >>> Radius(0.25), Radius(0.25, exact=False), min(Radius(0.25, exact=False), 0.5).exact
    (0.25, ≥ 0.25, False)
    """

    __slots__ = ("exact",)
    exact: bool

    def __new__(cls, value: float, exact: bool = True) -> Radius:
        """A number that is the radius if it is exact, and at most the radius if not."""
        made = super().__new__(cls, value)
        made.exact = exact
        return made

    def __getnewargs__(self) -> tuple[float, bool]:  # type: ignore[override]
        return float(self), self.exact

    def __repr__(self) -> str:
        return f"{'' if self.exact else '≥ '}{float(self)!r}"


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
    target: Target = HALF
    lower_bound: float = 0.0

    @property
    def gap(self) -> float:
        """How much cheaper another answer could still be, in the units of `cost`."""
        return max(self.cost - self.lower_bound, 0.0)

    def _repr_html_(self) -> str:
        moves = ((name, str(old), str(new)) for name, (old, new) in self.changes.items())
        facts = (
            ("asked for", self.target.words),
            ("confidence", floored(self.confidence, [self.target.interval[0]])),
            ("cost", significant(self.cost)),
        )
        proved = self.status in (Status.OPTIMAL, Status.ALREADY_MET)
        word = str(self.status).replace("_", " ")
        return markup.shown(
            markup.card("Option", word, moves, facts, self.status.sentence, proved=proved)
        )


@dataclass(frozen=True, eq=False)
class MostConfident(Option):
    """The most confident reachable option, by the moves that matter: all others add under a point.

    `worth` is the confidence that would be lost without each of its changes. `furthest` is the
    cheapest known change of the highest confidence, every move of it. No allowed change has more
    confidence than the `ceiling`. The status is "optimal" if the highest confidence and the least
    cost of it are both proved.
    """

    worth: dict[str, float] = field(default_factory=dict)
    furthest: Option | None = field(default=None, repr=False)
    ceiling: float = 1.0

    @property
    def most(self) -> float:
        """The highest confidence that is known to be reachable."""
        return self.confidence if self.furthest is None else self.furthest.confidence

    @property
    def proved(self) -> bool:
        """Whether no allowed change has more confidence."""
        return self.ceiling - self.most <= SLACK


def option_name(at: int) -> str:
    """What people call the option at a place of `Result.options`: they count from 1."""
    return f"option {at + 1}"
