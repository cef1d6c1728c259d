"""What values are called on paper: decided once for a whole schema, so that no two are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result
    from trust_recourse.schema import Schema


def titled(result: Result, shown: Callable[[str], str]) -> Result:
    """The same result in a schema whose titles are as they are shown, and all different."""
    recourse = copy(result.recourse)
    for name, title in titles(recourse.schema, shown).items():
        if title != recourse.schema[name].title:
            recourse.schema = recourse.schema.update(name, label=title)
    return (
        result if recourse.schema is result.recourse.schema else replace(result, recourse=recourse)
    )


def titles(schema: Schema, shown: Callable[[str], str]) -> dict[str, str]:
    """A title for each feature: its own, else its name, with a number where neither is unique."""
    own = {feature.name: shown(feature.title) for feature in schema}
    many = Counter(own.values())
    told: dict[str, str] = {}
    for name, title in own.items():
        first = title if many[title] == 1 else shown(name)
        known = set(told.values())
        tried = chain([first], (f"{first} ({n})" for n in count(2)))
        told[name] = next(each for each in tried if each not in known)
    return told
