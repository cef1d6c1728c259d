"""The order of words: read from the numbers in them, or known, as of low, medium and high."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from trust_recourse.schema.scalars import INF

MOST = 30  # levels

Span = tuple[float, float]


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


class Levels(NamedTuple):
    """Words from low to high, those among them that are no level, and how the order is known."""

    order: tuple[str, ...]
    without: tuple[str, ...]
    known: str
    of: str  # the unit of time that they count, or the name of their scale; "" for other numbers


def levels(words: Sequence[object]) -> Levels | None:
    """The order of all these words, or None where it cannot be read.

    Words such as "unknown" are no level. "none" is the lowest of amounts, which are not below 0.

    >>> levels(("100 to 500 DM", "< 100 DM", "unknown", "≥ 500 DM")).order
    ('< 100 DM', '100 to 500 DM', '≥ 500 DM')
    >>> levels(("100 € or more", "< 100 €", "no savings")).order
    ('no savings', '< 100 €', '100 € or more')
    >>> levels(("high", "low", "medium")).order, levels(("rent", "own"))
    (('low', 'medium', 'high'), None)
    """
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) < len(words) or not 2 <= len(texts) <= MOST:
        return None
    return _by_numbers(texts) or _by_words(texts)


# ---------------------------------------------------------------- by numbers

TIME_UNITS = {"day": 1 / 365.25, "week": 7 / 365.25, "month": 1 / 12, "year": 1.0}
TIMES = {
    "days": "day", "wk": "week", "wks": "week", "weeks": "week", "mo": "month",
    "mos": "month", "mth": "month", "mths": "month", "months": "month", "y": "year", "yr": "year",
    "yrs": "year", "years": "year", "jahr": "year", "jahre": "year", "monate": "month",
}  # fmt: skip
COUNTED = word_set(
    "hour minute time person people child room bedroom bed star point percent level grade dollar "
    "euro"
)
ZERO = word_set("none never no zero nil nothing")
LEAST = frozenset(("unemployed", "not employed", "never worked", "jobless"))
UNTOLD = word_set(
    "unknown unspecified undisclosed unstated undefined missing refused n/a na ? known stated "
    "available applicable specified answer disclosed reported provided given not no or none "
    "information info data response"
)
UNKNOWN = word_set("unknown n/a")  # whatever stands beside them
SIGNS = word_set("< > = + - – — .. … ( ) [ ] , % $ € £ ¥ / : ≤ ≥")
BELOW = re.compile(r"<|≤|\b(under|below|less|up to|at most|fewer|bis|unter)\b")
ABOVE = re.compile(r">|≥|\d\s*\w*\s*\+|\b(over|above|more|at least|from|and up|plus|ab|über)\b")
BETWEEN = re.compile(r"\bbetween\b|\d[^\d]*(-|–|—|\bto\b|\band\b|\bbis\b|\.\.|…|,|<|≤)[^\d]*\d")
PART = re.compile(r"(?P<number>(?:(?<![\w)\]%.])-)?(?:\d+\.?\d*|\.\d+))|(?P<word>[^\W\d]+|\S)")
SAID = word_set(
    "under below less than up to at most fewer over above more least from and plus between or bis "
    "unter ab über x st nd rd th equal equals"
)


class _Read(NamedTuple):
    """What a word says: from which number to which, of what, in which unit of time."""

    span: Span
    rest: frozenset[str]
    unit: str
    ranged: bool

    def counted(self, unit: str) -> Span:
        """Its span in years, by this unit where it has none of its own."""
        years = 1.0 if self.unit else TIME_UNITS.get(unit, 1.0)
        return self.span[0] * years, self.span[1] * years


def _by_numbers(texts: Sequence[str]) -> Levels | None:
    told = {text: _read(text) for text in texts}
    spans = {text: read for text, read in told.items() if read}
    others = [text for text, read in told.items() if read is None]
    things = {read.rest for read in spans.values()}
    units = {read.unit for read in spans.values()}
    ranged = any(read.ranged for read in spans.values())
    if len(spans) < 2 or len(things - {frozenset()}) > 1 or ("" in units and len(units) > 2):
        return None
    if not ranged and not (units <= {*TIME_UNITS} or all(thing & COUNTED for thing in things)):
        return None
    unit = min(units - {""}, default="")
    found = _apart({text: read.counted(unit) for text, read in spans.items()})
    if found is None:
        return None
    low, high = spans[found[0]].span
    words = LEAST | ZERO if low > 0 else LEAST
    amounts = not unit and (low >= 0 or (low == -INF and high > 0))
    lowest = [each for each in others if _plain(each) in words or (amounts and _nothing(each))]
    without = [each for each in others if each not in lowest]
    if len(lowest) > 1 or not all(map(_untold, without)):
        return None
    return Levels((*lowest, *found), tuple(without), "by the numbers in its words", unit)


def _apart(spans: dict[str, Span]) -> list[str] | None:
    """The words in the order of their numbers, unless two of them overlap."""
    order = sorted(spans, key=lambda text: spans[text])
    pairs = [(spans[a], spans[b]) for a, b in pairwise(order)]
    return order if all(a != b and a[1] <= b[0] for a, b in pairs) else None


def _read(text: str) -> _Read | None:
    line = re.sub(r"(?<=\d)[,'\u00a0](?=\d{3}\b)", "", _plain(text))
    line = re.sub(r"(?<=\d)\s?k\b", "000", line)
    line = re.sub(r"\bnot? (more|over|above)( than)?\b", "at most", line)
    line = re.sub(r"\bnot? (less|under|below)( than)?\b", "at least", line)
    numbers, units, rest = [], [], set()
    for each in PART.finditer(line):
        if each["number"]:
            numbers.append(float(each["number"]))
            units.append("")
            continue
        word = TIMES.get(each["word"], each["word"])
        if word in TIME_UNITS and units:
            units = [unit or word for unit in units]
        elif word not in SIGNS and word not in SAID:
            rest.add(word if word in COUNTED else word.removesuffix("s"))
    if not 1 <= len(numbers) <= 2 or len({*units}) > 2:
        return None
    last = units[-1]
    counted = [
        n * TIME_UNITS.get(unit or last, 1.0) for n, unit in zip(numbers, units, strict=True)
    ]
    span = _span(line, counted)
    if span is None:
        return None
    return _Read(span, frozenset(rest), last, ranged=span[0] < span[1])


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


def _nothing(text: str) -> bool:
    """Whether a word says that there is nothing: "none", "no savings", but not "no answer"."""
    line = _plain(text)
    return line in ZERO or (line.startswith("no ") and not _untold(text))


def _untold(text: str) -> bool:
    """Whether a word says that nothing is known."""
    words = {*re.findall(r"n/a|[^\W\d_]+|\?", text.lower())}
    return bool(words & UNKNOWN) or (bool(words) and words <= UNTOLD)


# ---------------------------------------------------------------- by words

# each from low to high, its levels apart by "<"; words for the same level have commas between them
VOCABULARY = """
amounts: none, no < very low, lowest < low < below average < medium, moderate, mid, middle, average,
    normal, intermediate < above average < high < very high, highest < extreme
sizes: xxs < xs, tiny, extra small < s, small < m, medium < l, large, big < xl, extra large,
    very large, huge < xxl
means: little, poor < moderate < quite rich < rich < very rich
grades: terrible, very bad, very poor < bad, poor < fair, average, acceptable, ok, okay,
    satisfactory, sufficient < good < very good < excellent, outstanding
severities: none, no < minimal < mild, minor, slight < moderate < severe, major, serious
    < critical, very severe
frequencies: never < rarely, seldom, hardly ever < sometimes, occasionally < often, frequently
    < very often, usually, mostly < always
agreement: strongly disagree < disagree < neutral, undecided, neither agree nor disagree < agree
    < strongly agree
satisfaction: very dissatisfied, very unsatisfied < dissatisfied, unsatisfied < neutral < satisfied
    < very satisfied
skills: unskilled < semi skilled, semiskilled < skilled < highly skilled
experience: novice, beginner, entry, trainee < junior < intermediate, mid < advanced, senior
    < expert, lead, principal
education: illiterate, uneducated, no schooling < preschool, nursery, kindergarten < 1st 4th,
    basic 4y < 5th 6th, basic 6y, primary, primary school, elementary, elementary school < 7th 8th,
    middle school, junior high, lower secondary < 9th, basic 9y < 10th < 11th < 12th < hs grad,
    high school, highschool, high school graduate, secondary, secondary school, upper secondary,
    secondary secondary special, ged, not graduate < some college, incomplete higher < college
    < assoc voc, vocational, associate, associates, professional course < assoc acdm < bachelors,
    bachelor, undergraduate, university, graduate, higher education, tertiary < masters, master,
    postgraduate, post graduate, graduate school, mba < prof school, professional < doctorate, phd,
    doctoral, academic degree
"""
EDUCATION = "education"


def _scales() -> dict[str, dict[str, int]]:
    found = {}
    for line in re.sub(r"\n +", " ", VOCABULARY).split("\n")[1:-1]:
        name, _, order = line.partition(": ")
        places = enumerate(order.split(" < "))
        found[name] = {word: at for at, each in places for word in each.split(", ")}
    return found


SCALES = _scales()


def _by_words(texts: Sequence[str]) -> Levels | None:
    for name, scale in SCALES.items():
        without = [text for text in texts if _untold(text) and _spelt(text) not in scale]
        rest = _shortened([text for text in texts if text not in without])
        order = sorted(rest, key=lambda text: scale.get(rest[text], -1))
        at = [scale.get(rest[text], -1) for text in order]
        letters = any(len(word) == 1 for word in rest.values())
        if -1 not in at and len({*at}) == len(at) >= (3 if letters else 2):
            return Levels(tuple(order), tuple(without), f"by a known scale ({name})", name)
    return None


def _shortened(texts: Sequence[str]) -> dict[str, str]:
    """How texts are spelt, without the words that all of them share: low risk, high risk."""
    spelt = {text: _spelt(text) for text in texts}
    shared = frozenset.intersection(*(frozenset(each.split()) for each in spelt.values() or [""]))
    short = {t: " ".join(w for w in each.split() if w not in shared) for t, each in spelt.items()}
    return short if all(short.values()) else spelt


def _spelt(text: str) -> str:
    line = re.sub(r"[\s/.,-]+", " ", re.sub(r"['’]", "", _plain(text))).strip()
    return re.sub(r" (degree|level)$", "", line) if line not in SCALES[EDUCATION] else line
