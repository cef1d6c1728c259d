"""Access: without a key this machine alone may ask, elsewhere a client needs the key.

The key comes as `X-API-Key`, as a Bearer token, or as the password of Basic authentication, which
a browser asks for by itself. A page of another site may not use a browser's access: its requests
name their origin, and a name that was made to point here (DNS rebinding) is no name of ours.

`Policy` says what a browser may do with an answer: run what this server sent, ask it alone, never
frame it. The page's framework writes scripts and styles into the page and compiles its templates in
the browser, so these may be inline and evaluated; nothing may come from elsewhere, and no attribute
of an element may be a script.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trust_recourse.web.problems import ProblemDetails

OPEN = ("/health", "/ready")  # say nothing but that, for whoever watches the server
LEAST_KEY = 16
REALM = 'Basic realm="trust-recourse", charset="UTF-8"'
SOURCES = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "connect-src": "'self'",
    "font-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "img-src": "'self' data:",
    "object-src": "'none'",
    "script-src": "'self' 'unsafe-eval' 'unsafe-inline'",
    "script-src-attr": "'none'",
    "style-src": "'self' 'unsafe-inline'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in SOURCES.items()),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Auth:
    """Lets through who may ask."""

    def __init__(self, app: ASGIApp, key: str | None) -> None:
        check_key(key)
        self.app = app
        self._key = None if key is None else _digest(key.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer why not."""
        if scope["type"] not in ("http", "websocket") or scope["path"] in OPEN:
            await self.app(scope, receive, send)
            return
        problem = self._problem(Headers(scope=scope))
        if problem is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await problem.response()(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _problem(self, headers: Headers) -> ProblemDetails | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._key is None and not is_loopback(_split(f"//{host}").hostname or ""):
            detail = "without a key this server is for this machine alone, such as 127.0.0.1"
            return ProblemDetails("wrong-origin", detail)
        if origin is not None and _split(origin).netloc != host:
            return ProblemDetails("wrong-origin", f"the request was made by a page of {origin}")
        if self._key is None or any(
            hmac.compare_digest(_digest(given), self._key) for given in _given(headers)
        ):
            return None
        detail = "give the key as X-API-Key, as a Bearer token, or as a password"
        return ProblemDetails("no-key", detail, {"WWW-Authenticate": REALM})


def check_key(key: str | None) -> None:
    """Refuse a key that could be guessed."""
    if key is not None and len(key.encode()) < LEAST_KEY:
        raise ValueError(
            f"the API key has {len(key.encode())} bytes; expected at least {LEAST_KEY} that "
            'nobody can guess, such as python -c "import secrets; print(secrets.token_hex())"'
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "a.test")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _split(url: str) -> SplitResult:
    """The parts of an address; of what is none, no parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _given(headers: Headers) -> list[bytes]:
    """Every key that a request comes with."""
    found = [key.encode("latin-1") for key in headers.getlist("x-api-key")]
    for each in headers.getlist("authorization"):
        scheme, _, token = each.partition(" ")
        if scheme.lower() == "bearer":
            found.append(token.strip().encode("latin-1"))
        if scheme.lower() == "basic":
            try:
                told = base64.b64decode(token, validate=True)
            except (binascii.Error, ValueError):
                continue
            found.append(told.partition(b":")[2])
    return found


def _digest(key: bytes) -> bytes:
    """Of one length whatever the key, so that comparing says nothing of it."""
    return hashlib.sha256(key).digest()


class Policy:
    """Sends these headers with every answer; beside a policy of its own, a browser keeps both."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if value not in headers.getlist(name):  # the page says it too, wherever it is
                        headers.append(name, value)
            await send(message)

        await self.app(scope, receive, told)
