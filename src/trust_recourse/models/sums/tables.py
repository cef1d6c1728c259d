"""Tables of points of two features together, and bounds on sums of them over boxes of cells.

A score is Σ_f points_f(x_f) + Σ_p table_p(x_f, x_g), each table in bins of its own, which are
coarser than the cells: a **map** gives each cell of a feature its bin. A bin of one of the two
features of a pair is an **atom**. On a box and for any functions h of the atoms

    table_p(x_f, x_g) ≤ K_p + h_pf(x_f) + h_pg(x_g),   K_p = max (table_p − h_pf − h_pg),

so the score is at most K + Σ_f g_f(x_f), the separable form that the engine prices. Any h is sound;
good ones are found by sweeps over the features at a multiplier λ, as in `terms`: a feature collects
from each of its tables what its best entry costs with each bin, and hands an equal share of all to
the tables whose other feature is still to come. After a sweep every K_p is 0.

Numbers are on a scale where scores go from ¼ to ¾, so that there is room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.kernel import Kernel
from trust_recourse.models.sums.layout import FIRST, HEAD, C, D, H

# in the head of a layout, where those of terms stand: how many pairs there are, and where parts
# begin. Two entries a pair, one for each of its features: the feature, its first atom (one more at
# the end), where its map begins, and where the table begins whose rows are the other's bins; then
# the maps, and for each feature the entries that it has
P, FEATURE, ATOM, MAP, TABLE, BIN, ENTRIES, ENTRY = 1, 8, 9, 10, 12, 11, 13, 14


class Pair(NamedTuple):
    """Points of two features together: a table, and of each of their cells its row or column."""

    features: tuple[int, int]
    bins: tuple[Ints, Ints]
    table: Floats

    @classmethod
    def read(cls, given: Pair) -> Pair:
        """The same in arrays."""
        (f, g), (of_f, of_g), table = given
        bins = np.asarray(of_f, np.int64), np.asarray(of_g, np.int64)
        points = np.array(table, float)
        points.flags.writeable = False
        return cls((int(f), int(g)), bins, points)

    def at(self, cells: Any) -> Floats:
        """The points at rows of cells."""
        (f, g), (of_f, of_g) = self.features, self.bins
        return np.asarray(self.table[of_f[cells[:, f]], of_g[cells[:, g]]])


class Tables(Kernel):
    """The kernel of a sum of tables of one and of two features."""

    def __init__(
        self,
        sizes: Ints,
        points: Sequence[Floats],
        pairs: Sequence[Pair],
        base: float,
        *,
        error: float = 0.0,  # of the model's own sum, where it is not just this one
        h: Floats | None = None,  # to begin with, and its multiplier, on the scale of points
        multiplier: float = 0.0,
    ) -> None:
        every = [*points, *(pair.table for pair in pairs)]
        least = math.fsum(float(each.min()) for each in every)
        spread = math.fsum(float(np.ptp(each)) for each in every) or 1.0
        # so that what rounding may do to a sum stays within the room around the scale
        self.width = max(2.0 * spread, 16.0 * error)
        self.lowest = least - self.width / 4.0
        size = abs(base) + abs(least) + math.fsum(float(np.abs(each).max()) for each in every)
        exact = 8 * (len(every) + 3) * 2.0**-53 * size
        self.rounding = 1e-12 + (exact + error) / self.width
        parts = [(each - each.min()) / self.width for each in every]
        tables = [turned.ravel() for each in parts[len(points) :] for turned in (each.T, each)]
        self.numbers = np.concatenate([[self.rounding], *parts[: len(points)], *tables])
        self.layout = _layout(sizes, pairs)
        start = np.zeros(int(self.layout[H])) if h is None else h / self.width
        self.memory = np.concatenate([[multiplier * self.width], start])

    @cached_property
    def native(self) -> _native.Tables:
        """The compiled bounds: see `src/native/sums/tables.hpp`."""
        return _native.Tables(self.numbers, self.layout)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the sum, and the h of the atoms that these cells lie in."""
        return price / self.width, memory[:, 1 + atoms_of(self.layout, cells)] * self.width


def _layout(sizes: Ints, pairs: Sequence[Pair]) -> Ints:
    """All that the kernel reads of pairs but their numbers."""
    features = [f for pair in pairs for f in pair.features]
    maps = [np.asarray(of, np.int64) for pair in pairs for of in pair.bins]
    bins = [n for pair in pairs for n in pair.table.shape]
    tables = accumulate(
        (math.prod(pair.table.shape) for pair in pairs for _ in range(2)), initial=0
    )
    first = 1 + int(sizes.sum())
    by_feature = [[e for e, of in enumerate(features) if of == f] for f in range(len(sizes))]
    parts: dict[int, Sequence[int] | Ints] = {
        FEATURE: features, ATOM: [*accumulate(bins, initial=0)],
        MAP: [*accumulate(map(len, maps), initial=0)], TABLE: [first + at for at in tables],
        BIN: np.concatenate([np.empty(0, np.int64), *maps]),
        ENTRIES: [*accumulate(map(len, by_feature), initial=0)],
        ENTRY: [e for each in by_feature for e in each], FIRST: np.cumsum(sizes) - sizes,
    }  # fmt: skip
    head = np.zeros(HEAD, np.int64)
    head[[D, P, H, C]] = len(sizes), len(pairs), sum(bins), sizes.sum()
    at = HEAD
    for part, values in parts.items():
        head[part] = at
        at += len(values)
    return np.concatenate([head, *(np.asarray(each, np.int64) for each in parts.values())])


def atoms_of(layout: Ints, cells: Sequence[Ints]) -> Ints:
    """The atoms that some cells of each feature lie in, of pairs with several of either feature."""
    found = [np.empty(0, np.int64)]
    for pair in range(int(layout[P])):
        both = []
        for e in (2 * pair, 2 * pair + 1):
            begin = layout[BIN] + layout[layout[MAP] + e]
            of = layout[begin + cells[layout[layout[FEATURE] + e]]]
            both.append(layout[layout[ATOM] + e] + np.unique(of))
        found += both if min(map(len, both)) > 1 else []
    return np.concatenate(found)
