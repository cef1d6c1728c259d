"""Write `letter.pot`: every message of the letter that a catalogue translates, where it stands.

Run it when a message changes (`python docs/messages.py`), then mend the catalogues;
`tests/report/test_language.py` holds the file, and each of ours, against what the letter says.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from jinja2 import nodes

from trust_recourse.io.wording import UNITS
from trust_recourse.report.content import _WORDS
from trust_recourse.report.language import flat

REPORT = Path(__file__).parents[1] / "src" / "trust_recourse" / "report"
TEMPLATES = ("letter.jinja", "letter_us.jinja", "letter_eu.jinja")
MODULES = (
    "letter/reasons.py",
    "letter/facts.py",
    "letter/phrasing.py",
    "letter/write.py",
    "language.py",
)
HEAD = """\
# The messages of a letter. A language is a copy of this file, CODE.po, with every msgstr filled in.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"
"""

Key = tuple[str | None, str, str | None]  # context, message, its plural


def found() -> dict[Key, str]:
    """Every message, and the file in which it stands first."""
    told: dict[Key, str] = {}
    for name in TEMPLATES:
        for key in _of_template(REPORT / "templates" / name):
            told.setdefault(key, f"templates/{name}")
    for name in MODULES:
        for key in _of_module(REPORT / name):
            told.setdefault(key, name)
    for many, one in UNITS.items():
        told.setdefault((None, one, many), "wording.py")
    return told


def _of_template(path: Path) -> Iterator[Key]:
    tree = _WORDS.parse(path.read_text("utf-8"))
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("_", "ngettext"):
            texts = [flat(each.value) for each in call.args[:2] if isinstance(each, nodes.Const)]
            yield None, texts[0], texts[1] if call.node.name == "ngettext" else None


def _of_module(path: Path) -> Iterator[Key]:
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
        texts = [each for each in texts if isinstance(each, str)]
        if name in ("gettext", "say") and texts:
            yield None, texts[0], None
        elif name == "ngettext" and len(texts) == 2:
            yield None, texts[0], texts[1]
        elif name == "pgettext" and len(texts) == 2:
            yield texts[0], texts[1], None


def written(told: dict[Key, str]) -> str:
    """The template of a catalogue."""
    blocks = [HEAD]
    for (context, message, plural), where in told.items():
        lines = [f"#: {where}"]
        if context is not None:
            lines.append(f"msgctxt {_quoted(context)}")
        lines.append(f"msgid {_quoted(message)}")
        if plural is None:
            lines.append('msgstr ""')
        else:
            lines += [f"msgid_plural {_quoted(plural)}", 'msgstr[0] ""', 'msgstr[1] ""']
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    (REPORT / "catalogues" / "letter.pot").write_text(written(found()), "utf-8")
