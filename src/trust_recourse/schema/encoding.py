"""Rows in people's own values as codes, and back: columns are found by name, a person by itself."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from trust_recourse.io.frames import Table, as_pandas
from trust_recourse.io.scalars import Floats, plain
from trust_recourse.io.wording import some
from trust_recourse.schema.codes import Labels
from trust_recourse.schema.errors import SchemaError, refuse_repeated
from trust_recourse.schema.feature import Feature

Rows: TypeAlias = "Table | pd.Series[Any] | Mapping[str, Any]"
Person: TypeAlias = tuple[list[float], list[Any], Any]  # codes, values as given, and a label if any


class Encoding:
    """How rows of some features are read and written."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self.names = tuple(feature.name for feature in features)
        self.places = {name: at for at, name in enumerate(self.names)}
        self._last: tuple[pd.Index[Any], list[int]] | None = None

    def encode(self, X: Rows) -> Floats:
        """Rows as an (n, d) array of codes."""
        columns, rows = self._columns(X)
        each = zip(self.features, columns, strict=True)
        return np.column_stack([feature.codes.encode(column, rows) for feature, column in each])

    def decode(self, codes: Floats | Sequence[Any]) -> pd.DataFrame:
        """Codes in people's own values."""
        rows = self._shaped(np.asarray(codes, dtype=np.float64))
        table = {f.name: f.codes.decode(rows[:, at]) for at, f in enumerate(self.features)}
        return pd.DataFrame(table).infer_objects()

    def person(self, x: Rows) -> Person:
        """Read one person."""
        if isinstance(x, (pd.Series, Mapping)):
            given = self._in_order(x)
            codes = [f.code_of(value) for f, value in zip(self.features, given, strict=True)]
            return codes, given, x.name if isinstance(x, pd.Series) else None
        codes, (columns, rows) = _only(self.encode(x)), self._columns(x)
        return codes, [column[0] for column in columns], None if rows is None else rows[0]

    def checked(self, codes: Sequence[float] | Floats) -> list[float]:
        """One person's codes, each of which has a meaning."""
        one = _only(self._shaped(np.asarray(codes, float)))
        return [f.codes.check_one(code) for f, code in zip(self.features, one, strict=True)]

    def natural(self, codes: list[float], given: list[Any], label: Any) -> pd.Series[Any]:
        """One person as a Series in natural types."""
        values = np.empty(len(self.features), dtype=object)
        values[:] = [
            # A missing value keeps the person's own code: a feature may have several.
            plain(value) if math.isnan(code) else feature.value_of(code)
            for feature, value, code in zip(self.features, given, codes, strict=True)
        ]
        # A view, since the name of an index can be set.
        return pd.Series(values, index=self._index.view(), name=label, copy=False)

    @cached_property
    def _index(self) -> pd.Index[Any]:
        return pd.Index(list(self.names))

    def _columns(self, X: Rows) -> tuple[list[NDArray[Any]], Labels | None]:
        """Take the columns out of rows, and the rows' labels where they have some."""
        X = as_pandas(X)
        if isinstance(X, np.ndarray):
            return list(self._shaped(X).T), range(len(np.atleast_2d(X)))
        if isinstance(X, pd.DataFrame):
            self._match(X.columns)
            return [as_array(X[name]) for name in self.names], X.index
        if not isinstance(X, (pd.Series, Mapping)):
            kinds = "a DataFrame, a Series, a dict or an array"
            raise SchemaError(f"rows: given {type(X).__name__}, expected {kinds}")
        one = np.empty((len(self.names), 1), dtype=object)
        one[:, 0] = self._in_order(X)
        return list(one), None

    def _in_order(self, x: pd.Series[Any] | Mapping[str, Any]) -> list[Any]:
        """One person's values as given, in the features' order."""
        if isinstance(x, pd.Series):
            values = x.tolist()
            return [values[at] for at in self._order(x.index)]
        self._match(x.keys())
        return [x[name] for name in self.names]

    def _order(self, index: pd.Index[Any]) -> list[int]:
        """Where a person's index has each feature; all rows of a table have one and the same."""
        known = self._last
        if known is None or known[0] is not index:
            self._match(index)
            places = {name: at for at, name in enumerate(index.tolist())}
            known = self._last = index, [places[name] for name in self.names]
        return known[1]

    def _match(self, columns: Collection[Any]) -> None:
        if len(columns) == len(self.names) and all(name in columns for name in self.names):
            return
        refuse_repeated("columns", columns)
        absent = [name for name in self.names if name not in columns]
        unknown = [name for name in columns if name not in self.places]
        if absent or unknown:
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
