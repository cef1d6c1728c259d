"""The words of `words.yaml`, which is read when a guess first needs one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

EDUCATION = "education"  # a scale


class Attribute(NamedTuple):
    """What a law protects, and the words by which columns are named for it: see `words.yaml`."""

    title: str
    sure: frozenset[str]
    bare: frozenset[str]
    phrases: tuple[str, ...]
    names: Mapping[str, int]
    stems: tuple[str, ...]
    groups: frozenset[str]


@cache
def _read() -> dict[str, Any]:
    text = files(__package__).joinpath("words.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is
    found: dict[str, Any] = yaml.load(text, Loader=loader)
    return found


@cache
def word_set(*names: str) -> frozenset[str]:
    """The words of one list, or of several.

    >>> sorted(word_set("colours"))
    ['black', 'caucasian', 'white']
    """
    return frozenset(word for name in names for word in _read()["words"][name].split())


@cache
def alternatives(name: str) -> str:
    """The alternatives of a pattern, as a group."""
    return f"({'|'.join(_read()['patterns'][name])})"


@cache
def time_units() -> dict[str, str]:
    """The unit of time that a word stands for, each unit itself included."""
    times = _read()["times"].items()
    return {word: unit for unit, words in times for word in (unit, *words.split())}


@cache
def scales() -> dict[str, dict[str, int]]:
    """The known orders by name: each word's place, from low to high."""
    return {
        name: {word: at for at, words in enumerate(order) for word in words.split(", ")}
        for name, order in _read()["scales"].items()
    }


def column_pattern(scale: str) -> str | None:
    """The pattern of names of columns whose equivocal words mean a scale, if it has one."""
    found: str | None = _read()["named"].get(scale)
    return found


@cache
def attributes() -> tuple[Attribute, ...]:
    """What laws protect."""
    return tuple(
        Attribute(
            each["title"],
            frozenset(each.get("sure", "").split()),
            frozenset(each.get("bare", "").split()),
            tuple(filter(None, each.get("phrases", "").split(", "))),
            each.get("names", {}),
            tuple(each.get("stems", "").split()),
            frozenset(each.get("groups", "").split()),
        )
        for each in _read()["attributes"]
    )
