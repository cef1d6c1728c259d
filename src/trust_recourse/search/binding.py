"""Search what becomes reachable when a single constraint of a schema is relaxed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from trust_recourse.question import Target
from trust_recourse.schema import SchemaError
from trust_recourse.search.counterexample import Budget
from trust_recourse.search.exact import Exact
from trust_recourse.search.highest import Climb

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.models.seam import Score
    from trust_recourse.question import MostConfident
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
    best: MostConfident,
    node_limit: int | None = None,
    time_limit: float | None = None,
) -> Iterator[Beyond]:
    """Yield each constraint whose relaxation raises the highest reachable confidence, or may do so.

    The limits cover all constraints together. First each of them is asked once for more confidence;
    then the search goes on for those that are open. A constraint binds if a change that it alone
    rules out has more confidence than every known change with nothing relaxed. A constraint whose
    search a limit ended without such a change has a gain of 0, not proved. So has the only bound of
    a feature with a slope: without it the values have no end, and no search can list them.
    """
    own, budget = recourse.schema.action_set(factual), Budget(node_limit, time_limit)
    base = best if best.furthest is None else best.furthest
    codes, most = base.codes, best.most
    every = (
        (each.sentence, each.schema.action_set(factual))
        for each in recourse.schema.relaxations(factual, listed=recourse.cost.functions)
    )
    asked = [(words, freed) for words, freed in every if _opens_cells(recourse.score, own, freed)]
    if not best.proved:  # with nothing relaxed more may be reachable, too
        asked = [("", own), *asked]
    climbs: list[tuple[str, Climb]] = []
    endless: list[str] = []
    for waiting, (words, freed) in zip(range(len(asked), 0, -1), asked, strict=True):
        nodes, seconds = budget.share(waiting)
        engine = Exact(
            recourse.score, recourse.problem(freed, Target(0.5)), scope="most_confident",
            node_limit=None if nodes == math.inf else int(nodes),
            time_limit=None if seconds == math.inf else seconds,
        )  # fmt: skip
        try:
            climb = Climb(engine, codes, 1.0 if words else best.ceiling)
            if not budget.late:
                climb.step()
        except SchemaError:
            if not words:
                raise
            endless.append(words)
            continue
        while climb.point.confidence > most + NOTICED and own.allows(climb.point.codes):
            codes, most = climb.point.codes, climb.point.confidence  # with nothing relaxed
            climb.step()
        budget.spend(climb.nodes)
        climbs.append((words, climb))
    climbs.sort(key=lambda each: (each[0] != "", -each[1].point.confidence))
    open_ = [climb for _, climb in climbs if not climb.proved]
    for waiting, climb in zip(range(len(open_), 0, -1), open_, strict=True):
        if budget.late:
            break
        before, (nodes, seconds) = climb.nodes, budget.share(waiting)
        climb.engine.limit(before + nodes, seconds)
        climb.climb()
        budget.spend(climb.nodes - before)
        if own.allows(climb.point.codes):
            most = max(most, climb.point.confidence)
    yield from (Beyond(words, best.most, 0.0, proved=False) for words in endless)
    for words, climb in climbs:
        point = climb.point
        if not words:
            continue
        if point.confidence > most + NOTICED and not own.allows(point.codes):
            yield Beyond(words, point.confidence, point.confidence - best.most, climb.proved)
        elif climb.ceiling > most + NOTICED:
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
