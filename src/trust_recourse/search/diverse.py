"""Other ways to a target: the cheapest answers that pull other levers than those before them.

A way leaves alone at least half of what each cheaper way changes. That is a rule about which
features change, so the next way is the answer to the same question with a relation for each way so
far; the exact engine proves it to be the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from trust_recourse.question import Point, changed
from trust_recourse.schema import ActionSet, FewChange, Relation
from trust_recourse.search.exact import Answer

Ask: TypeAlias = Callable[[Sequence[Relation]], Answer]  # relations → the cheapest answer


def levers(action_set: ActionSet, point: Point) -> frozenset[str]:
    """The features that a point changes, but for those that follow others."""
    schema = action_set.schema
    moved = changed(action_set.own, point.codes)
    return frozenset(schema.names[f] for f in moved) & frozenset(schema.actionable)


def repeats(later: frozenset[str], earlier: frozenset[str]) -> bool:
    """Whether a way is too like a cheaper one; both by the features that they change."""
    return later <= earlier or len(later & earlier) > len(earlier) // 2


def diverse(action_set: ActionSet, first: Point, ask: Ask) -> Iterator[Answer]:
    """Other ways than the first, in the order of cost; `ask` answers under more relations.

    One that changes nothing beside what a cheaper one changes is a way, but not shown. They end
    where a limit stops one.
    """
    ways = [levers(action_set, first)]
    while True:
        answer = ask([FewChange(tuple(sorted(way)), len(way) // 2) for way in ways])
        if answer.point is None or answer.stopped:
            return
        found = levers(action_set, answer.point)
        if not any(found <= way for way in ways):
            yield answer
        ways.append(found)
