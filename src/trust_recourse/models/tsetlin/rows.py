"""Tables of rows and labels as machines take them: checked, and encoded by the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from trust_recourse.io.arrays import Floats
from trust_recourse.io.frames import as_pandas
from trust_recourse.io.wording import some
from trust_recourse.models import model_file
from trust_recourse.schema import Schema
from trust_recourse.schema.derived import check_rows

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.machines import Machine


def training_data(model: Machine, X: Any, y: Any, classes: Any) -> tuple[Floats, NDArray[np.int8]]:
    """Codes of X and y as 0 or 1; sets `schema_`, `classes_` and what scikit-learn asks for."""
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        validate_data(model, X, y, skip_check_array=True)
        y = column_or_1d(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows, y has {len(y)}; give them equal")
        model.columns_ = list(X.columns)
        X = _named(X)
    else:
        X, y = validate_data(model, X, y, **_array_checks(model.schema))
        model.columns_ = None
    model.schema_ = model.schema if model.schema is not None else Schema.infer(X)
    check_classification_targets(y)
    labels = np.unique(np.asarray(y if classes is None else classes))
    type_of_target(labels, input_name="classes")
    if len(labels) > 2 and model.link != "logistic":
        raise ValueError(
            f"Only binary classification is supported by link={model.link!r}; y holds "
            f"{len(labels)} classes ({some(labels.tolist())}). Set link='logistic'"
        )
    if len(labels) > 2 and model.calibration not in (None, "temperature"):
        raise ValueError(
            f"calibration={model.calibration!r} with {len(labels)} classes: it is a map of one "
            "confidence; of several take link='logistic' with calibration='temperature'"
        )
    if len(labels) > 2 and any(feature.monotone for feature in model.schema_):
        raise ValueError(
            f"the schema calls features monotone, and there are {len(labels)} classes: it is "
            "meant towards one of two; take it out of the schema"
        )
    if len(labels) < 2:
        raise ValueError(
            f"y holds only one class, {labels.tolist()[0]!r}; a classifier needs rows of two "
            "(a first partial_fit may name them: classes=[...])"
        )
    labels = labels.astype(labels.dtype.newbyteorder("<"))
    try:
        model.classes_ = model_file.labels(labels.tolist(), labels.dtype.str)
    except ValueError:
        raise ValueError(
            f"y holds labels of type {labels.dtype}; expected texts, booleans or numbers of at "
            "most 64 bits, which a model file can hold"
        ) from None
    check_rows(model.schema_, X)
    return model.schema_.encode(X), known_classes(model, y)


def _array_checks(schema: Schema | None) -> dict[str, Any]:
    """With a schema given, arrays may hold what it knows: text, and declared blanks."""
    if schema is None:
        return {"dtype": np.float64}
    return {"dtype": None, "ensure_all_finite": False}


def known_classes(model: Machine, y: Any) -> NDArray[np.int8]:
    """The position of each label in `classes_`; an unknown label is refused."""
    labels = np.asarray(y).ravel()
    unknown = np.setdiff1d(labels, model.classes_)
    if len(unknown):
        raise ValueError(
            f"y holds the class {unknown.tolist()[0]!r}; this machine knows "
            f"{model.classes_.tolist()}"
        )
    if len(model.classes_) > 2:
        return np.searchsorted(model.classes_, labels).astype(np.int16)
    return np.asarray(labels == model.classes_[1], dtype=np.int8)


def codes_of(model: Machine, X: Any) -> Floats:
    """Rows as a fitted machine's schema encodes them."""
    check_is_fitted(model)
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        validate_data(model, X, reset=False, skip_check_array=True)
        given, fitted = list(X.columns), getattr(model, "columns_", None)
        if fitted is not None and given != fitted:
            raise ValueError(f"X has the columns {given}; fitted were {fitted}")
        X = _named(X)
    else:
        X = validate_data(model, X, reset=False, **_array_checks(model.schema))
    return model.schema_.encode(X)


def _named(X: pd.DataFrame) -> pd.DataFrame:
    """Columns numbered rather than named get the names that columns of an array have."""
    if any(isinstance(name, str) for name in X.columns):
        return X
    return X.set_axis([f"x{f}" for f in range(X.shape[1])], axis=1)
