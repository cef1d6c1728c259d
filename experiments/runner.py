"""Runs the units of all parts in processes, writes down each as it ends, then what they add up to.

Only this process writes. A finished unit is a line of `<out>/units/<part>.jsonl`, flushed at once;
on the next start its unit is not run again, so a killed run goes on where it was. A unit that fails
is written down with its error, the others go on, and the next start tries it again.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import traceback
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.frame import plain

PACKAGES = (
    "numpy", "numba", "pandas", "scikit-learn", "optuna", "bayesian-optimization", "joblib",
    "matplotlib", "trust-recourse",
)  # fmt: skip
QUIET_SECONDS = 30  # between two lines where no terminal shows a bar


# ---------------------------------------------------------------- what was done before


def identity(key, args):
    """A unit's name and arguments, as they are once written down and read again."""
    return json.dumps([key, plain(args)])


def finished(path):
    """The last line of each unit that a file holds, by identity; a torn last line is cut off.

    A run that was killed while it wrote leaves half a line. It is cut from the file, too, or the
    next line would be written behind it.
    """
    if not path.exists():
        return {}
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        path.write_bytes(whole)
    lines = [json.loads(line) for line in whole.decode().splitlines()]
    return {identity(line["key"], line["args"]): line for line in lines}


def done(line):
    return line is not None and "error" not in line


# ---------------------------------------------------------------- the units


def attempt(unit):
    """One unit, in whatever process: what it gave, or how it failed, and what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    line = {"key": unit.key, "args": plain(unit.args)}
    try:
        given = unit.work(*unit.args)
        line["rows"] = plain(given if isinstance(given, list) else [given])
    except Exception as error:
        line |= {"error": repr(error), "traceback": traceback.format_exc()}
    line["wall"] = round(time.perf_counter() - wall, 2)
    line["cpu"] = round(time.process_time() - cpu, 2)
    return unit, line


def run(parts, scale, out, jobs=2, show=True):
    """Run what is left of these parts (modules), then write what they make of it; how many failed.

    Tables and figures are written for each part whose units are all done.
    """
    folder = Path(out) / "units"
    folder.mkdir(parents=True, exist_ok=True)
    commit = commit_here()
    units = {part: part.units(scale) for part in parts}
    held = {part: finished(folder / f"{_name(part)}.jsonl") for part in parts}
    left = [
        unit
        for part in parts
        for unit in units[part]
        if not done(held[part].get(identity(unit.key, unit.args)))
    ]
    left.sort(key=lambda unit: -unit.seconds)  # or the last long one would keep one core waiting
    by_name = {_name(part): part for part in parts}
    failed = 0
    with Bar(left, sum(map(len, units.values())), show) as bar:
        for unit, line in _attempts(left, jobs):
            with (folder / f"{unit.part}.jsonl").open("a") as file:
                file.write(json.dumps(line | {"commit": commit}, ensure_ascii=False) + "\n")
            held[by_name[unit.part]][identity(unit.key, unit.args)] = line | {"commit": commit}
            failed += not done(line)
            bar.step(unit, line)
    for part in parts:
        lines = [held[part].get(identity(unit.key, unit.args)) for unit in units[part]]
        if all(map(done, lines)):
            conclude(part, scale, lines, Path(out))
    return failed


def _name(part):
    return part.__name__.rpartition(".")[2]


def _attempts(units, jobs):
    if jobs == 1:
        return map(attempt, units)
    # one unit a batch, so that what a killed run loses is no more than it was at
    pool = Parallel(jobs, return_as="generator_unordered", batch_size=1, max_nbytes=None)
    return pool(delayed(attempt)(unit) for unit in units)


class Bar:
    """A bar with the rate and the time left; a line now and then where there is no terminal.

    Units are counted by the seconds they were said to take, or a few long ones would spoil it.
    """

    def __init__(self, left, total, show):
        self.left, self.total, self.show = left, total, show
        self.done, self.weight = total - len(left), 0.0
        self.all = sum(unit.seconds for unit in left)
        self.began = self.told = time.monotonic()
        console = Console(stderr=True)
        self.bar = nullcontext()
        self.drawn = show and console.is_terminal
        if self.drawn:
            columns = ("[progress.description]{task.description}", BarColumn(),
                       MofNCompleteColumn(), TimeElapsedColumn(),
                       TextColumn("{task.fields[note]}"))  # fmt: skip
            self.bar = Progress(*columns, console=console)

    def __enter__(self):
        self.bar.__enter__()
        if self.drawn:
            self.task = self.bar.add_task("units", total=self.total, completed=self.done, note="")
        elif self.show:
            before = f", {self.done} of {self.total} were done before" if self.done else ""
            print(f"{len(self.left)} units to run{before}", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *error):
        self.bar.__exit__(*error)

    def step(self, unit, line):
        self.done += 1
        self.weight += unit.seconds
        spent = time.monotonic() - self.began
        rest = spent / self.weight * (self.all - self.weight)
        rate = (self.done - self.total + len(self.left)) / spent * 60
        note = f"{rate:.0f} a minute, {rest / 60:.0f} min left  {unit.part}: {unit.key}"
        if "error" in line and self.show:
            say = self.bar.console.print if self.drawn else lambda t: print(t, file=sys.stderr)
            say(f"FAILED {unit.part}: {unit.key}: {line['error']}")
        if self.drawn:
            self.bar.update(self.task, completed=self.done, note=note)
        elif self.show and (
            time.monotonic() - self.told > QUIET_SECONDS or self.done == self.total
        ):
            self.told = time.monotonic()
            print(f"{self.done} of {self.total} units, {note}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- what they add up to


def conclude(part, scale, lines, out):
    """Write the rows with all that they hold for, then what they show."""
    name = _name(part)
    rows = [row for line in lines for row in line["rows"]]
    held = {
        "part": name,
        "scale": plain(vars(scale)),
        "commits": sorted({line["commit"] for line in lines}),
        **surroundings(),
        "units": len(lines),
        "cpu_seconds": round(sum(line["cpu"] for line in lines), 1),
        "rows": rows,
    }
    text = json.dumps(held, indent=None, ensure_ascii=False)
    write(out / f"{name}.json", text.replace('"rows": [{', '"rows": [\n{').replace("}, {", "},\n{"))
    show(part, rows, out)


def conclude_again(parts, out):
    """Write tables and figures anew from the rows that a run has left; nothing is run."""
    for part in parts:
        path = Path(out) / f"{_name(part)}.json"
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: expected the rows of a finished run; run this part without --conclude"
            )
        show(part, json.loads(path.read_text())["rows"], Path(out))


def show(part, rows, out):
    """Write the tables that a part makes of its rows, and the figures."""
    name = _name(part)
    tables = part.tables(rows)
    write(out / f"{name}.md", "\n".join(table.markdown() for table in tables))
    write(out / f"{name}.tex", "\n".join(table.latex() for table in tables))
    for title, figure in getattr(part, "figures", lambda _: {})(rows).items():
        figure.savefig(out / f"{title}.png", dpi=150, metadata={"Software": None})
        figure.savefig(out / f"{title}.pdf", metadata={"CreationDate": None, "Creator": None})


def write(path, text):
    """The whole file, or the old one: never a half."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(text.rstrip("\n") + "\n")
    beside.replace(path)


def surroundings():
    """The machine, Python and the versions that the numbers hold for."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {_processor()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def _processor():
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def commit_here():
    """The commit of the code that runs, "-dirty" behind it if files differ; or "unknown".

    Results do not count: a run that goes on where another ended finds them changed.
    """
    asked = ["git", "describe", "--always", "--abbrev=12", "--exclude=*"]
    apart = ["git", "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)benchmarks/results",
             ":(top,exclude)results"]  # fmt: skip
    here = Path(__file__).parent
    try:
        found = subprocess.run(asked, cwd=here, capture_output=True, text=True, check=True)
        changed = subprocess.run(apart, cwd=here, capture_output=True, check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip() + "-dirty" * bool(changed)
