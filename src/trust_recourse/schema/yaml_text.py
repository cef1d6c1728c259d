"""Features as plain dicts, and YAML that reads back as what it was."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import yaml

from trust_recourse.io.wording import near, written
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.relations import Relation

MOST_BYTES = 1 << 20  # of a file
MOST_NODES = 2**16  # values and keys in it: two thousand features with all they can say
MOST_DEEP = 8  # lists and fields within each other; a schema needs five

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
            if field == "labels":  # by texts, which JSON has for keys
                told[field] = {written(v) if type(v) is float else str(v): w for v, w in value}
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
    """Plain scalars as in YAML 1.2, where `no` and 01234 are texts and 1e-5 a number.

    Each node is judged before it is made: a few hundred letters with aliases of aliases stand for
    more than any memory holds, and a tag may ask for anything.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = self._deep = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self._nodes, self._deep = self._nodes + 1, self._deep + 1
        tagged = getattr(event, "tag", None) is not None
        for wrong, found in (
            (event.anchor is not None, "an anchor or alias, which is not read here"),
            (tagged, "a tag, which is not read here"),
            (self._nodes > MOST_NODES, f"more than {MOST_NODES:,} values"),
            (self._deep > MOST_DEEP, f"nested more than {MOST_DEEP} deep"),
        ):
            if wrong:
                raise yaml.YAMLError(f"line {event.start_mark.line + 1}: {found}")
        node = super().compose_node(parent, index)
        self._deep -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        known = set()
        for key in (key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key in known:
                line = node.start_mark.line + 1
                raise yaml.YAMLError(f"{key!r} is given twice in the entry at line {line}")
            known.add(key)
        return super().construct_mapping(node, deep=deep)


class _TextLoader(_Loader):
    """The same where all that is not left out is the text that stands there: 014, no and 1.10."""


_TAG = "tag:yaml.org,2002:"
_NULL = r"~|null|Null|NULL|"
_FLOAT = r"[-+]?(\.\d+|\d+\.\d*)([eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+|[-+]?\.inf|\.nan|\.NaN"
_Loader.yaml_implicit_resolvers = {}
for _type, _pattern, _first in (
    ("null", _NULL, ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9]\d*)", list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
):
    for _side in (_Loader, _Dumper):
        _regexp = re.compile(rf"^(?:{_pattern})$", re.ASCII)
        _side.add_implicit_resolver(_TAG + _type, _regexp, _first)
_TextLoader.yaml_implicit_resolvers = {}
_TextLoader.add_implicit_resolver(f"{_TAG}null", re.compile(rf"^(?:{_NULL})$"), ["~", "n", "N", ""])
# None occurs only as the missing code of a blank; PyYAML loses odd line ends outside quotes.
_Dumper.add_representer(type(None), lambda d, _: d.represent_scalar(f"{_TAG}float", ".nan"))
_Dumper.add_representer(
    str, lambda d, text: d.represent_scalar(f"{_TAG}str", text, "" if text.isprintable() else '"')
)


def to_yaml(given: dict[str, Any], notes: Mapping[str, Sequence[str]]) -> str:
    """Write YAML, headed by a comment on the fields of a feature; notes stand above theirs."""
    guide = (inspect.getdoc(Feature) or "").partition("The fields::\n\n")[2]
    lines = ["What each column means and where a person may move it. Fields of a feature:"]
    lines += ["", *guide.splitlines(), ""]
    forms = [repr(form) for kind in Relation.__subclasses__() for form in kind.forms]
    lines += [f"Relations: {', '.join(forms)}."]
    text = _comment(lines) + "features:\n"
    for feature in given["features"]:
        text += _comment(notes.get(feature["name"], ())) + _dumped([feature])
    text += _dumped({"relations": given["relations"]}) if "relations" in given else ""
    if (size := len(text.encode())) > MOST_BYTES:
        raise SchemaError(f"a schema of {size:,} bytes as YAML; expected at most {MOST_BYTES:,}")
    return text


def _dumped(given: Any) -> str:
    text: str = yaml.dump(given, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return text


def _comment(lines: Iterable[str]) -> str:
    """Lines of comment; others' words may be in them, and what YAML does not allow is a blank."""
    shown = ("".join(c if c.isprintable() else " " for c in line) for line in lines)
    return "".join(f"# {line}".rstrip() + "\n" for line in shown)


def from_yaml(text: str) -> Any:
    """Read YAML as YAML 1.2 does, with nothing executed and nothing larger than the text."""
    return yaml.load(text, Loader=_Loader)  # _Loader is a SafeLoader


def texts_from_yaml(text: str) -> Any:
    """The same with every value as its text, or None; YAML would read 014 as twelve.

    >>> texts_from_yaml("{code: 014, when: no, text:}")
    {'code': '014', 'when': 'no', 'text': None}
    """
    return yaml.load(text, Loader=_TextLoader)  # which is a SafeLoader
