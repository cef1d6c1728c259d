"""The models that `answers.py` asks, as files, so that both sides of a change ask the same ones.

    python benchmarks/answer_models.py     trains what is missing in benchmarks/models/

A model is trained once and its file is committed: another processor or another version of a library
trains other numbers. Each table has every kind of column that its families can read.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from trust_recourse import (
    Feature,
    PTMClassifier,
    Schema,
    TMClassifier,
    bootstraps,
    from_model,
    german_credit,
    german_credit_schema,
    haberman,
)

FOLDER = Path(__file__).parent / "models"
ANEW, SEED = 15, 0  # retrained models, for `survives`
RETRAINED = "{}-retrained"

# ---------------------------------------------------------------- tables


@cache
def table(name):
    """Rows, classes and a schema. Nothing here is inferred: the record must not follow guesses."""
    return TABLES[name]()


def _haberman():
    X, y = haberman()
    features = (
        Feature("age", "integer", mutable=False, lower=30, upper=83, scale=53.0),
        Feature("year", "integer", mutable=False, lower=58, upper=69, scale=11.0),
        Feature("nodes", "integer", direction="decrease", lower=0, upper=52, scale=52.0),
    )
    return X, y, Schema(features)


def _free():
    X, y, schema = _haberman()
    for name in ("age", "year"):
        schema = schema.update(name, mutable=True)
    return X, y, schema.update("nodes", direction=None)


def _german():
    return *german_credit(), german_credit_schema()


def _numbers(columns=("duration", "amount", "instalment_rate", "age", "credits", "residence")):
    X, y, schema = _german()
    kept = [name for name in columns if name in X]
    return X[kept].astype(float), y, Schema(tuple(schema[name] for name in kept))


def _derived():
    """Numbers of German credit with the rate a month, which follows from amount and term."""
    X, y, schema = _numbers()
    X = X.assign(rate=(X["amount"] / X["duration"]).round())
    rate = Feature("rate", lower=0, upper=3000, step=1.0, scale=600.0)
    schema = Schema((*schema.features, rate)).update("rate", derived="amount / duration")
    return X, y, schema.update("amount", min_change=200).update("duration", min_change=3)


def _scikit(load, columns, cut):
    given = load(as_frame=True)
    X = given.data.iloc[:, :columns]
    y = (given.target > 0).astype(int) if cut else given.target.to_numpy()
    features = (
        Feature(
            name, lower=float(column.min()), upper=float(column.max()), step=0.01 * _size(column),
            scale=float(column.max() - column.min()),
        )
        for name, column in X.items()
    )  # fmt: skip
    schema = Schema(tuple(features))
    if load is load_iris:  # continuous, as far as the model's family allows it
        for name in schema.names[:2]:
            schema = schema.update(name, step=None)
    return X, np.asarray(y), schema


def _size(column):
    """The power of ten next to the column's spread."""
    return float(10.0 ** round(np.log10(float(column.max() - column.min()))))


def _gaps():
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
    features = (
        Feature("income", lower=5, upper=55, step=0.1, scale=50.0, missing=(-9.0,)),
        Feature("late", "integer", lower=0, upper=4, scale=4.0),
        Feature("months", "integer", lower=2, upper=8, scale=6.0, direction="increase"),
        Feature("home", "category", values=("free", "own", "rent")),
        Feature("grade", "ordinal", values=("a", "b", "c")),
        Feature("job", "boolean"),
    )
    return X, y, Schema(features, ("late <= months", "job changes => months rises by 1"))


TABLES = {
    "haberman": _haberman,
    "free": _free,
    "german": _german,
    "numbers": _numbers,
    "derived": _derived,
    "gaps": _gaps,
    "iris": partial(_scikit, load_iris, 4, True),
    "iris 3": partial(_scikit, load_iris, 4, False),
    "breast": partial(_scikit, load_breast_cancer, 12, True),
}

# ---------------------------------------------------------------- models


def machine(schema, link, calibration=None, made=PTMClassifier, **settings):
    given = {"n_clauses": 20, "s": 2.0, "T": 6, "epochs": 12, "thresholds": 12, "binning": "rows"}
    given |= {} if made is TMClassifier else {"n_states": 50, "validation_fraction": 0.0}
    fixed = {"link": link, "calibration": calibration, "schema": schema, "random_state": SEED}
    return made(**given | fixed | settings)


def lightgbm(_, **settings):
    from lightgbm import LGBMClassifier

    given = {"n_estimators": 30, "num_leaves": 8, "n_jobs": 1, "verbose": -1, "random_state": SEED}
    return LGBMClassifier(**given | settings)


def xgboost(_, **settings):
    from xgboost import XGBClassifier

    given = {"n_estimators": 30, "max_depth": 3, "n_jobs": 1, "random_state": SEED}
    return XGBClassifier(**given | settings)


def catboost(_):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=30, depth=3, thread_count=1, random_seed=SEED, verbose=False,
        allow_writing_files=False,
    )  # fmt: skip


def scikit(name, _, **settings):
    from sklearn import ensemble, linear_model, tree

    places = (ensemble, linear_model, tree)
    made = next(getattr(place, name) for place in places if hasattr(place, name))
    return made(**settings | ({} if name.startswith("Logistic") else {"random_state": SEED}))


def ebm(_):
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(
        interactions=2, outer_bags=2, max_bins=12, n_jobs=1, random_state=SEED
    )


def scaled(made, schema, **settings):
    return make_pipeline(StandardScaler(), made(schema, **settings))


def encoded(made, schema, **settings):
    """A pipeline that encodes categories and levels before the model, and scales numbers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    kinds = {kind: [f.name for f in schema if f.kind == kind] for kind in ("category", "ordinal")}
    steps = [
        ("one", OneHotEncoder(handle_unknown="ignore"), kinds["category"]),
        ("levels", OrdinalEncoder(), kinds["ordinal"]),
    ]
    rest = StandardScaler() if made is logistic else "passthrough"
    return make_pipeline(ColumnTransformer(steps, remainder=rest), made(schema, **settings))


def calibrated(_):
    from sklearn.calibration import CalibratedClassifierCV

    return CalibratedClassifierCV(lightgbm(None, n_estimators=15), method="sigmoid", ensemble=False)


logistic = partial(scikit, "LogisticRegression", max_iter=2000)
forest = partial(scikit, "RandomForestClassifier", n_estimators=25, max_leaf_nodes=10, n_jobs=1)
extra = partial(scikit, "ExtraTreesClassifier", n_estimators=25, max_leaf_nodes=10, n_jobs=1)
gradient = partial(scikit, "GradientBoostingClassifier", n_estimators=25, max_depth=3)
histogram = partial(scikit, "HistGradientBoostingClassifier", max_iter=25, max_leaf_nodes=8)
tree = partial(scikit, "DecisionTreeClassifier", max_leaf_nodes=12)

# A model's name begins with its table.
MODELS = {
    "haberman machine margin": partial(machine, link="margin"),
    "haberman machine vote isotonic": partial(machine, link="vote", calibration="isotonic"),
    "haberman machine logistic": partial(machine, link="logistic"),
    "haberman tm margin": partial(machine, link="margin", made=TMClassifier),
    "iris machine margin": partial(machine, link="margin"),
    "iris machine vote": partial(machine, link="vote"),
    "iris 3 machine logistic": partial(machine, link="logistic"),
    "gaps machine margin isotonic": partial(machine, link="margin", calibration="isotonic"),
    "gaps machine vote sigmoid": partial(machine, link="vote", calibration="sigmoid"),
    "gaps machine logistic": partial(machine, link="logistic"),
    "gaps tm vote": partial(machine, link="vote", made=TMClassifier),
    "german machine margin sigmoid": partial(machine, link="margin", calibration="sigmoid"),
    "german machine logistic": partial(machine, link="logistic", n_clauses=60),
    "breast machine margin": partial(machine, link="margin"),
    "derived machine logistic": partial(machine, link="logistic"),
    "free lightgbm": lightgbm,
    "breast lightgbm": lightgbm,
    "derived lightgbm": lightgbm,
    "iris 3 lightgbm": partial(lightgbm, n_estimators=10),
    "breast xgboost": xgboost,
    "iris 3 xgboost": partial(xgboost, n_estimators=8),
    "numbers xgboost": xgboost,
    "numbers catboost": catboost,
    "breast forest": forest,
    "iris 3 forest": forest,
    "numbers extra trees": extra,
    "numbers gradient boosting": gradient,
    "derived histogram boosting": histogram,
    "free tree": tree,
    "german encoded lightgbm": partial(encoded, lightgbm),
    "german encoded logistic regression": partial(encoded, logistic),
    "gaps encoded lightgbm": partial(encoded, lightgbm),
    "gaps encoded forest": partial(encoded, forest),
    "numbers calibrated lightgbm": calibrated,
    "breast scaled lightgbm": partial(scaled, lightgbm, n_estimators=15),
    "numbers logistic regression": logistic,
    "derived logistic regression": logistic,
    "breast scaled logistic regression": partial(scaled, logistic),
    "iris 3 logistic regression": logistic,
    "free ebm": ebm,
    "numbers ebm": ebm,
}
LASTING = (  # of which retrained models are kept too
    "numbers logistic regression", "free lightgbm", "haberman machine logistic", "free ebm",
)  # fmt: skip


def table_name(model):
    """The name of the table that a model was trained on."""
    return max((name for name in TABLES if model.startswith(f"{name} ")), key=len)


def path_of(name):
    return FOLDER / f"{name.replace(' ', '-')}.safetensors"


def write(model, path, schema):
    """Save a model without the states of its training."""
    if hasattr(model, "inclusion_"):
        model.save(path, states=False)
    else:
        from_model(model, schema).save(path)


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, made in MODELS.items():
        if path_of(name).exists():
            continue
        X, y, schema = table(table_name(name))
        model = made(schema).fit(X, y)
        if name in LASTING:
            for at, again in enumerate(bootstraps(made(schema), X, y, ANEW, random_state=SEED)):
                write(again, path_of(f"{RETRAINED.format(name)} {at:02}"), schema)
        write(model, path_of(name), schema)
        print(name, path_of(name).stat().st_size, flush=True)


if __name__ == "__main__":
    main()
