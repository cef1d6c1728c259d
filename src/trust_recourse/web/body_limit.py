"""How much a request may send, and how long it may take: refused while it comes, not after."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trust_recourse.web.problems import ProblemDetails
from trust_recourse.web.state import Limits

LINGER = 2.0  # seconds in which the rest of a refused body is read, so that the answer arrives
LINGER_BYTES = 64_000_000


class BodyLimit:
    """Reads each body whole before the app sees it, within the limits."""

    def __init__(self, app: ASGIApp, limits: Limits, proofs: tuple[str, ...]) -> None:
        self.app, self.limits, self.proofs = app, limits, proofs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = self.limits.proof if scope["path"] in self.proofs else self.limits.body
        try:
            async with asyncio.timeout(self.limits.arrival):
                first = await _whole(scope, receive, most)
        except TimeoutError:
            detail = f"the body did not arrive within {self.limits.arrival:g} seconds"
            slow = ProblemDetails("too-slow", detail, {"Connection": "close"})
            await _refuse(slow, receive, send)
            return
        except ProblemDetails as problem:
            await _refuse(problem, receive, send)
            return
        messages = [first]

        async def replayed() -> Message:
            return messages.pop() if messages else await receive()

        await self.app(scope, replayed, send)


async def _whole(scope: Scope, receive: Receive, most: int) -> Message:
    """The body in one message; refused as soon as it is known to be too large."""

    def too_large(words: str) -> ProblemDetails:
        detail = f"{words}, expected at most {most} bytes"
        return ProblemDetails("too-large", detail, {"Connection": "close"}, limit=most)

    length = dict(scope["headers"]).get(b"content-length", b"0")
    if len(length) > 18 or int(length) > most:
        raise too_large(f"{length[:18].decode()} bytes are announced")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message  # the client is gone
        body += message.get("body", b"")
        if len(body) > most:
            raise too_large(f"{len(body)} bytes came")
        if not message.get("more_body", False):
            return {"type": "http.request", "body": bytes(body), "more_body": False}


async def _refuse(problem: ProblemDetails, receive: Receive, send: Send) -> None:
    """Answer at once, then read on for a while: a connection closed on data loses the answer."""
    response = problem.response()
    headers = response.raw_headers
    await send({"type": "http.response.start", "status": problem.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    left = LINGER_BYTES
    try:
        async with asyncio.timeout(LINGER):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
