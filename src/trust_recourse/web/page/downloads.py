"""What leaves the page: the letter, the evidence report, and the promise."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from nicegui import ui

from trust_recourse import Feature, Ledger, Letter, Result
from trust_recourse.io import clock
from trust_recourse.io.wording import unbroken
from trust_recourse.ledger import Entry
from trust_recourse.ledger.letters import checked
from trust_recourse.question import option_name
from trust_recourse.report.evidence import evidence
from trust_recourse.report.language import language_of
from trust_recourse.report.letter import ProtectedReasonError, UnsignedReviewError
from trust_recourse.report.letter.letter_request import LetterRequest
from trust_recourse.report.letter.profiles import LateLetterError, MissingFieldsError
from trust_recourse.report.pdf import pdf
from trust_recourse.web.page.profile import ProfileFields, label
from trust_recourse.web.page.promises_panel import LookUp, outstanding, promise_once
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.widgets import Latest, heading, note, press, status_line, tell, warning

Made = TypeVar("Made")

DAYS = 90
REVIEWER = "Who reviewed it"


class Exports:
    """Fields for what a letter says beside the answer, and buttons that make it."""

    def __init__(self, session: Session) -> None:
        self.session, self.open = session, False
        note(
            "The letter tells the person the decision, the reasons and the options; the evidence "
            "report has the proof and the model’s part, for whoever answers for it."
        )
        self.why_not = ui.label().classes("warning")
        with ui.element("div").classes("split"):
            with ui.element("div").classes("stack"):
                self._letter()
            with ui.element("div").classes("stack"):
                self._promise()
        session.on(self._another, "meeting")
        session.on(self._unreviewed, "person")
        session.on(self._show, "person", "question", "answer")
        session.on(self._say, "gap")
        self._show()

    # ------------------------------------------------------------ letter and evidence report

    def _letter(self) -> None:
        state = self.session.state
        heading("Letter to the person", 3)
        self.profile = ProfileFields(state.institution, self._show_letter)
        self.person = _text("Name of the person", empty="May be left blank.")
        self.organisation = _text("Who writes", state.organisation, "Say who writes.")
        self.contact = _text(
            "Whom to ask", state.contact, "Say whom to ask: a name, a telephone number, an address."
        )
        self.number = _text(
            "Number of the promise",
            empty="Once there is one. The letter is then recorded in the ledger.",
        )
        self.number.visible = state.ledger is not None  # nobody else knows what was promised
        self.until = _day("The offer holds until", state.institution.facts.get("valid_until"))
        self.untold = warning()

        def make(work: Callable[[Result], Awaitable[None]]) -> Callable[[], None]:
            return lambda: self._make(work)

        with ui.element("div").classes("line-up"):
            self.letters = [
                press(text, make(work), icon=icon, main=main)
                for text, work, icon, main in (
                    ("Letter as PDF", partial(self._send, "pdf"), "download", True),
                    ("Letter as HTML", partial(self._send, "html"), "download", False),
                    ("Preview", self._preview, "visibility", False),
                )
            ]
            self.evidence = press(
                "Evidence report for the risk officer", make(self._evidence), icon="download"
            )
        self.writing = Latest(*status_line("Writing…"))
        self.doubts = warning()
        self.recorded = note("")
        self.recorded.props["role"] = "status"
        self.preview = ui.element("iframe").classes("preview")
        self.preview.props["sandbox"] = ""  # nothing in it runs, whatever a value may hold
        self.preview.props["title"] = "Preview of the letter"
        self.review = ui.element("div").classes("stack")
        self.reviewed: dict[str, ui.checkbox] = {}
        self.reviewer: ui.input | None = None
        for field in (self.person, self.organisation, self.contact, self.until, self.number):
            field.on_value_change(self._show_letter)

    def _make(self, work: Callable[[Result], Awaitable[None]]) -> None:
        result = self.session.result
        if result is not None and not self._why_not:
            self._clear()
            self.writing.ask(lambda: work(result))

    async def _made(self, make: Callable[[], Made]) -> Made:
        """What is made, or an error in the words of the page."""
        try:
            return await self.session.state.work(make)
        except ProtectedReasonError as error:
            self._ask_for_review(error.features)
            raise ValueError(f"{error.sentence[:1].upper()}{error.sentence[1:]} here:") from None
        except UnsignedReviewError as error:
            raise ValueError(f"{error.sentence}; fill in “{REVIEWER}”.") from None
        except MissingFieldsError as error:
            self.profile.lack(error.names)
            raise MissingFieldsError(error.profile, tuple(map(label, error.names))) from None
        except LateLetterError as error:
            self.profile.ask_late()
            raise ValueError(f"{error.sentence[:1].upper()}{error.sentence[1:]} above.") from None

    async def _send(self, ending: str, result: Result) -> None:
        """Hand a letter out; one of a promise is kept in the ledger before anybody has it."""

        def make() -> tuple[Letter, bytes]:
            made = self._written(result)
            return made, pdf(made.document) if ending == "pdf" else made.html().encode()

        made, content = await self._made(make)
        tell(self.doubts, " ".join(made.doubts))
        ledger = self.session.state.ledger
        if ledger is not None and made.promise:
            kept, new = await self.session.state.record(lambda: record_once(ledger, made, content))
            when = "Recorded in the ledger" if new else "In the ledger already"
            tell(self.recorded, f"{when}, entry {kept.number}, under promise {made.promise}.")
        ui.download.content(content, file_name(made, ending, self.session.name))

    async def _preview(self, result: Result) -> None:
        """Show what a letter would say, which nobody has yet: nothing is recorded."""
        made = await self._made(lambda: self._written(result))
        tell(self.doubts, " ".join(made.doubts))
        self.preview.props["srcdoc"], self.preview.visible = made.html(), True

    async def _evidence(self, result: Result) -> None:
        def make() -> bytes:
            reference = self.session.state.institution.reference
            made = evidence(result, organisation=_said(self.organisation), reference=reference)
            return made.html().encode()

        ui.download.content(await self._made(make), "evidence.html")

    def _ask_for_review(self, features: Sequence[Feature]) -> None:
        """A box for each feature that would be a reason; those that are there already stay."""
        with self.review:
            if self.reviewer is None:
                self.reviewer = _text(REVIEWER, empty="The ledger keeps the name.")
                self.reviewer.on_value_change(self._show_letter)
            for feature in features:
                if feature.name not in self.reviewed:
                    words = f"I have reviewed the part of {feature.title} in this decision"
                    self.reviewed[feature.name] = ui.checkbox(words, on_change=self._show_letter)

    def _unreviewed(self) -> None:
        """What was reviewed of one person, or of other values of theirs, is not of this."""
        self.writing.stop()
        self.review.clear()
        self.reviewed, self.reviewer = {}, None

    def _written(self, result: Result) -> Letter:
        state, number = self.session.state, _said(self.number)
        asked = LetterRequest(
            organisation=_said(self.organisation), contact=_said(self.contact),
            valid_until=_said(self.until), person=_said(self.person), promise=number,
            profile=self.profile.profile.value, fields=self.profile.given,
            language=self.profile.language.value,
            protected_reviewed=tuple(name for name, box in self.reviewed.items() if box.value),
            reviewed_by="" if self.reviewer is None else _said(self.reviewer),
        )  # fmt: skip
        kept = state.ledger.read(number) if state.ledger is not None and number else None
        return checked(asked.written(state.institution, result, promise=kept), kept)

    # ------------------------------------------------------------ promise

    def _promise(self) -> None:
        heading("Promise", 3)
        if self.session.state.ledger is None:
            note(
                "No ledger is kept here, so no promise can be made, and no letter names one. Start "
                "the server with --ledger promises.db to keep one."
            )
            return
        note(
            "What is promised is written to the ledger, with a keyed hash in place of the id; a "
            "new model is then held to it."
        )
        self.promised: tuple[Any, str, str] | None = None  # option, subject, last day
        self.subject = _text("Id of the person", empty="Say to whom it is promised.")
        self.subject.on("blur", self._outstanding)
        self.looking = Latest(*status_line("Reading the ledger…"))
        self.held = ui.label().classes("warning")
        self.option = ui.select({}, label="Option").props("outlined dense")
        until = self.session.state.institution.facts.get("valid_until")
        self.last_day = _day("Valid until", until)
        self.issue = press("Issue the promise", self._issued, icon="handshake", main=True)
        self.promising = Latest(*status_line("Writing to the ledger…"))
        self.made = ui.element("div").classes("stack")
        self.made.props["role"] = "status"
        self.look_up = LookUp(self.session, lambda: _said(self.subject), self._fewer)
        for field in (self.subject, self.option, self.last_day):
            field.on_value_change(self._show_promise)

    @property
    def _wish(self) -> tuple[Any, str, str]:
        return self.option.value, _said(self.subject), _said(self.last_day)

    def _issued(self) -> None:
        if (result := self.session.result) is not None and not self._why_not:
            self.promised = self._wish
            self._show_promise()
            self.promising.ask(partial(self._write, result, *self._wish))

    async def _write(self, result: Result, option: int, subject: str, until: str) -> None:
        ledger = self.session.state.ledger
        assert ledger is not None
        last = datetime.date.fromisoformat(until)
        try:
            promise, new = await self.session.state.record(
                lambda: promise_once(ledger, result, option, subject, last)
            )
        except Exception:
            self.promised = None
            self._show_promise()
            raise
        self.number.value = promise.id
        self.made.clear()
        with self.made:
            with ui.element("div").classes("verdict"):
                ui.icon("check_circle").classes("yes")
                ui.label(f"Promise {promise.id}").classes("strong promise")
            if not new:
                ui.label("This was promised before and still holds: no other was made.")
            until = f"until {promise.valid_until:%Y-%m-%d %H:%M} UTC"
            ui.label(unbroken(f"{promise.words or 'As they are'}, {until}"))

    def shown(self, is_open: bool) -> None:
        """Whether the panel can be seen; the ledger is not walked until it is."""
        self.open = is_open
        self._outstanding()

    def _outstanding(self) -> None:
        """Say what whoever is named was promised."""
        state, ledger = self.session.state, self.session.state.ledger
        if ledger is None:
            return
        self.held.visible = False
        self.looking.stop()
        subject = _said(self.subject)

        async def read() -> None:
            found = await state.record(lambda: ledger.promises(subject=subject))
            self.held.text = outstanding(found)
            self.held.visible = bool(found) and subject == _said(self.subject)

        if self.open and subject:
            self.looking.ask(read)

    def _fewer(self) -> None:
        """A promise was redeemed or withdrawn: the same may be promised again."""
        self.promised = None
        self._show_promise()
        self._outstanding()

    # ------------------------------------------------------------ what can be done

    def _another(self) -> None:
        """Nothing that was typed of one person is said of the next."""
        self.person.value = ""
        self.profile.forget()
        if self.session.state.ledger is not None:
            self.subject.value = self.session.id
            self._outstanding()

    def _show(self) -> None:
        result = self.session.result
        self.number.value = ""
        self._say()
        if self.session.state.ledger is not None:
            names = {
                at: option_name(at).capitalize()
                for at in range(len(result.options) if result is not None else 0)
                if result is not None and result.accepted(at)  # a promise of a no is none
            }
            self.promised = None
            self.option.set_options(names, value=next(iter(names), None))
            self._show_promise()

    def _say(self) -> None:
        """Say why nothing can be made, if so, and let nothing be made."""
        tell(self.why_not, self._why_not)
        self._show_letter()
        self._show_promise()

    def _show_letter(self) -> None:
        self.writing.forget()
        self._clear()
        tell(self.untold, self._lacks())
        filled = _said(self.organisation) and _said(self.contact) and self.until.validate()
        for button in self.letters:
            button.set_enabled(bool(filled) and not self._why_not)
        self.evidence.set_enabled(not self._why_not)

    def _clear(self) -> None:
        """Take back what was said of an earlier letter."""
        self.recorded.visible = self.preview.visible = self.doubts.visible = False

    def _lacks(self) -> str:
        code, state = self.profile.language.value, self.session.state
        try:
            language = language_of(code, state.institution.catalogues)
        except ValueError:  # of a catalogue that is not whole: whoever writes a letter is told
            return ""
        if untold := language.untold(state.recourse.schema):
            return (
                f"Not in the language {code}, so as the schema has them: {', '.join(untold)}. A "
                f"file {code}.po in the folder of --catalogues may have words for them."
            )
        return ""

    def _show_promise(self) -> None:
        if self.session.state.ledger is None:
            return
        self.promising.forget()
        self.made.clear()
        filled = _said(self.subject) and self.option.value is not None
        new = self._wish != self.promised  # the same is promised once
        good = self.last_day.validate() and not self._why_not
        self.issue.set_enabled(bool(filled) and new and good)

    @property
    def _why_not(self) -> str:
        if self.session.question is None:
            return "Pick a person first."
        if self.session.gap:
            return f"{self.session.gap} No letter or promise is made of the values before."
        if self.session.question.freed:
            return "Something is free that the schema locks: no letter or promise is made of this."
        return "There is no answer yet." if self.session.result is None else ""


def file_name(made: Letter, ending: str, who: str = "") -> str:
    """What a letter's file is called, in letters, digits and dashes: by its promise, or person."""
    about = (made.promise,) if made.promise else (made.document.dated.isoformat(), who)
    parts = *about, made.profile.name, made.document.language.code
    safe = (re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-") for part in parts)
    return f"{'-'.join(('letter', *filter(None, safe)))}.{ending}"


def record_once(ledger: Ledger, made: Letter, content: bytes) -> tuple[Entry, bool]:
    """The entry that keeps a letter and the hash of its file, and whether it is a new one.

    The same file is kept once; another of the same letter, such as its PDF, has its own entry, or
    nobody could tell that it was handed out.
    """
    kept = {**made.record(), "file_sha256": hashlib.sha256(content).hexdigest()}
    for entry in ledger.history(made.promise):
        if entry.kind == "letter" and {**entry.told(), **kept} == entry.told():
            return entry, False
    return ledger.record_letter(made.promise, made.record(), file=content), True


def _said(field: ui.input) -> str:
    return (field.value or "").strip()


def _text(label: str, value: str = "", empty: str = "") -> ui.input:
    """A field, and what it says while it is empty."""
    field = ui.input(label, value=value).props("outlined dense hide-bottom-space")

    def hint() -> None:
        field.props["hint"] = "" if _said(field) else empty

    field.on_value_change(hint)
    hint()
    return field


def _day(label: str, last: datetime.date | None) -> ui.input:
    last = last or clock.today() + datetime.timedelta(days=DAYS)
    field = ui.input(label, value=last.isoformat(), validation=not_to_come)
    return field.props("outlined dense hide-bottom-space type=date stack-label")


def not_to_come(given: str | None) -> str | None:
    """What to say of a last day that is none or has passed; None if it is good."""
    try:
        day = datetime.date.fromisoformat(given or "")
    except ValueError:
        return "Choose the last day."
    return None if day >= clock.today() else f"{day} has passed. Choose a later day."
