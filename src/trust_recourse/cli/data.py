"""`trust-recourse data`: a table to try the other commands on."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trust_recourse.cli.exit_codes import Force, InputError, can_be_written
from trust_recourse.cli.options import command
from trust_recourse.cli.output import say
from trust_recourse.cli.root import option


class Name(StrEnum):
    """The tables there are."""

    haberman = "haberman"
    german_credit = "german-credit"

    @property
    def file(self) -> str:
        """Its file in the package, without the ending."""
        return self.value.replace("-", "_")

    @property
    def target(self) -> str:
        """The column to predict."""
        return {"haberman": "survived", "german-credit": "good"}[self.value]


@command()
def data(
    out: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Where to write it.")],
    name: Annotated[Name, option("Which table.")] = Name.haberman,
    schema: Annotated[
        Path | None, option("Where to write what people may change; of german-credit.", "FILE.yaml")
    ] = None,
    force: Force = False,
) -> None:
    """Write an example table, and for German credit a schema of what an applicant may change.

    **haberman**: 306 patients, their age, year and nodes, and whether they survived. S. J. Haberman
    (1976), UCI Machine Learning Repository (doi:10.24432/C5XK51), licensed CC BY 4.0.

    **german-credit**: 1,000 applicants for a loan, 20 columns, and whether they were a good risk.
    H. Hofmann (1994), UCI Machine Learning Repository (doi:10.24432/C5NC77), licensed CC BY 4.0.

    For example:

        trust-recourse data patients.csv

        trust-recourse data loans.csv --name german-credit --schema loans.yaml
    """
    from importlib.resources import files

    from trust_recourse.io.files import write_whole

    wanted = {out: f"{name.file}.csv"}
    if schema is not None:
        if name is not Name.german_credit:
            raise InputError(
                f"--schema: {name.value} has none of its own; guess one with trust-recourse schema"
            )
        if schema == out:
            raise InputError(f"--schema {schema}: that is where the table goes; give another name")
        wanted[schema] = f"{name.file}.yaml"
    for path in wanted:
        can_be_written(path, force=force)
    for path, file in wanted.items():
        write_whole(path, files("trust_recourse.data").joinpath(file).read_text(encoding="utf-8"))
    following = ["schema", str(out), "--target", name.target]
    if schema is not None:
        following = ["fit", str(out), "--target", name.target, "--schema", str(schema)]
    written = " and ".join(map(str, wanted))
    say(f"{written}: written. Then: {shlex.join(['trust-recourse', *following])}")
