"""Tables of points of two features together, and the arrays by which compiled bounds read them.

A score is Σ_f points_f(x_f) + Σ_p table_p(x_f, x_g), each table in bins of its own, which are
coarser than the cells: a **map** gives each cell of a feature its bin. A bin of one of the two
features of a pair is an **atom**.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.io.arrays import Floats, Ints
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


def table_layout(sizes: Ints, pairs: Sequence[Pair]) -> Ints:
    """All that the kernel reads of pairs but their numbers."""
    features = [f for pair in pairs for f in pair.features]
    maps = [np.asarray(of, np.int64) for pair in pairs for of in pair.bins]
    bins = [n for pair in pairs for n in pair.table.shape]
    tables = accumulate(
        (math.prod(pair.table.shape) for pair in pairs for _ in range(2)), initial=0
    )
    by_feature = [[e for e, of in enumerate(features) if of == f] for f in range(len(sizes))]
    parts: dict[int, Sequence[int] | Ints] = {
        FEATURE: features, ATOM: [*accumulate(bins, initial=0)],
        MAP: [*accumulate(map(len, maps), initial=0)], TABLE: [*tables],
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
