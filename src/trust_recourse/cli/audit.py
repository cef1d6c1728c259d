"""`trust-recourse audit`: who can reach the target and at what cost, by group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trust_recourse.cli import page
from trust_recourse.cli.mistakes import InputError, can_be_written, told_plainly
from trust_recourse.cli.question import Json
from trust_recourse.cli.root import app

if TYPE_CHECKING:
    from trust_recourse.audit import Audit
    from trust_recourse.audit.gather import Part


@app.command()
@told_plainly()
def audit(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What `trust-recourse batch` wrote.")
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A feature, or a column that the batch kept. Repeatable. "
            "[default: the schema's protected features]",
        ),
    ] = None,
    bands: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGES",
            help="Where bands of numbers begin: 25,35,50, or q4 for four with as many people "
            "each; age=25,35,50 where several columns are numbers. Repeatable. [default: q4]",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=GROUP",
            help="The group that others are compared with. Repeatable. [default: the largest]",
        ),
    ] = None,
    cross: Annotated[
        bool, typer.Option("--cross", help="Also every combination of the columns.")
    ] = False,
    bootstrap: Annotated[int, typer.Option(min=100, help="Draws of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all chance.")] = 0,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write all numbers as a table.")
    ] = None,
    json: Json = False,
) -> None:
    """Say who can reach the target and at what cost, by group, with what chance alone may do."""
    from trust_recourse.audit import Audit

    can_be_written(csv)
    names = by or []
    found = Audit.of(
        folder, names, bands=_bands(bands or [], names), cross=cross,
        reference=dict(_pair("--reference", each) for each in reference or []), draws=bootstrap,
        random_state=seed,
    )  # fmt: skip
    _show(found)


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


def _show(found: Audit) -> None:
    console = page.console(markup=False)
    for part in found.parts:
        console.print(_table(part))


def _table(part: Part) -> Any:
    table = page.table(part.title, "people", "refused", "can", "no way", "open")
    for each in part.groups:
        group, told = each.group, each.estimates
        table.add_row(
            group.name, f"{group.people:,}", f"{told['refused'].value:.1%}",
            f"{told['reach'].value:.1%}", f"{told['none'].value:.1%}", f"{told['open'].value:.1%}",
        )  # fmt: skip
    return table
