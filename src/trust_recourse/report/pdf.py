"""The one file that imports typst: a document's content set on pages.

The words travel as JSON, so nothing in them can be a command. The fonts are those that typst brings
along, then whatever the machine has for letters that these lack; nothing is fetched.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

from trust_recourse.io.extras import needed
from trust_recourse.report.content import UNBROKEN, Document

TOO_LONG = "does not fit on one page"


def pdf(document: Document) -> bytes:
    """The document as a PDF."""
    with needed("a PDF", "typst", "pdf"):
        import typst
    template = files("trust_recourse.report").joinpath("templates/document.typ").read_bytes()
    content = json.dumps(_breakable(document.to_dict()), ensure_ascii=False)
    try:
        made = typst.compile(template, format="pdf", sys_inputs={"content": content})
    except RuntimeError as error:
        if TOO_LONG in str(error):
            raise ValueError(
                f"{document.title!r} does not fit on one page that can be read: shorten the "
                "labels in the schema, or ask for fewer options"
            ) from None
        raise
    return bytes(made)


def _breakable(told: object) -> object:
    """The same content; words too long for a line may break."""
    if isinstance(told, dict):
        return {key: each if key == "svg" else _breakable(each) for key, each in told.items()}
    if isinstance(told, (list, tuple)):
        return [_breakable(each) for each in told]
    if isinstance(told, str):
        return re.sub(rf"(\S{{{UNBROKEN}}})(?=\S)", "\\1\u200b", told)
    return told
