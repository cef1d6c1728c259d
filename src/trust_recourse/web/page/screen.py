"""How the parts of the page are laid out."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from trust_recourse import Option
from trust_recourse.web.page.cards import Cards
from trust_recourse.web.page.compare import Compare, WhatIf
from trust_recourse.web.page.decision import AskingPanel, Decision, Differences, Reasons
from trust_recourse.web.page.downloads import Exports
from trust_recourse.web.page.form import ByHand
from trust_recourse.web.page.frontier_chart import FrontierChart
from trust_recourse.web.page.locks import Locks, show_conditions, warn_of_freed
from trust_recourse.web.page.people_panel import SHOWN, PeopleTable, Picker
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.settings_panel import Settings
from trust_recourse.web.page.texts import ABOUT
from trust_recourse.web.state import AppState

LOOK = Path(__file__).with_name("look.css")
TO_THE_TOOLS = (  # with the keys too: the next Tab goes on from there
    "const tools = document.querySelector('.tools'); tools.focus({preventScroll: true}); "
    "tools.scrollIntoView({behavior: 'smooth', block: 'start'})"
)
LOCKS, TRY, COMPARE = "What may change", "Try values", "Compare"
PAPERS, SETTINGS = "Letter and promise", "Settings"
LIGHTS = {"Auto": None, "Light": False, "Dark": True}


def show(state: AppState, path: str) -> None:
    """Have the page shown at a path, for one app state."""
    people = None if state.people is None else PeopleTable(state.recourse, state.people)

    @ui.page(path, title=f"{state.organisation or 'Recourse'}")
    def page() -> None:
        ui.add_css(LOOK)
        Screen(Session(state, people))


class Screen:
    """The whole page of one tab."""

    def __init__(self, session: Session) -> None:
        self.session = session
        with ui.element("header").classes("top"):
            with ui.element("h1"):
                ui.label(session.state.organisation or "Recourse")
            ui.label(ABOUT).classes("about")
            dark = ui.dark_mode(None)
            lights = ui.toggle(list(LIGHTS), value="Auto").props("no-caps dense unelevated")
            words = "Light or dark, or as the system has it"
            lights.props["aria-label"] = lights.props["title"] = words
            lights.on_value_change(lambda e: dark.set_value(LIGHTS[e.value]))
        with ui.element("main").classes("shell"):
            with ui.element("aside").classes("side"), ui.element("section").classes("panel"):
                if session.people is not None:
                    Picker(session, session.people)
                ByHand(session)
            with ui.element("div").classes("body") as answer:
                self._body()

        def grey() -> None:  # what answers earlier values than those that are typed
            answer.classes(**{"add" if session.gap else "remove": "stale"})

        session.on(grey, "gap")
        ui.skip_link("Skip to the answer", target=answer)

    def _body(self) -> None:
        session = self.session
        with ui.element("section").classes("panel"):
            Decision(session)
            Reasons(session)
            if session.people is not None and len(session.people.recourse.schema.names) > SHOWN:
                Differences(session, session.people)
            AskingPanel(session)
            show_conditions(session)
        with ui.element("section").classes("answers"):
            Cards(session, self._try)
        with ui.element("section").classes("panel"):
            FrontierChart(session)
        with ui.element("section").classes("panel tools").props("tabindex=-1"):
            self._tools()

    def _tools(self) -> None:
        session = self.session
        warn_of_freed(session)
        with ui.tabs().props("no-caps inline-label align=left active-color=primary") as self.tabs:
            for name in (LOCKS, TRY, COMPARE, PAPERS, SETTINGS):
                ui.tab(name)
        with ui.tab_panels(self.tabs, value=None, animated=False).classes("wide") as panels:
            with ui.tab_panel(LOCKS):
                self.locks = Locks(session)
            with ui.tab_panel(TRY):
                self.trying = WhatIf(session)
            with ui.tab_panel(COMPARE):
                self.sides = Compare(session)
            with ui.tab_panel(PAPERS):
                self.exports = Exports(session)
            with ui.tab_panel(SETTINGS):
                Settings(session)
        panels.on_value_change(lambda: self._opened(str(panels.value)))

    def _opened(self, name: str) -> None:
        self.locks.shown(name == LOCKS)
        self.sides.shown(name == COMPARE)
        self.exports.shown(name == PAPERS)

    def _try(self, option: Option) -> None:
        self.trying.start(option)
        self.tabs.set_value(TRY)
        ui.run_javascript(TO_THE_TOOLS)
