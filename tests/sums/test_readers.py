"""Every reader's model is the library's, to the last bit, wherever a row may lie."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trust_recourse import Feature, Schema
from trust_recourse.sums import adopt
from trust_recourse.sums.columns import last_left

N = 120
few = settings(max_examples=25)
seeds = st.integers(0, 2**32 - 1)


def library(name):
    return pytest.mark.skipif(
        find_spec(name) is None, reason=f"{name} is absent: pip install 'trust-recourse[trees]'"
    )


KINDS = [
    *("tree", "forest", "extra trees", "gradient boosting", "histogram"),
    pytest.param("lightgbm", marks=library("lightgbm")),
    pytest.param("xgboost", marks=library("xgboost")),
]
NATIVE = ("histogram", "lightgbm", "xgboost")  # those that know categories, and blanks in them


# ---------------------------------------------------------------- random models


def features(kind, rng):
    """Columns of every kind that a library takes, in the schema's own order."""
    blank = {} if kind == "gradient boosting" else {"missing": (None,)}
    found = [
        Feature("real", **blank),
        Feature("rounded", missing=(-9.0,)),
        Feature("whole", "integer"),
        Feature("yes no", "boolean"),
        Feature("level", "ordinal", values=(1, 2, 5, 4)),
        Feature("coded", "category", values=(0, 1, 2, 3, 7)),
    ]
    if kind in NATIVE:
        found += [
            Feature("job", "category", values=("a", "b", "c", "d", "e", "f"), missing=(None,)),
            Feature("grade", "ordinal", values=("low", "mid", "high", "top")),
        ]
    return Schema(tuple(found[j] for j in rng.permutation(len(found))))


def codes(schema, rng, n):
    """Rows of codes: zeros, numbers next to 0, ties and missing values among them."""
    columns = []
    for feature in schema:
        if feature.kind in ("number", "integer"):
            column = rng.normal(0, 2, n)
            if feature.name != "real":
                column = column.round()
            column[rng.random(n) < 0.15] = 0.0
            if feature.name == "real":
                column[rng.random(n) < 0.1] = rng.choice([1e-35, -1e-35, 1e-40, 5e-324, 3e-35])
        else:
            column = rng.integers(0, len(feature.values) or 2, n).astype(float)
        if feature.missing:
            column[rng.random(n) < rng.choice([0.0, 0.2])] = math.nan
        columns.append(column)
    return np.column_stack(columns)


def frame(schema, rows):
    """What a library is given: people's own values, text as pandas categories."""
    table = schema.decode(rows)
    for feature in schema:
        if feature.values and isinstance(feature.values[0], str):
            ordered = feature.kind == "ordinal"
            table[feature.name] = pd.Categorical(table[feature.name], feature.values, ordered)
    return table


def labels(schema, rows, rng):
    score = np.nan_to_num(rows) @ rng.normal(size=len(schema)) + rng.normal(size=len(rows))
    y = (score > np.quantile(score, rng.uniform(0.2, 0.8))).astype(int)
    y[:2] = 0, 1
    return y


def fitted(kind, X, y, rng):
    seed, depth = int(rng.integers(1000)), int(rng.integers(1, 5))
    n = int(rng.integers(1, 12))
    if kind == "lightgbm":
        return lightgbm_model(rng, n).fit(X, y)
    if kind == "xgboost":
        return xgboost_model(rng, n, depth).fit(X, y)
    from sklearn import ensemble, tree

    if kind == "histogram":
        made = ensemble.HistGradientBoostingClassifier(
            max_iter=n, max_leaf_nodes=8, min_samples_leaf=3, random_state=seed,
            categorical_features=rng.choice(["from_dtype", "coded"]), early_stopping=False,
        )  # fmt: skip
        if made.categorical_features == "coded":
            made.set_params(categorical_features=["coded", "job", "grade"])
        return made.fit(X, y)
    if kind == "gradient boosting":
        start = None if rng.random() < 0.7 else "zero"
        loss = "log_loss" if rng.random() < 0.7 else "exponential"
        made = ensemble.GradientBoostingClassifier(
            n_estimators=n, max_depth=depth, init=start, loss=loss, random_state=seed
        )
    elif kind == "tree":
        made = tree.DecisionTreeClassifier(max_depth=depth, random_state=seed)
    else:
        made = {"forest": ensemble.RandomForestClassifier}.get(kind, ensemble.ExtraTreesClassifier)
        made = made(n_estimators=n, max_depth=depth, random_state=seed)
    return made.fit(X, y)


def lightgbm_model(rng, n, **more):
    from lightgbm import LGBMClassifier

    boosting = rng.choice(["gbdt", "dart", "rf"])
    bagging = {"bagging_freq": 1, "bagging_fraction": 0.7} if boosting == "rf" else {}
    return LGBMClassifier(
        n_estimators=n, num_leaves=int(rng.integers(2, 12)), min_child_samples=3, n_jobs=1,
        boosting_type=boosting, zero_as_missing=rng.random() < 0.3, use_missing=rng.random() < 0.8,
        min_data_per_group=3, cat_smooth=1.0, max_cat_to_onehot=int(rng.choice([1, 4, 8])),
        sigmoid=float(rng.choice([1.0, 0.7])), verbose=-1, **bagging, **more,
    )  # fmt: skip


def xgboost_model(rng, n, depth):
    from xgboost import XGBClassifier

    start = {} if rng.random() < 0.5 else {"base_score": float(rng.uniform(0.01, 0.99))}
    return XGBClassifier(
        n_estimators=n, max_depth=depth, enable_categorical=True, n_jobs=1, **start,
        tree_method=rng.choice(["hist", "approx"]), num_parallel_tree=int(rng.choice([1, 3])),
        max_cat_to_onehot=int(rng.choice([1, 10])), subsample=0.8, min_child_weight=0.1,
    )  # fmt: skip


def near(edges):
    """Each edge and its neighbours, as floats and as float32."""
    single = edges.astype(np.float32)
    beside = [np.nextafter(single, np.float32(end)).astype(float) for end in (-np.inf, np.inf)]
    single = single.astype(float)
    middle = [(single + each) / 2 for each in beside]
    each = [edges, single, *beside, *middle]
    turned = [np.nextafter(x, end) for x in (edges, *middle) for end in (-np.inf, np.inf)]
    found = np.unique(np.concatenate([*each, *turned, [0.0, -0.0, 1e-35, -1e-35, 1e-45]]))
    return found[np.abs(found) < 3e38]


def probing(model, rng):
    """Rows anywhere, and rows that have one feature at an edge, missing, or of each category."""
    schema = model.schema_
    found = [codes(schema, rng, 30)]
    for f, feature in enumerate(schema):
        if feature.kind == "number":
            values = near(model.grid.edges[f])
            values = values[~np.isin(values, feature.missing)]
        elif feature.kind == "integer":
            values = np.arange(-8.0, 9.0)
        else:
            values = np.arange(float(len(feature.values) or 2))
        values = np.append(values, [math.nan] * (len(feature.missing) > 0))
        rows = codes(schema, rng, len(values))
        rows[:, f] = values
        found.append(rows)
    return np.concatenate(found)


@cache
def world(kind, seed):
    """A random model, what the library takes, and the same model as it was read."""
    rng = np.random.default_rng(seed)
    schema = features(kind, rng)
    rows = codes(schema, rng, N)
    X = frame(schema, rows)
    X = X[rng.permutation(X.columns)]
    given = fitted(kind, X, labels(schema, rows, rng), rng)
    read = adopt(given, schema)
    tried = frame(schema, probing(read, rng))
    return SimpleNamespace(kind=kind, given=given, read=read, X=tried[X.columns])


def raw(kind, given, X):
    if kind == "lightgbm":
        return given.predict(X, raw_score=True)
    if kind == "xgboost":
        return given.predict(X, output_margin=True)
    if kind in ("gradient boosting", "histogram"):
        return given.decision_function(X)
    return None  # of forests only the mean is told


# ---------------------------------------------------------------- the laws


@pytest.mark.parametrize("kind", KINDS)
@few
@given(seed=seeds)
def test_probabilities_and_scores_are_the_library_s_to_the_last_bit(kind, seed):
    made = world(kind, seed)
    read = made.read
    assert (read.predict_proba(made.X) == made.given.predict_proba(made.X)).all()
    cells = read.grid.cells(read.schema_.encode(made.X))
    score, told = read.at(cells), raw(kind, made.given, made.X)
    assert told is None or (score == told).all()
    assert (np.abs(score - read.exact_at(cells)) <= read.rounding).all()
    assert len(np.unique(score)) > 1 or len(read.leaves.term) == len(read.trees)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(seed=seeds)
def test_every_row_lies_in_one_leaf_of_each_tree_that_adds_what_it_says(kind, seed):
    read = world(kind, seed).read
    rng = np.random.default_rng(seed)
    sizes, leaves = read.grid.sizes, read.leaves
    cells = rng.integers(0, sizes, (20, len(sizes))).astype(np.int32)
    at = read.grid.first_cell + cells
    inside = leaves.allowed[:, at].all(axis=2).T
    assert (np.diff(leaves.term) >= 0).all()
    for row, exact in zip(inside, read.exact_at(cells), strict=True):
        assert (leaves.term[row] == np.arange(len(read.trees))).all()
        assert math.isclose(math.fsum([read.base, *leaves.value[row]]), exact, abs_tol=1e-15)
    blocks = np.logical_or.reduceat(leaves.allowed, read.grid.first_cell, axis=1)
    assert blocks.all()


@pytest.mark.parametrize("kind", KINDS)
@few
@given(seed=seeds, asked=st.floats(0.001, 0.999))
def test_what_is_needed_is_the_first_score_that_the_library_calls_enough(kind, seed, asked):
    made = world(kind, seed % 8)
    read = made.read
    for wanted, towards in ((1, -1.0), (0, 1.0)):
        if wanted == 0 and read.flipped is not None:
            continue
        score = read.needed(asked, wanted)
        before = float(np.nextafter(np.array([score], read.arithmetic), towards * np.inf)[0])
        enough, short = told_by_library(made, [score, before])[:, wanted]
        assert short < asked <= enough


def told_by_library(made, scores):
    """The probabilities that the library itself makes of scores, (n, 2)."""
    given, kind = made.given, made.kind
    if kind == "lightgbm":
        from lightgbm import Booster

        head, _, tree = given.booster_.model_to_string().partition("\nTree=0")
        head = head[: head.index("tree_sizes")]
        one = "{}\nTree=0\nnum_leaves=1\nnum_cat=0\nleaf_value={!r}\nis_linear=0\nshrinkage=1\n\n\n"
        ends = "end of trees\n"
        divisor = made.read.link.divisor
        if divisor > 1:  # a mean of as many trees: the sum is told by `at`
            return np.column_stack([made.read.confidence(np.array(scores), w) for w in (0, 1)])
        yes = [
            Booster(model_str=one.format(head, score) + ends).predict(np.zeros((1, 8)))[0]
            for score in scores
        ]
        return np.column_stack([1.0 - np.array(yes), yes])
    if kind == "xgboost":
        from xgboost import Booster, DMatrix

        whole = json.loads(given.get_booster().save_raw("json"))
        for tree in whole["learner"]["gradient_booster"]["model"]["trees"]:
            ends = zip(tree["left_children"], tree["split_conditions"], strict=True)
            tree["split_conditions"] = [0.0 if left < 0 else each for left, each in ends]
        rows = DMatrix(frame(made.read.schema_, np.zeros((2, 8)))[made.X.columns],
                       enable_categorical=True)  # fmt: skip
        rows.set_base_margin(np.array(scores, np.float32))
        yes = Booster(model_file=bytearray(json.dumps(whole).encode())).predict(rows)
        return np.column_stack([np.float32(1) - yes, yes])
    if kind in ("gradient boosting", "histogram"):
        return given._loss.predict_proba(np.array(scores))
    n = len(made.read.trees)
    return np.column_stack([np.full(len(scores), math.nan), np.array(scores) / n])


@pytest.mark.parametrize("kind", KINDS)
@few
@given(seed=seeds, asked=st.floats(0.001, 0.999))
def test_around_what_is_needed_the_map_goes_up_only(kind, seed, asked):
    read = world(kind, seed % 8).read
    score = np.array([read.needed(asked)], read.arithmetic)
    up, down = [score], [score]
    for _ in range(300):
        up.append(np.nextafter(up[-1], np.inf, dtype=read.arithmetic))
        down.append(np.nextafter(down[-1], -np.inf, dtype=read.arithmetic))
    assert (read.confidence(np.concatenate(up)) >= asked).all()
    assert (read.confidence(np.concatenate(down[1:])) < asked).all()


def test_ten_thousand_rows_are_predicted_again():
    judged = 0
    for each in KINDS:
        kind = each if isinstance(each, str) else each.values[0]
        if kind in ("lightgbm", "xgboost") and find_spec(kind) is None:
            continue
        for seed in range(6):
            rng = np.random.default_rng(seed)
            made = world(kind, seed)
            X = frame(made.read.schema_, codes(made.read.schema_, rng, 250))[made.X.columns]
            adopt(made.given, made.read.schema_, X)
            judged += len(X)
    assert judged >= (10_000 if find_spec("lightgbm") and find_spec("xgboost") else 7_500)


@given(st.floats(-1e38, 1e38, width=32))
def test_an_edge_is_the_last_double_that_rounds_down(low):
    edge = float(last_left(low))
    assert np.float32(edge) == np.float32(low)
    assert np.float32(np.nextafter(edge, np.inf)) > np.float32(low)
