"""What people read: the model report, the letter to a person, the evidence report.

`content` is what a document says, as values; its words and its forms stand in `templates/`, and PDF
is made in `pdf` alone.
`trust_recourse.letter` and `trust_recourse.evidence` are the functions. The names below load on
first use: an answer needs none of the models that a report is made with.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.report.model.calibration_check import CalibrationCheck as CalibrationCheck
    from trust_recourse.report.model.calibration_check import check_calibration as check_calibration
    from trust_recourse.report.model.calibration_check import (
        expected_calibration_error as expected_calibration_error,
    )
    from trust_recourse.report.model.calibration_check import reliability_curve as reliability_curve
    from trust_recourse.report.model.data_checks import Suspicion as Suspicion
    from trust_recourse.report.model.data_checks import check_table as check_table
    from trust_recourse.report.model.model_report import ModelReport as ModelReport
    from trust_recourse.report.model.model_report import holdout_report as holdout_report
    from trust_recourse.report.model.model_report import model_report as model_report

_NAMES = {
    "calibration_check": (
        "CalibrationCheck", "check_calibration", "expected_calibration_error", "reliability_curve",
    ),
    "data_checks": ("Suspicion", "check_table"),
    "model_report": ("ModelReport", "holdout_report", "model_report"),
}  # fmt: skip
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.model.{_HOMES[name]}"), name)
