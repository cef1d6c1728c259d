"""A library's own model as the referee: asked again by rows, and compared with what was read of it.

A model may be fitted again, or changed by hand, after it was read. Each reader lists what it reads
of a model by `fitted_parts(model)`. Their state is taken when a model is read and compared at every
question. It takes microseconds, so arrays are compared by their bytes, long ones by a digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io.arrays import Floats
from trust_recourse.io.frames import single
from trust_recourse.io.wording import some
from trust_recourse.models.readers.columns import ModelColumns, UnreadableError
from trust_recourse.models.readers.steps import People

_READERS = {  # of the classes of a library, by its name
    "catboost": ("catboost",),
    "interpret": ("interpret",),
    "lightgbm": ("lightgbm",),
    "sklearn": ("sklearn", "linear", "pipelines"),
    "scorecard": ("scorecard",),
    "xgboost": ("xgboost",),
}

SHORT = 1 << 10  # bytes, up to which an array is kept as it is
REAL = float, np.floating
NAN = "NaN"  # stands for one, which is not equal to itself
_LIBRARIES = ("scipy", "sklearn")  # whose objects are what their attributes are
_PLAIN = frozenset((bool, bytes, float, int, slice, str, type(None)))


def _reader_of(kind: type) -> Any:
    """The module that reads models of a class, known by its name, so that no library is loaded."""
    library = kind.__module__.removeprefix(f"{__package__}.").partition(".")[0]
    readers = (import_module(f"{__package__}.{each}") for each in _READERS.get(library, ()))
    return next((reader for reader in readers if kind.__name__ in reader.NAMES), None)


reader_of: Callable[[type], Any] = cache(_reader_of)


class Library(NamedTuple):
    """A model of a library, to be asked by rows of codes of a schema."""

    model: Any
    columns: ModelColumns | People | None  # None: there is no library, so nobody to ask
    asked: Floats | None = None  # rows of codes of which it said the same when its model was read

    def predict_proba(self, codes: Floats) -> Floats:
        """What the library itself says, (n, 2)."""
        assert self.columns is not None
        return self._said(self.columns.rows(codes))

    def told(self, X: pd.DataFrame) -> Floats:
        """What the library itself says of rows as any table has them, (n, 2)."""
        assert self.columns is not None
        return self._said(self.columns.table(X))

    def _said(self, X: Any) -> Floats:
        said: Floats = reader_of(type(self.model)).predict_proba(self.model, X)
        return said

    def refuse_single(self, X: Any) -> None:
        """Refuse rows of float32 where the library computes in the type of the table.

        Its confidences of these rows would differ by rounding from those of the same values.
        """
        kind = type(self.model)
        if getattr(reader_of(kind), "IN_TYPE_OF_TABLE", False) and (names := single(X)):
            raise UnreadableError(
                f"x, {some(names)}: given float32. A {kind.__name__} computes in the type of the "
                "table, and what is said here is true of float64: expected that. "
                "Convert rows with X.astype(float), here and wherever the model is asked"
            )


# ---------------------------------------------------------------- is it still the same model


@dataclass(frozen=True, eq=False)
class Identity:
    """An object that is compared by being the same one."""

    held: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.held is other.held

    __hash__ = object.__hash__


def state_of(value: Any) -> list[Any]:
    """A list that is equal to one taken later just if nothing in the value has changed.

    >>> weights = np.array([1.0, 2.0])
    >>> before = state_of([weights, "l2"])
    >>> before == state_of([weights, "l2"])
    True
    >>> weights[0] = 3.0
    >>> before == state_of([weights, "l2"])
    False
    >>> state_of([[], 0]) == state_of([0, []]), state_of(np.nan) == state_of(float("nan"))
    (False, True)
    """
    state: list[Any] = []
    _add(value, state)
    return state


def _add(value: Any, state: list[Any]) -> None:
    kind: Any = type(value)
    walk = _walk_of(kind)
    if walk == "itself":
        state.append(NAN if isinstance(value, REAL) and value != value else value)
    elif walk == "array":
        _add_array(value, state)
    elif walk == "object":
        state.append(Identity(value))
    else:
        if walk == "sequence":
            state += (kind, len(value))
            inside = value
        elif walk == "mapping":
            state += (kind, len(value), *value)
            inside = value.values()
        elif walk == "attributes":
            parts = vars(value)
            names = _fitted(tuple(parts))
            state += (kind, names)
            inside = [parts[name] for name in names]
        else:
            state.append(kind)
            inside = walk(value)
        for each in inside:
            if type(each) in _PLAIN:
                state.append(NAN if isinstance(each, REAL) and each != each else each)
            else:
                _add(each, state)


@cache
def _walk_of(kind: Any) -> Any:
    """How an object of this type is walked: by its reader, or by what its attributes are."""
    if kind in _PLAIN or issubclass(kind, (np.generic, np.dtype, type, Identity)):
        return "itself"
    if kind is np.ndarray:
        return "array"
    if kind is list or kind is tuple:
        return "sequence"
    if issubclass(kind, Mapping):
        return "mapping"
    if parts := getattr(reader_of(kind), "fitted_parts", None):
        return parts
    walked = kind.__dictoffset__ and kind.__module__.partition(".")[0] in _LIBRARIES
    return "attributes" if walked else "object"


def _add_array(array: Any, state: list[Any]) -> None:
    state += (array.shape, array.dtype)
    if array.dtype.hasobject:
        for each in array.ravel().tolist():
            state.append(NAN if isinstance(each, REAL) and each != each else each)
    elif array.nbytes <= SHORT:
        state.append(array.tobytes())
    else:
        held: Any = np.ascontiguousarray(array)
        state.append(sha256(held).digest())


@lru_cache(maxsize=1024)
def _fitted(names: tuple[str, ...]) -> tuple[str, ...]:
    """The attributes of an object, without the settings that a fitted attribute repeats."""
    fitted = any(name.endswith("_") for name in names)  # then `estimator` is a template
    return tuple(
        name for name in names if f"{name}_" not in names and not (fitted and name == "estimator")
    )
