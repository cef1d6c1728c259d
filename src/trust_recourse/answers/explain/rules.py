"""A change of a Tsetlin machine's confidence, explained: by values, by clauses and by automata.

Shares are of the raw confidence. With a calibrator they are scaled to the calibrated change; where
that says little, because the raw confidence hardly moves or the calibrated one has a plateau or a
jump there, people are shown the raw shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from trust_recourse.answers.explain.explanation import (
    FRAGILE,
    STILL,
    Explanation,
    Mover,
    moved_by,
    records,
)
from trust_recourse.answers.explain.points import NAMED, RulePlace, RulePlaces, Tightening
from trust_recourse.answers.explain.shares import Floats, Shares
from trust_recourse.io.wording import floored

if TYPE_CHECKING:
    from trust_recourse.io.arrays import Bools

STEEP = 10.0  # a calibrator that stretches the raw change further has a jump there
NAMES = 3  # literals named that may silence a rule


@dataclass(frozen=True, eq=False, repr=False)
class RuleExplanation(Explanation):
    """Why confidence is what it is at one point and not what it is at another.

    `changes()` is the level of values, `to_frame()` that of clauses, `literals()` that of automata;
    `tightenings` says what may silence the clauses that carry the end point.
    """

    points: RulePlaces
    start: RulePlace
    end: RulePlace
    raw: Shares  # of the change in the wanted class's raw confidence
    factor: float  # that scales them to the change in confidence
    line: float = FRAGILE  # from which chance to tighten on a clause is fragile

    noun: ClassVar[str] = "rule"
    verb: ClassVar[str] = "fires"
    by: ClassVar[str] = "rule"
    score: ClassVar[str] = "confidence"

    @property
    def ends(self) -> tuple[float, float]:
        """The confidence at the start and at the end."""
        return self.start.confidence, self.end.confidence

    @property
    def level(self) -> float:
        """The decision threshold itself."""
        return self.threshold

    @property
    def shares(self) -> Floats:
        """(C,): each clause's share of the change in confidence."""
        return self.raw.clauses * self.factor

    @property
    def by_feature(self) -> Floats:
        """(F, C): each feature's share in that of each clause."""
        return self.raw.features * self.factor

    @property
    def shown(self) -> Shares:
        """The shares that people are shown: raw where scaled ones would say little; see `note`."""
        scale = self.factor if 0 < abs(self.factor) <= STEEP else 1.0
        return Shares(self.raw.clauses * scale, self.raw.features * scale)

    @property
    def note(self) -> str:
        """What a calibrated model's shares are shares of; '' for any other."""
        if self.points.recourse.model.calibrator_ is None:
            return ""
        moved = float(self.raw.clauses.sum())
        raw = f"shares of the raw confidence, which changes by {moved:+.3f}"
        if abs(moved) < STILL:
            return f"{raw}: as a whole it does not move"
        if self.factor == 0:
            return f"{raw}, while the calibrated one has a plateau here"
        if abs(self.factor) > STEEP:
            return f"{raw}, while the calibrated one jumps here"
        return "shares of the raw confidence, scaled to the change of the calibrated one"

    @property
    def protected(self) -> list[str]:
        """The protected features, by title, that a rule with a share here depends on."""
        depends = self.points.clauses.depends[:, np.abs(self.shown.clauses) > STILL]
        features = enumerate(self.points.recourse.schema)
        return [each.title for f, each in features if each.protected and depends[f].any()]

    @cached_property
    def tightenings(self) -> list[Tightening]:
        """What may silence the clauses that carry the end point, the likeliest first."""
        return self.points.tightenings(self.end, self.line)

    @property
    def carrying(self) -> Bools:
        """(C,): the clauses for the wanted class whose statement holds at the end point."""
        return np.asarray(self.end.holds & self.points.supports)

    @property
    def fragile(self) -> Bools:
        """(C,): those of them that may tighten."""
        return np.asarray(self.carrying & (self.end.tightens >= self.line))

    def support(self) -> dict[str, Any]:
        """The clauses that the end point rests on."""
        carrying, fragile = (
            tuple(np.flatnonzero(each).tolist()) for each in (self.carrying, self.fragile)
        )
        return {"carrying": carrying, "fragile": fragile, "silence": self.end.silence}

    @property
    def feature_shares(self) -> Floats:
        """(F,): over all clauses."""
        return np.asarray(self.shown.features.sum(axis=1))

    def to_frame(self) -> pd.DataFrame:
        """One row per clause, the greatest share first; `moved_by` is the feature that did most.

        `holds`, `carries` (it holds and votes for the wanted class), `tightens` and `fragile` are
        about the end point.
        """
        schema = self.points.recourse.schema
        table = self.points.clauses.table()[["votes_for", "rule", "weak", "dominance"]]
        table = table.assign(
            before=self.start.firing,
            after=self.end.firing,
            share=self.shown.clauses,
            moved_by=[moved_by(schema, shares) for shares in self.raw.features.T],
            holds=self.end.holds,
            carries=self.carrying,
            tightens=self.end.tightens,
            fragile=self.fragile,
        )
        return table.sort_values("share", key=abs, ascending=False, kind="stable")

    def literals(self, clause: int | None = None, least: float = NAMED) -> pd.DataFrame:
        """One row per automaton that includes its literal with at least this probability.

        `slack` is how far the end point may move before the literal's threshold is met: in the
        feature's units, in levels of an ordered choice; negative where it is passed already,
        missing for categories.
        """
        clauses = self.points.clauses
        schema, slack = self.points.recourse.schema, _slack(self)
        wanted = clauses.inclusion >= least
        if clause is not None:
            wanted &= (np.arange(len(wanted)) == _clause(self, clause))[:, None]
        j, k = np.nonzero(wanted)
        table = {
            "clause": j,
            "literal": [clauses.names[each] for each in k],
            "feature": [schema[int(f)].title for f in clauses.literals.owners[k]],
            "probability": clauses.inclusion[j, k],
            "before": self.start.true[k],
            "after": self.end.true[k],
            "slack": slack[k],
        }
        order = np.lexsort((-clauses.inclusion[j, k], j))
        return pd.DataFrame(table).iloc[order].reset_index(drop=True)

    def stricter(self) -> pd.DataFrame:
        """One row per clause that carries the end point, and feature that may tighten it there.

        `probability` is the chance that some literal of the feature that is false there belongs to
        the clause: 1 − Π (1 − π) over them.
        """
        clauses, schema = self.points.clauses, self.points.recourse.schema
        chance = 1.0 - clauses.factors_at(self.end.cells[None])[0].T  # (C, F)
        j, f = np.nonzero((chance >= NAMED) & self.end.holds[:, None])
        table = {
            "clause": j,
            "feature": [schema[int(each)].title for each in f],
            "probability": chance[j, f],
        }
        return pd.DataFrame(table)

    # ------------------------------------------------------------ for people

    @property
    def bars(self) -> Floats:
        """(C,): the clauses' shares."""
        return self.shown.clauses

    def bar_label(self, at: int) -> str:
        """A clause's number, the class it votes for, and its statement."""
        return f"rule {at} (for {self.points.clauses.votes_for[at]}): {self.rule(at)}"

    def movers(self, least: float = STILL) -> list[Mover]:
        """The clauses with at least so great a share, the greatest first."""
        shares = self.shown.clauses
        order = [int(j) for j in np.argsort(-np.abs(shares), kind="stable")]
        several = len(self.changes()) > 1
        return [_mover(self, j, several) for j in order if abs(shares[j]) > least]

    def rule(self, j: int) -> str:
        """A clause in words."""
        return self.points.clauses.words[_clause(self, j)]

    def support_lines(self) -> Iterator[str]:
        """What the end point rests on, rule by rule."""
        yield from super().support_lines()
        carrying = np.flatnonzero(self.carrying)
        if len(carrying):
            each = (f"{j} (fires {self.end.firing[j]:.2f})" for j in carrying)
            yield f"{self.end.name} is carried by rule{'s' * (len(carrying) > 1)} {', '.join(each)}"
        else:
            yield f"No rule that votes for it states {self.end.name}'s values"
        if self.fragile.any():
            yield "Of these are fragile (what may silence them is averaged into the confidence)"
            yield from (f"  {line}" for line in _fragile_lines(self))
        silent = f"{self.start.silence:.2f} → {self.end.silence:.2f}"
        yield f"That no rule fires at all has the probability {silent}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        table = self.to_frame().reset_index()
        return {
            "from": self.start.to_dict(),
            "to": self.end.to_dict(),
            "change": self.change,
            "note": self.note,
            "protected": self.protected,
            "changes": records(self.changes()),
            "clauses": records(table),
            "literals": records(self.literals()),
            "stricter": records(self.stricter()),
            "tightenings": [each._asdict() for each in self.tightenings],
        }


def _clause(why: RuleExplanation, j: int) -> int:
    if not 0 <= j < len(why.shares):
        raise IndexError(f"clause {j}: there are {len(why.shares)}, counted from 0")
    return j


def _slack(why: RuleExplanation) -> Floats:
    literals = why.points.clauses.literals
    room = literals.limits - why.end.codes[literals.owners]
    return np.where(np.arange(len(room)) < literals.n_literals, room, 0.0 - room)


def _mover(why: RuleExplanation, j: int, several: bool) -> Mover:
    """A clause that moved the confidence; by what, where several features change."""
    schema, votes_for = why.points.recourse.schema, why.points.clauses.votes_for[j]
    by = f" by {moved_by(schema, why.raw.features[:, j])}" if several else ""
    return Mover(
        j, f"rule {j} for {votes_for!r}", why.rule(j),
        f"{why.start.firing[j]:.2f} → {why.end.firing[j]:.2f}{by}", float(why.shown.clauses[j]),
    )  # fmt: skip


def _fragile_lines(why: RuleExplanation) -> Iterator[str]:
    """A line for each fragile rule, that whose silence is expected to cost most first."""
    without = why.points.without[why.end.name]
    loss = np.where(why.fragile, why.end.tightens * (why.end.confidence - without), -np.inf)
    for j in np.argsort(-loss, kind="stable")[: int(why.fragile.sum())]:
        literals = [t for t in why.tightenings if t.clause == j]
        named = ", ".join(f"{t.literal} ({t.probability:.3f})" for t in literals[:NAMES])
        more = f" and {len(literals) - NAMES} more" if len(literals) > NAMES else ""
        then = f"confidence {why.end.formatted(why.threshold)} → {floored(without[j])}"
        short = why.end.target is not None and not why.end.target.met(float(without[j]))
        yield (
            f"rule {j}: it may also ask for {named}{more}, with probability "
            f"{why.end.tightens[j]:.3f} for any; silent then, {then}"
            + (", short of its target" if short else "")
        )
