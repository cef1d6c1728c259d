"""Random models of several classes, of points, trees and rules, judged as every model is.

Of trees the library is asked once, when its model is adopted; the model as it is read is then the
one that is judged, for a library's softmax is ours but for rounding.
"""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from laws import checks, enumeration, lines, tables, trees
from laws.questions import a_cost, a_schema, a_table, chance, one_of
from laws.safety import check_noise, check_noise_of_winners, check_room
from trust_recourse import PTMClassifier, Schema, TMClassifier, from_model
from trust_recourse.models import Additive, ClassSums, Grid
from trust_recourse.models.sums import sum as sums

TREES = ("forest", "gradient boosting", "histogram", "lightgbm", "xgboost", "catboost")
KINDS = ("points", "lines", "rules", *(kind for kind in TREES if kind in trees.KINDS))


class Several:
    """A model of several classes, which can be asked about numbers between whole ones."""

    family = "library"

    def __init__(self, given) -> None:
        self.given, self.classes_, self.schema_ = given, given.classes_, given.schema_
        features = (
            replace(each, kind="number", step=None) if each.kind == "integer" else each
            for each in given.schema_
        )
        self.loose = Schema(tuple(features))

    def predict_proba(self, X):
        codes = self.loose.encode(X)
        if isinstance(self.given, ClassSums):
            return self.given.proba_of(codes)
        return self.given.machine_.proba_at(self.given.machine_.grid.cells(codes))

    @property
    def thresholds_(self):
        grid = getattr(self.given, "grid", None) or self.given.score_of(0).grid
        return [trees.near(edges) for edges in grid.edges]


def a_place(rng, kind):
    """Columns to ask about, each with its feature and an odd value, a model, a cost, a decision."""
    many = int(rng.integers(3, 6))
    if kind == "points":
        drawn = list(a_table(rng))
        drawn, schema, table = _tabled(rng, drawn)
        edges = [tables.some_edges(rng, feature, column) for feature, column, _ in drawn]
        given = some_points(rng, schema, edges, many)
    elif kind == "rules":
        drawn = list(a_table(rng))
        drawn, schema, table = _tabled(rng, drawn)
        y = trees.some_labels(rng, schema, table, many)
        given = one_of(rng, PTMClassifier, PTMClassifier, TMClassifier)(
            int(rng.choice([2, 6, 12])), 20, T=3, epochs=3, thresholds=one_of(rng, 2, 4),
            link="logistic", use_protected=True, schema=schema, random_state=0,
        ).fit(table, y)  # fmt: skip
    elif kind == "lines":
        drawn = [lines.ended(rng, *each) for each in a_table(rng)]
        drawn, schema, table = _tabled(rng, drawn)
        given = ClassSums(
            tuple(lines.a_line(rng, schema, table) for _ in range(many)), np.arange(many)
        )
    else:
        n = int(rng.integers(1, 5))
        room = max(2, round(trees.ROOM ** (1 / n)))
        drawn = [trees._a_feature(rng, kind, f"f{k}", room) for k in range(n)]
        drawn, schema, table = _tabled(rng, drawn)
        size = int(rng.integers(1, 6))
        library = trees.a_model(rng, kind, schema, table, size, (2, 5), many)
        given = from_model(library.given, schema)
    return drawn, schema, table, Several(given), a_cost(rng, schema), one_of(rng, None, 0.3)


def _tabled(rng, drawn):
    drawn, schema = a_schema(rng, drawn)
    return drawn, schema, pd.DataFrame({f.name: column for f, column, _ in drawn})


def some_points(rng, schema, edges, many) -> ClassSums:
    """Points of few digits for each class, on cuts of its own."""
    size, digits = 10 ** rng.uniform(-1, 1), one_of(rng, 1, 2, 15)
    models = []
    for _ in range(many):
        own = [[edge for edge in each if chance(rng, 0.7)] for each in edges]
        sizes = Grid(schema, tuple(np.array(each, float) for each in own)).sizes.tolist()
        points = [(size * rng.normal(size=n)).round(digits) for n in sizes]
        models.append(Additive(schema, own, points, base=float(rng.normal())))
    return ClassSums(tuple(models), np.arange(many))


def check_wins(court) -> None:
    """The cheapest row of which no other class is likelier; a tie goes to the class first named."""
    case, rows = court.case, court.rows
    proba = case.model.predict_proba(enumeration.table(case.schema, rows.codes))
    if checks.is_tied(proba):
        return
    wins = proba.argmax(axis=1) == case.wanted
    result = court.recourse.find(case.person, mode="argmax")
    ((target, status),) = result.status.items()
    court.count(f"{status}, wins")
    checks.check_certificate(court, result, target)
    expected = "already_met" if wins[0] else "optimal" if wins.any() else "infeasible"
    court.law(status == expected, f"wins: {status}, but by enumeration {expected}")
    for option in result.options:
        codes = court.codes(option.x)
        exact = court.point("argmax", codes, option.cost, option.confidence)
        least = rows.least(wins)
        cheapest = least is not None and checks.no_dearer(exact, least)
        court.law(cheapest, f"wins: {checks.told(exact)}, but {checks.told(least)} is enough")


def judge(seed: int) -> checks.Findings:
    """All laws of an answer."""
    kind, found = KINDS[seed % len(KINDS)], []
    reduced = sums.reduced_leaves

    def counted(*given):
        found.append(reduced(*given))
        return found[-1]

    def place(rng):
        return a_place(rng, kind)

    with mock.patch.object(sums, "reduced_leaves", counted), threadpool_limits(1):
        cells = kind != "lines"
        safe = (check_noise, check_noise_of_winners, check_room)
        more = (check_wins, *(safe if cells else ()))
        findings = checks.judge(seed, place, more)
    findings.counts[f"{kind} of several classes"] += findings.counts.pop("Several", 0)
    findings.counts["questions that were reduced"] += sum(each is not None for each in found)
    return findings
