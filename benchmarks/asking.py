"""Machines, the rows they refuse, and the same question put to each search."""

from __future__ import annotations

import math
from copy import copy
from functools import cache

import numpy as np
import optuna

from measured import timed
from trust_recourse import PTMClassifier
from trust_recourse.problem import Point, Problem, Status, Target
from trust_recourse.schema.values import multiple_below
from trust_recourse.search.exact import ExactSearch

SEED = 0
LINKS = ("margin", "vote")
TRIALS = 300
PAPER = {
    "n_clauses": 20, "n_states": 100, "s": 1.5, "T": 5, "epochs": 60, "thresholds": 20,
    "na_cells": "move", "random_state": SEED,
}  # fmt: skip
SETTINGS = {
    "paper": PAPER,
    "every value": PAPER | {"thresholds": "unique"},
    "hundred": PAPER | {"n_clauses": 100, "s": 2.0, "T": 20},
}


# ---------------------------------------------------------------- who is asked about


@cache
def learnt(table, setting="paper", learn_from=None):
    """A table's rows and the machine learnt from them, or from as many of them drawn by chance."""
    X, y, schema = table()
    drawn = np.random.default_rng(SEED).permutation(len(X))[:learn_from]
    rows = slice(None) if learn_from is None else drawn
    return X, PTMClassifier(**SETTINGS[setting], schema=schema).fit(X.iloc[rows], y[rows])


def read_by(link, model):
    """The same machine read by this link, which learning knows nothing of."""
    other = copy(model).set_params(link=link)
    other._conclude(model.inclusion_)
    return other


def refused(recourse, X, most=None):
    """The rows this model refuses, all or as many of them drawn by chance."""
    rows = X[recourse.model.predict_proba(X)[:, 1] < recourse.decision_threshold]
    return rows if most is None else rows.sample(min(most, len(rows)), random_state=SEED)


def rows_of(X):
    return [x for _, x in X.iterrows()]


# ---------------------------------------------------------------- whom is asked


def by_find(recourse, x, level, repeat=1, **limits):
    """The result of the front door, and its CPU seconds."""
    return timed(lambda: recourse.find(x, confidence=level, **limits), repeat)


def by_kernel(recourse, x, level, repeat=1, **limits):
    """The cheapest point of the engine alone, its candidates ready; the search; CPU seconds."""
    reach, spent = recourse.schema.reach(x), []
    for _ in range(repeat):
        search = ExactSearch(recourse.model, reach, recourse.cost, **limits)
        asked = search.cheapest(Target(level).interval[0])
        point, seconds = timed(lambda asked=asked: next(asked, None))
        spent.append(seconds)
    return point, search, min(spent)


def by_tpe(recourse, x, level):
    """The least cost at which 300 trials met the target (infinite if none did), and CPU seconds."""
    model, target = recourse.model, Target(level)
    problem = Problem(recourse.schema.reach(x), target, recourse.cost)
    points, seconds = timed(
        lambda: tpe(problem, lambda codes: model.confidence_at(model.cells_of(codes)))
    )
    return min((p.cost for p in points if target.met(p.confidence)), default=math.inf), seconds


def tpe(problem, confidence, n_trials=TRIALS, random_state=SEED):
    """The points that Optuna's TPE sampler tries, asked to lessen the shortfall and the cost.

    It is given the compiled exact confidence, so that only the search is compared. Relations
    between features are not asked of it, and a missing value stays.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    reach, target = problem.reach, problem.target
    study = optuna.create_study(
        directions=["minimize", "minimize"], sampler=optuna.samplers.TPESampler(seed=random_state)
    )
    points = []
    for _ in range(n_trials):
        trial = study.ask()
        codes = reach.own
        for f, (feature, moves) in enumerate(zip(reach.schema, reach.moves, strict=True)):
            if moves.choices is not None:
                codes[f] = trial.suggest_categorical(feature.name, moves.choices)
            elif not math.isnan(moves.own) and feature.movable:
                low, high = moves.extent(-math.inf, math.inf)
                value = trial.suggest_float(feature.name, low, high)
                codes[f] = multiple_below(moves.step, value)
        found = float(confidence(codes[None])[0])
        point = Point(codes, problem.cost.between(reach.schema.features, reach.own, codes), found)
        points.append(point)
        study.tell(trial, [max(target.confidence - found, 0.0), point.cost])
    return points


def proved(result):
    """Whether the one answer of a result is known to be the cheapest, or known not to exist."""
    (status,) = result.status.values()
    return status in (Status.OPTIMAL, Status.INFEASIBLE)
