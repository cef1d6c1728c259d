"""All that can be asked beside the confidence, the options, the locks and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from nicegui import ui

from trust_recourse.question import Question
from trust_recourse.question.cost import Cost
from trust_recourse.question.vocabulary import HELP, outside, reworded
from trust_recourse.search.engines import Engine
from trust_recourse.web.page.widgets import note, status_line
from trust_recourse.web.page.words import STANDS

if TYPE_CHECKING:
    from trust_recourse.web.page.session import Session
    from trust_recourse.web.state import AppState


def _number(_: AppState, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"given {text!r}, expected a number") from None


def _whole(_: AppState, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"given {text!r}, expected a whole number") from None


class Field(NamedTuple):
    """How a part of the question is given: what it is called, and what is made of its text."""

    label: str
    read: Callable[[AppState, str], Any]
    choices: Mapping[str, str] = {}  # each with its words; "" is the default
    example: str = ""


def _same(_: AppState, text: str) -> str:
    return text


MODES = {
    "at_least": "at least that much", "band": "a band around it",
    "wins": "that no other class has more",
}  # fmt: skip
ROWS = {"": "any", "neighbours": "by near neighbours", "isolation": "by isolation"}
COUNTS = {"": "no", "True": "yes"}
MOVES = {"": "move by their steps", "True": "move by anything"}
FIELDS = {
    "mode": Field("Asked for", _same, MODES),
    "tolerance": Field("Tolerance of the band", _number),
    "decision_threshold": Field("Decision threshold", _number),
    "max_changes": Field("Changes at most", _whole),
    "sparse": Field("Fewest changes first", lambda _, text: text == "True", COUNTS),
    "cost": Field("Cost", lambda _, text: Cost.read(text), example="such as l1, or l0=0.1,l1=1"),
    "min_radius": Field("Radius to stay accepted in", _number, example="such as 0.05"),
    "floor": Field("Confidence within the radius", _number),
    "continuous": Field("Numbers within the radius", lambda _, text: text == "True", MOVES),
    "survives": Field("Share of models learnt anew", _number, example="such as 0.9"),
    "plausible": Field("Plausible rows", lambda state, name: state.plausible(name), ROWS),
    "min_distance": Field("Distance of options", _number),
    "engine": Field("Engine", _same, {name: name for name in get_args(Engine)}),
    "gap": Field("Gap that is enough", _number),
    "time_limit": Field("Seconds of search", _number),
    "node_limit": Field("Boxes to open", _whole),
    "n_trials": Field("Trials", _whole),
    "random_state": Field("Seed", _whole),
}


def parts(state: AppState, texts: Mapping[str, str]) -> dict[str, Any]:
    """The parts of a question that texts say, by their names; an empty one is the default."""
    default, found = Question(), {}
    for part, text in texts.items():
        given = text.strip()
        try:
            found[part] = FIELDS[part].read(state, given) if given else getattr(default, part)
        except (ValueError, TypeError) as error:
            said = str(error).replace(f"{part}=", "given ", 1)
            raise ValueError(f"{FIELDS[part].label}: {said}") from None
    return found


def field_name(part: str) -> str:
    """What a part of a question is called on the page."""
    return f"“{FIELDS[part].label}”" if part in FIELDS else outside(part)


def also(asked: Question) -> str:
    """What is asked beside the confidence, as the fields call it; empty if nothing is."""
    given, said = asked.to_dict(), []
    for part, field in FIELDS.items():
        if part != "mode" and outside(part) in given:
            value = given[outside(part)]
            if asked.cost is not None and part == "cost":
                value = asked.cost.words
            said.append(f"{field.label.lower()} {field.choices.get(str(value), value)}")
    return "; ".join(said)


class Settings:
    """A field for each part of the question, all read at every edit: what they say is asked."""

    def __init__(self, session: Session) -> None:
        self.session, self._following = session, False
        note("What is asked beside the confidence. Empty is as the model and its rules have it.")
        self.waiting, self.failed = status_line("")
        with ui.element("div").classes("settings"):
            self.fields = {part: self._field(part, field) for part, field in FIELDS.items()}
        session.on(self._follow, "question")

    def _field(self, part: str, field: Field) -> ui.select | ui.input:
        made: ui.select | ui.input
        if field.choices:
            value = getattr(self.session.settings, part) or ""
            made = ui.select(dict(field.choices), label=field.label, value=value)
        else:
            made = ui.input(field.label).props("debounce=400")
            made.props["placeholder"] = field.example or str(getattr(Question(), part) or "")
        made.props("outlined dense stack-label").props["hint"] = HELP[part]
        made.on_value_change(self._ask)
        return made

    def _follow(self) -> None:
        """Show the mode that is asked, which a confidence asked for elsewhere may have changed."""
        self._following = True
        self.fields["mode"].value = self.session.settings.mode
        self._following = False

    def _ask(self) -> None:
        if self._following:
            return
        texts = {part: str(field.value or "") for part, field in self.fields.items()}
        try:
            self.session.ask(**parts(self.session.state, texts))
        except (ValueError, TypeError) as error:
            self.failed(f"{reworded(str(error), field_name).rstrip('.')}. {STANDS}")
            return
        self.waiting(False)
