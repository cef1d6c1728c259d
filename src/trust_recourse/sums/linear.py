"""Reads scikit-learn's logistic regressions: a slope for each number, points for all else.

The library multiplies matrices, in an order of its own, so its sums are ours but for rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import Floats
from trust_recourse.schema import Schema
from trust_recourse.sums.additive import Additive
from trust_recourse.sums.columns import Columns, UnreadableError, rows, told_apart, two_classes
from trust_recourse.sums.ensemble import labels, listed

_DESCENT = "SGDClassifier"
NAMES = ("LogisticRegression", "LogisticRegressionCV", _DESCENT)


def read(model: Any, schema: Schema) -> tuple[Additive, Columns]:
    """The same model as points and slopes, and what the library sees of rows."""
    name, classes = type(model).__name__, two_classes(model.classes_)
    if name == _DESCENT and model.loss != "log_loss":
        raise UnreadableError(
            f"{name}, loss={model.loss!r}: its probability is no logistic function of a sum; learn "
            "it with loss='log_loss'"
        )
    if getattr(model, "multi_class", None) == "multinomial":
        raise UnreadableError(f"{name}, multi_class='multinomial': of two classes learn it without")
    if blank := [feature.name for feature in schema if None in feature.missing]:
        raise UnreadableError(
            f"column {blank[0]!r} may be blank in the schema, but {name} takes no blanks"
        )
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    weights = np.asarray(coefficients, float).ravel()
    names = getattr(model, "feature_names_in_", None)
    columns = Columns.of(schema, None if names is None else list(names), len(weights), {})
    by_feature = weights[np.argsort(columns.order)]
    edges, points, slopes = zip(
        *(_term(columns, f, weight) for f, weight in enumerate(by_feature.tolist())), strict=True
    )
    base = float(np.ravel(model.intercept_)[0])
    return Additive(schema, edges, points, slopes=slopes, base=base, classes=classes), columns


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows."""
    return np.asarray(model.predict_proba(rows(X, getattr(model, "feature_names_in_", None))))


def _term(columns: Columns, f: int, weight: float) -> tuple[Floats, Floats, Floats]:
    """The edges, points and slopes of one feature."""
    feature, seen = columns.schema[f], weight * columns.seen[f]
    size = len(labels(feature)) if listed(feature) else 0
    if len(set(seen[size:].tolist())) > 1:
        told_apart(feature)
    missing = seen[size : size + 1]
    if size:
        cuts = np.empty(0) if feature.kind == "category" else np.arange(size - 1.0)
        return cuts, np.append(seen[:size], missing), np.zeros(size + len(missing))
    return np.empty(0), np.append(0.0, missing), np.append(weight, np.zeros(len(missing)))
