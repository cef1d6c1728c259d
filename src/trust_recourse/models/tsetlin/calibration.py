"""Calibration: one increasing map on top of the machine's raw M(x).

Because the map is increasing, a target on the calibrated scale is an interval on the raw one, and
everything that is proved about raw confidence holds for calibrated confidence too.

Or a temperature, of two classes or more: what all log-odds of a logistic link are divided by. Then
its weights are, and there is nothing on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import clone

from trust_recourse.io.arrays import Floats
from trust_recourse.io.frames import as_pandas
from trust_recourse.models.floats import first_float, last_float_before

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.machines import TsetlinClassifier

Method = Literal["isotonic", "sigmoid"]
Setting = Method | Literal["temperature"]

CALIBRATION_FOLDS = 5
HOTTEST = 20.0  # and its inverse the coldest


def temperature(scores: Floats, y: NDArray[Any]) -> float:
    """That of the least log-loss, of scores (n, classes) of rows the machine has not seen.

    n rows never show that a chance is 0 or 1: each counts a little as one of any class.

    >>> rows = np.array([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    >>> temperature(rows, np.array([0, 0, 1])) > 1.0
    True
    """
    n, classes = scores.shape
    truth = (n * np.eye(classes)[y] + 1.0 / classes) / (n + 1.0)

    def loss(cold: float) -> float:
        return -float((truth * log_softmax(scores * math.exp(cold), axis=1)).mean())

    ends = -math.log(HOTTEST), math.log(HOTTEST)
    from scipy.optimize import minimize_scalar  # loads much

    return math.exp(-float(minimize_scalar(loss, bounds=ends, method="bounded").x))


@dataclass(frozen=True, eq=False)
class Calibrator:
    """An increasing map of [0, 1] into [0, 1].

    isotonic: straight lines between the points (x, y); sigmoid: 1 / (1 + exp(−(x[0]·m + y[0]))).

    >>> c = Calibrator("isotonic", np.array([0.0, 1.0]), np.array([0.0, 0.5]))
    >>> c(np.array([0.0, 0.5, 1.0]))
    array([0.  , 0.25, 0.5 ])
    >>> c.least_raw(0.25), c.least_raw(0.75)
    (0.5, None)
    """

    method: Method
    x: Floats
    y: Floats

    @classmethod
    def fit(cls, method: Method, raw: Floats, y: NDArray[Any]) -> Calibrator:
        """Fit on raw confidences of rows the machine has not seen, and their classes, 0 or 1."""
        if method == "isotonic":
            from sklearn.isotonic import IsotonicRegression

            # n rows never show that a chance is 0 or 1: keep as far from both as one row more
            least = 1.0 / (len(y) + 2.0)
            iso = IsotonicRegression(y_min=least, y_max=1.0 - least, increasing=True).fit(raw, y)
            return cls(method, iso.X_thresholds_.astype(float), iso.y_thresholds_.astype(float))
        from sklearn.linear_model import LogisticRegression

        line = LogisticRegression(C=1e4).fit(raw[:, None], y)
        slope, offset = float(line.coef_[0, 0]), float(line.intercept_[0])
        if slope <= 0:  # a machine no better than chance: say the base rate everywhere
            rate = float(np.clip(np.mean(y), 1e-6, 1 - 1e-6))
            slope, offset = 0.0, float(np.log(rate / (1 - rate)))
        return cls(method, np.array([slope]), np.array([offset]))

    def __call__(self, raw: Floats) -> Floats:
        """Calibrated confidence."""
        if self.method == "isotonic":
            return np.asarray(np.interp(raw, self.x, self.y))
        with np.errstate(over="ignore"):  # 1 / ∞ is the 0 that is meant
            return np.asarray(1.0 / (1.0 + np.exp(-(self.x[0] * raw + self.y[0]))))

    def least_raw(self, target: float) -> float | None:
        """The least raw confidence whose calibrated value is at least the target; None if none."""
        return first_float(lambda m: self(m) >= target)

    def greatest_raw(self, target: float) -> float | None:
        """The greatest raw confidence whose calibrated value is at most the target."""
        found = last_float_before(lambda m: self(m) > target)
        return None if math.isinf(found) else found


def calibrate(
    model: TsetlinClassifier, X: Any, y: Any, target: NDArray[Any], rng: np.random.Generator
) -> tuple[Calibrator | None, float]:
    """The calibrator of a machine's settings and the temperature, by rows held out of learning.

    There is one of them at most: without a calibrator it is None, without a temperature 1.
    """
    method = model.calibration
    if method is None:
        return None, 1.0
    scores = np.zeros((len(target), len(model.classes_)))
    for held, machine, rows in _folds(model, X, y, target, rng):
        if method == "temperature":
            found = machine.totals(machine.schema_.encode(rows))
        else:
            found = machine.raw_confidence(rows)[:, None]
        scores[held, -found.shape[1] :] = found
    if method == "temperature":
        return None, temperature(scores, np.asarray(target, np.int64))
    return Calibrator.fit(method, scores[:, -1].copy(), target), 1.0


def _folds(
    model: TsetlinClassifier, X: Any, y: Any, target: NDArray[Any], rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.intp], TsetlinClassifier, Any]]:
    """Rows held out of learning, a machine that learnt from all others, and their values."""
    from sklearn.model_selection import StratifiedKFold  # loads much

    folds = min(CALIBRATION_FOLDS, int(np.bincount(target, minlength=2).min()))
    if folds < 2:
        raise ValueError(
            f"calibration={model.calibration!r} needs at least 2 rows of each class to hold "
            f"some out, given {folds}; set calibration=None"
        )
    X = as_pandas(X)
    rows = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    labels = np.asarray(y)
    split = StratifiedKFold(folds, shuffle=True, random_state=int(rng.integers(2**31)))
    for learnt, held in split.split(np.zeros(len(target)), target):
        machine = clone(model).set_params(
            calibration=None, random_state=int(rng.integers(2**31)), schema=model.schema_
        )
        take = rows.iloc if isinstance(rows, pd.DataFrame) else rows
        machine.fit(take[learnt], labels[learnt])
        yield held, machine, take[held]
