"""Values as codes, which are floats, and back: of one column, of a table, of one person."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype, is_numeric_dtype

from trust_recourse.io.frames import Table, as_pandas
from trust_recourse.io.scalars import BLANKS, NUMBER, YES, Bools, Floats, Value, is_number, plain
from trust_recourse.io.wording import near, some, written
from trust_recourse.schema.errors import BLANK, SchemaError, refuse_repeated

if TYPE_CHECKING:
    from trust_recourse.schema.feature import Feature

Rows: TypeAlias = "Table | pd.Series[Any] | Mapping[str, Any]"
Labels: TypeAlias = "pd.Index[Any] | range"
Person: TypeAlias = tuple[list[float], list[Any], Any]  # codes, values as given, and a label if any

_NUMBERS_HELD = ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty")
_NUMBERS = frozenset((int, float, np.int64, np.float64))
_SCALARS = _NUMBERS | {str, bool, np.bool_}
# From 2**53 on floats skip integers, so such a number (of an account, say) would change.
_GREATEST = {"number": sys.float_info.max, "integer": 2.0**53 - 1}


class Codes:
    """How one feature's values are encoded; NaN is missing.

    >>> from trust_recourse import Feature
    >>> job = Feature("job", "ordinal", values=("low", "high"), missing=("?",))
    >>> Codes(job).encode(np.array(["high", "?"])).tolist()
    [1.0, nan]
    """

    def __init__(self, feature: Feature) -> None:
        self.name, self.kind, self.missing = feature.name, feature.kind, feature.missing
        self.values = feature.values  # noqa: PD011 - a feature's, not a table's
        self.numeric, self.listed = feature.numeric, feature.listed
        self.size = 2 if self.kind == "boolean" else len(self.values)  # unless it is numeric
        self.most = _GREATEST.get(self.kind, self.size - 1.0)  # the greatest code with a meaning
        self.least = -self.most if self.numeric else 0.0
        numbers = () if self.listed else self.missing
        self.never = tuple(float(code) for code in numbers if code is not None)  # mean missing

    @property
    def measure(self) -> tuple[Value, ...]:
        """What the codes count: two features with the same measure can be compared."""
        return ("number",) if self.numeric else (self.kind, *self.values)

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
            self._refuse((found < 0) & ~blank, column, rows, known)
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
        good = (codes <= self.most) & (codes >= self.least)
        if self.kind != "number":
            good &= codes == np.rint(codes)
        if self.missing:
            good |= np.isnan(codes)
        self._refuse(~good, codes, rows, self._expected)
        return codes

    def check_one(self, code: float) -> float:
        """`check` for one code, without the price of an array."""
        whole = self.kind == "number" or code.is_integer()
        if whole and self.least <= code <= self.most and code not in self.never:
            return code
        return float(self.check(np.array([code]))[0])

    def code_of(self, value: Any) -> float:
        """`encode` for one value, without the price of a column."""
        if self.listed:
            if type(value) in _SCALARS and value in self.by_value:
                return self.by_value[value]
        elif type(value) in _NUMBERS and self.least <= value <= self.most:
            code = float(value)
            if code in self.never:
                return math.nan
            if self.kind == "number" or code.is_integer():
                return code
        if None in self.missing and plain(value) is None:
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
        whole = self.kind == "integer"
        if self.kind == "boolean":
            known = YES.get(word.lower(), number)
            if known in (0, 1):
                return bool(known)
            expected = "yes or no, true or false, 1 or 0"
        elif self.listed:
            if number is not None and number in self.by_value:  # 1.0 where the value is 1
                return number
            texts = [*self.by_text]
            expected = f"one of {some(texts)}{near(word, texts)}"
        elif number is not None and (number.is_integer() or not whole):
            return int(number) if whole else number
        else:
            expected = "a whole number" if whole else "a number, with a point for decimals"
        raise SchemaError(f"feature {self.name!r}: given {text!r}, expected {expected}")

    @property
    def _expected(self) -> str:
        expected = {"number": "a finite number", "integer": "a whole number below 2**53"}
        return expected.get(self.kind, f"a whole number from 0 to {self.size - 1}")

    def _refuse(self, bad: Bools, given: NDArray[Any], rows: Labels | None, expected: str) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            row = "" if rows is None else f", row {plain(rows[at])!r}"
            value = "a blank" if plain(given[at]) is None else repr(plain(given[at]))
            raise SchemaError(f"column {self.name!r}{row}: given {value}, expected {expected}")


class Encoding:
    """How rows of some features are read and written: columns by name, a person by itself."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.codes = tuple(feature.codes for feature in features)
        self.names = tuple(feature.name for feature in features)
        self.places = {name: at for at, name in enumerate(self.names)}
        self._index: pd.Index[Any] | None = None
        self._last: tuple[pd.Index[Any], list[int]] | None = None

    def encode(self, X: Rows) -> Floats:
        """Rows as an (n, d) array of codes."""
        X = as_pandas(X)
        if isinstance(X, (pd.Series, Mapping)):
            return np.array([self.person(X)[0]])
        columns, rows = self._columns(X)
        each = zip(self.codes, columns, strict=True)
        return np.column_stack([codes.encode(column, rows) for codes, column in each])

    def decode(self, codes: Floats | Sequence[Any]) -> pd.DataFrame:
        """Codes in people's own values."""
        columns = zip(self.codes, self._shaped(np.asarray(codes, np.float64)).T, strict=True)
        return pd.DataFrame({c.name: c.decode(column) for c, column in columns}).infer_objects()

    def person(self, x: Rows) -> Person:
        """Read one person."""
        if isinstance(x, pd.Series):
            values, label = x.tolist(), x.name
            given = [values[at] for at in self._order(x.index)]
        elif isinstance(x, Mapping):
            if x.keys() != self.places.keys():
                self._refuse_columns(x)
            given, label = [x[name] for name in self.names], None
        else:
            columns, rows = self._columns(as_pandas(x))
            one = _only(self.encode(x))
            return one, [column[0] for column in columns], rows[0]
        return [c.code_of(value) for c, value in zip(self.codes, given, strict=True)], given, label

    def checked(self, codes: Sequence[float] | Floats) -> list[float]:
        """One person's codes, each of which has a meaning."""
        one = _only(self._shaped(np.asarray(codes, float)))
        return [c.check_one(code) for c, code in zip(self.codes, one, strict=True)]

    def natural(self, codes: list[float], given: list[Any], label: Any) -> pd.Series[Any]:
        """One person as a Series in natural types."""
        values = np.empty(len(codes), dtype=object)
        values[:] = [
            # A missing value keeps the person's own code: a feature may have several.
            plain(value) if math.isnan(code) else each.value_of(code)
            for each, value, code in zip(self.codes, given, codes, strict=True)
        ]
        if self._index is None:
            self._index = pd.Index(list(self.names))
        # A view, since the name of an index can be set.
        return pd.Series(values, index=self._index.view(), name=label, copy=False)

    def _columns(self, X: Any) -> tuple[list[NDArray[Any]], Labels]:
        """Take the columns out of a table or an array, and the rows' labels."""
        if isinstance(X, np.ndarray):
            return list(self._shaped(X).T), range(len(np.atleast_2d(X)))
        if isinstance(X, pd.DataFrame):
            if len(X.columns) != len(self.names) or {*X.columns} != self.places.keys():
                self._refuse_columns(X.columns)
            return [as_array(X[name]) for name in self.names], X.index
        kinds = "a DataFrame, a Series, a dict or an array"
        raise SchemaError(f"rows: given {type(X).__name__}, expected {kinds}")

    def _order(self, index: pd.Index[Any]) -> list[int]:
        """Where a person's index has each feature; all rows of a table have one and the same."""
        known = self._last
        if known is None or known[0] is not index:
            places = {name: at for at, name in enumerate(index.tolist())}
            if len(index) != len(self.names) or places.keys() != self.places.keys():
                self._refuse_columns(index)
            known = self._last = index, [places[name] for name in self.names]
        return known[1]

    def _refuse_columns(self, columns: Collection[Any]) -> NoReturn:
        refuse_repeated("columns", columns)
        absent = [name for name in self.names if name not in columns]
        unknown = [name for name in columns if name not in self.places]
        pairs = (("absent", absent), ("unknown", unknown))
        given = "; ".join(f"{word} {some(names)}" for word, names in pairs if names)
        hints = (f.how_computed for f in self.features if f.name in absent)
        hint = next(filter(None, hints), "")
        raise SchemaError(f"columns: {given}; expected just {some(self.names)}{hint}")

    def _shaped(self, array: NDArray[Any]) -> NDArray[Any]:
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != len(self.names):
            raise SchemaError(f"array: given shape {array.shape}, expected (n, {len(self.names)})")
        return array


def _only(codes: Floats) -> list[float]:
    if len(codes) != 1:
        raise SchemaError(f"given {len(codes)} rows, expected one person")
    one: list[float] = codes[0].tolist()
    return one


def as_array(column: pd.Series[Any]) -> NDArray[Any]:
    """A column's values; of the nullable types of pandas as floats or objects."""
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    if is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)
