"""The letter: one page in plain language for the person whom a model refused.

It says what the model decided, why, what would change its answer, until when that holds, what was
left out, and whom to ask. Confidences are written out of 100 and rounded down, computed anew from
the model at just the values that are shown, so none is promised that the model does not give.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from trust_recourse.question import Option, Reach, Status, Target
from trust_recourse.report.confidence import level, out_of_100
from trust_recourse.report.content import Document, Printed, blocks, clean, day
from trust_recourse.report.reasons import Reason, reasons
from trust_recourse.report.titles import titled
from trust_recourse.wording import some

if TYPE_CHECKING:
    from trust_recourse.result import Result
    from trust_recourse.schema import Feature, Schema

MOST_OFFERS = 3
MOST_NAMES = 8  # of values that may not change, named one by one
MOST_LETTERS = 1500  # in the list of all values; a longer one is left to whom to ask
LONGEST = {"person": 120, "organisation": 120, "decision": 120, "contact": 300, "promise": 120}
KEPT = 70  # letters of a label or a value in a sentence; the rest is cut


class ProtectedReasonError(ValueError):
    """A letter would name protected features as reasons, and nobody said that this was reviewed.

    `features` are these. `sentence` says what to do, without the words in which to say it.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        one = len(self.features) == 1
        self.sentence = (
            f"the letter would name {'a protected feature' if one else 'protected features'} among "
            f"the reasons, {joined(each.title for each in self.features)}; review "
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
    ranges: Mapping[str, str]  # by name, from where to where the values may go, as it is shown


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
    told = _LetterFacts(result, time_limit)
    if new := [each for each in told.protected if each.name not in reviewed]:
        raise ProtectedReasonError(new)
    about, answer = words["decision"], "yes" if told.accepted else "no"
    said = blocks(
        "letter.jinja", told=told, until=until, most=MOST_LETTERS, day=day, level=level,
        out_of_100=out_of_100, cut=cut, joined=joined, some=_some, **words,
    )  # fmt: skip
    return Letter(
        Document(
            f"{about[:1].upper()}{about[1:]}: the model’s answer is {answer}",
            written, words["organisation"], words["person"], said, one_page=True,
        ),
        told.accepted, int(out_of_100(result.confidence)), told.reasons, told.offers, until,
        tuple(feature.name for feature in told.protected),
    )  # fmt: skip


class _Limit(NamedTuple):
    """The limit on changes that matters most."""

    words: str  # as a condition
    then: float  # the confidence within reach without it


class _LetterFacts:
    """What there is to tell of a result."""

    def __init__(self, result: Result, time_limit: float) -> None:
        result = titled(result, cut)
        self.result, self.time_limit = result, time_limit
        self.recourse, self.schema = result.recourse, result.recourse.schema
        self.confidence, self.decision = result.confidence, result.decision
        self.wins = self.decision.mode == "wins"
        self.extra = result.extra_constraints
        action_set = self.schema.action_set(result.factual)
        held = zip(self.schema, action_set.actions, strict=True)
        self.stay = {feature.name: feature.title for feature, actions in held if not actions.free}
        self.missing = [t for name, t in self.stay.items() if math.isnan(action_set[name].own)]
        self.values = [
            f"{f.title}: {clean(f.describe(result.factual[f.name]))}" for f in self.schema
        ]
        self.accepted = not result.refused
        self.chosen = self._chosen(result.options)
        self.furthest: Reach | None = None
        if not (self.accepted or self.chosen or self.extra):
            self._look_further()
        way = next(iter(self.chosen), self.furthest)
        self.reasons = () if self.accepted else reasons(result, way=way)
        self.protected = [each.feature for each in self.reasons if each.feature.protected]
        self.offers = tuple(map(self._offer, self.chosen[:MOST_OFFERS]))

    @property
    def derived(self) -> bool:
        """Whether an offer has a value that follows from others."""
        return any(self.schema[name].derived for offer in self.offers for name in offer.changes)

    def follows(self, feature: Feature) -> str:
        """How a feature hangs on others."""
        formula = feature.formula
        assert formula is not None
        how = "moves with" if formula.shape == "moves" else "follows from"
        return f"{how} {joined(self.schema[name].title for name in formula.names)}"

    @property
    def proved(self) -> bool:
        """Whether the first offer is proved to be the smallest change."""
        first = self.chosen[0]
        smallest = first.status is Status.OPTIMAL and first.target.mode != "band"
        return smallest and first is not self.furthest and not self.extra

    @property
    def unmet(self) -> list[tuple[Target, bool]]:
        """The confidences asked for that nothing reaches, and whether that is proved."""
        none = (Status.INFEASIBLE, Status.NOT_FOUND)
        return [
            (target, status is Status.INFEASIBLE)
            for target, status in self.result.status.items()
            if target.mode != "band" and status in none
        ]

    @property
    def impossible(self) -> bool:
        """Whether it is proved that nothing makes it a yes."""
        return any(proved and self._is_less(target) for target, proved in self.unmet)

    @property
    def reached(self) -> float:
        """The confidence of the furthest within reach."""
        furthest = cast("Reach", self.furthest)
        return furthest.most if self.less else self._confidence(furthest)

    @property
    def less(self) -> float | None:
        """The confidence of the moves that matter, where they are told not to be all."""
        furthest = cast("Reach", self.furthest)
        then = self._confidence(furthest)
        return None if out_of_100(then) == out_of_100(furthest.most) else then

    @property
    def moves(self) -> list[str]:
        """The changes of the furthest within reach."""
        furthest = cast("Reach", self.furthest)
        changes, each = self._offer(furthest).changes, furthest.worth
        return [
            f"{self.schema[name].title} from {a} to {b} (worth {_points(each[name])})"
            for name, (a, b) in changes.items()
            if name in each
        ]

    def written(self, confidence: float) -> str:
        """A confidence in words, told from what a yes takes and from what was asked for."""
        targets = (self.decision, *self.result.status)
        told = out_of_100(confidence, [t.interval[0] for t in targets if t.mode != "wins"])
        return f"{told if told != '0' or not confidence else 'less than 1'} out of 100"

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The values now and with each offer, one row per value that changes, then confidence."""
        offers = self.offers
        now = {name: own for offer in offers for name, (own, _) in offer.changes.items()}
        rows = [
            (
                self.schema[name].heading,
                own,
                *(o.changes[name][1] if name in o.changes else "as now" for o in offers),
            )
            for name, own in now.items()
        ]
        told = [self.confidence, *map(self._confidence, self.chosen[:MOST_OFFERS])]
        names = [f"option {i}" for i in range(1, len(offers) + 1)] if len(offers) > 1 else ["then"]
        return ("", "now", *names), (
            *rows,
            ("the model’s confidence", *map(self.written, told)),
        )

    def limit(self) -> _Limit | None:
        """The limit that matters most where nothing is within reach, if a single one does."""
        table = self.result.binding(self.time_limit)
        if table.empty or out_of_100(table["reachable"][0]) == out_of_100(self.reached):
            return None
        lifted = str(table["if"][0])
        relations = {
            f"without: {each}": each.sentence(self.schema) for each in self.schema.relations
        }
        words = (
            f"that {cut(relations[lifted], 160)}. Without it"
            if lifted in relations
            else f"if {cut(lifted, 160)}"
        )
        return _Limit(words, table["reachable"][0])

    # ------------------------------------------------------------ options

    def _look_further(self) -> None:
        """Where nothing asked for is a yes: the cheapest yes, and the furthest within reach."""
        result = self.result
        exact = result.engine == "exact"
        known = any(
            self._is_less(target) and (proved or not exact) for target, proved in self.unmet
        )
        yes: Sequence[Option] = ()
        if not known:
            asked = replace(
                result.question.without_rules,
                confidence=() if self.wins else (self.decision.confidence,),
                mode=self.decision.mode, n_options=1,
                engine=result.engine, time_limit=self.time_limit if exact else None,
            )  # fmt: skip
            yes = self.recourse.ask(result.factual, asked).options
        if self.recourse.exact and (self.unmet or not self._chosen(yes)):
            self.furthest = self.result.max_confidence
            yes = (*yes, self.furthest)
        self.chosen = self._chosen(yes)

    def _chosen(self, options: Sequence[Option]) -> list[Option]:
        """The options worth telling: those that make it a yes, or a firmer one; cheapest first."""
        better = [o for o in options if o.changes and self._better(o)]
        kept: list[Option] = []
        for option in sorted(better, key=lambda o: o.cost):
            if not any(self._needless(option, other) for other in kept):
                kept.append(option)
        return kept

    def _better(self, option: Option) -> bool:
        codes = self.schema.action_set(option.x).own
        yes = self.recourse.accepts(codes, self.decision)
        return yes and (not self.accepted or self._confidence(option) > self.confidence)

    def _is_less(self, target: Target) -> bool:
        """Whether a target asks for no more than the decision."""
        return self.wins or target.confidence <= self.decision.confidence

    def _needless(self, option: Option, other: Option) -> bool:
        """Whether an option asks for all that a cheaper one does, and is no more confident."""
        asks_all = other.changes.items() <= option.changes.items()
        return asks_all and self._confidence(option) <= self._confidence(other)

    def _confidence(self, option: Option) -> float:
        """The model's own word on the values of an option, whatever the option says."""
        return self.recourse.confidence(option.x)

    def _offer(self, option: Option) -> Offer:
        changes = {
            name: (clean(self.schema.describe(name, own)), clean(self.schema.describe(name, value)))
            for name, (own, value) in option.changes.items()
        }
        row = {name: option.x[name] for name in self.schema.names}
        ranges = self._ranges(option)
        return Offer(row, changes, int(out_of_100(self._confidence(option))), ranges)

    def _ranges(self, option: Option) -> dict[str, str]:
        """From where to where each value may go that has some room, where all of it is a yes."""
        whole = self.result.decision.mode == "wins" or (
            option.target.interval[0] >= self.decision.interval[0]
        )
        if not (self.recourse.exact and whole and option in self.result.options) or self.extra:
            return {}
        at = self.result.options.index(option)
        rows = self.result.ranges(at).itertuples(index=False)
        wide = {name: self.schema[name].span(low, high) for name, low, high in rows if low != high}
        return {name: clean(words) for name, words in wide.items()}

    @property
    def rooms(self) -> list[str]:
        """What else each offer holds for, in words, if anything."""
        found = []
        for at, offer in enumerate(self.offers, 1):
            each = (f"{self.schema[name].heading} {span}" for name, span in offer.ranges.items())
            if words := "; ".join(each):
                found.append(f"{f'option {at}: ' if len(self.offers) > 1 else ''}{words}")
        return found


# ---------------------------------------------------------------- words


def _points(confidence: float) -> str:
    """How much a move adds, out of 100."""
    told = f"{100.0 * confidence:.0f}"
    return f"{told} point{'s' * (told != '1')}"


def cut(text: str, most: int = KEPT) -> str:
    """A text for a sentence, its end cut where it is very long."""
    whole = clean(text)
    return whole if len(whole) <= most else f"{whole[: most - 1].rstrip()}…"


def _some(names: list[str]) -> list[str]:
    more = len(names) - MOST_NAMES
    return names if more <= 1 else [*names[:MOST_NAMES], f"{more} others"]


def joined(parts: Iterable[str]) -> str:
    """Names in a sentence, with an “and” before the last."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


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
