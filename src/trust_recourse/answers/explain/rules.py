"""A Tsetlin machine of two classes explained: by values, by clauses and by automata.

A clause *carries* a point if what it states holds there. It would fall silent there if a literal
that is false at the point belonged to it: the chance of any is how likely it is to *tighten*, and a
clause that carries a point and tightens with at least the chance `FRAGILE` is *fragile* there.

The raw confidence M is a smooth function of the clauses' firing probabilities q_j, so its change
from a to b splits exactly:

    share_j = (q_j(b) − q_j(a)) · D_j,   D_j = ∫₀¹ ∂M/∂q_j along the straight path in q

the Aumann–Shapley value of "clause j moves from a to b"; the model's link knows the D_j in closed
form. By votes M is multilinear, and it is the Shapley value too. q_j + E_j is a product over
features, whose change splits by the logarithmic mean Λ_j:

    share_jf = D_j · Λ_j · log(F_jf(b) / F_jf(a))

With a calibrator shares are scaled to the calibrated change; where that says little, because the
raw confidence hardly moves or the calibrated one has a plateau or a jump there, people are shown
the raw shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.answers.explain.explanation import (
    FRAGILE,
    STEEP,
    STILL,
    Asked,
    Explanation,
    Mover,
    Place,
    Places,
    Shares,
    moved_by,
    records,
)
from trust_recourse.io.arrays import Bools, Cells, Floats
from trust_recourse.io.wording import floored, signed
from trust_recourse.models.log_mean import by_feature
from trust_recourse.models.seam import of_class

if TYPE_CHECKING:
    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.models.tsetlin.clauses import Clauses

NAMED = 0.01  # literals that belong to a clause less likely are not named
NAMES = 3  # literals named that may silence a rule


@dataclass(frozen=True, eq=False)
class RulePlace(Place):
    """A point, and what the model's clauses do there."""

    cells: Cells
    holds: Bools  # (C,) whether a clause carries this point
    tightens: Floats  # (C,) the chance that some literal false here belongs to the clause
    true: Bools  # (2o,) which literals hold here

    @property
    def firing(self) -> Floats:
        """(C,): q_j."""
        return self.terms

    @property
    def silence(self) -> float:
        """The probability that no clause fires: confidence that rests on it is not support."""
        return float(np.prod(1.0 - self.firing))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**super().to_dict(), "none_fires": self.silence}


class Tightening(NamedTuple):
    """A literal that may belong to a clause, and the points at which it would silence it."""

    clause: int
    literal: str
    probability: float
    breaks: dict[str, float]  # name of a point that the clause carries → its confidence then
    spares: tuple[str, ...]  # points that the clause carries and that meet the literal
    misses: tuple[str, ...]  # those of `breaks` that would then miss their target

    @property
    def sentence(self) -> str:
        """The same, as a case worker could read it out."""
        short = dict.fromkeys(self.misses, ", short of its target")
        silent = ", ".join(
            f"{name} (confidence then {floored(then)}{short.get(name, '')})"
            for name, then in self.breaks.items()
        )
        meet = "meet" if len(self.spares) > 1 else "meets"
        met = f", while {' and '.join(self.spares)} {meet} that" if self.spares else ""
        return (
            f"rule {self.clause} may also ask for {self.literal}, with probability "
            f"{self.probability:.3f}; it is then silent at {silent}{met}"
        )


@dataclass(frozen=True, eq=False)
class RulePlaces(Places):
    """Several points of a Tsetlin machine."""

    all: tuple[RulePlace, ...]

    @classmethod
    def of(cls, recourse: Recourse, points: Sequence[Asked]) -> RulePlaces:
        """Ask the model's clauses about points."""
        clauses = recourse.model.clauses()
        cells = recourse.score.grid.cells(np.array([codes for _, _, codes, _, _ in points]))
        confidence = recourse.score.at(cells).tolist()
        firing = recourse.model.machine_.firing_at(cells)
        holds, true = clauses.hold(cells), clauses.true(cells)
        tightens = np.clip(1.0 - (firing + clauses.empty), 0.0, 1.0)
        told = zip(
            points, confidence, confidence, firing, cells, holds, tightens, true, strict=True
        )
        return cls(recourse, tuple(RulePlace(*point, *more) for point, *more in told))

    def explain(self, start: Place, end: Place, fragile: float) -> Explanation:
        """Explain the change in confidence; with a calibrator the raw shares have a factor."""
        assert isinstance(start, RulePlace)
        assert isinstance(end, RulePlace)
        raw = split(self.recourse.model, start.cells, end.cells)
        sign = 1.0 if self.recourse.wanted_at == 1 else -1.0
        moved = sign * float(raw.terms.sum())
        factor = 1.0
        if self.recourse.model.calibrator_ is not None and abs(moved) >= STILL:
            factor = (end.confidence - start.confidence) / moved
        shares = Shares(sign * raw.terms, sign * raw.features)
        return RuleExplanation(self, start, end, shares, factor, fragile)

    @cached_property
    def clauses(self) -> Clauses:
        """The model's clauses, in the words of the person's schema."""
        made: Clauses = self.recourse.model.clauses()
        return made.worded(self.recourse.schema)

    @property
    def supports(self) -> Bools:
        """(C,): the clauses that vote for the wanted class, and move its confidence."""
        votes_for = (self.clauses.polarity > 0) == (self.recourse.wanted_at == 1)
        return np.asarray(votes_for & self.clauses.link.counts)

    def table(self) -> pd.DataFrame:
        """Clause × point: firing probabilities, and in the last row that no clause fires."""
        index = pd.Index([*range(len(self.clauses.empty)), "none fires"], name="clause")
        columns = {place.name: [*place.firing, place.silence] for place in self.all}
        return pd.DataFrame(columns, index=index)

    @cached_property
    def without(self) -> dict[str, Floats]:
        """Confidence at each point if a clause were silent there, for each clause."""
        q = np.array([place.firing for place in self.all])
        raw = self.clauses.link.without(q)
        yes = self.recourse.model.machine_.calibrated(raw.ravel()).reshape(q.shape)
        confidence = of_class(yes, self.recourse.wanted_at)
        return {place.name: row for place, row in zip(self.all, confidence, strict=True)}

    def tightenings(self, place: RulePlace, fragile: float = FRAGILE) -> list[Tightening]:
        """What may silence the clauses that carry a point and vote for it, the likeliest first."""
        clauses, names, found = self.clauses, self.clauses.names, []
        carry = place.holds & self.supports & (place.tightens >= fragile)
        likely = ~place.true & (clauses.inclusion >= NAMED)
        for j, k in np.argwhere(carry[:, None] & likely).tolist():
            carried = [each for each in self.all[1:] if each.holds[j]]
            then = {p.name: float(self.without[p.name][j]) for p in carried if not p.true[k]}
            targets = {p.name: p.target for p in carried if p.name in then and p.target}
            missed = tuple(name for name, of in targets.items() if not of.met(then[name]))
            spared = tuple(p.name for p in carried if p.true[k])
            probability = float(clauses.inclusion[j, k])
            found.append(Tightening(j, names[k], probability, then, spared, missed))
        return sorted(found, key=lambda each: -each.probability)


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


def split(model: Any, a: Cells, b: Cells) -> Shares:
    """Split the change of M(`classes_[1]`) between two rows of cells over clauses and features.

    >>> import numpy as np
    >>> from trust_recourse import PTMClassifier, haberman
    >>> X, y = haberman()
    >>> model = PTMClassifier(epochs=5, random_state=0).fit(X, y)
    >>> a, b = model.machine_.grid.cells(model.schema_.encode(X.iloc[:2]))
    >>> change = float(np.diff(model.raw_confidence(X.iloc[:2]))[0])
    >>> abs(float(split(model, a, b).terms.sum()) - change) < 1e-9
    True
    """
    clauses, both = model.clauses(), np.stack([a, b])
    q = model.machine_.firing_at(both)
    mean_slope = clauses.link.mean_slopes(*q)
    features = mean_slope * by_feature(*clauses.factors_at(both))
    return Shares(mean_slope * (q[1] - q[0]), features.T)


def feature_shares(model: Any, wanted: int, own: Floats, others: Floats) -> Floats:
    """(N, F): each feature's share in the change of the score from one row of codes to each other.

    The score is the raw confidence of a machine, or the sum of its terms of any other model; it is
    that of the class at `wanted`. A row's shares add up to what its score is more.
    """
    if not hasattr(model, "clauses"):
        parts = model.parts_of(wanted)
        return np.array([parts.shares(own, row).sum(axis=0) for row in others])
    a, *rest = model.machine_.grid.cells(np.concatenate([own[None], others]))
    sign = 1.0 if wanted == 1 else -1.0
    return np.array([sign * split(model, a, b).features.sum(axis=0) for b in rest])
