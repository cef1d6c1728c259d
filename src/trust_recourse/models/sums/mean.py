"""The mean of several sums is a sum: all their terms, each in the share that its model has.

By it an answer is asked to please not one model alone but several that were learnt anew. Of models
with a logistic link it is the mean of their log-odds, of forests that of their probabilities; what
a calibrator makes of them comes after, so it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trust_recourse.models.regridding import common, within
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.dense_tables import Pair
from trust_recourse.models.sums.ensemble import Link, SumModel, Tree


def mean_of_trees(models: Sequence[SumModel]) -> SumModel:
    """The mean score of sums of trees, as one sum."""
    first, many = models[0], len(models)
    shares = [model.link.scale / model.link.divisor / many for model in models]
    each = [*zip(models, shares, strict=True)]
    trees = (_scaled(tree, share) for model, share in each for tree in model.trees)
    base = sum(share * model.base for model, share in each)
    return SumModel(
        first.schema_, first.classes_, tuple(trees), base, Link(first.link.logistic), "float64"
    )


def _scaled(tree: Tree, share: float) -> Tree:
    return replace(tree, value=share * tree.value)


def mean_of_points(models: Sequence[Additive]) -> Additive:
    """The mean score of tables of points and slopes, as one, on the cells of all of them."""
    first, many = models[0], len(models)
    schema, d = first.schema_, len(first.schema_)
    grid = common([model.grid for model in models])
    cells = [within(grid, model.grid) for model in models]
    each = [*zip(models, cells, strict=True)]
    points = [np.mean([model.points[f][at[f]] for model, at in each], axis=0) for f in range(d)]
    slopes = [np.mean([model.slopes[f][at[f]] for model, at in each], axis=0) for f in range(d)]
    pairs = [
        Pair(
            pair.features,
            (pair.bins[0][at[pair.features[0]]], pair.bins[1][at[pair.features[1]]]),
            pair.table / many,
        )
        for model, at in each
        for pair in model.pairs
    ]
    base = sum(model.base for model in models) / many
    return Additive(
        schema, grid.edges, points, slopes=slopes, pairs=pairs, base=base, classes=first.classes_
    )
