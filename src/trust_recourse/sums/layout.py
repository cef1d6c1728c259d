"""The arrays that compiled bounds on a sum of terms read: terms, entries, atoms, leaves.

A term takes the value of the one of its **leaves** that a point lies in; a leaf is a product of
sets of cells. Cells of a feature that no leaf of a term tells apart are one **atom** of that term;
atoms are numbered as their first cells come, so that those of an ordered feature lie in a row. An
**entry** is a term with one of the features that it tells cells apart of; a **pair** is a leaf with
an entry of its term, and lists the atoms that the leaf takes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trust_recourse.cells import Ints, making
from trust_recourse.sums.ensemble import Leaves

# how many there are: features, terms, entries, atoms, leaves, cells
D, T, E, H, L, C = range(6)
# where the parts begin: entries and leaves of each term, feature and atoms of each entry, the map
# from cells to atoms of each entry, pairs of each leaf, atoms of each pair, first cell of a feature
TERM_ENTRY, TERM_LEAF, FEATURE, ATOM, MAP, CELL_ATOM, LEAF_PAIR, PAIR, TAKES, FIRST = range(6, 16)
HEAD = 16


def layout(leaves: Leaves, sizes: Ints) -> Ints:
    """All of it in one array, with where each part begins at its head."""
    starts = np.append(term_starts(leaves), len(leaves.value))
    first = np.cumsum(sizes) - sizes
    allowed = np.ascontiguousarray(leaves.allowed)
    term_entry, feature, atom, cells, cell_atom = _entries(allowed, starts, first, sizes)
    leaf_pair, pair, takes = _pairs(
        allowed, starts, first, term_entry, feature, atom, cells, cell_atom
    )
    parts = {
        TERM_ENTRY: term_entry, TERM_LEAF: starts, FEATURE: feature, ATOM: atom, MAP: cells,
        CELL_ATOM: cell_atom, LEAF_PAIR: leaf_pair, PAIR: pair, TAKES: takes, FIRST: first,
    }  # fmt: skip
    head = np.zeros(HEAD, np.int64)
    many = len(sizes), len(starts) - 1, len(feature), atom[-1], len(leaves.value), sizes.sum()
    head[[D, T, E, H, L, C]] = many
    at = HEAD
    for part, values in parts.items():
        head[part] = at
        at += len(values)
    return np.concatenate([head, *(each.astype(np.int64) for each in parts.values())])


def term_starts(leaves: Leaves) -> Ints:
    """Where the leaves of each term begin."""
    return np.flatnonzero(np.diff(leaves.term, prepend=-1))


@making
def _entries(allowed: Any, starts: Any, first: Any, sizes: Any) -> Any:
    """Entries of each term; feature, first atom and first place in the map of each; the map."""
    terms, d = len(starts) - 1, len(sizes)
    term_entry = np.zeros(terms + 1, np.int64)
    feature = np.empty(terms * d, np.int64)
    atom = np.zeros(terms * d + 1, np.int64)
    cells = np.zeros(terms * d + 1, np.int64)
    cell_atom = np.empty(terms * allowed.shape[1], np.int64)
    kind = np.empty(allowed.shape[1], np.int64)  # the first cell of each atom of an entry
    n = 0
    for t in range(terms):
        for f in range(d):
            many, at = 0, cells[n]
            for c in range(first[f], first[f] + sizes[f]):
                found = many
                for a in range(many):
                    same = True
                    for leaf in range(starts[t], starts[t + 1]):
                        if allowed[leaf, c] != allowed[leaf, kind[a]]:
                            same = False
                            break
                    if same:
                        found = a
                        break
                if found == many:
                    kind[many] = c
                    many += 1
                cell_atom[at + c - first[f]] = found
            if many > 1:
                feature[n] = f
                atom[n + 1], cells[n + 1] = atom[n] + many, at + sizes[f]
                n += 1
        term_entry[t + 1] = n
    return term_entry, feature[:n], atom[: n + 1], cells[: n + 1], cell_atom[: cells[n]]


@making
def _pairs(
    allowed: Any, starts: Any, first: Any, term_entry: Any, feature: Any, atom: Any, cells: Any,
    cell_atom: Any,
) -> Any:  # fmt: skip
    """The first pair of each leaf, the first atom of each pair, and the atoms."""
    n_leaves, n_pairs, n_atoms = allowed.shape[0], 0, 0
    for t in range(len(starts) - 1):
        many = starts[t + 1] - starts[t]
        n_pairs += many * (term_entry[t + 1] - term_entry[t])
        n_atoms += many * (atom[term_entry[t + 1]] - atom[term_entry[t]])
    leaf_pair = np.zeros(n_leaves + 1, np.int64)
    pair = np.zeros(n_pairs + 1, np.int64)
    takes = np.empty(n_atoms, np.int64)
    p, k = 0, 0
    for t in range(len(starts) - 1):
        for leaf in range(starts[t], starts[t + 1]):
            for e in range(term_entry[t], term_entry[t + 1]):
                seen = -1
                for c in range(cells[e + 1] - cells[e]):
                    a = cell_atom[cells[e] + c]
                    if a > seen:  # the first cell of an atom
                        seen = a
                        if allowed[leaf, first[feature[e]] + c]:
                            takes[k] = a
                            k += 1
                p += 1
                pair[p] = k
            leaf_pair[leaf + 1] = p
    return leaf_pair, pair, takes[:k]


def atoms_of(lay: Ints, cells: Sequence[Ints]) -> Ints:
    """The atoms of the layout of some cells of each feature alone, by their number in the whole's.

    There a term has no leaf that none of these cells reaches, and no two atoms with the same leaves
    of those that are left; each goes by its first cell.
    """
    return _merged(lay, cells)[0]


def groups_of(lay: Ints, cells: Sequence[Ints]) -> Ints:
    """For each atom of the layout that which stands for it in the layout of some cells alone."""
    return _merged(lay, cells)[1]


def _merged(lay: Ints, cells: Sequence[Ints]) -> tuple[Ints, Ints]:
    ascending = [np.unique(of) for of in cells]
    ends = np.cumsum([0, *map(len, ascending)])
    found: tuple[Ints, Ints] = _atoms_of(lay, np.concatenate(ascending), ends)
    return found


@making
def _atoms_of(lay: Any, cells: Any, offset: Any) -> Any:
    found, group = np.empty(lay[H], np.int64), np.arange(lay[H])
    n = 0
    for t in range(lay[T]):
        begin, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
        a, b = lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]
        size = lay[lay[ATOM] + end] - lay[lay[ATOM] + begin] if end > begin else 0
        taken = np.zeros((b - a, size), np.bool_)
        alive = np.ones(b - a, np.bool_)
        for e in range(begin, end):
            f, first = lay[lay[FEATURE] + e], lay[lay[ATOM] + e] - lay[lay[ATOM] + begin]
            for leaf in range(a, b):
                pair, reached = lay[lay[LEAF_PAIR] + leaf] + e - begin, False
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    taken[leaf - a, first + lay[lay[TAKES] + k]] = True
                for c in range(offset[f], offset[f + 1]):
                    atom = lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + cells[c]]
                    reached = reached or taken[leaf - a, first + atom]
                alive[leaf - a] = alive[leaf - a] and reached
        for e in range(begin, end):
            f, first = lay[lay[FEATURE] + e], lay[lay[ATOM] + e] - lay[lay[ATOM] + begin]
            start = n
            for c in range(offset[f], offset[f + 1]):
                atom = first + lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + cells[c]]
                fresh = True
                for k in range(start, n):
                    other, same = found[k] - lay[lay[ATOM] + begin], True
                    for leaf in range(b - a):
                        if alive[leaf] and taken[leaf, atom] != taken[leaf, other]:
                            same = False
                            break
                    if same:
                        group[lay[lay[ATOM] + begin] + atom] = found[k]
                        fresh = False
                        break
                if fresh:
                    found[n] = lay[lay[ATOM] + begin] + atom
                    n += 1
            if n == start + 1:  # they are not told apart
                n = start
    return found[:n], group
