"""Models, schemas and people that several tests draw their questions from."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd

from trust_recourse import Feature, PTMClassifier, Recourse, Schema
from trust_recourse.models import Additive
from trust_recourse.models.tsetlin.links import Logistic, Votes
from trust_recourse.models.tsetlin.settings import resting_vote
from trust_recourse.question import Problem, Target

LINKS = ("margin", "vote", "logistic")

PAPER = {
    "s": 1.5, "T": 5, "epochs": 60, "thresholds": 20, "binning": "rows",
    "validation_fraction": 0.0, "link": "margin", "use_protected": True,
}  # fmt: skip


def paper_machine(n_clauses=20, n_states=100, **changes):
    """A machine with the paper's settings: small, and learning as long as it is told to."""
    return PTMClassifier(n_clauses, n_states, **PAPER | changes)


CREDIT = Schema(
    (
        Feature("rate", lower=0, upper=1, step=0.1, missing=(0.5,)),
        Feature("income", lower=0, upper=40, scale=40.0),  # continuous
        Feature("debt", lower=0, upper=40, scale=40.0),
        Feature("years", "integer", lower=0, upper=9, scale=9.0, missing=(-1,)),
        Feature("grade", "ordinal", values=("low", "mid", "high"), missing=("?",)),
        Feature("home", "category", values=("free", "own", "rent"), missing=("?",)),
        Feature("job", "boolean"),
        Feature("age", "integer", mutable=False),
    ),
    ("debt <= income", "grade changes => years rises by 1", "job changes => income falls by 0.5"),
)


LOAN = Schema(
    (
        Feature("months", "integer", lower=1, upper=12, scale=11),
        Feature("owed", "integer", lower=0, upper=9, scale=9, missing=(-1,)),
        Feature("housing", "category", values=("own", "rent", "with parents")),
    )
)
EDGES = [[3.0, 5.0, 9.0], [2.0, 6.0], []]


def machine(seed, link="margin", calibration=None, clauses=6):
    """A machine of arbitrary rules on a number, an integer, a category and a boolean."""
    rng = np.random.default_rng(seed)
    n = 60
    X = pd.DataFrame(
        {
            "rate": rng.integers(0, 6, n) / 10,
            "count": rng.integers(0, 5, n),
            "home": rng.choice(["own", "rent", "free"], n),
            "job": rng.random(n) < 0.5,
        }
    )
    y = np.arange(n) % 2
    model = paper_machine(
        clauses, 4, T=2, epochs=2, thresholds=4, link=link, calibration=calibration, random_state=0
    ).fit(X, y)
    with_rules(model, rng.random(model.inclusion_.shape) ** 4, rng)
    return model, X, rng


def with_rules(model, inclusion, rng):
    """Give a machine other rules than it learnt and, if its link has any, other weights."""
    link = None
    if model.link == "logistic":
        weights = 10 ** rng.uniform(-1, 1) * rng.random(len(inclusion)) ** 2
        weights[rng.random(len(weights)) < 0.1] = 0.0
        link = Logistic(weights, rng.normal())
    conclude(model, inclusion, link)


def conclude(model, inclusion, link=None):
    """Give a machine of two classes other clauses, and its own link where no other is given."""
    machine = model.machine_
    if link is None and model.link == "logistic":
        same = isinstance(machine.link, Logistic) and len(machine.inclusion) == len(inclusion)
        link = machine.link if same else Logistic(np.ones(len(inclusion)), 0.0)
    elif link is None:
        link = Votes.named(model.link, len(inclusion), resting_vote(model))
    model.become(replace(machine, inclusion=inclusion, links=(link,)))


def calibrate_by(model, calibrator):
    """Give a machine another calibrator."""
    model.become(replace(model.machine_, calibrator=calibrator))


def confidence_from(model, q):
    """The confidence in class 1 if the clauses fired with these probabilities."""
    return model.machine_.calibrated(model.machine_.link.raw(q))


def random_machine(seed, n_clauses=4, features=2, levels=3, rows=12, **settings):
    """A machine with arbitrary inclusion probabilities, some of them 0 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (rows, features)).astype(float)
    X[:levels, 0] = np.arange(levels)
    y = np.arange(rows) % 2
    machine = paper_machine(n_clauses, 4, thresholds="unique", epochs=1, random_state=0, **settings)
    machine.fit(X, y)
    inclusion = rng.random(machine.inclusion_.shape) ** 3
    inclusion[rng.random(inclusion.shape) < 0.1] = 0.0
    inclusion[rng.random(inclusion.shape) < 0.1] = 1.0
    with_rules(machine, inclusion, rng)
    return machine, X


def person_schema(model, rng, relations):
    schema = model.schema_.update("rate", direction=rng.choice(["increase", "decrease", None]))
    schema = schema.update("count", weight=float(rng.choice([0.5, 1, 3])))
    if rng.random() < 0.3:
        schema = schema.update("home", mutable=False)
    if rng.random() < 0.3:
        schema = schema.update("count", max_change=2)
    if relations:
        schema = schema.relate("job changes => count rises by 1", "rate <= count")
    return schema


def enumerated(recourse, x):
    """Every row this person may become, its cost and its confidence, by brute force."""
    schema = recourse.schema
    action_set = schema.action_set(x)
    rows = itertools.product(*(actions.values() for actions in action_set.actions))
    codes = np.array([row for row in rows if action_set.allows(row)])
    p = recourse.model.predict_proba(schema.decode(codes))[:, recourse.wanted_at]
    cost = [recourse.cost.between(schema.features, action_set.own, row) for row in codes]
    return codes, np.array(cost), p


def a_person(rng):
    """Anyone: off the lattice, outside the bounds, with missing values, with a relation broken."""
    maybe = lambda value, blank: blank if rng.random() < 0.25 else value  # noqa: E731
    return {
        "rate": rng.choice([0.3, 0.34, 1.7, 0.5]),
        "income": rng.uniform(-5, 50),
        "debt": rng.uniform(0, 40),
        "years": maybe(int(rng.integers(0, 12)), -1),
        "grade": maybe(rng.choice(["low", "mid", "high"]), "?"),
        "home": maybe(rng.choice(["free", "own", "rent"]), "?"),
        "job": bool(rng.random() < 0.5),
        "age": 40,
    }


def question(seed, relations, mode="at_least", wanted=1, rank=0.9):
    """A machine's problem with a target known to be within reach, and every row it could end at."""
    model, X, rng = machine(seed)
    recourse = Recourse(model, person_schema(model, rng, relations), "l1", wanted=wanted)
    x = X.iloc[int(rng.integers(len(X)))]
    codes, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    target = Target(level, mode, 0.02)
    problem = Problem(recourse.schema.action_set(x), target, recourse.cost, wanted)

    def confidence(rows):
        yes = model.machine_.confidence_at(model.machine_.grid.cells(rows))
        return yes if wanted == 1 else 1.0 - yes

    return problem, confidence, codes, costs, p


def card(seed):
    rng = np.random.default_rng(seed)
    points = [rng.normal(0, 1, size) for size in (4, 4, 3)]
    return Additive(LOAN, EDGES, points, base=float(rng.normal()))
