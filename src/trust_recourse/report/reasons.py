"""Why the model said no: which of a person's values hold its confidence back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.report.shortfall import Method, Shortfall, nearest_yes, shortfall, side_of
from trust_recourse.schema import Feature

if TYPE_CHECKING:
    from trust_recourse.question import Option
    from trust_recourse.result import Result

MOST = 4  # reasons, at most


class Reason(NamedTuple):
    """A value that holds confidence back."""

    feature: Feature
    value: str = ""  # the person's own, for people
    weight: float = 0.0  # its share in the shortfall; 0 where the model does not tell shares
    side: str = ""  # beside those compared with: low, high, missing or other
    typical: str = ""  # what is usual among them, for people
    usual: Any = None  # the same as it is; None if there are none, or it is mostly missing
    raw: str = ""  # the person's own value as the schema writes it
    code: str = ""  # in the institution's own list
    text: str = ""  # its words there
    others: tuple[Any, ...] = ()  # further reasons of the same code


def reasons(
    result: Result, method: Method, reference: Any, way: Option | None
) -> tuple[Shortfall | None, list[Reason]]:
    """What a person falls short by, and its principal reasons, the weightiest first.

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
                usual=beside.typical[f],
            )
            for f in beside.principal()
        ]  # fmt: skip
    return None, [] if way is None else [_replaced(result, way, name) for name in way.changes]


def _replaced(result: Result, way: Option, name: str) -> Reason:
    """A value that a change replaces, of a model that does not tell its share."""
    feature = result.recourse.schema[name]
    own, then = (feature.code_of(row[name]) for row in (result.factual, way.x))
    return Reason(feature, side=side_of(feature, own, then > own))
