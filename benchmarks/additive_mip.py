"""The same question about a sum of points, slopes and tables, as a program for HiGHS (in SciPy).

- `by_values`: a binary for each value worth trying, one of each feature. A table of two features
  has a weight for each pair of its bins; those of a row weigh as much as the values in that row's
  bin, and those of a column as its values, which is as tight as such rows can be.
- `by_steps`, where costs are linear and columns have slopes: a number is its own value and whole
  steps up or down, two variables and no binaries; words are binaries. Made for HiGHS: it is small.

To a gap of 0. HiGHS keeps rows to within 1e-6, so what it finds may miss the target by as much.
Seconds are of CPU, those to write the problem down told apart.
"""

from __future__ import annotations

import math
import time
from multiprocessing import Pipe, get_context
from resource import RLIMIT_CPU, setrlimit

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from rivals import Told
from trust_recourse.question import Problem, Target
from trust_recourse.search.exact import Exact

LARGE = 10_000  # columns, from which on a program is solved in a process of its own
FINER = 1e3  # that costs are told larger by: HiGHS ends where 1e-6 of them is left to save


class Program:
    """Columns with costs and bounds, and rows, written down one after another."""

    def __init__(self):
        self.costs, self.most, self.whole = [], [], []
        self.rows, self.low, self.high = [], [], []
        self.n = 0

    def columns(self, costs, most=1.0, whole=True):
        """New columns from 0 to the most; gives where they begin."""
        begin, self.n = self.n, self.n + len(costs)
        self.costs.append(np.asarray(costs, float))
        self.most.append(np.broadcast_to(np.asarray(most, float), len(costs)))
        self.whole.append(np.full(len(costs), int(whole)))
        return begin

    def row(self, at, weights, low, high):
        """One row."""
        at = np.asarray(at)
        self.block(np.zeros_like(at), at, np.broadcast_to(weights, at.shape), 1, low, high)

    def block(self, rows, at, weights, many, low, high):
        """So many rows at once, given by their entries."""
        self.rows.append((np.asarray(rows), np.asarray(at), np.asarray(weights, float), many))
        self.low.append(np.full(many, low, float))
        self.high.append(np.full(many, high, float))

    def written(self):
        """What `milp` takes."""
        parts = [csr_array((w, (r, a)), shape=(many, self.n)) for r, a, w, many in self.rows]
        rows = LinearConstraint(
            vstack(parts, "csr"), np.concatenate(self.low), np.concatenate(self.high)
        )
        return {
            "c": FINER * np.concatenate(self.costs), "integrality": np.concatenate(self.whole),
            "bounds": Bounds(0, np.concatenate(self.most)), "constraints": rows,
        }  # fmt: skip


def by_values(recourse, x, level, seconds):
    """A binary for each value."""
    begun = time.process_time()
    problem, candidates = _asked(recourse, x, level)
    model, program, score = recourse.model, Program(), []
    first = [program.columns(each.costs) for each in candidates]
    for f, (start, each) in enumerate(zip(first, candidates, strict=True)):
        at = start + np.arange(len(each.codes))
        program.row(at, 1.0, 1.0, 1.0)
        score.append((at, model.worth(f, each.codes)))
    cells = [model.grid.cells_in(f, each.codes) for f, each in enumerate(candidates)]
    own, base = model.grid.cells(problem.action_set.own[None])[0], model.base
    for pair in model.pairs:
        at, worth, here = _weights(program, pair, first, cells, own)
        score.append((at, worth))
        base += here
    at, worth = (np.concatenate(each) for each in zip(*score, strict=True))
    program.row(at, worth, needed(problem) - base, math.inf)
    written = program.written()
    writing = time.process_time() - begun

    def codes(found):
        chosen = (
            int(found[a : a + len(c.codes)].argmax())
            for a, c in zip(first, candidates, strict=True)
        )
        return np.array([c.codes[at] for c, at in zip(candidates, chosen, strict=True)])

    return solved(written, seconds, writing, codes)


def _asked(recourse, x, level):
    """The problem, and of each feature the values that are worth trying."""
    action_set = recourse.schema.action_set(x)
    problem = Problem(action_set, Target(level), recourse.cost, recourse.wanted_at)
    return problem, Exact(recourse.score, problem, scope="most_confident").features


def _weights(program, pair, first, cells, own):
    """The weights of a table's bins, coupled to the values; where points are, and their points.

    Weights with the person's own bin of either feature are what the others leave of the values, so
    they are no columns: at the person's own values all weights are 0, and HiGHS begins there.
    """
    of = [bins[cells[f]] for f, bins in zip(pair.features, pair.bins, strict=True)]
    mine = [int(bins[own[f]]) for f, bins in zip(pair.features, pair.bins, strict=True)]
    away = [np.setdiff1d(each, [b]) for each, b in zip(of, mine, strict=True)]
    moved = [np.flatnonzero(each != b) for each, b in zip(of, mine, strict=True)]
    values = [first[f] + at for f, at in zip(pair.features, moved, strict=True)]
    here = pair.table[mine[0], mine[1]]
    alone = [pair.table[away[0], mine[1]] - here, pair.table[mine[0], away[1]] - here]
    both = pair.table[np.ix_(*away)] - here - alone[0][:, None] - alone[1]
    at = program.columns(np.zeros(both.size), whole=False) + np.arange(both.size)
    at = at.reshape(both.shape)
    inverse = [np.searchsorted(a, each[k]) for a, each, k in zip(away, of, moved, strict=True)]
    for axis in range(2):
        row = np.broadcast_to(np.expand_dims(np.arange(both.shape[axis]), 1 - axis), both.shape)
        program.block(
            np.append(row.ravel(), inverse[axis]), np.append(at.ravel(), values[axis]),
            np.repeat([1.0, -1.0], [both.size, len(values[axis])]), both.shape[axis],
            -math.inf, 0.0,
        )  # fmt: skip
    left = np.concatenate([*values, at.ravel()])
    program.row(left, np.repeat([1.0, 1.0, -1.0], [*map(len, values), both.size]), -math.inf, 1.0)
    gains = [each[k] for each, k in zip(alone, inverse, strict=True)]
    return left, np.concatenate([*gains, both.ravel()]), here


def needed(problem):
    """The points that are enough."""
    least = problem.target.interval[0]
    return math.log(least / (1.0 - least))


def by_steps(recourse, x, level, seconds):
    """Two whole variables a number: steps up, and steps down."""
    begun = time.process_time()
    action_set = recourse.schema.action_set(x)
    problem = Problem(action_set, Target(level), recourse.cost, recourse.wanted_at)
    own, model, program = action_set.own, recourse.model, Program()
    score, read, base = [], [], model.base
    for f, feature in enumerate(recourse.schema):
        if feature.kind in ("number", "integer"):
            (slope,), step = model.slopes[f], feature.step
            ends = action_set.actions[f].destinations(-math.inf, math.inf)
            most = np.floor(np.abs(np.array(ends)[::-1] - own[f]) / step + 1e-9)
            at = program.columns(np.full(2, feature.weight * step / feature.scale), most)
            score.append((at + np.arange(2), slope * step * np.array([1.0, -1.0])))
            base += float(model.worth(f, own[f : f + 1])[0])
            read.append(lambda found, f=f, at=at, step=step: own[f] + step * (
                round(found[at]) - round(found[at + 1])))  # fmt: skip
        else:
            codes = np.arange(len(model.points[f]), dtype=float)
            costs = [recourse.cost.change(feature, float(own[f]), code) for code in codes.tolist()]
            at = program.columns(costs)
            program.row(at + np.arange(len(codes)), 1.0, 1.0, 1.0)
            score.append((at + np.arange(len(codes)), model.worth(f, codes)))
            ends = slice(at, at + len(codes))
            read.append(lambda found, ends=ends: float(found[ends].argmax()))
    at, worth = (np.concatenate(each) for each in zip(*score, strict=True))
    program.row(at, worth, needed(problem) - base, math.inf)
    written = program.written()
    writing = time.process_time() - begun
    return solved(written, seconds, writing, lambda found: np.array([each(found) for each in read]))


def solved(written, seconds, writing, codes):
    """What HiGHS says of a program, which has so many seconds of CPU."""
    if len(written["c"]) <= LARGE:
        told = _solve(written, seconds)
    elif (told := _apart(written, seconds)) is None:
        return Told(None, False, 0.0, seconds, f"no word in {seconds:g} s of CPU", writing)
    status, x, bound, message, spent = told
    if status == 2:
        return Told(None, True, math.inf, spent, writing=writing)
    note = "" if status in (0, 1) else message
    found = None if x is None else codes(x)
    return Told(found, status == 0, (bound or 0.0) / FINER, spent, note, writing)


def _solve(written, seconds):
    """Status, columns, bound, message and CPU seconds; the limit is of wall clock."""
    begun = time.process_time()
    found = milp(**written, options={"time_limit": seconds, "mip_rel_gap": 0.0})
    spent = time.process_time() - begun
    return found.status, found.x, found.mip_dual_bound, found.message, spent


def _apart(written, seconds):
    """The same in a process of its own, since HiGHS does not look at its clock in all it does."""
    here, there = Pipe(duplex=False)
    child = get_context("fork").Process(target=_limited, args=(there, written, seconds))
    child.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return None
    finally:
        child.join()


def _limited(there, written, seconds):
    most = math.ceil(seconds) + 1
    setrlimit(RLIMIT_CPU, (most, most))
    there.send(_solve(written, 100.0 * seconds))
