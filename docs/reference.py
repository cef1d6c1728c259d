"""Write docs/reference/ from the docstrings of the public names: `python docs/reference.py`.

A page for each subject, and one with the commands and all names. A test fails when a page is not
what this gives, or when a public name has none.
"""

import inspect
import re
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import typer

import trust_recourse
from trust_recourse import models, schema, testing
from trust_recourse.answers import plot
from trust_recourse.cli import app

FOLDER = Path(__file__).parent / "reference"
INDEX = "README.md"
HEAD = """\
# Reference

The public names, from their docstrings. `python docs/reference.py` writes these pages, and a test
keeps them current. What may change is in [stability.md](../stability.md).
"""


class Subject(NamedTuple):
    """A page: its file, its title, and names by the module that they are imported from."""

    file: str
    title: str
    names: dict


def _without_prefix(name):
    return name.removeprefix("draw_").removesuffix("_info"), name.startswith("draw_")


DRAWN = sorted(
    (name for name in dir(plot) if name.endswith("_info") or name.startswith("draw_")),
    key=_without_prefix,
)
SUBJECTS = (
    Subject(
        "machines.md", "Machines and data",
        {trust_recourse: ("PTMClassifier", "TMClassifier", "load", "german_credit",
                          "german_credit_schema", "haberman")},
    ),
    Subject(
        "schema.md", "The schema",
        {trust_recourse: ("Schema", "Feature", "AtMost", "Implication")},
    ),
    Subject(
        "question.md", "The question",
        {trust_recourse: ("Question", "Target", "Cost", "EachRow", "Isolation", "NearNeighbours")},
    ),
    Subject(
        "recourse.md", "Asking a model",
        {trust_recourse: ("Recourse", "from_model", "bootstraps", "Retrained")},
    ),
    Subject(
        "answers.md", "Answers and proofs",
        {trust_recourse: ("Result", "Option", "Status", "Certificate", "CertificateError",
                          "verify")},
    ),
    Subject(
        "pictures.md", "Pictures",
        {plot: DRAWN},
    ),
    Subject(
        "letters.md", "Letters and reports",
        {trust_recourse: ("letter", "Letter", "USProfile", "EUProfile", "ProtectedReasonError",
                          "evidence", "Evidence", "model_report")},
    ),
    Subject(
        "ledger.md", "Ledger and audit",
        {trust_recourse: ("Ledger", "Audit")},
    ),
    Subject(
        "own.md", "Models and relations of your own",
        {models: ("Additive", "SumModel", "Grid", "Kernel", "PythonKernel", "TableKernel", "Score",
                  "CellModel"),
         testing: ("check_cell_model",),
         schema: ("Relation",)},
    ),
)  # fmt: skip
SCIKIT_LEARN = (
    "**Of scikit-learn**: `fit(X, y)`, `predict(X)`, `score(X, y)`, `get_params`, `set_params`."
)


def pages():
    """Every page by its file: the index, and one for each subject."""
    return {INDEX: index()} | {subject.file: page(subject) for subject in SUBJECTS}


def page(subject):
    """One subject: each of its names, and how it is imported."""
    head = f"A page of the [reference]({INDEX})."
    if [*subject.names] == [trust_recourse]:
        head += " Its names are imported from `trust_recourse`."
    parts = [f"# {subject.title}", head]
    seen = {}
    for module, names in subject.names.items():
        if [*subject.names] != [trust_recourse]:
            parts.append(f"## `{module.__name__}`")
        if module is plot:
            parts.append(inspect.getdoc(plot))
        parts += [entry(name, getattr(module, name), seen) for name in names]
    return _joined(parts)


def index():
    """The commands, and every name with its page and what it is."""
    rows = ["| name | what it is |", "|---|---|"]
    for subject in SUBJECTS:
        rows.append(f"| **[{subject.title}]({subject.file})** | |")
        for module, names in subject.names.items():
            rows += [
                f"| [`{name}`]({subject.file}#{name.lower()}) | {_first(getattr(module, name))} |"
                for name in names
            ]
    return _joined([HEAD, "## Commands", commands(), "## Names", "\n".join(rows)])


def _first(thing):
    """The first sentence of a docstring, as a cell of a table."""
    text = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[.])\s", text)[0].replace("|", "\\|")


def _joined(parts):
    return "\n\n".join(part.strip() for part in parts) + "\n"


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


def entry(name, thing, seen):
    """One name: how it is called, what it is, and for a class its methods.

    Methods that a class before it on the page has with the same docstring are only named; `seen`
    grows.
    """
    parts = [f"### {name}", "", f"`{signature(name, thing)}`", "", markdown(thing)]
    if inspect.isclass(thing) and not issubclass(thing, (Enum, Exception)):
        if hasattr(thing, "get_params"):
            parts += ["", SCIKIT_LEARN]
        same = {}
        for each, found in methods(thing):
            called = signature(each, found)
            key = (called, inspect.getdoc(found) or getattr(found, "__func__", found))
            if owner := seen.get(key):
                same.setdefault(owner, []).append(f"`.{called}`")
            else:
                parts += ["", f"**`.{called}`** {_flat(markdown(found))}"]
                seen[key] = name
        for owner, told in same.items():
            parts += ["", f"**As of [{owner}](#{owner.lower()})**: {', '.join(told)}."]
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
    FOLDER.mkdir(exist_ok=True)
    for each, text in pages().items():
        (FOLDER / each).write_text(text, encoding="utf-8")
