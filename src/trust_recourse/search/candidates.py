"""The values of each feature worth trying: the cheapest allowed one in each of the model's cells.

Where cost never falls away from the person, the cheapest value of a cell is the nearest, and all
cells of all features are settled together, in a few operations on arrays. Two kinds of feature are
listed value by value instead: one in a relation keeps them all, since its cheapest value may be
forbidden by another feature's; one with a cost function keeps the cheapest of each cell.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.identity import Same
from trust_recourse.models.subproblem import Candidates, FlatCandidates
from trust_recourse.question.cost import MOST_COST, Cost, Units
from trust_recourse.schema import ActionSet, Feature, FeatureActions, Schema, SchemaError
from trust_recourse.schema.actions import MOST_LISTED


def candidates(
    grid: Grid, action_set: ActionSet, cost: Cost, sloped: Collection[int] = ()
) -> list[Candidates]:
    """For each feature the cheapest allowed value in each cell; all of them if it is related.

    A person's own value is always among them. Of a derived feature one of each cell stands for all
    that may be computed there, unless it is sloped, so that every value is told apart.
    """
    schema, own = action_set.schema, action_set.own
    lattice = _lattice(Same(schema), Same(grid))
    missing = np.isnan(own)
    row = _nearest(lattice, action_set, own, missing, cost)
    found = [
        Candidates(row.codes[a:b], row.cells[a:b], row.costs[a:b])
        for a, b in pairwise(row.first.tolist())
    ]
    related = cost.related(schema)
    for name in sorted({*related, *cost.functions, *lattice.uneven}, key=schema.position):
        f = schema.position(name)
        if schema[f].movable:
            listing = name in related and not schema[f].derived
            asked = (Same(schema), Same(grid), Same(cost), listing)
            found[f] = _one_by_one(*asked, f, float(own[f]))
    for each in action_set.follows:
        if each.at in sloped:
            try:
                codes = each.computed(action_set.actions, MOST_LISTED)
            except SchemaError as error:
                listed = "is derived and has a slope, so its values are listed"
                raise SchemaError(f"feature {schema[each.at].name!r} {listed}: {error}") from None
            found[each.at] = Candidates(codes, grid.cells_in(each.at, codes), np.zeros(len(codes)))
    if missing.any():
        last = grid.cells(own[None])[0]
        for f in missing.nonzero()[0].tolist():
            codes, cells, costs = found[f]
            found[f] = Candidates(
                np.append(codes, math.nan), np.append(cells, last[f]), np.append(costs, 0.0)
            )
    _refuse_uncountable(found, action_set, cost)
    return found


def in_a_row(grid: Grid, action_set: ActionSet, cost: Cost) -> FlatCandidates:
    """The same in one row."""
    schema, own = action_set.schema, action_set.own
    lattice, missing = _lattice(Same(schema), Same(grid)), np.isnan(own)
    if not (schema.related or cost.functions or lattice.uneven or missing.any()):
        row = _nearest(lattice, action_set, own, missing, cost)
        if row.costs.max() <= MOST_COST:
            return row
    found = candidates(grid, action_set, cost)
    codes, cells, costs = (np.concatenate(part) for part in zip(*found, strict=True))
    return FlatCandidates(codes, cells, costs, np.cumsum([0, *(len(each.codes) for each in found)]))


def _refuse_uncountable(found: Sequence[Candidates], action_set: ActionSet, cost: Cost) -> None:
    costs = np.concatenate([each.costs for each in found])
    worst = int(costs.argmax())  # of NaN too
    if not costs[worst] <= MOST_COST:
        f = int(np.cumsum([len(each.costs) for each in found]).searchsorted(worst, "right"))
        code = float(np.concatenate([each.codes for each in found])[worst])
        cost.countable(action_set.schema[f], action_set.actions[f].own, code, float(costs[worst]))


# ---------------------------------------------------------------- all features together


@dataclass(frozen=True, eq=False)
class _Lattice:
    """The cells of all features in one row, and what is known of them before a person comes.

    A cell is (left, right]; `least` and `most` are the first and last multiples of the feature's
    step in it, NaN where there are none. A category is cut between all its codes.
    """

    uneven: list[str]  # features with holes that no step tells
    feature: Ints  # the feature of each cell
    bounds: Ints  # where each feature's cells begin, and where the last one's end
    cell: NDArray[np.int32]  # the number of each cell within its feature
    left: Floats
    right: Floats
    least: Floats
    most: Floats
    units: Units


@lru_cache(maxsize=64)
def _lattice(schema: Same, grid: Same) -> _Lattice:
    """What is known of a schema's features on a grid, made once for both."""
    features: Schema = schema.it
    cells = [multiples(f, grid.it.ends(at)) for at, f in enumerate(features)]
    sizes = np.array([each.shape[1] for each in cells])
    start = np.cumsum(sizes) - sizes
    of = np.repeat(np.arange(len(sizes)), sizes)
    left, right, least, most = np.concatenate(cells, axis=1)
    return _Lattice(
        uneven=[f.name for f in features if _uneven(f)],
        feature=of,
        bounds=np.append(start, len(of)),
        cell=(np.arange(len(of)) - start[of]).astype(np.int32),
        left=left,
        right=right,
        least=least,
        most=most,
        units=Units.of(features).at(of),
    )


def _uneven(feature: Feature) -> bool:
    """Whether its values have holes: codes for missing in a range, or moves that are ruled out."""
    coded = feature.step is None and len(feature.actions(math.nan).never) > 0
    return coded or feature.min_change is not None or len(feature.forbidden) > 0


def multiples(feature: Feature, ends: Floats) -> Floats:
    """The ends of each cell of a feature, and its first and last multiples in it."""
    actions = feature.actions(math.nan)
    step = actions.step if actions.choices is None else actions.step or 1.0
    return _multiples(step, actions.never, ends.tobytes())


@lru_cache(maxsize=1024)
def _multiples(step: float | None, never: tuple[float, ...], given: bytes) -> Floats:
    free = FeatureActions(math.nan, step=step, never=never)
    ends = np.frombuffer(given).tolist()
    found = [free.destinations(*cell) or (math.nan, math.nan) for cell in pairwise(ends)]
    return np.array([ends[:-1], ends[1:], *zip(*found, strict=True)])


def _nearest(
    grid: _Lattice, action_set: ActionSet, own: Floats, missing: NDArray[np.bool_], cost: Cost
) -> FlatCandidates:
    """In each cell the allowed value nearest to own: the floats of `FeatureActions.nearest`."""
    at = grid.feature
    anchor = np.where(missing, 0.0, own)[at]
    low, high = action_set.ends[:, at]
    first = np.where(low > grid.left, low, grid.least)
    codes = np.minimum(np.where(grid.right < anchor, grid.most, first), high)
    kept = (codes > grid.left) & (codes <= grid.right) & (codes >= low)

    # each feature has one cell around the person, where they may stay as they are
    around = ((grid.left < anchor) & (anchor <= grid.right)).nonzero()[0]
    codes[around] = own
    for f in missing.nonzero()[0].tolist():
        cell = around[f]
        nearest = action_set.actions[f].nearest(grid.left[cell], grid.right[cell])
        codes[cell] = math.nan if nearest is None else nearest
    kept[around] = ~np.isnan(codes[around])

    at = kept.nonzero()[0]
    codes, cells = codes[at], grid.cell[at]
    costs = cost.changes(grid.units.at(at), own[grid.feature[at]], codes)
    return FlatCandidates(codes, cells, costs, at.searchsorted(grid.bounds))


# ---------------------------------------------------------------- one feature, value by value


@lru_cache(maxsize=8192)  # people share values, so most of these were listed before
def _one_by_one(
    schema: Same, grid: Same, priced: Same, related: bool, f: int, own: float
) -> Candidates:
    feature, cost = schema.it[f], priced.it
    actions = feature.actions(own)

    def priced_at(values: Floats) -> Candidates:
        costs = np.array([cost.change(feature, actions.own, value) for value in values.tolist()])
        return Candidates(values, grid.it.cells_in(f, values), costs)

    if not related and feature.name not in cost.functions:
        nearest = (actions.nearest(*cell) for cell in pairwise(grid.it.ends(f).tolist()))
        return priced_at(np.array([value for value in nearest if value is not None]))
    try:
        values = actions.values()
    except SchemaError as error:
        reason = "relation" if related else "cost function"
        raise SchemaError(f"feature {feature.name!r} has a {reason}, but its {error}") from None
    every = priced_at(values[~np.isnan(values)])
    if related:
        return every
    # of equally cheap values of a cell the nearest, then the smaller
    away = np.abs(every.codes - (0.0 if math.isnan(own) else own))
    order = np.lexsort((every.codes, away, every.costs, every.cells))
    return every.at(order[np.diff(every.cells[order], prepend=-1) > 0])
