"""What derived columns and limits cost: every question proved, beside the same without them.

`make bench-advice` asks 20 refused people of German credit and HELOC for three levels each, of a
machine by its defaults and of LightGBM 100 × 8, by schemas with columns that follow from others,
least changes, forbidden moves and blocks; then by the same schema without those. And with at most 1
to 5 changes. Times are CPU seconds of one process; lines that are in the record are not asked
again.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from statistics import median

import pandas as pd
from lightgbm import LGBMClassifier

from asking import SEED, refused, rows_of, through_find
from experiments import data
from measured import RESULTS
from record import Record, write_between
from trust_recourse import PTMClassifier, Recourse, Schema, german_credit, german_credit_schema

MANY = 200  # drawn, of whom the first are asked about
PEOPLE, LEVELS, SECONDS = 20, (0.5, 0.6, 0.7), 60.0
PAGE, BEGIN = Path("docs/schema.md"), "<!-- what limits cost, by benchmarks/advice.py -->"
LIMITS = (None, 1, 2, 3, 4, 5)


def german():
    """German credit with the rate a month, which follows from amount and term."""
    X, y = german_credit()
    X = X.assign(rate=(X["amount"] / X["duration"]).round())
    known, every = german_credit_schema(), Schema.infer(X[["rate"]], guard=False)
    schema = Schema((*known.features, *every.features), known.relations)
    schema = schema.update("rate", unit="DM", label="rate a month", step=1.0, lower=0, upper=3000)
    told = (
        schema.update("rate", derived="amount / duration")
        .update("amount", min_change=200)
        .update("duration", min_change=3)
        .update("housing", forbidden=("own -> rent",))
        .relate("savings, checking change together")
    )
    return X, y, schema, told


def heloc():
    """HELOC with the trades with a balance added up; a satisfactory trade is one of all trades."""
    X, y, schema = data.heloc()
    X = X.astype(float).mask(X < 0)  # blanks for codes, which trees would tell apart
    schema = replace(schema, features=tuple(replace(f, missing=(None,)) for f in schema))
    both = ["NumRevolvingTradesWBalance", "NumInstallTradesWBalance"]
    X = X.assign(NumTradesWBalance=X[both].sum(axis=1, skipna=False))
    more = Schema.infer(X[["NumTradesWBalance"]], missing=math.nan, guard=False)
    schema = Schema((*schema.features, *more.features), schema.relations)
    told = (
        schema.update("NumTradesWBalance", derived=" + ".join(both))
        .update("NumTotalTrades", derived="moves by NumSatisfactoryTrades", max_change=None)
        .update("NetFractionRevolvingBurden", min_change=5)
        .update("PercentTradesWBalance", min_change=5)
    )
    return X, y, schema, told


TABLES = {"german credit": german, "heloc": heloc}


def models(X, y, schema):
    """A machine, and trees of its codes: text is no number to them."""
    yield "machine, 100 clauses", PTMClassifier(schema=schema, random_state=SEED).fit(X, y)
    if all(feature.kind in ("number", "integer") for feature in schema):
        trees = LGBMClassifier(n_estimators=100, num_leaves=8, random_state=SEED, verbose=-1)
        yield "LightGBM 100 × 8", trees.fit(X, y)


def main(people, seconds):
    record = Record(RESULTS / "advice.jsonl")
    for name, table in TABLES.items():
        X, y, schema, told = table()
        for kind, model in models(X, y, schema):
            for rules, by in (("with", told), ("without", schema)):
                recourse = Recourse(model, by, cost="l1")
                rows = [x for x in rows_of(refused(recourse, X, MANY)) if readable(told, x)][
                    :people
                ]
                for x in rows:
                    ask(
                        record,
                        recourse,
                        {"table": name, "model": kind, "schema": rules},
                        x,
                        seconds,
                    )
    write_between(PAGE, BEGIN, shown(pd.DataFrame(record.lines.values())))


def readable(schema, x):
    return schema.disagreements(x.to_frame().T).empty


def ask(record, recourse, line, x, seconds):
    """All questions about one person: three levels, and one of them with few changes."""
    for level in LEVELS:
        for most in LIMITS if level == LEVELS[1] else (None,):
            asked = line | {"person": int(x.name), "level": level, "at": most}

            def work(level=level, most=most):
                limits = {"max_changes": most, "time_limit": seconds}
                found = through_find(recourse, x, level, **limits)
                result = recourse.find(x, level, **limits)
                pulled = [
                    len(set(option.changes) & set(recourse.schema.actionable))
                    for option in result.options[:1]
                ]
                return {
                    "seconds": found.seconds, "nodes": found.nodes, "proved": bool(found.proved),
                    "cost": found.cost, "changes": pulled[0] if pulled else None,
                }  # fmt: skip

            told = record.ask(asked, work)
            print(*told.values(), flush=True)


def shown(lines):
    """Two tables: what the schema's limits cost in time, and what few changes cost."""
    text = ["| table | model | schema | proved | median | slowest |", "|---|---|---|---|---|---|"]
    free = lines[lines["at"].isna()]
    for (table, model), of in free.groupby(["table", "model"], sort=False):
        for schema, each in of.groupby("schema", sort=False):
            proved = f"{int(each['proved'].sum())} of {len(each)}"
            spent = each["seconds"] * 1000
            text.append(
                f"| {table} | {model} | {schema} | {proved} | {spent.median():.1f} ms "
                f"| {spent.max():,.0f} ms |"
            )
    text += ["", "At least 0.6, with the limits of the schema, and at most so many changes:", ""]
    text += [
        "| table | model | at most | proved | reached | cost beside no limit | changes | time |"
    ]
    text += ["|---|---|---|---|---|---|---|---|"]
    few = lines[(lines["level"] == LEVELS[1]) & (lines["schema"] == "with")]
    for (table, model), of in few.groupby(["table", "model"], sort=False):
        whole = of[of["at"].isna()].set_index("person")
        for most in LIMITS:
            each = of[of["at"].isna() if most is None else of["at"] == most].set_index("person")
            reached = each.dropna(subset="cost")
            ratio = (reached["cost"] / whole["cost"].reindex(reached.index)).median()
            text.append(
                f"| {table} | {model} | {most or 'any'} "
                f"| {int(each['proved'].sum())} of {len(each)} "
                f"| {len(reached)} | {f'{ratio:.2f} ×' if len(reached) else '–'} "
                f"| {f'{median(reached.changes):g}' if len(reached) else '–'} "
                f"| {each['seconds'].median() * 1000:.1f} ms |"
            )
    return "\n".join(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    main(given.people, given.seconds)
