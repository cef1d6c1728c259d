"""Laws of what is measured: noise is judged by every product of cells, tests by plain distances."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.ensemble import GradientBoostingClassifier

from trust_recourse import Feature, Recourse, Result, Schema, TMClassifier, evidence
from trust_recourse.answers.plausibility import EachRow, Isolation, NearNeighbours, are_plausible
from trust_recourse.answers.robustness import (
    COPIES_PER_BOX,
    Noise,
    Robustness,
    copies,
    noise,
    robustness,
)
from trust_recourse.models.readers.read_model import noisy_table
from trust_recourse.models.seam import of_class
from worlds import LINKS, conclude, machine, paper_machine

law = settings(max_examples=60)
# raw machines mostly; a calibrator costs five more fits
machines = st.tuples(
    st.integers(0, 10**6),
    st.sampled_from(LINKS),
    st.sampled_from([None, None, None, "sigmoid", "isotonic"]),
)


def enumerated(model, codes, schema, sigma, wanted):
    """The probability and the wanted class's own `predict_proba` of every product of cells."""
    parts = []
    for feature, edges, code in zip(schema, model.thresholds_, codes, strict=True):
        if feature.kind not in ("number", "integer") or math.isnan(code):
            parts.append([(code, 1.0)])
            continue
        law = NormalDist(code, sigma * feature.scale)
        ends = [0.0, *map(law.cdf, edges), 1.0]
        values = [*edges, edges[-1] + 1.0] if len(edges) else [code]
        parts.append(
            [(v, b - a) for v, (a, b) in zip(values, itertools.pairwise(ends), strict=True)]
        )
    rows, masses = [], []
    for product in itertools.product(*parts):
        values, probabilities = zip(*product, strict=True)
        rows.append(values)
        masses.append(math.prod(probabilities))
    yes = model.machine_.confidence_at(model.machine_.grid.cells(np.array(rows)))
    tied = np.where(yes == 0.5, np.nextafter(0.5, 0), 1 - yes)
    return np.array(masses), yes if wanted == 1 else tied


def own_confidence(model, wanted):
    score = model.score_of(wanted)
    return lambda rows: score.at(score.grid.cells(rows))


@law
@given(
    which=machines,
    wanted=st.sampled_from([0, 1]),
    sigma=st.sampled_from([0.01, 0.1, 0.5]),
    rank=st.floats(0, 1),
    tolerance=st.sampled_from([0.0, 1e-4, 0.02]),
)
def test_noise_equals_enumeration(which, wanted, sigma, rank, tolerance):
    model, X, _ = machine(*which)
    schema, codes = model.schema_, model.schema_.encode(X)[which[0] % len(X)]
    masses, p = enumerated(model, codes, schema, sigma, wanted)
    assert masses.sum() == pytest.approx(1, abs=1e-9)
    # a confidence that occurs, so that both sides of the threshold do, and itself to the bit
    threshold = float(np.clip(np.quantile(p, rank, method="nearest"), 1e-3, 1 - 1e-3))
    settled, score = {"threshold": threshold, "tolerance": tolerance}, model.score_of(wanted)
    settled["continuous"] = True
    found = noise(score, codes, schema, sigma, **settled)
    truth = masses[p >= threshold].sum()
    assert abs(found.probability - truth) <= found.error
    assert found.error <= max(tolerance, 2e-12)
    for most in (1, 5, 12):
        cut = noise(score, codes, schema, sigma, **settled, max_boxes=most)
        assert cut.boxes <= most
        assert abs(cut.probability - truth) <= cut.error
        assert cut.error >= found.error or cut.error <= tolerance


@settings(max_examples=12)
@given(which=machines, wanted=st.sampled_from([0, 1]), sigma=st.sampled_from([0.05, 0.3]))
def test_many_copies_come_to_the_exact_probability(which, wanted, sigma):
    model, X, _ = machine(*which)
    schema, codes = model.schema_, model.schema_.encode(X)[0]
    _, p = enumerated(model, codes, schema, sigma, wanted)
    threshold = float(np.clip(np.median(p), 1e-3, 1 - 1e-3))
    exact = noise(model.score_of(wanted), codes, schema, sigma, threshold=threshold, tolerance=1e-6)
    n = 20_000
    rate = copies(
        own_confidence(model, wanted), codes, schema, sigma, threshold=threshold, n_copies=n
    )
    spread = math.sqrt(max(exact.probability * (1 - exact.probability), 1 / n) / n)
    assert abs(rate - exact.probability) <= 5 * spread + exact.error


@settings(max_examples=30)
@given(which=machines, wanted=st.sampled_from([0, 1]), sigma=st.sampled_from([0.05, 0.3]))
def test_an_exact_interval_holds_the_enumerated_probability(which, wanted, sigma):
    model, X, _ = machine(*which)
    schema, codes = model.schema_, model.schema_.encode(X)[0]
    masses, p = enumerated(model, codes, schema, sigma, wanted)
    threshold = float(np.clip(np.median(p), 1e-3, 1 - 1e-3))
    score, confidence = model.score_of(wanted), own_confidence(model, wanted)
    asked = {"threshold": threshold, "continuous": True}
    found = robustness(score, confidence, codes, schema, sigma, **asked)
    assert found.exact  # so few cells need few boxes
    assert found.low - 1e-9 <= masses[p >= threshold].sum() <= found.high + 1e-9
    assert found.low <= found.probability <= found.high


def test_a_sampled_interval_is_the_exact_binomial_one_and_covers_as_often_as_it_says():
    truth, n, codes = 0.3, 400, np.array([0.0])
    schema = Schema((Feature("a", "number", scale=1.0),))
    line = NormalDist().inv_cdf(truth)  # a copy is kept with the probability of lying below it

    def kept(rows):
        return np.where(rows[:, 0] <= line, 1.0, 0.0)

    found = [
        robustness(None, kept, codes, schema, 1.0, n_copies=n, random_state=seed)
        for seed in range(300)
    ]
    assert found[0] == robustness(None, kept, codes, schema, 1.0, n_copies=n, random_state=0)
    told = binomtest(round(found[0].probability * n), n).proportion_ci(0.95, "exact")
    assert (found[0].low, found[0].high) == pytest.approx((told.low, told.high))
    covered = sum(each.low <= truth <= each.high for each in found)
    assert not any(each.exact for each in found)
    assert covered >= 0.92 * len(found)


def test_the_clock_does_not_choose_the_method(monkeypatch):
    model, X, _ = machine(3)
    codes, boxes = model.schema_.encode(X)[0], []
    monkeypatch.setattr(
        "trust_recourse.answers.robustness.noise",
        lambda *_, max_boxes, **__: boxes.append(max_boxes) or Noise(0.5, 0.5, max_boxes),
    )
    confidence = own_confidence(model, 1)
    for n_copies in (50, 10_000):
        found = robustness(
            model.score_of(1), confidence, codes, model.schema_, 0.1, n_copies=n_copies
        )
        assert not found.exact
    assert boxes == [50 // COPIES_PER_BOX + 1, 10_000 // COPIES_PER_BOX + 1]


def test_a_larger_model_gets_fewer_boxes_but_one_at_least(monkeypatch):
    model, X, _ = machine(3)
    score, codes = model.score_of(1), model.schema_.encode(X)[0]
    size = len(score.kernel.numbers) + len(score.kernel.layout)
    asked = score, own_confidence(model, 1), codes, model.schema_, 0.1
    for times, boxes in ((1, 1), (7, 7), (0.5, 1), (10**9, 10_000 // COPIES_PER_BOX + 1)):
        monkeypatch.setattr("trust_recourse.answers.robustness.MOST_READ", int(times * size))
        seen = []
        with mock.patch(
            "trust_recourse.answers.robustness.noise",
            lambda *_, max_boxes, seen=seen, **__: seen.append(max_boxes) or Noise(0.5, 0.5, 1),
        ):
            robustness(*asked)
        assert seen == [boxes]


@settings(max_examples=30)
@given(which=machines, wanted=st.sampled_from([0, 1]), seed=st.integers(0, 10**6))
def test_bounds_inside_a_box_hold_and_are_no_looser(which, wanted, seed):
    model, _, _ = machine(*which)
    score, rng = model.score_of(wanted), np.random.default_rng(seed)
    _bounded_inside(score, rng)


def test_bounds_inside_a_box_of_trees_hold_and_are_no_looser():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    y = (X["a"] * X["b"] + X["c"] > 0).astype(int)
    trees = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    score = Recourse(trees, Schema.infer(X, guard=False)).score
    for _ in range(20):
        _bounded_inside(score, rng)


def _bounded_inside(score, rng):
    """Boxes of a random box, and points of these, judged by the kernel of the whole."""
    ends = np.sort(rng.integers(0, score.grid.sizes, (2, len(score.grid.sizes))), axis=0)
    inside = score.kernel.inside(*ends)
    boxes = np.sort(rng.integers(ends[0], ends[1] + 1, (2, 20, ends.shape[1])), axis=0)
    told, whole = inside(*boxes), score.kernel.intervals(*boxes)
    assert (told[:, 0] >= whole[:, 0]).all()
    assert (told[:, 1] <= whole[:, 1]).all()
    points = rng.integers(boxes[0], boxes[1] + 1)
    low, high, _ = score.bounds(*boxes, inside)
    confidence = score.at(points.astype(np.int32))
    assert (low <= confidence).all()
    assert (confidence <= high).all()


def test_no_copies_are_refused():
    schema = Schema((Feature("a", "number", scale=1.0),))
    with pytest.raises(ValueError, match="n_copies=0"):
        robustness(None, lambda rows: rows[:, 0], np.zeros(1), schema, 1.0, n_copies=0)


def test_the_laws_above_see_probabilities_between_0_and_1():
    found = []
    for seed in range(20):
        model, X, _ = machine(seed)
        codes = model.schema_.encode(X)[0]
        _, p = enumerated(model, codes, model.schema_, 0.1, 1)
        threshold = float(np.median(p))
        found.append(
            noise(model.score_of(1), codes, model.schema_, 0.1, threshold=threshold).probability
        )
    assert sum(0.05 < p < 0.95 for p in found) >= 8


@law
@given(seed=st.integers(0, 10**6), wanted=st.sampled_from([0, 1]))
def test_hardly_any_noise_keeps_every_decision_inside_a_cell(seed, wanted):
    model, X, _ = machine(seed)
    codes = model.schema_.encode(X)[0]
    codes[:2] -= [0.05, 0.5]  # thresholds are values of the data, so between two of them
    p = float(own_confidence(model, wanted)(codes[None])[0])
    asked = model.score_of(wanted), codes, model.schema_, 1e-6
    kept, lost = (noise(*asked, threshold=level) for level in (p, np.nextafter(p, 1)))
    assert (kept.probability, lost.probability) == (pytest.approx(1), pytest.approx(0))


def test_a_tie_is_class_1_on_both_sides(patients):
    X, y = patients
    model = TMClassifier(2, epochs=1, random_state=0).fit(X, y)
    conclude(model, np.zeros_like(model.inclusion_))  # empty clauses: silence, M = ½ everywhere
    codes = model.schema_.encode(X)[0]
    assert model.predict(X.head(1))[0] == 1
    for wanted, keeps in ((1, 1.0), (0, 0.0)):
        found = noise(model.score_of(wanted), codes, model.schema_, 0.1)
        assert found.probability == pytest.approx(keeps, abs=found.error)
        assert found.boxes == 1  # nothing is loose, so nothing needs splitting
        assert copies(own_confidence(model, wanted), codes, model.schema_, 0.1) == keeps
        column = model.predict_proba(X)[:, wanted]
        np.testing.assert_array_equal(of_class(model.predict_proba(X)[:, 1], wanted), column)


@settings(max_examples=20)
@given(which=machines)
def test_where_nothing_is_loose_the_confidence_is_one(which):
    model, _, rng = machine(*which)
    inclusion = model.inclusion_.copy()
    first, size, _, _, o = model.machine_.literals.layout
    said = np.arange(first[0], first[0] + size[0])
    inclusion[:, said] = inclusion[:, said + o] = 0.0  # no clause tests the first feature
    conclude(model, inclusion)
    cells = [np.arange(n, dtype=np.int32) for n in model.machine_.grid.sizes]
    ends = np.sort(rng.integers(0, [len(c) for c in cells], (40, 2, len(cells))), axis=1)
    ends[:20, 1, 1:] = ends[:20, 0, 1:]
    _, _, loose = model.score_of(1).bounds(ends[:, 0], ends[:, 1])
    alike = ends[~(loose > 0).any(axis=1)]
    assert (alike[:, 0] < alike[:, 1]).any()
    for first, last in alike:
        inside = itertools.product(*(range(a, b + 1) for a, b in zip(first, last, strict=True)))
        assert len(set(model.machine_.confidence_at(np.array(list(inside), np.int32)))) == 1


def test_whole_numbers_and_levels_move_as_a_whole():
    schema = Schema(
        (
            Feature("count", "integer", scale=10),
            Feature("rate", step=0.1),
            Feature("grade", "ordinal", values=("a", "b", "c")),
            Feature("paid", scale=10),
        )
    )
    codes, seen = np.array([2.0, 0.3, 1.0, 2.0]), []
    copies(lambda rows: seen.append(rows) or np.ones(len(rows)), codes, schema, 0.1, n_copies=4000)
    (rows,) = seen
    near = NormalDist(0.0, 1.0).cdf(0.5) - NormalDist(0.0, 1.0).cdf(-0.5)
    assert (rows[:, 0] == 2.0).mean() == pytest.approx(near, abs=0.03)
    assert set(rows[:, 0]) < set(map(float, range(-5, 10)))
    assert {0.2, 0.3, 0.4} <= set(rows[:, 1]) <= {round(0.1 * k, 1) for k in range(-9, 9)}
    assert set(rows[:, 2]) == {1.0}  # by a tenth of a level: none gets there
    assert len(set(rows[:, 3])) == 4000
    copies(lambda rows: seen.append(rows) or np.ones(len(rows)), codes, schema, 2.0)
    assert set(seen[-1][:, 2]) == {0.0, 1.0, 2.0}


def test_missing_values_and_unordered_ones_stay():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "debt": np.where(rng.random(80) < 0.3, -9, rng.integers(0, 20, 80)),
            "grade": pd.Categorical(rng.choice(["a", "b", "c"], 80), ["a", "b", "c"], ordered=True),
            "year": 2000.0,  # a number without thresholds: one cell, whatever the noise
        }
    )
    schema = Schema.infer(X, missing={"debt": -9})
    model = paper_machine(6, 10, epochs=5, schema=schema, random_state=0).fit(X, X.debt > 8)
    gone = schema.encode({"debt": -9, "grade": "b", "year": 2000})[0]
    settled = {"continuous": True}
    p = float(own_confidence(model, 1)(gone[None])[0])
    # with nothing to disturb, however great the noise, the decision is the one it was
    for threshold, keeps in ((p, 1.0), (np.nextafter(p, 1), 0.0)):
        found = noise(model.score_of(1), gone, schema, 5.0, threshold=threshold, **settled)
        assert (found.probability, found.boxes) == (pytest.approx(keeps), 1)
        asked = own_confidence(model, 1), gone, schema, 5.0
        assert copies(*asked, threshold=threshold, **settled) == keeps
    seen, codes = [], schema.encode({"debt": 3, "grade": "b", "year": 2000})[0]
    copies(lambda rows: seen.append(rows) or np.ones(len(rows)), codes, schema, 0.1, **settled)
    (rows,) = seen
    assert len(set(rows[:, 0])) == 50
    assert set(rows[:, 1]) == {1.0}


def test_locked_features_are_disturbed_too_and_the_seed_repeats(model, patients):
    X, _ = patients
    codes = model.schema_.encode(X)[0]
    free, locked = model.schema_, model.schema_.lock("age", "year", "nodes")
    assert noise(model.score_of(1), codes, free, 0.1) == noise(
        model.score_of(1), codes, locked, 0.1
    )
    confidence = own_confidence(model, 1)
    rates = [copies(confidence, codes, free, 0.3, random_state=seed) for seed in (0, 0, 1, 2, 3)]
    assert rates[0] == rates[1]
    assert len(set(rates)) > 1


def test_copies_serve_a_black_box_that_reads_tables(mixed):
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X, y = mixed
    schema = Schema.infer(X)
    words = make_column_transformer(
        (OneHotEncoder(), ["housing", "grade"]), remainder="passthrough"
    )
    box = make_pipeline(words, LogisticRegression(max_iter=1000)).fit(X, y)
    codes = schema.encode(X)
    tables = []

    def confidence(rows):
        tables.append(noisy_table(rows, schema))
        return box.predict_proba(tables[-1])[:, 1]

    sure = int(np.argmax(box.predict_proba(X)[:, 1]))
    close = int(np.argmin(np.abs(box.predict_proba(X)[:, 1] - 0.5)))
    assert copies(confidence, codes[sure], schema, 0.01, continuous=True) == 1.0
    assert 0.2 < copies(confidence, codes[close], schema, 0.1, n_copies=400) < 0.8
    assert tables[0].children.nunique() == 50  # an integer, made real
    assert tables[0].housing.unique().tolist() == [X.housing[sure]]


@pytest.mark.parametrize("sigma", [0, -0.1, math.nan, math.inf, "small", None, True])
def test_sigma_is_a_number_above_0(model, patients, sigma):
    codes = model.schema_.encode(patients[0])[0]
    for ask in (
        lambda: noise(model.score_of(1), codes, model.schema_, sigma),
        lambda: copies(own_confidence(model, 1), codes, model.schema_, sigma),
    ):
        with pytest.raises(ValueError, match="sigma=.*; expected a number above 0, such as 0.01"):
            ask()


def test_other_bad_questions_of_noise(model, patients):
    codes, schema = model.schema_.encode(patients[0])[0], model.schema_
    for wrong, said in (
        ({"threshold": 1.0}, "threshold=1.0; expected a number between 0 and 1"),
        ({"threshold": math.nan}, "threshold=nan"),
        ({"tolerance": -1e-3}, "tolerance=-0.001; expected a number from 0 to below 1"),
        ({"max_boxes": 0}, "max_boxes=0; expected a whole number of at least 1"),
        ({"max_boxes": 2.5}, "max_boxes=2.5"),
    ):
        with pytest.raises(ValueError, match=said):
            noise(model.score_of(1), codes, schema, 0.1, **wrong)
    with pytest.raises(ValueError, match=r"codes of shape \(1, 3\); expected one row of 3 numbers"):
        noise(model.score_of(1), codes[None], schema, 0.1)
    with pytest.raises(ValueError, match="n_copies=0"):
        copies(own_confidence(model, 1), codes, schema, 0.1, n_copies=0)
    with pytest.raises(ValueError, match=r"shape \(50, 2\), 0 of it NaN; expected a number for"):
        copies(lambda rows: np.ones((len(rows), 2)), codes, schema, 0.1)
    with pytest.raises(ValueError, match=r"shape \(50,\), 50 of it NaN"):
        copies(lambda rows: np.full(len(rows), np.nan), codes, schema, 0.1)


# ---------------------------------------------------------------- plausibility


def people(seed, gaps=True):
    """Rows of every kind, with values missing here and there."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 30))
    X = pd.DataFrame(
        {
            "income": rng.normal(1e6, 10.0, n),  # far from 0, where squares lose their digits
            "children": rng.integers(0, 4, n).astype(float),
            "home": rng.choice(["own", "rent", "free"], n),
            "grade": pd.Categorical(rng.choice(["a", "b", "c"], n), ["a", "b", "c"], ordered=True),
        }
    )
    for name in ("income", "children", "home") if gaps else ():
        X.loc[1:, name] = X.loc[1:, name].mask(rng.random(n - 1) < 0.2)
    return X, rng


def plain_distance(schema, a, b):
    total = 0.0
    for feature, x, y in zip(schema, a, b, strict=True):
        if math.isnan(x) or math.isnan(y):
            total += math.isnan(x) != math.isnan(y)
        elif feature.kind == "category":
            total += x != y
        else:
            total += ((x - y) / feature.scale) ** 2
    return math.sqrt(total)


def kth_nearest(schema, rows, known, k):
    return np.array([sorted(plain_distance(schema, a, b) for b in known)[k - 1] for a in rows])


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), quantile=st.floats(0.05, 1))
def test_near_neighbours_are_those_of_plain_distances(seed, k, quantile):
    X, rng = people(seed)
    schema = Schema.infer(X, missing=math.nan)
    near = NearNeighbours(X, quantile, k, schema)
    known = schema.encode(X)
    limit = np.quantile(kth_nearest(schema, known, known, k + 1), quantile, method="higher")
    assert near.limit == pytest.approx(limit, abs=1e-7)
    assert near(X).mean() >= quantile
    # other people: each value is someone's, the numbers a little off
    other = schema.decode(rng.permuted(known, axis=0))
    other["income"] += rng.normal(0, 10, len(X))
    distance = kth_nearest(schema, schema.encode(other), known, k)
    np.testing.assert_allclose(near.distance(other), distance, atol=1e-7)
    clear = np.abs(distance - limit) > 1e-6
    assert clear.any()
    np.testing.assert_array_equal(near(other)[clear], (distance <= limit)[clear])
    assert [near(other.iloc[[i]])[0] for i in range(len(X))] == near(other).tolist()


def test_fingerprints_tell_tests_apart_by_rows_and_settings():
    known = pd.DataFrame({"age": range(20, 60), "job": ["day", "night"] * 20})
    assert NearNeighbours(known).fingerprint == NearNeighbours(known.copy()).fingerprint
    assert Isolation(known).fingerprint == Isolation(known.copy()).fingerprint
    others = [
        NearNeighbours(known), NearNeighbours(known.head(30)), NearNeighbours(known, k=4),
        NearNeighbours(known, quantile=0.9), NearNeighbours(known.assign(job="day")),
        Isolation(known), Isolation(known, quantile=0.9), Isolation(known, n_trees=50),
        Isolation(known, random_state=1), Isolation(known.head(30)),
    ]  # fmt: skip
    assert len({each.fingerprint for each in others}) == len(others)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), quantile=st.floats(0.3, 1))
def test_isolation_finds_its_share_of_the_known_rows_plausible(seed, quantile):
    X, _ = people(seed)
    usual = Isolation(X, quantile, n_trees=20)
    assert usual(X).mean() >= quantile
    np.testing.assert_array_equal(usual(X), Isolation(X, quantile, n_trees=20)(X))


@pytest.mark.parametrize("test", [NearNeighbours, Isolation])
def test_tests_read_rows_as_they_come(test):
    X, _ = people(1, gaps=False)
    plausible = test(X)
    blank = X.head(3).assign(income=math.nan, home=None)  # never missing among the known rows
    assert are_plausible(plausible, blank).shape == (3,)
    assert are_plausible(plausible, X[X.columns[::-1]]).tolist() == plausible(X).tolist()
    coded = X.assign(children=X.children.astype(int)).replace({"children": {3: -9}})
    schema = Schema.infer(coded, missing={"children": -9})
    assert are_plausible(test(coded, schema=schema), coded).mean() >= 0.95
    assert test(X.to_numpy()[:, :2].astype(float))(np.array([[1e6, 1.0]])).shape == (1,)
    assert "quantile=0.95" in repr(plausible)
    assert "limit=" in repr(plausible)
    with pytest.raises(AttributeError):
        plausible.quantile = 0.5


@pytest.mark.parametrize("test", [NearNeighbours, Isolation])
def test_a_stranger_is_set_apart(patients, test):
    X, _ = patients
    usual = test(X)
    assert 0.95 <= usual(X).mean() < 1
    odd = pd.DataFrame({"age": [52, 83], "year": [62, 58], "nodes": [1, 52]})
    assert usual(odd).tolist() == [True, False]


def test_a_function_of_a_row_sees_a_persons_own_values():
    rows = pd.DataFrame({"children": [1, 2], "rate": [0.5, 1.5], "home": ["own", "rent"]})
    seen = []
    test = EachRow(lambda row: seen.append(row) or (row.children < 2 and row.home == "own"))
    assert are_plausible(test, rows).tolist() == [True, False]
    assert type(seen[0]["children"]) is int
    assert are_plausible(test, rows.head(0)).tolist() == []


def test_what_a_test_answers_is_checked():
    rows = pd.DataFrame({"age": [12.0, 40.0]})
    nullable = rows.age.astype("Float64") > 18
    assert are_plausible(lambda _: nullable, rows).tolist() == [False, True]
    for wrong in (True, np.array([1, -1]), [True], [True, None], "yes"):
        with pytest.raises(ValueError, match="expected True or False for each of 2 rows .*EachRow"):
            are_plausible(lambda _, given=wrong: given, rows)


def test_bad_settings_of_the_tests():
    X, _ = people(0, gaps=False)
    for ask, said in (
        (lambda: NearNeighbours(X, 0), "quantile=0; expected a number above 0, up to 1"),
        (lambda: Isolation(X, 1.5), "quantile=1.5"),
        (lambda: NearNeighbours(X, k=0), "k=0; expected a whole number"),
        (lambda: NearNeighbours(X.head(5)), "X has 5 rows; expected more than k=5"),
        (lambda: Isolation(X, n_trees=0), "n_trees=0"),
        (lambda: NearNeighbours(X)(X.assign(home="tent")), "column 'home'.*given 'tent'"),
    ):
        with pytest.raises(ValueError, match=said):
            ask()
    schema = Schema((Feature("age"),))
    with pytest.raises(ValueError, match="given a blank, expected a value"):
        NearNeighbours(pd.DataFrame({"age": np.arange(9.0)}), schema=schema)({"age": math.nan})


def test_an_evidence_report_shows_the_interval_of_a_share():
    model, X, _ = machine(5)
    recourse = Recourse(model, Schema.infer(X, guard=False), "l1")
    p = model.predict_proba(X)[:, 1]
    result = recourse.find(X.iloc[int(p.argmin())], float(p.max()))
    assert result.options
    kept = Robustness(0.18234, 0.17482, 0.19006, exact=False)
    with mock.patch.object(Result, "robustness", return_value=kept):
        told = evidence(result, pictures=False).text()
    assert "17.4–19.1%" in told
    assert "18.2" not in told
