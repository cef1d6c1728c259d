"""The model report and an explanation on paper: all of it with its picture, in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from trust_recourse.answers.explain import Comparison, grids
from trust_recourse.report.content import (
    Block,
    Document,
    Heading,
    ListBlock,
    Printed,
    TableBlock,
    Text,
    clean,
    drawn,
)
from trust_recourse.report.model.calibration_check import CURVES

if TYPE_CHECKING:
    from trust_recourse.answers.explain import Explanation
    from trust_recourse.answers.result import Result
    from trust_recourse.report.model.model_report import ModelReport

ABOUT = "All of this is about the model: that it would say yes, not that the world would change."
MOVERS = 20  # rules or terms that are told one by one


def report_paper(found: ModelReport, target: str = "") -> Printed:
    """What `model_report` says of a model, with what it said drawn beside what came true."""
    said: list[Block] = []
    for part in found.parts():
        if part is CURVES:
            said += drawn(found.plot, "What each model said, beside what came true, in bins.")
        said.append(Text(clean(part)) if isinstance(part, str) else _table(part))
    title = f"Model report{f': {clean(target)}' if target else ''}"
    return Printed(Document.of_ours(title, said))


def explanation_paper(result: Result, told: Explanation | Comparison) -> Printed:
    """Why an option works in the model, or what a dearer one buys, with its picture."""
    why = told.explanation if isinstance(told, Comparison) else told
    said: list[Block] = [Text(clean(result.verdict))]
    if isinstance(told, Comparison):
        said += [Text(clean(told.sentence)), _table(told.words())]
    words = f"From {why.start.name} to {why.end.name}, {why.by} by {why.by}."
    picture = drawn(lambda: explanation_figure(result, told), words)
    said += [*_explained(why, picture), Text(ABOUT, small=True)]
    return Printed(Document.of_ours("Why the model would say yes", said))


def _explained(why: Explanation, picture: Iterator[Block]) -> Iterator[Block]:
    head, *_ = str(why).splitlines()
    yield Text(clean(head))
    if why.note:
        yield Text(clean(why.note), small=True)
    changes, moved = grids(why, MOVERS)
    yield Heading("What changes, and its share")
    yield _rows(*changes[:2])
    yield from picture
    yield Heading(f"The {why.noun}s that do it")
    yield _rows(*moved[:2])
    if support := tuple(clean(each) for each in why.support_lines()):
        yield Heading("What it rests on")
        yield ListBlock(support)


def explanation_figure(result: Result, told: Explanation | Comparison) -> Any:
    """The picture of why an option works, or of two options beside each other."""
    from trust_recourse.answers.plot import draw_duel, draw_waterfall, duel_info, waterfall_info

    if not isinstance(told, Comparison):
        return draw_waterfall(waterfall_info(told)).figure
    first, second = (result.explain(int(name.split()[-1]) - 1) for name in told.names)
    return draw_duel(duel_info(first, second)).figure


def _table(frame: pd.DataFrame) -> TableBlock:
    named = frame.rename_axis(index=[str(name or "") for name in frame.index.names]).reset_index()
    return _rows(map(str, named.columns), named.itertuples(index=False))


def _rows(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> TableBlock:
    cells = tuple(tuple(clean(cell) for cell in row) for row in rows)
    return TableBlock(tuple(head), cells)
