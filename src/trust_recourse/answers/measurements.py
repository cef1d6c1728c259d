"""What is measured of a result: how safe its options are, and how far one gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from trust_recourse.io.wording import some
from trust_recourse.question import MostConfident, Option, Question, Radius, option_name
from trust_recourse.search.counterexample import Budget
from trust_recourse.search.radius import Norm, radius
from trust_recourse.search.ranges import ORDERED, ranges

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result
    from trust_recourse.answers.robustness import Robustness

SIGMA = 0.01  # of the noise that an option is tried with
BOXES = 2000  # to search for what lies beyond all constraints together, and the seconds at most
SECONDS = 4.0
NAMED = 4  # of the constraints that the search left open


class Safety(NamedTuple):
    """How far from a loss an option is, and how likely noise keeps it."""

    radius: Radius | None  # None for a model without cells, which proves none
    noise: Robustness


class HowFar(NamedTuple):
    """The highest reachable confidence, and the constraints that bind."""

    max_confidence: MostConfident
    binding: pd.DataFrame


def safety(result: Result) -> list[Safety]:
    """How safe each option is."""
    return [safety_of(result, at) for at in range(len(result.options))]


def safety_of(result: Result, at: int) -> Safety:
    """How safe one option is."""
    quick = result.quick_radius(at) if result.recourse.exact else None
    return Safety(quick, result.robustness(at, SIGMA))


def how_far(result: Result) -> HowFar | None:
    """The highest reachable confidence if a target is out of reach, and the constraints that bind.

    None if every target is within reach.
    """
    out_of_reach = [t for t, status in result.status.items() if status == "infeasible"]
    if all(target.mode == "band" for target in out_of_reach):
        return None
    return HowFar(result.max_confidence, beyond(result))


def beyond(result: Result) -> pd.DataFrame:
    """The constraints that bind, after a search of a fixed length."""
    return result.binding(SECONDS, node_limit=BOXES)


def highest(result: Result) -> str:
    """The name of the highest reachable confidence, which no radius limits."""
    name = "highest reachable confidence"
    return f"Without the radius, the {name}" if result.question.min_radius else f"The {name}"


def beyond_words(found: int, open_: Sequence[str]) -> str:
    """What is known of the constraints that are not listed; "" if there are none.

    >>> beyond_words(0, [])
    'Relaxing any single limit would not lead further.'
    >>> beyond_words(2, ["age may change"])
    'The search ended before it found more for 1 other limit, which may bind too: age may change.'
    """
    if not open_:
        return "" if found else "Relaxing any single limit would not lead further."
    other, too = ("other ", " too") if found else ("", "")
    limits = f"{len(open_)} {other}limit{'s' * (len(open_) > 1)}"
    names = "; ".join(open_[:NAMED]) + "; …" * (len(open_) > NAMED)
    return f"The search ended before it found more for {limits}, which may bind{too}: {names}."


# ---------------------------------------------------------------- around an option


def radius_of(
    result: Result, option: Option, norm: Norm, continuous: bool, limits: Question
) -> Radius:
    """The certified distance from an option to the nearest loss; see `Result.radius`."""
    recourse, decision = result.recourse, result.decision
    recourse.need_cells("radius")
    if norm not in ("linf", "l2", "l1"):
        raise ValueError(f"norm={norm!r}; expected 'linf', 'l2' or 'l1'")
    budget = Budget(limits.node_limit, limits.time_limit)
    return radius(
        recourse.read_model.score_for(decision), recourse.schema, option.codes,
        decision.confidence, norm, continuous, budget,
    )  # fmt: skip


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
        recourse.read_model.score_for(option.target), schema.action_set(result.factual),
        recourse.cost, option.target, option.codes, None if name is None else schema.position(name),
    )  # fmt: skip

    def value(f: int, code: float) -> Any:
        return code if math.isinf(code) else schema[f].value_of(code)

    rows = [
        (schema[each.feature].name, *(value(each.feature, end) for end in each[1:]))
        for each in found
    ]
    return pd.DataFrame(rows, columns=["feature", "low", "high"])
