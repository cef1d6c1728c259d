"""A list of many features: a filter, those that may change first, and the locked ones folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from trust_recourse.web.page.widgets import heading, note

if TYPE_CHECKING:
    from collections.abc import Callable

    from trust_recourse import Feature, Schema

MANY = 12  # features; a longer list has a filter and folds those that are locked


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
        self.none: ui.label | None = None
        locked = [feature for feature in schema if not feature.movable]
        if not is_long(schema):
            self._draw([*schema])
            return
        self._filter()
        folded = locked if fold else []
        self._draw([feature for feature in schema if feature not in folded])
        if folded:
            self._draw_folded(folded, opened)

    def _filter(self) -> None:
        field = ui.input("Filter features").classes("filter")
        field.props("outlined dense clearable debounce=150")
        field.on_value_change(lambda: self.show(field.value or ""))
        self.none = note("No feature has these words in its name.")
        self.none.visible = False

    def _draw(self, features: list[Feature]) -> None:
        with ui.element(self._tag).classes(self._kind):
            for feature in features:
                self.rows[feature.name] = self._row(feature)

    def _draw_folded(self, features: list[Feature], opened: Callable[[bool], None]) -> None:
        with ui.element("details").classes("fold") as self.fold:
            with ui.element("summary"):
                heading(f"{len(features)} locked feature{'s' * (len(features) > 1)}", 3)
            self._draw(features)
        self.fold.on(
            "toggle", lambda e: opened(bool(e.args)), js_handler="(e) => emit(e.target.open)"
        )

    def show(self, text: str) -> None:
        """Show the features whose title or column has every word of a text; the fold opens."""
        words = text.casefold().split()
        found = 0
        for name, row in self.rows.items():
            title = f"{self.schema[name].title} {name}".casefold()
            row.visible = all(word in title for word in words)
            found += row.visible
        if self.none is not None:
            self.none.visible = not found
        if self.fold is not None:
            self.fold.visible = any(
                row.visible for name, row in self.rows.items() if not self.schema[name].movable
            )
            if words:
                ui.run_javascript(f"getHtmlElement({self.fold.id}).open = true")
