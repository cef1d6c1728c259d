"""The sum of trees for each cell of one feature, all other cells as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trust_recourse.io.arrays import Cells, Floats
    from trust_recourse.models.sums.ensemble import SumModel


def at_each_cell(model: SumModel, cells: Cells, f: int) -> Iterator[Floats]:
    """The scores of rows of cells, once for each cell that feature `f` can have.

    The very numbers of `SumModel.at`: trees are added in the same order and type. Rows go down a
    tree that does not split on the feature once, and down any other once for each group of cells
    that its splits do not tell apart.
    """
    nodes, rows = model._nodes, np.array(cells, np.int32, order="C")
    known = [*nodes.root.tolist(), len(nodes.feature)]
    places, columns, size = [], [], 0
    for tree, root in enumerate(known[:-1]):
        splits = root + np.flatnonzero(nodes.feature[root : known[tree + 1]] == f)
        sides = np.array([model._goes_left(node) for node in splits.tolist()])
        first, group = _groups(sides, int(model.grid.sizes[f]))
        tree_alone = model.forest(np.array([root]))
        for cell in first:
            rows[:, f] = cell
            leaf = np.empty((len(cells), 1), np.int64)
            tree_alone.descend(rows, leaf)
            columns.append(model._added[leaf[:, 0]])
        places.append(size + group)
        size += len(first)
    for cell in range(int(model.grid.sizes[f])):
        total = np.full(len(cells), model.base, model.arithmetic)
        for group in places:
            total += columns[group[cell]]
        yield total.astype(float)


def _groups(sides: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A cell of each group that splits send to the same sides, and the group of each cell."""
    if not len(sides):
        return np.zeros(1, int), np.zeros(size, int)
    _, first, group = np.unique(sides, axis=1, return_index=True, return_inverse=True)
    return first, group.reshape(-1)
