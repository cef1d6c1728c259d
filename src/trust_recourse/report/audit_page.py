"""The page of an audit: who can reach the target and at what cost, by group, for a reviewer."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from trust_recourse.answers import plot
from trust_recourse.answers.plot.style import shortened
from trust_recourse.io.wording import level, significant
from trust_recourse.report.content import Document, PictureBlock, Printed, blocks, clean, drawn

if TYPE_CHECKING:
    from trust_recourse.population.audit.gather import Audit, GroupComparison, GroupedPart
    from trust_recourse.population.audit.intervals import Estimate, MeasuredGroup
    from trust_recourse.population.audit.sampled_search import Sampled, Some

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

    stands_out: tuple[str, ...]


def audit_page(
    audit: Audit,
    *,
    organisation: str = "",
    pictures: bool = True,
    dated: datetime.date | None = None,
) -> AuditPage:
    """Set an audit down; pictures are drawn where the extra `plot` is installed."""
    found = tuple(_found(audit))

    def picture(draw: Callable[[Any], Any], gathered: Any, alt: str) -> PictureBlock | None:
        every = drawn(lambda: draw(gathered)[0].get_figure(), alt) if pictures else iter(())
        return next(every, None)

    said = blocks(
        "audit.jinja", audit=audit, found=found, plot=plot, drawn=picture, many=_many,
        clean=clean, short=_short, share=_share, cost=_cost, half=_half, by_group=_by_group,
        difference=_difference, ratio=_ratio, levels=levels, in_the_way=_in_the_way,
        named=lambda each: _name(each, audit.few), asked_of=lambda able: _asked(audit, able),
    )  # fmt: skip
    document = Document.of_ours("Audit of recourse by group", said, organisation, dated)
    return AuditPage(document, found)


# ---------------------------------------------------------------- what takes working out


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


def _clear(part: GroupedPart) -> list[GroupComparison]:
    """The clear comparisons; who has no way is not told again where who can says as much."""
    clear = {(each.group, each.measure) for each in part.comparisons if each.clear}
    again = {(group, "none") for group, measure in clear if measure == "reach"}
    return [each for each in part.comparisons if (each.group, each.measure) in clear - again]


def _sentence(part: GroupedPart, each: GroupComparison) -> str:
    low, high = each.difference.interval
    share = each.measure in SHARES
    way = "higher" if each.difference.value > 0 else "lower"
    size = (
        _points(abs(each.difference.value)) if share else significant(abs(each.difference.value), 3)
    )
    ends = sorted((abs(low), abs(high)))
    span = " to ".join(_points(end) if share else significant(end, 3) for end in ends)
    unit = " points" if share else ""
    return clean(
        f"By {part.title}: in the group “{_short(each.group)}” {WORDS[each.measure]} is "
        f"{size}{unit} {way} than in “{_short(part.reference)}” (95%: {span})."
    )


def _many(people: int) -> str:
    """How many people, in words.

    >>> _many(1), _many(1200)
    ('1 person', '1,200 people')
    """
    return f"{people:,} {'person' if people == 1 else 'people'}"


def _by_group(part: GroupedPart) -> dict[str, dict[str, GroupComparison]]:
    """The comparisons of each group, by measure."""
    told: dict[str, dict[str, GroupComparison]] = {}
    for each in part.comparisons:
        told.setdefault(each.group, {})[each.measure] = each
    return told


def _asked(audit: Audit, able: Sequence[MeasuredGroup]) -> tuple[list[str], list[list[str]]]:
    """How many of each group are asked to change what: the head of a table, its rows."""
    rows = [
        [title, *(f"{points(each.asked[name].value)}%" for each in able)]
        for name, title in audit.titles.items()
        if any(each.group.asked.get(name) for each in able)
    ]
    return ["asked to change", *(_short(each.group.name) for each in able)], rows


def levels(part: GroupedPart) -> tuple[list[str], list[list[str]]]:
    """Who can reach each confidence, and the mean cost of those: the head of a table, its rows."""
    asked = [level(step.confidence) for step in part.sampled[0].frontier]
    rows = [
        [f"{_short(each.group)} ({each.asked})",
         *(f"{points(s.reach.value)}%, {_number(s.mean_cost.value)}" for s in each.frontier)]
        for each in part.sampled
    ]  # fmt: skip
    return ["group (asked)", *asked], rows


def _in_the_way(groups: Sequence[Sampled]) -> tuple[list[str], list[list[str]]]:
    """What would open a way for how many: the head of a table, its rows."""
    sentences = sorted(
        groups[0].opens,
        key=lambda sentence: (-sum(each.opens[sentence].people for each in groups), sentence),
    )
    rows = [[each, *(_some(group.opens[each]) for group in groups)] for each in sentences[:SHOWN]]
    if len(sentences) > SHOWN:
        rows.append(
            [f"and {len(sentences) - SHOWN} others, for fewer people", *("" for _ in groups)]
        )
    rows.append(["no single one", *(_some(each.nothing) for each in groups)])
    if any(each.unsure.people for each in groups):
        rows.append(["not known: a limit ended the search", *(_some(g.unsure) for g in groups)])
    return ["if only", *(f"{_short(each.group)} ({each.blocked})" for each in groups)], rows


# ---------------------------------------------------------------- numbers in words


def _short(name: str) -> str:
    return shortened(clean(name), NAMED)


def _name(each: MeasuredGroup, few: int) -> str:
    return _short(each.group.name) + (FEW_MARK if each.group.refused < few else "")


def _some(told: Some) -> str:
    low, high = map(points, told.share.interval)
    return f"{told.people} {_span(low, f'{high}%')}"


def _share(each: MeasuredGroup, measure: str) -> str:
    return _interval(each.estimates[measure], points)


def _interval(estimate: Estimate, write: Callable[[float], str]) -> str:
    """A number, and in brackets where it lies with 95%; one person says nothing of others."""
    if math.isnan(estimate.value):
        return "–"
    value, ends = write(estimate.value), estimate.interval
    return value if math.isnan(ends[0]) else f"{value} {_span(*map(write, ends))}"


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


def _cost(each: MeasuredGroup, measure: str, digits: int = 3) -> str:
    return _interval(each.estimates[measure], partial(_number, digits=digits))


def _half(each: MeasuredGroup) -> str:
    value, low, high = each.half
    if not each.group.refused:
        return "–"
    told = [significant(end, 3) if math.isfinite(end) else "never" for end in (value, low, high)]
    return told[0] if told[0] == told[1] == told[2] else f"{told[0]} {_span(*told[1:])}"


def _difference(each: GroupComparison) -> str:
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


def _ratio(each: GroupComparison) -> str:
    ratio = _interval(each.ratio, "{:.2f}".format)
    return ratio + (FEW_MARK if each.few and ratio != "–" else "")
