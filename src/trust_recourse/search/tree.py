"""Branch and bound over candidates: the arrays of the compiled loop, and its questions.

A feature's **candidates** are the values worth trying; a **box** is a range of candidates for each
feature. It costs at least the sum of its cheapest candidates, its **corner**. Boxes are opened in
the order of that bound; one whose confidences all miss the target is discarded, a corner that meets
it is an answer (nothing unopened is cheaper), and any other box is cut. The loop is in `branch`.

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
from numpy.typing import NDArray

from trust_recourse import cancel
from trust_recourse.cells import Floats, Ints, Score
from trust_recourse.search import arrays, branch
from trust_recourse.search.candidates import Candidates

NODES_A_CALL = 256  # between two looks at the clock
MOST_BOXES = 3_000_000  # held at once; a search that needs more ends as if by a limit
FIRST_BOXES = 256
DIVE_FROM = 32  # nodes on, points that meet the target are looked for
ROUNDING = 1e-12

Accept = Callable[[Ints], bool]  # whether these candidates, one per feature, are an answer


class Found(NamedTuple):
    """What a search ended with; costs before the root."""

    point: Ints | None  # the candidate of each feature
    bound: float  # what every other answer costs at least; ∞ if there is none
    stopped: bool  # whether a limit ended it before it was complete


class Splits(NamedTuple):
    """The tree of a finished search, in preorder: see `certificate.Proof`."""

    feature: Ints
    cut: Ints
    price: Floats


class Noise(NamedTuple):
    """What must hold around an answer: every cell that noise may reach keeps a confidence."""

    lows: Ints  # the first and the last cell that noise around each candidate may reach
    highs: Ints
    mine: Ints  # the person's own cells, where confidence tends to be lost
    floor: tuple[float, float]


class TreeSearch:
    """A search over candidates; each of its questions starts afresh."""

    def __init__(
        self,
        score: Score,
        features: Sequence[Candidates],
        *,
        relations: tuple[Ints, Floats] | None = None,
        noise: Noise | None = None,
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.kernel = kernel = score.kernel
        self.node_limit = math.inf if node_limit is None else node_limit
        # compiled on first use, which is not to count
        self.functions = kernel.interval, kernel.relaxation, kernel.errors
        self.advance = branch.advance()
        self.deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        self.stopped = False
        self.d = d = len(features)
        offset = np.array([0, *itertools.accumulate(len(f.codes) for f in features)], np.int64)
        costs = np.concatenate([f.costs for f in features])
        none = np.empty(0, np.int64)
        rows, goals = relations or (none, np.empty(0))
        self.task = arrays.Task(
            kernel.numbers,
            kernel.layout,
            offset,
            np.concatenate([f.codes for f in features]),
            costs,
            np.concatenate([f.cells for f in features]).astype(np.int64),
            score.grid.first_cell,
            _valleys(costs, offset),
            *((noise.lows, noise.highs) if noise else (none, none)),
            rows,
            goals,
        )
        self.noise = noise
        self.how = np.zeros(6, np.int64)
        self.want = np.zeros(11)
        self.state = np.zeros(5, np.int64)
        cells = int(score.grid.sizes.sum())
        self.work = arrays.Work(
            np.empty(2 * d, np.int64), np.empty(2 + d), kernel.scratch.copy(), np.empty(cells + 1),
            np.empty(cells), np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64),
            np.empty(offset[-1], np.int64), np.empty(offset[-1]), kernel.scratch.copy(),
        )  # fmt: skip

    @property
    def nodes(self) -> int:
        """Boxes opened so far."""
        return int(self.state[arrays.NODES])

    @property
    def bound(self) -> float:
        """What every answer still to come costs at least."""
        held = self.state[arrays.HELD]
        if held < 0 and self.state[arrays.HEAP] > 0:
            held = self.store.heap[0]
        least = float(self.store.key[held]) if held >= 0 else math.inf
        return min(least, float(self.want[arrays.CUTOFF]))

    def cost_of(self, point: Ints) -> float:
        """What the candidates of a point cost together."""
        return math.fsum(self.task.costs[self.task.offset[:-1] + point].tolist())

    # ------------------------------------------------------------ the questions

    def best(self, low: float, high: float, side: int, accept: Accept, gap: float = 1.0) -> Found:
        """The cheapest point of [low, high] that the caller accepts; at most `gap` times dearer."""
        self._begin(low, high, side, dive=DIVE_FROM)
        best: Ints | None = None
        while (said := self._run()) in (branch.FOUND, branch.BETTER):
            point = self.work.corner.copy()
            if not accept(point):
                continue
            best = point
            if said == branch.FOUND:
                break
            self.want[arrays.CUTOFF] = self.cost_of(point) / gap
        return Found(best, self.bound, self.stopped)

    def stream(self, low: float, high: float, side: int) -> Iterator[Ints]:
        """All points of [low, high], one a product of cells, in the order of cost.

        The caller judges each; either way the search goes on without it. `ask_more` raises `low`.
        """
        self._begin(low, high, side)
        while self._run() == branch.FOUND:
            yield self.work.corner.copy()

    def ask_more(self, raw: float) -> None:
        """From now on only confidences beyond this one count."""
        if self.how[arrays.SIDE] > 0:
            self.want[arrays.LOW] = raw + 2 * ROUNDING
        else:
            self.want[arrays.HIGH] = raw - 2 * ROUNDING

    def furthest(self, side: int, reached: Callable[[Ints], float | None]) -> Found:
        """The point of greatest confidence, or of least, if side is −1.

        The caller gives the confidence of a point, None if it does not count, or stops the search
        with ±∞.
        """
        self._begin(-1.0, 2.0, side, furthest=1)
        best: Ints | None = None
        while self._run() == branch.BETTER:
            point = self.work.corner.copy()
            raw = reached(point)
            if raw is None:
                continue
            best = point
            if math.isinf(raw):
                break
            self.ask_more(raw)
            self.want[arrays.REACHED] = (raw if side > 0 else 1.0 - raw) + 2 * ROUNDING
        return Found(best, math.inf, self.stopped)

    def prove(self, low: float, high: float, side: int, bound: float, accept: Accept) -> Splits:
        """The tree that shows that no point of [low, high] costs less than a bound."""
        self._begin(low, high, side, prove=1)
        self.want[arrays.CUTOFF] = bound * (1.0 - 1e-10)  # sums differ by rounding
        while self._run() == branch.FOUND:
            if accept(self.work.corner) and self.cost_of(self.work.corner) < bound * (1 - 1e-9):
                raise RuntimeError("a cheaper answer than the proved one; please report this")
        if self.stopped:
            raise MemoryError(
                f"the proof needs more than {MOST_BOXES:,} boxes at once; ask with a gap, which "
                "needs fewer"
            )
        return _preorder(self.tree)

    # ------------------------------------------------------------ the arrays of the loop

    def _begin(
        self,
        low: float,
        high: float,
        side: int,
        *,
        dive: int = 2**62,
        furthest: int = 0,
        prove: int = 0,
    ) -> None:
        d, task = self.d, self.task
        self.stopped = False
        floor = self.noise.floor if self.noise else (-1.0, 2.0)
        self.how[:] = [side, furthest, self.noise is not None, NODES_A_CALL, dive, prove]
        prices = 0.1, 0.0, -1.0, 0.0, 0.1, 0.0
        self.want[:] = [low - ROUNDING, high + ROUNDING, *floor, math.inf, *prices]
        first, last = np.zeros(d, np.int64), np.diff(task.offset) - 1
        n = FIRST_BOXES + 4 * d
        self.store = arrays.Store(
            np.empty(n * 2 * d, np.int32), np.empty(n), np.empty(n, np.int32),
            np.empty(n, np.int32), np.empty(n, np.int8), np.empty(n * d, np.int32),
            np.empty(n * d, np.int32), np.empty(n, np.int32), np.empty(n, np.int32),
            np.arange(n - 1, -1, -1, dtype=np.int32),
        )  # fmt: skip
        m = 4 * n if prove else 1
        self.tree = arrays.Tree(
            np.empty(m, np.int32), np.zeros(m, np.int32), np.empty(m, np.int32), np.zeros(m)
        )
        self.store.box[: 2 * d] = np.concatenate([first, last])
        ends = task.cells[task.offset[:-1]], task.cells[task.offset[1:] - 1]
        loose = self.kernel.intervals(ends[0][None], ends[1][None])[0, 2:]
        self.store.key[0] = -1.0 if furthest else 0.0
        self.store.split[0] = int(np.where(last > 0, loose, -1.0).argmax())
        self.store.where[0], self.store.mark[0] = -1, 0
        if self.noise:
            self.store.loss[:d] = self.noise.mine
            self.store.worst[:d] = self.noise.mine
        self.store.node[0] = self.store.heap[0] = 0
        self.tree.feature[0] = -1 - arrays.OPEN
        self.state[:] = [1, n - 1, 0, 1, -1]

    def _run(self) -> int:
        """Go on with the loop until it has something to say, or a limit ends it."""
        if time.monotonic() > self.deadline:  # points that are refused one by one take time too
            self.stopped = True
            return branch.DONE
        while True:
            cancel.check()
            self.how[arrays.PAUSE] = int(min(NODES_A_CALL, self.node_limit - self.nodes))
            said = self.advance(
                *self.functions, self.task, self.how, self.want,
                self.state, self.store, self.tree, self.work,
            )  # fmt: skip
            if said < branch.PAUSED:
                return int(said)
            full = said == branch.FULL and not self._grow()
            if full or self.nodes >= self.node_limit or time.monotonic() > self.deadline:
                self.stopped = True
                return branch.DONE

    def _grow(self) -> bool:
        """More room for boxes, and for the tree; False if there are too many."""
        held = len(self.store.key)
        if held >= MOST_BOXES:
            return False
        if self.state[arrays.SPARE] < 4 * self.d + 4:
            self.store = arrays.Store(*(_doubled(array) for array in self.store))
            free = self.state[arrays.SPARE]
            self.store.spare[free : free + held] = np.arange(2 * held - 1, held - 1, -1)
            self.state[arrays.SPARE] += held
        if self.how[arrays.PROVE] and self.state[arrays.MADE] + 8 * self.d + 8 > len(self.tree.cut):
            self.tree = arrays.Tree(*(_doubled(array) for array in self.tree))
        return True


def _doubled(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([array, np.zeros_like(array)])


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


def _preorder(tree: arrays.Tree) -> Splits:
    """A tree of numbered nodes as one that is read from the root, left part first."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if tree.feature[node] >= 0:
            waiting += [tree.left[node] + 1, tree.left[node]]
    return Splits(
        tree.feature[order].astype(np.int64), tree.cut[order].astype(np.int64), tree.price[order]
    )
