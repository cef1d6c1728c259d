"""Trees of scikit-learn: decision trees, forests, gradient boosting and its histogram kind.

All add in doubles, tree by tree. Trees, forests and gradient boosting round what they are given to
float32; forests and trees sum each class's probabilities apart (a forest with n_jobs above 1 in any
order, so that its own last digits vary).
"""

from __future__ import annotations

from copy import copy
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd

from trust_recourse.io.arrays import Floats
from trust_recourse.io.extras import needed
from trust_recourse.io.wording import some
from trust_recourse.models.readers.columns import (
    Chosen,
    ModelColumns,
    Nodes,
    UnreadableError,
    bits,
    by_class,
    last_left,
    rows,
)
from trust_recourse.models.sums.classes import ClassSums, summed
from trust_recourse.models.sums.ensemble import Link, SumModel
from trust_recourse.schema import Schema

_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
_BOOSTED, _HISTOGRAM = "GradientBoostingClassifier", "HistGradientBoostingClassifier"
NAMES = (*_TREES, *_FORESTS, _BOOSTED, _HISTOGRAM)
_TRUSTED = (  # types that models and pipelines are made of, beside those that skops trusts itself
    "catboost.core.CatBoostClassifier",
    "collections.OrderedDict",
    "functools.partial",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "sklearn.utils.validation.check_array",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRFClassifier",
)
_MOST_BYTES = 4 << 30  # of all that a file of skops has packed
_ROOM, _RATIO = 64 << 20, 50  # of it, too: so much, and so many times the file


def opened(data: bytes) -> Any:
    """The model of a file of skops that holds known types alone."""
    with needed("A file of skops", "skops", "trees"):
        from skops import io
    with ZipFile(BytesIO(data)) as packed:
        size = sum(each.file_size for each in packed.infolist())
    most = min(_MOST_BYTES, _ROOM + _RATIO * len(data))
    if size > most:
        raise UnreadableError(f"it unpacks to {size:,} bytes; at most {most:,} are read")
    if strange := sorted(set(io.get_untrusted_types(data=data)) - {*_TRUSTED}):
        raise UnreadableError(
            f"it holds {some(strange)}; expected types of scikit-learn, NumPy, LightGBM, XGBoost "
            "and CatBoost alone"
        )
    return io.loads(data, trusted=list(_TRUSTED))


def read(model: Any, schema: Schema) -> tuple[SumModel | ClassSums, ModelColumns]:
    """The same model as a sum of trees, and what the library sees of rows."""
    if getattr(model, "n_outputs_", 1) != 1:
        raise UnreadableError(f"the model has {model.n_outputs_} outputs; only one can be read")
    classes, name = np.asarray(model.classes_), type(model).__name__
    if len(classes) < 2:
        raise UnreadableError(f"{name}: it knows one class alone, {classes.tolist()[0]!r}")
    if name == _HISTOGRAM:
        return _histogram(model, schema, classes)
    if name == _BOOSTED:
        return _boosted(model, schema, classes)
    estimators = model.estimators_ if name in _FORESTS else [model]
    columns = ModelColumns.of(schema, _names(model), model.n_features_in_, {})
    link = Link(False, len(estimators))
    trees = [columns.tree(_nodes(each.tree_, each.tree_.value[:, 0, :])) for each in estimators]
    each = [trees] if len(classes) == 2 else by_class(trees, len(classes))
    return summed(schema, classes, each, link, softmax=False), columns


def predict_proba(model: Any, X: Any) -> Floats:
    """What the library says of rows, with its trees one after another."""
    alone = copy(model)
    alone.n_jobs = 1
    return np.asarray(alone.predict_proba(rows(X, _names(model))))


def fitted_parts(model: Any) -> list[Any]:
    """What is read of it: of trees all nodes and values."""
    name = type(model).__name__
    known = [model.classes_, getattr(model, "feature_names_in_", None), model.n_features_in_]
    if name == _HISTOGRAM:
        trees = [[each.nodes, each.raw_left_cat_bitsets] for of in model._predictors for each in of]
        return [*known, trees, model._baseline_prediction, model._preprocessor]
    estimators = [model] if name in _TREES else np.ravel(model.estimators_).tolist()
    trees = [each.tree_.__getstate__() for each in estimators]
    return [
        *known,
        trees,
        *(getattr(model, each, None) for each in ("init_", "learning_rate", "loss")),
    ]


def _names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def _nodes(tree: Any, value: Floats) -> Nodes:
    """A split compares in double what was rounded to float32."""
    with np.errstate(over="ignore"):
        near = tree.threshold.astype(np.float32)
    below = np.where(near > tree.threshold, np.nextafter(near, np.float32(-np.inf)), near)
    edge = np.where(np.isfinite(tree.threshold), last_left(below), tree.threshold)
    missing = tree.missing_go_to_left.astype(bool)
    return Nodes(tree.feature, edge, missing, tree.children_left, tree.children_right, value)


def _boosted(model: Any, schema: Schema, classes: Any) -> tuple[SumModel | ClassSums, ModelColumns]:
    start = model.init_
    if not (isinstance(start, str) or type(start).__name__ == "DummyClassifier"):
        raise UnreadableError(
            f"{_BOOSTED}, init={type(start).__name__}: only a constant start can be read"
        )
    if blank := [feature.name for feature in schema if None in feature.missing]:
        raise UnreadableError(
            f"column {blank[0]!r} may be blank in the schema, but {_BOOSTED} takes no blanks"
        )
    columns = ModelColumns.of(schema, _names(model), model.n_features_in_, {})
    rate = model.learning_rate
    trees = [
        [columns.tree(_nodes(each.tree_, rate * each.tree_.value[:, 0, :])) for each in of]
        for of in model.estimators_.T
    ]
    bases = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0].tolist()
    link = Link(True, scale=2.0 if model.loss == "exponential" else 1.0)
    return summed(schema, classes, trees, link, bases), columns


# ---------------------------------------------------------------- histogram gradient boosting


def _histogram(
    model: Any, schema: Schema, classes: Any
) -> tuple[SumModel | ClassSums, ModelColumns]:
    order, categories = np.arange(model.n_features_in_), {}
    if model._preprocessor is not None:  # puts the columns of categories first, as numbers
        order = np.argsort(~model.is_categorical_, kind="stable")
        known = model._preprocessor.named_transformers_["encoder"].categories_
        values = [np.asarray(each, object)[~pd.isna(each)].tolist() for each in known]
        categories = {int(order[at]): each for at, each in enumerate(values)}
    columns = ModelColumns.of(schema, _names(model), model.n_features_in_, categories)
    trees = [
        [columns.tree(_histogram_nodes(predictor, order)) for predictor in of]
        for of in zip(*model._predictors, strict=True)
    ]
    bases = np.ravel(model._baseline_prediction).tolist()
    return summed(schema, classes, trees, Link(True), bases), columns


def _histogram_nodes(predictor: Any, order: Any) -> Nodes:
    nodes, leaf = predictor.nodes, predictor.nodes["is_leaf"].astype(bool)
    chosen = {
        node: Chosen(bits(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]), left=True)
        for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist()
    }
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    return Nodes(
        order[np.where(leaf, 0, nodes["feature_idx"])], nodes["num_threshold"].astype(float),
        nodes["missing_go_to_left"].astype(bool), left, right,
        nodes["value"].astype(float)[:, None], chosen,
    )  # fmt: skip
