"""The arrays that compiled bounds on a sum of terms read: terms, entries, atoms, leaves.

A term takes the value of the one of its **leaves** that a point lies in; a leaf is a product of
sets of cells. Cells of a feature that no leaf of a term tells apart are one **atom** of that term;
atoms are numbered as their first cells come, so that those of an ordered feature lie in a row. An
**entry** is a term with one of the features that it tells cells apart of; a **pair** is a leaf with
an entry of its term, and lists the atoms that the leaf takes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.cells import Floats, Ints, making
from trust_recourse.sums.ensemble import Bools, Leaves

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
    return Compact(*_compact(lay, cells, costs, apart))


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


@making
def living(lay: Any, cells: Any) -> Any:
    """Which atoms have a cell left, and which leaves an atom in each entry of their term."""
    atoms, leaves = np.zeros(lay[H], np.bool_), np.ones(lay[L], np.bool_)
    for e in range(lay[E]):
        first = lay[lay[FIRST] + lay[lay[FEATURE] + e]]
        for c in range(lay[lay[MAP] + e + 1] - lay[lay[MAP] + e]):
            if cells[first + c]:
                a = lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]
                atoms[lay[lay[ATOM] + e] + a] = True
    for t in range(lay[T]):
        entry, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
        for leaf in range(lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]):
            pair = lay[lay[LEAF_PAIR] + leaf]
            for e in range(entry, end):
                found = False
                for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                    if atoms[lay[lay[ATOM] + e] + lay[lay[TAKES] + k]]:
                        found = True
                        break
                pair += 1
                if not found:
                    leaves[leaf] = False
                    break
    return atoms, leaves


@making
def _regrouped(lay: Any, t: int, leaves: Any, cells: Any, number: Any, fresh: Any) -> int:
    """Number the atoms of a term anew by its leaves that are left; how many there are in all.

    Where a cell lies in another atom than the one before it, it is fresh.
    """
    entry, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
    total = 0
    for e in range(entry, end):
        f, base = lay[lay[FEATURE] + e], lay[lay[ATOM] + e]
        first, many = lay[lay[FIRST] + f], lay[lay[ATOM] + e + 1] - base
        taken = np.zeros((many, len(leaves)), np.bool_)
        for at in range(len(leaves)):
            pair = lay[lay[LEAF_PAIR] + leaves[at]] + e - entry
            for k in range(lay[lay[PAIR] + pair], lay[lay[PAIR] + pair + 1]):
                taken[lay[lay[TAKES] + k], at] = True
        like, n, before = np.empty(many, np.int64), 0, -1
        for c in range(lay[lay[MAP] + e + 1] - lay[lay[MAP] + e]):
            if not cells[first + c]:
                continue
            i = lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + c]
            if number[base + i] < 0:
                found = n
                for g in range(n):
                    if (taken[i] == taken[like[g]]).all():
                        found = g
                        break
                if found == n:
                    like[n] = i
                    n += 1
                number[base + i] = found
            if before >= 0 and number[base + i] != before:
                fresh[first + c] = True
            before = number[base + i]
        if n < 2:  # they are not told apart
            number[base : base + many] = -1
        else:
            total += n
    return total


@making
def _compact(lay: Any, cells: Any, costs: Any, apart: Any) -> Any:
    d, terms = lay[D], lay[T]
    _, alive = living(lay, cells)
    number, fresh = np.full(lay[H], -1), np.zeros(lay[C], np.bool_)
    stays, constant, n_constant = np.zeros(terms, np.bool_), np.empty(terms, np.int64), 0
    kept_leaves, n_leaves = np.empty(lay[L], np.int64), 0
    n_entries, n_pairs, n_takes = 0, 0, 0
    for t in range(terms):
        start = n_leaves
        for leaf in range(lay[lay[TERM_LEAF] + t], lay[lay[TERM_LEAF] + t + 1]):
            if alive[leaf]:
                kept_leaves[n_leaves] = leaf
                n_leaves += 1
        if n_leaves - start == 1:
            n_leaves = start
            constant[n_constant] = kept_leaves[start]
            n_constant += 1
            continue
        stays[t] = True
        atoms = _regrouped(lay, t, kept_leaves[start:n_leaves], cells, number, fresh)
        for e in range(lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]):
            if number[lay[lay[ATOM] + e] : lay[lay[ATOM] + e + 1]].max() > 0:
                n_entries += 1
                n_pairs += n_leaves - start
        n_takes += (n_leaves - start) * atoms
    # the cells that stay
    kept, first, n_cells = np.empty(lay[C], np.int64), np.empty(d + 1, np.int64), 0
    for f in range(d):
        first[f] = n_cells
        end = lay[lay[FIRST] + f + 1] if f + 1 < d else lay[C]
        for c in range(lay[lay[FIRST] + f], end):
            if not cells[c]:
                continue
            if n_cells == first[f] or fresh[c] or apart[f]:
                kept[n_cells] = c
                n_cells += 1
            elif costs[c] < costs[kept[n_cells - 1]]:
                kept[n_cells - 1] = c
    first[d] = n_cells
    # the layout of what stays
    n_map = 0
    for t in range(terms):
        if stays[t]:
            for e in range(lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]):
                if number[lay[lay[ATOM] + e] : lay[lay[ATOM] + e + 1]].max() > 0:
                    f = lay[lay[FEATURE] + e]
                    n_map += first[f + 1] - first[f]
    n_terms = terms - n_constant
    term_entry, term_leaf = np.zeros(n_terms + 1, np.int64), np.zeros(n_terms + 1, np.int64)
    feature, atom = np.empty(n_entries, np.int64), np.zeros(n_entries + 1, np.int64)
    begins, cell_atom = np.zeros(n_entries + 1, np.int64), np.empty(n_map, np.int64)
    leaf_pair, pair = np.zeros(n_leaves + 1, np.int64), np.zeros(n_pairs + 1, np.int64)
    takes, met = np.empty(n_takes, np.int64), np.zeros(lay[H] + 1, np.bool_)
    n, m, p, k, at = 0, 0, 0, 0, 0
    for t in range(terms):
        if not stays[t]:
            continue
        entry, end = lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]
        for e in range(entry, end):
            base, last = lay[lay[ATOM] + e], lay[lay[ATOM] + e + 1]
            many = number[base:last].max() + 1
            if many < 2:
                continue
            f = lay[lay[FEATURE] + e]
            feature[n], atom[n + 1] = f, atom[n] + many
            for c in range(first[f], first[f + 1]):
                cell = kept[c] - lay[lay[FIRST] + f]
                of = number[base + lay[lay[CELL_ATOM] + lay[lay[MAP] + e] + cell]]
                cell_atom[begins[n] + c - first[f]] = of
            begins[n + 1] = begins[n] + first[f + 1] - first[f]
            n += 1
        last_leaf = lay[lay[TERM_LEAF] + t + 1]
        while at < n_leaves and kept_leaves[at] < last_leaf:
            for e in range(entry, end):
                base, last = lay[lay[ATOM] + e], lay[lay[ATOM] + e + 1]
                many = number[base:last].max() + 1
                if many < 2:
                    continue
                old = lay[lay[LEAF_PAIR] + kept_leaves[at]] + e - entry
                met[:many] = False
                for j in range(lay[lay[PAIR] + old], lay[lay[PAIR] + old + 1]):
                    i = number[base + lay[lay[TAKES] + j]]
                    if i >= 0:
                        met[i] = True
                for i in range(many):
                    if met[i]:
                        takes[k] = i
                        k += 1
                p += 1
                pair[p] = k
            at += 1
            leaf_pair[at] = p
        m += 1
        term_entry[m], term_leaf[m] = n, at
    # an atom's number among all
    n = 0
    for t in range(terms):
        if stays[t]:
            for e in range(lay[lay[TERM_ENTRY] + t], lay[lay[TERM_ENTRY] + t + 1]):
                base, last = lay[lay[ATOM] + e], lay[lay[ATOM] + e + 1]
                if number[base:last].max() > 0:
                    for i in range(base, last):
                        number[i] += atom[n] if number[i] >= 0 else 0
                    n += 1
    parts = (
        term_entry, term_leaf, feature, atom, begins, cell_atom, leaf_pair, pair, takes[:k],
        first[:d],
    )  # fmt: skip
    size = HEAD
    for part in parts:
        size += len(part)
    made = np.zeros(size, np.int64)
    made[D], made[T], made[E], made[H] = d, n_terms, n_entries, atom[n_entries]
    made[L], made[C] = n_leaves, n_cells
    size, j = HEAD, TERM_ENTRY
    for part in parts:
        made[j] = size
        made[size : size + len(part)] = part
        size += len(part)
        j += 1
    return made, kept_leaves[:n_leaves], constant[:n_constant], kept[:n_cells], number
