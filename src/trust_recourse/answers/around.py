"""What holds around an option: the radius of its decision, and the ranges of its values."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import pandas as pd

from trust_recourse.io.wording import some
from trust_recourse.question import Option, Question, Radius, option_name
from trust_recourse.search.counterexample import Budget
from trust_recourse.search.radius import Norm, radius
from trust_recourse.search.ranges import ORDERED, ranges

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result


def radius_of(
    result: Result, option: Option, norm: Norm, continuous: bool, limits: Question
) -> Radius:
    """The certified distance from an option to the nearest loss; see `Result.radius`."""
    recourse, decision = result.recourse, result.decision
    recourse.need_cells("radius")
    if norm not in ("linf", "l2", "l1"):
        raise ValueError(f"norm={norm!r}; expected 'linf', 'l2' or 'l1'")
    seconds = limits.time_limit
    budget = Budget(
        math.inf if limits.node_limit is None else limits.node_limit,
        math.inf if seconds is None else time.monotonic() + seconds,
    )
    score, level = recourse.score_for(decision), decision.confidence
    return radius(score, recourse.schema, option.codes, level, norm, continuous, budget)


def ranges_of(result: Result, at: int, feature: str | None) -> pd.DataFrame:
    """The ranges of an option's values; see `Result.ranges`."""
    recourse, option = result.recourse, result.option_at(at)
    schema = recourse.schema
    recourse.need_cells("ranges")
    if option.target in result.survival:
        raise ValueError(
            "ranges of an answer that was asked to last: they would hold for the one model "
            "alone; ask without survives, or take just the values shown"
        )
    name = None if feature is None else schema.name_of(feature)
    ordered = [each for each in option.changes if schema[each].kind in ORDERED]
    if name is not None and (name not in ordered or schema[name].derived):
        raise ValueError(
            f"feature={feature!r}; expected one that {option_name(at)} changes and whose "
            f"values have an order: {some(ordered) or 'there is none'}"
        )
    found = ranges(
        recourse.score_for(option.target), schema.action_set(result.factual), recourse.cost,
        option.target, option.codes, None if name is None else schema.position(name),
    )  # fmt: skip

    def value(f: int, code: float) -> Any:
        return code if math.isinf(code) else schema[f].value_of(code)

    rows = [
        (schema[each.feature].name, *(value(each.feature, end) for end in each[1:]))
        for each in found
    ]
    return pd.DataFrame(rows, columns=["feature", "low", "high"])
