"""What the model says of the person as they are, and the confidence that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.question import Target
from trust_recourse.web.page.settings_panel import also
from trust_recourse.web.page.texts import percent
from trust_recourse.web.page.widgets import heading, note, tell, warning

if TYPE_CHECKING:
    from trust_recourse.question import Question
    from trust_recourse.web.page.session import Session

THROTTLE = 0.05  # seconds between two moves of the slider that are told to the server


class Decision:
    """Refused or accepted, with what confidence, and by which rule."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.gap = warning()
        self.place = ui.element("div").classes("decision")
        session.on(self._show, "person", "decision")
        session.on(self._gap, "gap")
        self._show()
        self._gap()

    def _gap(self) -> None:
        gap = self.session.gap
        before = " What stands here is of the values before, and nothing is made of it."
        tell(self.gap, gap and gap + before)

    def _show(self) -> None:
        session, recourse = self.session, self.session.state.recourse
        self.place.clear()
        with self.place:
            if session.question is None:
                heading("Nobody is chosen yet")
                way = "Pick a person" if session.people is not None else "Enter a person’s values"
                note(f"{way} to see what the model says of them, and what would change it.")
                return
            decision, refused = session.decision, session.refused
            confidence = recourse.confidence(session.question.person)
            with ui.element("div").classes("verdict"):
                icon = ui.icon("cancel" if refused else "check_circle")
                icon.classes("no" if refused else "yes").props["aria-hidden"] = "true"
                heading(f"{session.name}: {'refused' if refused else 'accepted'}")
            ui.label(
                f"The model’s confidence in a yes (class {recourse.wanted}) is "
                f"{percent(confidence)}{_rule(decision, refused)}."
            )
            with ui.element("div").classes("meter") as meter:
                meter.props["aria-hidden"] = "true"
                fill = ui.element("div").classes(f"fill {'no' if refused else 'yes'}-fill")
                fill.style(f"width: {confidence:.2%}")
                if decision.mode != "wins":
                    line = ui.element("div").classes("line")
                    line.style(f"left: {decision.confidence:.2%}")


class AskingPanel:
    """The confidence asked for, by a slider that is answered as it moves, and how many options."""

    def __init__(self, session: Session) -> None:
        self.session, self._by_hand = session, False
        with ui.element("div").classes("asking"):
            heading("How sure should the yes be?")
            self.label = ui.label().classes("tau numbers")
        # The browser's own slider follows the hand and the keys by itself. Its value is no prop:
        # that would be set again whenever anything on the page is drawn, under a moving hand.
        self.slider = ui.element("input").classes("slider")
        self.slider.props("type=range min=1 max=99 step=1")
        self.slider.props["defaultValue"] = f"{100 * session.confidence:.0f}"
        self.slider.props["aria-label"] = "Confidence asked for, in percent"
        self.slider.on(
            "input",
            lambda e: self._moved(float(e.args) / 100),
            js_handler="(e) => emit(Number(e.target.value))",
            throttle=THROTTLE,
        )
        with ui.element("div").classes("asking"):
            note("Drag it or press the arrow keys; the answer follows.").classes("beside")
            counts = list(range(1, min(5, session.state.limits.options) + 1))
            many = ui.select(counts, label="Options", value=session.settings.n_options)
            many.props("outlined dense").classes("short")
            many.on_value_change(lambda e: session.ask(n_options=int(e.value)))
        self.more = note("")
        session.on(self._show, "question")
        self.label.text = _words(session.settings)
        self.more.visible = False

    def _moved(self, confidence: float) -> None:
        self._by_hand = True
        self.session.ask(confidence=confidence)
        self._show()
        self._by_hand = False

    def _show(self) -> None:
        confidence = self.session.confidence
        self.label.text = _words(self.session.settings)
        more = also(self.session.settings)
        tell(self.more, more and f"Also asked, under Settings: {more}.")
        if not self._by_hand:  # else it stands there already, or further on by now
            place = f"getHtmlElement({self.slider.id}).value = {100 * confidence:.0f}"
            ui.run_javascript(place)


def _rule(decision: Target, refused: bool) -> str:
    """Who is accepted, after a confidence."""
    if decision.mode != "wins":
        return f"; it says yes from {percent(decision.confidence)} on"
    return "; another class has more" if refused else ", the most of any class"


def _words(asked: Question) -> str:
    if asked.mode == "wins":
        return Target(0.5, "wins").words
    level = percent(asked.confidence[0])
    return f"{level} ± {percent(asked.tolerance)}" if asked.mode == "band" else f"at least {level}"
