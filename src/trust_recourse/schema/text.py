"""Features as plain dicts, and YAML that reads back as what it was."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

import yaml

from trust_recourse.schema.feature import Feature
from trust_recourse.schema.values import SchemaError, near

_DEFAULTS = {field.name: field.default for field in fields(Feature)}


def refuse_unknown_fields(name: str, given: Collection[str]) -> None:
    """Refuse a field that no feature has, with the one that was meant."""
    for field in given:
        if field not in _DEFAULTS:
            hint = near(field, _DEFAULTS) or f"; the fields are {', '.join(_DEFAULTS)}"
            raise SchemaError(f"feature {name!r}, field {field!r}: unknown{hint}")


def feature_to_dict(feature: Feature) -> dict[str, Any]:
    """The fields of a feature that are not its defaults, as JSON can hold them."""
    default = _DEFAULTS | ({"step": 1.0} if feature.kind == "integer" else {})
    told: dict[str, Any] = {}
    for field in _DEFAULTS:
        value = getattr(feature, field)
        if value != default[field]:
            told[field] = list(value) if isinstance(value, tuple) else value
            level = feature.kind == "ordinal" and field in ("lower", "upper")
            if isinstance(value, float) and value % 1 == 0 and abs(value) < 1e15 and not level:
                told[field] = int(value)
    return told


def feature_from_dict(number: int, given: Any) -> Feature:
    """The feature that `feature_to_dict` wrote, the number-th of its file."""
    if not isinstance(given, Mapping) or "name" not in given:
        raise SchemaError(f"feature {number}: given {given!r}, expected fields with a name")
    refuse_unknown_fields(given["name"], given)
    return Feature(**given)


class _Dumper(yaml.SafeDumper):
    """Quotes whatever YAML 1.1 or 1.2 would not read as the text that it is."""


class _Loader(yaml.SafeLoader):
    """Plain scalars as in YAML 1.2, where `no` and 01234 are texts and 1e-5 a number."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise yaml.YAMLError(f"{key!r} is given twice in the entry at line {line}")
        return super().construct_mapping(node, deep=deep)


_TAG = "tag:yaml.org,2002:"
_FLOAT = r"[-+]?(\.\d+|\d+\.\d*)([eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+|[-+]?\.inf|\.nan|\.NaN"
_Loader.yaml_implicit_resolvers = {}
for _type, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9]\d*)", list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
):
    for _side in (_Loader, _Dumper):
        _regexp = re.compile(rf"^(?:{_pattern})$", re.ASCII)
        _side.add_implicit_resolver(_TAG + _type, _regexp, _first)
# None occurs only as the missing code of a blank; PyYAML loses odd line ends outside quotes.
_Dumper.add_representer(type(None), lambda d, _: d.represent_scalar(f"{_TAG}float", ".nan"))
_Dumper.add_representer(
    str, lambda d, text: d.represent_scalar(f"{_TAG}str", text, "" if text.isprintable() else '"')
)


def to_yaml(given: dict[str, Any]) -> str:
    """Write YAML, headed by a comment on the fields of a feature."""
    guide = (inspect.getdoc(Feature) or "").partition("The fields::\n\n")[2]
    lines = ["What each column means and where a person may move it. Fields of a feature:"]
    lines += ["", *guide.splitlines(), ""]
    lines += ["Relations: 'a <= b', 'a changes => b rises by 2', 'a changes => b falls by 2'."]
    header = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    body = yaml.dump(given, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return header + body


def from_yaml(text: str) -> Any:
    """Read YAML as YAML 1.2 does, with nothing executed."""
    return yaml.load(text, Loader=_Loader)  # _Loader is a SafeLoader
