"""The arrays that the compiled loop of branch and bound works on, and what each entry means.

Notation: d features, f; K conditions, k; n candidates in all, of which those of feature f are
offset[f] … offset[f+1] − 1 of `codes` and `costs`. A **box** is 2d numbers, the first and then the
last candidate of each feature, kept in a slot; a **span** is the same in the cells of a condition's
grid. A heap holds the slots by `key`, a bound on the cost.

A **condition** asks that its score's number lies in an interval. All have kernels of one family,
so they share the compiled functions, and differ by the part of `numbers`, `layout`, `scratch` and
of a box's `memory` that is theirs. The first one is what the search is about; the last may ask
**around** a point, for every cell that lies between `lows` and `highs` of its candidates.

When a proof is wanted all boxes ever made are kept as a binary tree: node i was cut at feature[i]
after candidate cut[i] into left[i] and left[i] + 1, or is a leaf, −1 − its reason. What the kernels
remembered of a box that a multiplier discarded is row[i] of the tree's own `memory`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

# why a leaf was discarded; the first five are those of a certificate
COST, CONFIDENCE, LAGRANGIAN, RELATION, POINT, FLOOR, OPEN = 0, 1, 2, 3, 4, 5, 6
# the numbers in `counters`
HEAP, SPARE, NODES, MADE, HELD, ROWS = 0, 1, 2, 3, 4, 5
# in `params`
CUTOFF, BOUND, REACHED, ENOUGH, NEEDED = range(5)
# in `switches`; AROUND is the condition that asks around, −1 if none does
FURTHEST, AROUND, PAUSE, DIVE, PROVE = range(5)
# what a term of `relations` ends: nothing, a way to keep one, the whole of it
TERM, WAY, WHOLE = range(3)
# of each condition in `levels` and in `parts`
LOW, HIGH, MULTIPLIER = range(3)
SIDE, NUMBERS, LAYOUT, SCRATCH, MEMORY = range(5)
# marks of a slot: OFF, what was trimmed off, in a proof, and its parts; LOST, the corner's
# neighbourhood reaches the known loss; SURE, the first condition holds on all of it, or
# varies no more
RELAXED, FAILED, OFF, LOST, SURE = 1, 2, 4, 8, 16

SAFE = 1e-11  # of a bound is given up for rounding


class Task(NamedTuple):
    """What is searched: the models' arrays, the candidates, and what binds them."""

    numbers: Any
    layout: Any
    parts: Any  # (K + 1) × 5: the side to get there from, and where each one's arrays begin
    offset: Any
    codes: Any
    costs: Any
    cells: Any  # K × n
    first_cell: Any  # K × d
    valley: Any  # the cheapest candidate of a feature whose costs fall and then rise, else −1
    lows: Any  # first and last cell around a candidate, of the condition that asks around
    highs: Any
    relations: Any  # terms: feature, first gain, their peak or −1, what it ends
    gains: Any  # of every candidate in each term
    follows: Any  # records of derived columns, see `following`
    formulas: Any
    raw_low: Any  # of every candidate
    raw_high: Any


class Asked(NamedTuple):
    """What is asked for, how, and how far it has come."""

    levels: Any  # K × 3
    params: Any
    switches: Any
    counters: Any


class Store(NamedTuple):
    """The boxes that wait."""

    box: Any
    key: Any
    split: Any  # the feature to cut it at
    where: Any  # a candidate to part from the cheapest by that, −1 if none
    mark: Any
    loss: Any  # where the floor is missed near the corner, a cell for each feature; see LOST
    worst: Any  # the same near a point bought at a multiplier; only a guess in a part of the box
    node: Any
    heap: Any
    spare: Any
    memory: Any  # what the kernels keep of each box


class Tree(NamedTuple):
    """All boxes ever made, if a proof is wanted."""

    feature: Any
    cut: Any
    left: Any
    multiplier: Any
    row: Any  # −1 where nothing was remembered
    memory: Any


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
    shifted: Any  # a cell around each candidate, and what is left to pay after other conditions
    reduced: Any


class Run(NamedTuple):
    """All of it."""

    task: Any
    asked: Any
    store: Any
    tree: Any
    work: Any


_floats, _ints, _small, _marks = (
    types.float64[::1], types.int64[::1], types.int32[::1], types.int8[::1],
)  # fmt: skip


def signature() -> Any:
    """What the loop takes, in order, and gives."""
    task = [_floats, _ints, _ints, _ints, _floats, _floats, *[_ints] * 6, _floats]
    task += [_ints, _floats, _floats, _floats]
    asked = [_floats, _floats, _ints, _ints]
    store = [_small, _floats, _small, _small, _marks, *[_small] * 5, _floats]
    tree = [_small, _small, _small, _floats, _small, _floats]
    work = [_ints, _floats, _floats, _floats, _floats, _ints, _ints, _ints, _ints, _floats]
    parts = [
        types.NamedTuple(kinds, of)
        for kinds, of in ((task, Task), (asked, Asked), (store, Store), (tree, Tree), (work, Work))
    ]
    return types.int64(_ints, types.NamedTuple(parts, Run))
