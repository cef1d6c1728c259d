"""The command `trust-recourse`, to which the other files add commands with their options.

A command that takes a dataclass has its fields as options of its own. A dataclass that is made by
`options_of` has an option for each field of a request, such as `trust_recourse.Question`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo

from trust_recourse import __version__
from trust_recourse.cli.exit_codes import friendly_errors
from trust_recourse.cli.output import STEERING, say
from trust_recourse.io.fields import RequestField, fields_of

Made = TypeVar("Made")

ORDER = (
    "demo", "data", "schema", "fit", "import", "report", "find", "frontier", "explain", "letter",
    "verify", "batch", "audit", "ledger", "serve", "doctor",
)  # fmt: skip
AS_GIVEN = (bool, int, float)  # other values are read from their text


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


def command(
    group: typer.Typer = app, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a command whose errors are told in a sentence, its groups of options `expanded`."""
    return lambda function: group.command(name)(friendly_errors()(expanded(function)))


# ---------------------------------------------------------------- options


def argument(words: str, metavar: str) -> Any:
    """An argument of a command: what it is called, and what it is."""
    return typer.Argument(help=words, metavar=metavar)


def option(words: str, metavar: str | None = None, *names: str, **more: Any) -> Any:
    """An option of a command: what it is for, what its value is called, and its own names."""
    return typer.Option(*names, help=words, metavar=metavar, **more)


def flag(name: str, words: str) -> Any:
    """An option without a value, and without an opposite."""
    return typer.Option(name, help=words)


def options_of(
    request: type,
    *names: str,
    kinds: Mapping[str, Any] | None = None,
    more: Mapping[str, str] | None = None,
) -> Callable[[type[Made]], type[Made]]:
    """Make a class a dataclass with an option for each field of a request, or for these.

    `kinds` are types in place of the request's own, `more` sentences for the help of an option.
    """

    def made(cls: type[Made]) -> type[Made]:
        for name, field in fields_of(request, *names).items():
            kind = (kinds or {}).get(name, field.kind)
            default = None if _several(kind) else field.default
            of = _on_the_line(kind) if default is not None else _on_the_line(kind) | None
            given = option_of(field, (more or {}).get(name, ""), kind)
            cls.__annotations__[name] = Annotated[of, given]
            setattr(cls, name, default)
        return dataclass(frozen=True, kw_only=True)(cls)

    return made


def option_of(field: RequestField, more: str = "", kind: Any = None) -> Any:
    """The option for a field of a request."""
    kind, told = kind or field.kind, field.setting
    words = [told.help, f"Such as {told.example}." if told.example else "", more]
    words += ["Repeatable."] * _several(kind)
    least, most = None, None
    if kind is int:
        least = None if told.least is None else int(told.least)
        most = None if told.below is None else int(told.below) - 1
    text = " ".join(filter(None, words))
    return option(text, told.sample or None, field.flag, min=least, max=most)


def _several(kind: Any) -> bool:
    """Whether an option may be repeated."""
    return get_origin(kind) in (tuple, Mapping)


def _on_the_line(kind: Any) -> Any:
    """The type that typer reads the text of an option as."""
    if _several(kind):
        return list[get_args(kind)[0]]  # type: ignore[misc]
    return kind if kind in AS_GIVEN or get_origin(kind) is Literal else str


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses have their fields as options on the line."""
    hints = get_type_hints(command, include_extras=True)
    groups, parameters = {}, []
    for name, parameter in inspect.signature(command).parameters.items():
        own = {name: (hints[name], parameter.default)}
        if is_dataclass(hints[name]):
            types = get_type_hints(hints[name], include_extras=True)
            own = {
                f.name: (types[f.name], parameter.empty if f.default is MISSING else f.default)
                for f in fields(hints[name])
            }
            groups[name] = list(own)
        parameters += [
            inspect.Parameter(
                each, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=told_plainly(hint)
            )
            for each, (hint, default) in own.items()
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: hints[name](**{part: given.pop(part) for part in parts})
            for name, parts in groups.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


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
