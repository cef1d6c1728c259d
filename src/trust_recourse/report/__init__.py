"""What people read: the model report, the letter to a person, the evidence report.

`content` is what a document says, as values; text and HTML are written there, PDF in `pdf` alone.
`trust_recourse.letter` and `trust_recourse.evidence` are the functions.
"""

from trust_recourse.report.model import BASELINE as BASELINE
from trust_recourse.report.model import ModelReport as ModelReport
from trust_recourse.report.model import expected_calibration_error as expected_calibration_error
from trust_recourse.report.model import model_report as model_report
from trust_recourse.report.model import reliability_curve as reliability_curve
