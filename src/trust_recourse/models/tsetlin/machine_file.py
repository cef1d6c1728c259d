"""A fitted machine as arrays and a JSON header, and back: what goes into a model file.

`restored` trusts nothing: each part is checked for type, shape and range before it is used, and an
error names the part.
"""

from __future__ import annotations

import numbers
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Floats
from trust_recourse.models import model_file
from trust_recourse.models.model_file import DECISION, Arrays, Header, decision, labels, require
from trust_recourse.models.tsetlin.calibration import Calibrator
from trust_recourse.models.tsetlin.fitted import FittedMachine
from trust_recourse.models.tsetlin.inputs import check_settings, resting_vote
from trust_recourse.models.tsetlin.learning import banks_of
from trust_recourse.models.tsetlin.links import MOST_WEIGHT, ClauseLink, Logistic, VoteLink
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.schema import Schema

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.machines import TsetlinClassifier

Made = TypeVar("Made", bound="TsetlinClassifier")
HEADER = {
    "machine", "settings", "schema", "own_schema", "columns", "classes", "classes_dtype", "n_iter",
    "calibration",
}  # fmt: skip
SHARED = {"thresholds", "n_thresholds"}  # by all banks
OWN = {"inclusion", "dominance"}  # of each bank, with its number in the name if there are several
WEIGHTS = {"weights", "intercept"}
CALIBRATION = {"calibration_x", "calibration_y"}


def content(model: TsetlinClassifier) -> tuple[Arrays, Header]:
    """Everything but the states, which only learning needs."""
    machine, settings = model.machine_, dict(model.settings_)
    own_schema, seed = settings.pop("schema") is not None, settings["random_state"]
    settings["random_state"] = int(seed) if isinstance(seed, numbers.Integral) else None
    header = {
        "machine": type(model).__name__,
        "settings": {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()},
        "schema": model.schema_.to_dict(),
        "own_schema": own_schema,
        "columns": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "n_iter": model.n_iter_,
        **_about(machine),
        **decision(model),
    }
    return _arrays(machine), header


def states_of(model: TsetlinClassifier) -> Arrays:
    """The states of the automata, of several classes for each bank; nothing once dropped."""
    if model.states_ is None:
        return {}
    several = len(model.machine_.links) > 1
    return _named("states", model.states_ if several else [model.states_])


def fingerprint(machine: FittedMachine) -> str:
    """SHA-256 of all that prediction depends on: how values are read, and the machine."""
    arrays = {name: of for name, of in _arrays(machine).items() if "dominance" not in name}
    if isinstance(machine.links[0], VoteLink):
        arrays["link"] = machine.links[0].g
    reads = [[f.name, f.kind, list(f.values), list(f.missing)] for f in machine.literals.schema]
    return model_file.fingerprint(arrays, {"reads": reads, **_about(machine)})


def _about(machine: FittedMachine) -> Header:
    calibrator = machine.calibrator
    return {
        "classes": machine.classes.tolist(), "classes_dtype": machine.classes.dtype.str,
        "calibration": None if calibrator is None else calibrator.method,
    }  # fmt: skip


def _arrays(machine: FittedMachine) -> Arrays:
    thresholds, banks = machine.literals.thresholds, machine.banks
    links = [link for link in machine.links if isinstance(link, Logistic)]
    arrays: Arrays = {
        "thresholds": np.concatenate([np.empty(0), *thresholds]),
        "n_thresholds": np.array([len(t) for t in thresholds], np.int64),
        **_named("inclusion", [bank.inclusion for bank in banks]),
        **_named("dominance", [bank.dominance for bank in banks]),
        **_named("weights", [link.weights for link in links]),
        **_named("intercept", [np.array([link.intercept]) for link in links]),
    }
    if machine.calibrator is not None:
        arrays |= {"calibration_x": machine.calibrator.x, "calibration_y": machine.calibrator.y}
    return arrays


def _named(name: str, each: Any) -> Arrays:
    """An array by its name; those of several banks by their numbers, too."""
    return {f"{name}.{k}" if len(each) > 1 else name: of for k, of in enumerate(each)}


# ---------------------------------------------------------------- reading


def restored(kind: type[Made], arrays: Arrays, header: Header) -> Made:
    """The estimator of a model file's contents."""
    model = kind(**header["settings"])
    check_settings(model)
    expected = f"just {', '.join(sorted(HEADER))}"
    require(set(header) - DECISION == HEADER, "header", expected)
    _restore_table(model, header)
    several = len(model.classes_) > 2
    require(model.link == "logistic" or not several, "settings", "link='logistic', of several")
    require(header["calibration"] is None or not several, "calibration", "none, of several classes")
    literals = Literals(model.schema_, _thresholds(arrays, len(model.schema_)))
    calibrator = _calibrator(arrays, header["calibration"])
    banks = [_bank(model, each, literals) for each in _by_bank(model, arrays, header)]
    inclusion, links, dominance, states = zip(*banks, strict=True)
    machine = FittedMachine(
        literals, model.classes_, np.concatenate(inclusion), links, np.concatenate(dominance),
        calibrator,
    )  # fmt: skip
    whole = all(each is not None for each in states)
    require(whole or not any(each is not None for each in states), "states", "those of all banks")
    model.states_ = (states if several else states[0]) if whole else None
    model.settings_ = model.get_params(deep=False)
    model.become(machine)
    try:
        model.decide(**{name: header[name] for name in DECISION & header.keys()})
    except ValueError as error:
        require(False, "decision", str(error))
    return model


def _by_bank(model: TsetlinClassifier, arrays: Arrays, header: Header) -> list[Arrays]:
    """The arrays of each bank by their names, once there is nothing else."""
    own = sorted(OWN | (WEIGHTS if model.link == "logistic" else set()))
    many = banks_of(model)
    named = [
        {name: f"{name}.{k}" if many > 1 else name for name in (*own, "states")}
        for k in range(many)
    ]
    expected = SHARED | {each[name] for each in named for name in own}
    expected |= set() if header["calibration"] is None else CALIBRATION
    given = set(arrays) - {each["states"] for each in named}
    require(given == expected, "arrays", f"just {', '.join(sorted(expected))}")
    return [{name: arrays[of] for name, of in each.items() if of in arrays} for each in named]


def _bank(
    model: TsetlinClassifier, arrays: Arrays, literals: Literals
) -> tuple[Floats, ClauseLink, Floats, NDArray[Any] | None]:
    """Inclusion probabilities, link, dominance and states of one bank."""
    clauses = model.n_clauses

    def numbers(name: str, shape: tuple[int, ...], least: float, most: float) -> Floats:
        array = arrays[name]
        sound = array.dtype == np.float64 and array.shape == shape
        within = (array >= least) & (array <= most)
        if name == "dominance":  # unknown without rows of both classes
            within |= np.isnan(array)
        require(sound and within.all(), name, f"float64 {shape}, from {least:g} to {most:g}")
        return array.copy()

    inclusion = numbers("inclusion", (clauses, 2 * literals.n_literals), 0.0, 1.0)
    dominance = numbers("dominance", (clauses,), -1.0, 1.0)
    states = _states(model, arrays["states"], inclusion) if "states" in arrays else None
    link: ClauseLink
    if model.link == "logistic":
        weights = numbers("weights", (clauses,), 0.0, MOST_WEIGHT)
        (intercept,) = numbers("intercept", (1,), -MOST_WEIGHT, MOST_WEIGHT).tolist()
        link = Logistic(weights, intercept)
    else:
        link = VoteLink.named(model.link, clauses, resting_vote(model))
    return inclusion, link, dominance, states


def _states(model: TsetlinClassifier, states: Any, inclusion: Any) -> Any:
    like = model.automata.start(1, 0, np.random.default_rng(0))
    expected = (*inclusion.shape, *like.shape[2:])
    fits = states.dtype == like.dtype and states.shape == expected
    require(fits, "states", f"{like.dtype} {expected}")
    if states.ndim == 3:
        mass = states.sum(axis=2, dtype=np.float64)
        sound = (states >= 0).all() and (np.abs(mass - 1) < 1e-3).all()
    else:
        sound = (states >= 0).all() and (states < 2 * model.n_states).all()
    require(bool(sound), "states", "probabilities that sum to 1, or states from 0 to 2N − 1")
    agrees = np.allclose(model.automata.included(states), inclusion, rtol=0, atol=1e-6)
    require(agrees, "states", "the inclusion probabilities of the array 'inclusion'")
    return states.copy()  # safetensors hands out read-only memory


def _restore_table(model: TsetlinClassifier, header: Header) -> None:
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
