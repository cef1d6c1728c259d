"""Whether an option survives a new model, as the paper says of confident ones; here it is measured.

For the people whom the machine refuses, the exact engine gives options at least τ, and options at
0.85 that hold their decision within a radius. Then the machine is learnt anew: with other seeds,
and from bootstraps of its training rows (with its own seed). An option's **decision is kept** by
such a machine if it accepts the option too, and its **τ is kept** if its confidence there is still
at least τ. The people are measured as they are, too: some machines would have accepted them
unchanged.

One machine learnt anew gives the confidences of both links: they read the same law of the vote.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from statistics import fmean

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.frame import Table, Unit
from experiments.paper import MACHINE, TITLES, split
from experiments.people import LINKS, queries, recourse
from trust_recourse import PTMClassifier, Target

KINDS = {"seeds": "new seeds", "bootstraps": "bootstraps"}
# Each (τ, radius); 0.85 with a radius has the floor ½ on the whole box around the option.
ASKED = ((0.5, None), (0.7, None), (0.85, None), (0.95, None), (0.85, 0.02), (0.85, 0.05))
LEVELS = tuple(level for level, radius in ASKED if radius is None)
AS_THEY_ARE = (None, None)
CHUNK = 5  # machines in a unit
FIRST = 1_000  # the seeds of machines learnt anew, far from those of the experiments
BINS = (0.0, 0.005, 0.02, 0.05, np.inf)  # of the certified radius
CLOSE = 1e-6  # a radius asked for may be met from just below


# ---------------------------------------------------------------- the work


def units(scale):
    """For each table and way of learning anew, a few machines at a time."""
    numbers = range(scale.refits)
    return [
        Unit(
            "variation",
            f"{data} {kind} {start}",
            survived,
            (data, kind, list(numbers[start : start + CHUNK]), scale.queries, scale.boxes),
            seconds={"synthetic_5d": 60.0, "synthetic_2d": 15.0}.get(data, 10.0),
        )
        for data in scale.data
        for kind in KINDS
        for start in range(0, scale.refits, CHUNK)
    ]


def survived(data, kind, numbers, most, boxes):
    """Every option with the confidences that machines learnt anew have in it."""
    offered = [option for link in LINKS for option in options(data, link, most, boxes)]
    found = [dict(option, kind=kind, numbers=numbers, anew=[]) for option in offered]
    by_fold = defaultdict(list)
    for option in found:
        by_fold[option["fold"]].append(option)
    for fold, ours in by_fold.items():
        for number in numbers:
            both = confidences(learnt_anew(data, fold, kind, number), [o["x"] for o in ours])
            for i, option in enumerate(ours):
                option["anew"].append(round(float(both[option["link"]][i]), 9))
    return found


@cache
def options(data, link, most, boxes):
    """For each person what they are and what the exact engine offers them, as plain dicts."""
    found = []
    for query in queries(data, "refused", link, most):
        ask = recourse(link, query)
        told = {"data": data, "link": link, "query": query.row, "fold": query.fold}
        results = [
            ask.find(query.x, t, min_radius=r, continuous=r is not None, node_limit=boxes)
            for t, r in ASKED
        ]
        statuses = [str(status) for result in results for status in result.status.values()]
        found.append(
            told | {"level": None, "asked_radius": None, "x": query.x.tolist(), "l2": 0.0,
                    "confidence": ask.confidence(query.x), "radius": None, "status": "as they are",
                    "statuses": statuses}
        )  # fmt: skip
        for (level, radius), result in zip(ASKED, results, strict=True):
            asked = told | {"level": level, "asked_radius": radius}
            found += [
                asked | {"x": option.x.tolist(), "l2": option.cost, "status": str(option.status),
                         "confidence": option.confidence,
                         "radius": result.radius(i, continuous=True)}
                for i, option in enumerate(result.options)
            ]  # fmt: skip
    return found


def learnt_anew(data, fold, kind, number):
    """A machine with another seed, or one learnt from as many rows drawn with replacement."""
    s = split(data, fold)
    rows, settings = s.learnt, dict(MACHINE)
    if kind == "seeds":
        settings["random_state"] = FIRST + number
    else:
        rows = np.random.default_rng(FIRST + number).choice(rows, len(rows))
    model = PTMClassifier(**settings, thresholds=s.thresholds, link="margin", schema=s.schema)
    return model.fit(s.X.iloc[rows], s.y[rows])


def confidences(model, points):
    """By link, the confidence of class 1 at each point, from the law of the vote (paper, 4.1)."""
    table = pd.DataFrame(points, columns=list(model.feature_names_in_))
    law = model.vote_distribution(table)
    v, T = law.columns.to_numpy(), model.T
    links = {"vote": (v >= 0).astype(float), "margin": (np.clip(v, -T, T) + T) / (2 * T)}
    return {link: law.to_numpy() @ links[link] for link in LINKS}


# ---------------------------------------------------------------- what the rows add up to


def joined(rows):
    """One row for each option and way of learning anew, its machines together."""
    found = {}
    for row in rows:
        key = (row["kind"], *_person(row), *_ask(row))
        if key in found:
            found[key] = found[key] | {"anew": found[key]["anew"] + row["anew"]}
        else:
            found[key] = row
    return list(found.values())


def _person(row):
    return row["data"], row["link"], row["query"]


def _ask(row):
    return row["level"], row["asked_radius"]


def decision_kept(row):
    """The share of machines learnt anew that accept this option."""
    return fmean(confidence >= 0.5 for confidence in row["anew"])


def level_kept(row):
    """The share of machines learnt anew whose confidence in this option is still what was asked."""
    return fmean(Target(row["level"]).met(confidence) for confidence in row["anew"])


def same_people(rows, first, second):
    """The rows of two asks about those who got an answer to both."""
    by_ask = [{_person(row): row for row in rows if _ask(row) == ask} for ask in (first, second)]
    both = [person for person in by_ask[0] if person in by_ask[1]]
    return [[found[person] for person in both] for found in by_ask]


HEADER = (
    "Data", "Link", "Asked", "Answered", "Proved", "L2", "Confidence", "Radius",
    *(f"{words}: {what}" for words in KINDS.values() for what in ("decision kept", "τ kept")),
)  # fmt: skip


def tables(rows):
    """What was kept by what was asked, then by the radius that is certified."""
    rows = joined(rows)
    return [
        Table(
            "Model variation: what machines learnt anew keep", HEADER,
            tuple(_lines(rows)), _sentences(rows),
        ),
        Table(
            "Model variation by certified radius",
            ("Radius", "Options", "Mean τ", *(f"{each}: decision kept" for each in KINDS.values())),
            tuple(_by_radius(rows)),
            (
                f"All data, both links and everything that was asked; {machines(rows)} machines of "
                f"each kind. {_ranks(rows)}",
            ),
        ),
    ]  # fmt: skip


def words_of(ask):
    """What was asked, in words."""
    level, radius = ask
    if level is None:
        return "nothing"
    return f"≥ {level:g}" + ("" if radius is None else f", radius {radius:g}")


def _lines(rows):
    for data in TITLES:
        for link in LINKS:
            for ask in (AS_THEY_ARE, *ASKED):
                here = [r for r in rows if (r["data"], r["link"]) == (data, link)]
                ours = [r for r in here if _ask(r) == ask]
                if ours:
                    people = [r for r in here if _ask(r) == AS_THEY_ARE]
                    yield TITLES[data], link, words_of(ask), *_cells(ours, people)


def _cells(rows, people):
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    one = next(of for of in by_kind.values() if of)  # the options are the same in each
    everyone = [person for person in people if person["kind"] == one[0]["kind"]]
    nothing = rows[0]["level"] is None
    yield f"{len(one)} of {len(everyone)}"
    yield (
        "–" if nothing else f"{sum(_proved(p, _ask(one[0])) for p in everyone)} of {len(everyone)}"
    )
    yield f"{fmean(row['l2'] for row in one):.3f}"
    yield f"{fmean(row['confidence'] for row in one):.3f}"
    yield "–" if nothing else f"{fmean(row['radius'] for row in one):.3f}"
    for of in by_kind.values():
        yield f"{fmean(map(decision_kept, of)):.1%}" if of else "–"
        yield f"{fmean(map(level_kept, of)):.1%}" if of and not nothing else "–"


def _proved(person, ask):
    """Whether what this person was told is proved: the least, or that nothing is within reach."""
    return person["statuses"][ASKED.index(ask)] not in ("feasible", "not_found")


def bin_of(radius):
    """Which of `BINS` a radius lies in."""
    return int(np.searchsorted(BINS, radius + CLOSE, side="right")) - 1


def bin_words(at):
    """A bin of radii in words."""
    low, high = BINS[at], BINS[at + 1]
    return f"{low:g} or more" if np.isinf(high) else f"{low:g} to below {high:g}"


def _by_radius(rows):
    offered = [row for row in rows if row["level"] is not None]
    for at in range(len(BINS) - 1):
        ours = [row for row in offered if bin_of(row["radius"]) == at]
        if ours:
            shares = [[decision_kept(r) for r in ours if r["kind"] == kind] for kind in KINDS]
            yield (
                bin_words(at), str(max(map(len, shares))), f"{fmean(r['level'] for r in ours):.2f}",
                *(f"{fmean(each):.1%}" if each else "–" for each in shares),
            )  # fmt: skip


# ---------------------------------------------------------------- in sentences


def _sentences(rows):
    """What follows from the rows, whichever way they come out."""
    said = [
        f"Each option is put to {machines(rows)} machines learnt with new seeds and as many learnt "
        "from bootstraps. “Decision kept” is the share of them that accept it, “τ kept” the share "
        "whose confidence in it is still at least τ, both averaged over the people with an answer; "
        "of those who ask for nothing it is the share that would have accepted them as they are. "
        "Proved: how many were told what is proved, the least L2 or that nothing is within reach."
    ]
    for kind, words in KINDS.items():
        ours = [row for row in rows if row["kind"] == kind]
        for first, second in (((0.5, None), (0.85, None)), ((0.5, None), (0.95, None)),
                              ((0.85, None), (0.85, 0.05))):  # fmt: skip
            if text := compared(ours, first, second):
                said.append(f"{words.capitalize()}: {text}")
    return tuple(said)


def machines(rows):
    """How many machines of each kind judge an option."""
    return max(len(row["anew"]) for row in rows)


def compared(rows, first, second):
    """How the share of decisions kept goes from one ask to another, about the same people."""
    before, after = same_people(rows, first, second)
    if not before:
        return ""
    a, b = fmean(map(decision_kept, before)), fmean(map(decision_kept, after))
    changes = defaultdict(list)
    for one, other in zip(before, after, strict=True):
        changes[one["data"], one["link"]].append(decision_kept(other) - decision_kept(one))
    means = [fmean(each) for each in changes.values()]
    rises, falls = sum(m > 0 for m in means), sum(m < 0 for m in means)
    levels = fmean(map(level_kept, before)), fmean(map(level_kept, after))
    cost = fmean(row["l2"] for row in after) / fmean(row["l2"] for row in before)
    return (
        f"asking for {words_of(second)} instead of {words_of(first)} {verdict(b - a, falls)}: the "
        f"decision is kept by {b:.1%} of machines instead of {a:.1%}, for {cost:.2f} times the L2 "
        f"(questions that have both answers: {len(before)}); it rises in {rises} and falls in "
        f"{falls} of {len(means)} pairs of data and link. The confidence asked for is itself kept "
        f"by {levels[1]:.1%} instead of {levels[0]:.1%}."
    )


def verdict(change, falls):
    """What a change in the share kept amounts to, given in how many cases it falls."""
    if change == 0:
        return "changes nothing"
    if change < 0:
        return "does harm"
    return "helps on the whole, but not everywhere" if falls else "helps"


def _ranks(rows):
    """Rank correlations of what is kept with confidence and with radius."""
    said = []
    for kind, words in KINDS.items():
        ours = [row for row in rows if row["kind"] == kind and row["level"] is not None]
        kept = pd.Series([decision_kept(row) for row in ours], dtype=float)
        ranks = {
            name: kept.corr(pd.Series([row[name] for row in ours], dtype=float), method="spearman")
            for name in ("confidence", "radius", "l2")
        }
        if all(map(np.isfinite, ranks.values())):
            said.append(
                f"{words}: {ranks['confidence']:+.2f} with its confidence, {ranks['radius']:+.2f} "
                f"with its certified radius, {ranks['l2']:+.2f} with its L2"
            )
    if not said:
        return "Too few options differ for a rank correlation."
    return (
        "Rank correlation (Spearman) of the share of machines that keep an option: "
        + "; ".join(said) + "."
    )  # fmt: skip


# ---------------------------------------------------------------- the figure

# Okabe and Ito's colours, told apart with any kind of colour vision; the marks differ as well.
LOOKS = {
    "synthetic_2d": ("#0072B2", "o"), "synthetic_5d": ("#D55E00", "s"),
    "iris": ("#009E73", "^"), "haberman": ("#CC79A7", "D"),
}  # fmt: skip
DASHES = {"margin": "-", "vote": "--"}


def figures(rows):
    """The share of machines that keep the decision, against τ and against the certified radius."""
    rows = joined(rows)
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True)
    for (left, right), (kind, words) in zip(axes, KINDS.items(), strict=True):
        ours = [row for row in rows if row["kind"] == kind and row["level"] is not None]
        _draw_levels(left, ours)
        _draw_radii(right, ours)
        left.set_ylabel(f"{words}:\nshare of {machines(rows)} machines that keep it")
        left.set_ylim(-0.03, 1.03)
    axes[0][0].set_title("Decision kept, against the confidence asked for")
    axes[0][1].set_title("Against the certified radius, all options")
    axes[1][0].set_xlabel("at least τ")
    axes[1][1].set_xlabel("certified radius (L∞, scaled), and how many options have it")
    drawn = [axes[0][side].get_legend_handles_labels() for side in (0, 1)]
    handles, labels = ([*left, *right] for left, right in zip(*drawn, strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return {"variation": figure}


def _draw_levels(ax, rows):
    for link in LINKS:
        for data, (colour, mark) in LOOKS.items():
            mine = [row for row in rows if (row["data"], row["link"]) == (data, link)]
            groups = {level: [r for r in mine if _ask(r) == (level, None)] for level in LEVELS}
            points = [(level, fmean(map(decision_kept, of))) for level, of in groups.items() if of]
            if points:
                ax.plot(
                    *zip(*points, strict=True), color=colour, marker=mark, linestyle=DASHES[link],
                    label=f"{TITLES[data]}, {link}",
                )  # fmt: skip
    ax.set_xticks(LEVELS)
    ax.grid(alpha=0.3)


def _draw_radii(ax, rows):
    bins = {at: [r for r in rows if bin_of(r["radius"]) == at] for at in range(len(BINS) - 1)}
    filled = [at for at, ours in bins.items() if ours]
    measures = {"decision kept": (decision_kept, "#56B4E9"), "τ kept": (level_kept, "#E69F00")}
    for shift, (words, (kept, colour)) in zip((-0.2, 0.2), measures.items(), strict=True):
        shares = [fmean(map(kept, bins[at])) for at in filled]
        ax.bar(np.array(filled) + shift, shares, 0.38, color=colour, label=words)
    short = [bin_words(at).replace(" to below ", "–") for at in bins]
    counts = [f"{words}\nn = {len(bins[at])}" for at, words in zip(bins, short, strict=True)]
    ax.set_xticks(list(bins), counts, size=8)
    ax.grid(axis="y", alpha=0.3)
