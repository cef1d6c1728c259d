"""Points of a Tsetlin machine of two classes: what its clauses do there, and how changes split.

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
    Shares,
)
from trust_recourse.io.arrays import Bools, Cells, Floats
from trust_recourse.io.wording import floored
from trust_recourse.models.log_mean import by_feature
from trust_recourse.models.seam import of_class

if TYPE_CHECKING:
    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.models.tsetlin.clauses import Clauses

NAMED = 0.01  # literals that belong to a clause less likely are not named


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
        from trust_recourse.answers.explain.rules import RuleExplanation

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
