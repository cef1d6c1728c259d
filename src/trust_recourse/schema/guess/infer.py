"""A first schema from data: kinds by dtype, observed bounds and scales, decimal steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_float_dtype

from trust_recourse.io.frames import as_pandas
from trust_recourse.io.scalars import Floats, Value, is_number, plain, scalars
from trust_recourse.io.wording import near, some
from trust_recourse.schema.checks import Kind
from trust_recourse.schema.errors import SchemaError, refuse_repeated
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.multiples import plus

if TYPE_CHECKING:
    from trust_recourse.schema.encoding import Rows
    from trust_recourse.schema.table import Schema

_Codes: TypeAlias = Value | Sequence[Value | None]
Scale = Literal["range", "mad", "quantile", "robust"]
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
QUANTILES = (0.05, 0.95)
ALIKE = 1e-12  # of the greatest value: a smaller spread is the rounding of a constant
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
    given = () if missing is None else missing
    named = given if isinstance(given, Mapping) else dict.fromkeys(table.columns, given)
    if unknown := [name for name in named if name not in table.columns]:
        hint = near(unknown[0], table.columns)
        raise SchemaError(f"missing: no column {unknown[0]!r}{hint}")
    codes = {name: scalars(named.get(name, ())) for name in table.columns}
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


# ---------------------------------------------------------------- how far apart values are


def alike(low: float, high: float) -> bool:
    """Whether the least and the greatest value are the same but for rounding.

    >>> alike(0.3, 0.1 + 0.2), alike(1e-15, 2e-15)
    (True, False)
    """
    return high - low <= ALIKE * max(-low, high)


def spread(name: str, numbers: Floats, scale: Scale) -> float:
    """The scale of a column of known numbers; 1 where they are all the same, but for rounding.

    "range" is the greatest less the least. "mad" is the median distance from the median; where
    more than half of the values are alike it would be 0, and the mean distance from the median
    stands in. "robust" is the 95% quantile less the 5% quantile, both values themselves, so that
    one value far away has no say even among few; where half of the values or more are alike, it is
    the 95% quantile of how far the others are from those. "quantile" is the 95% quantile less the
    5% quantile, or as "robust" where the two are the same.

    >>> spread("x", np.array([1.0, 2.0, 3.0, 4.0, 100.0]), "mad")
    1.0
    >>> paid = np.array([20.0] * 96 + [320, 420, 520, 1_700_000])
    >>> [round(spread("x", paid, scale)) for scale in ("range", "quantile", "robust")]
    [1699980, 500, 500]
    """
    if not numbers.size:
        raise SchemaError(f"column {name!r}: every value is missing; give rows where some are not")
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite(high - low):
        raise SchemaError(
            f"column {name!r}: values from {low} to {high}; expected finite ones, less far apart"
        )
    if alike(low, high):
        return 1.0
    found = 0.0
    if scale == "mad":
        away = np.abs(numbers - np.median(numbers))
        found = float(np.median(away)) or float(away.mean())
    elif scale == "quantile":
        below, above = np.quantile(numbers, QUANTILES)
        found = float(above - below) or _usual(numbers)
    elif scale == "robust":
        found = _usual(numbers)
    return found or plus(high, -low) or 1.0


def rescaled(schema: Schema, X: Rows, scale: Scale) -> Schema:
    """The schema with the scales of numbers and integers from data; bounds and other kinds stay.

    `spread` has what each scale is. A column that is constant has scale 1; missing values do not
    count.

    >>> from trust_recourse.schema import Schema
    >>> table = np.array([[1], [2], [3], [4], [100]])
    >>> rescaled(Schema.infer(table), table, "mad")["x0"].scale
    1.0
    """
    known = get_args(Scale)
    if scale not in known:
        expected = f"expected one of {', '.join(known)}{near(scale, known)}"
        raise SchemaError(f"scale={scale!r}; {expected}")
    features = (
        replace(feature, scale=spread(feature.name, codes[~np.isnan(codes)], scale))
        if feature.numeric
        else feature
        for feature, codes in zip(schema.features, schema.encode(X).T, strict=True)
    )
    return replace(schema, features=tuple(features))


def _usual(numbers: Floats) -> float:
    """How far the usual values are apart, or from the commonest, if half or more are that."""
    values, counts = np.unique(numbers, return_counts=True)
    commonest = float(values[counts.argmax()])
    if 2 * int(counts.max()) < len(numbers):
        below = np.quantile(numbers, QUANTILES[0], method="higher")
        above = np.quantile(numbers, QUANTILES[1], method="lower")
        return plus(float(above), -float(below))
    others = numbers[numbers != commonest]
    if not others.size:
        return 0.0
    by = np.argsort(np.abs(others - commonest), kind="stable")
    return abs(plus(float(others[by[int(QUANTILES[1] * (len(by) - 1))]]), -commonest))
