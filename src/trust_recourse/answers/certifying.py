"""The certificate of an answer: what may be proved of it, and the search that is traced for it."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from trust_recourse.certificate import Certificate, why_not
from trust_recourse.certificate.prove import NO_PROOF, prove
from trust_recourse.models.log_odds_margin import LogOddsMargin, told_shares
from trust_recourse.question import Point, Problem, Question, Status, Target
from trust_recourse.search.exact import Exact, Traced

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result

EXTRA = "a plausibility test, min_radius or survives"  # that no proof covers
FEW_BOXES, SOME_BOXES = 64, 4096  # of a proof: no better one is searched, and it is given up


def certificate(result: Result, target: Target, time_limit: float | None) -> Certificate:
    """The certificate of the answers to one target; see `Result.certificate`."""
    limit = Question(time_limit=time_limit).time_limit
    recourse, status = result.recourse, result.status[target]
    if reason := _why_none(result, target):
        raise ValueError(f"no certificate for this answer: {reason}")
    problem = recourse.problem(recourse.schema.action_set(result.factual), target)
    first = next((option for option in result.options if option.target == target), None)
    bound, answer = math.inf, None
    if first is not None:
        bound = first.cost if status is Status.OPTIMAL else first.lower_bound
        answer = Point(first.codes, first.cost, first.confidence)
    claim = Certificate(
        recourse.model.fingerprint_, problem, status, answer, bound, result.nodes[target], NO_PROOF
    )
    until = math.inf if limit is None else time.monotonic() + limit
    try:
        trace = partial(_traced, result)
        return prove(claim, target in result.fewest, recourse.model, trace, until)
    except TimeoutError:
        raise TimeoutError(
            f"no certificate for this answer: given time_limit={limit:g}, expected seconds "
            "enough to complete the proof; give more, or None for no limit"
        ) from None


def _why_none(result: Result, target: Target) -> str:
    """Why no certificate covers an answer; '' if one does."""
    status, more = result.status[target], result.extra_constraints and EXTRA
    if reason := unproved(result.recourse.model, result.engine, more):
        return reason
    if status is Status.NOT_FOUND and target in result.ended_by:
        return "a limit ended the search before it found anything; give it more time"
    if status is Status.NOT_FOUND:
        return "the search found nothing, but rounding hides whether there is an answer"
    if target in result.fewest and status is not Status.OPTIMAL:
        return (
            "a limit ended the search before both parts of sparse were proved; give it more "
            "time, or ask with max_changes in place of sparse"
        )
    return ""


def _traced(
    result: Result, problem: Problem, bound: float, answer: Point | None, until: float
) -> tuple[Traced, tuple[float, ...]]:
    """How all that is cheaper is ruled out and, of several classes, the shares of its tangent.

    That at the answer tends to need few boxes; where there is none, that at the person's own
    values, or at their most confident reachable ones.
    """

    def left() -> float | None:
        seconds = until - time.monotonic()
        if seconds <= 0.0:
            raise TimeoutError
        return None if seconds == math.inf else seconds

    score = result.recourse.read_model.score_for(problem.target)
    if not isinstance(score, LogOddsMargin):
        return Exact(score, problem, time_limit=left()).proof(bound), ()
    own, found = problem.action_set.own, None
    for last in (False, True):
        codes = own if last or answer is None else answer.codes
        if last and answer is None:
            seconds = left()
            known = seconds is None or "max_confidence" in vars(result)
            most = result.max_confidence if known else result.most_confident(seconds)
            codes = most.codes
        q = told_shares(score.shares_at(codes))
        limit = None if last and found is None else SOME_BOXES
        try:
            asked = Exact(score.proved_by(q), problem, node_limit=limit, time_limit=left())
            made = asked.proof(bound)
        except TimeoutError:
            if found is None:
                raise
            break
        except MemoryError:
            if limit is None:
                raise
            continue
        if found is None or len(made.tree.feature) < len(found[0].tree.feature):
            found = made, tuple(q.tolist())
        if len(made.tree.feature) <= FEW_BOXES:
            break
    assert found is not None
    return found


def unproved(model: Any, engine: object, more: str = "", levels: int = 1) -> str:
    """Why no certificate covers a question to a model; '' if one does.

    `more` names the setting by which more is asked of an answer than confidence.
    """
    if levels > 1:
        return "a proof is of one confidence; ask for each by itself"
    if more:
        return f"no proof covers {more}; ask without it"
    if engine not in ("auto", "exact"):
        return f"the engine {engine} proves nothing; use exact"
    return why_not(model)
