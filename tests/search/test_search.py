"""Laws of the exact engine: it is judged by enumerating every row a person may become."""

from __future__ import annotations

import itertools
import time
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from trust_recourse import Feature, Recourse, Schema, TMClassifier, _native
from trust_recourse.question import Problem, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.search import branch_and_bound, geometry
from trust_recourse.search import counterexample as loss_module
from trust_recourse.search.candidates import candidates
from trust_recourse.search.exact import Exact
from worlds import LINKS, conclude, enumerated, machine, paper_machine, person_schema, with_rules

law = settings(max_examples=100)


@pytest.fixture(autouse=True)
def early(monkeypatch):
    """Look for cheaper points from the first box on, so that small searches do all there is."""
    monkeypatch.setattr(branch_and_bound, "DIVE_FROM", 0)


@law
@given(
    seed=st.integers(0, 10**6),
    cost=st.sampled_from(["l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5}]),
    mode=st.sampled_from(["at_least", "band"]),
    link=st.sampled_from(LINKS),
    calibration=st.sampled_from([None, "sigmoid"]),
    wanted=st.sampled_from([0, 1]),
    relations=st.booleans(),
    rank=st.floats(0, 1),
)
def test_exact_equals_enumeration(seed, cost, mode, link, calibration, wanted, relations, rank):
    model, X, rng = machine(seed, link, calibration)
    schema = person_schema(model, rng, relations)
    recourse = Recourse(model, schema, cost, wanted=wanted)
    x = X.iloc[int(rng.integers(len(X)))]
    codes, costs, p = enumerated(recourse, x)
    assert len(codes) >= 1
    # the confidence of a row known to be within reach, so that there is something to judge
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    result = recourse.find(x, level, mode=mode, tolerance=0.02)
    target = Target(level, mode, 0.02)
    meets = np.array([target.met(c) for c in p])
    if not meets.any():
        assert result.options == ()
        assert result.status[target] is Status.INFEASIBLE
        return
    option = result.options[0]
    assert option.cost == pytest.approx(costs[meets].min(), abs=1e-9)
    assert target.met(option.confidence)
    assert option.confidence == pytest.approx(recourse.confidence(option.x), abs=1e-12)
    assert schema.action_set(x).allows(schema.encode(option.x)[0])
    assert option.lower_bound == pytest.approx(option.cost, abs=1e-9)
    assert set(option.changes) == {n for n in schema.names if option.x[n] != x[n]}


@law
@given(seed=st.integers(0, 10**6), relations=st.booleans(), wanted=st.sampled_from([0, 1]))
def test_the_furthest_reach_and_the_frontier(seed, relations, wanted):
    model, X, rng = machine(seed)
    recourse = Recourse(model, person_schema(model, rng, relations), "l1", wanted=wanted)
    x = X.iloc[0]
    _, costs, p = enumerated(recourse, x)
    max_confidence = recourse.reachable(x).furthest
    assert max_confidence.confidence == pytest.approx(p.max(), abs=1e-12)
    assert max_confidence.cost == pytest.approx(costs[p >= p.max() - 1e-12].min(), abs=1e-9)
    assert (max_confidence.status, max_confidence.lower_bound) == (
        Status.OPTIMAL,
        max_confidence.cost,
    )
    stairs = recourse.frontier(x, resolution=None)
    assert (np.diff(stairs.cost) > 0).all()
    assert (np.diff(stairs.confidence) > 0).all()
    assert stairs.confidence.iloc[-1] == pytest.approx(p.max(), abs=1e-12)
    for step in stairs.itertuples():
        assert step.cost == pytest.approx(costs[p >= step.confidence - 1e-12].min(), abs=1e-9)
    best = {round(c, 9): p[costs <= c + 1e-9].max() for c in stairs.cost}
    np.testing.assert_allclose(stairs.confidence, list(best.values()), atol=1e-12)


def fine_machine(seed, link):
    """A machine of arbitrary rules on three numbers, each cut into some twenty cells."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 21, (200, 3)) / 20, columns=["a", "b", "c"])
    schema = Schema(tuple(Feature(n, lower=0.0, upper=1.0, step=0.05, max_change=0.3) for n in X))
    model = paper_machine(
        8, 4, T=2, epochs=1, thresholds=20, link=link, schema=schema, random_state=0
    ).fit(X, np.arange(len(X)) % 2)
    shape = model.inclusion_.shape
    with_rules(model, rng.random(shape) * (rng.random(shape) < 0.08), rng)
    return model, X, rng


def kept_around(recourse, codes, radius, floor):
    """Whether the floor is kept in every cell within a radius of each row, by brute force."""
    model = recourse.model
    sizes = model.machine_.grid.sizes
    cells = np.array(list(itertools.product(*map(range, sizes))), np.int32)
    yes = model.machine_.confidence_at(cells)
    kept = ((yes if recourse.wanted_at == 1 else 1 - yes) >= floor).reshape(sizes)
    action_set = radius * np.array([f.scale for f in recourse.schema])
    low, high = (
        model.machine_.grid.cells(codes - action_set),
        model.machine_.grid.cells(codes + action_set),
    )
    around = [tuple(map(slice, a, b + 1)) for a, b in zip(low, high, strict=True)]
    return np.array([kept[box].all() for box in around]), int((high - low).max())


def test_room_for_noise_over_many_cells_equals_enumeration():
    judged, dearer = 0, 0

    @settings(max_examples=60)
    @given(
        seed=st.integers(0, 10**6),
        cost=st.sampled_from(["l1", "l2"]),
        link=st.sampled_from(LINKS),
        wanted=st.sampled_from([0, 1]),
        radius=st.sampled_from([0.0617, 0.1137]),
        mode=st.sampled_from(["at_least", "band"]),
        rank=st.floats(0, 1),
    )
    def check(seed, cost, link, wanted, radius, mode, rank):
        nonlocal judged, dearer
        model, X, rng = fine_machine(seed, link)
        recourse = Recourse(model, cost=cost, wanted=wanted)
        x = X.iloc[int(rng.integers(len(X)))]
        codes, costs, p = enumerated(recourse, x)
        floor = float(np.quantile(p, 0.15))
        held, across = kept_around(recourse, codes, radius, floor)
        assert across >= 2
        # the confidence of a row that holds, where there is one, so that there is one to find
        level = float(np.quantile(p[held] if held.any() else p, rank, method="nearest"))
        target = Target(float(np.clip(level, 0.001, 0.999)), mode, 0.02)
        meets = np.array([target.met(c) for c in p])
        result = recourse.find(
            x, target.confidence, mode=mode, tolerance=0.02, min_radius=radius, floor=floor,
            continuous=True,
        )  # fmt: skip
        if not (held & meets).any():
            assert result.status[target] is Status.INFEASIBLE
            return
        assert result.status[target] is Status.OPTIMAL
        least = costs[held & meets].min()
        assert result.options[0].cost == pytest.approx(least, abs=1e-9)
        judged += 1
        dearer += least > costs[meets].min() + 1e-9

    check()
    assert judged >= 30
    assert dearer >= 10


def random_box(model, rng):
    """Ends of a random box of cells, all its rows of cells, and their raw confidences."""
    ends = np.sort([rng.integers(0, n, 2) for n in model.machine_.grid.sizes], axis=1)
    inside = np.array(list(itertools.product(*(range(a, b + 1) for a, b in ends))), np.int32)
    return ends, inside, model.machine_.link.raw(model.machine_.firing_at(inside))


def numbers_of(model, cells):
    """What the kernel speaks of at rows of cells, by the model's own arithmetic."""
    q, kernel = model.machine_.firing_at(cells), model.score_of(1).kernel
    if model.link == "logistic":
        return (model.machine_.link.score(q) - kernel.lowest) / kernel.width
    return model.machine_.link.raw(q)


@law
@given(seed=st.integers(0, 10**6), link=st.sampled_from(LINKS))
def test_bounds_hold_on_random_boxes(seed, link):
    model, X, rng = machine(seed, link)
    ends, inside, raw = random_box(model, rng)
    (low,), (high,), loose = model.score_of(1).bounds(ends[:, 0][None], ends[:, 1][None])
    assert low <= raw.min()
    assert raw.max() <= high
    assert ((loose[0] > 0) <= (ends[:, 0] < ends[:, 1])).all()
    if len(inside) == 1:
        assert high - low < 1e-10
    (told,) = model.score_of(1).kernel.intervals(ends[:, 0][None], ends[:, 1][None])
    number = numbers_of(model, inside)
    assert told[0] <= number.min()
    assert number.max() <= told[1]
    assert number.min() >= 0.0
    assert number.max() <= 1.0
    p = model.predict_proba(X)[:, 1]
    codes = model.schema_.encode(X)
    np.testing.assert_array_equal(model.machine_.confidence_at(model.machine_.grid.cells(codes)), p)


def test_at_least_one_half_is_the_cheapest_change_of_the_decision(model, patients):
    X, _ = patients
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema)
    refused = X[model.predict(X) == 0].head(5)
    assert len(refused) == 5
    for _, x in refused.iterrows():
        option = recourse.find(x, 0.5).options[0]
        assert model.predict(option.x.to_frame().T.astype(int))[0] == 1
        fewer = [{**x, "nodes": n} for n in range(int(option.x.nodes) + 1, int(x.nodes))]
        assert not fewer or (model.predict(pd.DataFrame(fewer)) == 0).all()


def test_a_limit_ends_the_options_early_and_changes_none(patients):
    X, y = patients
    free = Schema.infer(X, guard=False)
    recourse = Recourse(paper_machine(epochs=30, schema=free, random_state=0).fit(X, y))
    fewer = 0
    for at in range(90, 110):
        whole = recourse.find(X.iloc[at], 0.6, n_options=4)
        every = [o.changes for o in whole.options]
        for limit in range(1, sum(whole.nodes.values()) + 1):
            options = recourse.find(X.iloc[at], 0.6, n_options=4, node_limit=limit).options
            if options and options[0].status is Status.OPTIMAL:
                assert [o.changes for o in options] == every[: len(options)]
                fewer += len(options) < len(every)
    assert fewer


def test_options_come_in_order_of_cost_and_tell_other_ways():
    model, X, _ = machine(3)
    recourse = Recourse(model, cost="l1")
    low = X.iloc[[int(np.argmin(model.predict_proba(X)[:, 1]))]].iloc[0]
    goal = (recourse.confidence(low) + recourse.reachable(low).most) / 2
    options = recourse.find(low, goal, n_options=3).options
    assert len(options) >= 2
    assert [o.cost for o in options] == sorted(o.cost for o in options)
    ways = [set(o.changes) for o in options]
    assert not any(a <= b for a, b in itertools.permutations(ways, 2))
    assert all(len(a & b) <= len(a) // 2 for a, b in itertools.combinations(ways, 2))
    assert all(option.status is Status.OPTIMAL for option in options)
    assert len(recourse.find(low, goal, n_options=3, node_limit=1).options) <= 1


def test_limits_are_honest():
    model, X, _ = machine(10)
    recourse = Recourse(model)
    low = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    goal = 0.5 * (recourse.confidence(low) + recourse.reachable(low).most)
    best = recourse.find(low, goal).options[0]
    assert best.status is Status.OPTIMAL
    said = set()
    for limit in (1, 2, 3, 5, 8, 12):
        result = recourse.find(low, goal, node_limit=limit)
        (status,) = result.status.values()
        said.add(status)
        for option in result.options:
            assert option.lower_bound <= best.cost + 1e-9 <= option.cost + 2e-9
            assert (option.status is Status.OPTIMAL) == (option.gap < 1e-9)
        assert bool(result.options) == (status is not Status.NOT_FOUND)
    assert Status.NOT_FOUND in said or Status.FEASIBLE in said


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), gap=st.sampled_from([0.01, 0.2, 1.0]))
def test_a_gap_is_kept(seed, gap):
    model, X, _ = machine(seed)
    recourse = Recourse(model, cost="l1")
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    goal = float(np.clip(recourse.reachable(x).most - 0.02, 0.01, 0.99))
    best = recourse.find(x, goal).options[0]
    near = recourse.find(x, goal, gap=gap).options[0]
    assert near.lower_bound <= best.cost + 1e-9
    assert best.cost - 1e-9 <= near.cost <= near.lower_bound * (1 + gap) + 1e-9


def test_words_tables_and_the_ordinary_machine(patients):
    X, y = patients
    model = TMClassifier(epochs=20, random_state=0).fit(X, y)
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema, cost="l1")
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    result = recourse.find(x, [0.5, 0.6])
    assert result.refused
    text = repr(result)
    assert text.startswith("refused: confidence 0.")
    assert "nodes " in text
    assert "→" in text
    cards = result._repr_html_()
    assert all(f"{option.cost:.4g}" in cards for option in result.options)
    head = ["target", "status", "cost", "lower_bound", "confidence", "changes"]
    assert list(result.to_frame().columns[:6]) == head
    many = recourse.find_many(X.head(6), 0.6)
    assert list(many.index) == list(X.head(6).index)
    assert set(many.status) <= {"optimal", "already_met", "infeasible"}


@pytest.mark.parametrize("given_", [0, 1, -0.1, 1.5, float("nan"), "high"])
def test_a_confidence_lies_between_0_and_1(given_):
    with pytest.raises(ValueError, match="expected a number between 0 and 1"):
        Target(given_)


def test_bad_questions(model, patients):
    X, _ = patients
    with pytest.raises(ValueError, match="mode='about'"):
        Target(0.5, "about")
    with pytest.raises(ValueError, match="tolerance=-1"):
        Target(0.5, "band", -1)
    with pytest.raises(ValueError, match="cost='l3'"):
        Cost.named("l3")
    with pytest.raises(ValueError, match="not all 0"):
        Cost(0, 0, 0)
    with pytest.raises(ValueError, match=r"wanted=9; the model's classes are \[0, 1\]|classes"):
        Recourse(model, wanted=9)
    with pytest.raises(TypeError, match="model is object; expected one with cells .PTMClassifier"):
        Recourse(object())
    with pytest.raises(ValueError, match="decision_threshold=2"):
        Recourse(model, decision_threshold=2)
    with pytest.raises(ValueError, match="feature 'age', kind: given 'number'"):
        Recourse(model, Schema.infer(X.astype(float)))
    with pytest.raises(ValueError, match="unknown 'knots'"):
        Recourse(model).find({"age": 50, "year": 60, "knots": 3})
    with pytest.raises(ValueError, match="n_options=0"):
        Recourse(model).find(X.iloc[0], n_options=0)
    nothing = Recourse(model, model.schema_.lock("age", "year", "nodes"))
    person = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    assert next(iter(nothing.find(person, 0.9).status.values())) is Status.INFEASIBLE
    assert nothing.reachable(person).changes == {}


def test_a_related_feature_needs_values_that_can_be_listed(model, patients):
    X, _ = patients
    schema = model.schema_.update("age", mutable=True, upper=None, lower=None)
    schema = schema.relate("nodes <= age")
    with pytest.raises(ValueError, match="feature 'age' has a relation, but its values cannot be"):
        candidates(model.score_of(1).grid, schema.action_set(X.iloc[0]), Cost.named("l1"))


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6),
    side=st.sampled_from([1, -1]),
    link=st.sampled_from(LINKS),
    power=st.sampled_from([1, 4, 20]),
    rank=st.floats(0, 1),
    allowance=st.floats(0, 1),
    lasting=st.booleans(),
    long=st.booleans(),
)
def test_the_linear_condition_holds_within_the_budget(
    seed, side, link, power, rank, allowance, lasting, long
):
    """Every point that reaches a level within the budget has the gain that is needed."""
    model, _, rng = machine(seed, link, clauses=2 * _native.Machine.LONG if long else 6)
    inclusion = rng.random(model.inclusion_.shape) ** power
    inclusion[rng.random(inclusion.shape) < 0.1] = 1.0  # factors of 0, logarithms of −∞
    conclude(model, inclusion)
    ends, inside, _ = random_box(model, rng)
    number = numbers_of(model, inside)
    boxes, grid = model.score_of(1).kernel, model.score_of(1).grid
    spend = np.full(grid.sizes.sum(), np.inf)
    for f, (a, b) in enumerate(ends):
        cost = rng.random(b - a + 1)
        spend[grid.first_cell[f] + np.arange(a, b + 1)] = cost - cost.min()
    total = spend[grid.first_cell + inside].sum(axis=1)
    budget = np.quantile(total, allowance) if allowance < 0.9 else np.inf
    spend[spend > budget] = np.inf
    reached = number if side > 0 else 1 - number
    level = float(np.quantile(reached, rank, method="nearest"))
    gains, worker = np.empty(len(spend) + 1), _native.Worker(boxes.native)
    point = inside[0].astype(np.int64)
    errors = np.empty(len(ends))
    for _ in range(3):  # rates, and where tangents touch, are remembered from one call to the next
        needed = worker.relaxation(ends.T.ravel(), side, level, spend, budget, gains, boxes.memory)
        judged = (total <= budget) & (reached >= level)
        sums = gains[grid.first_cell + inside[judged]].sum(axis=1)
        assert (sums >= needed - 1e-9 * (1 + abs(needed))).all()
        assert gains[-1] >= reached[total <= budget].max() - 1e-11
        worker.errors(ends.T.ravel(), point, errors, lasting)
        assert np.isfinite(errors).all()


@pytest.mark.slow
@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    link=st.sampled_from(LINKS),
    wanted=st.sampled_from([0, 1]),
    norm=st.sampled_from([1, 2]),
)
def test_no_exchange_of_two_features_is_cheaper(seed, link, wanted, norm):
    """Where enumeration is out of reach: six features, judged by all changes of two."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 12, (80, 6)) / 4.0, columns=list("abcdef"))
    model = paper_machine(12, 4, T=4, epochs=1, thresholds=8, link=link, random_state=0)
    model.fit(X, np.arange(80) % 2)
    with_rules(model, rng.random(model.inclusion_.shape) ** 6, rng)
    recourse = Recourse(model, cost=f"l{norm}", wanted=wanted)
    x = X.iloc[0]
    max_confidence = recourse.reachable(x).most
    level = float(np.clip(0.3 * recourse.confidence(x) + 0.7 * max_confidence, 0.01, 0.99))
    option = recourse.find(x, level).options[0]
    action_set = model.schema_.action_set(x)
    found = action_set.schema.encode(option.x)[0]
    rows = []
    for f, g in itertools.combinations(range(6), 2):
        for a, b in itertools.product(
            action_set.actions[f].values()[::2], action_set.actions[g].values()[::2]
        ):
            rows.append(found.copy())
            rows[-1][[f, g]] = a, b
    rows = np.array(rows)
    moved = (rows - action_set.own) / [f.scale for f in action_set.schema]
    cost = np.linalg.norm(moved, norm, axis=1)
    cheaper = cost < option.cost - 1e-9
    assert cheaper.any() or option.cost == 0
    assert not (recourse.confidences(rows[cheaper]) >= level).any()
    assert option.lower_bound == pytest.approx(option.cost)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), wanted=st.sampled_from([0, 1]), many=st.booleans())
def test_clauses_that_many_features_silence(seed, wanted, many):
    """Factors of 0 in thirteen features: their logarithms add up far below any float's."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (40, 13)).astype(float)
    model = TMClassifier(6, T=2, epochs=1, random_state=0).fit(X, np.arange(40) % 2)
    inclusion = np.zeros(model.inclusion_.shape)
    for clause in inclusion:
        asked = rng.choice(13, 13 if many else rng.integers(2, 8), replace=False)
        clause[asked + 13 * rng.integers(0, 2, len(asked))] = 1.0
    conclude(model, inclusion)
    recourse = Recourse(model, cost="l1", wanted=wanted)
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=13)))
    own = rows[rng.integers(len(rows))]
    p, cost = recourse.confidences(rows), np.abs(rows - own).sum(axis=1)
    level = float(np.clip(p.max() - 1e-3, 0.51, 0.99))
    options = recourse.find(own, level).options
    assert bool(options) == (p >= level).any()
    if options:
        assert options[0].cost == pytest.approx(cost[p >= level].min())
    assert recourse.reachable(own).most == pytest.approx(p.max())


def test_a_clause_silenced_by_all_does_not_hide_one_that_fires():
    model = TMClassifier(4, T=1, epochs=1, random_state=0)
    rng = np.random.default_rng(0)
    model.fit(rng.integers(0, 2, (40, 13)).astype(float), np.arange(40) % 2)
    inclusion = np.zeros(model.inclusion_.shape)
    inclusion[0, :13] = inclusion[2, 13:] = 1.0  # all low, or all high: one vote each for class 1
    conclude(model, inclusion)
    recourse = Recourse(model, cost="l1")
    own = np.repeat([1.0, 0.0], [6, 7])
    assert recourse.find(own, 0.9).options[0].cost == 6.0
    assert recourse.reachable(own).most == 1.0


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=7), min_size=1, max_size=4))
def test_valleys_are_those_of_each_feature_by_itself(costs):
    def valley(own):
        least = own.index(min(own))
        falls = all(a >= b for a, b in itertools.pairwise(own[: least + 1]))
        rises = all(a <= b for a, b in itertools.pairwise(own[least:]))
        return least if falls and rises else -1

    offset = np.cumsum([0, *map(len, costs)])
    found = branch_and_bound._valleys(np.concatenate(costs).astype(float), offset)
    assert found.tolist() == [valley(own) for own in costs]


@law
@given(
    seed=st.integers(0, 10**6), link=st.sampled_from(LINKS), wanted=st.sampled_from([0, 1]),
    rank=st.floats(0.3, 1), thorough=st.booleans(),
)  # fmt: skip
def test_a_guess_reaches_the_level_and_is_never_cheaper_than_the_least(
    seed, link, wanted, rank, thorough
):
    model, X, rng = machine(seed, link)
    recourse = Recourse(model, wanted=wanted)
    x = X.iloc[int(rng.integers(len(X)))]
    _, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    problem = Problem(
        recourse.schema.action_set(x), Target(level), recourse.cost, recourse.wanted_at
    )
    asked = Exact(recourse.score, problem).asked
    search = asked.whole
    search._begin(*asked.interval(asked.listed.score))
    first = search._guess(None)
    assume(first is not None)
    point = search._guess(first) if thorough else first
    with mock.patch.multiple(branch_and_bound, WORK=1, cancel=mock.Mock()):
        assert search._guess(None).tolist() == first.tolist()  # however the work is cut
        assert not thorough or (search._guess(first) is None) == (point is None)
        search.deadline = 0.0
        branch_and_bound.cancel.check.reset_mock()
        search._guess(None)
        assert branch_and_bound.cancel.check.call_count == 1  # the clock is looked at each time
    for at in (each for each in (first, point) if each is not None):
        confidence = asked.point(search, at).confidence
        assert Target(level).met(confidence) or confidence >= level - 1e-9
        least = recourse.cost.before_root(costs[p >= level - 1e-9].min())
        assert search.cost_of(at) >= least * (1 - 1e-9)


def test_the_search_around_an_answer_keeps_the_time_limit(monkeypatch):
    """A search for a loss near a point ends with the question that it belongs to."""
    model, X, _ = machine(10)
    recourse = Recourse(model)
    low = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    goal = 0.5 * (recourse.confidence(low) + recourse.reachable(low).most)
    asked = []

    def late(*args, deadline, **kwargs):
        asked.append(deadline)
        monkeypatch.setattr(time, "monotonic", lambda: deadline + 1.0)
        raise TimeoutError

    monkeypatch.setattr(geometry, "counterexample", late)
    result = recourse.find(low, goal, min_radius=0.02, continuous=True, time_limit=60)
    assert len(asked) == 1
    assert asked[0] < np.inf
    (status,) = result.status.values()
    assert status in (Status.NOT_FOUND, Status.FEASIBLE)


def test_an_undecided_search_around_an_answer_ends_the_question(monkeypatch):
    """What it leaves open is neither an answer nor ruled out."""
    model, X, _ = machine(10)
    recourse = Recourse(model)
    low = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    goal = 0.5 * (recourse.confidence(low) + recourse.reachable(low).most)
    how = {"min_radius": 0.02, "continuous": True}
    known = recourse.find(low, goal, **how)
    asked = []

    def full(*args, **kwargs):
        asked.append(args)
        raise MemoryError

    monkeypatch.setattr(geometry, "counterexample", full)
    result = recourse.find(low, goal, **how)
    assert len(asked) == 1
    (status,) = result.status.values()
    assert status in (Status.NOT_FOUND, Status.FEASIBLE)
    for option in result.options:
        assert option.lower_bound <= known.options[0].cost + 1e-9


def test_a_search_for_a_loss_raises_at_its_deadline():
    model, _, _ = machine(10)
    score = model.score_of(1)
    cells = [np.arange(size) for size in score.grid.sizes]
    low, high = (
        sign * score.bounds(score.grid.sizes[None] * 0, score.grid.sizes[None] - 1)[end][0]
        for sign, end in ((1, 0), (1, 1))
    )
    with mock.patch.object(loss_module, "FEW", 0), mock.patch.object(loss_module, "CORNERS", 0):
        with pytest.raises(TimeoutError):
            loss_module.counterexample(score, cells, (low + high) / 2, deadline=-np.inf)
        assert loss_module.counterexample(score, cells, (low + high) / 2) is not None
