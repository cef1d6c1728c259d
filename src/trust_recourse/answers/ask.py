"""Putting a question to an engine: functions of a model, a problem and a question.

| question | function |
|---|---|
| of the exact engine | `_by_proof` |
| of an engine that tries rows | `_by_trials` |
| of models retrained on resampled rows, too | `_by_bootstraps` |
| for the most confident option | `most_confident` |
| for the Pareto frontier of cost and confidence | `frontier` |
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.answers.plausibility import are_plausible
from trust_recourse.answers.retraining import BootstrapEnsemble
from trust_recourse.io.scalars import Floats, is_number
from trust_recourse.models.readers.read_model import ReadModel
from trust_recourse.models.subproblem import Reduction
from trust_recourse.question import (
    Option,
    Point,
    Problem,
    Question,
    Reach,
    Status,
    Survival,
    Target,
    changed,
)
from trust_recourse.question.fewest import Fewest, within
from trust_recourse.schema import Relation, SchemaError
from trust_recourse.search.diverse import diverse, levers, repeats
from trust_recourse.search.engines import BLACK_BOX, UNREAD, SearchEngine, black_box
from trust_recourse.search.exact import Answer, Exact, Keep
from trust_recourse.search.fewest_changes import fewest_changes
from trust_recourse.search.formulation import SecondConstraint
from trust_recourse.search.frontier import FINEST, FrontierSearch
from trust_recourse.search.geometry import Robust
from trust_recourse.search.highest import Climb
from trust_recourse.search.sparsify import marginal_confidence, sparsified
from trust_recourse.search.survival import Judgement, least_threshold

LITTLE = 0.01  # of confidence: moves that together add less are left out
MOST_ODDS = 27.0  # of a mean: no log-odds are reported to be more
CLOSE = 1e-9  # an answer this near to its bound, relatively, is the optimum

Known = tuple[Point, Status, float]  # with the lower bound on what reaches the target so


class Further(NamedTuple):
    """The answers after the first."""

    nodes: int  # boxes opened, those of the first included
    answers: list[Known]
    stopped: bool  # whether a limit ended one of the searches


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


def need_cells(model: ReadModel, what: str) -> None:
    """Raise `TypeError` if the model was not read, with the engines that can ask it."""
    if not model.exact:
        model.need_cells(what, BLACK_BOX)


def proves(model: ReadModel, engine: str | SearchEngine) -> bool:
    """Whether an engine gives proofs of this model."""
    return engine == "exact" or (engine == "auto" and model.exact)


def answerable(model: ReadModel, question: Question, has_bootstraps: bool) -> Question:
    """The question with its engine by name, once this model can be asked it."""
    engine, robust = question.engine, question.min_radius is not None
    tries = black_box(engine) is not None
    if engine == "exact" or robust:
        need_cells(model, "min_radius" if robust else "engine 'exact'")
    if question.survives is not None:
        need_cells(model, "survives")
        if not has_bootstraps:
            raise ValueError(
                f"survives={question.survives:g}: there are no retrained models to ask; make "
                "some: Recourse(..., bootstraps=bootstraps(model, X, y)) in Python, or "
                f"{_bootstraps_of_files(model)}"
            )
        if tries:
            raise ValueError(f"survives needs engine='exact'; given engine={engine!r}")
    if tries and robust:
        raise ValueError(f"min_radius needs engine='exact'; given engine={engine!r}")
    if question.sparse and not proves(model, engine):
        raise ValueError(
            f"sparse with engine={engine!r}: expected the exact engine, which proves that "
            f"fewer changes are not enough{model.why_unread}. Set max_changes=2, say, in place "
            "of sparse; every engine accepts it"
        )
    if engine == "auto":
        engine = "exact" if model.exact else UNREAD
    _refuse_ignored(model, question, engine)
    if isinstance(question.plausible, str):
        raise ValueError(
            f"plausible={question.plausible!r} is the name of a test of rows; give the test "
            "itself, such as NearNeighbours(X) with X the known rows"
        )
    return question.by(engine)


def _refuse_ignored(model: ReadModel, question: Question, engine: str) -> None:
    """Refuse limits that the engine would ignore."""
    other = ("n_trials",) if engine == "exact" else ("node_limit", "time_limit")
    for name in other:
        if getattr(question, name) is not None:
            hint = "it has no trials" if engine == "exact" else "limit it by n_trials"
            raise ValueError(f"{name} with engine {engine!r}: {hint}{model.why_unread}")


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
    now: float,
    bootstraps: BootstrapEnsemble | None,
    verbose: bool = False,
) -> dict[Target, Answers]:
    """The answers for one person, who has this confidence now, to each target of a question."""
    tried: dict[Target, list[Point]] = {}
    if question.engine != "exact":
        open_ = (p for p in problems if not model.meets(p.target, p.action_set.own, now))
        tried = {each.target: _tried(model, each, question, verbose) for each in open_}
    found = {}
    for problem in problems:
        own, target = problem.action_set.own, problem.target
        if question.survives is not None:
            assert bootstraps is not None
            answers = _by_bootstraps(model, problem, question, now, bootstraps)
        elif question.min_radius is None and model.meets(target, own, now):
            answers = _already_met(problem, now)
        elif question.engine == "exact":
            answers = _by_proof(model, problem, question)
        else:
            answers = _by_trials(problem, question, tried)
        found[target] = answers
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


def _already_met(problem: Problem, now: float) -> Answers:
    here = Point(problem.action_set.own, 0.0, now)
    return Answers([(here, Status.ALREADY_MET, 0.0)], Status.ALREADY_MET)


# ---------------------------------------------------------------- with proof


def _by_proof(model: ReadModel, problem: Problem, question: Question) -> Answers:
    chosen = question.plausible is not None or question.min_distance is not None
    engine = Exact(
        model.score_for(problem.target), problem, robust=_robust(problem.target, question),
        scope="any" if chosen else "cheapest", node_limit=question.node_limit,
        time_limit=question.time_limit,
    )  # fmt: skip
    kept = _Kept(problem, question)
    fewest, limited = None, engine
    if question.sparse:
        first, fewest, limited = fewest_changes(
            engine, lambda asked, gap: _cheapest(model, asked, None, gap), question.gap
        )
    else:
        keep = kept.take if question.plausible else None
        first = _cheapest(model, engine, keep, question.gap)
    if first.point is None:
        unsure = first.stopped or kept.refused < math.inf
        status = Status.NOT_FOUND if unsure else Status.INFEASIBLE
        return Answers([], status, first.nodes, ended_by=_ended_by(limited, first.stopped))
    bound = min(first.lower_bound, kept.refused)
    proved = bound >= first.point.cost * (1.0 - CLOSE) and (fewest is None or fewest.proved)
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    more = _at_a_distance if question.min_distance is not None else _alternatives
    if fewest is not None:
        engine = engine.about(within(problem, fewest.most), 0)
    done = Further(first.nodes, [], True)
    further = done if first.stopped else more(model, engine, kept, first)
    limited = limited if first.stopped else engine
    points = [(first.point, status, bound), *further.answers]
    ended = _ended_by(limited, further.stopped)
    return Answers(points, status, further.nodes, ended_by=ended, fewest=fewest)


def _robust(target: Target, question: Question) -> Robust | None:
    if question.min_radius is None:
        return None
    decided = target.decision(target.threshold).confidence
    floor = decided if question.floor is None else question.floor
    return Robust(float(question.min_radius), float(floor), question.continuous)


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
    nodes, answer = first.nodes, first
    while answer.point is not None:
        kept.chosen.append(answer.point)
        if answer.stopped or len(kept.chosen) == kept.question.n_options:
            break
        answer = _cheapest(model, engine, kept.take, kept.question.gap)
        nodes += answer.nodes
    others = [(point, Status.FEASIBLE, first.lower_bound) for point in kept.chosen[1:]]
    return Further(nodes, others, answer.stopped)


def _alternatives(model: ReadModel, engine: Exact, kept: _Kept, first: Answer) -> Further:
    """The answers after the first that change other features."""
    assert first.point is not None
    action_set, question, nodes = engine.problem.action_set, kept.question, first.nodes
    stopped = False
    keep = kept.take if question.plausible else None

    def ask(relations: Sequence[Relation]) -> Answer:
        nonlocal nodes, stopped
        if question.node_limit is not None and nodes >= question.node_limit:
            stopped = True
            return Answer(None, 0.0, True, 0)
        schema = action_set.schema.relate(*relations)
        problem = replace(engine.problem, action_set=schema.action_set_of(action_set.own))
        answer = _cheapest(model, engine.about(problem, nodes), keep, question.gap)
        nodes += answer.nodes
        stopped |= answer.stopped
        return answer

    found: list[Known] = []
    others = diverse(action_set, first.point, ask)
    for answer in itertools.islice(others, question.n_options - 1):
        assert answer.point is not None
        proved = keep is None and answer.lower_bound >= answer.point.cost * (1.0 - CLOSE)
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        found.append((answer.point, status, answer.lower_bound))
    return Further(nodes, found, stopped)


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
        return repeats(*(levers(self.problem.action_set, each) for each in (a, b)))


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
    first = answers_to(model, [problem], single, now, None)[problem.target]
    if not first.points:
        return first
    point, status, bound = first.points[0]
    stopped = status is Status.FEASIBLE
    limits: dict[str, Any] = {"node_limit": question.node_limit}
    limits["time_limit"] = question.time_limit

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

    def judge(codes: Floats) -> Judgement:
        return bootstraps.judge(codes, share, line)

    found = least_threshold(ask, judge, Answer(point, bound, stopped, first.nodes))
    answer = found.answer
    assert answer.point is not None
    survival = bootstraps.survival(answer.point.codes, share, found.threshold, line)
    ended = _ended_by(engine, stopped or answer.stopped)
    if not found.enough:
        return Answers([], Status.NOT_FOUND, found.nodes, survival=survival, ended_by=ended)
    proved = answer.lower_bound >= answer.point.cost * (1.0 - CLOSE)
    unchanged = status is Status.ALREADY_MET and found.threshold == -math.inf
    known_status = Status.OPTIMAL if proved and found.complete else Status.FEASIBLE
    known_status = Status.ALREADY_MET if unchanged else known_status
    points = [(answer.point, known_status, answer.lower_bound)]
    return Answers(points, known_status, found.nodes, survival=survival, ended_by=ended)


def _at_log_odds(problem: Problem, threshold: float) -> Problem:
    """The same problem for a confidence of such log-odds."""
    level = 1.0 / (1.0 + math.exp(-threshold))
    return replace(problem, target=Target(level, threshold=level))


# ---------------------------------------------------------------- by engines that try rows


def _tried(model: ReadModel, problem: Problem, question: Question, verbose: bool) -> list[Point]:
    engine = black_box(question.engine)
    assert engine is not None
    return engine.search(
        model.model,
        problem,
        lambda rows: model.judged(rows, problem.target),
        n_trials=question.n_trials or engine.trials,
        random_state=question.random_state,
        verbose=verbose,
    )


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


# ---------------------------------------------------------------- how far, and at what cost


def most_confident(
    model: ReadModel,
    problem: Problem,
    factual: pd.Series[Any],
    threshold: float,
    limits: Question,
    known: Sequence[Option] = (),
    ceiling: float = 1.0,
) -> Reach:
    """The most confident option, from known options and a ceiling on."""
    action_set = problem.action_set
    engine = Exact(
        model.score, problem, scope="most_confident", node_limit=limits.node_limit,
        time_limit=limits.time_limit,
    )  # fmt: skip
    allowed = (each for each in known if action_set.allows(each.codes))
    start = max(allowed, key=lambda each: each.confidence, default=None)
    climb = Climb(engine, None if start is None else start.codes, ceiling)
    climb.climb()
    best = climb.point
    target = Target(min(max(best.confidence, 1e-12), 1 - 1e-12))
    exactly = best.confidence == target.confidence  # else it is beyond all targets
    asked = replace(target, threshold=target.confidence) if exactly else target  # no slack
    keep = None if exactly else lambda point: point.confidence >= best.confidence
    found = engine.about(replace(problem, target=asked), climb.nodes).cheapest(keep, known=best)
    assert found.point is not None
    proved = climb.proved and not found.stopped
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    problem = replace(problem, target=target)
    furthest = option(model, problem, factual, found.point, status, found.lower_bound)
    ceiling = furthest.confidence if climb.proved else climb.ceiling
    return _by_what_matters(model, problem, factual, threshold, furthest, ceiling)


def _by_what_matters(
    model: ReadModel,
    problem: Problem,
    factual: pd.Series[Any],
    threshold: float,
    furthest: Option,
    ceiling: float,
) -> Reach:
    """The most confident option without the moves that add next to nothing."""
    action_set, most = problem.action_set, furthest.confidence
    least = most - LITTLE
    if most >= threshold:
        least = max(least, math.nextafter(threshold, 0.0))
    codes = sparsified(action_set, furthest.codes, model.confidences, least)
    short = option(model, problem, factual, Point(codes, 0.0, most), furthest.status, 0.0)
    each = marginal_confidence(action_set, short.codes, model.confidences)
    parts = {part.name: getattr(short, part.name) for part in fields(Option)}
    return Reach(
        **parts | {"lower_bound": short.cost},
        worth={action_set.schema[f].name: lost for f, lost in each.items()},
        furthest=furthest,
        ceiling=ceiling,
    )


def frontier(
    model: ReadModel,
    problem: Problem,
    targets: Sequence[Target],
    limits: Question,
    resolution: float | None,
    max_steps: int,
) -> pd.DataFrame:
    """The rows of `Recourse.frontier`."""
    _refuse_resolution(resolution, max_steps)
    engine = Exact(
        model.score, problem, scope="most_confident", node_limit=limits.node_limit,
        time_limit=limits.time_limit,
    )  # fmt: skip
    ended, points = "", []
    if resolution is None or problem.cost.functions:  # by which a change may cost nothing
        points = engine.frontier(sorted(target.interval[0] for target in targets))
        low, high = points[0].confidence, points[-1].confidence
        if engine.stopped:
            ended = "time_limit" if engine.late else "node_limit"
    else:
        search = FrontierSearch(engine, targets, resolution, max_steps)
        search.run()
        points = search.points
        ended, low, high = search.ended, search.low, search.high
    table = problem.action_set.schema.decode(np.array([p.codes for p in points]))
    table.insert(0, "confidence", [p.confidence for p in points])
    table.insert(0, "cost", [p.cost for p in points])
    table.attrs |= {"complete": not ended, "resolution": resolution, "from": low, "to": high}
    table.attrs |= {"ended_by": ended or None}
    return table


def _refuse_resolution(resolution: float | None, max_steps: int) -> None:
    if resolution is not None and not (is_number(resolution) and FINEST <= resolution < 1):
        raise ValueError(
            f"resolution={resolution!r}; expected a number from {FINEST:g} up to, but not "
            "including, 1. Give a larger one, such as 0.01, or None for every step"
        )
    if not isinstance(max_steps, int) or max_steps < 2:
        raise ValueError(f"max_steps={max_steps!r}; expected a whole number of at least 2")
