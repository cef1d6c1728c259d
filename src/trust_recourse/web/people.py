"""A made-up person, for examples and for the first search: like nobody real."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.io.scalars import plain
from trust_recourse.schema.derived import filled
from trust_recourse.schema.multiples import multiple_below

if TYPE_CHECKING:
    from trust_recourse import Feature, Recourse


def person_like(recourse: Recourse, seed: int = 0, tries: int = 64) -> dict[str, Any]:
    """A made-up person within the schema's bounds, whom the model refuses, if only just."""
    rng, schema = np.random.default_rng(seed), recourse.schema
    rows = np.array([[_some_code(feature, rng) for feature in schema] for _ in range(tries)])
    rows = filled(schema, rows)
    rows = rows[np.isfinite(rows).all(axis=1)]  # a division by 0 makes nobody
    told = recourse.confidences(rows)
    refused = np.where(told < recourse.decision_threshold, told, told - 2.0)
    one = schema.decode(rows[[int(np.argmax(refused))]])
    return {name: plain(one[name].tolist()[0]) for name in schema.names}


def _some_code(feature: Feature, rng: np.random.Generator) -> float:
    low, high = feature.bounds
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, feature.scale
    code = float(rng.uniform(low, high))
    return multiple_below(feature.step, code) if feature.kind == "number" else float(round(code))
