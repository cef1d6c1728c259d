"""`Same`: an object's identity as a key of caches."""

from __future__ import annotations

from typing import Any


class Same:
    """Stands for one object: equal only to itself, and kept alive while it is a key."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __hash__(self) -> int:
        return id(self.it)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.it is self.it
