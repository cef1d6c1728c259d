"""Trees of LightGBM, from the text of its own model files: `LGBMClassifier` and a binary `Booster`.

It adds in doubles, tree by tree, and splits by x ≤ threshold, where all within 1e-35 of 0 is 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.cells import Floats
from trust_recourse.extras import needed
from trust_recourse.schema import Schema
from trust_recourse.sums.columns import (
    Chosen,
    Columns,
    Nodes,
    UnreadableError,
    bits,
    order_of,
    rows,
    two_classes,
)
from trust_recourse.sums.ensemble import BEFORE_ZERO, ZERO, Link, SumModel, listed

NAMES = ("LGBMClassifier", "Booster")
_CATEGORY, _DEFAULT_LEFT = 1, 2  # bits of a decision; the next two are what is missing
_NOTHING, _ZEROS = 0, 1


class Booster(NamedTuple):
    """A model as the text of its file has it; the library is needed only to predict."""

    text: str

    def model_to_string(self) -> str:
        """The text."""
        return self.text

    def predict(self, X: Any) -> Any:
        """What the library says of rows."""
        with needed("Comparing with LightGBM", "lightgbm", "trees"):
            import lightgbm

        return lightgbm.Booster(model_str=self.text).predict(X)


def opened(data: bytes) -> Booster:
    """The model of a file."""
    return Booster(data.decode())


def read(model: Any, schema: Schema) -> tuple[SumModel, Columns]:
    """The same model as a sum of trees, and what the library sees of rows."""
    text = getattr(model, "booster_", model).model_to_string()
    classes = two_classes(getattr(model, "classes_", (0, 1)))
    head, _, rest = text.partition("\nTree=")
    texts = rest.partition("\nend of trees")[0].split("\nTree=") if rest else []
    told, trees = _fields(head), [_fields(text) for text in texts]
    objective = told.get("objective", "one of your own")
    found = re.fullmatch(r"binary sigmoid:(\S+)", objective)
    if found is None:
        raise UnreadableError(f"LightGBM, objective {objective}: only binary can be read")
    if not trees:
        raise UnreadableError("LightGBM: the model has no trees")
    if any(tree.get("is_linear") == "1" for tree in trees):
        raise UnreadableError("LightGBM: linear trees have no value for a leaf, so are not read")
    names, n = _names(text, schema.names), int(told["max_feature_idx"]) + 1
    lists = _categories(_lists(text), schema, order_of(schema, names, n))
    columns = Columns.of(schema, names, n, lists)
    link = Link(True, len(trees) if "average_output" in told else 1, float(found[1]))
    sums = tuple(columns.tree(_nodes(tree)) for tree in trees)
    return SumModel(schema, classes, sums, 0.0, link), columns


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows."""
    booster = getattr(model, "booster_", model)
    X = rows(X, _names(booster.model_to_string(), getattr(X, "columns", ())))
    if booster is not model:
        return np.asarray(model.predict_proba(X))
    yes = booster.predict(X)
    return np.column_stack([1.0 - yes, yes])


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs}


def _lists(text: str) -> list[list[Any]]:
    """Its lists of pandas categories, which are the last line of its text."""
    _, found, listed = text.rpartition("\npandas_categorical:")
    return (json.loads(listed) or []) if found else []


def _names(text: str, known: Sequence[str]) -> list[str] | None:
    """The names of its columns, where it wrote `_` for blanks; none where it made them up."""
    names = _fields(text.partition("\nTree=")[0])["feature_names"].split(" ")
    if names == [f"Column_{j}" for j in range(len(names))] and not set(names) <= set(known):
        return None
    plain = {re.sub(r"\s", "_", name): name for name in known}
    return [plain.get(name, name) for name in names]


def _categories(
    lists: Sequence[Sequence[Any]], schema: Schema, order: Sequence[int]
) -> dict[int, Sequence[Any]]:
    """The columns of its lists of pandas categories, which it keeps in order, but unnamed.

    Text can be nothing else; numbers, and then booleans, may be where there are more lists.
    """
    booleans = [column for column, f in enumerate(order) if listed(schema[f])]
    values = [column for column in booleans if schema[order[column]].kind != "boolean"]
    texts = [column for column in values if isinstance(schema[order[column]].values[0], str)]
    for columns in (texts, values, booleans):
        if len(columns) == len(lists):
            return dict(zip(columns, lists, strict=True))
    raise UnreadableError(
        f"LightGBM: the model has {len(lists)} columns of pandas categories, the schema "
        f"{len(values)} categories and ordinals, {len(texts)} of them of text; expected as many"
    )


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
