"""Why at least the paper's confidence costs more than it prints: one thing changed at a time.

Table 2's row for it asks every link for at least the confidence that the paper prints for τ = 0.85,
with the decision kept. On two tables L1 or L2 is then above the printed one by some link, and the
machine, the people or the scaling may be the reason. Each is changed alone, and the same question
is asked and proved:

- **machine**: learnt otherwise, as in `reasons`, or by the package's defaults, and read by the same
  link; or the same clauses read by another link, which is another line of the same table;
- **people**: all of the group that Table 2 draws its ten from, those of them who are accepted as
  they are and those who are not; or the other choice of people, another line again;
- **scaling**: features counted in the range of the rows learnt from, in place of the whole table's,
  or in the ranges of a synthetic table drawn by other seeds. The machine stays what it is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from statistics import fmean

import numpy as np

from experiments import paper, table2
from experiments.frame import Table, Unit
from experiments.paper import MACHINE, SEED, split
from experiments.people import EVERY_LINK, machine, queries
from experiments.reasons import LEARNINGS
from trust_recourse import PTMClassifier, Recourse, Schema

DEAR = ("synthetic_2d", "haberman")  # where Table 2's row costs more by some link
OWN = "as in Table 2"
DEFAULTS = "the defaults"
OTHERWISE = tuple(name for name in LEARNINGS if name != OWN)
ALL = "all of them"
LEARNT = "the rows learnt from"
ANEW = tuple(range(SEED + 1, SEED + 6))  # seeds of synthetic tables
DRAWS = 1_000  # of people, out of the group


# ---------------------------------------------------------------- the work


def units(scale):
    found = []
    for data in (data for data in scale.data if data in DEAR):
        for who in table2.WHO:
            for kind, how in changes(data):
                args = (data, who, kind, how, scale.queries, scale.boxes)
                seconds = 20 if how == ALL else 3
                key = f"{data}, {who}, {kind}: {how}"
                found.append(Unit("dearer", key, asked, args, seconds))
    return found


def changes(data):
    """What is changed: its kind, and how."""
    yield "nothing", OWN
    yield from (("machine", name) for name in (*OTHERWISE, DEFAULTS))
    yield "people", ALL
    yield "scaling", LEARNT
    if data == "synthetic_2d":
        yield from (("scaling", f"a table of seed {seed}") for seed in ANEW)


def asked(data, who, kind, how, most, boxes):
    """The question of Table 2's row with one thing changed: a dict a person, link and cost.

    Where both choices are the same people they are asked about once.
    """
    drawn, others = (queries(data, choice, "vote", most) for choice in (who, "paper"))
    if who == "refused" and drawn == others:
        return []
    people = queries(data, who, "vote", None) if kind == "people" else drawn
    about = {"data": data, "who": who, "kind": kind, "how": how}
    return [
        about
        | {"link": link, "cost": cost, "query": i}
        | answer(query, link, cost, kind, how, boxes)
        for link in EVERY_LINK
        for cost in table2.COSTS
        for i, query in enumerate(people)
    ]


def answer(query, link, cost, kind, how, boxes):
    """What it costs this person, or that it cannot be had."""
    model = learnt(query.data, query.fold, link, how if kind == "machine" else OWN)
    schema = counted(query.data, query.fold, how if kind == "scaling" else OWN)
    front = Recourse(model, schema, cost=table2.COSTS[cost])
    level = paper.printed(query.data)["confidence"][0]
    result = front.find(
        query.x, level, engine="exact", min_radius=table2.NARROW, continuous=True,
        node_limit=boxes,
    )  # fmt: skip
    (status,) = result.status.values()
    found = {"before": front.confidence(query.x), "status": str(status)}
    if result.options:
        scales = [feature.scale for feature in schema]
        away = np.abs((result.options[0].x - query.x).to_numpy(dtype=float)) / scales
        found |= {"l1": float(away.sum()), "l2": float(np.linalg.norm(away))}
    return found


@cache
def learnt(data, fold, link, how):
    """Table 2's machine, one learnt otherwise, or one by the package's defaults."""
    if how == OWN:
        return machine(data, link, fold)
    s = split(data, fold)
    settings = {"use_protected": True, "random_state": SEED}
    if how != DEFAULTS:
        settings = MACHINE | {"thresholds": s.thresholds} | LEARNINGS[how]
    model = PTMClassifier(**settings, link=link, schema=s.schema)
    return model.fit(s.X.iloc[s.learnt], s.y[s.learnt]).drop_states()


@cache
def counted(data, fold, how):
    """The schema, its features counted in other ranges than the whole table's, which is 1."""
    s = split(data, fold)
    if how == OWN:
        return s.schema
    if how == LEARNT:
        ranges = np.ptp(s.X.iloc[s.learnt].to_numpy(), axis=0)
    else:
        drawn = (paper.drawn_2d(seed)[0] for seed in (int(how.rpartition(" ")[2]), SEED))
        ranges = np.divide(*(np.ptp(X, axis=0) for X in drawn))
    return Schema(tuple(replace(f, scale=float(r)) for f, r in zip(s.schema, ranges, strict=True)))


# ---------------------------------------------------------------- what it adds up to


def tables(rows):
    """Which change brings each line below the printed costs, and what each change costs."""
    lines = {}
    for row in rows:
        lines.setdefault((row["data"], row["who"], row["link"]), {}).setdefault(
            (row["kind"], row["how"]), {}
        ).setdefault(row["cost"], []).append(row)
    order = list(paper.TITLES)
    lines = dict(sorted(lines.items(), key=lambda item: order.index(item[0][0])))
    dear = {
        line: changed
        for line, changed in lines.items()
        if table2.costs_more(line[0], changed["nothing", OWN]) != "no"
    }
    return [summary(lines, dear), *([details(lines, dear)] if dear else [])]


def below(data, by_cost):
    """Whether everybody is answered with both L1 and L2 less than printed, by some cost."""
    return table2.costs_more(data, by_cost).startswith("no")


def summary(lines, dear):
    """A line of Table 2 that costs more a row, and what brings it below, each alone."""
    header = (
        "Data", "Queries", "Link", "Costs more", "Another cost", "Machines learnt otherwise",
        "The default machine", "Another link", "Other people", "Another scaling",
    )  # fmt: skip
    body = []
    for (data, who, link), changed in dear.items():
        own = changed["nothing", OWN]
        by_links = [
            other
            for other in EVERY_LINK
            if other != link and below(data, lines[data, who, other]["nothing", OWN])
        ]
        body.append(
            (paper.TITLES[data], whose(data, who, lines), link, table2.costs_more(data, own),
             "yes" if below(data, own) else "no", told(data, changed, "machine", OTHERWISE),
             told(data, changed, "machine", (DEFAULTS,)), " and ".join(by_links) or "no",
             other_people(data, who, link, lines), told(data, changed, "scaling"))
        )  # fmt: skip
    notes = (
        "Lines of Table 2's row at which L1 or L2, with L2 as the cost, is not less than the paper "
        "prints for τ = 0.85. Each further column changes one thing alone and says whether L1 and "
        "L2 are then both less, with L2, L1 or L1 + L2² as the cost; of several changes, for how "
        "many.",
        "Other people: the other choice of Table 2, where it is another; else as many people drawn "
        f"from all of the group, {DRAWS:,} times, and the share of draws for which both are less.",
    )
    title = "At least the paper's confidence: what brings the cost below the printed one"
    return Table(title, header, tuple(body), notes)


def whose(data, who, lines):
    """The choice of people, as Table 2 tells it."""
    return table2.WHO[who] if (data, "refused", "vote") in lines else table2.SAME


def told(data, changed, kind, names=None):
    """How many of these changes bring both costs below the printed ones."""
    found = [
        below(data, by_cost)
        for (other, how), by_cost in changed.items()
        if other == kind and (names is None or how in names)
    ]
    if len(found) == 1:
        return "yes" if found[0] else "no"
    return f"{sum(found)} of {len(found)}"


def other_people(data, who, link, lines):
    """Whether the other choice of people is cheap, or how many draws of people are."""
    other = (data, "paper" if who == "refused" else "refused", link)
    if other in lines:
        return "yes" if below(data, lines[other]["nothing", OWN]) else "no"
    everybody = lines[data, who, link]["people", ALL]
    drawn = len({row["query"] for row in lines[data, who, link]["nothing", OWN]["L2"]})
    share = fmean(below(data, some) for some in draws(everybody, drawn))
    return f"{100 * share:.0f}% of draws"


def draws(by_cost, many):
    """As many people drawn from all, the same ones for every cost, many times."""
    rng = np.random.default_rng(SEED)
    people = sorted({row["query"] for row in by_cost["L2"]})
    rows = {cost: {row["query"]: row for row in each} for cost, each in by_cost.items()}
    for _ in range(DRAWS):
        some = rng.choice(people, min(many, len(people)), replace=False)
        yield {cost: [each[i] for i in some] for cost, each in rows.items()}


def details(lines, dear):
    """What the same question costs with each change, several of a kind from least to most."""
    body, tables = [], {data for data, *_ in dear}
    for (data, who, link), changed in lines.items():
        for about, several in gathered(changed) if data in tables else ():
            if costs := costed(several):
                body.append((paper.TITLES[data], whose(data, who, lines), link, about, *costs))
    header = (
        "Data", "Queries", "Link", "Changed", "M before", "Least L1", "Least L2",
        "L1, by L1 + L2²", "L2, by L1 + L2²", "Reached",
    )  # fmt: skip
    printed = ", ".join(
        "{}: L1 {:.3f}, L2 {:.3f}".format(
            paper.TITLES[data], *(paper.printed(data)[metric][0] for metric in ("l1", "l2"))
        )
        for data in dict.fromkeys(data for data, *_ in dear)
    )
    notes = (
        f"The paper prints for τ = 0.85: {printed}.",
        "All links of the tables where some line costs more. “M before” is the mean confidence "
        "before anything changes. Least L1 and least L2 are of searches with that cost; the two "
        "columns behind them are of one search that heeds both. “Reached” counts who can be "
        "brought to the printed confidence at all; costs are the means of those. All is proved.",
    )
    return Table("What the same question costs with one thing changed", header, tuple(body), notes)


def gathered(changed):
    """The changes of a line by what is told of them: several of a kind, or people by decision."""
    yield "nothing", [changed["nothing", OWN]]
    others = [changed["machine", how] for how in OTHERWISE if ("machine", how) in changed]
    yield f"machine: {len(others)} learnt otherwise", others
    yield f"machine: {DEFAULTS}", [changed["machine", DEFAULTS]]
    everybody = changed["people", ALL]
    many = len({row["query"] for row in everybody["L2"]})
    yield f"people: all {many}", [everybody]
    for words, accepted in (("accepted as they are", True), ("refused", False)):
        some = {
            cost: [row for row in rows if (row["before"] >= 0.5) == accepted]
            for cost, rows in everybody.items()
        }
        if 0 < len(some["L2"]) < many:
            yield f"people: of all {many} the {len(some['L2'])} {words}", [some]
    yield f"scaling: by {LEARNT}", [changed["scaling", LEARNT]]
    anew = [each for (kind, how), each in changed.items() if kind == "scaling" and how != LEARNT]
    yield f"scaling: by {len(anew)} tables drawn anew", anew


def costed(several):
    """The costs of one change, or from the least to the most of several; and who reached it."""
    if not several:
        return ()
    cells = []
    asked = (("L2", "before"), ("L1", "l1"), ("L2", "l2"), ("L1 + L2²", "l1"), ("L1 + L2²", "l2"))
    for cost, metric in asked:
        means = [table2.cell(by_cost[cost], metric)[0] for by_cost in several]
        known = sorted(mean for mean in means if mean is not None)
        ends = known[:1] if len(known) < 2 else (known[0], known[-1])
        cells.append(" to ".join(f"{mean:.3f}" for mean in ends) or "-")
    met, people = zip(*(table2.queries_met(by_cost["L2"]) for by_cost in several), strict=True)
    reached = str(min(met)) if min(met) == max(met) else f"{min(met)} to {max(met)}"
    return (*cells, f"{reached} of {people[0]}")
