"""What the model says of the person as they are, and the confidence that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.web.page.parts import heading, note
from trust_recourse.web.page.words import percent

if TYPE_CHECKING:
    from trust_recourse.web.page.visit import Visit

NEAR = 5e-3  # half a step of the slider


class Decision:
    """Refused or accepted, with what confidence, and where a yes begins."""

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
                heading("Nobody is chosen yet")
                way = "Pick a person" if visit.people is not None else "Enter a person’s values"
                note(f"{way} to see what the model says of them, and what would change it.")
                return
            line = recourse.decision_threshold
            confidence = recourse.confidence(visit.question.person)
            refused = confidence < line
            with ui.element("div").classes("verdict"):
                icon = ui.icon("cancel" if refused else "check_circle")
                icon.classes("no" if refused else "yes").props["aria-hidden"] = "true"
                heading(f"{visit.name}: {'refused' if refused else 'accepted'}")
            ui.label(
                f"The model’s confidence in a yes (class {recourse.wanted}) is "
                f"{percent(confidence)}; it says yes from {percent(line)} on."
            )
            with ui.element("div").classes("meter") as meter:
                meter.props["aria-hidden"] = "true"
                fill = ui.element("div").classes(f"fill {'no' if refused else 'yes'}-fill")
                fill.style(f"width: {confidence:.2%}")
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
            note("Move it with the mouse or the arrow keys; the answer follows.")
            counts = list(range(1, min(5, visit.desk.limits.options) + 1))
            many = ui.select(counts, label="Options", value=visit.n_options)
            many.props("outlined dense").classes("short")
            many.on_value_change(lambda e: visit.ask(n_options=int(e.value)))
        visit.on_question.append(self._show)
        self._show()

    def _moved(self, value: float | None) -> None:
        # A step of the stairs lies between two places of the slider, which then stands at one.
        if value is not None and abs(value - self.visit.confidence) > NEAR:
            self.visit.ask(confidence=value)
            self._show()

    def _show(self) -> None:
        confidence = self.visit.confidence
        self.label.text = f"at least {percent(confidence)}"
        self.slider.props["aria-valuetext"] = self.label.text
        if abs((self.slider.value or 0.0) - confidence) > NEAR:
            self.slider.value = round(confidence, 2)
