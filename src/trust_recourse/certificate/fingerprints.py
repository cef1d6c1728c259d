"""A question in one form for all who ask it: its fingerprint, and how two questions differ.

The fingerprint is the SHA-256 of the question as JSON, its keys sorted and without spaces: the
model's own fingerprint, the person's values, the schema without its defaults and what its codes are
called, the cost, whether the fewest changes come first, the target
(with the decision threshold where that is not one half) and the position of the wanted class. Every
number is written as a float. Whoever has the question computes the same one, with or without a
certificate.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from trust_recourse.question import Problem
from trust_recourse.question.cost import Cost

Question = dict[str, Any]

LONGEST = 100  # letters of a value in a sentence


def asked(
    problem: Problem, model: str, given_again: Iterable[str] = (), sparse: bool = False
) -> Question:
    """A question to the model of this fingerprint, in values that JSON can hold.

    `given_again` names parts of the cost that are in use and not in the problem. It is `sparse` if
    it asks for the fewest changes first.
    """
    action_set, target = problem.action_set, problem.target
    cost, untold = cost_parts(problem.cost)
    more = {"tolerance": target.tolerance} if target.mode == "band" else {}
    if target.threshold != 0.5:
        more["threshold"] = target.threshold
    codes = zip(action_set.schema, action_set.own.tolist(), strict=True)
    schema = action_set.schema.to_dict()
    # without what its codes are called: who asks the same may call them otherwise
    features = [{k: v for k, v in each.items() if k != "labels"} for each in schema["features"]]
    told: Question = _floats(
        {
            "model": model,
            "person": {f.name: None if math.isnan(c) else f.value_of(c) for f, c in codes},
            "schema": {"relations": [], **schema, "features": features},
            "cost": {**cost, "given_again": sorted({*given_again, *untold})},
            "target": {"confidence": target.confidence, "mode": target.mode, **more},
            "wanted class": int(problem.wanted),
            **({"sparse": True} if sparse else {}),
        }
    )
    return told


def cost_parts(cost: Cost) -> tuple[dict[str, float | bool], list[str]]:
    """The parts of a cost that a file can hold, and the names of those in use that it cannot."""
    parts = {field.name: getattr(cost, field.name) for field in fields(cost)}
    told = {name: part for name, part in parts.items() if isinstance(part, (bool, int, float))}
    return told, [name for name, part in parts.items() if name not in told and part]


def fingerprint(question: Question) -> str:
    """SHA-256 over all of a question."""
    text = json.dumps(question, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def differences(theirs: Question, ours: Question) -> list[str]:
    """What one question says otherwise than another of the same features, part by part."""
    a, b = dict(_parts(theirs)), dict(_parts(ours))
    said = ((part, a.get(part, "the default"), b.get(part, "the default")) for part in {**a, **b})
    return [f"{part} is {x[:LONGEST]}, not {y[:LONGEST]}" for part, x, y in said if x != y]


def _parts(question: Question) -> Iterator[tuple[str, str]]:
    """Every part of a question by its name, in writing: 1.0 is not True."""
    for entry, value in question.items():
        if entry == "schema":
            yield "relations", repr(value["relations"])
            for feature in value["features"]:
                for field, given in feature.items():
                    yield f"{feature['name']}, {field}", repr(given)
        elif isinstance(value, Mapping):
            for name, given in value.items():
                yield f"{entry}, {name}", repr(given)
        else:
            yield entry, repr(value)


def _floats(value: Any) -> Any:
    """The same with numbers as floats, so that 3 and 3.0, or 0.0 and -0.0, are one.

    Whole numbers that floats do not tell apart stay as they are.
    """
    if isinstance(value, Mapping):
        return {name: _floats(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_floats(each) for each in value]
    number = isinstance(value, float) or (type(value) is int and abs(value) <= 2**53)
    return float(value) + 0.0 if number else value
