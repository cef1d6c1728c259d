"""`trust-recourse frontier`: what each cost buys a person."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trust_recourse.cli import page, question
from trust_recourse.cli.find import decision
from trust_recourse.cli.mistakes import can_be_drawn, can_be_written, told_plainly
from trust_recourse.cli.root import app
from trust_recourse.cli.table import as_csv

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import Result


@app.command()
@told_plainly()
def frontier(
    model: question.Model,
    schema: question.SchemaFile = None,
    data: question.Data = None,
    row: question.Row = None,
    id: question.Id = None,  # noqa: A002
    values: question.Values = None,
    lock: question.Lock = None,
    cost: question.Cost = "l2",
    wanted: question.Wanted = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="End then, with the steps up to there."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the steps as a table.")
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw it; needs the extra `plot`.")
    ] = None,
    json: question.Json = False,
) -> None:
    r"""List every step of confidence that a person can buy, each at its least cost, proved.

    It ends with 0, also where nothing leads further than the person is, and with 2 if something
    given is not right.

    For example:

        trust-recourse frontier model.safetensors --data patients.csv --row 9

        trust-recourse frontier model.safetensors --data patients.csv --row 9 \
            --lock age --lock year --csv steps.csv --png steps.png
    """
    from trust_recourse.report.answers import steps
    from trust_recourse.schema.values import write_whole

    who = question.Person(model, schema, data, row, id, values, lock, cost, wanted)
    can_be_written(csv, model, schema, data)
    can_be_drawn(png, model, schema, data)
    recourse, x = who.asked()
    with page.waiting("Searching"):
        stairs = recourse.frontier(x, time_limit=time_limit)
        result = recourse.find(x, time_limit=time_limit)
    if csv is not None:
        write_whole(csv, as_csv(stairs))
    if png is not None:
        picture = BytesIO()
        result.plot(time_limit=time_limit).savefig(picture, format="png")
        write_whole(png, picture.getvalue())
    if json:
        typer.echo(page.as_json(steps(recourse, x, stairs)))
        return
    _show(result, stairs)
    for path in (csv, png):
        if path is not None:
            typer.echo(f"\n{path}: written.")


def _show(result: Result, stairs: pd.DataFrame) -> None:
    from trust_recourse.report.answers import steps

    console, schema = page.console(markup=False), result.recourse.schema
    console.print(f"{decision(result)}\n")
    table = page.table("cost", "confidence", "decision", "change", text=0)
    table.columns[3].justify, table.columns[3].no_wrap = "left", False
    for step in steps(result.recourse, result.factual, stairs)["steps"]:
        changes = (
            f"{schema[name].title} {schema.describe(name, result.factual[name])} → "
            f"{schema.describe(name, change['to'])}"
            for name, change in step["changes"].items()
        )
        yes = step["confidence"] >= result.recourse.decision_threshold
        table.add_row(
            f"{step['cost']:.4g}", f"{step['confidence']:.3f}", "yes" if yes else "no",
            ", ".join(changes) or "as they are",
        )  # fmt: skip
    console.print(table)
    if not stairs.attrs["complete"]:
        console.print("\nThe time limit ended the search: there may be steps further up.")
