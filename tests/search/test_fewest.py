"""Laws of the fewest changes: least in number, then in cost, judged by enumeration."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trust_recourse import Certificate, CertificateError, NearNeighbours, Recourse, Result, verify
from trust_recourse.answers.text import badge
from trust_recourse.question import Question, Status, Target
from trust_recourse.question.fewest import Fewest, n_changes
from worlds import LINKS, enumerated, machine, paper_machine, person_schema

law = settings(max_examples=100)


def fewest_by_enumeration(recourse, x, met):
    """The least number of changes of rows that meet a target, and the least cost of so few."""
    codes, costs, _ = enumerated(recourse, x)
    action_set = recourse.schema.action_set(x)
    numbers = np.array([n_changes(action_set, row) for row in codes])
    least = numbers[met].min()
    return least, costs[met & (numbers == least)].min(), numbers


@law
@given(
    seed=st.integers(0, 10**6),
    cost=st.sampled_from(["l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5}]),
    mode=st.sampled_from(["at_least", "band"]),
    link=st.sampled_from(LINKS),
    wanted=st.sampled_from([0, 1]),
    relations=st.booleans(),
    weighted=st.booleans(),
    cap=st.sampled_from([None, 1, 2]),
    rank=st.floats(0, 1),
)
def test_least_number_then_least_cost(
    seed, cost, mode, link, wanted, relations, weighted, cap, rank
):
    model, X, rng = machine(seed, link)
    schema = person_schema(model, rng, relations)
    if weighted:
        for name in schema.actionable:
            schema = schema.update(name, weight=float(rng.choice([0.5, 1.0, 3.0])))
    recourse = Recourse(model, schema, cost, wanted=wanted)
    x = X.iloc[int(rng.integers(len(X)))]
    _, _, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    target = Target(level, mode, 0.02)
    result = recourse.find(x, level, mode=mode, tolerance=0.02, sparse=True, max_changes=cap)
    met = np.array([target.met(c) for c in p])
    k, least, _ = fewest_by_enumeration(recourse, x, met)
    if cap is not None and k > cap:
        assert result.options == ()
        assert result.status[target] is Status.INFEASIBLE
        return
    option = result.options[0]
    if result.status[target] is Status.ALREADY_MET:
        assert k == 0
        return
    assert result.status[target] is Status.OPTIMAL
    assert result.fewest[target] == Fewest(k, k)
    assert option.cost == pytest.approx(least, abs=1e-9)
    assert option.lower_bound == pytest.approx(least, abs=1e-9)
    assert target.met(option.confidence)
    certificate = Certificate.from_dict(json.loads(result.certificate().to_json()))
    verdict = verify(certificate, model, schema=result.recourse.schema, x=x, target=target)
    assert verdict.sparse
    assert verdict.status is Status.OPTIMAL


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), nodes=st.integers(1, 6))
def test_a_limit_leaves_only_what_is_proved(seed, nodes):
    model, X, rng = machine(seed)
    recourse = Recourse(model, person_schema(model, rng, False), "l1")
    x = X.iloc[0]
    _, _, p = enumerated(recourse, x)
    target = Target(float(np.clip(p.max(), 0.001, 0.999)))
    result = recourse.find(x, target.confidence, sparse=True, node_limit=nodes)
    met = np.array([target.met(c) for c in p])
    k, least, numbers = fewest_by_enumeration(recourse, x, met)
    _, costs, _ = enumerated(recourse, x)
    for option in result.options[: target in result.fewest]:
        known = result.fewest[target]
        assert known.least <= k <= known.most == len(option.changes)
        few = met & (numbers <= known.most)
        assert option.lower_bound <= costs[few].min() + 1e-9
        if option.status is Status.OPTIMAL:
            assert (known.most, option.cost) == (k, pytest.approx(least, abs=1e-9))


# ---------------------------------------------------------------- one machine


@pytest.fixture(scope="module")
def asked():
    """A question whose cheapest answer changes more features than need be."""
    for seed in range(200):
        model, X, _ = machine(seed)
        recourse = Recourse(model, cost="l1")
        for at in range(len(X)):
            _, _, p = enumerated(recourse, X.iloc[at])
            level = float(np.clip(np.quantile(p, 0.9), 0.001, 0.999))
            plain = recourse.find(X.iloc[at], level)
            sparse = recourse.find(X.iloc[at], level, sparse=True, n_options=2)
            if 1 < len(sparse.options[0].changes) < len(plain.options[0].changes):
                return plain, sparse
    raise AssertionError("no such question")


def test_it_says_both_parts(asked):
    plain, sparse = asked
    assert sparse.options[0].cost > plain.options[0].cost
    (known,) = sparse.fewest.values()
    assert f"Fewer than {known.most} changed features are not enough" in sparse.sentence(0)
    assert "Both are proved" in sparse.sentence(0)
    assert badge(sparse, 0) == "fewest changes, proved"
    assert all(len(option.changes) <= known.most for option in sparse.options)


def test_several_confidences_each_have_their_own(asked):
    plain, sparse = asked
    (target,) = sparse.status
    both = plain.recourse.find(plain.factual, [target.confidence, 0.02], sparse=True)
    assert both.fewest[target] == sparse.fewest[target]


def test_a_file_keeps_it(asked, tmp_path):
    _, sparse = asked
    sparse.save(tmp_path / "r.json")
    again = Result.load(tmp_path / "r.json", sparse.recourse)
    assert again.fewest == sparse.fewest
    assert again.sentence(0) == sparse.sentence(0)
    told = json.loads((tmp_path / "r.json").read_text())
    told["targets"][0]["fewest"]["most"] = told["targets"][0]["fewest"]["least"] = 1
    (tmp_path / "r.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match="fewest"):
        Result.load(tmp_path / "r.json", sparse.recourse)


def test_a_certificate_of_what_is_not_true_is_refused(asked):
    plain, sparse = asked
    model, whole = sparse.recourse.model, sparse.certificate()
    assert verify(whole, model).sparse
    cheap = plain.certificate()
    for forged in (
        dataclasses.replace(whole, lower_bound=whole.lower_bound / 2),
        dataclasses.replace(cheap, fewer=whole.fewer),  # cheaper, of more changes
        dataclasses.replace(cheap, fewer=cheap.proof),
    ):
        with pytest.raises(CertificateError):
            verify(forged, model)


def test_an_unproved_answer_has_no_certificate(asked):
    _, sparse = asked
    (target,) = sparse.status
    most = sparse.fewest[target].most
    open_ = dataclasses.replace(
        sparse, status={target: Status.FEASIBLE}, fewest={target: Fewest(most, most - 1)},
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"both parts of sparse were proved; give it more time"):
        open_.certificate()


def test_weights_do_not_count():
    model, X, _ = machine(3)
    schema = model.schema_
    for name, weight in zip(schema.actionable, (0.01, 100.0, 7.0), strict=False):
        schema = schema.update(name, weight=weight)
    plain, other = Recourse(model, cost="l1"), Recourse(model, schema, cost="l1")
    _, _, p = enumerated(plain, X.iloc[0])
    level = float(np.clip(np.quantile(p, 0.95), 0.001, 0.999))
    found = [each.find(X.iloc[0], level, sparse=True).fewest for each in (plain, other)]
    assert found[0] == found[1] != {}


def test_what_it_does_not_go_with_is_refused():
    X = machine(0)[1]
    for more in ({"plausible": NearNeighbours(X)}, {"survives": 0.9}):
        with pytest.raises(ValueError, match=r"sparse with \w+: expected one of them\. Ask for"):
            Question(confidence=0.7, sparse=True, **more)
    with pytest.raises(ValueError, match="sparse=1; expected True or False"):
        Question(confidence=0.7, sparse=1)
    model, X, _ = machine(0)
    with pytest.raises(ValueError, match=r"sparse with engine='tpe': .*Set max_changes=2"):
        Recourse(model).find(X.iloc[0], 0.7, sparse=True, engine="tpe")


def test_a_radius_is_kept_by_the_fewest_changes():
    from trust_recourse import Schema, haberman

    X, y = haberman()
    free = Schema.infer(X, guard=False)
    model = paper_machine(epochs=20, schema=free, random_state=0).fit(X, y)
    recourse = Recourse(model, cost="l1")
    result = recourse.find(X.iloc[9], 0.7, sparse=True, min_radius=0.02)
    (known,) = result.fewest.values()
    assert known.proved
    assert len(result.options[0].changes) == known.most
    assert result.radius(0) >= 0.02


@pytest.mark.parametrize("forged", [{"least": 99}, {"least": -3}, {"most": 99, "least": 99}])
def test_a_file_with_a_forged_number_of_changes_is_refused(asked, forged, tmp_path):
    _, sparse = asked
    path = tmp_path / "sparse.json"
    sparse.save(path)
    told = json.loads(path.read_text())
    held = told["targets"][0]["fewest"]
    assert Result.load(path, sparse.recourse).fewest == sparse.fewest
    told["targets"][0]["fewest"] = held | forged | {"proved": True}
    path.write_text(json.dumps(told))
    with pytest.raises(ValueError, match="fewest|most"):
        Result.load(path, sparse.recourse)


def test_a_file_with_a_bound_below_0_is_refused(asked, tmp_path):
    plain, _ = asked
    path = tmp_path / "plain.json"
    plain.save(path)
    told = json.loads(path.read_text())
    told["options"][0]["lower_bound"] = -5.0
    path.write_text(json.dumps(told))
    with pytest.raises(ValueError, match="lower_bound: given -5"):
        Result.load(path, plain.recourse)
