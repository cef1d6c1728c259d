"""Bounds on sums over boxes of candidates, and the conditions that a proof's functions make.

Notation: R(x) = base + Σ_f points_f(x_f) + Σ_t term_t(x), a **term** a table of two features, or a
tree: its leaves have a value and take a set of cells of each feature. Candidates of a feature that
lie in one bin of a table, or that no leaf of a tree tells apart, are one **atom** of that term; an
**entry** is a term with a feature of which it has several. A table of which one feature has a
single atom is one of the other alone, and adds to its points. For any function h of the atoms

    R(x) ≤ base + Σ_t K_t + Σ_f g_f(x_f),   g_f = points_f + Σ h over the entries of f,

with K_t = max of (table − h − h), or over leaves of (value − Σ over entries of the least h of the
atoms that it takes). Where a box has one bin of a table's feature, the table itself is taken for h;
a tree of which it reaches one leaf has its value there, and no part in the function.

The numbers of a function come entry by entry: of each table's first feature and of its second, bin
by bin; then tree by tree, feature by feature, atom by atom in the order of their first cells.
Leaves, bins and atoms are those that candidates reach. Functions, of which any is sound, are
rounded to the unit of the sum (see `sums`), or to a greater one if they are much greater, which is
then that of the sum's numbers too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trust_recourse.certificate.reader import Bools, Bounds, Choices, Relaxation, extreme
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.io.arrays import Floats, Ints

if TYPE_CHECKING:
    from trust_recourse.certificate.sums import SumProof

MOST_BITS = 51  # of a sum of a function's numbers, in units


def rounded_up(value: Any, unit: Any) -> Any:
    """Numbers rounded up to multiples of a power of 2."""
    return np.ceil(value / unit) * unit


def names(allowed: Bools) -> list[bytes]:
    """A name for each cell, the same for those in the same leaves."""
    return [row.tobytes() for row in np.packbits(allowed, axis=0).T]


def numbered(of: Iterable[bytes]) -> list[int]:
    """A number for each, ascending from the first, the same for the same names."""
    seen: dict[bytes, int] = {}
    return [seen.setdefault(name, len(seen)) for name in of]


@dataclass(frozen=True, eq=False)
class SumBounds(Bounds):
    """The terms of a sum on boxes of candidates."""

    sum: SumProof
    base: tuple[float, float]  # rounded down and up, as all that follows
    low: Floats  # (candidates,) the points of each, feature after feature
    high: Floats
    sizes: Ints  # how many candidates each feature has
    tables: tuple[Table, ...]
    trees: Trees
    functions: tuple[Function, ...]

    @classmethod
    def of(cls, model: SumProof, cells: Sequence[Ints], functions: Sequence[Function]) -> SumBounds:
        """A sum on candidates in these cells."""
        sizes = np.array([*map(len, cells)])
        first = np.cumsum(sizes) - sizes
        low, high = model.between(
            [
                np.concatenate([points[at] for points, at in zip(of.points, cells, strict=True)])
                for of in model.columns
            ]
        )
        tables = []
        for k, column in enumerate(model.columns):
            for features, bins, numbers in column.tables:
                (rows, of_f), (columns, of_g) = (
                    np.unique(of[cells[f]], return_inverse=True)
                    for f, of in zip(features, bins, strict=True)
                )
                least, most = model.between([numbers[np.ix_(rows, columns)]], k)
                if min(map(len, (rows, columns))) > 1:
                    tables.append(Table(features, (of_f, of_g), least, most))
                    continue
                f, of = (features[0], of_f) if len(columns) == 1 else (features[1], of_g)
                low[first[f] : first[f] + sizes[f]] += least.ravel()[of]
                high[first[f] : first[f] + sizes[f]] += most.ravel()[of]
        trees, base = _trees(model, cells), model.between([of.base for of in model.columns])
        least, most = (float(a) + b for a, b in zip(base, trees.constant, strict=True))
        return cls(model, (least, most), low, high, sizes, tuple(tables), trees, tuple(functions))

    def using(self, functions: tuple[Function, ...]) -> SumBounds:
        """The same with other functions."""
        return replace(self, functions=functions)

    @property
    def work(self) -> int:
        """A number for each candidate, for each of a table, and for each atom that a leaf takes."""
        tables = sum(int(table.low.size) for table in self.tables)
        return len(self.low) + tables + len(self.trees.takes) + len(self.trees.atom)

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """The sums of the least numbers that are within a box, and of the greatest."""
        low, high = (np.full(len(first), end) for end in self.base)
        start = np.cumsum(self.sizes) - self.sizes
        ranges = (first + start).ravel(), (last + start).ravel()
        low += extreme(np.minimum, self.low, *ranges).reshape(first.shape).sum(axis=1)
        high += extreme(np.maximum, self.high, *ranges).reshape(first.shape).sum(axis=1)
        if self._terms:
            inside = self._inside(first, last)
            for table in self.tables:
                parts = [inside[:, slice(*self._places[f])] for f in table.features]
                least, most = table.scores(table.there(parts))
                low, high = low + least, high + most
            least, most = self.trees.scores(inside)
            low, high = low + least, high + most
        return low - self.sum.rounding, high + self.sum.rounding

    def relaxed(self, choices: Choices, level: float, steps: int) -> tuple[Bools, list[Relaxation]]:
        """By the terms at their best, and by the function of each box."""
        del steps
        functions, units, tops = self._made
        unit = units[choices.function]
        base, level = rounded_up(self.base[1], unit), -rounded_up(-level, unit)
        gains = rounded_up(self.high[choices.candidate], unit[choices.box])
        most = base + choices.each(np.maximum, gains[None])[0].sum(axis=1)
        needed = level - base
        if self._terms:
            inside = np.zeros((len(unit), len(self.low)), dtype=bool)
            inside[choices.box, choices.candidate] = True
            more, h, at = np.zeros(inside.shape), functions[choices.function], 0
            for table in self.tables:
                both = [slice(*self._places[f]) for f in table.features]
                there, own = table.there([inside[:, of] for of in both]), []
                for many in table.low.shape:
                    own.append(h[:, at : at + many])
                    at += many
                top, k, own = table.relaxed(there, own, unit)
                most, needed = most + top, needed - k
                for place, of, bins in zip(both, own, table.bins, strict=True):
                    more[:, place] += of[:, bins]
            top, k, of_trees = self.trees.relaxed(inside, h[:, at:], tops[choices.function])
            most, needed = most + top, needed - k
            gains = gains + (more + of_trees)[choices.box, choices.candidate]
        out = most < level
        return out, [Relaxation(np.where(out, 0.0, needed), gains, np.zeros(len(gains)))]

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How far each feature's points go apart, and the terms that tell its range apart."""
        (inside,) = self._inside(first, last)
        parts = [np.flatnonzero(inside[a:b]) for a, b in self._places]
        found = [np.ptp(self.high[a + of]) for (a, _), of in zip(self._places, parts, strict=True)]
        loose = np.array(found) + self.trees.looseness(inside, len(found))
        for (f, g), (of_f, of_g), _, high in self.tables:
            table = high[np.ix_(np.unique(of_f[parts[f]]), np.unique(of_g[parts[g]]))]
            loose[f] += np.ptp(table, axis=0).max()
            loose[g] += np.ptp(table, axis=1).max()
        return loose

    # ------------------------------------------------------------ candidates and functions

    @cached_property
    def _terms(self) -> bool:
        return len(self.tables) + len(self.trees.term) > 0

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        return [*pairwise(np.cumsum([0, *self.sizes]).tolist())]

    def _inside(self, first: Ints, last: Ints) -> Bools:
        """Which candidates lie in which box, (n, candidates)."""
        f = np.repeat(np.arange(len(self.sizes)), self.sizes)
        at = np.arange(len(f)) - (np.cumsum(self.sizes) - self.sizes)[f]
        return np.asarray((at >= first[:, f]) & (at <= last[:, f]))

    @cached_property
    def _made(self) -> tuple[Floats, Floats, Floats]:
        """The functions, (k, atoms), at least one, which may be 0; their units; leaves by these."""
        many = [size for table in self.tables for size in table.low.shape]
        entry = np.append(np.cumsum([0, *many])[:-1], sum(many) + self.trees.entry)
        h = np.zeros((max(len(self.functions), 1), sum(many) + len(self.trees.of_atom)))
        for k, (power, numbers) in enumerate(self.functions):
            if len(numbers) != h.shape[1]:
                given = f"function {k}: given {len(numbers)} numbers"
                raise CertificateError(f"{given}, expected one for each of {h.shape[1]} atoms")
            h[k] = np.ldexp(numbers.astype(np.float64), power)
        size = np.zeros(len(h))
        if len(entry):
            size = np.maximum.reduceat(np.abs(h), entry, axis=1).sum(axis=1)
        unit = np.maximum(self.sum.unit, np.ldexp(1.0, np.frexp(size)[1] - MOST_BITS))
        each = unit[:, None]
        return np.round(h / each) * each, unit, rounded_up(self.trees.top, each)


# ---------------------------------------------------------------- tables


class Table(NamedTuple):
    """A table on candidates: of each of its two features' candidates the bin, and its numbers."""

    features: tuple[int, int]
    bins: tuple[Ints, Ints]
    low: Floats
    high: Floats

    def there(self, inside: Sequence[Bools]) -> list[Bools]:
        """(n, bins) of each feature: which have a candidate in each box, from (n, candidates)."""
        found = []
        for bins, of, many in zip(self.bins, inside, self.low.shape, strict=True):
            each = np.zeros((len(of), many), dtype=bool)
            box, candidate = np.nonzero(of)
            each[box, bins[candidate]] = True
            found.append(each)
        return found

    def scores(self, there: Sequence[Bools]) -> tuple[Floats, Floats]:
        """The least and the greatest number of each box."""
        both = there[0][:, :, None] & there[1][:, None, :]
        low, high = np.where(both, self.low, math.inf), np.where(both, self.high, -math.inf)
        return low.min(axis=(1, 2)), high.max(axis=(1, 2))

    def relaxed(
        self, there: Sequence[Bools], h: Sequence[Floats], unit: Floats
    ) -> tuple[Floats, Floats, list[Floats]]:
        """Of each box the greatest number, K, and the functions that make it."""
        table = rounded_up(self.high, unit[:, None, None])
        table = np.where(there[0][:, :, None] & there[1][:, None, :], table, -math.inf)
        row, column = (each.sum(axis=1) == 1 for each in there)
        left = np.where(there[0], table.max(axis=2), 0.0)  # where there is one column, it
        right = np.where(there[1], table.max(axis=1), 0.0)
        f = np.where(column[:, None], left, np.where(row[:, None], 0.0, h[0]))
        g = np.where(column[:, None], 0.0, np.where(row[:, None], right, h[1]))
        k = (table - f[:, :, None] - g[:, None, :]).max(axis=(1, 2))
        return table.max(axis=(1, 2)), k, [f, g]


# ---------------------------------------------------------------- trees


class Trees(NamedTuple):
    """The leaves that candidates reach, less those of trees with one, and what they take.

    The atoms that a leaf takes of an entry of its tree begin at `pair`, and its first entry is at
    `leaf` among these.
    """

    top: Floats
    bottom: Floats
    constant: tuple[float, float]  # of trees with one leaf, rounded down and up
    term: Ints  # the first leaf of each tree
    leaf: Ints
    pair: Ints
    takes: Ints
    atom: Ints  # that candidates lie in, candidate by candidate; the last of each is none
    of_candidate: Ints  # where those of each begin
    candidate: Ints  # that lie in atoms, atom by atom
    of_atom: Ints
    entry: Ints  # the first atom of each entry
    tree: Ints  # of each atom, among those that have several leaves
    feature: Ints  # of each atom

    def scores(self, inside: Bools) -> tuple[Floats, Floats]:
        """The sums of each tree's least leaf that can be reached, and of its greatest."""
        low, high = np.zeros((2, len(inside)))
        if len(self.term):
            reached = self._under(inside, np.zeros((len(inside), len(self.of_atom)))) < math.inf
            low += self._each(np.minimum, np.where(reached, self.bottom, math.inf)).sum(axis=1)
            high += self._each(np.maximum, np.where(reached, self.top, -math.inf)).sum(axis=1)
        return low, high

    def relaxed(self, inside: Bools, h: Floats, top: Floats) -> tuple[Floats, Floats, Any]:
        """Of each box the greatest leaves, Σ K, and what the function brings each candidate."""
        if not len(self.term):
            none = np.zeros(len(inside))
            return none, none, 0.0
        under = self._under(inside, h)
        reached = under < math.inf
        most = self._each(np.maximum, np.where(reached, top, -math.inf))
        best = self._each(np.maximum, top - under)
        one = self._each(np.add, reached.astype(np.int64)) == 1
        counted = np.column_stack([np.where(one[:, self.tree], 0.0, h), np.zeros(len(h))])
        gains = np.add.reduceat(counted[:, self.atom], self.of_candidate, axis=1)
        k = np.where(one, most, best)
        return most.sum(axis=1), k.sum(axis=1), gains

    def looseness(self, inside: Bools, features: int) -> Floats:
        """How far the trees go apart of which a feature's range on one box has several atoms."""
        held = np.zeros(features)
        if len(self.term):
            spread = np.maximum.reduceat(self.top, self.term)
            spread = spread - np.minimum.reduceat(self.bottom, self.term)
            there = np.logical_or.reduceat(inside[self.candidate], self.of_atom)
            np.add.at(held, self.feature[there], spread[self.tree[there]])
        return held

    def _each(self, which: np.ufunc, values: Any) -> Any:
        """Of the leaves of each tree, by box."""
        return which.reduceat(values, self.term, axis=1)

    def _under(self, inside: Bools, h: Floats) -> Floats:
        """Σ over the entries of each leaf of the least h that it takes; ∞ if it is not reached."""
        there = np.logical_or.reduceat(inside[:, self.candidate], self.of_atom, axis=1)
        least = np.where(there, h, math.inf)[:, self.takes]
        return np.add.reduceat(np.minimum.reduceat(least, self.pair, axis=1), self.leaf, axis=1)


def _trees(model: SumProof, cells: Sequence[Ints]) -> Trees:
    """The trees of all columns on candidates in these cells."""
    first = np.cumsum(model.sizes) - model.sizes
    columns = np.concatenate([a + of for a, of in zip(first, cells, strict=True)])
    order = np.argsort(columns, kind="stable")  # feature by feature, and by cells
    ends = np.cumsum([0, *map(len, cells)]).tolist()
    top, bottom, constant = [np.empty(0)], [np.empty(0)], [0.0, 0.0]
    takes, each, placed, n = [np.empty(0, int)], [np.empty(0, int)], [], 0
    leaves: list[int] = []  # of each tree, its entries and its atoms
    entries: list[int] = []
    atoms: list[int] = []
    entry: list[int] = []
    features: list[int] = []
    for least, most, allowed in _each_tree(model, cells):
        if len(most) == 1:
            constant = [constant[0] + float(least[0]), constant[1] + float(most[0])]
            continue
        allowed, own, begin = allowed[:, columns], [], len(entry)
        of_cell, atoms_before = names(allowed), n
        for f, (start, stop) in enumerate(pairwise(ends)):
            at = order[start:stop]
            of = np.array(numbered(of_cell[c] for c in at.tolist()))
            if size := int(of.max(initial=0)):
                own.append(at[np.unique(of, return_index=True)[1]])
                placed.append((at, n + of))
                entry.append(n)
                features += [f] * (size + 1)
                n += size + 1
        taken = allowed[:, np.concatenate(own)]
        takes.append(atoms_before + np.nonzero(taken)[1])
        first_atom = np.array(entry[begin:]) - atoms_before
        each.append(np.add.reduceat(taken, first_atom, axis=1, dtype=np.int64).ravel())
        leaves.append(len(most))
        entries.append(len(own))
        atoms.append(n - atoms_before)
        top.append(most)
        bottom.append(least)
    none = np.arange(len(columns)), np.full(len(columns), n)
    candidate, atom = (np.concatenate(part) for part in zip(*placed, none, strict=True))
    by_candidate, by_atom = (np.lexsort(keys) for keys in ((atom, candidate), (candidate, atom)))
    by_atom = by_atom[: len(atom) - len(columns)]
    return Trees(
        np.concatenate(top), np.concatenate(bottom), (constant[0], constant[1]),
        _starts(leaves), _starts(np.repeat(entries, leaves)), _starts(np.concatenate(each)),
        np.concatenate(takes), atom[by_candidate],
        np.searchsorted(candidate[by_candidate], np.arange(len(columns))), candidate[by_atom],
        np.searchsorted(atom[by_atom], np.arange(n)), np.array(entry, int),
        np.repeat(np.arange(len(atoms)), atoms), np.array(features, int),
    )  # fmt: skip


def _starts(sizes: Sequence[int] | Ints) -> Ints:
    return np.cumsum(sizes, dtype=np.int64) - np.asarray(sizes, np.int64)


def _each_tree(model: SumProof, cells: Sequence[Ints]) -> Iterator[tuple[Floats, Floats, Bools]]:
    """The leaves of each tree that are reached: their values, rounded, and the cells they take."""
    for k, column in enumerate(model.columns):
        starts, allowed, values = column.leaves
        alive = model.reached(column, cells)
        bottom, top = model.between([values], k)
        for a, b in pairwise([*starts.tolist(), len(values)] if len(starts) else []):
            rows = a + np.flatnonzero(alive[a:b])
            yield bottom[rows], top[rows], allowed[rows]
