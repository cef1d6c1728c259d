"""Small pieces that the parts of the page share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from trust_recourse.io.wording import unbroken


def heading(text: str, level: int = 2) -> None:
    """A heading, that a reader of the screen finds too."""
    with ui.element(f"h{level}"):
        ui.label(text)


def note(text: str) -> ui.label:
    """Something said in a quiet voice."""
    return ui.label(text).classes("muted note")


def warning() -> ui.label:
    """Something that stands out, that a reader of the screen is told of; empty at first."""
    label = ui.label().classes("warning")
    label.props["role"] = "status"
    return label


def tell(label: ui.label, text: str) -> None:
    """Show a text, or nothing where it is empty."""
    label.text, label.visible = text, bool(text)


def fact(name: str, value: str) -> ui.label:
    """A fact of a list of facts: its name, and its value."""
    with ui.element("div"):
        with ui.element("dt"):
            ui.label(name)
        with ui.element("dd").classes("numbers"):
            return ui.label(value)


def on_a_phone_go_to(place: str, fold: str = "", unfold: str = "") -> None:
    """On a narrow screen, scroll to a part of the page.

    Another part is folded or unfolded first, because it fills a narrow screen.
    """
    turned = "".join(
        f"document.querySelector('{part}').open = {is_open};"
        for part, is_open in ((fold, "false"), (unfold, "true"))
        if part
    )
    ui.run_javascript(
        f"if (innerWidth <= 900) {{{turned}"
        f"document.querySelector('{place}').scrollIntoView({{behavior: 'smooth'}})}}"
    )


def press(
    text: str,
    then: Callable[[], Any],
    *,
    icon: str | None = None,
    told: str = "",
    main: bool = False,
) -> ui.button:
    """A button; `told` is what it is called where it has no words of its own."""
    button = ui.button(text, icon=icon, on_click=then).props("no-caps unelevated")
    button.props("" if main else "outline")
    if told:
        button.props["aria-label"] = told
    return button


def status_line(text: str) -> tuple[Callable[[bool], None], Callable[[str], None]]:
    """A line that says an answer is being sought, or why there is none; hidden otherwise."""
    with ui.element("div").classes("waiting") as line:
        line.props["role"] = "status"
        spinner = ui.spinner(size="1.2em")
        label = ui.label(text)
    line.visible = False

    def waiting(is_waiting: bool) -> None:
        label.text = text
        line.classes(remove="failed")
        spinner.visible = True
        line.visible = is_waiting

    def failed(why: str) -> None:
        label.text = why
        line.classes("failed")
        spinner.visible = False
        line.visible = True

    return waiting, failed


def grid(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: int,
    tight: bool = False,
    stacked: bool = False,
    paired: bool = False,
) -> None:
    """A table of texts; columns from `numbers` on are set right, and if tight, not broken.

    If stacked, the first column stands above the others where there is little room; of a pair,
    these are of one width. What changes breaks before its arrow, if at all.
    """
    kind = f"grid{' tight' * tight}{' stacked' * (stacked or paired)}{' paired' * paired}"
    with ui.element("div").classes("scroll sized"), ui.element("table").classes(kind):
        with ui.element("thead"), ui.element("tr"):
            for at, text in enumerate(head):
                with ui.element("th").classes("numbers right" if at >= numbers else ""):
                    ui.label(text)
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for at, text in enumerate(row):
                        with ui.element("td").classes("numbers right" if at >= numbers else ""):
                            _cell(unbroken(text))


def _cell(text: str) -> None:
    before, arrow, after = text.partition(" → ")
    if not arrow:
        ui.label(text)
        return
    ui.label(before).classes("end")
    ui.label(f"→ {after}").classes("end")
