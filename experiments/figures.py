"""The figures of Appendix C: where each method takes the paper's queries.

Two features are drawn as they are, on the surface of the model's confidence; more of them on the
first two principal components of the rows learnt from. A person is a ring, the answer a diamond in
the colour of the confidence that the method's own model has in it, so that both are seen where
nobody moves. Drawn are the answers in Table 2's rows, of the first seed where there are several;
nothing is searched again.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from experiments.paper import SEED, TITLES, split
from experiments.people import Query, recourse
from experiments.projection import projected
from trust_recourse import Option, Result, Status, Target
from trust_recourse.answers.plot import surface_info

SHOWN = {
    "Wachter, ANN": "Wachter",
    "GrowingSpheres, ANN": "GrowingSpheres",
    "PTM+TPE, 50 passes, 0.50 ± 0.1": "PTM+TPE, τ = 0.50",
    "PTM+TPE, 50 passes, 0.85 ± 0.1": "PTM+TPE, τ = 0.85",
    "Exact, vote, ≥ 0.85": "Exact, vote, at least 0.85",
    "Exact, vote, ≥ 0.85, radius 0.05": "Exact, vote, radius 0.05",
}
SHADES = {"cmap": "cividis", "vmin": 0.0, "vmax": 1.0}  # told apart by every kind of colour vision
RIM = [withStroke(linewidth=2.4, foreground="white")]  # seen on any ground
ARROW = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.0, "mutation_scale": 7,
         "shrinkA": 0, "shrinkB": 1.5, "path_effects": RIM}  # fmt: skip


def appendix_c(rows, models):
    """A figure for each table of data; `models` says which model each row of Table 2 asks."""
    found = {}
    for data in TITLES:
        methods = {}
        for name, title in SHOWN.items():
            answers = [row for row in rows if (row["row"], row["data"]) == (name, data)]
            if results := answered(answers, models[name]):
                methods[title] = results
        if methods:
            found[f"counterfactuals_{data}"] = drawn(data, methods)
    return found


def answered(rows, model):
    """The answers to the paper's queries, as results to draw."""
    return [
        result(row, model)
        for row in rows
        if row["who"] == "paper" and row["seed"] == SEED and row.get("x") is not None
    ]


def result(row, model):
    """A result as the search that wrote this row would have given it."""
    query = Query(row["data"], row["fold"], row["person"])
    door, target = recourse(model, query), Target(0.5)
    codes = np.array(row["x"])
    x = door.schema.decode(codes[None]).iloc[0]
    moved = {name: (query.x[name], x[name]) for name in x.index if query.x[name] != x[name]}
    status = Status(row["status"])
    option = Option(x, codes, moved, row["l2"], row["confidence"], status, target)
    return Result(door, query.x, row["before"], (option,), {target: status})


def drawn(data, methods):
    """The panels of one table of data, on the same axes."""
    s = split(data)
    X, y = s.X.iloc[s.learnt], s.y[s.learnt]
    figure = Figure(figsize=(10.4, 7.2), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
    if X.shape[1] == 2:
        info = surface_info(methods, X=X)
        arrows = {panel.name: panel.arrows for panel in info.panels}
        names = [feature.title for feature in info.features]
    else:
        info = projected(methods, X, y)
        arrows = info.panels
        shares = zip(("first", "second"), info.explained, strict=True)
        names = [f"{which} component ({share:.0%} of the variance)" for which, share in shares]
    for at, (ax, (name, results)) in enumerate(zip(axes, methods.items(), strict=False)):
        surface(ax, info, info.panels[at]) if X.shape[1] == 2 else scattered(ax, info)
        ends = actions(ax, arrows[name], [r.options[0].confidence for r in results])
        moved = sum(bool(result.options[0].changes) for result in results)
        ax.set_title(f"{name}\n{moved} of {len(results)} move", fontsize="medium")
        ax.set(xlabel=names[0], ylabel=names[1])
        ax.label_outer()
    for ax in axes[len(methods) :]:
        ax.set_visible(False)
    words = "confidence in class 1 of the method's own model"
    figure.colorbar(ends, ax=axes, pad=0.02, shrink=0.8, label=words)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(TITLES[data])
    return figure


def surface(ax, info, panel):
    """The confidence at every point, and the line where the decision turns."""
    ax.pcolormesh(info.along, info.up, panel.confidence, **SHADES, rasterized=True)
    yes = panel.confidence >= panel.threshold
    look = {"linewidths": 1.2, "linestyles": "--"}
    line = ax.contour(info.along, info.up, yes, levels=[0.5], colors="black", **look)
    line.set_path_effects(RIM)
    ax.plot([], [], "--", color="black", linewidth=1.2, label="where the decision turns")


def scattered(ax, info):
    """The rows learnt from, pale, by class."""
    for label, mark, grey in ((0, "s", "0.62"), (1, "^", "0.82")):
        rows = info.rows[info.classes == label]
        ax.scatter(*rows.T, marker=mark, s=11, color=grey, linewidths=0, label=f"class {label}")


def actions(ax, arrows, confidence):
    """Rings, arrows and diamonds; the diamonds, for the bar of colours."""
    for start, end in zip(arrows.start, arrows.end, strict=True):
        ax.annotate("", tuple(end), tuple(start), zorder=4, arrowprops=ARROW)
    ring = {"facecolors": "none", "edgecolors": "black", "path_effects": RIM}
    ax.scatter(*arrows.people.T, s=46, linewidths=1.0, zorder=3, label="a person", **ring)
    return ax.scatter(
        *arrows.end.T, c=confidence, **SHADES, marker="D", s=13, edgecolors="black", linewidths=0.7,
        zorder=5, label="the answer",
    )  # fmt: skip
