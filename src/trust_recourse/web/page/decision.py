"""What the model says of the person as they are, and why; and the confidence that is asked for."""

from __future__ import annotations

from nicegui import ui

from trust_recourse.answers.explain import explainable
from trust_recourse.io.wording import percent
from trust_recourse.question import Target
from trust_recourse.report.letter.write import Refusal, refusal
from trust_recourse.web.page.people_panel import Difference, PeopleTable
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.settings_panel import also
from trust_recourse.web.page.widgets import Drawn, grid, heading, note, tell, verdict_bar, warning

THROTTLE = 0.05  # seconds between two moves of the slider that are told to the server
ALONE = "The main reasons need other applicants to compare with: start the server with --reference."
NONE = "In none of their values does this person fall short of those they are compared with."
PROTECTED = "A protected feature. It is named once its part is reviewed, under Letter and promise."


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
            kind, word = ("no", "refused") if refused else ("yes", "accepted")
            verdict_bar("cancel" if refused else "check_circle", kind, f"{session.name}: {word}")
            rule = f"; it says yes from {percent(decision.confidence)} on"
            if decision.mode == "argmax":
                rule = "; another class has more" if refused else ", the most of any class"
            ui.label(
                f"The model’s confidence in a yes (class {recourse.wanted}) is "
                f"{percent(confidence)}{rule}."
            )
            with ui.element("div").classes("meter") as meter:
                meter.props["aria-hidden"] = "true"
                ui.element("div").classes(f"fill {kind}-fill").style(f"width: {confidence:.2%}")
                if decision.mode != "argmax":
                    line = ui.element("div").classes("line")
                    line.style(f"left: {decision.confidence:.2%}")


class Reasons:
    """Below a refusal: in which values the person falls short, beside other applicants."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.found = Drawn("Looking for the main reasons…", "why answer")
        self.found.place.props["aria-live"] = "polite"
        session.on(self._ask, "person", "decision")
        self._ask()

    def _ask(self) -> None:
        self.found.empty()
        session, question, state = self.session, self.session.question, self.session.state
        if question is None or not session.refused or not explainable(state.recourse.model):
            return
        recourse, decision, by = session.recourse, session.decision, state.institution
        if by.reference is None:
            with self.found.place:
                note(ALONE)
            return

        def job() -> Refusal:
            return refusal(recourse, question.person, decision, by.reference, by.reason_codes)

        self.found.draw(lambda: state.work(job), self._show)

    def _show(self, found: Refusal) -> None:
        heading("The main reasons", 3)
        who = f"{found.rows:,} applicants" if found.rows > 1 else "applicant"
        compared = (
            f"Compared with the {who} whom the model accepts with the least to spare, this person "
            "falls short most in these values, the weightiest first."
        )
        note(compared if found.reasons else NONE)
        with ui.element("ol"):
            for sentence in found.reasons:
                with ui.element("li"):
                    ui.label(PROTECTED if sentence is None else sentence)


class Differences:
    """A row for each of the largest differences to accepted applicants of the table."""

    def __init__(self, session: Session, people: PeopleTable) -> None:
        self.session, self.people = session, people
        self.found = Drawn("Comparing with accepted applicants…", "differ answer")
        session.on(self._ask, "person", "decision")

    def _ask(self) -> None:
        self.found.empty()
        session, question = self.session, self.session.question
        if question is None:
            return
        decision, schema = session.decision, session.state.recourse.schema

        def compare() -> tuple[list[Difference], int]:
            accepted = self.people.accepted(decision)
            own = schema.action_set(question.person).own
            return accepted.differences(own), len(accepted.codes)

        self.found.draw(lambda: session.state.brief(compare), lambda found: self._show(*found))

    def _show(self, found: list[Difference], many: int) -> None:
        if not found:
            return
        heading("What differs most from accepted applicants", 3)
        note(
            f"By rank among the {many:,} accepted applicants of this table; usual is their median "
            "or most frequent value."
        )
        rows = [(each.feature.title, each.own, each.usual) for each in found]
        grid(("feature", "this person", "usual"), rows, numbers=1, tight=True)


class AskingPanel:
    """The confidence asked for, by a slider that is answered as it moves, and how many options."""

    def __init__(self, session: Session) -> None:
        self.session, self._by_hand = session, True  # the slider stands where it is drawn
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
        self._show()
        self._by_hand = False

    def _moved(self, confidence: float) -> None:
        self._by_hand = True
        self.session.ask(confidence=confidence)
        self._by_hand = False

    def _show(self) -> None:
        asked, confidence = self.session.settings, self.session.confidence
        if asked.mode == "argmax":
            self.label.text = Target(0.5, "argmax").words
        elif asked.mode == "band":
            self.label.text = f"{percent(confidence)} ± {percent(asked.tolerance)}"
        else:
            self.label.text = f"at least {percent(confidence)}"
        more = also(asked)
        tell(self.more, more and f"Also asked, under Settings: {more}.")
        if not self._by_hand:  # else it stands there already, or further on by now
            place = f"getHtmlElement({self.slider.id}).value = {100 * confidence:.0f}"
            ui.run_javascript(place)
