"""A change of a model between two points, split over features and over what the model is made of.

What every explanation is, whatever the family: rules of a Tsetlin machine (`rules.py`), or the
terms of a sum (`terms.py`), such as trees.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.io import markup
from trust_recourse.io.scalars import Floats, plain
from trust_recourse.io.wording import signed
from trust_recourse.question import Target, formatted

if TYPE_CHECKING:
    from trust_recourse.answers.explain.points import Tightening
    from trust_recourse.answers.recourse import Recourse

FRAGILE = 0.1  # a clause that tightens at least this likely is fragile
STILL = 1e-12  # a score that moves less does not move
SHOWN = 5  # rules or terms told one by one; the others are added up

Asked = tuple[str, Any, Floats, Target | None, float]  # name, x, codes, target, cost


@dataclass(frozen=True, eq=False)
class Place:
    """Where a person is, or could be."""

    name: str  # "as they are", "option 1", …
    x: pd.Series[Any]
    codes: Floats
    target: Target | None  # none was asked of the person as they are
    cost: float
    confidence: float  # of the wanted class

    def formatted(self, threshold: float) -> str:
        """Its confidence for people."""
        return formatted(self.confidence, threshold, self.target)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "name": self.name,
            "x": {name: plain(value) for name, value in self.x.items()},
            "target": None if self.target is None else self.target.confidence,
            "confidence": self.confidence,
            "cost": self.cost,
        }


@dataclass(frozen=True, eq=False)
class Places(ABC):
    """Several points of one model; the first is the person as they are."""

    recourse: Recourse
    all: tuple[Place, ...]

    @abstractmethod
    def explain(self, start: Place, end: Place, fragile: float) -> Explanation:
        """Explain the change from one of the points to another."""


class Mover(NamedTuple):
    """A rule or a term that moved the score, for people."""

    at: int
    name: str  # "rule 2 for 1", "tree 17"
    words: str  # what it states, or where it adds what it does
    moves: str  # "0.02 → 0.77"
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(ABC):
    """Why confidence is what it is at one point and not what it is at another.

    `changes()` is the level of values, `to_frame()` that of what the model is made of.
    """

    points: Places
    start: Place
    end: Place

    verb: ClassVar[str]  # what a rule or a term does, before its numbers
    by: ClassVar[str]  # what a picture splits the change by

    @property
    @abstractmethod
    def noun(self) -> str:
        """What the model is made of, such as "rule"."""

    @property
    @abstractmethod
    def score(self) -> str:
        """What the shares are of, such as "confidence"."""

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """The score at the start and at the end."""

    @property
    @abstractmethod
    def level(self) -> float:
        """The score from which on the decision is yes."""

    @property
    def change(self) -> float:
        """What the shares add up to."""
        return self.ends[1] - self.ends[0]

    @property
    @abstractmethod
    def note(self) -> str:
        """What the shares are shares of, where that is not the confidence itself; else ''."""

    @property
    @abstractmethod
    def protected(self) -> list[str]:
        """The protected features, by title, that something with a share here depends on."""

    @property
    @abstractmethod
    def feature_shares(self) -> Floats:
        """(F,): each feature's share, as people are shown it."""

    @property
    def tightenings(self) -> Sequence[Tightening]:
        """What may silence the rules that carry the end point; none of a model without rules."""
        return ()

    def support(self) -> dict[str, Any]:
        """What `Measured` tells of the rules that the end point rests on, if there are any."""
        return {}

    @property
    @abstractmethod
    def bars(self) -> Floats:
        """The shares that a picture shows, one for each of what it splits the change by."""

    @abstractmethod
    def bar_label(self, at: int) -> str:
        """What one of them is of."""

    @abstractmethod
    def movers(self, least: float = STILL) -> list[Mover]:
        """The rules or terms with at least so great a share, the greatest first."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """One row per rule or term, the greatest share first."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""

    def support_lines(self) -> Iterator[str]:
        """What the end point rests on, line by line."""
        if self.protected:
            yield f"These {self.noun}s depend on what is protected: {', '.join(self.protected)}"

    def changes(self) -> pd.DataFrame:
        """What differs between the points in the person's units, and each feature's share."""
        rows = []
        for feature, share in zip(
            self.points.recourse.schema, self.feature_shares.tolist(), strict=True
        ):
            here, there = (feature.describe(p.x[feature.name]) for p in (self.start, self.end))
            if here != there or share:
                told = {"feature": feature.heading, "from": here, "to": there, "share": share}
                rows.append(told)
        return pd.DataFrame(rows, columns=["feature", "from", "to", "share"])

    # ------------------------------------------------------------ for people

    @property
    def threshold(self) -> float:
        """From which confidence on the decision is yes."""
        return self.points.recourse.decision_threshold

    def _lines(self) -> Iterator[str]:
        moved = signed(self.end.confidence - self.start.confidence)
        yield (
            f"{self.start.name} → {self.end.name}: confidence "
            f"{self.start.formatted(self.threshold)} → {self.end.formatted(self.threshold)} "
            f"({moved})"
        )
        if self.note:
            yield f"({self.note})"
        yield "What changes, and its share"
        for each in self.changes().to_dict("records"):
            yield f"  {self.told(each['share'])}  {each['feature']} {each['from']} → {each['to']}"
        yield f"The {self.noun}s that do it"
        yield from self._told_movers()
        yield from self.support_lines()

    def _told_movers(self) -> Iterator[str]:
        found = self.movers()
        for each in found[:SHOWN]:
            words = f": {each.words}" if each.words else ""
            yield f"  {self.told(each.share)}  {each.name}, {self.verb} {each.moves}{words}"
        if rest := found[SHOWN:]:
            many = len(rest) > 1
            others = (
                f"{len(rest)} other {self.noun}s together" if many else f"one other {self.noun}"
            )
            yield f"  {self.told(sum(each.share for each in rest))}  {others}"
        if not found:
            yield f"  none: no {self.noun} {self.verb} otherwise than before"

    def told(self, share: float) -> str:
        """A share for people."""
        return signed(share)

    def moved_by(self, shares: Floats) -> str:
        """The title of the feature with the greatest of these shares; '' if none has any."""
        f = int(np.abs(shares).argmax())
        return self.points.recourse.schema[f].title if abs(shares[f]) > STILL else ""

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        changes, found = self.changes(), self.movers()[:SHOWN]
        rest = self.change - sum(each.share for each in found)
        told = [
            *((each.name, each.words, each.moves, self.told(each.share)) for each in found),
            ("all others", "", "", self.told(rest)),
        ]
        moved = changes.itertuples(index=False)
        return markup.shown(
            markup.line(next(self._lines()), strong=True),
            markup.line(self.note, quiet=True) if self.note else "",
            markup.table(
                ("feature", "from", "to", "share"),
                [(name, a, b, self.told(share)) for name, a, b, share in moved],
                changes["share"].tolist(),
            ),
            markup.table(
                (self.noun, "", self.verb, "share"), told, [*(each.share for each in found), rest]
            ),
            markup.folded("What it rests on", map(str.strip, self.support_lines())),
        )

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)


def places(recourse: Recourse, points: Sequence[Asked]) -> Places:
    """Ask a model about points, given as (name, x, codes, target, cost)."""
    from trust_recourse.answers.explain.points import RulePlaces
    from trust_recourse.answers.explain.terms import TermPlaces

    family = RulePlaces if hasattr(recourse.model, "clauses") else TermPlaces
    if not explainable(recourse.model):
        raise TypeError(_unexplained(recourse.model))
    return family.of(recourse, points)


def _unexplained(model: Any) -> str:
    """Why a model has no explanation, and what to do."""
    return (
        "explanations need a PTMClassifier or TMClassifier, or a model that is a sum of terms, "
        f"such as trees; this model is {type(model).__name__}"
    )


def explainable(model: Any) -> bool:
    """Whether a model says what it is made of: of clauses, or of the terms of a sum."""
    return hasattr(model, "clauses") or hasattr(model, "parts_of")


def depends(model: Any) -> NDArray[np.bool_]:
    """(F,): whether any rule or term of such a model depends on a feature, however little."""
    if hasattr(model, "clauses"):
        return np.asarray(model.clauses().depends.any(axis=1))
    return np.asarray(model.parts_of(1).uses.any(axis=0))


def explain(points: Places, start: Place, end: Place, fragile: float = FRAGILE) -> Explanation:
    """Explain the change from one of the points to another."""
    if not 0 < fragile <= 1:
        raise ValueError(f"fragile={fragile!r}; expected a probability above 0, such as 0.1")
    return points.explain(start, end, fragile)


def records(table: pd.DataFrame) -> Any:
    """A table's rows as JSON has them: what is missing is null."""
    return json.loads(table.to_json(orient="records", double_precision=15))
