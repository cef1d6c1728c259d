"""What a box leaves of columns that follow from others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trust_recourse.certificate.cover import Boxes
from trust_recourse.certificate.reader import Bools
from trust_recourse.question import Floats, Ints
from trust_recourse.schema.derived import Follows, before_rounding


@dataclass(frozen=True, eq=False)
class Following:
    """A derived column, and the values, before rounding, that each of its candidates stands for.

    These are those after `low` up to `high`.
    """

    follows: Follows
    codes: tuple[Floats, ...]  # of the candidates of all features
    low: Floats
    high: Floats

    @classmethod
    def of(cls, follows: Follows, codes: tuple[Floats, ...], ends: Floats) -> Following:
        """One whose values are cut after each of these ends, the first of which is −∞."""
        raw = np.array([before_rounding(float(end), follows.step) for end in ends])
        known = codes[follows.at][~np.isnan(codes[follows.at])]
        at = np.searchsorted(ends, known)
        return cls(follows, codes, raw[at - 1], raw[at])

    def ranges(self, boxes: Boxes) -> tuple[Ints, Ints]:
        """The first and the last candidate that each box may have; in reverse if it has none.

        What cannot be computed is missing. Where inputs are one's own, so is what follows.
        """
        ends = [self._ends(g, boxes.first[:, g], boxes.last[:, g]) for g in self.follows.inputs]
        low, high = self.follows.between(*map(np.column_stack, zip(*ends, strict=True)))
        known = low <= high
        first = np.where(known, np.searchsorted(self.high, low), len(self.low))
        last = np.where(known, np.searchsorted(self.low, high) - 1, -1)
        own, single = self._unchanged(boxes)
        mine, blank = (self._place(self.follows.at, c) for c in (self.follows.base, math.nan))
        for k, there in ((mine, own & ~single), (blank, ~single), (blank, single & ~known)):
            there = there & (k >= 0)
            first = np.where(there, np.minimum(first, k), first)
            last = np.where(there, np.maximum(last, k), last)
        stays = own & single
        first = np.where(stays, mine if mine >= 0 else len(self.low), first)
        return first, np.where(stays, mine, last)

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


def narrowed(boxes: Boxes, each: tuple[Following, ...]) -> tuple[Boxes, Bools]:
    """Boxes with what is left of derived columns, and which of them nothing is left of."""
    first, last = boxes.first.copy(), boxes.last.copy()
    empty = np.zeros(len(first), dtype=bool)
    for of in each:
        f, (low, high) = of.follows.at, of.ranges(boxes)
        first[:, f], last[:, f] = np.maximum(first[:, f], low), np.minimum(last[:, f], high)
        empty |= first[:, f] > last[:, f]
    first[empty], last[empty] = boxes.first[empty], boxes.last[empty]
    return boxes._replace(first=first, last=last), empty
