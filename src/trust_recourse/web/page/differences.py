"""What differs most between the person at hand and accepted applicants of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.web.page.cancellation import Latest
from trust_recourse.web.page.widgets import grid, heading, note, status_line

if TYPE_CHECKING:
    from trust_recourse.web.page.accepted import Difference
    from trust_recourse.web.page.people_panel import PeopleTable
    from trust_recourse.web.page.session import Session


class Differences:
    """A row for each of the largest differences: the person's value and the usual one."""

    def __init__(self, session: Session, people: PeopleTable) -> None:
        self.session, self.people = session, people
        self.latest = Latest(*status_line("Comparing with accepted applicants…"))
        self.place = ui.element("div").classes("differ answer")
        session.on(self._ask, "person", "decision")

    def _ask(self) -> None:
        self.latest.stop()
        self.place.clear()
        if self.session.question is not None:
            self.latest.ask(self._work)

    async def _work(self) -> None:
        session, question = self.session, self.session.question
        assert question is not None
        decision, schema = session.decision, session.state.recourse.schema

        def compare() -> tuple[list[Difference], int]:
            accepted = self.people.accepted(decision)
            own = schema.action_set(question.person).own
            return accepted.differences(own), len(accepted.codes)

        found, many = await session.state.brief(compare)
        if found:
            with self.place:
                self._show(found, many)

    def _show(self, found: list[Difference], many: int) -> None:
        heading("What differs most from accepted applicants", 3)
        note(
            f"By rank among the {many:,} accepted applicants of this table; usual is their median "
            "or most frequent value."
        )
        rows = [(each.feature.title, each.own, each.usual) for each in found]
        grid(("feature", "this person", "usual"), rows, numbers=1, tight=True)
