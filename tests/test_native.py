"""The compiled extension: its stub, its arithmetic, and the compilers that build it."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trust_recourse import _native

ROOT = Path(__file__).parent.parent
STUB = ROOT / "src" / "trust_recourse" / "_native.pyi"


def public(module):
    return {name for name in vars(module) if not name.startswith("_")}


def test_the_stub_names_what_the_extension_has():
    told = ast.parse(STUB.read_text())
    named = {
        node.name: node for node in told.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert {name for name in named if not name.startswith("_")} == public(_native)
    for name, node in named.items():
        if not isinstance(node, ast.ClassDef):
            continue
        methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        kind = getattr(_native, name)
        assert methods <= {each for of in kind.__mro__ for each in vars(of)}, name


def test_sums_are_not_contracted():
    """Each product is rounded before it is added: with fused operations many of these differ."""
    rng = np.random.default_rng(0)
    law, g = rng.random((500, 21)), rng.normal(size=21)
    out = _native.expectation(law, g)
    fused = 0
    for row, found in zip(law, out, strict=True):
        total = exact = 0.0
        for a, b in zip(row.tolist(), g.tolist(), strict=True):
            exact = float(np.longdouble(a) * np.longdouble(b) + np.longdouble(exact))
            total += a * b
        assert found == total
        fused += exact != total
    assert fused > 100


ASKED = """
import hashlib, importlib.util, json, sys
if len(sys.argv) > 1:
    spec = importlib.util.spec_from_file_location("trust_recourse._native", sys.argv[1])
    import trust_recourse
    module = importlib.util.module_from_spec(spec)
    sys.modules["trust_recourse._native"] = trust_recourse._native = module
    spec.loader.exec_module(module)
import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from trust_recourse import PTMClassifier, Recourse, Schema, _native, haberman
X, y = haberman()
schema = Schema.infer(X, guard=False)
told = {"file": _native.__file__, "answers": []}
trees = GradientBoostingClassifier(n_estimators=20, random_state=0)
for model in (trees, PTMClassifier(schema=schema, epochs=5, random_state=0)):
    recourse = Recourse(model.fit(X, y), schema, "l2")
    said = recourse.confidences(recourse.schema.encode(X))
    for at in np.argsort(said)[:6]:
        for option in recourse.find(X.iloc[int(at)], [0.5, 0.6], min_radius=0.01).options:
            told["answers"].append([list(map(float, option.x)), option.cost, option.confidence])
print(json.dumps(told))
"""


def answers(*extension):
    ran = subprocess.run(
        [sys.executable, "-c", ASKED, *map(str, extension)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert len(told["answers"]) >= 12
    return told["file"], hashlib.sha256(json.dumps(told["answers"]).encode()).hexdigest()


@pytest.mark.slow
def test_the_compiler_of_a_package_gives_the_same_answers(tmp_path):
    """PyPI's ziglang builds the extension where there is no other compiler."""
    pytest.importorskip("ziglang")
    tools = {}
    for tool in ("c++", "ar", "ranlib"):
        tools[tool] = tmp_path / f"zig-{tool}"
        tools[tool].write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {tool} "$@"\n')
        tools[tool].chmod(0o755)
    bin_ = Path(sys.executable).parent
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"],
        capture_output=True,
        text=True,
        check=True,
    )
    build = tmp_path / "build"
    configure = [
        "cmake", "-G", "Ninja", "-S", ROOT / "src" / "native", "-B", build,
        "-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dnanobind_DIR={nanobind.stdout.strip()}", f"-DCMAKE_CXX_COMPILER={tools['c++']}",
        f"-DCMAKE_AR={tools['ar']}", f"-DCMAKE_RANLIB={tools['ranlib']}",
    ]  # fmt: skip
    env = os.environ | {"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    for command in (configure, ["cmake", "--build", build]):
        ran = subprocess.run(command, capture_output=True, text=True, env=env)
        assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    (built,) = build.glob("_native.*")
    file, theirs = answers(built)
    assert file == str(built)
    assert theirs == answers()[1]
