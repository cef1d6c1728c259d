"""Speed of the exact search, as ratios measured side by side in one run.

`make bench` runs every section; `PYTHONPATH=. python benchmarks/search.py small frontier`
only those, on the tables of experiments/data.py. Each section prints its table and replaces its own
part of benchmarks/results/search.json, with the machine and the versions it ran on; `logistic` then
replaces its table in docs/speed-search.md, too.

One machine is learnt for each table at the paper's settings (20 clauses, 100 states, s = 1.5,
T = 5, 60 epochs, 20 thresholds) and read by both links. Asked about are rows it refuses. Times are
CPU seconds of one process, threads included; the least of some runs where a run is short. The load
of the machine is written down with them: beside other work a core is up to two times slower.
`find` is the front door; the kernel is the engine's search alone, the person's candidates ready.
A search that a limit ended without proof counts as endless in every median. TPE is the package's
own engine on the compiled exact confidence, 300 trials. It is slow, so it is asked about one or two
of the rows: the quicker counts, and costs are compared where its answer meets the target.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import pandas as pd
from joblib import Parallel, delayed

import growth
from asking import (
    LINKS,
    SEED,
    TRIALS,
    by_find,
    by_kernel,
    by_tpe,
    learnt,
    read_by,
    refused,
    rows_of,
    through_find,
    weighed,
)
from experiments.data import (
    breast_cancer,
    german_credit,
    haberman,
    heloc,
    iris,
    synthetic_2d,
    synthetic_5d,
    unlimited,
)
from measured import RESULTS, Busy, cpu_of_all, surroundings, timed
from record import write_between
from trust_recourse import Recourse
from trust_recourse.answers import noise

AT_MOST_SECONDS = 60  # for each question, of wall clock
LIMIT = {"time_limit": AT_MOST_SECONDS}
SLOW_SECONDS = 5  # of CPU; a question that takes more is listed with the results
TPE_PEOPLE = 2
BY_CLAUSES = ("paper", "hundred", "four hundred")  # settings of 20, 100 and 400 clauses
HELOC_ROWS = 2_000  # to learn 100 clauses from: from all rows that takes some seven minutes
MET = {">=": operator.ge, "<=": operator.le, "<": operator.lt}
SAME_COST = 1e-9
MANY = 1_000  # rows that one way of asking takes in turn
PAPER_L2 = {iris: 0.507, synthetic_2d: 0.372}  # its Table 2, at 0.85
PAGE = Path(__file__).parent.parent / "docs" / "speed-search.md"
BEGIN = "<!-- from benchmarks/search.py, logistic -->"
START = time.monotonic()


def say(*words):
    print(f"[{time.monotonic() - START:5.0f} s]", *words, flush=True)


def row(what, measured, relation, bound, detail=""):
    return {
        "what": what,
        "measured": float(measured),
        "wanted": f"{relation} {bound:,}",
        "met": bool(MET[relation](measured, bound)),
        "detail": detail,
    }


def shown(what, measured, detail):
    """A row of which nothing is asked."""
    return {"what": what, "measured": measured, "wanted": "-", "met": None, "detail": detail}


def milliseconds(seconds):
    return f"{seconds * 1e3:,.4g} ms" if seconds < math.inf else f"more than {AT_MOST_SECONDS} s"


# ---------------------------------------------------------------- against one search of TPE


def small():
    """The paper's tables, every feature free to move both ways, Haberman's age and year too."""
    rows = []
    for table in (iris, synthetic_2d, haberman):
        rows += against_tpe(table, "paper", through_find=1_000, kernel=5_000)
    return rows + against_tpe(synthetic_5d, "every value", through_find=100)


def against_tpe(table, setting, through_find, kernel=None, level=0.85, asked=50):
    X, model = learnt(table, setting)
    rows = []
    for link in LINKS:
        recourse = Recourse(read_by(link, model), cost="l2")
        people = rows_of(refused(recourse, X, asked))
        what = f"{table.__name__}, {setting}, {link}, at least {level}"
        say("small:", what)
        # in turns, as a busy machine is now quicker, now slower
        theirs, through, alone = [], [], []
        for first in people[:TPE_PEOPLE]:
            through.append(questions("small", what, recourse, people, level, repeat=2))
            if kernel is not None:
                alone.append([by_kernel(recourse, x, level, repeat=2, **LIMIT) for x in people])
            theirs.append(by_tpe(recourse, first, level))
        found = quickest(through)
        rows.append(row_of_pace(what, found, theirs, through_find))
        if kernel is not None:
            rows.append(row_of_pace(what, quickest(alone), theirs, kernel, ours="kernel"))
        rows += [row_of_proofs(what, found), row_of_costs(what, found, theirs)]
    return rows


def breast():
    """TPE is timed on one link: its time lies in its own arithmetic, whatever it asks about."""
    X, model = learnt(breast_cancer)
    rows, theirs = [], {}
    for link in LINKS:
        recourse = Recourse(read_by(link, model), cost="l2")
        people = rows_of(refused(recourse, X, 20))
        for level in (0.5, 0.85, 0.95):
            what = f"breast_cancer, {link}, at least {level}"
            say("breast:", what)
            asked = questions("breast", what, recourse, people, level)
            rows.append(row_of_proofs(what, asked))
            if level not in theirs:
                theirs[level] = [by_tpe(recourse, people[0], level)]
                rows.append(row_of_costs(what, asked, theirs[level]))
            rows.append(row_of_pace(what, asked, theirs[level], 20, asked_of=LINKS[0]))
    return rows


def hundred():
    """A hundred clauses, margin link, every feature free to move both ways."""
    rows = []
    for table, learn_from in ((breast_cancer, None), (heloc, HELOC_ROWS)):
        say("hundred: learning", table.__name__)
        X, model = learnt(table, "hundred", learn_from)
        recourse = Recourse(model, unlimited(model.schema_), cost="l2")
        people = rows_of(refused(recourse, X, 20))
        learnt_from = f" learnt from {learn_from:,} rows" if learn_from else ""
        for level in (0.5, 0.7, 0.85):
            what = f"{table.__name__}, 100 clauses{learnt_from}, at least {level}"
            say("hundred:", what)
            asked = questions("hundred", what, recourse, people, level)
            theirs = [by_tpe(recourse, people[0], level)]
            rows += [
                row_of_proofs(what, asked, share=0.95),
                row_of_pace(what, asked, theirs, 20),
                row_of_costs(what, asked, theirs),
            ]
    return rows


def logistic():
    """The logistic link beside margin on the same clauses, every feature free to move both ways."""
    rows = []
    for table, setting in itertools.product((breast_cancer, heloc), BY_CLAUSES):
        say("logistic: learning", table.__name__, setting)
        X, model = learnt(table, setting, HELOC_ROWS if table is heloc else None)
        schema, y = unlimited(model.schema_), table()[1]
        ours = {
            link: Recourse(machine, schema, cost="l2")
            for link, machine in {"margin": model, "logistic": weighed(model, X, y)}.items()
        }
        both = [refused(recourse, X).index for recourse in ours.values()]
        people = rows_of(X.loc[both[0].intersection(both[1])].sample(20, random_state=SEED))
        asked, what = {link: [] for link in ours}, f"{table.__name__}, {model.n_clauses} clauses"
        for level in (0.5, 0.7, 0.85):
            say("logistic:", what, level)
            for link, recourse in ours.items():  # the links in turns
                section = f"{what}, at least {level}, {link}"
                asked[link] += questions("logistic", section, recourse, people, level)
        rows += [row_of_proofs(f"{what}, {link}", of) for link, of in asked.items()]
        rows.append(row_of_links(what, *asked.values()))
    return rows


def row_of_links(what, margin, logistic):
    """The median seconds to a proof of one link in units of the other's."""
    theirs, ours = (median(each.pace for each in of) for of in (margin, logistic))
    detail = f"{milliseconds(ours)} against {milliseconds(theirs)}; level by level "
    by_level = [
        median(each.pace for each in logistic if each.level == level)
        / median(each.pace for each in margin if each.level == level)
        for level in sorted({each.level for each in margin})
    ]
    detail += ", ".join(f"{ratio:.2f}" for ratio in by_level)
    what = f"{what}: logistic / margin in CPU seconds, medians of {len(margin)} questions"
    return row(what, ours / theirs, "<=", 1, detail)


def questions(section, what, recourse, people, level, repeat=1):
    """The same level for each of the people, through the front door."""
    through_find(recourse, people[0], level, node_limit=1)  # compiles what is on first use
    asked = []
    for number, x in enumerate(people, 1):
        one = through_find(recourse, x, level, repeat, **LIMIT)
        asked.append(one)
        if not one.proved or one.seconds > SLOW_SECONDS:
            say(f"{section}: {what}, {number} of {len(people)}: {in_words(one)}")
    return asked


def quickest(rounds):
    """Of each question asked in several rounds, the time it took least."""
    return [min(each, key=lambda a: a.pace) for each in zip(*rounds, strict=True)]


def in_words(one):
    left = "" if one.proved else f", NOT proved, gap {one.gap:.1%}"
    return f"row {one.label}, {one.level}: {one.seconds:.1f} s, {one.nodes:,} boxes{left}"


def row_of_pace(what, asked, theirs, bound, ours="find", asked_of=None):
    """The quickest TPE search in units of an exact one, where one without proof is endless."""
    tpe_time, wall = min(t.seconds for t in theirs), min(t.wall for t in theirs)
    our_time = median(a.pace for a in asked)
    number = f"the quickest of {len(theirs)}" if len(theirs) > 1 else "one search"
    number += f", {asked_of}" if asked_of else ""
    detail = f"{tpe_time:.2f} s ({wall:.2f} s of wall clock; {number}) "
    detail += f"against {milliseconds(our_time)}, {median(a.nodes for a in asked):,.0f} boxes"
    what = f"{what}: one TPE search / {ours}, {len(asked)} rows"
    return row(what, tpe_time / our_time, ">=", bound, detail)


def row_of_proofs(what, asked, share=1.0):
    done = sum(a.proved for a in asked)
    beyond = sum(a.proved and a.cost == math.inf for a in asked)
    slowest = max(asked, key=lambda a: a.seconds)
    detail = f"{done} of {len(asked)}, {beyond} of them proved unreachable; "
    detail += f"median {milliseconds(median(a.pace for a in asked))}, slowest {in_words(slowest)}"
    slow = [a._asdict() for a in asked if not a.proved or a.seconds > SLOW_SECONDS]
    what = f"{what}: share proved within {AT_MOST_SECONDS} s each"
    return row(what, done / len(asked), ">=", share, detail) | ({"slow": slow} if slow else {})


def row_of_costs(what, asked, theirs):
    """The worst of exact / TPE in cost, where TPE met the target."""
    pairs = zip(asked, theirs, strict=False)
    ratios = [a.cost / t.cost for a, t in pairs if t.cost < math.inf]
    what = f"{what}: cost of exact / TPE, the worst"
    detail = f"TPE met {len(ratios)} of {len(theirs)}"
    if not ratios:
        return shown(what, None, f"{detail}: nothing to compare")
    detail += f", at {median(1 / r for r in ratios):.2f} times the least cost (median)"
    return row(what, max(ratios), "<=", 1 + SAME_COST, detail)


# ---------------------------------------------------------------- what lenders would ask


def credit():
    rows = []
    for table in (german_credit, heloc):
        say("credit: learning", table.__name__)
        X, model = learnt(table)
        for link in LINKS:
            recourse = Recourse(read_by(link, model), cost="l2")
            people = rows_of(refused(recourse, X, 20))
            for level in (0.5, 0.7, 0.85):
                what = f"{table.__name__}, a lender's schema, {link}, at least {level}"
                say("credit:", what)
                asked = questions("credit", what, recourse, people, level)
                rows.append(row_of_proofs(what, asked))
    return rows


def why():
    """The change from a person to their option, split over clauses, against finding the option."""
    rows = []
    for table, setting in (
        (iris, "paper"),
        (synthetic_2d, "paper"),
        (haberman, "paper"),
        (synthetic_5d, "every value"),
    ):
        X, model = learnt(table, setting)
        for link in LINKS:
            recourse = Recourse(read_by(link, model), cost="l2")
            what = f"{table.__name__}, {setting}, {link}: explain / find, at least 0.85"
            say("why:", what)
            found, explained = [], []
            for x in rows_of(refused(recourse, X, 20)):
                recourse.find(x, 0.85).explain()  # compiles
                result, seconds = timed(partial(recourse.find, x, 0.85), repeat=5)
                found.append(seconds)
                explained.append(timed(partial(explained_afresh, result), repeat=5)[1])
            detail = f"{milliseconds(median(explained))} of {milliseconds(median(found))}"
            rows.append(row(what, median(explained) / median(found), "<", 1, detail))
    return rows


def explained_afresh(result):
    """Shares, fragility and all, with nothing left over from an earlier explanation."""
    return replace(result).explain(0).tightenings


def many():
    """All refused rows of HELOC by one process and by two, in wall clock.

    Two cores that share a chip, or that another machine borrows from, do less than twice the work
    of one. How much these can do is measured in turns with it: two processes that know nothing of
    each other, a half of the same people each.
    """
    X, model = learnt(heloc)
    recourse = Recourse(model, cost="l2")
    people = refused(recourse, X)
    ways = {"one": partial(recourse.find_many, confidence=0.5)}
    ways["two"] = partial(ways["one"], n_jobs=2)
    ways["apart"] = partial(halves, ways["one"])
    spent, work, tables = ({way: [] for way in ways} for _ in range(3))
    for start in range(0, len(people), MANY):
        part = people.iloc[start : start + MANY]
        say(f"many: {start:,} of {len(people):,} rows")
        for way, ask in ways.items():
            if start == 0:
                ask(part.head(64))  # starts workers, compiles
            began, before = time.perf_counter(), cpu_of_all()
            tables[way].append(ask(part))
            spent[way].append(time.perf_counter() - began)
            work[way].append(cpu_of_all() - before)
    answers = {way: pd.concat(parts).sort_index() for way, parts in tables.items()}
    same = answers["one"].equals(answers["two"]) and answers["one"].equals(answers["apart"])
    wall, cpu = ({way: sum(parts) for way, parts in held.items()} for held in (spent, work))
    detail = f"{len(people):,} rows; wall " + ", ".join(f"{w} {s:.1f} s" for w, s in wall.items())
    detail += "; CPU " + ", ".join(f"{way} {seconds:.1f} s" for way, seconds in cpu.items())
    detail += f"; {len(people) / wall['two']:,.0f} rows a second on two"
    detail += f"; answers {'the same' if same else 'DIFFERENT'}"
    what = "heloc, find_many over all refused rows: "
    return [
        shown(what + "one core / two, wall clock", wall["one"] / wall["two"], detail),
        shown(what + "one core / two processes apart", wall["one"] / wall["apart"], "can be had"),
        row(
            what + "speed on two / of two processes apart",
            wall["apart"] / wall["two"] if same else 0.0, ">=", 0.9,
        ),
    ]  # fmt: skip


def halves(ask, people):
    """Each half of the people by a process of its own, at the same time."""
    parts = (people.iloc[::2], people.iloc[1::2])
    return pd.concat(Parallel(2)(delayed(ask)(part) for part in parts))


# ---------------------------------------------------------------- more than one answer


def radius():
    """At least 0.85 that holds within a radius of 0.05, against the plain answer and the paper."""
    rows = []
    for table in (iris, synthetic_2d):
        X, model = learnt(table)
        for link in LINKS:
            recourse = Recourse(read_by(link, model), cost="l2")
            people = rows_of(refused(recourse, X, 20))
            what = f"{table.__name__}, {link}, at least 0.85 within 0.05"
            say("radius:", what)
            rows += safe_and_cheap(what, recourse, people, PAPER_L2[table])
    return rows


def surely_kept(result, sigma):
    """The chance that noise keeps the first option's class, and the error of that chance."""
    recourse, decision = result.recourse, result.decision
    return noise(
        recourse.read_model.score_for(decision), result.options[0].codes, recourse.schema, sigma,
        threshold=decision.confidence, continuous=True,
    )  # fmt: skip


def safe_and_cheap(what, recourse, people, paper):
    safe = partial(by_find, recourse, level=0.85, repeat=3, min_radius=0.05, continuous=True)
    plain = partial(by_find, recourse, level=0.85, repeat=3)
    safe(people[0]), plain(people[0])  # compiles
    with_radius, without = [safe(x) for x in people], [plain(x) for x in people]
    options = [result.options[0] for result, _ in with_radius]
    kept = [surely_kept(result, sigma=0.01) for result, _ in with_radius]
    least = min(share.probability - share.error for share in kept)
    costs = [option.cost for option in options]
    l2 = sum(costs) / len(costs)
    cheapest = [result.options[0].cost for result, _ in without]
    asked, alone = (median(seconds for _, seconds in part) for part in (with_radius, without))
    against = f"plain {sum(cheapest) / len(cheapest):.3f}; {len(people)} rows, L2 by row "
    against += f"{min(costs):.3f} to {max(costs):.3f}"
    return [
        row(f"{what}: confidence, the least", min(o.confidence for o in options), ">=", 0.85),
        row(f"{what}: chance to keep the class under noise 0.01, the least", least, ">=", 0.999),
        row(f"{what}: L2, mean, the paper's in `wanted`", l2, "<", paper, against),
        row(
            f"{what}: time / the plain search", asked / alone, "<", 30,
            f"{asked * 1e3:,.3g} ms against {alone * 1e3:,.3g} ms",
        ),
    ]  # fmt: skip


def frontier():
    """The whole staircase in units of one search at 0.85 for the same person."""
    rows = []
    for table in (iris, haberman):
        X, model = learnt(table)
        for link in LINKS:
            recourse = Recourse(read_by(link, model), cost="l2")
            what = f"{table.__name__}, {link}: frontier / one plain search"
            say("frontier:", what)
            rows.append(staircase(what, recourse, rows_of(refused(recourse, X, 20))))
    return rows


def staircase(what, recourse, people):
    by_frontier(recourse, people[0]), by_find(recourse, people[0], 0.85)  # compiles
    stairs = [by_frontier(recourse, x) for x in people]
    alone = [by_find(recourse, x, 0.85, repeat=3)[1] for x in people]
    steps = [len(table) - 1 for table, _ in stairs]
    ours, one = median(seconds for _, seconds in stairs), median(alone)
    detail = f"{milliseconds(ours)} against {milliseconds(one)}, {len(people)} rows; "
    detail += f"{median(steps):.0f} steps ({min(steps)} to {max(steps)})"
    return row(what, ours / one, "<", 50, detail)


def by_frontier(recourse, x):
    return timed(lambda: recourse.frontier(x, resolution=None))


# ---------------------------------------------------------------- growth


def grown():
    """No bound is asked of growth: it is plotted, and its points are kept with the results."""
    points = growth.measure(say)
    path = RESULTS / "growth.png"
    growth.draw(points, path)
    say("growth: drawn to", path)
    return [
        shown(
            f"{part.at} {part.axis}, {part.link}",
            part.milliseconds,
            f"ms, median; {part.nodes:,.0f} boxes; {part.proved} of {part.asked} proved",
        )
        for part in points.itertuples()
    ]


# ---------------------------------------------------------------- all of it

SECTIONS = {
    "small": small,
    "breast": breast,
    "hundred": hundred,
    "logistic": logistic,
    "credit": credit,
    "radius": radius,
    "frontier": frontier,
    "why": why,
    "many": many,
    "growth": grown,
}


def write(name, rows, seconds, load):
    """Replace one section of the file of results."""
    path = RESULTS / "search.json"
    held = json.loads(path.read_text()) if path.exists() else {}
    packages = ("numpy", "numba", "scikit-learn", "pandas", "optuna")
    held[name] = surroundings(*packages) | {
        "load": load,
        "seed": SEED,
        "trials of TPE": TRIALS,
        "seconds": round(seconds, 1),
        "rows": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    ordered = {section: held[section] for section in SECTIONS if section in held}
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    if name == "logistic":
        write_between(PAGE, BEGIN, "\n".join(table_of_links(rows)))


def table_of_links(rows):
    """The medians of both links and their ratio, a line for each table and number of clauses."""
    yield "| table and clauses | margin, ms | logistic, ms | logistic / margin | proved |"
    yield "|---|---|---|---|---|"
    for at in range(0, len(rows), 3):
        margin, logistic, both = rows[at : at + 3]
        what = both["what"].partition(":")[0]
        ours, _, theirs = both["detail"].partition("; ")[0].partition(" against ")
        proved = sum(int(each["detail"].split()[0]) for each in (margin, logistic))
        asked = sum(int(each["detail"].split()[2].rstrip(",")) for each in (margin, logistic))
        yield (
            f"| {what} | {theirs.removesuffix(' ms')} | {ours.removesuffix(' ms')} | "
            f"{both['measured']:.2f} | {proved} of {asked} |"
        )


def show(name, rows):
    print(f"\n{name}")
    for r in rows:
        verdict = {True: "met", False: "MISSED", None: ""}[r["met"]]
        print(f"  {r['what']}")
        number = "-" if r["measured"] is None else f"{r['measured']:,.4g}"
        print(f"    {number:>12}   wanted {r['wanted']:10} {verdict:7} {r['detail']}")
    print(flush=True)


def main(names):
    if unknown := [name for name in names if name not in SECTIONS]:
        sys.exit(f"no section {unknown[0]!r}; the sections are {' '.join(SECTIONS)}")
    for name in names or SECTIONS:
        start, busy = time.monotonic(), Busy()
        rows = SECTIONS[name]()
        write(name, rows, time.monotonic() - start, busy.words())
        show(name, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
