"""Models that are sums of small terms: tables of points, and the trees of other libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.cells import Floats
from trust_recourse.schema import Schema
from trust_recourse.sums.additive import Additive
from trust_recourse.sums.columns import Columns, UnreadableError
from trust_recourse.sums.ensemble import SumModel

__all__ = ["Additive", "SumModel", "UnreadableError", "adopt"]

_LIBRARIES = ("catboost", "lightgbm", "sklearn", "xgboost")


def adopt(model: Any, schema: Schema, X: Any = None) -> SumModel:
    """The same model as a sum of trees, with the library's very numbers.

    It takes a `LGBMClassifier`, `XGBClassifier` or `Booster` of either library, a
    `CatBoostClassifier`, and a decision tree, forest, gradient or histogram gradient boosting of
    scikit-learn, of two classes. The schema's columns are the model's, in any order. With rows `X`,
    as the library takes them, the library is asked again, and what differs in one bit is refused.

    The library sees people's own values: a missing code such as -9 as that number, a blank as NaN;
    of a category or ordinal the number it is, or its place among the model's pandas categories.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from trust_recourse.schema import Feature
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["no", "yes", "yes"])
    >>> read = adopt(model, Schema((Feature("years"),)))
    >>> read.predict_proba(np.array([[1.5], [1.6]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> read.grid.edges[0].tolist()  # it splits at 1.5, and in float32 this is no more
    [1.5000000596046448]
    """
    read, library = known(model, schema)
    if X is not None:
        _compare(read.predict_proba(X), library.reader.predict_proba(model, X), X)
    return read


class Library(NamedTuple):
    """A model of a library, to be asked by rows of codes of a schema."""

    model: Any
    columns: Columns

    @property
    def reader(self) -> Any:
        """The module that reads it."""
        return _reader(self.model)

    def predict_proba(self, codes: Floats) -> Floats:
        """What the library itself says, (n, 2)."""
        said: Floats = self.reader.predict_proba(self.model, self.columns.rows(codes))
        return said


def known(model: Any, schema: Schema) -> tuple[SumModel, Library]:
    """The same model as a sum of trees, and the library's own to ask again."""
    reader = _reader(model)
    if reader is None:
        raise UnreadableError(
            f"given {type(model).__module__}.{type(model).__name__}; expected a tree, forest or "
            "boosted trees of scikit-learn, LightGBM, XGBoost or CatBoost"
        )
    if type(model).__name__ != "Booster" and not hasattr(model, "classes_"):
        raise UnreadableError(f"{type(model).__name__}: it has not learnt yet; call fit first")
    read, columns = reader.read(model, schema)
    return read, Library(model, columns)


def readable(model: Any) -> bool:
    """Whether `adopt` knows this kind of model, whatever it may find in it."""
    return _reader(model) is not None


def _reader(model: Any) -> Any:
    """The module that reads it, known by its class's own name, so that no library is loaded."""
    library = type(model).__module__.partition(".")[0]
    if library not in _LIBRARIES:
        return None
    reader = import_module(f"{__name__}.{library}")
    return reader if type(model).__name__ in reader.NAMES else None


def _compare(ours: Any, theirs: Any, X: Any) -> None:
    apart = np.flatnonzero((ours != theirs).any(axis=1))
    if len(apart):
        row = int(apart[0])
        label = X.index[row] if hasattr(X, "index") else row
        raise UnreadableError(
            f"row {label!r}: the library says {theirs[row].tolist()}, as read it is "
            f"{ours[row].tolist()}; {len(apart)} of {len(ours)} rows differ. Are the columns, "
            "values and missing codes of the schema those that the model was learnt on?"
        )
