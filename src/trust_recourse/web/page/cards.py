"""The options: a card each, with what changes, what it costs, how sure it is and what is proved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from nicegui import ui

from trust_recourse import Option, Result, Status
from trust_recourse.answers import text
from trust_recourse.answers.measurements import SIGMA, beyond, beyond_words, safety_of
from trust_recourse.io.wording import distance, percent, unbroken
from trust_recourse.question import MostConfident, option_name
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import badge, cost, percent_up
from trust_recourse.web.page.widgets import Latest, fact, folded, heading, note, press, status_line

FEWER = "No other way was found that leaves half of this as it is and is no part of it."
GLOSSARY = {
    "Confidence": "the model’s, in a yes at just these values, rounded down.",
    "Cost": "how far the values move, each in units of its scale; L1 is the sum of these moves, L2 "
    "their length, L0 their number.",
    "Robustness under noise": "how likely a yes stays one if every number is off by chance, by "
    f"{SIGMA:.0%} of its scale or so. Whole numbers move as a whole.",
    "Certified radius": "a yes stays a yes while every number is off by less than that share of "
    "its scale. Whole numbers move as a whole. “≥” marks a lower bound: a fixed budget of work "
    "ended the search.",
    "Holds for": "within these ranges every value will do, in any combination.",
    "Try": "puts an option’s values into a form to play with.",
    "Keep": "holds an option to be compared with later answers.",
}


class Cards:
    """What would change the model's answer, or that nothing would and why."""

    def __init__(self, session: Session, try_values: Callable[[Option], None]) -> None:
        self.session, self._try = session, try_values
        heading("What would change the answer")
        waiting, self._failed = status_line("Searching…")
        self.search = Latest(waiting, self._none)
        self.place = ui.element("div").classes("cards answer")
        self.place.props["aria-live"] = "polite"
        self.more = Latest(lambda _: None, self._unsafe)
        self.safety: dict[int, tuple[ui.label, ui.label, ui.label]] = {}
        session.on(self._empty, "person")
        session.on(self._ask, "question")
        session.on(self._show, "answer")
        self._empty()

    def _empty(self) -> None:
        self.search.stop()
        self.more.stop()
        self.place.clear()
        if self.session.question is None:
            with self.place:
                note("The options appear with a person.").classes("wide-card")

    def _none(self, why: str) -> None:
        """Say why there is no answer, or no more of it; cards of an earlier question go."""
        if self.session.result is None:
            self._empty()
        self._failed(why)
        self.session.more = False
        self.session.settle()

    def _ask(self) -> None:
        if self.session.question is not None:
            self.place.classes(remove="current")
            self.search.ask(self.session.answer)

    def _show(self) -> None:
        result = self.session.result
        assert result is not None
        self.more.stop()
        self.place.clear()
        self.place.classes("current")
        self.safety = {}
        target, status = next(iter(result.status.items()))
        self.place.props["data-asked"] = f"{target.confidence:.4f}"  # what the cards answer
        words = target.words if target.mode == "argmax" else percent(target.confidence)
        with self.place:
            if status is Status.INFEASIBLE:
                with ui.element("article").classes("card wide-card") as self.far:
                    heading("Out of reach", 3)
                    ui.label(f"{words}: {status.sentence}")
                    if result.recourse.exact:
                        self.far_note = note("Searching for the highest confidence within reach…")
            elif status is Status.NOT_FOUND:
                with ui.element("article").classes("card wide-card"):
                    heading("Not found in time", 3)
                    ui.label(f"{words}: {status.sentence}")
                    note("Ask for less confidence or fewer options, or lock a feature.")
            for at, option in enumerate(result.options):
                self._card(result, at, option)
            fewer = (
                len(result.options) < self.session.settings.n_options
                and not self.session.more
                and status is not Status.ALREADY_MET
            )
            if result.options and fewer:
                note(FEWER).classes("wide-card")
            for sentence in limit_words(result):
                note(sentence).classes("wide-card")
            if result.options:
                self._glossary(result.recourse.cost.words)
        self.more.ask(lambda: self._complete(result, status))

    @staticmethod
    def _glossary(cost_words: str) -> None:
        """A line for each word and button of the cards, once it is opened."""
        title = "What the words and buttons mean"
        with folded("wide-card meanings", title), ui.element("dl").classes("glossary"):
            for name, meaning in GLOSSARY.items():
                with ui.element("dt").classes("strong"):
                    ui.label(f"{name} ({cost_words})" if name == "Cost" else name)
                with ui.element("dd"):
                    ui.label(meaning)

    # ------------------------------------------------------------ one option

    def _card(self, result: Result, at: int, option: Option) -> None:
        known, name = badge(result, at), option_name(at)

        def kept_to_compare() -> None:
            self.session.keep(option)
            keep.set_text("Kept")
            keep.props["aria-label"] = f"Kept {name} to compare"

        with ui.element("article").classes("card") as card:
            card.props["aria-label"] = name
            with ui.element("header"):
                heading(name.capitalize(), 3)
                with ui.element("span").classes(
                    f"badge {'proved' if known.proved else ''}"
                ) as mark:
                    ui.icon(known.icon).props["aria-hidden"] = "true"
                    ui.label(known.word)
                    mark.props["title"] = known.sentence
            self._changes(result, option)
            with ui.element("dl").classes("facts"):
                fact("Confidence", percent(option.confidence))
                fact(f"Cost ({result.recourse.cost.words})", cost(option.cost))
                kept = fact("Robustness under noise", "…")
                radius = fact("Certified radius", "…")
                room = fact("Holds for", "…").classes("lines")
            self.safety[at] = (radius, kept, room)
            if refusal := text.refusal(result, at):
                ui.label(f"{refusal[:1].upper()}{refusal[1:]}").classes("warning")
            ui.label(known.sentence).classes("muted note")
            if option.changes:
                with ui.element("footer"):
                    press("Try", lambda: self._try(option), told=f"Try the values of {name}")
                    keep = press("Keep", kept_to_compare, told=f"Keep {name} to compare")

    def _changes(
        self, result: Result, option: Option, worth: Mapping[str, float] | None = None
    ) -> None:
        schema = result.recourse.schema
        with ui.element("ul").classes("changes"):
            for name, (old, new) in option.changes.items():
                with ui.element("li"):
                    ui.label(schema[name].heading).classes("what")
                    with ui.element("span").classes("move numbers"):
                        ui.label(unbroken(schema.describe(name, old))).classes("old")
                        ui.label("→").props["aria-label"] = "to"
                        ui.label(unbroken(schema.describe(name, new))).classes("new")
                        if worth is not None and name in worth:
                            ui.label(f"worth {100 * worth[name]:.0f} points")
            if not option.changes:
                with ui.element("li"):
                    ui.label("as they are")

    async def _complete(self, result: Result, status: Status) -> None:
        """Fill in what takes longer than the answer, then let other parts of the page begin."""
        if result.options:
            await self._safeties(result)
        elif status is Status.INFEASIBLE and result.recourse.exact:
            await self._far(result)
        if not self.session.more:
            self.session.settle()

    async def _safeties(self, result: Result) -> None:
        for at in list(self.safety):
            radius = noise = "–"  # there is no approval to measure
            if result.accepted(at):
                found = await self.session.state.work(partial(safety_of, result, at))
                radius, noise = distance(found.radius), str(found.noise)
            self.safety[at][0].text, self.safety[at][1].text = radius, noise
        for at, option in enumerate(result.options):
            said = ["just these values"]
            lasting = option.target in result.survival
            if result.recourse.exact and option.changes and not lasting:
                spans = await self.session.state.work(partial(text.range_words, result, at))
                schema = result.recourse.schema
                said = [f"{schema[name].heading}: {span}" for name, span in spans.items()]
            self.safety[at][2].text = unbroken("\n".join(said))

    def _unsafe(self, why: str) -> None:
        for labels in self.safety.values():
            for label in labels:
                if label.text == "…":
                    label.text = "not known"
        with self.place:
            note(why)
        self.session.settle()

    # ------------------------------------------------------------ no option

    async def _far(self, result: Result) -> None:
        state = self.session.state
        max_confidence = await state.work(lambda: result.max_confidence)
        with self.far:
            self.far_note.delete()
            ui.label(highest_words(max_confidence)).classes("strong")
            if result.question.min_radius:
                note("Without the radius.")
            if max_confidence.changes:
                self._changes(result, max_confidence, max_confidence.worth)
                press(
                    "Ask for this", lambda: self.session.ask(confidence=max_confidence.confidence),
                    told="Ask for the highest confidence that was found",
                )  # fmt: skip
            button = press("Which limits hold them back?", lambda: self._relax(result, button))

    def _relax(self, result: Result, button: ui.button) -> None:
        button.delete()
        with self.far:
            waiting, _ = status_line("Searching with each limit relaxed, one after another…")
            waiting(True)

        async def work() -> None:
            table = await self.session.state.work(lambda: beyond(result))
            waiting(False)
            with self.far:
                if not table.empty:
                    ui.label("What holds them back").classes("strong")
                    with ui.element("ul").classes("changes"):
                        for lifted in table.head(6).to_dict("records"):
                            least = "" if lifted["proved"] else "at least "
                            reachable = f"{least}{percent(lifted['reachable'])}"
                            with ui.element("li"):
                                ui.label(f"If {lifted['if']}").classes("what")
                                ui.label(reachable).classes("numbers strong")
                if words := beyond_words(len(table), table.attrs["open"]):
                    note(words)

        self.more.ask(work)


def limit_words(result: Result) -> list[str]:
    """A sentence for each target whose search a limit ended."""
    said = []
    for target, limit in result.ended_by.items():
        given = getattr(result.question, limit)
        name = f"the time limit of {given:g} s" if limit == "time_limit" else f"{given:,} boxes"
        said.append(f"{target.words}: {name} ended the search. Settings has this limit.")
    return said


def highest_words(found: MostConfident) -> str:
    """The highest reachable confidence, and how much of it the changes bring that are shown."""
    most, then = percent(found.most), percent(found.confidence)
    who = "The highest confidence this person can reach is"
    said = f"{who} {most}"
    if not found.proved:
        said = f"{who} at least {most}, at most {percent_up(found.ceiling)}"
    if not found.changes and most == then:
        none = f". They are at {then} now, and no change was found that leads to more."
        return f"{said}, which is where they are now." if found.proved else said + none
    if not found.changes:
        return f"{said}. They are at {then} now, and all changes together add less than a point."
    if most == then:
        by = ", by these changes:" if found.proved else f". These changes lead to {then}:"
        return said + by
    return f"{said}. These changes lead to {then}, and all others add less than a point:"
