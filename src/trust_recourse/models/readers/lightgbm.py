"""Trees of LightGBM, from the text of its own model files: `LGBMClassifier` and a binary `Booster`.

It adds in doubles, tree by tree, and splits by x ≤ threshold, where all within 1e-35 of 0 is 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.io.extras import needed
from trust_recourse.io.wording import some
from trust_recourse.models.readers.columns import (
    Chosen,
    ModelColumns,
    Nodes,
    UnreadableError,
    bits,
    declared,
    order_of,
    rows,
)
from trust_recourse.models.readers.referee import Identity
from trust_recourse.models.sums.classes import ClassSums, summed
from trust_recourse.models.sums.ensemble import BEFORE_ZERO, ZERO, Link, SumModel, labels, listed
from trust_recourse.schema import Schema
from trust_recourse.schema.errors import BLANK

NAMES = ("LGBMClassifier", "Booster")
_declared = partial(declared, library="LightGBM")
_CATEGORY, _DEFAULT_LEFT = 1, 2  # bits of a decision; the next two are what is missing
_NOTHING, _ZEROS, _BLANKS = 0, 1, 2
AT_PREDICTION = {
    "pred_early_stop", "start_iteration_predict", "num_iteration_predict", "predict_raw_score",
    "raw_score", "is_predict_raw_score", "predict_rawscore",
}  # fmt: skip
THREADS = 1000  # rows, from which on starting threads pays


class Booster(NamedTuple):
    """A model as the text of its file has it; the library is needed only to predict."""

    text: str

    def model_to_string(self) -> str:
        """The text."""
        return self.text

    def feature_name(self) -> list[str]:
        """The names of its columns."""
        return _columns(self.text)

    def predict(self, X: Any, **more: Any) -> Any:
        """What the library says of rows."""
        with needed("Comparing with LightGBM", "lightgbm", "trees"):
            import lightgbm

        return lightgbm.Booster(model_str=self.text).predict(X, **more)


def opened(data: bytes) -> Booster:
    """The model of a file, once it declares no more than it holds."""
    text = data.decode()  # the library allocates by the sizes that it declares
    parts = _parts(text)
    told, *trees = map(_fields, parts)
    columns = len(told["feature_names"].split(" "))
    _declared("max_feature_idx", told["max_feature_idx"], columns - 1, columns - 1)
    for name in ("num_class", "num_tree_per_iteration"):
        _declared(name, told.get(name, "1"), 1, max(len(trees), 1))
    sizes = [int(each) for each in told.get("tree_sizes", "").split()]
    if sizes:
        _declared("tree_sizes", len(sizes), len(trees), len(trees))
        _declared("sum of tree_sizes", sum(sizes), 0, len(text.encode()))
        _declared("least of tree_sizes", min(sizes), 0, len(text))
    for each in parts:
        names = [line.partition("=")[0] for line in each.splitlines() if "=" in line]
        if len(set(names)) < len(names):
            raise UnreadableError("LightGBM: a name is given twice in one part. Save it again")
    for tree in trees:
        _refuse_tree(tree, columns)
    return Booster(text)


def _refuse_tree(tree: dict[str, str], columns: int) -> None:
    many = len(tree.get("leaf_value", "").split())
    _declared("num_leaves", tree["num_leaves"], many, many)
    for name in ("split_feature", "threshold", "decision_type", "left_child", "right_child"):
        if many > 1:
            _declared(name, len(tree[name].split()), many - 1, many - 1)
    for place in tree.get("split_feature", "").split():
        _declared("split_feature", place, 0, columns - 1)
    if cuts := int(tree.get("num_cat", 0)):
        ends = [int(each) for each in tree["cat_boundaries"].split()]
        words = len(tree["cat_threshold"].split())
        _declared("num_cat", cuts, len(ends) - 1, len(ends) - 1)
        if ends != sorted(ends) or ends[:1] != [0]:
            raise UnreadableError("LightGBM: cat_boundaries do not rise from 0. Save it again")
        _declared("cat_boundaries", ends[-1], words, words)


def read(model: Any, schema: Schema) -> tuple[SumModel | ClassSums, ModelColumns]:
    """The same model as a sum of trees, and what the library sees of rows."""
    text = getattr(model, "booster_", model).model_to_string()
    told, *trees = map(_fields, _parts(text))
    objective = told.get("objective", "one of your own")
    found = re.fullmatch(r"binary sigmoid:(\S+)|multiclass num_class:(\d+)", objective)
    if found is None:
        raise UnreadableError(
            f"LightGBM, objective {objective}: only binary and multiclass can be read"
        )
    many = int(found[2] or 2)
    classes = np.asarray(getattr(model, "classes_", range(many)))
    if not trees:
        raise UnreadableError("LightGBM: the model has no trees")
    if any(tree.get("is_linear") == "1" for tree in trees):
        raise UnreadableError("LightGBM: linear trees have no value for a leaf, so are not read")
    for name in AT_PREDICTION & {*getattr(model, "get_params", dict)()}:
        raise UnreadableError(
            f"LightGBM, {name}: it changes what is predicted, not what was learnt, so is not read; "
            "leave it out"
        )
    columns = columns_of(model, schema)
    _refuse_codes(trees, columns)
    averaged = len(trees) // (many if many > 2 else 1) if "average_output" in told else 1
    link = Link(True, averaged, float(found[1] or 1.0))
    sums = [columns.tree(_nodes(tree)) for tree in trees]
    each = [sums[k::many] for k in range(many)] if many > 2 else [sums]
    return summed(schema, classes, each, link), columns


def columns_of(model: Any, schema: Schema) -> ModelColumns:
    """What the library sees of rows."""
    text = getattr(model, "booster_", model).model_to_string()
    names, n = _names(_columns(text), schema.names), len(_columns(text))
    _, found, categories = text.rpartition("\npandas_categorical:")  # the last line
    lists = (json.loads(categories) or []) if found else []
    order = order_of(schema, names, n)
    return ModelColumns.of(schema, names, n, _categories(lists, schema, order))


def _refuse_codes(trees: Sequence[dict[str, str]], columns: ModelColumns) -> None:
    """A model that learnt of blanks sees in a code such as -9 a number, not a blank."""
    learnt = set()
    for tree in trees:
        kinds = [int(each) for each in tree.get("decision_type", "").split()]
        places = [int(each) for each in tree.get("split_feature", "").split()]
        learnt |= {c for c, k in zip(places, kinds, strict=True) if k >> 2 & 3 == _BLANKS}
    for feature in (columns.schema[columns.order[c]] for c in sorted(learnt)):
        codes = [code for code in feature.missing if code is not None and code == code]
        if codes and not listed(feature):
            raise UnreadableError(
                f"column {feature.name!r}: the model learnt of blanks there, and would see in the "
                f"schema's missing code {codes[0]:g} a number; declare blanks missing in the "
                f"schema ({BLANK}), and leave it blank in the rows that are asked about"
            )


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows."""
    booster = getattr(model, "booster_", model)
    X = rows(X, _names(booster.feature_name(), getattr(X, "columns", ())))
    threads = {"num_threads": 1} if len(X) < THREADS else {}
    if booster is not model:
        return np.asarray(model.predict_proba(X, **threads))
    said = np.asarray(booster.predict(X, **threads))
    return said if said.ndim == 2 else np.column_stack([1.0 - said, said])


def fitted_parts(model: Any) -> list[Any]:
    """The booster itself, which another fit makes anew, and what changes if it learns on.

    Its text, which is read, would take milliseconds.
    """
    booster = getattr(model, "booster_", model)
    told = [booster.num_trees(), booster.lower_bound(), booster.upper_bound()]
    return [Identity(booster), *told, booster.best_iteration, getattr(model, "classes_", None)]


def _parts(text: str) -> list[str]:
    """What its text says of the whole, then of each tree."""
    head, _, rest = text.partition("\nTree=")
    return [head, *(rest.partition("\nend of trees")[0].split("\nTree=") if rest else ())]


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs}


def _columns(text: str) -> list[str]:
    return _fields(text.partition("\nTree=")[0])["feature_names"].split(" ")


def _names(names: list[str], known: Sequence[str]) -> list[str] | None:
    """The names of its columns, where it wrote `_` for blanks; none where it made them up."""
    if names == [f"Column_{j}" for j in range(len(names))] and not set(names) <= set(known):
        return None
    plain = {re.sub(r"\s", "_", name): name for name in known}
    return [plain.get(name, name) for name in names]


def _categories(
    lists: Sequence[Sequence[Any]], schema: Schema, order: Sequence[int]
) -> dict[int, Sequence[Any]]:
    """The columns of its lists of pandas categories, which it keeps in order, but unnamed.

    They are the only ones of the schema's columns of listed values that have all of these values,
    or at least some, in that order, with all columns of text among them.
    """
    known = [(c, labels(schema[f])) for c, f in enumerate(order) if listed(schema[f])]
    told = [{(type(v) is bool, v) for v in each} for each in lists]
    for fits in (set.issubset, lambda mine, its: not mine.isdisjoint(its)):
        found = list(islice(_places(known, told, fits), 2))
        if len(found) == 1:
            return dict(zip(found[0], lists, strict=True))
        if found:
            break
    texts = sum(isinstance(values[0], str) for _, values in known)
    raise UnreadableError(
        f"LightGBM: the model has {len(lists)} columns of pandas categories, the schema "
        f"{len(known)} columns of listed values, {texts} of them of text; expected one way to tell "
        f"which are which, and there {'are several' if found else 'is none'}: the model has the "
        f"categories {', then '.join(map(some, lists))}"
    )


def _places(
    known: Sequence[tuple[int, Sequence[Any]]], lists: Sequence[set[Any]], fits: Any
) -> Iterator[tuple[int, ...]]:
    """Every way to give the lists, in order, to columns that they fit; text has to have one."""
    if len(lists) > len(known):
        return
    if not known:
        yield ()
        return
    (column, values), *others = known
    if lists and fits({(type(v) is bool, v) for v in values}, lists[0]):
        yield from ((column, *rest) for rest in _places(others, lists[1:], fits))
    if not isinstance(values[0], str):
        yield from _places(others, lists, fits)


def _nodes(tree: dict[str, str]) -> Nodes:
    """Its splits, then its leaves, which it numbers apart."""

    def numbers(name: str, kind: Any = np.int64) -> Any:
        return np.array(tree.get(name, "").split(), kind)

    leaves = numbers("leaf_value", float)
    if len(leaves) == 1:
        leaf = np.array([-1])
        return Nodes(leaf, np.zeros(1), np.zeros(1, bool), leaf, leaf, leaves[:, None])
    splits, decision = len(leaves) - 1, numbers("decision_type")
    threshold, missing = numbers("threshold", float), decision >> 2 & 3
    category = decision & _CATEGORY > 0
    edge = np.where((threshold >= 0) & (threshold < ZERO), ZERO, threshold)
    edge = np.where((threshold < 0) & (threshold >= -ZERO), BEFORE_ZERO, edge)
    nan_left = np.where(missing == _NOTHING, edge >= 0, decision & _DEFAULT_LEFT > 0) & ~category
    first, words = numbers("cat_boundaries"), numbers("cat_threshold", np.uint32)
    chosen = {
        node: Chosen(bits(words[first[place] : first[place + 1]]), left=True)
        for node, place in zip(
            np.flatnonzero(category).tolist(), threshold[category].astype(int), strict=True
        )
    }
    ends, none = np.full(len(leaves), -1), np.zeros(len(leaves), bool)
    child = [numbers(name) for name in ("left_child", "right_child")]
    left, right = (np.append(np.where(c < 0, splits + ~c, c), ends) for c in child)
    return Nodes(
        np.append(numbers("split_feature"), ends), np.append(edge, ends),
        np.append(nan_left, none), left, right, np.append(np.zeros(splits), leaves)[:, None],
        chosen, np.append((missing == _ZEROS) & ~category, none),
    )  # fmt: skip
