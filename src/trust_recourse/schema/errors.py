"""What is wrong with a schema, or with a value given to one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from trust_recourse.io.wording import near, repeated, shortened, some

BLANK = "missing: [.nan] in YAML, missing=(None,) in Python"  # how blanks are declared missing


class SchemaError(ValueError):
    """What was given to a schema is not what it can hold; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def refuse_repeated(what: str, names: Collection[Any]) -> None:
    """Refuse names that occur more than once."""
    if twice := repeated(names):
        raise SchemaError(f"{what}: {twice}")


def no_feature(name: object, known: Collection[str], names: Collection[str] | None = None) -> str:
    """The message that no feature is called so, with the one that was meant."""
    hint = near(name, known) or f"; the features are {some(names or known)}"
    return f"no feature {name!r}{hint}"
