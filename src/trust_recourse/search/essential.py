"""The moves of a change that matter: the rest, which adds next to nothing, is left out."""

from __future__ import annotations

from collections.abc import Callable

from trust_recourse.cells import Floats
from trust_recourse.question import changed

Confidences = Callable[[Floats], Floats]  # at rows of codes


def essential(
    own: Floats,
    codes: Floats,
    allows: Callable[[Floats], bool],
    confidences: Confidences,
    least: float,
) -> Floats:
    """The same change without moves, least worth first, while its confidence is above the least.

    What is left is allowed, too: a move that another one needs stays with it.
    """
    codes = codes.copy()
    while moves := sorted(changed(own, codes)):
        without = _without(own, codes, moves)
        then = confidences(without)
        kept = [at for at in range(len(moves)) if then[at] > least and allows(without[at])]
        if not kept:
            break
        codes = without[max(kept, key=lambda at: float(then[at]))]
    return codes


def worth(own: Floats, codes: Floats, confidences: Confidences) -> dict[int, float]:
    """What confidence would be lost without each move, the others kept."""
    moves = sorted(changed(own, codes))
    if not moves:
        return {}
    now = float(confidences(codes[None])[0])
    then = confidences(_without(own, codes, moves))
    return {f: now - float(less) for f, less in zip(moves, then, strict=True)}


def _without(own: Floats, codes: Floats, moves: list[int]) -> Floats:
    """A row for each move, in which that one is not made."""
    rows = codes[None].repeat(len(moves), axis=0)
    rows[range(len(moves)), moves] = own[moves]
    return rows
