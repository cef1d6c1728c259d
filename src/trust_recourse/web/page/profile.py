"""By which profile and in which language a letter is written, and what that needs to be told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from nicegui import ui

from trust_recourse.report.language import languages
from trust_recourse.report.letter.institution import Institution
from trust_recourse.report.letter.profiles import PROFILES, MissingFieldsError, Profile
from trust_recourse.web.page.widgets import note

KINDS = {
    "plain": "Plain letter",
    "us": "United States: notice of adverse action",
    "eu": "European Union: explanation of a decision",
}
LANGUAGES = {"en": "English", "de": "Deutsch"}
LABELS = {
    "address": "Address of who writes",
    "agency": "Federal agency, with its address",
    "received": "Completed application received on",
    "decided": "Decided on, for the record",
    "consumer_report": "Does it rest on a consumer report?",
    "bureau": "Consumer reporting agency",
    "bureau_address": "Address of the agency",
    "bureau_telephone": "Telephone of the agency",
    "score": "Credit score, or none",
    "score_low": "Least score of its kind",
    "score_high": "Greatest score of its kind",
    "score_date": "Score created on",
    "score_source": "Who gave the score, if not the agency",
    "score_factors": "What lowered the score, between semicolons",
    "inquiries": "Are inquiries a fifth of these?",
    "role": "Part of the system in the decision",
    "consequences": "What follows from the decision",
    "review": "Whom to ask for a review",
    "dpo": "Data protection officer, or none",
    "authority": "Supervisory authority",
    "sources": "Where the values come from, or none",
}
YES_OR_NO = {"": "", "no": "No", "yes": "Yes"}
ROLES = {"": "", "decides": "It decides", "advises": "A person decides"}
LATE = "late"  # asked only where a letter would be


NEEDED = "This letter needs it."
REPORT = ("bureau", "score", "inquiries")  # how the fields of a consumer report begin
ASKED: dict[str, dict[str, Any]] = {  # how, by the type of a profile's field
    "str": {},
    "float | str": {},
    "tuple[str, ...]": {},
    "datetime.date | str": {"day": True},
    "bool | str": {"choices": YES_OR_NO},
}


class ProfileEntry(NamedTuple):
    """How a fact of a letter is asked for: a text, a day, or one of a few choices."""

    name: str
    label: str
    day: bool = False
    choices: Mapping[str, str] = {}


def label(name: str) -> str:
    """What a fact of a letter is called on the page."""
    return LABELS.get(name, name.replace("_", " ").capitalize())


def entries(kind: type[Profile], known: Collection[str]) -> list[ProfileEntry]:
    """Every fact of a profile that is not known yet, in its order."""
    found = []
    for each in fields(kind):
        if each.name in known or each.name == LATE:
            continue
        if str(each.type) not in ASKED:
            raise TypeError(f"{kind.__name__}.{each.name}: no field of the page is for {each.type}")
        how = {"choices": ROLES} if each.name == "role" else ASKED[str(each.type)]
        found.append(ProfileEntry(each.name, label(each.name), **how))
    return found


def missing(kind: type[Profile], facts: Mapping[str, Any], given: Mapping[str, Any]) -> set[str]:
    """The facts that a profile needs beside those that are known and given."""
    known = {each.name for each in fields(kind)}
    told = {name: fact for name, fact in facts.items() if name in known}
    told |= {name: value for name, value in given.items() if value}
    for name, fact in told.items():
        if isinstance(fact, Mapping):
            told[name] = next(iter(fact.values()), "")  # in any of its languages
    try:
        kind(**told)
    except MissingFieldsError as error:
        return set(error.names)
    except ValueError:  # it is said once a letter is asked for
        pass
    return set()


class ProfileFields:
    """The profile, the language, and a field for each fact that the institution's file lacks."""

    def __init__(self, institution: Institution, changed: Callable[[], None]) -> None:
        self.institution, self.changed = institution, changed
        known = languages(institution.catalogues)
        names = {code: LANGUAGES.get(code, code) for code in known}
        kinds = {name: KINDS.get(name, name) for name in PROFILES}
        self.profile = ui.select(kinds, label="Profile", value="plain").props("outlined dense")
        self.language = ui.select(names, label="Language", value="en").props("outlined dense")
        self.open = ui.element("div").classes("stack")
        self.inputs: dict[str, ui.input | ui.select] = {}
        self.typed: dict[str, Any] = {}  # of one person, by whatever profile
        self.late: ui.checkbox | None = None
        self.profile.on_value_change(self._another)
        self.language.on_value_change(changed)
        self._ask()

    @property
    def given(self) -> dict[str, Any]:
        """What was filled in, by the names of the fields."""
        told = {name: field.value for name, field in self.inputs.items() if field.visible}
        return {**told, LATE: True} if self.late is not None and self.late.value else told

    def forget(self) -> None:
        """Nothing that was typed of one person is said of the next."""
        self.typed = {}
        self._another()

    def lack(self, names: Collection[str]) -> None:
        """Make the fields stand out without which there is no letter."""
        for name in names:
            if name in self.inputs:
                self.inputs[name].props["error"] = True

    def ask_late(self) -> None:
        """A box to say that a notice must go out after its time."""
        if self.late is None:
            with self.open:
                words = "Write it though its time has passed"
                self.late = ui.checkbox(words, on_change=self.changed)

    def _another(self) -> None:
        self._ask()
        self._show()

    def _ask(self) -> None:
        self.open.clear()
        self.inputs, self.late = {}, None
        kind = PROFILES[self.profile.value]
        with self.open:
            if kind.compares and self.institution.reference is None:
                note("It compares with other applicants: start the server with --reference.")
            for entry in entries(kind, self.institution.facts):
                self._field(entry)

    def _field(self, entry: ProfileEntry) -> None:
        made: ui.input | ui.select
        if entry.choices:
            made = ui.select(dict(entry.choices), label=entry.label, value="")
        else:
            made = ui.input(entry.label)
        made.value = self.typed.get(entry.name, "")
        made.props("outlined dense hide-bottom-space")
        if entry.day:
            made.props("type=date stack-label")
        made.without_auto_validation().props["error-message"] = NEEDED

        def typed() -> None:
            self.typed[entry.name] = made.value
            self._show()

        made.on_value_change(typed)
        self.inputs[entry.name] = made

    def _show(self) -> None:
        """Show the fields of a consumer report where the decision rests on one; mark the needed."""
        rests = self.institution.facts.get("consumer_report")
        if "consumer_report" in self.inputs:
            rests = self.inputs["consumer_report"].value
        for name, field in self.inputs.items():
            field.visible = not name.startswith(REPORT) or rests in (True, "yes")
        needed = missing(PROFILES[self.profile.value], self.institution.facts, self.given)
        for name, field in self.inputs.items():
            field.props["hint"] = NEEDED if name in needed else ""
            field.props["error"] = field.props.get("error", False) and name in needed
        self.changed()
