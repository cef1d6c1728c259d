"""What benchmarks/trees.py measured, as tables and a picture; nothing is measured here."""

from __future__ import annotations

import math
import os.path
from collections import defaultdict
from statistics import median
from typing import NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from record import write_between

LINES = (("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#009E73", "^", "-."))  # of a level each
PROVED = ("optimal", "infeasible")
NO_ANSWER = ("misses", "not_allowed", "failed")
FOUND = ("optimal", "feasible")  # allowed, and the library says that it meets the target
SAME = 1e-7  # relatively: costs this close are one
NAMES = {"ours": "TRUST", "mip": "HiGHS MIP", "treecf": "treecf exact", "ocean": "OCEAN CP"}
BEGIN = "<!-- from benchmarks/trees.py -->"


class Goal(NamedTuple):
    """What is asked of us on some models under a schema."""

    title: str
    models: tuple[str, ...]  # parts of their names
    schema: str
    share: float  # proved
    within: float  # seconds
    faster: float | None = None  # than HiGHS, in the median
    gap: float | None = None  # of what is not proved, at most


BOOSTED = ("LightGBM", "XGBoost")
GOALS = (
    Goal("50 × 8 and 100 × 8, all free", (" 50x8", " 100x8"), "free", 1.0, 10.0, 5.0),
    Goal("100 × 16 and 300 × 8, all free", (" 100x16", " 300x8"), "free", 0.95, 60.0, 3.0),
    Goal("100 × 31, all free", (" 100x31",), "free", 0.8, 60.0, None, 0.05),
    Goal("100 × 31, a lender's schema", (" 100x31",), "lender", 1.0, 60.0, 20.0),
    Goal("boosted of every size, a lender's schema", BOOSTED, "lender", 1.0, 60.0, 20.0),
    Goal("random forest 100 × depth 5, all free", ("forest",), "free", 0.9, 60.0),
    Goal("random forest, a lender's schema", ("forest",), "lender", 1.0, 60.0),
)


# ---------------------------------------------------------------- what it adds up to


def question(line):
    names = ("table", "schema", "model", "person", "level", "norm")
    return tuple(line.get(name) for name in names)


def by_who(lines):
    """The answers of each, by question."""
    found = defaultdict(dict)
    for line in lines:
        if line["section"] == "questions":
            found[line["who"]][question(line)] = line
    return found


def proved(line):
    return line["status"] in PROVED


def gap(line):
    """The share of the cost that may be saved, for all that is known; 1 where nothing is."""
    return 1.0 - (line["bound"] or 0.0) / line["cost"] if line["status"] in FOUND else 1.0


def beaten(lines):
    """Questions where somebody is cheaper than what we call optimal, or has what we deny."""
    answers = by_who(lines)
    ours = answers.pop("ours", {})
    return [
        (line, ours[key])
        for theirs in answers.values()
        for key, line in theirs.items()
        if line["status"] in FOUND
        and key in ours
        and proved(ours[key])
        and (ours[key]["status"] == "infeasible" or line["cost"] < ours[key]["cost"] * (1 - SAME))
    ]


def wrong(line, ours):
    """Whether a rival's proof is refuted by an answer of ours."""
    if ours["status"] not in FOUND or not proved(line):
        return False
    return line["status"] == "infeasible" or line["cost"] > ours["cost"] * (1 + SAME)


def spent(lines):
    return [line["seconds"] or 0.0 for line in lines]


def ratio(theirs, ours):
    """How much longer a rival takes in the median of the same questions, in words.

    Where a limit ended its median search, it is at least so much.
    """
    pairs = [
        (line, ours[key])
        for key, line in theirs.items()
        if key in ours and line["status"] != "failed"
    ]
    if not pairs:
        return math.nan, "–"
    long, short = (median(spent(each)) for each in zip(*pairs, strict=True))
    cut = sum(proved(line) for line, _ in pairs) <= len(pairs) / 2
    return long / short, f"{'≥ ' * cut}{long / short:.3g}×"


# ---------------------------------------------------------------- tables


def markdown(lines):
    """All tables, one under another; first whatever is wrong."""
    answers = by_who(lines)
    parts = [*alarms(lines)]
    if answers.get("ours"):
        parts += [_goals(answers), _by_model(answers["ours"]), _rivals(answers)]
    parts += [_many(lines), about(lines)]
    return "\n\n".join(part for part in parts if part)


def table(header, rows):
    ruled = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]]
    return "\n".join(ruled).replace("| --- ", "|---").replace("|--- |", "|---|")


def alarms(lines):
    for line, ours in beaten(lines):
        yield (
            f"**WRONG**: {', '.join(map(str, question(line)))}: {NAMES[line['who']]} has "
            f"{line['cost']!r} at {line['confidence']!r}, ours is {ours['status']} at "
            f"{ours.get('cost')!r}"
        )


def _picked(answers, goal):
    return {
        key: line
        for key, line in answers.items()
        if key[1] == goal.schema and any(part in key[2] for part in goal.models)
    }


def _goals(answers):
    rows = []
    for goal in GOALS:
        ours, mip, treecf = (
            _picked(answers.get(who, {}), goal) for who in ("ours", "mip", "treecf")
        )
        if not ours:
            continue
        in_time = [proved(line) and line["seconds"] <= goal.within for line in ours.values()]
        rest = [gap(line) for line in ours.values() if not proved(line)]
        times, told = ratio(mip, ours)
        written = {
            key: line | {"seconds": (line["seconds"] or 0.0) + (line.get("writing") or 0.0)}
            for key, line in mip.items()
        }
        met = sum(in_time) >= goal.share * len(in_time)
        met &= goal.faster is None or times >= goal.faster  # not so where nobody asked HiGHS
        met &= goal.gap is None or max(rest, default=0.0) < goal.gap
        asked = f"≥ {goal.share:.0%}" if goal.share < 1 else "all"
        asked += f" in {goal.within:.0f} s"
        asked += f", ≥ {goal.faster:g}× HiGHS" if goal.faster else ""
        asked += f", else gap < {goal.gap:.0%}" if goal.gap else ""
        rows.append(
            [
                goal.title, asked, f"{sum(in_time)} of {len(in_time)}",
                f"{median(spent(ours.values())):.2g}", f"{max(spent(ours.values())):.2g}",
                f"{max(rest):.1%}" if rest else "–", told, ratio(written, ours)[1],
                ratio(treecf, ours)[1],
                "yes" if met else "**no**",
            ]
        )  # fmt: skip
    header = ["models", "asked of us", "proved in time", "median s", "slowest s",
              "worst gap of the rest", "HiGHS MIP takes", "and writes", "treecf takes",
              "met"]  # fmt: skip
    return table(header, rows)


def _by_model(ours):
    groups = defaultdict(list)
    for key, line in ours.items():
        groups[key[1], key[2]].append(line)
    rows = []
    for (schema, model), asked in groups.items():
        done = [line for line in asked if proved(line)]
        beyond = sum(line["status"] == "infeasible" for line in done)
        rest = [gap(line) for line in asked if not proved(line)]
        rows.append(
            [
                model.replace("x", " × "), schema, f"{len({line['table'] for line in asked})}",
                f"{len(done)} of {len(asked)}", str(beyond), f"{median(spent(asked)):.2g}",
                f"{max(spent(asked)):.2g}", f"{median(line['boxes'] for line in asked):,.0f}",
                f"{median(rest):.1%}, {max(rest):.1%}" if rest else "–",
            ]
        )  # fmt: skip
    header = ["model", "schema", "tables", "proved", "of these unreachable", "median s",
              "slowest s", "boxes (median)", "gap of the rest (median, worst)"]  # fmt: skip
    return table(header, sorted(rows, key=lambda row: (row[1], row[0].split()[0])))


def _rivals(answers):
    rows = []
    ours = answers["ours"]
    for who in ("mip", "treecf", "ocean"):
        groups = defaultdict(dict)
        for key, line in answers.get(who, {}).items():
            if key in ours:
                groups[key[1], key[2]][key] = line
        for (schema, model), theirs in groups.items():
            same = [ours[key] for key in theirs]
            costs = [
                line["cost"] / ours[key]["cost"] for key, line in theirs.items()
                if line["status"] in FOUND and ours[key]["status"] in FOUND
            ]  # fmt: skip
            no_answer = sum(line["status"] in NO_ANSWER for line in theirs.values())
            rows.append(
                [
                    NAMES[who], model.replace("x", " × "), schema,
                    f"{sum(map(proved, same))} of {len(same)}",
                    f"{sum(map(proved, theirs.values()))} of {len(theirs)}",
                    str(sum(wrong(line, ours[key]) for key, line in theirs.items())),
                    f"{median(spent(same)):.2g}", f"{median(spent(theirs.values())):.2g}",
                    ratio(theirs, ours)[1],
                    f"{median(costs):.2f}, {max(costs):.2f}" if costs else "–", str(no_answer),
                ]
            )  # fmt: skip
    header = ["who", "model", "schema", "we prove", "they prove", "of these refuted",
              "our median s", "their median s", "they take", "their cost / ours (median, worst)",
              "missed, not allowed or failed"]  # fmt: skip
    return table(header, rows) if rows else ""


def _many(lines):
    rows = [
        [
            NAMES[line["who"]], f"{line['rows']:,}", f"{line['proved']:,}",
            f"{line['rows'] / line['seconds']:.3g}", f"{line['limit']:g}",
        ]
        for line in lines
        if line["section"] == "many"
    ]  # fmt: skip
    header = ["everybody: HELOC, LightGBM 100 × 8, lender's schema, 2 cores", "rows", "proved",
              "rows a second", "seconds a row at most"]  # fmt: skip
    return table(header, rows) if rows else ""


def about(lines):
    runs = [line for line in lines if line["section"] == "run"]
    reading = [line["seconds"] for line in lines if line["section"] == "read"]
    said = []
    if reading:
        said.append(f"Reading a model takes {max(reading):.2f} s at most, once.")
    if runs:
        last = runs[-1]
        versions = ", ".join(f"{name} {number}" for name, number in last["versions"].items())
        said.append(f"{last['machine']}; Python {last['python']}; {versions}; {last['load']}.")
    limits = sorted({line["limit"] for line in lines if line["section"] == "questions"})
    if limits:
        said.append(f"At most {' or '.join(f'{limit:g}' for limit in limits)} s a question.")
    commits = sorted({line["commit"] for line in lines})
    if len(commits) > 1:
        said.append(f"Its rows were measured at several commits: {', '.join(commits)}.")
    return " ".join(said)


def write_into(page, lines, picture):
    """The tables, and the picture if there is one, between the two marks of a page."""
    shown = markdown(lines)
    if picture.exists():
        path = os.path.relpath(picture, page.parent)
        shown += f"\n\n![Boxes and seconds by the size of a model]({path})"
    write_between(page, BEGIN, shown)


# ---------------------------------------------------------------- growth

TITLES = {
    "trees": "trees of 8 leaves",
    "leaves": "leaves of 100 trees",
    "free": "free features, 100 × 8",
}
NODES, SECONDS = "boxes opened", "seconds"


def growth_points(lines):
    """Median and quartiles of each place on each axis, by level."""
    asked = pd.DataFrame([line for line in lines if line["section"] == "growth"])
    asked["open"] = ~asked["status"].isin(PROVED)
    asked["boxes"] = asked["boxes"].clip(lower=1)  # a log has no place for none
    asked = asked.rename(columns={"boxes": NODES, "seconds": SECONDS})
    groups = asked.groupby(["axis", "at", "level"])
    low, middle, high = (groups[[NODES, SECONDS]].quantile(q) for q in (0.25, 0.5, 0.75))
    points = middle.join(low.add_suffix(" low")).join(high.add_suffix(" high"))
    return points.join(groups["open"].sum()).join(groups.size().rename("asked")).reset_index()


def draw_growth(lines, path, axes):
    """Boxes above, seconds below; a line for each level, quartiles shaded.

    A hollow mark says that a limit ended some of its searches, so that they needed more.
    """
    points = growth_points(lines)
    with mpl.rc_context({"font.size": 10}):
        figure = Figure(figsize=(10, 5.6), layout="constrained")
        panels = figure.subplots(2, len(axes), sharey="row", sharex="col")
        for column, (axis, places) in enumerate(axes.items()):
            for row, name in enumerate((NODES, SECONDS)):
                _panel(panels[row, column], points[points["axis"] == axis], name)
            bottom = panels[1, column]
            bottom.set_xlabel(TITLES[axis])
            bottom.set_xscale("log" if axis != "free" else "linear")
            bottom.set_xticks(places, [str(at) for at in places])
            bottom.minorticks_off()
        panels[0, 0].set_ylabel(NODES)
        panels[1, 0].set_ylabel(SECONDS)
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
            frameon=False,
        )  # fmt: skip
        title = (
            f"Proof on LightGBM, HELOC, L1: median and quartiles of {points['asked'].max()} rows"
        )
        if points["open"].any():
            title += "\n(hollow: some of them were ended by the limit, before a proof)"
        figure.suptitle(title)
        figure.savefig(path, dpi=150, metadata={"Software": None})


def _panel(ax, points, name):
    for (level, part), (colour, mark, dashes) in zip(points.groupby("level"), LINES, strict=False):
        look = {"color": colour, "marker": mark, "markersize": 5}
        ax.plot(part["at"], part[name], linestyle=dashes, label=f"at least {level:g}", **look)
        ax.fill_between(
            part["at"], part[f"{name} low"], part[f"{name} high"], color=colour, alpha=0.15,
            linewidth=0,
        )  # fmt: skip
        cut = part[part["open"] > 0]
        ax.plot(cut["at"], cut[name], linestyle="", markerfacecolor="white", **look)
    ax.set_yscale("log")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
