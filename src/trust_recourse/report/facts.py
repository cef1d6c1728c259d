"""What there is to tell of a result in a letter: its reasons, its offers, and their words.

Confidences are written out of 100 and rounded down, computed anew from the model at just the values
that are shown, so none is promised that the model does not give.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from trust_recourse.answers.explain import depends, explainable
from trust_recourse.answers.measurements import beyond
from trust_recourse.io.wording import brief, ceiled, in_few_digits
from trust_recourse.question.question import Option, Reach, Status, Survival, Target
from trust_recourse.report.beside import beside
from trust_recourse.report.confidence import level, out_of_100
from trust_recourse.report.content import clean
from trust_recourse.report.language import Language
from trust_recourse.report.reason_codes import ReasonCodes
from trust_recourse.report.reasons import Reason, principal, reasons
from trust_recourse.report.shortfall import Method, Shortfall
from trust_recourse.schema.lifted import WITHOUT

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse.answers.result import Result
    from trust_recourse.schema import Feature

MOST_OFFERS = 3
MOST_NAMES = 8  # of values that may not change, named one by one
KEPT = 300  # letters of a label or a value in a sentence; the rest is cut


class Offer(NamedTuple):
    """One way to a better answer."""

    row: Mapping[str, Any]  # every value of the person then, by name
    changes: Mapping[str, tuple[str, str]]  # by name: from and to, as they are shown
    confidence: int  # out of 100, rounded down
    ranges: Mapping[str, str]  # by name, from where to where the values may go, as it is shown
    ends: Mapping[str, tuple[Any, Any]]  # the same as values, infinite where there is no end


class LetterFacts:
    """What there is to tell of a result whose titles are those of the letter."""

    def __init__(
        self,
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
    ) -> None:
        self.result, self.time_limit, self.language = result, time_limit, language
        self.search_limit: float | None = None  # that ended the search for a yes
        self.wide, self.every = ranges, result.options if every is None else every
        self.recourse, self.schema = result.recourse, result.recourse.schema
        self.confidence, self.decision = result.confidence, result.decision
        self.wins = self.decision.mode == "wins"
        self.extra = result.extra_constraints
        action_set = self.schema.action_set(result.factual)
        held = zip(self.schema, action_set.actions, strict=True)
        self.stay = {feature.name: feature.title for feature, actions in held if not actions.free}
        self.missing = [t for name, t in self.stay.items() if math.isnan(action_set[name].own)]
        self.now = self._short(result.factual, self.confidence)
        model = result.recourse.model
        used = depends(model) if explainable(model) else [True] * len(self.schema)
        self.values = [
            f"{f.title}: {self.described(f.name, self.now[f.name])}"
            for f, counts in zip(self.schema, used, strict=True)
            if counts
        ]
        idle = {f.name for f, counts in zip(self.schema, used, strict=True) if not counts}
        self.idle = [title for name, title in self.stay.items() if name in idle]
        self.held = [title for name, title in self.stay.items() if name not in idle]
        self.accepted = not result.refused
        self.chosen = self._chosen(result.options)
        self.furthest: Reach | None = None
        if seek and not (self.accepted or self.chosen or self.extra):
            self._look_further()
        self.compared = method != "nearest-yes"  # with other applicants
        self.shortfall: Shortfall | None = None
        self.reasons: tuple[Reason, ...] = ()
        self.protected: list[Feature] = []  # that need a review
        if not self.accepted:
            # the most confident option may lie on a bound, so it is not what to compare with
            way = next((each for each in self.chosen if each is not self.furthest), None)
            self.shortfall, found = reasons(result, method, reference, way)
            told = [self._worded(each) for each in found]
            self.reasons = principal(told if codes is None else codes.coded(told))
            if codes is not None:
                codes.check(self.reasons)
            named = self.named if self.compared else [*compress(self.schema, used)]
            self.protected = [each for each in named if each.name in guarded]
        self.offers = tuple(map(self._offer, self.chosen[:MOST_OFFERS]))

    # ------------------------------------------------------------ reasons

    def _worded(self, reason: Reason) -> Reason:
        """The same with values for people, and the person's own as the schema writes it."""
        feature = reason.feature
        value = self.result.factual[feature.name]
        told = self.described(feature.name, self.now[feature.name])
        if math.isnan(feature.code_of(value)):
            told = self.language.gettext("missing")
        raw = replace(feature, labels=()).describe(value)
        return reason._replace(
            value=told, raw=raw, typical=self._typical(reason), beside=self._beside(reason)
        )

    def _beside(self, reason: Reason) -> str:
        """How a value stands beside those of others, if there are any."""
        if self.shortfall is None or not self.compared:
            return ""
        own = self.result.factual[reason.feature.name]
        return clean(beside(reason, own, self.shortfall.rows, self.language))

    def _typical(self, reason: Reason) -> str:
        """What is usual among those compared with, if it lies where they are said to lie."""
        feature = reason.feature
        if reason.usual is None:
            return ""
        code, own = map(feature.code_of, (reason.usual, self.result.factual[feature.name]))
        apart = {"low": code > own, "high": code < own}.get(reason.side, code != own)
        told = self.described(feature.name, in_few_digits(reason.usual))
        same = told == self.described(feature.name, self.now[feature.name])
        return told if apart and not same else ""

    @property
    def named(self) -> list[Feature]:
        """The features that the reasons name."""
        return [each.feature for reason in self.reasons for each in (reason, *reason.others)]

    def is_protected(self, reason: Reason) -> bool:
        """Whether a reason names what needs a review."""
        return any(each.feature in self.protected for each in (reason, *reason.others))

    @property
    def spared(self) -> list[str]:
        """What the first reason names, where no offer changes any of it."""
        if not (self.reasons and self.offers):
            return []
        first = self.reasons[0]
        named = [each.feature for each in (first, *first.others)]
        changed = {name for offer in self.offers for name in offer.changes}
        return [] if changed & {each.name for each in named} else [each.title for each in named]

    def which(self, reason: Reason) -> str:
        """The values that a reason is about, as a sentence."""
        told = [
            f"{each.feature.title}: {cut(each.value)}{self._follows(each.feature)}"
            for each in (reason, *reason.others)
        ]
        return f"{'; '.join(told)}."

    def _follows(self, feature: Feature) -> str:
        """How a feature hangs on others, if it does."""
        if feature.formula is None:
            return ""
        names = self.language.joined(self.schema[name].title for name in feature.formula.names)
        if feature.formula.shape == "moves":
            return self.language.gettext(", which moves with %(names)s", names=names)
        return self.language.gettext(", which follows from %(names)s", names=names)

    # ------------------------------------------------------------ words

    def described(self, name: str, value: object) -> str:
        """A value as the letter shows it."""
        return clean(self.language.describe(self.schema[name], value))

    def _heading(self, name: str) -> str:
        """The title of a change of a feature, which says whether it follows from others."""
        title = self.schema[name].title
        if not self.schema[name].derived:
            return title
        return self.language.gettext("%(title)s (follows)", title=title)

    def _short(self, row: pd.Series[Any], confidence: float) -> Mapping[str, Any]:
        """The same values in few digits, where the model says the same of those.

        A number that a library keeps in single precision reads 0.949999988 where 0.95 is meant.
        """
        own = {name: row[name] for name in self.schema.names}
        fewer = {
            name: brief(value)
            for name, value in own.items()
            if isinstance(value, float) and math.isfinite(value) and brief(value) != value
        }
        if fewer and self.recourse.confidence(own | fewer) == confidence:
            return own | fewer
        return own

    @property
    def logic(self) -> str:
        """How the model comes to an answer, in a few plain sentences."""
        model, say = self.recourse.model, self.language
        if hasattr(model, "clauses"):
            kind, many = "rule", len(model.clauses().empty)
        elif explainable(model):
            parts = model.parts_of(self.recourse.wanted_at)
            kind, many = parts.words.term, len(parts.uses)
        else:
            return say.gettext("The model computes from all your values together how sure it is.")
        count = say.number(str(many))
        if kind == "rule":
            told = say.ngettext(
                "The model holds %(num)s statement about such values. If it holds for somebody, it "
                "speaks for or against a yes.",
                "The model holds %(num)s statements about such values. Each that holds for "
                "somebody speaks for or against a yes, by its own weight.",
                many,
                num=count,
            )
        elif kind == "tree":
            told = say.ngettext(
                "The model asks %(num)s row of questions about the values. It ends in a number for "
                "or against a yes.",
                "The model asks %(num)s rows of questions about the values. Each ends in a number "
                "for or against a yes, and these are added up.",
                many,
                num=count,
            )
        else:
            told = say.gettext(
                "The model gives each value points for or against a yes, and adds these up."
            )
        idle = [f.title for f, used in zip(self.schema, depends(model), strict=True) if not used]
        if not idle:
            return told
        names = say.joined(self.some(idle))
        return f"{told} {say.gettext('It makes no use of: %(names)s.', names=names)}"

    def any_of(self, names: list[str]) -> str:
        """Names in a sentence that denies something of each: A, B or C."""
        *others, last = self.some(names)
        if not others:
            return last
        say = self.language.gettext
        return say("%(first)s or %(other)s", first=", ".join(others), other=last)

    def some(self, names: list[str]) -> list[str]:
        """Names for a sentence, not too many of them."""
        more = len(names) - MOST_NAMES
        if more <= 1:
            return names
        others = self.language.ngettext("%(num)d other", "%(num)d others", more)
        return [*names[:MOST_NAMES], others]

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
        return smallest and first is not self.furthest and not self.extra

    @property
    def firmer(self) -> bool:
        """Whether the first offer is of a refused person, and more sure than a yes has to be."""
        return not self.accepted and self.chosen[0].target.confidence > self.decision.confidence

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
        """The highest reachable confidence."""
        furthest = cast("Reach", self.furthest)
        return furthest.most if self.less else self._confidence(furthest)

    @property
    def most(self) -> str:
        """The bound on all confidences, out of 100, where it is not reached; "" if it is known."""
        furthest = cast("Reach", self.furthest)
        most = Decimal(ceiled(furthest.ceiling, 2)).scaleb(2)
        known = self.impossible and most >= math.floor(100.0 * self.decision.confidence)
        if furthest.proved or (known and not self.wins):
            return ""
        number = self.language.number(f"{most:f}")
        return self.language.gettext("%(number)s out of 100", number=number)

    @property
    def less(self) -> float | None:
        """The confidence of the moves that matter, where they are told not to be all."""
        furthest = cast("Reach", self.furthest)
        then = self._confidence(furthest)
        return None if out_of_100(then) == out_of_100(furthest.most) else then

    @property
    def moves(self) -> list[str]:
        """The changes that lead there."""
        furthest = cast("Reach", self.furthest)
        changes, each = self._offer(furthest).changes, furthest.worth
        return [
            self.language.gettext(
                "%(title)s from %(before)s to %(after)s (%(points)s less without it)",
                title=self.schema[name].title,
                before=a,
                after=b,
                points=self._points(each[name]),
            )
            for name, (a, b) in changes.items()
            if name in each
        ]

    def _points(self, confidence: float) -> str:
        """How much a move adds, out of 100."""
        return self.language.ngettext("%(num)d point", "%(num)d points", round(100.0 * confidence))

    def level(self, confidence: float) -> str:
        """A level that was set, out of 100."""
        return self.language.number(level(confidence))

    def written(self, confidence: float) -> str:
        """A confidence in words, told from what a yes takes and from what was asked for."""
        targets = (self.decision, *self.result.status)
        told = out_of_100(confidence, [t.interval[0] for t in targets if t.mode != "wins"])
        if told == "0" and confidence:
            return self.language.gettext("less than 1 out of 100")
        return self.language.gettext("%(number)s out of 100", number=self.language.number(told))

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The values now and with each offer, one row per value that changes, then confidence."""
        offers, say = self.offers, self.language.gettext
        now = {name: own for offer in offers for name, (own, _) in offer.changes.items()}
        rows = [
            (
                self._heading(name),
                own,
                *(o.changes[name][1] if name in o.changes else say("as now") for o in offers),
            )
            for name, own in now.items()
        ]
        told = [self.confidence, *map(self._confidence, self.chosen[:MOST_OFFERS])]
        several = len(offers) > 1
        names = [say("option %(n)d", n=n) for n in self.numbers] if several else [say("then")]
        sure = (say("the model’s confidence"), *map(self.written, told))
        return ("", say("now"), *names), (*rows, sure)

    def limit(self) -> str:
        """The limit that matters most where nothing is within reach, as a sentence."""
        table, say = beyond(self.result), self.language.gettext
        if table.empty or out_of_100(table["reachable"][0]) == out_of_100(self.reached):
            if table.attrs["unfinished"]:
                return say("We found no single limit that holds this back.")
            return say(
                "No single limit holds this back: lifting one alone would take you no further."
            )
        lifted, then = str(table["if"][0]), self.written(table["reachable"][0])
        relations = {
            f"{WITHOUT} {each.sentence(self.schema)}": each for each in self.schema.relations
        }
        if self.language.code != "en":  # the words of limits are in English
            between = relations[lifted].names if lifted in relations else self._limited(lifted)
            return say(
                "One of the limits set for changes matters most, that on %(names)s. Without it, "
                "%(then)s would be within reach. You are not asked to go beyond it.",
                names=self.language.joined(self.schema[name].title for name in between), then=then,
            )  # fmt: skip
        words = f"if {cut(lifted, 160)}"
        if lifted in relations:
            words = f"that {cut(relations[lifted].sentence(self.schema), 160)}. Without it"
        return (
            f"One of the limits set for changes matters most: {words}, {then} would be within "
            "reach. You are not asked to go beyond it."
        )

    def _limited(self, sentence: str) -> list[str]:
        """The feature whose limit a sentence of `binding` lifts."""
        every = self.schema.lifted(self.result.factual, listed=self.recourse.cost.functions)
        found = next(each for each in every if each.sentence == sentence)
        pairs = zip(self.schema, found.schema, strict=True)
        return [ours.name for ours, freed in pairs if ours != freed]

    # ------------------------------------------------------------ options

    def _look_further(self) -> None:
        """Where nothing asked for is a yes: the cheapest yes, and the most confident option."""
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
            found = self.recourse.ask(result.factual, asked)
            yes = found.options
            if "time_limit" in found.ended_by.values():
                self.search_limit = self.time_limit
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
        confidence = self._confidence(option)
        row = self._short(option.x, confidence)
        changes = {
            name: (self.described(name, self.now[name]), self.described(name, row[name]))
            for name in option.changes
        }
        ends = self._ends(option)
        span, actions = self.language.span, self.schema.action_set(self.result.factual)
        shown = {
            name: clean(span(self.schema[name], *pair, actions[name]))
            for name, pair in ends.items()
        }
        return Offer(row, changes, int(out_of_100(confidence)), shown, ends)

    def _ends(self, option: Option) -> dict[str, tuple[Any, Any]]:
        """From where to where each value may go that has some room, where all of it is a yes."""
        whole = self.result.decision.mode == "wins" or (
            option.target.interval[0] >= self.decision.interval[0]
        )
        proved = self.recourse.exact and whole and option in self.result.options
        if not (self.wide and proved) or self.extra:
            return {}
        at = self.result.options.index(option)
        rows = self.result.ranges(at).itertuples(index=False)
        return {name: (low, high) for name, low, high in rows if low != high}

    @property
    def rooms(self) -> list[str]:
        """All that each offer asks for, with the room that it leaves, if one leaves any."""
        if not any(offer.ranges for offer in self.offers):
            return []
        found = [self._room(offer) for offer in self.offers]
        if len(found) == 1:
            return [f"{name}: {values}" for name, values in found[0]]
        option = self.language.gettext
        return [
            f"{option('option %(n)d', n=at)}: {', '.join(f'{n} ({v})' for n, v in each)}"
            for at, each in zip(self.numbers, found, strict=True)
        ]

    def _room(self, offer: Offer) -> list[tuple[str, str]]:
        """The values that an offer asks for; what follows from others is computed from these."""
        asked = (name for name in offer.changes if not self.schema[name].derived)
        return [
            (self._heading(name), offer.ranges.get(name) or self._said(name, offer.row[name]))
            for name in asked
        ]

    def _said(self, name: str, value: object) -> str:
        return clean(self.language.said(self.schema[name], value))


def cut(text: str, most: int = KEPT) -> str:
    """A text for a sentence, its end cut where it is very long."""
    whole = clean(text)
    return whole if len(whole) <= most else f"{whole[: most - 1].rstrip()}…"
