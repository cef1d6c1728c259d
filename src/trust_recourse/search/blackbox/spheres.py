"""GrowingSpheres (Laugel et al. 2018), as the CARLA library runs it: a baseline for any model.

Rows are drawn in layers around the person, each further out than the last, until a layer has one
that meets the target; the caller takes the cheapest of those. CARLA's settings: 1,000 rows a layer,
layers 0.2 wide, uniform in direction and in distance. It leaves out two steps of the original, the
shrinking of a first layer that is too wide and the undoing of changes that were not needed, and so
does this.

Distances are Euclidean in scaled units. Numbers and ordinals make the sphere; a category or a
boolean, and what the person has missing, has no distance to grow and is drawn anew in every row,
each of its values alike (CARLA tosses a coin for each of its binary columns). Ω(x) holds by
construction, as CARLA's does not: a draw becomes the nearest allowed value of a `Space`, so one
beyond a bound lies on it, and a row that breaks a relation is repaired. CARLA draws on for ever
where nothing meets the target; here the last layer is the one that holds the furthest allowed row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from trust_recourse.io.progress import Progress
from trust_recourse.io.scalars import Floats
from trust_recourse.question import Point, Problem
from trust_recourse.search.blackbox.space import Axis, ChoiceAxis, LevelsAxis, Space, SpanAxis
from trust_recourse.search.blackbox.trials import Confidence, Tried

LAYER = 0.2  # how much further out each layer reaches, in scaled units
MOST_LAYERS = 1000  # where a scale is tiny beside what the bounds allow


def spheres(
    problem: Problem,
    confidence: Confidence,
    *,
    n_trials: int = 1000,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Point]:
    """The person's own point, then the distinct points of each layer up to the first with a hit.

    `n_trials` rows are drawn in each layer. `confidence` takes rows of codes and gives the wanted
    class's confidence; it is asked once a layer.

    >>> from trust_recourse.question.cost import Cost
    >>> from trust_recourse.question import Target
    >>> from trust_recourse.schema import Feature, Schema
    >>> schema = Schema((Feature("income", "integer", lower=0, upper=20, scale=20.0),))
    >>> problem = Problem(schema.action_set({"income": 5}), Target(0.6), Cost.named("l1"))
    >>> points = spheres(problem, lambda codes: codes[:, 0] / 20, n_trials=60)
    >>> min((p for p in points if p.confidence >= 0.6), key=lambda p: p.cost)
    Point(codes=array([12.]), cost=0.35, confidence=0.6)
    """
    space = Space.of(problem)
    tried = Tried(space, confidence)
    tried.point(space.action_set.own)
    if not space.axes:
        return tried.points
    rng = np.random.default_rng(random_state)
    bar = Progress(n_layers(space), "spheres", show=verbose)
    while bar.done < bar.total:
        drawn = _drawn(space, LAYER * bar.done, n_trials, rng)
        rows = [codes for row in drawn if (codes := space.kept(row)) is not None]
        if any(problem.target.met(point.confidence) for point in tried.ask(rows)):
            bar.total = bar.done + 1
        bar.step()
    return tried.points


def _drawn(space: Space, inner: float, count: int, rng: np.random.Generator) -> Floats:
    """Rows of the layer that begins this far out, their relations not looked at yet."""
    rows = np.tile(space.action_set.own, (count, 1))
    round_axes = list(_round_axes(space))
    away = rng.standard_normal((count, len(round_axes)))
    length = np.linalg.norm(away, axis=1, keepdims=True)
    away *= rng.uniform(inner, inner + LAYER, (count, 1)) / np.where(length > 0, length, 1.0)
    for axis, moved in zip(round_axes, away.T, strict=True):
        rows[:, axis.at] = axis.nearest(rows[:, axis.at] + moved * _scale(space, axis))
    for other in space.axes:
        if other not in round_axes:
            rows[:, other.at] = [other.draw(rng) for _ in range(count)]
    return rows


def _round_axes(space: Space) -> Iterator[LevelsAxis | SpanAxis]:
    """The axes along which a distance from the person can grow."""
    for axis in space.axes:
        known = not math.isnan(space.action_set.own[axis.at])
        boolean = space.action_set.schema[axis.at].kind == "boolean"
        if known and not boolean and not isinstance(axis, ChoiceAxis):
            yield axis


def _scale(space: Space, axis: Axis) -> float:
    return space.action_set.schema[axis.at].scale


def n_layers(space: Space) -> int:
    """How many layers it takes to hold the furthest row; one where all is drawn by chance."""
    furthest = [
        max(abs(end - space.action_set.own[axis.at]) for end in axis.ends) / _scale(space, axis)
        for axis in _round_axes(space)
    ]
    return min(max(math.ceil(math.hypot(*furthest) / LAYER), 1), MOST_LAYERS)
