"""HTTP as Uvicorn speaks it, with deadlines for sending a request and for reading its answer.

Whoever sends a head slowly, byte by byte, or never reads what is answered, would else hold a
connection for ever. When all are taken, the one that has waited longest for a whole request makes
room. While a request is answered no other is taken on its connection: its client would not be seen
to leave. It also calls the open searches off as soon as the server is asked to end.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from trust_recourse.web.policy import HEADERS
from trust_recourse.web.problems import Problem
from trust_recourse.web.state import AppState

HEAD = 64_000  # bytes of a head


class Prompt(HttpToolsProtocol):
    """A connection on which heads must come in time, and answers be read."""

    _deadline: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _head = 0  # bytes of the head that comes now
    _since = 0.0  # when the last request was answered, or the connection made
    _deaf = False  # whatever comes is dropped; the connection closes after the answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head; one that waited longer makes room for it."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that every byte not taken is noticed
        self._since = self.loop.time()
        self._wait()
        if self._full:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Read on; what is no body is a head, or nothing at all, and must end in time."""
        if self._deaf:
            return
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
        if not self._idle:
            self._deaf, self.cycle.keep_alive = True, False
        elif self._full:
            self._refuse(Problem("busy", "all connections are taken; ask again in a moment"))
        if not self._deaf:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body is there."""
        if not self._deaf:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        if not self._deaf:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is given; the next request may come."""
        self._since = self.loop.time()
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """Hand over to the page's websocket."""
        if not self._deaf:
            super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        """Begin to wait for the answer to be read."""
        super().pause_writing()
        self._reading = self.loop.call_later(self._desk.limits.reading, self.transport.abort)

    def resume_writing(self) -> None:
        """All of it was taken."""
        super().resume_writing()
        self._stop_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        self._stop_reading()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server ends: nobody will wait for what is being searched."""
        self._desk.call_off()
        super().shutdown()

    @property
    def _desk(self) -> AppState:
        state: AppState = self.app_state["state"]  # as the service's lifespan leaves it
        return state

    @property
    def _idle(self) -> bool:
        """Whether no request is being read or answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def _full(self) -> bool:
        most = self.limit_concurrency
        return most is not None and max(len(self.connections), len(self.tasks)) >= most

    def _make_room(self) -> None:
        """Close the connection whose client has longest not sent, or not read, what it should."""
        waiting = [
            each
            for each in self.connections
            if isinstance(each, Prompt) and each is not self
            if each._idle or each.cycle.more_body or each.flow.write_paused
        ]
        if waiting:
            longest = min(waiting, key=lambda each: each._since)
            self.connections.discard(longest)
            longest.transport.abort()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self._desk.limits.arrival, self._too_late)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _too_late(self) -> None:
        self._deadline = None
        if self._head:
            within = f"{self._desk.limits.arrival:g} seconds"
            self._refuse(Problem("too-slow", f"no whole head came within {within}"))
        else:
            self.transport.close()  # nothing was asked, so nothing is answered

    def _refuse(self, problem: Problem) -> None:
        self._deaf = True
        if self.transport.is_closing():
            return
        response = problem.response()
        response.headers.update(HEADERS)
        head = [STATUS_LINE[problem.status_code], b"connection: close\r\n"]
        head += [name + b": " + value + b"\r\n" for name, value in response.raw_headers]
        self.transport.write(b"".join([*head, b"\r\n", bytes(response.body)]))
        self.transport.close()
