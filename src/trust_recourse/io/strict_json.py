"""JSON from third parties: read as the standard has it, and refused where it has no meaning."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

DEEPEST = 16  # lists and objects within each other; no file of ours has half as many
LARGEST = int(sys.float_info.max)
PLAIN = frozenset((int, float, bool, type(None)))


def loads(text: str | bytes) -> Any:
    """Read JSON as RFC 8259 has it: no constants that Python adds, and each name once.

    Whatever is wrong with it is a `ValueError` with a sentence.

    >>> loads('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: 'a' is given more than once in one object
    """
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=once)
    except RecursionError:
        raise ValueError("It is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, at letter {error.pos}") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which every name says one thing: of two values readers may take either."""
    found = dict(pairs)
    if len(found) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{name[:80]!r} is given more than once in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON; a blank is null")


def refuse_unusable(given: Any) -> None:
    """Refuse what JSON can say and nothing here can mean, level by level.

    That is a whole number beyond every float, half of a letter that UTF-16 writes as two, and what
    is nested deeper than `DEEPEST`; and whatever JSON cannot say.

    >>> refuse_unusable({"weight": [10**309]})
    Traceback (most recent call last):
    ValueError: a whole number beyond every float
    """
    level = [given]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for each in level:
            kind = type(each)
            if kind is int and not -LARGEST <= each <= LARGEST:
                raise ValueError("a whole number beyond every float")
            if kind in PLAIN:
                continue
            if kind is str:
                _refuse_halves(each)
            elif isinstance(each, Mapping):
                below += (*each.keys(), *each.values())
            elif isinstance(each, (list, tuple)):
                below += each
            else:
                raise ValueError(f"given {kind.__name__}, expected what JSON can say")
        if not below:
            return
        level = below
    raise ValueError(f"nested deeper than {DEEPEST} lists and objects")


def _refuse_halves(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text[:80]!r} is no text: it holds half a letter") from None
