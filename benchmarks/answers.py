"""Answers to the last bit, so that a rebuilt search can be compared with the one before.

    PYTHONPATH=. python benchmarks/answers.py record    # writes results/answers.json
    PYTHONPATH=. python benchmarks/answers.py compare   # asks again; ends with 1 if a bit differs
    python benchmarks/answers.py speed CHECKOUT         # CPU, next to another checkout's

Over 1,500 questions of every family of models, cost, mode, engine, radius and class, about derived
columns and retrained models too. The models are files (`answer_models.py`). Only public names are
used, so that the same file runs on either side of a change. Floats are recorded by their bits, and
certificates by the SHA-256 of their canonical JSON without format number and versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np

from answer_models import FOLDER, LASTING, MODELS, RETRAINED, path_of, table, table_name
from trust_recourse import Cost, NearNeighbours, Recourse, load, verify

FILE = Path(__file__).parent / "results" / "answers.json"
ROUNDS = 7
FEW = {"node_limit": 2000}  # so that no question takes long
COSTS = ("l1", "l2", "l0", {"l0": 0.1, "l1": 1.0}, {"l1": 0.5, "l2": 2.0})
LEVELS = (0.5, 0.6, 0.85)
REMOVED = 6  # the place of a model that is no longer asked: all others keep their questions
UNTRUE = ("format", "versions", "trust_recourse")  # entries of a certificate that no proof rests on


# ---------------------------------------------------------------- questions


@cache
def model_of(name):
    return load(path_of(name))


@cache
def retrained(name):
    return [load(path) for path in sorted(FOLDER.glob(f"{path_of(RETRAINED.format(name)).stem}-*"))]


def refused(recourse, X, many):
    """Refused people, spread over the first rows of a table."""
    rows = X.iloc[:200]
    said = recourse.confidences(recourse.schema.encode(rows))
    kept = np.flatnonzero(said < recourse.decision_threshold)
    return [rows.iloc[at] for at in kept[:: max(len(kept) // many, 1)][:many]]


def searches():
    """Names of the questions that are searched with proof, and what answers each."""
    for place, name in enumerate(MODELS):
        at = place + (place >= REMOVED)
        X, _, schema = table(table_name(name))
        model = model_of(name)
        classes = [*model.classes_]
        for wanted, (c, cost) in product(range(len(classes)), enumerate(COSTS)):
            if (at + wanted + c) % 2 and cost != "l1":
                continue
            recourse = Recourse(model, schema, cost, wanted=classes[wanted])
            for p, x in enumerate(refused(recourse, X, 2)):
                key = f"{name}, wanted {wanted}, cost {c}, person {p}"
                yield from about(key, recourse, x, p + c + at, several=len(classes) > 2)
    yield from by_retrained()


def about(key, recourse, x, turn, *, several):
    """Five questions about one person: levels, a band, and three of the others by turns."""
    yield f"{key}: levels", lambda: told(recourse.find(x, LEVELS, node_limit=3000))
    yield f"{key}: band", lambda: told(recourse.find(x, 0.6, mode="band", tolerance=0.04, **FEW))
    others = [*others_about(recourse, x, several=several).items()]
    for k in sorted({(turn + step * len(others) // 3) % len(others) for step in range(3)}):
        name, ask = others[k]
        yield f"{key}: {name}", partial(answered, ask)


def others_about(recourse, x, *, several):
    """The further questions about one person, by name."""

    def find(level, *, safety=False, **how):
        return told(recourse.find(x, level, **FEW | how), safety=safety)

    asked = {
        "options": partial(find, 0.55, n_options=3),
        "apart": partial(find, 0.55, n_options=2, min_distance=0.05),
        "radius": partial(find, 0.5, min_radius=0.03, continuous=True, safety=True),
        "floor": partial(find, 0.6, min_radius=0.02, floor=0.55, continuous=True),
        "radius by steps": partial(find, 0.5, min_radius=0.02),
        "most confident": lambda: option_told(recourse.reachable(x, **FEW).furthest),
        "frontier": lambda: frontier_told(recourse.frontier(x, resolution=None, **FEW)),
        "coarse frontier": lambda: frontier_told(recourse.frontier(x, resolution=0.05, **FEW)),
        "gap": partial(find, 0.6, gap=0.05),
        "few boxes": partial(find, 0.7, node_limit=40),
        "safety": partial(find, 0.6, safety=True),
        "few changes": partial(find, 0.6, max_changes=2),
        "limits": lambda: find(0.6, limits={first(recourse.schema): (None, half(recourse, x))}),
        "ranges": lambda: ranges_told(recourse.find(x, 0.55, **FEW)),
        "proof": lambda: proof_told(recourse, x),
        "proof of few changes": lambda: proof_told(recourse, x, max_changes=1),
        "function": lambda: told(with_function(recourse).find(x, 0.55, **FEW)),
        "plausible": lambda: find(0.5, plausible=near(recourse.schema)),
    }
    return asked | ({"argmax": lambda: find(None, mode="argmax")} if several else {})


def answered(ask):
    """The answer, or the kind of error: some families reject some questions."""
    try:
        return ask()
    except (ValueError, TypeError) as error:
        return {"error": type(error).__name__}


def first(schema):
    """The first number that may change."""
    kinds = ("number", "integer")
    return next(f.name for f in schema if f.movable and not f.derived and f.kind in kinds)


def half(recourse, x):
    name = first(recourse.schema)
    _, upper = recourse.schema[name].bounds
    return (float(x[name]) + upper) / 2 if x[name] <= upper else upper


@cache
def near(schema):
    names = {table_name(name) for name in MODELS}
    X = next(table(name)[0] for name in names if table(name)[2].names == schema.names)
    return NearNeighbours(X, schema=schema)


def with_function(recourse):
    """The same, with a function as the cost of the last feature that costs anything."""
    feature = [each for each in recourse.schema if not each.derived][-1]
    if feature.actions(feature.bounds[0] if np.isfinite(feature.bounds[0]) else 0.0).count() > 1000:
        return recourse
    cost = Cost.named(recourse.cost, {feature.name: lambda a, b: 0.25 + 0.5 * (str(a) < str(b))})
    return Recourse(recourse.model, recourse.schema, cost, wanted=recourse.wanted)


def by_retrained():
    """Answers that retrained models accept too."""
    for name, cost in product(LASTING, ("l1", "l2")):
        X, _, schema = table(table_name(name))
        recourse = Recourse(model_of(name), schema, cost, bootstraps=retrained(name))
        for p, x in enumerate(refused(recourse, X, 4)):
            for share in (0.5, 0.75):
                yield (
                    f"{name}, cost {cost}, person {p}: survives {share}",
                    lambda r=recourse, x=x, s=share: told(r.find(x, 0.5, survives=s, **FEW)),
                )


def by_trial():
    """Answers of the engines that read no model."""
    from experiments.engines.gp import GP

    name = "haberman machine margin"
    X, _, schema = table("haberman")
    recourse = Recourse(model_of(name), schema, cost="l2")
    for p, x in enumerate(refused(recourse, X, 2)):
        for engine, n in (("tpe", 40), (GP, 12), ("spheres", 200), ("portfolio", 40)):
            yield (
                f"{name}, {engine}, person {p}",
                lambda x=x, e=engine, n=n: told(recourse.find(x, 0.6, engine=e, n_trials=n)),
            )


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
        kept = result.robustness(0, sigma=0.02, continuous=True)
        found["noise"] = [bits(each) for each in kept[:3]]
    return found


def frontier_told(points):
    return {
        "complete": bool(points.attrs["complete"]),
        "points": [[bits(a), bits(b)] for a, b in zip(points.cost, points.confidence, strict=True)],
    }


def ranges_told(result):
    if not result.options:
        return told(result)
    spans = result.ranges(0).itertuples(index=False)
    return told(result) | {"ranges": [[name, str(low), str(high)] for name, low, high in spans]}


def proof_told(recourse, x, **how):
    result = recourse.find(x, 0.6, **FEW, **how)
    if "not_found" in map(str, result.status.values()):
        return told(result)
    proof = result.certificate()
    verdict = verify(proof, recourse.model)
    parts = {key: part for key, part in proof.to_dict().items() if key not in UNTRUE}
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return told(result) | {
        "proved": str(verdict.status), "least": bits(verdict.lower_bound),
        "certificate": hashlib.sha256(canonical.encode()).hexdigest(),
    }  # fmt: skip


def answers():
    warnings.simplefilter("ignore")
    return {key: ask() for key, ask in (*searches(), *by_trial())}


# ---------------------------------------------------------------- commands


def compare():
    before, now = json.loads(FILE.read_text()), answers()
    differ = [key for key in before if json.loads(json.dumps(now.get(key))) != before[key]]
    for key in differ[:20]:
        print(f"{key}\n  before {before[key]}\n  now    {now.get(key)}")
    more = len(now) - len(before)
    print(f"{len(before)} questions, {len(differ)} answered otherwise, {more} more than before")
    return 1 if differ or more else 0


def timed():
    """Answer each name that is read by the CPU seconds of its search."""
    known = dict(searches())
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

    Each side runs its own copy of this file in a process of its own, and answers everything once
    before it is timed. The other checkout must know the names of all questions.
    """
    here, keys, ratios = Path(__file__).parent.parent, [*dict(searches())], []
    sides = [
        subprocess.Popen(
            [sys.executable, str(checkout / "benchmarks" / "answers.py"), "timed"],
            env=os.environ | {"PYTHONPATH": str(checkout / "src")},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for checkout in (here, Path(other).resolve())
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
