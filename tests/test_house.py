"""Promises of the house itself: what importing costs, and what is in the files."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions
from operator import attrgetter
from pathlib import Path

import pytest

import trust_recourse

ROOT = Path(__file__).parent.parent


def loaded_by(code):
    script = f"import sys, json; {code}; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(out.stdout))


def test_importing_the_package_pays_for_nothing():
    heavy = {"numpy", "pandas", "sklearn", "scipy", "safetensors", "yaml", "typer", "rich"}
    assert loaded_by("import trust_recourse").isdisjoint(heavy)


def test_all_names_are_imported_without_the_extras():
    script = "import sys; sys.modules['sqlalchemy'] = None; from trust_recourse import *; Recourse"
    subprocess.run([sys.executable, "-c", script], check=True)


# What other code relies on, by name and by what it may be given.
PUBLIC = {
    "AtMost": "a b",
    "Cost": "l0 l1 l2 root functions",
    "Feature": "name kind label unit values missing lower upper step max_change mutable direction "
    "protected weight scale monotone",
    "Implication": "a b by",
    "PTMClassifier": "n_clauses n_states s T epochs thresholds binning validation_fraction link "
    "use_protected calibration schema random_state",
    "PTMClassifier.predict_proba_mc": "X n_passes random_state",
    "Recourse": "model schema cost wanted decision_threshold bootstraps",
    "Recourse.find": "x confidence mode tolerance n_options engine min_radius time_limit survives",
    "Recourse.find_many": "X confidence n_jobs",
    "Recourse.frontier": "x",
    "Recourse.reachable": "x",
    "Result.certificate": "target",
    "Result.compare": "first second",
    "Result.explain": "option",
    "Result.load": "path recourse",
    "Result.radius": "option norm",
    "Result.robustness": "option sigma",
    "Result.save": "path",
    "Schema": "features relations",
    "Retrained": "search validation fresh",
    "Schema.from_yaml": "path",
    "Schema.infer": "X missing scale guard",
    "Schema.lock": "names",
    "Schema.relate": "relations",
    "Schema.to_yaml": "path",
    "Schema.update": "name changes",
    "TMClassifier": "n_clauses n_states s T epochs thresholds random_state",
    "Target": "confidence mode tolerance",
    "from_model": "model schema X",
    "bootstraps": "model X y n",
    "evidence": "result",
    "letter": "result",
    "load": "path",
    "model_report": "model X y",
    "testing.check_cell_model": "model",
    "verify": "certificate model schema cost x target wanted",
}
OTHERS = {
    "Audit", "Certificate", "CertificateError", "EUProfile", "EachRow", "Evidence", "Isolation",
    "Ledger", "Letter", "NearNeighbours", "Option", "ProtectedReasonError", "Question", "Result",
    "Status", "USProfile", "__version__", "german_credit", "german_credit_schema", "haberman",
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_takes_what_it_took(name):
    import_module("trust_recourse.testing")
    taken = inspect.signature(attrgetter(name)(trust_recourse)).parameters
    assert set(PUBLIC[name].split()) <= set(taken)


def test_the_public_names_are_those_and_no_others():
    names = {name for name in PUBLIC if "." not in name} | OTHERS
    assert set(dir(trust_recourse)) == names
    assert all(getattr(trust_recourse, name) is not None for name in names)


def test_the_names_work_together_as_they_are_promised(tmp_path):
    from trust_recourse import PTMClassifier, Recourse, Schema, haberman

    X, y = haberman()
    model = PTMClassifier(
        n_clauses=20, n_states=100, s=1.5, T=5, epochs=4, thresholds=20, link="margin",
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.predict_proba(X).shape == (len(X), 2)
    assert model.predict_proba_mc(X[:2], n_passes=50, random_state=0).shape == (2, 2)
    assert model.clause_proba(X).shape == (len(X), 20)
    assert model.inclusion_.shape == (20, len(model.literals_))
    assert set(model.polarity_) == {-1, 1}
    assert len(model.thresholds_) == 3
    assert len(model.rules()) > 0
    schema = Schema.infer(X).update("age", mutable=False)
    schema = schema.update("nodes", direction="decrease", step=1)
    schema.to_yaml(tmp_path / "schema.yaml")
    assert Schema.from_yaml(tmp_path / "schema.yaml") == schema
    recourse = Recourse(model, schema, cost="l2")
    x = X.iloc[int(model.predict_proba(X)[:, 1].argmin())]
    best = recourse.reachable(x).most
    asked = [best - 0.02, best - 0.01]
    result = recourse.find(
        x, confidence=asked, n_options=3, engine="auto", min_radius=None, time_limit=None
    )
    assert recourse.find(x, confidence=best - 0.05, mode="band", tolerance=0.1).options
    assert {target.confidence for target in result.status} == set(asked)
    option = result.options[0]
    assert list(option.x.index) == list(schema.names)
    assert all(x[name] == before for name, (before, _) in option.changes.items())
    assert option.lower_bound <= option.cost
    assert option.confidence == recourse.confidence(option.x) <= best
    assert option.status == "optimal"
    assert option.target.confidence in asked
    assert result.radius(0) >= 0
    assert 0 <= result.robustness(0, sigma=0.01).probability <= 1
    assert list(result.clauses().columns)[:2] == ["as they are", "option 1"]
    assert len(result.to_frame()) == len(result.options) > 1
    assert "option 1" in repr(result.explain())
    assert "option 2" in repr(result.compare(0, 1))
    assert result.plot().axes
    assert len(recourse.frontier(x)) > 1
    assert len(recourse.find_many(X.head(3))) == 3


def test_versions_agree_and_constraints_name_no_address():
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{trust_recourse.__version__}"' in pyproject
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.+!]*", line), line


# ---------------------------------------------------------------- what may import what

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {each["name"]: each for each in PYPROJECT["tool"]["importlinter"]["contracts"]}


def broken(folder, breaches):
    """The contracts that a copy of the package breaks, once lines are added to its files."""
    shutil.copytree(ROOT / "src" / "trust_recourse", folder / "trust_recourse")
    for file, line in breaches.items():
        with (folder / "trust_recourse" / file).open("a") as out:
            out.write(f"\n{line}\n")
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()",
         "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
    )  # fmt: skip
    found = dict(re.findall(r"^(.*) (KEPT|BROKEN)$", done.stdout, re.MULTILINE))
    assert set(found) == set(CONTRACTS), done.stdout + done.stderr
    return {name for name, said in found.items() if said == "BROKEN"}


def breach(contract):
    """An import that a contract is there to refuse, in a file that it does not name."""
    if contract["type"] == "layers":
        return "schema/errors.py", "import trust_recourse.answers.recourse"
    refused = contract.get("protected_modules") or contract["forbidden_modules"]
    source = contract.get("source_modules", ["trust_recourse"])[0]
    inside = source.removeprefix("trust_recourse").strip(".").replace(".", "/")
    return f"{inside or 'io'}/anew.py", f"import {refused[-1]}"


def test_every_contract_is_broken_by_a_file_that_it_does_not_name(tmp_path):
    kept = tmp_path / "as it is"
    assert broken(kept, {}) == set()
    breaches = {}
    for contract in CONTRACTS.values():
        file, line = breach(contract)
        breaches[file] = f"{breaches.get(file, '')}\n{line}"
    assert broken(tmp_path / "broken", breaches) == set(CONTRACTS)


def test_a_room_without_a_layer_is_refused(tmp_path):
    assert broken(tmp_path, {"cellar.py": "import json"}) == {"Imports go down only"}


EXTRAS = ["bayes", "cli", "cluster", "ledger", "letters", "parquet", "pdf", "plot", "trees", "web"]


def test_the_extra_all_is_every_extra_that_a_user_may_want():
    extras = PYPROJECT["project"]["optional-dependencies"]
    assert extras["all"] == [f"trust-recourse[{','.join(EXTRAS)}]"]
    assert {*extras} - {*EXTRAS, "all"} <= {"bench", "dev", "docs", "gpu", "release", "reproduce"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_optional_package_has_a_contract(extra):
    held = {
        name
        for each in CONTRACTS.values()
        for name in each.get("protected_modules") or each.get("forbidden_modules", ())
    }
    names = {}
    for module, found in packages_distributions().items():
        for distribution in found:
            names.setdefault(distribution.lower().replace("_", "-"), set()).add(module)
    texts = PYPROJECT["project"]["optional-dependencies"][extra]
    for package in {re.match(r"[\w-]+", text)[0] for text in texts} - {"trust-recourse"}:
        assert names[package] & held, f"no contract says where {package} may be imported"


# ---------------------------------------------------------------- benchmarks and experiments

# What may use private names, and why. `_private` stands for attributes with an underscore.
INSIDE = {
    "benchmarks/additive.py": {"_private": "forgets a library's answers, to ask it again"},
    "benchmarks/asking.py": {
        "models.tsetlin.inputs": "one trained machine read by several links",
        "models.tsetlin.links": "the same",
    },
    "benchmarks/batch.py": {
        "population.batch.source_tables": "times the stages of a batch",
        "population.batch.run": "the same",
    },
    "benchmarks/journey.py": {
        "__main__": "times the stages of a command",
        "cli.question_options": "the same",
        "_private": "counts what the import system loads",
    },
    "benchmarks/ledger.py": {
        "ledger": "fills a database without the checks of a Ledger",
        "ledger.entries": "the same",
        "ledger.database": "the same",
        "_private": "the same",
    },
    "benchmarks/machine.py": {
        "models.tsetlin.literals": "times single epochs of training",
        "models.tsetlin.training": "the same",
    },
    "benchmarks/page.py": {"web.page.screen": "a page whose state has a clock"},
    "benchmarks/reasons.py": {
        "report.letter.reasons": "compares the methods of a letter's reasons",
    },
    "benchmarks/path.py": {
        "trust_recourse": "replaces the compiled functions, to see the first call"
    },
    "experiments/honest.py": {
        "models.tsetlin.inputs": "one trained machine read by two links",
        "models.tsetlin.links": "the same",
    },
}
ROOMS = {"plot", "batch"}  # public modules within a public one
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}  # public names of named tuples


def public_modules():
    """The modules of docs/stability.md; of some only a module within them is named."""
    told = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    found = {"trust_recourse", "trust_recourse.answers.plot"}
    for module, names in re.findall(
        r"^\| `(trust_recourse[\w.]*)` \| (.*?) \|", told, re.MULTILINE
    ):
        within = re.findall(r"`(\w+)\.\w+`", names)
        found |= {f"{module}.{each}" for each in within} or {module}
    return found


def private_names(path):
    """What a file uses of the package that is not public: modules, names, and attributes."""
    public, found, text = public_modules(), set(), path.read_text(encoding="utf-8")
    if "trust_recourse" not in text:  # it runs in another environment
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trust_recourse"):
            listed = getattr(import_module(node.module), "__all__", None)
            hidden = listed is not None and {each.name for each in node.names} - {*listed, *ROOMS}
            if node.module not in public or hidden:
                found.add(node.module.removeprefix("trust_recourse."))
        named = isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr)
        if named and node.attr not in OF_TUPLES:
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            found |= set() if owner in ("self", "cls") else {"_private"}
    return found


@pytest.mark.parametrize("folder", ["benchmarks", "experiments"])
def test_benchmarks_and_experiments_use_public_names(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = {str(file.relative_to(ROOT)): private_names(file) for file in files}
    expected = {name: set(INSIDE.get(name, ())) for name in found}
    assert found == expected
