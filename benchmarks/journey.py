"""A bank's own model from file to letter: what each step takes, and how much of it the search does.

    PYTHONPATH=. python benchmarks/journey.py            measure, and write results/journey.json
    PYTHONPATH=. python benchmarks/journey.py --before   the same under "before": run it with
                                                         PYTHONPATH naming an older tree's src first

Row 30 of the test table is refused. Row 4 is accepted, so nothing is searched for it.

The card-default table (30,000 rows, 32 columns), LightGBM with 76 trees of 31 leaves, a decision
threshold of 0.70, L1 as cost. Each step is a command or a picture in a process of its own, its
compiled functions cached. Seconds are CPU seconds of the process and its children, those of the
quickest of three runs. `search` counts the time inside the exact engine and the frontier, `loading`
that of loading modules. `start` reads the command line, the model and the table, and asks for the
person's confidence; `start, in Python` does so without a command. What is left of a step are its
`extras`: noise, radius, attribution, proofs, text and drawing.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib._bootstrap
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured import RESULTS, Busy, surroundings

RESULT = RESULTS / "journey.json"
THRESHOLD, SEED, TEST_SHARE, LIMIT, RUNS = 0.7, 0, 0.3, 900, 3
ASKED = "--data test.csv --row 30 --cost l1"
STEPS = {
    "start": "",
    "start, in Python": "",
    "schema": "schema train.csv --target repaid --out proposed.yaml",
    "import": "import card.txt --schema card.yaml --data train.csv --out card.safetensors "
    "--threshold 0.7 --wanted 1",
    "find": f"find card.safetensors {ASKED} --save answers.json",
    "find, accepted": "find card.safetensors --data test.csv --row 4 --cost l1",
    "find, radius": f"find card.safetensors {ASKED} --min-radius 0.01",
    "find, certificate": f"find card.safetensors {ASKED} --certificate proof.json",
    "verify": "verify proof.json card.safetensors",
    "find, 3 options, 2 levels": f"find card.safetensors {ASKED} --options 3 --max-changes 3 "
    "--confidence 0.7 --confidence 0.75",
    "find, ranges": f"find card.safetensors {ASKED} --ranges",
    "frontier": f"frontier card.safetensors {ASKED}",
    "frontier, drawn": f"frontier card.safetensors {ASKED} --png frontier.png",
    "explain": f"explain card.safetensors {ASKED}",
    "explain, drawn": f"explain card.safetensors {ASKED} --png explained.png",
    "letter": "letter card.safetensors answers.json --out letter.html --organisation Bank "
    "--contact Ann --valid-until 2099-01-31 --reference test.csv",
    "evidence": "evidence card.safetensors answers.json --out evidence.html",
    "picture: frontier": "",
    "picture: waterfall": "",
    "picture: projection": "",
    "picture: surface": "",
}
WRITES = (
    "schema", "import", "find", "find, certificate", "frontier, drawn", "explain, drawn", "letter",
    "evidence",
)  # fmt: skip
LOADS = ("schema", "import", "verify")  # steps that load less than `start`
DEPENDS = {"letter": "answers.json", "evidence": "answers.json", "verify": "proof.json"}


# ---------------------------------------------------------------- one step, in its own process


class Spent:
    """CPU seconds inside the outermost of the wrapped calls, without those of calls `apart`."""

    def __init__(self, apart=None):
        self.seconds, self.depth, self.apart = 0.0, 0, apart

    def wrapped(self, function):
        def run(*args, **kwargs):
            self.depth += 1
            start = time.process_time() - (self.apart.seconds if self.apart else 0.0)
            try:
                return function(*args, **kwargs)
            finally:
                self.depth -= 1
                if self.depth == 0:
                    end = time.process_time() - (self.apart.seconds if self.apart else 0.0)
                    self.seconds += end - start

        return run


def run(step):
    """Do one step here, and print its seconds of search and of loading modules."""
    loading = Spent()
    importlib._bootstrap._find_and_load = loading.wrapped(importlib._bootstrap._find_and_load)
    searching = Spent(apart=loading)
    if step not in ("start", "start, in Python", *LOADS):
        from trust_recourse import Recourse

        for name in ("_ask", "frontier"):
            setattr(Recourse, name, searching.wrapped(getattr(Recourse, name)))
    with contextlib.redirect_stdout(sys.stderr):
        if step == "start":
            _start()
        elif step == "start, in Python":
            _start_in_python()
        elif step.startswith("picture"):
            _picture(step.partition(": ")[2])
        else:
            _command([*STEPS[step].split(), *["--force"] * (step in WRITES)])
    print(json.dumps({"search": searching.seconds, "loading": loading.seconds}))


def _command(line):
    """Run a command as the shell would."""
    from trust_recourse.__main__ import main

    sys.argv = ["trust-recourse", *line]
    try:
        main()
    except SystemExit as ended:
        if ended.code not in (None, 0, 1):  # 1: no answer, or a proof that fails
            raise


def _start():
    """What every command about a person does first, without a question."""
    _command(["find", "--help"])
    from trust_recourse.cli.question_options import PersonOptions

    person = PersonOptions(model=Path("card.safetensors"), data=Path("test.csv"), row="30")
    recourse, values = person.asked()
    recourse.confidence(values)


def _start_in_python():
    import pandas as pd

    from trust_recourse import Recourse, load

    rows = pd.read_csv("test.csv").drop(columns="repaid")
    Recourse(load("card.safetensors"), cost="l1").confidence(rows.iloc[30])


def _picture(name):
    import pandas as pd

    from trust_recourse import Recourse, load
    from trust_recourse.answers import plot

    rows = pd.read_csv("test.csv").drop(columns="repaid")
    result = Recourse(load("card.safetensors"), cost="l1").find(rows.iloc[30])
    if name == "frontier":
        result.plot().savefig("plot.png")
        return
    if name == "waterfall":
        drawn = plot.draw_waterfall(plot.waterfall_info(result.explain()))
    elif name == "surface":
        features = tuple(result.options[0].changes)[:2]
        alone = result.recourse.find(rows.iloc[30], n_options=1, lock=_others(rows, features))
        drawn = plot.draw_surface(plot.surface_info({"option": [alone]}, features))
    else:
        repaid = pd.read_csv("test.csv")["repaid"]
        drawn = plot.draw_projection(plot.projection_info({"option": [result]}, rows, repaid))
    ax = drawn[0] if isinstance(drawn, tuple) else drawn
    ax.get_figure().savefig(f"{name}.png")


def _others(rows, features):
    return [name for name in rows if name not in features]


# ---------------------------------------------------------------- all of them


def prepare(folder):
    """The files that a bank has: its tables, its model and its schema."""
    from lightgbm import LGBMClassifier
    from sklearn.model_selection import train_test_split

    from experiments.data import card_default

    X, y, schema = card_default()
    train, test = train_test_split(
        X.assign(repaid=y), test_size=TEST_SHARE, random_state=SEED, stratify=y
    )
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    schema.to_yaml(folder / "card.yaml")
    settings = {"n_estimators": 76, "learning_rate": 0.05, "num_leaves": 31, "n_jobs": 1}
    model = LGBMClassifier(**settings, random_state=SEED, verbose=-1)
    model.fit(train.drop(columns="repaid"), train["repaid"]).booster_.save_model(
        folder / "card.txt"
    )


def measured(step, folder):
    """Seconds of one step: all of it, and those of its search; over the limit, what was spent."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, str(Path(__file__).resolve()), "--run", step]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return {"seconds": LIMIT, "ended": False}
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or not done.stdout:
        raise SystemExit(f"{step}: {done.stderr[-2000:]}")
    seconds = spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime
    parts = {part: round(each, 3) for part, each in json.loads(done.stdout).items()}
    return {"seconds": round(seconds, 3), **parts}


def quickest(step, folder):
    """The run of a step that took least, of several: other work on the machine slows the others."""
    first = measured(step, folder)
    if "search" not in first or first["seconds"] > LIMIT / RUNS:
        return first
    return min([first, *(measured(step, folder) for _ in range(RUNS - 1))], key=_seconds)


def _seconds(found):
    return found["seconds"]


def _with_extras(found, step):
    """Add the seconds of a step that are neither its start nor its search."""
    start = found.get("start, in Python" if step.startswith("picture") else "start")
    if start is not None and step not in LOADS and not step.startswith("start"):
        spent = found[step]["seconds"] - found[step].get("search", 0.0) - start["seconds"]
        spent += start.get("loading", 0.0) - found[step].get("loading", 0.0)
        found[step]["extras"] = round(max(spent, 0.0), 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--before", action="store_true", help="write under “before”")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    given = parser.parse_args()
    if given.run:
        run(given.run)
        return
    # a child runs in the folder of the tables: what is relative here is not there
    path = [str(Path(each).resolve()) for each in os.environ["PYTHONPATH"].split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    told = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    label, busy = "before" if given.before else "after", Busy()
    found = told.setdefault(label, {})
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepare(folder)
        for step in ("import", "find"):
            measured(step, folder)  # the others need their files
        for step in given.steps:
            measured(step, folder)  # compiled functions are cached by it
            if step in DEPENDS and not (folder / DEPENDS[step]).exists():
                measured("find" if step != "verify" else "find, certificate", folder)
            found[step] = quickest(step, folder)
            _with_extras(found, step)
            print(step, found[step], flush=True)
    told[f"{label}, where"] = surroundings("numpy", "lightgbm") | {"load": busy.words()}
    RESULT.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
