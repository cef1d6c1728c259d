"""What a document says, as plain values: one content for text, HTML and PDF.

Text in it is text: whatever a name or a value holds is shown as it is, never run, in any form.
"""

from __future__ import annotations

import base64
import datetime
import os
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from trust_recourse.files import write_whole

WIDTH = 78  # characters in a line of text
NARROW = 4  # columns that a telephone can show; a table with more is moved sideways where it must
UNBROKEN = 24  # letters after which a longer word may break
LONG = 22  # a column whose longest cell has more characters shares the room that is left
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_NUMBER = re.compile(r"[<>+−-]?\d[\d.,]*( ?%)?")
_SPAN = re.compile(rf"{_NUMBER.pattern}( \(.*\))?(\s[†*])?")  # and where it lies, and a mark
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # could make other words read otherwise


def clean(text: object) -> str:
    r"""The text in one line, without characters that no page can show or that turn its direction.

    >>> clean("Ann\x00\nLee\u202e")
    'Ann Lee'
    """
    kept = (" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in str(text))
    return " ".join(_TURNS.sub("", "".join(kept)).split())


def day(date: datetime.date) -> str:
    """A date in words.

    >>> day(datetime.date(2027, 1, 31))
    '31 January 2027'
    """
    return f"{date.day} {MONTHS[date.month - 1]} {date.year}"


# ---------------------------------------------------------------- blocks


@dataclass(frozen=True)
class Heading:
    """The title of a part."""

    text: str
    kind: ClassVar[str] = "heading"

    def lines(self) -> list[str]:
        """As plain text."""
        return [self.text.upper()]

    def html(self) -> str:
        """As HTML."""
        return f"<h2>{escape(self.text)}</h2>"


@dataclass(frozen=True)
class Text:
    """A paragraph; a small one is set smaller."""

    text: str
    small: bool = False
    kind: ClassVar[str] = "text"

    def lines(self) -> list[str]:
        """As plain text."""
        return textwrap.wrap(self.text, WIDTH)

    def html(self) -> str:
        """As HTML."""
        return f"<p{' class=small' * self.small}>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]
    numbered: bool = False
    kind: ClassVar[str] = "points"

    def lines(self) -> list[str]:
        """As plain text."""
        marks = [f"{n}. " if self.numbered else "- " for n in range(1, len(self.items) + 1)]
        return [
            line
            for mark, item in zip(marks, self.items, strict=True)
            for line in textwrap.wrap(
                item, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark)
            )
        ]

    def html(self) -> str:
        """As HTML."""
        tag = "ol" if self.numbered else "ul"
        return f"<{tag}>{''.join(f'<li>{escape(item)}</li>' for item in self.items)}</{tag}>"


@dataclass(frozen=True)
class Grid:
    """A table: the first column names its rows; the last row may be set apart."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    total: bool = False
    kind: ClassVar[str] = "grid"

    @property
    def wide(self) -> tuple[bool, ...]:
        """Which columns hold long text; a number with its interval is none."""
        columns = zip(self.head, *self.rows, strict=True)
        return tuple(
            any(len(cell) > LONG and not _SPAN.fullmatch(cell) for cell in column)
            for column in columns
        )

    @property
    def right(self) -> tuple[bool, ...]:
        """Which columns hold numbers alone."""
        columns = zip(*self.rows, strict=True)
        return tuple(all(_NUMBER.fullmatch(cell) for cell in column) for column in columns)

    def lines(self) -> list[str]:
        """As plain text: in columns, or row by row where they are too wide for the page."""
        caption = textwrap.wrap(self.caption, WIDTH)
        table = (self.head, *self.rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        if sum(widths) + 2 * len(widths) <= WIDTH:
            cells = ([c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in table)
            return [*caption, *("  ".join(row).rstrip() for row in cells)]
        told = []
        for name, *row in self.rows:
            heads = self.head[1:] if len(row) > 1 else ("",)  # of one value the name says it all
            named = (f"{h}: {c}" if h else c for h, c in zip(heads, row, strict=True) if c)
            told += textwrap.wrap(f"{name}: {'; '.join(named)}", WIDTH, subsequent_indent="   ")
        return [*caption, *told]

    def html(self) -> str:
        """As HTML."""
        right = self.right or (False,) * len(self.head)
        side = [" class=number" if number else "" for number in right]
        heads = zip(self.head, side, strict=True)
        head = "".join(f'<th scope="col"{kind}>{escape(each)}</th>' for each, kind in heads)
        rows = "".join(
            f'<tr><th scope="row"{side[0]}>{_breakable(name)}</th>'
            + "".join(
                f"<td{kind}>{_breakable(cell)}</td>"
                for cell, kind in zip(row, side[1:], strict=True)
            )
            + "</tr>"
            for name, *row in self.rows
        )
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        kind = ' class="total"' if self.total else ""
        table = f"<table{kind}>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        many = len(self.head) > NARROW
        return f'<div class="many" tabindex="0">{table}</div>' if many else table


@dataclass(frozen=True)
class Picture:
    """A drawing, as SVG, and what it shows in words."""

    svg: str
    alt: str
    kind: ClassVar[str] = "picture"

    def lines(self) -> list[str]:
        """As plain text."""
        return textwrap.wrap(f"[Picture: {self.alt}]", WIDTH)

    def html(self) -> str:
        """As HTML: an image, in which nothing can run."""
        data = base64.b64encode(self.svg.encode()).decode()
        image = f'<img alt="{escape(self.alt)}" src="data:image/svg+xml;base64,{data}">'
        return f"<figure>{image}<figcaption>{escape(self.alt)}</figcaption></figure>"


def _breakable(cell: str) -> str:
    """As HTML, in which only words too long for a line may break."""
    parts = re.split(rf"(\S{{{UNBROKEN + 1},}})", cell)
    return "".join(
        f"<span class=long>{escape(part)}</span>" if at % 2 else escape(part)
        for at, part in enumerate(parts)
    )


Block = Heading | Text | Points | Grid | Picture


# ---------------------------------------------------------------- the whole


@dataclass(frozen=True)
class Document:
    """A title, lines above it, and blocks below; `one_page` asks that all fit on one A4 page."""

    title: str
    dated: datetime.date
    sender: str
    receiver: str
    blocks: tuple[Block, ...]
    one_page: bool = False

    def text(self) -> str:
        """All of it as plain text."""
        top = [line for line in (self.sender, day(self.dated), self.receiver) if line]
        parts = [*(block.lines() for block in self.blocks)]
        title = textwrap.wrap(self.title, WIDTH)
        return "\n".join([*top, "", *title, "", *_joined(self.blocks, parts)]) + "\n"

    def html(self) -> str:
        """All of it as one HTML page that needs nothing else, on paper as on a screen."""
        style = _STYLE.replace("SIZE", f"{self._size():g}pt")
        date = f'<time datetime="{self.dated.isoformat()}">{day(self.dated)}</time>'
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; img-src data:\">"
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{style}</style></head><body><main>"
            f"<header><p>{escape(self.sender)}</p><p>{date}</p></header>"
            + (f"<p>{escape(self.receiver)}</p>" if self.receiver else "")
            + f"<h1>{escape(self.title)}</h1>"
            + "\n".join(block.html() for block in self.blocks)
            + "</main></body></html>\n"
        )

    def _size(self) -> float:
        """Points of a letter on paper: smaller where one page has to hold more."""
        if not self.one_page:
            return 9.5
        lines = self.text().count("\n")
        return next((size for most, size in _SIZES if lines <= most), _SIZES[-1][1])

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {
            "title": self.title,
            "date": [self.dated.year, self.dated.month, self.dated.day],
            "day": day(self.dated),
            "sender": self.sender,
            "receiver": self.receiver,
            "one_page": self.one_page,
            "blocks": [_told(block) for block in self.blocks],
        }


_SIZES = ((62, 10.5), (74, 9.5), (88, 8.5), (110, 7.5), (140, 6.5))  # most lines of text, points


def _joined(blocks: Sequence[Block], parts: Sequence[list[str]]) -> list[str]:
    """The lines of all blocks, with an empty one between them, but none under a heading."""
    lines: list[str] = []
    for block, part in zip(blocks, parts, strict=True):
        lines += [*part] if isinstance(block, Heading) else [*part, ""]
    return lines[:-1] if lines and not lines[-1] else lines


def _told(block: Block) -> dict[str, Any]:
    sides = {"wide": block.wide, "right": block.right} if isinstance(block, Grid) else {}
    return {"kind": block.kind, **asdict(block), **sides}


class Printed:
    """A document that can be read, shown and kept."""

    document: Document

    def text(self) -> str:
        """As plain text."""
        return self.document.text()

    def html(self) -> str:
        """As one HTML page that needs nothing else."""
        return self.document.html()

    def pdf(self, path: str | os.PathLike[str]) -> None:
        """Write a PDF, whole or not at all; needs the extra `pdf`."""
        from trust_recourse.report.pdf import pdf

        write_whole(path, pdf(self.document))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all: text, HTML or PDF, as its name ends."""
        ending = Path(path).suffix.lower()
        if ending == ".pdf":
            self.pdf(path)
        elif ending in (".html", ".htm"):
            write_whole(path, self.html())
        elif ending == ".txt":
            write_whole(path, self.text())
        else:
            raise ValueError(f"{path}: expected a name that ends in .pdf, .html or .txt")

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        page = escape(self.html())
        return f'<iframe title="document" style="width:100%;height:60em" srcdoc="{page}"></iframe>'


_STYLE = """
@page { size: A4; margin: 16mm 18mm }
body { margin: 0; color: #111; background: #fff; font: 11pt/1.4 Georgia, "Liberation Serif", serif;
  overflow-wrap: anywhere }
main { max-width: 190mm; margin: 0 auto; padding: 1.5em }
header { display: flex; justify-content: space-between; gap: 2em }
h1 { font-size: 1.35em; margin: .9em 0 .5em; line-height: 1.25 }
h2 { font-size: 1.05em; margin: .9em 0 .2em; break-after: avoid }
p { margin: .25em 0 } ul, ol { margin: .25em 0; padding-left: 1.5em } li { margin: .1em 0 }
.small { font-size: .87em }
table { border-collapse: collapse; margin: .4em 0; width: 100% }
caption { text-align: left; padding: .2em 0 }
th, td { text-align: left; vertical-align: top; padding: .18em .5em; border-bottom: .5pt solid #999;
  font-weight: normal; overflow-wrap: normal }
.long { overflow-wrap: anywhere }
thead th { border-bottom: 1pt solid #111; font-weight: bold } tr { break-inside: avoid }
.total tbody tr:last-child > * { font-weight: bold; border-bottom: 1pt solid #111 }
.number { text-align: right }
figure { margin: .6em 0; break-inside: avoid } img { width: 100% }
figcaption, .many { font-size: .87em }
@media screen { .many { overflow-x: auto } }
@media screen and (max-width: 40em) {
  .many table { min-width: 40em } .many .long { overflow-wrap: normal } main { padding: 1em } }
@media print { body { font-size: SIZE; line-height: 1.3 } main { max-width: none; padding: 0 } }
"""
