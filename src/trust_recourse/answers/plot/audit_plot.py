"""An audit in pictures: cost curves by group, differences, what is asked for, and confidences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trust_recourse.answers.plot import style
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import level, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.population.audit.gather import Audit, GroupedPart
    from trust_recourse.population.audit.intervals import MeasuredGroup

TOGETHER = 3  # groups on one panel; more get a panel each, beside the reference
ACROSS = 3  # panels in a row
MOST = 8  # features, of those asked for most
NAMED = 26  # characters of a group's name
DRAWN = 12  # groups beside the reference, of those with the most refused


def _drawn(part: GroupedPart, most: int = DRAWN) -> tuple[list[MeasuredGroup], int]:
    """The groups to draw, in their order, and how many smaller ones are left out."""
    order = sorted(part.groups, key=lambda each: -each.group.refused)
    others = [each for each in order if each.group.name != part.reference]
    chosen = {part.reference, *(each.group.name for each in others[:most])}
    drawn = [each for each in part.groups if each.group.name in chosen]
    return drawn, len(part.groups) - len(drawn)


def _label(name: str, people: int, what: str) -> str:
    """A group's name, not too long, and in brackets that no line breaks apart how many it is of."""
    return f"{style.shortened(name, NAMED)} " + f"({people:,} {what})".replace(" ", "\u00a0")


def _without(left_out: int) -> str:
    return f" (without {left_out} smaller groups)" if left_out else ""


# ---------------------------------------------------------------- cost curves


@dataclass(frozen=True, eq=False)
class CurvesInfo:
    """What `draw_curves` draws: by group its label, and share, low and high at each cost."""

    by: str
    cost: str
    confidence: float
    grid: Floats
    groups: dict[str, tuple[Floats, Floats, Floats]]
    labels: dict[str, str]
    reference: str
    left_out: int  # groups, of those with the fewest refused


def curves_info(audit: Audit, part: int = 0) -> CurvesInfo:
    """Gather the share of the refused who are accepted at a cost of at most c, by group."""
    told = audit.parts[part]
    groups, left_out = _drawn(told)
    curves = {each.group.name: each.curve for each in groups if each.group.refused}
    return CurvesInfo(
        told.title,
        audit.cost,
        audit.confidence,
        told.groups[0].curve.grid,
        {name: (curve.share, curve.low, curve.high) for name, curve in curves.items()},
        {each.group.name: _label(each.group.name, each.group.refused, "refused")
         for each in groups},
        told.reference,
        left_out,
    )  # fmt: skip


def draw_curves(info: CurvesInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw the curves with bands of 95%: all on one panel, or each beside the reference."""
    names = list(info.groups)
    asked = f"What a cost buys the refused, by {info.by} (confidence {level(info.confidence)})"
    title = asked + _without(info.left_out)
    if len(names) <= TOGETHER:
        drawn = style.panels(axes, 1, 1)
        for at, name in enumerate(names):
            _draw_curve(drawn[0], info, name, style.LINES[at])
        drawn[0].set_title(style.titled(title), fontsize="medium")
    else:
        others = [name for name in names if name != info.reference]
        drawn = _small_panels(axes, len(others), style.SIZE[0] * 1.25, 2.3)
        for ax, name in zip(drawn, others, strict=True):
            if info.reference in info.groups:
                _draw_curve(ax, info, info.reference, (style.GREY, "", "--"))
            _draw_curve(ax, info, name, (style.BLUE, "", "-"), label="the group of the panel")
            ax.set_title(style.titled(info.labels[name], 30), fontsize=style.SMALL)
        drawn[0].figure.suptitle(style.titled(title, 70), fontsize="medium")
    for ax in drawn:
        style.plain_frame(ax)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlim(0.0, max(float(info.grid[-1]), 1e-9))
    for ax in drawn[-ACROSS:]:
        ax.set_xlabel(f"cost of at most ({info.cost})", fontsize=9)
    for ax in drawn[:: ACROSS if len(drawn) > 1 else 1]:
        ax.set_ylabel("share of the refused\nwho are then accepted", fontsize=9)
    if not names:
        style.note(drawn[0], "nobody is refused")
    style.legend(drawn, own=axes is None)
    return tuple(drawn)


def _draw_curve(ax: Axes, info: CurvesInfo, name: str, look: Any, label: str = "") -> None:
    colour, _, dashes = look
    share, low, high = info.groups[name]
    ax.fill_between(info.grid, low, high, step="post", color=colour, alpha=0.16, linewidth=0)
    ax.step(
        info.grid, share, where="post", color=colour, linestyle=dashes, linewidth=1.6,
        label=label or info.labels[name],
    )  # fmt: skip


def _small_panels(axes: Sequence[Axes] | None, count: int, wide: float, tall: float) -> list[Axes]:
    """The axes given, or a grid so wide, with rows so tall, whose other places are left empty."""
    if axes is not None:
        return style.panels(axes, 1, count)
    columns = min(ACROSS, count)
    rows = math.ceil(count / columns)
    drawn = list(style.new_axes((wide, tall * rows + 0.9), rows, columns, sharex=True, sharey=True))
    for ax in drawn[count:]:
        ax.set_axis_off()
    for ax in drawn[:count]:
        ax.xaxis.set_tick_params(labelbottom=True)
    return drawn[:count]


# ---------------------------------------------------------------- differences


@dataclass(frozen=True, eq=False)
class ForestInfo:
    """What `draw_forest` draws: rows of difference, low, high by measure and group."""

    by: str
    reference: str
    groups: tuple[str, ...]
    measures: dict[str, str]  # in words
    rows: dict[tuple[str, str], tuple[float, float, float]]  # measure, group
    few: frozenset[tuple[str, str]]
    clear: frozenset[tuple[str, str]]
    left_out: int  # groups, of those with the fewest refused


WORDS = {
    "refused": "refused, points",
    "reach": "can reach the target, points",
    "capped_cost": "cost of all refused, counted up to {cap}",
    "mean_cost": "mean cost of those who can",
}
POINTS = ("refused", "reach")


def forest_info(audit: Audit, part: int = 0) -> ForestInfo:
    """Gather the differences of every group from the reference."""
    told = audit.parts[part]
    groups, left_out = _drawn(told)
    drawn = {each.group.name for each in groups}
    chosen = [each for each in told.comparisons if each.measure in WORDS and each.group in drawn]
    rows = {}
    for each in chosen:
        scale = 100.0 if each.measure in POINTS else 1.0
        low, high = each.difference.interval
        at = (each.measure, each.group)
        rows[at] = (scale * each.difference.value, scale * low, scale * high)
    told_of = {group for (_, group), row in rows.items() if np.isfinite(row[0])}
    names = tuple(dict.fromkeys(each.group for each in chosen if each.group in told_of))
    cap = "the cap" if np.isnan(told.cap) else significant(told.cap, 3)
    measures = {measure: words.format(cap=cap) for measure, words in WORDS.items()}
    few = frozenset((each.measure, each.group) for each in chosen if each.few)
    clear = frozenset((each.measure, each.group) for each in chosen if each.clear)
    return ForestInfo(told.title, told.reference, names, measures, rows, few, clear, left_out)


def draw_forest(info: ForestInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw a panel for each measure: the difference of each group, with its interval of 95%."""
    if axes is None:
        tall = 2 * (0.34 * max(len(info.groups), 1) + 1.0) + 0.9
        drawn = list(style.new_axes((style.SIZE[0] * 1.15, tall), 2, 2, sharey=True))
    else:
        drawn = style.panels(axes, 1, len(info.measures))
    places = range(len(info.groups))
    names = [style.wrapped(style.shortened(g, 2 * NAMED), NAMED) for g in info.groups]
    for ax, (measure, words) in zip(drawn, info.measures.items(), strict=True):
        style.plain_frame(ax)
        for place, group in zip(places, info.groups, strict=True):
            _draw_difference(ax, info, place, (measure, group))
        ax.set_yticks(list(places), names, fontsize=style.SMALL)
        ax.set_ylim(len(info.groups) - 0.4, -0.6)
        ax.locator_params(axis="x", nbins=6)
        ax.set_title(style.titled(words, 40), fontsize=9)
        if not any(np.isfinite(info.rows[measure, g][0]) for g in info.groups):
            style.note(ax, "nothing to compare")
            ax.set_xticks([])
        else:
            ax.axvline(0.0, color=style.BLACK, linewidth=1.0, zorder=1)
    words = f"Differences by {info.by}, from the group “{info.reference}”{_without(info.left_out)}"
    drawn[0].figure.suptitle(style.titled(words, 70), fontsize="medium")
    style.legend(drawn, own=axes is None)
    return tuple(drawn)


def _draw_difference(ax: Axes, info: ForestInfo, place: int, at: tuple[str, str]) -> None:
    value, low, high = info.rows[at]
    if not np.isfinite(value):
        return
    colour, mark, face, words = style.BLUE, "o", style.WHITE, "not clear"
    if at in info.few:
        colour, mark, face = style.GREY, "x", style.GREY
        words = "too few people: read nothing into it"
    elif at in info.clear:
        mark, face, words = "D", style.BLUE, "clear, all comparisons allowed for"
    ax.plot([low, high], [place, place], color=colour, linewidth=1.4, zorder=2)
    ax.plot(
        [value], [place], linestyle="none", marker=mark, markersize=6, color=colour,
        markerfacecolor=face, label=words, zorder=3,
    )  # fmt: skip


# ---------------------------------------------------------------- what is asked for


@dataclass(frozen=True, eq=False)
class AskedInfo:
    """What `draw_asked` draws: by group the share asked to change each feature, low and high."""

    by: str
    features: tuple[str, ...]  # in words, those asked for most first
    groups: dict[str, Floats]  # (features, 3)
    labels: dict[str, str]
    left_out: int  # groups, of those with the fewest refused


def asked_info(audit: Audit, part: int = 0) -> AskedInfo:
    """Gather how often each feature is asked to change, of those who can reach the target."""
    told = audit.parts[part]
    drawn, left_out = _drawn(told)
    groups = [each for each in drawn if each.group.reached]
    total = {name: sum(each.group.asked[name] for each in groups) for name in audit.titles}
    order = sorted((name for name in total if total[name]), key=lambda name: -total[name])[:MOST]
    rows = {
        each.group.name: np.array(
            [(each.asked[name].value, *each.asked[name].interval) for name in order]
        ).reshape(-1, 3)
        for each in groups
    }
    labels = {
        each.group.name: _label(each.group.name, each.group.reached, "who can") for each in groups
    }
    features = tuple(audit.titles[name] for name in order)
    return AskedInfo(told.title, features, rows, labels, left_out)


def draw_asked(info: AskedInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw a panel for each group: how many of those who can are asked to change what."""
    tall = 0.24 * max(len(info.features), 2) + 0.75
    drawn = _small_panels(axes, max(len(info.groups), 1), style.SIZE[0] * 1.15, tall)
    places = np.arange(len(info.features))
    for ax, (name, told) in zip(drawn, info.groups.items(), strict=False):
        style.plain_frame(ax)
        ax.barh(places, told[:, 0], color=style.BLUE, height=0.62)
        ax.hlines(places, told[:, 1], told[:, 2], color=style.BLACK, linewidth=1.2, label="95%")
        ax.set_yticks(
            places,
            [style.wrapped(style.shortened(f, NAMED), NAMED) for f in info.features],
            fontsize=style.SMALL,
        )
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlim(0, 1.12)
        ax.set_xticks([0.0, 0.5, 1.0])
        ax.set_title(style.titled(info.labels[name], 26), fontsize=style.SMALL)
        ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f}%")
        ax.xaxis.set_tick_params(labelsize=style.SMALL)
    if not info.groups:
        drawn[0].set_axis_off()
        style.note(drawn[0], "nobody who is refused can reach the target")
    words = f"What those who can are asked to change, by {info.by}{_without(info.left_out)}"
    drawn[0].figure.suptitle(style.titled(words, 70), fontsize="medium")
    return tuple(drawn)


# ---------------------------------------------------------------- several confidences


@dataclass(frozen=True, eq=False)
class LevelsInfo:
    """What `draw_levels` draws: by group, at each confidence, shares and mean costs (n, 3)."""

    by: str
    cost: str
    levels: tuple[float, ...]
    groups: dict[str, tuple[Floats, Floats]]
    labels: dict[str, str]
    left_out: int  # groups, of those with the fewest refused


def levels_info(audit: Audit, part: int = 0) -> LevelsInfo:
    """Gather what several confidences cost, of the people whom the model was asked about."""
    told: GroupedPart = audit.parts[part]
    if not told.sampled:
        raise ValueError("this audit did not ask the model; give it: Audit.of(..., model=model)")
    groups, labels = {}, {}
    largest = {each.group.name for each in _drawn(told, len(style.LINES) - 1)[0]}
    for each in (each for each in told.sampled if each.group in largest):
        shares = [(s.reach.value, *s.reach.interval) for s in each.frontier]
        costs = [(s.mean_cost.value, *s.mean_cost.interval) for s in each.frontier]
        groups[each.group] = (np.array(shares), np.array(costs))
        labels[each.group] = _label(each.group, each.asked, "asked")
    levels = tuple(step.confidence for step in told.sampled[0].frontier)
    left_out = len(told.sampled) - len(groups)
    return LevelsInfo(told.title, audit.cost, levels, groups, labels, left_out)


def draw_levels(info: LevelsInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw the share that reaches each confidence, and below it what that costs those who do."""
    drawn = style.panels(axes, 2, 1, 5.2, sharex=True)
    shift = 0.12 * float(np.min(np.diff(info.levels))) if len(info.levels) > 1 else 0.0
    for at, (name, label) in enumerate(info.labels.items()):
        colour, mark, dashes = style.LINES[at]
        x = np.array(info.levels) + (at - (len(info.groups) - 1) / 2) * shift / 2
        for ax, told in zip(drawn, info.groups[name], strict=True):
            style.plain_frame(ax)
            ax.plot(
                x, told[:, 0], color=colour, marker=mark, linestyle=dashes, linewidth=1.2,
                markersize=4.5, label=label,
            )  # fmt: skip
            ax.vlines(x, told[:, 1], told[:, 2], color=colour, linewidth=1.0, alpha=0.7)
    drawn[0].set_ylim(-0.03, 1.03)
    drawn[1].set_ylim(bottom=0.0)
    drawn[0].set_ylabel("share of the refused\nwho can reach it", fontsize=9)
    drawn[1].set_ylabel(f"mean cost of those\nwho can ({info.cost})", fontsize=9)
    drawn[1].set_xlabel("confidence asked for")
    title = f"What more confidence takes, by {info.by}{_without(info.left_out)}"
    drawn[0].set_title(style.titled(title), fontsize="medium")
    style.legend(drawn, own=axes is None)
    return tuple(drawn)
