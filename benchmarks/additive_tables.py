"""What benchmarks/additive.py measured, as tables; nothing is measured here."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from tree_tables import FOUND, NO_ANSWER, about, alarms, by_who, proved, table, wrong

BEGIN = "<!-- from benchmarks/additive.py -->"
TABLES = {"heloc": "HELOC", "adult": "Adult"}
HOW = {"mip": "a binary a value", "steps": "whole steps"}
FASTER = 10.0  # than HiGHS, is asked of us, in the median
PLACE = ("model", "table", "norm")
WHOLE = ["seconds", "writing"]  # of HiGHS: the solver's, and those to write the problem down


def markdown(lines):
    """All tables, one under another; first whatever is wrong."""
    answers = by_who(lines)
    parts = [*alarms(lines), _ours(answers), _highs(answers), _coach(answers), about(lines)]
    return "\n\n".join(part for part in parts if part)


def places(answers):
    """Answers by model, table and cost, in the order of the first two."""
    found = defaultdict(dict)
    for key, line in answers.items():
        found[tuple(line[name] for name in PLACE)][key] = line
    return dict(sorted(found.items()))


def named(place):
    model, of, norm = place
    return [model, TABLES[of], norm.upper()]


def middle(lines, *names):
    """The median of the sum of some seconds."""
    return median(sum(line.get(name) or 0.0 for name in names) for line in lines)


def ms(seconds):
    return f"{1e3 * seconds:,.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def _ours(answers):
    rows = []
    for place, asked in places(answers.get("ours", {})).items():
        each = list(asked.values())
        rows.append(
            [
                *named(place), f"{sum(map(proved, each))} of {len(each)}",
                ms(middle(each, "seconds")), ms(max(line["seconds"] for line in each)),
                ms(middle(each, "search")), f"{median(line['boxes'] for line in each):,.0f}",
                *_verdict(answers, place, each),
            ]
        )  # fmt: skip
    header = ["model", "table", "cost", "proved", "median ms", "slowest ms", "search alone, ms",
              "nodes", "HiGHS takes", "its solver alone", f"all proved, ≥ {FASTER:g}×"]  # fmt: skip
    return table(header, rows)


def _verdict(answers, place, ours):
    """How much longer HiGHS takes by its better program, whole and its solver alone, and whether
    all that was asked is so."""
    known = [
        [ratio(theirs, answers["ours"], parts, ["seconds"]) for parts in (WHOLE, ["seconds"])]
        for who in HOW
        if (theirs := places(answers.get(who, {})).get(place))
    ]
    if not known:
        return ["–", "–", "–"]
    (least, whole), (_, solver) = min(known)
    met = least >= FASTER and all(map(proved, ours))
    return [whole, solver, "yes" if met else "**no**"]


def ratio(theirs, ours, of_theirs, of_ours):
    """How much longer they take in the median of the same questions, and that in words.

    Where a limit ended their median search, it is at least so much.
    """
    pairs = [(line, ours[key]) for key, line in theirs.items()]
    long = middle([line for line, _ in pairs], *of_theirs)
    short = middle([line for _, line in pairs], *of_ours)
    cut = sum(proved(line) for line, _ in pairs) <= len(pairs) / 2
    return long / short, f"{'≥ ' * cut}{long / short:.3g}×"


def _highs(answers):
    rows, ours = [], answers.get("ours", {})
    for who, how in HOW.items():
        for place, theirs in places(answers.get(who, {})).items():
            each = list(theirs.values())
            costs = [
                line["cost"] / ours[key]["cost"] for key, line in theirs.items()
                if line["status"] in FOUND and ours[key]["status"] in FOUND
            ]  # fmt: skip
            rows.append(
                [
                    *named(place), how, f"{sum(map(proved, each))} of {len(each)}",
                    str(sum(wrong(line, ours[key]) for key, line in theirs.items())),
                    str(sum(line["status"] in NO_ANSWER for line in each)),
                    f"{median(costs):.4f}, {max(costs):.4f}" if costs else "–",
                    ms(middle(each, "seconds")), ms(middle(each, "writing")),
                    ratio(theirs, ours, ["seconds"], ["seconds"])[1],
                    ratio(theirs, ours, WHOLE, ["seconds"])[1],
                    ratio(theirs, ours, ["seconds"], ["search"])[1],
                ]
            )  # fmt: skip
    header = ["model", "table", "cost", "HiGHS has", "it proves", "of these refuted",
              "misses by its tolerance", "its cost / ours (median, worst)", "solver, median ms",
              "writing, ms", "solver / our whole answer", "with writing / our whole answer",
              "solver / our search alone"]  # fmt: skip
    return table(header, sorted(rows, key=lambda row: row[:4])) if rows else ""


def _coach(answers):
    theirs, ours = answers.get("gamcoach", {}), answers.get("ours", {})
    rows = []
    for place, asked in places(theirs).items():
        each, same = list(asked.values()), [ours[key] for key in asked]
        found = {key: line for key, line in asked.items() if line["status"] in FOUND}
        costs = [line["cost"] / ours[key]["cost"] for key, line in found.items()]
        rows.append(
            [
                *named(place), str(len(each)), str(sum("cost" in line for line in each)),
                str(len(found)), str(sum(map(proved, same))),
                f"{median(costs):.3f}, {max(costs):.3f}" if costs else "–",
                f"{middle(each, 'seconds'):.3g}", f"{middle(same, 'seconds'):.2g}",
            ]
        )  # fmt: skip
    header = ["GAM Coach at 0.5", "table", "cost", "asked", "it answers", "allowed and enough",
              "we prove", "its cost / the least (median, worst)", "its median s",
              "our median s"]  # fmt: skip
    return table(header, rows) if rows else ""
