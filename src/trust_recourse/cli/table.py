"""Tables from files: CSV as people have it, or Parquet; and their cells read by a schema.

A CSV holds text alone. Before there is a schema its columns are guessed: numbers where all cells
are, true and false, else text. From then on each cell is read as its feature says.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trust_recourse.cli.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from trust_recourse import Feature, Schema

SEPARATORS = ",;\t|"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how one begins
PARQUET, ZIP = b"PAR1", b"PK\x03\x04"


@dataclass(frozen=True, eq=False)
class Table:
    """What a file holds: of a CSV all cells are texts, '' if empty; of Parquet as they are."""

    path: Path
    cells: pd.DataFrame
    texts: bool

    def __len__(self) -> int:
        return len(self.cells)

    def column(self, name: str) -> pd.Series[Any]:
        """One column; a name that is not there gets the one that was meant."""
        from trust_recourse.wording import near, some

        if name not in self.cells.columns:
            known = list(self.cells.columns)
            hint = near(name, known) or f"; the columns are {some(known)}"
            raise InputError(f"{self.path}: no column {name!r}{hint}")
        return self.cells[name]

    def labels(self, target: str) -> NDArray[Any]:
        """The class of each row: two classes, none blank."""
        from trust_recourse.wording import some

        given = self._guessed(self.column(target))
        classes = given.dropna().unique().tolist()
        if len(classes) != 2:
            raise InputError(
                f"{self.path}: column {target!r} holds {len(classes)} different values "
                f"({some(classes)}); a target has two, such as 0 and 1 or no and yes"
            )
        if blank := int(given.isna().sum()):
            raise InputError(
                f"{self.path}: {blank} of {len(given)} rows have no class: column {target!r} is "
                "blank there; fill it in, or take these rows out"
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
            raise InputError(f"{self.path}: no column is left beside {', '.join(left_out)}")
        return pd.DataFrame({name: self._guessed(self.cells[name]) for name in kept})

    def read_by(self, schema: Schema, rows: slice = slice(None)) -> pd.DataFrame:
        """The schema's columns, each cell read as its feature says; other columns stay away."""
        import pandas as pd

        columns = {feature.name: self.column(feature.name)[rows] for feature in schema}
        if self.texts:
            columns = {f.name: self._read(f, columns[f.name]) for f in schema}
        return pd.DataFrame(columns)

    def _read(self, feature: Feature, column: pd.Series[Any]) -> pd.Series[Any]:
        try:
            known = {text: feature.read(text) for text in column.unique()}
        except ValueError as error:
            raise InputError(f"{self.path}: {error}") from None
        return _series(column, [known[text] for text in column])

    def _guessed(self, column: pd.Series[Any]) -> pd.Series[Any]:
        try:
            return guessed(column) if self.texts else column
        except ValueError as error:
            raise InputError(f"{self.path}: {error}") from None


# ---------------------------------------------------------------- types of text


def guessed(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers or booleans where every cell that is not blank is one, else text; blanks are NaN.

    Whole numbers with a leading zero are names, of a place or an account, and stay text.
    """
    from trust_recourse.schema.scalars import BLANKS, NUMBER, YES

    words = set(column.unique())
    known = {word for word in words if word.lower() not in BLANKS}
    if known and all(map(NUMBER.fullmatch, known)) and not any(map(_zero_led, known)):
        whole = all(word.lstrip("+-").isdigit() for word in known)
        if whole and abs(float(largest := max(known, key=lambda word: abs(float(word))))) >= 2**63:
            raise ValueError(
                f"column {column.name!r}: given {largest}, expected whole numbers below 2**53; "
                "leave the column out, or begin each of its cells with a letter if it holds names"
            )
        read = int if whole else float
        values = _series(column, [read(word) if word in known else None for word in column])
        if whole:
            return values.astype("int64" if known == words else "Int64")
        return values.astype("float64")
    known = words - {""}
    if known and {word.lower() for word in known} <= {"true", "false"}:
        values = _series(column, [YES.get(word.lower()) for word in column])
        return values.astype("boolean" if "" in words else bool)
    return _series(column, [word or None for word in column])


def _series(like: pd.Series[Any], values: list[Any]) -> pd.Series[Any]:
    """These values as they are, in the place of another column."""
    import pandas as pd

    return pd.Series(values, index=like.index, name=like.name, dtype=object)


def _zero_led(word: str) -> bool:
    digits = word.lstrip("+-")
    return digits.isdigit() and len(digits) > 1 and digits[0] == "0"


# ---------------------------------------------------------------- files


def read(path: Path) -> Table:
    """A table from a CSV or Parquet file, told apart by what is in it."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: not a file; a device or a pipe may have no end")
    with path.open("rb") as source:
        start = source.read(4)
    if start == PARQUET or path.suffix == ".parquet":
        return Table(path, _parquet(path), texts=False)
    if start == ZIP:
        raise InputError(f"{path}: a spreadsheet or an archive; save it as CSV (UTF-8) first")
    return Table(path, _csv(path), texts=True)


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    from trust_recourse.wording import some

    if find_spec("pyarrow") is None:
        raise InputError(
            f"{path}: Parquet needs pyarrow, which is not installed: "
            "pip install 'trust-recourse[parquet]', or save the table as CSV"
        )
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        nested = [each.name for each in pq.read_schema(path) if pa.types.is_nested(each.type)]
        table = pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    except Exception as error:  # the two packages have no common word for what they trip over
        first = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise InputError(f"{path}: not a Parquet file, or damaged ({first})") from None
    if nested:
        raise InputError(f"{path}: columns of lists or records: {some(nested)}; leave them out")
    table.columns = _names(path, [str(name) for name in table.columns])
    if not len(table):
        raise InputError(f"{path}: it has columns, but no rows")
    return table


def _csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        separator, header, rows = _separated(path)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not a text in UTF-8 (byte {error.start}); save the table as CSV (UTF-8)"
        ) from None
    except csv.Error as error:
        raise InputError(f"{path}: not a table: {error}") from None
    names = _names(path, header)
    if not rows:
        raise InputError(f"{path}: it has a first line with names, but no rows")
    columns: Iterable[Sequence[str]] = zip(*rows, strict=True)
    if separator == ";":
        columns = map(_with_points, columns)
    return pd.DataFrame(
        {n: pd.Series(list(cells), dtype=object) for n, cells in zip(names, columns, strict=True)}
    )


def _separated(path: Path) -> tuple[str, list[str], list[list[str]]]:
    """The separator of a CSV file, its first line, and its rows, all as long as that."""
    with path.open(encoding="utf-8-sig", newline="") as source:
        first = source.readline()
        separator = max(
            SEPARATORS, key=lambda each: len(next(csv.reader([first], delimiter=each), []))
        )
        source.seek(0)
        lines = _printable(path, source)
        reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
        header = next(reader, [])
        if not header:
            raise InputError(f"{path}: expected a first line with the names of columns, then rows")
        rows = []
        for row in reader:
            if row and len(row) != len(header):
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells, but the first line names "
                    f"{len(header)} columns; a text that holds a separator must stand in quotes"
                )
            if row:
                rows.append([cell.strip() for cell in row])
    return separator, [name.strip() for name in header], rows


def _printable(path: Path, lines: Iterable[str]) -> Iterator[str]:
    """The lines of a text; a control character, which could steer a terminal, is refused."""
    for at, line in enumerate(lines, 1):
        if found := CONTROL.search(line):
            raise InputError(
                f"{path}, line {at}: the character {found[0]!r} has no place in a table of text"
            )
        yield line


def _names(path: Path, given: Sequence[str]) -> list[str]:
    """A name for each column; one without is called by its place."""
    from trust_recourse.wording import some

    names = [name or f"column {at}" for at, name in enumerate(given, 1)]
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise InputError(f"{path}: columns with the same name: {some(twice)}; give each its own")
    return names


def as_csv(table: pd.DataFrame) -> str:
    r"""A table as CSV in which no text of the data is a formula to a program of spreadsheets.

    >>> import pandas as pd
    >>> as_csv(pd.DataFrame({"=1+1": ["@now", "day"], "n": [-1, 2]}))
    "'=1+1,n\n'@now,-1\nday,2\n"
    """

    def harmless(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell

    return table.map(harmless).rename(columns=harmless).to_csv(index=False)


def _with_points(cells: Sequence[str]) -> Sequence[str]:
    """Decimal commas, as in files with semicolons, made points if that makes all cells numbers."""
    from trust_recourse.schema.scalars import BLANKS, NUMBER

    points = [cell.replace(",", ".") for cell in cells]
    numbers = all(NUMBER.fullmatch(cell) or cell.lower() in BLANKS for cell in points)
    return points if numbers else cells
