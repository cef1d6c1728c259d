"""Coverage of the intervals that `Result.robustness` returns, and its CPU time.

    PYTHONPATH=. python benchmarks/noise.py        measure what is missing, write results/noise.json
    PYTHONPATH=. python benchmarks/noise.py --again  measure everything again

Fifty answers of each of four model families. Half of them ask for a radius too, so that shares
near 1 occur. The reference of an answer is the share of 10^6 noisy copies from an independent
stream. A sampled interval covers it if the share lies inside. A certain interval can be narrower
than the error of the reference, so it covers if it meets the 99.9 % interval of the reference.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from experiments import data
from measured import RESULTS, Busy, cpu, surroundings
from trust_recourse import PTMClassifier, Recourse, Schema
from trust_recourse.answers import copies

RESULT = RESULTS / "noise.json"
ANSWERS, RADIUS, SIGMA, REFERENCE, PART, SEED = 50, 0.02, 0.01, 1_000_000, 20_000, 0


def families():
    """A table, a model and a decision threshold each, by the name of the family."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    boosted = LGBMClassifier(
        n_estimators=76, learning_rate=0.05, num_leaves=31, n_jobs=1, random_state=SEED, verbose=-1
    )
    forest = RandomForestClassifier(60, max_leaf_nodes=32, random_state=SEED, n_jobs=1)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    schema = data.heloc()[2]
    machine = PTMClassifier(
        n_clauses=100, epochs=10, s=3, T=8, link="logistic", schema=schema, random_state=SEED
    )
    return {
        "boosted trees, card default": (data.card_default, boosted, 0.7),
        "random forest, breast cancer": (data.breast_cancer, forest, 0.5),
        "Tsetlin machine, HELOC": (data.heloc, machine, 0.5),
        "logistic regression, card default": (data.card_default, linear, 0.7),
    }


def measured(table, model, threshold):
    """What the intervals of one family's answers cover, and the CPU seconds of an answer."""
    X, y, schema = table()
    rng = np.random.default_rng(SEED)
    learnt = rng.permutation(len(X))[: min(len(X), 8000)]
    schema = coarse(schema or Schema.infer(X, guard=False))
    model.fit(X.iloc[learnt], np.asarray(y)[learnt])
    recourse = Recourse(model, schema, cost="l1", decision_threshold=threshold)
    said = recourse.confidences(recourse.schema.encode(X))
    rows = []
    for person in rng.permutation(np.flatnonzero(said < threshold)).tolist():
        radius = RADIUS if len(rows) % 2 else None
        result = recourse.find(X.iloc[person], threshold, min_radius=radius, time_limit=3)
        if result.options:
            rows.append(compared(result, len(rows)))
            print(rows[-1], flush=True)
        if len(rows) == ANSWERS:
            break
    covered = [row["covered"] for row in rows]
    return {
        "answers": len(rows),
        "exact": sum(row["exact"] for row in rows),
        "covered": sum(covered),
        "covered, sampled": sum(row["covered"] for row in rows if not row["exact"]),
        "milliseconds": {
            "median": round(float(np.median([row["ms"] for row in rows])), 1),
            "most": round(max(row["ms"] for row in rows), 1),
        },
        "rows": rows,
    }


def coarse(schema):
    """Amounts move by hundreds."""
    for feature in schema:
        if feature.numeric and feature.upper - feature.lower > 1e5:
            schema = schema.update(feature.name, step=100)
    return schema


def compared(result, seed):
    """The interval of one answer beside the reference."""
    recourse, decision = result.recourse, result.decision
    found = result.robustness(0, SIGMA, random_state=seed)
    spent = cpu(lambda: result.robustness(0, SIGMA, random_state=seed), repeat=3)
    rng = np.random.default_rng([SEED, seed, 1])
    parts = (
        copies(
            lambda rows: recourse.judged(rows, decision), result.options[0].codes, recourse.schema,
            SIGMA, threshold=decision.confidence, n_copies=PART, random_state=rng,
        )
        for _ in range(REFERENCE // PART)
    )  # fmt: skip
    share = float(np.mean(list(parts)))
    room = 0.0
    if found.exact:  # 3.29 deviations of the reference, and one copy
        room = 3.29 * float(np.sqrt(share * (1 - share) / REFERENCE)) + 1 / REFERENCE
    return {
        "low": found.low,
        "high": found.high,
        "exact": found.exact,
        "reference": share,
        "covered": bool(found.low - room <= share <= found.high + room),
        "ms": round(1000 * spent, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="measure everything again")
    given = parser.parse_args()
    known = json.loads(RESULT.read_text()) if RESULT.exists() and not given.again else {}
    for name, (table, model, threshold) in families().items():
        if name in known:
            continue
        busy = Busy()
        known[name] = measured(table, model, threshold)
        known["where"] = surroundings("numpy", "scikit-learn", "lightgbm") | {"load": busy.words()}
        RESULT.write_text(json.dumps(known, indent=1) + "\n")
    told = [each for name, each in known.items() if name != "where"]
    answers, covered = (sum(each[count] for each in told) for count in ("answers", "covered"))
    print(f"{covered} of {answers} intervals cover the reference")


if __name__ == "__main__":
    main()
