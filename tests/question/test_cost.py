"""The arithmetic of costs over arrays is that of one change at a time, to the bit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trust_recourse import Recourse, Schema
from trust_recourse.certificate import CertificateError, check
from trust_recourse.models import Additive
from trust_recourse.question import Point, Status
from trust_recourse.question.cost import Cost, Units
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


TINY = [1e-140, 1e-158, 1e-161, 1.5e-162, 1e-170, 1e-300, 5e-324]  # squares of most are rounded


@pytest.mark.parametrize("edge", TINY)
@pytest.mark.parametrize("cost", ["l1", "l2", {"l1": 1e-30, "l2": 1.0}])
def test_no_change_is_free_however_small(edge, cost):
    """Of two changes where one is enough, an answer that is called optimal has one."""
    schema = Schema(tuple(Feature(name, lower=-1, upper=1, scale=20.0) for name in "ab"))
    card = Additive(schema, [[edge], [edge]], [[-1.0, 1.0], [-1.0, 1.5]])
    result = Recourse(card, schema, cost).find({"a": 0.0, "b": 0.0}, 0.5)
    (option,) = result.options
    assert option.status is Status.OPTIMAL
    assert len(option.changes) == 1
    assert option.cost > 0
    found = Cost.named(cost)
    added = found.changes(Units.of(schema.features), np.zeros(2), option.codes)
    assert found.total(math.fsum(added)) == option.cost
    certificate = result.certificate()
    assert check(certificate, card).status is Status.OPTIMAL


@pytest.mark.parametrize("bound", [5e-324, 1e-200, 1e-170, 1.5e-162, 9e-151])
def test_a_lower_bound_whose_square_is_lost_is_never_believed(bound):
    """Who meets the target already needs nothing, so nothing above 0 is a lower bound."""
    schema = Schema((Feature("a", lower=-1, upper=1),))
    card = Additive(schema, [[0.0]], [[-1.0, 1.0]])
    certificate = Recourse(card, schema, "l2").find({"a": 0.5}, 0.5).certificate()
    dear = np.array([0.75])
    answer = Point(dear, 0.25, float(card.score_of(1).at_codes(dear[None])[0]))
    forged = replace(certificate, status=Status.FEASIBLE, answer=answer, lower_bound=bound)
    assert check(replace(forged, lower_bound=0.0), card).lower_bound == 0.0
    with pytest.raises(CertificateError):
        check(forged, card)


def test_a_bound_is_never_rounded_up():
    for cost in (Cost.named("l1"), Cost.named("l2")):
        for added in (5e-324, 1e-310, 9.9e-301):
            assert cost.total(added) == 0.0
        assert cost.total(1e-300) > 0.0


def test_a_step_whose_cost_is_lost_is_refused():
    schema = Schema((Feature("a", step=1e-170, lower=0, upper=1),))
    with pytest.raises(
        ValueError, match="a step of 1e-170 costs 0 .*expected at least.*Give a lar"
    ):
        Cost.named("l2").check(schema)
    Cost.named("l1").check(schema)


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
