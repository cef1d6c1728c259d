"""HTTP as Uvicorn speaks it, with a deadline for the head of a request and a limit on its size.

Whoever sends a head slowly, byte by byte, would else hold a connection for ever. It also calls the
open searches off as soon as the server is asked to end.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from trust_recourse.web.desk import Desk
from trust_recourse.web.problems import Problem

HEAD = 64_000  # bytes of a head


class Prompt(HttpToolsProtocol):
    """A connection on which heads must come in time."""

    _deadline: asyncio.TimerHandle | None = None
    _head = 0  # bytes of the head that comes now

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on; what is no body is a head, or nothing at all, and must end in time."""
        coming = self._idle
        super().data_received(data)
        if self.transport.get_protocol() is not self:
            return  # the page's websocket has taken over, and waits as long as it likes
        if self.transport.is_closing() or not (coming and self._idle):
            self._head = 0
            return
        self._head += len(data)
        if self._head > HEAD:
            self._refuse(Problem("head-too-large", f"expected at most {HEAD} bytes"))
        elif self._deadline is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server ends: nobody will wait for what is being searched."""
        self._desk.call_off()
        super().shutdown()

    @property
    def _desk(self) -> Desk:
        desk: Desk = self.app_state["desk"]  # as the service's lifespan leaves it
        return desk

    @property
    def _idle(self) -> bool:
        """Whether no request is being read or answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self._desk.limits.arrival, self._too_late)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self._head:
            within = f"{self._desk.limits.arrival:g} seconds"
            self._refuse(Problem("too-slow", f"no whole head came within {within}"))
        else:
            self.transport.close()  # nothing was asked, so nothing is answered

    def _refuse(self, problem: Problem) -> None:
        if self.transport.is_closing():
            return
        response = problem.response()
        head = [STATUS_LINE[problem.status_code], b"connection: close\r\n"]
        head += [name + b": " + value + b"\r\n" for name, value in response.raw_headers]
        self.transport.write(b"".join([*head, b"\r\n", bytes(response.body)]))
        self.transport.close()
