"""Ranges: around an answer, a box of allowed values on which what was asked still holds.

Each feature that changed and has an order gets an interval of values around the answer's; all else
stays as it is in the answer, and derived columns follow. Every row of the box must be an allowed
change whose confidence meets the target.

Notation. The allowed values of a feature around the answer's are cut into **places**, ascending:
runs of values that nothing tells apart. That is a cell, or a single value where a relation, a
derived column or a slope looks at it. A box has the places from i to j of each feature.

A part of a good box is good, so the ends are all there is to look for. A least width w leaves each
feature its **placements**: for every first place i the least j that makes it as wide. Whether some
placements together are good is found by halving their ranges: where what all of a range have in
common is bad, none of it is good, and where all of it together is good, so is each. The greatest
such w is found by bisection over the widths that there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trust_recourse.io import cancel
from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import Candidates
from trust_recourse.question import Target, changed
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, Feature, FeatureActions
from trust_recourse.schema.actions import MOST_LISTED
from trust_recourse.schema.derived import Follows
from trust_recourse.schema.multiples import moved, multiple_above, multiple_below
from trust_recourse.search.candidates import candidates, multiples
from trust_recourse.search.counterexample import counterexample
from trust_recourse.search.following import following

ORDERED = ("number", "integer", "ordinal")
DOUBLINGS = 20  # of a step: values of a number with a slope are not looked at further out

Box = tuple[tuple[int, int], ...]  # the first and the last place of each axis
Placed = tuple[int, int]  # the first and the last of the first places that are left to choose from


class Range(NamedTuple):
    """From where to where a feature may go, in codes; infinite where there is no end."""

    feature: int
    low: float
    high: float


class Axis(NamedTuple):
    """The places of one feature: their ends, a code and its cell in each, and the answer's."""

    feature: int
    scale: float
    least: Floats
    most: Floats
    codes: Floats
    cells: Cells
    home: int
    whole: bool  # whether every place is a single value

    def width(self, i: int, j: int) -> float:
        """From the first place to the last, in units of the scale."""
        return float((self.most[j] - self.least[i]) / self.scale)

    def last(self, i: Ints, j: int, width: float) -> Ints:
        """For each first place the least last one from j on that makes it as wide."""
        with np.errstate(invalid="ignore"):  # ∞ less ∞
            found = np.maximum(self.most.searchsorted(self.least[i] + width * self.scale), j)
            before = np.maximum(found - 1, j)  # sums are rounded
            found = np.where(self._widths(i, before) >= width, before, found)
            found = np.where(self._widths(i, found) < width, found + 1, found)
        return np.where(np.isinf(self.least[i]), j, found)

    def _widths(self, i: Ints, j: Ints) -> Floats:
        known = np.minimum(j, len(self.most) - 1)
        return np.where(j == known, (self.most[known] - self.least[i]) / self.scale, np.nan)


def ranges(
    score: Score,
    action_set: ActionSet,
    cost: Cost,
    target: Target,
    codes: Floats,
    first: int | None = None,
) -> list[Range]:
    """The range of each feature that an answer changes, but those that follow from others.

    Of all good boxes around the answer this is one whose least width, over the features that have
    an order, is the greatest; or, of a feature that comes `first`, one that is the widest in it.
    Then the narrowest grows as far as it can beside the others, and so on with what is left, until
    no end can be moved to the next value.
    """
    search = _Search(score, action_set, cost, target, codes)
    place = {axis.feature: k for k, axis in enumerate(search.axes)}
    box, left = search.home, list(range(len(search.axes)))
    alone = [] if first is None else [place[first]]
    while left:
        box = search.widest(box, alone or left)
        widths = {k: search.axes[k].width(*box[k]) for k in alone or left}
        narrow = min(widths, key=lambda k: widths[k])
        box = search.widest(box, [narrow])
        for side in (0, 1):
            box = _with(box, narrow, search.furthest(box, narrow, side))
        left.remove(narrow)
        alone = []
    ends = {
        axis.feature: (float(axis.least[i]), float(axis.most[j]))
        for axis, (i, j) in zip(search.axes, box, strict=True)
    }
    return [Range(f, *ends.get(f, (codes[f], codes[f]))) for f in search.moved]


def loss_within(
    score: Score,
    action_set: ActionSet,
    cost: Cost,
    target: Target,
    codes: Floats,
    given: Sequence[Range],
) -> Floats | None:
    """A row within ranges around an answer that does not meet the target; None if all do.

    For a model that may be another than the one that the ranges were found for.
    """
    search, at = _Search(score, action_set, cost, target, codes), []
    ends = {each.feature: (each.low, each.high) for each in given}
    for axis in search.axes:
        low, high = ends[axis.feature]
        for code, beyond, end in (
            (axis.codes[0], low < axis.least[0], low), (axis.codes[-1], high > axis.most[-1], high)
        ):  # fmt: skip
            row = codes.copy()
            row[axis.feature] = code
            # of a slope that goes on for ever only what comes before its first loss is listed
            if beyond and (math.isinf(end) or not target.met(float(score.at_codes(row[None])[0]))):
                return action_set.completed(row)
        first, last = axis.most.searchsorted(low), axis.least.searchsorted(high, "right") - 1
        at.append(search._telling(axis, int(first), int(last)))
    found, row = search._loss(at), codes.copy()
    if found is None:
        return None
    for axis, places in zip(search.axes, at, strict=True):
        low, high = ends[axis.feature]
        row[axis.feature] = np.clip(axis.codes[places[found[axis.feature]]], low, high)
    return action_set.completed(row)


class _Search:
    """The boxes around one answer, and what is known of them."""

    def __init__(
        self, score: Score, action_set: ActionSet, cost: Cost, target: Target, codes: Floats
    ) -> None:
        self.score, self.action_set, self.cost, self.codes = score, action_set, cost, codes
        self.least, self.most = target.interval
        schema = action_set.schema
        away = changed(action_set.own, codes)
        self.moved = [f for f in sorted(away) if not schema[f].derived]
        self.axes = [self._axis(f) for f in self.moved if schema[f].kind in ORDERED]
        self.home: Box = tuple((axis.home, axis.home) for axis in self.axes)
        self._good: list[Box] = [self.home]
        self._bad: list[Box] = []  # of which all that holds one is bad

    # ------------------------------------------------------------ wider boxes

    def widest(self, box: Box, which: Sequence[int]) -> Box:
        """A good box around a good one whose least width over some axes is the greatest."""
        ends = [(self.furthest(box, k, 0)[0], self.furthest(box, k, 1)[1]) for k in which]
        most = min(self.axes[k].width(*at) for k, at in zip(which, ends, strict=True))
        best, low = box, self._narrowest(box, which)
        width, high = most, math.inf  # what is looked for, and what no good box is
        while low < width:
            found = self._placed(box, which, ends, width)
            if found is None:
                high = width
            else:
                best, low = found, self._narrowest(found, which)
            after = min(self._next(box, k, at, low) for k, at in zip(which, ends, strict=True))
            if after >= high or after > most:
                break
            width = max(after, (low + high) / 2.0 if high < math.inf else 2.0 * low + 1.0)
        return best

    def _narrowest(self, box: Box, which: Sequence[int]) -> float:
        return min(self.axes[k].width(*box[k]) for k in which)

    def furthest(self, box: Box, k: int, side: int) -> tuple[int, int]:
        """The ends of an axis with one of them as far out as it can be."""
        first, last = box[k]
        many = first if side == 0 else len(self.axes[k].codes) - 1 - last

        def ends(n: int) -> tuple[int, int]:
            return (first - n, last) if side == 0 else (first, last + n)

        good, bad = 0, many + 1
        while bad - good > 1:  # the next is looked at first, then all of them
            n = 1 if good == 0 else many if bad > many else (good + bad) // 2
            good, bad = (n, bad) if self.holds(_with(box, k, ends(n))) else (good, n)
        return ends(good)

    def _next(self, box: Box, k: int, ends: tuple[int, int], width: float) -> float:
        """The least width of an axis, within its ends, that is more than a given one."""
        axis, first = self.axes[k], np.arange(ends[0], box[k][0] + 1)
        last = axis.last(first, box[k][1], math.nextafter(width, math.inf))
        near = last <= ends[1]
        if not near.any():
            return math.inf
        return float(((axis.most[last[near]] - axis.least[first[near]]) / axis.scale).min())

    def _placed(
        self, box: Box, which: Sequence[int], ends: Sequence[tuple[int, int]], width: float
    ) -> Box | None:
        """A good box around a good one that is so wide in some axes; None if there is none."""
        lasts = []
        for k, (first, end) in zip(which, ends, strict=True):
            last = self.axes[k].last(np.arange(first, box[k][0] + 1), box[k][1], width)
            lasts.append((first, last[last <= end].tolist()))
        if not all(last for _, last in lasts):
            return None
        waiting: list[tuple[Placed, ...]] = [tuple((0, len(last) - 1) for _, last in lasts)]
        while waiting:
            cancel.check()
            part = waiting.pop()
            common = whole = box
            for k, (a, b), (first, last) in zip(which, part, lasts, strict=True):
                common = _with(common, k, (first + b, last[a]))
                whole = _with(whole, k, (first + a, last[b]))
            if not self.holds(common):
                continue
            if self.holds(whole):
                return whole
            n = max(range(len(part)), key=lambda n: part[n][1] - part[n][0])
            a, b = part[n]
            halves = (a, (a + b) // 2), ((a + b) // 2 + 1, b)
            waiting += [(*part[:n], half, *part[n + 1 :]) for half in halves]
        return None

    # ------------------------------------------------------------ is a box good

    def holds(self, box: Box) -> bool:
        """Whether every row of a box is an allowed change that meets the target."""
        if any(_within(bad, box) for bad in self._bad):
            return False
        if any(_within(box, good) for good in self._good):
            return True
        if (found := self._lost(box)) is None:
            self._good.append(box)
            return True
        self._bad.append(found)
        return False

    def _lost(self, box: Box) -> Box | None:
        """A place of each axis where a good box cannot be; or the box, if rules forbid some row."""
        values = [self.codes[f : f + 1] for f in range(len(self.codes))]
        for axis, (i, j) in zip(self.axes, box, strict=True):
            if axis.whole:  # else no rule looks at its values
                values[axis.feature] = axis.codes[i : j + 1]
        if not self.action_set.allows_box(values):
            return box
        at = [self._telling(axis, *ends) for axis, ends in zip(self.axes, box, strict=True)]
        found = self._loss(at)
        if found is None:
            return None
        places = (
            int(these[found[axis.feature]]) for axis, these in zip(self.axes, at, strict=True)
        )
        return tuple((place, place) for place in places)

    def _telling(self, axis: Axis, i: int, j: int) -> Ints:
        """The places among which are the least and the greatest confidence from i to j.

        Along a slope that is at the ends of each cell.
        """
        places: Ints = np.arange(i, j + 1)
        if axis.feature not in self._ended or len(places) < 3:
            return places
        cells = axis.cells[places]
        turns = np.diff(cells) != 0
        return np.asarray(places[np.append(True, turns) | np.append(turns, True)])

    @cached_property
    def _ended(self) -> frozenset[int]:
        """The features with a slope of which the ends of cells tell."""
        tells = self.score.straight or self.most == math.inf
        inputs = {g for each in self._follows for g in each.inputs}
        return frozenset(self.score.sloped) - inputs if tells else frozenset()

    def _loss(self, at: Sequence[Ints]) -> Ints | None:
        """A row at these places that does not meet the target, by its place of each feature."""
        columns = [
            Candidates(codes, cells, np.zeros(1))
            for codes, cells in zip(self.codes[:, None], self._cells[:, None], strict=True)
        ]
        for axis, places in zip(self.axes, at, strict=True):
            codes = axis.codes[places]
            columns[axis.feature] = Candidates(codes, axis.cells[places], np.zeros(len(codes)))
        for each in self._follows:
            columns[each.at] = self._every[each.at]
        score = self.score.on(columns)
        if score is not None:
            columns = [c._replace(cells=np.arange(len(c.codes), dtype=np.int32)) for c in columns]
        grid, sloped = self.score.grid, self.score.sloped
        follows = following(self.action_set, columns, grid, self._follows, columns, sloped)
        return counterexample(
            self.score if score is None else score, [column.cells for column in columns],
            self.least, self.most, columns if self._follows else (), follows,
        )  # fmt: skip

    @cached_property
    def _cells(self) -> Cells:
        return np.asarray(self.score.grid.cells(self.codes[None])[0])

    @cached_property
    def _follows(self) -> list[Follows]:
        """The derived columns that some axis makes another."""
        moving = {axis.feature for axis in self.axes}
        return [each for each in self.action_set.follows if moving.intersection(each.inputs)]

    @cached_property
    def _every(self) -> list[Candidates]:
        """All that every feature may become, of which derived columns need theirs."""
        grid, sloped = self.score.grid, self.score.sloped
        return candidates(grid, self.action_set, self.cost, sloped)

    # ------------------------------------------------------------ places

    def _axis(self, f: int) -> Axis:
        schema, here = self.action_set.schema, float(self.codes[f])
        feature, actions = schema[f], self.action_set.actions[f]
        low, high = _extent(feature, actions, here)
        single = feature.name in schema.related
        if single:
            least = most = _listed(actions, low, high)
        elif f in self.score.sloped:
            least, most = self._along(f, actions, low, high)
        else:
            least, most = _by_cells(feature, actions, self.score.grid.ends(f), low, high)
        home = int(most.searchsorted(here))
        # the end nearer the answer: on a slope that is fine outwards, the least confidence is there
        codes = np.where(np.arange(len(most)) < home, most, least)
        codes[home] = here
        whole = single or bool((least == most).all())
        cells = self.score.grid.cells_in(f, codes)
        return Axis(f, feature.scale, least, most, codes, cells, home, whole)

    def _along(
        self, f: int, actions: FeatureActions, low: float, high: float
    ) -> tuple[Floats, Floats]:
        """The values of a number with a slope; where more is always fine they are one place."""
        here, edges = float(self.codes[f]), self.score.grid.ends(f)[1:-1].tolist()
        below = multiple_below(actions.step, min([here, *edges]))
        above = here
        if edges and here <= edges[-1]:
            above = multiple_above(actions.step, math.nextafter(edges[-1], math.inf))
        outer = []
        for up, beyond, end in ((False, below, low), (True, above, high)):
            fine = self.most == math.inf and self.score.endless(f, up)
            if fine and (beyond < end if up else beyond > end):
                outer.append((beyond, end))
                continue
            far = self._first_loss(f, actions, end)
            outer.append((far, far))
        (low, least), (high, most) = outer  # of the values that are listed, and of all
        values = _listed(actions, low, high)
        lows, highs = values.copy(), values.copy()
        lows[0], highs[-1] = min(least, lows[0]), max(most, highs[-1])
        return lows, highs

    def _first_loss(self, f: int, actions: FeatureActions, end: float) -> float:
        """A value towards an end that alone is a loss, and not far beyond the first; or the end."""
        here, step = float(self.codes[f]), actions.step or 1.0
        sign = 1.0 if end > here else -1.0
        away = moved(np.full(DOUBLINGS, here), step, sign * 2.0 ** np.arange(float(DOUBLINGS)))
        away = away[(away < end) if sign > 0 else (away > end)]
        rows = np.repeat(self.codes[None], len(away), axis=0)
        rows[:, f] = away
        confidence = self.score.at_codes(rows) if len(rows) else np.empty(0)
        lost = np.flatnonzero((confidence < self.least) | (confidence > self.most))
        if len(lost) or math.isinf(end) or abs(end - here) > step * 2.0**DOUBLINGS:
            return float(away[lost[0] if len(lost) else -1])
        return end


def _with(box: Box, k: int, ends: tuple[int, int]) -> Box:
    return (*box[:k], ends, *box[k + 1 :])


def _within(inner: Box, outer: Box) -> bool:
    return all(a >= c and b <= d for (a, b), (c, d) in zip(inner, outer, strict=True))


def _extent(feature: Feature, actions: FeatureActions, here: float) -> tuple[float, float]:
    """From where to where all values around one of them are allowed."""
    if actions.choices is not None:
        return _levels(feature, actions.choices, here)
    low, high, step = actions.lower, actions.upper, actions.step
    if actions.hole is not None and _skips(actions):
        below, above = actions.hole
        low, high = (low, min(high, below)) if here <= below else (max(low, above), high)
    for code in actions.never:
        if multiple_below(step, code) == code and code < here:
            low = max(low, math.nextafter(code, math.inf))
        elif multiple_below(step, code) == code:
            high = min(high, math.nextafter(code, -math.inf))
    low, high = multiple_above(step, low), multiple_below(step, high)
    # one's own value is allowed, too, where it comes next
    if multiple_below(step, math.nextafter(low, -math.inf)) <= actions.own < low:
        low = actions.own
    if high < actions.own <= multiple_above(step, math.nextafter(high, math.inf)):
        high = actions.own
    return low, high


def _skips(actions: FeatureActions) -> bool:
    """Whether the hole holds another value than one's own, so that a range cannot cross it."""
    assert actions.hole is not None
    (below, above), step = actions.hole, actions.step
    if step is None:
        return True
    first = multiple_above(step, math.nextafter(below, math.inf))
    last = multiple_below(step, math.nextafter(above, -math.inf))
    return first <= last and not first == last == actions.own


def _levels(feature: Feature, choices: tuple[float, ...], here: float) -> tuple[float, float]:
    """The same of an ordinal, whose levels may be ruled out one by one."""
    every = map(float, range(len(feature.values)))
    levels = [c for c in every if c in choices or c % (feature.step or 1.0) == 0]
    i = j = levels.index(here)
    while i > 0 and levels[i - 1] in choices:
        i -= 1
    while j < len(levels) - 1 and levels[j + 1] in choices:
        j += 1
    return levels[i], levels[j]


def _listed(actions: FeatureActions, low: float, high: float) -> Floats:
    """Each allowed value from low to high."""
    values = actions.values(max(MOST_LISTED, 2 << DOUBLINGS), low, high)
    return values[(values >= low) & (values <= high)]


def _by_cells(
    feature: Feature, actions: FeatureActions, ends: Floats, low: float, high: float
) -> tuple[Floats, Floats]:
    """The least and the greatest allowed value of each cell that has some."""
    left, right, least, most = multiples(feature, ends)
    least, most = np.maximum(least, low), np.minimum(most, high)
    none = ~((least <= most) & ((least > left) | np.isinf(least)) & (most <= right))
    least[none] = most[none] = math.nan
    if low <= actions.own <= high:  # which need not be a multiple of the step
        at = int(ends[1:-1].searchsorted(actions.own))
        least[at], most[at] = np.fmin(least[at], actions.own), np.fmax(most[at], actions.own)
    known = ~np.isnan(least)
    return least[known], most[known]
