"""Numbers on the line: one that cannot be read is told as it was given, with how to write it."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import OptionInfo


def told_plainly(hint: Any) -> Any:
    """The hint of an option; if it is of numbers, without bounds, they are read by `_number`."""
    if get_origin(hint) is Annotated:
        kind, *rest = get_args(hint)
        bounded = any(getattr(each, "min", None) is not None for each in rest)
        if kind in (float, float | None, list[float] | None) and not bounded:
            for each in rest:
                if isinstance(each, OptionInfo):
                    each.parser, each.metavar = _number, each.metavar or "NUMBER"
    return hint


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"given {text!r}, expected a number with a point for decimals, such as {_meant(text)}"
        ) from None


def _meant(text: str) -> str:
    """The number that a share or a decimal comma means, else an example.

    >>> _meant("85%"), _meant("0,85"), _meant("12,5 %"), _meant("much")
    ('0.85', '0.85', '0.125', '0.85')
    """
    share = text.rstrip().endswith("%")
    try:
        number = float(text.rstrip(" %").replace(",", "."))
    except ValueError:
        return "0.85"
    return f"{number / 100 if share else number:.6g}"
