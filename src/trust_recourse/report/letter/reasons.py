"""Why the model said no: which values hold its confidence back, and how they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.answers.explain import explainable
from trust_recourse.io.wording import in_few_digits
from trust_recourse.report.language import Language
from trust_recourse.report.letter.shortfall import (
    Apart,
    Method,
    Shortfall,
    against,
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
    def every(self) -> tuple[Reason, ...]:
        """It, and the further ones of its code."""
        return (self, *self.others)

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
    beside: Shortfall | None = None
    if method != "nearest-yes":
        beside = shortfall(result, reference, method)
    elif way is not None and explainable(result.recourse.model):
        own = result.recourse.schema.action_set(way.x).own
        beside = against(result, own[None], method)
    if beside is not None:
        return beside, [
            Reason(
                result.recourse.schema[f], weight=float(beside.scores[f]), side=beside.sides[f],
                usual=beside.typical[f], apart=beside.apart[f],
            )
            for f in beside.short
        ]  # fmt: skip
    if way is None:
        return None, []
    replaced = [result.recourse.schema[name] for name in way.changes]
    return None, [Reason(feature, side=_replaced(result, way, feature)) for feature in replaced]


def principal(found: Sequence[Reason]) -> tuple[Reason, ...]:
    """Those of all reasons that weigh enough to be told, in their order: one at least."""
    least = LEAST * sum(each.total for each in found)
    told = [each for each in found if each.total >= least] or found[:1]
    return tuple(told[:MOST])


def _replaced(result: Result, way: Option, feature: Feature) -> str:
    """The side of a value that a change replaces, of a model that does not tell its share."""
    own, then = (feature.code_of(row[feature.name]) for row in (result.factual, way.x))
    return side_of(feature, own, then > own)


def beside(reason: Reason, own: object, rows: int, language: Language) -> str:
    """What to say of a reason where no other value is usual among the `rows` compared with.

    That the person's is usual too, if it is, and how many have another that counts against them.
    """
    if reason.usual is None or reason.side == "missing":
        return ""
    say, apart = language.gettext, reason.apart
    usual = in_few_digits(reason.usual) == in_few_digits(own)
    usual_too = f"{say('This is usual among them.')} " if usual else ""
    if not apart.rows:
        return usual_too + say("It counts against you together with your other values.")
    if apart.value is not None:
        value = language.said(reason.feature, in_few_digits(apart.value))
    else:
        value = say("a higher value") if reason.side == "low" else say("a lower value")
    num, every = (language.number(str(many)) for many in (apart.rows, rows))
    return usual_too + language.ngettext(
        "It counts against you that %(num)s of %(rows)s has %(value)s.",
        "It counts against you that %(num)s of %(rows)s have %(value)s.",
        apart.rows, num=num, rows=every, value=value,
    )  # fmt: skip
