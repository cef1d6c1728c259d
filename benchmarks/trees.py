"""Proof on the trees of other libraries: how often, how fast, and beside others, in one run.

    PYTHONPATH=. python benchmarks/trees.py               every section, then the tables
    PYTHONPATH=. python benchmarks/trees.py questions --rows 2 --seconds 20 --models 100x8
    PYTHONPATH=. python benchmarks/trees.py table --write  the tables, into docs/speed-trees.md

Sections: `questions`, `many`, `growth`; `table` shows what was measured, and `draw` draws growth.
Every answer is a line of benchmarks/results/trees.jsonl, written as it comes; a killed run goes on
where it was. Lines of another commit, or of other seconds, stay, and the tables say so; `--fresh`
begins anew.

- questions: LightGBM and XGBoost of so many trees x leaves, learning rate 0.1, and a forest of 100
  trees of depth 5; seed 0, else the library's own settings. Asked about are refused rows, drawn by
  chance, at 0.5, 0.7 and 0.85 in L1. Of each table as it is, with every feature free to move
  (`free`), and with the schema a lender might write (`lender`), whose missing codes are blanks in
  the rows that the model learns from. Forests take no words, so they get the places of categories.
- Rivals are asked about the first few of the same rows, question by question in turn with us:
  HiGHS' MIP wherever there is a lender's schema and on HELOC, treecf and oceanpy on HELOC.
- Seconds are wall clock of one question; reading the model is told apart. Costs are counted again
  from the values, confidences asked of the library, and what breaks the schema or misses the
  target is no answer. Nobody may be cheaper than what we call optimal: then this ends with 1.
- many: `find_many` by two processes over all refused rows of HELOC, LightGBM 100 x 8, lender's
  schema, at the decision threshold; beside it treecf's exact batch on the first of these rows.
- growth: boxes and seconds by trees, leaves and free features, one at a time, on HELOC.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from functools import cache
from pathlib import Path

from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

import rivals
import tree_tables
from experiments import data
from measured import RESULTS, Busy, surroundings
from record import Record
from trust_recourse import Recourse, Schema
from trust_recourse.search import Progress

SEED = 0
LEVELS = (0.5, 0.7, 0.85)
SIZES = ("50x8", "100x8", "100x16", "300x8", "100x31")
FOREST = "forest 100xdepth5"
MODELS = (*(f"{name} {size}" for size in SIZES for name in ("LightGBM", "XGBoost")), FOREST)
TABLES = {
    "heloc": data.heloc, "german_credit": data.german_credit, "adult": data.adult,
    "breast_cancer": data.breast_cancer,
}  # fmt: skip
RIVALS = ("mip", "treecf", "ocean")
RESULT = RESULTS / "trees.jsonl"
PICTURE = RESULTS / "tree_growth.png"
PAGE = Path(__file__).parent.parent / "docs" / "speed-trees.md"
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "lightgbm", "xgboost-cpu", "treecf")
AXES = {"trees": (25, 50, 100, 200, 400), "leaves": (4, 8, 16, 31), "free": (3, 6, 12, 18, 23)}
USUAL = {"trees": 100, "leaves": 8, "free": 23}


# ---------------------------------------------------------------- what is asked about


@cache
def table_of(name, schema):
    """Rows as libraries take them, labels, and the schema; None where there is no lender's."""
    X, y, lender = TABLES[name]()
    if schema == "lender" and lender is None:
        return None
    numbers = {c: "float64" for c in X if X[c].dtype.kind in "iu"}
    words = [c for c in X if X[c].dtype.kind not in "iufb"]
    ordered = {c: X[c].astype("category") for c in words}
    X = X.astype(numbers).assign(
        **{c: column.cat.rename_categories(in_ascii) for c, column in ordered.items()}
    )
    if schema == "free":
        return X, y, Schema.infer(X, guard=False)
    for feature in lender:
        codes = [in_ascii(code) for code in feature.missing]
        labels = tuple(map(in_ascii, feature.values))
        if codes and labels:
            X[feature.name] = X[feature.name].cat.remove_categories(codes)
        elif codes:
            X[feature.name] = X[feature.name].where(~X[feature.name].isin(codes))
        blank = (math.nan,) if codes else ()
        lender = lender.update(feature.name, values=labels, missing=blank)
    return X, y, lender


def in_ascii(label):
    """XGBoost 3.2 cuts other labels off when it stores them."""
    return label.replace("≥", ">=").replace("–", "-") if isinstance(label, str) else label


def in_places(X, schema):
    """The same rows and schema with a category's place in the schema instead of its word."""
    for feature in schema:
        places = {label: float(at) for at, label in enumerate(feature.values)}
        if places:
            X = X.assign(**{feature.name: X[feature.name].astype(object).map(places).astype(float)})
            schema = schema.update(feature.name, values=tuple(range(len(places))))
    return X, schema


@cache
def learnt(name, schema, model):
    """The rows, the schema, and the model learnt from them."""
    X, y, schema = table_of(name, schema)
    if model == FOREST:
        X, schema = in_places(X, schema)
        return X, schema, RandomForestClassifier(100, max_depth=5, random_state=SEED).fit(X, y)
    return X, schema, boosted(*model.split()).fit(X, y)


def boosted(library, size):
    trees, leaves = map(int, size.split("x"))
    usual = {"n_estimators": trees, "learning_rate": 0.1, "random_state": SEED, "n_jobs": 1}
    if library == "LightGBM":
        return LGBMClassifier(**usual, num_leaves=leaves, verbose=-1)
    shape = {"max_leaves": leaves, "grow_policy": "lossguide", "max_depth": 0}
    return XGBClassifier(**usual, **shape, enable_categorical=True)


def refused(X, model, most=None):
    """The rows that this model refuses, all or as many of them drawn by chance."""
    rows = X[model.predict_proba(X)[:, 1] < 0.5]
    return rows if most is None else rows.sample(min(most, len(rows)), random_state=SEED)


# ---------------------------------------------------------------- asking and writing down


class Door:
    """One model under one schema, and whoever can be asked about it."""

    def __init__(self, name, schema, model):
        self.X, self.schema, self.model = learnt(name, schema, model)
        begun = time.perf_counter()
        self.recourse = Recourse(self.model, self.schema, cost="l1")
        if not self.recourse.exact:
            raise SystemExit(f"{name}, {schema}, {model}: cannot be read: {self.recourse.unread}")
        _ = self.recourse.score  # made on first use
        self.size = {
            "seconds": time.perf_counter() - begun,
            "leaves": len(self.recourse.model.leaves.value),
            "cells": int(self.recourse.model.grid.sizes.sum()),
        }
        self.treecf = None

    def ours(self, x, level, seconds):
        begun = time.perf_counter()
        result = self.recourse.find(x, level, time_limit=seconds)
        spent = time.perf_counter() - begun
        (boxes,) = result.nodes.values()
        return self.judged(x, level, rivals.told_by(result, spent)) | {"boxes": boxes}

    def rival(self, who, x, level, seconds):
        begun = time.perf_counter()
        try:
            told = self._rival(who, x, level, seconds)
        except Exception as error:  # whatever a rival raises is its answer
            spent, note = time.perf_counter() - begun, f"{type(error).__name__}: {error}"
            return {"seconds": spent, "bound": 0.0, "note": note, "status": "failed"}
        return self.judged(x, level, told)

    def _rival(self, who, x, level, seconds):
        if who == "mip":
            return rivals.by_mip(self.recourse, x, level, seconds)
        if who == "ocean":
            return rivals.by_ocean(self.recourse, self.model, x, level, seconds)
        self.treecf = self.treecf or rivals.TreeCF(self.model, self.schema)
        return self.treecf.ask(x, level, seconds)

    def judged(self, x, level, told):
        return rivals.judged(self.recourse, self.model, self.X, x, level, told)


def settings_of(options):
    """Each table, schema and model to be asked about."""
    for table in options.tables:
        for schema in options.schemas:
            if table_of(table, schema) is not None:
                for model in MODELS:
                    if any(part in model for part in options.models):
                        yield table, schema, model


def rivals_of(table, schema, model, level, options):
    """Who can be asked this beside us."""
    for who in options.rivals:
        if who == "mip" and (table == "heloc" or schema == "lender"):
            yield who
        if who == "treecf" and table == "heloc":
            yield who
        known = "XGBoost" in model or (model == FOREST and level == 0.5)
        if who == "ocean" and (table, schema) == ("heloc", "free") and known:
            yield who


def questions(asked, options):
    settings = list(settings_of(options))
    each = len(LEVELS) * (options.rows + len(options.rivals) * options.peer_rows)  # at most
    bar = Progress(len(settings) * each, "questions")
    for at, (table, schema, model) in enumerate(settings):
        here = {"table": table, "schema": schema, "model": model}
        door = Door(table, schema, model)
        asked.ask({"section": "read", **here}, lambda door=door: door.size)
        people = refused(door.X, door.model, options.rows)
        door.recourse.find(people.iloc[0], 0.5, node_limit=1)  # compiles what is on first use
        for number, (label, x) in enumerate(people.iterrows()):
            for level in LEVELS:
                line = {"section": "questions", **here, "person": int(label), "level": level}
                who = ["ours"]
                if number < options.peer_rows:
                    who += rivals_of(table, schema, model, level, options)
                for name in who:
                    one = asked.ask(
                        line | {"who": name, "limit": options.seconds},
                        lambda name=name, x=x, level=level, door=door: (
                            door.ours(x, level, options.seconds) if name == "ours"
                            else door.rival(name, x, level, options.seconds)
                        ),
                    )  # fmt: skip
                    note = f"{table} {schema} {model} {level} {name}: {one['status']}"
                    bar.step(f"{note} in {one['seconds']:.2f} s")
        bar.reach((at + 1) * each, bar.total, f"{table} {schema} {model}")


# ---------------------------------------------------------------- everybody


def many(asked, options):
    """Rows a second over all who are refused, and what treecf's batch does with the first."""
    here = {"section": "many", "table": "heloc", "schema": "lender", "model": "LightGBM 100x8"}
    door = Door("heloc", "lender", "LightGBM 100x8")
    people = refused(door.X, door.model).head(options.many)
    door.recourse.find_many(people.head(4), n_jobs=2)  # starts workers, compiles

    def ours():
        begun = time.perf_counter()
        found = door.recourse.find_many(people, time_limit=options.seconds, n_jobs=2, verbose=True)
        seconds = time.perf_counter() - begun
        proved = found["status"].isin(["optimal", "infeasible"]).sum()
        return {"seconds": seconds, "rows": len(people), "proved": int(proved)}

    def theirs():
        rows, treecf = people.head(options.batch_rows), rivals.TreeCF(door.model, door.schema)
        explainer = treecf.explainer_of_all()
        begun = time.perf_counter()
        found = explainer.explain_batch(
            rows.to_numpy(float), treecf.target(0.5), backend="exact", allow_exact_batch=True,
            time_budget_s=options.batch_seconds, node_budget=rivals.NO_LIMIT,
        )  # fmt: skip
        seconds = time.perf_counter() - begun
        proved = sum(each.proof in ("optimal", "certified") for each in found)
        return {"seconds": seconds, "rows": len(rows), "proved": proved}

    asked.ask(here | {"who": "ours", "limit": options.seconds}, ours)
    if "treecf" in options.rivals:
        asked.ask(here | {"who": "treecf", "limit": options.batch_seconds}, theirs)


# ---------------------------------------------------------------- growth


def growth(asked, options):
    places = [(axis, at) for axis, along in AXES.items() for at in along]
    bar = Progress(len(places) * options.growth_rows * len(LEVELS), "growth")
    for axis, at in places:
        size = USUAL | {axis: at}
        door = Door("heloc", "free", f"LightGBM {size['trees']}x{size['leaves']}")
        names = door.schema.names
        free = {names[round(i * len(names) / size["free"])] for i in range(size["free"])}
        door.recourse = door.recourse.replaced(
            door.schema.lock(*(n for n in names if n not in free))
        )
        for label, x in refused(door.X, door.model, options.growth_rows).iterrows():
            for level in LEVELS:
                one = asked.ask(
                    {"section": "growth", "axis": axis, "at": at, "person": int(label),
                     "level": level, "who": "ours", "limit": options.seconds},
                    lambda x=x, level=level, door=door: door.ours(x, level, options.seconds),
                )  # fmt: skip
                bar.step(f"{at} {axis}, {level}: {one['seconds']:.2f} s")


# ---------------------------------------------------------------- all of it

SECTIONS = {"questions": questions, "many": many, "growth": growth}


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*SECTIONS, "table", "draw"]
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(names)}")
    parser.add_argument("--rows", type=int, default=20, help="refused rows a model")
    parser.add_argument("--peer-rows", type=int, default=4, help="of these, for rivals")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each question")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--schemas", nargs="+", default=["free", "lender"])
    parser.add_argument("--models", nargs="+", default=[""], help="parts of names: 100x8 XGBoost")
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=RIVALS)
    parser.add_argument("--many", type=int, help="of the refused rows of HELOC; all")
    parser.add_argument("--batch-rows", type=int, default=100, help="for treecf's batch")
    parser.add_argument("--batch-seconds", type=float, default=10.0, help="for each of them")
    parser.add_argument("--growth-rows", type=int, default=10)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--write", action="store_true", help="the tables into docs/speed-trees.md")
    parser.add_argument("--result", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    if "ocean" in options.rivals and not rivals.ocean_built():
        print("OCEAN is not asked: `make peers PYTHON312=...` builds it", file=sys.stderr)
        options.rivals.remove("ocean")
    if strange := set(options.sections) - set(names):
        parser.error(f"no section {', '.join(strange)}; expected some of {', '.join(names)}")
    return options


def main(arguments):
    options = parsed(arguments)
    asked, busy = Record(options.result, options.fresh), Busy()
    wanted = options.sections or [*SECTIONS, "table", "draw"]
    for name, section in SECTIONS.items():
        if name in wanted:
            begun = time.monotonic()
            section(asked, options)
            about = surroundings(*PACKAGES) | {"load": busy.words()}
            run = {"section": "run", "model": name, "at": time.strftime("%Y-%m-%d %H:%M")}
            spent = round(time.monotonic() - begun, 1)
            asked.ask(run, lambda about=about, spent=spent: about | {"seconds": spent})
    lines = list(asked.lines.values())
    if "table" in wanted:
        print(tree_tables.markdown(lines))
    if "draw" in wanted and any(line["section"] == "growth" for line in lines):
        tree_tables.draw_growth(lines, PICTURE, AXES)
    if options.write:
        tree_tables.write_into(PAGE, lines, PICTURE)
    return 1 if tree_tables.beaten(lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
