"""`trust-recourse data` and `demo`: example tables, and the other commands run on one of them."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import chdir
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trust_recourse.cli import output
from trust_recourse.cli.command import app, argument, command, option
from trust_recourse.cli.exit_codes import InputError, can_be_written
from trust_recourse.cli.question_options import Force

MODEL = "model.safetensors"
PATIENT = "--set age=56 --set year=65 --set nodes=9"  # of the paper's section 6.3
RULES = "--lock age --lock year --limit nodes=..9"
CHAPTERS = (  # of the tour: its title, what is said before it, and the command
    (
        "The patients",
        "306 people were operated on for breast cancer in Chicago between 1958 and 1969. The table "
        "has their age, the year, the lymph nodes that held cancer, and who survived five years. "
        "Data (CC BY 4.0; columns renamed, outcome recoded): S. J. Haberman, 1976, UCI Machine "
        "Learning Repository, https://doi.org/10.24432/C5XK51",
        "data patients.csv",
    ),
    (
        "The model",
        "A Probabilistic Tsetlin Machine learns rules from them. A quarter of the patients is held "
        "out to judge it, next to logistic regression and gradient boosting.",
        "fit patients.csv --target survived --clauses 20",
    ),
    (
        "What would have to be different",
        "The paper's patient. Age and year stay, nodes may only fall. `find` searches for the "
        "least change at which the model gives survival this confidence, and writes the proof.",
        f"find {MODEL} {PATIENT} {RULES} --confidence 0.7 --certificate proof.json",
    ),
    (
        "Every step of the way",
        "Each line is the least change with its confidence; none has more confidence for less.",
        f"frontier {MODEL} {PATIENT} {RULES} --whole",
    ),
    (
        "Why",
        "What each rule adds from the patient to the option.",
        f"explain {MODEL} {PATIENT} {RULES} --confidence 0.7",
    ),
    (
        "The proof checked",
        "`verify` reads the two files. It shares no code with the search.",
        f"verify proof.json {MODEL} {PATIENT} {RULES} --confidence 0.7",
    ),
)


class Name(StrEnum):
    """The tables there are."""

    haberman = "haberman"
    german_credit = "german-credit"


TARGETS = {Name.haberman: "survived", Name.german_credit: "good"}  # the columns to predict


@command()
def data(
    out: Annotated[Path, argument("Where to write it.", "FILE.csv")],
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

    stem = name.replace("-", "_")  # of its files in the package
    wanted = {out: f"{stem}.csv"}
    if schema is not None:
        if name is not Name.german_credit:
            raise InputError(
                f"--schema: {name} has none of its own; guess one with trust-recourse schema"
            )
        if schema == out:
            raise InputError(f"--schema {schema}: that is where the table goes; give another name")
        wanted[schema] = f"{stem}.yaml"
    for path in wanted:
        can_be_written(path, force=force)
    for path, file in wanted.items():
        write_whole(path, files("trust_recourse.data").joinpath(file).read_text(encoding="utf-8"))
    following = ["schema", str(out), "--target", TARGETS[name]]
    if schema is not None:
        following = ["fit", *following[1:], "--schema", str(schema)]
    written = " and ".join(map(str, wanted))
    output.say(f"{written}: written. Then: {shlex.join(['trust-recourse', *following])}")


@app.command()
def demo(
    seed: Annotated[int, option("Seed of all chance.", min=0, max=2**32 - 1)] = 0,
    epochs: Annotated[int, option("Readings of the data while learning.", min=1)] = 20,
) -> None:
    """Run the commands on an example: fit a model, question it about a patient, check the proof.

    Each command is printed before its output, so that you can run it yourself. The demo takes some
    seconds and leaves no file behind. It shows what the model says, not how the world works.

    Example: `trust-recourse demo --seed 7 --epochs 20`
    """
    console = output.console(markup=True)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for at, (title, words, given) in enumerate(CHAPTERS, 1):
            console.print()
            console.rule(f"[bold]{at}  {title}", align="left", style="dim")
            console.print(f"{words}\n")
            line = shlex.split(given)
            if line[0] == "fit":
                line += ["--epochs", str(epochs), "--seed", str(seed)]
            console.print(f"[dim]$ trust-recourse {shlex.join(line)}\n", soft_wrap=True)
            if app(line, standalone_mode=False) == 2:
                raise typer.Exit(2)
    console.print(
        "\nThese commands ran in a temporary folder. To keep the files, run them in one of yours. "
        "Read on in README.md."
    )
