"""Fields for a person's values, one for each column, as the schema has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from nicegui import ui

from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import unbroken, written
from trust_recourse.schema.derived import filled
from trust_recourse.web.page.features import FeatureList
from trust_recourse.web.page.texts import follows

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import Feature, Schema


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
        field.on_value_change(self._changed)
        self.fields[feature.name] = field
        return field

    def _changed(self) -> None:
        if not self._quiet:
            self._then()

    def fill(self, values: pd.Series[Any] | Mapping[str, Any]) -> None:
        """Set the fields of these values, without telling of it."""
        self._quiet = True
        for name in values.keys():  # noqa: SIM118 - of a Series, too
            field, feature, value = self.fields[name], self.features[name], plain(values[name])
            if _listed(feature):
                field.value = _values(feature).index(value)
            elif value is None:
                field.value = ""
            else:
                field.value = written(float(value), feature.step)
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
            try:
                read[name] = self._read(self.features[name], field.value)
            except ValueError as error:
                field.props["error"] = field.value not in (None, "")
                field.props["error-message"] = str(error).partition(": ")[2]
            else:
                field.props["error"] = False
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

    @staticmethod
    def _read(feature: Feature, given: Any) -> Any:
        if _listed(feature):
            value = None if given is None else _values(feature)[given]
        else:
            value = feature.read("" if given is None else str(given))
        feature.code_of(value)  # refuses a blank that is not declared
        return value


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
