"""The black-box engines: Bayesian optimisation for any model that gives a confidence.

`tpe` is the paper's search, Optuna's tree-structured Parzen estimator with two objectives; `gp` is
the constrained expected improvement of its Appendix A (Gardner et al. 2014). Neither proves
anything: each returns the points it tried, and the caller takes the cheapest that meets the target.

Ω(x) holds by construction. A feature that may move is an **axis** whose every coordinate stands for
an allowed value, the person's own among them; a feature that may not move has none. A suggestion
that breaks a relation between features is moved to a row nearby that keeps it.
"""

from __future__ import annotations

import heapq
import importlib
import itertools
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trust_recourse.problem import Floats, Point, Problem, Target
from trust_recourse.progress import Progress
from trust_recourse.schema import AtMost, Feature, Forces, Moves, Reach, SchemaError
from trust_recourse.schema.values import plus

if TYPE_CHECKING:
    from optuna import Study, Trial

Confidence: TypeAlias = Callable[[Floats], Floats]

STAYS = 0.005  # of a continuous range: a smaller move is none, or chance would never leave it alone
MISSING = 0.05  # of a continuous axis, at its end: stands for a person's own missing value
MOST_REPAIRS = 64  # rows looked at to repair one suggestion
CANDIDATES = 200  # rows of which the Gaussian processes choose the next to try


# ---------------------------------------------------------------- the two engines


def tpe(
    problem: Problem,
    confidence: Confidence,
    *,
    n_trials: int = 300,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Point]:
    """The distinct allowed points that Optuna's TPE sampler tried, in the order of their trials.

    Two objectives are minimised together, as in the paper: how far the confidence is from the
    target, and the cost. `confidence` takes rows of codes and gives the wanted class's confidence.
    If nothing may move, the person's own point is all there is.

    >>> from trust_recourse.problem import Cost
    >>> from trust_recourse.schema import Schema
    >>> schema = Schema((Feature("income", "integer", lower=0, upper=20, scale=20.0),))
    >>> problem = Problem(schema.reach({"income": 5}), Target(0.6), Cost.named("l1"))
    >>> points = tpe(problem, lambda codes: codes[:, 0] / 20, n_trials=60)
    >>> pareto(points, problem.target)[-1]
    Point(codes=array([12.]), cost=0.35, confidence=0.6)
    """
    _check(n_trials, "tpe", "optuna", "optuna")
    space = Space.of(problem)
    tried = Tried(space, confidence)
    if not space.axes:
        return [tried.point(space.reach.own)]
    study = _study(random_state)
    for _ in Progress(n_trials, "tpe", show=verbose).over(range(n_trials)):
        trial = study.ask()
        codes = space.kept(space.row(axis.suggest(trial) for axis in space.axes))
        _tell(study, trial, None if codes is None else tried.point(codes), problem.target)
    return tried.points


def gp(
    problem: Problem,
    confidence: Confidence,
    *,
    n_trials: int = 60,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Point]:
    """The distinct allowed points that constrained expected improvement tried, in their order.

    A Gaussian process models the confidence; the cost needs no model, as it is known. Among
    candidates drawn by chance and around the best points so far, the next to try has the greatest
    saving times the probability to meet the target; as long as none met it, the greatest
    probability alone. It starts from the person as they are and some rows by chance, and tries no
    row twice, nor one that saves nothing. `confidence` is as for `tpe`.
    """
    _check(n_trials, "gp", "bayesian-optimization", "bayes_opt")
    space = Space.of(problem)
    tried = Tried(space, confidence)
    tried.point(space.reach.own)
    if not space.axes:
        return tried.points
    rng = np.random.default_rng(random_state)
    n_start = min(2 * len(space.axes), n_trials // 3)
    for trial in Progress(n_trials - 1, "gp", show=verbose).over(range(1, n_trials)):
        by_chance = trial <= n_start
        rows = _candidates(space, tried, rng, 8 if by_chance else CANDIDATES)
        if rows:
            first = 0 if by_chance else _most_promising(space, tried, rows, random_state)
            tried.point(rows[first])
    return tried.points


def pareto(points: Iterable[Point], target: Target) -> list[Point]:
    """The points that no other beats in both cost and closeness to the target, by rising cost.

    Of points equal in both, the first stays.
    """
    best: list[Point] = []
    least = math.inf
    for point in sorted(points, key=lambda p: (p.cost, _shortfall(target, p.confidence))):
        if (short := _shortfall(target, point.confidence)) < least:
            least = short
            best.append(point)
    return best


def _shortfall(target: Target, confidence: float) -> float:
    """How far a confidence is from the target: the paper's |M − τ|, or what at-least lacks."""
    missed = target.confidence - confidence
    return abs(missed) if target.mode == "band" else max(missed, 0.0)


def _least_met(points: Iterable[Point], target: Target) -> float:
    """The cost of the cheapest point that meets the target; infinite if none does."""
    return min((p.cost for p in points if target.met(p.confidence)), default=math.inf)


def _check(n_trials: int, engine: str, package: str, module: str) -> None:
    if not isinstance(n_trials, int) or n_trials < 1:
        raise ValueError(f"n_trials={n_trials!r}; expected a whole number of at least 1")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ModuleNotFoundError(
            f"engine {engine!r} needs {package}, which is not installed: "
            "pip install 'trust-recourse[bayes]'",
            name=module,
        ) from None


class Tried:
    """The points tried so far: each row is asked of the model once."""

    def __init__(self, space: Space, confidence: Confidence) -> None:
        self.space, self.confidence = space, confidence
        self.found: dict[bytes, Point] = {}

    def __contains__(self, codes: Floats) -> bool:
        return codes.tobytes() in self.found

    @property
    def points(self) -> list[Point]:
        """In the order in which they were tried."""
        return list(self.found.values())

    def point(self, codes: Floats) -> Point:
        """The point of an allowed row: its cost, and what the model says of exactly this row."""
        if codes not in self:
            given = self.confidence(codes[None])
            shape = np.shape(given)
            if shape != (1,) or not 0 <= float(given[0]) <= 1:
                raise ValueError(
                    f"confidence: given {given!r} for one row of codes, expected an array of one "
                    "number from 0 to 1, the wanted class's column of predict_proba"
                )
            self.found[codes.tobytes()] = Point(codes, self.space.cost(codes), float(given[0]))
        return self.found[codes.tobytes()]


def _candidates(space: Space, tried: Tried, rng: np.random.Generator, draws: int) -> list[Floats]:
    """Allowed rows that were not tried: every other by chance, the rest near undominated points.

    The cost is known beforehand, so none is dearer than the cheapest that met the target.
    """
    front = pareto(tried.points, space.problem.target)
    most = _least_met(front, space.problem.target)
    rows: dict[bytes, Floats] = {}
    for n in range(draws):
        near = front[int(rng.integers(len(front)))].codes
        codes = space.kept(space.draw(rng) if n % 2 == 0 else space.near(near, rng))
        if codes is not None and codes not in tried and space.cost(codes) < most:
            rows[codes.tobytes()] = codes
    return list(rows.values())


# ---------------------------------------------------------------- the libraries, here alone


def _study(seed: int) -> Study:
    """A study of two objectives, every setting of its sampler that may be given written out.

    The others are deprecated in Optuna 5, which warns whoever gives them: each keeps its default.
    """
    import optuna

    sampler = optuna.samplers.TPESampler(
        n_startup_trials=10,
        n_ei_candidates=24,
        seed=seed,
        multivariate=False,
        group=False,
        constant_liar=False,  # trials run one by one, so no running trial needs to be avoided
    )
    logger = logging.getLogger("optuna")
    level = logger.level
    logger.setLevel(max(level, logging.WARNING))  # a new study announces itself
    try:
        return optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    finally:
        logger.setLevel(level)


def _tell(study: Study, trial: Trial, point: Point | None, target: Target) -> None:
    """What came of a trial; one without a point is passed over by the sampler."""
    from optuna.trial import TrialState

    if point is None:
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, [_shortfall(target, point.confidence), point.cost])


def _most_promising(space: Space, tried: Tried, rows: list[Floats], seed: int) -> int:
    """Which of these rows to try: constrained expected improvement, after Gardner et al. 2014."""
    from bayes_opt.constraint import ConstraintModel
    from threadpoolctl import threadpool_limits

    points, target = tried.points, space.problem.target
    known = np.array([space.place(point.codes) for point in points])
    asked = np.array([space.place(codes) for codes in rows])
    model = ConstraintModel(None, *target.interval, random_state=seed)
    # Threads cost more than they save on matrices this small. The warnings are of length scales at
    # their limits and of variances of 0.
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(known, np.array([point.confidence for point in points]))
        chance = np.nan_to_num(model.predict(asked))
    best = _least_met(points, target)
    if math.isinf(best):
        return int(np.argmax(chance))
    return int(np.argmax(chance * [best - space.cost(codes) for codes in rows]))


# ---------------------------------------------------------------- Ω(x) as a space to search


@dataclass(frozen=True, eq=False)
class Levels:
    """An axis of listed values in order; the coordinate is the rank."""

    at: int  # the feature's position
    name: str
    values: Floats

    def suggest(self, trial: Trial) -> float:
        """The value that Optuna's sampler suggests."""
        return float(self.values[trial.suggest_int(self.name, 0, len(self.values) - 1)])

    def value(self, place: Floats) -> float:
        """The value at a place of the unit cube."""
        return float(self.values[round(float(place[0]) * (len(self.values) - 1))])

    def place(self, value: float) -> Floats:
        """The place of a value in the unit cube."""
        return np.array([_rank(self.values, value) / (len(self.values) - 1)])

    def draw(self, rng: np.random.Generator) -> float:
        """A value by chance."""
        return float(rng.choice(self.values))


@dataclass(frozen=True, eq=False)
class Choice:
    """An axis of values without an order: one coordinate each, of which the largest is chosen."""

    at: int
    name: str
    values: Floats

    def suggest(self, trial: Trial) -> float:
        """The value that Optuna's sampler suggests."""
        ranks = list(range(len(self.values)))
        return float(self.values[trial.suggest_categorical(self.name, ranks)])

    def value(self, place: Floats) -> float:
        """The value at a place of the unit cube."""
        return float(self.values[int(np.argmax(place))])

    def place(self, value: float) -> Floats:
        """The place of a value in the unit cube."""
        return np.array(
            [rank == _rank(self.values, value) for rank in range(len(self.values))], float
        )

    def draw(self, rng: np.random.Generator) -> float:
        """A value by chance."""
        return float(rng.choice(self.values))


@dataclass(frozen=True, eq=False)
class Span:
    """A continuous axis, or one of too many values to list; the coordinate is the share of it.

    What lies within `STAYS` of the person's own value is their own value. A missing one has no
    place among numbers, so the end of the axis beyond 1 − `MISSING` stands for it.
    """

    at: int
    name: str
    moves: Moves
    low: float
    high: float

    @property
    def _end(self) -> float:
        return 1.0 - MISSING if math.isnan(self.moves.own) else 1.0

    def suggest(self, trial: Trial) -> float:
        """The value that Optuna's sampler suggests."""
        return self._value(trial.suggest_float(self.name, 0.0, 1.0))

    def value(self, place: Floats) -> float:
        """The value at a place of the unit cube."""
        return self._value(float(place[0]))

    def _value(self, share: float) -> float:
        own, size = self.moves.own, self.high - self.low
        if share > self._end:
            return own
        wanted = min(self.low + share / self._end * size, self.high)
        return own if abs(wanted - own) <= STAYS * size else _nearest(self.moves, wanted)

    def place(self, value: float) -> Floats:
        """The place of a value in the unit cube."""
        if math.isnan(value):
            return np.ones(1)
        return np.array([(value - self.low) / (self.high - self.low) * self._end])

    def draw(self, rng: np.random.Generator) -> float:
        """A value by chance."""
        return self._value(float(rng.random()))


Axis: TypeAlias = Levels | Choice | Span


def _axis(at: int, feature: Feature, moves: Moves) -> Axis | None:
    """The axis of one feature; none if it has one value only."""
    low, high = moves.extent(-math.inf, math.inf) or (moves.own, moves.own)
    if math.isinf(low) or math.isinf(high):
        side = "lower" if math.isinf(low) else "upper"
        raise SchemaError(
            f"feature {feature.name!r} may go without limit, but a black-box search needs a range "
            f"to draw from; give it a {side} bound or a max_change"
        )
    try:
        values = moves.values()
    except SchemaError:  # continuous, or too many
        return Span(at, feature.name, moves, low, high)
    if len(values) < 2:
        return None
    kind = Choice if feature.kind == "category" else Levels
    return kind(at, feature.name, values)


def _rank(values: Floats, value: float) -> int:
    """Where a value stands in a list of which a missing one is the last."""
    return len(values) - 1 if math.isnan(value) else int(np.searchsorted(values, value))


def _nearest(moves: Moves, wanted: float) -> float:
    """The allowed value nearest to a number within the extent of the moves."""
    ends = (_at_most(moves, wanted), _at_least(moves, wanted))
    return min((end for end in ends if end is not None), key=lambda end: abs(end - wanted))


def _at_most(moves: Moves, limit: float) -> float | None:
    """The greatest allowed value up to a limit."""
    ends = moves.extent(-math.inf, limit)
    return ends[1] if ends else None


def _at_least(moves: Moves, limit: float) -> float | None:
    """The least allowed value from a limit on."""
    if moves.allows(limit):
        return limit
    ends = moves.extent(math.nextafter(limit, -math.inf), math.inf)
    return ends[0] if ends else None


@dataclass(frozen=True, eq=False)
class Space:
    """The rows that a person may become, as the product of their axes and a repair of relations."""

    problem: Problem
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, problem: Problem) -> Space:
        """The space of a problem."""
        each = zip(problem.reach.schema, problem.reach.moves, strict=True)
        axes = (_axis(at, feature, moves) for at, (feature, moves) in enumerate(each))
        return cls(problem, tuple(axis for axis in axes if axis is not None))

    @property
    def reach(self) -> Reach:
        """Where the person may go."""
        return self.problem.reach

    def cost(self, codes: Floats) -> float:
        """What it costs to become this row."""
        return self.problem.cost.between(self.reach.schema.features, self.reach.own, codes)

    def row(self, values: Iterable[float]) -> Floats:
        """The person's row with these values, one for each axis."""
        codes = self.reach.own
        codes[[axis.at for axis in self.axes]] = list(values)
        return codes

    def place(self, codes: Floats) -> Floats:
        """The place of a row in the unit cube."""
        return np.concatenate([axis.place(float(codes[axis.at])) for axis in self.axes])

    def draw(self, rng: np.random.Generator) -> Floats:
        """A row by chance: few features move, or many."""
        own, share = self.reach.own, rng.random()
        return self.row(
            axis.draw(rng) if rng.random() < share else own[axis.at] for axis in self.axes
        )

    def near(self, codes: Floats, rng: np.random.Generator) -> Floats:
        """A row around this one: some features on the way between it and the own row, one anew."""
        own = self.reach.own
        parts = [(axis, axis.place(own[axis.at]), axis.place(codes[axis.at])) for axis in self.axes]
        row = self.row(
            axis.value(np.clip(a + (b - a) * rng.uniform(0.0, 1.2), 0.0, 1.0))
            if rng.random() < 1 / 2
            else codes[axis.at]
            for axis, a, b in parts
        )
        if rng.random() < 1 / 2:
            anew = self.axes[int(rng.integers(len(self.axes)))]
            row[anew.at] = anew.draw(rng)
        return row

    def kept(self, codes: Floats) -> Floats | None:
        """The row itself if it keeps every relation, else one nearby that does, or None.

        Broken relations are mended one at a time, each in either of two ways; rows are looked at
        by how far they are from the first, in the units of the cost.
        """
        features = self.reach.schema.features
        order = itertools.count()
        heap, seen = [(0.0, next(order), codes)], {codes.tobytes()}
        for _ in range(MOST_REPAIRS):
            if not heap:
                return None
            row = heapq.heappop(heap)[2]
            if self.reach.allows(row):
                return row
            for mended in _mended(self.reach, row):
                if mended.tobytes() not in seen:
                    seen.add(mended.tobytes())
                    far = self.problem.cost.between(features, mended, codes)
                    heapq.heappush(heap, (far, next(order), mended))
        return None


def _forced(relation: Forces, moves: Moves) -> float | None:
    """The least that a feature must become when it is forced; nothing is counted from missing."""
    if math.isnan(moves.own):
        return None
    goal = plus(moves.own, relation.by)
    return _at_least(moves, goal) if relation.by > 0 else _at_most(moves, goal)


def _mended(reach: Reach, codes: Floats) -> Iterator[Floats]:
    """Rows that keep the first relation that this one breaks, with one value changed each."""
    own, moves = reach.own, reach.moves
    for relation in reach.relations:
        i, j = reach.schema.position(relation.a), reach.schema.position(relation.b)
        if relation.holds((own[i], own[j]), (codes[i], codes[j])):
            continue
        if isinstance(relation, AtMost):
            ways = {j: _at_least(moves[j], codes[i]), i: _at_most(moves[i], codes[j])}
        else:
            ways = {j: _forced(relation, moves[j]), i: float(own[i])}
        for at, value in ways.items():
            if value is not None:
                mended = codes.copy()
                mended[at] = value
                yield mended
        return
