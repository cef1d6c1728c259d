"""Universal Binary JSON, as XGBoost writes it: read without believing any length that it declares.

See ubjson.org: a value is a mark and what belongs to it; numbers are big-endian.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.models.readers.columns import UnreadableError

DEEPEST = 64  # values within each other; a file of XGBoost has ten
_NUMBERS = {
    b"i": ">i1",
    b"U": ">u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
_WORDS = {b"Z": None, b"T": True, b"F": False}


def loads(data: bytes) -> Any:
    r"""The value in some bytes; arrays of one type are arrays of NumPy.

    >>> loads(b"{i\x01a[#i\x02U\x07Zi\x01b[$d#i\x01\x3f\x80\0\0}")
    {'a': [7, None], 'b': array([1.], dtype=float32)}
    """
    reader = _Reader(data)
    found = reader.value(reader.some(1), 0)
    if reader.at != len(data):
        raise UnreadableError(
            f"UBJSON: {len(data) - reader.at} bytes follow the value; remove them"
        )
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def some(self, size: int) -> bytes:
        """The next bytes."""
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise UnreadableError(
                f"UBJSON, byte {self.at}: {size} more bytes are declared, and there are "
                f"{len(self.data) - self.at}. Save the model again"
            )
        found, self.at = self.data[self.at : end], end
        return found

    def value(self, mark: bytes, depth: int) -> Any:
        """What belongs to a mark."""
        if depth > DEEPEST:
            raise UnreadableError(f"UBJSON: values are nested deeper than {DEEPEST}")
        if mark in _NUMBERS:
            return self._numbers(mark, 1)[0].item()
        if mark in _WORDS:
            return _WORDS[mark]
        if mark == b"S":
            return self.text()
        if mark == b"C":
            return self.some(1).decode("latin-1")
        if mark == b"[":
            return self._array(depth)
        if mark == b"{":
            return self._object(depth)
        raise UnreadableError(f"UBJSON, byte {self.at}: the mark {mark!r} is not known")

    def text(self) -> str:
        """A length and so many bytes."""
        return self.some(self._length()).decode("utf-8", "surrogateescape")

    def _length(self) -> int:
        return int(self.value(self.some(1), DEEPEST))

    def _numbers(self, mark: bytes, many: int) -> Any:
        kind = np.dtype(_NUMBERS[mark])
        found = np.frombuffer(self.some(many * kind.itemsize), kind)
        return found.astype(kind.newbyteorder("="))

    def _array(self, depth: int) -> Any:
        mark = self.some(1)
        if mark == b"$":
            kind, sign = self.some(1), self.some(1)
            if kind not in _NUMBERS or sign != b"#":
                raise UnreadableError(f"UBJSON, byte {self.at}: an array of {kind!r} is not known")
            return self._numbers(kind, self._length())
        if mark == b"#":
            many = self._length()
            if many > len(self.data) - self.at:  # each takes a byte at least
                self.some(many)
            return [self.value(self.some(1), depth + 1) for _ in range(many)]
        found = []
        while mark != b"]":
            found.append(self.value(mark, depth + 1))
            mark = self.some(1)
        return found

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (mark := self.some(1)) != b"}":
            self.at -= len(mark)
            if (name := self.text()) in found:
                raise UnreadableError(f"UBJSON, byte {self.at}: {name[:80]!r} is given twice")
            found[name] = self.value(self.some(1), depth + 1)
        return found
