"""Certificates of sums of trees: the engine's own are confirmed, and none that says too much.

What is true is known from enumeration.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mutations
from claims import is_true
from trust_recourse import Feature, Recourse, Schema, german_credit, german_credit_schema
from trust_recourse.certificate import Certificate, CertificateError, check, checker, readers
from trust_recourse.certificate.record import Function, ProofStep
from trust_recourse.models import from_model
from trust_recourse.models.sums import score

pytest.importorskip("lightgbm", reason="LightGBM is not installed")
pytest.importorskip("xgboost", reason="XGBoost is not installed")

KINDS = ("lightgbm", "xgboost", "forest", "boosting", "histogram")
COSTS = ("l0", "l1", "l2", {"l0": 0.2, "l1": 1.0, "l2": 0.5})
SCHEMA = Schema(
    (
        Feature("income", "integer", lower=0, upper=9, scale=9.0),
        Feature("debt", lower=0, upper=1, scale=1.0, step=0.1, missing=(math.nan,)),
        Feature("home", "category", values=(0, 1, 2)),
        Feature("grade", "ordinal", values=(0, 1, 2, 3)),
    )
)
RELATED = replace(SCHEMA, relations=("grade changes => income rises by 1",))


@pytest.fixture(autouse=True)
def reduced(monkeypatch):
    """Questions of any size are reduced before they are searched."""
    monkeypatch.setattr(score, "FEWEST", 8)


@lru_cache
def learnt(kind, seed, trees=6):
    """A small ensemble, and the rows that it was learnt on."""
    rng, n = np.random.default_rng(seed), 160
    X = pd.DataFrame(
        {
            "income": rng.integers(0, 10, n).astype(float),
            "debt": rng.integers(0, 11, n) / 10,
            "home": rng.integers(0, 3, n).astype(float),
            "grade": rng.integers(0, 4, n).astype(float),
        }
    )
    X.loc[rng.random(n) < 0.15, "debt"] = np.nan
    risk = X["income"] - 8 * X["debt"].fillna(0.3) + 2 * (X["home"] == 1) + X["grade"]
    y = (risk + rng.normal(0, 2, n) > risk.median()).astype(int)
    return from_model(_model(kind, trees).fit(X, y), SCHEMA, X), X


def _model(kind, trees):
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=trees, num_leaves=5, min_child_samples=5, verbose=-1)
    if kind == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=trees, max_depth=3)
    from sklearn import ensemble

    if kind == "forest":
        return ensemble.RandomForestClassifier(trees, max_depth=3, random_state=0)
    if kind == "boosting":
        return ensemble.HistGradientBoostingClassifier(max_iter=trees, max_leaf_nodes=6)
    return ensemble.HistGradientBoostingClassifier(
        max_iter=trees, max_leaf_nodes=5, categorical_features=["home"]
    )


class Asked:
    """A question and what the engine says, with its proof."""

    def __init__(self, kind, seed, cost="l1", wanted=1, mode="at_least", rank=0.8, **question):
        self.model, X = learnt(kind, seed)
        related = question.pop("related", False)
        recourse = Recourse(self.model, RELATED if related else SCHEMA, cost, wanted=wanted)
        told = recourse.confidences(SCHEMA.encode(X))
        level = float(np.clip(np.quantile(told, min(rank, 1.0)), 0.02, 0.98))
        level = level if rank <= 1.0 else 0.999
        row = int(np.argsort(told)[seed % 40])
        self.x = X.iloc[row]
        band = {"mode": "band", "tolerance": 0.03} if mode == "band" else {}
        self.result = recourse.find(self.x, level, **band, **question)
        self.certificate = self.result.certificate()
        self.honest = json.loads(self.certificate.to_json())


asked = st.builds(
    Asked,
    st.sampled_from(KINDS),
    st.integers(0, 3),
    st.sampled_from(COSTS),
    st.integers(0, 1),
    st.sampled_from(["at_least", "band"]),
    st.sampled_from([0.05, 0.6, 0.8, 0.95, 1.0, 2.0]),
    related=st.booleans(),
)


def confirmed(told, model):
    try:
        check(Certificate.from_dict(told), model)
    except CertificateError:
        return False
    return True


# ---------------------------------------------------------------- what is true is confirmed


@settings(max_examples=50)
@given(asked)
def test_every_certificate_of_the_engine_is_confirmed_and_true(asked):
    certificate = Certificate.from_dict(asked.honest)
    assert json.loads(certificate.to_json()) == asked.honest
    verdict = check(certificate, asked.model, x=asked.x)
    assert verdict.status == next(iter(asked.result.status.values()))
    assert is_true(certificate, asked.model)


def test_every_status_reason_and_part_of_a_proof_occurs():
    seen, parts = Counter(), Counter()
    for kind, wanted, mode, rank in itertools.product(
        KINDS, (0, 1), ("at_least", "band"), (0.05, 0.8, 0.95, 2.0)
    ):
        asked = Asked(kind, 1, "l2", wanted, mode, rank, related=kind == "boosting")
        verdict = check(asked.certificate, asked.model)
        seen[str(verdict.status)] += 1
        for reason, many in verdict.leaves.items():
            seen[reason] += many
        parts["steps"] += len(asked.certificate.proof.steps)
        parts["functions"] += len(asked.certificate.proof.functions)
    statuses = {"optimal", "infeasible", "already_met"}
    assert {*seen} >= statuses | {"cost", "confidence", "priced"}
    assert min(seen[each] for each in statuses | {"cost", "confidence", "priced"}) > 0
    assert min(parts.values()) > 0


def test_an_answer_within_its_gap_is_confirmed():
    asked = Asked("lightgbm", 2, "l1", rank=0.95, gap=0.5)
    assert check(asked.certificate, asked.model).lower_bound <= asked.result.options[0].cost
    assert is_true(asked.certificate, asked.model)


def test_proofs_come_with_the_answer():
    model, X = learnt("xgboost", 0)
    result = Recourse(model, SCHEMA, "l1").find(X.iloc[0], [0.5, 0.9], certify=True)
    assert len(result.proofs) == 2
    assert all(check(result.certificate(level), model) for level in (0.5, 0.9))


def test_a_check_loads_no_library_of_trees(tmp_path):
    """The adopted model and a file are all it takes."""
    asked = Asked("lightgbm", 0)
    asked.certificate.save(tmp_path / "proof.json")
    code = (
        "import sys, pickle\n"
        "from trust_recourse.certificate import check\n"
        "model = pickle.load(open('model', 'rb'))\n"
        "print(check('proof.json', model).status)\n"
        "print(sorted({'lightgbm', 'xgboost', 'sklearn'} & set(sys.modules)))"
    )
    import pickle

    (tmp_path / "model").write_bytes(pickle.dumps(asked.model))
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said.stdout.split("\n")[:2] == ["optimal", "[]"]


# ---------------------------------------------------------------- what is false is refused


@settings(max_examples=40)
@given(asked, st.integers(0, 10**6))
def test_no_mutated_certificate_is_believed_in_what_is_false(asked, seed):
    rng = np.random.default_rng(seed)
    for _ in range(8):
        forged = mutations.mutated(rng, asked.honest)
        try:
            certificate = Certificate.from_dict(forged)
        except CertificateError:
            continue
        believed = confirmed(forged, asked.model)
        assert not believed or is_true(certificate, asked.model), forged


@settings(max_examples=40)
@given(asked, st.floats(1.00001, 3.0))
def test_no_proof_of_too_high_a_bound_is_confirmed(asked, by):
    """The engine's own proof, of a dearer answer that is there too, or of none at all."""
    if asked.certificate.answer is None:
        return
    raised = asked.honest | {"lower_bound": asked.certificate.lower_bound * by + 1e-6}
    answer = dict(asked.honest["answer"])
    assert not confirmed(raised | {"status": "feasible", "answer": answer}, asked.model)
    nothing = {"status": "infeasible", "answer": None, "lower_bound": "inf"}
    assert not confirmed(asked.honest | nothing, asked.model)


@pytest.mark.parametrize("bound", [-1.0, "nan", "-inf"])
def test_a_bound_that_is_none_is_refused(bound):
    asked = Asked("lightgbm", 1)
    assert asked.certificate.proof.steps
    with pytest.raises(CertificateError, match="its lower bound is"):
        check(Certificate.from_dict(asked.honest | {"lower_bound": bound}), asked.model)


def test_steps_that_are_wrong_leave_values_unserved():
    """Whose price or function is not what made the cells go."""
    fates = Counter()
    for kind, seed in itertools.product(KINDS, range(2)):
        asked = Asked(kind, seed, rank=0.9)
        proof = asked.certificate.proof
        for k, (price, (unit, numbers)) in enumerate(proof.steps):
            for other in (
                ProofStep(0.0, Function(unit, numbers)),
                ProofStep(price, Function(unit, -numbers)),
                ProofStep(price, Function(unit, 0 * numbers)),
                ProofStep(100 * price, Function(unit, numbers)),
            ):
                steps = (*proof.steps[:k], other, *proof.steps[k + 1 :])
                forged = replace(asked.certificate, proof=replace(proof, steps=steps))
                believed = confirmed(forged.to_dict(), asked.model)
                assert not believed or is_true(forged, asked.model)
                fates[believed] += 1
        without = replace(asked.certificate, proof=replace(proof, steps=()))
        fates["without", confirmed(without.to_dict(), asked.model)] += len(proof.steps) > 0
    assert fates[False] > 20, fates
    assert fates["without", False] > 5, fates


def test_a_leaf_rests_on_its_function(monkeypatch):
    """With its numbers turned round, or none, it is refused, unless it is looked at in parts."""
    fates = Counter()
    monkeypatch.setattr(checker, "PARTS", 1)
    for kind, seed, wanted in itertools.product(KINDS, range(3), (0, 1)):
        asked = Asked(kind, seed, "l2", wanted, rank=0.95)
        proof = asked.certificate.proof
        assert confirmed(asked.honest, asked.model)
        for scale in (-1, 0, 50):
            functions = tuple(Function(unit, scale * n) for unit, n in proof.functions)
            forged = replace(asked.certificate, proof=replace(proof, functions=functions))
            fates[confirmed(forged.to_dict(), asked.model)] += len(functions) > 0
    assert fates[False] > 5, fates


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"numbers": [1]}, "expected one for each of"),
        ({"unit": -800}, "serves in its place"),
        ({"unit": 600}, "serves in its place|beyond what floats can hold"),
        ({"unit": 0.5}, "expected a power of 2"),
        ({"numbers": [0.5]}, "whole numbers"),
    ],
)
def test_a_function_that_makes_no_sense_is_refused(change, match):
    asked = next(a for seed in range(9) if (a := Asked("xgboost", seed, rank=0.95)).honest["steps"])
    step = asked.honest["steps"][0] | change
    with pytest.raises(CertificateError, match=match):
        check(Certificate.from_dict(asked.honest | {"steps": [step]}), asked.model)


def test_fewer_candidates_than_the_steps_leave_are_refused():
    fates = Counter()
    for kind, seed in itertools.product(KINDS, range(4)):
        asked = Asked(kind, seed, rank=0.95)
        proof = asked.certificate.proof
        for f, codes in enumerate(proof.candidates):
            for gone in range(len(codes)) if len(codes) > 1 else ():
                fewer = (*proof.candidates[:f], np.delete(codes, gone), *proof.candidates[f + 1 :])
                one = {"feature": [-1], "cut": [0], "price": [0.0]}
                forged = replace(asked.certificate, proof=replace(proof, candidates=fewer, **one))
                believed = confirmed(forged.to_dict(), asked.model)
                assert not believed or is_true(forged, asked.model)
                fates[believed] += 1
    assert fates[False] > 20, fates


# ---------------------------------------------------------------- the reader


@settings(max_examples=40)
@given(st.sampled_from(KINDS), st.integers(0, 5), st.integers(0, 1), st.integers(0, 10**6))
def test_bounds_hold_on_random_boxes_for_any_function(kind, seed, wanted, chance):
    """Scores and conditions, by the library's own sum at every point of a box."""
    model, _ = learnt(kind, seed % 3)
    reader, rng = readers.read(model, wanted), np.random.default_rng(chance)
    cells = tuple(np.arange(n) for n in reader.sizes)
    first = np.array([[rng.integers(0, n) * (chance % 2) for n in reader.sizes]])
    last = np.array(
        [
            [
                rng.integers(a, n) if chance % 2 else n - 1
                for a, n in zip(first[0], reader.sizes, strict=True)
            ]
        ]
    )
    atoms = len(reader.bounds(cells).trees.of_atom)
    h = Function(int(rng.integers(-60, 30)), rng.integers(-(2**20), 2**20, atoms))
    bounds = reader.bounds(cells, (h,))
    ranges = [np.arange(a, b + 1) for a, b in zip(first[0], last[0], strict=True)]
    points = np.array(list(itertools.product(*ranges)), np.int32)
    own = model if wanted == 1 or model.flipped is None else model.flipped
    side = 1 if own is not model or wanted == 1 else -1
    exact = side * own.exact_at(points)
    low, high = bounds.scores(first, last)
    theirs = side * own.at(points)
    assert (theirs >= low).all()
    assert (theirs <= high).all()
    choices = _all_of(first, last, cells)
    level = float(reader.down(np.quantile(exact, rng.random())))
    out, (condition,) = bounds.relaxed(choices, level, 0)
    gains = np.full(sum(map(len, cells)), -math.inf)
    gains[choices.candidate] = condition.gains
    each = gains[points + np.cumsum(reader.sizes) - reader.sizes].sum(axis=1)
    assert (each[exact >= level] >= condition.needed[0]).all()
    assert not (out[0] and (exact >= level).any())


def _all_of(first, last, cells):
    from trust_recourse.certificate.lagrangian import PricedCandidates
    from trust_recourse.certificate.reader import inside_boxes

    costs = np.zeros(sum(map(len, cells)))
    found = PricedCandidates(None, cells, costs)
    one = np.zeros(1), np.zeros(1, int)
    return found._choices(inside_boxes(found.sizes, first, last), *one, math.inf)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", [0, 1])
def test_levels_leave_out_no_point_that_the_library_accepts(kind, wanted):
    """Nor by the library's own rounding, which with some confidence of a row decides."""
    model, X = learnt(kind, 1, 80)
    reader = readers.read(model, wanted)
    cells = model.grid.cells(SCHEMA.encode(X))
    own = model if wanted == 1 or model.flipped is None else model.flipped
    side = 1 if own is not model or wanted == 1 else -1
    exact, said = side * own.exact_at(cells), model.predict_proba(X)[:, wanted]
    for confidence in np.unique(said).tolist():  # just what a row has
        assert (exact[said >= confidence] >= reader.least_score(confidence)).all()
        assert (-exact[said <= confidence] >= reader.least_turned(confidence)).all()


def test_what_is_fixed_before_the_search_is_fixed_by_the_checker_too():
    """Of people who cannot change all: there a proof has fewer atoms than the search."""
    from sklearn.ensemble import RandomForestClassifier

    X, y = german_credit()
    whole = german_credit_schema()
    schema = Schema(tuple(f for f in whole if f.kind == "integer")).lock("age")
    X = X[list(schema.names)]
    model = RandomForestClassifier(30, max_depth=4, random_state=0).fit(X, y)
    recourse = Recourse(model, schema, cost="l1")
    refused = [x for _, x in X.iterrows() if recourse.confidence(x) < 0.5][:12]
    proved = 0
    for x, level in itertools.product(refused, (0.5, 0.65)):
        result = recourse.find(x, level)
        proved += bool(result.certificate().proof.steps)
        check(result.certificate(), recourse.model)
    assert proved > 10
