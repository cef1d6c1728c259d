"""What a box leaves of columns that follow from others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trust_recourse.certificate.cover import Boxes
from trust_recourse.certificate.reader import Bools
from trust_recourse.io import cancel
from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.schema import ActionSet
from trust_recourse.schema.derived import Follows
from trust_recourse.schema.multiples import before_rounding

PASSES = 20_000  # over columns and inputs, at most: those that disagree close in by few values


@dataclass(frozen=True, eq=False)
class DerivedColumn:
    """A derived column, and the values, before rounding, that each of its candidates stands for.

    These are those after `low` up to `high`.
    """

    follows: Follows
    codes: tuple[Floats, ...]  # of the candidates of all features
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls, follows: Follows, codes: tuple[Floats, ...], ends: Floats, action_set: ActionSet
    ) -> DerivedColumn:
        """One whose values are cut after each of these ends, the first of which is −∞.

        Beyond its bounds it has none.
        """
        raw = np.array([before_rounding(float(end), follows.step) for end in ends])
        known = codes[follows.at][~np.isnan(codes[follows.at])]
        at = np.searchsorted(ends, known)
        least, most = follows.allowed_raw(action_set.actions)
        return cls(follows, codes, np.maximum(raw[at - 1], least), np.minimum(raw[at], most))

    def ranges(self, boxes: Boxes) -> tuple[Ints, Ints]:
        """The first and the last candidate that each box may have; in reverse if it has none.

        What cannot be computed is missing. Where inputs are one's own, so is what follows.
        """
        low, high = self._between(boxes)
        known = low <= high
        first = np.where(known, np.searchsorted(self.high, low), len(self.low))
        last = np.where(known, np.searchsorted(self.low, high) - 1, -1)
        own, single = self._unchanged(boxes)
        mine, blank = (self._place(self.follows.at, c) for c in (self.follows.base, math.nan))
        missing = [np.isnan(self.codes[g][boxes.last[:, g]]) for g in self.follows.inputs]
        unknown = (low == -math.inf) | ~known | np.logical_or.reduce(missing)
        each = (mine, own & ~single), (blank, unknown & ~single), (blank, single & ~known)
        for k, there in each:
            there = there & (k >= 0)
            first = np.where(there, np.minimum(first, k), first)
            last = np.where(there, np.maximum(last, k), last)
        stays = own & single
        first = np.where(stays, mine if mine >= 0 else len(self.low), first)
        return first, np.where(stays, mine, last)

    def narrow(self, boxes: Boxes) -> Bools:
        """Leave each box what may be computed in it; whether that is nothing."""
        f, (low, high) = self.follows.at, self.ranges(boxes)
        first, last = np.maximum(boxes.first[:, f], low), np.minimum(boxes.last[:, f], high)
        none = first > last
        boxes.first[:, f] = np.where(none, boxes.first[:, f], first)
        boxes.last[:, f] = np.where(none, boxes.last[:, f], last)
        own, _ = self._unchanged(boxes)
        mine, blank = (self._place(f, code) for code in (self.follows.base, math.nan))
        stays = own & (first <= mine) & (mine <= last)
        known = ~none & ~((first <= blank) & (blank <= last))
        if not known.any():
            return none
        for g, code in zip(self.follows.inputs, self.follows.own.tolist(), strict=True):
            at, a, b = self._place(g, code), boxes.first[:, g], boxes.last[:, g]
            most = np.where(known, np.where(stays, at - a, b - a), 0)
            boxes.first[:, g] += self._beyond(boxes, g, most, False)
            most = np.where(known, np.where(stays, b - at, b - boxes.first[:, g]), 0)
            boxes.last[:, g] -= self._beyond(boxes, g, most, True)
        return none

    def _beyond(self, boxes: Boxes, g: int, most: Ints, above: bool) -> Ints:
        """How many values at one end of an input bring the column out of its range, of so many."""
        f, n = self.follows.at, len(self.low) - 1
        low = self.low[np.minimum(boxes.first[:, f], n)]
        high = self.high[np.minimum(boxes.last[:, f], n)]
        less, more, many = np.zeros_like(most), most + 1, np.ones_like(most)
        while (going := (less < many) & (many < more)).any():
            first, last = boxes.first.copy(), boxes.last.copy()
            if above:
                first[:, g] = np.where(going, last[:, g] - many + 1, first[:, g])
            else:
                last[:, g] = np.where(going, first[:, g] + many - 1, last[:, g])
            least, greatest = self._between(boxes._replace(first=first, last=last))
            meets = (greatest > low) & (least <= high)
            more = np.where(going & meets, many, more)
            less = np.where(going & ~meets, many, less)
            many = (less + more) // 2
        return less

    def _between(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """The least and the greatest value of each box, before rounding."""
        ends = [self._ends(g, boxes.first[:, g], boxes.last[:, g]) for g in self.follows.inputs]
        return self.follows.between(*map(np.column_stack, zip(*ends, strict=True)))

    def _ends(self, g: int, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """The least and the greatest known code of an input in each box; NaN if there is none."""
        codes = self.codes[g]
        blank = np.isnan(codes)
        last = np.where(blank[last], last - 1, last)
        least, most = np.where(blank, np.nan, codes)[first], codes[np.maximum(last, 0)]
        none = last < first
        return np.where(none, np.nan, least), np.where(none, np.nan, most)

    def _unchanged(self, boxes: Boxes) -> tuple[Bools, Bools]:
        """Whether all inputs may be one's own, and whether each has one candidate only."""
        inside, single = [], []
        for g, code in zip(self.follows.inputs, self.follows.own.tolist(), strict=True):
            k, first, last = self._place(g, code), boxes.first[:, g], boxes.last[:, g]
            inside.append((first <= k) & (k <= last))
            single.append(first == last)
        return np.logical_and.reduce(inside), np.logical_and.reduce(single)

    def _place(self, f: int, code: float) -> int:
        """The candidate that a code is; −1 if there is none."""
        codes = self.codes[f]
        found = np.flatnonzero(np.isnan(codes) if math.isnan(code) else codes == code)
        return int(found[0]) if len(found) else -1


def narrowed(boxes: Boxes, each: tuple[DerivedColumn, ...]) -> tuple[Boxes, Bools]:
    """Boxes with what is left of derived columns and of inputs, and those nothing is left of.

    What one column leaves of its inputs may leave less of another, so it is done over and over.
    """
    if not each:
        return boxes, np.zeros(len(boxes.node), dtype=bool)
    found = boxes._replace(first=boxes.first.copy(), last=boxes.last.copy())
    empty = np.zeros(len(boxes.node), dtype=bool)
    rows = np.arange(len(boxes.node))
    for _ in range(PASSES):
        cancel.check()
        part = found.at(rows)
        none = np.zeros(len(rows), dtype=bool)
        for of in each:
            none |= of.narrow(part)
        changed = (part.first != found.first[rows]).any(axis=1)
        changed |= (part.last != found.last[rows]).any(axis=1)
        found.first[rows], found.last[rows], empty[rows] = part.first, part.last, none
        rows = rows[changed & ~none]
        if not len(rows):
            break
    found.first[empty], found.last[empty] = boxes.first[empty], boxes.last[empty]
    return found, empty
