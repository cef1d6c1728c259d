"""The moves of a change that matter: the rest, which adds next to nothing, is left out.

A move is a feature, or several that only change together; what follows from others is none.
"""

from __future__ import annotations

from collections.abc import Callable

from trust_recourse.io.arrays import Floats
from trust_recourse.question import changed
from trust_recourse.schema import ActionSet

Confidences = Callable[[Floats], Floats]  # at rows of codes
Move = list[int]


def sparsified(
    action_set: ActionSet, codes: Floats, confidences: Confidences, least: float
) -> Floats:
    """The same change without moves, least worth first, while its confidence is above the least.

    What is left is allowed, too: a move that another one needs stays with it.
    """
    while moves := _moves(action_set, codes):
        without = _without(action_set, codes, moves)
        then = confidences(without)
        kept = [
            at for at in range(len(moves)) if then[at] > least and action_set.allows(without[at])
        ]
        if not kept:
            break
        codes = without[max(kept, key=lambda at: float(then[at]))]
    return codes


def marginal_confidence(
    action_set: ActionSet, codes: Floats, confidences: Confidences
) -> dict[int, float]:
    """The confidence that is lost without each move, with the others kept."""
    moves = _moves(action_set, codes)
    if not moves:
        return {}
    now = float(confidences(codes[None])[0])
    then = confidences(_without(action_set, codes, moves))
    each = zip(moves, then, strict=True)
    return {f: now - float(less) for move, less in each for f in move}


def _moves(action_set: ActionSet, codes: Floats) -> list[Move]:
    schema = action_set.schema
    left = {f for f in changed(action_set.own, codes) if not schema[f].derived}
    found = []
    for relation in action_set.relations:
        together = (
            left.intersection(map(schema.position, relation.names)) if relation.joins else set()
        )
        if together:
            found.append(sorted(together))
            left -= together
    return sorted([*found, *([f] for f in left)])


def _without(action_set: ActionSet, codes: Floats, moves: list[Move]) -> Floats:
    """A row for each move, in which that one is not made, and what follows is as it then is."""
    rows = codes[None].repeat(len(moves), axis=0)
    for row, move in zip(rows, moves, strict=True):
        row[move] = action_set.own[move]
        row[:] = action_set.completed(row)
    return rows
