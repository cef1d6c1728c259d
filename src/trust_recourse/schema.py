"""What a row means and where it may go: features, relations between them, and Ω(x).

A `Schema` is the only place that knows which values a person's features may take. It reads rows
in people's own values into plain floats (`encode`), back again (`decode`), into words
(`describe`), and says what one person may reach (`reach`).

Encoded units: a number or integer is itself, a boolean 0 or 1, an ordinal the index of its level,
a category the index of its value, and every missing value NaN.
"""

from __future__ import annotations

import difflib
import inspect
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias, get_args

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from pandas.api.types import infer_dtype, is_float_dtype, is_numeric_dtype

__all__ = ["AtMost", "Feature", "Forces", "Moves", "Reach", "Relation", "Schema", "SchemaError"]

Kind = Literal["number", "integer", "ordinal", "category", "boolean"]
Direction = Literal["increase", "decrease"]
Value: TypeAlias = str | int | float | bool
Codes: TypeAlias = Value | Sequence[Value | None]
Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = "pd.Index[Any] | range"
Rows: TypeAlias = "pd.DataFrame | pd.Series[Any] | Mapping[str, Any] | NDArray[Any]"

INF = math.inf


class SchemaError(ValueError):
    """What was given to a schema is not what it can hold; the message says what to do."""


# ------------------------------------------------------------------ exact steps


@lru_cache(maxsize=4096)
def _ratio(value: float) -> tuple[int, int]:
    """Give the ratio a person means by a float: 0.1 is 1/10, 0.25 a quarter, 1/3 a third.

    Python divides integers with correct rounding, so `k * p / q` is the float nearest to the k-th
    multiple: the one that printing and reading back gives again.
    """
    meant = Fraction(repr(value))
    if len(Decimal(repr(value)).as_tuple().digits) > 15:
        simple = meant.limit_denominator(1000)
        meant = simple if float(simple) == value else Fraction(value)
    return meant.numerator, meant.denominator


def _plus(a: float, b: float) -> float:
    """Add two floats as a person would: 0.7 and 0.1 make 0.8."""
    try:
        return float(Fraction(*_ratio(a)) + Fraction(*_ratio(b)))
    except OverflowError:
        return a + b


def _multiple_below(step: float | None, limit: float) -> float:
    """Find the greatest multiple of step, as a float, up to limit (without a step, limit)."""
    if step is None or math.isinf(limit):
        return limit
    p, q = _ratio(step)
    n, d = limit.as_integer_ratio()
    k = n * q // (d * p)
    # The next multiple lies above the limit as a real number, but its float may fall onto it.
    following = (k + 1) * p / q
    return following if following <= limit else k * p / q


def _multiple_above(step: float | None, limit: float) -> float:
    return 0.0 - _multiple_below(step, -limit)  # multiples mirror at 0


def _print(value: float, step: float | None = None) -> str:
    """Write a value with its step's decimals, or all it needs, so that it reads back the same."""
    exponent = Decimal(repr(step or 1.0)).normalize().as_tuple().exponent
    decimals = -int(exponent) if -9 <= int(exponent) < 0 else 0
    text = f"{value + 0.0:.{decimals}f}" if abs(value) < 1e16 else "nan"
    return text if float(text) == value else repr(value)


# ------------------------------------------------------------------ where one feature may go


@dataclass(frozen=True)
class Moves:
    """Where one feature of one person may go, in encoded units.

    Allowed are the person's own value, always, and the destinations: `choices` where there are
    any, else the multiples of `step` (counted from 0) within [lower, upper], or that whole
    interval when step is None. `never` holds numbers that mean missing, so are no destination.

    >>> Moves(own=0.34, lower=0.0, upper=1.0, step=0.1).nearest(0.4, 0.9)
    0.5
    """

    own: float
    lower: float = -INF
    upper: float = INF
    step: float | None = None
    choices: tuple[float, ...] | None = None
    scale: float = 1.0
    never: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        # One NaN object for all, so that equal moves compare equal.
        object.__setattr__(self, "own", math.nan if math.isnan(self.own) else float(self.own))

    def allows(self, value: float) -> bool:
        """Say whether this value may be taken; NaN stands for missing."""
        if _same(value, self.own):
            return True
        if self.choices is not None:
            return value in self.choices
        within = self.lower <= value <= self.upper and math.isfinite(value)
        return within and value not in self.never and _multiple_below(self.step, value) == value

    def nearest(self, a: float, b: float) -> float | None:
        """Find the allowed value in (a, b] nearest to own (of two, the smaller), or None.

        A missing own value counts from 0. A continuous feature leaves an open end a behind by
        1e-9 of its scale.
        """
        if a < self.own <= b:
            return self.own
        anchor = 0.0 if math.isnan(self.own) else self.own
        below = self._destinations(a, min(b, anchor)) if a < anchor else None
        above = self._destinations(max(a, anchor), b) if b > anchor else None
        found = ([below[1]] if below else []) + ([above[0]] if above else [])
        return min(found, key=lambda value: (abs(value - anchor), value), default=None)

    def extent(self, a: float, b: float) -> tuple[float, float] | None:
        """Find the least and the greatest allowed value in (a, b]; infinite where unlimited."""
        ends = self._destinations(a, b)
        if not a < self.own <= b:
            return ends
        low, high = ends or (self.own, self.own)
        return min(low, self.own), max(high, self.own)

    def values(self, limit: int = 10_000) -> Floats:
        """List all allowed values, ascending; a missing own value comes last."""
        known = list(self.choices or ())
        if self.choices is None and (ends := self._destinations(-INF, INF)):
            known = list(ends if ends[0] == ends[1] else self._multiples(*ends, limit))
        return np.unique([self.own, *(value for value in known if value not in self.never)])

    def _multiples(self, low: float, high: float, limit: int) -> list[float]:
        if self.step is None or math.isinf(high - low):
            raise SchemaError("values cannot be listed: give step, lower and upper first")
        p, q = _ratio(self.step)
        first, last = (round(Fraction(end) * q / p) for end in (low, high))
        if last - first >= limit:
            raise SchemaError(f"given {last - first + 1} values, expected at most {limit}")
        return [k * p / q for k in range(first, last + 1)]

    def _destinations(self, a: float, b: float) -> tuple[float, float] | None:
        """Find the least and the greatest destination in (a, b]."""
        if self.choices is not None:
            inside = [choice for choice in self.choices if a < choice <= b]
            return (inside[0], inside[-1]) if inside else None
        low, high = self.lower, min(b, self.upper)
        if a >= low and a > -INF:
            low = math.nextafter(a, INF)
            if self.step is None:
                low = max(low, min(a + 1e-9 * self.scale, high))
        low, high = _multiple_above(self.step, low), _multiple_below(self.step, high)
        while low in self.never and low <= high:
            low = _multiple_above(self.step, math.nextafter(low, INF))
        while high in self.never and low <= high:
            high = _multiple_below(self.step, math.nextafter(high, -INF))
        return (low, high) if low <= high else None


# ------------------------------------------------------------------ what one feature means

_MEANINGLESS: dict[str, tuple[str, ...]] = {
    "number": ("values",),
    "integer": ("values",),
    "ordinal": (),
    "category": ("lower", "upper", "step", "direction", "max_change"),
    "boolean": ("values", "lower", "upper", "step", "max_change"),
}
_NUMBERS_HELD = ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty")


def _plain(value: Any) -> Any:
    """Give a Python scalar for a NumPy one, and None for every way of writing a blank."""
    value = value.item() if isinstance(value, np.generic) else value
    blank = value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
    return None if blank else value


def _codes(given: object) -> tuple[Any, ...]:
    return tuple(map(_plain, given if isinstance(given, (tuple, list, np.ndarray)) else (given,)))


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _near(word: object, known: Collection[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _some(values: Collection[object]) -> str:
    shown = ", ".join(repr(value) for value in list(values)[:8])
    return shown + (f", … ({len(values)} in all)" if len(values) > 8 else "")


@dataclass(frozen=True)
class Feature:
    """One column: what its values mean and how a person may change it.

    Bounds limit moves, never factuals: a person outside them may stay, or move inside. A missing
    value may be a person's own, never a destination; with a direction or a max_change it must
    stay, as there is no number to count from.

    >>> nodes = Feature("nodes", "integer", lower=0, upper=52, direction="decrease", unit="nodes")
    >>> nodes.moves(3.0).values()
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
        mutable     false: it never moves
        direction   increase or decrease: the only way it may move
        max_change  the furthest it may move, in its own units (levels, for an ordinal)
        weight      a change is multiplied by it in the cost
        protected   true: known to the report and the audit, so it never moves
        missing     codes that mean missing, such as -9; blanks (.nan in YAML) are kept as None
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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SchemaError(f"feature name: given {self.name!r}, expected text, not empty")
        self._expect_one_of("kind", get_args(Kind))
        for field in _MEANINGLESS[self.kind]:
            if getattr(self, field) not in (None, ()):
                self._fault(field, f"nothing: it has no meaning for kind {self.kind}")
        if self.direction is not None:
            self._expect_one_of("direction", get_args(Direction))
        for field, kind in {"unit": str, "label": str, "mutable": bool, "protected": bool}.items():
            if not isinstance(getattr(self, field), kind):
                self._fault(field, "text" if kind is str else "true or false")
        self._settle_values()
        self._settle_missing()
        self._settle_amounts()
        self._settle_bounds()

    def _fault(self, field: str, expected: str) -> NoReturn:
        given = getattr(self, field)
        where = f"feature {self.name!r}, field {field!r}"
        raise SchemaError(f"{where}: given {given!r}, expected {expected}")

    def _expect_one_of(self, field: str, known: tuple[str, ...]) -> None:
        if getattr(self, field) not in known:
            self._fault(field, f"one of {', '.join(known)}{_near(getattr(self, field), known)}")

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _scalars(self, field: str) -> tuple[Any, ...]:
        items = _codes(getattr(self, field))
        odd = [i for i in items if not (i is None or isinstance(i, (str, bool)) or _is_number(i))]
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
            if not all(code is None or (_is_number(code) and read(code) == code) for code in codes):
                self._fault("missing", f"a list of {'whole ' * (read is int)}numbers or NaN")
            codes = tuple(None if code is None else read(code) + 0 for code in codes)
        if set(codes) & set((False, True) if self.kind == "boolean" else self.values):
            self._fault("missing", "codes that are not values too")
        self._set("missing", codes)

    def _settle_amounts(self) -> None:
        whole = {"ordinal": ("step", "max_change"), "integer": ("step",)}.get(self.kind, ())
        for field in ("scale", "weight", "step", "max_change"):
            given = _plain(getattr(self, field))
            if given is None and field in ("step", "max_change"):
                continue
            if not _is_number(given) or given <= 0:
                self._fault(field, "a finite number above 0")
            if field in whole and int(given) != given:
                self._fault(field, f"a whole number, for kind {self.kind}")
            self._set(field, float(given))
        if self.kind == "integer" and self.step is None:
            self._set("step", 1.0)

    def _settle_bounds(self) -> None:
        for field in ("lower", "upper"):
            given = _plain(getattr(self, field))
            if self.kind == "ordinal" and given is not None:
                if given not in self.values:
                    self._fault(field, f"one of its levels: {_some(self.values)}")
                self._set(field, self.values[self.values.index(given)])
            elif given is not None:
                if not _is_number(given):
                    self._fault(field, "a finite number")
                self._set(field, given + 0.0)
        if self.bounds[0] > self.bounds[1]:
            self._fault("lower", f"at most upper, which is {self.upper!r}")

    @property
    def title(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name

    @property
    def movable(self) -> bool:
        """Whether a change of it may ever be suggested."""
        return self.mutable and not self.protected

    @property
    def bounds(self) -> tuple[float, float]:
        """Where moves may end, in encoded units; infinite where nothing limits them."""
        least, most = (-INF, INF) if self._numeric else (0.0, self._size - 1.0)
        at = float if self._numeric else self.values.index
        low = least if self.lower is None else float(at(self.lower))
        return low, most if self.upper is None else float(at(self.upper))

    @property
    def measure(self) -> tuple[Value, ...]:
        """What its codes count: two features with the same measure can be compared."""
        return ("number",) if self._numeric else (self.kind, *self.values)

    @property
    def _numeric(self) -> bool:
        return self.kind in ("number", "integer")

    @property
    def _listed(self) -> bool:
        return self.kind in ("category", "ordinal")

    @property
    def _size(self) -> int:
        return 2 if self.kind == "boolean" else len(self.values)

    def describe(self, value: object) -> str:
        """Write a value for people, with its unit; a number reads back as the same float."""
        value = _plain(value)
        if value is None:
            return "missing"
        if value in self.missing:
            return f"missing ({_print(value) if isinstance(value, float) else value})"
        if self.kind == "boolean":
            return "yes" if value else "no"
        if self._numeric:
            if not isinstance(value, (int, float)):
                raise SchemaError(f"feature {self.name!r}: given {value!r}, expected a number")
            value = _print(float(value), self.step)
        return f"{value} {self.unit}" if self.unit else str(value)

    def describe_code(self, code: float) -> str:
        """Write an encoded value, such as a threshold, for people."""
        if self._numeric or math.isnan(code):
            return self.describe(code)
        return self.describe((self.values or (False, True))[int(code)])

    def amount(self, change: float) -> str:
        """Write the size of a change for people: `2 years`, `1 level`."""
        unit = ("level" if change == 1 else "levels") if self.kind == "ordinal" else self.unit
        return f"{_print(change)} {unit}".rstrip()

    def moves(self, own: float) -> Moves:
        """Say where it may go from a person's own value, encoded."""
        lows, highs, _ = zip(*self._limits(own), strict=True)
        lower, upper = max(lows), min(highs)
        if self._numeric:
            never = tuple(float(code) for code in self.missing if code is not None)
            return Moves(own, lower, upper, self.step, None, self.scale, never)
        stride = self.step or 1.0
        every = map(float, range(self._size))
        choices = tuple(c for c in every if c == own or (lower <= c <= upper and c % stride == 0))
        return Moves(own, lower, upper, self.step, choices, self.scale)

    def why_not(self, own: float, value: float) -> tuple[str, ...]:
        """Name every rule that moving from own to value breaks, as a sentence; none if allowed."""
        moves = self.moves(own)
        if moves.allows(value):
            return ()
        if math.isnan(value) or value in moves.never:
            return (f"{self.title} may not become missing",)
        if math.isinf(value) or not (self._numeric or value in range(self._size)):
            return (f"{self.title} has no value {_print(value)}",)
        words = {
            "title": self.title,
            "lower": self.describe(self.lower),
            "upper": self.describe(self.upper),
            "change": self.amount(self.max_change or 0.0),
            "step": self.amount(self.step or 1.0),
        }
        rules = [rule for low, high, rule in self._limits(own) if not low <= value <= high]
        rules = rules or ["{title} must be a multiple of {step}"]
        return tuple(rule.format(**words) for rule in rules)

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
                least, most = _plus(own, -self.max_change), _plus(own, self.max_change)
                yield least, most, "{title} may change by at most {change}"

    def encode(self, column: NDArray[Any], rows: Labels | None = None) -> Floats:
        """Read a column in people's own values into codes; every missing one is NaN."""
        blank = pd.isna(column)
        if None not in self.missing:
            hint = "a value (if blanks mean missing, declare missing=float('nan'))"
            self._refuse(blank, column, rows, hint)
        if self._listed:
            found = self._known.get_indexer(pd.Index(column, dtype=object))
            unknown = (found < 0) & ~blank
            self._refuse(unknown, column, rows, f"one of {_some(self.values)}")
            return np.where(blank | (found >= self._size), np.nan, found)
        if infer_dtype(column, skipna=True) not in _NUMBERS_HELD:
            odd = [not isinstance(value, (int, float, np.number)) for value in column]
            self._refuse(np.array(odd) & ~blank, column, rows, "a number")
        return self.check(np.where(blank, np.nan, column).astype(np.float64), rows)

    def decode(self, codes: Floats) -> NDArray[Any]:
        """Write codes in people's own values; NaN becomes the first missing code."""
        codes = self.check(codes)
        code = self.missing[0] if self.missing else None
        if self._numeric:
            filled = np.where(np.isnan(codes), np.nan if code is None else float(code), codes)
            whole = self.kind == "integer" and not np.isnan(filled).any()
            return filled.astype(np.int64) if whole else filled
        known = np.array([*(self.values or (False, True)), code], dtype=object)
        return known[np.where(np.isnan(codes), self._size, codes).astype(np.int64)]

    def check(self, codes: Floats, rows: Labels | None = None) -> Floats:
        """Refuse codes without a meaning; a number that means missing becomes NaN."""
        codes = np.array(codes, dtype=np.float64)
        for code in () if self._listed else self.missing:
            codes[codes == code] = np.nan
        # From 2**53 on floats skip integers, so such a number (of an account, say) would change.
        most = {"number": INF, "integer": 2.0**53 - 1}.get(self.kind, self._size - 1.0)
        good = np.isfinite(codes) & (codes <= most) & (codes >= (-most if self._numeric else 0))
        if self.kind != "number":
            good &= codes == np.rint(codes)
        if self.missing:
            good |= np.isnan(codes)
        expected = {"number": "a finite number", "integer": "a whole number below 2**53"}
        coded = f"a whole number from 0 to {self._size - 1}"
        self._refuse(~good, codes, rows, expected.get(self.kind, coded))
        return codes

    @cached_property
    def _known(self) -> pd.Index[Any]:
        return pd.Index([*self.values, *self.missing], dtype=object)

    def _refuse(
        self, bad: NDArray[np.bool_], given: NDArray[Any], rows: Labels | None, expected: str
    ) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            row = "" if rows is None else f", row {_plain(rows[at])!r}"
            value = "a blank" if _plain(given[at]) is None else repr(_plain(given[at]))
            raise SchemaError(f"column {self.name!r}{row}: given {value}, expected {expected}")


# ------------------------------------------------------------------ relations between features


@dataclass(frozen=True, repr=False)
class AtMost:
    """Whoever changes anything ends with a at most b. Not asked where either is missing.

    >>> AtMost("months late", "months")
    `months late` <= months
    """

    a: str
    b: str

    def __repr__(self) -> str:
        return f"{_quoted(self.a)} <= {_quoted(self.b)}"

    def holds(self, before: tuple[float, float], after: tuple[float, float]) -> bool:  # noqa: ARG002
        """Say whether a change of the codes of (a, b) keeps the relation."""
        return not after[0] > after[1]

    def sentence(self, a: Feature, b: Feature) -> str:
        """Write the relation for people."""
        return f"{a.title} must be at most {b.title}"


@dataclass(frozen=True, repr=False)
class Forces:
    """If a changes, b must rise by at least `by` (fall, if negative): a degree takes years.

    Where b is missing no rise can be counted, so a must stay.

    >>> Forces("degree", "age", by=2)
    degree changes => age rises by 2
    """

    a: str
    b: str
    by: float

    def __post_init__(self) -> None:
        if not _is_number(_plain(self.by)) or self.by == 0:
            expected = f"given {self.by!r}, expected a finite number other than 0"
            raise SchemaError(f"relation of {self.a!r} and {self.b!r}, field 'by': {expected}")
        object.__setattr__(self, "by", float(self.by))

    def __repr__(self) -> str:
        verb = "rises" if self.by > 0 else "falls"
        return f"{_quoted(self.a)} changes => {_quoted(self.b)} {verb} by {_print(abs(self.by))}"

    def holds(self, before: tuple[float, float], after: tuple[float, float]) -> bool:
        """Say whether a change of the codes of (a, b) keeps the relation."""
        if _same(before[0], after[0]):
            return True
        if math.isnan(before[1]):
            return False
        goal = _plus(before[1], self.by)
        return after[1] >= goal if self.by > 0 else after[1] <= goal

    def sentence(self, a: Feature, b: Feature) -> str:
        """Write the relation for people."""
        verb = "rise" if self.by > 0 else "fall"
        return f"if {a.title} changes, {b.title} must {verb} by at least {b.amount(abs(self.by))}"


Relation: TypeAlias = AtMost | Forces

_NAME = r"(`(?:[^`]|``)+`|[\w.-]+)"
_AT_MOST = re.compile(rf"\s*{_NAME}\s*<=\s*{_NAME}\s*")
_FORCES = re.compile(rf"\s*{_NAME}\s+changes\s*=>\s*{_NAME}\s+(rises|falls)\s+by\s+([\d.e+-]+)\s*")


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else "`" + name.replace("`", "``") + "`"


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _relation(given: object) -> Relation:
    """Read a relation from its text, or take it as it is."""
    if isinstance(given, (AtMost, Forces)):
        return given
    if isinstance(given, str) and (match := _AT_MOST.fullmatch(given)):
        return AtMost(_unquoted(match[1]), _unquoted(match[2]))
    if isinstance(given, str) and (match := _FORCES.fullmatch(given)):
        try:
            by = float(match[4]) * (1 if match[3] == "rises" else -1)
        except ValueError:
            raise SchemaError(
                f"relation {given!r}: given {match[4]!r}, expected a number"
            ) from None
        return Forces(_unquoted(match[1]), _unquoted(match[2]), by)
    forms = "'a <= b', 'a changes => b rises by 2' or 'a changes => b falls by 2'"
    raise SchemaError(f"relation: given {given!r}, expected {forms}; quote names `like this`")


# ------------------------------------------------------------------ where one person may go


@dataclass(frozen=True)
class Reach:
    """Ω(x) for one person: `Moves` per feature, in the schema's order, and the relations.

    Staying exactly as one is, is always allowed, even where a relation is broken already; whoever
    changes anything must end with every relation kept.

    >>> schema = Schema((Feature("age", "integer", mutable=False), Feature("income", unit="€")))
    >>> reach = schema.reach({"age": 40, "income": 900})
    >>> reach.allows([40, 1200])
    True
    >>> reach.why_not([41, 1200])
    ('age may not change',)
    """

    schema: Schema
    moves: tuple[Moves, ...]

    def __getitem__(self, key: str | int) -> Moves:
        return self.moves[self.schema.position(key)]

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations that every change must keep."""
        return self.schema.relations

    @property
    def own(self) -> Floats:
        """The person's own codes."""
        return np.array([moves.own for moves in self.moves])

    def allows(self, codes: Sequence[float] | Floats) -> bool:
        """Say whether this person may become the row with these codes."""
        return next(self._broken(codes), None) is None

    def why_not(self, codes: Sequence[float] | Floats) -> tuple[str, ...]:
        """Name every rule that becoming this row breaks, as a sentence; none if it is allowed."""
        return tuple(self._broken(codes))

    def _broken(self, codes: Sequence[float] | Floats) -> Iterator[str]:
        before, after = [moves.own for moves in self.moves], [float(code) for code in codes]
        if len(after) != len(before):
            raise SchemaError(f"given {len(after)} codes, expected {len(before)}")
        if all(map(_same, before, after)):
            return
        for feature, moves, value in zip(self.schema, self.moves, after, strict=True):
            if not moves.allows(value):
                yield from feature.why_not(moves.own, value)
        for relation in self.relations:
            i, j = self.schema.position(relation.a), self.schema.position(relation.b)
            if not relation.holds((before[i], before[j]), (after[i], after[j])):
                yield relation.sentence(self.schema[i], self.schema[j])


# ------------------------------------------------------------------ the whole table


@dataclass(frozen=True)
class Schema:
    """What a table's columns mean, and what one person may change in it.

    `features` has one `Feature` per column, in order; `relations` are `AtMost`, `Forces`, or
    their text.

    >>> people = pd.DataFrame({"age": [30, 64], "income": [900.5, 2100.0], "job": ["none", "day"]})
    >>> schema = Schema.infer(people).lock("age").update("income", direction="increase", unit="€")
    >>> schema["income"].step, schema["income"].scale
    (0.1, 1199.5)
    >>> schema.encode(people).tolist()
    [[30.0, 900.5, 1.0], [64.0, 2100.0, 0.0]]
    >>> schema.reach(people.iloc[0]).why_not([30, 800, 0])
    ('income must not fall below 900.5 €', 'income may only increase')
    """

    features: tuple[Feature, ...]
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or not all(isinstance(f, Feature) for f in self.features):
            raise SchemaError(f"features: given {self.features!r}, expected at least one Feature")
        _refuse_repeated("features", self.names)
        object.__setattr__(self, "relations", tuple(map(_relation, self.relations)))
        for relation in self.relations:
            self._check_relation(relation)

    def _check_relation(self, relation: Relation) -> None:
        where = f"relation {relation}"
        if unknown := [name for name in (relation.a, relation.b) if name not in self]:
            raise SchemaError(f"{where}: {self._no_feature(unknown[0])}")
        a, b = self[relation.a], self[relation.b]
        if a is b:
            raise SchemaError(f"{where}: expected two different features")
        if b.kind == "category":
            raise SchemaError(f"{where}: expected {b.name!r} to have an order, not a category")
        if isinstance(relation, AtMost) and a.measure != b.measure:
            alike = "two numbers, two booleans, or two ordinals with the same levels"
            raise SchemaError(f"{where}: expected {alike}")

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def position(self, key: str | int) -> int:
        """Find the column of a feature by its name."""
        if isinstance(key, str) and key not in self:
            raise SchemaError(self._no_feature(key))
        return self._positions[key] if isinstance(key, str) else key

    def _no_feature(self, name: str) -> str:
        hint = _near(name, self.names) or f"; the features are {_some(self.names)}"
        return f"no feature {name!r}{hint}"

    def __getitem__(self, key: str | int) -> Feature:
        return self.features[self.position(key)]

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    @classmethod
    def infer(
        cls,
        X: pd.DataFrame | NDArray[Any],
        missing: Codes | Mapping[str, Codes] | None = None,
    ) -> Schema:
        """Make a first schema of data: kinds by dtype, observed bounds and scales, decimal steps.

        `missing` gives the codes that mean missing: for all columns, or by name. A number given
        for all holds in every number column; any other code only where it occurs, since
        elsewhere it would be refused as unknown.

        >>> schema = Schema.infer(np.array([[1.5, 20], [-9, 40], [4, 30]]), missing=-9)
        >>> schema["x0"].lower, schema["x0"].step, schema["x0"].missing
        (1.5, 0.1, (-9.0,))
        """
        table = _table(X)
        everywhere = not isinstance(missing, Mapping)
        if missing is None or isinstance(missing, Mapping):
            named = missing or {}
        else:
            named = dict.fromkeys(table.columns, missing)
        if unknown := [name for name in named if name not in table.columns]:
            hint = _near(unknown[0], table.columns)
            raise SchemaError(f"missing: no column {unknown[0]!r}{hint}")
        codes = {n: _codes(named[n]) if n in named else () for n in table.columns}
        _refuse_unfinished(table, codes)
        return cls(tuple(_inferred(table[n], codes[n], everywhere) for n in table.columns))

    def update(self, name: str, /, **changes: Any) -> Schema:
        """Change some fields of one feature, in a new schema.

        >>> Schema((Feature("age"),)).update("age", mutable=False)["age"].mutable
        False
        """
        at = self.position(name)
        _refuse_unknown_fields(name, changes)
        changed = replace(self.features[at], **changes)
        return replace(self, features=(*self.features[:at], changed, *self.features[at + 1 :]))

    def lock(self, *names: str) -> Schema:
        """Make these features immutable, in a new schema."""
        schema = self
        for name in names:
            schema = schema.update(name, mutable=False)
        return schema

    def relate(self, *relations: Relation | str) -> Schema:
        """Add relations such as "a <= b" or `Forces("a", "b", by=2)`, in a new schema."""
        return replace(self, relations=(*self.relations, *map(_relation, relations)))

    def encode(self, X: Rows) -> Floats:
        """Read rows in people's own values into an (n, d) array of codes.

        Takes a DataFrame (its columns in any order), a 2-D array in the schema's order, or one
        person as a Series, a dict or a 1-D array.
        """
        columns, rows = self._columns(X)
        each = zip(self.features, columns, strict=True)
        return np.column_stack([feature.encode(column, rows) for feature, column in each])

    def decode(self, codes: Floats | Sequence[Any]) -> pd.DataFrame:
        """Write codes in people's own values; NaN becomes its feature's first missing code.

        >>> job = Feature("job", "category", values=("day", "none"), missing=("?", "-"))
        >>> Schema((job,)).decode([[1.0], [float("nan")]])["job"].tolist()
        ['none', '?']
        """
        rows = self._shaped(np.asarray(codes, dtype=np.float64))
        table = {f.name: f.decode(rows[:, at]) for at, f in enumerate(self.features)}
        return pd.DataFrame(table).infer_objects()

    def row(self, x: Rows) -> pd.Series[Any]:
        """Check one person and give a Series in the schema's order and in natural types."""
        codes, (columns, rows) = self._one(self.encode(x)), self._columns(x)
        values = [
            # A missing value keeps the person's own code: a feature may have several.
            _plain(column[0]) if math.isnan(code) else feature.decode(np.array([code])).item()
            for feature, column, code in zip(self.features, columns, codes, strict=True)
        ]
        label = x.name if isinstance(x, pd.Series) else rows[0] if rows is not None else None
        return pd.Series(values, index=list(self.names), name=label, dtype=object)

    def describe(self, name: str, value: object) -> str:
        """Write a value for people, with its unit.

        >>> Schema((Feature("rate", step=0.05, unit="%"),)).describe("rate", 1.5)
        '1.50 %'
        """
        return self[name].describe(value)

    def reach(self, x: Rows) -> Reach:
        """Say where a person may go, given as `row` takes them or as a 1-D float array of codes."""
        if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype == np.float64:
            each = zip(self.features, self._shaped(x).T, strict=True)
            codes = [float(feature.check(code)[0]) for feature, code in each]
        else:
            codes = self._one(self.encode(x))
        moves = (f.moves(code) for f, code in zip(self.features, codes, strict=True))
        return Reach(self, tuple(moves))

    def _shaped(self, array: NDArray[Any]) -> NDArray[Any]:
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != len(self):
            raise SchemaError(f"array: given shape {array.shape}, expected (n, {len(self)})")
        return array

    @staticmethod
    def _one(codes: Floats) -> list[float]:
        if len(codes) != 1:
            raise SchemaError(f"given {len(codes)} rows, expected one person")
        return [float(code) for code in codes[0]]

    def _columns(self, X: Rows) -> tuple[list[NDArray[Any]], Labels | None]:
        """Take the schema's columns out of rows, and the rows' labels where they have some."""
        if isinstance(X, np.ndarray):
            return list(self._shaped(X).T), range(len(np.atleast_2d(X)))
        if isinstance(X, pd.DataFrame):
            self._match(X.columns)
            return [_array(X[name]) for name in self.names], X.index
        if not isinstance(X, (pd.Series, Mapping)):
            kinds = "a DataFrame, a Series, a dict or an array"
            raise SchemaError(f"rows: given {type(X).__name__}, expected {kinds}")
        self._match(X.keys())
        one = np.empty((len(self), 1), dtype=object)
        one[:, 0] = [X[name] for name in self.names]
        return list(one), None

    def _match(self, columns: Collection[Any]) -> None:
        _refuse_repeated("columns", columns)
        absent = [name for name in self.names if name not in columns]
        unknown = [name for name in columns if name not in self._positions]
        if absent or unknown:
            pairs = (("absent", absent), ("unknown", unknown))
            given = "; ".join(f"{word} {_some(names)}" for word, names in pairs if names)
            raise SchemaError(f"columns: {given}; expected just {_some(self.names)}")

    def to_dict(self) -> dict[str, Any]:
        """Write the schema in lists, texts and numbers that JSON can hold, defaults left out."""
        features = [_feature_to_dict(feature) for feature in self.features]
        relations = {"relations": [str(relation) for relation in self.relations]}
        return {"features": features} | (relations if self.relations else {})

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], source: str = "schema") -> Schema:
        """Read what `to_dict` wrote; errors name the source, the feature and the field."""
        try:
            if not isinstance(given, Mapping) or not isinstance(given.get("features"), list):
                raise SchemaError("expected a list of features under 'features'")
            if extra := sorted(map(str, set(given) - {"features", "relations"})):
                raise SchemaError(f"unknown entry {extra[0]!r}, expected features and relations")
            if not isinstance(given.get("relations", []), list):
                raise SchemaError(f"relations: given {given['relations']!r}, expected a list")
            features = [_feature_from_dict(*item) for item in enumerate(given["features"], 1)]
            return cls(tuple(features), tuple(given.get("relations", [])))
        except SchemaError as error:
            raise SchemaError(f"{source}: {error}") from None

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Write YAML headed by a comment on the fields; a file is written whole or not at all.

        >>> Schema((Feature("age", "integer", lower=18),)).to_yaml().splitlines()[-4:]
        ['features:', '- name: age', '  kind: integer', '  lower: 18']
        """
        guide = (inspect.getdoc(Feature) or "").partition("The fields::\n\n")[2]
        lines = ["What each column means and where a person may move it. Fields of a feature:"]
        lines += ["", *guide.splitlines(), ""]
        lines += ["Relations: 'a <= b', 'a changes => b rises by 2', 'a changes => b falls by 2'."]
        header = "".join(f"# {line}".rstrip() + "\n" for line in lines)
        body = yaml.dump(
            self.to_dict(), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6
        )
        text = header + body
        if path is not None:
            beside = Path(path).with_name(f".{Path(path).name}.{os.getpid()}")
            try:
                beside.write_text(text, encoding="utf-8")
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        return text

    @classmethod
    def from_yaml(cls, path: str | Path) -> Schema:
        """Read a YAML file, as YAML 1.2 does: `no` is text, not false."""
        try:
            given = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_Loader)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise SchemaError(f"{path}: not YAML: {error}") from None
        return cls.from_dict(given, source=str(path))


def _refuse_repeated(what: str, names: Collection[Any]) -> None:
    if len(set(names)) < len(names):
        twice = sorted(str(name) for name, times in Counter(names).items() if times > 1)
        raise SchemaError(f"{what}: given {_some(twice)} more than once, expected each name once")


def _array(column: pd.Series[Any]) -> NDArray[Any]:
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    if is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


# ------------------------------------------------------------------ dicts and YAML

_DEFAULTS = {field.name: field.default for field in fields(Feature)}


def _refuse_unknown_fields(name: str, given: Collection[str]) -> None:
    for field in given:
        if field not in _DEFAULTS:
            hint = _near(field, _DEFAULTS) or f"; the fields are {', '.join(_DEFAULTS)}"
            raise SchemaError(f"feature {name!r}, field {field!r}: unknown{hint}")


def _feature_to_dict(feature: Feature) -> dict[str, Any]:
    default = _DEFAULTS | ({"step": 1.0} if feature.kind == "integer" else {})
    told: dict[str, Any] = {}
    for field in _DEFAULTS:
        value = getattr(feature, field)
        if value != default[field]:
            told[field] = list(value) if isinstance(value, tuple) else value
            level = feature.kind == "ordinal" and field in ("lower", "upper")
            if isinstance(value, float) and value % 1 == 0 and abs(value) < 1e15 and not level:
                told[field] = int(value)
    return told


def _feature_from_dict(number: int, given: Any) -> Feature:
    if not isinstance(given, Mapping) or "name" not in given:
        raise SchemaError(f"feature {number}: given {given!r}, expected fields with a name")
    _refuse_unknown_fields(given["name"], given)
    return Feature(**given)


class _Dumper(yaml.SafeDumper):
    """Quotes whatever YAML 1.1 or 1.2 would not read as the text that it is."""


class _Loader(yaml.SafeLoader):
    """Plain scalars as in YAML 1.2, where `no` and 01234 are texts and 1e-5 a number."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise yaml.YAMLError(f"{key!r} is given twice in the entry at line {line}")
        return super().construct_mapping(node, deep=deep)


_TAG = "tag:yaml.org,2002:"
_FLOAT = r"[-+]?(\.\d+|\d+\.\d*)([eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+|[-+]?\.inf|\.nan|\.NaN"
_Loader.yaml_implicit_resolvers = {}
for _type, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9]\d*)", list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
):
    for _side in (_Loader, _Dumper):
        _regexp = re.compile(rf"^(?:{_pattern})$", re.ASCII)
        _side.add_implicit_resolver(_TAG + _type, _regexp, _first)
# None occurs only as the missing code of a blank; PyYAML loses odd line ends outside quotes.
_Dumper.add_representer(type(None), lambda d, _: d.represent_scalar(f"{_TAG}float", ".nan"))
_Dumper.add_representer(
    str, lambda d, text: d.represent_scalar(f"{_TAG}str", text, "" if text.isprintable() else '"')
)


# ------------------------------------------------------------------ a schema from data

_KIND_HELD: dict[str, Kind] = {
    "boolean": "boolean",
    "integer": "integer",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "string": "category",
}


def _table(X: pd.DataFrame | NDArray[Any]) -> pd.DataFrame:
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = pd.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])])
    if not isinstance(X, pd.DataFrame):
        raise SchemaError(f"data: given {type(X).__name__}, expected a DataFrame or a 2-D array")
    if X.empty:
        raise SchemaError(f"data: given shape {X.shape}, expected at least one row and column")
    _refuse_repeated("columns", X.columns)
    if odd := [name for name in X.columns if not isinstance(name, str)]:
        hint = "rename them: X.columns = X.columns.astype(str)"
        raise SchemaError(f"columns: given {_some(odd)}, expected names as text; {hint}")
    return X


def _refuse_unfinished(table: pd.DataFrame, codes: Mapping[str, tuple[Any, ...]]) -> None:
    blank = [name for name in table if None not in codes[str(name)] and table[name].isna().any()]
    if blank:
        hint = "fill them, or declare them missing: Schema.infer(X, missing=float('nan'))"
        raise SchemaError(f"columns with blanks (NaN): {_some(blank)}; {hint}")
    floats = [name for name in table if is_float_dtype(table[name].dtype)]
    infinite = [n for n in floats if np.isinf(table[n].to_numpy(float, na_value=0)).any()]
    if infinite:
        raise SchemaError(f"columns with infinite values: {_some(infinite)}; expected finite ones")


def _inferred(column: pd.Series[Any], codes: tuple[Any, ...], everywhere: bool) -> Feature:
    name = str(column.name)
    gone = column.isna() | column.isin([code for code in codes if code is not None])
    found = {_plain(code) for code in column[gone].unique()}
    known = column[~gone]
    if known.empty:
        raise SchemaError(f"column {name!r}: every value is missing; drop the column")
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = [_plain(value) for value in column.dtype.categories if value not in codes]
        kind: Kind = "ordinal" if column.dtype.ordered else "category"
    else:
        kind, values = _kind_held(name, known), []
    if everywhere:
        counts = kind in ("number", "integer")
        codes = tuple(code for code in codes if code in found or (counts and _is_number(code)))
    if kind == "category":
        return Feature(name, kind, tuple(values or map(_plain, known.unique())), missing=codes)
    if kind == "ordinal":
        return Feature(name, kind, tuple(values), scale=max(len(values) - 1.0, 1.0), missing=codes)
    if kind == "boolean":
        return Feature(name, kind, missing=codes)
    numbers = known.to_numpy(dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    scale = _plus(high, -low) or 1.0
    raw = known.to_numpy().dtype
    rounding = 4 * float(np.finfo(raw if raw.kind == "f" else np.float64).eps)
    step = _decimal_step(numbers, scale, rounding) if kind == "number" else 1.0
    return Feature(name, kind, lower=low, upper=high, step=step, scale=scale, missing=codes)


def _kind_held(name: str, known: pd.Series[Any]) -> Kind:
    held = infer_dtype(known, skipna=True)
    if held not in _KIND_HELD:
        hint = "convert it to one type: numbers, text, booleans or a categorical"
        if held.startswith(("date", "time", "period", "interval")):
            hint = "convert it to a number, such as the days since a date"
        raise SchemaError(f"column {name!r}: given {held} values of dtype {known.dtype}; {hint}")
    return _KIND_HELD[held]


def _decimal_step(numbers: Floats, scale: float, rounding: float) -> float:
    """Find the largest 10^-k, k ≤ 9, that divides every number; else about scale / 10^4."""
    with np.errstate(over="ignore", invalid="ignore"):
        for places in range(10):
            tens = 10.0**places
            off = np.abs(np.rint(numbers * tens) / tens - numbers)
            if (off <= rounding * np.abs(numbers)).all():
                return float(f"1e-{places}")
    return float(f"1e{max(math.floor(math.log10(scale)) - 4, -300)}")
