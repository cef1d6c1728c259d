"""What is asked of a letter: one value, the same on the command line, over REST and on the page.

It imports nothing that takes time, so that a command can teach what may be asked at once.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trust_recourse.io.fields import setting

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result
    from trust_recourse.ledger import Promise
    from trust_recourse.report.letter import Letter
    from trust_recourse.report.letter.institution import Institution

ProfileName = Literal["plain", "us", "eu"]
Method = Literal["nearest-yes", "just-passed", "all-applicants"]  # how reasons are found
SHORT = 300  # letters of a name, a contact, an id


@dataclass(frozen=True, kw_only=True)
class LetterRequest:
    """By which profile and in which language a letter is written, and what people say in it."""

    organisation: str | None = setting(None, "Who writes the letter.", longest=SHORT)
    contact: str | None = setting(None, "Whom to ask: a name, a number, an address.", longest=SHORT)
    valid_until: datetime.date | str | None = setting(
        None, "The last day on which the offer holds.", example="2027-01-31"
    )
    person: str = setting("", "To whom it is written.", called="name", line="person", longest=SHORT)
    decision: str | None = setting(
        None, "What was decided on; “your application”, if left out.", longest=SHORT
    )
    profile: ProfileName = setting(
        "plain", "The law that it answers to: none, that of the US, or of the EU."
    )
    fields: Mapping[str, Any] = setting(
        {}, "What the profile needs beside, or in place of, the institution's own facts."
    )
    late: bool = setting(False, "Write a notice of the profile us after its 30 days, too.")
    reasons: Method | None = setting(
        None, "How reasons are found: just-passed if there are other applicants, else nearest-yes."
    )
    language: str = setting(
        "en", "en, de, or one of your own catalogues.", sample="CODE", longest=40
    )
    dated: datetime.date | str | None = setting(
        None, "The day of the letter; today if left out.", sample="DAY"
    )
    promise: str = setting(
        "", "The id of a promise of one of these options.", sample="ID", longest=SHORT
    )
    protected_reviewed: tuple[str, ...] = setting(
        (), "A protected feature, by name or label, whose part in this decision was reviewed; none "
        "is among the reasons without.", sample="NAME",
    )  # fmt: skip
    reviewed_by: str = setting(
        "", "Who has reviewed that; the ledger keeps the name, the letter does not.", longest=SHORT
    )

    def written(
        self,
        by: Institution,
        result: Result,
        *,
        promise: Promise | None = None,
        time_limit: float | None = 2.0,
    ) -> Letter:
        """Write the letter; with a promise, of what that promises (`ledger.letters` checks it)."""
        own = {
            "organisation": self.organisation, "contact": self.contact,
            "valid_until": self.valid_until, "person": self.person, "decision": self.decision,
            "late": self.late,
        }  # fmt: skip
        given = {**self.fields, **{name: said for name, said in own.items() if said}}
        return by.letter(
            result, self.profile, given, promise=promise or self.promise, reasons=self.reasons,
            language=self.language, dated=self.dated, protected_reviewed=self.protected_reviewed,
            reviewed_by=self.reviewed_by, time_limit=time_limit,
        )  # fmt: skip
