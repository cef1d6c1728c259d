"""The pictures that explain: `python docs/sketches.py` draws them into docs/pictures.

Each but one is of a real model, small enough to see: two columns of German credit and at most eight
thresholds for each.
"""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.patches import Ellipse, Patch, Rectangle

from trust_recourse import PTMClassifier, Recourse, Schema, german_credit
from trust_recourse.answers.plot.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SHADES,
    SKY,
    VERMILION,
    WHITE,
    new_axes,
)
from trust_recourse.certificate.record import REASONS

PICTURES = Path(__file__).parent / "pictures"
COLUMNS = ["duration", "amount"]
APPLICANT = {"duration": 48, "amount": 7000}
TARGET = 0.7
HIGHEST = 10_000  # DM: nothing changes in the model above
WIDE = (9.0, 3.6)


@cache
def asked():
    """The small model, with what an applicant may change: both columns, any way."""
    X, y = german_credit()
    schema = (
        Schema.infer(X[COLUMNS], guard=False)
        .update("duration", unit="months")
        .update("amount", unit="DM")
    )
    model = PTMClassifier(
        20, s=1.5, T=5, epochs=30, thresholds=8, binning="rows", validation_fraction=0.0,
        link="margin", use_protected=True, schema=schema, random_state=0,
    )  # fmt: skip
    return Recourse(model.fit(X[COLUMNS], y), schema, cost="l2")


def edges(recourse):
    """Where the cells of each column begin and end, within what is shown."""
    return [
        np.array([feature.lower, *thresholds, feature.upper])
        for feature, thresholds in zip(recourse.schema, recourse.model.thresholds_, strict=True)
    ]


def draw_cells(ax, recourse, shade=1.0, line=True):
    """The confidence of every cell, and the line between no and yes."""
    along, up = edges(recourse)
    grid = np.stack(np.meshgrid(along[1:], up[1:]), axis=-1).reshape(-1, 2)  # a cell's right end
    rows = pd.DataFrame(grid, columns=COLUMNS)
    confidence = recourse.model.predict_proba(rows)[:, 1].reshape(len(up) - 1, len(along) - 1)
    mesh = ax.pcolormesh(
        along, up, confidence, cmap=SHADES, vmin=0.2, vmax=1.0, alpha=shade, edgecolors="none"
    )
    yes = confidence >= 0.5
    for r, c in np.argwhere(yes[:, 1:] != yes[:, :-1]) if line else ():
        ax.plot([along[c + 1]] * 2, up[[r, r + 1]], color=VERMILION, lw=2.5)
    for r, c in np.argwhere(yes[1:] != yes[:-1]) if line else ():
        ax.plot(along[[c, c + 1]], [up[r + 1]] * 2, color=VERMILION, lw=2.5)
    ax.set(xlabel="duration (months)", ylabel="amount (DM)")
    ax.set(xlim=(along[0], along[-1]), ylim=(up[0], HIGHEST))
    return mesh


def draw_grid(ax, recourse):
    """Lines at the thresholds."""
    along, up = edges(recourse)
    ax.vlines(along[1:-1], up[0], up[-1], color=WHITE, lw=0.6, zorder=1.5)
    ax.hlines(up[1:-1], along[0], along[-1], color=WHITE, lw=0.6, zorder=1.5)


def mark(ax, point, words, symbol="X", offset=(6, 6)):
    """A point with a word beside it."""
    x, y = point["duration"], point["amount"]
    ax.plot(x, y, symbol, color=WHITE, markeredgecolor=BLACK, markersize=9, zorder=5)
    box = {"boxstyle": "round,pad=0.2", "facecolor": WHITE, "edgecolor": "none", "alpha": 0.85}
    ax.annotate(
        words, (x, y), xytext=offset, textcoords="offset points", fontsize=8, bbox=box, zorder=6
    )


# ---------------------------------------------------------------- the machine


def cells():
    """Confidence is one number for each product of cells."""
    recourse = asked()
    result = recourse.find(APPLICANT, 0.6)
    (ax,) = new_axes((6.4, 4.2))
    mesh = draw_cells(ax, recourse)
    draw_grid(ax, recourse)
    candidates = result.certificate().proof.candidates
    along, up = np.meshgrid(*candidates)
    ax.plot(along.ravel(), up.ravel(), ".", color=BLACK, markersize=4)
    mark(ax, APPLICANT, "applicant")
    ax.figure.colorbar(mesh, label="confidence in class 1")
    ax.set_title(
        "One confidence for each cell; a dot is the value of it that costs the applicant least\n"
        "(red: where no becomes yes)",
        fontsize=9,
    )
    return ax.figure


def clause():
    """From inclusion probabilities to a clause's firing, and from firings to the vote."""
    recourse = asked()
    model = recourse.model
    thresholds = model.thresholds_[0]
    m, o = len(thresholds), model.inclusion_.shape[1] // 2
    below, above = model.inclusion_[:, :m], model.inclusion_[:, o : o + m]
    j = int(below.sum(axis=1).argmax())
    factors = [
        math.prod(1 - below[j, :c]) * math.prod(1 - above[j, c:]) for c in range(m + 1)
    ]  # of the literals false in cell c
    left, middle, right = new_axes(WIDE, 1, 3)
    at = np.arange(m)
    left.bar(at - 0.2, below[j], 0.4, color=BLUE, label="duration ≤ t")
    left.bar(at + 0.2, above[j], 0.4, color=ORANGE, hatch="//", label="duration > t")
    left.set_xticks(at, [f"{t:g}" for t in thresholds], fontsize=7)
    left.set(xlabel="threshold t", ylabel="probability π to be in the clause")
    left.set_title(f"the literals of clause {j}", fontsize=9)
    left.legend(fontsize=7)
    along = edges(recourse)[0]
    middle.stairs(factors, along, color=BLUE, lw=2)
    middle.set(xlabel="duration (months)", ylabel="factor Π (1 − π)", ylim=(0, 1.05))
    middle.set_title("what the column leaves of its firing", fontsize=9)
    law = model.vote_distribution(pd.DataFrame([APPLICANT])).iloc[0]
    likely = law[law > 1e-3]
    right.bar(likely.index, likely, color=[GREEN if v >= 0 else GREY for v in likely.index])
    right.set(xlabel="vote v", ylabel="probability (bars)", ylim=(0, 1.15 * likely.max()))
    link = right.twinx()
    votes = np.array(likely.index, dtype=float)
    T = model.T
    link.plot(votes, (np.clip(votes, -T, T) + T) / (2 * T), color=VERMILION, lw=2)
    link.set(ylim=(0, 1), ylabel="margin link g(v) (line)")
    mean = recourse.confidence(APPLICANT)
    right.set_title(f"the law of the vote: E g(v) = {mean:.3f}", fontsize=9)
    return left.figure


# ---------------------------------------------------------------- the search


def leaves(proof):
    """The boxes of a proof that were ruled out: first and last candidate, and the reason."""
    last = [len(codes) - 1 for codes in proof.candidates]
    open_, found = [([0] * len(last), last)], []
    for feature, cut in zip(proof.feature.tolist(), proof.cut.tolist(), strict=True):
        low, high = open_.pop()  # preorder: the left part comes next
        if feature < 0:
            found.append((low, high, REASONS[-1 - feature]))
            continue
        right, left = list(low), list(high)
        right[feature], left[feature] = cut + 1, cut
        open_ += [(right, high), (low, left)]
    return found


LOOKS = {  # of a box, by the reason that it was ruled out for
    "cost": ("dearer than the answer", {"edgecolor": GREY, "hatch": "..."}),
    "confidence": ("all of it misses the target", {"edgecolor": VERMILION, "hatch": "\\\\\\"}),
    "priced": ("too dear at a price for confidence", {"edgecolor": BLUE, "hatch": "///"}),
    "point": ("a single point that misses it", {"edgecolor": ORANGE, "hatch": "xxx"}),
}


def boxes():
    """Why nothing cheaper will do: the boxes of a proof, each with its reason."""
    recourse = asked()
    result = recourse.find(APPLICANT, TARGET)
    answer, proof = result.options[0], result.certificate().proof
    (ax,) = new_axes((6.8, 4.4))
    draw_cells(ax, recourse, shade=0.25, line=False)
    shown = {}
    for low, high, reason in leaves(proof):
        words, look = LOOKS[reason]
        (x, right), (y, top) = (
            ends(recourse, f, proof.candidates[f][[low[f], high[f]]]) for f in (0, 1)
        )
        ax.add_patch(Rectangle((x, y), right - x, top - y, facecolor="none", lw=1.5, **look))
        shown[reason] = Patch(facecolor="none", label=words, **look)
    widths = (2 * answer.cost * feature.scale for feature in recourse.schema)
    circle = Ellipse(tuple(APPLICANT.values()), *widths, fill=False, ls="--", lw=1.5)
    circle.set_label("as dear as the answer")
    ax.add_patch(circle)
    mark(ax, APPLICANT, "applicant")
    mark(ax, answer.x, "the answer", "o", (-10, -16))
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2, "frameon": False}
    ax.legend(handles=[*shown.values(), circle], fontsize=7, **below)
    ax.set_title(
        f"At least {TARGET}: whatever is cheaper than the answer lies in a box that is ruled out",
        fontsize=9,
    )
    return ax.figure


def ends(recourse, f, codes):
    """Where the cells of two candidates begin and end."""
    a, b = np.searchsorted(recourse.model.thresholds_[f], codes)
    return edges(recourse)[f][[a, b + 1]]


def lines():
    """The linear condition: exp lies between a secant and a tangent."""
    low, high = -2.2, -0.1
    S = np.linspace(low - 0.4, high + 0.15, 200)
    slope = (math.exp(high) - math.exp(low)) / (high - low)
    touch = math.log(slope)
    (ax,) = new_axes((6.0, 3.4))
    ax.axvspan(low, high, color=SKY, alpha=0.2, lw=0)
    ax.plot(S, np.exp(S), color=BLACK, lw=2, label="q + E = exp(S), what the clause does")
    ax.plot(S, math.exp(low) + slope * (S - low), "--", color=BLUE, label="secant: an upper bound")
    ax.plot(
        S, slope * (1 + S - touch), "-.", color=VERMILION, label="parallel tangent: a lower bound"
    )
    ax.plot([low, high], np.exp([low, high]), "o", color=BLUE)
    ax.plot(touch, slope, "o", color=VERMILION)
    ax.set(xlabel="S = Σ log F, a sum over features", ylim=(-0.15, 1.05))
    ax.text((low + high) / 2, -0.11, "the range of S on the box", ha="center", fontsize=8)
    ax.legend(fontsize=8, loc="upper left")
    ax.set_title("Between two lines, a clause becomes a sum", fontsize=9)
    return ax.figure


def radius():
    """The cheapest answer sits on an edge; a safer one has a certified box around it."""
    recourse = asked()
    cheap = recourse.find(APPLICANT, 0.5)
    safer = recourse.find(APPLICANT, 0.5, min_radius=0.04, continuous=True)
    (ax,) = new_axes((6.4, 4.2))
    mesh = draw_cells(ax, recourse)
    draw_grid(ax, recourse)
    for result, words, offset in ((cheap, "cheapest", (14, 18)), (safer, "safer", (40, -4))):
        option, certified = result.options[0], result.radius(0, continuous=True)
        width, height = (certified * feature.scale for feature in recourse.schema)
        ax.add_patch(
            Rectangle(
                (option.x["duration"] - width, option.x["amount"] - height),
                2 * width,
                2 * height,
                fill=False,
                lw=1.8,
                ls="--",
            )
        )
        label = f"{words}: cost {option.cost:.3f}, radius {certified:.3f}"
        mark(ax, option.x, label, "o", offset)
    mark(ax, APPLICANT, "applicant")
    ax.figure.colorbar(mesh, label="confidence in class 1")
    ax.set(xlim=(30, 72), ylim=(1_500, 7_800))
    ax.set_title("Inside the dashed box the answer stays yes (red: where it is lost)", fontsize=9)
    return ax.figure


LAYERS = (  # from the top: imports go down only
    (("cli", "commands"), ("web", "service and page")),
    (("population", "many people: batch, audit"),),
    (("ledger", "promises"), ("report", "letters, evidence, model report")),
    (("answers", "Recourse, Result, explain, plot, robustness"),),
    (("search", "engines, exact first"), ("certificate", "proofs and their checker")),
    (("models", "the seam, sums, Tsetlin machines, readers of libraries"),),
    (("question", "what is asked, its cost, its targets"), ("data", "example tables")),
    (("schema", "what a row means and where it may go"),),
    (("io", "files, tables, text, processes"),),
)
NATIVE = "_native", "C++: search, bounds, training (called by models and search)"


def layers():
    """The packages, one row a layer."""
    (ax,) = new_axes((7.2, 5.6))
    rows = [*LAYERS, (NATIVE,)]
    for at, row in enumerate(rows):
        width = 10.0 / len(row)
        for place, (name, words) in enumerate(row):
            corner = place * width + 0.05, -at + 0.1
            shade = GREY if row[0] is NATIVE else SKY
            ax.add_patch(
                Rectangle(corner, width - 0.1, 0.8, fc=shade, alpha=0.35, ec=BLACK, lw=0.6)
            )
            middle = corner[0] + width / 2 - 0.05
            ax.text(middle, -at + 0.62, name, ha="center", va="center", weight="bold")
            ax.text(middle, -at + 0.3, words, ha="center", va="center", fontsize=8)
    ax.annotate(
        "", (10.3, -len(LAYERS) + 1.2), (10.3, 0.8), arrowprops={"arrowstyle": "->", "color": BLACK}
    )
    ax.text(10.45, -len(LAYERS) / 2 + 1, "imports", rotation=90, va="center", fontsize=9)
    ax.set(xlim=(-0.1, 10.8), ylim=(-len(rows) + 1, 1.0))
    ax.set_axis_off()
    return ax.figure


PATH = (
    # package, on the way down, on the way up
    ("answers", "Recourse.find checks the question\nand that the model is still the same",
     "an Option in the person's values;\ncost and confidence are computed again"),
    ("schema", "reads the person and computes\nthe allowed values",
     "checks the action set and the relations"),
    ("search", "chooses the engine; finds the cheapest\nvalue of each cell",
     "checks every point found"),
    ("models", "removes cells that no cheaper answer\nuses; prepares the bounds",
     "computes the score of a point\nin the library's own floats"),
)  # fmt: skip


def question():
    """The path of a question, down through the packages and up again."""
    (ax,) = new_axes((7.2, 4.6))
    left, right, width = 1.6, 6.2, 4.3
    for at, (package, down, up) in enumerate(PATH):
        ax.text(left - 0.25, -at + 0.5, package, ha="right", va="center", weight="bold")
        for corner, words in ((left, down), (right, up)):
            ax.add_patch(
                Rectangle((corner, -at + 0.15), width, 0.7, fc=SKY, alpha=0.35, ec=BLACK, lw=0.6)
            )
            ax.text(corner + width / 2, -at + 0.5, words, ha="center", va="center", fontsize=8)
    bottom = -len(PATH)
    ax.add_patch(
        Rectangle(
            (left, bottom + 0.15), right + width - left, 0.7, fc=GREY, alpha=0.35, ec=BLACK, lw=0.6
        )
    )
    ax.text(left - 0.25, bottom + 0.5, "_native", ha="right", va="center", weight="bold")
    words = "branch and bound: splits boxes, asks the kernel for bounds, discards boxes"
    ax.text((left + right + width) / 2, bottom + 0.5, words, ha="center", va="center", fontsize=8)
    for at in range(len(PATH)):
        top, end = -at + 0.15, -at - 0.15
        for x, ends in ((left + width / 2, (end, top)), (right + width / 2, (top, end))):
            ax.annotate(
                "", (x, ends[0]), (x, ends[1]), arrowprops={"arrowstyle": "->", "color": BLACK}
            )
    for x, words in ((left, "question"), (right, "answer")):
        ax.text(x + width / 2, 1.1, words, ha="center", va="center", fontsize=9)
    ax.set(xlim=(0, right + width + 0.1), ylim=(bottom, 1.3))
    ax.set_axis_off()
    return ax.figure


SKETCHES = {
    "layers.png": layers,
    "question.png": question,
    "cells.png": cells,
    "clause.png": clause,
    "boxes.png": boxes,
    "lines.png": lines,
    "radius.png": radius,
}

if __name__ == "__main__":
    for name, draw in SKETCHES.items():
        draw().savefig(PICTURES / name)
