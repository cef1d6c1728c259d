"""Branch and bound over candidates: the arrays of the compiled loop, and its questions.

A feature's **candidates** are the values worth trying; a **box** is a range of candidates for each
feature. It costs at least the sum of its cheapest candidates, its **corner**. Boxes are opened in
the order of that bound; one whose confidences all miss the target is discarded, a corner that meets
it is an answer (nothing unopened is cheaper), and any other box is cut. The loop is in `loop`.

All confidences here are numbers of the score's kernel, on a scale of its own: the caller asks for
an interval [low, high] of them, and says by `side` whether they must rise to get there, +1, or
fall, −1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trust_recourse import cancel, clock
from trust_recourse.cells import (
    MORE,
    STATE,
    Candidates,
    Condition,
    Floats,
    Handed,
    Ints,
    Kernel,
)
from trust_recourse.search import arrays, loop
from trust_recourse.search.following import Following

NODES_A_CALL = 256  # between two looks at the clock, at most; of great models fewer
FEW_NODES = 16  # before the first, where time is limited
MOMENT = 0.1  # seconds that may pass between two
MOST_BOXES = 3_000_000  # held at once; a search that needs more ends as if by a limit
MOST_BYTES = 2**31  # of what the kernels keep of these boxes: some keep a number for each leaf
FIRST_BOXES = 256
DIVE_FROM = 32  # nodes on, points that meet the target are looked for
WORK = 10_000_000  # multiplications of the kernel's own search between two looks at the clock
LATER = 64  # times as many nodes on, the kernel's own search is asked again
ROUNDING = 1e-12
MULTIPLIER = 0.1  # that a search begins with

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


def ready(kernel: Kernel) -> tuple[Ints, Any]:
    """The addresses of a kernel's functions, and the loop; they are compiled on first use."""
    functions = kernel.interval, kernel.relaxation, kernel.errors, kernel.narrow
    for name, made in zip(("interval", "relaxation", "errors"), functions, strict=False):
        if not isinstance(made, Handed):
            given = f"the kernel's {name} is a {type(made).__name__}"
            raise TypeError(f"{given}; expected cells.Handed({name.upper()}, function)")
    kernel.guess  # noqa: B018 - compiled here too
    return np.array([function.address for function in functions]), loop.advance()


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
        deadline: float = math.inf,  # by `clock.now`
    ) -> None:
        self.conditions, self.mine = list(conditions), mine
        kernels = [condition.score.kernel for condition in conditions]
        self.node_limit, self.deadline = node_limit, deadline
        self.at_once = NODES_A_CALL if deadline == math.inf else FEW_NODES
        self.functions, self.advance = ready(kernels[0])
        if any(kernel.interval is not kernels[0].interval for kernel in kernels):
            raise ValueError("conditions on kernels of several families; expected one family")
        if any(condition.around for condition in conditions[:-1]):
            raise ValueError("only the last condition may ask around a point")
        self.stopped = False
        self.cutoff = math.inf  # an answer costs no more than this, where one is known
        self.d = d = len(features)
        offset = np.array([0, *itertools.accumulate(len(f.codes) for f in features)], np.int64)
        costs = np.concatenate([f.costs for f in features])
        valleys = _valleys(costs, offset)
        valleys[following.columns] = -1  # one that follows others is not chosen by its cost
        none = np.empty(0, np.int64)
        terms, gains = relations or (none, np.empty(0))
        around = conditions[-1].around or (none, none)
        grids = [condition.score.grid for condition in conditions]
        self.memory = np.concatenate([kernel.memory for kernel in kernels])
        self.task = arrays.Task(
            _joined([kernel.numbers for kernel in kernels]),
            _joined([kernel.layout for kernel in kernels]),
            _parts(kernels, [condition.side for condition in conditions]),
            offset,
            np.concatenate([f.codes for f in features]),
            costs,
            _joined([condition.cells for condition in conditions]),
            _joined([grid.first_cell for grid in grids]),
            valleys,
            *around,
            terms,
            gains,
            *following,
        )
        self.asked = arrays.Asked(
            np.empty(3 * len(kernels)), np.zeros(5), np.zeros(5, np.int64), np.zeros(6, np.int64)
        )
        cells = int(max(grid.sizes.sum() for grid in grids))
        self.work = arrays.Work(
            np.empty(2 * d, np.int64), np.empty(2 + d),
            np.concatenate([kernel.scratch for kernel in kernels]), np.empty(cells + 1),
            np.empty(cells), np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64),
            np.empty(offset[-1], np.int64), np.empty(offset[-1]),
        )  # fmt: skip

    @property
    def nodes(self) -> int:
        """Boxes opened so far."""
        return int(self.asked.counters[arrays.NODES])

    @property
    def bound(self) -> float:
        """What every answer still to come costs at least."""
        held = self.asked.counters[arrays.HELD]
        if held < 0 and self.asked.counters[arrays.HEAP] > 0:
            held = self.store.heap[0]
        least = float(self.store.key[held]) if held >= 0 else math.inf
        return min(least, float(self.asked.params[arrays.CUTOFF]))

    @property
    def _most_boxes(self) -> int:
        return min(MOST_BOXES, MOST_BYTES // (8 * len(self.memory) + 1))

    def cost_of(self, point: Ints) -> float:
        """What the candidates of a point cost together."""
        return math.fsum(self.task.costs[self.task.offset[:-1] + point].tolist())

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
        self._begin(low, high, side, dive=DIVE_FROM)
        self.asked.params[arrays.CUTOFF] = self.cutoff
        best, guess_from = None, DIVE_FROM
        while (said := self._run(guess_from)) in (loop.FOUND, loop.BETTER, loop.PAUSED):
            point: Ints | None = self.work.corner.copy()
            if said == loop.PAUSED:
                point, guess_from = self._guess(best), LATER * (self.nodes + 1)
            if point is None or not accept(point):
                continue
            best = point
            if said == loop.FOUND:
                break
            cost = self.cost_of(point)
            self.asked.params[arrays.CUTOFF] = cost / gap
            if cost <= enough:
                return Found(best, self.bound, False, early=True)
        return Found(best, self.bound, self.stopped)

    def _guess(self, best: Ints | None) -> Ints | None:
        """A cheaper point than any known, by the kernel's own search; or None.

        The first time each feature is given up in turn, then each of its values is tried.
        """
        task, kernel = self.task, self.conditions[0].score.kernel
        if kernel.guess is None:
            return None
        side = int(task.parts[arrays.SIDE])
        level = self.asked.levels[arrays.LOW] if side > 0 else -self.asked.levels[arrays.HIGH]
        least = np.minimum.reduceat(task.costs, task.offset[:-1])
        cheapest = np.flatnonzero(task.costs == least.repeat(np.diff(task.offset)))
        forced = cheapest if best is None else np.arange(len(task.costs))
        first = cheapest[np.searchsorted(cheapest, task.offset[:-1])] - task.offset[:-1]
        point = first if best is None else best.copy()
        state = np.zeros(STATE, np.int64)
        rest = point.copy(), kernel.scratch.copy(), np.empty(len(task.costs)), state
        said = MORE
        while said == MORE:
            cancel.check()
            state[0] = WORK
            said = kernel.guess(
                kernel.numbers, kernel.layout, side, level, task.offset, task.cells, task.costs,
                forced, point, *rest,
            )  # fmt: skip
            if clock.now() > self.deadline:
                break
        cheaper = state[1] > 0 and self.cost_of(point) < self.asked.params[arrays.CUTOFF]
        return point if cheaper else None

    def ties(self, point: Ints | None, most: float) -> Iterator[Ints]:
        """Go on after `best` found a point: others that cost at most so much, each of more number.

        Without a point, all that were asked for. What may be met by chance is not looked for.
        """
        self.asked.params[arrays.CUTOFF] = most
        self.asked.switches[arrays.DIVE] = 2**62
        side, kernel = int(self.task.parts[arrays.SIDE]), self.conditions[0].score.kernel
        while True:
            if point is not None:
                cells = self.task.cells[self.task.offset[:-1] + point][None]
                ends = kernel.intervals(cells, cells)[0]
                # as much less as rounding may add, so that nothing that is surer is left out
                self.ask_more(float(ends[0] if side > 0 else ends[1]) - side * 4 * ROUNDING)
            if self._run() != loop.FOUND:
                return
            point = self.work.corner.copy()
            yield point

    def stream(self, low: float, high: float, side: int) -> Iterator[Ints]:
        """All points of [low, high], one a product of cells, in the order of cost.

        The caller judges each; either way the search goes on without it. `ask_more` raises `low`.
        """
        self._begin(low, high, side)
        while self._run() == loop.FOUND:
            yield self.work.corner.copy()

    def ask_more(self, raw: float) -> None:
        """From now on only confidences beyond this one count."""
        if self.task.parts[arrays.SIDE] > 0:
            self.asked.levels[arrays.LOW] = raw + 2 * ROUNDING
        else:
            self.asked.levels[arrays.HIGH] = raw - 2 * ROUNDING

    def max_confidence(
        self, side: int, reached: Callable[[Ints], float | None], beyond: float | None = None
    ) -> Found:
        """The point of greatest confidence, or of least, if side is −1; only beyond a number.

        The caller gives the confidence of a point, None if it does not count, or stops the search
        with ±∞.
        """
        self._begin(-1.0, 2.0, side, max_confidence=1)
        if beyond is not None:
            self._reach(beyond, side)
        best: Ints | None = None
        while self._run() == loop.BETTER:
            point = self.work.corner.copy()
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
        self.asked.params[arrays.REACHED] = (raw if side > 0 else 1.0 - raw) + 2 * ROUNDING

    def prove(self, low: float, high: float, side: int, bound: float, accept: Accept) -> Splits:
        """The tree that shows that no point of [low, high] costs less than a bound."""
        self._begin(low, high, side, prove=1)
        self.asked.params[arrays.CUTOFF] = bound * (1.0 - 1e-10)  # sums differ by rounding
        while self._run() == loop.FOUND:
            if accept(self.work.corner) and self.cost_of(self.work.corner) < bound * (1 - 1e-9):
                raise RuntimeError("a cheaper answer than the proved one; please report this")
        if self.stopped and clock.now() > self.deadline:
            raise TimeoutError("the time limit ended the search for a proof")
        if self.stopped:
            raise MemoryError(
                f"the proof needs more than {self._most_boxes:,} boxes at once; ask with a gap, which "
                "needs fewer"
            )
        many = int(self.asked.counters[arrays.ROWS])
        return _preorder(self.tree, many, len(self.memory))

    # ------------------------------------------------------------ the arrays of the loop

    def _begin(
        self,
        low: float,
        high: float,
        side: int,
        *,
        dive: int = 2**62,
        max_confidence: int = 0,
        prove: int = 0,
    ) -> None:
        d, task = self.d, self.task
        self.stopped = False
        conditions = self.conditions
        levels = [(low - ROUNDING, high + ROUNDING), *((c.low, c.high) for c in conditions[1:])]
        self.asked.levels[:] = [number for ends in levels for number in (*ends, MULTIPLIER)]
        self.asked.params[:] = [math.inf, 0.0, -1.0, 0.0, 0.0]
        around = len(conditions) - 1 if conditions[-1].around else -1
        self.asked.switches[:] = [max_confidence, around, NODES_A_CALL, dive, prove]
        self.task.parts[arrays.SIDE] = side
        first, last = np.zeros(d, np.int64), np.diff(task.offset) - 1
        n = FIRST_BOXES + 4 * d
        self.store = arrays.Store(
            np.empty(n * 2 * d, np.int32), np.empty(n), np.empty(n, np.int32),
            np.empty(n, np.int32), np.empty(n, np.int8), np.empty(n * d, np.int32),
            np.empty(n * d, np.int32), np.empty(n, np.int32), np.empty(n, np.int32),
            np.arange(n - 1, -1, -1, dtype=np.int32), np.empty(n * len(self.memory)),
        )  # fmt: skip
        m = 4 * n if prove else 1
        self.tree = arrays.Tree(
            np.empty(m, np.int32), np.zeros(m, np.int32), np.empty(m, np.int32), np.zeros(m),
            np.empty(m, np.int32), np.empty(n * len(self.memory) if prove else 0),
        )  # fmt: skip
        self.store.box[: 2 * d] = np.concatenate([first, last])
        self.store.memory[: len(self.memory)] = self.memory
        ends = task.cells[task.offset[:-1]], task.cells[task.offset[1:] - 1]
        kernel = conditions[0].score.kernel
        loose = kernel.intervals(ends[0][None], ends[1][None])[0, 2:]
        least = np.minimum.reduceat(
            task.costs, task.offset[:-1]
        )  # above 0 where a question is less
        self.store.key[0] = -1.0 if max_confidence else math.fsum(least.tolist())
        self.store.split[0] = int(np.where(last > 0, loose, -1.0).argmax())
        self.store.where[0], self.store.mark[0] = -1, 0
        if self.mine is not None:
            self.store.loss[:d] = self.mine
            self.store.worst[:d] = self.mine
        self.store.node[0] = self.store.heap[0] = 0
        self.tree.feature[0] = -1 - arrays.OPEN
        self.asked.counters[:] = [1, n - 1, 0, 1, -1, 0]

    def _run(self, pause: float = math.inf) -> int:
        """Go on with the loop until it has something to say, so many nodes, or a limit ends it."""
        if clock.now() > self.deadline:  # points that are refused one by one take time too
            self.stopped = True
            return loop.DONE
        while True:
            cancel.check()
            most = min(self.node_limit, pause) - self.nodes
            self.asked.switches[arrays.PAUSE] = int(min(self.at_once, most))
            run = arrays.Run(self.task, self.asked, self.store, self.tree, self.work)
            began = clock.now()
            said = self.advance(self.functions, run)
            if self.deadline < math.inf:
                long = clock.now() - began > MOMENT
                changed = self.at_once // 2 if long else 2 * self.at_once
                self.at_once = min(max(changed, 1), NODES_A_CALL)
            if said < loop.PAUSED:
                return int(said)
            full = said == loop.FULL and not self._grow()
            if full or self.nodes >= self.node_limit or clock.now() > self.deadline:
                self.stopped = True
                return loop.DONE
            if self.nodes >= pause:
                return loop.PAUSED

    def _grow(self) -> bool:
        """More room for boxes, and for the tree; False if there are too many."""
        held = len(self.store.key)
        if 2 * held > self._most_boxes:
            return False
        if self.asked.counters[arrays.SPARE] < 4 * self.d + 4:
            self.store = arrays.Store(*(_doubled(array) for array in self.store))
            free = self.asked.counters[arrays.SPARE]
            self.store.spare[free : free + held] = np.arange(2 * held - 1, held - 1, -1)
            self.asked.counters[arrays.SPARE] += held
        if self.asked.switches[arrays.PROVE]:
            tree = self.tree
            if self.asked.counters[arrays.MADE] + 16 * self.d * len(self.conditions) + 16 > len(
                tree.cut
            ):
                longer = {name: _doubled(getattr(tree, name)) for name in tree._fields[:-1]}
                tree = tree._replace(**longer)
            if (self.asked.counters[arrays.ROWS] + 2) * len(self.memory) > len(tree.memory):
                tree = tree._replace(memory=_doubled(tree.memory))
            self.tree = tree
        return True


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One array of several; of one, itself, or a copy to write to: all is compiled for such."""
    return np.require(parts[0], requirements="W") if len(parts) == 1 else np.concatenate(parts)


def _parts(kernels: Sequence[Kernel], sides: Sequence[int]) -> Ints:
    """The side of each condition and where its kernel's arrays begin, and where the last ends."""
    rows, starts = [], [0, 0, 0, 0]
    for kernel, side in zip(kernels, sides, strict=True):
        rows += [side, *starts]
        held = kernel.numbers, kernel.layout, kernel.scratch, kernel.memory
        starts = [start + len(array) for start, array in zip(starts, held, strict=True)]
    return np.array([*rows, 0, *starts], np.int64)


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


def _preorder(tree: arrays.Tree, rows: int, size: int) -> Splits:
    """A tree of numbered nodes as one that is read from the root, left part first."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if tree.feature[node] >= 0:
            waiting += [tree.left[node] + 1, tree.left[node]]
    return Splits(
        tree.feature[order].astype(np.int64),
        tree.cut[order].astype(np.int64),
        tree.multiplier[order],
        tree.row[order].astype(np.int64),
        tree.memory[: rows * size].reshape(rows, size),
    )
