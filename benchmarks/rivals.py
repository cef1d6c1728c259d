"""Others who look for the least change on trees, asked the very questions that we are asked.

- `by_mip`: HiGHS (in SciPy) on the full problem, to a gap of 0. A binary for every candidate value,
  a weight for every leaf; for each tree, feature and run of the tree's intervals, the leaves inside
  the run weigh no more than the values of the run. Relations are disjunctions of their ways.
- `TreeCF`: treecf's exact search, with whole numbers, ranges and orders as its own constraints, and
  no limit but the seconds: its own 2,000,000 boxes would end it within some.
- `by_ocean`: constraint programming (CP-SAT, both cores) of oceanpy, in an environment of its own
  (`make peers`; it needs Python 3.12). It knows targets of one half only, so XGBoost's base is
  moved to put the target there; random forests are asked at 0.5 alone, LightGBM not at all. Its
  prices of intervals are replaced by ours, or whole numbers would cost too little.

Whatever comes back is told in codes of the schema, and judged by the caller: what a rival says of
its own answer is kept as its word.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from base64 import b64encode
from itertools import product
from typing import NamedTuple

import cloudpickle
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.special import expit

from experiments.peers import BUILT, SCRIPTS, START_SECONDS, built_of, converse
from trust_recourse.question import Problem, Target
from trust_recourse.schema.multiples import multiple_above, multiple_below
from trust_recourse.schema.relations import AtMost
from trust_recourse.search.exact import Exact

NO_LIMIT = 2**62  # boxes
NOT_ALLOWED = 1e3  # a cost that nobody pays


class Told(NamedTuple):
    """What somebody answered."""

    codes: np.ndarray | None  # of the row found, as the schema encodes it
    proved: bool  # by their word: nothing cheaper, or nothing at all
    bound: float  # that nothing costs less, by their word
    seconds: float  # of wall clock
    note: str = ""
    writing: float = 0.0  # seconds to write the problem down, which are not in `seconds`


def judged(recourse, model, X, x, level, told):
    """A status of ours, with cost and confidence counted again from the values told.

    `model` is the library's own, `X` a table as it takes them.
    """
    line = {"seconds": told.seconds, "bound": told.bound, "note": told.note}
    line |= {"writing": told.writing} if told.writing else {}
    if told.codes is None:
        return line | {"status": "infeasible" if told.proved else "not_found"}
    schema, action_set = recourse.schema, recourse.schema.action_set(x)
    row = schema.decode(told.codes[None]).astype(X.dtypes.to_dict())
    line["confidence"] = float(model.predict_proba(row)[0, 1])
    line["cost"] = recourse.cost.between(schema.features, action_set.own, told.codes)
    if why := action_set.why_not(told.codes):
        return line | {"status": "not_allowed", "note": f"{told.note} {why[0]}".strip()}
    if line["confidence"] < level:
        return line | {"status": "misses"}
    return line | {"status": "optimal" if told.proved else "feasible"}


def told_by(result, seconds):
    """What a result of ours says to its one question."""
    (status,) = result.status.values()
    told = Told(None, status in ("optimal", "infeasible"), math.inf, seconds)
    if result.options:
        option = result.options[0]
        return told._replace(codes=option.codes, bound=option.lower_bound)
    return told if told.proved else told._replace(bound=0.0)


# ---------------------------------------------------------------- HiGHS


def by_mip(recourse, x, level, seconds):
    """One question to HiGHS; what it takes to write the problem down is told apart."""
    begun = time.perf_counter()
    action_set = recourse.schema.action_set(x)
    problem = Problem(action_set, Target(level), recourse.cost, recourse.wanted_at)
    candidates = Exact(recourse.score, problem).features
    rows = _Rows(recourse, candidates, action_set)
    rows.add_trees()
    rows.add_target(level)
    for relation in recourse.schema.relations:
        rows.add_relation(relation)
    written = rows.written()
    writing, begun = time.perf_counter() - begun, time.perf_counter()
    found = milp(
        rows.costs(), integrality=rows.integral(), bounds=Bounds(0, 1), constraints=written,
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )  # fmt: skip
    spent = time.perf_counter() - begun
    if found.status == 2:
        return Told(None, True, math.inf, spent, writing=writing)
    bound = float(found.mip_dual_bound or 0.0)
    note = "" if found.status in (0, 1) else found.message
    if found.x is None:
        return Told(None, False, bound, spent, note, writing)
    chosen = (int(found.x[a : a + len(c.codes)].argmax()) for a, c in rows.of_features())
    codes = np.array([c.codes[at] for c, at in zip(candidates, chosen, strict=True)])
    return Told(codes, found.status == 0, bound, spent, note, writing)


class _Rows:
    """The rows low ≤ A·(values, leaves, ways) ≤ high, one after another."""

    def __init__(self, recourse, candidates, action_set):
        self.score, self.schema = recourse.score, recourse.schema
        self.model, self.candidates, self.own = self.score.model, candidates, action_set.own
        self.first = np.cumsum([0, *(len(c.codes) for c in candidates)])
        self.leaves = self.model.leaves
        self.n = self.first[-1] + len(self.leaves.value)
        self.at, self.weights, self.low, self.high = [], [], [], []
        for start, each in self.of_features():
            self.add(start + np.arange(len(each.codes)), 1.0, 1.0, 1.0)

    def of_features(self):
        return zip(self.first[:-1].tolist(), self.candidates, strict=True)

    def add(self, at, weights, low, high):
        self.at.append(np.asarray(at))
        self.weights.append(np.broadcast_to(weights, self.at[-1].shape))
        self.low.append(low)
        self.high.append(high)

    def add_trees(self):
        starts = self.model.grid.first_cell
        for leaves in np.split(
            np.arange(len(self.leaves.value)), np.flatnonzero(np.diff(self.leaves.term)) + 1
        ):
            of = self.first[-1] + leaves
            self.add(of, 1.0, 1.0, 1.0)
            for f, (start, each) in enumerate(self.of_features()):
                allowed = self.leaves.allowed[leaves][:, starts[f] + each.cells]
                for values, inside in _runs(allowed):
                    at = np.concatenate([of[inside], start + values])
                    signs = np.repeat([1.0, -1.0], [len(inside), len(values)])
                    self.add(at, signs, -np.inf, 0.0)

    def add_target(self, level):
        """The sum of leaves reaches what the library needs; HiGHS keeps that to 1e-6."""
        needed = self.model.needed(level, self.score.wanted) - self.model.base
        at = self.first[-1] + np.arange(len(self.leaves.value))
        low, high = (needed, np.inf) if self.score.rises else (-np.inf, needed)
        self.add(at, self.leaves.value, low, high)

    def add_relation(self, relation):
        """One of its ways is open: its gains add up to at least 0, and closed codes stay away."""
        places = [self.schema.position(name) for name in relation.names]
        at = np.concatenate(
            [np.arange(*self.first[[f, f + 1]]) for f in places]  # its values, all in one row
        )
        codes = [self.candidates[f].codes for f in places]
        ways = [np.concatenate(way) for way in relation.ways(self.own[places], codes)]
        new = self.n + np.arange(len(ways))
        self.n += len(ways)
        self.add(new, 1.0, 1.0, np.inf)
        for way, gains in zip(new, ways, strict=True):
            closed = np.isinf(gains)
            self.add([*at[closed], way], [1.0] * closed.sum() + [len(places)], -np.inf, len(places))
            most = len(places) * float(np.abs(gains[~closed]).max(initial=0.0))
            self.add([*at[~closed], way], [*gains[~closed], -most], -most, np.inf)

    def costs(self):
        costs = np.zeros(self.n)
        costs[: self.first[-1]] = np.concatenate([each.costs for each in self.candidates])
        return costs

    def integral(self):
        """Values and ways are whole; leaves are then so by themselves."""
        whole = np.ones(self.n)
        whole[self.first[-1] : self.first[-1] + len(self.leaves.value)] = 0
        return whole

    def written(self):
        sizes = [len(each) for each in self.at]
        matrix = csr_array(
            (np.concatenate(self.weights), np.concatenate(self.at), np.cumsum([0, *sizes])),
            shape=(len(sizes), self.n),
        )
        return LinearConstraint(matrix, np.array(self.low), np.array(self.high))


def _runs(allowed):
    """Sets of values, each with the leaves of one tree that no other value lets through.

    `allowed` is (leaves, values). The sets are runs of the tree's intervals; where a leaf's values
    are no run (categories, blanks), they are the leaves' own sets.
    """
    if allowed.all():
        return
    some = allowed.any(axis=1)  # a leaf without any value is shut by an empty set
    ends = [np.flatnonzero(each)[[0, -1]] for each in allowed[some]]
    low, high = np.array(ends).T if ends else (np.empty(0, int), np.empty(0, int))
    inside, found = np.flatnonzero(some), set()
    if (allowed[some].sum(axis=1) == high - low + 1).all():
        for a, b in product(np.unique(low).tolist(), np.unique(high).tolist()):
            held = (low >= a) & (high <= b)
            if held.any():
                found.add((int(low[held].min()), int(high[held].max())))
        for a, b in sorted(found - {(0, allowed.shape[1] - 1)}):
            yield np.arange(a, b + 1), inside[(low >= a) & (high <= b)]
    else:
        for values in np.unique(allowed[some], axis=0):
            if not values.all():
                held = some & ~(allowed & ~values).any(axis=1)
                yield np.flatnonzero(values), np.flatnonzero(held)
    if not some.all():
        yield np.empty(0, int), np.flatnonzero(~some)


# ---------------------------------------------------------------- treecf


class TreeCF:
    """treecf on one model; it reads numbers only, whole ones where the schema's step is 1."""

    def __init__(self, model, schema):
        from treecf.ir.parsers import parse_model

        self.schema, self.read = schema, parse_model(model)
        places = [schema.position(name) for name in self.read.feature_names]
        assert places == list(range(len(schema))), "the model's columns are the schema's"
        self.integer = {feature.name: "integer" for feature in schema if feature.step == 1}

    def ask(self, x, level, seconds):
        from treecf import Counterfactual

        own, explainer = self.schema.action_set(x).own, self.explainer(x)
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it ran out of time
            found = explainer.explain(
                own, self.target(level), backend="exact", seed=0, time_budget_s=seconds,
                node_budget=NO_LIMIT,
            )  # fmt: skip
        spent = time.perf_counter() - begun
        if isinstance(found, Counterfactual):
            bound = float(found.solver_stats.get("lower_bound", 0.0))
            return Told(np.asarray(found.x_cf), found.proof == "optimal", bound, spent)
        proved = found.proof == "certified"
        return Told(None, proved, math.inf if proved else 0.0, spent)

    def region(self, x, codes, level, mode):
        """From where to where its region lets the changed numbers of a row go, and seconds."""
        from treecf import Freeze, Range

        action_set = self.schema.action_set(x)
        moved = ~((action_set.own == codes) | (np.isnan(action_set.own) & np.isnan(codes)))
        limits = [
            Range(f.name, *(each.destinations(-math.inf, math.inf))) if away else Freeze(f.name)
            for f, each, away in zip(self.schema, action_set.actions, moved, strict=True)
        ]
        explainer = self._under(limits)
        begun = time.perf_counter()
        found = explainer.recourse_region(action_set.own, codes, self.target(level), mode=mode)
        spent = time.perf_counter() - begun
        ends = {
            f.name: (multiple_above(f.step, float(a)), multiple_below(f.step, float(b)))
            for f, a, b, away in zip(self.schema, found.lo, found.hi, moved, strict=True)
            if away
        }
        return ends, spent

    def target(self, level):
        """A forest's sum is a probability already."""
        from treecf import Target
        from treecf.ir.model import Link

        named = Target.probability if self.read.link is Link.SIGMOID else Target.raw
        return named(op=">=", value=level)

    def explainer(self, x):
        """Its explainer under what this person may do."""
        from treecf import AllowMissing, Freeze, Range

        actions, limits = self.schema.action_set(x).actions, []
        for feature, each in zip(self.schema, actions, strict=True):
            ends = each.destinations(-math.inf, math.inf)
            if ends is None or not each.free:
                limits.append(Freeze(feature.name))
                continue
            low, high = ends
            if math.isnan(each.own):
                limits.append(AllowMissing(feature.name, 1e6, feature.weight))
            else:
                low, high = min(low, each.own), max(high, each.own)
            limits.append(Range(feature.name, low, high))
        return self._under(limits)

    def explainer_of_all(self):
        """Its explainer for a batch, which knows no `max_change`: what is asked is easier."""
        from treecf import Freeze, Monotone, Range

        limits = []
        for feature in self.schema:
            if not feature.movable:
                limits.append(Freeze(feature.name))
                continue
            limits.append(Range(feature.name, feature.lower, feature.upper))
            if feature.direction:
                limits.append(Monotone(feature.name, feature.direction))
        return self._under(limits)

    def _under(self, limits):
        from treecf import Explainer, Linear

        for relation in self.schema.relations:
            assert isinstance(relation, AtMost), "the only relation that treecf has, too"
            limits.append(Linear({relation.a: 1.0, relation.b: -1.0}, "<=", 0.0))
        scales = np.array([feature.scale / feature.weight for feature in self.schema])
        return Explainer(
            self.read, constraints=limits, normalizers=scales, value_policy=self.integer
        )


# ---------------------------------------------------------------- oceanpy


def ocean_built():
    return bool(built_of("ocean"))


def by_ocean(recourse, model, x, level, seconds):
    """One question to oceanpy, at our prices of the intervals between edges."""
    schema, forest = recourse.schema, hasattr(model, "estimators_")
    problem = Problem(schema.action_set(x), Target(level), recourse.cost, recourse.wanted_at)
    cheapest = [_cheapest(each) for each in Exact(recourse.score, problem).features]
    sizes = recourse.model.grid.sizes.tolist()
    costs = [
        [cells[c][0] if c in cells else NOT_ALLOWED for c in range(size)]
        for cells, size in zip(cheapest, sizes, strict=True)
    ]
    ends = np.array([[feature.lower, feature.upper] for feature in schema]).T
    trees = cloudpickle.dumps(model) if forest else _at_one_half(recourse, model, level)
    request = {
        "library": "sklearn" if forest else "xgboost", "trees": b64encode(trees).decode(),
        "names": list(schema.names), "rows": [*ends.tolist(), ends.mean(axis=0).tolist()],
        "costs": costs, "queries": [problem.action_set.own.tolist()], "seconds": seconds,
        "most_seconds": 2 * seconds + START_SECONDS, "seed": 0,
    }  # fmt: skip
    command = [BUILT / "ocean" / "bin" / "python", SCRIPTS / "ask_ocean.py"]
    reply = converse(command, request, None, 3 * START_SECONDS + 2 * seconds)
    (answer,) = reply.answers or [{"found": [], "note": reply.trouble}]
    if not answer["found"]:
        raise RuntimeError(answer["note"])
    proved, bound, *cells = answer["found"][0]
    codes = [of[at][1] for of, at in zip(cheapest, cells, strict=True)] if cells else None
    return Told(codes and np.array(codes), bool(proved), bound, answer["seconds"])


def _cheapest(candidates):
    """Of each cell the least cost, and the value that has it."""
    order = np.argsort(-candidates.costs, kind="stable")
    cells, costs, codes = (np.asarray(each)[order].tolist() for each in (
        candidates.cells, candidates.costs, candidates.codes))  # fmt: skip
    return dict(zip(cells, zip(costs, codes, strict=True), strict=True))


def _at_one_half(recourse, model, level):
    """The same XGBoost model with its base moved so that the level becomes one half."""
    whole = json.loads(model.get_booster().save_raw("json"))
    away = recourse.model.base - recourse.model.needed(level)
    whole["learner"]["learner_model_param"]["base_score"] = f"[{expit(away):.9E}]"
    return json.dumps(whole).encode()
