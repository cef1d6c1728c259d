"""Several engines on one budget of rows, for models that nobody can read.

GrowingSpheres and the paper's TPE look for answers, each with its share of the rows. Then there are
walks: from the person as they are, and from the best row of each of the two. The last share goes to
rows that all known ones together promise most of. All of them ask through one list, so no row is
asked of the model twice. Without Optuna the search does without TPE.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import numpy as np

from trust_recourse.io.progress import Progress
from trust_recourse.io.scalars import Floats
from trust_recourse.question import Point, Problem
from trust_recourse.search.blackbox.space import Space
from trust_recourse.search.blackbox.spheres import n_layers, spheres
from trust_recourse.search.blackbox.surrogate import rounds
from trust_recourse.search.blackbox.trials import Confidence, SpentError, Tried, rank
from trust_recourse.search.blackbox.walk import Walk
from trust_recourse.search.engines import lacking

SHARE = 0.05  # of the rows: what spheres gets, and what TPE gets
REFINED = 0.3  # what the surrogate gets at least


def portfolio(
    problem: Problem,
    confidence: Confidence,
    *,
    n_trials: int = 1000,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Point]:
    """The distinct points that all of them tried, in order: the person's own is the first.

    The model is asked for `n_trials` rows at most, together. `confidence` takes rows of codes and
    gives the wanted class's confidence.

    >>> from trust_recourse.question.cost import Cost
    >>> from trust_recourse.question import Target
    >>> from trust_recourse.schema import Feature, Schema
    >>> schema = Schema((Feature("income", "integer", lower=0, upper=20, scale=20.0),))
    >>> problem = Problem(schema.action_set({"income": 5}), Target(0.6), Cost.named("l1"))
    >>> points = portfolio(problem, lambda codes: codes[:, 0] / 20, n_trials=30)
    >>> min((p for p in points if p.confidence >= 0.6), key=lambda p: p.cost)
    Point(codes=array([12.]), cost=0.35, confidence=0.6)
    """
    tried = Tried(Space.of(problem), confidence, n_trials)
    tried.point(problem.action_set.own)
    bar = Progress(n_trials, "portfolio", show=verbose)
    if tried.space.axes and not problem.target.met(tried.points[0].confidence):
        for _ in _steps(tried, n_trials, random_state):
            bar.reach(len(tried.found), n_trials + 1)
    bar.reach(len(tried.found), len(tried.found))
    return tried.points


def _steps(tried: Tried, n_trials: int, random_state: int) -> Iterator[None]:
    """The search, step by step."""
    rng = np.random.default_rng(random_state)
    tried.most = n_trials - int(REFINED * n_trials)
    scouted = _scouted(tried, int(SHARE * n_trials), random_state)
    for points in filter(None, [tried.points[:1], *scouted]):
        walk = Walk(tried, min(points, key=rank(tried.space.problem.target)), rng)
        while tried.left > 1 and not walk.ended:
            walk.sweep()
            yield
    tried.most = n_trials
    yield from rounds(tried, rng)


def _scouted(tried: Tried, share: int, random_state: int) -> list[list[Point]]:
    """The points that each of the other engines tried with its share of the rows."""
    layer = max(share // n_layers(tried.space), 1)
    engines = [partial(spheres, n_trials=layer)]
    if not lacking("portfolio"):
        from trust_recourse.search.blackbox.tpe import tpe

        engines.append(partial(tpe, n_trials=max(share, 1)))

    def told(rows: Floats) -> Floats:
        return np.array([point.confidence for point in tried.ask(list(rows))])

    most, found = tried.most, []
    for engine in engines:
        before = len(tried.found)
        tried.most = min(before + share, most)
        with suppress(SpentError):
            engine(tried.space.problem, told, random_state=random_state)
        found.append(tried.points[before:])
    tried.most = most
    return found
