"""How a letter writes values, names and confidences.

Confidences are written out of 100 and rounded down, computed anew from the model at just the values
that are shown, so none is promised that the model does not give.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from trust_recourse.answers.explain import depends, explainable
from trust_recourse.io import wording
from trust_recourse.io.wording import beyond, brief, floored
from trust_recourse.question import Option
from trust_recourse.report.content import clean
from trust_recourse.report.language import Language
from trust_recourse.report.letter.offers import Offer

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse.answers.result import Result
    from trust_recourse.schema import Feature

MOST_NAMES = 8  # of values that may not change, named one by one
KEPT = 300  # letters of a label or a value in a sentence; the rest is cut


@dataclass(frozen=True, eq=False)
class Wording:
    """How a letter about one result, whose titles are those of the letter, writes things."""

    result: Result
    language: Language

    def described(self, name: str, value: object) -> str:
        """A value as the letter shows it."""
        return clean(self.language.describe(self.result.recourse.schema[name], value))

    def said(self, name: str, value: object) -> str:
        """A value within a sentence."""
        return clean(self.language.said(self.result.recourse.schema[name], value))

    def heading(self, name: str) -> str:
        """The title of a change of a feature, which says whether it follows from others."""
        feature = self.result.recourse.schema[name]
        if not feature.derived:
            return feature.title
        return self.language.gettext("%(title)s (follows)", title=feature.title)

    def follows(self, feature: Feature) -> str:
        """How a feature hangs on others, if it does."""
        if feature.formula is None:
            return ""
        schema = self.result.recourse.schema
        names = self.language.joined(schema[name].title for name in feature.formula.names)
        if feature.formula.shape == "moves":
            return self.language.gettext(", which moves with %(names)s", names=names)
        return self.language.gettext(", which follows from %(names)s", names=names)

    def short(self, row: pd.Series[Any], confidence: float) -> Mapping[str, Any]:
        """The same values in few digits, where the model says the same of those.

        A number that a library keeps in single precision reads 0.949999988 where 0.95 is meant.
        """
        recourse = self.result.recourse
        own = {name: row[name] for name in recourse.schema.names}
        fewer = {
            name: brief(value)
            for name, value in own.items()
            if isinstance(value, float) and math.isfinite(value) and brief(value) != value
        }
        if fewer and recourse.confidence(own | fewer) == confidence:
            return own | fewer
        return own

    def offer(
        self, option: Option, now: Mapping[str, Any], ends: Mapping[str, tuple[Any, Any]]
    ) -> Offer:
        """An option as it is offered, beside the values now."""
        schema, span = self.result.recourse.schema, self.language.span
        confidence = self.result.recourse.confidence(option.x)
        row, actions = self.short(option.x, confidence), schema.action_set(self.result.factual)
        changes = {
            name: (self.described(name, now[name]), self.described(name, row[name]))
            for name in option.changes
        }
        shown = {n: clean(span(schema[n], *pair, actions[n])) for n, pair in ends.items()}
        return Offer(row, changes, int(out_of_100(confidence)), shown, ends)

    def any_of(self, names: Sequence[str]) -> str:
        """Names in a sentence that denies something of each: A, B or C."""
        *others, last = self.some(names)
        if not others:
            return last
        say = self.language.gettext
        return say("%(first)s or %(other)s", first=", ".join(others), other=last)

    def some(self, names: Sequence[str]) -> Sequence[str]:
        """Names for a sentence, not too many of them."""
        more = len(names) - MOST_NAMES
        if more <= 1:
            return names
        others = self.language.ngettext("%(num)d other", "%(num)d others", more)
        return [*names[:MOST_NAMES], others]

    def points(self, confidence: float) -> str:
        """How much a move adds, out of 100."""
        return self.language.ngettext("%(num)d point", "%(num)d points", round(100.0 * confidence))

    def level(self, confidence: float) -> str:
        """A level that was set, out of 100."""
        hundredths = Decimal(wording.level(confidence)).scaleb(2).normalize()
        return self.language.number(f"{hundredths:f}")

    def written(self, confidence: float) -> str:
        """A confidence in words, told from what a yes takes and from what was asked for."""
        targets = (self.result.decision, *self.result.status)
        told = out_of_100(confidence, [t.interval[0] for t in targets if t.mode != "argmax"])
        if told == "0" and confidence:
            return self.language.gettext("less than 1 out of 100")
        return self.language.gettext("%(number)s out of 100", number=self.language.number(told))

    @property
    def logic(self) -> str:
        """How the model comes to an answer, in a few plain sentences."""
        recourse, say = self.result.recourse, self.language
        model = recourse.model
        if hasattr(model, "clauses"):
            kind, many = "rule", len(model.clauses().empty)
        elif explainable(model):
            parts = model.parts_of(recourse.wanted_at)
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
        idle = [
            f.title for f, used in zip(recourse.schema, depends(model), strict=True) if not used
        ]
        if not idle:
            return told
        names = say.joined(self.some(idle))
        return f"{told} {say.gettext('It makes no use of: %(names)s.', names=names)}"


def cut(text: str, most: int = KEPT) -> str:
    """A text for a sentence, its end cut where it is very long."""
    whole = clean(text)
    return whole if len(whole) <= most else f"{whole[: most - 1].rstrip()}…"


def out_of_100(confidence: float, levels: Iterable[float] = ()) -> str:
    """The same out of 100, rounded down, in a whole number if that is on no wrong side of a level.

    >>> out_of_100(0.869), out_of_100(0.57), out_of_100(0.85 - 1e-10), out_of_100(0.854, [0.8531])
    ('86', '57', '84', '85.4')
    """
    return f"{Decimal(floored(confidence, beyond(confidence, levels), digits=2)).scaleb(2):f}"
