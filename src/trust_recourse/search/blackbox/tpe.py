"""The black-box engines: Bayesian optimisation for any model that gives a confidence.

`tpe` is the paper's search, Optuna's tree-structured Parzen estimator with two objectives; `gp` is
the constrained expected improvement of its Appendix A (Gardner et al. 2014). Neither proves
anything: each returns the points it tried, and the caller takes the cheapest that meets the target.
Ω(x) holds by construction: what they suggest are coordinates of a `Space`.
"""

from __future__ import annotations

import importlib
import logging
import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from trust_recourse.io.extras import needed
from trust_recourse.io.progress import Progress
from trust_recourse.io.scalars import Floats
from trust_recourse.question import Point, Problem, Target
from trust_recourse.search.blackbox.space import Axis, Choice, Space, Span
from trust_recourse.search.blackbox.trials import Confidence, Tried, check_trials, pareto, shortfall

if TYPE_CHECKING:
    from optuna import Study, Trial

CANDIDATES = 200  # rows of which the Gaussian processes choose the next to try


# ---------------------------------------------------------------- the two engines


def tpe(
    problem: Problem,
    confidence: Confidence,
    *,
    n_trials: int = 300,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Point]:
    """The distinct allowed points that Optuna's TPE sampler tried, in the order of their trials.

    Two objectives are minimised together, as in the paper: how far the confidence is from the
    target, and the cost. `confidence` takes rows of codes and gives the wanted class's confidence.
    If nothing may move, the person's own point is all there is.

    >>> from trust_recourse.question.cost import Cost
    >>> from trust_recourse.schema import Feature, Schema
    >>> schema = Schema((Feature("income", "integer", lower=0, upper=20, scale=20.0),))
    >>> problem = Problem(schema.action_set({"income": 5}), Target(0.6), Cost.named("l1"))
    >>> points = tpe(problem, lambda codes: codes[:, 0] / 20, n_trials=60)
    >>> pareto(points, problem.target)[-1]
    Point(codes=array([12.]), cost=0.35, confidence=0.6)
    """
    _check(n_trials, "tpe", "optuna")
    space = Space.of(problem)
    tried = Tried(space, confidence)
    if not space.axes:
        return [tried.point(space.action_set.own)]
    study = _study(random_state)
    for _ in Progress(n_trials, "tpe", show=verbose).over(range(n_trials)):
        trial = study.ask()
        codes = space.kept(space.row(_suggested(axis, trial) for axis in space.axes))
        _tell(study, trial, None if codes is None else tried.point(codes), problem.target)
    return tried.points


def gp(
    problem: Problem,
    confidence: Confidence,
    *,
    n_trials: int = 60,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Point]:
    """The distinct allowed points that constrained expected improvement tried, in their order.

    A Gaussian process models the confidence; the cost needs no model, as it is known. Among
    candidates drawn by chance and around the best points so far, the next to try has the greatest
    saving times the probability to meet the target; as long as none met it, the greatest
    probability alone. It starts from the person as they are and some rows by chance, and tries no
    row twice, nor one that saves nothing. `confidence` is as for `tpe`.
    """
    _check(n_trials, "gp", "bayes_opt")
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


def _check(n_trials: int, engine: str, module: str) -> None:
    check_trials(n_trials)
    with needed(f"engine {engine!r}", module, "bayes"):
        importlib.import_module(module)


def _least_met(points: Iterable[Point], target: Target) -> float:
    """The cost of the cheapest point that meets the target; infinite if none does."""
    return min((p.cost for p in points if target.met(p.confidence)), default=math.inf)


def _candidates(space: Space, tried: Tried, rng: np.random.Generator, draws: int) -> list[Floats]:
    """Allowed rows that were not tried: every other by chance, the rest near undominated points.

    The cost is known beforehand, so none is dearer than the cheapest that met the target.
    """
    front = pareto(tried.points, space.problem.target)
    most = _least_met(front, space.problem.target)
    rows: dict[bytes, Floats] = {}
    for n in range(draws):
        near = front[int(rng.integers(len(front)))].codes
        codes = space.kept(space.draw(rng) if n % 2 == 0 else space.near(near, rng))
        if codes is not None and codes not in tried and space.cost(codes) < most:
            rows[codes.tobytes()] = codes
    return list(rows.values())


# ---------------------------------------------------------------- the libraries, here alone


def _study(seed: int) -> Study:
    """A study of two objectives, every setting of its sampler that may be given written out.

    The others are deprecated in Optuna 5, which warns whoever gives them: each keeps its default.
    """
    import optuna

    sampler = optuna.samplers.TPESampler(
        n_startup_trials=10,
        n_ei_candidates=24,
        seed=seed,
        multivariate=False,
        group=False,
        constant_liar=False,  # trials run one by one, so no running trial needs to be avoided
    )
    logger = logging.getLogger("optuna")
    level = logger.level
    logger.setLevel(max(level, logging.WARNING))  # a new study announces itself
    try:
        return optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    finally:
        logger.setLevel(level)


def _suggested(axis: Axis, trial: Trial) -> float:
    """The value that Optuna's sampler suggests for a feature."""
    if isinstance(axis, Span):
        return axis.value(np.array([trial.suggest_float(axis.name, 0.0, 1.0)]))
    ranks = range(len(axis.values))
    if isinstance(axis, Choice):
        return float(axis.values[trial.suggest_categorical(axis.name, list(ranks))])
    return float(axis.values[trial.suggest_int(axis.name, 0, ranks[-1])])


def _tell(study: Study, trial: Trial, point: Point | None, target: Target) -> None:
    """What came of a trial; one without a point is passed over by the sampler."""
    from optuna.trial import TrialState

    if point is None:
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, [shortfall(target, point.confidence), point.cost])


def _most_promising(space: Space, tried: Tried, rows: list[Floats], seed: int) -> int:
    """Which of these rows to try: constrained expected improvement, after Gardner et al. 2014."""
    from bayes_opt.constraint import ConstraintModel
    from threadpoolctl import threadpool_limits

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
