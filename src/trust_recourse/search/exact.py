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
from collections.abc import Generator, Iterable
from typing import NamedTuple

import numpy as np

from trust_recourse.problem import CellModel, Cost, Floats, Ints, Point
from trust_recourse.schema import AtMost, Reach, Relation
from trust_recourse.search.candidates import Candidates, candidates

MOST_AT_ONCE = 64  # boxes opened together, so that the model bounds their parts in one call

PRICES = 2.0 ** np.arange(-5, 6)  # tried around the price that served best so far
PRICE_RANGE = (1e-6, 1e6)
ROUNDING = 1e-9

Range = tuple[Ints, Ints]  # first and last candidate of each feature


class Box(NamedTuple):
    """A range of candidates for each feature that may hold an answer."""

    bound: float  # what a point in it that meets the target costs at least, before the root
    order: int  # ties are opened in the order of their making
    first: Ints
    last: Ints
    corner: Ints
    added: float  # what its corner costs, before the root
    split: int  # the feature to split it at
    high: float  # no confidence in it is greater


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
        self.order = itertools.count()
        self.features = _candidates(model, reach, cost)
        self.boxes = model.boxes([f.cells for f in self.features])
        sizes = np.array([len(f.codes) for f in self.features])
        self.offset = np.cumsum(sizes) - sizes
        self.whole = (np.zeros_like(sizes), sizes - 1)
        self.cheapest_of_all = np.array([int(np.argmin(f.costs)) for f in self.features])
        self.codes = np.concatenate([f.codes for f in self.features])
        self.cells = np.concatenate([f.cells for f in self.features])
        self.costs = np.concatenate([f.costs for f in self.features])
        self.feature = np.repeat(np.arange(len(sizes)), sizes)
        self.within = np.arange(sizes.sum()) - self.offset[self.feature]
        self.price = 0.1  # the price λ that served best so far
        at = reach.schema.position
        self.relations = [(r, at(r.a), at(r.b)) for r in reach.relations]

    # ------------------------------------------------------------ the two searches

    def cheapest(self, low: float, high: float = math.inf) -> Generator[Point, float | None, None]:
        """Allowed points with a confidence in [low, high], one a product of cells, by cost.

        `send` a higher `low` to the iterator to raise it for all that follows. A corner that meets
        the target waits in the heap until nothing cheaper is left unopened.
        """
        heap: list[tuple[float, int, Box | Point]] = []
        self._push(heap, self._kept([self.whole], low, high))
        while heap:
            self.bound = self.cost.total(heap[0][0])
            if isinstance(heap[0][2], Point):
                point = heapq.heappop(heap)[2]
                if isinstance(point, Point) and low <= point.confidence:
                    raised = yield point
                    low = low if raised is None else max(low, raised)
                continue
            opened = self._pop(heap, low)
            if self._limit_reached(len(opened)):
                return
            parts: list[Range] = []
            for box, point in zip(opened, self._corners(opened), strict=True):
                if low <= point.confidence <= high and self.reach.allows(point.codes):
                    heapq.heappush(heap, (box.added, next(self.order), point))
                    parts += _without(box)
                else:
                    parts += _halves(box)
            self._push(heap, self._kept(parts, low, high))
        self.bound = math.inf

    def furthest(self) -> Point:
        """The allowed point of greatest confidence; if a limit ended the search, the best seen."""
        own = self.reach.own
        confidence = float(self.model.confidence_at(self.model.cells_of(own[None]))[0])
        best = Point(own, 0.0, confidence if self.wanted == 1 else 1.0 - confidence)
        heap = [(-box.high, box.order, box) for box in self._kept([self.whole], best.confidence)]
        while heap and -heap[0][0] > best.confidence:
            opened = [heapq.heappop(heap)[2] for _ in range(min(len(heap), MOST_AT_ONCE))]
            if self._limit_reached(len(opened)):
                break
            for point in self._corners(opened):
                if point.confidence > best.confidence and self.reach.allows(point.codes):
                    best = point
            parts = [part for box in opened for part in _halves(box)]
            for box in self._kept(parts, math.nextafter(best.confidence, 2.0)):
                heapq.heappush(heap, (-box.high, box.order, box))
        return best

    # ------------------------------------------------------------ boxes

    def _limit_reached(self, opened: int) -> bool:
        self.nodes += opened
        self.stopped = self.nodes > self.node_limit or time.monotonic() > self.deadline
        return self.stopped

    @staticmethod
    def _push(heap: list[tuple[float, int, Box | Point]], boxes: Iterable[Box]) -> None:
        for box in boxes:
            heapq.heappush(heap, (box.bound, box.order, box))

    @staticmethod
    def _pop(heap: list[tuple[float, int, Box | Point]], low: float) -> list[Box]:
        """The cheapest boxes, at most half of those there are, up to the first answer."""
        most = min(MOST_AT_ONCE, 1 + len(heap) // 2)
        opened: list[Box] = []
        while heap and len(opened) < most and isinstance(heap[0][2], Box):
            box = heapq.heappop(heap)[2]
            if isinstance(box, Box) and box.high >= low:
                opened.append(box)
        return opened

    def _kept(self, ranges: list[Range], low: float, high: float = math.inf) -> list[Box]:
        """The boxes of these ranges that may hold a confidence in [low, high]."""
        if not ranges:
            return []
        first, last = (np.array(ends) for ends in zip(*ranges, strict=True))
        least, most, loose = self.boxes.bounds(first, last)
        if self.wanted == 0:
            least, most = 1.0 - most, 1.0 - least
        corner = np.clip(self.cheapest_of_all, first, last)
        added = self.costs[self.offset + corner].sum(axis=1)
        bound = np.maximum(added, self._relaxed(first, last, low))
        split = np.where(last > first, loose, -1.0).argmax(axis=1)
        return [
            Box(
                bound[i],
                next(self.order),
                first[i],
                last[i],
                corner[i],
                added[i],
                split[i],
                most[i],
            )
            for i in np.flatnonzero((most >= low) & (least <= high) & (bound < math.inf))
            if self._related(first[i], last[i])
        ]

    def _relaxed(self, first: Ints, last: Ints, low: float) -> Floats:
        """A second bound on the cost: the linear condition, priced at several prices λ.

        Every λ ≥ 0 gives one: λ·needed + Σ_f min (cost − λ·g) over the feature's candidates.
        """
        relaxed = self.boxes.relaxation(first, last, self.wanted, low)
        if relaxed is None:
            return np.full(len(first), -math.inf)
        needed, g = relaxed
        inside = (self.within >= first[:, self.feature]) & (self.within <= last[:, self.feature])
        most = np.maximum.reduceat(np.where(inside, g, -math.inf), self.offset, axis=1).sum(axis=1)
        costs = np.where(inside, self.costs, math.inf)
        prices = self.price * PRICES
        found = np.stack(
            [
                price * needed
                + np.minimum.reduceat(costs - price * g, self.offset, axis=1).sum(axis=1)
                for price in prices
            ]
        )
        possible = most >= needed - ROUNDING * (1.0 + np.abs(needed))
        if possible.any():  # no price is too high for a box that cannot reach the target
            served = np.median(prices[found[:, possible].argmax(axis=0)])
            self.price = float(np.clip(served, *PRICE_RANGE))
        best = found.max(axis=0)
        safe = best - ROUNDING * (1.0 + np.abs(best) + np.abs(prices.max() * needed))
        return np.where(possible, safe, math.inf)

    def _corners(self, boxes: list[Box]) -> list[Point]:
        """The cheapest point of each box."""
        if not boxes:
            return []
        at = self.offset + np.array([box.corner for box in boxes])
        yes = self.model.confidence_at(self.cells[at])
        confidence = yes if self.wanted == 1 else 1.0 - yes
        costs = (self.cost.total(math.fsum(row)) for row in self.costs[at].tolist())
        return [
            Point(codes, cost, float(p))
            for codes, cost, p in zip(self.codes[at], costs, confidence, strict=True)
        ]

    def _related(self, first: Ints, last: Ints) -> bool:
        """Whether some point of a box may keep each relation, one relation at a time."""
        return all(
            _may_hold(
                relation,
                self.features[i].codes[first[i] : last[i] + 1],
                self.features[j].codes[first[j] : last[j] + 1],
                self.reach.own[[i, j]],
            )
            for relation, i, j in self.relations
        )


def _with(first: Ints, last: Ints, f: int, ends: tuple[int, int]) -> Range:
    first, last = first.copy(), last.copy()
    first[f], last[f] = ends
    return first, last


def _halves(box: Box) -> list[Range]:
    """A box cut in two at its loosest feature; none if it is a single point."""
    f = box.split
    a, b, at = int(box.first[f]), int(box.last[f]), int(box.corner[f])
    if a == b:
        return []
    cut = at - 1 if a < at else (a + b) // 2
    return [_with(box.first, box.last, f, ends) for ends in ((a, cut), (cut + 1, b))]


def _without(box: Box) -> list[Range]:
    """Ranges that together hold every point of a box but its corner."""
    parts = []
    first, last = box.first, box.last
    for f, at in enumerate(box.corner.tolist()):
        a, b = int(first[f]), int(last[f])
        if a < at:
            parts.append(_with(first, last, f, (a, at - 1)))
        if at < b:
            parts.append(_with(first, last, f, (at + 1, b)))
        first, last = _with(first, last, f, (at, at))
    return parts


def _may_hold(relation: Relation, a: Floats, b: Floats, own: Floats) -> bool:
    """Whether a relation can hold for some pair of these codes of its two features."""
    a_stays, b_stays = (
        bool(((codes == was) | np.isnan(codes)).any()) for codes, was in ((a, own[0]), (b, own[1]))
    )
    if isinstance(relation, AtMost):
        # it is not asked of missing values, nor of whoever changes nothing at all
        missing = np.isnan(a).any() or np.isnan(b).any()
        return bool(missing or (a_stays and b_stays) or a.min() <= b.max())
    return a_stays or any(
        relation.holds((own[0], own[1]), (math.inf, float(end))) for end in (b.min(), b.max())
    )


# ---------------------------------------------------------------- candidates


def _candidates(model: CellModel, reach: Reach, cost: Cost) -> list[Candidates]:
    """The values worth trying, in an order in which their costs fall and then rise.

    Then the cheapest of a range is the one nearest to the cheapest of all.
    """
    return [_fall_then_rise(found) for found in candidates(model, reach, cost)]


def _fall_then_rise(found: Candidates) -> Candidates:
    rises, cheapest = np.diff(found.costs), int(np.argmin(found.costs))
    if (rises[:cheapest] <= 0).all() and (rises[cheapest:] >= 0).all():
        return found
    return found.at(np.argsort(found.costs, kind="stable"))
