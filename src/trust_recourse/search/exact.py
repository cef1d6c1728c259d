"""The exact engine: best-first branch and bound over cells, ending with a proof.

On a product of cells the model is constant, so in each cell only a feature's cheapest allowed
value matters: its **candidates**. A **box** is a range of candidates for each feature; it costs at
least the sum of its cheapest candidates, its **corner**. Boxes are opened in the order of that
bound; one whose confidences all miss the target is discarded, a corner that meets it is an answer
(nothing unopened is cheaper), and any other box is cut. The engine knows the model only through
`CellModel`; the loop is in `branch`.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.problem import CellModel, Cost, Floats, Ints
from trust_recourse.schema import AtMost, Feature, Moves, Reach, SchemaError
from trust_recourse.search import branch

NODES_A_CALL = 4096  # between two looks at the clock
MOST_BOXES = 3_000_000  # held at once; a search that needs more ends as if by a limit
FIRST_BOXES = 512
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """The values of one feature worth trying, ascending: codes, their cells and their costs."""

    codes: Floats
    cells: NDArray[np.int32]
    costs: Floats


class ExactSearch:
    """One search over candidates: the cheapest points that meet a target, or the furthest reach."""

    def __init__(
        self,
        model: CellModel,
        features: Sequence[Candidates],
        *,
        greatest: bool = False,  # the cost is the greatest of the features', not their sum
        relations: tuple[Ints, Floats] | None = None,
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.boxes = model.boxes()
        self.node_limit = math.inf if node_limit is None else node_limit
        self.deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        self.stopped = False  # whether a limit ended the search before it was complete
        sizes = [len(f.codes) for f in features]
        self.d = d = len(sizes)
        self.offset = np.array([0, *itertools.accumulate(sizes)], np.int64)
        self.codes = np.concatenate([f.codes for f in features])
        self.costs = np.concatenate([f.costs for f in features])
        self.cells = np.concatenate([f.cells for f in features]).astype(np.int64)
        self.valley = np.array([_valley(f.costs) for f in features], np.int64)
        self.relations = relations or (np.empty(0, np.int64), np.empty(0))
        self.how = np.array([1, greatest, 0, 0, NODES_A_CALL, 1 - greatest, 0], np.int64)
        self.want = np.array([0.0, 1.0, 0.0, 1.0, math.inf, 0.1, 0.0, math.inf, 0.0])
        self.state = np.zeros(6, np.int64)
        self.nothing = np.zeros(0, np.int64)
        self.work = (
            np.empty(2 * d, np.int64),
            np.empty(2 + d),
            self.boxes.scratch.copy(),
            np.empty(int(self.boxes.n_cells.sum()) + 1),
            np.empty(int(self.boxes.n_cells.sum())),
            np.empty(d, np.int64),
            np.empty(d, np.int64),
        )

    @property
    def nodes(self) -> int:
        """Boxes opened so far."""
        return int(self.state[branch.NODES])

    @property
    def bound(self) -> float:
        """What every answer still to come costs at least, before the root."""
        if self.state[branch.HELD] >= 0:
            return float(self.store["key"][self.state[branch.HELD]])
        return float(self.store["key"][self.store["heap"][0]]) if self.state[0] else math.inf

    # ------------------------------------------------------------ the two searches

    def cheapest(self, low: float, high: float, side: int) -> Iterator[NDArray[np.int64]]:
        """Candidates of points whose raw confidence may lie in [low, high], in the order of cost.

        The caller judges each by the model's own confidence; either way the search goes on without
        it. `raise_low` asks more of all that follow.
        """
        self.want[branch.LOW], self.want[branch.HIGH] = low - ROUNDING, high + ROUNDING
        self.how[branch.SIDE] = side
        self._begin()
        while self._run() == branch.FOUND:
            yield self.work[6].copy()

    def best(self, low: float, high: float, side: int, accept: Any) -> Any:
        self.want[branch.LOW], self.want[branch.HIGH] = low - ROUNDING, high + ROUNDING
        self.how[branch.SIDE] = side
        self.how[branch.DIVE] = 1
        self._begin()
        found = None
        while (said := self._run()) in (branch.FOUND, branch.BETTER):
            point = self.work[6].copy()
            if accept(point):
                found = point
                cost = self.costs[self.offset[:-1] + point].sum()
                if said == branch.FOUND:
                    break
                self.want[branch.CUTOFF] = cost
        return found

    def furthest(self, side: int) -> Iterator[NDArray[np.int64]]:
        """Candidates of points of ever greater raw confidence (ever smaller, if side is −1).

        The caller says `reached` for those it allows.
        """
        self.how[branch.SIDE], self.how[branch.FURTHEST] = side, 1
        self.want[branch.LOW], self.want[branch.HIGH] = -1.0, 2.0
        self._begin()
        while self._run() == branch.FOUND:
            yield self.work[6].copy()

    def reached(self, raw: float) -> None:
        """Ask of the furthest search only what goes beyond this raw confidence."""
        if self.how[branch.SIDE] > 0:
            self.want[branch.LOW] = raw
            self.want[branch.REACHED] = raw + 2 * ROUNDING
        else:
            self.want[branch.HIGH] = raw
            self.want[branch.REACHED] = 1.0 - raw + 2 * ROUNDING

    # ------------------------------------------------------------ the arrays of the loop

    def _begin(self) -> None:
        d, first = self.d, np.zeros(self.d, np.int64)
        last = np.diff(self.offset) - 1
        spans = self.cells[self.offset[:-1] + first][None], self.cells[self.offset[:-1] + last][None]
        loose = np.where(last > 0, self.boxes.bounds(*spans)[2][0], -1.0)
        self.store: dict[str, Any] = {
            "box": np.empty(FIRST_BOXES * 2 * d, np.int32),
            "key": np.empty(FIRST_BOXES),
            "split": np.empty(FIRST_BOXES, np.int32),
            "where": np.full(FIRST_BOXES, -1, np.int32),
            "mark": np.zeros(FIRST_BOXES, np.int8),
            "node": np.empty(FIRST_BOXES, np.int32),
            "heap": np.empty(FIRST_BOXES, np.int32),
            "spare": np.arange(FIRST_BOXES - 1, -1, -1, dtype=np.int32),
        }
        self.tree: dict[str, Any] = {
            "feature": np.empty(4 * FIRST_BOXES, np.int32),
            "cut": np.empty(4 * FIRST_BOXES, np.int32),
            "left": np.empty(4 * FIRST_BOXES, np.int32),
            "price": np.empty(4 * FIRST_BOXES),
            "bound": np.empty(4 * FIRST_BOXES),
        }
        store, tree = self.store, self.tree
        store["box"][: 2 * d] = np.concatenate([first, last])
        store["key"][0] = -1.0 if self.how[branch.FURTHEST] else 0.0
        store["split"][0] = int(loose.argmax())
        store["node"][0] = store["heap"][0] = 0
        tree["feature"][0], tree["bound"][0], tree["price"][0] = -1, 0.0, 0.0
        self.state[:] = [1, FIRST_BOXES - 1, 0, 1, -1, 0]
        if self.how[branch.FURTHEST]:
            self.want[branch.REACHED] = -1.0

    def _run(self) -> int:
        """Go on with the loop until it has something to say, or a limit ends it."""
        advance, boxes = branch.advance(), self.boxes
        while True:
            left = self.node_limit - self.nodes
            self.how[branch.PAUSE] = int(min(NODES_A_CALL, left))
            said = advance(
                boxes.interval, boxes.relaxation, boxes.errors, boxes.numbers, boxes.layout, self.offset,
                self.codes, self.costs, self.cells, boxes.first_cell, self.valley, self.nothing,
                self.nothing, self.nothing, *self.relations, self.how, self.want, self.state,
                *self.store.values(), *self.tree.values(), *self.work,
            )  # fmt: skip
            if said in (branch.DONE, branch.FOUND, branch.BETTER):
                return int(said)
            if said == branch.FULL:
                self.stopped = not self._grow()
            if self.nodes >= self.node_limit or time.monotonic() > self.deadline:
                self.stopped = True
            if self.stopped:
                return branch.DONE

    def _grow(self) -> bool:
        held = len(self.store["key"])
        if held >= MOST_BOXES:
            return False
        if self.state[branch.SPARE] < 2 * self.d + 2:
            for name, array in self.store.items():
                self.store[name] = np.concatenate([array, np.zeros_like(array)])
            free = self.state[branch.SPARE]
            fresh = np.arange(2 * held - 1, held - 1, -1, dtype=np.int32)
            self.store["spare"][free : free + held] = fresh
            self.state[branch.SPARE] += held
        if self.state[branch.MADE] + 4 * self.d + 4 > len(self.tree["cut"]):
            for name, array in self.tree.items():
                self.tree[name] = np.concatenate([array, np.zeros_like(array)])
        return True


def _valley(costs: Floats) -> int:
    """Where costs that fall and then rise are least; −1 if they do otherwise."""
    least = int(np.argmin(costs))
    step = costs[1:] - costs[:-1]
    falls = (step[:least] <= 0).all() and (step[least:] >= 0).all()
    return least if falls else -1


def relations_of(reach: Reach, features: Sequence[Candidates]) -> tuple[Ints, Floats]:
    """The relations of a schema as the loop reads them, see `branch`."""
    rows, goals = [], []
    own = reach.own
    for relation in reach.relations:
        i, j = reach.schema.position(relation.a), reach.schema.position(relation.b)
        at = [int(np.flatnonzero(_same(features[f].codes, own[f]))[0]) for f in (i, j)]
        sign, goal = 0, 0.0
        if not isinstance(relation, AtMost):
            sign = 1 if relation.by > 0 else -1
            goal = relation.goal(own[j])
        rows.append([sign, i, j, *at])
        goals.append(goal)
    return np.array(rows, np.int64).ravel(), np.array(goals, np.float64)


def _same(codes: Floats, own: float) -> NDArray[np.bool_]:
    return np.isnan(codes) if math.isnan(own) else codes == own


# ---------------------------------------------------------------- candidates


def _candidates(model: CellModel, reach: Reach, cost: Cost) -> list[Candidates]:
    """For each feature, the cheapest allowed value in each cell; every value if it is related."""
    related = {name for r in reach.relations for name in (r.a, r.b)}
    own = reach.own
    found = []
    for f, (feature, moves, edges) in enumerate(
        zip(reach.schema, reach.moves, model.cell_edges(), strict=True)
    ):
        values = _worth_trying(feature, moves, edges, feature.name in related)
        codes = np.repeat(own[None], len(values), axis=0)
        codes[:, f] = values
        cells = model.cells_of(codes)[:, f]
        costs = np.array([cost.change(feature, moves.own, v) for v in values])
        order = np.argsort(values)
        found.append(Candidates(np.array(values)[order], cells[order], costs[order]))
    return found


def _worth_trying(feature: Feature, moves: Moves, edges: Floats, related: bool) -> list[float]:
    if not feature.movable:
        return [moves.own]
    if related:
        try:
            return [float(value) for value in moves.values()]
        except SchemaError as error:
            raise SchemaError(f"feature {feature.name!r} has a relation, but its {error}") from None
    if feature.kind == "category":
        values = list(moves.choices or ())
    else:
        ends = [-math.inf, *edges.tolist(), math.inf]
        nearest = (moves.nearest(a, b) for a, b in itertools.pairwise(ends))
        values = [v for v in nearest if v is not None]
    return [*values, moves.own] if math.isnan(moves.own) else values
