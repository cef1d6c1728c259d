"""Uvicorn with the settings of this service; the one file that starts it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

CONNECTIONS = 800  # at once; below the files that a process may usually open
KEEP = 30  # seconds that an idle connection is kept: longer than clients do, who else lose the race
PATIENCE = 60  # seconds that a worker may be silent, as one that compiles for the first time is
GRACE = 10  # seconds for answers under way when the server is asked to end


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens: who connects now waits for the server; an error says the address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        with ExitStack() as if_it_fails:
            listener = if_it_fails.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(CONNECTIONS)
            if_it_fails.pop_all()
    except OSError as error:
        raise ValueError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return listener


def serve(make: Callable[[], FastAPI], listener: socket.socket, workers: int = 1) -> None:
    """Serve the app that `make` gives until the process is asked to end.

    With several workers each is a process with an app of its own, so `make` must be picklable.
    """
    settings = config(make, workers)
    if workers > 1:
        listener.set_inheritable(True)
        Multiprocess(settings, sockets=[listener]).run()
    else:
        uvicorn.Server(settings).run(sockets=[listener])


def config(make: Callable[[], FastAPI], workers: int = 1) -> uvicorn.Config:
    """The settings of a server."""
    return uvicorn.Config(
        make,
        factory=True,
        workers=workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEEP,
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=PATIENCE,
    )


@contextmanager
def when_told_to_end(call: Callable[[], None]) -> Iterator[None]:
    """Call this as soon as the process is told to end: Uvicorn first waits for open answers."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where no signal comes
        return

    def told(number: int, frame: Any) -> None:
        call()
        if callable(then := before[number]):
            then(number, frame)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {each: signal.signal(each, told) for each in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
