"""How far a person can get: the most confident option, and the frontier of cost and confidence.

The most confident option is shown by its moves that matter; the rest, which adds next to nothing,
is left out. A move is a feature, or several that only change together; what follows from others is
none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd

from trust_recourse.answers.ask import option
from trust_recourse.io.scalars import Floats, is_number
from trust_recourse.models.readers.read_model import ReadModel
from trust_recourse.question import (
    MostConfident,
    Option,
    Point,
    Problem,
    Question,
    Status,
    Target,
    changed,
)
from trust_recourse.schema import ActionSet
from trust_recourse.search.exact import Exact
from trust_recourse.search.frontier import FINEST, FrontierSearch
from trust_recourse.search.highest import Climb

LITTLE = 0.01  # of confidence: moves that together add less are left out

Confidences = Callable[[Floats], Floats]  # at rows of codes
Move = list[int]


def most_confident(
    model: ReadModel,
    problem: Problem,
    factual: pd.Series[Any],
    threshold: float,
    limits: Question,
    known: Sequence[Option] = (),
    ceiling: float = 1.0,
) -> MostConfident:
    """The most confident option, from known options and a ceiling on."""
    action_set = problem.action_set
    engine = Exact(
        model.score, problem, scope="most_confident", node_limit=limits.node_limit,
        time_limit=limits.time_limit,
    )  # fmt: skip
    allowed = (each for each in known if action_set.allows(each.codes))
    start = max(allowed, key=lambda each: each.confidence, default=None)
    climb = Climb(engine, None if start is None else start.codes, ceiling)
    climb.climb()
    best = climb.point
    target = Target(min(max(best.confidence, 1e-12), 1 - 1e-12))
    exactly = best.confidence == target.confidence  # else it is beyond all targets
    asked = replace(target, threshold=target.confidence) if exactly else target  # no slack
    keep = None if exactly else lambda point: point.confidence >= best.confidence
    found = engine.about(replace(problem, target=asked), climb.nodes).cheapest(keep, known=best)
    assert found.point is not None
    proved = climb.proved and not found.stopped
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    problem = replace(problem, target=target)
    furthest = option(model, problem, factual, found.point, status, found.lower_bound)
    most = furthest.confidence
    least = most - LITTLE
    if most >= threshold:
        least = max(least, math.nextafter(threshold, 0.0))
    codes = sparsified(action_set, furthest.codes, model.confidences, least)
    short = option(model, problem, factual, Point(codes, 0.0, most), status, 0.0)
    each = marginal_confidence(action_set, short.codes, model.confidences)
    parts = {part.name: getattr(short, part.name) for part in fields(Option)}
    return MostConfident(
        **parts | {"lower_bound": short.cost},
        worth={action_set.schema[f].name: lost for f, lost in each.items()},
        furthest=furthest,
        ceiling=most if climb.proved else climb.ceiling,
    )


def frontier(
    model: ReadModel,
    problem: Problem,
    targets: Sequence[Target],
    limits: Question,
    resolution: float | None,
    max_steps: int,
) -> pd.DataFrame:
    """The rows of `Recourse.frontier`."""
    if resolution is not None and not (is_number(resolution) and FINEST <= resolution < 1):
        raise ValueError(
            f"resolution={resolution!r}; expected a number from {FINEST:g} up to, but not "
            "including, 1. Give a larger one, such as 0.01, or None for every step"
        )
    if not isinstance(max_steps, int) or max_steps < 2:
        raise ValueError(f"max_steps={max_steps!r}; expected a whole number of at least 2")
    engine = Exact(
        model.score, problem, scope="most_confident", node_limit=limits.node_limit,
        time_limit=limits.time_limit,
    )  # fmt: skip
    ended, points = "", []
    if resolution is None or problem.cost.functions:  # by which a change may cost nothing
        points = engine.frontier(sorted(target.interval[0] for target in targets))
        low, high = points[0].confidence, points[-1].confidence
        if engine.stopped:
            ended = "time_limit" if engine.late else "node_limit"
    else:
        search = FrontierSearch(engine, targets, resolution, max_steps)
        search.run()
        points = search.points
        ended, low, high = search.ended, search.low, search.high
    table = problem.action_set.schema.decode(np.array([p.codes for p in points]))
    table.insert(0, "confidence", [p.confidence for p in points])
    table.insert(0, "cost", [p.cost for p in points])
    table.attrs |= {"complete": not ended, "resolution": resolution, "from": low, "to": high}
    table.attrs |= {"ended_by": ended or None}
    return table


# ---------------------------------------------------------------- the moves that matter


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
