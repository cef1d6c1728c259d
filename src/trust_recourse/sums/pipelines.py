"""Pipelines of scikit-learn around a model that can be read, in people's own columns.

The model at the end is read as one of its own columns. A split on one of these is then a split on
the person's feature that the column is made of: its edge is the last value that the steps before
still send left, so that what a pipeline says of a person's values is said to the last bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.cells import Floats
from trust_recourse.schema import Feature, Schema
from trust_recourse.sums.columns import Columns, UnreadableError, alike, order_of
from trust_recourse.sums.ensemble import (
    BEFORE_ZERO,
    ZERO,
    Bools,
    Calibration,
    SumModel,
    Tree,
    labels,
    listed,
    longest,
)
from trust_recourse.sums.steps import TINY, People, Stage, crossings, walked
from trust_recourse.wording import some

NAMES = ("CalibratedClassifierCV", "FrozenEstimator", "Pipeline")


class Opened(NamedTuple):
    """A model, the steps before it, and the calibrator after it with what that is given."""

    model: Any
    steps: tuple[tuple[str, Any], ...] = ()
    calibrator: Any = None
    raw: bool = False


def opened(model: Any) -> Opened:
    """The model in the middle of pipelines, frozen ones and calibrators."""
    name = type(model).__name__
    if name == "FrozenEstimator":
        return opened(model.estimator)
    if name == "Pipeline":
        *steps, (_, last) = model.steps
        kept = tuple((each, step) for each, step in steps if step not in (None, "passthrough"))
        inner = opened(last)
        return inner._replace(steps=(*kept, *inner.steps))
    if name != "CalibratedClassifierCV":
        return Opened(model)
    if len(model.calibrated_classifiers_) != 1:
        raise UnreadableError(
            f"{name}: it has {len(model.calibrated_classifiers_)} models, each with a calibrator, "
            "and a mean of these is no sum of trees; learn it with ensemble=False"
        )
    (one,) = model.calibrated_classifiers_
    inner = opened(one.estimator)
    if inner.calibrator is not None or len(one.calibrators) != 1:
        raise UnreadableError(f"{name}: only one calibrator of two classes can be read")
    raw = hasattr(one.estimator, "decision_function")
    return inner._replace(calibrator=one.calibrators[0], raw=raw)


def read(model: Any, schema: Schema) -> tuple[SumModel, Columns | People]:
    """The same model as a sum of trees, and what it is given of rows."""
    from trust_recourse.sums import known

    inside = opened(model)
    if not inside.steps:
        found, library = known(inside.model, schema)
        return _calibrated(found, inside), library.columns
    people, stage = _staged(inside, schema)
    lists = stage.lists()
    given = stage.ask({0: _one(schema[0])})
    # where zeros are left out, XGBoost takes them for missing
    zeros = type(inside.model).__module__.startswith("xgboost") and hasattr(given, "toarray")
    own, _ = known(inside.model, _inner(stage, given, lists, zeros))
    lifted = Lifted(stage, lists, own, zeros)
    return _calibrated(replace(own, schema_=schema, trees=lifted.trees), inside), people


def _calibrated(found: SumModel, inside: Opened) -> SumModel:
    """The sum with its calibrator after the link; of two sums apart, that of the second class."""
    if (calibrator := inside.calibrator) is None:
        return found
    name = type(calibrator).__name__
    kind = np.dtype(found.arithmetic)
    if name == "_SigmoidCalibration":
        kind = (calibrator.a_ * np.zeros(1, kind) + calibrator.b_).dtype
        x, y = (), (float(calibrator.a_), float(calibrator.b_))
    elif name == "IsotonicRegression":
        kind = calibrator.X_thresholds_.dtype
        x, y = calibrator.X_thresholds_.tolist(), calibrator.y_thresholds_.tolist()
    else:
        raise UnreadableError(f"{name}: of calibrators, sigmoid and isotonic ones are read")
    after = Calibration(inside.raw, str(kind), tuple(x), tuple(y))
    if not after.sound:
        raise UnreadableError(
            f"{name}: it turns the model round, or is none: what the model finds likelier it makes "
            "less likely; calibrate the model on more rows, or learn a better one"
        )
    trees = tuple(replace(tree, value=tree.value[:, -1:]) for tree in found.trees)
    return replace(found, trees=trees, link=found.link._replace(after=after))


def predict_proba(model: Any, X: Any) -> Floats:
    """What the pipeline says of rows."""
    names = getattr(model, "feature_names_in_", None)
    if isinstance(X, pd.DataFrame) and names is not None:
        X = X[[name for name in names if name in X.columns]]
    with warnings.catch_warnings():  # such as of unknown categories, which are told as nothing
        warnings.simplefilter("ignore")
        return np.asarray(_alone(model).predict_proba(X)).astype(float)


def _alone(model: Any) -> Any:
    """The same, with the trees of a forest one after another."""
    found, name = copy(model), type(model).__name__
    if name == "Pipeline":
        *steps, (label, last) = model.steps
        found.steps = [*steps, (label, _alone(last))]
    elif name == "FrozenEstimator":
        found = type(model)(_alone(model.estimator))
    elif name == "CalibratedClassifierCV":
        found.calibrated_classifiers_ = [copy(one) for one in model.calibrated_classifiers_]
        for one in found.calibrated_classifiers_:
            one.estimator = _alone(one.estimator)
    elif "Forest" in name or "ExtraTrees" in name:
        found.n_jobs = 1
    return found


def _staged(inside: Opened, schema: Schema) -> tuple[People, Stage]:
    """The columns that the model at the end is given."""
    first = inside.steps[0][1]
    told = getattr(first, "feature_names_in_", None)
    names = None if told is None else list(told)
    if names is None:
        order_of(schema, None, first.n_features_in_)
    elif strange := [name for name in schema.names if name not in names]:
        raise UnreadableError(
            f"the schema alone has the columns {some(strange)}; the pipeline has {some(names)}"
        )
    known = list(schema.names) if names is None else names
    order = tuple(schema.position(name) if name in schema else -1 for name in known)
    people = People(schema, names, order)
    stage = _walk(people, inside)
    if stage.nones:  # blanks of these were None where it learnt
        people = replace(people, nones=stage.nones)
        stage = _walk(people, inside)
    return people, stage


def _walk(people: People, inside: Opened) -> Stage:
    stage = Stage.first(people)
    for name, step in inside.steps:
        stage = walked(stage, name, step)
    return stage


def _one(feature: Feature) -> Any:
    return np.array([labels(feature)[0] if listed(feature) else 0.0], object)


# ---------------------------------------------------------------- the model's own columns


def _inner(stage: Stage, given: Any, lists: Sequence[Any], blanks: bool) -> Schema:
    """A schema of the model's own columns: numbers, or lists of what becomes of listed values."""
    if given.shape[1] != len(stage.columns):
        raise UnreadableError(
            f"the steps give {given.shape[1]} columns, but as read {len(stage.columns)}"
        )
    many = range(len(stage.columns))
    names = [str(c) for c in getattr(given, "columns", (f"column {j}" for j in many))]
    return Schema(
        tuple(
            _feature(name, listed(stage.schema[column.feature]), seen, blanks)
            for name, column, seen in zip(names, stage.columns, lists, strict=True)
        )
    )


def _feature(name: str, is_listed: bool, seen: Any, blanks: bool) -> Feature:
    blank = pd.isna(seen)
    missing = (None,) * bool(blanks or blank.any())
    if not is_listed or blank.all():
        return Feature(name, missing=missing)
    return Feature(name, "category", values=tuple(_values(seen[~blank])), missing=missing)


def _values(seen: Any) -> list[Any]:
    words = any(isinstance(value, str) for value in seen)
    return sorted({str(value) if words else float(value) for value in seen})


# ---------------------------------------------------------------- trees


class _Room(NamedTuple):
    """What is left of a feature on the way down a tree."""

    low: float = -np.inf  # not itself
    high: float = np.inf
    missing: bool = False


@dataclass(frozen=True)
class Lifted:
    """The trees of a model of a pipeline's columns, as trees of people's features."""

    stage: Stage
    lists: Sequence[Any]
    model: SumModel
    zeros_missing: bool = False

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """Each of them, with its leaves' own values."""
        return tuple(map(self._tree, self.model.trees))

    @cached_property
    def _runs(self) -> Mapping[tuple[int, float], Sequence[float]]:
        """Of each column and level the last value of each of its pieces before it passes it."""
        asked: dict[tuple[int, float], None] = {}
        for tree in self.model.trees:
            for node in np.flatnonzero(tree.feature >= 0).tolist():
                j = int(tree.feature[node])
                if not listed(self.model.schema_[j]):
                    asked |= dict.fromkeys((j, level) for level in self._levels(tree, node))
        places = [
            (j, p, level)
            for j, level in asked
            for p in np.flatnonzero(self.stage.columns[j].slope).tolist()
            if np.isfinite(level)
        ]
        found = {  # of a level that is no number, the end on the one side or the other
            (j, level): np.where(self.stage.columns[j].slope * level > 0, np.inf, -np.inf).tolist()
            for j, level in asked
        }
        if places:
            column, piece, level = (np.array(part) for part in zip(*places, strict=True))
            passed = crossings(self.stage, column, piece, level).tolist()
            for (j, p, each), x in zip(places, passed, strict=True):
                found[j, each][p] = x
        return found

    def _levels(self, tree: Tree, node: int) -> list[float]:
        """Where what a split does with a number of its column may change, ascending."""
        zero = self._zero(tree, node)
        return sorted({float(tree.edge[node]), *(zero[:2] if zero else ())})

    def _zero(self, tree: Tree, node: int) -> tuple[float, float, bool] | None:
        """From where to where a number is taken for 0 and goes a way of its own, and which."""
        if tree.zero_left[node] >= 0:
            return BEFORE_ZERO, ZERO, bool(tree.zero_left[node])
        return (-TINY, 0.0, bool(tree.missing_left[node])) if self.zeros_missing else None

    def _goes_left(self, tree: Tree, node: int, seen: Any) -> Bools:
        """Whether what is seen in its column goes left at a split."""
        column = self.model.schema_[int(tree.feature[node])]
        blank = pd.isna(seen)
        if listed(column):
            code = {value: at for at, value in enumerate(labels(column))}
            text = isinstance(labels(column)[0], str)
            at = [code[str(v) if text else float(v)] for v in seen[~blank]]
            goes = np.full(len(seen), tree.missing_left[node])
            goes[~blank] = tree.categories[node, at]
            zero = {0.0} if self.zeros_missing else set()
            goes[[v in zero for v in seen]] = tree.missing_left[node]
            return goes
        number = np.asarray(seen, float)
        goes = number <= tree.edge[node]
        if (zero := self._zero(tree, node)) is not None:
            goes = np.where((number > zero[0]) & (number <= zero[1]), zero[2], goes)
        return np.where(blank, tree.missing_left[node], goes)

    def _regions(self, tree: Tree, node: int) -> tuple[Floats, Bools]:
        """The last value of each run of numbers that go one way, the last being ∞, and which."""
        j = int(tree.feature[node])
        column, levels = self.stage.columns[j], self._levels(tree, node)
        ends = np.append(column.edges, np.inf)
        low, last, goes = -np.inf, [], []
        for p, (high, slope) in enumerate(zip(ends.tolist(), column.slope.tolist(), strict=True)):
            if slope == 0:  # of which runs are not asked
                last.append([high])
                goes.append(self._goes_left(tree, node, column.offset[p : p + 1]))
            else:
                order = levels if slope > 0 else levels[::-1]
                at = [self._runs[j, level][p] for level in order]
                last.append([*np.clip(at, low, high).tolist(), high])
                between = [*levels, np.inf]
                side = self._goes_left(tree, node, np.array(between))
                goes.append(side if slope > 0 else side[::-1])
            low = high
        x, left = np.concatenate(last), np.concatenate(goes)
        there = np.append(-np.inf, x[:-1]) < x
        x, left = x[there], left[there]
        kept = np.append(left[1:] != left[:-1], True)
        return x[kept], left[kept]

    def _tree(self, tree: Tree) -> Tree:
        schema = self.stage.schema
        out = _Grown(longest(schema), tree.value.shape[1])
        start: dict[int, _Room] = {}
        waiting: list[tuple[int, dict[int, _Room], int, bool]] = [(0, start, -1, True)]
        cache: dict[int, Any] = {}
        while waiting:
            node, rooms, parent, left = waiting.pop()
            while True:
                if tree.feature[node] < 0:
                    out.add(parent, left, value=tree.value[node])
                    break
                f = self.stage.columns[int(tree.feature[node])].feature
                if node not in cache:
                    cache[node] = self._split(tree, node, f)
                goes, missing, regions = cache[node]
                if regions is None:
                    every = np.append(goes, missing) if schema[f].missing else goes
                    if every.all() or not every.any():
                        node = int((tree.left if every.all() else tree.right)[node])
                        continue
                    at = out.add(parent, left, feature=f, categories=goes, missing=missing)
                    waiting.append((int(tree.right[node]), rooms, at, False))
                    waiting.append((int(tree.left[node]), rooms, at, True))
                    break
                room = rooms.get(f, _Room(missing=bool(schema[f].missing)))
                x, side = _within(regions, room)
                every = np.append(side, missing) if room.missing else side
                if every.all() or not every.any():
                    node = int((tree.left if every.all() else tree.right)[node])
                    continue
                edge = float(x[0]) if len(x) > 1 else np.inf
                along = room.missing and len(x) > 1 and bool(side[0]) == missing
                at = out.add(parent, left, feature=f, edge=edge, missing=along)
                below = _Room(room.low, min(edge, room.high), along)
                beyond = _Room(min(edge, room.high), room.high, room.missing and not along)
                waiting.append((node, {**rooms, f: beyond}, at, False))
                waiting.append((node, {**rooms, f: below}, at, True))
                break
        return out.tree()

    def _split(self, tree: Tree, node: int, f: int) -> tuple[Bools, bool, Any]:
        """Which listed values go left, whether missing ones do, and where numbers go."""
        feature = self.stage.schema[f]
        goes = self._goes_left(tree, node, self.lists[int(tree.feature[node])])
        size = len(labels(feature)) if listed(feature) else 0
        missing = alike(feature, goes[size:])
        regions = None if listed(feature) else self._regions(tree, node)
        return goes[:size], missing, regions


def _within(regions: tuple[Floats, Bools], room: _Room) -> tuple[Floats, Bools]:
    """The runs of numbers in what is left of a feature."""
    if not room.low < room.high:
        return np.empty(0), np.empty(0, bool)
    x, left = regions
    first, last = x.searchsorted(room.low, "right"), x.searchsorted(room.high)
    return x[first : last + 1], left[first : last + 1]


class _Grown:
    """The nodes of a tree as they are found, each before its children."""

    def __init__(self, codes: int, outputs: int) -> None:
        self.codes, self.none = codes, np.zeros(outputs)
        self.nodes: list[tuple[int, float, Bools, bool, Floats]] = []
        self.left: list[int] = []
        self.right: list[int] = []

    def add(
        self,
        parent: int,
        left: bool,
        *,
        feature: int = -1,
        edge: float = 0.0,
        categories: Any = (),
        missing: bool = False,
        value: Any = None,
    ) -> int:
        """A node, and its number."""
        row = np.zeros(self.codes, bool)
        row[: len(categories)] = categories
        at = len(self.nodes)
        self.nodes.append((feature, edge, row, missing, self.none if value is None else value))
        self.left.append(0)
        self.right.append(0)
        if parent >= 0:
            (self.left if left else self.right)[parent] = at
        return at

    def tree(self) -> Tree:
        """All of them."""
        feature, edge, rows, missing, value = zip(*self.nodes, strict=True)
        return Tree(
            np.array(feature), np.array(edge, float), np.array(rows, bool),
            np.array(missing, bool), np.full(len(feature), -1, np.int8), np.array(self.left),
            np.array(self.right), np.array(value, float),
        )  # fmt: skip
