"""All that can be asked beside the confidence, the options, the locks and the limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from nicegui import ui

from trust_recourse.question import Question
from trust_recourse.question.cost import Cost
from trust_recourse.question.vocabulary import PARTS, outside, reworded
from trust_recourse.search.engines import Engine
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import FIELDS, STANDS, field_name
from trust_recourse.web.page.widgets import note, status_line
from trust_recourse.web.state import AppState

CHOICES: dict[str, dict[str, str]] = {  # each with its words; "" is the default
    "mode": {
        "at_least": "at least that much", "band": "a band around it",
        "argmax": "that no other class has more",
    },
    "sparse": {"": "no", "True": "yes"},
    "continuous": {"": "move by their steps", "True": "move by anything"},
    "plausible": {"": "any", "neighbours": "by near neighbours", "isolation": "by isolation"},
    "engine": {name: name for name in get_args(Engine)},
}  # fmt: skip


def parts(state: AppState, texts: Mapping[str, str]) -> dict[str, Any]:
    """The parts of a question that texts say, by their names; an empty one is the default."""
    found = {}
    for part, text in texts.items():
        given, kind = text.strip(), PARTS[part].kind
        try:
            if not given:
                found[part] = PARTS[part].default
            elif part == "cost":
                found[part] = Cost.read(given)
            elif part == "plausible":
                found[part] = state.plausible(given)
            elif kind is bool:
                found[part] = given == "True"
            else:
                found[part] = _number(kind, given) if kind in (int, float) else given
        except (ValueError, TypeError) as error:
            said = str(error).replace(f"{part}=", "given ", 1)
            raise ValueError(f"{PARTS[part].setting.label}: {said}") from None
    return found


def _number(kind: type[int] | type[float], text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        number = "whole number" if kind is int else "number"
        raise ValueError(f"given {text!r}, expected a {number}") from None


def also(asked: Question) -> str:
    """What is asked beside the confidence, as the fields call it; empty if nothing is."""
    given, said = asked.to_dict(), []
    for part in FIELDS:
        if part != "mode" and outside(part) in given:
            value = given[outside(part)]
            if asked.cost is not None and part == "cost":
                value = asked.cost.words
            words = CHOICES.get(part, {}).get(str(value), value)
            said.append(f"{PARTS[part].setting.label.lower()} {words}")
    return "; ".join(said)


class Settings:
    """A field for each part of the question, all read at every edit: what they say is asked."""

    def __init__(self, session: Session) -> None:
        self.session, self._following = session, False
        note("What is asked beside the confidence. Empty is as the model and its rules have it.")
        self.waiting, self.failed = status_line("")
        with ui.element("div").classes("settings"):
            self.fields = {part: self._field(part) for part in FIELDS}
        session.on(self._follow, "question")

    def _field(self, part: str) -> ui.select | ui.input:
        made: ui.select | ui.input
        told, choices = PARTS[part].setting, CHOICES.get(part)
        if choices:
            value = getattr(self.session.settings, part) or ""
            made = ui.select(dict(choices), label=told.label, value=value)
        else:
            made = ui.input(told.label).props("debounce=400")
            example = f"such as {told.example}" if told.example else str(PARTS[part].default or "")
            made.props["placeholder"] = example
        made.props("outlined dense stack-label").props["hint"] = told.help
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
            self.waiting(False)
        except (ValueError, TypeError) as error:
            self.failed(f"{reworded(str(error), field_name).rstrip('.')}. {STANDS}")
