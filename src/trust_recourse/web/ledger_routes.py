"""The routes of the ledger: promise, list, look up, redeem, withdraw, verify, check."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Path, Query, Request
from pydantic import AfterValidator

from trust_recourse.answers.result import Result
from trust_recourse.certificate import Certificate
from trust_recourse.io import clock
from trust_recourse.ledger import Entry, Ledger, Promise
from trust_recourse.ledger.compatibility import check as judge
from trust_recourse.question.vocabulary import QuestionFields
from trust_recourse.web import bodies
from trust_recourse.web.problems import ProblemDetails
from trust_recourse.web.questions import (
    StrictRoute,
    book,
    chosen,
    put,
    values,
    waited_for,
    within,
)
from trust_recourse.web.state import AppState

Done = TypeVar("Done")
ID = "^([0-9a-f]{16}|[0-9a-f]{20})$"  # before there were seals, and since


def _known(promise: str) -> str:
    if not re.match(ID, promise):
        raise ProblemDetails("not-found", f"no promise has the id {promise[:80]!r}")
    return promise


Id = Annotated[
    str,
    AfterValidator(_known),
    Path(description="A promise's id.", json_schema_extra={"pattern": ID}),
]


def ledger_routes(state: AppState) -> APIRouter:
    """The routes to the ledger."""
    routes = APIRouter(prefix="/v1/ledger", route_class=StrictRoute, tags=["ledger"])
    limits = state.limits

    async def looked_up(request: Request, job: Callable[[Ledger], Done]) -> Done:
        return await waited_for(request, state.record(partial(job, book(state))))

    @routes.post("/promises", status_code=201)
    async def promise(asked: bodies.PromiseIn, request: Request) -> bodies.PromisedOut:
        """Promise an option to a person; when this answers, the promise is on disk."""
        within(limits, asked.given(QuestionFields))
        book(state)  # without one, nothing is searched

        def answered() -> tuple[Result, Certificate | None]:
            result = put(state, asked, certify=asked.certificate)
            option = chosen(result, asked.option)
            return result, result.certificate(option.target) if asked.certificate else None

        def promised(ledger: Ledger) -> bodies.PromisedOut:
            made = ledger.promise(
                result, asked.option, subject=asked.subject, days=asked.days,
                valid_until=asked.valid_until, certificate=proof, ranges=asked.ranges,
            )  # fmt: skip
            told = None if proof is None else proof.to_json()
            return bodies.PromisedOut(promise=_told(made), proof=told)

        result, proof = await waited_for(request, state.work(answered))
        # Once writing has begun it is finished, even if the client goes away meanwhile.
        return await looked_up(request, promised)

    @routes.get("/promises")
    async def promises(
        request: Request,
        outstanding: Annotated[bool, Query(description="Only those that can be redeemed.")] = True,
        after: Annotated[int, Query(ge=0, le=2**53, description="From this number on.")] = 0,
    ) -> bodies.PromisesOut:
        """The promises in the order they were made, so many at a time."""
        found = await looked_up(request, lambda ledger: ledger.promises(outstanding))
        return _listed([each for each in found if each.number > after], limits.rows)

    @routes.post("/promises/search")
    async def search(asked: bodies.SearchIn, request: Request) -> bodies.PromisesOut:
        """The promises made to one person, by their id."""

        def job(ledger: Ledger) -> list[Promise]:
            return ledger.promises(asked.outstanding, subject=asked.subject)

        return _listed(await looked_up(request, job), limits.rows)

    @routes.get("/promises/{promise}")
    async def history(promise: Id, request: Request) -> bodies.HistoryOut:
        """One promise, and all that happened to it."""

        def job(ledger: Ledger) -> bodies.HistoryOut:
            events = [*map(_event, ledger.history(promise))]
            return bodies.HistoryOut(promise=_told(ledger.read(promise)), events=events)

        return await looked_up(request, job)

    @routes.post("/promises/{promise}/redeem")
    async def redeem(promise: Id, asked: bodies.RedeemIn, request: Request) -> bodies.RedeemedOut:
        """The person returns: was it done, does it hold? What is found is recorded."""

        def job(_: Ledger) -> dict[str, Any]:
            found, said = state.redeemed(promise, values(state.recourse.schema, asked.person))
            return {**found.to_dict(), "sentences": said}

        return bodies.RedeemedOut.model_validate(await looked_up(request, job))

    @routes.post("/promises/{promise}/withdraw")
    async def withdraw(promise: Id, asked: bodies.WithdrawIn, request: Request) -> bodies.EventOut:
        """Take a promise back; it stays in the ledger, with the reason."""
        entry = await looked_up(request, lambda ledger: ledger.withdraw(promise, asked.reason))
        return _event(entry)

    @routes.get("/verify")
    async def verify(
        request: Request,
        head: Annotated[
            str | None, Query(max_length=100, description="A head written down earlier.")
        ] = None,
    ) -> bodies.ChainOut:
        """Walk the chain of entries, and name the first that was changed, removed or moved."""
        found = await looked_up(request, lambda ledger: ledger.verify(head))
        return bodies.ChainOut(
            holds=found.holds,
            entries=found.entries,
            head=str(found.head),
            fault=found.fault or None,
        )

    @routes.get("/check")
    async def check(
        request: Request, by: Annotated[Literal["decision", "target"], Query()] = "decision"
    ) -> bodies.CheckedOut:
        """Which outstanding promises the served model would break, and what would mend each."""
        now = clock.now()
        promises = await looked_up(request, lambda ledger: ledger.promises())

        def job() -> dict[str, Any]:
            return judge(promises, state.recourse, now, by, time_limit=limits.seconds).to_dict()

        return bodies.CheckedOut.model_validate(await waited_for(request, state.work(job)))

    return routes


def _listed(found: list[Promise], most: int) -> bodies.PromisesOut:
    shown = found[:most]
    more = shown[-1].number if len(found) > most else None
    return bodies.PromisesOut(promises=[_told(each) for each in shown], following=more)


def _event(entry: Entry) -> bodies.EventOut:
    letter = entry.told() if entry.kind == "letter" else None
    return bodies.EventOut(number=entry.number, kind=entry.kind, at=entry.at, letter=letter)


def _told(promise: Promise) -> bodies.PromiseOut:
    state = promise.state(clock.now())
    return bodies.PromiseOut.model_validate({**promise.to_dict(), "state": state})
