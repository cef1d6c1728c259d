"""The values of one column as codes, which are floats, and back."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

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
)
from trust_recourse.io.wording import near, some, written
from trust_recourse.schema.checks import Kind
from trust_recourse.schema.errors import BLANK, SchemaError

Labels: TypeAlias = "pd.Index[Any] | range"

_NUMBERS_HELD = ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty")
_SCALARS = frozenset((str, int, float, bool, np.int64, np.float64, np.bool_))


@dataclass(frozen=True)
class Codes:
    """How one column's values are encoded; NaN is missing.

    >>> Codes("job", "ordinal", ("low", "high"), ("?",)).encode(np.array(["high", "?"])).tolist()
    [1.0, nan]
    """

    name: str
    kind: Kind
    values: tuple[Value, ...] = ()
    missing: tuple[Value | None, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether a code is the value itself: of a number or an integer."""
        return self.kind in ("number", "integer")

    @property
    def listed(self) -> bool:
        """Whether it has a list of values: a category or an ordinal."""
        return self.kind in ("category", "ordinal")

    @property
    def measure(self) -> tuple[Value, ...]:
        """What the codes count: two features with the same measure can be compared."""
        return ("number",) if self.numeric else (self.kind, *self.values)

    @property
    def size(self) -> int:
        """How many values it has, unless it is numeric."""
        return 2 if self.kind == "boolean" else len(self.values)

    @cached_property
    def never(self) -> tuple[float, ...]:
        """The numbers that mean missing, so are no destination."""
        codes = () if self.listed else self.missing
        return tuple(float(code) for code in codes if code is not None)

    @cached_property
    def by_value(self) -> dict[Any, float]:
        """The code of each listed value; of a missing one it is NaN."""
        codes = [*map(float, range(self.size)), *([math.nan] * len(self.missing))]
        return dict(zip([*self.values, *self.missing], codes, strict=True))

    @cached_property
    def by_text(self) -> dict[str, Any]:
        """The listed values and missing codes, by their text."""
        known = (value for value in (*self.values, *self.missing) if value is not None)
        return {written(v) if isinstance(v, float) else str(v): v for v in known}

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The least and the greatest code that has a meaning."""
        # From 2**53 on floats skip integers, so such a number (of an account, say) would change.
        most = {"number": INF, "integer": 2.0**53 - 1}.get(self.kind, self.size - 1.0)
        return (-most if self.numeric else 0.0), most

    @cached_property
    def _index(self) -> pd.Index[Any]:
        return pd.Index([*self.values, *self.missing], dtype=object)

    def encode(self, column: NDArray[Any], rows: Labels | None = None) -> Floats:
        """Read a column in people's own values into codes; every missing one is NaN."""
        blank = pd.isna(column)
        if None not in self.missing:
            hint = f"a value (if blanks mean missing, the schema must say so: {BLANK})"
            self._refuse(blank, column, rows, hint)
        if self.listed:
            known = f"one of {some(self.values)}"
            unhashable = np.array([not isinstance(value, Hashable) for value in column], bool)
            self._refuse(unhashable, column, rows, known)
            found = self._index.get_indexer(pd.Index(column, dtype=object))
            unknown = (found < 0) & ~blank
            self._refuse(unknown, column, rows, known)
            return np.where(blank | (found >= self.size), np.nan, found)
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

    def decode(self, codes: Floats) -> NDArray[Any]:
        """Write codes in people's own values; NaN becomes the first missing code."""
        codes = self.check(codes)
        code = self.missing[0] if self.missing else None
        if self.numeric:
            filled = np.where(np.isnan(codes), np.nan if code is None else float(code), codes)
            whole = self.kind == "integer" and not np.isnan(filled).any()
            return filled.astype(np.int64) if whole else filled
        known = np.array([*(self.values or (False, True)), code], dtype=object)
        return known[np.where(np.isnan(codes), self.size, codes).astype(np.int64)]

    def check(self, codes: Floats, rows: Labels | None = None) -> Floats:
        """Refuse codes without a meaning; a number that means missing becomes NaN."""
        codes = np.array(codes, dtype=np.float64)
        for code in self.never:
            codes[codes == code] = np.nan
        least, most = self._range
        good = np.isfinite(codes) & (codes <= most) & (codes >= least)
        if self.kind != "number":
            good &= codes == np.rint(codes)
        if self.missing:
            good |= np.isnan(codes)
        self._refuse(~good, codes, rows, self._expected)
        return codes

    def check_one(self, code: float) -> float:
        """`check` for one code, without the price of an array."""
        if code in self.never or (self.missing and math.isnan(code)):
            return math.nan
        least, most = self._range
        whole = self.kind == "number" or code.is_integer()
        if whole and least <= code <= most and math.isfinite(code):
            return code
        return float(self.check(np.array([code]))[0])

    def code_of(self, value: Any) -> float:
        """`encode` for one value, without the price of a column."""
        if type(value) in _SCALARS and value == value:
            if self.listed and value in self.by_value:
                return self.by_value[value]
            if not self.listed and is_number(python(value)):
                return self.check_one(float(value))
        elif None in self.missing and plain(value) is None:
            return math.nan
        column = np.empty(1, dtype=object)
        column[0] = value
        return float(self.encode(column)[0])

    def value_of(self, code: float) -> Any:
        """Write one code that is not missing in people's own values."""
        if self.numeric:
            return int(code) if self.kind == "integer" else float(code)
        return (self.values or (False, True))[int(code)]

    def read(self, text: str) -> Any:
        """Read a value from its text, labels aside: see `Feature.read`."""
        word = text.strip()
        if word in self.by_text:
            return self.by_text[word]
        if not word or (self.numeric and word.lower() in BLANKS):
            return None
        if word == "missing" and self.missing:
            return self.missing[0]
        number = float(word) if NUMBER.fullmatch(word) else None
        if self.kind == "boolean":
            known = YES.get(word.lower(), number)
            if known in (0, 1):
                return bool(known)
            self._refuse_text(text, "yes or no, true or false, 1 or 0")
        if self.listed:
            if number is not None and number in self.by_value:  # 1.0 where the value is 1
                return number
            texts = [*self.by_text]
            self._refuse_text(text, f"one of {some(texts)}{near(word, texts)}")
        whole = self.kind == "integer"
        if number is None or (whole and not number.is_integer()):
            expected = "a whole number" if whole else "a number, with a point for decimals"
            self._refuse_text(text, expected)
        return int(number) if whole else number

    @property
    def _expected(self) -> str:
        expected = {"number": "a finite number", "integer": "a whole number below 2**53"}
        return expected.get(self.kind, f"a whole number from 0 to {self.size - 1}")

    def _refuse(
        self, bad: NDArray[np.bool_], given: NDArray[Any], rows: Labels | None, expected: str
    ) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            row = "" if rows is None else f", row {plain(rows[at])!r}"
            value = "a blank" if plain(given[at]) is None else repr(plain(given[at]))
            raise SchemaError(f"column {self.name!r}{row}: given {value}, expected {expected}")

    def _refuse_text(self, text: str, expected: str) -> NoReturn:
        raise SchemaError(f"feature {self.name!r}: given {text!r}, expected {expected}")
