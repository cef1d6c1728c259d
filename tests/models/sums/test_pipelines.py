"""Pipelines are read in people's own columns: the pipeline's own numbers, bit for bit."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from laws import pipelines, trees
from laws.pipelines import a_scaler, an_imputer, of_lists, of_numbers
from laws.questions import chance, one_of
from trust_recourse import Feature, Recourse, Schema, load, verify
from trust_recourse.models import SumModel, UnreadableError, from_model
from trust_recourse.models.readers import pipelines as reader
from trust_recourse.models.readers import steps
from trust_recourse.models.readers.lifting import PulledTerms, added_up

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


def people(rng: np.random.Generator, n: int = 300) -> pd.DataFrame:
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
    return (good + rng.normal(0, 0.7, len(table)) > 2).astype(int).to_numpy()


RNG = np.random.default_rng(0)
TABLE = people(RNG)
Y = answers(RNG, TABLE)


def beside(rng, read, table, many=3):
    """Rows of people with a value of theirs at an edge of the model as read, or a float beside."""
    rows = []
    for f, feature in enumerate(read.schema_):
        edges = read.grid.edges[f]
        values = [*feature.values, *(None for each in feature.missing if each is None)]  # noqa: PD011
        if feature.kind == "number":
            values += [*edges, *np.nextafter(edges, -np.inf), *np.nextafter(edges, np.inf)]
        for value in values:
            some = table.iloc[rng.integers(0, len(table), many)].astype({feature.name: object})
            some[feature.name] = [value] * many
            rows.append(some)
    made = pd.concat(rows, ignore_index=True)
    kinds = dict.fromkeys({*NUMBERS} & {*made.columns}, float)
    return made.astype(kinds).infer_objects()


def check(given, schema=SCHEMA, table=TABLE, seed=0):
    """What is read is the pipeline, at rows of a table and beside every edge."""
    read = from_model(given, schema, table)
    rows = beside(np.random.default_rng(seed), read, table)
    theirs = np.asarray(given.predict_proba(rows)).astype(float)
    assert np.array_equal(read.predict_proba(rows), theirs)
    assert len(np.unique(theirs)) > 2
    return read


WORDS = ["job", "grade"]


def boosted():
    return HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6)


def of_parts(numbers, ahead=NUMBERS, **more):
    """Numbers by these steps, words one-hot, the rest as it is."""
    parts = [("numbers", numbers, list(ahead)), ("words", OneHotEncoder(), WORDS)]
    return ColumnTransformer(parts, remainder="passthrough", sparse_threshold=0, **more)


@pytest.mark.parametrize(
    "before",
    [
        of_parts(StandardScaler(), transformer_weights={"numbers": -1.5, "words": 0.25}),
        FeatureUnion(
            [("as", of_parts(StandardScaler())), ("so", of_parts("passthrough"))],
            transformer_weights={"as": -2.0},
        ),
        of_parts(MaxAbsScaler(clip=True)),
        ColumnTransformer(
            [("none", SimpleImputer(), []), ("words", OneHotEncoder(), WORDS)],
            remainder="passthrough", sparse_threshold=0,
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["trees", "regression"])
def test_weights_clips_and_branches_without_columns_are_read(before, end):
    last = boosted()
    if end == "regression":
        before = make_pipeline(before, SimpleImputer(), StandardScaler())
        last = LogisticRegression()
    given = make_pipeline(before, last).fit(TABLE, Y)
    if end == "trees":
        check(given)
    else:
        assert Recourse(given, SCHEMA).exact  # by rows that its library was asked about


def test_bins_that_round_first_are_not_read():
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform", dtype=np.float32)
    given = make_pipeline(of_parts(bins, ["pay"]), boosted()).fit(TABLE, Y)
    assert "rounds to float32" in Recourse(given, SCHEMA).unread


def test_a_model_that_is_read_otherwise_than_its_library_has_it_is_refused(monkeypatch):
    given = make_pipeline(of_parts(StandardScaler()), boosted()).fit(TABLE, Y)
    assert Recourse(given, SCHEMA).exact
    right = SumModel.proba_of
    monkeypatch.setattr(SumModel, "proba_of", lambda *of: right(*of) + 1e-15)
    assert "differ" in Recourse(given, SCHEMA).unread


@pytest.mark.parametrize("turned", [False, True])
def test_a_regression_may_be_calibrated_by_a_sigmoid(turned):
    before = make_pipeline(of_parts(StandardScaler()), SimpleImputer(), StandardScaler())
    calibrated = CalibratedClassifierCV(
        make_pipeline(before, LogisticRegression()), ensemble=False, method="sigmoid", cv=3
    ).fit(TABLE, Y)
    if turned:
        calibrated.calibrated_classifiers_[0].calibrators[0].a_ *= -1
        assert "turns the model round" in Recourse(calibrated, SCHEMA).unread
        return
    read = from_model(calibrated, SCHEMA, TABLE)
    assert np.allclose(read.predict_proba(TABLE), calibrated.predict_proba(TABLE), atol=1e-12)


def test_what_a_library_never_finds_enough_ends():
    """As where a model as read is sure and its library is not, for whatever reason."""
    recourse = Recourse(make_pipeline(of_parts("passthrough"), boosted()).fit(TABLE, Y), SCHEMA)
    recourse.read_model._asked = lambda _: np.array([1.0, 0.0])
    person = TABLE.iloc[int(np.argmin(recourse.model.predict_proba(TABLE)[:, 1]))]
    assert [*recourse.find(person, 0.5, time_limit=60).status.values()] == ["not_found"]


# ---------------------------------------------------------------- random pipelines


def a_pipeline(rng, kind):
    """Steps of every kind; two of the columns meet again in another."""
    parts = [
        ("pay", of_numbers(rng, True), ["pay", "age"]),
        ("debt", of_numbers(rng, kind not in pipelines.NO_BLANKS), ["debt", "pay"]),
        ("score", one_of(rng, make_pipeline(an_imputer(rng, -9), a_scaler(rng)), StandardScaler(),
                         "passthrough", "drop"), ["score"]),
        ("job", of_lists(rng, words=True), ["job"]),
        ("grade", one_of(rng, OrdinalEncoder(categories=[["low", "middle", "high"]]),
                         of_lists(rng, words=True)), ["grade"]),
    ]  # fmt: skip
    parts += [("gaps", MissingIndicator(), ["debt"])] * chance(rng, 0.3)
    before = ColumnTransformer(
        parts, remainder=one_of(rng, "passthrough", "drop", StandardScaler()),
        sparse_threshold=pipelines.a_sparsity(rng, kind),
    )  # fmt: skip
    found = [("before", before)]
    found += [("scale", MaxAbsScaler())] * chance(rng, 0.3)
    found += [("chosen", VarianceThreshold())] * chance(rng, 0.2)
    return Pipeline([*found, ("model", trees._unfitted(rng, kind, 8, 6))])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", trees.KINDS)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of bins and of categories that are unknown
def test_it_is_the_pipeline_to_the_last_bit_also_beside_every_edge(kind, seed):
    rng = np.random.default_rng([seed, trees.KINDS.index(kind)])
    table = people(rng)
    check(a_pipeline(rng, kind).fit(table, answers(rng, table)), SCHEMA, table, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", trees.KINDS)
def test_an_answer_is_that_of_enumeration_by_the_pipeline_itself(kind):
    each = [pipelines.judge(seed, kind) for seed in range(4)]
    assert [words for findings in each for words in findings.broken] == []
    counts = sum((findings.counts for findings in each[1:]), each[0].counts)
    assert counts["optimal, at_least"]
    assert counts["certificates that hold"]


def test_a_wrong_edge_breaks_the_law(monkeypatch):
    right = steps.crossings
    monkeypatch.setattr(
        "trust_recourse.models.readers.lifting.crossings",
        lambda *given: np.nextafter(right(*given), 0.0),
    )
    with pytest.raises(UnreadableError, match="differ"):
        check(make_pipeline(*_numbers(StandardScaler()), _tree()).fit(TABLE, Y))


# ---------------------------------------------------------------- one by one


def _tree():
    return DecisionTreeClassifier(max_leaf_nodes=12, random_state=0)


def _numbers(step):
    return (make_column_transformer((step, ["pay", "age"])),)


def lightgbm(**more):
    made = pytest.importorskip("lightgbm").LGBMClassifier
    return made(n_estimators=5, num_leaves=6, verbose=-1, **more)


def test_a_model_that_splits_again_on_bins_is_cut_at_their_edges_alone():
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    given = make_pipeline(*_numbers(bins), _tree()).fit(TABLE, Y)
    read = check(given)
    at = given[0].named_transformers_["kbinsdiscretizer"].bin_edges_[0][1:-1]
    assert set(read.grid.edges[0]) <= set(np.nextafter(at, -np.inf))
    assert len(read.grid.edges[0]) > 1


def test_a_clipped_scale_is_flat_beyond_its_ends():
    scale = MinMaxScaler(clip=True).fit(TABLE[TABLE.pay.between(40, 60)][["pay", "age"]])
    given = make_pipeline(*_numbers(FrozenEstimator(scale)), _tree()).fit(TABLE, Y)
    read = check(given)
    assert np.abs(read.grid.edges[0] - 50).max() <= 10


def test_names_of_a_table_go_through():
    before = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["job"]), (StandardScaler(), ["pay"]),
        remainder="drop",
    ).set_output(transform="pandas")  # fmt: skip
    check(make_pipeline(before, lightgbm()).fit(TABLE, Y))


def test_bare_arrays_are_taken_in_the_order_of_the_schema():
    schema = Schema(tuple(SCHEMA[name] for name in ("pay", "age", "score")))
    rows = TABLE[list(schema.names)]
    given = make_pipeline(StandardScaler(), KBinsDiscretizer(3, strategy="uniform"), _tree())
    read = from_model(given.fit(rows.to_numpy(), Y), schema, rows.to_numpy())
    assert np.array_equal(read.predict_proba(rows), given.predict_proba(rows.to_numpy()))
    mixed = Schema(tuple(SCHEMA[name] for name in ("pay", "job")))
    given = make_pipeline(make_column_transformer((OneHotEncoder(), [1]), (StandardScaler(), [0])),
                          _tree())  # fmt: skip
    table = TABLE[["pay", "job"]].to_numpy(object)
    from_model(given.fit(table, Y), mixed, table)


def test_codes_of_an_ordinal_encoder_may_be_categories_of_the_model():
    before = make_column_transformer(
        (OrdinalEncoder(), ["job", "grade"]), (StandardScaler(), ["pay"])
    )
    model = HistGradientBoostingClassifier(categorical_features=[0, 1], max_iter=5)
    check(make_pipeline(before, model).fit(TABLE, Y))


def test_columns_side_by_side_and_pipelines_within_pipelines():
    bins = KBinsDiscretizer(3, strategy="uniform")
    both = FeatureUnion([("bins", bins), ("same", "passthrough"), ("none", "drop")])
    forest = Pipeline([("same", "passthrough"), ("forest", RandomForestClassifier(5, n_jobs=1))])
    given = make_pipeline(*_numbers(make_pipeline(StandardScaler(), both)), forest).fit(TABLE, Y)
    check(given)
    check(FrozenEstimator(given))


def test_a_model_without_steps_may_be_frozen():
    forest = RandomForestClassifier(5, random_state=0).fit(TABLE[["pay", "age"]], Y)
    schema = Schema((SCHEMA["pay"], SCHEMA["age"]))
    check(FrozenEstimator(forest), schema, TABLE[["pay", "age"]])
    check(Pipeline([("same", "passthrough"), ("model", forest)]), schema, TABLE[["pay", "age"]])


def test_blanks_that_were_none_where_it_learnt():
    table = TABLE.astype({"job": object})
    table["job"] = table["job"].where(table["job"].notna(), None)
    before = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]))
    given = make_pipeline(before, _tree()).fit(table, Y)
    assert None in given[0].named_transformers_["onehotencoder"].categories_[0]
    read = from_model(given, SCHEMA, table)
    person = TABLE.iloc[int(np.flatnonzero(table["job"].isna())[0])]
    schema = SCHEMA.lock("job")
    assert Recourse(given, schema).confidence(person) == read.predict_proba(person)[0, 1]
    assert (
        Recourse(given, schema).library.predict_proba(schema.encode(person))[0, 1]
        == (read.predict_proba(person)[0, 1])
    )


def test_a_column_that_is_dropped_need_not_be_in_the_schema():
    before = make_column_transformer((StandardScaler(), ["pay", "age"]), ("drop", ["job"]))
    given = make_pipeline(before, _tree()).fit(TABLE, Y)
    schema = Schema((SCHEMA["pay"], SCHEMA["age"]))
    read = from_model(given, schema, TABLE[["age", "pay"]])
    assert np.array_equal(read.predict_proba(TABLE[["pay", "age"]]), given.predict_proba(TABLE))
    with pytest.raises(
        UnreadableError, match="step 'standardscaler': it takes the columns 'age', which the schema"
    ):
        from_model(given, Schema((SCHEMA["pay"],)))
    with pytest.raises(UnreadableError, match="the schema alone has the columns 'other'; the p"):
        from_model(given, Schema((*schema, Feature("other"))))


@pytest.mark.parametrize(
    ("step", "columns", "told"),
    [
        (PCA(1), ["pay", "age"], "step 'pca', PCA: it is not read; what is: Pipeline"),
        (PolynomialFeatures(), ["pay"], "step 'polynomialfeatures', PolynomialFeatures: it is not"),
        (FunctionTransformer(np.log1p), ["age"], "step 'functiontransformer', FunctionTransformer"),
        (
            OneHotEncoder(),
            ["age"],
            "takes 'age' as a category, in the schema it is of the kind int",
        ),
        (OneHotEncoder(categories=[["day", "night", None]], handle_unknown="ignore"), ["job"], ""),
    ],
)
def test_a_step_that_is_not_read_is_named(step, columns, told):
    given = make_pipeline(make_column_transformer((step, columns)), _tree()).fit(TABLE, Y)
    if told:
        with pytest.raises(UnreadableError, match=told):
            from_model(given, SCHEMA)
    asked = Recourse(given, SCHEMA)
    assert asked.exact == (not told)
    assert told in asked.unread


def test_a_value_that_the_pipeline_refuses_is_named():
    rows = TABLE[TABLE.job.notna() & (TABLE.job != "own")]
    given = make_pipeline(make_column_transformer((OneHotEncoder(), ["job"])), _tree())
    given.fit(rows, Y[rows.index])
    with pytest.raises(
        UnreadableError, match="column 'job': the schema has the value 'own', which"
    ):
        from_model(given, SCHEMA)


def test_missing_codes_that_are_told_apart_are_refused():
    schema = SCHEMA.update("score", missing=(-9, -8))
    table = TABLE.copy()
    table.loc[table.score.between(300, 400), "score"] = -8
    before = make_column_transformer((SimpleImputer(missing_values=-9), ["score"]))
    given = make_pipeline(before, _tree()).fit(table, Y)
    with pytest.raises(UnreadableError, match="column 'score': the model tells its missing codes"):
        from_model(given, schema)


def test_a_code_that_is_a_number_to_the_schema_has_a_place_of_its_own():
    schema = SCHEMA.update("score", missing=())
    before = make_column_transformer(
        (make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True)), ["pay"]),
        (SimpleImputer(missing_values=-9, add_indicator=True), ["score"]),
    )
    read = check(make_pipeline(before, _tree()).fit(TABLE, Y), schema)
    assert {-9.0, np.nextafter(-9.0, -np.inf)} <= set(read.grid.edges[6])


@pytest.mark.parametrize("code", [0, -9])
def test_a_number_column_is_not_asked_at_its_own_missing_code(code):
    schema = SCHEMA.update("score", missing=(code,))
    table = TABLE.assign(score=TABLE.score.replace(-9, code))
    steps = SimpleImputer(missing_values=code, strategy="median", add_indicator=True)
    for more in ([], [KBinsDiscretizer(4, encode="ordinal", strategy="uniform")]):
        before = make_column_transformer(
            ("passthrough", ["pay"]), (make_pipeline(steps, *more, MaxAbsScaler()), ["score"])
        )
        y = Y ^ (table.score > 600).to_numpy()
        check(make_pipeline(before, _tree()).fit(table, y), schema, table)


# ---------------------------------------------------------------- lines


def lines(inner, weights):
    """A weighted sum of a model's own columns, as a table of points with slopes."""
    none, found = np.empty(0), []
    for column, weight in zip(inner, weights, strict=True):
        values = np.array(column.values)
        listed = column.kind == "category"
        found.append((none, weight * values, 0.0 * values) if listed
                     else (none, np.zeros(1), np.array([weight])))  # fmt: skip
    return PulledTerms(*map(tuple, zip(*found, strict=True)))


def line_at(terms, codes):
    """What such a table says of rows of codes, and how large its terms are."""
    total, size = np.zeros((2, len(codes)))
    for f, feature in enumerate(SCHEMA):
        edges, points, slopes = (part[f] for part in terms)
        x = codes[:, f]
        cell = np.nan_to_num(x).astype(int) if feature.kind == "category" else edges.searchsorted(x)
        cell = np.where(np.isnan(x), len(points) - 1, cell)
        added = slopes[cell] * np.nan_to_num(x)
        total += points[cell] + added
        size += np.abs(points[cell]) + np.abs(added)
    return total, size


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sum_of_columns_is_a_sum_of_lines_of_people_s_features(seed):
    rng = np.random.default_rng(seed)
    table = people(rng)
    given = a_pipeline(rng, pipelines.NO_BLANKS[0])
    given.steps[-1] = ("model", LogisticRegression(max_iter=20, C=0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not be the best
        given.fit(table, answers(rng, table))
    inside = reader.opened(given)
    _, stage = reader._staged(inside, SCHEMA)
    lists = stage.lists()
    inner = reader._inner(stage, stage.ask({0: np.zeros(1)}), lists, False)
    terms = added_up(stage, lists, inner, lines(inner, given[-1].coef_[0]))
    rows = pd.concat([table, people(np.random.default_rng([seed, 1]))])
    ours, size = line_at(terms, SCHEMA.encode(rows))
    theirs = given.decision_function(rows) - given[-1].intercept_
    assert (np.abs(ours - theirs) <= 1e-14 * (1 + size) * len(given[-1].coef_[0])).all()
    assert theirs.std() > 0.01


# ---------------------------------------------------------------- everything downstream


def a_whole(model):
    before = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["debt", "pay"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["job"]),
        (OrdinalEncoder(categories=[["low", "middle", "high"]]), ["grade"]),
        remainder="passthrough",
    )
    return make_pipeline(before, model).fit(TABLE, Y)


def test_answers_are_enough_by_the_pipeline_s_own_word_and_proved(tmp_path):
    given = a_whole(lightgbm(min_child_samples=5))
    recourse = Recourse(given, SCHEMA, "l1")
    refused = TABLE[given.predict_proba(TABLE)[:, 1] < 0.5].head(5)
    from_model(given, SCHEMA, TABLE).save(tmp_path / "m.safetensors")
    for _, person in refused.iterrows():
        result = recourse.find(person, 0.6, certify=True)
        option = result.options[0]
        row = pd.DataFrame([option.x]).astype(TABLE.dtypes.to_dict())
        assert given.predict_proba(row)[0, 1] == option.confidence >= 0.6
        assert verify(result.certificate(), load(tmp_path / "m.safetensors"))
    assert len(refused) == 5


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("kind", [*trees.OTHERS, "histogram", "forest"])
def test_a_file_of_a_whole_pipeline_is_one_in_people_s_own_columns(tmp_path, kind):
    skops = pytest.importorskip("skops.io")
    model = trees._unfitted(np.random.default_rng(0), kind, 5, 6)
    given = a_whole(CalibratedClassifierCV(model, method="isotonic", ensemble=False, cv=2))
    skops.dump(given, tmp_path / "m.skops")
    rows = TABLE.assign(other=1)  # a table may have more
    read = from_model(tmp_path / "m.skops", SCHEMA, rows, classes=("no", "yes"))
    assert read.classes_.tolist() == ["no", "yes"]
    read.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    most = read.apart(np.zeros((1, len(SCHEMA))))[0]
    assert np.abs(again.predict_proba(TABLE) - given.predict_proba(TABLE)).max() <= most
    assert again.fingerprint_ == read.fingerprint_


@pytest.mark.usefixtures("in_this_process")
def test_a_file_of_a_pipeline_with_a_function_of_its_own_is_refused(tmp_path):
    skops = pytest.importorskip("skops.io")
    before = make_column_transformer((FunctionTransformer(os.path.basename), ["job"]))
    given = make_pipeline(before, _tree())
    skops.dump(given, tmp_path / "m.skops")
    with pytest.raises(UnreadableError, match="it holds '.*basename'; expected types of scikit-le"):
        from_model(tmp_path / "m.skops", SCHEMA)
