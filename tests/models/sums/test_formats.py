"""Libraries' own files: each is read as the model that its library wrote, or is told why not."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from test_readers import THERE, catboost_of, library, lightgbm_model, table, world

from trust_recourse import Feature, Schema, from_model
from trust_recourse.io.files import FileError
from trust_recourse.models.readers.library import UnreadableError, imported, read_file

DATA = Path(__file__).parents[2] / "data" / "libraries"
KEPT = {  # the format of each file that is kept, and what reads it
    "lightgbm.txt": ("LightGBM text", "lightgbm"),
    "xgboost.json": ("XGBoost JSON", "xgboost"),
    "xgboost.ubj": ("XGBoost UBJSON", "xgboost"),
    "catboost.json": ("CatBoost JSON", "catboost"),
    "histogram.skops": ("skops", "skops"),
}
WRITERS = ("lightgbm", "xgboost", "catboost")  # of files of their own
every_file = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=library(KEPT[name][1])) for name in KEPT]
)
SCHEMA = Schema.from_yaml(DATA / "schema.yaml")
ROWS = pd.read_csv(DATA / "rows.csv")


def saved(kind, given, folder):
    """A model in its library's own file."""
    if kind == "lightgbm":
        given.booster_.save_model(folder / "m")
    elif kind == "xgboost":
        (folder / "m").write_bytes(given.get_booster().save_raw("ubj"))
    elif kind == "catboost":
        given.save_model(folder / "m", format="json")
    else:
        import skops.io

        skops.io.dump(given, folder / "m")
    return folder / "m"


# ---------------------------------------------------------------- what is read


@every_file
def test_a_file_is_read_in_a_process_of_its_own_and_compared(name):
    found = imported(DATA / name, SCHEMA, ROWS)
    told = json.loads((DATA / "told.json").read_text())[name]["confidence"]
    assert (found.format, found.named) == (KEPT[name][0], True)
    said = found.model.predict_proba(ROWS[[*SCHEMA.names]])[:, 1]
    np.testing.assert_allclose(said, told, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", THERE)
def test_a_model_is_the_same_from_its_file(kind, tmp_path):
    if kind not in WRITERS and find_spec("skops") is None:
        pytest.skip("skops is absent: pip install 'trust-recourse[trees]'")
    for seed in range(5):
        made = world(kind, seed)
        schema = made.read.schema_
        rows = schema.decode(schema.encode(made.X))
        again = read_file(saved(kind, made.given, tmp_path), schema, rows).model
        assert again.fingerprint_ == made.read.fingerprint_


@pytest.mark.usefixtures("in_this_process")
def test_classes_are_named_in_the_order_of_the_model(tmp_path):
    read = from_model(str(DATA / "lightgbm.txt"), SCHEMA, classes=["refused", "granted"])
    assert read.classes_.tolist() == ["refused", "granted"]
    plain = from_model(DATA / "lightgbm.txt", SCHEMA)
    assert plain.classes_.tolist() == [0, 1]
    rows = ROWS[[*SCHEMA.names]]
    assert (read.predict_proba(rows) == plain.predict_proba(rows)).all()
    for wrong in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="classes"):
            from_model(DATA / "lightgbm.txt", SCHEMA, classes=wrong)


@library("xgboost")
def test_a_classifier_of_xgboost_ends_with_its_best_round_in_its_file_too(tmp_path):
    from xgboost import XGBClassifier

    X, y = table()
    model = XGBClassifier(n_estimators=40, learning_rate=0.9, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[:60], y[:60], eval_set=[(X[60:], y[60:])], verbose=False)
    schema = Schema(tuple(Feature(name) for name in X))
    model.save_model(tmp_path / "m.json")
    assert len(read_file(tmp_path / "m.json", schema, X).model.trees) == model.best_iteration + 1
    model.get_booster().save_model(tmp_path / "b.json")
    assert len(read_file(tmp_path / "b.json", schema, X).model.trees) > model.best_iteration + 1


@library("lightgbm")
@pytest.mark.usefixtures("in_this_process")
def test_columns_without_names_are_in_the_order_of_the_schema(tmp_path):
    X, y = table()
    model = lightgbm_model(np.random.default_rng(0), 3).fit(X.to_numpy(), y)
    path = saved("lightgbm", model, tmp_path)
    schema = Schema(tuple(Feature(name) for name in X))
    found = read_file(path, schema, X)
    assert not found.named
    assert from_model(path, schema, X.to_numpy()).fingerprint_ == found.model.fingerprint_


@library("catboost")
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("grow", ["SymmetricTree", "Lossguide", "Depthwise"])
def test_catboost_s_file_is_the_model_that_was_saved(grow, named, tmp_path):
    """To the last bit, which the library itself is not when it has read it."""
    X, y = credit()
    schema = Schema(
        (
            Feature("pay", missing=(None,)),
            Feature("job", "category", values=("clerk", "nurse", "no one's", "≥ 2 jobs")),
            Feature("rooms", "ordinal", values=(1, 2, 3, 4)),
            Feature("owner", "boolean"),
        )
    )
    given = X if named else X.to_numpy(object)
    model = catboost_of(given, y, cat_features=[1, 2, 3], one_hot_max_size=9, grow_policy=grow)
    path = saved("catboost", model, tmp_path)
    found = read_file(path, schema, X)
    assert (found.named, found.compared) == (named, len(X))
    assert (found.model.predict_proba(X) == model.predict_proba(given)).all()
    assert found.model.fingerprint_ == from_model(model, schema).fingerprint_
    unknown = X.assign(job="no one's")  # of whom it learnt nothing
    told = model.predict_proba(unknown if named else unknown.to_numpy(object))
    assert (found.model.predict_proba(unknown) == told).all()


def credit():
    """Numbers, blanks, words, whole numbers and booleans, and what is made of all of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "pay": np.where(rng.random(300) < 0.1, np.nan, rng.normal(size=300)),
            "job": rng.choice(["clerk", "nurse", "≥ 2 jobs"], 300),
            "rooms": rng.integers(1, 5, 300),
            "owner": rng.random(300) < 0.5,
        }
    )
    worth = X["pay"].fillna(-1) + (X["job"] == "clerk") + (X["rooms"] == 3) - X["owner"]
    return X, (worth + rng.normal(0, 0.3, 300) > 0.2).to_numpy()


@library("catboost")
@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [0, 1], [-1, 7], [0.5, 2.0], ["0", "1"]]
)
def test_classes_of_catboost_s_file_are_those_it_learnt(labels, tmp_path):
    X, y = credit()
    pay = Schema((Feature("pay", missing=(None,)),))
    model = catboost_of(X[["pay"]], np.array(labels)[y.astype(int)])
    read = read_file(saved("catboost", model, tmp_path), pay, X).model
    assert read.classes_.tolist() == model.classes_.tolist() == labels
    assert read.classes_.dtype == model.classes_.dtype
    entropy = catboost_of(X[["pay"]], y.astype(float), loss_function="CrossEntropy")
    read = read_file(saved("catboost", entropy, tmp_path), pay, X).model
    assert read.classes_.tolist() == [0, 1]


@library("catboost")
@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({"one_hot_max_size": 2}, r"m: CatBoost: it splits by target statistics .*\(CTR\)"),
        ({"loss_function": "MultiClass"}, "CatBoost, loss MultiClass: it has 2 sums for 2"),
        ({"regression": True}, "m: CatBoost: the model has no classes; expected a CatBoostClass"),
        ({"scale": 2.0}, "m: CatBoost: its sum is scaled by 2; expected a scale of 1"),
        ({"job": Feature("job")}, "'job' is a category in the model, in the schema .* number: de"),
        ({"job": Feature("job", "category", values=(1.5, 2.5))}, "schema has 1.5, 2.5; write them"),
        (
            {"job": Feature("job", "category", values=("Clerk", "Nurse"))},
            "the schema has none, jus",
        ),
        ({"job": Feature("job", "category", values=("a",), missing=(None,))}, "takes no blanks"),
    ],
)
def test_what_cannot_be_read_of_catboost_s_file_gets_a_sentence(settings_, says, tmp_path):
    told = {"one_hot_max_size": 9, "cat_features": ["job"], **settings_}
    job = told.pop("job", Feature("job", "category", values=("clerk", "nurse", "≥ 2 jobs")))
    classes, scale = told.pop("classes", 2), told.pop("scale", 1.0)
    X, y = credit()
    y = y + (classes - 2) * (X["rooms"] == 1).to_numpy()
    kind = "CatBoostRegressor" if told.pop("regression", False) else "CatBoostClassifier"
    model = catboost_of(X[["pay", "job"]], y, kind, **told)
    if scale != 1:
        model.set_scale_and_bias(scale, 0.0)
    with pytest.raises(UnreadableError, match=says):
        read_file(saved("catboost", model, tmp_path), Schema((Feature("pay"), job)))


@pytest.mark.parametrize(
    ("name", "needs"),
    [("lightgbm.txt", "LightGBM needs lightgbm"), ("catboost.json", "CatBoost needs catboost")],
)
def test_some_files_are_read_without_their_library(name, needs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, KEPT[name][1], None)
    assert len(read_file(DATA / name, SCHEMA).model.trees) >= 5
    with pytest.raises(ModuleNotFoundError, match=rf"{needs}.*recourse\[trees\]"):
        read_file(DATA / name, SCHEMA, ROWS)


@pytest.mark.parametrize(
    ("name", "package"), [("xgboost.ubj", "xgboost"), ("histogram.skops", "skops")]
)
def test_what_reading_needs_is_named(name, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"needs {package}.*trust-recourse\[trees\]"):
        read_file(DATA / name, SCHEMA)


# ---------------------------------------------------------------- what is not


class Trap:
    """Whoever unpickles it, learns of it."""

    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


@pytest.mark.usefixtures("in_this_process")
def test_a_pickle_is_never_opened_and_the_way_round_is_told(tmp_path):
    path = tmp_path / "m.pkl"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(Trap(), protocol))
        with pytest.raises(FileError, match="a pickle.*save_model.*skops.io.dump"):
            from_model(path, SCHEMA)
    for packed in (0, "zlib", "gzip", "bz2", "xz", "lzma"):
        joblib.dump(Trap(), path, compress=(packed, 3) if packed else 0)
        with pytest.raises(FileError, match="a pickle, or packed as joblib"):
            read_file(path, SCHEMA)
    assert not Trap.sprung
    joblib.load(path)
    assert Trap.sprung, "there was something to spring"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no file that is known; expected LightGBM text, XGBoost JSON, "),
        (b"<?xml version='1.0'?><PMML/>", "no file that is known"),
        (b'{"model": 3}', "no file that is known"),
        (b"tree\n", "damaged|objective one of your own"),
        (b'{"learner": 3}', "damaged"),
        (b"PK\x03\x04 and so on", "damaged"),
        (b"tree\n\xff\xfe", "damaged.*UnicodeDecodeError"),
        (b'{"features_info": 3}', "damaged"),
        (b'{"features_info": {}', "damaged.*Expecting"),
        (b'{"ctr_data": {}, "features_info": {}}', "damaged"),
        (b'{"features_info": {}, "features_info": {}}', "is given more than once in one object"),
    ],
)
def test_what_is_no_model_is_told(content, message, tmp_path):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ValueError, match=message) as told:
        read_file(tmp_path / "m", SCHEMA)
    assert str(tmp_path / "m") in str(told.value)
    assert len(str(told.value)) < 1200


@pytest.mark.usefixtures("in_this_process")
def test_files_that_are_not_there_too_long_or_ours_already(tmp_path, monkeypatch):
    with pytest.raises(FileError, match="no such file"):
        read_file(tmp_path / "m", SCHEMA)
    from_model(DATA / "lightgbm.txt", SCHEMA).save(tmp_path / "m")
    with pytest.raises(FileError, match="a file as `import` writes it; every"):
        read_file(tmp_path / "m", SCHEMA)
    monkeypatch.setattr("trust_recourse.models.readers.formats.MOST_BYTES", 100)
    with pytest.raises(FileError, match="more than 100 bytes"):
        read_file(DATA / "lightgbm.txt", SCHEMA)


@library("skops")
def test_a_file_of_skops_holds_known_types_alone(tmp_path):
    import skops.io
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.tree import DecisionTreeClassifier

    X, y = table()
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    tree.extra = Trap()
    skops.io.dump(tree, tmp_path / "m")
    with pytest.raises(UnreadableError, match="holds '.*Trap'; expected types of scikit-learn, N"):
        read_file(tmp_path / "m", SCHEMA)
    skops.io.dump(CategoricalNB().fit(np.abs(X), y), tmp_path / "m")
    with pytest.raises(UnreadableError, match="CategoricalNB; expected a tree"):
        read_file(tmp_path / "m", SCHEMA)
    with zipfile.ZipFile(tmp_path / "m", "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros", bytes(10**7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trust_recourse.models.readers.sklearn._MOST_BYTES", 10**6)
        with pytest.raises(UnreadableError, match="unpacks to 10,.* bytes; at most 1,000,000"):
            read_file(tmp_path / "m", SCHEMA)


@pytest.mark.usefixtures("in_this_process")
def test_a_file_whose_rows_the_library_sees_otherwise_is_refused(tmp_path):
    """A number of a leaf is read otherwise by the reader than by the library."""
    text = (DATA / "lightgbm.txt").read_text()
    leaf = re.search(r"leaf_value=(\S+)", text)[1]
    other = text.replace(f"leaf_value={leaf}", "leaf_value=0.5")
    (tmp_path / "m").write_text(other)
    read_file(tmp_path / "m", SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        told = from_model(DATA / "lightgbm.txt", SCHEMA).predict_proba(ROWS[[*SCHEMA.names]])
        patch.setattr("trust_recourse.models.readers.library.Library.told", lambda *_: told)
        with pytest.raises(UnreadableError, match="row .*: the library says .* rows differ"):
            read_file(tmp_path / "m", SCHEMA, ROWS)


def test_a_schema_that_is_not_the_model_s_names_what_is_amiss():
    fewer = Schema(tuple(f for f in SCHEMA if f.name != "income"))
    with pytest.raises(
        UnreadableError, match="lightgbm.txt: .*the model alone has the columns 'income'"
    ):
        read_file(DATA / "lightgbm.txt", fewer)
    more = Schema((*fewer, Feature("pay")))
    with pytest.raises(
        UnreadableError, match="'income' and the schema alone has the columns 'pay'"
    ):
        read_file(DATA / "lightgbm.txt", more)
    with pytest.raises(ValueError, match="columns: absent 'income'"):
        read_file(DATA / "lightgbm.txt", SCHEMA, ROWS.drop(columns="income"))


@library("lightgbm")
def test_a_library_that_crashes_takes_nobody_with_it(tmp_path):
    """It does on a text whose trees are not as long as it says."""
    text = (DATA / "lightgbm.txt").read_text()
    (tmp_path / "m").write_text(re.sub(r"(tree_sizes=\d\d)\d", r"\g<1>", text))
    assert len(from_model(tmp_path / "m", SCHEMA).trees) == 5  # which the reader does not need
    with pytest.raises(UnreadableError, match="m: damaged: its library crashes on it"):
        from_model(tmp_path / "m", SCHEMA, ROWS)


@pytest.mark.parametrize("name", ["lightgbm.txt", "catboost.json"])
def test_a_text_that_was_changed_at_random_is_refused_or_is_a_model(name, tmp_path):
    data, met = (DATA / name).read_bytes(), Counter()
    rows = ROWS[[*SCHEMA.names]]
    for seed in range(300):
        rng = np.random.default_rng(seed)
        (tmp_path / "m").write_bytes(mutated(data, rng))
        try:
            read = read_file(tmp_path / "m", SCHEMA).model
        except (FileError, UnreadableError):
            met["refused"] += 1
            continue
        told = read.predict_proba(rows)
        assert ((told >= 0) & (told <= 1)).all()
        met["a model"] += 1
    assert met["refused"] > 50
    assert met["a model"] > 50


def mutated(data, rng):
    """Bytes changed, taken out, or given twice."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, size = int(rng.integers(len(found))), int(rng.choice([1, 4, 30]))
        way = rng.integers(4)
        if way < 2:
            found[at] = int(rng.choice(list(b"0123456789-=e \n\xff\x00")))
        elif way == 2:
            del found[at : at + size]
        else:
            found[at:at] = found[at : at + size]
    return bytes(found)
