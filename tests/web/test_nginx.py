"""The service behind nginx, with the settings that docs/service.md gives."""

from __future__ import annotations

import base64
import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from serving import started, until_ready
from trust_recourse import haberman
from trust_recourse.web.state import Limits
from worlds import paper_machine

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
DOCS = Path(__file__).parents[2] / "docs" / "service.md"
KEY = "a key for the tests, of no use elsewhere"
PATIENT = {"age": 55, "year": 69, "nodes": 22}
HEAD = "POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
SECONDS = 10  # that the settings leave for a head, and between two pieces of a body
AT_ONCE = 20  # connections of one address

pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx (apt-get install nginx)")


def settings(folder, port, service):
    """The lines of docs/service.md, with our ports, without TLS, within a file of their own."""
    (told,) = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(), re.DOTALL)
    lines = re.sub(r"\n +ssl_certificate.*", "", told)
    for given, ours in (("443 ssl;", f"127.0.0.1:{port};"), ("http://127.0.0.1:8000", service)):
        assert given in lines
        lines = lines.replace(given, ours)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" * (os.geteuid() == 0)
    return (
        f"{user}daemon off;\npid {folder}/pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}{lines}}}\n"
    )


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The address of nginx, with the page and the service behind it."""
    folder = tmp_path_factory.mktemp("nginx")
    paper_machine(epochs=5, random_state=0).fit(*haberman()).save(folder / "model.safetensors")
    served = started(folder / "model.safetensors", "--page", TRUST_API_KEY=KEY)
    with served as (_, service, _):
        port, config = free_port(), folder / "nginx.conf"
        config.write_text(settings(folder, port, service))
        log = folder / "error.log"
        proxy = subprocess.Popen([NGINX, "-e", str(log), "-c", str(config)])
        try:
            until_ready(f"http://127.0.0.1:{port}", seconds=30)
            yield f"http://127.0.0.1:{port}"
        finally:
            proxy.terminate()
            proxy.wait()
    assert "[emerg]" not in log.read_text()


@pytest.fixture(scope="module")
def client(url):
    with httpx.Client(base_url=url, headers={"X-API-Key": KEY}, timeout=60) as opened:
        yield opened


def test_a_question_is_answered_and_a_key_is_asked_for(url, client):
    answer = client.post("/v1/recourse", json={"person": PATIENT, "confidence": 0.55})
    assert answer.status_code == 200
    assert answer.json()["options"]
    assert httpx.get(f"{url}/v1/model").status_code == 401


def test_the_websocket_of_the_page_opens(url, client):
    assert client.get("/").headers["content-type"].startswith("text/html")
    address = url.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    word = base64.b64encode(f"any:{KEY}".encode()).decode()
    headers = {"Authorization": f"Basic {word}"}
    with connect(address, additional_headers=headers, origin=url) as page:
        assert page.recv(timeout=30).startswith("0{")  # the first word of Socket.IO


def test_what_is_too_large_is_refused(url, client):
    large = b" " * (2 * Limits().body)
    assert client.post("/v1/predict", content=large).status_code == 413
    certificate = client.post("/v1/verify", json={"certificate": {"a": "b" * len(large)}})
    assert certificate.status_code == 422  # it came through, and is none
    with connected(url) as connection:
        connection.sendall(f"{HEAD}X-Long: {'x' * 100_000}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


def test_what_is_too_slow_is_cut_off_and_others_are_served(url, client):
    """A head that never ends, piece by piece, and a body that stops."""
    begun = time.monotonic()
    with connected(url) as head, connected(url) as body:
        head.sendall(HEAD.encode())
        body.sendall(f"{HEAD}Content-Length: 900\r\n\r\n ".encode())
        head.settimeout(0.5)
        while not (gone := _closed(head)) and time.monotonic() < begun + 3 * SECONDS:
            assert client.get("/health").status_code == 200
        assert gone
        assert b"408" in body.recv(100) or body.recv(1) == b""
    assert time.monotonic() - begun >= SECONDS - 1


def _closed(connection):
    """Whether it is closed when it is given another line."""
    try:
        connection.sendall(b"X-Slow: 1\r\n")
        return connection.recv(100) is not None
    except TimeoutError:
        return False
    except OSError:
        return True


def test_one_address_gets_so_many_connections(url):
    """Each is counted once its head came; the next is told so."""
    with ExitStack() as opened:
        for _ in range(AT_ONCE):
            waiting = opened.enter_context(connected(url))
            waiting.sendall(f"{HEAD}Content-Length: 900\r\n\r\n".encode())
        end = time.monotonic() + SECONDS - 1
        while (status := httpx.get(f"{url}/health").status_code) == 200 and time.monotonic() < end:
            time.sleep(0.05)
        assert status == 503
    until_ready(url, seconds=30)


def connected(url):
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=3 * SECONDS)
