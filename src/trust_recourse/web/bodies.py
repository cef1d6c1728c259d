"""What requests and answers hold, as types: the shapes in the OpenAPI document.

A person's columns are those of the served model: `document` writes them into `Person` there.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    TypeAdapter,
    WithJsonSchema,
    create_model,
    model_validator,
)

from trust_recourse.io.fields import RequestField, fields_of
from trust_recourse.io.wording import near
from trust_recourse.question.cost import why_no_sum
from trust_recourse.question.vocabulary import OTHERS, RULES, Mode, QuestionFields
from trust_recourse.report.letter.institution import SHARED
from trust_recourse.report.letter.letter_request import LetterRequest
from trust_recourse.search.engines import Engine
from trust_recourse.search.frontier import FINEST

WHOLE = 2**53  # beyond it floats skip whole numbers
MOST = 10_000  # of anything in a list, whatever the server's own limit
ENTRIES = 100  # of a question, known or not

Value = str | int | float | bool | None
Level = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1, le=WHOLE)]
Place = Annotated[int, Field(ge=0, le=WHOLE)]
# The first mistake in a list ends it: to tell a million of them would hold up everybody else.
LEVELS = Annotated[list[Level], Field(fail_fast=True, min_length=1, max_length=MOST)]
Levels = Annotated[
    LEVELS,
    BeforeValidator(lambda given: given if isinstance(given, list) else [given]),
    WithJsonSchema({"anyOf": [TypeAdapter(each).json_schema() for each in (Level, LEVELS)]}),
]


class RequestBody(BaseModel):
    """What is sent: nothing unknown, and nothing guessed from another type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, dict):
            if len(given) > ENTRIES:
                raise ValueError(f"{len(given)} entries, expected at most {ENTRIES}")
            for name in given.keys() - cls.model_fields.keys():
                raise ValueError(f"unknown {name[:80]!r}{near(name[:80], cls.model_fields)}")
        return given


class ResponseBody(BaseModel):
    """What is answered."""

    model_config = ConfigDict(extra="forbid")


class Person(RootModel[dict[str, Any]]):
    """One person: a value for each feature of the model, by name; null is a blank."""

    @model_validator(mode="after")
    def _plain(self) -> Person:
        # One function for all values: a type of each would make an error of each.
        for name, value in self.root.items():
            if not (value is None or isinstance(value, (int, float, str))):
                raise ValueError(f"{name[:80]!r} is no text, number or boolean")
            huge = isinstance(value, int) and abs(value) > WHOLE
            if huge or (isinstance(value, float) and not math.isfinite(value)):
                raise ValueError(f"{name[:80]!r} is not finite, or a whole number beyond 2**53")
        return self


# ---------------------------------------------------------------- questions


class PredictIn(RequestBody):
    """Whom to predict."""

    people: Annotated[list[Person], Field(fail_fast=True, min_length=1, max_length=MOST)]
    threshold: Level | None = Field(None, description="The server's decision threshold if null.")


Named = Annotated[str, Field(max_length=1000)]
Limit = Annotated[list[Value], Field(min_length=2, max_length=2)]


def _a_sum(given: Any) -> Any:
    if reason := why_no_sum(given):
        raise ValueError(f"given {reason}")
    return given


Amount = Annotated[float, Field(ge=0, le=1e60)]


class CostIn(RequestBody):
    """Weights of L0, L1 and squared L2 in a cost; `root` takes the square root of their sum."""

    l0: Amount = 0.0
    l1: Amount = 0.0
    l2: Amount = 0.0
    root: bool = False


Made = TypeVar("Made", bound=RequestBody)


OURS = "The server's if null."
KINDS: dict[str, Any] = {  # of fields, in place of the request's own
    "confidence": Levels,
    "cost": Annotated[Literal["l0", "l1", "l2"] | CostIn, BeforeValidator(_a_sum)],
    "engine": Engine,
    "fields": Annotated[dict[Named, Value | list[Named]], Field(max_length=ENTRIES)],
    "limits": Annotated[dict[Named, Limit], Field(max_length=ENTRIES)],
}
MORE = {  # sentences after the description of a field
    "confidence": "One level of confidence, or several.",
    "limits": 'Such as {"loan": [null, 5000]}.',
    "plausible": "The known rows are the server's.",
    **dict.fromkeys(
        ("cost", "decision_threshold", "organisation", "contact", "decision", "valid_until"), OURS
    ),
}


def body_of(request: type, *names: str) -> Callable[[type[Made]], type[Made]]:
    """Give a body a field for each of a request, or for these, by their names outside Python."""

    def made(cls: type[Made]) -> type[Made]:
        fields: dict[str, Any] = {}
        for name, each in fields_of(request, *names).items():
            default = [*each.default] if isinstance(each.default, tuple) else each.default
            default = None if name == "confidence" else default
            kind = KINDS.get(name) or _kind(each)
            told = " ".join(filter(None, (each.setting.help, MORE.get(name))))
            of = kind if default is not None else kind | None
            fields[each.outside] = of, Field(default, description=told)
        return create_model(
            cls.__name__, __base__=cls, __doc__=cls.__doc__, __module__=cls.__module__, **fields
        )

    return made


def _kind(each: RequestField) -> Any:
    """The type of a field in a body, within the bounds of the request."""
    kind, told = each.kind, each.setting
    if get_origin(kind) is tuple:
        return Annotated[list[Named], Field(fail_fast=True, max_length=MOST)]
    if kind is datetime.date:
        return Annotated[datetime.date, Field(strict=False)]
    if kind is str:
        return Annotated[str, Field(max_length=told.longest)]
    if kind not in (int, float):
        return kind
    most = WHOLE if kind is int and told.below is None else None
    return Annotated[kind, Field(gt=told.above, ge=told.least, lt=told.below, le=most)]


@body_of(QuestionFields, *RULES)
class RulesIn(RequestBody):
    """What may change, what a change costs, and who is refused."""

    def given(self, request: type, *names: str) -> dict[str, Any]:
        """The fields of a request that are not the default, by their names in Python."""
        inside = {each.outside: name for name, each in fields_of(request, *names).items()}
        told = self.model_dump(include={*inside}, exclude_defaults=True)
        return {inside[name]: value for name, value in told.items()}


@body_of(QuestionFields, "confidence", "node_limit", "time_limit")
class FrontierIn(RulesIn):
    """Whose stairs of cost and confidence, and how finely."""

    person: Person
    resolution: Annotated[float, Field(ge=FINEST, lt=1)] | None = Field(
        0.01, description="How far apart in confidence they may lie; null: every step."
    )


@body_of(QuestionFields, *OTHERS)
class QuestionIn(RulesIn):
    """What a person must change to be accepted with these confidences."""

    person: Person


class FindIn(QuestionIn):
    """A question, and whether its proof is wanted, and its ranges."""

    certificate: bool = Field(
        False, description="Send the proof of the answer too; one confidence, exact, no min_radius."
    )
    ranges: bool = Field(
        False, description="Say from where to where the values of each option may go; exact."
    )


class ExplainIn(QuestionIn):
    """Which option to explain: those of the same question at /v1/recourse, counted from 0."""

    option: Place = 0
    since: Place | None = Field(
        None, description="Start from this option; from the person as they are if null."
    )


class CompareIn(QuestionIn):
    """Which two options to set side by side."""

    first: Place = 0
    second: Place = 1
    sigma: Annotated[float, Field(gt=0, lt=1e3)] = Field(0.01, description="Of the noise.")


class VerifyIn(RulesIn):
    """A certificate, and the question that it must answer.

    Schema, cost, threshold and wanted class are the server's, but for what is given here, as for
    /v1/recourse; a person or a confidence that is null is taken from the certificate.
    """

    certificate: dict[str, Any]
    person: Person | None = None
    confidence: Level | None = None
    mode: Mode = Field("at_least", description="Of the confidence, if that is given.")
    tolerance: Annotated[float, Field(ge=0, lt=1)] = Field(0.1, description="Of a band.")

    @model_validator(mode="after")
    def _of_a_level(self) -> VerifyIn:
        for name in sorted({"mode", "tolerance"} & self.model_fields_set):
            if self.confidence is None:
                raise ValueError(f"{name}: of which confidence? give confidence too")
        return self


@body_of(LetterRequest)
class LetterIn(QuestionIn):
    """A letter to the person. Under a promise it is recorded in the ledger."""

    format: Literal["html", "text", "pdf"] = "html"

    @model_validator(mode="after")
    def _beside(self) -> LetterIn:
        for name in {*SHARED, "late"} & self.given(LetterRequest).get("fields", {}).keys():
            place = "name" if name == "person" else name
            raise ValueError(f"fields: {name} stands beside it; give {place!r} in the request")
        return self


Subject = Annotated[str, Field(min_length=1, max_length=1000)]


class PromiseIn(QuestionIn):
    """Promise an option to a person. It is computed here, from the question alone."""

    subject: Subject = Field(description="The person's id; only its keyed hash is kept.")
    option: Place = 0
    days: Annotated[float, Field(gt=0, lt=36_525)] = 90.0
    valid_until: Annotated[datetime.date, Field(strict=False)] | None = Field(
        None, description="Its last day (UTC), in place of the days."
    )
    certificate: bool = Field(False, description="Keep the hash of its proof, and send the proof.")
    ranges: bool = Field(False, description="Promise all values within the option's ranges.")


class SearchIn(RequestBody):
    """Whose promises to look for."""

    subject: Subject
    outstanding: bool = True


class RedeemIn(RequestBody):
    """The person as they are now."""

    person: Person


class WithdrawIn(RequestBody):
    """Why a promise is taken back."""

    reason: Annotated[str, Field(min_length=1, max_length=1000)]


# ---------------------------------------------------------------- answers


class ConfidenceOut(ResponseBody):
    """What the model says of one person."""

    confidence: float
    accepted: bool


class PredictOut(ResponseBody):
    """What the model says of each person, in their order."""

    wanted: Value
    decision_threshold: float
    people: list[ConfidenceOut]


class VerdictOut(ResponseBody):
    """Whether a proof holds, and what it proves."""

    holds: bool
    reason: str | None = Field(description="Why it does not hold.")
    status: str | None
    sentence: str | None
    lower_bound: float | None = Field(description="null: nothing reaches the confidence.")
    discarded: dict[str, int] | None = Field(description="Boxes discarded and checked, by reason.")
    question: dict[str, Any] | None = Field(
        description="What it answers: the model, person, schema, cost, target, and wanted class."
    )
    fingerprint: str | None = Field(
        description="SHA-256 of the question, the same for all who ask it."
    )
    own_word: list[str] | None = Field(
        description="What of the question was not given, so is the certificate's own word."
    )


class PromiseOut(ResponseBody):
    """A promise as the ledger keeps it."""

    id: str
    number: int
    issued_at: str
    valid_until: str
    subject: str
    model: str
    wanted: Value
    target: str
    threshold: float = Field(description="From which on the model accepted, as it was promised.")
    factual: dict[str, Value]
    confidence_before: float = Field(description="What the model said of the person as they were.")
    option: dict[str, Value]
    changes: str
    cost: float
    confidence: float
    status: str
    certificate: str | None = Field(description="The SHA-256 of its proof.")
    ranges: dict[str, tuple[Value, Value]] | None = Field(
        description="Promised are all allowed values from the first to the second; null: no end."
    )
    state: str


class PromisedOut(ResponseBody):
    """A promise that is on disk, and its proof if that was asked for."""

    promise: PromiseOut
    proof: str | None = Field(description="The proof as text: its SHA-256 is in the promise.")


class PromisesOut(ResponseBody):
    """Promises in the order they were made."""

    promises: list[PromiseOut]
    following: int | None = Field(description="Give it as `after` for the next; null at the end.")


class EventOut(ResponseBody):
    """One entry of the ledger about a promise."""

    number: int
    kind: str
    at: str
    letter: dict[str, Any] | None = Field(description="What is kept of a letter.")


class HistoryOut(ResponseBody):
    """A promise, and all that happened to it."""

    promise: PromiseOut
    events: list[EventOut]


class ChainOut(ResponseBody):
    """What a walk along the ledger's chain found."""

    holds: bool
    entries: int
    head: str
    fault: str | None


class RedeemedOut(ResponseBody):
    """What was found when a person came back."""

    promise: str
    at: str
    x: dict[str, Value]
    done: str
    in_time: bool
    missed: dict[str, tuple[Value, Value]]
    others: dict[str, tuple[Value, Value]]
    then: float | None
    held_then: bool | None
    model: str | None
    threshold: float
    now: float
    holds_now: bool
    due: bool
    sentences: list[str]


class HeldOut(ResponseBody):
    """What the served model makes of one outstanding promise."""

    id: str
    subject: str
    valid_until: str
    promised: str
    target: str
    confidence_then: float
    confidence: float | None = Field(description="null: the model cannot be asked about it.")
    accepted: bool
    enough: bool
    broken: bool
    lost: dict[str, Value] | None = Field(
        description="Values within the promised ranges that it refuses, if it accepts the others."
    )
    repair: str | None
    repair_values: dict[str, Value] | None
    repair_cost: float | None
    repair_confidence: float | None
    repair_status: str
    reason: str = Field(
        description="Why the model cannot be asked, no repair was sought, or what it need not be."
    )


class CheckedOut(ResponseBody):
    """What the served model makes of all outstanding promises."""

    model: str | None
    at: str
    by: str
    outstanding: int
    broken: int
    promises: list[HeldOut]


class StateOut(ResponseBody):
    """How the server is."""

    status: Literal["up", "ready"]


class ModelOut(ResponseBody):
    """The served model: what it is asked for, and what each feature means."""

    fingerprint: str | None
    classes: list[Value]
    wanted: Value
    decision_threshold: float
    cost: str
    exact: bool = Field(description="Whether answers come with proofs.")
    ledger: bool = Field(description="Whether promises can be made here.")
    table: dict[str, Any] = Field(description="The schema: features and relations.")
    limits: dict[str, float]


class ProblemKind(ResponseBody):
    """A kind of problem."""

    type: str
    title: str
    status: int


class ProblemDocument(BaseModel):
    """What went wrong, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
