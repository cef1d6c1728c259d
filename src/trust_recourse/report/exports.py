"""The model report and an explanation on paper: all of it with its picture, in one file."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from trust_recourse import __version__
from trust_recourse.answers.explain import Comparison
from trust_recourse.io import clock
from trust_recourse.report.content import (
    Block,
    Document,
    Heading,
    ListBlock,
    PictureBlock,
    Printed,
    TableBlock,
    Text,
    clean,
)
from trust_recourse.report.model.calibration_check import CURVES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trust_recourse.answers.explain import Explanation
    from trust_recourse.answers.result import Result
    from trust_recourse.report.model.model_report import ModelReport

ABOUT = "All of this is about the model: that it would say yes, not that the world would change."
MOVERS = 20  # rules or terms that are told one by one


@dataclass(frozen=True, eq=False, repr=False)
class Paper(Printed):
    """Something to read: `text()`, `html()`, `pdf(path)`, or `save(path)` by the path's ending."""

    document: Document


def report_paper(found: ModelReport, target: str = "") -> Paper:
    """What `model_report` says of a model, with what it said drawn beside what came true."""
    said: list[Block] = []
    for part in found.parts():
        if part is CURVES:
            said += _drawn(found.plot, "What each model said, beside what came true, in bins.")
        said.append(Text(clean(part)) if isinstance(part, str) else _table(part))
    return _paper(f"Model report{f': {clean(target)}' if target else ''}", said)


def explanation_paper(result: Result, told: Explanation | Comparison) -> Paper:
    """Why an option works in the model, or what a dearer one buys, with its picture."""
    why = told.explanation if isinstance(told, Comparison) else told
    said: list[Block] = [Text(clean(result.verdict))]
    if isinstance(told, Comparison):
        said += [Text(clean(told.sentence)), _table(told.words())]
    words = f"From {why.start.name} to {why.end.name}, {why.by} by {why.by}."
    picture = _drawn(lambda: explanation_figure(result, told), words)
    said += _explained(why, picture)
    return _paper("Why the model would say yes", [*said, Text(ABOUT, small=True)])


def _explained(why: Explanation, picture: Iterator[Block]) -> Iterator[Block]:
    head, *_ = str(why).splitlines()
    yield Text(clean(head))
    if why.note:
        yield Text(clean(why.note), small=True)
    yield Heading("What changes, and its share")
    changes = why.changes().itertuples(index=False)
    rows = ((name, a, b, why.told(share)) for name, a, b, share in changes)
    yield _rows(("feature", "from", "to", "share"), rows)
    yield from picture
    yield Heading(f"The {why.noun}s that do it")
    moved = why.movers()
    told = [(each.name, each.words, each.moves, why.told(each.share)) for each in moved[:MOVERS]]
    rest = why.change - sum(each.share for each in moved[:MOVERS])
    yield _rows((why.noun, "", why.verb, "share"), [*told, ("all others", "", "", why.told(rest))])
    if support := tuple(clean(each) for each in why.support_lines()):
        yield Heading("What it rests on")
        yield ListBlock(support)


def explanation_figure(result: Result, told: Explanation | Comparison) -> Figure:
    """The picture of why an option works, or of two options beside each other."""
    from trust_recourse.answers.plot import draw_duel, draw_waterfall, duel_info, waterfall_info

    if not isinstance(told, Comparison):
        return cast("Figure", draw_waterfall(waterfall_info(told)).get_figure())
    first, second = (result.explain(int(name.split()[-1]) - 1) for name in told.names)
    return cast("Figure", draw_duel(duel_info(first, second)).get_figure())


def _drawn(draw: Callable[[], Figure], told: str) -> Iterator[Block]:
    """A picture, where there is a package to draw it."""
    if importlib.util.find_spec("matplotlib") is not None:
        from trust_recourse.answers.plot.picture import svg

        yield PictureBlock(svg(draw()), told)


def _table(frame: pd.DataFrame) -> TableBlock:
    named = frame.rename_axis(index=[str(name or "") for name in frame.index.names]).reset_index()
    return _rows(map(str, named.columns), named.itertuples(index=False))


def _rows(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> TableBlock:
    cells = tuple(tuple(clean(cell) for cell in row) for row in rows)
    return TableBlock(tuple(head), cells)


def _paper(title: str, said: list[Block]) -> Paper:
    today = clock.today()
    return Paper(Document(title, today, "", f"trust-recourse {__version__}", tuple(said)))
