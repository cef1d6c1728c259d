"""What the checker reads of a fitted machine, computed anew from the definitions.

Notation: C clauses, j; π the inclusion probabilities; F_jf = Π (1 − π) over the literals of feature
f that are false at a value; E_j = Π (1 − π) over all literals; q_j = Π_f F_jf − E_j the probability
that a clause fires; v the vote; M = E[G(v)]. The vote and the link G are turned towards the wanted
class, so that M rises with the clauses that are `up` and falls with the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.certificate.record import CertificateError
from trust_recourse.question import Floats, Ints
from trust_recourse.schema import Feature

Bools = NDArray[np.bool_]
Map = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Machine:
    """The machine, turned towards the wanted class."""

    up: Bools  # (C,) whether a clause votes for the wanted class
    empty: Floats  # (C,) E
    link: Floats  # (C + 1,) G at every vote, ascending
    calibrated: Map  # increasing, from raw confidence in the wanted class
    tables: tuple[Floats, ...]  # per feature (cells, C): F

    @classmethod
    def read(cls, model: Any, wanted: int) -> Machine:
        """The machine of a fitted model, for the class at this position."""
        if not hasattr(model, "inclusion_"):
            kind = type(model).__name__
            raise CertificateError(f"the checker reads Tsetlin machines alone; this is {kind}")
        link = np.asarray(model.link_values_)
        if len(link) != len(model.inclusion_) + 1 or (np.diff(link) < 0).any():
            raise CertificateError("the model's link is not an increasing map of the vote")
        up = model.polarity_ > 0
        empty = np.prod(1.0 - model.inclusion_, axis=1)
        calibrated, tables = _calibration(model.calibrator_), _factor_tables(model)
        machine = cls(up, empty, link, calibrated, tables)
        return machine if wanted == 1 else machine.turned()

    def turned(self) -> Machine:
        """The same machine, turned towards the other class."""
        calibrated = self.calibrated
        return replace(
            self,
            up=~self.up,
            link=1.0 - self.link[::-1],
            calibrated=lambda raw: _other(calibrated(1.0 - raw)),
        )

    def mean(self, q: Floats) -> Floats:
        """M = E[G(v)] of clauses that fire with probabilities q, (n, C)."""
        law = self.start(len(q))
        for j, up in enumerate(self.up.tolist()):
            law = moved(law, q[:, j], up)
        return np.asarray(law @ self.link)

    def start(self, n: int) -> Floats:
        """The law of the vote before any clause: certainly 0; (n, C + 1)."""
        law = np.zeros((n, len(self.link)))
        law[:, (~self.up).sum()] = 1.0
        return law

    def least_raw(self, confidence: float) -> float:
        """The least raw confidence that is calibrated to this one; infinite if none is."""

        def enough(raw: float) -> bool:
            return bool(self.calibrated(np.array(raw)) >= confidence)

        below, above = 0.0, 1.0
        if enough(below):
            return below
        if not enough(above):
            return math.inf
        while below < (middle := (below + above) / 2) < above:
            below, above = (below, middle) if enough(middle) else (middle, above)
        return above


def _other(confidence: Floats) -> Floats:
    """The other class's confidence; at a tie it is just below ½, as a tie is class 1."""
    return np.where(confidence == 0.5, math.nextafter(0.5, 0.0), 1.0 - confidence)


def moved(law: Floats, p: Floats, up: bool) -> Floats:
    """A law after a clause that with probability p moves the vote by one, up or down."""
    after = law * (1.0 - p[:, None])
    if up:
        after[:, 1:] += p[:, None] * law[:, :-1]
    else:
        after[:, :-1] += p[:, None] * law[:, 1:]
    return after


def cells_of(feature: Feature, thresholds: Floats, codes: Floats) -> Ints:
    """The cell of each code: thresholds below it, or the category; missing comes last."""
    if feature.kind == "category":
        found, last = np.nan_to_num(codes).astype(np.int64), len(feature.values)
    else:
        found, last = (codes[:, None] > thresholds).sum(axis=1), len(thresholds) + 1
    return np.where(np.isnan(codes), last, found)


def _calibration(calibrator: Any) -> Map:
    """The calibrator's map, written out again, once it is known to be increasing."""
    if calibrator is None:
        return lambda raw: raw
    x, y = calibrator.x, calibrator.y
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise CertificateError("the model's calibration has numbers that are not finite")
    if calibrator.method == "isotonic" and (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all():
        return lambda raw: np.asarray(np.interp(raw, x, y))
    if calibrator.method == "sigmoid" and len(x) == 1 and x[0] >= 0:
        return lambda raw: _sigmoid(x[0] * raw + y[0])
    raise CertificateError(
        f"the model's calibration, {calibrator.method!r}, is not an increasing map known here"
    )


def _sigmoid(at: Floats) -> Floats:
    with np.errstate(over="ignore"):  # far below 0 it is 0
        return np.asarray(1.0 / (1.0 + np.exp(-at)))


def _factor_tables(model: Any) -> tuple[Floats, ...]:
    """F of each feature, cell by cell: Π (1 − π) over its literals that are false there."""
    tables, at, o = [], 0, model.inclusion_.shape[1] // 2
    for feature, thresholds in zip(model.schema_, model.thresholds_, strict=True):
        said, denied = _truth(feature, thresholds)
        end = at + said.shape[1]
        left_out = 1.0 - model.inclusion_[:, [*range(at, end), *range(o + at, o + end)]]
        truth = np.concatenate([said, denied], axis=1)
        tables.append(np.array([np.where(row, 1.0, left_out).prod(axis=1) for row in truth]))
        at = end
    if at != o:
        raise CertificateError(f"the model has {o} literals, its thresholds make {at}")
    return tuple(tables)


def _truth(feature: Feature, thresholds: Floats) -> tuple[Bools, Bools]:
    """Which literals hold in each cell, and which of their negations; (cells, literals) both."""
    if feature.kind == "category":
        said = np.eye(len(feature.values), dtype=bool)
    else:
        said = np.arange(len(thresholds) + 1)[:, None] <= np.arange(len(thresholds))
    denied = ~said
    if feature.missing:  # a missing value meets no condition but that of being missing
        missing = np.arange(len(said) + 1) == len(said)
        nowhere = np.zeros((1, said.shape[1]), dtype=bool)
        said = np.column_stack([np.concatenate([said, nowhere]), missing])
        denied = np.column_stack([np.concatenate([denied, nowhere]), ~missing])
    return said, denied
