"""Pipelines are read in people's own columns: the pipeline's own numbers, bit for bit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from trust_recourse import Feature, Recourse, Schema, load
from trust_recourse.certificate import verify
from trust_recourse.sums import UnreadableError, adopt, known

SCHEMA = Schema(
    (
        Feature("pay", scale=20.0, step=0.5),
        Feature("debt", missing=(None,), scale=5.0, step=0.25),
        Feature("age", "integer", scale=30.0, lower=18, upper=80),
        Feature("job", "category", values=("day", "night", "none", "own"), missing=(None,)),
        Feature("grade", "ordinal", values=("low", "middle", "high")),
        Feature("home", "boolean"),
        Feature("score", missing=(-9,), scale=100.0, step=5),
    )
)
NUMBERS = ["pay", "debt", "age", "score"]


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Rows as people's tables have them: text, booleans, whole numbers, blanks and codes."""
    return pd.DataFrame(
        {
            "pay": rng.normal(50, 15, n).round(1),
            "debt": np.where(rng.random(n) < 0.2, np.nan, rng.exponential(3, n).round(2)),
            "age": rng.integers(18, 81, n),
            "job": rng.choice(["day", "night", "none", "own", None], n),
            "grade": rng.choice(["low", "middle", "high"], n),
            "home": rng.random(n) < 0.5,
            "score": np.where(rng.random(n) < 0.1, -9, rng.integers(300, 850, n)),
        }
    ).infer_objects()


def answers(rng: np.random.Generator, table: pd.DataFrame) -> np.ndarray:
    good = (table.pay > 50).astype(float) + (table.debt.fillna(1) < 2) + (table.job == "own")
    good = good + table.home + (table.grade == "high") - (table.score == -9)
    return np.where(good + rng.normal(0, 0.7, len(table)) > 2, "yes", "no")


# ---------------------------------------------------------------- random pipelines


def a_scaler(rng):
    return [
        StandardScaler(with_mean=bool(rng.random() < 0.8), with_std=bool(rng.random() < 0.8)),
        MinMaxScaler(clip=bool(rng.random() < 0.5)),
        MinMaxScaler((-1, 3)),
        MaxAbsScaler(),
        RobustScaler(with_centering=bool(rng.random() < 0.8), quantile_range=(10, 80)),
    ][rng.integers(5)]


def an_imputer(rng, code=math.nan):
    way = str(rng.choice(["mean", "median", "most_frequent", "constant"]))
    return SimpleImputer(missing_values=code, strategy=way, add_indicator=bool(rng.random() < 0.5))


def bins(rng):
    way = str(rng.choice(["ordinal", "onehot", "onehot-dense"]))
    return KBinsDiscretizer(
        int(rng.integers(2, 6)), encode=way, strategy=str(rng.choice(["uniform", "kmeans"])),
        random_state=0,
    )  # fmt: skip


def of_numbers(rng, blanks):
    """Steps for columns of numbers; what takes blanks may also leave them to the model."""
    steps = [a_scaler(rng)] * bool(rng.random() < 0.3)
    if not blanks or rng.random() < 0.6:
        steps.append(an_imputer(rng))
    if rng.random() < 0.3 and any(isinstance(s, SimpleImputer) for s in steps):
        steps.append(bins(rng))
        if steps[-1].encode == "ordinal" and rng.random() < 0.5:
            steps.append(OneHotEncoder(handle_unknown="ignore"))
    if rng.random() < 0.5:
        sparse = any(isinstance(s, (OneHotEncoder, KBinsDiscretizer)) for s in steps)
        steps.append(MaxAbsScaler() if sparse else a_scaler(rng))
    return make_pipeline(*steps) if steps else "passthrough"


def of_words(rng):
    steps = []
    if rng.random() < 0.5:
        steps.append(SimpleImputer(strategy="constant", fill_value="unknown"))
    steps.append(
        [
            OneHotEncoder(),
            OneHotEncoder(drop="first", handle_unknown="ignore"),
            OneHotEncoder(drop="if_binary"),
            OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist"),
            OneHotEncoder(max_categories=3, sparse_output=False),
            OrdinalEncoder(),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            OrdinalEncoder(encoded_missing_value=-2, min_frequency=60),
            TargetEncoder(),
        ][rng.integers(9)]
    )
    return make_pipeline(*steps)


def a_model(rng, kind):
    seed = int(rng.integers(1000))
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=8, num_leaves=6, verbose=-1, random_state=seed,
            zero_as_missing=bool(rng.random() < 0.3),
        )  # fmt: skip
    if kind == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=8, max_depth=3, random_state=seed)
    if kind == "catboost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            iterations=8, depth=3, verbose=0, allow_writing_files=False, random_seed=seed
        )
    return {
        "histogram": HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6),
        "gradient boosting": GradientBoostingClassifier(n_estimators=8, random_state=seed),
        "forest": RandomForestClassifier(8, max_depth=4, random_state=seed, n_jobs=2),
        "extra trees": ExtraTreesClassifier(8, max_depth=4, random_state=seed),
        "tree": DecisionTreeClassifier(max_depth=5, random_state=seed),
    }[kind]


KINDS = (
    "lightgbm", "xgboost", "catboost", "histogram", "gradient boosting", "forest", "extra trees",
    "tree",
)  # fmt: skip


def a_pipeline(rng, kind):
    blanks = kind not in ("gradient boosting",)
    parts = [
        ("pay", of_numbers(rng, True), ["pay", "age"]),
        ("debt", of_numbers(rng, blanks), ["debt", "pay"]),
        ("score", [make_pipeline(an_imputer(rng, -9), a_scaler(rng)), StandardScaler(),
                   "passthrough", "drop"][rng.integers(4)], ["score"]),
        ("job", of_words(rng), ["job"]),
        ("grade", [OrdinalEncoder(categories=[["low", "middle", "high"]]), of_words(rng)]
                  [rng.integers(2)], ["grade"]),
    ]  # fmt: skip
    if rng.random() < 0.3:
        parts.append(("gaps", MissingIndicator(), ["debt"]))
    before = ColumnTransformer(
        parts, remainder=["passthrough", "drop", StandardScaler()][rng.integers(3)],
        sparse_threshold=0.0 if kind == "histogram" else float(rng.choice([0.0, 0.3, 1.0])),
    )  # fmt: skip
    steps = [("before", before)]
    if rng.random() < 0.3:
        steps.append(("scale", MaxAbsScaler()))
    if rng.random() < 0.2:
        steps.append(("chosen", VarianceThreshold()))
    return Pipeline([*steps, ("model", a_model(rng, kind))])


def beside(rng, read, table, many=3):
    """Rows of people with a value of theirs at an edge of the model as read, or a float beside."""
    rows = []
    for f, feature in enumerate(SCHEMA):
        if feature.kind == "number":
            edges = read.grid.edges[f]
            found = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        else:
            found = [*feature.values, *(None for _ in feature.missing)]
        for value in found:
            some = table.iloc[rng.integers(0, len(table), many)].copy()
            some[feature.name] = some[feature.name].astype(object if value is None else "object")
            some[feature.name] = [value] * many
            rows.append(some)
    made = pd.concat(rows, ignore_index=True).infer_objects()
    for name in NUMBERS:
        made[name] = made[name].astype(float)
    return made[~made.score.isna()].reset_index(drop=True)


def labelled(kind, y):
    return (y == "yes").astype(int) if kind == "xgboost" else y


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bits(kind, seed):
    if kind in ("lightgbm", "xgboost", "catboost"):
        pytest.importorskip(kind)
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    table = people(rng, 300)
    given = a_pipeline(rng, kind).fit(table, labelled(kind, answers(rng, table)))
    read = adopt(given, SCHEMA, table)
    rows = beside(rng, read, table)
    assert len(rows) > 30
    theirs = given.predict_proba(rows)
    if kind == "forest":
        given.set_params(model__n_jobs=1)
        theirs = given.predict_proba(rows)
    assert np.array_equal(read.predict_proba(rows), theirs.astype(float))
    assert len(np.unique(theirs)) > 5
