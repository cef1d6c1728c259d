"""A question on its way to the served model: read strictly, within the limits, done in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from fastapi import Request, Response
from fastapi.routing import APIRoute

from trust_recourse.answers.recourse import Recourse
from trust_recourse.answers.result import Result
from trust_recourse.io import strict_json
from trust_recourse.ledger import Ledger
from trust_recourse.question import Option, Question
from trust_recourse.question.vocabulary import PARTS, QuestionFields
from trust_recourse.schema import Schema
from trust_recourse.search.engines import BLACK_BOX, UNREAD
from trust_recourse.web.bodies import Person, QuestionIn
from trust_recourse.web.problems import ProblemDetails, problem_of
from trust_recourse.web.state import AppState, Limits

Done = TypeVar("Done")

LARGE = 64_000  # bytes of JSON from which on the event loop would be held up


# ---------------------------------------------------------------- a request, and who waits for it


class Gone(Exception):  # noqa: N818  nothing went wrong
    """The client has gone away, so nobody reads an answer."""


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
            body, loads = await self.body(), strict_json.loads
            try:
                small = len(body) < LARGE
                self._json = loads(body) if small else await asyncio.to_thread(loads, body)
            except ValueError as error:
                raise ProblemDetails("not-json", str(error)) from None
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


# ---------------------------------------------------------------- what is asked


def book(state: AppState) -> Ledger:
    """The ledger of the server, if it keeps one."""
    if state.ledger is None:
        raise ProblemDetails("no-ledger", "Start it with --ledger, or ask one that was")
    return state.ledger


def within(limits: Limits, parts: Mapping[str, Any]) -> None:
    """Refuse parts of a question that ask for more than the limits."""
    for name, most in {
        "time_limit": limits.seconds,
        "lock": limits.rows,
        "limits": limits.rows,
        "confidence": limits.levels,
        "n_options": limits.options,
        "n_trials": limits.trials,
    }.items():
        given = parts.get(name)
        many = given if given is None or isinstance(given, (int, float)) else len(given)
        at_most(PARTS[name].outside, many, most)


def at_most(name: str, given: float | None, most: float) -> None:
    """Refuse more of one thing than its limit."""
    if given is not None and given > most:
        detail = f"{name}: given {given:g}, expected at most {most:g}"
        raise ProblemDetails("too-much", detail, name=name, limit=most)


def bounded(recourse: Recourse, limits: Limits, asked: Question) -> Question:
    """A question whose search ends with the limits of the server at the latest."""
    if recourse.proves(asked.engine):
        seconds = min(asked.time_limit or limits.seconds, limits.seconds)
        return replace(asked, time_limit=seconds)
    by_itself = BLACK_BOX[UNREAD if asked.engine == "auto" else asked.engine].trials
    return replace(asked, n_trials=asked.n_trials or min(by_itself, limits.trials))


def put(state: AppState, body: QuestionIn, *, certify: bool = False) -> Result:
    """Ask the question of a request."""
    recourse, parts = state.recourse, body.given(QuestionFields)
    person = values(recourse.schema, body.person)
    if "plausible" in parts:
        parts["plausible"] = state.plausible(parts["plausible"])
    asked = bounded(recourse, state.limits, Question(**parts))
    return recourse.ask(person, asked, certify=certify)


def chosen(result: Result, at: int) -> Option:
    """The option at a place, counted from 0."""
    if at >= len(result.options):
        many = f"{len(result.options) or 'no'} option{'s' * (len(result.options) != 1)}"
        detail = f"option {at}: the answer has {many}, counted from 0; see /v1/recourse"
        raise ProblemDetails("not-valid", detail)
    return result.options[at]


def values(schema: Schema, person: Person) -> dict[str, Any]:
    """A person's values; JSON tells true from 1, so no number may be true."""
    numbers = {feature.name for feature in schema if feature.kind in ("number", "integer")}
    for name, value in person.root.items():
        if isinstance(value, bool) and name in numbers:
            raise ValueError(f"{name!r}: given {str(value).lower()}, expected a number")
    return person.root


def confidences(recourse: Recourse, people: Sequence[Person]) -> list[float]:
    """The model's confidence for each person; a mistake names the row."""
    codes = []
    for at, person in enumerate(people):
        try:
            codes.append(recourse.schema.action_set(values(recourse.schema, person)).own)
        except ValueError as error:
            raise ValueError(f"people, row {at}: {error}") from None
    told: list[float] = recourse.confidences(np.array(codes)).tolist()
    return told
