"""The arrays that compiled bounds on a sum of terms read: terms, entries, atoms, leaves.

A term takes the value of the one of its **leaves** that a point lies in; a leaf is a product of
sets of cells. Cells of a feature that no leaf of a term tells apart are one **atom** of that term;
atoms are numbered as their first cells come, so that those of an ordered feature lie in a row. An
**entry** is a term with one of the features that it tells cells apart of; a **pair** is a leaf with
an entry of its term, and lists the atoms that the leaf takes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.sums.ensemble import Bools, Leaves

# how many there are: features, terms, entries, atoms, leaves, cells
D, T, E, H, L, C = range(6)
# where parts begin: the leaves of each term, the first cell of each feature; the head's length
TERM_LEAF, FIRST, HEAD = 7, 15, 16


def layout(leaves: Leaves, sizes: Ints) -> Ints:
    """All of it in one array, with where each part begins at its head."""
    starts = np.append(term_starts(leaves), len(leaves.value))
    return _native.make_layout(np.ascontiguousarray(leaves.allowed), starts, sizes)


def term_starts(leaves: Leaves) -> Ints:
    """Where the leaves of each term begin."""
    return np.flatnonzero(np.diff(leaves.term, prepend=-1))


class Compact(NamedTuple):
    """The layout of some cells alone: of its parts, their numbers in the layout before."""

    layout: Ints
    leaves: Ints
    constant: Ints  # the one leaf of each term that has no other, which is not in the layout
    cells: Ints  # all in one row
    atoms: Ints  # of each atom before its number now, −1 where it has none


def compact(lay: Ints, cells: Bools, costs: Floats, apart: Bools) -> Compact:
    """Without the cells, leaves and atoms that are out of reach, each but once.

    Of neighbouring cells that no leaf tells apart the cheapest stays, but of the features that are
    to be kept apart all do. Atoms go by their first cell, as in any layout.
    """
    return Compact(*_native.compact(lay, cells, costs, apart))


def told(lay: Ints, h: Floats, cells: Sequence[Ints]) -> Floats:
    """Rows of h of the atoms of the layout of some cells of each feature alone.

    Where these are several of the whole's, the least is as good for their leaves, and better for
    the cells of the others.
    """
    reach = np.zeros(int(lay[C]), bool)
    for first, of in zip(lay[lay[FIRST] :].tolist(), cells, strict=True):
        reach[first + of] = True
    small = compact(lay, reach, np.zeros(len(reach)), np.ones(len(cells), bool))
    here = np.flatnonzero(small.atoms >= 0)
    found = np.full((int(small.layout[H]), len(h)), np.inf)
    np.minimum.at(found, small.atoms[here], h.T[here])
    return np.ascontiguousarray(found.T)
