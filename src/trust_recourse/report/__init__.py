"""What people read: the model report, the letter to a person, the evidence report.

`content` is what a document says, as values; its words and its forms stand in `templates/`, and PDF
is made in `pdf` alone.
`trust_recourse.letter` and `trust_recourse.evidence` are the functions.
"""

from trust_recourse.report.baselines import BASELINE as BASELINE
from trust_recourse.report.baselines import BOOSTING as BOOSTING
from trust_recourse.report.calibration import Calibration as Calibration
from trust_recourse.report.calibration import check_calibration as check_calibration
from trust_recourse.report.calibration import (
    expected_calibration_error as expected_calibration_error,
)
from trust_recourse.report.calibration import reliability_curve as reliability_curve
from trust_recourse.report.model import ModelReport as ModelReport
from trust_recourse.report.model import holdout_report as holdout_report
from trust_recourse.report.model import model_report as model_report
from trust_recourse.report.suspicions import Suspicion as Suspicion
from trust_recourse.report.suspicions import check_table as check_table
