"""The command line: quick to answer, and a demo whose numbers are computed."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from trust_recourse import PTMClassifier, __version__, model_report
from trust_recourse.cli import _rules, app

HEAVY = ("numba", "numpy", "pandas", "sklearn")

RUN = """
import sys
for name in {blocked}:
    sys.modules[name] = None
from trust_recourse.__main__ import main
sys.argv = ["trust-recourse", *{arguments}]
try:
    main()
except SystemExit as end:
    loaded = [name for name in {heavy} if name in sys.modules]
    sys.stderr.write(f"loaded {{loaded}}\\n")
    sys.exit(end.code)
"""


def command(*arguments: str, blocked: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    script = RUN.format(blocked=blocked, arguments=arguments, heavy=HEAVY)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("arguments", [("--help",), ("demo", "--help"), ("--version",), ()])
def test_help_and_version_load_nothing_heavy(arguments):
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loaded []\n"
    assert (__version__ if arguments == ("--version",) else "Usage: trust-recourse") in done.stdout


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_without_its_packages_it_says_how_to_install_them(absent):
    done = command("demo", blocked=(absent,))
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"needs {absent}" in done.stderr
    assert "pip install 'trust-recourse[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_missing_module_is_not_blamed_on_the_command_line():
    done = command("--version", blocked=("trust_recourse.cli",))
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr


@pytest.fixture(scope="module", params=[80, 100])
def told(request) -> tuple[int, str]:
    done = CliRunner().invoke(
        app, ["demo", "--epochs", "5", "--seed", "2"], env={"COLUMNS": str(request.param)}
    )
    assert done.exit_code == 0, done.output
    return request.param, done.stdout


def test_the_demo_tells_what_the_model_says(told, patients):
    text = told[1]
    X, y = patients
    model = PTMClassifier(epochs=5, random_state=2)
    for name, cells in model_report(model, X, y, random_state=2).summary().iterrows():
        assert re.search(rf"{name} +{' +'.join(map(re.escape, cells))}", text)
    model.fit(X, y)
    assert "306 people" in text
    assert f"{model.rules()['weak'].sum()} of the 20 rules are weak" in text
    ages = X["age"]
    ordinary = X[ages.between(ages.quantile(0.25), ages.quantile(0.75))]
    who = model.predict_proba(ordinary)[:, 1].argmin()
    age, year, nodes = ordinary.iloc[who]
    flat = " ".join(text.split())
    assert f"age {age}, year {year}, nodes {nodes}" in flat
    assert f"It says {model.predict_proba(ordinary)[who, 1]:.1%}" in flat
    assert f"entropy {model.uncertainty(ordinary)['entropy'].iloc[who]:.3f}" in flat
    law = model.vote_distribution(ordinary).iloc[who]
    assert re.search(rf"vote +{law.idxmax():+d} +{law.max():.1%}", text)


def test_the_demo_shows_the_clear_rules_by_dominance(told, patients):
    X, y = patients
    model = PTMClassifier(epochs=5, random_state=2).fit(X, y)
    q, rules = model.clause_proba(X), model.rules()
    dominance = 100 * (q[y == 1].mean(axis=0) - q[y == 0].mean(axis=0))
    clear = sorted(
        (-abs(dominance[j]), rules.loc[j, "rule"], f"{dominance[j]:+.1f}")
        for j in rules.index[~rules["weak"]]
    )
    assert clear, "this seed has no clear rule, so the test would judge nothing"
    at = 0
    for _, rule, points in clear[:5]:
        line = re.search(rf"^{re.escape(rule)} .* {re.escape(points)}$", told[1][at:], re.MULTILINE)
        assert line, (rule, points)
        at += line.end()


def test_a_machine_without_a_clear_rule_is_said_to_have_none(patients):
    model = PTMClassifier(n_clauses=4, epochs=1, random_state=0).fit(*patients)
    model._conclude(np.full_like(model.inclusion_, 1e-6))
    page = Console(file=io.StringIO(), width=80)
    _rules(page, model, *patients)
    assert "4 of the 4 rules are weak" in page.file.getvalue()
    assert "dominance" not in page.file.getvalue()


def test_the_demo_fits_the_page(told):
    width, text = told
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text  # no cell was cut
    assert 50 <= len(text.splitlines()) <= 95


def test_a_wrong_option_is_refused_before_anything_is_learnt():
    done = command("demo", "--epochs", "0")
    assert done.returncode == 2
    assert "loaded []" in done.stderr
    assert "epochs" in done.stderr
