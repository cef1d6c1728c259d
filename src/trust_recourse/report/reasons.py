"""Why the model said no: which of a person's values hold its confidence back.

A **reason** is one value of the person. Its weight is what the model's confidence would gain if
this value alone were the best one for it, all others staying as they are. Looked at are the values
within the schema's bounds and on its steps, whether or not this person may move there: it is a
reason for the decision, not a way out of it, so what nobody can change counts too. Of a model with
cells every cell is looked at, so the weight is exact; of any other, `TRIED` values spread over the
bounds.

Weights do not add up, as values act together. Where no value alone brings a point out of 100, no
single value is a reason, and the reasons are the values that a found change replaces together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trust_recourse.question import SLACK, Floats
from trust_recourse.schema import Feature
from trust_recourse.schema.actions import FeatureActions

if TYPE_CHECKING:
    from trust_recourse.question import Option
    from trust_recourse.recourse import Recourse
    from trust_recourse.result import Result

HIGHER, LOWER = "a higher value", "a lower value"
MOST = 4  # reasons, at most
POINT = 0.01  # a value that gains less is no reason on its own
TRIED = 33  # values of a number, where the model has no cells
SCALES = 10.0  # how far from a person, in scales, values are tried where no bound ends them


class Reason(NamedTuple):
    """A value that holds confidence back."""

    feature: Feature
    value: str  # the person's own, for people
    weight: float  # of confidence; 0 for a value that counts only together with others
    better: str  # what the model would rather see, or "" where that is not for this person to do
    side: str = ""  # beside the best, or other applicants: low, high, missing or other
    best: Any = None  # the best value that was looked at
    typical: str = ""  # what is usual among them, for people
    usual: Any = None  # the same as it is; None if there are none, or it is mostly missing
    raw: str = ""  # the person's own value as the schema writes it
    code: str = ""  # in the institution's own list
    text: str = ""  # its words there
    others: tuple[Any, ...] = ()  # further reasons of the same code


def reasons(result: Result, most: int = MOST, way: Option | None = None) -> tuple[Reason, ...]:
    """The weightiest reasons first; `way` is a change to take them from where none stands alone."""
    recourse = result.recourse
    action_set = recourse.schema.action_set(result.factual)
    found = []
    for f, (feature, actions) in enumerate(zip(recourse.schema, action_set.actions, strict=True)):
        code, weight = _best(recourse, action_set.own, f)
        if weight >= POINT:
            better = _better(feature, actions, code)
            side, best = _side(feature, actions.own, code), feature.value_of(code)
            own = recourse.schema.describe(feature.name, result.factual[feature.name])
            found.append(Reason(feature, own, weight, better, side=side, best=best))
    found.sort(key=lambda reason: -reason.weight)
    if not found and way is not None:
        found = [
            Reason(recourse.schema[name], recourse.schema.describe(name, own), 0.0, "")
            for name, (own, _) in way.changes.items()
        ]
    return tuple(found[:most])


def _best(recourse: Recourse, own: Floats, f: int) -> tuple[float, float]:
    """The code of one feature at which confidence is greatest, all else as it is, and its gain."""
    codes = np.array([own[f], *_codes(recourse, f, float(own[f]))])
    rows = np.tile(own, (len(codes), 1))
    rows[:, f] = codes
    confidence = recourse.confidences(rows)
    best = np.flatnonzero(confidence >= confidence.max() - SLACK)
    # of equals the nearest; from a missing value none is nearer than another
    nearest = best[np.argmin(np.nan_to_num(np.abs(codes[best] - own[f]), nan=0.0))]
    return float(codes[nearest]), float(confidence[nearest] - confidence[0])


def _codes(recourse: Recourse, f: int, own: float) -> Iterator[float]:
    """The codes of one feature that are looked at."""
    feature = recourse.schema[f]
    actions = replace(
        feature, mutable=True, protected=False, direction=None, max_change=None
    ).actions(own)  # fmt: skip
    if actions.choices is not None:
        yield from actions.choices
        return
    ends = actions.destinations(-math.inf, math.inf) or ()
    yield from (end for end in ends if math.isfinite(end))
    for a, b in pairwise(_edges(recourse, f, actions)):
        code = actions.nearest(a, b)
        if code is not None:
            yield code


def _edges(recourse: Recourse, f: int, actions: FeatureActions) -> list[float]:
    """The ends of the parts of a number's range of which one value each is looked at."""
    if recourse.exact and not recourse.score.lists:
        return [*recourse.score.grid.ends(f).tolist()]
    anchor = 0.0 if math.isnan(actions.own) else actions.own
    low, high = actions.destinations(-math.inf, math.inf) or (anchor, anchor)
    far = SCALES * recourse.schema[f].scale
    low, high = max(low, anchor - far), min(high, anchor + far)
    ends = np.linspace(math.nextafter(low, -math.inf), max(low, high), TRIED + 1)
    return [float(end) for end in ends]


def _side(feature: Feature, own: float, best: float) -> str:
    """How a value lies beside the best one."""
    if math.isnan(own):
        return "missing"
    return "other" if feature.kind == "category" else "low" if best > own else "high"


def _better(feature: Feature, actions: FeatureActions, code: float) -> str:
    """What the model would rather see, if this person may go there."""
    if not actions.allows(code):
        return ""
    if feature.kind in ("category", "boolean") or feature.labels or math.isnan(actions.own):
        return f"“{feature.describe(feature.value_of(code))}”"
    return HIGHER if code > actions.own else LOWER
