"""Fields of requests: what each means and which values it takes, for every surface that offers it.

A request, such as `trust_recourse.Question`, is a frozen dataclass whose fields are made by
`setting`. `fields_of` describes them. The command line, REST and the page derive their options,
bodies and inputs from that, so that a field is declared once.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

SETTING = "setting"  # its place in the metadata of a dataclass's field


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a field means, what it is called outside Python, and the bounds of its values."""

    help: str
    called: str = ""  # in requests and in files, if not as in Python
    line: str = ""  # on the command line, if not as in requests
    label: str = ""  # on the page
    sample: str = ""  # what stands for the value in the help of a command
    example: str = ""  # a value as people type it
    above: float | None = None
    least: float | None = None
    below: float | None = None
    longest: int | None = None  # letters of a text


@dataclass(frozen=True)
class RequestField:
    """A field of a request: its name in Python, the type of its values, its default."""

    name: str
    kind: Any
    default: Any
    setting: Setting

    @property
    def outside(self) -> str:
        """What it is called in requests and in files."""
        return self.setting.called or self.name

    @property
    def flag(self) -> str:
        """What it is called on the command line."""
        return f"--{(self.setting.line or self.outside).replace('_', '-')}"


def setting(default: Any, help: str, *, hash: bool | None = None, **more: Any) -> Any:  # noqa: A002
    """A field of a request, with its default and the parts of its `Setting`."""
    metadata = {SETTING: Setting(help=help, **more)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, hash=hash, metadata=metadata)
    return dataclasses.field(default=default, hash=hash, metadata=metadata)


@cache
def fields_of(request: type, *names: str) -> dict[str, RequestField]:
    """The fields of a request that are made by `setting`, or those of these names."""
    hints = get_type_hints(request)
    found = {
        each.name: RequestField(
            each.name,
            _kind(hints[each.name]),
            {} if each.default is MISSING else each.default,
            each.metadata[SETTING],
        )
        for each in dataclasses.fields(request)
        if SETTING in each.metadata
    }
    return {name: found[name] for name in names or found}


def _kind(hint: Any) -> Any:
    """The type of a value that is given; of several types, the one that names each value.

    >>> _kind(int | None), _kind(Literal["a", "b"] | str | None)
    (<class 'int'>, typing.Literal['a', 'b'])
    """
    if get_origin(hint) not in (Union, type(int | str)):
        return hint
    kinds = [each for each in get_args(hint) if each is not type(None)]
    return next((each for each in kinds if get_origin(each) is Literal), kinds[0])
