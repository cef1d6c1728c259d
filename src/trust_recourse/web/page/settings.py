"""All that can be asked beside the confidence, the options and the locks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

from nicegui import ui

from trust_recourse.cost import Cost
from trust_recourse.question import read_limit
from trust_recourse.search.engines import Anywhere
from trust_recourse.vocabulary import HELP, Mode, PlausibleBy
from trust_recourse.web.page.parts import note, status_line

if TYPE_CHECKING:
    from trust_recourse.web.page.session import Session

OWN = "as the model has it"
NUMBERS = {
    "tolerance": "Tolerance of the band", "decision_threshold": "Decision threshold",
    "min_distance": "Distance of options", "min_radius": "Radius to stay accepted in",
    "floor": "Confidence within the radius", "gap": "Gap that is enough",
    "time_limit": "Seconds of search", "node_limit": "Boxes to open", "n_trials": "Trials",
    "random_state": "Seed",
}  # fmt: skip
WHOLE = ("node_limit", "n_trials", "random_state")
KEEP = {"tolerance": 0.1, "gap": 0.0, "random_state": 0}  # what an empty field means, if not None


class Settings:
    """A field for each part of the question; what makes no question is told and not asked."""

    def __init__(self, session: Session) -> None:
        self.session = session
        note("What is asked beside the confidence. Empty is as the model and its rules have it.")
        self.waiting, self.failed = status_line("")
        with ui.element("div").classes("settings"):
            self._choice("mode", "Asked for", get_args(Mode), str)
            self._choice("cost", "Cost", ("l0", "l1", "l2"), Cost.named)
            self._choice("engine", "Engine", get_args(Anywhere), str)
            self._choice(
                "plausible", "Plausible rows", get_args(PlausibleBy), session.state.plausible
            )
            for part, label in NUMBERS.items():
                self._number(part, label)
            self._limits()

    def _choice(
        self, part: str, label: str, known: tuple[str, ...], made: Callable[[str], Any]
    ) -> None:
        default = getattr(self.session.settings, part)
        values = [*known] if isinstance(default, str) else [OWN, *known]
        field = ui.select(values, label=label, value=default or OWN).props("outlined dense")
        field.tooltip(HELP[part])
        field.on_value_change(
            lambda e: self._ask(part, lambda: None if e.value == OWN else made(str(e.value)))
        )

    def _number(self, part: str, label: str) -> None:
        kind = int if part in WHOLE else float
        field = ui.input(label, value=str(KEEP.get(part, ""))).props("outlined dense debounce=400")
        field.props("inputmode=decimal").tooltip(HELP[part])

        def read() -> Any:
            text = str(field.value or "").strip()
            return kind(text) if text else KEEP.get(part)

        field.on_value_change(lambda: self._ask(part, read))

    def _limits(self) -> None:
        field = ui.input("Limits").props("outlined dense debounce=600").classes("wide")
        field.props["placeholder"] = "loan=..5000; age=18..65"
        field.tooltip(HELP["limits"])

        def read() -> Any:
            given = [text.strip() for text in str(field.value or "").split(";") if text.strip()]
            return dict(read_limit(text, self.session.state.recourse.schema) for text in given)

        field.on_value_change(lambda: self._ask("limits", read))

    def _ask(self, part: str, read: Callable[[], Any]) -> None:
        try:
            self.session.ask(**{part: read()})
        except (ValueError, TypeError) as error:
            self.failed(str(error))
            return
        self.waiting(False)
