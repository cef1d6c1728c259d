"""Trees of XGBoost, from its JSON: `XGBClassifier`, `XGBRFClassifier`, a binary:logistic `Booster`.

It rounds what it is given to float32, splits by <, and adds in float32 from the base margin on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np

from trust_recourse.io import strict_json
from trust_recourse.io.arrays import Floats
from trust_recourse.io.extras import needed
from trust_recourse.io.wording import some
from trust_recourse.models.readers import ubjson
from trust_recourse.models.readers.columns import (
    Chosen,
    ModelColumns,
    Nodes,
    UnreadableError,
    declared,
    last_left,
    preorder,
    rows,
)
from trust_recourse.models.sums.classes import ClassSums, summed
from trust_recourse.models.sums.ensemble import Link, SumModel, listed
from trust_recourse.schema import Feature, Schema

UBJSON = (b"L", b"i", b"U", b"I", b"l")  # the second byte of such a file: the type of a length
MOST_COLUMNS = MOST_CATEGORY = 100_000
PER_NODE = (
    "base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children",
    "split_conditions", "split_indices", "split_type", "sum_hessian",
)  # fmt: skip
NAMES = ("XGBClassifier", "XGBRFClassifier", "Booster")
_declared = partial(declared, library="XGBoost")
_LEAST = float(np.float32(-88.7))  # its logistic function takes no sum below


def opened(data: bytes) -> Any:
    """The model of a file; a classifier's is one again, which ends with its best round.

    The library allocates what a file declares before it reads what is there, so that is checked
    first.
    """
    known = data[1:2] in UBJSON
    _refuse_sizes(
        ubjson.loads(data) if known else json.loads(data, object_pairs_hook=strict_json.once)
    )
    with needed("An XGBoost file", "xgboost", "trees"):
        import xgboost
    booster = xgboost.Booster(model_file=bytearray(data))
    if booster.attr("scikit_learn") is None:
        return booster
    model = xgboost.XGBClassifier()
    model.load_model(bytearray(data))
    return model


def _refuse_sizes(whole: Any) -> None:
    """Refuse a file that declares more, or other, than it holds, or another booster."""
    learner = whole["learner"]
    shape, kind = learner["learner_model_param"], learner["gradient_booster"]
    _refuse_booster(kind["name"])
    model, names = kind["model"], learner.get("feature_names") or ()
    trees = model["trees"]
    columns = _declared("num_feature", shape["num_feature"], 0, MOST_COLUMNS)
    if names:
        _declared("num_feature", columns, len(names), len(names))
    classes = _declared("num_class", shape.get("num_class", 0), 0, max(len(trees), 2))
    targets = _declared("num_target", shape.get("num_target", 1), 0, max(len(trees), 1))
    told = model["gbtree_model_param"]
    _declared("num_trees", told["num_trees"], len(trees), len(trees))
    _declared("num_parallel_tree", told.get("num_parallel_tree", 1), 0, max(len(trees), 1))
    _declared("tree_info", len(model["tree_info"]), len(trees), len(trees))
    for group in model["tree_info"]:  # the library writes there without a check
        _declared("tree_info", group, 0, max(classes, targets, 1) - 1)
    for tree in trees:
        _refuse_tree(tree, columns)


def _refuse_tree(tree: Any, columns: int) -> None:
    told, many = tree["tree_param"], len(tree["left_children"])
    _declared("num_nodes", told["num_nodes"], many, many)
    for name in PER_NODE:
        if name in tree:
            _declared(name, len(tree[name]), many, many)
    _declared("num_deleted", told.get("num_deleted", 0), 0, many)
    _declared("size_leaf_vector", told.get("size_leaf_vector", 1), 0, 1)
    _declared("num_feature of a tree", told.get("num_feature", 0), 0, columns)
    left, right, split = (
        tree[name] for name in ("left_children", "right_children", "split_indices")
    )
    _declared("left_children", min(left, default=-1), -1, -1)  # the library's only mark of a leaf
    for node in preorder(left, right):  # nodes that pruning deleted have no column
        if left[node] >= 0:
            _declared("split_indices", split[node], 0, columns - 1)
    codes, sizes = tree.get("categories", ()), tree.get("categories_sizes", ())
    for code in codes:
        _declared("categories", code, 0, MOST_CATEGORY)
    for first, size in zip(tree.get("categories_segments", ()), sizes, strict=True):
        _declared("categories_sizes", size, 0, len(codes))
        _declared("categories_segments", first, 0, len(codes) - int(size))


def read(model: Any, schema: Schema) -> tuple[SumModel | ClassSums, ModelColumns]:
    """The same model as a sum of trees, and what the library sees of rows."""
    booster = _booster(model)
    whole = json.loads(booster.save_raw("json"))
    learner = whole["learner"]
    _refuse(model, learner)
    ensemble = learner["gradient_booster"]["model"]
    trees = ensemble["trees"]
    if (best := getattr(model, "best_iteration", None)) is not None and booster is not model:
        trees = trees[: ensemble["iteration_indptr"][best + 1]]
    if not trees:
        raise UnreadableError("XGBoost: the model has no trees")
    n = int(learner["learner_model_param"]["num_feature"])
    columns = _columns(learner, schema)
    for column, known in columns.categories.items():
        _refuse_unknown(schema[columns.order[column]], known)
    many = max(int(learner["learner_model_param"]["num_class"]), 2)
    classes = np.asarray(getattr(model, "classes_", range(many)))
    sums, bases = [columns.tree(_nodes(tree)) for tree in trees], _base_margin(booster, whole, n)
    if many == 2:
        link = Link(True, least=_LEAST)
        return summed(schema, classes, [sums], link, bases, "float32"), columns
    places = ensemble["tree_info"][: len(sums)]
    each = [[t for t, at in zip(sums, places, strict=True) if at == k] for k in range(many)]
    return summed(schema, classes, each, Link(True), bases, "float32"), columns


def columns_of(model: Any, schema: Schema) -> ModelColumns:
    """What the library sees of rows."""
    return _columns(json.loads(_booster(model).save_raw("json"))["learner"], schema)


def _columns(learner: dict[str, Any], schema: Schema) -> ModelColumns:
    n, kind = int(learner["learner_model_param"]["num_feature"]), learner["gradient_booster"]
    cats = kind.get("gbtree", kind)["model"].get("cats")  # dart has its trees a level deeper
    return ModelColumns.of(schema, learner["feature_names"] or None, n, _categories(cats))


def fitted_parts(model: Any) -> list[Any]:
    """All that its file would hold, and where its best round is."""
    whole = sha256(_booster(model).save_raw("ubj")).digest()
    return [whole, getattr(model, "best_iteration", None), getattr(model, "classes_", None)]


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows."""
    booster = _booster(model)
    X = rows(X, booster.feature_names)
    said = booster.inplace_predict(X) if booster is model else model.predict_proba(X)
    both = said if said.ndim == 2 else np.column_stack([np.float32(1) - said, said])
    return np.asarray(both).astype(float)


def _booster(model: Any) -> Any:
    return model.get_booster() if hasattr(model, "get_booster") else model


def _refuse(model: Any, learner: dict[str, Any]) -> None:
    _refuse_booster(learner["gradient_booster"]["name"])
    objective, shape = learner["objective"]["name"], learner["learner_model_param"]
    told = None
    if int(shape["num_target"]) > 1:
        told = "several targets: only one can be read"
    elif objective not in ("binary:logistic", "multi:softprob"):
        told = f"objective {objective}: only binary:logistic and multi:softprob can be read"
    elif not math.isnan(getattr(model, "missing", math.nan)):
        told = f"missing={model.missing}: only models whose missing values are NaN can be read"
    if told:
        raise UnreadableError(f"XGBoost, {told}")


def _refuse_booster(name: Any) -> None:
    if name != "gbtree":
        raise UnreadableError(f"XGBoost, booster {name}: only gbtree can be read")


def _categories(cats: dict[str, Any] | None) -> dict[int, Sequence[Any]]:
    """The values of each column of pandas categories; text is kept as bytes, one after another."""
    found: dict[int, Sequence[Any]] = {}
    for j, each in enumerate((cats or {}).get("enc", ())):
        values = each["values"]
        if "offsets" in each:
            text = bytes(value % 256 for value in values)
            values = [text[a:b].decode() for a, b in pairwise(each["offsets"])]
        if values:
            found[j] = values
    return found


def _refuse_unknown(feature: Feature, known: Sequence[Any]) -> None:
    """The library itself refuses rows with such a value."""
    if not listed(feature):
        return
    if cut := [label for label in feature.values if not str(label).isascii()]:
        raise UnreadableError(
            f"XGBoost, column {feature.name!r}: it cuts labels beyond ASCII when it stores them, "
            f"and the schema has {cut[0]!r}; write it in ASCII, in the rows that the model learns "
            "from and in the schema"
        )
    strange = [each for each in (*feature.values, *feature.missing) if each not in (None, *known)]
    if strange:
        raise UnreadableError(
            f"XGBoost, column {feature.name!r}: the schema has the value {strange[0]!r}, which the "
            f"model was not learnt on; expected only {some(known)}"
        )


def _base_margin(booster: Any, whole: dict[str, Any], n: int) -> list[float]:
    """What the library says once all its leaves are 0; with no trees it forgets the link."""
    for tree in whole["learner"]["gradient_booster"]["model"]["trees"]:
        ends = zip(tree["left_children"], tree["split_conditions"], strict=True)
        tree["split_conditions"] = [0.0 if left < 0 else number for left, number in ends]
    emptied = type(booster)(model_file=bytearray(json.dumps(whole).encode()))
    said = emptied.inplace_predict(np.zeros((1, n)), predict_type="margin")
    return [float(each) for each in np.ravel(said)]


def _nodes(tree: dict[str, Any]) -> Nodes:
    left, right, column = (
        np.array(tree[name], np.int64)
        for name in ("left_children", "right_children", "split_indices")
    )
    number = np.array(tree["split_conditions"], np.float32)  # of a leaf, its value
    picked = zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    )
    codes = np.array(tree["categories"], np.int64)
    return Nodes(
        column, last_left(np.nextafter(number, np.float32(-np.inf))),
        np.array(tree["default_left"], bool), left, right, number.astype(float)[:, None],
        {node: Chosen(codes[a : a + size], left=False) for node, a, size in picked},
    )  # fmt: skip
