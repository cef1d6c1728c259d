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
from trust_recourse.report import expected_calibration_error, reliability_curve

CALIBRATIONS = (None, "sigmoid", "isotonic")
SHOWN = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
WORDS = ("L2", "confidence", "robustness", "share that can")
COLOURS = {"vote": "#D55E00", "margin": "#0072B2"}  # told apart by every kind of colour vision


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
        own = door.schema.reach(query.x).own
        for level in levels:
            result = door.find(query.x, level, node_limit=boxes)
            (status,) = result.status.values()
            row = {"kind": "sweep", "data": data, "link": link, "query": number, "level": level,
                   "status": str(status)}  # fmt: skip
            for option in result.options:
                codes = door.schema.reach(option.x).own
                row |= {
                    "x": option.x.tolist(),
                    "l1": float(np.abs(codes - own).sum()),
                    "l2": option.cost,
                    "confidence": option.confidence,
                    "robustness": result.robustness(0, sigma=SIGMA).probability,
                }
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
            met = [row for row in asked if row.get("l2") is not None]
            cells = [_mean(met, m) for m in ("l1", "l2", "confidence", "robustness")]
            proved = sum(row["status"] not in ("feasible", "not_found") for row in asked)
            body.append((paper.TITLES[data], link, f"{level:.2f}", f"{len(met)} of {len(asked)}",
                         *cells, f"{proved} of {len(asked)}"))  # fmt: skip
    about = "Means over those who reach it, so a row may fall where the dearest drop out; refused "
    about += f"people; robustness is the exact probability under noise of {SIGMA}."
    swept = Table("Sweep: the cost of each confidence", header, tuple(body), (about,))

    header = ("Data", "Link", "Calibrator", "Rows", "Brier", "ECE", "Log-loss", "Mean confidence",
              "Share of class 1")  # fmt: skip
    body = [
        (paper.TITLES[data], link, calibration, str(len(y)), *scores(p, y))
        for (data, link, calibration), (p, y) in said.items()
    ]
    about = "Test parts of all splits put together; the expected calibration error has 10 bins of "
    about += "equal width. Probabilities are kept 0.001 from 0 and 1 in the log-loss."
    judged_ = Table("Calibration of the confidence", header, tuple(body), (about,))
    return [swept, judged_]


def scores(p, y):
    """Brier score, calibration error and log-loss as text, then both means."""
    clear = np.clip(p, 0.001, 0.999)
    loss = -np.mean(np.where(y == 1, np.log(clear), np.log(1 - clear)))
    given = (np.mean((p - y) ** 2), expected_calibration_error(y, p), loss, p.mean(), y.mean())
    return tuple(f"{value:.3f}" for value in given)


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
    """Means over those who reach each τ, and the share who do."""
    from matplotlib.figure import Figure

    data = list(dict.fromkeys(key[0] for key in steps))
    shown = ("l2", "confidence", "robustness", "reached")
    figure = Figure(figsize=(3 * len(data) + 0.6, 8), layout="constrained")
    axes = figure.subplots(len(shown), len(data), squeeze=False, sharex=True)
    for column, name in zip(axes.T, data, strict=True):
        column[0].set_title(paper.TITLES[name])
        for link in LINKS:
            levels = [level for where, g, level in steps if (where, g) == (name, link)]
            for ax, metric in zip(column, shown, strict=True):
                means = [_height(steps[name, link, level], metric) for level in levels]
                dashes = "-" if link == "vote" else "--"
                ax.plot(levels, means, color=COLOURS[link], linestyle=dashes, label=link)
                ax.grid(alpha=0.3)
        for ax in column[2:]:
            ax.set_ylim(0, 1.05)
        column[-1].set_xlabel("τ")
    for ax, words in zip(axes[:, 0], WORDS, strict=True):
        ax.set_ylabel(words)
    axes[0, 0].legend()
    return figure


def _height(asked, metric):
    met = [row for row in asked if row.get("l2") is not None]
    if metric == "reached":
        return len(met) / len(asked)
    return fmean(row[metric] for row in met) if met else np.nan


def reliability(said):
    """What came true against what was said, for bins with rows in them."""
    from matplotlib.figure import Figure

    data = list(dict.fromkeys(key[0] for key in said))
    figure = Figure(figsize=(3 * len(data) + 0.6, 3.2), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(data), squeeze=False)[0], data, strict=True):
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for (where, link, calibration), (p, y) in said.items():
            if where == name and calibration != "sigmoid":
                bins = reliability_curve(y, p)
                style = "-" if calibration == "raw" else "--"
                said_, came = bins["confidence"], bins["observed"]
                label = f"{link}, {calibration}"
                ax.plot(said_, came, style, marker=".", color=COLOURS[link], label=label)
        ax.set(title=paper.TITLES[name], xlabel="confidence", ylabel="share of class 1")
    figure.axes[0].legend(loc="lower right", fontsize=8)
    return figure
