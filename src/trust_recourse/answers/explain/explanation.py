"""A change of a model between two points, split over features and over what the model is made of.

Shares are of the score, in which terms add up; `Attribution` names it and says how it makes a
confidence. They are exact: Shapley values between the two points, see `models.sums.attributions`;
of a class among several they are of its margin, which is no sum, see `models.margin_attribution`.
What a library rounds away as it adds up is nobody's share.

A Tsetlin machine of two classes has rules for terms, and more to explain: see `rules`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io import markup
from trust_recourse.io.arrays import Bools, Floats
from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import floored, signed
from trust_recourse.question import Target, formatted

if TYPE_CHECKING:
    from trust_recourse.answers.explain.rules import Tightening
    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.models.attribution import Attribution
    from trust_recourse.schema import Schema

FRAGILE = 0.1  # a clause that tightens at least this likely is fragile
STILL = 1e-12  # a score that moves less does not move
STEEP = 10.0  # a calibrator that stretches the raw change further has a jump there
SHOWN = 5  # rules or terms told one by one; the others are added up

ShareGrid = tuple[tuple[str, ...], Sequence[tuple[str, ...]], list[float]]  # head, rows, shares
Asked = tuple[str, Any, Floats, Target | None, float]  # name, x, codes, target, cost


class Shares(NamedTuple):
    """The change of a score from one point to another, split exactly."""

    terms: Floats  # (T,): each rule or term
    features: Floats  # (T, F): each feature in each of them


@dataclass(frozen=True, eq=False)
class Place:
    """Where a person is, or could be."""

    name: str  # "as they are", "option 1", …
    x: pd.Series[Any]
    codes: Floats
    target: Target | None  # none was asked of the person as they are
    cost: float
    confidence: float  # of the wanted class
    score: float  # what is split: the sum of all terms, or the confidence of a machine
    terms: Floats  # (T,): what each term adds, or how likely each rule fires

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
            "score": self.score,
        }


@dataclass(frozen=True, eq=False)
class Places:
    """Several points of one model; the first is the person as they are."""

    recourse: Recourse
    all: tuple[Place, ...]

    @classmethod
    def of(cls, recourse: Recourse, points: Sequence[Asked]) -> Places:
        """What the terms of a sum add at points."""
        parts, rows = _parts(recourse), [codes for _, _, codes, _, _ in points]
        confidence = recourse.confidences(np.array(rows)).tolist()
        terms = [parts.at(codes) for codes in rows]
        scores = [parts.total(*each) for each in zip(rows, terms, strict=True)]
        told = zip(points, confidence, scores, terms, strict=True)
        return cls(recourse, tuple(Place(*point, *more) for point, *more in told))

    @cached_property
    def parts(self) -> Attribution:
        """What the wanted class's score is made of, in the words of the person's schema."""
        return _parts(self.recourse)

    def explain(self, start: Place, end: Place, fragile: float) -> Explanation:
        """Explain the change from one of the points to another."""
        if fragile != FRAGILE:
            raise ValueError(
                f"fragile={fragile!r}: only the rules of Tsetlin machines tighten; leave it out"
            )
        shares = self.parts.shares(start.codes, end.codes)
        return Explanation(self, start, end, Shares(shares.sum(axis=1), shares))


def _parts(recourse: Recourse) -> Attribution:
    made: Attribution = recourse.model.parts_of(recourse.wanted_at)
    return made.worded(recourse.schema)


class Mover(NamedTuple):
    """A rule or a term that moved the score, for people."""

    at: int
    name: str  # "rule 2 for 1", "tree 17"
    words: str  # what it states, or where it adds what it does
    moves: str  # "0.02 → 0.77"
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why confidence is what it is at one point and not what it is at another.

    `changes()` is the level of values, `to_frame()` that of what the model is made of: the terms
    of a sum, such as trees, or the rules of a machine.
    """

    points: Places
    start: Place
    end: Place
    raw: Shares  # of the change in the wanted class's score
    factor: float = 1.0  # that scales them to the change of a calibrated confidence

    verb: ClassVar[str] = "adds"  # what a rule or a term does, before its numbers
    by: ClassVar[str] = "feature"  # what a picture splits the change by

    @property
    def noun(self) -> str:
        """What the model is made of, such as "rule"."""
        return self.points.parts.words.term

    @property
    def score(self) -> str:
        """What the shares are of, such as "confidence"."""
        return self.points.parts.words.score

    @property
    def ends(self) -> tuple[float, float]:
        """The score at the start and at the end."""
        return self.start.score, self.end.score

    @property
    def level(self) -> float:
        """The score from which on the decision is yes."""
        return self.points.parts.level(self.threshold)

    @property
    def change(self) -> float:
        """What the shares add up to."""
        return self.ends[1] - self.ends[0]

    @property
    def note(self) -> str:
        """What the shares are shares of, where that is not the confidence itself; else ''."""
        here, there = self.ends
        moved = f"{floored(here)} → {floored(there)} ({signed(self.change)})"
        return f"shares of the {self.points.parts.words.note}: {moved}"

    @property
    def shown(self) -> Shares:
        """The shares that people are shown: raw where scaled ones would say little; see `note`."""
        scale = self.factor if 0 < abs(self.factor) <= STEEP else 1.0
        return Shares(self.raw.terms * scale, self.raw.features * scale)

    @property
    def feature_shares(self) -> Floats:
        """(F,): each feature's share, as people are shown it."""
        return np.asarray(self.shown.features.sum(axis=0))

    @property
    def protected(self) -> list[str]:
        """The protected features, by title, that something with a share here depends on."""
        depends = np.asarray(self.points.parts.uses[self._table.index].any(axis=0))
        features = zip(self.points.recourse.schema, depends.tolist(), strict=True)
        return [feature.title for feature, used in features if used and feature.protected]

    @property
    def tightenings(self) -> Sequence[Tightening]:
        """What may silence the rules that carry the end point; none of a model without rules."""
        return ()

    def support(self) -> dict[str, Any]:
        """What `Measured` tells of the rules that the end point rests on, if there are any."""
        return {}

    @property
    def bars(self) -> Floats:
        """The shares that a picture shows, one for each of what it splits the change by."""
        return self.feature_shares

    def bar_label(self, at: int) -> str:
        """What one of them is of."""
        return self.points.recourse.schema[at].title

    @cached_property
    def _table(self) -> pd.DataFrame:
        """The terms with a share; where features cancel out, a term has one."""
        parts, schema = self.points.parts, self.points.recourse.schema
        total, most = np.abs(self.raw.terms), np.abs(self.raw.features).max(axis=1)
        moved = [int(t) for t in np.lexsort((-most, -total)) if most[t] > STILL]
        table = {
            "name": [parts.name(t) for t in moved],
            "condition": parts.conditions(moved, self.start.codes, self.end.codes),
            "before": self.start.terms[moved],
            "after": self.end.terms[moved],
            "share": self.raw.terms[moved],
            "moved_by": [moved_by(schema, self.raw.features[t]) for t in moved],
        }
        return pd.DataFrame(table, index=pd.Index(moved, name="term", dtype=int))

    def movers(self, least: float = STILL) -> list[Mover]:
        """The rules or terms with at least so great a share, the greatest first."""
        several = np.count_nonzero(np.abs(self.raw.features) > STILL, axis=1) > 1
        found = []
        for each in self._table.reset_index().to_dict("records"):
            if abs(each["share"]) > least:
                by = f" by {each['moved_by']}" if several[each["term"]] else ""
                moves = f"{self.told(each['before'])} → {self.told(each['after'])}{by}"
                told = each["term"], each["name"], each["condition"], moves, each["share"]
                found.append(Mover(*told))
        return found

    def to_frame(self) -> pd.DataFrame:
        """One row per rule or term that moves, the greatest share first.

        `condition` is where a term adds what it does at the end point, `moved_by` the feature that
        did most.
        """
        return self._table.copy()

    def _details(self) -> dict[str, Any]:
        """What the model is made of, as `to_dict` has it."""
        return {"terms": records(self._table.reset_index())}

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
            **self._details(),
        }

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
                rows.append((feature.heading, here, there, share))
        return pd.DataFrame(rows, columns=["feature", "from", "to", "share"])

    # ------------------------------------------------------------ for people

    @property
    def threshold(self) -> float:
        """From which confidence on the decision is yes."""
        return self.points.recourse.decision_threshold

    def told(self, share: float) -> str:
        """A share, or a number of a term, for people."""
        return signed(share, self.points.parts.words.digits)

    def __repr__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        changes, moved = grids(self, SHOWN)
        return markup.shown(
            markup.line(next(_lines(self)), strong=True),
            markup.line(self.note, quiet=True) if self.note else "",
            markup.table(*changes),
            markup.table(*moved),
            markup.folded("What it rests on", map(str.strip, self.support_lines())),
        )

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)


def _lines(why: Explanation) -> Iterator[str]:
    """An explanation as text."""
    moved = signed(why.end.confidence - why.start.confidence)
    yield (
        f"{why.start.name} → {why.end.name}: confidence {why.start.formatted(why.threshold)} → "
        f"{why.end.formatted(why.threshold)} ({moved})"
    )
    if why.note:
        yield f"({why.note})"
    yield "What changes, and its share"
    for each in why.changes().to_dict("records"):
        yield f"  {why.told(each['share'])}  {each['feature']} {each['from']} → {each['to']}"
    yield f"The {why.noun}s that do it"
    found = why.movers()
    for mover in found[:SHOWN]:
        words = f": {mover.words}" if mover.words else ""
        yield f"  {why.told(mover.share)}  {mover.name}, {why.verb} {mover.moves}{words}"
    if rest := found[SHOWN:]:
        many = len(rest) > 1
        others = f"{len(rest)} other {why.noun}s together" if many else f"one other {why.noun}"
        yield f"  {why.told(sum(mover.share for mover in rest))}  {others}"
    if not found:
        yield f"  none: no {why.noun} {why.verb} otherwise than before"
    yield from why.support_lines()


def grids(why: Explanation, most: int) -> tuple[ShareGrid, ShareGrid]:
    """What changes, and the `most` rules or terms that do it: tables to show, and their shares."""
    changes, found = why.changes(), why.movers()[:most]
    rest = why.change - sum(each.share for each in found)
    rows = [(name, a, b, why.told(share)) for name, a, b, share in changes.itertuples(index=False)]
    told = [(each.name, each.words, each.moves, why.told(each.share)) for each in found]
    told.append(("all others", "", "", why.told(rest)))
    shares = [*(each.share for each in found), rest]
    return (
        (("feature", "from", "to", "share"), rows, changes["share"].tolist()),
        ((why.noun, "", why.verb, "share"), told, shares),
    )


def moved_by(schema: Schema, shares: Floats) -> str:
    """The title of the feature with the greatest of these shares; '' if none has any."""
    f = int(np.abs(shares).argmax())
    return schema[f].title if abs(shares[f]) > STILL else ""


def places(recourse: Recourse, points: Sequence[Asked]) -> Places:
    """Ask a model about points, given as (name, x, codes, target, cost)."""
    from trust_recourse.answers.explain.rules import RulePlaces

    if hasattr(recourse.model, "clauses"):
        return RulePlaces.of(recourse, points)
    if not explainable(recourse.model):
        raise TypeError(
            "explanations need a PTMClassifier or TMClassifier, or a model that is a sum of terms, "
            f"such as trees; this model is {type(recourse.model).__name__}"
        )
    return Places.of(recourse, points)


def explainable(model: Any) -> bool:
    """Whether a model says what it is made of: of clauses, or of the terms of a sum."""
    return hasattr(model, "clauses") or hasattr(model, "parts_of")


def depends(model: Any) -> Bools:
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
