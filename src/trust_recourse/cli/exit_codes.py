"""What may be wrong with what a command was given: a sentence and the exit code 2, no traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import typer

from trust_recourse.cli import output
from trust_recourse.io.extras import absent
from trust_recourse.question.vocabulary import PARTS, reworded

WORDS = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "this is a folder, expected a file",
    PermissionError: "this may not be read or written by you",
}


class InputError(ValueError):
    """Something that was given cannot be used; the message says what to give instead."""


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Around a command: print what is wrong with what it was given, and end with 2."""
    try:
        yield
    except (ValueError, OSError, ModuleNotFoundError) as error:
        told = str(error)
        if isinstance(error, OSError) and type(error) in WORDS and error.filename:
            told = f"{error.filename}: {WORDS[type(error)]}"
        elif type(error) is ValueError:  # which has the names of Python
            told = reworded(told, lambda part: PARTS[part].flag if part in PARTS else f"--{part}")
        output.say(told, err=True)
        raise typer.Exit(2) from None


def pair(flag: str, given: str, expected: str, example: str) -> tuple[str, str]:
    """The two sides of what is given as NAME=VALUE."""
    name, equals, value = given.partition("=")
    if not (name and equals):
        raise InputError(f"{flag} {given!r}: expected {expected}, such as {example}")
    return name, value


def can_be_written(
    path: Path | None,
    *read: Path | None,
    force: bool,
    picture: bool = False,
    document: bool = False,
) -> None:
    """Refuse, before any work, a file that cannot be written, that is read itself, or is there.

    A file that is there is overwritten by force, or if whoever sits at the terminal says so. A
    picture needs the package that draws it, a document a name that says what it is to be.
    """
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: you may not write in the folder {path.parent}; give another")
    for other in read:
        if other is not None and path.exists() and other.exists() and path.samefile(other):
            raise InputError(f"{path}: that is what is read; give another name to write to")
    asked = path.exists() and not force
    if asked and not (output.at_terminal() and output.confirmed(f"{path} is there. Overwrite?")):
        raise InputError(
            f"{path}: there is such a file; give another name, or --force to overwrite it"
        )
    if picture and find_spec("matplotlib") is None:
        raise InputError(f"{path}: {absent('a picture', 'matplotlib', 'plot')}")
    ending = path.suffix.lower()
    if document and ending not in (".html", ".htm", ".pdf", ".txt"):
        raise InputError(f"{path}: expected a name that ends in .html, .pdf or .txt")
    if document and ending == ".pdf" and find_spec("typst") is None:
        raise InputError(f"{path}: {absent('a PDF', 'typst', 'pdf')}")
