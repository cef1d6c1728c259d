"""Two scores at once, as answers that last need them: by enumeration of all that one may become.

Beside the model of a case others of its kind are learnt on rows drawn by chance. What is asked is a
confidence of the model and one of the others' mean, both of which some row is known to have.
"""

from __future__ import annotations

import traceback
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from laws.checks import Court, Findings, no_dearer, told
from laws.enumeration import numeric, table
from laws.questions import one_of, some_cases
from laws.trees import KINDS, a_model, a_place
from trust_recourse import Recourse, from_model
from trust_recourse.answers.retraining import mean_of
from trust_recourse.models import UnreadableError
from trust_recourse.question import SLACK, Problem, Target
from trust_recourse.search.exact import Exact
from trust_recourse.search.formulation import SecondConstraint

ROWS = 60  # that the others learn from


def judge(seed: int) -> Findings:
    """The cheapest for two scores is that of an enumeration, whatever the family."""
    rng, findings = np.random.default_rng(seed), Findings()
    kind = KINDS[seed % len(KINDS)]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for case in some_cases(rng, partial(a_place, kind=kind)):
            before = len(findings.broken)
            try:
                _judge(case, rng, findings, kind)
            except Exception:
                findings.broken.append("".join(traceback.format_exc()))
            if len(findings.broken) > before:
                findings.broken.append(case.words)
    return findings


def _judge(case, rng, findings, kind) -> None:
    unlisted = any(numeric(f) and f.movable and f.step is None for f in case.schema)
    if unlisted:  # of which only the values at the edges of the first model are looked at
        return
    wanted = case.model.classes_[case.wanted]
    recourse = Recourse(case.model.given, case.schema, case.cost, wanted=wanted)
    court = Court(case, recourse, rng, findings)
    rows = case.rows
    some = table(case.schema, rows.codes[rng.integers(0, len(rows.codes), ROWS)])
    if some.nunique().max() < 2:  # from which nothing can be learnt
        return
    others = [
        a_model(rng, kind, case.schema, some, int(rng.integers(1, 8)), (2, 6)) for _ in range(3)
    ]
    try:
        mean = mean_of([from_model(each.given, case.schema) for each in others]).score_of(
            case.wanted
        )
    except UnreadableError:
        return
    both = mean.at_codes(rows.codes)
    ours = recourse.score.at_codes(rows.codes)
    for _ in range(3):
        at = int(rng.integers(len(ours)))
        level, demand = one_of(rng, (ours[at], both[at]), (0.5, both[at]), (ours[at], 0.5))
        _ask(court, mean, both, ours, float(level), float(demand))


def _ask(court, mean, both, ours, level, demand) -> None:
    recourse, rows, case = court.recourse, court.rows, court.case
    if not (0.0 < demand < 1.0 and 0.0 < level < 1.0) or recourse.schema.derived:
        return
    met = (ours >= level) & (both >= demand - SLACK)
    near = np.abs(both - (demand - SLACK)) < 1e-12
    if near.any():  # rounding decides
        return
    action_set = recourse.schema.action_set(case.person)
    problem = Problem(action_set, Target(demand), case.cost, case.wanted)
    second = SecondConstraint(
        recourse.score, level, lambda codes: float(recourse.score.at_codes(codes[None])[0]) >= level
    )
    answer, name = Exact(mean, problem, second=second).cheapest(), f"{level!r} and {demand!r}"
    least = rows.least(met)
    court.count("questions of two scores")
    court.count("that have an answer", least is not None)
    if answer.point is None or least is None:
        has = "nothing" if answer.point is None else f"{answer.point.cost!r}"
        court.law(answer.point is None and least is None, f"{name}: {has}, but {told(least)}")
        return
    exact = rows.cost_of(answer.point.codes)
    court.law(rows.allows(answer.point.codes), f"{name}: {answer.point.codes} is not allowed")
    enough = float(mean.at_codes(answer.point.codes[None])[0]) >= demand - SLACK
    court.law(enough and second.met(answer.point.codes), f"{name}: it does not meet both")
    court.law(no_dearer(exact, least), f"{name}: costs {told(exact)}, but {told(least)} is enough")
