"""Tables of other libraries, such as polars or pyarrow: read as pandas, given back as their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import NDArray

Table: TypeAlias = IntoDataFrame | NDArray[Any]
Frame = TypeVar("Frame", bound=IntoDataFrame)

SINGLE = np.float16, np.float32
SINGLES = frozenset(("float16", "float32", "float[pyarrow]", "halffloat[pyarrow]"))
OURS = (pd.DataFrame, pd.Series, np.ndarray, Mapping, list, tuple, type(None))


def as_pandas(X: Any) -> Any:
    """A table of another library as pandas; anything else as it is.

    Blanks (null) become NaN or None, an Enum a category with all its values.
    """
    frame = _frame(X)
    return X if frame is None else pd.DataFrame({c.name: _column(c) for c in frame.iter_columns()})


def as_given(table: pd.DataFrame, X: Frame | NDArray[Any]) -> Frame:
    """A table that was made of X, in the library that X came from; blanks are null there."""
    frame = _frame(X)
    if frame is None:
        return table  # type: ignore[return-value]  # X is pandas then, or an array
    columns = {
        str(name): column.astype(object).where(column.notna(), None).tolist()
        for name, column in table.items()
    }
    made: Frame = nw.from_dict(columns, backend=frame.implementation).to_native()
    return made


def single(X: Any) -> list[str]:
    """The columns of a table, or of one row, that hold floats of less than double precision.

    >>> single({"age": 40, "pay": np.float32(0.1)}), single(np.zeros((1, 2)))
    (['pay'], [])
    """
    if isinstance(X, pd.DataFrame):
        return [
            str(name)
            for name, column in X.items()
            if str(column.dtype).lower() in SINGLES
            or (column.dtype == object and any(isinstance(value, SINGLE) for value in column))
        ]
    if isinstance(X, Mapping) or (isinstance(X, pd.Series) and X.dtype == object):
        return [str(name) for name, value in X.items() if isinstance(value, SINGLE)]
    if (frame := _frame(X)) is not None:
        return [name for name, kind in frame.schema.items() if kind == nw.Float32]
    dtype = getattr(X, "dtype", None)
    return ["every column"] if str(dtype).lower() in SINGLES else []


def _frame(X: Any) -> nw.DataFrame[Any] | None:
    if isinstance(X, OURS):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _column(column: Any) -> Any:
    kind, values = column.dtype, column.to_list()
    blank = None in values
    if isinstance(kind, nw.Enum):
        return pd.Categorical(values, categories=list(kind.categories))
    if kind.is_integer():
        return pd.array(values, dtype="Int64") if blank else np.array(values)
    if kind == nw.Boolean:
        return pd.array(values, dtype="boolean") if blank else np.array(values)
    return np.array(values, dtype=np.float64 if kind.is_float() else object)
