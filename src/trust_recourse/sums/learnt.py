"""What a library's model has learnt, cheap to take and to compare with what it has later.

A model may be fitted again in place after it was read. Each reader names what it reads of a model,
by `learnt(model)`, and this file turns it into a value that is equal as long as nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

SHORT = 1 << 10  # bytes, up to which an array is kept as it is
_WALKED = ("scipy", "sklearn")  # libraries whose objects are what their attributes are


@dataclass(frozen=True, eq=False)
class Itself:
    """What is known by being the same object."""

    held: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.held is other.held

    __hash__ = object.__hash__


def attributes(model: Any, *names: str) -> Any:
    """What was learnt by these names; some models have not all of them."""
    return tuple(taken(getattr(model, name, None)) for name in names)


def taken(value: Any) -> Any:
    """A value that is equal to one taken later just if nothing in it has changed.

    >>> weights = np.array([1.0, 2.0])
    >>> before = taken([weights, "l2"])
    >>> before == taken([weights, "l2"])
    True
    >>> weights[0] = 3.0
    >>> before == taken([weights, "l2"])
    False
    """
    how = _KNOWN.get(type(value))
    if how is not None:
        return how(value)
    if isinstance(value, np.generic):
        return repr(value)
    if isinstance(value, Mapping):
        return _named(value)
    if hasattr(value, "__dict__") and type(value).__module__.partition(".")[0] in _WALKED:
        parts = vars(value)
        fitted = [name for name in parts if name + "_" not in parts]  # not what it was made of
        return type(value), *fitted, *[taken(parts[name]) for name in fitted]
    return Itself(value)


def _array(array: Any) -> Any:
    if array.dtype.hasobject:
        return array.shape, *array.ravel().tolist()
    if array.nbytes <= SHORT:
        return array.shape, array.dtype, array.tobytes()
    held: Any = np.ascontiguousarray(array)
    return array.shape, array.dtype, sha256(held).digest()


def _itself(value: Any) -> Any:
    return value


def _several(values: Iterable[Any]) -> Any:
    return tuple([taken(each) for each in values])


def _named(values: Mapping[Any, Any]) -> Any:
    return *values, *[taken(each) for each in values.values()]


_KNOWN: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys((bool, bytes, int, slice, str, type(None)), _itself),
    float: repr,  # in which NaN is itself
    np.ndarray: _array, list: _several, tuple: _several, dict: _named,
}  # fmt: skip
