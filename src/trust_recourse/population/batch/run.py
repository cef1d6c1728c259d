"""The loop: parts of the input out to workers, their answers into the folder."""

from __future__ import annotations

import io
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.answers.recourse import Recourse
from trust_recourse.certificate import cost_parts
from trust_recourse.io import subprocesses
from trust_recourse.io.tables import TableError
from trust_recourse.population.batch.answer import Job, answer, unanswered
from trust_recourse.population.batch.batch_folder import (
    FORMAT,
    KIND,
    BatchError,
    Folder,
    check,
    part_name,
    refuse_foreign,
)
from trust_recourse.population.batch.source_tables import Part, Population, people
from trust_recourse.question import Question

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 2_000  # people in a part, unless said otherwise
AHEAD = 2  # parts for each worker that are read, or answered and not yet written
DEATHS = 3  # of workers, one after another, with no part finished in between
ALL = "all"
VERSIONS = ("trust-recourse", "numpy", "pandas")

Answered = tuple[int, bytes]


def run(
    recourse: Recourse,
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    question: Question | float | None = None,
    *,
    radius: bool = True,
    merge: bool = True,
    id: str | None = None,  # noqa: A002 - what the column is called on the command line
    keep: Sequence[str] | str = (),
    rows_per_part: int = ROWS,
    n_jobs: int | None = None,
    client: Any = None,
    model: str | os.PathLike[str] | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> Counter[str]:
    """Answer everybody in a file; gives how many people got each status.

    Started again after it was ended, at whatever moment, it goes on where it was; with another
    question or other people it is refused.

    Parameters
    ----------
    source : a CSV or Parquet file, or a folder of Parquet files; it is never held whole.
    out : the folder to write, new or empty, see `read` and `parts`.
    question : what is asked for everybody, or a confidence, which is searched for in at most
        100,000 boxes for each person. Further confidences and options are written as JSON. With a
        limit of time in place of boxes, answers may depend on the machine.
    radius : whether each option's certified radius is worked out, which about doubles the time.
    merge : whether people of a part with the same values are answered once.
    id, keep : columns of the input to write beside the answers; keep="all" for every one that is
        not a feature.
    rows_per_part : at most so many people in a part; a part never crosses a row group of Parquet.
    n_jobs : processes on this machine; one for each core if None.
    client : a Dask client, whose cluster is then used instead.
    model : where the model was read from, to be written in the manifest.
    tell : called after every part, with the people answered and how many there are.

    """
    job = Job.of(recourse, question, radius=radius, merge=merge)
    jobs = _jobs(n_jobs)
    refuse_foreign(Path(out), Path(source))
    found = people(source, rows_per_part)
    kept = _kept(found, job, id, keep)
    found.refuse_absent(recourse.schema.names, recourse.schema)
    types = found.types(list(dict.fromkeys([*recourse.schema.names, *kept])))
    work = PartWork(job, found.types(kept))
    told = _manifest(job, found, id, kept, rows_per_part, model)
    with Folder.held(out, told) as folder:
        missing = folder.missing(found.spans)
        parts = found.parts(missing, types)
        if client is None:
            answers = locally(work, parts, jobs)
        else:
            from trust_recourse.population.batch.cluster import on_cluster

            answers = on_cluster(client, work, parts)
        rows = {span.number: span.rows for span in found.spans}
        done = found.rows - sum(rows[number] for number in missing)
        for number, content in answers:
            folder.write(part_name(number), content)
            done += rows[number]
            if tell is not None:
                tell(done, found.rows)
    return check(out)


def _jobs(n_jobs: int | None) -> int:
    from joblib import cpu_count

    if n_jobs is None:
        return int(cpu_count())
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(f"n_jobs={n_jobs!r}; expected a whole number of at least 1, or None")
    return n_jobs


def _kept(
    found: Population,
    job: Job,
    id: str | None,  # noqa: A002
    keep: Sequence[str] | str,
) -> list[str]:
    named = [keep] if isinstance(keep, str) else list(keep)
    if named == [ALL] and ALL not in found.names:
        named = [name for name in found.names if name not in job.recourse.schema]
    kept = list(dict.fromkeys([*([] if id is None else [id]), *named]))
    if taken := [name for name in kept if name in ("row", *job.columns)]:
        raise TableError(
            f"{found.path}: the column {taken[0]!r} cannot be kept, as answers have a column of "
            "that name; rename it in the input"
        )
    return kept


def _manifest(
    job: Job,
    found: Population,
    id: str | None,  # noqa: A002
    kept: list[str],
    rows_per_part: int,
    model: str | os.PathLike[str] | None,
) -> dict[str, Any]:
    recourse = job.recourse
    cost, unwritten = cost_parts(recourse.cost)
    return {
        "kind": KIND,
        "format": FORMAT,
        "model": {
            "fingerprint": getattr(recourse.model, "fingerprint_", None),
            "path": None if model is None else str(model),
        },
        "schema": recourse.schema.to_dict(),
        "cost": cost,
        "cost_functions": unwritten,
        "wanted": recourse.wanted,
        "decision_threshold": recourse.decision_threshold,
        "question": job.question.to_dict(),
        "plausible": getattr(job.question.plausible, "fingerprint", None),  # rows and settings
        "radius": job.radius,
        "merge": job.merge,
        "input": {
            "path": str(found.path),
            "bytes": found.size,
            "sha256": found.sha256,
            "rows": found.rows,
        },
        "id": id,
        "keep": kept,
        "rows_per_part": rows_per_part,
        "parts": len(found.spans),
        "versions": {name: _version(name) for name in VERSIONS},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# ---------------------------------------------------------------- one part


class PartWork(NamedTuple):
    """What a worker needs beside a part: the question, and the columns to be kept."""

    job: Job
    kept: pa.Schema


def answered(part: Part, work: PartWork) -> bytes:
    """One part's answers, as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    job = work.job
    good = np.setdiff1d(np.arange(part.rows), list(part.problems))
    answers = answer(part.frame(job.recourse.schema).set_axis(good), job)
    if part.problems:
        bad = unanswered(list(part.problems.values()), job).set_axis(list(part.problems))
        answers = pd.concat([answers, bad]).sort_index()
    columns = {
        "row": pa.array(range(part.first, part.first + part.rows), pa.int64()),
        **_kept_columns(part, work.kept),
        **{
            name: pa.array(
                answers[name],
                type=pa.type_for_alias("int64" if of == "bigint" else of),
                from_pandas=True,
            )
            for name, of in job.columns.items()
        },
    }
    written = io.BytesIO()
    pq.write_table(pa.table(columns), written, compression="zstd", write_page_checksum=True)
    return written.getvalue()


def _kept_columns(part: Part, kept: pa.Schema) -> dict[str, Any]:
    """Columns of the input as they are, blank where a row could not be read."""
    import pyarrow as pa

    if part.table is None:
        return {field.name: pa.nulls(part.rows, field.type) for field in kept}
    readable = itertools.count()
    places = [None if at in part.problems else next(readable) for at in range(part.rows)]
    taken = part.table.select(kept.names).take(pa.array(places, pa.int64()))
    return dict(zip(taken.column_names, taken.columns, strict=True))


def in_turn(
    parts: Iterator[Part],
    held: dict[int, Part],
    room: Callable[[], int],
    submit: Callable[[Part], Any],
    done: Callable[[Iterable[Any]], Iterable[Any]],
) -> Iterator[Answered]:
    """Answers as they come from workers, with at most so many parts `held` by them at a time."""
    numbers: dict[Any, int] = {}
    while True:
        while len(held) < room() and (part := next(parts, None)) is not None:
            held[part.number] = part
            numbers[submit(part)] = part.number
        if not held:
            return
        for future in done(numbers):
            content, number = future.result(), numbers.pop(future)
            del held[number]
            yield number, content


# ---------------------------------------------------------------- on this machine


def locally(work: PartWork, parts: Iterable[Part], n_jobs: int) -> Iterator[Answered]:
    """Answers from processes on this machine, as they come; few parts are held at a time.

    A worker that dies takes the others with it: what they had is given to new ones.
    """
    from concurrent.futures import FIRST_COMPLETED, wait

    from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor

    if n_jobs == 1:
        yield from ((part.number, answered(part, work)) for part in parts)
        return
    coming, deaths = iter(parts), 0
    while True:
        held: dict[int, Part] = {}
        pool = ProcessPoolExecutor(n_jobs, initializer=_begin, initargs=(work, os.getpid()))
        submit = partial(pool.submit, _answered_here)
        try:
            for each in in_turn(
                coming, held, lambda: AHEAD * n_jobs, submit,
                lambda futures: wait(futures, return_when=FIRST_COMPLETED).done,
            ):  # fmt: skip
                deaths = 0
                yield each
            return
        except BrokenProcessPool as error:
            coming = itertools.chain(held.values(), coming)
            deaths += 1
            if deaths > DEATHS:
                raise BatchError(
                    f"worker processes died {deaths} times without finishing a part ({error}); is "
                    "there too little memory? Give fewer processes or fewer rows to a part, then "
                    "start the same again: what is there is kept"
                ) from None
        finally:
            pool.shutdown(kill_workers=True)


_HERE: list[PartWork] = []  # what this process, a worker, was begun with


def _begin(work: PartWork, parent: int) -> None:
    _HERE[:] = [work]
    subprocesses.watch(parent)


def _answered_here(part: Part) -> bytes:
    return answered(part, _HERE[0])
