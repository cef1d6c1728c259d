"""Why the model said no, beside other applicants: by which values a person falls short of them.

These are the two methods that the official interpretation of Regulation B names (12 CFR part 1002,
supplement I, comment 9(b)(2)-5): the factors on which an applicant falls furthest below the average
of those **just passed**, or below the average of **all applicants**. What a factor adds for one
applicant is not a number of its own where factors act together, so the difference is split: the
score of factor f is its exact share (`explain.feature_shares`) in the change of the model's score
from the applicant to a reference applicant, averaged over these. The scores of all factors add up
to the mean difference.

Where there are no other applicants, the person is compared with the **nearest yes**: with the
values of the cheapest change that was found to be a yes. Then only values that can change are
reasons, and of a model that does not tell shares all that the change replaces. Nobody is measured
by the bounds of a schema.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from trust_recourse.answers.explain import explainable, feature_shares
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import floored, in_few_digits, near, some
from trust_recourse.report.language import Language
from trust_recourse.report.letter.letter_request import Method as Method
from trust_recourse.schema import Feature

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result
    from trust_recourse.question import Option

METHODS: tuple[Method, ...] = get_args(Method)
PASSED = 100  # of the accepted, the nearest above the threshold
MOST = 4  # reasons, at most
LEAST = 0.05  # of all that a person falls short by: what is less is no principal reason


class Apart(NamedTuple):
    """How many of those compared with have another value, on the side that counts against one."""

    rows: int = 0
    value: Any = None  # what all of these have; None if they only lie on that side


@dataclass(frozen=True, eq=False)
class Shortfall:
    """What each feature takes a person below those they are compared with.

    The `scores`, in the schema's order, add up to `gap`: by how much the mean score of the `rows`
    reference applicants is above the person's own. `sides` says how the person's value lies beside
    theirs: "low", "high", "missing", or "other" for a category. `reach` is the least and the
    greatest of their confidences: where few are near the threshold, they reach far above it.
    """

    method: Method
    rows: int
    scores: Floats
    gap: float
    sides: tuple[str, ...]
    typical: tuple[Any, ...]  # the median of theirs, or the most frequent; None if mostly missing
    reach: tuple[float, float]
    apart: tuple[Apart, ...]  # which of theirs count against the person

    @property
    def words(self) -> str:
        """With whom the person is compared, and how far these reach."""
        low, high = map(floored, self.reach)
        if self.method == "nearest-yes":
            return f"the nearest yes that was found, whose confidence is {low}"
        who = f"the average of all {self.rows:,} applicants"
        if self.method == "just-passed":
            who = f"the {self.rows:,} accepted applicants nearest above the threshold"
        return f"{who}, whose confidence is from {low} to {high}"

    @property
    def short(self) -> list[int]:
        """The features in which the person falls short, the greatest shortfall first."""
        order = np.argsort(-self.scores, kind="stable").tolist()
        return [f for f in order if self.scores[f] > 0]


def shortfall(result: Result, reference: Any, method: Method) -> Shortfall:
    """Compare a person with the applicants of a table, which has the columns of the schema."""
    recourse = result.recourse
    if not explainable(recourse.model):
        raise ValueError(
            f"reasons={method!r}: a {type(recourse.model).__name__} does not say what its answer "
            "is made of, so no value has an exact share in it; expected a machine or a sum of "
            "terms, such as trees, or reasons='nearest-yes'"
        )
    codes = recourse.schema.encode(reference)
    if method == "just-passed":  # the nearest above the threshold, in that order
        judged = recourse.judged(codes, result.decision)
        passed = np.flatnonzero([result.decision.met(value) for value in judged.tolist()])
        codes = codes[passed[np.argsort(judged[passed], kind="stable")][:PASSED]]
    if not len(codes):
        which = "that the model accepts" if method == "just-passed" else "at all"
        raise ValueError(
            f"reference: no row {which}; expected applicants to compare with, such as the rows "
            "that the model has learnt from"
        )
    return against(result, codes, method)


def against(result: Result, codes: Floats, method: Method) -> Shortfall:
    """Compare a person with rows of codes."""
    recourse = result.recourse
    own = recourse.schema.action_set(result.factual).own
    shares = feature_shares(recourse.model, recourse.wanted_at, own, codes)
    scores = shares.mean(axis=0)
    judged = recourse.confidences(codes)
    reach = float(judged.min()), float(judged.max())
    features = [*zip(recourse.schema, own.tolist(), codes.T, shares.T, strict=True)]
    return Shortfall(
        method, len(codes), scores, float(scores.sum()),
        tuple(_side(*each) for each in features),
        tuple(_typical(feature, column) for feature, _, column, _ in features), reach,
        tuple(_apart(*each) for each in features),
    )  # fmt: skip


def _side(feature: Feature, own: float, column: Floats, shares: Floats) -> str:
    """On which side of theirs a value lies, by those who make most of the shortfall."""
    with np.errstate(invalid="ignore"):
        above, below = (float(shares[side].sum()) for side in (column > own, column < own))
    return side_of(feature, own, above >= below)


def side_of(feature: Feature, own: float, below: bool) -> str:
    """On which side a value lies that is, or is not, below what it is compared with."""
    if math.isnan(own):
        return "missing"
    return "other" if feature.kind == "category" else "low" if below else "high"


def _apart(feature: Feature, own: float, column: Floats, shares: Floats) -> Apart:
    """Who of them has another value that counts against a person: of words, the weightiest."""
    digits = in_few_digits if feature.numeric else float
    mine, theirs = digits(own), np.array([digits(code) for code in column.tolist()])
    sides = {"low": theirs > mine, "high": theirs < mine}
    apart = sides.get(_side(feature, own, column, shares), theirs != mine) & ~np.isnan(theirs)
    values = np.unique(theirs[apart])
    named = len(values) == 1 or not feature.numeric or bool(feature.words)
    if named and len(values):
        value = max(values.tolist(), key=lambda each: float(shares[theirs == each].sum()))
        apart = theirs == value
    if not shares[apart].sum() > 0:
        return Apart()
    return Apart(int(apart.sum()), feature.value_of(value) if named else None)


def _typical(feature: Feature, column: Floats) -> Any:
    """A value that is usual among applicants, as it is written."""
    known = np.sort(column[~np.isnan(column)])
    if len(known) <= len(column) / 2:
        return None
    if feature.kind in ("category", "boolean"):
        values, many = np.unique(known, return_counts=True)
        return feature.value_of(float(values[many.argmax()]))
    return feature.value_of(float(known[(len(known) - 1) // 2]))  # one that somebody has


def method_of(given: str | None, reference: Any, profile: str = "") -> Method:
    """How reasons are found, from what is given; of a `profile` that compares with others."""
    if given is not None and given not in METHODS:
        raise ValueError(
            f"reasons={given!r}; expected one of {some(METHODS)}{near(given, METHODS)}"
        )
    if reference is None:
        if profile or given in METHODS[1:]:
            why = f"reasons={given!r}" if given in METHODS[1:] else f"the profile {profile}"
            raise ValueError(
                f"{why} compares with other applicants, and there is no reference: give rows with "
                "the columns of the schema, such as those that the model has learnt from"
            )
        return "nearest-yes"
    if profile and given == "nearest-yes":
        raise ValueError(
            "reasons='nearest-yes' compares with no other applicants, which is no method for the "
            f"profile {profile}; expected 'just-passed' or 'all-applicants'"
        )
    return "just-passed" if given is None else next(each for each in METHODS if each == given)


# ---------------------------------------------------------------- reasons


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
