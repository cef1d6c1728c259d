"""An institution's own list of reasons: which feature, on which side, is which of its codes."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from trust_recourse.io.files import read_whole
from trust_recourse.io.wording import near, some
from trust_recourse.report.content import clean
from trust_recourse.schema.yaml_text import texts_from_yaml

if TYPE_CHECKING:
    from trust_recourse.report.letter.reasons import Reason
    from trust_recourse.schema import Feature, Schema

FIELDS = ("feature", "when", "code", "text")
SIDES = ("low", "high", "missing")
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class ReasonCode:
    """A line of the list: `when` is a side (low, high, missing), a value, or '' for any.

    Where the feature has a value of that name, such as a level "high", it is the value.
    """

    feature: str
    when: str
    code: str
    text: str


@dataclass(frozen=True)
class ReasonCodes:
    """The whole list, checked by a schema."""

    lines: tuple[ReasonCode, ...]

    @classmethod
    def read(cls, given: Any, schema: Schema) -> ReasonCodes:
        """A list of lines, each by its fields, or a file of them: YAML, or CSV by its ending."""
        if isinstance(given, ReasonCodes):
            return given
        where, rows = "reason_codes", given
        if isinstance(given, (str, os.PathLike)):
            where, rows = str(given), _rows(Path(given))
        if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
            raise ValueError(f"{where}: expected a list, each line with {', '.join(FIELDS)}")
        return cls(tuple(_line(f"{where}, line {n}", row, schema) for n, row in enumerate(rows, 1)))

    def of(self, feature: Feature, side: str, value: str) -> ReasonCode | None:
        """The line for a value that lies on a side: that of the value before that of the side."""
        for when in (value, _side(feature, side), ""):
            for line in self.lines:
                if line.feature == feature.name and line.when == when:
                    return line
        return None

    def coded(self, reasons: Iterable[Reason]) -> list[Reason]:
        """The same reasons by the list, several values of one code as one, the weightiest first.

        One that has no line in it stays as it is.
        """
        found: dict[tuple[str, ...], Reason] = {}
        for reason in reasons:
            line = self.of(reason.feature, reason.side, reason.raw)
            if line is None:
                found[reason.feature.name,] = reason
            elif (key := (line.code, line.text)) in found:
                first = found[key]
                found[key] = first._replace(others=(*first.others, reason))
            else:
                found[key] = reason._replace(code=line.code, text=line.text)
        return sorted(found.values(), key=lambda reason: -reason.total)

    def check(self, told: Iterable[Reason]) -> None:
        """Refuse reasons that the list has no words for."""
        absent = [
            f"{reason.feature.name} ({_side(reason.feature, reason.side) or reason.raw})"
            for reason in told
            if not reason.text
        ]
        if absent:
            raise ValueError(
                f"no reason code for {', '.join(absent)}, which would be among the reasons; add a "
                f"line for each to the list, with {', '.join(FIELDS)}"
            )


def _side(feature: Feature, side: str) -> str:
    """A side, if a line may name it: not where the feature has a value of that name."""
    return side if side in SIDES and side not in feature.values else ""


def _rows(path: Path) -> Any:
    text = read_whole(path, MOST_BYTES).removeprefix("\ufeff")
    try:
        if path.suffix.lower() == ".csv":
            return [*csv.DictReader(io.StringIO(text))]
        return texts_from_yaml(text)
    except (yaml.YAMLError, csv.Error) as error:
        raise ValueError(f"{path}: expected YAML, or CSV by its ending ({error})") from None


def _line(where: str, row: Mapping[Any, Any], schema: Schema) -> ReasonCode:
    for name in row:
        if name not in FIELDS:
            raise ValueError(
                f"{where}: no field {name!r}{near(name, FIELDS)}; expected {some(FIELDS)}"
            )
        given = row[name]  # 1.10 and False lose what was written
        text = isinstance(given, (str, Integral)) and not isinstance(given, bool)
        if not text and given is not None:
            kind = type(given).__name__
            raise ValueError(f"{where}: {name} is a {kind}; expected a text")
    told = {name: clean("" if row.get(name) is None else row[name]) for name in FIELDS}
    if not told["text"]:
        raise ValueError(f"{where}: no text; expected the reason in words")
    feature = schema[schema.name_of(told["feature"])]
    known = [*SIDES, "yes", "no", *map(str, (*feature.values, *feature.missing))]
    if told["when"] and told["when"] not in known:
        expected = f"{some(known)}, or nothing for any"
        raise ValueError(f"{where}: when={told['when']!r}; expected one of {expected}")
    return ReasonCode(feature.name, told["when"], told["code"], told["text"])
