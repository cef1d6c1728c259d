"""Scorecards from CSV: a line for each bin of each feature, as credit analysts keep them.

| column         | what it holds                                                                |
|----------------|------------------------------------------------------------------------------|
| feature        | a column of the schema; or base, pdo, odds, score: see below                 |
| from, to       | of a number: from this value on, up to below that one; blank is without end  |
| value          | of a category or level: one value, or several with a bar between them;       |
|                | `missing` for missing values                                                 |
| bin            | either of both in one column: `[20, 30)`, `(5, inf)`, own, missing           |
| points         | what the bin is worth; the more, the likelier is class 1                     |
| per_unit       | points per unit of a number, beside those of its bin                         |

`base` is what everyone begins with. Points are log-odds unless `pdo`, the points that double the
odds, is given, with the `odds` of class 1 that people at a `score` have.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.io.wording import near, some
from trust_recourse.models.readers.columns import UnreadableError
from trust_recourse.models.sums.additive import NUMBERS, Additive
from trust_recourse.schema import Feature, Schema, SchemaError

NAMES = ("Scorecard",)
COLUMNS = ("feature", "from", "to", "value", "bin", "points", "per_unit")
SETTINGS = ("base", "pdo", "odds", "score")
INTERVAL = re.compile(r"([\[(])\s*([^,;\s]*)\s*[,;]\s*([^,;\s]*)\s*([\])])")
MOST_LINES = 100_000


class CsvLine(NamedTuple):
    """One line of the file: its number, and what stands in it."""

    number: int
    words: Mapping[str, str]

    def fault(self, message: str) -> UnreadableError:
        """An error that names the line."""
        return UnreadableError(f"line {self.number}: {message}")

    def amount(self, column: str, blank: float = math.nan) -> float:
        """A finite number, or what a blank stands for."""
        word = self.words.get(column, "")
        with suppress(ValueError):
            found = float(word or blank) if word.isascii() and "_" not in word else math.nan
            if math.isfinite(found):
                return found
        raise self.fault(f"{column}: given {word!r}, expected a number, with a point")


class Scorecard(NamedTuple):
    """The lines of a card."""

    lines: tuple[CsvLine, ...]
    classes_: tuple[int, int] = (0, 1)


class Bin(NamedTuple):
    """The values of a number from low to high, with their ends or without."""

    low: float
    low_in: bool
    high: float
    high_in: bool
    line: CsvLine


def opened(data: bytes) -> Scorecard:
    """The lines of a file."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not a text in UTF-8 (byte {error.start})") from None
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        return Scorecard(tuple(_lines(rows)))
    except csv.Error as error:
        raise UnreadableError(f"line {rows.line_num}: {error}") from None


def _lines(rows: Any) -> list[CsvLine]:
    head = [name.strip().lower().replace(" ", "_") for name in next(rows, [])]
    if unknown := [name for name in head if name not in COLUMNS]:
        raise UnreadableError(
            f"column {unknown[0]!r}; expected {', '.join(COLUMNS)}{near(unknown[0], COLUMNS)}"
        )
    if len(set(head)) < len(head) or not {"feature", "points"} <= set(head):
        raise UnreadableError("expected each column once, `feature` and `points` among them")
    lines = []
    for row in rows:
        if any(word.strip() for word in row):
            words = [word.strip() for word in row]
            line = CsvLine(rows.line_num, dict(zip(head, words, strict=False)))
            if len(row) > len(head) or not line.words.get("feature"):
                raise line.fault(
                    f"given {len(row)} words, expected {len(head)}, one a column, and a feature"
                )
            lines.append(line)
    if len(lines) > MOST_LINES:
        raise UnreadableError(f"{len(lines):,} lines; at most {MOST_LINES:,} are read")
    return lines


def read(card: Scorecard, schema: Schema) -> tuple[Additive, None]:
    """The card as points of cells; there is no library to ask again."""
    by_name: dict[str, list[CsvLine]] = {name: [] for name in (*schema.names, *SETTINGS)}
    for line in card.lines:
        name = line.words["feature"]
        if name not in by_name:
            hint = near(name, tuple(by_name))
            raise line.fault(f"feature {name!r}: expected {some(schema.names)}{hint}")
        by_name[name].append(line)
    if absent := [name for name in schema.names if not by_name[name]]:
        raise UnreadableError(f"no line for {some(absent)}: a feature without points has one of 0")
    base, factor = _scaling({n: by_name[n] for n in SETTINGS if n not in schema})
    edges, lines = zip(*(_cells(each, by_name[each.name]) for each in schema), strict=True)
    points = [[line.amount("points") / factor for line in of] for of in lines]
    slopes = [[line.amount("per_unit", 0.0) / factor for line in of] for of in lines]
    try:
        made = Additive(schema, edges, points, slopes=slopes, base=base, classes=card.classes_)
    except ValueError as error:
        raise UnreadableError(str(error)) from None
    return made, None


def _scaling(given: Mapping[str, list[CsvLine]]) -> tuple[float, float]:
    """What everyone begins with, in log-odds, and the points of one unit of log-odds."""
    found: dict[str, float] = {}
    for name, lines in given.items():
        if len(lines) > 1:
            raise lines[1].fault(f"{name} is given twice")
        if lines:
            found[name] = lines[0].amount("points")
    base, scaled = found.pop("base", 0.0), sorted(found)
    if not scaled:
        return base, 1.0
    if len(scaled) < 3 or found["pdo"] <= 0 or found["odds"] <= 0:
        raise UnreadableError(
            f"given {', '.join(f'{n} {found[n]:g}' for n in scaled)}; expected pdo and odds, both "
            "above 0, and score, or none of them"
        )
    factor = found["pdo"] / math.log(2.0)
    return (base - found["score"]) / factor + math.log(found["odds"]), factor


def _cells(feature: Feature, lines: list[CsvLine]) -> tuple[list[float], list[CsvLine]]:
    """The edges of a feature's cells, and the line of each, that of missing values last."""
    if feature.kind in NUMBERS:
        missing = [line for line in lines if _value(line).lower() == "missing"]
        bins = [_bin(feature, line) for line in lines if line not in missing]
        bins.sort(key=lambda each: (each.low, each.high, each.low_in))
        edges, known = _edges(feature, bins), [each.line for each in bins]
    else:
        known, missing = _values(feature, lines)
        cut = feature.kind != "category"
        edges = np.arange(len(known) - 1.0).tolist() if cut else []
    if len(missing) != (len(feature.missing) > 0):
        if not feature.missing:
            raise missing[0].fault(f"{feature.name!r} has no missing values in the schema")
        raise UnreadableError(
            f"feature {feature.name!r}: {len(missing)} lines for missing values, expected one, "
            "with the value `missing`"
        )
    return edges, [*known, *missing]


def _value(line: CsvLine) -> str:
    return line.words.get("value", "") or line.words.get("bin", "")


# ---------------------------------------------------------------- numbers


def _bin(feature: Feature, line: CsvLine) -> Bin:
    word = line.words.get("bin", "")
    if line.words.get("value", ""):
        raise line.fault(
            f"{feature.name!r} is a number: expected from and to, or a bin as [20, 30)"
        )
    left, low, high, right = "[", line.words.get("from", ""), line.words.get("to", ""), ")"
    if word:
        found = INTERVAL.fullmatch(word)
        if found is None:
            raise line.fault(f"bin {word!r}: expected one such as [20, 30), (5, inf) or missing")
        left, low, high, right = found.groups()
    ends = _end(line, low, -math.inf), _end(line, high, math.inf)
    made = Bin(ends[0], left == "[", ends[1], right == "]", line)
    if not made.low < made.high and not (made.low == made.high and made.low_in and made.high_in):
        raise line.fault(f"from {made.low:g} to {made.high:g}: there is nothing between them")
    return made


def _end(line: CsvLine, word: str, without: float) -> float:
    with suppress(ValueError):
        if not math.isnan(found := float(word or without)):
            return found
    raise line.fault(f"end {word!r}: expected a number, or a blank where there is none")


def _edges(feature: Feature, bins: list[Bin]) -> list[float]:
    """The last value of each bin but the last, once every number lies in one of them."""
    if not bins:
        raise UnreadableError(f"feature {feature.name!r}: it has no bin")
    for end, line in ((bins[0].low, bins[0].line), (bins[-1].high, bins[-1].line)):
        if math.isfinite(end):
            side = "below" if end == bins[0].low else "above"
            raise line.fault(
                f"{feature.name!r}: a gap, no bin for values {side} {end:g}; leave the end blank "
                "where this one holds for all of them"
            )
    # bins of whole numbers that say `0 to 4, 5 to 9` have both of their ends
    plain = feature.kind == "integer" and all(b.low_in and not b.high_in for b in bins)
    if plain and len(bins) > 1 and all(b.low - a.high == 1 for a, b in pairwise(bins)):
        bins = [each._replace(high_in=True) for each in bins]
    return [_edge(feature, a, b) for a, b in pairwise(bins)]


def _edge(feature: Feature, a: Bin, b: Bin) -> float:
    whole = feature.kind == "integer"
    last, first = a.high, b.low
    if whole:  # in whole numbers: the last of the one, and the first of the other
        last = math.floor(a.high) - (a.high_in is False and a.high == math.floor(a.high))
        first = math.ceil(b.low) + (b.low_in is False and b.low == math.ceil(b.low))
        meet = first == last + 1
        gap = first > last + 1
    else:
        meet = last == first and a.high_in != b.low_in
        gap = first > last or (first == last and not a.high_in)
    if not meet:
        kind = "a gap" if gap else "an overlap"
        raise b.line.fault(
            f"{feature.name!r}: {kind} between {a.high:g}, where line {a.line.number} ends, and "
            f"{b.low:g}, where this one begins"
        )
    return float(last) if whole or a.high_in else math.nextafter(last, -math.inf)


# ---------------------------------------------------------------- categories and levels


def _values(feature: Feature, lines: Iterable[CsvLine]) -> tuple[list[CsvLine], list[CsvLine]]:
    """The line of each value in the order of codes, and those of missing values."""
    found: dict[float, CsvLine] = {}
    missing: list[CsvLine] = []
    for line in lines:
        if line.words.get("from") or line.words.get("to"):
            raise line.fault(f"{feature.name!r} is no number: expected a value, and no from or to")
        for code in _codes(feature, line):
            if math.isnan(code):
                missing.append(line)
            elif found.setdefault(code, line) is not line:
                told = feature.describe_code(code)
                raise line.fault(f"{feature.name!r}: an overlap, {told!r} has a line already")
    many = range(len(feature.values) or 2)
    if absent := [feature.describe_code(c) for c in many if c not in found]:
        raise UnreadableError(f"feature {feature.name!r}: a gap, no line for {some(absent)}")
    return [found[code] for code in many], missing


def _codes(feature: Feature, line: CsvLine) -> Iterator[float]:
    for text in map(str.strip, _value(line).split("|")):
        try:
            if text.lower() == "missing" and "missing" not in map(str, feature.values):
                yield math.nan
                continue
            value: Any = feature.read(text)
            if value is None:
                raise SchemaError(f"feature {feature.name!r}: given a blank, expected a value")
            yield feature.code_of(value)
        except SchemaError as error:
            raise line.fault(str(error)) from None
