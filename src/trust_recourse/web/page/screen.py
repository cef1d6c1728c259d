"""How the parts of the page are laid out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.web.page.cards import Cards
from trust_recourse.web.page.parts import heading, note
from trust_recourse.web.page.people import People
from trust_recourse.web.page.picker import Picker
from trust_recourse.web.page.visit import Visit
from trust_recourse.web.page.words import ABOUT, percent

if TYPE_CHECKING:
    from trust_recourse.web.desk import Desk

LOOK = Path(__file__).with_name("look.css")


def show(desk: Desk, path: str) -> None:
    """Have the page shown at a path, for one desk."""
    people = None if desk.people is None else People(desk.recourse, desk.people)

    @ui.page(path, title="Recourse")
    def page() -> None:
        ui.add_css(LOOK)
        Screen(Visit(desk, people))


class Screen:
    """The whole page of one tab."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self._top()
        with ui.element("main").classes("shell"):
            with ui.element("aside").classes("side"):
                with ui.element("section").classes("panel"):
                    if visit.people is not None:
                        Picker(visit, visit.people)
            with ui.element("div").classes("body"):
                with ui.element("section").classes("panel"):
                    Decision(visit)
                with ui.element("section").classes("panel"):
                    Asking(visit)
                with ui.element("section"):
                    Cards(visit, lambda _: None)

    def _top(self) -> None:
        with ui.element("header").classes("top"):
            with ui.element("h1"):
                ui.label(self.visit.desk.organisation or "Recourse")
            ui.label(ABOUT).classes("about")


class Decision:
    """What the model says of the person as they are."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.place = ui.element("div").classes("decision")
        visit.on_person.append(self._show)
        self._show()

    def _show(self) -> None:
        visit, recourse = self.visit, self.visit.desk.recourse
        self.place.clear()
        with self.place:
            if visit.question is None:
                heading("No one chosen yet")
                note("Pick a person, or enter their values, to see what the model says.")
                return
            confidence, line = recourse.confidence(visit.question.person), recourse.decision_threshold
            refused = confidence < line
            with ui.element("div").classes("verdict"):
                ui.icon("cancel" if refused else "check_circle").classes("no" if refused else "yes")
                heading(f"{visit.name}: {'refused' if refused else 'accepted'}")
            ui.label(
                f"The model’s confidence in a yes (class {recourse.wanted}) is "
                f"{percent(confidence)}; it says yes from {percent(line)} on."
            )
            with ui.element("div").classes("meter") as meter:
                meter.props["aria-hidden"] = "true"
                ui.element("div").classes("fill no-fill" if refused else "fill yes-fill").style(
                    f"width: {confidence:.2%}"
                )
                ui.element("div").classes("line").style(f"left: {line:.2%}")


class Asking:
    """The confidence asked for, by a slider that is answered as it moves, and how many options."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        with ui.element("div").classes("asking"):
            heading("How sure should the yes be?")
            self.label = ui.label().classes("tau numbers")
        self.slider = ui.slider(min=0.01, max=0.99, step=0.01, value=visit.confidence)
        self.slider.props["aria-label"] = "Confidence asked for"
        self.slider.on_value_change(lambda e: self._moved(e.value))
        with ui.element("div").classes("asking"):
            note("Arrow keys move it by one percent.")
            counts = list(range(1, min(5, visit.desk.limits.options) + 1))
            many = ui.select(counts, label="Options", value=visit.n_options)
            many.props("outlined dense").classes("short")
            many.on_value_change(lambda e: visit.ask(n_options=int(e.value)))
        visit.on_question.append(self._show)
        self._show()

    def _moved(self, value: float | None) -> None:
        if value is not None and abs(value - self.visit.confidence) > 5e-3:
            self.visit.ask(confidence=value)
            self._show()

    def _show(self) -> None:
        confidence = self.visit.confidence
        self.label.text = f"at least {percent(confidence)}"
        self.slider.props["aria-valuetext"] = self.label.text
        if abs((self.slider.value or 0) - confidence) > 5e-3:
            self.slider.value = round(confidence, 2)
