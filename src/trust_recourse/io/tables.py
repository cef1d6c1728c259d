"""Tables from files: CSV as people have it, or Parquet; and their cells read by a schema.

A CSV holds text alone, and comes record by record, so that it need not be held. Before there is a
schema its columns are guessed: numbers where all cells are, true and false, else text. From then on
each cell is read as its feature says. Where semicolons stand between cells, a number may have a
decimal comma.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.io.extras import absent
from trust_recourse.io.wording import near, repeated, some

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from trust_recourse import Feature, Schema

SEPARATORS = ",;\t|"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # could steer a terminal
MOST_CLASSES = 50  # of a target; with more it is a number, or a name
ZERO_LED = re.compile(r"[-+]?0\d+")
LINES = 20  # of one record of a CSV; in a longer one a quote is missing
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # how one begins
PARQUET, ZIP = b"PAR1", b"PK\x03\x04"


class TableError(ValueError):
    """A table that cannot be read, with the reason."""


@dataclass(frozen=True, eq=False)
class Table:
    """What a file holds: of a CSV all cells are texts, '' if empty; of Parquet as they are."""

    path: Path
    cells: pd.DataFrame
    separator: str = ""  # of a CSV

    def __len__(self) -> int:
        return len(self.cells)

    def column(self, name: str, way: str = "") -> pd.Series[Any]:
        """One column; a name that is not there gets the one that was meant, and a way to it."""
        if name not in self.cells.columns:
            known = list(self.cells.columns)
            hint = near(name, known) or f"; the columns are {some(known)}"
            raise TableError(f"{self.path}: no column {name!r}{hint}{way}")
        return self.cells[name]

    def labels(self, target: str) -> NDArray[Any]:
        """The class of each row: two classes or a few, none blank."""
        given = self._guessed(self.column(target))
        classes = given.dropna().unique().tolist()
        if not 2 <= len(classes) <= MOST_CLASSES:
            raise TableError(
                f"{self.path}: column {target!r} holds {len(classes)} different values "
                f"({some(classes)}); a target has two, such as 0 and 1 or no and yes, or up to "
                f"{MOST_CLASSES}"
            )
        if blank := int(given.isna().sum()):
            raise TableError(
                f"{self.path}: {blank:,} of {len(given):,} rows have no class: column {target!r} "
                "is blank there; fill it in, or take these rows out"
            )
        kind = given.dtype.kind
        if kind == "b":
            return given.to_numpy(dtype=bool)
        exact = kind in "uf" and given.between(-(2**53), 2**53).all()  # beyond, int64 may wrap
        if kind == "i" or (exact and (given % 1 == 0).all()):
            return given.to_numpy(dtype="int64")
        return given.astype(str).to_numpy(dtype=object)

    def features(self, *left_out: str) -> pd.DataFrame:
        """All columns but these, their types guessed."""
        import pandas as pd

        for name in left_out:
            self.column(name)
        kept = [name for name in self.cells.columns if name not in left_out]
        if not kept:
            raise TableError(f"{self.path}: no column is left beside {', '.join(left_out)}")
        return pd.DataFrame({name: self._guessed(self.cells[name]) for name in kept})

    def read_by(self, schema: Schema, rows: slice = slice(None)) -> pd.DataFrame:
        """The schema's columns, each cell read as its feature says; other columns stay away.

        Derived columns that the file lacks are computed.
        """
        import pandas as pd

        given = (f for f in schema if f.name in self.cells.columns or not f.computable)
        columns = {f.name: self.column(f.name, f.how_computed)[rows] for f in given}
        if self.separator:
            columns = {name: self._read(schema[name], each) for name, each in columns.items()}
        try:
            return schema.with_derived(pd.DataFrame(columns))[list(schema.names)]
        except ValueError as error:
            raise TableError(f"{self.path}: {error}") from None

    def _read(self, feature: Feature, column: pd.Series[Any]) -> pd.Series[Any]:
        words, known = column.unique(), {}
        for word, cell in zip(words, by_feature(feature, words, self.separator), strict=True):
            try:
                known[word] = feature.read(cell)
            except ValueError as error:
                row = column.index[column == word][0]
                raise TableError(f"{self.path}, row {row} (0 is the first): {error}") from None
        return _series(column, [known[text] for text in column])

    def _guessed(self, column: pd.Series[Any]) -> pd.Series[Any]:
        try:
            return guessed(column, self.separator) if self.separator else column
        except ValueError as error:
            raise TableError(f"{self.path}: {error}") from None


# ---------------------------------------------------------------- types of text


def guessed(column: pd.Series[Any], separator: str = ",") -> pd.Series[Any]:
    """Numbers or booleans where every cell that is not blank is one, else text; blanks are NaN.

    Whole numbers with a leading zero are names, of a place or an account, and stay text; so are
    those of a column where most are from 2**53 on, and no float is that exact.
    """
    from trust_recourse.io.scalars import BLANKS, NUMBER, YES

    points = _series(column, with_points(column, separator))
    words = set(points.unique())
    known = {word for word in words if word.lower() not in BLANKS}
    if known and all(map(NUMBER.fullmatch, known)) and not any(map(ZERO_LED.fullmatch, known)):
        whole = all(word.lstrip("+-").isdigit() for word in known)
        great = {word for word in known if whole and abs(float(word)) >= 2**53}
        if great and 2 * points.isin(great).sum() > points.isin(known).sum():
            return _series(column, [word if word in known else None for word in points])
        if any(abs(float(largest := word)) >= 2**63 for word in great):
            raise ValueError(
                f"column {column.name!r}: given {largest}, expected whole numbers below 2**53; "
                "mend the cell, or leave the column out (--id)"
            )
        read = int if whole else float
        values = _series(column, [read(word) if word in known else None for word in points])
        if whole:
            return values.astype("int64" if known == words else "Int64")
        return values.astype("float64")
    words = set(column.unique())
    known = words - {""}
    if known and {word.lower() for word in known} <= {"true", "false"}:
        values = _series(column, [YES.get(word.lower()) for word in column])
        return values.astype("boolean" if "" in words else bool)
    return _series(column, [word or None for word in column])


def _series(like: pd.Series[Any], values: list[Any]) -> pd.Series[Any]:
    """These values as they are, in the place of another column."""
    import pandas as pd

    return pd.Series(values, index=like.index, name=like.name, dtype=object)


# ---------------------------------------------------------------- files


def read(path: Path) -> Table:
    """A table from a CSV or Parquet file."""
    table = _parquet(path) if is_parquet(path) else _csv(path)
    if not len(table):
        raise TableError(f"{path}: it has columns, but no rows")
    return table


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its name or by what is in it; else it is CSV, or refused."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TableError(f"{path}: not a file; a device or a pipe may have no end")
    with path.open("rb") as source:
        start = source.read(4)
    if start == ZIP:
        raise TableError(f"{path}: a spreadsheet or an archive; save it as CSV (UTF-8) first")
    return start == PARQUET or path.suffix == ".parquet"


def opened(path: Path) -> pq.ParquetFile:
    """A Parquet file, whose pages are checked as they are read."""
    if find_spec("pyarrow") is None:
        told = absent("Parquet", "pyarrow", "parquet")
        raise TableError(f"{path}: {told}, or save the table as CSV")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> TableError:
    first = str(error).partition("\n")[0]
    return TableError(f"{path}: not a Parquet file, or damaged ({first}); mend it, or take it away")


def _parquet(path: Path) -> Table:
    with opened(path) as source:
        import pyarrow as pa

        nested = [each.name for each in source.schema_arrow if pa.types.is_nested(each.type)]
        if nested:
            raise TableError(f"{path}: columns of lists or records: {some(nested)}; leave them out")
        try:
            cells = source.read().to_pandas().reset_index(drop=True)
        except Exception as error:  # the two packages have no common word for what they trip over
            raise _damaged(path, error) from None
    cells.columns = names_of(path, map(str, cells.columns))
    return Table(path, cells)


def _csv(path: Path) -> Table:
    import pandas as pd

    rows, separator = [], separator_of(path)
    with Lines(path) as lines:
        coming = records(lines, separator)
        _, names = first_line(path, coming)
        for record in coming:
            if record.problem:
                raise TableError(f"{path}, {record.problem}")
            rows.append([cell.strip() for cell in record.cells])
    return Table(path, pd.DataFrame(rows, columns=names, dtype=object), separator)


# ---------------------------------------------------------------- CSV, record by record


def separator_of(path: Path) -> str:
    """What stands between the cells of a CSV file: that which makes its first line the longest."""
    with path.open("rb") as source:
        first = source.readline().decode("utf-8-sig", errors="replace")
    return max(SEPARATORS, key=lambda each: len(next(csv.reader([first], delimiter=each), [])))


def first_line(path: Path, coming: Iterator[Record]) -> tuple[Record, list[str]]:
    """The first record of a CSV file, and the names of columns in it."""
    first = next(coming, None)
    if first is None:
        raise TableError(f"{path}: expected a first line with the names of columns, then rows")
    if first.problem:
        raise TableError(f"{path}, {first.problem}")
    return first, names_of(path, first.cells)


def names_of(path: Path, given: Iterable[str]) -> list[str]:
    """A name for each column; one without is called by its place."""
    names = [name.strip(" \t\r\n") or f"column {at}" for at, name in enumerate(given, 1)]
    if twice := repeated(names):
        raise TableError(f"{path}: columns: {twice}")
    return names


class Record(NamedTuple):
    """One record of a CSV file: its cells, or what is wrong with it, and where the next begins."""

    cells: list[str]
    problem: str | None
    end: int  # in bytes
    line: int


class Lines:
    """The lines of a file as text; counts bytes, and what no text may hold."""

    def __init__(self, path: Path, skip: int = 0, line: int = 0) -> None:
        self.path, self.source = path, path.open("rb")
        self.source.seek(skip)
        self.end, self.line = skip, line
        self.digest = hashlib.sha256()
        self.problem: str | None = None
        self.record = ""  # what was read of the record so far

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def __iter__(self) -> Iterator[str]:
        for raw in self.source:
            self.end += len(raw)
            self.line += 1
            self.digest.update(raw)
            try:
                text = raw.decode("utf-8-sig" if self.line == 1 else "utf-8")
            except UnicodeDecodeError:
                text = raw.decode("utf-8", errors="replace")
                self.problem = "not a text in UTF-8; save the table as CSV (UTF-8)"
            if found := CONTROL.search(text):
                self.problem = f"the character {found[0]!r} has no place in a table of text"
                text = CONTROL.sub("", text)
            self.record += text
            yield text


def records(lines: Lines, separator: str, cells: int | None = None) -> Iterator[Record]:
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
                raise TableError(
                    f"{lines.path}, lines {begun} to {lines.line}: {error}; a quote that begins a "
                    "cell must end it"
                ) from None
            row, lines.problem = [""], str(error)
        problem, lines.problem = lines.problem, None
        text, lines.record = lines.record, ""
        if problem is None and cells and row and len(row) != cells:
            problem = (
                f"{len(row)} cells, but the first line names {cells} columns; a text that holds a "
                "separator must stand in quotes"
            )
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


# ---------------------------------------------------------------- decimals


def with_points(texts: Iterable[str], separator: str) -> list[str]:
    """Cells of numbers with a point for decimals; where semicolons part them it may be a comma.

    >>> with_points(["1,5", "2.5", "a,b"], ";"), with_points(["1,5"], ",")
    (['1.5', '2.5', 'a,b'], ['1,5'])
    """
    from trust_recourse.io.scalars import NUMBER

    if separator != ";":
        return list(texts)
    points = ((text, text.replace(",", ".")) for text in texts)
    return [point if NUMBER.fullmatch(point) else text for text, point in points]


def by_feature(feature: Feature, texts: Iterable[str], separator: str) -> list[str]:
    """The cells of a column of CSV for its feature to read."""
    cells = [text.strip() for text in texts]
    return with_points(cells, separator) if feature.kind in ("number", "integer") else cells


def as_csv(table: pd.DataFrame) -> str:
    r"""A table as CSV in which no text of the data is a formula to a program of spreadsheets.

    >>> import pandas as pd
    >>> as_csv(pd.DataFrame({"=1+1": ["@now", "day"], "n": [-1, 2]}))
    "'=1+1,n\n'@now,-1\nday,2\n"
    """

    def harmless(cell: Any) -> Any:
        formula = isinstance(cell, str) and cell.lstrip(" ").startswith(FORMULA)
        return f"'{cell}" if formula else cell

    return table.map(harmless).rename(columns=harmless).to_csv(index=False)
