"""Why the model said no: which of a person's values hold its confidence back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.report.letter.shortfall import (
    Apart,
    Method,
    Shortfall,
    nearest_yes,
    shortfall,
    side_of,
)
from trust_recourse.schema import Feature

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result
    from trust_recourse.question import Option

MOST = 4  # reasons, at most
LEAST = 0.05  # of all that a person falls short by: what is less is no principal reason


class Reason(NamedTuple):
    """A value that holds confidence back."""

    feature: Feature
    value: str = ""  # the person's own, for people
    weight: float = 0.0  # its share in the shortfall; 0 where the model does not tell shares
    side: str = ""  # beside those compared with: low, high, missing or other
    typical: str = ""  # what is usual among them, for people
    usual: Any = None  # the same as it is; None if there are none, or it is mostly missing
    apart: Apart = Apart()  # which of theirs count against the person
    beside: str = ""  # how the value stands beside theirs, for people, where none is `typical`
    raw: str = ""  # the person's own value as the schema writes it
    code: str = ""  # in the institution's own list
    text: str = ""  # its words there
    others: tuple[Any, ...] = ()  # further reasons of the same code

    @property
    def total(self) -> float:
        """The weight of all that it tells of."""
        return float(self.weight + sum(each.weight for each in self.others))


def reasons(
    result: Result, method: Method, reference: Any, way: Option | None
) -> tuple[Shortfall | None, list[Reason]]:
    """What a person falls short by, and every reason for it, the weightiest first.

    `way` is the nearest yes that was found, if any: what the person is compared with where that is
    the method.
    """
    if method != "nearest-yes":
        beside: Shortfall | None = shortfall(result, reference, method)
    else:
        beside = None if way is None else nearest_yes(result, way)
    if beside is not None:
        return beside, [
            Reason(
                result.recourse.schema[f], weight=float(beside.scores[f]), side=beside.sides[f],
                usual=beside.typical[f], apart=beside.apart[f],
            )
            for f in beside.short
        ]  # fmt: skip
    return None, [] if way is None else [_replaced(result, way, name) for name in way.changes]


def principal(found: Sequence[Reason]) -> tuple[Reason, ...]:
    """Those of all reasons that weigh enough to be told, in their order: one at least."""
    least = LEAST * sum(each.total for each in found)
    told = [each for each in found if each.total >= least] or found[:1]
    return tuple(told[:MOST])


def _replaced(result: Result, way: Option, name: str) -> Reason:
    """A value that a change replaces, of a model that does not tell its share."""
    feature = result.recourse.schema[name]
    own, then = (feature.code_of(row[name]) for row in (result.factual, way.x))
    return Reason(feature, side=side_of(feature, own, then > own))
