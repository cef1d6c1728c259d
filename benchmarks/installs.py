"""What each extra brings: the built wheel in a fresh environment with it alone.

    PYTHONPATH=. python benchmarks/installs.py --write        and the table into docs/installing.md
    PYTHONPATH=. python benchmarks/installs.py web all        of these alone; other rows stay

Every environment gets the versions of constraints.txt. Counted are megabytes and packages beside
pip's own, and CPU seconds of `import trust_recourse` and of `from trust_recourse import Recourse`
in a new process, the median of five after a first one. The environment with `cli` also runs the
README's commands.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from benchmarks.record import write_between

ROOT = Path(__file__).parent.parent
RESULT = Path(__file__).parent / "results" / "installs.json"
PAGE = ROOT / "docs" / "installing.md"
BEGIN = "<!-- from benchmarks/installs.py -->"
OURS = {"bench", "dev", "docs", "release", "reproduce"}  # for those who change it
LOOKS = ("import trust_recourse", "from trust_recourse import Recourse")


def extras():
    """What a user may ask for: nothing, each extra alone, and all."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = sorted(set(told["optional-dependencies"]) - OURS - {"all"})
    return ["", *named, "all"]


def built(folder):
    """The wheel, as `python -m build` makes it from the source distribution."""
    subprocess.run([sys.executable, "-m", "build", "-q", "--outdir", folder, ROOT], check=True)
    files = sorted(Path(folder).iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    (wheel,) = (path for path in files if path.suffix == ".whl")
    return wheel


def measured(wheel, extra, folder):
    """One environment, made, looked at, and left for its folder to be removed."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = Path(folder) / "bin" / "python"
    before = size(folder), packages(python)
    what = f"trust-recourse[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "-c", ROOT / "constraints.txt", what], check=True)
    subprocess.run([*pip, "check"], check=True)
    after = size(folder), packages(python)
    row = {"extra": extra, "mb": (after[0] - before[0]) / 1e6, "packages": after[1] - before[1]}
    for look in LOOKS:
        row[look] = statistics.median([seconds(python, look) for _ in range(6)][1:])
    if extra == "cli":
        row["readme"] = readme(Path(folder) / "bin" / "trust-recourse")
    return row


def size(folder):
    """Bytes of all files, what Python compiles of them left out."""
    return sum(
        path.stat().st_size
        for path in Path(folder).rglob("*")
        if path.is_file() and not path.is_symlink() and path.suffix != ".pyc"
    )


def packages(python):
    listed = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "list", "--format", "json"],
        capture_output=True, check=True,
    )  # fmt: skip
    return len(json.loads(listed.stdout))


def seconds(python, code):
    """CPU seconds of a process that runs this alone; the machine may have other work."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([python, "-c", code], check=True, cwd="/")
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def readme(command):
    """How many of the README's commands ran, from an empty folder."""
    shown = re.findall(r"^trust-recourse (.*)", (ROOT / "README.md").read_text(), re.MULTILINE)
    with TemporaryDirectory() as place:
        for line in shown:
            given = line.partition("#")[0].split()
            subprocess.run([command, *given], check=True, cwd=place, stdout=subprocess.DEVNULL)
    return len(shown)


def table(rows):
    lines = [
        "| installed | packages | MB | `import trust_recourse`, CPU s | with `Recourse`, CPU s |"
    ]
    lines += ["|---|---|---|---|---|"]
    for row in rows:
        name = f"`trust-recourse[{row['extra']}]`" if row["extra"] else "`trust-recourse`"
        first, second = (row[look] for look in LOOKS)
        lines.append(
            f"| {name} | {row['packages']} | {row['mb']:.0f} | {first:.2f} | {second:.1f} |"
        )
    return "\n".join(lines)


def measure(wanted):
    """Rows of the extras that are wanted, or of all, kept as they come."""
    rows = {row["extra"]: row for row in json.loads(RESULT.read_text())["rows"]}
    with TemporaryDirectory() as folder:
        wheel = built(folder)
        for extra in wanted or extras():
            with TemporaryDirectory() as place:
                rows[extra] = measured(wheel, extra, place)
            print(rows[extra], flush=True)
            kept = [rows[each] for each in extras() if each in rows]
            told = {"python": platform.python_version(), "rows": kept}
            RESULT.write_text(json.dumps(told, indent=1) + "\n")


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("extras", nargs="*", help="of these alone")
    asked.add_argument("--write", action="store_true", help="write the table into the page")
    asked.add_argument("--only-table", action="store_true", help="measure nothing")
    given = asked.parse_args()
    if not given.only_table:
        measure(given.extras)
    shown = table(json.loads(RESULT.read_text())["rows"])
    print(shown)
    if given.write:
        write_between(PAGE, BEGIN, shown)


if __name__ == "__main__":
    main()
