"""How the exact search grows with features, thresholds and clauses: measured, then drawn.

Breast cancer, at least 0.85, ten refused rows a point, both links. From the paper's settings with
all 30 features, one thing varies at a time; T stays a quarter of the clauses, as in the paper.
"""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd

from asking import LINKS, PAPER, by_kernel, read_by, refused, rows_of
from experiments.data import breast_cancer
from trust_recourse import PTMClassifier, Recourse, Schema

LEVEL = 0.85
ASKED = 10
MOST_BOXES = 10_000  # a limit that is the same on every machine
AXES = {
    "features": (5, 10, 15, 20, 25, 30),
    "thresholds": (5, 10, 20, 40, 80, 160),
    "clauses": (10, 20, 40, 80, 160),
}
USUAL = {"features": 30, "thresholds": 20, "clauses": 20}
TITLES = {
    "features": "features",
    "thresholds": "thresholds per feature, at most",
    "clauses": "clauses",
}
COLOURS = {"margin": "#0072B2", "vote": "#D55E00"}  # told apart by every kind of colour vision
MARKS = {"margin": "o", "vote": "s"}


def measure(say):
    """One row per point: the axis and where on it, the link, medians and quartiles."""
    X, y, _ = breast_cancer()
    found = {}  # the point that all axes share is measured once
    points = []
    for axis, places in AXES.items():
        for at in places:
            sizes = USUAL | {axis: at}
            key = tuple(sizes.values())
            if key not in found:
                say(f"growth: {at} {axis}")
                found[key] = _by_link(*_learnt(X, y, **sizes))
            points += [{"axis": axis, "at": at, **each} for each in found[key]]
    return pd.DataFrame(points)


def _by_link(X, model):
    for_each = {link: Recourse(read_by(link, model), cost="l2") for link in LINKS}
    return [
        {"link": link, **_asked(recourse, rows_of(refused(recourse, X, ASKED)))}
        for link, recourse in for_each.items()
    ]


def _learnt(X, y, features, thresholds, clauses):
    """A machine of this size, and the columns it has: spread evenly over the table's."""
    taken = X.iloc[:, [round(i * X.shape[1] / features) for i in range(features)]]
    sizes = {"n_clauses": clauses, "T": clauses / 4, "thresholds": thresholds}
    schema = Schema.infer(taken, guard=False)
    return taken, PTMClassifier(**PAPER | sizes, schema=schema).fit(taken, y)


def _asked(recourse, people):
    by_kernel(recourse, people[0], LEVEL, node_limit=1)  # compiles
    asked = [by_kernel(recourse, x, LEVEL, node_limit=MOST_BOXES) for x in people]
    table = pd.DataFrame(
        {"milliseconds": [a.seconds * 1e3 for a in asked], "nodes": [a.nodes for a in asked]}
    )
    low, middle, high = (table.quantile(share) for share in (0.25, 0.5, 0.75))
    return {
        "asked": len(asked),
        "proved": sum(a.proved for a in asked),
        **middle,
        **low.add_suffix("_low"),
        **high.add_suffix("_high"),
    }


def draw(points, path):
    """Boxes opened above, milliseconds below; a line for each link, quartiles shaded.

    A hollow mark says that the limit ended some of its searches, so that they needed more.
    """
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9, 5), layout="constrained")
        panels = figure.subplots(2, len(AXES), sharey="row", sharex="col")
        for column, axis in enumerate(AXES):
            for line, measure_ in enumerate(("nodes", "milliseconds")):
                _panel(panels[line, column], points[points.axis == axis], measure_)
            panels[1, column].set_xlabel(TITLES[axis])
            _ticks(panels[1, column], axis)
        panels[0, 0].set_ylabel("boxes opened")
        panels[1, 0].set_ylabel("milliseconds")
        panels[0, 0].legend(frameon=False, title="link")
        title = f"Exact search on breast cancer, at least {LEVEL}: "
        title += f"median and quartiles of {ASKED} refused rows"
        if (points.proved < points.asked).any():
            title += f"\n(hollow: some of them were ended at {MOST_BOXES:,} boxes, before a proof)"
        figure.suptitle(title)
        figure.savefig(path, dpi=150)


def _panel(ax, points, name):
    for link, part in points.groupby("link"):
        style = {"color": COLOURS[link]}
        ax.plot(part["at"], part[name], marker=MARKS[link], markersize=5, label=link, **style)
        ax.fill_between(part["at"], part[f"{name}_low"], part[f"{name}_high"], alpha=0.2, **style)
        cut = part[part.proved < part.asked]
        ax.plot(cut["at"], cut[name], MARKS[link], markersize=5, markerfacecolor="white", **style)
    ax.set_yscale("log")
    ax.grid(axis="y", alpha=0.3)


def _ticks(ax, axis):
    if axis != "features":
        ax.set_xscale("log", base=2)
    ax.set_xticks(AXES[axis], [str(at) for at in AXES[axis]])
    ax.minorticks_off()
