"""The main reasons of a refusal before there is a letter, as a plain letter would write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.answers.result import Result
from trust_recourse.question import Status, Target
from trust_recourse.report.content import ListBlock, blocks
from trust_recourse.report.display_names import titled
from trust_recourse.report.language import ENGLISH
from trust_recourse.report.letter.facts import letter_facts
from trust_recourse.report.letter.phrasing import cut
from trust_recourse.report.letter.profiles import Profile
from trust_recourse.report.letter.reason_codes import ReasonCodes
from trust_recourse.report.letter.shortfall import method_of
from trust_recourse.report.protected import guarded

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse.answers.recourse import Recourse


class Refusal(NamedTuple):
    """With how many applicants a person is compared, and the reasons, the weightiest first.

    A reason is the letter's sentence, or None where it names what is protected: nobody has reviewed
    its part yet.
    """

    rows: int
    reasons: tuple[str | None, ...]


def refusal(
    recourse: Recourse,
    person: pd.Series[Any],
    decision: Target,
    reference: Any,
    reason_codes: Any = None,
) -> Refusal:
    """The reasons for which a model refuses somebody; no change is looked for."""
    now = recourse.confidence(person)
    result = Result(recourse, person, now, (), {decision: Status.NOT_FOUND})
    shown, schema = titled(result, lambda each: cut(ENGLISH.label(each))), recourse.schema
    codes = None if reason_codes is None else ReasonCodes.read(reason_codes, schema)
    told = letter_facts(
        shown, ENGLISH, 0.0, method=method_of(None, reference), reference=reference, codes=codes,
        guarded=guarded(schema, shown.recourse.schema, Profile().guards), seek=False,
    )  # fmt: skip
    found = blocks(Profile.template, "reasons", told=told, words=told.words, cut=cut)
    sentences = [item for each in found if isinstance(each, ListBlock) for item in each.items]
    pairs = zip(told.why.reasons, sentences, strict=True)
    return Refusal(
        0 if told.why.shortfall is None else told.why.shortfall.rows,
        tuple(None if told.why.is_protected(reason) else words for reason, words in pairs),
    )
