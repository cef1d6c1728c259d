"""What the README shows is run, in order, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from trust_recourse.cli import app

ROOT = Path(__file__).parent.parent


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def but_for_numbers(text):
    """Rounding differs between processors, and a machine that learns may follow it elsewhere."""
    return re.sub(r"\d+(\.\d+)?", "0", text)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    snippets = blocks("python")
    assert len(snippets) >= 3
    monkeypatch.chdir(tmp_path)
    names = {}
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), names)
    assert (tmp_path / "haberman.safetensors").exists()
    printed = capsys.readouterr().out
    assert "logistic regression" in printed
    shown = blocks("text")
    assert shown
    for text in shown:
        assert but_for_numbers(text) in but_for_numbers(printed)
    commands = re.findall(r"^trust-recourse (.*)", "".join(blocks("sh")), re.MULTILINE)
    assert commands
    for command in commands:
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output


def test_the_commands_of_the_readme_are_targets():
    targets = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert {"demo", "test"} <= set(targets)
    assert all(f"\n{target}:" in makefile for target in targets)
