"""How good the machine's defaults are, and how honest: beside what people use, out of fold.

Seven tables, each judged in the same five folds, split by class and by the seed: every row is
predicted by a model that did not learn from it. Of tables with more rows than `MOST_ROWS` so many
are drawn, the same for every model. Nothing is calibrated afterwards.

The machine's defaults stand beside the paper's machine by both of its links, a logistic regression
whose penalty is chosen by inner folds, an EBM with fewer bags and pairs than it usually has, and
LightGBM with 250 trees of 15 leaves and the learning rate that inner folds choose. All of them see
the same columns: the machine may use the protected ones, as the others do.

**ECE** is over ten bins of equal count. Even a model whose every chance is right has some, by luck:
the range is where 95 % of such models' lie, with classes drawn by this model's own chances.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from statistics import fmean

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments import data
from experiments.beyond import MACHINE, timed
from experiments.frame import Table, Unit
from trust_recourse import PTMClassifier, Schema
from trust_recourse.models.tsetlin.links import Votes
from trust_recourse.models.tsetlin.settings import resting_vote

PART = "honest"
SEED = 42
FOLDS, INNER_FOLDS = 5, 3
MOST_ROWS, QUICK_ROWS = 30_000, 300
BINS, DRAWS = 10, 2_000
LARGE = 5_000  # rows above which a mean gap of ECE is asked for, not one within luck
TREES = {"n_estimators": 250, "num_leaves": 15}
WARM = 100  # rows
# fewer bags, pairs and bins of pairs than an EBM takes by default, which is many times as long
BOOSTED = {"outer_bags": 4, "interactions": 10, "max_interaction_bins": 16}
RATES = (0.02, 0.05, 0.1)
TITLES = {
    "heloc": "HELOC",
    "adult": "Adult",
    "compas": "COMPAS",
    "german_credit": "German credit",
    "give_me_some_credit": "Give Me Some Credit",
    "breast_cancer": "Breast cancer",
    "haberman": "Haberman",
}
YARDSTICK, PLAIN, OURS = "LightGBM", "logistic regression", "machine"
MODELS = (OURS, "margin", "vote", PLAIN, "EBM", YARDSTICK)
# about what one table takes of each, in seconds on one core
SECONDS = {"heloc": 200, "adult": 200, "give_me_some_credit": 200, "compas": 60}


def units(scale):
    """One unit for each table and way to learn; the quick ones need no other package."""
    full = scale.name == "full"
    names, rows = (list(TITLES), MOST_ROWS) if full else (["breast_cancer"], QUICK_ROWS)
    ways = ("defaults", "paper", PLAIN, "EBM", YARDSTICK) if full else ("defaults", "paper", PLAIN)
    return [
        Unit(PART, f"{name}, {way}", judged, (name, way, rows), SECONDS.get(name, 20))
        for name in names
        for way in ways
    ]


# ---------------------------------------------------------------- the work of a unit


def judged(name, way, most):
    """What each model of one way to learn is worth on a table; the paper's has two links."""
    X, y, schema = table(name, most)
    learn = LEARNERS[way](X, schema)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y))
    learn(folds[0][1][:WARM], y)  # compiles and imports, so that nobody's time has it
    predicted, spent = {}, []
    for learnt, held in folds:
        predict, seconds = learn(learnt, y)
        spent.append(seconds)
        for model, chance in predict(held).items():
            predicted.setdefault(model, np.empty(len(y)))[held] = chance
    about = {"table": name, "rows": len(y), "features": X.shape[1], "seconds": fmean(spent)}
    return [about | {"model": model} | worth(y, p, folds) for model, p in predicted.items()]


def table(name, most):
    """A table, at most so many of its rows, and its schema."""
    X, y, schema = getattr(data, name)()
    y = np.asarray(y)
    if len(y) > most:
        kept = np.sort(np.random.default_rng(SEED).choice(len(y), most, replace=False))
        X, y = X.iloc[kept].reset_index(drop=True), y[kept]
    return X, y, Schema.infer(X, guard=False) if schema is None else schema


def worth(y, p, folds):
    """Log-loss and ECE of all rows together, AUC as the mean of the folds'."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    rng = np.random.default_rng(SEED)
    lucky = [ece(rng.random(len(p)) < p, p) for _ in range(DRAWS)]
    return {
        "log_loss": log_loss(y, p),
        "auc": fmean(roc_auc_score(y[held], p[held]) for _, held in folds),
        "ece": ece(y, p),
        "ece_by_luck": float(np.quantile(lucky, 0.95)),
    }


def ece(y, p):
    """The mean gap between what was said and what came true, over bins of equal count."""
    bins = np.array_split(np.argsort(p, kind="stable"), BINS)
    return float(sum(abs(y[rows].mean() - p[rows].mean()) * len(rows) for rows in bins) / len(y))


# ---------------------------------------------------------------- the models
#
# Each is a function of a table that gives a function of rows to learn from; which gives what
# predicts, and the CPU seconds of learning with what was chosen.


def defaults(X, schema):
    def learn(rows, y):
        model = PTMClassifier(schema=schema, use_protected=True, random_state=SEED)
        _, seconds = timed(model.fit, X.iloc[rows], y[rows])
        return lambda held: {OURS: model.predict_proba(X.iloc[held])[:, 1]}, seconds

    return learn


def paper(X, schema):
    """One machine, read by both links: learning knows nothing of them."""

    def learn(rows, y):
        model = PTMClassifier(**MACHINE, link="margin", schema=schema)
        _, seconds = timed(model.fit, X.iloc[rows], y[rows])
        vote = copy(model).set_params(link="vote")
        votes = Votes.named("vote", model.n_clauses, resting_vote(model))
        vote.become(replace(model.machine_, links=(votes,)))
        by = {"margin": model, "vote": vote}
        return (
            lambda held: {name: m.predict_proba(X.iloc[held])[:, 1] for name, m in by.items()},
            seconds,
        )

    return learn


def regression(X, schema):
    columns = dummies(schema, schema.encode(X))

    def learn(rows, y):
        model = make_pipeline(
            StandardScaler(),
            LogisticRegressionCV(
                Cs=7, cv=INNER_FOLDS, scoring="neg_log_loss", max_iter=2000, l1_ratios=(0.0,),
                use_legacy_attributes=False,
            ),
        )  # fmt: skip
        _, seconds = timed(model.fit, columns[rows], y[rows])
        return lambda held: {PLAIN: model.predict_proba(columns[held])[:, 1]}, seconds

    return learn


def dummies(schema, codes):
    """A column for each number and each category; a missing number is the median, and is said."""
    columns = []
    for feature, code in zip(schema, codes.T, strict=True):
        missing = np.isnan(code)
        if feature.kind == "category":
            columns += [code == value for value in range(len(feature.values))]
        else:
            columns.append(np.where(missing, np.nanmedian(code), code))
        if feature.missing:
            columns.append(missing)
    return np.column_stack(columns).astype(float)


def ebm(X, schema):
    from interpret.glassbox import ExplainableBoostingClassifier

    codes = schema.encode(X)
    kinds = ["nominal" if feature.kind == "category" else "continuous" for feature in schema]

    def learn(rows, y):
        model = ExplainableBoostingClassifier(
            feature_types=kinds, **BOOSTED, n_jobs=1, random_state=SEED
        )
        _, seconds = timed(model.fit, codes[rows], y[rows])
        return lambda held: {"EBM": model.predict_proba(codes[held])[:, 1]}, seconds

    return learn


def trees(X, schema):
    from lightgbm import LGBMClassifier

    codes = schema.encode(X)
    categories = [f for f, feature in enumerate(schema) if feature.kind == "category"]

    def fitted(rows, y, rate):
        model = LGBMClassifier(**TREES, learning_rate=rate, n_jobs=1, random_state=SEED, verbose=-1)
        return model.fit(codes[rows], y[rows], categorical_feature=categories)

    def loss(rows, y, rate):
        inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=SEED)
        parts = ((rows[a], rows[b]) for a, b in inner.split(rows, y[rows]))
        return fmean(
            log_loss(y[held], fitted(learnt, y, rate).predict_proba(codes[held])[:, 1])
            for learnt, held in parts
        )

    def learn(rows, y):
        best = min(RATES, key=lambda rate: loss(rows, y, rate))
        model, seconds = timed(fitted, rows, y, best)
        return lambda held: {YARDSTICK: model.predict_proba(codes[held])[:, 1]}, seconds

    return learn


LEARNERS = {"defaults": defaults, "paper": paper, PLAIN: regression, "EBM": ebm, YARDSTICK: trees}


# ---------------------------------------------------------------- tables


def tables(rows):
    """Each table's numbers, and each model's gaps to the yardstick."""
    rows = pd.DataFrame(rows)
    order = [name for name in TITLES if name in set(rows["table"])]
    return [each(rows, order), gaps(rows, order)]


def each(rows, order):
    header = (
        "Data", "Rows", "Features", "Model", "Log-loss", "AUC", "ECE", "ECE by luck", "CPU s",
    )  # fmt: skip
    body = tuple(
        (
            TITLES[name], f"{r.rows:,}", f"{r.features}", r.model, f"{r.log_loss:.4f}",
            f"{r.auc:.4f}", f"{r.ece:.4f}", f"≤ {r.ece_by_luck:.4f}", f"{r.seconds:.2f}",
        )
        for name in order
        for model in MODELS
        for r in rows[(rows["table"] == name) & (rows.model == model)].itertuples()
    )  # fmt: skip
    notes = (
        f"{FOLDS} folds by class, seed {SEED}, the same for every model; of larger tables "
        f"{MOST_ROWS:,} rows, drawn by the seed. Log-loss in nats and ECE ({BINS} bins of equal "
        "count) of all rows, each predicted by a model that did not learn from it; AUC is the mean "
        f"of the folds'. ECE by luck: what 95 % of {DRAWS:,} perfectly calibrated models with "
        "these chances stay within. CPU seconds to learn one fold on one core, the search for a "
        "learning rate not counted.",
        "machine: the defaults, protected features used as by the others; margin and vote: the "
        f"paper's settings and links. The EBM has {BOOSTED['outer_bags']} bags and "
        f"{BOOSTED['interactions']} pairs. The defaults were chosen on these tables, by other "
        "folds and at most 10,000 rows; the other models' settings were not.",
    )
    return Table("Honest: each table", header, body, notes)


def gaps(rows, order):
    header = (
        "Model", "Log-loss − LightGBM", "Log-loss − regression, worst", "AUC − LightGBM",
        "ECE, large tables, worst", "ECE within luck, small tables", "CPU s, all tables",
    )  # fmt: skip
    by = rows.set_index(["model", "table"]).sort_index()
    present = [model for model in MODELS if model in set(rows.model)]
    body = tuple(summary(by, model, order) for model in present)
    notes = (
        f"Means over the {len(order)} tables of the table above. Large: more than {LARGE:,} rows. "
        "The worst is the largest of any table.",
    )
    return Table("Honest: gaps", header, body, notes)


def summary(by, model, order):
    own = by.loc[model].loc[order]
    large = own[own["rows"] > LARGE]
    small = own[own["rows"] <= LARGE]
    known = by.index.get_level_values(0)

    def gap(other, column):
        return own[column] - by.loc[other].loc[order][column] if other in known else None

    losses, worst, ranks = (
        gap(YARDSTICK, "log_loss"), gap(PLAIN, "log_loss"), gap(YARDSTICK, "auc"),
    )  # fmt: skip
    return (
        model,
        "–" if losses is None else f"{losses.mean():+.4f}",
        "–" if worst is None else f"{worst.max():+.4f} ({TITLES[worst.idxmax()]})",
        "–" if ranks is None else f"{ranks.mean():+.4f}",
        f"{large.ece.max():.4f}" if len(large) else "–",
        f"{(small.ece <= small.ece_by_luck).sum()} of {len(small)}",
        f"{own.seconds.sum():.1f}",
    )
