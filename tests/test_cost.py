"""The arithmetic of costs over arrays is that of one change at a time, to the bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trust_recourse.cost import Cost, Units
from trust_recourse.schema import Feature

COSTS = ["l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5}]

sizes = st.floats(0.01, 100.0)
codes = st.one_of(st.just(math.nan), st.floats(-1e6, 1e6), st.integers(-3, 3).map(float))


@st.composite
def changes(draw):
    kind = draw(st.sampled_from(["number", "category"]))
    values = {"values": tuple("abcdefg")} if kind == "category" else {}
    own = draw(codes)
    return Feature("f", kind, scale=draw(sizes), weight=draw(sizes), **values), own, draw(codes)


@given(st.lists(changes(), min_size=1, max_size=8), st.sampled_from(COSTS))
def test_an_array_of_changes_is_each_of_them(each, named):
    cost = Cost.named(named)
    each = [(f, own, value) for f, own, value in each if math.isnan(own) or not math.isnan(value)]
    assume(each)
    features, own, values = zip(*each, strict=True)
    found = cost.changes(Units.of(features), np.array(own), np.array(values))
    one_by_one = np.array([cost.change(*change) for change in each])
    assert found.tobytes() == one_by_one.tobytes()


def test_a_part_of_the_units_is_that_of_the_features():
    features = [Feature("a", weight=2.0), Feature("b", "category", values=("x",)), Feature("c")]
    some = Units.of(features).at(np.array([1, 0, 0]))
    assert some.weight.tolist() == [1.0, 2.0, 2.0]
    assert some.unordered.tolist() == [True, False, False]


@pytest.mark.parametrize("named", COSTS)
def test_before_the_root_is_what_the_root_is_taken_of(named):
    cost = Cost.named(named)
    assert cost.total(cost.before_root(0.7)) == pytest.approx(0.7, rel=1e-15)
    assert cost.before_root(3.0) == (9.0 if named == "l2" else 3.0)


def test_a_cost_that_is_not_a_sum_says_what_to_do():
    def largest(old, new):
        return max(abs(new - old))

    for cost, named in (("linf", "'linf', the largest change"), (largest, "the callable largest")):
        with pytest.raises(ValueError, match=named) as raised:
            Cost.named(cost)
        assert "Expected a sum over features" in str(raised.value)
    assert "functions={'income'" in str(raised.value)
    with pytest.raises(ValueError, match="'mahalanobis', a distance with products of changes"):
        Cost.read("mahalanobis")
