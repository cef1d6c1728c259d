"""What the pictures share: colours, marks, where they are drawn, and words on them.

Colours are those of Okabe and Ito (2008), told apart by every kind of colour vision; shades of
amount are cividis, which grows lighter throughout, so that it survives a grey print. Whatever a
colour says is said again by a mark, a line or a word.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.io.extras import needed
from trust_recourse.io.wording import significant
from trust_recourse.schema.feature import marked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.schema import Feature

BLACK, GREY, WHITE = "#000000", "#767676", "#FFFFFF"
ORANGE, SKY, GREEN, BLUE, VERMILION = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00"
SHADES = "cividis"
LINES = (  # of several things on one panel: colour, mark, dashes
    (BLUE, "o", "-"),
    (VERMILION, "s", "--"),
    (GREEN, "^", "-."),
    (ORANGE, "D", ":"),
    (BLACK, "v", (0, (5, 1))),
)
SIZE = (6.4, 4.0)  # of a notebook's page, in inches
SMALL = 8  # points: notes on a picture
LETTER, HANDLE = 0.058, 0.45  # inches that a letter and the rest of a legend's entry take


def new_axes(
    size: tuple[float, float] = SIZE, rows: int = 1, columns: int = 1, **shared: Any
) -> tuple[Axes, ...]:
    """Empty axes on a figure of their own; `shared` is what `Figure.subplots` takes."""
    with needed("a picture", "matplotlib", "plot"):
        from trust_recourse.answers.plot.picture import Picture
    figure = Picture(figsize=size, layout="constrained")
    return tuple(figure.subplots(rows, columns, squeeze=False, **shared).ravel())


def plain_axes(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """The axes given, or new ones on a figure of this size, in a plain frame."""
    made = new_axes(size)[0] if ax is None else ax
    plain_frame(made)
    return made


def panels(
    axes: Sequence[Axes] | None, rows: int, columns: int, height: float = SIZE[1], **shared: Any
) -> list[Axes]:
    """The axes given, if they are as many as needed, or new ones: row by row."""
    if axes is None:
        return list(new_axes((max(SIZE[0], 3.2 * columns), height), rows, columns, **shared))
    given: list[Axes] = np.asarray(axes, dtype=object).ravel().tolist()
    if len(given) != rows * columns:
        raise ValueError(
            f"axes: given {len(given)}, expected {rows * columns}, one for each panel, row by row"
        )
    return given


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, its middle left out where it is longer.

    >>> shortened("one or two or three", 11)
    'one o…three'
    """
    kept = (most - 1) // 2
    return text if len(text) <= most else f"{text[:kept]}…{text[-kept:]}"


def numbered(ax: Axes, along: Feature, up: Feature) -> None:
    """Write the numbers on the axes as those of their features, without a common part left out."""
    for axis, feature in ((ax.xaxis, along), (ax.yaxis, up)):
        axis.set_major_formatter(partial(_number, feature))


def _number(feature: Feature, x: float, _: object) -> str:
    return marked(feature, x, significant(x, 10).replace(",", ""))


def wrapped(text: str, width: int = 36) -> str:
    """The text in lines of at most so many characters; a longer word is cut."""
    return "\n".join(textwrap.wrap(text, width)) or text


def titled(text: str, width: int = 60, lines: int = 2) -> str:
    """A title in at most so many lines, its end cut where it is longer.

    >>> titled("one or two or three or four", 10).splitlines()
    ['one or two', 'or three…']
    """
    return "\n".join(textwrap.wrap(text, width, max_lines=lines, placeholder="…"))


def plain_frame(ax: Axes) -> None:
    """Only the two spines that carry numbers, and a faint grid behind."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def note(ax: Axes, text: str) -> None:
    """What there is to say where there is nothing to draw."""
    ax.text(
        0.5, 0.5, wrapped(text, 50), transform=ax.transAxes, ha="center", va="center", color=GREY
    )  # fmt: skip


def legend(axes: Sequence[Axes], *, own: bool) -> None:
    """One legend for all panels, each label once: under them on a figure of our own.

    On somebody else's figure it stays within the last panel, where it cannot push other axes.
    """
    entries = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure = axes[0].figure
    if not own:
        axes[-1].legend(entries.values(), entries.keys(), loc="best", fontsize=SMALL)
        return
    widths = [len(label) * LETTER + HANDLE for label in entries]
    room = figure.bbox.width / figure.dpi
    columns = len(widths) if sum(widths) <= room else max(int(room / max(widths)), 1)
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=columns, fontsize=SMALL,
        frameon=False, columnspacing=1.2, handletextpad=0.4,
    )  # fmt: skip
