"""The input: a CSV file, a Parquet file or a folder of them, cut into parts of known rows.

It is gone through twice, and never held: once to count its rows and take its fingerprint, then part
by part, past those that are answered already. What a part needs to be read stays with the process
that reads; workers get the rows themselves, so they need not see the same disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from trust_recourse.io.tables import (
    Lines,
    TableError,
    by_feature,
    first_line,
    is_parquet,
    opened,
    records,
    separator_of,
)
from trust_recourse.io.wording import near, some
from trust_recourse.schema import Schema
from trust_recourse.schema.errors import refuse_repeated

if TYPE_CHECKING:
    import pyarrow as pa

Stamp = tuple[int, int]  # what changes about a file when somebody writes it: its size and its time


class PartSpan(NamedTuple):
    """Where one part's rows are: in a group of rows of Parquet, or from a byte of a CSV on."""

    number: int
    file: Path
    first: int  # the part's first row, counted over the whole input
    rows: int
    group: int = 0  # of Parquet
    skip: int = 0  # rows of the group before it, or bytes of the CSV
    line: int = 0  # the CSV's last line before it


@dataclass(frozen=True)
class Part:
    """The rows of one part, for a worker; a row with a problem is none of the table's rows."""

    number: int
    first: int
    rows: int
    table: pa.Table | None
    problems: dict[int, str]  # by the row's place in the part
    separator: str = ""  # of a CSV, whose cells are all texts

    def frame(self, schema: Schema) -> pd.DataFrame:
        """The schema's columns of those rows that could be read."""
        if self.table is None:
            return pd.DataFrame(columns=list(schema.names))
        columns: pd.DataFrame = self.table.select(list(schema.names)).to_pandas()
        for feature in schema if self.separator else ():
            columns[feature.name] = by_feature(feature, columns[feature.name], self.separator)
        return columns


@dataclass(frozen=True)
class Population:
    """An input that was gone through once: its parts, its columns and its fingerprint."""

    path: Path
    spans: tuple[PartSpan, ...]
    columns: pa.Schema  # of types that hold the values of every file
    stamps: dict[Path, Stamp]
    sha256: str
    separator: str = ""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        names: list[str] = self.columns.names
        return names

    @property
    def rows(self) -> int:
        """How many people there are."""
        return sum(span.rows for span in self.spans)

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return sum(size for size, _ in self.stamps.values())

    def refuse_absent(self, columns: Sequence[str], schema: Schema | None = None) -> None:
        """Refuse columns that the input has not; of a schema's, with how one is derived."""
        for name in columns:
            if name not in self.names:
                hint = near(name, self.names) or f"; the columns are {some(self.names)}"
                way = schema[name].how_computed if schema and name in schema else ""
                raise TableError(f"{self.path}: no column {name!r}{hint}{way}")

    def types(self, columns: Sequence[str]) -> pa.Schema:
        """The types of these columns."""
        import pyarrow as pa

        self.refuse_absent(columns)
        return pa.schema([self.columns.field(name) for name in columns])

    def parts(self, numbers: Collection[int], columns: pa.Schema) -> Iterator[Part]:
        """The parts of these numbers, in order, with these columns, one at a time."""
        wanted = [span for span in self.spans if span.number in numbers]
        for (file, group), spans in groupby(wanted, key=lambda span: (span.file, span.group)):
            if self.separator:
                coming = _csv_parts(self, list(spans), columns.names)
            else:
                coming = _parquet_parts(file, group, list(spans), columns)
            try:
                for part in coming:
                    if _stamp(file) != self.stamps[file]:
                        raise TableError(
                            f"{file}: was changed while it was read; let nobody write it, and "
                            "start again with another folder of answers"
                        )
                    yield part
            except OSError as error:
                raise TableError(f"{file}: cannot be read any more ({error})") from None


def _stamp(file: Path) -> Stamp:
    known = file.stat()
    return known.st_size, known.st_mtime_ns


def people(path: str | os.PathLike[str], rows_per_part: int) -> Population:
    """Go through an input once, and cut it into parts of at most so many rows."""
    if not isinstance(rows_per_part, int) or rows_per_part < 1:
        raise ValueError(f"rows_per_part={rows_per_part!r}; expected a whole number of at least 1")
    source = Path(path)
    files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    if not files:
        raise TableError(f"{source}: a folder without *.parquet files")
    if not source.exists():
        raise TableError(f"{source}: there is no such file")
    if source.is_dir() or is_parquet(source):
        found = _parquet(source, files, rows_per_part)
    else:
        found = _csv(source, rows_per_part)
    if not found.rows:
        raise TableError(f"{source}: it has columns, but no rows")
    return found


# ---------------------------------------------------------------- Parquet


def _parquet(source: Path, files: list[Path], most: int) -> Population:
    import pyarrow as pa

    spans: list[PartSpan] = []
    types: dict[str, Any] = {}
    first, stamps, digest = 0, {file: _stamp(file) for file in files}, hashlib.sha256()
    for file in files:
        with opened(file) as held_in:
            held, told = held_in.schema_arrow, held_in.metadata
            groups = [told.row_group(g).num_rows for g in range(told.num_row_groups)]
        refuse_repeated(f"{file}: columns", held.names)
        if types and set(held.names) != set(types):
            odd = sorted(set(held.names) ^ set(types))
            raise TableError(f"{file}: unlike {files[0].name} in the columns {some(odd)}")
        own = {field.name: _plain_type(field.type) for field in held}
        types = {name: _common(of, own[name]) for name, of in (types or own).items()}
        for group, rows in enumerate(groups):
            for skip in range(0, rows, most):
                many = min(most, rows - skip)
                spans.append(PartSpan(len(spans), file, first, many, group, skip))
                first += many
        if source.is_dir():
            digest.update(f"{file.name} {stamps[file][0]}\n".encode())
        with file.open("rb") as content:
            hashlib.file_digest(content, lambda: digest)
    return Population(source, tuple(spans), pa.schema(types), stamps, digest.hexdigest())


def _parquet_parts(
    file: Path, group: int, spans: list[PartSpan], columns: pa.Schema
) -> Iterator[Part]:
    """The parts of one group of rows, which is read in pieces; what is damaged has the reason."""
    import pyarrow as pa

    at, held = 0, None
    waiting = list(spans)
    try:
        with opened(file) as source:
            size = max(span.rows for span in spans)
            pieces = source.iter_batches(size, row_groups=[group], columns=columns.names)
            for piece in pieces:
                here = pa.Table.from_batches([piece]).select(columns.names)
                held = here if held is None else pa.concat_tables([held, here])
                while waiting and at + len(held) >= waiting[0].skip + waiting[0].rows:
                    span = waiting.pop(0)
                    yield _parquet_part(span, held.slice(span.skip - at, span.rows), columns)
                if not waiting:
                    return
                passed = min(len(held), max(0, waiting[0].skip - at))
                at, held = at + passed, held.slice(passed)
    except (pa.ArrowException, OSError, TableError) as error:
        words = f"{file}, row group {group}: cannot be read ({_first_line(error)})"
    else:
        words = f"{file}, row group {group}: it ends before its last row"
    for span in waiting:
        yield _lost(span, words)


def _parquet_part(span: PartSpan, rows: pa.Table, columns: pa.Schema) -> Part:
    import pyarrow as pa

    try:
        table = rows.cast(columns).combine_chunks()
    except pa.ArrowException as error:
        return _lost(span, f"{span.file}: unlike the other files ({_first_line(error)})")
    return Part(span.number, span.first, span.rows, table, {})


def _lost(span: PartSpan, words: str) -> Part:
    """A part of which nothing can be read."""
    problems = dict.fromkeys(range(span.rows), words)
    return Part(span.number, span.first, span.rows, None, problems)


def _plain_type(of: Any) -> Any:
    """The type of the values themselves, however a file packs them."""
    import pyarrow as pa

    if pa.types.is_dictionary(of):
        return _plain_type(of.value_type)
    packed = pa.types.is_large_string(of) or pa.types.is_string_view(of)
    return pa.string() if packed else of


def _common(a: Any, b: Any) -> Any:
    """A type that holds what either holds; text if there is no other."""
    import pyarrow as pa

    both = [pa.schema({"": a}), pa.schema({"": b})]
    try:
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except pa.ArrowTypeError:
        return pa.string()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


# ---------------------------------------------------------------- CSV


def _csv(path: Path, most: int) -> Population:
    import pyarrow as pa

    stamp, separator = _stamp(path), separator_of(path)
    spans: list[PartSpan] = []
    with Lines(path) as lines:
        coming = records(lines, separator)
        before, names = first_line(path, coming)
        first = 0
        while part := [*islice(coming, most)]:  # it begins where the record before it ended
            many, skip, line = len(part), before.end, before.line
            spans.append(PartSpan(len(spans), path, first, many, skip=skip, line=line))
            first, before = first + many, part[-1]
    columns, digest = pa.schema(dict.fromkeys(names, pa.string())), lines.digest.hexdigest()
    return Population(path, tuple(spans), columns, {path: stamp}, digest, separator)


def _csv_parts(source: Population, spans: list[PartSpan], columns: Sequence[str]) -> Iterator[Part]:
    import pyarrow as pa

    places = [source.names.index(name) for name in columns]
    for span in spans:
        with Lines(span.file, span.skip, span.line) as lines:
            coming = records(lines, source.separator, len(source.names))
            taken = list(islice(coming, span.rows))
        good = [record.cells for record in taken if record.problem is None]
        problems = {at: r.problem for at, r in enumerate(taken) if r.problem is not None}
        cells = [pa.array([row[place] for row in good], pa.string()) for place in places]
        table = pa.Table.from_arrays(cells, names=list(columns)) if good else None
        yield Part(span.number, span.first, span.rows, table, problems, source.separator)
