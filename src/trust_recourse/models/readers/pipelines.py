"""Pipelines of scikit-learn around a model that can be read, in people's own columns.

The model at the end is read as one of its own columns. A split on one of these is then a split on
the person's feature that the column is made of: its edge is the last value that the steps before
still send left, so that what a pipeline says of a person's values is said to the last bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io.arrays import Floats
from trust_recourse.io.wording import some
from trust_recourse.models.readers.columns import ModelColumns, UnreadableError, order_of
from trust_recourse.models.readers.lifting import Lifted, PulledTerms, added_up
from trust_recourse.models.readers.steps import People, Stage, first_of, walked
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.classes import ClassSums
from trust_recourse.models.sums.ensemble import Calibration, SumModel, listed
from trust_recourse.schema import Feature, Schema

IN_TYPE_OF_TABLE = True  # float32 rows are scaled in float32
NAMES = ("CalibratedClassifierCV", "FrozenEstimator", "Pipeline")
TURNED = (
    "{}: it turns the model round, or is none: what the model finds likelier it makes less likely; "
    "calibrate the model on more rows, or learn a better one"
)


class Opened(NamedTuple):
    """A model, the steps before it, and the calibrator after it with what that is given."""

    model: Any
    steps: tuple[tuple[str, Any], ...] = ()
    calibrator: Any = None
    raw: bool = False


def opened(model: Any) -> Opened:
    """The model in the middle of pipelines, frozen ones and calibrators."""
    name = type(model).__name__
    if name == "FrozenEstimator":
        return opened(model.estimator)
    if name == "Pipeline":
        *steps, (_, last) = model.steps
        kept = tuple((each, step) for each, step in steps if step not in (None, "passthrough"))
        inner = opened(last)
        return inner._replace(steps=(*kept, *inner.steps))
    if name != "CalibratedClassifierCV":
        return Opened(model)
    if len(model.calibrated_classifiers_) != 1:
        raise UnreadableError(
            f"{name}: it has {len(model.calibrated_classifiers_)} models, each with a calibrator, "
            "and a mean of these is no sum of trees; learn it with ensemble=False"
        )
    (one,) = model.calibrated_classifiers_
    inner = opened(one.estimator)
    if inner.calibrator is not None or len(one.calibrators) != 1:
        raise UnreadableError(f"{name}: only one calibrator of two classes can be read")
    raw = hasattr(one.estimator, "decision_function")
    return inner._replace(calibrator=one.calibrators[0], raw=raw)


def read(
    model: Any, schema: Schema
) -> tuple[SumModel | Additive | ClassSums, ModelColumns | People | None]:
    """The same model as a sum of trees or lines, and what it is given of rows."""
    from trust_recourse.models.readers.library import reading

    inside = opened(model)
    if not inside.steps:
        found, library = reading(inside.model, schema)
        return _calibrated(found, inside), library.columns
    people, stage = _staged(inside, schema)
    lists = stage.lists()
    given = stage.ask({0: np.array([first_of(schema[0])], object)})
    # where zeros are left out, XGBoost takes them for missing
    zeros = type(inside.model).__module__.startswith("xgboost") and hasattr(given, "toarray")
    inner = _inner(stage, given, lists, zeros)
    own, _ = reading(inside.model, inner)
    if isinstance(own, ClassSums):
        models = tuple(_lifted(each, schema, stage, lists, inner, zeros) for each in own.models)
        return _calibrated(replace(own, models=models), inside), people
    return _calibrated(_lifted(own, schema, stage, lists, inner, zeros), inside), people


def _lifted(
    own: SumModel | Additive,
    schema: Schema,
    stage: Stage,
    lists: Any,
    inner: Schema,
    zeros: bool,
) -> SumModel | Additive:
    """The same sum in people's own columns."""
    if isinstance(own, Additive):
        lines = added_up(stage, lists, inner, PulledTerms(own.grid.edges, own.points, own.slopes))
        return Additive(
            schema, lines.edges, lines.points, slopes=lines.slopes, base=own.base,
            classes=own.classes_,
        )  # fmt: skip
    return replace(own, schema_=schema, trees=Lifted(stage, lists, own, zeros).trees)


def _calibrated(
    found: SumModel | Additive | ClassSums, inside: Opened
) -> SumModel | Additive | ClassSums:
    """The sum with its calibrator after the link; of two sums apart, that of the second class."""
    if (calibrator := inside.calibrator) is None:
        return found
    name = type(calibrator).__name__
    if isinstance(found, ClassSums):
        raise UnreadableError(f"{name}: calibrators of two classes alone are read")
    if isinstance(found, Additive):
        return _scaled(found, inside)
    kind = np.dtype(found.arithmetic)
    if name == "_SigmoidCalibration":
        kind = (calibrator.a_ * np.zeros(1, kind) + calibrator.b_).dtype
        x, y = (), (float(calibrator.a_), float(calibrator.b_))
    elif name == "IsotonicRegression":
        kind = calibrator.X_thresholds_.dtype
        x, y = calibrator.X_thresholds_.tolist(), calibrator.y_thresholds_.tolist()
    else:
        raise UnreadableError(f"{name}: of calibrators, sigmoid and isotonic ones are read")
    after = Calibration(inside.raw, str(kind), tuple(x), tuple(y))
    if not after.sound:
        raise UnreadableError(TURNED.format(name))
    trees = tuple(replace(tree, value=tree.value[:, -1:]) for tree in found.trees)
    return replace(found, trees=trees, link=found.link._replace(after=after))


def _scaled(found: Additive, inside: Opened) -> Additive:
    """Points whose sum a sigmoid calibrator takes: σ(−(a · sum + b)) is again one of points."""
    calibrator, name = inside.calibrator, type(inside.calibrator).__name__
    if name != "_SigmoidCalibration" or not inside.raw:
        raise UnreadableError(
            f"{name} after a {type(inside.model).__name__}: of calibrators, sigmoid ones are read "
            "there; isotonic ones are after trees"
        )
    by = -float(calibrator.a_)
    if not by > 0.0:
        raise UnreadableError(TURNED.format(name))
    pairs = [pair._replace(table=by * pair.table) for pair in found.pairs]
    return Additive(
        found.schema_, found.grid.edges, [by * points for points in found.points],
        slopes=[by * each for each in found.slopes], pairs=pairs,
        base=by * found.base - float(calibrator.b_), classes=found.classes_,
    )  # fmt: skip


def predict_proba(model: Any, X: Any) -> Floats:
    """What the pipeline says of rows."""
    names = getattr(model, "feature_names_in_", None)
    if isinstance(X, pd.DataFrame) and names is not None:
        X = X[[name for name in names if name in X.columns]]
    with warnings.catch_warnings():  # such as of unknown categories, which are told as nothing
        warnings.simplefilter("ignore")
        return np.asarray(_alone(model).predict_proba(X)).astype(float)


def _alone(model: Any) -> Any:
    """The same, with the trees of a forest one after another."""
    found, name = copy(model), type(model).__name__
    if name == "Pipeline":
        *steps, (label, last) = model.steps
        found.steps = [*steps, (label, _alone(last))]
    elif name == "FrozenEstimator":
        found = type(model)(_alone(model.estimator))
    elif name == "CalibratedClassifierCV":
        found.calibrated_classifiers_ = [copy(one) for one in model.calibrated_classifiers_]
        for one in found.calibrated_classifiers_:
            one.estimator = _alone(one.estimator)
    elif "Forest" in name or "ExtraTrees" in name:
        found.n_jobs = 1
    return found


def _staged(inside: Opened, schema: Schema) -> tuple[People, Stage]:
    """The columns that the model at the end is given."""
    first = inside.steps[0][1]
    told = getattr(first, "feature_names_in_", None)
    names = None if told is None else list(told)
    if names is None:
        order_of(schema, None, first.n_features_in_)
    elif strange := [name for name in schema.names if name not in names]:
        raise UnreadableError(
            f"the schema alone has the columns {some(strange)}; the pipeline has {some(names)}: "
            "edit the schema"
        )
    known = list(schema.names) if names is None else names
    order = tuple(schema.position(name) if name in schema else -1 for name in known)
    people = People(schema, names, order)
    while True:
        stage = Stage.first(people)
        for name, step in inside.steps:
            stage = walked(stage, name, step)
        if stage.nones == people.nones:
            return people, stage
        people = replace(people, nones=stage.nones)  # blanks of these were None where it learnt


# ---------------------------------------------------------------- the model's own columns


def _inner(stage: Stage, given: Any, lists: Sequence[Any], blanks: bool) -> Schema:
    """A schema of the model's own columns: numbers, or lists of what becomes of listed values."""
    if given.shape[1] != len(stage.columns):
        raise UnreadableError(
            f"the steps give {given.shape[1]} columns, but as read {len(stage.columns)}"
        )
    many = range(len(stage.columns))
    names = [str(c) for c in getattr(given, "columns", (f"column {j}" for j in many))]
    return Schema(
        tuple(
            _feature(name, listed(stage.schema[column.feature]), seen, blanks)
            for name, column, seen in zip(names, stage.columns, lists, strict=True)
        )
    )


def _feature(name: str, is_listed: bool, seen: Any, blanks: bool) -> Feature:
    blank = pd.isna(seen)
    missing = (None,) * bool(blanks or blank.any())
    if not is_listed or blank.all():
        return Feature(name, missing=missing)
    known = seen[~blank].tolist()
    kind: Any = str if any(isinstance(value, str) for value in known) else float
    return Feature(name, "category", values=tuple(sorted({*map(kind, known)})), missing=missing)
