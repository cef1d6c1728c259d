"""Sums of several kinds at once, against enumeration by their definition in plain Python.

Two classes have slopes next to pairs; of several, one is a line, one has tables and one trees;
retrained models are trees and lines. Nothing of the package computes what is expected.
"""

from __future__ import annotations

import json
import math
from itertools import product
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from trust_recourse import Certificate, CertificateError, Feature, Recourse, Schema, load, verify
from trust_recourse.answers.retraining import mean_of
from trust_recourse.models import Additive, ClassSums, from_model
from trust_recourse.models.sums import score
from trust_recourse.models.sums.dense_tables import Pair

SCHEMA = Schema(
    (
        Feature("a", lower=-2, upper=2, step=0.25, scale=1.0),
        Feature("b", "integer", lower=0, upper=5, scale=2.0),
        Feature("c", "category", values=("x", "y", "z")),
    )
)
EVERY = [*product(np.arange(-8, 9) * 0.25, np.arange(6.0), (0.0, 1.0, 2.0))]
ROWS = np.array(EVERY)
EDGES = [[0.0], [1.0, 3.0], []]
WHOLE = Schema((*SCHEMA.features[:2], Feature("c", "integer", lower=0, upper=2, scale=1.0)))
BINS = ([0, 1], [0, 0, 1])  # of the cells of a and of b


class Line:
    """Points, slopes and a table, and their sum by definition."""

    def __init__(self, seed, pairs):
        rng = np.random.default_rng(seed)
        self.points = [rng.normal(size=n).round(1) for n in (2, 3, 3)]
        self.slopes = [rng.normal(size=2).round(1), np.zeros(3), np.zeros(3)]
        self.table = rng.normal(size=(2, 2)).round(1) if pairs else np.zeros((2, 2))
        self.base = round(float(rng.normal()), 1)
        both = [Pair((0, 1), (np.array(BINS[0]), np.array(BINS[1])), self.table)] if pairs else []
        self.model = Additive(
            SCHEMA, EDGES, self.points, slopes=self.slopes, pairs=both, base=self.base
        )

    def at(self, a, b, c):
        """The sum of a row."""
        cells = int(a > 0.0), int(b > 1.0) + int(b > 3.0), int(c)
        found = self.base + self.slopes[0][cells[0]] * a
        found += sum(of[cell] for of, cell in zip(self.points, cells, strict=True))
        return found + self.table[BINS[0][cells[0]], BINS[1][cells[1]]]


class Trees:
    """Trees of scikit-learn, whose library says what their sum is."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(ROWS), 200)
        X = pd.DataFrame(ROWS[rows], columns=list("abc"))
        y = X.a * rng.normal() + X.b * rng.normal() + (X.c == 1)
        self.library = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=seed)
        self.library.fit(X, (y + rng.normal(size=200) > y.median()).astype(int))
        self.model = from_model(self.library, WHOLE, X)


def whole(line):
    """A line on the schema of the trees, where c is a number."""
    model = line.model
    edges = [EDGES[0], EDGES[1], [0.0, 1.0]]
    return Additive(
        WHOLE, edges, line.points, slopes=line.slopes, pairs=model.pairs, base=line.base
    )


def cost(own, row, schema):
    scales = [feature.scale for feature in schema]
    moved = [abs(x - y) / s for x, y, s in zip(own, row, scales, strict=True)]
    if schema[2].kind == "category":
        moved[2] = float(own[2] != row[2])
    return math.fsum(moved)


def cheapest(own, enough, schema):
    """What the cheapest row costs, by enumeration; ∞ if there is none."""
    return min((cost(own, row, schema) for row in EVERY if enough(*row)), default=math.inf)


def forged(certificate, model):
    """Whether a certificate with a greater bound, or without its answer, is believed."""
    told = json.loads(certificate.to_json())
    told["lower_bound"] = told["lower_bound"] * 1.5 + 0.25
    told["answer"], told["status"] = None, "infeasible"
    try:
        verify(Certificate.from_dict(told), model)
    except CertificateError:
        return False
    return True


def judge(recourse, own, level, enough, schema, **how):
    """The answer is the cheapest by enumeration; its certificate holds, and no forged one does."""
    row = pd.Series(schema.decode(np.array([own])).iloc[0])
    result = recourse.find(row, level, **how)
    expected = cheapest(own, enough, schema)
    if math.isinf(expected):
        assert not result.options
    else:
        codes = schema.encode(pd.DataFrame([result.options[0].x]))[0]
        assert enough(*codes)
        assert result.options[0].cost == pytest.approx(expected, abs=1e-9)
    certificate = result.certificate()
    assert verify(certificate, recourse.model).status == next(iter(result.status.values()))
    if math.isfinite(expected):
        assert not forged(certificate, recourse.model)
    return expected


@pytest.fixture(autouse=True, params=[0, 64])
def reduced(request):
    """Questions are reduced before they are searched, or not."""
    with mock.patch.object(score, "FEWEST", request.param):
        yield


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("wanted", [0, 1])
def test_slopes_with_pairs(seed, wanted):
    line, sign = Line(seed, pairs=True), 1 if wanted else -1
    told = np.array([line.at(*row) for row in EVERY])
    assert line.model.predict_proba(SCHEMA.decode(ROWS))[:, 1] == pytest.approx(
        1 / (1 + np.exp(-told)), abs=1e-12
    )
    recourse = Recourse(line.model, SCHEMA, "l1", wanted=wanted)
    order = np.argsort(sign * told)
    goal = sign * told[order[int(0.9 * len(order))]] - 1e-6
    level = 1 / (1 + math.exp(-goal))
    for at in order[:100:30]:
        judge(recourse, ROWS[at], level, lambda *row: sign * line.at(*row) >= goal, SCHEMA)


@pytest.fixture(scope="module")
def classes():
    """A line with a table, trees, a line, and trees: each with its sum by definition."""
    return Line(1, pairs=True), Trees(2), Line(3, pairs=False), Trees(4)


def model_of(classes):
    made = [whole(each) if isinstance(each, Line) else each.model for each in classes]
    return ClassSums(tuple(made), np.array(["w", "x", "y", "z"]))


@pytest.fixture(scope="module")
def sums(classes):
    """The sums of all rows, (rows, classes)."""
    library = pd.DataFrame(ROWS, columns=list("abc"))
    return np.column_stack(
        [
            [each.at(*row) for row in EVERY]
            if isinstance(each, Line)
            else each.library.decision_function(library)
            for each in classes
        ]
    )


@pytest.mark.parametrize("wanted", range(4))
def test_classes_of_different_kinds(classes, sums, wanted):
    model = model_of(classes)
    p = np.exp(sums) / np.exp(sums).sum(axis=1, keepdims=True)
    assert model.predict_proba(WHOLE.decode(ROWS)) == pytest.approx(p, abs=1e-12)
    place = {row: at for at, row in enumerate(EVERY)}
    recourse = Recourse(model, WHOLE, "l1", wanted="wxyz"[wanted])
    order, level = np.argsort(p[:, wanted]), float(np.quantile(p[:, wanted], 0.9)) - 1e-9
    answers = [
        judge(recourse, ROWS[at], level, lambda *row: p[place[row], wanted] >= level, WHOLE)
        for at in order[:200:90]
    ]
    assert min(answers) < math.inf


@pytest.mark.parametrize("wanted", range(4))
def test_a_class_of_another_kind_wins(classes, sums, wanted):
    model, place = model_of(classes), {row: at for at, row in enumerate(EVERY)}
    recourse = Recourse(model, WHOLE, "l1", wanted="wxyz"[wanted])
    wins = sums.argmax(axis=1) == wanted
    for at in np.flatnonzero(~wins)[::120]:
        judge(recourse, ROWS[at], None, lambda *row: wins[place[row]], WHOLE, mode="argmax")


@pytest.mark.parametrize("kind", ["one sum", "classes"])
def test_no_noise_within_the_radius_loses_the_decision(kind, classes):
    model = Line(1, pairs=True).model if kind == "one sum" else model_of(classes)
    schema, rng, far = model.schema_, np.random.default_rng(0), 0.0
    place = 1 if kind == "one sum" else 2
    recourse = Recourse(model, schema, "l1", wanted=model.classes_.tolist()[place])
    scales = np.array([f.scale if f.numeric else 0.0 for f in schema])
    for at in rng.choice(len(ROWS), 10, replace=False):
        row = schema.decode(ROWS[[at]]).iloc[0]
        result = recourse.find(row, 0.85)
        if not result.options:
            continue
        option = result.options[0]
        radius = result.radius(0, norm="linf", continuous=True)
        near = min(float(radius), 1.0) * (1 - 1e-9)
        away = rng.uniform(-1, 1, (400, 3))
        away[:200] = np.sign(away[:200])
        codes = option.codes + near * away * scales
        assert (model.proba_of(codes)[:, place] >= 0.5 - 1e-12).all()
        far = max(far, near)
        kept, error = result.robustness(0, sigma=0.05, continuous=True)[:2]
        drawn = option.codes + 0.05 * rng.normal(size=(20_000, 3)) * scales
        told = (model.proba_of(drawn)[:, place] >= 0.5).mean()
        assert abs(told - kept) < error + 0.02
    assert far > 0


def test_a_file_keeps_classes_of_different_kinds(classes, tmp_path):
    model = model_of(classes)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.fingerprint_ == model.fingerprint_
    assert np.array_equal(again.proba_of(ROWS), model.proba_of(ROWS))


def test_retrained_models_of_different_kinds_have_a_mean(classes, sums):
    line, trees = classes[0], classes[1]
    given = [whole(line), trees.model, whole(line)]
    mean = mean_of(given)
    expected = (2 * sums[:, 0] + sums[:, 1]) / 3
    for wanted, sign in ((0, -1.0), (1, 1.0)):
        told = mean.score_of(wanted).at_codes(ROWS)
        assert np.log(told / (1 - told)) == pytest.approx(sign * expected, abs=1e-9)
    row = pd.Series(ROWS[int(np.argmin(sums[:, 0]))], list("abc"))
    retrained = [given[k % 2] for k in range(18)]
    recourse = Recourse(whole(line), WHOLE, "l1", bootstraps=retrained)
    (option,) = recourse.find(row, 0.5, survives=0.5).options
    asked = pd.DataFrame([option.x]).astype(float)
    assert all(each.predict_proba(asked)[0, 1] >= 0.5 for each in given)


@pytest.mark.filterwarnings("ignore")  # few rounds, no interactions of several classes by default
def test_an_ebm_of_several_classes_may_have_pairs():
    glassbox = pytest.importorskip("interpret.glassbox", reason="interpret is not installed")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.integers(0, 8, 300).astype(float) for name in "abc"})
    risk = X.a * X.b + X.c + rng.normal(size=300)
    y = (risk > 12).astype(int) + (risk > 25)
    schema = Schema(tuple(Feature(name, "integer", lower=0, upper=7) for name in "abc"))
    ebm = glassbox.ExplainableBoostingClassifier(
        interactions=[("a", "b")], max_rounds=20, outer_bags=1, n_jobs=1, random_state=0
    ).fit(X, y)
    model = from_model(ebm, schema, X)
    assert [len(each.pairs) for each in model.models] == [1, 1, 1]
    rows = pd.DataFrame(product(range(8), repeat=3), columns=list("abc"), dtype=float)
    p, x = ebm.predict_proba(rows)[:, 2], X[y == 0].iloc[0]
    level = float(np.quantile(p, 0.9))
    result = Recourse(ebm, schema, "l1", wanted=2).find(x, level)
    scales = np.array([feature.scale for feature in schema])
    costs = (np.abs(rows - x) / scales).sum(axis=1)
    assert result.options[0].cost == pytest.approx(costs[p >= level].min())
    certificate = result.certificate()
    assert verify(certificate, model)
    assert not forged(certificate, model)
