"""Answers as a notebook shows them: cards, tables and bars in HTML that needs nothing else.

Text has the notebook's own colour, light or dark; colours only mark, and what they say is said in
words as well. They are those of the pictures (Okabe and Ito), seen on either ground.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

SHORT = 16  # letters of a cell that is not broken
_LINE = "1px solid color-mix(in srgb, currentColor 22%, transparent)"
_STYLE = f"""<style>
.trust {{ line-height: 1.45; max-width: 60rem; color: inherit; overflow-wrap: anywhere }}
.trust p {{ margin: .4em 0 }}
.trust .cards {{ display: grid; gap: 12px; margin: .6em 0;
  grid-template-columns: repeat(auto-fill, minmax(min(260px, 100%), 1fr)) }}
.trust > .card {{ max-width: 26rem }}
.trust .card {{ border: {_LINE}; border-radius: 10px; padding: 12px 14px }}
.trust .card header {{ display: flex; justify-content: space-between; gap: 8px; flex-wrap: wrap }}
.trust .badge {{ border: {_LINE}; border-radius: 99px; padding: 0 9px; font-size: .85em }}
.trust .proved {{ border-color: #009e73; border-width: 2px }}
.trust ul {{ margin: .5em 0; padding: 0; list-style: none }}
.trust li {{ display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12px }}
.trust .rest li {{ display: list-item; list-style: disc inside }}
.trust dl {{ display: grid; grid-template-columns: 1fr 1fr; margin: .5em 0; gap: 4px 12px }}
.trust dt, .trust .quiet {{ font-size: .85em; opacity: .8; font-weight: normal }}
.trust dd {{ margin: 0; font-weight: 600 }}
.trust .meter {{ position: relative; height: 8px; border: {_LINE}; border-radius: 5px;
  margin: 6px 0; max-width: 30rem }}
.trust .meter i {{ display: block; height: 100%; border-radius: 4px; background: #1f8ac9 }}
.trust .meter b {{ position: absolute; top: -4px; height: 16px; border-left: 2px solid }}
.trust table {{ border-collapse: collapse; margin: .5em 0; border: 0 }}
.trust th, .trust td {{ text-align: left; padding: 3px 10px; border: 0; border-bottom: {_LINE};
  vertical-align: top; background: none; white-space: normal }}
.trust .number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }}
.trust .short {{ white-space: nowrap }} .trust summary {{ cursor: pointer }}
.trust .bar {{ position: relative; display: block; min-width: 90px; height: 1em }}
.trust .bar i {{ position: absolute; top: .15em; height: .7em; background: #1f8ac9 }}
.trust .bar i.less {{ background: #d55e00 }}
.trust .bar::after {{ content: ""; position: absolute; left: 50%; height: 1em;
  border-left: {_LINE} }}
</style>"""


def shown(*parts: str) -> str:
    """Parts in HTML, with the style that they need."""
    return f'{_STYLE}<div class="trust">{"".join(parts)}</div>'


def line(text: str, *, strong: bool = False, quiet: bool = False) -> str:
    """A paragraph."""
    told = f"<b>{escape(text)}</b>" if strong else escape(text)
    return f'<p class="quiet">{told}</p>' if quiet else f"<p>{told}</p>"


def folded(title: str, lines: Iterable[str]) -> str:
    """Sentences below a title that opens them; nothing if there are none."""
    items = "".join(f"<li>{escape(each)}</li>" for each in lines)
    told = f'<summary>{escape(title)}</summary><ul class="rest">{items}</ul>'
    return f"<details>{told}</details>" if items else ""


def meter(share: float, level: float | None = None) -> str:
    """A share of 1 as a bar, and a level on it; its value must stand next to it as text."""
    mark = "" if level is None else f'<b style="left:{level:.2%}"></b>'
    return f'<div class="meter" aria-hidden="true"><i style="width:{share:.2%}"></i>{mark}</div>'


def card(
    title: str,
    badge: str,
    changes: Iterable[tuple[str, str, str]],
    facts: Iterable[tuple[str, str]],
    said: str,
    *,
    proved: bool,
) -> str:
    """An option: what changes from what to what, its numbers, and what is known of it."""
    moves = "".join(
        f"<li><span>{escape(what)}</span><span>{escape(old)} → <b>{escape(new)}</b></span></li>"
        for what, old, new in changes
    )
    told = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>" for name, fact in facts
    )
    mark = f'<span class="badge{" proved" * proved}">{"✓ " * proved}{escape(badge)}</span>'
    return (
        f'<article class="card"><header><b>{escape(title)}</b>{mark}</header>'
        f"<ul>{moves or '<li>as they are</li>'}</ul><dl>{told}</dl>"
        f'<div class="quiet">{escape(said)}</div></article>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], shares: Sequence[float] = ()) -> str:
    """A table of texts; where there are shares, the last column is numbers, and each has a bar."""
    most = max(map(abs, shares), default=0.0) or 1.0
    last = len(head) - 1 if shares else len(head)
    body = []
    for at, row in enumerate(rows):
        cells = "".join(_cell("td", text, i == last) for i, text in enumerate(row))
        body.append(f"<tr>{cells}{_bar(shares[at] / most) if shares else ''}</tr>")
    heads = "".join(_cell("th", text, i == last) for i, text in enumerate(head))
    extra = "<th></th>" if shares else ""
    return f"<table><thead><tr>{heads}{extra}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _cell(tag: str, text: str, number: bool) -> str:
    kind = ' class="number"' if number else ' class="short"' if len(text) <= SHORT else ""
    return f"<{tag}{kind}>{escape(text)}</{tag}>"


def _bar(share: float) -> str:
    """A share of the greatest, to the right if it adds and to the left if it takes."""
    wide, side = abs(share) / 2, "left:50%" if share >= 0 else "right:50%"
    kind = "" if share >= 0 else ' class="less"'
    return (
        '<td><span class="bar" aria-hidden="true">'
        f'<i{kind} style="{side};width:{wide:.2%}"></i></span></td>'
    )
