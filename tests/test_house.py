"""Promises of the house itself: what importing costs, and what is in the files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import trust_recourse

ROOT = Path(__file__).parent.parent


def loaded_by(code):
    script = f"import sys, json; {code}; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(out.stdout))


def test_importing_the_package_pays_for_nothing():
    heavy = {"numba", "numpy", "pandas", "sklearn", "scipy", "safetensors", "yaml", "typer", "rich"}
    assert loaded_by("import trust_recourse").isdisjoint(heavy)
    assert "numba" not in loaded_by("from trust_recourse import Schema")


def test_every_public_name_is_there():
    for name in trust_recourse.__all__:
        assert getattr(trust_recourse, name) is not None
    assert set(trust_recourse.__all__) == set(dir(trust_recourse))


def test_versions_agree_and_constraints_name_no_address():
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{trust_recourse.__version__}"' in pyproject
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.+!]*", line), line
