"""Several engines on one budget of rows, for models that nobody can read.

GrowingSpheres and the paper's TPE look for answers, each with its share of the rows; what is left
goes to walks: from the person as they are, from the best row of each of the two, from the cheapest
answer with one of its changes taken back, and then from other answers that change other features.
If that leads nowhere, the two get all that is left. All of them ask through one list, so no row is
asked of the model twice. Without Optuna the search does without TPE.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib.util import find_spec

import numpy as np

from trust_recourse.extras import absent
from trust_recourse.progress import Progress
from trust_recourse.question import Floats, Point, Problem, changed
from trust_recourse.search.space import Space
from trust_recourse.search.spheres import n_layers, spheres
from trust_recourse.search.trials import Confidence, SpentError, Tried, check_trials
from trust_recourse.search.walk import KEPT, Walk

SHARE = 0.05  # of the rows: what spheres gets, and what TPE gets


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

    >>> from trust_recourse.cost import Cost
    >>> from trust_recourse.question import Target
    >>> from trust_recourse.schema import Feature, Schema
    >>> schema = Schema((Feature("income", "integer", lower=0, upper=20, scale=20.0),))
    >>> problem = Problem(schema.action_set({"income": 5}), Target(0.6), Cost.named("l1"))
    >>> points = portfolio(problem, lambda codes: codes[:, 0] / 20, n_trials=30)
    >>> min((p for p in points if p.confidence >= 0.6), key=lambda p: p.cost)
    Point(codes=array([12.]), cost=0.35, confidence=0.6)
    """
    check_trials(n_trials)
    tried = Tried(Space.of(problem), confidence, n_trials)
    tried.point(problem.action_set.own)
    bar = Progress(n_trials, "portfolio", show=verbose)
    rng = np.random.default_rng(random_state)
    for seed, share in ((random_state, SHARE * n_trials), ((random_state + 1) % 2**32, n_trials)):
        if not tried.space.axes or tried.left < 1 or _answers(tried):
            break
        for walk in _walks(tried, _scouted(tried, int(min(share, tried.left / 2)), seed), rng):
            while tried.left > 1 and not walk.ended:
                walk.sweep()
                bar.reach(len(tried.found), n_trials + 1)
    bar.reach(len(tried.found), len(tried.found))
    return tried.points


def lacking() -> str:
    """What the portfolio does without here, and why; '' if nothing."""
    if find_spec("optuna"):
        return ""
    missing = absent("TPE, a part of the portfolio,", "optuna", "bayes")
    return f"{missing}; spheres and walks searched without it"


def _answers(tried: Tried) -> list[Point]:
    target = tried.space.problem.target
    return [point for point in tried.points if target.met(point.confidence)]


def _scouted(tried: Tried, share: int, random_state: int) -> list[list[Point]]:
    """The points that each of the other engines tried with its share of the rows."""
    layer = max(share // n_layers(tried.space), 1)
    engines = [partial(spheres, n_trials=layer)]
    if not lacking():
        from trust_recourse.search.bayes import tpe

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


def _walks(tried: Tried, scouted: list[list[Point]], rng: np.random.Generator) -> Iterator[Walk]:
    """Walks from the person, from the best of each engine, and from other answers, cheapest first.

    Another answer is one that changes other features than any that was walked from or to.
    """
    own = tried.space.action_set.own
    known: set[frozenset[int]] = set()
    mended: set[bytes] = set()
    rank = Walk(tried, tried.point(own), rng).rank

    def walked(points: list[Point]) -> Iterator[Walk]:
        start = min(points, key=rank)
        walk = Walk(tried, start, rng)
        yield walk
        known.update(changed(own, point.codes) for point in (start, walk.best))

    for points in filter(None, [[tried.point(own)], *scouted]):
        yield from walked(points)
        yield from _mends(tried, mended, rng)
    while tried.left > KEPT:
        others = [p for p in _answers(tried) if changed(own, p.codes) not in known]
        if not others:
            return
        yield from walked(others)


def _mends(tried: Tried, known: set[bytes], rng: np.random.Generator) -> Iterator[Walk]:
    """Walks from the cheapest answer with one change taken back, the dearest first.

    Each has to stay below that answer's cost; where one does, its answer is the next.
    """
    space = tried.space
    own, features = space.action_set.own, space.action_set.schema
    while tried.left > KEPT and (answers := _answers(tried)):
        best = min(answers, key=lambda point: point.cost)
        rows = []
        for f in changed(own, best.codes):
            row = best.codes.copy()
            row[f] = own[f]
            if row.tobytes() not in known:
                saved = space.problem.cost.change(features[f], float(own[f]), float(best.codes[f]))
                rows.append((saved, -f, row))
        if not rows:
            return
        row = max(rows)[2]
        known.add(row.tobytes())
        if (kept := space.kept(row)) is not None:
            yield Walk(tried, tried.point(kept), rng, best.cost)
