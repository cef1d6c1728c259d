"""What a browser may do with an answer: run what this server sent, ask it alone, never frame it.

The page's framework writes scripts and styles into the page and compiles its templates in the
browser, so these may be inline and evaluated; nothing may come from elsewhere, and no attribute of
an element may be a script.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
