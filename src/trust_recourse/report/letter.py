"""The letter: one page in plain language for the person whom a model refused.

It says what the model decided, why, what would change its answer, until when that holds, what was
left out, and whom to ask. Confidences are written out of 100 and rounded down, computed anew from
the model at just the values that are shown, so none is promised that the model does not give.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from trust_recourse.question import Option, Status, Target
from trust_recourse.report.confidence import level, out_of_100
from trust_recourse.report.content import (
    Block,
    Document,
    Grid,
    Heading,
    Points,
    Printed,
    Text,
    clean,
    day,
)
from trust_recourse.report.reasons import Reason, reasons
from trust_recourse.report.titles import titled
from trust_recourse.wording import some

if TYPE_CHECKING:
    from trust_recourse.result import Result
    from trust_recourse.schema import Feature, Schema
    from trust_recourse.search.engines import Engine

MOST_OFFERS = 3
MOST_NAMES = 8  # of values that may not change, named one by one
MOST_LETTERS = 1500  # in the list of all values; a longer one is left to whom to ask
LONGEST = {"person": 120, "organisation": 120, "decision": 120, "contact": 300, "promise": 120}
KEPT = 70  # letters of a label or a value in a sentence; the rest is cut

NOT_THE_WORLD = (
    "This letter is about the model, not about the world. It says what the model would answer. It "
    "does not say that a change is possible, easy or good for you, that one thing causes another, "
    "or what else would follow from it."
)


class ProtectedReasonError(ValueError):
    """A letter would name protected features as reasons, and nobody said that this was reviewed.

    `features` are these. `sentence` says what to do, without the words in which to say it.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        one = len(self.features) == 1
        self.sentence = (
            f"the letter would name {'a protected feature' if one else 'protected features'} among "
            f"the reasons, {_and([each.title for each in self.features])}; review "
            f"{'its' if one else 'their'} part in the decision, then say so"
        )
        super().__init__(f"{self.sentence}: protected_reviewed={self.names}")

    @property
    def names(self) -> list[str]:
        """What to give as reviewed."""
        return [feature.name for feature in self.features]


class Offer(NamedTuple):
    """One way to a better answer."""

    row: Mapping[str, Any]  # every value of the person then, by name
    changes: Mapping[str, tuple[str, str]]  # by name: from and to, as they are shown
    confidence: int  # out of 100, rounded down


@dataclass(frozen=True, eq=False, repr=False)
class Letter(Printed):
    """What `letter` wrote: `text()`, `html()`, `pdf(path)`, or `save(path)` by the path's ending.

    The numbers in it are here too: `accepted`, `confidence` (out of 100, rounded down), the
    `reasons` of a refusal, and the `offers` in the order of the letter. `protected_reviewed` names
    the protected features among the reasons, each of which was said to be reviewed.
    """

    document: Document
    accepted: bool
    confidence: int
    reasons: tuple[Reason, ...]
    offers: tuple[Offer, ...]
    valid_until: datetime.date
    protected_reviewed: tuple[str, ...]


def letter(
    result: Result,
    *,
    organisation: str,
    contact: str,
    valid_until: datetime.date | str,
    person: str = "",
    decision: str = "your application",
    promise: str = "",
    protected_reviewed: Collection[str] = (),
    dated: datetime.date | str | None = None,
    time_limit: float = 2.0,
) -> Letter:
    """Write to one person what a model decided about them, and what would change its answer.

    Parameters
    ----------
    result : the answers for this person; up to three options that end in a yes are offered, the
        cheapest first. Labels and units are those of its schema.
    organisation, contact : who writes, and whom to ask: a name, a telephone number, an address.
    valid_until : the last day on which the offer holds, such as "2027-01-31".
    person : the name above the letter.
    decision : what was decided on, in the words of a sentence: "your application".
    promise : the id of the promise that the ledger keeps of an offer.
    protected_reviewed : protected features, by name or label, whose part in this decision somebody
        has reviewed. The letter says so of those among its reasons; where one is among them that
        is not named here, no letter is written: `ProtectedReasonError`.
    dated : the day of the letter; today if None.
    time_limit : where nothing asked for is a yes, seconds to look for one; and where none is within
        reach, to look for what each limit holds back.

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
    given = {
        "person": person, "organisation": organisation, "decision": decision, "contact": contact,
        "promise": promise,
    }  # fmt: skip
    words = {name: _words(name, value) for name, value in given.items()}
    written = datetime.date.today() if dated is None else _date("dated", dated)
    until = _date("valid_until", valid_until)
    if until < written:
        raise ValueError(
            f"valid_until={until.isoformat()} is before the letter's own day, "
            f"{written.isoformat()}; expected a day from then on"
        )
    reviewed = _reviewed(protected_reviewed, result.recourse.schema)
    told = _Told(result, words["decision"], time_limit)
    if new := [each for each in told.protected if each.name not in reviewed]:
        raise ProtectedReasonError(new)
    about = words["decision"]
    answer = "yes" if told.accepted else "no"
    blocks = (
        *told.blocks(),
        *_until(told, until, words["promise"]),
        *told.limits(),
        *_ask(words["contact"]),
    )
    return Letter(
        Document(
            f"{about[:1].upper()}{about[1:]}: the model’s answer is {answer}",
            written, words["organisation"], words["person"], blocks, one_page=True,
        ),
        told.accepted, int(out_of_100(result.confidence)), told.reasons, told.offers, until,
        tuple(feature.name for feature in told.protected),
    )  # fmt: skip


class _Told:
    """What there is to tell of a result."""

    def __init__(self, result: Result, decision: str, time_limit: float) -> None:
        result = titled(result, cut)
        self.result, self.decision, self.time_limit = result, decision, time_limit
        self.recourse, self.schema = result.recourse, result.recourse.schema
        action_set = self.schema.action_set(result.factual)
        stay = [
            f
            for f, actions in zip(self.schema, action_set.actions, strict=True)
            if not actions.free
        ]
        self.stay = {feature.name: feature.title for feature in stay}
        self.missing = [self.stay[f.name] for f in stay if math.isnan(action_set[f.name].own)]
        self.accepted = not result.refused
        self.chosen = self._chosen(result.options)
        self.max_confidence: Option | None = None
        if not (self.accepted or self.chosen or result.extra_constraints):
            self._look_further()
        way = next(iter(self.chosen), self.max_confidence)
        self.reasons = () if self.accepted else reasons(result, way=way)
        self.protected = [each.feature for each in self.reasons if each.feature.protected]
        self.offers = tuple(map(self._offer, self.chosen[:MOST_OFFERS]))

    # ------------------------------------------------------------ options

    def _look_further(self) -> None:
        """Where nothing asked for is a yes: the cheapest yes, and the furthest within reach."""
        asked, line = self.result.status, self.recourse.decision_threshold
        exact = self.recourse.exact
        known = any(
            target.confidence <= line and (asked[target] is Status.INFEASIBLE or not exact)
            for target in self._unmet()
        )
        yes: Sequence[Option] = ()
        if not known:
            yes = self.recourse.find(
                self.result.factual,
                line,
                engine="exact" if exact else cast("Engine", self.result.engine),
                time_limit=self.time_limit if exact else None,
            ).options
        if exact and (self._unmet() or not self._chosen(yes)):
            self.max_confidence = max_confidence = self.result.max_confidence
            yes = (*yes, max_confidence)
        self.chosen = self._chosen(yes)

    def _unmet(self) -> list[Target]:
        """The confidences that were asked for, and for which there is nothing."""
        none = (Status.INFEASIBLE, Status.NOT_FOUND)
        status = self.result.status
        return [each for each in status if each.mode == "at_least" and status[each] in none]

    def _chosen(self, options: Sequence[Option]) -> list[Option]:
        """The options worth telling: those that make it a yes, or a firmer one; cheapest first."""
        now = self.result.confidence
        least = math.nextafter(now, 2.0) if self.accepted else self.recourse.decision_threshold
        better = [o for o in options if o.changes and self._confidence(o) >= least]
        kept: list[Option] = []
        for option in sorted(better, key=lambda o: o.cost):
            if not any(self._needless(option, other) for other in kept):
                kept.append(option)
        return kept

    def _needless(self, option: Option, other: Option) -> bool:
        """Whether an option asks for all that a cheaper one does, and is no more confident."""
        asks_all = other.changes.items() <= option.changes.items()
        return asks_all and self._confidence(option) <= self._confidence(other)

    def _confidence(self, option: Option) -> float:
        """The model's own word on the values of an option, whatever the option says."""
        return self.recourse.confidence(option.x)

    def _offer(self, option: Option) -> Offer:
        changes = {name: self._shown(name, *change) for name, change in option.changes.items()}
        row = {name: option.x[name] for name in self.schema.names}
        return Offer(row, changes, int(out_of_100(self._confidence(option))))

    def _written(self, confidence: float) -> str:
        """A confidence in words, told from what a yes takes and from what was asked for."""
        levels = [self.recourse.decision_threshold, *(t.interval[0] for t in self.result.status)]
        told = out_of_100(confidence, levels)
        return f"{told if told != '0' or not confidence else 'less than 1'} out of 100"

    def _shown(self, name: str, own: Any, value: Any) -> tuple[str, str]:
        return clean(self.schema.describe(name, own)), clean(self.schema.describe(name, value))

    # ------------------------------------------------------------ the letter's parts

    def blocks(self) -> Sequence[Block]:
        """The decision, the reasons for it, and what would change it."""
        return (*self._decision(), *self._why(), *self._what())

    def _decision(self) -> Sequence[Block]:
        answer = "yes" if self.accepted else "no"
        return (
            Heading("The decision"),
            Text(
                f"A computer model looked at {self.decision}. Its answer is {answer}. The model "
                "rates how sure it is of a yes, from 0 to 100; this is its confidence. From "
                f"{level(self.recourse.decision_threshold)} on the answer is yes. For you the "
                f"confidence is {self._written(self.result.confidence)}."
            ),
        )

    def _why(self) -> Sequence[Block]:
        if self.accepted:
            return ()
        alone = all(reason.weight for reason in self.reasons)
        if not self.reasons:
            why = (
                "No single value stands out: none of them, changed alone, would raise the "
                "confidence by as much as one point out of 100."
            )
        elif not alone:
            why = "No single value decides. These count against you together:"
        elif len(self.reasons) == 1:
            why = "One of your values held the model back:"
        else:
            why = (
                "These of your values held the model back, the weightiest first. The points show "
                "how much one value does alone; they do not add up."
            )
        listed = (
            (Points(tuple(map(self._reason, self.reasons)), numbered=True),) if self.reasons else ()
        )
        return (Heading("The main reasons"), Text(why), *listed, *self._protected())

    def _protected(self) -> Sequence[Block]:
        """That what is protected was reviewed: without that there is no letter."""
        if not self.protected:
            return ()
        many = len(self.protected) > 1
        which = "Protected characteristics are" if many else "A protected characteristic is"
        told = (
            f"{which} among these: {_and([feature.title for feature in self.protected])}. We "
            f"reviewed {'their' if many else 'its'} part in this answer before we wrote to you."
        )
        return (Text(told),)

    def _reason(self, reason: Reason) -> str:
        told = f"{reason.feature.title}: {cut(reason.value)}."
        if reason.weight:
            points = int(out_of_100(reason.weight))
            told += (
                f" Alone it holds the confidence back by up to {points} point{'s' * (points > 1)}."
            )
        if reason.feature.name in self.stay:
            return f"{told} You are not asked to change it."
        return f"{told} The model would rather see {reason.better}." if reason.better else told

    def _what(self) -> Sequence[Block]:
        if self.offers:
            title = (
                "What would make the yes firmer" if self.accepted else "What would make it a yes"
            )
            return (
                Heading(title), Text(self._lead()), self._table(), Text(self._care()),
            )  # fmt: skip
        if self.accepted:
            return (Heading("What to change"), Text("Nothing: you need not change anything."))
        return (Heading("What would make it a yes"), *map(Text, self._nothing()))

    def _lead(self) -> str:
        many = len(self.offers) > 1
        which = f"Any one of these {_number(len(self.offers))} changes" if many else "This change"
        parts = ["You need not change anything."] if self.accepted else []
        parts.append(
            f"{which} would make the model more confident."
            if self.accepted
            else f"With {which[:1].lower()}{which[1:]} the model would say yes, with the "
            "confidence shown."
        )
        if many:
            parts.append("The smallest, as we measure it, comes first.")
        first = self.chosen[0]
        proved = first.status is Status.OPTIMAL and first.target.mode == "at_least"
        if proved and first is not self.max_confidence and not self.result.extra_constraints:
            parts.append(
                "It is proved that no smaller change that is allowed reaches "
                f"{level(first.target.confidence)} out of 100."
            )
        if more := len(self.chosen) - len(self.offers):
            others = "is one other way" if more == 1 else f"are {more} other ways"
            parts.append(f"There {others}, by larger changes: ask us.")
        parts += self._missed()
        if (
            self.max_confidence is not None
            and self.max_confidence.changes == self.chosen[-1].changes
        ):
            within = (
                "is within reach" if self.max_confidence.status is Status.OPTIMAL else "we found"
            )
            parts.append(f"{'The last' if many else 'This'} is the most that {within}.")
        return " ".join(parts)

    def _missed(self) -> list[str]:
        """What was asked for and is not within reach."""
        told = {
            Status.INFEASIBLE: "No allowed change reaches {} out of 100{}; that is proved.",
            Status.NOT_FOUND: "For {} out of 100 no change was found{}; there may be one.",
        }
        more = " and meets all else that was asked of it" if self.result.extra_constraints else ""
        return [
            told[self.result.status[target]].format(level(target.confidence), more)
            for target in self._unmet()
        ]

    def _table(self) -> Grid:
        """The values now and with each offer, one row per value that changes, then confidence."""
        offers = self.offers
        now = {name: own for offer in offers for name, (own, _) in offer.changes.items()}
        rows = [
            (
                self.schema[name].title,
                own,
                *(o.changes[name][1] if name in o.changes else "as now" for o in offers),
            )
            for name, own in now.items()
        ]
        told = [self.result.confidence, *map(self._confidence, self.chosen[:MOST_OFFERS])]
        names = [f"option {i}" for i in range(1, len(offers) + 1)] if len(offers) > 1 else ["then"]
        return Grid(
            ("", "now", *names),
            (*rows, ("the model’s confidence", *map(self._written, told))),
            total=True,
        )

    def _care(self) -> str:
        return (
            "Each value must be the one shown: a little more or less may not be enough. All your "
            "other values must stay as they are."
        )

    def _nothing(self) -> list[str]:
        """That nothing is within reach, how far one gets, and the limit that matters most."""
        least = level(self.recourse.decision_threshold)
        max_confidence = self.max_confidence
        if max_confidence is None:
            return [self._unknown()]
        proved = max_confidence.status is Status.OPTIMAL
        reached = self._confidence(max_confidence)
        shown = [
            f"{self.schema[name].title} from {a} to {b}"
            for name, change in max_confidence.changes.items()
            for a, b in [self._shown(name, *change)]
        ]
        how = f", with {_and(shown)}" if shown else ", which is where you are"
        none = (
            f"Nothing that you may change reaches the {least} out of 100 that a yes takes"
            if proved
            else f"We found nothing that reaches the {least} out of 100 that a yes takes"
        )
        far = "The furthest within reach" if proved else "The furthest that we found"
        return [f"{none}. {far} is {self._written(reached)}{how}.", *self._binding(reached)]

    def _unknown(self) -> str:
        """That nothing was found, where there is no way to tell how far one gets."""
        proved = any(
            self.result.status[target] is Status.INFEASIBLE
            and target.confidence <= self.recourse.decision_threshold
            for target in self._unmet()
        )
        more = " and meets all else that was asked of it" if self.result.extra_constraints else ""
        if proved:
            return f"There is no allowed change that makes it a yes{more}; that is proved."
        return (
            f"We found no allowed change that makes it a yes{more}. There may be one: please ask."
        )

    def _binding(self, reached: float) -> list[str]:
        table = self.result.binding(self.time_limit)
        if table.empty or out_of_100(table["reachable"][0]) == out_of_100(reached):
            return ["No single limit holds this back: lifting one alone would take you no further."]
        lifted = str(table["if"][0])
        relations = {
            f"without: {each}": each.sentence(self.schema) for each in self.schema.relations
        }
        limit = (
            f"that {cut(relations[lifted], 160)}. Without it"
            if lifted in relations
            else f"if {cut(lifted, 160)}"
        )
        then = self._written(table["reachable"][0])
        return [
            f"One of the limits set for changes matters most: {limit}, {then} would be "
            "within reach. You are not asked to go beyond it."
        ]

    # ------------------------------------------------------------ what was left out

    def limits(self) -> Sequence[Block]:
        """What was not considered, and all values that the model was given."""
        fixed = [*self.stay.values()]
        many = len(self.schema)
        known = f"{many} values" if many > 1 else "one value"
        items = [f"The model knows {known} of yours, and nothing else about you."]
        if fixed:
            items.append(f"We did not look at changes of {_and(_some(fixed))}.")
        if self.missing:
            one = len(self.missing) == 1
            items.append(
                f"{_and(_some(self.missing))} {'is' if one else 'are'} missing. If you give us the "
                f"value{'s' * (not one)}, the answer may change."
            )
        if len(fixed) < many and not self.accepted:
            which = "Other changes" if fixed else "Changes"
            items.append(f"{which} were looked at only within limits that we set.")
        items.append(NOT_THE_WORLD)
        return (
            Heading("What was not considered"),
            Points(tuple(items)),
            Heading("The values that were used"),
            Text(self._used(), small=True),
        )

    def _used(self) -> str:
        factual = self.result.factual
        values = [
            f"{feature.title}: {clean(feature.describe(factual[feature.name]))}"
            for feature in self.schema
        ]
        listed = "; ".join(values)
        if len(listed) > MOST_LETTERS:
            return f"These are {len(values)}, too many for this page: ask us for the list."
        return f"{listed}."


def _until(told: _Told, until: datetime.date, promise: str) -> Sequence[Block]:
    what = "offer" if told.offers else "answer"
    return (
        Heading("Until when this holds"),
        Text(
            f"This {what} holds until {day(until)}, for this model and the values in this letter."
            + (
                f" Your promise has the number {promise}; name it when you come back."
                * bool(promise)
            )
        ),
    )


def _ask(contact: str) -> Sequence[Block]:
    return (
        Heading("Whom to ask"),
        Text(f"If a value is wrong, or something is unclear, please ask: {contact}"),
    )


# ---------------------------------------------------------------- words


def cut(text: str, most: int = KEPT) -> str:
    """A text for a sentence, its end cut where it is very long."""
    whole = clean(text)
    return whole if len(whole) <= most else f"{whole[: most - 1].rstrip()}…"


def _number(n: int) -> str:
    return {2: "two", 3: "three"}.get(n, str(n))


def _some(names: list[str]) -> list[str]:
    more = len(names) - MOST_NAMES
    return names if more <= 1 else [*names[:MOST_NAMES], f"{more} others"]


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _words(name: str, given: Any) -> str:
    """One of the texts that are given, or an error that says what to give."""
    if not isinstance(given, str):
        raise ValueError(f"{name}={given!r}; expected text")
    text = clean(given)
    if not text and name not in ("person", "promise"):
        raise ValueError(f"{name}={given!r}; expected text, not empty")
    if len(text) > LONGEST[name]:
        raise ValueError(f"{name}: given {len(text)} letters, expected at most {LONGEST[name]}")
    return text


def _reviewed(given: Collection[str], schema: Schema) -> set[str]:
    """The names of protected features that are meant."""
    if isinstance(given, str):
        raise ValueError(f"protected_reviewed={given!r}; expected a list of features: [{given!r}]")
    names = {schema.name_of(each): each for each in given}
    if others := [each for name, each in names.items() if not schema[name].protected]:
        known = some([feature.name for feature in schema if feature.protected]) or "none"
        raise ValueError(
            f"protected_reviewed: {others[0]!r} is not protected; the schema's protected features "
            f"are {known}"
        )
    return set(names)


def _date(name: str, given: Any) -> datetime.date:
    if isinstance(given, datetime.date):
        return given.date() if isinstance(given, datetime.datetime) else given
    try:
        return datetime.date.fromisoformat(given)
    except (TypeError, ValueError):
        expected = "expected a date, or text such as '2027-01-31'"
        raise ValueError(f"{name}={given!r}; {expected}") from None
