"""Ranges around an option, in units of one plain search of the same person.

    PYTHONPATH=. python benchmarks/ranges.py            measure, and write the results
    PYTHONPATH=. python benchmarks/ranges.py --write    and the table into docs/speed-search.md
    PYTHONPATH=. python benchmarks/ranges.py --beside   treecf's regions around the same options

HELOC under the schema that a lender might write, and with every column free; a PTM of its own
settings with 100 clauses, LightGBM, a random forest, an EBM with pairs and a logistic regression,
L1. Of ten refused rows, drawn by chance, each is asked for 0.7; a plain search is that `find`.
Times are CPU seconds of one process, the least of three.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from statistics import median

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from asking import rows_of
from measured import RESULTS, Busy, surroundings, timed
from record import write_between
from trees import refused, table_of
from trust_recourse import PTMClassifier, Recourse

LEVEL, PEOPLE, SEED = 0.7, 10, 0
RESULT = RESULTS / "ranges.json"
PAGE = Path(__file__).parent.parent / "docs" / "speed-search.md"
BEGIN = "<!-- from benchmarks/ranges.py -->"
BESIDE = "<!-- from benchmarks/ranges.py --beside -->"
KINDS = ("lender", "free")


ENSEMBLES = ("LightGBM 50 × 8", "LightGBM 100 × 16", "random forest 100 × depth 5")
WAYS = ("ours", "treecf fast", "treecf maximal")


def boosted(trees, leaves):
    size = {"n_estimators": trees, "num_leaves": leaves, "learning_rate": 0.1}
    return LGBMClassifier(**size, random_state=SEED, n_jobs=1, verbose=-1)


def additive():
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(outer_bags=1, interactions=5, random_state=SEED, n_jobs=1)


MODELS = {
    "PTM, 100 clauses": None,
    "LightGBM 50 × 8": lambda: boosted(50, 8),
    "LightGBM 100 × 16": lambda: boosted(100, 16),
    "random forest 100 × depth 5": lambda: RandomForestClassifier(
        100, max_depth=5, random_state=SEED, n_jobs=1
    ),
    "EBM, 5 pairs": additive,
    "logistic regression": lambda: make_pipeline(
        SimpleImputer(), StandardScaler(), LogisticRegression()
    ),
}


def asked_of(model, kind):
    """The recourse of a model that learnt from HELOC, and the people it is asked about."""
    X, y, schema = table_of("heloc", kind)
    if MODELS[model] is None:
        made = PTMClassifier(n_clauses=100, random_state=SEED, schema=schema).fit(X, y)
    else:
        made = MODELS[model]().fit(X, y)
    recourse = Recourse(made, schema, "l1")
    return recourse, rows_of(refused(X, made, 4 * PEOPLE))


def measured(model, kind):
    """A line for each person."""
    recourse, people = asked_of(model, kind)
    lines = []
    for x in people:
        result = recourse.find(x, LEVEL)
        if not result.options or len(lines) == PEOPLE:
            continue
        result.ranges()  # compiles
        result, plain = timed(lambda x=x: recourse.find(x, LEVEL), repeat=3)
        found, seconds = timed(result.ranges, repeat=3)
        lines.append(
            {
                "schema": kind, "model": model,
                "person": str(x.name), "plain": plain, "ranges": seconds,
                "ratio": seconds / plain, "features": len(found),
                "least width": _least(recourse.schema, found),
            }
        )  # fmt: skip
        print(lines[-1], flush=True)
    return lines


def beside(model, kind):
    """A line for each person and way: our ranges, and treecf's regions around the same option."""
    import rivals

    recourse, people = asked_of(model, kind)
    other, lines = rivals.TreeCF(recourse.library.model, recourse.schema), []
    for x in people:
        result = recourse.find(x, LEVEL)
        if not result.options or len(lines) == len(WAYS) * PEOPLE:
            continue
        codes = result.options[0].codes
        found = {"ours": _least_time(lambda result=result: _timed_ends(result))}
        for mode in ("fast", "maximal"):
            found[f"treecf {mode}"] = _least_time(
                lambda x=x, codes=codes, mode=mode: other.region(x, codes, LEVEL, mode)
            )
        for who, (ends, seconds) in found.items():
            widths = [(b - a) / recourse.schema[name].scale for name, (a, b) in ends.items()]
            lines.append(
                {
                    "schema": kind, "model": model, "person": str(x.name), "who": who,
                    "seconds": seconds, "least": min(widths), "mean": float(np.mean(widths)),
                }
            )  # fmt: skip
            print(lines[-1], flush=True)
    return lines


def _timed_ends(result):
    begun = time.perf_counter()
    ends = {name: (low, high) for name, low, high in result.ranges().itertuples(index=False)}
    return ends, time.perf_counter() - begun


def _least_time(work):
    """What work gives, with the least seconds of three runs."""
    return min((work() for _ in range(3)), key=lambda told: told[1])


def told_beside(lines):
    """What it adds up to, as text."""
    rows = [
        "| model | who | least width, mean | mean width | wider than treecf, least (mean) | ms |",
        "|---|---|---|---|---|---|",
    ]
    for model in dict.fromkeys(line["model"] for line in lines):
        each = {who: [x for x in lines if (x["model"], x["who"]) == (model, who)] for who in WAYS}
        best = each["treecf maximal"]
        for who, ours in each.items():
            wider = [
                f"{sum(a[of] > b[of] * (1 + 1e-9) for a, b in zip(ours, best, strict=True))}"
                for of in ("least", "mean")
            ]
            beats = f"{wider[0]} ({wider[1]}) of {len(ours)}" if who == "ours" else ""
            least, mean = (np.mean([x[of] for x in ours]) for of in ("least", "mean"))
            ms = 1e3 * median(x["seconds"] for x in ours)
            rows.append(f"| {model} | {who} | {least:.3g} | {mean:.3g} | {beats} | {ms:.2g} |")
    return "\n".join(rows)


def _least(schema, found):
    """The least scaled width of numbers; None where it has no end."""
    widths = [
        (row.high - row.low) / schema[row.feature].scale
        for row in found.itertuples()
        if schema[row.feature].numeric
    ]
    least = min(widths, default=math.inf)
    return None if least == math.inf else float(least)


def told(lines):
    """The table, as text."""
    rows = [
        "| schema | model | plain search, ms | ranges, ms | ranges / plain, median (most) |",
        "|---|---|---|---|---|",
    ]
    for which in dict.fromkeys((line["schema"], line["model"]) for line in lines):
        ours = [line for line in lines if (line["schema"], line["model"]) == which]
        plain, ranges = (1e3 * median(line[name] for line in ours) for name in ("plain", "ranges"))
        ratio = [line["ratio"] for line in ours]
        rows.append(
            f"| {' | '.join(which)} | {plain:.2g} | {ranges:.2g} | "
            f"{median(ratio):.2g} ({max(ratio):.2g}) |"
        )
    every = [line["ratio"] for line in lines]
    share = np.mean(np.array(every) <= 10)
    rows.append(f"\nOf all {len(every)}: median {median(every):.2g}, {share:.0%} within 10.")
    return "\n".join(rows)


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--write", action="store_true", help="write the table into the page")
    asked.add_argument("--beside", action="store_true", help="treecf's regions, beside ours")
    asked.add_argument("--only", default="", help="a part of a schema's or model's name")
    given = asked.parse_args()
    busy = Busy()
    each = [(m, kind) for kind in KINDS for m in MODELS if given.only in f"{kind} {m}"]
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if given.beside:
        lines = [line for model in ENSEMBLES for line in beside(model, "free")]
        known["regions"] = {"surroundings": surroundings(), "lines": lines}
    else:
        lines = [line for which in each for line in measured(*which)]
        known |= {"surroundings": surroundings(), "busy": busy.words(), "people": lines}
    if not given.only:
        RESULT.write_text(json.dumps(known, indent=1) + "\n")
    shown = told_beside(lines) if given.beside else told(lines)
    print(shown)
    if given.write:
        write_between(PAGE, BESIDE if given.beside else BEGIN, shown)


if __name__ == "__main__":
    main()
