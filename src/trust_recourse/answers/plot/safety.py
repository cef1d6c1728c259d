"""How safe points are, for pictures that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from trust_recourse.io.wording import is_bound
from trust_recourse.question import Option

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result

Safety = Literal["noise", "radius"]
COPIES = 1200  # for a shade or a height
WITHIN = 3  # points between the share of so many copies and either end of its 95% interval


def safeties(
    result: Result, options: Sequence[Option], safety: Safety, sigma: float
) -> list[float]:
    """The safety of each: a result knows that of its own options, so it is asked as if of them."""
    every = replace(result, options=tuple(options))
    places = range(len(options))
    if safety == "radius":
        return [every.quick_radius(at) for at in places]
    return [every.robustness(at, sigma, n_copies=COPIES).probability for at in places]


def safety_words(safety: Safety, sigma: float, found: Sequence[float] = ()) -> str:
    """What the numbers of `safeties` count; of some of them they are only proved lower bounds."""
    if safety not in ("noise", "radius"):
        raise ValueError(f"safety={safety!r}; expected 'noise' or 'radius'")
    if safety == "radius":
        least = ", or a proved lower bound" if any(map(is_bound, found)) else ""
        return f"certified radius{least} (scaled units)"
    return f"robustness under noise (σ\u00a0=\u00a0{sigma:g}, ±\u00a0{WITHIN}\u00a0points)"
