"""Files of sums: what is saved comes back, to the last bit, and nothing else is believed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_readers import every_kind, few, seeds, world

from trust_recourse import Feature, Recourse, Schema, TMClassifier, load
from trust_recourse.models import Additive, SumModel, model_file
from trust_recourse.models.model_file import ModelFileError
from trust_recourse.models.sums import store

DEBTS = Schema(
    (
        Feature("owed", "integer", lower=0, upper=40),
        Feature("home", "category", values=("own", "rent"), missing=(None,)),
    )
)


@pytest.fixture(scope="module")
def read():
    return world("histogram", 1).read


@pytest.fixture(scope="module")
def card():
    return Additive(DEBTS, [[5, 20], []], [[0.8, 0.1, -1.1], [0.3, 0.0, -0.2]], base=0.25)


# ---------------------------------------------------------------- round trips


@every_kind
@few
@given(seed=seeds, threshold=st.none() | st.floats(0.01, 0.99))
def test_what_is_saved_comes_back_bit_for_bit(kind, seed, threshold, tmp_path_factory):
    made = world(kind, seed)
    path = tmp_path_factory.mktemp("files") / "m"
    wanted = None if threshold is None else 0
    made.read.decide(decision_threshold=threshold, wanted=wanted).save(path)
    for again in (load(path), SumModel.load(path)):
        assert type(again) is SumModel
        assert again.fingerprint_ == made.read.fingerprint_
        assert (again.decision_threshold_, again.wanted_) == (threshold, wanted)
        assert (again.predict_proba(made.X) == made.given.predict_proba(made.X)).all()
        assert again.classes_.dtype == made.read.classes_.dtype


def test_a_question_has_the_same_answer_and_proof(read, tmp_path):
    read.decide(decision_threshold=0.6, wanted=1).save(tmp_path / "m")
    ours, theirs = Recourse(load(tmp_path / "m")), Recourse(read, decision_threshold=0.6)
    rows = theirs.schema.decode(theirs.schema.encode(world("histogram", 1).X))
    people = rows[theirs.confidences(theirs.schema.encode(rows)) < 0.6].head(3)
    assert len(people) == 3
    for _, x in people.iterrows():
        found, expected = (each.find(x, certify=True) for each in (ours, theirs))
        assert found.refused
        assert [o.cost for o in found.options] == [o.cost for o in expected.options]
        assert found.certificate().to_dict() == expected.certificate().to_dict()


@pytest.mark.parametrize(
    "labels",
    [
        ["refused", "granted"],  # not in order
        [False, True],
        [2.5, -1.0],
        np.array(["a b", "a"], object),
        np.array([2**63, 2**64 - 1], np.uint64),
        np.array([0, 1], ">i8"),
    ],
)
def test_labels_of_any_type_come_back(labels, read, tmp_path):
    named = replace(read, classes_=np.asarray(labels))
    named.decide(wanted=named.classes_[0]).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.classes_.tolist() == named.classes_.tolist()
    assert again.classes_.dtype == named.classes_.dtype.newbyteorder("=")
    assert again.wanted_ == named.classes_.tolist()[0]
    assert Recourse(again).wanted_at == 0


def test_labels_that_no_file_holds_are_refused_when_saving(read, tmp_path):
    for labels in (np.array(["2020-01-01", "2021-01-01"], "M8[D]"), np.array([0, "1"], object)):
        with pytest.raises(ValueError, match="'classes"):
            replace(read, classes_=labels).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_card_comes_back(card, tmp_path):
    rows = DEBTS.decode(np.array([[3.0, 0.0], [20.0, 1.0], [21.0, math.nan]]))
    card.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is Additive
    assert again.fingerprint_ == card.fingerprint_
    assert (again.predict_proba(rows) == card.predict_proba(rows)).all()
    again.decide(decision_threshold=0.7, wanted=0).save(tmp_path / "m")
    told = Recourse(Additive.load(tmp_path / "m"))
    assert (told.decision_threshold, told.wanted) == (0.7, 0)


def test_a_file_of_another_kind_is_refused(read, card, model, tmp_path):
    read.save(tmp_path / "sum")
    card.save(tmp_path / "card")
    model.save(tmp_path / "machine", states=False)
    for kind, name, held in (
        (SumModel, "card", "Additive"),
        (Additive, "sum", "SumModel"),
        (TMClassifier, "sum", "SumModel"),
        (SumModel, "machine", "PTMClassifier"),
    ):
        with pytest.raises(ModelFileError, match=f"holds a {held}, expected a {kind.__name__}$"):
            kind.load(tmp_path / name)


def test_how_it_is_decided_must_be_possible(read, card):
    for model in (read, card):
        with pytest.raises(ValueError, match="decision_threshold=1; expected a number between"):
            model.decide(decision_threshold=1)
        with pytest.raises(ValueError, match=r"wanted='yes'; the model's classes are \[0, 1\]"):
            model.decide(wanted="yes")


# ---------------------------------------------------------------- hostile files


def spoilt(model, tmp_path, arrays=None, **header):
    """What a file says that was written with other parts, and its own fingerprint."""
    known, told = store.content(model)
    model_file.write(tmp_path / "bad", {**known, **(arrays or {})}, {**told, **header})
    with pytest.raises(ModelFileError, match="do not make a model") as refused:
        load(tmp_path / "bad")
    assert len(str(refused.value)) < 1200
    return str(refused.value)


def test_a_cut_or_changed_file_is_refused_wherever(read, card, tmp_path):
    rng, bad = np.random.default_rng(0), tmp_path / "bad"
    for model in (read, card):
        model.save(tmp_path / "m")
        data = (tmp_path / "m").read_bytes()
        for length in [0, 7, 8, 200, len(data) // 2, len(data) - 1]:
            bad.write_bytes(data[:length])
            with pytest.raises(ModelFileError, match="cut short|damaged"):
                load(bad)
        for at in rng.integers(0, len(data), 200):
            changed = bytearray(data)
            changed[at] ^= 1 << int(rng.integers(8))
            bad.write_bytes(changed)
            with pytest.raises(ModelFileError):
                load(bad)


def changed(model, name, spoil):
    array = store.content(model)[0][name].copy()
    given = spoil(array)
    return {name: array if given is None else given}


def root(array, value):
    array[0] = value


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("feature", lambda a: root(a, 99), "'feature': expected places"),
        ("feature", lambda a: root(a, -2), "'feature': expected places"),
        ("feature", lambda a: root(a, -1), "'left': expected nodes after"),
        ("feature", lambda a: a.astype(np.int32), "'feature': expected int64"),
        ("left", lambda a: root(a, 0), "'left': expected nodes after their parents"),  # a circle
        ("left", lambda a: root(a, a.max() + 9), "'left': expected nodes after"),
        ("left", lambda a: root(a, -1), "'left'"),
        ("right", lambda a: root(a, 1), "child of one"),  # a node of two parents
        ("left", lambda a: np.append(a, 0), "'left': expected int64"),
        ("edge", lambda a: a * np.nan, "'edge': expected numbers"),
        ("value", lambda a: a * np.nan, "'value': expected finite"),
        ("value", lambda a: a + np.inf, "'value': expected finite"),
        ("value", lambda a: np.full_like(a, 1e307), "'value': expected no sum"),
        ("value", lambda a: np.column_stack([a, a, a]), "'value': expected one or two"),
        ("value", lambda a: a[:, 0].copy(), "'value'"),
        ("zero_left", lambda a: a + np.int8(3), "'zero_left'"),
        ("zero_left", lambda a: np.zeros_like(a), "'zero_left'"),  # at leaves, too
        ("categories", lambda a: a[:, 1:].copy(), "'categories': expected bool"),
        ("categories", lambda a: (a * np.uint8(7)).view(bool), "true and false alone"),
        ("missing_left", lambda a: np.full(len(a), 2, np.uint8).view(bool), "true and false alone"),
        ("nodes", lambda a: -a, "'nodes'"),
        ("nodes", lambda a: a[:-1], "'nodes'"),
        ("nodes", lambda a: np.append(a, 0), "'nodes'"),
        ("nodes", lambda a: np.array([2**62, 2**62, 2**62, 2**62 + a.sum()]), "'nodes'"),
        ("extra", lambda a: a, "'arrays': expected just"),
    ],
)
def test_arrays_that_make_no_trees_are_named(name, spoil, message, read, tmp_path):
    given = {"extra": np.zeros(3)} if name == "extra" else changed(read, name, spoil)
    assert message in spoilt(read, tmp_path, given)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("machine", "os.system"), ("machine", ["SumModel"]), ("machine", None),
        ("schema", {"features": 3}), ("classes", [1]), ("classes", [1, 1]), ("classes", "ab"),
        ("classes", [0, "yes"]), ("classes", [0, True]), ("classes", [{}, {}]),
        ("classes_dtype", "V8"), ("classes_dtype", "<U400000000"),
        ("base", None), ("base", "0"), ("base", 1), ("base", 1e308), ("base", True),
        ("arithmetic", "float16"), ("arithmetic", "float32"), ("arithmetic", None),
        ("decision_threshold", 2), ("wanted", "perhaps"), ("more", 1),
        ("link", None), ("link", {"logistic": True}), ("link", [True, 1, 1.0, None]),
        *(("link", {"logistic": True, "divisor": 1, "scale": 1.0, "least": None} | wrong)
          for wrong in ({"logistic": 1}, {"divisor": 0}, {"divisor": 1.5}, {"divisor": 2**40},
                        {"scale": 0.0}, {"scale": -1.0}, {"scale": 1}, {"least": 5.0},
                        {"least": "-inf"}, {"logistic": False}, {"extra": 1})),
    ],
)  # fmt: skip
def test_headers_that_make_no_trees(field, value, read, tmp_path):
    """A logistic function left out would make probabilities of what are none."""
    spoilt(read, tmp_path, **{field: value})


def test_trees_that_would_take_all_memory_are_refused(read, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOST", 10)
    assert "at most 10 leaves times cells" in spoilt(read, tmp_path)


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("edges", lambda a: a[::-1].copy(), "edges: given [20.0, 5.0], expected them ascending"),
        ("edges", lambda a: a * np.nan, "expected them ascending"),
        ("edges", lambda a: a.astype(np.float32), "'edges': expected float64"),
        ("n_edges", lambda a: a + np.array([-3, 3]), "'n_edges'"),
        ("n_edges", lambda a: a + 2**62, "'n_edges'"),
        ("n_edges", lambda a: np.append(a, 0), "'n_edges': expected int64 (2,)"),
        ("points", lambda a: a + np.inf, "points: given [inf"),
        ("points", lambda a: np.full_like(a, 1e302), "expected numbers up to 1e+200"),
        ("points", lambda a: a * np.nan, "points: given [nan"),
        ("n_points", lambda a: a[::-1] + np.array([1, -1]), "finite numbers, one for each cell"),
    ],
)
def test_arrays_that_make_no_card_are_named(name, spoil, message, card, tmp_path):
    assert message in spoilt(card, tmp_path, changed(card, name, spoil))


@every_kind
def test_a_file_that_was_changed_at_random_is_refused_or_is_a_model(kind, tmp_path):
    """By a stranger who can write fingerprints."""
    met = Counter()
    for seed in range(60):
        rng, made = np.random.default_rng(seed), world(kind, seed % 4)
        arrays, header = store.content(made.read)
        for _ in range(rng.integers(1, 3)):
            name = str(rng.choice(sorted(arrays)))
            arrays[name] = struck(arrays[name].copy(), rng)
        model_file.write(tmp_path / "m", arrays, header)
        try:
            again = load(tmp_path / "m")
        except ModelFileError as refused:
            met["do not make a model (ValueError: '" in str(refused)] += 1
            continue
        told = again.predict_proba(made.X)
        assert ((told >= 0) & (told <= 1)).all()
        assert len(again.leaves.value) >= len(again.trees)
        met["a model"] += 1
    assert met[True] > 10
    assert met["a model"] > 10
    assert not met[False]


def struck(array, rng):
    """The array with something nasty in one place."""
    flat = array.reshape(-1)
    if array.size:
        nasty = [0, 1, -1, 2, 7, 10**6, -(2**62), flat[rng.integers(len(flat))]]
        nasty += [math.nan, math.inf, -math.inf, 1e300, 5e-324] * (array.dtype == float)
        picked = np.array(nasty[rng.integers(len(nasty))])
        flat[rng.integers(len(flat))] = picked.astype(array.dtype)
    return array
