"""Notebooks in Markdown: run from top to bottom, shown with what they print and draw.

A page of docs/gallery is text with fenced Python. `run` plays it in one namespace, in a folder of
its own, and `markdown` and `notebook` give it with its output: for the site, and for Jupyter. The
value of a cell's last line is shown as a notebook shows it: tables as HTML, pictures, else text.
"""

from __future__ import annotations

import ast
import json
import re
from base64 import b64encode
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

FENCE = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """Text, or code with what came of it."""

    text: str
    code: bool = False
    printed: str = ""
    html: str = ""
    png: bytes = b""


def cells(page):
    """The text and the code of a page, in order; nothing is run."""
    parts = FENCE.split(page)
    every = (Cell(text.strip("\n"), code=bool(at % 2)) for at, text in enumerate(parts))
    return [cell for cell in every if cell.text]


def run(page):
    """The cells of a page, run in order in a folder of their own."""
    names = {"__name__": "notebook"}
    with TemporaryDirectory() as place, chdir(place):
        return [_played(cell, names) if cell.code else cell for cell in cells(page)]


def _played(cell, names):
    tree, printed = ast.parse(cell.text), StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    html, png = "", b""
    if figure := getattr(value, "figure", None):  # of a figure itself, too
        kept = BytesIO()
        figure.savefig(kept, format="png", dpi=110, bbox_inches="tight")
        png = kept.getvalue()
    elif hasattr(value, "_repr_html_"):
        html = value._repr_html_()
    elif value is not None:
        printed.write(f"{value}\n")
    return Cell(cell.text, True, printed.getvalue(), html, png)


def markdown(played, name, picture):
    """The page with its output; `picture(name, bytes)` keeps a picture and says where."""
    parts = []
    for at, cell in enumerate(played):
        if not cell.code:
            parts.append(cell.text)
            continue
        parts.append(f"```python\n{cell.text}\n```")
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        if cell.html:
            parts.append(f'<div class="output" markdown="0">{_flat(cell.html)}</div>')
        if cell.png:
            where = picture(f"{name}-{at}.png", cell.png)
            parts.append(f"![What this cell draws]({where})")
    return "\n\n".join(parts) + "\n"


def _flat(html):
    """Without blank lines, at which Markdown would end it, pandas' own style, and empty heads."""
    bare = re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL).replace("<th></th>", "<td></td>")
    return "".join(line.strip() for line in bare.splitlines())


def notebook(played):
    """The same for Jupyter."""
    return json.dumps(
        {
            "cells": [_jupyter(at, cell) for at, cell in enumerate(played)],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
        ensure_ascii=False,
    )


def _jupyter(at, cell):
    told = {"id": f"cell-{at}", "metadata": {}, "source": cell.text}
    if not cell.code:
        return {"cell_type": "markdown"} | told
    outputs = []
    if cell.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed})
    shown = {"text/html": cell.html} if cell.html else {}
    shown |= {"image/png": b64encode(cell.png).decode()} if cell.png else {}
    if shown:
        outputs.append({"output_type": "display_data", "metadata": {}, "data": shown})
    return {"cell_type": "code", "execution_count": at, "outputs": outputs} | told


def pages():
    """The notebooks there are, by name."""
    every = sorted((Path(__file__).parent / "gallery").glob("*.md"))
    return {path.stem: path for path in every if path.stem != "README"}
