"""Random questions against enumeration: `make laws SECONDS=3600`, or `make laws SEED=7` for one.

Every seed is judged in a process of its own, forked from one that has loaded the compiled code and
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
from multiprocessing.connection import Connection, wait

from laws.checks import Findings, judge

PATIENCE = 300.0  # seconds without a word, after which what still runs is given up
NEWS = 30.0  # seconds between two lines of progress
WARMING = range(12)  # seeds that between them call all there is to compile
FORK = multiprocessing.get_context("fork")


def main() -> int:
    """Do what the command line says; 1 if a law was broken."""
    parser = argparse.ArgumentParser(prog="python -m laws", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to ask")
    parser.add_argument("--seed", help="one seed or a range, such as 0-99, in place of fresh ones")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    seeds: Iterable[int]
    if given.seed is None:
        first = random.SystemRandom().randrange(10**9)
        until = time.monotonic() + given.seconds
        seeds = itertools.takewhile(lambda _: time.monotonic() < until, itertools.count(first))
        print(f"{given.seconds:g} seconds of seeds from {first} on", flush=True)
    else:
        ends = [int(end) for end in given.seed.split("-")]
        seeds = range(ends[0], ends[-1] + 1)
    warm()
    counts, failing = tally(judged(seeds, given.processes))
    for kind, n in sorted(counts.items()):
        print(f"{kind}: {n}")
    print(f"{len(failing)} seeds broke a law: {failing}" if failing else "nothing found")
    return 1 if failing else 0


def tally(findings: Iterable[tuple[int, Findings]]) -> tuple[Counter[str], list[int]]:
    """All counts together, and the seeds that broke a law, each told as it comes."""
    counts: Counter[str] = Counter()
    failing = []
    began = told = time.monotonic()
    for seed, found in findings:
        counts.update(found.counts, seeds=1)
        if found.broken:
            failing.append(seed)
            print(f"\nbroken; again by: make laws SEED={seed}", *found.broken, sep="\n", flush=True)
        if (now := time.monotonic()) - told > NEWS:
            told = now
            done = f"{counts['seeds']} seeds, {counts['people']} people"
            print(f"{now - began:.0f} s: {done}, {len(failing)} broken", flush=True)
    return counts, failing


def warm() -> None:
    """Load all compiled code, then forget all that was worked out with it."""
    for seed in WARMING:
        judge(seed)
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()
    gc.freeze()


# ---------------------------------------------------------------- one process a seed


def judged(seeds: Iterable[int], processes: int) -> Iterator[tuple[int, Findings]]:
    """The findings of each seed, in the order in which they come."""
    running: dict[Connection, tuple[int, multiprocessing.process.BaseProcess]] = {}
    for seed in seeds:
        here, there = FORK.Pipe(duplex=False)
        process = FORK.Process(target=report, args=(seed, there))
        process.start()
        there.close()
        running[here] = seed, process
        if len(running) == processes:
            yield from ended(running)
    while running:
        yield from ended(running)


def ended(running) -> Iterator[tuple[int, Findings]]:
    """Wait until some have something to say; if none has for long, end them all."""
    for ready in wait(running, PATIENCE) or list(running):
        seed, process = running.pop(ready)
        try:
            findings = ready.recv() if ready.poll() else Findings(broken=["it does not end"])
        except EOFError:
            process.join()
            findings = Findings(broken=[f"its process died with {process.exitcode}"])
        process.kill()
        process.join()
        ready.close()
        yield seed, findings


def report(seed: int, there: Connection) -> None:
    there.send(judge(seed))


if __name__ == "__main__":
    sys.exit(main())
