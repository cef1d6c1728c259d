"""Laws of the front door: how safe an answer is, what else may be asked, every engine, files."""

from __future__ import annotations

import itertools
import json
import pickle
from collections import Counter
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mutations
from experiments.engines.gp import GP
from trust_recourse import Feature, Recourse, Schema
from trust_recourse.answers import text
from trust_recourse.answers.plausibility import EachRow, Isolation, NearNeighbours
from trust_recourse.answers.result import Result
from trust_recourse.models import Additive
from trust_recourse.question import Question, Status
from trust_recourse.question.cost import Cost
from trust_recourse.search import BLACK_BOX
from trust_recourse.search.engines import NAMES, Engine
from worlds import LINKS, conclude, enumerated, machine, paper_machine, person_schema

law = settings(max_examples=60)
NUMERIC = ("number", "integer")


def losing(recourse):
    """Every product of cells, its distance from x in each feature, and whether it loses."""
    model = recourse.model
    cells = np.array(list(itertools.product(*map(range, model.machine_.grid.sizes))), np.int32)
    yes = model.machine_.confidence_at(cells)
    kept = (yes if recourse.wanted_at == 1 else 1 - yes) >= recourse.decision_threshold
    if recourse.wanted_at == 0:
        kept &= yes != 0.5
    return cells, ~kept


def distances(recourse, codes, cells):
    """The scaled distance from codes to the closure of each cell; ∞ where a category changes."""
    away = np.zeros(cells.shape)
    own = recourse.model.machine_.grid.cells(codes[None])[0]
    for f, feature in enumerate(recourse.schema):
        if feature.kind not in NUMERIC:
            away[:, f] = np.where(cells[:, f] == own[f], 0.0, np.inf)
            continue
        ends = np.concatenate([[-np.inf], recourse.model.thresholds_[f], [np.inf]])
        low, high = ends[cells[:, f]], ends[cells[:, f] + 1]
        gap = np.maximum(np.maximum(low - codes[f], codes[f] - high), 0.0) / feature.scale
        away[:, f] = np.where(cells[:, f] == own[f], 0.0, gap)
    return away


@law
@given(
    seed=st.integers(0, 10**6),
    link=st.sampled_from(LINKS),
    wanted=st.sampled_from([0, 1]),
    norm=st.sampled_from(["linf", "l2", "l1"]),
)
def test_the_radius_is_the_distance_to_the_nearest_loss(seed, link, wanted, norm):
    model, X, _ = machine(seed, link)
    recourse = Recourse(model, wanted=wanted)
    p = model.predict_proba(X)[:, wanted]
    x = X.iloc[int(np.argmax(p))]
    result = recourse.find(x, 0.5)
    cells, lost = losing(recourse)
    if not result.options:
        assert recourse.reachable(x).most < 0.5
        return
    codes = recourse.schema.encode(result.options[0].x)[0]
    away = distances(recourse, codes, cells[lost])
    order = {"linf": np.inf, "l2": 2, "l1": 1}[norm]
    expected = np.linalg.norm(away, order, axis=1).min() if lost.any() else np.inf
    assert result.radius(0, norm, continuous=True) == pytest.approx(expected, abs=1e-12)
    assert result.radius(0, norm) >= expected - 1e-12  # on steps there is less to be afraid of


@law
@given(
    seed=st.integers(0, 10**6),
    link=st.sampled_from(LINKS),
    wanted=st.sampled_from([0, 1]),
    radius=st.sampled_from([0.0137, 0.0737, 0.1913]),
    floor=st.sampled_from([None, 0.4, 0.55]),
    relations=st.booleans(),
    continuous=st.booleans(),
)
def test_room_for_noise_equals_enumeration(
    seed, link, wanted, radius, floor, relations, continuous
):
    model, X, rng = machine(seed, link)
    schema = person_schema(model, rng, relations)
    recourse = Recourse(model, schema, "l1", wanted=wanted)
    x = X.iloc[int(rng.integers(len(X)))]
    codes, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, 0.6), 0.3, 0.9))
    least = 0.5 if floor is None else floor
    yes = model.machine_.confidence_at(cells := np.array(
        list(itertools.product(*map(range, model.machine_.grid.sizes))), np.int32
    ))  # fmt: skip
    kept = (yes if wanted == 1 else np.where(yes == 0.5, np.nextafter(0.5, 0), 1 - yes)) >= least
    room = np.array([radius * f.scale if f.kind in NUMERIC else 0.0 for f in schema])
    if not continuous:  # as many steps as there are in it
        room = np.array(
            [r // f.step * f.step if r else r for r, f in zip(room, schema, strict=True)]
        )
    low, high = (model.machine_.grid.cells((codes + way * room).round(9)) for way in (-1, 1))
    held = np.array([
        kept[((cells >= a) & (cells <= b)).all(axis=1)].all()
        for a, b in zip(low, high, strict=True)
    ])  # fmt: skip
    good = held & (p >= level - 1e-9)
    result = recourse.find(x, level, min_radius=radius, floor=floor, continuous=continuous)
    (status,) = result.status.values()
    if not good.any():
        assert status is Status.INFEASIBLE
        return
    assert status is Status.OPTIMAL
    assert result.options[0].cost == pytest.approx(costs[good].min(), abs=1e-9)
    if floor is None:
        assert result.radius(0, continuous=continuous) >= radius - 1e-9


def test_a_point_just_outside_the_radius_loses_and_none_inside_does(model, patients):
    X, _ = patients
    recourse = Recourse(model, Schema.infer(X, guard=False))
    judged = 0
    for _, x in X[model.predict(X) == 0].head(4).iterrows():
        result = recourse.find(x, 0.6, min_radius=0.02, continuous=True)
        radius = result.radius(0, continuous=True)
        assert radius >= 0.02
        if not np.isfinite(radius):
            continue
        codes = recourse.schema.encode(result.options[0].x)[0]
        scale = np.array([f.scale for f in recourse.schema])
        inside = np.random.default_rng(0).uniform(-radius, radius, (4000, len(codes))) * 0.999
        assert (recourse.confidences(codes + inside * scale) >= 0.5).all()
        corners = np.array(list(itertools.product([-1, 0, 1], repeat=len(codes))))
        outside = codes + corners * (radius + 1e-6) * scale
        grid = np.linspace(-1, 1, 41)
        faces = np.array(list(itertools.product(grid, repeat=len(codes)))) * (radius + 1e-6)
        around = np.concatenate([outside, codes + faces * scale])
        assert (recourse.confidences(around) < 0.5).any()
        judged += 1
    assert judged


def test_ranges_have_no_end_where_more_is_always_fine():
    schema = Schema(
        (
            Feature("pay", step=100, scale=1000, unit="€"),
            Feature("debt", "integer", lower=0, scale=10),
            Feature("grade", "ordinal", values=("low", "mid", "high")),
            Feature("town", "category", values=("a", "b")),
        )
    )
    model = Additive(
        schema, [[], [4.0], [0.0, 1.0], []],
        [[0.0], [2.0, -2.0], [0.0, 0.5, 0.5], [0.0, 3.0]],
        slopes=[[0.001], [0.0, 0.0], [0.0] * 3, [0.0, 0.0]], base=-5.0,
    )  # fmt: skip
    result = Recourse(model, schema, "l1").find(
        {"pay": 1000, "debt": 6, "grade": "low", "town": "a"}, 0.6, lock=["town"]
    )
    assert result.options[0].changes["debt"] == (6, 4)
    found = {name: (low, high) for name, low, high in result.ranges().itertuples(index=False)}
    assert found["debt"] == (0, 4)
    assert found["pay"] == (result.options[0].x["pay"], np.inf)
    assert text.range_words(result)["pay"] == f"at least €{result.options[0].x['pay']:,.0f}"
    with pytest.raises(ValueError, match="feature='town'; expected one that option 1 changes"):
        result.ranges(feature="town")
    already = Recourse(model, schema, "l1").find(result.options[0].x, 0.6)
    assert already.ranges().empty


def test_noise_is_survived_by_request(model, patients):
    X, _ = patients
    recourse = Recourse(model, Schema.infer(X, guard=False))
    x = X[model.predict(X) == 0].iloc[0]
    plain, safe = recourse.find(x, 0.6), recourse.find(x, 0.6, min_radius=0.05)
    assert safe.options[0].cost >= plain.options[0].cost
    found = safe.robustness(0, sigma=0.01)
    assert found.exact
    assert 0.999 < found.low <= found.probability <= found.high <= 1.0
    assert str(found) in ("99.9–100%", "100%")


# ---------------------------------------------------------------- what else may be asked


def refused_person(seed=3, **settings):
    model, X, _ = machine(seed, **settings)
    recourse = Recourse(model, cost="l1")
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    goal = 0.5 * (recourse.confidence(x) + recourse.reachable(x).most)
    return recourse, X, x, float(goal)


def test_options_may_lie_apart():
    recourse, _, x, goal = refused_person()
    options = recourse.find(x, goal, n_options=3, min_distance=0.5).options
    assert len(options) == 3
    codes = [recourse.schema.encode(o.x)[0] for o in options]
    for a, b in itertools.combinations(codes, 2):
        assert recourse.cost.between(recourse.schema.features, a, b) >= 0.5


def test_plausible_options_come_in_the_order_of_cost_and_say_what_is_proved():
    recourse, X, x, goal = refused_person()
    first = recourse.find(x, goal).options[0]
    name = next(iter(first.changes))
    result = recourse.find(x, goal, plausible=EachRow(lambda row: row[name] != first.x[name]))
    option = result.options[0]
    assert option.x[name] != first.x[name]
    assert option.status is Status.FEASIBLE
    assert option.lower_bound == pytest.approx(first.cost)
    assert option.cost > first.cost
    every = recourse.find(x, goal, plausible=lambda rows: np.ones(len(rows), bool))
    assert every.options[0].status is Status.OPTIMAL
    none = recourse.find(x, goal, plausible=lambda rows: np.zeros(len(rows), bool))
    assert next(iter(none.status.values())) is Status.NOT_FOUND
    for test in (NearNeighbours(X), Isolation(X)):
        for each in recourse.find(x, goal, plausible=test, n_options=2).options:
            assert test(each.x.to_frame().T.infer_objects())[0]
    with pytest.raises(ValueError, match="no certificate for this answer"):
        none.certificate()


def test_unreachable_comes_with_the_furthest_and_what_binds(model, patients):
    X, _ = patients
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema)
    x = X[model.predict(X) == 0].iloc[0]
    result = recourse.find(x, 0.999)
    assert next(iter(result.status.values())) is Status.INFEASIBLE
    assert result.max_confidence.most < 0.999
    assert "result.max_confidence" in repr(result)
    binding = result.binding()
    assert len(binding) >= 1
    assert (binding.gain > 0).all()
    assert binding.gain.is_monotonic_decreasing
    lifted = {r.sentence: r.schema for r in schema.relaxations(x)}
    for row in binding.itertuples(index=False):
        again = Recourse(model, lifted[row[0]]).reachable(x).most
        assert row.reachable == pytest.approx(again)
    with pytest.raises(IndexError, match="has no options"):
        result.radius()


def test_printing_never_searches(model, monkeypatch):
    stuck = Recourse(model, model.schema_.lock("year", "nodes"))
    result = stuck.find({"age": 60, "year": 62, "nodes": 20}, [0.5, 0.999])
    assert Status.INFEASIBLE in result.status.values()
    monkeypatch.setattr(Recourse, "reachable", lambda *_, **__: pytest.fail("it searched"))
    assert "result.max_confidence" in repr(result)
    assert "<p>" in result._repr_html_()
    monkeypatch.undo()
    assert result.max_confidence.most < 0.999


@pytest.mark.parametrize("engine", ["exact", "tpe"])
def test_an_option_keeps_its_codes(engine, tmp_path):
    """As the schema encodes its values, and after a file too; none of them is encoded again."""
    looked, trials = 0, {} if engine == "exact" else {"n_trials": 20}
    for seed in range(4):
        model, X, rng = machine(seed)
        recourse = Recourse(model, person_schema(model, rng, relations=False), "l1")
        result = recourse.find(X.iloc[0], [0.3, 0.6], n_options=2, engine=engine, **trials)
        result.save(tmp_path / "result.json")
        for each in (result, Result.load(tmp_path / "result.json", recourse)):
            for option in each.options:
                assert option.codes.tobytes() == recourse.schema.encode(option.x)[0].tobytes()
                assert "codes" not in repr(option)
                looked += 1
    assert looked > 8


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["l1", "l2"]))
def test_costs_of_ones_own_are_minimised_too(seed, kind):
    """A function that falls again away from the person."""
    model, X, _ = machine(seed)
    functions = {
        "count": lambda a, b: abs(b - a) % 3 + 0.1,
        "home": lambda _, b: {"own": 0.3, "rent": 0.2, "free": 0.9}[b],
    }
    recourse = Recourse(model, cost=Cost.named(kind, functions=functions))
    x = X.iloc[0]
    _, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, 0.8, method="nearest"), 0.01, 0.99))
    option = recourse.find(x, level).options[0]
    assert option.cost == pytest.approx(costs[p >= level - 1e-9].min(), abs=1e-9)


def test_results_survive_a_file_and_forged_ones_do_not(tmp_path):
    recourse, _, x, goal = refused_person()
    result = recourse.find(x, [goal, 0.999], n_options=2)
    result.save(tmp_path / "r.json")
    back = Result.load(tmp_path / "r.json", recourse)
    pd.testing.assert_frame_equal(back.to_frame(), result.to_frame())
    assert back.status == result.status
    assert repr(back) == repr(result)
    told = json.loads((tmp_path / "r.json").read_text())
    told["options"][0]["confidence"] += 0.1
    (tmp_path / "forged.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match=r"options\.0\.confidence is"):
        Result.load(tmp_path / "forged.json", recourse)
    other = Recourse(machine(4)[0], cost="l1")
    with pytest.raises(ValueError, match="from another model, with the fingerprint"):
        Result.load(tmp_path / "r.json", other)


@pytest.mark.slow
def test_many_people_by_processes():
    recourse, X, _, goal = refused_person()
    one = recourse.find_many(X.head(4), goal)
    two = recourse.find_many(X.head(4), goal, n_jobs=2)
    pd.testing.assert_frame_equal(one, two)
    assert {"optimal"} <= set(one.status)
    apart: list[pickle.PickleBuffer] = []  # as a cluster sends a model: its arrays are read-only
    sent = pickle.dumps(recourse, protocol=5, buffer_callback=apart.append)
    other = pickle.loads(sent, buffers=[bytes(part) for part in apart])
    pd.testing.assert_frame_equal(other.find_many(X.head(4), goal), one)
    with pytest.raises(ValueError, match="n_jobs=0"):
        recourse.find_many(X, 0.5, n_jobs=0)
    band = recourse.find_many(X.head(4), goal, mode="band", tolerance=0.05)
    asked = [recourse.find(x, goal, mode="band", tolerance=0.05) for _, x in X.head(4).iterrows()]
    assert band["status"].tolist() == [str(next(iter(each.status.values()))) for each in asked]


def test_who_cannot_be_read_loses_nobody_else_their_answer():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"pay": rng.normal(size=60), "job": rng.choice(["day", "none"], 60)})
    model = paper_machine(epochs=2, random_state=0).fit(X, (X.pay > 0).astype(int))
    recourse, some = Recourse(model), X.head(4).set_axis(list("abcd"))
    known = recourse.find_many(some, 0.5)
    assert known.reason.isna().all()
    some.loc["c", "job"] = "dat"
    for n_jobs in (1, 2):
        found = recourse.find_many(some, 0.5, n_jobs=n_jobs)
        pd.testing.assert_frame_equal(found.drop("c"), known.drop("c"), check_dtype=False)
        assert found.status["c"] == "unanswered"
        assert found.reason["c"].startswith("column 'job': given 'dat', expected one of")
    with pytest.raises(ValueError, match="pay"):  # what is wrong with all is told once
        recourse.find_many(X[["job"]], 0.5)


@pytest.mark.slow
def test_large_models_reach_the_processes_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    y = (X.a + X.b > 0).astype(int)
    model = paper_machine(epochs=1, thresholds="unique", random_state=0).fit(X, y)
    assert model.score_of(1).kernel.numbers.nbytes > 2**20
    recourse = Recourse(model)
    pd.testing.assert_frame_equal(
        recourse.find_many(X.head(4), 0.4), recourse.find_many(X.head(4), 0.4, n_jobs=2)
    )


# ---------------------------------------------------------------- engines for any model


@pytest.mark.parametrize("engine", [*BLACK_BOX, GP])
def test_no_engine_beats_exact(engine):
    recourse, _, x, goal = refused_person()
    best = recourse.find(x, goal).options[0]
    result = recourse.find(x, goal, engine=engine, n_trials=40, n_options=2)
    assert result.options
    again = recourse.find(x, goal, engine=engine, n_trials=40, n_options=2)
    pd.testing.assert_frame_equal(result.to_frame(), again.to_frame())
    for option in result.options:
        assert option.status is Status.FEASIBLE
        assert option.cost >= best.cost - 1e-9
        assert option.confidence >= goal - 1e-9
        assert recourse.schema.action_set(x).allows(option.x)
    front = result.pareto()
    assert (np.diff(front.cost) > 0).all()
    with pytest.raises(ValueError, match="proves nothing"):
        result.certificate()


@pytest.mark.slow
def test_any_classifier_can_be_asked(patients):
    X, y = patients
    schema = Schema.infer(X).lock("age", "year").update("nodes", direction="decrease")
    models = [
        make_pipeline(StandardScaler(), GaussianNB()).fit(X, y),
        make_pipeline(StandardScaler(), GaussianNB()).fit(X.to_numpy(), y),
        KNeighborsClassifier(25).fit(X, y),
        lambda table: 1 / (1 + 0.2 * table["nodes"].to_numpy()),
    ]
    x = X.sort_values("nodes").iloc[-1]
    for model in models:
        recourse = Recourse(model, schema)
        now = recourse.confidence(x)
        result = recourse.find(x, min(now + 0.1, 0.95), n_trials=20)
        assert result.engine == "portfolio"
        option = result.options[0]
        assert set(option.changes) == {"nodes"}
        assert option.x.nodes < x.nodes
        found = result.robustness(0)
        assert not found.exact
        assert 0.0 <= found.low <= found.probability <= found.high <= 1.0
        with pytest.raises(TypeError, match="radius needs a model with cells"):
            result.radius()
    with pytest.raises(TypeError, match="frontier needs a model with cells"):
        Recourse(models[0], schema).frontier(x)
    with pytest.raises(ValueError, match="has no schema of its own"):
        Recourse(models[0])
    with pytest.raises(ValueError, match="probability of the wanted class"):
        Recourse(lambda table: table["nodes"], schema).confidence(x)


@pytest.mark.parametrize(
    "model",
    [
        paper_machine(),
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        pytest.importorskip("lightgbm").LGBMClassifier(),
        pytest.importorskip("xgboost").XGBClassifier(),
        pytest.importorskip("catboost").CatBoostClassifier(),
    ],
)
def test_a_model_that_has_not_learnt_is_refused_at_once(model, patients):
    said = f"model is {type(model).__name__}, which has not learnt yet: call fit"
    for schema in (Schema.infer(patients[0]), None):
        with pytest.raises(ValueError, match=said):
            Recourse(model, schema)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"engine": "magic"},
            "engine='magic'; expected one of auto, exact, portfolio",
        ),
        ({"gap": -1}, "gap=-1"),
        ({"min_distance": 0}, "min_distance=0"),
        ({"node_limit": 0}, "node_limit=0"),
        ({"engine": "tpe", "n_trials": 0}, "n_trials=0; expected a whole number"),
        ({"engine": "portfolio", "n_trials": 2.5}, "n_trials=2.5; expected a whole number"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"min_radius": 0}, "min_radius=0"),
        ({"floor": 0.5}, "floor=0.5 without min_radius"),
        ({"min_radius": 0.1, "floor": 2}, "floor=2"),
        ({"min_radius": 0.1, "engine": "tpe"}, "min_radius needs engine='exact'"),
        ({"confidence": []}, "expected at least one level"),
    ],
)
def test_bad_settings_are_refused(asked, said):
    recourse, _, x, _ = refused_person()
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        recourse.find(x, **asked)


def test_a_tie_is_class_1_whoever_asks():
    """All clauses silent: confidence is one half, which is a yes for class 1 and no for class 0."""
    model, X, _ = machine(0)
    conclude(model, np.zeros_like(model.inclusion_))
    x = X.iloc[0]
    assert Recourse(model, wanted=1).find(x, 0.5).options[0].status is Status.ALREADY_MET
    asked = Recourse(model, wanted=0).find(x, 0.5)
    assert next(iter(asked.status.values())) is Status.INFEASIBLE
    assert asked.refused


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), wanted=st.sampled_from([0, 1]))
def test_at_least_one_half_is_what_predict_says(seed, wanted):
    model, X, rng = machine(seed)
    recourse = Recourse(model, person_schema(model, rng, relations=False), "l1", wanted=wanted)
    x = X.iloc[0]
    codes, costs, _ = enumerated(recourse, x)
    chosen = model.predict(recourse.schema.decode(codes)) == wanted
    options = recourse.find(x, 0.5).options
    assert bool(options) == chosen.any()
    if options:
        assert options[0].cost == pytest.approx(costs[chosen].min(), abs=1e-9)


@pytest.mark.slow
def test_a_hard_search_ends_with_a_good_answer_and_its_gap():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 14)).round(2), columns=list("abcdefghijklmn"))
    y = (X.to_numpy()[:, :6].sum(axis=1) + rng.normal(size=300) > 0).astype(int)
    model = paper_machine(40, 50, s=3, T=10, epochs=10, random_state=0).fit(X, y)
    recourse = Recourse(model)
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, 1]))]
    goal = 0.5 * (recourse.reachable(x, time_limit=2).most + recourse.confidence(x))
    stopped = recourse.find(x, goal, node_limit=60).options[0]
    best = recourse.find(x, goal, time_limit=30).options[0]
    assert stopped.lower_bound <= best.cost <= stopped.cost
    assert stopped.cost < 2 * best.cost
    assert stopped.confidence >= goal - 1e-9


@pytest.mark.slow
def test_nothing_nasty_in_a_result_is_more_than_refused(tmp_path):
    recourse, _, x, goal = refused_person()
    path = tmp_path / "r.json"
    result = recourse.find(x, [goal, 0.999], n_options=2)
    result.save(path)
    told, read = json.loads(path.read_text()), Counter()
    for place, nasty in itertools.product(mutations.places(told), mutations.NASTY):
        path.write_text(json.dumps(mutations.put(told, place, nasty)).replace("Infinity", "1e309"))
        for again in (Result.load, lambda path, by: Recourse.read(path, by.model)):
            try:
                found = again(path, recourse)
            except ValueError:
                read["refused"] += 1
            else:
                read["read"] += 1
                costs = [[option.cost for option in each.options] for each in (found, result)]
                assert costs[0] == costs[1], (place, nasty)
                assert len(found.to_frame()) == len(result.options)
    assert read["refused"] > 10 * read["read"] > 0, read


@pytest.mark.parametrize(
    ("lie", "part"),
    [
        ({"mode": "band"}, "confidence, mode or tolerance"),
        ({"confidence": [0.4]}, "confidence, mode or tolerance"),
        ({"threshold": 0.7}, "threshold"),
        ({"lock": ["home"]}, "lock or limits"),
        ({"limits": {"count": [0, 1]}}, "lock or limits"),
        ({"cost": {"l0": 1.0}}, "cost"),
        ({"engine": "tpe"}, "engine"),
        ({"min_radius": 0.1}, "extra constraints"),
        ({"plausible": "neighbours"}, "extra constraints"),
    ],
)
def test_the_question_of_a_file_is_believed_only_if_the_rest_agrees(lie, part, tmp_path):
    model, X, _ = machine(3)
    path = tmp_path / "r.json"
    Recourse(model, cost="l1").find(X.iloc[0], 0.5, mode="at_least").save(path)
    told = json.loads(path.read_text())
    assert Recourse.read(path, model).question == Question(confidence=0.5)
    path.write_text(json.dumps(told | {"question": {**told["question"], **lie}}))
    with pytest.raises(ValueError, match=f"damaged .*question: another {part} than the rest"):
        Recourse.read(path, model)


def test_a_result_is_read_again_with_the_model_alone(tmp_path):
    model, X, _ = machine(3)
    cost = {"l0": 0.1, "l1": 1.0}
    recourse = Recourse(model, cost=cost, wanted=0, decision_threshold=0.6)
    result = recourse.find(X.iloc[0], [0.3, 0.5])
    result.save(tmp_path / "r.json")
    again = Recourse.read(tmp_path / "r.json", model)
    assert repr(again) == repr(result)
    assert again.recourse.cost == recourse.cost
    assert (again.recourse.wanted, again.recourse.decision_threshold) == (0, 0.6)
    with pytest.raises(ValueError, match="the decision_threshold is not that"):
        Result.load(tmp_path / "r.json", Recourse(model, cost=cost, wanted=0))
    with pytest.raises(ValueError, match="from another model, with the fingerprint"):
        Recourse.read(tmp_path / "r.json", machine(4)[0])
    told = json.loads((tmp_path / "r.json").read_text())
    for part in ("schema", "cost", "wanted", "decision_threshold", "person", "options"):
        (tmp_path / "cut.json").write_text(json.dumps({k: v for k, v in told.items() if k != part}))
        with pytest.raises(ValueError, match=r"damaged|is not that"):
            Recourse.read(tmp_path / "cut.json", model)
    text = (tmp_path / "r.json").read_text()
    (tmp_path / "twice.json").write_text(text.replace('"engine"', '"engine": "tpe", "engine"'))
    with pytest.raises(ValueError, match="'engine' is given more than once"):
        Recourse.read(tmp_path / "twice.json", model)
    own = Cost.named("l1", functions={"count": lambda a, b: abs(a - b)})
    Recourse(model, cost=own).find(X.iloc[0], 0.5).save(tmp_path / "own.json")
    with pytest.raises(ValueError, match="functions of its own"):
        Recourse.read(tmp_path / "own.json", model)


@pytest.mark.parametrize("engine", BLACK_BOX)
def test_trials_for_a_high_confidence_serve_a_low_one(engine):
    recourse, _, x, goal = refused_person()
    low = 0.5 * (recourse.confidence(x) + goal)
    result = recourse.find(x, [low, goal], engine=engine, n_trials=60)
    first, second = result.options
    assert first.cost <= second.cost


def test_every_list_of_engines_is_the_registry():
    assert get_args(Engine) == NAMES
