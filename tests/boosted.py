"""A toy boosted ensemble on the seam: a kernel that remembers live leaves, and a reduction."""

from __future__ import annotations

from functools import cache

import numpy as np

from trust_recourse.cells import (
    INTERVAL,
    NARROW,
    Candidates,
    Grid,
    Handed,
    Kernel,
    Reduction,
    Score,
    of_class,
)
from trust_recourse.schema import Schema

# numbers: the value of each leaf; layout: d, leaves, then of each leaf its tree and its box of
# cells, 2d numbers; memory: of each leaf whether it may still be reached


def _interval(numbers, layout, span, out, scratch, memory, at):
    d, leaves = layout[0], layout[1]
    out[0], out[1] = -1e-12, 1e-12
    for f in range(d):
        out[2 + f] = 0.0
    tree, least, most = -1, 0.0, 0.0
    for leaf in range(leaves):
        row = 2 + leaf * (2 * d + 1)
        if layout[row] != tree:
            out[0] += least
            out[1] += most
            tree, least, most = layout[row], np.inf, -np.inf
        alive = memory[at + leaf] > 0.0
        for f in range(d):
            first, last = layout[row + 1 + f], layout[row + 1 + d + f]
            alive = alive and first <= span[d + f] and last >= span[f]
        if alive:
            least, most = min(least, numbers[leaf]), max(most, numbers[leaf])
            for f in range(d):
                if layout[row + 1 + f] > span[f] or layout[row + 1 + d + f] < span[d + f]:
                    out[2 + f] += 1.0
    out[0] += least
    out[1] += most


def _narrow(numbers, layout, span, memory, at):
    d, leaves = layout[0], layout[1]
    for leaf in range(leaves):
        row = 2 + leaf * (2 * d + 1)
        for f in range(d):
            if layout[row + 1 + f] > span[d + f] or layout[row + 1 + d + f] < span[f]:
                memory[at + leaf] = 0.0


@cache
def handed(kind, function):
    return Handed(kind, function)


class Leaves(Kernel):
    def __init__(self, values, trees, boxes):
        self.numbers = values
        rows = np.column_stack([trees, boxes]).astype(np.int64)
        self.layout = np.array([boxes.shape[1] // 2, len(values), *rows.ravel()], np.int64)
        self.scratch = np.zeros(1)
        self.memory = np.ones(len(values))

    @property
    def interval(self):
        return handed(INTERVAL, _interval)

    @property
    def narrow(self):
        return handed(NARROW, _narrow)


class Sum(Score):
    """What the trees add up to is the confidence itself."""

    reductions = 0

    def __init__(self, grid, values, trees, boxes, wanted):
        self.grid, self.values, self.trees, self.boxes = grid, values, trees, boxes
        self.kernel, self.wanted, self.rises = Leaves(values, trees, boxes), wanted, wanted == 1

    def at(self, cells):
        d = cells.shape[1]
        low, high = self.boxes[:, :d], self.boxes[:, d:]
        inside = ((cells[:, None] >= low) & (cells[:, None] <= high)).all(axis=2)
        return of_class(np.where(inside, self.values, 0.0).sum(axis=1), self.wanted)

    def confidence(self, number):
        return of_class(number, self.wanted)

    def reduce(self, features, condition, incumbent, related, accept, deadline):
        """Cells that no leaf tells apart become one, of which the cheapest candidate stays."""
        if related:
            return None
        assert condition.score is self
        assert incumbent > 0
        assert callable(accept)
        Sum.reductions += 1
        d = len(features)
        fewer, boxes, edges = [], self.boxes.copy(), []
        for f, (codes, cells, costs) in enumerate(features):
            starts = np.unique([0, *self.boxes[:, f], *(self.boxes[:, d + f] + 1)])
            merged = starts.searchsorted(cells, "right") - 1
            order = np.lexsort((costs, merged))
            kept = np.sort(order[np.diff(merged[order], prepend=-1) > 0])
            fewer.append(Candidates(codes[kept], merged[kept].astype(np.int32), costs[kept]))
            boxes[:, f] = starts.searchsorted(self.boxes[:, f], "right") - 1
            boxes[:, d + f] = starts.searchsorted(self.boxes[:, d + f], "right") - 1
            edges.append(np.arange(len(starts) - 1.0))
        grid = Grid(self.grid.schema, tuple(edges))
        return Reduction(fewer, Sum(grid, self.values, self.trees, boxes, self.wanted))


class Boosted:
    """Random trees on a grid, each of a few leaves; their sum lies within 0 and 1."""

    def __init__(self, schema: Schema, edges, n_trees: int, depth: int, rng: np.random.Generator):
        self.schema_, self.classes_ = schema, np.array([0, 1])
        self.grid = Grid(schema, tuple(edges))
        d = len(schema)
        values, trees, boxes = [], [], []
        for tree in range(n_trees):
            whole = np.concatenate([np.zeros(d, int), self.grid.sizes - 1])
            for box in self._grown(whole, depth, rng, d):
                values.append(rng.random() / n_trees)
                trees.append(tree)
                boxes.append(box)
        self.leaves = np.array(values), np.array(trees), np.array(boxes)

    def _grown(self, box, depth, rng, d):
        wide = np.flatnonzero(box[d:] > box[:d])
        if depth == 0 or not len(wide):
            return [box]
        f = int(rng.choice(wide))
        cut = int(rng.integers(box[f], box[d + f]))
        left, right = box.copy(), box.copy()
        left[d + f], right[f] = cut, cut + 1
        return [
            *self._grown(left, depth - 1, rng, d),
            *self._grown(right, depth - 1, rng, d),
        ]

    def score_of(self, wanted):
        return Sum(self.grid, *self.leaves, wanted)
