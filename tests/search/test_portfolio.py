"""Laws of the portfolio: one budget, its members' answers in it, and the same in every process."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from trust_recourse import NearNeighbours, Recourse, Schema
from trust_recourse.question import Problem, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Feature
from trust_recourse.search import BLACK_BOX
from trust_recourse.search.blackbox.portfolio import SHARE, portfolio
from trust_recourse.search.blackbox.space import Space
from trust_recourse.search.blackbox.spheres import n_layers, spheres
from trust_recourse.search.blackbox.surrogate import rounds
from trust_recourse.search.blackbox.tpe import tpe
from trust_recourse.search.blackbox.trials import SpentError, Tried
from trust_recourse.search.blackbox.walk import BINS, Knapsack, Subspace, Walk
from worlds import CREDIT, a_person, question

few = settings(max_examples=8)
costs = st.sampled_from(["l0", "l1", "l2", {"l0": 0.1, "l1": 1.0}])


class Asked:
    """A smooth confidence of rows of codes that remembers what it was asked."""

    def __init__(self, seed, schema):
        self.weights = np.random.default_rng(seed).normal(size=len(schema))
        self.scale = np.array([feature.scale for feature in schema])
        self.rows, self.calls = [], 0

    def __call__(self, codes):
        self.calls += 1
        self.rows += [row.tobytes() for row in codes]
        known = np.nan_to_num(codes / self.scale, nan=0.7)
        return 1 / (1 + np.exp(-(np.sin(3 * known) @ self.weights)))


def cheapest(points, target):
    return min((p.cost for p in points if target.met(p.confidence)), default=np.inf)


def credit(seed, cost="l1", mode="at_least"):
    """A person's question under relations and missing values, for a level that some row reaches.

    Where no row that was drawn is surer than the person, it is one that may be out of reach.
    """
    rng = np.random.default_rng(seed)
    action_set, asked = CREDIT.action_set(a_person(rng)), Asked(seed, CREDIT)
    space = Space.of(Problem(action_set, Target(0.5), Cost.named(cost)))
    drawn = [row for _ in range(60) if (row := space.kept(space.draw(rng))) is not None]
    now, most = asked(action_set.own[None])[0], asked(np.array(drawn)).max()
    level = float(now + 0.7 * (most - now) if most > now else (1 + now) / 2)
    problem = Problem(action_set, Target(level, mode, 0.05), Cost.named(cost))
    return problem, Asked(seed, CREDIT)


# ---------------------------------------------------------------- the laws


@few
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 150), cost=costs,
    mode=st.sampled_from(["at_least", "band"]),
)  # fmt: skip
def test_it_stays_within_its_budget_and_the_action_set(seed, n, cost, mode):
    problem, asked = credit(seed, cost, mode)
    points = portfolio(problem, asked, n_trials=n, random_state=seed)
    assert len(asked.rows) == len(set(asked.rows)) == len(points) <= n
    assert all(problem.action_set.why_not(point.codes) == () for point in points)


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6), cost=costs)
def test_it_is_never_dearer_than_its_own_members(seed, cost):
    problem, asked = credit(seed, cost)
    points = portfolio(problem, asked, n_trials=300, random_state=seed)
    share = int(SHARE * 300)
    layer = share // n_layers(Space.of(problem))
    alone = tpe(problem, asked, n_trials=share, random_state=seed)
    alone += spheres(problem, asked, n_trials=layer, random_state=seed)
    have = {point.codes.tobytes() for point in points}
    assert {point.codes.tobytes() for point in alone} <= have
    assert cheapest(points, problem.target) <= cheapest(alone, problem.target)


@pytest.mark.slow
def test_at_as_many_rows_it_is_hardly_ever_dearer_than_a_member_alone():
    """Cheaper than either member, or 5 % dearer, in nearly every question."""
    won = []
    for seed in range(6):
        problem, asked = credit(seed, "l2")
        ours = cheapest(portfolio(problem, asked, n_trials=120), problem.target)
        alone = [
            cheapest(engine(problem, asked, n_trials=120), problem.target)
            for engine in (tpe, lambda *a, **k: spheres(*a, **k)[:120])
        ]
        won.append(ours <= min(alone) * 1.05)
    assert sum(won) >= 5


@few
@given(seed=st.integers(0, 10**6), mode=st.sampled_from(["at_least", "band"]))
def test_small_questions_are_nearly_always_answered_at_the_least_cost(seed, mode):
    problem, confidence, _, all_costs, p = question(seed, relations=True, mode=mode)
    points = portfolio(problem, confidence, n_trials=400)
    best = all_costs[[problem.target.met(c) for c in p]].min()
    assert cheapest(points, problem.target) <= best * 1.5 + 1e-12
    assert cheapest(points, problem.target) >= best - 1e-12


def test_the_same_seed_gives_the_same_points_in_fresh_processes():
    script = (
        "from test_portfolio import credit, portfolio\n"
        "problem, asked = credit(3, 'l2')\n"
        "points = portfolio(problem, asked, n_trials=150, random_state=7)\n"
        "print([(p.codes.tolist(), p.cost, p.confidence) for p in points])\n"
    )
    here = Path(__file__).parent
    told = []
    for hashes in ("0", "1"):
        paths = os.pathsep.join([str(here), str(here.parent), *sys.path])
        env = os.environ | {"PYTHONPATH": paths, "PYTHONHASHSEED": hashes}
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        )
        told.append(done.stdout)
    assert told[0] == told[1]
    assert len(told[0]) > 1000


def test_where_nothing_is_found_the_whole_budget_is_spent():
    problem, _ = credit(3, "l2")
    rows = []

    def never(codes):
        rows.extend(codes)
        return np.full(len(codes), 0.25)

    points = portfolio(problem, never, n_trials=300)
    assert len(points) == len(rows) > 280


def test_the_model_is_asked_for_many_rows_at_once():
    problem, asked = credit(3, "l2")
    points = portfolio(problem, asked, n_trials=600)
    by_tpe = int(SHARE * 600)  # which asks for one row at a time
    assert len(points) > 150
    assert asked.calls - by_tpe < (len(points) - by_tpe) / 3


# ---------------------------------------------------------------- its parts


@given(
    seed=st.integers(0, 10**6), n_parts=st.integers(1, 4), low=st.floats(-3, -0.5),
    high=st.floats(0.5, 3),
)  # fmt: skip
def test_the_knapsack_is_the_cheapest_of_all_choices(seed, n_parts, low, high):
    rng = np.random.default_rng(seed)
    width = (high - low) / BINS
    parts = [
        Subspace(
            at, np.arange(3.0), width * np.array([0, *rng.integers(-200, 200, 2)]),
            np.array([0.0, *rng.random(2)]),
        )
        for at in range(n_parts)
    ]  # fmt: skip
    sack = Knapsack(parts, low, high)
    choices = list(itertools.product(range(3), repeat=n_parts))
    gains = [sum(p.gains[c] for p, c in zip(parts, choice, strict=True)) for choice in choices]
    least = [sum(p.costs[c] for p, c in zip(parts, choice, strict=True)) for choice in choices]
    floor = sum(part.gains.min() for part in parts)
    for need in rng.uniform(low, high, 5):
        at = sack.bin(need)
        row = dict(sack.row(at))
        chosen = [(part, int(row[part.at])) for part in parts]
        gained = sum(part.gains[c] for part, c in chosen)
        assert sack.cost[at] == pytest.approx(sum(part.costs[c] for part, c in chosen))
        enough = low + at * width
        assert gained >= enough - (n_parts + 1) * width
        if floor >= low:  # below its range it asks for a little more than is needed
            assert sack.cost[at] == pytest.approx(
                min(c for c, g in zip(least, gains, strict=True) if g >= enough - width / 2),
                abs=1e-9,
            ) or sack.cost[at] <= min(
                c for c, g in zip(least, gains, strict=True) if g >= enough + width
            )


@few
@given(seed=st.integers(0, 10**6))
def test_a_walk_never_ends_dearer_than_it_began(seed):
    problem, asked = credit(seed, "l2")
    tried = Tried(Space.of(problem), asked, 400)
    rng = np.random.default_rng(seed)
    own = tried.point(problem.action_set.own)
    drawn = [row for _ in range(80) if (row := tried.space.kept(tried.space.draw(rng))) is not None]
    start = min(tried.ask(drawn), key=Walk(tried, own, rng).rank)
    walk = Walk(tried, start, rng)
    ranks = [walk.rank(walk.at)]
    while not walk.ended and tried.left > 1:
        walk.sweep()
        ranks.append(walk.rank(walk.at))
    assert len(ranks) > 2
    assert ranks == sorted(ranks, reverse=True)


def test_the_surrogate_finds_cheaper_rows_than_it_was_told_of():
    ratios = []
    for seed in range(4):
        problem, asked = credit(seed, "l2")
        tried, rng = Tried(Space.of(problem), asked, 90), np.random.default_rng(seed)
        drawn = (tried.space.kept(tried.space.draw(rng)) for _ in range(60))
        tried.ask([row for row in drawn if row is not None])
        before = cheapest(tried.points, problem.target)
        assert len(list(rounds(tried, rng))) > 10
        assert len(asked.rows) == len(set(asked.rows)) <= 90
        assert all(problem.action_set.why_not(point.codes) == () for point in tried.points)
        ratios.append(cheapest(tried.points, problem.target) / before)
    assert max(ratios) < 1
    assert np.mean(ratios) < 0.8


def test_a_budget_asks_for_what_it_may_and_then_says_so():
    problem, asked = credit(0)
    tried = Tried(Space.of(problem), asked, 5)
    rng = np.random.default_rng(0)
    rows = [row for _ in range(40) if (row := tried.space.kept(tried.space.draw(rng))) is not None]
    with pytest.raises(SpentError):
        tried.ask(rows)
    assert (len(tried.points), tried.left, len(asked.rows)) == (5, 0, 5)
    tried.ask([point.codes for point in tried.points])  # known rows cost nothing
    assert len(asked.rows) == 5


# ---------------------------------------------------------------- from the front door


@pytest.fixture(scope="module")
def models(patients):
    X, y = patients
    network = make_pipeline(
        StandardScaler(), MLPClassifier((6,), alpha=1.0, max_iter=60, random_state=0)
    )
    parts = [("near", KNeighborsClassifier(15)), ("line", LogisticRegression())]
    stack = make_pipeline(StandardScaler(), StackingClassifier(parts, cv=2))
    with pytest.warns(UserWarning, match="iterations"):
        network.fit(X, y)
    return {"network": network, "stack": stack.fit(X, y)}


def refused(recourse, X):
    confidences = recourse.confidences(recourse.schema.encode(X))
    return X.iloc[int(np.argmin(confidences))], float(confidences.min())


@pytest.mark.parametrize("model", ["network", "stack"])
def test_auto_is_the_portfolio_where_nothing_can_be_read(model, models, patients):
    X, _ = patients
    recourse = Recourse(models[model], Schema.infer(X, guard=False), "l1")
    x, now = refused(recourse, X)
    levels = [now + 0.1, now + 0.2]
    result = recourse.find(x, levels, n_trials=150, n_options=2)
    assert result.engine == "portfolio"
    assert all(nodes <= 150 for nodes in result.nodes.values())
    assert set(result.status.values()) == {Status.FEASIBLE}
    for option in result.options:
        assert option.target.met(option.confidence)
    single = recourse.find(x, levels, engine="spheres", n_trials=150)
    for target in result.status:
        ours, theirs = (
            min(o.cost for o in each.options if o.target == target) for each in (result, single)
        )
        assert ours <= theirs
    again = recourse.find(x, levels, n_trials=150, n_options=2)
    assert [o.codes.tolist() for o in again.options] == [o.codes.tolist() for o in result.options]
    test = NearNeighbours(X)
    plausible = recourse.find(x, levels[0], n_trials=150, plausible=test)
    assert all(test(o.x.to_frame().T.astype(float))[0] for o in plausible.options)


def test_without_optuna_it_goes_on_and_says_what_is_missing(models, patients, monkeypatch):
    X, _ = patients
    recourse = Recourse(models["network"], Schema.infer(X, guard=False), "l1")
    x, now = refused(recourse, X)
    whole = recourse.find(x, now + 0.1, n_trials=150)
    assert whole.note == ""
    monkeypatch.setitem(sys.modules, "optuna", None)
    result = recourse.find(x, now + 0.1, n_trials=150)
    assert result.options
    assert result.note.startswith("TPE, a part of the portfolio, needs optuna, which is not inst")
    assert "pip install 'trust-recourse[bayes]'; spheres and walks searched" in repr(result)
    assert "note:" not in repr(whole)


def test_what_such_models_lack_names_all_that_works(models, patients):
    X, _ = patients
    recourse = Recourse(models["network"], Schema.infer(X, guard=False))
    x, now = refused(recourse, X)
    result = recourse.find(x, now + 0.1, n_trials=60)
    families = "PTMClassifier, TMClassifier, trees of scikit-learn, LightGBM, XGBoost or CatBoost"
    engines = f"engine 'auto' or one of {', '.join(BLACK_BOX)}"
    for ask in (
        lambda: recourse.frontier(x),
        lambda: recourse.reachable(x),
        lambda: recourse.find(x, 0.9, engine="exact"),
        lambda: recourse.find(x, 0.9, min_radius=0.1),
        lambda: recourse.find(x, 0.9, certify=True),
        lambda: result.radius(),
        lambda: result.certificate(),
    ):
        with pytest.raises(TypeError, match="needs a model with cells") as error:
            ask()
        assert families in str(error.value)
        assert engines in str(error.value)
    for limit in ("node_limit", "time_limit"):
        with pytest.raises(ValueError, match=f"{limit} with engine 'portfolio': limit it by n_tri"):
            recourse.find(x, 0.9, **{limit: 5})


def test_a_model_that_predicts_numbers_is_told_how_to_wrap_it(patients):
    X, y = patients
    model = GradientBoostingRegressor(n_estimators=5).fit(X, 500.0 + 200 * y)
    with pytest.raises(TypeError, match="GradientBoostingRegressor; .* It predicts a number: say"):
        Recourse(model, Schema.infer(X))

    def good(table):
        return 1 / (1 + np.exp(-(model.predict(table) - 600) / 20))

    wrapped = Recourse(good, Schema.infer(X, guard=False))
    x, _ = refused(wrapped, X)
    (option,) = wrapped.find(x, 0.5, n_trials=200).options
    assert model.predict(option.x.to_frame().T.astype(float))[0] >= 600
    with pytest.raises(TypeError, match="LinearSVC; .* It predicts classes alone: wrap it in"):
        Recourse(LinearSVC(max_iter=10**5).fit(X, y), Schema.infer(X))
    with pytest.raises(ValueError, match="the model has 3 classes"):
        Recourse(LogisticRegression().fit(X, np.arange(len(X)) % 3), Schema.infer(X))


def test_who_needs_nothing_asks_for_nothing_more():
    schema = Schema((Feature("a", lower=0, upper=1),))
    problem = Problem(schema.action_set({"a": 0.5}), Target(0.2), Cost.named("l1"))
    (point,) = portfolio(problem, lambda codes: np.full(len(codes), 0.25))
    assert point.cost == 0.0
