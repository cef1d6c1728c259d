"""Comparisons: values typed by hand with the person as they are, and two options side by side."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from nicegui import ui

from trust_recourse import Option, Result
from trust_recourse.answers.explain import (
    Comparison,
    Explanation,
    Mover,
    RuleExplanation,
    explainable,
)
from trust_recourse.answers.explain.comparison import Writing
from trust_recourse.answers.measurements import SIGMA
from trust_recourse.io.wording import percent, signed
from trust_recourse.question import option_name
from trust_recourse.web.page.form import Form
from trust_recourse.web.page.question_panel import Trial, tried, with_kept
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import cost, limits
from trust_recourse.web.page.widgets import Drawn, grid, note, press, verdict_bar

MOVERS = 6  # rules or terms told one by one
STILL = 5e-4  # shares smaller than what is shown
RULES = 8  # told one by one, with their literals
HOLD = (
    "A rule carries an option if it votes for a yes and what it states holds there. It is fragile "
    "if, with a probability of at least {line:g}, it asks there for more than it states and falls "
    "silent."
)
FIRES = (
    "A rule that fires takes part in the vote. Here is how likely each fires at {names[0]} and at "
    "{names[1]}, and its share of the difference in confidence, in points of a percent. Open one "
    "for its literals, the comparisons that it is made of; a weak one states none for sure, and is "
    "told by the likeliest."
)
LIKELY = 0.05  # literals less likely to belong to a rule are not listed

AS_CARDS = Writing(
    cost=cost,
    rise=lambda share: f"+{100 * share:.0f}%",
    confidence=lambda confidence, *_: percent(confidence),
)


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


class Compare:
    """Two options chosen from those of the answer and those kept from others."""

    def __init__(self, session: Session) -> None:
        self.session, self.open, self._quiet = session, False, False
        self.result: Result | None = None
        note("Two options of this person side by side: what the dearer one buys, and why.")
        with ui.element("div").classes("line-up") as self.row:
            self.first, self.second = (
                ui.select({}, label=label).props("outlined dense").classes("pick")
                for label in ("First", "Second")
            )
        for select in (self.first, self.second):
            select.on_value_change(self._ask)
        self.said = note("")
        self.found = Drawn("Comparing…", "stack")
        session.on(self._show, "person", "question", "answer", "kept")
        self._show()

    def shown(self, is_open: bool) -> None:
        """Whether the panel can be seen; the comparison waits until it is."""
        self.open = is_open
        self._ask()

    def _show(self) -> None:
        session = self.session
        self.found.empty()
        self.result = None if session.result is None else with_kept(session.result, session.kept)
        options = () if self.result is None else self.result.options
        enough = len(options) > 1 and explainable(session.state.recourse.model)
        self.row.visible = enough
        self.said.text = "" if enough else self._why_not(len(options))
        if enough:
            names = {
                at: f"{option_name(at).capitalize()}, for at least {percent(o.target.confidence)}"
                for at, o in enumerate(options)
            }
            self._quiet = True
            for select, default in ((self.first, 0), (self.second, 1)):
                chosen = select.value if select.value in names else default
                select.set_options(names, value=chosen)
            self._quiet = False
            self._ask()

    def _why_not(self, many: int) -> str:
        if self.session.question is None:
            return "Pick a person first."
        if not explainable(self.session.state.recourse.model):
            return "This model has no rules or terms to compare options by."
        if self.session.result is None:
            return "There is no answer yet."
        return (
            f"There {'is one option' if many else 'are no options'}. Ask for more options, or "
            "press Keep on one and move the slider to compare it with the next answer."
        )

    def _ask(self) -> None:
        result, first, second = self.result, self.first.value, self.second.value
        if result is None or not self.open or self._quiet or not self.row.visible:
            return
        if first == second:
            self.found.empty()
            self.said.text = "Choose two different options."
            return
        job, words = partial(result.compare, first, second, sigma=SIGMA), result.recourse.cost.words
        work = self.session.state.work
        self.found.draw(lambda: work(job), lambda found: self._told(found, words))

    def _told(self, found: Comparison, cost_words: str) -> None:
        self.said.text = ""
        found = replace(found, writing=AS_CARDS)
        ui.label(found.sentence[:1].upper() + found.sentence[1:]).classes("strong")
        table = found.words()
        names = [name.capitalize() for name in found.names]
        titles = {"cost": f"cost ({cost_words})"}
        rows = [(titles.get(row, str(row)), *map(str, table.loc[row])) for row in table.index]
        grid(("", *names), rows, numbers=1, paired=True)
        why = found.explanation
        if isinstance(why, RuleExplanation):
            note(HOLD.format(line=why.line))
            ui.label("Rule by rule").classes("strong")
            note(FIRES.format(names=found.names))
            shown = why.movers(STILL)[:RULES]
            for each in shown:
                _rule(why, each, found.names)
            rest, many = why.bars.sum() - sum(each.share for each in shown), len(why.bars)
            note(f"The other {many - len(shown)} rules add {share_of(why, float(rest))} together.")
            if why.note:
                note(why.note)
        else:
            movers(why)
        if why.protected:
            note(f"These {why.noun}s depend on what is protected: {', '.join(why.protected)}.")


def _rule(why: RuleExplanation, mover: Mover, names: tuple[str, str]) -> None:
    votes = why.points.clauses.votes_for[mover.at]
    with ui.element("details").classes("rule"):
        with ui.element("summary"):
            ui.label(f"Rule {mover.at}: {mover.words}").classes("what")
            ui.label(f"for {votes}, fires {mover.moves}").classes("muted numbers")
            ui.label(share_of(why, mover.share)).classes("numbers strong")
        table = why.literals(mover.at, least=LIKELY)
        if table.empty:
            note(f"No literal belongs to it with a probability of {LIKELY:.0%} or more.")
            return
        rows = [
            (
                str(each["literal"]), f"{each['probability']:.2f}",
                "holds" if each["before"] else "fails", "holds" if each["after"] else "fails",
            )
            for each in table.to_dict("records")
        ]  # fmt: skip
        grid(("literal", "belongs", *names), rows, numbers=1, tight=True)
