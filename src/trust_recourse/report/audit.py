"""The page of an audit: who can reach the target and at what cost, by group, for a reviewer."""

from __future__ import annotations

import datetime
import importlib.util
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from trust_recourse import __version__
from trust_recourse.plot.style import shortened
from trust_recourse.report.content import (
    Block,
    Document,
    Grid,
    Heading,
    Picture,
    Points,
    Printed,
    Text,
    clean,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trust_recourse.audit.gather import Audit, Comparison, Part
    from trust_recourse.audit.intervals import Estimate, Measured
    from trust_recourse.audit.sampled_search import Some

SHOWN = 12  # constraints that are told one by one
WORDS = {  # of a comparison, in a sentence
    "refused": "the share refused",
    "reach": "the share of the refused who can reach the target",
    "none": "the share of the refused proved to have no way",
    "mean_cost": "the mean cost of those who can",
    "capped_cost": "the mean cost of all refused, counted up to the cap,",
    "changes": "the number of changes",
}
SHARES = ("refused", "reach", "none")
NAMED = 40  # characters of a group's name; a longer one is told in full once
FEW_MARK, CLEAR_MARK = "\u00a0†", "\u00a0*"


@dataclass(frozen=True, eq=False, repr=False)
class AuditPage(Printed):
    """What `Audit.page` wrote: `text()`, `html()`, `pdf(path)`, `save(path)` by its ending.

    `stands_out` are its first sentences: what is clear, or that nothing is.
    """

    document: Document
    stands_out: tuple[str, ...]


def audit_page(
    audit: Audit,
    *,
    organisation: str = "",
    pictures: bool = True,
    dated: datetime.date | None = None,
) -> AuditPage:
    """Set an audit down; pictures are drawn where the extra `plot` is installed."""
    drawn = pictures and importlib.util.find_spec("matplotlib") is not None
    found = tuple(_found(audit))
    blocks = [Heading("What stands out"), Points(found), *_asked(audit)]
    for at in range(len(audit.parts)):
        blocks += [*_people(audit, at), *_costs(audit, at, drawn), *_compared(audit, at, drawn)]
        blocks += [*_changes(audit, at, drawn), *_levels(audit, at, drawn), *_blocked(audit, at)]
    blocks += [*_how_to_read(audit), *_limits()]
    document = Document(
        "Audit of recourse by group",
        dated or datetime.date.today(),
        clean(organisation),
        f"trust-recourse {__version__}",
        tuple(blocks),
    )
    return AuditPage(document, found)


# ---------------------------------------------------------------- the parts, in their order


def _found(audit: Audit) -> Iterator[str]:
    told = [_sentence(part, each) for part in audit.parts for each in _clear(part)]
    judged = sum(not each.few for part in audit.parts for each in part.comparisons)
    yield from told
    if told:
        yield (
            f"Nothing else is clear: {judged} comparisons were made, and by each column all of "
            "them are allowed for."
        )
    elif judged:
        yield (
            f"No difference between groups is clear when all comparisons by a column are allowed "
            f"for ({judged} in all). That is no proof that there is none: see how wide the "
            "intervals are."
        )
    else:
        yield "There are too few people, or too few groups, to compare anything."


def _clear(part: Part) -> list[Comparison]:
    """The clear comparisons; who has no way is not told again where who can says as much."""
    clear = {(each.group, each.measure) for each in part.comparisons if each.clear}
    again = {(group, "none") for group, measure in clear if measure == "reach"}
    return [each for each in part.comparisons if (each.group, each.measure) in clear - again]


def _sentence(part: Part, each: Comparison) -> str:
    low, high = each.difference.interval
    share = each.measure in SHARES
    way = "higher" if each.difference.value > 0 else "lower"
    size = _points(abs(each.difference.value)) if share else f"{abs(each.difference.value):.3g}"
    ends = sorted((abs(low), abs(high)))
    span = " to ".join(_points(end) if share else f"{end:.3g}" for end in ends)
    unit = " points" if share else ""
    return clean(
        f"By {part.title}: in the group “{_short(each.group)}” {WORDS[each.measure]} is "
        f"{size}{unit} {way} than in “{_short(part.reference)}” (95 %: {span})."
    )


def _asked(audit: Audit) -> Iterator[Block]:
    yield Heading("What was asked")
    yield Text(
        f"Of {_many(audit.people)}: whom does the model refuse, and what is the least each of "
        f"these must change to be accepted (class {clean(audit.wanted)}) with a confidence of at "
        f"least {audit.confidence:g}? Cost: {audit.cost}, in the schema’s scales and weights."
    )


def _many(people: int) -> str:
    """How many people, in words.

    >>> _many(1), _many(1200)
    ('1 person', '1,200 people')
    """
    return f"{people:,} {'person' if people == 1 else 'people'}"


def _people(audit: Audit, at: int) -> Iterator[Block]:
    part = audit.parts[at]
    yield Heading(clean(f"By {part.title}"))
    rows = [
        (_name(each, audit.few), f"{each.group.people:,}", f"{each.group.refused:,}",
         _share(each, "refused"), _share(each, "reach"), _share(each, "none"),
         _share(each, "open"))
        for each in part.groups
    ]  # fmt: skip
    head = ("group", "people", "refused", "refused, %", "can, %", "no way, %", "open, %")
    yield Grid(head, tuple(rows))
    names = (clean(each.group.name) for each in part.groups)
    if cut := [f"{_short(name)}: {name}." for name in names if len(name) > NAMED]:
        yield Text(f"In full: {' '.join(cut)}", small=True)
    more = (
        f" Of {_many(audit.unknown)} the row could not be read, so it is not known whether they "
        "are refused; they count as people, and in no share."
        if audit.unknown
        else ""
    )
    yield Text(
        "In brackets where each share lies with 95 %. Refused: of all with a decision. Can, no way "
        "and open are of the refused: an allowed change reaches the target; it is proved that none "
        "does; the search ended at its limit before either was known. † fewer than "
        f"{audit.few} refused: read nothing into it.{more}",
        small=True,
    )


def _costs(audit: Audit, at: int, drawn: bool) -> Iterator[Block]:
    part = audit.parts[at]
    if not any(each.group.reached for each in part.groups):
        refused = any(each.group.refused for each in part.groups)
        nobody = "Nobody who is refused can reach the target" if refused else "Nobody is refused"
        yield Text(f"{nobody}, so there is no cost to compare.")
        return
    if drawn:
        from trust_recourse.plot import curves_info, draw_curves

        yield _picture(
            draw_curves(curves_info(audit, at)),
            f"By {part.title}: the share of all refused who are accepted at a cost of at most c, "
            "with bands of 95 %. Those without a way stay in the count: a curve may end below 1.",
        )
    rows = [
        (_name(each, audit.few), _cost(each, "mean_cost"), _cost(each, "median_cost"),
         _cost(each, "high_cost"), _half(each), _cost(each, "capped_cost"))
        for each in part.groups
    ]  # fmt: skip
    head = ("group", "mean", "median", "90 % pay at most", "half of all refused", "capped mean")
    yield Grid(head, tuple(rows), f"Cost ({audit.cost})")
    yield Text(
        "Mean, median and 90 % are of those who can; a group whose hardest cases have no "
        "way at all looks cheap in them. Half of all refused: the cost at which half of them are "
        "accepted, those without a way and open cases counted as never. Median, 90 % and half are "
        "costs that somebody pays, of two in the middle the lower: between a cost and no way lies "
        "no number. Capped mean: of all "
        f"refused, each cost counted up to {part.cap:.3g}, which 90 % of all who can do not "
        "exceed, and those without a way or open at just that.",
        small=True,
    )


def _compared(audit: Audit, at: int, drawn: bool) -> Iterator[Block]:
    part = audit.parts[at]
    if not part.comparisons:
        return
    if drawn:
        from trust_recourse.plot import draw_forest, forest_info

        yield _picture(
            draw_forest(forest_info(audit, at)),
            f"By {part.title}: how each group differs from “{_short(part.reference)}”, with 95 %; "
            "right of 0 it is more than there.",
        )
    by_group: dict[str, dict[str, Comparison]] = {}
    for each in part.comparisons:
        by_group.setdefault(each.group, {})[each.measure] = each
    rows = [
        (_short(name), *(_difference(told[measure]) for measure in WORDS))
        for name, told in by_group.items()
    ]
    head = ("group", "refused, points", "can, points", "no way, points", "mean cost",
            "capped mean", "changes")  # fmt: skip
    yield Grid(head, tuple(rows), clean(f"Differences from “{_short(part.reference)}”"))
    measures = ("refused", "reach", "mean_cost", "capped_cost")
    ratios = tuple(
        (_short(name), *(_ratio(told[measure]) for measure in measures))
        for name, told in by_group.items()
    )
    yield Grid(
        ("group", "refused", "can", "mean cost", "capped mean"),
        ratios,
        clean(f"The same as ratios to “{_short(part.reference)}”"),
    )
    judged = sum(not each.few for each in part.comparisons)
    marks = (
        f"* clear: beyond chance also when the comparisons by this column, {judged} in all, are "
        f"allowed for (Bonferroni). Of so many intervals of 95 % about {_chance(judged)} would "
        "miss 0 by chance alone if the groups did not differ at all. Whether a difference is clear "
        "is judged by other methods than the intervals; one of costs or changes must also be rare "
        "when the same people are dealt out to the two groups by chance. "
    )
    few = f"† fewer than {audit.few} people: read nothing into it."
    yield Text(f"{marks if judged else ''}{few}", small=True)


def _changes(audit: Audit, at: int, drawn: bool) -> Iterator[Block]:
    part = audit.parts[at]
    groups = [each for each in part.groups if each.group.reached]
    names = [name for name in audit.titles if any(each.group.asked.get(name) for each in groups)]
    if not names:
        return
    yield Grid(
        ("group", "changes"), tuple((_name(g, audit.few), _cost(g, "changes", 2)) for g in groups),
        "Of those who can, the mean number of changes",
    )  # fmt: skip
    if drawn:
        from trust_recourse.plot import asked_info, draw_asked

        yield _picture(
            draw_asked(asked_info(audit, at)),
            f"By {part.title}: what those who can are asked to change, and how many, with 95 %.",
        )
        return
    rows = [
        (clean(audit.titles[name]), *(f"{points(each.asked[name].value)} %" for each in groups))
        for name in names
    ]
    yield Grid(
        ("asked to change", *(_short(each.group.name) for each in groups)), tuple(rows),
        "Of those who can, how many are asked to change what",
    )  # fmt: skip


def _levels(audit: Audit, at: int, drawn: bool) -> Iterator[Block]:
    part = audit.parts[at]
    if not part.sampled:
        return
    yield Heading(clean(f"By {part.title}: what more confidence takes"))
    yield Text(
        "Asked of the model, by exact searches, for people drawn by chance from the refused of "
        "each group; the number asked stands beside it. Where it is below "
        f"{audit.few}, read nothing into a difference."
    )
    if drawn:
        from trust_recourse.plot import draw_levels, levels_info

        yield _picture(
            draw_levels(levels_info(audit, at)),
            f"By {part.title}: the share of the refused who can reach a confidence, and the mean "
            "cost of those, with 95 %.",
        )
    levels = [step.confidence for step in part.sampled[0].frontier]
    rows = [
        (f"{_short(each.group)} ({each.asked})",
         *(f"{points(step.reach.value)} %, {_number(step.mean_cost.value)}"
           for step in each.frontier))
        for each in part.sampled
    ]  # fmt: skip
    head = ("group (asked)", *(f"{level:g}" for level in levels))
    yield Grid(head, tuple(rows), "Who can reach each confidence, and the mean cost of those")


def _blocked(audit: Audit, at: int) -> Iterator[Block]:
    part = audit.parts[at]
    groups = [each for each in part.sampled if each.blocked]
    if not groups:
        return
    yield Heading(clean(f"By {part.title}: what stands in the way"))
    sentences = sorted(
        groups[0].opens,
        key=lambda sentence: (-sum(each.opens[sentence].people for each in groups), sentence),
    )
    rows = [
        (clean(sentence), *(_some(each.opens[sentence]) for each in groups))
        for sentence in sentences[:SHOWN]
    ]
    if len(sentences) > SHOWN:
        rows.append((f"and {len(sentences) - SHOWN} others, for fewer people",
                     *("" for _ in groups)))  # fmt: skip
    rows.append(("no single one", *(_some(each.nothing) for each in groups)))
    if any(each.unsure.people for each in groups):
        rows.append(("not known: a limit ended the search", *(_some(g.unsure) for g in groups)))
    head = ("if only", *(f"{_short(each.group)} ({each.blocked})" for each in groups))
    yield Grid(head, tuple(rows))
    yield Text(
        "Of people proved to have no way, drawn by chance (how many stands beside the group): how "
        "many could reach the target if this one constraint alone were lifted, and in brackets "
        "what share of all such people in the group that is, with 95 %. One person may count in "
        "several rows. Protected features are never lifted.",
        small=True,
    )


def _how_to_read(audit: Audit) -> Iterator[Block]:
    yield Heading("How the intervals are made")
    yield Text(
        f"By the Bayesian bootstrap (Rubin, 1981) with {audit.draws:,} draws, seed {audit.seed}: "
        "people get random weights in place of being drawn again; shares are drawn from Beta laws "
        "with half a person added on either side (Jeffreys), so that 0 of 8 does not pass for "
        "surely 0; where all refused count, the half who can may pay anything. An interval is the "
        "middle 95 % of the draws (percentiles). Where a few people pay far more than the rest, "
        "that of a mean cost is too narrow, and only what is called clear can be relied on. "
        "Intervals speak of chance in who is among these people, not of errors in the model or the "
        "data."
    )


def _limits() -> Iterator[Block]:
    yield Heading("What this shows, and what it does not")
    yield Points(
        (
            "It shows differences between groups in whom this model refuses and in what it would "
            "take for it to say yes. That is about the model, not about the world.",
            "A difference does not prove discrimination, and the absence of one does not rule it "
            "out: groups may differ in what they bring, and both may share one unfair rule.",
            "Costs are as good as the schema: if a change is harder for one group than its scale "
            "and weight say, that is not seen here.",
            "Those who never applied are not among these people.",
            "Where a search ended early, a cost may lie above the least one, and an open case may "
            "have a way.",
            "Groups with few people may point at single persons; think before passing them on.",
        )
    )


# ---------------------------------------------------------------- numbers in words


def _short(name: str) -> str:
    return shortened(clean(name), NAMED)


def _name(each: Measured, few: int) -> str:
    return _short(each.group.name) + (FEW_MARK if each.group.refused < few else "")


def _some(told: Some) -> str:
    low, high = map(points, told.share.interval)
    return f"{told.people} {_span(low, f'{high} %')}"


def _share(each: Measured, measure: str) -> str:
    estimate = each.estimates[measure]
    if math.isnan(estimate.value):
        return "–"
    return f"{points(estimate.value)} {_span(*map(points, estimate.interval))}"


def _span(low: str, high: str) -> str:
    """Two ends in brackets that no line breaks apart."""
    return f"({low}\u00a0to\u00a0{high})"


def points(share: float) -> str:
    """A share in points of 100; 0 is nobody and 100 everybody.

    >>> points(0.0), points(1 / 3000), points(0.1234), points(2999 / 3000), points(1.0)
    ('0', '<0.1', '12.3', '>99.9', '100')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}"
    return {"0.0": "<0.1", "100.0": ">99.9"}.get(_points(share), _points(share))


def _points(value: float) -> str:
    """A difference of shares in points of 100.

    >>> _points(0.1234), _points(-0.0001)
    ('12.3', '0.0')
    """
    return f"{round(100 * value, 1) + 0.0:.1f}".replace("-", "−")


def _number(value: float, digits: int = 3) -> str:
    return "–" if math.isnan(value) else f"{value + 0.0:.{digits}g}".replace("-", "−")


def _cost(each: Measured, measure: str, digits: int = 3) -> str:
    return _interval(each.estimates[measure], digits)


def _interval(estimate: Estimate, digits: int = 3) -> str:
    if math.isnan(estimate.value):
        return "–"
    if math.isnan(estimate.interval[0]):  # one person says nothing of others
        return _number(estimate.value, digits)
    span = _span(*(_number(end, digits) for end in estimate.interval))
    return f"{_number(estimate.value, digits)} {span}"


def _half(each: Measured) -> str:
    value, low, high = each.half
    if not each.group.refused:
        return "–"
    told = [f"{end:.3g}" if math.isfinite(end) else "never" for end in (value, low, high)]
    return told[0] if told[0] == told[1] == told[2] else f"{told[0]} {_span(*told[1:])}"


def _difference(each: Comparison) -> str:
    value = each.difference.value
    if math.isnan(value):
        return "–"
    low, high = each.difference.interval
    share = each.measure in SHARES
    numbers = [_points(end) if share else _number(end, 2) for end in (value, low, high)]
    sign = "+" if value > 0 and numbers[0] not in ("0.0", "0") else ""
    mark = FEW_MARK if each.few else CLEAR_MARK if each.clear else ""
    span = "" if math.isnan(low) else f" ({numbers[1]} to {numbers[2]})"  # of one nothing is known
    return f"{sign}{numbers[0]}{span}{mark}"


def _ratio(each: Comparison) -> str:
    if math.isnan(each.ratio.value):
        return "–"
    low, high = each.ratio.interval
    span = "" if math.isnan(low) else f" {_span(f'{low:.2f}', f'{high:.2f}')}"
    return f"{each.ratio.value:.2f}{span}{FEW_MARK if each.few else ''}"


def _chance(judged: int) -> str:
    expected = 0.05 * judged
    return f"{expected:.0f}" if expected >= 2 else f"{expected:.1f}"


def _picture(axes: Sequence[Any], alt: str) -> Picture:
    from trust_recourse.plot.picture import svg

    return Picture(svg(cast("Figure", axes[0].get_figure())), clean(alt))
