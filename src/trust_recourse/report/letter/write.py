"""The letter: one page in plain language for the person whom a model refused.

It says what the model decided, why, what would change its answer, until when that holds, what was
left out, and whom to ask. Confidences are written out of 100 and rounded down, computed anew from
the model at just the values that are shown, so none is promised that the model does not give.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.answers.document import AnswerDocument
from trust_recourse.answers.result import Result
from trust_recourse.io import clock
from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import some
from trust_recourse.question import Status, Target
from trust_recourse.report.content import Block, Document, ListBlock, Printed, blocks, clean
from trust_recourse.report.display_names import titled
from trust_recourse.report.language import ENGLISH, Language, language_of
from trust_recourse.report.letter.facts import LetterFacts, letter_facts
from trust_recourse.report.letter.offers import Offer
from trust_recourse.report.letter.phrasing import cut, out_of_100
from trust_recourse.report.letter.profiles import LetterError, Profile, date
from trust_recourse.report.letter.reason_codes import ReasonCodes
from trust_recourse.report.letter.reasons import METHODS, Method, Reason, Shortfall, method_of
from trust_recourse.report.protected import guarded

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.ledger import Promise
    from trust_recourse.schema import Feature, Schema

MOST_LETTERS = 1500  # in the list of all values; a longer one is left to whom to ask
LONGEST = {
    "person": 120, "organisation": 120, "decision": 120, "contact": 300, "promise": 120,
    "reviewed_by": 120,
}  # fmt: skip
OPEN = ("person", "promise", "reviewed_by")  # may be left out


class ProtectedReasonError(LetterError):
    """A letter would name protected features as reasons, and nobody said that this was reviewed.

    `features` are these; without other applicants to compare with, all that the model uses, as each
    may be one. `why` says of one that the schema does not mark, by its name, why it counts as
    protected. `sentence` says what to do, without the words in which to say it.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        compared: bool = True,
        why: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.features = tuple(features)
        told = "".join(f"{said}; " for name in self.names if (said := why.get(name, "")))
        one = len(self.features) == 1
        which = "a protected feature" if one else "protected features"
        names = ENGLISH.joined(
            each.title if each.name in each.title else f"{each.title} ({each.name})"
            for each in self.features
        )
        found = (
            f"the letter would name {which} among the reasons, {names}"
            if compared
            else f"the model uses {which}, {names}, and whether the refusal rests on "
            f"{'it' if one else 'them'} shows only beside other applicants; give them (reference), "
            "or"
        )
        self.sentence = (
            f"{found}{';' * compared} {told}review "
            f"{'its' if one else 'their'} part in the decision, then say so"
        )
        super().__init__(f"{self.sentence}: protected_reviewed={self.names}")

    @property
    def names(self) -> list[str]:
        """What to give as reviewed."""
        return [feature.name for feature in self.features]


class UnsignedReviewError(LetterError):
    """A review has no name; `sentence` says so, without what to do."""

    def __init__(self, names: Sequence[str]) -> None:
        were = "was" if len(names) == 1 else "were"
        self.sentence = (
            f"{ENGLISH.joined(names)} {were} reviewed, and the letter does not say by whom"
        )
        super().__init__(f"{self.sentence}; give reviewed_by")


@dataclass(frozen=True, eq=False, repr=False)
class Letter(Printed):
    """What `letter` wrote: `text()`, `html()`, `pdf(path)`, or `save(path)` by the path's ending.

    The numbers in it are here too: `accepted`, `confidence` (out of 100, rounded down), the
    `reasons` of a refusal and how they were found, and the `offers` in the order of the letter.
    `protected_reviewed` names the protected features among the reasons, each of which was said to
    be reviewed, `reviewed_beside` those that were reviewed and are not among them, `reviewed_by` by
    whom. `doubts` are sentences on what to look at before it is sent. `record()` is what to keep
    of it.
    """

    accepted: bool
    confidence: int
    reasons: tuple[Reason, ...]
    offers: tuple[Offer, ...]
    valid_until: datetime.date
    protected_reviewed: tuple[str, ...]
    profile: Profile
    promise: str
    answer: AnswerDocument  # what it is written from
    decision: Target  # from which confidence on it is one
    timing: Mapping[str, Any]  # whether it is in time, where the profile asks for that
    shortfall: Shortfall | None = None  # what the reasons are taken from, if there is one
    reviewed_by: str = ""
    reviewed_beside: tuple[str, ...] = ()
    model: str = ""  # its fingerprint, if it has one
    doubts: tuple[str, ...] = ()  # what to look at before it is sent; no part of it
    search_limit: float | None = None  # seconds that ended the search for an accepted option

    @property
    def method(self) -> Method:
        """How the reasons were found."""
        return "nearest-yes" if self.shortfall is None else self.shortfall.method

    def record(self) -> dict[str, Any]:
        """What to keep of it, as JSON can hold it; a ledger can (`Ledger.record_letter`)."""
        beside = self.shortfall
        others = beside if self.method != "nearest-yes" else None
        return {
            "profile": self.profile.name,
            "language": self.document.language.code,
            "dated": self.document.dated.isoformat(),
            **self.timing,
            "valid_until": self.valid_until.isoformat(),
            "promise": self.promise,
            "model": self.model,
            "wanted": plain(self.answer.wanted),
            "decision": self.decision.to_dict(),
            "accepted": self.accepted,
            "method": self.method,
            "reference_rows": None if others is None else others.rows,
            "reference_confidence": None if others is None else list(others.reach),
            "gap": None if beside is None else beside.gap,
            "reasons": [
                {
                    "features": [each.feature.name for each in reason.every],
                    "weights": [each.weight for each in reason.every],
                    "usual": [plain(each.usual) for each in reason.every],
                    "apart": [
                        {"rows": each.apart.rows, "value": plain(each.apart.value)}
                        for each in reason.every
                    ],
                    "code": reason.code,
                }
                for reason in self.reasons
            ],
            "protected_reviewed": list(self.protected_reviewed),
            "reviewed_beside": list(self.reviewed_beside),
            "reviewed_by": self.reviewed_by,
            "factual": dict(self.answer.person),
            "options": [dict(option.x) for option in self.answer.options],
            "ranges": [
                {name: [_end(end) for end in ends] for name, ends in offer.ends.items()}
                for offer in self.offers
            ],
            "sha256": hashlib.sha256(self.text().encode()).hexdigest(),  # of the letter as text
        }


def letter(
    result: Result,
    *,
    organisation: str,
    contact: str,
    valid_until: datetime.date | str,
    person: str = "",
    decision: str | None = None,
    promise: str | Promise = "",
    protected_reviewed: Collection[str] = (),
    reviewed_by: str = "",
    profile: Profile | None = None,
    reference: Any = None,
    reasons: Method | None = None,
    reason_codes: Any = None,
    language: str = "en",
    catalogues: str | os.PathLike[str] | None = None,
    dated: datetime.date | str | None = None,
    time_limit: float | None = 2.0,
) -> Letter:
    """Write to one person what a model decided about them, and what would change its answer.

    Parameters
    ----------
    result : the answers for this person; up to three options that end in a yes are offered, the
        cheapest first. Labels and units are those of its schema.
    organisation, contact : who writes, and whom to ask: a name, a telephone number, an address.
    valid_until : the last day on which the offer holds, such as "2027-01-31".
    person : the name above the letter.
    decision : what was decided on, in the words of a sentence; "your application" if None.
    promise : the promise that the ledger keeps of an offer, `ledger.read(id)`: the letter offers
        that option alone, and ranges of values only if those were promised. Of an id it takes
        the words alone; the ledger then refuses a letter that offers more.
    protected_reviewed : protected features, by name or label, whose part in this decision somebody
        has reviewed. The letter says so of those among its reasons; where one is among them that
        is not named here, no letter is written: `ProtectedReasonError`. Without a reference that
        holds of every protected feature that the model uses. In the profiles us and eu what tells
        by its name, label or values what the law protects, such as age, counts as protected; in
        every profile so does a column that follows from a protected one.
    reviewed_by : who reviewed it, which every review needs. It is kept in the letter's record, not
        in its words.
    profile : what the law of a place asks for: `USProfile(...)` or `EUProfile(...)` with its
        fields; a plain letter if None.
    reference : other applicants, a table with the schema's columns, such as the one that the model
        has learnt from. The profiles us and eu need it for a refusal.
    reasons : how they are found. "just-passed": by what the person falls short of the 100 accepted
        reference applicants nearest to the threshold; "all-applicants": of all of them;
        "nearest-yes": of what the first offer would make of them, so only values that can change
        are among them. The first if there is a reference, else the last.
    reason_codes : the institution's own list of reasons: a YAML or CSV file, or its lines, each
        with feature, when (low, high, missing, a value, or nothing for any), code and text.
    language, catalogues : "en", "de", or the name of a catalogue `CODE.po` in this folder.
    dated : the day of the letter; today if None.
    time_limit : seconds to search for an accepted option where the answers contain none; None for
        no limit. The letter's `search_limit` has these seconds if they ended the search.

    >>> from trust_recourse import PTMClassifier, Recourse, Schema, haberman
    >>> X, y = haberman()
    >>> model = PTMClassifier(epochs=30, random_state=0).fit(X, y)
    >>> schema = Schema.infer(X).lock("age", "year").update("nodes", direction="decrease")
    >>> result = Recourse(model, schema).find({"age": 60, "year": 62, "nodes": 30}, confidence=0.7)
    >>> note = letter(result, organisation="A clinic", contact="Ann, 555 0100",
    ...               valid_until="2027-01-31", dated="2026-11-15")
    >>> note.accepted, list(note.offers[0].changes)
    (False, ['nodes'])

    """
    result.check_model()
    profile, spoken = profile or Profile(), language_of(language, catalogues)
    spoken = replace(spoken, month_first=profile.name == "us" and spoken.code == "en")
    wide, kept, every = True, not isinstance(promise, str), result.options
    if not isinstance(promise, str):
        result, wide = promise.alone(result), promise.ranges is not None
        promise = promise.id
    given = {
        "person": person, "organisation": organisation, "contact": contact, "promise": promise,
        "decision": decision, "reviewed_by": reviewed_by,
    }  # fmt: skip
    words = {name: "" if value is None else _words(name, value) for name, value in given.items()}
    today = clock.today()
    written = today if dated is None else date("dated", dated)
    sent = max(written, today)
    until = date("valid_until", valid_until)
    if until < written:
        raise ValueError(
            f"valid_until={until.isoformat()} is before the letter's own day, "
            f"{written.isoformat()}; expected a day from then on"
        )
    profile.check(not result.refused, written, sent)
    schema, shown = result.recourse.schema, titled(result, lambda each: cut(spoken.label(each)))
    guards = guarded(schema, shown.recourse.schema, profile.guards)
    reviewed = _reviewed(protected_reviewed, schema, guards)
    if reviewed and not any(map(str.isalpha, words["reviewed_by"])):
        raise UnsignedReviewError([name for name in schema.names if name in reviewed])
    told = letter_facts(
        shown, spoken, time_limit, reference=reference, ranges=wide, guarded=guards, every=every,
        method=method_of(reasons, reference, profile.name * (profile.compares and result.refused)),
        codes=None if reason_codes is None else ReasonCodes.read(reason_codes, schema),
    )  # fmt: skip
    why = told.why
    if profile.compares and why.shortfall is not None and not why.reasons:
        raise ValueError(_no_reason(profile, why.shortfall))
    if new := [each for each in why.protected if each.name not in reviewed]:
        raise ProtectedReasonError(new, why.compared, guards)
    named = tuple(feature.name for feature in why.protected)
    return Letter(
        Document(
            _title(told, profile, words["decision"], spoken), written,
            ", ".join(filter(None, (words["organisation"], profile.address))), words["person"],
            _blocks(told, profile, **words, dated=written, until=until, kept=kept),
            one_page=profile.one_page, language=spoken,
        ),
        told.accepted, int(out_of_100(result.confidence)), why.reasons, told.offers, until,
        named, profile, words["promise"], AnswerDocument.of(result), result.decision,
        profile.timing(sent), why.shortfall, words["reviewed_by"],
        tuple(name for name in schema.names if name in reviewed and name not in named),
        getattr(result.recourse.model, "fingerprint_", ""),
        profile.doubts(schema[each.name] for each in why.named), told.search_limit,
    )  # fmt: skip


def _no_reason(profile: Profile, beside: Shortfall) -> str:
    """Why there is no letter: a law asks for a reason, and the comparison gives none."""
    other = next(each for each in METHODS[1:] if each != beside.method)
    return (
        f"no letter: the profile {profile.name} needs a reason, and in none of their values does "
        f"the person fall short of {beside.words}; take the other method, {other} (reasons), or "
        "give other applicants (reference)"
    )


def _title(told: LetterFacts, profile: Profile, decision: str, spoken: Language) -> str:
    decision = decision or spoken.gettext("your application")
    about = f"{decision[:1].upper()}{decision[1:]}"
    if profile.name == "us":
        return spoken.gettext("%(about)s: notice of action taken", about=about)
    if told.accepted:
        return spoken.gettext("%(about)s: the model’s answer is yes", about=about)
    return spoken.gettext("%(about)s: the model’s answer is no", about=about)


def _blocks(told: LetterFacts, profile: Profile, **values: Any) -> tuple[Block, ...]:
    spoken = told.words.language
    return blocks(
        profile.template, language=spoken, told=told, words=told.words, profile=profile,
        most=MOST_LETTERS, english=spoken.english, day=spoken.day, level=told.words.level,
        number=lambda value: spoken.number(str(value)), out_of_100=out_of_100, cut=cut,
        joined=spoken.joined, some=told.words.some, **values,
    )  # fmt: skip


# ---------------------------------------------------------------- before there is a letter


class Refusal(NamedTuple):
    """With how many applicants a person is compared, and the reasons, the weightiest first.

    A reason is the letter's sentence, or None where it names what is protected: nobody has reviewed
    its part yet.
    """

    rows: int
    reasons: tuple[str | None, ...]


def refusal(
    recourse: Recourse,
    person: pd.Series[Any],
    decision: Target,
    reference: Any,
    reason_codes: Any = None,
) -> Refusal:
    """The reasons for which a model refuses somebody; no change is looked for."""
    now = recourse.confidence(person)
    result = Result(recourse, person, now, (), {decision: Status.NOT_FOUND})
    shown, schema = titled(result, lambda each: cut(ENGLISH.label(each))), recourse.schema
    codes = None if reason_codes is None else ReasonCodes.read(reason_codes, schema)
    told = letter_facts(
        shown, ENGLISH, 0.0, method=method_of(None, reference), reference=reference, codes=codes,
        guarded=guarded(schema, shown.recourse.schema, Profile().guards), seek=False,
    )  # fmt: skip
    found = blocks(Profile.template, "reasons", told=told, words=told.words, cut=cut)
    sentences = [item for each in found if isinstance(each, ListBlock) for item in each.items]
    pairs = zip(told.why.reasons, sentences, strict=True)
    return Refusal(
        0 if told.why.shortfall is None else told.why.shortfall.rows,
        tuple(None if told.why.is_protected(reason) else words for reason, words in pairs),
    )


# ---------------------------------------------------------------- words


def _words(name: str, given: Any) -> str:
    """One of the texts that are given, or an error that says what to give."""
    if not isinstance(given, str):
        raise ValueError(f"{name}={given!r}; expected text")
    text = clean(given)
    if not text and name not in OPEN:
        raise ValueError(f"{name}={given!r}; expected text, not empty")
    if len(text) > LONGEST[name]:
        raise ValueError(f"{name}: given {len(text)} letters, expected at most {LONGEST[name]}")
    return text


def _end(end: Any) -> Any:
    """The end of a range, as JSON can hold it: null where there is none."""
    return None if end in (-math.inf, math.inf) else plain(end)


def _reviewed(given: Collection[str], schema: Schema, guards: Collection[str]) -> set[str]:
    """The names of protected features that are meant."""
    if isinstance(given, str):
        raise ValueError(f"protected_reviewed={given!r}; expected a list of features: [{given!r}]")
    names = {schema.name_of(each): each for each in given}
    if others := [each for name, each in names.items() if name not in guards]:
        known = some([name for name in schema.names if name in guards]) or "none"
        raise ValueError(
            f"protected_reviewed: {others[0]!r} is not protected; the schema's protected features "
            f"are {known}"
        )
    return set(names)
