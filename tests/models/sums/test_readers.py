"""Every reader's model is the library's, to the last bit, wherever a row may lie."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from trust_recourse import Feature, Recourse, Schema
from trust_recourse.models.readers.columns import last_left
from trust_recourse.models.readers.library import UnreadableError, from_model, known

N = 120
few = settings(max_examples=25)
seeds = st.integers(0, 2**32 - 1)


def library(name):
    """A mark for tests that need a library."""
    return pytest.mark.skipif(
        find_spec(name) is None, reason=f"{name} is absent: pip install 'trust-recourse[trees]'"
    )


OTHERS = ("lightgbm", "xgboost", "catboost")  # than scikit-learn
KINDS = ["tree", "forest", "extra trees", "gradient boosting", "histogram", *OTHERS]
THERE = [kind for kind in KINDS if kind not in OTHERS or find_spec(kind)]
every_kind = pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k in THERE else library(k)) for k in KINDS]
)
NATIVE = ("histogram", *OTHERS)  # those that know categories


# ---------------------------------------------------------------- random models


def features(kind, rng):
    """Columns of every kind that a library takes, in the schema's own order."""
    blank = {} if kind == "gradient boosting" else {"missing": (None,)}
    jobless = () if kind == "catboost" else (None,)  # it takes no blanks among categories
    found = [
        Feature("real", **blank),
        Feature("rounded", missing=(1.0,)),
        Feature("whole", "integer"),
        Feature("yes no", "boolean"),
        Feature("level", "ordinal", values=(1, 2, 5, 4)),
        Feature("coded", "category", values=(0, 1, 2, 3, 7)),
    ]
    if kind in NATIVE:
        found += [
            Feature("job", "category", values=("a", "b", "c", "d", "e", "f"), missing=jobless),
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


def frame(schema, rows, kinds=(str,)):
    """What a library is given: people's own values, text, and maybe numbers, as categories."""
    table = schema.decode(rows)
    for name, values, kind in ((each.name, list(each.values), each.kind) for each in schema):
        if values and isinstance(values[0], kinds):
            if isinstance(values[0], int):
                table[name] = table[name].astype(int)
            table[name] = pd.Categorical(table[name], values, ordered=kind == "ordinal")
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
    if kind == "catboost":
        return catboost_model(rng, n, depth, X).fit(X, y)
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


def catboost_model(rng, n, depth, X):
    from catboost import CatBoostClassifier

    words = [*X.select_dtypes("category")] if isinstance(X, pd.DataFrame) else []
    grow = str(rng.choice(["SymmetricTree", "Lossguide", "Depthwise"]))
    return CatBoostClassifier(
        iterations=n, depth=depth, cat_features=words, one_hot_max_size=20, grow_policy=grow,
        nan_mode=str(rng.choice(["Min", "Max"])), learning_rate=0.3, thread_count=1, verbose=0,
        boost_from_average=bool(rng.random() < 0.5), random_seed=int(rng.integers(1000)),
        allow_writing_files=False,
    )  # fmt: skip


def near(edges):
    """Each edge and its neighbours, as floats and as float32."""
    single = edges.astype(np.float32)
    with np.errstate(over="ignore"):  # CatBoost splits off NaN at the least of all float32
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
    kinds = (str, int) if kind in NATIVE and rng.random() < 0.3 else (str,)
    X = frame(schema, rows, kinds)
    X = X[rng.permutation(X.columns)]
    with threadpool_limits(1):
        given = fitted(kind, X, labels(schema, rows, rng), rng)
    read = from_model(given, schema)

    def rows_of(each):
        return frame(schema, each, kinds)[X.columns]

    tried = rows_of(probing(read, rng))
    return SimpleNamespace(kind=kind, given=given, read=read, X=tried, frame=rows_of)


def raw(kind, given, X):
    if kind == "lightgbm":
        return given.predict(X, raw_score=True)
    if kind == "xgboost":
        return given.predict(X, output_margin=True)
    if kind == "catboost":
        return given.predict(X, prediction_type="RawFormulaVal")
    if kind in ("gradient boosting", "histogram"):
        return given.decision_function(X)
    return None  # of forests only the mean is told


# ---------------------------------------------------------------- the laws


@every_kind
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


@every_kind
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


@every_kind
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


@every_kind
def test_the_map_is_the_library_s_far_out_too(kind):
    made = world(kind, 1)
    scores = np.concatenate([np.linspace(-900, 900, 37), [-88.7, -88.8, -103.9, 88.8, 0.0]])
    scores = scores.astype(made.read.arithmetic).astype(float)
    told = told_by_library(made, scores)
    assert (made.read.confidence(scores) == told[:, 1]).all()
    assert made.read.flipped or (made.read.confidence(scores, 0) == told[:, 0]).all()


def told_by_library(made, scores):
    """The probabilities that the library itself makes of scores, (n, 2)."""
    given, kind = made.given, made.kind
    if kind == "lightgbm":
        yes = np.array([constant(given, len(made.read.trees), score) for score in scores])
        return np.column_stack([1.0 - yes, yes])
    if kind == "xgboost":
        from xgboost import DMatrix

        X = made.frame(np.zeros((len(scores), 8)))
        rows = DMatrix(X, base_margin=np.array(scores, np.float32), enable_categorical=True)
        yes = emptied(given).predict(rows)
        return np.column_stack([np.float32(1) - yes, yes]).astype(float)
    if kind in ("gradient boosting", "histogram"):
        return given._loss.predict_proba(np.array(scores))
    if kind == "catboost":
        row = made.frame(np.zeros((1, 8)))[given.feature_names_]
        return np.array([shifted(given, score).predict_proba(row)[0] for score in scores])
    return np.column_stack([np.zeros(len(scores)), np.array(scores) / len(made.read.trees)])


def shifted(given, score):
    """CatBoost's model with nothing left of its trees, and a bias."""
    other = given.copy()
    other.set_scale_and_bias(0.0, float(score))
    return other


def constant(given, n, score):
    """What LightGBM says of a score: its first tree has it for its only leaf, the others have 0."""
    from lightgbm import Booster

    head = given.booster_.model_to_string().partition("tree_sizes")[0]
    tree = "Tree={}\nnum_leaves=1\nnum_cat=0\nleaf_value={!r}\nis_linear=0\nshrinkage=1\n\n\n"
    trees = "".join(tree.format(t, 0.0 if t else float(score)) for t in range(n))
    return Booster(model_str=f"{head}\n{trees}end of trees\n").predict(np.zeros((1, 8)))[0]


@cache
def emptied(given):
    """A model of XGBoost with the value 0 in every leaf."""
    from xgboost import Booster

    whole = json.loads(given.get_booster().save_raw("json"))
    for tree in whole["learner"]["gradient_booster"]["model"]["trees"]:
        ends = zip(tree["left_children"], tree["split_conditions"], strict=True)
        tree["split_conditions"] = [0.0 if left < 0 else each for left, each in ends]
    return Booster({"nthread": 1}, model_file=bytearray(json.dumps(whole).encode()))


@every_kind
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
    for kind in THERE:
        for seed in range(6):
            made = world(kind, seed)
            X = made.frame(codes(made.read.schema_, np.random.default_rng(seed), 250))
            from_model(made.given, made.read.schema_, X)
            judged += len(X)
    assert judged >= 10_000 * len(THERE) / len(KINDS)


@every_kind
def test_the_random_models_split_on_every_kind_of_column_and_both_ways(kind):
    models = [world(kind, seed).read for seed in range(12)]
    met, missing, zeros = set(), set(), set()
    for model in models:
        for tree in model.trees:
            for node in np.flatnonzero(tree.feature >= 0):
                feature = model.schema_[int(tree.feature[node])]
                met.add(feature.name)
                if feature.missing:
                    missing.add((feature.name, bool(tree.missing_left[node])))
                zeros.add(int(tree.zero_left[node]))
    assert met == {name for model in models for name in model.schema_.names}
    blank = {"rounded"} if kind == "gradient boosting" else {"rounded", "real"}
    assert {(name, goes) for name in blank for goes in (False, True)} <= missing
    assert zeros == ({-1, 0, 1} if kind == "lightgbm" else {-1})


@every_kind
def test_long_sums_are_the_library_s_too(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 3))
    y = (X.sum(axis=1) + rng.normal(size=N) > 0).astype(int)
    n = {"n_estimators": 300}
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        given = LGBMClassifier(**n, num_leaves=4, n_jobs=1, verbose=-1).fit(X, y)
    elif kind == "xgboost":
        from xgboost import XGBClassifier

        given = XGBClassifier(**n, max_depth=2, n_jobs=1).fit(X, y)
    elif kind == "catboost":
        from catboost import CatBoostClassifier

        given = CatBoostClassifier(**n, depth=2, verbose=0, allow_writing_files=False).fit(X, y)
    else:
        from sklearn import ensemble, tree

        given = {
            "tree": tree.DecisionTreeClassifier(),
            "forest": ensemble.RandomForestClassifier(**n, n_jobs=2),
            "extra trees": ensemble.ExtraTreesClassifier(**n),
            "gradient boosting": ensemble.GradientBoostingClassifier(**n, max_depth=2),
            "histogram": ensemble.HistGradientBoostingClassifier(max_iter=300, max_leaf_nodes=4),
        }[kind]
        with threadpool_limits(1):
            given.fit(X, y)
    read = from_model(given, Schema(tuple(Feature(f"x{j}") for j in range(3))), X)
    cells = read.grid.cells(X)
    apart = np.abs(read.at(cells) - read.exact_at(cells)).max()
    assert apart <= read.rounding
    assert apart > 0 or kind in ("tree", "forest", "extra trees")
    assert read.rounding < (1e-2 if kind == "xgboost" else 1e-10)


@given(st.floats(-(2.0**120), 2.0**120, width=32))
def test_an_edge_is_the_last_double_that_rounds_down(low):
    edge = float(last_left(low))
    assert np.float32(edge) == np.float32(low)
    assert np.float32(np.nextafter(edge, np.inf)) > np.float32(low)


@every_kind
@few
@given(seed=seeds)
def test_the_library_is_asked_by_codes_as_it_takes_rows(kind, seed):
    made = world(kind, seed)
    _, library = known(made.given, made.read.schema_)
    rows = made.read.schema_.encode(made.X)
    assert (library.predict_proba(rows) == made.given.predict_proba(made.X)).all()


@every_kind
def test_a_library_that_learnt_on_a_bare_array_is_asked_by_one(kind):
    X, y = table()
    seed = np.random.default_rng(3)
    with threadpool_limits(1):
        given = fitted(kind, X.to_numpy(), y, seed)
    _, library = known(given, Schema((Feature("a"), Feature("b", "integer"), Feature("c"))))
    assert (library.predict_proba(X.to_numpy()) == given.predict_proba(X.to_numpy())).all()


# ---------------------------------------------------------------- forms of a model


def table(n=N, n_classes=2):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 5, n), "c": rng.normal(size=n)})
    y = pd.cut(X.a + rng.normal(size=n) / 3, n_classes, labels=False).to_numpy()
    return X, y


NUMBERS = Schema((Feature("c"), Feature("b", "integer"), Feature("a")))
IN_PLACE = Schema((Feature("a"), Feature("b", "category", values=(0, 1, 2, 3, 4)), Feature("c")))


@library("lightgbm")
def test_a_booster_of_lightgbm_is_read_up_to_its_best_round_and_its_codes_as_categories():
    import lightgbm

    X, y = table()
    params = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_per_group": 1}
    whole = lightgbm.train(params, lightgbm.Dataset(X, y), 5)
    assert from_model(whole, NUMBERS, X).classes_.tolist() == [0, 1]
    X.columns = ["Column_0", "Column_1", "Column_2"]
    named = lightgbm.train(params, lightgbm.Dataset(X, y), 5)
    from_model(named, Schema(tuple(Feature(name) for name in X.columns[::-1])), X)
    params |= {"learning_rate": 0.9, "min_data_in_leaf": 2, "cat_smooth": 1, "cat_l2": 0.1}
    learnt = lightgbm.Dataset(X.to_numpy(), y, categorical_feature=[1], params=params)
    best = lightgbm.train(params, learnt, 20)
    assert any((tree.feature == 1).any() for tree in from_model(best, IN_PLACE, X.to_numpy()).trees)
    best.best_iteration = 3
    assert len(from_model(best, IN_PLACE, X.to_numpy()).trees) == 3


@library("lightgbm")
@pytest.mark.parametrize("threshold", ["1e-40", "0", "-0", "-1e-40", "-1e-35", "1e-35", "2e-35"])
def test_lightgbm_reads_what_is_next_to_zero_as_zero(threshold):
    import lightgbm

    X, y = table()
    params = {"objective": "binary", "verbose": -1, "num_threads": 1}
    text = lightgbm.train(params, lightgbm.Dataset(X[["a"]], y), 3).model_to_string()
    text = re.sub(r"\ntree_sizes=.*", "", text)
    text = re.sub(r"\nthreshold=\S+", f"\nthreshold={threshold}", text)
    beside = near(np.array([1e-40, 1e-35, float(np.float32(1e-35)), 2e-35, 1e-30]))
    model = lightgbm.Booster(model_str=text)
    read = from_model(model, Schema((Feature("a"),)), np.concatenate([beside, -beside])[:, None])
    assert len(read.grid.edges[0]) > 0


@library("xgboost")
def test_a_booster_of_xgboost_is_read_whole_a_classifier_up_to_its_best_round():
    import xgboost

    X, y = table()
    params = {"objective": "binary:logistic", "max_cat_to_onehot": 1, "nthread": 1}
    rows = xgboost.DMatrix(X.to_numpy(), y, feature_types=["q", "c", "q"])
    booster = xgboost.train(params, rows, 5)
    read = from_model(booster, IN_PLACE, X.to_numpy())
    assert any((tree.feature == 1).any() for tree in read.trees)
    best = xgboost.XGBClassifier(
        n_estimators=60, learning_rate=0.9, early_stopping_rounds=3, n_jobs=1
    )  # fmt: skip
    best.fit(X[:60], y[:60], eval_set=[(X[60:], y[60:])], verbose=False)
    assert len(from_model(best, NUMBERS, X).trees) == best.best_iteration + 1 < 60
    assert len(from_model(best.get_booster(), NUMBERS, X).trees) > best.best_iteration + 1
    forest = xgboost.XGBRFClassifier(n_estimators=7, max_depth=3, n_jobs=1).fit(X, y)
    assert len(from_model(forest, NUMBERS, X).trees) == 7


@pytest.mark.parametrize("kind", ["histogram", pytest.param("lightgbm", marks=library("lightgbm"))])
def test_a_category_that_was_not_learnt_on_goes_where_the_library_sends_it(kind):
    X, y = table()
    y = (X.b % 2 ^ y).to_numpy()
    X["b"] = pd.Categorical(X.b.map(str).where(X.b < 4), [*"0123"])
    schema = Schema((Feature("a"), Feature("b", "category", values=(*"01234", "?")), Feature("c")))
    rows = X.assign(b=np.resize([*"01234?"], N))
    if kind == "lightgbm":
        model = lightgbm_model(np.random.default_rng(0), 9)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=3)
    read = from_model(model.fit(X, y), schema, rows.astype({"b": pd.CategoricalDtype([*"01234?"])}))
    assert any((tree.feature == 1).any() for tree in read.trees)


def test_the_other_class_of_a_forest_has_a_sum_of_its_own():
    read = world("forest", 1).read
    cells = read.grid.cells(read.schema_.encode(world("forest", 1).X))
    told = world("forest", 1).given.predict_proba(world("forest", 1).X)
    other = read.flipped
    assert other.classes_.tolist() == [1, 0]
    assert (other.confidence(other.at(cells)) == told[:, 0]).all()
    assert (1.0 - told[:, 1] != told[:, 0]).any()


def test_a_fingerprint_names_all_that_answers_depend_on():
    read, again = (
        from_model(world("tree", 0).given, world("tree", 0).read.schema_),
        world("tree", 1),
    )
    assert read.fingerprint_ == world("tree", 0).read.fingerprint_ != again.read.fingerprint_


# ---------------------------------------------------------------- what cannot be read


def told(model, schema=NUMBERS, X=None):
    with pytest.raises(UnreadableError) as error:
        from_model(model, schema, X)
    return str(error.value)


def test_scikit_learn_s_models_that_cannot_be_read_are_told():
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y = table()
    assert "KNeighborsClassifier; expected a tree" in told(KNeighborsClassifier().fit(X, y))
    assert "call fit first" in told(DecisionTreeClassifier())
    both = DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    assert "2 outputs" in told(both)
    started = GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2).fit(X, y)
    assert "init=LogisticRegression: only a constant" in told(started)
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    assert "takes no blanks" in told(boosted, NUMBERS.update("a", missing=(None,)))


def test_a_schema_that_is_not_the_model_s_is_told():
    from sklearn.tree import DecisionTreeClassifier

    X, y = table()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert "the model alone has the columns 'b', 'c'" in told(model, Schema((Feature("a"),)))
    bare = DecisionTreeClassifier(random_state=0).fit(X.to_numpy(), y)
    assert "has 3 columns" in told(bare, Schema((Feature("a"),)))
    renamed = Feature("b", "category", values=("0", "1", "2", "3", "4"))
    text = Schema((Feature("a"), renamed, Feature("c")))
    assert "the value '0', but the model has no categories" in told(model, text)
    coded = NUMBERS.update("a", missing=(-9.0, 9.0))
    assert "tells its missing codes apart (-9.0, 9.0)" in told(model, coded)
    model.predict_proba = lambda X: np.full((len(X), 2), 0.5)
    assert "row 7: the library says [0.5, 0.5], as read" in told(model, NUMBERS, X[7:])


@library("lightgbm")
def test_lightgbm_s_models_that_cannot_be_read_are_told():
    import lightgbm

    X, y = table()
    quiet = {"verbose": -1, "n_jobs": 1, "n_estimators": 2}
    linear = lightgbm.LGBMClassifier(linear_tree=True, **quiet).fit(X, y)
    assert "linear trees" in told(linear)
    own = lightgbm.LGBMClassifier(objective=lambda y, z: (z - y, np.ones_like(z)), **quiet)
    assert "objective one of your own: only binary" in told(own.fit(X, y))
    apart = lightgbm.LGBMClassifier(objective="multiclassova", **quiet)
    assert "objective multiclassova" in told(apart.fit(*table(n_classes=3)))
    assert "call fit first" in told(lightgbm.LGBMClassifier())
    X["b"] = X.b.map(str).astype("category")
    model = lightgbm.LGBMClassifier(**quiet).fit(X, y)
    assert "has 1 columns of pandas categories, the schema 0" in told(model)
    other = Feature("b", "category", values=("x", "y"))
    assert "the categories '0', '1'" in told(model, Schema((Feature("a"), other, Feature("c"))))


@library("xgboost")
def test_xgboost_s_models_that_cannot_be_read_are_told():
    from xgboost import XGBClassifier

    X, y = table()
    small = {"n_estimators": 2, "n_jobs": 1}
    linear = XGBClassifier(booster="gblinear", **small).fit(X, y)
    assert "booster gblinear" in told(linear)
    assert "booster dart" in told(XGBClassifier(booster="dart", **small).fit(X, y))
    raw = XGBClassifier(objective="binary:hinge", **small).fit(X, y)
    assert "objective binary:hinge" in told(raw)
    assert "missing=0" in told(XGBClassifier(missing=0.0, **small).fit(X, y))
    assert "call fit first" in told(XGBClassifier())
    X["b"] = X.b.astype("category")
    model = XGBClassifier(enable_categorical=True, **small).fit(X, y)
    assert "is a category in the model" in told(model)
    wider = Feature("b", "category", values=(0, 1, 2, 3, 4, 9))
    assert "the value 9, which the model was not" in told(
        model, Schema((Feature("a"), wider, Feature("c")))
    )


# ---------------------------------------------------------------- CatBoost


def catboost_of(X, y, kind="CatBoostClassifier", **more):
    made = getattr(import_module("catboost"), kind)
    small = {"iterations": 5, "depth": 2, "verbose": 0, "allow_writing_files": False}
    return made(**small | more).fit(X, y)


@library("catboost")
@pytest.mark.parametrize(
    ("settings_", "missing", "says"),
    [
        ({}, (), "target statistics"),
        ({"one_hot_max_size": 9}, (None,), "no blanks among categories"),
    ],
)
def test_what_cannot_be_read_of_catboost_gets_a_sentence(settings_, missing, says):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"real": rng.normal(size=80), "job": pd.Categorical(rng.choice([*"abcd"], 80))}
    )
    y = ((X["job"] == "a") | (X["job"] == "c")).astype(int)
    schema = Schema(
        (Feature("real"), Feature("job", "category", values=[*"abcd"], missing=missing))
    )
    with pytest.raises(UnreadableError, match=says):
        from_model(catboost_of(X, y, cat_features=["job"], **settings_), schema)


@library("catboost")
def test_a_bias_of_catboost_comes_last():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    given = catboost_of(X, (X.sum(axis=1) > 0).astype(int))
    given.set_scale_and_bias(1.0, 0.1)
    read = from_model(given, Schema((Feature("a"), Feature("b"))), X)
    assert read.base == 0.0
    given.set_scale_and_bias(2.0, 0.1)
    with pytest.raises(UnreadableError, match="scaled by 2"):
        from_model(given, Schema((Feature("a"), Feature("b"))))


# ---------------------------------------------------------------- what a newcomer gives


@library("lightgbm")
def test_a_code_is_refused_where_the_model_learnt_of_blanks():
    X = np.arange(80.0).reshape(-1, 1) % 8
    y = (X[:, 0] > 3).astype(int)
    X[::5] = math.nan
    given = lightgbm_model(np.random.default_rng(0), 3, random_state=0)
    given.set_params(boosting_type="gbdt", use_missing=True, zero_as_missing=False)
    given.fit(X, y)
    with pytest.raises(UnreadableError, match="code -9 a number; declare blanks missing in the"):
        from_model(given, Schema((Feature("a", missing=(-9,)),)))
    from_model(given, Schema((Feature("a", missing=(None,)),)), X)


@library("xgboost")
def test_labels_that_xgboost_cuts_off_are_named():
    from xgboost import XGBClassifier

    X = pd.DataFrame({"a": pd.Categorical(["≥ 200", "none"] * 20)})
    given = XGBClassifier(n_estimators=2, enable_categorical=True).fit(X, [0, 1] * 20)
    with pytest.raises(UnreadableError, match="beyond ASCII .* '≥ 200'; write it in ASCII"):
        from_model(given, Schema((Feature("a", "category", values=("≥ 200", "none")),)))


def test_only_the_columns_that_differ_are_named():
    from sklearn.tree import DecisionTreeClassifier

    X = pd.DataFrame(np.eye(12), columns=[f"column {at}" for at in range(12)])
    given = DecisionTreeClassifier().fit(X, [0, 1] * 6)
    schema = Schema(tuple(Feature(name) for name in [*X.columns[:-1], "Column 11"]))
    says = (
        "the model alone has the columns 'column 11' and the schema alone has the columns 'Column"
    )
    with pytest.raises(UnreadableError, match=says):
        from_model(given, schema)
    with pytest.raises(ValueError, match="limit it by n_trials .*'Column 11'"):
        Recourse(given, schema).find(pd.Series(0.0, schema.names), 0.5, time_limit=1)


def test_a_table_is_no_schema():
    X = pd.DataFrame({"a": [0.0, 1.0]})
    with pytest.raises(TypeError, match=r"schema is a DataFrame; expected a Schema, .*infer\(X\)"):
        Recourse(lambda rows: rows["a"], X)


@library("lightgbm")
def test_lists_of_categories_go_to_the_columns_that_have_them():
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "job": pd.Categorical(rng.choice(["clerk", "nurse", "cook"], 300)),
            "grade": rng.integers(1, 5, 300).astype(float),
            "owner": rng.integers(0, 2, 300).astype(bool),
        }
    )
    y = ((X["grade"] > 2) ^ (X["owner"] & (X["job"] == "cook"))).astype(int)
    X["owner"] = X["owner"].astype("category")
    given = LGBMClassifier(n_estimators=9, num_leaves=6, verbose=-1).fit(X, y)
    job = Feature("job", "category", values=("clerk", "cook", "nurse"))
    grade = Feature("grade", "ordinal", values=(1, 2, 3, 4))
    read = from_model(given, Schema((job, grade, Feature("owner", "boolean"))), X)
    assert (read.predict_proba(X) == given.predict_proba(X)).all()
    other = Feature("more", "ordinal", values=(1, 2, 3, 4))
    X = X[["job", "grade"]].assign(more=X["grade"].astype("category"))
    given = LGBMClassifier(n_estimators=9, num_leaves=6, verbose=-1).fit(X, y)
    with pytest.raises(UnreadableError, match="which are which, and there are several"):
        from_model(given, Schema((job, grade, other)))


@library("lightgbm")
def test_what_changes_predictions_alone_is_refused():
    from lightgbm import LGBMClassifier

    X = np.arange(60.0).reshape(-1, 1)
    given = LGBMClassifier(n_estimators=9, pred_early_stop=True, verbose=-1)
    with pytest.raises(UnreadableError, match="pred_early_stop: it changes what is predicted"):
        from_model(given.fit(X, X[:, 0] > 30), Schema((Feature("a"),)))


@pytest.mark.parametrize(
    ("kind", "name", "unread"),
    [
        pytest.param(
            "lightgbm", "LGBMClassifier", {"linear_tree": True}, marks=library("lightgbm")
        ),
        pytest.param("xgboost", "XGBClassifier", {"booster": "dart"}, marks=library("xgboost")),
    ],
)
def test_models_that_are_not_read_are_asked_by_the_categories_they_learnt(kind, name, unread):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"pay": rng.normal(size=200), "job": rng.choice(["none", "day", "own"], 200)})
    y = (X.pay + (X.job == "own") > 0.5).astype(int)
    learnt = X.astype({"job": pd.CategoricalDtype(["own", "none", "day"])})
    quiet = {"verbose": -1} if kind == "lightgbm" else {"enable_categorical": True}
    model = getattr(import_module(kind), name)(n_estimators=5, n_jobs=1, **unread, **quiet)
    recourse = Recourse(model.fit(learnt, y), Schema.infer(X))
    assert not recourse.exact
    theirs = model.predict_proba(learnt)[:, 1].astype(float)
    assert recourse.confidences(recourse.schema.encode(X)).tolist() == theirs.tolist()
    x = X.iloc[int(np.argmin(theirs))]
    (option,) = recourse.find(x, 0.5, n_trials=80).options
    row = option.x.to_frame().T.astype(learnt.dtypes)
    assert float(model.predict_proba(row)[0, 1]) == option.confidence >= 0.5
