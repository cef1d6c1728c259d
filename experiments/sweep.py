"""Two things the paper leaves to future work: many confidences, and what a confidence is worth.

**Sweep.** The exact engine at every τ from 0.50 to 0.99, both links, for refused people: what each
step of confidence costs, how robust it is, and who can still reach it.

**Calibration.** Of those to whom the machine gives 0.85, do 85 % belong to class 1? The machine as
it is and with each of its calibrators, on test parts of several splits put together.
"""

from __future__ import annotations

from statistics import fmean

import numpy as np

from experiments import paper
from experiments.frame import Table, Unit
from experiments.people import LINKS, queries, recourse
from experiments.table2 import SIGMA
from trust_recourse import PTMClassifier
from trust_recourse.answers import noise
from trust_recourse.report import expected_calibration_error, reliability_curve

CALIBRATIONS = (None, "sigmoid", "isotonic")
SHOWN = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
DRAWN = ("l2", "confidence", "robustness")
COLOURS = {"vote": "#D55E00", "margin": "#0072B2"}  # told apart by every kind of colour vision
LOOKS = {"raw": ("#000000", "o"), "sigmoid": ("#E69F00", "s"), "isotonic": ("#0072B2", "^")}
HIGH, MIDDLE = 0.85, (0.2, 0.8)  # confidences that are counted apart


def units(scale):
    found = []
    for data in scale.data:
        for link in LINKS:
            for number in range(scale.queries):
                args = (data, link, number, scale.queries, scale.levels, scale.boxes)
                key = f"{data}, {link}, query {number}"
                found.append(Unit("sweep", key, climb, args, 5 if data == "synthetic_5d" else 0.5))
            for seed in scale.splits:
                for calibration in CALIBRATIONS:
                    args = (data, link, seed, calibration)
                    key = f"{data}, {link}, split {seed}, {calibration or 'raw'}"
                    seconds = (3 if data in paper.SYNTHETIC else 0.5) * (6 if calibration else 1)
                    found.append(Unit("sweep", key, judged, args, seconds))
    return found


def climb(data, link, number, most, levels, boxes):
    """The cheapest answer at each level for one person."""
    rows = []
    for query in queries(data, "refused", link, most)[number : number + 1]:
        door = recourse(link, query)
        own = door.schema.action_set(query.x).own
        for level in levels:
            result = door.find(query.x, level, node_limit=boxes)
            (status,) = result.status.values()
            row = {"kind": "sweep", "data": data, "link": link, "query": number, "level": level,
                   "status": str(status)}  # fmt: skip
            decision = result.decision
            for option in result.options:
                codes = door.schema.action_set(option.x).own
                row |= {
                    "x": option.x.tolist(),
                    "l1": float(np.abs(codes - own).sum()),
                    "l2": option.cost,
                    "confidence": option.confidence,
                    "robustness": noise(
                        door.read_model.score_for(decision), option.codes, door.schema, SIGMA,
                        threshold=decision.confidence, continuous=True,
                    ).probability,
                }  # fmt: skip
            rows.append(row)
    return rows


def judged(data, link, seed, calibration):
    """What a machine says of the test part of one split, and what was true."""
    s = paper.split(data, None, seed)
    settings = paper.MACHINE | {"random_state": seed}
    model = PTMClassifier(
        **settings, thresholds=s.thresholds, link=link, schema=s.schema, calibration=calibration
    ).fit(s.X.iloc[s.learnt], s.y[s.learnt])
    p = model.predict_proba(s.X.iloc[s.held])[:, 1]
    return {"kind": "calibration", "data": data, "link": link, "seed": seed,
            "calibration": calibration or "raw", "p": p.round(6), "y": s.y[s.held]}  # fmt: skip


# ---------------------------------------------------------------- what the rows add up to


def tables(rows):
    steps, said = _steps(rows), _said(rows)
    header = ("Data", "Link", "τ", "Reached", "L1", "L2", "Confidence", "Robustness", "Proved")
    body = []
    for (data, link, level), asked in steps.items():
        if level in SHOWN:
            met = _met(asked)
            cells = [_mean(met, m) for m in ("l1", "l2", "confidence", "robustness")]
            proved = sum(row["status"] not in ("feasible", "not_found") for row in asked)
            body.append((paper.TITLES[data], link, f"{level:.2f}", f"{len(met)} of {len(asked)}",
                         *cells, f"{proved} of {len(asked)}"))  # fmt: skip
    about = "Means over those who reach it, so a row may fall where the dearest drop out; refused "
    about += f"people; robustness is the exact probability under noise of {SIGMA}."
    swept = Table("Sweep: the cost of each confidence", header, tuple(body), (about,))

    header = ("Data", "Link", "Calibrator", "Rows", "Brier", "ECE", "Log-loss", "Mean confidence",
              "Share of class 1", f"Between {MIDDLE[0]} and {MIDDLE[1]}", f"{HIGH} or more",
              "their mean confidence", "their share of class 1")  # fmt: skip
    body = [
        (paper.TITLES[data], link, calibration, str(len(y)), *scores(p, y), *counted(p, y))
        for (data, link, calibration), (p, y) in said.items()
    ]
    about = "Test parts of all splits put together; the expected calibration error has 10 bins of "
    about += (
        "equal width. Probabilities are kept 0.001 from 0 and 1 in the log-loss. The last four "
    )
    about += (
        f"columns count rows given a confidence between {MIDDLE[0]} and {MIDDLE[1]}, and those "
    )
    about += f"given {HIGH} or more, with what they were given on average and what was true. The "
    about += (
        "figure has a mark for each bin that holds a row, at the means of its rows; the mark's "
    )
    about += "area grows with the root of their number."
    judged_ = Table("Calibration of the confidence", header, tuple(body), (about,))
    return [swept, judged_]


def scores(p, y):
    """Brier score, calibration error and log-loss as text, then both means."""
    clear = np.clip(p, 0.001, 0.999)
    loss = -np.mean(np.where(y == 1, np.log(clear), np.log(1 - clear)))
    given = (np.mean((p - y) ** 2), expected_calibration_error(y, p), loss, p.mean(), y.mean())
    return tuple(f"{value:.3f}" for value in given)


def counted(p, y):
    """How many rows are given a middling confidence and a high one, and what was true of those."""
    low, high = MIDDLE
    sure = p >= HIGH
    yield str(int(((p > low) & (p < high)).sum()))
    yield str(int(sure.sum()))
    yield from (f"{each[sure].mean():.3f}" if sure.any() else "-" for each in (p, y))


def _mean(rows, metric):
    return f"{fmean(row[metric] for row in rows):.3f}" if rows else "-"


def _steps(rows):
    found = {}
    for row in rows:
        if row["kind"] == "sweep":
            found.setdefault((row["data"], row["link"], row["level"]), []).append(row)
    return found


def _said(rows):
    found = {}
    for row in rows:
        if row["kind"] == "calibration":
            p, y = found.setdefault((row["data"], row["link"], row["calibration"]), ([], []))
            p += row["p"]
            y += row["y"]
    return {key: (np.array(p), np.array(y)) for key, (p, y) in found.items()}


def figures(rows):
    return {"sweep": swept(_steps(rows)), "calibration": reliability(_said(rows))}


def swept(steps):
    """Means over those who reach each τ; a line marks where fewer than all do."""
    from matplotlib.figure import Figure

    data = list(dict.fromkeys(key[0] for key in steps))
    figure = Figure(figsize=(3 * len(data) + 0.6, 6.6), layout="constrained")
    axes = figure.subplots(len(DRAWN), len(data), squeeze=False, sharex=True)
    entries = {}
    for column, name in zip(axes.T, data, strict=True):
        column[0].set_title(paper.TITLES[name])
        for link in LINKS:
            asked = {
                level: of for (where, g, level), of in steps.items() if (where, g) == (name, link)
            }
            for ax, metric in zip(column, DRAWN, strict=True):
                draw(ax, link, asked, metric)
        for ax in column:
            ax.grid(alpha=0.3)
            entries |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
        column[2].set_ylim(0, 1.05)
        column[-1].set_xlabel("τ")
    for ax, metric in zip(axes[:, 0], DRAWN, strict=True):
        ax.set_ylabel(metric.replace("l2", "L2"))
    place = {"loc": "outside lower center", "ncols": 4, "frameon": False}
    figure.legend(entries.values(), entries.keys(), **place)
    return figure


def draw(ax, link, asked, metric):
    """One link's means at each level, as far as anybody reaches it."""
    colour, dashes = COLOURS[link], "-" if link == "vote" else "--"
    means = [_height(of, metric) for of in asked.values()]
    ax.plot(list(asked), means, color=colour, linestyle=dashes, label=f"{link} link")
    lost = [level for level, of in asked.items() if len(_met(of)) < len(of)]
    if lost:
        words = f"{link} link: from here fewer than all reach τ"
        ax.axvline(lost[0], color=colour, linestyle=":", label=words)


def _height(asked, metric):
    met = _met(asked)
    return fmean(row[metric] for row in met) if met else np.nan


def _met(asked):
    return [row for row in asked if row.get("l2") is not None]


def reliability(said):
    """What came true against what was said: a mark for each bin, as big as its rows are many."""
    from matplotlib.figure import Figure

    data = list(dict.fromkeys(key[0] for key in said))
    figure = Figure(figsize=(3 * len(data) + 0.6, 6.2), layout="constrained")
    axes = figure.subplots(len(LINKS), len(data), squeeze=False, sharex=True, sharey=True)
    for (name, link, calibration), (p, y) in said.items():
        ax = axes[LINKS.index(link), data.index(name)]
        colour, mark = LOOKS[calibration]
        bins = reliability_curve(y, p)
        look = {"marker": mark, "facecolors": "none", "edgecolors": colour, "linewidths": 1.3}
        ax.scatter(bins["confidence"], bins["observed"], area(bins["count"]), **look)
    for ax in axes.flat:
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
        ax.set(xlim=(-0.08, 1.08), ylim=(-0.08, 1.08))
        ax.grid(alpha=0.3)
    for ax, name in zip(axes[0], data, strict=True):
        ax.set_title(paper.TITLES[name])
    for ax in axes[-1]:
        ax.set_xlabel("confidence")
    for ax, link in zip(axes[:, 0], LINKS, strict=True):
        ax.set_ylabel(f"{link} link:\nshare of class 1")
    for calibration, (colour, mark) in LOOKS.items():
        look = {"marker": mark, "facecolors": "none", "edgecolors": colour, "linewidths": 1.3}
        axes[0, 0].scatter([], [], 45, label=calibration, **look)
    for rows in (1, 10, 100):
        label = f"{rows} row{'s' * (rows > 1)} in the bin"
        axes[0, 0].scatter([], [], area(rows), color="0.6", label=label)
    figure.legend(loc="outside lower center", ncols=6, frameon=False)
    return figure


def area(rows):
    """Of a bin's mark, so that one row is seen and 450 hide nothing."""
    return 10 * np.sqrt(rows)
