"""The exact engine: the cheapest change that reaches a confidence, with proof.

On a product of cells the model is constant, so in each cell only a feature's cheapest allowed value
matters, and the question is over finitely many boxes of cells, which `branch_and_bound` searches.
A `Formulation` has the candidates, conditions and points; this file has the questions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from trust_recourse.io import cancel
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import Reduction
from trust_recourse.question import Point, Problem, Target
from trust_recourse.question.cost import theirs
from trust_recourse.search.branch_and_bound import (
    EQUAL,
    ROUNDING,
    Accept,
    BranchAndBound,
    Found,
    Splits,
    strict,
)
from trust_recourse.search.candidates import in_a_row
from trust_recourse.search.counterexample import ABOVE
from trust_recourse.search.formulation import (
    Clock,
    Formulation,
    Scope,
    SecondConstraint,
    next_level,
)
from trust_recourse.search.geometry import Robust

Keep = Callable[[Point], bool]

TIED = 1e-14  # costs this close, relatively, differ by the rounding of their sums
MOST_RISES = 4096  # values of all features together: of more, the best single change is not sought
AGAIN = 0.98  # of the cost of a known answer: one that costs less is worth to reduce by again


class Answer(NamedTuple):
    """What a search ended with: `lower_bound` is what every other answer costs at least."""

    point: Point | None
    lower_bound: float
    stopped: bool  # whether a limit ended it before it was complete
    nodes: int


class Traced(NamedTuple):
    """How a search ruled out all that is cheaper: see `certificate.Proof`."""

    candidates: tuple[Floats, ...]
    tree: Splits  # its memory are the functions of the model's reader of certificates
    steps: tuple[tuple[float, Floats], ...]  # a multiplier and a function each, by which cells go


class _Descent(NamedTuple):
    """How a descent ended: by bounds alone, or by the last of its searches."""

    point: Point | None
    shown: float  # what every cheaper answer costs at least, by the bounds of the reductions
    nodes: int
    search: BranchAndBound | None = None
    found: Found | None = None


class Exact:
    """One problem on one class's score."""

    def __init__(
        self,
        score: Score,
        problem: Problem,
        *,
        robust: Robust | None = None,
        second: SecondConstraint | None = None,
        scope: Scope = "cheapest",
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.asked = Formulation(
            score, problem, Clock(time_limit), robust=robust, second=second, scope=scope
        )
        self.node_limit = math.inf if node_limit is None else node_limit

    def about(self, problem: Problem, spent: int, share: float = 1.0) -> Exact:
        """The same for another problem, after so many boxes, with a share of the limits left."""
        asked, most = self.asked, share * (self.node_limit - spent)
        until = asked.clock.deadline
        return Exact(
            asked.score,
            problem,
            robust=asked.robust,
            second=asked.second,
            scope=asked.scope,
            node_limit=None if most == math.inf else int(most),
            time_limit=None if until == math.inf else max(share * (until - time.monotonic()), 0.0),
        )

    def limit(self, nodes: float, seconds: float) -> None:
        """Set new limits: boxes in all, and seconds from now on."""
        self.node_limit = nodes
        self.asked.clock.restart(seconds)

    def level(self, target: Target, spent: int) -> Exact:
        """The same for another target, on the values that are listed already: not for `any`."""
        other = copy(self)
        other.asked, other.node_limit = self.asked.of(target), self.node_limit - spent
        return other

    # ------------------------------------------------------------ the questions

    @strict
    def cheapest(
        self,
        keep: Keep | None = None,
        gap: float = 0.0,
        known: Point | None = None,
        within: Reduction | None = None,
    ) -> Answer:
        """The cheapest allowed point that meets the target, of those to keep.

        Only the cheapest points of the model's cells are asked about. With a gap the answer may
        cost up to that share more than the least. A `known` answer is given if none is cheaper; all
        that are lie `within` a smaller question, see `window`.
        """
        cancel.check()
        asked, cost = self.asked, self.problem.cost
        alone = keep is None and asked.robust is None and within is None
        if alone and asked.second is None and (solved := self._solved()) is not None:
            return solved
        factor = cost.before_root(1.0 + gap)
        end = self._descent(within or self.listed, known, factor, reduces=alone, keep=keep)
        most = math.inf if end.point is None else end.point.cost
        if end.found is None:
            return Answer(end.point, most, False, end.nodes)
        bound = min(cost.total(max(end.found.bound, end.shown)), most)
        return Answer(end.point, bound, end.found.stopped, end.nodes)

    @strict
    def frontier_point(self, known: Point | None, within: Reduction) -> Answer:
        """The most confident of the cheapest points that meet the target: one of the frontier.

        `known` is such a point that meets it, and the answer if nothing costs less; `within` holds
        all points that may be one.
        """
        end = self._descent(within, known, 1.0 / (1.0 + EQUAL), margin=EQUAL)
        point, stopped = end.point, end.found is not None and end.found.stopped
        if point is None or point is known or stopped or end.search is None:
            return Answer(point, math.inf, stopped, end.nodes)
        before, search, found = end.search.nodes, end.search, end.found
        point = self._most_confident(search, point, None if found is None else found.point)
        return Answer(point, point.cost, search.stopped, end.nodes - before + search.nodes)

    def _descent(
        self,
        within: Reduction,
        known: Point | None,
        factor: float,
        *,
        margin: float = 0.0,
        reduces: bool = True,
        keep: Keep | None = None,
    ) -> _Descent:
        """Reduce the question and search it, again for each much cheaper point that is found.

        It ends with a point that costs at most `factor` times the least. The known point stays
        unless another costs less by more than the margin, relatively.
        """
        asked, before = self.asked, self.problem.cost.before_root
        point, nodes, shown = known, 0, 0.0
        while True:
            most = math.inf if point is None else before(point.cost)
            fewer = asked.reduced(within, most) if reduces else None
            if fewer is not None:
                within, shown = fewer, max(shown, fewer.bound)
                met = None if fewer.codes is None else self.asked.at(fewer.codes)
                if met is not None and before(met.cost) < most * (1.0 - margin):
                    point, most = met, before(met.cost)
                if fewer.bound > most or fewer.bound == math.inf:  # nothing is left to look for
                    return _Descent(point, shown, nodes)
            search = self._search(within, nodes)
            # what costs as much as a known point is no answer; as any other point it may be
            search.cutoff = most * (1.0 - margin) if margin and point is known else most / factor
            met_by: list[Point] = []
            accept = self._accept(search, met_by, keep)
            much = -math.inf if fewer is None else most * AGAIN
            try:
                found = search.best(*asked.interval(within.score), accept, factor, much)
            except MemoryError:  # the search around a point ends undecided, so this one does
                found = Found(None, search.bound, stopped=True)
            point, nodes = met_by[-1] if met_by else point, nodes + search.nodes
            if not found.early:
                return _Descent(point, shown, nodes, search, found)

    def _accept(self, search: BranchAndBound, met: list[Point], keep: Keep | None = None) -> Accept:
        """Whether candidates are an answer to keep; such points are added to a list."""

        def accept(at: Ints) -> bool:
            point = self.asked.point(search, at)
            accepted = self.asked.accepts(point, at)
            if accepted and keep is not None:
                with theirs():
                    accepted = keep(point)
            if accepted:
                met.append(point)
            return accepted

        return accept

    def _most_confident(self, search: BranchAndBound, point: Point, found: Ints | None) -> Point:
        """The most confident point that costs as much as one, after the search for that."""
        action_set, most = self.problem.action_set, self.problem.cost.before_root(point.cost)
        for at in search.ties(found, most * (1.0 + EQUAL)):
            here = self.asked.point(search, at)
            if here.confidence > point.confidence + ABOVE and action_set.allows(here.codes):
                point = here
        return point

    def _solved(self) -> Answer | None:
        """The cheapest answer where the score has a search of its own."""
        action_set, target, cost = self.problem.action_set, self.problem.target, self.problem.cost
        more = bool(action_set.relations or action_set.schema.derived)
        more = more or any(each.hole for each in action_set.actions)
        if self.asked.scope != "cheapest" or target.mode != "at_least" or more:
            return None
        score = self.asked.score
        found = score.cheapest(
            lambda: in_a_row(score.grid, action_set, cost), action_set, cost,
            target.interval[0], self.node_limit,
        )  # fmt: skip
        if found is None or found.codes is None:
            return None if found is None else Answer(None, math.inf, False, found.nodes)
        point = self.asked.at(found.codes)
        if not self.asked.accepts(point, np.empty(0, np.int64)):
            return None
        return Answer(point, point.cost, False, found.nodes)

    @strict
    def window(self, known: Point) -> Reduction:
        """A smaller question with every point that meets the target and costs no more than one."""
        most = self.problem.cost.before_root(known.cost) * (1.0 + EQUAL)
        return self.asked.reduced(self.listed, most, lambda _: False) or self.listed

    @strict
    def frontier(self, levels: Sequence[float] = ()) -> list[Point]:
        """The Pareto frontier: each point the cheapest with more confidence than the one before.

        Confidences within rounding of each other count as one, unless one of the ascending levels
        lies between them: the cheapest point that meets a level to the last bit is on the frontier.
        """
        action_set, side, beyond = self.problem.action_set, self.asked.side, self.asked.beyond
        best = self.own
        points = [best]
        search = self._search(self.listed)
        now = beyond(best.confidence, levels) + side * 3 * ABOVE
        for at in search.stream(*((now, 2.0) if side > 0 else (-1.0, now)), side):
            point = self.asked.point(search, at)
            enough = min(
                next_level(levels, best.confidence), math.nextafter(best.confidence + ABOVE, 2)
            )
            if point.confidence < enough or not action_set.allows(point.codes):
                continue
            # of equal cost, the larger confidence stays
            while points and points[-1].cost >= point.cost * (1.0 - TIED):
                points.pop()
            points.append(point)
            best = point
            search.ask_more(beyond(best.confidence, levels))
        return points

    @strict
    def max_confidence(
        self, known: Floats | None = None, node_limit: float = math.inf
    ) -> tuple[Point, bool]:
        """The allowed point of greatest confidence, and whether a limit ended the search.

        The search starts from a `known` point. `ceiling` bounds the confidence of all points.
        """
        action_set, asked = self.problem.action_set, self.asked
        best = self.risen(action_set.own if known is None else known)
        search = self._search(self.listed)

        def reached(at: Ints) -> float | None:
            nonlocal best
            point = asked.point(search, at)
            if point.confidence <= best.confidence or not action_set.allows(point.codes):
                return None
            best = point
            return asked.beyond(best.confidence)

        search.node_limit = min(self.node_limit, node_limit)
        found = search.max_confidence(asked.side, reached, asked.beyond(best.confidence))
        return best, found.stopped

    @strict
    def some(self) -> Answer | None:
        """Any allowed point that meets the target, whatever it costs; None without reductions."""
        cancel.check()
        whole = self.asked.interval(self.listed.score)
        if whole[0] > whole[1]:  # no number has such a confidence
            return Answer(None, math.inf, False, 0)
        fewer = self.asked.reduced(self.listed, math.inf)
        if fewer is None:
            return None
        if fewer.codes is not None:
            return Answer(self.asked.at(fewer.codes), fewer.bound, False, 0)
        if fewer.bound == math.inf:
            return Answer(None, fewer.bound, False, 0)
        search, met = self._search(fewer), list[Point]()
        accept = self._accept(search, met)
        found = search.best(*self.asked.interval(fewer.score), accept, enough=math.inf)
        bound = self.problem.cost.total(found.bound)
        return Answer(met[-1] if met else None, bound, not met and found.stopped, search.nodes)

    def risen(self, start: Floats) -> Point:
        """Repeat the best allowed single change until none raises the confidence."""
        action_set, cost = self.problem.action_set, self.problem.cost
        features, own, asked = action_set.schema.features, action_set.own, self.asked
        best = asked.evaluated(start, cost.between(features, own, start))
        codes = np.concatenate([each.codes for each in self.listed.features])
        at = np.repeat(np.arange(len(features)), [len(c.codes) for c in self.listed.features])
        if len(codes) > MOST_RISES:
            return best
        while not self.late:
            cancel.check()
            rows = np.tile(best.codes, (len(codes), 1))
            rows[np.arange(len(codes)), at] = codes
            if action_set.follows:
                rows = np.array([action_set.completed(row) for row in rows])
            confidences = np.nan_to_num(asked.score.at_codes(rows), nan=-1.0)
            for k in np.argsort(-confidences, kind="stable"):
                if confidences[k] <= best.confidence:
                    return best
                if action_set.allows(rows[k]):
                    best = asked.evaluated(rows[k], cost.between(features, own, rows[k]))
                    break
            else:
                return best
        return best

    @strict
    def proof(self, lower_bound: float) -> Traced:
        """How it is shown that nothing cheaper meets the target: of less, where less may do.

        Raises TimeoutError at the time limit.
        """
        added = self.problem.cost.before_root(lower_bound)
        fewer = self.asked.reduced(self.listed, added) if added > 0 else None
        within = self.listed if fewer is None or fewer.steps is None else fewer
        search = self._search(within)
        accept = self._accept(search, [])
        tree = search.prove(*self.asked.interval(within.score), added, accept)
        cells = [each.cells.astype(np.int64) for each in within.features]
        price, functions = within.score.kernel.told(tree.price, tree.memory, cells)
        tree = tree._replace(price=price, memory=functions)
        codes = tuple(each.codes for each in within.features)
        return Traced(codes, tree, tuple(within.steps or ()))

    # ------------------------------------------------------------ what is known of a question

    @property
    def problem(self) -> Problem:
        """The problem that is asked."""
        return self.asked.problem

    @property
    def listed(self) -> Reduction:
        """The question with all its candidates, and the confidence on their cells."""
        return self.asked.listed

    @property
    def own(self) -> Point:
        """The person as they are."""
        return self.asked.evaluated(self.problem.action_set.own, 0.0)

    @property
    def nodes(self) -> int:
        """Boxes that the last search of all candidates opened."""
        return self.asked.whole.nodes

    @property
    def stopped(self) -> bool:
        """Whether a limit ended that search."""
        return self.asked.whole.stopped

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return time.monotonic() >= self.asked.clock.deadline

    @property
    def ceiling(self) -> float:
        """The confidence that no allowed point exceeds, by the last search for the greatest."""
        bound, side = self.asked.whole.bound, self.asked.side
        number = -bound if side > 0 else 1.0 + bound
        room = side * (self.listed.score.kernel.rounding + ROUNDING)
        return self.asked.confidence(number + room)

    def level_between(self, low: float, high: float, share: float) -> float:
        """The confidence at a share of the way between two, on the scale of the model's sums."""
        first, last = (self.asked.number(each) for each in (low, high))
        return self.asked.confidence(first + share * (last - first))

    def level_above(self, confidence: float) -> float:
        """The least confidence above another one that rounding cannot blur with it."""
        number = self.asked.beyond(confidence) + self.asked.side * 5 * ROUNDING
        return max(self.asked.confidence(number), math.nextafter(confidence, 2.0))

    def _search(self, within: Reduction, spent: int = 0) -> BranchAndBound:
        """The search of a question within the limits that are left after so many boxes."""
        asked = self.asked
        search = asked.whole if within.score is self.listed.score else asked.search(within)
        search.deadline, search.node_limit = asked.clock.deadline, self.node_limit - spent
        return search
