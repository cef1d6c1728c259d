"""Relations between features: what a change of some asks of others.

Each kind is one class, a subclass of `Relation`, that says when a row keeps it, how it is written
and read, and what a search may know of it. Nothing else tells kinds apart: a direct subclass that
is defined before a file is read is read from it, and honoured by every engine.
"""

from __future__ import annotations

import itertools
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.scalars import INF, Bools, Floats, is_number, plain, same
from trust_recourse.io.wording import written
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.multiples import plus

if TYPE_CHECKING:
    from trust_recourse.schema.actions import FeatureActions
    from trust_recourse.schema.table import Schema

# all of a relation's own features, in the order of its `names`
Row: TypeAlias = Sequence[float]  # a code of each
Box: TypeAlias = Sequence[Floats]  # the codes that each may take, ascending, a missing one last
Way: TypeAlias = Sequence[Floats]  # a gain for each of these codes
Changes: TypeAlias = Iterator[tuple[int, float]]  # which feature, and its new code

_NAME = r"(?:`(?:[^`]|``)+`|[\w.-]+)"
NAME = f"({_NAME})"  # of a feature, in the text of a relation
LIST = rf"{_NAME}(?:\s*,\s*{_NAME})*"  # of several


class Relation(ABC):
    """A condition on some features that every change must keep.

    Its text, which `str` writes and `read` reads, stands for it in files; `forms` and `pattern` are
    compulsory. Codes of numbers are in the columns' own units, those of ordinals count levels, and
    NaN is missing; add and subtract them by `multiples.plus`, as people do: 0.8 − 0.7 is 0.1.
    """

    forms: ClassVar[tuple[str, ...]]  # its text, by example
    pattern: ClassVar[re.Pattern[str]]  # and in general
    joins: ClassVar[bool] = False  # whether its features only change together
    # else it only limits which features change, and fewer always do
    by_value: ClassVar[bool] = True
    exact: ClassVar[bool] = False  # whether some row of a box keeps it wherever a way is open

    @classmethod
    @abstractmethod
    def read(cls, match: re.Match[str]) -> Self:
        """Make it of its text, which matches the pattern."""

    @abstractmethod
    def __repr__(self) -> str: ...

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The features that it is about: rows, boxes and actions below are of these, in order."""

    @abstractmethod
    def holds(self, before: Row, after: Row) -> bool:
        """Say whether a change of the codes of its features keeps the relation."""

    @abstractmethod
    def sentence(self, schema: Schema) -> str:
        """Write the relation for people."""

    def check(self, schema: Schema) -> None:  # noqa: B027
        """Refuse features between which it means nothing."""

    def possible(self, before: Row, box: Box) -> bool:
        """Say whether some row of a box keeps it.

        The default tries every row, unless `ways` are `exact`; a kind for features of many values
        should make them so, or override it.
        """
        if self.exact:
            best = (sum(float(gains.max()) for gains in way) for way in self.ways(before, box))
            return any(gain >= 0.0 for gain in best)
        rows = itertools.product(*(codes.tolist() for codes in box))
        return any(self.holds(before, row) for row in rows)

    def always(self, before: Row, box: Box) -> bool:
        """Say whether every row of a box keeps it; the default tries each."""
        rows = itertools.product(*(codes.tolist() for codes in box))
        return all(self.holds(before, row) for row in rows)

    def ways(self, before: Row, box: Box) -> Iterator[Way]:
        """What the compiled search knows of it: a row keeps it in any of several ways.

        A way gives a gain to each code of each feature; it is open to a row whose gains add up to
        at least 0, and −∞ closes it. A box in which no way is open, not even to the best code of
        each feature, is discarded: so a way may be open too often, never too seldom. Conditions
        that must all hold are no one way: give one for each value, or run of values, of a feature,
        with what it leaves the others. A kind that gives none is asked about point by point.
        """
        return iter(())

    def mended(self, before: Row, after: Row, actions: Sequence[FeatureActions]) -> Changes:
        """How to keep it by one change to a row that breaks it: which feature, and its new code.

        Here it is the nearest that does.
        """
        for k in reversed(range(len(after))):
            away = [(abs(value - after[k]), value) for value in _some(actions[k])]
            rows = ([*after[:k], value, *after[k + 1 :]] for _, value in sorted(away))
            yield from itertools.islice(((k, r[k]) for r in rows if self.holds(before, r)), 1)

    def odd_rows(self, codes: Floats) -> tuple[Bools, Floats]:
        """Rows of its features that it does not allow anyone to have, and a number of each."""
        return np.zeros(len(codes), bool), np.zeros(len(codes))

    def limits(self, actions: Sequence[FeatureActions], others: bool) -> bool:
        """Say whether it forbids a person something that the features' own rules allow them.

        `others` says whether any other feature may move. The default tries every row.
        """
        before = [each.own for each in actions]
        rows = itertools.product(*map(_some, actions))
        moved = (row for row in rows if others or not all(map(same, before, row)))
        return not all(self.holds(before, row) for row in moved)


@dataclass(frozen=True, repr=False)
class _Pair:
    """The parts of a relation of two features, of which the second has an order."""

    a: str
    b: str

    exact: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it is about: a and b."""
        return self.a, self.b

    def check(self, schema: Schema) -> None:
        """Refuse features between which it means nothing."""
        if schema[self.b].kind == "category":
            expected = f"expected {self.b!r} to have an order, not a category"
            raise SchemaError(f"relation {self}: {expected}")


@dataclass(frozen=True, repr=False)
class AtMost(_Pair, Relation):
    """Whoever changes anything ends with a at most b. Not asked where either is missing.

    >>> AtMost("months late", "months")
    `months late` <= months
    """

    forms = ("a <= b",)
    pattern = re.compile(rf"\s*{NAME}\s*<=\s*{NAME}\s*")

    @classmethod
    def read(cls, match: re.Match[str]) -> Self:
        return cls(unquoted(match[1]), unquoted(match[2]))

    def __repr__(self) -> str:
        return f"{quoted(self.a)} <= {quoted(self.b)}"

    def check(self, schema: Schema) -> None:
        super().check(schema)
        if schema[self.a].codes.measure != schema[self.b].codes.measure:
            alike = "two numbers, two booleans, or two ordinals with the same levels"
            raise SchemaError(f"relation {self}: expected {alike}")

    def holds(self, before: Row, after: Row) -> bool:
        return not after[0] > after[1]

    def sentence(self, schema: Schema) -> str:
        return f"{schema[self.a].title} must be at most {schema[self.b].title}"

    def always(self, before: Row, box: Box) -> bool:
        a, b = (codes[~np.isnan(codes)] for codes in box)
        return not (len(a) and len(b) and a.max() > b.min())

    def ways(self, before: Row, box: Box) -> Iterator[Way]:
        """By b − a ≥ 0, whose sign no rounding changes; and where either is missing."""
        a, b = box
        blank = np.isnan(a), np.isnan(b)
        yield np.where(blank[0], -INF, -a), np.where(blank[1], -INF, b)
        if math.isnan(before[0]):
            yield only(blank[0]), np.zeros(len(b))
        if math.isnan(before[1]):
            yield np.zeros(len(a)), only(blank[1])

    def mended(self, before: Row, after: Row, actions: Sequence[FeatureActions]) -> Changes:
        """Raise b to a, or lower a to b."""
        yield from _known((1, actions[1].at_least(after[0])), (0, actions[0].at_most(after[1])))

    def limits(self, actions: Sequence[FeatureActions], others: bool) -> bool:
        a, b = actions
        highest, lowest = a.extent(-INF, INF), b.extent(-INF, INF)
        if highest is None or lowest is None or highest[1] <= lowest[0]:
            return False
        if others or (highest[1], lowest[0]) != (a.own, b.own):
            return True
        # broken as they are, which they may keep: is it still, if they move one of the two a bit?
        less, more = a.extent(-INF, math.nextafter(a.own, -INF)), b.extent(b.own, INF)
        return (less is not None and less[1] > b.own) or (more is not None and more[0] < a.own)


@dataclass(frozen=True, repr=False)
class Implication(_Pair, Relation):
    """If a changes, b must rise by at least `by` (fall, if negative): a degree takes years.

    Where b is missing no rise can be counted, so a must stay.

    >>> Implication("degree", "age", by=2)
    degree changes => age rises by 2
    """

    by: float

    forms = ("a changes => b rises by 2", "a changes => b falls by 2")
    pattern = re.compile(
        rf"\s*{NAME}\s+changes\s*=>\s*{NAME}\s+(rises|falls)\s+by\s+([\d.e+-]+)\s*"
    )

    def __post_init__(self) -> None:
        if not is_number(plain(self.by)) or self.by == 0:
            expected = f"given {self.by!r}, expected a finite number other than 0"
            raise SchemaError(f"relation of {self.a!r} and {self.b!r}, field 'by': {expected}")
        object.__setattr__(self, "by", float(self.by))

    @classmethod
    def read(cls, match: re.Match[str]) -> Self:
        try:
            by = float(match[4]) * (1 if match[3] == "rises" else -1)
        except ValueError:
            given = f"relation {match[0]!r}: given {match[4]!r}, expected a number"
            raise SchemaError(given) from None
        return cls(unquoted(match[1]), unquoted(match[2]), by)

    def __repr__(self) -> str:
        verb = "rises" if self.by > 0 else "falls"
        return f"{quoted(self.a)} changes => {quoted(self.b)} {verb} by {written(abs(self.by))}"

    def holds(self, before: Row, after: Row) -> bool:
        return same(before[0], after[0]) or bool(self._enough(before, after[1]))

    def _enough(self, before: Row, b: Any) -> Any:
        """Whether codes of b, one or many, are far enough for a to change."""
        return b >= self.goal(before[1]) if self.by > 0 else b <= self.goal(before[1])

    def goal(self, before: float) -> float:
        """Where b must get to; out of reach if it is missing."""
        return math.copysign(math.inf, self.by) if math.isnan(before) else plus(before, self.by)

    def sentence(self, schema: Schema) -> str:
        a, b, verb = schema[self.a], schema[self.b], "rise" if self.by > 0 else "fall"
        return f"if {a.title} changes, {b.title} must {verb} by at least {b.amount(abs(self.by))}"

    def always(self, before: Row, box: Box) -> bool:
        return bool(equal(box[0], before[0]).all() or self._enough(before, box[1]).all())

    def ways(self, before: Row, box: Box) -> Iterator[Way]:
        """By staying with a; by getting far enough with b."""
        a, b = box
        yield only(equal(a, before[0])), np.zeros(len(b))
        yield np.zeros(len(a)), only(self._enough(before, b))

    def mended(self, before: Row, after: Row, actions: Sequence[FeatureActions]) -> Changes:
        """Move b as far as it must, where it can be counted; or leave a."""
        enough = actions[1].at_least if self.by > 0 else actions[1].at_most
        moved = None if math.isnan(before[1]) else enough(self.goal(before[1]))
        yield from _known((1, moved), (0, before[0]))

    def limits(self, actions: Sequence[FeatureActions], others: bool) -> bool:
        a, b = actions
        ends = np.array([b.own, *(b.extent(-INF, INF) or ())])
        return a.free and not bool(self._enough((a.own, b.own), ends).all())


def read_relation(given: object) -> Relation:
    """Read a relation from its text, or take it as it is."""
    if isinstance(given, Relation):
        return given
    kinds = Relation.__subclasses__()
    for kind in kinds:
        if isinstance(given, str) and (match := kind.pattern.fullmatch(given)):
            return kind.read(match)
    *forms, last = (repr(form) for kind in kinds for form in kind.forms)
    expected = f"expected {', '.join(forms)} or {last}; quote names `like this`"
    raise SchemaError(f"relation: given {given!r}, {expected}")


# ---------------------------------------------------------------- what a kind is made of


def quoted(name: str) -> str:
    """A feature's name in the text of a relation."""
    return name if re.fullmatch(r"[\w.-]+", name) else "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    """The name that `NAME` matched."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def listed(names: Sequence[str]) -> str:
    """Features' names in the text of a relation."""
    return ", ".join(map(quoted, names))


def unlisted(text: str) -> tuple[str, ...]:
    """The names that `LIST` matched."""
    found = re.findall(rf"({_NAME})(?:\s*,\s*|$)", text.strip())
    return tuple(map(unquoted, found))


def equal(codes: Floats, own: float) -> NDArray[np.bool_]:
    """Which codes are the person's own, missing or not."""
    return np.isnan(codes) if math.isnan(own) else codes == own


def only(codes: NDArray[np.bool_]) -> Floats:
    """The gains of a way that is open to these codes alone."""
    return np.where(codes, 0.0, -INF)


def _known(*changes: tuple[int, float | None]) -> Changes:
    return ((k, value) for k, value in changes if value is not None)


def _some(actions: FeatureActions) -> list[float]:
    """Every allowed value, or some that matter where they cannot be listed."""
    try:
        return [*actions.values().tolist()]
    except SchemaError:
        return [actions.own, *(actions.extent(-INF, INF) or ())]
