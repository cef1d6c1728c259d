"""What may change and how far: a switch and two ends for each feature, and the price of a turn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.web.page.latest import Latest
from trust_recourse.web.page.limits import LimitFields, has_limits
from trust_recourse.web.page.parts import note, status_line
from trust_recourse.web.page.question import Price, price
from trust_recourse.web.page.words import conditions, cost, follows, limits

if TYPE_CHECKING:
    from trust_recourse import Feature
    from trust_recourse.web.page.session import Session

SAME = 1e-9


class Locks:
    """A row for each feature; prices are searched for while the panel is open, one by one."""

    def __init__(self, session: Session) -> None:
        self.session, self.open, self._quiet = session, False, False
        self.switches: dict[str, ui.switch] = {}
        self.notes: dict[str, ui.label] = {}
        self.prices: dict[str, ui.label] = {}
        note(
            "Switch off what this person cannot or does not want to change, or say from where to "
            "where it may go if it does not stay. Beside each is what the cheapest answer would "
            "cost with that switch turned. What follows from others has no switch: lock what it "
            "follows from. Locks and limits are of this person alone."
        )
        self.latest = Latest(*status_line("Pricing the locks…"))
        with ui.element("ul").classes("locks") as self.list:
            for feature in session.state.recourse.schema:
                self._row(feature)
        session.on(self._show, "person", "locks")
        session.on(self._outdated, "question")
        session.on(self._price, "answer")
        self._show()

    def _row(self, feature: Feature) -> None:
        with ui.element("li"):
            with ui.element("div").classes("lock-name"):
                if feature.derived:
                    ui.icon("functions").classes("follows").props["aria-hidden"] = "true"
                else:
                    switch = ui.switch(on_change=lambda: self._turned(feature))
                    switch.props["aria-label"] = f"{feature.title} may change"
                    self.switches[feature.name] = switch
                with ui.element("div"):
                    ui.label(feature.title).classes("what")
                    self.notes[feature.name] = note("")
            if has_limits(feature):
                LimitFields(self.session, feature)
            self.prices[feature.name] = ui.label().classes("numbers price")

    def _turned(self, feature: Feature) -> None:
        if not self._quiet:
            self.session.turn(feature)

    def shown(self, is_open: bool) -> None:
        """Whether the panel can be seen; prices wait until it is."""
        self.open = is_open
        if is_open:
            self._price()

    def _outdated(self) -> None:
        """What stands there is the price of an earlier question, until it is worked out anew."""
        self.latest.stop()
        self.list.classes("outdated")

    def _show(self) -> None:
        question = self.session.question
        self.latest.stop()
        self._quiet = True
        for feature in self.session.state.recourse.schema:
            if switch := self.switches.get(feature.name):
                switch.value = feature.movable if question is None else question.may_change(feature)
                switch.set_enabled(question is not None and not question.fixed(feature))
            person = None if question is None else question.person
            freed = question is not None and feature.name in question.freed
            says = (
                follows(feature, self.session.state.recourse.schema),
                limits(feature, person),
                "freed by you" * freed,
            )
            self.notes[feature.name].text = "; ".join(filter(None, says))
        self._quiet = False

    def _price(self) -> None:
        if self.open and self.session.result is not None:
            self.latest.ask(self._work)

    async def _work(self) -> None:
        session, question, result = self.session, self.session.question, self.session.result
        assert question is not None
        assert result is not None
        state = session.state
        for label in self.prices.values():
            label.text = ""
        self.list.classes(remove="outdated")
        # Those that the answer uses first: their price is what is asked most.
        used = result.options[0].changes if result.options else {}
        for feature in sorted(state.recourse.schema, key=lambda f: f.name not in used):
            if not question.fixed(feature):
                found = await state.work(
                    lambda f=feature: price(  # type: ignore[misc]
                        state.recourse, question, f, result, state.limits
                    )
                )
                self.prices[feature.name].text = price_words(found, question.may_change(feature))


class Conditions:
    """What holds for the person at hand beside the rules."""

    def __init__(self, session: Session) -> None:
        self.session, self.said = session, note("")
        session.on(self._show, "person", "locks")
        self._show()

    def _show(self) -> None:
        question, schema = self.session.question, self.session.state.recourse.schema
        holds = "" if question is None else conditions(question, schema)
        self.said.text, self.said.visible = f"For this person: {holds}.", bool(holds)


class Freed:
    """A warning of what is freed that the rules lock."""

    def __init__(self, session: Session) -> None:
        self.session, self.said = session, ui.label().classes("warning")
        session.on(self._show, "person", "locks")
        self._show()

    def _show(self) -> None:
        question, schema = self.session.question, self.session.state.recourse.schema
        freed = frozenset[str]() if question is None else question.freed
        titles = " and ".join(feature.title for feature in schema if feature.name in freed)
        them = "them" if len(freed) > 1 else "it"
        self.said.text, self.said.visible = (
            f"The rules lock {titles}; you freed {them} to see the price. No letter and no promise "
            "is made of such an answer.",
            bool(freed),
        )


def price_words(found: Price, free: bool) -> str:
    """What turning one lock does."""
    turned = "if locked" if free else "if freed"
    about = "" if found.proved else "about "
    if found.then == math.inf:
        still = "still " if found.now == math.inf else ""
        return f"{turned}: {still}out of reach" if found.proved else f"{turned}: not found in time"
    if abs(found.then - found.now) < SAME:
        return f"{turned}: no difference"
    if found.now == math.inf:
        return f"{turned}: within reach, for {about}{cost(found.then)}"
    more = found.then - found.now
    return f"{turned}: {about}{cost(found.then)} ({'+' if more > 0 else '−'}{cost(abs(more))})"
