"""What each rule or feature adds from one point to another; and two ways side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.answers.plot import style
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import floored, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.answers.explain import Explanation

MOST = 8  # rules or features drawn one by one; the others are added up
LEAST = 0.01  # of all that moves: what moves less is one of the others
CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # of numbers
ROW, LINE = 0.36, 0.14  # inches of a bar and of a line of text


@dataclass(frozen=True, eq=False)
class WaterfallInfo:
    """What `draw_waterfall` draws: steps from one score to another, the greatest first."""

    start: tuple[str, float]  # a name and its score
    end: tuple[str, float]
    confidences: tuple[str, str]  # at the two, as they are shown
    labels: tuple[str, ...]
    shares: Floats  # of each label, adding up to the change
    score: str  # what the score is: "confidence", "log-odds"
    threshold: float | None  # the score of the decision; None where a class is to win
    wanted: Any
    note: str
    by: str  # what the change is split by: "rule" or "feature"


def waterfall_info(explanation: Explanation, most: int = MOST) -> WaterfallInfo:
    """Gather what moves the score most, and all else together."""
    explained(explanation)
    labels, values = _told(explanation, explanation.bars[:, None], most)
    start, end = explanation.start, explanation.end
    to_win = any(p.target is not None and p.target.mode == "argmax" for p in (start, end))
    return WaterfallInfo(
        (start.name, explanation.ends[0]), (end.name, explanation.ends[1]),
        (start.formatted(explanation.threshold), end.formatted(explanation.threshold)),
        labels, values[:, 0], explanation.score, None if to_win else explanation.level,
        explanation.points.recourse.wanted, _note(explanation), explanation.by,
    )  # fmt: skip


def _tall(labels: tuple[str, ...]) -> float:
    """Inches in which labels of several lines do not touch."""
    return LINE * max([label.count("\n") + 2 for label in labels], default=1) * len(labels) + 1.6


def _told(explanation: Explanation, shares: Floats, most: int) -> tuple[tuple[str, ...], Floats]:
    """Labels and rows of shares, (C, k): those that move most, then all others together."""
    size = np.abs(shares).max(axis=1)
    order = [int(j) for j in np.argsort(-size, kind="stable") if size[j] > 0]
    shown = [j for j in order[:most] if size[j] >= LEAST * size.sum()]
    rest = order[len(shown) :]
    labels = [label(explanation, j) for j in shown]
    rows = [shares[j] for j in shown]
    if rest:
        labels.append(f"{len(rest)} other {explanation.by}{'s' if len(rest) > 1 else ''}")
        rows.append(shares[rest].sum(axis=0))
    return tuple(labels), np.array(rows).reshape(-1, shares.shape[1])


def _note(explanation: Explanation) -> str:
    """What the shares are shares of, without the scores, which are drawn."""
    return explanation.note.partition(": ")[0]


def explained(value: object) -> None:
    """Refuse what is no explanation."""
    if not hasattr(value, "bars"):
        raise TypeError(
            f"given {type(value).__name__}; expected an explanation, such as result.explain(0)"
        )


def label(explanation: Explanation, at: int, width: int = 34) -> str:
    """What a bar is of, for an axis."""
    head, _, words = explanation.bar_label(at).partition(": ")
    words = style.shortened(words, 2 * width).replace("≤ ", "≤\u00a0").replace("> ", ">\u00a0")
    return style.wrapped(f"{head}: {words}" if words else style.shortened(head, 2 * width), width)


def _headed(ax: Axes, title: str, what: str, note: str) -> None:
    """Set the title and the label of the axis; `note` is the second line of the label."""
    ax.set_title(style.titled(title), fontsize="medium")
    ax.set_xlabel(what)
    if note:
        ax.set_xlabel(f"{what}\n({style.titled(note, 70)})", fontsize=style.SMALL + 1)


def draw_waterfall(info: WaterfallInfo, ax: Axes | None = None) -> Axes:
    """Draw the steps as bars, from the first point's score at the top to the second's."""
    rows = len(info.labels) + 2
    tall = max(style.SIZE[1], ROW * rows + 1.2, _tall(info.labels))
    own, ax = ax is None, style.plain_axes(ax, (style.SIZE[0] * 1.15, tall))
    ends = info.start[1] + np.cumsum(info.shares)
    begins = np.concatenate([[info.start[1]], ends[:-1]]) if len(ends) else ends
    ax.barh(
        [0, rows - 1], [info.start[1], info.end[1]], color=style.GREY, height=0.6, label=info.score
    )
    for up, colour, hatch, label in (
        (True, style.BLUE, None, "raises it"),
        (False, style.VERMILION, "//", "lowers it"),
    ):
        at = np.flatnonzero((info.shares > 0) == up)
        if len(at):
            ax.barh(
                at + 1, info.shares[at], left=begins[at], color=colour, hatch=hatch, height=0.6,
                edgecolor="white", label=label,
            )  # fmt: skip
    for row, at in enumerate([info.start[1], *ends]):
        ax.plot([at, at], [row - 0.3, row + 1.3], color=style.GREY, linewidth=0.8, zorder=1)
    for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        ax.annotate(
            signed(info.shares[i]), (max(begin, end), i + 1), (3, 0), textcoords="offset points",
            va="center", fontsize=style.SMALL, bbox=CLEAR,
        )  # fmt: skip
    plain = info.score == "confidence"
    for row, (_, score), told in zip(
        (0, rows - 1), (info.start, info.end), info.confidences, strict=True
    ):
        ax.annotate(
            told if plain else f"{floored(score)} (confidence {told})", (max(score, 0.0), row),
            (3, 0), textcoords="offset points", va="center", fontsize=style.SMALL,
            fontweight="bold", bbox=CLEAR,
        )  # fmt: skip
    lines = [] if info.threshold is None else [info.threshold]
    for line in lines:
        ax.axvline(
            line, color=style.BLACK, linestyle="--", linewidth=1.0, zorder=2, label="decision"
        )
    ax.set_yticks(range(rows), [info.start[0], *info.labels, info.end[0]], fontsize=style.SMALL)
    ax.invert_yaxis()
    reach = [0.0, *begins, *ends, *((1.0,) if plain else (info.start[1], *lines))]
    least, most = min(reach), max(reach)
    ax.set_xlim(least, most + (most - least) * (0.08 * (most > 1.0) if plain else 0.4))
    what = f"{info.score} {'in' if plain else 'of'} class {info.wanted!r}"
    _headed(ax, f"From {info.start[0]} to {info.end[0]}, {info.by} by {info.by}", what, info.note)
    style.legend([ax], own=own)
    return ax


# ---------------------------------------------------------------- two options


@dataclass(frozen=True, eq=False)
class DuelInfo:
    """What `draw_duel` draws: what each rule or feature adds on the way to either option."""

    names: tuple[str, str]
    confidences: tuple[float, float]
    own: float
    labels: tuple[str, ...]
    shares: Floats  # (labels, 2)
    note: str  # of the two explanations, where they have one
    score: str
    by: str


def duel_info(first: Explanation, second: Explanation, most: int = MOST) -> DuelInfo:
    """Gather two explanations that start from the same point."""
    explained(first)
    explained(second)
    if first.start is not second.start:
        raise ValueError(
            f"the first starts from {first.start.name!r}, the second from {second.start.name!r}; "
            "expected two explanations that start from the same point"
        )
    labels, shares = _told(first, np.column_stack([first.bars, second.bars]), most)
    return DuelInfo(
        (first.end.name, second.end.name),
        (first.end.confidence, second.end.confidence),
        first.start.confidence,
        labels,
        shares,
        "; ".join(dict.fromkeys(_note(each) for each in (first, second) if each.note)),
        first.score,
        first.by,
    )


def draw_duel(info: DuelInfo, ax: Axes | None = None) -> Axes:
    """Draw the two shares of each rule or feature beside each other."""
    tall = max(style.SIZE[1], 1.5 * ROW * len(info.labels) + 1.4, _tall(info.labels))
    own, ax = ax is None, style.plain_axes(ax, (style.SIZE[0] * 1.15, tall))
    if not info.labels:
        nothing = "No rule fires" if info.by == "rule" else "No feature acts"
        style.note(ax, f"{nothing} differently at either option.")
    rows = np.arange(len(info.labels))
    for k, (colour, hatch) in enumerate(((style.BLUE, None), (style.VERMILION, "//"))):
        bars = ax.barh(
            rows + (k - 0.5) * 0.38, info.shares[:, k], height=0.36, color=colour, hatch=hatch,
            edgecolor="white",
            label=f"{info.names[k]} ({floored(info.own)} → {floored(info.confidences[k])})",
        )  # fmt: skip
        ax.bar_label(bars, [signed(s) for s in info.shares[:, k]], padding=2, fontsize=style.SMALL)
    ax.axvline(0, color=style.BLACK, linewidth=0.8)
    ax.set_yticks(rows, list(info.labels), fontsize=style.SMALL)
    ax.invert_yaxis()
    ax.margins(x=0.16)
    title = f"{info.names[0]} against {info.names[1]}, {info.by} by {info.by}"
    _headed(ax, title, f"share of the change in {info.score}", info.note)
    style.legend([ax], own=own)
    return ax
