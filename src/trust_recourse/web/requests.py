"""How a request is read, and its job done: strict JSON, and nothing worked out for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute

from trust_recourse.io import strict_json
from trust_recourse.web.problems import ProblemDetails, problem_of

Done = TypeVar("Done")

LARGE = 64_000  # bytes of JSON from which on the event loop would be held up


class Gone(Exception):  # noqa: N818  nothing went wrong
    """Whoever asked has gone away, so nobody reads what would be answered."""


async def waited_for(request: Request, work: Awaitable[Done]) -> Done:
    """What the work gives, as long as someone waits for it; else it is cancelled."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Gone
        return doing.result()
    except Exception as error:
        if (problem := problem_of(error)) is not None:
            raise problem from error
        raise
    finally:
        leaving.cancel()
        doing.cancel()


async def _left(request: Request) -> None:
    """Return once the client is gone; the body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class StrictRequest(Request):
    """A request whose JSON is just JSON: no NaN, no infinities, not nested without end."""

    async def json(self) -> Any:
        """The body, read once."""
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = loads(body) if len(body) < LARGE else await asyncio.to_thread(loads, body)
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its requests strictly, and answers nobody who has gone."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler for strict requests."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            try:
                return await handle(StrictRequest(request.scope, request.receive))
            except Gone:
                return Response(status_code=499)  # nginx's number for it; only the log sees it

        return strictly


def loads(body: bytes) -> Any:
    """Read a body as strict JSON."""
    try:
        return strict_json.loads(body)
    except ValueError as error:
        raise ProblemDetails("not-json", str(error)) from None
