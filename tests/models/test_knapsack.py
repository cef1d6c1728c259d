"""The knapsack against every choice there is, and the searches it stands in for."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from unittest import mock

import numpy as np
import pytest

from laws import knapsack as law
from trust_recourse import Feature, Recourse, Schema, Status
from trust_recourse.models import Additive, knapsack
from trust_recourse.models.knapsack import Sack, begun, cheapest, code

D = 4


def a_sack(rng):
    """Three features with lists and one or two with lines; few digits, so that costs are tied."""
    many = rng.integers(1, 5, D)
    first = np.array([0, *np.cumsum(many)])
    costs = rng.integers(0, 6, first[-1]) / 4
    gains = rng.normal(size=first[-1]).round(1)
    costs[first[:-1]] = gains[first[:-1]] = 0.0  # one's own
    lines, own = np.zeros((D, 8)), rng.uniform(-3, 3, D).round(2)
    lines[:, knapsack.Q] = 1.0
    for f in range(rng.integers(0, 3)):
        slope = rng.choice([-1.0, 1.0]) * rng.uniform(0.1, 1.0)
        lines[f, :6] = (
            0.0,
            slope,
            rng.choice([0.5, 1.0, 2.0]),
            rng.uniform(1, 4),
            1,
            rng.choice([1, 2]),
        )
    ends = np.sort(rng.integers(-4, 5, (2, D)).astype(float), axis=0)
    assert begun(lines, own, ends)
    parts = np.array([(0, 1, 0), (0, 0, 1), (0.1, 1, 0.5)])[rng.integers(3)].astype(float)
    return Sack(costs, gains, first, lines, parts), own, ends


def choices(sack, own, ends, f):
    """Cost and gain of all that a feature may choose, straight from what they mean, by what it is.

    A candidate is known by its place, a value on a line by itself.
    """
    places = range(sack.first[f], sack.first[f + 1])
    found = {("place", k): (sack.costs[k], sack.gains[k]) for k in places}
    _, slope, weight, scale, p, q, _, _ = sack.lines[f]
    for value in [k * p / q for k in range(-20, 21) if slope]:
        if ends[0, f] <= value <= ends[1, f] and (value - own[f]) * slope > 0:
            moved = abs(value - own[f]) * weight / scale
            cost = sack.parts @ [weight, moved, moved * moved]
            found["value", value] = (cost, slope * (value - own[f]))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_it_finds_the_cheapest_and_of_these_the_best_or_shows_that_there_is_none(seed):
    rng = np.random.default_rng(seed)
    sack, own, ends = a_sack(rng)
    every = [choices(sack, own, ends, f) for f in range(D)]
    points = np.array([np.sum(p, axis=0) for p in itertools.product(*(e.values() for e in every))])
    needed = float(rng.choice(points[:, 1]) + rng.choice([0.0, 0.0, 1e-9, 0.3, 5.0]))
    enough = points[points[:, 1] >= needed - 1e-12]
    found = cheapest(sack, needed - 1e-12)
    if not len(enough):
        assert found.point is None
        return
    chosen = [
        each["place", k] if k >= 0 else each["value", code(sack.lines[f], k)]
        for f, (each, k) in enumerate(zip(every, found.point.tolist(), strict=True))
    ]
    cost, gain = np.sum(chosen, axis=0)
    least = enough[:, 0].min()
    assert cost == pytest.approx(least, abs=1e-12)
    assert gain == pytest.approx(enough[enough[:, 0] <= least + 1e-12, 1].max(), abs=1e-9)


@pytest.mark.parametrize("cost", ["l1", "l2", {"l0": 0.2, "l1": 1}])
@pytest.mark.parametrize("wanted", [0, 1])
def test_an_answer_costs_the_same_by_boxes(cost, wanted):
    rng = np.random.default_rng(7)
    names = Feature("job", "category", values=("a", "b", "c"))
    numbers = [
        Feature(f"n{f}", lower=0, upper=9, step=step, scale=9.0)
        for f, step in enumerate((1, 0.1, 0.25))
    ]
    schema = Schema((names, *numbers))
    card = Additive(
        schema, [[]] * 4, [[0.3, -0.2, 0.9], [0.0], [0.0], [0.1]],
        slopes=[[0.0] * 3, [0.31], [-0.17], [0.05]], base=-1.0,
    )  # fmt: skip
    recourse, at_once = Recourse(card, schema, cost, wanted=wanted), 0
    for _ in range(12):
        person = {
            "job": rng.choice(names.values),
            **{f"n{f}": rng.integers(0, 37) / 4 for f in range(3)},
        }
        quick = recourse.find(person, [0.6, 0.8])
        with mock.patch.object(knapsack, "MOST_NODES", 0):
            plain = recourse.find(person, [0.6, 0.8])
        assert quick.status == plain.status
        for one, other in zip(quick.options, plain.options, strict=True):
            assert one.cost == pytest.approx(other.cost, abs=1e-12)
            at_once += one.cost > 0
        assert all(quick.certificate(target) for target in quick.status)
    assert at_once > 5


@pytest.mark.parametrize(
    ("cost", "need", "rows"),
    [
        ({"l1": 1, "l2": 1e-6}, 1.5, [(0.9, 1e2, 1.0, 4), (60, 1e3, 1e-3, 5), (300, 1e5, 1e-3, 2)]),
        ("l2", 31.99, [(8.257, 7.5e8, 1.0, 5), (180.46, 5.94e7, 0.01, 6)]),
        ("l1", 4.0, [(1.0, 1.0, 0.5, 20), (1e-18, 1e4, 0.01, 10**11)]),
    ],
)
def test_steps_beyond_whole_numbers_are_neither_turned_round_nor_walked(cost, need, rows):
    schema = Schema(
        tuple(
            Feature(f"f{i}", lower=0, upper=n * step, step=step, scale=scale)
            for i, (_, scale, step, n) in enumerate(rows)
        )
    )
    none = [[] for _ in rows]
    slopes = [[slope] for slope, *_ in rows]
    card = Additive(schema, none, [[0.0] for _ in rows], slopes=slopes, base=-need)
    found = Recourse(card, schema, cost).find({f"f{i}": 0.0 for i in range(len(rows))}, 0.5)
    assert found.options[0].status is Status.OPTIMAL
    if max(n for *_, n in rows) < 1_000:
        grids = itertools.product(*(np.arange(n + 1) for *_, n in rows))
        points = [[t * row[2] for t, row in zip(at, rows, strict=True)] for at in grids]
        told = Recourse(card, schema, cost)
        costs = [
            told.cost.total(
                math.fsum(told.cost.change(f, 0.0, v) for f, v in zip(schema, point, strict=True))
            )
            for point in points
            if sum(row[0] * v for row, v in zip(rows, point, strict=True)) >= need
        ]
        assert found.options[0].cost == pytest.approx(min(costs), rel=1e-9)


def test_over_wide_scales_no_choice_is_cheaper():
    findings = [law.judge(seed) for seed in range(40)]
    counts = sum((found.counts for found in findings), Counter())
    assert [words for found in findings for words in found.broken] == []
    assert min(counts[kind] for kind in ("found", "compared", "long lines")) > 20
    assert counts["infeasible"]


def test_an_answer_that_is_none_breaks_the_law():
    with mock.patch.object(knapsack, "cheapest", return_value=knapsack.Choice(None, 1)):
        assert any(law.judge(seed).broken for seed in range(5))
    stays = lambda sack, _: knapsack.Choice(sack.first[:-1].copy(), 1)  # noqa: E731
    with mock.patch.object(knapsack, "cheapest", stays):
        assert any(law.judge(seed).broken for seed in range(5))


def test_arrays_that_do_not_fit_are_refused():
    sack, _, _ = a_sack(np.random.default_rng(0))
    for other in (
        sack._replace(gains=sack.gains[1:]),
        sack._replace(first=sack.first + 1),
        sack._replace(lines=sack.lines[1:]),
        sack._replace(parts=sack.parts[1:]),
    ):
        with pytest.raises(ValueError, match="do not fit each other"):
            cheapest(other, 0.0)
