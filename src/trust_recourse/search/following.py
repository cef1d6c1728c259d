"""Columns that follow from others, compiled: what their inputs leave of them.

Notation as in `arrays`. A candidate of a derived column stands for the values after `raw_low` up to
`raw_high`, before rounding. For each such column `follows` has a record: its length, the column,
its shape, the candidates of its own value and of a missing one, how many inputs and parts it has;
then each input with the same two candidates; then each part, a sum: how many terms, where its
numbers begin in `formulas` (the constant, then a weight and an origin for each term), and their
inputs. A candidate that is not there is −1. The arithmetic is that of `schema.derived`, to the same
bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.cells import Candidates, Floats, Ints, inline, inner
from trust_recourse.schema import ActionSet
from trust_recourse.schema.derived import Follows, before_rounding
from trust_recourse.search.arrays import FAILED, LOST

SUM, RATIO, LEAST, GREATEST = range(4)
SHAPES = {"sum": SUM, "moves": SUM, "ratio": RATIO, "min": LEAST, "max": GREATEST}
LENGTH, COLUMN, SHAPE, OWN, BLANK, INPUTS, PARTS, HEAD = range(8)


# ---------------------------------------------------------------- the arrays


class Following(NamedTuple):
    """The arrays of a person's derived columns."""

    follows: Ints = np.empty(0, np.int64)
    formulas: Floats = np.empty(0)
    raw_low: Floats = np.empty(0)
    raw_high: Floats = np.empty(0)

    @property
    def columns(self) -> list[int]:
        """The derived columns themselves."""
        found, at = [], 0
        while at < len(self.follows):
            found.append(int(self.follows[at + COLUMN]))
            at += int(self.follows[at + LENGTH])
        return found


def following(
    action_set: ActionSet,
    features: Sequence[Candidates],
    ends: Sequence[Floats],
    follows: Sequence[Follows],
) -> Following:
    """The arrays of some derived columns; `ends` are those of the cells of every column."""
    records: list[int] = []
    formulas: list[float] = []
    n = sum(len(each.codes) for each in features) if follows else 0
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    first = np.cumsum([0, *(len(each.codes) for each in features)])
    for each in follows:
        codes, edges = features[each.at].codes, ends[each.at]
        raw = np.array([before_rounding(float(edge), each.step) for edge in edges])
        at = np.searchsorted(edges, codes[~np.isnan(codes)])
        known = slice(first[each.at], first[each.at] + len(at))
        low[known], high[known] = raw[at - 1], raw[at]
        least, most = action_set.allowed_raw(each)
        np.maximum(low[known], least, out=low[known])
        np.minimum(high[known], most, out=high[known])
        records += _record(each, features, formulas)
    return Following(np.array(records, np.int64), np.array(formulas), low, high)


def _record(each: Follows, features: Sequence[Candidates], formulas: list[float]) -> list[int]:
    place = dict(zip(each.formula.names, each.inputs, strict=True))
    told = [each.at, SHAPES[each.formula.shape], *_marks(features[each.at].codes, each.base)]
    told += [len(each.inputs), len(each.formula.parts)]
    for g, own in zip(each.inputs, each.own.tolist(), strict=True):
        told += [g, *_marks(features[g].codes, own)]
    moves = each.formula.shape == "moves"
    origin = dict(zip(each.formula.names, each.own.tolist(), strict=True))
    for part in each.formula.parts:
        told += [len(part.terms), len(formulas), *(place[name] for name, _ in part.terms)]
        formulas.append(each.base if moves else part.constant)
        for name, weight in part.terms:
            formulas += [weight, origin[name] if moves else 0.0]
    return [len(told) + 1, *told]


def _marks(codes: Floats, own: float) -> tuple[int, int]:
    """The candidates of one's own value and of a missing one."""
    blank = np.flatnonzero(np.isnan(codes))
    mine = blank if np.isnan(own) else np.flatnonzero(codes == own)
    return (int(mine[0]) if len(mine) else -1), (int(blank[0]) if len(blank) else -1)


# ---------------------------------------------------------------- what inputs leave


@inline
def _ends(task: Any, at: int, g: int, box: Any, base: int, off: int) -> tuple[float, float]:
    """The least and greatest known code of an input; in reverse if there is none.

    Its candidates are from box[base + g] to box[base + off + g]: of a point, off is 0.
    """
    first, last = box[base + g], box[base + off + g]
    for k in range(task.follows[at + INPUTS]):
        i = at + HEAD + 3 * k
        if task.follows[i] == g and last == task.follows[i + 2]:
            last -= 1
    if last < first:
        return np.inf, -np.inf
    return task.codes[task.offset[g] + first], task.codes[task.offset[g] + last]


@inline
def _sum(task: Any, at: int, part: int, box: Any, base: int, off: int) -> tuple[float, float, bool]:
    """The least and greatest value of a part, and whether its inputs are known somewhere."""
    start = task.follows[part + 1]
    low = high = task.formulas[start]
    known = True
    for k in range(task.follows[part]):
        weight, origin = task.formulas[start + 1 + 2 * k], task.formulas[start + 2 + 2 * k]
        a, b = _ends(task, at, task.follows[part + 2 + k], box, base, off)
        known = known and a <= b
        if weight > 0.0:
            low, high = low + weight * (a - origin), high + weight * (b - origin)
        else:
            low, high = low + weight * (b - origin), high + weight * (a - origin)
    return low, high, known


@inner
def _between(task: Any, at: int, box: Any, base: int, off: int) -> tuple[float, float]:
    """The least and greatest value of a column before rounding; in reverse if there is none."""
    part = at + HEAD + 3 * task.follows[at + INPUTS]
    low, high, known = _sum(task, at, part, box, base, off)
    shape = task.follows[at + SHAPE]
    for _ in range(task.follows[at + PARTS] - 1):
        part += 2 + task.follows[part]
        a, b, more = _sum(task, at, part, box, base, off)
        known = known and more
        if shape == LEAST:
            low, high = min(low, a), min(high, b)
        elif shape == GREATEST:
            low, high = max(low, a), max(high, b)
        elif a <= 0.0 <= b:
            if a == b and low == high:
                return np.inf, -np.inf
            low, high = -np.inf, np.inf
        else:
            one, two, three, four = low / a, low / b, high / a, high / b
            low = min(min(one, two), min(three, four))
            high = max(max(one, two), max(three, four))
    if not known or not low <= high:
        return np.inf, -np.inf
    return low, high


@inline
def _unchanged(task: Any, at: int, box: Any, base: int, off: int) -> tuple[bool, bool]:
    """Whether all inputs may be one's own, and whether each has one candidate only."""
    own, single = True, True
    for k in range(task.follows[at + INPUTS]):
        i = at + HEAD + 3 * k
        g = task.follows[i]
        first, last = box[base + g], box[base + off + g]
        own = own and first <= task.follows[i + 1] <= last
        single = single and first == last
    return own, single


@inline
def _first_from(task: Any, f: int, raw: float) -> int:
    """The first candidate of a column that has values from a number on."""
    low, high = task.offset[f], task.offset[f + 1]
    while low < high:
        middle = (low + high) >> 1
        if task.raw_high[middle] < raw:
            low = middle + 1
        else:
            high = middle
    return int(low - task.offset[f])


@inner
def _candidate(task: Any, at: int, point: Any, base: int) -> int:
    """The candidate of a derived column that a point's inputs make; −1 if there is none."""
    f = task.follows[at + COLUMN]
    own, _ = _unchanged(task, at, point, base, 0)
    if own:
        return int(task.follows[at + OWN])
    raw, high = _between(task, at, point, base, 0)
    if not raw <= high:
        return int(task.follows[at + BLANK])
    k = _first_from(task, f, raw)
    inside = k < task.offset[f + 1] - task.offset[f] and task.raw_low[task.offset[f] + k] < raw
    return k if inside and k != task.follows[at + BLANK] else -1


@inner
def narrow_followers(task: Any, store: Any, slot: int) -> bool:
    """Leave derived columns what their inputs allow in a box, and these what keeps them there.

    False if that is nothing.
    """
    d, at = task.offset.shape[0] - 1, 0
    base = slot * 2 * d
    while at < task.follows.shape[0]:
        f = task.follows[at + COLUMN]
        first, last = np.int64(2**62), np.int64(-1)
        low, high = _between(task, at, store.box, base, d)
        own, single = _unchanged(task, at, store.box, base, d)
        if single:
            k = np.int64(_candidate(task, at, store.box, base))
            if k >= 0:
                first = last = k
        elif low <= high:
            first = _first_from(task, f, low)
            last = _first_from(task, f, high)
            if last == task.offset[f + 1] - task.offset[f] or not (
                task.raw_low[task.offset[f] + last] < high
            ):
                last -= 1
        unknown = low == -np.inf or not low <= high  # what cannot be computed is missing
        for i in range(at + HEAD, at + HEAD + 3 * task.follows[at + INPUTS], 3):
            unknown = unknown or store.box[base + d + task.follows[i]] == task.follows[i + 2]
        for mark in range(OWN, BLANK + 1):
            k = task.follows[at + mark]
            if k >= 0 and not single and (own if mark == OWN else unknown):
                first, last = min(first, k), max(last, k)
        first = max(first, np.int64(store.box[base + f]))
        last = min(last, np.int64(store.box[base + d + f]))
        if first > last:
            return False
        store.box[base + f], store.box[base + d + f] = first, last
        if not first <= task.follows[at + BLANK] <= last:
            _narrow_inputs(task, store, slot, at, own and first <= task.follows[at + OWN] <= last)
        at += task.follows[at + LENGTH]
    return True


@inline
def _narrow_inputs(task: Any, store: Any, slot: int, at: int, stays: bool) -> None:
    """Take values off the ends of inputs that bring a derived column out of its range in a box.

    Where nothing need be changed, one's own stay.
    """
    d, f = task.offset.shape[0] - 1, task.follows[at + COLUMN]
    base = slot * 2 * d
    low = task.raw_low[task.offset[f] + store.box[base + f]]
    high = task.raw_high[task.offset[f] + store.box[base + d + f]]
    for i in range(at + HEAD, at + HEAD + 3 * task.follows[at + INPUTS], 3):
        g, mine = task.follows[i], task.follows[i + 1]
        for end in range(2):
            a, b = store.box[base + g], store.box[base + d + g]
            less, more = 0, b - a + 1  # so many may go, so many may not
            if stays:
                more = mine - a + 1 if end == 0 else b - mine + 1
            many = 1
            while less < many < more:
                if end == 0:
                    store.box[base + d + g] = a + many - 1
                else:
                    store.box[base + g] = b - many + 1
                least, most = _between(task, at, store.box, base, d)
                if most > low and least <= high:
                    more = many
                else:
                    less = many
                many = (less + more) >> 1
            store.box[base + g] = a if end == 1 else a + less
            store.box[base + d + g] = b if end == 0 else b - less
            if less > 0:  # another corner, not yet tried
                store.mark[slot] &= ~(FAILED | LOST)


@inner
def settle(task: Any, store: Any, slot: int, point: Any) -> bool:
    """Give a point's derived columns what its inputs make; False if that lies beyond the box."""
    d, at = point.shape[0], 0
    settled = True
    while at < task.follows.shape[0]:
        f, k = task.follows[at + COLUMN], _candidate(task, at, point, 0)
        if store.box[slot * 2 * d + f] <= k <= store.box[slot * 2 * d + d + f]:
            point[f] = k
        else:
            settled = False
        at += task.follows[at + LENGTH]
    return settled


@inner
def way_in(task: Any, store: Any, slot: int, corner: Any) -> tuple[int, int]:
    """Where to cut a box whose corner makes a derived column lie beyond it: feature and candidate.

    What lies beyond the cut begins with the cheapest value of one input that brings it there, the
    others at the corner; without any, it is the middle of the widest input. The feature is −1 where
    the corner makes it lie within.
    """
    d, at = corner.shape[0], 0
    while at < task.follows.shape[0]:
        f = task.follows[at + COLUMN]
        first, last = store.box[slot * 2 * d + f], store.box[slot * 2 * d + d + f]
        if not first <= _candidate(task, at, corner, 0) <= last:
            least, feature, cut, widest = np.inf, -1, 0, -1
            low, high = task.raw_low[task.offset[f] + first], task.raw_high[task.offset[f] + last]
            for i in range(task.follows[at + INPUTS]):
                g = task.follows[at + HEAD + 3 * i]
                a, b, mine = store.box[slot * 2 * d + g], store.box[slot * 2 * d + d + g], corner[g]
                if b > a and (widest < 0 or b - a > _wide(store, slot, d, widest)):
                    widest = g
                for end in (a, b):
                    c = _nearest(task, at, corner, g, mine, end, low, high)
                    more = task.costs[task.offset[g] + c] - task.costs[task.offset[g] + mine]
                    if c != mine and more < least:
                        least, feature, cut = more, g, c - 1 if c > mine else c
            if feature >= 0:
                return feature, cut
            if widest >= 0:
                return widest, store.box[slot * 2 * d + widest] + (
                    _wide(store, slot, d, widest) >> 1
                )
        at += task.follows[at + LENGTH]
    return -1, 0


@inline
def _nearest(
    task: Any, at: int, point: Any, g: int, mine: int, end: int, low: float, high: float
) -> int:
    """The candidate of an input, on the way to an end, that brings a column within its range.

    It is the point's own if none does. Columns rise or fall with an input all the way, or nearly.
    """
    raw, _ = _between(task, at, point, 0, 0)
    up = raw <= low
    if not up and not raw > high:
        return mine
    point[g] = end
    raw, _ = _between(task, at, point, 0, 0)
    near, far = mine, end
    if not (raw > low if up else raw <= high):
        far = mine
    while abs(far - near) > 1:
        point[g] = (near + far) >> 1
        raw, _ = _between(task, at, point, 0, 0)
        if raw > low if up else raw <= high:
            far = point[g]
        else:
            near = point[g]
    point[g] = mine
    return far


@inline
def _wide(store: Any, slot: int, d: int, f: int) -> Any:
    return store.box[slot * 2 * d + d + f] - store.box[slot * 2 * d + f]
