"""What a document says, as plain values, and how it is written: text, HTML and PDF.

The words stand in `templates/`. A document has a file of its own, in blocks with a blank line
between them: `# ` begins a heading, `- ` or `1. ` a point, `~ ` small print, `| ` a row of a table
(`|: ` its caption, `|= ` a row set apart), all else is a paragraph; `grid` and `picture` stand for
themselves. `document.*` set blocks in each form.

Text in it is text: whatever a name or a value holds is shown as it is, never run, in any form.
"""

from __future__ import annotations

import base64
import datetime
import importlib.util
import itertools
import os
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from jinja2 import (
    Environment,
    PackageLoader,
    StrictUndefined,
    pass_context,
    pass_eval_context,
)
from jinja2.nodes import EvalContext
from jinja2.runtime import Context
from markupsafe import Markup

from trust_recourse import __version__
from trust_recourse.io import clock
from trust_recourse.io.files import write_whole
from trust_recourse.io.wording import significant, unbroken
from trust_recourse.report.language import ENGLISH, Language

WIDTH = 78  # characters in a line of text
UNBROKEN = 24  # letters after which a longer word may break
LONG = 22  # a column whose longest cell has more characters shares the room that is left
_NUMBER = re.compile(r"[<>+−-]?\d[\d.,]*( ?%)?")
_SPAN = re.compile(rf"{_NUMBER.pattern}( \(.*\))?(\s[†*])?")  # and where it lies, and a mark
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # could make other words read otherwise
_VALUE, _PLACE, _BAR = "\u2066", "\u2067", "\u2068"  # before a value; before the number of a block;
#   for a bar in a value. No text that is `clean` holds these, so no value can pass for a mark.


def clean(text: object) -> str:
    r"""The text in one line, without characters that no page can show or that turn its direction.

    >>> clean("Ann\x00\nLee\u202e")
    'Ann Lee'
    """
    kept = (" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in str(text))
    return re.sub(" +", " ", _TURNS.sub("", "".join(kept))).strip()


_JOINT = "\ue000"  # stands for a blank in the name of a column, where no line ends

# ---------------------------------------------------------------- blocks


@dataclass(frozen=True)
class Heading:
    """The title of a part."""

    text: str
    kind: ClassVar[str] = "heading"


@dataclass(frozen=True)
class Text:
    """A paragraph; a small one is set smaller."""

    text: str
    small: bool = False
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class ListBlock:
    """A list of sentences."""

    items: tuple[str, ...]
    numbered: bool = False
    kind: ClassVar[str] = "points"


@dataclass(frozen=True)
class TableBlock:
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
        return [*caption, *(line.replace(_JOINT, " ") for line in self._lines())]

    def _lines(self) -> Iterable[str]:
        table = (tuple(h.replace(" ", _JOINT) for h in self.head), *self.rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        if sum(widths) + 2 * len(widths) <= WIDTH:
            cells = ([c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in table)
            return ["  ".join(row).rstrip() for row in cells]
        if max(widths) <= LONG + 2 and (narrow := _narrowed(table, widths)):
            return [line for row in table for line in _in_columns(row, narrow)]
        told: list[str] = []
        for name, *row in self.rows:
            heads = table[0][1:] if len(row) > 1 else ("",)  # of one value the name says it all
            named = (f"{h}: {c}" if h else c for h, c in zip(heads, row, strict=True) if c)
            told += textwrap.wrap(f"{name}: {'; '.join(named)}", WIDTH, subsequent_indent="   ")
        return told


def _narrowed(table: Iterable[tuple[str, ...]], widths: list[int]) -> list[int]:
    """Widths at which a table fits the page, its cells broken between words; [] if none do."""
    columns = zip(*table, strict=True)
    least = [max(len(word) for cell in column for word in cell.split(" ")) for column in columns]
    found = [*widths]
    while sum(found) + 2 * (len(found) - 1) > WIDTH:
        room = [at for at, width in enumerate(found) if width > least[at]]
        if not room:
            return []
        found[max(room, key=found.__getitem__)] -= 1
    return found


def _in_columns(row: tuple[str, ...], widths: list[int]) -> list[str]:
    """The lines of one row, each cell within its column."""
    cells = [textwrap.wrap(c, w) or [""] for c, w in zip(row, widths, strict=True)]
    lines = itertools.zip_longest(*cells, fillvalue="")
    padded = ([c.ljust(w) for c, w in zip(line, widths, strict=True)] for line in lines)
    return ["  ".join(line).rstrip() for line in padded]


@dataclass(frozen=True)
class PictureBlock:
    """A drawing, as SVG, and what it shows in words."""

    svg: str
    alt: str
    kind: ClassVar[str] = "picture"


Block = Heading | Text | ListBlock | TableBlock | PictureBlock


def drawn(draw: Callable[[], Any], alt: str) -> Iterator[PictureBlock]:
    """A picture of a figure, where there is a package to draw it."""
    if importlib.util.find_spec("matplotlib") is not None:
        from trust_recourse.answers.plot.picture import svg

        yield PictureBlock(svg(draw()), clean(alt))


# ---------------------------------------------------------------- templates


def _breakable(cell: str) -> Markup:
    """As HTML, in which only words too long for a line may break."""
    parts = re.split(rf"(\S{{{UNBROKEN + 1},}})", unbroken(cell))
    long = Markup("<span class=long>{}</span>")
    return Markup("").join(long.format(p) if at % 2 else p for at, p in enumerate(parts))


@pass_eval_context
def _whole(context: EvalContext, value: Any) -> Any:
    """A text, which in HTML has no line end within a number."""
    plain = type(value) is str and context.autoescape
    return unbroken(value) if plain else value


def _environment(**settings: Any) -> Environment:
    return Environment(
        loader=PackageLoader("trust_recourse.report"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, **settings,
    )  # fmt: skip


def _spoken(how: str) -> Callable[..., str]:
    """A method of the document's language, as templates call it."""

    @pass_context
    def said(context: Context, *texts: Any, **values: object) -> str:
        return str(getattr(context["language"], how)(*texts, **values))

    return said


@pass_context
def _shown(context: Context, value: object) -> str:
    """A value in the text that a template gives, or what stands there for a block."""
    if isinstance(value, (TableBlock, PictureBlock)):
        context["placed"].append(value)
        return f"\n\n{_PLACE}{len(context['placed']) - 1}\n\n"
    return "" if value is None else _VALUE + clean(value).replace("|", _BAR)


def _grid(
    head: Iterable[str], rows: Iterable[Iterable[Any]], caption: str = "", total: bool = False
) -> TableBlock:
    cells = (("" if pd.isna(cell) else clean(cell) for cell in row) for row in rows)
    return TableBlock(tuple(map(clean, head)), tuple(map(tuple, cells)), clean(caption), total)


_WORDS = _environment(finalize=_shown)
_WORDS.globals |= {"grid": _grid, "_": _spoken("gettext"), "ngettext": _spoken("ngettext")}
_WORDS.filters |= {"repr": repr, "significant": significant}
_FORMS = _environment(
    autoescape=lambda name: name is not None and name.endswith(".html"), finalize=_whole
)
_FORMS.filters |= {
    "breakable": _breakable,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
}


def blocks(
    template: str, part: str = "", *, language: Language = ENGLISH, **values: Any
) -> tuple[Block, ...]:
    """What a template of `templates/` says of these values, or one `{% block %}` of it alone."""
    placed: list[Block] = []
    found = _WORDS.get_template(template)
    context = found.new_context({**values, "language": language, "placed": placed})
    text = "".join((found.blocks[part] if part else found.root_render_func)(context))
    apart = re.sub("^# .*$", r"\n\g<0>\n", text, flags=re.MULTILINE)  # a heading ends with its line
    parts = (part.strip() for part in re.split(r"\n\s*\n", apart))
    return tuple(
        placed[int(part[1:])] if part.startswith(_PLACE) else _block(part) for part in parts if part
    )


def _block(part: str) -> Block:
    mark, _, rest = part.partition(" ")
    if mark in ("-", "1."):
        items = re.split(rf"^{re.escape(mark)} ", part, flags=re.MULTILINE)[1:]
        return ListBlock(tuple(map(_joined, items)), mark == "1.")
    if mark[0] == "|":
        return _table(part)
    if mark == "#":
        return Heading(_joined(rest))
    return Text(_joined(rest), small=True) if mark == "~" else Text(_joined(part))


def _table(part: str) -> TableBlock:
    lines = re.split(r"^\|", part, flags=re.MULTILINE)[1:]
    caption = _joined(lines.pop(0)[1:]) if lines[0].startswith(":") else ""
    head, *rows = (tuple(map(_joined, line.removeprefix("=").split("|"))) for line in lines)
    return TableBlock(head, tuple(rows), caption, total=lines[-1].startswith("="))


def _joined(lines: str) -> str:
    return re.sub("[ \n]+", " ", lines.replace(_VALUE, "")).strip().replace(_BAR, "|")


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
    language: Language = ENGLISH

    @classmethod
    def of_ours(
        cls, title: str, blocks: Iterable[Block], organisation: str = "",
        dated: datetime.date | None = None,
    ) -> Document:  # fmt: skip
        """A report by this version on this day, or as it is dated."""
        day, version = dated or clock.today(), f"trust-recourse {__version__}"
        return cls(title, day, clean(organisation), version, tuple(blocks))

    @property
    def day(self) -> str:
        """Its date in words."""
        return self.language.day(self.dated)

    def text(self) -> str:
        """All of it as plain text."""
        return _FORMS.get_template("document.txt").render(document=self, width=WIDTH)

    def html(self) -> str:
        """All of it as one HTML page that needs nothing else, on paper as on a screen."""
        return _FORMS.get_template("document.html").render(document=self, size=self._size())

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
            "day": self.day,
            "language": self.language.code,
            "sender": self.sender,
            "receiver": self.receiver,
            "one_page": self.one_page,
            "blocks": [_told(block) for block in self.blocks],
        }


_SIZES = ((62, 10.5), (74, 9.5), (88, 8.5), (110, 7.5), (140, 6.5))  # most lines of text, points


def _told(block: Block) -> dict[str, Any]:
    sides = {"wide": block.wide, "right": block.right} if isinstance(block, TableBlock) else {}
    return {"kind": block.kind, **asdict(block), **sides}


@dataclass(frozen=True, eq=False, repr=False)
class Printed:
    """Something to read: `text()`, `html()`, `pdf(path)`, or `save(path)` by the path's ending."""

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
