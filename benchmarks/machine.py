"""Speed and memory of the machine, as ratios measured side by side in one run.

`make bench` prints the table and writes it, with the machine and the versions, to
benchmarks/results/machine.json. Times are CPU seconds of one process, threads included.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

import reference
from experiments.data import synthetic_5d
from measured import RESULTS, cpu, surroundings
from trust_recourse import PTMClassifier, haberman
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.models.tsetlin.training import BlockLearner, PlainLearner, start_vectors

HERE = Path(__file__).parent
PAPER = {
    "n_clauses": 20, "n_states": 100, "s": 1.5, "T": 5, "epochs": 60, "thresholds": 20,
    "binning": "rows", "validation_fraction": 0.0, "link": "margin", "random_state": 0,
}  # fmt: skip


def xor(rows, bits, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, bits))
    return X, X[:, 0] ^ X[:, 1]


def plain_loop(X, y, settings, samples):
    """CPU seconds per sample of the loop over all 2N states, compiled but with nothing clever."""
    fitted = PTMClassifier(**settings | {"epochs": 1}).fit(X[:50], y[:50])
    codes = fitted.schema_.encode(X)
    literals = Literals.fit(fitted.schema_, codes, settings["thresholds"], "rows")
    states = start_vectors(settings["n_clauses"], 2 * literals.n_literals, settings["n_states"])
    learner = PlainLearner(states, literals, settings["s"], settings["T"], keep=False)
    cells, target = literals.grid.cells(codes), y.astype(np.int8)
    rng = np.random.default_rng(0)
    learner.samples(cells[:1], target[:1], rng)
    return cpu(learner.samples, cells[:samples], target[:samples], rng) / samples


def training_against_numpy():
    X, y = load_iris(return_X_y=True)
    y = (y > 0).astype(int)
    epochs = 60
    model = PTMClassifier(**PAPER | {"epochs": epochs}).fit(X, y)
    ours = cpu(model.fit, X, y, repeat=3) / (epochs * len(y))
    rng = np.random.default_rng(0)
    spv = start_vectors(20, model.inclusion_.shape[1], 100).astype(float)
    order = rng.permutation(len(y))[:20]
    truths = [
        reference.literal_truth(X[i], model.thresholds_, [None] * 4, [False] * 4) for i in order
    ]

    def plain():
        for i, truth in zip(order, truths, strict=True):
            reference.learn_sample(spv, truth, y[i], rng.random((2, 20)), 1.5, 5)

    theirs = cpu(plain) / len(order)
    return {
        "work": "training on Iris, paper's settings: plain NumPy reference / ours",
        "ratio": theirs / ours,
        "target": "≥ 300",
        "detail": f"{theirs * 1e3:.1f} ms against {ours * 1e6:.1f} µs a sample",
    }


def training_against_green():
    import green_tsetlin

    X, y = xor(5000, 100)
    epochs = 60
    settings = PAPER | {"n_clauses": 200, "s": 3.0, "T": 50}
    model = PTMClassifier(**settings | {"epochs": 1}).fit(X[:50], y[:50])
    cells = model.machine_.grid.cells(model.schema_.encode(X))
    states = start_vectors(200, model.inclusion_.shape[1], 100)
    learner = BlockLearner(states, model.machine_.literals, settings["s"], settings["T"])
    rng, target = np.random.default_rng(0), y.astype(np.int8)
    ours = [cpu(learner.epoch, cells, target, rng) for _ in range(epochs)]

    machine = green_tsetlin.TsetlinMachine(100, 200, 2, s=3.0, threshold=50)
    trainer = green_tsetlin.Trainer(
        machine, n_jobs=1, n_epochs=epochs, seed=1, early_exit_acc=2.0, progress_bar=False,
        load_best_state=False,
    )  # fmt: skip
    bits, labels = X.astype(np.uint8), y.astype(np.uint32)
    trainer.set_train_data(bits, labels)
    trainer.set_eval_data(bits[:10], labels[:10])
    theirs = cpu(trainer.train) / epochs
    plain = plain_loop(X, y, settings, 100) * len(y)
    return {
        "work": "XOR, 5,000 × 100 bits, 200 clauses, CPU per epoch of 60: ours / green-tsetlin",
        "ratio": float(np.mean(ours)) / theirs,
        "target": "≤ 25",
        "detail": (
            f"{np.mean(ours):.3f} s against {theirs * 1e3:.1f} ms; over the first "
            + ", ".join(f"{n}: {np.mean(ours[:n]) / theirs:.0f}×" for n in (1, 10, 20, 40))
            + f"; the 60th {ours[-1] / theirs:.0f}×; a plain loop, first epoch, "
            f"{plain / theirs:.0f}×"
        ),
    }


def training_every_value_a_threshold():
    X, y, _ = synthetic_5d()
    settings = PAPER | {"thresholds": "unique"}
    model = PTMClassifier(**settings | {"epochs": 1}).fit(X, y)
    epochs = 80
    ours = cpu(model.set_params(epochs=epochs).fit, X, y)
    plain = plain_loop(X, y, settings, len(y)) * len(y) * epochs
    return [
        {
            "work": f"Synthetic 5D, {model.inclusion_.shape[1]:,} literals, 80 epochs: CPU seconds",
            "ratio": ours,
            "target": "< 30",
            "detail": f"train accuracy {model.score(X, y):.3f}",
        },
        {
            "work": "the same: plain loop over all 2N states / ours",
            "ratio": plain / ours,
            "target": "≥ 20",
            "detail": f"{plain:.0f} s, from its first epoch, against {ours:.1f} s",
        },
    ]


def exact_against_monte_carlo():
    X, y = haberman()
    rows = X.sample(10_000, replace=True, random_state=0)
    model = PTMClassifier(**PAPER).fit(X, y)
    model.predict_proba_mc(X.head(1), 1, random_state=0)
    exact = cpu(model.predict_proba, rows, repeat=5)
    drawn = cpu(model.predict_proba_mc, rows, 50, random_state=0)
    costs = {}
    for most in (5, 10, 20, "unique"):
        other = PTMClassifier(**PAPER | {"thresholds": most, "epochs": 2}).fit(X, y)
        costs[other.inclusion_.shape[1]] = cpu(other.predict_proba, rows, repeat=5)
    spread = ", ".join(f"{n} literals {t * 1e2:.2f} µs" for n, t in costs.items())
    return [
        {
            "work": "10,000 Haberman rows: Monte Carlo, 50 passes / exact",
            "ratio": drawn / exact,
            "target": "≥ 200",
            "detail": f"{drawn:.2f} s against {exact * 1e3:.2f} ms",
        },
        {
            "work": "exact, cost per row: most literals / fewest",
            "ratio": costs[max(costs)] / costs[min(costs)],
            "target": "about 1",
            "detail": spread,
        },
    ]


def peak_memory():
    """In a process of its own, so that the peak is the training's."""
    command = [sys.executable, "-c", "import machine; machine.measure_peak()"]
    out = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    peak, states = json.loads(out.stdout.splitlines()[-1])
    return {
        "work": "peak memory of training / state vectors in float32",
        "ratio": peak / states,
        "target": "≤ 1.3",
        "detail": f"{peak / 1e6:.0f} MB for {states / 1e6:.0f} MB of states",
    }


def measure_peak():
    """Print the peak of resident memory during training, above what was there before."""
    X, y, _ = synthetic_5d()
    settings = PAPER | {"thresholds": "unique", "epochs": 3}
    # the same code on little data first, so that compiling and importing are not counted
    PTMClassifier(**settings | {"thresholds": 2}).fit(X, y).predict_proba(X)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
    before = resident("VmRSS")
    model = PTMClassifier(**settings).fit(X, y)
    print(json.dumps([resident("VmHWM") - before, model.states_.nbytes]))


def resident(field):
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024


def main():
    rows = [
        training_against_numpy(),
        training_against_green(),
        *training_every_value_a_threshold(),
        *exact_against_monte_carlo(),
        peak_memory(),
    ]
    result = surroundings("numpy", "numba", "scikit-learn", "pandas", "green-tsetlin")
    result["rows"] = rows
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (RESULTS / "machine.json").write_text(text + "\n")
    print(result["machine"], result["versions"])
    table = pd.DataFrame(rows)[["work", "ratio", "target", "detail"]]
    table["ratio"] = table["ratio"].map("{:,.2f}".format)
    for row in table.itertuples():
        print(f"\n{row.work}\n    {row.ratio:>10}   wanted {row.target:8}  {row.detail}")


if __name__ == "__main__":
    main()
