"""The fewest changes: how many an answer may have, and the problems by which that is found.

The least number k of changed features comes first, then the least cost of k changes. The first
problem minimises the number of changes. The second adds a price per change, so high that an answer
with more changes always costs more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from trust_recourse.io.scalars import Floats
from trust_recourse.question.cost import Cost
from trust_recourse.question.problem import Problem, changed
from trust_recourse.schema import ActionSet, FewChange

TWICE = 2.0  # price per change, in costs of a known answer; above 1, an extra change never pays
ROUNDED = 1e-6  # rounding tolerance when a bound on the number of changes is rounded up


@dataclass(frozen=True)
class Fewest:
    """How many features an answer changes at most, and how many every answer changes at least."""

    most: int
    least: int  # no allowed change of fewer features reaches the target: proved

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise TypeError(f"fewest: given {self}")

    @property
    def proved(self) -> bool:
        """Whether fewer changes than those of the answer are ruled out."""
        return self.least >= self.most


def n_changes(action_set: ActionSet, codes: Floats) -> int:
    """The number of features that a row changes; derived ones do not count."""
    moved = changed(action_set.own, codes)
    return sum(not action_set.schema[f].derived for f in moved)


def at_least(bound: float) -> float:
    """The whole number that a lower bound on a number of changes stands for; infinite is none."""
    return max(math.ceil(bound - ROUNDED), 0) if bound < math.inf else bound


def counted(problem: Problem) -> Problem:
    """The problem whose cost is the number of changes, whatever the weights."""
    schema = problem.action_set.schema
    if not _plain_weights(problem):
        features = [replace(f, weight=1.0) for f in schema]
        schema = replace(schema, features=tuple(features))
    action_set = schema.action_set_of(problem.action_set.own)
    return replace(problem, action_set=action_set, cost=Cost(l0=1.0))


def uncapped(problem: Problem) -> tuple[Problem, float]:
    """The problem without a limit on all changes, and that limit; infinite if it has none."""
    schema = problem.action_set.schema
    caps = [
        each for each in schema.relations
        if isinstance(each, FewChange) and {*schema.actionable} == {*each.members}
    ]  # fmt: skip
    if not caps:
        return problem, math.inf
    others = tuple(each for each in schema.relations if each not in caps)
    action_set = replace(schema, relations=others).action_set_of(problem.action_set.own)
    return replace(problem, action_set=action_set), min(each.most for each in caps)


def within(problem: Problem, most: int) -> Problem:
    """The problem with at most so many changes."""
    schema = problem.action_set.schema
    few = FewChange(schema.actionable, most)
    if most >= len(schema.actionable) or few in schema.relations:
        return problem
    return replace(problem, action_set=schema.relate(few).action_set_of(problem.action_set.own))


def price_of(problem: Problem, codes: Floats) -> float:
    """Price per change: twice the cost of an answer before the root, or 1.0 if that cost is 0."""
    schema = problem.action_set.schema
    cost = problem.cost.between(schema.features, problem.action_set.own, codes)
    return TWICE * problem.cost.before_root(cost) or 1.0


def priced(problem: Problem, price: float) -> Problem | None:
    """The problem with a price on each change; None where weights multiply the price.

    An answer of k changes costs k prices more. The cost has no root.
    """
    if not _plain_weights(problem):
        return None
    cost = problem.cost
    return replace(problem, cost=replace(cost, l0=cost.l0 + price, root=False))


def _plain_weights(problem: Problem) -> bool:
    schema = problem.action_set.schema
    return bool(np.all([schema[name].weight == 1.0 for name in schema.actionable]))
