"""By which profile and in which language a letter is written, and what that needs to be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from trust_recourse.report.institution import names_of
from trust_recourse.report.language import languages
from trust_recourse.report.profiles import PROFILES
from trust_recourse.web.page.parts import note

if TYPE_CHECKING:
    from trust_recourse.report.institution import Institution

KINDS = {
    "plain": "Plain letter",
    "us": "United States: notice of adverse action",
    "eu": "European Union: explanation of a decision",
}
LANGUAGES = {"en": "English", "de": "Deutsch"}
FIELDS = {
    "address": "Address of who writes",
    "agency": "Federal agency, with its address",
    "received": "Completed application received on",
    "decided": "Decided on, if not today",
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
CHOICES = {
    "consumer_report": {"": "", "no": "No", "yes": "Yes"},
    "inquiries": {"": "", "no": "No", "yes": "Yes"},
    "role": {"": "", "decides": "It decides", "advises": "A person decides"},
}
DAYS = ("received", "decided", "score_date")
REPORT = ("bureau", "score", "inquiries")  # how the fields of a consumer report begin


class ProfileFields:
    """The profile, the language, and a field for each fact that the institution's file lacks."""

    def __init__(self, institution: Institution, changed: Callable[[], None]) -> None:
        self.institution, self.changed = institution, changed
        known = languages(institution.catalogues)
        names = {code: LANGUAGES.get(code, code) for code in known}
        self.profile = ui.select(KINDS, label="Profile", value="plain").props("outlined dense")
        self.language = ui.select(names, label="Language", value="en").props("outlined dense")
        self.open = ui.element("div").classes("stack")
        self.inputs: dict[str, ui.input | ui.select] = {}
        self.late: ui.checkbox | None = None
        self.profile.on_value_change(self._another)
        self.language.on_value_change(changed)

    @property
    def given(self) -> dict[str, Any]:
        """What was filled in, by the names of the fields."""
        told = {name: field.value for name, field in self.inputs.items() if field.visible}
        return {**told, "late": True} if self.late is not None and self.late.value else told

    def forget(self) -> None:
        """Nothing that was typed of one person is said of the next."""
        self._another()

    def ask_late(self) -> None:
        """A box to say that a notice must go out after its time."""
        if self.late is None:
            with self.open:
                words = "Write it though its time has passed"
                self.late = ui.checkbox(words, on_change=self.changed)

    def _another(self) -> None:
        self.open.clear()
        self.inputs, self.late = {}, None
        facts, kind = self.institution.facts, self.profile.value
        names = [name for name in names_of(PROFILES[kind]) if name in FIELDS and name not in facts]
        with self.open:
            if kind == "us" and self.institution.reference is None:
                note("It compares with other applicants: start the server with --reference.")
            for name in names if kind != "plain" else ():
                self.inputs[name] = self._field(name)
        self._show()
        self.changed()

    def _field(self, name: str) -> ui.input | ui.select:
        made: ui.input | ui.select
        if name in CHOICES:
            made = ui.select(CHOICES[name], label=FIELDS[name], value="")
        else:
            made = ui.input(FIELDS[name])
        made.props("outlined dense hide-bottom-space")
        if name in DAYS:
            made.props("type=date stack-label")
        made.on_value_change(self._show)
        return made

    def _show(self) -> None:
        """The fields of a consumer report, where the decision rests on one."""
        rests = self.institution.facts.get("consumer_report")
        if "consumer_report" in self.inputs:
            rests = self.inputs["consumer_report"].value
        for name, field in self.inputs.items():
            field.visible = not name.startswith(REPORT) or rests in (True, "yes")
        self.changed()
