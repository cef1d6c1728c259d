"""What the ledger holds already: of an option, of a person, and under a number."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from nicegui import ui

from trust_recourse.io import clock
from trust_recourse.io.wording import unbroken
from trust_recourse.web.page.widgets import Latest, fact, grid, heading, note, press, status_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trust_recourse import Ledger, Result
    from trust_recourse.ledger import Promise, Redemption
    from trust_recourse.web.page.session import Session
    from trust_recourse.web.state import AppState


def promise_once(
    ledger: Ledger, result: Result, at: int, subject: str, last: datetime.date
) -> tuple[Promise, bool]:
    """The promise of an option, and whether it is a new one: what is outstanding is made once."""
    for promise in ledger.promises(subject=subject):
        if _is_of(promise, result, at):
            return promise, False
    return ledger.promise(result, at, subject=subject, valid_until=last), True


def _is_of(promise: Promise, result: Result, at: int) -> bool:
    """Whether just this option of this model was promised."""
    from trust_recourse.ledger import LedgerError

    try:
        found = promise.alone(result).options[0]
    except LedgerError:
        return False
    ours = getattr(result.recourse.model, "fingerprint_", "")
    return promise.model == ours and found is result.options[at]


def outstanding(promises: Iterable[Promise]) -> str:
    """What somebody was promised and can still come back for; empty if it is nothing."""
    told = "; ".join(f"until {_until(each)} ({each.id})" for each in promises)
    return f"Has a promise already: {told}." if told else ""


def redeemed(state: AppState, number: str, person: Any, subject: str) -> Redemption:
    """What is found, and recorded, of a person who comes back for a promise of theirs."""
    ledger = state.ledger
    assert ledger is not None
    made = ledger.read(number)
    if made.id not in {each.id for each in ledger.promises(False, subject=subject)}:
        raise ValueError(f"Promise {made.id} was made to somebody else than {subject!r}.")
    by = state.earlier.get(made.model)
    return ledger.redeem(made.id, person, state.recourse, promised_by=by)


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
        self.latest.forget()
        self.made = None
        self.place.clear()
        self._allow()

    def _allow(self) -> None:
        """What can be done with the promise that is shown."""
        made, session = self.made, self.session
        self.look.set_enabled(bool(self._number))
        self.then.visible = made is not None and made.state(clock.now()) in (
            "outstanding",
            "expired",
        )
        name = session.name or "Nobody"
        self.hint.text = (
            f"At hand: {name}. Redeeming looks at their values and at “Id of the person”, and is "
            "recorded; so is why a promise is withdrawn."
        )
        self.back.set_enabled(session.question is not None and not session.gap)
        self.withdraw.set_enabled(bool((self.reason.value or "").strip()))

    @property
    def _number(self) -> str:
        return (self.number.value or "").strip()

    def show(self) -> None:
        """Show the promise of the number."""
        if self._number:
            self.latest.ask(self._show)

    async def _show(self, said: Iterable[str] = ()) -> None:
        ledger, number = self.session.state.ledger, self._number
        assert ledger is not None

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
            self._tell(made, events)
        self._allow()

    def _tell(self, made: Promise, events: list[dict[str, Any]]) -> None:
        from trust_recourse.ledger import formatting

        ui.label(f"{made.words or 'As they are'}, until {_until(made)}").classes("strong")
        with ui.element("dl").classes("facts"):
            for name, text in formatting.facts(made):
                fact(name, unbroken(text))
        grid(("", "before", "promised"), [*formatting.row_by_row(made)], numbers=1)
        for each in events:
            when = each["at"][:16].replace("T", " ")
            ui.label(f"{when} UTC: {formatting.event(each, made)}")

    def _redeem(self) -> None:
        question, number, subject = self.session.question, self._number, self._subject()
        if question is not None and not self.session.gap:
            self.latest.ask(lambda: self._returned(question.person, number, subject))

    async def _returned(self, person: Any, number: str, subject: str) -> None:
        state = self.session.state
        if not subject:
            raise ValueError("Fill in “Id of the person”: whose promise it is.")
        found = await state.record(lambda: redeemed(state, number, person, subject))
        hint = ["Start the server with it: --earlier FILE."] if found.undecided else []
        self._changed()
        await self._show([*found.lines(), *hint])

    def _withdraw(self) -> None:
        if self.made is not None:
            self.latest.ask(self._withdrawn)

    async def _withdrawn(self) -> None:
        ledger, number, reason = self.session.state.ledger, self._number, self.reason.value
        assert ledger is not None
        await self.session.state.record(lambda: ledger.withdraw(number, reason))
        self.reason.value = ""
        self._changed()
        await self._show()


def _until(made: Promise) -> str:
    from trust_recourse.ledger import formatting

    return unbroken(formatting.until(made))
