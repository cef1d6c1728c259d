"""A change of a sum, explained by features and by its terms: trees, or bins of points.

Shares are of the score, in which terms add up; `Attribution` says what people call it and how it
makes a confidence. They are exact: Shapley values between the two points, see
`models.sums.attributions`; of a class among several they are of its margin, which is no sum, see
`models.margin_attribution`.
What a library rounds away as it adds up is nobody's share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from trust_recourse.answers.explain.explanation import (
    FRAGILE,
    STILL,
    Asked,
    Explanation,
    Mover,
    Place,
    Places,
    moved_by,
    records,
)
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import floored, signed

if TYPE_CHECKING:
    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.models.attribution import Attribution


@dataclass(frozen=True, eq=False)
class TermPlace(Place):
    """A point, what each term adds there, and their sum with the base."""

    terms: Floats
    score: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**super().to_dict(), "score": self.score}


@dataclass(frozen=True, eq=False)
class TermPlaces(Places):
    """Several points of a sum."""

    all: tuple[TermPlace, ...]
    parts: Attribution  # of the wanted class's score, in the words of the person's schema

    @classmethod
    def of(cls, recourse: Recourse, points: Sequence[Asked]) -> TermPlaces:
        """What the terms of a sum add at points."""
        parts: Attribution = recourse.model.parts_of(recourse.wanted_at).worded(recourse.schema)
        rows = [codes for _, _, codes, _, _ in points]
        terms = [parts.at(codes) for codes in rows]
        score = [parts.total(*each) for each in zip(rows, terms, strict=True)]
        told = recourse.confidences(np.array(rows)).tolist(), terms, score
        made = (TermPlace(*point, *more) for point, *more in zip(points, *told, strict=True))
        return cls(recourse, tuple(made), parts)

    def explain(self, start: Place, end: Place, fragile: float) -> TermExplanation:
        """Explain the change from one of the points to another."""
        if fragile != FRAGILE:
            raise ValueError(
                f"fragile={fragile!r}: only the rules of Tsetlin machines tighten; leave it out"
            )
        assert isinstance(start, TermPlace)
        assert isinstance(end, TermPlace)
        return TermExplanation(self, start, end, self.parts.shares(start.codes, end.codes))


@dataclass(frozen=True, eq=False, repr=False)
class TermExplanation(Explanation):
    """Why a sum is what it is at one point and not what it is at another.

    `changes()` has the features, `to_frame()` the terms that move.
    """

    points: TermPlaces
    start: TermPlace
    end: TermPlace
    shares: Floats  # (T, F), adding up to the change of the score

    verb: ClassVar[str] = "adds"
    by: ClassVar[str] = "feature"

    @property
    def noun(self) -> str:
        """What people call a term."""
        return self.points.parts.words.term

    @property
    def score(self) -> str:
        """What people call the score."""
        return self.points.parts.words.score

    @property
    def ends(self) -> tuple[float, float]:
        """The score at the start and at the end."""
        return self.start.score, self.end.score

    @property
    def level(self) -> float:
        """The score of the decision threshold."""
        return self.points.parts.level(self.threshold)

    @property
    def note(self) -> str:
        """What the score is, and how far it moves."""
        here, there = self.ends
        moved = f"{floored(here)} → {floored(there)} ({signed(self.change)})"
        return f"shares of the {self.points.parts.words.note}: {moved}"

    @property
    def protected(self) -> list[str]:
        """The protected features, by title, that a term with a share here depends on."""
        depends = np.atleast_1d(self.points.parts.uses[self._moved].any(axis=0))
        features = zip(self.points.recourse.schema, depends.tolist(), strict=True)
        return [feature.title for feature, used in features if used and feature.protected]

    @property
    def feature_shares(self) -> Floats:
        """(F,): over all terms."""
        return np.asarray(self.shares.sum(axis=0))

    def told(self, share: float) -> str:
        """A share, or a number of a term, for people."""
        return signed(share, self.points.parts.words.digits)

    @property
    def bars(self) -> Floats:
        """(F,): the features' shares."""
        return self.feature_shares

    def bar_label(self, at: int) -> str:
        """A feature by its title."""
        return self.points.recourse.schema[at].title

    @cached_property
    def _moved(self) -> list[int]:
        """The terms with a share, the greatest first; where features cancel out, a term has one."""
        total, most = np.abs(self.shares.sum(axis=1)), np.abs(self.shares).max(axis=1)
        order = np.lexsort((-most, -total))
        return [int(t) for t in order if most[t] > STILL]

    def movers(self, least: float = STILL) -> list[Mover]:
        """The terms that change by at least so much, the greatest share first."""
        several = np.count_nonzero(np.abs(self.shares) > STILL, axis=1) > 1
        found = []
        for each in self._table.reset_index().to_dict("records"):
            if abs(each["share"]) > least:
                by = f" by {each['moved_by']}" if several[each["term"]] else ""
                moves = f"{self.told(each['before'])} → {self.told(each['after'])}{by}"
                told = each["term"], each["name"], each["condition"], moves, each["share"]
                found.append(Mover(*told))
        return found

    @cached_property
    def _table(self) -> pd.DataFrame:
        parts, moved = self.points.parts, self._moved
        table = {
            "name": [parts.name(t) for t in moved],
            "condition": parts.conditions(moved, self.start.codes, self.end.codes),
            "before": self.start.terms[moved],
            "after": self.end.terms[moved],
            "share": self.shares[moved].sum(axis=1),
            "moved_by": [moved_by(self.points.recourse.schema, self.shares[t]) for t in moved],
        }
        return pd.DataFrame(table, index=pd.Index(moved, name="term", dtype=int))

    def to_frame(self) -> pd.DataFrame:
        """One row per term that moves, the greatest share first; `condition` is of the end point.

        `moved_by` is the feature that did most.
        """
        return self._table.copy()

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {
            "from": self.start.to_dict(),
            "to": self.end.to_dict(),
            "score": self.score,
            "change": self.change,
            "note": self.note,
            "protected": self.protected,
            "changes": records(self.changes()),
            "terms": records(self._table.reset_index()),
        }
