"""Answers to the last bit, so that a rebuilt search can be held against the one before.

    python benchmarks/answers.py record            # writes results/answers.json
    python benchmarks/answers.py compare           # asks again; ends with 1 if a bit differs
    python benchmarks/answers.py speed CHECKOUT    # CPU of the searches, beside another checkout's

Some hundreds of questions over tables, links, calibrations, classes, costs, modes, engines and
radii. Only public names are used, so that the same file runs on either side of a change. Floats
are written by their bits; another processor may learn other machines: record where you compare.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.neural_network import MLPClassifier

from trust_recourse import (
    Cost,
    PTMClassifier,
    Recourse,
    Schema,
    TMClassifier,
    german_credit,
    german_credit_schema,
    haberman,
    verify,
)
from trust_recourse.measure import NearNeighbours

FILE = Path(__file__).parent / "results" / "answers.json"
ROUNDS = 7
PEOPLE = {"german": 1, "breast": 1}
FEW = {"node_limit": 2000}  # so that no question takes long
COSTS = ("l0", "l1", "l2", {"l0": 0.1, "l1": 1.0}, {"l1": 0.5, "l2": 2.0})


# ---------------------------------------------------------------- tables and machines


@cache
def table(name):
    """Rows, classes, and what a person may change."""
    if name == "haberman":
        X, y = haberman()
        return (
            X,
            y,
            Schema.infer(X, guard=False).lock("age", "year").update("nodes", direction="decrease"),
        )
    if name == "german":
        return *german_credit(), german_credit_schema()
    if name == "gaps":
        return gaps()
    given = load_iris(as_frame=True) if name == "iris" else load_breast_cancer(as_frame=True)
    X = given.data.iloc[:, :12]
    y = (given.target > 0).astype(int)
    schema = Schema.infer(X, guard=False)
    if name == "iris":  # continuous
        for feature in schema.names[:2]:
            schema = schema.update(feature, step=None)
    return X, y, schema


def gaps():
    """Every kind of column, some values missing, and relations between columns."""
    rng = np.random.default_rng(5)
    n = 240
    X = pd.DataFrame(
        {
            "income": rng.normal(30, 8, n).round(1),
            "late": rng.integers(0, 5, n),
            "months": rng.integers(2, 9, n),
            "home": rng.choice(["own", "rent", "free"], n),
            "grade": pd.Categorical(rng.choice(list("abc"), n), list("abc"), ordered=True),
            "job": rng.random(n) < 0.7,
        }
    )
    signs = 1 * (X.income > 30) + (X.home == "own") + X.job - 1 * (X.late > 2)
    y = (signs >= 2).astype(int)
    X.loc[rng.random(n) < 0.15, "income"] = -9.0
    schema = Schema.infer(X, missing={"income": -9.0}, guard=False).update(
        "months", direction="increase"
    )
    return X, y, schema.relate("late <= months", "job changes => months rises by 1")


@cache
def machine(name, link, calibration, kind):
    X, y, schema = table(name)
    made = TMClassifier if kind == "tm" else PTMClassifier
    settings = {} if kind == "tm" else {"n_states": 50, "validation_fraction": 0.0}
    return made(
        n_clauses=20, s=2.0, T=6, epochs=12, thresholds=12, link=link, calibration=calibration,
        binning="rows", schema=schema, random_state=0, **settings,
    ).fit(X, y)  # fmt: skip


MACHINES = [
    ("haberman", "margin", None, "ptm"),
    ("haberman", "vote", "isotonic", "ptm"),
    ("haberman", "margin", None, "tm"),
    ("iris", "margin", None, "ptm"),
    ("iris", "vote", None, "ptm"),
    ("gaps", "margin", "isotonic", "ptm"),
    ("gaps", "vote", "sigmoid", "ptm"),
    ("gaps", "vote", None, "tm"),
    ("german", "margin", "sigmoid", "ptm"),
    ("german", "vote", None, "ptm"),
    ("breast", "margin", None, "ptm"),
]


def refused(recourse, X, many):
    kept = [x for _, x in X.iloc[:200].iterrows() if recourse.confidence(x) < 0.5]
    return kept[:: max(len(kept) // many, 1)][:many]


# ---------------------------------------------------------------- questions


def questions():
    """Names of questions, and what answers each."""
    for at, of in enumerate(MACHINES):
        X, _, schema = table(of[0])
        for wanted, (c, cost) in product((0, 1), enumerate(COSTS)):
            if (at + wanted + c) % 2 and of[0] != "haberman":
                continue
            recourse = Recourse(machine(*of), schema, cost, wanted=[*machine(*of).classes_][wanted])
            for p, x in enumerate(refused(recourse, X, PEOPLE.get(of[0], 2))):
                key = f"{'-'.join(map(str, of))} wanted {wanted} cost {c} person {p}"
                yield from about(key, recourse, x, p + c + at)
    yield from by_trial()


def about(key, recourse, x, turn):
    """The questions about one person; which of the dearer ones, by turns."""
    yield f"{key}: levels", lambda: told(recourse.find(x, [0.5, 0.6, 0.85], node_limit=3000))
    yield f"{key}: band", lambda: told(recourse.find(x, 0.6, mode="band", tolerance=0.04, **FEW))
    dear = [
        ("ways", lambda: told(recourse.find(x, 0.55, n_options=3, **FEW))),
        (
            "radius",
            lambda: told(
                recourse.find(x, 0.5, min_radius=0.03, continuous=True, **FEW), safety=True
            ),
        ),
        (
            "floor",
            lambda: told(
                recourse.find(x, 0.6, min_radius=0.02, floor=0.55, continuous=True, **FEW)
            ),
        ),
        ("furthest", lambda: option_told(recourse.reachable(x, **FEW).furthest)),
        ("stairs", lambda: stairs_told(recourse.frontier(x, resolution=None, **FEW))),
        ("gap", lambda: told(recourse.find(x, 0.6, gap=0.05, **FEW))),
        ("few", lambda: told(recourse.find(x, 0.7, node_limit=40))),
        ("safety", lambda: told(recourse.find(x, 0.6, **FEW), safety=True)),
        ("proof", lambda: proof_told(recourse, x)),
        ("function", lambda: told(with_function(recourse).find(x, 0.55, **FEW))),
        ("plausible", lambda: told(recourse.find(x, 0.5, plausible=near(recourse.schema), **FEW))),
    ]
    for name, ask in (dear[turn % 11], dear[(turn + 4) % 11], dear[(turn + 8) % 11]):
        yield f"{key}: {name}", ask


@cache
def near(schema):
    names = {of[0] for of in MACHINES}
    X = next(table(name)[0] for name in names if table(name)[2] == schema)
    return NearNeighbours(X, schema=schema)


def with_function(recourse):
    """The same, with a function as the cost of the last feature."""
    name = recourse.schema.names[-1]
    feature = recourse.schema[name]
    where = getattr(feature, "actions", None) or feature.moves  # what it was called before
    if where(0.0).count() > 1000:
        return recourse
    cost = Cost.named(recourse.cost, {name: lambda a, b: 0.25 + 0.5 * (str(a) < str(b))})
    return Recourse(recourse.model, recourse.schema, cost, wanted=recourse.wanted)


def by_trial():
    X, y, schema = table("haberman")
    recourse = Recourse(machine("haberman", "margin", None, "ptm"), schema)
    network = MLPClassifier((8,), max_iter=300, random_state=0, tol=0.0, n_iter_no_change=300)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(X.to_numpy(), y)
    other = Recourse(network, Schema.infer(X, guard=False), "l1")
    for p, x in enumerate(refused(recourse, X, 2)):
        for engine, n in (("tpe", 40), ("gp", 12), ("spheres", 200)):
            yield (
                f"haberman {engine} person {p}",
                lambda x=x, e=engine, n=n: told(recourse.find(x, 0.6, engine=e, n_trials=n)),
            )
    for p, x in enumerate(refused(other, X, 2)):
        yield f"network wachter person {p}", lambda x=x: told(other.find(x, 0.6, engine="wachter"))
        yield f"network auto person {p}", lambda x=x: told(other.find(x, 0.6, n_trials=40))


# ---------------------------------------------------------------- answers


def bits(value):
    return float(value).hex()


def option_told(option):
    return {
        "x": [v if isinstance(v, (str, bool)) else bits(v) for v in option.x],
        "cost": bits(option.cost),
        "confidence": bits(option.confidence),
        "status": str(option.status),
        "bound": bits(option.lower_bound),
    }


def told(result, safety=False):
    found = {
        "status": [str(status) for status in result.status.values()],
        "options": [option_told(option) for option in result.options],
    }
    if safety and result.options:
        found["radius"] = [
            bits(result.radius(0, norm=norm, continuous=True)) for norm in ("linf", "l1", "l2")
        ]
        kept = result.robustness(0, sigma=0.02, tolerance=1e-3, continuous=True)
        found["noise"] = [bits(kept.probability), bits(kept.error), bits(kept.copies)]
    return found


def stairs_told(stairs):
    return {
        "complete": bool(stairs.attrs["complete"]),
        "steps": [[bits(a), bits(b)] for a, b in zip(stairs.cost, stairs.confidence, strict=True)],
    }


def proof_told(recourse, x):
    result = recourse.find(x, 0.6, **FEW)
    if "not_found" in map(str, result.status.values()):
        return told(result)
    verdict = verify(result.certificate(), recourse.model)
    return told(result) | {"proved": str(verdict.status), "least": bits(verdict.lower_bound)}


def answers():
    found = {}
    for key, ask in questions():
        found[key] = ask()
    return found


# ---------------------------------------------------------------- commands


def compare():
    before, now = json.loads(FILE.read_text()), answers()
    differ = [key for key in before if json.loads(json.dumps(now.get(key))) != before[key]]
    for key in differ[:20]:
        print(f"{key}\n  before {before[key]}\n  now    {now.get(key)}")
    more = len(now) - len(before)
    print(f"{len(before)} questions, {len(differ)} answered otherwise, {more} more than before")
    return 1 if differ or more else 0


def searches():
    """The questions that are searched with proof, by name."""
    by_trial = ("tpe", "gp", "spheres", "network")
    return {key: ask for key, ask in questions() if not any(word in key for word in by_trial)}


def timed():
    """Answer each name that is read by the CPU seconds of its search."""
    known = searches()
    for line in sys.stdin:
        start = time.process_time()
        known[line.rstrip("\n")]()
        print(time.process_time() - start, flush=True)
    return 0


def asked(process, key):
    process.stdin.write(f"{key}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def speed(other):
    """CPU of this checkout by that of another, question by question in turns, for some rounds.

    Each side runs in a process of its own and answers everything once before it is timed.
    """
    here, keys, ratios = Path(__file__).parent.parent, [*searches()], []
    sides = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__)), "timed"],
            env=os.environ | {"PYTHONPATH": str(Path(checkout).resolve() / "src")},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for checkout in (here, other)
    ]  # fmt: skip
    for at in range(-1, ROUNDS):
        spent = dict.fromkeys(sides, 0.0)
        for turn, key in enumerate(keys):
            for side in sides if turn % 2 else sides[::-1]:
                spent[side] += asked(side, key)
        this, that = spent.values()
        if at >= 0:
            ratios.append(this / that)
            print(f"this {this:.2f} s, other {that:.2f} s: {ratios[-1]:.3f}", flush=True)
    for side in sides:
        side.stdin.close()
        side.wait()
    print(f"median of {ROUNDS}: {statistics.median(ratios):.3f}")
    return 0


def main():
    command, *rest = sys.argv[1:] or ["help"]
    if command == "record":
        FILE.write_text(json.dumps(answers(), indent=0))
        return 0
    if command == "compare":
        return compare()
    if command == "timed":
        return timed()
    if command == "speed" and rest:
        return speed(rest[0])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
