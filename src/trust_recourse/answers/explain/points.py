"""Points of one model, and what its clauses do there: which carry a point, which may fall silent.

A clause *carries* a point if what it states holds there. It would fall silent there if a literal
that is false at the point belonged to it: the chance of any is how likely it is to *tighten*, and a
clause that carries a point and tightens with at least the chance `FRAGILE` is *fragile* there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.answers.explain.explanation import (
    FRAGILE,
    STILL,
    Asked,
    Explanation,
    Place,
    Places,
)
from trust_recourse.answers.explain.shares import Floats, Shares, split
from trust_recourse.io.wording import floored
from trust_recourse.models.seam import of_class

if TYPE_CHECKING:
    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.io.arrays import Bools, Cells
    from trust_recourse.models.tsetlin.clauses import Clauses

NAMED = 0.01  # literals that belong to a clause less likely are not named


@dataclass(frozen=True, eq=False)
class RulePlace(Place):
    """A point, and what the model's clauses do there."""

    cells: Cells
    firing: Floats  # (C,) q_j
    holds: Bools  # (C,) whether a clause carries this point
    tightens: Floats  # (C,) the chance that some literal false here belongs to the clause
    true: Bools  # (2o,) which literals hold here

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
        told = zip(points, confidence, cells, firing, holds, tightens, true, strict=True)
        return cls(recourse, tuple(RulePlace(*point, *more) for point, *more in told))

    def explain(self, start: Place, end: Place, fragile: float) -> Explanation:
        """Explain the change from one of the points to another."""
        from trust_recourse.answers.explain.rules import RuleExplanation

        assert isinstance(start, RulePlace)
        assert isinstance(end, RulePlace)
        return RuleExplanation(self, start, end, *self.shares(start, end), fragile)

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

    def shares(self, start: RulePlace, end: RulePlace) -> tuple[Shares, float]:
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
        """Confidence at each point if a clause were silent there, for each clause."""
        q = np.array([place.firing for place in self.all])
        raw = self.clauses.link.without(q)
        yes = self.recourse.model.machine_.calibrated(raw.ravel()).reshape(q.shape)
        confidence = of_class(yes, self.recourse.wanted_at)
        return {place.name: row for place, row in zip(self.all, confidence, strict=True)}

    def tightenings(self, place: RulePlace, fragile: float = FRAGILE) -> list[Tightening]:
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
