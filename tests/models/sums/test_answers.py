"""Half a minute of the laws of trees, by seed; `make laws` asks fresh questions."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from laws import answers, mip, trees
from laws.checks import Findings
from trust_recourse.models.readers import sklearn
from trust_recourse.models.sums import ensemble, reduce
from trust_recourse.models.sums import sum as sum_of_terms
from trust_recourse.models.sums.kernels import Terms

pytestmark = pytest.mark.slow

SEEDS = range(6)  # of each library
MIDDLE = range(12)
ORDINARY = range(8)
COUNTED = {
    *(f"{status}, {mode}" for status in ("optimal", "infeasible", "already_met")
      for mode in ("at_least", "band", "limited")),
    "feasible, limited", "optimal, with room", "infeasible, with room", "further options",
    "furthest reached", "steps of a frontier", "levels that a row has to the last bit",
    "rows that a relation forbids", "people with a missing value", "costs with functions",
    "schemas with a continuous feature", "wanted class 0", "wanted class 1",
    "questions that were reduced", "radii that end somewhere",
    "probabilities that are no certainty",
}  # fmt: skip


@cache
def found(kind: str) -> Findings:
    """What all seeds of a library find."""
    each = [trees.judge(seed, kind) for seed in SEEDS]
    counts = sum((findings.counts for findings in each), Counter())
    return Findings(counts, [words for findings in each for words in findings.broken])


@pytest.mark.parametrize("kind", trees.KINDS)
def test_an_answer_is_that_of_enumeration_by_the_library_itself(kind):
    assert found(kind).broken == []
    assert found(kind).counts["people"] >= len(SEEDS)


def test_there_was_something_to_judge():
    counts = sum((found(kind).counts for kind in trees.KINDS), Counter())
    assert {kind for kind in COUNTED if not counts[kind]} == set()


@pytest.mark.parametrize("seed", MIDDLE)
def test_the_least_cost_is_that_of_a_mixed_integer_program(seed):
    assert mip.judge(seed).broken == []


@pytest.mark.parametrize("seed", ORDINARY)
def test_an_answer_is_enough_by_the_library_s_own_word(seed):
    assert answers.judge(seed).broken == []


class Narrow(Terms):
    """A kernel whose terms are less than they are."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.numbers[1:] *= 0.97


@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (sum_of_terms, "Terms", Narrow),
        (sklearn, "last_left", lambda below: np.asarray(below, float)),
        (ensemble, "expit", lambda x: 1 / (1 + np.exp(-1.0001 * x))),
    ],
)
def test_a_wrong_reader_or_kernel_breaks_a_law(monkeypatch, where, name, wrong):
    monkeypatch.setattr(where, name, wrong)
    kinds = ("extra trees", "gradient boosting")
    assert any(trees.judge(seed, kind).broken for seed in range(20) for kind in kinds)


def test_a_wrong_reduction_breaks_a_law(monkeypatch):
    right = reduce._Problem.bound

    def wrong(*given):
        bound, excess = right(*given)
        return bound, 100.0 * excess

    monkeypatch.setattr(reduce._Problem, "bound", wrong)
    monkeypatch.setattr(reduce, "PATIENCE", 0.0)  # else it is right at once
    assert any(mip.judge(seed).broken for seed in MIDDLE)
