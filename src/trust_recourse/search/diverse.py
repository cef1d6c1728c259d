"""Other ways to a target: the cheapest answers of which none merely adds to another.

A point that changes all that a cheaper answer changes, and more, is no other way. To leave alone
something that each way so far changes, features are locked: each answer is followed by as many
questions as it changes features, one of them locked in addition each time. The cheapest answer that
waits is the next way, unless it adds to an earlier one; every point that does not is still allowed
by one of the questions, so none cheaper is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TypeAlias

from trust_recourse.question import Floats, Point, changed
from trust_recourse.search.exact import Answer

Ask: TypeAlias = Callable[[frozenset[int]], Answer]  # locked features → the cheapest answer


def diverse(own: Floats, first: Point, ask: Ask) -> Iterator[Point]:
    """The first answer, then other ways in the order of cost; `ask` answers with features locked.

    A limit that stops `ask` ends it: what waits then may not be the cheapest that is left.
    """
    waiting: list[tuple[float, int, frozenset[int], Point]] = [(first.cost, 0, frozenset(), first)]
    asked: set[frozenset[int]] = {frozenset()}
    found: list[frozenset[int]] = []
    while waiting:
        _, _, locked, point = heappop(waiting)
        moved = changed(own, point.codes)
        if not any(way <= moved for way in found):
            found.append(moved)
            yield point
        for feature in sorted(moved):
            if (more := locked | {feature}) not in asked:
                asked.add(more)
                answer = ask(more)
                if answer.stopped:
                    return
                if answer.point is not None:
                    heappush(waiting, (answer.point.cost, len(asked), more, answer.point))
