"""What stands beside a model: logistic regression and gradient boosting on a schema's codes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from trust_recourse.schema import Schema

Floats = NDArray[np.float64]

BASELINE = "logistic regression"
BOOSTING = "gradient boosting"
NUMBERS = ("number", "integer")
STOPS = 30  # rows of the smallest class, for a tenth of them to say when boosting ends
MANY = 255  # categories that the boosting can take as such
KNOWN = 30  # values of a column, for some to be in every part of the rows


def baselines(
    schema: Schema, codes: Floats, fewest: int, seed: int
) -> dict[str, tuple[Any, Floats]]:
    """The learners by name, and the codes for each; `fewest` rows to learn from are of one class.

    Missing is NaN. A column that is hardly ever known is constant to the boosting, which refuses to
    learn from one that is never known in a part of the rows.
    """
    rare = (~np.isnan(codes)).sum(axis=0) < KNOWN
    return {
        BASELINE: (regression(schema), codes),
        BOOSTING: (boosting(schema, fewest, seed), np.where(rare, 0.0, codes)),
    }


def regression(schema: Schema, kinds: Collection[str] = NUMBERS) -> Any:
    """A logistic regression: these kinds are standardised, in the schema's order, others one-hot.

    Missing numbers are the median, and marked.
    """
    numeric = [at for at, f in enumerate(schema.features) if f.kind in kinds]
    listed = [at for at in range(len(schema)) if at not in numeric]
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    columns = make_column_transformer(
        (make_pipeline(impute, StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore"), listed),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=10_000))


def boosting(schema: Schema, fewest: int, seed: int) -> Any:
    """Histogram gradient boosting that takes categories and missing values as they are.

    It ends when a tenth of the rows gets no better, where there are enough: its usual 100 trees
    overfit small tables, and beside that any model looks good.
    """
    listed = [f.kind == "category" and len(f.values) <= MANY for f in schema.features]
    return HistGradientBoostingClassifier(
        categorical_features=np.array(listed), early_stopping=fewest >= STOPS, random_state=seed
    )
