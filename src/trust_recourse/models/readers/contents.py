"""What a library's file contains: its columns, their categories, and where blanks go."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trust_recourse.io.scalars import plain
from trust_recourse.models.readers.columns import ModelColumns
from trust_recourse.models.sums.ensemble import Tree


class Content(NamedTuple):
    """One column of a model's file."""

    column: str  # its name in the file, or its place where the file has no names
    feature: str  # of the schema
    splits: int | None  # of trees on it; None of a model without trees
    categories: tuple[Any, ...]  # that the file lists
    missing: str  # where a blank goes; "" where no split shows it

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return self._asdict() | {"categories": list(self.categories)}


def contents(read: Any, blanks: Any, columns: Any) -> tuple[Content, ...]:
    """The columns of a model that was read, in the order of its file where that has one.

    `blanks` is the same model as it is read if every number may be blank, None if none may.
    """
    own, names = (columns if isinstance(columns, ModelColumns) else None), read.schema_.names
    trees, with_blanks = _trees(read), _trees(blanks)
    found = []
    for place, f in enumerate(range(len(names)) if own is None else own.order):
        name = names[f] if own is None else str(own.names[place] if own.names else place)
        listed = own.categories.get(place, ()) if own else ()
        splits = sum(int((tree.feature == f).sum()) for tree in trees) if trees else None
        known = bool(with_blanks) and bool(blanks.schema_[f].missing)
        missing = _missing(with_blanks, f, blanks.schema_[f].numeric) if known else ""
        found.append(Content(name, names[f], splits, tuple(map(plain, listed)), missing))
    return tuple(found)


def _trees(read: Any) -> list[Tree]:
    models = getattr(read, "models", (read,))
    return [tree for model in models for tree in getattr(model, "trees", ())]


def _missing(trees: list[Tree], f: int, numeric: bool) -> str:
    """Where the splits on a feature send blanks."""
    left, edge, zero = (
        np.concatenate([getattr(tree, part)[tree.feature == f] for tree in trees])
        for part in ("missing_left", "edge", "zero_left")
    )
    if not len(left):
        return ""
    if (zero >= 0).any():
        return f"a blank and 0 go left at {left.sum():,} of {len(left):,} splits"
    if numeric and np.array_equal(left, edge >= 0):
        return "a blank is read as 0"
    return f"a blank goes left at {left.sum():,} of {len(left):,} splits"
