"""The Pareto frontier of cost and confidence to a resolution, from the asked levels outward.

Its points are the answers to questions: the cheapest point of at least a level and, of those that
cost as much, the most confident. An answer settles all levels from the asked one up to its
confidence. So the next question below a point asks for one resolution less: the answer is the point
itself, and the jump below it cannot be avoided, or another one within the resolution. A point is
also an answer to every question below it, so these search only for what costs less; a window of
levels is reduced together. Upward nothing is known, so some levels are asked for in one step, and
then those between.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from trust_recourse.io import cancel
from trust_recourse.models.subproblem import Reduction
from trust_recourse.question import Point, Target
from trust_recourse.search.counterexample import ABOVE
from trust_recourse.search.exact import TIED, Exact

FINEST = 1e-6  # the least resolution; rounding of confidences is far below it
SPAN = 8  # resolutions that are asked for at once
FEWEST, MORE = 2_000, 32  # boxes of a first try upward, and of later ones, times all until then


class FrontierPoint(NamedTuple):
    """A point of the frontier, and from where on it is known that none lies below it."""

    point: Point
    since: float


class Window(NamedTuple):
    """Levels of one reduced question: from a level up to a point of the frontier."""

    low: float
    top: Point
    inside: Reduction


class FrontierSearch:
    """The points of one person's frontier, as far as they are proved."""

    def __init__(
        self, engine: Exact, targets: Sequence[Target], resolution: float, max_steps: int
    ) -> None:
        self.engine, self.resolution, self.max_steps = engine, resolution, max_steps
        self.targets = sorted(targets, key=lambda target: -target.confidence)
        self.known = [FrontierPoint(engine.own, -math.inf)]
        self.least = engine.own.confidence
        self.ceiling = 1.0  # nothing is known to reach this
        self.low = self.high = self.least  # between these it is complete
        self.nodes = 0
        self.ended = ""  # by what, before it was complete
        self._window: Window | None = None

    def run(self) -> None:
        """Find the points at the asked levels, those between, and then further out, either way."""
        if not (self._begin() and all(self._ask(target) for target in self.targets)):
            return
        met = [each for each in (self._above(t.interval[0]) for t in self.targets) if each]
        if met:
            self.low = self.high = met[0].point.confidence
        low = met[-1].point.confidence if met else self.low
        up = down = self._fill(low, self.high)
        self.low = low if up else self.low
        while up or down:
            up = up and self._further(FEWEST + MORE * self.nodes)
            down = down and self._lower()
        while self._further(math.inf):  # what took too long at first
            pass

    @property
    def points(self) -> list[Point]:
        """The points, of which none costs as much as the next."""
        found = [each.point for each in self.known]
        after = [*(point.cost for point in found[1:]), math.inf]
        each = zip(found, after, strict=True)
        return [point for point, cost in each if cost * (1.0 - TIED) > point.cost]

    # ------------------------------------------------------------ outward

    def _begin(self) -> bool:
        """Where the frontier begins: as the person is, unless a free change is more confident."""
        engine = self.engine.level(exactly(self.least), 0)
        if all((each.costs <= 0.0).sum() == 1 for each in engine.listed.features):
            return True
        answer = engine.frontier_point(None, engine.listed)
        self.nodes += answer.nodes
        if answer.stopped:
            self._ended(engine)
        elif answer.point is not None and answer.point.cost <= 0.0:
            self.known = [FrontierPoint(answer.point, -math.inf)]
            self.least = self.low = self.high = answer.point.confidence
        return not answer.stopped

    def _further(self, most: float) -> bool:
        """Some resolutions further up, by so many boxes; whether there is more to do after it."""
        top, resolution = self.known[-1].point.confidence, self.resolution
        if self.ended or self.ceiling - top <= resolution + ABOVE:
            return False
        level = min(top + SPAN * resolution, self.ceiling - resolution)
        if self.ceiling < 1.0:
            level = min(level, 0.5 * (top + self.ceiling))
        if not self._ask(exactly(level), most):
            return False
        last = self.known[-1].point.confidence
        if not self._fill(top, last, together=False):  # costs rise too steeply for that up there
            return False
        self.high = last
        return True

    def _lower(self) -> bool:
        """Some resolutions further down; whether there is more to do after it."""
        low = max(self.low - SPAN * self.resolution, self.least)
        if self.low <= self.least or not self._fill(low, self.low):
            return False
        above = self._above(low)
        if above is not None and above.since < low:  # one jump leads over all levels down to there
            low = max(above.since, self.least)
        self.low = low
        return low > self.least

    def _fill(self, low: float, high: float, together: bool = True) -> bool:
        """Ask for what is missing between two confidences, downward; False if a limit ended it.

        Where it is done together, levels are reduced by windows.
        """
        at = min(self._place(high), len(self.known) - 1)
        while at > 0 and self.known[at].point.confidence > low:
            above = self.known[at]
            level = self._missing(self.known[at - 1], above)
            if level is None:
                at -= 1
                continue
            if level < low:  # what is not known lies below, but for a long jump
                if above.since - low <= self.resolution:
                    break
                level = low
            if not self._ask(exactly(level), low=low if together else 1.0):
                return False
            at = self._place(above.point.confidence)
        return True

    def _missing(self, below: FrontierPoint, above: FrontierPoint) -> float | None:
        """The level to ask for next between two neighbours; None if nothing is missing."""
        bottom, top, resolution = below.point.confidence, above.point.confidence, self.resolution
        if top - bottom <= resolution + ABOVE or above.since <= bottom + 2 * ABOVE:
            return None
        if above.since > top - resolution:
            return top - resolution
        if above.since - bottom <= resolution + ABOVE:  # the jump is there, and what is not shown
            return None  # is within the resolution of what is
        return max(above.since - max(resolution, top - above.since), bottom + resolution)

    # ------------------------------------------------------------ one question

    def _ask(self, target: Target, most: float = math.inf, low: float = 1.0) -> bool:
        """Find the point that answers a question, by so many boxes; whether that was done.

        Levels down to `low` are reduced together with it.
        """
        cancel.check()
        level, known = target.interval[0], self._above(target.interval[0])
        if level >= self.ceiling or (known is not None and known.since <= level):
            return True
        if len(self.known) >= self.max_steps:
            self.ended = "max_steps"
            return False
        if self.engine.late:
            self.ended = "time_limit"
            return False
        engine = self.engine.level(target, self.nodes)
        left, engine.node_limit = engine.node_limit, min(engine.node_limit, most)
        inside = self._inside(level, None if known is None else known.point, low)
        answer = engine.frontier_point(None if known is None else known.point, inside)
        self.nodes += answer.nodes
        if answer.stopped:
            if engine.late or answer.nodes >= left or most == math.inf:
                self._ended(engine)
            return False
        self._settle(level, known, answer.point)
        return True

    def _ended(self, engine: Exact) -> None:
        self.ended = "time_limit" if engine.late else "node_limit"

    def _settle(self, level: float, known: FrontierPoint | None, point: Point | None) -> None:
        """Note the answer to a question: nothing, a point that was known, or a new one."""
        if point is None:
            self.ceiling = level
        elif known is not None and point.cost >= known.point.cost:
            self.known[self._place(known.point.confidence)] = FrontierPoint(known.point, level)
        else:
            self.known.insert(self._place(point.confidence), FrontierPoint(point, level))

    def _inside(self, level: float, known: Point | None, low: float) -> Reduction:
        """A question, as small as it may be, that holds the answer at a level."""
        if known is None:
            return self.engine.listed
        window = self._window
        if window is not None and window.low <= level and known.cost <= window.top.cost:
            return window.inside
        if level - low < self.resolution:  # hardly worth it
            return self.engine.listed
        below = max(low, level - SPAN * self.resolution)
        reduced = self.engine.level(exactly(below), self.nodes).window(known)
        self._window = Window(below, known, reduced)
        return reduced

    def _above(self, level: float) -> FrontierPoint | None:
        at = self._place(level)
        return self.known[at] if at < len(self.known) else None

    def _place(self, confidence: float) -> int:
        return bisect_left(self.known, confidence, key=lambda each: each.point.confidence)


def exactly(level: float) -> Target:
    """At least a level, without any slack."""
    inside = min(max(level, 1e-12), 1.0 - 1e-12)
    return Target(inside, threshold=inside)
