"""Settings, rows and labels as machines take them: checked, and encoded by the schema."""

from __future__ import annotations

import numbers
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
    from trust_recourse.models.tsetlin.machines import TsetlinClassifier

MOST_STATES = 16_000  # per action: rows of a state vector are counted in 16 bits
MOST_CLAUSES = 100_000  # the law of their vote takes time with the square
MOST = 1_000_000  # of s and T: by far more, a vote would not move a confidence at all
T_SHARE = 0.1  # of the clauses: the vote at which learning rests, where none is given
CHOICES: dict[str, tuple[Any, ...]] = {
    "binning": ("values", "rows"),
    "link": ("margin", "vote", "logistic"),
    "use_protected": (False, True),
    "calibration": (None, "isotonic", "sigmoid", "temperature"),
    "na_cells": ("move", "keep"),
}


def resting_vote(model: TsetlinClassifier) -> float:
    """T, or its share of the clauses."""
    return max(T_SHARE * model.n_clauses, 1.0) if model.T is None else float(model.T)


def check_settings(model: TsetlinClassifier) -> None:
    """Refuse settings that no machine can have, naming one."""
    whole = {"n_clauses": 2, "n_states": 1, "epochs": 1}
    for name, least in whole.items():
        value = getattr(model, name)
        if not isinstance(value, numbers.Integral) or value < least:
            raise ValueError(f"{name}={value!r}; expected a whole number of at least {least}")
    if model.n_clauses % 2:
        raise ValueError(
            f"n_clauses={model.n_clauses}; expected an even number, half to vote for each class"
        )
    for name, floor in {"s": 1, "T": 0}.items():
        value = getattr(model, name)
        if name == "T" and value is None:
            continue
        if not isinstance(value, numbers.Real) or not floor < value < np.inf:  # type: ignore[operator]
            raise ValueError(f"{name}={value!r}; expected a finite number above {floor}")
    limits = {"n_clauses": MOST_CLAUSES, "n_states": MOST_STATES, "s": MOST, "T": MOST}
    for name, most in limits.items():
        if (getattr(model, name) or 0) > most:
            raise ValueError(f"{name}={getattr(model, name)!r}; expected at most {most:,}")
    if model.thresholds != "unique" and not (
        isinstance(model.thresholds, numbers.Integral) and int(model.thresholds) >= 1
    ):
        raise ValueError(
            f"thresholds={model.thresholds!r}; expected 'unique' (every training value) or the "
            "most to use per feature, at least 1"
        )
    for name, allowed in CHOICES.items():
        value = getattr(model, name, allowed[0])
        if value not in allowed:
            raise ValueError(f"{name}={value!r}; expected one of {', '.join(map(repr, allowed))}")
    if model.calibration == "temperature" and model.link != "logistic":
        raise ValueError(
            f"calibration='temperature' with link={model.link!r}: it divides log-odds, which "
            "link='logistic' has; of two classes take 'sigmoid' or 'isotonic' with this link"
        )
    share = getattr(model, "validation_fraction", 0.0)
    if not isinstance(share, numbers.Real) or not 0 <= share < 1:  # type: ignore[operator]
        raise ValueError(
            f"validation_fraction={share!r}; expected a share of the rows from 0 to below 1"
        )
    if model.schema is not None and not isinstance(model.schema, Schema):
        raise TypeError(f"schema is {type(model.schema).__name__}; expected a Schema or None")
    jobs = getattr(model, "n_jobs", None)
    jobs = 1 if jobs is None else jobs
    if not isinstance(jobs, numbers.Integral) or (jobs < 1 and jobs != -1):
        raise ValueError(f"n_jobs={jobs!r}; expected a number of threads, or -1 for all cores")


def refuse_other_settings(model: TsetlinClassifier) -> None:
    """Learning on needs the machine as it is: its size, its literals, and no calibrator."""
    if model.settings_["calibration"] is not None:
        raise ValueError(
            "this machine was calibrated by fit, which learning on would undo; fit it anew"
        )
    for name in ("n_clauses", "n_states", "thresholds", "binning", "use_protected"):
        now, then = getattr(model, name), model.settings_[name]
        if now != then:
            raise ValueError(f"{name} was {then!r} when fitted and is {now!r} now; fit anew")


def training_data(
    model: TsetlinClassifier, X: Any, y: Any, classes: Any
) -> tuple[Floats, NDArray[np.int8]]:
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


def known_classes(model: TsetlinClassifier, y: Any) -> NDArray[np.int8]:
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


def codes_of(model: TsetlinClassifier, X: Any) -> Floats:
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
