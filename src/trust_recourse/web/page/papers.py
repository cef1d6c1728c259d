"""What leaves the page: the letter, the dossier, and the promise."""

from __future__ import annotations

import datetime
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.problem import option_name
from trust_recourse.report.dossier import dossier
from trust_recourse.report.letter import letter
from trust_recourse.web.page.latest import Latest
from trust_recourse.web.page.parts import heading, note, press, status_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from trust_recourse import Letter, Result
    from trust_recourse.web.page.visit import Visit

DAYS = 90


class Papers:
    """Fields for what a letter says beside the answer, and buttons that make it."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.why_not = note("")
        with ui.element("div").classes("split"):
            with ui.element("div").classes("stack"):
                self._letter()
            with ui.element("div").classes("stack"):
                self._promise()
        visit.on_person.append(self._show)
        visit.on_question.append(self._gone)
        visit.on_answer.append(self._show)
        self._show()

    # ------------------------------------------------------------ letter and dossier

    def _letter(self) -> None:
        desk = self.visit.desk
        heading("Letter to the person", 3)
        self.person = _text("Name of the person (may be left blank)")
        self.organisation = _text("Who writes", desk.organisation)
        self.contact = _text("Whom to ask", desk.contact)
        self.until = _day("The offer holds until")
        with ui.element("div").classes("line-up"):
            self.buttons = [
                press(text, partial(self._make, write), icon="download", main=main)
                for text, write, main in (
                    ("Letter as PDF", self._letter_pdf, True),
                    ("Letter as HTML", self._letter_html, False),
                    ("Dossier for the risk officer", self._dossier, False),
                )
            ]
        waiting, failed = status_line("Writing…")
        self.writing = Latest(waiting, failed)

    def _make(self, write: Callable[[Result], tuple[bytes, str]]) -> None:
        result = self.visit.result
        if result is not None:
            self.writing.ask(lambda: self._download(write, result))

    async def _download(self, write: Callable[[Result], tuple[bytes, str]], result: Result) -> None:
        content, name = await self.visit.desk.work(lambda: write(result))
        ui.download.content(content, name)

    def _letter_html(self, result: Result) -> tuple[bytes, str]:
        return self._written(result).html().encode(), "letter.html"

    def _letter_pdf(self, result: Result) -> tuple[bytes, str]:
        from trust_recourse.report.pdf import pdf

        return pdf(self._written(result).document), "letter.pdf"

    def _written(self, result: Result) -> Letter:
        return letter(
            result, organisation=self.organisation.value or "", contact=self.contact.value or "",
            valid_until=self.until.value or "", person=self.person.value or "",
        )  # fmt: skip

    def _dossier(self, result: Result) -> tuple[bytes, str]:
        made = dossier(result, organisation=self.organisation.value or "")
        return made.html().encode(), "dossier.html"

    # ------------------------------------------------------------ promise

    def _promise(self) -> None:
        heading("Promise", 3)
        if self.visit.desk.ledger is None:
            note(
                "No ledger is kept here, so no promise can be made. Start the server with "
                "--ledger promises.db to keep one."
            )
            return
        note("What is promised is written to the ledger; a new model is then held to it.")
        self.subject = _text("Id of the person (only its keyed hash is stored)")
        self.option = ui.select({}, label="Option").props("outlined dense")
        self.last_day = _day("Valid until")
        self.issue = press("Issue the promise", self._issued, icon="handshake", main=True)
        waiting, failed = status_line("Writing to the ledger…")
        self.promising = Latest(waiting, failed)
        self.made = ui.element("div").classes("stack")
        self.made.props["role"] = "status"
        for field in (self.subject, self.option, self.last_day):
            field.on_value_change(self._show_promise)

    def _issued(self) -> None:
        result, option = self.visit.result, self.option.value
        if result is not None and option is not None:
            self.issue.set_enabled(False)  # until anything is another: the same is promised once
            self.promising.ask(lambda: self._write(result, int(option)))

    async def _write(self, result: Result, option: int) -> None:
        ledger = self.visit.desk.ledger
        assert ledger is not None
        subject = (self.subject.value or "").strip()
        until = datetime.date.fromisoformat(self.last_day.value or "")
        promise = await self.visit.desk.work(
            lambda: ledger.promise(result, option, subject=subject, valid_until=until)
        )
        self.made.clear()
        with self.made:
            with ui.element("div").classes("verdict"):
                ui.icon("check_circle").classes("yes")
                ui.label(f"Promise {promise.id}").classes("strong promise")
            ui.label(
                f"{promise.words or 'As they are'}, until {promise.valid_until:%Y-%m-%d %H:%M} UTC"
            )

    # ------------------------------------------------------------ what can be done

    def _gone(self) -> None:
        """The answer on the way is another; nothing may be made of the old one."""
        self._enable(False)

    def _show(self) -> None:
        result = self.visit.result
        self._enable(result is not None and not self._freed)
        self.why_not.visible = result is None or self._freed
        self.why_not.text = (
            "Something is free that the rules lock: no letter or promise is made of this."
            if self._freed
            else "Pick a person first."
        )
        if self.visit.desk.ledger is not None:
            many = 0 if result is None else len(result.options)
            names = {at: option_name(at).capitalize() for at in range(many)}
            self.option.set_options(names, value=0 if many else None)
            self._show_promise()

    def _show_promise(self) -> None:
        self.made.clear()
        result = self.visit.result
        can = result is not None and bool(result.options) and not self._freed
        self.issue.set_enabled(can and bool(self.subject.value))

    @property
    def _freed(self) -> bool:
        return self.visit.question is not None and bool(self.visit.question.freed)

    def _enable(self, can: bool) -> None:
        for button in self.buttons:
            button.set_enabled(can)
        if self.visit.desk.ledger is not None and not can:
            self.issue.set_enabled(False)


def _text(label: str, value: str = "") -> ui.input:
    return ui.input(label, value=value).props("outlined dense")


def _day(label: str) -> ui.input:
    last = datetime.date.today() + datetime.timedelta(days=DAYS)
    return ui.input(label, value=last.isoformat()).props("outlined dense type=date stack-label")
