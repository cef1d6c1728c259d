"""What a part of the experiments is made of: units of work, how much of it, and tables.

A part is a module with

- `units(scale)`: a list of `Unit`s, in any order, none of which needs another;
- `tables(rows)`: what to make of all that its finished units gave: a list of `Table`s;
- `figures(rows)`, if it draws: a dict of matplotlib figures by name.

`rows` are plain dicts: a unit gives one or a list of them, and each says by itself what it is
about.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Unit:
    """Work that can be done in any process: a function of a module, and plain arguments.

    All that the outcome depends on is in `args`: a unit whose key and arguments were done before
    is not done again. It gives a dict or a list of dicts that JSON can hold.
    """

    part: str
    key: str
    work: Callable[..., Any]
    args: tuple
    seconds: float = 1.0  # about what it takes, for the time left


@dataclass(frozen=True)
class Scale:
    """How much is run: the full experiments, or the same with fewer people, seeds and trials."""

    name: str
    data: tuple[str, ...] = ("synthetic_2d", "synthetic_5d", "iris", "haberman")
    queries: int = 10
    seeds: tuple[int, ...] = tuple(range(42, 52))  # of the paper's searches
    trials: int = 300  # of TPE
    our_seeds: tuple[int, ...] = (42,)  # of TPE with exact inference
    boxes: int = 2_000_000  # opened for one exact question; what this ends is not proved
    regret_queries: int = 3
    regret_seeds: tuple[int, ...] = (42, 43, 44)
    gp_trials: int = 100
    levels: tuple[float, ...] = tuple(round(0.5 + 0.01 * i, 2) for i in range(50))
    splits: tuple[int, ...] = (42, 43, 44)  # of the data, for calibration
    refits: int = 20  # machines learnt anew, for model variation


FULL = Scale("full")
QUICK = Scale(
    "quick",
    queries=2,
    seeds=(42, 43),
    trials=60,
    boxes=100_000,
    regret_queries=1,
    regret_seeds=(42,),
    gp_trials=25,
    levels=(0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99),
    splits=(42,),
    refits=2,
)
TINY = replace(QUICK, name="tiny", data=("iris",), trials=30, gp_trials=12, levels=(0.5, 0.9))


PAGE = 40  # rows of a table that a page of LaTeX holds


@dataclass(frozen=True)
class Table:
    """A table in words and numbers, ready to be read."""

    title: str
    header: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()  # below it, a paragraph each

    def __post_init__(self):
        wrong = [row for row in self.body if len(row) != len(self.header)]
        if wrong:
            raise ValueError(
                f"table {self.title!r}: a row of {len(wrong[0])} cells, {wrong[0]}, under "
                f"{len(self.header)} headings"
            )

    def markdown(self):
        """In Markdown, its title as a heading."""
        lines = [f"## {self.title}", "", _piped(self.header), _piped("---" for _ in self.header)]
        lines += [_piped(row) for row in self.body]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"

    def latex(self):
        """In LaTeX, for booktabs and graphicx: floats of a page at most, the notes below them."""
        columns = "l" * len(self.header)
        lines = []
        for start in range(0, max(len(self.body), 1), PAGE):
            title = tex(self.title) + (", continued" if start else "")
            lines += [rf"\begin{{table}}[!htb]\centering\caption{{{title}}}", r"\small"]
            lines += [r"\resizebox{\textwidth}{!}{%", rf"\begin{{tabular}}{{{columns}}}"]
            lines += [r"\toprule", " & ".join(map(tex, self.header)) + r" \\", r"\midrule"]
            lines += [" & ".join(map(tex, row)) + r" \\" for row in self.body[start : start + PAGE]]
            lines += [r"\bottomrule", r"\end{tabular}}", r"\end{table}"]
        lines += [rf"{{\footnotesize {tex(note)}\par}}" for note in self.notes]
        return "\n".join(lines) + "\n"


def _piped(cells):
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$", "<": "$<$", ">": "$>$", "×": r"$\times$",
    "τ": r"$\tau$", "σ": r"$\sigma$", "ε": r"$\varepsilon$", "−": "$-$", "–": "--",
    "δ": r"$\delta$", "η": r"$\eta$", "Ω": r"$\Omega$", "†": r"$\dagger$", "‡": r"$\ddagger$",
    "“": "``", "”": "''", "½": r"$\frac{1}{2}$", "²": r"$^2$",
    "∞": r"$\infty$", "→": r"$\to$", "|": r"\textbar{}",
}  # fmt: skip


def tex(text):
    """Plain text as LaTeX would read it.

    >>> tex("n_1 ≥ 50 %")
    'n\\\\_1 $\\\\geq$ 50 \\\\%'
    """
    return "".join(_TEX.get(letter, letter) for letter in text)


def plain(value: Any) -> Any:
    """A value as JSON can hold it; what is not finite, or missing, is null."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
