"""Trees of CatBoost, from its JSON: `CatBoostClassifier` of two classes.

It rounds what it is given to float32, splits by >, and adds in doubles, tree by tree, the bias
last. All splits of a level of its usual trees are the same, so that a leaf's number is made of
their answers, the first split's as the lowest bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from trust_recourse.cells import Floats, Ints
from trust_recourse.schema import Schema
from trust_recourse.sums.columns import (
    Chosen,
    Columns,
    Nodes,
    UnreadableError,
    last_left,
    order_of,
    rows,
    two_classes,
)
from trust_recourse.sums.ensemble import Bools, Link, SumModel, labels, listed

NAMES = ("CatBoostClassifier",)

Split = tuple[int, float, bool, Chosen | None]  # column, edge, whether NaN goes left, categories


def read(model: Any, schema: Schema) -> tuple[SumModel, Columns]:
    """The same model as a sum of trees, and what the library sees of rows."""
    classes = two_classes(model.classes_)
    whole = _json(model)
    told = list(model.feature_names_)
    names = None if told == [str(at) for at in range(len(told))] else told
    seen = [schema[f] for f in order_of(schema, names, len(told))]
    known = [c for c in model.get_cat_feature_indices() if listed(seen[c])]
    lists = {c: (*labels(seen[c]), *seen[c].missing) for c in known}
    for column, values in lists.items():
        if any(value is None or value != value for value in values):
            raise UnreadableError(
                f"column {seen[column].name!r}: CatBoost takes no blanks among categories; "
                "declare them as a value of their own, and learn the model so"
            )
    columns = Columns.of(schema, names, len(told), lists)
    scale, (bias, *more) = whole["scale_and_bias"]
    if scale != 1 or more:
        raise UnreadableError(f"CatBoost: its sum is scaled by {scale}; expected a scale of 1")
    splits = _Splits(model, columns, whole)
    found = [splits.even(tree) for tree in whole.get("oblivious_trees", ())]
    found += [splits.uneven(tree) for tree in whole.get("trees", ())]
    if bias:
        found.append(_constant(bias))
    if not found:
        raise UnreadableError("CatBoost: the model has no trees")
    link = Link(True)
    return SumModel(schema, classes, tuple(map(columns.tree, found)), 0.0, link), columns


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows."""
    said = model.predict_proba(rows(X, None if _unnamed(X) else model.feature_names_))
    return np.asarray(said, float)


def _unnamed(X: Any) -> bool:
    return not {*map(str, getattr(X, "columns", ()))} - {*map(str, range(len(X.T)))}


def _json(model: Any) -> Any:
    with TemporaryDirectory() as folder:  # it writes to files alone
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


class _Splits:
    """The splits of a model in terms of its columns."""

    def __init__(self, model: Any, columns: Columns, whole: Any) -> None:
        self.model, self.columns = model, columns
        info = whole["features_info"]
        self.floats = {each["feature_index"]: each for each in info.get("float_features", ())}
        kinds = info.get("categorical_features", ())
        self.places = {each["feature_index"]: each["flat_feature_index"] for each in kinds}
        self.even_trees = whole.get("oblivious_trees", ())
        self._chosen: dict[tuple[int, int], Chosen] = {}

    def of(self, split: Mapping[str, Any]) -> Split:
        """One split: what is more than its border, or is its category, goes right."""
        kind = split["split_type"]
        if kind == "FloatFeature":
            feature = self.floats[split["float_feature_index"]]
            edge = float(last_left(np.float32(split["border"])))
            return feature["flat_feature_index"], edge, self._nan_left(feature), None
        if kind != "OneHotFeature":
            raise UnreadableError(
                "CatBoost: it splits by target statistics of categories (CTR), which are not read; "
                "learn it with one_hot_max_size of at least the number of categories"
            )
        column = self.places[split["cat_feature_index"]]
        key = column, split["value"]
        if key not in self._chosen and self.even_trees:
            self._ask(column)
        if key not in self._chosen:
            raise UnreadableError(
                "CatBoost: categories in trees that are not symmetric are not read; learn it with "
                "grow_policy='SymmetricTree'"
            )
        return column, 0.0, True, self._chosen[key]

    def _nan_left(self, feature: Mapping[str, Any]) -> bool:
        return bool(feature["nan_value_treatment"] != "AsTrue")

    def _ask(self, column: int) -> None:
        """Which categories each split on a column picks, by the leaves that the library reaches.

        It keeps hashes of them alone.
        """
        f = self.columns.order[column]
        feature = self.columns.schema[f]
        values = [*range(len(labels(feature))), *(math.nan for _ in feature.missing[:1])]
        codes = np.zeros((len(values), len(self.columns.schema)))
        codes[:, f] = values
        reached = self.model.calc_leaf_indexes(self.columns.rows(codes))
        for tree, leaf in zip(self.even_trees, reached.T, strict=True):
            for bit, split in enumerate(tree["splits"]):
                if self.places.get(split.get("cat_feature_index")) == column:
                    picked = np.flatnonzero(leaf.astype(np.int64) >> bit & 1)
                    self._chosen[column, split["value"]] = Chosen(picked, False)

    def even(self, tree: Mapping[str, Any]) -> Nodes:
        """A tree whose levels split alike, the last of its splits first."""
        splits = [self.of(split) for split in reversed(tree["splits"])]
        depth = len(splits)
        inner = np.repeat(np.arange(depth), 2 ** np.arange(depth)).tolist()
        values = np.asarray(tree["leaf_values"], float)
        n = len(inner)
        left = np.concatenate([2 * np.arange(n) + 1, np.full(len(values), -1)])
        return _nodes([splits[level] for level in inner], left, left + 1, values)

    def uneven(self, tree: Mapping[str, Any]) -> Nodes:
        """A tree of any shape."""
        every = [tree]
        for node in every:  # it grows
            every += [node["left"], node["right"]] if "split" in node else []
        inner = [node for node in every if "split" in node]
        leaves = [node for node in every if "split" not in node]
        place = {id(node): at for at, node in enumerate([*inner, *leaves])}
        none = [-1] * len(leaves)
        left = np.array([*(place[id(node["left"])] for node in inner), *none])
        right = np.array([*(place[id(node["right"])] for node in inner), *none])
        values = np.array([node["value"] for node in leaves], float)
        return _nodes([self.of(node["split"]) for node in inner], left, right, values)


def _nodes(splits: Sequence[Split], left: Ints, right: Ints, values: Floats) -> Nodes:
    """Splits, then leaves."""
    many = len(values)
    column = np.array([*(split[0] for split in splits), *(0 for _ in range(many))], np.int64)
    edge = np.array([*(split[1] for split in splits), *(0.0 for _ in range(many))])
    nan_left: Bools = np.array([*(split[2] for split in splits), *(True for _ in range(many))])
    value = np.concatenate([np.zeros(len(splits)), values])[:, None]
    chosen = {at: split[3] for at, split in enumerate(splits) if split[3] is not None}
    return Nodes(column, edge, nan_left, left, right, value, chosen)


def _constant(value: float) -> Nodes:
    none = np.array([-1])
    return _nodes([], none, none, np.array([value]))
