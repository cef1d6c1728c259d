"""The reader of sums of trees, which adds without rounding.

Notation: a **leaf** has a value and takes a set of cells of each feature; R(x) = base + Σ_t of the
leaf of tree t that x lies in. Candidates of a feature that no leaf of a tree tells apart are one
**atom** of that tree; an **entry** is a tree with a feature of which it has several. For any
function h of the atoms

    R(x) ≤ base + Σ_t K_t + Σ_f g_f(x_f),   g_f = Σ h over the entries of f,

with K_t = max over leaves of (value − Σ over entries of the least h of the atoms that it takes):
the condition that a proof's functions make. Their numbers come tree by tree, feature by feature,
atom by atom in the order of their first cells; leaves and atoms are those that candidates reach.

Values are rounded outwards, once, to a unit of 2^−44 of the greatest sum or less; functions, of
which any is sound, to the same unit, or to a greater one if they are much greater, which is then
that of the values too. Sums of such numbers stay below 2^53 units, so floats add them exactly.
What the library's own sum may be off by is known (`rounding`): whatever has a confidence by the
library has an exact sum of at least the library's score less that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from trust_recourse.certificate.reader import (
    Bools,
    Bounds,
    Choices,
    Reader,
    Relaxation,
    first_score,
)
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.schema import Feature, Schema

BITS = 44  # of the greatest sum, in units
MOST_BITS = 51  # of a sum of a function's numbers, in units
ZERO = float(np.float32(1e-35))  # numbers up to this may be read as 0
BEFORE_ZERO = math.nextafter(-ZERO, -math.inf)


class Link(NamedTuple):
    """From a sum to a probability, in the library's type."""

    logistic: bool
    divisor: float
    scale: float
    least: float
    after: Any = None

    def __call__(self, score: Floats, kind: Any) -> Any:
        """The probability of these scores."""
        given = np.asarray(score).astype(kind)
        if self.after is not None and self.after.raw:
            return _calibrated(given / kind(self.divisor), self.after)
        with np.errstate(over="ignore"):
            mean = np.maximum(given, kind(self.least)) / kind(self.divisor)
            found = expit(mean * kind(self.scale)) if self.logistic else mean
        return found if self.after is None else _calibrated(found, self.after)


def _calibrated(given: Any, after: Any) -> Floats:
    """By the logistic function, or the line between the two points that something lies between."""
    kind = np.dtype(after.kind).type
    p, x, y = (np.asarray(part, kind) for part in (given, after.x, after.y))
    if not len(x):
        with np.errstate(over="ignore"):
            return np.asarray(expit(-(y[0] * p + y[1])), float)
    p = np.minimum(np.maximum(p, x[0]), x[-1])
    right = np.maximum((p[..., None] >= x).sum(axis=-1), 1)  # the first point beyond
    last, right = right == len(x), np.minimum(right, len(x) - 1)
    left = np.maximum(right - 1, 0)
    width = np.where(left == right, kind(1), x[right] - x[left])
    line = (y[right] - y[left]) / width * (p - x[left]) + y[left]
    return np.asarray(np.where(last, y[-1], np.minimum(np.maximum(line, y[left]), y[right])), float)


def _falls(after: Any) -> bool:
    """Whether a calibration is no map that never falls."""
    x, y = np.array(after.x, float), np.array(after.y, float)
    if not (np.isfinite(x).all() and np.isfinite(y).all() and after.kind in ("float32", "float64")):
        return True
    if not len(x):
        return len(y) != 2 or y[0] > 0
    return len(x) != len(y) or bool((np.diff(x) <= 0).any() or (np.diff(y) < 0).any())


@dataclass(frozen=True, eq=False)
class Ensemble(Reader):
    """The trees, turned towards the wanted class."""

    words = "sums of trees"
    functional = True

    edges: tuple[Floats, ...]
    many: Ints  # cells of each feature
    starts: Ints  # the first leaf of each tree
    allowed: Bools  # (leaves, cells of all features)
    values: Floats  # (leaves, 1) or, one column a class, (leaves, 2)
    base: float
    link: Link
    kind: Any  # np.float32 or np.float64, which the library adds in
    side: int = 1  # −1: turned round
    column: int = -1  # of the values

    @classmethod
    def read(cls, model: Any, edges: tuple[Floats, ...] = ()) -> Ensemble:
        """The trees of an ensemble, split by split; on cells that more edges cut, if given."""
        schema, trees = model.schema_, model.trees
        kinds = {"float32": np.float32, "float64": np.float64}
        link = Link(*model.link)
        sound = model.arithmetic in kinds and math.isfinite(model.base) and len(trees) > 0
        if not (sound and link.divisor > 0 and link.scale > 0):
            raise CertificateError("the model's base, link or arithmetic makes no sense")
        apart = trees[0].value.shape[1] > 1
        if link.after is not None and (apart or _falls(link.after)):
            raise CertificateError("the model's calibration makes no sense, or falls somewhere")
        edges = edges or edges_of(schema, trees)
        cells = [_last_values(feature, cuts) for feature, cuts in zip(schema, edges, strict=True)]
        sizes = [len(of) + bool(each.missing) for of, each in zip(cells, schema, strict=True)]
        found = [_leaves(tree, schema, cells, np.array(sizes)) for tree in trees]
        allowed = [np.array([row for row, _ in each]) for each in found]
        values = np.array([value for each in found for _, value in each])
        if not np.isfinite(values).all():
            raise CertificateError("the model has a leaf whose value is no finite number")
        starts = np.cumsum([0, *(len(each) for each in found[:-1])])
        return cls(
            edges, np.array(sizes), starts, np.concatenate(allowed), values, float(model.base),
            link, kinds[model.arithmetic],
        )  # fmt: skip

    @property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return self.many

    @property
    def width(self) -> int:
        """A bit for each leaf."""
        return len(self.values) // 64 + 1

    # ------------------------------------------------------------ sums

    @cached_property
    def first_cell(self) -> Ints:
        """Where the cells of each feature begin."""
        return np.asarray(np.cumsum(self.many) - self.many)

    @cached_property
    def most(self) -> float:
        """No sum of the values of any leaves, one a tree, and the base is greater either way."""
        most = np.maximum.reduceat(np.abs(self.values[:, self.column]), self.starts)
        return math.fsum([abs(self.base), *most.tolist()])

    @cached_property
    def unit(self) -> float:
        """A power of 2 that all numbers are multiples of."""
        return 2.0 ** (max(math.frexp(self.most)[1], -500) - BITS)

    def up(self, value: Any) -> Any:
        """Rounded up to the unit."""
        return _up(np.asarray(value), self.unit)

    def down(self, value: Any) -> Any:
        """Rounded down to the unit."""
        return -_up(-np.asarray(value), self.unit)

    @cached_property
    def top(self) -> Floats:
        """The value of each leaf, rounded up."""
        return np.asarray(self.up(self.side * self.values[:, self.column]))

    @cached_property
    def bottom(self) -> Floats:
        """The value of each leaf, rounded down."""
        return np.asarray(self.down(self.side * self.values[:, self.column]))

    @cached_property
    def rounding(self) -> float:
        """What the library's sum may be off by: n additions, and n + 1 numbers read in its type."""
        values = np.append(self.values[:, self.column], self.base)
        n = len(self.starts) + bool((values != values.astype(self.kind)).any())
        off = n * float(np.finfo(self.kind).epsneg)
        return float(self.up(off / (1.0 - off) * self.most * (1.0 + 1e-9)))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest sum."""
        least = np.minimum.reduceat(self.bottom, self.starts).sum() + self.base_ends[0]
        most = np.maximum.reduceat(self.top, self.starts).sum() + self.base_ends[1]
        return float(least - self.rounding), float(most + self.rounding)

    @property
    def base_ends(self) -> tuple[float, float]:
        """The base, rounded down and up."""
        base = self.side * self.base
        return float(self.down(base)), float(self.up(base))

    # ------------------------------------------------------------ confidences

    def turned(self) -> Ensemble:
        """The same sum, turned round."""
        return replace(self, side=-self.side)

    def of_class(self, wanted: int) -> Ensemble:
        """Where each class has a sum of its own, that; else the sum turned round for class 0."""
        if wanted == 1:
            return self
        return self.turned() if self.values.shape[1] == 1 else replace(self, column=0)

    def confidence(self, score: Floats) -> Floats:
        """The library's own map from a sum, or what that leaves to the other class."""
        said = self.link(self.side * np.asarray(score), self.kind)
        return np.asarray(said if self.side > 0 else self.kind(1) - said).astype(float)

    def least_score(self, confidence: float) -> float:
        """The least exact sum at which the library may have this confidence."""
        return float(self.down(super().least_score(confidence))) - self.rounding

    def least_turned(self, confidence: float) -> float:
        """The same, turned round, for what has at most this confidence."""

        def more(score: float) -> bool:
            return bool(self.confidence(np.array(score)) > confidence)

        least, most = self.ends
        beyond = first_score(more, least, most)
        if beyond == least:
            return math.inf
        return float(self.down(-min(beyond, most))) - self.rounding

    # ------------------------------------------------------------ cells

    def alike(self, cells: Sequence[Ints]) -> tuple[Ints, ...]:
        """Cells in the same leaves, of those that points with the given cells reach."""
        reached = self.allowed[self.reached(cells)]
        names = _names(reached)
        found = []
        for a, n in zip(self.first_cell.tolist(), self.many.tolist(), strict=True):
            seen: dict[bytes, int] = {}
            found.append(np.array([seen.setdefault(name, len(seen)) for name in names[a : a + n]]))
        return tuple(found)

    def reached(self, cells: Sequence[Ints]) -> Bools:
        """The leaves that take one of the given cells of each feature."""
        each = zip(self.first_cell.tolist(), cells, strict=True)
        return np.asarray(np.all([self.allowed[:, a + of].any(axis=1) for a, of in each], axis=0))

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> Terms:
        """The trees on candidates in these cells."""
        return Terms(self, _atoms(self, cells), tuple(functions))


def _up(value: Any, unit: Any) -> Any:
    return np.ceil(value / unit) * unit


@dataclass(frozen=True, eq=False)
class Weighed(Ensemble):
    """A sum of such sums, each times a weight: products are rounded outwards, too."""

    off: float = 0.0  # what the library's sums, so weighed, may be off by
    base_off: float = 0.0

    @cached_property
    def top(self) -> Floats:
        """No less than the value of each leaf."""
        return np.asarray(self.up(_beyond(self.side * self.values[:, 0])))

    @cached_property
    def bottom(self) -> Floats:
        """No more than the value of each leaf."""
        return np.asarray(self.down(-_beyond(-self.side * self.values[:, 0])))

    @cached_property
    def rounding(self) -> float:
        """What the library's sums may be off by together."""
        return float(self.up(self.off))

    @property
    def base_ends(self) -> tuple[float, float]:
        """The base, surely within these."""
        base, off = self.side * self.base, self.base_off
        return float(self.down(base - off)), float(self.up(base + off))


def weighed(sums: Sequence[Ensemble], weights: Sequence[float]) -> Weighed:
    """The sum of ensembles on the same cells, each times its weight, less those that have none."""
    used = [(each, w) for each, w in zip(sums, weights, strict=True) if w != 0.0]
    starts, many = [], 0
    for each, _ in used:
        starts.append(many + each.starts)
        many += len(each.values)
    values = np.concatenate([w * each.values[:, each.column] for each, w in used])
    each_base = [w * each.base for each, w in used]
    base_off = 2.0**-48 * math.fsum(map(abs, each_base))
    off = math.fsum(abs(w) * (each.rounding + 2.0**-50 * each.most) for each, w in used)
    first = used[0][0]
    return Weighed(
        first.edges, first.many, np.concatenate(starts),
        np.concatenate([each.allowed for each, _ in used]), values[:, None], math.fsum(each_base),
        first.link, np.float64, off=off * (1.0 + 1e-9), base_off=base_off,
    )  # fmt: skip


def _beyond(value: Floats) -> Floats:
    """Surely no less than a product of two numbers that was rounded to this."""
    return np.where(value == 0.0, 0.0, value + 2.0**-50 * np.abs(value))


# ---------------------------------------------------------------- reading


def edges_of(schema: Schema, trees: Any) -> tuple[Floats, ...]:
    """The last value of each cell but the last, of each feature: where some split parts values."""
    return tuple(_edges(schema, f, trees) for f in range(len(schema)))


def _listed(feature: Feature) -> bool:
    """Whether its splits tell codes of a list apart."""
    return feature.kind not in ("number", "integer")


def _edges(schema: Schema, f: int, trees: Any) -> Floats:
    """Those of one feature."""
    feature = schema[f]
    if feature.kind == "category":
        return np.empty(0)
    splits = [(tree, tree.feature == f) for tree in trees]
    if _listed(feature):
        rows = np.concatenate([tree.categories[at] for tree, at in splits])
        rows = rows[:, : len(feature.values) or 2]
        return np.flatnonzero((rows[:, 1:] != rows[:, :-1]).any(axis=0)).astype(float)
    edges = np.concatenate([tree.edge[at] for tree, at in splits])
    if any((tree.zero_left[at] >= 0).any() for tree, at in splits):
        edges = np.append(edges, [BEFORE_ZERO, ZERO])
    return np.unique(edges[np.isfinite(edges)])


def _last_values(feature: Feature, edges: Floats) -> Floats:
    """The last value of each cell, which goes where all of them go."""
    if feature.kind == "category":
        return np.arange(len(feature.values), dtype=float)
    return np.append(edges, math.inf)


def _leaves(
    tree: Any, schema: Schema, cells: Sequence[Floats], sizes: Ints
) -> list[tuple[Bools, Floats]]:
    """The leaves that some value reaches: the cells they take, and their values."""
    n, first = len(tree.feature), np.cumsum(sizes) - sizes
    found, waiting, seen = [], [(0, np.ones(sizes.sum(), bool))], 0
    while waiting:
        node, allowed = waiting.pop()
        seen += 1
        if not 0 <= node < n or seen > n or tree.feature[node] >= len(schema):
            raise CertificateError("the model has a tree that is none")
        f = int(tree.feature[node])
        if f < 0:
            found.append((allowed, tree.value[node]))
            continue
        here, goes = (
            slice(first[f], first[f] + sizes[f]),
            _goes_left(tree, node, schema[f], cells[f]),
        )
        for child, side in ((tree.right[node], ~goes), (tree.left[node], goes)):
            part = allowed.copy()
            part[here] &= side
            if part[here].any():
                waiting.append((int(child), part))
    return found


def _goes_left(tree: Any, node: int, feature: Feature, last: Floats) -> Bools:
    """Which cells of its feature a split sends left; a missing value's is the last."""
    if _listed(feature):
        code = np.minimum(last, (len(feature.values) or 2) - 1).astype(int)
        goes = tree.categories[node, code]
    else:
        goes = last <= tree.edge[node]
        if tree.zero_left[node] >= 0:
            zero = (last > BEFORE_ZERO) & (last <= ZERO)
            goes = np.where(zero, tree.zero_left[node] == 1, goes)
    return np.append(goes, tree.missing_left[node]) if feature.missing else np.asarray(goes)


def _names(allowed: Bools) -> list[bytes]:
    """A name for each cell, the same for those in the same leaves."""
    return [row.tobytes() for row in np.packbits(allowed, axis=0).T]


# ---------------------------------------------------------------- bounds on boxes


class _Atoms(NamedTuple):
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
    feature: Ints  # of each candidate
    place: Ints  # among those of its feature
    entry: Ints  # the first atom of each entry
    tree: Ints  # of each atom, among those that have several leaves


def _each_tree(which: np.ufunc, values: Any, atoms: _Atoms) -> Any:
    """Of the leaves of each tree, by box."""
    return which.reduceat(values, atoms.term, axis=1)


@dataclass(frozen=True, eq=False)
class Terms(Bounds):
    """The trees on boxes of candidates."""

    ensemble: Ensemble
    atoms: _Atoms
    functions: tuple[Function, ...]

    def using(self, functions: tuple[Function, ...]) -> Terms:
        """The same with other functions."""
        return replace(self, functions=functions)

    @property
    def work(self) -> int:
        """A number for each atom that a leaf takes."""
        return len(self.atoms.takes) + len(self.atoms.atom)

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """The sums of each tree's least leaf that can be reached, and of its greatest."""
        atoms, model = self.atoms, self.ensemble
        f, at = atoms.feature, atoms.place
        inside = (at >= first[:, f]) & (at <= last[:, f])
        reached = self._under(inside, np.zeros((len(inside), len(atoms.of_atom)))) < math.inf
        low, high = (end + same for end, same in zip(model.base_ends, atoms.constant, strict=True))
        if len(atoms.term):
            least = np.where(reached, atoms.bottom, math.inf)
            most = np.where(reached, atoms.top, -math.inf)
            low = low + _each_tree(np.minimum, least, atoms).sum(axis=1)
            high = high + _each_tree(np.maximum, most, atoms).sum(axis=1)
        n = np.zeros(len(inside))
        return n + low - model.rounding, n + high + model.rounding

    def relaxed(self, choices: Choices, level: float, steps: int) -> tuple[Bools, list[Relaxation]]:
        """By the trees at their best, and by the function of each box.

        A tree of which a box reaches one leaf has its value there, and no part in the function.
        """
        del steps
        atoms, n = self.atoms, len(choices.budget)
        base = self.ensemble.base_ends[1] + atoms.constant[1]
        inside = np.zeros((n, len(atoms.place)), dtype=bool)
        inside[choices.box, choices.candidate] = True
        if not len(atoms.term):
            gains = np.zeros(len(choices.box))
            return np.full(n, base < level), [Relaxation(np.full(n, level - base), gains, gains)]
        h, top, unit = (part[choices.function] for part in self._made)
        base, level = _up(base, unit), -_up(-level, unit)
        under = self._under(inside, h)
        reached = under < math.inf
        most = _each_tree(np.maximum, np.where(reached, top, -math.inf), atoms)
        best = _each_tree(np.maximum, top - under, atoms)
        one = _each_tree(np.add, reached.astype(np.int64), atoms) == 1
        out = base + most.sum(axis=1) < level
        needed = level - base - np.where(out[:, None] | one, most, best).sum(axis=1)
        counted = np.column_stack([np.where(one[:, atoms.tree], 0.0, h), np.zeros(n)])
        gains = np.add.reduceat(counted[:, atoms.atom], atoms.of_candidate, axis=1)
        told = gains[choices.box, choices.candidate]
        needed = np.where(out, 0.0, needed)
        return out, [Relaxation(needed, told, np.zeros(len(told)))]

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How many atoms each feature's range holds, over the trees."""
        f, at = self.atoms.feature, self.atoms.place
        inside, held = (at >= first[0, f]) & (at <= last[0, f]), []
        many = np.diff(self.atoms.of_atom, append=len(self.atoms.candidate))
        order = np.repeat(np.arange(len(many)), many)
        for each in range(first.shape[1]):
            mine = np.isin(self.atoms.candidate, np.flatnonzero(inside & (f == each)))
            held.append(len(np.unique(order[mine])))
        return np.array(held, dtype=float)

    # ------------------------------------------------------------ functions

    def _under(self, inside: Bools, h: Floats) -> Floats:
        """Σ over the entries of each leaf of the least h that it takes; ∞ if it is not reached."""
        atoms = self.atoms
        if not len(atoms.term):
            return np.zeros((len(inside), 0))
        there = np.logical_or.reduceat(inside[:, atoms.candidate], atoms.of_atom, axis=1)
        least = np.where(there, h, math.inf)[:, atoms.takes]
        return np.add.reduceat(np.minimum.reduceat(least, atoms.pair, axis=1), atoms.leaf, axis=1)

    @cached_property
    def _made(self) -> tuple[Floats, Floats, Floats]:
        """The functions, (k, atoms), at least one, which may be 0; the leaves' values; the unit."""
        atoms = self.atoms
        h = np.zeros((max(len(self.functions), 1), len(atoms.of_atom)))
        for k, (power, numbers) in enumerate(self.functions):
            if len(numbers) != h.shape[1]:
                given = f"function {k}: given {len(numbers)} numbers"
                raise CertificateError(f"{given}, expected one for each of {h.shape[1]} atoms")
            h[k] = np.ldexp(numbers.astype(np.float64), power)
        size = np.maximum.reduceat(np.abs(h), atoms.entry, axis=1).sum(axis=1)
        unit = np.maximum(self.ensemble.unit, np.ldexp(1.0, np.frexp(size)[1] - MOST_BITS))
        return np.round(h / unit[:, None]) * unit[:, None], _up(atoms.top, unit[:, None]), unit


def _atoms(model: Ensemble, cells: Sequence[Ints]) -> _Atoms:
    """The trees on candidates in these cells."""
    alive = model.reached(cells)
    each = zip(model.first_cell.tolist(), cells, strict=True)
    columns = np.concatenate([a + of for a, of in each])
    order = np.argsort(columns, kind="stable")  # feature by feature, and by cells
    sizes = [len(of) for of in cells]
    ends = np.cumsum([0, *sizes])
    top, bottom, constant, term = [], [], [0.0, 0.0], [0]
    leaf: list[int] = []
    many: list[int] = []
    pair, takes, placed, entry, n = [0], [np.empty(0, int)], [], [], 0
    for a, b in pairwise([*model.starts.tolist(), len(alive)]):
        rows = a + np.flatnonzero(alive[a:b])
        if len(rows) == 1:
            constant[0] += float(model.bottom[rows[0]])
            constant[1] += float(model.top[rows[0]])
            continue
        allowed, own = model.allowed[rows][:, columns], []
        names = _names(allowed)
        for start, stop in pairwise(ends.tolist()):
            at = order[start:stop]
            seen: dict[bytes, int] = {}
            of = np.array([seen.setdefault(names[c], len(seen)) for c in at.tolist()])
            if len(seen) > 1:
                own.append((n, allowed[:, at[np.unique(of, return_index=True)[1]]]))
                placed.append((at, n + of))
                entry.append(n)
                n += len(seen)
        for i in range(len(rows)):
            leaf.append(len(pair) - 1)
            for begin, taken in own:
                takes.append(begin + np.flatnonzero(taken[i]))
                pair.append(pair[-1] + len(takes[-1]))
        many.append(n - sum(many))
        top.append(model.top[rows])
        bottom.append(model.bottom[rows])
        term.append(term[-1] + len(rows))
    none = np.arange(len(columns)), np.full(len(columns), n)
    candidate, atom = (np.concatenate(part) for part in zip(*placed, none, strict=True))
    by_candidate, by_atom = (np.lexsort(keys) for keys in ((atom, candidate), (candidate, atom)))
    by_atom = by_atom[: len(atom) - len(columns)]
    return _Atoms(
        np.concatenate([*top, np.empty(0)]), np.concatenate([*bottom, np.empty(0)]),
        (constant[0], constant[1]), np.array(term[:-1], int), np.array(leaf, int),
        np.array(pair[:-1], int), np.concatenate(takes),
        atom[by_candidate], np.searchsorted(candidate[by_candidate], np.arange(len(columns))),
        candidate[by_atom], np.searchsorted(atom[by_atom], np.arange(n)),
        np.repeat(np.arange(len(cells)), sizes), np.concatenate([*map(np.arange, sizes)]),
        np.array(entry, int),
        np.repeat(np.arange(len(many)), many),
    )  # fmt: skip
