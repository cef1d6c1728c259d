"""How safe an answer of a model with slopes is: its radius, and what noise does to it.

Numbers move, by their steps or by anything, and without limit; an ordinal has its levels. Their
points, towards the wanted class, are a line on each cell: a `Way` is one from near to far, by
distances in units of the scale and how much is lost there. Where no number is cut into cells and
all move by anything, it is in closed form: a margin m is lost at the distance
m / ‖slopes · scales‖ in the dual norm, and Gaussian noise of the numbers is Gaussian noise of the
sum.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from trust_recourse.io.arrays import Floats
from trust_recourse.question import Radius
from trust_recourse.schema.multiples import steps_to

MOST_BOXES = 20_000  # of the search for a radius
FEW_BOXES = 64  # of that on steps
BEYOND = 1e-9  # of a step, which rounding may bring
CLOSE = 1e-12  # of a distance: what is no nearer is not looked for
STEPS = 200  # of a bisection, at most
SIZES = (1 << 12, 1 << 16)  # of the lattices that noise is added up on
TAIL = 8.0  # standard deviations, beyond which there is next to nothing
ROUNDING = 1e-12


class Way(NamedTuple):
    """Between two distances of a number: what is lost at the first, and more per unit.

    With a grain, at multiples of it from the first on.
    """

    near: float
    far: float
    start: float
    rate: float
    grain: float = 0.0

    def at(self, u: float) -> float:
        """What is lost within a distance."""
        return self.start + self.rate * self._gone(min(u, self.far)) if self.rate else self.start

    def _gone(self, u: float) -> float:
        """How far beyond its beginning a distance leads."""
        if not self.grain:
            return u - self.near
        return self.grain * math.floor((u - self.near) / self.grain * (1.0 + BEYOND) + BEYOND)

    def best(self, price: float, power: int) -> tuple[float, float]:
        """The least u^power − price · loss on it, and where."""
        u = price * self.rate / 2.0 if power == 2 else (self.far if price * self.rate > 1 else 0.0)
        u = min(max(u, self.near), self.far)
        if not self.grain:
            return u**power - price * self.at(u), u
        low = self.near + self._gone(u)
        both = (low, min(low + self.grain, self.far))
        return min((v**power - price * self.at(v), v) for v in both)

    def within(self, u: float) -> Way:
        """What of it is no further than a distance."""
        return self._replace(far=self.near + self._gone(u) if self.grain else u)

    def parted(self, u: float) -> tuple[Way, Way]:
        """What is no further than a distance, and what is."""
        last = self.near + self._gone(u)
        after = last + self.grain
        return self._replace(far=last), self._replace(near=after, start=self.at(after))


class Line(NamedTuple):
    """The points of one number that may move, towards the wanted class."""

    value: float
    scale: float
    ends: Floats  # cell c is (ends[c], ends[c + 1]]
    points: Floats  # of each known cell
    slopes: Floats
    step: float = 0.0  # by which it moves; by anything if it is 0
    down: float = -math.inf  # steps
    up: float = math.inf

    @property
    def straight(self) -> bool:
        """Whether noise of it is Gaussian noise of the sum."""
        return len(self.points) == 1 and not self.step

    @property
    def worth(self) -> float:
        """Its points where it is."""
        c = int(self.ends[1:-1].searchsorted(self.value))
        return float(self.points[c] + self.slopes[c] * self.value)

    @property
    def ways(self) -> list[Way]:
        """From its value into each cell, and both ways within its own; ends belong to both."""
        if self.step:
            return self._by_steps
        found = [Way(0.0, 0.0, 0.0, 0.0)]
        for c, (a, b) in enumerate(itertools.pairwise(self.ends.tolist())):
            for sign, start, end in ((-1.0, min(b, self.value), a), (1.0, max(a, self.value), b)):
                near, far = (abs(x - self.value) / self.scale for x in (start, end))
                rate = -sign * float(self.slopes[c]) * self.scale
                if sign * (end - start) > 0 and sign * (start - self.value) >= 0:
                    lost = self.worth - float(self.points[c] + self.slopes[c] * start)
                    far, rate = (far, rate) if rate > 0 else (near, 0.0)
                    found.append(Way(near, far, lost, rate))
        return [way for way in found if way.start > 0 or way.rate > 0 or way.near == 0.0]

    @property
    def _by_steps(self) -> list[Way]:
        """The same where it moves by steps: to the first in each cell, and on to the last."""
        found, grain = [Way(0.0, 0.0, 0.0, 0.0)], self.step / self.scale
        counts = steps_to(self.value, self.step, self.ends)
        for c, (first, last) in enumerate(itertools.pairwise(counts.tolist())):
            a, b = max(first + 1.0, self.down), min(last, self.up)
            for sign, start, end in ((-1.0, min(b, -1.0), a), (1.0, max(a, 1.0), b)):
                if sign * (end - start) < 0:
                    continue
                rate = -sign * float(self.slopes[c]) * self.scale
                value = self.value + start * self.step
                lost = self.worth - float(self.points[c] + self.slopes[c] * value)
                near, far = (abs(k) * grain for k in (start, end))
                far, rate = (far, rate) if rate > 0 else (near, 0.0)
                found.append(Way(near, far, lost, rate, grain))
        return [way for way in found if way.start > 0 or way.rate > 0 or way.near == 0.0]

    def least(self, values: Floats, room: float) -> Floats:
        """The least points within a room of each value; cells are taken with their ends."""
        hair = ROUNDING * (np.abs(values) + room)  # a step may lie on an edge but for rounding
        low, high = values - room, values + room
        least = np.full(len(values), math.inf)
        cells = zip(self.ends[:-1], self.ends[1:], self.points, self.slopes, strict=True)
        for a, b, points, slope in cells:
            inside = (low - hair <= b) & (high > a)
            for end in (np.maximum(a, low[inside]), np.minimum(b, high[inside])):
                least[inside] = np.minimum(least[inside], points + slope * end)
        return least


# ---------------------------------------------------------------- the radius


def radius(lines: Sequence[Line], margin: float, norm: str, boxes: float = math.inf) -> Radius:
    """The least distance at which the margin may be lost; of a search at most so many boxes."""
    ways = [line.ways for line in lines]
    if all(line.straight for line in lines):
        rates = [max((way.rate for way in each), default=0.0) for each in ways]
        dual = {"linf": math.fsum(rates), "l2": math.hypot(*rates), "l1": max(rates, default=0.0)}
        return Radius(margin / dual[norm] if dual[norm] > 0 else math.inf)
    box = _box(ways, margin)
    if norm == "linf" or math.isinf(box):
        return Radius(box)
    power = 2 if norm == "l2" else 1
    least, exact = _nearest(ways, margin, power, len(ways) * box**power, boxes)
    return Radius(least ** (1.0 / power), exact)


def _box(ways: Sequence[Sequence[Way]], margin: float) -> float:
    """The least distance within which all together lose the margin."""

    def lost(u: float) -> float:
        return math.fsum(max(w.at(u) for w in each if w.near <= u) for each in ways)

    low, high = 0.0, 1.0
    if lost(low) >= margin:
        return 0.0
    starts = sorted({way.near for each in ways for way in each})
    while lost(high) < margin:
        if high > starts[-1] and not any(w.rate > 0 and w.far > high for e in ways for w in e):
            return math.inf
        low, high = high, 2.0 * high
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if lost(middle) >= margin else (middle, high)
    return _on_steps(ways, high)


def _on_steps(ways: Sequence[Sequence[Way]], found: float) -> float:
    """A distance that was found but for rounding, where it is one of steps."""
    stepped = [w for each in ways for w in each if w.grain and w.near <= found * (1.0 + 2 * BEYOND)]
    near = [w.near + w.grain * round((found - w.near) / w.grain) for w in stepped]
    best = min(near, key=lambda u: abs(u - found), default=found)
    return best if abs(best - found) <= 4 * BEYOND * (1.0 + found) else found


class _Part(NamedTuple):
    """Some of the ways of each number; the heap gives what is nearest first."""

    bound: float
    order: int
    ways: tuple[tuple[Way, ...], ...]
    split: tuple[int, Way, float] | None  # a number, a way of it, and where to part that, or −1


def _nearest(
    ways: Sequence[Sequence[Way]], margin: float, power: int, known: float, boxes: float
) -> tuple[float, bool]:
    """The least Σ u^power at which the margin is lost, by branch and bound over the ways.

    Where numbers move by steps that are many, or so many boxes are not enough, it is what the least
    is at least, and False.
    """
    far = known ** (1.0 / power)
    stepped = any(way.grain for each in ways for way in each)
    whole = tuple(
        tuple(way if way.far <= far else way.within(far) for way in each if way.near <= far)
        for each in ways
    )
    order, best = itertools.count(), known
    heap: list[_Part] = []

    def add(part: tuple[tuple[Way, ...], ...]) -> None:
        nonlocal best
        bound, split, cost = _priced(part, margin, power)
        best = min(best, cost)
        if split is not None and bound < best * (1.0 - CLOSE):
            heapq.heappush(heap, _Part(bound, next(order), part, split))

    add(whole)
    most = FEW_BOXES if stepped else MOST_BOXES
    for _ in range(int(min(boxes, most))):
        if not heap or heap[0].bound >= best * (1.0 - CLOSE):
            return best, True
        part = heapq.heappop(heap)
        assert part.split is not None
        f, way, at = part.split
        rest = tuple(each for each in part.ways[f] if each != way)
        if at >= 0:
            near, beyond = way.parted(at)
            halves: tuple[tuple[Way, ...], ...] = ((*rest, near), (*rest, beyond))
        else:
            halves = ((way,), rest)
        for mine in halves:
            add((*part.ways[:f], mine, *part.ways[f + 1 :]))
    if not heap or heap[0].bound >= best * (1.0 - CLOSE):
        return best, True
    if stepped or boxes < most:
        return min(heap[0].bound, best), False
    raise MemoryError("the search for a loss of the decision held too many boxes to finish it")


def _priced(
    ways: tuple[tuple[Way, ...], ...], margin: float, power: int
) -> tuple[float, tuple[int, Way, float] | None, float]:
    """A lower bound, a way to part a number's others from, and what a loss of the margin costs.

    At a price of the loss each number goes its own best way; what is bought at the price below the
    best one is too little, and enough at the one above. Where both go the same ways, so does what
    lies between them, and nothing is nearer.
    """

    def bought(price: float) -> tuple[list[tuple[Way, float]], float, float]:
        found, value, lost = [], price * margin, 0.0
        for each in ways:
            (least, u), way = min(((way.best(price, power), way) for way in each), key=_first)
            found.append((way, u))
            value, lost = value + least, lost + way.at(u)
        return found, value, lost

    low, high = 0.0, 1.0
    while bought(high)[2] < margin:
        if high > 1e30:  # even all together do not lose it
            return math.inf, None, math.inf
        high *= 4.0
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if bought(middle)[2] >= margin else (middle, high)
    (below, under, less), (above, over, more) = bought(low), bought(high)
    bound = max(under, over)
    cost = math.fsum(u**power for _, u in above)
    for f, ((way, a), (other, b)) in enumerate(zip(below, above, strict=True)):
        if way != other:
            return bound, (f, other, -1.0), cost
        if way.grain and a != b:
            return bound, (f, way, min(a, b)), cost
    if all(a == b for (_, a), (_, b) in zip(below, above, strict=True)):
        return bound, None, cost
    share = (margin - less) / (more - less) if more > less else 1.0
    between = (a + share * (b - a) for (_, a), (_, b) in zip(below, above, strict=True))
    return bound, None, math.fsum(u**power for u in between)


def _first(found: tuple[tuple[float, float], Way]) -> float:
    return found[0][0]


# ---------------------------------------------------------------- noise


def noise(
    lines: Sequence[Line], deviations: Sequence[float], margin: float, tolerance: float
) -> tuple[float, float]:
    """The probability that noise leaves some of the margin, and how far it may be off.

    Straight lines make one Gaussian. What has cells is added up on a lattice, rounded down for a
    lower bound and up for an upper one.
    """
    both = list(zip(lines, deviations, strict=True))
    spread = math.hypot(*(float(line.slopes[0]) * s for line, s in both if line.straight))
    cut = [(line, s) for line, s in both if not line.straight]
    if not cut:
        kept = float(ndtr(margin / spread)) if spread > 0 else float(margin >= 0)
        return kept, ROUNDING
    for size in SIZES:
        parts = [_spread(line, s, size) for line, s in cut]
        ends = [_kept(parts, spread, margin, size, up) for up in (False, True)]
        if ends[1] - ends[0] <= 2.0 * tolerance:
            break
    return (ends[0] + ends[1]) / 2.0, (ends[1] - ends[0]) / 2.0 + ROUNDING


def _spread(line: Line, deviation: float, size: int) -> tuple[Floats, Floats, Floats]:
    """The probability of each small part of a number's range, and what is lost there: from, to.

    A cell without a slope is no part smaller. What lies beyond `TAIL` is left out.
    """
    parts = size if line.slopes.any() else 1
    if line.step:
        return _stepped(line, deviation, parts)
    fine = line.value + deviation * np.linspace(-TAIL, TAIL, parts + 1)
    inner = line.ends[1:-1]
    where = np.unique(np.concatenate([fine, inner[(inner > fine[0]) & (inner < fine[-1])]]))
    mass = np.diff(ndtr((where - line.value) / deviation))
    c = inner.searchsorted(where[1:])
    lost = [line.worth - (line.points[c] + line.slopes[c] * end) for end in (where[:-1], where[1:])]
    return mass, np.minimum(*lost), np.maximum(*lost)


def _stepped(line: Line, deviation: float, size: int) -> tuple[Floats, Floats, Floats]:
    """The same of a number that moves by steps: a part has some of them, within one cell."""
    far = max(math.ceil(TAIL * deviation / line.step), 1)
    ends = np.linspace(-far - 1, far, min(2 * far + 1, size) + 1).round()  # the last of each part
    turns = steps_to(line.value, line.step, line.ends[1:-1])
    last = np.unique(np.concatenate([ends, turns[(turns > ends[0]) & (turns < ends[-1])]]))
    last = np.unique(np.clip(last, line.down - 1.0, line.up))
    first, last = last[:-1] + 1.0, last[1:]
    before = np.where(first <= line.down, -math.inf, (first - 0.5) * line.step)
    after = np.where(last >= line.up, math.inf, (last + 0.5) * line.step)
    mass = ndtr(after / deviation) - ndtr(before / deviation)
    c = turns.searchsorted(last)
    lost = [
        line.worth - (line.points[c] + line.slopes[c] * (line.value + k * line.step))
        for k in (first, last)
    ]
    return mass, np.minimum(*lost), np.maximum(*lost)


def _kept(
    cut: Sequence[tuple[Floats, Floats, Floats]], spread: float, margin: float, size: int, up: bool
) -> float:
    """A bound, from above or from below, on the probability that some of the margin is left."""
    from scipy import fft

    least = [float(low.min()) for _, low, _ in cut]
    width = math.fsum(float(high.max()) - a for (_, _, high), a in zip(cut, least, strict=True))
    step = (width or 1.0) / size
    parts = []
    for (mass, low, high), a in zip(cut, least, strict=True):
        where = np.floor((low - a) / step) if up else np.ceil((high - a) / step)
        parts.append(np.bincount(where.astype(np.int64), mass))
    many = sum(map(len, parts)) - len(parts) + 1  # places of the sum
    long = fft.next_fast_len(many, real=True)
    product = math.prod(fft.rfft(part, long) for part in parts)
    total = fft.irfft(product, long)[:many].clip(0.0)
    left = margin - math.fsum(least) - step * np.arange(len(total))
    kept = ndtr(left / spread) if spread > 0 else (left >= 0).astype(float)
    outside = len(cut) * len(total) * 1e-15  # the tails, and the rounding of the transforms
    return min(max(float(total @ kept) + (outside if up else -outside), 0.0), 1.0)
