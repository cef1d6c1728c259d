"""The frontier to 0.01 with every column free, in units of one plain search of the same person.

    PYTHONPATH=. python benchmarks/frontier.py            measure, and write the results
    PYTHONPATH=. python benchmarks/frontier.py --write    and the table into docs/speed-search.md

HELOC and Give Me Some Credit, a PTM of its own settings with 100 clauses and LightGBM of 100 trees
of 8 leaves, L1. Of five refused rows, drawn by chance, it is led through 0.5 and 0.85; a plain
search is `find` at one of five levels from 0.5 to 0.85, their mean. Times are CPU seconds of one
process.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean, median

import numpy as np
from lightgbm import LGBMClassifier

from asking import rows_of
from experiments import data
from measured import RESULTS, Busy, surroundings, timed
from record import write_between
from trust_recourse import PTMClassifier, Recourse, Schema

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85)
THROUGH = (0.5, 0.85)
PEOPLE, SEED = 5, 0
NODES = 200_000  # of one frontier, at most
RESULT = RESULTS / "frontier.json"
PAGE = Path(__file__).parent.parent / "docs" / "speed-search.md"
BEGIN = "<!-- from benchmarks/frontier.py -->"
TABLES = {"HELOC": data.heloc, "Give Me Some Credit": data.give_me_some_credit}
MODELS = ("PTM, 100 clauses", "LightGBM 100 × 8")


def asked_of(table, model):
    """The recourse of a model that learnt from a table, and the people it is asked about."""
    X, y, schema = TABLES[table]()
    X = X.astype({name: "float64" for name in X if X[name].dtype.kind in "iu"})
    blanks = any(feature.missing for feature in schema) and X.isna().any(axis=None)
    free = data.unlimited(schema) if blanks else Schema.infer(X, guard=False)
    if model == MODELS[0]:
        made = PTMClassifier(n_clauses=100, random_state=SEED, schema=free).fit(X, y)
    else:
        size = {"n_estimators": 100, "num_leaves": 8, "learning_rate": 0.1}
        made = LGBMClassifier(**size, random_state=SEED, n_jobs=1, verbose=-1).fit(X, y)
    recourse = Recourse(made, free, "l1")
    refused = X[made.predict_proba(X)[:, 1] < recourse.decision_threshold]
    return recourse, rows_of(refused.sample(PEOPLE, random_state=SEED))


def measured(table, model):
    """A line for each person."""
    recourse, people = asked_of(table, model)
    recourse.find(people[0], 0.85), recourse.frontier(people[0], node_limit=50)  # compiles
    lines = []
    for x in people:
        plain = fmean(
            timed(lambda x=x, level=level: recourse.find(x, level))[1] for level in LEVELS
        )
        stairs, seconds = timed(lambda x=x: recourse.frontier(x, THROUGH, node_limit=NODES))
        answers = [recourse.find(x, level).options[0].cost for level in THROUGH]
        through = all(np.isclose(stairs["cost"], cost, rtol=1e-9).any() for cost in answers)
        lines.append(
            {
                "table": table, "model": model, "person": str(x.name), "plain": plain,
                "frontier": seconds, "ratio": seconds / plain, "steps": len(stairs) - 1,
                "through": through, "complete": stairs.attrs["complete"],
                "from": stairs.attrs["from"], "to": stairs.attrs["to"],
            }
        )  # fmt: skip
        print(lines[-1], flush=True)
    return lines


def told(lines):
    """The table, as text."""
    rows = [
        "| table | model | plain search, ms | frontier / plain, median (all) | steps | complete |",
        "|---|---|---|---|---|---|",
    ]
    for table in TABLES:
        for model in MODELS:
            ours = [line for line in lines if (line["table"], line["model"]) == (table, model)]
            if not ours:
                continue
            each = ", ".join(f"{line['ratio']:.0f}" for line in ours)
            steps = [line["steps"] for line in ours]
            done = sum(line["complete"] and line["through"] for line in ours)
            rows.append(
                f"| {table} | {model} | {1e3 * median(line['plain'] for line in ours):.3g} | "
                f"{median(line['ratio'] for line in ours):.0f} ({each}) | "
                f"{min(steps)} to {max(steps)} | {done} of {len(ours)} |"
            )
    return "\n".join(rows)


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--write", action="store_true", help="write the table into the page")
    asked.add_argument("--only", default="", help="a part of a table's or a model's name")
    given = asked.parse_args()
    busy = Busy()
    pairs = [(t, m) for t in TABLES for m in MODELS if given.only in f"{t} {m}"]
    lines = [line for table, model in pairs for line in measured(table, model)]
    if not given.only:
        about = {"surroundings": surroundings(), "busy": busy.words(), "people": lines}
        RESULT.write_text(json.dumps(about, indent=1) + "\n")
    print(told(lines))
    if given.write:
        write_between(PAGE, BEGIN, told(lines))


if __name__ == "__main__":
    main()
