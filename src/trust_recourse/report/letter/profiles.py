"""What the law of a place asks a letter to say: the fields that the institution fills in.

A profile is a value, checked where it is made: where fields are missing, one error names them all
and there is no letter. What each field is for, by paragraph of its rule, is in
`docs/letter-rules.md`; that is no legal advice.
"""

from __future__ import annotations

import copyreg
import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

from trust_recourse.io.wording import near, some, words_of
from trust_recourse.report.content import clean
from trust_recourse.schema import Feature
from trust_recourse.schema.guess.meaning import attribute

DAYS = 30  # 12 CFR 1002.9(a)(1)(i): from a completed application to the notice
MOST_FACTORS = 4  # 15 U.S.C. 1681g(f)(1)(C); one more where it is inquiries, (f)(9)
DATES = ("received", "decided", "score_date")  # none of them after the letter's own day
NONE = "none"  # said where there is no such thing, so that nothing is left out by mistake
BUREAUS = frozenset(
    {"bureau", "equifax", "experian", "fico", "schufa", "transunion", "vantagescore"}
)
LONGEST = 600  # letters of a field
YES = {"yes": True, "true": True, "no": False, "false": False}


class LetterError(ValueError):
    """A letter that cannot be written as asked; its message is composed of other arguments."""

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is, not composed again: a subclass takes other arguments than the message."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class MissingFieldsError(LetterError):
    """A letter lacks what its profile needs: `names` are all the fields that are missing."""

    def __init__(self, profile: str, names: tuple[str, ...]) -> None:
        self.profile, self.names = profile, names
        what = "this field" if len(names) == 1 else "these fields"
        super().__init__(f"no letter: the profile {profile} needs {what} too: {', '.join(names)}")


class LateLetterError(LetterError):
    """A notice would go out after its time; `sentence` says so, without how to write it still."""

    def __init__(self, received: datetime.date, sent: datetime.date) -> None:
        self.sentence = (
            f"no letter: it would go out on {sent.isoformat()}, {(sent - received).days} days "
            f"after the completed application was received ({received.isoformat()}), and 12 CFR "
            f"1002.9(a)(1)(i) gives {DAYS}; if it must go out all the same, say so"
        )
        super().__init__(f"{self.sentence}: late=True")


@dataclass(frozen=True)
class Profile:
    """A letter as it is anywhere: it needs no field, and the sender's address may be given."""

    name: ClassVar[str] = "plain"
    template: ClassVar[str] = "letter.jinja"
    one_page: ClassVar[bool] = True
    compares: ClassVar[bool] = False  # whether reasons need other applicants to compare with
    of_one: ClassVar[tuple[str, ...]] = ()  # the fields of one letter; others are the institution's
    waivers: ClassVar[tuple[str, ...]] = ()  # of these: what lets a letter pass that is refused
    or_none: ClassVar[tuple[str, ...]] = ()  # of which there may be none, in capitals or not

    address: str = ""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = READ[str(each.type)](each.name, getattr(self, each.name))
            if each.name in self.or_none and str(value).lower() == NONE:
                value = NONE
            object.__setattr__(self, each.name, value)
        if absent := tuple(self._missing()):
            raise MissingFieldsError(self.name, absent)

    def _missing(self) -> Iterator[str]:
        """The fields that are needed and not there."""
        yield from ()

    def check(self, accepted: bool, dated: datetime.date, sent: datetime.date) -> None:
        """Refuse a letter that this profile is not for; `sent` is the first day it can go out."""

    def guards(self, feature: Feature) -> bool:
        """Whether a feature is a reason only once somebody has reviewed its part.

        By a law's profile what the law protects is, by name, label or values, marked or not.
        """
        return feature.protected or (self.compares and attribute(feature) is not None)

    def doubts(self, reasons: Iterable[Feature]) -> tuple[str, ...]:  # noqa: ARG002
        """What speaks against what the institution filled in, by the features of the reasons."""
        return ()

    def timing(self, sent: datetime.date) -> dict[str, Any]:  # noqa: ARG002
        """By what a record shows whether a letter sent on this day is in time, if that is asked."""
        return {}


def _reported(feature: Feature) -> bool:
    """Whether a column sounds like a consumer report, such as a credit score.

    >>> _reported(Feature("x", label="FICO score")), _reported(Feature("credit_amount"))
    (True, False)
    """
    words = {*words_of(feature.name), *words_of(feature.title)}
    return not BUREAUS.isdisjoint(words) or {"credit", "score"} <= words


@dataclass(frozen=True)
class USProfile(Profile):
    """A notice of adverse action on credit in the United States.

    For a completed application (12 CFR 1002.9(a)(1)(i)), with its reasons (1002.9(a)(2)(i)), and
    with what section 615(a) of the Fair Credit Reporting Act asks for where a consumer report was
    used. The fields::

        address            the creditor's
        agency             name and address of the federal agency of appendix A to part 1002
        received           the day on which the completed application was received
        consumer_report    whether the decision rests, wholly or in part, on one: yes or no
        bureau             the consumer reporting agency that gave it
        bureau_address     its address
        bureau_telephone   its number; toll-free, if it keeps files nationwide
        score              the credit score that was used, or none
        score_low          the least score that its model gives
        score_high         the greatest
        score_date         the day on which it was created
        score_source       who gave it; the bureau, if left out
        score_factors      what lowered it most: up to four, a fifth only if it is inquiries
        inquiries          whether inquiries are the fifth of them
        decided            the day of the decision, for the record; null there, if left out
        late               write it though the 30 days have passed
    """

    name: ClassVar[str] = "us"
    template: ClassVar[str] = "letter_us.jinja"
    one_page: ClassVar[bool] = False
    compares: ClassVar[bool] = True
    of_one: ClassVar[tuple[str, ...]] = (
        "received", "decided", "consumer_report", "score", "score_date", "score_factors",
        "inquiries", "late",
    )  # fmt: skip
    waivers: ClassVar[tuple[str, ...]] = ("late",)
    or_none: ClassVar[tuple[str, ...]] = ("score",)

    agency: str = ""
    received: datetime.date | str = ""
    consumer_report: bool | str = ""
    bureau: str = ""
    bureau_address: str = ""
    bureau_telephone: str = ""
    score: float | str = ""
    score_low: float | str = ""
    score_high: float | str = ""
    score_date: datetime.date | str = ""
    score_source: str = ""
    score_factors: tuple[str, ...] = ()
    inquiries: bool | str = False
    decided: datetime.date | str = ""
    late: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scored:
            self._check_score()

    def _missing(self) -> Iterator[str]:
        needed = ["address", "agency", "received", "consumer_report"]
        if self.consumer_report:
            needed += ["bureau", "bureau_address", "bureau_telephone", "score"]
        if self.score not in ("", NONE):
            needed += ["score_low", "score_high", "score_date", "score_factors"]
        yield from (name for name in needed if getattr(self, name) in ("", ()))

    def _check_score(self) -> None:
        if not self.consumer_report:
            raise ValueError(
                f"score={self.score!r} and consumer_report=no: a score is told with the report it "
                "comes with; say consumer_report=yes, or leave the score out"
            )
        low, score, high = (
            _number(name, getattr(self, name)) for name in ("score_low", "score", "score_high")
        )
        if not low <= score <= high:
            raise ValueError(
                f"score={self.score}: expected a number from score_low={self.score_low} to "
                f"score_high={self.score_high}"
            )
        most = MOST_FACTORS + bool(self.inquiries)
        if len(self.score_factors) > most:
            raise ValueError(
                f"score_factors: given {len(self.score_factors)}, expected at most {MOST_FACTORS}, "
                "or one more with inquiries=yes where that is the last"
            )

    def doubts(self, reasons: Iterable[Feature]) -> tuple[str, ...]:
        """That a reason sounds like a report, where the decision is said to rest on none."""
        if self.consumer_report:
            return ()
        return tuple(
            f"By its name the reason {each.title} may come from a consumer report, and the notice "
            "says that the decision rests on none (consumer_report=no): is that right?"
            for each in reasons
            if _reported(each)
        )

    @property
    def scored(self) -> bool:
        """Whether a credit score was used."""
        return self.score not in ("", NONE)

    @property
    def source(self) -> str:
        """Who gave the credit score."""
        return self.score_source or self.bureau

    def check(self, accepted: bool, dated: datetime.date, sent: datetime.date) -> None:
        """It is for a refusal, and in time: whatever day it bears, it goes out on that of today."""
        if accepted:
            raise ValueError(
                "the profile us is a notice of adverse action, and the model accepts this person: "
                "take the profile plain"
            )
        received = date("received", self.received)
        for name in DATES:
            if (given := getattr(self, name)) != "" and given > dated:
                raise ValueError(f"{name}={given} is after the letter's own day, {dated}")
        if self.decided != "" and date("decided", self.decided) < received:
            raise ValueError(f"decided={self.decided} is before received={received}")
        if (sent - received).days > DAYS and not self.late:
            raise LateLetterError(received, sent)

    def timing(self, sent: datetime.date) -> dict[str, Any]:
        """When the application was complete and decided, and the days from then to the notice."""
        received = date("received", self.received)
        last = received + datetime.timedelta(DAYS)
        decided = None if self.decided == "" else date("decided", self.decided).isoformat()
        return {
            "received": received.isoformat(), "decided": decided, "days": (sent - received).days,
            "in_time_until": last.isoformat(), "late": sent > last,
        }  # fmt: skip


@dataclass(frozen=True)
class EUProfile(Profile):
    """An explanation of a decision about a person in the European Union.

    By articles 15(1)(h) and 22(3) of the General Data Protection Regulation and article 86 of the
    AI Act. The fields::

        address        the institution's
        role           what the system did: "decides", where no person took part in the decision,
                       or "advises", where somebody decided who had its answer
        consequences   what follows from the decision for the person, in a sentence or two
        review         whom to ask that a person look at it again, and how
        dpo            the data protection officer, with how to reach them, or none
        authority      the supervisory authority to which one may complain
        sources        where the values come from, such as "you, and Example Bureau"; with none the
                       letter does not say
    """

    name: ClassVar[str] = "eu"
    template: ClassVar[str] = "letter_eu.jinja"
    one_page: ClassVar[bool] = False
    compares: ClassVar[bool] = True
    or_none: ClassVar[tuple[str, ...]] = ("dpo", "sources")

    role: str = ""
    consequences: str = ""
    review: str = ""
    dpo: str = ""
    authority: str = ""
    sources: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.role not in ("decides", "advises"):
            raise ValueError(
                f"role={self.role!r}; expected 'decides', where no person took part in the "
                "decision, or 'advises'"
            )

    def _missing(self) -> Iterator[str]:
        yield from (each.name for each in fields(self) if not getattr(self, each.name))


PROFILES: dict[str, type[Profile]] = {each.name: each for each in (Profile, USProfile, EUProfile)}


def names_of(kind: type[Profile]) -> list[str]:
    """The fields that a profile has."""
    return [each.name for each in fields(kind)]


def profile_of(name: str, given: Mapping[str, Any]) -> Profile:
    """The profile of a name, of fields by their names."""
    if name not in PROFILES:
        known = [*PROFILES]
        raise ValueError(f"profile={name!r}; expected one of {some(known)}{near(name, known)}")
    kind = PROFILES[name]
    known = names_of(kind)
    for field in given:
        if field not in known:
            hint = near(field, known) or f"; its fields are {', '.join(known) or 'none'}"
            raise ValueError(f"the profile {name} has no field {field!r}{hint}")
    return kind(**given)


# ---------------------------------------------------------------- reading


def date(name: str, given: Any) -> datetime.date:
    """A day, or an error that says what to give."""
    if isinstance(given, datetime.date):
        return given.date() if isinstance(given, datetime.datetime) else given
    try:
        return datetime.date.fromisoformat(given)
    except (TypeError, ValueError):
        expected = "expected a date, or text such as '2027-01-31'"
        raise ValueError(f"{name}={given!r}; {expected}") from None


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"{name}={given!r}; expected text, in quotation marks")
    text = clean(given)
    if len(text) > LONGEST:
        raise ValueError(f"{name}: given {len(text)} letters, expected at most {LONGEST}")
    return text


def _truth(name: str, given: Any) -> bool:
    if isinstance(given, bool):
        return given
    if str(given).lower() not in YES:
        raise ValueError(f"{name}={given!r}; expected yes or no")
    return YES[str(given).lower()]


def _amount(name: str, given: Any) -> Any:
    if isinstance(given, str):
        return _text(name, given)
    if isinstance(given, bool) or not isinstance(given, Real):
        raise ValueError(f"{name}={given!r}; expected a number")
    return given


def _number(name: str, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={given!r}; expected a number") from None


def _listed(name: str, given: Any) -> tuple[str, ...]:
    """A list of texts; one text has them between semicolons."""
    items = given.split(";") if isinstance(given, str) else given
    try:
        return tuple(text for each in items if (text := _text(name, each)))
    except TypeError:
        raise ValueError(f"{name}={given!r}; expected a list of texts") from None


def _unless_empty(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, given: "" if isinstance(given, str) and not given else read(name, given)


READ: dict[str, Callable[[str, Any], Any]] = {  # a field, by its type
    "str": _text,
    "float | str": _amount,
    "datetime.date | str": _unless_empty(date),
    "bool | str": _unless_empty(_truth),
    "bool": _truth,
    "tuple[str, ...]": _listed,
}
