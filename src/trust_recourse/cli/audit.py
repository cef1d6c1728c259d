"""`trust-recourse audit`: who can reach the target and at what cost, by group."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from trust_recourse.cli import output
from trust_recourse.cli.command import argument, command, option, options_of
from trust_recourse.cli.exit_codes import InputError, can_be_written, pair
from trust_recourse.cli.question_options import Force, Json
from trust_recourse.io.fields import fields_of
from trust_recourse.population.audit.audit_request import AuditRequest

if TYPE_CHECKING:
    from trust_recourse.population.audit import Audit
    from trust_recourse.population.audit.gather import GroupedPart
    from trust_recourse.population.audit.intervals import Estimate
    from trust_recourse.population.audit.sampled_search import Sampled, Some

NAMED = 48  # characters of a group's name
SHOWN = 3  # constraints told for a group
REFERENCE = ("COLUMN=GROUP", "sex=female")
BANDS = ("COLUMN=EDGES", "age=25,35,50")
ABOUT = (
    "\nCosts are of those who can; “half of all refused” counts those without a way as never. "
    "† few people: read nothing into it. A difference in cost is about the model, not the world, "
    "and proves no discrimination."
)


@options_of(AuditRequest)
class AuditOptions:
    """What is asked of an audit, as given on the line."""

    def request(self, folder: Path) -> AuditRequest:
        """What is asked of a folder that a batch wrote."""
        given = {name: getattr(self, name) for name in fields_of(AuditRequest)}
        names = tuple(_name(folder, each) for each in given["by"] or ())
        bands = _bands(given["bands"] or [], names)
        groups = given["reference"] or ()
        given |= {
            "by": names,
            "bands": {_name(folder, name): edges for name, edges in bands.items()},
            "reference": dict(pair("--reference", each, *REFERENCE) for each in groups),
        }
        return AuditRequest(**given)


@command()
def audit(
    folder: Annotated[Path, argument("What `trust-recourse batch` wrote.", "DIR")],
    asked: AuditOptions,
    model: Annotated[
        Path | None,
        option(
            "The model that the batch asked: also say what several confidences cost, and "
            "what stands in the way of those without one.",
            "MODEL",
        ),
    ] = None,
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
    from trust_recourse import load
    from trust_recourse.io.files import write_whole
    from trust_recourse.population.audit import Audit

    for path in (html, csv):
        can_be_written(path, model, force=force)
    given, loaded = vars(asked.request(folder)), None if model is None else load(model)
    found = Audit.of(folder, **given, model=loaded, verbose=True)
    if html is not None:
        write_whole(html, found.page().html())
    if csv is not None:
        write_whole(csv, found.to_csv())
    if json:
        output.say_json(found.to_dict())
        return
    _show(found)
    output.wrote(html, csv)


def _name(folder: Path, given: str) -> str:
    """The column that is meant: one of the folder, or a feature by its label."""
    from trust_recourse.population.batch.batch_folder import BatchFolder

    opened = BatchFolder.read(folder)
    labels = {feature.title for feature in opened.schema} - {*opened.kept}
    return opened.schema.name_of(given) if given in labels else given


def _bands(given: list[str], by: tuple[str, ...]) -> dict[str, Any]:
    """Bands by column; those that name none belong to the only column there is."""
    found: dict[str, Any] = {}
    for each in given:
        if "=" not in each and len(by) != 1:
            raise InputError(
                f"--bands {each!r}: of which column? Say it, such as --bands age={each}"
            )
        name, edges = pair("--bands", each, *BANDS) if "=" in each else (by[0], each)
        try:
            numbers = edges if edges.startswith("q") else [*map(float, edges.split(","))]
        except ValueError:
            raise InputError(
                f"--bands {each!r}: expected numbers that rise, such as 25,35,50, or q4"
            ) from None
        found[name] = numbers
    return found


# ---------------------------------------------------------------- for people


def _show(found: Audit) -> None:
    console = output.console()
    console.print(
        f"{output.people(found.people)}. Target: {found.target}. "
        f"Cost: {found.cost}. In brackets: where a number lies with 95%, chance alone considered."
    )
    if found.unknown:
        console.print(
            f"Of {output.people(found.unknown)} the row could not be read: they count as people, "
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
        for each in part.sampled:
            if each.blocked:
                console.print(_in_the_way(each))
    console.print()
    for line in found.page(pictures=False).stands_out:
        console.print(f"- {line}")
    console.print(ABOUT)


def _shares(part: GroupedPart, few: int) -> Table:
    heads = (shown(part.title), "people", "refused", "refused, %", "can", "no way", "open")
    table = output.table(*heads)
    table.columns[0].no_wrap = False  # names make room for numbers
    for each in part.groups:
        mark = " †" if each.group.refused < few else ""
        shares = (_share(each.estimates[measure]) for measure in ("refused", "reach", "none"))
        unsure = _percent(each.estimates["open"].value)
        many = (f"{count:,}" for count in (each.group.people, each.group.refused))
        table.add_row(f"{shown(each.group.name)}{mark}", *many, *shares, unsure)
    return table


def _costs(part: GroupedPart) -> Table:
    table = output.table("cost", "mean", "median", "90%", "half of\nall refused", "changes")
    table.columns[0].no_wrap = False
    for each in part.groups:
        told = {name: estimate.value for name, estimate in each.estimates.items()}
        low, high = each.estimates["mean_cost"].interval
        ends = "" if math.isnan(low) else f" ({_number(low)}–{_number(high)})"
        half = "never" if math.isinf(each.half[0]) else _number(each.half[0])
        table.add_row(
            shown(each.group.name), f"{_number(told['mean_cost'])}{ends}",
            _number(told["median_cost"]), _number(told["high_cost"]),
            half if each.group.refused else "–", _number(told["changes"], 2),
        )  # fmt: skip
    return table


def _levels(part: GroupedPart) -> str:
    """What the model said at several confidences: who reaches each, and at what mean cost."""
    from trust_recourse.report.audit_page import levels

    (_, *asked), rows = levels(part)
    lines = ["Who reaches each confidence, and at what mean cost (in brackets: people asked):"]
    for name, *told in rows:
        each = (f"{level}: {said}" for level, said in zip(asked, told, strict=True))
        lines.append(f"{shown(name)} {'; '.join(each)}")
    return "\n".join(lines)


def _some(told: Some) -> str:
    return f"{told.people} ({_span(told.share)}%)"


def _in_the_way(each: Sampled) -> str:
    most = [(sentence, some) for sentence, some in each.opens.items() if some.people][:SHOWN]
    told = [f"{_some(some)} if {sentence}" for sentence, some in most]
    told += [f"{_some(each.nothing)} by no single change of the rules"] * bool(each.nothing.people)
    told += [f"of {_some(each.unsure)} it is not known"] * bool(each.unsure.people)
    ways = "; ".join(told)
    return f"{shown(each.group)}: of {each.blocked} without a way one would open for {ways}"


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
    from trust_recourse.report.audit_page import points

    return "–" if math.isnan(value) else f"{points(value)}%"


def _number(value: float, digits: int = 3) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}g}"
