"""The highest reachable confidence: ever more confident points, and a bound on all of them.

A search for the most confident point opens boxes in the order of their bounds on the confidence.
On a sum of many terms these bounds are loose. A search for a point of at least a given confidence
has reductions, a linear program and prices. So after some boxes of the first, this file asks the
second for more confidence than the best known point has. A point that is found raises the best
known confidence; a proof that there is none lowers the bound.

Levels lie between the best known confidence and the bound. A level that some boxes do not decide is
left for a lower one. At last the question is for any more confidence at all: if nothing has it,
the best known point is proved to be the most confident. Otherwise every level gets more boxes.
"""

from __future__ import annotations

import math

from trust_recourse.io import cancel
from trust_recourse.io.arrays import Floats
from trust_recourse.question import SLACK, Point
from trust_recourse.search.exact import Exact
from trust_recourse.search.frontier import exactly

FIRST = 16  # boxes of the search for the most confident point, before levels are asked for
FEWEST, MORE = 128, 4  # boxes for a level, and times as many once all levels are open
FARTHEST, NEARER = 0.5, 4.0  # of the way to the bound; how much nearer the next level is
NEAREST = 1.0 / 16.0  # of that way: below it any more confidence will do
HIGH = 3  # levels above open ones that are asked for, to lower the bound


class Climb:
    """The most confident point known of one question, and a bound on all points.

    Parameters
    ----------
    engine : the question, of scope "furthest". Its target does not matter.
    known : codes of an allowed point to start from; the person's own if None.
    ceiling : a confidence that no allowed point exceeds.

    """

    def __init__(self, engine: Exact, known: Floats | None = None, ceiling: float = 1.0) -> None:
        self.engine = engine
        self.point = engine.own if known is None else engine.asked.at(known)
        self.ceiling = max(ceiling, self.point.confidence)
        self.nodes = 0
        self.stopped = False  # whether a limit, or the lack of memory, ended the last climb
        self._started = self._searched = False
        self._round(FEWEST)

    @property
    def proved(self) -> bool:
        """Whether no allowed point is more confident."""
        return self.ceiling - self.point.confidence <= SLACK

    def climb(self) -> None:
        """Raise the point until it is proved to be the most confident, or a limit ends it."""
        self.stopped = False
        self._start()
        if not (self.proved or self._searched):
            self._search(FIRST)
        while not (self.proved or self.stopped):
            cancel.check()
            self._ask(*self._level())

    def step(self) -> None:
        """Try single changes, then ask once for any more confidence, if they bring none."""
        self.stopped = False
        before = self.point.confidence
        self._start()
        if not self.proved and self.point.confidence <= before:
            self._ask(self.engine.level_above(before), last=True)

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._rise(self.point)

    def _round(self, boxes: int) -> None:
        """Begin again at levels far up, with so many boxes for each."""
        self._boxes, self._share = boxes, FARTHEST
        self._full, self._tries = False, 0  # levels above open ones that were asked for, plus one
        self._open: float | None = None  # the highest level that so many boxes did not decide

    def _rise(self, point: Point) -> None:
        """Take a point, improved by single changes, if it is more confident."""
        risen = self.engine.risen(point.codes)
        self.point = max(self.point, risen, key=lambda each: each.confidence)
        self.ceiling = max(self.ceiling, self.point.confidence)

    def _search(self, most: float) -> None:
        """Search for the most confident point, with so many boxes."""
        self._searched = True
        left = self.engine.node_limit - self.nodes
        point, stopped = self.engine.max_confidence(self.point.codes, min(most, left))
        self.nodes += self.engine.nodes
        self.point = max(self.point, point, key=lambda each: each.confidence)
        best = self.point.confidence
        self.ceiling = max(min(self.ceiling, self.engine.ceiling), best) if stopped else best
        self.stopped = stopped and (self.engine.late or most >= left)

    def _ask(self, level: float, last: bool) -> None:
        """Ask for a point of a level; of the last one any more confidence will do."""
        left, best = self.engine.node_limit - self.nodes, self.point.confidence
        if left <= 0 or self.engine.late:
            self.stopped = True
            return
        if last and level > self.ceiling:  # nothing that rounding can tell from the best
            self.ceiling = best
            return
        engine = self.engine.level(exactly(level), self.nodes)
        engine.node_limit = min(left, self._boxes)
        answer = engine.some()
        if answer is None:  # without reductions, levels take no fewer boxes
            self._search(math.inf)
            return
        self.nodes += answer.nodes
        if answer.point is not None:
            self._rise(answer.point)
            self._share, self._open, self._tries = min(2.0 * self._share, FARTHEST), None, 0
        elif not answer.stopped:
            self.ceiling = best if last else level
            self._share /= NEARER
        else:
            self._full |= answer.nodes < engine.node_limit
            self._open = level if self._open is None else max(self._open, level)
            self._share /= NEARER
        if self._tries or (answer.stopped and last):
            self._tries += 1

    def _level(self) -> tuple[float, bool]:
        """The level to ask for next, and whether it is just above the best point."""
        best, between = self.point.confidence, self.engine.level_between
        if self._open is not None and self._tries:
            level = between(self._open, self.ceiling, FARTHEST)
            if self._tries <= HIGH and self._open < level < self.ceiling:
                return level, False
            self.stopped = self._full  # more boxes would not fit
            self._round(MORE * self._boxes)
        least = self.engine.level_above(best)
        level = between(best, self.ceiling, self._share)
        last = self._share < NEAREST or not least < level < self.ceiling
        return least if last else level, last
