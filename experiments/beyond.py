"""Beyond the paper's tables: six that people know, with limits on what may change.

Breast cancer, where every measurement may change both ways; German credit, Adult, COMPAS, HELOC and
Give Me Some Credit with the schemas of data.py. Each is split 80/20 by class; one machine learns
from the larger part at the paper's settings, from at most 20,000 rows drawn by the seed. Asked
about are rows of the other part that it refuses, drawn by the seed too: the exact engine at three
levels and once with a certified radius, and one search of TPE on the exact confidence.

A machine learns alike for both links, but is fitted for each: a link cannot be changed later by
public names.
"""

from __future__ import annotations

import time
from statistics import fmean, median

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from experiments import data
from experiments.frame import Table, Unit
from trust_recourse import Cost, PTMClassifier, Recourse
from trust_recourse.answers import copies, noise

PART = "beyond"
SEED = 42
MACHINE = {
    "n_clauses": 20, "n_states": 100, "s": 1.5, "T": 5, "epochs": 60, "thresholds": 20,
    "binning": "rows", "validation_fraction": 0.0, "use_protected": True, "random_state": SEED,
}  # fmt: skip
LINKS = ("margin", "vote")
LEARN_FROM = 20_000  # rows, at most
LIMIT, QUICK_LIMIT = 500_000, 50_000  # boxes for each question to the exact engine
SIGMA = 0.01
RADIUS = 0.05
LEVEL = 0.85
TITLES = {
    "breast_cancer": "Breast cancer",
    "german_credit": "German credit",
    "adult": "Adult",
    "compas": "COMPAS",
    "heloc": "HELOC",
    "give_me_some_credit": "Give Me Some Credit",
}
# about what one link of each takes, in seconds on one core, for so many people and LIMIT boxes
PEOPLE = 10
SECONDS = {
    "breast_cancer": 900, "german_credit": 140, "adult": 110, "compas": 35, "heloc": 250,
    "give_me_some_credit": 80,
}  # fmt: skip
LEAST, CERTIFIED, SEARCHED = "exact 0.85", "exact 0.85, radius 0.05", "TPE 0.85"
# what `find` is asked for each row of the table
WAYS = {
    "exact 0.50": {"confidence": 0.5, "engine": "exact"},
    LEAST: {"confidence": LEVEL, "engine": "exact"},
    "exact 0.95": {"confidence": 0.95, "engine": "exact"},
    CERTIFIED: {"confidence": LEVEL, "engine": "exact", "min_radius": RADIUS, "continuous": True},
    SEARCHED: {"confidence": LEVEL, "engine": "tpe", "random_state": SEED},
}


def units(scale):
    """One unit for each table and link; without the full scale only what needs no other package."""
    full = scale.name == "full"
    names, limit = (list(TITLES), LIMIT) if full else (["breast_cancer"], QUICK_LIMIT)
    share = scale.queries / PEOPLE * limit / LIMIT
    return [
        Unit(PART, f"{name}, {link}", table_asked,
             (name, link, scale.queries, scale.trials, limit), SECONDS[name] * share)
        for name in names
        for link in LINKS
    ]  # fmt: skip


# ---------------------------------------------------------------- the work of a unit


def table_asked(name, link, queries, trials, limit):
    """A row about the machine, then one for each person and way of asking."""
    X, y, schema = getattr(data, name)()
    learnt, held = parts(y)
    machine = PTMClassifier(**MACHINE, link=link, schema=schema)
    _, seconds = timed(machine.fit, X.iloc[learnt], y[learnt])
    about = {"table": name, "link": link}
    worth, people = worth_of(machine, X.iloc[held], y[held], queries)
    recourse = Recourse(machine, cost="l2")
    warm_up(recourse, people)
    answers = [
        about | {"person": int(person)} | told
        for person, x in people.iterrows()
        for told in told_to(recourse, x, trials, limit)
    ]
    shape = {"rows": len(X), "features": X.shape[1], "learnt": len(learnt)}
    spent = {"seconds": seconds, "limit": limit}
    return [about | {"way": "machine"} | shape | worth | spent, *answers]


def parts(y):
    """Row numbers to learn from, at most so many, and those held out: a fifth, split by class."""
    learnt, held = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=SEED)
    return np.random.default_rng(SEED).permutation(learnt)[:LEARN_FROM], held


def worth_of(machine, X, y, queries):
    """How well the machine tells rows it has not seen apart, and whom of them it is asked about."""
    yes = machine.predict_proba(X)[:, 1]
    refused = X[yes < 0.5]
    worth = {
        "held": len(X),
        "accuracy": accuracy_score(y, yes >= 0.5),
        "commonest": max(y.mean(), 1 - y.mean()),  # the accuracy of always saying the same
        "auc": roc_auc_score(y, yes),
        "refused": len(refused),
    }
    return worth, refused.sample(min(queries, len(refused)), random_state=SEED)


def warm_up(recourse, people):
    """Compiles what is compiled on first use, so that nobody's time has it."""
    for _, x in people.head(1).iterrows():
        for radius in (None, RADIUS):
            asked = {"min_radius": radius, "continuous": radius is not None}
            recourse.find(x, LEVEL, node_limit=1, **asked)
        recourse.find(x, LEVEL, engine="tpe", n_trials=1)


def told_to(recourse, x, trials, limit):
    """What one person is told, way by way; with how far they can get, where that is not enough."""
    rows = [{"way": way} | answer(recourse, x, way, trials, limit) for way in WAYS]
    if any(row["status"] == "infeasible" for row in rows):
        max_confidence = recourse.reachable(x, node_limit=limit).furthest
        action_set = {
            "furthest": max_confidence.confidence,
            "furthest_proved": max_confidence.status == "optimal",
        }
        rows = [row | (action_set if row["status"] == "infeasible" else {}) for row in rows]
    return rows


def answer(recourse, x, way, trials, limit):
    """One question: what was found, what it costs, and how well it holds."""
    ends = {"n_trials": trials} if way == SEARCHED else {"node_limit": limit}
    result, seconds = timed(recourse.find, x, **WAYS[way], **ends)
    (status,), (nodes,) = result.status.values(), result.nodes.values()
    told = {"status": str(status), "seconds": seconds, "nodes": nodes}
    if not result.options:
        return told
    option = result.options[0]
    decision = result.decision
    around = (option.codes, recourse.schema, SIGMA)
    asked = {"threshold": decision.confidence, "continuous": True}
    kept = noise(recourse.read_model.score_for(decision), *around, **asked)
    here, there = (recourse.schema.encode(row)[0] for row in (result.factual, option.x))
    return told | {
        "l1": Cost.named("l1").between(recourse.schema.features, here, there),
        "l2": option.cost,
        "changed": len(option.changes),
        "confidence": option.confidence,
        "copies": copies(lambda rows: recourse.judged(rows, decision), *around, **asked),
        "kept": kept.probability,
        "kept_error": kept.error,
        "lower_bound": option.lower_bound,
    }


def timed(work, *args, **kwargs):
    """What the work gives, and its CPU seconds."""
    start = time.process_time()
    given = work(*args, **kwargs)
    return given, time.process_time() - start


# ---------------------------------------------------------------- tables


def tables(rows):
    """What the machines are worth, and what people are told."""
    rows = pd.DataFrame(rows)
    order = [name for name in TITLES if name in set(rows["table"])]
    return [machines(rows[rows["way"] == "machine"], order), answers(rows, order)]


def machines(rows, order):
    header = (
        "Data", "Rows", "Features", "Learnt from", "Test", "Link", "Accuracy", "Commonest class",
        "AUC", "Refused", "CPU s to learn",
    )  # fmt: skip
    body = tuple(
        (
            TITLES[r.table], f"{r.rows:,.0f}", f"{r.features:.0f}", f"{r.learnt:,.0f}",
            f"{r.held:,.0f}", r.link, f"{r.accuracy:.3f}", f"{r.commonest:.3f}", f"{r.auc:.3f}",
            f"{r.refused:,.0f}", f"{r.seconds:.0f}",
        )
        for name in order
        for r in rows[rows["table"] == name].itertuples()
    )  # fmt: skip
    notes = (
        "Accuracy and AUC on the test part, a fifth of the rows; beside them the accuracy of "
        "always naming the commonest class. Class 1 is the good outcome; refused are test rows "
        f"with a confidence in it below 0.5. At most {LEARN_FROM:,} rows are learnt from, drawn by "
        f"seed {SEED}.",
    )
    return Table("Beyond the paper: the machines", header, body, notes)


def answers(rows, order):
    header = (
        "Data", "Link", "Row", "Answered", "Proved", "Unreachable", "L1", "L2", "Confidence",
        "L2 / least", "Kept, copies", "Kept, exact", "CPU s, median", "CPU s, most",
        "Nodes, median",
    )  # fmt: skip
    body = tuple(
        (TITLES[name], link, way, *cells(of[of.way == way], of[of.way == LEAST]))
        for name in order
        for link in LINKS
        if len(of := rows[(rows["table"] == name) & (rows.link == link)])
        for way in WAYS
    )
    notes = (
        "Refused rows of the test part, the same for every row of a table and link; means over "
        "those answered, so rows that answer different people are not to be compared by cost: "
        f"L2 / least is the mean ratio to the L2 of “{LEAST}” over people whom both answer. "
        "Costs in units scaled by each schema; L2 is what is minimised.",
        f"Kept: the share of 50 noisy copies (σ = {SIGMA}) with the decision kept, and its exact "
        "probability with the largest error that any of them may have.",
        "Proved: that the answer is the cheapest, or that there is none; TPE proves nothing. "
        "Unreachable: proved so, with the mean of the greatest confidence within reach (any, "
        f"where a radius is asked for). An exact search that its limit of {rows.limit.max():,.0f} "
        "boxes ended is not counted as proved. TPE's nodes are the points it tried.",
    )
    return Table("Beyond the paper: the answers", header, body, notes)


def cells(asked, least):
    """One way of asking, over the people asked about, and the least that they could pay."""
    met = asked[asked.status.isin(["optimal", "feasible"])]
    beyond = asked[asked.status == "infeasible"]
    n = len(asked)
    way = asked.way.iloc[0]
    exact = way != SEARCHED
    proved = asked.status.isin(["optimal", "infeasible"]).sum()
    ratios = (met.set_index("person").l2 / least.set_index("person").l2).dropna()
    same_target = way in (CERTIFIED, SEARCHED)
    reached = f" (reach {fmean(beyond.furthest):.3f})" if len(beyond) else ""
    return (
        f"{len(met)} of {n}",
        f"{proved} of {n}" if exact else "–",
        f"{len(beyond)} of {n}{reached}" if exact else "–",
        *(f"{fmean(met[name]):.3f}" if len(met) else "–" for name in ("l1", "l2", "confidence")),
        f"{fmean(ratios):.3f}" if same_target and len(ratios) else "–",
        f"{fmean(met.copies):.3f}" if len(met) else "–",
        f"{fmean(met.kept):.4f} ± {met.kept_error.max():.4f}" if len(met) else "–",
        f"{median(asked.seconds):.3g}",
        f"{asked.seconds.max():.3g}",
        f"{median(asked.nodes):,.0f}",
    )
