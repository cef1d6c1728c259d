"""The settings of both machines, checked where they are used."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.schema import Schema

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.machines import Machine

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


def resting_vote(model: Machine) -> float:
    """T, or its share of the clauses."""
    return max(T_SHARE * model.n_clauses, 1.0) if model.T is None else float(model.T)


def check_settings(model: Machine) -> None:
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
    share = model.validation_fraction
    if not isinstance(share, numbers.Real) or not 0 <= share < 1:
        raise ValueError(
            f"validation_fraction={share!r}; expected a share of the rows from 0 to below 1"
        )
    if model.schema is not None and not isinstance(model.schema, Schema):
        raise TypeError(f"schema is {type(model.schema).__name__}; expected a Schema or None")
    jobs = getattr(model, "n_jobs", None)
    jobs = 1 if jobs is None else jobs
    if not isinstance(jobs, numbers.Integral) or (jobs < 1 and jobs != -1):
        raise ValueError(f"n_jobs={jobs!r}; expected a number of threads, or -1 for all cores")


def refuse_other_settings(model: Machine) -> None:
    """Learning on needs the machine as it is: its size, its literals, and no calibrator."""
    if model.settings_["calibration"] is not None:
        raise ValueError(
            "this machine was calibrated by fit, which learning on would undo; fit it anew"
        )
    for name in ("n_clauses", "n_states", "thresholds", "binning", "use_protected"):
        now, then = getattr(model, name), model.settings_[name]
        if now != then:
            raise ValueError(f"{name} was {then!r} when fitted and is {now!r} now; fit anew")
