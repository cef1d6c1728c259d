"""The command `trust-recourse`, to which the other files add their commands."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from trust_recourse import __version__
from trust_recourse.cli.output import STEERING, say

ORDER = (
    "demo", "data", "schema", "fit", "import", "report", "find", "frontier", "explain", "letter",
    "verify", "batch", "audit", "ledger", "serve", "doctor",
)  # fmt: skip


class _InOrder(TyperGroup):
    """Lists the commands as they are used, from a table to an answer to a service."""

    def main(self, args: Any = None, *more: Any, **how: Any) -> Any:
        for given in sys.argv[1:] if args is None else args:
            if found := STEERING.search(given):  # typer would print it as it is if it is wrong
                say(f"{given}: the character {found[0]!r} has no place in an argument", err=True)
                sys.exit(2)
        return super().main(args, *more, **how)

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


app = typer.Typer(
    cls=_InOrder,
    help="The least a refused person must change to be accepted with a confidence they name.\n\n"
    "Begin with a short story, told by a small model about real patients: "
    "`trust-recourse demo`\n\n"
    "From a table to an answer: `trust-recourse schema`, then `fit`, then `find`; "
    "`trust-recourse data` writes a table to try them on. In place of `fit`, `import` takes a "
    "model that you already run: trees, EBM, scorecard, pipeline.",
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def option(words: str, metavar: str | None = None, **more: Any) -> Any:
    """An option of a command: what it is for, and what its value is called."""
    return typer.Option(help=words, metavar=metavar, **more)


def _print_version(asked: bool) -> None:
    if asked:
        say(f"trust-recourse {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _begin(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
