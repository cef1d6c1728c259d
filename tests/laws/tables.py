"""Random sums of tables of one feature and of two, judged as every model is."""

from __future__ import annotations

import itertools
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd

from laws import checks
from laws.enumeration import is_blank, labels, numeric
from laws.questions import Card, a_cost, a_schema, a_table, chance, one_of
from laws.safety import check_noise, check_room
from trust_recourse import Schema
from trust_recourse.models.grid import Grid
from trust_recourse.models.seam import of_class
from trust_recourse.models.sums import score
from trust_recourse.models.sums.dense_tables import Pair


class Sum(Card):
    """A sum of tables, which can be asked about numbers between whole ones, as libraries can."""

    def predict_proba(self, X):
        features = (
            replace(each, kind="number", step=None) if each.kind == "integer" else each
            for each in self.schema_
        )
        cells = self.grid.cells(Schema(tuple(features)).encode(X))
        yes = self.confidence(self.sum.at(cells)[:, 0])
        return np.column_stack([of_class(yes, 0), yes])


def a_place(rng):
    """Columns to ask about, each with its feature and an odd value, a model, a cost, a decision."""
    drawn = list(a_table(rng))
    while len(drawn) < 2:
        drawn = list(a_table(rng))
    drawn, schema = a_schema(rng, drawn)
    table = pd.DataFrame({feature.name: column for feature, column, _ in drawn})
    model = a_sum(rng, schema, [some_edges(rng, feature, column) for feature, column, _ in drawn])
    return drawn, schema, table, model, a_cost(rng, schema), one_of(rng, None, 0.3)


def some_edges(rng, feature, column):
    """Cuts at values and between them; of an ordered choice between some of its levels."""
    if feature.kind == "category":
        return []
    if not numeric(feature):
        codes = np.arange(len(labels(feature)) - 1.0)
        return codes[rng.random(len(codes)) < 0.8].tolist()
    known = np.unique([float(v) for v in column if not is_blank(v) and v not in feature.missing])
    cuts = np.unique(np.concatenate([known, (known[1:] + known[:-1]) / 2]))
    cuts = np.unique(np.floor(cuts)) if feature.kind == "integer" else cuts
    cuts = np.setdiff1d(cuts, [code for code in feature.missing if not is_blank(code)])
    return np.sort(
        rng.choice(cuts, min(len(cuts), int(rng.integers(1, 9))), replace=False)
    ).tolist()


def a_sum(rng, schema, edges, share=0.6) -> Sum:
    """Points of few digits, so that there are ties, or far from 0; bins in any order."""
    sizes = Grid(schema, tuple(np.array(each, float) for each in edges)).sizes.tolist()
    size, digits = 10 ** rng.uniform(-2, 1), one_of(rng, 1, 2, 15)
    points = [(size * rng.normal(size=n)).round(digits) for n in sizes]
    every = [*itertools.permutations(range(len(sizes)), 2)]
    some = [both for both in every if chance(rng, share / 2)] or [every[0]]
    pairs = []
    for f, g in some:
        bins = [_bins(rng, sizes[each]) for each in (f, g)]
        shape = tuple(int(each.max()) + 1 for each in bins)
        scale = one_of(rng, 0.3, 1.0, 3.0) * size
        pairs.append(Pair((f, g), tuple(bins), (scale * rng.normal(size=shape)).round(digits)))
    far = one_of(rng, 0.0, 0.0, 0.0, 1e4)
    points[0] -= far
    base, classes = far + float(rng.normal()), one_of(rng, (0, 1), ("no", "yes"))
    return Sum(schema, edges, points, pairs=pairs, base=base, classes=classes)


def _bins(rng, cells):
    """For each cell a bin: runs of cells, as of numbers, or any."""
    many = int(rng.integers(1, min(cells, 6) + 1))
    bins = rng.integers(0, many, cells)
    return np.unique(np.sort(bins) if chance(rng, 0.6) else bins, return_inverse=True)[1]


def judge(seed: int) -> checks.Findings:
    """All laws of an answer, with questions reduced by force or as they come."""
    rng, reduced, found = np.random.default_rng(seed), score.reduced_tables, []

    def counted(*given):
        found.append(reduced(*given))
        return found[-1]

    fewest = 0 if chance(rng, 0.7) else score.FEWEST
    with (
        mock.patch.object(score, "FEWEST", fewest),
        mock.patch.object(score, "reduced_tables", counted),
    ):
        findings = checks.judge(seed, a_place, (check_noise, check_room))
    findings.counts["sums of tables"] += findings.counts.pop("Sum", 0)
    findings.counts["questions that were reduced"] += len(found)
    findings.counts["cells fixed"] += sum(_fixed(each) for each in found)
    return findings


def _fixed(less) -> int:
    """Whether a reduction left less than all cells."""
    return int(any(len(kept) < kept[-1] + 1 for kept in less.kept))
