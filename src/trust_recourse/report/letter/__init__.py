"""The letter to a person: `letter` writes it.

`facts` are what it says · `offers` the options that it offers, searched for before it is written ·
`phrasing` how it writes values and confidences · `reasons` of a refusal, by the `shortfall` beside
other applicants · `profiles` what the law of a place asks for · `institution` what all letters of
one share · `reason_codes` its own list · `refusal` the reasons before there is a letter.
"""

from trust_recourse.report.letter.write import Letter as Letter
from trust_recourse.report.letter.write import ProtectedReasonError as ProtectedReasonError
from trust_recourse.report.letter.write import UnsignedReviewError as UnsignedReviewError
from trust_recourse.report.letter.write import letter as letter
