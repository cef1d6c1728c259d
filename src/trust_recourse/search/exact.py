"""The exact engine: the cheapest change that reaches a confidence, with proof.

On a product of cells the model is constant, so in each cell only a feature's cheapest allowed value
matters, and the question is over finitely many boxes of cells, which `branch_and_bound` searches.
This file turns a `Problem` into that search and its findings back into codes, costs and
confidences, each recomputed from the model. It knows the model only by its `Score`.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np

from trust_recourse.io import cancel
from trust_recourse.models.regridding import common
from trust_recourse.models.seam import (
    Candidates,
    Condition,
    Floats,
    Grid,
    Ints,
    Reduction,
    Same,
    Score,
    Wish,
)
from trust_recourse.question.cost import theirs
from trust_recourse.question.question import SLACK, Point, Problem, Radius, Target
from trust_recourse.schema import ActionSet, Feature, Schema
from trust_recourse.schema.relations import equal, only
from trust_recourse.schema.steps import moved, multiple_below, steps_to
from trust_recourse.search.branch_and_bound import (
    ROUNDING,
    Accept,
    BranchAndBound,
    Found,
    Splits,
)
from trust_recourse.search.candidates import candidates, in_a_row
from trust_recourse.search.following import Following, following
from trust_recourse.search.loss import (
    ABOVE,
    Budget,
    UndecidedError,
    about,
    loss,
    refuse_unfinished,
)

Norm = Literal["linf", "l2", "l1"]
Scope = Literal["cheapest", "furthest", "any"]  # of answers, on which values to try depend
Keep = Callable[[Point], bool]

TERM, WAY, WHOLE = range(3)  # what a term of a relation ends: nothing, a way to keep one, all of it
FEW_GAINS = 32  # of a relation's values, likewise
TIED = 1e-14  # costs this close, relatively, differ by the rounding of their sums
EQUAL = 5e-13  # of a cost: what two ways of adding it up may differ by, with room to spare
MOST_RISES = 4096  # values of all features together: of more, the best single change is not sought
MOST_AWAY = 1e100  # of a distance: squares of such, and sums of them, are still finite
AGAIN = 0.98  # of the cost of a known answer: one that costs less is worth to reduce by again
FIRST_ROUND, MORE_BOXES = 8, 2  # boxes opened for each distance of a radius, and times as many
CLOSE = 1e-12  # edges closer than this, of the scale, are one

# arithmetic that leaves the numbers ends a search, before it proves anything by infinity
strict = np.errstate(over="raise", divide="raise", invalid="raise")


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


@dataclass(frozen=True)
class Robust:
    """Ask for the floor, a confidence of the wanted class, on the whole box of a radius."""

    radius: float  # in scaled units
    floor: float
    continuous: bool = False  # whether numbers move by fractions of their steps, too


@dataclass(frozen=True, eq=False)
class Beside:
    """One more condition: that another score is at least so much, too.

    At a point it is `met` by the word of whoever asks.
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


class Exact:
    """One problem on one class's score."""

    def __init__(
        self,
        score: Score,
        problem: Problem,
        *,
        robust: Robust | None = None,
        beside: Beside | None = None,
        scope: Scope = "cheapest",
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.score, self.problem, self.robust, self.scope = score, problem, robust, scope
        self.beside = beside
        self.side = 1 if score.rises else -1  # which way the kernel's number goes with confidence
        self.node_limit = math.inf if node_limit is None else node_limit
        self.time_limit = time_limit
        self._intervals: dict[Score, tuple[float, float, int]] = {}
        self._held: dict[
            tuple[tuple[int, int], ...], bool
        ] = {}  # boxes that keep the floor, or not

    def about(self, problem: Problem, spent: int, share: float = 1.0) -> Exact:
        """The same for another problem, after so many boxes, with a share of the limits left."""
        most, until = share * (self.node_limit - spent), self._deadline
        return Exact(
            self.score,
            problem,
            robust=self.robust,
            beside=self.beside,
            scope=self.scope,
            node_limit=None if most == math.inf else int(most),
            time_limit=None if until == math.inf else max(share * (until - time.monotonic()), 0.0),
        )

    def limit(self, nodes: float, seconds: float) -> None:
        """Set new limits: boxes in all, and seconds from now on."""
        self.node_limit = nodes
        self._deadline = time.monotonic() + seconds

    def level(self, target: Target, spent: int) -> Exact:
        """The same for another target, on the values that are listed already: not for `any`."""
        _ = self._search, self._deadline
        other = copy(self)
        other.problem, other._intervals = replace(self.problem, target=target), {}
        other.node_limit = self.node_limit - spent
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
        cost, alone = self.problem.cost, keep is None and self.robust is None and within is None
        if alone and self.beside is None and (at_once := self._at_once()) is not None:
            return at_once
        factor = cost.before_root(1.0 + gap)
        point = known
        nodes, shown, whole = 0, 0.0, within or Reduction(self.features, self.searched)
        features, score = whole.features, whole.score
        while True:
            most = math.inf if point is None else cost.before_root(point.cost)
            fewer = self._reduced(features, score, most, self.answers) if alone else None
            if fewer is not None:
                features, score, codes, _, bound = fewer
                shown = max(shown, bound)
                if codes is not None and (point is None or self.at(codes).cost < point.cost):
                    point = self.at(codes)
                    most = cost.before_root(point.cost)
                if shown > most or shown == math.inf:  # nothing is left to look for
                    return Answer(point, shown if point is None else point.cost, False, nodes)
            search = self._search
            if score is not self.searched:
                search = self._smaller(features, score)
                search.deadline, search.node_limit = self._deadline, self.node_limit - nodes

            def accept(at: Ints, search: BranchAndBound = search) -> bool:
                nonlocal point
                here = self._point(search, at)
                accepted = self._accepts(here, at)
                if accepted and keep is not None:
                    with theirs():
                        accepted = keep(here)
                point = here if accepted else point
                return accepted

            search.cutoff = most / factor
            much = -math.inf if fewer is None else most * AGAIN
            found = self._best(search, score, accept, factor, much)
            nodes += search.nodes
            if not found.early:
                break
        bound = cost.total(max(found.bound, shown))
        return Answer(
            point, bound if point is None else min(bound, point.cost), found.stopped, nodes
        )

    def _best(
        self, search: BranchAndBound, score: Score, accept: Accept, factor: float, much: float
    ) -> Found:
        """`search.best`; where the search around a point ends undecided, it ends there, too."""
        try:
            return search.best(*self._interval(score), accept, factor, much)
        except MemoryError:
            return Found(None, search.bound, stopped=True)

    @strict
    def window(self, known: Point) -> Reduction:
        """A smaller question with every point that meets the target and costs no more than one."""
        most = self.problem.cost.before_root(known.cost) * (1.0 + EQUAL)
        whole = Reduction(self.features, self.searched)
        return self._reduced(whole.features, whole.score, most, lambda _: False) or whole

    @strict
    def step(self, known: Point | None, within: Reduction) -> Answer:
        """The surest of the cheapest points that meet the target: a step of the staircase.

        `known` is a step that meets it, which is the answer if nothing costs less; `within` holds
        all points that may be one.
        """
        before, point, nodes = self.problem.cost.before_root, known, 0
        features, score = within.features, within.score
        while True:
            most = math.inf if point is None else before(point.cost)
            fewer = self._reduced(features, score, most, self.answers)
            if fewer is not None:
                features, score = fewer.features, fewer.score
                met = None if fewer.codes is None else self.at(fewer.codes)
                if met is not None and before(met.cost) < most * (1.0 - EQUAL):
                    point = met
                best = math.inf if point is None else before(point.cost)
                if fewer.bound > best or fewer.bound == math.inf:  # nothing is left to look for
                    return Answer(point, fewer.bound, False, nodes)
            search = self._search if score is self.searched else self._smaller(features, score)
            search.deadline, search.node_limit = self._deadline, self.node_limit - nodes
            # what costs as much as a step is none; what costs as much as any other point may be
            search.cutoff = most * (1.0 - EQUAL)
            if point is not None and point is not known:
                search.cutoff = before(point.cost) * (1.0 + EQUAL)

            def accept(at: Ints, search: BranchAndBound = search) -> bool:
                nonlocal point
                here = self._point(search, at)
                accepted = self._accepts(here, at)
                point = here if accepted else point
                return accepted

            much = -math.inf if fewer is None else search.cutoff * AGAIN
            found = self._best(search, score, accept, 1.0 / (1.0 + EQUAL), much)
            nodes += search.nodes
            if not found.early:
                break
        if point is None or point is known or search.stopped:
            return Answer(point, math.inf, search.stopped, nodes)
        nodes -= search.nodes
        point = self._surest(search, point, found.point)
        return Answer(point, point.cost, search.stopped, nodes + search.nodes)

    def _surest(self, search: BranchAndBound, point: Point, found: Ints | None) -> Point:
        """The most confident point that costs as much as one, after the search for that."""
        action_set, most = self.problem.action_set, self.problem.cost.before_root(point.cost)
        for at in search.ties(found, most * (1.0 + EQUAL)):
            here = self._point(search, at)
            if here.confidence > point.confidence + ABOVE and action_set.allows(here.codes):
                point = here
        return point

    @strict
    def frontier(self, levels: Sequence[float] = ()) -> list[Point]:
        """The staircase: each point the cheapest with more confidence than the one before.

        Confidences within rounding of each other count as one, unless one of the ascending levels
        lies between them: the cheapest point that meets a level to the last bit is a step.
        """
        action_set, side = self.problem.action_set, self.side
        best = self._at(action_set.own, 0.0)
        stairs = [best]
        search = self._search
        now = self._beyond(best.confidence, levels) + side * 3 * ABOVE
        for at in search.stream(*((now, 2.0) if side > 0 else (-1.0, now)), side):
            point = self._point(search, at)
            enough = min(_next(levels, best.confidence), math.nextafter(best.confidence + ABOVE, 2))
            if point.confidence < enough or not action_set.allows(point.codes):
                continue
            # of equal cost, the larger confidence stays
            while stairs and stairs[-1].cost >= point.cost * (1.0 - TIED):
                stairs.pop()
            stairs.append(point)
            best = point
            search.ask_more(self._beyond(best.confidence, levels))
        return stairs

    @property
    def own(self) -> Point:
        """The person as they are."""
        return self._at(self.problem.action_set.own, 0.0)

    @property
    def nodes(self) -> int:
        """Boxes that the last search opened."""
        return self._search.nodes

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return time.monotonic() >= self._deadline

    @property
    def stopped(self) -> bool:
        """Whether a limit ended the last search."""
        return self._search.stopped

    @strict
    def max_confidence(
        self, known: Floats | None = None, node_limit: float = math.inf
    ) -> tuple[Point, bool]:
        """The allowed point of greatest confidence, and whether a limit ended the search.

        The search starts from a `known` point. `ceiling` bounds the confidence of all points.
        """
        action_set = self.problem.action_set
        best = self.risen(action_set.own if known is None else known)

        def reached(at: Ints) -> float | None:
            nonlocal best
            point = self._point(self._search, at)
            if point.confidence <= best.confidence or not action_set.allows(point.codes):
                return None
            best = point
            return self._beyond(best.confidence)

        self._search.deadline = self._deadline
        self._search.node_limit = min(self.node_limit, node_limit)
        found = self._search.max_confidence(self.side, reached, self._beyond(best.confidence))
        return best, found.stopped

    @property
    def ceiling(self) -> float:
        """The confidence that no allowed point exceeds, by the last search for the greatest."""
        number = -self._search.bound if self.side > 0 else 1.0 + self._search.bound
        room = self.side * (self.searched.kernel.rounding + ROUNDING)
        return self._confidence(number + room)

    @strict
    def some(self) -> Answer | None:
        """Any allowed point that meets the target, whatever it costs; None without reductions."""
        cancel.check()
        whole = self._interval(self.searched)
        if whole[0] > whole[1]:  # no number has such a confidence
            return Answer(None, math.inf, False, 0)
        fewer = self._reduced(self.features, self.searched, math.inf, self.answers)
        if fewer is None:
            return None
        point = None if fewer.codes is None else self.at(fewer.codes)
        if point is not None or fewer.bound == math.inf:
            return Answer(point, fewer.bound, False, 0)
        search = self._smaller(fewer.features, fewer.score)
        search.node_limit = self.node_limit

        def accept(at: Ints) -> bool:
            nonlocal point
            here = self._point(search, at)
            accepted = self._accepts(here, at)
            point = here if accepted else point
            return accepted

        found = search.best(*self._interval(fewer.score), accept, enough=math.inf)
        bound = self.problem.cost.total(found.bound)
        return Answer(point, bound, point is None and found.stopped, search.nodes)

    def level_between(self, low: float, high: float, share: float) -> float:
        """The confidence at a share of the way between two, on the scale of the model's sums."""
        first, last = (self._number(each) for each in (low, high))
        return self._confidence(first + share * (last - first))

    def level_above(self, confidence: float) -> float:
        """The least confidence above another one that rounding cannot blur with it."""
        number = self._beyond(confidence) + self.side * 5 * ROUNDING
        return max(self._confidence(number), math.nextafter(confidence, 2.0))

    def risen(self, start: Floats) -> Point:
        """Repeat the best allowed single change until none raises the confidence."""
        action_set, cost = self.problem.action_set, self.problem.cost
        features, own = action_set.schema.features, action_set.own
        best = self._at(start, cost.between(features, own, start))
        if sum(len(each.codes) for each in self.features) > MOST_RISES:
            return best
        while not self.late:
            cancel.check()
            rows = np.concatenate(
                [_each_value(best.codes, f, each.codes) for f, each in enumerate(self.features)]
            )
            if action_set.follows:
                rows = np.array([action_set.completed(row) for row in rows])
            confidences = np.nan_to_num(self.score.at_codes(rows), nan=-1.0)
            for at in np.argsort(-confidences, kind="stable"):
                if confidences[at] <= best.confidence:
                    return best
                if action_set.allows(rows[at]):
                    best = self._at(rows[at], cost.between(features, own, rows[at]))
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
        search, score = self._search, self.searched
        features: Sequence[Candidates] = self.features
        steps: Sequence[tuple[float, Floats]] = ()
        fewer = self._reduced(features, score, added, self.answers) if added > 0 else None
        if fewer is not None:
            features, score, steps = fewer.features, fewer.score, fewer.steps
            search = self._smaller(features, score)
            search.node_limit = self.node_limit
        accept = lambda at: self._accepts(self._point(search, at), at)  # noqa: E731
        tree = search.prove(*self._interval(score), added, accept)
        cells = [each.cells.astype(np.int64) for each in features]
        price, functions = score.kernel.told(tree.price, tree.memory, cells)
        tree = tree._replace(price=price, memory=functions)
        return Traced(tuple(each.codes for each in features), tree, tuple(steps))

    # ------------------------------------------------------------ between codes and the search

    @property
    def features(self) -> Sequence[Candidates]:
        """The values of each feature worth trying."""
        return self._listed.features

    @property
    def searched(self) -> Score:
        """The confidence on the cells of these values: the score itself, unless it lists them."""
        return self._listed.score

    @cached_property
    def _listed(self) -> Reduction:
        problem, beside = self.problem, self.beside
        if beside is not None:
            found = self._apart(beside.score)
        elif self.robust is None:
            sloped = self.score.sloped
            found = candidates(self.score.grid, problem.action_set, problem.cost, sloped)
        else:
            found = [piece.candidates for piece in self._pieces]
        rising = problem.target.mode == "at_least" or self.scope == "furthest"
        rising = rising and beside is None  # of two scores what lowers one may raise the other
        accept = self.answers if self.scope == "cheapest" else None
        room = None if self.robust is None else (self._rooms, self.robust.floor)
        wish = Wish(*problem.target.interval, rising and self.scope != "any", accept, room)
        listed = self.score.listed(found, problem.action_set, problem.cost, wish)
        return Reduction(found, self.score) if listed is None else listed

    def _apart(self, other: Score) -> list[Candidates]:
        """The cheapest values of the cells that this score and another one tell apart."""
        cells_in, problem = self.score.grid.cells_in, self.problem
        sloped = {*self.score.sloped, *other.sloped}
        found = candidates(self._grid, problem.action_set, problem.cost, sloped)
        return [each._replace(cells=cells_in(f, each.codes)) for f, each in enumerate(found)]

    @cached_property
    def _grid(self) -> Grid:
        """The cells on which all that is asked is constant."""
        grid = self.score.grid
        return grid if self.beside is None else common([grid, self.beside.score.grid])

    def _at_once(self) -> Answer | None:
        """The cheapest answer where the score has a search of its own."""
        action_set, target, cost = self.problem.action_set, self.problem.target, self.problem.cost
        more = bool(action_set.relations or action_set.schema.derived)
        more = more or any(each.hole for each in action_set.actions)
        if self.scope != "cheapest" or target.mode != "at_least" or more:
            return None
        found = self.score.cheapest(
            lambda: in_a_row(self.score.grid, action_set, cost), action_set, cost,
            target.interval[0], self.node_limit,
        )  # fmt: skip
        if found is None or found.codes is None:
            return None if found is None else Answer(None, math.inf, False, found.nodes)
        point = self.at(found.codes)
        if not self._accepts(point, np.empty(0, np.int64)):
            return None
        return Answer(point, point.cost, False, found.nodes)

    @cached_property
    def _pieces(self) -> list[Piece]:
        assert self.robust is not None
        return _pieces(self.score, self.problem, self.robust, self._rooms)

    @cached_property
    def _rooms(self) -> Floats:
        """How far each feature may move around an answer."""
        assert self.robust is not None
        schema, radius = self.problem.action_set.schema, self.robust.radius
        rooms = schema.rooms(radius, self.robust.continuous)
        for feature, room in zip(schema, rooms.tolist(), strict=True):
            if not room < math.inf:
                given = f"min_radius={radius:g} with the scale {feature.scale:g}"
                raise ValueError(
                    f"{given} of {feature.name!r}: expected a radius that can be counted with, "
                    "such as 0.05"
                )
        return rooms

    @cached_property
    def _worst(self) -> Score | None:
        """The least confidence around the values, where these do not tell it by their cells."""
        if self.robust is None:
            return None
        return self.score.worst(self.features, self._rooms)

    @cached_property
    def _search(self) -> BranchAndBound:
        action_set, score = self.problem.action_set, self.searched
        conditions, mine = self._conditions(self.features, score), None
        if self._worst is not None and self.robust is not None:
            ends = self._worst.interval(self.robust.floor, 2.0)
            conditions.append(Condition(self._worst, *ends, self.side, conditions[0].cells))
        elif self.robust is not None:
            ends = score.interval(self.robust.floor, 2.0)
            lows, highs = (np.concatenate([p[end] for p in self._pieces]) for end in (1, 2))
            cells = conditions[0].cells
            conditions.append(Condition(score, *ends, self.side, cells, (lows, highs)))
            mine = score.grid.cells(action_set.own[None])[0].astype(np.int64)
        return BranchAndBound(
            self.features,
            conditions,
            relations=self._relations(self.features),
            following=self._following(self.features),
            mine=mine,
            node_limit=self.node_limit,
            deadline=self._deadline,
        )

    def _conditions(self, features: Sequence[Candidates], score: Score) -> list[Condition]:
        """What is asked of candidates, whose cells are those of a score."""
        more = [] if self.beside is None else [self.beside.on(features)]
        return [about(score, features), *more]

    def _smaller(self, features: Sequence[Candidates], score: Score) -> BranchAndBound:
        return BranchAndBound(
            features,
            self._conditions(features, score),
            relations=self._relations(features),
            following=self._following(features),
            deadline=self._deadline,
        )

    def _following(self, features: Sequence[Candidates]) -> Following:
        """The derived columns: a candidate stands for what lies in its cell, or for itself."""
        follows = self.problem.action_set.follows
        if not follows:
            return Following()
        grid = self._grid
        if self.robust is not None and not self.score.lists:
            schema = self.problem.action_set.schema
            grid = _finer(Same(grid), Same(schema), self.robust, self._rooms.tobytes())
        ends = [grid.ends(f) for f in range(len(features))]
        for f in {each.at for each in follows} & set(self.score.sloped):
            codes = self.features[f].codes
            ends[f] = np.array([-math.inf, *codes[~np.isnan(codes)], math.inf])
        return following(self.problem.action_set, features, ends, follows)

    def _relations(self, features: Sequence[Candidates]) -> tuple[Ints, Floats] | None:
        action_set = self.problem.action_set
        return _relations(action_set, features) if action_set.relations else None

    def _reduced(
        self,
        features: Sequence[Candidates],
        score: Score,
        incumbent: float,
        accept: Callable[[Floats], bool],
    ) -> Reduction | None:
        """A smaller question with the same answers that cost no more than the incumbent."""
        low, high, side = self._interval(score)
        asked = about(score, features)._replace(low=low, high=high, side=side)
        schema = self.problem.action_set.schema
        related = frozenset(map(schema.position, self.problem.cost.related(schema)))
        if self.beside is not None:  # which looks at all values
            related = frozenset(range(len(schema)))
        found = score.reduce(features, asked, incumbent, related, accept, self._deadline)
        if found is not None and not all(len(each.codes) for each in found.features):
            raise ValueError("the score's reduce() left a feature without any value")
        return found

    def answers(self, codes: Floats) -> bool:
        """Whether a point is an answer, by the model's own word."""
        point = self._at(self.problem.action_set.completed(codes), 0.0)
        return self._accepts(point, np.empty(0, np.int64))

    @cached_property
    def _deadline(self) -> float:
        """When time is up."""
        return math.inf if self.time_limit is None else time.monotonic() + self.time_limit

    def at(self, codes: Floats) -> Point:
        """The point of a row of codes that was found elsewhere."""
        codes = self.problem.action_set.completed(codes)
        own, schema = self.problem.action_set.own, self.problem.action_set.schema
        return self._at(codes, self.problem.cost.between(schema.features, own, codes))

    def _interval(self, score: Score) -> tuple[float, float, int]:
        """The target as an interval of a score's numbers, and the side to get there from."""
        if score not in self._intervals:
            own = self._at(self.problem.action_set.own, 0.0).confidence
            least, most = self.problem.target.interval
            low, high = score.interval(least, most)
            if most == math.inf:  # there is no end, whatever numbers there are
                low, high = (low, 2.0) if score.rises else (-1.0, high)
            self._intervals[score] = low, high, 1 if (own < least) == score.rises else -1
        return self._intervals[score]

    def _beyond(self, confidence: float, levels: Sequence[float] = ()) -> float:
        """What goes beyond a confidence goes beyond this on the model's own scale.

        The search looks only past what rounding may add to it. Where a calibrator rises within
        that, or one of the ascending levels lies there, such points must still be looked at.
        """
        raw, further = (self._number(each) for each in (confidence, confidence + SLACK))
        room = self.side * 3 * ABOVE
        raw = raw - room if abs(further - raw) <= 6 * ABOVE else raw
        level = _next(levels, confidence)
        if level == math.inf:
            return raw
        line = self.searched.interval(level, math.inf)[0 if self.score.rises else 1] - room
        return min(raw, line) if self.side > 0 else max(raw, line)

    def _number(self, confidence: float) -> float:
        """The last of the kernel's numbers, towards more confidence, with no more than this."""
        return self.searched.interval(-1.0, confidence)[1 if self.score.rises else 0]

    def _confidence(self, number: float) -> float:
        """The confidence that stands for one of the kernel's numbers."""
        return float(self.searched.confidence(np.array(min(max(number, 0.0), 1.0))))

    def _point(self, search: BranchAndBound, at: Ints) -> Point:
        codes = self.problem.action_set.completed(search.codes_of(at))
        return self._at(codes, self.problem.cost.total(search.cost_of(at)))

    def _at(self, codes: Floats, cost: float) -> Point:
        return Point(codes, cost, float(self.score.at_codes(codes[None])[0]))

    def _accepts(self, point: Point, at: Ints) -> bool:
        return (
            self.problem.target.met(point.confidence)
            and self.problem.action_set.allows(point.codes)
            and (self.robust is None or self._holds(point.codes, at))
            and (self.beside is None or self.beside.met(point.codes))
        )

    def _holds(self, codes: Floats, at: Ints) -> bool:
        """Whether the floor is kept in every cell that noise around a point may reach."""
        assert self.robust is not None
        if self.score.lists:
            return self.score.worst_at(codes, self._rooms) >= self.robust.floor
        ends = tuple(
            (int(p.lows[k]), int(p.highs[k])) for p, k in zip(self._pieces, at, strict=True)
        )
        if ends not in self._held:
            cells = [np.arange(a, b + 1) for a, b in ends]
            try:
                lost = loss(self.score, cells, self.robust.floor, deadline=self._deadline)
            except TimeoutError:  # which ends the search for the answer too
                return False
            self._held[ends] = lost is None
        return self._held[ends]


def _next(levels: Sequence[float], confidence: float) -> float:
    """The first of the ascending levels above a confidence; ∞ if there is none."""
    at = bisect_right(levels, confidence)
    return levels[at] if at < len(levels) else math.inf


# ---------------------------------------------------------------- how safe an answer is


@strict
def radius(
    score: Score,
    schema: Schema,
    codes: Floats,
    threshold: float,
    norm: Norm,
    continuous: bool = False,
    budget: Budget | None = None,
) -> Radius:
    """The distance to the nearest loss of the decision: strictly within it the decision holds.

    Numbers, integers and ordinals move by their steps, unlimited, immutable ones too; a number
    without a step, and every one if it is continuous, moves by anything; others stay. Distances
    are scaled by the schema. ∞ if the decision is lost nowhere. Where the budget ends the search,
    it is what was proved until then: a lower bound.
    """
    budget = Budget() if budget is None else budget
    steps = schema.steps(continuous)
    known = score.radius(schema, codes, threshold, norm, steps, budget.left)
    if known is not None:
        return known
    own = score.grid.cells(codes[None])[0]
    away = [
        {int(cell): 0.0}
        if math.isnan(code) or math.isnan(step)
        else _distances(score.grid.ends(f), float(code), int(cell), feature, float(step))
        for f, (feature, code, cell, step) in enumerate(zip(schema, codes, own, steps, strict=True))
    ]
    if norm == "linf":
        return _least_box(score, away, threshold, budget)
    power = 2 if norm == "l2" else 1
    features = [
        Candidates(
            np.zeros(len(d)), np.array(list(d), np.int32), np.array(list(d.values())) ** power
        )
        for d in away
    ]
    search = BranchAndBound(
        features, [about(score, features)], node_limit=budget.left, deadline=budget.deadline
    )

    def lost(at: Ints) -> bool:
        cells = np.array([[f.cells[k] for f, k in zip(features, at, strict=True)]])
        return bool(score.at(cells)[0] < threshold)

    low, high = score.interval(-1.0, math.nextafter(threshold, 0.0))
    found = search.best(low, high, -1 if score.rises else 1, lost)
    budget.spend(search.nodes)
    least = math.inf if found.point is None else search.cost_of(found.point)
    if found.stopped and budget.limited:
        least = min(found.bound * (1.0 - EQUAL), least)  # sums differ by rounding
        return Radius(least ** (1.0 / power), exact=False)
    refuse_unfinished(found.stopped)
    return Radius(least ** (1.0 / power))


def _distances(
    ends: Floats, code: float, cell: int, feature: Feature, step: float
) -> dict[int, float]:
    """The distance from a value to the nearest on its steps in each cell that has one.

    Without steps, to the closure of each cell.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.maximum(np.maximum(ends[:-1] - code, code - ends[1:]), 0.0) / feature.scale
        if step > 0.0:
            away = _stepped(ends, code, feature, step)
    known = np.flatnonzero(away < math.inf)
    if not away[known].max() <= MOST_AWAY:
        raise ValueError(
            f"radius: {feature.name!r} has the scale {feature.scale:g}, by which a threshold lies "
            f"{away[known].max():.3g} away; expected a scale that keeps distances below "
            f"{MOST_AWAY:g}"
        )
    away[cell] = 0.0
    return {int(c): float(away[c]) for c in known}


def _stepped(ends: Floats, code: float, feature: Feature, step: float) -> Floats:
    """The same on steps, of which an ordinal has no more than levels; ∞ where there is none."""
    counts = steps_to(code, step, ends)
    least, most = feature.reach(code)
    first, last = np.maximum(counts[:-1] + 1.0, least), np.minimum(counts[1:], most)
    nearest = np.where(first > 0, first, np.where(last < 0, -last, 0.0))
    return np.where(first <= last, nearest * step / feature.scale, math.inf)


def _least_box(
    score: Score, away: Sequence[dict[int, float]], threshold: float, budget: Budget
) -> Radius:
    """The least distance at which the box of all cells so far away holds a loss.

    A first round opens no boxes: it proves what bounds on whole boxes prove. Each further round
    opens more boxes for a distance than the one before. A distance that a round does not decide
    counts as one with a loss, so what is proved stays a lower bound.
    """
    steps = sorted({d for feature in away for d in feature.values()})
    proved, lost = -1, len(steps)  # the last step without a loss, and the first with a known one
    budget.each = 0 if budget.limited else math.inf
    while lost - proved > 1:
        open_end = lost
        while open_end - proved > 1:
            middle = (proved + open_end) // 2
            each = [[(c, d) for c, d in f.items() if d <= steps[middle]] for f in away]
            cells = [np.array([c for c, _ in pairs]) for pairs in each]
            try:
                found = loss(score, cells, threshold, budget=budget)
            except UndecidedError:
                open_end = middle
                continue
            if found is None:
                proved = middle
                continue
            far = max(pairs[at][1] for pairs, at in zip(each, found, strict=True))
            open_end = lost = bisect_left(steps, far)
        if budget.left < 1 or time.monotonic() > budget.deadline:
            break
        budget.each = max(FIRST_ROUND, MORE_BOXES * budget.each)
    exact = lost - proved == 1
    return Radius(steps[proved + 1] if proved + 1 < len(steps) else math.inf, exact)


# ---------------------------------------------------------------- room for noise


class Piece(NamedTuple):
    """Candidates of one feature, and the cells that noise around each may reach."""

    candidates: Candidates
    lows: Ints
    highs: Ints


@lru_cache(maxsize=64)
def _finer(grid: Same, schema: Same, robust: Robust, rooms: bytes) -> Grid:
    """The grid on which noise of a radius reaches the same cells from all of a cell.

    Each feature that moves is cut at t − r, t and t + r for every edge t, and r as many steps as
    its radius has; for values on the steps that is where the last of them is.

    Of cuts that rounding alone keeps apart the last stays, so that what lies beyond it lies beyond
    all of them; and every edge, between two of which a value may be an answer by itself.
    """
    found = []
    for feature, t, r in zip(schema.it, grid.it.edges, np.frombuffer(rooms).tolist(), strict=True):
        step = feature.moves_by(robust.continuous)
        if math.isnan(step) or not len(t):
            found.append(t)
            continue
        cuts = np.unique(np.concatenate([t - r, t, t + r]))
        apart = np.diff(cuts, append=math.inf) > CLOSE * feature.scale
        kept = cuts[apart | np.isin(cuts, t)]
        if step > 0.0:
            last = np.array([multiple_below(step, float(edge)) for edge in t])
            exact = np.concatenate(_by_steps(last, step, r))
            kept = _beside(kept, exact, t, CLOSE * feature.scale)
        found.append(kept)
    return Grid(grid.it.schema, tuple(found))


def _beside(cuts: Floats, exact: Floats, edges: Floats, near: float) -> Floats:
    """Cuts, and exact ones in place of those that rounding alone keeps apart from them."""
    exact = np.unique(exact)
    at = exact.searchsorted(cuts)
    away = [np.abs(cuts - exact[np.clip(k, 0, len(exact) - 1)]) for k in (at - 1, at)]
    others = cuts[(np.minimum(*away) > near) | np.isin(cuts, edges)]
    return np.unique(np.concatenate([others, exact]))


def _pieces(score: Score, problem: Problem, robust: Robust, rooms: Floats) -> list[Piece]:
    """The cheapest allowed value on each piece on which the noise reaches the same cells.

    What noise around a piece reaches is read off its middle, where no rounding matters; on steps it
    is where so many of them lead.
    """
    schema, grid = problem.action_set.schema, score.grid
    finer = _finer(Same(grid), Same(schema), robust, rooms.tobytes())
    pieces = []
    found = candidates(finer, problem.action_set, problem.cost, score.sloped)
    for f, (feature, each) in enumerate(zip(schema, found, strict=True)):
        step, r = feature.moves_by(robust.continuous), float(rooms[f])
        ends = (
            _by_steps(each.codes, step, r)
            if step > 0.0
            else _by_middles(each, finer.ends(f), r)
            if step == 0.0
            else (each.codes, each.codes)
        )
        known = ~np.isnan(each.codes)
        cells, lows, highs = (
            grid.cells_in(f, np.where(known, where, math.nan)) for where in (each.codes, *ends)
        )
        ranges = lows.astype(np.int64), highs.astype(np.int64)
        pieces.append(Piece(each._replace(cells=cells), *ranges))
    return pieces


def _by_steps(codes: Floats, step: float, r: float) -> tuple[Floats, Floats]:
    """Where noise from each code ends, on its steps."""
    many = np.full(len(codes), float(round(r / step)))
    return moved(codes, step, -many), moved(codes, step, many)


def _each_value(row: Floats, f: int, codes: Floats) -> Floats:
    """A row once for each value of one feature."""
    rows = np.tile(row, (len(codes), 1))
    rows[:, f] = codes
    return rows


def _by_middles(each: Candidates, ends: Floats, r: float) -> tuple[Floats, Floats]:
    """Where noise from the middle of the piece of each code ends."""
    codes, missing = each.codes, np.isnan(each.codes)
    left, right = (ends[np.where(missing, 0, each.cells) + k] for k in (0, 1))
    with np.errstate(invalid="ignore"):  # a feature without any edge has no middle
        middle = np.where(np.isinf(right), codes + r, (left + right) / 2.0)
    middle = np.where(np.isinf(left), codes - r, middle)  # an outer piece has none: further out
    return middle - r, middle + r


def _relations(action_set: ActionSet, features: Sequence[Candidates]) -> tuple[Ints, Floats]:
    """The relations of a schema as the loop reads them: see `src/native/relations.hpp`."""
    terms: list[list[int]] = []
    gains: list[Floats] = []
    first = 0
    for relation in action_set.relations:
        at = action_set.schema.positions(relation)
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
