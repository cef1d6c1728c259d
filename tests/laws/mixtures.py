"""Random sums of several kinds at once, judged as every model is.

A model of two classes has slopes and tables of two features together; of several classes each has
slopes, tables or trees.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from laws import checks, lines, tables, trees
from laws.classes import Several, check_wins
from laws.questions import Card, a_cost, a_schema, a_table, chance, one_of
from trust_recourse import from_model
from trust_recourse.models import ClassSums
from trust_recourse.models.sums import score

TREES = ("histogram", *(kind for kind in ("lightgbm", "xgboost") if kind in trees.KINDS))


def a_mixed_card(rng):
    """Columns, each with its feature and an odd value, a card with slopes and pairs, and a cost."""
    drawn = [lines.ended(rng, *each) for each in a_table(rng)]
    while len(drawn) < 2:
        drawn = [lines.ended(rng, *each) for each in a_table(rng)]
    drawn, schema = a_schema(rng, drawn)
    table = pd.DataFrame({feature.name: column for feature, column, _ in drawn})
    return drawn, schema, table, _with_pairs(rng, schema, table), a_cost(rng, schema)


def _with_pairs(rng, schema, table) -> Card:
    line = lines.a_line(rng, schema, table)
    edges = [each.tolist() for each in line.grid.edges]
    pairs = tables.a_sum(rng, schema, edges).pairs
    made = Card(schema, edges, line.points, slopes=line.slopes, pairs=pairs, classes=line.classes_)
    middle = float(np.nan_to_num(np.median(made.total(schema.encode(table)))))
    return Card(
        schema, edges, line.points, slopes=line.slopes, pairs=pairs, base=-middle,
        classes=line.classes_,
    )  # fmt: skip


def some_classes(rng):
    """Columns, a model of several classes of different kinds, a cost and a decision."""
    kind, n = one_of(rng, *TREES), int(rng.integers(2, 4))
    room = max(2, round(trees.ROOM ** (1 / n)))
    drawn = [lines.ended(rng, *trees._a_feature(rng, kind, f"f{k}", room)) for k in range(n)]
    drawn, schema = a_schema(rng, drawn)
    table = pd.DataFrame({feature.name: column for feature, column, _ in drawn})
    edges = [tables.some_edges(rng, feature, column) for feature, column, _ in drawn]
    made = [one_class(rng, kind, schema, table, edges) for _ in range(int(rng.integers(3, 5)))]
    given = ClassSums(tuple(made), np.arange(len(made)))
    return drawn, schema, table, Several(given), a_cost(rng, schema), one_of(rng, None, 0.3)


def one_class(rng, kind, schema, table, edges):
    """The sum of one class."""
    which = one_of(rng, "trees", "line", "table", "both")
    if which == "trees":
        library = trees.a_model(rng, kind, schema, table, int(rng.integers(1, 5)), (2, 5))
        return from_model(library.given, schema)
    if which == "line":
        return lines.a_line(rng, schema, table)
    if which == "table":
        return tables.a_sum(rng, schema, edges)
    return _with_pairs(rng, schema, table)


def judge(seed: int) -> checks.Findings:
    """All laws of an answer, with questions reduced by force or as they come."""
    rng = np.random.default_rng(seed)
    fewest = 0 if chance(rng, 0.7) else score.FEWEST
    several = bool(seed % 2)
    place, more = (some_classes, (check_wins,)) if several else (a_mixed_card, ())
    with mock.patch.object(score, "FEWEST", fewest), threadpool_limits(1):
        findings = checks.judge(seed, place, more)
    kind = "classes of several kinds" if several else "cards with slopes and pairs"
    findings.counts[kind] += findings.counts.pop("Several" if several else "Card", 0)
    return findings
