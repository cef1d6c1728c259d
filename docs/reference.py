"""Write docs/reference.md from the docstrings of the public names: `python docs/reference.py`.

A test fails when the page is not what this gives.
"""

import inspect
import re
from enum import Enum
from pathlib import Path

import trust_recourse
from trust_recourse import cli, plot

PAGE = Path(__file__).parent / "reference.md"
HEAD = """\
# Reference

The public names, from their own docstrings, as `python docs/reference.py` writes them. Of a class its
public methods follow. Commands have the same in `trust-recourse COMMAND --help`.
"""


def public():
    """Every public name and what it stands for, by the letter."""
    names = [name for name in trust_recourse.__all__ if not name.startswith("_")]
    return {name: getattr(trust_recourse, name) for name in sorted(names, key=str.lower)}


def written(thing):
    """A docstring as Markdown: examples fenced, headings of parameters made bold."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r"^(\\w[\\w ]*)\\n-{3,}$", r"**\\1**\\n", text, flags=re.MULTILINE)
    lines, inside = [], False
    for line in text.splitlines():
        example = line.startswith((">>>", "...")) or (inside and line.strip() != "")
        if example != inside:
            lines.append("```pycon" if example else "```")
        inside = example
        lines.append(line)
    return "\\n".join([*lines, "```"] if inside else lines)


def signature(name, thing):
    """How it is called, without the types, which the docstring tells in words."""
    given = inspect.signature(thing)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in given.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return f"{name}{given.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"


def methods(thing):
    """The public methods and properties that a class has of this package, in order."""
    for name, found in inspect.getmembers(thing):
        home = getattr(inspect.unwrap(getattr(found, "fget", None) or found), "__module__", "")
        if name.startswith("_") or not str(home).startswith("trust_recourse"):
            continue
        if isinstance(found, property) or inspect.isroutine(found):
            yield name, found
