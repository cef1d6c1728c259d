"""The sweep of τ: what one person pays for more confidence, and how safe it makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from trust_recourse.answers.plot import style
from trust_recourse.answers.plot.frontier_plot import Safety, safeties, safety_words
from trust_recourse.io.wording import floored, level
from trust_recourse.question import Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.answers.result import Result


@dataclass(frozen=True, eq=False)
class SweepInfo:
    """What `draw_sweep` draws.

    Each line has a row for every target, by rising level: target, status, and cost, confidence and
    safety of its first option, NaN where there is none. `max_confidence` is the greatest confidence
    within reach, of the lines for which some target was proved to lie beyond it.
    """

    lines: dict[str, pd.DataFrame]
    max_confidence: dict[str, float]
    threshold: float
    safety: str  # what the column counts, in words
    within_one: bool  # whether it is a probability
    cost: str
    wanted: Any


def sweep_info(
    results: Result | Mapping[str, Result], *, safety: Safety = "noise", sigma: float = 0.01
) -> SweepInfo:
    """Gather the answers to many confidences: `recourse.find(x, confidence=[0.5, 0.55, …])`.

    Several results by name, such as with and without `min_radius`, become a line each. `safety` and
    `sigma` are as in `frontier_info`. Results by mode "argmax" ask for no confidence, and are
    refused.
    """
    named = dict(results) if isinstance(results, Mapping) else {"the cheapest option": results}
    if not 1 <= len(named) <= len(style.LINES):
        raise ValueError(
            f"{len(named)} results; expected from 1 to {len(style.LINES)}, a line each"
        )
    if wins := [name for name, result in named.items() if result.decision.mode == "argmax"]:
        raise ValueError(
            f"the result {wins[0]!r} asks that the class wins; expected levels of confidence, such "
            "as recourse.find(x, confidence=[0.5, 0.6, 0.7])"
        )
    for result in named.values():
        result.check_model()
    first = next(iter(named.values())).recourse
    safety_words(safety, sigma)  # refuses an unknown one before any work
    lines = {name: _line(result, safety, sigma) for name, result in named.items()}
    words = safety_words(safety, sigma, [each for _, found in lines.values() for each in found])
    return SweepInfo(
        {name: line for name, (line, _) in lines.items()},
        {name: r.max_confidence.most for name, r in named.items() if _ends(r)},
        first.decision_threshold,
        words,
        safety == "noise",
        first.cost.words,
        first.wanted,
    )


def _ends(result: Result) -> bool:
    """Whether some level is out of reach for its height alone, and the highest one is proved."""
    missed = (t for t, status in result.status.items() if status is Status.INFEASIBLE)
    beyond = not result.extra_constraints and any(target.mode == "at_least" for target in missed)
    return beyond and result.max_confidence.proved


def _line(result: Result, safety: Safety, sigma: float) -> tuple[pd.DataFrame, list[float]]:
    """What the first option of each target costs and gives, and how safe these options are."""
    firsts = {option.target: option for option in reversed(result.options)}
    found = safeties(result, tuple(firsts.values()), safety, sigma)
    safe = dict(zip(firsts, found, strict=True))
    rows = []
    for target, status in result.status.items():
        option = firsts.get(target)
        cost, confidence = (np.nan, np.nan) if option is None else (option.cost, option.confidence)
        row = (target.confidence, str(status), cost, confidence, safe.get(target, np.nan))
        rows.append(row)
    table = pd.DataFrame(rows, columns=["target", "status", "cost", "confidence", "safety"])
    return table.sort_values("target", kind="stable", ignore_index=True), found


def draw_sweep(info: SweepInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw cost, confidence and safety, one below the other, against the confidence asked for.

    A hollow mark is an option that is not proved to be the cheapest; a cross on the lowest line of
    a panel is a level without an option.
    """
    drawn = style.panels(axes, 3, 1, 6.0, sharex=True)
    columns = ("cost", "confidence", "safety")
    levels = np.concatenate([line["target"] for line in info.lines.values()])
    for ax, column in zip(drawn, columns, strict=True):
        style.plain_frame(ax)
        for at, (name, line) in enumerate(info.lines.items()):
            # Of lines that coincide the ones behind are seen around those in front.
            size = 5 + 2.5 * (len(info.lines) - 1 - at)
            _draw_line(ax, line, column, name, style.LINES[at], size)
        if all(line[column].isna().all() for line in info.lines.values()):
            style.note(ax, "no level that was asked for has an option")
            ax.set_yticks([])
    order = np.argsort(levels)
    drawn[1].plot(
        levels[order], levels[order], color=style.GREY, linewidth=0.8, linestyle=":",
        label="as asked for", zorder=1,
    )  # fmt: skip
    drawn[1].axhline(
        info.threshold, color=style.VERMILION, linestyle="--", linewidth=1.0, zorder=1,
        label=f"decision: yes from {level(info.threshold)}",
    )  # fmt: skip
    _out_of_reach(drawn, info)
    for ax in (drawn[0], drawn[2]):
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    if info.within_one:
        drawn[2].set_ylim(-0.05, 1.05)
    words = (f"cost ({info.cost})", f"confidence in class {info.wanted!r}", info.safety)
    for ax, text in zip(drawn, words, strict=True):
        ax.set_ylabel(style.wrapped(text, 22), fontsize=9)
    drawn[-1].set_xlabel("confidence asked for")
    drawn[0].set_title("What more confidence costs, and how safe it is", fontsize="medium")
    style.legend(drawn, own=axes is None)
    return tuple(drawn)


def _draw_line(
    ax: Axes, line: pd.DataFrame, column: str, name: str, look: Any, size: float
) -> None:
    colour, mark, dashes = look
    ax.plot(line["target"], line[column], color=colour, linestyle=dashes, linewidth=1.2, zorder=3)
    proved = line["status"].isin([Status.OPTIMAL, Status.ALREADY_MET])
    rest = ~proved & line[column].notna()
    for rows, face, words in ((proved, colour, name), (rest, style.WHITE, f"{name} (not proved)")):
        if rows.any():
            ax.plot(
                line["target"][rows], line[column][rows], linestyle="none", marker=mark,
                markersize=size, color=colour, markerfacecolor=face, zorder=4, label=words,
            )  # fmt: skip


def _out_of_reach(axes: Sequence[Axes], info: SweepInfo) -> None:
    """Crosses at the levels without an option; a line at the highest reachable confidence."""
    missed = [(line["target"], line["status"]) for line in info.lines.values()]
    for (targets, statuses), (colour, _, _) in zip(missed, style.LINES, strict=False):
        for status, mark, words in (
            (Status.INFEASIBLE, "x", "out of reach (proved)"),
            (Status.NOT_FOUND, "+", "not found"),
        ):
            levels = targets[statuses == status]
            for ax in axes if len(levels) else ():
                ax.plot(
                    levels, [0.03] * len(levels), mark, color=colour, markersize=6, clip_on=False,
                    transform=ax.get_xaxis_transform(), label=words, zorder=5,
                )  # fmt: skip
    for max_confidence in sorted(set(info.max_confidence.values())):
        words = f"highest reachable confidence: {floored(max_confidence)}"
        for ax in axes:
            ax.axvline(max_confidence, color=style.GREY, linewidth=1.4, zorder=1, label=words)
