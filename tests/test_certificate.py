"""Laws of certificates: honest ones are confirmed, and none that says more than is true.

The proofs are written by a small prover of the tests' own, which knows the answer beforehand from
enumeration and discards boxes by the model's bounds; the checker uses neither.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from test_search import enumerated, machine, person_schema
from trust_recourse import PTMClassifier, Recourse, Schema
from trust_recourse.problem import Cost, Point, Problem, Status, Target
from trust_recourse.schema import SchemaError
from trust_recourse.search.certificate import (
    REASONS,
    Certificate,
    CertificateError,
    Proof,
    check,
)
from trust_recourse.search.certificate.bounds import Candidates
from trust_recourse.search.certificate.machine import Machine

law = settings(max_examples=20)
COST, CONFIDENCE, PRICED, RELATION, POINT = range(len(REASONS))


# ---------------------------------------------------------------- a prover


@dataclass(eq=False)
class Prover:
    """Cuts boxes in halves until each can be discarded at a known lower bound, before the root."""

    model: Any
    problem: Problem
    goal: float
    order: tuple[int, ...] = (COST, RELATION, PRICED, CONFIDENCE, POINT)  # reasons, as tried
    lenient: bool = False  # whether a point may have no reason at all

    def __post_init__(self):
        reach, cost = self.problem.reach, self.problem.cost
        self.codes = candidates(self.model, reach, cost)
        own = reach.own
        self.cells = []
        for f, codes in enumerate(self.codes):
            rows = np.repeat(own[None], len(codes), axis=0)
            rows[:, f] = codes
            self.cells.append(self.model.cells_of(rows)[:, f])
        self.costs = [
            np.array([cost.change(feature, was, code) for code in codes])
            for feature, was, codes in zip(reach.schema, own, self.codes, strict=True)
        ]
        self.bounds = self.model.boxes(self.cells)
        rules = Machine.read(self.model, self.problem.wanted)
        factors = [table[of] for table, of in zip(rules.tables, self.cells, strict=True)]
        self.checkers = Candidates(rules, tuple(self.costs), tuple(factors))
        self.raw = rules.least_raw(self.problem.target.interval[0])
        self.nodes = []
        self.unproved = []  # nodes of points that have no reason
        self.boxes = []  # (node, first, last) of every leaf
        self.visit(np.zeros(len(own), int), np.array([len(c) - 1 for c in self.codes]))

    def proof(self):
        feature, cut, price = zip(*self.nodes, strict=True)
        return Proof(tuple(self.codes), feature, cut, price)

    def visit(self, first, last):
        for reason in self.order:
            if price := self.may_discard(reason, first, last):
                self.leaf(reason, price if reason == PRICED else 0.0, first, last)
                return
        if (first == last).all():
            assert self.lenient, "a point is cheaper than the lower bound"
            self.unproved.append(len(self.nodes))
            self.leaf(POINT, 0.0, first, last)
            return
        f = int(np.argmax(last - first))
        cut = int(first[f] + last[f]) // 2
        self.nodes.append((f, cut, 0.0))
        left, right = last.copy(), first.copy()
        left[f], right[f] = cut, cut + 1
        self.visit(first, left)
        self.visit(right, last)

    def leaf(self, reason, price, first, last):
        self.boxes.append((len(self.nodes), first, last))
        self.nodes.append((-1 - reason, 0, price))

    def may_discard(self, reason, first, last):
        """Not 0 if it may; for a priced leaf its price."""
        if reason == COST:
            parts = zip(self.costs, first, last, strict=True)
            return sum(c[a : b + 1].min() for c, a, b in parts) >= self.goal * (1 - 1e-10)
        if reason == RELATION:
            return not self.relations_may_hold(first, last)
        if reason == PRICED:
            return self.price(first, last)
        if reason == CONFIDENCE:
            (low,), (high,), _ = self.bounds.bounds(first[None], last[None])
            low, high = (low, high) if self.problem.wanted == 1 else (1 - high, 1 - low)
            least, most = self.problem.target.interval
            return high < least or low > most
        return (first == last).all() and not self.meets(self.point(first))

    def point(self, at):
        return np.array([codes[i] for codes, i in zip(self.codes, at, strict=True)])

    def meets(self, row):
        p = confidence(self.model, row, self.problem.wanted)
        return self.problem.target.met(p) and self.problem.reach.allows(row)

    def relations_may_hold(self, first, last):
        reach = self.problem.reach
        for relation in reach.relations:
            i, j = (reach.schema.position(name) for name in (relation.a, relation.b))
            pairs = itertools.product(*(self.codes[f][first[f] : last[f] + 1] for f in (i, j)))
            own = tuple(reach.own[[i, j]])
            if not any(pair == own or relation.holds(own, pair) for pair in pairs):
                return False
        return True

    def price(self, first, last):
        """A price at which a point that reaches the target costs enough; 0 if there is none."""
        prices = np.array([math.inf, *(2.0 ** np.arange(-6, 6))])
        ends = (np.repeat(end[None], len(prices), axis=0) for end in (first, last))
        enough = self.checkers.priced(*ends, prices, self.raw) >= self.goal
        return prices[np.argmax(enough)] if enough.any() else 0


def candidates(model, reach, cost):
    """For each feature the cheapest allowed value of each cell; every value of a related one."""
    related = {name for r in reach.relations for name in (r.a, r.b)}
    found = []
    for f, (feature, moves) in enumerate(zip(reach.schema, reach.moves, strict=True)):
        values = moves.values().tolist()
        rows = np.repeat(reach.own[None], len(values), axis=0)
        rows[:, f] = values
        best = {}
        for value, cell in zip(values, model.cells_of(rows)[:, f], strict=True):
            key = value if feature.name in related else cell
            price = cost.change(feature, moves.own, value)
            if key not in best or price < best[key][0]:
                best[key] = (price, value)
        found.append(np.array([value for _, value in best.values()]))
    return found


def confidence(model, row, wanted):
    yes = float(model.confidence_at(model.cells_of(row[None]))[0])
    return yes if wanted == 1 else 1.0 - yes


@dataclass(eq=False)
class Asked:
    """A question on a random machine, and all that enumeration says of it."""

    model: Any
    problem: Problem
    x: Any
    rows: Any
    costs: Any
    p: Any

    @property
    def meets(self):
        return np.array([self.problem.target.met(p) for p in self.p])

    @property
    def least(self):
        return self.costs[self.meets].min() if self.meets.any() else math.inf

    def added(self, bound):
        return bound**2 if self.problem.cost.root else bound

    def certificate(self, **prover):
        """An honest certificate, and who proved it."""
        own = self.problem.reach.own
        at = int(np.argmin(np.where(self.meets, self.costs, math.inf)))
        answer, status = Point(self.rows[at], self.costs[at], self.p[at]), Status.OPTIMAL
        if not self.meets.any():
            answer, status = None, Status.INFEASIBLE
        elif np.array_equal(answer.codes, own):
            status = Status.ALREADY_MET
        proved = Prover(self.model, self.problem, self.added(self.least), **prover)
        return Certificate(
            self.model.fingerprint_, self.problem, status, answer, self.least, 7, proved.proof()
        ), proved


made = lru_cache(machine)  # which no test here changes


def ask(seed, cost="l2", mode="at_least", link="margin", calibration=None, wanted=1,
        relations=False, rank=0.9, person=0):  # fmt: skip
    model, X, _ = made(seed, link, calibration)
    rng = np.random.default_rng([seed, person])
    recourse = Recourse(model, person_schema(model, rng, relations), cost, wanted=wanted)
    some = X.sample(6, random_state=int(rng.integers(2**31)))
    x = some.iloc[int(np.argmin(model.predict_proba(some)[:, wanted]))]  # so that there is a need
    rows, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    if rank > 0.99:  # just out of reach
        level = float(np.clip(p.max() + 1e-4, 0.001, 0.9999))
    target = Target(level, mode, 0.02 if rank <= 0.99 else 1e-5)
    problem = Problem(recourse.schema.reach(x), target, recourse.cost, wanted)
    return Asked(model, problem, x, rows, costs, p)


questions = st.builds(
    ask,
    seed=st.integers(0, 7),
    person=st.integers(0, 10**6),
    cost=st.sampled_from(["l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5}]),
    mode=st.sampled_from(["at_least", "band"]),
    link=st.sampled_from(["margin", "vote"]),
    calibration=st.sampled_from([None, "sigmoid", "isotonic"]),
    wanted=st.sampled_from([0, 1]),
    relations=st.booleans(),
    rank=st.floats(0.3, 1),
)
orders = st.permutations((COST, RELATION, PRICED, CONFIDENCE, POINT)).map(tuple)


def refused(certificate, model, match=".", **given):
    with pytest.raises(CertificateError, match=match):
        check(certificate, model, **given)


# ---------------------------------------------------------------- honest certificates


@law
@given(asked=questions, order=orders)
def test_an_honest_certificate_is_confirmed(asked, order):
    certificate, proved = asked.certificate(order=order)
    problem = asked.problem
    verdict = check(
        certificate,
        asked.model,
        schema=problem.reach.schema,
        cost=problem.cost,
        x=asked.x,
        target=problem.target,
        wanted=asked.model.classes_[problem.wanted],
    )
    assert verdict.status is certificate.status
    assert sum(verdict.leaves.values()) == len(proved.boxes)
    assert str(verdict).startswith(verdict.status.sentence)


def test_every_status_and_every_reason_occurs():
    statuses, leaves = Counter(), {link: Counter() for link in ("margin", "vote")}
    for seed, link, wanted in itertools.product(range(3), ("margin", "vote"), (0, 1)):
        for rank, relations in ((0.5, False), (0.95, True), (1.0, False)):
            calibration = "sigmoid" if seed % 2 else None
            asked = ask(seed, "l2", "at_least", link, calibration, wanted, relations, rank)
            order = (RELATION, POINT, PRICED, CONFIDENCE, COST)
            verdict = check(asked.certificate(order=order)[0], asked.model)
            statuses[verdict.status] += 1
            leaves[link].update(verdict.leaves)
    assert all(statuses[s] for s in (Status.OPTIMAL, Status.INFEASIBLE, Status.ALREADY_MET))
    for link, reason in itertools.product(leaves, REASONS):
        assert leaves[link][reason] > 0, (link, reason)


@law
@given(asked=questions, share=st.floats(0, 1))
def test_an_answer_within_its_gap_is_confirmed_as_feasible(asked, share):
    assume(asked.meets.any())
    at = int(np.argmax(np.where(asked.meets, asked.costs, -1)))  # the dearest answer of all
    bound = share * asked.least
    proved = Prover(asked.model, asked.problem, asked.added(bound))
    certificate = Certificate(
        asked.model.fingerprint_,
        asked.problem,
        Status.FEASIBLE,
        Point(asked.rows[at], asked.costs[at], asked.p[at]),
        bound,
        0,
        proved.proof(),
    )
    assert check(certificate, asked.model).status is Status.FEASIBLE
    if bound < asked.costs[at] * (1 - 1e-6):
        refused(replace(certificate, status=Status.OPTIMAL), asked.model, "says optimal, but")


@law
@given(asked=questions)
def test_a_file_holds_the_whole_certificate(asked, tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "certificate.json"
    certificate, _ = asked.certificate()
    certificate.save(path)
    again = Certificate.load(path)
    assert again.to_dict() == certificate.to_dict()
    assert check(again, asked.model) == check(certificate, asked.model)
    json.loads(path.read_text(), parse_constant=lambda _: pytest.fail("not JSON"))
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


# ---------------------------------------------------------------- false ones


@law
@given(asked=questions, raised=st.floats(1e-6, 2), endless=st.booleans())
def test_no_proof_of_too_high_a_lower_bound_is_confirmed(asked, raised, endless):
    """Each point that speaks against it is discarded on a pretext: none of them passes."""
    assume(asked.meets.any())
    at = int(np.argmax(np.where(asked.meets, asked.costs, -1)))
    bound = math.inf if endless else asked.least * (1 + raised) + 1e-6
    status = Status.INFEASIBLE if endless else Status.FEASIBLE
    answer = None if endless else Point(asked.rows[at], asked.costs[at], asked.p[at])
    if not endless:
        assume(bound <= asked.costs[at])
    order = (COST, RELATION, CONFIDENCE, POINT)
    proved = Prover(asked.model, asked.problem, asked.added(bound), order, lenient=True)
    assert len(proved.unproved) > 0
    pretexts = [(reason, 0.0) for reason in range(len(REASONS)) if reason != PRICED]
    for reason, price in [
        *pretexts,
        *((PRICED, price) for price in (1e-6, 0.01, 1.0, 1e6, math.inf)),
    ]:
        feature, cut, prices = map(np.array, zip(*proved.nodes, strict=True))
        feature[proved.unproved], prices[proved.unproved] = -1 - reason, price
        proof = Proof(tuple(proved.codes), feature, cut, prices)
        certificate = Certificate(
            asked.model.fingerprint_, asked.problem, status, answer, bound, 0, proof
        )
        refused(certificate, asked.model, f"leaf {proved.unproved[0]}: .* cannot be discarded")


@law
@given(asked=questions, data=st.data())
def test_a_leaf_with_an_untrue_reason_is_refused(asked, data):
    certificate, proved = asked.certificate()
    untrue = [
        (node, reason)
        for node, first, last in proved.boxes
        for reason in (COST, CONFIDENCE, RELATION, POINT)
        if not reason_is_true(asked, proved, reason, first, last)
    ]
    assume(untrue)
    node, reason = data.draw(st.sampled_from(untrue))
    proof = changed(certificate.proof, node, feature=-1 - reason, price=0.0)
    refused(replace(certificate, proof=proof), asked.model, f"leaf {node}: .* cannot be discarded")


def reason_is_true(asked, proved, reason, first, last):
    """By looking at every point of the box."""
    at = itertools.product(*(range(a, b + 1) for a, b in zip(first, last, strict=True)))
    points = np.array([proved.point(i) for i in at])
    wanted, target = asked.problem.wanted, asked.problem.target
    if reason == COST:
        features, own = asked.problem.reach.schema.features, asked.problem.reach.own
        least = min(asked.problem.cost.between(features, own, row) for row in points)
        return least >= asked.least * (1 - 1e-9)
    if reason == CONFIDENCE:
        yes = asked.model.confidence_at(asked.model.cells_of(points))
        return not any(target.met(p) for p in (yes if wanted == 1 else 1 - yes))
    if reason == RELATION:
        return not proved.relations_may_hold(first, last)
    return len(points) == 1 and not proved.meets(points[0])


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
    certificate, _ = asked.certificate(order=(POINT, CONFIDENCE, RELATION, COST))
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
        refuse(changed(proof, node, feature=f), f"node {node}: it cannot cut feature {f}")
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
    certificate, proved = asked.certificate(order=(CONFIDENCE, RELATION, POINT, COST))
    proof = certificate.proof
    others = []
    for node in np.flatnonzero(proof.feature >= 0).tolist():
        f, cut = int(proof.feature[node]), int(proof.cut[node])
        others += [(node, f, cut - 1), (node, f, cut + 1), (node, (f + 1) % 4, cut)]
    untrue = []
    for node, f, cut in others:
        other = changed(proof, node, feature=f, cut=cut)
        leaves = read(other)
        if leaves is None or not all(reason_is_true(asked, proved, *leaf) for leaf in leaves):
            untrue.append(other)
    assume(untrue)
    refused(replace(certificate, proof=data.draw(st.sampled_from(untrue))), asked.model)


def read(proof):
    """Reason, first and last of every leaf; None if the nodes are not one complete tree."""
    stack, leaves = [[(0, len(codes) - 1) for codes in proof.candidates]], []
    for f, cut in zip(proof.feature.tolist(), proof.cut.tolist(), strict=True):
        if not stack:
            return None
        box = stack.pop()
        if f < 0:
            leaves.append((-1 - f, *np.array(box).T))
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
    certificate, proved = asked.certificate()
    proof = certificate.proof
    f = data.draw(st.integers(0, len(proof.candidates) - 1))
    at = data.draw(st.integers(0, len(proof.candidates[f]) - 1))

    def refuse(codes, match):
        each = (*proof.candidates[:f], np.array(codes), *proof.candidates[f + 1 :])
        other = Proof(each, proof.feature, proof.cut, proof.price)
        refused(replace(certificate, proof=other), asked.model, match)

    refuse(np.delete(proof.candidates[f], at), "own value is no candidate|serves in its place")
    refuse([*proof.candidates[f], 77.25], "77.25 is not allowed")
    feature, moves = asked.problem.reach.schema[f], asked.problem.reach.moves[f]
    chosen = proof.candidates[f][at]
    paid = asked.problem.cost.change(feature, moves.own, chosen)
    for value in moves.values():
        row = asked.problem.reach.own.copy()
        row[f] = value
        same_cell = asked.model.cells_of(row[None])[0, f] == proved.cells[f][at]
        if same_cell and asked.problem.cost.change(feature, moves.own, value) > paid:
            codes = np.where(proof.candidates[f] == chosen, value, proof.candidates[f])
            refuse(codes, "own value is no candidate|serves in its place")


@law
@given(asked=questions, data=st.data())
def test_an_answer_is_believed_in_nothing(asked, data):
    certificate, _ = asked.certificate()
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
    refuse("not a number", lower_bound=math.nan)
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
    certificate, proved = asked.certificate()
    assert certificate.status is Status.INFEASIBLE
    refused(replace(certificate, lower_bound=1e9), asked.model, "finite lower bound")
    node = proved.boxes[0][0]
    proof = changed(certificate.proof, node, feature=-1 - COST, price=0.0)
    refused(replace(certificate, proof=proof), asked.model, f"leaf {node}: it may cost only")


def test_another_question_is_refused():
    asked = ask(5)
    certificate, _ = asked.certificate()
    model, problem = asked.model, asked.problem
    schema = problem.reach.schema
    refused(replace(certificate, fingerprint="0" * 64), model, "about the model 000000000000…")
    refused(certificate, machine(6)[0], "it is about the model")
    refused(certificate, model, "another person", x={**asked.x, "count": asked.x["count"] + 1})
    refused(certificate, model, "its target is", target=Target(0.123))
    refused(certificate, model, "its wanted class is .*1.*, not 0", wanted=0)
    refused(certificate, model, "its cost is", cost=Cost.named("l1"))
    other = schema.update("count", weight=7.0)
    refused(certificate, model, "its schema is not the one given", schema=other)
    renamed = Schema(tuple(replace(f, name=f.name + "s") for f in schema))
    moved = Problem(renamed.reach_codes(problem.reach.own), *_rest(problem))
    refused(replace(certificate, problem=moved), model, "reads values otherwise")
    higher = replace(problem, target=Target(certificate.answer.confidence + 1e-6))
    refused(replace(certificate, problem=higher), model, "short of Target")
    narrower = problem.reach.schema.lock(*schema.names).reach_codes(problem.reach.own)
    refused(replace(certificate, problem=Problem(narrower, *_rest(problem))), model, "not allowed")
    few = replace(certificate.proof, candidates=certificate.proof.candidates[:-1])
    refused(replace(certificate, proof=few), model, "candidates for 3 features")


def _rest(problem):
    return problem.target, problem.cost, problem.wanted


# ---------------------------------------------------------------- the checker's own bounds


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    link=st.sampled_from(["margin", "vote"]),
    wanted=st.sampled_from([0, 1]),
    power=st.sampled_from([1, 4, 20]),
    price=st.sampled_from([1e-3, 0.1, 0.5, 1.0, 4.0, 1e3, math.inf]),
    rank=st.floats(0, 1.1),
)
def test_bounds_hold_on_random_boxes(seed, link, wanted, power, price, rank):
    model, _, rng = machine(seed, link)
    inclusion = rng.random(model.inclusion_.shape) ** power
    inclusion[rng.random(inclusion.shape) < 0.1] = 1.0  # factors of 0, logarithms of −∞
    model._conclude(inclusion)
    cells = [rng.permutation(n).astype(np.int32) for n in model._literals.n_cells]
    costs = tuple(rng.random(len(c)) for c in cells)
    rules = Machine.read(model, wanted)
    factors = [table[of] for table, of in zip(rules.tables, cells, strict=True)]
    found = Candidates(rules, costs, tuple(factors))
    first, last = np.sort([rng.integers(0, len(c), 2) for c in cells], axis=1).T[:, None]
    at = np.array(list(itertools.product(*map(range, first[0], last[0] + 1))))
    rows = np.column_stack([c[at[:, f]] for f, c in enumerate(cells)]).astype(np.int32)
    p = model.confidence_at(rows) if wanted == 1 else 1.0 - model.confidence_at(rows)
    added = sum(c[at[:, f]] for f, c in enumerate(costs))

    np.testing.assert_allclose(found.cheapest(first, last), added.min())
    (low,), (high,) = found.confidence(first, last)
    assert low <= p.min()
    assert p.max() <= high
    raw = float(np.quantile(p, rank, method="nearest")) if rank <= 1 else p.max() + 0.01
    (bound,) = found.priced(first, last, np.array([price]), raw)
    reach = p >= raw
    assert reach.any() == (rank <= 1)
    assert bound <= (added[reach].min() if reach.any() else math.inf) + 1e-12


def test_the_priced_bound_says_more_than_the_cheapest_candidates_do():
    """And never less than the model's own relaxation, at the same price."""
    better = Counter()
    prices = 2.0 ** np.arange(-4, 4)
    for seed, wanted, link in itertools.product(range(5), (0, 1), ("margin", "vote")):
        asked = ask(seed, "l1", link=link, wanted=wanted, rank=0.95)
        proved = Prover(asked.model, asked.problem, asked.added(asked.least), (COST, POINT))
        low = asked.problem.target.interval[0]
        for _, first, last in proved.boxes[:10]:
            ends = [np.repeat(end[None], len(prices), axis=0) for end in (first, last)]
            bounds = proved.checkers.priced(*ends, prices, proved.raw)
            better[link] += (bounds > proved.checkers.cheapest(*ends) + 1e-6).sum()
            relaxed = proved.bounds.relaxation(first[None], last[None], wanted, low)
            if relaxed is not None:
                votes = prices / (2 * asked.model.T)  # theirs are counted in votes
                theirs = [least_at(price, *relaxed, proved.costs, first, last) for price in votes]
                assert (bounds >= np.array(theirs) - 1e-9 * (1 + np.abs(theirs))).all()
                better["than theirs"] += (bounds > np.array(theirs) + 1e-6).sum()
    assert min(better["margin"], better["vote"], better["than theirs"]) > 50, better


def least_at(price, needed, g, costs, first, last):
    each = np.split(g[0], np.cumsum([len(c) for c in costs])[:-1])
    parts = zip(costs, each, first, last, strict=True)
    return price * needed[0] + sum((c - price * h)[a : b + 1].min() for c, h, a, b in parts)


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
    model = PTMClassifier(8, 10, T=3, epochs=5, schema=schema, random_state=0).fit(X, y)
    people = X[(X["late"] == -9) & (X["home"] == "?") & (model.predict_proba(X)[:, 1] < 0.5)]
    assert len(people) >= 1
    assert_proved(model, schema, people.iloc[0], np.nan)

    numbers = X[["late", "sum"]].to_numpy()
    model = PTMClassifier(8, 10, T=3, epochs=5, random_state=0).fit(numbers, y)
    refused_one = numbers[model.predict_proba(numbers)[:, 1].argmin()]
    assert_proved(model, model.schema_, dict(zip(["x0", "x1"], refused_one, strict=True)), None)


def assert_proved(model, schema, x, own):
    rules = Machine.read(model, 1)
    np.testing.assert_allclose(np.concatenate(rules.tables), model._factors, rtol=1e-12)
    reach = schema.reach(x)
    if own is not None:
        assert np.isnan(reach.own).sum() == 2
    rows = np.array(list(itertools.product(*(moves.values() for moves in reach.moves))))
    p = model.confidence_at(model.cells_of(rows))
    cost = Cost.named("l2")
    costs = np.array([cost.between(schema.features, reach.own, row) for row in rows])
    target = Target(float(np.quantile(p, 0.9, method="nearest")))
    asked = Asked(model, Problem(reach, target, cost), x, rows, costs, p)
    assert asked.least > 0
    certificate, proved = asked.certificate()
    assert sum(check(certificate, model, x=x).leaves.values()) == len(proved.boxes) > 1


# ---------------------------------------------------------------- costs with functions


@dataclass(frozen=True)
class Tolled(Cost):
    """A cost with a function of its own, which may fall away from the person's value."""

    toll: Any = None

    def change(self, feature, own, value):
        extra = self.toll(value) if self.toll is not None and value != own else 0.0
        return super().change(feature, own, value) + extra


def test_functions_of_a_cost_are_given_again(tmp_path):
    asked = ask(5, relations=False)
    cost = Tolled(l1=1.0, toll=lambda value: 0.3 * math.cos(5 * value) + 0.3)
    asked.problem = replace(asked.problem, cost=cost)
    features, own = asked.problem.reach.schema.features, asked.problem.reach.own
    asked.costs = np.array([cost.between(features, own, row) for row in asked.rows])
    certificate, _ = asked.certificate()
    assert certificate.status is Status.OPTIMAL
    check(certificate, asked.model)
    check(certificate, asked.model, cost=cost)
    certificate.save(tmp_path / "certificate.json")
    again = Certificate.load(tmp_path / "certificate.json")
    assert again.given_again == ("toll",)
    assert again.to_dict() == certificate.to_dict()
    check(again, asked.model, cost=cost)
    refused(again, asked.model, "its cost has toll, which no file holds; give the cost again")
    refused(again, asked.model, "its cost is", cost=Cost(l1=1.0))
    refused(again, asked.model, "its cost is", cost=replace(cost, l1=2.0))
    dearer = Tolled(l1=1.0, toll=lambda value: 0.1 * value)
    refused(again, asked.model, "costs|serves in its place", cost=dearer)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("entry", "value", "match"),
    [
        ("kind", "a letter", "not a trust-recourse certificate"),
        ("format", 2, "format 2; this version reads format 1"),
        ("extra", 1, "entry 'extra': unknown"),
        ("price", None, "price: expected a list of numbers"),
        ("price", [True], "price: expected a list of numbers"),
        ("price", ["much"], "price: expected a list of numbers"),
        ("lower_bound", 10**400, "lower_bound: expected"),
        ("feature", [0.5], "feature: expected a list of whole numbers"),
        ("cut", [2**70], "cut: expected a list of whole numbers"),
        ("cut", [0], "nodes, expected as many"),
        ("nodes", "7", "nodes: expected"),
        ("candidates", 3, "candidates: expected"),
        ("candidates", [[1], 2], "candidates: expected"),
        ("fingerprint", 3, "fingerprint: given 3, expected text"),
        ("status", "certain", "status: given 'certain', expected optimal, feasible"),
        ("status", "not_found", "status: given 'not_found'"),
        ("answer", [1], "answer: given"),
        ("answer", {"codes": [1], "cost": None, "confidence": 1}, "answer: expected"),
        ("wanted", 2, "wanted: given 2"),
        ("wanted", 1.0, "wanted: given 1.0"),
        ("cost", {"l9": 1}, "cost: given"),
        ("cost", {"l1": -1}, "cost: given"),
        ("target", {"confidence": 0.5}, "target: given"),
        ("target", {"confidence": 2, "mode": "band", "tolerance": 0}, "confidence=2"),
        ("schema", {}, "schema: expected a list of features"),
        ("factual", [1.0], "factual: .*shape"),
        ("factual", [1.0, "nan", 0, 0], "factual: "),
        ("given_again", "toll", "given_again"),
    ],
)
def test_malformed_files_are_refused(tmp_path, entry, value, match):
    path = tmp_path / "certificate.json"
    certificate, _ = ask(5).certificate()
    path.write_text(json.dumps(certificate.to_dict() | {entry: value}))
    with pytest.raises(CertificateError, match=match) as error:
        Certificate.load(path)
    assert str(path) in str(error.value)


def test_what_is_no_file_of_ours_is_refused(tmp_path):
    path = tmp_path / "certificate.json"
    with pytest.raises(CertificateError, match="there is no such file"):
        Certificate.load(path)
    certificate, _ = ask(5).certificate()
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
    certificate, _ = ask(5).certificate()
    certificate.save(path)
    before = path.read_text()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        replace(certificate, nodes=8).save(path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_related_features_need_values_that_can_be_listed():
    asked = ask(5)
    certificate, _ = asked.certificate()
    reach = asked.problem.reach
    schema = reach.schema.update("rate", lower=None, upper=None, direction=None)
    schema = schema.relate("rate <= count")
    problem = replace(asked.problem, reach=schema.reach_codes(reach.own))
    with pytest.raises(SchemaError):
        problem.reach["rate"].values()
    refused(replace(certificate, problem=problem), asked.model, "rate: values cannot be listed")
