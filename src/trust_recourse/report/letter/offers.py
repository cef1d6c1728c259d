"""The options that a letter offers, and how far the person gets where there are none.

This is where a letter searches; what is found are values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.question import MostConfident, Option, Status, Target

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result

MOST_OFFERS = 3


class Offer(NamedTuple):
    """One way to a better answer."""

    row: Mapping[str, Any]  # every value of the person then, by name
    changes: Mapping[str, tuple[str, str]]  # by name: from and to, as they are shown
    confidence: int  # out of 100, rounded down
    ranges: Mapping[str, str]  # by name, from where to where the values may go, as it is shown
    ends: Mapping[str, tuple[Any, Any]]  # the same as values, infinite where there is no end


class FoundOffers(NamedTuple):
    """The options worth offering, cheapest first, and what the search for them found."""

    chosen: Sequence[Option]
    furthest: MostConfident | None = (
        None  # the most confident option, where nothing asked for is a yes
    )
    search_limit: float | None = None  # seconds that ended the search for a yes


def offers_of(result: Result, time_limit: float | None, seek: bool) -> FoundOffers:
    """The options of a result worth offering; where none is a yes, and if asked to, search more.

    That is a search for the cheapest yes, and for the most confident option.
    """
    chosen = worth_offering(result, result.options)
    if not seek or not result.refused or chosen or result.extra_constraints:
        return FoundOffers(chosen)
    exact, decision = result.engine == "exact", result.decision
    known = any(
        asks_less(target, decision) and (proved or not exact) for target, proved in unmet(result)
    )
    yes: Sequence[Option] = ()
    search_limit = None
    if not known:
        asked = replace(
            result.question.without_rules,
            confidence=() if decision.mode == "argmax" else (decision.confidence,),
            mode=decision.mode, n_options=1,
            engine=result.engine, time_limit=time_limit if exact else None,
        )  # fmt: skip
        found = result.recourse.ask(result.factual, asked)
        yes = found.options
        if "time_limit" in found.ended_by.values():
            search_limit = time_limit
    furthest = None
    if result.recourse.exact and (unmet(result) or not worth_offering(result, yes)):
        furthest = result.max_confidence
        yes = (*yes, furthest)
    return FoundOffers(worth_offering(result, yes), furthest, search_limit)


def unmet(result: Result) -> list[tuple[Target, bool]]:
    """The confidences asked for that nothing reaches, and whether that is proved."""
    none = (Status.INFEASIBLE, Status.NOT_FOUND)
    return [
        (target, status is Status.INFEASIBLE)
        for target, status in result.status.items()
        if target.mode != "band" and status in none
    ]


def asks_less(target: Target, decision: Target) -> bool:
    """Whether a target asks for no more than the decision."""
    return decision.mode == "argmax" or target.confidence <= decision.confidence


def worth_offering(result: Result, options: Sequence[Option]) -> list[Option]:
    """The options that make it a yes, or a firmer one; cheapest first."""
    recourse, kept = result.recourse, list[Option]()

    def better(option: Option) -> bool:
        yes = recourse.accepts(recourse.schema.action_set(option.x).own, result.decision)
        return yes and (result.refused or recourse.confidence(option.x) > result.confidence)

    def needless(option: Option, other: Option) -> bool:
        """Whether an option asks for all that a cheaper one does, and is no more confident."""
        asks_all = other.changes.items() <= option.changes.items()
        return asks_all and recourse.confidence(option.x) <= recourse.confidence(other.x)

    for option in sorted((o for o in options if o.changes and better(o)), key=lambda o: o.cost):
        if not any(needless(option, other) for other in kept):
            kept.append(option)
    return kept


def ends_of(result: Result, option: Option) -> dict[str, tuple[Any, Any]]:
    """From where to where each value may go that has some room, where all of it is a yes."""
    decision = result.decision
    whole = decision.mode == "argmax" or option.target.interval[0] >= decision.interval[0]
    proved = result.recourse.exact and whole and option in result.options
    if not proved or result.extra_constraints:
        return {}
    rows = result.ranges(result.options.index(option)).itertuples(index=False)
    return {name: (low, high) for name, low, high in rows if low != high}
