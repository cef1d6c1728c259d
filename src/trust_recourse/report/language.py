"""The language of a letter: its catalogue, and how it writes numbers, dates and values.

English is the language of the messages themselves, and needs no other package. Another one is a
catalogue `CODE.po`, in `catalogues/` or in a folder that is given, where it stands in place of
ours. It holds every message of `catalogues/letter.pot`. It may also hold labels of columns
(`msgctxt "label"`) and of the values of a column (`msgctxt` its name). How the language writes
dates and numbers comes from Babel, by its code.
"""

from __future__ import annotations

import datetime
import gettext
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import CURRENCY, brief, near, punctuated, singular, some, written
from trust_recourse.schema import Feature, FeatureActions
from trust_recourse.schema.feature import among, marked

CATALOGUES = Path(__file__).with_name("catalogues")  # ours
TEMPLATE = "letter.pot"
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Language:
    """How a letter speaks."""

    code: str = "en"
    catalogue: gettext.NullTranslations = field(default_factory=gettext.NullTranslations)
    month_first: bool = False  # in a date, as in the United States
    marks: tuple[str, str] = (".", ",")  # of decimals and of thousands
    sign_first: bool = True  # of a currency, before the amount

    @property
    def english(self) -> bool:
        """Whether it is the language of the messages themselves, of whatever country."""
        return self.code.replace("-", "_").partition("_")[0] == "en"

    def gettext(self, message: str, /, **values: object) -> str:
        """A message in this language, with values for its names; however its lines are broken."""
        return self.catalogue.gettext(flat(message)) % values

    def ngettext(self, one: str, many: str, num: int, /, **values: object) -> str:
        """A message that counts something."""
        found = self.catalogue.ngettext(flat(one), flat(many), num)
        return found % {"num": num, **values}

    def label(self, title: str) -> str:
        """A column's title, as the catalogue has it; else as it is, without underscores."""
        told = self.catalogue.pgettext("label", title)
        return told if told != title else title.replace("_", " ").strip() or title

    def untold(self, features: Iterable[Feature]) -> list[str]:
        """Titles of columns, and columns with values, that a letter says as the schema has them.

        >>> language_of("de").untold([Feature("age"), Feature("home", "category", ("own", "rent"))])
        ['home', 'values of home']
        """
        if self.english:
            return []
        found = []
        for feature in features:
            if self.catalogue.pgettext("label", feature.title) == feature.title:
                found.append(feature.title)
            values = () if feature.kind == "boolean" else (*feature.values, *feature.words)
            words = {value: feature.words.get(value, value) for value in values}
            if any(isinstance(w, str) and self._value(feature, v) == w for v, w in words.items()):
                found.append(f"values of {feature.title}")
        return found

    def day(self, date: datetime.date) -> str:
        """A date in words.

        >>> ENGLISH.day(datetime.date(2027, 1, 31))
        '31 January 2027'
        """
        if self.code != ENGLISH.code:
            from trust_recourse.report import catalogue

            return catalogue.day(self.code, date)
        month = MONTHS[date.month - 1]
        if self.month_first:
            return f"{month} {date.day}, {date.year}"
        return f"{date.day} {month} {date.year}"

    def number(self, text: str) -> str:
        """A written number with this language's marks."""
        return punctuated(text, *self.marks)

    def joined(self, parts: Iterable[str]) -> str:
        """Names in a sentence, with an “and” before the last."""
        *others, last = parts
        if not others:
            return last
        return self.gettext("%(others)s and %(last)s", others=", ".join(others), last=last)

    # ------------------------------------------------------------ values

    def describe(self, feature: Feature, value: object) -> str:
        """A value as this language writes it, with its unit; a number keeps all its digits."""
        value = plain(value)
        if value is None or value in feature.missing:
            told = self.gettext("missing")  # a code says nothing to whoever is written to
            return f"{told} ({self._value(feature, value)})" if value in feature.words else told
        if value in feature.words:
            return self._value(feature, value)
        if feature.kind == "boolean":
            return self.gettext("yes") if value else self.gettext("no")
        if not feature.numeric:
            words = self._value(feature, value)
            return f"{words} {feature.unit}" if feature.unit else words
        number = float(str(value))
        shown = marked(feature, number, written(number, feature.step), *self.marks)
        if CURRENCY.fullmatch(feature.unit or ""):
            amount = shown.lstrip("-−")
            minus = shown.removesuffix(amount)
            return (
                f"{minus}{feature.unit}{amount}" if self.sign_first else f"{shown} {feature.unit}"
            )
        space = "" if feature.unit == "%" and self.english else " "
        return f"{shown}{space}{self.unit(feature, number)}".rstrip()

    def _value(self, feature: Feature, value: Any) -> str:
        """A value that is a text or a code: by the catalogue, or else by its label."""
        code = written(value) if isinstance(value, float) else str(value)
        told = self.catalogue.pgettext(feature.name, code)
        if told == code and value in feature.words:
            return self.catalogue.pgettext(feature.name, feature.words[value])
        return told

    def unit(self, feature: Feature, number: float) -> str:
        """The unit of so many."""
        if not feature.unit:
            return ""
        many = 1 if abs(number) == 1 else 2
        return self.catalogue.ngettext(singular(feature.unit), feature.unit, many)

    def said(self, feature: Feature, value: object) -> str:
        """A value within a sentence: as it is written, in quotation marks if it is words."""
        told = self.describe(feature, value)
        number = feature.numeric and plain(value) not in feature.words
        return told if number else self.gettext("“%(value)s”", value=told)

    def span(
        self, feature: Feature, low: Any, high: Any, actions: FeatureActions | None = None
    ) -> str:
        """A range of values, rounded inwards; infinite is no end, and words are all said."""
        if named := among(feature, low, high, actions):
            first, *others = (self.said(feature, value) for value in named)
            for each in others:
                first = self.gettext("%(first)s or %(other)s", first=first, other=each)
            return first
        if feature.words and low != high:
            return self.span(replace(feature, labels=()), low, high)
        low, high = _inwards(low, high)
        open_low, open_high = (isinstance(end, float) and math.isinf(end) for end in (low, high))
        if open_low and open_high:
            return self.gettext("any")
        if open_high:
            return self.gettext("at least %(value)s", value=self.describe(feature, low))
        if open_low:
            return self.gettext("at most %(value)s", value=self.describe(feature, high))
        first, last = self.describe(feature, low), self.describe(feature, high)
        if low == high:
            return first
        unit = self.unit(feature, float(low)) if feature.numeric else ""
        first = first.removesuffix(unit).rstrip()
        return self.gettext("%(low)s to %(high)s", low=first, high=last)


def _inwards(low: Any, high: Any) -> tuple[Any, Any]:
    """Ends of few digits where these are not outside of the range."""
    shown = [
        brief(end) if isinstance(end, float) and math.isfinite(end) else end for end in (low, high)
    ]
    return (shown[0] if shown[0] >= low else low), (shown[1] if shown[1] <= high else high)


def flat(message: str) -> str:
    """A message in one line, as catalogues have it."""
    return " ".join(message.split())


ENGLISH = Language()


def language_of(code: str, folder: str | os.PathLike[str] | None = None) -> Language:
    """The language of a code, such as "de"; its catalogue in a folder comes before ours."""
    if folder is not None and not Path(folder).is_dir():
        raise ValueError(
            f"catalogues={str(folder)!r}: expected a folder with files such as {code}.po"
        )
    if path := _catalogues(folder).get(code):
        return _read(code, path, path.stat().st_mtime_ns)
    if code == "en":
        return ENGLISH
    known = languages(folder)
    raise ValueError(
        f"language={code!r}; expected one of {some(known)}{near(code, known)}; another is a file "
        f"{code}.po in the folder of catalogues="
    )


def languages(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """The codes of the languages there are: ours, and those of a folder."""
    return sorted({"en", *_catalogues(folder)})


def _catalogues(folder: str | os.PathLike[str] | None) -> dict[str, Path]:
    places = [CATALOGUES] if folder is None else [CATALOGUES, Path(folder)]
    return {path.stem: path for place in places for path in place.glob("*.po")}


@lru_cache
def _read(code: str, path: Path, changed: int) -> Language:  # noqa: ARG001
    """A language from its catalogue, all of whose messages are there, with their values."""
    from trust_recourse.report import catalogue as files_of

    own = files_of.read(path)
    told = {files_of.key(each): given for each in files_of.entries(own)
            if (given := files_of.texts(each))}  # fmt: skip
    needed = [*files_of.entries(files_of.read(CATALOGUES / TEMPLATE))]
    absent = [files_of.key(each)[1] for each in needed if files_of.key(each) not in told]
    made = Language(code, files_of.translations(own))
    if absent and not made.english:
        raise ValueError(
            f"{path}: {len(absent)} of the messages in {TEMPLATE} are not translated, the first is "
            f"{absent[0]!r}"
        )
    for each in needed:
        text = files_of.unlike(each, told.get(files_of.key(each), ()))
        if text is not None:
            names = ", ".join(f"%({name}){kind}" for name, kind in files_of.values(each).items())
            raise ValueError(
                f"{path}: {files_of.key(each)[1]!r} is translated as {text!r}; expected in it "
                f"{names or 'no value'}, and %% for a percent sign"
            )
    if code == ENGLISH.code:
        return made
    return replace(made, **files_of.conventions(code))
