"""What people read: the model report, the letter to a person, the evidence report.

`content` is what a document says, as values; its words and its forms stand in `templates/`, and PDF
is made in `pdf` alone.
`trust_recourse.letter` and `trust_recourse.evidence` are the functions.
"""

from trust_recourse.report.model import BASELINE as BASELINE
from trust_recourse.report.model import ModelReport as ModelReport
from trust_recourse.report.model import expected_calibration_error as expected_calibration_error
from trust_recourse.report.model import model_report as model_report
from trust_recourse.report.model import reliability_curve as reliability_curve
