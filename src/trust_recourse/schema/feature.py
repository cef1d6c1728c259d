"""What one column means, and how a person may change it."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NoReturn, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from trust_recourse.io.scalars import (
    BLANKS,
    INF,
    NUMBER,
    YES,
    Floats,
    Value,
    is_number,
    plain,
    python,
    scalars,
)
from trust_recourse.io.wording import near, punctuated, rounded, some, unit_of, with_unit, written
from trust_recourse.schema.actions import FeatureActions
from trust_recourse.schema.derived import Formula
from trust_recourse.schema.errors import BLANK, SchemaError
from trust_recourse.schema.guess.levels import words_of
from trust_recourse.schema.steps import plus, ratio

Kind = Literal["number", "integer", "ordinal", "category", "boolean"]
Direction = Literal["increase", "decrease"]
Monotone = Literal["increasing", "decreasing"]
Labels: TypeAlias = "pd.Index[Any] | range"
Words: TypeAlias = tuple[tuple[Value, str], ...] | Mapping[Any, str]

_MEANINGLESS: dict[str, tuple[str, ...]] = {
    "number": ("values",),
    "integer": ("values",),
    "ordinal": (),
    "category": ("lower", "upper", "step", "direction", "max_change", "min_change", "monotone"),
    "boolean": ("values", "lower", "upper", "step", "max_change", "min_change"),
}
_NUMBERS_HELD = ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty")
COMPARISONS = ("<", ">", "≤", "≥", "=", "≠")  # a word that begins so is quoted: x > “< 500 €”
YEARS = 1000, 2999  # whole numbers that may be years, which have no mark of thousands
CODES = frozenset({"code", "id", "plz", "postcode", "sic", "zip"})  # in the name of a column
ANY = "*"  # stands for any value of a forbidden move
_SCALARS = frozenset((str, int, float, bool, np.int64, np.float64, np.bool_))


def _folded(text: str) -> str:
    """A text as it is compared with others that people may take for it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@dataclass(frozen=True)
class Feature:
    """One column: what its values mean and how a person may change it.

    Bounds limit moves, never factuals: a person outside them may stay, or move inside. A missing
    value may be a person's own, never a destination; with a direction or a max_change it must
    stay, as there is no number to count from.

    >>> nodes = Feature("nodes", "integer", lower=0, upper=52, direction="decrease", unit="nodes")
    >>> nodes.actions(3.0).values()
    array([0., 1., 2., 3.])
    >>> nodes.describe(3)
    '3 nodes'
    >>> Feature("job", "ordinal", values=("low", "medium", "high"), lower="medium").bounds
    (1.0, 2.0)

    The fields::

        name        the column
        kind        number (the default), integer, ordinal, category or boolean
        values      a category's values, or an ordinal's levels from low to high
        lower       where moves may end: a number, or a level of an ordinal
        upper       the same from above
        step        moves end on its multiples, counted from 0; none is continuous, integers have 1
        scale       a change is divided by it in the cost; separate from the bounds
        unit        for people, after the value
        label       for people, in place of the name
        labels      for people, in place of values: words for codes, as {0: rents, 1: owns}
        mutable     false: it never moves
        direction   increase or decrease: the only way it may move
        max_change  the furthest it may move, in its own units (levels, for an ordinal)
        min_change  the least move worth asking for, in its own units; staying is no move
        derived     how it follows from other columns, computed and not chosen: `loan / price`, sums
                    and differences with weights, min(a, b), max(a, b); or `moves by 0.5 * loan`,
                    from its own value on. It is rounded to its step, costs nothing, and its bounds
                    hold for what is computed
        forbidden   moves that are ruled out, each as `Master -> Bachelor`, of a category or an
                    ordinal; * stands for any value
        weight      a change is multiplied by it in the cost
        protected   true: known to the report and the audit, so it never moves; in a letter it is a
                    reason only after a review
        missing     codes that mean missing, such as -9; blanks (.nan in YAML) are kept as None
        monotone    increasing or decreasing: how confidence in the model's second class may go with
                    it, in machines learnt by this schema
    """

    name: str
    kind: Kind = "number"
    values: tuple[Value, ...] = ()
    lower: Value | None = None
    upper: Value | None = None
    step: float | None = None
    scale: float = 1.0
    unit: str = ""
    label: str = ""
    mutable: bool = True
    direction: Direction | None = None
    max_change: float | None = None
    weight: float = 1.0
    protected: bool = False
    missing: tuple[Value | None, ...] = ()
    monotone: Monotone | None = None
    min_change: float | None = None
    forbidden: tuple[str, ...] = ()
    derived: str = ""
    labels: Words = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SchemaError(f"feature name: given {self.name!r}, expected text, not empty")
        self._expect_one_of("kind", get_args(Kind))
        for field in _MEANINGLESS[self.kind]:
            given = getattr(self, field)
            if given is not None and not (isinstance(given, tuple) and not given):
                self._fault(field, f"nothing: it has no meaning for kind {self.kind}")
        if self.direction is not None:
            self._expect_one_of("direction", get_args(Direction))
        if self.monotone is not None:
            self._expect_one_of("monotone", get_args(Monotone))
        texts, truths = ("unit", "label", "derived"), ("mutable", "protected")
        for field, kind in {**dict.fromkeys(texts, str), **dict.fromkeys(truths, bool)}.items():
            self._set(field, plain(getattr(self, field)))
            if not isinstance(getattr(self, field), kind):
                self._fault(field, "text" if kind is str else "true or false")
        self._settle_values()
        self._settle_missing()
        self._settle_labels()
        self._settle_amounts()
        self._settle_bounds()
        self._settle_forbidden()
        if self.derived and (not self.numeric or self.min_change is not None):
            self._fault("derived", "nothing, unless it is a number or an integer of any change")
        _ = self.formula  # which reads it

    def _fault(self, field: str, expected: str) -> NoReturn:
        given = getattr(self, field)
        where = f"feature {self.name!r}, field {field!r}"
        raise SchemaError(f"{where}: given {given!r}, expected {expected}")

    def _expect_one_of(self, field: str, known: tuple[str, ...]) -> None:
        given = getattr(self, field)
        if not isinstance(given, str) or given not in known:
            hint = near(given, known) if isinstance(given, str) else ""
            self._fault(field, f"one of {', '.join(known)}{hint}")

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _scalars(self, field: str) -> tuple[Any, ...]:
        items = scalars(getattr(self, field))
        odd = [i for i in items if not (i is None or isinstance(i, (str, bool)) or is_number(i))]
        if odd:
            self._fault(field, "a list of texts, finite numbers or booleans")
        if len(set(items)) < len(items):
            self._fault(field, "each of them once")
        return items

    def _settle_values(self) -> None:
        values = self._scalars("values")
        if self._listed:
            types = {float if type(value) is int else type(value) for value in values}
            if len(types) != 1 or None in values:
                self._fault("values", "at least one, all texts, all numbers or all booleans")
            if float in map(type, values):
                values = tuple(float(value) + 0.0 for value in values)  # no negative zero
        self._set("values", tuple(sorted(values)) if self.kind == "category" else values)

    def _settle_missing(self) -> None:
        codes = self._scalars("missing")
        if not self._listed:
            read = float if self.kind == "number" else int
            if not all(code is None or (is_number(code) and read(code) == code) for code in codes):
                self._fault("missing", f"a list of {'whole ' * (read is int)}numbers or NaN")
            codes = tuple(None if code is None else read(code) + 0 for code in codes)
        if set(codes) & set((False, True) if self.kind == "boolean" else self.values):
            self._fault("missing", "codes that are not values too")
        self._set("missing", codes)

    def _settle_labels(self) -> None:
        given = self.labels
        pairs = [*given.items()] if isinstance(given, Mapping) else given
        try:
            found = [(self._value_in(str(plain(value))), plain(word)) for value, word in pairs]
        except (TypeError, ValueError) as error:
            self._fault("labels", f"a word for each of some values ({error})")
        if not all(value is not None and isinstance(word, str) for value, word in found):
            self._fault("labels", "a word for each of some values")
        words = {value: unicodedata.normalize("NFC", word) for value, word in found}
        if len(words) < len(found):
            self._fault("labels", "each value once: 1 and '1' are the same")
        for value, word in words.items():
            self._settle_label(value, word)
        if len(set(map(_folded, words.values()))) < len(words):
            self._fault("labels", "words that differ in more than capital letters")
        known = [*(self.values or sorted({*words} - {*self.missing})), *self.missing]
        self._set("labels", tuple((value, words[value]) for value in known if value in words))

    def _settle_label(self, value: Value, word: str) -> None:
        """Refuse a word that cannot be typed, or that is how something else is written."""
        folded = _folded(word)
        if not word.strip() or word != word.strip() or not word.isprintable():
            self._fault(
                "labels",
                f"words without blanks at their ends, line breaks or invisible signs: not {word!r}",
            )
        texts = isinstance(self.values[0], str) if self.values else False
        if re.fullmatch(r"missing( \(.*\))?", folded) or (folded in BLANKS and not texts):
            self._fault("labels", f"words that do not mean a missing value: not {word!r}")
        bare = folded.removesuffix(_folded(self.unit)).rstrip()
        ways = {word, folded, bare}
        if self.numeric:  # as `describe_code` writes it
            ways |= {re.sub(r" \(.*\)$", "", way) for way in ways}
        if any(self._another(value, way) for way in ways):
            self._fault("labels", f"words of which none stands for two values: not {word!r}")

    def _another(self, value: Value, word: str) -> bool:
        """Whether a word is how another value is written."""
        if any(_folded(text) == word and known != value for text, known in self._by_text.items()):
            return True
        try:
            return self._value_in(word) not in (value, None)
        except SchemaError:
            return False

    def _settle_amounts(self) -> None:
        levels = ("step", "max_change", "min_change")
        whole = {"ordinal": levels, "integer": ("step",)}.get(self.kind, ())
        for field in ("scale", "weight", *levels):
            given = getattr(self, field)
            if given is None and field in levels:
                continue
            given = plain(given)  # a NaN is no number, so it becomes None and is refused
            if not is_number(given) or given <= 0:
                self._fault(field, "a finite number above 0")
            if field in whole and int(given) != given:
                self._fault(field, f"a whole number, for kind {self.kind}")
            self._set(field, float(given))
        if self.kind == "integer" and self.step is None:
            self._set("step", 1.0)
        if self.min_change is not None and self.min_change > (self.max_change or INF):
            self._fault("min_change", f"at most max_change, which is {self.max_change!r}")

    def _settle_forbidden(self) -> None:
        self._set("forbidden", tuple(map(str, scalars(self.forbidden))))
        if self.forbidden and not self._listed:
            self._fault("forbidden", f"nothing: it has no meaning for kind {self.kind}")
        _ = self._forbidden  # which reads them

    def _settle_bounds(self) -> None:
        for field in ("lower", "upper"):
            if getattr(self, field) is None:
                continue
            given = plain(getattr(self, field))
            if self.kind == "ordinal":
                if not isinstance(given, Hashable) or given not in self.values:
                    self._fault(field, f"one of its levels: {some(self.values)}")
                self._set(field, self.values[self.values.index(given)])
            else:
                if not is_number(given):
                    self._fault(field, "a finite number")
                self._set(field, given + 0.0)
        if self.bounds[0] > self.bounds[1]:
            self._fault("lower", f"at most upper, which is {self.upper!r}")

    @property
    def title(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name

    @property
    def heading(self) -> str:
        """The title of a change of it, which says whether it follows from others."""
        return f"{self.title} (follows)" if self.derived else self.title

    @cached_property
    def formula(self) -> Formula | None:
        """How it follows from other columns, if it does."""
        try:
            return Formula.read(self.derived) if self.derived else None
        except SchemaError as error:
            raise SchemaError(f"feature {self.name!r}, field {error}") from None

    @property
    def movable(self) -> bool:
        """Whether a change of it may ever be suggested."""
        return self.mutable and not self.protected

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Where moves may end, in encoded units; infinite where nothing limits them."""
        least, most = (-INF, INF) if self.numeric else (0.0, self._size - 1.0)
        at = float if self.numeric else self.values.index
        low = least if self.lower is None else float(at(self.lower))
        return low, most if self.upper is None else float(at(self.upper))

    @property
    def measure(self) -> tuple[Value, ...]:
        """What its codes count: two features with the same measure can be compared."""
        return ("number",) if self.numeric else (self.kind, *self.values)

    @property
    def numeric(self) -> bool:
        """Whether its codes are its values: a number or an integer."""
        return self.kind in ("number", "integer")

    def moves_by(self, continuous: bool) -> float:
        """By what multiples noise moves it: see `Schema.steps`."""
        if self.numeric:
            return 0.0 if continuous or self.step is None else self.step
        return self.step or 1.0 if self.kind == "ordinal" and not continuous else math.nan

    def reach(self, code: float) -> tuple[float, float]:
        """By how many steps noise may move it down and up: an ordinal has its levels alone."""
        if self.kind != "ordinal":
            return -INF, INF
        step = self.step or 1.0
        return -float(code // step), float((self._size - 1.0 - code) // step)

    def room(self, radius: float, continuous: bool) -> float:
        """How far a radius, in units of the scale, lets it move: a whole number of its steps."""
        step = self.moves_by(continuous)
        if math.isnan(step):
            return 0.0
        if step == 0.0 or not radius * self.scale < INF:
            return radius * self.scale
        far = Fraction(*ratio(radius)) * Fraction(*ratio(self.scale))
        return float(far // Fraction(*ratio(step)) * Fraction(*ratio(step)))

    @property
    def _listed(self) -> bool:
        return self.kind in ("category", "ordinal")

    @property
    def _size(self) -> int:
        return 2 if self.kind == "boolean" else len(self.values)

    def describe(self, value: object, to: str = ROUND_HALF_EVEN) -> str:
        """Write a value for people, with its unit.

        A multiple of the step has all its digits; another number is rounded as `to` says.

        >>> Feature("income", step=1000, unit="NT$").describe(20000.0)
        'NT$20,000'
        """
        value = plain(value)
        if value is None:
            return "missing"
        word = self.words.get(value)
        if value in self.missing:
            code = written(value) if isinstance(value, float) else value
            return f"missing ({word or code})"
        if word is not None:
            return word
        if self.kind == "boolean":
            return "yes" if value else "no"
        if self.numeric:
            if not isinstance(value, (int, float)):
                raise SchemaError(f"feature {self.name!r}: given {value!r}, expected a number")
            return self._with_unit(float(value), rounded(value, self.step, to))
        return f"{value} {self.unit}" if self.unit else str(value)

    def _with_unit(self, number: float, text: str) -> str:
        return with_unit(self.marked(number, text), unit_of(number, self.unit))

    def marked(self, number: float, text: str, point: str = ".", thousands: str = ",") -> str:
        """Add decimal and thousands marks to a written number; a year or code gets no thousands.

        >>> Feature("year", lower=1900, upper=2030).marked(1998, "1998")
        '1998'
        """
        ends = (number, *(end for end in (self.lower, self.upper) if end is not None))
        year = all(YEARS[0] <= float(end) <= YEARS[1] for end in ends)
        counts = self.unit or not float(number).is_integer() or not (year or self._code)
        return punctuated(text, point, thousands) if counts else text

    @cached_property
    def _code(self) -> bool:
        return not CODES.isdisjoint(words_of(self.title))

    @cached_property
    def words(self) -> dict[Any, str]:
        """The words of its labels, by value.

        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).describe(2)
        'owns'
        """
        return dict(self.labels)

    def span(self, low: Any, high: Any, actions: FeatureActions | None = None) -> str:
        """Write a range of values for people; infinite is no end, and words are all said.

        >>> Feature("pay", unit="€").span(3500, math.inf)
        'at least €3,500'
        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).span(1, 2)
        'rents or owns'
        """
        if named := self.among(low, high, actions):
            return " or ".join(map(self.describe, named))
        if self.words and low != high:
            return replace(self, labels=()).span(low, high)
        open_low, open_high = (isinstance(end, float) and math.isinf(end) for end in (low, high))
        if open_low and open_high:
            return "any"
        if open_high:
            return f"at least {self.describe(low, ROUND_CEILING)}"
        if open_low:
            return f"at most {self.describe(high, ROUND_FLOOR)}"
        if low == high:
            return self.describe(low)
        unit = unit_of(low, self.unit) if self.numeric else self.unit
        unit = unit if unit == "%" else f" {unit}"
        first, last = self.describe(low, ROUND_CEILING), self.describe(high, ROUND_FLOOR)
        return f"{first.removesuffix(unit.rstrip())} to {last}"

    def among(
        self, low: Any, high: Any, actions: FeatureActions | None = None
    ) -> tuple[Value, ...]:
        """The values of a range that may be gone to, where each has a word of its own; else none.

        Beyond the bounds, or the labels if there are none, nothing has a meaning.

        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).among(2, math.inf)
        (2,)
        """
        codes = self._worded
        ends = (
            e if isinstance(e, float) and math.isinf(e) else self.code_of(e) for e in (low, high)
        )
        first, last = map(float, ends)
        if not codes or (self.numeric and not self._all_worded(first, last)):
            return ()
        return tuple(
            self.value_of(code)
            for code in codes
            if first <= code <= last and (actions is None or actions.allows(code))
        )

    @property
    def _worded(self) -> list[float]:
        """The codes that are shown as words: levels, or numbers with labels."""
        if self.kind == "ordinal":
            return [float(code) for code in range(self._size)]
        words = self.words if self.numeric else ()
        return sorted(float(code) for code in words if code not in self.missing)

    def _all_worded(self, low: float, high: float) -> bool:
        """Whether every number of a range has a word."""
        step = self.step or (1.0 if self.kind == "integer" else 0.0)
        codes = self._worded
        low, high = max(low, self.bounds[0]), min(high, self.bounds[1])
        low, high = (codes[0] if low == -INF else low), (codes[-1] if high == INF else high)
        within = sum(low <= code <= high for code in codes)
        return step > 0.0 and math.floor(high / step) - math.ceil(low / step) + 1 == within > 0

    def describe_code(self, code: float, *, edge: bool = False) -> str:
        """Write an encoded value for people; an edge between values keeps all its digits.

        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).describe_code(2.0)
        '2 (owns)'
        """
        if self.numeric and code in self.words and code not in self.missing:
            return f"{written(code, self.step)} ({self.words[code]})"
        if math.isnan(code) or code in self._never:
            return self.describe(code)
        if self.numeric:
            write = written if edge else rounded
            return self._with_unit(code, write(code, self.step))
        told = self.describe(self.value_of(code))
        return f"“{told}”" if told.startswith(COMPARISONS) else told

    def amount(self, change: float, to: str = ROUND_HALF_EVEN) -> str:
        """Write the size of a change for people: `2 years`, `1 level`."""
        level = "level" if change == 1 else "levels"
        unit = level if self.kind == "ordinal" else unit_of(change, self.unit)
        return with_unit(punctuated(rounded(change, to=to)), unit)

    def actions(self, own: float) -> FeatureActions:
        """Say where it may go from a person's own value, encoded."""
        if self.numeric:
            return self._along(own)
        code = math.nan if math.isnan(own) else own  # one NaN for all
        if code not in self._from:
            self._from[code] = self._among(code)
        return self._from[code]

    @cached_property
    def _from(self) -> dict[float, FeatureActions]:
        """Where a listed value may go, by its code: few, and most people share them."""
        return {}

    def _along(self, own: float) -> FeatureActions:
        """Of a number."""
        if self._anywhere is not None:
            return self._anywhere.of(own)
        lower, upper = self._within(own)
        return FeatureActions(own, lower, upper, self.step, None, self._never, self._hole(own))

    @cached_property
    def _anywhere(self) -> FeatureActions | None:
        """Where a number may go whose rules do not depend on a person's own; None if they do."""
        if not self._same_for_all or self.min_change is not None:
            return None
        return FeatureActions(math.nan, *self.bounds, self.step, None, self._never)

    def _among(self, own: float) -> FeatureActions:
        """Of a listed value."""
        lower, upper = self._within(own)
        stride = self.step or 1.0
        every = map(float, range(self._size))
        choices = tuple(
            c
            for c in every
            if c == own
            or (lower <= c <= upper and c % stride == 0 and not any(self._ruled_out(own, c)))
        )
        return FeatureActions(own, lower, upper, self.step, choices)

    @property
    def _same_for_all(self) -> bool:
        """Whether the ends of its moves are those of its bounds, whoever asks."""
        return self.movable and self.direction is None and self.max_change is None

    def _within(self, own: float) -> tuple[float, float]:
        """The ends of its moves from a person's own value."""
        if self._same_for_all:
            return self.bounds
        lows, highs, _ = zip(*self._limits(own), strict=True)
        return max(lows), min(highs)

    def _hole(self, own: float) -> tuple[float, float] | None:
        """Between what a move would be too small to ask for."""
        if self.min_change is None or math.isnan(own):
            return None
        return plus(own, -self.min_change), plus(own, self.min_change)

    def _ruled_out(self, own: float, value: float) -> Iterator[str]:
        """The rules, as sentences, that forbid this move though its end lies within the bounds."""
        hole = self._hole(own)
        if hole is not None and hole[0] < value < hole[1] and value != own:
            yield "{title} must change by at least {least}, or stay"
        if (own, value) in self._forbidden:
            yield "{title} may not go from {own} to {value}"

    @cached_property
    def _forbidden(self) -> frozenset[tuple[float, float]]:
        """The forbidden moves, from code to code."""
        found: set[tuple[float, float]] = set()
        for move in self.forbidden:
            before, arrow, after = move.partition("->")
            if not arrow:
                self._fault("forbidden", "moves such as 'Master -> Bachelor'")
            found.update(itertools.product(self._meant(before), self._meant(after)))
        return frozenset(found)

    def _meant(self, text: str) -> list[float]:
        """The codes that one end of a forbidden move stands for."""
        if text.strip() == ANY:
            return [*map(float, range(self._size))]
        return [self._code_by_value[self.read(text)]]

    def why_not(self, own: float, value: float) -> tuple[str, ...]:
        """Name every rule that moving from own to value breaks, as a sentence; none if allowed."""
        actions = self.actions(own)
        if actions.allows(value):
            return ()
        if math.isnan(value) or value in actions.never:
            return (f"{self.title} may not become missing",)
        if math.isinf(value) or not (self.numeric or value in range(self._size)):
            return (f"{self.title} has no value {written(value)}",)
        words = {
            "title": self.title,
            "lower": self.describe(self.lower, ROUND_CEILING),
            "upper": self.describe(self.upper, ROUND_FLOOR),
            "change": self.amount(self.max_change or 0.0, ROUND_FLOOR),
            "least": self.amount(self.min_change or 0.0, ROUND_CEILING),
            "step": self.amount(self.step or 1.0),
            "own": self.describe_code(own),
            "value": self.describe_code(value),
        }
        rules = [rule for low, high, rule in self._limits(own) if not low <= value <= high]
        rules += self._ruled_out(own, value)
        rules = rules or ["{title} must be a multiple of {step}"]
        return tuple(rule.format(**words) for rule in rules)

    def must_follow(self, computed: float) -> str:
        """The sentence that refuses another value than the computed one of a derived column."""
        value = "nothing" if math.isnan(computed) else self.describe(computed)
        return f"{self.title} follows from others ({self.derived}): it must be {value}"

    def _limits(self, own: float) -> Iterator[tuple[float, float, str]]:
        """Yield the rules on a destination: the interval that each leaves, and its sentence."""
        stay = (INF, -INF) if math.isnan(own) else (own, own)
        if not self.movable:
            yield *stay, "{title} may not change"
        elif math.isnan(own) and (self.direction or self.max_change):
            yield *stay, "{title} is missing, so a limited change cannot be counted from it"
        else:
            low, high = self.bounds
            yield low, INF, "{title} must not fall below {lower}"
            yield -INF, high, "{title} must not rise above {upper}"
            if self.direction == "increase":
                yield own, INF, "{title} may only increase"
            if self.direction == "decrease":
                yield -INF, own, "{title} may only decrease"
            if self.max_change is not None:
                least, most = plus(own, -self.max_change), plus(own, self.max_change)
                yield least, most, "{title} may change by at most {change}"

    def encode(self, column: NDArray[Any], rows: Labels | None = None) -> Floats:
        """Read a column in people's own values into codes; every missing one is NaN."""
        blank = pd.isna(column)
        if None not in self.missing:
            hint = f"a value (if blanks mean missing, the schema must say so: {BLANK})"
            self._refuse(blank, column, rows, hint)
        if self._listed:
            known = f"one of {some(self.values)}"
            unhashable = np.array([not isinstance(value, Hashable) for value in column], bool)
            self._refuse(unhashable, column, rows, known)
            found = self._known.get_indexer(pd.Index(column, dtype=object))
            unknown = (found < 0) & ~blank
            self._refuse(unknown, column, rows, known)
            return np.where(blank | (found >= self._size), np.nan, found)
        if infer_dtype(column, skipna=True) not in _NUMBERS_HELD:
            odd = [not isinstance(value, (int, float, np.number)) for value in column]
            self._refuse(np.array(odd) & ~blank, column, rows, "a number")
        try:
            codes = np.where(blank, np.nan, column).astype(np.float64)
        except OverflowError:  # of a whole number beyond all floats
            huge = np.array([value is not None and not is_number(plain(value)) for value in column])
            self._refuse(huge & ~blank, column, rows, self._expected)
            raise
        return self.check(codes, rows)

    @property
    def _expected(self) -> str:
        """What a code has to be, in words."""
        expected = {"number": "a finite number", "integer": "a whole number below 2**53"}
        return expected.get(self.kind, f"a whole number from 0 to {self._size - 1}")

    def decode(self, codes: Floats) -> NDArray[Any]:
        """Write codes in people's own values; NaN becomes the first missing code."""
        codes = self.check(codes)
        code = self.missing[0] if self.missing else None
        if self.numeric:
            filled = np.where(np.isnan(codes), np.nan if code is None else float(code), codes)
            whole = self.kind == "integer" and not np.isnan(filled).any()
            return filled.astype(np.int64) if whole else filled
        known = np.array([*(self.values or (False, True)), code], dtype=object)
        return known[np.where(np.isnan(codes), self._size, codes).astype(np.int64)]

    def check(self, codes: Floats, rows: Labels | None = None) -> Floats:
        """Refuse codes without a meaning; a number that means missing becomes NaN."""
        codes = np.array(codes, dtype=np.float64)
        for code in self._never:
            codes[codes == code] = np.nan
        least, most = self._range
        good = np.isfinite(codes) & (codes <= most) & (codes >= least)
        if self.kind != "number":
            good &= codes == np.rint(codes)
        if self.missing:
            good |= np.isnan(codes)
        self._refuse(~good, codes, rows, self._expected)
        return codes

    def code_of(self, value: Any) -> float:
        """Read one value into its code: what `encode` says of it, without the price of a column."""
        if type(value) in _SCALARS and value == value:
            if self._listed and value in self._code_by_value:
                return self._code_by_value[value]
            if not self._listed and is_number(python(value)):
                return self.check_one(float(value))
        elif None in self.missing and plain(value) is None:
            return math.nan
        column = np.empty(1, dtype=object)
        column[0] = value
        return float(self.encode(column)[0])

    def read(self, text: str) -> Any:
        """Read a value that was typed, or that stands in a text file; None for a blank.

        A label is the value that it stands for, `missing` the first of the codes that mean so. Of
        numbers, NA, N/A, NaN, null, None and ? are blanks too; of text they are what they say.

        >>> nodes = Feature("nodes", "integer", missing=(-9,))
        >>> nodes.read("12"), nodes.read("missing"), nodes.read("?")
        (12, -9, None)
        >>> Feature("employed", "boolean").read("Yes")
        True
        """
        word = unicodedata.normalize("NFC", text.strip())
        labelled = [value for value, label in self.words.items() if label == word]
        return labelled[0] if labelled else self._value_in(text)

    def _value_in(self, text: str) -> Any:
        """The value that a text is, but for labels."""
        word = text.strip()
        if word in self._by_text:
            return self._by_text[word]
        if not word or (self.numeric and word.lower() in BLANKS):
            return None
        if word == "missing" and self.missing:
            return self.missing[0]
        number = float(word) if NUMBER.fullmatch(word) else None
        if self.kind == "boolean":
            known = YES.get(word.lower(), number)
            if known in (0, 1):
                return bool(known)
            self._unread(text, "yes or no, true or false, 1 or 0")
        if self._listed:
            if number is not None and number in self._code_by_value:  # 1.0 where the value is 1
                return number
            texts = [*self._by_text]
            self._unread(text, f"one of {some(texts)}{near(word, texts)}")
        if number is None or (self.kind == "integer" and not number.is_integer()):
            whole = self.kind == "integer"
            self._unread(text, "a whole number" if whole else "a number, with a point for decimals")
        return int(number) if self.kind == "integer" else number

    def _unread(self, text: str, expected: str) -> NoReturn:
        raise SchemaError(f"feature {self.name!r}: given {text!r}, expected {expected}")

    @cached_property
    def _by_text(self) -> dict[str, Any]:
        """What is written as itself: the values of a category or ordinal, and missing codes."""
        known = (value for value in (*self.values, *self.missing) if value is not None)
        return {written(v) if isinstance(v, float) else str(v): v for v in known}

    def value_of(self, code: float) -> Any:
        """Write one code that is not missing in people's own values."""
        if self.numeric:
            return int(code) if self.kind == "integer" else float(code)
        return (self.values or (False, True))[int(code)]

    def check_one(self, code: float) -> float:
        """Refuse one code without a meaning: what `check` says of it, at a smaller price."""
        if code in self._never or (self.missing and math.isnan(code)):
            return math.nan
        least, most = self._range
        whole = self.kind == "number" or code.is_integer()
        if whole and least <= code <= most and math.isfinite(code):
            return code
        return float(self.check(np.array([code]))[0])

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The least and the greatest code that has a meaning."""
        # From 2**53 on floats skip integers, so such a number (of an account, say) would change.
        most = {"number": INF, "integer": 2.0**53 - 1}.get(self.kind, self._size - 1.0)
        return (-most if self.numeric else 0.0), most

    @cached_property
    def _never(self) -> tuple[float, ...]:
        """The codes that mean missing, so are no destination."""
        codes = () if self._listed else self.missing
        return tuple(float(code) for code in codes if code is not None)

    @cached_property
    def _known(self) -> pd.Index[Any]:
        return pd.Index([*self.values, *self.missing], dtype=object)

    @cached_property
    def _code_by_value(self) -> dict[Any, float]:
        codes = [*map(float, range(self._size)), *([math.nan] * len(self.missing))]
        return dict(zip([*self.values, *self.missing], codes, strict=True))

    def _refuse(
        self, bad: NDArray[np.bool_], given: NDArray[Any], rows: Labels | None, expected: str
    ) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            row = "" if rows is None else f", row {plain(rows[at])!r}"
            value = "a blank" if plain(given[at]) is None else repr(plain(given[at]))
            raise SchemaError(f"column {self.name!r}{row}: given {value}, expected {expected}")
