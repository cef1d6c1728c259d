"""Who belongs to which group: a column's values, or bands of its numbers; blanks are one too."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from operator import contains
from typing import Any

import numpy as np
import pandas as pd

from trust_recourse.answers.many import UNANSWERED
from trust_recourse.io.scalars import Floats, Ints, plain
from trust_recourse.io.wording import near, some, written
from trust_recourse.population.audit.audit_request import Bands
from trust_recourse.population.batch.batch_folder import OWN, BatchFolder
from trust_recourse.schema import Feature

MISSING = "missing"
UNREAD = "not readable"  # blank because the row could not be read
MOST = 24  # groups of one column; more are no groups to compare
MOST_CROSSED = 1000  # groups that columns together might make
FEW_NUMBERS = 6  # a number with so few different values is not banded
QUARTERS = "q4"
AT_ONCE = 1 << 16  # values that are sorted together, at least
_AS_TEXT = re.compile(r"\s*[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?\s*", re.ASCII)
_PARTS = re.compile(r"q([2-9]|1\d|20)")


@dataclass(frozen=True, eq=False)
class Column:
    """One column to group by: where it stands, and how its values become groups."""

    name: str
    source: str  # in the parts
    labels: tuple[str, ...]  # in order; the last two are those of blanks, see `_labels`
    place: Callable[[Any], int | None]  # of a value's group among the labels; None is a blank

    def codes(self, frame: pd.DataFrame) -> Ints:
        """The place of each row's group among the labels."""
        missing, unread = range(len(self.labels))[-2:]
        at, different = pd.factorize(frame[self.source])
        places = [self.place(value) for value in different.tolist()]
        found = [missing if place is None else place for place in places]
        codes = np.array([*found, missing], dtype=np.int64)[at]  # a blank is at −1, the last
        codes[(codes == missing) & (frame["status"] == UNANSWERED).to_numpy(dtype=bool)] = unread
        return codes


@dataclass(frozen=True, eq=False)
class Grouping:
    """People by one column, or by several crossed."""

    columns: tuple[Column, ...]

    @property
    def title(self) -> str:
        """What it is by."""
        return " × ".join(column.name for column in self.columns)

    @cached_property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """All groups there might be, each by its label in every column."""
        return tuple(product(*(column.labels for column in self.columns)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What all groups there might be are called; no two alike."""
        return tuple(map(_called, self.keys))

    @cached_property
    def blank(self) -> frozenset[str]:
        """What the groups are called that lack a value in some column."""
        lacks = tuple(column.labels[-2:] for column in self.columns)
        return frozenset(_called(key) for key in self.keys if any(map(contains, lacks, key)))

    def codes(self, frame: pd.DataFrame) -> Ints:
        """The place of each row's group among the labels."""
        codes = np.zeros(len(frame), dtype=np.int64)
        for column in self.columns:
            codes = codes * len(column.labels) + column.codes(frame)
        return codes


def _called(key: tuple[str, ...]) -> str:
    """The labels of a group in one; of several, one that could be taken for two stands in quotes.

    >>> _called(("woman", "under 30")), _called(("Bonn, Rhine", "own")), _called(("Bonn, Rhine",))
    ('woman, under 30', '"Bonn, Rhine", own', 'Bonn, Rhine')
    """
    return key[0] if len(key) == 1 else ", ".join(map(_quoted, key))


def _quoted(label: str) -> str:
    plain = ", " not in label and '"' not in label
    return label if plain else '"' + label.replace('"', '""') + '"'


def groupings(
    folder: BatchFolder, by: Sequence[str], bands: Mapping[str, Bands], cross: bool = False
) -> tuple[Grouping, ...]:
    """A grouping for each column named, and with `cross` one by all of them together.

    Without a name it is by the schema's protected features.
    """
    names = list(dict.fromkeys(by)) or [f.name for f in folder.schema if f.protected]
    if not names:
        raise ValueError(
            "nothing to group by: the schema has no protected feature; name a column, "
            f"one of {some(_known(folder))}"
        )
    if odd := [name for name in bands if name not in names]:
        raise ValueError(f"bands for {odd[0]!r}, which is not among the groups {some(names)}")
    columns = [_column(folder, name, bands.get(name)) for name in names]
    singles = tuple(Grouping((column,)) for column in columns)
    if cross and len(columns) < 2:
        raise ValueError("to cross groups, name at least two columns to group by")
    crossed = Grouping(tuple(columns))
    if cross and (many := math.prod(len(column.labels) for column in columns)) > MOST_CROSSED:
        raise ValueError(
            f"crossed, {crossed.title} make up to {many:,} groups, expected at most "
            f"{MOST_CROSSED:,}; name fewer columns, or give wider bands"
        )
    return (*singles, crossed) if cross else singles


def _known(folder: BatchFolder) -> list[str]:
    return [*folder.kept, *folder.schema.names]


def _column(folder: BatchFolder, name: str, bands: Bands | None) -> Column:
    source = _source(folder, name)
    feature = None if source == name else folder.schema[name]
    title = name if feature is None else feature.title
    seen = _seen(folder, source, feature) if feature is None or feature.numeric else None
    if seen is None:
        if bands is not None:
            are = "not all numbers" if feature is None else f"{feature.kind}, not numbers"
            raise ValueError(f"bands for {name!r}: its values are {are}")
        return _by_value(folder, name, title, source, feature)
    numbers, counts = seen
    if not len(numbers):
        raise ValueError(f"{name!r} is blank for everybody; there is nothing to group by")
    if bands is None and len(numbers) <= FEW_NUMBERS:
        named = {} if feature is None else feature.words
        labels = [named.get(number) or _text(number) for number in numbers.tolist()]
        places = {number: at for at, number in enumerate(numbers.tolist())}
        return Column(title, source, _labels(labels), lambda x: places.get(_number(x, feature)))
    edges = _edges(name, numbers, counts, QUARTERS if bands is None else bands)

    def band(value: Any) -> int | None:
        number = _number(value, feature)
        return None if math.isnan(number) else bisect_right(edges, number)

    return Column(title, source, _labels(_band_names(edges)), band)


def _source(folder: BatchFolder, name: str) -> str:
    if name in folder.kept:
        return name
    if name in folder.schema.names:
        return OWN + name
    known = _known(folder)
    hint = near(name, known) or f"; the columns are {some(known)}"
    raise ValueError(
        f"no column {name!r} in {folder.path}{hint}; a column of the input that is no feature is "
        "there if the batch was told to keep it"
    )


# ---------------------------------------------------------------- by value


def _by_value(
    folder: BatchFolder, name: str, title: str, source: str, feature: Feature | None
) -> Column:
    found: set[str] = set()
    for frame in folder.frames([source]):
        found |= {_name(value, feature) for value in frame[source].unique().tolist()} - {""}
        if len(found) > MOST:
            raise ValueError(
                f"{name!r} has more than {MOST} different values, such as "
                f"{some(sorted(found)[:3])}; groups this small cannot be compared: take a coarser "
                "column, such as a region for a postcode, or, for numbers held as text, turn them "
                "into numbers"
            )
    known = sorted(found)
    if feature is not None:
        levels = 2 if feature.kind == "boolean" else len(feature.values)
        order = [feature.describe_code(float(at)) for at in range(levels)]
        known = [each for each in order if each in found]
    places = {each: at for at, each in enumerate(known)}
    return Column(title, source, _labels(known), lambda value: places.get(_name(value, feature)))


def _labels(known: Collection[str]) -> tuple[str, ...]:
    """The names of groups and two for blanks, in brackets where a group is called so.

    >>> _labels(["there", "missing"])
    ('there', 'missing', '(missing)', 'not readable')
    """
    blanks = [MISSING, UNREAD]
    for at in range(len(blanks)):
        while blanks[at] in known:
            blanks[at] = f"({blanks[at]})"
    return (*known, *blanks)


def _name(value: Any, feature: Feature | None) -> str:
    """What the group of a value is called; "" for a blank."""
    if feature is None:
        return _text(value)
    code = _code(value, feature)
    return "" if math.isnan(code) else feature.describe_code(code)


def _text(value: Any) -> str:
    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return written(float(value))
    return " ".join(str(value).split())


def meant(value: Any, feature: Feature) -> Any:
    """A value as its feature has it: where those of a column differ in type, answers hold texts."""
    known = (*feature.values, *feature.missing)  # noqa: PD011 - a feature's, not a table's
    as_text = isinstance(value, str) and value not in known
    return feature.read(value) if as_text else value


def _code(value: Any, feature: Feature) -> float:
    """A value's code; NaN for one that the feature cannot read, as such a row has no answer."""
    if plain(value) is None:
        return math.nan
    try:
        return feature.code_of(meant(value, feature))
    except ValueError:
        return math.nan


# ---------------------------------------------------------------- by bands of numbers


def _number(value: Any, feature: Feature | None) -> float:
    """A value of a column of numbers; NaN for a blank."""
    if feature is not None:
        return _code(value, feature)
    known = plain(value)
    blank = known is None or (isinstance(known, str) and not known.strip())
    return math.nan if blank else float(known)


def _is_number(values: pd.Series[Any]) -> bool:
    dtypes = pd.api.types
    return dtypes.is_numeric_dtype(values) and not dtypes.is_bool_dtype(values)


def _could_be(values: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, also as text, as those of a CSV are; 007 is a name."""
    if _is_number(values):
        return True
    texts = {value for value in values.dropna().unique().tolist() if value != ""}
    return all(isinstance(text, str) and _AS_TEXT.fullmatch(text) for text in texts)


def _seen(folder: BatchFolder, source: str, feature: Feature | None) -> tuple[Floats, Ints] | None:
    """The different numbers of a column and how often each is there; None if it holds others."""
    numbers = Often()
    for frame in folder.frames([source]):
        column = frame[source]
        if feature is None and not _could_be(column):
            return None
        at, different = pd.factorize(column)
        here = np.array([_number(value, feature) for value in different.tolist()])[at[at >= 0]]
        numbers.add(here[~np.isnan(here)])
    return numbers.sort()


@dataclass(eq=False)
class Often:
    """Different values and how often each occurs, from values that come in many portions.

    A portion waits until as much waits as is sorted, so that all are sorted only a few times.
    """

    values: Floats = field(default_factory=lambda: np.empty(0))
    times: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    waiting: list[Floats] = field(default_factory=list)

    def add(self, more: Floats) -> None:
        """Count these too."""
        self.waiting.append(more)
        if sum(map(len, self.waiting)) > max(len(self.values), AT_ONCE):
            self.sort()

    def sort(self) -> tuple[Floats, Ints]:
        """All so far: the different values, rising, and how often each occurs."""
        together = np.concatenate([self.values, *self.waiting])
        ones = [np.ones(len(each), dtype=np.int64) for each in self.waiting]
        self.values, at = np.unique(together, return_inverse=True)
        counted = np.bincount(at, np.concatenate([self.times, *ones]), len(self.values))
        self.times, self.waiting = counted.astype(np.int64), []
        return self.values, self.times


def _edges(name: str, numbers: Floats, counts: Ints, bands: Bands) -> tuple[float, ...]:
    if isinstance(bands, str):
        told = _PARTS.fullmatch(bands)
        if told is None:
            raise ValueError(
                f"bands for {name!r}: given {bands!r}; expected edges such as 25,35,50 or q4 for "
                "four bands with as many people each"
            )
        shares = np.arange(1, int(told[1])) / int(told[1])
        upto = np.cumsum(counts) / max(counts.sum(), 1)
        at = np.searchsorted(upto, shares - 1e-12)
        return tuple(sorted({float(each) for each in numbers[at]} - {float(numbers[0])}))
    edges = tuple(float(edge) for edge in bands)
    if not edges or any(not a < b for a, b in pairwise(edges)):
        raise ValueError(f"bands for {name!r}: given {list(edges)}; expected edges that rise")
    if not all(map(math.isfinite, edges)) or len(edges) >= MOST:
        raise ValueError(f"bands for {name!r}: expected up to {MOST - 1} edges, all numbers")
    return edges


def _band_names(edges: Sequence[float]) -> list[str]:
    if not edges:
        return ["all"]
    words = [_edge(edge, 9) for edge in edges]
    if len(set(words)) < len(words):
        words = [_edge(edge, 17) for edge in edges]
    between = [f"{a} to under {b}" for a, b in pairwise(words)]
    return [f"under {words[0]}", *between, f"{words[-1]} and over"]


def _edge(edge: float, digits: int) -> str:
    """A number with thousands apart: a whole one as it is, others with at most so many digits.

    >>> _edge(1000300.0, 9), _edge(0.1 + 0.2, 9), _edge(2500.5, 9)
    ('1,000,300', '0.3', '2,500.5')
    """
    shown = edge if edge.is_integer() else float(f"{edge:.{digits}g}")
    return f"{shown:,}".removesuffix(".0")
