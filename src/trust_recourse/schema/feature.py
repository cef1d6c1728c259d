"""What one column means, and how a person may change it."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
from functools import cached_property
from typing import Any

from trust_recourse.io.scalars import INF, Value, plain
from trust_recourse.io.wording import (
    punctuated,
    rounded,
    some,
    unit_of,
    with_unit,
    words_of,
    written,
)
from trust_recourse.schema.actions import FeatureActions, Moves
from trust_recourse.schema.checks import Direction, Kind, Monotone, Words, settle
from trust_recourse.schema.encoding import Codes
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.formula import Formula

COMPARISONS = ("<", ">", "≤", "≥", "=", "≠")  # a word that begins so is quoted: x > “< 500 €”
YEARS = 1000, 2999  # whole numbers that may be years, which have no mark of thousands
CODES = frozenset({"code", "id", "plz", "postcode", "sic", "zip"})  # in the name of a column


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
        settle(self)

    def __str__(self) -> str:
        bounded = self.numeric and self.bounds != (-INF, INF)
        step = self.step if self.numeric and (self.kind, self.step) != ("integer", 1.0) else None
        told = {
            self.kind: True,
            some(self.values): self.listed,
            self.span(*self.bounds) if bounded else "": bounded,
            f"in steps of {self.amount(step or 0.0)}": step,
            f"follows from others ({self.derived})": self.derived,
            "protected": self.protected,
            "may not change": not self.mutable,
            f"may only {self.direction}": self.direction,
            f"by at least {self.amount(self.min_change or 0.0)}": self.min_change,
            f"by at most {self.amount(self.max_change or 0.0)}": self.max_change,
            f"not {', not '.join(self.forbidden)}": self.forbidden,
        }
        return f"{self.name}: {', '.join(text for text, holds in told.items() if holds)}"

    @property
    def title(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name

    @property
    def heading(self) -> str:
        """The title of a change of it, which says whether it follows from others."""
        return f"{self.title} (follows)" if self.derived else self.title

    @cached_property
    def codes(self) -> Codes:
        """How its values are encoded."""
        return Codes(self)

    @cached_property
    def moves(self) -> Moves:
        """The rules on its moves, for any person."""
        return Moves(self)

    @cached_property
    def formula(self) -> Formula | None:
        """How it follows from other columns, if it does."""
        try:
            return Formula.read(self.derived) if self.derived else None
        except SchemaError as error:
            raise SchemaError(f"feature {self.name!r}, field {error}") from None

    @property
    def computable(self) -> bool:
        """Whether it follows from other columns alone, and from no value of its own."""
        return self.formula is not None and self.formula.shape != "moves"

    @property
    def how_computed(self) -> str:
        """How it is computed where its column is absent, as the end of an error; "" if chosen."""
        if not self.derived:
            return ""
        start = f"; {self.name!r} is derived, {self.derived}: "
        if not self.computable:
            return f"{start}it starts from a value of its own, which must be given"
        return f"{start}compute it, in Python by schema.with_derived(table)"

    @property
    def movable(self) -> bool:
        """Whether a change of it may ever be suggested."""
        return self.mutable and not self.protected

    @property
    def numeric(self) -> bool:
        """Whether its codes are its values: a number or an integer."""
        return self.kind in ("number", "integer")

    @property
    def listed(self) -> bool:
        """Whether it has a list of values: a category or an ordinal."""
        return self.kind in ("category", "ordinal")

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Where moves may end, in encoded units; infinite where nothing limits them."""
        least, most = (-INF, INF) if self.numeric else (0.0, self.codes.size - 1.0)
        at = float if self.numeric else self.values.index
        low = least if self.lower is None else float(at(self.lower))
        return low, most if self.upper is None else float(at(self.upper))

    def limited(self, lower: Any = None, upper: Any = None) -> Feature:
        """The feature with moves from `lower` to `upper` at most, within its own bounds.

        >>> Feature("age", lower=18, upper=90).limited(0, 65).bounds
        (18.0, 65.0)
        """
        ends = replace(self, lower=lower, upper=upper).bounds
        inner = {}
        if lower is not None and ends[0] > self.bounds[0]:
            inner["lower"] = lower
        if upper is not None and ends[1] < self.bounds[1]:
            inner["upper"] = upper
        return replace(self, **inner)

    def actions(self, own: float) -> FeatureActions:
        """Say where it may go from a person's own value, encoded."""
        return self.moves.actions(own)

    def code_of(self, value: Any) -> float:
        """Read one value into its code."""
        return self.codes.code_of(value)

    def value_of(self, code: float) -> Any:
        """Write one code that is not missing in people's own values."""
        return self.codes.value_of(code)

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
        return labelled[0] if labelled else self.codes.read(text)

    @cached_property
    def words(self) -> dict[Any, str]:
        """The words of its labels, by value.

        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).describe(2)
        'owns'
        """
        return dict(self.labels)

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

    def describe_code(self, code: float, *, edge: bool = False) -> str:
        """Write an encoded value for people; an edge between values keeps all its digits.

        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).describe_code(2.0)
        '2 (owns)'
        """
        if self.numeric and code in self.words and code not in self.missing:
            return f"{written(code, self.step)} ({self.words[code]})"
        if math.isnan(code) or code in self.codes.never:
            return self.describe(code)
        if self.numeric:
            return self._with_unit(code, (written if edge else rounded)(code, self.step))
        text = self.describe(self.value_of(code))
        return f"“{text}”" if text.startswith(COMPARISONS) else text

    def _with_unit(self, number: float, text: str) -> str:
        return with_unit(marked(self, number, text), unit_of(number, self.unit))

    def span(self, low: Any, high: Any, actions: FeatureActions | None = None) -> str:
        """Write a range of values for people; infinite is no end, and words are all said.

        >>> Feature("pay", unit="€").span(3500, float("inf"))
        'at least €3,500'
        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).span(1, 2)
        'rents or owns'
        """
        if named := among(self, low, high, actions):
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
        first, last = self.describe(low, ROUND_CEILING), self.describe(high, ROUND_FLOOR)
        unit = unit_of(low, self.unit) if self.numeric else self.unit
        unit = unit if unit == "%" else f" {unit}"
        return f"{first.removesuffix(unit.rstrip())} to {last}"

    def amount(self, change: float, to: str = ROUND_HALF_EVEN) -> str:
        """Write the size of a change for people: `2 years`, `1 level`."""
        level = "level" if change == 1 else "levels"
        unit = level if self.kind == "ordinal" else unit_of(change, self.unit)
        return with_unit(punctuated(rounded(change, to=to)), unit)


# ---------------------------------------------------------------- as people read them


def marked(
    feature: Feature, number: float, text: str, point: str = ".", thousands: str = ","
) -> str:
    """Add decimal and thousands marks to a written number; a year or code gets no thousands.

    >>> marked(Feature("year", lower=1900, upper=2030), 1998, "1998")
    '1998'
    """
    ends = (number, *(end for end in (feature.lower, feature.upper) if end is not None))
    year = all(YEARS[0] <= float(end) <= YEARS[1] for end in ends)
    name = not CODES.isdisjoint(words_of(feature.title))
    counts = feature.unit or not float(number).is_integer() or not (year or name)
    return punctuated(text, point, thousands) if counts else text


def among(
    feature: Feature, low: Any, high: Any, actions: FeatureActions | None = None
) -> tuple[Value, ...]:
    """The values of a range that are destinations, if each has a word of its own; else none.

    Beyond the bounds, or the labels if there are none, nothing has a meaning.

    >>> among(Feature("home", "integer", labels={1: "rents", 2: "owns"}), 2, math.inf)
    (2,)
    """
    if feature.kind == "ordinal":
        codes = [float(code) for code in range(feature.codes.size)]
    else:
        words = feature.words if feature.numeric else ()
        codes = sorted(float(code) for code in words if code not in feature.missing)
    first, last = (
        float(e if isinstance(e, float) and math.isinf(e) else feature.code_of(e))
        for e in (low, high)
    )
    if not codes or (feature.numeric and not _all_worded(feature, codes, first, last)):
        return ()
    return tuple(
        feature.value_of(code)
        for code in codes
        if first <= code <= last and (actions is None or actions.allows(code))
    )


def _all_worded(feature: Feature, codes: list[float], low: float, high: float) -> bool:
    """Whether every number of a range has a word."""
    step = feature.step or (1.0 if feature.kind == "integer" else 0.0)
    low, high = max(low, feature.bounds[0]), min(high, feature.bounds[1])
    low, high = (codes[0] if low == -INF else low), (codes[-1] if high == INF else high)
    within = sum(low <= code <= high for code in codes)
    return step > 0.0 and math.floor(high / step) - math.ceil(low / step) + 1 == within > 0
