"""How the benchmarks measure, and what they write down about where it was."""

from __future__ import annotations

import os
import platform
import time
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
