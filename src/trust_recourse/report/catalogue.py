"""Catalogues of gettext: a `.po` file as people write it, made into what Python's gettext reads."""

from __future__ import annotations

import ast
import gettext
import io
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trust_recourse.io.files import read_whole

MAGIC = 0x950412DE
MOST_BYTES = 1 << 20  # of a catalogue
PLACE = re.compile(r"%\((\w+)\)([sd])")  # of a value in a message, by its name
COUNT = "num"  # what a text for one need not say


class Message(NamedTuple):
    """One entry: what it translates, and by what; several texts where it counts something."""

    context: str | None
    id: str
    plural: str | None
    texts: tuple[str, ...]

    @property
    def key(self) -> str:
        """By which gettext finds it."""
        return self.id if self.context is None else f"{self.context}\x04{self.id}"

    @property
    def complete(self) -> bool:
        """Whether every form of it is translated."""
        return bool(self.texts) and all(self.texts)

    @property
    def values(self) -> dict[str, str]:
        """The values that it names, and whether each is a text (s) or a number (d)."""
        return dict(PLACE.findall(f"{self.id} {self.plural or ''}"))

    def unlike(self, texts: tuple[str, ...]) -> str | None:
        """The first translation that does not name just the values of this message, if any.

        Every value can be told as a text; that for one need not say how many.

        >>> Message(None, "From %(low)s on.", None, ()).unlike(("Ab %(low)s, 100 %%.", "Ab jetzt."))
        'Ab jetzt.'
        """
        spared = {COUNT} if self.plural and len(texts) > 1 else set()
        told = ((text, spared if form == 0 else set()) for form, text in enumerate(texts))
        return next((text for text, spared in told if not self._told(text, spared)), None)

    def _told(self, text: str, spared: set[str]) -> bool:
        plain = text.replace("%%", "")
        named = {*PLACE.findall(plain)}
        known = named <= {(name, how) for name, kind in self.values.items() for how in ("s", kind)}
        whole = self.values.keys() - spared <= {name for name, _ in named}
        return known and whole and "%" not in PLACE.sub("", plain)


def messages(text: str, where: str = "the catalogue") -> list[Message]:
    """The entries of a `.po` file, the header first; those marked fuzzy are left out."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        if any(line.startswith("#,") and "fuzzy" in line for line in block.splitlines()):
            continue
        for line in block.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            first, _, quoted = line.partition('"')
            name = first.strip() or name
            try:
                fields[name] = fields.get(name, "") + str(ast.literal_eval(f'"{quoted}'))
            except (SyntaxError, ValueError):
                raise ValueError(f"{where}: given {line!r}, expected a text in quotes") from None
        if "msgid" in fields:
            texts = tuple(each for key, each in fields.items() if key.startswith("msgstr"))
            found.append(
                Message(fields.get("msgctxt"), fields["msgid"], fields.get("msgid_plural"), texts)
            )
    return found


def translations(entries: list[Message]) -> gettext.GNUTranslations:
    """The same for Python's gettext; what is not translated stays as it is."""
    pairs = sorted(
        ("\0".join((m.key, m.plural) if m.plural else (m.key,)), "\0".join(m.texts))
        for m in entries
        if m.complete
    )
    return gettext.GNUTranslations(io.BytesIO(b"".join(_compiled(pairs))))


def _compiled(pairs: list[tuple[str, str]]) -> Iterator[bytes]:
    """A `.mo` file: a head, the places of all ids, those of all texts, then these themselves."""
    coded = [(a.encode(), b.encode()) for a, b in pairs]
    many, start = len(coded), 28
    yield struct.pack("<7I", MAGIC, 0, many, start, start + 8 * many, 0, start + 16 * many)
    at = start + 16 * many
    for side in (0, 1):
        for pair in coded:
            yield struct.pack("<2I", len(pair[side]), at)
            at += len(pair[side]) + 1
    for side in (0, 1):
        for pair in coded:
            yield pair[side] + b"\0"


def read(path: Path) -> list[Message]:
    """The entries of a file."""
    return messages(read_whole(path, MOST_BYTES), str(path))
