"""The order of words: read from the numbers in them, or known, as of low, medium and high."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from trust_recourse.io.scalars import INF
from trust_recourse.schema.guess.words import (
    EDUCATION,
    alternatives,
    column_pattern,
    scales,
    time_units,
    word_set,
)

MOST = 30  # levels

Span = tuple[float, float]


class Levels(NamedTuple):
    """Words from low to high, those among them that are no level, and how the order is known."""

    order: tuple[str, ...]
    without: tuple[str, ...]
    known: str
    of: str  # the unit of time that they count, or the name of their scale; "" for other numbers


def levels(words: Sequence[object], name: str = "") -> Levels | None:
    """The order of all these words in a column of this name, or None where it cannot be read.

    What says that nothing is known, as "unknown" does, is no level. "None" is the lowest.

    >>> levels(("100 to 500 DM", "< 100 DM", "unknown", "≥ 500 DM")).order
    ('< 100 DM', '100 to 500 DM', '≥ 500 DM')
    >>> levels(("high", "none", "low")).order, levels(("rent", "own"))
    (('none', 'low', 'high'), None)
    """
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) < len(words) or not 2 <= len(texts) <= MOST:
        return None
    return _by_numbers(texts, name) or _by_words(texts, name)


def untold(text: str) -> bool:
    """Whether a word says that something is not known.

    >>> untold("unknown/ no savings account"), untold("not stated"), untold("none reported")
    (True, True, False)
    """
    return bool(re.search(alternatives("untold"), _plain(text)))


def only_untold(text: str) -> bool:
    """Whether a word says that something is not known, and nothing else.

    >>> only_untold("Unknown"), only_untold("unknown or none")
    (True, False)
    """
    return bool(re.fullmatch(alternatives("untold"), _plain(text)))


# ---------------------------------------------------------------- by numbers

TIME_UNITS = {
    "minute": 1 / 525_960, "hour": 1 / 8766, "day": 1 / 365.25, "week": 7 / 365.25,
    "month": 1 / 12, "year": 1.0,
}  # fmt: skip
LEAST = frozenset(("unemployed", "not employed", "never worked", "jobless"))
SIGNS = frozenset("<>=+-–—…()[],/:≤≥")
BELOW = re.compile(r"<|≤|\b(under|below|less|up to|at most|fewer|within|bis|unter)\b")
ABOVE = re.compile(r">|≥|\d\s*\w*\s*\+|\b(over|above|more|at least|from|and up|plus|ab|über)\b")
BETWEEN = re.compile(r"\bbetween\b|\d[^\d]*(-|–|—|\bto\b|\band\b|\bbis\b|\.\.|…|, |<|≤)[^\d]*\d")
PART = re.compile(r"(?P<number>(?:(?<![\w)\]%.])-)?(?:\d+\.?\d*|\.\d+))|(?P<word>[^\W\d]+|\S)")
GROUPED = re.compile(r"(?<![\d.,(\[])[1-9]\d{0,2}([,' ])\d{3}(\1\d{3})*(?!\d|,\d)")  # 1 000
DOTTED = re.compile(r"(?<![\d.])[1-9]\d{0,2}\.\d{3}(?!\d)")  # 1.500: a thousand, or one and a half
POINTED = re.compile(r"\d\.(\d{1,2}|\d{4,})(?!\d)|\d{4,}\.\d|(?<!\d)0?\.\d")


class _Read(NamedTuple):
    """What a word says: from which number to which, in years if of time, of what."""

    span: Span
    rest: frozenset[str]
    unit: str


def _by_numbers(texts: Sequence[str], name: str) -> Levels | None:
    told = {text: _read(text) for text in texts}
    spans = {text: read for text, read in told.items() if read}
    others = [text for text, read in told.items() if read is None]
    things = {read.rest for read in spans.values()}
    units = {read.unit for read in spans.values()}
    if len(spans) < 2 or len(things) > 1 or ("" in units and len(units) > 1):
        return None
    if any(map(DOTTED.search, spans)) and not any(map(POINTED.search, spans)):
        return None
    thing, timed = next(iter(things)), units <= {*TIME_UNITS}
    ranged = any(read.span[0] < read.span[1] for read in spans.values())
    if not (timed or thing & word_set("counted") or ranged):
        return None
    found = sorted(spans, key=lambda text: spans[text].span)
    pairs = [(spans[a].span, spans[b].span) for a, b in pairwise(found)]
    if any(a == b or a[1] > b[0] for a, b in pairs):  # two of them overlap
        return None
    low, high = spans[found[0]].span
    about = thing | {"reported", *map(_single, re.findall(r"[^\W\d_]+", name.lower()))}
    counts = low > 0 or (low == -INF and high > 0)  # from nothing on
    lowest = [e for e in others if _plain(e) in LEAST or (counts and _nothing(e, about))]
    without = [each for each in others if each not in lowest]
    if len(lowest) > 1 or not all(map(untold, without)):
        return None
    unit = min(units, key=lambda each: TIME_UNITS.get(each, 0.0))
    return Levels((*lowest, *found), tuple(without), "by the numbers in its words", unit)


def _nothing(text: str, about: frozenset[str]) -> bool:
    """Whether a word says that there is nothing of what the others count."""
    first, *rest = _plain(text).split() or [""]
    return first in word_set("nothing") and {*map(_single, rest)} <= about and not untold(text)


def _single(word: str) -> str:
    return word if word in word_set("counted") else word.removesuffix("s")


def _read(text: str) -> _Read | None:
    """Of a scale, as k and million are, nothing is made: it stays a word that all must share."""
    line = GROUPED.sub(lambda each: re.sub(r"\D", "", each[0]), _plain(text))
    line = re.sub(r"\bnot? (more|over|above)( than)?\b", "at most", line)
    line = re.sub(r"\bnot? (less|under|below)( than)?\b", "at least", line)
    numbers: list[float] = []
    units: list[str] = []
    rest: set[str] = set()
    for each in PART.finditer(line):
        if each["number"]:
            numbers.append(float(each["number"]))
            units.append("")
            continue
        word = time_units().get(each["word"], each["word"])
        if word in TIME_UNITS and units:
            units = [unit or word for unit in units]
        elif word not in SIGNS and word not in word_set("said"):
            rest.add(_single(word))
    if not 1 <= len(numbers) <= 2 or ("" in units and any(units)):
        return None
    pairs = zip(numbers, units, strict=True)
    span = _span(line, [number * TIME_UNITS.get(unit, 1.0) for number, unit in pairs])
    return span and _Read(span, frozenset(rest), units[-1])


def _span(line: str, numbers: list[float]) -> Span | None:
    if len(numbers) == 2:
        low, high = numbers
        return (low, high) if low <= high and BETWEEN.search(line) else None
    below, above = bool(BELOW.search(line)), bool(ABOVE.search(line))
    if below and above:
        return None
    number = numbers[0]
    return (-INF if below else number), (INF if above else number)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().replace("_", " ").split())


# ---------------------------------------------------------------- by words


def _by_words(texts: Sequence[str], name: str) -> Levels | None:
    for kind, scale in scales().items():
        without = [text for text in texts if untold(text) and _spelt(text) not in scale]
        rest = _shortened([text for text in texts if text not in without])
        order = sorted(rest, key=lambda text: scale.get(rest[text], -1))
        at = [scale.get(rest[text], -1) for text in order]
        if -1 not in at and len({*at}) == len(at) >= 2 and _meant({*rest.values()}, kind, name):
            return Levels(tuple(order), tuple(without), f"by a known scale ({kind})", kind)
    return None


def _meant(words: set[str], kind: str, name: str) -> bool:
    """Whether words mean this scale: one of three at least does, or the column is called so."""
    if (column := column_pattern(kind)) and re.search(column, _plain(name)):
        return True
    several = len(words) >= 3
    letters = any(len(word) == 1 for word in words)  # S, M and L; but S and M are marital states
    doubtful = words & word_set("equivocal")
    return (several or not letters) and (not doubtful or (several and doubtful < words))


def _shortened(texts: Sequence[str]) -> dict[str, str]:
    """How texts are spelt, without the words that all of them share: low risk, high risk."""
    spelt = {text: _spelt(text) for text in texts}
    shared = frozenset.intersection(*(frozenset(each.split()) for each in spelt.values() or [""]))
    short = {t: " ".join(w for w in each.split() if w not in shared) for t, each in spelt.items()}
    return short if all(short.values()) else spelt


def _spelt(text: str) -> str:
    line = re.sub(r"[\s/.,-]+", " ", re.sub(r"['’]", "", _plain(text))).strip()
    return re.sub(r" (degree|level)$", "", line) if line not in scales()[EDUCATION] else line
