"""Linear models and scorecards with proof, beside HiGHS on the same questions.

HELOC, all 23 features free within what was seen, 20 refused people at 0.5, 0.7 and 0.85. The
regression is asked as it is (whole numbers) and with steps of a ten thousandth of each scale; the
scorecard has ten bins a feature. HiGHS (by SciPy) gets the program that suits it best: two whole
variables a feature where values are own ± whole steps and the cost is linear, else a binary
variable for each value worth trying. CPU time of one core; HiGHS has 60 s a question, and fewer
people where it takes long.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array
from sklearn.linear_model import LogisticRegression

from experiments.data import heloc
from measured import RESULTS, surroundings, timed
from trust_recourse import Recourse, Schema
from trust_recourse.question import Problem, Target
from trust_recourse.search.exact import Exact
from trust_recourse.sums import Additive

LEVELS = (0.5, 0.7, 0.85)
PEOPLE, FEW = 20, 2
SECONDS = 60.0
BINS = 10


def regression(X, y, schema):
    """Learnt on standardised columns, and told in the columns' own units."""
    centre, spread = X.mean(), X.std()
    learnt = LogisticRegression(max_iter=2000).fit((X - centre) / spread, y)
    slopes = learnt.coef_[0] / spread.to_numpy()
    base = float(learnt.intercept_[0] - slopes @ centre.to_numpy())
    return Additive(schema, [[]] * 23, [[0.0]] * 23, slopes=slopes[:, None], base=base)


def scorecard(X, y, schema):
    """Points of tenths of each column, learnt together."""
    edges = [np.unique(np.quantile(X[name], np.arange(1, BINS) / BINS)) for name in schema.names]
    cells = [edge.searchsorted(X[name]) for edge, name in zip(edges, schema.names, strict=True)]
    hot = np.column_stack([np.eye(len(e) + 1)[c] for e, c in zip(edges, cells, strict=True)])
    learnt = LogisticRegression(C=0.1, max_iter=2000).fit(hot, y)
    ends = np.cumsum([len(edge) + 1 for edge in edges])[:-1]
    points = np.split(learnt.coef_[0], ends)
    return Additive(schema, edges, points, base=float(learnt.intercept_[0]))


def by_highs(recourse, person, level, costs):
    """The least cost, before the root, by HiGHS, and its CPU seconds; None if time was up."""
    own = recourse.schema.action_set(person)
    target = Target(level)
    model = recourse.model
    needed = math.log(target.interval[0] / (1.0 - target.interval[0]))
    began = time.process_time()
    if costs == "l1" and model.sloped and all(f.step == 1.0 for f in recourse.schema):
        ends = np.array([f.bounds for f in recourse.schema])
        step = np.array([f.step for f in recourse.schema])
        rate = np.array([f.weight / f.scale for f in recourse.schema]) * step
        slopes = np.array([each[0] for each in model.slopes]) * step
        now = float(model.total(own.own[None])[0])
        most = np.concatenate([(ends[:, 1] - own.own) / step, (own.own - ends[:, 0]) / step])
        found = milp(
            np.concatenate([rate, rate]), integrality=np.ones(46),
            bounds=Bounds(0, np.floor(np.maximum(most, 0.0) + 1e-9)),
            constraints=[LinearConstraint(np.append(slopes, -slopes)[None], needed - now, np.inf)],
            options={"mip_rel_gap": 0.0, "time_limit": SECONDS},
        )  # fmt: skip
    else:
        engine = Exact(recourse.score, Problem(own, target, recourse.cost, 1), scope="furthest")
        cost = np.concatenate([each.costs for each in engine.features])
        gain = np.concatenate(
            [model.worth(f, each.codes) for f, each in enumerate(engine.features)]
        )
        feature = np.repeat(np.arange(23), [len(each.codes) for each in engine.features])
        began = time.process_time()  # the values are known to both
        one = coo_array((np.ones(len(cost)), (feature, np.arange(len(cost)))), (23, len(cost)))
        found = milp(
            cost, integrality=np.ones(len(cost)), bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(one.tocsr(), 1, 1),
                LinearConstraint(gain[None], needed - model.base, np.inf),
            ],
            options={"mip_rel_gap": 0.0, "time_limit": SECONDS},
        )  # fmt: skip
    return (None if found.status else float(found.fun)), time.process_time() - began


def measured(name, model, X, cost, few):
    """Medians of one model under one cost, and whether both agree."""
    recourse = Recourse(model, cost=cost)
    people = X[model.predict_proba(X)[:, 1] < 0.5].head(PEOPLE)
    recourse.find(people.iloc[0], 0.7)  # compiles
    rows = []
    for k, (_, person) in enumerate(people.iterrows()):
        for level in LEVELS:
            result, ours = timed(lambda p=person, c=level: recourse.find(p, c), repeat=3)
            told = result.options[0]
            theirs, seconds = by_highs(recourse, person, level, cost) if k < few else (None, None)
            least = recourse.cost.before_root(told.cost)
            agree = theirs is None or abs(theirs - least) <= 1e-6 * max(least, 1.0)
            rows.append((ours, seconds, str(told.status) == "optimal", agree))
    ours, theirs, proved, agree = zip(*rows, strict=True)
    told = [each for each in theirs if each is not None]
    return {
        "model": name, "cost": cost, "questions": len(rows), "proved": sum(proved),
        "ms_median": 1e3 * float(np.median(ours)), "ms_most": 1e3 * max(ours),
        "highs_questions": len(told), "highs_ms_median": 1e3 * float(np.median(told)),
        "times": float(np.median(told) / np.median(ours)), "agree": all(agree),
    }  # fmt: skip


def main():
    """Ask everything, tell, and write it down."""
    X, y, _ = heloc()
    whole = Schema.infer(X)
    fine = Schema(tuple(replace(feature, kind="number", step=None) for feature in whole))
    models = {
        "regression, whole numbers": regression(X, y, whole),
        "regression, 10,000 steps": regression(X, y, fine),
        "scorecard, ten bins": scorecard(X, y, whole),
    }
    found = []
    for name, model in models.items():
        for cost in ("l1", "l2"):
            slow = name.endswith("steps")
            found.append(measured(name, model, X, cost, FEW if slow else PEOPLE))
            print(found[-1], flush=True)
    told = {"where": surroundings("scikit-learn", "scipy"), "found": found}
    (RESULTS / "lines.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
