"""Trees and lines of a pipeline's columns as trees and lines of people's features.

A split on a column becomes one on the feature that it is made of, or several where the column rises
and falls: each part of the feature's values then has the subtree that it goes to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io.arrays import Bools, Floats
from trust_recourse.models.readers.columns import alike, one_of
from trust_recourse.models.readers.steps import (
    TINY,
    PipelineColumn,
    Stage,
    at_ends,
    crossings,
    cuts_at,
    recut,
)
from trust_recourse.models.sums.ensemble import (
    BEFORE_ZERO,
    ZERO,
    SumModel,
    Tree,
    labels,
    listed,
    longest,
)
from trust_recourse.schema import Feature, Schema

# ---------------------------------------------------------------- trees


class _Room(NamedTuple):
    """What is left of a feature's numbers on the way down a tree."""

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
            if self.zeros_missing:
                blank = blank | (seen == 0)
            goes = np.full(len(seen), tree.missing_left[node])
            goes[~blank] = tree.categories[node, _codes(column, seen[~blank])]
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
        """A split is met again in each part that it leaves, until all of it goes one way."""
        schema = self.stage.schema
        out = _Grown(longest(schema), tree.value.shape[1])
        waiting: list[tuple[int, dict[int, Any], int, bool]] = [(0, {}, -1, True)]
        splits: dict[int, Any] = {}
        while waiting:
            node, rooms, parent, left = waiting.pop()
            while tree.feature[node] >= 0:
                f = self.stage.columns[int(tree.feature[node])].feature
                if node not in splits:
                    splits[node] = self._split(tree, node, schema[f])
                parted = splits[node].parted(rooms.get(f))
                if isinstance(parted, _Parts):
                    at = out.add(parent, left, feature=f, **parted.split)
                    waiting.append((node, {**rooms, f: parted.right}, at, False))
                    waiting.append((node, {**rooms, f: parted.left}, at, True))
                    break
                node = int((tree.left if parted else tree.right)[node])
            else:
                out.add(parent, left, value=tree.value[node])
        return out.tree()

    def _split(self, tree: Tree, node: int, feature: Feature) -> _Lists | _Numbers:
        """Where a split sends each value of a feature."""
        goes = self._goes_left(tree, node, self.lists[int(tree.feature[node])])
        size = len(labels(feature)) if listed(feature) else 0
        missing = [alike(feature, goes[size:])] if feature.missing else []
        if listed(feature):
            return _Lists(
                np.append(goes[:size], missing).astype(bool), size, longest(self.stage.schema)
            )
        return _Numbers(*self._regions(tree, node), missing)


class _Parts(NamedTuple):
    """A split on a feature, and what of its values comes to either side."""

    split: dict[str, Any]
    left: Any
    right: Any


class _Lists(NamedTuple):
    """Which listed values a split sends left, and, last, whether missing ones if there are any."""

    goes: Bools
    size: int
    codes: int  # of the longest list, which trees have room for

    def parted(self, room: Bools | None) -> _Parts | bool:
        """The way that all values in the room go, or the split that parts them."""
        room = np.ones(len(self.goes), bool) if room is None else room
        if self.goes[room].all() or not self.goes[room].any():
            return bool(self.goes[room].all())
        known, missing = np.zeros(self.codes, bool), bool(self.goes[self.size :].any())
        known[: self.size] = self.goes[: self.size]
        split = {"categories": known, "missing_left": missing}
        return _Parts(split, room & self.goes, room & ~self.goes)


class _Numbers(NamedTuple):
    """The last value of each run of numbers that go one way, ∞ at the end, and whether left."""

    last: Floats
    left: Bools
    missing: Sequence[bool]  # whether missing ones go left, if there are any

    def parted(self, room: _Room | None) -> _Parts | bool:
        """The way that all values in the room go, or the split that parts them."""
        room = room or _Room(missing=bool(self.missing))
        first = self.last.searchsorted(room.low, "right")
        end = self.last.searchsorted(room.high) + 1 if room.low < room.high else first
        runs = slice(first, end)
        last, left = self.last[runs], self.left[runs]
        every = [*left, *(self.missing if room.missing else ())]
        if all(every) or not any(every):
            return all(every)
        edge = float(last[0]) if len(last) > 1 else np.inf
        along = room.missing and edge < np.inf and self.missing[0] == left[0]
        middle = min(edge, room.high)
        below = _Room(room.low, middle, along)
        beyond = _Room(middle, room.high, room.missing and not along)
        return _Parts({"edge": edge, "missing_left": along}, below, beyond)


def _codes(column: Feature, seen: Any) -> list[int]:
    """The codes of what is seen in a column of listed values."""
    code = {value: at for at, value in enumerate(labels(column))}
    kind = type(labels(column)[0])
    return [code[kind(value)] for value in seen]


class _Grown:
    """The nodes of a tree as they are found, each before its children."""

    def __init__(self, codes: int, outputs: int) -> None:
        self.blank = {
            "feature": -1, "edge": 0.0, "categories": np.zeros(codes, bool), "missing_left": False,
            "zero_left": np.int8(-1), "left": 0, "right": 0, "value": np.zeros(outputs),
        }  # fmt: skip
        self.nodes: list[dict[str, Any]] = []

    def add(self, parent: int, left: bool, **known: Any) -> int:
        """A node, and its number."""
        at = len(self.nodes)
        self.nodes.append(self.blank | known)
        if parent >= 0:
            self.nodes[parent]["left" if left else "right"] = at
        return at

    def tree(self) -> Tree:
        """All of them."""
        return Tree(**{name: np.array([each[name] for each in self.nodes]) for name in self.blank})


# ---------------------------------------------------------------- points and slopes


class PulledTerms(NamedTuple):
    """Of each feature, or column, the last value of its cells but the last, and the line on each.

    As a table of points has them: of listed values one number each, then of what is missing.
    """

    edges: tuple[Floats, ...]
    points: tuple[Floats, ...]
    slopes: tuple[Floats, ...]


def added_up(stage: Stage, lists: Sequence[Any], inner: Schema, terms: PulledTerms) -> PulledTerms:
    """A sum of lines of a model's own columns as one of lines of people's features."""
    schema = stage.schema
    levels = [
        np.empty(0) if listed(each) else edges
        for each, edges in zip(inner, terms.edges, strict=True)
    ]
    cut = cuts_at(stage, levels)
    stage = replace(stage, columns=tuple(map(recut, stage.columns, cut)))
    ends, found = at_ends(stage), []
    for f, feature in enumerate(schema):
        mine = [j for j, column in enumerate(stage.columns) if column.feature == f]
        each = [_line(inner[j], terms, j, lists[j]) for j in mine]
        size = len(labels(feature)) if listed(feature) else 0
        at_listed = np.sum(each, axis=0) if mine else np.zeros(size + len(feature.missing))
        missing = one_of(feature, at_listed[size:])
        if size:
            edges = np.empty(0) if feature.kind == "category" else np.arange(size - 1.0)
            known = PipelineColumn(f, edges, at_listed[:size], np.zeros(size))
        else:
            known = _sum(f, [_on(stage.columns[j], terms, j, ends[j]) for j in mine])
        none = np.zeros(len(missing))
        found.append((known.edges, np.append(known.offset, missing), np.append(known.slope, none)))
    return PulledTerms(*map(tuple, zip(*found, strict=True)))


def _line(column: Feature, terms: PulledTerms, j: int, seen: Any) -> Floats:
    """What a column adds at what is seen there of listed and missing values."""
    points, slopes, blank = terms.points[j], terms.slopes[j], pd.isna(seen)
    found = np.full(len(seen), points[-1])
    if listed(column):
        found[~blank] = points[_codes(column, seen[~blank])]
        return found
    number = np.asarray(seen[~blank], float)
    cell = terms.edges[j].searchsorted(number)
    found[~blank] = points[cell] + slopes[cell] * number
    return found


def _on(column: PipelineColumn, terms: PulledTerms, j: int, ends: Floats) -> PipelineColumn:
    """What a column of a number adds, as a function of that number."""
    cell = terms.edges[j].searchsorted(ends)
    points, slopes = terms.points[j][cell], terms.slopes[j][cell]
    offset = points + slopes * np.where(column.slope == 0, ends, column.offset)
    return column._replace(offset=offset, slope=slopes * column.slope)


def _sum(f: int, columns: Sequence[PipelineColumn]) -> PipelineColumn:
    """Functions of one number, added up."""
    edges = np.unique(np.concatenate([np.empty(0), *(column.edges for column in columns)]))
    each = [recut(column, edges) for column in columns]
    none = np.zeros(len(edges) + 1)
    offset = np.sum([none, *(column.offset for column in each)], axis=0)
    return PipelineColumn(
        f, edges, offset, np.sum([none, *(column.slope for column in each)], axis=0)
    )
