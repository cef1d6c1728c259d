"""The answer of the fewest changes: least in number first, then in cost, both with proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from trust_recourse.question import Point, Problem
from trust_recourse.question.fewest import (
    Fewest,
    at_least,
    counted,
    n_changes,
    price_of,
    priced,
    uncapped,
    within,
)
from trust_recourse.search.exact import Answer, Exact

Cheapest = Callable[[Exact, float], Answer]  # an engine and a gap → its answer

COUNTING = 0.5  # share of the limits for the first search, of the number of changes
MUCH = 0.1  # search again with a lower price if the cost fell below this share of the last


class FewestAnswer(NamedTuple):
    """The answer, in the question's own cost, and what is known of the number of changes."""

    answer: Answer
    fewest: Fewest | None  # None if there is no answer
    limited: Exact  # the engine that a limit stopped, if one did


def fewest_changes(engine: Exact, cheapest: Cheapest, gap: float) -> FewestAnswer:
    """The cheapest answer among those of the fewest changes."""
    problem, cap = uncapped(engine.problem)
    counting = engine.about(counted(problem), 0, COUNTING)
    # the gap leaves less than one change, so the bound rounds up to the optimum
    number = cheapest(counting, 1.0 / (len(problem.action_set.schema.actionable) + 1))
    least = at_least(number.lower_bound)
    if least > cap or (number.point is None and not number.stopped):
        return FewestAnswer(Answer(None, math.inf, False, number.nodes), None, counting)
    if number.point is None or _number(problem, number.point) > cap:
        answer = cheapest(engine.about(engine.problem, number.nodes), gap)
        answer = answer._replace(nodes=answer.nodes + number.nodes)
    else:
        known = _costed(problem, number.point)
        answer = _of_few(engine.about(problem, number.nodes), cheapest, known, gap)
        answer = answer._replace(nodes=answer.nodes + number.nodes)
    if answer.point is None:
        return FewestAnswer(answer, None, engine)
    most = _number(problem, answer.point)
    fewest = Fewest(most, int(min(least, most)))
    limited = engine if answer.stopped or fewest.proved else counting
    return FewestAnswer(
        answer._replace(stopped=answer.stopped or not fewest.proved), fewest, limited
    )


def _of_few(engine: Exact, cheapest: Cheapest, known: Point, gap: float) -> Answer:
    """The cheapest answer of at most as many changes as a known one."""
    problem, nodes = engine.problem, 0
    if known.cost == 0.0:
        return Answer(known, 0.0, False, 0)
    if priced(problem, 1.0) is None:
        found = cheapest(engine.about(within(problem, _number(problem, known)), 0), gap)
        return found._replace(point=found.point or known)
    while True:
        price = price_of(problem, known.codes)
        dearer = priced(problem, price)
        assert dearer is not None
        found = cheapest(engine.about(dearer, nodes), 0.0)  # the least: it is within every gap
        nodes, last = nodes + found.nodes, known
        if found.point is not None:
            point = _costed(problem, found.point)
            known = min(known, point, key=lambda each: (_number(problem, each), each.cost))
        if found.stopped or known.cost == 0.0 or known.cost >= MUCH * last.cost:
            break
    bound = max(found.lower_bound - price * _number(problem, known), 0.0)
    bound = min(problem.cost.total(bound), known.cost)
    return Answer(known, bound, found.stopped, nodes)


def _number(problem: Problem, point: Point) -> int:
    return n_changes(problem.action_set, point.codes)


def _costed(problem: Problem, point: Point) -> Point:
    """A point of another cost with that of the problem."""
    features, own = problem.action_set.schema.features, problem.action_set.own
    return replace(point, cost=problem.cost.between(features, own, point.codes))
