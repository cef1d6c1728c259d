"""One change of confidence, explained: by values, by clauses, by automata, and in sentences.

Shares are of the raw confidence. With a calibrator they are scaled to the calibrated change; where
that says little, because the raw confidence hardly moves or the calibrated one has a plateau or a
jump there, people are shown the raw shares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from trust_recourse.explain.points import FRAGILE, NAMED, Place, Places, Tightening
from trust_recourse.explain.shares import STILL, Floats, Shares
from trust_recourse.schema.scalars import plain
from trust_recourse.wording import floored, signed

if TYPE_CHECKING:
    from trust_recourse.tsetlin.clauses import Bools

STEEP = 10.0  # a calibrator that stretches the raw change further has a jump there
SHOWN = 5  # rules told one by one; the others are added up
NAMES = 3  # literals named that may silence a rule


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why confidence is what it is at one point and not what it is at another.

    `changes()` is the level of values, `to_frame()` that of clauses, `literals()` that of automata;
    `tightenings` says what may silence the clauses that carry the end point.
    """

    points: Places
    start: Place
    end: Place
    raw: Shares  # of the change in the wanted class's raw confidence
    factor: float  # that scales them to the change in confidence
    line: float = FRAGILE  # from which chance to tighten on a clause is fragile

    @property
    def change(self) -> float:
        """What the shares add up to."""
        return self.end.confidence - self.start.confidence

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

    def changes(self) -> pd.DataFrame:
        """What differs between the points in the person's units, and each feature's share."""
        schema = self.points.recourse.schema
        rows = []
        for f, feature in enumerate(schema):
            a, b = self.start.x[feature.name], self.end.x[feature.name]
            if (
                feature.describe(a) != feature.describe(b)
                or self.start.cells[f] != self.end.cells[f]
            ):
                rows.append(
                    {
                        "feature": feature.title,
                        "from": feature.describe(a),
                        "to": feature.describe(b),
                        "share": float(self.shown.features[f].sum()),
                    }
                )
        return pd.DataFrame(rows, columns=["feature", "from", "to", "share"])

    def to_frame(self) -> pd.DataFrame:
        """One row per clause, the greatest share first; `moved_by` is the feature that did most.

        `holds`, `carries` (it holds and votes for the wanted class), `tightens` and `fragile` are
        about the end point.
        """
        table = self.points.clauses.table()[["votes_for", "rule", "weak", "dominance"]]
        table = table.assign(
            before=self.start.firing,
            after=self.end.firing,
            share=self.shown.clauses,
            moved_by=[self.moved_by(j) for j in range(len(table))],
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
        schema, slack = self.points.recourse.schema, self._slack()
        wanted = clauses.inclusion >= least
        if clause is not None:
            wanted &= (np.arange(len(wanted)) == self._clause(clause))[:, None]
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

    def _slack(self) -> Floats:
        literals = self.points.clauses.literals
        room = literals.limits - self.end.codes[literals.owners]
        return np.where(np.arange(len(room)) < literals.n_literals, room, 0.0 - room)

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

    def _clause(self, j: int) -> int:
        if not 0 <= j < len(self.shares):
            raise IndexError(f"clause {j}: there are {len(self.shares)}, counted from 0")
        return j

    # ------------------------------------------------------------ for people

    @property
    def _line(self) -> float:
        return self.points.recourse.decision_threshold

    def _lines(self) -> Iterator[str]:
        yield (
            f"{self.start.name} → {self.end.name}: confidence {self.start.formatted(self._line)} → "
            f"{self.end.formatted(self._line)} ({signed(self.change)})"
        )
        if self.note:
            yield f"({self.note})"
        yield "What changes, and its share"
        for each in self.changes().to_dict("records"):
            yield f"  {signed(each['share'])}  {each['feature']} {each['from']} → {each['to']}"
        yield "The rules that do it"
        yield from self._movers()
        yield from self._support()

    def _movers(self) -> Iterator[str]:
        shares = self.shown.clauses
        order = [j for j in np.argsort(-np.abs(shares), kind="stable") if abs(shares[j]) > STILL]
        for j in order[:SHOWN]:
            yield f"  {signed(shares[j])}  {self._fires(j)}: {self.rule(int(j))}"
        if rest := order[SHOWN:]:
            others = f"{len(rest)} other rules together" if len(rest) > 1 else "one other rule"
            yield f"  {signed(shares[rest].sum())}  {others}"
        if not order:
            yield "  none: no rule fires otherwise than before"

    def _fires(self, j: int) -> str:
        votes_for = self.points.clauses.votes_for[j]
        fires = f"fires {self.start.firing[j]:.2f} → {self.end.firing[j]:.2f}"
        by = f" by {self.moved_by(j)}" if len(self.changes()) > 1 else ""
        return f"rule {j} for {votes_for!r}, {fires}{by}"

    def moved_by(self, j: int) -> str:
        """The feature that changed a clause's firing most; '' if none did."""
        shares = np.abs(self.raw.features[:, j])
        f = int(shares.argmax())
        return self.points.recourse.schema[f].title if shares[f] > STILL else ""

    def rule(self, j: int) -> str:
        """A clause in words."""
        return self.points.clauses.words[self._clause(j)]

    def _support(self) -> Iterator[str]:
        if self.protected:
            yield f"These rules depend on what is protected: {', '.join(self.protected)}"
        carrying = np.flatnonzero(self.carrying)
        if len(carrying):
            each = (f"{j} (fires {self.end.firing[j]:.2f})" for j in carrying)
            yield f"{self.end.name} is carried by rule{'s' * (len(carrying) > 1)} {', '.join(each)}"
        else:
            yield f"No rule that votes for it states {self.end.name}'s values"
        if self.fragile.any():
            yield "Of these are fragile (what may silence them is averaged into the confidence)"
            yield from (f"  {line}" for line in self._fragile_lines())
        silent = f"{self.start.silence:.2f} → {self.end.silence:.2f}"
        yield f"That no rule fires at all has the probability {silent}"

    def _fragile_lines(self) -> Iterator[str]:
        """A line for each fragile rule, that whose silence is expected to cost most first."""
        without = self.points.without[self.end.name]
        loss = np.where(self.fragile, self.end.tightens * (self.end.confidence - without), -np.inf)
        for j in np.argsort(-loss, kind="stable")[: int(self.fragile.sum())]:
            literals = [t for t in self.tightenings if t.clause == j]
            named = ", ".join(f"{t.literal} ({t.probability:.3f})" for t in literals[:NAMES])
            more = f" and {len(literals) - NAMES} more" if len(literals) > NAMES else ""
            then = f"confidence {self.end.formatted(self._line)} → {floored(without[j])}"
            short = self.end.target is not None and not self.end.target.met(float(without[j]))
            yield (
                f"rule {j}: it may also ask for {named}{more}, with probability "
                f"{self.end.tightens[j]:.3f} for any; silent then, {then}"
                + (", short of its target" if short else "")
            )

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        head = next(self._lines())
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        table = self.to_frame().drop(columns="weak").head(SHOWN)
        with pd.option_context("display.max_colwidth", None):
            tables = self.changes().to_html(index=False) + table.to_html(
                float_format="{:.3f}".format
            )
        listed = "".join(f"<li>{escape(line.strip())}</li>" for line in self._support())
        return f"<p><b>{escape(head)}</b></p>{note}{tables}<ul>{listed}</ul>"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        table = self.to_frame().reset_index()
        return {
            "from": _told(self.start),
            "to": _told(self.end),
            "change": self.change,
            "note": self.note,
            "protected": self.protected,
            "changes": _records(self.changes()),
            "clauses": _records(table),
            "literals": _records(self.literals()),
            "stricter": _records(self.stricter()),
            "tightenings": [each._asdict() for each in self.tightenings],
        }

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)


def explain(points: Places, start: Place, end: Place, fragile: float = FRAGILE) -> Explanation:
    """Explain the change from one of the points to another."""
    if not 0 < fragile <= 1:
        raise ValueError(f"fragile={fragile!r}; expected a probability above 0, such as 0.1")
    return Explanation(points, start, end, *points.shares(start, end), fragile)


def _records(table: pd.DataFrame) -> Any:
    """A table's rows as JSON has them: what is missing is null."""
    return json.loads(table.to_json(orient="records", double_precision=15))


def _told(place: Place) -> dict[str, Any]:
    return {
        "name": place.name,
        "x": {name: plain(value) for name, value in place.x.items()},
        "target": None if place.target is None else place.target.confidence,
        "confidence": place.confidence,
        "cost": place.cost,
        "none_fires": place.silence,
    }
