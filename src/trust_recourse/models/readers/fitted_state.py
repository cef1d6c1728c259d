"""The fitted state of a library's model: a value that is equal as long as nothing in it changes.

A model may be fitted again, or changed by hand, after it was read. Each reader names what it reads
of a model by `fitted_state(model)`, which is taken when a model is read and compared at every
question. It takes microseconds, so arrays are compared by their bytes, long ones by a digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

SHORT = 1 << 10  # bytes, up to which an array is kept as it is
REAL = float, np.floating
NAN = "NaN"  # stands for one, which is not equal to itself
_LIBRARIES = ("scipy", "sklearn")  # whose objects are what their attributes are
_PLAIN = frozenset((bool, bytes, float, int, slice, str, type(None)))


@dataclass(frozen=True, eq=False)
class Identity:
    """An object that is compared by being the same one."""

    held: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.held is other.held

    __hash__ = object.__hash__


def attributes(model: Any, *names: str) -> list[Any]:
    """The state of attributes by name; some models have not all of them."""
    return state_of([getattr(model, name, None) for name in names])


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
        else:
            parts = vars(value)
            names = _fitted(tuple(parts))
            state += (kind, names)
            inside = [parts[name] for name in names]
        for each in inside:
            if type(each) in _PLAIN:
                state.append(NAN if isinstance(each, REAL) and each != each else each)
            else:
                _add(each, state)


@cache
def _walk_of(kind: Any) -> str:
    """How an object of this type is walked; attributes are all that one of a library is."""
    if kind in _PLAIN or issubclass(kind, (np.generic, np.dtype, type)):
        return "itself"
    if kind is np.ndarray:
        return "array"
    if kind is list or kind is tuple:
        return "sequence"
    if issubclass(kind, Mapping):
        return "mapping"
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
    return tuple(name for name in names if f"{name}_" not in names)
