"""UBJSON as XGBoost writes it, read into the values that its JSON would give.

The library's own reader may crash on a file that was changed; this one raises `ValueError`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse import strict_json

_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_NUMBERS = {
    mark: np.dtype(kind)
    for mark, kind in ((b"i", ">i1"), (b"U", ">u1"), (b"I", ">i2"), (b"l", ">i4"), (b"L", ">i8"),
                       (b"d", ">f4"), (b"D", ">f8"))
}  # fmt: skip


def loads(data: bytes) -> Any:
    r"""The value that bytes stand for.

    >>> loads(b"{U\x01a[$U#U\x02\x05\x07U\x01bT}")
    {'a': [5, 7], 'b': True}
    """
    value, end = _value(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes after the end")
    return value


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """The value that begins at a byte, and where the next one does."""
    mark, at = data[at : at + 1], at + 1
    if mark in _CONSTANTS:
        return _CONSTANTS[mark], at
    if mark in _NUMBERS:
        (number,), end = _numbers(data, at, _NUMBERS[mark], 1)
        return number, end
    if mark == b"S":
        return _text(data, at)
    if mark == b"[" and data[at : at + 1] == b"$":
        kind, (count, start) = _NUMBERS[data[at + 1 : at + 2]], _value(data, at + 3)
        return _numbers(data, start, kind, count)
    if mark == b"[" and data[at : at + 1] == b"#":
        count, at = _value(data, at + 1)
        found = []
        for _ in range(len(_within(data, at, count))):  # each takes a byte or more
            value, at = _value(data, at)
            found.append(value)
        return found, at
    if mark == b"[":
        found = []
        while data[at : at + 1] != b"]":
            value, at = _value(data, at)
            found.append(value)
        return found, at + 1
    if mark == b"{":
        pairs = []
        while data[at : at + 1] != b"}":
            name, at = _text(data, at)
            value, at = _value(data, at)
            pairs.append((name, value))
        return strict_json.once(pairs), at + 1
    raise ValueError(f"byte {at - 1}: {mark!r} begins no value")


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = _value(data, at)
    return _within(data, at, size).decode(), at + size


def _numbers(data: bytes, at: int, kind: Any, count: int) -> tuple[list[Any], int]:
    held = _within(data, at, count * kind.itemsize)
    return np.frombuffer(held, kind).tolist(), at + len(held)


def _within(data: bytes, at: int, size: Any) -> bytes:
    if type(size) is not int or not 0 <= size <= len(data) - at:
        raise ValueError(f"byte {at}: cut short, or {size!r} where a size was expected")
    return data[at : at + size]
