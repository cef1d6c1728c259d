"""Write docs/reference.md from the docstrings of the public names: `python docs/reference.py`.

A test fails when the page is not what this gives.
"""

import inspect
import re
from enum import Enum
from pathlib import Path

import typer

import trust_recourse
from trust_recourse import cells, plot, schema, sums, testing
from trust_recourse.cli import app

PAGE = Path(__file__).parent / "reference.md"
HEAD = """\
# Reference

The public names, from their docstrings. `python docs/reference.py` writes this page, and a test
keeps it current.
"""
SCIKIT_LEARN = (
    "**Of scikit-learn**: `fit(X, y)`, `predict(X)`, `score(X, y)`, `get_params`, `set_params`."
)


def page():
    """The whole page."""
    parts = [HEAD, "## Commands", commands(), "## `trust_recourse`"]
    public = [name for name in trust_recourse.__all__ if not name.startswith("_")]
    parts += [entry(name, getattr(trust_recourse, name)) for name in sorted(public, key=str.lower)]
    parts += ["## `trust_recourse.plot`", inspect.getdoc(plot)]
    drawn = [name for name in dir(plot) if name.endswith("_info") or name.startswith("draw_")]
    parts += [entry(name, getattr(plot, name)) for name in sorted(drawn, key=_without_prefix)]
    parts += ["## For relations of your own: `schema`", entry("Relation", schema.Relation)]
    parts += ["## For models of your own: `cells`, `sums` and `testing`"]
    parts += [
        entry(name, getattr(cells, name)) for name in ("Grid", "Kernel", "Score", "CellModel")
    ]
    parts += [entry("Additive", sums.Additive), entry("SumModel", sums.SumModel)]
    parts += [entry("check_cell_model", testing.check_cell_model)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _without_prefix(name):
    return name.removeprefix("draw_").removesuffix("_info"), name


def commands():
    """Each command of `trust-recourse`, with the first sentence of its help."""
    rows = ["| command | what it does |", "|---|---|"]
    rows += [
        f"| `{name}` | {first} |" for name, first in _commands(typer.main.get_command(app), "")
    ]
    return "\n".join(["Each has `--help` with examples.", "", *rows])


def _commands(group, before):
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, " ".join(command.help.partition("\n\n")[0].split())


def entry(name, thing):
    """One name: how it is called, what it is, and for a class its methods."""
    parts = [f"### {name}", "", f"`{signature(name, thing)}`", "", markdown(thing)]
    if inspect.isclass(thing) and not issubclass(thing, (Enum, Exception)):
        if hasattr(thing, "get_params"):
            parts += ["", SCIKIT_LEARN]
        for each, found in methods(thing):
            parts += ["", f"**`.{signature(each, found)}`** {_flat(markdown(found))}"]
    if inspect.isclass(thing) and issubclass(thing, Enum):
        parts += ["", *(f"- `{member.value}`: {member.sentence}" for member in thing)]
    return "\n".join(parts)


def signature(name, thing):
    """How it is called, without types: the docstring tells them in words."""
    if isinstance(thing, property) or not callable(thing) or thing is trust_recourse.Status:
        return name
    if inspect.isclass(thing) and (issubclass(thing, Exception) or hasattr(thing, "_is_protocol")):
        return name
    given = inspect.signature(thing)
    plain = [
        parameter.replace(
            annotation=parameter.empty, default=_shown(parameter.default, parameter.empty)
        )
        for parameter in given.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return f"{name}{given.replace(parameters=plain, return_annotation=given.empty)}"


class _Words(str):
    """A text that is shown without quotation marks."""

    def __repr__(self):
        return str(self)


def _shown(default, empty):
    """A default as it would be typed; one that a class makes for itself is an ellipsis."""
    typed = default is empty or default is None or isinstance(default, (bool, int, float, str))
    return default if typed or isinstance(default, tuple) else _Words("...")


def methods(thing):
    """The public methods and properties that a class has of this package, in their order there."""
    found = {}
    for owner in reversed(thing.__mro__):
        if owner.__module__.startswith("trust_recourse"):
            for name, member in vars(owner).items():
                inner = getattr(member, "__func__", member)
                if not name.startswith("_") and (inspect.isroutine(inner) or _is_property(member)):
                    found[name] = member if _is_property(member) else getattr(thing, name)
    inherited = {"fit", "predict", "score"}
    return [(name, member) for name, member in found.items() if name not in inherited]


def _is_property(member):
    return isinstance(member, property) or type(member).__name__ == "cached_property"


def markdown(thing):
    """A docstring as Markdown: parameters as a list, examples fenced."""
    lines, inside, parameters = [], False, False
    text = re.sub(r"^(\w+)\n-{3,}$", r"**\1**", inspect.getdoc(thing) or "", flags=re.MULTILINE)
    for line in text.splitlines():
        example = line.startswith((">>>", "...")) or (inside and bool(line.strip()))
        if example != inside:
            lines.append("```pycon" if example else "```")
        inside = example
        if re.fullmatch(r"\*\*\w+\*\*", line):
            parameters = "Parameters" in line
            line += "\n"
        elif parameters and re.match(r"\w[^:]* : ", line):
            name, _, told = line.partition(" : ")
            line = f"- `{name}`: {told}"
        elif parameters and line.startswith("    "):
            line = f"  {line.strip()}"
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def _flat(text):
    """What follows a name on its line, unless it has parts of its own."""
    return text if "\n\n" in text else " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
