"""Files that declare more than they hold: refused soon, in little memory, by a child that ends."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_readers import library

from trust_recourse import Schema
from trust_recourse.models.readers import ubjson
from trust_recourse.models.readers.columns import preorder
from trust_recourse.models.readers.library import UnreadableError, imported, read_file

DATA = Path(__file__).parents[2] / "data" / "libraries"
SCHEMA = Schema.from_yaml(DATA / "schema.yaml")
HUGE = 20_000_000
DELETED = 2**31 - 1  # the column of a node that XGBoost's pruning deleted
LARGE = 5 << 29  # bytes, which are asked for and never written


def xgboost_file():
    return json.loads((DATA / "xgboost.json").read_text())


def _tree(whole):
    return _model(whole)["trees"][0]


def _model(whole):
    return whole["learner"]["gradient_booster"]["model"]


XGBOOST = {
    "num_nodes": lambda w: _tree(w)["tree_param"].update(num_nodes=str(HUGE)),
    "fewer nodes": lambda w: _tree(w)["tree_param"].update(num_nodes="3"),
    "size_leaf_vector": lambda w: _tree(w)["tree_param"].update(size_leaf_vector=str(HUGE)),
    "num_deleted": lambda w: _tree(w)["tree_param"].update(num_deleted=str(HUGE)),
    "tree num_feature": lambda w: _tree(w)["tree_param"].update(num_feature=str(HUGE)),
    "num_feature": lambda w: w["learner"]["learner_model_param"].update(num_feature=str(HUGE)),
    "num_class": lambda w: w["learner"]["learner_model_param"].update(num_class=str(HUGE)),
    "num_target": lambda w: w["learner"]["learner_model_param"].update(num_target=str(HUGE)),
    "num_trees": lambda w: _model(w)["gbtree_model_param"].update(num_trees=str(HUGE)),
    "a class beyond the last": lambda w: _model(w)["tree_info"].__setitem__(-1, HUGE),
    "a class before the first": lambda w: _model(w)["tree_info"].__setitem__(0, -1),
    "parallel": lambda w: _model(w)["gbtree_model_param"].update(num_parallel_tree=str(HUGE)),
    "tree_info": lambda w: _model(w)["tree_info"].append(0),
    "an array": lambda w: _tree(w)["split_conditions"].pop(),
    "a column": lambda w: _tree(w)["split_indices"].__setitem__(0, HUGE),
    "a column below 0": lambda w: _tree(w)["split_indices"].__setitem__(0, -1),
    "a deleted root": lambda w: _tree(w)["split_indices"].__setitem__(0, DELETED),
    "a leaf of another mark": lambda w: _tree(w)["left_children"].__setitem__(-1, -2),
    "a category": lambda w: _tree(w).update(categories=[HUGE]),
    "a segment": lambda w: _tree(w).update(categories_segments=[HUGE]),
    "a size": lambda w: _tree(w).update(categories_sizes=[HUGE]),
}


def grown():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def refused(path, words):
    """The file is refused by a sentence, within 2 s and 500 MB."""
    began, before = time.monotonic(), grown()
    with pytest.raises(UnreadableError, match=words):
        read_file(path, SCHEMA)
    assert time.monotonic() - began < 2.0
    assert grown() - before < 500


@library("xgboost")
@pytest.mark.parametrize("name", XGBOOST)
def test_a_file_of_xgboost_that_declares_other_sizes_is_refused_before_it_is_parsed(name, tmp_path):
    import xgboost  # loading it takes time and memory of its own

    whole = xgboost_file()
    XGBOOST[name](whole)
    path = tmp_path / "m.json"
    path.write_text(json.dumps(whole, separators=(",", ":")))
    refused(path, "m.json: XGBoost: the file declares .*; expected .*Save the model again")
    assert xgboost


ASTRAY = {
    "a loop": lambda tree: tree["left_children"].__setitem__(0, 0),
    "a node of two parents": lambda tree: tree["left_children"].__setitem__(
        0, tree["right_children"][0]
    ),
    "a child beyond the last": lambda tree: tree["right_children"].__setitem__(0, HUGE),
    "a child before the first": lambda tree: tree["right_children"].__setitem__(0, -1),
}


@library("xgboost")
@pytest.mark.parametrize("name", ASTRAY)
def test_a_tree_of_xgboost_that_is_none_is_refused_before_the_library_opens_it(
    name, tmp_path, monkeypatch
):
    import xgboost

    monkeypatch.setattr(xgboost, "Booster", None)
    whole = xgboost_file()
    ASTRAY[name](_tree(whole))
    (tmp_path / "m.json").write_text(json.dumps(whole, separators=(",", ":")))
    refused(tmp_path / "m.json", r"m.json: a tree comes to its node -?\d+ twice, or has none such")


def test_a_chain_of_many_nodes_is_walked_soon():
    """A tree of 200,001 nodes, as deep as it can be: no recursion, and no more than linear time."""
    many = 100_000
    left = [*(n for i in range(many) for n in (2 * i + 1, -1)), -1]  # even nodes split
    right = [each + 1 if each > 0 else -1 for each in left]
    began = time.monotonic()
    assert len(preorder(left, right)) == 2 * many + 1
    assert time.monotonic() - began < 2.0


EXTENSIONS = ("json", "ubj")
MODELS = {
    "pruned": {"tree_method": "exact", "gamma": 2.0},
    "pruned to roots": {"tree_method": "exact", "gamma": 1e9},
    "lossguide": {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 40},
    "categorical": {"enable_categorical": True},
    "parallel": {"num_parallel_tree": 3, "subsample": 0.7},
}


@library("xgboost")
@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("name", MODELS)
def test_a_file_of_xgboost_is_read_as_the_library_has_it(name, extension, tmp_path):
    import xgboost

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] + rng.normal(size=400) > 0).astype(int)
    if name == "categorical":
        X["k"] = pd.Categorical(rng.choice(list("xyz"), 400))
        y = y ^ (X["k"] == "x")
    made = xgboost.XGBClassifier(n_estimators=5, random_state=0, **MODELS[name]).fit(X, y)
    path = tmp_path / f"m.{extension}"
    made.save_model(path)
    trees = _model(json.loads(made.get_booster().save_raw("json")))["trees"]
    deleted = any(DELETED in tree["split_indices"] for tree in trees)
    assert deleted == name.startswith("pruned")
    read = read_file(path, Schema.infer(X)).model
    assert np.array_equal(read.predict_proba(X), made.predict_proba(X).astype(float))


@library("xgboost")
@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("booster", ["gblinear", "dart"])
def test_another_booster_of_xgboost_is_refused_before_the_library_opens_it(
    booster, extension, tmp_path, monkeypatch
):
    import xgboost

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=list("ab"))
    made = xgboost.XGBClassifier(n_estimators=2, booster=booster).fit(X, X["a"] > 0)
    path = tmp_path / f"m.{extension}"
    made.save_model(path)
    monkeypatch.setattr(xgboost, "Booster", None)
    refused(path, rf"m.{extension}: XGBoost, booster {booster}: only gbtree can be read$")


@library("xgboost")
@pytest.mark.parametrize("whole", [{}, {"name": "gbtree"}, {"name": "gbtree", "model": {}}])
def test_a_file_of_xgboost_without_trees_is_not_opened_by_the_library(whole, tmp_path, monkeypatch):
    import xgboost

    monkeypatch.setattr(xgboost, "Booster", None)
    told = xgboost_file()
    told["learner"]["gradient_booster"] = whole
    (tmp_path / "m.json").write_text(json.dumps(told, separators=(",", ":")))
    refused(tmp_path / "m.json", "damaged, or of no known version")


@library("xgboost")
def test_a_name_given_twice_hides_no_size(tmp_path):
    text = (DATA / "xgboost.json").read_text().replace('"num_nodes"', '"num_nodes":"9","num_nodes"')
    (tmp_path / "m.json").write_text(text)
    refused(tmp_path / "m.json", "given more than once")


@library("xgboost")
def test_binary_files_of_xgboost_are_checked_too(tmp_path):
    data = (DATA / "xgboost.ubj").read_bytes()
    assert (
        ubjson.loads(data)["learner"]["feature_names"] == xgboost_file()["learner"]["feature_names"]
    )
    path, many = tmp_path / "m.ubj", b"num_nodesSL" + bytes(7) + b"\x01" + b"7"
    assert many in data
    huge = b"num_nodesSL" + bytes(7) + b"\x08" + b"20000000"
    path.write_bytes(data.replace(many, huge, 1))
    refused(path, "declares num_nodes=20,000,000")
    for before in (b"[$d#L", b"[#L", b"SL"):
        at = data.index(before) + len(before)
        for length in (b"\x7f" + b"\xff" * 7, b"\0\0\0\x01" + bytes(4), b"\xff" * 8):
            path.write_bytes(data[:at] + length + data[at + 8 :])
            refused(path, "m.ubj: UBJSON, byte|damaged")
    path.write_bytes(data[:17] + b"[" * 1_000_000)
    refused(path, "UBJSON|damaged|no file that is known")
    path.write_bytes(data + b"{")
    refused(path, "1 bytes follow")


LIGHTGBM = {
    "num_leaves=4": "num_leaves=2000000000",
    "num_class=1": "num_class=2000000000",
    "num_tree_per_iteration=1": "num_tree_per_iteration=2000000000",
    "max_feature_idx=4": "max_feature_idx=2000000000",
    "tree_sizes=559": "tree_sizes=99999999999",
    "num_cat=1": "num_cat=2000000000",
    "cat_boundaries=0 1": "cat_boundaries=0 2000000000",
    "split_feature=0 2 4": "split_feature=0 2 2000000000",
    "decision_type=10 1 2": "decision_type=10",
}


@pytest.mark.parametrize("told", LIGHTGBM)
def test_a_file_of_lightgbm_that_declares_other_sizes_is_refused(told, tmp_path):
    text = (DATA / "lightgbm.txt").read_text()
    assert told in text
    (tmp_path / "m.txt").write_text(text.replace(told, LIGHTGBM[told], 1))
    refused(tmp_path / "m.txt", "LightGBM: the file declares .*; expected .*Save the model again")
    (tmp_path / "m.txt").write_text(text.replace(told, f"{told}\n{LIGHTGBM[told]}", 1))
    refused(tmp_path / "m.txt", "given twice|declares")


def test_a_file_of_catboost_that_numbers_its_columns_far_away_is_refused(tmp_path):
    whole = json.loads((DATA / "catboost.json").read_text())
    whole["features_info"]["float_features"][0]["feature_index"] = HUGE
    (tmp_path / "m.json").write_text(json.dumps(whole))
    refused(tmp_path / "m.json", "feature_index=20000000")


@library("skops")
def test_a_small_file_of_skops_that_unpacks_to_much_is_refused(tmp_path):
    import skops.io  # loading it takes time of its own

    assert skops.io
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("schema.json", "{}")
        packed.writestr("1.npy", bytes(300_000_000))
    refused(path, "it unpacks to 300,000,002 bytes; at most")


# ---------------------------------------------------------------- the process that reads

PARENT = """
    import os, sys, time
    from pathlib import Path
    from trust_recourse import Schema
    from trust_recourse.models.readers import library as sums

    def slow(source, schema, X=None, *, listing=False):
        import os, time
        Path(sys.argv[1]).write_text(str(os.getpid()))
        {busy}

    sums.read_file = slow
    sums.imported(sys.argv[2], Schema.from_yaml(sys.argv[3]))
"""
BUSY = {"python": "time.sleep(60)", "compiled": "sum(range(10**10))"}  # which holds the lock


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("busy", BUSY)
def test_the_process_that_reads_ends_with_its_parent(busy, tmp_path):
    if busy == "compiled" and sys.platform != "linux":
        pytest.skip("only Linux sends a signal")
    told, script = tmp_path / "pid", tmp_path / "parent.py"
    script.write_text(textwrap.dedent(PARENT).format(busy=BUSY[busy]))
    given = [str(told), str(DATA / "lightgbm.txt"), str(DATA / "schema.yaml")]
    parent = subprocess.Popen([sys.executable, str(script), *given])
    try:
        child = int(_waited(lambda: told.exists() and told.read_text()))
        assert _lives(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert _waited(lambda: not _lives(child), 5)
    finally:
        parent.kill()


def _waited(asked, seconds=60):
    end = time.monotonic() + seconds
    while not (found := asked()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def _hungry(source, schema, X=None, *, listing=False):
    return len(bytes(LARGE))


def _endless(source, schema, X=None, *, listing=False):
    time.sleep(60)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit data")
def test_memory_of_the_process_that_reads_is_limited(monkeypatch):
    monkeypatch.setattr("trust_recourse.models.readers.library.read_file", _hungry)
    assert imported(DATA / "lightgbm.txt", SCHEMA) == LARGE  # the machine itself has as much
    monkeypatch.setattr("trust_recourse.models.readers.library.MEMORY", LARGE // 2)
    with pytest.raises(MemoryError):
        imported(DATA / "lightgbm.txt", SCHEMA)


def test_time_of_the_process_that_reads_is_limited(monkeypatch):
    monkeypatch.setattr("trust_recourse.models.readers.library.read_file", _endless)
    monkeypatch.setattr("trust_recourse.models.readers.library.SECONDS", 1.0)
    began = time.monotonic()
    with pytest.raises(UnreadableError, match="within 1 s"):
        imported(DATA / "lightgbm.txt", SCHEMA)
    assert time.monotonic() - began < 50.0  # it was ended, not waited for
