"""Of many questions only the latest is answered: a new one calls off the one in flight."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import background_tasks, ui

from trust_recourse.io.cancel import Cancelled
from trust_recourse.question.vocabulary import reworded
from trust_recourse.web.page.settings_panel import field_name
from trust_recourse.web.problems import meant_for_people
from trust_recourse.web.state import Busy, TooLong

PATIENCE = 0.15  # seconds before an answer that is still sought is announced

log = logging.getLogger("trust_recourse.page")


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
