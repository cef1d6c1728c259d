"""The routes for questions: predict, recourse, frontier, explain, compare, verify, letter."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

from trust_recourse.answers.certifying import unproved
from trust_recourse.answers.document import AnswerDocument, FrontierDocument, ranges_of
from trust_recourse.answers.measurements import how_far, safety
from trust_recourse.certificate import Certificate, CertificateError, check, why_not
from trust_recourse.ledger import Promise
from trust_recourse.ledger.letters import checked
from trust_recourse.question import Question, Target
from trust_recourse.question.vocabulary import RULES, UNPROVED, QuestionFields, outside
from trust_recourse.report.letter import Letter
from trust_recourse.report.letter.letter_request import LetterRequest
from trust_recourse.report.pdf import pdf
from trust_recourse.web import bodies
from trust_recourse.web.problems import ProblemDetails
from trust_recourse.web.questions import (
    StrictRoute,
    at_most,
    book,
    chosen,
    confidences,
    put,
    values,
    waited_for,
    within,
)
from trust_recourse.web.state import AppState

Done = TypeVar("Done")

SECONDS = 0.5  # seconds that a letter may search where no option is accepted
UNTOLD = 50  # names in a header, which has little room
MEDIA = {"html": "text/html", "text": "text/plain", "pdf": "application/pdf"}
TEXT = {"schema": {"type": "string"}}
BINARY = {"schema": {"type": "string", "format": "binary"}}
PAPERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The letter.",
        "content": {media: BINARY if name == "pdf" else TEXT for name, media in MEDIA.items()},
    }
}


def question_routes(state: AppState) -> APIRouter:
    """The routes that put questions to the served model."""
    routes = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["questions"])
    limits = state.limits

    async def searched(request: Request, asked: bodies.RulesIn, job: Callable[[], Done]) -> Done:
        """What a job gives for a question, which is refused beyond the limits."""
        parts = RULES if isinstance(asked, bodies.VerifyIn) else ()
        within(limits, asked.given(QuestionFields, *parts))
        return await waited_for(request, state.work(job))

    @routes.post("/predict")
    async def predict(asked: bodies.PredictIn, request: Request) -> bodies.PredictOut:
        """The model's confidence and decision for each person."""
        at_most("people", len(asked.people), limits.rows)
        ours = state.recourse
        told = await waited_for(request, state.brief(lambda: confidences(ours, asked.people)))
        line = asked.threshold or ours.decision_threshold
        return bodies.PredictOut(
            wanted=ours.wanted,
            decision_threshold=line,
            people=[bodies.ConfidenceOut(confidence=each, accepted=each >= line) for each in told],
        )

    @routes.post("/recourse", response_model=AnswerDocument)
    async def recourse(asked: bodies.FindIn, request: Request) -> dict[str, Any]:
        """The least that a person must change to be accepted with the confidences they name."""
        return await searched(request, asked, lambda: found(state, asked))

    @routes.post("/frontier", response_model=FrontierDocument)
    async def frontier(asked: bodies.FrontierIn, request: Request) -> dict[str, Any]:
        """Steps of confidence that a person can buy, each at its least cost."""

        def job() -> dict[str, Any]:
            put = Question(**asked.given(QuestionFields))
            by = state.recourse.under(put)
            x = values(by.schema, asked.person)
            found = by.frontier(
                x, put.confidence or None, resolution=asked.resolution, node_limit=put.node_limit,
                time_limit=put.time_limit or limits.seconds,
            )  # fmt: skip
            return FrontierDocument.of(by, x, found).to_dict()

        return await searched(request, asked, job)

    @routes.post("/explain")
    async def explain(asked: bodies.ExplainIn, request: Request) -> dict[str, Any]:
        """What each change, and each rule or tree of the model, adds from a person to an option."""

        def job() -> dict[str, Any]:
            result = put(state, asked)
            chosen(result, max(asked.option, asked.since or 0))
            return result.explain(asked.option, since=asked.since).to_dict()

        return await searched(request, asked, job)

    @routes.post("/compare")
    async def compare(asked: bodies.CompareIn, request: Request) -> dict[str, Any]:
        """Two options side by side on every count, and what the dearer one buys."""

        def job() -> dict[str, Any]:
            result = put(state, asked)
            chosen(result, max(asked.first, asked.second))
            return result.compare(asked.first, asked.second, sigma=asked.sigma).to_dict()

        return await searched(request, asked, job)

    @routes.post("/verify")
    async def verify(asked: bodies.VerifyIn, request: Request) -> bodies.VerdictOut:
        """Check a certificate on the served model and its rules, without believing any of it."""
        return await searched(request, asked, lambda: verdict(state, asked))

    @routes.post("/letter", response_class=Response, responses=PAPERS)
    async def letter(asked: bodies.LetterIn, request: Request) -> Response:
        """A letter to the person: the decision, the reasons, what to change, until when.

        Under a promise it is recorded in the ledger before it is sent, by the entry that the header
        Trust-Ledger-Entry names. Trust-Reviewed-Beside lists what was reviewed and is no reason,
        Trust-Language-Lacks what stands in the schema's words as the letter's language has none,
        or the first fifty of that, Trust-Doubts what to look at before it is sent.
        """
        within(limits, asked.given(QuestionFields))  # before the ledger is asked
        letter = LetterRequest(**asked.given(LetterRequest))
        at_most("protected_reviewed", len(letter.protected_reviewed), limits.rows)
        kept = None
        if letter.promise:
            ledger = book(state)
            kept = await waited_for(request, state.record(lambda: ledger.read(letter.promise)))
        work = state.work(lambda: _paper(state, asked, letter, kept))
        note, paper = await waited_for(request, work)
        # A browser that shows it runs nothing in it, whatever a value may hold.
        headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        if kept is not None:
            entry = await waited_for(
                request,
                state.record(lambda: ledger.record_letter(kept.id, note.record(), file=paper)),
            )
            headers["Trust-Ledger-Entry"] = str(entry.number)
        if note.reviewed_beside:
            headers["Trust-Reviewed-Beside"] = json.dumps(note.reviewed_beside)
        if note.doubts:
            headers["Trust-Doubts"] = json.dumps(note.doubts)
        if untold := note.document.language.untold(state.recourse.schema):
            headers["Trust-Language-Lacks"] = json.dumps(untold[:UNTOLD])
        return Response(paper, media_type=MEDIA[asked.format], headers=headers)

    return routes


def found(state: AppState, asked: bodies.FindIn) -> dict[str, Any]:
    """The answers to a question as plain values, with the proof if that is asked for."""
    if asked.certificate:
        given, model = asked.given(QuestionFields), state.recourse.model
        more = next((part for part in UNPROVED if part in given), "")
        levels = {*given.get("confidence", ())}
        if reason := unproved(model, given.get("engine", "auto"), outside(more), len(levels)):
            raise ProblemDetails("not-valid", f"certificate: {reason}")
    result = put(state, asked, certify=asked.certificate)
    wide = ranges_of(result) if asked.ranges else ()
    proved = asked.certificate and "not_found" not in result.status.values()
    proof = result.certificate().to_dict() if proved else None
    told = AnswerDocument.of(result, safety(result), how_far(result), wide, certificate=proof)
    return told.to_dict()


def verdict(state: AppState, asked: bodies.VerifyIn) -> bodies.VerdictOut:
    """What the checker says of a certificate as an answer to the server's own question."""
    model = state.recourse.model
    if reason := why_not(model):
        raise ProblemDetails("not-valid", f"no certificate can be about the served model: {reason}")
    proof = Certificate.from_dict(asked.certificate)
    by = state.recourse.under(Question(**asked.given(QuestionFields, *RULES)))
    x, line = asked.person and values(by.schema, asked.person), by.decision_threshold
    target = replace(proof.problem.target, threshold=line)
    if asked.confidence is not None:
        target = Target(asked.confidence, asked.mode, asked.tolerance, line)
    try:
        if proof.given_again and not by.cost.functions:
            raise CertificateError("its cost has functions of its own, which no file holds")
        found = check(
            proof, model, schema=by.schema, cost=by.cost, x=x, target=target, wanted=by.wanted
        )
    except CertificateError as error:
        nothing = dict.fromkeys(bodies.VerdictOut.model_fields)
        return bodies.VerdictOut.model_validate({**nothing, "holds": False, "reason": str(error)})
    bound = found.lower_bound
    return bodies.VerdictOut(
        holds=True,
        reason=None,
        status=str(found.status),
        sentence=found.status.sentence,
        lower_bound=bound if bound < math.inf else None,
        discarded=dict(found.leaves),
        question=proof.asked,
        fingerprint=found.question,
        own_word=[name for name in ("person", "confidence") if getattr(asked, name) is None],
    )


def _paper(
    state: AppState, asked: bodies.LetterIn, letter: LetterRequest, kept: Promise | None
) -> tuple[Letter, bytes]:
    """The letter, once it says of a promise nothing but what that says, and its file."""
    letter = replace(
        letter,
        organisation=state.organisation if letter.organisation is None else letter.organisation,
        contact=state.contact if letter.contact is None else letter.contact,
    )
    written = letter.written(state.institution, put(state, asked), promise=kept, time_limit=SECONDS)
    note = checked(written, kept)
    if asked.format == "pdf":
        return note, pdf(note.document)
    return note, (note.html() if asked.format == "html" else note.text()).encode()
