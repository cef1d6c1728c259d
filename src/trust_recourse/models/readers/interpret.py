"""EBMs of interpret: tables of points in the library's own bins, of one feature and of two.

A number lies in bin 1 + how many cuts are at most it; bin 0 is of missing values, and the last of
what is unknown. Tables of two features have coarser bins than those of one. Categories are known by
their text, so that 1, 1.0 and "1" are the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
import pandas as pd

from trust_recourse.io import strict_json
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.io.extras import needed
from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import some
from trust_recourse.models.grid import Grid
from trust_recourse.models.readers.columns import ModelColumns, UnreadableError, one_of, order_of
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.classes import ClassSums
from trust_recourse.models.sums.dense_tables import Pair
from trust_recourse.models.sums.ensemble import labels, listed
from trust_recourse.schema import Feature, Schema

NAMES = ("ExplainableBoostingClassifier",)

Bins = Floats | Mapping[str, int]  # cuts, or the bin of each category


class EbmColumns(ModelColumns):
    """What an EBM is given: numbers, and categories by their values."""

    def rows(self, codes: Floats) -> Any:
        """Rows of codes as people's own values."""
        return self.table(self.schema.decode(codes))

    def table(self, X: pd.DataFrame) -> Any:
        """People's own values, in the order of the model's columns."""
        found = {}
        for f in self.order:
            feature = self.schema[f]
            values = [plain(each) for each in X[feature.name]]
            blank = [None if v is None or v != v else v for v in values]
            found[feature.name] = pd.Series(blank, dtype=object)
        table = pd.DataFrame(found)
        for column, f in enumerate(self.order):
            if column not in self.categories:
                table[self.schema[f].name] = table[self.schema[f].name].astype(float)
        return table


def read(model: Any, schema: Schema) -> tuple[Additive | ClassSums, ModelColumns]:
    """The same sum on a grid of the cuts of all its tables."""
    classes = np.asarray(model.classes_)
    if model.link_ != ("logit" if len(classes) == 2 else "mlogit"):
        raise UnreadableError(f"an EBM with the link {model.link_!r}; expected logit or mlogit")
    if len(classes) > 2:
        return _several(model, schema, classes)
    names = list(model.feature_names_in_)
    order = order_of(schema, names, len(names))
    columns = _columns(model, schema, names, order)
    read_of = {f: _Column(schema[f], model.bins_[j]) for j, f in enumerate(order)}
    grid = Grid(schema, tuple(read_of[f].edges for f in range(len(schema))))
    points = [np.zeros(size) for size in grid.sizes.tolist()]
    pairs = []
    for at, scores in zip(model.term_features_, model.term_scores_, strict=True):
        features, table = [order[j] for j in at], np.asarray(scores, float)
        if len(features) > 2 or table.ndim != len(features):
            told = some([schema.names[f] for f in features])
            raise UnreadableError(
                f"a term of {len(features)} features together ({told}); so far terms of one and of "
                "two can be read: learn it with interactions of two"
            )
        bins = [
            read_of[f].bins(len(at), many) for f, many in zip(features, table.shape, strict=True)
        ]
        if not np.isfinite(table[np.ix_(*bins)]).all():
            raise UnreadableError(f"the term of {some([schema.names[f] for f in features])} adds "
                                  "what is no finite number")  # fmt: skip
        if len(features) == 1:
            points[features[0]] = table[bins[0]]
        else:
            # with the rows and columns alone that some cell lies in
            (left, of_f), (right, of_g) = (np.unique(each, return_inverse=True) for each in bins)
            both = features[0], features[1]
            pairs.append(Pair(both, (of_f, of_g), table[np.ix_(left, right)]))
    base = float(np.ravel(model.intercept_)[0])
    made = Additive(schema, grid.edges, points, pairs=pairs, base=base, classes=classes)
    return made, columns


def fitted_parts(model: Any) -> list[Any]:
    """What is read of it."""
    return [
        model.classes_, model.link_, model.intercept_, model.bins_, model.term_features_,
        model.term_scores_, model.feature_names_in_, model.feature_types_in_,
    ]  # fmt: skip


def _several(model: Any, schema: Schema, classes: Any) -> tuple[ClassSums, ModelColumns]:
    """Each class by tables of its own, as if of two."""
    made = []
    for k, base in enumerate(np.ravel(model.intercept_).tolist()):
        one = copy(model)
        one.classes_, one.link_, one.intercept_ = np.array([0, 1]), "logit", np.array([base])
        one.term_scores_ = [np.asarray(scores)[..., k] for scores in model.term_scores_]
        found, columns = read(one, schema)
        assert isinstance(found, Additive)
        made.append(found)
    return ClassSums(tuple(made), classes), columns


def _columns(model: Any, schema: Schema, names: list[str], order: tuple[int, ...]) -> ModelColumns:
    kinds = zip(model.feature_types_in_, model.bins_, strict=True)
    known = {j: list(bins[0]) for j, (kind, bins) in enumerate(kinds) if kind != "continuous"}
    return EbmColumns(schema, names, order, known, ())


class _Column:
    """One column: where its cells end, and the bin of each in tables of one feature or more."""

    def __init__(self, feature: Feature, levels: Sequence[Bins]) -> None:
        self.feature, self.levels = feature, levels
        if feature.kind == "category":
            self.edges = np.empty(0)
        elif listed(feature):
            self.edges = np.arange(len(labels(feature)) - 1.0)
        else:
            edges = np.unique(np.concatenate([np.empty(0), *map(_ends, levels)]))
            self.edges = edges[np.isfinite(edges)]

    def bins(self, order: int, many: int) -> Ints:
        """The bin of each cell in a table of so many features, which has so many bins."""
        feature, level = self.feature, self.levels[min(order, len(self.levels)) - 1]
        known = labels(feature) if listed(feature) else [*self.edges.tolist(), math.inf]
        gone = [_bin(feature, level, code) % many for code in feature.missing]
        found = [_bin(feature, level, value) % many for value in known]
        return np.array([*found, *one_of(feature, np.array(gone))], np.int64)


def _bin(feature: Feature, level: Bins, value: Any) -> int:
    """The bin of a value, −1 of what is unknown."""
    if value is None:
        return 0
    if isinstance(level, Mapping):
        return level.get(_text(value), -1)
    if isinstance(value, str):
        raise UnreadableError(
            f"column {feature.name!r}: the schema has the value {value!r}, but the model knows it "
            "as a number; expected numbers in the schema"
        )
    return 0 if math.isnan(value) else 1 + int(np.searchsorted(level, float(value), "right"))


def _text(value: Any) -> str:
    """What the library calls a value of a category."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value)) if abs(value) < 1e16 else repr(value)
    return str(value)


def _ends(level: Bins) -> Floats:
    """The last numbers that lie in a bin; of a category of numbers just it."""
    if not isinstance(level, Mapping):
        return np.asarray(np.nextafter(np.asarray(level, float), -np.inf))
    numbers = []
    for text in level:
        with suppress(ValueError):
            numbers.append(float(text))
    known = np.array(numbers)[np.isfinite(numbers)]
    return np.concatenate([np.nextafter(known, -np.inf), known])


def predict_proba(model: Any, rows: Any) -> Floats:
    """What the library says."""
    return np.asarray(model.predict_proba(rows), float)


# ---------------------------------------------------------------- files


def opened(data: bytes) -> Any:
    """The model in a JSON file, of any detail, as the library has it."""
    with needed("a file of interpret", "interpret", "trees"):
        from interpret.glassbox import ExplainableBoostingClassifier

    whole = strict_json.loads(data)["ebm"]
    (output,) = whole["outputs"]
    if output["task"] != "classification":
        raise UnreadableError(f"an EBM for {output['task']}; expected one of classes")
    model = ExplainableBoostingClassifier()
    names = [each["name"] for each in whole["features"]]
    model.classes_, model.link_ = np.array(output["classes"]), output["link"]
    model.link_param_ = math.nan
    model.intercept_ = np.array(whole["intercept"], float)
    model.feature_names_in_, model.n_features_in_ = names, len(names)
    model.feature_types_in_ = [each["type"] for each in whole["features"]]
    model.bins_ = [_levels(each) for each in whole["features"]]
    model.term_features_ = [
        tuple(map(names.index, term["term_features"])) for term in whole["terms"]
    ]
    model.term_scores_ = [np.array(term["scores"], float) for term in whole["terms"]]
    model.has_fitted_ = True
    return model


def _levels(feature: dict[str, Any]) -> list[Any]:
    """The bins of a feature in tables of one feature, of two, and so on."""
    if feature["type"] == "continuous":
        return [np.array(cuts, float) for cuts in feature["cuts"]]
    found = []
    for level in feature["categories"]:
        names = [each if isinstance(each, list) else [each] for each in level]
        found.append({name: at for at, each in enumerate(names, 1) for name in each})
    return found
