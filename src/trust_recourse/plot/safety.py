"""How safe points are, for pictures that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from trust_recourse.question import Option

if TYPE_CHECKING:
    from trust_recourse.recourse import Recourse
    from trust_recourse.result import Result

Safety = Literal["noise", "radius"]
TOLERANCE = 1e-3  # of a probability that becomes a shade or a height


def safeties(
    result: Result, options: Sequence[Option], safety: Safety, sigma: float
) -> list[float]:
    """The safety of each: a result knows that of its own options, so it is asked as if of them."""
    every = replace(result, options=tuple(options))
    places = range(len(options))
    if safety == "radius":
        return [every.radius(at) for at in places]
    found = (every.robustness(at, sigma, tolerance=TOLERANCE) for at in places)
    return [f.copies if f.probability is None else f.probability for f in found]


def safety_words(recourse: Recourse, safety: Safety, sigma: float) -> str:
    """What the numbers of `safeties` count."""
    if safety not in ("noise", "radius"):
        raise ValueError(f"safety={safety!r}; expected 'noise' or 'radius'")
    if safety == "radius":
        return "certified radius (scaled units)"
    if not recourse.exact:
        return f"share of noisy copies with a yes (σ\u00a0=\u00a0{sigma:g})"
    return f"robustness under noise (σ\u00a0=\u00a0{sigma:g})"
