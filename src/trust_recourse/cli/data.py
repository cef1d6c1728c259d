"""`trust-recourse data`: a table to try the other commands on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from trust_recourse.cli.mistakes import InputError, can_be_written, told_plainly
from trust_recourse.cli.root import app


@app.command()
@told_plainly()
def data(
    out: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Where to write it.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write an example table: 306 patients, their age, year and nodes, and whether they survived.

    It is S. J. Haberman's (1976), from the UCI Machine Learning Repository
    (doi:10.24432/C5XK51), licensed CC BY 4.0.

    Example: `trust-recourse data patients.csv`
    """
    from importlib.resources import files

    from trust_recourse.schema.values import write_whole

    can_be_written(out)
    if out.exists() and not force:
        raise InputError(
            f"{out}: there is such a file; give another name, or --force to overwrite it"
        )
    text = files("trust_recourse.data").joinpath("haberman.csv").read_text(encoding="utf-8")
    write_whole(out, text)
    following = shlex.join(["trust-recourse", "schema", str(out), "--target", "survived"])
    typer.echo(f"{out}: written. Then: {following}")
