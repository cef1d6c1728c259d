"""Numbers and statuses as the page writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from trust_recourse import Status
from trust_recourse.schema.values import floored

if TYPE_CHECKING:
    from trust_recourse import Feature, Result

ABOUT = (
    "All of this is about the model, not about the world: it says what the model would answer, not "
    "that a change is possible, easy or good, or that one thing causes another."
)


def percent(confidence: float) -> str:
    """A confidence to a tenth of a percent, rounded down so that none is shown that is not there.

    >>> percent(0.7499), percent(0.57), percent(1.0)
    ('74.9 %', '57.0 %', '100.0 %')
    """
    return f"{floored(100 * confidence, 1)} %"


def cost(amount: float) -> str:
    """A cost to three digits; one that is infinite is out of reach."""
    return f"{amount:.3g}" if amount < math.inf else "out of reach"


class Badge(NamedTuple):
    """What is proved of an option: a word, a mark, and a sentence."""

    word: str
    icon: str
    sentence: str
    proved: bool


def badge(result: Result, at: int) -> Badge:
    """What is known of one option."""
    option, sentence = result.options[at], result.sentence(at)
    first = next(i for i, o in enumerate(result.options) if o.target == option.target)
    if option.status is Status.OPTIMAL:
        return Badge("Proved cheapest", "verified", sentence, True)
    if option.status is Status.ALREADY_MET:
        return Badge("Nothing to change", "check_circle", sentence, True)
    if result.engine != "exact":
        return Badge("Found by trial", "science", sentence, False)
    if at > first:
        return Badge("Another way", "alt_route", sentence, False)
    above = f"{option.gap / option.cost:.1%}" if option.cost else "0 %"
    return Badge(f"Within {above} of the least", "timelapse", sentence, False)


def limits(feature: Feature) -> str:
    """Where a feature may go, in a few words."""
    if feature.protected:
        return "protected: never changes"
    if not feature.mutable:
        return "locked by the rules"
    parts = []
    if feature.direction:
        parts.append(f"may only {feature.direction}")
    if feature.lower is not None and feature.upper is not None:
        parts.append(f"{feature.describe(feature.lower)} to {feature.describe(feature.upper)}")
    elif feature.lower is not None:
        parts.append(f"at least {feature.describe(feature.lower)}")
    elif feature.upper is not None:
        parts.append(f"at most {feature.describe(feature.upper)}")
    if feature.max_change is not None:
        parts.append(f"by at most {feature.amount(feature.max_change)}")
    return ", ".join(parts) or "may change"
