"""Questions put to the served model: within the limits, and each a job for a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trust_recourse.answers.recourse import Recourse
from trust_recourse.answers.result import Result
from trust_recourse.ledger import Ledger
from trust_recourse.question import Option, question
from trust_recourse.schema import Schema
from trust_recourse.search.engines import BLACK_BOX, UNREAD
from trust_recourse.web.bodies import Person, Question, Rules
from trust_recourse.web.problems import Problem
from trust_recourse.web.state import AppState, Limits


def book(state: AppState) -> Ledger:
    """The ledger of the server, if it keeps one."""
    if state.ledger is None:
        raise Problem("no-ledger", "Start it with --ledger, or ask one that was")
    return state.ledger


def within(limits: Limits, asked: Rules | question.Question) -> None:
    """Refuse a question that asks for more than the limits."""
    told = asked.to_dict() if isinstance(asked, question.Question) else vars(asked)
    for name, most in {
        "time_limit": limits.seconds,
        "lock": limits.rows,
        "limits": limits.rows,
        "confidence": limits.levels,
        "options": limits.options,
        "trials": limits.trials,
    }.items():
        given = told.get(name)
        at_most(name, len(given) if isinstance(given, (list, dict)) else given, most)


def bounded(recourse: Recourse, asked: question.Question, limits: Limits) -> question.Question:
    """The question, its search ended by the limits where it has none of its own."""
    if recourse.proves(asked.engine):
        return replace(asked, time_limit=min(asked.time_limit or limits.seconds, limits.seconds))
    by_itself = BLACK_BOX[UNREAD if asked.engine == "auto" else asked.engine].trials
    return replace(asked, n_trials=asked.n_trials or min(by_itself, limits.trials))


def at_most(name: str, given: float | None, most: float) -> None:
    """Refuse more of one thing than its limit."""
    if given is not None and given > most:
        detail = f"{name}: given {given:g}, expected at most {most:g}"
        raise Problem("too-much", detail, name=name, limit=most)


def put(state: AppState, body: Question, *, certify: bool = False) -> Result:
    """Ask a question; the search ends with the limits of the server at the latest."""
    asked = body.question()
    person = values(state.recourse.schema, body.person)
    if isinstance(asked.plausible, str):
        asked = replace(asked, plausible=state.plausible(asked.plausible))
    asked = bounded(state.recourse, asked, state.limits)
    return state.recourse.ask(person, asked, certify=certify)


def chosen(result: Result, at: int) -> Option:
    """The option at a place, counted from 0."""
    if at >= len(result.options):
        many = f"{len(result.options) or 'no'} option{'s' * (len(result.options) != 1)}"
        detail = f"option {at}: the answer has {many}, counted from 0; see /v1/recourse"
        raise Problem("not-valid", detail)
    return result.options[at]


def seconds(state: AppState, rules: Rules) -> float:
    """How long to search for one confidence."""
    return state.limits.seconds if rules.time_limit is None else rules.time_limit


def values(schema: Schema, person: Person) -> dict[str, Any]:
    """A person's values; JSON tells true from 1, so no number may be true."""
    numbers = {feature.name for feature in schema if feature.kind in ("number", "integer")}
    for name, value in person.root.items():
        if isinstance(value, bool) and name in numbers:
            raise ValueError(f"{name!r}: given {str(value).lower()}, expected a number")
    return person.root


def confidences(recourse: Recourse, people: Sequence[Person]) -> list[float]:
    """The model's confidence for each person; a mistake names the row."""
    codes = []
    for at, person in enumerate(people):
        try:
            codes.append(recourse.schema.action_set(values(recourse.schema, person)).own)
        except ValueError as error:
            raise ValueError(f"people, row {at}: {error}") from None
    told: list[float] = recourse.confidences(np.array(codes)).tolist()
    return told
