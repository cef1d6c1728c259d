"""The one file that imports Babel: catalogues of letters, and how a language writes dates and
numbers by the Unicode CLDR.
"""  # noqa: D205

from __future__ import annotations

import datetime
import gettext
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trust_recourse.io.extras import needed
from trust_recourse.io.files import read_whole

with needed("a letter in another language than English", "babel", "letters"):
    from babel.core import Locale, UnknownLocaleError
    from babel.dates import format_date
    from babel.messages.catalog import Catalog, Message
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import PoFileError, read_po
    from babel.numbers import get_decimal_symbol, get_group_symbol

MOST_BYTES = 1 << 20  # of a catalogue
PLACE = re.compile(r"%\((\w+)\)([sd])")  # of a value in a message, by its name
LINE = re.compile(r'\s*((msg(ctxt|id|id_plural|str|str\[\d\])\s*)?"([^"\\]|\\.)*"|#.*)?\s*')
COUNT = "num"  # what a text for one need not say


def conventions(code: str) -> dict[str, Any]:
    """How the language of a code writes numbers: its marks, and on which side a currency is."""
    locale = _locale(code)
    marks = get_decimal_symbol(locale), get_group_symbol(locale)
    return {
        "marks": marks, "sign_first": locale.currency_formats["standard"].pattern.startswith("¤"),
    }  # fmt: skip


def day(code: str, date: datetime.date) -> str:
    """A date in words."""
    return format_date(date, "long", _locale(code))


def _locale(code: str) -> Locale:
    try:
        return Locale.parse(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        raise ValueError(
            f"language={code!r}: no such language; expected a code of the Unicode CLDR, such as "
            "nl or pt_BR, as the name of its file"
        ) from None


def read(path: Path) -> Catalog:
    """The catalogue in a `.po` file."""
    text = read_whole(path, MOST_BYTES)
    for line in text.splitlines():  # Babel takes what is not in quotes for a text, and cuts it
        if not LINE.fullmatch(line):
            raise ValueError(f"{path}: given {line!r}, expected a text in quotes")
    try:
        return read_po(io.StringIO(text), abort_invalid=True)
    except (PoFileError, ValueError) as error:
        raise ValueError(f"{path}: expected a catalogue of gettext ({error})") from None


def translations(catalogue: Catalog) -> gettext.GNUTranslations:
    """The same for Python's gettext; what is not translated stays as it is."""
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def entries(catalogue: Catalog) -> Iterator[Message]:
    """Its messages, without the header."""
    return (message for message in catalogue if message.id and not message.fuzzy)


def key(message: Message) -> tuple[str | None, str]:
    """What names a message in every catalogue."""
    return message.context, message.id if isinstance(message.id, str) else message.id[0]


def texts(message: Message) -> tuple[str, ...]:
    """Its translations: several where it counts something; () if one is absent."""
    given = message.string
    found = (given,) if isinstance(given, str) else tuple(given or ())
    return found if all(found) else ()


def values(message: Message) -> dict[str, str]:
    """The values that a message names, and whether each is a text (s) or a number (d)."""
    ids = (message.id,) if isinstance(message.id, str) else message.id
    return dict(PLACE.findall(" ".join(ids)))


def unlike(message: Message, given: tuple[str, ...]) -> str | None:
    """The first translation that does not name just the values of a message, if any.

    Every value can be told as a text; that for one need not say how many.

    >>> unlike(Message("From %(low)s on."), ("Ab %(low)s, 100 %%.", "Ab jetzt."))
    'Ab jetzt.'
    """
    spared = {COUNT} if not isinstance(message.id, str) and len(given) > 1 else set[str]()
    told = ((text, spared if form == 0 else set[str]()) for form, text in enumerate(given))
    return next((text for text, spared in told if not _names(message, text, spared)), None)


def _names(message: Message, text: str, spared: set[str]) -> bool:
    plain, ours = text.replace("%%", ""), values(message)
    named = {*PLACE.findall(plain)}
    known = named <= {(name, how) for name, kind in ours.items() for how in ("s", kind)}
    whole = ours.keys() - spared <= {name for name, _ in named}
    return known and whole and "%" not in PLACE.sub("", plain)
