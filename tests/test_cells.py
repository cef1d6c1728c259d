"""The seam: the one map from values to cells, several conditions at once, and what is compiled."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import types

from trust_recourse import Feature, Schema
from trust_recourse.cells import Condition, Grid, compiled
from trust_recourse.cost import Cost
from trust_recourse.search.branch_and_bound import BranchAndBound
from trust_recourse.search.candidates import candidates
from worlds import LOAN, card


@given(st.lists(st.integers(1, 12), unique=True), st.floats(0, 13))
def test_a_cell_ends_at_its_edge(edges, value):
    edges = np.sort(np.array(edges, float))
    grid = Grid(LOAN, (edges, np.array([2.0]), np.array([])))
    cell = int(grid.cells(np.array([[value, math.nan, 1.0]]))[0, 0])
    assert cell == sum(edge < value for edge in edges.tolist())
    ends = grid.ends(0)
    assert ends[cell] < value <= ends[cell + 1]
    assert grid.cells(np.array([[value, math.nan, 1.0]]))[0, 1:].tolist() == [2, 1]


@pytest.mark.parametrize("seed", range(25))
def test_several_conditions_are_met_at_once_as_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    cards = [card(seed + 100 * i) for i in range(3)]
    wanted = rng.integers(0, 2, 3).tolist()
    scores = [c.score_of(w) for c, w in zip(cards, wanted, strict=True)]
    own = rng.integers([1, 0, 0], [13, 10, 3]).astype(float)
    action_set, cost = LOAN.action_set_of(own), Cost.named("l1")
    features = candidates(scores[0].grid, action_set, cost)
    rows = np.array(list(itertools.product(*(f.codes for f in features))))
    costs = np.array([cost.between(LOAN.features, own, row) for row in rows])
    sure = np.array([score.at(score.grid.cells(rows)) for score in scores])
    levels = [float(np.quantile(each, rng.uniform(0.4, 0.9))) for each in sure]
    conditions = []
    for score, level in zip(scores, levels, strict=True):
        row = [score.grid.cells_in(f, each.codes) for f, each in enumerate(features)]
        ends = score.interval(level, 2.0)
        side = 1 if score.rises else -1
        conditions.append(Condition(score, *ends, side, np.concatenate(row).astype(np.int64)))
    search = BranchAndBound(features, conditions)
    codes = np.concatenate([f.codes for f in features])

    def accept(at):
        row = codes[search.task.offset[:-1] + at]
        now = [score.at(score.grid.cells(row[None]))[0] for score in scores]
        return all(p >= level for p, level in zip(now, levels, strict=True))

    found = search.best(conditions[0].low, conditions[0].high, conditions[0].side, accept)
    met = (sure >= np.array(levels)[:, None]).all(axis=0)
    assert (found.point is not None) == met.any()
    if met.any():
        assert search.cost_of(found.point) == pytest.approx(costs[met].min(), rel=1e-12)


@pytest.mark.slow
def test_a_change_in_any_kernel_file_is_noticed(tmp_path):
    """A function that calls another file's is compiled anew when that one changes."""
    program = textwrap.dedent("""
        import hashlib, pathlib, sys
        from trust_recourse import cells
        here = pathlib.Path(sys.argv[1])
        cells._sources = lambda: hashlib.sha256((here / "inner.py").read_bytes()).hexdigest()
        sys.path.insert(0, str(here))
        import outer
        print(outer.twice(4.0), sum(outer.twice.stats.cache_hits.values()))
    """)
    (tmp_path / "outer.py").write_text(
        "from inner import one\nfrom trust_recourse.cells import kernel\n\n"
        "@kernel\ndef twice(x):\n    return 2.0 * one(x)\n"
    )
    said = []
    for shown in ("x + 1.0", "x + 1.0", "x + 2.0"):
        (tmp_path / "inner.py").write_text(
            f"from trust_recourse.cells import inline\n\n@inline\ndef one(x):\n    return {shown}\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        said.append(ran.stdout.split())
    assert said == [["10.0", "0"], ["10.0", "1"], ["12.0", "0"]]


def test_ints_of_any_kind_share_one_compiled_function():
    """A constant, an int32 of an array and an int64 are all a number of the same type."""

    @compiled(cache=False, forceinline=True)
    def one_more(x):
        return x + 1

    @compiled(cache=False)
    def total(small, n):
        return one_more(small[0]) + one_more(n) + one_more(7)

    assert total(np.array([2], np.int32), 5) == 3 + 6 + 8
    assert [*one_more.overloads] == [(types.int64,)]
    with pytest.raises(TypeError, match="one_more is called by compiled code alone"):
        one_more(1)


@pytest.mark.parametrize(
    ("step", "lower", "edge"),
    [(1, 0, "2,015"), (100, 0, "2,015"), (0.5, 0, "2,015.5"), (1, 0.25, "2,015.5")],
)
def test_an_edge_between_whole_numbers_is_shown_as_a_whole_number(step, lower, edge):
    pay = Feature("pay", step=step, lower=lower, upper=9000)
    grid = Grid(Schema((pay,)), (np.array([2015.5000000000002]),))
    assert grid.statement(0, np.array([True, False])) == f"pay ≤ {edge}"
    assert grid.statement(0, np.array([False, True])) == f"pay > {edge}"
