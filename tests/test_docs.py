"""What the README shows is run, in order, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(snippets) >= 3
    monkeypatch.chdir(tmp_path)
    names = {}
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), names)
    assert (tmp_path / "haberman.safetensors").exists()
    assert "logistic regression" in capsys.readouterr().out


def test_the_commands_of_the_readme_are_targets():
    targets = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert {"demo", "test"} <= set(targets)
    assert all(f"\n{target}:" in makefile for target in targets)
