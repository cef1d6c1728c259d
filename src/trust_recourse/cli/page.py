"""How commands print: the console, tables, chapters."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

Answer = TypeVar("Answer")

WIDEST = 100


def console() -> Console:
    """Where commands print, no wider than is read well."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks ≤ shows ?, not an error
    page = Console(highlight=False)
    page.width = min(page.width, WIDEST)
    return page


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
