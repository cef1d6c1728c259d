"""How the benchmarks measure, and what they write down about where it was."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def timed(work, repeat=1):
    """What the work gives, and the least CPU seconds of several runs, threads included."""
    spent = []
    for _ in range(repeat):
        start = time.process_time()
        answer = work()
        spent.append(time.process_time() - start)
    return answer, min(spent)


def cpu(work, *args, repeat=1, **kwargs):
    """Least CPU seconds of several runs."""
    return timed(lambda: work(*args, **kwargs), repeat)[1]


class Busy:
    """How much of the machine's cores other work took since this was made (Linux)."""

    def __init__(self):
        self.start, self.all, self.own = time.monotonic(), _busy_seconds(), cpu_of_all()

    def words(self):
        cores = (time.monotonic() - self.start) * (os.cpu_count() or 1)
        own, all_ = cpu_of_all() - self.own, _busy_seconds() - self.all
        other = max(all_ - own, 0.0) / cores
        return f"this run used {own / cores:.0%} of {os.cpu_count()} cores, other work {other:.0%}"


def cpu_of_all():
    """CPU seconds of this process and of those it started, the living and the dead."""
    return sum(_seconds_of(pid) for pid in _family(os.getpid()))


def _family(pid):
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread may end while we look
            for child in (task / "children").read_text().split():
                yield from _family(int(child))


def _seconds_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _busy_seconds():
    """Seconds in which a core of this machine did anything, all cores added up."""
    named = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _wait, *rest = map(int, named)
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


def surroundings(*packages):
    """The machine, Python and the versions that the numbers hold for."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {_processor()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def _processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()
