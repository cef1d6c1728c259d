"""Proof on sums of points, slopes and tables: how often, how fast, and beside HiGHS.

    PYTHONPATH=. python benchmarks/additive.py               asks everything, then shows the tables
    PYTHONPATH=. python benchmarks/additive.py --tables heloc --models EBM --rows 2 --seconds 20
    PYTHONPATH=. python benchmarks/additive.py --only-table --write    into docs/speed-additive.md

HELOC and Adult, every feature free within what was seen; 20 refused people drawn by chance, at 0.5,
0.7 and 0.85. Every answer is a line of benchmarks/results/additive.jsonl, written as it comes; a
killed run goes on where it was.

- EBM: interpret's `ExplainableBoostingClassifier`, pairs and all else as it comes, seed 0.
- regression: scikit-learn's `LogisticRegression` behind a scaler, and one-hot for words.
- scorecard: tenths of each number and each word, their points learnt together.

HiGHS is asked the same of the first few of these people, in the two ways of `additive_mip`; GAM
Coach about the EBM of HELOC at 0.5, the only target it has. Seconds are of CPU, the least of three
runs where a run takes less than one; of ours they are those of `find` whole, from the person's row
to the option that is shown, and those of the search alone are told apart (`search`); of HiGHS those
of the solver, and what writing the problem takes is told apart (`writing`): both together are set
beside `find`. Costs are counted again from the values, confidences asked of the library. Nobody may
be cheaper than what we call optimal: then this ends with 1.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from base64 import b64encode
from functools import cache
from pathlib import Path

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import additive_mip
import additive_tables
import rivals
from asking import SEED
from experiments import data
from experiments.peers import BUILT, SCRIPTS, START_SECONDS, built_of, converse
from measured import RESULTS, Busy, surroundings, timed
from record import Record, write_between
from tree_tables import beaten
from trust_recourse import Recourse, Schema, Target
from trust_recourse.models import Additive, Grid
from trust_recourse.search import Exact, Problem, Progress

LEVELS = (0.5, 0.7, 0.85)
BINS = 10
SIMILAR = 0.1  # GAM Coach drops bins this alike; with its own 0.005 it has no answer in minutes
SHORT, AGAIN = 1.0, 3  # seconds below which a run is repeated, and how often it is run
TABLES = {"heloc": data.heloc, "adult": data.adult}
MODELS = ("EBM", "regression", "scorecard")
PROGRAMS = {"mip": additive_mip.by_values, "steps": additive_mip.by_steps}
RESULT = RESULTS / "additive.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "speed-additive.md"
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "interpret-core")


# ---------------------------------------------------------------- what is asked about


@cache
def table_of(name):
    X, y, _ = TABLES[name]()
    return X, y, Schema.infer(X, guard=False)


def learnt(name, model, kept):
    """The model, learnt or, where a folder is given to keep it in, out of that."""
    X, y, schema = table_of(name)
    path = None if kept is None else kept / f"{name} {model}.pickle"
    if path is not None and path.exists():
        return pickle.loads(path.read_bytes())
    made = MAKERS[model](X, y, schema)
    if path is not None:
        path.write_bytes(pickle.dumps(made))
    return made


def ebm(X, y, schema):
    del schema
    return ExplainableBoostingClassifier(random_state=SEED).fit(X, y)


def regression(X, y, schema):
    words = [feature.name for feature in schema if feature.values]
    if not words:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, y)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words),
        (StandardScaler(), [name for name in schema.names if name not in words]),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2000)).fit(X, y)


def scorecard(X, y, schema):
    """Points of tenths of each number and of each word, learnt together."""
    codes, tenths = schema.encode(X), np.arange(1, BINS) / BINS
    edges = [
        np.empty(0) if feature.kind == "category"
        else np.arange(len(feature.values) - 1.0) if feature.values
        else np.unique([q for q in np.quantile(column, tenths) if q < column.max()])
        for feature, column in zip(schema, codes.T, strict=True)
    ]  # fmt: skip
    grid = Grid(schema, tuple(edges))
    hot = np.column_stack(
        [np.eye(n)[c] for n, c in zip(grid.sizes, grid.cells(codes).T, strict=True)]
    )
    made = LogisticRegression(C=0.1, max_iter=2000).fit(hot, y)
    points = np.split(made.coef_[0], grid.first_cell[1:])
    return Additive(schema, edges, points, base=float(made.intercept_[0]))


MAKERS = {"EBM": ebm, "regression": regression, "scorecard": scorecard}


# ---------------------------------------------------------------- asking


class Door:
    """One model and cost, and whoever can be asked about it."""

    def __init__(self, name, model, norm, library):
        self.X, _, schema = table_of(name)
        self.model = library
        begun = time.process_time()
        self.recourse = Recourse(library, schema, cost=norm)
        if not self.recourse.exact:
            raise SystemExit(f"{name}, {model}: cannot be read: {self.recourse.unread}")
        _ = self.recourse.score  # made on first use
        card = self.recourse.model
        self.size = {
            "seconds": time.process_time() - begun, "cells": int(card.grid.sizes.sum()),
            "slopes": len(card.sloped), "pairs": len(card.pairs),
        }  # fmt: skip

    def ours(self, x, level, seconds):
        recourse = self.recourse

        def find():
            recourse.read_model._answered.clear()  # so that its library is asked each time
            return recourse.find(x, level, time_limit=seconds)

        result, spent = short(find)
        problem = Problem(
            recourse.schema.action_set(x), Target(level), recourse.cost, recourse.wanted_at
        )
        _, search = short(lambda: Exact(recourse.score, problem, time_limit=seconds).cheapest())
        (boxes,) = result.nodes.values()
        return self.judged(x, level, rivals.told_by(result, spent)) | {
            "boxes": boxes,
            "search": search,
        }

    def program(self, who, x, level, seconds):
        told = PROGRAMS[who](self.recourse, x, level, seconds)
        for _ in range(AGAIN - 1 if told.seconds + told.writing < SHORT else 0):
            other = PROGRAMS[who](self.recourse, x, level, seconds)
            told = told._replace(
                seconds=min(told.seconds, other.seconds), writing=min(told.writing, other.writing)
            )
        # of L2 it has the square
        return self.judged(x, level, told._replace(bound=self.recourse.cost.total(told.bound)))

    def judged(self, x, level, told):
        return rivals.judged(self.recourse, self.model, self.X, x, level, told)


def short(work):
    """What the work gives, and its least CPU seconds, of several runs where it takes few."""
    found, spent = timed(work)
    return found, min(spent, timed(work, AGAIN - 1)[1]) if spent < SHORT else spent


def refused(X, model, most):
    rows = X[model.predict_proba(X)[:, 1] < 0.5]
    return rows.sample(most, random_state=SEED)


def programs_of(table, model, norm, number, options):
    """The programs that this person is asked about."""
    long = model == "EBM" or (table, model) == ("adult", "regression")  # 100,000 values of a gain
    if number < (options.long_rows if long else options.peer_rows):
        yield "mip"
    if number < options.peer_rows and model == "regression" and norm == "l1":
        yield "steps"


def questions(asked, options):
    places = [
        (table, model, norm)
        for table in options.tables for model in options.models for norm in options.norms
    ]  # fmt: skip
    bar = Progress(len(places) * options.rows * len(LEVELS), "questions", show=True)
    for table, model, norm in places:
        here = {"table": table, "schema": "free", "model": model, "norm": norm}
        library = model_of(table, model, options)
        door = Door(table, model, norm, library)
        asked.ask({"section": "read", **here}, lambda door=door: door.size)
        people = refused(door.X, library, options.rows)
        for mode in ("at_least", "band"):  # at once, and by boxes: compiles what is on first use
            door.recourse.find(people.iloc[0], 0.5, mode=mode)
        for number, (label, x) in enumerate(people.iterrows()):
            for level in LEVELS:
                line = {"section": "questions", **here, "person": int(label), "level": level,
                        "limit": options.seconds}  # fmt: skip
                one = asked.ask(
                    line | {"who": "ours"},
                    lambda x=x, level=level, door=door: door.ours(x, level, options.seconds),
                )
                for who in programs_of(table, model, norm, number, options):
                    asked.ask(
                        line | {"who": who},
                        lambda who=who, x=x, level=level, door=door: door.program(
                            who, x, level, options.seconds
                        ),
                    )
                bar.step(f"{table} {model} {norm} {level}: {one['status']}")


def coach(asked, options):
    """GAM Coach on the first people of HELOC, at 0.5, in the scales of the schema."""
    if not built_of("gamcoach") or not {"heloc", "EBM", "l1"} <= {
        *options.tables, *options.models, *options.norms
    }:  # fmt: skip
        return
    here = {"table": "heloc", "schema": "free", "model": "EBM", "norm": "l1"}
    library = model_of("heloc", "EBM", options)
    door = Door("heloc", "EBM", "l1", library)
    for label, x in refused(door.X, library, options.rows).head(options.coach_rows).iterrows():
        line = {"section": "questions", **here, "person": int(label), "level": 0.5,
                "limit": options.seconds, "who": "gamcoach"}  # fmt: skip
        asked.ask(line, lambda x=x: door.judged(x, 0.5, coached(library, door, x, options.seconds)))


def coached(library, door, x, seconds):
    """One question to GAM Coach; its seconds are of wall clock, its solver's process included."""
    schema = door.recourse.schema
    request = {
        "names": list(schema.names), "model": b64encode(pickle.dumps(library)).decode(),
        "train": door.X.head(100).to_numpy(float).tolist(), "similar": SIMILAR,
        "scales": [feature.scale / feature.weight for feature in schema],
        "ranges": [[feature.lower, feature.upper] for feature in schema],
        "queries": [x.to_numpy(float).tolist()], "seconds": seconds,
        "most_seconds": 20 * seconds,
    }  # fmt: skip
    command = [BUILT / "gamcoach" / "bin" / "python", SCRIPTS / "ask_gamcoach.py"]
    reply = converse(command, request, None, START_SECONDS + 20 * seconds)
    (answer,) = reply.answers or [{"found": [], "note": reply.trouble, "seconds": 0.0}]
    found = np.array(answer["found"][0]) if answer["found"] else None
    return rivals.Told(found, False, 0.0, answer["seconds"], answer["note"])


@cache
def _known(table, model, kept):
    return learnt(table, model, kept)


def model_of(table, model, options):
    return _known(table, model, options.keep)


# ---------------------------------------------------------------- all of it


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20, help="refused rows a model")
    parser.add_argument("--peer-rows", type=int, default=20, help="of these, for HiGHS")
    parser.add_argument("--long-rows", type=int, default=2, help="the same where HiGHS takes long")
    parser.add_argument("--coach-rows", type=int, default=6, help="the same for GAM Coach")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each question")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--norms", nargs="+", default=["l1", "l2"], choices=["l1", "l2"])
    parser.add_argument("--keep", type=Path, help="a folder where learnt models are kept")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--only-table", action="store_true", help="ask nothing")
    parser.add_argument("--write", action="store_true", help="the tables into the page")
    parser.add_argument("--result", type=Path, default=RESULT)
    return parser.parse_args(arguments)


def main(arguments):
    options = parsed(arguments)
    asked, busy = Record(options.result, options.fresh), Busy()
    if not options.only_table:
        questions(asked, options)
        coach(asked, options)
        about = surroundings(*PACKAGES) | {"load": busy.words()}
        run = {"section": "run", "at": time.strftime("%Y-%m-%d %H:%M")}
        asked.ask(run, lambda: about)
    lines = list(asked.lines.values())
    shown = additive_tables.markdown(lines)
    print(shown)
    if options.write:
        write_between(PAGE, additive_tables.BEGIN, shown)
    return 1 if beaten(lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
