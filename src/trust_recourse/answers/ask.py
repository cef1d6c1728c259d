"""Putting a question to an engine: functions of a model, a problem and a question.

| question | function |
|---|---|
| of the exact engine | `_by_proof` |
| of an engine that tries rows | `_by_trials` |
| of models retrained on resampled rows, too | `_by_bootstraps` |
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.answers.plausibility import are_plausible
from trust_recourse.answers.retraining import BootstrapEnsemble
from trust_recourse.io.scalars import Floats
from trust_recourse.models.readers.read_model import ReadModel
from trust_recourse.models.subproblem import Reduction
from trust_recourse.question import (
    Option,
    Point,
    Problem,
    Question,
    Status,
    Survival,
    Target,
    changed,
)
from trust_recourse.question.fewest import Fewest, within
from trust_recourse.schema import ActionSet, FewChange, SchemaError
from trust_recourse.search.engines import BLACK_BOX, UNREAD, SearchEngine, black_box
from trust_recourse.search.exact import Answer, Exact, Keep
from trust_recourse.search.fewest_changes import fewest_changes
from trust_recourse.search.formulation import SecondConstraint
from trust_recourse.search.geometry import Robust
from trust_recourse.search.survival import least_threshold

MOST_ODDS = 27.0  # of a mean: no log-odds are reported to be more
CLOSE = 1e-9  # an answer this near to its bound, relatively, is the optimum

Known = tuple[Point, Status, float]  # with the lower bound on what reaches the target so
Further = tuple[list[Known], int, bool]  # answers, boxes in all, whether a limit ended a search


class Answers(NamedTuple):
    """What an engine gave for one target."""

    points: list[Known]
    status: Status
    nodes: int = 0
    pareto: tuple[Point, ...] = ()
    survival: Survival | None = None
    ended_by: str = ""  # the limit that ended a search of it
    fewest: Fewest | None = None  # where the fewest changes were asked for


# ---------------------------------------------------------------- may it be asked, and of whom


def engine_for(model: ReadModel, question: Question, has_bootstraps: bool) -> str | SearchEngine:
    """The engine that answers a question; raises where this model cannot be asked it."""
    given: str | SearchEngine = question.engine
    engine = ("exact" if model.exact else UNREAD) if given == "auto" else given
    exact_only = [n for n in ("min_radius", "survives") if getattr(question, n) is not None]
    if not model.exact and (given == "exact" or exact_only):
        model.need_cells(next(iter(exact_only), "engine 'exact'"), BLACK_BOX)
    if question.survives is not None and not has_bootstraps:
        raise ValueError(
            f"survives={question.survives:g}: there are no retrained models to ask; make "
            "some: Recourse(..., bootstraps=bootstraps(model, X, y)) in Python, or "
            f"{_bootstraps_of_files(model)}"
        )
    if engine != "exact":
        black_box(engine)  # raises where there is none of this name
        for name in exact_only:
            raise ValueError(f"{name} needs engine='exact'; given engine={engine!r}")
        if question.sparse:
            raise ValueError(
                f"sparse with engine={given!r}: expected the exact engine, which proves that "
                f"fewer changes are not enough{model.why_unread}. Set max_changes=2, say, in place "
                "of sparse; every engine accepts it"
            )
    ignored = ("n_trials",) if engine == "exact" else ("node_limit", "time_limit")
    for name in ignored:
        if getattr(question, name) is not None:
            hint = "it has no trials" if engine == "exact" else "limit it by n_trials"
            raise ValueError(f"{name} with engine {engine!r}: {hint}{model.why_unread}")
    if isinstance(question.plausible, str):
        raise ValueError(
            f"plausible={question.plausible!r} is the name of a test of rows; give the test "
            "itself, such as NearNeighbours(X) with X the known rows"
        )
    return engine


def _bootstraps_of_files(model: ReadModel) -> str:
    """How a model of this family gets retrained models next to its file."""
    if hasattr(model.model, "bootstraps"):
        return "`trust-recourse fit --bootstraps 60`"
    return (
        "put the files of some 60 that its library retrained into a folder, and import it "
        "again with `trust-recourse import FILE --again FOLDER`"
    )


# ---------------------------------------------------------------- one person


def answers_to(
    model: ReadModel,
    problems: Sequence[Problem],
    question: Question,
    engine: str | SearchEngine,
    now: float,
    bootstraps: BootstrapEnsemble | None,
    verbose: bool = False,
) -> dict[Target, Answers]:
    """The answers for one person, who has this confidence now, to each target of a question."""
    tried: dict[Target, list[Point]] = {}
    if (tries := black_box(engine)) is not None:
        for each in problems:
            if not model.meets(each.target, each.action_set.own, now):
                tried[each.target] = tries.search(
                    model.model,
                    each,
                    partial(model.judged, target=each.target),
                    n_trials=question.n_trials or tries.trials,
                    random_state=question.random_state,
                    verbose=verbose,
                )
    found = {}
    for problem in problems:
        own = problem.action_set.own
        if bootstraps is not None:
            answers = _by_bootstraps(model, problem, question, now, bootstraps)
        elif question.min_radius is None and model.meets(problem.target, own, now):
            known = (Point(own, 0.0, now), Status.ALREADY_MET, 0.0)
            answers = Answers([known], Status.ALREADY_MET)
        elif tries is None:
            answers = _by_proof(model, problem, question)
        else:
            answers = _by_trials(problem, question, tried)
        found[problem.target] = answers
    return found


def option(
    model: ReadModel,
    problem: Problem,
    factual: pd.Series[Any],
    point: Point,
    status: Status,
    lower_bound: float,
) -> Option:
    """An option in the person's own values, its numbers recomputed from just those values."""
    own, codes = problem.action_set.own, point.codes.copy()
    schema = problem.action_set.schema
    values = np.empty(len(factual), object)
    values[:] = factual.tolist()
    changes = {}
    for f in sorted(changed(own, codes)):
        feature = schema[f]
        value = feature.value_of(float(codes[f]))
        codes[f] = feature.code_of(value)
        changes[feature.name] = (values[f], value)
        values[f] = value
    cost = problem.cost.between(schema.features, own, codes)
    confidence = model.confidence_of(codes)
    model.confirm(codes, confidence)
    return Option(
        x=pd.Series(values, factual.index, object, factual.name, copy=False),
        codes=codes,
        changes=changes,
        cost=cost,
        confidence=confidence,
        status=status,
        target=problem.target,
        lower_bound=min(lower_bound, cost),
    )


# ---------------------------------------------------------------- with proof


def _by_proof(model: ReadModel, problem: Problem, question: Question) -> Answers:
    chosen = question.plausible is not None or question.min_distance is not None
    target, robust = problem.target, None
    if question.min_radius is not None:
        decided = target.decision(target.threshold).confidence
        floor = decided if question.floor is None else question.floor
        robust = Robust(float(question.min_radius), float(floor), question.continuous)
    engine = Exact(
        model.score_for(target), problem, robust=robust, scope="any" if chosen else "cheapest",
        node_limit=question.node_limit, time_limit=question.time_limit,
    )  # fmt: skip
    kept = _Kept(problem, question)
    keep = kept.take if question.plausible else None
    fewest, limited = None, engine
    if question.sparse:
        first, fewest, limited = fewest_changes(
            engine, lambda asked, gap: _cheapest(model, asked, None, gap), question.gap
        )
    else:
        first = _cheapest(model, engine, keep, question.gap)
    if first.point is None:
        unsure = first.stopped or kept.refused < math.inf
        status = Status.NOT_FOUND if unsure else Status.INFEASIBLE
        return Answers([], status, first.nodes, ended_by=_ended_by(limited, first.stopped))
    bound = min(first.lower_bound, kept.refused)
    proved = _proves(bound, first.point) and (fewest is None or fewest.proved)
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    points, nodes, stopped = [(first.point, status, bound)], first.nodes, first.stopped
    if not stopped:
        limited = engine
        if fewest is not None:
            limited = engine.about(within(problem, fewest.most), 0)
        more = _at_a_distance if question.min_distance is not None else _alternatives
        others, nodes, stopped = more(model, limited, kept, first)
        points += others
    ended = _ended_by(limited, stopped)
    return Answers(points, status, nodes, ended_by=ended, fewest=fewest)


def _proves(bound: float, point: Point) -> bool:
    """Whether a point is the optimum, by a lower bound on what every answer costs."""
    return bound >= point.cost * (1.0 - CLOSE)


def _cheapest(model: ReadModel, engine: Exact, keep: Keep | None, gap: float) -> Answer:
    """The cheapest that the model's library, too, finds enough.

    Sums that it adds up otherwise may miss the target by rounding where ours meet it: then that
    much more is asked for, and nothing is known to be cheaper but what was found first.
    """
    found = engine.cheapest(keep, gap)
    target, bound, more = engine.problem.target, found.lower_bound, 0.0
    asked = target
    while found.point is not None and not model.agrees(target, found.point):
        more = 4.0 * max(more, model.apart(found.point.codes))
        last, asked = asked, target.raised(more)
        if asked == last:  # no more can be asked for
            return found._replace(point=None, stopped=True)
        problem = replace(engine.problem, target=asked)
        again = engine.about(problem, found.nodes).cheapest(keep, gap)
        found = again._replace(nodes=found.nodes + again.nodes, lower_bound=bound)
        if found.point is None:
            return found._replace(stopped=True)
    return found


def _at_a_distance(model: ReadModel, engine: Exact, kept: _Kept, first: Answer) -> Further:
    """The answers after the first that lie apart from those before."""
    nodes, answer, question = first.nodes, first, kept.question
    while answer.point is not None:
        kept.chosen.append(answer.point)
        if answer.stopped or len(kept.chosen) == question.n_options:
            break
        answer = _cheapest(model, engine, kept.take, question.gap)
        nodes += answer.nodes
    others = [(point, Status.FEASIBLE, first.lower_bound) for point in kept.chosen[1:]]
    return others, nodes, answer.stopped


def _alternatives(model: ReadModel, engine: Exact, kept: _Kept, first: Answer) -> Further:
    """The answers after the first that change other features.

    An alternative leaves alone at least half of what each cheaper one changes. That is a relation
    for each so far, so the exact engine proves the next one to be the cheapest. One that changes
    nothing beside what a cheaper one changes counts, but is not shown.
    """
    assert first.point is not None
    action_set, question, nodes = engine.problem.action_set, kept.question, first.nodes
    keep = kept.take if question.plausible else None
    found: list[Known] = []
    ways, stopped = [_moved(action_set, first.point)], False
    while len(found) < question.n_options - 1 and not stopped:
        if question.node_limit is not None and nodes >= question.node_limit:
            return found, nodes, True
        schema = action_set.schema.relate(
            *(FewChange(tuple(sorted(way)), len(way) // 2) for way in ways)
        )
        problem = replace(engine.problem, action_set=schema.action_set_of(action_set.own))
        answer = _cheapest(model, engine.about(problem, nodes), keep, question.gap)
        nodes, stopped = nodes + answer.nodes, answer.stopped
        if answer.point is None:
            break
        way = _moved(action_set, answer.point)
        if not (stopped or any(way <= each for each in ways)):
            proved = keep is None and _proves(answer.lower_bound, answer.point)
            status = Status.OPTIMAL if proved else Status.FEASIBLE
            found.append((answer.point, status, answer.lower_bound))
        ways.append(way)
    return found, nodes, stopped


def _moved(action_set: ActionSet, point: Point) -> frozenset[str]:
    """The features that a point changes, but for those that follow others."""
    schema = action_set.schema
    moved = changed(action_set.own, point.codes)
    return frozenset(schema.names[f] for f in moved) & frozenset(schema.actionable)


def _ended_by(engine: Exact, stopped: bool) -> str:
    """Name of the limit that stopped the search; "" if no limit was given."""
    if not stopped:
        return ""
    return "time_limit" if engine.late else "node_limit" if engine.node_limit < math.inf else ""


class _Kept:
    """Which points become options: those unlike the chosen ones, and plausible."""

    def __init__(self, problem: Problem, question: Question) -> None:
        self.problem, self.question = problem, question
        self.chosen: list[Point] = []
        self.refused = math.inf  # the cost of the cheapest point that was found implausible

    def take(self, point: Point) -> bool:
        if any(self._alike(point, other) for other in self.chosen):
            return False
        test, schema = self.question.plausible, self.problem.action_set.schema
        assert not isinstance(test, str)
        if test is None or are_plausible(test, schema.decode(point.codes[None]))[0]:
            return True
        self.refused = min(self.refused, point.cost)
        return False

    def _alike(self, a: Point, b: Point) -> bool:
        if self.question.min_distance is not None:
            features = self.problem.action_set.schema.features
            cost = self.problem.cost.between(features, a.codes, b.codes)
            return cost < self.question.min_distance
        later, earlier = (_moved(self.problem.action_set, each) for each in (a, b))
        return later <= earlier or len(later & earlier) > len(earlier) // 2


# ---------------------------------------------------------------- by retrained models, too


def _by_bootstraps(
    model: ReadModel,
    problem: Problem,
    question: Question,
    now: float,
    bootstraps: BootstrapEnsemble,
) -> Answers:
    """The cheapest that retrained models accept, too: the least threshold on the mean."""
    assert question.survives is not None
    share, line = question.survives, problem.target.threshold
    single = replace(question, survives=None)
    first = answers_to(model, [problem], single, "exact", now, None)[problem.target]
    if not first.points:
        return first
    point, status, bound = first.points[0]
    stopped = status is Status.FEASIBLE
    limits: dict[str, Any] = {
        "node_limit": question.node_limit, "time_limit": question.time_limit,
    }  # fmt: skip

    def meets(codes: Floats) -> bool:
        found = Point(codes, 0.0, model.confidence_of(codes))
        return problem.target.met(found.confidence) and model.agrees(problem.target, found)

    second = SecondConstraint(model.score, problem.target.interval[0], meets)
    engine = Exact(bootstraps.mean, problem, second=second, **limits)
    # whose values are not those that one threshold leaves, as several are asked about
    wide = Exact(bootstraps.mean, problem, second=second, scope="most_confident", **limits)

    window: Reduction | None = None
    spent = first.nodes

    def ask(threshold: float, least: float, known: Point | None) -> Answer:
        nonlocal window, spent
        if threshold > MOST_ODDS:
            return Answer(None, math.inf, False, 0)
        if known is not None and window is None:
            with suppress(SchemaError):  # values without an end are not listed
                window = wide.about(_at_log_odds(problem, least), 0).window(known)
        here = engine.about(_at_log_odds(problem, threshold), spent)
        found = here.cheapest(gap=question.gap, known=known, within=window)
        spent += found.nodes
        return found

    judge = partial(bootstraps.judge, share=share, threshold=line)
    found = least_threshold(ask, judge, Answer(point, bound, stopped, first.nodes))
    answer = found.answer
    assert answer.point is not None
    survival = bootstraps.survival(answer.point.codes, share, found.threshold, line)
    ended = _ended_by(engine, stopped or answer.stopped)
    if not found.enough:
        return Answers([], Status.NOT_FOUND, found.nodes, survival=survival, ended_by=ended)
    if status is not Status.ALREADY_MET or found.threshold != -math.inf:
        proved = _proves(answer.lower_bound, answer.point) and found.complete
        status = Status.OPTIMAL if proved else Status.FEASIBLE
    points = [(answer.point, status, answer.lower_bound)]
    return Answers(points, status, found.nodes, survival=survival, ended_by=ended)


def _at_log_odds(problem: Problem, threshold: float) -> Problem:
    """The same problem for a confidence of such log-odds."""
    level = 1.0 / (1.0 + math.exp(-threshold))
    return replace(problem, target=Target(level, threshold=level))


# ---------------------------------------------------------------- by engines that try rows


def _by_trials(
    problem: Problem, question: Question, tried: Mapping[Target, list[Point]]
) -> Answers:
    """The cheapest trials that meet a target, those made for other targets among them."""
    from trust_recourse.search.blackbox.trials import pareto

    own = tried[problem.target]
    kept = _Kept(problem, question)
    every = itertools.chain.from_iterable(tried.values())
    met = (point for point in every if problem.target.met(point.confidence))
    for point in sorted(met, key=lambda point: point.cost):
        if len(kept.chosen) < question.n_options and kept.take(point):
            kept.chosen.append(point)
    return Answers(
        [(point, Status.FEASIBLE, 0.0) for point in kept.chosen],
        Status.FEASIBLE if kept.chosen else Status.NOT_FOUND,
        len(own),
        tuple(pareto(own, problem.target)),
    )
