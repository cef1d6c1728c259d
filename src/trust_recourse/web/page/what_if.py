"""Values by hand: what the model says of them as they are typed, and what moved it."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from trust_recourse import Option
from trust_recourse.answers.explain import Explanation
from trust_recourse.io.wording import percent, signed
from trust_recourse.web.page.form import Form
from trust_recourse.web.page.question_panel import Trial, tried
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import cost, limits
from trust_recourse.web.page.widgets import Drawn, grid, note, press, verdict_bar

MOVERS = 6  # rules or terms told one by one
STILL = 5e-4  # shares smaller than what is shown


class WhatIf:
    """A form that starts from the person, and what the model makes of it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        note("Change any value and watch. Nothing here is searched for: it is what you type.")
        with ui.element("div").classes("split trying"):
            with ui.element("div"):
                self.form = Form(session.state.recourse.schema, self._ask)
                self.back = press("Back to the person’s own values", self._restart)
            with ui.element("div").classes("stack"):
                self.found = Drawn("Asking the model…", "stack answer")
                self.found.place.props["aria-live"] = "polite"
        session.on(self._restart, "person")
        session.on(self._ask, "question")
        self._restart()

    def start(self, option: Option) -> None:
        """Begin from the values of an option."""
        self.form.fill(option.x)
        self._ask()

    def _restart(self) -> None:
        question = self.session.question
        for name, feature in self.form.features.items():
            self.form.hint(name, limits(feature, None if question is None else question.person))
        self.back.set_enabled(question is not None)
        if question is None:
            self.found.place.clear()
            with self.found.place:
                note("Pick a person first.")
        else:
            self.form.fill(question.person)
            self._ask()

    def _ask(self) -> None:
        session, question, values = self.session, self.session.question, self.form.values()
        if question is None:
            return
        if values is None:
            self.found.empty()
            with self.found.place:
                verdict_bar("help", "muted", f"No answer yet. {self.form.gap}", 3)
            return
        job = partial(tried, session.recourse, question.person, values, session.decision)
        self.found.draw(lambda: session.state.work(job), self._show)

    def _show(self, found: Trial) -> None:
        self.form.fill(found.derived)
        good = found.accepted and not found.broken
        mark = ("check_circle", "yes") if good else ("cancel", "no")
        verdict_bar(*mark, verdict(found), 3)
        if found.broken:
            with ui.element("ul").classes("broken"):
                for sentence in found.broken:
                    with ui.element("li"):
                        ui.label(sentence)
        else:
            ui.label(
                f"Cost of the change ({self.session.recourse.cost.words}): {cost(found.cost)}"
            ).classes("numbers")
            if found.cost:
                ui.label("Every limit is kept.").classes("yes")
        if found.derived:
            schema = self.form.schema
            told = (
                f"{schema[name].title} {schema.describe(name, value)}"
                for name, value in found.derived.items()
            )
            note(f"Computed from these values: {'; '.join(told)}.")
        if found.why is not None and found.cost:
            movers(found.why)


def verdict(found: Trial) -> str:
    """What the model says of values, and the limits of the change."""
    word, and_ = ("Accepted", "but") if found.accepted else ("Refused", "and")
    said = f"{word} by the model, {percent(found.confidence)}"
    return f"{said}, {and_} not allowed by the limits" if found.broken else said


def movers(why: Explanation) -> None:
    """What moved the score most, and by how much."""
    found = why.movers(STILL)
    if not found:
        note(f"No {why.noun} {why.verb} otherwise than before.")
        return
    if why.by == "feature":
        ui.label(f"What each change does to the {why.score}").classes("strong")
        changes = why.changes().itertuples(index=False)
        rows_of = [each for each in changes if abs(each[3]) >= STILL]
        told = [(f"{name} {a} → {b}", share_of(why, share)) for name, a, b, share in rows_of]
        if few := len(why.changes()) - len(told):
            told.append((f"{few} more", share_of(why, 0.0)))
        grid(("change", "share"), told, numbers=1, tight=True)
    ui.label(f"The {why.noun}s that moved it").classes("strong")
    if why.score == "confidence":
        note("Shares are in points of a percent of confidence.")
    rows = [
        (each.words if why.by == "rule" else f"{each.name}: {each.words}", each.moves,
         share_of(why, each.share))
        for each in found[:MOVERS]
    ]  # fmt: skip
    if rest := found[MOVERS:]:
        together = sum(each.share for each in rest)
        rows.append((f"{len(rest)} more {why.noun}s", "", share_of(why, together)))
    grid((why.noun, why.verb, "share"), rows, numbers=1, tight=True, stacked=True)
    if why.note:
        note(why.note)


def share_of(why: Explanation, share: float) -> str:
    """A share: of a confidence in points of a percent, of another score in its own units."""
    return signed(100 * share, 1) if why.score == "confidence" else why.told(share)
