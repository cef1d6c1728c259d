"""Where floats end: what they cannot hold is refused, what they can is exact to the last bit."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trust_recourse import Feature, PTMClassifier, Recourse, Schema, verify
from trust_recourse.answers.robustness import noise
from trust_recourse.io.wording import written
from trust_recourse.models import Additive
from trust_recourse.models.grid import Grid
from trust_recourse.models.seam import of_class, yes_interval
from trust_recourse.models.tsetlin.calibration import Calibrator
from trust_recourse.question import Status
from trust_recourse.question.cost import MOST_COST, Cost
from trust_recourse.schema.multiples import multiple_below, plus, ratio
from trust_recourse.schema.noise import noise_rooms
from trust_recourse.search.candidates import Same
from trust_recourse.search.geometry import Robust, _finer
from worlds import calibrate_by, conclude, paper_machine


def fresh(code: str) -> str:
    """What a program prints in a process of its own, where no cache has seen any value."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.strip()


# ---------------------------------------------------------------- NumPy's floats


@pytest.mark.parametrize("relation", ["a changes => b rises by 1", "a changes => b falls by 0.5"])
def test_a_relation_that_counts_from_a_value_needs_no_cache(relation):
    said = fresh(f"""
        import numpy as np, pandas as pd
        from trust_recourse import PTMClassifier, Recourse, Schema
        rng = np.random.default_rng(0)
        X = pd.DataFrame({{"a": rng.integers(0, 9, 80), "b": rng.integers(0, 18, 80) / 2}})
        model = PTMClassifier(6, 10, T=3, epochs=5, random_state=0).fit(X, X.a > X.b)
        recourse = Recourse(model, model.schema_.relate({relation!r}), wanted=True)
        refused = next(x for _, x in X.iterrows() if recourse.confidence(x) < 0.5)
        print(recourse.find(refused, [0.5, recourse.reachable(refused).most]).status)
    """)
    assert "optimal" in said


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.1, 2.0, -0.5]))
def test_a_number_of_numpys_is_the_number(value, by):
    for of in (ratio, plus):
        of.cache_clear()
    odd = np.float64(value)
    assert plus(odd, np.float64(by)) == plus(value, by)
    for of in (ratio, plus):
        of.cache_clear()
    assert ratio(odd) == ratio(value)
    assert written(odd) == written(value)


# ---------------------------------------------------------------- the last bit of a confidence


@given(
    low=st.floats(0, 1), high=st.floats(0, 1), yes=st.floats(0, 1), near=st.sampled_from([-1, 0, 1])
)
def test_the_other_class_is_told_by_its_own_floats(low, high, yes, near):
    low, high = min(low, high), max(low, high)
    for end in (low, high):
        for at in (yes, math.nextafter(1.0 - end, math.inf * near) if near else 1.0 - end):
            at = min(max(at, 0.0), 1.0)
            confidence = float(of_class(np.array([at]), 0)[0])
            least, most = yes_interval(low, high, 0)
            assert (least <= at <= most) == (low <= confidence <= high)


def on_a_flat(y: float) -> PTMClassifier:
    """A machine whose class 0 has the confidence 1 − y at a = 2 and a = 3, on a flat."""
    X = pd.DataFrame({"a": np.arange(40) % 4})
    model = paper_machine(4, 4, T=2, epochs=1, random_state=0).fit(X, np.arange(40) % 2)
    conclude(model, np.random.default_rng(0).random(model.inclusion_.shape))
    x = np.array([0.0, 0.4712, 0.49, 1.0])
    calibrate_by(model, Calibrator("isotonic", x, np.array([y, y, 0.8, 0.8])))
    return model


def test_a_flat_of_the_calibrator_is_not_missed_by_a_bit():
    model = on_a_flat(0.2)
    recourse = Recourse(model, model.schema_.update("a", scale=1.0), "l1", wanted=0)
    [option] = recourse.find({"a": 0}, 0.7, min_radius=0.01, floor=0.8).options
    assert (option.x["a"], option.status) == (2, Status.OPTIMAL)
    model = on_a_flat(0.05201005025125628)
    recourse = Recourse(model, model.schema_, "l1", wanted=0)
    result = recourse.find({"a": 0}, 0.9479899507487437)  # what a = 2 has, and all of the slack
    assert [option.x["a"] for option in result.options] == [2]
    assert verify(result.certificate(), model).status is Status.OPTIMAL


def test_a_tie_is_class_1_to_the_checker_too():
    model = on_a_flat(0.2)
    calibrate_by(model, Calibrator("isotonic", np.array([0.0, 1.0]), np.array([0.5, 0.5])))
    refused = Recourse(model, model.schema_, "l1", wanted=0).find({"a": 0}, 0.5)
    assert [*refused.status.values()] == [Status.INFEASIBLE]
    assert verify(refused.certificate(), model).status is Status.INFEASIBLE
    accepted = Recourse(model, model.schema_, "l1", wanted=1).find({"a": 0}, 0.5)
    assert verify(accepted.certificate(), model).status is Status.ALREADY_MET


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_jump_of_the_calibrator_within_rounding_is_a_step(wanted):
    model = on_a_flat(0.2)
    r = float(model.raw_confidence(pd.DataFrame({"a": [1]}))[0])
    at = [math.nextafter(r, 0), r] if wanted else [r, math.nextafter(r, 1)]
    calibrate_by(model, Calibrator("isotonic", np.array(at), np.array([0.2, 0.8])))
    schema = model.schema_ if wanted else model.schema_.update("a", upper=1)
    recourse = Recourse(model, schema, "l1", wanted=wanted)
    stairs = recourse.frontier({"a": 2 if wanted else 0})
    assert stairs.a.tolist() == ([2, 1] if wanted else [0, 1])
    assert recourse.reachable({"a": 2 if wanted else 0}).x["a"] == 1


# ---------------------------------------------------------------- costs without end


def nodes_alone(weight: float, **changes) -> Schema:
    from trust_recourse import haberman

    schema = Schema.infer(haberman()[0]).lock("age", "year")
    return schema.update("nodes", direction="decrease", weight=weight, **changes)


PERSON = {"age": 60, "year": 62, "nodes": 30}


@pytest.mark.parametrize(
    ("cost", "weight", "scale"),
    [("l2", 1e200, 52.0), ("l2", 1.0, 1e-155), ("l1", 1e308, 52.0), ("l1", 1.0, 1e-308),
     ({"l0": 1.0, "l1": 1.0}, 1e308, 52.0), ("l0", 1e300, 52.0), ("l2", 1e-200, 52.0)],
)  # fmt: skip
def test_a_cost_that_floats_cannot_count_with_is_refused(model, cost, weight, scale):
    # nodes = 2 has a confidence above 0.7, so "infeasible" would be false
    assert Recourse(model, nodes_alone(1.0)).find(PERSON, 0.7).options
    with pytest.raises(ValueError, match="'nodes'.*cost.*expected|cost of 'nodes'.*expected"):
        Recourse(model, nodes_alone(weight, scale=scale), cost).find(PERSON, 0.7)


@given(
    power=st.integers(-320, 308),
    cost=st.sampled_from(["l0", "l1", "l2", {"l0": 1.0, "l2": 3.0}]),
    which=st.sampled_from(["weight", "scale", "function", "part"]),
)
def test_no_weight_makes_the_impossible_of_the_possible(model, power, cost, which):
    size = float(f"1e{power}")
    kind = Cost.named(cost)
    try:
        schema = nodes_alone(1.0)
        if which in ("weight", "scale"):
            schema = schema.update("nodes", **{which: size})
        elif which == "function":
            kind = Cost.named(cost, {"nodes": lambda a, b: size * abs(a - b)})
        else:
            kind = Cost(kind.l0 * size, kind.l1 * size, kind.l2 * size, kind.root)
        result = Recourse(model, schema, kind).find(PERSON, 0.7)
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017
        assert abs(power) >= 30
        return
    [option] = result.options
    assert option.status is Status.OPTIMAL
    assert option.x["nodes"] == 2 or (cost == "l0" and option.x["nodes"] < 2)
    assert 0 < option.cost <= MOST_COST
    assert result.certificate().lower_bound == option.cost


def test_distances_and_noise_that_floats_cannot_count_with_are_refused(model):
    recourse = Recourse(model, nodes_alone(1.0))
    result = recourse.find(PERSON, 0.7)
    short = Recourse(model, recourse.schema.update("age", scale=1e-200))
    for norm in ("linf", "l1", "l2"):
        assert 0 <= result.radius(norm=norm) < math.inf
        with pytest.raises(ValueError, match="radius: 'age' has the scale 1e-200"):
            short.find(PERSON, 0.7).radius(norm=norm)
    far = Recourse(model, nodes_alone(1.0).update("age", scale=1e250))
    with pytest.raises(ValueError, match="min_radius=1e\\+100 with the scale 1e\\+250 of 'age'"):
        far.find(PERSON, 0.7, min_radius=1e100)
    with pytest.raises(ValueError, match="sigma=1e\\+100 with scales"):
        noise(model.score_of(1), far.schema.encode(PERSON)[0], far.schema, 1e100)


# ---------------------------------------------------------------- one float from an edge


@given(seed=st.integers(0, 10**6), weight=st.sampled_from([1e-6, 1.0, 1e6]))
def test_nothing_continuous_is_cheaper_by_a_float(seed, weight):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"rate": rng.random(60), "size": rng.random(60) * 1e3})
    model = paper_machine(6, 4, T=2, epochs=2, thresholds=6, random_state=0).fit(X, X.rate > 0.5)
    conclude(model, rng.random(model.inclusion_.shape) ** 4)
    features = (Feature("rate", scale=0.3, weight=weight), Feature("size", scale=1e3))
    recourse = Recourse(model, Schema(features), "l1")
    x = X.iloc[0]
    best = recourse.reachable(x).most
    if best <= recourse.confidence(x):
        return
    option = recourse.find(x, best).options[0]
    for name in option.changes:
        nearer = dict(option.x)
        nearer[name] = math.nextafter(option.x[name], x[name])
        assert recourse.confidence(nearer) < best


@pytest.mark.parametrize("continuous", [True, False])
@pytest.mark.parametrize("step", [0.1, 0.05, 0.01])
def test_a_value_half_way_between_edges_reaches_both(step, continuous):
    """Where t + r and t' − r are one cut but for rounding, the value on it lies left of it."""
    schema = Schema((Feature("x", step=step / 2, lower=0, upper=10),))
    for k in range(1, 60):
        grid = Grid(schema, (np.array([k * step, (k + 1) * step]),))
        robust = Robust(step / 2, 0.5, continuous)
        rooms = noise_rooms(schema, step / 2, continuous).tobytes()
        finer = _finer(Same(grid), Same(schema), robust, rooms)
        middle = multiple_below(step / 2, (2 * k + 1.2) * step / 2)
        cell = int(finer.cells_in(0, np.array([middle]))[0])
        assert finer.ends(0)[cell + 1] - middle < 1e-9


def test_a_value_alone_in_its_cell_is_found_though_room_is_asked_for():
    schema = Schema((Feature("x", step=0.05, lower=-3, upper=3, scale=1.0),))
    edges = [np.array([math.nextafter(-1.2, -2), -1.2])]
    model = Additive(schema, edges, [np.array([0.0, 1.0, 2.0])])
    target = {"mode": "band", "tolerance": 0.05}
    (option,) = (
        Recourse(model, schema, "l1")
        .find({"x": -1.5}, 0.73, **target, min_radius=0.1, floor=0.2)
        .options
    )
    assert (option.x["x"], option.status) == (-1.2, Status.OPTIMAL)


# ---------------------------------------------------------------- stairs


def test_a_step_that_costs_nothing_replaces_the_one_before(model):
    free = Cost.named("l1", {"nodes": lambda a, b: max(a - b - 25.0, 0.0)})
    stairs = Recourse(model, nodes_alone(1.0), free).frontier(PERSON)
    assert (np.diff(stairs.cost) > 0).all()
    assert stairs.cost.iloc[0] == 0
    assert stairs.nodes.iloc[0] < PERSON["nodes"]


@pytest.mark.parametrize("weight", [1e-40, 1e-12, 1.0, 1e12, 1e40])
def test_steps_are_told_apart_by_their_cost_however_small(model, weight):
    one = Recourse(model, nodes_alone(1.0), "l1").frontier(PERSON)
    assert len(one) > 3
    stairs = Recourse(model, nodes_alone(weight), "l1").frontier(PERSON)
    assert stairs.nodes.tolist() == one.nodes.tolist()
    assert (np.diff(stairs.cost) > 0).all()


@pytest.mark.parametrize("wanted", [0, 1])
@pytest.mark.parametrize("resolution", [None, 0.01])
def test_a_level_that_only_rounding_sets_apart_has_its_own_step(wanted, resolution):
    schema = Schema((Feature("a", kind="integer", lower=0, upper=3),))
    sums = np.array([-2.0, -1.5, -1.5 + 2e-12, -1.5 + 2e-12]) * (1 if wanted else -1)
    model = Additive(schema, [np.array([0.5, 1.5, 2.5])], [sums])
    p = model.predict_proba(pd.DataFrame({"a": [0, 1, 2]}))[:, wanted].tolist()
    assert 0 < p[2] - p[1] < 1e-12
    for level, threshold in [(p[2], p[2]), (p[2] + 1e-9 - 1e-13, 0.5)]:
        asked = Recourse(model, schema, "l1", wanted=wanted, decision_threshold=threshold)
        (option,) = asked.find({"a": 0}, level).options
        stairs = asked.frontier({"a": 0}, level, resolution=resolution)
        assert (option.x["a"], stairs.a.iloc[-1]) == (2, 2)
        assert stairs.confidence.iloc[-1] == option.confidence


# ---------------------------------------------------------------- functions


def test_a_cost_function_is_tried_on_what_may_be_asked_of_it_alone():
    seen = []

    def paid(a, b):
        seen.append((a, b))
        return abs(b - a)

    age = Feature("age", "integer", lower=-9, upper=40, missing=(-9,), direction="increase")
    size = Feature("size", "integer", lower=0, upper=10, max_change=2)
    cost = Cost.named("l1", {"age": paid, "size": paid})
    cost.check(Schema((age, size)))
    assert seen == []
    cost.check(Schema((Feature("age", lower=0, upper=40, direction="increase"), size)))
    assert seen == [(0.0, 40.0)]


def test_functions_of_others_have_the_arithmetic_they_are_used_to(model):
    """Overflow in a test of rows, or in a cost, is theirs to judge; ours would end the search."""

    def saturated(rows):
        return 1.0 / (1.0 + np.exp(1000.0 * rows["nodes"].to_numpy(float))) >= 0.0

    def paid(a, b):
        return float(1.0 - 1.0 / (1.0 + np.exp(np.float64(900.0 * (a - b)))))

    with pytest.warns(RuntimeWarning, match="overflow"):
        result = Recourse(model, nodes_alone(1.0)).find(PERSON, 0.7, plausible=saturated)
    assert result.options[0].x["nodes"] == 2
    dear = Cost.named("l1", {"nodes": paid})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [other] = Recourse(model, nodes_alone(1.0), dear).find(PERSON, 0.7).options
    assert other.cost == pytest.approx(1.0)
