"""Questions of the laws, by seed; `make laws` asks fresh ones for as long as it is told."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from laws import enumeration
from laws.checks import judge
from trust_recourse.certificate import checker
from trust_recourse.question import target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Implication
from trust_recourse.search import branch_and_bound, ranges

TESTS = Path(__file__).parent.parent
SEEDS = "0-29"  # they hold each of KINDS several times
KINDS = {
    *(f"{status}, {mode}" for status in ("optimal", "infeasible", "already_met")
      for mode in ("at_least", "band", "limited")),
    "feasible, limited", "not_found, limited", "further options", "furthest reached",
    "most confident, limited",
    "optimal, fewest", "infeasible, fewest", "already_met, fewest",
    "steps of a frontier", "jumps that cannot be avoided", "frontiers that a limit ended",
    "moves that matter", "ranges", "ranges of several features", "ranges without an end",
    "ranges that are the widest by enumeration",
    "levels that a row has to the last bit", "rows that a relation forbids",
    "people with a missing value", "costs with functions", "schemas with a continuous feature",
    "wanted class 0", "wanted class 1", "PTMClassifier", "TMClassifier", "link margin", "link vote",
    "link logistic",
    "calibration None", "calibration isotonic", "calibration sigmoid", "certificates that hold",
    "certificates made with the answer", "certificates of cards", "Card",
    "mutations refused", "mutations that hold, and are true",
}  # fmt: skip


def test_random_questions_break_no_law():
    command = [sys.executable, "-m", "laws", "--law", "machines", "--seed", SEEDS]
    command += ["--processes", "1"]
    ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = {kind: int(n) for kind, n in re.findall(r"^(.+): (\d+)$", ran.stdout, re.MULTILINE)}
    assert {kind for kind in KINDS if not counts.get(kind)} == set()


def always(_, boxes):
    """A checker's judgement that believes every leaf."""
    return np.ones(len(boxes.node), dtype=bool), str


@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (target, "SLACK", 0.0),
        (Cost, "added", lambda self, moved, _: self.l0 + self.l1 * moved + self.l2 * moved**2),
        (Implication, "goal", lambda _, before: before),
        (branch_and_bound, "ROUNDING", -1e-3),
        (checker, "_JUDGES", (always,) * len(checker._JUDGES)),
        (ranges, "counterexample", lambda *_: None),
        (ranges._Search, "widest", lambda _, box, __: box),
    ],
)
def test_a_wrong_engine_or_checker_breaks_a_law(monkeypatch, where, name, wrong):
    seeds = (*range(60), 172, 199)  # in the last two a range that is not the widest is told
    with monkeypatch.context() as patched:
        patched.setattr(where, name, wrong)
        found = next(seed for seed in seeds if judge(seed).broken)
    assert not judge(found).broken


DYING = """
import os, time
from laws import __main__ as runner

runner.PATIENCE = 1.0
fates = lambda _: runner.Findings(), os._exit, lambda _: time.sleep(60)
runner.judge = lambda seed: fates[seed](seed)
for seed, findings in runner.judged(range(3), 1):
    print(seed, *findings.broken)
"""


def test_a_process_that_dies_or_does_not_end_is_a_finding():
    command = [sys.executable, "-c", DYING]
    ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["0", "1 its process died with 1", "2 it does not end"]


def test_the_enumeration_imports_nothing_of_what_it_judges():
    nodes = list(ast.walk(ast.parse(Path(enumeration.__file__).read_text())))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    assert {str(module).split(".")[0] for module in modules} <= {
        "__future__", "dataclasses", "decimal", "fractions", "functools", "math", "numpy", "pandas",
        "re",
    }  # fmt: skip
