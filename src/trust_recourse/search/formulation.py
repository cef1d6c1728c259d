"""A `Problem` on the cells of a score: candidates, conditions and points, both ways.

The search works on candidates of each feature and on numbers of the kernel. This file lists the
candidates, builds the searches on them, and computes the codes, cost and confidence of what they
find again from the model. It knows the model only by its `Score`.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.regridding import common
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import CandidateRequest, Candidates, Condition, Reduction
from trust_recourse.question import SLACK, Point, Problem, Target
from trust_recourse.schema import ActionSet
from trust_recourse.schema.relations import equal, only
from trust_recourse.search.branch_and_bound import ROUNDING, BranchAndBound
from trust_recourse.search.candidates import candidates
from trust_recourse.search.counterexample import ABOVE, about
from trust_recourse.search.following import following
from trust_recourse.search.geometry import Neighbourhood, Robust

Scope = Literal["cheapest", "most_confident", "any"]  # of answers: which values are candidates

TERM, WAY, WHOLE = range(3)  # what a term of a relation ends: nothing, a way to keep one, all of it
FEW_GAINS = 32  # of a relation's values: of more, a peak of their gains is noted


class Clock:
    """The deadline of a search; its seconds count from the first time it is read."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds

    @cached_property
    def deadline(self) -> float:
        """When time is up, by `time.monotonic`."""
        return math.inf if self.seconds is None else time.monotonic() + self.seconds

    def restart(self, seconds: float) -> None:
        """Count so many seconds from now on."""
        self.deadline = time.monotonic() + seconds


@dataclass(frozen=True, eq=False)
class SecondConstraint:
    """One more condition: that another score is at least so much, too.

    `met` decides whether the codes of a point fulfil it.
    """

    score: Score
    least: float
    met: Callable[[Floats], bool]

    def on(self, features: Sequence[Candidates]) -> Condition:
        """The condition on candidates, in cells of its own score."""
        score = self.score.on(features)
        if score is None:
            score = self.score
            each = (score.grid.cells_in(f, of.codes) for f, of in enumerate(features))
            cells = np.concatenate([*each]).astype(np.int64)
        else:
            cells = about(score, features).cells
        low, high = score.interval(self.least, math.inf)
        ends = (low - ROUNDING, 2.0) if score.rises else (-1.0, high + ROUNDING)
        return Condition(score, *ends, 1 if score.rises else -1, cells)


class Formulation:
    """One problem on one class's score."""

    def __init__(
        self,
        score: Score,
        problem: Problem,
        clock: Clock,
        *,
        robust: Robust | None = None,
        second: SecondConstraint | None = None,
        scope: Scope = "cheapest",
    ) -> None:
        self.score, self.problem, self.clock = score, problem, clock
        self.robust, self.second, self.scope = robust, second, scope
        self.side = 1 if score.rises else -1  # which way the kernel's number goes with confidence
        self.around = None if robust is None else Neighbourhood(score, problem, robust)
        self._intervals: dict[Score, tuple[float, float, int]] = {}

    def of(self, target: Target) -> Formulation:
        """The same for another target, on the values that are listed already: not for `any`."""
        _ = self.whole, self.clock.deadline
        other = copy(self)
        other.problem, other._intervals = replace(self.problem, target=target), {}
        return other

    # ------------------------------------------------------------ candidates

    @cached_property
    def listed(self) -> Reduction:
        """The candidates of each feature, and the score on their cells: its own, or of the values.

        With a second constraint they are the cheapest in the cells that both scores tell apart.
        """
        problem, second, grid = self.problem, self.second, self.score.grid
        if self.around is None:
            sloped = {*self.score.sloped, *(() if second is None else second.score.sloped)}
            found = candidates(self._grid, problem.action_set, problem.cost, sloped)
            if second is not None:
                found = [c._replace(cells=grid.cells_in(f, c.codes)) for f, c in enumerate(found)]
        else:
            found = [piece.candidates for piece in self.around.pieces]
        rising = problem.target.mode == "at_least" or self.scope == "most_confident"
        rising = rising and second is None  # of two scores what lowers one may raise the other
        accept = self.answers if self.scope == "cheapest" else None
        room = None if self.around is None else (self.around.rooms, self.around.robust.floor)
        request = CandidateRequest(
            *problem.target.interval, rising and self.scope != "any", accept, room
        )
        listed = self.score.listed(found, problem.action_set, problem.cost, request)
        return Reduction(found, self.score) if listed is None else listed

    @cached_property
    def _grid(self) -> Grid:
        """The cells on which all that is asked is constant."""
        grid = self.score.grid
        return grid if self.second is None else common([grid, self.second.score.grid])

    # ------------------------------------------------------------ searches

    @cached_property
    def whole(self) -> BranchAndBound:
        """The search over all candidates."""
        return self.search(self.listed, self.around)

    def search(self, within: Reduction, around: Neighbourhood | None = None) -> BranchAndBound:
        """The search over candidates, of which those around an answer may be asked about, too.

        A candidate of a derived column stands for what lies in its cell, or for itself.
        """
        features, score, action_set, own = *within[:2], self.problem.action_set, None
        conditions = [about(score, features)]
        if self.second is not None:
            conditions.append(self.second.on(features))
        if around is not None:
            worst = self.score.worst(features, around.rooms)
            floor, own = around.condition(score, worst, self.side, conditions[0].cells)
            conditions.append(floor)
        grid = self._grid if self.around is None or self.score.lists else self.around.grid
        follows = following(
            action_set, features, grid, action_set.follows, self.listed.features,
            self.score.sloped,
        )  # fmt: skip
        return BranchAndBound(
            features,
            conditions,
            relations=_relations(action_set, features) if action_set.relations else None,
            following=follows,
            mine=own,
            deadline=self.clock.deadline,
        )

    def reduced(
        self,
        within: Reduction,
        incumbent: float,
        accept: Callable[[Floats], bool] | None = None,
    ) -> Reduction | None:
        """A smaller question with the same answers that cost no more than the incumbent."""
        features, score = within.features, within.score
        low, high, side = self.interval(score)
        asked = about(score, features)._replace(low=low, high=high, side=side)
        schema = self.problem.action_set.schema
        related = frozenset(map(schema.position, self.problem.cost.related(schema)))
        if self.second is not None:  # which looks at all values
            related = frozenset(range(len(schema)))
        found = score.reduce(
            features, asked, incumbent, related, accept or self.answers, self.clock.deadline
        )
        if found is not None and not all(len(each.codes) for each in found.features):
            raise ValueError("the score's reduce() left a feature without any value")
        return found

    # ------------------------------------------------------------ confidences and numbers

    def interval(self, score: Score) -> tuple[float, float, int]:
        """The target as an interval of a score's numbers, and the side to get there from."""
        if score not in self._intervals:
            own = self.evaluated(self.problem.action_set.own, 0.0).confidence
            least, most = self.problem.target.interval
            low, high = score.interval(least, most)
            if most == math.inf:  # there is no end, whatever numbers there are
                low, high = (low, 2.0) if score.rises else (-1.0, high)
            self._intervals[score] = low, high, 1 if (own < least) == score.rises else -1
        return self._intervals[score]

    def beyond(self, confidence: float, levels: Sequence[float] = ()) -> float:
        """What goes beyond a confidence goes beyond this on the model's own scale.

        The search looks only past what rounding may add to it. Where a calibrator rises within
        that, or one of the ascending levels lies there, such points must still be looked at.
        """
        raw, further = (self.number(each) for each in (confidence, confidence + SLACK))
        room = self.side * 3 * ABOVE
        raw = raw - room if abs(further - raw) <= 6 * ABOVE else raw
        level = next_level(levels, confidence)
        if level == math.inf:
            return raw
        line = self.listed.score.interval(level, math.inf)[0 if self.score.rises else 1] - room
        return min(raw, line) if self.side > 0 else max(raw, line)

    def number(self, confidence: float) -> float:
        """The last of the kernel's numbers, towards more confidence, with no more than this."""
        return self.listed.score.interval(-1.0, confidence)[1 if self.score.rises else 0]

    def confidence(self, number: float) -> float:
        """The confidence that stands for one of the kernel's numbers."""
        return float(self.listed.score.confidence(np.array(min(max(number, 0.0), 1.0))))

    # ------------------------------------------------------------ points

    def point(self, search: BranchAndBound, at: Ints) -> Point:
        """The point of a search's candidates."""
        codes = self.problem.action_set.completed(search.codes_of(at))
        return self.evaluated(codes, self.problem.cost.total(search.cost_of(at)))

    def at(self, codes: Floats) -> Point:
        """The point of a row of codes that was found elsewhere."""
        action_set, cost = self.problem.action_set, self.problem.cost
        codes = action_set.completed(codes)
        features = action_set.schema.features
        return self.evaluated(codes, cost.between(features, action_set.own, codes))

    def evaluated(self, codes: Floats, cost: float) -> Point:
        """The point of complete codes, with the model's own confidence."""
        return Point(codes, cost, float(self.score.at_codes(codes[None])[0]))

    def accepts(self, point: Point, at: Ints) -> bool:
        """Whether a point of these candidates is an answer."""
        return (
            self.problem.target.met(point.confidence)
            and self.problem.action_set.allows(point.codes)
            and (self.around is None or self.around.holds(point.codes, at, self.clock.deadline))
            and (self.second is None or self.second.met(point.codes))
        )

    def answers(self, codes: Floats) -> bool:
        """Whether codes are an answer, by the model's own confidence."""
        point = self.evaluated(self.problem.action_set.completed(codes), 0.0)
        return self.accepts(point, np.empty(0, np.int64))


def next_level(levels: Sequence[float], confidence: float) -> float:
    """The first of the ascending levels above a confidence; ∞ if there is none."""
    at = bisect_right(levels, confidence)
    return levels[at] if at < len(levels) else math.inf


# ---------------------------------------------------------------- relations


def _relations(action_set: ActionSet, features: Sequence[Candidates]) -> tuple[Ints, Floats]:
    """The relations of a schema as the loop reads them: see `src/native/relations.hpp`."""
    terms: list[list[int]] = []
    gains: list[Floats] = []
    first = 0
    for relation in action_set.relations:
        at = [*map(action_set.schema.position, relation.names)]
        before, box = action_set.own[at].tolist(), [features[f].codes for f in at]
        ways = [*relation.ways(before, box)]
        if not ways:
            continue
        # whoever changes nothing at all need not keep it
        stays = [only(equal(codes, own)) for codes, own in zip(box, before, strict=True)]
        for way in (*ways, stays):
            for f, gain in zip(at, way, strict=True):
                terms.append([f, first, _peak(gain), TERM])
                gains.append(gain)
                first += len(gain)
            terms[-1][-1] = WAY
        terms[-1][-1] = WHOLE
    return np.array(terms, np.int64).ravel(), np.concatenate([*gains, np.empty(0)])


def _peak(gains: Floats) -> int:
    """Where gains that rise and then fall are greatest; −1 where they do not, or are few."""
    if len(gains) <= FEW_GAINS:
        return -1
    at = int(gains.argmax())
    rises, falls = gains[:at] <= gains[1 : at + 1], gains[at:-1] >= gains[at + 1 :]
    return at if rises.all() and falls.all() else -1
