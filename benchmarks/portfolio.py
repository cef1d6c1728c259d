"""The portfolio on models that nobody can read, beside its single engines at as many calls.

    PYTHONPATH=. python benchmarks/portfolio.py           whoever was not asked yet, then the table
    PYTHONPATH=. python benchmarks/portfolio.py --again portfolio     asks that engine anew
    PYTHONPATH=. python benchmarks/portfolio.py --engines tpe gp      only these
    PYTHONPATH=. python benchmarks/portfolio.py --write   the table, into docs/own-model.md

Sixty questions a draw: a neural network and a stacked pipeline, each learnt on German credit with
its lender's schema and on HELOC with every feature free; five refused people of each, drawn by
chance, at 0.5, 0.7 and 0.85 in L2. A call is a row that the model is asked for. `tpe` and `gp` make
as many trials; `spheres` draws as many rows in a layer as keep all its layers within the calls,
found by running it again; `wachter` is stopped there, its gradients not counted, and asks the
network on HELOC alone. Every answer is a line of benchmarks/results/portfolio.jsonl, written as it
comes.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean

from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from experiments import data
from experiments.engines.gp import GP
from experiments.engines.wachter import WACHTER
from experiments.runner import commit_here
from measured import RESULTS, surroundings
from trust_recourse import Recourse
from trust_recourse.io.progress import Progress
from trust_recourse.question import Problem, Target
from trust_recourse.search.engines import BLACK_BOX

SEED, CALLS, PEOPLE, LEVELS = 0, 200, 5, (0.5, 0.7, 0.85)
DRAWS = (0, 1, 2)  # of people; the portfolio's settings were chosen on the first two
TABLES, MODELS = ("german_credit", "heloc"), ("network", "stack")
ENGINES = {each.name: each for each in (*BLACK_BOX.values(), WACHTER, GP)}  # the slowest last
SLACK = 0.05  # how much dearer than the best single engine no answer may be
RESULT = RESULTS / "portfolio.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "own-model.md"
BEGIN, END = "<!-- from benchmarks/portfolio.py -->", "<!-- to here -->"
KEY = ("draw", "table", "model", "person", "level", "engine")


# ---------------------------------------------------------------- what is asked about


@cache
def table_of(name):
    X, y, schema = getattr(data, name)()
    return X, y, data.unlimited(schema) if name == "heloc" else schema


@cache
def learnt(name, model):
    X, y, _ = table_of(name)
    words = [c for c in X if X[c].dtype.kind not in "iufb"]
    scaled = StandardScaler()
    if words:
        numbers = [c for c in X if c not in words]
        scaled = make_column_transformer((OneHotEncoder(), words), (scaled, numbers))
    last = MLPClassifier((32, 16), alpha=1.0, max_iter=300, random_state=SEED)
    if model == "stack":
        forest = RandomForestClassifier(50, max_depth=8, random_state=SEED)
        boosted = GradientBoostingClassifier(n_estimators=50, random_state=SEED)
        parts = {"forest": forest, "boosted": boosted, "logistic": LogisticRegression()}
        last = StackingClassifier(list(parts.items()), cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it could learn on
        return make_pipeline(scaled, last).fit(X, y)


def questions():
    """Each question as a line to be answered, and what an engine needs to answer it."""
    for draw, table, model in product(DRAWS, TABLES, MODELS):
        (X, _, schema), fitted = table_of(table), learnt(table, model)
        recourse = Recourse(fitted, schema, cost="l2")
        refused = X[fitted.predict_proba(X)[:, 1] < 0.5].sample(frac=1, random_state=SEED)
        people = refused.iloc[draw * PEOPLE :].head(PEOPLE)
        for (person, x), level in product(people.iterrows(), LEVELS):
            line = {"draw": draw, "table": table, "model": model}
            problem = Problem(schema.action_set(x), Target(level), recourse.cost)
            yield line | {"person": int(person), "level": level}, recourse, problem


# ---------------------------------------------------------------- asking


class Counted:
    """A model's confidence, and how many rows it was asked for."""

    def __init__(self, recourse):
        self.recourse, self.rows = recourse, 0

    def __call__(self, rows):
        self.rows += len(rows)
        return self.recourse.confidences(rows)


def ask(engine, recourse, problem):
    """The cheapest answer of an engine within the calls, with what it took."""
    found = tried(engine, recourse, problem, CALLS)
    if engine == "spheres" and found["calls"] > CALLS:
        fits, beyond = 0, CALLS
        while beyond - fits > 1:
            between = (fits + beyond) // 2
            again = tried(engine, recourse, problem, between)
            if again["calls"] > CALLS:
                beyond = between
            else:
                fits, found = between, again
    return found | {"calls": min(found["calls"], CALLS)}


def tried(engine, recourse, problem, n_trials):
    begun, counted = time.perf_counter(), Counted(recourse)
    settings = {"n_trials": n_trials, "random_state": SEED, "verbose": False}
    points = ENGINES[engine].search(recourse.model, problem, counted, **settings)[:CALLS]
    return {
        "cost": min((p.cost for p in points if problem.target.met(p.confidence)), default=None),
        "calls": counted.rows,
        "seconds": round(time.perf_counter() - begun, 3),
    }


def asks(engine, line):
    """Whether an engine can ask this model."""
    return engine != "wachter" or (line["table"], line["model"]) == ("heloc", "network")


# ---------------------------------------------------------------- the table


def cost_of(line):
    return math.inf if line is None or line["cost"] is None else line["cost"]


def table(lines):
    """One row for each engine, over the questions that somebody answered."""
    known = {tuple(line[name] for name in KEY): line for line in lines}
    asked = list(dict.fromkeys(key[:-1] for key in known))

    def of(engine, where):
        return [cost_of(known.get((*key, engine))) for key in where]

    rows = []
    for engine in ENGINES:
        whom = [key for key in asked if (*key, engine) in known]
        costs = of(engine, whom)
        both = [(c, o) for c, o in zip(costs, of("portfolio", whom), strict=True)
                if math.isfinite(c) and math.isfinite(o)]  # fmt: skip
        taken = [known[*key, engine] for key in whom]
        rows.append(
            f"| `{engine}` | {sum(map(math.isfinite, costs))} of {len(costs)} "
            f"| {mean(c for c, _ in both):.4f} | {mean(o for _, o in both):.4f} "
            f"| {mean(line['calls'] for line in taken):.0f} "
            f"| {mean(line['seconds'] for line in taken):.1f} |"
        )
    return "\n".join(
        [
            "| engine | answered | mean cost | the portfolio's on these | calls | seconds |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "Beside the cheapest of the single engines, question by question:",
            "",
            "| people | questions | mean cost | of the cheapest | over 5 % dearer | the worst |",
            "|---|---|---|---|---|---|",
            *(beside(known, draw) for draw in DRAWS),
        ]
    )


def beside(known, draw):
    """The portfolio beside the best single engine's answer to each question of a draw."""
    asked = {key[:-1] for key in known if key[0] == draw}
    cheapest = {
        key: min(cost_of(known.get((*key, e))) for e in ENGINES if e != "portfolio")
        for key in asked
    }
    pairs = [(cost_of(known.get((*key, "portfolio"))), cost) for key, cost in cheapest.items()]
    pairs = [(ours, cost) for ours, cost in pairs if math.isfinite(cost)]
    ratios = [ours / cost - 1 for ours, cost in pairs]
    met = [(ours, cost) for ours, cost in pairs if math.isfinite(ours)]
    return (
        f"| {'held out' if draw == DRAWS[-1] else 'chosen on'} | {len(pairs)} "
        f"| {mean(ours for ours, _ in met):.4f} | {mean(cost for _, cost in met):.4f} "
        f"| {sum(ratio > SLACK for ratio in ratios)} | {max(ratios):+.1%} |"
    )


def about(lines):
    commits = sorted({line["commit"] for line in lines if line["engine"] == "portfolio"})
    told = surroundings("numpy", "scikit-learn", "optuna", "bayesian-optimization")
    versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items())
    several = f" Its rows were measured at several commits: {', '.join(commits)}."
    mixed = several if len(commits) > 1 else ""
    return f"{told['machine']}; Python {told['python']}; {versions}.{mixed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--again", nargs="+", choices=ENGINES, default=())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines, commit = [], commit_here()  # before the file of results differs
    if RESULT.exists():
        lines = [json.loads(line) for line in RESULT.read_text().splitlines()]
    if options.again:
        lines = [line for line in lines if line["engine"] not in options.again]
        RESULT.write_text("".join(json.dumps(line) + "\n" for line in lines))
    known = {tuple(line[name] for name in KEY) for line in lines}
    every = list(questions())
    bar = Progress(len(every) * len(options.engines), "portfolio", show=True)
    for engine in options.engines:
        for line, recourse, problem in every:
            one = line | {"engine": engine}
            if asks(engine, line) and tuple(one[name] for name in KEY) not in known:
                lines.append(one | ask(engine, recourse, problem) | {"commit": commit})
                with RESULT.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
            bar.step()
    shown = f"{table(lines)}\n\n{about(lines)}"
    print(shown)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{shown}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
