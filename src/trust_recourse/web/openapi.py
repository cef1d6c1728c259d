"""The OpenAPI document: the shapes of `bodies`, with the columns and examples of the served model.

The example is a made-up person; its answers are those that this very model gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from trust_recourse.answers.recourse import Recourse
from trust_recourse.schema import Feature
from trust_recourse.web import bodies
from trust_recourse.web.problems import KINDS, MEDIA
from trust_recourse.web.state import Limits


@dataclass(frozen=True)
class Worked:
    """A worked example: a person, what is asked about them, and what is answered, by path."""

    person: dict[str, Any]
    level: float = 0.6
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> dict[str, dict[str, Any]]:
        """What is asked, by path."""
        asked = {"person": self.person, "confidence": self.level}
        two = {"person": self.person, "confidence": [self.level, round(self.level - 0.02, 4)]}
        who = {"organisation": "Meadow Bank", "contact": "Ann Lee, 555 0100"}
        return {
            "/v1/predict": {"people": [self.person]},
            "/v1/recourse": asked,
            "/v1/frontier": {"person": self.person},
            "/v1/explain": asked,
            "/v1/compare": two,
            "/v1/letter": {**asked, **who, "valid_until": "2099-12-31"},
            "/v1/ledger/promises": {**asked, "subject": "customer 4711", "days": 90},
            "/v1/ledger/promises/search": {"subject": "customer 4711"},
            "/v1/ledger/promises/{promise}/redeem": {"person": self.person},
            "/v1/ledger/promises/{promise}/withdraw": {"reason": "issued by mistake"},
        }


def document(app: FastAPI, recourse: Recourse, limits: Limits, worked: Worked) -> dict[str, Any]:
    """The document of an app that serves this model."""
    made = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=app.description,
        routes=app.routes, tags=app.openapi_tags,
    )  # fmt: skip
    shapes = made["components"]["schemas"]
    shapes["Person"] = {
        "title": "Person",
        "type": "object",
        "description": "A value for each feature of the model.",
        "properties": {feature.name: feature_shape(feature) for feature in recourse.schema},
        "required": list(recourse.schema.names),
        "additionalProperties": False,
        "example": worked.person,
    }
    shapes["ProblemDocument"] = bodies.ProblemDocument.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        shapes.pop(name, None)  # ours are problem documents
    for shape in shapes.values():
        _limit(shape, limits)
    for path, methods in made["paths"].items():
        for operation in methods.values():
            _complete(operation, worked.requests.get(path), worked.answers.get(path))
    return made


def feature_shape(feature: Feature) -> dict[str, Any]:
    """What a feature's values may be, as a JSON schema.

    >>> feature_shape(Feature("job", "category", values=("day", "none"), missing=("?", None)))
    {'enum': ['day', 'none', '?', None]}
    >>> feature_shape(Feature("age", "integer", unit="years"))["description"]
    'in years'
    """
    if feature.kind in ("category", "ordinal"):
        shape: dict[str, Any] = {"enum": [*feature.values, *feature.missing]}
    elif feature.kind == "boolean":
        shape = {"type": "boolean"}
    elif feature.kind == "integer":
        shape = {"type": "integer", "minimum": 1 - bodies.WHOLE, "maximum": bodies.WHOLE - 1}
    else:
        shape = {"type": "number", "minimum": -1e300, "maximum": 1e300}
    if None in feature.missing and "type" in shape:
        shape["type"] = [shape["type"], "null"]
    words = [feature.label, f"in {feature.unit}" if feature.unit else ""]
    words += [f"{value} = {word}" for value, word in feature.words.items()]
    if told := ", ".join(word for word in words if word):
        shape["description"] = told
    return shape


def _limit(shape: dict[str, Any], limits: Limits) -> None:
    """Write the server's own limits into a shape."""
    most = {
        "options": limits.options, "trials": limits.trials, "time_limit": limits.seconds,
        "confidence": limits.levels, "people": limits.rows,
    }  # fmt: skip
    for name in most.keys() & shape.get("properties", {}):
        told = shape["properties"][name]
        array = name in ("confidence", "people")
        for part in (told, *told.get("anyOf", ())):
            if part.get("type") in (("array",) if array else ("integer", "number")):
                part["maxItems" if array else "maximum"] = most[name]


def _complete(operation: dict[str, Any], request: Any, answer: Any) -> None:
    """Add the worked example, and the problems that any request may have."""
    problem = {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    answers = operation["responses"]
    answers.pop("422", None)
    for status in sorted({kind.status for kind in KINDS.values()}):
        titles = [kind.title for kind in KINDS.values() if kind.status == status]
        told = {"description": "; or: ".join(titles), "content": {MEDIA: problem}}
        answers.setdefault(str(status), told)
    if request is not None and "requestBody" in operation:
        operation["requestBody"]["content"]["application/json"]["example"] = request
    if answer is not None:
        answers["200"]["content"]["application/json"]["example"] = answer
