"""What a library's model has learnt, cheap to take and to compare with what it has later.

A model may be fitted again in place after it was read. Each reader names what it reads of a model,
by `learnt(model)`, and this file turns it into a value that is equal as long as nothing changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

PLAIN = (bool, bytes, int, slice, str, type(None))


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
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, (float, np.generic)):
        return repr(value)  # in which NaN is itself
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, _content(value)
    if isinstance(value, (list, tuple)):
        return tuple(map(taken, value))
    if isinstance(value, Mapping):
        return tuple((taken(key), taken(each)) for key, each in value.items())
    if type(value).__module__.partition(".")[0] in ("sklearn", "scipy") and hasattr(
        value, "__dict__"
    ):
        return type(value).__name__, taken(vars(value))
    return Itself(value)


def _content(array: Any) -> bytes | str:
    if array.dtype.hasobject:
        return repr(array.tolist())
    held: Any = np.ascontiguousarray(array)
    return sha256(held).digest()
