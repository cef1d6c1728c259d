"""What the ledger holds already: of an option, of a person, and under a number."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any

from nicegui import ui

from trust_recourse import Ledger, Result
from trust_recourse.io import clock
from trust_recourse.io.wording import unbroken
from trust_recourse.ledger import LedgerError, Promise, formatting
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.widgets import Latest, fact, grid, heading, note, press, status_line


def promise_once(
    ledger: Ledger, result: Result, at: int, subject: str, last: datetime.date
) -> tuple[Promise, bool]:
    """The promise of an option, and whether it is a new one: what is outstanding is made once."""
    for promise in ledger.promises(subject=subject):
        try:
            same = promise.alone(result).options[0] is result.options[at]
        except LedgerError:
            same = False
        if same and promise.model == getattr(result.recourse.model, "fingerprint_", ""):
            return promise, False
    return ledger.promise(result, at, subject=subject, valid_until=last), True


def outstanding(promises: Iterable[Promise]) -> str:
    """What somebody was promised and can still come back for; empty if it is nothing."""
    told = "; ".join(f"until {_until(each)} ({each.id})" for each in promises)
    return f"Has a promise already: {told}." if told else ""


class LookUp:
    """A field for the number of a promise; what it was, what became of it, and what may now."""

    def __init__(
        self, session: Session, subject: Callable[[], str], changed: Callable[[], None]
    ) -> None:
        self.session, self._subject, self._changed = session, subject, changed
        self.made: Promise | None = None
        heading("A promise that was made", 3)
        self.number = ui.input("Number to look up").props("outlined dense hide-bottom-space")
        self.number.on_value_change(self._forget)
        self.number.on("keydown.enter", self.show)
        self.look = press("Look it up", self.show, icon="search")
        self.latest = Latest(*status_line("Reading the ledger…"))
        self.place = ui.element("div").classes("stack looked-up")
        self.place.props["role"] = "status"
        with ui.element("div").classes("stack") as self.then:
            self.hint = note("")
            self.back = press("Redeem with the values of the person at hand", self._redeem)
            self.reason = ui.input("Why it is withdrawn").props("outlined dense hide-bottom-space")
            self.reason.on_value_change(self._allow)
            self.withdraw = press("Withdraw", self._withdraw)
        session.on(self._allow, "person", "gap")
        self._forget()

    def _forget(self) -> None:
        """Nothing stands below another number."""
        self.latest.stop()
        self.made = None
        self.place.clear()
        self._allow()

    def _allow(self) -> None:
        """What can be done with the promise that is shown."""
        made, session = self.made, self.session
        self.look.set_enabled(bool(self._number))
        open_states = ("outstanding", "expired")
        self.then.visible = made is not None and made.state(clock.now()) in open_states
        name = session.name or "Nobody"
        self.hint.text = (
            f"At hand: {name}. Redeeming looks at their values and at “Id of the person”, and is "
            "recorded; so is why a promise is withdrawn."
        )
        self.back.set_enabled(session.question is not None and not session.gap)
        self.withdraw.set_enabled(bool((self.reason.value or "").strip()))

    @property
    def _ledger(self) -> Ledger:
        assert self.session.state.ledger is not None
        return self.session.state.ledger

    @property
    def _number(self) -> str:
        return (self.number.value or "").strip()

    def show(self) -> None:
        """Show the promise of the number."""
        if self._number:
            self.latest.ask(self._show)

    async def _show(self, said: Iterable[str] = ()) -> None:
        ledger, number = self._ledger, self._number

        def read() -> tuple[Promise, list[dict[str, Any]]]:
            _, *events = ledger.history(number)
            told = [{"kind": each.kind, "at": each.at, **each.told()} for each in events]
            return ledger.read(number), told

        made, events = await self.session.state.record(read)
        self.made = made
        self.place.clear()
        with self.place:
            for line in said:
                ui.label(line)
            ui.label(f"{made.words or 'As they are'}, until {_until(made)}").classes("strong")
            with ui.element("dl").classes("facts"):
                for name, text in formatting.facts(made):
                    fact(name, unbroken(text))
            grid(("", "before", "promised"), [*formatting.row_by_row(made)], numbers=1)
            for each in events:
                when = each["at"][:16].replace("T", " ")
                ui.label(f"{when} UTC: {formatting.event(each, made)}")
        self._allow()

    def _redeem(self) -> None:
        state, question = self.session.state, self.session.question
        number, subject = self._number, self._subject()
        if question is None or self.session.gap:
            return

        async def returned() -> None:
            if not subject:
                raise ValueError("Fill in “Id of the person”: whose promise it is.")
            _, told = await state.record(lambda: state.redeemed(number, question.person, subject))
            self._changed()
            await self._show(told)

        self.latest.ask(returned)

    def _withdraw(self) -> None:
        ledger, number, reason = self._ledger, self._number, self.reason.value
        if self.made is None:
            return

        async def withdrawn() -> None:
            await self.session.state.record(lambda: ledger.withdraw(number, reason))
            self.reason.value = ""
            self._changed()
            await self._show()

        self.latest.ask(withdrawn)


def _until(made: Promise) -> str:
    return unbroken(formatting.until(made))
