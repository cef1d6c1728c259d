"""An answer that survives retraining, in units of one plain search of the same person.

    PYTHONPATH=. python benchmarks/lasting.py

HELOC under the schema that a lender might write, L1; LightGBM of 50 trees with 8 leaves
and a logistic regression, each with 60 models learnt anew: 20 are searched against, 20 validate, 20
tell. Learnt from 2,500 rows, drawn by chance; of as many refused rows of the others as have an
answer to 0.5, a plain search, 20 are asked for one that 0.9 of such models keep. CPU seconds of one
process, the least of two.
"""

from __future__ import annotations

import json
from statistics import median

import numpy as np

from asking import rows_of
from measured import RESULTS, Busy, surroundings, timed
from ranges import MODELS
from trees import refused, table_of
from trust_recourse import PTMClassifier, Recourse, bootstraps

LEARN_FROM, ANEW, SHARE, PEOPLE, SEED = 2_500, 60, 0.9, 20, 0
ASKED = ("LightGBM 50 × 8", "logistic regression")
RESULT = RESULTS / "lasting.json"


def measured(name):
    """A line for each person."""
    X, y, schema = table_of("heloc", "lender")
    order = np.random.default_rng(SEED).permutation(len(X))
    rows, others = order[:LEARN_FROM], order[LEARN_FROM:]
    made = MODELS[name]() if MODELS[name] else PTMClassifier(random_state=SEED, schema=schema)
    model = made.fit(X.iloc[rows], y[rows])
    models = bootstraps(model, X.iloc[rows], y[rows], ANEW, random_state=SEED)
    recourse, lines = Recourse(model, schema, "l1", bootstraps=models), []
    for x in rows_of(refused(X.iloc[others], model, 4 * PEOPLE)):
        if len(lines) == PEOPLE or not recourse.find(x, 0.5).options:
            continue
        recourse.find(x, 0.5, survives=SHARE)  # compiles
        _, plain = timed(lambda x=x: recourse.find(x, 0.5), repeat=2)
        result, seconds = timed(lambda x=x: recourse.find(x, 0.5, survives=SHARE), repeat=2)
        ((target, status),) = result.status.items()
        lines.append(
            {
                "model": name, "person": str(x.name), "status": str(status), "plain": plain,
                "survives": seconds, "ratio": seconds / plain,
                "kept": result.survival[target].share if result.options else None,
            }
        )  # fmt: skip
        print(lines[-1], flush=True)
    return lines


def main():
    busy = Busy()
    lines = [line for name in ASKED for line in measured(name)]
    told = {}
    for name in ASKED:
        own = [line for line in lines if line["model"] == name]
        ratios = [line["ratio"] for line in own]
        told[name] = {
            "people": len(own), "found": sum(line["kept"] is not None for line in own),
            "plain, ms": 1e3 * median(line["plain"] for line in own),
            "survives, ms": 1e3 * median(line["survives"] for line in own),
            "ratio, median": median(ratios), "ratio, greatest": max(ratios),
        }  # fmt: skip
    print(json.dumps(told, indent=1, ensure_ascii=False))
    packages = ("numpy", "numba", "scipy", "scikit-learn", "lightgbm")
    held = {**surroundings(*packages), "busy": busy.words(), "models": told, "lines": lines}
    RESULT.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
