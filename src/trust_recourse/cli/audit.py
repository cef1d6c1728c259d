"""`trust-recourse audit`: who can reach the target and at what cost, by group."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from trust_recourse.cli import output
from trust_recourse.cli.errors import Force, InputError, can_be_written
from trust_recourse.cli.options import command
from trust_recourse.cli.question import Json
from trust_recourse.cli.root import option

if TYPE_CHECKING:
    from trust_recourse.population.audit import Audit
    from trust_recourse.population.audit.gather import GroupedPart
    from trust_recourse.population.audit.intervals import Estimate, MeasuredGroup
    from trust_recourse.population.audit.sampled_search import Sampled, Some

NAMED = 48  # characters of a group's name
SHOWN = 3  # constraints told for a group
ABOUT = (
    "\nCosts are of those who can; “half of all refused” counts those without a way as never. "
    "† few people: read nothing into it. A difference in cost is about the model, not the world, "
    "and proves no discrimination."
)


@command()
def audit(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What `trust-recourse batch` wrote.")
    ],
    by: Annotated[
        list[str] | None,
        option(
            "A feature, also by its label, or a column that the batch kept. Repeatable. "
            "[default: the schema's protected features]",
            "COLUMN",
        ),
    ] = None,
    bands: Annotated[
        list[str] | None,
        option(
            "Where bands of numbers begin: 25,35,50, or q4 for four with as many people "
            "each; age=25,35,50 where several columns are numbers. Repeatable. [default: q4]",
            "EDGES",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        option(
            "The group that others are compared with. Repeatable. [default: the largest]",
            "COLUMN=GROUP",
        ),
    ] = None,
    cross: Annotated[
        bool, typer.Option("--cross", help="Also by all the columns together.")
    ] = False,
    model: Annotated[
        Path | None,
        option(
            "The model that the batch asked: also say what several confidences cost, and "
            "what stands in the way of those without one.",
            "MODEL",
        ),
    ] = None,
    sample: Annotated[
        int, option("With --model: people of each group to ask it about.", min=1)
    ] = 50,
    bootstrap: Annotated[int, option("Draws of the bootstrap.", min=100)] = 1000,
    seed: Annotated[int, option("Seed of all chance.", min=0)] = 0,
    html: Annotated[Path | None, option("Write the report, with pictures.", "FILE.html")] = None,
    csv: Annotated[Path | None, option("Write all numbers as one table.", "FILE.csv")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Say who can reach the target and at what cost, by group, with what chance alone may do.

    It reads what `trust-recourse batch` wrote, one part at a time. Each group is compared with the
    largest, or the one you name. Those without a way stay in every count of the refused.

    It ends with 0 when the audit is made, whatever it found, and with 2 if something given is not
    right.

    For example, by a column that the batch kept, and by bands of a feature:

        trust-recourse audit answers --by sex

        trust-recourse audit answers --by sex --by age --bands age=25,35,50,65 --cross

    A report to read, with what more confidence would cost and what stands in the way:

        trust-recourse audit answers --by sex --reference sex=man \
            --model model.safetensors --sample 100 --html audit.html --csv audit.csv
    """
    from trust_recourse.io.files import write_whole
    from trust_recourse.population.audit import Audit

    for path in (html, csv):
        can_be_written(path, model, force=force)
    names = [_name(folder, each) for each in by or []]
    given = _bands(bands or [], names)
    found = Audit.of(
        folder, names, bands={_name(folder, name): given[name] for name in given}, cross=cross,
        reference=dict(_pair("--reference", each) for each in reference or []),
        model=_loaded(model), sample=sample, draws=bootstrap, random_state=seed,
        verbose=True,
    )  # fmt: skip
    if html is not None:
        write_whole(html, found.page().html())
    if csv is not None:
        write_whole(csv, found.to_csv())
    if json:
        output.say_json(found.to_dict())
        return
    _show(found)
    for path in (html, csv):
        if path is not None:
            output.say(f"{path}: written.")


def _loaded(path: Path | None) -> Any:
    from trust_recourse import load

    return None if path is None else load(path)


def _name(folder: Path, given: str) -> str:
    """The column that is meant: one of the folder, or a feature by its label."""
    from trust_recourse.population.audit.folder import BatchFolder

    opened = BatchFolder.read(folder)
    labels = {feature.title for feature in opened.schema} - {*opened.kept}
    return opened.schema.name_of(given) if given in labels else given


def _pair(option: str, given: str) -> tuple[str, str]:
    name, equals, rest = given.partition("=")
    if not equals or not name or not rest:
        raise InputError(f"{option} {given!r}: expected COLUMN=…, such as sex=female")
    return name, rest


def _bands(given: list[str], by: list[str]) -> dict[str, Any]:
    """Bands by column; those that name none belong to the only column there is."""
    found: dict[str, Any] = {}
    for each in given:
        if "=" not in each and len(by) != 1:
            raise InputError(
                f"--bands {each!r}: of which column? Say it, such as --bands age={each}"
            )
        name, edges = _pair("--bands", each) if "=" in each else (by[0], each)
        found[name] = edges if edges.startswith("q") else _numbers(each, edges)
    return found


def _numbers(given: str, edges: str) -> list[float]:
    try:
        return [float(edge) for edge in edges.split(",")]
    except ValueError:
        raise InputError(
            f"--bands {given!r}: expected numbers that rise, such as 25,35,50, or q4"
        ) from None


# ---------------------------------------------------------------- for people


def _show(found: Audit) -> None:
    console = output.console()
    console.print(
        f"{output.people(found.people)}. Target: {found.target}. "
        f"Cost: {found.cost}. In brackets: where a number lies with 95%, chance alone considered."
    )
    if found.unknown:
        console.print(
            f"The row of {output.people(found.unknown)} could not be read: they count as people, "
            "and in no share."
        )
    for part in found.parts:
        console.print()
        console.print(_shares(part, found.few))
        console.print()
        console.print(_costs(part))
        if part.sampled:
            console.print()
            console.print(_levels(part))
        for each in (each for each in part.sampled if each.blocked):
            console.print(_in_the_way(each))
    console.print()
    for line in found.page(pictures=False).stands_out:
        console.print(f"- {line}")
    console.print(ABOUT)


def _table(*columns: str) -> Table:
    """An empty table in which names make room for numbers."""
    table = output.table(*columns)
    table.columns[0].no_wrap = False
    return table


def _shares(part: GroupedPart, few: int) -> Table:
    table = _table(shown(part.title), "people", "refused", "refused, %", "can", "no way", "open")
    for each in part.groups:
        mark = " †" if each.group.refused < few else ""
        shares = (_share(each.estimates[measure]) for measure in ("refused", "reach", "none"))
        unsure = _percent(each.estimates["open"].value)
        many = (f"{count:,}" for count in (each.group.people, each.group.refused))
        table.add_row(f"{shown(each.group.name)}{mark}", *many, *shares, unsure)
    return table


def _costs(part: GroupedPart) -> Table:
    table = _table("cost", "mean", "median", "90%", "half of\nall refused", "changes")
    for each in part.groups:
        told = each.estimates
        low, high = told["mean_cost"].interval
        ends = "" if math.isnan(low) else f" ({_number(low)}–{_number(high)})"
        table.add_row(
            shown(each.group.name),
            f"{_number(told['mean_cost'].value)}{ends}",
            _number(told["median_cost"].value), _number(told["high_cost"].value),
            _half(each), _number(told["changes"].value, 2),
        )  # fmt: skip
    return table


def _levels(part: GroupedPart) -> str:
    """What the model said at several confidences: who reaches each, and at what mean cost."""
    from trust_recourse.report.audit import levels

    (_, *asked), rows = levels(part)
    lines = ["Who reaches each confidence, and at what mean cost (in brackets: people asked):"]
    for name, *told in rows:
        each = (f"{level}: {said}" for level, said in zip(asked, told, strict=True))
        lines.append(f"{shown(name)} {'; '.join(each)}")
    return "\n".join(lines)


def _half(each: MeasuredGroup) -> str:
    if not each.group.refused:
        return "–"
    return "never" if math.isinf(each.half[0]) else _number(each.half[0])


def _some(told: Some) -> str:
    return f"{told.people} ({_span(told.share)}%)"


def _in_the_way(each: Sampled) -> str:
    most = [(sentence, some) for sentence, some in each.opens.items() if some.people][:SHOWN]
    told = [f"{_some(some)} if {sentence}" for sentence, some in most]
    told += [f"{_some(each.nothing)} by no single change of the rules"] * bool(each.nothing.people)
    told += [f"of {_some(each.unsure)} it is not known"] * bool(each.unsure.people)
    return f"{shown(each.group)}: of {each.blocked} without a way one would open for " + "; ".join(
        told
    )


def shown(name: str) -> str:
    """A name as a terminal can show it, not too long."""
    from trust_recourse.report.content import clean

    name = clean(name)
    return name if len(name) <= NAMED else f"{name[: NAMED - 1]}…"


def _share(estimate: Estimate) -> str:
    of_nobody = math.isnan(estimate.value)
    return "–" if of_nobody else f"{_percent(estimate.value)} ({_span(estimate)})"


def _span(share: Estimate) -> str:
    """The ends of a share's interval in whole percent, rounded outwards."""
    low, high = share.interval
    return f"{math.floor(round(100 * low, 9))}–{math.ceil(round(100 * high, 9))}"


def _percent(value: float) -> str:
    from trust_recourse.report.audit import points

    return "–" if math.isnan(value) else f"{points(value)}%"


def _number(value: float, digits: int = 3) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}g}"
