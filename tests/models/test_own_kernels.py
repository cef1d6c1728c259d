"""Kernels of users' own: in Python, in C, and several families in one search."""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import boosted
import trust_recourse
from trust_recourse import Recourse
from trust_recourse.models.kernel import PythonKernel, TableKernel
from trust_recourse.models.subproblem import Condition
from trust_recourse.models.sums.additive import Points
from trust_recourse.question.cost import Cost
from trust_recourse.search.branch_and_bound import BranchAndBound
from trust_recourse.search.candidates import candidates
from trust_recourse.testing import check_cell_model
from worlds import LOAN, card, machine

INCLUDE = Path(trust_recourse.__file__).parent / "include"


class Wrapped(PythonKernel):
    """The leaves of trees, by a method of Python."""

    def __init__(self, *given):
        self.whole, self.sizes = boosted.Leaves(*given, remembers=False), []

    def intervals(self, first, last):
        self.sizes.append(len(first))
        return self.whole.intervals(first, last)


def trees(seed, kernel=boosted.Leaves):
    edges = [np.arange(1.5, 12), np.arange(0.5, 9), np.array([])]
    model = boosted.Boosted(LOAN, edges, n_trees=6, depth=3, rng=np.random.default_rng(seed))
    model.score = type("Score", (boosted.Sum,), {"leaves": kernel})
    return model


def people(seed, many):
    rng = np.random.default_rng(seed)
    return LOAN.decode(rng.integers([1, 0, 0], [13, 10, 3], (many, 3)).astype(float))


def costs(recourse, table, level):
    found = [recourse.find(x, level) for _, x in table.iterrows()]
    return [[option.cost for option in each.options] for each in found]


@pytest.mark.parametrize("seed", range(3))
def test_a_kernel_in_python_finds_the_answers_of_the_compiled_one(seed):
    sizes = []

    class Counted(Wrapped):
        def intervals(self, first, last):
            sizes.append(len(first))
            return super().intervals(first, last)

    table = people(seed, 12)
    compiled, python = (Recourse(trees(seed, k), LOAN, "l1") for k in (boosted.Leaves, Counted))
    found = costs(python, table, 0.55)
    assert found == costs(compiled, table, 0.55)
    assert any(found)
    assert 2 in sizes, "both parts of a box are bounded in one call"


def test_an_exception_in_a_kernel_ends_the_search():
    left = [20]

    class Failing(Wrapped):
        def intervals(self, first, last):
            left[0] -= 1
            if left[0] < 0:
                raise KeyError("points")
            return super().intervals(first, last)

    recourse = Recourse(trees(0, Failing), LOAN, "l1")
    for _ in range(2):
        with pytest.raises(KeyError, match="points"):
            costs(recourse, people(0, 12), 0.55)


@pytest.mark.parametrize("wrong", [lambda out: out[:, 1:], lambda out: out[:0], lambda _: None])
def test_bounds_of_another_shape_are_refused(wrong):
    class Short(Wrapped):
        def intervals(self, first, last):
            return wrong(super().intervals(first, last))

    recourse = Recourse(trees(0, Short), LOAN, "l1")
    with pytest.raises(ValueError, match=r"intervals\(\) of 1 boxes: expected .* 5 columns"):
        costs(recourse, people(0, 12), 0.55)


SUMS = """
#include "trust_kernel.h"
#include <math.h>
#include <stddef.h>

/* a sum of numbers of cells: features, where each feature's begin, then the numbers */
struct sums { int64_t features; const int64_t *first; const double *numbers; };

void interval(void *self, const int64_t *span, double *out, const double *memory) {
    const struct sums *s = self;
    (void)memory;
    out[0] = out[1] = 0.0;
    for (int64_t f = 0; f < s->features; ++f) {
        double least = INFINITY, most = -INFINITY;
        for (int64_t c = span[f]; c <= span[s->features + f]; ++c) {
            const double x = s->numbers[s->first[f] + c];
            least = fmin(least, x);
            most = fmax(most, x);
        }
        out[0] += least;
        out[1] += most;
        out[2 + f] = most - least;
    }
    out[0] -= 1e-12;
    out[1] += 1e-12;
}

const trust_kernel table = {NULL, interval, NULL, NULL};
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_kernel_in_c_passes_the_kit(tmp_path):
    (tmp_path / "sums.c").write_text(SUMS)
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}"]
    subprocess.run(["cc", *options, "sums.c", "-o", "sums.so", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "sums.so"))

    class Sums(ctypes.Structure):
        _fields_ = (
            ("features", ctypes.c_int64), ("first", ctypes.c_void_p), ("numbers", ctypes.c_void_p),
        )  # fmt: skip

    model = card(1)
    kept = model._kernel.layout, model._kernel.numbers
    own = Sums(3, *(array.ctypes.data for array in kept))
    plain = model._kernel
    model._kernel = TableKernel(
        ctypes.cast(library.interval, ctypes.c_void_p).value,
        self_address=ctypes.addressof(own),
        owner=(library, own, kept),
    )
    for name in ("lowest", "width", "unit", "slack"):
        setattr(model._kernel, name, getattr(plain, name))
    assert check_cell_model(model, random_state=1, n_boxes=60).questions >= 10


def test_conditions_may_have_kernels_of_several_families():
    model, X, _ = machine(1)
    schema, own = model.schema_, model.schema_.encode(X.iloc[:1])[0]
    action_set, cost = schema.action_set_of(own), Cost.named("l1")
    machine_score = model.score_of(1)
    features = candidates(machine_score.grid, action_set, cost)
    rows = np.array(list(itertools.islice(itertools.product(*(f.codes for f in features)), 4000)))
    if math.prod(len(f.codes) for f in features) > len(rows):
        pytest.skip("too many rows to enumerate")
    sizes = machine_score.grid.sizes
    rng = np.random.default_rng(0)
    points = [rng.normal(size=n) for n in sizes]
    kernel = Points(machine_score.grid, points, 0.0)
    sums = sum(p[c] for p, c in zip(points, machine_score.grid.cells(rows).T, strict=True))
    numbers = 0.25 + (sums - sum(p.min() for p in points)) / kernel.width
    confidence = machine_score.at(machine_score.grid.cells(rows))
    level, least = float(np.quantile(confidence, 0.6)), float(np.quantile(numbers, 0.6))

    class Score:
        grid = machine_score.grid

    Score.kernel = kernel
    cells = np.concatenate([f.cells for f in features]).astype(np.int64)
    ends = machine_score.interval(level, 2.0)
    conditions = [
        Condition(machine_score, *ends, 1, cells), Condition(Score, least, 2.0, 1, cells),
    ]  # fmt: skip
    search = BranchAndBound(features, conditions)
    found = search.best(
        *ends, 1, lambda at: machine_score.at_codes(search.codes_of(at)[None])[0] >= level
    )
    met = (confidence >= level) & (numbers >= least - 1e-9)
    prices = np.array([cost.between(schema.features, own, row) for row in rows])
    assert met.any()
    assert search.cost_of(found.point) == pytest.approx(prices[met].min(), rel=1e-9)


@pytest.mark.parametrize("family", ["machine", "python", "table"])
def test_two_threads_get_the_answers_of_one(family):
    if family == "machine":
        model, X, _ = machine(2)
        recourse, table = Recourse(model, cost="l1"), X.head(8)
    else:
        model = trees(2, Wrapped if family == "python" else boosted.Leaves)
        recourse, table = Recourse(model, LOAN, "l1"), people(2, 16)
    halves = table.iloc[::2], table.iloc[1::2]
    for level in (0.55, 0.6):
        one_by_one = [costs(recourse, half, level) for half in halves]
        with ThreadPoolExecutor(2) as pool:
            together = pool.map(lambda half, level=level: costs(recourse, half, level), halves)
            assert list(together) == one_by_one
        assert any(any(each) for half in one_by_one for each in half)
