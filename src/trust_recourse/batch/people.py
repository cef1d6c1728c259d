"""The input: a CSV file, a Parquet file or a folder of them, cut into parts of known rows.

It is gone through twice, and never held: once to count its rows and take its fingerprint, then part
by part, past those that are answered already. What a part needs to be read stays with the process
that reads; workers get the rows themselves, so they need not see the same disk.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from trust_recourse.schema import Schema
from trust_recourse.schema.errors import refuse_repeated
from trust_recourse.schema.scalars import NUMBER
from trust_recourse.wording import near, some

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SEPARATORS = ",;\t|"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # could steer a terminal
BLOCK = 1 << 20
LINES = 20  # of one record of a CSV; in a longer one a quote is missing


class PeopleError(ValueError):
    """An input that cannot be read, with the reason."""


class Span(NamedTuple):
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
            texts = [text.strip() for text in columns[feature.name]]
            with_comma = self.separator == ";" and feature.kind == "number"
            columns[feature.name] = [_with_point(text) for text in texts] if with_comma else texts
        return columns


def _with_point(text: str) -> str:
    point = text.replace(",", ".")
    return point if NUMBER.fullmatch(point) else text


@dataclass(frozen=True)
class People:
    """An input that was gone through once: its parts, its columns and its fingerprint."""

    path: Path
    spans: tuple[Span, ...]
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
        return sum(stamp.size for stamp in self.stamps.values())

    def _refuse_absent(self, columns: Sequence[str]) -> None:
        """Refuse columns that the input has not."""
        for name in columns:
            if name not in self.names:
                hint = near(name, self.names) or f"; the columns are {some(self.names)}"
                raise PeopleError(f"{self.path}: no column {name!r}{hint}")

    def types(self, columns: Sequence[str]) -> pa.Schema:
        """The types of these columns."""
        import pyarrow as pa

        self._refuse_absent(columns)
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
                    self._refuse_changed(file)
                    yield part
            except OSError as error:
                raise PeopleError(f"{file}: cannot be read any more ({error})") from None

    def _refuse_changed(self, file: Path) -> None:
        """Refuse a file that is not as it was when its rows were counted."""
        if _stamp(file) != self.stamps[file]:
            raise PeopleError(
                f"{file}: was changed while it was read; let nobody write it, and start again with "
                "another folder of answers"
            )


class Stamp(NamedTuple):
    """What changes about a file when somebody writes it."""

    size: int
    changed: int  # in nanoseconds


def _stamp(file: Path) -> Stamp:
    known = file.stat()
    return Stamp(known.st_size, known.st_mtime_ns)


def people(path: str | os.PathLike[str], rows_per_part: int) -> People:
    """Go through an input once, and cut it into parts of at most so many rows."""
    if not isinstance(rows_per_part, int) or rows_per_part < 1:
        raise ValueError(f"rows_per_part={rows_per_part!r}; expected a whole number of at least 1")
    source = Path(path)
    files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    if not files:
        raise PeopleError(f"{source}: a folder without *.parquet files")
    if not source.exists():
        raise PeopleError(f"{source}: there is no such file")
    if not (source.is_dir() or source.is_file()):
        raise PeopleError(f"{source}: not a file; a device or a pipe may have no end")
    if source.is_dir() or source.suffix == ".parquet" or _starts(source) == b"PAR1":
        found = _parquet(source, files, rows_per_part)
    elif _starts(source) == b"PK\x03\x04":
        raise PeopleError(f"{source}: a spreadsheet or an archive; save it as CSV (UTF-8) first")
    else:
        found = _csv(source, rows_per_part)
    if not found.rows:
        raise PeopleError(f"{source}: it has columns, but no rows")
    return found


def _starts(path: Path) -> bytes:
    with path.open("rb") as source:
        return source.read(4)


# ---------------------------------------------------------------- Parquet


def _opened(file: Path) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise PeopleError(
            f"{file}: not a Parquet file, or damaged ({_first_line(error)}); mend it, or take it "
            "away, and start again"
        ) from None


def _parquet(source: Path, files: list[Path], most: int) -> People:
    import pyarrow as pa

    spans: list[Span] = []
    types: dict[str, Any] = {}
    first, stamps, digest = 0, {file: _stamp(file) for file in files}, hashlib.sha256()
    for file in files:
        with _opened(file) as opened:
            held = opened.schema_arrow
            groups = [opened.metadata.row_group(g).num_rows for g in range(opened.num_row_groups)]
        refuse_repeated(f"{file}: columns", held.names)
        if types and set(held.names) != set(types):
            odd = sorted(set(held.names) ^ set(types))
            raise PeopleError(f"{file}: unlike {files[0].name} in the columns {some(odd)}")
        own = {field.name: _plain_type(field.type) for field in held}
        types = {name: _common(of, own[name]) for name, of in (types or own).items()}
        for group, rows in enumerate(groups):
            for skip in range(0, rows, most):
                many = min(most, rows - skip)
                spans.append(Span(len(spans), file, first, many, group, skip))
                first += many
        if source.is_dir():
            digest.update(f"{file.name} {stamps[file].size}\n".encode())
        _hash_into(digest, file)
    return People(source, tuple(spans), pa.schema(types), stamps, digest.hexdigest())


def _hash_into(digest: Any, file: Path) -> None:
    with file.open("rb") as source:
        while block := source.read(BLOCK):
            digest.update(block)


def _parquet_parts(file: Path, group: int, spans: list[Span], columns: pa.Schema) -> Iterator[Part]:
    """The parts of one group of rows, which is read in pieces; what is damaged has the reason."""
    import pyarrow as pa

    at, held = 0, None
    waiting = list(spans)
    try:
        with _opened(file) as opened:
            size = max(span.rows for span in spans)
            pieces = opened.iter_batches(size, row_groups=[group], columns=columns.names)
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
    except (pa.ArrowException, OSError, PeopleError) as error:
        words = f"{file}, row group {group}: cannot be read ({_first_line(error)})"
    else:
        words = f"{file}, row group {group}: it ends before its last row"
    for span in waiting:
        yield _lost(span, words)


def _parquet_part(span: Span, rows: pa.Table, columns: pa.Schema) -> Part:
    import pyarrow as pa

    try:
        table = rows.cast(columns).combine_chunks()
    except pa.ArrowException as error:
        return _lost(span, f"{span.file}: unlike the other files ({_first_line(error)})")
    return Part(span.number, span.first, span.rows, table, {})


def _lost(span: Span, words: str) -> Part:
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


class Record(NamedTuple):
    """One record of a CSV file: its cells, or what is wrong with it, and where the next begins."""

    cells: list[str]
    problem: str | None
    end: int  # in bytes
    line: int


class _Lines:
    """The lines of a file as text; counts bytes, and what no text may hold."""

    def __init__(self, path: Path, skip: int, line: int) -> None:
        self.source = path.open("rb")
        self.source.seek(skip)
        self.end, self.line = skip, line
        self.digest = hashlib.sha256()
        self.problem: str | None = None
        self.record = ""  # what was read of the record so far

    def __iter__(self) -> Iterator[str]:
        for raw in self.source:
            self.end += len(raw)
            self.line += 1
            self.digest.update(raw)
            try:
                text = raw.decode("utf-8-sig" if self.line == 1 else "utf-8")
            except UnicodeDecodeError:
                text = raw.decode("utf-8", errors="replace")
                self.problem = "not a text in UTF-8"
            if found := CONTROL.search(text):
                self.problem = f"the character {found[0]!r} has no place in a table of text"
                text = CONTROL.sub("", text)
            self.record += text
            yield text


def _records(lines: _Lines, path: Path, separator: str, cells: int | None) -> Iterator[Record]:
    """The records that are not blank lines; after one whose quote never ends nobody can read on."""
    reader = csv.reader(iter(lines), delimiter=separator, strict=True, skipinitialspace=True)
    while True:
        begun = lines.line + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if lines.line > begun:
                raise PeopleError(
                    f"{path}, lines {begun} to {lines.line}: {error}; a quote that begins a cell "
                    "must end it"
                ) from None
            row, lines.problem = [""], str(error)
        problem, lines.problem = lines.problem, None
        text, lines.record = lines.record, ""
        if problem is None and cells and row and len(row) != cells:
            problem = f"{len(row)} cells, but the first line names {cells} columns"
        if problem is None and lines.line - begun >= LINES:
            problem = f"one row up to line {lines.line}; is there a quote too many at either end?"
        told = f"line {begun}: {problem}" if problem else None
        cells = cells or len(row)
        if row or cells == 1:  # of a single column a blank line is a blank cell
            row = row or [""]
            yield Record(_whole(row, text, separator), told, lines.end, lines.line)


def _whole(row: list[str], text: str, separator: str) -> list[str]:
    """The cells of a record with the blanks that begin them, unless a quote follows these."""
    if not text.startswith(" ") and f"{separator} " not in text:
        return row
    try:
        whole = next(csv.reader([text], delimiter=separator, strict=True))
    except csv.Error:
        return row
    if len(whole) != len(row):
        return row
    each = zip(row, whole, strict=True)
    return [with_blanks if with_blanks.lstrip(" ") == cell else cell for cell, with_blanks in each]


def _csv(path: Path, most: int) -> People:
    import pyarrow as pa

    with path.open("rb") as source:
        first_line = source.readline().decode("utf-8-sig", errors="replace")
    separator = max(
        SEPARATORS, key=lambda each: len(next(csv.reader([first_line], delimiter=each), []))
    )
    stamp, lines = _stamp(path), _Lines(path, 0, 0)
    with lines.source:
        records = _records(lines, path, separator, None)
        header = next(records, None)
        if header is None:
            raise PeopleError(f"{path}: expected a first line with names of columns, then rows")
        if header.problem:
            raise PeopleError(f"{path}, {header.problem}")
        spans: list[Span] = []
        begin, row = header, 0
        for record in records:
            row += 1
            if row % most == 0:
                spans.append(_span(path, spans, row, begin))
                begin = record
        if not spans or spans[-1].first + spans[-1].rows < row:
            spans.append(_span(path, spans, row, begin))
    names = [name.strip() or f"column {at}" for at, name in enumerate(header.cells, 1)]
    refuse_repeated(f"{path}: columns", names)
    kept, columns = tuple(spans if row else ()), pa.schema(dict.fromkeys(names, pa.string()))
    return People(path, kept, columns, {path: stamp}, lines.digest.hexdigest(), separator)


def _span(path: Path, before: list[Span], row: int, begin: Record) -> Span:
    """The part up to this row, which begins where the record before it ended."""
    first = before[-1].first + before[-1].rows if before else 0
    return Span(len(before), path, first, row - first, skip=begin.end, line=begin.line)


def _csv_parts(source: People, spans: list[Span], columns: Sequence[str]) -> Iterator[Part]:
    for span in spans:
        lines = _Lines(span.file, span.skip, span.line)
        with lines.source:
            records = _records(lines, span.file, source.separator, len(source.names))
            taken = list(islice(records, span.rows))
        yield _csv_part(source, span, taken, columns)


def _csv_part(source: People, span: Span, records: list[Record], columns: Sequence[str]) -> Part:
    import pyarrow as pa

    good = [record.cells for record in records if record.problem is None]
    problems = {at: r.problem for at, r in enumerate(records) if r.problem is not None}
    places = [source.names.index(name) for name in columns]
    cells = [pa.array([row[place] for row in good], pa.string()) for place in places]
    table = pa.Table.from_arrays(cells, names=list(columns)) if good else None
    return Part(span.number, span.first, span.rows, table, problems, source.separator)
