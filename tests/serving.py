"""The service on a real port, in a thread of the test or in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

from trust_recourse.web.service import service
from trust_recourse.web.serving import config, listen


@contextmanager
def running(state, key=None):
    """The address of a server in a thread, once it is ready."""
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(config(lambda: service(state, key=key)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        until_ready(url)
        yield url
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def started(model, *arguments, ready=True, **environment):
    """A server by the command line, in a process of its own: the process and its address."""
    command = [sys.executable, "-m", "trust_recourse", "serve", str(model), "--port", "0"]
    paths = [str(Path(__file__).parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [*command, "--no-page", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths)},
    )
    try:
        said = [process.stdout.readline() for _ in range(2)]
        url = said[1].split()[0].removesuffix("/docs")
        if ready:
            until_ready(url)
        yield process, url, said[0]
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def until_ready(url, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{url} is not ready after {seconds} seconds")
