"""Sums of trees, read exactly: one value for the ensembles of every library.

A score is the sum, in the library's own type and order, of one leaf of each tree; a link turns it
into the probability of the second class. Edges are in double, whatever a library compares in.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trust_recourse import _native
from trust_recourse.io.arrays import Bools, Cells, Floats, Ints
from trust_recourse.models import model_file
from trust_recourse.models.attribution import Attribution, Words
from trust_recourse.models.floats import first_float
from trust_recourse.models.grid import Grid
from trust_recourse.models.regridding import Columns
from trust_recourse.models.seam import Score
from trust_recourse.models.sums.attributions import LeafAttribution
from trust_recourse.models.sums.layout import Leaves
from trust_recourse.models.sums.sum import Sum
from trust_recourse.question import decided
from trust_recourse.schema import Feature, Schema

ZERO = float(np.float32(1e-35))  # LightGBM reads numbers up to this as 0
MANY = 256  # rows from which on it pays to look for the nodes that all of them reach
BEFORE_ZERO = math.nextafter(-ZERO, -math.inf)

LOG_ODDS = Words(
    "log-odds",
    "tree",
    "trees",
    "log-odds, where 0 is a confidence of one half and more a greater one",
)
PROBABILITY = Words(
    "probability", "tree", "trees", "probability, the mean over the trees", logistic=False, digits=4
)


def _before(words: Words) -> Words:
    """The words of what is calibrated after."""
    of = words.score
    return words._replace(score=f"{of} before calibration", note=f"{of} before it is calibrated")


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree as arrays over its nodes, the root first and each node before its children.

    A split on a number or an integer sends left what is at most its `edge`, ±∞ where all or none
    goes; one on a category, ordinal or boolean the codes of its row of `categories`.
    """

    feature: Ints  # in the schema's order, −1 at a leaf
    edge: Floats
    categories: Bools  # (nodes, codes of the longest such feature)
    missing_left: Bools
    zero_left: NDArray[np.int8]  # whether what is read as 0 goes left: 1, 0, or −1 as by its edge
    left: Ints
    right: Ints
    value: Floats  # (nodes, 1) towards classes_[1], or (nodes, 2) where classes are summed apart


class Calibration(NamedTuple):
    """What a calibrator makes of a probability, or of the sum itself: a map that never falls.

    Lines between the points (x, y), or, without an x, the logistic function of −(y[0] · p + y[1]).
    """

    raw: bool  # of the sum itself, or of what trees add on average
    kind: str  # the type that it computes in
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __call__(self, given: NDArray[Any]) -> Floats:
        """The calibrated probability."""
        p, y = given.astype(self.kind), np.array(self.y, self.kind)
        if not self.x:
            with np.errstate(over="ignore"):
                return np.asarray(expit(-(y[0] * p + y[1]))).astype(float)
        if len(y) == 1:
            return np.full(p.shape, float(y[0]))
        x = np.array(self.x, self.kind)
        p = np.clip(p, x[0], x[-1])
        at = np.clip(x.searchsorted(p, "right") - 1, 0, len(x) - 2)
        line = (y[at + 1] - y[at]) / (x[at + 1] - x[at]) * (p - x[at]) + y[at]
        # what is rounded beyond the end of a line would make the next one fall
        ended = np.clip(np.where(p == x[-1], y[-1], line), y[at], y[at + 1])
        return np.asarray(ended, float)

    @property
    def sound(self) -> bool:
        """Whether it is such a map, of numbers of its type, and never falls."""
        with np.errstate(over="ignore"):
            x, y = (np.array(part, self.kind).astype(float) for part in (self.x, self.y))
        typed = np.array_equal(x, self.x) and np.array_equal(y, self.y)
        if not len(x):
            return bool(typed and len(y) == 2 and y[0] <= 0)
        rises = (np.diff(x) > 0).all() and (np.diff(y) >= 0).all()
        within = len(x) == len(y) and y.min() >= 0 and y.max() <= 1
        return bool(typed and rises and within)

    @property
    def apart(self) -> float:
        """How far the library's own may lie from it: what was rounded beyond the end of a line."""
        return 4.0 * float(np.finfo(self.kind).eps) if len(self.x) > 1 else 0.0


class Link(NamedTuple):
    """From a sum to a probability: the sum over `divisor`, or the logistic function of its `scale`.

    XGBoost's takes no sum below `least`. A calibrator may come after.
    """

    logistic: bool
    divisor: int = 1
    scale: float = 1.0
    least: float = -math.inf
    after: Calibration | None = None

    def __call__(self, score: NDArray[Any]) -> NDArray[Any]:
        """The probability, in the score's own type; a calibrated one in doubles."""
        kind = score.dtype.type
        if self.after is not None and self.after.raw:
            return self.after(score / kind(self.divisor))
        with np.errstate(over="ignore"):  # the probability of ±∞ is the 0 or 1 that is meant
            mean = np.maximum(score, kind(self.least)) / kind(self.divisor)
            found = np.asarray(expit(mean * kind(self.scale)) if self.logistic else mean)
        return found if self.after is None else self.after(found)


class _Nodes(NamedTuple):
    """The nodes of all trees in one row, by cells.

    A split sends left the cells up to its `cut` and, if so it is, the missing one; where those are
    not what goes left, its cells begin at `first` in `goes_left`.
    """

    root: Ints
    feature: Ints
    left: Ints
    right: Ints
    value: Floats
    cut: Ints
    missing_left: Bools
    first: Ints
    goes_left: Bools


@dataclass(frozen=True, eq=False, repr=False)
class SumModel:
    """A model that is the sum of its trees: a base, then tree by tree, in the type of `arithmetic`.

    Where the classes' probabilities are summed apart, as in forests, that of `classes_[0]` is the
    sum of the model `flipped`; else it is 1 less the other's.
    """

    family: ClassVar[str] = "sums"  # by which a checker of certificates knows how to read it

    schema_: Schema
    classes_: NDArray[Any]
    trees: tuple[Tree, ...]
    base: float
    link: Link
    arithmetic: Literal["float32", "float64"] = "float64"
    decision_threshold_: float | None = None
    wanted_: Any = None

    def __repr__(self) -> str:
        leaves = sum(int((tree.feature < 0).sum()) for tree in self.trees)
        return f"SumModel({len(self.trees)} trees, {leaves} leaves, {len(self.schema_)} features)"

    def __getstate__(self) -> dict[str, Any]:
        """Without what is worked out of it, which is large and made anew where it is asked for."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def grid(self) -> Grid:
        """The cells that the trees' splits cut: at every edge, and between codes told apart."""
        edges = (_edges(self.trees, f, feature) for f, feature in enumerate(self.schema_))
        return Grid(self.schema_, tuple(edges))

    @cached_property
    def leaves(self) -> Leaves:
        """All leaves that some row reaches, and the cells of the rows that reach them."""
        nodes, starts = self._nodes, self.grid.first_cell
        ends = starts + self.grid.sizes
        found = []
        for term, root in enumerate(nodes.root.tolist()):
            open_ = [(root, np.ones(ends[-1], bool))]
            while open_:
                node, allowed = open_.pop()
                if (f := nodes.feature[node]) < 0:
                    found.append((term, nodes.value[node], allowed))
                    continue
                cells, goes = slice(starts[f], ends[f]), self._goes_left(node)
                other = allowed.copy()
                allowed[cells] &= goes
                other[cells] &= ~goes
                open_ += [(nodes.right[node], other)] * bool(other[cells].any())
                open_ += [(nodes.left[node], allowed)] * bool(allowed[cells].any())
        terms, values, rows = zip(*found, strict=True)
        return Leaves(np.array(terms), np.array(values), np.array(rows))

    def _goes_left(self, node: int) -> Bools:
        """Which cells of its feature a split sends left."""
        nodes, f = self._nodes, int(self._nodes.feature[node])
        cells = np.arange(self.grid.sizes[f])
        if (first := nodes.first[node]) >= 0:
            return np.asarray(nodes.goes_left[first + cells])
        goes: Bools = np.asarray(cells <= nodes.cut[node])
        if self.schema_[f].missing:
            goes[-1] = nodes.missing_left[node]
        return goes

    @cached_property
    def _nodes(self) -> _Nodes:
        sizes = [len(tree.feature) for tree in self.trees]
        root = np.cumsum([0, *sizes[:-1]])
        every = together(self.trees)
        feature, edge, shift = every["feature"], every["edge"], np.repeat(root, sizes)
        cut, odd = np.full(len(edge), -1), every["zero_left"] >= 0
        for f, kind in enumerate(self.schema_):
            at = feature == f
            if listed(kind):
                odd |= at
            else:
                cells = self.grid.edges[f].searchsorted(edge[at])
                cut[at] = np.where(edge[at] == -np.inf, -1, cells)
        first, rows, used = np.full(len(edge), -1), [np.empty(0, bool)], 0
        for node in np.flatnonzero(odd).tolist():
            rows.append(self._row(every, node))
            first[node], used = used, used + len(rows[-1])
        value = np.ascontiguousarray(every["value"][:, -1])
        return _Nodes(
            root, feature, every["left"] + shift, every["right"] + shift, value, cut,
            every["missing_left"], first, np.concatenate(rows),
        )  # fmt: skip

    def _row(self, every: dict[str, Any], node: int) -> Bools:
        """Which cells a split sends left that tells codes apart, or 0 from its neighbours."""
        f = int(every["feature"][node])
        feature, last = self.schema_[f], self.grid.ends(f)[1:]  # a cell's last value is as any
        if listed(feature):
            code = np.minimum(last, len(labels(feature)) - 1).astype(int)
            goes = every["categories"][node, code]
        else:
            zero = (last > BEFORE_ZERO) & (last <= ZERO)
            goes = np.where(zero, every["zero_left"][node] == 1, last <= every["edge"][node])
        return np.append(goes, every["missing_left"][node]) if feature.missing else goes

    def _reached(self, cells: Cells) -> NDArray[Any]:
        """The base and what each tree adds, in the library's type: (n, 1 + trees)."""
        found = np.empty((len(cells), len(self.trees)), np.int64)
        self._paths(cells).descend(np.ascontiguousarray(cells, np.int32), found)
        added = np.column_stack([np.full(len(cells), self.base), self._nodes.value[found]])
        return added.astype(self.arithmetic)

    def _paths(self, cells: Cells) -> _native.Forest:
        """The trees as compiled code reads them, from where these rows of cells part."""
        nodes, gaps = self._nodes, self._gaps
        return self.forest(nodes.root if len(cells) < MANY else _shared_root(nodes, cells, gaps))

    @cached_property
    def _gaps(self) -> Ints:
        """The cell of missing values of each feature, -1 where none may be missing."""
        may_miss = np.array([len(feature.missing) > 0 for feature in self.schema_])
        return np.where(may_miss, self.grid.sizes - 1, -1)

    def forest(self, root: Ints) -> _native.Forest:
        """The trees as compiled code reads them, each from a node on."""
        nodes, gaps = self._nodes, self._gaps
        return _native.Forest(
            gaps, root, nodes.feature, nodes.left, nodes.right, nodes.cut, nodes.missing_left,
            nodes.first, nodes.goes_left,
        )  # fmt: skip

    @cached_property
    def _added(self) -> NDArray[Any]:
        """What each node adds, in the library's type."""
        return self._nodes.value.astype(self.arithmetic)

    def at(self, cells: Cells) -> Floats:
        """The score at rows of cells: the very number of the library, added one after another."""
        total = np.full(len(cells), self.base, self.arithmetic)
        self._paths(cells).add_up(np.ascontiguousarray(cells, np.int32), self._added, total)
        return total.astype(float)

    def mean_at(self, cells: Cells) -> Floats:
        """The same over the link's divisor."""
        return self.at(cells) / self.link.divisor

    @cached_property
    def sum(self) -> Sum:
        """The leaves on cells, with the library's own sum."""
        base, error = np.array([self.base]), np.array([self.rounding])
        return Sum(self.grid, base, leaves=(self.leaves,), error=error, own=Columns((self.at,)))

    @property
    def mean_sum(self) -> Sum:
        """The same over the link's divisor."""
        share, own = 1.0 / self.link.divisor, Columns((self.mean_at,))
        leaves = self.leaves._replace(value=share * self.leaves.value)
        base, error = np.array([share * self.base]), np.array([share * self.rounding])
        return Sum(self.grid, base, leaves=(leaves,), error=error, own=own)

    def exact_at(self, cells: Cells) -> Floats:
        """The sum of the stored numbers at rows of cells, rounded once."""
        return np.array([math.fsum(row) for row in self._reached(cells).tolist()])

    @cached_property
    def rounding(self) -> float:
        """How far the library's score may lie from the sum of the stored numbers."""
        most = (np.abs(tree.value[tree.feature < 0, -1]).max() for tree in self.trees)
        unit = float(np.finfo(self.arithmetic).epsneg)  # half of what sets 1 apart from the next
        many = (len(self.trees) + 1) * unit
        return many / (1.0 - many) * math.fsum([abs(self.base), *most])

    def confidence(self, score: Floats, wanted: int = 1) -> Floats:
        """The library's probability of class 1, or of class 0 as 1 less that, at a score."""
        yes = self.link(np.asarray(score).astype(self.arithmetic))
        return np.asarray(yes if wanted == 1 else yes.dtype.type(1) - yes).astype(float)

    def needed(self, confidence: float, wanted: int = 1) -> float:
        """The least score at which class 1 has a confidence; for class 0 the greatest.

        By the library's own map, with no slack; ±∞ where no score has it.
        """
        sign = 1.0 if wanted == 1 else -1.0
        most = float(np.finfo(self.arithmetic).max)

        def enough(scores: Floats) -> Bools:
            return self.confidence(sign * scores, wanted) >= confidence

        found = first_float(enough, -most, most, self.arithmetic)
        return sign * (math.inf if found is None else found)

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at this position of `classes_`, and bounds on it."""
        from trust_recourse.models.sums.score import SumScore

        model = (self.flipped if wanted == 0 else None) or self
        return SumScore(model, model.sum, 1 if model is not self else wanted)

    def parts_of(self, wanted: int) -> Attribution:
        """The score of the class at this position of `classes_` tree by tree, for explanations."""
        model = (self.flipped if wanted == 0 else None) or self
        sign = 1.0 if wanted == 1 or model is not self else -1.0
        scale = sign * self.link.scale / self.link.divisor
        base = scale * model.base
        if not self.link.logistic and sign < 0:
            base += 1.0  # a probability is 1 less the other's
        words = LOG_ODDS if self.link.logistic else PROBABILITY
        level: Callable[[float], float] | None = None
        if self.link.after is not None:
            words, zero = _before(words), base - scale * self.base

            def level(confidence: float) -> float:
                """Return the score from which on the calibrated model has a confidence."""
                return zero + scale * self.needed(confidence, wanted)

        return LeafAttribution(self.grid, words, base, scale, model.leaves, level)

    @cached_property
    def flipped(self) -> SumModel | None:
        """The sum for the other class, where the library has one of its own."""
        if self.trees[0].value.shape[1] == 1:
            return None
        trees = tuple(replace(tree, value=tree.value[:, ::-1]) for tree in self.trees)
        return replace(self, classes_=self.classes_[::-1], trees=trees)

    def decide(self, *, decision_threshold: float | None = None, wanted: Any = None) -> SumModel:
        """The same model, with how it is decided by it: for all who ask it, and in its file.

        Whoever's confidence in the wanted class lies below the threshold is refused. None is as if
        nothing was said: one half, and `classes_[1]`.
        """
        threshold, label = decided(self, decision_threshold, wanted)
        return replace(self, decision_threshold_=threshold, wanted_=label)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which is read with none of the libraries."""
        from trust_recourse.models.sums import store

        model_file.write(path, *store.content(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SumModel:
        """Read a model file; one of another kind is refused."""
        from trust_recourse.models.sums import store

        return model_file.restored(path, {cls.__name__: store.trees})

    def apart(self, codes: Floats) -> Floats:
        """How far the library's probability may lie from ours at rows of codes.

        Nowhere, but where a calibrator's lines meet.
        """
        return np.full(len(codes), 0.0 if self.link.after is None else self.link.after.apart)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, (n, 2): the very numbers of the library."""
        return self.proba_of(self.schema_.encode(X))

    def proba_of(self, codes: Floats) -> Floats:
        """The same at rows of codes."""
        cells = self.grid.cells(codes)
        score, other = self.at(cells), self.flipped
        no = self.confidence(score, 0) if other is None else other.confidence(other.at(cells))
        return np.column_stack([no, self.confidence(score)])

    @cached_property
    def fingerprint_(self) -> str:
        """What names this model: a digest of all that its answers depend on."""
        header = {
            "schema": self.schema_.to_dict(), "classes": self.classes_.tolist(),
            "base": self.base.hex(), "link": [float(each).hex() for each in self.link[:4]],
            "arithmetic": self.arithmetic, "nodes": [len(tree.edge) for tree in self.trees],
        }  # fmt: skip
        if (after := self.link.after) is not None:
            header["calibration"] = [
                after.raw, after.kind, *([float(p).hex() for p in part] for part in after[2:])
            ]  # fmt: skip
        return model_file.fingerprint(together(self.trees), header)


def _shared_root(nodes: _Nodes, cells: Cells, gaps: Ints) -> Ints:
    """The deepest node of each tree that all rows certainly reach."""
    low, high, root = cells.min(axis=0), cells.max(axis=0), nodes.root
    while True:
        f, cut = nodes.feature[root], nodes.cut[root]
        left = high[f] <= cut
        sure = (f >= 0) & (nodes.first[root] < 0) & (high[f] != gaps[f]) & (left | (low[f] > cut))
        if not sure.any():
            return root
        root = np.where(sure, np.where(left, nodes.left[root], nodes.right[root]), root)


def listed(feature: Feature) -> bool:
    """Whether it has a list of values, which splits tell apart by code."""
    return feature.kind not in ("number", "integer")


def labels(feature: Feature) -> tuple[Any, ...]:
    """The values of such a feature, in the order of their codes."""
    return feature.values or (False, True)


def longest(schema: Schema) -> int:
    """How many codes the longest such feature has."""
    return max((len(labels(each)) for each in schema if listed(each)), default=0)


def together(trees: tuple[Tree, ...]) -> dict[str, NDArray[Any]]:
    """The arrays of all trees, one after another."""
    return {
        each.name: np.concatenate([getattr(tree, each.name) for tree in trees])
        for each in fields(Tree)
    }


def _edges(trees: tuple[Tree, ...], f: int, feature: Feature) -> Floats:
    """Where the trees cut one feature."""
    if feature.kind == "category":
        return np.empty(0)
    splits = [(tree, tree.feature == f) for tree in trees]
    if listed(feature):
        rows = np.concatenate([tree.categories[at] for tree, at in splits])
        rows = rows[:, : len(labels(feature))]
        return np.flatnonzero((rows[:, 1:] != rows[:, :-1]).any(axis=0)).astype(float)
    edges = np.unique(np.concatenate([tree.edge[at] for tree, at in splits]))
    if any((tree.zero_left[at] >= 0).any() for tree, at in splits):
        edges = np.union1d(edges, [BEFORE_ZERO, ZERO])
    return np.asarray(edges[np.isfinite(edges)])
