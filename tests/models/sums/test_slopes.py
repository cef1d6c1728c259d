"""Radius, room and noise of models with slopes: against enumeration, formulas and samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from issuing import answered
from laws.enumeration import Rows, met
from trust_recourse import Cost, Feature, Recourse, Schema, Status
from trust_recourse.answers.robustness import copies
from trust_recourse.models import Additive
from trust_recourse.models.sums.slopes import Line, radius
from trust_recourse.question import Target
from trust_recourse.schema.noise import noise_rooms, noise_steps
from trust_recourse.search.ranges import Range, loss_within

SEEDS = st.integers(0, 2**32 - 1)


def a_card(rng, d, cut=0.6):
    """Numbers with slopes, some of them cut into cells, a category, and one blank."""
    features, edges, points, slopes = [], [], [], []
    for k in range(d):
        missing = (-9,) if rng.random() < 0.2 else ()
        feature = Feature(
            f"f{k}", lower=0, upper=3, step=0.5, scale=rng.uniform(0.5, 4), missing=missing
        )
        inner = np.sort(rng.uniform(0, 3, rng.integers(1, 4))) if rng.random() < cut else []
        many = len(inner) + 1
        features.append(feature)
        edges.append(inner)
        points.append([*rng.normal(0, 0.6, many), *[0.3] * len(missing)])
        slopes.append([*rng.normal(0, 0.6, many) * (rng.random() < 0.8), *[0.0] * len(missing)])
    schema = Schema((*features, Feature("job", "category", values=("a", "b"))))
    slopes[0] = [*rng.normal(0, 0.6, len(edges[0]) + 1), *[0.0] * len(features[0].missing)]
    return Additive(
        schema, [*edges, []], [*points, [0.0, 0.5]], slopes=[*slopes, [0.0, 0.0]],
        base=float(rng.normal()),
    )  # fmt: skip


def a_row(rng, schema):
    numbers = [
        math.nan if f.missing and rng.random() < 0.3 else float(rng.integers(0, 7) / 2)
        for f in list(schema)[:-1]
    ]
    return np.array([*numbers, float(rng.integers(2))])


# ---------------------------------------------------------------- radius


def least_move(line, needed):
    """How far one number goes to lose so much, for an array of needs; ∞ if it cannot."""
    found = np.where(needed <= 0, 0.0, math.inf)
    for way in line.ways:
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(needed <= way.start, 0.0, (needed - way.start) / way.rate)
        u = way.near + np.nan_to_num(more, nan=math.inf)
        found = np.where((u <= way.far) | (needed <= way.start), np.minimum(found, u), found)
    return found


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_the_radius_is_that_of_a_fine_enumeration(seed):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(2):
        ends = np.array([-math.inf, *np.sort(rng.normal(0, 1, rng.integers(0, 4))), math.inf])
        many = len(ends) - 1
        slopes = rng.normal(size=many) * (rng.random(many) < 0.7)
        lines.append(
            Line(float(rng.normal()), rng.uniform(0.3, 3), ends, rng.normal(size=many), slopes)
        )
    margin = float(rng.uniform(0.1, 3))
    first = lines[0]
    near = [way.near for way in first.ways]
    u = np.unique([*np.linspace(0, 12, 12_001), *near]).tolist()
    lost = np.max([[way.at(x) if way.near <= x else -math.inf for x in u] for way in first.ways], 0)
    other = least_move(lines[1], margin - lost)
    u = np.array(u)
    for norm, together in (
        ("linf", np.maximum(u, other)), ("l1", u + other), ("l2", np.hypot(u, other)),
    ):  # fmt: skip
        told, found = radius(lines, margin, norm), float(np.nanmin(together))
        if told < 10:
            assert told <= found * (1 + 1e-9) + 1e-12
            assert found <= told + 3e-3


def test_the_radius_of_a_line_is_its_margin_over_the_dual_norm():
    schema = Schema(
        tuple(Feature(f"f{k}", step=1.0, scale=s) for k, s in enumerate((1.0, 2.0, 5.0)))
    )
    model = Additive(schema, [[]] * 3, [[0.0]] * 3, slopes=[[1.0], [-2.0], [0.1]], base=1.0)
    result = Recourse(model).find({"f0": 2.0, "f1": -1.0, "f2": 0.0})
    steep = np.array([1.0, 4.0, 0.5])
    for norm, least in (
        ("linf", 5.0 / steep.sum()), ("l2", 5.0 / np.linalg.norm(steep)), ("l1", 5.0 / 4.0),
    ):  # fmt: skip
        assert result.radius(norm=norm, continuous=True) == pytest.approx(least)
    assert result.radius() == 1.0  # a step of each: 1 + 4 · ½ + 0.5 · ⅕ are not enough, two are


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_the_radius_on_steps_is_that_of_every_row_around(seed):
    rng = np.random.default_rng(seed)
    model = a_card(rng, 2)
    codes, score = a_row(rng, model.schema_), model.score_of(1)
    threshold = 0.95 * float(score.at_codes(codes[None])[0])
    steps = noise_steps(model.schema_, continuous=False)
    stays = np.isnan(codes) | np.isnan(steps)
    away = [np.zeros(1) if still else np.arange(-40.0, 41.0) / 2 for still in stays]
    moves = np.stack(np.meshgrid(*away, indexing="ij"), axis=-1).reshape(-1, len(codes))
    lost = score.at_codes(codes + moves) < threshold
    far = np.abs(moves) / [feature.scale for feature in model.schema_]
    for norm, order in (("linf", np.inf), ("l2", 2), ("l1", 1)):
        least = np.linalg.norm(far, order, axis=1)[lost].min(initial=math.inf)
        told = score.radius(model.schema_, codes, threshold, norm, steps)
        assert told <= least * (1 + 1e-9)
        if norm == "linf" and least < 5.0:  # further out not every row was looked at
            assert told == pytest.approx(least)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_strictly_within_the_radius_the_decision_is_kept_and_just_beyond_it_is_lost(seed):
    rng = np.random.default_rng(seed)
    model = a_card(rng, 3)
    codes = a_row(rng, model.schema_)
    score = model.score_of(1)
    threshold = 0.9 * float(score.at_codes(codes[None])[0])
    moving = np.array([f.kind == "number" for f in model.schema_]) & ~np.isnan(codes)
    scale = np.array([f.scale for f in model.schema_])
    for norm, power in (("linf", math.inf), ("l2", 2), ("l1", 1)):
        r = score.radius(
            model.schema_, codes, threshold, norm, noise_steps(model.schema_, continuous=True)
        )
        if not 0 < r < math.inf:
            continue
        ways = rng.normal(size=(2000, len(codes))) * moving
        ways /= np.linalg.norm(ways, power, axis=1)[:, None] + 1e-300
        rows = codes + ways * scale * r * rng.uniform(0, 1 - 1e-9, (2000, 1))
        assert (score.at_codes(rows) >= threshold).all()
        if norm == "linf":
            beyond, within = (
                noise_rooms(model.schema_, r * by, True) for by in (1 + 1e-6, 1 - 1e-6)
            )
            assert score.worst_at(codes, beyond) <= threshold + 1e-9
            assert score.worst_at(codes, within) >= threshold - 1e-9


# ---------------------------------------------------------------- noise


@pytest.mark.parametrize(("cut", "continuous"), [(0.0, True), (0.7, True), (0.7, False)])
def test_samples_come_to_the_probability_that_is_told(cut, continuous):
    rng = np.random.default_rng(8)
    told, sampled = [], []
    for _ in range(12):
        model = a_card(rng, 4, cut)
        codes = a_row(rng, model.schema_)
        person = model.schema_.decode(codes[None]).iloc[0]
        recourse = Recourse(model)
        level = float(np.clip(0.95 * recourse.confidence(person), 0.05, 0.95))
        result = Recourse(model, decision_threshold=level).find(person)
        found = result.robustness(sigma=0.15, continuous=continuous)
        told.append(found.probability)
        assert found.exact
        assert found.high - found.low <= (1e-10 if not cut else 5e-3 if continuous else 2e-2)
        sampled.append(
            copies(
                recourse.confidences,
                result.options[0].codes,
                model.schema_,
                0.15,
                threshold=level,
                n_copies=100_000,
                continuous=continuous,
            )
        )
    assert np.abs(np.array(told) - sampled).max() < 0.006
    assert any(0.05 < each < 0.95 for each in told)


# ---------------------------------------------------------------- room


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_cheapest_with_room_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    model = a_card(rng, int(rng.integers(1, 4)))
    model.thresholds_ = model.grid.edges
    cost = Cost.named(str(rng.choice(["l0", "l1", "l2"])))
    codes = a_row(rng, model.schema_)
    room, score = float(rng.choice([0.01, 0.1, 0.3])), model.score_of(1)
    continuous = bool(rng.random() < 0.5)
    rooms = noise_rooms(model.schema_, room, continuous)
    rows = Rows.of(model.schema_, codes, cost, model, 1, rng)
    level = float(np.clip(rng.choice(rows.confidence), 0.02, 0.98))
    target = Target(level)
    worst = np.array([score.worst_at(row, rooms) for row in rows.codes])
    floor = float(np.clip(rng.choice(worst), 0.01, 0.97))
    person = model.schema_.decode(codes[None]).iloc[0]
    result = Recourse(model, cost=cost, decision_threshold=0.99).find(
        person, level, min_radius=room, floor=floor, continuous=continuous
    )
    good = met(target, rows.confidence) & (worst >= floor)
    if not good.any():
        assert result.status[result._target(None)] is Status.INFEASIBLE
        return
    least = float(rows.least(good))
    told = result.options[0].cost
    assert (told**2 if cost.root else told) == pytest.approx(least, rel=1e-9, abs=1e-12)


def test_room_is_had_where_nothing_has_an_end():
    schema = Schema((Feature("x", step=0.1, scale=2.0), Feature("y", step=0.1)))
    model = Additive(schema, [[], []], [[0.0], [0.0]], slopes=[[1.0], [0.5]])
    result = Recourse(model, cost="l1").find({"x": -3.0, "y": 0.0}, min_radius=0.2)
    assert result.options[0].changes == {"x": (-3.0, 0.5)}
    assert result.radius() >= 0.2


@pytest.mark.parametrize(("least", "at", "ends"), [(1.0, 7.0, (7, 11)), (2.0, 10.0, (10, 11))])
def test_a_range_ends_at_a_least_change_only_if_that_rules_out_a_value(least, at, ends):
    schema = Schema((Feature("owed", step=1.0, lower=0.0, upper=20.0, min_change=least),))
    recourse = Recourse(Additive(schema, [[6.5, 11.5]], [[-1.0, 1.0, -1.0]]))
    (found,) = answered(recourse, {"owed": 8.0}, {"owed": at}).ranges().itertuples()
    assert (found.low, found.high) == ends


def test_a_range_does_not_cross_a_loss_on_a_slope_that_rises_outwards():
    # the sum is negative from 16 to 20 and rises below that, down to the lower bound
    schema = Schema((Feature("owed", step=1.0, lower=0.0, upper=40.0),))
    card = Additive(schema, [[20.0]], [[1.5, 0.5]], slopes=[[-0.1, 0.0]])
    recourse = Recourse(card)
    for at, ends in ((15.0, (0, 15)), (30.0, (21, 40))):
        (found,) = answered(recourse, {"owed": 18.0}, {"owed": at}).ranges().itertuples()
        assert (found.low, found.high) == ends
    target = Target(0.5)
    given = (
        recourse.read_model.score_for(target),
        schema.action_set({"owed": 18.0}),
        recourse.cost,
        target,
    )
    for low, high, lost in ((0.0, 14.0, None), (0.0, 30.0, 20.0), (21.0, 40.0, None)):
        at = np.array([low if high < 18.0 else 30.0])
        row = loss_within(*given, at, [Range(0, low, high)])
        assert row is None if lost is None else row.tolist() == [lost]
