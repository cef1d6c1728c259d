"""What a library's model has learnt, cheap to take and to compare with what it has later.

A model may be fitted again in place after it was read. Each reader names what it reads of a model,
by `learnt(model)`, and this file turns it into a value that is equal as long as nothing changed.
Where attributes and arrays are all that a model is, a `Watch` sees sooner that nothing was touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from operator import is_
from typing import Any

import numpy as np

from trust_recourse.models.readers.columns import UnreadableError

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
    if _walked(value):
        parts = _fitted(value)
        return type(value), *parts, *[taken(each) for each in parts.values()]
    return Itself(value)


def _walked(value: Any) -> bool:
    """Whether an object is what its attributes are."""
    return hasattr(value, "__dict__") and type(value).__module__.partition(".")[0] in _WALKED


def _fitted(value: Any) -> dict[str, Any]:
    """The attributes of an object, without those that it was made of."""
    parts = vars(value)
    return {name: each for name, each in parts.items() if name + "_" not in parts}


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


class Watch:
    """Sees at a glance whether anything was touched of what `taken` would walk through.

    It holds all objects, dicts, lists and arrays inside, and knows them by what they hold: the very
    same things, and of arrays of numbers the same bytes. In another process all of these are
    others, so it is not taken along: what is sent there in its place is None.

    >>> weights = np.array([1.0, 2.0])
    >>> watch = Watch([weights, "l2"])
    >>> watch.untouched()
    True
    >>> weights[0] = 3.0
    >>> watch.untouched()
    False
    """

    def __init__(self, value: Any) -> None:
        self._objects: list[Any] = []
        self._dicts: list[Mapping[Any, Any]] = []
        self._lists: list[list[Any]] = []
        self._words: list[Any] = []  # arrays of objects
        self._numbers: list[Any] = []
        self._walk(value)
        self._held, self._bytes = self._now()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    def untouched(self) -> bool:
        """Whether all is as it was when this was made."""
        held, now = self._now()
        same = len(held) == len(self._held) and all(map(is_, held, self._held))
        return same and now == self._bytes

    def _now(self) -> tuple[list[Any], list[tuple[Any, bytes]]]:
        dicts = [*map(vars, self._objects), *self._dicts]
        words = [each.ravel().tolist() for each in self._words]
        values = [each.values() for each in dicts]
        held = [*chain.from_iterable((*dicts, *values, *self._lists, *words))]
        return held, [(each.shape, each.tobytes()) for each in self._numbers]

    def _walk(self, value: Any) -> None:
        inside: Iterable[Any] = ()
        if isinstance(value, np.ndarray):
            (self._words if value.dtype.hasobject else self._numbers).append(value)
        elif isinstance(value, (list, tuple)):
            inside = value
            if isinstance(value, list):
                self._lists.append(value)
        elif isinstance(value, Mapping):
            self._dicts.append(value)
            inside = value.values()
        elif _walked(value):
            self._objects.append(value)
            inside = _fitted(value).values()
        elif hasattr(value, "fit"):
            raise UnreadableError(f"what {type(value).__name__} learns is not seen from outside")
        for each in inside:
            self._walk(each)
