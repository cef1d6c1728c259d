"""Laws of the cost and of the values worth trying, each judged by brute force."""

from __future__ import annotations

import itertools
import math
import pickle
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from trust_recourse import Recourse
from trust_recourse.io.wording import level as level_words
from trust_recourse.models import Grid
from trust_recourse.question import Target, formatted
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Feature, Schema, SchemaError
from trust_recourse.search.candidates import candidates
from worlds import paper_machine

NAN, INF = math.nan, math.inf
law = settings(max_examples=150, deadline=None)
COSTS = ["l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5}]

# ------------------------------------------------------------------ what the laws draw from


def maybe(strategy):
    return st.none() | strategy


@st.composite
def people(draw, listed=False):
    """A feature of each of some kinds, thresholds for it, and a person's own codes."""
    kinds = draw(st.lists(st.sampled_from(["number", "integer", "ordinal", "category", "boolean"]),
                          min_size=1, max_size=4))  # fmt: skip
    features, edges, own = [], [], []
    for at, kind in enumerate(kinds):
        chosen = {
            "scale": draw(st.sampled_from([1.0, 3.0])),
            "weight": draw(st.sampled_from([1, 0.3])),
        }
        chosen |= {
            "mutable": draw(st.integers(0, 7)) > 0,
            "missing": draw(st.sampled_from([(), (2,)])),
        }
        if kind in ("ordinal", "category"):
            chosen |= {"values": ("a", "b", "c", "d", "e"), "missing": (None,)}
        if kind != "category":
            chosen["direction"] = draw(st.sampled_from([None, None, "increase", "decrease"]))
        if kind in ("number", "integer", "ordinal"):
            steps = [0.5, 0.1, 1 / 3, 2.0] if kind == "number" else [1.0, 2.0]
            free = [] if listed or kind != "number" else 4 * [None]
            chosen["step"] = draw(st.sampled_from(steps + free))
            chosen["max_change"] = draw(maybe(st.just(2.0)))
        if kind in ("number", "integer"):
            low, high = sorted(draw(st.tuples(*2 * [st.integers(-12, 12)])))
            ends = st.just(low / 2), st.just(high / 2)
            chosen["lower"], chosen["upper"] = (draw(end if listed else maybe(end)) for end in ends)
        features.append(feature := Feature(f"f{at}", kind, **chosen))
        top = {"ordinal": 4, "category": 4, "boolean": 1}.get(kind)
        code = draw(st.integers(0, top) if top else st.integers(-60, 60))
        code = {"number": code / 10, "integer": code // 10}.get(kind, code)
        gone = feature.missing and (code in feature.missing or draw(st.integers(0, 4)) == 0)
        own.append(NAN if gone else float(code))
        tenths = st.integers(-70, 70).map(lambda k: k / 10) | st.floats(-7, 7)
        cuts = st.lists(tenths if top is None else st.integers(0, top - 1), max_size=6, unique=True)
        edges.append(np.array([] if kind == "category" else sorted(draw(cuts)), dtype=float))
    schema = Schema(tuple(features))
    return Grid(schema, edges), schema.action_set_of(own)


def each(model, action_set, found):
    return zip(action_set.schema, action_set.actions, model.edges, found, strict=True)


# ------------------------------------------------------------------ the values worth trying


def test_candidates_are_the_nearest_values_of_the_cells():
    judged = Counter()

    @law
    @given(people(), st.sampled_from(COSTS))
    def check(person, cost):
        (model, action_set), cost = person, Cost.named(cost)
        found = candidates(model, action_set, cost)
        for f, (feature, actions, edges, (codes, cells, costs)) in enumerate(
            each(model, action_set, found)
        ):
            if feature.kind == "category":
                expected = list(actions.choices)
            else:
                ends = itertools.pairwise([-INF, *edges.tolist(), INF])
                expected = [v for v in itertools.starmap(actions.nearest, ends) if v is not None]
            expected += [NAN] * math.isnan(actions.own)
            np.testing.assert_array_equal(codes, expected)
            assert costs.tolist() == [cost.change(feature, actions.own, v) for v in expected]
            rows = np.repeat(action_set.own[None], len(codes), axis=0)
            rows[:, f] = codes
            np.testing.assert_array_equal(cells, model.cells(rows)[:, f])
            assert cells.dtype == np.int32
            assert costs[[actions.own == v or v != v for v in expected]].tolist() == [0.0]
            judged[feature.kind] += len(codes) > 1
            judged["missing"] += math.isnan(actions.own) and len(codes) > 1
            judged["outside"] += not actions.lower <= actions.own <= actions.upper
            judged["holes"] += bool(actions.never) and actions.step is None and len(codes) > 1

    check()
    # features with holes are rare, and drawn in some runs only
    assert min(count for what, count in judged.items() if what != "holes") > 5
    assert len(judged) == 8


def giving(value):
    return lambda _from, _to: value


def uneven(seed):
    """A cost of a change that rises and falls again, and is smaller one way than the other."""
    names = "abcde"

    def place(value):
        return names.index(value) if isinstance(value, str) else 7 * float(value or 0)

    return lambda a, b: (seed + 3 * place(a) + 5 * place(b)) % 6.5


def test_with_a_function_they_are_the_cheapest_values_of_the_cells():
    judged = Counter()

    @law
    @given(people(listed=True), st.sampled_from(COSTS), st.integers(0, 9))
    def check(person, cost, seed):
        model, action_set = person
        cost = Cost.named(cost, functions={name: uneven(seed) for name in action_set.schema.names})
        found = candidates(model, action_set, cost)
        for f, (feature, actions, _, (codes, cells, costs)) in enumerate(
            each(model, action_set, found)
        ):
            every = actions.values()
            rows = np.repeat(action_set.own[None], len(every), axis=0)
            rows[:, f] = every
            cell = model.cells(rows)[:, f]
            price = np.array([cost.change(feature, actions.own, v) for v in every.tolist()])
            np.testing.assert_array_equal(cells, np.unique(cell))
            assert costs.tolist() == [price[cell == c].min() for c in cells]
            assert all(map(actions.allows, codes.tolist()))
            assert (np.diff(codes[~np.isnan(codes)]) > 0).all()
            assert sum(actions.own == v or v != v for v in codes) == 1
            judged["chosen"] += len(every) > len(codes) > 1
            judged["category"] += feature.kind == "category" and len(codes) > 1

    check()
    assert judged["chosen"] > 30
    assert judged["category"] > 20


def test_candidates_follow_the_thresholds_of_a_model_that_is_fitted_again():
    schema = Schema((Feature("x", "integer", lower=0, upper=9),))
    model, action_set = Grid(schema, (np.array([2.0]),)), schema.action_set({"x": 5})
    assert candidates(model, action_set, Cost.named("l1"))[0].codes.tolist() == [2, 5]
    model = Grid(schema, (np.array([3.0, 6.0]),))
    assert candidates(model, action_set, Cost.named("l1"))[0].codes.tolist() == [3, 5, 7]


def test_a_feature_with_a_function_needs_values_that_can_be_listed():
    schema = Schema((Feature("x", step=1, lower=0),))
    cost = Cost.named("l1", functions={"x": giving(1.0)})
    with pytest.raises(SchemaError, match="feature 'x' has a cost function, but its values cannot"):
        candidates(Grid(schema, (np.array([2.0]),)), schema.action_set({"x": 5}), cost)
    fixed = schema.lock("x")
    found = candidates(Grid(fixed, (np.array([2.0]),)), fixed.action_set({"x": 5}), cost)
    assert found[0].codes.tolist() == [5]


# ------------------------------------------------------------------ costs by a user's function


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(1)
    n = 80
    X = pd.DataFrame(
        {
            "rate": rng.integers(0, 9, n) / 10,
            "count": rng.integers(0, 6, n),
            "home": rng.choice(["a", "b", "c", "d"], n),
            "job": rng.random(n) < 0.5,
        }
    )
    y = (X.rate > 0.4).astype(int) + (X["count"] > 2) + X.home.isin(["a", "c"]) >= 2
    return paper_machine(8, 6, T=3, epochs=8, thresholds=3, random_state=0).fit(X, y), X


def test_exact_search_finds_the_cheapest_change_by_these_functions(loans):
    model, X = loans
    refused = X.iloc[np.argsort(model.predict_proba(X)[:, 1])[:20]]
    judged = Counter()

    @settings(max_examples=40, deadline=None)
    @given(
        st.integers(0, 19),
        st.sampled_from(COSTS),
        st.sets(st.sampled_from(model.schema_.names), min_size=1),
        st.integers(0, 9),
        st.floats(0.3, 1),
        st.booleans(),
    )
    def check(who, cost, names, seed, rank, related):
        plain = Cost.named(cost)
        cost = Cost.named(cost, functions=dict.fromkeys(names, uneven(seed)))
        schema = model.schema_
        if related:
            schema = schema.relate("job changes => count rises by 1", "rate <= count")
        action_set = schema.action_set(refused.iloc[who])
        rows = itertools.product(*(actions.values() for actions in action_set.actions))
        codes = np.array([row for row in rows if action_set.allows(row)])
        p = model.predict_proba(schema.decode(codes))[:, 1]
        level = float(np.quantile(p, rank, method="nearest"))  # of a row within reach
        meeting = codes[p >= level - 1e-9]
        costs, plain_costs = (
            np.array([measure.between(schema.features, action_set.own, row) for row in meeting])
            for measure in (cost, plain)
        )
        option = Recourse(model, schema, cost).find(refused.iloc[who], level).options[0]
        assert option.cost == pytest.approx(costs.min(), abs=1e-9)
        assert option.confidence >= level - 1e-9
        judged["moved"] += bool(option.changes)
        judged["otherwise"] += costs.min() < costs[np.argmin(plain_costs)] - 1e-9

    check()
    assert judged["moved"] > 15
    assert judged["otherwise"] > 5


JOBS = Feature("job", "category", values=("clerk", "none", "pilot"), weight=2.0)
YEARS = Feature("years", "integer", lower=0, upper=40, scale=10.0, missing=(None,))
BOTH = Schema((JOBS, YEARS))


def test_a_function_stands_for_the_scaled_change():
    asked = []

    def steep(a, b):
        asked.append((a, b))
        return np.float64(3.0)

    cost = Cost.named({"l0": 1, "l1": 10, "l2": 100}, functions={"job": steep, "years": steep})
    assert cost.change(JOBS, 0.0, 2.0) == 2 + 10 * 6 + 100 * 36
    assert cost.change(YEARS, NAN, 4.0) == 1 + 10 * 3 + 100 * 9
    assert cost.change(JOBS, 1.0, 1.0) == 0
    assert asked == [("clerk", "pilot"), (None, 4)]
    assert type(asked[1][1]) is int
    row, other = np.array([0.0, 3.0]), np.array([2.0, 13.0])
    assert Cost.named("l2", functions={"job": steep}).between(BOTH.features, row, other) == (
        pytest.approx(math.sqrt(6**2 + 1))
    )


def test_a_cost_is_a_value():
    def one(a, b):
        return 1.0

    functions = {"job": one}
    cost = Cost.named("l1", functions=functions)
    functions["years"] = one
    assert set(cost.functions) == {"job"}
    assert cost == Cost(l1=1.0, functions={"job": one}) != Cost.named("l1")
    assert len({cost, Cost(l1=1.0, functions={"job": one})}) == 1
    assert Cost.named(cost) is cost
    assert set(Cost.named(cost, functions={"years": one}).functions) == {"job", "years"}
    assert pickle.loads(pickle.dumps(Cost.named("l2"))) == Cost.named("l2")
    cost.check(BOTH)


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"jbo": giving(1.0)}, "cost functions: no feature 'jbo'; did you mean 'job'?"),
        (
            {"job": giving(NAN)},
            "'job', from 'clerk' to 'none': it gave nan; expected 0, or",
        ),
        ({"job": giving(INF)}, "it gave inf; expected 0, or a number"),
        ({"job": giving(-1)}, "it gave -1; expected"),
        ({"job": giving("dear")}, "it gave 'dear'; expected"),
        ({"job": giving(None)}, "it gave None; expected"),
        ({"job": giving(True)}, "it gave True; expected"),
        ({"job": lambda _, b: -(b == "pilot")}, "from 'clerk' to 'pilot': it gave -1"),
        ({"job": lambda a, b: {}[a, b]}, "it failed with KeyError(('clerk', 'none'))"),
        ({"years": lambda a, b: b - a}, "'years', from 40 to 0: it gave -40; expected"),
    ],
)
def test_a_function_that_gives_no_cost_is_named(functions, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Cost.named("l1", functions=functions).check(BOTH)


def test_functions_come_by_name():
    for odd in ({"job": 2.0}, [("job", abs)]):
        with pytest.raises(ValueError, match="expected a function for each feature by name"):
            Cost(l1=1.0, functions=odd)
    late = Cost.named("l1", functions={"years": lambda _, b: 40 - b})
    late.check(BOTH)
    with pytest.raises(ValueError, match="'years', from 3 to 41: it gave -1"):
        late.change(YEARS, 3.0, 41.0)


shares = st.floats(0, 1) | st.integers(0, 10**4).map(lambda k: k / 10**4)


def shown(bar: float) -> float:
    return float(level_words(bar))


@given(shares, shares, shares.filter(lambda level: 0 < level < 1))
def test_a_confidence_is_told_on_its_side_of_the_decision_and_the_target(c, threshold, level):
    for confidence in (c, threshold, level, np.nextafter(threshold, 0), 0.9996):
        target = Target(level)
        assume(threshold == level or abs(threshold - level) > 1e-5)  # else more digits are needed
        told = float(formatted(float(confidence), threshold, target))
        assert (told >= shown(threshold)) == (confidence >= threshold)
        assert (told >= shown(target.interval[0])) == target.met(confidence)
        assert told <= confidence
        assert told > confidence - 1e-3


def test_a_tie_that_is_no_yes_is_not_told_as_one():
    assert formatted(np.nextafter(0.5, 0)) == "0.499"
