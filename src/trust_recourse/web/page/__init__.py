"""The page for a case worker: pick a person, slide the confidence, see what would change the no.

`people_panel` who to pick, and how they differ from accepted applicants · `question_panel` what is
asked and worked out · `texts` how numbers are written ·
`session` one browser tab · `screen` how the parts are laid out · `decision`, `form`, `cards`,
`frontier_chart`, `locks`, `compare`, `downloads`, `profile`, `promises_panel`,
`settings_panel` the parts · `widgets` small pieces of them, and work of which only the latest is
answered · `look.css` how they look.
"""

from __future__ import annotations

from fastapi import FastAPI
from nicegui import ui
from starlette.routing import Match, Mount
from starlette.types import Scope

from trust_recourse.web.auth import Policy
from trust_recourse.web.page.screen import show
from trust_recourse.web.state import AppState


def mount(app: FastAPI, state: AppState) -> None:
    """Put the page at `/` of an application; once in a process, and in one worker process."""
    show(state, "/")
    ui.run_with(
        app,
        title="Recourse",
        dark=None,  # as the system has it
        tailwind=False,
        favicon=ICON,
        language="en-US",
        show_welcome_message=False,
    )
    page = app.router.routes[-1].app  # type: ignore[attr-defined]
    app.router.routes[-1] = Beside("/", Policy(page))


class Beside(Mount):
    """The page's place, at every address but those of the service, which say their own mistakes."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the page answers."""
        service = (route for route in scope["app"].routes if route is not self)
        if scope.get("path", "").startswith("/v1/") or any(
            route.matches(scope)[0] is not Match.NONE for route in service
        ):
            return Match.NONE, {}
        return super().matches(scope)


ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="7" fill="#0072B2"/>'
    '<path d="M6 25h6v-6h6v-6h6V7" fill="none" stroke="#fff" stroke-width="3"/></svg>'
)
