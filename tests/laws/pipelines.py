"""Random pipelines around trees of every library, asked by tables of people's own values."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from threadpoolctl import threadpool_limits

from laws import checks, trees
from laws.enumeration import is_blank, numeric
from laws.questions import a_cost, a_listed, a_number, a_schema, chance, one_of

NO_BLANKS = ("gradient boosting", "regression")
ENDS = (*trees.KINDS, "regression")  # of pipelines
ALONE = ("ebm",)  # that take people's own values as they are


def a_scaler(rng):
    return one_of(
        rng,
        StandardScaler(with_mean=chance(rng, 0.8), with_std=chance(rng, 0.8)),
        MinMaxScaler(clip=chance(rng, 0.5)),
        MinMaxScaler((-1, 3)),
        MaxAbsScaler(),
        RobustScaler(with_centering=chance(rng, 0.8), quantile_range=(10, 80)),
    )


def an_imputer(rng, code=math.nan):
    way = one_of(rng, "mean", "median", "most_frequent", "constant")
    return SimpleImputer(
        missing_values=code, strategy=way, add_indicator=chance(rng, 0.5), keep_empty_features=True
    )


def bins(rng):
    return KBinsDiscretizer(
        int(rng.integers(2, 6)), encode=one_of(rng, "ordinal", "onehot", "onehot-dense"),
        strategy=one_of(rng, "uniform", "kmeans"), random_state=0,
    )  # fmt: skip


def of_numbers(rng, blanks, code=math.nan):
    """Steps for columns of numbers; with blanks, these may be left to the model."""
    steps = [a_scaler(rng)] * (math.isnan(code) and chance(rng, 0.3))
    if not blanks or chance(rng, 0.6):
        steps.append(an_imputer(rng, code))
        if chance(rng, 0.4):
            steps.append(bins(rng))
            if steps[-1].encode == "ordinal" and chance(rng, 0.5):
                steps.append(OneHotEncoder(handle_unknown="ignore"))
    if chance(rng, 0.5):
        several = any(isinstance(step, (OneHotEncoder, KBinsDiscretizer)) for step in steps)
        steps.append(MaxAbsScaler() if several else a_scaler(rng))
    return make_pipeline(*steps) if steps else "passthrough"


def words(feature):
    """Whether some of its values are text."""
    return trees.text(feature) or any(isinstance(code, str) for code in feature.missing)


def of_lists(rng, words):
    """Steps for a column of listed values."""
    steps = [SimpleImputer(strategy="constant", fill_value="unknown")] * (
        words and chance(rng, 0.4)
    )
    strange = {"handle_unknown": "use_encoded_value", "unknown_value": one_of(rng, -1, math.nan)}
    steps.append(
        one_of(
            rng,
            OneHotEncoder(handle_unknown="ignore"),
            OneHotEncoder(drop="first", handle_unknown="ignore"),
            OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
            OneHotEncoder(min_frequency=0.2, handle_unknown="infrequent_if_exist"),
            OneHotEncoder(max_categories=3, handle_unknown="ignore", sparse_output=False),
            OrdinalEncoder(**strange | {"unknown_value": -1}, encoded_missing_value=-2),
            OrdinalEncoder(**strange | {"unknown_value": -1}, min_frequency=0.2,
                           encoded_missing_value=-2),
            TargetEncoder(cv=2),
        )
    )  # fmt: skip
    return make_pipeline(*steps)


def a_sparsity(rng, kind):
    """From which share of zeros on they are left out; scikit-learn's own take no blanks then."""
    return one_of(rng, 0.0, 0.3, 1.0) if kind in (*trees.OTHERS, *NO_BLANKS) else 0.0


class Piped(trees.Library):
    """A fitted pipeline, asked as people ask it."""

    family = "pipeline"

    def seen(self, table: pd.DataFrame) -> Any:
        """The table as people have it."""
        found = {}
        for feature in self.schema:
            values = [math.nan if is_blank(v) else v for v in table[feature.name].tolist()]
            kind = float if numeric(feature) else object
            column = pd.Series(values, dtype=kind)
            mixed = (feature.kind == "boolean" and feature.missing) or words(feature)
            found[feature.name] = column if mixed else column.infer_objects()
        return pd.DataFrame(found)[self.columns]

    def learnt(self, table: pd.DataFrame, y: np.ndarray) -> Piped:
        with warnings.catch_warnings():  # of bins that are left out, and of columns without values
            warnings.simplefilter("ignore")
            self.given.fit(self.seen(table), y)
        return self

    def predict_proba(self, table: pd.DataFrame) -> np.ndarray:
        with warnings.catch_warnings():  # of categories that were not known
            warnings.simplefilter("ignore")
            return np.asarray(self.given.predict_proba(self.seen(table))).astype(float)

    @property
    def thresholds_(self) -> list[np.ndarray]:
        """Nothing is continuous or without an end here."""
        return [np.empty(0) for _ in self.schema]


def a_place(rng, kind, *, rows=None, room=trees.ROOM, features=(1, 4), most=(7, 5)):
    """As that of trees, of features that all have steps and ends; `most` trees and leaves."""
    n = int(rng.integers(features[0], features[1] + 1))
    drawn = [_a_feature(rng, f"f{k}", max(2, round(room ** (1 / n)))) for k in range(n)]
    drawn = trees.again(rng, drawn, rows) if rows else drawn
    drawn, schema = a_schema(rng, drawn)
    table = pd.DataFrame({feature.name: column for feature, column, _ in drawn})
    y = trees.some_labels(rng, schema, table)
    model = trees._unfitted(
        rng, kind, int(rng.integers(1, most[0] + 1)), int(rng.integers(2, most[1] + 1))
    )
    names = [str(name) for name in rng.permutation(schema.names)]
    given = model if kind in ALONE else make_pipeline(*_before(rng, schema, kind), model)
    try:
        piped = Piped(kind, given, schema, names, set()).learnt(table, y)
    except ValueError as error:
        if "variance threshold" not in str(error):
            raise
        return a_place(rng, kind, rows=rows, room=room, features=features, most=most)
    return drawn, schema, table, piped, a_cost(rng, schema), None


def _a_feature(rng, name, room):
    while True:
        what = one_of(rng, "number", "integer", "boolean", "ordinal", "category")
        made = (a_number if what in ("number", "integer") else a_listed)(rng, name, what, room)
        mixed = {type(v) for v in (*made[0].values, *made[0].missing) if v is not None}  # noqa: PD011
        if made[0].kind == "boolean":
            mixed.add(bool)
        ends = made[0].step, made[0].lower, made[0].upper
        if (
            (not numeric(made[0]) or None not in ends)
            and len(made[0].missing) < 2
            and len(mixed) < 2
        ):
            return made


def _before(rng, schema, kind):
    blanks = kind not in NO_BLANKS
    parts = []
    for feature in schema:
        if numeric(feature):
            code = feature.missing[0] if feature.missing else math.nan
            blank = feature.missing == (None,)
            code = math.nan if code is None or chance(rng, 0.3) else code
            steps = of_numbers(rng, blanks or not blank, code)
            if blank and chance(rng, 0.2) and steps != "passthrough":
                steps = FeatureUnion([("values", steps), ("gaps", MissingIndicator())])
        else:
            steps = of_lists(rng, words(feature))
        parts.append((feature.name, steps, [feature.name]))
    if len(parts) > 1 and chance(rng, 0.2):
        parts[0] = (parts[0][0], "drop", parts[0][2])
    found = [ColumnTransformer(parts, sparse_threshold=a_sparsity(rng, kind))]
    found += [MaxAbsScaler()] * chance(rng, 0.3) + [VarianceThreshold()] * chance(rng, 0.2)
    return found


def judge(seed: int, kind: str | None = None) -> checks.Findings:
    """All laws of an answer by one pipeline."""
    kind = kind or trees.KINDS[seed % len(trees.KINDS)]
    with threadpool_limits(1):
        findings = checks.judge(seed, partial(a_place, kind=kind), ())
    findings.counts[kind] += findings.counts.pop("Piped", 0)
    return findings
