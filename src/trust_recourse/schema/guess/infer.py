"""A first schema from data: kinds by dtype, observed bounds and scales, decimal steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_float_dtype

from trust_recourse.io.frames import as_pandas
from trust_recourse.io.scalars import Floats, Value, is_number, plain, scalars
from trust_recourse.io.wording import near, some
from trust_recourse.schema.checks import Kind
from trust_recourse.schema.errors import SchemaError, refuse_repeated
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.guess.scale import ALIKE, alike, spread

_Codes: TypeAlias = Value | Sequence[Value | None]
MissingCodes: TypeAlias = _Codes | Mapping[str, _Codes] | None

_KIND_HELD: dict[str, Kind] = {
    "boolean": "boolean",
    "integer": "integer",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "string": "category",
}
PLACES = 10  # decimal places that are tried
USUAL = 0.99  # of the values that a column has: what fewer ask for is astray
STRAY = 3  # places more than is usual
FINEST = -12  # exponent of the smallest step; finer columns are continuous


def as_table(X: Any) -> pd.DataFrame:
    """Data with a name for each column, or an error that says what is wrong with it."""
    X = as_pandas(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = pd.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])])
    if not isinstance(X, pd.DataFrame):
        raise SchemaError(f"data: given {type(X).__name__}, expected a DataFrame or a 2-D array")
    if X.empty:
        raise SchemaError(f"data: given shape {X.shape}, expected at least one row and column")
    refuse_repeated("columns", X.columns)
    if odd := [name for name in X.columns if not isinstance(name, str)]:
        hint = "rename them: X.columns = X.columns.astype(str)"
        raise SchemaError(f"columns: given {some(odd)}, expected names as text; {hint}")
    return X


def features_of(X: Any, missing: MissingCodes) -> tuple[pd.DataFrame, tuple[Feature, ...]]:
    """A table with its features: see `Schema.infer`."""
    table = as_table(X)
    _refuse_target(missing, len(table))
    everywhere = not isinstance(missing, Mapping)
    if missing is None or isinstance(missing, Mapping):
        named = missing or {}
    else:
        named = dict.fromkeys(table.columns, missing)
    if unknown := [name for name in named if name not in table.columns]:
        hint = near(unknown[0], table.columns)
        raise SchemaError(f"missing: no column {unknown[0]!r}{hint}")
    codes = {n: scalars(named[n]) if n in named else () for n in table.columns}
    refuse_unfinished(table, codes)
    return table, tuple(inferred(table[n], codes[n], everywhere) for n in table.columns)


def _refuse_target(missing: Any, rows: int) -> None:
    """Refuse a column in place of codes: a target that was given next to the table."""
    if np.ndim(missing) == 0:
        return
    codes = isinstance(missing, (list, tuple, np.ndarray)) and np.ndim(missing) == 1
    if not codes or (len(missing) == rows and len(set(scalars(missing))) < rows):
        raise SchemaError(
            f"missing: given {type(missing).__name__} of {len(missing)} values, expected the codes "
            "that mean missing, such as -9; a target is no part of a schema: Schema.infer(X)"
        )


def refuse_unfinished(table: pd.DataFrame, codes: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse blanks that were not declared missing, and infinities, by column."""
    blank = [name for name in table if None not in codes[str(name)] and table[name].isna().any()]
    if blank:
        hint = "fill them, or declare them missing: Schema.infer(X, missing=float('nan'))"
        raise SchemaError(f"columns with blanks (NaN): {some(blank)}; {hint}")
    floats = [name for name in table if is_float_dtype(table[name].dtype)]
    infinite = [n for n in floats if np.isinf(table[n].to_numpy(float, na_value=0)).any()]
    if infinite:
        raise SchemaError(f"columns with infinite values: {some(infinite)}; expected finite ones")


def inferred(column: pd.Series[Any], codes: tuple[Any, ...], everywhere: bool) -> Feature:
    """The feature that a column of data suggests."""
    name = str(column.name)
    gone = column.isna() | column.isin([code for code in codes if code is not None])
    found = {plain(code) for code in column[gone].unique()}
    known = column[~gone]
    if known.empty:
        raise SchemaError(f"column {name!r}: every value is missing; drop the column")
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = [plain(value) for value in column.dtype.categories if value not in codes]
        kind: Kind = "ordinal" if column.dtype.ordered else "category"
    else:
        kind, values = _kind_held(name, known), []
    if everywhere:
        counts = kind in ("number", "integer")
        codes = tuple(code for code in codes if code in found or (counts and is_number(code)))
    if kind == "category":
        return Feature(name, kind, tuple(values or map(plain, known.unique())), missing=codes)
    if kind == "ordinal":
        return Feature(name, kind, tuple(values), scale=max(len(values) - 1.0, 1.0), missing=codes)
    if kind == "boolean":
        return Feature(name, kind, missing=codes)
    numbers = known.to_numpy(dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    scale = spread(name, numbers, "range")
    raw = known.to_numpy().dtype
    rounding = 4 * float(np.finfo(raw if raw.kind == "f" else np.float64).eps)
    rounding = max(rounding, ALIKE) if alike(low, high) else rounding
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


def _decimal_step(numbers: Floats, scale: float, rounding: float) -> float | None:
    """Find the largest 10^-k, k ≤ 9, that divides every number; else about scale / 10^4.

    None, which is continuous, stands for a step below 10^-12: nobody counts in such decimals.

    A stray value with many places more than nearly all others, such as 9.899999, has no say.
    """
    numbers, needed, usual = np.unique(numbers), PLACES, PLACES
    with np.errstate(over="ignore", invalid="ignore"):
        for places in reversed(range(PLACES)):
            tens = 10.0**places
            off = np.abs(np.rint(numbers * tens) / tens - numbers)
            share = float((off <= rounding * np.abs(numbers)).mean())
            needed = places if share == 1.0 else needed
            usual = places if share >= USUAL else usual
    found = usual if needed - usual >= STRAY else needed
    if found < PLACES:
        return float(f"1e-{found}")
    exponent = math.floor(math.log10(scale)) - 4
    return float(f"1e{exponent}") if exponent >= FINEST else None
