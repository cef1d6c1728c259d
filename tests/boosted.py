"""A toy boosted ensemble on the seam: a kernel that remembers live leaves, and a reduction."""

from __future__ import annotations

import numpy as np
from numba import carray, cfunc, types

from trust_recourse.models.grid import Grid
from trust_recourse.models.kernel import TableKernel
from trust_recourse.models.seam import Score, of_class
from trust_recourse.models.subproblem import Candidates, Reduction
from trust_recourse.schema import Schema

INTS, FLOATS = types.CPointer(types.int64), types.CPointer(types.float64)

# `model`: d, leaves, then of each leaf its value, as the bits of a double, its tree and its box of
# cells, 2d numbers; memory: of each leaf whether it may still be reached


@cfunc(types.void(INTS, INTS, FLOATS, FLOATS))
def _interval(model, span, out, memory):
    d, leaves = model[0], model[1]
    row = 2 * d + 2
    rows = carray(model, 2 + leaves * row)
    out[0], out[1] = -1e-12, 1e-12
    for f in range(d):
        out[2 + f] = 0.0
    tree, least, most = -1, 0.0, 0.0
    for leaf in range(leaves):
        at = 2 + leaf * row
        if model[at + 1] != tree:
            out[0] += least
            out[1] += most
            tree, least, most = model[at + 1], np.inf, -np.inf
        alive = memory[leaf] > 0.0
        for f in range(d):
            first, last = model[at + 2 + f], model[at + 2 + d + f]
            alive = alive and first <= span[d + f] and last >= span[f]
        if alive:
            value = rows[at : at + 1].view(np.float64)[0]
            least, most = min(least, value), max(most, value)
            for f in range(d):
                if model[at + 2 + f] > span[f] or model[at + 2 + d + f] < span[d + f]:
                    out[2 + f] += 1.0
    out[0] += least
    out[1] += most


@cfunc(types.void(INTS, INTS, FLOATS))
def _narrow(model, span, memory):
    d, leaves = model[0], model[1]
    for leaf in range(leaves):
        at = 2 + leaf * (2 * d + 2)
        for f in range(d):
            if model[at + 2 + f] > span[d + f] or model[at + 2 + d + f] < span[f]:
                memory[leaf] = 0.0


class Leaves(TableKernel):
    def __init__(self, values, trees, boxes, remembers=True):
        rows = np.column_stack([values.view(np.int64), trees, boxes])
        model = np.array([boxes.shape[1] // 2, len(values), *rows.ravel()], np.int64)
        super().__init__(
            _interval.address,
            narrow=_narrow.address if remembers else 0,
            self_address=model.ctypes.data,
            owner=model,
            memory=np.ones(len(values)),
        )


class Sum(Score):
    """What the trees add up to is the confidence itself."""

    reductions, leaves = 0, Leaves

    def __init__(self, grid, values, trees, boxes, wanted):
        self.grid, self.values, self.trees, self.boxes = grid, values, trees, boxes
        self.kernel = self.leaves(values, trees, boxes)
        self.wanted, self.rises = wanted, wanted == 1

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
        return Reduction(fewer, type(self)(grid, self.values, self.trees, boxes, self.wanted))


class Boosted:
    """Random trees on a grid, each of a few leaves; their sum lies within 0 and 1."""

    score = Sum

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
        return self.score(self.grid, *self.leaves, wanted)
