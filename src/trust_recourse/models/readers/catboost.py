"""Trees of CatBoost, from its JSON: `CatBoostClassifier` and files of it.

It rounds what it is given to float32, splits by >, and adds in doubles, tree by tree, the bias
last. All splits of a level of its usual trees are the same, so that a leaf's number is made of
their answers, the first split's as the lowest bit. Categories it knows by the lowest 32 bits of
the hash of their text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from struct import unpack
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.io import strict_json
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.io.extras import needed
from trust_recourse.io.wording import some
from trust_recourse.models.readers.columns import (
    Chosen,
    ModelColumns,
    Nodes,
    UnreadableError,
    by_class,
    last_left,
    order_of,
    rows,
)
from trust_recourse.models.sums.classes import ClassSums, summed
from trust_recourse.models.sums.ensemble import Link, SumModel, labels, listed
from trust_recourse.schema import Feature, Schema

NAMES = ("CatBoostClassifier", "CatBoostFile")
_LABELS = {"Boolean": bool, "Float": float, "Integer": np.int64, "String": object}

Split = tuple[int, float, bool, Chosen | None]  # column, edge, whether NaN goes left, categories


class CatBoostFile(NamedTuple):
    """A model as its JSON file has it; the library is needed only to predict."""

    data: bytes
    whole: Any

    @property
    def classes_(self) -> Any:
        """The labels of its classes."""
        return _classes(self.whole)

    @property
    def feature_names_(self) -> list[str]:
        """The names of its columns, or their places where they have none."""
        return [each["feature_id"] or str(at) for at, each in enumerate(_features(self.whole))]

    def predict_proba(self, X: Any) -> Any:
        """What the library says of rows.

        It reads many numbers of such a file one unit off in the last place, so it is given them.
        """
        with needed("Comparing with CatBoost", "catboost", "trees"):
            from catboost import CatBoostClassifier

        model = CatBoostClassifier()
        with TemporaryDirectory() as folder:  # it reads from files alone
            path = Path(folder) / "model.json"
            path.write_bytes(self.data)
            model.load_model(str(path), format="json")
        values = [tree["leaf_values"] for tree in self.whole.get("oblivious_trees", ())]
        for tree in self.whole.get("trees", ()):
            values += [np.ravel(node["value"]) for node in _preorder(tree) if "value" in node]
        model.set_leaf_values(np.concatenate(values).astype(float))
        model.set_scale_and_bias(*self.whole["scale_and_bias"])
        return model.predict_proba(X)


def opened(data: bytes) -> CatBoostFile:
    """The model of a file."""
    return CatBoostFile(data, strict_json.loads(data))


def read(model: Any, schema: Schema) -> tuple[SumModel | ClassSums, ModelColumns]:
    """The same model as a sum of trees, and what the library sees of rows."""
    whole = model.whole if isinstance(model, CatBoostFile) else _json(model)
    classes, (scale, bias) = _classes(whole), whole["scale_and_bias"]
    many = len(classes) if len(classes) > 2 else 1
    loss = whole["model_info"].get("params", {}).get("loss_function", {}).get("type")
    if len(bias) != many or (many > 1 and loss not in (None, "MultiClass")):
        raise UnreadableError(
            f"CatBoost, loss {loss}: it has {len(bias)} sums for {len(classes)} classes; "
            "expected one, as 'Logloss' learns it, or one each, as 'MultiClass' does"
        )
    if scale != 1:
        raise UnreadableError(f"CatBoost: its sum is scaled by {scale}; expected a scale of 1")
    columns = _columns(whole, schema)
    splits = _splits(columns, whole["features_info"])
    found = [_even(tree, splits) for tree in whole.get("oblivious_trees", ())]
    found += [_uneven(tree, splits) for tree in whole.get("trees", ())]
    if any(bias):
        found.append(_nodes([], np.array([-1]), np.array([-1]), np.array([bias], float)))
    if not found:
        raise UnreadableError("CatBoost: the model has no trees")
    trees, link = [columns.tree(each) for each in found], Link(True)
    return summed(schema, classes, by_class(trees, many), link), columns


def fitted_parts(model: Any) -> list[Any]:
    """All that its file would hold."""
    return [sha256(model._serialize_model()).digest()]


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows."""
    return np.asarray(model.predict_proba(rows(X, _names(model.feature_names_))), float)


def _json(model: Any) -> Any:
    with TemporaryDirectory() as folder:  # it writes to files alone
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return strict_json.loads(path.read_bytes())


def _classes(whole: Any) -> Any:
    """The labels of its classes, of the type that they had when it learnt them."""
    told = whole["model_info"].get("class_params")
    if told is None:
        raise UnreadableError("CatBoost: the model has no classes; expected a CatBoostClassifier")
    return np.array(
        told["class_names"] or told["class_to_label"], _LABELS[told["class_label_type"]]
    )


def _features(whole: Any) -> list[Any]:
    """What is told of each column."""
    info = whole["features_info"]
    every = [*info.get("float_features", ()), *info.get("categorical_features", ())]
    found = sorted(every, key=lambda each: each["flat_feature_index"])
    if [each["flat_feature_index"] for each in found] != [*range(len(found))]:
        raise UnreadableError("CatBoost: its columns are not numbered one after another")
    for each in every:
        if not 0 <= (at := each.get("feature_index", 0)) < len(found):
            raise UnreadableError(
                f"CatBoost: a column has feature_index={at}; expected one of its {len(found)}. "
                "Save the model again"
            )
    return found


def _names(told: Sequence[str]) -> Sequence[str] | None:
    """The names of its columns; none where they are their places."""
    return None if [*told] == [str(at) for at in range(len(told))] else told


def _columns(whole: Any, schema: Schema) -> ModelColumns:
    """With a list of the schema's values for each column of categories: it keeps none itself."""
    every = _features(whole)
    names = _names([each["feature_id"] or str(at) for at, each in enumerate(every)])
    order = order_of(schema, names, len(every))
    kinds = whole["features_info"].get("categorical_features", ())
    places = [each["flat_feature_index"] for each in kinds]
    lists = {place: _categories(schema[order[place]]) for place in places}
    return ModelColumns.of(schema, names, len(every), lists)


def _categories(feature: Feature) -> tuple[Any, ...]:
    """The values that a column of categories may have."""
    if not listed(feature):
        raise UnreadableError(
            f"column {feature.name!r} is a category in the model, in the schema it is of the kind "
            f"{feature.kind}: declare it as a category"
        )
    values = (*labels(feature), *feature.missing)
    if any(value is None or value != value for value in values):
        raise UnreadableError(
            f"column {feature.name!r}: CatBoost takes no blanks among categories; "
            "declare them as a value of their own, and learn the model so"
        )
    if strange := [value for value in values if not isinstance(value, (str, int))]:
        raise UnreadableError(
            f"column {feature.name!r}: CatBoost takes text and whole numbers as categories, the "
            f"schema has {some(strange)}; write them as text"
        )
    return values


def _hash(value: str | int) -> int:
    """The number that it knows a category by; a boolean is 0 or 1 to it."""
    text = value if isinstance(value, str) else str(int(value))
    return (city_hash(text.encode()) + (1 << 31)) % (1 << 32) - (1 << 31)


def _preorder(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A node of a tree of any shape, and all below it."""
    yield node
    if "value" not in node:
        yield from _preorder(node["left"])
        yield from _preorder(node["right"])


def _splits(columns: ModelColumns, info: Any) -> list[Split]:
    """Every split of its trees, in the library's own order, in which trees name them by number."""
    found: list[Split] = []
    for each in info.get("float_features", ()):
        column, nan_left = each["flat_feature_index"], each["nan_value_treatment"] != "AsTrue"
        borders = np.array(each["borders"], float)
        if (np.abs(borders) > np.finfo(np.float32).max).any():
            raise UnreadableError("CatBoost: it splits at what is no number of float32")
        edges = last_left(borders.astype(np.float32)).tolist()
        found += [(column, edge, nan_left, None) for edge in edges]
    for each in info.get("categorical_features", ()):
        column, values = each["flat_feature_index"], each.get("values", ())
        hashes = [*map(_hash, columns.categories[column])]
        if values and not set(values) & set(hashes):
            raise UnreadableError(
                f"column {columns.schema.names[columns.order[column]]!r}: the model splits by "
                f"categories of which the schema has none, just {some(columns.categories[column])};"
                " expected the values that the model was learnt on"
            )
        picked = [np.flatnonzero([each == value for each in hashes]) for value in values]
        found += [(column, 0.0, True, Chosen(codes, False)) for codes in picked]
    return found


def _split(told: Mapping[str, Any], splits: Sequence[Split]) -> Split:
    """One split of a tree: what is more than its border, or is its category, goes right."""
    if told["split_type"] not in ("FloatFeature", "OneHotFeature"):
        raise UnreadableError(
            "CatBoost: it splits by target statistics of categories (CTR), which are not read; "
            "learn it with one_hot_max_size of at least the number of categories"
        )
    at: int = told["split_index"]
    if not 0 <= at < len(splits):
        raise UnreadableError(f"CatBoost: a tree has the split {at}, and there are {len(splits)}")
    return splits[at]


def _even(tree: Mapping[str, Any], known: Sequence[Split]) -> Nodes:
    """A tree whose levels split alike, the last of its splits first."""
    splits = [_split(told, known) for told in reversed(tree["splits"])]
    depth, values = len(splits), np.array(tree["leaf_values"], float)
    if len(values) % (1 << depth) or not len(values):
        raise UnreadableError(f"CatBoost: a tree of {depth} levels has {len(values)} leaf values")
    values = values.reshape(1 << depth, -1)  # a column for each class
    inner = np.repeat(np.arange(depth), 2 ** np.arange(depth)).tolist()
    left = np.concatenate([2 * np.arange(len(inner)) + 1, np.full(len(values), -1)])
    return _nodes([splits[level] for level in inner], left, left + 1, values)


def _uneven(tree: Mapping[str, Any], known: Sequence[Split]) -> Nodes:
    """A tree of any shape."""
    every = [*_preorder(tree)]
    inner = [node for node in every if "value" not in node]
    leaves = [node for node in every if "value" in node]
    place = {id(node): at for at, node in enumerate([*inner, *leaves])}
    left, right = (
        np.array([*(place[id(node[side])] for node in inner), *[-1] * len(leaves)])
        for side in ("left", "right")
    )
    values = np.array([np.ravel(node["value"]) for node in leaves], float)
    return _nodes([_split(node["split"], known) for node in inner], left, right, values)


def _nodes(splits: Sequence[Split], left: Ints, right: Ints, values: Floats) -> Nodes:
    """Splits, then leaves."""
    every = [*splits, *[(0, 0.0, True, None)] * len(values)]
    column = np.array([split[0] for split in every], np.int64)
    edge = np.array([split[1] for split in every], float)
    nan_left = np.array([split[2] for split in every], bool)
    value = np.concatenate([np.zeros((len(splits), values.shape[1])), values])
    chosen = {at: split[3] for at, split in enumerate(splits) if split[3] is not None}
    return Nodes(column, edge, nan_left, left, right, value, chosen)


# ---------------------------------------------------------------- CityHash64
# Of version 1.0 (Pike and Alakuijala, 2011). Words are of 64 bits, the lowest byte first; sums and
# products are kept to their lowest 64 bits.

_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_TIMES = 0x9DDFEA08EB382D69
_LOWEST = (1 << 64) - 1

Two = tuple[int, int]


def city_hash(data: bytes) -> int:
    """The hash of some bytes, of 64 bits.

    >>> hex(city_hash(b""))
    '0x9ae16a3b2f90404f'
    """
    if len(data) > 64:
        return _beyond_64(data)
    if len(data) > 32:
        return _33_to_64(data)
    return _17_to_32(data) if len(data) > 16 else _up_to_16(data)


def _up_to_16(data: bytes) -> int:
    n = len(data)
    if n > 8:
        first, last = _whole(data[:8]), _whole(data[-8:])
        return _joined(first, _turned(last + n, n)) ^ last
    if n >= 4:
        first, last = _whole(data[:4]), _whole(data[-4:])
        return _joined(n + (first << 3), last)
    if n:
        y, z = data[0] + (data[n // 2] << 8), n + (data[-1] << 2)
        return _mixed(y * _K2 ^ z * _K3) * _K2 & _LOWEST
    return _K2


def _17_to_32(data: bytes) -> int:
    (a, b), (d, c) = unpack("<2Q", data[:16]), unpack("<2Q", data[-16:])
    a, c, d = a * _K1, c * _K2, d * _K0
    return _joined(
        _turned(a - b, 43) + _turned(c, 30) + d, a + _turned(b ^ _K3, 20) - c + len(data)
    )


def _33_to_64(data: bytes) -> int:
    first, last = unpack("<4Q", data[:32]), unpack("<4Q", data[-32:])
    v = _summed(first[0] + (len(data) + last[2]) * _K0, *first[1:])
    w = _summed(first[2] + last[0], *last[1:])
    r = _mixed((v[0] + w[1]) * _K2 + (w[0] + v[1]) * _K0)
    return _mixed(r * _K0 + v[1]) * _K2 & _LOWEST


def _summed(a: int, x: int, y: int, z: int) -> Two:
    b = _turned(a + z, 52) + _turned(a, 37) + _turned(a + x, 7)
    return a + x + y + z, b + _turned(a + x + y, 31)


def _beyond_64(data: bytes) -> int:
    n, end = len(data), unpack("<8Q", data[-64:])
    y = end[6] ^ _K1
    v, w = _seeded(end[:4], n, y), _seeded(end[4:], n * _K1, _K0)
    z = (end[1] ^ _K0) + _mixed(v[1]) * _K1
    x = _turned(z + _whole(data[:8]), 39) * _K1
    y = _turned(y, 33) * _K1
    for at in range(0, (n - 1) // 64 * 64, 64):
        each = unpack("<8Q", data[at : at + 64])
        x = _turned(x + y + v[0] + each[2], 37) * _K1 ^ w[1]
        y = _turned(y + v[1] + each[6], 42) * _K1 ^ v[0]
        z = _turned(z ^ w[0], 33)
        v, w = _seeded(each[:4], v[1] * _K1, x + w[0]), _seeded(each[4:], z + w[1], y)
        x, z = z, x
    return _joined(_joined(v[0], w[0]) + _mixed(y) * _K1 + z, _joined(v[1], w[1]) + x)


def _seeded(words: tuple[int, ...], a: int, b: int) -> Two:
    """Two numbers of four words and two seeds."""
    a += words[0]
    b = _turned(b + a + words[3], 21)
    c = a + words[1] + words[2]
    return (c + words[3]) & _LOWEST, (b + _turned(c, 44) + a) & _LOWEST


def _whole(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _joined(u: int, v: int) -> int:
    a = _mixed((u ^ v) * _TIMES)
    return _mixed((v ^ a) * _TIMES) * _TIMES & _LOWEST


def _mixed(word: int) -> int:
    word &= _LOWEST
    return word ^ word >> 47


def _turned(word: int, by: int) -> int:
    """A word turned to the right."""
    word &= _LOWEST
    return (word >> by | word << 64 - by) & _LOWEST
