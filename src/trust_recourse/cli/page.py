"""How commands print: the console, tables, chapters."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from html import escape
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table

Answer = TypeVar("Answer")

WIDEST = 100
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{padding:.2rem .6rem;border:1px solid #bbb}"
)


def console(*, markup: bool = True) -> Console:
    """Where commands print, no wider than is read well.

    Without markup what stands in brackets is printed as it is: for words that others wrote.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks ≤ shows ?, not an error
    page = Console(highlight=False, markup=markup)
    page.width = min(page.width, WIDEST)
    return page


def waiting(what: str) -> Status:
    """A sign of life while something is worked out; on a terminal alone, beside the answer."""
    return Console(stderr=True).status(
        f"{what} (the first time ever, this compiles for up to a minute)"
    )


def as_json(told: object) -> str:
    """An answer for programs, in ASCII where a pipe carries no more; NaN must be null before."""
    text = json.dumps(told, indent=1, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(told, indent=1)
    return text


def people(count: int) -> str:
    """So many people."""
    return "1 person" if count == 1 else f"{count:,} people"


def as_html(title: str, body: str) -> str:
    """A page of its own around HTML, with nothing to be fetched."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def chapter(page: Console, title: str) -> None:
    """Begin a chapter."""
    page.print()
    page.rule(f"[bold]{title}", align="left", style="dim")


def table(*columns: str, text: int = 1) -> Table:
    """Make an empty table; its first columns hold text, the others numbers."""
    empty = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for at, column in enumerate(columns):
        empty.add_column(column, justify="left" if at < text else "right", no_wrap=True)
    return empty


def timed(action: Callable[[], Answer]) -> tuple[Answer, float]:
    """What an action gives, and the seconds it took."""
    start = time.perf_counter()
    return action(), time.perf_counter() - start
