"""Whether what a certificate claims is true, by enumeration and in exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from trust_recourse.certificate import readers
from trust_recourse.question import Status
from trust_recourse.schema import SchemaError


def paid(problem, row):
    """What a row costs before the root, as an exact fraction, which nothing can overflow."""
    cost, total = problem.cost, Fraction(0)
    for feature, a, b in zip(problem.action_set.schema, problem.action_set.own, row, strict=True):
        if a == b or (math.isnan(a) and math.isnan(b)):
            continue
        moved = weight = Fraction(feature.weight)
        if feature.kind != "category" and not math.isnan(a):
            moved *= abs(Fraction(b) - Fraction(a)) / Fraction(feature.scale)
        total += sum(Fraction(part) * by for part, by in (
            (cost.l0, weight), (cost.l1, moved), (cost.l2, moved**2)))  # fmt: skip
    return total


def some_values(actions, thresholds):
    """All that a feature may become; where that has no end, what is nearest in each cell."""
    try:
        return actions.values(200).tolist()
    except SchemaError:
        cells = itertools.pairwise([-math.inf, *thresholds.tolist(), math.inf])
        nearest = {actions.nearest(*cell) for cell in cells} - {None, actions.own}
        return [actions.own, *nearest]


def readings(schema):
    parts = ("name", "kind", "values", "missing")
    return [[getattr(feature, part) for part in parts] for feature in schema]


def is_true(certificate, model):
    """Whether enumeration finds nothing against what a certificate claims of its own question."""
    problem, answer = certificate.problem, certificate.answer
    action_set, target = problem.action_set, problem.target
    if readings(action_set.schema) != readings(model.schema_):
        return False
    if problem.wanted >= len(model.classes_):
        return False
    values = map(some_values, action_set.actions, readers.read(model, 1).edges)
    rows = [row for row in itertools.product(*values) if action_set.allows(row)]
    if answer is not None and len(answer.codes) == len(action_set.actions):
        rows += [answer.codes] * action_set.allows(answer.codes)
    if problem.wanted >= len(model.classes_):
        return False
    p = model.predict_proba(action_set.schema.decode(np.array(rows)))[:, problem.wanted]
    met = [row for row, c in zip(rows, p, strict=True) if target.met(c)]
    if certificate.status is Status.INFEASIBLE:
        return not met
    if answer is None or not any(np.array_equal(answer.codes, row, equal_nan=True) for row in met):
        return False
    if not (math.isfinite(certificate.lower_bound) and math.isfinite(answer.cost)):
        return False

    def added(bound):
        return Fraction(bound) ** 2 if problem.cost.root else Fraction(bound)

    least, close = min(paid(problem, row) for row in met), 1 + Fraction(1, 10**8)
    best = certificate.status is not Status.OPTIMAL or added(answer.cost) <= least * close
    dearest = paid(problem, answer.codes) * close
    return (
        best and added(certificate.lower_bound) <= least * close and added(answer.cost) <= dearest
    )
