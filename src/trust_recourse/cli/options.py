"""Options of commands: those of dataclasses, those that are derived from requests, and numbers.

A command that takes a dataclass has its fields as options of its own. A dataclass that is made by
`options_of` has an option for each field of a request, such as `trust_recourse.Question`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from trust_recourse.cli.exit_codes import friendly_errors
from trust_recourse.cli.root import app
from trust_recourse.io.fields import RequestField, fields_of

Made = TypeVar("Made")

AS_GIVEN = (bool, int, float)  # other values are read from their text


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
            option = option_of(field, (more or {}).get(name, ""), kind)
            cls.__annotations__[name] = Annotated[of, option]
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
    return typer.Option(field.flag, help=text, metavar=told.sample or None, min=least, max=most)


def _several(kind: Any) -> bool:
    """Whether an option may be repeated."""
    return get_origin(kind) in (tuple, Mapping)


def _on_the_line(kind: Any) -> Any:
    """The type that typer reads the text of an option as."""
    if get_origin(kind) is tuple:
        return list[get_args(kind)[0]]  # type: ignore[misc]
    if get_origin(kind) is Mapping:
        return list[str]
    return kind if kind in AS_GIVEN or get_origin(kind) is Literal else str


def command(
    group: typer.Typer = app, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a command whose errors are told in a sentence, its groups of options `expanded`."""
    return lambda function: group.command(name)(friendly_errors()(expanded(function)))


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses have their fields as options on the line."""
    hints = get_type_hints(command, include_extras=True)
    groups = {
        name: {f.name: f for f in fields(made)}
        for name, made in hints.items()
        if is_dataclass(made)
    }
    parameters, shown = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        own = [(name, hints[name], parameter.default)]
        if name in groups:
            types = get_type_hints(hints[name], include_extras=True)
            own = [
                (n, types[n], parameter.empty if f.default is MISSING else f.default)
                for n, f in groups[name].items()
            ]
        for each, given_hint, default in own:
            shown[each] = hint = told_plainly(given_hint)
            parameters.append(
                inspect.Parameter(
                    each, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
                )
            )

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: hints[name](**{part: given.pop(part) for part in parts})
            for name, parts in groups.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = shown
    return run


# ---------------------------------------------------------------- numbers


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
