"""Branch and bound over candidates: the questions of a search, and its limits.

A feature's **candidates** are the values worth trying; a **box** is a range of candidates for each
feature. It costs at least the sum of its cheapest candidates, its **corner**. Boxes are opened in
the order of that bound; one whose confidences all miss the target is discarded, a corner that meets
it is an answer (nothing unopened is cheaper), and any other box is cut. The loop is compiled:
`src/native/search.hpp`.

All confidences here are numbers of the score's kernel, on a scale of its own: the caller asks for
an interval [low, high] of them, and says by `side` whether they must rise to get there, +1, or
fall, −1.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse._native import Said
from trust_recourse.io import cancel
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.subproblem import Candidates, Condition
from trust_recourse.search.following import Following

NODES_A_CALL = 256  # between two looks at the clock, at most; of great models fewer
FEW_NODES = 16  # before the first, where time is limited
MOMENT = 0.1  # seconds that may pass between two
MOST_BOXES = 3_000_000  # held at once; a search that needs more ends as if by a limit
MOST_BYTES = 2**31  # of what the kernels keep of these boxes: some keep a number for each leaf
DIVE_FROM = 32  # nodes on, points that meet the target are looked for
WORK = 10_000_000  # multiplications of the kernel's own search between two looks at the clock
LATER = 64  # times as many nodes on, the kernel's own search is asked again
NEVER = 2**62  # boxes
ROUNDING = 1e-12
EQUAL = 5e-13  # of a cost: what two ways of adding it up may differ by, with room to spare

# arithmetic that leaves the numbers ends a search, before it proves anything by infinity
strict = np.errstate(over="raise", divide="raise", invalid="raise")

Accept = Callable[[Ints], bool]  # whether these candidates, one per feature, are an answer


class Found(NamedTuple):
    """What a search ended with; costs before the root."""

    point: Ints | None  # the candidate of each feature
    bound: float  # what every other answer costs at least; ∞ if there is none
    stopped: bool  # whether a limit ended it before it was complete
    early: bool = False  # whether an answer that is good enough did


class Splits(NamedTuple):
    """The tree of a finished search, in preorder: see `certificate.Proof`.

    Of boxes that a price discarded, `memory[row]` is what the kernels remembered, if anything.
    """

    feature: Ints
    cut: Ints
    price: Floats
    row: Ints
    memory: Floats  # (rows, numbers)


class BranchAndBound:
    """A search over candidates; each of its questions starts afresh.

    The first condition is the one that a question is about; its interval comes with the question.
    """

    def __init__(
        self,
        features: Sequence[Candidates],
        conditions: Sequence[Condition],
        *,
        relations: tuple[Ints, Floats] | None = None,
        following: Following = Following(),  # noqa: B008
        mine: Ints | None = None,  # the own cells, where what is asked around tends to be lost
        node_limit: float = math.inf,
        deadline: float = math.inf,  # by `time.monotonic`
    ) -> None:
        kernels = [condition.score.kernel for condition in conditions]
        grids = [condition.score.grid for condition in conditions]
        if any(condition.around for condition in conditions[:-1]):
            raise ValueError("only the last condition may ask around a point")
        self.kernel = kernels[0]
        self.node_limit, self.deadline = node_limit, deadline
        self.at_once = NODES_A_CALL if deadline == math.inf else FEW_NODES
        self.stopped = False
        self.cutoff = math.inf  # an answer costs no more than this, where one is known
        self.offset = np.array([0, *itertools.accumulate(len(f.codes) for f in features)], np.int64)
        self.codes = np.concatenate([f.codes for f in features])
        self.costs = np.concatenate([f.costs for f in features])
        self.cells = conditions[0].cells
        self.least = np.minimum.reduceat(self.costs, self.offset[:-1])
        valleys = _valleys(self.costs, self.offset)
        valleys[following.columns] = -1  # one that follows others is not chosen by its cost
        terms, gains = relations or (np.empty(0, np.int64), np.empty(0))
        kept = sum(len(kernel.memory) for kernel in kernels)
        self.most_boxes = min(MOST_BOXES, MOST_BYTES // (8 * kept + 1))
        self.search = _native.Search(
            offset=self.offset,
            codes=self.codes,
            costs=self.costs,
            valley=valleys,
            kernels=[kernel.native for kernel in kernels],
            memories=[kernel.memory for kernel in kernels],
            cells=[condition.cells for condition in conditions],
            first_cells=[grid.first_cell for grid in grids],
            many_cells=[int(grid.sizes.sum()) for grid in grids],
            ends=[(condition.low, condition.high) for condition in conditions],
            sides=[condition.side for condition in conditions],
            around=conditions[-1].around,
            own=mine,
            relations=terms,
            gains=gains,
            follows=following.follows,
            formulas=following.formulas,
            raw_low=following.raw_low,
            raw_high=following.raw_high,
            most_boxes=self.most_boxes,
        )

    @property
    def nodes(self) -> int:
        """Boxes opened so far."""
        return self.search.nodes

    @property
    def bound(self) -> float:
        """What every answer still to come costs at least."""
        return self.search.bound

    def cost_of(self, point: Ints) -> float:
        """What the candidates of a point cost together."""
        return math.fsum(self.costs[self.offset[:-1] + point].tolist())

    def codes_of(self, point: Ints) -> Floats:
        """The codes of the candidates of a point."""
        return np.asarray(self.codes[self.offset[:-1] + point])

    # ------------------------------------------------------------ the questions

    def best(
        self,
        low: float,
        high: float,
        side: int,
        accept: Accept,
        gap: float = 1.0,
        enough: float = -math.inf,
    ) -> Found:
        """The cheapest point of [low, high] that the caller accepts; at most `gap` times dearer.

        It ends early with one that was met by chance and costs no more than is `enough`.
        """
        self._begin(low, high, side, heuristic_from=DIVE_FROM)
        self.search.cutoff = self.cutoff
        best, guess_from = None, DIVE_FROM
        while (said := self._run(guess_from)) in (Said.FOUND, Said.BETTER, Said.PAUSED):
            point: Ints | None = self.search.corner
            if said == Said.PAUSED:
                point, guess_from = self._guess(best), LATER * (self.nodes + 1)
            if point is None or not accept(point):
                continue
            best = point
            if said == Said.FOUND:
                break
            cost = self.cost_of(point)
            self.search.cutoff = cost / gap
            if cost <= enough:
                return Found(best, self.bound, False, early=True)
        return Found(best, self.bound, self.stopped)

    def _guess(self, best: Ints | None) -> Ints | None:
        """A cheaper point than any known, by the kernel's own search; or None.

        The first time each feature is given up in turn, then each of its values is tried.
        """
        kernel, offset, costs = self.kernel, self.offset, self.costs
        if kernel.guess is None:
            return None
        side = self.search.side
        level = self.search.low if side > 0 else -self.search.high
        cheapest = np.flatnonzero(costs == self.least.repeat(np.diff(offset)))
        forced = cheapest if best is None else np.arange(len(costs))
        first = cheapest[np.searchsorted(cheapest, offset[:-1])] - offset[:-1]
        point = first if best is None else best.copy()

        def go_on() -> bool:
            cancel.check()
            return time.monotonic() <= self.deadline

        reached = kernel.guess(side, level, offset, self.cells, costs, forced, point, WORK, go_on)
        cheaper = reached and self.cost_of(point) < self.search.cutoff
        return point if cheaper else None

    def ties(self, point: Ints | None, most: float) -> Iterator[Ints]:
        """Go on after `best` found a point: others that cost at most so much, each of more number.

        Without a point, all that were asked for. What may be met by chance is not looked for.
        """
        self.search.cutoff = most
        self.search.heuristic_from = NEVER
        side = self.search.side
        while True:
            if point is not None:
                cells = self.cells[self.offset[:-1] + point][None]
                ends = self.kernel.intervals(cells, cells)[0]
                # as much less as rounding may add, so that nothing that is surer is left out
                self.ask_more(float(ends[0] if side > 0 else ends[1]) - side * 4 * ROUNDING)
            if self._run() != Said.FOUND:
                return
            point = self.search.corner
            yield point

    def stream(self, low: float, high: float, side: int) -> Iterator[Ints]:
        """All points of [low, high], one a product of cells, in the order of cost.

        The caller judges each; either way the search goes on without it. `ask_more` raises `low`.
        """
        self._begin(low, high, side)
        while self._run() == Said.FOUND:
            yield self.search.corner

    def ask_more(self, raw: float) -> None:
        """From now on only confidences beyond this one count."""
        if self.search.side > 0:
            self.search.low = raw + 2 * ROUNDING
        else:
            self.search.high = raw - 2 * ROUNDING

    def max_confidence(
        self, side: int, reached: Callable[[Ints], float | None], beyond: float | None = None
    ) -> Found:
        """The point of greatest confidence, or of least, if side is −1; only beyond a number.

        The caller gives the confidence of a point, None if it does not count, or stops the search
        with ±∞.
        """
        self._begin(-1.0, 2.0, side, most=True)
        if beyond is not None:
            self._reach(beyond, side)
        best: Ints | None = None
        while self._run() == Said.BETTER:
            point = self.search.corner
            raw = reached(point)
            if raw is None:
                continue
            best = point
            if math.isinf(raw):
                break
            self._reach(raw, side)
        return Found(best, math.inf, self.stopped)

    def _reach(self, raw: float, side: int) -> None:
        """From now on only what is further than this counts, and a search may end there."""
        self.ask_more(raw)
        self.search.reached = (raw if side > 0 else 1.0 - raw) + 2 * ROUNDING

    def prove(self, low: float, high: float, side: int, bound: float, accept: Accept) -> Splits:
        """The tree that shows that no point of [low, high] costs less than a bound."""
        self._begin(low, high, side, prove=True)
        self.search.cutoff = bound * (1.0 - 1e-10)  # sums differ by rounding
        while self._run() == Said.FOUND:
            point = self.search.corner
            if accept(point) and self.cost_of(point) < bound * (1 - 1e-9):
                raise RuntimeError("a cheaper answer than the proved one; please report this")
        if self.stopped and time.monotonic() > self.deadline:
            raise TimeoutError("the time limit ended the search for a proof")
        if self.stopped:
            raise MemoryError(
                f"the proof needs more than {self.most_boxes:,} boxes at once; "
                "ask with a gap, which needs fewer"
            )
        return Splits(*self.search.tree())

    # ------------------------------------------------------------ the loop

    def _begin(
        self,
        low: float,
        high: float,
        side: int,
        *,
        heuristic_from: int = NEVER,
        most: bool = False,
        prove: bool = False,
    ) -> None:
        self.stopped = False
        self.search.begin(
            low - ROUNDING,
            high + ROUNDING,
            side,
            key=-1.0 if most else math.fsum(self.least.tolist()),  # costs may begin above 0
            most=most,
            heuristic_from=heuristic_from,
            prove=prove,
        )

    def _run(self, pause: float = math.inf) -> Said:
        """Go on with the loop until it has something to say, so many nodes, or a limit ends it."""
        if time.monotonic() > self.deadline:  # points that are refused one by one take time too
            self.stopped = True
            return Said.DONE
        while True:
            cancel.check()
            most = min(self.node_limit, pause) - self.nodes
            began = time.monotonic()
            said = self.search.run(int(min(self.at_once, most)))
            if self.deadline < math.inf:
                long = time.monotonic() - began > MOMENT
                changed = self.at_once // 2 if long else 2 * self.at_once
                self.at_once = min(max(changed, 1), NODES_A_CALL)
            if said not in (Said.PAUSED, Said.FULL):
                return said
            limited = self.nodes >= self.node_limit or time.monotonic() > self.deadline
            if said == Said.FULL or limited:
                self.stopped = True
                return Said.DONE
            if self.nodes >= pause:
                return Said.PAUSED


def _valleys(costs: Floats, offset: Ints) -> Ints:
    """Each feature's cheapest candidate, where its costs fall and then rise; −1 where otherwise."""
    step = np.zeros(len(costs))
    step[:-1] = costs[1:] - costs[:-1]
    step[offset[1:] - 1] = 0.0  # from one feature to the next
    at = np.arange(len(costs))
    first = offset[:-1]
    rise = np.minimum.reduceat(np.where(step <= 0, len(costs), at), first)
    fall = np.maximum.reduceat(np.where(step >= 0, first.repeat(np.diff(offset)) - 1, at), first)
    return np.where(fall < rise, fall + 1 - first, -1)
