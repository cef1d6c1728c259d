"""Several classes: machines beside logistic regression, and from one digit to another.

Iris and Wine by the defaults; Digits (8 × 8 pixels) by a smaller machine. Accuracy and log-loss are
of rows held out in five folds. Then rows of Digits that were not learnt from, with 16 pixels free,
those that vary most, are asked to become another digit: the cheapest change after which that digit
wins, and the cheapest after which it has one half.
"""

from __future__ import annotations

from functools import cache
from statistics import fmean, median

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.frame import Table, Unit
from trust_recourse import PTMClassifier, Recourse, Schema

SEED, FOLDS, FREE, SIDE = 42, 5, 16, 8
TABLES = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
TITLES = {"iris": "Iris", "wine": "Wine", "digits": "Digits"}
SMALLER = {"digits": {"n_clauses": 50, "thresholds": 3}}
WAYS = {"wins": {"mode": "argmax"}, "one half": {"confidence": 0.5}}
LIMIT = 60.0  # seconds a question
ROWS, DRAWN = 20, 6


def units(scale):
    many = ROWS if scale.name == "full" else 2
    found = [
        Unit("several", f"{data}, fold {fold}", learnt, (data, fold), 20)
        for data in TABLES
        for fold in range(FOLDS if scale.name == "full" else 1)
    ]
    return found + [
        Unit("several", f"digit {number}, {way}", asked, (number, way), 5)
        for number in range(many)
        for way in WAYS
    ]


def table_of(data):
    X, y = TABLES[data](return_X_y=True, as_frame=True)
    X = X.astype(int) if data == "digits" else X.round(2)
    return X.set_axis([name.replace("(cm)", "").strip() for name in X], axis=1), y.to_numpy()


def machine(data):
    return PTMClassifier(**SMALLER.get(data, {}), random_state=SEED)


def learnt(data, fold):
    """Both models on one fold."""
    X, y = table_of(data)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    train, test = [*folds.split(X, y)][fold]
    rows = []
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    schema = Schema.infer(X, guard=False)
    for name, model in (("PTM", machine(data).set_params(schema=schema)), ("LR", regression)):
        p = model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
        rows.append(
            {
                "what": "learnt", "data": data, "fold": fold, "model": name,
                "accuracy": accuracy_score(y[test], p.argmax(axis=1)),
                "log_loss": log_loss(y[test], np.clip(p / p.sum(axis=1, keepdims=True), 0, 1)),
            }
        )  # fmt: skip
    return rows


@cache
def digits():
    """A machine, the schema that leaves 16 pixels, and rows that it did not learn from."""
    X, y = table_of("digits")
    a, b, ya, yb = train_test_split(X, y, test_size=0.25, random_state=SEED, stratify=y)
    model = machine("digits").set_params(schema=Schema.infer(X, guard=False)).fit(a, ya)
    vary = X.var().sort_values(ascending=False, kind="stable").index[:FREE]
    schema = model.schema_.lock(*(name for name in X if name not in vary))
    right = b[model.predict(b) == yb]
    return model, schema, right.sample(ROWS, random_state=SEED)


def asked(number, way):
    """One row of Digits, and the digit that it is to become."""
    model, schema, rows = digits()
    row = rows.iloc[number]
    now = int(model.predict(rows.iloc[[number]])[0])
    others = [digit for digit in range(10) if digit != now]
    wanted = int(np.random.default_rng(SEED + number).choice(others))
    recourse = Recourse(model, schema, "l1", wanted=wanted)
    recourse.find(row, **WAYS[way], node_limit=1)  # compiled before it is timed
    began = pd.Timestamp.now()
    result = recourse.find(row, **WAYS[way], time_limit=LIMIT)
    seconds = (pd.Timestamp.now() - began).total_seconds()
    (status,), (boxes,) = result.status.values(), result.nodes.values()
    option = result.options[0] if result.options else None
    return {
        "what": "asked", "number": number, "way": way, "from": now, "to": wanted,
        "status": str(status), "seconds": seconds, "boxes": boxes, "before": row.tolist(),
        "after": None if option is None else [int(v) for v in option.x],
        "cost": None if option is None else option.cost,
        "confidence": None if option is None else option.confidence,
        "pixels": None if option is None else len(option.changes),
    }  # fmt: skip


# ---------------------------------------------------------------- what the rows add up to


def tables(rows):
    return [_learnt([r for r in rows if r["what"] == "learnt"]),
            _asked([r for r in rows if r["what"] == "asked"])]  # fmt: skip


def _learnt(rows):
    body = []
    for data in TABLES:
        for model in ("PTM", "LR"):
            own = [r for r in rows if (r["data"], r["model"]) == (data, model)]
            told = [f"{fmean(r[name] for r in own):.3f}" for name in ("accuracy", "log_loss")]
            body.append((TITLES[data], model, *told))
    notes = (
        f"Means over {FOLDS} folds. PTM by its defaults, of Digits with 50 clauses a class and 3 "
        "thresholds a pixel; LR, logistic regression behind a scaler.",
    )
    return Table("Several classes: held out", ("Data", "Model", "Accuracy", "Log-loss"),
                 tuple(body), notes)  # fmt: skip


def _asked(rows):
    header = ("Asked for", "Questions", "Proved", "Out of reach", "Mean L1", "Mean pixels",
              "Mean confidence", "Median s", "Slowest s", "Median boxes")  # fmt: skip
    body = []
    for way in WAYS:
        own = [r for r in rows if r["way"] == way]
        met = [r for r in own if r["after"]]
        proved = sum(r["status"] in ("optimal", "infeasible", "already_met") for r in own)
        means = [f"{fmean(r[name] for r in met):.3g}" if met else "–"
                 for name in ("cost", "pixels", "confidence")]  # fmt: skip
        body.append(
            (
                f"the other digit {'wins' if way == 'wins' else 'has one half'}", str(len(own)),
                str(proved), str(sum(r["status"] == "infeasible" for r in own)), *means,
                f"{median(r['seconds'] for r in own):.3g}", f"{max(r['seconds'] for r in own):.3g}",
                f"{median(r['boxes'] for r in own):,.0f}",
            )
        )  # fmt: skip
    notes = (
        f"Rows of Digits that the machine did not learn from and has right, each to become another "
        f"digit, drawn by chance; {FREE} of 64 pixels may change. At most {LIMIT:g} s a question.",
    )
    return Table("From digit to digit", header, tuple(body), notes)


def figures(rows):
    """Some rows before and after, with what changed."""
    own = [r for r in rows if r["what"] == "asked" and r["way"] == "wins" and r["after"]][:DRAWN]
    if not own:
        return {}
    figure = Figure(figsize=(1.45 * len(own), 4.6), layout="constrained")
    axes = np.atleast_2d(figure.subplots(3, len(own), squeeze=False))
    for at, row in enumerate(own):
        before, after = (np.array(row[name]).reshape(SIDE, SIDE) for name in ("before", "after"))
        for ax, image, how in zip(
            axes[:, at], (before, after, after - before), ("gray_r", "gray_r", "PuOr"), strict=True
        ):
            ends = (-16, 16) if how == "PuOr" else (0, 16)
            ax.imshow(image, cmap=how, vmin=ends[0], vmax=ends[1])
            ax.set_xticks([])
            ax.set_yticks([])
        axes[0, at].set_title(f"{row['from']}", fontsize=10)
        axes[1, at].set_title(f"{row['to']}, confidence {row['confidence']:.2f}", fontsize=8)
        axes[2, at].set_title(f"{row['pixels']} pixels", fontsize=8)
    for ax, name in zip(axes[:, 0], ("as it is", "as it wins", "change"), strict=True):
        ax.set_ylabel(name, fontsize=9)
    return {"digits": figure}
