"""The arrays that the compiled loop of branch and bound works on, and what each entry means.

Notation: d features, f; the candidates of feature f are offset[f] … offset[f+1] − 1 of `codes`,
`costs` and `cells`. A **box** is 2d numbers, the first and then the last candidate of each feature,
kept in a slot; a **span** is the same in cells. A heap holds the slots by `key`, a bound on the
cost. `want` and `how` say what is asked for, in floats and in integers, and `state` counts.

When a proof is wanted all boxes ever made are kept as a binary tree: node n was cut at feature[n]
after candidate cut[n] into left[n] and left[n] + 1, or is a leaf, −1 − its reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from trust_recourse.cells import ERRORS, INTERVAL, RELAXATION

# why a leaf was discarded; the first five are those of a certificate
COST, CONFIDENCE, PRICED, RELATION, POINT, FLOOR, OPEN = 0, 1, 2, 3, 4, 5, 6
# the numbers in `state`
HEAP, SPARE, NODES, MADE, HELD = 0, 1, 2, 3, 4
# in `want`
LOW, HIGH, FLOOR_LOW, FLOOR_HIGH, CUTOFF, PRICE, BOUND, REACHED, ENOUGH = range(9)
FLOOR_PRICE, NEEDED = 9, 10
# in `how`
SIDE, FURTHEST, ROBUST, PAUSE, DIVE, PROVE = range(6)
# marks of a slot: OFF, what was trimmed off, in a proof, and its parts; LOST, noise around the
# corner reaches the known loss
RELAXED, FAILED, OFF, LOST = 1, 2, 4, 8

SAFE = 1e-11  # of a bound is given up for rounding


class Task(NamedTuple):
    """What is searched: the model's arrays, the candidates, and what binds them."""

    numbers: Any
    layout: Any
    offset: Any
    codes: Any
    costs: Any
    cells: Any
    first_cell: Any
    valley: Any  # the cheapest candidate of a feature whose costs fall and then rise, else −1
    lows: Any  # first and last cell that noise around a candidate may reach
    highs: Any
    relations: Any  # (0 for a ≤ b, else the sign of the rise; a, b, own candidates of a and b) each
    goals: Any


class Store(NamedTuple):
    """The boxes that wait."""

    box: Any
    key: Any
    split: Any  # the feature to cut it at
    where: Any  # a candidate to part from the cheapest by that, −1 if none
    mark: Any
    loss: Any  # where the floor is missed near the corner, a cell for each feature; see LOST
    worst: Any  # the same near a point bought at a price; only a guess in a part of the box
    node: Any
    heap: Any
    spare: Any


class Tree(NamedTuple):
    """All boxes ever made, if a proof is wanted."""

    feature: Any
    cut: Any
    left: Any
    price: Any


class Work(NamedTuple):
    """Scratch memory."""

    span: Any
    out: Any
    scratch: Any
    gains: Any
    spend: Any
    point: Any
    corner: Any
    start: Any
    shifted: Any  # a cell in reach of each candidate's noise, and what is left to pay for it
    reduced: Any
    beside: Any  # scratch memory of the model for the floor, which remembers other rates


_floats, _ints, _small, _marks = (
    types.float64[::1], types.int64[::1], types.int32[::1], types.int8[::1],
)  # fmt: skip


def signature() -> Any:
    """What the loop takes, in order, and gives."""
    functions = (types.FunctionType(kind) for kind in (INTERVAL, RELAXATION, ERRORS))
    task = [_floats, _ints, _ints, _floats, _floats, *[_ints] * 6, _floats]
    store = [_small, _floats, _small, _small, _marks, _small, _small, _small, _small, _small]
    tree = [_small, _small, _small, _floats]
    work = [_ints, _floats, _floats, _floats, _floats, _ints, _ints, _ints, _ints, _floats, _floats]
    tuples = [
        types.NamedTuple(kinds, of)
        for kinds, of in ((task, Task), (store, Store), (tree, Tree), (work, Work))
    ]
    return types.int64(*functions, tuples[0], _ints, _floats, _ints, *tuples[1:])
