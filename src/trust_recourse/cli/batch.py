"""`trust-recourse batch`: the least that everybody in a file must change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import argument, command, option, options_of
from trust_recourse.cli.exit_codes import InputError
from trust_recourse.io.extras import absent
from trust_recourse.io.progress import Progress
from trust_recourse.question.vocabulary import BATCH_BOXES, QuestionFields

WAIT = 10.0  # seconds for a worker to be there, before it is said that there is none
MOST = 3  # reasons that are shown
UNANSWERED = "unanswered"
SENTENCES = {
    "optimal": "have a cheapest change, proved so",
    "feasible": "have a change, not proved to be the cheapest",
    "infeasible": "can reach it by no allowed change; that is proved",
    "not_found": "have no change that was found in so many boxes",
    "already_met": "need not change",
    UNANSWERED: "could not be read; `reason` says why",
}


@options_of(
    QuestionFields,
    "time_limit",
    more={"time_limit": f"{question.NO_LIMIT} [default: --node-limit {BATCH_BOXES}]"},
)
class BatchOptions(question.QuestionOptions):
    """A question whose default limit counts boxes, so that answers do not depend on the machine."""


@command()
def batch(
    people: Annotated[Path, argument("A CSV or Parquet file, or a folder of Parquet.", "PEOPLE")],
    model: Annotated[Path, option("A model, as `trust-recourse fit` writes it.", "MODEL")],
    out: Annotated[Path, option("The folder to write answers to.", "DIR")],
    asked: BatchOptions,
    schema: question.SchemaFile = None,
    wanted: question.Wanted = None,
    id: Annotated[  # noqa: A002
        list[str] | None, option("The column that names people.", "COLUMN")
    ] = None,
    keep: Annotated[
        list[str] | None,
        option(
            "A column to write beside the answers, such as a group to compare by; all for "
            "every one that is not a feature. Repeatable.",
            "COLUMN",
        ),
    ] = None,
    radius: Annotated[
        bool, option("Certify how far each option is from a loss; about twice the time.")
    ] = True,
    merge: Annotated[bool, option("Answer people of a part with the same values once.")] = True,
    rows_per_part: Annotated[int, option("People in a file of answers, at most.", min=1)] = 2_000,
    jobs: Annotated[int | None, option("Processes; one for each core if none.", "N", min=1)] = None,
    cluster: Annotated[
        str | None, option("The scheduler of a Dask cluster to use.", "tcp://HOST:PORT")
    ] = None,
) -> None:
    r"""Answer everybody in a file: the least that each must change to be accepted.

    The answers are a folder of Parquet files, a row for each person: their values, the option's,
    the changes in words, cost, confidence and what is proved. A person whose values cannot be read
    comes out with the reason, and nobody else waits for them. The input is never held whole.

    Ended at any moment, the same command goes on where it was. Without a limit of your own, 100,000
    boxes are looked at for each person; a limit in seconds gives answers that depend on the
    machine. Further confidences and options are in the column `others`, as JSON.

    It ends with 0 once everybody has their row, and with 2 if something given is not right.

    For example, on all cores of this machine, and with a column to compare groups by:

        trust-recourse batch people.parquet --model model.safetensors --confidence 0.85 \
            --out answers --keep region

    On a Dask cluster, whose workers need this package but not this disk:

        trust-recourse batch people.parquet --model model.safetensors --confidence 0.85 \
            --out answers --cluster tcp://scheduler:8786
    """
    if find_spec("pyarrow") is None:
        raise InputError(absent("this", "pyarrow", "parquet"))
    if jobs is not None and cluster is not None:
        raise InputError("--jobs is for this machine, --cluster for others; give one of them")
    if id is not None and len(id) > 1:
        raise InputError(
            f"--id is given {len(id)} times; give it once, and --keep for more columns"
        )
    from trust_recourse.population import batch as whole

    recourse = question.recourse_of(model, schema, wanted)
    put = asked.question(recourse.schema)
    limited = asked.given["node_limit"] or asked.given["time_limit"]
    if not limited and put.engine in ("auto", "exact"):
        put = replace(put, node_limit=BATCH_BOXES)
    with _client(cluster) as client:
        found = whole.run(
            recourse, people, out, put, radius=radius,
            merge=merge, id=id[0] if id else None, keep=keep or (), rows_per_part=rows_per_part,
            n_jobs=jobs, client=client, model=model, tell=Progress(0, "people").reach,
        )  # fmt: skip
    _sum_up(found, out)


@contextmanager
def _client(cluster: str | None) -> Iterator[Any]:
    if cluster is None:
        yield None
        return
    if find_spec("distributed") is None:
        raise InputError(absent("this", "distributed", "cluster"))
    from trust_recourse.population.batch.cluster import connected, has_workers

    with connected(cluster) as client:
        output.say(f"dashboard: {client.dashboard_link}", err=True)
        if not has_workers(client, WAIT):
            output.say("no workers on the cluster yet; waiting for the first", err=True)
        yield client


def _sum_up(found: Counter[str], out: Path) -> None:
    from trust_recourse.population.batch import reasons

    console = output.console()
    for status, sentence in SENTENCES.items():
        if found[status]:
            console.print(f"{status:<11}{found[status]:>13,}  {sentence}", soft_wrap=True)
    why = reasons(out) if found[UNANSWERED] else []
    for reason, many in why[:MOST]:
        console.print(f"{many:>24,}  such as {reason}", soft_wrap=True)
    if others := sum(many for _, many in why[MOST:]):
        words = "for other reasons; the column `reason` says each, batch.reasons counts them"
        console.print(f"{others:>24,}  {words}", soft_wrap=True)
    console.print(f"\n{out}: {output.people(found.total())}, each once.", soft_wrap=True)
