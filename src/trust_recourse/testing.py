"""The conformance kit: run it on a model of your own before you believe what is proved about it.

`check_cell_model` draws boxes of cells, people and questions, and holds the model to what the exact
engine relies on: the score is what `predict_proba` says, cells are what they say, bounds hold on
every box, a single cell is tight, linear conditions hold within every budget, and small questions
are answered as by enumeration. Where the checker can read the model, their certificates are
confirmed, and forged ones are not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.answers.recourse import Recourse
from trust_recourse.answers.result import Result
from trust_recourse.certificate import CertificateError, check, why_not
from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.readers.read_model import noisy_table
from trust_recourse.models.seam import Score
from trust_recourse.question import Problem, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Schema
from trust_recourse.search.exact import Exact

MOST_CELLS = 4096  # of one box that are looked at one by one
MOST_ROWS = 20_000  # of one question that is enumerated
TIGHT = 1e-9  # bounds on a single cell lie this close together


class Checked(NamedTuple):
    """How much was judged."""

    boxes: int
    conditions: int
    questions: int
    certificates: int


def check_cell_model(
    model: Any, X: Any = None, *, n_boxes: int = 200, n_questions: int = 20, random_state: int = 0
) -> Checked:
    """Hold a model to what the exact engine relies on, or raise AssertionError with what failed.

    `X` are rows of people to ask about; without them people are drawn from the grid. In the
    questions features with too many values to enumerate stay as they are.

    >>> from trust_recourse import Feature
    >>> from trust_recourse.models.readers.library import Additive
    >>> debts = Schema((Feature("owed", "integer", lower=0, upper=40, scale=40),))
    >>> check_cell_model(Additive(debts, edges=[[5, 20]], points=[[0.8, 0.1, -1.1]])).certificates
    40
    """
    rng = np.random.default_rng(random_state)
    conditions = 0
    for wanted in range(len(model.classes_)):
        score = _searched(model, X, wanted, rng)
        _check_grid(score, rng)
        _check_predictions(model, wanted, rng)
        for _ in range(n_boxes):
            conditions += _check_box(score, rng)
    certificates = [_check_question(model, X, rng) for _ in range(n_questions)]
    judged = [each for each in certificates if each is not None]
    return Checked(n_boxes * len(model.classes_), conditions, len(judged), sum(judged))


# ---------------------------------------------------------------- cells and boxes


def _searched(model: Any, X: Any, wanted: int, rng: np.random.Generator) -> Score:
    """The score itself or, where it lists values, that of those which somebody may have."""
    score: Score = model.score_of(wanted)
    if not score.lists:
        return score
    person = _person(model, X, score, rng)
    schema = _few(model, wanted, person, rng)
    problem = Problem(schema.action_set(person), Target(0.5), Cost(l1=1.0), wanted)
    return Exact(score, problem, scope="any").listed.score


def _check_grid(score: Score, rng: np.random.Generator) -> None:
    """Every cell's own ends lie in it, and the two ways to ask for cells agree."""
    grid = score.grid
    for f, feature in enumerate(grid.schema):
        ends = grid.ends(f)
        assert (np.diff(ends) > 0).all(), f"feature {feature.name!r}: its edges do not ascend"
        inside = np.where(np.isfinite(ends[1:]), ends[1:], np.nextafter(ends[:-1], math.inf))
        inside = np.nan_to_num(inside, neginf=0.0, posinf=0.0)
        found = grid.cells_in(f, inside).tolist()
        assert found == list(range(len(inside))), f"feature {feature.name!r}: {found}"
    codes = _rows_in(score, _some_cells(score, rng, 50))
    each = np.column_stack([grid.cells_in(f, codes[:, f]) for f in range(codes.shape[1])])
    assert (each == grid.cells(codes)).all(), "cells and cells_in disagree"


def _check_predictions(model: Any, wanted: int, rng: np.random.Generator) -> None:
    """`score.at` is the very float of `predict_proba`, on the edges of cells and just beside."""
    if not hasattr(model, "predict_proba"):
        return
    score = model.score_of(wanted)
    rows = _rows_in(score, _some_cells(score, rng, 60))
    number = np.array([feature.kind == "number" for feature in score.grid.schema])
    beside = np.where(number, np.nextafter(rows, math.inf), rows)
    rows = np.concatenate([rows, np.where(rng.random(rows.shape) < 0.5, rows, beside)])
    rows = np.where(number, rows, np.floor(rows))
    table = noisy_table(rows, model.schema_)
    told = np.asarray(model.predict_proba(table), float)[:, wanted]
    ours = score.at_codes(rows)
    for at in np.flatnonzero(told != ours)[:1].tolist():
        person = {name: table[name].iloc[at] for name in table.columns}
        raise AssertionError(
            f"of {person} predict_proba says {told[at]!r}, the score {ours[at]!r}; expected the "
            "same float"
        )


def _check_box(score: Score, rng: np.random.Generator) -> int:
    """Bounds and a linear condition on one random box; how many conditions were judged."""
    first, last = _box(score, rng)
    inside = _inside(first, last, rng)
    confidence = score.at(inside)
    low, high = score.kernel.intervals(first[None], last[None])[0, :2].tolist()
    told = f"on the box {first.tolist()} to {last.tolist()}"
    within = low <= 1.0 + TIGHT and high >= -TIGHT
    assert within, f"{told}: the kernel's number is {low} to {high}; expected within 0 and 1"
    (least,), (most,), (loose,) = score.bounds(first[None], last[None])
    assert least <= confidence.min(), f"{told}: {confidence.min()} is below the bound {least}"
    assert confidence.max() <= most, f"{told}: {confidence.max()} is above the bound {most}"
    alike = not (loose > 0).any()
    assert not alike or np.ptp(confidence) == 0, f"{told}: nothing is loose, but it is not constant"
    if (first == last).all():
        tight = high - low <= TIGHT + 4.0 * score.kernel.rounding
        assert tight, f"{told}: a single cell has the bounds {least}, {most}"
    return _check_condition(score, rng, first, last, inside)


def _check_condition(
    score: Score, rng: np.random.Generator, first: Ints, last: Ints, inside: Cells
) -> int:
    """Whoever reaches a level within a budget has the gain that is needed."""
    kernel, grid = score.kernel, score.grid
    spend = np.full(int(grid.sizes.sum()), math.inf)
    for f, (a, b) in enumerate(zip(first, last, strict=True)):
        spend[grid.first_cell[f] + np.arange(a, b + 1)] = rng.random(b - a + 1)
    total = spend[grid.first_cell + inside].sum(axis=1)
    budget = float(np.quantile(total, rng.random())) if rng.random() < 0.8 else math.inf
    out = np.array([kernel.intervals(row[None], row[None])[0, :2] for row in inside])
    side = int(rng.choice([-1, 1]))
    reached = out[:, 0] if side > 0 else 1.0 - out[:, 1]  # surely no more than the true number
    level = float(np.quantile(reached, rng.random(), method="nearest"))
    gains = np.empty(len(spend) + 1)
    span = np.concatenate([first, last]).astype(np.int64)
    memory = kernel.memory.copy()
    needed = kernel.native.relaxation(span, side, level, spend, budget, gains, memory)
    judged = (total <= budget) & (reached >= level)
    sums = gains[grid.first_cell + inside[judged]].sum(axis=1)
    short = sums < needed - TIGHT * (1.0 + abs(needed))
    told = f"on the box {first.tolist()} to {last.tolist()}, side {side}, level {level}"
    assert not short.any(), f"{told}: a point that reaches it has less gain than {needed}"
    assert not judged.any() or gains[-1] >= reached[judged].max() - TIGHT, f"{told}: it is reached"
    return int(judged.any())


def _box(score: Score, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """A random box; every third is a single cell."""
    ends = np.sort(rng.integers(0, score.grid.sizes, (2, len(score.grid.sizes))), axis=0)
    return (ends[0], ends[0].copy()) if rng.random() < 1 / 3 else (ends[0], ends[1])


def _inside(first: Ints, last: Ints, rng: np.random.Generator) -> Cells:
    """The cells of a box: all of them, or some where there are many."""
    if np.prod(last - first + 1.0) <= MOST_CELLS:
        every = itertools.product(*(range(a, b + 1) for a, b in zip(first, last, strict=True)))
        return np.array(list(every), np.int32)
    return rng.integers(first, last + 1, (MOST_CELLS, len(first))).astype(np.int32)


def _some_cells(score: Score, rng: np.random.Generator, n: int) -> Cells:
    return rng.integers(0, score.grid.sizes, (n, len(score.grid.sizes))).astype(np.int32)


def _rows_in(score: Score, cells: Cells) -> Floats:
    """A row of codes in each row of cells."""
    columns = []
    for f, of in enumerate(cells.T):
        ends = score.grid.ends(f)
        known = np.minimum(of, len(ends) - 2)
        left, right = ends[known], ends[known + 1]
        code = np.where(np.isfinite(right), right, np.floor(left) + 1.0)
        code = np.where(np.isfinite(code), code, 0.0)
        columns.append(np.where(of > known, math.nan, code))
    return np.column_stack(columns)


# ---------------------------------------------------------------- questions


def _check_question(model: Any, X: Any, rng: np.random.Generator) -> int | None:
    """One person's question against an enumeration of a few values of each feature.

    Gives how many certificates were judged, None if the question was too large to judge.
    """
    wanted = int(rng.integers(len(model.classes_)))
    score = model.score_of(wanted)
    person = _person(model, X, score, rng)
    schema = _few(model, wanted, person, rng)
    action_set = schema.action_set(person)
    values = [actions.values() for actions in action_set.actions]
    if math.prod(map(len, values)) > MOST_ROWS:
        return None
    cost = str(rng.choice(["l1", "l2"]))
    recourse = Recourse(model, schema, cost, wanted=model.classes_[wanted])
    rows = np.array([row for row in itertools.product(*values) if action_set.allows(row)])
    confidence = score.at_codes(rows)
    costs = np.array([recourse.cost.between(schema.features, action_set.own, row) for row in rows])
    level = float(np.clip(rng.choice(confidence), 1e-6, 1 - 1e-6))
    beyond = float(np.clip(confidence.max() + 0.01, 0.0, 0.999))
    certified = 0
    for asked in (level, beyond):
        certify = not why_not(model)
        result = recourse.find(person, asked, certify=certify)
        _compare(result, f"for {dict(person)} at least {asked}", costs, confidence)
        if certify:
            _check_certificate(result)
            certified += 1
    return certified


def _person(model: Any, X: Any, score: Score, rng: np.random.Generator) -> Any:
    """One of the rows, or somebody drawn from the grid."""
    if X is not None:
        return X.iloc[int(rng.integers(len(X)))]
    own = _rows_in(score, _some_cells(score, rng, 1))[0]
    whole = np.array([feature.kind != "number" for feature in model.schema_])
    own = np.where(whole, np.floor(own), own)
    return model.schema_.decode(own[None]).iloc[0]


def _compare(result: Result, told: str, costs: Floats, confidence: Floats) -> None:
    ((target, status),) = result.status.items()
    met = np.array([target.met(each) for each in confidence.tolist()])
    if not met.any():
        assert status is Status.INFEASIBLE, f"{told}: {status}, but no row reaches it"
        return
    assert result.options, f"{told}: {status}, but a row reaches it at {costs[met].min()}"
    found = result.options[0].cost
    least = float(costs[met].min())
    assert math.isclose(found, least, rel_tol=1e-9, abs_tol=1e-12), f"{told}: {found}, not {least}"


def _check_certificate(result: Result) -> None:
    """What was proved is confirmed; that nobody gets as far as somebody does is not."""
    certificate, recourse = result.certificate(), result.recourse
    wanted = recourse.wanted
    told = f"the certificate of {dict(result.factual)}"
    try:
        check(certificate, recourse.model, x=result.factual, cost=recourse.cost, wanted=wanted)
    except CertificateError as error:
        raise AssertionError(f"{told}: refused, {error}") from None
    own = min(max(result.confidence, 1e-6), 1 - 1e-6)
    target = certificate.problem.target if result.options else Target(own)
    if not (result.options or target.met(result.confidence)):
        return  # a confidence of 0, which no target is met by
    forged = replace(
        certificate, problem=replace(certificate.problem, target=target), answer=None,
        status=Status.INFEASIBLE, lower_bound=math.inf,
    )  # fmt: skip
    with suppress(CertificateError):
        check(forged, recourse.model)
        raise AssertionError(f"{told}: a forged one was confirmed")


def _few(model: Any, wanted: int, person: Any, rng: np.random.Generator) -> Schema:
    """The schema with some features locked, and all that have too many values to enumerate."""
    schema, features = Recourse(model, wanted=model.classes_[wanted]).schema, []
    own = model.schema_.encode(person)[0]
    most = max(int(MOST_ROWS ** (1.0 / max(min(len(schema), 4), 1))), 2)
    for feature, code in zip(schema, own.tolist(), strict=True):
        many = feature.actions(code).count()
        locked = feature.protected or rng.random() < 0.3 or many > most
        features.append(replace(feature, mutable=False) if locked else feature)
    return replace(schema, features=tuple(features))


__all__: Sequence[str] = ("Checked", "check_cell_model")
