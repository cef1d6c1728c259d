"""What the README and the pages of docs show is run, in order, as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trust_recourse.cli import app

ROOT = Path(__file__).parent.parent


PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if "```python" in page.read_text()]


def blocks(kind, page=ROOT / "README.md"):
    return re.findall(rf"```{kind}\n(.*?)```", page.read_text(), re.DOTALL)


def commands(snippet):
    return re.findall(r"^trust-recourse .*", snippet, re.MULTILINE)


def but_for_numbers(text):
    """Rounding differs between processors, and a machine that learns may follow it elsewhere.

    So may the width of a table's columns.
    """
    return re.sub(r"[ ─]+", " ", re.sub(r"\d+(\.\d+)?", "0", text))


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
    shell = "".join(blocks("sh"))
    assert len(commands(shell)) >= 4
    printed += run(shell)
    shown = blocks("text")
    assert len(shown) >= 2
    for text in shown:
        assert but_for_numbers(text) in but_for_numbers(printed)


def run(snippet):
    """What our commands print; a comment may say that one ends with 1."""
    printed = ""
    for line in commands(snippet):
        done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert done.exit_code == ("# ends with 1" in line), done.output
        printed += done.stdout
    return printed


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_python_of_a_page_runs_and_draws_its_pictures(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, printed = {}, ""
    for kind, snippet in re.findall(r"```(python|sh)\n(.*?)```", page.read_text(), re.DOTALL):
        if kind == "python":
            exec(compile(snippet, page.name, "exec"), names)
        else:
            printed += run(snippet)
    printed += capsys.readouterr().out
    for text in blocks("text", page):
        assert but_for_numbers(text) in but_for_numbers(printed)
    shown = set(re.findall(r"\]\(pictures/(.*?)\)", page.read_text()))
    assert shown == {path.name for path in tmp_path.glob("*.png")}
    assert all((ROOT / "docs" / "pictures" / name).exists() for name in shown)


def test_there_are_pages_to_run():
    assert {"why.md", "ledger.md"} <= {page.name for page in PAGES}


def test_the_commands_of_the_readme_are_targets():
    targets = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert {"demo", "test"} <= set(targets)
    assert all(f"\n{target}:" in makefile for target in targets)
