"""How commands print: the console, tables, chapters."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from trust_recourse.report import ModelReport, Suspicion

WIDEST = 100
# what steers a terminal (ESC and other control characters), turns the order of what is read, or is
# half a character; line ends and tabs may stay
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def harmless(text: str) -> str:
    r"""The text with everything written out that would steer a terminal: names are others' words.

    As JSON has it, so that JSON stays JSON, and says the same.

    >>> print(harmless("age\x1b[2J"))
    age\u001b[2J
    """
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(text: str, *, err: bool = False) -> None:
    """Print a text as it is, but harmless; an error may quote much, so it is cut."""
    if err:
        from trust_recourse.io.wording import shortened

        text = shortened(text)
    typer.echo(harmless(text), err=err)


def wrote(*paths: Path | None) -> None:
    """Print which files were written."""
    for path in paths:
        if path is not None:
            say(f"\n{path}: written.")


def at_terminal() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(question: str) -> bool:
    """Ask whoever sits at the terminal, until it is a yes or a no; without a word it is a no."""
    while True:
        said = typer.prompt(f"{harmless(question)} [y/N]", "", show_default=False, err=True)
        word = str(said).strip().lower()
        if word in ("", "n", "no", "y", "yes"):
            return word.startswith("y")
        say(f"Given {said!r}, expected y (yes) or n (no); no answer is a no.", err=True)


def words(text: str, style: str = "") -> Text:
    """Words of others for a table, where markup may be read: as they are, but harmless."""
    return Text(harmless(text), style)


class _Harmless(Console):
    """A console that prints others' words as they are, but harmless."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(harmless(text), **how)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        for each in super().render(renderable, options):
            yield each if each.control else Segment(harmless(each.text), each.style)


def console(*, markup: bool = False, err: bool = False) -> Console:
    """Where commands print, no wider than is read well.

    Without markup what stands in brackets is printed as it is: for words that others wrote.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks ≤ shows ?, not an error
    page = _Harmless(highlight=False, markup=markup, emoji=False, stderr=err)
    page.width = min(page.width, WIDEST)
    return page


def waiting(what: str) -> Status:
    """A sign of life while something is worked out; on a terminal alone, beside the answer."""
    return console(err=True).status(what)


def say_json(told: object) -> None:
    """Print an answer for programs, in ASCII where a pipe carries no more; NaN must be null."""
    text = json.dumps(told, indent=1, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(told, indent=1)
    say(text)


def people(count: int) -> str:
    """So many people."""
    return "1 person" if count == 1 else f"{count:,} people"


def table(*columns: str, text: int = 1, fold: Collection[int] = ()) -> Table:
    """Make an empty table; its first columns hold text, the others numbers; some take lines."""
    empty = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for at, column in enumerate(columns):
        empty.add_column(
            column,
            justify="left" if at < text else "right",
            no_wrap=at not in fold,
            overflow="fold" if at in fold else "ellipsis",
        )
    return empty


def grid(rows: Iterable[Iterable[str]], *styles: str) -> Table:
    """Make a table of others' words without lines; each column has a style, the first is dim."""
    filled = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        filled.add_row(
            *(words(*each) for each in zip_longest(row, styles or ("dim",), fillvalue=""))
        )
    return filled


def judgement(console: Console, found: ModelReport) -> None:
    """Print how good a model is, beside others: in all classes together, and in each."""
    if found.many > 2:
        console.print(f"All {found.many} classes together, each row given the likeliest:")
        _texts(console, found.overall_summary())
        console.print(f"\nClass {found.label} against all others:")
    _texts(console, found.summary())
    if found.many > 2:
        from trust_recourse.report.model.model_report import CLASSES, EACH

        console.print(f"\n{EACH}")
        own = found.by_class.loc[found.scores.index[0]].rename(columns=CLASSES)
        _texts(console, own.map(lambda x: f"{x:.3f}").assign(rows=own["rows"].astype(str)))
    console.print(f"\n{found.legend}\n\n{found.promise}")


def _texts(console: Console, texts: pd.DataFrame) -> None:
    each = table("", *map(str, texts.columns))
    for name in texts.index:
        each.add_row(str(name), *texts.loc[name])
    console.print(each)


def doubts(console: Console, suspicions: Iterable[Suspicion]) -> None:
    """Print what looks wrong in the table, and what only a person can say."""
    asked: dict[str, list[str]] = {}
    for each in suspicions:
        if each.kind in ("protected", "past"):
            asked.setdefault(each.advice, []).append(f"{each.column}: {each.seen}")
        else:
            console.print(f"Suspicion: {each.sentence}")
    for advice, columns in asked.items():
        console.print(f"Question: {'; '.join(columns)}. {advice}.")
