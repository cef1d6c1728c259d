"""Two people of one model side by side: what it says of each, and what makes the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from trust_recourse.web.page.latest import Latest
from trust_recourse.web.page.parts import grid, note, on_a_phone_go_to, press, status_line
from trust_recourse.web.page.question import Side, difference, side_of
from trust_recourse.web.page.what_if import movers
from trust_recourse.web.page.words import badge, cost, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trust_recourse import Feature, Schema
    from trust_recourse.web.page.session import Session


class TwoPeople:
    """Somebody is set aside; whoever is picked then stands beside them."""

    def __init__(self, session: Session) -> None:
        self.session, self.open, self.another = session, False, False
        self.said = note("")
        with ui.element("div").classes("line-up"):
            self.hold = press("Set this person aside", self._hold, icon="push_pin")
            self.free = press("Let go", lambda: session.set_aside(False), icon="close")
        self.latest = Latest(*status_line("Asking about both…"))
        self.place = ui.element("div").classes("stack answer")
        session.on(self._met, "meeting")
        session.on(self._show, "person", "question", "answer", "aside")
        self._show()

    def shown(self, is_open: bool) -> None:
        """Whether the panel can be seen; both are asked about while it is."""
        self.open = is_open
        self._show()

    def _met(self) -> None:
        self.another = True

    def _hold(self) -> None:
        self.session.set_aside()
        on_a_phone_go_to(".side", unfold=".who")

    def _show(self) -> None:
        session, aside = self.session, self.session.aside
        self.hold.set_visibility(session.question is not None)
        self.free.set_visibility(aside is not None)
        self.latest.stop()
        if aside is None:
            self.place.clear()
            self.said.text = (
                "Pick a person first."
                if session.question is None
                else "Set this person aside, then pick another: both are shown side by side."
            )
            return
        alone = session.question is None or session.question.person is aside[1].person
        self.said.text = (
            f"{aside[0]} is set aside. Now pick somebody else."
            if alone
            else "Both are asked the same, each under their own locks. The left one is set aside. "
            "An arrow leads to what the cheapest change asks for."
        )
        if alone:
            self.place.clear()
        elif self.open and session.result is not None:
            self.latest.ask(self._work)

    async def _work(self) -> None:
        session, aside, question = self.session, self.session.aside, self.session.question
        assert aside is not None
        assert question is not None
        state, decision = session.state, session.decision
        recourse, limits, name = state.recourse, state.limits, session.name
        first = await state.work(lambda: side_of(recourse, *aside, decision, limits))
        second = await state.work(lambda: side_of(recourse, name, question, decision, limits))
        why = await state.work(lambda: difference(recourse, first, second))
        self.place.clear()
        with self.place:
            rows = beside(recourse.schema, first, second)
            grid(("", first.name, second.name), rows, numbers=3, paired=True)
            if same := _alike(recourse.schema, first, second):
                note(f"The same of both: {', '.join(same)}.")
            if why is not None:
                note(f"From {first.name} to {second.name}:")
                movers(why)
        if self.another:
            self.another = False
            on_a_phone_go_to(".tools")


def beside(schema: Schema, first: Side, second: Side) -> list[tuple[str, str, str]]:
    """What the model says of each, then the values that differ or that a change replaces."""
    alike = _alike(schema, first, second)
    told = [_told(each) for each in (first, second)]
    rows = [(name, told[0][name], told[1][name]) for name in told[0]]
    for feature in schema:
        if feature.title not in alike:
            a, b = (_value(feature, each) for each in (first, second))
            rows.append((feature.title, a, b))
    return rows


def _told(side: Side) -> dict[str, str]:
    result = side.result
    told = {
        "decision": "accepted" if side.accepted else "refused",
        "confidence": percent(side.confidence),
    }
    words = result.recourse.cost.words
    if not result.options:
        status = next(iter(result.status.values()))
        nothing = {f"its cost ({words})": "", "confidence then": ""}
        return told | {"cheapest change": status.sentence, **nothing}
    option = result.options[0]
    return told | {
        "cheapest change": badge(result, 0).word.lower(),
        f"its cost ({words})": cost(option.cost),
        "confidence then": percent(option.confidence),
    }


def _value(feature: Feature, side: Side) -> str:
    """A person's value, and after an arrow that of their cheapest change, if it replaces it."""
    values = _changes(side).get(feature.name, (side.asked.person[feature.name],))
    return " → ".join(map(feature.describe, values))


def _changes(side: Side) -> Mapping[str, tuple[Any, Any]]:
    return side.result.options[0].changes if side.result.options else {}


def _alike(schema: Schema, first: Side, second: Side) -> list[str]:
    """The features of which both have the same value, and no change another."""
    changed = {*_changes(first), *_changes(second)}
    people = first.asked.person, second.asked.person
    codes = [[feature.code_of(person[feature.name]) for feature in schema] for person in people]
    pairs = zip(schema, *codes, strict=True)
    return [
        feature.title
        for feature, a, b in pairs
        if feature.name not in changed and (a == b or (a != a and b != b))
    ]
