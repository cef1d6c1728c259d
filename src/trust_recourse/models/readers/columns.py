"""What a library sees of a row, in the schema's terms: its columns, categories and missing values.

A model is taken to be given people's own values: numbers and booleans as they are, so a code such
as -9 that means missing as the number it is, and blanks as NaN; of a category or ordinal the number
that it is, or its place in the library's own list of categories.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io.arrays import Bools, Floats, Ints
from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import shortened, some
from trust_recourse.models.sums.ensemble import ZERO, Tree, labels, listed, longest
from trust_recourse.schema import Feature, Schema
from trust_recourse.schema.errors import BLANK


class UnreadableError(ValueError):
    """A model that cannot be read exactly, with the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class Chosen(NamedTuple):
    """The numbers of categories that a split picks, and whether these are what goes left."""

    codes: Ints
    left: bool


class Nodes(NamedTuple):
    """A tree as a library has it: the root is node 0, and a leaf has a negative left child."""

    column: Ints
    edge: Floats  # the greatest double that goes left
    nan_left: Bools
    left: Ints
    right: Ints
    value: Floats  # (nodes, outputs)
    chosen: Mapping[int, Chosen] = {}
    zero_missing: Bools | None = None  # whether what is read as 0 goes where NaN goes


@dataclass(frozen=True)
class ModelColumns:
    """The schema's feature of each column of a model, and what the model sees of its values."""

    schema: Schema
    names: Sequence[str] | None  # of the columns, where the model has any
    order: tuple[int, ...]
    categories: Mapping[int, Sequence[Any]]  # of each column known by places in a list, that list
    seen: tuple[Floats, ...]  # of each feature: of the values it lists, then of its missing codes

    @classmethod
    def of(
        cls, schema: Schema, names: Sequence[str] | None, n: int,
        categories: Mapping[int, Sequence[Any]],
    ) -> ModelColumns:  # fmt: skip
        """Of a model of n columns."""
        order = order_of(schema, names, n)
        known = {order[column]: values for column, values in categories.items()}
        seen = (_seen(schema, f, known.get(f)) for f in range(len(schema)))
        return cls(schema, names, order, categories, tuple(seen))

    def rows(self, codes: Floats) -> Any:
        """Rows of codes as the library takes them: doubles, places in its lists as categories."""
        columns = [self._column(column, codes[:, f]) for column, f in enumerate(self.order)]
        if self.names is None and not self.categories:
            return np.column_stack(columns)
        names = self.names or range(len(columns))
        return pd.DataFrame(dict(zip(names, columns, strict=True)))

    def table(self, X: pd.DataFrame) -> Any:
        """People's own values, as tables have them, as the library takes them."""
        found = {}
        for column, f in enumerate(self.order):
            name = self.schema[f].name
            known = self.categories.get(column)
            found[name] = (
                _floats(X[name])
                if known is None
                else pd.Categorical([plain(each) for each in X[name]], known)
            )
        table = pd.DataFrame(found)
        return table.to_numpy() if self.names is None and not self.categories else table

    def _column(self, column: int, codes: Floats) -> Any:
        f = self.order[column]
        seen, size = self.seen[f], len(labels(self.schema[f])) if listed(self.schema[f]) else 0
        gone = np.isnan(codes)
        found = seen[np.where(gone, 0, codes).astype(int)] if size else codes.copy()
        if gone.any():
            found[gone] = seen[size]  # the first code that means missing stands for all
        if column not in self.categories:
            return found
        places = np.where(np.isnan(found), -1, found).astype(int)
        return pd.Categorical.from_codes(places, dtype=self._dtypes[column])

    @cached_property
    def _dtypes(self) -> dict[int, pd.CategoricalDtype]:
        return {c: pd.CategoricalDtype(pd.Index(known)) for c, known in self.categories.items()}

    def tree(self, nodes: Nodes) -> Tree:
        """The same tree in the schema's terms, each node before its children."""
        kept = np.array(preorder(nodes.left.tolist(), nodes.right.tolist()))
        place = np.full(len(nodes.left), -1)
        place[kept] = np.arange(len(kept))
        split = nodes.left[kept] >= 0
        if not np.isin(nodes.column[kept][split], np.arange(len(self.order))).all():
            raise UnreadableError("a tree splits on a column that the model has not")
        feature = np.where(
            split, np.asarray(self.order)[np.where(split, nodes.column[kept], 0)], -1
        )
        zero = np.zeros(len(place), bool) if nodes.zero_missing is None else nodes.zero_missing
        edge = np.where(np.abs(nodes.edge) >= np.finfo(float).max, np.inf, nodes.edge)
        edge = np.copysign(edge, nodes.edge)
        categories = np.zeros((len(kept), longest(self.schema)), bool)
        missing = np.zeros(len(kept), bool)
        for at in np.flatnonzero(split).tolist():
            f, node = int(feature[at]), int(kept[at])
            size = len(labels(self.schema[f])) if listed(self.schema[f]) else 0
            if node in nodes.chosen and not size:
                raise UnreadableError(
                    f"column {self.schema.names[f]!r} is a category in the model, in the schema "
                    f"it is of the kind {self.schema[f].kind}: declare it as a category"
                )
            if len(self.seen[f]):
                goes = self._goes_left(f, node, nodes, edge, zero)
                categories[at, :size] = goes[:size]
                missing[at] = alike(self.schema[f], goes[size:])
        leaf = ~split
        left, right = (np.where(leaf, 0, place[each[kept]]) for each in (nodes.left, nodes.right))
        return Tree(
            feature, np.where(leaf, 0.0, edge[kept]), categories, missing,
            np.where(zero & (nodes.left >= 0), nodes.nan_left, -1)[kept].astype(np.int8), left,
            right, nodes.value[kept],
        )  # fmt: skip

    def _goes_left(self, f: int, node: int, nodes: Nodes, edge: Floats, zero: Bools) -> Bools:
        """Whether each value that the library sees of a feature goes left."""
        seen, missing = self.seen[f], nodes.nan_left[node]
        if node in nodes.chosen:
            chosen = nodes.chosen[node]
            goes = np.isin(np.trunc(seen), chosen.codes) == chosen.left
        else:
            goes = seen <= edge[node]
        astray = np.isnan(seen) | (zero[node] & (np.abs(seen) <= ZERO))
        return np.asarray(np.where(astray, missing, goes))


def alike(feature: Feature, goes: Bools) -> bool:
    """Whether all missing values, which are one and the same to the schema, go left."""
    if goes.any() and not goes.all():
        raise UnreadableError(
            f"column {feature.name!r}: the model tells its missing codes apart "
            f"({some(feature.missing)}), which are one to the schema; declare them as values, "
            "or learn the model with blanks in their place, which the schema and the rows that are "
            f"asked about must have, too ({BLANK})"
        )
    return bool(goes.any())


def one_of(feature: Feature, each: Floats) -> Floats:
    """What is seen at all missing values, if there are any."""
    alike(feature, each != each[:1])
    return each[:1]


def declared(name: str, given: Any, least: int, most: int, library: str) -> int:
    """A number that a file declares, which must lie within what it holds."""
    number = int(given)
    if not least <= number <= most:
        expected = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        raise UnreadableError(
            f"{library}: the file declares {name}={number:,}; expected {expected}, by what it "
            "holds. Save the model again"
        )
    return number


def by_class(trees: Sequence[Tree], classes: int) -> list[list[Tree]]:
    """Trees with a value of each class in a leaf as trees of each class."""
    return [
        [replace(tree, value=tree.value[:, k : k + 1]) for tree in trees] for k in range(classes)
    ]


def order_of(schema: Schema, names: Sequence[str] | None, n: int) -> tuple[int, ...]:
    """The schema's feature of each column: by name, or by place where the model has no names."""
    if n != len(schema) or (names is not None and set(names) != set(schema.names)):
        if names is None:
            told = f"the model has {n} columns, the schema {len(schema)}: {some(schema.names)}"
        else:
            apart = [[c for c in names if c not in schema.names]]
            apart.append([c for c in schema.names if c not in names])
            told = " and ".join(
                f"{who} alone has the columns {some(those)}"
                for who, those in zip(("the model", "the schema"), apart, strict=True)
                if those
            )
        follows = "" if names is None or not apart[0] else (
            "; one that is computed from others is a feature with derived: in it, such as "
            "derived: loan / price"
        )  # fmt: skip
        raise UnreadableError(f"{told}; expected the same ones: edit the schema{follows}")
    return tuple(range(n) if names is None else map(schema.position, names))


def _seen(schema: Schema, f: int, known: Sequence[Any] | None) -> Floats:
    """What a library sees of the values that a feature lists, and of its missing codes."""
    feature = schema[f]
    if known is not None and not listed(feature):
        raise UnreadableError(
            f"column {feature.name!r} is a category in the model, in the schema it is of the kind "
            f"{feature.kind}: declare it as a category with the values {some(known)}"
        )
    values = labels(feature) if listed(feature) else ()
    seen = (*values, *feature.missing)
    if known is not None:
        places = {value: float(at) for at, value in enumerate(known)}
        if not set(values) & set(places):
            raise UnreadableError(
                f"column {feature.name!r}: the model has the categories {some(places)}, the schema "
                f"the values {some(values)}; expected the same ones"
            )
        return np.array([places.get(value, math.nan) for value in seen])
    if text := [value for value in seen if isinstance(value, str)]:
        raise UnreadableError(
            f"column {feature.name!r}: the schema has the value {text[0]!r}, but the model has no "
            "categories there; expected a model learnt on pandas categories, or numbers in the "
            "schema"
        )
    return np.array([math.nan if value is None else float(value) for value in seen])


def preorder(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The nodes that the root leads to, each before its children; raises if one comes twice."""
    found, open_, met = [], [0], set()
    while open_:
        node = open_.pop()
        if node in met or not 0 <= node < len(left):
            raise UnreadableError(f"a tree comes to its node {node} twice, or has none such")
        met.add(node)
        found.append(node)
        if left[node] >= 0:
            open_ += [right[node], left[node]]
    return found


def last_left(below: Any) -> Floats:
    """The greatest doubles that round to at most these float32.

    Half-way to the next float32 a double still rounds down if that is the even one.
    """
    low = np.asarray(below, np.float32)
    with np.errstate(over="ignore"):
        high = np.nextafter(low, np.float32(np.inf)).astype(float)
        middle = low.astype(float) / 2 + high / 2
        down = middle.astype(np.float32) == low
    return np.where(
        np.isfinite(high), np.where(down, middle, np.nextafter(middle, -np.inf)), np.inf
    )


def bits(words: Any) -> Ints:
    """The numbers of the bits that are set in words of 32."""
    each = np.asarray(words, np.uint32)[:, None] >> np.arange(32, dtype=np.uint32) & np.uint32(1)
    return np.flatnonzero(each)


def rows(X: Any, names: Sequence[str] | None) -> Any:
    """Rows as a library takes them: its columns in its order, or an array of doubles."""
    if isinstance(X, pd.DataFrame):
        return X if names is None else X[list(names)]
    return np.asarray(X, float)


def _floats(column: pd.Series[Any]) -> Floats:
    """The values of a column as floats; NaN for a blank."""
    values = column.to_numpy()
    if values.dtype.kind in "iufb":
        return np.asarray(values, float)
    return np.array([plain(each) for each in values.tolist()], float)
