"""Laws of certificates: the engine's own are confirmed, and none that says more than is true.

What is true is known from enumeration. False proofs are written by a small prover of the tests'
own, which cuts boxes in halves and leaves what it cannot discard to a pretext.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection  # noqa: F401 - loading it uses `random`, forbidden in strategies
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier

import mutations
import trust_recourse
from claims import is_true
from trust_recourse import Feature, Recourse, Schema, TMClassifier
from trust_recourse.certificate import (
    REASONS,
    Certificate,
    CertificateError,
    Proof,
    check,
    checker,
    cover,
    fingerprints,
    lagrangian,
    prove,
    readers,
)
from trust_recourse.certificate.lagrangian import PricedCandidates
from trust_recourse.io.cancel import Cancelled, cancellable
from trust_recourse.models import Additive, Grid
from trust_recourse.models.tsetlin.links import Logistic
from trust_recourse.question import Point, Problem, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.report.evidence import evidence
from trust_recourse.schema import SchemaError
from trust_recourse.search import branch_and_bound
from trust_recourse.search.candidates import candidates
from trust_recourse.search.exact import Exact
from worlds import LINKS, conclude, enumerated, machine, paper_machine, person_schema, with_rules

law = settings(max_examples=15)
COST, CONFIDENCE, PRICED, RELATION, POINT = range(len(REASONS))


@pytest.fixture(autouse=True)
def early(monkeypatch):
    """Look for cheaper points from the first box on, so that small searches do all there is."""
    monkeypatch.setattr(branch_and_bound, "DIVE_FROM", 0)


# ---------------------------------------------------------------- questions


@dataclass(eq=False)
class Asked:
    """A question on a random machine, the engine's answer, and what enumeration says of it."""

    recourse: Recourse
    problem: Problem
    x: Any
    result: Any
    rows: Any
    costs: Any
    p: Any

    @property
    def model(self):
        return self.recourse.model

    @property
    def meets(self):
        return np.array([self.problem.target.met(p) for p in self.p])

    @property
    def least(self):
        return self.costs[self.meets].min() if self.meets.any() else math.inf

    def certificate(self):
        return self.result.certificate()

    def added(self, bound):
        return bound**2 if self.problem.cost.root else bound

    def any_answer(self, bound, proof):
        """That nothing costs less than a bound, with the dearest answer of all."""
        at = int(np.argmax(np.where(self.meets, self.costs, -1)))
        return Certificate(
            self.model.fingerprint_,
            self.problem,
            Status.FEASIBLE,
            Point(self.rows[at], self.costs[at], self.p[at]),
            bound,
            0,
            proof,
        )


def gappy(seed, link="margin", calibration=None):
    """A machine of arbitrary rules on columns of which two have missing values."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "rate": rng.choice([0.0, 0.1, 0.2, 0.4, -9.0], 60),
            "count": rng.integers(0, 4, 60),
            "home": rng.choice(["own", "rent", "?"], 60),
        }
    )
    schema = Schema.infer(X, missing={"rate": -9, "home": "?"})
    model = paper_machine(
        6, 4, T=2, epochs=1, thresholds=4, link=link, calibration=calibration, schema=schema,
        random_state=0,
    ).fit(X, np.arange(60) % 2)  # fmt: skip
    with_rules(model, rng.random(model.inclusion_.shape) ** 4, rng)
    return model, X, rng


def card(seed, gaps=False):
    """A table of arbitrary points on the columns of a machine, with ties and sums far from 0."""
    model, X, _ = (made_gappy if gaps else made)(0)
    rng = np.random.default_rng(seed)
    edges = [np.unique(rng.choice(each, len(each) // 2)) if len(each) else each
             for each in model.thresholds_]  # fmt: skip
    sizes = Grid(model.schema_, edges).sizes
    digits, far = int(rng.integers(1, 4)), float(rng.choice([0.0, 0.0, 1e4]))
    points = [rng.normal(0, rng.uniform(0.2, 2), size).round(digits) for size in sizes]
    points[0] -= far
    return Additive(model.schema_, edges, points, base=far + float(rng.normal())), X, rng


made = lru_cache(machine)  # which no test changes
made_gappy = lru_cache(gappy)
made_card = lru_cache(card)
arbitrary = lru_cache(machine)  # which the test of bounds does


def ask(seed, cost="l2", mode="at_least", link="margin", calibration=None, wanted=1,
        relations=False, rank=0.9, person=0, gaps=False, points=False, **how):  # fmt: skip
    if points:
        model, X, _ = made_card(seed, gaps)
    else:
        model, X, _ = (made_gappy if gaps else made)(seed, link, calibration)
    rng = np.random.default_rng([seed, person])
    schema = model.schema_.relate(*["rate <= count"] * relations)
    if not gaps:
        schema = person_schema(model, rng, relations)
    recourse = Recourse(model, schema, cost, wanted=wanted)
    some = X.sample(6, random_state=int(rng.integers(2**31)))
    away = np.argsort(model.predict_proba(some)[:, wanted])  # so that there is a need
    x = some.iloc[int(away[-1 if mode == "band" and person % 2 else 0])]
    rows, costs, p = enumerated(recourse, x)
    if mode == "band" and person % 2:  # and for a band from above too
        rank = 1 - rank
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    tolerance = 0.02
    if rank > 0.99:  # just out of reach
        level, tolerance = float(np.clip(p.max() + 1e-4, 0.001, 0.9999)), 1e-5
    target = Target(level, mode, tolerance)
    result = recourse.find(x, level, mode=mode, tolerance=tolerance, **how)
    problem = Problem(recourse.schema.action_set(x), target, recourse.cost, wanted)
    return Asked(recourse, problem, x, result, rows, costs, p)


each = {
    "seed": st.integers(0, 10**6),
    "person": st.integers(0, 10**6),
    "points": st.booleans(),
    "certify": st.booleans(),
    "cost": st.sampled_from(["l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5}]),
    "mode": st.sampled_from(["at_least", "band"]),
    "link": st.sampled_from(LINKS),
    "calibration": st.sampled_from([None, "sigmoid", "isotonic"]),
    "wanted": st.sampled_from([0, 1]),
    "relations": st.booleans(),
    "rank": st.floats(0.3, 1),
}
questions = st.builds(ask, **each)
limited = st.builds(ask, **each, node_limit=st.integers(1, 12)) | st.builds(
    ask, **each, gap=st.sampled_from([0.01, 0.3, 2.0])
)


def refused(certificate, model, match=".", **given):
    with pytest.raises(CertificateError, match=match):
        check(certificate, model, **given)


# ---------------------------------------------------------------- honest certificates


@settings(max_examples=80)
@given(asked=questions)
def test_every_certificate_of_the_engine_is_confirmed(asked):
    certificate, problem = asked.certificate(), asked.problem
    verdict = check(
        certificate,
        asked.model,
        schema=problem.action_set.schema,
        cost=problem.cost,
        x=asked.x,
        target=problem.target,
        wanted=asked.model.classes_[problem.wanted],
    )
    assert verdict.status is certificate.status is asked.result.status[problem.target]
    assert (verdict.status is Status.INFEASIBLE) == (not asked.meets.any())
    assert (verdict.status is Status.ALREADY_MET) == (asked.least == 0)
    assert certificate.lower_bound == pytest.approx(asked.least, abs=1e-9)
    assert sum(verdict.leaves.values()) == len(read(certificate.proof))
    assert str(verdict).startswith(verdict.status.sentence)


@settings(max_examples=10, suppress_health_check=list(HealthCheck))  # few are left unproved
@given(asked=limited)
def test_an_answer_within_its_gap_is_confirmed_as_feasible(asked):
    status = asked.result.status[asked.problem.target]
    assume(status is Status.FEASIBLE)
    certificate = asked.certificate()
    assert check(certificate, asked.model).status is Status.FEASIBLE
    assert certificate.lower_bound <= asked.least * (1 + 1e-9)
    if certificate.lower_bound < certificate.answer.cost * (1 - 1e-6):
        refused(replace(certificate, status=Status.OPTIMAL), asked.model, "says optimal, but")


def test_every_status_and_every_reason_occurs():
    statuses, leaves = Counter(), {link: Counter() for link in (*LINKS, "points")}
    for seed, link, wanted in itertools.product(range(4), leaves, (0, 1)):
        for rank, limits in ((0.5, {}), (0.95, {}), (1.0, {}), (0.95, {"gap": 0.5})):
            calibration = "sigmoid" if seed % 2 else None
            for relations in (False, True):
                mode = "band" if relations and rank == 0.5 else "at_least"
                limits |= {"points": link == "points"}
                asked = ask(seed, "l2", mode, link, calibration, wanted, relations, rank, **limits)
                verdict = check(asked.certificate(), asked.model)
                statuses[verdict.status] += 1
                leaves[link].update(verdict.leaves)
    for status in (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE, Status.ALREADY_MET):
        assert statuses[status] > 0, statuses
    for link, reason in itertools.product(leaves, ("cost", "confidence", "priced", "relation")):
        assert leaves[link][reason] > 0, (link, reason, leaves)
    assert sum(each["point"] for each in leaves.values()) > 0, leaves  # these are rare


def test_the_engine_rests_on_the_budget_and_the_checker_knows_it(monkeypatch):
    """A checker that did not know of it would refuse honest certificates."""
    certificates = [
        (asked.certificate(), asked.model)
        for seed, wanted, link in itertools.product(range(4), (0, 1), LINKS)
        for rank in (0.6, 0.8, 0.9, 0.97)
        for asked in [ask(seed, "l2", wanted=wanted, link=link, rank=rank)]
    ]
    assert all(_confirmed(*each) for each in certificates)
    monkeypatch.setattr(checker, "PARTS", 1)
    monkeypatch.setattr(lagrangian, "EFFORTS", lagrangian.EFFORTS[:1])
    assert sum(not _confirmed(*each) for each in certificates) > 0


def test_a_box_that_is_left_is_looked_at_in_parts(monkeypatch):
    """So one priced leaf for all there is may do, if it is true and the box is small."""
    parts = Counter()
    for seed, wanted in itertools.product(range(4), (0, 1)):
        asked = ask(seed, "l1", wanted=wanted, rank=0.9)
        certificate = asked.certificate()
        whole = Proof(certificate.proof.candidates, [-1 - PRICED], [0], [1.0])
        for many in (1, 32):
            monkeypatch.setattr(checker, "PARTS", many)
            parts[many] += _confirmed(replace(certificate, proof=whole), asked.model)
    assert parts[1] < parts[32], parts


# ---------------------------------------------------------------- proofs that come with the answer


hows = st.sampled_from([{}, {"gap": 0.3}, {"n_options": 3}, {"n_options": 2, "min_distance": 0.1}])


@settings(max_examples=60)
@given(kind=st.fixed_dictionaries(each), how=hows, limit=st.none() | st.integers(1, 12))
def test_a_proof_comes_with_the_same_answer(kind, how, limit):
    kind = {name: value for name, value in kind.items() if name != "certify"}
    plain, certified = (ask(**kind, **how, node_limit=limit, certify=c) for c in (False, True))
    a, b = plain.result, certified.result
    pd.testing.assert_frame_equal(a.to_frame(), b.to_frame(), check_exact=True)
    assert (a.status, a.nodes) == (b.status, b.nodes)
    (target,) = b.status
    assert (target in b.proofs) == (b.status[target] is not Status.NOT_FOUND)
    if target in b.proofs:
        certificate = b.certificate()
        assert certificate is b.proofs[target]
        assert check(certificate, plain.model, x=plain.x).status is a.status[target]
        assert certificate.lower_bound == a.certificate().lower_bound


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("how", [{"rank": 0.9}, {"rank": 1.0}, {"rank": 0.9, "gap": 0.5}])
def test_a_proof_ends_at_its_time_limit_with_what_to_do_and_is_the_same_within_one(how, points):
    result = ask(3, points=points, **how).result
    with pytest.raises(TimeoutError, match=r"given time_limit=1e-09, .*; give more, or None"):
        result.certificate(time_limit=1e-9)
    whole = result.certificate()
    assert result.certificate(time_limit=600.0).to_json() == whole.to_json()
    for limit in (0, -1, math.nan, "1"):
        with pytest.raises(ValueError, match="time_limit=.*; expected a number above 0"):
            result.certificate(time_limit=limit)


def test_a_time_limit_ends_the_search_of_a_proof_and_its_shortening(monkeypatch):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(500, 6)), columns=list("abcdef"))
    y = (X["a"] * X["b"] + X["c"] + rng.normal(size=500) > 0).astype(int)
    trees = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X, y)
    recourse = Recourse(trees, Schema.infer(X, guard=False))
    least = int(recourse.confidences(recourse.schema.encode(X)).argmin())
    result = recourse.find(X.iloc[least], 0.8)
    assert result.certificate(time_limit=600.0).proof.functions
    seconds = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    for place, name in ((branch_and_bound.BranchAndBound, "prove"), (prove, "_shared")):
        before = getattr(place, name)

        def late(*given, before=before):
            seconds[0] += 2.0
            return before(*given)

        with monkeypatch.context() as during:
            during.setattr(place, name, late)
            result.certificate(time_limit=3.0)
            with pytest.raises(TimeoutError, match="given time_limit=1,"):
                result.certificate(time_limit=1.0)


def test_what_was_certified_is_not_searched_for_again(monkeypatch):
    kinds = [{"rank": 0.9}, {"rank": 1.0}, {"rank": 0.0}, {"rank": 0.9, "gap": 0.5}]
    certified = [ask(3, points=p, **how, certify=True) for p in (False, True) for how in kinds]
    assert {status for asked in certified for status in asked.result.status.values()} == {
        Status.OPTIMAL, Status.INFEASIBLE, Status.ALREADY_MET, Status.FEASIBLE,
    }  # fmt: skip
    searched = ask(3).result

    def never(*_):
        raise AssertionError("it was searched for again")

    monkeypatch.setattr(branch_and_bound.BranchAndBound, "_run", never)
    for asked in certified:
        check(asked.certificate(), asked.model)
    with pytest.raises(AssertionError, match="searched for again"):
        searched.certificate()


def test_nothing_is_proved_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(Exact, "proof", lambda *_: pytest.fail("it was"))
    assert ask(1).result.proofs == {}


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"min_radius": 0.05}, "no proof covers a plausibility test, min_radius or survives"),
        ({"plausible": lambda rows: [True] * len(rows)}, "no proof covers a plausibility test"),
        ({"engine": "spheres"}, "the engine spheres proves nothing"),
    ],
)
def test_what_no_certificate_covers_is_refused_before_any_search(monkeypatch, how, match):
    asked = ask(1)
    monkeypatch.setattr(branch_and_bound.BranchAndBound, "_run", lambda _: pytest.fail("searched"))
    with pytest.raises(ValueError, match=f"certify=True: there would be no certificate: {match}"):
        asked.recourse.find(asked.x, 0.9, certify=True, **how)


# ---------------------------------------------------------------- models that nobody can read


class Own:
    """A model on cells, of no family that has a reader."""

    def __init__(self, model):
        self.model, self.schema_, self.classes_ = model, model.schema_, model.classes_
        self.fingerprint_, self.asked_for = model.fingerprint_, 0

    def predict_proba(self, X):
        return self.model.predict_proba(X)

    def score_of(self, wanted):
        self.asked_for += 1
        return self.model.score_of(wanted)


def test_a_model_without_a_reader_is_told_before_any_search():
    model, X, _ = made(1)
    own, said = Own(model), "the checker has no reader for Own; it reads sums of points, "
    recourse = Recourse(own, model.schema_)
    before = own.asked_for
    with pytest.raises(ValueError, match=f"certify=True: .*{said}"):
        recourse.find(X.iloc[0], 0.6, certify=True)
    assert own.asked_for == before
    result = recourse.find(X.iloc[0], 0.6)
    with pytest.raises(ValueError, match=f"no certificate for this answer: {said}"):
        result.certificate()
    told = " ".join(evidence(result, verify=True, pictures=False).text().split())
    assert "no certificate for this answer: the checker has no reader for Own" in told
    refused(ask(1).certificate(), own, said)


@pytest.mark.parametrize("kind", [{}, {"points": True}])
def test_predictions_that_are_not_those_of_the_numbers_are_refused(monkeypatch, kind):
    asked = ask(1, **kind)
    certificate, honest = asked.certificate(), type(asked.model).predict_proba
    assert check(certificate, asked.model).status is Status.OPTIMAL
    other = lambda self, X: honest(self, X) * [1 - 1e-7, 1 + 1e-7]  # noqa: E731
    monkeypatch.setattr(type(asked.model), "predict_proba", other)
    refused(certificate, asked.model, "predictions are not those of the numbers it holds")


@pytest.mark.parametrize(
    ("name", "value"),
    [("points", -1), ("points", [math.nan]), ("edges", [math.inf]), ("base", math.nan)],
)
def test_a_card_that_makes_no_sense_is_refused(name, value):
    asked = ask(1, points=True)
    broken = copy.copy(asked.model)
    if name == "base":
        broken.base = value
    elif name == "edges":
        broken.grid = Grid(broken.schema_, (np.array(value), *broken.grid.edges[1:]))
    else:
        last = broken.points[0][:value] if value == -1 else np.append(broken.points[0][:-1], value)
        broken.points = (last, *broken.points[1:])
    certificate = replace(asked.certificate(), fingerprint=broken.fingerprint_)
    refused(certificate, broken, "the model's (points of 'rate' are not|base is nan)")


def _confirmed(certificate, model):
    try:
        return bool(check(certificate, model))
    except CertificateError:
        return False


@law
@given(asked=questions)
def test_a_file_holds_the_whole_certificate(asked, tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "certificate.json"
    certificate = asked.certificate()
    certificate.save(path)
    again = Certificate.load(path)
    assert again.to_dict() == certificate.to_dict()
    assert check(path, asked.model) == check(certificate, asked.model)
    assert trust_recourse.verify(str(path), asked.model, x=asked.x) == check(again, asked.model)
    with pytest.raises(
        trust_recourse.CertificateError, match="target, confidence is .*, not 0.123"
    ):
        check(path, asked.model, target=Target(0.123))
    json.loads(path.read_text(), parse_constant=lambda _: pytest.fail("not JSON"))
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


# ---------------------------------------------------------------- false ones


@dataclass(eq=False)
class Prover:
    """Cuts boxes in halves until each is discarded, or is a point that cannot be."""

    asked: Asked
    bound: float

    def __post_init__(self):
        problem, proof = self.asked.problem, self.asked.certificate().proof
        self.codes = proof.candidates
        reader = readers.read(self.asked.model, problem.wanted)
        costs, cells = [], []
        for f, feature in enumerate(problem.action_set.schema):
            own, codes = problem.action_set.own[f], self.codes[f]
            costs += [problem.cost.change(feature, own, code) for code in codes]
            cells.append(reader.cells(f, feature, codes))
        self.boxes = PricedCandidates(reader, tuple(cells), np.array(costs))
        sizes = self.boxes.sizes
        self.nodes = []
        self.unproved = []
        self.session(np.zeros(len(sizes), int), sizes - 1)

    def session(self, first, last):
        ends = first[None], last[None]
        least, most = self.asked.problem.target.interval
        (low,), (high,) = self.boxes.confidence(*ends)
        reason = None
        if self.boxes.cheapest(*ends)[0] >= self.asked.added(self.bound) * (1 - 1e-10):
            reason = COST
        elif high < least or low > most:
            reason = CONFIDENCE
        elif (first == last).all():
            reason = POINT
            row = np.array([codes[i] for codes, i in zip(self.codes, first, strict=True)])
            if meets(self.asked, row):
                self.unproved.append(len(self.nodes))
        if reason is not None:
            self.nodes.append((-1 - reason, 0, 0.0))
            return
        f = int(np.argmax(last - first))
        cut = int(first[f] + last[f]) // 2
        self.nodes.append((f, cut, 0.0))
        left, right = last.copy(), first.copy()
        left[f], right[f] = cut, cut + 1
        self.session(first, left)
        self.session(right, last)

    def proof(self, reason, price):
        """With a pretext for what is not proved."""
        feature, cut, prices = map(np.array, zip(*self.nodes, strict=True))
        feature[self.unproved], prices[self.unproved] = -1 - reason, price
        return Proof(self.codes, feature, cut, prices)


def meets(asked, row):
    problem = asked.problem
    p = asked.recourse.confidence_of(row)
    return problem.target.met(p) and problem.action_set.allows(row)


@law
@given(asked=questions, raised=st.floats(1e-6, 2), endless=st.booleans())
def test_no_proof_of_too_high_a_lower_bound_is_confirmed(asked, raised, endless):
    """Each point that speaks against it is discarded on a pretext: none of them passes."""
    assume(asked.meets.any())
    bound = math.inf if endless else asked.least * (1 + raised) + 1e-6
    assume(endless or bound <= asked.costs[asked.meets].max())
    proved = Prover(asked, bound)
    assert len(proved.unproved) > 0
    pretexts = [(reason, 0.0) for reason in range(len(REASONS)) if reason != PRICED]
    for reason, price in [
        *pretexts,
        *((PRICED, price) for price in (1e-6, 0.01, 1.0, 1e6, math.inf)),
    ]:
        certificate = asked.any_answer(bound, proved.proof(reason, price))
        if endless:
            certificate = replace(certificate, status=Status.INFEASIBLE, answer=None)
        refused(certificate, asked.model, f"leaf {proved.unproved[0]}: .* cannot be discarded")


@law
@given(asked=questions, raised=st.floats(1e-6, 2), price=st.sampled_from([1e-3, 1.0, math.inf]))
def test_the_engines_own_tree_proves_no_more_than_is_true(asked, raised, price):
    """Nor does one box for all that is priced."""
    assume(asked.meets.any())
    bound = asked.least * (1 + raised) + 1e-6
    proof = asked.certificate().proof
    whole = Proof(proof.candidates, [-1 - PRICED], [0], [price])
    if bound <= asked.costs[asked.meets].max():
        refused(asked.any_answer(bound, proof), asked.model, "cannot be discarded")
        refused(asked.any_answer(bound, whole), asked.model, "leaf 0: .* cannot be discarded")
    for tree_ in (proof, whole):
        endless = replace(asked.any_answer(math.inf, tree_), status=Status.INFEASIBLE, answer=None)
        refused(endless, asked.model, "cannot be discarded")


@law
@given(asked=questions, data=st.data())
def test_a_leaf_with_an_untrue_reason_is_refused(asked, data):
    certificate = asked.certificate()
    untrue = [
        (node, reason)
        for node, _, first, last in read(certificate.proof)
        for reason in (COST, CONFIDENCE, RELATION, POINT)
        if not reason_is_true(asked, certificate, reason, first, last)
    ]
    assume(untrue)
    node, reason = data.draw(st.sampled_from(untrue))
    assume(certificate.proof.feature[node] != -1 - reason)
    proof = changed(certificate.proof, node, feature=-1 - reason, price=0.0)
    refused(replace(certificate, proof=proof), asked.model, f"leaf {node}: .* cannot be discarded")


def reason_is_true(asked, certificate, reason, first, last):
    """By looking at every point of the box."""
    codes, problem = certificate.proof.candidates, asked.problem
    ranges = [of[a : b + 1] for of, a, b in zip(codes, first, last, strict=True)]
    points = np.array(list(itertools.product(*ranges)))
    features, own = problem.action_set.schema.features, problem.action_set.own
    costs = np.array([problem.cost.between(features, own, row) for row in points])
    if reason == COST:
        return costs.min() >= asked.least * (1 - 1e-9)
    if reason == CONFIDENCE:
        return not any(map(problem.target.met, asked.recourse.confidences(points)))
    if reason == RELATION:
        return not all(
            any(kept(relation, problem, row) for row in points)
            for relation in problem.action_set.relations
        )
    if reason == PRICED:
        cheaper = points[costs < asked.least * (1 - 1e-9)]
        return not any(map(problem.target.met, asked.recourse.confidences(cheaper)))
    return len(points) == 1 and not meets(asked, points[0])


def kept(relation, problem, row):
    at = [problem.action_set.schema.position(name) for name in (relation.a, relation.b)]
    own, pair = tuple(problem.action_set.own[at]), tuple(row[at])
    return pair == own or relation.holds(own, pair)


def changed(proof, node, **entries):
    arrays = {name: getattr(proof, name).copy() for name in ("feature", "cut", "price")}
    before = {name: array[node] for name, array in arrays.items()}
    for name, value in entries.items():
        arrays[name][node] = value
    assert any(arrays[name][node] != before[name] for name in before)
    return Proof(proof.candidates, **arrays)


@law
@given(asked=questions, data=st.data())
def test_only_one_complete_tree_is_a_proof(asked, data):
    certificate = asked.certificate()
    proof, model = certificate.proof, asked.model
    parts = (proof.feature, proof.cut, proof.price)
    size = len(proof.feature)

    def refuse(proof, match):
        refused(replace(certificate, proof=proof), model, match)

    kept = data.draw(st.integers(0, size - 1))
    refuse(Proof(proof.candidates, *(p[:kept] for p in parts)), "cut short")
    more = (np.append(p, p[-1]) for p in parts)
    refuse(Proof(proof.candidates, *more), f"node {size}: the tree is complete before it")
    node = data.draw(st.integers(0, size - 1))
    refuse(changed(proof, node, feature=-1 - len(REASONS)), ".")
    refuse(changed(proof, node, price=math.nan), "together mean nothing")
    for f in (len(proof.candidates), 10**9):
        at = changed(proof, node, feature=f, price=0.0)
        refuse(at, f"node {node}: it cannot cut feature {f}")
    inner = np.flatnonzero(proof.feature >= 0)
    if len(inner):
        node = int(data.draw(st.sampled_from(inner.tolist())))
        for cut in (-1, len(proof.candidates[proof.feature[node]]) - 1, 10**9):
            refuse(changed(proof, node, cut=cut), f"node {node}: it cannot cut")
    leaf = int(data.draw(st.sampled_from(np.flatnonzero(proof.feature < 0).tolist())))
    refuse(changed(proof, leaf, cut=1), f"node {leaf}: .* mean nothing")
    refuse(changed(proof, leaf, feature=-1 - PRICED, price=-1.0), f"node {leaf}: .* mean nothing")
    refuse(changed(proof, leaf, feature=-1 - PRICED, price=0.0), f"node {leaf}: .* mean nothing")


@law
@given(asked=questions, data=st.data())
def test_another_cut_or_feature_that_makes_a_reason_untrue_is_refused(asked, data):
    certificate = asked.certificate()
    proof = certificate.proof
    others = []
    for node in np.flatnonzero(proof.feature >= 0).tolist():
        f, cut = int(proof.feature[node]), int(proof.cut[node])
        others += [(node, f, cut - 1), (node, f, cut + 1), (node, (f + 1) % 4, cut)]
    untrue = []
    for node, f, cut in others:
        other = changed(proof, node, feature=f, cut=cut)
        leaves = read(other)
        if leaves is None or not all(
            reason_is_true(asked, certificate, *leaf[1:]) for leaf in leaves
        ):
            untrue.append(other)
    assume(untrue)
    refused(replace(certificate, proof=data.draw(st.sampled_from(untrue))), asked.model)


def read(proof):
    """Node, reason, first and last of every leaf; None if the nodes are not one complete tree."""
    stack, leaves = [[(0, len(codes) - 1) for codes in proof.candidates]], []
    for node, (f, cut) in enumerate(zip(proof.feature.tolist(), proof.cut.tolist(), strict=True)):
        if not stack:
            return None
        box = stack.pop()
        if f < 0:
            leaves.append((node, -1 - f, *np.array(box).T))
            continue
        first, last = box[f]
        if not first <= cut < last:
            return None
        halves = (cut + 1, last), (first, cut)
        stack += [[*box[:f], half, *box[f + 1 :]] for half in halves]
    return None if stack else leaves


@law
@given(asked=questions, data=st.data())
def test_too_few_candidates_are_refused(asked, data):
    certificate = asked.certificate()
    proof = certificate.proof
    f = data.draw(st.integers(0, len(proof.candidates) - 1))
    at = data.draw(st.integers(0, len(proof.candidates[f]) - 1))

    def refuse(codes, match):
        each = (*proof.candidates[:f], np.array(codes), *proof.candidates[f + 1 :])
        other = Proof(each, proof.feature, proof.cut, proof.price)
        refused(replace(certificate, proof=other), asked.model, match)

    problem, reader = asked.problem, readers.read(asked.model, asked.problem.wanted)
    feature, actions = problem.action_set.schema[f], problem.action_set.actions[f]
    cost, goal, cells = problem.cost, certificate.lower_bound, partial(reader.cells, f, feature)
    chosen, others = proof.candidates[f][at], np.delete(proof.candidates[f], at)
    paid = cost.change(feature, actions.own, chosen)
    enough = 0.999 * (goal * goal if cost.root else goal)  # what costs more need not be served
    needed = goal > 0 and (paid < enough or chosen == actions.own)
    order = reader.order(f) if problem.target.mode == "at_least" else None
    if order is not None:  # nor what another stands for, with no less score for no more
        as_good = others[order[cells(others)] >= order[cells(np.array([chosen]))]]
        needed &= all(cost.change(feature, actions.own, value) > paid for value in as_good)
    if needed:
        refuse(others, "own value is no candidate|serves in its place")
    refuse([*proof.candidates[f], 77.25], "77.25 is not allowed|expected at most|out of order")
    refuse([*proof.candidates[f], proof.candidates[f][at]], "given more than once")
    for value in actions.values():
        same_cell = (cells(np.array([value])) == cells(np.array([chosen]))).all()
        dearer = cost.change(feature, actions.own, value) > paid
        if needed and same_cell and dearer and value not in proof.candidates[f]:
            codes = np.where(proof.candidates[f] == chosen, value, proof.candidates[f])
            refuse(codes, "own value is no candidate|serves in its place")


@law
@given(asked=questions, data=st.data())
def test_an_answer_is_believed_in_nothing(asked, data):
    certificate = asked.certificate()
    answer, model = certificate.answer, asked.model
    assume(answer is not None)

    def refuse(match, **entries):
        refused(replace(certificate, **entries), model, match)

    said = (answer.codes, answer.cost, answer.confidence)
    if answer.cost > 0:
        refuse("costs", answer=Point(said[0], answer.cost * 0.999, said[2]))
        refuse("changes something", status=Status.ALREADY_MET)
    refuse("confidence in its answer", answer=Point(*said[:2], answer.confidence + 1e-6))
    refuse("no answer", answer=None)
    refuse("has an answer or a finite", status=Status.INFEASIBLE)
    refuse("nothing that can be proved", status=Status.NOT_FOUND)
    refuse("above its cost", lower_bound=answer.cost + 1e-6)
    refuse("above its cost", lower_bound=math.inf)
    for bound in (math.nan, -math.inf, -1e-9):
        refuse("expected a number from 0 up", lower_bound=bound)
    refuse("values, the schema", answer=Point(said[0][:-1], *said[1:]))
    refuse("not allowed", answer=Point(np.append(said[0][:-1], 77.25), *said[1:]))
    misses = np.flatnonzero(~asked.meets)
    if len(misses):
        i = data.draw(st.sampled_from(misses.tolist()))
        other = Point(asked.rows[i], asked.costs[i], asked.p[i])
        refuse("short of Target", answer=other)
        refuse("confidence in its answer|costs", answer=Point(asked.rows[i], *said[1:]))


def test_an_infeasible_claim_with_a_finite_bound_or_a_leaf_of_cost_is_refused():
    asked = ask(1, rank=1.0)
    certificate = asked.certificate()
    assert certificate.status is Status.INFEASIBLE
    refused(replace(certificate, lower_bound=1e9), asked.model, "finite lower bound")
    node = read(certificate.proof)[0][0]
    proof = changed(certificate.proof, node, feature=-1 - COST, price=0.0)
    refused(replace(certificate, proof=proof), asked.model, f"leaf {node}: it may cost only")


def test_another_question_is_refused():
    asked = ask(1)
    certificate = asked.certificate()
    model, problem = asked.model, asked.problem
    schema = problem.action_set.schema
    refused(replace(certificate, fingerprint="0" * 64), model, "about the model 000000000000…")
    refused(certificate, machine(6)[0], "it is about the model")
    another = "it answers another question: "
    more = {**asked.x, "count": asked.x["count"] + 1}
    refused(certificate, model, f"{another}person, count is .*, not {more['count']}", x=more)
    refused(certificate, model, f"{another}target, conf.*, not 0.123", target=Target(0.123))
    refused(certificate, model, "its wanted class is .*1.*, not 0", wanted=0)
    refused(certificate, model, f"{another}cost, l1 is 0.0, not 1.0", cost=Cost.named("l1"))
    other = schema.update("count", weight=7.0)
    refused(certificate, model, f"{another}count, weight is .*, not 7.0$", schema=other)
    renamed = Schema(tuple(replace(f, name=f.name + "s") for f in schema))
    moved = Problem(renamed.action_set_of(problem.action_set.own), *_rest(problem))
    refused(replace(certificate, problem=moved), model, "reads values otherwise")
    higher = replace(problem, target=Target(certificate.answer.confidence + 1e-6))
    refused(replace(certificate, problem=higher), model, "short of Target")
    narrower = problem.action_set.schema.lock(*schema.names).action_set_of(problem.action_set.own)
    refused(replace(certificate, problem=Problem(narrower, *_rest(problem))), model, "not allowed")
    few = replace(certificate.proof, candidates=certificate.proof.candidates[:-1])
    refused(replace(certificate, proof=few), model, "candidates for 3 features")


def _rest(problem):
    return problem.target, problem.cost, problem.wanted


# ---------------------------------------------------------------- the question


def test_both_sides_compute_the_same_fingerprint_of_a_question(tmp_path):
    asked = ask(1)
    certificate, model = asked.certificate(), asked.model
    certificate.save(tmp_path / "proof.json")
    again = Certificate.load(tmp_path / "proof.json")
    ours = fingerprints.asked(asked.problem, model.fingerprint_)
    assert fingerprints.fingerprint(ours) == certificate.question == again.question
    assert check(again, model, x=asked.x).question == certificate.question
    told = json.loads((tmp_path / "proof.json").read_text())
    assert told["question"] == certificate.question
    # by the definition in the docs, with nothing of the project's
    text = json.dumps(certificate.asked, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == certificate.question


def test_the_fingerprint_is_of_what_is_asked_however_it_is_written():
    asked = ask(1)
    problem, model = asked.problem, asked.model.fingerprint_
    schema, own = problem.action_set.schema, problem.action_set.own

    def of(problem, model=model):
        return fingerprints.fingerprint(fingerprints.asked(problem, model))

    def by(schema, own=own):
        return replace(problem, action_set=schema.action_set_of(own))

    alike = [
        by(schema, -(0.0 - own)),  # 0 as -0
        by(Schema.from_dict(json.loads(json.dumps(schema.to_dict())))),
        replace(problem, cost=Cost(l0=0, l1=0, l2=1, root=True)),
        replace(problem, target=replace(problem.target, tolerance=0.3)),  # means nothing here
    ]
    assert {of(each) for each in alike} == {of(problem)}
    band = replace(problem.target, mode="band")
    others = [
        replace(problem, wanted=0),
        replace(problem, target=Target(0.7)),
        replace(problem, target=band),
        replace(problem, target=replace(band, tolerance=0.3)),
        *(replace(problem, cost=Cost(**cost)) for cost in COSTS),
        *(by(schema.update("count", **change)) for change in CHANGES),
        by(schema.relate("rate <= count")),
        by(schema, np.append(own[:-1], 1 - own[-1])),
    ]
    found = [of(problem), of(problem, "0" * 64), *map(of, others)]
    assert len(set(found)) == len(found)


COSTS = [
    {"l2": 1.0}, {"l1": 1.0}, {"l0": 1.0}, {"l0": 1.0, "root": True}, {"l2": 2.0, "root": True},
    {"l1": 1.0, "functions": {"count": lambda a, b: abs(a - b)}},
]  # fmt: skip
CHANGES = [
    {"weight": 7.0}, {"scale": 7.0}, {"lower": 1}, {"upper": 9}, {"step": 2}, {"max_change": 3},
    {"direction": "decrease"}, {"mutable": False}, {"protected": True}, {"label": "Number"},
    {"unit": "m"},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_difference_in_any_rule_is_refused_and_named(change):
    asked = ask(1)
    schema = asked.problem.action_set.schema.update("count", **change)
    ((field, value),) = change.items()
    value = float(value) if type(value) is int else value
    said = f"another question: count, {field} is .*, not {value!r}$"
    refused(asked.certificate(), asked.model, said, schema=schema)


def test_a_proof_is_read_in_the_verifiers_names_and_never_in_its_own():
    """Swapped labels made a proof read as that of another question."""
    asked = ask(1)
    schema = asked.problem.action_set.schema
    swapped = schema.update("rate", label="count", unit="per year").update("count", label="rate")
    action_set = swapped.action_set_of(asked.problem.action_set.own)
    forged = replace(asked.certificate(), problem=replace(asked.problem, action_set=action_set))
    told = check(forged, asked.model).problem.action_set.schema
    assert [(f.title, f.unit) for f in told] == [(f.title, f.unit) for f in asked.model.schema_]
    own = schema.update("rate", label="interest", unit="%")
    honest = replace(
        forged,
        problem=replace(asked.problem, action_set=own.action_set_of(asked.problem.action_set.own)),
    )
    assert check(honest, asked.model, schema=own).problem.action_set.schema == own
    dearer = replace(forged, answer=replace(forged.answer, codes=np.full(4, 77.0)))
    refused(dearer, asked.model, "not allowed: rate (may only|must not)")
    other = Schema(tuple(replace(f, name=f"{f.name}s") for f in own))
    where = f"the schema given reads values otherwise .*: column 1 is '{own.names[0]}s' there"
    refused(honest, asked.model, f"{where}, and '{own.names[0]}' in the model", schema=other)
    fewer = Schema(own.features[:-1])
    refused(honest, asked.model, "column 4 is none there, and '", schema=fewer)
    first = own.names[0]
    kind = Schema((replace(own[0], missing=(-7.0,)), *own.features[1:]))
    refused(honest, asked.model, f"missing of '{first}' is -7.0 there, and none in", schema=kind)


def test_values_are_written_as_the_model_has_them():
    """1 equals true, but it is another word."""
    schema = Schema((Feature("home", "category", values=(False, True)), Feature("sum", upper=3)))
    X = pd.DataFrame({"home": np.arange(20) % 2 == 0, "sum": np.arange(20) % 3})
    model = paper_machine(4, 4, T=2, epochs=1, schema=schema, random_state=0).fit(X, X["home"])
    told = Recourse(model).find(X.iloc[1], 0.01).certificate().to_dict()
    told["schema"]["features"][0]["values"] = [0, 1]
    told = mutations.asked_again(told)
    action_set = check(Certificate.from_dict(told), model).problem.action_set
    assert repr(action_set).startswith("home: False, may be False, True\n")


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (Cost(l2=1, root=True), "L2"),
        (Cost(l0=1, root=True), "√(L0)"),
        (Cost(l1=2, root=True), "√(2 L1)"),
        (Cost(l0=0.1, l2=1, root=True), "√(0.1 L0 + L2²)"),
        (Cost(l2=1), "L2²"),
        (Cost(l0=1, l1=1.0000001, l2=3), "L0 + 1.0000001 L1 + 3 L2²"),
    ],
)
def test_a_cost_is_said_as_it_is(cost, words):
    assert cost.words == words


def test_a_certificate_of_format_1_kept_for_good():
    data = Path(__file__).parents[1] / "data"
    model = trust_recourse.load(data / "format-1.safetensors")
    person = json.loads((data / "format-1.json").read_text())["rows"][0]
    schema = model.schema_.update("income", direction="increase", label="Income")
    verdict = check(
        data / "certificate-1.json",
        model,
        x=person,
        schema=schema.relate("children <= score"),
        cost=Cost.named({"l0": 0.1, "l1": 1.0}),
        target=Target(0.9),
        wanted="yes",
    )
    assert verdict.status is Status.OPTIMAL
    told = json.loads((data / "certificate-1.json").read_text())
    assert told["format"] == 1
    assert Certificate.from_dict(told).to_dict() == told


# ---------------------------------------------------------------- numbers beyond all floats


def whoever_changes_pays(codes, own):
    """A proof that all but the person's own row costs too much, and that row misses the target."""

    def session(f):
        if f == len(codes):
            return [(-1 - POINT, 0)]
        at, leaf = int(np.flatnonzero(codes[f] == own[f])[0]), (-1 - COST, 0)
        found = session(f + 1)
        if at < len(codes[f]) - 1:
            found = [(f, at), *found, leaf]
        return [(f, at - 1), leaf, *found] if at else found

    nodes = session(0)
    return Proof(codes, *zip(*nodes, strict=True), np.zeros(len(nodes)))


@pytest.mark.parametrize(
    ("change", "cost"),
    [
        ({"weight": 1e200}, Cost.named("l2")),
        ({"weight": 1e155}, Cost(l2=1.0)),
        ({"weight": 1e200, "scale": 1e-200}, Cost.named("l1")),
        ({"weight": 1e308}, Cost(l0=2.0)),
    ],
)
def test_no_cost_that_overflows_proves_that_nothing_is_within_reach(change, cost):
    """∞ ≥ ∞ was believed."""
    asked = ask(1, "l1", rank=0.9)
    assert asked.meets.any()
    assert asked.least > 0
    schema = asked.problem.action_set.schema
    for feature in schema:
        schema = schema.update(feature.name, **change)
    action_set = schema.action_set_of(asked.problem.action_set.own)
    problem = replace(asked.problem, action_set=action_set, cost=cost)
    proof = whoever_changes_pays(asked.certificate().proof.candidates, action_set.own)
    nothing = {"status": Status.INFEASIBLE, "answer": None, "lower_bound": math.inf}
    forged = replace(asked.certificate(), problem=problem, proof=proof, **nothing)
    refused(forged, asked.model, "cost")
    plain = replace(asked.certificate(), proof=proof, **nothing)  # finite costs were never enough
    refused(plain, asked.model, "it may cost only")


def test_a_cost_leaf_never_proves_against_infinity():
    """Nor where a sum of finite costs would overflow."""
    asked = ask(1, "l1")
    case = checker.case_of(asked.certificate(), asked.problem, asked.model)
    ends = np.zeros((1, 4), np.int64), case.candidates.sizes[None] - 1
    costly = replace(case.candidates, costs=np.full_like(case.candidates.costs, math.inf))
    endless = replace(case, asked=[(costly, 0.5)], goal=math.inf)
    none = np.array([0])
    true, _ = checker._by_cost(endless, cover.Boxes(none, *ends, np.array([0.0]), none))
    assert not true.any()


# ---------------------------------------------------------------- mutations


ARRAYS = {(name,) for name in ("candidates", "feature", "cut", "price")}
KINDS = [
    {"link": "margin"},
    {"link": "margin", "wanted": 0, "cost": "l1", "rank": 1.0},
    {"link": "vote", "calibration": "sigmoid", "relations": True},
    {"link": "vote", "wanted": 0, "mode": "band", "cost": {"l0": 0.2, "l1": 1.0, "l2": 0.5}},
    {"link": "margin", "calibration": "isotonic", "mode": "band", "relations": True, "person": 1},
    {"link": "margin", "gaps": True, "cost": "l0"},
    {"link": "vote", "gaps": True, "relations": True, "wanted": 0, "calibration": "isotonic"},
    {"link": "logistic"},
    {"link": "logistic", "gaps": True, "wanted": 0, "mode": "band", "calibration": "sigmoid"},
    {"link": "logistic", "relations": True, "cost": "l1", "rank": 1.0, "calibration": "isotonic"},
    {"points": True},
    {"points": True, "wanted": 0, "cost": "l1", "rank": 1.0, "certify": True},
    {"points": True, "relations": True, "mode": "band", "certify": True},
    {"points": True, "gaps": True, "relations": True, "wanted": 0, "cost": "l0"},
]


@pytest.mark.slow
def test_no_mutated_certificate_is_believed_in_what_is_false():
    """What it claims of its own question is judged by enumeration; each must be refused or true."""
    fates = Counter()
    for kind, seed in itertools.product(KINDS, range(2)):
        asked = ask(seed, **kind)
        honest = asked.certificate().to_dict()
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        for _ in range(80):
            forged = mutations.mutated(rng, honest)
            try:
                certificate = Certificate.from_dict(forged)
            except CertificateError:
                fates["unread"] += 1
                continue
            true = is_true(certificate, asked.model)
            believed = _confirmed(certificate, asked.model)
            assert true or not believed, forged
            fates[true, believed] += 1
    assert fates[False, False] > 200, fates  # false and refused
    assert fates[True, True] > 100, fates  # so it does not refuse all there is


@settings(max_examples=40)
@given(kind=st.fixed_dictionaries(each), what=st.sampled_from(["weights", "intercept", "both"]))
def test_a_certificate_of_other_weights_is_not_believed_in_what_is_false(kind, what):
    asked = ask(**kind | {"link": "logistic", "points": False})
    honest, rng = asked.certificate(), np.random.default_rng(kind["seed"])
    link = asked.model.machine_.link
    other = Logistic(
        link.weights * rng.uniform(0, 3, len(link.weights))
        if what != "intercept"
        else link.weights,
        link.intercept + (rng.normal() if what != "weights" else 0.0),
    )
    changed = copy.copy(asked.model)
    conclude(changed, asked.model.inclusion_, other)
    refused(honest, changed, "it is about the model")
    forged = replace(honest, fingerprint=changed.fingerprint_)
    assert is_true(forged, changed) or not _confirmed(forged, changed)


@pytest.mark.parametrize(
    ("weights", "intercept"),
    [([1.0] * 5, 0.0), ([-1.0] + [1.0] * 5, 0.0), ([math.nan] * 6, 0.0), ([1.0] * 6, math.inf)],
)
def test_weights_that_make_no_sense_are_refused(weights, intercept):
    model, _, _ = machine(0, "logistic")
    conclude(model, model.inclusion_, Logistic(np.array(weights), intercept))
    with pytest.raises(CertificateError, match="weights are not a number of at least 0"):
        readers.read(model, 1)


@settings(max_examples=60)
@given(asked=questions, seed=st.integers(0, 10**6))
def test_no_forgery_of_any_question_is_believed(asked, seed):
    """The same on machines and cards of all kinds."""
    rng, honest = np.random.default_rng(seed), asked.certificate().to_dict()
    for _ in range(8):
        forged = mutations.mutated(rng, honest)
        try:
            certificate = Certificate.from_dict(forged)
        except CertificateError:
            continue
        assert is_true(certificate, asked.model) or not _confirmed(certificate, asked.model), forged


@pytest.mark.parametrize("kind", [1, 2, 5, 8, 12])
def test_nothing_nasty_anywhere_is_more_than_refused(kind):
    """Each part of a certificate in turn is replaced: it is refused, or what it says is true."""
    asked = ask(1, **KINDS[kind])
    honest = asked.certificate().to_dict()
    fates = Counter()
    for place, nasty in itertools.product(mutations.places(honest), mutations.NASTY):
        if place[:1] in ARRAYS and place[1:] not in ((), (0,), (0, 0)):
            continue  # as many as there are leaves, and all alike
        try:
            forged = mutations.asked_again(mutations.put(honest, place, nasty))
            certificate = Certificate.from_dict(forged)
            check(certificate, asked.model)
        except CertificateError:
            fates["refused"] += 1
        else:
            fates["believed"] += 1
            assert is_true(certificate, asked.model), (place, nasty)
    assert fates["refused"] > 10 * fates["believed"] > 0, fates


# ---------------------------------------------------------------- sizes and time


def test_more_candidates_than_a_search_needs_are_refused(monkeypatch):
    """One in each cell; of a related feature all its values."""
    asked = ask(1)
    certificate = asked.certificate()
    schema = asked.problem.action_set.schema.update("rate", step=0.01, direction=None)
    action_set = schema.action_set_of(asked.problem.action_set.own)
    every = (action_set["rate"].values(), *certificate.proof.candidates[1:])
    cells = len(asked.model.thresholds_[0]) + 1
    assert len(every[0]) > cells
    larger = replace(
        certificate,
        problem=replace(asked.problem, action_set=action_set),
        proof=replace(certificate.proof, candidates=every),
    )
    said = f"rate: given {len(every[0])} candidates, expected at most {cells}"
    refused(larger, asked.model, said)
    action_set = schema.relate("rate <= count").action_set_of(action_set.own)
    related = replace(larger, problem=replace(asked.problem, action_set=action_set))
    refused(related, asked.model, "leaf")  # so the candidates are not too many
    monkeypatch.setattr(cover, "MOST_LISTED", cells)
    refused(related, asked.model, f"rate: given {len(every[0])} candidates, .* {cells + 1}$")
    monkeypatch.setattr(checker, "MOST_NUMBERS", 20)
    refused(certificate, asked.model, "candidates of 6 numbers each; expected at most 3")


def test_a_schema_of_more_features_than_any_table_has_is_refused():
    told = ask(1).certificate().to_dict()
    features = [{"name": f"x{i}"} for i in range(10_001)]
    for schema, match in (
        ({"features": features}, "given 10,001 features, expected at most 10,000"),
        ({**told["schema"], "relations": ["a <= b"] * 10_001}, "given 10,001 relations"),
    ):
        with pytest.raises(CertificateError, match=match):
            Certificate.from_dict(told | {"schema": schema})


def test_a_check_is_called_off_within_a_single_leaf():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((200, 20)).round(2)).rename(columns="x{}".format)
    model = paper_machine(200, epochs=1, thresholds=40, random_state=0).fit(X, np.arange(200) % 2)
    shape = model.inclusion_.shape
    conclude(model, rng.random(shape) * (rng.random(shape) < 0.02))
    recourse = Recourse(model, cost="l1")
    p = model.predict_proba(X)[:, 1]
    action_set, goal = (
        recourse.schema.action_set(X.iloc[int(at)]) for at in (p.argmin(), p.argmax())
    )
    cost = recourse.cost.between(recourse.schema.features, action_set.own, goal.own)
    found = candidates(recourse.score.grid, action_set, recourse.cost)
    claim = Certificate(
        model.fingerprint_,
        Problem(action_set, Target(float(p.max()) - 1e-3), recourse.cost),
        Status.FEASIBLE,
        Point(goal.own, cost, float(p.max())),
        cost,
        0,
        Proof(tuple(each.codes for each in found), [-1 - PRICED], [0], [1.0]),
    )
    end = time.monotonic() + 0.2  # it would take seconds
    with pytest.raises(Cancelled), cancellable(lambda: time.monotonic() > end):
        check(claim, model)


# ---------------------------------------------------------------- the checker's own bounds


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    link=st.sampled_from(LINKS),
    wanted=st.sampled_from([0, 1]),
    power=st.sampled_from([1, 4, 20]),
    price=st.sampled_from([1e-3, 0.1, 1.0, 1e3, math.inf]),
    rank=st.floats(0, 1.1),
    share=st.floats(0, 1.2) | st.just(math.inf),
)
def test_bounds_hold_on_random_boxes(seed, link, wanted, power, price, rank, share):
    model, _, rng = arbitrary(seed % 30, link)
    rng = np.random.default_rng(seed)
    inclusion = rng.random(model.inclusion_.shape) ** power
    inclusion[rng.random(inclusion.shape) < 0.1] = 1.0  # factors of 0, logarithms of −∞
    conclude(model, inclusion)
    cells = [rng.permutation(n).astype(np.int32) for n in model.machine_.grid.sizes]
    costs = [rng.random(len(c)) for c in cells]
    reader = readers.read(model, wanted)
    found = PricedCandidates(reader, tuple(cells), np.concatenate(costs))
    first, last = np.sort([rng.integers(0, len(c), 2) for c in cells], axis=1).T[:, None]
    at = np.array(list(itertools.product(*map(range, first[0], last[0] + 1))))
    rows = np.column_stack([c[at[:, f]] for f, c in enumerate(cells)]).astype(np.int32)
    yes = model.machine_.confidence_at(rows)
    p = yes if wanted == 1 else 1.0 - yes
    added = sum(c[at[:, f]] for f, c in enumerate(costs))

    np.testing.assert_allclose(found.cheapest(first, last), added.min())
    (low,), (high,) = found.confidence(first, last)
    assert low <= p.min()
    assert p.max() <= high
    raw = float(np.quantile(p, rank, method="nearest")) if rank <= 1 else p.max() + 0.01
    level = reader.least_score(raw)
    goal = added.min() + share * np.ptp(added) if share < math.inf else math.inf
    (bound,) = found.priced(first, last, np.array([price]), level, goal)
    assert bound <= added[p >= raw].min(initial=math.inf) + 1e-12
    assert added.min() - 1e-12 <= bound <= goal
    fallen = float(np.quantile(p, 1 - min(rank, 1), method="nearest"))
    level = reader.least_turned(fallen)
    back = replace(found, reader=reader.turned())
    (bound,) = back.priced(first, last, np.array([price]), level, goal)
    assert bound <= added[p <= fallen].min() + 1e-12


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    wanted=st.sampled_from([0, 1]),
    price=st.sampled_from([1e-3, 0.1, 1.0, 1e3, math.inf]),
    rank=st.floats(0, 1),
    share=st.floats(0, 1.2) | st.just(math.inf),
)
def test_bounds_of_a_table_of_points_hold_on_random_boxes(seed, wanted, price, rank, share):
    model, _, rng = card(seed, gaps=bool(seed % 2))
    reader = readers.read(model, wanted)
    cells = [rng.permutation(n).astype(np.int32) for n in model.grid.sizes]
    costs = [rng.random(len(c)) for c in cells]
    found = PricedCandidates(reader, tuple(cells), np.concatenate(costs))
    first, last = np.sort([rng.integers(0, len(c), 2) for c in cells], axis=1).T[:, None]
    at = np.array(list(itertools.product(*map(range, first[0], last[0] + 1))))
    rows = np.column_stack([c[at[:, f]] for f, c in enumerate(cells)]).astype(np.int32)
    p = model.score_of(wanted).at(rows)
    added = sum(c[at[:, f]] for f, c in enumerate(costs))
    for ends, said in (((first, last), (p.min(), p.max())), ((at, at), (p, p))):
        low, high = found.confidence(*ends)
        assert (low <= said[0]).all()
        assert (said[1] <= high).all()
        assert (high - low <= said[1] - said[0] + 1e-9).all()  # of a sum they are the extremes
    goal = added.min() + share * np.ptp(added) if share < math.inf else math.inf
    least = float(np.quantile(p, rank, method="nearest"))
    (bound,) = found.priced(first, last, np.array([price]), reader.least_score(least), goal)
    assert bound <= added[p >= least].min() + 1e-12
    assert added.min() - 1e-12 <= bound <= goal
    (bound,) = found.priced(first, last, np.array([price]), reader.least_score(p.max() + 1e-6))
    assert bound == math.inf or p.max() > 1 - 1e-6
    back = replace(found, reader=reader.turned())
    (bound,) = back.priced(first, last, np.array([price]), reader.least_turned(least), goal)
    assert bound <= added[p <= least].min() + 1e-12


def test_clauses_that_many_features_silence_are_bounded_still():
    """The product of their factors is 0 many times over, and its logarithm far below any other."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 13)).astype(float)
    model = TMClassifier(4, T=1, epochs=1, random_state=0).fit(X, np.arange(40) % 2)
    inclusion = np.zeros(model.inclusion_.shape)
    inclusion[0, :13] = inclusion[2, 13:] = 1.0  # all low, or all high: one vote each for class 1
    conclude(model, inclusion)
    own = np.repeat([1.0, 0.0], [6, 7])
    recourse = Recourse(model, cost="l1")
    assert recourse.confidence_of(own) == 0.5
    assert recourse.confidence_of(np.zeros(13)) == 1.0
    problem = Problem(model.schema_.action_set_of(own), Target(0.9), recourse.cost)
    values = [np.array([0.0, 1.0])] * 13
    for bound in (6.01, math.inf):
        priced = Proof(tuple(values), [-1 - PRICED], [0], [1.0 if bound < math.inf else bound])
        claim = Certificate(
            model.fingerprint_, problem, Status.INFEASIBLE, None, math.inf, 0, priced
        )
        if bound < math.inf:
            answer = Point(np.ones(13), 7.0, 1.0)
            claim = replace(claim, status=Status.FEASIBLE, answer=answer, lower_bound=bound)
        refused(claim, model, "leaf 0: .* cannot be discarded")


def test_missing_values_and_models_of_arrays():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "late": rng.choice([0, 1, 2, 3, -9], 80),
            "home": rng.choice(["own", "rent", "?"], 80),
            "sum": rng.integers(0, 6, 80) / 2,
        }
    )
    y = X["late"].between(0, 1).to_numpy() ^ (rng.random(80) < 0.1)
    schema = Schema.infer(X, missing={"late": -9, "home": "?"})
    model = paper_machine(8, 10, T=3, epochs=5, schema=schema, random_state=0).fit(X, y)
    people = X[(X["late"] == -9) & (X["home"] == "?") & (model.predict_proba(X)[:, 1] < 0.5)]
    assert len(people) >= 1
    assert_proved(model, schema, people.iloc[0], np.nan)

    numbers = X[["late", "sum"]].to_numpy()
    model = paper_machine(8, 10, T=3, epochs=5, random_state=0).fit(numbers, y)
    refused_one = numbers[model.predict_proba(numbers)[:, 1].argmin()]
    assert_proved(model, model.schema_, dict(zip(["x0", "x1"], refused_one, strict=True)), None)


def assert_proved(model, schema, x, own):
    rules = readers.read(model, 1)
    np.testing.assert_allclose(np.concatenate(rules.tables), model.machine_.factors, rtol=1e-12)
    action_set = schema.action_set(x)
    if own is not None:
        assert np.isnan(action_set.own).sum() == 2
    recourse = Recourse(model, schema)
    rows = np.array(list(itertools.product(*(actions.values() for actions in action_set.actions))))
    level = float(np.quantile(recourse.confidences(rows), 0.9, method="nearest"))
    result = recourse.find(x, level)
    certificate = result.certificate()
    assert certificate.status is Status.OPTIMAL
    assert sum(check(certificate, model, x=x).leaves.values()) >= 1


# ---------------------------------------------------------------- costs with functions


def test_functions_of_a_cost_are_given_again(tmp_path):
    bumpy = {"count": lambda a, b: 0.3 * math.cos(5 * (b - a)) + 0.4}
    cost = Cost.named("l1", functions=bumpy)
    asked = ask(1, cost)
    certificate = asked.certificate()
    assert certificate.status is Status.OPTIMAL
    assert certificate.lower_bound == pytest.approx(asked.least, abs=1e-9)
    check(certificate, asked.model)
    check(certificate, asked.model, cost=cost)
    certificate.save(tmp_path / "certificate.json")
    again = Certificate.load(tmp_path / "certificate.json")
    assert again.given_again == ("functions",)
    assert again.to_dict() == certificate.to_dict()
    check(again, asked.model, cost=cost)
    refused(again, asked.model, "has functions, which no file holds; give the cost again")
    refused(again, asked.model, r"given_again is \['functions'\], not \[\]", cost=Cost(l1=1.0))
    refused(again, asked.model, "cost, l1 is 1.0, not 2.0", cost=replace(cost, l1=2.0))
    dearer = Cost.named("l1", functions={"count": lambda a, b: 0.1 * abs(b - a)})
    refused(again, asked.model, "costs|serves in its place|discarded", cost=dearer)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("entry", "value", "match"),
    [
        ("kind", "a letter", "not a trust-recourse certificate"),
        ("format", 2, "format 2; this version reads format 1"),
        ("format", True, "format True; this version reads format 1"),
        ("question", "0" * 64, "not the fingerprint of the question that is there"),
        ("extra", 1, "entry 'extra': unknown"),
        ("price", None, "price: expected a list of numbers"),
        ("price", [True], "price: expected a list of numbers"),
        ("price", ["much"], "price: expected a list of numbers"),
        ("lower_bound", 10**400, "a whole number beyond every float"),
        ("feature", [0.5], "feature: expected a list of whole numbers"),
        ("cut", [2**70], "cut: expected a list of whole numbers"),
        ("cut", [0], "nodes, expected as many"),
        ("nodes", "7", "nodes: expected"),
        ("candidates", 3, "candidates: expected"),
        ("candidates", [[1], 2], "candidates: expected"),
        ("fingerprint", 3, "fingerprint: given 3, expected text"),
        ("fingerprint", "\x1b[2J", "fingerprint: given .* expected a SHA-256"),
        ("status", "certain", "status: given 'certain', expected optimal, feasible"),
        ("status", "not_found", "status: given 'not_found'"),
        ("answer", [1], "answer: given"),
        ("answer", {"codes": [1], "cost": None, "confidence": 1}, "answer, cost: expected"),
        ("wanted", -1, "wanted: given -1"),
        ("wanted", 1.0, "wanted: given 1.0"),
        ("wanted", True, "wanted: given True"),
        ("cost", {"l9": 1}, "cost: given"),
        ("cost", {"l0": 0, "l1": -1, "l2": 0, "root": False}, "cost: given"),
        ("cost", {"l0": 0, "l1": 1, "l2": 0, "root": "no"}, "cost, root: given 'no'"),
        ("cost", {"l0": 0, "l1": True, "l2": 0, "root": False}, "cost, l1: expected"),
        ("target", {"confidence": 0.5}, "target: given"),
        ("target", {"confidence": 2, "mode": "band", "tolerance": 0}, "confidence=2"),
        ("schema", {}, "schema: expected a list of features"),
        ("factual", [1.0], "factual: .*shape"),
        ("factual", [1.0, "nan", 0, 0], "factual: "),
        ("given_again", "toll", "given_again"),
        ("given_again", ["l1"], "given_again"),
    ],
)
def test_malformed_files_are_refused(tmp_path, entry, value, match):
    path = tmp_path / "certificate.json"
    certificate = ask(1).certificate()
    path.write_text(json.dumps(certificate.to_dict() | {entry: value}))
    with pytest.raises(CertificateError, match=match) as error:
        Certificate.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("entry", ["status", "lower_bound", "schema", "l1", "scale"])
def test_an_entry_given_twice_is_refused(tmp_path, entry):
    """The last one was read, the first one seen."""
    path = tmp_path / "certificate.json"
    ask(1).certificate().save(path)
    text = path.read_text()
    assert f'"{entry}": ' in text
    path.write_text(text.replace(f'"{entry}": ', f'"{entry}": 7, "{entry}": ', 1))
    with pytest.raises(CertificateError, match=f"'{entry}' is given more than once"):
        Certificate.load(path)


def test_what_is_no_file_of_ours_is_refused(tmp_path):
    path = tmp_path / "certificate.json"
    with pytest.raises(CertificateError, match="there is no such file"):
        Certificate.load(path)
    certificate = ask(1).certificate()
    certificate.save(path)
    whole = path.read_text()
    for text in (whole[:-20], "", "[" * 100_000, "\x00", '"text"'):
        path.write_text(text)
        with pytest.raises(CertificateError):
            Certificate.load(path)
    told = certificate.to_dict()
    for entry in told:
        path.write_text(json.dumps({k: v for k, v in told.items() if k != entry}))
        with pytest.raises(CertificateError):
            Certificate.load(path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "certificate.json"
    certificate = ask(1).certificate()
    certificate.save(path)
    before = path.read_text()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        replace(certificate, nodes=8).save(path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_related_features_need_values_that_can_be_listed():
    asked = ask(1)
    certificate = asked.certificate()
    action_set = asked.problem.action_set
    schema = action_set.schema.update("rate", lower=None, upper=None, direction=None)
    schema = schema.relate("rate <= count")
    problem = replace(asked.problem, action_set=schema.action_set_of(action_set.own))
    with pytest.raises(SchemaError):
        problem.action_set["rate"].values()
    refused(replace(certificate, problem=problem), asked.model, "rate: values cannot be listed")


@pytest.mark.parametrize(
    ("cost", "changes"),
    [("l2", {"weight": 1e-200}), ("l2", {"scale": 1e200}), ("l1", {"weight": 1e-200})],
)
def test_nothing_is_proved_by_a_cost_that_was_rounded_to_0(model, cost, changes):
    """nodes = 2 is nearer than 0 and meets the target, but all changes cost 0 in floats."""
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease", **changes)
    action_set = schema.action_set({"age": 60, "year": 62, "nodes": 30})
    problem = Problem(action_set, Target(0.7), Cost.named(cost), 1)
    answer = np.array([60.0, 62.0, 0.0])
    p = float(model.predict_proba(schema.decode(answer[None]))[0, 1])
    codes = tuple(
        each.codes for each in candidates(model.score_of(1).grid, action_set, problem.cost)
    )
    leaf = np.array([-1]), np.array([0]), np.array([0.0])
    forged = Certificate(
        model.fingerprint_, problem, Status.OPTIMAL, Point(answer, 0.0, p), 0.0, 1,
        Proof(codes, *leaf),
    )  # fmt: skip
    with pytest.raises(CertificateError, match="its cost cannot be counted with"):
        check(forged, model)
