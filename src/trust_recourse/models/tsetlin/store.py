"""A machine as arrays and a JSON header, and back: what goes into a model file.

`restore` believes nothing: each part is checked for type, shape and range before it is used, and
an error names the part.
"""

from __future__ import annotations

import numbers
from itertools import pairwise
from typing import Any

import numpy as np

from trust_recourse.models.model_file import DECISION, Arrays, decision, labels, require
from trust_recourse.models.tsetlin.calibration import Calibrator
from trust_recourse.models.tsetlin.links import MOST_WEIGHT, Logistic
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.schema import Schema


def content(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Everything but the states, which only learning needs."""
    settings = {k: v for k, v in model._settings.items() if k != "schema"}  # as it was fitted
    seed = settings["random_state"]
    settings["random_state"] = int(seed) if isinstance(seed, numbers.Integral) else None
    header = {
        "machine": type(model).__name__,
        "settings": {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()},
        "schema": model.schema_.to_dict(),
        "own_schema": model._settings["schema"] is not None,
        "columns": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "classes": model.classes_.tolist(),
        "classes_dtype": model.classes_.dtype.str,
        "n_iter": model.n_iter_,
        "calibration": None if model.calibrator_ is None else model.calibrator_.method,
        **decision(model),
    }
    arrays: Arrays = {
        "thresholds": np.concatenate([np.empty(0), *model.thresholds_]),
        "n_thresholds": np.array([len(t) for t in model.thresholds_], np.int64),
    }
    if model.banks_:
        for k, bank in enumerate(model.banks_):
            arrays |= {f"{name}.{k}": array for name, array in _learnt(bank).items()}
        return arrays, header
    arrays |= _learnt(model)
    if model.calibrator_ is not None:
        arrays["calibration_x"] = model.calibrator_.x
        arrays["calibration_y"] = model.calibrator_.y
    return arrays, header


def _learnt(model: Any) -> Arrays:
    """What a machine of two classes learnt, or one of the banks of another."""
    found: Arrays = {"inclusion": model.inclusion_, "dominance": model.dominance_}
    return found | (model._link.arrays if isinstance(model._link, Logistic) else {})


def identity(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """All that prediction depends on and nothing else: how values are read, and the machine."""
    arrays, header = content(model)
    arrays = {name: array for name, array in arrays.items() if "dominance" not in name}
    return arrays | ({} if model.banks_ else model._link.arrays), {
        "reads": [[f.name, f.kind, list(f.values), list(f.missing)] for f in model.schema_],
        **{part: header[part] for part in ("classes", "classes_dtype", "calibration")},
    }


HEADER = {
    "machine", "settings", "schema", "own_schema", "columns", "classes", "classes_dtype", "n_iter",
    "calibration",
}  # fmt: skip
ARRAYS = {"inclusion", "thresholds", "n_thresholds"}
CALIBRATION = {"calibration_x", "calibration_y"}
WEIGHTS = {"weights", "intercept"}


def restore(model: Any, arrays: Arrays, header: dict[str, Any]) -> None:
    """Make a machine with the header's settings the one that was saved."""
    known = set(header) - DECISION == HEADER
    require(known, "header", f"just {', '.join(sorted(HEADER))}")
    if isinstance(header["classes"], list) and len(header["classes"]) > 2:
        _restore_banks(model, arrays, header)
        return
    model.banks_ = ()
    wanted = ARRAYS | (set() if header["calibration"] is None else CALIBRATION)
    wanted |= WEIGHTS if model.link == "logistic" else set()
    require(
        set(arrays) - {"states", "dominance"} == wanted,
        "arrays",
        f"just {', '.join(sorted(wanted))}",
    )
    _restore_table(model, header)
    model._settings = model.get_params(deep=False)
    model._literals = Literals(model.schema_, _thresholds(arrays, len(model.schema_)))
    model.calibrator_ = _calibrator(arrays, header["calibration"])

    shape = (model.n_clauses, 2 * model._literals.n_literals)
    inclusion = arrays["inclusion"]
    require(
        inclusion.dtype == np.float64 and inclusion.shape == shape, "inclusion", f"float64 {shape}"
    )
    require(bool(((inclusion >= 0) & (inclusion <= 1)).all()), "inclusion", "numbers from 0 to 1")
    model.states_ = _states(model, arrays["states"], inclusion) if "states" in arrays else None
    model.dominance_ = _dominance(arrays, len(inclusion))
    _restore_decision(model, header)
    model._conclude(inclusion.copy(), _weights(arrays, len(inclusion)))


def _restore_banks(model: Any, arrays: Arrays, header: dict[str, Any]) -> None:
    """A machine of several classes: each bank as if it was one of two."""
    require(model.link == "logistic", "settings", "link='logistic', of several classes")
    require(header["calibration"] is None, "calibration", "none, of several classes")
    _restore_table(model, header)
    many = len(model.classes_)
    own: list[Arrays] = [{} for _ in range(many)]
    shared: Arrays = {}
    for name, array in arrays.items():
        part, _, place = name.partition(".")
        if part in ("thresholds", "n_thresholds"):
            require(not place, name, "one for all banks")
            shared[part] = array
        else:
            require(place in map(str, range(many)), name, "one for each bank")
            own[int(place)][part] = array
    require(set(shared) == {"thresholds", "n_thresholds"}, "thresholds", "those of the banks")
    banks = []
    for each in own:
        bank = type(model)(**model.get_params(deep=False))
        two = {"classes": [False, True], "classes_dtype": "|b1"}
        told = {name: value for name, value in header.items() if name not in DECISION}
        restore(bank, each | shared, told | two | {"own_schema": True})
        banks.append(bank)
    model._settings, model.calibrator_ = model.get_params(deep=False), None
    model._join(tuple(banks), None, None)
    _restore_decision(model, header)


def _restore_decision(model: Any, header: dict[str, Any]) -> None:
    given = {name: header[name] for name in DECISION & header.keys()}
    try:
        model.decide(**given)
    except ValueError as error:
        require(False, "decision", str(error))


def _dominance(arrays: Arrays, clauses: int) -> Any:
    """Unknown in a file of format 1, and where one class was not among the rows learnt from."""
    given = arrays.get("dominance", np.full(clauses, np.nan))
    sound = given.shape == (clauses,) and given.dtype == np.float64 and not (abs(given) > 1).any()
    require(bool(sound), "dominance", f"{clauses} numbers from −1 to 1")
    return given.copy()


def _weights(arrays: Arrays, clauses: int) -> Logistic | None:
    if "weights" not in arrays:
        return None
    for name, shape, least in (("weights", (clauses,), 0.0), ("intercept", (1,), -MOST_WEIGHT)):
        given = arrays[name]
        sound = given.shape == shape and given.dtype == np.float64
        sound = sound and bool(((given >= least) & (given <= MOST_WEIGHT)).all())
        require(sound, name, f"float64 {shape}, from {least:g} to {MOST_WEIGHT:g}")
    return Logistic(arrays["weights"].copy(), float(arrays["intercept"][0]))


def _states(model: Any, states: Any, inclusion: Any) -> Any:
    like = model._start(0, np.random.default_rng(0))
    expected = (*inclusion.shape, *like.shape[2:])
    require(
        states.dtype == like.dtype and states.shape == expected,
        "states",
        f"{like.dtype} {expected}",
    )
    if states.ndim == 3:
        mass = states.sum(axis=2, dtype=np.float64)
        sound = (states >= 0).all() and (np.abs(mass - 1) < 1e-3).all()
    else:
        sound = (states >= 0).all() and (states < 2 * model.n_states).all()
    require(bool(sound), "states", "probabilities that sum to 1, or states from 0 to 2N − 1")
    agrees = np.allclose(model._included(states), inclusion, rtol=0, atol=1e-6)
    require(agrees, "states", "the inclusion probabilities of the array 'inclusion'")
    return states.copy()  # safetensors hands out read-only memory


def _restore_table(model: Any, header: dict[str, Any]) -> None:
    """Columns and classes."""
    model.schema_ = Schema.from_dict(header["schema"], source="the model file")
    if header["own_schema"]:
        model.schema = model.schema_
    model.n_features_in_ = len(model.schema_)
    columns = header["columns"]
    if columns is not None:
        require(sorted(columns) == sorted(model.schema_.names), "columns", "the schema's features")
        model.feature_names_in_ = np.array(columns, dtype=object)
    model.classes_ = labels(header["classes"], header["classes_dtype"])
    ascending = all(a < b for a, b in pairwise(model.classes_.tolist()))
    require(ascending, "classes", "plain labels, ascending")
    require(isinstance(header["n_iter"], int) and header["n_iter"] >= 0, "n_iter", "a count")
    model.n_iter_ = header["n_iter"]
    seed = header["settings"].get("random_state")
    require(seed is None or isinstance(seed, int), "random_state", "a whole number or null")


def _thresholds(arrays: Arrays, features: int) -> tuple[Any, ...]:
    sizes, flat = arrays["n_thresholds"], arrays["thresholds"]
    require(
        sizes.shape == (features,) and sizes.min() >= 0 and sizes.sum() == len(flat),
        "n_thresholds",
        "one count per feature, adding up to the thresholds",
    )
    thresholds = tuple(np.split(flat.astype(np.float64), np.cumsum(sizes)[:-1]))
    for t in thresholds:
        require(bool(np.isfinite(t).all() and (np.diff(t) > 0).all()), "thresholds", "ascending")
    return thresholds


def _calibrator(arrays: Arrays, method: Any) -> Calibrator | None:
    if method is None:
        return None
    x, y = arrays["calibration_x"], arrays["calibration_y"]
    require(x.shape == y.shape and x.ndim == 1 and len(x) >= 1, "calibration", "equal lengths")
    require(x.dtype == y.dtype == np.float64, "calibration", "float64")
    if method == "sigmoid":
        rising = len(x) == 1 and bool(x[0] >= 0)
    else:
        rising = method == "isotonic" and bool((np.diff(x) >= 0).all() and (np.diff(y) >= 0).all())
        require(bool(y[0] >= 0 and y[-1] <= 1), "calibration", "values from 0 to 1")
    finite = bool(np.isfinite(x).all() and np.isfinite(y).all())
    require(finite and rising, "calibration", "an increasing map")
    return Calibrator(method, x.copy(), y.copy())
