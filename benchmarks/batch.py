"""A whole population: how fast, in how much memory, and how that grows, side by side in one run.

`make bench` runs every section; `PYTHONPATH=. python benchmarks/batch.py throughput scale` only
those. Each section replaces its own part of benchmarks/results/batch.json.

The people are rows of Give Me Some Credit (experiments/data.py); the machine is learnt as in
experiments/beyond.py, and the line is drawn where it refuses the lowest seventh of them. Asked for
is the confidence at that line.

- throughput: 20,000 distinct refused people, repeats not merged, no radii: the bare loop over
  `Recourse.find` in two processes apart, each with half of them; the batch on two processes; the
  batch on a local Dask cluster of two, with and without Dask's own profiler. In turn, some rounds,
  so that other work on the machine meets all; the best round of each counts. `cpu_ms_a_row` is the
  CPU time of all processes (parent, scheduler, workers) for a row while all are at work: other work
  on the machine changes it little. `seconds` is by the clock, from start to end, imports included,
  and so is `rate`, of the rows while all are at work: beside other work these say little.
- overhead: what a worker does with a part (reading it, asking, writing Parquet) against the bare
  loop over the same people, part by part in turn, in two processes at once. Other work on the
  machine meets both alike, so this is the surest of the comparisons.
- memory: a million rows drawn from 1,000 of them, repeats merged, killed at the middle and gone on
  with; the resident memory of all processes meanwhile.
- repeats: how many rows of real tables repeat an earlier one, and what merging them saves.
- scale: milliseconds a row by features, clauses and thresholds on synthetic tables; what one
  client can read and write; what one scheduler can hand out; and what these make of a million to
  a thousand million rows, by a simulation of parts handed to workers.
"""

from __future__ import annotations

import heapq
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache, partial
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster

from experiments import data
from experiments.beyond import MACHINE, parts
from measured import RESULTS, Busy, cpu_of_all, surroundings
from trust_recourse import PTMClassifier, Recourse, Schema, load
from trust_recourse.population import batch
from trust_recourse.population.batch.run import PartWork, answered
from trust_recourse.population.batch.source_tables import people

HERE = Path(__file__)
RESULT = RESULTS / "batch.json"
NODES = 100_000  # boxes for each person: what `batch` allows where a question has no limit
WORK = Path(tempfile.gettempdir()) / f"trust-recourse-batch-{os.getuid()}"
SHARE = 1 / 7  # of borrowers below the line
ASKED = 20_000
PART = 500
ROUNDS = 3
TURNS = 10  # parts for each process
MILLION, DRAWN_FROM, MEMORY_PART = 1_000_000, 1_000, 20_000
USUAL = {"features": 10, "clauses": 20, "thresholds": 20}
AXES = {"features": (5, 10, 20, 40), "clauses": (10, 20, 40, 80), "thresholds": (5, 10, 20, 40)}
SEED = 0
PAPER = MACHINE | {"link": "margin"}


# ---------------------------------------------------------------- who is asked about


@cache
def prepared():
    """The recourse, the confidence at the line, and the distinct people below it."""
    WORK.mkdir(exist_ok=True)
    X, y, schema = data.give_me_some_credit()
    learnt, _ = parts(y)
    path = WORK / "model.safetensors"
    if not path.exists():
        PTMClassifier(**PAPER, schema=schema).fit(X.iloc[learnt], y[learnt]).save(path)
    model = load(path)
    confidence = model.predict_proba(X)[:, 1]
    line = round(float(np.quantile(confidence, SHARE)), 4)
    refused = X[confidence < line].drop_duplicates().sample(frac=1, random_state=SEED)
    return Recourse(model, decision_threshold=line, cost="l2"), line, refused.reset_index(drop=True)


def bare(start, stop):
    """The bare loop over some people, in a process of its own: `python batch.py bare 0 100`."""
    _, line, _ = json.loads((WORK / "bare.json").read_text())
    recourse = Recourse(load(WORK / "model.safetensors"), decision_threshold=line, cost="l2")
    asked = [x for _, x in pd.read_parquet(WORK / "people.parquet").iloc[start:stop].iterrows()]
    for x in asked[:PART]:
        recourse.find(x, line, node_limit=NODES)
    begun, spent = time.monotonic(), time.process_time()
    for x in asked[PART:]:
        recourse.find(x, line, node_limit=NODES)
    spent, seconds = time.process_time() - spent, time.monotonic() - begun
    print(json.dumps({"rows": len(asked) - PART, "seconds": seconds, "cpu": spent}))


# ---------------------------------------------------------------- throughput


def throughput(say):
    recourse, line, refused = prepared()
    asked = refused.head(ASKED)
    asked.to_parquet(WORK / "people.parquet", index=False)
    (WORK / "bare.json").write_text(json.dumps([None, line, None]))
    ways = {
        "bare loop, 2 processes": _bare_loop,
        "batch, 2 processes": _by_batch,
        "batch, Dask, 2 workers": partial(_by_dask, profiler=False),
        "batch, Dask, 2 workers, its profiler on": partial(_by_dask, profiler=True),
    }
    found = {name: [] for name in ways}
    for turn in range(ROUNDS):
        order = list(ways.items())
        for name, way in order[turn % len(ways) :] + order[: turn % len(ways)]:
            say(f"throughput, round {turn + 1}: {name}")
            found[name].append(way(recourse, line, len(asked)))
    best = {
        name: {
            "seconds": round(min(each["seconds"] for each in rounds), 2),
            "rate": round(max(each["rate"] for each in rounds), 1),
            "cpu_ms_a_row": round(min(each["cpu_ms_a_row"] for each in rounds), 3),
            "rounds": rounds,
        }
        for name, rounds in found.items()
    }
    loop, local, dask, profiled = best.values()
    return {
        "rows": len(asked),
        "line": line,
        "ways": best,
        "local_over_bare_loop": _ratios(local, loop),
        "dask_over_local": _ratios(dask, local),
        "dask_with_its_profiler_over_local": _ratios(profiled, local),
    }


def _ratios(one, other):
    """How much more one takes than another: of CPU time, and by the clock."""
    return {
        "cpu": round(one["cpu_ms_a_row"] / other["cpu_ms_a_row"], 3),
        "clock": round(other["rate"] / one["rate"], 3),
        "clock_with_start": round(one["seconds"] / other["seconds"], 3),
    }


def _bare_loop(_recourse, _line, rows):
    begun, half = time.monotonic(), rows // 2
    command = [sys.executable, str(HERE), "bare"]
    started = [
        subprocess.Popen([*command, str(a), str(b)], stdout=subprocess.PIPE, text=True)
        for a, b in ((0, half), (half, rows))
    ]
    told = [json.loads(each.communicate()[0]) for each in started]
    rate = sum(each["rows"] / each["seconds"] for each in told)
    spent = sum(each["cpu"] for each in told) / sum(each["rows"] for each in told) * 1e3
    return {
        "seconds": round(time.monotonic() - begun, 2), "rate": round(rate, 1),
        "cpu_ms_a_row": round(spent, 3),
    }  # fmt: skip


def _by_batch(recourse, line, rows, client=None):
    out = WORK / "answers"
    shutil.rmtree(out, ignore_errors=True)
    begun, seen = time.monotonic(), []

    def tell(done, _):
        seen.append((done, time.monotonic(), cpu_of_all()))

    batch.run(
        recourse, WORK / "people.parquet", out, line, radius=False, merge=False,
        rows_per_part=PART, n_jobs=2, client=client, tell=tell,
    )  # fmt: skip
    seconds = time.monotonic() - begun
    at_work = [each for each in seen if each[0] <= rows - 4 * PART]  # nobody waits until here
    (first, begin, cpu_before), (last, end, cpu_after) = at_work[3], at_work[-1]
    answered = last - first
    return {
        "seconds": round(seconds, 2),
        "rate": round(answered / (end - begin), 1),
        "cpu_ms_a_row": round((cpu_after - cpu_before) / answered * 1e3, 3),
    }


def _by_dask(recourse, line, rows, *, profiler):
    with (
        dask.config.set({"distributed.worker.profile.enabled": profiler}),
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        return _by_batch(recourse, line, rows, client)


# ---------------------------------------------------------------- a worker against the bare loop


def overhead(say):
    prepared()
    say("overhead: two processes, each in turn the bare loop and a worker's part")
    command = [sys.executable, str(HERE), "in_turn"]
    started = [
        subprocess.Popen([*command, str(first)], stdout=subprocess.PIPE, text=True)
        for first in (0, TURNS)
    ]
    told = [json.loads(each.communicate()[0]) for each in started]
    loop, part = (sum(each[at] for each in told) for at in (0, 1))
    rows = 2 * TURNS * PART
    return {
        "rows": rows,
        "bare_loop_cpu_ms_a_row": round(loop / rows * 1e3, 3),
        "worker_cpu_ms_a_row": round(part / rows * 1e3, 3),
        "worker_over_bare_loop": round(part / loop, 3),
    }


def in_turn(first):
    """CPU seconds of the bare loop, and of a worker, over the same parts."""
    _, line, _ = json.loads((WORK / "bare.json").read_text())
    recourse = Recourse(load(WORK / "model.safetensors"), decision_threshold=line, cost="l2")
    job = batch.Job.of(recourse, line, radius=False, merge=False)
    found = people(WORK / "people.parquet", PART)
    types = found.types(list(recourse.schema.names))
    work = PartWork(job, found.types([]))
    spent = np.zeros(2)
    for turn, part in enumerate(found.parts(range(first, first + TURNS), types)):
        asked = [x for _, x in part.frame(recourse.schema).iterrows()]
        if not turn:
            answered(part, work)  # compiles
        ways = (
            lambda asked=asked: [job.recourse.find(x, line, node_limit=NODES) for x in asked],
            lambda part=part: answered(part, work),
        )
        for at in (0, 1) if turn % 2 else (1, 0):
            begun = time.process_time()
            ways[at]()
            spent[at] += time.process_time() - begun
    print(json.dumps(spent.tolist()))


# ---------------------------------------------------------------- memory and going on


class Watched:
    """The resident memory of a process and of its workers, now and then."""

    def __init__(self, pid):
        self.process, self.seen, self.on = psutil.Process(pid), [], True
        self.begun = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while self.on:
            try:
                sizes = [p.memory_info().rss for p in (self.process, *self.process.children())]
            except psutil.NoSuchProcess:
                sizes = []
            if len(sizes) >= 3:
                now = round(time.monotonic() - self.begun, 1)
                self.seen.append((now, sizes[0] / 2**20, max(sizes[1:]) / 2**20))
            time.sleep(0.5)


def memory(say):
    _, line, refused = prepared()
    drawn = refused.head(DRAWN_FROM).sample(MILLION, replace=True, random_state=SEED)
    drawn.to_parquet(WORK / "million.parquet", index=False, row_group_size=100_000)
    out = WORK / "million"
    shutil.rmtree(out, ignore_errors=True)
    (WORK / "bare.json").write_text(json.dumps([None, line, None]))
    command = [sys.executable, str(HERE), "million"]
    watched, begun = [], time.monotonic()
    for killed in (True, False):
        say(f"memory: {'to be killed at the middle' if killed else 'going on'}")
        with subprocess.Popen(command) as running:
            watched.append(Watched(running.pid))
            while running.poll() is None:
                done = len(list(out.glob("part-*"))) if out.exists() else 0
                if killed and done >= MILLION / MEMORY_PART / 2:
                    os.kill(running.pid, signal.SIGKILL)
                time.sleep(0.2)
            watched[-1].on = False
        assert killed or running.returncode == 0
    counts = batch.check(out)
    halves = [_flat(each.seen) for each in watched]
    return {
        "rows": MILLION,
        "drawn_from": DRAWN_FROM,
        "rows_per_part": MEMORY_PART,
        "seconds": round(time.monotonic() - begun, 1),
        "statuses": dict(counts),
        "before_the_kill": halves[0],
        "after_it": halves[1],
    }


def _flat(seen):
    """MiB of the parent and of the larger worker, early and late, of the time at work."""
    table = pd.DataFrame(seen, columns=["seconds", "parent", "worker"])
    working = table[table["worker"] > 0.6 * table["worker"].max()]
    quarter = max(1, len(working) // 4)
    return {
        name: {
            "first_quarter": round(working[name].head(quarter).median(), 1),
            "last_quarter": round(working[name].tail(quarter).median(), 1),
            "most": round(working[name].max(), 1),
        }
        for name in ("parent", "worker")
    }


def million():
    """The run that `memory` watches and kills."""
    _, line, _ = json.loads((WORK / "bare.json").read_text())
    recourse = Recourse(load(WORK / "model.safetensors"), decision_threshold=line, cost="l2")
    batch.run(
        recourse, WORK / "million.parquet", WORK / "million", line, radius=False,
        rows_per_part=MEMORY_PART, n_jobs=2,
    )  # fmt: skip


# ---------------------------------------------------------------- people who repeat


def repeats(say):
    told = {}
    for name in ("compas", "adult", "german_credit", "heloc", "give_me_some_credit"):
        X, _, _ = getattr(data, name)()
        same = int(X.duplicated().sum())
        told[name] = {"rows": len(X), "repeat_another": same, "share": round(same / len(X), 4)}
    say("repeats: COMPAS")
    X, y, schema = data.compas()
    machine = PTMClassifier(**PAPER | {"epochs": 10}, schema=schema).fit(X, y)
    asked = X.sample(frac=1, random_state=SEED)
    for merge in (True, False):
        job = batch.Job.of(Recourse(machine, cost="l2"), 0.7, radius=False, merge=merge)
        batch.answer(asked.head(5), job)  # compiles
        begun = time.process_time()
        batch.answer(asked, job)
        words = "cpu_seconds_merged" if merge else "cpu_seconds_apart"
        told["compas"][words] = round(time.process_time() - begun, 2)
    return told


# ---------------------------------------------------------------- how it grows


def scale(say):
    rows = []
    for axis, places in AXES.items():
        for at in places:
            say(f"scale: {at} {axis}")
            rows.append({"axis": axis, "at": at, **_asked(**USUAL | {axis: at})})
    client, scheduler = _client_rate(), _scheduler_rate()
    usual = next(row for row in rows if row["axis"] == "features" and row["at"] == 10)
    spread = usual.pop("each")
    for row in rows:
        row.pop("each", None)
    return {
        "rows": rows,
        "client_rows_a_second": round(client),
        "scheduler_tasks_a_second": round(scheduler),
        "plan": [_planned(n, w, spread, client, scheduler) for n, w in _plans()],
    }


def _asked(features, clauses, thresholds, many=100):
    rng = np.random.default_rng(SEED)
    X = pd.DataFrame(rng.normal(0, 1, (1_500, features)).round(2))
    X.columns = [f"x{f}" for f in range(features)]
    weights = rng.normal(0, 1, features)
    y = (X.to_numpy() @ weights + rng.logistic(0, 0.5, len(X)) > 0).astype(int)
    sizes = {"n_clauses": clauses, "T": clauses / 4, "thresholds": thresholds, "epochs": 20}
    machine = PTMClassifier(**PAPER | sizes, schema=Schema.infer(X, guard=False)).fit(X, y)
    refused = X[machine.predict_proba(X)[:, 1] < 0.5].head(many)
    recourse = Recourse(machine, cost="l2")
    batch.answer(refused.head(3), batch.Job.of(recourse, 0.85))  # compiles
    searched, certified, results = [], [], []
    for _, x in refused.iterrows():
        begun = time.process_time()
        results.append(recourse.find(x, 0.85, node_limit=NODES))
        searched.append(time.process_time() - begun)
        if results[-1].options:
            results[-1].quick_radius()
        certified.append(time.process_time() - begun)
    nodes = [next(iter(result.nodes.values())) for result in results]
    proved = [set(result.status.values()) <= {"optimal", "infeasible"} for result in results]
    return {
        "ms_a_row": round(float(np.mean(searched)) * 1e3, 2),
        "ms_a_row_with_radius": round(float(np.mean(certified)) * 1e3, 2),
        "slowest_ms": round(max(searched) * 1e3, 1),
        "nodes": float(np.median(nodes)),
        "proved": round(float(np.mean(proved)), 3),
        "each": searched,
    }


def _client_rate(rows=200_000):
    """Rows that one process can read, and write as answers, in a second of CPU."""
    _, _, refused = prepared()
    path, out = WORK / "client.parquet", WORK / "client"
    refused.sample(rows, replace=True, random_state=SEED).to_parquet(path, index=False)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    folder = batch.folder.Folder(out, {})
    answers = next((WORK / "answers").glob("part-*")).read_bytes() * 4  # as of 2,000 people
    begun = time.process_time()
    found = people(path, 2_000)
    for part in found.parts(range(len(found.spans)), found.types(list(refused.columns))):
        folder.write(part.number, answers)
    return rows / (time.process_time() - begun)


def _scheduler_rate(tasks=2_000):
    """Tasks that one process, scheduler and client in one, can see to in a second of CPU."""
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(abs, range(100), pure=False))
        begun = time.process_time()
        client.gather(client.map(abs, range(tasks), pure=False))
        return tasks / (time.process_time() - begun)


def _plans():
    yield from ((10**6, w) for w in (2, 16, 64, 256))
    yield from ((10**8, w) for w in (64, 256, 1024))
    yield from ((10**9, w) for w in (256, 1024, 4096, 16_384))


def _planned(rows, workers, each, client, scheduler, most=20_000):
    """Hours, and the share of workers' time that is work, by handing parts out one after another.

    A part's time is the sum of its rows' times, drawn from those measured; its sum is taken as
    normal. No part is handed out before the client and the scheduler have dealt with those before.
    """
    size = int(min(most, max(200, rows / workers / 20)))
    many, mean, spread = -(-rows // size), np.mean(each), np.std(each)
    rng = np.random.default_rng(SEED)
    times = np.maximum(rng.normal(size * mean, np.sqrt(size) * spread, many), max(each))
    gap = max(size / client, 1 / scheduler)
    free = [0.0] * workers
    for at, spent in enumerate(times):
        heapq.heapreplace(free, max(free[0], at * gap) + spent)
    end = max(free)
    return {
        "rows": rows, "workers": workers, "rows_per_part": size, "hours": round(end / 3600, 3),
        "at_work": round(float(times.sum()) / (workers * end), 3),
    }  # fmt: skip


# ---------------------------------------------------------------- all of it

SECTIONS = {
    "throughput": throughput, "overhead": overhead, "memory": memory, "repeats": repeats,
    "scale": scale,
}  # fmt: skip


def main(names):
    def say(words):
        print(words, file=sys.stderr, flush=True)

    prepared()
    for name in names or SECTIONS:
        busy = Busy()
        found = SECTIONS[name](say)
        about = surroundings("numpy", "numba", "pandas", "pyarrow", "distributed", "joblib")
        print(name, json.dumps(found, indent=1))
        told = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        told[name] = found | {"load": busy.words(), "surroundings": about}
        RESULT.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["bare"]:
        bare(*map(int, sys.argv[2:]))
    elif sys.argv[1:2] == ["in_turn"]:
        in_turn(int(sys.argv[2]))
    elif sys.argv[1:] == ["million"]:
        million()
    else:
        main(sys.argv[1:])
