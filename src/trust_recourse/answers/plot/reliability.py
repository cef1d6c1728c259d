"""The reliability diagram: what a model said, beside what came true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from trust_recourse.answers.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.report import ModelReport

TAIL = 0.025  # of chance, left out at either end
FEW = 20  # rows of a bin that says little


@dataclass(frozen=True, eq=False)
class ReliabilityInfo:
    """What `draw_reliability` draws.

    Each curve has a row for every bin that holds a prediction: its ends `low` and `high`, the mean
    `confidence`, the share `observed`, the `count`, and `least` and `most`, between which chance
    alone leaves the share with a probability of 95% if the mean is right.
    """

    curves: dict[str, pd.DataFrame]
    ece: dict[str, float]  # a report's own, or else the mean gap, weighted by count
    label: Any = None  # the class that the probabilities are of


def reliability_info(
    curves: ModelReport | Mapping[str, pd.DataFrame], label: Any = None
) -> ReliabilityInfo:
    """Gather reliability curves: those of a model report, or any by name.

    For raw and calibrated side by side, give `{"raw": reliability_curve(y, raw), "calibrated":
    reliability_curve(y, p)}`, with y and the confidences of rows that the model did not learn from.
    """
    known: dict[str, float] = {}
    if not isinstance(curves, Mapping):
        known = {name: each.ece for name, each in curves.calibration.items()}
        label = curves.label if label is None else label
        table = curves.reliability
        names = table.index.get_level_values("model").unique()
        curves = {name: table.loc[name] for name in names}
    if not curves:
        raise ValueError("curves={}; expected at least one, such as reliability_curve(y, p)")
    for name, curve in curves.items():
        if not {"confidence", "observed", "count"} <= set(curve):
            raise ValueError(
                f"curve {name!r} has the columns {list(curve)}; expected a table as "
                "reliability_curve(y, p) gives it"
            )
    drawn = {name: _curve(curve) for name, curve in curves.items()}
    gaps = {name: (c["observed"] - c["confidence"]).abs() for name, c in drawn.items()}
    ece = {name: float(np.average(gaps[name], weights=c["count"])) for name, c in drawn.items()}
    return ReliabilityInfo(drawn, ece | known, label)


def _curve(given: pd.DataFrame) -> pd.DataFrame:
    from scipy.stats import binom

    low, high = zip(*(map(float, str(name).split("–")) for name in given.index), strict=True)
    p, n = given["confidence"], given["count"]
    least, most = (binom.ppf(end, n, p) / n for end in (TAIL, 1 - TAIL))
    return given.assign(low=low, high=high, least=least, most=most)


def draw_reliability(info: ReliabilityInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw a column for each curve: said against came true above, the counts below.

    `axes` are, if given, two for each curve: first all upper ones, then all lower ones.
    """
    count = len(info.curves)
    drawn = style.panels(
        axes, 2, count, 4.4, sharex=True, sharey="row", gridspec_kw={"height_ratios": [3.2, 1]}
    )
    for at, (name, curve) in enumerate(info.curves.items()):
        upper, lower = drawn[at], drawn[count + at]
        _draw_curve(upper, curve)
        rows = int(curve["count"].sum())
        title = f"{style.titled(name, 26, 1)}\nECE {info.ece[name]:.3f}, {rows} rows"
        upper.set_title(title, fontsize="medium")
        style.plain_frame(lower)
        lower.bar(
            curve["low"], curve["count"], curve["high"] - curve["low"], align="edge",
            color=style.SKY, edgecolor=style.BLACK, linewidth=0.6,
        )  # fmt: skip
    of_class = "" if info.label is None else f" of class {info.label!r}"
    drawn[0].set_ylabel("share that came true")
    drawn[count].set_ylabel("rows")
    for lower in drawn[count:]:
        lower.set_xlabel(style.wrapped(f"predicted probability{of_class}", 34), fontsize=9)
    style.legend(drawn, own=axes is None)
    return tuple(drawn)


def _draw_curve(ax: Axes, curve: pd.DataFrame) -> None:
    style.plain_frame(ax)
    said, came = curve["confidence"], curve["observed"]
    ax.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=1.0, zorder=2,
            label="perfectly calibrated")  # fmt: skip
    chance = "what chance allows (95%)"
    ax.vlines(
        said, curve["least"], curve["most"], color=style.SKY, linewidth=6, alpha=0.6, label=chance
    )
    ax.vlines(said, said, came, color=style.VERMILION, linewidth=1.6, zorder=3, label="gap")
    few = curve[curve["count"] < FEW]
    for rows, colour, zorder, words in (
        (curve, style.BLUE, 4, "a bin"),
        (few, style.WHITE, 5, f"of fewer than {FEW} rows"),
    ):
        if len(rows):
            ax.plot(
                rows["confidence"], rows["observed"], color=colour, marker="o", markersize=5,
                markeredgecolor=style.BLACK, linestyle="none", zorder=zorder, label=words,
            )  # fmt: skip
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
