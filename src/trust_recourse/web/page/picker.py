"""Who is asked about: a search over the people of the table, a page of them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.io.wording import unbroken
from trust_recourse.web.page.accepted import SHOWN
from trust_recourse.web.page.cancellation import Latest
from trust_recourse.web.page.texts import percent
from trust_recourse.web.page.widgets import heading, note, on_a_phone_go_to, press, status_line

if TYPE_CHECKING:
    from trust_recourse.web.page.people_panel import FoundPage, Listed, PeopleTable
    from trust_recourse.web.page.session import Session


class Picker:
    """A search field, a filter, and a page of people, each a button."""

    def __init__(self, session: Session, people: PeopleTable) -> None:
        self.session, self.people, self.page = session, people, 0
        with ui.element("details").classes("who").props("open") as self.fold:
            with ui.element("summary"):
                heading("Who")
            with ui.element("div").classes("stack"):
                self._search_fields()
                self.list = ui.element("ul").classes("people")
                with ui.element("nav").classes("pager") as self.pager:
                    self.pager.props["aria-label"] = "Pages of people"
                    self.back = press(
                        "", self._back, icon="chevron_left", told="Previous page of people"
                    )
                    self.where = ui.label().classes("muted numbers")
                    self.on = press("", self._on, icon="chevron_right", told="Next page of people")
        self.latest = Latest(*status_line("Reading the table…"))
        session.on(self._mark, "person")
        session.on(self._again, "decision")
        self._again()

    def _search_fields(self) -> None:
        self.text = ui.input("Search a name or a value", on_change=self._again)
        self.text.props("outlined dense clearable debounce=150").classes("wide")
        said = "Pick somebody to ask the model about; the refused come first."
        if len(self.people.recourse.schema.names) > SHOWN:
            said += " Each shows the values that differ most from accepted applicants."
        note(said)
        self.refused = ui.switch("Refused only", value=True, on_change=self._again)

    def _again(self) -> None:
        self.page = 0
        self.latest.ask(self._search)

    def _back(self) -> None:
        self.page -= 1
        self.latest.ask(self._search)

    def _on(self) -> None:
        self.page += 1
        self.latest.ask(self._search)

    async def _search(self) -> None:
        text, refused, page = self.text.value or "", bool(self.refused.value), self.page
        decision = self.session.decision
        found = await self.session.state.work(
            lambda: self.people.search(text, refused=refused, page=page, decision=decision)
        )
        self._show(found)

    def _show(self, found: FoundPage) -> None:
        self.page = found.page
        self.list.clear()
        with self.list:
            for each in found.listed:
                self._person(each)
            if not found.listed:
                note(nobody(found))
        people = "person" if found.total == 1 else "people"
        self.where.text = f"{found.page + 1:,} of {found.pages:,} · {found.total:,} {people}"
        self.back.set_enabled(found.page > 0)
        self.on.set_enabled(found.page + 1 < found.pages)
        self._mark()

    def _person(self, each: Listed) -> None:
        word = "refused" if each.refused else "accepted"
        with ui.element("li"):
            button = ui.element("button").classes("person")
            button.props["type"] = "button"
            button.props["data-name"] = each.name
            button.on("click", lambda: self._picked(each))
            with button:
                with ui.element("span").classes("person-head"):
                    ui.label(each.name).classes("strong")
                    ui.label(f"{word} · {percent(each.confidence)}").classes(
                        f"numbers {'no' if each.refused else 'yes'}"
                    )
                ui.label(unbroken(each.values)).classes("muted cut")

    def _picked(self, each: Listed) -> None:
        self.session.meet(each.name, self.people.row(each.at), self.people.id(each.at), at=each.at)
        on_a_phone_go_to(".body", fold=".who")  # the answer is below the list

    def _mark(self) -> None:
        for item in self.list:
            for button in item:
                chosen = button.props.get("data-name") == self.session.name
                button.props["aria-pressed"] = "true" if chosen else "false"
                button.update()


def nobody(found: FoundPage) -> str:
    """Why a page of people is empty."""
    if not found.left_out:
        return "Nobody fits this search."
    fit = "1 fits, and is" if found.left_out == 1 else f"{found.left_out:,} fit, all"
    return f"{fit} accepted: switch off “Refused only” to see them."
