"""The output: a manifest, then one Parquet file for each part, each there whole or not at all.

    DIR/_batch.json          what was asked, of whom, by which model; written first
    DIR/part-00000.parquet   one row for each person of the part

Whoever starts the same work again finds by the names of the files what is done. `BatchFolder` is
a finished folder, which an audit reads part by part, some columns at a time.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import reprlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from trust_recourse.io.files import write_whole
from trust_recourse.io.wording import some
from trust_recourse.population.batch.source_tables import PartSpan
from trust_recourse.question import Question
from trust_recourse.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

OWN, NEW = "from.", "to."  # before a feature's name: the person's value, and the option's
KIND, FORMAT = "trust-recourse batch", 1
MANIFEST = "_batch.json"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WHY = {
    FileExistsError: "a file is in the way",
    NotADirectoryError: "a file is in the way",
    FileNotFoundError: "no folder can be made there",
}
PARTICULAR = re.compile(r"\d+|given .*?, expected", re.DOTALL)  # of a reason, to one person
ELSEWHERE = "give another folder, or remove this one"


class BatchError(ValueError):
    """A folder of answers that cannot be used or gone on with, with the reason."""


@dataclass(frozen=True)
class Folder:
    """Where the answers to one question about one input are written."""

    path: Path

    @classmethod
    @contextlib.contextmanager
    def held(cls, path: str | os.PathLike[str], asked: dict[str, Any]) -> Iterator[Folder]:
        """Begin a folder, or go on with one if just the same was asked there of the same people.

        A second process is kept from it meanwhile; one that was killed keeps nobody.
        """
        folder = cls(Path(path))
        with _writable(folder.path):
            folder.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder.path / ".lock", os.O_CREAT | os.O_RDWR)
        try:
            _lock(lock, folder.path)
            for beside in folder.path.glob(".*.tmp"):  # of a process that was killed as it wrote
                beside.unlink()
            if (folder.path / MANIFEST).exists():
                _refuse_another(folder.path, manifest(folder.path), asked)
            else:
                folder.write(MANIFEST, json.dumps(asked, ensure_ascii=False, indent=1).encode())
            yield folder
        finally:
            os.close(lock)

    def missing(self, spans: tuple[PartSpan, ...]) -> set[int]:
        """The numbers of the parts that are not there, damaged, or without just their rows."""
        found = set()
        for span in spans:
            try:
                rows = read_part(self.path / part_name(span.number), None)["row"].to_pylist()
            except BatchError:
                rows = None
            if rows != list(range(span.first, span.first + span.rows)):
                found.add(span.number)
        return found

    def write(self, name: str, content: bytes) -> None:
        """Write one file, whole or not at all."""
        try:
            write_whole(self.path / name, content)
        except OSError as error:
            mend = "make room" if error.errno in FULL else "put that right"
            raise BatchError(
                f"{self.path}: {name} could not be written ({os.strerror(error.errno or 0)}); "
                f"{mend}, then start the same again: what is there is kept"
            ) from None


def part_name(number: int) -> str:
    """The file of a part."""
    return f"part-{number:05d}.parquet"


def refuse_foreign(path: Path, source: Path) -> None:
    """Refuse a folder within the input, or with files (not hidden) where no batch was begun."""
    if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
        raise BatchError(f"{path}: is in the folder that is read; give another folder to write to")
    with _writable(path):
        found = os.listdir(path) if path.exists() else []
    seen = sorted(name for name in found if not name.startswith("."))
    if seen and MANIFEST not in seen:
        raise BatchError(
            f"{path}: has {some(seen)}, but no {MANIFEST}, so no batch was begun there; give a new "
            "folder or an empty one"
        )


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Say of the folder as it was given that it cannot be written, and why."""
    try:
        yield
    except OSError as error:
        why = WHY.get(type(error)) or os.strerror(error.errno or 0)
        raise BatchError(f"{path}: cannot be written ({why}); give another folder") from None


def _lock(handle: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BatchError(
            f"{path}: another process is at work on it; wait for it, or end it"
        ) from None


def _refuse_another(path: Path, there: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on with another question, or with other people, naming what differs."""
    apart = [
        words
        for name in asked
        for words in _apart(name.replace("_", " "), there.get(name), asked[name])
    ]
    if apart:
        raise BatchError(f"{path}: was begun otherwise ({'; '.join(apart)}); {ELSEWHERE}")
    untold = "cost functions of its own" if asked["cost_functions"] else None
    if "plausible" in asked["question"] and asked["plausible"] is None:
        untold = "a plausibility test of its own"
    if asked["model"]["fingerprint"] is None:
        untold = "a model without `fingerprint_`"
    if untold:
        raise BatchError(
            f"{path}: was begun with {untold}, and whether it is the same now cannot be told; "
            f"{ELSEWHERE}"
        )


def _apart(name: str, there: Any, now: Any) -> Iterator[str]:
    """What differs, but for where something lay, which says nothing of what it is."""
    if isinstance(there, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*there, *now)):
            if key != "path":
                yield from _apart(f"{name}, {key}", there.get(key), now.get(key))
    elif isinstance(there, list) and isinstance(now, list) and len(there) == len(now):
        for at, (old, new) in enumerate(zip(there, now, strict=True)):
            key = old.get("name", at) if isinstance(old, dict) else at
            yield from _apart(f"{name}, {key}", old, new)
    elif there != now:
        yield f"{name}: {reprlib.repr(there)} there, {reprlib.repr(now)} now"


# ---------------------------------------------------------------- reading


def manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was asked in a folder, of whom, and by which model."""
    path = Path(path)
    try:
        told = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BatchError(f"{path}: no {MANIFEST} in it, so no batch was begun there") from None
    except (ValueError, RecursionError) as error:
        raise BatchError(f"{path / MANIFEST}: damaged ({error}); {ELSEWHERE}") from None
    if not isinstance(told, dict) or told.get("kind") != KIND:
        raise BatchError(f"{path / MANIFEST}: not the manifest of a batch")
    if told.get("format") != FORMAT:
        raise BatchError(
            f"{path / MANIFEST}: format {told.get('format')}; this version reads {FORMAT}"
        )
    return told


@dataclass(frozen=True)
class BatchFolder:
    """What a batch left: its manifest, and parts that are read one at a time."""

    path: Path
    told: dict[str, Any]
    schema: Schema
    question: Question  # what was asked for everybody
    kept: tuple[str, ...]  # columns of the input
    columns: tuple[str, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> BatchFolder:
        """Open a finished folder; no row is read yet."""
        place = Path(path)
        if not place.is_dir():
            raise ValueError(f"{place}: expected the folder that `trust-recourse batch` wrote")
        told = manifest(place)
        try:
            parts(place)  # refuses one that is not finished
            schema = Schema.from_dict(told["schema"], source=str(place / MANIFEST))
            question, kept = Question.from_dict(told["question"]), tuple(told["keep"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{place / MANIFEST}: damaged ({error!r}); run the batch again"
            ) from None
        if not told["parts"]:
            raise ValueError(f"{place}: the batch had nobody in it, so there is nothing to count")
        columns = read_part(place / part_name(0), None).column_names
        return cls(place, told, schema, question, kept, tuple(columns))

    @property
    def confidence(self) -> float:
        """The confidence that the batch asked for."""
        return (*self.question.confidence, float(self.told["decision_threshold"]))[0]

    @property
    def target(self) -> str:
        """All that the batch asked of an answer, in words."""
        asked, line = self.question, self.told.get("decision_threshold", 0.5)
        target, more = asked.targets(line)[0], asked.extra_constraints(line)
        words = f"a confidence of {target.words}"
        if target.mode == "argmax":
            words = "more confidence than in any other class"
        return words + (f", {more}" if more else "")

    @property
    def fingerprint(self) -> str | None:
        """Of the model that the batch asked."""
        model = self.told.get("model")
        return model.get("fingerprint") if isinstance(model, dict) else None

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The parts one by one, these columns and `row` alone."""
        return parts(self.path, columns)


def parts(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None
) -> Iterator[pd.DataFrame]:
    """The answers in a folder, one part after another; an unfinished folder is refused at once.

    With `columns` only these are read, and `row`.
    """
    folder, told = Path(path), manifest(path)
    absent = [n for n in range(told["parts"]) if not (folder / part_name(n)).exists()]
    if absent:
        raise BatchError(
            f"{path}: {len(absent)} of {told['parts']} parts are not there yet, such as "
            f"{part_name(absent[0])}; start the same batch again, and it goes on"
        )
    return (_frame(folder / part_name(number), columns) for number in range(told["parts"]))


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """All answers in a folder, in the order of the input."""
    return pd.concat(parts(path), ignore_index=True)


def check(path: str | os.PathLike[str]) -> Counter[str]:
    """Go through a finished folder: every row of the input exactly once; how many of each status.

    One part is held at a time.
    """
    told, found, expected = manifest(path), Counter[str](), 0
    for number, part in enumerate(parts(path, ["status"])):
        rows = part["row"].tolist()
        if rows != list(range(expected, expected + len(rows))):
            raise BatchError(
                f"{path}/{part_name(number)}: expected the rows from {expected} on, each once"
            )
        expected += len(rows)
        found.update(part["status"])
    if expected != told["input"]["rows"]:
        raise BatchError(f"{path}: {expected} rows; the input had {told['input']['rows']}")
    return found


def reasons(path: str | os.PathLike[str]) -> list[tuple[str, int]]:
    """Why people are unanswered, the commonest first: one of each kind, and how many there are."""
    shown, found = dict[str, str](), Counter[str]()
    for part in parts(path, ["reason"]):
        for reason in part["reason"].dropna():
            kind = PARTICULAR.sub("", reason)
            shown.setdefault(kind, reason)
            found[kind] += 1
    return [(shown[kind], many) for kind, many in found.most_common()]


def read_part(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """A part, or these columns of it and `row`; its checksums are verified."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as opened:
            wanted = None if columns is None else list(dict.fromkeys(["row", *columns]))
            held = opened.read(wanted, use_threads=False)
        return held if wanted is None else held.select(wanted)  # which refuses an absent one
    except (pa.ArrowException, OSError, KeyError) as error:
        first = str(error).partition("\n")[0]
        again = "remove it and start the same batch again"
        raise BatchError(f"{path}: damaged ({first}); {again}") from None


def _frame(path: Path, columns: Sequence[str] | None) -> pd.DataFrame:
    table = read_part(path, columns)
    nullable = {"int64": pd.Int64Dtype(), "bool": pd.BooleanDtype(), "string": pd.StringDtype()}
    frame: pd.DataFrame = table.to_pandas(types_mapper=lambda of: nullable.get(str(of)))
    return frame.astype({"row": "int64"})
