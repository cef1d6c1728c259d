"""The sum at each cell of one feature is that of asking for every row again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from trust_recourse import Schema
from trust_recourse.models.readers import library as sums
from trust_recourse.models.sums.one_feature import at_each_cell
from trust_recourse.report.model.agreement import ranks
from trust_recourse.report.protected import uses

DATA = Path(__file__).parents[2] / "data" / "libraries"


@pytest.mark.parametrize("name", ["lightgbm.txt", "xgboost.json", "catboost.json"])
def test_the_score_at_each_cell_is_that_of_the_model(name):
    schema = Schema.from_yaml(DATA / "schema.yaml")
    model = sums.read_file(DATA / name, schema).model
    rows = pd.read_csv(DATA / "rows.csv")[list(schema.names)]
    given = model.grid.cells(schema.encode(rows))
    cells = given.copy()
    for f, size in enumerate(model.grid.sizes):
        found = list(at_each_cell(model, cells, f))
        assert len(found) == size
        for cell, scores in enumerate(found):
            other = cells.copy()
            other[:, f] = cell
            assert np.array_equal(scores, model.at(other))
    assert np.array_equal(cells, given)


def test_a_protected_feature_sends_all_rows_down_few_trees(monkeypatch):
    schema = Schema.from_yaml(DATA / "schema.yaml")
    model = sums.read_file(DATA / "lightgbm.txt", schema).model
    rows = schema.encode(pd.read_csv(DATA / "rows.csv")[list(schema.names)])
    asked = []
    whole = type(model).at
    monkeypatch.setattr(type(model), "at", lambda self, c: asked.append(len(c)) or whole(self, c))
    guarded = schema.update(schema.names[0], mutable=False, protected=True)
    (use,) = uses(model, guarded, rows)
    assert use.feature.name == schema.names[0]
    assert not asked, "all trees were asked about all rows, once for each cell"


def test_ranks_are_those_of_scipy():
    values = np.random.default_rng(0).integers(0, 9, 200) / 4
    assert np.array_equal(ranks(values), rankdata(values))
