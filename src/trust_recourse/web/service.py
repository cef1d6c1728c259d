"""The service: a model over HTTP, with the ledger, health, metrics and documentation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse
from fastapi_offline import FastAPIOffline

from trust_recourse import __version__
from trust_recourse.io.cancel import Cancelled
from trust_recourse.io.scalars import plain
from trust_recourse.web import bodies
from trust_recourse.web.auth import Auth, Policy
from trust_recourse.web.body_limit import BodyLimit
from trust_recourse.web.ledger_routes import ledger_routes
from trust_recourse.web.metrics import MEDIA, Counting, Counts
from trust_recourse.web.openapi import Worked, document
from trust_recourse.web.problems import KINDS, PLACE, ProblemDetails, tell_problems
from trust_recourse.web.question_routes import found, question_routes
from trust_recourse.web.serving import when_told_to_end
from trust_recourse.web.state import AppState, person_like

PROOFS = ("/v1/verify",)  # whose bodies hold a certificate
ABOUT = (
    "The least a refused person must change to be accepted with a confidence they name. Every "
    "answer is about the model: that it would say yes, not that the world would change. Costs and "
    "radii are in scaled units: 0.1 of a column is a tenth of its scale."
)

log = logging.getLogger(__name__)


def service(state: AppState, *, key: str | None = None) -> FastAPI:
    """An app that answers for the model of an app state, which it closes when it ends.

    With a key, every request but for `/health` and `/ready` must come with it. Without one, only
    requests to the loopback address are answered. `/` is left free, for a page.
    """
    example = _Example(state)
    counts = Counts(state, lambda: example.ready)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(example.work())
        try:
            with when_told_to_end(state.call_off):
                yield
        finally:
            warming.cancel()
            await asyncio.to_thread(state.close)

    app = FastAPIOffline(
        title="TRUST", version=__version__, description=ABOUT, lifespan=living,
        redoc_url=None, static_url="/docs/assets", redirect_slashes=False,
    )  # fmt: skip
    tell_problems(app)
    app.include_router(question_routes(state))
    app.include_router(ledger_routes(state))
    app.include_router(_about(state, counts, example))
    app.add_middleware(BodyLimit, limits=state.limits, proofs=PROOFS)
    app.add_middleware(Auth, key=key)
    app.add_middleware(Counting, counts=counts)
    whole = app.build_middleware_stack
    app.build_middleware_stack = lambda: Policy(whole())  # type: ignore[method-assign]

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None or not example.ready:
            app.openapi_schema = document(app, state.recourse, state.limits, example.worked)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    return app


class _Example:
    """The worked example."""

    def __init__(self, state: AppState) -> None:
        self.state, self.ready = state, False
        self.worked = Worked(person_like(state.recourse))

    async def work(self) -> None:
        try:
            self.worked = await self.state.work(self._worked)
            self.ready = True
        except Cancelled:
            pass  # the server ends before it was ready
        except Exception:
            log.exception("the first search failed, so this server will not be ready")

    def _worked(self) -> Worked:
        recourse, person = self.state.recourse, self.worked.person
        if not recourse.exact:
            recourse.confidence(person)
            return self.worked
        reach = recourse.reachable(person, time_limit=self.state.limits.seconds)
        now, best = recourse.confidence(person), reach.most
        low = max(now, recourse.decision_threshold)
        level = round((low + best) / 2 if best > low else (now + best) / 2, 2)
        worked = Worked(person, min(max(level, 0.03), 0.99))
        asked = bodies.FindIn.model_validate(worked.requests["/v1/recourse"])
        return Worked(person, worked.level, {"/v1/recourse": found(self.state, asked)})


def _about(state: AppState, counts: Counts, example: _Example) -> APIRouter:
    """The routes that say how the server is and what it serves."""
    routes = APIRouter(tags=["server"])

    @routes.get("/health")
    async def health() -> bodies.StateOut:
        """Whether the server runs."""
        return bodies.StateOut(status="up")

    @routes.get("/ready")
    async def ready() -> bodies.StateOut:
        """Whether the first search is done, so that the next are quick."""
        if not example.ready:
            raise ProblemDetails("not-ready", "The model's first search is not done yet")
        return bodies.StateOut(status="ready")

    @routes.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """What this process counted, for Prometheus."""
        return PlainTextResponse(counts.text(), media_type=MEDIA)

    @routes.get("/v1/model")
    async def model() -> bodies.ModelOut:
        """What is served: the model, its features, the class that is wanted, the limits."""
        recourse = state.recourse
        machine = recourse.model
        return bodies.ModelOut(
            fingerprint=getattr(machine, "fingerprint_", None),
            classes=[plain(label) for label in getattr(machine, "classes_", [0, 1])],
            wanted=recourse.wanted,
            decision_threshold=recourse.decision_threshold,
            cost=recourse.cost.words,
            exact=recourse.exact,
            ledger=state.ledger is not None,
            table=recourse.schema.to_dict(),
            limits=asdict(state.limits),
        )

    @routes.get(PLACE)
    async def problems() -> list[bodies.ProblemKind]:
        """The kinds of problem that an answer may name as its type."""
        return [
            bodies.ProblemKind(type=f"{PLACE}#{name}", title=kind.title, status=kind.status)
            for name, kind in KINDS.items()
        ]

    return routes
