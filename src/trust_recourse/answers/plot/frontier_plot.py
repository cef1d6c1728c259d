"""The cost–confidence frontier of one person, and how safe each step of it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from trust_recourse.answers.plot import style
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import is_bound, level
from trust_recourse.question import SLACK, Option, Status, Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.answers.result import Result

Safety = Literal["noise", "radius"]
COPIES = 1200  # for a shade or a height
WITHIN = 3  # points between the share of so many copies and either end of its 95% interval
APART = 0.025  # of the extent: a step nearer than this to the last dot would hide it
SHOWN = ["cost", "confidence", "safety"]


@dataclass(frozen=True, eq=False)
class FrontierInfo:
    """What `draw_frontier` draws.

    `steps` has a row for each step, by rising cost, the person as they are first: cost, confidence,
    `safety` (NaN where dots would crowd) and the values of the features. `options` has cost,
    confidence, target, status and safety of each of the result's options, in their order. `missed`
    holds the targets without an option, and why. `complete` is False where a time limit ended the
    staircase, or where nothing proves it: then the steps are the tried points that no other beats.
    """

    steps: pd.DataFrame
    options: pd.DataFrame
    missed: dict[Target, Status]
    extra_constraints: str  # of the options, beside confidence; the steps know nothing of it
    threshold: float | None  # None where the class is to win, which is no level of confidence
    proved: bool
    complete: bool
    safety: str  # what the column counts, in words
    within_one: bool  # whether it is a probability
    cost: str
    wanted: Any


def safeties(
    result: Result, options: Sequence[Option], safety: Safety, sigma: float
) -> list[float]:
    """The safety of each: a result knows that of its own options, so it is asked as if of them."""
    every = replace(result, options=tuple(options))
    places = range(len(options))
    if safety == "radius":
        return [every.quick_radius(at) for at in places]
    return [every.robustness(at, sigma, n_copies=COPIES).probability for at in places]


def safety_words(safety: Safety, sigma: float, found: Sequence[float] = ()) -> str:
    """What the numbers of `safeties` count; of some of them they are only proved lower bounds."""
    if safety not in ("noise", "radius"):
        raise ValueError(f"safety={safety!r}; expected 'noise' or 'radius'")
    if safety == "radius":
        least = ", or a proved lower bound" if any(map(is_bound, found)) else ""
        return f"certified radius{least} (scaled units)"
    return f"robustness under noise (σ\u00a0=\u00a0{sigma:g}, ±\u00a0{WITHIN}\u00a0points)"


def frontier_info(
    result: Result,
    *,
    safety: Safety = "noise",
    sigma: float = 0.01,
    time_limit: float | None = 10.0,
    resolution: float | None = 0.01,
) -> FrontierInfo:
    """Gather the frontier of a result's person, with how safe each step is.

    `safety` is "noise", the probability that the decision is the wanted one under noise of `sigma`
    (of a model without cells, the share of noisy copies), or "radius", the certified distance to
    its loss. The time limit is for the staircase, which leads through the levels asked for and is
    as fine as the resolution, or whole if that is None. A model without cells has no staircase: the
    trials that no other beats stand for it.
    """
    result.check_model()
    recourse = result.recourse
    safety_words(safety, sigma)  # refuses an unknown one before any work
    if recourse.exact:
        levels = [t.confidence for t in result.status if t.mode == "at_least"]
        steps = recourse.frontier(
            result.factual, levels or None, resolution=resolution, time_limit=time_limit
        )
        complete = bool(steps.attrs["complete"])
    else:
        steps, complete = _unbeaten(result), False
    answers = np.array([(option.cost, option.confidence) for option in result.options])
    chosen = _apart(steps[["cost", "confidence"]].to_numpy(), answers.reshape(-1, 2))
    rows = steps[list(recourse.schema.names)].astype(object).iloc[chosen]
    codes = recourse.schema.encode(rows)
    stairs = [Option(row, code) for (_, row), code in zip(rows.iterrows(), codes, strict=True)]
    steps.insert(2, "safety", np.nan)
    on_stairs = safeties(result, stairs, safety, sigma)
    steps.loc[chosen, "safety"] = on_stairs
    of_options = safeties(result, result.options, safety, sigma)
    found = zip(result.options, of_options, strict=True)
    options = pd.DataFrame(
        [(o.cost, o.confidence, o.target.confidence, str(o.status), safe) for o, safe in found],
        columns=["cost", "confidence", "target", "status", "safety"],
    )
    words = safety_words(safety, sigma, [*on_stairs, *of_options])
    met = {option.target for option in result.options}
    return FrontierInfo(
        steps,
        options,
        {target: status for target, status in result.status.items() if target not in met},
        result.extra_constraints,
        None if result.decision.mode == "argmax" else result.decision.confidence,
        recourse.exact,
        complete,
        words,
        safety == "noise",
        recourse.cost.words,
        recourse.wanted,
    )


def _apart(steps: Floats, options: Floats) -> list[int]:
    """Which steps get a dot: the first, the last, and of the others those that do not crowd.

    Both columns rise, and scaled to the picture neither rises by more than 1, so that there are at
    most 2 / APART dots beside the first and the last, however long the staircase.
    """
    extent = np.ptp(np.vstack([steps, options]), axis=0)
    along = ((steps - steps[0]) / np.where(extent > 0, extent, 1.0)).sum(axis=1)
    chosen = [0]
    for at, place in enumerate(along):
        if place >= along[chosen[-1]] + APART:
            chosen.append(at)
    return sorted({*chosen, len(steps) - 1})


def _unbeaten(result: Result) -> pd.DataFrame:
    """Of all points a search by trial gave: those with more confidence than any cheaper one."""
    schema = result.recourse.schema
    own = pd.DataFrame([result.factual], columns=list(schema.names))
    own.insert(0, "confidence", result.confidence)
    own.insert(0, "cost", 0.0)
    tables = [
        table[list(own.columns)].astype(object)
        for table in (own, result.pareto(), result.to_frame())
        if len(table)
    ]
    table = pd.concat(tables, ignore_index=True).sort_values(
        ["cost", "confidence"], ascending=[True, False], kind="stable", ignore_index=True
    )
    before = table["confidence"].astype(float).cummax().shift(fill_value=-np.inf)
    kept = table[table["confidence"].astype(float) > before].reset_index(drop=True)
    return kept.astype({"cost": float, "confidence": float})


def draw_frontier(info: FrontierInfo, ax: Axes | None = None) -> Axes:
    """Draw the staircase: what each cost buys, shaded by how safe it is.

    A ring with a number is an option of the result, counted from 1; the cheapest yes, if it is the
    only one, has no number.
    """
    own, ax = ax is None, style.plain_axes(ax)
    steps = info.steps
    end = 1.06 * float(max([*steps["cost"], *info.options["cost"]])) or 1.0  # a little beyond all
    line: dict[str, Any] = {"color": style.GREY, "linewidth": 1.2, "zorder": 2}
    if info.proved:
        last = steps.iloc[-1:].assign(cost=end) if info.complete else steps.iloc[:0]
        stairs = pd.concat([steps[SHOWN], last[SHOWN]])
        ax.step(stairs["cost"], stairs["confidence"], where="post", **line)
    else:
        ax.plot(steps["cost"], steps["confidence"], linestyle=":", **line)
    _shaded(ax, info)
    if info.threshold is not None:
        ax.axhline(
            info.threshold, color=style.VERMILION, linestyle="--", linewidth=1.2, zorder=1,
            label=f"decision: yes from {level(info.threshold)}",
        )  # fmt: skip
    ax.scatter(
        steps["cost"][:1], steps["confidence"][:1], marker="X", s=110, color=style.WHITE,
        edgecolors=style.BLACK, linewidths=1.2, zorder=6, label="as they are", clip_on=False,
    )  # fmt: skip
    _options(ax, info)
    ax.set_xlim(-0.03 * end, end)
    _missed(ax, info)
    ax.set_xlabel(f"cost of the change ({info.cost}, scaled units)")
    ax.set_ylabel(style.wrapped(f"confidence in class {info.wanted!r}", 30))
    ax.set_title(_title(info), fontsize="medium")
    style.legend([ax], own=own)
    return ax


def _title(info: FrontierInfo) -> str:
    if not info.proved:
        return "The best that the trials found at each cost (nothing is proved)"
    if not info.complete:
        return "The most confidence that each cost can buy\n(cut short by the time limit)"
    if len(info.steps) == 1:
        return "No allowed change gives more confidence"
    return "The most confidence that each cost can buy"


def _shaded(ax: Axes, info: FrontierInfo) -> None:
    every = pd.concat([info.steps[SHOWN], info.options[SHOWN]]).dropna()
    safety = every["safety"].to_numpy(dtype=float)
    finite = safety[np.isfinite(safety)]
    most = 1.0 if info.within_one else float(max([*finite, 0.0])) or 1.0
    dots = ax.scatter(
        every["cost"], every["confidence"], c=np.minimum(safety, most), vmin=0.0, vmax=most,
        cmap=style.SHADES, s=46, edgecolors=style.BLACK, linewidths=0.7, zorder=4,
    )  # fmt: skip
    ax.scatter(
        [], [], color=style.GREY, s=46, edgecolors=style.BLACK, linewidths=0.7, label="a step"
    )
    endless = "max" if len(finite) < len(safety) else "neither"
    ax.figure.colorbar(dots, ax=ax, label=style.wrapped(info.safety, 24), extend=endless, pad=0.02)


def _options(ax: Axes, info: FrontierInfo) -> None:
    options = info.options
    if options.empty:
        return
    decided = not info.extra_constraints and options["target"].tolist() == [info.threshold]
    least = decided and options["status"][0] in (Status.OPTIMAL, Status.ALREADY_MET)
    ax.scatter(
        options["cost"], options["confidence"], marker="o", s=150, facecolors="none",
        edgecolors=style.BLACK, linewidths=1.5, zorder=5,
        label="the cheapest yes" if least else "an option of this result",
    )  # fmt: skip
    if least:
        return
    together: dict[tuple[float, float], list[str]] = {}
    for at, each in enumerate(zip(options["cost"], options["confidence"], strict=True)):
        together.setdefault(each, []).append(str(at + 1))
    for (cost, confidence), places in together.items():
        # Above the staircase is empty on the left of a step, below it on the right.
        bought = info.steps.loc[info.steps["cost"] <= cost + SLACK, "confidence"].max()
        beaten = confidence < bought - SLACK
        left = not beaten and cost > 0
        ax.annotate(
            ", ".join(places), (cost, confidence), (-8 if left else 8, -14 if beaten else 7),
            textcoords="offset points", ha="right" if left else "left", fontsize=9,
            fontweight="bold", zorder=7,
        )  # fmt: skip


def _missed(ax: Axes, info: FrontierInfo) -> None:
    """A line at each target without an option, and what is known of it."""
    why = {Status.INFEASIBLE: "out of reach", Status.NOT_FOUND: "not found"}
    more = f", {info.extra_constraints}" if info.extra_constraints else ""
    for target, status in info.missed.items():
        level = target.mode != "argmax"
        if level:
            ax.axhline(target.confidence, color=style.GREY, linestyle=":", linewidth=1.2, zorder=1)
        ax.annotate(
            f"{target.words}{more}: {why[status]}", (0.01, target.confidence if level else 0.01),
            xycoords=("axes fraction", "data" if level else "axes fraction"), xytext=(0, 2),
            textcoords="offset points",
            fontsize=style.SMALL, color="#4D4D4D",
        )  # fmt: skip
