"""Constrained expected improvement (Gardner et al. 2014): the paper's Appendix A, for comparisons.

It proves nothing: it returns the points it tried. `GP` is the engine for `find(engine=GP)`.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from bayes_opt.constraint import ConstraintModel
from threadpoolctl import threadpool_limits

from trust_recourse.search import Progress, SearchEngine, Space, Tried, pareto

CANDIDATES = 200  # rows of which the Gaussian processes choose the next to try


def gp(problem, confidence, *, n_trials=60, random_state=0, verbose=False):
    """The distinct allowed points that constrained expected improvement tried, in their order.

    A Gaussian process models the confidence; the cost needs no model, as it is known. Among
    candidates drawn by chance and around the best points so far, the next to try has the greatest
    saving times the probability to meet the target; as long as none met it, the greatest
    probability alone. It starts from the person as they are and some rows by chance, and tries no
    row twice, nor one that saves nothing. `confidence` is as for `tpe`.
    """
    space = Space.of(problem)
    tried = Tried(space, confidence)
    tried.point(space.action_set.own)
    if not space.axes:
        return tried.points
    rng = np.random.default_rng(random_state)
    n_start = min(2 * len(space.axes), n_trials // 3)
    for trial in Progress(n_trials - 1, "gp", show=verbose).over(range(1, n_trials)):
        by_chance = trial <= n_start
        rows = _candidates(space, tried, rng, 8 if by_chance else CANDIDATES)
        if rows:
            first = 0 if by_chance else _most_promising(space, tried, rows, random_state)
            tried.point(rows[first])
    return tried.points


def _least_met(points, target):
    """The cost of the cheapest point that meets the target; infinite if none does."""
    return min((p.cost for p in points if target.met(p.confidence)), default=math.inf)


def _candidates(space, tried, rng, draws):
    """Allowed rows that were not tried: every other by chance, the rest near undominated points.

    The cost is known beforehand, so none is dearer than the cheapest that met the target.
    """
    front = pareto(tried.points, space.problem.target)
    most = _least_met(front, space.problem.target)
    rows = {}
    for n in range(draws):
        near = front[int(rng.integers(len(front)))].codes
        codes = space.kept(space.draw(rng) if n % 2 == 0 else space.near(near, rng))
        if codes is not None and codes not in tried and space.cost(codes) < most:
            rows[codes.tobytes()] = codes
    return list(rows.values())


def _most_promising(space, tried, rows, seed):
    """Which of these rows to try: constrained expected improvement, after Gardner et al. 2014."""
    points, target = tried.points, space.problem.target
    known = np.array([space.place(point.codes) for point in points])
    asked = np.array([space.place(codes) for codes in rows])
    model = ConstraintModel(None, *target.interval, random_state=seed)
    # Threads cost more than they save on matrices this small. The warnings are of length scales at
    # their limits and of variances of 0.
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(known, np.array([point.confidence for point in points]))
        chance = np.nan_to_num(model.predict(asked))
    best = _least_met(points, target)
    if math.isinf(best):
        return int(np.argmax(chance))
    return int(np.argmax(chance * [best - space.cost(codes) for codes in rows]))


GP = SearchEngine("gp", 60, lambda _, *args, **settings: gp(*args, **settings))
