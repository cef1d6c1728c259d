"""The radius of an answer: the distance to the nearest loss of the decision."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

import numpy as np

from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import Candidates
from trust_recourse.question import Radius
from trust_recourse.schema import Feature, Schema
from trust_recourse.schema.multiples import steps_to
from trust_recourse.schema.noise import noise_steps, steps_to_ends
from trust_recourse.search.branch_and_bound import EQUAL, BranchAndBound, strict
from trust_recourse.search.counterexample import (
    Budget,
    UndecidedError,
    about,
    counterexample,
    refuse_unfinished,
)

Norm = Literal["linf", "l2", "l1"]

MOST_AWAY = 1e100  # of a distance: squares of such, and sums of them, are still finite
FIRST_ROUND, MORE_BOXES = 8, 2  # boxes opened for each distance of a radius, and times as many


@strict
def radius(
    score: Score,
    schema: Schema,
    codes: Floats,
    threshold: float,
    norm: Norm,
    continuous: bool = False,
    budget: Budget | None = None,
) -> Radius:
    """The distance to the nearest loss of the decision: strictly within it the decision holds.

    Numbers, integers and ordinals move by their steps, unlimited, immutable ones too; a number
    without a step, and every one if it is continuous, moves by anything; others stay. Distances
    are scaled by the schema. ∞ if the decision is lost nowhere. Where the budget ends the search,
    it is what was proved until then: a lower bound.
    """
    budget = Budget() if budget is None else budget
    steps = noise_steps(schema, continuous)
    known = score.radius(schema, codes, threshold, norm, steps, budget.left)
    if known is not None:
        return known
    own = score.grid.cells(codes[None])[0]
    away = [
        {int(cell): 0.0}
        if math.isnan(code) or math.isnan(step)
        else _distances(score.grid.ends(f), float(code), int(cell), feature, float(step))
        for f, (feature, code, cell, step) in enumerate(zip(schema, codes, own, steps, strict=True))
    ]
    if norm == "linf":
        return _least_box(score, away, threshold, budget)
    power = 2 if norm == "l2" else 1
    features = [
        Candidates(
            np.zeros(len(d)), np.array(list(d), np.int32), np.array(list(d.values())) ** power
        )
        for d in away
    ]
    search = BranchAndBound(
        features, [about(score, features)], node_limit=budget.left, deadline=budget.deadline
    )

    def lost(at: Ints) -> bool:
        cells = np.array([[f.cells[k] for f, k in zip(features, at, strict=True)]])
        return bool(score.at(cells)[0] < threshold)

    low, high = score.interval(-1.0, math.nextafter(threshold, 0.0))
    found = search.best(low, high, -1 if score.rises else 1, lost)
    budget.spend(search.nodes)
    least = math.inf if found.point is None else search.cost_of(found.point)
    if found.stopped and budget.limited:
        least = min(found.bound * (1.0 - EQUAL), least)  # sums differ by rounding
        return Radius(least ** (1.0 / power), exact=False)
    refuse_unfinished(found.stopped)
    return Radius(least ** (1.0 / power))


def _distances(
    ends: Floats, code: float, cell: int, feature: Feature, step: float
) -> dict[int, float]:
    """The distance from a value to the nearest on its steps in each cell that has one.

    Without steps, to the closure of each cell. An ordinal has no more steps than levels.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.maximum(np.maximum(ends[:-1] - code, code - ends[1:]), 0.0) / feature.scale
        if step > 0.0:
            counts, (least, most) = steps_to(code, step, ends), steps_to_ends(feature, code)
            first, last = np.maximum(counts[:-1] + 1.0, least), np.minimum(counts[1:], most)
            nearest = np.where(first > 0, first, np.where(last < 0, -last, 0.0))
            away = np.where(first <= last, nearest * step / feature.scale, math.inf)
    known = np.flatnonzero(away < math.inf)
    if not away[known].max() <= MOST_AWAY:
        raise ValueError(
            f"radius: {feature.name!r} has the scale {feature.scale:g}, by which a threshold lies "
            f"{away[known].max():.3g} away; expected a scale that keeps distances below "
            f"{MOST_AWAY:g}"
        )
    away[cell] = 0.0
    return {int(c): float(away[c]) for c in known}


def _least_box(
    score: Score, away: Sequence[dict[int, float]], threshold: float, budget: Budget
) -> Radius:
    """The least distance at which the box of all cells so far away holds a loss.

    A first round opens no boxes: it proves what bounds on whole boxes prove. Each further round
    opens more boxes for a distance than the one before. A distance that a round does not decide
    counts as one with a loss, so what is proved stays a lower bound.
    """
    steps = sorted({d for feature in away for d in feature.values()})
    proved, lost = -1, len(steps)  # the last step without a loss, and the first with a known one
    budget.each = 0 if budget.limited else math.inf
    while lost - proved > 1:
        open_end = lost
        while open_end - proved > 1:
            middle = (proved + open_end) // 2
            each = [[(c, d) for c, d in f.items() if d <= steps[middle]] for f in away]
            cells = [np.array([c for c, _ in pairs]) for pairs in each]
            try:
                found = counterexample(score, cells, threshold, budget=budget)
            except UndecidedError:
                open_end = middle
                continue
            if found is None:
                proved = middle
                continue
            far = max(pairs[at][1] for pairs, at in zip(each, found, strict=True))
            open_end = lost = bisect_left(steps, far)
        if budget.left < 1 or budget.late:
            break
        budget.each = max(FIRST_ROUND, MORE_BOXES * budget.each)
    exact = lost - proved == 1
    return Radius(steps[proved + 1] if proved + 1 < len(steps) else math.inf, exact)
