"""Model files: what is saved comes back, and nothing else is believed."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save

from trust_recourse import PTMClassifier, Schema, TMClassifier, load
from trust_recourse.io.files import FileError
from trust_recourse.models import model_file
from trust_recourse.models.model_file import ModelFileError
from trust_recourse.models.tsetlin import machine_file
from worlds import paper_machine

KEPT = Path(__file__).parents[1] / "data" / "format-1.safetensors"


@pytest.mark.parametrize("machine", [PTMClassifier, TMClassifier])
@pytest.mark.parametrize("calibration", [None, "isotonic", "sigmoid"])
@pytest.mark.parametrize("link", ["vote", "logistic"])
def test_what_is_saved_comes_back(machine, calibration, link, mixed, tmp_path):
    X, y = mixed
    schema = Schema.infer(X).update("income", unit="k€").update("children", missing=(-1,))
    model = machine(
        4, 8, epochs=5, calibration=calibration, schema=schema, random_state=0, link=link
    ).fit(X, y)
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert type(again) is machine
    assert again.get_params() == model.get_params()
    assert again.fingerprint_ == model.fingerprint_
    assert again.schema_ == model.schema_
    assert again.literals_ == model.literals_
    assert list(again.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.states_, model.states_)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(X.rename(columns={"income": "pay"}))
    if calibration is None:
        again.partial_fit(X, y)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [False, True],
        [0.0, 1.0],
        ["a", "b"],
        np.array(["a", "a b"], object),
        np.array([2**63, 2**64 - 1], np.uint64),
        np.array([-1, 1], np.float16),
        np.array([0, 1], ">i8"),
    ],
)
def test_labels_keep_their_type_and_numbered_columns_stay_numbered(labels, tmp_path):
    X = np.random.default_rng(0).random((20, 2))
    y = np.array(labels)[np.arange(20) % 2]
    model = paper_machine(2, 4, epochs=1, random_state=0).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.classes_.dtype == model.classes_.dtype
    assert not hasattr(again, "feature_names_in_")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_without_states_a_file_is_small_and_the_model_the_same(model, patients, tmp_path):
    X, y = patients
    model.save(tmp_path / "whole")
    model.save(tmp_path / "light", states=False)
    assert (tmp_path / "light").stat().st_size * 5 < (tmp_path / "whole").stat().st_size
    light = PTMClassifier.load(tmp_path / "light")
    assert light.states_ is None
    assert light.fingerprint_ == model.fingerprint_
    np.testing.assert_array_equal(light.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="dropped"):
        light.partial_fit(X, y)
    with pytest.raises(ModelFileError, match=r"holds a PTMClassifier, expected a TMClassifier"):
        TMClassifier.load(tmp_path / "light")


def test_a_file_kept_for_good_says_what_it_said():
    model = load(KEPT)
    expected = json.loads(KEPT.with_suffix(".json").read_text())
    assert model.fingerprint_ == expected["fingerprint"]
    confidence = model.predict_proba(pd.DataFrame(expected["rows"]))[:, 1]
    np.testing.assert_allclose(confidence, expected["confidence"], atol=1e-12)
    assert model.literals_ == expected["literals"]
    assert np.isnan(model.rules().dominance).all()  # as the file has it


def test_writing_is_whole_or_not_at_all(model, tmp_path, monkeypatch):
    path = tmp_path / "m"
    model.save(path)
    before = path.read_bytes()

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="No space"):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]
    with pytest.raises(FileError, match="does not exist; make it first"):
        model.save(tmp_path / "nowhere" / "m")


def test_a_cut_or_changed_file_is_refused_wherever_it_was_cut(model, tmp_path):
    model.save(tmp_path / "m", states=False)
    data = (tmp_path / "m").read_bytes()
    bad = tmp_path / "bad"
    for length in [0, 1, 7, 8, 9, 200, len(data) // 2, len(data) - 1]:
        bad.write_bytes(data[:length])
        with pytest.raises(ModelFileError, match="cut short|damaged"):
            load(bad)
    bad.write_bytes(data + b"tail")
    with pytest.raises(ModelFileError, match="damaged"):
        load(bad)
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(data), 200):
        changed = bytearray(data)
        changed[at] ^= 1 << int(rng.integers(8))
        bad.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load(bad)


def test_foreign_future_and_oversized_files(model, tmp_path, monkeypatch):
    bad = tmp_path / "bad"
    with pytest.raises(ModelFileError, match="no such file"):
        load(bad)
    bad.write_bytes(b"\x80\x04\x95 a pickle" * 20)
    with pytest.raises(ModelFileError, match="not a trust-recourse model"):
        load(bad)
    bad.write_bytes(save({"w": np.zeros(3)}))
    with pytest.raises(ModelFileError, match="not a trust-recourse model"):
        load(bad)
    bad.write_bytes(struct.pack("<Q", 2**60) + b"{}")
    with pytest.raises(ModelFileError, match="cut short"):
        load(bad)
    monkeypatch.setattr(model_file, "FORMAT", 5)
    model.save(bad)
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="format 5; this version reads format 1.*Update"):
        load(bad)
    model.save(bad)
    monkeypatch.setattr(model_file, "MOST_BYTES", 100)
    with pytest.raises(ModelFileError, match="bytes; a model file has at most 100"):
        load(bad)


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("inclusion", lambda a: a[:, :-1], "'inclusion': expected float64"),
        ("inclusion", lambda a: a.astype(np.float32), "'inclusion': expected float64"),
        ("inclusion", lambda a: a * np.nan, "'inclusion': expected float64"),
        ("inclusion", lambda a: a + 1.5, "'inclusion': expected float64"),
        ("thresholds", lambda a: a[::-1].copy(), "'thresholds': expected ascending"),
        ("thresholds", lambda a: a * np.nan, "'thresholds'"),
        ("thresholds", lambda a: a[:-1], "'n_thresholds'"),
        ("n_thresholds", lambda a: -a, "'n_thresholds'"),
        ("states", lambda a: a[:, :, :-1], "'states'"),
        ("states", lambda a: a * np.nan, "'states': expected prob"),
        ("calibration_y", lambda a: a[::-1].copy(), "'calibration': expected an increasing"),
        ("calibration_y", lambda a: a * 7, "'calibration': expected values from 0 to 1"),
        ("states", lambda a: a * 0, "'states': expected prob"),
        ("states", lambda a: a[:, :, ::-1].copy(), "'states': expected the inclusion"),
        ("extra", lambda a: a, "'arrays': expected just"),
        ("calibration_x", lambda a: a[:-1], "'calibration': expected equal"),
        ("weights", lambda a: a[:-1], "'weights': expected float64 .4,., from 0 to"),
        ("weights", lambda a: a[None], "'weights': expected float64"),
        ("weights", lambda a: a.astype(np.float32), "'weights': expected float64"),
        ("weights", lambda a: a - 1e9, "'weights': expected float64"),
        ("weights", lambda a: a * np.nan, "'weights': expected float64"),
        ("weights", lambda a: a + np.inf, "'weights': expected float64"),
        ("intercept", lambda a: a * np.nan, "'intercept': expected float64"),
        ("intercept", lambda a: np.append(a, a), "'intercept': expected float64"),
        ("intercept", lambda a: a + 1e300, "'intercept': expected float64"),
    ],
)
def test_arrays_that_make_no_model_are_named(name, spoil, message, patients, tmp_path):
    model = paper_machine(
        4, 8, epochs=3, calibration="isotonic", link="logistic", random_state=0
    ).fit(*patients)
    arrays, header = machine_file.content(model)
    arrays["states"] = model.states_
    arrays[name] = spoil(arrays.get(name, np.zeros(3)))
    model_file.write(tmp_path / "bad", arrays, header)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "bad")


@pytest.mark.parametrize("link", ["margin", "logistic"])
def test_weights_belong_to_the_logistic_link_and_to_no_other(link, patients, tmp_path):
    model = paper_machine(4, 8, epochs=3, link=link, random_state=0).fit(*patients)
    arrays, header = machine_file.content(model)
    assert ({"weights", "intercept"} <= arrays.keys()) == (link == "logistic")
    other = "margin" if link == "logistic" else "logistic"
    settings = {**header["settings"], "link": other}
    model_file.write(tmp_path / "bad", arrays, {**header, "settings": settings})
    with pytest.raises(ModelFileError, match="'arrays': expected just"):
        load(tmp_path / "bad")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("machine", "os.system"),
        ("settings", {"n_clauses": 7}),
        ("settings", {"rm": "-rf"}),
        ("settings", None),
        ("schema", {"features": 3}),
        ("classes", [1]),
        ("classes", [1, 1]),
        ("classes", [1, 0]),
        ("classes", "ab"),
        ("classes", [{"a": 1}, {}]),
        ("classes", [0.2, 0.7]),  # the type that is saved with them is of integers
        ("classes", [False, True]),
        ("classes", [0, 2**70]),
        ("classes", [0, "yes"]),
        ("classes_dtype", "|b1"),
        ("classes_dtype", "<f8"),
        ("classes_dtype", "V8"),
        ("classes_dtype", "<U400000000"),
        ("n_iter", -5),
        ("n_iter", "7"),
        ("columns", ["age", "year", "knots"]),
        ("settings", {"random_state": "x"}),
        ("settings", {"T": 10**400}),
        ("settings", {"T": 1e308}),
        ("settings", {"s": 1e300}),
        ("settings", {"link": "x" * 10_000}),
        ("calibration", "isotonic"),
    ],
)
def test_headers_that_make_no_model(field, value, model, tmp_path):
    arrays, header = machine_file.content(model)
    model_file.write(tmp_path / "bad", arrays, {**header, field: value})
    with pytest.raises(ModelFileError, match="do not make a model") as refused:
        load(tmp_path / "bad")
    assert len(str(refused.value)) < 1200
    del header[field]
    model_file.write(tmp_path / "bad", arrays, header)
    with pytest.raises(ModelFileError, match="do not make a model"):
        load(tmp_path / "bad")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-1] + ', "classes": [5, 6]}', "given more than once"),
        (lambda text: text.replace('"epochs"', '"T": 7, "epochs"'), "given more than once"),
        (lambda text: text.replace('"T": 5', '"T": NaN'), "its header holds"),
        (lambda text: text.replace('"T": 5', '"T": 1e999'), "its header holds"),
        (lambda text: text.replace('"T": 5', '"T": ' + "9" * 5000), "not JSON"),
        (lambda text: text.replace('"T": 5', '"T": ' + "[" * 10**5), "not JSON"),
        (lambda text: text.replace('"T": 5', '"T": ' + "[" * 900 + "]" * 900), "make a model"),
    ],
)
def test_a_header_that_readers_could_read_otherwise_is_refused(change, message, model, tmp_path):
    """Written as a stranger would, with the fingerprint of what Python makes of it."""
    arrays, header = machine_file.content(model)
    text = change(json.dumps(header))
    assert text != json.dumps(header)
    try:
        known = model_file.fingerprint(arrays, {**json.loads(text), "format": model_file.FORMAT})
    except (ValueError, RecursionError):
        known = ""
    about = {"kind": model_file.KIND, "format": "1", "header": text, "fingerprint": known}
    (tmp_path / "bad").write_bytes(save(arrays, metadata=about))
    with pytest.raises(ModelFileError, match=message) as refused:
        load(tmp_path / "bad")
    assert len(str(refused.value)) < 1200


def test_metadata_given_twice_or_at_length_is_refused(model, tmp_path):
    model.save(tmp_path / "m", states=False)
    data = (tmp_path / "m").read_bytes()
    length = int.from_bytes(data[:8], "little")
    head, body = data[8 : 8 + length].strip(), data[8 + length :]
    tensor = json.dumps(json.loads(head)["inclusion"])
    for changed, message in (
        (head.replace(b'"kind"', b'"kind": "x", "kind"'), "not a trust-recourse model"),
        (head[:-1] + f', "inclusion": {tensor}}}'.encode(), "not a trust-recourse model"),
        (head.replace(b'"format":"1"', b'"format":"%s"' % (b"2" * 10**6)), "format 222"),
        (head[:-1] + f', "{"x" * 10**6}": {tensor}}}'.encode(), "damaged"),
    ):
        assert changed != head
        (tmp_path / "bad").write_bytes(len(changed).to_bytes(8, "little") + changed + body)
        with pytest.raises(ModelFileError, match=message) as refused:
            load(tmp_path / "bad")
        assert len(str(refused.value)) < 1200


@pytest.mark.parametrize("labels", [["2020-01-01", "2021-01-01"], [0, 1]])
def test_labels_that_no_file_can_hold_are_refused_when_learning(labels):
    y = np.array(labels, "M8[D]" if labels[0] else np.longdouble)[np.arange(20) % 2]
    with pytest.raises(ValueError, match="y holds labels of type .*; expected texts, booleans"):
        paper_machine(2, 4, epochs=1).fit(np.random.default_rng(0).random((20, 2)), y)


def test_the_order_of_columns_and_the_fitted_settings_are_saved(patients, tmp_path):
    X, y = patients
    inferred = Schema.infer(X)
    schema = Schema(tuple(inferred[name] for name in ("nodes", "age", "year")))
    model = paper_machine(epochs=2, schema=schema, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(n_clauses=40, link="vote").save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.n_clauses == 20
    np.testing.assert_array_equal(again.predict_proba(X), before)
