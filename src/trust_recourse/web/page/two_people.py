"""Two people of one model side by side: what it says of each, and what makes the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.web.page.latest import Latest
from trust_recourse.web.page.parts import grid, note, on_a_phone_go_to, press, status_line
from trust_recourse.web.page.question import Side, difference, side_of
from trust_recourse.web.page.what_if import movers
from trust_recourse.web.page.words import badge, cost, percent

if TYPE_CHECKING:
    from trust_recourse import Schema
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
        on_a_phone_go_to(".side")

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
            else "Both are asked the same, each under their own locks. The left one is set aside."
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
            grid(("", first.name, second.name), rows, numbers=3)
            if same := _same(recourse.schema, first, second):
                note(f"The same of both: {', '.join(same)}.")
            if why is not None:
                note(f"From {first.name} to {second.name}:")
                movers(why)
        if self.another:
            self.another = False
            on_a_phone_go_to(".tools")


def beside(schema: Schema, first: Side, second: Side) -> list[tuple[str, str, str]]:
    """What the model says of each and what would change it, then the values that differ."""
    same = _same(schema, first, second)
    told = [_told(schema, each) for each in (first, second)]
    rows = [(name, told[0][name], told[1][name]) for name in told[0]]
    people = first.asked.person, second.asked.person
    for feature in schema:
        if feature.title not in same:
            a, b = (schema.describe(feature.name, person[feature.name]) for person in people)
            rows.append((feature.title, a, b))
    return rows


def _told(schema: Schema, side: Side) -> dict[str, str]:
    result = side.result
    told = {
        "decision": "accepted" if side.accepted else "refused",
        "confidence": percent(side.confidence),
    }
    if not result.options:
        status = next(iter(result.status.values()))
        return told | {"cheapest change": status.sentence, "its cost": "", "confidence then": ""}
    option = result.options[0]
    changes = (
        f"{schema[name].heading} {schema.describe(name, old)} → {schema.describe(name, new)}"
        for name, (old, new) in option.changes.items()
    )
    return told | {
        "cheapest change": f"{'; '.join(changes) or 'none'} ({badge(result, 0).word.lower()})",
        "its cost": cost(option.cost),
        "confidence then": percent(option.confidence),
    }


def _same(schema: Schema, first: Side, second: Side) -> list[str]:
    """The features of which both have the same value."""
    people = first.asked.person, second.asked.person
    codes = [[feature.code_of(person[feature.name]) for feature in schema] for person in people]
    pairs = zip(schema, *codes, strict=True)
    return [feature.title for feature, a, b in pairs if a == b or (a != a and b != b)]
