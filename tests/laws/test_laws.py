"""A minute of the laws, by seed; `make laws` asks fresh questions for as long as it is told."""

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
from trust_recourse import problem
from trust_recourse.problem import Cost
from trust_recourse.schema import Forces
from trust_recourse.search import tree
from trust_recourse.search.certificate import checker

TESTS = Path(__file__).parent.parent
SEEDS = "0-149"  # a minute on one slow core
KINDS = {
    *(f"{status}, {mode}" for status in ("optimal", "infeasible", "already_met")
      for mode in ("at_least", "band", "limited")),
    "feasible, limited", "not_found, limited", "further options", "furthest reached",
    "steps of a frontier", "levels that a row has to the last bit", "rows that a relation forbids",
    "people with a missing value", "costs with functions", "schemas with a continuous feature",
    "wanted class 0", "wanted class 1", "PTMClassifier", "TMClassifier", "link margin", "link vote",
    "calibration None", "calibration isotonic", "calibration sigmoid", "certificates that hold",
    "mutations refused", "mutations that hold, and are true",
}  # fmt: skip


def test_a_minute_of_random_questions_breaks_no_law():
    command = [sys.executable, "-m", "laws", "--seed", SEEDS, "--processes", "1"]
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
        (problem, "SLACK", 0.0),
        (Cost, "added", lambda self, moved, _: self.l0 + self.l1 * moved + self.l2 * moved**2),
        (Forces, "goal", lambda _, before: before),
        (tree, "ROUNDING", -1e-3),
        (checker, "_JUDGES", (always,) * len(checker._JUDGES)),
    ],
)
def test_a_wrong_engine_or_checker_breaks_a_law(monkeypatch, where, name, wrong):
    monkeypatch.setattr(where, name, wrong)
    assert any(judge(seed).broken for seed in range(10))


def test_the_enumeration_imports_nothing_of_what_it_judges():
    nodes = list(ast.walk(ast.parse(Path(enumeration.__file__).read_text())))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    assert {str(module).split(".")[0] for module in modules} <= {
        "__future__", "dataclasses", "decimal", "fractions", "functools", "math", "numpy", "pandas",
    }  # fmt: skip
