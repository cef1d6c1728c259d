"""Dataclasses as JSON objects, strict both ways: every field, no other, each of its type."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from trust_recourse.io.scalars import is_number

UNIONS = (Union, types.UnionType)


@dataclass(frozen=True, kw_only=True)
class JsonRecord:
    """A dataclass whose fields are those of a JSON object, all of them, by name and type.

    `from_` and `if_` stand for `from` and `if`.
    """

    # for pydantic, by which the service describes and checks what it sends
    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "use_attribute_docstrings": True,
        "alias_generator": lambda name: name.rstrip("_"),
    }

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {each.name.rstrip("_"): _plain(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, told: Any) -> Self:
        """Read what `to_dict` wrote; `TypeError` names what is absent, unknown or of another type.

        >>> @dataclass(frozen=True, kw_only=True)
        ... class Change(JsonRecord):
        ...     from_: float
        ...     to: float | None
        >>> Change.from_dict({"from": 1, "to": None}).to_dict()
        {'from': 1, 'to': None}
        >>> Change.from_dict({"from": 1})
        Traceback (most recent call last):
        TypeError: Change: expected from, to; given from
        """
        kinds = cls._kinds()
        if not isinstance(told, dict) or told.keys() != kinds.keys():
            given = ", ".join(map(str, told)) if isinstance(told, dict) else repr(told)
            raise TypeError(f"{cls.__name__}: expected {', '.join(kinds)}; given {given}")
        return cls(**{own: _read(of, told[name], name) for name, (own, of) in kinds.items()})

    @classmethod
    @cache
    def _kinds(cls) -> dict[str, tuple[str, Any]]:
        """By the names in JSON: each field's own name and its type, which take long to find out."""
        types = get_type_hints(cls)
        return {each.name.rstrip("_"): (each.name, types[each.name]) for each in fields(cls)}


def _plain(value: Any) -> Any:
    if isinstance(value, JsonRecord):
        return value.to_dict()
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value


def _read(kind: Any, told: Any, name: str) -> Any:
    """A value of a type, from JSON."""
    origin, of = get_origin(kind), get_args(kind)
    if not _fits(kind, told):
        raise TypeError(f"{name}: given {told!r}")
    if origin in UNIONS:
        return _read(next(each for each in of if _fits(each, told)), told, name)
    if origin is tuple:
        return tuple(_read(of[0], each, f"{name}.{at}") for at, each in enumerate(told))
    if origin is dict:
        return {key: _read(of[1], each, f"{name}.{key}") for key, each in told.items()}
    return kind.from_dict(told) if _is_record(kind) else told


def _fits(kind: Any, told: Any) -> bool:
    """Whether a value of JSON can be of a type, whatever is in it."""
    origin = get_origin(kind)
    if origin in UNIONS:
        return any(_fits(each, told) for each in get_args(kind))
    if origin is Literal:
        return told in get_args(kind)
    if kind is Any or kind is float:
        return kind is Any or is_number(told)
    as_json = dict if _is_record(kind) else {tuple: list}.get(origin, origin or kind)
    return type(told) is as_json


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, JsonRecord)
