"""Columns that follow from others, as arrays: see `src/native/following.hpp`.

A candidate of a derived column stands for the values after `raw_low` up to `raw_high`, before
rounding. For each such column `follows` has a record: its length, the column, its shape, the
candidates of its own value and of a missing one, how many inputs and parts it has; then each input
with the same two candidates; then each part, a sum: how many terms, where its numbers begin in
`formulas` (the constant, then a weight and an origin for each term), and their inputs. A candidate
that is not there is −1. The arithmetic is that of `schema.derived`, to the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.subproblem import Candidates
from trust_recourse.schema import ActionSet
from trust_recourse.schema.derived import Follows
from trust_recourse.schema.multiples import before_rounding

SUM, RATIO, LEAST, GREATEST = range(4)
SHAPES = {"sum": SUM, "moves": SUM, "ratio": RATIO, "min": LEAST, "max": GREATEST}
LENGTH, COLUMN = 0, 1  # in a record


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
    grid: Grid,
    follows: Sequence[Follows],
    listed: Sequence[Candidates],
    sloped: Collection[int],
) -> Following:
    """The arrays of some derived columns.

    A candidate of a sloped column stands for the values up to it from the one before among those
    that are `listed`, any other for what lies in its cell of the grid.
    """
    records: list[int] = []
    formulas: list[float] = []
    n = sum(len(each.codes) for each in features) if follows else 0
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    first = np.cumsum([0, *(len(each.codes) for each in features)])
    for each in follows:
        codes, edges = features[each.at].codes, grid.ends(each.at)
        if each.at in sloped:
            every = listed[each.at].codes
            edges = np.array([-np.inf, *every[~np.isnan(every)], np.inf])
        raw = np.array([before_rounding(float(edge), each.step) for edge in edges])
        at = np.searchsorted(edges, codes[~np.isnan(codes)])
        known = slice(first[each.at], first[each.at] + len(at))
        low[known], high[known] = raw[at - 1], raw[at]
        least, most = each.allowed_raw(action_set.actions)
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
