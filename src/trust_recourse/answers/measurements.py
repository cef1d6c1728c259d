"""What surfaces show about a result beyond its options: how safe they are, and how far one gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from trust_recourse.question import MostConfident, Radius

if TYPE_CHECKING:
    import pandas as pd

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
    radius = result.quick_radius(at) if result.recourse.exact else None
    return Safety(radius, result.robustness(at, SIGMA))


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
