"""Workers on a Dask cluster: the only file that knows Dask.

Parts travel from the process that reads the input to the workers, and answers, as Parquet, back to
it, so workers need this package but no disk in common. The question travels to each worker once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from uuid import uuid4

from dask.utils import key_split
from distributed import Client, Future, KilledWorker, as_completed
from distributed.comm.core import CommClosedError

from trust_recourse.population.batch.batch_folder import BatchError
from trust_recourse.population.batch.run import AHEAD, Answered, PartWork, answered, in_turn
from trust_recourse.population.batch.source_tables import Part

RETRIES = 3
TALKATIVE = ("distributed", "distributed.client", "tornado.application", "asyncio")
KEPT = "start the same again once it is back: what is written is kept"


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the cluster whose scheduler is at this address."""
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise BatchError(f"{address}: no Dask scheduler answers there ({error})") from None
    for name in TALKATIVE:  # they print tracebacks of what we say in a sentence
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with client:
        yield client


def has_workers(client: Client, seconds: float) -> bool:
    """Whether a worker is there, or comes within so many seconds."""
    try:
        client.wait_for_workers(1, timeout=seconds)
    except TimeoutError:
        return False
    return True


def on_cluster(client: Client, work: PartWork, parts: Iterable[Part]) -> Iterator[Answered]:
    """Answers from a cluster, as they come.

    A worker that is lost costs its parts alone, which others then answer. So few parts are out at
    a time that neither this process nor the scheduler holds more than some for each worker.
    """
    run, pool = uuid4().hex, as_completed(loop=client.loop)

    def submit(part: Part) -> Future[bytes]:
        key = f"answers-{run}-{part.number}"
        future = client.submit(answered, part, question, key=key, retries=RETRIES)
        pool.add(future)
        return future

    try:
        # A task, not scattered data: if every worker that has it is lost, it is made again.
        question = client.submit(_held, work, key=f"question-{run}", retries=RETRIES)
        room = partial(_room, client)
        yield from in_turn(iter(parts), {}, room, submit, lambda _: [next(pool)])
    except KilledWorker as error:
        raise BatchError(
            f"a part was lost with each of several workers ({key_split(error.task)}); is there too "
            f"little memory on them? Give fewer rows to a part, or {KEPT}"
        ) from None
    except (CancelledError, CommClosedError, OSError, TimeoutError) as error:
        raise BatchError(f"the cluster was lost ({error!r}); {KEPT}") from None


def _held(work: PartWork) -> PartWork:
    return work


def _room(client: Client) -> int:
    """How many parts may be out at a time; a cluster may grow and shrink."""
    known = client.scheduler_info(-1)
    if "workers" not in known:
        raise CommClosedError("its scheduler does not answer")
    threads: int = sum(worker["nthreads"] for worker in known["workers"].values())
    return max(AHEAD, AHEAD * threads)
