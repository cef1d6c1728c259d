"""Random questions against enumeration: `make laws SECONDS=3600`, or `make laws SEED=7` for one.

`--law trees`, once or more, asks for some of the laws alone: `machines`, `lines`, `tables`,
`trees`, `mixtures` and `pipelines` are small ones against enumeration, `knapsack` is the search for
one choice a feature alone, over wide scales, `mip` trees of middle size against HiGHS, `answers`
many of ordinary size that are shown to their library again, `service` extremes sent to a server,
`scalars` odd arguments. Every seed
of a law is judged in a process of its own, forked from one that has loaded the packages and
then emptied every cache: what a cache holds can hide a fault.
"""

from __future__ import annotations

import argparse
import functools
import gc
import itertools
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from laws.checks import Findings

PATIENCE = 300.0  # seconds without a word, after which what still runs is given up
NEWS = 30.0  # seconds between two lines of progress
WARMING = range(2)  # seeds that load what a law needs
FORK = multiprocessing.get_context("fork")
LAWS = {  # and their modules
    "machines": "checks", "lines": "lines", "tables": "tables", "trees": "trees",
    "classes": "classes", "mixtures": "mixtures", "knapsack": "knapsack",
    "pipelines": "pipelines", "mip": "mip", "answers": "answers", "lasting": "lasting",
    "service": "service", "scalars": "scalars",
}  # fmt: skip


class Task(NamedTuple):
    """A seed of a law."""

    law: str
    seed: int

    def __str__(self) -> str:
        return f"{self.law} {self.seed}"


def main() -> int:
    """Do what the command line says; 1 if a law was broken."""
    parser = argparse.ArgumentParser(prog="python -m laws", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to ask")
    parser.add_argument("--seed", help="one seed or a range, such as 0-99, in place of fresh ones")
    parser.add_argument("--law", action="append", choices=LAWS, help="not all of them but this one")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    laws = given.law or list(LAWS)
    seeds: Iterable[int]
    if given.seed is None:
        first = random.SystemRandom().randrange(10**9)
        until = time.monotonic() + given.seconds
        seeds = itertools.takewhile(lambda _: time.monotonic() < until, itertools.count(first))
        print(f"{given.seconds:g} seconds of seeds from {first} on", flush=True)
    else:
        ends = [int(end) for end in given.seed.split("-")]
        seeds = range(ends[0], ends[-1] + 1)
    warm(laws)
    tasks = (Task(law, seed) for seed in seeds for law in laws)
    counts, failing = tally(judged(tasks, given.processes))
    for kind, n in sorted(counts.items()):
        print(f"{kind}: {n}")
    print(f"{len(failing)} broke a law: {', '.join(failing)}" if failing else "nothing found")
    return 1 if failing else 0


def tally(findings: Iterable[tuple[Task, Findings]]) -> tuple[Counter[str], list[str]]:
    """All counts together, and the seeds that broke a law, each told as it comes."""
    counts: Counter[str] = Counter()
    failing = []
    began = told = time.monotonic()
    for task, found in findings:
        counts.update(found.counts, seeds=1)
        if found.broken:
            failing.append(str(task))
            again = f"make laws SEED={task.seed} LAW={task.law}"
            print(f"\nbroken; again by: {again}", *found.broken, sep="\n", flush=True)
        if (now := time.monotonic()) - told > NEWS:
            told = now
            done = f"{counts['seeds']} seeds, {counts['people']} people"
            print(f"{now - began:.0f} s: {done}, {len(failing)} broken", flush=True)
    return counts, failing


def judge(task: Task) -> Findings:
    """What a law finds by a seed."""
    found: Findings = import_module(f"laws.{LAWS[task.law]}").judge(task.seed)
    return found


def warm(laws: Iterable[str]) -> None:
    """Load what the laws need, then forget all that was worked out with it."""
    for law in laws:
        for seed in WARMING:
            judge(Task(law, seed))
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()
    gc.freeze()


# ---------------------------------------------------------------- one process a seed


def judged(tasks: Iterable[Task], processes: int) -> Iterator[tuple[Task, Findings]]:
    """The findings of each, in the order in which they come."""
    running: dict[Connection, tuple[Task, multiprocessing.process.BaseProcess]] = {}
    for task in tasks:
        here, there = FORK.Pipe(duplex=False)
        process = FORK.Process(target=report, args=(task, there))
        process.start()
        there.close()
        running[here] = task, process
        if len(running) == processes:
            yield from ended(running)
    while running:
        yield from ended(running)


def ended(running) -> Iterator[tuple[Task, Findings]]:
    """Wait until some have something to say; if none has for long, end them all."""
    for ready in wait(running, PATIENCE) or list(running):
        task, process = running.pop(ready)
        try:
            findings = ready.recv() if ready.poll() else Findings(broken=["it does not end"])
        except EOFError:
            process.join()
            findings = Findings(broken=[f"its process died with {process.exitcode}"])
        process.kill()
        process.join()
        ready.close()
        yield task, findings


def report(task: Task, there: Connection) -> None:
    there.send(judge(task))


if __name__ == "__main__":
    sys.exit(main())
