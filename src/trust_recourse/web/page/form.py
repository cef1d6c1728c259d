"""A person's values by hand: a field for each feature, in a list that is filtered and folded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from nicegui import ui

from trust_recourse import Feature, Schema
from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import unbroken, written
from trust_recourse.schema.derived import filled
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import doubt, follows
from trust_recourse.web.page.widgets import folded, note, press, tell

MANY = 12  # features; a longer list has a filter and folds those that are locked
EDITED = ", values corrected"


def is_long(schema: Schema) -> bool:
    """Whether a list of the features has a filter and a fold."""
    return len(schema.names) > MANY


class FeatureList:
    """An element for each feature, in the schema's order; a long list is filtered and folded.

    `row` draws a feature and returns its element. `opened` is called with whether the fold is open.
    """

    def __init__(
        self,
        schema: Schema,
        row: Callable[[Feature], ui.element],
        *,
        tag: str = "div",
        kind: str = "",
        fold: bool = True,
        opened: Callable[[bool], None] = lambda _: None,
    ) -> None:
        self.schema, self._tag, self._kind, self._row = schema, tag, kind, row
        self.rows: dict[str, ui.element] = {}
        self.fold: ui.element | None = None
        if not is_long(schema):
            self._draw([*schema])
            return
        field = ui.input("Filter features").classes("filter")
        field.props("outlined dense clearable debounce=150")
        field.on_value_change(lambda: self._show(field.value or ""))
        self.none = note("No feature has these words in its name.")
        self.none.visible = False
        locked = [feature for feature in schema if fold and not feature.movable]
        self._draw([feature for feature in schema if feature not in locked])
        if locked:
            title = f"{len(locked)} locked feature{'s' * (len(locked) > 1)}"
            with folded("fold", title) as self.fold:
                self._draw(locked)
            self.fold.on(
                "toggle", lambda e: opened(bool(e.args)), js_handler="(e) => emit(e.target.open)"
            )

    def _draw(self, features: list[Feature]) -> None:
        with ui.element(self._tag).classes(self._kind):
            for feature in features:
                self.rows[feature.name] = self._row(feature)

    def _show(self, text: str) -> None:
        """Show the features whose title or column has every word of a text; the fold opens."""
        words = text.casefold().split()
        for name, row in self.rows.items():
            title = f"{self.schema[name].title} {name}".casefold()
            row.visible = all(word in title for word in words)
        shown = [self.schema[name] for name, row in self.rows.items() if row.visible]
        self.none.visible = not shown
        if self.fold is not None:
            self.fold.visible = any(not feature.movable for feature in shown)
            if words:
                ui.run_javascript(f"getHtmlElement({self.fold.id}).open = true")


class Form:
    """A field for each feature; `values()` reads them, or says of each what is wrong.

    What follows from others is not typed but computed, and its field says from what.
    """

    def __init__(self, schema: Schema, then: Callable[[], None], *, fold: bool = True) -> None:
        self.schema = schema
        self.fields: dict[str, ui.input | ui.select] = {}
        self.features = {feature.name: feature for feature in schema}
        self._then, self._quiet = then, False
        FeatureList(schema, self._field, kind="form", fold=fold)
        self.fields = {name: self.fields[name] for name in self.features}

    def _field(self, feature: Feature) -> ui.input | ui.select:
        unit = f" ({feature.unit})" if feature.unit not in ("", feature.title) else ""
        field: ui.input | ui.select
        if _listed(feature):
            choices = {at: feature.describe(v) for at, v in enumerate(_values(feature))}
            field = ui.select(choices, label=f"{feature.title}{unit}")
        else:
            field = ui.input(f"{feature.title}{unit}").props("type=number debounce=200")
            field.props["step"] = written(feature.step) if feature.step else "any"
            field.props["hint"] = meanings(feature)
        field.props("outlined dense hide-bottom-space").without_auto_validation()
        if _computed(feature):
            field.props("readonly")
        field.on_value_change(lambda: None if self._quiet else self._then())
        self.fields[feature.name] = field
        return field

    def fill(self, values: pd.Series[Any] | Mapping[str, Any]) -> None:
        """Set the fields of these values, without telling of it."""
        self._quiet = True
        for name in values.keys():  # noqa: SIM118 - of a Series, too
            field, feature, value = self.fields[name], self.features[name], plain(values[name])
            if _listed(feature):
                field.value = _values(feature).index(value)
            else:
                field.value = "" if value is None else written(float(value), feature.step)
        self._quiet = False

    def compute(self) -> None:
        """Set the fields of what follows from others, where those can be read."""
        read = self.read()
        codes = np.full(len(self.features), np.nan)
        for name, value in read.items():
            codes[self.schema.position(name)] = self.features[name].code_of(value)
        found = filled(self.schema, codes[None])[0]
        computed = {}
        for each in self.schema.derived:  # numbers, whose codes are their values
            names = each.formula.names if each.formula is not None else ()
            code = float(found[self.schema.position(each.name)])
            if read.keys() >= set(names) and not math.isnan(code) and _computed(each):
                computed[each.name] = code
        self.fill(computed)

    def hint(self, name: str, text: str, *, doubted: bool = False) -> None:
        """Say something under a field, after what it follows from; a doubt stands out."""
        says = (follows(self.features[name], self.schema), text)
        self.fields[name].props["hint"] = unbroken("; ".join(filter(None, says)))
        self.fields[name].classes(**{"add" if doubted else "remove": "doubted"})

    def values(self) -> dict[str, Any] | None:
        """The values, or None while a field is empty that may not be, or cannot be read."""
        read = self.read()
        return read if len(read) == len(self.fields) else None

    def read(self) -> dict[str, Any]:
        """The values of the fields that can be read; the others say why not."""
        read: dict[str, Any] = {}
        for name, field in self.fields.items():
            feature, given = self.features[name], field.value
            try:
                if _listed(feature):
                    value = None if given is None else _values(feature)[given]
                else:
                    value = feature.read("" if given is None else str(given))
                feature.code_of(value)  # refuses a blank that is not declared
            except ValueError as error:
                field.props["error"] = given not in (None, "")
                field.props["error-message"] = str(error).partition(": ")[2]
            else:
                field.props["error"] = False
                read[name] = value
        return read

    @property
    def gap(self) -> str:
        """Why the values are not whole: which fields are still to fill, or cannot be read."""
        read = self.read()
        unread = [name for name in self.fields if name not in read]
        typed = [name for name in unread if not _computed(self.features[name])] or unread
        empty = [name for name in typed if self.fields[name].value in (None, "")]
        shown = [self.features[name].title for name in empty or typed]
        if not shown:
            return ""
        told = ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
        return f"Still to fill: {told}." if empty else f"Cannot be read: {told}."


def _computed(feature: Feature) -> bool:
    """Whether a value follows from the others alone, not from how they move."""
    return feature.formula is not None and feature.formula.shape != "moves"


def meanings(feature: Feature) -> str:
    """What the codes mean that are typed, if the schema has words for them.

    >>> from trust_recourse import Feature
    >>> meanings(Feature("home", "integer", labels={1: "rents", 2: "owns"}))
    '1 rents, 2 owns'
    """
    words = {} if _listed(feature) else feature.words
    return ", ".join(f"{written(float(code))} {word}" for code, word in words.items())


def _listed(feature: Feature) -> bool:
    return feature.kind in ("category", "ordinal", "boolean")


def _values(feature: Feature) -> list[Any]:
    return [*(feature.values or (False, True)), *feature.missing]  # noqa: PD011


class ByHand:
    """The form of the person as they are; a whole set of values is asked about at once."""

    def __init__(self, session: Session) -> None:
        self.session, self._mine, table = session, False, session.people is not None
        with folded("by-hand", "Values: see, correct or enter" if table else "Values") as place:
            if not table:
                place.props["open"] = True
            note("What is typed here is asked about at once; the table keeps what it has.")
            self.said = note("")
            self.back = press("Back to the table’s values", session.restore)
            self.form = Form(session.state.recourse.schema, self._changed, fold=table)
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
