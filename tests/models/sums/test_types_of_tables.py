"""Rows of every numeric type: stated confidences are the library's, or the type is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from trust_recourse import Feature, PTMClassifier, Recourse, Schema, from_model

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(50, 15, (200, 3)).clip(0, 100).round(1), columns=["a", "b", "c"])
Y = (X.a + X.b - X.c + RNG.normal(0, 9, 200) > 50).astype(int).to_numpy()
SCHEMA = Schema(tuple(Feature(name, lower=0, upper=100, step=0.1, scale=20.0) for name in X))


def scaled(last):
    return make_pipeline(StandardScaler(), last)


def lightgbm():
    made = pytest.importorskip("lightgbm").LGBMClassifier
    return made(n_estimators=8, num_leaves=4, n_jobs=1, verbose=-1)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=8, max_depth=2, n_jobs=1)


IN_TYPE_OF_TABLE = {
    "regression": LogisticRegression,
    "scaled regression": lambda: scaled(LogisticRegression()),
    "scaled tree": lambda: scaled(DecisionTreeClassifier(max_leaf_nodes=6)),
}
OTHERS = {
    "forest": lambda: RandomForestClassifier(6, max_leaf_nodes=4),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=4),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "machine": lambda: PTMClassifier(n_clauses=10, epochs=3, schema=SCHEMA, random_state=0),
}
GIVEN = {  # one person, and how to take one row out of a table
    "series": lambda table: table.iloc[3],
    "table": lambda table: table.iloc[[3]],
    "dict": lambda table: dict(table.iloc[3]),
    "array": lambda table: table.iloc[3].to_numpy(),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("kind", IN_TYPE_OF_TABLE)
def test_float32_is_refused_where_the_library_computes_in_it(kind, given):
    single = X.astype(np.float32)
    recourse = Recourse(IN_TYPE_OF_TABLE[kind]().fit(single, Y), SCHEMA, cost="l1")
    x = GIVEN[given](single)
    for ask in (recourse.find, recourse.confidence, recourse.frontier, recourse.reachable):
        with pytest.raises(ValueError, match=r"given float32.*expected that.*astype\(float\)"):
            ask(x)


def test_tables_of_float32_are_refused_too():
    single = X.astype(np.float32)
    model = scaled(LogisticRegression()).fit(single, Y)
    recourse = Recourse(model, SCHEMA)
    for table in (single, X.assign(b=single.b), single.astype("Float32")):
        with pytest.raises(ValueError, match="given float32"):
            recourse.find_many(table.head(2))
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="given float32"):
        recourse.find_many(polars.from_pandas(single.head(2)))
    with pytest.raises(ValueError, match="given float32"):
        from_model(model, SCHEMA, single)


@pytest.mark.parametrize("kind", [*IN_TYPE_OF_TABLE, *OTHERS])
@pytest.mark.parametrize("dtype", ["float64", "int8", "int32", "uint16", "float32"])
def test_stated_confidences_are_the_library_s_own(kind, dtype):
    if dtype == "float32" and kind in IN_TYPE_OF_TABLE:
        return
    table = (X if dtype.startswith("float") else X.round()).astype(dtype)
    model = (IN_TYPE_OF_TABLE | OTHERS)[kind]().fit(table, Y)
    recourse = Recourse(model, SCHEMA, cost="l1")
    assert recourse.exact
    met = 0
    for at in range(4):
        said = float(model.predict_proba(table.iloc[[at]])[0, 1])
        assert recourse.confidence(table.iloc[at]) == pytest.approx(said, abs=1e-15)
        stated = recourse.find(table.iloc[at], [0.6, 0.8])
        for option in stated.options:
            row = option.x.to_frame().T.astype(float)
            own = float(model.predict_proba(row)[0, 1])
            assert own == pytest.approx(option.confidence, abs=1e-15)
            again = recourse.find(table.iloc[at], min(own, 0.999))  # a stated level is met
            assert again.options[0].confidence >= min(own, 0.999) - 1e-9
            met += 1
    assert met > 3
