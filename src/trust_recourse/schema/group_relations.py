"""Relations among several features: how many change, what changes together, which one it is."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from trust_recourse.io.scalars import INF, Bools, Floats, same
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.relations import (
    LIST,
    Box,
    Changes,
    Relation,
    Row,
    Way,
    equal,
    listed,
    only,
    unlisted,
)

if TYPE_CHECKING:
    from trust_recourse.schema.actions import FeatureActions
    from trust_recourse.schema.table import Schema


@dataclass(frozen=True, repr=False)
class _Group:
    """The parts of a relation of any number of features."""

    members: tuple[str, ...]

    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it is about."""
        return self.members

    def limits(self, actions: Sequence[FeatureActions], others: bool) -> bool:
        return any(each.free for each in actions)

    def expect_several(self) -> None:
        if len(self.members) < 2:
            raise SchemaError(f"relation {self}: given one feature, expected at least two")

    def titles(self, schema: Schema) -> str:
        return ", ".join(schema[name].title for name in self.members)


def _staying(before: Row, box: Box) -> list[Bools]:
    """Of each feature, which codes are the person's own."""
    return [equal(codes, own) for codes, own in zip(box, before, strict=True)]


def _moved(before: Row, after: Row) -> int:
    return sum(not same(a, b) for a, b in zip(before, after, strict=True))


def _undone(before: Row, after: Row) -> Changes:
    """Each change taken back by itself."""
    each = enumerate(zip(before, after, strict=True))
    return ((k, a) for k, (a, b) in each if not same(a, b))


@dataclass(frozen=True, repr=False)
class FewChange(_Group, Relation):
    """At most so many of these features change.

    >>> FewChange(("rent", "income", "debt"), most=2)
    at most 2 of rent, income, debt change
    """

    most: int

    forms = ("at most 2 of a, b, c change",)
    pattern = re.compile(rf"\s*at\s+most\s+(\d+)\s+of\s+({LIST})\s+change\s*")
    by_value: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 0:
            raise SchemaError(f"most={self.most!r}; expected a whole number from 0 up")

    @classmethod
    def read(cls, match: re.Match[str]) -> Self:
        return cls(unlisted(match[2]), int(match[1]))

    def __repr__(self) -> str:
        return f"at most {self.most} of {listed(self.members)} change"

    def holds(self, before: Row, after: Row) -> bool:
        return _moved(before, after) <= self.most

    def sentence(self, schema: Schema) -> str:
        return f"at most {self.most} of {self.titles(schema)} may change"

    def always(self, before: Row, box: Box) -> bool:
        return sum(not each.all() for each in _staying(before, box)) <= self.most

    def ways(self, before: Row, box: Box) -> Iterator[Way]:
        """By what is left of the changes when each takes one."""
        gains = [each.astype(np.float64) - 1.0 for each in _staying(before, box)]
        yield [gains[0] + self.most, *gains[1:]]

    def mended(self, before: Row, after: Row, actions: Sequence[FeatureActions]) -> Changes:
        """Take back any of the changes."""
        return _undone(before, after)

    def limits(self, actions: Sequence[FeatureActions], others: bool) -> bool:
        return sum(each.free for each in actions) > self.most


@dataclass(frozen=True, repr=False)
class Together(_Group, Relation):
    """These features change together, or none of them does.

    >>> Together(("street", "town"))
    street, town change together
    """

    forms = ("a, b change together",)
    pattern = re.compile(rf"\s*({LIST})\s+change\s+together\s*")
    joins: ClassVar[bool] = True

    @classmethod
    def read(cls, match: re.Match[str]) -> Self:
        return cls(unlisted(match[1]))

    def __repr__(self) -> str:
        return f"{listed(self.members)} change together"

    def check(self, schema: Schema) -> None:
        self.expect_several()

    def holds(self, before: Row, after: Row) -> bool:
        return _moved(before, after) in (0, len(self.members))

    def sentence(self, schema: Schema) -> str:
        return f"{self.titles(schema)} change together or not at all"

    def always(self, before: Row, box: Box) -> bool:
        stays = _staying(before, box)
        return all(each.all() for each in stays) or not any(each.any() for each in stays)

    def ways(self, before: Row, box: Box) -> Iterator[Way]:
        """By staying with all of them; by leaving all."""
        stays = _staying(before, box)
        yield [only(each) for each in stays]
        yield [only(~each) for each in stays]

    def mended(self, before: Row, after: Row, actions: Sequence[FeatureActions]) -> Changes:
        """Take back one of the changes, or make one that is lacking, as near as there is."""
        yield from _undone(before, after)
        for k, (own, now) in enumerate(zip(before, after, strict=True)):
            if same(own, now) and (value := _other(actions[k])) is not None:
                yield k, value


@dataclass(frozen=True, repr=False)
class OneOf(_Group, Relation):
    """Of these columns, each 0 or 1 (no or yes), one is 1: a choice that was spread over columns.

    With `at_most` none may be, too: the choice that no column stands for.

    >>> OneOf(("rents", "owns", "other"))
    one of rents, owns, other
    """

    at_most: bool = False

    forms = ("one of a, b, c", "at most one of a, b, c")
    pattern = re.compile(rf"\s*(at\s+most\s+)?one\s+of\s+({LIST})\s*")
    joins: ClassVar[bool] = True

    @classmethod
    def read(cls, match: re.Match[str]) -> Self:
        return cls(unlisted(match[2]), match[1] is not None)

    def __repr__(self) -> str:
        return f"{'at most ' * self.at_most}one of {listed(self.members)}"

    def check(self, schema: Schema) -> None:
        """Refuse one that is alone, and features that are no numbers and no booleans."""
        self.expect_several()
        for name in self.members:
            if schema[name].kind not in ("boolean", "integer", "number"):
                expected = f"expected {name!r} to be a boolean, or a number that is 0 or 1"
                raise SchemaError(f"relation {self}: {expected}")

    def holds(self, before: Row, after: Row) -> bool:
        ones = sum(code == 1.0 for code in after)
        known = all(code in (0.0, 1.0) for code in after)
        return known and (ones == 1 or (self.at_most and ones == 0))

    def odd_rows(self, codes: Floats) -> tuple[Bools, Floats]:
        """Rows of which not just one is 1, and how many are."""
        ones = (codes == 1.0).sum(axis=1)
        known = np.isin(codes, (0.0, 1.0)).all(axis=1)
        return ~known | (ones > 1) | ((ones < 1) & (not self.at_most)), ones.astype(np.float64)

    def sentence(self, schema: Schema) -> str:
        few = "at most one" if self.at_most else "just one"
        return f"{few} of {self.titles(schema)} may be yes (1)"

    def always(self, before: Row, box: Box) -> bool:
        """Say whether every row of a box keeps it: none of the features has a choice in it.

        Or, where none of them need be 1, those that do are one, and no other is 1.
        """
        choices = [np.unique(codes) for codes in box]
        if any(len(codes) > 2 for codes in choices):
            return False
        rows = itertools.product(*(codes.tolist() for codes in choices))
        return all(self.holds(before, row) for row in rows)

    def ways(self, before: Row, box: Box) -> Iterator[Way]:
        """By each of them, and by none."""
        n = len(self.members)
        for one in range(-self.at_most, n):
            yield [only(codes == float(k == one)) for k, codes in enumerate(box)]

    def mended(self, before: Row, after: Row, actions: Sequence[FeatureActions]) -> Changes:
        """Turn one of them over."""
        for k, code in enumerate(after):
            other = 0.0 if code == 1.0 else 1.0
            if actions[k].allows(other):
                yield k, other


def _other(actions: FeatureActions) -> float | None:
    """The nearest other value of a number, the first other one of a list."""
    own = actions.own
    if actions.choices is not None or math.isnan(own):
        return next((code for code in actions.values().tolist() if not same(code, own)), None)
    sides = actions.nearest(-INF, math.nextafter(own, -INF)), actions.nearest(own, INF)
    known = (value for value in sides if value is not None)
    return min(known, key=lambda value: abs(value - own), default=None)
