"""Why the model refused: the main reasons, as the letter would write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.answers.explain import explainable
from trust_recourse.report.letter.write import Refusal, refusal
from trust_recourse.web.page.cancellation import Latest
from trust_recourse.web.page.widgets import heading, note, status_line

if TYPE_CHECKING:
    from trust_recourse.web.page.session import Session

ALONE = "The main reasons need other applicants to compare with: start the server with --reference."
NONE = "In none of their values does this person fall short of those they are compared with."
PROTECTED = "A protected feature. It is named once its part is reviewed, under Letter and promise."


class Reasons:
    """Below a refusal: in which values the person falls short, beside other applicants."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.latest = Latest(*status_line("Looking for the main reasons…"))
        self.place = ui.element("div").classes("why answer")
        self.place.props["aria-live"] = "polite"
        session.on(self._ask, "person", "decision")
        self._ask()

    def _ask(self) -> None:
        self.latest.stop()
        self.place.clear()
        if not self.session.refused or not explainable(self.session.state.recourse.model):
            return
        if self.session.state.institution.reference is None:
            with self.place:
                note(ALONE)
        else:
            self.latest.ask(self._work)

    async def _work(self) -> None:
        session, question = self.session, self.session.question
        assert question is not None
        recourse, decision, house = session.recourse, session.decision, session.state.institution
        found = await session.state.work(
            lambda: refusal(
                recourse, question.person, decision, house.reference, house.reason_codes
            )
        )
        with self.place:
            self._show(found)

    def _show(self, found: Refusal) -> None:
        heading("The main reasons", 3)
        note(compared(found))
        with ui.element("ol"):
            for sentence in found.reasons:
                with ui.element("li"):
                    ui.label(PROTECTED if sentence is None else sentence)


def compared(found: Refusal) -> str:
    """With whom a person is compared, and what the reasons are."""
    if not found.reasons:
        return NONE
    who = f"{found.rows:,} applicants" if found.rows > 1 else "applicant"
    return (
        f"Compared with the {who} whom the model accepts with the least to spare, this person "
        "falls short most in these values, the weightiest first."
    )
