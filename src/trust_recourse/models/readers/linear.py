"""Reads scikit-learn's logistic regressions: a slope for each number, points for all else.

The library multiplies matrices, in an order of its own, so its sums are ours but for rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.models.readers.columns import ModelColumns, UnreadableError, one_of, rows
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.classes import ClassSums
from trust_recourse.models.sums.ensemble import labels, listed
from trust_recourse.schema import Schema

_DESCENT = "SGDClassifier"
IN_TYPE_OF_TABLE = True  # float32 rows are multiplied in float32
NAMES = ("LogisticRegression", "LogisticRegressionCV", _DESCENT)


def read(model: Any, schema: Schema) -> tuple[Additive | ClassSums, ModelColumns]:
    """The same model as points and slopes, and what the library sees of rows."""
    name, classes = type(model).__name__, np.asarray(model.classes_)
    if name == _DESCENT and model.loss != "log_loss":
        raise UnreadableError(
            f"{name}, loss={model.loss!r}: its probability is no logistic function of a sum; learn "
            "it with loss='log_loss'"
        )
    if len(classes) > 2 and (name == _DESCENT or getattr(model, "solver", "") == "liblinear"):
        raise UnreadableError(
            f"{name}, {len(classes)} classes: each is learnt against the rest, and their "
            "probabilities are no softmax of sums; learn a LogisticRegression with another solver"
        )
    if getattr(model, "multi_class", None) in ("multinomial", "ovr"):
        raise UnreadableError(f"{name}, multi_class={model.multi_class!r}: learn it without")
    if blank := [feature.name for feature in schema if None in feature.missing]:
        raise UnreadableError(
            f"column {blank[0]!r} may be blank in the schema, but {name} takes no blanks"
        )
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    weights = np.atleast_2d(np.asarray(coefficients, float))
    names = getattr(model, "feature_names_in_", None)
    columns = ModelColumns.of(schema, None if names is None else list(names), weights.shape[1], {})
    by_feature = weights[:, np.argsort(columns.order)].tolist()
    bases = np.ravel(model.intercept_).tolist()
    if len(classes) > 2:
        each = zip(by_feature, bases, strict=True)
        return ClassSums(tuple(_sum(columns, row, base) for row, base in each), classes), columns
    return _sum(columns, by_feature[0], bases[0], classes), columns


def _sum(columns: ModelColumns, weights: Any, base: float, classes: Any = (0, 1)) -> Additive:
    edges, points, slopes = [], [], []
    for feature, seen, weight in zip(columns.schema, columns.seen, weights, strict=True):
        size = len(labels(feature)) if listed(feature) else 0
        known, missing = weight * seen[:size], one_of(feature, weight * seen[size:])
        none = np.zeros(size + len(missing))
        cut = size and feature.kind != "category"
        edges.append(np.arange(size - 1.0) if cut else np.empty(0))
        points.append(np.append(known if size else 0.0, missing))
        slopes.append(none if size else np.append(weight, none))
    return Additive(columns.schema, edges, points, slopes=slopes, base=base, classes=classes)


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows."""
    return np.asarray(model.predict_proba(rows(X, getattr(model, "feature_names_in_", None))))


def fitted_parts(model: Any) -> list[Any]:
    """What is read of it."""
    names = "classes_", "coef_", "intercept_", "feature_names_in_", "loss"
    return [getattr(model, name, None) for name in names]
