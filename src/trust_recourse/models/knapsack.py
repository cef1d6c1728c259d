"""The cheapest choice of one value for each feature whose gains together are enough, with proof.

This is a multiple-choice knapsack. Notation: costs c and gains g of the candidates of all features
in one row, those of feature f from first[f] on. Beside them a feature may have a **line**: values
k · p / q, each a step further from its own than the one before and by as much better, which are not
listed; its t-th is chosen by −1 − t. At a multiplier λ no answer costs less than

    L(λ) = λ · needed + Σ_f min (c − λ g),

and with another choice for a feature not less than that and what it is dearer at λ, its
**excess**. So choices whose excess is more than lies between the best bound and a known answer go.
What is left is searched depth first; the feature with most choices left is simply bought, last.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints

MARGIN = 1e-9  # of a cost, which rounding may bring
MOST_NODES = 1 << 15  # beyond them a search that bounds each of its parts again is better

# what a line is made of: the person's own value, points per unit towards more, what a change costs,
# the step p / q; the first k, and how many there are, 0 where a feature has no line
OWN, SLOPE, WEIGHT, SCALE, P, Q, START, MANY = range(8)
NO_LINES, NO_PARTS = np.empty((0, 8)), np.zeros(3)
UNKNOWN, NONE, FOUND = range(3)


class Sack(NamedTuple):
    """What may be chosen; `parts` are the weights of L0, L1 and squared L2 in costs on lines."""

    costs: Floats
    gains: Floats
    first: Ints
    lines: Floats  # one for each feature, or none at all
    parts: Floats


class Choice(NamedTuple):
    """The choice of each feature, None if there is no answer, and the nodes that were opened."""

    point: Ints | None
    nodes: int


def begun(lines: Floats, own: Floats, ends: Floats) -> bool:
    """Begin each line of a person at the first value beyond their own; False if one cannot be.

    `ends` are the least and the greatest value that each feature may take.
    """
    return _native.begin_lines(lines, own, ends)


def cheapest(sack: Sack, needed: float, most_nodes: float = math.inf) -> Choice | None:
    """The cheapest choice that gains what is needed; None: it is not found in so many nodes."""
    point = np.empty(len(sack.first) - 1, np.int64)
    said, nodes = _native.cheapest_choice(*sack, needed, int(min(most_nodes, MOST_NODES)), point)
    if said == UNKNOWN:
        return None
    return Choice(point if said == FOUND else None, nodes)


def code(line: Floats, choice: int) -> float:
    """The value on a line that a choice stands for."""
    sign = 1.0 if line[SLOPE] > 0 else -1.0
    return float((line[START] + sign * (-1.0 - choice)) * line[P] / line[Q])


def size(lines: Floats) -> float:
    """How large points on lines may be, all together."""
    furthest = np.abs(lines[:, OWN]) + (np.abs(lines[:, START]) + lines[:, MANY]) * (
        lines[:, P] / lines[:, Q]
    )
    return float(np.abs(lines[:, SLOPE]) @ furthest)
