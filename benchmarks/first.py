"""The first answer: seconds, memory and disk of an installation that has answered nothing yet.

    PYTHONPATH=. python benchmarks/first.py             measure a wheel, write results/first.json
    PYTHONPATH=. python benchmarks/first.py --before    the same under "before", in an older tree

The wheel is installed in a fresh environment without extras. Each job runs in two processes, one
after the other. The first one may write bytecode and caches. Seconds are wall time from the start
of Python to the printed answer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured import RESULTS, Busy, surroundings

ROOT = Path(__file__).parent.parent
RESULT = RESULTS / "first.json"
JOBS = {
    "trees: load and find (LightGBM 100 × 31, German credit)": """
        from trust_recourse import Recourse, german_credit, german_credit_schema, load
        X, _ = german_credit()
        recourse = Recourse(load("model.safetensors"), german_credit_schema(), "l1")
        said = recourse.confidences(recourse.schema.encode(X))
        person = X.iloc[int(said.argmin())]
        result = recourse.find(person, 0.5)
        print(result.status)
        """,
    "machine: fit and find (Haberman)": """
        from trust_recourse import PTMClassifier, Recourse, haberman
        X, y = haberman()
        model = PTMClassifier(random_state=0).fit(X, y)
        person = X.iloc[int(model.predict_proba(X)[:, 1].argmin())]
        result = Recourse(model, cost="l1").find(person, 0.5)
        print(result.status)
        """,
}
CLEARED = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", action="store_true", help='write under "before"')
    key = "before" if parser.parse_args().before else "after"
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    busy = Busy()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder))
    known[key] = found | {"where": surroundings("numpy", "scikit-learn") | {"load": busy.words()}}
    RESULT.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(found, indent=1, ensure_ascii=False))


def measured(folder):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    python = folder / "env" / "bin" / "python"
    packages = next((folder / "env" / "lib").glob("python*/site-packages"))
    empty = size(packages)
    install = ["-m", "pip", "--disable-pip-version-check", "-q", "install"]
    constraints = ["-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run([python, *install, *constraints], check=True, cwd=folder)
    make_model(folder / "model.safetensors")
    found = {"wheel, MB": round(wheel.stat().st_size / 1e6, 2)}
    found["installed, MB"] = round((size(packages) - empty) / 1e6)
    for name, program in JOBS.items():
        lines = "\n".join(line.strip() for line in program.splitlines())
        runs = [run(python, lines, folder) for _ in range(2)]
        found[name] = {"first process": runs[0], "second process": runs[1]}
    return found


def run(python, program, folder):
    env = {name: value for name, value in os.environ.items() if name not in CLEARED}
    began = time.perf_counter()
    child = subprocess.Popen([python, "-c", program], cwd=folder, env=env, stdout=subprocess.PIPE)
    told = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    if status or "optimal" not in told:
        sys.exit(f"{program}\nended with {status}: {told}; expected an optimal answer")
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "CPU": round(usage.ru_utime + usage.ru_stime, 2),
        "MB": round(usage.ru_maxrss / 1024),
    }


def make_model(path):
    from lightgbm import LGBMClassifier

    from trust_recourse import from_model, german_credit, german_credit_schema

    X, y = german_credit()
    words = X.select_dtypes(exclude=["number", "bool"]).columns
    rows = X.astype(dict.fromkeys(words, "category"))
    model = LGBMClassifier(n_estimators=100, num_leaves=31, random_state=0, n_jobs=1, verbose=-1)
    from_model(model.fit(rows, y), german_credit_schema()).save(path)


def size(folder):
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


if __name__ == "__main__":
    main()
