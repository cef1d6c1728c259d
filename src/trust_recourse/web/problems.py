"""What can go wrong with a request, as RFC 9457 has it: one document for a person and a program."""

from __future__ import annotations

import dis
import json
import logging
from typing import Any, NamedTuple

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match, Mount

from trust_recourse.certificate import CertificateError
from trust_recourse.io.cancel import Cancelled
from trust_recourse.io.wording import shortened
from trust_recourse.ledger import (
    LedgerChangedError,
    LedgerError,
    LedgerUnavailableError,
    NoPromiseError,
    PromiseClosedError,
)
from trust_recourse.report.letter import ProtectedReasonError, UnsignedReviewError
from trust_recourse.report.letter.profiles import LateLetterError, MissingFieldsError
from trust_recourse.schema.errors import SchemaError
from trust_recourse.web.state import Busy, TooLong

MEDIA = "application/problem+json"
PLACE = "/v1/problems"  # where the kinds are told; a problem's type points into it
FAULTS = 10  # named one by one in one answer
EXPECTED = {"dict_type": "an object", "model_attributes_type": "an object"}  # in words of JSON
GIVEN = {
    "dict": "an object",
    "list": "a list",
    "bytes": "a body whose Content-Type is not application/json",
}
LONGEST = 500  # letters of a sentence that may quote what was given

log = logging.getLogger(__name__)


class Kind(NamedTuple):
    """A kind of problem: the status of its answer, and what it is called."""

    status: int
    title: str


KINDS = {
    "not-json": Kind(400, "The body is not JSON"),
    "no-key": Kind(401, "The API key is absent or wrong"),
    "wrong-origin": Kind(403, "The request comes from another site, or is for another host"),
    "not-found": Kind(404, "There is no such thing here"),
    "wrong-method": Kind(405, "This address takes another method"),
    "too-slow": Kind(408, "The request took too long to arrive"),
    "closed": Kind(409, "That has happened already"),
    "too-large": Kind(413, "The body is too large"),
    "not-valid": Kind(422, "Something that was given cannot be used"),
    "not-reviewed": Kind(422, "A protected feature is a reason, and nobody said it was reviewed"),
    "too-much": Kind(422, "More is asked for than this server answers at once"),
    "too-long": Kind(422, "The answer would take longer than this server allows"),
    "busy": Kind(429, "Too many questions wait for an answer"),
    "fault": Kind(500, "Something is wrong with the server itself"),
    "no-ledger": Kind(404, "This server keeps no ledger"),
    "closing": Kind(503, "The server is shutting down"),
    "ledger-away": Kind(503, "The ledger cannot be reached"),
    "not-ready": Kind(503, "The server is not ready yet"),
}
NAMED: dict[type[Exception], str] = {  # errors whose own words are the detail
    Busy: "busy", TooLong: "too-long", NoPromiseError: "not-found", PromiseClosedError: "closed",
}  # fmt: skip
AGAIN = {"busy": "2", "closing": "5", "ledger-away": "5", "not-ready": "2"}  # Retry-After, seconds


class ProblemDetails(HTTPException):
    """A request that cannot be answered, and why: `kind` is one of `KINDS`."""

    def __init__(
        self, kind: str, detail: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        self.kind, self.more = kind, more
        again = {"Retry-After": AGAIN[kind]} if kind in AGAIN else {}
        detail = shortened(detail, LONGEST)
        super().__init__(KINDS[kind].status, detail, {**again, **(headers or {})})

    def response(self) -> JSONResponse:
        """The problem as an answer."""
        document = {
            "type": f"{PLACE}#{self.kind}",
            "title": KINDS[self.kind].title,
            "status": self.status_code,
            "detail": self.detail,
            **self.more,
        }
        return JSONResponse(document, self.status_code, self.headers, MEDIA)


def problem_of(error: Exception) -> ProblemDetails | None:
    """The problem that an error of a job stands for; None if it is a fault of the server's own."""
    match error:
        case ProblemDetails():
            return error
        case Busy() | TooLong() | NoPromiseError() | PromiseClosedError():
            return ProblemDetails(NAMED[type(error)], str(error))
        case Cancelled():
            return ProblemDetails("closing", "The question was called off; ask again in a moment")
        case LedgerChangedError():
            log.error("the ledger: %s", error)
            return ProblemDetails("fault", "The ledger was changed; see /v1/ledger/verify")
        case LedgerUnavailableError():
            log.error("the ledger: %s", error)
            return ProblemDetails("ledger-away", "The ledger's database does not answer")
        case ProtectedReasonError(sentence=sentence, names=names):
            detail = f'{sentence}: {{"protected_reviewed": {json.dumps(names)}}}'
            return ProblemDetails("not-reviewed", detail, protected=names)
        case MissingFieldsError(names=names):
            return ProblemDetails("not-valid", str(error), missing=list(names))
        case LateLetterError(sentence=sentence):
            return ProblemDetails("not-valid", f'{sentence}: {{"late": true}}')
        case UnsignedReviewError() | LedgerError() | SchemaError() | CertificateError():
            return ProblemDetails("not-valid", str(error))
        case ValueError() if type(error) is ValueError and meant_for_people(error):
            return ProblemDetails("not-valid", str(error))
    return None


def meant_for_people(error: Exception) -> bool:
    """Whether this package raised an error itself, so that its words are for people.

    What Python, NumPy or anything else trips over is a fault, of whatever kind the error is.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    code = last.tb_frame.f_code
    name = last.tb_frame.f_globals.get("__name__", "")
    ours = name.partition(".")[0] == __name__.partition(".")[0]
    return ours and dis.opname[code.co_code[last.tb_lasti]] == "RAISE_VARARGS"


def tell_problems(app: FastAPI) -> None:
    """Have an app answer every mistake by a problem document."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StarletteHTTPException, _refused)
    app.add_exception_handler(Exception, _fault)


async def _fault(_: Request, __: Exception) -> JSONResponse:
    # The server that runs the app writes the error into its log.
    return ProblemDetails("fault", "The mistake is not yours; it was written down").response()


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        detail = f"{found[0]['ctx']['error']}, at letter {found[0]['loc'][-1]}"
        return ProblemDetails("not-json", detail).response()
    faults = [
        {"at": "/".join(map(str, each["loc"])), "detail": shortened(_sentence(each), LONGEST)}
        for each in found[:FAULTS]
    ]
    said = (f"{fault['at'].partition('/')[2] or 'body'}: {fault['detail']}" for fault in faults)
    return ProblemDetails("not-valid", "; ".join(said), at=faults).response()


def _sentence(fault: dict[str, Any]) -> str:
    """What was given and what was expected, of a mistake that the validator found."""
    said: str = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "missing":
        return "absent; it must be given"
    expected = EXPECTED.get(fault["type"], said.partition("Input should be ")[2])
    if not expected:
        return said
    value = fault["input"]
    given = GIVEN.get(type(value).__name__) or json.dumps(value, default=str)[:80]
    return f"given {given}, expected {expected}"


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StarletteHTTPException)
    if isinstance(error, ProblemDetails):
        return error.response()
    ours = [route for route in request.app.routes if not isinstance(route, Mount)]
    methods = ", ".join(
        method
        for method in ("DELETE", "GET", "PATCH", "POST", "PUT")
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in ours
        )
    )
    headers = dict(error.headers or {})
    if "Allow" in headers:
        headers["Allow"] = methods
    kind = {404: "not-found", 405: "wrong-method"}.get(error.status_code, "not-valid")
    words = {
        "not-found": "Nothing answers at this address; /docs lists what does",
        "wrong-method": f"This address takes {methods or 'another method'}",
    }
    return ProblemDetails(kind, words.get(kind, str(error.detail)), headers).response()
