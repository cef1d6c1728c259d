"""A change of a Tsetlin machine's confidence, explained: by values, by clauses and by automata.

Shares are of the raw confidence. With a calibrator they are scaled to the calibrated change; where
that says little, because the raw confidence hardly moves or the calibrated one has a plateau or a
jump there, people are shown the raw shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from trust_recourse.answers.explain.explanation import (
    FRAGILE,
    STEEP,
    STILL,
    Explanation,
    Mover,
    moved_by,
    records,
)
from trust_recourse.answers.explain.points import NAMED, RulePlace, RulePlaces, Tightening
from trust_recourse.io.arrays import Bools, Floats
from trust_recourse.io.wording import floored, signed

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
    line: float = FRAGILE  # from which chance to tighten on a clause is fragile

    noun: ClassVar[str] = "rule"
    verb: ClassVar[str] = "fires"
    by: ClassVar[str] = "rule"
    score: ClassVar[str] = "confidence"

    @property
    def level(self) -> float:
        """The decision threshold itself."""
        return self.threshold

    @property
    def note(self) -> str:
        """What a calibrated model's shares are shares of; '' for any other."""
        if self.points.recourse.model.calibrator_ is None:
            return ""
        moved = float(self.raw.terms.sum())
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
        depends = self.points.clauses.depends[:, np.abs(self.shown.terms) > STILL]
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
            share=self.shown.terms,
            moved_by=[moved_by(schema, shares) for shares in self.raw.features],
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
        literal, schema = clauses.literals, self.points.recourse.schema
        room = literal.limits - self.end.codes[literal.owners]
        slack = np.where(np.arange(len(room)) < literal.n_literals, room, 0.0 - room)
        wanted = clauses.inclusion >= least
        if clause is not None:
            if not 0 <= clause < len(wanted):
                raise IndexError(f"clause {clause}: there are {len(wanted)}, counted from 0")
            wanted &= (np.arange(len(wanted)) == clause)[:, None]
        j, k = np.nonzero(wanted)
        table = {
            "clause": j,
            "literal": [clauses.names[each] for each in k],
            "feature": [schema[int(f)].title for f in literal.owners[k]],
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

    def told(self, share: float) -> str:
        """A share for people."""
        return signed(share)

    @property
    def bars(self) -> Floats:
        """(C,): the clauses' shares."""
        return self.shown.terms

    def bar_label(self, at: int) -> str:
        """A clause's number, the class it votes for, and its statement."""
        clauses = self.points.clauses
        return f"rule {at} (for {clauses.votes_for[at]}): {clauses.words[at]}"

    def movers(self, least: float = STILL) -> list[Mover]:
        """The clauses with at least so great a share, the greatest first.

        Where several features change, each is told with the one that moved it most.
        """
        shares, clauses, schema = self.shown.terms, self.points.clauses, self.points.recourse.schema
        several = len(self.changes()) > 1
        found = []
        for j in np.argsort(-np.abs(shares), kind="stable").tolist():
            if abs(shares[j]) > least:
                by = f" by {moved_by(schema, self.raw.features[j])}" if several else ""
                moves = f"{self.start.firing[j]:.2f} → {self.end.firing[j]:.2f}{by}"
                name = f"rule {j} for {clauses.votes_for[j]!r}"
                found.append(Mover(j, name, clauses.words[j], moves, float(shares[j])))
        return found

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

    def _details(self) -> dict[str, Any]:
        """The clauses and their automata, as `to_dict` has them."""
        return {
            "clauses": records(self.to_frame().reset_index()),
            "literals": records(self.literals()),
            "stricter": records(self.stricter()),
            "tightenings": [each._asdict() for each in self.tightenings],
        }


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
