"""A person's values, to read, to correct, or to enter where there is no table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.web.page.form import Form, meanings
from trust_recourse.web.page.texts import doubt
from trust_recourse.web.page.widgets import heading, note, press, tell

if TYPE_CHECKING:
    from trust_recourse.web.page.session import Session

EDITED = ", values corrected"


class ByHand:
    """The form of the person as they are; a whole set of values is asked about at once."""

    def __init__(self, session: Session) -> None:
        self.session, self._mine = session, False
        place = ui.element("details").classes("by-hand")
        if session.people is None:
            place.props["open"] = True
        with place:
            with ui.element("summary"):
                heading("Values" if session.people is None else "Values: see, correct or enter", 3)
            note("What is typed here is asked about at once; the table keeps what it has.")
            self.said = note("")
            self.back = press("Back to the table’s values", session.restore)
            self.form = Form(
                session.state.recourse.schema, self._changed, fold=session.people is not None
            )
        session.on(self._person, "person")
        session.on(self._back, "person", "gap")
        self._words()
        self._back()

    def _back(self) -> None:
        self.back.visible = self.session.corrected

    def _person(self) -> None:
        if not self._mine and self.session.question is not None:
            self.form.fill(self.session.question.person)
        self._words()

    def _changed(self) -> None:
        self.form.compute()
        values = self.form.values()
        if values is None:
            self.session.leave(self.form.gap)
        else:
            name = self.session.name.removesuffix(EDITED)
            name = f"{name}{EDITED}" if name and name != "This person" else "This person"
            self._mine = True
            try:
                self.session.correct(name, self.session.state.recourse.schema.row(values))
            finally:
                self._mine = False
        self._words()

    def _words(self) -> None:
        read = self.form.read()
        for name, feature in self.form.features.items():
            asked = doubt(feature, read[name]) if name in read else ""
            blank = "may be left blank" if None in feature.missing else ""
            told = asked or meanings(feature) or blank
            self.form.hint(name, told, doubted=bool(asked))
        tell(self.said, self.form.gap)
