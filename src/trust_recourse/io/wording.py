"""How numbers, lists and suggestions are written for people, never rounded to the wrong side."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

MOST_DIGITS = 20  # after which all of a number is written

LONGEST = 1000  # letters of an error, which may quote what was given

LONGEST_WORD = 100  # letters of a word that is compared with known ones, which is quadratic work

NOTHING = 1e-34  # LightGBM reads numbers up to about a tenth of it as 0

MONEY = 2  # decimals that are all written; of more only those that say something

UNITS = {
    "years": "year", "months": "month", "weeks": "week", "days": "day", "hours": "hour",
    "minutes": "minute", "times": "time", "points": "point", "people": "person",
    "children": "child", "dollars": "dollar", "euros": "euro",
}  # fmt: skip

LEVEL, COARSE = 6, 4  # decimals of a level, and at most of a confidence that is near none

FEWEST = 4  # digits of a number that has no step, or lies between its steps

PLAIN = -7, 15  # powers of ten between which such a number has no exponent

# signs, such as US$, that come before a number; letters before € are no country's: T€ is thousands
CURRENCY = re.compile("[A-Z]{0,3}[$£¥]|€")

_BESIDE_SIGN = re.compile(r"(?<=\d) (?=[A-Z]{0,3}[%‰°$¢£¥₠-⃀])|(?<=[<>≤≥]) (?=\d)")
_MINUS = re.compile(r"(?<!\S)-(?=[A-Z]{0,3}[$£€¥]?\d)")

TINY = 1e-9  # a radius below it is rounding's
SMALL = 1e-6  # one below it protects from nothing that anyone measures


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, its middle cut out where it grows long: an error may quote all that was given.

    >>> shortened("given 'xxxxxxxxxxxxxxxxxxxxxxxx', expected a number", longest=32)
    "given 'xxxxxxxxx… (51 letters in all) …xpected a number"
    """
    half = longest // 2
    if len(text) <= longest:
        return text
    return f"{text[:half]}… ({len(text)} letters in all) …{text[-half:]}"


def written(value: float, step: float | None = None) -> str:
    """Write a value with its step's decimals, or all it needs, so that it reads back the same.

    >>> written(12.5, 0.01), written(0.75, 0.00001), written(0.1 + 0.2)
    ('12.50', '0.75', '0.30000000000000004')
    """
    value, decimals = float(value), _decimals(step)
    text = f"{value + 0.0:.{decimals}f}" if abs(value) < 1e16 else "nan"
    while decimals > MONEY and text.endswith("0"):
        text, decimals = text[:-1], decimals - 1
    return text if float(text) == value else repr(value)


def _decimals(step: float | None) -> int:
    exponent = int(Decimal(repr(float(step or 1.0))).normalize().as_tuple().exponent)
    return -exponent if -9 <= exponent < 0 else 0


def rounded(value: float, step: float | None = None, to: str = ROUND_HALF_EVEN) -> str:
    """Write a number for people, with its step's decimals.

    A number between steps, or without a step, is rounded to at least `FEWEST` digits.

    >>> rounded(20000.0, 1000), rounded(12.5, 0.01), rounded(0.1 + 0.2, 0.1), rounded(1998.5)
    ('20000', '12.50', '0.3', '1998.5')
    >>> rounded(0.7523809671401978), rounded(0.7523809671401978, to=ROUND_CEILING)
    ('0.7524', '0.7524')
    """
    exact = _decimal(value + 0.0)
    if exact and not (exact.is_finite() and PLAIN[0] <= exact.adjusted() <= PLAIN[1]):
        return f"{value:.{FEWEST}g}"
    decimals = _decimals(step)
    kept = max(decimals if step else MONEY, FEWEST - 1 - exact.adjusted())
    text = f"{exact.quantize(Decimal(1).scaleb(-kept), to):f}"
    fewest = min(decimals, MONEY)
    while kept > fewest and text.endswith("0"):
        text, kept = text[:-1], kept - 1
    return text.removesuffix(".")


def significant(value: float, digits: int = FEWEST, to: str = ROUND_HALF_EVEN) -> str:
    """Write a cost, or another number without a unit, with so many digits.

    >>> significant(0.448571), significant(12345.6), significant(2.0), significant(1.5e-12)
    ('0.4486', '12,346', '2', '1.5e-12')
    """
    exact = _decimal(value + 0.0)
    if not exact or not (exact.is_finite() and PLAIN[0] <= exact.adjusted() <= PLAIN[1]):
        return f"{value:.{digits}g}"
    text = f"{exact.quantize(Decimal(1).scaleb(-max(digits - 1 - exact.adjusted(), 0)), to):f}"
    return punctuated(text.rstrip("0").removesuffix(".") if "." in text else text)


def with_unit(number: str, unit: str) -> str:
    """A written number with its unit: a currency before it, any other after it.

    >>> with_unit("20,000", "NT$"), with_unit("-12", "€"), with_unit("3", "years")
    ('NT$20,000', '-€12', '3 years')
    >>> with_unit("80", "T€"), with_unit("12.5", "%")
    ('80 T€', '12.5%')
    """
    if unit == "%":
        return f"{number}%"
    if not CURRENCY.fullmatch(unit):
        return f"{number} {unit}".rstrip()
    amount = number.lstrip("-")
    return f"{number.removesuffix(amount)}{unit}{amount}"


def punctuated(number: str, point: str = ".", thousands: str = ",") -> str:
    """A written number with the marks that a language has.

    >>> punctuated("140000.5"), punctuated("-1234567.25", ",", "."), punctuated("7400")
    ('140,000.5', '-1.234.567,25', '7,400')
    >>> punctuated("1e-07"), punctuated("12.50", ",", " ")
    ('1e-07', '12,50')
    """
    found = re.fullmatch(r"([+-]?)(\d+)(?:\.(\d+))?", number)
    if found is None:
        return number.replace(".", point)
    sign, whole, rest = found.groups()
    whole = f"{int(whole):,}".replace(",", thousands)
    return f"{sign}{whole}" + (f"{point}{rest}" if rest else "")


def singular(unit: str) -> str:
    """The unit of one, as far as it is known.

    >>> singular("years"), singular("dollars a month"), singular("kg")
    ('year', 'dollar a month', 'kg')
    """
    first, _, rest = unit.partition(" ")
    return f"{UNITS.get(first, first)} {rest}".rstrip()


def unit_of(number: float, unit: str) -> str:
    """The unit of so many.

    >>> unit_of(1, "years"), unit_of(-1, "years"), unit_of(0.5, "years"), unit_of(1, "€")
    ('year', 'year', 'years', '€')
    """
    return singular(unit) if abs(number) == 1 else unit


def brief(edge: float) -> float:
    """The number of fewest digits that is as good as an edge which floats put next to it.

    Libraries split half-way between two values, in single precision, or a float before or after a
    round number: what is shown differs from the edge by less than single precision tells apart.

    >>> brief(63.500000000000007), brief(63.49999809265137), brief(1e-35), brief(12345678.25)
    (63.5, 63.5, 0.0, 12345678.25)
    """
    if abs(edge) <= NOTHING:
        return 0.0
    for room, most in ((1e-15, 12), (2.0**-24, 17)):
        for digits in range(most):
            shown = float(f"{edge:.{digits}e}")
            if abs(shown - edge) <= room * abs(edge):
                return shown
    return edge


def in_few_digits(value: Any) -> Any:
    """A value for display, as a number of few digits if it is one.

    >>> in_few_digits(0.7400000095367432), in_few_digits("rent"), in_few_digits(3)
    (0.74, 'rent', 3)
    """
    return brief(value) if isinstance(value, float) and math.isfinite(value) else value


def floored(value: float, levels: Iterable[float] = (), digits: int = 3) -> str:
    """Write a number rounded down, with more digits where it would fall below a level it reaches.

    Counted in decimals, as 100 · 0.57 falls short of 57 in floats.

    >>> floored(0.49996), floored(0.57), floored(0.8507, [0.8505]), floored(0.8507, [0.9])
    ('0.499', '0.570', '0.8507', '0.850')
    """
    whole = _decimal(value)
    reached = [each for each in map(_decimal, levels) if each <= whole]
    for kept in range(digits, MOST_DIGITS):
        told = _floor(whole, kept)
        if all(each <= told for each in reached):
            return f"{told:f}"
    return f"{whole:f}"


def ceiled(value: float, digits: int = 3) -> str:
    """Write a number rounded up, as a bound that nothing exceeds.

    >>> ceiled(0.7021), ceiled(0.57), ceiled(0.9999999)
    ('0.703', '0.570', '1.000')
    """
    return f"{_decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING):f}"


def level(value: float) -> str:
    """Write a threshold or a confidence asked for, rounded down after `LEVEL` decimals.

    It has more where a confidence below it would be written as the same.

    >>> level(0.7), level(0.7523809671401978), level(0.7500000001)
    ('0.7', '0.75238', '0.7500000001')
    """
    exact = _decimal(value)
    for kept in range(LEVEL, MOST_DIGITS):
        told = _floor(exact, kept)
        if told == exact or told > _floor(exact, COARSE):
            return f"{told.normalize():f}"
    return repr(float(value))


def beyond(value: float, levels: Iterable[float]) -> list[float]:
    """The levels that a confidence reaches, as `level` writes them.

    >>> beyond(0.8, [0.7523809671401978, 0.9])
    [0.75238]
    """
    return [float(level(each)) for each in levels if each <= value]


def _floor(exact: Decimal, decimals: int) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_FLOOR)


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def percent(share: float, digits: int = 1) -> str:
    """Write a share in percent, rounded down.

    >>> percent(0.9996), percent(1.0)
    ('99.9%', '100.0%')
    """
    return f"{Decimal(floored(share, digits=digits + 2)).scaleb(2):f}%"


def between(low: float, high: float) -> str:
    """Write the interval of a share in percent, rounded outward to one decimal.

    >>> between(0.1823, 0.1977), between(0.99951, 1.0), between(0.0, 0.0)
    ('18.2–19.8%', '99.9–100%', '0%')
    """
    ends = (_decimal(low).scaleb(2), ROUND_FLOOR), (_decimal(high).scaleb(2), ROUND_CEILING)
    told = [f"{end.quantize(Decimal('0.1'), way):f}".removesuffix(".0") for end, way in ends]
    a, b = (each if each in ("0", "100") else f"{float(each):.1f}" for each in told)
    return f"{a}%" if a == b else f"{a}–{b}%"


def distance(radius: float | None) -> str:
    """Write a radius within which a decision is kept, rounded down; None is one that is not known.

    A `Radius` that is only a lower bound has a sign before it.

    >>> distance(0.0756), distance(0.00012349), distance(1e-17), distance(math.inf), distance(None)
    ('0.075', '0.00012', '0', 'any', 'unknown')
    >>> distance(0.0000000077)
    'next to 0'
    """
    exact = getattr(radius, "exact", True)
    if radius is None or (radius < SMALL and not exact):
        return "unknown"
    if radius == math.inf:
        return "any"
    if radius < SMALL:
        return "0" if radius < TINY else "next to 0"
    least = floored(radius, digits=max(3, 1 - _decimal(radius).adjusted()))
    return least if exact else f"≥ {least}"


AT_LEAST = "≥: a fixed budget of work ended the search, so the radius is at least this."


def is_bound(radius: float | None) -> bool:
    """Whether a radius is only a lower bound that is proved."""
    return not getattr(radius, "exact", True)


def unbroken(text: str) -> str:
    """The same, in which no line ends between a number and its currency or other sign.

    >>> unbroken("debt ≥ 11300 €, rate 4 %, 5 years").count("\N{NO-BREAK SPACE}")
    3
    """
    return _MINUS.sub("-\N{WORD JOINER}", _BESIDE_SIGN.sub("\N{NO-BREAK SPACE}", text))


def signed(value: float, digits: int = 3) -> str:
    """Write a change with its sign; nothing is +0.

    >>> signed(-0.0001), signed(-0.25)
    ('+0.000', '-0.250')
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def words_of(name: str) -> list[str]:
    """The words in a name, in small letters without accents or digits.

    >>> words_of("CODE_GENDER"), words_of("NumberOfTime30DaysLate"), words_of("Âge (années)")
    (['code', 'gender'], ['number', 'of', 'time', 'days', 'late'], ['age', 'annees'])
    """
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W\d_]+", apart.lower())


def near(word: object, known: Collection[str]) -> str:
    """Suggest the known word that was probably meant, for the end of an error."""
    short = [each for each in known if len(each) <= LONGEST_WORD]
    close = difflib.get_close_matches(str(word)[:LONGEST_WORD], short, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def repeated(names: Collection[object]) -> str:
    """Name those that occur more than once, for an error; '' if there are none."""
    if len(set(names)) == len(names):
        return ""
    twice = sorted(str(name) for name, times in Counter(names).items() if times > 1)
    return f"given {some(twice)} more than once, expected each name once"


def some(values: Collection[object]) -> str:
    """List values for an error, not too many of them."""
    shown = ", ".join(repr(value) for value in list(values)[:8])
    return shown + (f", … ({len(values)} in all)" if len(values) > 8 else "")
