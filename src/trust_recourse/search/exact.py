"""The exact engine: best-first branch and bound over cells, ending with a proof.

On a product of cells the model is constant, so in each cell only a feature's cheapest allowed
value matters: its **candidates**. A **box** is a range of candidates for each feature; it costs at
least the sum of its cheapest candidates, its **corner**. Boxes are opened in the order of that
bound; one whose confidences all miss the target is discarded, a corner that meets it is an answer
(nothing unopened is cheaper), and any other box is split. The engine knows the model only through
`CellModel`.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trust_recourse.problem import CellModel, Cost, Floats
from trust_recourse.schema import AtMost, Feature, Moves, Reach, Relation, SchemaError

Box = tuple[tuple[int, int], ...]  # first and last candidate of each feature


@dataclass(frozen=True)
class Point:
    """An answer of the engine: codes, what they cost and the wanted class's confidence there."""

    codes: Floats
    cost: float
    confidence: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """The values of one feature worth trying, ascending: codes, their cells and their costs."""

    codes: Floats
    cells: NDArray[np.int32]
    costs: Floats

    def cheapest(self, first: int, last: int) -> int:
        """The cheapest candidate of a range."""
        return first + int(np.argmin(self.costs[first : last + 1]))


class ExactSearch:
    """All exact answers for one person: the cheapest changes in order, and the furthest reach."""

    def __init__(
        self,
        model: CellModel,
        reach: Reach,
        cost: Cost,
        *,
        wanted: int = 1,
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.model, self.reach, self.cost, self.wanted = model, reach, cost, wanted
        self.node_limit = math.inf if node_limit is None else node_limit
        self.deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        self.nodes = 0
        self.stopped = False  # whether a limit ended the search before it was complete
        self.bound = 0.0  # the cost that every answer still to come has at least
        self.features = _candidates(model, reach, cost)
        related = (
            (reach.schema.position(r.a), reach.schema.position(r.b)) for r in reach.relations
        )
        self.relations = list(zip(reach.relations, related, strict=True))

    # ------------------------------------------------------------ the two searches

    def cheapest(self, low: float, high: float = math.inf) -> Generator[Point, float | None, None]:
        """Allowed points with a confidence in [low, high], one a product of cells, by cost.

        `send` a higher `low` to the iterator to raise it for all that follows.
        """
        order = itertools.count()
        heap: list[tuple[float, int, Box]] = []
        root: Box = tuple((0, len(f.codes) - 1) for f in self.features)
        heapq.heappush(heap, (self._added(root), next(order), root))
        while heap:
            added, _, box = heapq.heappop(heap)
            self.bound = self.cost.total(added)
            if self._out_of_time():
                return
            least, most = self._bounds(box)
            if most < low or least > high or not self._related(box):
                continue
            corner = self._corner(box)
            point = self._point(corner)
            children = self._split(box, corner)
            if low <= point.confidence <= high and self.reach.allows(point.codes):
                raised = yield point
                low = low if raised is None else max(low, raised)
                children = _without(box, corner)
            for child in children:
                heapq.heappush(heap, (self._added(child), next(order), child))
        self.bound = math.inf

    def furthest(self) -> Point:
        """The allowed point of greatest confidence; among equals, the cheaper one met first."""
        best = self._point(self._corner_of(self.reach.own))
        order = itertools.count()
        root: Box = tuple((0, len(f.codes) - 1) for f in self.features)
        heap: list[tuple[float, float, int, Box]] = [(-math.inf, 0.0, next(order), root)]
        while heap:
            bound, _, _, box = heapq.heappop(heap)
            if -bound <= best.confidence or self._out_of_time():
                break
            most = self._bounds(box)[1]
            if most <= best.confidence or not self._related(box):
                continue
            corner = self._corner(box)
            point = self._point(corner)
            if point.confidence > best.confidence and self.reach.allows(point.codes):
                best = point
            for child in self._split(box, corner):
                heapq.heappush(heap, (-most, self._added(child), next(order), child))
        return best

    # ------------------------------------------------------------ boxes

    def _out_of_time(self) -> bool:
        self.nodes += 1
        self.stopped = self.nodes > self.node_limit or time.monotonic() > self.deadline
        return self.stopped

    def _added(self, box: Box) -> float:
        """What every point of a box costs at least, before the root."""
        pairs = zip(self.features, box, strict=True)
        return math.fsum(float(f.costs[a : b + 1].min()) for f, (a, b) in pairs)

    def _corner(self, box: Box) -> tuple[int, ...]:
        return tuple(f.cheapest(a, b) for f, (a, b) in zip(self.features, box, strict=True))

    def _corner_of(self, codes: Floats) -> tuple[int, ...]:
        """The candidates that are the person's own values."""
        return tuple(
            int(np.flatnonzero((f.codes == c) | (np.isnan(f.codes) & np.isnan(c)))[0])
            for f, c in zip(self.features, codes, strict=True)
        )

    def _point(self, corner: tuple[int, ...]) -> Point:
        pairs = list(zip(self.features, corner, strict=True))
        cells = np.array([[f.cells[at] for f, at in pairs]], np.int32)
        yes = float(self.model.confidence_at(cells)[0])
        return Point(
            np.array([f.codes[at] for f, at in pairs]),
            self.cost.total(math.fsum(float(f.costs[at]) for f, at in pairs)),
            yes if self.wanted == 1 else 1.0 - yes,
        )

    def _bounds(self, box: Box) -> tuple[float, float]:
        """Confidence of the wanted class on a box."""
        cells = [f.cells[a : b + 1] for f, (a, b) in zip(self.features, box, strict=True)]
        low, high = self.model.bounds_on(cells)
        return (low, high) if self.wanted == 1 else (1.0 - high, 1.0 - low)

    def _related(self, box: Box) -> bool:
        """Whether some point of a box may keep each relation, one relation at a time."""
        return all(
            _may_hold(r, self.features[i], box[i], self.features[j], box[j], self.reach.own[[i, j]])
            for r, (i, j) in self.relations
        )

    def _split(self, box: Box, corner: tuple[int, ...]) -> list[Box]:
        """Two halves of a box, at the feature whose range loosens its bounds most."""
        wide = [f for f, (a, b) in enumerate(box) if a < b]
        if not wide:
            return []
        narrowed = [self._bounds(_with(box, f, corner[f], corner[f])) for f in wide]
        spread = [high - low for low, high in narrowed]
        f = wide[int(np.argmin(spread))]
        (a, b), at = box[f], corner[f]
        cut = at - 1 if a < at else at if at == a and b - a == 1 else (a + b) // 2
        return [_with(box, f, a, cut), _with(box, f, cut + 1, b)]


def _with(box: Box, f: int, first: int, last: int) -> Box:
    return (*box[:f], (first, last), *box[f + 1 :])


def _without(box: Box, corner: tuple[int, ...]) -> list[Box]:
    """Boxes that together hold every point of a box but its corner."""
    parts = []
    for f, at in enumerate(corner):
        a, b = box[f]
        if a < at:
            parts.append(_with(box, f, a, at - 1))
        if at < b:
            parts.append(_with(box, f, at + 1, b))
        box = _with(box, f, at, at)
    return parts


def _may_hold(
    relation: Relation,
    fa: Candidates,
    a: tuple[int, int],
    fb: Candidates,
    b: tuple[int, int],
    own: Floats,
) -> bool:
    """Whether a relation can hold for some pair of candidates in two ranges."""
    codes_a, codes_b = fa.codes[a[0] : a[1] + 1], fb.codes[b[0] : b[1] + 1]
    a_stays, b_stays = (
        bool(((codes == was) | np.isnan(codes)).any())
        for codes, was in ((codes_a, own[0]), (codes_b, own[1]))
    )
    if isinstance(relation, AtMost):
        # it is not asked of missing values, nor of whoever changes nothing at all
        missing = np.isnan(codes_a).any() or np.isnan(codes_b).any()
        return bool(missing or (a_stays and b_stays) or codes_a.min() <= codes_b.max())
    return a_stays or any(
        relation.holds((own[0], own[1]), (math.inf, float(end)))
        for end in (codes_b.min(), codes_b.max())
    )


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
        found.append(Candidates(np.array(values), cells, costs))
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
