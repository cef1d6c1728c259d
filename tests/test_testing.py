"""Models on cells, held to the conformance kit; broken ones do not pass it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import boosted
from trust_recourse import Recourse
from trust_recourse.certificate import checker
from trust_recourse.certificate.sums import SumProof
from trust_recourse.models import Additive, Grid, PythonKernel, Score
from trust_recourse.models.sums.additive import Points
from trust_recourse.testing import check_cell_model
from worlds import EDGES, LINKS, LOAN, card, machine


@pytest.mark.parametrize("seed", range(6))
def test_a_table_of_points_passes_the_kit(seed):
    checked = check_cell_model(card(seed), random_state=seed)
    assert checked.boxes == 400
    assert checked.conditions > 200
    assert checked.questions >= 10
    assert checked.certificates == 2 * checked.questions


@pytest.mark.parametrize("size", [1e2, 1e4, 1e5])
def test_points_far_from_0_pass_the_kit(size):
    far = card(2)
    points = [each - size if f == 0 else each for f, each in enumerate(far.points)]
    model = Additive(LOAN, EDGES, points, base=far.base + size)
    assert check_cell_model(model, random_state=1).questions >= 10


def test_a_bound_that_is_none_proves_nothing():
    """Divisions by 0 in a kernel give NaN, which discards nothing."""
    model = card(3)
    model._kernel = Dividing(model.grid, model.points, model.base)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        person = LOAN.decode(rng.integers([1, 0, 0], [13, 10, 3])[None]).iloc[0]
        level = float(model.predict_proba(pd.DataFrame([person]))[0, 1]) + 0.02
        right = Recourse(card(3), LOAN, "l1").find(person, min(level, 0.99))
        found = Recourse(model, LOAN, "l1").find(person, min(level, 0.99))
        assert [*found.status.values()] == [*right.status.values()]
        assert [o.cost for o in found.options] == [o.cost for o in right.options]


class Dividing(PythonKernel, Points):
    def intervals(self, first, last):
        wide = (last - first).astype(float)
        total = wide.sum(axis=1)
        with np.errstate(invalid="ignore"):
            nothing = (total - total) / total  # 0 / 0 on a single cell
        return np.column_stack([nothing - 1.0, nothing + 2.0, wide])


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("calibration", [None, "isotonic"])
def test_a_machine_passes_the_kit(link, calibration):
    model, X, _ = machine(3, link, calibration)
    checked = check_cell_model(model, X, n_boxes=60, n_questions=8)
    assert checked.conditions > 50
    assert checked.certificates == 2 * checked.questions >= 8


class Plain(PythonKernel, Points):
    """The same, with nothing but an interval."""

    def __init__(self, *given):
        super().__init__(*given)
        self.points = Points(*given)

    def intervals(self, first, last):
        return self.points.intervals(first, last)


@pytest.mark.parametrize("seed", range(4))
def test_an_interval_is_enough(seed):
    model = card(seed)
    model._kernel = Plain(model.grid, model.points, model.base)
    assert check_cell_model(model, random_state=seed).questions >= 10


@pytest.mark.parametrize("seed", range(6))
def test_a_boosted_ensemble_passes_the_kit_by_memory_and_by_reduction(seed):
    rng = np.random.default_rng(seed)
    edges = [np.arange(1.5, 12), np.arange(0.5, 9), np.array([])]
    model = boosted.Boosted(LOAN, edges, n_trees=6, depth=3, rng=rng)
    before = boosted.Sum.reductions
    checked = check_cell_model(model, random_state=seed, n_boxes=60)
    assert checked.questions >= 10
    assert checked.certificates == 0  # nobody can read it
    assert boosted.Sum.reductions >= before + 10


def test_what_is_remembered_changes_no_answer():
    rng = np.random.default_rng(1)
    edges = [np.arange(1.5, 12), np.arange(0.5, 9), np.array([])]
    model = boosted.Boosted(LOAN, edges, n_trees=8, depth=4, rng=rng)
    for seed in range(20):
        person = LOAN.decode(np.random.default_rng(seed).integers([1, 0, 0], [13, 10, 3])[None])
        answers = []
        for remembers in (True, False):
            recourse = Recourse(model, LOAN, "l1")
            if not remembers:  # the same kernel without a memory of its own: all leaves live
                score = recourse.__dict__["score"] = model.score_of(1)
                score.kernel = boosted.Leaves(*model.leaves, remembers=False)
            level = recourse.reachable(person.iloc[0]).most
            answers.append(recourse.find(person.iloc[0], level).options[0].cost)
        assert answers[0] == answers[1]


class Halved(Points):
    """Bounds that are too narrow."""

    def intervals(self, first, last):
        told = super().intervals(first, last)
        middle = told[:, :2].mean(axis=1, keepdims=True)
        told[:, :2] = middle + (told[:, :2] - middle) / 2
        return told


class Shifted(Grid):
    """Another edge rule than its edges say."""

    def cells(self, codes):
        return super().cells(np.nextafter(codes, np.inf))


class Flattered(Score):
    """Confidences that are not those of the bounds."""

    def __init__(self, score):
        self.score, self.grid, self.kernel, self.rises = (
            score, score.grid, score.kernel, score.rises,
        )  # fmt: skip

    def at(self, cells):
        return np.minimum(self.score.at(cells) * 1.1, 1.0)

    def confidence(self, number):
        return self.score.confidence(number)


@pytest.mark.parametrize("fault", ["bounds", "grid", "score"])
def test_what_is_wrong_does_not_pass(fault, monkeypatch):
    model = card(0)
    if fault == "bounds":
        model._kernel = Halved(model.grid, model.points, model.base)
    elif fault == "grid":
        model.grid = Shifted(model.grid.schema, model.grid.edges)
    else:
        plain = Additive.score_of
        monkeypatch.setattr(Additive, "score_of", lambda self, w: Flattered(plain(self, w)))
    with pytest.raises(AssertionError, match="box|cells|reaches|predict_proba"):
        check_cell_model(model)


def test_a_checker_that_is_wrong_does_not_pass(monkeypatch):
    """One that refuses the honest, and one that believes the forged."""
    check_cell_model(card(0), n_boxes=1)
    with monkeypatch.context() as patch:
        patch.setattr(SumProof, "rounding", 1.0)
        with pytest.raises(AssertionError, match="the certificate of .*: refused, leaf"):
            check_cell_model(card(0), n_boxes=1)
    patched = tuple(lambda _, boxes: (boxes.node >= 0, str) for _ in checker._JUDGES)
    monkeypatch.setattr(checker, "_JUDGES", patched)
    with pytest.raises(AssertionError, match="a forged one was confirmed"):
        check_cell_model(card(0), n_boxes=1)


def test_a_card_reads_tables_as_people_write_them():
    rows = pd.DataFrame({"months": [3, 4], "owed": [-1, 9], "housing": ["own", "rent"]})
    p = card(1).predict_proba(rows)
    assert p.shape == (2, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("edges", "points", "words"),
    [
        ([[3, 5], [2], []], [[0, 1, 2], [0, 1, 2], [0, 1]], "'housing', points.*expected 3"),
        ([[5, 3], [2], []], [[0, 1, 2], [0, 1, 2], [0, 1, 2]], "'months', edges.*ascending"),
        ([[3, 5], [2], []], [[0, 1, np.inf], [0, 1, 2], [0, 1, 2]], "'months', points.*finite"),
    ],
)
def test_a_card_that_cannot_be_is_refused(edges, points, words):
    with pytest.raises(ValueError, match=words):
        Additive(LOAN, edges, points)
