"""A machine as arrays and a JSON header, and back: what goes into a model file.

`restore` believes nothing: each part is checked for type, shape and range before it is used, and
an error names the part.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from trust_recourse.files import Arrays
from trust_recourse.schema import Schema
from trust_recourse.tsetlin.calibration import Calibrator
from trust_recourse.tsetlin.literals import Literals


def content(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Everything but the states, which only learning needs."""
    settings = model.get_params(deep=False)
    settings.pop("schema")
    seed = settings["random_state"]
    settings["random_state"] = int(seed) if isinstance(seed, numbers.Integral) else None
    header = {
        "machine": type(model).__name__,
        "settings": {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()},
        "schema": model.schema_.to_dict(),
        "own_schema": model.schema is not None,
        "named": hasattr(model, "feature_names_in_"),
        "classes": model.classes_.tolist(),
        "classes_dtype": model.classes_.dtype.str,
        "n_iter": model.n_iter_,
        "calibration": None if model.calibrator_ is None else model.calibrator_.method,
    }
    arrays: Arrays = {
        "inclusion": model.inclusion_,
        "thresholds": np.concatenate([np.empty(0), *model.thresholds_]),
        "n_thresholds": np.array([len(t) for t in model.thresholds_], np.int64),
    }
    if model.calibrator_ is not None:
        arrays["calibration_x"] = model.calibrator_.x
        arrays["calibration_y"] = model.calibrator_.y
    return arrays, header


def identity(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """All that prediction depends on and nothing else: how values are read, and the machine."""
    arrays, header = content(model)
    arrays["link"] = model._g
    return arrays, {
        "reads": [[f.name, f.kind, list(f.values), list(f.missing)] for f in model.schema_],
        **{part: header[part] for part in ("classes", "classes_dtype", "calibration")},
    }


def restore(model: Any, arrays: Arrays, header: dict[str, Any]) -> None:
    """Make a machine with the header's settings the one that was saved."""
    _restore_table(model, header)
    model._literals = Literals(model.schema_, _thresholds(arrays, len(model.schema_)))
    model.calibrator_ = _calibrator(arrays, header["calibration"])

    shape = (model.n_clauses, 2 * model._literals.n_literals)
    inclusion = arrays["inclusion"]
    _require(
        inclusion.dtype == np.float64 and inclusion.shape == shape, "inclusion", f"float64 {shape}"
    )
    _require(bool(((inclusion >= 0) & (inclusion <= 1)).all()), "inclusion", "numbers from 0 to 1")

    model.states_ = arrays.get("states")
    if model.states_ is not None:
        like = model._start(0, np.random.default_rng(0))
        expected = (*shape, *like.shape[2:])
        _require(
            model.states_.dtype == like.dtype and model.states_.shape == expected,
            "states",
            f"{like.dtype} {expected}",
        )
        _require(bool(np.isfinite(model.states_).all()), "states", "finite numbers")
        model.states_ = model.states_.copy()  # safetensors hands out read-only memory
    model._conclude(inclusion.copy())


def _restore_table(model: Any, header: dict[str, Any]) -> None:
    """Columns and classes."""
    model.schema_ = Schema.from_dict(header["schema"], source="the model file")
    if header["own_schema"]:
        model.schema = model.schema_
    model.n_features_in_ = len(model.schema_)
    if header["named"]:
        model.feature_names_in_ = np.array(model.schema_.names, dtype=object)
    dtype = np.dtype(header["classes_dtype"])
    _require(dtype.kind in "biufUO" and len(header["classes"]) == 2, "classes", "two plain labels")
    model.classes_ = np.array(header["classes"], dtype=dtype)
    model.n_iter_ = int(header["n_iter"])


def _thresholds(arrays: Arrays, features: int) -> tuple[Any, ...]:
    sizes, flat = arrays["n_thresholds"], arrays["thresholds"]
    _require(
        sizes.shape == (features,) and sizes.min() >= 0 and sizes.sum() == len(flat),
        "n_thresholds",
        "one count per feature, adding up to the thresholds",
    )
    thresholds = tuple(np.split(flat.astype(np.float64), np.cumsum(sizes)[:-1]))
    for t in thresholds:
        _require(bool(np.isfinite(t).all() and (np.diff(t) > 0).all()), "thresholds", "ascending")
    return thresholds


def _calibrator(arrays: Arrays, method: Any) -> Calibrator | None:
    if method is None:
        return None
    x, y = arrays["calibration_x"], arrays["calibration_y"]
    _require(x.shape == y.shape and x.ndim == 1 and len(x) >= 1, "calibration", "equal lengths")
    if method == "sigmoid":
        rising = len(x) == 1 and bool(x[0] >= 0)
    else:
        rising = method == "isotonic" and bool((np.diff(x) >= 0).all() and (np.diff(y) >= 0).all())
    finite = bool(np.isfinite(x).all() and np.isfinite(y).all())
    _require(finite and rising, "calibration", "an increasing map")
    return Calibrator(method, x.copy(), y.copy())


def _require(holds: bool, name: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"array '{name}': expected {expected}")
