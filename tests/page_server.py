"""Serves pages to a browser: `python tests/page_server.py` prints its port when it is ready."""

from __future__ import annotations

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from trust_recourse import Feature, Ledger, Recourse, Schema, haberman
from trust_recourse.io.cancel import check
from trust_recourse.report.letter.institution import Institution
from trust_recourse.web.page import mount
from trust_recourse.web.page.screen import show
from trust_recourse.web.service import service
from trust_recourse.web.serving import listen, serve
from trust_recourse.web.state import AppState, Limits
from worlds import paper_machine

HOSTILE = "<img src=x onerror=alert(1)>"
NOTICES = {"address": "1 Main Street", "agency": "Federal Trade Commission", "dpo": "none"}
TEMPLATE = "{{7*7}} ${7*7} </script>"


@lru_cache(maxsize=1)
def patients() -> tuple[pd.DataFrame, Recourse]:
    X, y = haberman()
    model = paper_machine(epochs=10, random_state=0).fit(X, y)
    schema = Schema.infer(X).lock("age").update("nodes", direction="decrease", unit="nodes")
    return X, Recourse(model, schema)


def loans(n: int = 400) -> tuple[pd.DataFrame, np.ndarray, Schema]:
    """A made-up table with every kind of column, names that are markup, and blanks."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.normal(2400, 700, n).round(-1),
            "savings": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(4000, n).round(-2)),
            HOSTILE: rng.choice(["own", "rent", TEMPLATE], n),
            "school": rng.choice(["none", "school", "college"], n),
            "employed": rng.random(n) < 0.7,
            "children": rng.integers(0, 4, n),
        }
    )
    score = (X["income"] > 2300).astype(int) + (X[HOSTILE] == "own") + X["employed"]
    schema = Schema(
        (
            Feature("income", lower=0, upper=6000, step=10, scale=3000, unit="€", label="Income"),
            Feature("savings", lower=0, step=100, scale=20000, unit="€", missing=(None,)),
            Feature(HOSTILE, "category", values=("own", "rent", TEMPLATE)),
            Feature(
                "school", "ordinal", values=("none", "school", "college"), direction="increase"
            ),
            Feature("employed", "boolean"),
            Feature("children", "integer", protected=True),
        )
    )
    return X, np.where(score >= 2, "yes", "no"), schema


def mortgages() -> tuple[pd.DataFrame, Recourse]:
    """A table of which one column follows from two others."""
    X = pd.DataFrame({"loan": [70, 80, 95, 60] * 20, "price": [100, 100, 100, 90] * 20})
    X["ratio"] = X["loan"] / X["price"]
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, X["ratio"] < 0.75)
    schema = Schema.infer(X).update("price", label="Price of the house")
    schema = schema.update("ratio", derived="loan / price", label="Loan to value")
    return X, Recourse(model, schema)


def many_columns() -> tuple[pd.DataFrame, Recourse]:
    """A table of thirty columns with long labels, of which a third may change."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"column_{at}": rng.integers(0, 50, 300) for at in range(30)})
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    model.fit(X, X["column_0"] + X["column_1"] + X["column_20"] > 75)
    schema = Schema.infer(X).lock(*X.columns[10:])
    for at, name in enumerate(X):
        label = f"Amount that was paid on all accounts in month {at}"
        schema = schema.update(name, label=label, unit="€")
    return X, Recourse(model, schema, decision_threshold=0.7)


class Endless(Recourse):
    """Seeks until it is called off."""

    def ask(self, x, question, **more):
        if question.node_limit is not None:  # the first question, which makes the server warm
            return super().ask(x, question, **more)
        while True:
            check()
            time.sleep(0.01)


def desks(folder: Path) -> dict[str, AppState]:
    X, recourse = patients()
    who, said, schema = loans()
    lending = Recourse(paper_machine(schema=schema, epochs=10, random_state=0).fit(who, said))
    who.index = pd.Index([f"{HOSTILE} {at:040}" for at in who.index])
    words = dict.fromkeys((HOSTILE, "school"), "category")
    seen = who.astype(words).assign(employed=who["employed"].astype(float))
    trees = HistGradientBoostingClassifier(max_iter=12, max_leaf_nodes=6, random_state=0)
    boosted = Recourse(trees.fit(seen, said), schema)
    houses, financed = mortgages()
    wide, judged = many_columns()
    ledger = Ledger(folder / "promises.db", key="a key for the tests alone")
    named = {"organisation": "A clinic", "contact": "Ann Lee"}
    guarded = Schema.infer(X).update("nodes", protected=True, label="Lymph nodes")
    dated = recourse.schema.update("year", protected=True, label="Year of operation")
    return {
        "/": AppState(recourse, X, ledger, **named),
        "/loans": AppState(lending, who, organisation=f"Bank {HOSTILE}", contact="Bo"),
        "/form": AppState(lending),
        "/trees": AppState(boosted, who, ledger, **named),
        "/guarded": AppState(Recourse(recourse.model, guarded), X, **named),
        "/notices": AppState(
            Recourse(recourse.model, dated),
            X,
            ledger,
            **named,
            institution=Institution(NOTICES, reference=X),
        ),
        "/many": AppState(judged, wide),
        "/mortgages": AppState(financed, houses),
        "/endless": AppState(Endless(recourse.model), X, limits=Limits(answer=1.5)),
    }


def main(folder: Path) -> None:
    (_, first), *others = desks(folder).items()
    app = service(first)
    for path, state in others:
        show(state, path)
    mount(app, first)
    listener = listen("127.0.0.1", 0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")  # connections wait until it answers
    sys.stdout.flush()
    serve(lambda: app, listener)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
