"""Exact answers to questions of middle size are those of a mixed-integer program at gap 0."""

from __future__ import annotations

import math
import traceback

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.mip import solve
from laws import checks, trees
from laws.questions import one_of
from trust_recourse import Feature, Recourse, Schema
from trust_recourse.question import Status, Target
from trust_recourse.search.candidates import candidates

KINDS = tuple(kind for kind in trees.KINDS if kind not in ("tree", "extra tree"))
ROWS = 300
SECONDS = 120.0
NEAR = 1e-6  # of a cost: how near to the least HiGHS' own tolerances let it come
SHORT = 1e-6  # of a score: by how much its answers may miss what is needed


def judge(seed: int) -> checks.Findings:
    """One question, to a model of 10 to 30 trees on 6 to 10 numbers, by both."""
    findings = checks.Findings()
    try:
        with threadpool_limits(1):
            _judge(np.random.default_rng(seed), seed, findings)
    except Exception:
        findings.broken.append(traceback.format_exc())
    return findings


def _judge(rng, seed, findings) -> None:
    kind = KINDS[seed % len(KINDS)]
    schema, table = _a_table(rng)
    n, leaves = int(rng.integers(10, 31)), (4, 8)
    library = trees.a_model(rng, kind, schema, table, n, leaves)
    wanted, cost = int(rng.integers(2)), one_of(rng, "l1", "l1", "l2", "l0", {"l0": 0.3, "l1": 1})
    recourse = Recourse(library.given, schema, cost, wanted=library.classes_[wanted])
    told = library.predict_proba(table)[:, wanted]
    person = table.iloc[int(np.argsort(told)[rng.integers(ROWS // 4)])]
    target = Target(float(np.clip(np.quantile(told, rng.uniform(0.6, 1.0)) + 1e-4, 0.01, 0.99)))
    result = recourse.find(person, target.confidence, time_limit=SECONDS)
    ((_, status),) = result.status.items()
    features = candidates(recourse.score.grid, schema.action_set(person), recourse.cost)
    needed = recourse.score.model.needed(target.interval[0], recourse.score.wanted)

    def least(slack):
        towards = -slack if recourse.score.wanted == 1 else slack
        return solve(recourse.model, wanted, features, needed + towards, SECONDS)

    ours = recourse.cost.before_root(result.options[0].cost) if result.options else math.inf
    theirs = least(0.0)
    findings.counts.update({f"{kind}: {status}": 1, f"HiGHS: {theirs.status}": 1})
    known = status in (Status.OPTIMAL, Status.INFEASIBLE, Status.ALREADY_MET)
    findings.law(known, f"{kind}: {status} after {SECONDS} s")
    if theirs.status == "limit":
        findings.law(ours >= theirs.bound * (1 - NEAR), f"{kind}: {ours}, HiGHS {theirs}")
        return
    if math.isclose(ours, theirs.cost, rel_tol=NEAR, abs_tol=NEAR) or ours == theirs.cost:
        return
    easier, harder = least(SHORT), least(-SHORT)
    between = easier.cost * (1 - NEAR) - NEAR <= ours <= harder.cost * (1 + NEAR) + NEAR
    findings.law(between, f"{kind}: {status} {ours}, HiGHS {easier}, {theirs}, {harder}")
    findings.counts["apart by HiGHS' own tolerances"] += 1


def _a_table(rng):
    """Numbers, some whole and some that may be missing, of few digits so that they tie."""
    features, columns = [], {}
    for k in range(int(rng.integers(6, 11))):
        name, whole = f"f{k}", rng.random() < 0.4
        column = rng.normal(0, 3, ROWS).round() if whole else rng.normal(0, 1, ROWS).round(2)
        ends = {"lower": float(column.min()), "upper": float(column.max())}
        told = {**ends, "scale": float(column.std()), "weight": float(rng.uniform(0.5, 2.0))}
        told["mutable"] = bool(rng.random() < 0.9)
        if rng.random() < 0.2:
            told["direction"] = one_of(rng, "increase", "decrease")
        kind, step = ("integer", 1.0) if whole else ("number", 0.01)
        features.append(Feature(name, kind, step=step, **told))
        columns[name] = column.astype(int) if whole else column
    return Schema(tuple(features)), pd.DataFrame(columns)
