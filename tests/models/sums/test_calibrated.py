"""Calibrators of scikit-learn after trees: its own numbers, answers and proofs by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from laws import trees
from trust_recourse import Feature, Recourse, Schema, load, verify
from trust_recourse.certificate import CertificateError, readers
from trust_recourse.models import UnreadableError, from_model
from trust_recourse.models.sums.ensemble import Calibration, Link

JOBS = ("day", "night", "none", "own")
SCHEMA = Schema(
    (
        Feature("pay", scale=20.0, step=0.5, missing=(None,)),
        Feature("age", "integer", scale=30.0, lower=18, upper=80),
        Feature("job", "category", values=JOBS),
    )
)
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "pay": np.where(RNG.random(400) < 0.1, np.nan, RNG.normal(50, 15, 400).round(1)),
        "age": RNG.integers(18, 81, 400),
        "job": RNG.choice(JOBS, 400),
    }
)
GOOD = (TABLE.pay.fillna(40) > 50) + (TABLE.job == "own") + TABLE.age / 90
Y = (GOOD + RNG.normal(0, 0.7, 400) > 1).astype(int).to_numpy()
EVERY = pd.MultiIndex.from_product(
    [np.arange(10, 90, 0.5), np.arange(18, 81, 2), JOBS],
    names=SCHEMA.names,
).to_frame(index=False)


def before():
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["pay", "age"]),
        (OneHotEncoder(), ["job"]),
    )


def a_model(kind, method, where, seed=0):
    """A model calibrated within a pipeline, or a pipeline that is calibrated, frozen or not."""
    rng = np.random.default_rng(seed)
    model = trees._unfitted(rng, kind, 10, 6)
    if where == "within":
        return make_pipeline(
            before(), CalibratedClassifierCV(model, method=method, ensemble=False, cv=3)
        ).fit(TABLE, Y)
    if where == "around":
        return CalibratedClassifierCV(
            make_pipeline(before(), model), method=method, ensemble=False, cv=3
        ).fit(TABLE, Y)
    frozen = FrozenEstimator(make_pipeline(before(), model).fit(TABLE[:200], Y[:200]))
    return CalibratedClassifierCV(frozen, method=method).fit(TABLE[200:], Y[200:])


@pytest.mark.parametrize("kind", trees.KINDS)
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_calibrated_probability_is_the_library_s(kind, method):
    where = ("within", "around", "frozen")[trees.KINDS.index(kind) % 3]
    given = a_model(kind, method, where)
    read = from_model(given, SCHEMA, TABLE)
    theirs = given.predict_proba(TABLE)
    ours = read.predict_proba(TABLE)
    if method == "sigmoid":
        assert np.array_equal(ours, theirs)
    assert np.abs(ours - theirs).max() <= (4e-7 if kind == "xgboost" else 1e-15)
    assert (ours != theirs).mean() < 0.05 or kind == "xgboost"
    assert len(np.unique(theirs)) > 3
    assert read.link.after.raw == (kind in ("gradient boosting", "histogram", "lightgbm"))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", ["lightgbm", "gradient boosting", "forest"])
def test_answers_have_calibrated_confidences_and_proofs(tmp_path, kind, method):
    given = a_model(kind, method, "around")
    recourse = Recourse(given, SCHEMA, "l1")
    assert recourse.exact, recourse.unread
    recourse.model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.fingerprint_ == recourse.model.fingerprint_
    assert np.array_equal(again.predict_proba(TABLE), recourse.model.predict_proba(TABLE))
    refused = TABLE[given.predict_proba(TABLE)[:, 1] < 0.4].dropna().head(4)
    assert len(refused) == 4
    said_of = given.predict_proba(EVERY)
    granted = TABLE[given.predict_proba(TABLE)[:, 1] > 0.6].dropna().head(4)
    for wanted, those in ((1, refused), (0, granted)):
        asked, level = Recourse(given, SCHEMA, "l1", wanted=wanted), 0.6
        for _, person in those.iterrows():
            result = asked.find(person, level)
            (option,) = result.options
            row = pd.DataFrame([option.x]).astype(TABLE.dtypes.to_dict())
            said = given.predict_proba(row)[0, wanted]
            assert said == pytest.approx(option.confidence, abs=1e-15)
            assert said >= level
            assert verify(result.certificate(), again)
            assert option.cost <= least_by_enumeration(said_of[:, wanted], person, level) + 1e-9


def least_by_enumeration(said, person, level):
    """What the cheapest row costs that is enough by the pipeline's own word."""
    own, enough = SCHEMA.encode(person)[0], SCHEMA.encode(EVERY)[said >= level]
    moved = np.abs(enough - own) / [20.0, 30.0, 1.0]
    moved[:, 2] = enough[:, 2] != own[2]
    return moved.sum(axis=1).min()


def test_what_is_told_of_a_calibrated_score_is_told_as_before_it():
    given = a_model("lightgbm", "isotonic", "around")
    recourse = Recourse(given, SCHEMA, "l1")
    person = TABLE[given.predict_proba(TABLE)[:, 1] < 0.4].dropna().iloc[0]
    told = recourse.find(person, 0.6).explain(0)
    assert "before" in told.note
    model = recourse.model
    at = model.needed(0.5) * model.link.scale / model.link.divisor
    assert told.level == pytest.approx(at)


def test_a_calibrator_that_turns_the_model_round_is_refused():
    model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(TABLE[["age"]], Y)
    schema = Schema((SCHEMA["age"],))
    given = CalibratedClassifierCV(FrozenEstimator(model)).fit(
        TABLE[["age"]], 1 - model.predict(TABLE[["age"]])
    )
    with pytest.raises(UnreadableError, match="turns the model round"):
        from_model(given, schema)


def test_several_calibrators_and_temperatures_are_refused():
    given = CalibratedClassifierCV(RandomForestClassifier(5), cv=3).fit(TABLE[["age"]], Y)
    with pytest.raises(UnreadableError, match="3 models.*learn it with ensemble=False"):
        from_model(given, Schema((SCHEMA["age"],)))
    given.set_params(method="temperature", ensemble=False).fit(TABLE[["age"]], Y)
    with pytest.raises(
        UnreadableError, match="_TemperatureScaling: of calibrators, sigmoid and iso"
    ):
        from_model(given, Schema((SCHEMA["age"],)))


def test_lines_never_fall():
    rng = np.random.default_rng(1)
    for kind in ("float64", "float32"):
        x = np.unique(rng.random(40).astype(kind))
        y = np.sort(rng.random(len(x)).astype(kind))
        y[5:9] = y[5]
        after = Calibration(False, kind, tuple(x.tolist()), tuple(y.tolist()))
        assert after.sound
        near = np.concatenate(
            [x, *(np.nextafter(x, kind and np.dtype(kind).type(end)) for end in (-1, 2))]
        )
        p = np.sort(np.concatenate([near, rng.random(1000).astype(kind)]))
        assert (np.diff(after(p)) >= 0).all()
        assert np.abs(after(p) - np.interp(p, x, y)).max() <= after.apart
        assert np.array_equal(after(x), y)


def test_the_checker_reads_a_calibration_by_itself():
    given = a_model("lightgbm", "isotonic", "around")
    read = from_model(given, SCHEMA)
    reader = readers.read(read, 1)
    scores = np.linspace(*reader.ends, 500)
    assert np.array_equal(reader.confidence(scores), read.confidence(scores))
    after = read.link.after
    for wrong in (after._replace(y=after.y[::-1]), after._replace(x=(), y=(1.0, 0.0)),
                  after._replace(kind="float16")):  # fmt: skip
        with pytest.raises(CertificateError, match="calibration"):
            readers.read(replace(read, link=read.link._replace(after=wrong)), 1)


def test_a_link_without_a_calibration_is_as_it_was():
    assert Link(True)(np.zeros(1)).tolist() == [0.5]
    assert Link(True).after is None
