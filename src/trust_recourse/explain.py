"""Why: the change in confidence between two points, split over features, clauses and automata.

M is multilinear in the clauses' firing probabilities q_j, so its change from a to b splits exactly:

    share_j = (q_j(b) − q_j(a)) · D_j,   D_j = ∫₀¹ ∂M/∂q_j along the straight path in q

the Aumann–Shapley value of "clause j moves from a to b". Along the path ∂M/∂q_j is a polynomial of
degree at most C', the number of clauses that change, so Gauss–Legendre with ⌊C'/2⌋ + 1 nodes is
exact. q_j + E_j is a product over features, whose change splits by the logarithmic mean Λ_j:

    share_jf = D_j · Λ_j · log(F_jf(b) / F_jf(a))

Shares are of the raw confidence. With a calibrator they are scaled to the calibrated change; where
that says little, because the raw confidence hardly moves or the calibrated one has a plateau or a
jump there, people are shown the raw shares.

A clause *carries* a point if what it states holds there. It would fall silent there if a literal
that is false at the point belonged to it: the chance of any is how likely it is to *tighten*, and a
clause that carries a point and tightens with at least the chance `FRAGILE` is *fragile* there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.problem import Target, as_told, wanted_confidence
from trust_recourse.schema.values import floored, percent, plain, signed

if TYPE_CHECKING:
    from trust_recourse.recourse import Recourse
    from trust_recourse.tsetlin.clauses import Bools, Cells, Clauses

Floats = NDArray[np.float64]

FRAGILE = 0.1  # a clause that tightens at least this likely is fragile
NAMED = 0.01  # literals that belong to a clause less likely are not named
STILL = 1e-12  # a raw confidence that moves less does not move
SAME = 1e-9  # costs and distances this near are equal
STEEP = 10.0  # a calibrator that stretches the raw change further has a jump there
SHOWN = 5  # rules told one by one; the others are added up
NAMES = 3  # literals named that may silence a rule


# ---------------------------------------------------------------- the mathematics


class Shares(NamedTuple):
    """The change of M(`classes_[1]`) from a to b, split exactly."""

    clauses: Floats  # (C,)
    features: Floats  # (F, C), adding up to the clauses' shares


def split(model: Any, a: Cells, b: Cells) -> Shares:
    """Split the change of the raw confidence between two rows of cells over clauses and features.

    >>> import numpy as np
    >>> from trust_recourse import PTMClassifier, haberman
    >>> X, y = haberman()
    >>> model = PTMClassifier(epochs=5, random_state=0).fit(X, y)
    >>> a, b = model.cells_of(model.schema_.encode(X.iloc[:2]))
    >>> change = float(np.diff(model.raw_confidence(X.iloc[:2]))[0])
    >>> abs(float(split(model, a, b).clauses.sum()) - change) < 1e-9
    True
    """
    clauses, both = model.clauses(), np.stack([a, b])
    q = model.firing_at(both)
    moved = q[1] - q[0]
    nodes, weights = _path(int(np.count_nonzero(moved)) // 2 + 1)
    mean_slope = weights @ clauses.slopes(q[0] + nodes[:, None] * moved)
    return Shares(mean_slope * moved, mean_slope * _by_feature(*clauses.factors_at(both)))


@lru_cache(maxsize=256)
def _path(n: int) -> tuple[Floats, Floats]:
    """Gauss–Legendre nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1.0) / 2.0, w / 2.0


def _by_feature(a: Floats, b: Floats) -> Floats:
    """The change of each column's product, split over its rows by the logarithmic mean.

    Where a product falls to 0, or rises from it, the rows that do share it evenly: the limit.

    >>> _by_feature(np.array([[0.5], [0.8]]), np.array([[0.5], [0.4]])).round(3)
    array([[ 0. ],
           [-0.2]])
    >>> _by_feature(np.array([[0.5], [0.8]]), np.array([[0.0], [0.0]])).round(3)
    array([[-0.2],
           [-0.2]])
    """
    before, after = a.prod(axis=0), b.prod(axis=0)
    none = (a == 0.0) ^ (b == 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(b) - np.log(a)
        total = np.log(after) - np.log(before)
        mean = np.where(np.abs(total) < 1e-9, (before + after) / 2.0, (after - before) / total)
        smooth = mean * logs
        evenly = (after - before) * none / none.sum(axis=0)
    touched = (before == 0.0) | (after == 0.0)
    return np.where(touched, np.where(none, evenly, 0.0), smooth)


# ---------------------------------------------------------------- points


@dataclass(frozen=True, eq=False)
class Place:
    """Where a person is, or could be, and what the model's clauses do there."""

    name: str  # "as they are", "option 1", …
    x: pd.Series[Any]
    target: Target | None  # none was asked of the person as they are
    cost: float
    confidence: float  # of the wanted class
    cells: Cells
    firing: Floats  # (C,) q_j
    holds: Bools  # (C,) whether a clause carries this point
    tightens: Floats  # (C,) the chance that some literal false here belongs to the clause
    true: Bools  # (2o,) which literals hold here

    @property
    def silence(self) -> float:
        """The probability that no clause fires: confidence that rests on it is not support."""
        return float(np.prod(1.0 - self.firing))

    def told(self, threshold: float) -> str:
        """Its confidence for people."""
        return as_told(self.confidence, threshold, self.target)


def places(recourse: Recourse, points: Sequence[tuple[str, Any, Target | None, float]]) -> Places:
    """Ask the model's clauses about points, given as (name, x, target, cost)."""
    if not hasattr(recourse.model, "clauses"):
        raise TypeError(
            "explanations by rules need a PTMClassifier or TMClassifier; this model is "
            f"{type(recourse.model).__name__}"
        )
    clauses = recourse.model.clauses()
    codes = np.array([recourse.schema.reach(x).own for _, x, _, _ in points])
    cells = recourse.model.cells_of(codes)
    confidence = wanted_confidence(recourse.model.confidence_at(cells), recourse.wanted_at)
    firing = recourse.model.firing_at(cells)
    holds, true = clauses.hold(cells), clauses.true(cells)
    tightens = np.clip(1.0 - (firing + clauses.empty), 0.0, 1.0)
    return Places(
        recourse,
        tuple(
            Place(
                name, x, target, cost, float(confidence[i]), cells[i], firing[i],
                holds[i], tightens[i], true[i],
            )
            for i, (name, x, target, cost) in enumerate(points)
        ),
    )  # fmt: skip


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
class Places:
    """Several points of one model; the first is the person as they are."""

    recourse: Recourse
    all: tuple[Place, ...]

    @cached_property
    def clauses(self) -> Clauses:
        """The model's clauses, in the words of the person's schema."""
        made: Clauses = self.recourse.model.clauses()
        return made.worded(self.recourse.schema)

    @property
    def supports(self) -> Bools:
        """(C,): the clauses that vote for the wanted class."""
        return np.asarray((self.clauses.polarity > 0) == (self.recourse.wanted_at == 1))

    def table(self) -> pd.DataFrame:
        """Clause × point: firing probabilities, and in the last row that no clause fires."""
        index = pd.Index([*range(len(self.clauses.empty)), "none fires"], name="clause")
        columns = {place.name: [*place.firing, place.silence] for place in self.all}
        return pd.DataFrame(columns, index=index)

    def shares(self, start: Place, end: Place) -> tuple[Shares, float]:
        """The change in raw confidence between two points, split, and what scales it.

        The factor turns the shares into those of the calibrated confidence; it is 1 if there is no
        calibrator, or if the raw confidence does not move.
        """
        raw = split(self.recourse.model, start.cells, end.cells)
        sign = 1.0 if self.recourse.wanted_at == 1 else -1.0
        moved = sign * float(raw.clauses.sum())
        factor = 1.0
        if self.recourse.model.calibrator_ is not None and abs(moved) >= STILL:
            factor = (end.confidence - start.confidence) / moved
        return Shares(sign * raw.clauses, sign * raw.features), factor

    @cached_property
    def without(self) -> dict[str, Floats]:
        """Confidence at each point if a clause were silent there, for each clause.

        M is linear in each q_j, so that takes q_j times its slope away.
        """
        model, q = self.recourse.model, np.array([place.firing for place in self.all])
        raw = model.raw_confidence_from(q)[:, None] - q * self.clauses.slopes(q)
        yes = model.calibrated(np.clip(raw, 0.0, 1.0).ravel()).reshape(q.shape)
        confidence = wanted_confidence(yes, self.recourse.wanted_at)
        return {place.name: row for place, row in zip(self.all, confidence, strict=True)}

    def tightenings(self, place: Place, fragile: float = FRAGILE) -> list[Tightening]:
        """What may silence the clauses that carry a point and vote for it, the likeliest first."""
        clauses = self.clauses
        carry = place.holds & self.supports & (place.tightens >= fragile)
        likely = ~place.true & (clauses.inclusion >= NAMED)
        found = [self._tightening(int(j), int(k)) for j, k in np.argwhere(carry[:, None] & likely)]
        return sorted(found, key=lambda each: -each.probability)

    def _tightening(self, j: int, k: int) -> Tightening:
        carried = [place for place in self.all[1:] if place.holds[j]]
        broken = [place.name for place in carried if not place.true[k]]
        then = {name: float(self.without[name][j]) for name in broken}
        return Tightening(
            j,
            self.clauses.names[k],
            float(self.clauses.inclusion[j, k]),
            breaks=then,
            spares=tuple(place.name for place in carried if place.true[k]),
            misses=tuple(
                place.name
                for place in carried
                if place.name in then and place.target and not place.target.met(then[place.name])
            ),
        )


# ---------------------------------------------------------------- one change, explained


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
        codes = self.points.recourse.schema.reach(self.end.x).own
        room = literals.limits - codes[literals.owners]
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
            f"{self.start.name} → {self.end.name}: confidence {self.start.told(self._line)} → "
            f"{self.end.told(self._line)} ({signed(self.change)})"
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
            then = f"confidence {self.end.told(self._line)} → {floored(without[j])}"
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


def _listed(numbers: Any) -> str:
    return ", ".join(str(int(j)) for j in numbers) or "none"


def _told(place: Place) -> dict[str, Any]:
    return {
        "name": place.name,
        "x": {name: plain(value) for name, value in place.x.items()},
        "target": None if place.target is None else place.target.confidence,
        "confidence": place.confidence,
        "cost": place.cost,
        "none_fires": place.silence,
    }


# ---------------------------------------------------------------- two options, side by side


class Measured(NamedTuple):
    """An option on every count; the names are those that people read."""

    cost: float
    changes: dict[str, str]  # feature → "9 → 2"
    confidence: float
    radius: float  # certified, in scaled units; infinite if the decision is lost nowhere
    noise: float  # the probability that noise leaves the decision as it is
    noise_error: float
    carrying: tuple[int, ...]  # rules for the wanted class whose statement holds
    fragile: tuple[int, ...]  # those of them that may tighten
    silence: float

    @property
    def firm(self) -> int:
        """How many rules carry it that are not fragile."""
        return len(self.carrying) - len(self.fragile)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two options side by side, why their confidence differs, and what the dearer one buys."""

    explanation: Explanation  # from the first to the second
    measured: tuple[Measured, Measured]
    sigma: float

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        return self.explanation.start.name, self.explanation.end.name

    @property
    def sentence(self) -> str:
        """What the dearer one buys, and what it gives up."""
        (cheap, cheaper), (dear, dearer) = sorted(
            zip(self.names, self.measured, strict=True), key=lambda each: each[1].cost
        )
        if cheaper.changes == dearer.changes:
            return f"{cheap} and {dear} are the same change."
        more = dearer.cost - cheaper.cost
        share = f" (+{more / cheaper.cost:.0%})" if cheaper.cost > 0 else ""
        better, worse = _gains(cheaper, dearer)
        costs = "costs the same as" if more < SAME else f"costs {more:.4g} more{share} than"
        against = f"; against it speaks {_and(worse)}" if worse else ""
        if better:
            none = "" if worse else ", and is worse in nothing measured here"
            return f"{dear} {costs} {cheap}; for that it buys {_and(better)}{none}{against}."
        if more < SAME and not worse:
            return f"{dear} {costs} {cheap} and is its equal in all that is measured here."
        return f"{dear} {costs} {cheap} and buys nothing measured here{against}: not worth it."

    def to_frame(self) -> pd.DataFrame:
        """One column per option, one row per count."""
        index = pd.Index(Measured._fields, name="measure")
        columns = dict(zip(self.names, map(list, self.measured), strict=True))
        return pd.DataFrame(columns, index=index, dtype=object)

    def words(self) -> pd.DataFrame:
        """The same as `to_frame`, written for people: a row for each feature that changes."""
        why = self.explanation
        features = dict.fromkeys(name for each in self.measured for name in each.changes)
        rows = {
            "cost": [f"{each.cost:.4g}" for each in self.measured],
            **{
                name: [each.changes.get(name, "as it is") for each in self.measured]
                for name in features
            },
            "confidence": [place.told(why._line) for place in (why.start, why.end)],
            "certified radius": [_radius(each.radius) for each in self.measured],
            f"a yes under noise {self.sigma:g}": [_noise(each) for each in self.measured],
            "carrying rules": [_listed(each.carrying) for each in self.measured],
            "fragile rules": [_listed(each.fragile) for each in self.measured],
            "no rule fires": [f"{each.silence:.3f}" for each in self.measured],
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(self.names))

    def __repr__(self) -> str:
        return "\n".join([self.words().to_string(), self.sentence, "", repr(self.explanation)])

    def _repr_html_(self) -> str:
        table, why = self.words().to_html(), self.explanation._repr_html_()
        return f"{table}<p><b>{escape(self.sentence)}</b></p>{why}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        options = {
            name: each._asdict() | {"radius": each.radius if each.radius < math.inf else None}
            for name, each in zip(self.names, self.measured, strict=True)
        }
        return {
            "options": options,
            "sigma": self.sigma,
            "sentence": self.sentence,
            "explanation": self.explanation.to_dict(),
        }

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)


def _gains(cheaper: Measured, dearer: Measured) -> tuple[list[str], list[str]]:
    """Where the dearer option is better, and where it is worse, beyond what is shown as equal."""
    unsure = cheaper.noise_error + dearer.noise_error
    counts: tuple[
        tuple[str, str, float, float, float, Callable[[Any], str]], ...
    ] = (  # wanted: more or less of it; the two; what counts as equal; how it is written
        ("more", "confidence", cheaper.confidence, dearer.confidence, 5e-4, floored),
        ("more", "certified radius", cheaper.radius, dearer.radius, SAME, "{:.3g}".format),
        ("more", "safety under noise", cheaper.noise, dearer.noise, max(5e-4, unsure), percent),
        ("more", "rules that carry it firmly", cheaper.firm, dearer.firm, 0, str),
        ("less", "fragile rules", len(cheaper.fragile), len(dearer.fragile), 0, str),
        (
            "less",
            "chance that no rule fires",
            cheaper.silence,
            dearer.silence,
            5e-4,
            "{:.3f}".format,
        ),
    )
    better: list[str] = []
    worse: list[str] = []
    for wanted, name, a, b, equal, form in counts:
        if a != b and abs(b - a) > equal:
            got = "more" if b > a else "less"
            told = f"{'fewer' if got == 'less' and form is str else got} {name}"
            (better if got == wanted else worse).append(f"{told} ({form(a)} → {form(b)})")
    return better, worse


def _radius(radius: float) -> str:
    return f"{radius:.4g}" if radius < math.inf else "never lost"


def _noise(each: Measured) -> str:
    error = f" ± {each.noise_error:.2%}" if each.noise_error >= 5e-5 else ""
    return f"{percent(each.noise, 2)}{error}"


def _and(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
