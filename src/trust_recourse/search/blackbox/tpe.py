"""The paper's search of any model: Optuna's tree-structured Parzen estimator, two objectives.

It proves nothing: it returns the points it tried, and the caller takes the cheapest that meets the
target. Ω(x) holds by construction: what it suggests are coordinates of a `Space`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from trust_recourse.io.extras import needed
from trust_recourse.io.progress import Progress
from trust_recourse.question import Point, Problem
from trust_recourse.search.blackbox.space import Axis, ChoiceAxis, Space, SpanAxis
from trust_recourse.search.blackbox.trials import Confidence, Tried, shortfall

if TYPE_CHECKING:
    from optuna import Study, Trial


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

    >>> from trust_recourse.question import Target
    >>> from trust_recourse.question.cost import Cost
    >>> from trust_recourse.schema import Feature, Schema
    >>> from trust_recourse.search.blackbox.trials import pareto
    >>> schema = Schema((Feature("income", "integer", lower=0, upper=20, scale=20.0),))
    >>> problem = Problem(schema.action_set({"income": 5}), Target(0.6), Cost.named("l1"))
    >>> points = tpe(problem, lambda codes: codes[:, 0] / 20, n_trials=60)
    >>> pareto(points, problem.target)[-1]
    Point(codes=array([12.]), cost=0.35, confidence=0.6)
    """
    with needed("engine 'tpe'", "optuna", "bayes"):
        import optuna
    space = Space.of(problem)
    tried = Tried(space, confidence)
    if not space.axes:
        return [tried.point(space.action_set.own)]
    study = _study(random_state)
    for _ in Progress(n_trials, "tpe", show=verbose).over(range(n_trials)):
        trial = study.ask()
        codes = space.kept(space.row(_suggested(axis, trial) for axis in space.axes))
        if codes is None:  # the sampler passes over it
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            point = tried.point(codes)
            study.tell(trial, [shortfall(problem.target, point.confidence), point.cost])
    return tried.points


# ---------------------------------------------------------------- Optuna, here alone


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
    if isinstance(axis, SpanAxis):
        return axis.value(np.array([trial.suggest_float(axis.name, 0.0, 1.0)]))
    ranks = range(len(axis.values))
    if isinstance(axis, ChoiceAxis):
        return float(axis.values[trial.suggest_categorical(axis.name, list(ranks))])
    return float(axis.values[trial.suggest_int(axis.name, 0, ranks[-1])])
