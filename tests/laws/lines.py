"""Random cards with slopes, beside cells, categories and blanks, against enumeration.

Numbers with a slope have a step and two bounds here, so that all their values can be looked at.
"""

from __future__ import annotations

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd

from laws import checks
from laws.enumeration import is_blank, labels, numeric
from laws.questions import Card, a_cost, a_schema, a_table, chance, one_of
from trust_recourse.models import knapsack
from trust_recourse.models.sums import score


def a_place(rng):
    """Columns, each with its feature and an odd value, a card with slopes, and a cost."""
    drawn = [ended(rng, *each) for each in a_table(rng)]
    drawn, schema = a_schema(rng, drawn)
    table = pd.DataFrame({feature.name: column for feature, column, _ in drawn})
    return drawn, schema, table, a_line(rng, schema, table), a_cost(rng, schema)


def ended(rng, feature, column, odd):
    """A number that may have a slope has a step and bounds."""
    if not numeric(feature) or chance(rng, 0.2):
        return feature, column, odd
    known = _known(column, feature)
    low, high = (float(end) if known.size else 0.0 for end in (known.min(), known.max()))
    step = feature.step or float(f"{max(high - low, 1.0) / one_of(rng, 3, 8):.2g}")
    lower = low if feature.lower is None else feature.lower
    upper = max(high, lower) if feature.upper is None else feature.upper
    return replace(feature, lower=min(lower, upper), upper=upper, step=step), column, odd


def _known(column, feature):
    gone = [code for code in feature.missing if code is not None]
    found = [float(v) for v in column.tolist() if not is_blank(v) and v not in gone]
    return np.array(found or [0.0])


def a_line(rng, schema, table) -> Card:
    """Slopes on what has an end and a step, few digits for ties, and cells here and there."""
    edges, points, slopes = [], [], []
    size, digits = 10 ** rng.uniform(-1, 1), one_of(rng, 1, 2, 15)
    for feature in schema:
        known = _known(table[feature.name], feature) if numeric(feature) else np.zeros(1)
        cuts, many = [], len(labels(feature))
        if numeric(feature) and chance(rng, 0.4):
            cuts = np.unique(rng.choice(known, int(rng.integers(1, 4)))).tolist()
        if feature.kind in ("ordinal", "boolean"):
            cuts = np.arange(many - 1.0).tolist()
        cells = many if feature.kind == "category" else len(cuts) + 1
        missing = bool(feature.missing)
        points.append((size * rng.normal(size=cells + missing)).round(digits))
        ended = None not in (feature.lower, feature.upper, feature.step)
        steep = size * rng.normal(size=cells) / (np.ptp(known) or 1.0)
        sloped = numeric(feature) and ended and chance(rng, 0.8)
        steep = steep if sloped else np.zeros(cells)
        if sloped and chance(rng, 0.3):
            steep[int(rng.integers(cells))] = 0.0
        slopes.append(np.append(steep, [0.0] * missing))
        edges.append([] if feature.kind == "category" else cuts)
    middle = np.median([Card(schema, edges, points, slopes=slopes).total(schema.encode(table))])
    base = -float(middle) if math.isfinite(middle) else 0.0
    names = one_of(rng, (0, 1), (False, True), ("no", "yes"))
    return Card(schema, edges, points, slopes=slopes, base=base, classes=names)


def judge(seed: int) -> checks.Findings:
    """All laws of an answer, with questions reduced by force or as they come, or bought at once."""
    rng = np.random.default_rng(seed)
    fixed, found = score.fixed, []

    def counted(*given):
        found.append(fixed(*given))
        return found[-1]

    fewest = mock.patch.object(
        score, "FEWEST_VALUES", 0 if chance(rng, 0.7) else score.FEWEST_VALUES
    )
    by_boxes = mock.patch.object(knapsack, "MOST_NODES", 0 if chance(rng, 0.5) else 1 << 15)
    with fewest, by_boxes, mock.patch.object(score, "fixed", counted):
        findings = checks.judge(seed, a_place)
    findings.counts["questions that were reduced"] += sum(each is not None for each in found)
    return findings
