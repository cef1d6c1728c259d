"""Search what becomes reachable when a single constraint of a schema is relaxed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from trust_recourse.question import Problem, Target
from trust_recourse.search.exact import Exact

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse.cells import Score
    from trust_recourse.question import Reach
    from trust_recourse.recourse import Recourse
    from trust_recourse.schema import ActionSet

NOTICED = 1e-9  # of confidence: smaller gains do not count


class Beyond(NamedTuple):
    """A constraint, and the confidence that is reachable without it."""

    sentence: str
    reachable: float  # the highest confidence without it, or the highest that was found
    gain: float
    proved: bool


def binding(
    recourse: Recourse,
    factual: pd.Series,
    best: Reach,
    node_limit: int | None = None,
    time_limit: float | None = None,
) -> Iterator[Beyond]:
    """Yield each constraint whose relaxation raises the highest reachable confidence, or may do so.

    The limits cover all constraints together. Each constraint gets an equal share of what remains.
    A constraint whose search a limit ended without a gain has a gain of 0, not proved.
    """
    own = recourse.schema.action_set(factual)
    every = (
        (each.sentence, each.schema.action_set(factual))
        for each in recourse.schema.lifted(factual, listed=recourse.cost.functions)
    )
    left = [(words, freed) for words, freed in every if _opens_cells(recourse.score, own, freed)]
    nodes = math.inf if node_limit is None else node_limit
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    for waiting, (words, freed) in zip(range(len(left), 0, -1), left, strict=True):
        soon = max(deadline - time.monotonic(), 0.0)
        if soon == 0.0:
            yield Beyond(words, best.most, 0.0, proved=False)
            continue
        problem = Problem(freed, Target(0.5), recourse.cost, recourse.wanted_at)
        engine = Exact(
            recourse.score,
            problem,
            scope="furthest",
            node_limit=None if nodes == math.inf else int(nodes // waiting),
            time_limit=None if deadline == math.inf else soon / waiting,
        )
        point, stopped = engine.max_confidence(best.codes, best.most)
        nodes -= engine.nodes
        gain = point.confidence - best.most
        if gain > NOTICED:
            yield Beyond(words, point.confidence, gain, not stopped)
        elif stopped:
            yield Beyond(words, best.most, 0.0, proved=False)


def _opens_cells(score: Score, before: ActionSet, after: ActionSet) -> bool:
    """Whether relaxing a constraint may make new cells reachable.

    If no cut lies beyond a bound, the values on both sides share a cell and the prediction.
    """
    ours, theirs = before.schema, after.schema
    changed = [f for f, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    valued = {name for each in ours.relations if each.by_value or each.joins for name in each.names}
    if len(changed) != 1 or ours.derived or score.sloped or ours[changed[0]].name in valued:
        return True
    (f,) = changed
    cells = [*pairwise(score.grid.ends(f).tolist())]
    held, freed = before.actions[f], after.actions[f]
    return any(freed.nearest(*cell) is not None and held.nearest(*cell) is None for cell in cells)
