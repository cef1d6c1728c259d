"""What the parts of the page share: small pieces, and work of which only the latest is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from nicegui import background_tasks, ui

from trust_recourse.io.cancel import Cancelled
from trust_recourse.io.wording import unbroken
from trust_recourse.question.vocabulary import reworded
from trust_recourse.web.page.texts import field_name
from trust_recourse.web.problems import meant_for_people
from trust_recourse.web.state import Busy, TooLong

PATIENCE = 0.15  # seconds before an answer that is still sought is announced

Found = TypeVar("Found")

log = logging.getLogger("trust_recourse.page")


def heading(text: str, level: int = 2) -> None:
    """A heading, that a reader of the screen finds too."""
    with ui.element(f"h{level}"):
        ui.label(text)


def note(text: str) -> ui.label:
    """Something said in a quiet voice."""
    return ui.label(text).classes("muted note")


def warning(kind: str = "warning") -> ui.label:
    """Something that stands out, that a reader of the screen is told of; empty at first."""
    label = ui.label().classes(kind)
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


@contextmanager
def folded(kind: str, title: str, level: int = 3) -> Iterator[ui.element]:
    """What a heading opens and closes."""
    with ui.element("details").classes(kind) as fold:
        with ui.element("summary"):
            heading(title, level)
        yield fold


def verdict_bar(icon: str, kind: str, words: str, level: int = 2) -> None:
    """A mark and a heading: what is said of somebody's values."""
    with ui.element("div").classes("verdict"):
        ui.icon(icon).classes(kind).props["aria-hidden"] = "true"
        heading(words, level)


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
                            before, arrow, after = unbroken(text).partition(" → ")
                            label = ui.label(before)
                            if arrow:
                                label.classes("end")
                                ui.label(f"→ {after}").classes("end")


# ---------------------------------------------------------------- work that takes time


def said(error: Exception) -> str:
    """What a person is told of an error: its own words where they were written for people."""
    if isinstance(error, Busy):
        return "Many questions wait to be answered. Ask again in a moment."
    if isinstance(error, TooLong):
        return "This took too long, so it was called off. Ask for fewer options, or lock something."
    if isinstance(error, Cancelled):
        return "The server is about to end, so this was called off."
    if meant_for_people(error):
        return reworded(str(error), field_name)
    log.error("the page met an error", exc_info=error)
    return "Something went wrong on our side; it was written to the server's log. Try again."


class Latest:
    """Runs one coroutine at a time; asking again cancels the one before.

    `waiting` is told True when an answer takes longer than `PATIENCE` and False when it is there,
    `failed` what to tell a person of an error.
    """

    def __init__(self, waiting: Callable[[bool], None], failed: Callable[[str], None]) -> None:
        self._waiting, self._failed = waiting, failed
        self._task: asyncio.Task[Any] | None = None
        self._client = ui.context.client
        self._client.on_delete(self.stop)

    def ask(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start this, in place of whatever is in flight."""
        self.stop()
        self._task = background_tasks.create(
            self._run(work), name="page question", context=self._client
        )

    def stop(self) -> None:
        """Call off what is in flight."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self._waiting(False)

    def forget(self) -> None:
        """Take back what was said of an error, once what led to it is another."""
        if self._task is None or self._task.done():
            self._waiting(False)

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        announced = asyncio.get_running_loop().call_later(PATIENCE, self._waiting, True)
        try:
            await work()
        except Exception as error:
            self._failed(said(error))
        else:
            self._waiting(False)
        finally:
            announced.cancel()


class Drawn(Latest):
    """A place for what is worked out, below a line that says that it is, or why it is not there."""

    def __init__(self, words: str, kind: str) -> None:
        waiting, failed = status_line(words)
        super().__init__(waiting, self._none)
        self._say = failed
        self.place = ui.element("div").classes(kind)

    def _none(self, why: str) -> None:
        """Say why there is no answer, and take away the one before."""
        self.place.clear()
        self._say(why)

    def empty(self) -> None:
        """Call off what is in flight, and show nothing."""
        self.stop()
        self.place.clear()

    def draw(self, work: Callable[[], Awaitable[Found]], show: Callable[[Found], None]) -> None:
        """Show what the work gives in place of what stands there."""

        async def drawn() -> None:
            found = await work()
            self.place.clear()
            with self.place:
                show(found)

        self.ask(drawn)
