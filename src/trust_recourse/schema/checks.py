"""Checks of a feature's fields: each is refused, or kept in the one form that the package reads."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, get_args

from trust_recourse.io.scalars import BLANKS, INF, Value, is_number, plain, scalars
from trust_recourse.io.wording import near, some
from trust_recourse.schema.errors import SchemaError

if TYPE_CHECKING:
    from trust_recourse.schema.feature import Feature

Kind = Literal["number", "integer", "ordinal", "category", "boolean"]
Direction = Literal["increase", "decrease"]
Monotone = Literal["increasing", "decreasing"]
Words: TypeAlias = tuple[tuple[Value, str], ...] | Mapping[Any, str]

ANY = "*"  # stands for any value of a forbidden move

_WORDS = {"kind": Kind, "direction": Direction, "monotone": Monotone}
_KNOWN = {field: get_args(words) for field, words in _WORDS.items()}
_TYPES = {"unit": str, "label": str, "derived": str, "mutable": bool, "protected": bool}
_AMOUNTS = ("scale", "weight", "step", "max_change", "min_change")
_LEVELS = _AMOUNTS[2:]  # which an ordinal counts, and which may be absent
_WHOLE: dict[str, tuple[str, ...]] = {"ordinal": _LEVELS, "integer": ("step",)}
_MEANINGLESS: dict[str, tuple[str, ...]] = {
    "number": ("values",),
    "integer": ("values",),
    "ordinal": (),
    "category": ("lower", "upper", "step", "direction", "max_change", "min_change", "monotone"),
    "boolean": ("values", "lower", "upper", "step", "max_change", "min_change"),
}


def settle(feature: Feature) -> None:
    """Check every field of a new feature, and write it as Python scalars, floats and tuples."""
    if not isinstance(feature.name, str) or not feature.name.strip():
        raise SchemaError(f"feature name: given {feature.name!r}, expected text, not empty")
    for field, words in _KNOWN.items():
        given = getattr(feature, field)
        known = given in words if isinstance(given, str) else given is None and field != "kind"
        if not known:
            refuse(feature, field, f"one of {', '.join(words)}{near(given, words)}")
    for field in _MEANINGLESS[feature.kind]:
        given = getattr(feature, field)
        if given is not None and not _empty(given):
            refuse(feature, field, f"nothing: it has no meaning for kind {feature.kind}")
    for field, kind in _TYPES.items():
        if type(given := getattr(feature, field)) is kind:
            continue
        _set(feature, field, plain(given))
        if not isinstance(getattr(feature, field), kind):
            refuse(feature, field, "text" if kind is str else "true or false")
    if feature.listed:
        _values(feature)
    else:
        _set(feature, "values", ())  # None, at most
    if not _empty(feature.missing):
        _missing(feature)
    if not _empty(feature.labels):
        _labels(feature)
    _amounts(feature)
    _bounds(feature)
    if not _empty(feature.forbidden):
        _set(feature, "forbidden", tuple(map(str, scalars(feature.forbidden))))
    if feature.forbidden and not feature.listed:
        refuse(feature, "forbidden", f"nothing: it has no meaning for kind {feature.kind}")
    if feature.derived and (not feature.numeric or feature.min_change is not None):
        refuse(feature, "derived", "nothing, unless it is a number or an integer of any change")
    _ = feature.moves, feature.formula  # which read the texts of these fields


def refuse(feature: Feature, field: str, expected: str) -> NoReturn:
    """Refuse what a field was given."""
    given = getattr(feature, field)
    where = f"feature {feature.name!r}, field {field!r}"
    raise SchemaError(f"{where}: given {given!r}, expected {expected}")


def _set(feature: Feature, field: str, value: object) -> None:
    object.__setattr__(feature, field, value)


def _empty(given: object) -> bool:
    return isinstance(given, tuple) and not given


def _scalars(feature: Feature, field: str) -> tuple[Any, ...]:
    items = scalars(getattr(feature, field))
    odd = [i for i in items if not (i is None or isinstance(i, (str, bool)) or is_number(i))]
    if odd:
        refuse(feature, field, "a list of texts, finite numbers or booleans")
    if len(set(items)) < len(items):
        refuse(feature, field, "each of them once")
    return items


def _values(feature: Feature) -> None:
    values = _scalars(feature, "values")
    types = {float if type(value) is int else type(value) for value in values}
    if len(types) != 1 or None in values:
        refuse(feature, "values", "at least one, all texts, all numbers or all booleans")
    if float in map(type, values):
        values = tuple(float(value) + 0.0 for value in values)  # no negative zero
    _set(feature, "values", tuple(sorted(values)) if feature.kind == "category" else values)


def _missing(feature: Feature) -> None:
    codes = _scalars(feature, "missing")
    if not feature.listed:
        read = float if feature.kind == "number" else int
        if not all(code is None or (is_number(code) and read(code) == code) for code in codes):
            refuse(feature, "missing", f"a list of {'whole ' * (read is int)}numbers or NaN")
        codes = tuple(None if code is None else read(code) + 0 for code in codes)
    if set(codes) & set((False, True) if feature.kind == "boolean" else feature.values):
        refuse(feature, "missing", "codes that are not values too")
    _set(feature, "missing", codes)


# ---------------------------------------------------------------- words for values


def _folded(text: str) -> str:
    """A text as it is compared with others that people may confuse with it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _labels(feature: Feature) -> None:
    given = feature.labels
    pairs = [*given.items()] if isinstance(given, Mapping) else given
    try:
        found = [(feature.codes.read(str(plain(value))), plain(word)) for value, word in pairs]
    except (TypeError, ValueError) as error:
        refuse(feature, "labels", f"a word for each of some values ({error})")
    if not all(value is not None and isinstance(word, str) for value, word in found):
        refuse(feature, "labels", "a word for each of some values")
    words = {value: unicodedata.normalize("NFC", word) for value, word in found}
    if len(words) < len(found):
        refuse(feature, "labels", "each value once: 1 and '1' are the same")
    for value, word in words.items():
        _refuse_unclear_label(feature, value, word)
    if len(set(map(_folded, words.values()))) < len(words):
        refuse(feature, "labels", "words that differ in more than capital letters")
    known = [*(feature.values or sorted({*words} - {*feature.missing})), *feature.missing]
    _set(feature, "labels", tuple((value, words[value]) for value in known if value in words))


def _refuse_unclear_label(feature: Feature, value: Value, word: str) -> None:
    """Refuse a word that cannot be typed, or that stands for something else too."""
    folded = _folded(word)
    if not word.strip() or word != word.strip() or not word.isprintable():
        expected = "words without blanks at their ends, line breaks or invisible signs"
        refuse(feature, "labels", f"{expected}: not {word!r}")
    texts = isinstance(feature.values[0], str) if feature.values else False
    if re.fullmatch(r"missing( \(.*\))?", folded) or (folded in BLANKS and not texts):
        refuse(feature, "labels", f"words that do not mean a missing value: not {word!r}")
    bare = folded.removesuffix(_folded(feature.unit)).rstrip()
    spellings = {word, folded, bare}
    if feature.numeric:  # as `describe_code` writes it
        spellings |= {re.sub(r" \(.*\)$", "", each) for each in spellings}
    if any(_means_another(feature, value, each) for each in spellings):
        refuse(feature, "labels", f"words of which none stands for two values: not {word!r}")


def _means_another(feature: Feature, value: Value, word: str) -> bool:
    """Whether a word is how another value is written."""
    by_text = feature.codes.by_text
    if any(_folded(text) == word and known != value for text, known in by_text.items()):
        return True
    try:
        return feature.codes.read(word) not in (value, None)
    except SchemaError:
        return False


# ---------------------------------------------------------------- amounts and bounds


def _amounts(feature: Feature) -> None:
    for field in _AMOUNTS:
        given = getattr(feature, field)
        if given is None and field in _LEVELS:
            continue
        given = plain(given)  # a NaN is no number, so it becomes None and is refused
        if not is_number(given) or given <= 0:
            refuse(feature, field, "a finite number above 0")
        if field in _WHOLE.get(feature.kind, ()) and int(given) != given:
            refuse(feature, field, f"a whole number, for kind {feature.kind}")
        _set(feature, field, float(given))
    if feature.kind == "integer" and feature.step is None:
        _set(feature, "step", 1.0)
    if feature.min_change is not None and feature.min_change > (feature.max_change or INF):
        refuse(feature, "min_change", f"at most max_change, which is {feature.max_change!r}")


def _bounds(feature: Feature) -> None:
    for field in ("lower", "upper"):
        if getattr(feature, field) is None:
            continue
        given = plain(getattr(feature, field))
        if feature.kind == "ordinal":
            if not isinstance(given, Hashable) or given not in feature.values:
                refuse(feature, field, f"one of its levels: {some(feature.values)}")
            _set(feature, field, feature.values[feature.values.index(given)])
        else:
            if not is_number(given):
                refuse(feature, field, "a finite number")
            _set(feature, field, given + 0.0)
    if feature.bounds[0] > feature.bounds[1]:
        refuse(feature, "lower", f"at most upper, which is {feature.upper!r}")


# ---------------------------------------------------------------- forbidden moves


def forbidden_moves(feature: Feature) -> frozenset[tuple[float, float]]:
    """The moves that a feature forbids, from code to code."""
    found: set[tuple[float, float]] = set()
    for move in feature.forbidden:
        before, arrow, after = (part.strip() for part in move.partition("->"))
        if not arrow:
            refuse(feature, "forbidden", "moves such as 'Master -> Bachelor'")
        first, last = (
            [*map(float, range(feature.codes.size))]
            if end == ANY
            else [feature.codes.by_value[feature.read(end)]]
            for end in (before, after)
        )
        found.update(itertools.product(first, last))
    return frozenset(found)
