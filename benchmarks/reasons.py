"""How often four ways to find a letter's reasons agree, on three tables of credit.

`make bench-reasons` asks each way for the four principal reasons of 100 refused people a model: by
what a person falls short of the nearest yes (`nearest-yes`), of those just passed (`just-passed`)
and of all applicants (`all-applicants`); and, which no letter does, by what the best value within
the bounds of the schema would gain (`best-value`). What is compared are the sets of features. It
takes a few minutes of CPU, and writes `results/reasons.json` and the table in docs/letter-rules.md.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier

from asking import SEED
from experiments import data
from measured import RESULTS, surroundings, timed
from record import write_between
from trust_recourse import PTMClassifier, Recourse
from trust_recourse.report.letter.reasons import METHODS, MOST, principal, reasons

PEOPLE = 100  # refused, of each model
LEARNT, REFERENCE = 8000, 1000  # rows, of those drawn by chance
LIMIT = 5.0  # seconds for the nearest yes
REFUSED = 0.3  # of the applicants, where the classes are far from even
WAYS = ("best-value", *METHODS)
POINT = 0.01  # of confidence: a best value that gains less is no reason
PAGE, BEGIN = Path("docs/letter-rules.md"), "<!-- how methods agree, by benchmarks/reasons.py -->"


def german():
    X, y, schema = data.german_credit()
    return X, y, schema, {"machine": PTMClassifier(schema=schema, random_state=SEED).fit(X, y)}


def heloc():
    X, y, schema = data.heloc()
    X, y = drawn(X, y)
    schema = data.Schema(
        tuple(data.replace(each, missing=(None,)) for each in schema), schema.relations
    )
    X = X.astype(float).mask(X < 0)  # blanks for codes, which trees would tell apart
    machine = PTMClassifier(schema=schema, random_state=SEED).fit(X, y)
    return X, y, schema, {"machine": machine, "trees": trees(X, y)}


def give_me_some_credit():
    X, y, schema = data.give_me_some_credit()
    X, y = drawn(X, y)
    late = {name: X[name].where(~X[name].isin(data.NOT_COUNTED)) for name in data.LATE}
    features = (data.replace(f, missing=(None,)) if f.missing else f for f in schema)
    X, schema = X.assign(**late), data.Schema(tuple(features), schema.relations)
    return X, y, schema, {"trees": trees(X, y)}


def drawn(X, y):
    rows = np.random.default_rng(SEED).permutation(len(X))[:LEARNT]
    return X.iloc[rows], y[rows]


def trees(X, y):
    settings = {"n_estimators": 100, "num_leaves": 8, "n_jobs": 1, "random_state": SEED}
    return LGBMClassifier(**settings, verbose=-1).fit(X, y)


TABLES = {"German credit": german, "HELOC": heloc, "Give Me Some Credit": give_me_some_credit}


def agreement(name, X, schema, kind, model):
    """One line of the record: how often two methods name the same features, or the same first."""
    recourse = Recourse(model, schema, cost="l2")
    confidence = recourse.confidences(schema.encode(X))
    line = (
        0.5 if (confidence < 0.5).mean() > REFUSED / 2 else float(np.quantile(confidence, REFUSED))
    )
    recourse = Recourse(model, schema, decision_threshold=line, cost="l2")
    rng = np.random.default_rng(SEED)
    people = X.iloc[rng.permutation(np.flatnonzero(confidence < line))[:PEOPLE]]
    reference = X.iloc[rng.permutation(len(X))[:REFERENCE]]
    told = {method: [] for method in WAYS}
    spent = dict.fromkeys(WAYS, 0.0)
    for _, x in people.iterrows():
        result = recourse.find(x, line, time_limit=LIMIT)
        for method in WAYS:
            found, seconds = timed(lambda m=method, r=result: named(r, reference, m))
            told[method].append(found)
            spent[method] += seconds
    pairs = {
        f"{a}, {b}": {
            "same": sum(set(p) == set(q) for p, q in zip(told[a], told[b], strict=True)),
            "in common": float(
                np.mean([len({*p} & {*q}) for p, q in zip(told[a], told[b], strict=True)])
            ),
            "same first": sum(p[:1] == q[:1] for p, q in zip(told[a], told[b], strict=True)),
        }
        for a, b in combinations(WAYS, 2)
    }
    return {
        "table": name, "model": kind, "people": len(people),
        "refused": float((confidence < line).mean()), "threshold": line,
        "reference": len(reference), "pairs": pairs,
        "reasons": {method: float(np.mean([*map(len, told[method])])) for method in WAYS},
        "without a yes": sum(not found for found in told["nearest-yes"]),
        "seconds a person": {method: spent[method] / len(people) for method in WAYS},
    }  # fmt: skip


def named(result, reference, method):
    if method == "best-value":
        return best_values(result)
    way = next(iter(result.options), None)
    _, found = reasons(result, method, reference, way)
    return [reason.feature.name for reason in principal(found)]


def best_values(result):
    """The features of which one value would gain most, all else as it is, the greatest first."""
    recourse, schema = result.recourse, result.recourse.schema
    own = schema.action_set(result.factual).own
    gains = {}
    for f, feature in enumerate(schema):
        free = replace(feature, mutable=True, protected=False, direction=None, max_change=None)
        actions = free.actions(float(own[f]))
        codes = actions.choices
        if codes is None:
            cells = pairwise(recourse.score.grid.ends(f).tolist())
            nearest = (actions.nearest(a, b) for a, b in cells)
            codes = [code for code in nearest if code is not None]
        rows = np.tile(own, (len(codes) + 1, 1))
        rows[1:, f] = codes
        sure = recourse.confidences(rows)
        gains[feature.name] = float(sure.max() - sure[0])
    found = sorted(gains, key=lambda name: -gains[name])
    return [name for name in found if gains[name] >= POINT][:MOST]


def shown(lines):
    rows = [
        "| table | model | two ways | all the same | in common | the same first |",
        "|---|---|---|---|---|---|",
    ]
    for line in lines:
        for pair, found in line["pairs"].items():
            share = line["people"]
            rows.append(
                f"| {line['table']} | {line['model']} | {pair} | {found['same']} of {share} "
                f"| {found['in common']:.1f} | {found['same first']} of {share} |"
            )
    return "\n".join(rows)


def main():
    lines = []
    for name, table in TABLES.items():
        X, _, schema, models = table()
        for kind, model in models.items():
            lines.append(agreement(name, X, schema, kind, model))
            print(json.dumps(lines[-1]), flush=True)
    told = {"seed": SEED, "surroundings": surroundings("lightgbm", "numpy"), "lines": lines}
    (RESULTS / "reasons.json").write_text(json.dumps(told, indent=1) + "\n")
    if PAGE.exists():
        write_between(PAGE, BEGIN, shown(lines))


if __name__ == "__main__":
    main()
