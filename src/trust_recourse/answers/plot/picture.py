"""The one file that imports matplotlib."""

from __future__ import annotations

from io import BytesIO

from matplotlib import rc_context
from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that no window knows of: nothing to close, and a notebook shows it all the same."""

    def _repr_png_(self) -> bytes:
        return png(self)


def png(figure: Figure) -> bytes:
    """A figure as PNG."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def svg(figure: Figure) -> str:
    """A figure as SVG, its letters as outlines; the same figure gives the same text."""
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "trust-recourse", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue().decode()
