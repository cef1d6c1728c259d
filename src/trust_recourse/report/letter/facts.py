"""What there is to tell of a result in a letter: its reasons, its offers, and their words.

`letter_facts` gathers them, searches where it must, and returns a value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import compress
from typing import TYPE_CHECKING, Any, cast

from trust_recourse.answers.explain import depends, explainable
from trust_recourse.answers.measurements import beyond
from trust_recourse.io.wording import ceiled, in_few_digits
from trust_recourse.question import MostConfident, Option, Status, Survival, Target
from trust_recourse.report.content import clean
from trust_recourse.report.language import Language
from trust_recourse.report.letter.offers import (
    MOST_OFFERS,
    Offer,
    asks_less,
    ends_of,
    offers_of,
    unmet,
)
from trust_recourse.report.letter.phrasing import Wording, cut, out_of_100
from trust_recourse.report.letter.reason_codes import ReasonCodes
from trust_recourse.report.letter.reasons import (
    Method,
    Reason,
    Shortfall,
    beside,
    principal,
    reasons,
)
from trust_recourse.schema.relaxations import WITHOUT

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result
    from trust_recourse.schema import Feature, Schema


@dataclass(frozen=True, eq=False)
class ReasonsTold:
    """The reasons of a refusal, and what they are taken from; none of an approval."""

    compared: bool  # with other applicants
    shortfall: Shortfall | None = None
    reasons: tuple[Reason, ...] = ()
    protected: Sequence[Feature] = ()  # that need a review

    @property
    def named(self) -> list[Feature]:
        """The features that the reasons name."""
        return [each.feature for reason in self.reasons for each in reason.every]

    def is_protected(self, reason: Reason) -> bool:
        """Whether a reason names what needs a review."""
        return any(each.feature in self.protected for each in reason.every)


@dataclass(frozen=True, eq=False)
class LetterFacts:
    """What there is to tell of a result whose titles are those of the letter."""

    result: Result
    schema: Schema
    words: Wording
    now: Mapping[str, Any]  # the person's values, as the letter shows them
    used: Collection[str]  # the features that the model uses
    why: ReasonsTold
    offers: tuple[Offer, ...]
    every: Sequence[Option]  # the options that were found, if not all are told
    chosen: Sequence[Option]  # the options worth telling, of which the first are offered
    furthest: MostConfident | None  # the most confident option, where nothing asked for is a yes
    search_limit: float | None  # seconds that ended the search for a yes

    @property
    def accepted(self) -> bool:
        """Whether the model accepts the person as they are."""
        return not self.result.refused

    @property
    def wins(self) -> bool:
        """Whether the decision is that the class wins."""
        return self.result.decision.mode == "argmax"

    # ------------------------------------------------------------ values

    @property
    def values(self) -> list[str]:
        """The values that the model uses, by their titles."""
        return [
            f"{f.title}: {self.words.described(f.name, self.now[f.name])}"
            for f in self.schema
            if f.name in self.used
        ]

    @property
    def stay(self) -> dict[str, str]:
        """The titles of what may not change, by name."""
        held = zip(self.schema, self.schema.action_set(self.result.factual).actions, strict=True)
        return {feature.name: feature.title for feature, actions in held if not actions.free}

    @property
    def missing(self) -> list[str]:
        """Those of these whose value is missing."""
        own = self.schema.action_set(self.result.factual)
        return [title for name, title in self.stay.items() if math.isnan(own[name].own)]

    @property
    def idle(self) -> list[str]:
        """Those of these that the model does not use."""
        return [title for name, title in self.stay.items() if name not in self.used]

    @property
    def held(self) -> list[str]:
        """Those of these that it uses."""
        return [title for name, title in self.stay.items() if name in self.used]

    # ------------------------------------------------------------ reasons

    def which(self, reason: Reason) -> str:
        """The values that a reason is about, as a sentence."""
        told = [
            f"{each.feature.title}: {cut(each.value)}{self.words.follows(each.feature)}"
            for each in reason.every
        ]
        return f"{'; '.join(told)}."

    @property
    def spared(self) -> list[str]:
        """What the first reason names, where no offer changes any of it."""
        if not (self.why.reasons and self.offers):
            return []
        named = [each.feature for each in self.why.reasons[0].every]
        changed = {name for offer in self.offers for name in offer.changes}
        return [] if changed & {each.name for each in named} else [each.title for each in named]

    # ------------------------------------------------------------ offers

    @property
    def derived(self) -> bool:
        """Whether an offer has a value that follows from others."""
        return any(self.schema[name].derived for offer in self.offers for name in offer.changes)

    @property
    def survival(self) -> Survival | None:
        """What models learnt anew say of the first offer, where it was asked to last."""
        return self.result.survival.get(self.chosen[0].target) if self.chosen else None

    @property
    def proved(self) -> bool:
        """Whether the first offer is proved to be the smallest change."""
        first = self.chosen[0]
        cheapest = next((each for each in self.every if each.target == first.target), first)
        if any(first is each for each in self.every) and first is not cheapest:
            return False  # the cheapest of other ways
        smallest = first.status is Status.OPTIMAL and first.target.mode != "band"
        return smallest and first is not self.furthest and not self.result.extra_constraints

    @property
    def firmer(self) -> bool:
        """Whether the first offer is of a refused person, and more sure than a yes has to be."""
        return (
            not self.accepted and self.chosen[0].target.confidence > self.result.decision.confidence
        )

    @property
    def numbers(self) -> list[int]:
        """How the offers are called: as whoever asked counts them, so that a promise is of that."""
        places = {id(each): at for at, each in enumerate(self.every, 1)}
        told = self.chosen[:MOST_OFFERS]
        if not all(id(each) in places for each in told):
            return [*range(1, len(told) + 1)]
        return [places[id(each)] for each in told]

    @property
    def unmet(self) -> list[tuple[Target, bool]]:
        """The confidences asked for that nothing reaches, and whether that is proved."""
        return unmet(self.result)

    @property
    def impossible(self) -> bool:
        """Whether it is proved that nothing makes it a yes."""
        decision = self.result.decision
        return any(proved and asks_less(target, decision) for target, proved in self.unmet)

    @property
    def reached(self) -> float:
        """The highest reachable confidence."""
        furthest = cast("MostConfident", self.furthest)
        return furthest.most if self.less else self._confidence(furthest)

    @property
    def most(self) -> str:
        """The bound on all confidences, out of 100, where it is not reached; "" if it is known."""
        furthest = cast("MostConfident", self.furthest)
        most = Decimal(ceiled(furthest.ceiling, 2)).scaleb(2)
        known = self.impossible and most >= math.floor(100.0 * self.result.decision.confidence)
        if furthest.proved or (known and not self.wins):
            return ""
        number = self.words.language.number(f"{most:f}")
        return self.words.language.gettext("%(number)s out of 100", number=number)

    @property
    def less(self) -> float | None:
        """The confidence of the moves that matter, where they are told not to be all."""
        furthest = cast("MostConfident", self.furthest)
        then = self._confidence(furthest)
        return None if out_of_100(then) == out_of_100(furthest.most) else then

    @property
    def moves(self) -> list[str]:
        """The changes that lead there."""
        furthest = cast("MostConfident", self.furthest)
        changes, each = self.words.offer(furthest, self.now, {}).changes, furthest.worth
        return [
            self.words.language.gettext(
                "%(title)s from %(before)s to %(after)s (%(points)s less without it)",
                title=self.schema[name].title,
                before=a,
                after=b,
                points=self.words.points(each[name]),
            )
            for name, (a, b) in changes.items()
            if name in each
        ]

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The values now and with each offer, one row per value that changes, then confidence."""
        offers, say = self.offers, self.words.language.gettext
        now = {name: own for offer in offers for name, (own, _) in offer.changes.items()}
        rows = [
            (
                self.words.heading(name),
                own,
                *(o.changes[name][1] if name in o.changes else say("as now") for o in offers),
            )
            for name, own in now.items()
        ]
        told = [self.result.confidence, *map(self._confidence, self.chosen[:MOST_OFFERS])]
        several = len(offers) > 1
        names = [say("option %(n)d", n=n) for n in self.numbers] if several else [say("then")]
        sure = (say("the model’s confidence"), *map(self.words.written, told))
        return ("", say("now"), *names), (*rows, sure)

    def limit(self) -> str:
        """The limit that matters most where nothing is within reach, as a sentence."""
        table, say = beyond(self.result), self.words.language.gettext
        if table.empty or out_of_100(table["reachable"][0]) == out_of_100(self.reached):
            if table.attrs["unfinished"]:
                return say("We found no single limit that holds this back.")
            return say(
                "No single limit holds this back: lifting one alone would take you no further."
            )
        lifted, then = str(table["if"][0]), self.words.written(table["reachable"][0])
        relations = {
            f"{WITHOUT} {each.sentence(self.schema)}": each for each in self.schema.relations
        }
        if not self.words.language.english:  # the words of limits are in English
            between = relations[lifted].names if lifted in relations else self._limited(lifted)
            return say(
                "One of the limits set for changes matters most, that on %(names)s. Without it, "
                "%(then)s would be within reach. You are not asked to go beyond it.",
                names=self.words.language.joined(self.schema[name].title for name in between),
                then=then,
            )
        words = f"if {cut(lifted, 160)}"
        if lifted in relations:
            words = f"that {cut(relations[lifted].sentence(self.schema), 160)}. Without it"
        return (
            f"One of the limits set for changes matters most: {words}, {then} would be within "
            "reach. You are not asked to go beyond it."
        )

    def _limited(self, sentence: str) -> list[str]:
        """The feature whose limit a sentence of `binding` lifts."""
        every = self.schema.relaxations(
            self.result.factual, listed=self.result.recourse.cost.functions
        )
        found = next(each for each in every if each.sentence == sentence)
        pairs = zip(self.schema, found.schema, strict=True)
        return [ours.name for ours, freed in pairs if ours != freed]

    def _confidence(self, option: Option) -> float:
        """The model's own word on the values of an option, whatever the option says."""
        return self.result.recourse.confidence(option.x)

    @property
    def rooms(self) -> list[str]:
        """All that each offer asks for, with the room that it leaves, if one leaves any.

        What follows from other values is computed from these.
        """
        if not any(offer.ranges for offer in self.offers):
            return []
        words = self.words
        found = [
            [
                (words.heading(name), offer.ranges.get(name) or words.said(name, offer.row[name]))
                for name in offer.changes
                if not self.schema[name].derived
            ]
            for offer in self.offers
        ]
        if len(found) == 1:
            return [f"{name}: {values}" for name, values in found[0]]
        option = words.language.gettext
        return [
            f"{option('option %(n)d', n=at)}: {', '.join(f'{n} ({v})' for n, v in each)}"
            for at, each in zip(self.numbers, found, strict=True)
        ]


# ---------------------------------------------------------------- gathering


def letter_facts(
    result: Result,
    language: Language,
    time_limit: float | None,
    *,
    method: Method = "nearest-yes",
    reference: Any = None,
    codes: ReasonCodes | None = None,
    ranges: bool = True,
    guarded: Collection[str] = (),
    seek: bool = True,  # for a yes, where none of the options is one
    every: Sequence[Option] | None = None,  # those that were found, if not all are told
) -> LetterFacts:
    """Gather what there is to tell of a result whose titles are those of the letter.

    This searches: for a yes where there is none, for reasons, and for ranges of the offers.
    """
    words, recourse = Wording(result, language), result.recourse
    now = words.short(result.factual, result.confidence)
    used: Collection[str] = recourse.schema.names
    if explainable(recourse.model):
        used = [*compress(used, depends(recourse.model))]
    found = offers_of(result, time_limit, seek)
    told = ReasonsTold(method != "nearest-yes")
    if result.refused:
        # the most confident option may lie on a bound, so it is not what to compare with
        way = next((each for each in found.chosen if each is not found.furthest), None)
        shortfall, every_reason = reasons(result, method, reference, way)
        written = _worded(every_reason, words, now, shortfall if told.compared else None)
        chosen = principal(written if codes is None else codes.coded(written))
        if codes is not None:
            codes.check(chosen)
        told = replace(told, shortfall=shortfall, reasons=chosen)
        named = told.named if told.compared else [recourse.schema[name] for name in used]
        told = replace(told, protected=[each for each in named if each.name in guarded])
    offers = tuple(
        words.offer(option, now, ends_of(result, option) if ranges else {})
        for option in found.chosen[:MOST_OFFERS]
    )
    every = result.options if every is None else every
    return LetterFacts(result, recourse.schema, words, now, used, told, offers, every, *found)


def _worded(
    found: Sequence[Reason], words: Wording, now: Mapping[str, Any], beside_: Shortfall | None
) -> list[Reason]:
    """Reasons with values for people, and the person's own as the schema writes it."""
    told = []
    for reason in found:
        feature, own = reason.feature, words.result.factual[reason.feature.name]
        value = words.described(feature.name, now[feature.name])
        if math.isnan(feature.code_of(own)):
            value = words.language.gettext("missing")
        stands = "" if beside_ is None else beside(reason, own, beside_.rows, words.language)
        told.append(
            reason._replace(
                value=value, raw=replace(feature, labels=()).describe(own),
                typical=_typical(reason, words, now), beside=clean(stands),
            )
        )  # fmt: skip
    return told


def _typical(reason: Reason, words: Wording, now: Mapping[str, Any]) -> str:
    """What is usual among those compared with, if it lies where they are said to lie."""
    feature = reason.feature
    if reason.usual is None:
        return ""
    own_value = words.result.factual[feature.name]
    code, own = map(feature.code_of, (reason.usual, own_value))
    apart = {"low": code > own, "high": code < own}.get(reason.side, code != own)
    told = words.described(feature.name, in_few_digits(reason.usual))
    same = told == words.described(feature.name, now[feature.name])
    return told if apart and not same else ""
