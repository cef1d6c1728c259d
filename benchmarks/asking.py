"""Machines, the rows they refuse, and the same question put to each search."""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from measured import timed
from trust_recourse import PTMClassifier
from trust_recourse.models.tsetlin.links import Logistic, Votes
from trust_recourse.models.tsetlin.settings import resting_vote
from trust_recourse.question import Problem, Status, Target
from trust_recourse.search.blackbox.tpe import tpe
from trust_recourse.search.exact import Exact

SEED = 0
LINKS = ("margin", "vote")
TRIALS = 300
PAPER = {
    "n_clauses": 20, "n_states": 100, "s": 1.5, "T": 5, "epochs": 60, "thresholds": 20,
    "binning": "rows", "validation_fraction": 0.0, "use_protected": True, "link": "margin",
    "na_cells": "move", "random_state": SEED,
}  # fmt: skip
SETTINGS = {
    "paper": PAPER,
    "every value": PAPER | {"thresholds": "unique"},
    "hundred": PAPER | {"n_clauses": 100, "s": 2.0, "T": 20},
    "four hundred": PAPER | {"n_clauses": 400, "s": 2.0, "T": 80},
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
    votes = Votes.named(link, model.n_clauses, resting_vote(model))
    other.become(replace(model.machine_, links=(votes,)))
    return other


def weighed(model, X, y):
    """The same clauses under the logistic link, their weights fitted to these rows."""
    other = copy(model).set_params(link="logistic")
    fitted = Logistic.fit(model.clause_proba(X), np.asarray(y, np.int8))
    other.become(replace(model.machine_, links=(fitted,)))
    return other


def refused(recourse, X, most=None):
    """The rows this model refuses, all or as many of them drawn by chance."""
    rows = X[recourse.model.predict_proba(X)[:, 1] < recourse.decision_threshold]
    return rows if most is None else rows.sample(min(most, len(rows)), random_state=SEED)


def rows_of(X):
    return [x for _, x in X.iterrows()]


# ---------------------------------------------------------------- whom is asked


class Asked(NamedTuple):
    """One question to the exact engine, and how it went."""

    label: Any  # of the row in its table
    level: float
    seconds: float  # of CPU
    nodes: int
    proved: bool  # the cheapest, or that there is none; not so if a limit ended the search
    cost: float  # infinite if nothing was found
    gap: float  # the share of the cost that may be saved, for all that is known

    @property
    def pace(self):
        """Seconds to the proof: infinite where there is none, so that no median is flattered."""
        return self.seconds if self.proved else math.inf


def by_find(recourse, x, level, repeat=1, **limits):
    """The result of the front door, and its CPU seconds."""
    return timed(lambda: recourse.find(x, confidence=level, **limits), repeat)


def through_find(recourse, x, level, repeat=1, **limits):
    """One question to the front door."""
    result, seconds = by_find(recourse, x, level, repeat, **limits)
    (status,), (nodes,) = result.status.values(), result.nodes.values()
    proved = status in (Status.OPTIMAL, Status.INFEASIBLE)
    if not result.options:
        return Asked(x.name, level, seconds, nodes, proved, math.inf, math.nan)
    option = result.options[0]
    return Asked(x.name, level, seconds, nodes, proved, option.cost, option.gap / option.cost)


def by_kernel(recourse, x, level, repeat=1, **limits):
    """One question to the engine's search alone, its candidates and arrays ready."""
    problem = Problem(
        recourse.schema.action_set(x), Target(level), recourse.cost, recourse.wanted_at
    )
    spent = []
    for _ in range(repeat):
        exact = Exact(recourse.score, problem, **limits)
        exact.asked.whole  # noqa: B018 - made on first use, which is not timed
        answer, seconds = timed(exact.cheapest)
        spent.append(seconds)
    cost = math.inf if answer.point is None else answer.point.cost
    gap = math.nan if answer.point is None else 1.0 - answer.lower_bound / cost
    return Asked(x.name, level, min(spent), answer.nodes, not answer.stopped, cost, gap)


class Trials(NamedTuple):
    """One search of TPE."""

    cost: float  # of the cheapest trial that met the target, infinite if none did
    seconds: float  # of CPU
    wall: float


def by_tpe(recourse, x, level):
    """300 trials on the compiled exact confidence, so that only the search is compared."""
    problem = Problem(
        recourse.schema.action_set(x), Target(level), recourse.cost, recourse.wanted_at
    )
    start = time.perf_counter()
    points, seconds = timed(
        lambda: tpe(problem, recourse.confidences, n_trials=TRIALS, random_state=SEED)
    )
    wall = time.perf_counter() - start
    met = (point.cost for point in points if problem.target.met(point.confidence))
    return Trials(min(met, default=math.inf), seconds, wall)
